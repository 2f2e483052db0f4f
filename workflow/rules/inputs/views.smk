# What is shown, and the refusal of targets that there are none of.
from workflow.store.all_pairs import kept as kept_all_pairs


def sweep_measurements(wildcards):
    """The CSV that a sweep's figure is drawn from; without a GPU what was measured before."""
    csv = f"{wildcards.sweep}.csv"
    return kept(csv) if SIMULATING else f"results/{csv}"


# What Table 6 reads of many sources.
SOURCES = kept("sources.csv") if SIMULATING else ["results/sources.csv"] if source_files() else []


# What Table 6 and Figure 8 cite.
PEERS = ["workflow/paper/peers.csv", "workflow/paper/peers.yaml"]


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


def made_files(wildcards):
    """The files of the report that were made so far."""
    files = [path for path in expand(IN_REPORT, sweep=SWEPT) if Path(path).exists()]
    if not files:
        raise WorkflowError("made: nothing was made yet: run snakemake --cores all first")
    return list(dict.fromkeys(files))


def refuse_target(wildcards):
    valid = ["all", "audit", "claims_figure", "summary", "extensions", "all_pairs", "archive", "batch", "compare"]
    valid += [*plan.TABLES, *PAPER_FIGURES, "figure8", "sources", "many_sources", "many_sources_table", "peak_table"]
    valid += ["launch_overhead", "growth", "families", "peak", "made"]
    valid += ["readme", *SWEPT, *plan.targets(config)]
    raise WorkflowError(f"there is no target {wildcards.word!r}: choose one of {', '.join(valid)}, or a file")
