"""Times of calls of the library: the script that measures them, its file, the page's table."""

import csv
import re
from argparse import Namespace
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csgraph

from benchmarks import choices, library_times
from benchmarks.library_times import Case
from kernels.errors import InputError, WrongResult
from kernels.fast.hierarchy.all_pairs import Reduced
from kernels.gpu import card
from kernels.graph import INF, Graph
from kernels.library.answers import Paths
from tests.support import graphs
from workflow.publish import readme
from workflow.store.benchmarks import LIBRARY_TIMES

ROOT = Path(__file__).parents[3]
ARCHIVED = ROOT / "results/archive/h200/library_times.csv"
COMMON = {
    **{"device": "NVIDIA H200", "driver": "580.1", "cuda": "13.0", "cpu_model": "test CPU", "numba_cuda": "0.30.4"},
    **{"commit": "abcdef0123456789", "tree_clean": "", "started": "2026-01-01T00:00:00+00:00", "host": "vm"},
    "substitute": "",
}
SOLVER, SCIPY = "a solver's shortest_paths", "scipy.sparse.csgraph.dijkstra"


@pytest.fixture
def town(tmp_path) -> Path:
    path = tmp_path / "town.npz"
    replace(graphs.grid(900), meta={"name": "town", "substitute": "made up"}).save(path)
    return path


# The script.


def test_every_kind_of_call_is_measured_and_its_result_checked(town):
    """Without a card: what needs one fails."""
    named, needs_card = [], []
    for case in library_times.cases(town, Graph.load(town), networkx=True):
        named.append(case.what)
        try:
            (row,) = case._replace(repeats=1).rows()
        except Exception as error:
            needs_card.append(case.what)
            if "first answer" in case.what:
                assert str(error).startswith(f"{town}: ") and "dijkstra/scipy" in str(error)
        else:
            assert row["what"] == case.what and row["repeat"] == 1 and row["seconds"] > 0
    with open(ARCHIVED, newline="") as file:
        archived = {row["what"] for row in csv.DictReader(file)}
    assert sorted(named) == sorted(archived) and archived > set(readme.CALLS_SHOWN)
    words = "first answer", "left on the card", "kernels alone", "by near_far", "from its file", "in a hierarchy"
    assert needs_card == [what for what in named if any(word in what for word in words)]


def test_results_are_compared_with_scipys(town):
    array = Graph.load(town).to_scipy()
    check, right = library_times.check_against(array), csgraph.dijkstra(array, indices=0)
    wrong = right + (np.arange(len(right)) == 3)

    def given(row):
        on_card = Namespace(copy_to_host=lambda: np.where(np.isinf(row), INF, row).astype(np.int32))
        most, count, total = np.array([[row.max()], [len(row)], [row.sum()]])
        lengths = dict(enumerate(row.tolist()))
        return [
            *(row, (row, "predecessors"), lengths, (lengths, {}), Paths(row, None, "", "")),
            *(on_card, Paths(on_card, None, "", ""), Reduced(np.zeros(1), most, None, count, total)),
        ]

    for found in given(right):
        check(found)
    missing = {vertex: length for vertex, length in enumerate(right.tolist()) if vertex != 3}
    for found in (*given(wrong), missing):
        with pytest.raises(WrongResult, match="SciPy"):
            check(found)


def test_a_call_is_repeated_until_the_budget_is_over(monkeypatch):
    clock, made = iter(range(100)), []
    monkeypatch.setattr(library_times, "time", Namespace(perf_counter=lambda: 8 * next(clock)))
    case = Case("a call", lambda: (0.5, made.append(1)), lambda _: None, repeats=10)
    rows = list(case.rows())
    assert [row["repeat"] for row in rows] == [1, 2, 3] and len(made) == 4  # the first is not counted
    assert {(row["what"], row["seconds"]) for row in rows} == {("a call", 0.5)}


@pytest.fixture
def on_card(monkeypatch, as_with_gpu):
    monkeypatch.setattr(card, "describe", lambda on_gpu: {key: COMMON[key] for key in ("device", "driver", "cuda")})
    monkeypatch.setattr(library_times.host, "one_card", nullcontext)


def test_the_file_is_written_after_each_kind_of_call(on_card, town, tmp_path, monkeypatch):
    other, out, asked = tmp_path / "other.npz", tmp_path / "out.csv", []
    replace(graphs.grid(16), meta={"name": "other"}).save(other)

    def cases(path, graph, networkx):
        asked.append((path, networkx))
        yield Case(SOLVER, lambda: (0.5, None), lambda _: None, repeats=2)
        assert graph.name in set(LIBRARY_TIMES.read([out])["dataset"])
        yield Case(SCIPY, lambda: (1.5, None), lambda _: None, repeats=1)

    monkeypatch.setattr(library_times, "cases", cases)
    library_times.main(Namespace(graphs=[town, other], out=out, commit="abc"))
    assert asked == [(town, True), (other, False)]  # NetworkX searches the first
    rows = LIBRARY_TIMES.read([out])
    assert rows["what"].tolist() == [SOLVER, SOLVER, SCIPY] * 2 and set(rows["commit"]) == {"abc"}
    assert rows["substitute"].tolist() == ["made up"] * 3 + [""] * 3 and set(rows["vertices"]) == {900, 16}


def test_without_a_gpu_it_says_so(as_without_gpu, tmp_path):
    with pytest.raises(InputError, match="needs a GPU"):
        library_times.main(Namespace(graphs=[], out=tmp_path / "out.csv", commit=""))
    assert not list(tmp_path.iterdir())


# The file and the table.


