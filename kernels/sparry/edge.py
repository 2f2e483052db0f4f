"""Edge-parallel relaxation, one block per source, after SParry's edge SSSP and APSP.

    until nothing changes
        each arc (u, v, w): dist[v] = min(dist[v], dist[u] + w), atomically

If the graph is undirected, only one arc of each pair is kept, and it is relaxed in both directions. The arcs of a
directed graph are relaxed in their own direction only. A thread may read dist[u] just before another thread lowers it.
This causes another round, so the old value costs time but never gives a wrong result.
"""

from functools import cache

import numpy as np

from ..gpu.compiler import cuda, int32
from ..graph import INF, Graph
from ..run import Result, Run
from . import block_per_source


@cuda.jit(device=True)
def relax(dist, base, u, v, w):
    """Relax the arc from u to v; return whether it lowered the distance of v."""
    d = dist[np.uint32(base + u)]
    there = np.uint32(base + v)
    return d < np.int32(dist[there] - w) and np.int32(d + w) < cuda.atomic.min(dist, there, np.int32(d + w))


@cache
def relax_edges(in_shared: bool, both_ways: bool):
    @cuda.jit
    def kernel(n, first, rows, tails, heads, weights, work, dist):
        r, threads = np.uint32(cuda.blockIdx.x), np.uint32(cuda.blockDim.x)
        while r < rows:
            row = np.uint32(r * n)
            if in_shared:
                here = cuda.shared.array(0, int32)
                base = np.uint32(0)
            else:
                here = dist
                base = row
            v = np.uint32(cuda.threadIdx.x)
            while v < n:
                here[np.uint32(base + v)] = np.int32(0) if v == np.uint32(first + r) else np.int32(INF)
                v = np.uint32(v + threads)
            cuda.syncthreads()
            changed = True
            while changed:
                lowered = np.int32(0)
                arc = np.uint32(cuda.threadIdx.x)
                while arc < len(tails):
                    u, v, w = np.uint32(tails[arc]), np.uint32(heads[arc]), weights[arc]
                    if relax(here, base, u, v, w):
                        lowered = np.int32(1)
                    if both_ways and relax(here, base, v, u, w):
                        lowered = np.int32(1)
                    arc = np.uint32(arc + threads)
                changed = cuda.syncthreads_or(lowered) != 0
            if in_shared:
                v = np.uint32(cuda.threadIdx.x)
                while v < n:
                    dist[np.uint32(row + v)] = here[v]
                    v = np.uint32(v + threads)
            r = np.uint32(r + cuda.gridDim.x)

    return kernel


def sssp(graph: Graph, result: Result, run: Run) -> None:
    """Search with one block from run.source and fill `result`, of shape (n,)."""
    _drive(graph, result, run, range(run.source, run.source + 1))


def apsp(graph: Graph, result: Result, run: Run) -> None:
    """Search with one block per source and fill `result`, of shape (n, n)."""
    _drive(graph, result, run)


def _drive(graph: Graph, result: Result, run: Run, sources: range | None = None) -> None:
    arcs = np.stack([graph.tails, graph.indices, graph.weights])
    if not graph.directed:
        arcs = arcs[:, graph.tails <= graph.indices]
    block_per_source.drive_blocks(
        graph,
        result,
        run,
        lambda in_shared: relax_edges(in_shared, not graph.directed),
        tuple(map(np.ascontiguousarray, arcs)),
        (np.int32,),
        sources=sources,
    )
