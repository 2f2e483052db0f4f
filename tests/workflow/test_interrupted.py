"""What was killed, or failed, runs to its end later, and leaves all else as it was."""

import gzip
import json
import re
import signal
import time
from contextlib import suppress

import numpy as np
import psutil
import pytest

from tests.support.project import CPU, DATASETS, ROOT, TABLE1, TABLE2, Project, data, measured
from tests.support.server import ranged, serving

TROUBLESHOOTING = (ROOT / "docs/troubleshooting.md").read_text()


@pytest.fixture
def site():
    with serving() as server:
        yield server


def test_a_failing_dataset_does_not_stop_the_others(tmp_path):
    project = Project.make(tmp_path)
    project.configure(datasets={"nyc": {"arcs": 33}})
    said = project.snakemake("naive", code=1)
    assert "nyc has 32 arcs, config says 33" in said  # the failed log is shown
    assert {path for path in project.files("results") if path.endswith(".csv")} == {
        f"results/cells/{cell}.csv" for cell in (TABLE1[3], *TABLE2)
    }
    assert {path for path in project.files("resources/graphs") if "nyc" in path} == set()
    project.configure(datasets={"nyc": {"arcs": 32}})
    assert project.plan("naive") == data("nyc") | measured(TABLE1[1])


def wait_for(what, process):
    """Wait until what() is true, while the process runs."""
    deadline = time.monotonic() + 120
    while not what():
        assert process.poll() is None and time.monotonic() < deadline, process.stdout.read()
        time.sleep(0.02)


