"""Bellman-Ford from one source on CSR arrays, after Bodra, section 2.1 and BellmanFord.cu.

    repeat |V| - 1 times
        relax:  for every arc (u, v, w): dist[v] = min(dist[v], previous[u] + w), atomically
        update: previous = dist
    predecessors: for every arc (u, v, w) with dist[u] + w = dist[v]: predecessor[v] = u

relax is a launch, and update is another. The end of a launch is the only barrier. relax reads only `previous`, so an
iteration never sees its own results. The test previous[u] + w < dist[v] is written as previous[u] < dist[v] - w, which
cannot overflow and is false if u is unreached (previous[u] = INF).

Loops count in uint32 with `while`, because numba gives `range` a 64-bit counter.
"""

from collections.abc import Sequence

import numpy as np

from ..gpu.compiler import cuda
from ..gpu.intrinsics import thread_x
from ..gpu.launching import blocks_for
from ..graph import INF, Graph
from ..run import Result, Run


@cuda.jit(device=True)
def relax_arc(u, v, w, previous, dist):
    if previous[u] != INF and previous[u] < np.int32(dist[v] - w):
        cuda.atomic.min(dist, v, np.int32(previous[u] + w))


@cuda.jit(device=True)
def set_predecessor(u, v, w, dist, predecessor):
    # Ties: the last writer wins; every candidate is correct.
    if dist[v] != INF and dist[u] == np.int32(dist[v] - w):
        predecessor[v] = u


@cuda.jit(device=True)
def relax_arcs(u, indptr, indices, weights, previous, dist):
    # The end is read from memory in each iteration to keep the compiler from unrolling the loop. Unrolling costs more
    # than it saves if a vertex has two or three arcs.
    arc = np.uint32(indptr[u])
    while arc < np.uint32(indptr[np.uint32(u + 1)]):
        relax_arc(u, np.uint32(indices[arc]), weights[arc], previous, dist)
        arc = np.uint32(arc + 1)


@cuda.jit(device=True)
def set_predecessors(u, indptr, indices, weights, dist, predecessor):
    arc, end = np.uint32(indptr[u]), np.uint32(indptr[np.uint32(u + 1)])
    while arc < end:
        set_predecessor(u, np.uint32(indices[arc]), weights[arc], dist, predecessor)
        arc = np.uint32(arc + 1)


@cuda.jit
def relax_naive(indptr, indices, weights, previous, dist):
    u = thread_x()
    if u < len(dist):
        relax_arcs(u, indptr, indices, weights, previous, dist)


@cuda.jit
def update_naive(previous, dist):
    v = thread_x()
    if v < len(dist):
        previous[v] = dist[v]


@cuda.jit
def predecessors_naive(indptr, indices, weights, dist, predecessor):
    u = thread_x()
    if u < len(dist):
        set_predecessors(u, indptr, indices, weights, dist, predecessor)


@cuda.jit
def relax_stride(indptr, indices, weights, previous, dist):
    u, stride = thread_x(), np.uint32(cuda.gridsize(1))
    while u < len(dist):
        relax_arcs(u, indptr, indices, weights, previous, dist)
        u = np.uint32(u + stride)


@cuda.jit
def update_stride(previous, dist):
    v, stride = thread_x(), np.uint32(cuda.gridsize(1))
    while v < len(dist):
        previous[v] = dist[v]
        v = np.uint32(v + stride)


@cuda.jit
def predecessors_stride(indptr, indices, weights, dist, predecessor):
    u, stride = thread_x(), np.uint32(cuda.gridsize(1))
    while u < len(dist):
        set_predecessors(u, indptr, indices, weights, dist, predecessor)
        u = np.uint32(u + stride)


@cuda.jit
def relax_stride_flag(indptr, indices, weights, previous, dist, changed):
    u, stride = thread_x(), np.uint32(cuda.gridsize(1))
    while u < len(dist):
        if changed[u]:
            changed[u] = False
            relax_arcs(u, indptr, indices, weights, previous, dist)
        u = np.uint32(u + stride)


@cuda.jit
def update_stride_flag(previous, dist, changed):
    v, stride = thread_x(), np.uint32(cuda.gridsize(1))
    while v < len(dist):
        if previous[v] > dist[v]:
            changed[v] = True
        previous[v] = dist[v]
        v = np.uint32(v + stride)


def naive(graph: Graph, result: Result, run: Run) -> None:
    """Run one thread per vertex (section 2.1.1)."""
    drive(graph, result, run, csr(graph, run), (relax_naive, update_naive, predecessors_naive))


def stride(graph: Graph, result: Result, run: Run) -> None:
    """Run half as many blocks as `naive`; each thread strides over vertices (section 2.1.2)."""
    kernels = relax_stride, update_stride, predecessors_stride
    drive(graph, result, run, csr(graph, run), kernels, divide_blocks_by=2)


def stride_flag(graph: Graph, result: Result, run: Run) -> None:
    """Run Stride, but relax only vertices whose distance has just changed (section 2.1.3)."""
    kernels = relax_stride_flag, update_stride_flag, predecessors_stride
    drive(graph, result, run, csr(graph, run), kernels, divide_blocks_by=2, flagged=True)


def launches(vertices: int, tile: int) -> int:
    """Return the number of launches: two per iteration, and one for the predecessors."""
    return 2 * (vertices - 1) + 1


def csr(graph: Graph, run: Run) -> list:
    """Upload the graph's arrays before the clock starts."""
    return run.upload_untimed(graph.indptr, graph.indices, graph.weights)


def drive(
    graph: Graph, result: Result, run: Run, arcs: Sequence, kernels: tuple, *, divide_blocks_by=1, flagged=False
) -> None:
    """Fill `result`, of shape (n,), with the paths from run.source.

    arcs: the first arguments of the kernels, copied to the card before the clock starts. kernels: relax, update and
    find_predecessors. divide_blocks_by: 1 for one thread per vertex, 2 for half as many blocks. flagged: whether relax
    and update also take an array of flags.
    """
    n, (relax, update, find_predecessors) = graph.vertices, kernels
    blocks = (run.grid if divide_blocks_by > 1 else None) or max(1, blocks_for(n, run.block) // divide_blocks_by)
    start = np.full(n, INF, np.int32)
    start[run.source] = 0
    none = np.full(n, -1, np.int32)
    changed = [start == 0] if flagged else []
    with run.timed():
        with run.phase("copy_in"):
            previous, dist, predecessor, *changed = run.upload(start, start, none, *changed)
        with run.phase("kernels"):
            run.launch(
                (relax, blocks, run.block, (*arcs, previous, dist, *changed)),
                (update, blocks, run.block, (previous, dist, *changed)),
                times=n - 1,
            )
        with run.phase("predecessors"):
            run.launch((find_predecessors, blocks, run.block, (*arcs, dist, predecessor)))
        with run.phase("copy_out"):
            run.download((dist, result.distances), (predecessor, result.predecessors))
