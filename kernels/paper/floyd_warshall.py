"""Floyd-Warshall on the adjacency matrix, after Bodra, section 2.3 and FloydWarshall.cu.

    for k, for i, for j: dist[i, j] = min(dist[i, j], dist[i, k] + dist[k, j])

Matrices are flat, row by row. If the path through k is shorter, its last arc is that of the path from k to j, so
predecessor[i, j] = predecessor[k, j]. In iteration k all threads read row k and column k. This row and this column do
not change in iteration k, because dist[k, k] = 0. The comparison is written as dist[i, k] < dist[i, j] - dist[k, j],
which cannot overflow and is false if dist[i, k] or dist[k, j] is INF. Some kernels first test for INF, only to save
loads from global memory.

Loops count in uint32 with `while`, because numba gives `range` a 64-bit counter, which prevents unrolling.

The tiled variants work in rounds of `tile` intermediate vertices (Venkataraman, Sahni and Mukhopadhyaya, 2003; Katz and
Kider, 2008): first the primary tile, on the diagonal; then the other tiles of its row and its column; then the
remaining tiles. `round_` is the number of the round. fast/blocked_floyd_warshall.py calls the primary tile the diagonal
tile.
"""

from functools import cache, lru_cache

import numpy as np

from ..gpu.compiler import cuda, int32
from ..gpu.intrinsics import thread_x, thread_y
from ..gpu.launching import STEP, blocks_for
from ..graph import INF, Graph
from ..run import Result, Run


@cuda.jit(device=True)
def relax(n, i, j, k, dist, predecessor):
    ij, ik, kj = np.uint32(i * n + j), np.uint32(i * n + k), np.uint32(k * n + j)
    if dist[ik] != INF and dist[kj] != INF and dist[ik] < np.int32(dist[ij] - dist[kj]):
        dist[ij] = np.int32(dist[ik] + dist[kj])
        predecessor[ij] = predecessor[kj]


@cuda.jit
def relax_super_naive(n, k, dist, predecessor):
    i, j = thread_y(), thread_x()
    if i < n and j < n:
        relax(n, i, j, k, dist, predecessor)


@cuda.jit
def relax_super_naive_shared(n, k, dist, predecessor):
    i, j = np.uint32(cuda.blockIdx.y), thread_x()
    kj = np.uint32(k * n + j)
    from_k = dist[kj] if j < n else np.int32(INF)
    lead = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        lead[0] = dist[np.uint32(i * n + k)]
    cuda.syncthreads()
    to_k = lead[0]
    if to_k != INF and from_k != INF:
        ij = np.uint32(i * n + j)
        if to_k < np.int32(dist[ij] - from_k):
            dist[ij] = np.int32(to_k + from_k)
            predecessor[ij] = predecessor[kj]


@cuda.jit
def relax_naive(n, k, dist, predecessor):
    i = thread_x()
    if i < n:
        ik = np.uint32(i * n + k)
        to_k = dist[ik]
        j = np.uint32(0)
        while j < n:
            ij, kj = np.uint32(i * n + j), np.uint32(k * n + j)
            if to_k != INF and dist[kj] != INF and to_k < np.int32(dist[ij] - dist[kj]):
                dist[ij] = np.int32(to_k + dist[kj])
                predecessor[ij] = predecessor[kj]
                to_k = dist[ik]  # read again after a write, as the code of a C++ compiler does
            j = np.uint32(j + 1)


@cuda.jit(device=True)
def relax_tile(n, i, j, primary, wait, dist, predecessor):
    # Every thread of the block calls this, even a thread outside the matrix, so that all threads reach the barrier.
    k, end = primary, min(n, np.uint32(primary + cuda.blockDim.x))
    while k < end:
        if i < n and j < n:
            relax(n, i, j, k, dist, predecessor)
        if wait:
            cuda.syncthreads()
        k = np.uint32(k + 1)


@cuda.jit
def relax_tiled_primary(n, round_, dist, predecessor):
    primary = np.uint32(round_ * cuda.blockDim.x)
    i, j = np.uint32(primary + cuda.threadIdx.y), np.uint32(primary + cuda.threadIdx.x)
    relax_tile(n, i, j, primary, True, dist, predecessor)


@cuda.jit
def relax_tiled_row_and_column(n, round_, dist, predecessor):
    # Blocks (x, 0) are the primary row, (x, 1) the primary column.
    if cuda.blockIdx.x != round_:
        primary = np.uint32(round_ * cuda.blockDim.x)
        other = np.uint32(cuda.blockIdx.x * cuda.blockDim.x)
        top, left = (primary, other) if cuda.blockIdx.y == 0 else (other, primary)
        i, j = np.uint32(top + cuda.threadIdx.y), np.uint32(left + cuda.threadIdx.x)
        relax_tile(n, i, j, primary, True, dist, predecessor)


