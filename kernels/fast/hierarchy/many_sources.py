"""Distances from many sources in a hierarchy, all on the card at once.

    ascend: each vertex v on the path from the source to its root, each arc to an ancestor a:
        d[a] = min(d[a], d[v] + up(v, a))
    descend: each vertex v, ancestors first, each arc to an ancestor a:
        d[v] = min(d[v], d[a] + down(v, a))

The method is PHAST (D. Delling, A. V. Goldberg, A. Nowatzyk, R. F. Werneck, PHAST: Hardware-Accelerated Shortest Path
Trees, JPDC 73(7), 2013): a search up from the source, then one pass down over all vertices. Fragments are added.

In the ascent, several threads search from a source, and wait for each other at each depth. In the descent, a thread
searches from one source or from four. For each of its sources, it keeps a distance for each slot of the current
fragment (fragments.py) in shared memory. No other thread reads these distances, so threads do not wait for each other.
Only results are written to global memory. Levels are searched one after the other, because the boundary of a fragment
is read from the results of earlier levels. If only a few numbers per source are wanted, the distances of the last level
are not stored.
"""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...gpu.card import SIMULATED
from ...gpu.compiler import cuda, uint32
from ...gpu.intrinsics import each, f64, i32, loader, same, storer, thread_x, u32, u64
from ...gpu.launching import blocks_for
from ..near_far_layout import QUEUED
from . import fragments as cutting
from .customize import NO_PATH, OnCard, add, check_shared

LANES = 2 if SIMULATED else 32  # threads of a block
CLIMBERS = 2 if SIMULATED else 8  # threads that search up from one source
SOURCES_PER_ASCENT = LANES // CLIMBERS  # sources of a block of ascend
SOURCES_PER_THREAD = 4  # or 1, if a block would take more than 1 / MIN_BLOCKS of the maximum shared memory
MIN_BLOCKS = 4
TILE_PITCH = LANES + 1  # avoids bank conflicts both along rows and along columns of a tile
TASK_ROWS = 256  # approximate number of vertices that one block searches in turn
ALIGNMENT = None if SIMULATED else 16
# A block is one warp, and shared memory has room for only a few blocks, so a thread may have many registers. Without
# this bound the compiler saves registers, and loads from shared memory wait for each other. The simulator rejects such
# a bound.
BOUNDS = {} if SIMULATED else {"launch_bounds": (LANES, 8)}
SLOT = u32((1 << cutting.SLOT_BITS) - 1)
BITS, MORE = u32(cutting.SLOT_BITS), u32(1 << cutting.MORE_BIT)


class RecordsOnCard(NamedTuple):
    """The arcs of each row, on the card: `start` and `words` of fragments.Records, with weights."""

    start: np.ndarray
    words: np.ndarray


class Totals(NamedTuple):
    """The results of each source, on the card."""

    farthest: np.ndarray  # uint64: upper half: largest distance plus 1; lower half: complement of the farthest row
    sums: np.ndarray  # uint64: sum of the distances
    counts: np.ndarray  # uint32: number of vertices reached


class HarmonicTotals(NamedTuple):
    """Totals, and the sum of the reciprocal distances."""

    farthest: np.ndarray
    sums: np.ndarray
    counts: np.ndarray
    reciprocals: np.ndarray  # float64: sum of 1 / distance, without distances of 0


@cuda.jit
def fill_records(arcs, weights, words):
    """Set words[i] to the weight of arcs[i]; INF if arcs[i] is past the last arc."""
    i = u64(thread_x())
    if i < u64(len(arcs)):
        arc = arcs[i]
        if arc >= 0:
            words[i] = weights[arc] if arc < len(weights) else NO_PATH


