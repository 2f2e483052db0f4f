# Load and validate the configuration.
import sys
from contextlib import contextmanager

from kernels.errors import InputError, explain
from kernels.gpu import driver
from kernels.registry import ALL_PAIRS_REVISION, find
from workflow import configuration, step
from workflow.measure import paths, plan, resources
from workflow.measure.resources import requested
from workflow.store import measurements, revisions, tables
from workflow.views.context import MEASURED_HERE


@contextmanager
def refused():
    """End Snakemake if the input is wrong. The last line is the error's message, without wildcards and traceback.

    Decorates input functions that raise these errors.
    """
    try:
        yield
    except (InputError, OSError) as error:
        logger.error(explain(error))
        sys.exit(1)


with refused():
    driver.check_settings()
    for file in workflow.configfiles:
        configuration.check_keys(file)
    configuration.check(config)

configuration.prepare_environment(config)
SIMULATING = plan.simulating(config)

JOBS = plan.jobs(config)
BATCHES = paths.batches(config)
NEW_BATCHES = paths.batches(config, new=True)
NAMED_CELLS = plan.named_cells(config)
NAMED = list(dict.fromkeys(cell.dataset for cell in NAMED_CELLS))
ARCHIVES = measurements.archives(config)
ARCHIVE = ARCHIVES[0]


def untracked(value):
    """Return a parameter whose changes make nothing due: Snakemake ignores parameter functions that take `output`."""
    return lambda wildcards, output: value


# The profile for Slurm always sets an account. With this profile, messages show what a job requests, also in a dry run.
ON_SLURM = "slurm_account" in (workflow.resource_settings.default_resources or {})


def request(wildcards, resources):
    return f" [{requested(resources)}]" if ON_SLURM else ""


def request_or_limit(wildcards, resources):
    return request(wildcards, resources) or f" (at most {resources['runtime']} minutes)"


def entry(wildcards):
    return plan.identity(config["datasets"][wildcards.dataset])


def existing(*files):
    return [path for path in files if Path(path).exists()]


def measured(cells, also=()):
    """Return the files of the jobs that measure these cells, and of cells that are measured alone.

    Without a GPU: the measurements in results/, else the archive's. also: cells whose files are returned if they exist.
    """
    if not SIMULATING:
        return paths.measured(JOBS, BATCHES, cells, also)
    # Absolute paths, so that Snakemake treats them as existing inputs.
    return [str(path.resolve()) for path in plan.measured_here()] or list(map(str, measurements.files(ARCHIVE)))


def archived(pattern, folder=ARCHIVE):
    """Return the files in a folder, by default the archive."""
    return [str(path) for path in measurements.files_of_datasets(folder, pattern, config["datasets"])]


def kept(pattern):
    """Return the files in results/ if there are any, else the archive's."""
    return archived(pattern, "results") or archived(pattern)


ARCHIVED = f"From the archive {config['archive']}, not measured here."
BESIDE_ARCHIVED = f"From the archive {config['archive']}, except what is marked as measured here."


def source(measured=None):
    """Return the note on the origin of a view's data: results/ if they are or will be there, else the archive."""
    here = Path("results", measured).exists() if measured else plan.measured_here()
    return MEASURED_HERE if here or not SIMULATING else ARCHIVED
