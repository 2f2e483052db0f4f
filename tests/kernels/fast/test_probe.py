"""The breadth-first search that decides whether a graph is narrow."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csgraph

from kernels.fast import near_far, near_far_layout, probe
from kernels.fast.probe import Reached
from kernels.graph import Graph
from kernels.run import Run
from tests.support import graphs


def searches_on(graph):
    search = near_far.NearFarSearch(graph, Run(block=64))
    search.allocate()
    return search


def levels_by_scipy(graph, source):
    """Return the number of vertices of each level."""
    hops = csgraph.dijkstra(graph.to_scipy(), indices=source, unweighted=True)
    return np.bincount(hops[np.isfinite(hops)].astype(int))


@pytest.mark.simulator
@pytest.mark.parametrize("source", [0, 3])
@pytest.mark.parametrize("make", [graphs.path, graphs.comb, graphs.grid, graphs.sparse], ids=lambda make: make.__name__)
def test_it_goes_by_levels(make, source, monkeypatch):
    graph, sizes = make(60), levels_by_scipy(make(60), source)
    on = searches_on(graph)
    assert probe.reach(on, source) == Reached(len(sizes), sizes.sum(), False, True)
    monkeypatch.setattr(probe, "LEVELS", 2)
    assert probe.reach(on, source) == Reached(min(2, len(sizes)), sizes[:3].sum(), False, len(sizes) < 3)
    if len(sizes) > 1:
        monkeypatch.setattr(probe, "WIDE_LEVEL", sizes[1])
        assert probe.reach(on, source) == Reached(1, sizes[:2].sum(), True, False)


@pytest.mark.simulator
def test_a_vertex_with_too_many_arcs_for_a_link_is_wide(narrow_rows, monkeypatch):
    monkeypatch.setattr(probe, "WIDE_LEVEL", 1000)
    few, many = graphs.star(3 + near_far_layout.DIRECT), graphs.star(9 + near_far_layout.DIRECT)
    assert probe.reach(searches_on(few), 1)[1:] == (few.vertices, False, True)
    assert probe.reach(searches_on(many), 1)[2:] == (True, False)


@pytest.mark.parametrize(
    ("found", "narrow"),
    [
        (Reached(500, 1001, False, False), True),  # a path both ways
        (Reached(500, 10_000, False, False), False),  # ten times as wide
        (Reached(2, 2, False, True), False),  # a component of two vertices
        (Reached(500, 1000, True, False), False),
    ],
)
def test_what_is_narrow(found, narrow):
    graph = SimpleNamespace(vertices=10**6, arcs=2 * 10**6)
    assert (probe.search_us(graph, found) > probe.scipy_us(graph)) == narrow


@pytest.mark.simulator
def test_it_starts_from_the_vertex_with_most_arcs():
    """A path from vertex 0 alone would be narrow."""
    path, leaves = np.arange(30), np.arange(32, 32 + 2 * probe.WIDE_LEVEL)
    tails, heads = np.r_[path, np.full(len(leaves), 31)], np.r_[path + 1, leaves]
    for some, narrow in ((slice(None), False), (slice(30), True)):
        graph = Graph.from_arcs(leaves[-1] + 1, tails[some], heads[some], np.ones(len(tails[some]), int))
        assert probe.is_narrow(searches_on(graph)) == narrow
