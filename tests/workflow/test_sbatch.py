"""What `--profile slurm` asks sbatch for, by a program of that name that writes its words down and takes no job."""

import re
import shutil

import pytest

from kernels.registry import VARIANTS
from tests.support.project import CPU, DATASETS, ENVIRONMENT, NYC_JOB, ROOT, Project
from tests.support.sbatch import OWN, sbatch_calls
from workflow.plan import allocation

JOB = "job_wildcards_one_sssp_nyc"
NYC_CELL = "measure_wildcards_cells_bellman_ford_naive_nyc"


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """A job for every variant, and all others of a GPU."""
    on_gpu, on_cpu = ([key for key, v in VARIANTS.items() if v.on_gpu is gpu] for gpu in (True, False))
    project = Project.make(
        tmp_path_factory.mktemp("project"),
        datasets={"sample1": DATASETS["sample1"] | {"gpu": on_gpu, "cpu": on_cpu}, "nyc": DATASETS["nyc"]},
        stub=False,
    )
    targets = "sample1", "peak", "results/sources/sample1.csv", "results/delta_sweep.csv", "results/stride_sweep.csv"
    targets += (NYC_JOB, "results/cells/bellman_ford/naive/nyc.csv")
    return sbatch_calls(project, tmp_path_factory.mktemp("slurm"), *targets)


def asked(words):
    """Partition, account and GPUs that a call of sbatch asks for."""
    gpus = [word for word in words if re.match("--(gpus|gres)", word)]
    return words[words.index("-p") + 1], words[words.index("-A") + 1], gpus


def test_every_variant_goes_where_its_device_is(calls):
    cells = {f"measure_wildcards_cells_{v.algorithm}_{v.name}_sample1": v.on_gpu for v in VARIANTS.values()}
    others = {
        "peak",
        *("measure_sweep_wildcards_delta_sweep", "measure_sweep_wildcards_stride_sweep"),
        "measure_sources_wildcards_sample1",
        *(JOB, NYC_CELL),
    }
    devices = cells | dict.fromkeys(others, True)
    expected = {
        job: ("gpu", "physics", ["--gpus=h100:1"]) if on_gpu else ("slow", "physics", [])
        for job, on_gpu in devices.items()
    }
    assert {job: asked(words) for job, words in calls.items()} == expected


def test_a_cluster_that_knows_gres_only(tmp_path):
    project = Project.make(tmp_path / "project", stub=False)
    calls = sbatch_calls(project, tmp_path / "slurm", NYC_JOB, GPU_REQUEST="gres")
    assert {job: asked(words) for job, words in calls.items()} == {JOB: ("gpu", "physics", ["--gres=gpu:h100:1"])}


def test_a_model_with_a_hyphen(tmp_path):
    project = Project.make(tmp_path / "project", stub=False)
    cells = f"results/cells/{CPU[0]}.csv", "results/cells/bellman_ford/naive/nyc.csv"
    calls = sbatch_calls(project, tmp_path / "slurm", NYC_JOB, *cells, GPU_MODEL="a100-sxm4-80gb")
    gpus = {job: words[words.index("-G") + 1] if "-G" in words else None for job, words in calls.items()}
    on_card = dict.fromkeys((JOB, NYC_CELL), "a100-sxm4-80gb:1")
    assert gpus == on_card | {"measure_wildcards_cells_bellman_ford_cpu_nyc": None}
    assert not any(asked(words)[2] for words in calls.values())


@pytest.mark.parametrize(
    ("site", "said"),
    [
        ({"GPU_MODEL": "a100-sxm4", "GPU_REQUEST": "gres"}, "GPU_MODEL: a100-sxm4: .*GPU_REQUEST"),
        ({"GPU_MODEL": "gpu:h100:8"}, "GPU_MODEL: 'gpu:h100:8' "),
        ({"GPU_REQUEST": "gress"}, "GPU_REQUEST: 'gress' .* gpus or gres"),
    ],
)
def test_a_request_that_cannot_be_submitted_is_refused_before_any_job(tmp_path, site, said):
    project = Project.make(tmp_path)
    shutil.copytree(ROOT / "slurm", tmp_path / "slurm")
    environment = {name: value for name, value in ENVIRONMENT.items() if name not in OWN} | site
    ran = project.snakemake("-n", "--profile", "slurm", NYC_JOB, code=1, environment=environment)
    assert re.match(said, ran.splitlines()[-1])
    project.snakemake("-n", NYC_JOB, environment=environment)


