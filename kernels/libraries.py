"""CPU libraries, called as a user would call them: SciPy and NetworKit.

    prepare the graph in the library's own form      not timed, like the CSR arrays of a GPU variant
    for each block of sources:
        solve
        write distances and predecessors as int32
        stop if the time limit has passed

All pairs are solved a block of rows at a time, because the libraries return 64-bit numbers: 11 GB for gnutella30. SciPy
runs on one core. NetworKit solves several sources in parallel, on all cores that the process may use.
"""

import os
from collections.abc import Iterator

import numpy as np
from numba import njit, prange
from scipy.sparse import csgraph

from .graph import INF, Graph
from .run import Result, Run

SOURCES_AT_ONCE = 256  # sources in a block


def scipy_dijkstra(graph: Graph, result: Result, run: Run) -> None:
    """Call scipy.sparse.csgraph.dijkstra from one source or all; the same call returns predecessors."""
    prepared = graph.to_integers()
    with run.timed(), run.phase("kernels"):
        for sources, distances, predecessors in _blocks(graph, result, run):
            found = csgraph.dijkstra(prepared, indices=sources, return_predecessors=True)
            _write(*found, distances, predecessors)


def scipy_floyd_warshall(graph: Graph, result: Result, run: Run) -> None:
    """Call scipy.sparse.csgraph.floyd_warshall once; the time limit is tested only after it."""
    prepared = graph.to_integers()
    with run.timed(), run.phase("kernels"):
        found = csgraph.floyd_warshall(prepared, return_predecessors=True)
        _write(*found, result.distances, result.predecessors)
        run.check_limit()


def networkit_dijkstra(graph: Graph, result: Result, run: Run) -> None:
    """Call networkit.distance.SPSP from one source or all, then find predecessors from its distances."""
    import networkit  # imported here because the import takes most of a second

    networkit.setNumberOfThreads(cores())
    arcs = graph.weights.astype(np.float64), (graph.tails.astype(np.uint64), graph.indices.astype(np.uint64))
    prepared = networkit.GraphFromCoo(arcs, n=graph.vertices, weighted=True, directed=True)
    with run.timed():
        for sources, distances, predecessors in _blocks(graph, result, run):
            with run.phase("kernels"):
                solver = networkit.distance.SPSP(prepared, sources)
                solver.run()
                _narrow(solver.getDistances(asarray=True), distances)
            with run.phase("predecessors"):
                _find_predecessors(graph.indptr, graph.indices, graph.weights, sources, distances, predecessors)


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def _blocks(graph: Graph, result: Result, run: Run) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield up to SOURCES_AT_ONCE sources with their rows of distances and predecessors; then test the time limit."""
    sources = np.array([run.source]) if result.distances.ndim == 1 else np.arange(graph.vertices)
    distances, predecessors = np.atleast_2d(result.distances, result.predecessors)
    for start in range(0, len(sources), SOURCES_AT_ONCE):
        rows = slice(start, start + SOURCES_AT_ONCE)
        yield sources[rows], distances[rows], predecessors[rows]
        run.check_limit()


def _write(found_distances, found_predecessors, distances, predecessors) -> None:
    """Store SciPy's results. If there is no path, SciPy has inf and -9999; store INF and -1."""
    distances[:] = np.minimum(found_distances, INF, out=found_distances)
    np.maximum(found_predecessors, -1, out=predecessors)
    predecessors[distances == INF] = -1


@njit(parallel=True, cache=True)
def _narrow(found, distances):
    """Store NetworKit's float64 distances. If there is no path, NetworKit has the largest double; store INF."""
    for row in prange(len(found)):
        for v in range(found.shape[1]):
            distances[row, v] = min(found[row, v], INF)


@njit(parallel=True, cache=True)
def _find_predecessors(indptr, indices, weights, sources, distances, predecessors):
    for row in prange(len(sources)):
        _find_predecessors_from(indptr, indices, weights, sources[row], distances[row], predecessors[row])


@njit(cache=True)
def _find_predecessors_from(indptr, indices, weights, source, dist, predecessor):
    """Set each vertex's predecessor to the tail of an arc whose weight is the difference of the two distances.

    Arcs of weight 0 may form cycles. Therefore they are used last, and only from vertices that have a predecessor.
    """
    n, some_free = len(dist), False
    predecessor[:] = -1
    for u in range(n):
        if dist[u] == INF:
            continue
        for arc in range(indptr[u], indptr[u + 1]):
            v, w = indices[arc], weights[arc]
            some_free |= w == 0
            if w > 0 and v != source and predecessor[v] == -1 and dist[v] != INF and dist[v] - w == dist[u]:
                predecessor[v] = u
    if not some_free:
        return
    queue, count = np.empty(n, np.int32), 0
    for v in range(n):
        if v == source or predecessor[v] != -1:
            queue[count], count = v, count + 1
    at = 0
    while at < count:
        u, at = queue[at], at + 1
        for arc in range(indptr[u], indptr[u + 1]):
            v = indices[arc]
            if weights[arc] == 0 and v != source and predecessor[v] == -1 and dist[v] == dist[u]:
                predecessor[v] = u
                queue[count], count = v, count + 1
