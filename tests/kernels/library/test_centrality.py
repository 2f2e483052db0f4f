"""kernels.centrality against NetworkX, by SciPy and by a hierarchy in the simulator."""

import functools
import gc
import math
import weakref

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from kernels import centrality
from kernels.errors import InputError
from kernels.fast import probe
from kernels.fast.float_graph import FloatGraph
from kernels.fast.hierarchy import all_pairs
from kernels.graph import MAX_WEIGHT, Graph
from kernels.library import choice, functions, searches, solver
from kernels.library.centrality import _sum
from kernels.library.choice import BreakEven, Card
from kernels.library.solver import Solver
from kernels.run import Run
from tests.support import graphs
from tests.support.trees import CARD

BY_VERTEX = "closeness_centrality", "harmonic_centrality", "eccentricity"
OF_THE_GRAPH = "diameter", "radius", "average_shortest_path_length", "wiener_index"


@pytest.fixture
def no_card(monkeypatch):
    monkeypatch.setattr(Card, "visible", lambda: None)
    monkeypatch.setattr("kernels.library.centrality.last", functions.Last())


@pytest.fixture
def on_card(monkeypatch):
    """Choose a hierarchy in the simulator, with memory for a few sources."""
    monkeypatch.setattr(Card, "visible", lambda: CARD)
    monkeypatch.setattr(searches, "new_run", functools.partial(Run, block=8, tile=3))
    monkeypatch.setattr(probe, "scipy_us", lambda graph: np.inf)  # no graph is narrow
    monkeypatch.setattr(choice, "BREAK_EVEN", dict.fromkeys(choice.BREAK_EVEN, BreakEven(2, 2, 2)))
    monkeypatch.setattr(choice, "LEAST_WORK_FOR_CARD", 0)
    monkeypatch.setattr("kernels.library.centrality.last", functions.Last())
    make = functools.partial(all_pairs.ManySourceSearch, bytes=5000)
    monkeypatch.setattr(
        all_pairs, "ManySourceSearch", lambda *given, **more: make(*given, **more | {"run": Run(block=4)})
    )


def random_graph(seed, vertices=9, arcs=30, low=1):
    random = np.random.default_rng(seed)
    tails, heads = random.integers(0, vertices, (2, arcs))
    return Graph.from_arcs(vertices, tails, heads, random.integers(low, 9, arcs))


def networkx_of(graph, *, directed=True):
    found = (nx.DiGraph if directed else nx.Graph)()
    found.add_nodes_from(range(graph.vertices))
    for u, v, w in zip(graph.tails.tolist(), graph.indices.tolist(), graph.weights.tolist(), strict=True):
        if not found.has_edge(u, v) or found[u][v]["weight"] > w:
            found.add_edge(u, v, weight=w)
    return found


def of_networkx(name, graph, **given):
    """Return NetworkX's result in the form of `centrality`."""
    given["distance" if name.endswith("centrality") else "weight"] = "weight"
    try:
        found = getattr(nx, name).orig_func(graph, **given)
    except nx.NetworkXError:  # not connected
        found = math.inf
    return list(found.values()) if isinstance(found, dict) else found


def assert_networkxs(graph, of=None, **given):
    """Compare all functions. `of`: the graph or solver to pass instead of the graph."""
    theirs, of = networkx_of(graph, **given), graph if of is None else of
    for name in OF_THE_GRAPH:
        expected = of_networkx(name, theirs)
        if name == "radius" and math.isinf(expected):
            continue  # some vertices may reach all others, and NetworkX refuses the graph
        assert math.isclose(getattr(centrality, name)(of, **given), expected, rel_tol=1e-14), name
    for name in BY_VERTEX:
        expected, found = of_networkx(name, theirs), getattr(centrality, name)(of, **given)
        assert found.dtype == np.float64 and found.shape == (graph.vertices,)
        if name != "eccentricity" or not np.isscalar(expected):
            np.testing.assert_allclose(found, expected, rtol=1e-14, err_msg=name)
        some = [vertex for vertex in (2, 0, 2) if vertex < graph.vertices]
        np.testing.assert_allclose(getattr(centrality, name)(of, some, **given), found[some], rtol=1e-14)
    if not math.isinf(centrality.diameter(of, **given)):
        for name in ("center", "periphery"):
            expected = of_networkx(name, theirs)
            assert getattr(centrality, name)(of, **given).tolist() == expected


@pytest.mark.parametrize("arcs", [5, 15, 60])
@pytest.mark.parametrize("low", [0, 1], ids=["some 0", "positive"])
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_networkxs_results(directed, low, arcs, no_card):
    for seed in range(3):
        assert_networkxs(random_graph(seed, arcs=arcs, low=low), directed=directed)


