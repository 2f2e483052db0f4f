"""Check a result: compare its distances with an oracle, and prove them by the predecessors and the arcs.

The oracle is scipy.sparse.csgraph.dijkstra, in 64 bits; it is never one of the kernels. The proof does not need the
oracle, so it also serves if SciPy itself is measured or would take too long. It has two parts:

    predecessors    they lead from each vertex back to the source, so a path of the given length exists
    arcs            no arc shortens a distance, so no shorter path exists
"""

from functools import lru_cache

import numpy as np
from numba import njit, prange
from scipy.sparse import csgraph, csr_array

from .errors import WrongResult
from .graph import INF, Graph
from .run import Result

BATCH = 256  # rows that the oracle computes at once
PARTS = 1024  # of the vertices, whose arcs the cores look at
MAX_COMPARED = 1 << 28  # arcs: on larger graphs SciPy takes many minutes


def check(
    graph: Graph,
    problem: str,
    result: Result,
    source: int,
    *,
    full_check: int,
    checked_rows: int,
    compared: bool = True,
) -> int:
    """Check rows of the result; return the number of checked rows.

    Check all rows if the graph has at most `full_check` vertices. For all pairs of a larger graph, check the rows of
    `checked_rows` sources, drawn with a fixed seed. compared: whether to compare distances with the oracle in addition
    to the proof; a graph with more than MAX_COMPARED arcs is proved only. Raises WrongResult, which names the first
    wrong entry.
    """
    compared = compared and graph.arcs <= MAX_COMPARED
    n = graph.vertices
    if problem == "sssp":
        sources = np.array([source])
    elif n <= full_check:
        sources = np.arange(n)
    else:
        sources = np.sort(np.random.default_rng(0).choice(n, min(n, checked_rows), replace=False))
    for start in range(0, len(sources), BATCH):
        batch = sources[start : start + BATCH]
        rows = [...] if problem == "sssp" else batch
        expected = oracle(graph, tuple(batch.tolist())) if compared else None
        if len(batch) > 1 and _all_right(graph, batch, expected, result):
            continue
        for i, (s, row) in enumerate(zip(batch.tolist(), rows, strict=True)):
            true = None if expected is None else expected[i]
            _check_row(graph, s, true, result.distances[row], result.predecessors[row])
    return len(sources)


@lru_cache(maxsize=48)  # enough for the batches of 12,000 sources, which repeats check again
def oracle(graph: Graph, sources: tuple[int, ...]) -> np.ndarray:
    """Return the true distances, int32, (len(sources), n); raise WrongResult if one does not fit in int32."""
    exact = csgraph.dijkstra(_scipy(graph), indices=np.array(sources))
    too_long = np.argwhere(np.isfinite(exact) & (exact >= INF))
    if len(too_long):
        row, vertex = too_long[0]
        raise WrongResult(
            f"{graph.name}: the distance from {sources[row]} to {vertex} is {exact[row, vertex]:.0f}, "
            f"more than the {INF - 1} that a distance may be: scale the weights down"
        )
    return np.where(np.isfinite(exact), exact, INF).astype(np.int32)


@lru_cache(maxsize=1)
def _scipy(graph: Graph) -> csr_array:
    return graph.to_integers()


def _all_right(graph: Graph, sources: np.ndarray, expected: np.ndarray | None, result: Result) -> bool:
    """Return whether all given rows of an all-pairs result pass `_check_row`. Runs on all cores."""
    distances = result.distances[sources]
    if expected is not None and not np.array_equal(distances, expected):
        return False
    found = result.predecessors[sources]
    return bool(_rows_right(graph.indptr, graph.indices, graph.weights, sources, distances, found).all())


def _check_row(
    graph: Graph, source: int, expected: np.ndarray | None, distances: np.ndarray, predecessors: np.ndarray
) -> None:
    where = f"{graph.name}, source {source}"
    if expected is not None and len(wrong := np.flatnonzero(distances != expected)):
        v = wrong[0]
        raise WrongResult(f"{where}: distance of vertex {v} is {distances[v]}, the oracle says {expected[v]}")
    if distances[source] != 0:
        raise WrongResult(f"{where}: the distance of the source is {distances[source]}")
    fits = np.zeros(graph.vertices, np.bool_)
    shortened = _look_at_parts(graph.indptr, graph.indices, graph.weights, distances, predecessors, fits)
    if (v := _wrong_predecessor(source, distances, predecessors, fits)) >= 0:
        raise WrongResult(
            f"{where}: predecessor {predecessors[v]} of vertex {v} (distance {distances[v]}) is on no shortest path"
        )
    if (v := shortened) >= 0:
        raise WrongResult(f"{where}: an arc leads to vertex {v} by a shorter path than its distance of {distances[v]}")


@njit(parallel=True, cache=True)
def _rows_right(indptr, indices, weights, sources, distances, predecessors):
    """Return for each row whether the proof holds."""
    right, n = np.zeros(len(sources), np.bool_), len(indptr) - 1
    for i in prange(len(sources)):
        dist, predecessor, fits = distances[i], predecessors[i], np.zeros(n, np.bool_)
        right[i] = (
            dist[sources[i]] == 0
            and _look_at_arcs(indptr, indices, weights, dist, predecessor, 0, n, fits) < 0
            and _wrong_predecessor(sources[i], dist, predecessor, fits) < 0
        )
    return right


@njit(parallel=True, cache=True)
def _look_at_parts(indptr, indices, weights, dist, predecessor, fits):
    """Look at all arcs, on all cores, as `_look_at_arcs` does. Return the largest vertex found, or -1."""
    n, found = len(dist), -1
    for part in prange(PARTS):
        first, end = part * n // PARTS, (part + 1) * n // PARTS
        found = max(found, _look_at_arcs(indptr, indices, weights, dist, predecessor, first, end, fits))
    return found


@njit(cache=True)
def _look_at_arcs(indptr, indices, weights, dist, predecessor, first, end, fits):
    """Return a vertex whose distance an arc from one of the vertices first to end - 1 shortens, or -1.

    Set fits[v] if an arc from predecessor[v] weighs the difference of the distances.
    """
    found = -1
    for u in range(first, end):
        if dist[u] == INF:
            continue
        for arc in range(indptr[u], indptr[u + 1]):
            v, length = indices[arc], np.int64(dist[u]) + weights[arc]
            if length < dist[v]:
                found = max(found, v)
            elif length == dist[v] and predecessor[v] == u:
                fits[v] = True
    return found


@njit(cache=True)
def _wrong_predecessor(source, dist, predecessor, fits):
    """Return the first vertex whose predecessor is wrong or does not lead to the source, or -1."""
    n = len(dist)
    for v in range(n):
        has_none = v == source or dist[v] == INF
        if (has_none and predecessor[v] != -1) or (not has_none and not fits[v]):
            return v
    leads = np.zeros(n, np.bool_)  # whether the predecessors lead to the source
    leads[source] = True
    for v in range(n):
        if dist[v] == INF:
            continue
        u, steps = v, 0
        while not leads[u] and steps < n:
            u, steps = predecessor[u], steps + 1
        if not leads[u]:
            return v
        u = v
        while not leads[u]:
            leads[u] = True
            u = predecessor[u]
    return -1
