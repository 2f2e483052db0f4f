"""Cells as measured, collected and archived; GPU variants in numba's CUDA simulator."""

import csv
import dataclasses
import functools
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from kernels import check, harness, heartbeat, io, registry
from kernels.errors import InputError, NotEnoughMemory, WrongResult
from kernels.gpu import card
from kernels.graph import MAX_WEIGHT, Graph
from kernels.registry import VARIANTS, find
from kernels.run import Run
from tests.support.rows import SAMPLE, SHA256
from tests.support.views import configured, draw
from workflow.measure import measure, provenance, rounds
from workflow.publish import archive
from workflow.store import collect, columns, measurements, records

ROOT = Path(__file__).parents[3]
CPU = [key for key, variant in VARIANTS.items() if not variant.on_gpu]
FROM = {"entry": {"sources": ["http://a/b"]}, "origin": {"url": "http://a/b", "sha256": "b" * 64}}
PROTOCOL = {"repeats": 3, "warmup_launches": 1, "block": 8, "tile": 4}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The test's own folder is the working directory; in it lies a packed graph."""
    monkeypatch.chdir(tmp_path)
    pack("nyc")


def pack(dataset, **meta):
    graph = io.read_graph(SAMPLE)
    meta = {"name": dataset, "sha256": SHA256, **FROM, "substitute": None, **meta}
    dataclasses.replace(graph, meta=meta).save(f"{dataset}.npz")


def cell(key, dataset="nyc", folder="cells", **protocol):
    """Measure a variant as the step does; returns its CSV's path."""
    algorithm, variant = key.split("/")
    out = Path("results", folder, algorithm, variant, f"{dataset}.csv")
    setting = measure.StepContext(config_digest="c0ffee")
    measure.measure(find(algorithm, variant), Path(f"{dataset}.npz"), PROTOCOL | protocol, out, setting)
    return out


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def rewrite(path, **changes):
    """Change values in all rows of a CSV."""
    rows = [row | changes for row in read(path)]
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


VALUES = {
    "sssp": {"problem": "sssp", "source": 0, "rows_checked": 1},
    "apsp": {"problem": "apsp", "source": "", "rows_checked": 13},
}


def as_if(path, key, device="NVIDIA H200", **changes):
    """Turn a cell measured on a CPU into one of another variant, as if measured on a GPU; returns its new path.

    The record is without the CSV's digest, as older ones are.
    """
    algorithm, variant = key.split("/")
    new = Path("results/cells", algorithm, variant, path.name)
    new.parent.mkdir(parents=True, exist_ok=True)
    path.replace(new)
    path.with_suffix(".json").replace(new.with_suffix(".json"))
    launches = VARIANTS[key].launches(13, 4)
    card = {"device": device, "driver": "580.1", "cuda": "13.0"}
    rewrite(
        new, algorithm=algorithm, variant=variant, launches=launches, **VALUES[VARIANTS[key].problem], **card | changes
    )
    (record,) = records.read(new.with_suffix(".json")).values()
    new.with_suffix(".json").write_text(json.dumps(record | {"algorithm": algorithm, "variant": variant}))
    return new


def replace_function(monkeypatch, key, function):
    """Let a variant run another function, which counts as being where its own is."""
    variant = VARIANTS[key]
    function = functools.wraps(variant.function)(function)
    monkeypatch.setitem(registry.VARIANTS, key, dataclasses.replace(variant, function=function))


def results():
    return sorted(str(path) for path in Path().rglob("*") if path.is_file() and path.suffix != ".npz")


def test_each_result_is_logged_once(caplog):
    caplog.set_level("INFO")
    rows = read(cell("bellman_ford/cpu"))
    assert caplog.messages == [f"bellman_ford/cpu on nyc: {float(row['seconds']):.6g} s" for row in rows]
    caplog.clear()
    cell("bellman_ford/cpu", timeout_s=1e-9)
    assert caplog.messages == ["bellman_ford/cpu on nyc: timeout"]


def test_what_runs_long_is_logged_by_another_thread(monkeypatch, caplog):
    caplog.set_level("INFO")
    function = VARIANTS["bellman_ford/cpu"].function

    def slow(*arguments):
        time.sleep(0.3)
        function(*arguments)

    def slow_check(*arguments, **more):
        time.sleep(0.3)
        return check.check(*arguments, **more)

    replace_function(monkeypatch, "bellman_ford/cpu", slow)
    monkeypatch.setattr(rounds, "check", slow_check)
    often = heartbeat.Heartbeat(0.1)
    for module in (harness, rounds):
        monkeypatch.setattr(module, "heartbeat", often)
    cell("bellman_ford/cpu", repeats=1)
    said = [record for record in caplog.records if " for 0 s" in record.getMessage()]
    assert len({record.getMessage() for record in said}) == 3  # compiling, running, checking
    assert threading.main_thread().ident not in {record.thread for record in said}


