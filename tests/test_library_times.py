"""Calls of the library: how they are measured, their file, the pages that show them."""

import csv
import json
import os
import re
from argparse import Namespace
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csgraph
from test_workflow import SIMULATOR, Project

from kernels.choice import NEAR_FAR
from kernels.errors import InputError, WrongResult
from kernels.gpu import card
from kernels.graph import Graph
from tests import graphs
from tests.rows import CONFIG
from workflow.lib import configuration, host, lock, resources
from workflow.scripts import archive, library_times, library_times_table, readme
from workflow.scripts.library_times_table import ALL, What

ROOT = Path(__file__).parents[1]
COMMON = {
    **{"device": "NVIDIA H200", "driver": "580.1", "cuda": "13.0", "cpu_model": "test CPU", "numba_cuda": "0.30.4"},
    **{"commit": "abcdef0123456789", "tree_clean": "", "started": "2026-01-01T00:00:00+00:00", "host": "vm"},
    "substitute": "",
}


@pytest.fixture
def on_card(monkeypatch):
    """As if there were a card, which no other job has."""
    monkeypatch.setattr(card, "gpu_visible", lambda: True)
    monkeypatch.setattr(card, "describe", lambda on_gpu: {key: COMMON[key] for key in ("device", "driver", "cuda")})
    monkeypatch.setattr(host, "one_card", nullcontext)


def town(name="town") -> Graph:
    return replace(graphs.grid(900), meta={"name": name, "substitute": "made up"})


def test_without_a_gpu_it_says_so(on_card, monkeypatch, tmp_path):
    monkeypatch.setattr(card, "gpu_visible", lambda: False)
    with pytest.raises(InputError, match=r"needs a GPU and none is visible"):
        library_times.main(Namespace(graphs=[], cores=0, out=tmp_path / "out.csv"))
    assert not list(tmp_path.iterdir())


def test_nothing_is_measured_beside_another_process(on_card, monkeypatch, tmp_path):
    monkeypatch.setattr(library_times, "measured", lambda *_: pytest.fail("it was measured"))
    out = tmp_path / "out.csv"
    with lock.held(out), pytest.raises(InputError, match=f"it is being measured by process {os.getpid()}"):
        library_times.main(Namespace(graphs=[], commit="", cores=0, out=out))


# Calls of the library


def test_a_call_is_repeated_until_the_budget_is_over(monkeypatch):
    clock, made = iter(range(100)), []
    monkeypatch.setattr(library_times.time, "perf_counter", lambda: next(clock))
    case = library_times.Case("a call", lambda: made.append(1) or 0.5, most=10, uncounted=2)
    rows = list(case.repeats(2))
    assert [row["repeat"] for row in rows] == [1, 2, 3] and len(made) == 5
    assert {(row["what"], row["seconds"]) for row in rows} == {("a call", 0.5)}
    assert len(list(replace(case, most=2).repeats(1e9))) == 2


def test_only_the_call_is_timed_and_a_share_of_it(monkeypatch):
    clock = iter((10.0, 14.0))
    seen = []
    monkeypatch.setattr(library_times.time, "perf_counter", lambda: next(clock))
    once = library_times.timed(lambda value: seen.append(value) or value + 1, seen.append, lambda: (5,), share=8)
    assert once() == 0.5 and seen == [5, 6]


