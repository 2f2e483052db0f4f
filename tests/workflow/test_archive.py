"""What an archive keeps: batches are added, and what a later revision leaves behind goes."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from kernels.errors import InputError
from tests.support.rows import STATE, measurement, record
from tests.support.views import configured
from workflow import archive
from workflow.store import collect, columns, measurements, records

NAIVE, CPU, FLAG = "bellman_ford/naive", "dijkstra/scipy", "bellman_ford/stride_flag"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The test's own folder is the working directory; archiving draws nothing, which takes long."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(archive, "draw", lambda *args: None)


def write(table, rows, found):
    table.parent.mkdir(parents=True, exist_ok=True)
    table.write_text(measurements.schema().to_csv(rows, table))
    records.beside(table).write_text(json.dumps(found))


def job(
    batch, revision="2", day=1, seconds=1.0, keys=(NAIVE, CPU), dataset="nyc", device="NVIDIA H200", clock=1900, **more
):
    """A job of two rounds; its records say the clock. more: columns."""
    rows = []
    for key in keys:
        on_card = {"device": device, "card_uuid": f"GPU-{batch}"} if key in (NAIVE, FLAG) else {}
        common = {
            "batch": batch,
            "revision": revision,
            "started": f"2026-01-{day:02}T00:00:00+00:00",
            **on_card,
        }
        rows += [measurement(key, dataset, n, seconds, **common, **more) for n in (2, 1)]
    state = STATE | {"sm_clock_mhz": clock}
    found = [record(key, dataset, {"before": state, "after": state}, batch=batch) for key in keys]
    table = Path(f"results/batches/{batch}/sssp/{dataset}/timings.csv")
    write(table, rows, {records.name(one): one for one in found})


def alone(key=NAIVE, revision="2", day=1, seconds=9.0, dataset="nyc"):
    """A cell that was measured alone."""
    device = {"device": "NVIDIA H200"} if key in (NAIVE, FLAG) else {}
    row = measurement(key, dataset, 1, seconds, revision=revision, started=f"2026-01-{day:02}T00:00:00+00:00", **device)
    write(Path(f"results/cells/{key}/{dataset}.csv"), [row], record(key, dataset))


def keep():
    archive.archive(Path("results"), configured("elsewhere"))
    for measured in ("cells", "batches"):
        shutil.rmtree(f"results/{measured}", ignore_errors=True)


def kept(key=NAIVE, name="h200", column="batch"):
    """A column of a variant's rows in an archive."""
    with open(f"results/archive/{name}/timings.csv", newline="") as file:
        return [row[column] for row in csv.DictReader(file) if f"{row['algorithm']}/{row['variant']}" == key]


def provenance(name="h200"):
    return records.read(Path(f"results/archive/{name}/provenance.json"))


def test_without_measurements_all_archives_are_drawn_again(monkeypatch):
    job("b")
    keep()
    table = Path("results/archive/h200/timings.csv")
    before, drawn = table.read_bytes(), []
    monkeypatch.setattr(archive, "draw", lambda rows, folder, into, config: drawn.append((len(rows), folder.name)))
    keep()
    assert drawn == [(4, "h200")] and table.read_bytes() == before


def test_a_batch_is_added_and_its_cpu_rows_with_it():
    job("b", clock=1500)
    keep()
    job("a", day=2, clock=1700)
    keep()
    assert kept() == kept(CPU) == ["a", "a", "b", "b"] and kept(column="round") == ["1", "2", "1", "2"]
    assert set(provenance()) == {f"{key}/nyc/{batch}" for key in (NAIVE, CPU) for batch in "ab"}
    rows = measurements.load(["results/archive/h200/timings.csv"])
    rows = rows[rows["variant"] == "naive"]
    assert rows["clock_before_mhz"].tolist() == [1700, 1700, 1500, 1500]  # of each row's own batch


