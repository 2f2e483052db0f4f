"""Distances from one source in a hierarchy.

    d = INF, d[source] = 0
    ascend: each vertex v on the way from the source to its root, each arc to an ancestor a:
        d[a] = min(d[a], d[v] + up(v, a))
    descend: each level, all its cells at once; in a cell all vertices v of a depth at once, each arc to an ancestor a:
        d[v] = min(d[v], d[a] + down(v, a))

A block takes a cell: distances of its boundary and of its own vertices are in shared memory. The threads of a warp
share the arcs of a vertex.
"""

from typing import NamedTuple

import numpy as np
from numba import cuda, uint32

from kernels.fast.hierarchy import cells as cutting
from kernels.fast.hierarchy.customize import GROUP, NO_PATH, OnCard, add, check_shared, enqueued
from kernels.fast.near_far import LAUNCH_BOUNDS
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


@cuda.jit(**LAUNCH_BOUNDS)
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


class Row(NamedTuple):
    """A row that a group of threads takes in one step: its arcs for this thread are begin, begin + GROUP ... below end.

    row: -1 where the group has none.
    """

    row: int
    begin: int
    end: int


@cuda.jit(device=True)
def row_of_step(step, steps, group, lane, offsets, order, begins, ends):
    """The group's first row of a step of the cell."""
    if step < steps:
        i = offsets[step] + group
        if i < offsets[step + u32(1)]:
            return Row(order[i], i32(begins[i] + lane), ends[i])
    return Row(i32(-1), i32(0), i32(0))


@cuda.jit(device=True)
def first_arc(row, places, down):
    """The place of the head and the weight of this thread's first arc; INF where it has none."""
    if row.begin < row.end:
        return u32(places[row.begin]), down[row.begin]
    return u32(0), NO_PATH


@cuda.jit(**LAUNCH_BOUNDS)
def descend_from(
    first, depth, room, most, cell_rows, borders, boundary, cell_steps, step_start, order,
    begins, ends, places, down, depths, path, found, distances,
):  # fmt: skip
    """The distances from one source to the vertices of a level's cells: a block a cell, from the cell `first` on.

    depth: of the source. room, most: as in Steps. The rows of the step after the next, and the arcs of the next one,
    are loaded while the threads work on the present one.
    """
    near = cuda.shared.array(0, uint32)  # room words: distances of the boundary, then of the cell's rows
    offsets, way, passed = near[room:], near[room + most + u32(1) :], near[room + most + most + u32(1) :]
    cell = first + cuda.blockIdx.x
    thread, threads = u32(cuda.threadIdx.x), u32(cuda.blockDim.x)
    group, lane, groups = u32(thread // GROUP), i32(thread % GROUP), u32(threads // GROUP)
    border, borders_end = borders[cell], borders[cell + 1]
    i = border + thread
    while i < borders_end:
        near[i - border] = distances[boundary[i]]
        i += threads
    base = cell_rows[cell] - (borders_end - border)
    first_step = cell_steps[cell]
    steps = u32(cell_steps[cell + 1] - first_step)
    top = u32(depths[cell_rows[cell]])
    i = thread
    while i <= steps:  # where each step starts; which row of it is on the way up from the source, and its distance
        offsets[i] = u32(step_start[first_step + i])
        if i < steps:
            way[i] = u32(path[top + i]) if top + i <= depth else NO_PATH
            passed[i] = found[top + i] if top + i <= depth else NO_PATH
        i += threads
    cuda.syncthreads()
    now = row_of_step(u32(0), steps, group, lane, offsets, order, begins, ends)
    place, weight = first_arc(now, places, down)
    following = row_of_step(u32(1), steps, group, lane, offsets, order, begins, ends)
    step = u32(0)
    while step < steps:
        next_place, next_weight = first_arc(following, places, down)
        after = row_of_step(u32(step + u32(2)), steps, group, lane, offsets, order, begins, ends)
        i = offsets[step] + group
        while now.row >= 0:
            best = add(near[place], weight)
            arc = now.begin + GROUP
            while arc < now.end:
                best = min(best, add(near[places[arc]], down[arc]))
                arc += GROUP
            best = least_of_group(min(best, NO_PATH))
            if lane == 0:
                if u32(now.row) == way[step]:
                    best = min(best, passed[step])
                near[now.row - base] = best
                distances[now.row] = best
            i = u32(i + groups)  # more rows than groups: one by one
            now = Row(i32(-1), i32(0), i32(0))
            if i < offsets[step + u32(1)]:
                now = Row(order[i], i32(begins[i] + lane), ends[i])
            place, weight = first_arc(now, places, down)
        cuda.syncthreads()
        now, place, weight, following = following, next_place, next_weight, after
        step = u32(step + u32(1))


class OneSource:
    """What a search from one source needs on the card, besides the hierarchy."""

    def __init__(self, on_card: OnCard):
        self.on_card, run = on_card, on_card.run
        cells, self.steps = on_card.cells, cutting.steps(on_card.cells)
        self.shared = 4 * (self.steps.room + 3 * self.steps.most + 1)
        check_shared(on_card.graph, self.shared, "the largest cell of its elimination tree")
        upload = run.upload_untimed
        steps = self.steps
        self.order, self.begins, self.ends = upload(steps.order, steps.begins, steps.ends)
        self.step_start, self.cell_steps, self.places = upload(steps.start, steps.cell_steps, steps.places)
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
                            *(np.uint32(first), depth, np.uint32(self.steps.room), np.uint32(self.steps.most)),
                            *(on.cell_rows, on.borders, on.boundary, self.cell_steps, self.step_start, self.order),
                            *(self.begins, self.ends, self.places, on.down, on.depths, path, found, distances),
                        ),
                        self.shared,
                    )
                )
        return enqueued(run, *launches)