def test_what_runs_briefly_is_not_logged(monkeypatch, caplog):
    caplog.set_level("INFO")
    monkeypatch.setattr(heartbeat, "time", SimpleNamespace(perf_counter=lambda: 0.0))  # the run takes no time
    beating = heartbeat.Heartbeat(0.05)
    with beating.during("a run"):
        time.sleep(0.3)  # the thread looks several times
    time.sleep(0.1)
    assert not caplog.messages


@pytest.mark.parametrize("key", CPU)
def test_rows_and_columns(key):
    path = cell(key)
    assert path.read_text().splitlines()[0].split(",") == list(columns.COLUMNS)
    rows = read(path)
    problem = VARIANTS[key].problem
    after = {"predecessors_s"} if key.startswith("dijkstra/networkit") else set()
    assert [row["round"] for row in rows] == ["1", "2", "3"]
    for row in rows:
        expected = {
            "algorithm": key.split("/")[0],
            "variant": key.split("/")[1],
            "problem": problem,
            "dataset": "nyc",
            "status": "ok",
            "launches": "0",
            "vertices": "13",
            "arcs": "32",
            "source": "0" if problem == "sssp" else "",
            "rows_checked": "1" if problem == "sssp" else "13",
            "device": card.cpu_name(),
            "driver": "",
            "cuda": "",
            "numba": importlib.metadata.version("numba"),
            "numba_cuda": importlib.metadata.version("numba-cuda"),
            "numpy": importlib.metadata.version("numpy"),
            "dataset_sha256": SHA256,
            "cores": str(len(os.sched_getaffinity(0)) if key == "dijkstra/networkit_apsp" else 1),
            **dict.fromkeys(("substitute", "generated", "limit_s", "needed_bytes", "reached", "note"), ""),
        }
        assert {name: row[name] for name in expected} == expected
        assert 0 < float(row["kernels_s"]) <= float(row["seconds"])
        assert {name for name in ("copy_in_s", "predecessors_s", "copy_out_s") if float(row[name])} == after
        started = datetime.fromisoformat(row["started"])
        assert started.utcoffset() == timedelta(0)
        assert abs(datetime.now(UTC) - started) < timedelta(minutes=5)
        assert row["host"]
    assert len(measurements.load([path])) == 3
    assert results() == [str(path), str(path.with_suffix(".json"))]


def test_provenance_says_what_it_ran_on(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "42")
    monkeypatch.setenv("SLURMD_NODENAME", "node7")
    pack("nyc", substitute="made up")
    path = cell("bellman_ford/cpu")
    assert {row["substitute"] for row in read(path)} == {"made up"}
    record = json.loads(path.with_suffix(".json").read_text())
    assert {record[name] for name in measurements.CELL} == {"bellman_ford", "cpu", "nyc"}
    assert record["protocol"] == PROTOCOL
    assert record["config_digest"] == "c0ffee"
    assert record["graph"] == {"name": "nyc", "sha256": SHA256, **FROM, "substitute": "made up"}
    assert {"SLURM_JOB_ID": "42", "SLURMD_NODENAME": "node7"}.items() <= record["slurm"].items()
    for package in ("numba-cuda", "numba", "numpy", "scipy", "networkit", "snakemake"):
        assert record["packages"][package] == importlib.metadata.version(package)
    assert record["card"] is None
    assert record["host"] and record["system"] and record["python"] == ".".join(map(str, sys.version_info[:3]))
    assert {"commit", "tree_clean"} <= set(record)


def test_the_commit_is_gits_or_the_one_given(monkeypatch):
    monkeypatch.setattr(provenance, "ROOT", Path().resolve())
    assert provenance.state_of_project("") == ("", None)  # no repository here
    assert provenance.state_of_project("abc") == ("abc", None)

    def git(*words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True, capture_output=True)

    git("init")
    git("add", "nyc.npz")
    git("commit", "-m", "one", "--no-gpg-sign")
    head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    assert provenance.state_of_project("") == (head, True)
    Path("new").touch()
    assert provenance.state_of_project("") == (head, False)
    assert provenance.state_of_project("abc") == ("abc", None)


