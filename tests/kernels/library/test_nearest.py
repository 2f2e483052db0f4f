"""The nearest of some targets, for some sources and for all vertices."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csgraph

import kernels
from kernels import memory
from kernels.errors import InputError
from kernels.fast.float_graph import FloatGraph
from kernels.fast.hierarchy import nearest as in_hierarchy
from kernels.graph import INF, Graph
from kernels.library import solver
from tests.kernels.library.test_distance_tables import (  # noqa: F401
    FLOATS,
    GRAPHS,
    chain,
    csr,
    drawn,
    on_card,
    table,
)
from tests.support import graphs


def expected(array, sources, targets, k, limit=np.inf):
    """Return the facilities, their distances and the counts by SciPy's distances."""
    n = array.shape[0]
    sources, targets = np.arange(n) if sources is None else np.asarray(sources, int), np.asarray(targets, int)
    first = np.sort(np.unique(targets, return_index=True)[1])
    distances = np.full((len(sources), k + len(first)), np.inf)
    distances[:, : len(first)] = table(array, sources)[:, targets[first]]
    distances[distances > limit] = np.inf
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    distances, counts = np.take_along_axis(distances, order, axis=1), np.zeros(len(targets), int)
    found = np.where(np.isinf(distances), -1, np.r_[targets[first], np.zeros(k, int)][order])
    for vertex in found[:, 0][found[:, 0] >= 0]:
        counts[targets.tolist().index(vertex)] += 1
    return found, distances, counts


def assert_nearest(graph, array, variant):
    n = array.shape[0]
    for i, (targets, sources) in enumerate(
        (ends, some) for ends in (drawn(n, 6), [n - 1], np.arange(n)) for some in (None, drawn(n, 2, 1), [])
    ):
        reverse, k = i % 2 == 1, (1, 3, n + 1)[i % 3]
        for limit in (np.inf, 4.5):
            if limit < np.inf and array.nnz and array.data.min() < 0:
                continue
            found = kernels.nearest(graph, sources, k, targets=targets, limit=limit, reverse=reverse)
            there = array.T.tocsr() if reverse else array
            ends, distances, counts = expected(there, sources, targets, k, limit)
            np.testing.assert_array_equal(found.targets, ends)
            np.testing.assert_array_equal(found.distances, distances)
            np.testing.assert_array_equal(found.counts, counts)
            assert found.sources.tolist() == list(range(n) if sources is None else sources)
            assert found.targets.dtype == np.int32 and found.distances.dtype == np.float64
            assert not variant or found.variant == variant or not len(found.sources)


def as_array(graph):
    return graph.to_scipy() if isinstance(graph, Graph) else graph


@pytest.mark.parametrize("name", [*GRAPHS, *FLOATS])
def test_without_a_card(name, no_card, monkeypatch):
    monkeypatch.setattr(solver, "PIECE_BYTES", 300)
    graph = (GRAPHS | FLOATS)[name]()
    assert_nearest(graph, as_array(graph), "dijkstra/scipy")


@pytest.mark.simulator
@pytest.mark.parametrize("name", GRAPHS)
def test_on_a_card(name, on_card):  # noqa: F811
    graph = GRAPHS[name]()
    if on_card == "hierarchy":
        assert_nearest(graph, as_array(graph), graph.arcs and "hierarchy/nearest")
    else:
        found = kernels.nearest(graph, None, 2, targets=[2, 0])
        ends, distances, counts = expected(as_array(graph), None, [2, 0], 2)
        np.testing.assert_array_equal(found.targets, ends)
        np.testing.assert_array_equal(found.distances, distances)
        np.testing.assert_array_equal(found.counts, counts)
        assert found.variant == "delta_stepping/near_far"


@pytest.mark.simulator
@pytest.mark.parametrize("on_card", ["hierarchy"], indirect=True)
def test_lists_that_do_not_fit_in_shared_memory(on_card, monkeypatch):  # noqa: F811
    graph = GRAPHS["town"]()
    monkeypatch.setattr(in_hierarchy.NearestSearch, "fits", lambda search, k: k < 2)
    for k, variant in ((1, "hierarchy/nearest"), (2, "hierarchy/targets")):
        found = kernels.nearest(graph, None, k, targets=[2, 0, 7])
        np.testing.assert_array_equal(found.targets, expected(graph.to_scipy(), None, [2, 0, 7], k)[0])
        assert found.variant == variant


