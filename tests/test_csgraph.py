"""kernels/csgraph.py: SciPy's signatures, answered on the card and by SciPy."""

import functools
import inspect
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph as scipys

from kernels import csgraph, interface
from kernels.csgraph import NegativeCycleError
from kernels.interface import Card
from kernels.run import Run

CARD = Card(shared=232_384, free=140 * 10**9)
FUNCTIONS = [name for name in csgraph.__all__ if name != "NegativeCycleError"]


@pytest.fixture
def on_card(monkeypatch):
    """As if the simulator's card were worth it, with small blocks and memory for a few sources at once."""
    monkeypatch.setattr(Card, "visible", lambda: CARD)
    monkeypatch.setattr(interface, "SMALL", 0)
    monkeypatch.setattr(interface, "SPARSE", 0)
    monkeypatch.setattr(interface, "PIECE", 40)
    monkeypatch.setattr(interface, "Run", functools.partial(Run, block=8, tile=3))


@pytest.fixture
def not_scipy(on_card, monkeypatch):
    """And SciPy answers nothing."""
    monkeypatch.setattr(csgraph, "scipys", SimpleNamespace(csgraph_from_dense=scipys.csgraph_from_dense))


def random_array(n=14, arcs=40, least=0.0):
    random = np.random.default_rng(n)
    weights = random.random(arcs) * 10.0 ** random.integers(-3, 3, arcs)
    weights[:3] = least
    ends = random.permutation(n * n)[:arcs]
    return sparse.csr_array(sparse.coo_array((weights, (ends // n, ends % n)), shape=(n, n)))


def assert_trees(array, found, sources):
    """Each predecessor's distance and one arc make up a vertex's, bit for bit, and lead to a source."""
    for dist, last in zip(*map(np.atleast_2d, found), strict=True):
        led = np.isfinite(dist) & ~np.isin(np.arange(len(dist)), sources)
        np.testing.assert_array_equal(last >= 0, led)
        (vertices,) = np.nonzero(led)
        np.testing.assert_array_equal(dist[last[led]] + array[last[led], vertices], dist[led])
        assert np.isin(csgraph.roots(last, sources)[led], sources).all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_signatures_are_scipys(name):
    assert str(inspect.signature(getattr(csgraph, name))) == str(inspect.signature(getattr(scipys, name)))


@pytest.mark.simulator
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("indices", [None, 3, [[5, -1], [5, 0]]], ids=repr)
def test_float_weights_give_scipys_distances_bit_for_bit(indices, directed, not_scipy):
    array = random_array()
    expected = scipys.dijkstra(array, directed, indices)
    distances, predecessors = csgraph.dijkstra(array, directed, indices, return_predecessors=True)
    np.testing.assert_array_equal(distances, expected, strict=True)
    assert (predecessors.dtype, predecessors.shape) == (np.int32, expected.shape)
    both = sparse.coo_array(array).toarray()
    both[both == 0] = np.inf
    both[sparse.coo_array(array).coords] = array.tocoo().data  # with arcs of weight 0
    arcs = both if directed else np.minimum(both, both.T)
    sources = np.arange(14) if indices is None else np.array(indices).ravel() % 14
    for source, *row in zip(sources, distances.reshape(-1, 14), predecessors.reshape(-1, 14), strict=True):
        assert_trees(arcs, row, [source])
    np.testing.assert_array_equal(csgraph.dijkstra(array, directed, indices), expected, strict=True)
