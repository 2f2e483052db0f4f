# What the rules take as input, and the refusal of what cannot be made here.
from workflow.store import records
from workflow.store.all_pairs import kept as kept_all_pairs
from workflow.data.download import local, raw_name

SWEPT = {"delta_sweep": ("delta_stepping", "block_apsp"), "stride_sweep": ("bellman_ford", "stride")}
SEARCH = "delta_stepping", "near_far"
# What is downloaded for each dataset's graph and, as an entry like the graph's, its coordinates.
COORDINATES = {
    dataset: {"format": "dimacs", **entry["coordinates"]}
    for dataset, entry in config["datasets"].items()
    if entry.get("coordinates")
}
RAW = {
    raw_name(entry): (name, entry)
    for name, entry in [
        *config["datasets"].items(),
        *((f"{dataset}.coordinates", entry) for dataset, entry in COORDINATES.items()),
    ]
    if entry.get("sources") and not local(entry)
}


def raw_file(wildcards):
    entry = config["datasets"][wildcards.dataset]
    graphs = [Path(f"resources/graphs/{wildcards.dataset}.{end}") for end in ("txt", "npz")]
    # Where its graph is there, a file that is gone is no error.
    if (path := local(entry)) and not any(file.exists() for file in (Path(path), *graphs)):
        raise WorkflowError(f"config: datasets.{wildcards.dataset}.sources: {path}: no such file: correct the path")
    return raw_path(entry) if entry.get("sources") else []


def raw_path(entry):
    """Where the raw file of an entry lies, or will."""
    if path := local(entry):
        # A path of one word would be taken for a target.
        return path if len(Path(path).parts) > 1 else str(Path(path).absolute())
    return f"resources/raw/{raw_name(entry)}"


def packed_graph(wildcards):
    cell = wildcards.algorithm, wildcards.variant, wildcards.dataset
    if why := plan.refusal(config, *cell, wildcards.place):
        raise WorkflowError(why)
    needs_source([cell])
    return unless_changed(wildcards, Path(f"results/{wildcards.place}/{'/'.join(cell)}.json"))


def unless_changed(wildcards, measured):
    """The packed graph; ancient where the measurement with this record is of the same dataset.

    Snakemake ignores changed params where an input is remade, so the dataset's entry is compared here.
    """
    graph = f"resources/graphs/{wildcards.dataset}.npz"
    try:
        found = records.read(measured) if measured.exists() else {}
    except InputError as error:
        raise WorkflowError(str(error)) from None
    same = any(record["graph"].get("entry") == entry(wildcards) for record in found.values())
    return ancient(graph) if same else graph


def job_cells(wildcards):
    return JOBS[wildcards.problem, wildcards.dataset]


def job_variants(wildcards):
    """Each variant and its revision."""
    return [f"{cell[0]}/{cell[1]} {revisions.of(find(*cell[:2]))}" for cell in job_cells(wildcards)]


def jobs_at_once():
    """How many GPU jobs run at once, by --resources gpu=N."""
    gpus = workflow.global_resources.get("gpu")
    return gpus.value or 1 if gpus else 1


def all_cores():
    return workflow.resource_settings.cores or 1