def jobs(process, script):
    """The processes in which Snakemake runs a step's script."""
    found = []
    for child in psutil.Process(process.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it ended meanwhile
            if any(word.endswith(f".{script}.py") for word in child.cmdline()):
                found.append(child)
    return [child for child in found if child.ppid() not in {other.pid for other in found}]  # one it forks looks alike


def kill_job(process, script):
    """SIGKILL to the job alone; Snakemake then ends by itself and says so."""
    (job,) = jobs(process, script)
    job.send_signal(signal.SIGKILL)
    assert re.search(r"SIGKILL(.|\n)*failed: see logs/", process.stdout.read())
    assert process.wait() == 1


def kill_all(process):
    """SIGKILL to Snakemake and every job."""
    parent = psutil.Process(process.pid)
    for one in [parent, *parent.children(recursive=True)]:
        one.send_signal(signal.SIGKILL)
    process.stdout.read()
    assert process.wait() == -signal.SIGKILL


@pytest.mark.ci
def test_a_killed_download_runs_to_its_end_later(site, tmp_path):
    random = np.random.default_rng(0)
    arcs = np.column_stack([random.integers(0, 1000, (40_000, 2)), random.integers(1, 2**31 - 1, 40_000)])
    text = "1000 40000\n" + "".join(f"{u} {v} {w}\n" for u, v, w in arcs.tolist())
    body = gzip.compress(text.encode(), mtime=0)
    stalls = ranged(body, sent=200_000, stalls=True)
    url = site.url("/far.txt.gz", stalls, stalls, ranged(body))
    far = {"sources": [url], "format": "text", "vertices": 1000, "arcs": 40000, "gpu": ["bellman_ford/naive"]}
    project = Project.make(tmp_path, datasets={"sample1": DATASETS["sample1"], "far": far}, download={"retries": 0})
    project.snakemake("sample1")
    finished = project.files()
    raw = tmp_path / "resources/raw/far.txt.gz"
    part = raw.with_name("far.txt.gz.part")

    def half_way():
        return part.exists() and part.stat().st_size > 100_000

    with project.start("far") as process:
        wait_for(half_way, process)
        kill_job(process, "download")
    assert not raw.exists()

    part.unlink()
    with project.start("far") as process:
        wait_for(half_way, process)
        kill_all(process)
    assert not raw.exists() and part.exists()

    assert "--unlock" in project.snakemake("far", code=1)
    project.snakemake("--unlock")
    project.snakemake("far")
    assert raw.read_bytes() == body
    assert site.ranges()[-1].startswith("bytes=")  # only the rest was asked for
    assert (tmp_path / "results/cells/bellman_ford/naive/far.csv").exists()
    assert (tmp_path / "resources/graphs/far.txt").read_text() == text
    assert finished.items() <= project.files().items()
    assert project.plan("far", "sample1") == set()


@pytest.mark.ci
def test_a_killed_measurement_runs_to_its_end_later(tmp_path):
    large = {"format": "random", "vertices": 200, "arcs": 39_800, "weights": {"min": 1, "max": 9, "seed": 1}}
    datasets = {
        "sample1": DATASETS["sample1"] | {"gpu": []},
        "large": {**large, "cpu": ["bellman_ford"]},
    }
    project = Project.make(tmp_path, datasets=datasets, stub=False, protocol={"repeats": 15})
    project.snakemake("sample1")
    finished = project.files()
    cell, log = (tmp_path / f"{top}/cells/bellman_ford/cpu/large" for top in ("results", "logs"))

    def half_way():
        return log.with_suffix(".log").exists() and "large: " in log.with_suffix(".log").read_text()

    with project.start("large") as process:
        wait_for(half_way, process)
        kill_job(process, "measure")
    assert not cell.with_suffix(".csv").exists()

    log.with_suffix(".log").unlink(missing_ok=True)
    with project.start("large") as process:
        wait_for(half_way, process)
        kill_all(process)
    assert not cell.with_suffix(".csv").exists()

    assert "--unlock" in project.snakemake("large", code=1)
    (words,) = re.findall(r"If it was killed, run `snakemake (.+?)`", TROUBLESHOOTING)
    project.snakemake(*words.split())
    project.snakemake("large")
    assert cell.with_suffix(".csv").read_text().count(",ok,") == 15
    assert json.loads(cell.with_suffix(".json").read_text())["protocol"]["repeats"] == 15
    assert finished.items() <= project.files().items()
    assert project.plan("large", "sample1") == set()


@pytest.mark.ci
def test_a_measurement_that_outlives_snakemake_is_not_measured_beside(tmp_path):
    nyc = DATASETS["nyc"] | {"gpu": [], "cpu": ["bellman_ford/cpu"]}
    project = Project.make(tmp_path, datasets={"nyc": nyc}, stub=False, protocol={"repeats": 10**6})
    cell = tmp_path / "results/cells/bellman_ford/cpu/nyc.csv"
    lock = cell.with_name("nyc.csv.lock")
    with project.start("nyc") as process:
        wait_for(lambda: lock.exists() and lock.read_text(), process)
        (job,) = jobs(process, "measure")
        job.suspend()  # it keeps its lock, and takes no time from the others
        process.kill()
    try:
        project.snakemake("--unlock")
        said = project.snakemake("nyc", code=1)
        assert "nyc.csv: " in said and f" process {job.pid} on " in said
        assert lock.exists() and not cell.exists()
    finally:
        job.kill()


@pytest.mark.ci
def test_a_killed_measurement_leaves_the_one_before(tmp_path):
    project = Project.make(tmp_path)
    cell = f"results/cells/{CPU[0]}.csv"
    project.snakemake(cell)
    path = tmp_path / cell
    before = path.read_bytes()
    script = "import time\nfrom pathlib import Path\n\nPath('asleep').touch()\ntime.sleep(60)\n"
    (tmp_path / "workflow/scripts/measure.py").write_text(script)
    asleep = tmp_path / "asleep"
    with project.start("-f", cell) as process:
        wait_for(asleep.exists, process)
        kill_job(process, "measure")
    assert path.read_bytes() == before

    asleep.unlink()
    with project.start("-f", cell) as process:
        wait_for(asleep.exists, process)
        for one in [psutil.Process(process.pid), *jobs(process, "measure")]:
            one.send_signal(signal.SIGINT)  # as a terminal does after Ctrl-C
        assert "Interrupted: " in process.stdout.read()
        assert process.wait() == 1
    assert path.read_bytes() == before
