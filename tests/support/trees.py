"""A card to choose for, checks of trees of shortest paths by the graph's arcs, and counted reads of arcs."""

import numpy as np

from kernels.graph import INF
from kernels.library import csgraph
from kernels.library.choice import Card

CARD = Card(shared=232_384, free=140 * 10**9)
# Modules of variants whose predecessors lead to the source even if arcs of weight 0 form circles (docs/errata.md,
# "Arcs without weight").
ZERO_WEIGHTS = {
    *("kernels.paper.serial", "kernels.paper.dijkstra", "kernels.paper.floyd_warshall", "kernels.libraries"),
    *(f"kernels.fast.{name}" for name in ("blocked_floyd_warshall", "staged_floyd_warshall", "multi_source")),
    *("kernels.fast.near_far", "kernels.fast.hierarchy.variants"),
}


def allows_zero_weights(variant):
    return variant.function.__module__ in ZERO_WEIGHTS


def with_scipys_fills(result):
    """Return distances and predecessors with inf and -9999 if there is no path."""
    distances, predecessors = result.distances, result.predecessors
    return np.where(distances == INF, np.inf, distances), np.where(predecessors == -1, -9999, predecessors)


def lengths(array, directed):
    """Return the matrix of the arcs' weights, infinite if there is no arc."""
    matrix = np.full(array.shape, np.inf)
    np.fmin.at(matrix, array.tocoo().coords, array.tocoo().data)
    return matrix if directed else np.minimum(matrix, matrix.T)


def assert_trees(arcs, sources, distances, predecessors, exact=True):
    """Check that predecessors lead to the row's source, or one of its sources, by arcs that make up the distances.

    arcs: of `lengths`. exact: bit for bit, else within rounding.
    """
    compare = np.testing.assert_array_equal if exact else np.testing.assert_allclose
    vertices = np.arange(len(arcs))
    rows = distances.reshape(-1, len(arcs)), predecessors.reshape(-1, len(arcs))
    for source, dist, last in zip(sources, *rows, strict=True):
        led = np.isfinite(dist) & ~np.isin(vertices, source)
        np.testing.assert_array_equal(last >= 0, led)
        assert (last[~led] == -9999).all()
        compare(dist[last[led]] + arcs[last[led], vertices[led]], dist[led])
        assert np.isin(csgraph.roots(last, np.atleast_1d(source))[led], source).all()


class Counted(np.ndarray):
    """An array that counts reads of single entries. reads: of all such arrays, since the test set it to 0."""

    reads = 0

    def __getitem__(self, at):
        Counted.reads += 1
        return super().__getitem__(at)