def test_results_are_compared_with_scipys():
    graph = town()
    truth = library_times.Truth(graph.name, graph.to_scipy())
    right = csgraph.dijkstra(graph.to_scipy(), indices=0)
    wrong = right + (np.arange(len(right)) == 3)
    lengths = dict(enumerate(right.tolist()))
    rows = Namespace(variant="rows", sources=[0, 5], distances=np.stack([right, wrong]))
    reduced = Namespace(
        variant="reduced", sources=[0], reached=[len(right)], total=[right.sum()], eccentricity=[right.max()]
    )
    on_card = Namespace(copy_to_host=lambda: right.astype(np.int32))
    truth.check(right)
    truth.check_lengths(lengths)
    truth.check_rows("rows", rows)
    truth.check_eccentricities("reduced", reduced)
    truth.check_on_card(on_card)
    for check in (
        lambda: truth.check(wrong),
        lambda: truth.check_lengths(lengths | {3: -1}),
        lambda: truth.check_lengths({key: value for key, value in lengths.items() if key != 3}),
        lambda: truth.check_rows("rows", Namespace(**vars(rows) | {"distances": rows.distances[::-1]})),
        lambda: truth.check_eccentricities("reduced", Namespace(**vars(reduced) | {"eccentricity": [1.0]})),
        lambda: truth.check_on_card(Namespace(copy_to_host=lambda: wrong.astype(np.int32))),
    ):
        with pytest.raises(WrongResult, match="town: the distances are not SciPy's"):
            check()
    with pytest.raises(InputError, match="rows from 0: not what is to be measured"):
        truth.check_rows("others", rows)


def test_first_answers_are_of_new_processes(monkeypatch, tmp_path):
    graph, folders, variant = town(), [], NEAR_FAR
    truth = library_times.Truth(graph.name, graph.to_scipy())

    def process(cache, *words):
        new = cache not in folders
        folders.append(cache)
        if words[0] == "-c":
            return json.dumps([2.0 if new else 0.5, *truth.reduced, new, variant])
        np.savez(words[words.index("--to") + 1], distances=truth.distances)
        return ""

    monkeypatch.setattr(library_times, "in_process", process)
    cases = library_times.first_answers(tmp_path / "town.npz", truth, 3)
    seconds = {case.what: [row["seconds"] for row in case.repeats(1e9)] for case in cases}
    assert seconds[What.COMPILED] == [2.0] * 3 and seconds[What.KEPT] == [0.5] * 3
    assert len(seconds[What.COMMAND]) == 3 and len(set(folders)) == 3 and set(folders[3:9]) == {folders[0]}
    variant = "dijkstra/scipy"
    with pytest.raises(InputError, match="dijkstra/scipy, compiled: True: not what is to be measured"):
        next(library_times.first_answers(tmp_path / "town.npz", truth, 1)).once()


def test_what_a_new_process_says_and_how_it_fails(tmp_path):
    says = "import os; print(os.environ['CUDA_SHORTEST_PATHS_CACHE'])"
    assert library_times.in_process(tmp_path, "-c", says) == f"{tmp_path}\n"
    with pytest.raises(InputError, match=r"a new process failed: (.|\n)*ValueError: no graph"):
        library_times.in_process(tmp_path, "-c", "raise ValueError('no graph')")


def fails(message):
    raise InputError(message)


def nothing(*_):
    yield from ()


@pytest.fixture
def without_parts(monkeypatch):
    """Without new processes and hierarchies, and with a part that fails after its first kind of call."""

    def broken(*_):
        yield library_times.Case(What.ON_HOST, lambda: 0.25, 2)
        yield library_times.Case(What.TO_CARD, lambda: fails("no memory"), 2)
        yield library_times.Case(What.PREPARING, lambda: 0.75, 1)
        fails("there is no more")

    for part in ("first_answers", "in_hierarchy"):
        monkeypatch.setattr(library_times, part, nothing)
    monkeypatch.setattr(library_times, "layouts", broken)


def arguments(tmp_path, **changes):
    town().save(tmp_path / "town.npz")
    paths = {"graphs": [tmp_path / "town.npz"], "networkx": tmp_path / "town.npz", "out": tmp_path / "out.csv"}
    return Namespace(**paths | {"repeats": 2, "budget": 60, "commit": "abc", "cores": 0} | changes)