def test_a_long_cell_is_repeated_less_often_and_says_so(monkeypatch):
    def slow(graph, result, run):
        right(graph, result, run)
        run.seconds = 2.5

    right = VARIANTS["bellman_ford/cpu"].function
    replace_function(monkeypatch, "bellman_ford/cpu", slow)
    rows = read(cell("bellman_ford/cpu", repeats=6, budget_s=6))
    assert [row["note"] for row in rows] == ["2 of 6 repeats: budget of 6 s"] * 2
    rows = read(cell("bellman_ford/cpu", repeats=6, budget_s=1))
    assert [row["note"] for row in rows] == ["1 of 6 repeats: budget of 1 s"]
    assert len(read(cell("bellman_ford/cpu", repeats=6, budget_s=15))) == 6


@pytest.mark.parametrize("key", CPU)
def test_a_cpu_run_is_stopped_at_its_limit(key):
    pack("nyc", substitute="made up")
    (row,) = read(cell(key, timeout_s=1e-9))
    assert row["status"] == "timeout"
    assert (row["limit_s"], row["substitute"], row["note"]) == ("1e-09", "made up", "")
    assert row["cores"] == str(len(os.sched_getaffinity(0)) if key == "dijkstra/networkit_apsp" else 1)
    assert {row[name] for name in columns.TIMES} == {""}
    assert len(measurements.load([f"results/cells/{key}/nyc.csv"])) == 1


def wrong_distance(result, run):
    result.distances[-1] += 1


def in_milliseconds(result, run):
    run.phases = {name: 1000 * seconds for name, seconds in run.phases.items()}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (wrong_distance, "bellman_ford/cpu on nyc, .*vertex 12"),
        (in_milliseconds, r"nyc\.csv, line 2 \(bellman_ford/cpu on nyc\): .*kernels_s"),
    ],
)
@pytest.mark.parametrize("before", [True, False])
def test_wrong_results_and_times_publish_nothing_and_leave_existing_files(monkeypatch, change, said, before):
    if before:
        cell("bellman_ford/cpu")
    files = {path: Path(path).read_bytes() for path in results()}
    right = VARIANTS["bellman_ford/cpu"].function

    def wrong(graph, result, run):
        right(graph, result, run)
        change(result, run)

    replace_function(monkeypatch, "bellman_ford/cpu", wrong)
    with pytest.raises(InputError, match=said):
        cell("bellman_ford/cpu")
    assert {path: Path(path).read_bytes() for path in results()} == files


def test_a_distance_that_is_too_long_publishes_nothing():
    meta = {"name": "long", "sha256": SHA256}
    Graph.from_arcs(3, np.array([0, 1]), np.array([1, 2]), np.array([MAX_WEIGHT, 1]), meta=meta).save("long.npz")
    with pytest.raises(InputError, match="from 0 to 2 is 2147483647"):
        cell("bellman_ford/cpu", "long")
    assert results() == []


def test_a_source_that_is_no_vertex_is_refused_but_for_all_pairs():
    with pytest.raises(InputError, match=r"source 13 .* nyc: .*\[0, 13\)"):
        cell("bellman_ford/cpu", source=13)
    assert results() == []
    assert cell("floyd_warshall/cpu", source=13).exists()


def test_without_a_gpu_a_gpu_variant_is_refused(as_without_gpu):
    with pytest.raises(InputError, match="bellman_ford/naive needs a GPU"):
        cell("bellman_ford/naive")
    assert results() == []


@pytest.mark.simulator
def test_a_simulated_run_is_no_measurement():
    with pytest.raises(InputError, match="simulated run"):
        cell("bellman_ford/naive")
    assert results() == []
    path = cell("bellman_ford/naive", folder="simulated")
    (row,) = read(path)
    assert (row["status"], row["launches"], row["rows_checked"]) == ("simulated", "25", "1")
    assert {row[name] for name in columns.TIMES} == {""}
    assert row["device"] == "numba CUDA simulator"
    with pytest.raises(InputError, match="simulated run"):
        collect.read([path])

    run = cell("dijkstra/cpu", folder="simulated")  # for real, beside it
    assert {row["status"] for row in read(run)} == {"ok"}
    draw("simulated", None, Path(), files={"simulated": [path, run]})
    text = Path("simulated.md").read_text()
    listed = [
        [word.strip() for word in line.split("|")[1:-1]] for line in text.splitlines() if "/" in line and "|" in line
    ]
    assert listed == [
        ["bellman_ford/naive", "simulated, 1 row checked"],
        ["dijkstra/cpu", "run, 13 rows checked"],
    ]
    assert "nyc (13 vertices, 32 arcs)" in text
    assert not any(value in text for value in (row["seconds"] for row in read(run)))


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("key", "needed"),
    [("floyd_warshall/tiled", 13 * 13 * 8), ("floyd_warshall/naive", 13 * 13 * 8), ("dijkstra/naive", 13 * 13 * 13)],
)
def test_a_cell_that_does_not_fit_the_card(key, needed, monkeypatch):
    def require(run, bytes_):
        if bytes_ > 1000:
            raise NotEnoughMemory(bytes_, 1000)

    monkeypatch.setattr(Run, "require", require)
    path = cell(key, folder="simulated")
    (row,) = read(path)
    assert row["status"] == "no_memory"
    assert row["needed_bytes"] == str(needed)
    assert f" {needed:,} bytes" in row["note"] and "1,000" in row["note"]
    assert {row[name] for name in columns.TIMES} == {""}
    assert path.with_suffix(".json").exists()


