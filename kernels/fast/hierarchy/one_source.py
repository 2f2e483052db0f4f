"""Distances from one source in a hierarchy.

    d = INF, d[source] = 0
    ascend: each vertex v on the way from the source to its root, each arc to an ancestor a:
        d[a] = min(d[a], d[v] + up(v, a))
    descend: each level, all its cells at once; in a cell all vertices v of a depth at once, each arc to an ancestor a:
        d[v] = min(d[v], d[a] + down(v, a))

A block takes a cell: distances of its boundary and of its own vertices are in shared memory. The threads of a warp
share the arcs of a vertex.
"""

import numpy as np
from numba import cuda, uint32

from kernels.fast.hierarchy import cells as cutting
from kernels.fast.hierarchy.customize import GROUP, NO_PATH, OnCard, add, check_shared, enqueued
from kernels.gpu.card import SIMULATED
from kernels.gpu.intrinsics import i32, thread_x, u32
from kernels.gpu.launching import blocks_for

CELL_THREADS = 3 if SIMULATED else 256  # of a block, where a level has many cells
TOP_THREADS = 3 if SIMULATED else 1024  # and where it has fewer than FEW_CELLS
FEW_CELLS = 264
ALL = 0xFFFFFFFF  # the threads of a warp


@cuda.jit
def start_search(source, ends, depths, rows, path, found):
    """The ancestors of the source, by depth: path[depth] is the row of each; found is INF but for the source's 0.

    source: its number. rows: of each number.
    """
    number = thread_x()
    if number < len(rows):
        row = rows[number]
        if number <= source and source < ends[row]:
            path[depths[row]] = row
    if number < len(found):
        found[number] = u32(0) if number == depths[rows[source]] else NO_PATH


@cuda.jit
def ascend_from(depth, path, depths, start, heads, up, found):
    """The distances found[depth] from the source, which lies at `depth`, to its ancestors: one block.

    Warps take turns, one an ancestor, and load the arcs of their next one while others work.
    """
    distances = cuda.shared.array(0, uint32)
    i = u32(cuda.threadIdx.x)
    while i <= depth:
        distances[i] = found[i]
        i = u32(i + cuda.blockDim.x)
    group, lane = i32(cuda.threadIdx.x // GROUP), i32(cuda.threadIdx.x % GROUP)
    groups = i32(cuda.blockDim.x // GROUP)
    d, mine = i32(depth), i32(depth) - group
    cuda.syncthreads()
    arc = end = start[0]
    to, weight = i32(0), NO_PATH
    if mine >= 0:
        arc, end = start[path[mine]] + lane, start[path[mine] + 1]
        if arc < end:
            to, weight = depths[heads[arc]], up[arc]
    while d >= 0:
        if d == mine:
            here = distances[d]
            while arc < end:
                distances[to] = min(distances[to], add(here, weight))
                arc += GROUP
                if arc < end:
                    to, weight = depths[heads[arc]], up[arc]
            mine -= groups
            if mine >= 0:
                arc, end = start[path[mine]] + lane, start[path[mine] + 1]
                if arc < end:
                    to, weight = depths[heads[arc]], up[arc]
        cuda.syncthreads()
        d -= 1
    i = u32(cuda.threadIdx.x)
    while i <= depth:
        found[i] = distances[i]
        i = u32(i + cuda.blockDim.x)


@cuda.jit(device=True)
def least_of_group(value):
    """The least value of the GROUP threads that share a vertex."""
    if not SIMULATED:
        shift = 16
        while shift > 0:
            value = min(value, u32(cuda.shfl_xor_sync(ALL, i32(value), shift)))
            shift >>= 1
    return value


@cuda.jit
def descend_from(
    source, first, cell_rows, borders, boundary, cell_steps, step_start, order,
    start, places, down, numbers, ends, depths, found, distances,
):  # fmt: skip
    """The distances from one source to the vertices of a level's cells: a block a cell, from the cell `first` on."""
    near = cuda.shared.array(0, uint32)  # of the boundary, then of the cell's rows
    cell = first + cuda.blockIdx.x
    group, lane = u32(cuda.threadIdx.x // GROUP), u32(cuda.threadIdx.x % GROUP)
    groups = u32(cuda.blockDim.x // GROUP)
    border, end = borders[cell], borders[cell + 1]
    i = border + cuda.threadIdx.x
    while i < end:
        near[i - border] = distances[boundary[i]]
        i += cuda.blockDim.x
    base = cell_rows[cell] - (end - border)
    step, last = cell_steps[cell], cell_steps[cell + 1]
    cuda.syncthreads()
    while step < last:
        i = step_start[step] + group
        while i < step_start[step + 1]:
            row = order[i]
            best = NO_PATH
            arc, arcs_end = start[row] + lane, start[row + 1]
            while arc < arcs_end:
                best = min(best, add(near[places[arc]], down[arc]))
                arc += GROUP
            best = least_of_group(best)
            if lane == 0:
                if numbers[row] <= source and source < ends[row]:
                    best = min(best, found[depths[row]])
                near[row - base] = best
                distances[row] = best
            i += groups
        cuda.syncthreads()
        step += 1


class OneSource:
    """What a search from one source needs on the card, besides the hierarchy."""

    def __init__(self, on_card: OnCard):
        self.on_card, run = on_card, on_card.run
        cells, self.steps = on_card.cells, cutting.steps(on_card.cells)
        check_shared(on_card.graph, 4 * self.steps.room, "the largest cell of its elimination tree")
        upload = run.upload_untimed
        self.order, self.step_start, self.cell_steps, self.places = upload(
            self.steps.order, self.steps.start, self.steps.cell_steps, self.steps.places
        )
        self.height = on_card.hierarchy.height
        self.levels = cells.level_cells

    def search(self, source: int, distances):
        """A function that launches the search from a vertex; distances: uint32, (n,), by row, on the card."""
        on, run = self.on_card, self.on_card.run
        cells, n = on.cells, on.graph.vertices
        row = int(cells.vertex_rows[source])
        number, depth = np.uint32(cells.numbers[row]), np.uint32(cells.depths[row])
        path, found = run.allocate((self.height, np.int32), (self.height, np.uint32))
        launches = [
            (
                *(start_search, blocks_for(max(n, self.height), run.block), run.block),
                (number, on.ends, on.depths, on.rows, path, found),
            ),
            (
                *(ascend_from, 1, TOP_THREADS),
                (depth, path, on.depths, on.start, on.heads, on.up, found),
                4 * self.height,
            ),
        ]
        for first, end in zip(self.levels[:-1], self.levels[1:], strict=True):
            if first < end:
                threads = TOP_THREADS if end - first < FEW_CELLS else CELL_THREADS
                launches.append(
                    (
                        *(descend_from, int(end - first), threads),
                        (
                            *(number, np.uint32(first), on.cell_rows, on.borders, on.boundary, self.cell_steps),
                            *(self.step_start, self.order, on.start, self.places, on.down),
                            *(on.numbers, on.ends, on.depths, found, distances),
                        ),
                        4 * self.steps.room,
                    )
                )
        return enqueued(run, *launches)