def call(what=SOLVER, seconds=1.0, dataset="nyc", repeat=1, **changes):
    size = {"nyc": (264346, 733846), "e": (3598623, 8778114)}[dataset]
    values = {"dataset": dataset, "vertices": size[0], "arcs": size[1], "what": what, "repeat": repeat}
    return COMMON | values | {"seconds": seconds} | changes


def write(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, LIBRARY_TIMES.columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize(
    "changes",
    [
        *({"device": value} for value in (card.SIMULATOR, "other card")),
        *({"repeat": value} for value in (1, 3)),
        *({"driver": ""}, {"started": "2026-01-01"}, {"seconds": 0}),
    ],
)
def test_a_row_that_cannot_be_is_refused(tmp_path, changes):
    ((column, value),) = changes.items()
    with pytest.raises(InputError, match=f"{column} '{value}'"):
        LIBRARY_TIMES.read([write(tmp_path / "a.csv", call(), call(repeat=2) | changes)])


def test_the_table_has_a_row_per_shown_kind_of_call_and_a_column_per_dataset(tmp_path):
    calls = [call(SOLVER, seconds, repeat=n) for n, seconds in enumerate((0.002, 0.004, 0.003), 1)]
    calls += [call(SCIPY, 0.06, commit="", started="2026-01-02T00:00:00+00:00")]
    of_e = call(SCIPY, 2.0, dataset="e", substitute="made up", commit="0123456789abcdef")
    calls += [of_e, call("the kernels alone, between two events")]
    path = tmp_path / "h200/library_times.csv"
    assert "`h200`" in readme.library_times(path) and "|" not in readme.library_times(path)
    head, _, *rows, _, said = readme.library_times(write(path, *calls)).split("\n")
    assert head == "| What | nyc | e † |"
    assert rows == [
        f"| {SOLVER} | 3.00 ms | - |",
        f"| {SCIPY} | 60.0 ms | 2.00 s |",
    ]
    commits = "abcdef012345, 0123456789ab."
    dates, repeats = "2026-01-01 to 2026-01-02", "Medians of 1 to 3 calls"
    for fact in ("`h200`", "NVIDIA H200", "580.1", "test CPU", dates, repeats, commits, " † A ["):
        assert fact in said


def test_times_of_the_page_on_networks_are_those_of_the_file():
    rows = LIBRARY_TIMES.read([ARCHIVED.with_name("network_times.csv")])
    medians = rows.groupby(["what", "dataset"])["seconds"].median().unstack("dataset")
    page = (Path(__file__).parents[3] / "docs/osmnx.md").read_text()
    (table,) = re.findall(r"^\| \| nyc \| ne † \|\n.*?\n((?:\|.*\n)+)", page, re.MULTILINE)
    shown = [line.split("|")[2:4] for line in table.splitlines()]
    table = "a table of 10,000 x 10,000"
    calls = (
        "10^8 pairs, left on the card",
        "10^6 routes with vertices and edges, left on the card",
        "the nearest 5 of 1,000 facilities for all vertices",
        table,
        f"{table} with a second value",
        f"{table}, left on the card",
        f"{table} with a second value, left on the card",
        "new weights, from the host, ready to search",
        "the hub distances of all vertices",
    )
    ways = (
        "weights in whole numbers",
        "weights in tenths",
        "by labels that are numbers up to 10^10",
        "by labels that are texts",
    )
    said = re.findall(r"(\d+) ms", re.search(r"on nyc, a table takes .*", page.replace("\n", " "))[0])[:4]
    assert list(map(int, said)) == [round(1000 * medians.loc[f"{table}, {way}", "nyc"]) for way in ways]
    for cells, call in zip(shown, calls, strict=True):
        for cell, exact in zip(cells, medians.loc[call, ["nyc", "ne"]], strict=True):
            number, unit = cell.split()
            assert float(number) == float(f"{exact * {'ms': 1000, 's': 1}[unit]:.2g}")


# The choice of a search.


def test_the_library_chooses_the_faster_search_on_all_but_one_of_the_measured_graphs():
    """The numbers are those of docs/performance.md."""
    rows = LIBRARY_TIMES.read([ARCHIVED.with_name("choices.csv")])
    ways = rows.assign(what=rows["what"].str.split(":").str[0])
    times = ways.pivot_table("seconds", "dataset", "what", "median")
    chosen = rows[rows["what"].str.startswith("chosen")].groupby("dataset")["what"].first().str.removeprefix("chosen: ")
    near_far, scipy = times["delta_stepping/near_far"], times["dijkstra/scipy"]
    slower = chosen == np.where(near_far < scipy, "dijkstra/scipy", "delta_stepping/near_far")
    page = " ".join((ROOT / "docs/performance.md").read_text().split())
    (name,) = slower.index[slower]
    assert f"[{len(times)} graphs]" in page and name == "grid, 8 x 125,000"
    extra = (scipy / near_far)[name], (times["chosen"] / np.minimum(near_far, scipy)).median()
    for times_as_long in extra:
        assert f"{times_as_long:.2f}" in page
    path = "path of 1,000,000"
    assert f"takes {near_far[path]:.2f} s, and SciPy {scipy[path]:.2f} s" in page


def test_each_way_finds_scipys_distances_from_a_new_graph(tmp_path):
    path = choices.save("comb, 1,000 teeth of 1,000", tmp_path)
    graph = Graph.load(path)
    assert graph.name == "comb, 1,000 teeth of 1,000" and graph.vertices == 1000 * 1001
    assert graph.arcs == 2 * (graph.vertices - 1)  # a tree
    chosen, near_far, scipy = choices.ways(graph)
    assert (chosen.what, near_far.what, scipy.what) == (
        "chosen: dijkstra/scipy",
        "delta_stepping/near_far",
        "dijkstra/scipy",
    )
    for case in (chosen, scipy):
        assert case.row(1)["seconds"] > 0
