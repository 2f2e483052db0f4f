"""What SParry's kernels share: launches with one block per source, and finding predecessors.

A block searches from source s, then from source s + number of blocks, and so on. Its threads stride over vertices or
arcs. A thread owns the vertices v with v mod threads equal to its number. Data that only the owner reads and writes
needs no barrier. Distances that several threads write are lowered atomically. The working arrays of a block are in
shared memory if they fit, else in a row of global memory.
"""

from collections.abc import Callable

import numpy as np

from ..gpu.compiler import cuda
from ..graph import INF, Graph
from ..run import Result, Run


@cuda.jit
def find_predecessors(n, first, rows, indptr, indices, weights, dist, predecessor):
    """Set the predecessors of each row; row r belongs to source first + r. Ties: the last writer wins."""
    r, threads = np.uint32(cuda.blockIdx.x), np.uint32(cuda.blockDim.x)
    while r < rows:
        row, source = np.uint32(r * n), np.uint32(first + r)
        v = np.uint32(cuda.threadIdx.x)
        while v < n:
            predecessor[np.uint32(row + v)] = -1
            v = np.uint32(v + threads)
        cuda.syncthreads()
        u = np.uint32(cuda.threadIdx.x)
        while u < n:
            d = dist[np.uint32(row + u)]
            if d != INF:
                arc, end = np.uint32(indptr[u]), np.uint32(indptr[np.uint32(u + 1)])
                while arc < end:
                    v = np.uint32(indices[arc])
                    to_v = dist[np.uint32(row + v)]
                    if v != source and to_v != INF and d == np.int32(to_v - weights[arc]):
                        predecessor[np.uint32(row + v)] = u
                    arc = np.uint32(arc + 1)
            u = np.uint32(u + threads)
        r = np.uint32(r + cuda.gridDim.x)


def drive_blocks(
    graph: Graph, result: Result, run: Run, kernel: Callable, arrays: tuple, work: tuple, *, sources=None, extra=()
) -> None:
    """Fill the rows of `result`, one per source (all vertices by default).

    kernel(in_shared) returns the kernel; in_shared: whether its working arrays are in shared memory. The arguments of
    the kernel are n, first, rows, *extra, *arrays, one working array per dtype in `work` (n items per block), and dist.
    `arrays` and the CSR arrays are copied to the card before the clock starts.
    """
    n = graph.vertices
    sources = range(n) if sources is None else sources
    rows = len(sources)
    blocks = min(rows, run.blocks)
    bytes_of_block = n * sum(np.dtype(dtype).itemsize for dtype in work)
    in_shared = bytes_of_block <= run.shared_limit
    run.require(2 * 4 * rows * n + (0 if in_shared else blocks * bytes_of_block))
    csr = run.upload_untimed(graph.indptr, graph.indices, graph.weights)
    uploaded = run.upload_untimed(*arrays)
    numbers = tuple(map(np.uint32, (n, sources.start, rows)))
    with run.timed():
        with run.phase("copy_in"):
            dist, predecessor = run.allocate((rows * n, np.int32), (rows * n, np.int32))
            scratch = run.allocate(*((1 if in_shared else blocks * n, dtype) for dtype in work))
        with run.phase("kernels"):
            arguments = (*numbers, *extra, *uploaded, *scratch, dist)
            run.launch((kernel(in_shared), blocks, run.block, arguments, bytes_of_block if in_shared else 0))
        with run.phase("predecessors"):
            run.launch((find_predecessors, blocks, run.block, (*numbers, *csr, dist, predecessor)))
        with run.phase("copy_out"):
            run.download((dist, result.distances.ravel()), (predecessor, result.predecessors.ravel()))


def launches(vertices: int, tile: int) -> int:
    """Return the number of launches: one for the search, one for the predecessors."""
    return 2
