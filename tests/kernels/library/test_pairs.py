"""Distances and routes of pairs, and tables with a second value, without a GPU."""

import weakref
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph

import kernels
from kernels.errors import InputError
from kernels.graph import MAX_WEIGHT, Graph
from tests.support import graphs


def with_second(on: Graph) -> np.ndarray:
    return np.random.default_rng(1).integers(1, 100, on.arcs) / 4


GRAPHS = {
    "hierarchy/pairs_host": lambda: graphs.grid(60),
    "dijkstra/scipy": lambda: graphs.sparse(1500),  # no road network
}


pytestmark = pytest.mark.usefixtures("no_card")


@pytest.mark.parametrize("variant", GRAPHS)
def test_pairs_routes_and_tables_agree_with_scipy(variant):
    on = GRAPHS[variant]()
    exact, second = csgraph.dijkstra(on.to_scipy()), with_second(on)
    sources, targets = np.random.default_rng(2).integers(0, on.vertices, (2, 200))
    with kernels.prepare(on) as solver:
        pairs = solver.pair_distances(sources, targets)
        routes = solver.routes(sources, targets, second=second)
        table = solver.distances(sources[:9], targets[:11], second=second, limit=1500)
    assert pairs.variant == routes.variant == table.variant == variant
    np.testing.assert_array_equal(pairs.distances, exact[sources, targets])
    np.testing.assert_array_equal(routes.distances, pairs.distances)
    assert np.isinf(pairs.distances).any() == (variant == "dijkstra/scipy")
    for source, target, total, (distance, vertices, edges) in zip(sources, targets, routes.second, routes, strict=True):
        if np.isinf(distance):
            assert not len(vertices) and not len(edges) and np.isnan(total)
            continue
        assert vertices[0] == source and vertices[-1] == target
        np.testing.assert_array_equal(on.tails[edges], vertices[:-1])
        np.testing.assert_array_equal(on.indices[edges], vertices[1:])
        assert on.weights[edges].sum() == distance and second[edges].sum() == total
    within = np.where(exact <= 1500, exact, np.inf)[np.ix_(sources[:9], targets[:11])]
    np.testing.assert_array_equal(table.distances, within)
    rows = solver_rows(on, sources[:9], targets[:11], second)
    np.testing.assert_array_equal(table.second, np.where(np.isinf(within), np.nan, rows))


def solver_rows(on, sources, targets, second):
    pairs = np.repeat(sources, len(targets)), np.tile(targets, len(sources))
    return kernels.routes(on, *pairs, second=second).second.reshape(len(sources), -1)


@pytest.mark.parametrize("variant", GRAPHS)
def test_routes_obey_turns_and_have_the_edges_that_the_user_knows(variant):
    on = GRAPHS[variant]()
    plain = kernels.routes(on, [0] * 20, range(20, 40))
    middle = [(route.edges[0], route.edges[1]) for route in plain if len(route.edges) > 1]
    turns = kernels.with_turns(on, forbidden=middle, costs={}, u_turns=False)
    found = kernels.routes(turns, [0] * 20, range(20, 40), second=with_second(on))
    np.testing.assert_array_equal(found.distances, kernels.distances(turns, [0], range(20, 40)).distances[0])
    for i, (distance, vertices, edges) in enumerate(found):
        if np.isinf(distance):
            assert not len(vertices) and not len(edges)
            continue
        assert vertices[0] == 0 and vertices[-1] == 20 + i
        np.testing.assert_array_equal(on.tails[edges], vertices[:-1])
        np.testing.assert_array_equal(on.indices[edges], vertices[1:])
        assert on.weights[edges].sum() == distance and with_second(on)[edges].sum() == found.second[i]
        assert not {*pairwise(edges)} & {*middle}


def test_weights_in_float64():
    array = graphs.grid(40).to_scipy() / 3
    found = kernels.routes(array, [0, 3], [30, 3])
    assert found.distances[0] == csgraph.dijkstra(array, indices=0)[30] and found[1].vertices.tolist() == [3]
    assert found[0].vertices[0] == 0 and found[0].vertices[-1] == 30


def test_a_route_of_fractions_has_as_few_edges_as_possible():
    random = np.random.default_rng(7)
    ends = random.integers(0, 30, (2, 90))
    array = sparse.csr_array(sparse.coo_array((random.integers(1, 5, 90) / 4, ends), (30, 30)))
    both = array.copy()
    both.data = both.data + 2.0**-20  # an edge counts less than any difference of lengths
    exact = csgraph.dijkstra(both)
    given = np.indices((30, 30)).reshape(2, -1)
    for route, (source, target) in zip(kernels.routes(array, *given), given.T, strict=True):
        assert np.isinf(route.distance) or route.distance + len(route.edges) * 2.0**-20 == exact[source, target]


