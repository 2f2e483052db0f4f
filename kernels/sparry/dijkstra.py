"""Dijkstra from every source on CSR arrays, after SParry's Dijkstra APSP, which has no priority queue.

each block, from its source, until nothing changes
    update: if tentative[v] < dist[v], set dist[v] = tentative[v] and mark v as changed
    each changed vertex u, each arc (u, v, w): tentative[v] = min(tentative[v], dist[u] + w), atomically

Only the owner of v reads and writes dist[v] and the mark of v. Barriers separate updating from relaxing.
"""

from functools import cache

import numpy as np

from ..gpu.compiler import cuda, int32, uint8
from ..graph import INF, Graph
from ..run import Result, Run
from . import block_per_source


@cuda.jit(device=True)
def update(n, tentative, base, changed, offset, dist, row):
    """Lower distances to the tentative distances; return 1 if the distance of a vertex of the thread changed."""
    any_changed = np.int32(0)
    v, threads = np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockDim.x)
    while v < n:
        d = tentative[np.uint32(base + v)]
        less = d < dist[np.uint32(row + v)]
        changed[np.uint32(offset + v)] = less
        if less:
            dist[np.uint32(row + v)] = d
            any_changed = np.int32(1)
        v = np.uint32(v + threads)
    return any_changed


@cache
def search_from_block(in_shared: bool):
    @cuda.jit
    def kernel(n, first, rows, indptr, indices, weights, tentative, changed, dist):  # noqa: PLR0913
        thread, threads = np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockDim.x)
        base = np.uint32(cuda.blockIdx.x * n)
        offset = base
        if in_shared:
            # Numba starts both arrays at byte 0 of dynamic shared memory. So `changed` is used only behind the n words
            # of `tentative`.
            tentative = cuda.shared.array(0, int32)
            changed = cuda.shared.array(0, uint8)
            base = np.uint32(0)
            offset = np.uint32(4 * n)
        r = np.uint32(cuda.blockIdx.x)
        while r < rows:
            row = np.uint32(r * n)
            v = thread
            while v < n:
                tentative[np.uint32(base + v)] = np.int32(0) if v == np.uint32(first + r) else np.int32(INF)
                dist[np.uint32(row + v)] = INF
                v = np.uint32(v + threads)
            while True:
                if not cuda.syncthreads_or(update(n, tentative, base, changed, offset, dist, row)):
                    break
                u = thread
                while u < n:
                    if changed[np.uint32(offset + u)]:
                        d = dist[np.uint32(row + u)]
                        arc, end = np.uint32(indptr[u]), np.uint32(indptr[np.uint32(u + 1)])
                        while arc < end:
                            v, w = np.uint32(base + indices[arc]), weights[arc]
                            if d < np.int32(tentative[v] - w):
                                cuda.atomic.min(tentative, v, np.int32(d + w))
                            arc = np.uint32(arc + 1)
                    u = np.uint32(u + threads)
                cuda.syncthreads()
            r = np.uint32(r + cuda.gridDim.x)

    return kernel


def block_apsp(graph: Graph, result: Result, run: Run) -> None:
    """Search with one block per source and fill `result`, of shape (n, n)."""
    arrays = graph.indptr, graph.indices, graph.weights
    block_per_source.drive_blocks(graph, result, run, search_from_block, arrays, (np.int32, np.uint8))
