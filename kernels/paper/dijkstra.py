"""Dijkstra from every source on the adjacency matrix, after Bodra, section 2.2 and Dijkstra.cu.

each thread, from its source, |V| - 1 times
    u = the unvisited vertex with the least distance; stop if there is none
    visit u: relax its row of the matrix

A thread writes only to its source's row of visited, dist and predecessor, and no other thread reads this row.
"""

import numpy as np

from ..gpu.compiler import cuda
from ..gpu.intrinsics import thread_x
from ..gpu.launching import blocks_for
from ..graph import INF, Graph
from ..run import Result, Run


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
    """Search with one thread per source in one launch (section 2.2.1) and fill `result`, of shape (n, n)."""
    n = graph.vertices
    run.require(n * n * (3 * 4 + 1))
    matrix = graph.matrix.ravel()
    with run.timed():
        with run.phase("copy_in"):
            matrix, visited, dist, predecessor = run.upload(
                matrix, np.zeros(n * n, np.bool_), np.full(n * n, INF, np.int32), np.full(n * n, -1, np.int32)
            )
        with run.phase("kernels"):
            arguments = np.uint32(n), matrix, visited, dist, predecessor
            run.launch((search_from_every_source, blocks_for(n, run.block), run.block, arguments))
        with run.phase("copy_out"):
            run.download((dist, result.distances.ravel()), (predecessor, result.predecessors.ravel()))


def launches(vertices: int, tile: int) -> int:
    return 1
