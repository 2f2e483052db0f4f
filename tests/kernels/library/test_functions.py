"""The functions of `import kernels`: the choice of a variant, and results as scipy.sparse.csgraph has them."""

import copy
import dataclasses
import functools
import json
import re
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.sparse import csgraph

import kernels
from kernels import centrality, io
from kernels.errors import InputError, NotEnoughMemory
from kernels.fast import multi_source
from kernels.fast.floats import FloatGraph
from kernels.fast.hierarchy import elimination, many_sources
from kernels.graph import INF, MAX_WEIGHT, Graph
from kernels.library import choice, searches
from kernels.library.answers import FLOAT_BYTES, HOST_BYTES, Distances
from kernels.library.choice import BreakEven, Card, choose_apsp, choose_many, choose_sssp
from kernels.library.inputs import as_graph
from kernels.registry import VARIANTS
from kernels.run import Result
from tests.support import graphs
from tests.support.recorder import Recorder
from tests.support.trees import CARD

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "workflow" / "samples" / "sample3.txt"  # sinks, unreachable vertices, parallel arcs, a loop


pytestmark = pytest.mark.usefixtures("no_card")


def sample(form):
    graph = io.read_graph(SAMPLE)
    as_array = graph.to_scipy()
    return {"Graph": graph, "path": SAMPLE, "str": str(SAMPLE), "csr": as_array, "coo": as_array.tocoo()}[form]


@pytest.mark.parametrize("form", ["Graph", "path", "str", "csr", "coo"])
def test_results_are_what_scipys_dijkstra_gives(form):
    array = io.read_graph(SAMPLE).to_scipy()
    distances, predecessors = csgraph.dijkstra(array, return_predecessors=True)
    for found, rows in ((kernels.all_pairs(sample(form)), ...), (kernels.shortest_paths(sample(form), 3), 3)):
        assert (found.distances.dtype, found.predecessors.dtype) == (distances.dtype, predecessors.dtype)
        np.testing.assert_array_equal(found.distances, distances[rows])
        np.testing.assert_array_equal(found.predecessors == -9999, predecessors[rows] == -9999)
        assert found.variant.startswith("dijkstra/") and "no GPU is visible" in found.reason


def test_scipy_reads_the_predecessors():
    array = io.read_graph(SAMPLE).to_scipy()
    found = kernels.all_pairs(array)
    np.testing.assert_array_equal(csgraph.construct_dist_matrix(array, found.predecessors), found.distances)
    one = kernels.shortest_paths(array, 0)
    tree = csgraph.reconstruct_path(array, one.predecessors)
    reached = np.isfinite(one.distances) & (np.arange(array.shape[0]) != 0)
    assert tree.nnz == reached.sum() > 0
    np.testing.assert_array_equal(csgraph.dijkstra(tree, indices=0), one.distances)


def random_graph(vertices, arcs, weight=9):
    random = np.random.default_rng(0)
    ends = random.integers(0, vertices, (2, arcs))
    return Graph.from_arcs(vertices, *ends, random.integers(1, weight + 1, arcs))


def test_without_a_gpu_networkit_only_where_it_is_installed(monkeypatch):
    graph = random_graph(500, 2000)
    assert choose_sssp(graph, None)[0] == "dijkstra/scipy"
    assert choose_apsp(random_graph(5, 9), None)[0] == "dijkstra/scipy_apsp"
    assert choose_apsp(graph, None)[0] == "dijkstra/networkit_apsp"
    monkeypatch.setitem(sys.modules, "networkit", None)  # as if it were not there
    assert choose_apsp(graph, None)[0] == "dijkstra/scipy_apsp"


@pytest.mark.parametrize(
    ("graph", "card", "variant", "reason"),
    [
        (random_graph(1000, 3000), CARD, "bellman_ford/multi_source_apsp", "sparse, and the "),
        (random_graph(1000, 3000), Card(9000, CARD.free), "floyd_warshall/blocked16", "do not fit in shared memory; "),
        (random_graph(1000, 9000), CARD, "floyd_warshall/blocked16", "dense; from one vertex the largest distance is "),
        (random_graph(1000, 9000, 10**6), CARD, "floyd_warshall/blocked", "so that not all may fit in 15 bits"),
        (
            random_graph(1000, 3000),
            Card(CARD.shared, 7 * 10**6),
            "floyd_warshall/staged",
            "7,000,000 are free on the card",
        ),
        (random_graph(1000, 3000), Card(CARD.shared, 8 * 10**6), "bellman_ford/multi_source_apsp", "sparse"),
        (random_graph(300, 0), CARD, "bellman_ford/multi_source_apsp", "the 0 vertices with out-arcs"),
        (random_graph(100, 227), CARD, "dijkstra/scipy_apsp", "longer to start than 100 searches"),
        (random_graph(100, 228), CARD, "floyd_warshall/blocked16", "dense"),
    ],
)
def test_with_a_card_the_graph_decides(graph, card, variant, reason):
    chosen, why = choose_apsp(graph, card)
    assert chosen == variant and reason in why


def test_one_source_on_a_card():
    assert choose_sssp(random_graph(10_000, 22_768), CARD)[0] == "delta_stepping/near_far"
    chosen, why = choose_sssp(random_graph(10_000, 22_767), CARD)
    assert chosen == "dijkstra/scipy" and "32,767 vertices and arcs" in why


@pytest.mark.parametrize("least", [0, 1])
def test_the_choice_knows_what_multi_source_apsp_keeps_in_shared_memory(least):
    """With one byte less than its kernel needs, another variant is chosen."""
    asked = []

    class Asking(Recorder):
        def launch(self, *launches, times=1):
            asked.append(launches[0][4])

    graph = random_graph(300, 600)
    graph.weights[0] = least
    multi_source.apsp(graph, Result.poisoned("apsp", 300), Asking(shared=10**6))
    (needed,) = asked
    assert choose_apsp(graph, Card(needed, CARD.free))[0] == "bellman_ford/multi_source_apsp"
    assert choose_apsp(graph, Card(needed - 1, CARD.free))[0] == "floyd_warshall/blocked16"


