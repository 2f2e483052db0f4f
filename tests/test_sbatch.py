"""What `--profile slurm` asks sbatch for, by a program of that name that writes its words down and takes no job."""

import re
import shutil

import pytest
from test_workflow import DATASETS, ENVIRONMENT, ROOT, Project

from kernels.variants import VARIANTS

SBATCH = """#!/bin/sh
printf '%s\\n' "$@" > "$CALLS/$$"
echo no job is taken here >&2
exit 1
"""
SITE = {"CPU_PARTITION": "slow", "GPU_MODEL": "h100", "SBATCH_ACCOUNT": "physics"}  # and the profile's GPU partition


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """The words of each call of sbatch by the job's comment: a job for every variant, and all others of a GPU."""
    folder, programs = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("bin")
    on_gpu, on_cpu = ([key for key, v in VARIANTS.items() if v.on_gpu is gpu] for gpu in (True, False))
    project = Project.make(
        folder,
        datasets={"sample1": DATASETS["sample1"] | {"gpu": on_gpu, "cpu": on_cpu}},
        stub=False,
    )
    shutil.copytree(ROOT / "slurm", folder / "slurm")
    (programs / "calls").mkdir()
    for name, text in {"sbatch": SBATCH, **dict.fromkeys(("scontrol", "sacctmgr", "sshare"), "#!/bin/sh\n")}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    environment = {name: value for name, value in ENVIRONMENT.items() if name not in ("GPU_PARTITION", *SITE)}
    path = f"{programs}:{ENVIRONMENT['PATH']}"
    project.snakemake(
        *("--profile", "slurm", "sample1", "peak", "results/sources/sample1.csv"),
        *("results/delta_sweep.csv", "results/stride_sweep.csv"),
        code=1,
        environment=environment | SITE | {"PATH": path, "CALLS": str(programs / "calls")},
    )
    found = {}
    for call in (programs / "calls").iterdir():
        words = call.read_text().splitlines()
        comment = words[words.index("--comment") + 1]
        assert comment not in found
        found[comment.removeprefix("rule_")] = words
    return found


def asked(words):
    """Partition, account and GPUs that a call of sbatch asks for."""
    gpus = [word for word in words if re.match("--(gpus|gres)", word)]
    return words[words.index("-p") + 1], words[words.index("-A") + 1], gpus


def test_every_variant_goes_where_its_device_is(calls):
    cells = {f"measure_wildcards_cells_{v.algorithm}_{v.name}_sample1": v.on_gpu for v in VARIANTS.values()}
    others = {
        *("peak", "measure_sweep_wildcards_delta_sweep", "measure_sweep_wildcards_stride_sweep"),
        "measure_sources_wildcards_sample1",
    }
    devices = cells | dict.fromkeys(others, True)
    expected = {
        job: ("gpu", "physics", ["--gpus=h100:1"]) if on_gpu else ("slow", "physics", [])
        for job, on_gpu in devices.items()
    }
    assert {job: asked(words) for job, words in calls.items()} == expected