def run_collect(*cells):
    measurements.schema().write(collect.read(list(cells)), Path("results/timings.csv"))
    return read("results/timings.csv")


def test_collect_joins_rows():
    cells = [cell(key) for key in CPU]
    assert run_collect(*cells) == [row for path in cells for row in read(path)]
    assert Path("results/timings.csv").read_text().splitlines()[0].split(",") == list(columns.COLUMNS)


def test_collect_refuses_another_count_of_launches():
    path, out = cell("bellman_ford/cpu"), Path("results/timings.csv")
    for key in ("bellman_ford/naive", "dijkstra/naive", "floyd_warshall/tiled", "floyd_warshall/blocked"):
        path, launches = as_if(path, key), VARIANTS[key].launches(13, 4)
        rows = run_collect(path)
        assert [row["launches"] for row in rows] == [str(launches)] * 3
        before = out.read_bytes()
        rewrite(path, launches=launches + 1)
        with pytest.raises(InputError, match=f"{launches + 1} kernels.*{key} launches {launches}"):
            run_collect(path)
        assert out.read_bytes() == before


CHANGED = ["commit", "host", "device", "vertices", "source", "started", "a row"]


@pytest.mark.parametrize("changed", CHANGED)
def test_a_csv_that_changed_since_it_was_measured_is_refused(changed):
    table = cell("bellman_ford/cpu")
    content = table.read_text()
    if changed == "a row":
        table.write_text(content[: content.rindex("\n", 0, -1) + 1])
    else:
        new = {"vertices": "14", "source": "3", "started": "2026-01-01T00:00:00+00:00"}.get(changed, "another")
        rewrite(table, **{changed: new})
    beside = records.beside(table)
    said = f"^{table}: .*{beside}: "
    with pytest.raises(InputError, match=said):
        measurements.load([table])
    with pytest.raises(InputError, match=said):
        collect.read([table])
    table.write_text(content)
    assert len(measurements.load([table])) == 3


@pytest.mark.parametrize("content", [None, "{"])
def test_collect_refuses_a_cell_without_provenance(content):
    path = cell("bellman_ford/cpu")
    record = path.with_suffix(".json")
    record.unlink() if content is None else record.write_text(content)
    with pytest.raises(InputError, match=r"nyc\.json: .*: .* delete .*nyc\.csv and measure again"):
        run_collect(path)
    assert not Path("results/timings.csv").exists()


@pytest.fixture
def undrawn(only_views):
    """Archiving draws nothing, which takes long; test_an_archive_holds_its_tables_and_figures draws."""
    only_views()


def run_archive(default="h200"):
    archive.archive(Path("results"), configured(default))


def kept(folder="h200"):
    return [row for path in measurements.files(f"results/archive/{folder}") for row in read(path)]


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("NVIDIA H200", "h200"),
        ("Tesla T4", "t4"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"),
        ("NVIDIA", "unnamed"),
    ],
)
def test_an_archive_is_named_after_the_card(name, folder):
    assert archive.slug(name) == folder


def test_cpu_cells_go_with_the_gpus_or_alone_to_the_default_archive(undrawn):
    cell("bellman_ford/cpu")
    run_archive(default="elsewhere")
    assert [path.name for path in Path("results/archive").iterdir()] == ["elsewhere"]
    shutil.rmtree("results/archive")
    as_if(cell("bellman_ford/cpu"), "bellman_ford/naive", "Tesla T4")
    cell("bellman_ford/cpu")
    run_archive(default="elsewhere")
    assert [path.name for path in Path("results/archive").iterdir()] == ["t4"]
    assert [(row["variant"], row["round"]) for row in kept("t4")] == [
        (variant, number) for variant in ("cpu", "naive") for number in "123"
    ]