def with_duplicates(form, dtype, scale):
    """Return an array with three entries 5, 3 and 4 for the arc 0 -> 1, and an explicit zero for 1 -> 2.

    In BSR the zero only pads a block. In DIA and DOK, no entry can have a duplicate.
    """
    weights = np.array([5 * scale, 3 * scale, 4 * scale, 0], dtype)
    if form == "bsr":
        blocks = np.zeros((3, 2, 2), dtype)
        blocks[:, 0, 1] = weights[:3]
        return sparse.bsr_array((blocks, np.zeros(3, int), np.array([0, 3, 3])), shape=(4, 4))
    if form == "lil":
        array = sparse.lil_array((4, 4), dtype=dtype)
        array.rows[:2], array.data[:2] = [[1, 1, 1], [2]], [list(weights[:3]), [weights[3]]]
        return array
    if form == "csc":  # by columns
        return sparse.csc_array((weights, [0, 0, 0, 1], [0, 0, 3, 4, 4]), shape=(4, 4))
    array = sparse.csr_array((weights, [1, 1, 1, 2], [0, 3, 4, 4, 4]), shape=(4, 4))
    return sparse.coo_array(array) if form == "coo" else array


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize(("dtype", "scale"), [("int8", 20), ("int64", 1), ("float32", 1), ("float64", 0.5)])
@pytest.mark.parametrize("form", ["coo", "csr", "csc", "bsr", "lil"])
def test_of_duplicate_entries_the_cheapest_counts(form, dtype, scale, directed):
    array = with_duplicates(form, dtype, scale)
    before, reached = copy.deepcopy(vars(array)), np.inf if form == "bsr" else 3 * scale
    row = [0, 3 * scale, reached, np.inf]
    back = [np.inf, 0, 0, np.inf] if directed else [3 * scale, 0, 0, np.inf]
    assert kernels.shortest_paths(array, 0, directed=directed).distances.tolist() == row
    assert kernels.shortest_paths(array, 0, limit=9 * scale, directed=directed).distances.tolist() == row
    assert kernels.distances(array, [0], directed=directed).distances.tolist() == [row]
    with kernels.prepare(array, directed=directed) as prepared:
        assert prepared.all_pairs().distances[0].tolist() == row
        if form != "bsr":
            assert prepared.distances([1]).distances.tolist() == [back]
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(array, name), value)


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "bsr"])
def test_of_duplicate_entries_in_a_file_the_cheapest_counts(form, tmp_path):
    array = with_duplicates(form, "int64", 1)
    sparse.save_npz(tmp_path / "graph.npz", array)
    row = [0, 3, np.inf if form == "bsr" else 3, np.inf]
    assert kernels.shortest_paths(tmp_path / "graph.npz", 0).distances.tolist() == row
    assert kernels.shortest_paths(io.read_graph(tmp_path / "graph.npz"), 0).distances.tolist() == row


def test_zeros_that_fill_a_block_are_no_arcs():
    dense = np.zeros((4, 4))
    dense[[0, 1, 3], [1, 2, 0]] = 5, 3, 2
    found = kernels.shortest_paths(sparse.bsr_array(dense, blocksize=(2, 2)), 0)
    assert found.distances.tolist() == [0, 5, 8, np.inf]


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ([[0, 1], [0, 0]], "<class 'list'>"),
        (sparse.csr_array((2, 3)), r"must be square, not of shape \(2, 3\)"),
        (np.zeros((2, 3)), r"must be square, not of shape \(2, 3\)"),
        (sparse.csr_array([[0, -np.inf], [0, 0]]), "weight is -inf"),
        ("nowhere.txt", "nowhere.txt: "),
    ],
)
@pytest.mark.parametrize(
    "solve",
    [
        *(kernels.all_pairs, kernels.eccentricities),
        *(lambda graph: kernels.shortest_paths(graph, 0), lambda graph: kernels.distances(graph, [0])),
    ],
)
def test_what_is_refused_is_refused_in_one_message(graph, message, solve):
    with pytest.raises(InputError, match=message):
        solve(graph)


def float_graphs():
    """Return sparse arrays whose weights or distances do not fit in int32, by name."""
    return {
        "halves": sparse.csr_array([[0, 0.5, 3], [0, 0, 0.25], [1, 0, 0]]),
        "float32": sparse.csc_array(np.array([[0, 0.1, 0.3], [0, 0, 0.1], [0, 0, 0]], np.float32)),
        "NaN and inf": sparse.csr_array([[0, np.nan, 2], [np.inf, 0, 0.5], [4, 0, 0]]),
        "negative": sparse.csr_array([[0, -1, 3], [0, 0, 2], [0.5, 0, 0]]),
        "64 bits": sparse.csr_array([[0, 2**40, 3 * 2**40], [0, 0, 2**39], [0, 0, 0]]),
        "unsigned": sparse.csr_array(np.array([[0, 2**63, 0], [0, 0, 0], [0, 7, 0]], np.uint64)),
        "a long way": sparse.csr_array([[0, 2**31 - 2, 0], [0, 0, 1], [0, 0, 0]]),
    }