@pytest.mark.parametrize("vertices", [1, 2])
def test_without_arcs(vertices, no_card):
    assert_networkxs(Graph.from_arcs(vertices, [], [], []))
    with pytest.raises(InputError):
        centrality.closeness_centrality(sparse.csr_array((0, 0)))


def test_vertices_that_do_not_reach_all_are_infinitely_eccentric(no_card):
    star = Graph.from_arcs(3, [0, 0], [1, 2], [4, 7])
    assert centrality.eccentricity(star).tolist() == [7, np.inf, np.inf]
    assert (centrality.radius(star), centrality.diameter(star), centrality.wiener_index(star)) == (7, np.inf, np.inf)
    assert (centrality.center(star).tolist(), centrality.periphery(star).tolist()) == ([0], [1, 2])


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_weights_in_float64(directed, no_card):
    whole = random_graph(4)
    graph = FloatGraph(whole.indptr, whole.indices, np.random.default_rng(0).random(whole.arcs))
    theirs, given = networkx_of(graph_with_tails(graph), directed=directed), {"directed": directed}
    for name in ("closeness_centrality", "harmonic_centrality"):
        np.testing.assert_allclose(getattr(centrality, name)(graph, **given), of_networkx(name, theirs), rtol=1e-12)
    assert math.isclose(centrality.wiener_index(graph, **given), of_networkx("wiener_index", theirs), rel_tol=1e-12)


def graph_with_tails(graph):
    """Return the arcs of a FloatGraph as `networkx_of` reads them."""
    rows = sparse.csr_array((graph.weights, graph.indices, graph.indptr), shape=(graph.vertices,) * 2).tocoo()

    class Arcs:
        vertices, tails, indices, weights = graph.vertices, rows.row, rows.col, rows.data

    return Arcs


@pytest.mark.parametrize("sources", [[], [3], [0, 5, 5, 8], range(9)])
@pytest.mark.parametrize("vertices", [None, [], [4], [7, 1, 3, 7, 0, 2]])
def test_harmonic_centrality_from_some_sources(sources, vertices, monkeypatch, no_card):
    monkeypatch.setattr(solver, "PIECE_BYTES", 100)  # two or three rows at once
    graph = random_graph(3)
    all_of = of_networkx("harmonic_centrality", networkx_of(graph), sources=list(sources))
    found = centrality.harmonic_centrality(graph, vertices, sources)
    np.testing.assert_allclose(found, all_of if vertices is None else np.array(all_of)[vertices], rtol=1e-14)


def test_sums_beyond_int64(no_card):
    n = 300
    chain = Graph.from_edges(np.arange(n - 1), np.arange(1, n), np.full(n - 1, 2**22), directed=False)
    assert centrality.wiener_index(chain) == 2**22 * (n**3 - n) // 6
    totals = np.full(4, 2**62, np.int64)
    found = solver.Eccentricities(None, None, None, np.full(4, 4), totals, "", "")
    assert _sum(found, 4) == 2**64


def test_a_solver_keeps_the_reversed_graph_and_frees_it(no_card):
    graph = random_graph(5)
    with Solver(graph) as on:
        assert_networkxs(graph, of=on)
        backward = on._backward
        assert backward is on._backward is not on
    with pytest.raises(InputError, match="closed"):
        centrality.closeness_centrality(on)
    for same in (graph.undirected(), Graph.from_arcs(2, [0, 1], [1, 0], [3, 3])):
        on = Solver(same)
        assert on._backward is on
        seen = weakref.ref(on)
        gc.disable()
        del on
        gc.enable()
        assert seen() is None


@pytest.mark.simulator
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_a_hierarchy_answers(directed, on_card):
    streets = graphs.grid(25)
    some = np.random.default_rng(0).random(streets.arcs) < 0.8  # one-way streets
    graph = Graph.from_arcs(26, streets.tails[some], streets.indices[some], streets.weights[some] // 20)
    on = Solver(graph, directed=directed)
    theirs = networkx_of(graph, directed=directed)
    for name in ("closeness_centrality", "harmonic_centrality"):
        found = getattr(centrality, name)(on)
        np.testing.assert_allclose(found, of_networkx(name, theirs), rtol=1e-14, err_msg=name)
    assert on._backward.eccentricities(reciprocals=True).variant == "hierarchy/all_pairs"
    assert list(on._backward._in_whole_numbers.hierarchy.laid_out) == [True]  # laid out once for both


@pytest.mark.simulator
def test_distances_in_a_hierarchy_that_do_not_fit(on_card):
    path = Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [MAX_WEIGHT - 3, 1, 3])
    found = centrality.harmonic_centrality(path)
    np.testing.assert_allclose(found, of_networkx("harmonic_centrality", networkx_of(path)), rtol=1e-14)
