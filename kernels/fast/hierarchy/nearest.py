"""The k nearest of some facilities for every vertex, in a hierarchy, by one sweep down the tree.

    ascend: from each facility f, against the arcs (many_sources.py): the distance from each ancestor v of f down to f
    gather: list[v] = the k nearest facilities below v or at v
    sweep:  each depth, from the root's; each vertex v of this depth; each arc to an ancestor a:
        list[v] = the k nearest of list[v] and of list[a], farther by up(v, a)

If a facility is not among the k nearest of a, it is not among those that v has nearest by a. So k facilities suffice at
each vertex. For distances from facilities to vertices, `up` and `down` change places.

A *key* is a distance in the upper half of a word and a facility in the lower half, so that the lesser key is the nearer
facility; ties: the facility of the lowest number. A list is k keys in ascending order, of different facilities. A warp
takes a vertex: each of its threads holds the first key of an arc's list, and the warp takes the least key again and
again. A list of which no key is less than the last key of list[v] is skipped.

Bounds. A sweep reads 8 + 8 k bytes for each arc of the hierarchy, and writes 8 k bytes for each vertex. For the 1.25
million arcs of nyc and k = 5, this is 71 MB, or 0.015 ms on an H200. The result takes 12 k bytes for each vertex over
PCIe: 16 MB, or 0.3 ms. Latency is more: nyc has 269 depths, one after the other, whose vertices of most arcs together
have 626 times 32 arcs. We predict 2 ms for the sweep.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...gpu import card
from ...gpu.compiler import cuda, uint64
from ...gpu.intrinsics import FULL_WARP, LAUNCH_BOUNDS, f64, i32, i64, thread_x, u32, u64
from ...gpu.launching import blocks_for
from ...graph import kept, starts
from ...units import Scale
from .all_pairs import fill
from .customize import GROUP, OnCard
from .fragments import Fragments
from .many_sources import LANES, SOURCES_PER_ASCENT, ascend
from .targets import Room

NO_KEY = u64(2**63 - 1)  # of no facility; larger than all keys
HALF = u64(32)
ASCENT_BYTES = 2**28  # maximum bytes of the distances to facilities from their ancestors that are found at once


class FacilitiesOnCard(NamedTuple):
    """Some facilities on the card, in the order of their preorder numbers."""

    numbers: np.ndarray  # int32: preorder number
    places: np.ndarray  # int32: number of the facility in keys


@cuda.jit(device=True)
def least_key(key):
    """Return the least key of a group of GROUP threads."""
    if GROUP > 1:
        shift = GROUP // 2
        while shift > 0:
            key = min(key, u64(cuda.shfl_xor_sync(FULL_WARP, i64(key), shift)))
            shift >>= 1
    return key


@cuda.jit(device=True)
def any_of(is_true):
    """Return whether a number is not 0 in any thread of a group."""
    if GROUP > 1:
        return cuda.any_sync(FULL_WARP, is_true) != 0
    return is_true != 0


@cuda.jit(device=True)
def sync_group():
    if GROUP > 1:
        cuda.syncwarp()


@cuda.jit(device=True)
def farther(key, distance, bound):
    """Return the key with a distance added, uint64 in the upper half; NO_KEY if it is `bound` or more."""
    key = u64(key + distance)
    return key if key < bound else NO_KEY


@cuda.jit(device=True)
def merge(near, old, new, k, lane, key, lists, at, end, distance, bound):  # noqa: PLR0913
    """Set near[new : new + k] to the k least keys of near[old : old + k] and of the lists of all threads of a group.

    A thread's list is lists[at:end] with `distance` added, and `key` is the first of its keys. Keys are of different
    facilities, both in a list and in the result.
    """
    end_old, count = u32(old + k), u32(0)
    own = near[old]
    while count < k:
        best = least_key(min(own, key))
        if best == NO_KEY:
            break
        facility, known, i = u32(best), i32(0), lane
        while i < count:
            if u32(near[u32(new + i)]) == facility:
                known = i32(1)
            i = u32(i + u32(GROUP))
        if not any_of(known):
            if lane == u32(0):
                near[u32(new + count)] = best
            count = u32(count + u32(1))
            sync_group()
        if u32(own) == facility:
            old = u32(old + u32(1))
            own = near[old] if old < end_old else NO_KEY
        if u32(key) == facility:
            at = u64(at + u64(1))
            key = farther(lists[at], distance, bound) if at < end else NO_KEY
    i = u32(count + lane)
    while i < k:
        near[u32(new + i)] = NO_KEY
        i = u32(i + u32(GROUP))
    sync_group()


@cuda.jit(device=True)
def first_of(numbers, count, number):
    """Return the index of the first of `count` sorted numbers that is `number` or more."""
    low, high = u32(0), u32(count)
    while low < high:
        middle = u32((low + high) >> u32(1))
        if numbers[middle] < number:
            low = u32(middle + u32(1))
        else:
            high = middle
    return low


@cuda.jit(**LAUNCH_BOUNDS)
def gather(count, pitch, facilities, tree, found, k, bound, lists):
    """Merge each vertex's distances to `count` facilities into its list, with a group of threads for each row.

    found[depth, column] is the distance to the column's facility from its ancestor of this depth. The facilities below
    a vertex have successive columns.
    """
    near = cuda.shared.array(0, uint64)
    lane, row = u32(cuda.threadIdx.x % GROUP), u64(thread_x() // GROUP)
    old = u32(u32(cuda.threadIdx.x // GROUP) * u32(2) * k)
    new = u32(old + k)
    if row < u64(len(tree.numbers)):
        first = first_of(facilities.numbers, count, tree.numbers[row])
        end = first_of(facilities.numbers, count, tree.ends[row])
        if first < end:
            own = u64(row * u64(k))
            i = lane
            while i < k:
                near[u32(old + i)] = lists[u64(own + u64(i))]
                i = u32(i + u32(GROUP))
            sync_group()
            distances = u64(u64(tree.depths[row]) * u64(pitch))
            while first < end:
                column, key = u32(first + lane), NO_KEY
                if column < end:
                    key = u64(u64(found[u64(distances + u64(column))]) << HALF | u64(u32(facilities.places[column])))
                    key = farther(key, u64(0), bound)
                if least_key(key) < near[u32(old + k - u32(1))]:
                    merge(near, old, new, k, lane, key, lists, own, own, u64(0), bound)
                    old, new = new, old
                first = u32(first + u32(GROUP))
            i = lane
            while i < k:
                lists[u64(own + u64(i))] = near[u32(old + i)]
                i = u32(i + u32(GROUP))


@cuda.jit(**LAUNCH_BOUNDS)
def sweep(depth_start, order, start, heads, weights, k, bound, lists):
    """Merge the lists of ancestors into the list of each vertex, depth by depth, in one cooperative launch.

    A group of threads takes a row, and GROUP of its arcs at a time.
    """
    grid = cuda.cg.this_grid()
    near = cuda.shared.array(0, uint64)
    lane, groups = u32(cuda.threadIdx.x % GROUP), u32(cuda.gridsize(1) // GROUP)
    old = u32(u32(cuda.threadIdx.x // GROUP) * u32(2) * k)
    new = u32(old + k)
    depth = u32(0)
    while depth < u32(len(depth_start) - 1):
        i = u32(depth_start[depth] + thread_x() // GROUP)
        while i < u32(depth_start[u32(depth + u32(1))]):
            row = order[i]
            own, arc, end = u64(u64(row) * u64(k)), u32(start[row]), u32(start[row + 1])
            j = lane
            while j < k:
                near[u32(old + j)] = lists[u64(own + u64(j))]
                j = u32(j + u32(GROUP))
            sync_group()
            while arc < end:
                mine = u32(arc + lane)
                at, distance, key = u64(0), u64(0), NO_KEY
                if mine < end:
                    at, distance = u64(u64(heads[mine]) * u64(k)), u64(u64(weights[mine]) << HALF)
                    key = farther(lists[at], distance, bound)
                if least_key(key) < near[u32(old + k - u32(1))]:
                    merge(near, old, new, k, lane, key, lists, at, u64(at + u64(k)), distance, bound)
                    old, new = new, old
                arc = u32(arc + u32(GROUP))
            j = lane
            while j < k:
                lists[u64(own + u64(j))] = near[u32(old + j)]
                j = u32(j + u32(GROUP))
            sync_group()
            i = u32(i + groups)
        grid.sync()  # now the lists of this depth are final
        depth = u32(depth + u32(1))


@cuda.jit
def take_nearest(k, scale, rows, facilities, lists, distances, found, counts):
    """Copy the lists of `rows`: distances, inf if there is no facility, and facilities, else -1.

    scale: distances are divided by the first number and multiplied by the second.

    facilities: the vertex of each facility. counts: add 1 for each row whose nearest facility this is.
    """
    i = u64(u64(cuda.blockIdx.x) * u64(cuda.blockDim.x) + u64(cuda.threadIdx.x))
    if i < u64(len(found)):
        place, rank = u64(i // u64(k)), u64(i % u64(k))
        key = lists[u64(u64(rows[place]) * u64(k) + rank)]
        if key == NO_KEY:
            distances[i], found[i] = f64(np.inf), i32(-1)
        else:
            facility = u32(key)
            distances[i], found[i] = f64(u64(key >> HALF)) / scale[0] * scale[1], facilities[facility]
            if rank == u64(0):
                cuda.atomic.add(counts, facility, i32(1))


class DepthOrder(NamedTuple):
    """The rows of a hierarchy by depth."""

    start: np.ndarray  # int32, (height + 1,): index in `order` at which each depth starts
    order: np.ndarray  # int32, (n,)


@kept
def by_depth(fragments: Fragments) -> DepthOrder:
    """Return the rows by depth, the root first."""
    order = np.argsort(fragments.depths.astype(np.int16), kind="stable")  # linear time in 16 bits
    return DepthOrder(starts(np.bincount(fragments.depths)).astype(np.int32), order.astype(np.int32))


class NearestSearch:
    """Searches for the nearest facilities in the hierarchy that `on_card` holds. Raises NotEnoughMemory.

    A search reuses the previous search's memory.
    """

    def __init__(self, on_card: OnCard):
        self.on_card, self.run, self.room = on_card, on_card.run, Room(on_card.run)

    @cached_property
    def depths(self) -> DepthOrder:
        """The rows by depth, on the card."""
        return DepthOrder(*self.run.upload(*by_depth(self.on_card.fragments)))

    def fits(self, k: int) -> bool:
        """Return whether two lists of a group of threads fit in a block's shared memory."""
        return not card.gpu_visible() or 16 * k <= self.run.shared_limit

    def _threads(self, k: int) -> tuple[int, int]:
        """Return the number of threads of a block, and the bytes of shared memory that it takes."""
        groups = max(1, min(self.run.block // GROUP, self.run.shared_limit // (16 * k)))
        return groups * GROUP, 16 * k * groups

    def search(self, facilities: np.ndarray, k: int, most: int, *, reverse: bool) -> Any:
        """Return the list of each row on the card: keys, uint64, (n * k,).

        facilities: t different vertices; keys have their positions. k: up to t. most: the largest distance. reverse:
        whether to find distances from facilities, not to them.
        """
        on, run = self.on_card, self.run
        to_root, down_again = (on.up, on.down) if reverse else (on.down, on.up)
        numbers = on.fragments.numbers[on.fragments.vertex_rows[facilities]]
        order = np.argsort(numbers).astype(np.int32)
        size, bound = np.uint32(k), np.uint64((most + 1) << 32)
        lists = self.room.array("lists", on.graph.vertices * k, np.uint64)
        threads, shared = self._threads(k)
        blocks = blocks_for(on.graph.vertices * GROUP, threads)
        run.launch((fill, 8 * run.multiprocessors, run.block, (NO_KEY, lists)))
        height = on.hierarchy.height
        columns = max(1, ASCENT_BYTES // (4 * height) // LANES) * LANES
        for first in range(0, len(order), columns):
            piece = order[first : first + columns]
            pitch = -(-len(piece) // LANES) * LANES
            found = self.room.array("found", height * pitch, np.uint32)
            filled = np.r_[piece, np.full(pitch - len(piece), piece[-1])]
            rows = on.fragments.vertex_rows[facilities[filled]]
            on_card, places, rows = run.upload(numbers[piece], piece, rows)
            climb = np.uint64(pitch), np.int32(height), rows, on.tree.depths, on.start, on.heads, to_root, found
            below = FacilitiesOnCard(on_card, places)
            gathered = np.uint32(len(piece)), np.uint64(pitch), below, on.tree, found, size, bound, lists
            run.launch_steps(
                [(ascend, pitch // SOURCES_PER_ASCENT, LANES, climb, 4 * SOURCES_PER_ASCENT * height)],
                [(gather, blocks, threads, gathered, shared)],
            )
        swept = *self.depths, on.start, on.heads, down_again, size, bound, lists
        run.launch_steps([(sweep, run.multiprocessors, threads, swept, shared)])
        return lists

    def take(self, sources: np.ndarray | None, facilities: np.ndarray, k: int, scale: Scale, lists: Any) -> Any:
        """Return what `search` found for some vertices, by default for all, as arrays on the card.

        The arrays are distances, float64, (s * k,); facilities as vertices, int32, (s * k,); and the number of sources
        that have each facility as their nearest, int32, (t,). The next call may return the same memory.
        """
        on, run = self.on_card, self.run
        rows = on.vertex_rows if sources is None else run.upload(on.fragments.vertex_rows[sources])[0]
        size = rows.size * k
        distances = self.room.array("distances", size, np.float64)[:size]
        found = self.room.array("facilities", size, np.int32)[:size]
        vertices, counts, factors = run.upload(
            facilities.astype(np.int32), np.zeros(len(facilities), np.int32), np.array(scale, np.float64)
        )
        taken = np.uint32(k), factors, rows, vertices, lists, distances, found, counts
        run.launch((take_nearest, blocks_for(size, run.block), run.block, taken))
        return distances, found, counts