def assert_as_scipy(array):
    """Compare all four functions with SciPy's Dijkstra, or with Johnson if a weight is negative."""
    expected = (csgraph.johnson if array.min() < 0 else csgraph.dijkstra)(array)
    np.testing.assert_array_equal(kernels.distances(array, [2, 0, 2]).distances, expected[[2, 0, 2]], strict=True)
    for found, rows in ((kernels.all_pairs(array), ...), (kernels.shortest_paths(array, 1), 1)):
        np.testing.assert_array_equal(found.distances, expected[rows], strict=True)
        np.testing.assert_array_equal(
            csgraph.construct_dist_matrix(array.tocsr(), kernels.all_pairs(array).predecessors), expected
        )
        assert found.predecessors.dtype == np.int32
    found = kernels.eccentricities(array)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found.eccentricity, expected.max(axis=1, initial=-np.inf, where=finite))
    np.testing.assert_array_equal(found.total, expected.sum(axis=1, where=finite))
    assert found.reached.tolist() == finite.sum(axis=1).tolist()
    np.testing.assert_array_equal(expected[np.arange(3), found.farthest], found.eccentricity)


@pytest.mark.parametrize("other", [np.inf, np.nan])
def test_whole_weights_beside_inf_are_whole(other):
    array = sparse.csr_array([[0, np.inf, 2], [other, 0, 5], [0, 0, 0]])
    assert kernels.distances(array, [0], dtype="int32").distances.tolist() == [[0, INF, 2]]


@pytest.mark.parametrize("name", float_graphs())
def test_weights_in_float64(name):
    assert_as_scipy(float_graphs()[name])


@pytest.mark.simulator
@pytest.mark.parametrize("name", float_graphs())
def test_weights_in_float64_on_a_card(name, on_card):
    array = float_graphs()[name]
    assert_as_scipy(array)
    found = kernels.shortest_paths(array, 0)
    assert found.variant == "delta_stepping/near_far" and found.rounds > 0
    assert "float64" in found.reason


@pytest.mark.simulator
def test_rounds_are_the_most_of_all_searches(on_card, monkeypatch):
    monkeypatch.setattr(searches, "PIECE", 4)
    array = sparse.csr_array(np.diag([0.5, 0.5, 0.5], k=1))
    alone = [kernels.shortest_paths(array, source).rounds for source in range(4)]
    assert alone[0] > alone[3]
    assert kernels.distances(array, range(4)).rounds == alone[0]


@pytest.mark.parametrize("source", [np.int64(3), np.uint8(3), np.array(3)], ids=repr)
def test_a_source_may_be_numpys(source):
    found, expected = kernels.shortest_paths(SAMPLE, source), kernels.shortest_paths(bytes(SAMPLE), 3)
    np.testing.assert_array_equal(found.distances, expected.distances)


NO_WHOLE = ["0", None, [0], 1.5, 1.0, True, np.True_, np.float64(1), np.array([1]), np.array(True), 1j]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        *((source, "source must be ") for source in NO_WHOLE),
        (13, r"source 13 is not a vertex of sample3: choose one in \[0, 13\)"),
    ],
    ids=repr,
)
def test_a_source_that_is_none(source, message):
    with pytest.raises(InputError, match=message):
        kernels.shortest_paths(SAMPLE, source)


WHOLE = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))


@pytest.mark.parametrize("dtype", [*WHOLE, "float32", "float64", "longdouble"])
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dia", "bsr", "lil", "dok"])
def test_scipys_arrays_are_read_as_scipy_reads_them(dtype, form):
    dense = np.array([[0, 3, 9, 0], [0, 0, 2, 0], [1, 0, 0, 0], [0, 0, 0, 5]], dtype)
    for array in (sparse.csr_array(dense).asformat(form), sparse.csr_matrix(dense).asformat(form)):
        np.testing.assert_array_equal(kernels.all_pairs(array).distances, csgraph.dijkstra(array))


@pytest.mark.parametrize("weight", [1, 0.5, -1])
def test_a_graph_has_its_own_arrays(weight):
    array = sparse.csr_array([[0, weight, 0], [0, 0, 2], [0, 0, 0]])
    graph = as_graph(array)
    for part in (array.data, array.indices, array.indptr):
        part[:] = 0
    assert (graph.indptr.tolist(), graph.indices.tolist(), graph.weights.tolist()) == (
        [0, 1, 2, 2],
        [1, 2],
        [weight, 2],
    )


def broken():
    array = sparse.csr_array([[0, 1], [0, 0]])
    array.indices[0] = 9
    return array


@pytest.mark.parametrize("indptr", [[0, 1, 0], [0, 0, -1], [0, 2, 1]])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix])
def test_rows_that_end_before_they_begin(form, indptr):
    array = form((np.ones(2), np.array([1, 0]), np.array([0, 1, 2])), shape=(2, 2))
    array.indptr[:] = indptr
    with pytest.raises(InputError, match="sparse array"):
        as_graph(array)


@pytest.mark.parametrize("form", [sparse.coo_array, sparse.dok_array, sparse.dia_array])
def test_an_array_of_too_many_vertices_is_refused_before_memory_is_taken(form):
    with pytest.raises(InputError, match="8,589,934,592"):
        kernels.shortest_paths(form((2**33, 2**33)), 0)


def int32(*values):
    return np.array(values, np.int32)


def with_a_list(name):
    """Return a sparse array in which a list replaces one array."""
    array = sparse.csr_array([[0.0, 1], [0, 0]])
    setattr(array, name, getattr(array, name).tolist())
    return array


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (sparse.csr_array([[0, 1j], [0, 0]]), "the weights of a graph must be real numbers, not complex128"),
        (sparse.csr_array((0, 0)), "a graph has 1 to 2,147,483,647 vertices, not 0"),
        (sparse.coo_array(np.array([0, 1])), r"must be square, not of shape \(2,\)"),
        (broken(), "sparse array"),
        (
            np.ma.masked_values([[0, 1], [2, 0]], 2),
            "<class 'numpy.ma.*MaskedArray'>",
        ),
        (np.array([[0, 1j], [0, 0]]), "the weights of a graph must be real numbers, not complex128"),
        (np.zeros((0, 0)), "a graph has 1 to 2,147,483,647 vertices, not 0"),
        (np.zeros(2), r"must be square, not of shape \(2,\)"),
        (b"nowhere.txt", "nowhere.txt: .*No such file"),
        ("no\0where", r"'no\\x00where': "),
        ("", "'': "),
        (with_a_list("data"), "the weights of a graph must be real numbers, not object"),
        (FloatGraph(int32(0, 1, 1), int32(7), np.array([0.5])), r"arc 0: head 7 is outside \[0, 1\]"),
        (FloatGraph(int32(0, 1, 0), int32(1), np.array([0.5])), "indptr of a graph falls after vertex 1"),
        (FloatGraph(int32(0, 1, 1), int32(1), np.array([np.nan])), "arc 0: weight nan is not finite"),
        (ROOT, "Is a directory"),
    ],
)
def test_a_graph_that_is_none(graph, message):
    with pytest.raises(InputError, match=message):
        kernels.shortest_paths(graph, 0)