def test_each_card_has_its_archive(undrawn):
    as_if(cell("bellman_ford/cpu"), "bellman_ford/naive", "Tesla T4")
    as_if(cell("bellman_ford/cpu"), "bellman_ford/stride", "NVIDIA H200")
    run_archive()
    for folder, variant in (("t4", "naive"), ("h200", "stride")):
        assert {row["variant"] for row in kept(folder)} == {variant}
        assert Path(f"results/archive/{folder}/cells/bellman_ford/{variant}/nyc.json").exists()


def test_a_measured_again_cell_replaces_all_its_rows_and_no_others(undrawn):
    naive = as_if(cell("bellman_ford/cpu"), "bellman_ford/naive")
    cell("bellman_ford/cpu")
    run_archive()
    before = kept()
    run_archive()
    assert kept() == before
    assert len(before) == 6

    pack("bay")
    naive.unlink()
    naive.with_suffix(".json").unlink()
    as_if(cell("bellman_ford/cpu", repeats=1), "bellman_ford/naive", seconds="7.25")
    as_if(cell("bellman_ford/cpu", "bay"), "bellman_ford/naive")
    run_archive()
    after = kept()
    assert [row["seconds"] for row in after if (row["variant"], row["dataset"]) == ("naive", "nyc")] == ["7.25"]
    assert [row for row in after if row["variant"] == "cpu"] == [row for row in before if row["variant"] == "cpu"]
    keys = [tuple(row[name] for name in (*measurements.CELL, "round")) for row in after]
    assert len(keys) == len(set(keys)) == 3 + 1 + 3
    (record,) = records.read(Path("results/archive/h200/cells/bellman_ford/naive/nyc.json")).values()
    assert record["protocol"]["repeats"] == 1


@pytest.mark.ci
def test_an_archive_holds_its_tables_and_figures():
    as_if(cell("bellman_ford/cpu"), "bellman_ford/naive", seconds="5.25")
    run_archive()
    drawn = {path.name for path in Path("results/archive/h200").iterdir()}
    assert drawn >= {
        "cells",
        *(f"table{number}.{end}" for number in (1, 2, 3) for end in ("csv", "md")),
        *("figure5.png", "figure6.png"),
        *(f"{name}.{end}" for name in ("claims", "summary") for end in ("csv", "md")),
    }
    assert {Path(name).suffix for name in drawn - {"cells"}} == {".csv", ".md", ".png"}
    text = Path("results/archive/h200/table1.md").read_text()
    assert "5.25 s" in text and "NVIDIA H200" in text and "From the archive h200." in text

    rows = measurements.load_folder("results/archive/h200")
    draw("table1", rows, Path("again"), source="From the archive h200.")
    for end in ("csv", "md"):
        assert Path(f"again/table1.{end}").read_text() == Path(f"results/archive/h200/table1.{end}").read_text()


def test_nothing_measured_is_nothing_to_archive():
    with pytest.raises(InputError, match=r"^results/cells: "):
        run_archive()
    assert not Path("results/archive").exists()


def test_a_row_counts_what_was_checked():
    protocol = rounds.Protocol(repeats=1, full_check=12, checked_rows=5)
    (row,) = rounds.measure_alone(VARIANTS["floyd_warshall/cpu"], Graph.load("nyc.npz"), protocol)
    assert row["rows_checked"] == 5


@pytest.mark.parametrize(
    ("field", "good_runs", "said"),
    [
        *(("distances", runs, "source 0: .*vertex 0 is -7, .* 0") for runs in (0, 1, 2)),
        ("predecessors", 1, "predecessor -7 of vertex 0"),
    ],
)
def test_a_run_that_writes_nothing_fails_whatever_runs_before_it_wrote(field, good_runs, said):
    variant, runs = VARIANTS["dijkstra/cpu"], 0

    @functools.wraps(variant.function)
    def tires(graph, result, run):
        nonlocal runs
        before = getattr(result, field).copy()
        variant.function(graph, result, run)
        runs += graph.vertices > 2  # the smaller one is the compilation's
        if runs > good_runs:
            getattr(result, field)[...] = before

    graph = Graph.from_arcs(3, [0, 1], [1, 2], [4, 5])
    with pytest.raises(WrongResult, match=said):
        rounds.measure_alone(dataclasses.replace(variant, function=tires), graph, rounds.Protocol(repeats=3))
    assert runs == good_runs + 1
    assert len(rounds.measure_alone(variant, graph, rounds.Protocol(repeats=3))) == 3
