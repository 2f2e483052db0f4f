"""Distances and routes between pairs, on the host and in the simulator."""

from functools import cache

import numpy as np
import pytest

from kernels.check import oracle
from kernels.fast.hierarchy import host, hubs
from kernels.fast.hierarchy.customize import OnCard
from kernels.gpu import copies
from kernels.graph import INF, Graph
from kernels.units import Scale
from tests.kernels.fast.test_hierarchy import SHAPES
from tests.support import graphs

NETWORKS = SHAPES | {"weights of 0": lambda: graphs.grid(60, np.arange(3)), "parallel": lambda: graphs.parallel(40)}
pytestmark = pytest.mark.simulator


@cache
def network(name: str) -> Graph:
    return NETWORKS[name]()


@pytest.fixture(params=["grid", "mixed", "roads", "one-way roads", "star", "no arcs", "weights of 0", "parallel"])
def shape(request) -> Graph:
    return network(request.param)


def random_pairs(on: Graph, count: int) -> tuple[np.ndarray, np.ndarray]:
    ends = np.random.default_rng(7).integers(0, on.vertices, (2, count), np.int32)
    ends[1, 0] = ends[0, 0]
    return ends[0], ends[1]


def exact(on: Graph, sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return oracle(on, tuple(range(on.vertices))).astype(np.int64)[sources, targets]


def assert_routes(on: Graph, sources, targets, distances, start, arcs) -> None:
    """Check that the arcs of each route lead from source to target and weigh as much as the distance."""
    np.testing.assert_array_equal(distances, exact(on, sources, targets))
    for i, (source, target) in enumerate(zip(sources, targets, strict=True)):
        route = arcs[start[i] : start[i + 1]]
        if distances[i] == INF or source == target:
            assert not len(route) or on.weights[route].sum() == 0
            continue
        assert np.array_equal(on.tails[route], np.r_[source, on.indices[route[:-1]]])
        assert on.indices[route[-1]] == target and on.weights[route].sum() == distances[i]


def test_routes_on_the_host(shape):
    sources, targets = (ends.ravel() for ends in np.indices((shape.vertices,) * 2)[:, :20])
    search = host.HostHierarchy(shape, shape.weights)
    assert_routes(shape, sources, targets, *search.routes(sources, targets))
    np.testing.assert_array_equal(search.pairs(sources, targets), exact(shape, sources, targets))


def searching(on: Graph) -> hubs.HubSearch:
    run = graphs.Dirty(waits=False, block=8)
    run.filling = graphs.FILLINGS[0]
    return hubs.HubSearch(OnCard(on, run))


def test_distances_of_pairs(shape):
    sources, targets = random_pairs(shape, 60)
    search, distances = searching(shape), exact(shape, sources, targets)
    for most, scale, dtype in ((INF - 1, Scale(1, 1), np.int32), (20, Scale(10, 1), np.float64)):
        (out,) = search.run.allocate((60, dtype))
        none = np.array([INF if dtype == np.int32 else np.inf], dtype)
        unreached, wrong, _ = search.pairs(search.run.upload(sources, targets), scale, none, out, most=most)
        np.testing.assert_array_equal(np.asarray(out), np.where(distances > most, none[0], distances / scale.divisor))
        assert unreached == (distances == INF).any() and not wrong


@pytest.mark.parametrize("end", [-1, 60])
def test_an_end_that_is_no_vertex(end):
    search = searching(network("weights of 0"))
    (out,) = search.run.allocate((2, np.int32))
    ends = search.run.upload(np.array([0, end], np.int32), np.array([1, 2], np.int32))
    assert search.pairs(ends, Scale(1, 1), np.array([INF], np.int32), out)[1]


def test_routes_are_those_of_the_host_and_so_are_the_sums(shape):
    sources, targets = random_pairs(shape, 40)
    search, values = searching(shape), np.random.default_rng(8).integers(1, 9, shape.arcs).astype(float)
    found = search.routes(sources, targets, search.second(values))
    distances, start, arcs = host.HostHierarchy(shape, shape.weights).routes(sources, targets)
    np.testing.assert_array_equal(np.asarray(found.distances), distances)
    np.testing.assert_array_equal(found.edge_start, start)
    np.testing.assert_array_equal(np.asarray(found.edges), arcs)
    for i, total in enumerate(np.asarray(found.second)):
        vertices = np.asarray(found.vertices)[found.vertex_start[i] : found.vertex_start[i + 1]]
        route = arcs[start[i] : start[i + 1]]
        if distances[i] == INF:
            assert np.isnan(total) and not len(vertices)
        else:
            assert total == values[route].sum()
            np.testing.assert_array_equal(vertices, np.r_[sources[i], shape.indices[route]])


@pytest.mark.parametrize("copied", [False, True])
def test_a_table_is_all_pairs_of_its_ends(copied, monkeypatch):
    monkeypatch.setattr(copies, "BUFFER", 80)
    on, downloads = network("one-way roads"), copies.Downloads() if copied else None
    search, values = searching(on), np.ones(on.arcs)
    sources, targets = np.arange(5), np.arange(7, 16)
    (out,) = search.run.allocate((45, np.int32))
    ends = search.run.upload(sources, targets)
    found, hops = np.zeros(45, np.int32), np.zeros(45)
    *_, sums = search.pairs(
        *(ends, Scale(1, 1), np.array([INF], np.int32), out),
        **{"width": 9, "second": search.second(values), "hosts": (found, hops), "downloads": downloads},
    )
    pairs = np.repeat(sources, 9), np.tile(targets, 5)
    np.testing.assert_array_equal(found, exact(on, *pairs))
    right = np.diff(host.HostHierarchy(on, on.weights).routes(*pairs)[1])
    np.testing.assert_array_equal(hops, np.where(found == INF, np.nan, right))
    np.testing.assert_array_equal(np.asarray(out), found)
    np.testing.assert_array_equal(np.asarray(sums), hops)
    (out,) = search.run.allocate((45, np.float64))
    scale, none, distances = Scale(1, 1), np.array([np.inf]), np.zeros(45)
    search.pairs(search.run.upload(*pairs), scale, none, out, hosts=(distances,), downloads=downloads)
    np.testing.assert_array_equal(distances, np.where(found == INF, np.inf, found))


def test_a_tree_of_a_graph_without_a_hierarchy_has_the_fewest_arcs():
    on = network("weights of 0")
    distances = oracle(on, (0,))[0].astype(np.float64)
    last = host.tight_tree(on.indptr, on.indices, on.weights, np.arange(on.arcs), distances, 0)
    hops = np.full(on.vertices, 10**6)
    hops[0] = 0
    for _ in range(on.vertices):
        tight = distances[on.tails] + on.weights == distances[on.indices]
        np.minimum.at(hops, on.indices[tight], hops[on.tails[tight]] + 1)
    for target in np.flatnonzero(np.isfinite(distances)):
        route = host.walk_back(last, on.tails, target)
        assert len(route) == hops[target] and on.weights[route].sum() == distances[target]