def test_rows_of_a_variant_that_lacked_a_package_are_left_out():
    job("a")
    keep()
    job("b", day=2, keys=(NAIVE,))
    path = Path("results/batches/b/sssp/nyc/timings.csv")
    lacks = dict.fromkeys(columns.TIMES, "") | {"status": "unavailable", "rows_checked": 0, "batch": "b"}
    with open(path, newline="") as file:
        rows = [*csv.DictReader(file), measurement(CPU, "nyc", **lacks | {"seconds": ""})]
    write(path, rows, records.read(records.beside(path)) | {f"{CPU}/nyc/b": record(CPU, "nyc", batch="b")})
    keep()
    assert kept() == ["a", "a", "b", "b"] and kept(CPU) == ["a", "a"]
    assert set(provenance()) == {f"{NAIVE}/nyc/a", f"{NAIVE}/nyc/b", f"{CPU}/nyc/a"}


def test_the_same_batch_again_replaces_its_rows():
    job("a")
    job("b")
    keep()
    before = Path("results/archive/h200/timings.csv").read_bytes()
    job("a")
    keep()
    assert Path("results/archive/h200/timings.csv").read_bytes() == before
    job("a", seconds=2.0, keys=(NAIVE,))
    keep()
    assert kept(column="seconds") == ["2.0", "2.0", "1.0", "1.0"] and kept(CPU, column="seconds") == ["1.0"] * 4


def test_a_batch_of_another_host_replaces_none():
    job("a")
    keep()
    before = Path("results/archive/h200/timings.csv").read_bytes()
    job("a", host_id="01234567")
    with pytest.raises(InputError, match=r"nyc/a: the archive has a batch a from another host, .*: rename this batch"):
        keep()
    assert Path("results/archive/h200/timings.csv").read_bytes() == before
    job("a")
    job("b", host_id="01234567")
    keep()
    assert list(dict.fromkeys(kept())) == ["a", "b"]


def test_of_older_revisions_the_last_batch_stays():
    for day, (batch, revision) in enumerate([("a", "1"), ("c", "1"), ("b", "0")], 1):
        job(batch, revision, day)
    keep()
    assert kept() == ["b", "b", "c", "c"]
    job("d", "2", 4, keys=(NAIVE,))
    job("e", "2", 5, keys=(NAIVE,))
    keep()
    assert list(dict.fromkeys(kept())) == ["b", "d", "e"] and list(dict.fromkeys(kept(CPU))) == ["b", "c"]
    assert set(provenance()) == {f"{NAIVE}/nyc/{batch}" for batch in "bde"} | {f"{CPU}/nyc/{b}" for b in "bc"}
    job("f", "1", 3, keys=(NAIVE,))  # measured before, archived after
    keep()
    assert list(dict.fromkeys(kept())) == ["d", "e", "f"]


def test_a_cell_measured_alone_is_kept_beside_batches_until_they_are_of_a_newer_revision():
    alone(day=1)
    keep()
    alone(day=2, seconds=8.0)
    keep()
    assert kept(column="seconds") == ["8.0"]
    job("a", day=3)
    job("b", day=4)
    keep()
    assert list(dict.fromkeys(kept())) == ["", "a", "b"]  # of the same revision
    alone(revision="3", day=5)
    keep()
    assert list(dict.fromkeys(kept())) == ["", "a", "b"]  # one run alone sends no batch away
    assert kept(column="revision")[0] == "3"
    job("c", "4", day=6)
    keep()
    assert list(dict.fromkeys(kept())) == ["b", "c"]
    assert f"{NAIVE}/nyc" not in provenance()


def test_cpu_rows_go_where_their_batch_went():
    job("a")
    job("b", device="NVIDIA H100", dataset="bay")
    alone("bellman_ford/cpu")
    keep()
    assert kept(CPU, "h200") == ["a", "a"] and kept(CPU, "h100") == ["b", "b"]
    assert kept("bellman_ford/cpu", "h200") == kept("bellman_ford/cpu", "h100") == [""]
    job("c", keys=(CPU,))
    keep()
    assert kept(CPU, "elsewhere") == ["c", "c"]


def test_a_job_without_a_record_of_a_row_is_refused():
    job("a")
    path = Path("results/batches/a/sssp/nyc/provenance.json")
    found = json.loads(path.read_text())
    del found[f"{CPU}/nyc/a"]
    path.write_text(json.dumps(found))
    said = rf"provenance\.json: the record of {CPU}/nyc/a is missing: delete .*timings\.csv and measure again"
    with pytest.raises(InputError, match=said):
        collect.read([path.with_name("timings.csv")])
