"""Dijkstra from every source.

naive, on the adjacency matrix, after Bodra, section 2.2 and Dijkstra.cu:

    thread `source`, |V| - 1 times
        u = the unvisited vertex of least distance; stop where none is reached
        visit u: relax its row of the matrix

block_apsp, on CSR arrays, after SParry's Dijkstra APSP; it settles a whole front at a time:

    block `source`, until nothing changes
        take over: where reached[v] < dist[v], dist[v] = reached[v] and v is changed
        every changed vertex u, every arc (u, v, w): reached[v] = min(reached[v], dist[u] + w), atomically
"""

from functools import cache

import numpy as np
from numba import cuda, int32, uint8

from kernels import block_per_source
from kernels.device import Result, Run, blocks_for, thread_x
from kernels.graph import INF, Graph


@cuda.jit
def search_from_every_source(n, matrix, visited, dist, predecessor):
    source = thread_x()
    if source >= n:
        return
    row = np.uint32(source * n)
    dist[np.uint32(row + source)] = 0
    for _ in range(n - np.uint32(1)):
        u, least = n, np.int32(INF)
        v = np.uint32(0)
        while v < n:
            here = np.uint32(row + v)
            if not visited[here] and dist[here] < least:
                u, least = v, dist[here]
            v = np.uint32(v + 1)
        if u == n:
            break
        visited[np.uint32(row + u)] = True
        v = np.uint32(0)
        while v < n:
            here = np.uint32(row + v)
            if not visited[here]:
                w = matrix[np.uint32(u * n + v)]
                if w != INF and least < np.int32(dist[here] - w):
                    dist[here] = np.int32(least + w)
                    predecessor[here] = u
            v = np.uint32(v + 1)


def naive(graph: Graph, result: Result, run: Run) -> None:
    """A thread a source, one launch (section 2.2.1). Fills result, (n, n); copies are timed."""
    n = graph.vertices
    run.require(n * n * (3 * 4 + 1))
    matrix = graph.matrix.ravel()
    with run.timed():
        with run.phase("copy_in"):
            matrix, visited, dist, predecessor = run.upload(
                matrix, np.zeros(n * n, np.bool_), np.full(n * n, INF, np.int32), np.full(n * n, -1, np.int32)
            )
        with run.phase("kernels"):
            run.launch(
                (
                    search_from_every_source,
                    blocks_for(n, run.block),
                    run.block,
                    (np.uint32(n), matrix, visited, dist, predecessor),
                )
            )
        with run.phase("copy_out"):
            run.download((dist, result.distances.ravel()), (predecessor, result.predecessors.ravel()))


@cache
def search_from_block(in_shared: bool):
    @cuda.jit
    def kernel(n, first, rows, indptr, indices, weights, reached, changed, dist):
        me, threads = np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockDim.x)
        base = np.uint32(cuda.blockIdx.x * n)
        offset = base
        if in_shared:
            reached = cuda.shared.array(0, int32)
            changed = cuda.shared.array(0, uint8)
            base = np.uint32(0)
            offset = np.uint32(4 * n)
        r = np.uint32(cuda.blockIdx.x)
        while r < rows:
            row = np.uint32(r * n)
            v = me
            while v < n:
                reached[np.uint32(base + v)] = np.int32(0) if v == np.uint32(first + r) else np.int32(INF)
                dist[np.uint32(row + v)] = INF
                v = np.uint32(v + threads)
            while True:
                taken = np.int32(0)
                v = me
                while v < n:
                    d = reached[np.uint32(base + v)]
                    less = d < dist[np.uint32(row + v)]
                    changed[np.uint32(offset + v)] = less
                    if less:
                        dist[np.uint32(row + v)] = d
                        taken = np.int32(1)
                    v = np.uint32(v + threads)
                if not cuda.syncthreads_or(taken):
                    break
                u = me
                while u < n:
                    if changed[np.uint32(offset + u)]:
                        d = dist[np.uint32(row + u)]
                        arc, end = np.uint32(indptr[u]), np.uint32(indptr[np.uint32(u + 1)])
                        while arc < end:
                            v, w = np.uint32(base + indices[arc]), weights[arc]
                            if d < np.int32(reached[v] - w):
                                cuda.atomic.min(reached, v, np.int32(d + w))
                            arc = np.uint32(arc + 1)
                    u = np.uint32(u + threads)
                cuda.syncthreads()
            r = np.uint32(r + cuda.gridDim.x)

    return kernel


def block_apsp(graph: Graph, result: Result, run: Run) -> None:
    """A block a source; fills result, (n, n)."""
    arrays = graph.indptr, graph.indices, graph.weights
    block_per_source.drive(graph, result, run, search_from_block, arrays, (np.int32, np.uint8))


def launches(vertices: int, tile: int) -> int:
    return 1