@cuda.jit
def relax_tiled_remaining(n, round_, dist, predecessor):
    if cuda.blockIdx.x != round_ and cuda.blockIdx.y != round_:
        primary = np.uint32(round_ * cuda.blockDim.x)
        relax_tile(n, thread_y(), thread_x(), primary, False, dist, predecessor)


@cuda.jit(device=True)
def load(n, i, j, values, outside):
    return values[np.uint32(i * n + j)] if i < n and j < n else np.int32(outside)


@cache
def tiled_shared_kernels(tile: int) -> tuple:
    """Return the kernels of the three phases for tiles of tile x tile in shared memory.

    Each shared array has a source line of its own, because the simulator identifies a shared array by its line.
    """
    through = path_finder(tile)
    return primary_kernel(tile), row_and_column_kernel(tile, through), remaining_kernel(tile, through)


def primary_kernel(tile: int):
    """Return the kernel of the first phase."""
    shape = (tile, tile)

    @cuda.jit
    def primary_tile(n, round_, dist, predecessor):
        tile_dist = cuda.shared.array(shape, int32)
        last = cuda.shared.array(shape, int32)
        y, x = np.uint32(cuda.threadIdx.y), np.uint32(cuda.threadIdx.x)
        i, j = np.uint32(round_ * tile + y), np.uint32(round_ * tile + x)
        tile_dist[y, x] = load(n, i, j, dist, INF)
        last[y, x] = load(n, i, j, predecessor, -1)
        cuda.syncthreads()  # the tile is loaded
        k = np.uint32(0)
        while k < tile:
            if tile_dist[y, k] < np.int32(tile_dist[y, x] - tile_dist[k, x]):
                tile_dist[y, x] = np.int32(tile_dist[y, k] + tile_dist[k, x])
                last[y, x] = last[k, x]
            cuda.syncthreads()  # before the next k reads the tile
            k = np.uint32(k + 1)
        if i < n and j < n:
            dist[np.uint32(i * n + j)] = tile_dist[y, x]
            predecessor[np.uint32(i * n + j)] = last[y, x]

    return primary_tile


def path_finder(tile: int):
    """Return a device function that finds the shortest path to j through the vertices of the primary tile.

    The function returns the distance and the tail of the last arc. The primary tile must be final. In the third phase
    the other tiles of the primary tile's row and column must be final too.
    """

    @cuda.jit(device=True)
    def through(n, j, primary, to_k, from_k, shortest, last, predecessor):
        y, x = np.uint32(cuda.threadIdx.y), np.uint32(cuda.threadIdx.x)
        via = n
        k = np.uint32(0)
        while k < tile:
            if to_k[y, k] < np.int32(shortest - from_k[k, x]):
                shortest, via = np.int32(to_k[y, k] + from_k[k, x]), np.uint32(primary + k)
            k = np.uint32(k + 1)
        if via != n:
            last = predecessor[np.uint32(via * n + j)]
        return shortest, last

    return through


def row_and_column_kernel(tile: int, through):
    """Return the kernel of the second phase."""
    shape = (tile, tile)

    @cuda.jit
    def row_and_column_tiles(n, round_, dist, predecessor):
        # The primary tile is final. So one pass over the other tile's values, as loaded, is enough.
        if cuda.blockIdx.x == round_:
            return
        to_k = cuda.shared.array(shape, int32)
        from_k = cuda.shared.array(shape, int32)
        y, x = np.uint32(cuda.threadIdx.y), np.uint32(cuda.threadIdx.x)
        primary, other = np.uint32(round_ * tile), np.uint32(cuda.blockIdx.x * tile)
        top, left = (primary, other) if cuda.blockIdx.y == 0 else (other, primary)
        i, j = np.uint32(top + y), np.uint32(left + x)
        to_k[y, x] = load(n, i, np.uint32(primary + x), dist, INF)
        from_k[y, x] = load(n, np.uint32(primary + y), j, dist, INF)
        shortest, last = load(n, i, j, dist, INF), load(n, i, j, predecessor, -1)
        cuda.syncthreads()  # both tiles are loaded
        shortest, last = through(n, j, primary, to_k, from_k, shortest, last, predecessor)
        cuda.syncthreads()  # in a tile of the primary row, other threads read predecessors that are overwritten now
        if i < n and j < n:
            dist[np.uint32(i * n + j)] = shortest
            predecessor[np.uint32(i * n + j)] = last

    return row_and_column_tiles


