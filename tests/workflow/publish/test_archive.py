"""What an archive keeps: a copy of each file of results/, where results/ has it."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from kernels.errors import InputError
from tests.support.rows import STATE, measurement, record
from tests.support.views import configured
from workflow.publish import archive
from workflow.store import collect, columns, measurements, records

NAIVE, CPU, FLAG = "bellman_ford/naive", "dijkstra/scipy", "bellman_ford/stride_flag"


@pytest.fixture(autouse=True)
def folder(tmp_path, only_views, monkeypatch):
    """The test's own folder is the working directory; archiving draws nothing, which takes long."""
    monkeypatch.chdir(tmp_path)
    only_views()


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


def read(table):
    with open(table, newline="") as file:
        return list(csv.DictReader(file))


def kept(key=NAIVE, name="h200", column="batch"):
    """A column of a variant's rows in an archive, in the order of its files."""
    rows = [row for table in measurements.files(f"results/archive/{name}") for row in read(table)]
    return [row[column] for row in rows if f"{row['algorithm']}/{row['variant']}" == key]


def shown(key=NAIVE, column="batch"):
    """A column of the rows that tables of an archive show."""
    rows = measurements.pooled(measurements.load_folder("results/archive/h200"))
    return rows[column][measurements.variants(rows) == key].tolist()


def files(folder="results/archive"):
    return {path: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def test_without_measurements_all_archives_are_drawn_again_with_batches_copied_there(monkeypatch):
    with pytest.raises(InputError, match=r"^results/cells: "):
        keep()
    job("b")
    keep()
    job("c")
    shutil.copytree("results/batches/c", "results/archive/h200/batches/c")
    shutil.rmtree("results/batches")
    before, drawn = files(), []
    monkeypatch.setattr(archive, "draw_archive", lambda folder, config: drawn.append(folder.name))
    keep()
    assert drawn == ["h200"] and files() == before and shown() == ["b", "b", "c", "c"]


def test_a_batch_is_added_and_its_cpu_rows_with_it():
    job("b", clock=1500)
    keep()
    job("a", day=2, clock=1700)
    made = files("results/batches")
    keep()
    assert kept() == kept(CPU) == ["a", "a", "b", "b"]
    assert {
        Path("results/archive/h200", *path.parts[1:]): text for path, text in made.items()
    }.items() <= files().items()
    assert shown(column="clock_before_mhz") == [1700, 1700, 1500, 1500]  # of each row's own batch


def test_tables_show_rows_of_a_variant_that_lacked_a_package_only_if_there_are_no_others():
    job("a")
    keep()
    job("b", day=2, keys=(NAIVE,))
    path = Path("results/batches/b/sssp/nyc/timings.csv")
    lacks = dict.fromkeys(columns.TIMES, "") | {"status": "unavailable", "rows_checked": 0, "batch": "b"}
    rows = [*read(path), measurement(CPU, "nyc", **lacks | {"seconds": ""})]
    write(path, rows, records.read(records.beside(path)) | {f"{CPU}/nyc/b": record(CPU, "nyc", batch="b")})
    row = measurement("dijkstra/networkit", "nyc", **lacks | {"seconds": "", "batch": ""})
    write(Path("results/cells/dijkstra/networkit/nyc.csv"), [row], record("dijkstra/networkit", "nyc"))
    keep()
    assert shown() == ["a", "a", "b", "b"] and shown(CPU) == ["a", "a"]
    assert not kept("dijkstra/networkit")


def test_the_same_batch_again_replaces_its_jobs():
    job("a")
    job("b")
    keep()
    before = files()
    job("a")
    keep()
    assert files() == before
    job("a", seconds=2.0, keys=(NAIVE,))
    keep()
    assert kept(column="seconds") == ["2.0", "2.0", "1.0", "1.0"] and kept(CPU) == ["b", "b"]


def test_a_job_of_another_host_is_refused_before_anything_is_copied():
    job("a")
    keep()
    before = files()
    job("a", host_id="01234567")
    job("b")
    with pytest.raises(InputError, match="another host"):
        keep()
    assert files() == before
    shutil.rmtree("results/batches/a")
    keep()
    assert kept() == ["a", "a", "b", "b"]


def test_rows_that_belong_elsewhere_are_refused():
    job("a")
    Path("results/batches/a").rename("results/batches/b")
    with pytest.raises(InputError, match=r"batches/b/.*: .* results/batches/a/sssp/nyc/"):
        keep()
    assert not Path("results/archive").exists()


def test_batches_of_older_revisions_stay_and_tables_show_the_newest():
    for day, (batch, revision) in enumerate([("a", "1"), ("c", "1"), ("b", "0")], 1):
        job(batch, revision, day)
    job("d", "2", 4, keys=(NAIVE,))
    keep()
    assert list(dict.fromkeys(kept())) == ["a", "b", "c", "d"] and shown() == ["d", "d"]
    job("f", "2", 3, keys=(NAIVE,))  # measured before, archived after
    keep()
    assert shown() == ["d", "d", "f", "f"] and shown(CPU) == ["b", "b"]


def test_a_cell_measured_alone_replaces_the_former_and_tables_show_batches():
    alone(day=1)
    keep()
    alone(day=2, seconds=8.0)
    keep()
    assert kept(column="seconds") == ["8.0"] and shown() == [""]
    job("a", day=3)
    keep()
    alone(revision="3", day=5)
    keep()
    assert kept() == ["a", "a", ""] and shown() == ["a", "a"]


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
    record = json.loads(path.read_text())
    del record[f"{CPU}/nyc/a"]
    path.write_text(json.dumps(record))
    said = rf"provenance\.json: .*{CPU}/nyc/a .*timings\.csv"
    with pytest.raises(InputError, match=said):
        collect.read([path.with_name("timings.csv")])
