"""Distances from one source in a hierarchy.

    d = INF, d[source] = 0
    ascend: each vertex v on the way from the source to its root, each arc to an ancestor a:
        d[a] = min(d[a], d[v] + up(v, a))
    descend: each level, all its cells at once; in a cell one band of depths after the other, all vertices v of it:
        b[v] = min(d[v], d[a] + down(v, a)) over the ancestors a above the band
        d[v] = min(b[v], b[u] + closure(v, u)) over the ancestors u in the band

d is the distance from the source; up and down are an arc's weights towards the ancestor and from it. closure(v, u) is
the distance from the ancestor u down to v by vertices of their band alone, found when weights are customized: so a band
takes two steps instead of one for each depth. In the last level, whose cells are small and many, a band is one depth
and takes one step.

A block takes a cell; in the last level a block is one warp. Distances of the cell's boundary and of its own vertices
are in shared memory. Several threads share the arcs of a vertex. A row is a vertex, numbered as in cells.py; an entry
is what one step does for a row.
"""

from functools import cache
from itertools import pairwise

import numpy as np
from numba import cuda, uint32

from kernels.fast.hierarchy import cells as cutting
from kernels.fast.hierarchy.customize import GROUP, NO_PATH, OnCard, add, check_shared
from kernels.gpu import card
from kernels.gpu.card import SIMULATED
from kernels.gpu.intrinsics import i32, u32, u64
from kernels.gpu.launching import enqueued
from kernels.gpu.vectors import loader
from kernels.graph import Graph
from kernels.run import Run

LAST_GROUP, LAST_THREADS = (1, 3) if SIMULATED else (4, 32)  # in the last level, and threads of a block there
CELL_THREADS = 3 if SIMULATED else 256  # of a block, where another level has many cells
TOP_THREADS = 3 if SIMULATED else 1024  # and where it has fewer than FEW_CELLS
FEW_CELLS = 528
PATH_GROUP = 1 if SIMULATED else 256  # threads that share the arcs of one ancestor of the source
BAND_THREADS = 3 if SIMULATED else 256
BOUNDS = {} if SIMULATED else {"launch_bounds": TOP_THREADS}
LAST_BOUNDS = {} if SIMULATED else {"launch_bounds": (LAST_THREADS, 32)}
ALL = 0xFFFFFFFF  # the threads of a warp


