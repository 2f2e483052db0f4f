"""The project through Slurm: snakemake's Slurm executor and a real slurmctld, measuring in the simulator.

A copy of the project, with sample1 through five variants of the paper and stride_flag on sample2,
is run by the command as a user types it. With REQUIRE_SLURM=1 a missing Slurm is a failure. Under
pytest-xdist `--dist loadfile` keeps it to one Slurm.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
import yaml

from tests.support import slurm as private

pytestmark = pytest.mark.ci
ROOT = Path(__file__).parents[2]
PARTS = ("Snakefile", "environment.yml", "kernels", "profiles", "slurm", "workflow", "results/archive")
CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text())
# Of each algorithm one, on a CPU and on more GPUs than there are; test_sbatch.py has the jobs of all variants.
CHOSEN = (
    "bellman_ford/cpu",
    "bellman_ford/naive",
    "bellman_ford/stride_flag",
    "dijkstra/naive",
    "floyd_warshall/tiled",
)
CELLS = {f"{key}/sample1" for key in CHOSEN} | {"bellman_ford/stride_flag/sample2"}
# The executor asks Slurm after 1, 12, 33, 64 … seconds, which is most of the time here: so each second.
EACH_SECOND = """
import asyncio, sys
from snakemake.cli import main
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

RemoteExecutor.sleep = lambda self: asyncio.sleep(1)
main()
"""
SNAKEMAKE = (sys.executable, "-c", EACH_SECOND, "--cores", "1", "--profile", "slurm")
# Warming up for far longer than the limits: a cell that only Slurm can stop.
ENDLESS = {"protocol": {"warmup_launches": 10**6}}


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    missing = [name for name in ("slurmctld", "slurmd", "sbatch", "srun") if not private.find(name)]
    if missing:
        why = f"Slurm is not installed: there is no {', '.join(missing)}"
        (pytest.fail if os.environ.get("REQUIRE_SLURM") == "1" else pytest.skip)(why)
    with private.started(tmp_path_factory.mktemp("slurm")) as running:
        yield running


class Project:
    """A copy of the project in a folder, and what Slurm knows of its jobs."""

    def __init__(self, slurm, folder: Path):
        self.slurm, self.folder = slurm, folder
        for part in PARTS:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, folder / part)
        sample1, sample2 = CONFIG["datasets"]["sample1"], CONFIG["datasets"]["sample2"]
        on_gpu, on_cpu = ([key for key in CHOSEN if key.endswith("/cpu") is cpu] for cpu in (False, True))
        datasets = {
            "sample1": sample1 | {"gpu": on_gpu, "cpu": on_cpu},
            "sample2": sample2 | {"gpu": ["bellman_ford/stride_flag"], "cpu": [], "simulate": True},
        }
        sweeps = {name: options | {"dataset": "sample1"} for name, options in CONFIG["sweeps"].items()}
        for name in ("sources", "many_sources"):
            sweeps[name] = CONFIG["sweeps"][name] | {"datasets": ["sample1"]}
        all_pairs = {"datasets": ["sample1"], "shards": 2, "sample": 6}
        changed = {"datasets": datasets, "sweeps": sweeps, "all_pairs": all_pairs}
        (folder / "config.yaml").write_text(yaml.safe_dump(CONFIG | changed))
        (folder / "endless.yaml").write_text(yaml.safe_dump(ENDLESS))
        profile = folder / "slurm" / "config.yaml"
        text, changed = re.subn(r"(before-status-checks:) \d+", r"\1 1", profile.read_text())
        assert changed == 1
        profile.write_text(text)

    def start(self, *words: str, **environment: str) -> subprocess.Popen:
        return subprocess.Popen(
            [*SNAKEMAKE, *words],
            cwd=self.folder,
            env={**self.slurm.environment, "NUMBA_ENABLE_CUDASIM": "1", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *words: str, fails: bool = False, **environment: str) -> str:
        """What the command prints; it must end well, or must not."""
        return self.end(self.start(*words, **environment), fails)

    @staticmethod
    def end(process: subprocess.Popen, fails: bool = False) -> str:
        try:
            said = process.communicate(timeout=300)[0]
        finally:
            process.kill()
        assert bool(process.returncode) == fails, said
        return said

    def jobs(self) -> dict[str, list[dict]]:
        """Slurm's records by the job's name, <algorithm>_<variant>_<dataset> for a measurement."""
        jobs: dict[str, list[dict]] = {}
        for job in self.slurm.jobs(self.folder):
            name = job["Comment"].removeprefix("rule_measure_wildcards_simulated_")
            jobs.setdefault(name, []).append(job)
        return jobs

    def runs(self, job: str) -> bool:
        return any(record["JobState"] == "RUNNING" for record in self.jobs().get(job, []))

    def suspend(self) -> bool:
        """Whether a measurement runs; it then takes no more time from the others, and Slurm still counts its own."""
        for process in psutil.process_iter():
            with suppress(psutil.Error):  # it ended meanwhile
                if any(word.endswith(".measure.py") for word in process.cmdline()) and process.cwd() == str(
                    self.folder
                ):
                    process.suspend()
                    return True
        return False

    def measured(self) -> set[str]:
        root = self.folder / "results" / "simulated"
        return {str(path.relative_to(root).with_suffix("")) for path in root.rglob("*.csv")}

    def file(self, cell: str, end: str = ".csv") -> Path:
        return self.folder / "results" / "simulated" / f"{cell}{end}"


def name(cell: str) -> str:
    return cell.replace("/", "_")


@pytest.fixture(scope="module")
def project(slurm, tmp_path_factory):
    return lambda: Project(slurm, tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module", autouse=True)
def stopped(project):
    """Two cells without end, each in its project, that Slurm has to stop for a limit; begun before all else."""
    cell = "results/simulated/bellman_ford/stride_flag/sample1.csv"
    runs = {}
    for resource, limit in (("runtime", "1"), ("mem_mb", "40")):
        its = project()
        words = (cell, "--configfile", "endless.yaml", "--set-resources", f"measure:{resource}={limit}")
        runs[resource] = its, its.start(*words)
    private.wait_for(runs["runtime"][0].suspend, "the cell that runs too long", 240)
    yield runs
    for _, process in runs.values():
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def whole(project, stopped):
    """All of it, by the command as it stands in the README."""
    it = project()
    it.run()
    return it


def test_the_command_makes_everything(whole):
    assert whole.measured() == CELLS
    assert set(whole.jobs()) == {name(cell) for cell in CELLS}
    summary = (whole.folder / "results" / "simulated.md").read_text()
    assert all(dataset in summary for dataset in ("sample1", "sample2"))
    made = [f"results/table{number}.csv" for number in (1, 2, 3)] + [f"figures/figure{number}.svg" for number in (5, 6)]
    assert [path for path in made if not (whole.folder / path).stat().st_size] == []


def test_a_gpu_is_asked_for_by_those_who_measure_one_and_no_others(whole):
    for cell in CELLS:
        (job,) = whole.jobs()[name(cell)]
        on_gpu = "/cpu/" not in cell
        assert job["JobState"] == "COMPLETED"
        assert job["Partition"] == ("gpu" if on_gpu else "cpu"), cell
        assert re.findall(r"gpu\S*", job.get("TresPerJob", "")) == (["gpu:1"] if on_gpu else []), cell


def test_provenance_has_job_node_and_card(whole):
    for cell in CELLS:
        (job,) = whole.jobs()[name(cell)]
        slurm = json.loads(whole.file(cell, ".json").read_text())["slurm"]
        assert slurm["SLURM_JOB_ID"] == job["JobId"]
        assert slurm["SLURMD_NODENAME"] == job["NodeList"] == "localhost"
        assert ("CUDA_VISIBLE_DEVICES" in slurm) == ("/cpu/" not in cell)


def test_no_two_cells_share_a_card(whole):
    on_card: dict[str, list] = {}
    for cell in CELLS:
        slurm = json.loads(whole.file(cell, ".json").read_text())["slurm"]
        (job,) = whole.jobs()[name(cell)]
        if card := slurm.get("CUDA_VISIBLE_DEVICES"):
            on_card.setdefault(card, []).append((job["StartTime"], job["EndTime"]))
    assert len(on_card) > 1  # profiles/default's one card is no limit of the cluster's
    for times in on_card.values():
        times.sort()
        assert all(end <= start for (_, end), (start, _) in pairwise(times))


def test_again_does_nothing(whole):
    before = whole.jobs()
    assert "Nothing to be done" in whole.run()
    assert whole.jobs() == before


def test_one_dataset_then_one_variant_for_another_site(project):
    it = project()
    it.run("sample2")
    assert it.measured() == {"bellman_ford/stride_flag/sample2"}
    site = {"GPU_PARTITION": "other", "GPU_MODEL": "model", "SBATCH_ACCOUNT": "physics"}
    it.run("tiled", "--set-resources", "measure:runtime=90", **site)
    assert it.measured() == {"bellman_ford/stride_flag/sample2", "floyd_warshall/tiled/sample1"}
    assert set(it.jobs()) == {name(cell) for cell in it.measured()}
    (job,) = it.jobs()["floyd_warshall_tiled_sample1"]
    assert job["Partition"] == "other" and job["Account"] == "physics" and job["TimeLimit"] == "01:30:00"
    assert re.search(r"gpu:model:1$", job["TresPerJob"])


def test_a_cancelled_cell_and_a_killed_part_of_all_pairs_are_all_that_is_measured_again(project):
    it, whole = project(), "results/all_pairs/sample1.parquet"
    kept, cancelled = "bellman_ford/stride_flag/sample1", "bellman_ford/stride_flag/sample2"
    parts = ["rule_all_pairs_shard_wildcards_sample1_2_1", "rule_all_pairs_shard_wildcards_sample1_2_2"]
    first, second = (it.folder / f"results/all_pairs/sample1/2/{shard}.parquet" for shard in (1, 2))
    process = it.start("stride_flag", whole)
    for job in (name(cancelled), parts[1]):
        private.wait_for(partial(it.runs, job), f"{job}, to cancel it")
        it.slurm.run("scancel", it.jobs()[job][0]["JobId"])
    said = it.end(process, fails=True)
    for path in (f"{cancelled}.csv", "sample1/2/2.parquet"):
        assert re.search(rf"{path}: Slurm job \d+ was cancelled", said)
    assert it.measured() == {kept}
    assert list(it.file(cancelled).parent.glob(".*")) == []
    assert first.exists() and not second.exists() and not (it.folder / whole).exists()
    before = it.file(kept).stat().st_mtime_ns, first.stat().st_mtime_ns
    it.run("stride_flag", whole)
    assert it.measured() == {kept, cancelled}
    assert (it.file(kept).stat().st_mtime_ns, first.stat().st_mtime_ns) == before
    jobs = it.jobs()
    times = {name(kept): 1, name(cancelled): 2, parts[0]: 1, parts[1]: 2}
    assert {job: len(records) for job, records in jobs.items()} == times
    found = json.loads((it.folder / whole).with_suffix(".json").read_text())
    assert [(part["vertices"], part["rows_checked"], part["search_s"]) for part in found["parts"]] == [(6, 3, None)] * 2
    ran = {record["JobId"]: record for part in parts for record in jobs[part]}
    for part in found["parts"]:
        record = ran[part["slurm"]["SLURM_JOB_ID"]]
        assert record["Partition"] == "gpu" and re.search("gpu:1$", record["TresPerJob"])


def test_scripts_edited_while_jobs_run_start_nothing_again(project):
    """Neither in a job, which may run no rule but its own, nor by the next command, by profiles/default's triggers."""
    it = project()
    cells = {"bellman_ford/stride_flag/sample1", "bellman_ford/stride_flag/sample2"}
    process = it.start("stride_flag", "--slurm-keep-successful-logs")
    private.wait_for(lambda: len(it.jobs()) == 2, "both jobs, to edit scripts before they have planned")
    graphs = {path: path.stat().st_mtime_ns for path in (it.folder / "resources/graphs").glob("*.npz")}
    for script in ("convert", "pack", "measure"):
        with open(it.folder / f"workflow/scripts/{script}.py", "a") as file:
            file.write("\n")
    it.end(process)
    assert it.measured() == cells
    assert {job: len(records) for job, records in it.jobs().items()} == dict.fromkeys(map(name, cells), 1)
    assert {path: path.stat().st_mtime_ns for path in graphs} == graphs
    logs = [path.read_text() for path in (it.folder / ".snakemake/slurm_logs").rglob("*.log")]
    started = [re.findall(r"^Job \d+: (\w+)", log, re.MULTILINE) for log in logs]
    assert started == 2 * [["Measure", "Measure"]]  # by the job, and by its step
    assert "Nothing to be done" in it.run("stride_flag")


def test_without_the_simulator_it_means_real_cells(project):
    said = project().run("-n", "stride_flag", NUMBA_ENABLE_CUDASIM="0")
    assert "results/cells/bellman_ford/stride_flag/sample1.csv" in said


@pytest.mark.parametrize("resource, state", [("mem_mb", "FAILED|OUT_OF_MEMORY"), ("runtime", "TIMEOUT")])
def test_a_cell_over_its_limit_says_what_to_raise(stopped, resource, state):
    it, process = stopped[resource]
    said = it.end(process, fails=True)
    (job,) = it.jobs()["bellman_ford_stride_flag_sample1"]
    assert re.fullmatch(state, job["JobState"])
    assert re.search(
        rf"stride_flag/sample1\.csv: Slurm job {job['JobId']} (ran|exceeded) .*--set-resources measure:{resource}=",
        said,
    )
    assert it.measured() == set()
