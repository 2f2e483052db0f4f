# What is measured, and what that needs.
from workflow.store import records

SWEPT = {"delta_sweep": ("delta_stepping", "block_apsp"), "stride_sweep": ("bellman_ford", "stride")}
SEARCH = "delta_stepping", "near_far"


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


SIMULATED_CELLS = plan.simulated_cells(config)


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


def source_files():
    """A file a dataset of those in config that have the variant."""
    found = plan.cells(config)
    datasets = [name for name in config["sweeps"]["sources"]["datasets"] if (*SEARCH, name) in found]
    return [f"results/sources/{name}.csv" for name in datasets]


def needs_sources(wildcards):
    needs_gpu("sources")
    if not source_files():
        raise WorkflowError(f"sources: config names no dataset under sweeps.sources on which {'/'.join(SEARCH)} runs")
    return source_files()


def families_files(wildcards):
    """The files of all jobs and cells of families, in the batch or batches of this machine."""
    needs_gpu("families")
    if not FAMILIES:
        raise WorkflowError("families: config names no dataset of a family")
    return places.to_make(JOBS, BATCHES, FAMILY_CELLS)


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
