"""What is read back is checked: a value that cannot be is refused with its file, line, cell and column."""

import csv
import itertools
import json
from pathlib import Path

import pytest

from kernels.errors import InputError
from kernels.gpu import card
from kernels.registry import VARIANTS
from tests.support import published
from tests.support.project import SIMULATOR, Project
from tests.support.rows import STATE, measurement, record
from tests.support.views import draw
from workflow.measure import peak
from workflow.publish import archive
from workflow.store import benchmarks, collect, columns, measurements, paper, records
from workflow.store.checked_csv import Schema, one_of

ROW = measurement("bellman_ford/naive", "nyc")
ALL_PAIRS, ON_CPU = measurement("dijkstra/naive", "gnutella04"), measurement("bellman_ford/cpu", "nyc")
NO_TIMES = dict.fromkeys(columns.TIMES, "") | {"rows_checked": 0}
TIMEOUT, NO_MEMORY, UNAVAILABLE = (NO_TIMES | {"status": status} for status in ("timeout", "no_memory", "unavailable"))
SIMULATED = NO_TIMES | {"status": "simulated", "rows_checked": 1, "device": card.SIMULATOR, "driver": "", "cuda": ""}
PEAK = {
    **{"benchmark": "dense", "bits": 32, "vertices": 10, "repeat": 1, "relaxations": 1000, "seconds": 0.5},
    **{"device": "test card", "driver": "580.1", "cuda": "13.0", "numba_cuda": "0.30.4", "commit": "abc"},
    **{"tree_clean": "", "started": "2026-01-01T00:00:00+00:00", "host": "test_host"},
}


