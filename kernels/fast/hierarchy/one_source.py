"""Distances from one source in a hierarchy.

    d = INF, d[source] = 0
    ascend: each vertex v on the path from the source to its root, each arc to an ancestor a:
        d[a] = min(d[a], d[v] + up(v, a))
    descend: each level in turn, all its fragments at once; each band of depths in turn, all its vertices v at once:
        b[v] = min(d[v], d[a] + down(v, a)) over the ancestors a above the band
        d[v] = min(b[v], b[u] + closure(v, u)) over the ancestors u in the band

The method is PHAST (D. Delling, A. V. Goldberg, A. Nowatzyk, R. F. Werneck, PHAST: Hardware-Accelerated Shortest Path
Trees, JPDC 73(7), 2013): a search up from the source, then one pass down over all vertices. Fragments and bands are
added.

d is the distance from the source. up(v, a) is the weight of the arc from v to its ancestor a, down(v, a) that of the
arc from a to v. closure(v, u) is the distance from the ancestor u down to v through vertices of their band only.
Closures are found when weights are customized. So a band takes two steps instead of one step per depth. In the last
level, whose fragments are small and many, a band is one depth and takes one step.

One block ascends, in turns of two vertices v. In the descent, a block searches a fragment; in the last level a block is
one warp. Shared memory holds the distances of the fragment's boundary and of the fragment's vertices. Several threads
share the arcs of a vertex, and one of them writes the distance. A barrier separates the steps. A row is a vertex,
numbered as in fragments.py. An entry is the work of one step for one row.
"""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...gpu import card
from ...gpu.card import SIMULATED
from ...gpu.compiler import cuda, uint32
from ...gpu.intrinsics import FULL_WARP, i32, loader, u32, u64
from ...graph import Graph
from ...run import Run
from . import fragments as cutting
from .customize import GROUP, NO_PATH, OnCard, add, check_shared

LAST_GROUP, LAST_THREADS = (1, 3) if SIMULATED else (4, 32)  # last level: threads per vertex, and per block
FRAGMENT_THREADS = 3 if SIMULATED else 256  # threads per block in the other levels
TOP_THREADS = 3 if SIMULATED else 1024  # the same in levels of fewer than FEW_FRAGMENTS fragments, and in the search up
FEW_FRAGMENTS = 528
COPY_GROUP = 1 if SIMULATED else 32  # threads that read rows together, or copy the arcs of one ancestor of the source
PATH_GROUP = 1 if SIMULATED else 64  # threads that relax them; two such groups work at a time
BAND_THREADS = 3 if SIMULATED else 256
BOUNDS = {} if SIMULATED else {"launch_bounds": TOP_THREADS}
LAST_BOUNDS = {} if SIMULATED else {"launch_bounds": (LAST_THREADS, 32)}


class StepsOnCard(NamedTuple):
    """The steps of all fragments on the card, from fragments.Steps; `entries` is flat."""

    fragments: np.ndarray
    start: np.ndarray
    entries: np.ndarray
    positions: np.ndarray


class Source(NamedTuple):
    """The source's preorder number and depth."""

    number: np.uint32
    depth: np.uint32


class Way(NamedTuple):
    """The path from the source up to the root, by depth: an ancestor's row, and the distance to it."""

    rows: np.ndarray
    distances: np.ndarray


