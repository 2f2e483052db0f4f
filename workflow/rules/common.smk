# Load and validate the configuration, and make the plan that all rules ask for inputs and resources.
import re
import sys
from contextlib import contextmanager
from difflib import get_close_matches

from kernels.errors import InputError, explain
from kernels.gpu import driver
from workflow.plan import allocation, conditions, configuration, experiments, messages
from workflow.plan.planner import SEARCH, SWEPT, Plan
from workflow.plan.view_inputs import ViewInputs
from workflow.views import catalogue


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


def untracked(value):
    """Return a parameter whose changes make nothing due: Snakemake ignores parameter functions that take `output`."""
    return lambda wildcards, output: value


messages.shorten(logger)

with refused():
    driver.check_settings()
    for file in (*workflow.configfiles, *workflow.overwrite_configfiles):
        configuration.check_keys(file)
    configuration.complete(config)
    configuration.check_config(config)
    gpus = workflow.global_resources.get("gpu")
    cards = gpus.value or 1 if gpus else 1
    # A dry run with --resources gpu=4 shows the plan for a machine with four cards.
    dry_run = any(re.fullmatch(r"-[A-Za-z]*n[A-Za-z]*|--dry-?run", word) for word in sys.argv)
    planned_for_cards = dry_run and cards > 1 and config["mode"] == "auto" and not driver.simulated()
    plan = Plan(
        config=config,
        why_simulated="" if planned_for_cards else conditions.why_simulated(config),
        cores=workflow.resource_settings.cores or 1,
        cards=cards,
        # The profile for Slurm always sets an account. With it, messages show what a job requests, also in a dry run.
        on_slurm="slurm_account" in (workflow.resource_settings.default_resources or {}),
        force=lambda file: workflow.dag.forcefiles.add(file),  # as --force does
    )
    ON_CARD, OF_CELL = plan.on_card, plan.of_cell()

configuration.prepare_environment(simulating=plan.simulating)
view_inputs = ViewInputs(plan)
PROTOCOL = conditions.settings_text(conditions.protocol_of(config))
EXTENSIONS = conditions.settings_text(config["extensions"])


def refuse_target(wildcards):
    """Refuse a word that is not a target, and name the nearest target."""
    if wildcards.word in config["datasets"]:
        raise InputError(f"config: datasets.{wildcards.word}: no variants are listed: list them under cpu or gpu")
    near = get_close_matches(wildcards.word, [rule.name for rule in workflow.rules if not rule.has_wildcards()], 1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise InputError(f"unknown target {wildcards.word!r}: {hint}`snakemake --list-target-rules` lists all")


# The parts of the report. Snakemake sorts them alphabetically.
REPORT = {
    "claims": "1. Claims",
    "tables": "2. Tables",
    "figures": "3. Figures",
    "batches": "4. Batches and hosts",
    "measurements": "5. Measurements",
    "all_pairs": "6. All pairs",
    "compare": "7. Beside the archive",
    "extensions": "8. Extensions",
    "configuration": "9. Configuration",
}


def view_output(view):
    """Return the files that a view makes. Mark the files that the report shows."""
    shown = {
        path: dict(category=REPORT[part], labels={"Contents": label}, caption=f"../report/{caption}.rst")
        for path, (part, label, caption) in view.shown.items()
    }
    return [report(path, **shown[path]) if path in shown else path for path in view.outputs]
