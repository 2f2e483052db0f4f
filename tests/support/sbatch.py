"""An sbatch that records its arguments and refuses the job."""

import shutil

from tests.support.project import ENVIRONMENT, ROOT

SBATCH = """#!/bin/sh
printf '%s\\n' "$@" > "$CALLS/$$"
echo no job is taken here >&2
exit 1
"""
SITE = {"CPU_PARTITION": "slow", "GPU_MODEL": "h100", "SBATCH_ACCOUNT": "physics"}  # and the profile's GPU partition
OWN = {"GPU_PARTITION", "GPU_REQUEST", *SITE}  # variables that the profile reads


def fake_slurm(folder):
    """Make a folder of Slurm's programs: sbatch writes each call into calls/, the others print nothing."""
    (folder / "calls").mkdir(parents=True)
    for name, text in {"sbatch": SBATCH, **dict.fromkeys(("scontrol", "sacctmgr", "sshare"), "#!/bin/sh\n")}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


def sbatch_calls(project, folder, *targets, **site):
    """Run these targets with the Slurm profile; return the arguments of each call of sbatch by the job's comment.

    site: more of the profile's variables.
    """
    programs = fake_slurm(folder / "programs")
    shutil.copytree(ROOT / "slurm", project.folder / "slurm", dirs_exist_ok=True)
    environment = {name: value for name, value in ENVIRONMENT.items() if name not in OWN}
    path = f"{programs}:{ENVIRONMENT['PATH']}"
    project.snakemake(
        *("--profile", "slurm", "--slurm-init-seconds-before-status-checks", "1", *targets),
        code=1,
        environment=environment | SITE | site | {"PATH": path, "CALLS": str(programs / "calls")},
    )
    found = {}
    for call in (programs / "calls").iterdir():
        words = call.read_text().splitlines()
        comment = words[words.index("--comment") + 1]
        assert comment not in found
        found[comment.removeprefix("rule_")] = words
    return found
