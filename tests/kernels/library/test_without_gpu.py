"""Without a GPU: what is measured, simulated, and drawn from the archive."""

import json
import re
from zipfile import ZipFile

import pytest

from tests.support.cells import read_csv
from tests.support.project import COMPLETE, DATASETS, JOB, OTHERS, SIMULATOR, TABLE1, Project, data, measured


def test_without_a_gpu_a_target_measures_what_it_can_and_says_what_it_skips(tmp_path):
    project = Project.make(tmp_path, stub=False, mode="auto", protocol={"repeats": 2})
    said = project.snakemake("-n", "nyc", "sample1", environment=SIMULATOR)
    assert set(re.findall(JOB, said, re.MULTILINE)) == data("nyc", "sample1") | measured(TABLE1[0]) | {"Check"}
    (skipped,) = re.findall("^nyc: 2 of 3 cells are skipped: .*$", said, re.MULTILINE)
    assert all(f"{cell} " in f"{skipped} ".replace(",", " ") for cell in TABLE1[1:3])
    assert skipped.endswith(" (NUMBA_ENABLE_CUDASIM)")  # why
    project.snakemake(f"results/cells/{TABLE1[0]}.csv", environment=SIMULATOR)
    rows = (tmp_path / f"results/cells/{TABLE1[0]}.csv").read_text()
    assert rows.count(",ok,") == 2 and "simulat" not in rows
    record = json.loads((tmp_path / f"results/cells/{TABLE1[0]}.json").read_text())
    assert record["protocol"]["block"] == 1024
    assert project.plan(f"results/cells/{TABLE1[0]}.csv", "--config", "mode=cuda") == set()  # it is a measurement


@pytest.mark.ci
def test_what_is_measured_without_a_gpu_is_compared_with_the_archive(tmp_path):
    """Of nyc the archive has times, of town not. Tables and claims stay those of the archive."""
    town = COMPLETE | {"cpu": ["bellman_ford"], "tables": {"sssp": ["table1"]}}
    project = Project.make(tmp_path, {**DATASETS, "town": town}, stub=False, mode="auto", protocol={"repeats": 2})
    views, shown = ("table1", "summary", "batches_table", "appendix"), ("table1.csv", "summary.csv", "claims.md")

    def made():
        project.snakemake(*views, "audit", environment=SIMULATOR)
        return [(tmp_path / f"results/{name}").read_bytes() for name in shown]

    before = made()
    measured = [f"results/cells/bellman_ford/cpu/{name}.csv" for name in ("nyc", "town")]
    project.snakemake(*measured, environment=SIMULATOR)
    assert project.plan(*views, "audit", environment=SIMULATOR) == {"Appendix"}
    assert made() == before
    archived, _, here = (tmp_path / "results/provenance.html").read_text().partition("Measured by this copy")
    assert "town" in here and "town" not in archived
    with ZipFile(tmp_path / "results/measurements.zip") as packed:
        assert {*measured, *(path.replace(".csv", ".json") for path in measured)} <= set(packed.namelist())
    project.snakemake("compare", environment=SIMULATOR)
    cells = {row["dataset"]: row for row in read_csv((tmp_path / "results/compare.csv").read_text())}
    assert set(cells) == {"nyc", "town"} and cells["nyc"]["archive median"] and not cells["town"]["archive median"]


@pytest.mark.ci
def test_cells_are_simulated_at_once_and_again_if_one_is_due(tmp_path):
    project = Project.make(tmp_path, stub=False, mode="auto")
    asked = "results/simulated.csv"
    project.configure(datasets={"sample1": {"gpu": ["bellman_ford/stride_flag", "bellman_ford/naive"]}})
    broken = tmp_path / "kernels/paper/serial.py"
    text = broken.read_text()
    broken.write_text(
        text.replace("\ndef bellman_ford(", "\ndef bellman_ford(graph, result, run): 1 / 0\n\n\ndef was(")
    )
    said = project.snakemake(asked, code=1, environment=SIMULATOR)
    assert "1 of 3 cells failed: bellman_ford/cpu/sample1" in said and "ZeroDivisionError" in said
    assert not (tmp_path / asked).exists()

    broken.write_text(text)
    project.snakemake(asked, environment=SIMULATOR)
    rows = read_csv((tmp_path / asked).read_text())
    assert {row["variant"]: row["status"] for row in rows} == {
        **{"cpu": "ok", "stride_flag": "simulated", "naive": "simulated"},
    }
    assert project.plan(asked, environment=SIMULATOR) == set()
    project.raise_revision(OTHERS[0].rpartition("/")[0])
    assert project.plan(asked, environment=SIMULATOR) == {"Check"}


def test_in_the_simulator_all_checks_and_draws_the_archive(tmp_path):
    project = Project.make(tmp_path, stub=False, mode="auto")
    drawn = {"Table 1", "Table 2", "Table 3", "Figure 5", "Figure 6", "Audit", "Picture", "Summary"}
    drawn |= {"Table 6", "Figure 8", "Table growth"}
    assert project.plan(environment=SIMULATOR) == data("sample1") | drawn | {"Check", "List", "Appendix", "Legend"}
    project.snakemake("results/simulated.md", "table1", environment=SIMULATOR)
    made = {path for path in project.files("results") if not path.endswith((".json", ".csv"))}
    assert made == {
        "results/simulated.md",
        "results/simulated.html",
        *(f"results/table1.{end}" for end in ("md", "html")),
    }
    assert not (tmp_path / "results/cells").exists()
    text = (tmp_path / "results/simulated.md").read_text()
    assert re.search(r"bellman_ford/stride_flag +\| simulated, 1 row checked", text)
    assert re.search(r"bellman_ford/cpu +\| run, 1 row checked", text)
    assert "From the archive h200, not measured here." in (tmp_path / "results/table1.md").read_text()
    assert "Nothing to be done" in project.snakemake("results/simulated.md", "table1", environment=SIMULATOR)