def remaining_kernel(tile: int, through):
    """Return the kernel of the third phase."""
    shape = (tile, tile)

    @cuda.jit
    def remaining_tiles(n, round_, dist, predecessor):
        if cuda.blockIdx.x == round_ or cuda.blockIdx.y == round_:
            return
        to_k = cuda.shared.array(shape, int32)
        from_k = cuda.shared.array(shape, int32)
        y, x = np.uint32(cuda.threadIdx.y), np.uint32(cuda.threadIdx.x)
        primary = np.uint32(round_ * tile)
        i, j = np.uint32(cuda.blockIdx.y * tile + y), np.uint32(cuda.blockIdx.x * tile + x)
        to_k[y, x] = load(n, i, np.uint32(primary + x), dist, INF)
        from_k[y, x] = load(n, np.uint32(primary + y), j, dist, INF)
        shortest, last = load(n, i, j, dist, INF), load(n, i, j, predecessor, -1)
        cuda.syncthreads()  # both tiles are loaded
        if i < n and j < n:
            shortest, last = through(n, j, primary, to_k, from_k, shortest, last, predecessor)
            dist[np.uint32(i * n + j)] = shortest
            predecessor[np.uint32(i * n + j)] = last

    return remaining_tiles


def super_naive(graph: Graph, result: Result, run: Run) -> None:
    """Run one thread per pair in blocks of tile x tile threads (section 2.3.1)."""
    tiles = blocks_for(graph.vertices, run.tile)
    _drive(graph, result, run, graph.vertices, (relax_super_naive, (tiles, tiles), (run.tile, run.tile)))


def super_naive_shared(graph: Graph, result: Result, run: Run) -> None:
    """Run one thread per pair; a block lies in one row, and its threads share dist[i, k] (section 2.3.2)."""
    n = graph.vertices
    _drive(graph, result, run, n, (relax_super_naive_shared, (blocks_for(n, run.block), n), run.block))


def naive(graph: Graph, result: Result, run: Run) -> None:
    """Run one thread per row (section 2.3.3)."""
    n = graph.vertices
    _drive(graph, result, run, n, (relax_naive, blocks_for(n, run.block), run.block))


def tiled(graph: Graph, result: Result, run: Run) -> None:
    """Relax tiles in global memory, three launches per round (section 2.3.4)."""
    _drive_tiled(graph, result, run, relax_tiled_primary, relax_tiled_row_and_column, relax_tiled_remaining)


def tiled_shared(graph: Graph, result: Result, run: Run) -> None:
    """Relax tiles in shared memory, three launches per round (section 2.3.5)."""
    _drive_tiled(graph, result, run, *tiled_shared_kernels(run.tile))


def launches(vertices: int, tile: int) -> int:
    """Return the number of launches: one per intermediate vertex."""
    return vertices


def launches_tiled(vertices: int, tile: int) -> int:
    """Return the number of launches: three per round."""
    return 3 * blocks_for(vertices, tile)


@lru_cache(maxsize=1)
def _first_predecessors(graph: Graph) -> np.ndarray:
    """Return the initial predecessors, int32, (n * n,): entry (i, j) is i if there is an arc from i to j, else -1."""
    n = graph.vertices
    matrix = np.full((n, n), -1, np.int32)
    matrix[graph.tails, graph.indices] = graph.tails
    np.fill_diagonal(matrix, -1)
    return matrix.ravel()


def _drive_tiled(graph: Graph, result: Result, run: Run, primary, row_and_column, remaining) -> None:
    tiles, threads = blocks_for(graph.vertices, run.tile), (run.tile, run.tile)
    phases = (primary, (1, 1), threads), (row_and_column, (tiles, 2), threads), (remaining, (tiles, tiles), threads)
    _drive(graph, result, run, tiles, *phases)


def _drive(graph: Graph, result: Result, run: Run, rounds: int, *phases: tuple) -> None:
    """Fill `result`, (n, n), by `rounds` repetitions of the launches `phases`, each (kernel, blocks, threads)."""
    n = graph.vertices
    run.require(n * n * 2 * 4)
    matrix, arcs = graph.matrix.ravel(), _first_predecessors(graph)
    with run.timed():
        with run.phase("copy_in"):
            dist, predecessor = run.upload(matrix, arcs)
        with run.phase("kernels"):
            arguments = (np.uint32(n), STEP, dist, predecessor)
            run.launch(*((*phase, arguments) for phase in phases), times=rounds)
        with run.phase("copy_out"):
            run.download((dist, result.distances.ravel()), (predecessor, result.predecessors.ravel()))