def test_a_distance_that_overflows_is_no_path():
    array = np.array([[0, 1e308, 0], [0, 0, 1e308], [0, 0, 0]])
    found = kernels.routes(array, [0, 0], [1, 2], second=[1.0, 1])
    assert found.distances.tolist() == [1e308, np.inf] and found.vertex_start.tolist() == [0, 2, 2]
    np.testing.assert_array_equal(found.second, [1, np.nan])


def test_negative_weights():
    array = np.array([[0, 0.2, 0], [0.3, 0, 0.7], [0, -0.1, 0]])
    found = kernels.routes(array, [0, 0, 2], [1, 2, 0], second=[1.0, 1, 1, 1])
    exact = csgraph.johnson(array)
    np.testing.assert_array_equal(found.distances, exact[[0, 0, 2], [1, 2, 0]])
    assert [route.vertices.tolist() for route in found] == [[0, 1], [0, 1, 2], [2, 1, 0]]
    assert found.second.tolist() == [1, 2, 2]


@pytest.mark.parametrize("directed", [True, False])
def test_a_route_passes_no_vertex_twice_if_arcs_of_weight_0_form_cycles(directed):
    side = np.arange(144).reshape(12, 12)
    tails, heads = np.r_[side[:, :-1].ravel(), side[:-1].ravel()], np.r_[side[:, 1:].ravel(), side[1:].ravel()]
    on = Graph.from_edges(tails, heads, np.zeros(264, int), directed=directed)
    found = kernels.routes(on, [0] * 144, range(144), second=np.ones(264))
    assert found.variant.startswith("hierarchy") == directed
    for route, hops in zip(found, (side // 12 + side % 12).ravel(), strict=True):
        assert len(route.edges) == hops == len(np.unique(route.vertices)) - 1


def test_a_solver_is_freed_after_a_search_between_pairs():
    solver = kernels.Solver(graphs.grid(40))
    solver.routes([0], [3])
    alive = weakref.ref(solver)
    del solver
    assert alive() is None


def test_distances_above_the_integers():
    on = Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [MAX_WEIGHT] * 3)
    found = kernels.pair_distances(on, [0, 0, 3], [1, 3, 0])
    assert found.distances.tolist() == [MAX_WEIGHT, 3 * MAX_WEIGHT, np.inf] and found.variant == "dijkstra/scipy"
    assert kernels.routes(on, [0], [3])[0].vertices.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
def test_types_of_distances(dtype):
    on = sparse.csr_array(([2], ([0], [1])), shape=(2, 2))
    found = kernels.pair_distances(on, [0, 1], [1, 0], dtype=dtype).distances
    assert found.dtype == dtype and found.tolist() == [2, 2**31 - 1 if dtype == "int32" else np.inf]


def test_no_pairs():
    on = graphs.grid(20)
    assert kernels.pair_distances(on, [], []).distances.shape == (0,)
    assert len(kernels.routes(on, [], [])) == 0
    assert kernels.pair_distances(graphs.star(600), [], []).distances.shape == (0,)


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (lambda on: kernels.pair_distances(on, [0, 1], [1]), "2 sources and 1 targets"),
        (lambda on: kernels.pair_distances(on, np.array([0, 1]), np.array([1, 20])), "target 20"),
        (lambda on: kernels.routes(on, np.array([-1]), np.array([1])), "source -1"),
        (lambda on: kernels.routes(on, [0], [1], second=[1.0]), "second"),
        (lambda on: kernels.routes(on, [0], [1], second=np.full(on.arcs, np.inf)), "edge 0"),
        (lambda on: kernels.distances(np.array([[0, -1], [0, 0]]), [0], limit=5, second=[1.0]), "limit"),
        (lambda on: kernels.distances(np.array([[0, 1e39], [0, 0]]), [0], dtype="float32"), "float32"),
        (lambda on: kernels.distances(np.array([[0, -1e39], [0, 0]]), [0], dtype="float32"), "float32"),
        (lambda on: kernels.distances(Graph.from_edges([0], [1], [3e38], unit=1e30), [0], dtype="float32"), "float32"),
        (lambda on: kernels.routes(on, [0], [1], second=["a"] * on.arcs), "second"),
        (lambda on: kernels.routes(on, [0], [1], out="device"), "no GPU"),
    ],
)
def test_wrong_arguments(ask, named):
    with pytest.raises(InputError, match=named):
        ask(graphs.grid(20))
