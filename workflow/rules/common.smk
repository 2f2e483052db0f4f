# Loads and validates the configuration.
from snakemake.exceptions import WorkflowError

from kernels.errors import InputError
from workflow.lib import settings

try:
    for configuration in workflow.configfiles:
        settings.check_keys(configuration)
    settings.check(config)
except InputError as error:
    raise WorkflowError(str(error)) from None

settings.prepare_environment(config)
SIMULATING = settings.simulating(config)