def job_threads():
    """The cores of a GPU job: all, shared out over the jobs."""
    return max(1, all_cores() // jobs_at_once())


def cell_threads(wildcards):
    """The cores of a cell that is measured alone: a job's on a GPU, all for one on the CPU, one in the simulator."""
    if wildcards.place == "simulated":
        return 1
    return job_threads() if on_gpu(wildcards) else all_cores()


def kept_cores():
    """How many cores go with a card: 0, all that a job was given, where one card is used."""
    return job_threads() if jobs_at_once() > 1 else 0


def job_graph(wildcards):
    """The job's packed graph."""
    if SIMULATING:
        raise WorkflowError(f"batch {wildcards.batch} {plan.NEEDS_GPU}")
    try:
        configuration.check_batch(wildcards.batch)
    except InputError as error:
        raise WorkflowError(str(error)) from None
    if (wildcards.problem, wildcards.dataset) not in JOBS:
        raise WorkflowError(f"config compares no variants on {wildcards.dataset} for {wildcards.problem}")
    needs_source(job_cells(wildcards))
    job = places.job_file(wildcards.batch, wildcards.problem, wildcards.dataset)
    return unless_changed(wildcards, records.beside(Path(job)))


def job_priority(wildcards):
    """Of several batches an earlier one's jobs go first: NAME before NAME-2."""
    for names in (BATCHES, NEW_BATCHES):
        if wildcards.batch in names:
            return -names.index(wildcards.batch)
    return 0


def batch_files(wildcards):
    """The files of all jobs of a new batch, or of several."""
    needs_gpu("batch")
    return [places.job_file(name, *job) for name in NEW_BATCHES for job in JOBS if job[1] not in FAMILIES]


def families_files(wildcards):
    """The files of all jobs and cells of families, in the batch or batches of this machine."""
    needs_gpu("families")
    if not FAMILIES:
        raise WorkflowError("families: config names no dataset of a family")
    return places.to_make(JOBS, BATCHES, FAMILY_CELLS)


def sweep_options(wildcards):
    return config["sweeps"][wildcards.sweep.removesuffix("_sweep")]


def swept_cell(wildcards):
    return *SWEPT[wildcards.sweep], sweep_options(wildcards)["dataset"]


def sweep_graph(wildcards):
    *variant, dataset = swept_cell(wildcards)
    if why := plan.refusal(config, *variant, dataset, "cells"):
        raise WorkflowError(why)
    needs_source([(*variant, dataset)])
    return f"resources/graphs/{dataset}.npz"


def sweep_measurements(wildcards):
    """The CSV that a sweep's figure is drawn from; without a GPU what was measured before."""
    csv = f"{wildcards.sweep}.csv"
    return kept(csv) if SIMULATING else f"results/{csv}"


def source_files():
    """A file a dataset of those in config that have the variant."""
    found = plan.cells(config)
    datasets = [name for name in config["sweeps"]["sources"]["datasets"] if (*SEARCH, name) in found]
    return [f"results/sources/{name}.csv" for name in datasets]


# What Table 6 reads of many sources.
SOURCES = kept("sources.csv") if SIMULATING else ["results/sources.csv"] if source_files() else []


# What Table 6 and Figure 8 cite.
PEERS = ["workflow/paper/peers.csv", "workflow/paper/peers.yaml"]


def needs_sources(wildcards):
    needs_gpu("sources")
    if not source_files():
        raise WorkflowError(f"sources: config names no dataset under sweeps.sources on which {'/'.join(SEARCH)} runs")
    return source_files()


def many_sources_files():
    """A file a dataset that config names."""
    return [f"results/many_sources/{name}.csv" for name in config["sweeps"]["many_sources"]["datasets"]]


# What the table reads of many sources at once.
MANY_SOURCES = kept("many_sources.csv") if SIMULATING else ["results/many_sources.csv"] if many_sources_files() else []


def needs_many_sources(wildcards):
    needs_gpu("many_sources")
    if not many_sources_files():
        raise WorkflowError("many_sources: config names no dataset under sweeps.many_sources")
    return many_sources_files()


def graph_file(dataset):
    return f"resources/graphs/{dataset}.npz"


def needs_gpu(target):
    """No files; refuses the target where there is no GPU."""
    if SIMULATING:
        raise WorkflowError(f"{target} {plan.NEEDS_GPU}")
    return []


def needs_source(cells):
    """No files; refuses the cells where a dataset of theirs has no vertex `protocol.source`."""
    if why := plan.no_source(config, cells):
        raise WorkflowError(why)
    return []


ALL_PAIRS = config["all_pairs"]["datasets"]


def searched_before(dataset):
    """Whether there is no GPU, and all pairs of a dataset that is not simulated were searched here when there was."""
    simulated = config["datasets"][dataset].get("simulate")
    return SIMULATING and not simulated and Path(f"results/all_pairs/{dataset}.json").exists()


# Those whose all pairs can be shown here. Where there is no GPU and there are none, the archive's records are shown.
ALL_PAIRS_HERE = [
    name for name in ALL_PAIRS if not SIMULATING or config["datasets"][name].get("simulate") or searched_before(name)
]
ALL_PAIRS_KEPT = (
    []
    if ALL_PAIRS_HERE or not SIMULATING
    else [str(path) for path in kept_all_pairs(Path(f"results/archive/{config['archive']}"), config["datasets"])]
)
# What is drawn on a map, for which a row a vertex must be there.
MAPS = {
    name: COORDINATES[name]
    for name in ALL_PAIRS
    if name in COORDINATES
    and not ALL_PAIRS_KEPT
    and (not searched_before(name) or Path(f"results/all_pairs/{name}.parquet").exists())
}


def all_pairs_graph(wildcards):
    if SIMULATING and not config["datasets"][wildcards.dataset].get("simulate"):
        raise WorkflowError(f"all_pairs of {wildcards.dataset} {plan.NEEDS_GPU}: run it on a machine with a GPU")
    return f"resources/graphs/{wildcards.dataset}.npz"


def all_pairs_parts(wildcards):
    shards = config["all_pairs"]["shards"]
    return [f"results/all_pairs/{wildcards.dataset}/{shards}/{shard}.parquet" for shard in range(1, shards + 1)]


def all_pairs_file(dataset, end):
    """The file, or its absolute path, which no rule makes, where it was made when there was a GPU."""
    file = Path(f"results/all_pairs/{dataset}{end}")
    return str(file.resolve() if searched_before(dataset) else file)


# The records that the table and the figure show.
ALL_PAIRS_RECORDS = ALL_PAIRS_KEPT or [all_pairs_file(dataset, ".json") for dataset in ALL_PAIRS]


def needs_all_pairs(wildcards):
    """What the target makes besides table and figure: a row a vertex of each dataset."""
    if not ALL_PAIRS_RECORDS:
        raise WorkflowError("all_pairs: config names no dataset under all_pairs.datasets")
    if not ALL_PAIRS_KEPT and (lacking := [name for name in ALL_PAIRS if name not in ALL_PAIRS_HERE]):
        raise WorkflowError(f"all_pairs of {', '.join(lacking)} {plan.NEEDS_GPU}: run it on a machine with a GPU")
    return [all_pairs_file(name, ".parquet") for name in ALL_PAIRS_HERE if not searched_before(name)]


def coordinates_file(dataset):
    """Where the coordinates of a dataset lie, or will."""
    return raw_path(COORDINATES[dataset])


def made_files(wildcards):
    """The files of the report that were made so far."""
    files = [path for path in expand(IN_REPORT, sweep=SWEPT) if Path(path).exists()]
    if not files:
        raise WorkflowError("made: nothing was made yet: run snakemake --cores all first")
    return list(dict.fromkeys(files))


SAID = set()  # the targets of which it was said what they skip


def target_files(target, wanted):
    """A function that gives the files of a target's cells, and says which of them are skipped here.

    A dataset's are measured by its jobs; an algorithm's or a variant's are cells, each measured alone.
    """

    def files(wildcards):
        if not SIMULATING and target in config["datasets"]:
            return places.to_make(JOBS, BATCHES, wanted)
        made, skipped = plan.makeable(config, wanted)
        names = ", ".join("/".join(cell) for cell in skipped)
        if not made:
            raise WorkflowError(f"{names} {plan.NEEDS_GPU}: run this on a machine with a GPU")
        if skipped and target not in SAID:
            SAID.add(target)
            logger.warning(f"{target}: {len(skipped)} of {len(wanted)} cells are skipped: {names} {plan.NEEDS_GPU}")
        return [places.cell_file(*cell, place) for place, cell in made]

    return files


def refuse_target(wildcards):
    valid = ["all", "audit", "claims_figure", "summary", "extensions", "all_pairs", "archive", "batch", "compare"]
    valid += [*plan.TABLES, *PAPER_FIGURES, "figure8", "sources", "many_sources", "many_sources_table", "peak_table"]
    valid += ["launch_overhead", "growth", "families", "peak", "made"]
    valid += ["readme", *SWEPT, *plan.targets(config)]
    raise WorkflowError(f"there is no target {wildcards.word!r}: choose one of {', '.join(valid)}, or a file")