def test_an_array_with_a_list_in_it_is_read_at_each_call():
    array = with_a_list("indptr")
    for _ in range(2):
        assert kernels.shortest_paths(array, 0).distances.tolist() == [0, 1]


def test_an_array_in_which_a_list_is_set_between_two_calls():
    array = sparse.csr_array([[0.0, 1], [0, 0]])
    kernels.shortest_paths(array, 0)
    array.indptr = [0, 0, 0]
    array.data, array.indices = np.empty(0), np.empty(0, np.int32)
    assert kernels.shortest_paths(array, 0).distances.tolist() == [0, np.inf]


@pytest.mark.parametrize("nothing", [[], (), np.array([]), np.zeros(0, np.int8)], ids=repr)
def test_a_graph_without_arcs(nothing):
    graph = Graph.from_arcs(3, nothing, nothing, nothing)
    assert (graph.vertices, graph.arcs, graph.indices.dtype) == (3, 0, np.int32)


@pytest.mark.parametrize("dtype", ["int8", "uint64", ">i4"])
def test_arcs_of_any_integers(dtype):
    graph = Graph.from_arcs(np.int64(300), *np.array([[0, 1], [1, 2], [5, 127]], dtype))
    assert (graph.vertices, graph.weights.tolist(), graph.weights.dtype) == (300, [5, 127], np.int32)


TAILS, WEIGHTS = "tails of the arcs must be ", "weights of the arcs must be "
VERTICES = "the number of vertices must be a whole number, not "


@pytest.mark.parametrize(
    ("vertices", "arcs", "message"),
    [
        *((3, ([0], [1], [weight]), f"{WEIGHTS}integers") for weight in (1.5, 1.0, True, np.nan, 1j, None)),
        *((3, ([end], [1], [1]), f"{TAILS}integers") for end in (0.0, "0", False, 2**64)),
        (3, ([0, True], [1, 1], [1, 1]), f"{TAILS}integers, not bool"),
        (3, ([0], [1], [2**63]), "arc 0: weight 9223372036854775808 is outside"),
        (3, ([0], [1], [MAX_WEIGHT + 1]), "weight 2147483647 is outside"),  # which stands for no path
        (3, ([0], [1], np.array([1], object)), f"{WEIGHTS}integers, not object"),
        (3, ([[0]], [[1]], [[1]]), rf"{TAILS}of one dimension, not of shape \(1, 1\)"),
        (3, (0, 1, 1), rf"{TAILS}of one dimension, not of shape \(\)"),
        (3, ([[0], [1, 2]], [1], [1]), "the tails of the arcs are no array"),
        (3, ([0, 1], [1], [1]), "tails, heads and weights differ in length: 2, 1, 1"),
        *((vertices, ([], [], []), VERTICES) for vertices in (3.0, "3", None, True, np.array([3]))),
        *((n, ([], [], []), f"a graph has 1 to 2,147,483,647 vertices, not {n:,}") for n in (0, -1, 2**31, 2**70)),
    ],
)
def test_no_graph_can_be_made(vertices, arcs, message):
    with pytest.raises(InputError, match=message):
        Graph.from_arcs(vertices, *arcs)


def rows(graph):
    return graph.indptr.tolist(), graph.indices.tolist(), graph.weights.tolist()


def test_a_graph_of_the_columns_of_a_frame():
    frame = pd.DataFrame({"u": [2, 0, 0], "v": [0, 1, 2], "w": [3.0, 0, 7]}, index=[5, 6, 7])
    for given in (frame, frame.convert_dtypes()):
        graph = Graph.from_edges(given["u"], given["v"], given["w"], meta={"name": "roads"})
        assert rows(graph) == ([0, 2, 2, 3], [1, 2, 0], [0, 7, 3])
        assert graph.directed and graph.name == "roads"
    both = Graph.from_edges(frame["u"], frame["v"], frame["w"], directed=False, meta={"name": "roads"})
    assert (both.arcs, both.directed, both.meta) == (6, False, {"name": "roads"})
    expected = csgraph.dijkstra(graph.to_scipy(), directed=False)
    np.testing.assert_array_equal(kernels.all_pairs(both).distances, expected)
    assert rows(Graph.from_edges(frame["u"], frame["v"], vertices=4)) == ([0, 2, 2, 3, 3], [1, 2, 0], [1, 1, 1])
    assert rows(Graph.from_edges([], [], [], vertices=1, directed=False)) == ([0, 0], [], [])