def write(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("folder", published.ARCHIVES, ids=lambda folder: folder.name)
def test_all_that_is_kept_can_be_read_and_lies_where_its_rows_belong(folder):
    measurements.load_folder(folder)
    for path in measurements.files(folder):
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
        assert {folder / measurements.place(row) for row in rows} == {path}
        assert set(records.of_table(path)) == set(map(records.name, rows))
    for pattern, load in archive.OTHERS.values():
        paths = sorted(folder.glob(pattern))
        assert all(len(load([path])) for path in paths) and (paths or folder.name != "h200")  # the main one has all


def test_what_every_variant_writes_can_be_read(tmp_path):
    rows = [measurement(key, "nyc" if v.problem == "sssp" else "gnutella04") for key, v in VARIANTS.items()]
    assert len(measurements.load([write(tmp_path / "cells.csv", *rows)])) == len(VARIANTS)
    lacking = {"status": "no_memory", "needed_bytes": 9}, {"status": "timeout", "limit_s": 9}
    rows = [row | NO_TIMES | lacking[not row["driver"]] | {"launches": 0} for row in rows]
    assert measurements.load([write(tmp_path / "none.csv", *rows)])["seconds"].isna().all()
    rows = [row | UNAVAILABLE | {"limit_s": "", "needed_bytes": "", "revision": "networkit"} for row in rows]
    assert set(measurements.load([write(tmp_path / "lacking.csv", *rows)])["status"]) == {"unavailable"}


@pytest.mark.parametrize(
    ("row", "changes", "named"),
    [
        *((ROW, {"variant": "cpu2"}, ""), (ROW, {"algorithm": "bellman"}, ""), (ROW, {"dataset": ""}, "")),
        *((ROW, {"problem": "apsp", "source": ""}, ""), (ROW, {"status": "fine"}, ""), (ROW, {"device": ""}, "")),
        *((ROW, {"round": value}, "") for value in ("0", "1.5", "", "2")),
        *((ROW, {"device": card.SIMULATOR}, ""), (ROW, SIMULATED, "status 'simulated'")),
        (ROW, SIMULATED | {"status": "no_memory", "rows_checked": 0}, f"device '{card.SIMULATOR}'"),
        (ROW, {"kernels_s": ""}, ""),
        (ROW, NO_TIMES | {"status": "no_memory", "seconds": "1"}, "seconds '1'"),
        *((ROW, {"seconds": value}, "") for value in ("inf", "nan", "1,5", "0", "-1")),
        *((ROW, {phase: "-1e-9"}, "") for phase in columns.PHASES),
        *((ROW, {"kernels_s": "1000"}, ""), (ROW, {"copy_out_s": "0.001"}, "")),
        *((ROW, {"launches": value}, "") for value in ("-1", "2.5", "", "0")),
        (ON_CPU, {"launches": "1"}, ""),
        *((ROW, {"vertices": value}, "") for value in ("0", "1.5")),
        (ROW, {"arcs": "-1"}, ""),
        *((ROW, {"source": value}, "") for value in ("", "-1", "0.5", "264346")),
        (ALL_PAIRS, {"source": "0"}, ""),
        *((ROW, {"rows_checked": value}, "") for value in ("", "-1", "0", "2")),
        *((ALL_PAIRS, {"rows_checked": value}, "") for value in ("0", "10877")),
        (ROW, NO_TIMES | {"status": "no_memory", "rows_checked": "1"}, "rows_checked '1'"),
        *((ROW, {name: ""}, "") for name in ("driver", "cuda", "numba_cuda", "numba", "numpy")),
        *((ON_CPU, {name: "1.0"}, "") for name in ("driver", "cuda")),
        *((ROW, {"dataset_sha256": value}, "") for value in ("", "ab" * 31, "AB" * 32)),
        *((ROW, {name: "-1e-9"}, "") for name in columns.PREPARATION),
        *((ROW, {name: value}, "") for name, value in itertools.product(("position", "cores"), ("0", "1.5"))),
        *((ROW, {name: value}, "") for name, value in itertools.product(columns.LAYOUT, ("-1", "1.5"))),
        *((ROW, {"revision": value}, "") for value in ("", "1.5", "scipy")),
        *((ROW, {"batch": value}, "") for value in ("a b", "-a")),
        (ROW, UNAVAILABLE | {"launches": "0", "revision": "no version"}, "revision 'no version'"),
        (ROW, {"limit_s": "9"}, ""),
        *((ROW, TIMEOUT | {"limit_s": value}, f"limit_s '{value}'") for value in ("", "0")),
        (ROW, {"needed_bytes": "9"}, ""),
        *((ROW, NO_MEMORY | {"needed_bytes": value}, f"needed_bytes '{value}'") for value in ("", "0")),
        *((ROW, {"started": value}, "") for value in ("", "yesterday", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z")),
    ],
)
def test_a_value_that_cannot_be_is_refused(tmp_path, row, changes, named):
    """named: what the message names, if not the first change."""
    fine = measurement("edge/apsp", "gnutella04")
    path = write(tmp_path / "cell.csv", fine, row | changes)
    column, value = next(iter(changes.items()))
    with pytest.raises(InputError, match=named or f"{column} '{value}'") as error:
        measurements.load([path])
    assert str(error.value).startswith(f"{path}, line 3 ({changes.get('algorithm', row['algorithm'])}/")


@pytest.mark.parametrize(
    ("settings", "changes"),
    [
        (("delta", "default_delta"), {"delta": "0"}),
        (("delta", "default_delta"), {"default_delta": "1.5"}),
        (("threads", "blocks", "share"), {"threads": "0"}),
        (("threads", "blocks", "share"), {"blocks": ""}),
        (("threads", "blocks", "share"), {"share": "0"}),
        (("threads", "blocks", "share"), {"share": ""}),
    ],
)
def test_a_setting_that_cannot_be_is_refused(tmp_path, settings, changes):
    row = ROW | dict.fromkeys(settings, 1)
    assert len(measurements.load([write(tmp_path / "sweep.csv", row)], settings)) == 1
    ((column, value),) = changes.items()
    with pytest.raises(InputError, match=f"line 2 .*: {column} '{value}': "):
        measurements.load([write(tmp_path / "sweep.csv", row | changes)], settings)


def test_clocks_may_differ_by_a_little(tmp_path):
    path = write(tmp_path / "cell.csv", ROW | {"kernels_s": 1.00005})
    assert len(measurements.load([path])) == 1


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("device", "other card"),
        ("card_uuid", "GPU-2"),
        ("host_id", "other"),
        ("revision", "2"),
        ("settings", "block=512"),
        ("vertices", 264_347),
        ("arcs", 9),
        ("dataset_sha256", "cd" * 32),
    ],
)
def test_the_runs_of_a_cell_are_of_one_machine_revision_and_graph(tmp_path, column, value):
    assert len(measurements.load([write(tmp_path / "cell.csv", ROW, ROW | {"round": 2})])) == 2
    with pytest.raises(InputError, match=f" {column}"):
        measurements.load([write(tmp_path / "cell.csv", ROW, ROW | {"round": 2, column: value})])


def test_a_missing_repeat_is_refused_in_whatever_file_the_others_are(tmp_path):
    paths = [write(tmp_path / f"{i}.csv", ROW | {"round": i}) for i in (1, 2, 3)]
    assert measurements.load(paths)["round"].tolist() == [1, 2, 3]
    with pytest.raises(InputError, match=r"3\.csv, line 2 .*: round '3': "):
        measurements.load([paths[0], paths[2]])
    with pytest.raises(InputError, match=r"duplicate round .*\(rows name their batch\)"):
        measurements.load([*paths, paths[0]])


def test_what_read_would_refuse_is_not_written(tmp_path):
    schema = measurements.schema()
    assert schema.to_csv([ROW], tmp_path / "a.csv").splitlines()[0] == ",".join(columns.COLUMNS)
    with pytest.raises(InputError, match=r"a\.csv, line 2 \(bellman_ford/naive on nyc\): "):
        schema.to_csv([ROW | {"kernels_s": 1000.0}], tmp_path / "a.csv")
    with pytest.raises(InputError, match="simulated run"):
        schema.to_csv([ROW | SIMULATED], tmp_path / "a.csv")
    lacking = ROW | SIMULATED | NO_MEMORY | {"needed_bytes": 9}
    for row in (ROW | SIMULATED, lacking):
        assert measurements.schema(simulated=True).to_csv([row], tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rows_checked": "0"}, "rows_checked '0'"),
        ({"device": "test card", "driver": "1", "cuda": "1"}, "device 'test card'"),
        (dict.fromkeys(columns.TIMES, "1") | {"status": "ok", "seconds": "4"}, "status 'ok'"),
    ],
)
def test_what_the_simulator_wrote_is_checked_too(tmp_path, changes, said):
    path = write(tmp_path / "cell.csv", ROW | SIMULATED | changes)
    with pytest.raises(InputError, match=said):
        draw("simulated", None, tmp_path, files={"simulated": [path]})
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "changes",
    [
        *({"benchmark": value} for value in ("sparse", "chains")),
        *({"seconds": value} for value in ("0", "-1", "", "inf")),
        *({name: ""} for name in ("driver", "cuda", "numba_cuda", "vertices")),
        *({"bits": "8"}, {"relaxations": "1001"}, {"repeat": "2"}, {"tree_clean": "maybe"}),
        *({"device": card.SIMULATOR}, {"started": "2026-01-01T00:00:00"}, {"device": "other card", "bits": "16"}),
    ],
)
def test_a_peak_that_cannot_be_is_refused(tmp_path, monkeypatch, as_with_gpu, changes):
    column, value = next(iter(changes.items()))
    said = f"{column} '{value}'"
    first = PEAK | {"benchmark": "chains", "vertices": ""}
    path = write(tmp_path / "peak.csv", first, PEAK | changes)
    with pytest.raises(InputError, match=rf"peak\.csv, line 3 \(.* bits\): .*{said}"):
        benchmarks.load_peak([path])
    monkeypatch.setattr(peak, "peak_rows", lambda *_: [first, PEAK | changes])
    with pytest.raises(InputError, match=rf"new\.csv, line 3 .*{said}"):
        peak.measure_peak([10], tmp_path / "new.csv")
    assert list(tmp_path.iterdir()) == [path]


