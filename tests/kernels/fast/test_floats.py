"""kernels/fast/floats.py: weights in float64, scaled, searched, and made positive by potentials."""

import numpy as np
import pytest
from scipy.sparse import csgraph
from scipy.sparse.csgraph import NegativeCycleError

from kernels.fast import floats
from kernels.fast.floats import Float64Search, FloatGraph
from kernels.graph import INF, Graph
from kernels.run import Run
from tests.support import graphs, trees

RUN = {"block": 8}
FUNCTIONS = {
    "unit": lambda random, m: random.random(m),
    "wide": lambda random, m: random.random(m) * 10.0 ** random.integers(-300, 300, m),
    "subnormal": lambda random, m: random.integers(0, 9, m) * 5e-324,
    "largest": lambda random, m: np.full(m, np.finfo(np.float64).max / 20),
    "zeros": lambda random, m: np.where(random.random(m) < 0.6, 0, random.random(m)),
    "lost": lambda random, m: np.where(random.random(m) < 0.6, 1, 1e17),  # 1 is lost beside 1e17
    "zero": lambda random, m: np.zeros(m),
    "one large": lambda random, m: np.r_[1e30, random.random(m - 1)],
    "64 bits": lambda random, m: random.integers(1, 2**40, m).astype(np.float64),
    "whole": lambda random, m: random.integers(1, 9, m).astype(np.float64),  # a bound is a distance, but for its margin
}


def float_graph(vertices, tails, heads, weights):
    """Arcs of one vertex keep their order."""
    graph = Graph.from_arcs(vertices, tails, heads, np.arange(len(weights)))
    return FloatGraph(graph.indptr, graph.indices, np.asarray(weights, np.float64)[graph.weights])


def random_graph(weights, n=12, m=40):
    random = np.random.default_rng(n)
    return float_graph(n, *random.integers(0, n, (2, m)), FUNCTIONS[weights](random, m))


def tails(graph):
    return np.repeat(np.arange(graph.vertices), np.diff(graph.indptr))


def whole_distances(graph, sources):
    """Return distances in graph.scaled, as a variant does."""
    return np.minimum(csgraph.dijkstra(graph.scaled.to_scipy(), indices=sources), INF).astype(np.int32)


def assert_trees(graph, found, sources):
    trees.assert_trees(trees.lengths(graph.to_scipy(), True), sources, found.dist, found.predecessors)


@pytest.mark.parametrize("weights", FUNCTIONS)
def test_scaled_weights_are_whole_and_no_path_is_too_long(weights):
    graph = random_graph(weights)
    exact = np.ldexp(graph.weights, graph.exponent)
    whole = graph.scaled.weights
    assert whole.dtype == np.int32 and (whole >= exact).all() and (whole <= exact + 1).all()
    np.testing.assert_array_equal(whole == 0, graph.weights == 0)
    largest = [whole[a:b].max(initial=0) for a, b in zip(graph.indptr[:-1], graph.indptr[1:], strict=True)]
    assert sum(map(int, largest)) < INF
    if weights != "zero":
        assert sum(map(int, largest)) > 0.4 * INF  # no coarser than it has to be


@pytest.mark.parametrize("weights", FUNCTIONS)
@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.simulator
def test_distances_are_scipys_bit_for_bit_and_predecessors_are_trees(weights, bounded):
    graph, sources = random_graph(weights), np.array([0, 7, 3])
    searches = Float64Search(graph, Run(**RUN))
    whole = whole_distances(graph, sources) if bounded else None
    result = searches.search(12 * np.arange(3) + sources, 3, whole)
    expected = csgraph.dijkstra(graph.to_scipy(), indices=sources)
    np.testing.assert_array_equal(result.dist, expected, strict=True)
    assert_trees(graph, result, sources)
    assert result.rounds >= 3
    assert searches.search([0], 1, tree=False).predecessors is None