@pytest.mark.parametrize(
    ("columns", "more", "message"),
    [
        (([], []), {}, r"a graph without edges: give the number of vertices \(vertices=n\)"),
        (([0, 1], [1, 3]), {"vertices": 3}, r"edge 1: head 3 is outside \[0, 2\]"),
        (([-1], [1]), {}, r"edge 0: tail -1 is outside \[0, 1\]"),
        (([0], [2**40]), {"vertices": 5}, r"edge 0: head 1099511627776 is outside \[0, 4\]"),
        ((["a"], ["b"]), {"vertices": 2}, f"{TAILS}integers, not object"),
        (([0.0], [1.0]), {}, "tails of the edges must be integers or labels, not float64"),
        ((np.array([0.0]), [1]), {}, "tails of the edges must be integers or labels, not float64"),
        (([0, 1], [1, 2], [1]), {}, "tails, heads and weights differ in length: 2, 2, 1"),
        (([0, 1], [1, 2], [1, np.inf]), {}, "edge 1: weight inf is not a finite number of 0 or more"),
        (([0], [1], [-1.0]), {}, "edge 0: weight -1.0 is not a finite number of 0 or more"),
        (([0], [1], [2**31]), {}, r"edge 0: weight 2147483648 is above 2\^31 - 2 units of 1"),
        (([0], [1], np.ones((1, 1))), {}, "weights must be a list or an array of one dimension"),
        (([0], [1]), {"vertices": 2.0}, f"{VERTICES}2.0"),
    ],
)
def test_columns_that_make_no_graph(columns, more, message):
    with pytest.raises(InputError, match=message):
        Graph.from_edges(*columns, **more)


FLAGS = {
    "Graph": ("directed", lambda flag: Graph(int32(0, 0), int32(), int32(), flag)),
    "from_arcs": ("directed", lambda flag: Graph.from_arcs(2, [0], [1], [1], directed=flag)),
    "from_edges": ("directed", lambda flag: Graph.from_edges([0], [1], directed=flag)),
    "Solver": ("directed", lambda flag: kernels.Solver(SAMPLE, directed=flag)),
    **{
        name: ("directed", lambda flag, name=name, args=args: getattr(kernels, name)(SAMPLE, *args, directed=flag))
        for name, args in {
            "prepare": (),
            "shortest_paths": (0,),
            "all_pairs": (),
            "distances": ([0],),
            "distance_pieces": ([0],),
            "nearest": ([0], 1),
            "reachable": ([0], 1),
            "eccentricities": (),
        }.items()
    },
    "nearest backward": ("reverse", lambda flag: kernels.nearest(SAMPLE, [0], 1, reverse=flag)),
    "reachable backward": ("reverse", lambda flag: kernels.reachable(SAMPLE, [0], 1, reverse=flag)),
    "reciprocals": ("reciprocals", lambda flag: kernels.prepare(SAMPLE).eccentricities(reciprocals=flag)),
    "centrality": ("directed", lambda flag: centrality.diameter(SAMPLE, directed=flag)),
    "wf_improved": ("wf_improved", lambda flag: centrality.closeness_centrality(SAMPLE, wf_improved=flag)),
}


@pytest.mark.parametrize(("name", "call"), FLAGS.values(), ids=FLAGS)
def test_a_flag_is_true_or_false(name, call):
    for flag in (True, False, np.True_, np.False_):
        call(flag)
    for flag in ("False", 0, 1, None, [True], np.array([True])):
        with pytest.raises(InputError, match=f"^{name} must be .* {re.escape(repr(flag))}$"):
            call(flag)


def test_a_flag_is_looked_at_although_the_graph_is_known():
    graph = io.read_graph(SAMPLE)
    kernels.shortest_paths(graph, 0)
    with pytest.raises(InputError, match=r"directed .* 'False'"):
        kernels.shortest_paths(graph, 0, directed="False")


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("weight", ["weight", "minutes", None])
def test_a_graph_of_networkx(kind, weight):
    given = kind()
    given.add_nodes_from("edcba")
    given.add_edge("a", "b", weight=4, minutes=2.0)
    given.add_edge("a", "b", weight=3)
    given.add_weighted_edges_from([("b", "c", 5), ("c", "a", 0), ("d", "d", 1)])
    graph, nodes = Graph.from_networkx(given, weight), list(given)
    assert graph.directed == given.is_directed() and nodes == list("edcba")
    found = kernels.all_pairs(graph).distances
    for source, expected in nx.all_pairs_dijkstra_path_length(given, weight=weight):
        assert found[nodes.index(source)].tolist() == [expected.get(node, np.inf) for node in nodes]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (nx.Graph([(0, 1, {"weight": "far"})]), "edge 0: weight 'far' is not a number"),
        (nx.Graph(), "a graph has 1 to 2,147,483,647 vertices, not 0"),
        (np.eye(2), "a NetworkX graph is needed, not <class 'numpy.ndarray'>"),
    ],
)
def test_what_is_no_graph_of_networkx(given, message):
    with pytest.raises(InputError, match=message):
        Graph.from_networkx(given)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((np.array([0, 1]), int32(0), int32(1)), "indptr of a graph must be an int32 array"),
        ((int32(0, 1), [0], int32(1)), "indices of a graph must be an int32 array"),
        ((int32(0, 1), int32(0), int32([1])), "weights of a graph must be an int32 array of one dimension"),
        *(
            (arrays, "indptr, indices and weights of a graph do not fit together")
            for arrays in (
                (int32(), int32(), int32()),
                (int32(0), int32(), int32()),
                (int32(0, 2), int32(0), int32(1)),
                (int32(0, 1), int32(0), int32(1, 1)),
                (int32(1, 1), int32(0), int32(1)),
            )
        ),
        ((int32(0, 0), int32(), int32(), True, ["name"]), "meta of a graph must be a dictionary"),
        ((int32(0, 0), int32(), int32(), True, {"name": 5}), "the name in meta of a graph must be a string"),
    ],
)
def test_a_graphs_arrays_are_looked_at(arrays, message, tmp_path):
    with pytest.raises(InputError, match=message):
        Graph(*arrays)
    with pytest.raises(InputError, match=rf"packed\.npz: .*{message}"):
        Graph.load(packed(tmp_path / "packed.npz", *arrays))


