"""The paper's CPU variants: its serial listings, compiled by numba and run on one core.

The time limit is tested after each iteration (Bellman-Ford), source (Dijkstra) or intermediate vertex (Floyd-Warshall).
"""

from heapq import heappop, heappush

import numpy as np
from numba import njit

from ..graph import INF, Graph
from ..run import Result, Run


@njit(cache=True)
def _relax_all_arcs(indptr, indices, weights, dist, predecessor):
    for u in range(len(dist)):
        for arc in range(indptr[u], indptr[u + 1]):
            v, w = indices[arc], weights[arc]
            if dist[u] != INF and dist[u] + w < dist[v]:
                dist[v] = dist[u] + w
                predecessor[v] = u


@njit(cache=True)
def _search(matrix, source, dist, predecessor):
    heap = [(np.int64(0), np.int64(source))]
    dist[source] = 0
    while heap:
        _, u = heappop(heap)
        for v in range(len(dist)):
            w = matrix[u, v]
            if w != INF and dist[u] + w < dist[v]:
                dist[v] = dist[u] + w
                predecessor[v] = u
                heappush(heap, (np.int64(dist[v]), np.int64(v)))


@njit(cache=True)
def _relax_all_pairs(k, dist, predecessor):
    n = len(dist)
    for i in range(n):
        for j in range(n):
            if dist[i, k] != INF and dist[k, j] != INF and dist[i, k] + dist[k, j] < dist[i, j]:
                dist[i, j] = dist[i, k] + dist[k, j]
                predecessor[i, j] = predecessor[k, j]


def bellman_ford(graph: Graph, result: Result, run: Run) -> None:
    """Relax all arcs |V| - 1 times, without an early end (section 2.1)."""
    with run.timed(), run.phase("kernels"):
        result.distances.fill(INF)
        result.predecessors.fill(-1)
        result.distances[run.source] = 0
        for _ in range(graph.vertices - 1):
            _relax_all_arcs(graph.indptr, graph.indices, graph.weights, result.distances, result.predecessors)
            run.check_limit()


def dijkstra(graph: Graph, result: Result, run: Run) -> None:
    """Search from every source with a heap over the adjacency matrix (section 2.2).

    As in the paper's listing, a vertex whose distance decreases is pushed again, and outdated entries are not skipped.
    """
    matrix = graph.matrix
    with run.timed(), run.phase("kernels"):
        result.distances.fill(INF)
        result.predecessors.fill(-1)
        for source in range(graph.vertices):
            _search(matrix, source, result.distances[source], result.predecessors[source])
            run.check_limit()


def floyd_warshall(graph: Graph, result: Result, run: Run) -> None:
    """Run three nested loops (section 2.3, Figure 2)."""
    result.distances[:] = graph.matrix
    result.predecessors.fill(-1)
    result.predecessors[graph.tails, graph.indices] = graph.tails
    np.fill_diagonal(result.predecessors, -1)
    with run.timed(), run.phase("kernels"):
        for k in range(graph.vertices):
            _relax_all_pairs(k, result.distances, result.predecessors)
            run.check_limit()


def launches(vertices: int, tile: int) -> int:
    """Return 0: a CPU launches no kernels."""
    return 0