FLAG = "bellman_ford/stride_flag,bellman_ford/naive"  # left and right of the claim flag_factor, on line 6


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("datasets", "nyc,264346", "nyc,264a", "line 2: vertices '264a'"),
        ("datasets", "bay,", "nyc,", "line 3: dataset 'nyc'"),
        ("datasets", "arcs,file", "arc,file", "the first line .* dataset,vertices,arcs,file"),
        ("times", "1,bellman_ford,cpu,", "1,bellman_ford,cpus,", "line 2: .*'cpus'"),
        ("times", "cpu,nyc", "cpu,nyk", "line 2: dataset 'nyk'"),
        ("times", "1320", "-1320", "line 2: seconds '-1320'"),
        ("times", "22min", "22 min", "line 2: text '22 min'"),
        ("peers", "ADDS,", "ADD,", "line 2: program 'ADD': .* peers.yaml"),
        ("peers", "0.009099", "0", "line 2: seconds '0'"),
        ("peers", "nyc,any", "nyc,0", "line 3: program 'ADDS', dataset 'nyc', source '0'"),
        ("peers", "nyc,any", "nyc,all", "line 3: source 'all': .*'0', 'any', 'every'"),
        ("peers", "NVIDIA H200,", "a GPU,", "line 2: host 'a GPU': .*'NVIDIA H200'"),
        ("peers", "h200-one-source.csv", "h.csv", "line 6: file 'h.csv': .*'h200.csv'"),
        ("claims", "id,section", "name,section", "the first line .* id,section,"),
        ("claims", "stride_large,", "stride_small,", "id 'stride_small'"),
        ("claims", FLAG, f"bellman_ford/strde{FLAG[24:]}", "left 'bellman_ford/strde'"),
        ("claims", FLAG, f"{FLAG[:25]}naive", "right 'naive "),
        ("claims", FLAG, f"{FLAG[:25]}dijkstra/naive", "left .*, right 'dijkstra/naive "),
        ("claims", "nyc bay", "nyk bay", "datasets 'nyk bay"),
        ("claims", "times_faster,2.8", "quicker,2.8", "relation 'quicker'"),
        *(
            ("claims", "2.8,2.8", f"{low},{high}", f"relation 'times_faster', low '{low}', high '{high}'")
            for low, high in (("", 2.8), ("two", 2.8), ("nan", 2.8), (0, 2.8), (2.8, "inf"), (3, 2.8))
        ),
        ("claims", "times_faster,2.8", "faster,2.8", "relation 'faster', low '2.8', high '2.8'"),
    ],
)
def test_a_typo_in_the_papers_numbers_is_refused_with_one_message(tmp_path, name, old, new, said):
    content = (paper.FOLDER / f"{name}.csv").read_text()
    assert old in content
    path = tmp_path / f"{name}.csv"
    path.write_text(content.replace(old, new, 1))
    schema = {"datasets": paper.DATASETS, "times": paper.TIMES, "claims": paper.CLAIMS, "peers": paper.PEERS}[name]
    with pytest.raises(InputError, match=rf"{name}\.csv(, |: )(line \d+ \(claim \w+\): )?{said}"):
        schema.read([path])