def packed(path, indptr, indices, weights, directed=True, meta=()):
    """Write a file as Graph.save does, without checks."""
    meta = np.array(json.dumps(meta or {}))
    np.savez(path, indptr=indptr, indices=indices, weights=weights, directed=np.array(directed), meta=meta)
    return path


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((int32(0, 2, 1, 2), int32(1, 0), int32(1, 1)), "indptr of a graph falls after vertex 1"),
        ((int32(0, -1, 1), int32(1), int32(1)), "indptr of a graph falls after vertex 0"),
        ((int32(0, 1, 2), int32(1, 2), int32(1, 1)), r"arc 1: head 2 is outside \[0, 1\]"),
        ((int32(0, 1, 2), int32(-1, 1), int32(1, 1)), r"arc 0: head -1 is outside \[0, 1\]"),
        ((int32(0, 1), int32(0), int32(-1)), r"arc 0: weight -1 is outside \[0, 2147483646\]"),
        ((int32(0, 1), int32(0), int32(INF)), r"arc 0: weight 2147483647 is outside \[0, 2147483646\]"),
    ],
)
def test_wrong_values_are_refused_before_a_search(arrays, message, tmp_path):
    with pytest.raises(InputError, match=rf"packed\.npz: .*{message}"):
        Graph.load(packed(tmp_path / "packed.npz", *arrays))
    for ask in (lambda graph: kernels.shortest_paths(graph, 0), kernels.all_pairs, kernels.prepare):
        with pytest.raises(InputError, match=f"^{message}$"):
            ask(Graph(*arrays))


def test_a_packed_graph_that_cannot_be_read(tmp_path):
    np.save(tmp_path / "array.npy", int32(1))
    (tmp_path / "array.npy").rename(tmp_path / "array.npz")
    with pytest.raises(InputError, match=r"array\.npz: "):
        Graph.load(tmp_path / "array.npz")
    with pytest.raises(InputError, match=f"{tmp_path}: .*directory"):
        Graph.load(tmp_path)


def test_the_longest_distance_there_may_be():
    found = kernels.shortest_paths(sparse.csr_array([[0, 2**31 - 3, 0], [0, 0, 1], [0, 0, 0]]), 0)
    assert found.distances.tolist() == [0, 2**31 - 3, 2**31 - 2]


LARGE = Graph(np.zeros(10**7 + 1, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int32))


@pytest.mark.parametrize(
    ("solve", "message"),
    [
        (lambda: kernels.all_pairs(LARGE), "1,700,000,000,000,000 bytes"),
        (
            lambda: kernels.all_pairs(FloatGraph.of(LARGE)),
            "2,000,000,000,000,000 bytes",
        ),
        (
            lambda: kernels.prepare(LARGE).paths_from(np.arange(10**6)),
            "200,000,000,000,000 bytes",
        ),
        (
            lambda: kernels.distances(LARGE, np.zeros(100_000, int)),
            "8,000,000,000,000 bytes",
        ),
    ],
)
def test_no_room(solve, message):
    with pytest.raises(InputError, match=message):
        solve()


def test_a_full_card_is_said(monkeypatch):
    """A CPU variant stands in for the card's."""

    key = "dijkstra/scipy_apsp"

    @functools.wraps(VARIANTS[key].function)
    def full(graph, result, run):
        raise NotEnoughMemory(2000, 1000)

    monkeypatch.setitem(VARIANTS, key, dataclasses.replace(VARIANTS[key], function=full))
    with pytest.raises(NotEnoughMemory, match="2,000 bytes"):
        kernels.all_pairs(random_graph(5, 9))


SOURCES = [5, 0, 12, 5, 3]


@pytest.mark.parametrize("share", [0, 10**9], ids=["one by one", "of all pairs"])
@pytest.mark.parametrize("sources", [[2, 0, 1], [0, 1, 2], [2, 0], [1, 1, 0]], ids=repr)
@pytest.mark.parametrize("scale", [1, 0.1], ids=["whole", "float64"])
def test_paths_have_the_order_of_the_sources(sources, share, scale, monkeypatch):
    monkeypatch.setattr(choice, "SHARE", share)
    array = scale * sparse.csr_array([[0, 1, 5], [0, 0, 2], [7, 0, 0]])
    found = kernels.prepare(array).paths_from(sources)
    distances, predecessors = csgraph.dijkstra(array, indices=sources, return_predecessors=True)
    np.testing.assert_array_equal(found.distances, distances, strict=True)
    np.testing.assert_array_equal(found.predecessors, predecessors, strict=True)


def test_paths_one_by_one_where_those_of_all_pairs_do_not_fit_in_memory(with_memory):
    graph = random_graph(40, 90)
    with_memory(FLOAT_BYTES * 40 * 10)
    found = kernels.prepare(graph).paths_from(range(10))
    np.testing.assert_array_equal(found.distances, csgraph.dijkstra(graph.to_scipy(), indices=range(10)))


@pytest.mark.parametrize("form", ["Graph", "path", "csr"])
@pytest.mark.parametrize("sources", [SOURCES, np.array(SOURCES, np.uint8), tuple(SOURCES)], ids=type)
def test_distances_from_many_sources_are_scipys(form, sources):
    found = kernels.distances(sample(form), sources)
    expected = csgraph.dijkstra(io.read_graph(SAMPLE).to_scipy(), indices=SOURCES)
    np.testing.assert_array_equal(found.distances, expected, strict=True)
    assert (found.sources.tolist(), found.sources.dtype) == (SOURCES, np.int64)
    assert found.variant == "dijkstra/scipy" and "no GPU is visible" in found.reason


def reduced(graph, sources):
    """Return eccentricity, vertices reached and sum of distances of each source, and all distances, by SciPy."""
    rows = csgraph.dijkstra(graph.to_scipy(), indices=sources)
    finite = np.isfinite(rows)
    return rows.max(axis=1, initial=0, where=finite), finite.sum(axis=1), rows.sum(axis=1, where=finite), rows