@pytest.mark.simulator
@pytest.mark.parametrize("on_card", ["hierarchy"], indirect=True)
def test_distances_that_are_too_long(on_card):  # noqa: F811
    graph = chain(*[INF // 2] * 4)
    for sources, reverse in ((None, False), ([0, 4], False), (None, True)):
        found = kernels.nearest(graph, sources, 2, targets=[4, 0], reverse=reverse)
        array = graph.to_scipy().T.tocsr() if reverse else graph.to_scipy()
        np.testing.assert_array_equal(found.distances, expected(array, sources, [4, 0], 2)[1])
        assert "float64" in found.reason


def test_a_limit_for_the_nearest_vertices(no_card):
    graph = GRAPHS["town"]()
    found, within = kernels.nearest(graph, [3, 26], 5, limit=3), csr(graph.to_scipy(), [3, 26], k=5).toarray()
    np.testing.assert_array_equal(found.toarray(), np.where(within <= 3, within, 0))
    assert 2 < found.nnz < 10


def assert_fractions(variant) -> None:
    """Streets with weights of tenths, whose limits are distances."""
    grid = GRAPHS["streets"]()
    names, tenths = np.array([f"v{i}" for i in range(grid.vertices)], object), grid.weights * 0.1
    graph = Graph.from_edges(names[grid.tails], names[grid.indices], tenths)
    place = {name: i for i, name in enumerate(graph.labels)}
    targets = names[[3, 11, 7]]
    ends, array = np.array([place[name] for name in targets]), graph.to_integers()
    for limit in (np.inf, csgraph.dijkstra(array)[2, ends[0]]):
        found = kernels.nearest(graph, None, 2, targets=targets, limit=limit / 10)
        right, distances, counts = expected(array, None, ends, 2, limit)
        np.testing.assert_array_equal(found.distances, distances / 10)
        named = [[None if i < 0 else graph.labels[i] for i in row] for row in right.tolist()]
        assert found.targets.tolist() == named and found.counts.tolist() == counts.tolist()
        assert found.variant == variant or limit < np.inf


def test_fractions_without_a_card(no_card):
    assert_fractions("dijkstra/scipy")


@pytest.mark.simulator
@pytest.mark.parametrize("on_card", ["hierarchy"], indirect=True)
def test_fractions_on_a_card(on_card):  # noqa: F811
    assert_fractions("hierarchy/nearest")


def test_labels(no_card):
    from kernels.network import Labels, Network

    graph = chain(3, 4)
    edges = np.arange(2, dtype=np.int32)
    for names, none in ((np.array(["home", "shop", "park"], object), None), (np.array([10**10, 7, 9]), -1)):
        named = Graph(graph.indptr, graph.indices, graph.weights, network=Network(edges, Labels(names)))
        found = kernels.nearest(named, None, 1, targets=names[[1]])
        assert found.targets.tolist() == [[names[1]], [names[1]], [none]]
        assert found.sources.tolist() == names.tolist()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda graph: kernels.nearest(graph, None, 2),
            "sources=None, all vertices, is for the nearest",
        ),
        (lambda graph: kernels.nearest(graph, None, 2, targets=[99]), "target 99 is not a vertex"),
        (lambda graph: kernels.nearest(graph, None, 0, targets=[1]), "k must be 1 or more, not 0"),
        (lambda graph: kernels.nearest(graph, None, 1, targets=[1], limit=-1), "limit must be a number of 0 or more"),
        (lambda graph: kernels.nearest(FLOATS["negative"](), None, 1, targets=[1], limit=1), "a limit is for weights"),
    ],
)
def test_bad_arguments(ask, message, no_card):
    with pytest.raises(InputError, match=message):
        ask(FloatGraph.of(chain(3, 4)))


@pytest.mark.parametrize(
    ("sources", "count", "k", "reverse"),
    [
        (None, 300, 200, False),
        (np.arange(200), 300, 5, True),
        (np.zeros(3000, int), 20, 20, False),
        (None, 9, 1, False),
    ],
)
def test_tables_take_no_more_memory_than_is_asked_for(sources, count, k, reverse, no_card, monkeypatch):
    asked, require, graph = [], memory.require, graphs.sparse(1000)
    monkeypatch.setattr(memory, "require", lambda needed, *said: asked.append(needed) or require(needed, *said))
    with kernels.prepare(graph) as searching:
        for _ in range(2):  # the first call imports what it needs, and may lay out the reversed graph
            tracemalloc.start()
            searching.nearest(sources, k, targets=np.arange(count), reverse=reverse)
            taken = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    assert 0.5 * max(asked) < taken < max(asked)
