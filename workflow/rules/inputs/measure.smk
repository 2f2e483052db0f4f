# Inputs, threads and limits of the rules that measure.
from workflow.measure.plan import Cell
from workflow.store import records

SWEPT = {
    "delta_sweep": Cell("delta_stepping", "block_apsp", config["sweeps"]["delta"]["dataset"]),
    "stride_sweep": Cell("bellman_ford", "stride", config["sweeps"]["stride"]["dataset"]),
}
with refused():
    ON_GPU, ON_CPU = (resources.of_device(gpu, on_slurm=ON_SLURM) for gpu in (True, False))  # what a job requests
SEARCH = "delta_stepping", "near_far"
SIMULATED_CELLS = plan.simulated_cells(config)


def graph_file(dataset):
    return f"resources/graphs/{dataset}.npz"


@refused()
def needs_gpu(target):
    """Refuse the target without a GPU; return no files."""
    if SIMULATING:
        raise InputError(f"{target} {plan.NEEDS_GPU}")
    return []


def unless_changed(wildcards, measured):
    """Return the packed graph, as ancient if the record beside the CSV file has the same dataset entry.

    Snakemake ignores a job's changed parameters while the job's input is being remade. So this function looks for a
    changed entry itself.
    """
    graph, path = graph_file(wildcards.dataset), records.beside(Path(measured))
    found = records.read(path) if path.exists() else {}
    same = any(record["graph"].get("entry") == entry(wildcards) for record in found.values())
    return ancient(graph) if same else graph


def cell_of(wildcards):
    return Cell(wildcards.algorithm, wildcards.variant, wildcards.dataset)


@refused()
def cell_graph(wildcards):
    plan.check(config, [cell_of(wildcards)], wildcards.folder)
    return unless_changed(wildcards, paths.cell_file(*cell_of(wildcards), wildcards.folder))


def job_cells(wildcards):
    return JOBS[wildcards.problem, wildcards.dataset]


def planned_variants(wildcards):
    return [revisions.planned(cell.registered, config["protocol"]["keep_going"]) for cell in job_cells(wildcards)]


@refused()
def job_graph(wildcards):
    needs_gpu(f"batch {wildcards.batch}")
    configuration.check_batch(wildcards.batch)
    if (wildcards.problem, wildcards.dataset) not in JOBS:
        raise InputError(
            f"config compares no variants on {wildcards.dataset} for {wildcards.problem}: choose another dataset or problem"
        )
    plan.check(config, job_cells(wildcards))
    return unless_changed(wildcards, paths.job_file(wildcards.batch, wildcards.problem, wildcards.dataset))


@refused()
def simulated_graphs(wildcards):
    plan.check(config, SIMULATED_CELLS, "simulated")
    return [ancient(graph_file(dataset)) for dataset in dict.fromkeys(cell.dataset for cell in SIMULATED_CELLS)]


def simulated_files(wanted):
    """Return the files of cells that are checked in the simulator: one each in mode cuda, else one of all cells."""
    if config["mode"] == "cuda":
        return [paths.cell_file(*cell, "simulated") for cell in wanted]
    return ["results/simulated.csv"] if wanted else []


@refused()
def sweep_graph(wildcards):
    plan.check(config, [SWEPT[wildcards.sweep]])
    return graph_file(SWEPT[wildcards.sweep].dataset)


def jobs_at_once():
    """Return the N of --resources gpu=N: the number of GPU jobs that run at once."""
    gpus = workflow.global_resources.get("gpu")
    return gpus.value or 1 if gpus else 1


def all_cores():
    return workflow.resource_settings.cores or 1


def job_threads():
    """Return the number of cores of a GPU job: an equal share of all cores."""
    return max(1, all_cores() // jobs_at_once())


def cell_threads(wildcards):
    """Return the number of cores of a cell that is measured alone.

    A GPU variant has the cores of a GPU job, a CPU variant all cores, a simulated cell one core.
    """
    if wildcards.folder == "simulated":
        return 1
    return job_threads() if on_gpu(wildcards) else all_cores()


def kept_cores():
    """Return each card's share of the cores. If only one card is used, return 0: all cores of the job."""
    return job_threads() if jobs_at_once() > 1 else 0


def on_gpu(wildcards):
    return find(wildcards.algorithm, wildcards.variant).on_gpu


def of_device(name):
    """Return a function for a resource that differs between GPU variants and CPU variants."""
    return lambda wildcards: (ON_GPU if on_gpu(wildcards) else ON_CPU)[name]


def job_priority(wildcards):
    """Return the priority of a batch: NAME is measured before NAME-2."""
    return next((-names.index(wildcards.batch) for names in (BATCHES, NEW_BATCHES) if wildcards.batch in names), 0)


def options_text(sweep, *names):
    """Return the named options of a sweep (default: all) as one line."""
    options = config["sweeps"][sweep.removesuffix("_sweep")]
    return plan.settings_text({name: options[name] for name in names or options})


def batch_files(wildcards):
    """Return the files of all jobs of the new batches."""
    needs_gpu("batch")
    return [paths.job_file(name, *job) for name in NEW_BATCHES for job in JOBS if job.dataset not in NAMED]


@refused()
def families_files(wildcards):
    """Return the files of all jobs and cells on families, in this machine's batches."""
    needs_gpu("families")
    if not (cells := plan.family_cells(config)):
        raise InputError("families: config has no dataset of a family: add one")
    return paths.to_make(JOBS, BATCHES, cells)


def source_files():
    """Return the file of each dataset under sweeps.sources on which `near_far` runs; with `by_name`, only if it exists."""
    datasets = {cell.dataset for cell in plan.cells(config) if cell[:2] == SEARCH}
    files = {
        name: f"results/sources/{name}.csv" for name in config["sweeps"]["sources"]["datasets"] if name in datasets
    }
    return [file for name, file in files.items() if not config["datasets"][name].get("by_name") or Path(file).exists()]


@refused()
def needs_sources(wildcards):
    needs_gpu("sources")
    if not source_files():
        raise InputError(f"sources: config names no dataset under sweeps.sources on which {'/'.join(SEARCH)} runs")
    return source_files()


WARNED = set()  # targets whose skipped cells were already named in a warning


def target_files(target, wanted):
    """Return an input function for the files of a target's cells. It warns of cells that cannot be measured here.

    A dataset's cells are measured by jobs. The cells of an algorithm or a variant are measured alone.
    """

    @refused()
    def files(wildcards):
        if not SIMULATING and target in config["datasets"]:
            return paths.to_make(JOBS, BATCHES, wanted)
        made, skipped = plan.makeable(config, wanted)
        names = ", ".join(map("/".join, skipped))
        if not made:
            raise InputError(f"{names} {plan.NEEDS_GPU}: run this on a machine with a GPU")
        if skipped and target not in WARNED:
            WARNED.add(target)
            logger.warning(f"{target}: {len(skipped)} of {len(wanted)} cells are skipped: {names} {plan.NEEDS_GPU}")
        simulated = [cell for folder, cell in made if folder == "simulated"]
        files = [paths.cell_file(*cell) for folder, cell in made if folder == "cells"]
        return files + simulated_files(simulated)

    return files