@cuda.jit(**BOUNDS)
def close_bands(arcs, bands, depth_start, order, closure_start, inner, depths, start, heads, down):
    """Find the closures of all bands and store them in `down`, behind the arcs. A block takes a band, depth by depth.

    Of a row's closures the one at i is from its ancestor i depths below the top of the band.
    """
    band = cuda.blockIdx.x
    group, lane = u32(cuda.threadIdx.x // GROUP), i32(cuda.threadIdx.x % GROUP)
    groups = u32(cuda.blockDim.x // GROUP)
    d = bands[band]
    top = depths[order[depth_start[d]]]
    while d < bands[band + 1]:
        at = u32(depth_start[d] + group)
        while at < depth_start[d + 1]:
            row = order[at]
            own, inset = arcs + closure_start[row], i32(depths[row] - top)
            i = lane
            while i < inset:
                best, arc = NO_PATH, start[row]
                end = arc + inner[row]
                while arc < end:
                    head = heads[arc]
                    above = i32(depths[head] - top)
                    if i == above:
                        best = min(best, down[arc])
                    elif i < above:
                        best = min(best, add(down[arcs + closure_start[head] + i], down[arc]))
                    arc += 1
                down[own + i] = best
                i = i32(i + GROUP)
            at = u32(at + groups)
        cuda.syncthreads()
        d += 1


@cuda.jit(**BOUNDS)
def ascend_from(depth, number, path_cells, cell_rows, numbers, ends, depths, start, head_depths, up, path, found):
    """Distances from the source to its ancestors: by depth, path has an ancestor's row, found its distance. One block.

    number, depth: the source's preorder number and depth. path_cells: the cells that hold its ancestors. Groups of
    threads take turns, one an ancestor, and load the arcs of their next one while others work: so there no load may
    depend on another.
    """
    distances = cuda.shared.array(0, uint32)  # by depth; then of each ancestor where its arcs start, and how many
    first, count = distances[u32(depth + u32(1)) :], distances[u32(depth + depth + u32(2)) :]
    c = 0
    while c < len(path_cells):
        row = cell_rows[path_cells[c]] + i32(cuda.threadIdx.x)
        while row < cell_rows[path_cells[c] + 1]:
            if numbers[row] <= number and number < ends[row]:
                d = u32(depths[row])
                path[d] = row
                first[d] = u32(start[row])
                count[d] = u32(start[row + 1] - start[row])
                distances[d] = u32(0) if d == depth else NO_PATH
            row += cuda.blockDim.x
        c += 1
    group, lane = i32(cuda.threadIdx.x // PATH_GROUP), u32(cuda.threadIdx.x % PATH_GROUP)
    groups = i32(cuda.blockDim.x // PATH_GROUP)
    d, mine = i32(depth), i32(depth) - group
    cuda.syncthreads()
    own = u32(max(mine, i32(0)))
    arc, arcs, i = first[own], count[own] if mine >= 0 else u32(0), lane
    to, weight = i32(0), NO_PATH
    if i < arcs:
        to, weight = head_depths[arc + i], up[arc + i]
    while d >= 0:
        if d == mine:
            here = distances[d]
            while i < arcs:
                distances[to] = min(distances[to], add(here, weight))
                i = u32(i + u32(PATH_GROUP))
                if i < arcs:
                    to, weight = head_depths[arc + i], up[arc + i]
            mine -= groups
            own = u32(max(mine, i32(0)))
            arc, arcs, i = first[own], count[own] if mine >= 0 else u32(0), lane
            if i < arcs:
                to, weight = head_depths[arc + i], up[arc + i]
        cuda.syncthreads()
        d -= 1
    i = u32(cuda.threadIdx.x)
    while i <= depth:
        found[i] = distances[i]
        i = u32(i + cuda.blockDim.x)


@cache
def search_cells(group: int, bands: bool):
    """The kernel: a block takes a cell, from the cell `first` on. bands: whether a band has two steps, or one.

    number, depth: the source's. room: the level's, as Steps.rooms has it. While an entry is worked on, the first arc of
    the thread's next entry and the entry after that are being loaded.
    """
    load = loader(4)

    @cuda.jit(device=True)
    def least_of_group(value):
        if group > 1:
            shift = group // 2
            while shift > 0:
                value = min(value, u32(cuda.shfl_xor_sync(ALL, i32(value), shift)))
                shift >>= 1
        return value

    @cuda.jit(device=True)
    def after(step, at, groups, steps, offsets):
        """The step and the first entry after those that the groups of a block take at once."""
        at = u32(at + groups)
        if step < steps and at >= offsets[step + u32(1)]:
            step = u32(step + u32(1))
            at = offsets[step]
        return step, at

    @cuda.jit(**(BOUNDS if bands else LAST_BOUNDS))
    def descend_from(
        first, number, depth, room, cell_rows, borders, boundary, cell_steps, step_start, entries,
        places, down, numbers, ends, depths, path, found, distances,
    ):  # fmt: skip
        near = cuda.shared.array(0, uint32)  # place 0, boundary, rows; with bands as much again for b; steps' starts
        offsets = near[u32(room + room) :] if bands else near[room:]
        cell = first + cuda.blockIdx.x
        thread, threads = u32(cuda.threadIdx.x), u32(cuda.blockDim.x)
        border = borders[cell]
        width = u32(borders[cell + 1] - border)
        row, count = cell_rows[cell], u32(cell_rows[cell + 1] - cell_rows[cell])
        first_step = cell_steps[cell]
        steps = u32(cell_steps[cell + 1] - first_step)
        base = u32(width + u32(1))
        i = thread
        while i < base + count:
            near[i] = distances[boundary[border + i - 1]] if i > 0 and i < base else NO_PATH
            if bands:
                near[room + i] = NO_PATH
            i = u32(i + threads)
        i = thread
        while i <= steps:
            offsets[i] = u32(step_start[first_step + i])
            i = u32(i + threads)
        cuda.syncthreads()
        if cell == 0 or (numbers[row] <= number and number < ends[row]):
            i = u32(u32(depths[row]) + thread)
            while i <= depth:  # the rows on the way up from the source
                place = u32(path[i] - row)
                if place < count:
                    near[base + place] = found[i]
                i = u32(i + threads)
        cuda.syncthreads()
        mine, lane, groups = u32(thread // u32(group)), i32(thread % u32(group)), u32(threads // u32(group))
        last = u32(offsets[steps] - u32(1))
        step, at = u32(0), offsets[0]
        next_step, next_at = after(step, at, groups, steps, offsets)
        entry = load(entries, u64(min(u32(at + mine), last)) * u64(4))
        arc = i32(entry[1] + lane)
        safe = arc if arc < entry[2] else i32(0)
        place, weight = places[safe], down[safe]
        next_entry = load(entries, u64(min(u32(next_at + mine), last)) * u64(4))
        while step < steps:
            next_arc = i32(next_entry[1] + lane)
            safe = next_arc if next_arc < next_entry[2] else i32(0)
            next_place, next_weight = places[safe], down[safe]
            after_step, after_at = after(next_step, next_at, groups, steps, offsets)
            after_entry = load(entries, u64(min(u32(after_at + mine), last)) * u64(4))
            second = bands and (step & u32(1)) == u32(1)
            valid = u32(at + mine) < offsets[step + u32(1)]
            own = u32(entry[3])
            best = NO_PATH
            if valid:
                if lane == 0:
                    best = near[u32(own + room)] if second else near[own]
                if arc < entry[2]:
                    best = min(best, add(near[place], weight))
                    arc = i32(arc + group)
                    while arc < entry[2]:
                        best = min(best, add(near[places[arc]], down[arc]))
                        arc = i32(arc + group)
            best = least_of_group(best)
            if valid and lane == 0:
                if bands and not second:
                    near[u32(own + room)] = best
                else:
                    near[own] = best
                    distances[entry[0]] = best
            if next_step != step:
                cuda.syncthreads()
            step, at, entry, arc, place, weight = next_step, next_at, next_entry, next_arc, next_place, next_weight
            next_step, next_at, next_entry = after_step, after_at, after_entry

    return descend_from


class OneSource:
    """What a search from one source needs on the card, besides the hierarchy."""

    def __init__(self, graph: Graph, run: Run):
        cells = cutting.of(graph)[1]
        self.steps = steps = cutting.steps(cells)
        self.on_card = on = OnCard(graph, run, room=steps.closures)
        self.height = on.hierarchy.height
        upload = run.upload_untimed
        (self.head_depths,) = upload(cells.depths[cells.heads])
        (self.entries,) = upload(steps.entries.ravel())
        self.step_start, self.cell_steps, self.places = upload(steps.start, steps.cell_steps, steps.places)
        self.plan = []  # of each level: its first cell and the number of cells, kernel, threads, words of shared memory
        for level, (first, end) in enumerate(pairwise(cells.level_cells)):
            bands, room = level < cells.levels - 1, steps.rooms[level]
            words = room * (1 + bands) + steps.most[level] + 1
            check_shared(graph, 4 * words, "the largest cell of its elimination tree")
            threads = TOP_THREADS if end - first < FEW_CELLS else CELL_THREADS
            kernel = search_cells(GROUP, True) if bands else search_cells(LAST_GROUP, False)
            self.plan.append(
                (np.uint32(first), int(end - first), kernel, threads if bands else LAST_THREADS, room, words)
            )
        if len(steps.bands) > 1:
            order = upload(steps.bands, steps.depth_start, steps.order, steps.closure_start, steps.inner)
            arguments = np.int64(len(cells.heads)), *order, on.depths, on.start, on.heads, on.down
            closing = enqueued(run, (close_bands, len(steps.bands) - 1, BAND_THREADS, arguments))
            with run.phase("customize"):
                closing()

    def search(self, source: int, distances):
        """A function that launches the search from a vertex; distances: uint32, (n,), by row, on the card."""
        on, run = self.on_card, self.on_card.run
        cells = on.cells
        row = int(cells.vertex_rows[source])
        number, depth = np.uint32(cells.numbers[row]), np.uint32(cells.depths[row])
        path_cells = [int(cells.cell[row])]
        while len(parent := cells.heads[cells.start[top := cells.cell_rows[path_cells[-1]]] : cells.start[top + 1]]):
            path_cells.append(int(cells.cell[parent[0]]))
        (path_cells,) = run.upload(np.array(path_cells, np.int32))
        path, found = run.allocate((self.height, np.int32), (self.height, np.uint32))
        launches = [
            (
                *(ascend_from, 1, TOP_THREADS),
                (
                    *(depth, number, path_cells, on.cell_rows, on.numbers, on.ends),
                    *(on.depths, on.start, self.head_depths, on.up, path, found),
                ),
                12 * self.height,
            )
        ]
        for first, count, kernel, threads, room, words in self.plan:
            arguments = (
                *(first, number, depth, np.uint32(room), on.cell_rows, on.borders, on.boundary, self.cell_steps),
                *(self.step_start, self.entries, self.places, on.down, on.numbers, on.ends, on.depths, path, found),
                distances,
            )
            if count or not card.gpu_visible():
                launches.append((kernel, count, threads, arguments, 4 * words))
            else:
                kernel.specialize(*arguments)  # compiled now, and not while the search of a larger graph is timed
        return enqueued(run, *launches)
