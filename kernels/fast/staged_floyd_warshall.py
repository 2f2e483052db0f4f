"""Blocked Floyd-Warshall of a matrix larger than the card's memory: strips are copied to the card and back.

A strip is a few successive rows of tiles. Each strip takes one turn as the pivot strip P. First blocked Floyd-Warshall
runs, on P alone, the rounds whose diagonal tiles lie in P. Then every other strip is copied to the card, relaxed
through P's vertices and copied back. The copies of a strip run while the card computes on another strip. So a turn
copies 2 * 4 * n * n bytes and makes n * n * (rows of P) relaxations.

The card has STRIPS buffers. If there are strips 0 to 6, the turn of pivot strip 2 is

    computed    coming    going    on the card
       2          3         0      0  2  3            the rounds of strip 2 within itself
       3          4         2      2  3  4
       4          5         -      2  3  4  5         3 stays: it is the next pivot strip
       5          6         4      2  3  4  5  6
       6          0         5      0  2  3  5  6
       0          1         6      0  1  2  3  6
       1          -         0      0  1  2  3         nothing comes: 3 is on the card

The columns name the strip on which the card computes, the strip that is copied to the card, and the strip that is
copied to the host. The next turn starts with strip 3, while 4 comes and 1 goes. In the first turn no strip comes from
the host: `initial` fills each strip on the card.

The matrix is the array of the result's distances: n * n words on the host, page-locked during the run. After all turns,
predecessors are found strip by strip, in two pairs of buffers. While the predecessors of one strip are found, the
distances of the next strip come, and the predecessors of the previous strip go.
"""

import numpy as np

from ..gpu.compiler import cuda
from ..gpu.copies import Copies
from ..gpu.launching import STEP, blocks_for
from ..graph import Graph
from ..run import Result, Run
from .blocked_floyd_warshall import ROW_THREADS, TileShape, blocked, find_predecessors, kernels, upload_arcs
from .blocked_floyd_warshall import launches as launches_blocked

MATRIX_PARTS = 4  # at most 1 / MATRIX_PARTS of the matrix is on the card, but a strip has at least one row of tiles
STRIPS = 5  # on the card at a time: the pivot, the next pivot, and the strips that are coming, computed and going


def staged(graph: Graph, result: Result, run: Run) -> None:
    """Search as `blocked` does, with a quarter of the matrix on the card; fill `result`, of shape (n, n).

    If one strip is the whole matrix, call `blocked`.
    """
    shape, n = TileShape.of(run, packed=False), graph.vertices
    height, strips = strips_of(shape, n)
    if strips == 1:
        return blocked(graph, result, run)
    run.require(STRIPS * height * shape.tile * shape.pitch(n) * 4)
    out_arcs, in_arcs = upload_arcs(graph, run)
    run.cuda_graph = True  # the host waits for a strip's launches, not for the concurrent copies
    distances = result.distances.view(np.uint32)
    size = height * shape.tile
    pairs = [(distances[top : top + size], result.predecessors[top : top + size]) for top in range(0, n, size)]
    pinned = cuda.pinned(result.distances), cuda.pinned(result.predecessors)
    with run.timed(), pinned[0], pinned[1], Copies() as copies:  # page-locked until all copies have ended
        with run.phase("copy_in"):
            buffers = run.allocate(*[(size * shape.pitch(n), np.uint32)] * STRIPS)
            (overflow,) = run.upload(np.zeros(1, np.int32))
        with run.phase("kernels"):
            _find_distances(shape, n, out_arcs, [dist for dist, _ in pairs], buffers, copies, run)
        with run.phase("predecessors"):
            _find_predecessors(shape, n, in_arcs, pairs, buffers, overflow, copies, run)
    return None


def launches(vertices: int, tile: int) -> int:
    """Return the number of launches: three a round for the pivot, one for each other strip; two per strip in all."""
    shape = TileShape.of(Run(tile=tile), packed=False)
    tiles, (_, strips) = shape.rounds(vertices), strips_of(shape, vertices)
    return launches_blocked(vertices, tile) if strips == 1 else 3 * tiles + tiles * (strips - 1) + 2 * strips