def cell(folder, changes, card=None):
    """A cell's CSV, with changes in the record beside it."""
    path = write(folder / "nyc.csv", ROW)
    path.with_suffix(".json").write_text(json.dumps(record("bellman_ford/naive", "nyc", card) | changes))
    return path


def card_with(**changes):
    return {"card": {"before": STATE, "after": STATE | changes}}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (card_with(sm_clock_mhz="fast"), "card.after.sm_clock_mhz: 'fast'"),
        (card_with(sm_clock_mhz=-1), "card.after.sm_clock_mhz: -1"),
        (card_with(throttling="power cap"), "card.after.throttling: 'power cap'"),
        (card_with(throttling=[4]), "card.after.throttling.0: 4"),
        ({"card": {"before": STATE}}, "card: 'after'"),
        ({"protocol": {"tile": 0}}, "protocol.tile: 0"),
        ({"graph": {"sha256": "ab"}}, "graph.sha256: 'ab'"),
        ({"graph": {"sha256": "ab" * 32 + "\n"}}, "graph.sha256: "),
        ({"variant": 7}, "variant: 7"),
    ],
)
@pytest.mark.parametrize("read", [lambda path: measurements.load([path]), lambda path: collect.read([path])])
def test_a_record_that_cannot_be_is_refused(tmp_path, changes, said, read):
    path = cell(tmp_path, changes)
    with pytest.raises(InputError, match=rf"nyc\.json: .*\({said}.*{path}"):
        read(path)


