"""Shortest paths with the signatures of scipy.sparse.csgraph: the same arguments, results and errors.

from kernels import csgraph    # instead of: from scipy.sparse import csgraph
    distances, predecessors = csgraph.dijkstra(array, indices=0, return_predecessors=True)
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csgraph as scipys
from scipy.sparse.csgraph import NegativeCycleError

__all__ = ["NegativeCycleError", "bellman_ford", "dijkstra", "floyd_warshall", "johnson", "shortest_path"]


def dijkstra(
    csgraph,
    directed=True,
    indices=None,
    return_predecessors=False,
    unweighted=False,
    limit=np.inf,
    min_only=False,
):
    """As scipy.sparse.csgraph.dijkstra."""
    return scipys.dijkstra(csgraph, directed, indices, return_predecessors, unweighted, limit, min_only)


def bellman_ford(csgraph, directed=True, indices=None, return_predecessors=False, unweighted=False):
    """As scipy.sparse.csgraph.bellman_ford."""
    return scipys.bellman_ford(csgraph, directed, indices, return_predecessors, unweighted)


def johnson(csgraph, directed=True, indices=None, return_predecessors=False, unweighted=False):
    """As scipy.sparse.csgraph.johnson."""
    return scipys.johnson(csgraph, directed, indices, return_predecessors, unweighted)


def floyd_warshall(csgraph, directed=True, return_predecessors=False, unweighted=False, overwrite=False):
    """As scipy.sparse.csgraph.floyd_warshall."""
    return scipys.floyd_warshall(csgraph, directed, return_predecessors, unweighted, overwrite)


def shortest_path(
    csgraph,
    method="auto",
    directed=True,
    return_predecessors=False,
    unweighted=False,
    overwrite=False,
    indices=None,
):
    """As scipy.sparse.csgraph.shortest_path."""
    return scipys.shortest_path(csgraph, method, directed, return_predecessors, unweighted, overwrite, indices)