@pytest.mark.parametrize(
    ("site", "gpu"),
    [
        ({}, "--gpus=1"),
        ({"GPU_MODEL": "a100-sxm4"}, "--gpus=a100-sxm4:1"),
        ({"GPU_MODEL": "h100"}, "--gpus=h100:1"),
        ({"GPU_REQUEST": "gres"}, "--gres=gpu:1"),
    ],
)
def test_a_dry_run_shows_what_each_job_asks_for(tmp_path, site, gpu):
    project = Project.make(tmp_path)
    shutil.copytree(ROOT / "slurm", tmp_path / "slurm")
    environment = {name: value for name, value in ENVIRONMENT.items() if name not in OWN}
    cell = f"results/cells/{CPU[0]}.csv"
    said = project.snakemake("-n", "--profile", "slurm", NYC_JOB, cell, environment=environment | site)
    assert re.search(rf"batch one \[partition gpu, account default, {gpu}, \d+ min, \d+ MB\]", said)
    assert re.search(r"cpu on nyc \[partition default, account default, no GPU, \d+ min, \d+ MB\]", said)
    assert "[partition" not in project.snakemake("-n", NYC_JOB)


def test_a_job_asks_for_the_time_of_all_its_cells(calls):
    job, cell = (calls[name] for name in (JOB, NYC_CELL))
    minutes = [int(words[words.index("-t") + 1]) for words in (job, cell)]
    assert minutes[0] > minutes[1] > 0
    assert "--cpus-per-task=1" in job  # as --cores has it


CELL, PART = "results/cells/a/b/nyc.csv", "results/all_pairs/nyc/4/2.parquet"


@pytest.mark.parametrize(
    ("rule", "output", "state", "written", "advice"),
    [
        ("measure", CELL, "TIMEOUT", None, "measure:runtime="),
        ("all_pairs_shard", PART, "TIMEOUT", None, "all_pairs_shard:runtime="),
        ("measure_sources", "results/sources/nyc.csv", "TIMEOUT", None, "measure_sources:runtime="),
        ("measure_many_sources", "results/many_sources/nyc.csv", "TIMEOUT", None, "measure_many_sources:runtime="),
        ("measure_sweep", "results/delta_sweep.csv", "TIMEOUT", None, "measure_sweep:runtime="),
        ("peak", "results/peak.csv", "OUT_OF_MEMORY", None, "peak:mem_mb="),
        ("job", NYC_JOB, "TIMEOUT", "CANCELLED DUE TO TIME LIMIT", "job:runtime="),
        ("job", NYC_JOB, "OUT_OF_MEMORY", None, "job:mem_mb="),
        ("job", NYC_JOB, "FAILED", "error: Detected 1 oom_kill event", "job:mem_mb="),
        ("job", NYC_JOB, "CANCELLED", "error: Exceeded job memory limit", "job:mem_mb="),
        ("job", NYC_JOB, "NODE_FAIL", None, "lost its node"),
        ("job", NYC_JOB, "CANCELLED", "", "was cancelled"),
        ("job", NYC_JOB, "FAILED", "error: an error of the job's own", None),
    ],
)
def test_advice_is_by_rule_and_slurms_state_and_what_it_wrote(tmp_path, rule, output, state, written, advice):
    path = tmp_path / "4711.log"
    if written is not None:
        path.write_text(f"slurmstepd: {written}\n")
    log = (
        f"Error in rule {rule}:\n message: SLURM-job '4711' failed, SLURM status is: '{state}'.\n"
        f" output: {output} (update), b\n log: {path} (check it"
    )
    lines = allocation.advice(f"{log}\n{log}")
    assert len(lines) == (2 if advice else 0)
    assert all(line.startswith(f"{output}: Slurm job 4711 ") and advice in line for line in lines)