def test_the_record_of_another_cell_is_refused(tmp_path):
    path = cell(tmp_path, {"variant": "stride"})
    with pytest.raises(InputError, match=r"bellman_ford/naive/nyc is missing: .*nyc\.csv"):
        measurements.load([path])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "not a JSON object"),
        ('{"a/b/c": {}}', r".*\(a/b/c: "),
        ('{"edge/sssp/nyc": RECORD}', r".*\(edge/sssp/nyc: .*bellman_ford/naive/nyc\)"),
        ('{"graph": [], "records": {}}', "not a valid record .*older commit"),
    ],
)
def test_a_broken_archive_is_refused(tmp_path, content, said):
    table = write(tmp_path / "batches/a/sssp/nyc/timings.csv", ROW | {"batch": "a"})
    broken = records.beside(table)
    broken.write_text(content.replace("RECORD", json.dumps(record("bellman_ford/naive", "nyc"))))
    with pytest.raises(InputError, match=rf"provenance\.json: {said}.*timings\.csv"):
        measurements.load_folder(tmp_path)


def test_launches_are_checked_by_the_default_tile_where_the_protocol_says_none(tmp_path):
    row = measurement("floyd_warshall/tiled", "gnutella04")
    path = write(tmp_path / "gnutella04.csv", row)
    beside = record("floyd_warshall/tiled", "gnutella04", protocol={})
    path.with_suffix(".json").write_text(json.dumps(beside))
    assert len(collect.read([path])) == 1
    write(path, row | {"launches": 1})
    with pytest.raises(InputError, match="1 kernels were launched"):
        collect.read([path])


def test_a_record_that_read_would_refuse_is_not_written():
    fine = record("bellman_ford/naive", "nyc")
    records.check_record(fine, Path("nyc.json"))
    with pytest.raises(InputError, match=r"nyc\.json: host: 7 "):
        records.check_record(fine | {"host": 7}, Path("nyc.json"))


def test_a_file_without_a_newer_column_has_its_default(tmp_path):
    rules = (one_of("b", "1", "2"), one_of("c", "", "x"))
    schema = Schema(("a", "b", "c"), (), rules, "correct it", defaults={"b": "2", "c": ""})
    old, newer, wrong = (tmp_path / f"{name}.csv" for name in ("old", "newer", "wrong"))
    old.write_text("a\nold\n")
    newer.write_text("a,c\nnewer,x\n")
    rows = schema.text([old, newer])
    assert rows == [{"a": "old", "b": "2", "c": ""}, {"a": "newer", "b": "2", "c": "x"}]
    assert schema.to_csv(rows, old).startswith("a,b,c\n")
    for text in ("c,a\nx,1\n", "b\n1\n", "a,d\n1,2\n"):
        wrong.write_text(text)
        with pytest.raises(InputError, match=r"wrong\.csv: .*a,b,c: correct it"):
            schema.read([wrong])


def test_with_a_new_column_an_archive_is_drawn_as_before(tmp_path):
    project = Project.make(
        tmp_path, datasets=published.CONFIG["datasets"], stub=False, mode="simulator", whole_archives=True
    )
    module = tmp_path / "workflow/store/columns.py"
    text, last = module.read_text(), '    _text("note",'
    assert text.count(last) == 1
    column = '    Column("mood", "The card\'s.", (matching("mood", "good", "must be good"),), default="good"),\n'
    module.write_text(text.replace(last, column + last))
    project.snakemake("table1", environment=SIMULATOR)
    kept = published.ROOT / f"results/archive/{published.CONFIG['archive']}/table1.csv"
    here, there = (list(csv.DictReader(path.open(newline=""))) for path in (tmp_path / "results/table1.csv", kept))
    assert [row | {"source": ""} for row in here] == [row | {"source": ""} for row in there]
