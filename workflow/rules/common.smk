# Loads and validates the configuration.
from snakemake.exceptions import WorkflowError

from kernels import settings
from kernels.errors import InputError, explain

try:
    settings.check()
except (InputError, OSError) as error:
    raise WorkflowError(explain(error)) from None

from kernels.variants import ALL_PAIRS_REVISION, find, shown_in
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
