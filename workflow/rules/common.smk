# Loads and validates the configuration.
from snakemake.exceptions import WorkflowError

from kernels import settings
from kernels.errors import InputError, explain

try:
    settings.check()
except (InputError, OSError) as error:
    raise WorkflowError(explain(error)) from None

from kernels.registry import ALL_PAIRS_REVISION, find
from workflow import configuration, digests
from workflow.measure import places, plan, resources, revisions
from workflow.views import tables

try:
    for file in workflow.configfiles:
        configuration.check_keys(file)
    configuration.check(config)
except InputError as error:
    raise WorkflowError(str(error)) from None

configuration.prepare_environment(config)
SIMULATING = plan.simulating(config)

JOBS = plan.jobs(config)
BATCHES = places.batches(config)
NEW_BATCHES = places.batches(config, new=True)
FAMILY_CELLS = plan.family_cells(config)
FAMILIES = list(dict.fromkeys(cell[2] for cell in FAMILY_CELLS))  # their datasets


def untracked(value):
    """A parameter that makes nothing due when it changes: Snakemake leaves out what depends on the output."""
    return lambda wildcards, output: value


def entry(wildcards):
    return plan.identity(config["datasets"][wildcards.dataset])


def on_gpu(wildcards):
    return plan.on_gpu(wildcards.algorithm, wildcards.variant)


def measured(cells, also=()):
    """The files of all batches and cells of these; without a GPU those of whatever was measured before.

    also: cells whose files are taken where they are there, and not made.
    """
    if not SIMULATING:
        return places.measured(JOBS, BATCHES, cells, also)
    # Absolute, so that they are files that are there and not ones that a rule would have to make.
    if before := plan.measured_here():
        return [str(path.resolve()) for path in before]
    return [path for path in [f"results/archive/{config['archive']}/timings.csv"] if Path(path).exists()]


def archives():
    """The folders of all archives, config's first."""
    first = f"results/archive/{config['archive']}"
    return list(
        dict.fromkeys([first, *sorted(str(path.parent) for path in Path("results/archive").glob("*/timings.csv"))])
    )


def kept(csv):
    """That file as it was measured before: here, else in the archive, else none."""
    return [path for path in (f"results/{csv}", f"results/archive/{config['archive']}/{csv}") if Path(path).exists()][
        :1
    ]


ARCHIVED = f"From the archive {config['archive']}, not measured here."


def source(measured=None):
    """A sentence on where what is drawn was measured: here, if this file, or cells or batches, are in results/ or going to be."""
    if not SIMULATING or (Path("results", measured).exists() if measured else plan.measured_here()):
        return tables.MEASURED_HERE
    return ARCHIVED