def test_what_fails_is_left_out_and_all_else_is_measured(without_parts, on_card, monkeypatch, tmp_path, caplog):
    """Without a card: what needs one fails."""
    monkeypatch.setattr(library_times, "LATER", 2)
    args, written = arguments(tmp_path), []
    write = type(library_times.SCHEMA).write
    monkeypatch.setattr(
        type(library_times.SCHEMA),
        "write",
        lambda self, rows, path: written.append(len(rows)) or write(self, rows, path),
    )
    with pytest.raises(InputError, match="not measured, see above: ") as error:
        library_times.main(args)
    left_out = str(error.value).split(": ", 1)[1]
    needing = (What.ON_CARD, What.KERNELS, What.ROW, What.ROW_OF_SO_MANY, What.TO_CARD)
    assert left_out == "; ".join([*(f"town: {what}" for what in needing), "town: the rest of broken"])
    assert "there is no more" in caplog.text and "no memory" in caplog.text
    rows = library_times_table.load([args.out])
    networkx = (What.NETWORKX_LENGTHS, What.LENGTHS_NEW, What.LENGTHS_SAME)
    networkx += What.NETWORKX_PATHS, What.PATHS_NEW, What.PATHS_SAME
    later = What.SOLVER, What.SAME_GRAPH, What.SAME_ARRAY, What.SAME_ARRAY_TREE
    counts = dict.fromkeys(later, 4) | {What.NEW_ARRAY: 2, What.SAME_FLOATS: 4}
    counts |= dict.fromkeys((What.NEW_FLOATS, What.SCIPY, What.SCIPY_TREE, What.SCIPY_FLOATS), 2)
    counts |= {What.ON_HOST: 2, What.PREPARING: 1}
    counts |= dict.fromkeys(networkx, 2)
    assert rows.groupby("what")["repeat"].max().to_dict() == counts
    assert written == np.cumsum(list(counts.values())).tolist()  # anew after each kind of call
    assert set(rows["substitute"]) == {"made up"} and set(rows["commit"]) == {"abc"}


def test_networkx_is_asked_about_the_graph_that_is_named(without_parts, on_card, monkeypatch, tmp_path):
    for part in ("later_calls", "layouts"):
        monkeypatch.setattr(library_times, part, nothing)
    library_times.main(arguments(tmp_path))
    assert set(library_times_table.load([tmp_path / "out.csv"])["what"]) < set(ALL)
    (tmp_path / "out.csv").unlink()
    library_times.main(arguments(tmp_path, networkx=Path("")))
    assert not (tmp_path / "out.csv").exists()


def test_a_wrong_length_of_networkxs_is_found():
    graph = town()
    other = replace(graph, weights=graph.weights + 1)
    for case in library_times.by_networkx(graph, library_times.Truth(other.name, other.to_scipy()), 1):
        with pytest.raises(WrongResult):
            case.once()


# The files


def call(what=What.SOLVER, seconds=1.0, dataset="nyc", repeat=1, **changes):
    size = {"nyc": (264346, 733846), "e": (3598623, 8778114)}[dataset]
    values = {"dataset": dataset, "vertices": size[0], "arcs": size[1], "what": what, "repeat": repeat}
    return COMMON | values | {"seconds": seconds} | changes


def write(path, schema, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, schema.columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


WRONG = [
    ({"device": card.SIMULATOR}, "a simulated run is no measurement"),
    ({"device": "other card"}, "the rows differ in device"),
    ({"driver": ""}, "driver '': must be a version"),
    ({"repeat": 3}, "repeat '3': must go from 1 up without a gap"),
    ({"repeat": 1}, "must not be there twice"),
    ({"started": "2026-01-01"}, "must be a date and a time with its offset"),
]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        *WRONG,
        ({"what": "a dream"}, "what 'a dream': must be one of"),
        ({"seconds": 0}, "seconds '0': must be above 0"),
    ],
)
def test_a_row_that_cannot_be_is_refused(tmp_path, changes, said):
    path = write(tmp_path / "a.csv", library_times_table.SCHEMA, call(), call(repeat=2) | changes)
    with pytest.raises(InputError, match=said):
        library_times_table.load([path])


