"""Delta-stepping from every source, one block per source, after SParry's delta-stepping APSP.

    while a vertex is queued
        start = the least distance of a queued vertex, rounded down to a multiple of delta
        the bucket: queued vertices with a distance in [start, start + delta)
        until no vertex of the bucket is queued
            remove each queued vertex u of the bucket
                each light arc (u, v, w), w <= delta: tentative[v] = min(tentative[v], dist[u] + w), atomically
            update: if tentative[v] < dist[v], set dist[v] = tentative[v] and queue v
        for each vertex that was removed from the bucket, once: relax its heavy arcs, w > delta; update

The method is by U. Meyer and P. Sanders (J. Algorithms 49, 2003). Any delta of at least 1 gives the same distances.
Only the owner of v reads and writes dist[v] and the mark of v. Barriers separate relaxing from updating.
"""

from functools import cache

import numpy as np

from ..gpu.compiler import cuda, int32, uint8
from ..graph import INF, Graph
from ..run import Result, Run
from . import block_per_source

QUEUED, REMOVED = 1, 2


def default_delta(graph: Graph) -> int:
    """Return the largest weight divided by the mean out-degree, rounded up, at most INF.

    SParry's pseudocode has no rule for delta. For weights up to 1 and degree d, Meyer and Sanders set delta to 1/d.
    """
    if not graph.arcs:
        return 1
    return min(max(1, -(-int(graph.weights.max()) * graph.vertices // graph.arcs)), INF)


@cuda.jit(device=True)
def relax_arcs(u, d, delta, heavy, indptr, indices, weights, tentative, base):  # noqa: PLR0913
    """Relax the light or the heavy arcs of u."""
    arc, end = np.uint32(indptr[u]), np.uint32(indptr[np.uint32(u + 1)])
    while arc < end:
        v, w = np.uint32(base + indices[arc]), weights[arc]
        if (w > delta) == heavy and d < np.int32(tentative[v] - w):
            cuda.atomic.min(tentative, v, np.int32(d + w))
        arc = np.uint32(arc + 1)


@cuda.jit(device=True)
def queue_source(n, source, tentative, base, marks, offset, dist, row):
    """Queue only the source; return the least distance of a queued vertex that the thread owns, or INF."""
    nearest = np.int32(INF)
    v, threads = np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockDim.x)
    while v < n:
        is_source = v == source
        d = np.int32(0) if is_source else np.int32(INF)
        tentative[np.uint32(base + v)] = d
        dist[np.uint32(row + v)] = d
        marks[np.uint32(offset + v)] = np.uint8(QUEUED if is_source else 0)
        if is_source:
            nearest = np.int32(0)
        v = np.uint32(v + threads)
    return nearest


@cuda.jit(device=True)
def least_of_block(nearest, least):
    """Return the least value of all threads. `least` is one word of shared memory."""
    if cuda.threadIdx.x == 0:
        least[0] = INF
    cuda.syncthreads()
    if nearest != INF:
        cuda.atomic.min(least, 0, nearest)
    cuda.syncthreads()
    return least[0]


@cuda.jit(device=True)
def update_bucket(n, start, delta, tentative, base, marks, offset, dist, row):  # noqa: PLR0913
    """Lower distances to the tentative distances; return 1 if the thread queued a vertex of the bucket."""
    more = np.int32(0)
    v, threads = np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockDim.x)
    while v < n:
        d = tentative[np.uint32(base + v)]
        if d < dist[np.uint32(row + v)]:
            dist[np.uint32(row + v)] = d
            marks[np.uint32(offset + v)] |= QUEUED
            if np.int32(d - start) < delta:
                more = np.int32(1)
        v = np.uint32(v + threads)
    return more


@cuda.jit(device=True)
def update_all(n, tentative, base, marks, offset, dist, row):
    """Lower distances to the tentative distances; return the least one of the thread's queued vertices, or INF."""
    nearest = np.int32(INF)
    v, threads = np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockDim.x)
    while v < n:
        d = tentative[np.uint32(base + v)]
        if d < dist[np.uint32(row + v)]:
            dist[np.uint32(row + v)] = d
            marks[np.uint32(offset + v)] |= QUEUED
        if marks[np.uint32(offset + v)] & QUEUED:
            nearest = min(nearest, d)
        v = np.uint32(v + threads)
    return nearest


@cache
def search_by_buckets(in_shared: bool):
    @cuda.jit
    def kernel(n, first, rows, delta, indptr, indices, weights, tentative, marks, dist):  # noqa: PLR0913
        least = cuda.shared.array(1, int32)
        thread, threads = np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockDim.x)
        base = np.uint32(cuda.blockIdx.x * n)
        offset = base
        if in_shared:
            # Numba starts both arrays at byte 0 of dynamic shared memory. So `marks` is used only behind the n words of
            # `tentative`.
            tentative = cuda.shared.array(0, int32)
            marks = cuda.shared.array(0, uint8)
            base = np.uint32(0)
            offset = np.uint32(4 * n)
        r = np.uint32(cuda.blockIdx.x)
        while r < rows:
            row = np.uint32(r * n)
            nearest = queue_source(n, np.uint32(first + r), tentative, base, marks, offset, dist, row)
            while True:
                lowest = least_of_block(nearest, least)
                if lowest == INF:
                    break
                start = np.int32(lowest - lowest % delta)
                again = True
                while again:
                    u = thread
                    while u < n:
                        d = dist[np.uint32(row + u)]
                        if marks[np.uint32(offset + u)] & QUEUED and np.int32(d - start) < delta:
                            marks[np.uint32(offset + u)] = REMOVED
                            relax_arcs(u, d, delta, False, indptr, indices, weights, tentative, base)
                        u = np.uint32(u + threads)
                    cuda.syncthreads()
                    more = update_bucket(n, start, delta, tentative, base, marks, offset, dist, row)
                    again = cuda.syncthreads_or(more) != 0
                u = thread
                while u < n:
                    if marks[np.uint32(offset + u)] & REMOVED:
                        marks[np.uint32(offset + u)] &= QUEUED
                        d = dist[np.uint32(row + u)]
                        relax_arcs(u, d, delta, True, indptr, indices, weights, tentative, base)
                    u = np.uint32(u + threads)
                cuda.syncthreads()
                nearest = update_all(n, tentative, base, marks, offset, dist, row)
            cuda.syncthreads()  # all threads read the least distance before the next source resets it
            r = np.uint32(r + cuda.gridDim.x)

    return kernel


def block_apsp(graph: Graph, result: Result, run: Run) -> None:
    """Search with one block per source and fill `result`, of shape (n, n).

    run.delta is the width of a bucket; default_delta(graph) if it is None.
    """
    delta = run.delta or default_delta(graph)
    arrays = graph.indptr, graph.indices, graph.weights
    work = np.int32, np.uint8
    block_per_source.drive_blocks(graph, result, run, search_by_buckets, arrays, work, extra=(np.int32(delta),))