@pytest.mark.simulator
def test_nothing_beyond_a_limit_is_searched():
    v = np.arange(30)
    graph = float_graph(31, np.r_[v, v], np.r_[v + 1, v + 1], np.r_[np.full(30, 0.1), np.full(30, 9.0)])
    searches, exact = Float64Search(graph, Run(**RUN)), np.cumsum(np.r_[0, np.full(30, 0.1)])
    for limit, reached in ((exact[3], 4), (np.nextafter(exact[3], 0), 3), (0, 1), (np.inf, 31)):
        result = searches.search([0], 1, limit=limit)
        np.testing.assert_array_equal(result.dist[0], np.where(np.arange(31) < reached, exact, np.inf))
        not_reached = [floats.SOURCE] * (31 - reached)
        assert result.predecessors[0].tolist() == [floats.SOURCE, *range(reached - 1), *not_reached]
        assert result.rounds == reached


@pytest.mark.parametrize("make", [graphs.free_cycles, graphs.free_hubs])
@pytest.mark.simulator
def test_arcs_of_weight_zero_form_no_circle(make):
    graph = FloatGraph.of(make(32))
    result = Float64Search(graph, Run(**RUN)).search([0], 1)
    np.testing.assert_array_equal(result.dist[0], csgraph.dijkstra(graph.to_scipy(), indices=0))
    assert_trees(graph, result, [0])


@pytest.mark.simulator
def test_only_a_vertex_with_a_predecessor_becomes_one():
    """1 and 2 have arcs of weight 0 to each other; 2 is reached from 3, a higher number."""
    graph = float_graph(4, np.array([0, 3, 2, 1]), np.array([3, 2, 1, 2]), np.array([1.0, 0, 0, 0]))
    result = Float64Search(graph, Run(**RUN)).search([0], 1)
    assert result.predecessors.tolist() == [[floats.SOURCE, 2, 3, 0]]


def with_potentials(n=12, m=40):
    """Return a graph with positive and negative weights and without negative cycles."""
    random = np.random.default_rng(5)
    height, ends = random.normal(size=n) * 100, random.integers(0, n, (2, m))
    return float_graph(n, *ends, random.random(m) + height[ends[1]] - height[ends[0]])


@pytest.mark.simulator
def test_potentials_leave_no_weight_below_zero():
    graph = with_potentials()
    assert (graph.weights < 0).sum() > 5
    potential = Float64Search(graph, Run(**RUN)).potentials()
    assert (potential <= 0).all()
    assert (potential[tails(graph)] + graph.weights >= potential[graph.indices]).all()
    changed = floats.reweighted(graph, potential)
    assert (changed.weights >= 0).all()
    np.testing.assert_allclose(changed.weights, graph.weights + potential[tails(graph)] - potential[graph.indices])


@pytest.mark.parametrize("last", [0.7, 0.7 - 1e-14, 0.5])
@pytest.mark.simulator
def test_a_negative_cycle_is_refused_as_scipy_refuses_it(last):
    """0.2 - 0.9 + 0.7 is 0 except for rounding errors, by which each round lowers a distance."""
    graph = float_graph(4, np.array([3, 0, 1, 2]), np.array([0, 1, 2, 0]), np.array([1.0, 0.2, -0.9, last]))
    searches = Float64Search(graph, Run(**RUN))
    if last == 0.7:
        csgraph.johnson(graph.to_scipy())
        assert (floats.reweighted(graph, searches.potentials()).weights >= 0).all()
    else:
        for solve in (searches.potentials, lambda: csgraph.johnson(graph.to_scipy())):
            with pytest.raises(NegativeCycleError, match="Negative cycle detected"):
                solve()


@pytest.mark.simulator
def test_a_graph_without_arcs():
    graph = FloatGraph.of(Graph.from_arcs(2, [], [], []))
    result = Float64Search(graph, Run(**RUN)).search([1], 1, whole_distances(graph, [1]))
    assert result.dist.tolist() == [[np.inf, 0]] and result.rounds == 1