def assert_reduced(found, graph, sources):
    *expected, rows = reduced(graph, sources)
    assert found.sources.tolist() == list(sources)
    for array, values in zip((found.eccentricity, found.reached, found.total), expected, strict=True):
        np.testing.assert_array_equal(array, values)
    np.testing.assert_array_equal(rows[np.arange(len(sources)), found.farthest], found.eccentricity)
    columns = found.eccentricity, found.farthest, found.reached, found.total
    assert [array.dtype for array in columns] == [np.int32, np.int32, np.int32, np.int64]


def test_eccentricities_without_a_card():
    graph = io.read_graph(SAMPLE)
    assert_reduced(kernels.eccentricities(graph), graph, range(graph.vertices))
    assert_reduced(kernels.eccentricities(SAMPLE, SOURCES), graph, SOURCES)
    assert_reduced(kernels.eccentricities(Graph.from_arcs(3, [], [], [])), Graph.from_arcs(3, [], [], []), range(3))


def test_no_sources():
    assert kernels.distances(SAMPLE, []).distances.shape == (0, 13)
    assert kernels.eccentricities(SAMPLE, np.zeros(0, np.int32)).total.shape == (0,)


def test_scipy_is_asked_in_pieces(monkeypatch):
    monkeypatch.setattr(searches, "PIECE", 2 * 13)
    found = kernels.distances(SAMPLE, range(5))
    np.testing.assert_array_equal(found.distances, csgraph.dijkstra(sample("csr"), indices=range(5)))


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ([0, 13], r"source 13 is not a vertex of sample3: choose one in \[0, 13\)"),
        (np.array([-1]), "source -1 is not a vertex of sample3"),
        (np.array([2**63], np.uint64), f"source {2**63} is not a vertex"),
        ([0.0, 1.0], "sources .* float64"),
        ([True], "sources .* bool"),
        ([0, True], "sources .* bool"),
        ((np.False_, 1), "sources .* bool"),
        (["0"], "sources .* <U1"),
        ([2**70], "sources .* object"),
        (3, "sources .* 3"),
        ({3}, r"sources .* \{3\}"),
        ([[0, 1]], r"sources .* \[\[0, 1\]\]"),
        ([[0], [1, 2]], "sources "),
    ],
    ids=repr,
)
def test_sources_that_are_none(sources, message):
    for solve in (kernels.distances, kernels.eccentricities):
        with pytest.raises(InputError, match=message):
            solve(SAMPLE, sources)


@pytest.fixture(scope="module")
def streets():
    return graphs.grid(2500)


@pytest.fixture
def few(hierarchy_from):
    """Let a hierarchy pay for few sources."""
    hierarchy_from(BreakEven(500, 50, 2))


@pytest.mark.parametrize(
    ("graph", "sources", "card", "variant", "reason"),
    [
        (graphs.grid, 9, None, "dijkstra/scipy", "no GPU is visible"),
        (graphs.grid, 2, CARD, "dijkstra/scipy", "longer to start than 2 searches"),
        (graphs.grid, 1000, CARD, "hierarchy/many_sources", "pays off for 1,000 sources"),
        (graphs.grid, 500, CARD, "hierarchy/many_sources", "pays off for 500 sources"),
        (graphs.grid, 250, CARD, "bellman_ford/multi_source_apsp", "all pairs, since 250 of 2,500 vertices"),
        (
            graphs.grid,
            249,
            CARD,
            "dijkstra/scipy",
            "one source after the other, since a .* pays from 500 sources: a GPU",
        ),
        (
            graphs.grid,
            499,
            CARD,
            "bellman_ford/multi_source_apsp",
            "all pairs, since 499 of 2,500 vertices are sources",
        ),
        (graphs.grid, 1000, Card(4096, CARD.free), "floyd_warshall/blocked16", "all pairs"),
        (graphs.grid, 1000, Card(CARD.shared, 10**4), "floyd_warshall/staged", "10,000 are free on the card"),
        (graphs.sparse, 1000, CARD, "bellman_ford/multi_source_apsp", "all pairs, since 1,000 of 2,500"),
    ],
)
def test_how_many_sources_decides(graph, sources, card, variant, reason, few):
    chosen, why = choose_many(graph(2500), sources, card)
    assert chosen == variant and re.search(reason, why), why


def test_all_pairs_are_chosen_if_they_fit_in_the_hosts_memory(few, with_memory):
    needed = HOST_BYTES * 2500**2
    for free, start in ((needed, "all pairs, since 499 of 2,500"), (needed - 1, "one source after the other, since")):
        with_memory(free)
        assert choose_many(graphs.grid(2500), 499, CARD)[1].startswith(start)


def test_the_choice_knows_what_a_path_of_a_hierarchy_takes_of_shared_memory(streets, few):
    needed = 4 * many_sources.LANES * (elimination.prepare_hierarchy(streets).height + 1)
    assert choose_many(streets, 1000, Card(needed, CARD.free))[0] == "hierarchy/many_sources"
    chosen, why = choose_many(streets, 1000, Card(needed - 1, CARD.free))
    assert chosen != "hierarchy/many_sources", why


def test_many_sources_of_a_graph_without_separators(with_memory, monkeypatch, few):
    """The host has no memory for all pairs; the reason says why there is no hierarchy."""
    with_memory(10**7)
    chosen, why = choose_many(graphs.sparse(10_000), 2000, CARD)
    assert chosen == "delta_stepping/near_far"
    assert "no road network" in why
    monkeypatch.setattr(elimination, "MAX_HEIGHT", 9)
    chosen, why = choose_many(graphs.grid(10_000), 2000, CARD)
    assert chosen == "delta_stepping/near_far"
    assert re.search(r"\d+ vertices high, .* 9:", why), why


def test_without_pymetis_there_is_no_hierarchy(with_memory, monkeypatch, few):
    monkeypatch.setitem(sys.modules, "pymetis", None)  # an import of it fails
    with_memory(10**7)
    chosen, why = choose_many(graphs.grid(10_000), 2000, CARD)
    assert chosen == "delta_stepping/near_far"
    assert "pip install pymetis" in why