@cuda.jit(**BOUNDS)
def close_bands(arcs, bands, depths, start, heads, down):
    """Store the closures of all bands in `down`, after the weights of arcs. A block takes a band, depth by depth.

    Closure i of a row is the distance from the ancestor that lies i depths below the top of the band.
    """
    band = cuda.blockIdx.x
    group, lane = u32(cuda.threadIdx.x // GROUP), i32(cuda.threadIdx.x % GROUP)
    groups = u32(cuda.blockDim.x // GROUP)
    d = bands.start[band]
    top = depths[bands.order[bands.depth_start[d]]]
    while d < bands.start[band + 1]:
        at = u32(bands.depth_start[d] + group)
        while at < bands.depth_start[d + 1]:
            row = bands.order[at]
            own, inset = arcs + bands.closure_start[row], i32(depths[row] - top)
            i = lane
            while i < inset:
                best, arc = NO_PATH, start[row]
                end = arc + bands.inner[row]
                while arc < end:
                    head = heads[arc]
                    above = i32(depths[head] - top)
                    if i == above:
                        best = min(best, down[arc])
                    elif i < above:
                        best = min(best, add(down[arcs + bands.closure_start[head] + i], down[arc]))
                    arc += 1
                down[own + i] = best
                i = i32(i + GROUP)
            at = u32(at + groups)
        cuda.syncthreads()
        d += 1


@cuda.jit(device=True)
def copy_groups():
    """Return the number of groups of COPY_GROUP threads."""
    return i32(cuda.blockDim.x // COPY_GROUP)


@cuda.jit(device=True)
def find_ancestors(source, spans, tree, start, up, way, distances, first, count, to_upper):  # noqa: PLR0913
    """Find the ancestors of the source and the source; fill way.rows and the arrays that `ascend_from` describes."""
    group, lane, groups = i32(cuda.threadIdx.x // COPY_GROUP), i32(cuda.threadIdx.x % COPY_GROUP), copy_groups()
    groups_per_fragment = max(i32(1), i32(groups // i32(len(spans))))
    f = i32(group // groups_per_fragment)
    while f < len(spans):
        row = i32(spans[f, 0] + i32(group % groups_per_fragment) * COPY_GROUP + lane)
        while row < spans[f, 1]:
            number, end = tree.numbers[row], tree.ends[row]
            if number <= source.number and source.number < end:
                d, arc = u32(tree.depths[row]), start[row]
                arcs = u32(start[row + 1] - arc)
                is_apart = u32(source.depth - d) % u32(2) == u32(0) and arcs > u32(0)
                way.rows[d] = row
                distances[d] = u32(0) if d == source.depth else NO_PATH
                first[d] = u32(arc + 1) if is_apart else u32(arc)
                count[d] = u32(arcs - u32(1)) if is_apart else arcs
                to_upper[d] = up[arc] if is_apart else NO_PATH  # a row's first arc leads to its parent
            row = i32(row + groups_per_fragment * COPY_GROUP)
        f = i32(f + groups // groups_per_fragment)


@cuda.jit(**BOUNDS)
def ascend_from(source, spans, chunk, pitch, tree, start, head_depths, up, way):  # noqa: PLR0913
    """Search up from the source with one block, in turns of two ancestors: a lower one and its parent, the upper one.

    spans: for each fragment that holds ancestors of the source, the first and the end of its rows, int32 (k, 2). The
    block copies the arcs of the next `chunk` ancestors, an even number, to shared memory, at most `pitch` arcs of each.
    It relaxes them, two ancestors at once, and repeats this up to the root. The arc from the lower to the upper
    ancestor is stored apart: the upper one's threads relax it, each for itself, so they need not wait for the others.
    """
    depth = source.depth
    height = u32(depth + u32(1))
    distances = cuda.shared.array(0, uint32)  # by depth; an upper ancestor's lacks the arc stored apart
    first, count = distances[height:], distances[u32(height + height) :]  # by depth: first arc and number of arcs
    to_upper = distances[u32(height + height + height) :]  # by depth: weight of the arc stored apart; INF if none
    heads = distances[u32(height * u32(4)) :]  # depths of the heads of arcs
    weights = heads[u32(chunk * pitch) :]
    find_ancestors(source, spans, tree, start, up, way, distances, first, count, to_upper)
    cuda.syncthreads()
    thread = u32(cuda.threadIdx.x)
    group, lane, groups = i32(thread // COPY_GROUP), u32(thread % COPY_GROUP), copy_groups()
    role, start_at = i32(thread // PATH_GROUP), u32(thread % PATH_GROUP)  # 0: lower, 1: upper, else neither
    d = i32(depth)
    while d >= 0:
        stop = max(i32(-1), i32(d - chunk))
        mine = i32(d - group)
        while mine > stop:
            at, arc, i = u32(u32(d - mine) * u32(pitch)), first[mine], lane
            while i < count[mine]:
                heads[at + i], weights[at + i] = u32(head_depths[arc + i]), up[arc + i]
                i = u32(i + u32(COPY_GROUP))
            mine = i32(mine - groups)
        cuda.syncthreads()
        if stop < 0 and role > 1:
            return
        at = u32(role * pitch)
        while d > stop:
            mine = i32(d - role)
            if role <= 1 and mine >= 0:
                here = distances[mine]
                if role == 1:
                    here = min(here, add(distances[d], to_upper[d]))
                i = start_at
                while i < count[mine]:
                    cuda.atomic.min(distances, heads[at + i], add(here, weights[at + i]))
                    i = u32(i + u32(PATH_GROUP))
            cuda.syncthreads()
            at = u32(at + u32(pitch + pitch))
            d = i32(d - 2)
    d = i32(thread)
    while d <= i32(depth):
        here = distances[d]
        if d < i32(depth):
            here = min(here, add(distances[d + 1], to_upper[d + 1]))
        way.distances[d] = here
        d = i32(d + 2 * PATH_GROUP)


@cuda.jit(device=True)
def following(step, at, groups, steps, offsets):
    """Return the step and the first entry of the block's next turn, after entries `at` to at + groups - 1."""
    at = u32(at + groups)
    if step < steps and at >= offsets[step + u32(1)]:
        step = u32(step + u32(1))
        at = offsets[step]
    return step, at


@cache
def least_of(group: int):
    """Return a device function that finds the least value of a group of `group` threads of a warp."""

    @cuda.jit(device=True)
    def least(value):
        if group > 1:
            shift = group // 2
            while shift > 0:
                value = min(value, u32(cuda.shfl_xor_sync(FULL_WARP, i32(value), shift)))
                shift >>= 1
        return value

    return least


@cache
def fragment_loader(bands: bool):
    """Return a device function that loads the data of a block's fragment into shared memory. All threads then wait.

    near: INF at position 0, then the distances of the boundary and of the fragment's rows. A row's distance is INF
    unless the row is on the path up from the source. With bands, a second array of this length, from near[room] on, is
    filled with INF. offsets: the first entry of each step.
    """

    @cuda.jit(device=True)
    def load_fragment(fragment, source, room, fragments, steps, tree, way, distances, near, offsets):  # noqa: PLR0913
        thread, threads = u32(cuda.threadIdx.x), u32(cuda.blockDim.x)
        border = fragments.borders[fragment]
        width = u32(fragments.borders[fragment + 1] - border)
        row, count = fragments.rows[fragment], u32(fragments.rows[fragment + 1] - fragments.rows[fragment])
        first_step = steps.fragments[fragment]
        step_count = u32(steps.fragments[fragment + 1] - first_step)
        base = u32(width + u32(1))
        i = thread
        while i < base + count:
            near[i] = distances[fragments.boundary[border + i - 1]] if i > 0 and i < base else NO_PATH
            if bands:
                near[room + i] = NO_PATH
            i = u32(i + threads)
        i = thread
        while i <= step_count:
            offsets[i] = u32(steps.start[first_step + i])
            i = u32(i + threads)
        cuda.syncthreads()
        if fragment == 0 or (tree.numbers[row] <= source.number and source.number < tree.ends[row]):
            i = u32(u32(tree.depths[row]) + thread)
            while i <= source.depth:
                offset = u32(way.rows[i] - row)
                if offset < count:
                    near[base + offset] = way.distances[i]
                i = u32(i + threads)
        cuda.syncthreads()
        return step_count

    return load_fragment


@cache
def search_fragments(group: int, bands: bool):
    """Return the kernel in which block b searches the fragment first + b.

    bands: whether bands have two steps; otherwise they have one. room: the level's item of fragments.Steps.rooms. While
    a thread processes an entry, the next entry's first arc and the entry after the next are being loaded.
    """
    load, load_fragment, least_of_group = loader(4), fragment_loader(bands), least_of(group)

    @cuda.jit(**(BOUNDS if bands else LAST_BOUNDS))
    def descend_from(first, source, room, fragments, steps, down, tree, way, distances):  # noqa: PLR0913
        near = cuda.shared.array(0, uint32)  # `room` words for d; with bands, `room` for b; then the starts of steps
        offsets = near[u32(room + room) :] if bands else near[room:]
        step_count = load_fragment(
            first + cuda.blockIdx.x, source, room, fragments, steps, tree, way, distances, near, offsets
        )
        thread, threads = u32(cuda.threadIdx.x), u32(cuda.blockDim.x)
        mine, lane, groups = u32(thread // u32(group)), i32(thread % u32(group)), u32(threads // u32(group))
        last = u32(offsets[step_count] - u32(1))
        step, at = u32(0), offsets[0]
        next_step, next_at = following(step, at, groups, step_count, offsets)
        entry = load(steps.entries, u64(min(u32(at + mine), last)) * u64(4))
        arc = i32(entry[1] + lane)
        safe = arc if arc < entry[2] else i32(0)
        index, weight = steps.positions[safe], down[safe]
        next_entry = load(steps.entries, u64(min(u32(next_at + mine), last)) * u64(4))
        while step < step_count:
            next_arc = i32(next_entry[1] + lane)
            safe = next_arc if next_arc < next_entry[2] else i32(0)
            next_index, next_weight = steps.positions[safe], down[safe]
            after_step, after_at = following(next_step, next_at, groups, step_count, offsets)
            after_entry = load(steps.entries, u64(min(u32(after_at + mine), last)) * u64(4))
            second = bands and (step & u32(1)) == u32(1)
            valid = u32(at + mine) < offsets[step + u32(1)]
            own = u32(entry[3])
            best = NO_PATH
            if valid:
                if lane == 0:
                    best = near[u32(own + room)] if second else near[own]
                if arc < entry[2]:
                    best = min(best, add(near[index], weight))
                    arc = i32(arc + group)
                    while arc < entry[2]:
                        best = min(best, add(near[steps.positions[arc]], down[arc]))
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
            step, at, entry, arc, index, weight = next_step, next_at, next_entry, next_arc, next_index, next_weight
            next_step, next_at, next_entry = after_step, after_at, after_entry

    return descend_from


class OneSource:
    """Data on the card for a search from one source, in addition to the hierarchy.

    chunk, pitch: arguments of ascend_from. Two ancestors always fit, since a vertex has fewer than MAX_HEIGHT arcs
    (elimination.py).
    plan: for each level, its first fragment and number of fragments, kernel, threads, room and words of shared memory.
    """

    def __init__(self, graph: Graph, run: Run):
        fragments = cutting.hierarchy_and_fragments(graph)[1]
        steps = cutting.steps(fragments)
        self.on_card = on = OnCard(graph, run, room=steps.closures)
        self.height = on.hierarchy.height
        upload = run.upload_untimed
        pitch = int(np.diff(fragments.start).max(initial=1))
        fitting = (run.shared_limit - 16 * self.height) // (8 * pitch)
        self.chunk, self.pitch = max(2, min(self.height + 1, fitting) // 2 * 2), pitch
        (self.head_depths,) = upload(fragments.depths[fragments.heads])
        self.steps = StepsOnCard(*upload(steps.fragment_steps, steps.start, steps.entries.ravel(), steps.positions))
        self.plan = []
        for level, (first, end) in enumerate(pairwise(fragments.level_start)):
            bands, room = level < fragments.levels - 1, steps.rooms[level]
            words = room * (1 + bands) + steps.most[level] + 1
            check_shared(graph, 4 * words, "the largest fragment of its elimination tree")
            threads = TOP_THREADS if end - first < FEW_FRAGMENTS else FRAGMENT_THREADS
            kernel = search_fragments(GROUP, True) if bands else search_fragments(LAST_GROUP, False)
            self.plan.append(
                (np.uint32(first), int(end - first), kernel, threads if bands else LAST_THREADS, room, words)
            )
        if (count := len(steps.bands.start) - 1) > 0:
            bands = cutting.Bands(*upload(*steps.bands))
            arguments = np.int64(len(fragments.heads)), bands, on.tree.depths, on.start, on.heads, on.down
            closing = run.prepare_async((close_bands, count, BAND_THREADS, arguments))
            with run.phase("customize"):
                closing()

    def search(self, source: int, distances) -> Callable[[], None]:
        """Return a function that launches the search from a vertex. distances: uint32, (n,), by row, on the card."""
        on, run = self.on_card, self.on_card.run
        fragments, start = on.fragments, on.fragments.start
        row = int(fragments.vertex_rows[source])
        origin = Source(np.uint32(fragments.numbers[row]), np.uint32(fragments.depths[row]))
        path = [int(fragments.of_row[row])]  # fragments, up to one whose top is a root
        while start[top := fragments.row_start[path[-1]]] < start[top + 1]:
            path.append(int(fragments.of_row[fragments.heads[start[top]]]))
        ends = fragments.row_start[np.add.outer(path, [0, 1])]  # the first row of each fragment, and of the next one
        (spans,) = run.upload(ends.astype(np.int32))
        way = Way(*run.allocate((self.height, np.int32), (self.height, np.uint32)))
        sizes = np.int32(self.chunk), np.int32(self.pitch)
        climb = origin, spans, *sizes, on.tree, on.start, self.head_depths, on.up, way
        shared = 16 * self.height + 8 * self.chunk * self.pitch
        launches: list[tuple] = [(ascend_from, 1, TOP_THREADS, climb, shared)]
        for first, count, kernel, threads, room, words in self.plan:
            arguments = first, origin, np.uint32(room), on.extents, self.steps, on.down, on.tree, way, distances
            launch = kernel, count, threads, arguments, 4 * words
            if count or not card.gpu_visible():
                launches.append(launch)
            else:
                run.prepare_async(launch)  # compile now, not while the search of a larger graph is timed
        return run.prepare_async(*launches)