def strips_of(shape: TileShape, vertices: int) -> tuple[int, int]:
    """Return the rows of tiles in a strip, and the number of strips."""
    tiles = shape.rounds(vertices)
    height = max(1, tiles // (MATRIX_PARTS * STRIPS))
    return height, blocks_for(tiles, height)


def _find_distances(
    shape: TileShape, n: int, out_arcs: list, dist_of: list[np.ndarray], buffers: list, copies: Copies, run: Run
) -> None:
    """Fill `dist_of`, the strips of the matrix on the host."""
    kernel, tiles, strips, pitch = kernels(shape), shape.rounds(n), len(dist_of), np.uint32(shape.pitch(n))
    height, columns, threads = strips_of(shape, n)[0], shape.columns(n), shape.threads
    steps = [(pivot, (pivot + i) % strips) for pivot in range(strips) for i in range(strips)]
    free, on_card = buffers[1:], {0: buffers[0]}
    going = -1  # the strip that was computed in the previous step, if any
    for step, (pivot, strip) in enumerate(steps):
        next_pivot, coming = steps[step + 1] if step + 1 < len(steps) else (pivot, strip)
        if coming not in on_card:
            on_card[coming] = free.pop()
            if pivot > 0:
                copies.to_card(dist_of[coming], on_card[coming], shape.pitch(n))
        if going not in (-1, strip, pivot + 1):
            copies.to_host(on_card[going], dist_of[going], shape.pitch(n))
        rounds, rows = (min(height, tiles - s * height) for s in (pivot, strip))
        arguments = (pitch, np.uint32(pivot * height), STEP, on_card[pivot])
        trailing = kernel.trailing, (columns, shape.blocks(rows)), threads, (*arguments, on_card[strip])
        if pivot == 0:
            first_vertex = np.uint32(strip * height * shape.tile)
            initial = np.uint32(n), pitch, first_vertex, *out_arcs, on_card[strip]
            run.launch((kernel.initial, rows * shape.tile, min(run.block, ROW_THREADS), initial))
        if strip == pivot:
            diagonal = kernel.diagonal, 1, shape.diagonal_side**2, arguments
            panel = kernel.panel, (columns, shape.blocks(1)), threads, arguments
            run.launch(diagonal, panel, trailing, times=rounds)
        else:
            run.launch(trailing, times=rounds)
        copies.wait()
        for done in on_card.keys() - {next_pivot, next_pivot + 1, strip, coming}:
            free.append(on_card.pop(done))
        going = strip
    copies.to_host(on_card[going], dist_of[going], shape.pitch(n))
    copies.wait()


def _find_predecessors(
    shape: TileShape, n: int, in_arcs: list, pairs: list, buffers: list, overflow, copies: Copies, run: Run
) -> None:
    """Fill the predecessors. pairs: the distances and predecessors of each strip, on the host."""
    dist, predecessor, pitch = buffers[:2], [buffer.view(np.int32) for buffer in buffers[2:4]], shape.pitch(n)
    copies.to_card(pairs[0][0], dist[0], pitch)
    copies.wait()
    for strip, (rows, _) in enumerate(pairs):
        this, other = strip % 2, (strip + 1) % 2
        if strip + 1 < len(pairs):
            copies.to_card(pairs[strip + 1][0], dist[other], pitch)
        if strip > 0:
            copies.to_host(predecessor[other], pairs[strip - 1][1], n)
        numbers = np.uint32(n), np.uint32(pitch), np.uint32(strip * len(pairs[0][0]))
        arguments = (*numbers, *in_arcs, dist[this], predecessor[this], overflow)
        run.launch((find_predecessors, len(rows), min(run.block, ROW_THREADS), arguments))
        copies.wait()
    copies.to_host(predecessor[this], pairs[-1][1], n)
    copies.wait()