def test_a_prepared_hierarchy_pays_sooner(streets, tmp_path, few):
    path = tmp_path / "streets.npz"
    streets.save(path)
    assert choose_many(Graph.load(path), 50, CARD)[0] == "dijkstra/scipy"
    with open(elimination.beside(path), "wb") as file:
        elimination.prepare_hierarchy(streets).write(file, elimination.topology(streets))
    assert choose_many(Graph.load(path), 49, CARD)[0] == "dijkstra/scipy"
    assert choose_many(Graph.load(path), 50, CARD)[0] == "hierarchy/many_sources"
    elimination.beside(path).write_bytes(b"PK")
    with pytest.raises(InputError, match="hierarchy"):
        choose_many(Graph.load(path), 50, CARD)


def test_rows_pay_later_than_what_is_reduced(streets):
    for many, least in zip(choice.BREAK_EVEN, (400, 350, 1100, 400), strict=True):
        assert choose_many(graphs.grid(40_000), least - 1, CARD, many)[0] == "delta_stepping/near_far"
        assert choose_many(graphs.grid(40_000), least, CARD, many)[0] == many


def test_all_pairs_of_a_large_road_network(streets, monkeypatch):
    small = Card(9000, CARD.free)
    assert choose_apsp(streets, small)[0] == "floyd_warshall/blocked16"
    monkeypatch.setattr(choice, "MOST_FOR_BLOCKED", 2500)
    monkeypatch.setattr(many_sources, "LANES", 2)
    assert choose_apsp(streets, small)[0] == "hierarchy/apsp"
    assert choose_apsp(streets, Card(9000, 12 * 2500**2))[0] == "hierarchy/apsp"
    assert choose_apsp(streets, Card(9000, 12 * 2500**2 - 1))[0] == "floyd_warshall/staged"
    assert choose_apsp(graphs.sparse(2500), small)[0].startswith("floyd_warshall/")


def test_rows_by_a_variant(monkeypatch):
    """SciPy's variant stands in for it."""
    graph, asked, key = random_graph(40, 90), [], "bellman_ford/multi_source_apsp"
    variant = VARIANTS[key]

    def function(graph, result, run):
        asked.append(run.source)
        VARIANTS["dijkstra/scipy_apsp"].function(graph, result, run)

    monkeypatch.setitem(VARIANTS, key, dataclasses.replace(variant, function=function, device="cpu"))
    monkeypatch.setattr(searches, "choose_many", lambda *anything: (key, "asked for"))
    sources = [7, 3, 39, 7]
    found = kernels.distances(graph, sources)
    np.testing.assert_array_equal(found.distances, csgraph.dijkstra(graph.to_scipy(), indices=sources))
    assert (found.variant, found.reason) == (key, "asked for")
    assert asked == [0]
    assert_reduced(kernels.eccentricities(graph, sources), graph, sources)


@pytest.fixture
def on_card(small_card):
    """Choose the simulator's card for small graphs, with several levels of fragments and memory for a few sources."""
    small_card(pays_from=2, bytes=2 * 8 * 4 * 70, SMALLEST=8, RATIO=3, PIECE=150)


def town(vertices):
    """Return streets, and two vertices that they do not reach."""
    grid = graphs.grid(vertices)
    arcs = np.r_[grid.tails, vertices], np.r_[grid.indices, 0], np.r_[grid.weights, 0]
    return Graph.from_arcs(vertices + 2, *arcs)


@pytest.mark.simulator
def test_distances_by_a_hierarchy(on_card):
    graph = town(50)
    sources = np.random.default_rng(0).integers(0, 52, 14)
    assert len(np.unique(sources)) < 14
    found = kernels.distances(graph, sources)
    assert found.variant == "hierarchy/many_sources" and "pays off for 12 sources" in found.reason
    expected = csgraph.dijkstra(graph.to_scipy(), indices=sources)
    np.testing.assert_array_equal(found.distances, expected, strict=True)


@pytest.mark.simulator
def test_eccentricities_by_a_hierarchy(on_card):
    graph = town(30)
    for sources in (None, [31, 5, 30, 5]):
        found = kernels.eccentricities(graph, sources)
        assert found.variant == "hierarchy/all_pairs"
        assert_reduced(found, graph, range(32) if sources is None else sources)


@pytest.mark.simulator
@pytest.mark.parametrize("solve", [kernels.eccentricities, lambda graph: kernels.distances(graph, range(4))])
def test_distances_in_a_hierarchy_that_do_not_fit(solve, on_card):
    def path(*weights):
        return Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], weights)

    fits = solve(path(MAX_WEIGHT - 3, 1, 2))
    assert fits.variant.startswith("hierarchy/")
    too_long = path(MAX_WEIGHT - 3, 1, 3)
    found, expected = solve(too_long), csgraph.dijkstra(too_long.to_scipy())
    assert "in float64" in found.reason
    if isinstance(found, Distances):
        np.testing.assert_array_equal(found.distances, expected)
    else:
        assert found.eccentricity.tolist() == [INF, 4, 3, 0] and found.farthest.tolist() == [3, 3, 3, 3]


NAMED = """
import sys, kernels
assert {"centrality", "csgraph", "errors", "generate", "graph", "io", "shortest_paths"} <= set(dir(kernels))
kernels.errors.InputError
assert "numpy" not in sys.modules
kernels.centrality.radius, kernels.csgraph.dijkstra, kernels.graph.Graph, kernels.io.read_graph
assert "numba" not in sys.modules
assert not hasattr(kernels, "nothing")
"""


def test_modules_that_users_name_are_imported_when_they_are_named():
    ran = subprocess.run([sys.executable, "-c", NAMED], cwd=ROOT, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