@cuda.jit(**BOUNDS)
def ascend(pitch, height, sources, depths, start, heads, up, found):
    """Search up from each source.

    sources[column] is the row of the column's source. Set found[depth, column] to the distance from this source to its
    ancestor of this depth. CLIMBERS threads share the arcs of each ancestor. A block has an array of distances per
    source in shared memory, one per depth. All threads of a block wait at each depth.
    """
    rows = cuda.shared.array(0, uint32)
    lane, climber = u32(cuda.threadIdx.x // u32(CLIMBERS)), i32(cuda.threadIdx.x % u32(CLIMBERS))
    column = u64(u64(cuda.blockIdx.x) * u64(SOURCES_PER_ASCENT) + u64(lane))
    row = sources[column]
    depth = depths[row]
    d = climber
    while d < height:
        rows[u32(u32(d) * u32(SOURCES_PER_ASCENT) + lane)] = u32(0) if d == depth else NO_PATH
        d += i32(CLIMBERS)
    cuda.syncthreads()
    d = i32(height - 1)
    while d >= 0:
        here = rows[u32(u32(d) * u32(SOURCES_PER_ASCENT) + lane)]
        if d <= depth:
            first, end = start[row], start[row + 1]
            arc = first + climber
            while arc < end:
                at = u32(u32(depths[heads[arc]]) * u32(SOURCES_PER_ASCENT) + lane)
                rows[at] = min(rows[at], add(here, up[arc]))
                arc += CLIMBERS
            if first < end:
                row = heads[first]
        if climber == 0:
            found[u64(u64(d) * pitch + column)] = here
        cuda.syncthreads()
        d -= 1


@cuda.jit(device=True)
def lesser_sum(value, other, weight):
    return min(add(other, weight), value)


@cuda.jit(device=True)
def on_way(source, number, end):
    """Return 0 if a vertex is the source or the source's ancestor, else INF. end: the end of the vertex's subtree."""
    return u32(0) if number <= source and source < end else NO_PATH


@cuda.jit(device=True)
def lesser_of_way(value, found, mark):
    return min(value, max(found, mark))


@cuda.jit(device=True)
def next_integer(value):
    """Return the distance plus 1 as int32. INF becomes -2^31."""
    return i32(value + u32(1))


@cuda.jit(device=True)
def is_more(value, most):
    return value > most


@cuda.jit(device=True)
def chosen(condition, one, other):
    return one if condition else other


@cuda.jit(device=True)
def added(total, value):
    return u64(total + u64(value))


@cuda.jit(device=True)
def add_sign(total, value):
    return u32(total + (u32(value) >> u32(31)))


@cuda.jit(device=True)
def add_reciprocal(total, value):
    """Return the total plus 1 / value; the total itself if the value is 0 or INF."""
    is_path = value > u32(0) and value < NO_PATH
    return total + chosen(is_path, f64(1) / f64(max(value, u32(1))), f64(0))


@cache
def slot_readers(count: int) -> tuple:
    """Return device functions (rows, arcs, lane) that load the distances in the three slots of a record."""
    load, width = loader(count), u32(LANES * count)

    def reader(shift):
        @cuda.jit(device=True)
        def read(rows, arcs, lane):
            return load(rows, u64(u32((arcs[0] >> shift) & SLOT) * width + lane))

        return read

    return reader(u32(0)), reader(BITS), reader(u32(BITS + BITS))


@cache
def record_relaxer(count: int):
    """Return a device function that lowers `values` to the sums of a record's weights and the distances `near`."""
    relax, copies = each(lesser_sum, count, 3), same(count)

    @cuda.jit(device=True)
    def relax_record(values, near, arcs):
        values = relax(relax(values, near[0], copies(arcs[1])), near[1], copies(arcs[2]))
        return relax(values, near[2], copies(arcs[3]))

    return relax_record


@cache
def boundary_loader(count: int):
    """Return a device function that loads the distances of a fragment's boundary into its slots, from slot 1 on."""
    load, store, width = loader(count), storer(count), u64(LANES * count)

    @cuda.jit(device=True)
    def load_boundary(fragment, fragments, pitch, column, matrix, rows, lane):
        i, end = fragments.borders[fragment], fragments.borders[fragment + 1]
        slot = u64(lane + width)
        while i < end:
            store(rows, slot, load(matrix, u64(u64(fragments.boundary[i]) * pitch + column)))
            slot = u64(slot + width)
            i += 1

    return load_boundary


@cache
def totals_adder(count: int):
    """Return a device function that adds a thread's results to the totals of its sources."""

    @cuda.jit(device=True)
    def add_totals(totals, column, most, at, total, missing, rows_seen):
        for k in range(count):
            key = u64(u64(u32(most[k])) << u64(32) | u64(u32(~at[k])))
            cuda.atomic.max(totals.farthest, column + u64(k), key)
            cuda.atomic.add(totals.sums, column + u64(k), u64(total[k] - u64(missing[k]) * u64(NO_PATH)))
            cuda.atomic.add(totals.counts, column + u64(k), u32(rows_seen - missing[k]))

    return add_totals


@cache
def reciprocals_adder(count: int):
    """Return a device function that adds a thread's sums of reciprocals to the totals of its sources."""

    @cuda.jit(device=True)
    def add_reciprocals(totals, column, inverse):
        for k in range(count):
            cuda.atomic.add(totals.reciprocals, column + u64(k), inverse[k])

    return add_reciprocals


@cache
def search_fragments(count: int, stores: bool, reduces: bool, inverts: bool):
    """Return the kernel that finds the distances of all rows of some fragments, from `count` sources per thread.

    A block searches the fragments of one task, task_fragments[task] to task_fragments[task + 1] - 1, for `width`
    columns. The first block belongs to task `first_task`. The blocks of a task have successive numbers.

    stores: whether to write distances to matrix[row, column]. reduces: whether to add each source's farthest vertex,
    sum of distances and number of reached vertices to `totals`. inverts: whether to add each source's sum of reciprocal
    distances too; `totals` must then be HarmonicTotals.
    """
    load, store, load_record, copies = loader(count), storer(count), loader(4), same(count)
    (first, second, third), relax_record = slot_readers(count), record_relaxer(count)
    load_boundary, add_totals = boundary_loader(count), totals_adder(count)
    marks, on_the_way = each(on_way, count, 3), each(lesser_of_way, count, 3)
    one_more, are_more, choose = each(next_integer, count, 1), each(is_more, count, 2), each(chosen, count, 3)
    add_values, add_signs = each(added, count, 2), each(add_sign, count, 2)
    add_inverses, add_reciprocals = each(add_reciprocal, count, 2), reciprocals_adder(count)
    width = u32(LANES * count)

    @cuda.jit(**BOUNDS)
    def descend(  # noqa: PLR0913
        task_fragments, first_task, groups, pitch, fragments, tops, tree, records, sources, found, matrix, totals
    ):
        rows = cuda.shared.array(0, uint32, alignment=ALIGNMENT)
        task, group = u32(first_task + cuda.blockIdx.x // groups), u32(cuda.blockIdx.x % groups)
        lane = u64(cuda.threadIdx.x) * u64(count)
        first_column = u64(group) * u64(width)
        column = u64(first_column + lane)
        own = load(sources, column)
        lowest, highest = sources[first_column], sources[u64(first_column + u64(width - u32(1)))]
        # Per source: largest distance plus 1; its row; sum, in which an unreached row counts INF; number of these rows
        most, at, total, missing = copies(i32(0)), copies(u32(0)), copies(u64(0)), copies(u32(0))
        inverse, rows_seen = copies(f64(0)), u32(0)
        store(rows, lane, copies(NO_PATH))  # slot 0
        fragment, last_fragment = task_fragments[task], task_fragments[task + 1]
        while fragment < last_fragment:
            load_boundary(fragment, fragments, pitch, column, matrix, rows, lane)
            row, last_row = u32(fragments.rows[fragment]), u32(fragments.rows[fragment + 1])
            rows_seen = u32(rows_seen + last_row - row)
            top = tops[fragment]
            # Whether a source of this group may lie below a row of the fragment.
            holds = lowest < tree.ends[row] and highest >= top if fragment > 0 else True
            record = u32(records.start[row] * 4)
            index = u64(u64(row) * pitch + column)
            arcs = load_record(records.words, u64(record))
            while row < last_row:
                here, own_index = arcs, u32(u32(arcs[0] & SLOT) * width + u32(lane))
                near = load(rows, u64(own_index - width)), second(rows, arcs, lane), third(rows, arcs, lane)
                record = u32(record + u32(4))
                arcs = load_record(records.words, u64(record))
                values = copies(NO_PATH)
                if holds:
                    up = load(found, u64(u64(tree.depths[row]) * pitch + column))
                    mark = marks(own, copies(tree.numbers[row]), copies(tree.ends[row]))
                    values = on_the_way(values, up, mark)
                while here[0] & MORE != 0:  # unrolled twice, so that fewer registers are copied
                    other, then = (first(rows, arcs, lane), second(rows, arcs, lane), third(rows, arcs, lane)), arcs
                    record = u32(record + u32(4))
                    arcs = load_record(records.words, u64(record))
                    values = relax_record(values, near, here)
                    if then[0] & MORE == 0:
                        near, here = other, then
                        break
                    near, here = (first(rows, arcs, lane), second(rows, arcs, lane), third(rows, arcs, lane)), arcs
                    record = u32(record + u32(4))
                    arcs = load_record(records.words, u64(record))
                    values = relax_record(values, other, then)
                values = relax_record(values, near, here)
                store(rows, u64(own_index), values)
                if stores:
                    store(matrix, index, values)
                if reduces:
                    raised = one_more(values)
                    farther = are_more(raised, most)
                    most, at = choose(farther, raised, most), choose(farther, copies(row), at)
                    total, missing = add_values(total, values), add_signs(missing, raised)
                if inverts:
                    inverse = add_inverses(inverse, values)
                index = u64(index + pitch)
                row = u32(row + u32(1))
            fragment += 1
        if reduces:
            add_totals(totals, column, most, at, total, missing, rows_seen)
        if inverts:
            add_reciprocals(totals, column, inverse)

    return descend


@cuda.jit
def by_vertex(column, pitch, row_of, matrix, dist, predecessor, words):
    """Copy a column of distances to dist, in the order of the vertices, and prepare the search for predecessors."""
    v = thread_x()
    if v < len(dist):
        dist[v] = i32(matrix[u64(u64(row_of[v]) * pitch + u64(column))])
        predecessor[v] = -1
    if v < 2:
        words[u32(QUEUED + v)] = 0  # near_far's queue is empty


@cuda.jit
def transpose(count, pitch, row_of, matrix, out):
    """Set out[column, vertex] = matrix[row of vertex, column] for `count` columns; LANES x LANES threads per tile."""
    tile = cuda.shared.array((LANES, TILE_PITCH), uint32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    n = u64(len(row_of))
    tiles = (count + LANES - 1) // LANES
    column = (cuda.blockIdx.x % tiles) * LANES
    vertex = (cuda.blockIdx.x // tiles) * LANES
    if vertex + y < n:
        tile[y, x] = u32(matrix[u64(u64(row_of[vertex + y]) * pitch + u64(column + x))])
    cuda.syncthreads()
    if vertex + x < n and column + y < count:
        out[u64(u64(column + y) * n + u64(vertex + x))] = i32(tile[x, y])


class ManySources:
    """Data on the card for searches from many sources, in addition to the hierarchy.

    reduces: whether distances are reduced to Totals; then the rows of the last level are not stored. stored: the number
    of stored rows. most: the number of sources for which `allocate` took memory, a multiple of `group`. plan: for each
    level a list of its classes, the widest first. A class is a tuple: kernel, sources per thread, bytes of shared
    memory, tasks, and the kernel that also sums reciprocals. fill_records: a function that takes over the weights of
    the hierarchy.
    """

    def __init__(self, on_card: OnCard, *, reduces: bool):
        self.on_card, self.reduces = on_card, reduces
        fragments, run = on_card.fragments, on_card.run
        self.group, self.most = LANES * SOURCES_PER_THREAD, 0
        self.height = on_card.hierarchy.height
        self.stored = fragments.rows_before(fragments.levels - 1) if reduces else on_card.graph.vertices
        self.plan = []
        for level in range(fragments.levels):
            stores, classes = not reduces or level < fragments.levels - 1, []
            for first, end in pairwise(cutting.classes(fragments, level)):
                row = 4 * LANES * int(fragments.widths[first:end].max())
                count = SOURCES_PER_THREAD if row * SOURCES_PER_THREAD * MIN_BLOCKS <= run.shared_limit else 1
                check_shared(on_card.graph, row * count, "the largest fragment of its elimination tree")
                (tasks,) = run.upload_untimed(cutting.tasks(fragments, first, end, TASK_ROWS))
                kernel, inverting = (search_fragments(count, stores, reduces, inverts) for inverts in (False, reduces))
                classes.append((kernel, count, row * count, tasks, inverting))
            self.plan.append(classes[::-1])
        check_shared(on_card.graph, 4 * SOURCES_PER_ASCENT * self.height, "a path of its elimination tree")
        filled = cutting.records(fragments)
        start, words, arcs = run.upload_untimed(filled.start, filled.words, filled.arcs)
        self.records = RecordsOnCard(start, words)
        blocks = blocks_for(len(filled.arcs), run.block)
        self.fill_records = run.prepare_async((fill_records, blocks, run.block, (arcs, on_card.down, words)))
        with run.phase("customize"):
            self.fill_records()

    @property
    def source_bytes(self) -> int:
        """Bytes on the card for each source of a search."""
        return 4 * (self.stored + self.height + 2) + (20 if self.reduces else 0)

    def pitch(self, count: int) -> int:
        """Return the number of columns for `count` sources."""
        return -(-count // self.group) * self.group

    def allocate(self, most: int) -> None:
        """Allocate memory for searches from up to `most` sources."""
        self.most, self.matrix, self.found = 0, None, None  # so that nothing is searched if memory is refused
        columns, run = self.pitch(most), self.on_card.run
        run.require(self.source_bytes * columns)
        self.matrix, self.found = run.allocate(
            (max(1, self.stored) * columns, np.uint32), (self.height * columns, np.uint32)
        )
        self.most = columns

    def padded(self, numbers: np.ndarray, columns: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the preorder number and the row of each column's source; the last source fills up the columns."""
        filled = np.full(columns, numbers[-1], np.int32)
        filled[: len(numbers)] = numbers
        return filled, self.on_card.fragments.rows[filled]

    def ascent(self, columns: int, pitch: int, rows, found) -> tuple:
        """Return the launch of ascend for the sources with these rows; found: for `height` rows of `pitch` columns."""
        on, height = self.on_card, self.height
        arguments = np.uint64(pitch), np.int32(height), rows, on.tree.depths, on.start, on.heads, on.up, found
        return ascend, columns // SOURCES_PER_ASCENT, LANES, arguments, 4 * SOURCES_PER_ASCENT * height

    def search(self, numbers: np.ndarray, *, inverts: bool = False) -> Callable[[], None]:
        """Return a function that launches a search. inverts: see `search_fragments`; requires reduces=True.

        numbers: int32, the sorted preorder numbers of up to `most` sources. The search sets matrix[row, column], for
        row < stored, to the distance from the column's source. The matrix is uint32 and flat, with `most` columns.
        Columns after the last source repeat the last source.
        """
        on, run = self.on_card, self.on_card.run
        source_numbers, source_rows = run.upload(*self.padded(numbers, self.most))
        length = self.most if self.reduces else 1
        kind: Any = HarmonicTotals if inverts else Totals
        types = np.uint64, np.uint64, np.uint32, np.float64
        self.totals = kind(*run.upload(*(np.zeros(length, dtype) for dtype in types[: len(kind._fields)])))
        pitch, columns = np.uint64(self.most), self.pitch(len(numbers))
        steps: list = [self.ascent(columns, self.most, source_rows, self.found)]
        for classes in self.plan:
            level = []
            for kernel, count, shared, tasks, inverting in classes:
                groups = columns // (LANES * count)
                arguments = (
                    *(tasks, np.uint32(0), np.uint32(groups), pitch, on.extents, on.tops, on.tree, self.records),
                    *(source_numbers, self.found, self.matrix, self.totals),
                )
                level.append((inverting if inverts else kernel, groups * (len(tasks) - 1), LANES, arguments, shared))
            steps.append(level)
        return run.prepare_async(*steps)

    def rows_by_vertex(self, count: int, out) -> Callable[[], None]:
        """Return a function that writes the first `count` columns as rows, with vertices in the graph's order.

        out: int32, (count * n,), on the card.
        """
        on = self.on_card
        tiles = blocks_for(count, LANES) * blocks_for(on.graph.vertices, LANES)
        arguments = np.int32(count), np.uint64(self.most), on.vertex_rows, self.matrix, out
        return on.run.prepare_async((transpose, tiles, (LANES, LANES), arguments))
