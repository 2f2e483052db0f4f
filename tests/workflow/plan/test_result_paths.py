"""Which batches a machine makes, and which files a target takes."""

import os
from datetime import date
from pathlib import Path

import pytest

from tests.support.rows import CONFIG
from workflow.measure.host import host_id
from workflow.plan import experiments, result_paths

JOBS = experiments.jobs(CONFIG)
HERE = host_id()
TODAY = f"2026-11-22-{HERE}"


@pytest.fixture(autouse=True)
def machine(tmp_path, monkeypatch):
    """A day and a machine, and an empty folder."""

    class Today(date):
        @classmethod
        def today(cls):
            return cls(2026, 11, 22)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(result_paths, "date", Today)


def config(**protocol):
    return CONFIG | {"protocol": CONFIG["protocol"] | protocol}


def made(batch, changed, host="", job=("sssp", "nyc")):
    """A job's file, changed so many seconds after another; of a machine, or just begun."""
    path = Path(result_paths.job_file(batch, *job))
    path = path if host else path.with_name("timings.csv.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"algorithm,host_id\nbellman_ford,{host}\n")
    for changed_too in (path, path.parent, path.parent.parent, path.parents[2]):
        os.utime(changed_too, (changed, changed))
    return path


def test_the_names_of_several_batches():
    assert result_paths.batches(config(batch="a", batches=3)) == ["a", "a-2", "a-3"]
    assert result_paths.batches(config(batch="a"), new=True) == ["a"]
    assert result_paths.batches(config(batches=2)) == [TODAY, f"{TODAY}-2"]


def test_a_run_that_was_cut_off_goes_on_the_next_day_and_a_new_batch_is_new():
    yesterday = f"2026-11-21-{HERE}"
    made(yesterday, 10)
    assert result_paths.batches(config()) == [yesterday]
    assert result_paths.batches(config(), new=True) == [TODAY]
    assert result_paths.batches(config(batch="a")) == ["a"]
    made(f"2026-11-20-{HERE}", 5, HERE)
    assert result_paths.batches(config()) == [yesterday]
    made("by_name", 20, HERE)
    assert result_paths.batches(config()) == ["by_name"]
    made(f"{yesterday}-3", 30)
    assert result_paths.batches(config(batches=2)) == [yesterday, f"{yesterday}-2"]


def test_batches_of_other_machines_are_not_gone_on_with():
    made("2026-11-21-99999999", 10)
    made("elsewhere", 20, "99999999")
    made("begun", 30)
    Path("results/batches/note.txt").touch()
    assert result_paths.batches(config()) == [TODAY]


def wanted(*names):
    return [tuple(name.split("/")) for name in names]


def test_what_is_in_a_job_is_measured_there_and_the_rest_alone():
    cells = wanted("bellman_ford/naive/nyc", "bellman_ford/cpu/nyc", "bellman_ford/stride/nyc", "edge/apsp/gnutella04")
    expected = [
        "results/batches/a/sssp/nyc/timings.csv",
        "results/batches/a/apsp/gnutella04/timings.csv",
        "results/batches/a-2/sssp/nyc/timings.csv",
        "results/batches/a-2/apsp/gnutella04/timings.csv",
        "results/cells/bellman_ford/cpu/nyc.csv",
    ]
    assert (
        result_paths.to_make(JOBS, ["a", "a-2"], cells)
        == result_paths.files_of_cells(JOBS, ["a", "a-2"], cells)
        == expected
    )


def test_a_dataset_takes_its_jobs_and_what_is_in_none():
    nyc = result_paths.to_make(JOBS, ["a"], experiments.targets(CONFIG)["nyc"])
    alone = [f"results/cells/bellman_ford/{name}/nyc.csv" for name in ("cpu", "stride_ell")]
    assert nyc == ["results/batches/a/sssp/nyc/timings.csv", *alone]
    powerlaw = result_paths.to_make(JOBS, ["a"], experiments.targets(CONFIG)["powerlaw"])
    assert {Path(path).parts[1] for path in powerlaw} == {"cells"}


def test_what_is_shown_where_it_is_there_is_not_made():
    family = experiments.family_cells(CONFIG)
    assert result_paths.files_of_cells(JOBS, ["a"], [], family) == []
    job = made("a", 10, HERE, ("sssp", "rmat20"))
    alone = Path("results/cells/dijkstra/scipy/grid250.csv")
    alone.parent.mkdir(parents=True)
    alone.touch()
    there = [str(job.resolve()), str(alone.resolve())]
    assert result_paths.files_of_cells(JOBS, ["a"], [], family) == there
    nyc = result_paths.files_of_cells(JOBS, ["a"], wanted("bellman_ford/naive/nyc"), family)
    assert nyc == ["results/batches/a/sssp/nyc/timings.csv", *there]


def test_all_batches_that_are_there_are_shown_and_cells_measured_again_too():
    for batch in ("b", "a"):
        made(batch, 10, HERE)
    begun = made("c", 10)
    made("b", 10, HERE, ("sssp", "bay"))
    again, other = (Path(f"results/cells/bellman_ford/naive/{name}.csv") for name in ("nyc", "bay"))
    again.parent.mkdir(parents=True)
    again.touch()
    other.touch()
    files = result_paths.files_of_cells(JOBS, ["a"], wanted("bellman_ford/naive/nyc", "bellman_ford/cpu/nyc"))
    assert files == [
        "results/batches/a/sssp/nyc/timings.csv",
        "results/cells/bellman_ford/cpu/nyc.csv",
        str(Path("results/batches/b/sssp/nyc/timings.csv").resolve()),
        str(again.resolve()),
    ]
    assert begun.exists()
