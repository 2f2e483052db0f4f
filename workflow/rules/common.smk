# Loads and validates the configuration.
from snakemake.exceptions import WorkflowError

from kernels import settings
from kernels.errors import InputError, explain

try:
    settings.check()
except (InputError, OSError) as error:
    raise WorkflowError(explain(error)) from None

from kernels.variants import find, shown_in
from workflow.lib import configuration, digests, places, plan, resources, revisions, tables

try:
    for file in workflow.configfiles:
        configuration.check_keys(file)
    configuration.check(config)
except InputError as error:
    raise WorkflowError(str(error)) from None

configuration.prepare_environment(config)
SIMULATING = plan.simulating(config)