def test_it_is_kept_in_the_archive_of_its_card(tmp_path):
    results = tmp_path / "results"
    measured = write(results / "library_times.csv", library_times_table.SCHEMA, call())
    args = Namespace(
        cells=results / "cells", archive=results / "archive", default="none", tolerance=0.05, datasets={"nyc": []}
    )
    archive.main(args)
    assert (results / "archive/h200/library_times.csv").read_bytes() == measured.read_bytes()
    write(measured, library_times_table.SCHEMA)
    with pytest.raises(InputError, match=r"library_times\.csv: no rows: delete it and measure again"):
        archive.main(args)


# The page


def test_the_table_has_a_row_a_kind_of_call_and_a_column_a_dataset(tmp_path):
    calls = [call(What.SOLVER, seconds, repeat=n) for n, seconds in enumerate((0.002, 0.004, 0.003), 1)]
    calls += [call(What.SCIPY, 0.06, commit="", started="2026-01-02T00:00:00+00:00")]
    calls += [call(What.SCIPY, 2.0, dataset="e", substitute="made up"), call(library_times_table.FORMER[0])]
    path = tmp_path / "h200/library_times.csv"
    assert readme.library_times(path) == "Not measured: the archive `h200` has none of it."
    text = readme.library_times(write(path, library_times_table.SCHEMA, *calls))
    assert "| What | nyc | e † |" in text
    assert f"| {What.SOLVER} | 3.00 ms, [2.00 ms, 4.00 ms], n=3 | - |" in text
    assert f"| {What.SCIPY} | 60.0 ms, n=1 | 2.00 s, n=1 |" in text and "machine code" not in text
    assert text.endswith(
        "from the archive `h200`: NVIDIA H200, driver 580.1, in a host with test CPU, 2026-01-01 to 2026-01-02, commit "
        "abcdef012345. † A [substitute](data.md#the-substitutes): e, made up."
    )


# The rules


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Its library_times are of nyc."""
    asked = {"library_times": {"datasets": ["nyc"], "networkx": "nyc"}}
    return Project.make(tmp_path_factory.mktemp("project"), {"nyc": CONFIG["datasets"]["nyc"]}, **asked)


def test_the_target_measures_on_packed_graphs(project):
    said = project.snakemake("-n", "-p", "library_times", "--cores", "8", "--resources", "gpu=2")
    assert "Pack nyc as CSR arrays" in said
    (times,) = re.findall(r"python -m workflow\.scripts\.library_times (.*)", said)
    graph = "resources/graphs/nyc.npz"
    assert times.startswith(f"--graphs {graph} --networkx={graph} --cores 4 --commit= --out results/library_times.csv")


@pytest.mark.ci
def test_without_a_gpu_nothing_is_planned(project):
    said = project.snakemake("-n", "library_times", environment=SIMULATOR, code=1)
    assert "library_times cannot be measured here" in said and "Job " not in said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"library_times": {"datasets": ["nyk"], "networkx": None}}, r"library_times\.datasets: there is no .*'nyk'"),
        (
            {"library_times": {"datasets": ["nyc"], "networkx": "e"}},
            r"library_times\.networkx: e is none of library_times\.datasets",
        ),
    ],
)
def test_a_wrong_configuration_is_refused(changes, said):
    with pytest.raises(InputError, match=said):
        configuration.check(CONFIG | changes)


def test_a_job_has_time_and_memory_for_its_graphs():
    def needs(*datasets, networkx=None):
        config = CONFIG | {"library_times": {"datasets": list(datasets), "networkx": networkx}}
        return resources.library_min(config), resources.library_mb(config)

    none, small, large, both = needs(), needs("nyc"), needs("e"), needs("nyc", "e")
    assert none[0] == 10 and none[0] + 5 <= small[0] < large[0] < both[0] < 60
    assert none[1] < small[1] < large[1] == both[1] < needs("nyc", "e", networkx="nyc")[1] < 16000
