"""The elimination tree cut into fragments whose distances fit in the kernels' shared memory.

`sizes` is a decreasing list of sizes of subtrees. A vertex is on level 0, the top of the tree, if its subtree exceeds
all sizes; on level 1, if its subtree exceeds all but the first size; and so on. Level 0 is a single fragment, even if
it has several roots. On the other levels, a fragment is a connected piece with one topmost vertex, its top. The
boundary of a fragment is the set of ancestors that its top has an arc with. All arcs from a fragment's vertices lead to
vertices of the fragment and of its boundary.

    level 0     the top of the tree: few vertices, many arcs each
    level 1     fragments that depend on level 0 only, so that all of them can be searched at once
    ...
    last level  most of the vertices, in small fragments

Vertices are ordered by level, then by fragment, then in preorder. The row of a vertex is its position in this order. So
each level and each fragment is a range of rows, and an ancestor comes before its descendants.

A search through a fragment in the order of rows needs only the distances of the boundary and of the vertices between
the fragment's top and the current vertex. So a vertex can overwrite the distance of the previous vertex of the same
depth. A slot is the index of a distance in shared memory. Slot 0 holds INF. Then come the slots of the boundary, with
the nearest ancestor last, and a slot for each depth of the fragment. So the slot of a vertex's parent is the slot
before the vertex's own slot. A root has no parent; the slot before its own slot is slot 0.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit

from ...graph import Graph, kept, starts
from . import elimination
from .elimination import MAX_HEIGHT, Hierarchy, inverse, require_numbers

SMALLEST = 128  # maximum number of vertices in a fragment of the last level
LEAST_FRAGMENTS = 2.5  # least number of fragments of a level, if all were of the maximum size
RATIO = 8  # ratio of the maximum sizes of a fragment in successive levels
BAND = 32  # number of depths in a band
# A class has fragments of at most this number of slots, and of more than the class before.
CLASS_SLOTS = (16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256)
SLOT_BITS = 10
MORE_BIT = 3 * SLOT_BITS
RECORD_ARCS = 3  # number of arcs in a record
assert MAX_HEIGHT + 1 < 1 << SLOT_BITS


@dataclass(frozen=True, eq=False)
class Fragments:
    """A hierarchy in the form that the kernels read, cut into k fragments.

    Vertices are ordered by row, arcs by the row of the descendant. Arrays are int32 unless stated.
    """

    numbers: np.ndarray  # (n,): preorder number of each row
    ends: np.ndarray  # (n,): preorder number at which each row's subtree ends
    depths: np.ndarray  # (n,): depth of each row
    rows: np.ndarray  # (n,): row of each preorder number
    vertex_rows: np.ndarray  # (n,): row of each vertex of the graph
    start: np.ndarray  # int64, (n + 1,): like Hierarchy.start, but by row
    heads: np.ndarray  # (arcs,): like Hierarchy.heads, but with rows as vertices
    level_start: np.ndarray  # int64, (levels + 1,): first fragment of each level
    row_start: np.ndarray  # int64, (k + 1,): first row of each fragment
    borders: np.ndarray  # int64, (k + 1,): start of each fragment's boundary
    boundary: np.ndarray  # (borders[-1],): rows of the boundaries of all fragments
    tops: np.ndarray  # (k,): preorder number of each fragment's top; for level 0, of its first vertex
    of_row: np.ndarray  # (n,): fragment of each row
    slots: np.ndarray  # (arcs,): slot of each head
    own: np.ndarray  # (n,): slot of each row
    widths: np.ndarray  # (k,): number of slots
    places: np.ndarray  # int64, (m,): like Hierarchy.places, but with indices in the `heads` above

    @property
    def levels(self) -> int:
        return len(self.level_start) - 1

    def rows_before(self, level: int) -> int:
        """Return the number of rows in the levels before `level`."""
        return int(self.row_start[self.level_start[level]])


def sizes_for(vertices: int) -> list[int]:
    """Return the sizes at which a tree of `vertices` vertices is cut, the largest first."""
    sizes = [SMALLEST]
    while sizes[0] * RATIO * LEAST_FRAGMENTS <= vertices:
        sizes.insert(0, sizes[0] * RATIO)
    return sizes


def cut(hierarchy: Hierarchy, sizes: list[int]) -> Fragments:
    """Return the fragments of a hierarchy."""
    degrees = np.diff(hierarchy.start)
    levels, fragment_of, tops, widths = find_fragments(hierarchy, sizes)
    order = np.argsort(fragment_of, kind="stable").astype(np.int32)  # preorder within a fragment
    rows = inverse(order)
    fragment = fragment_of[order].astype(np.int32)  # of each row
    start = starts(degrees[order])
    heads, places = heads_and_places(order, rows, hierarchy.start, hierarchy.heads, start, hierarchy.places)
    borders = starts(degrees[tops])
    top_rows = rows[tops]
    boundary = heads[np.repeat(start[top_rows + 1] - 1 + borders[:-1], np.diff(borders)) - np.arange(borders[-1])]
    depths = hierarchy.depths[order]
    own = (1 + np.diff(borders)[fragment] + depths - depths[top_rows][fragment]).astype(np.int32)
    slots = find_slots(start, heads, fragment, own, borders, boundary)
    row_start = starts(np.bincount(fragment, minlength=len(tops)))
    level_start = starts(np.bincount(levels[tops], minlength=len(sizes) + 1))
    vertex_rows = rows[inverse(hierarchy.vertices)]
    return Fragments(
        numbers=order,
        ends=hierarchy.ends[order],
        depths=depths,
        rows=rows,
        vertex_rows=vertex_rows,
        start=start,
        heads=heads,
        level_start=level_start,
        row_start=row_start,
        borders=borders,
        boundary=boundary,
        tops=tops.astype(np.int32),
        of_row=fragment,
        slots=slots,
        own=own,
        widths=widths.astype(np.int32),
        places=places,
    )


def find_fragments(hierarchy: Hierarchy, sizes: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the level and the fragment of each vertex, and the top and width of each fragment.

    Vertices are in preorder. Fragments are ordered by level, then by class.
    """
    n, degrees = len(hierarchy.ends), np.diff(hierarchy.start)
    parents = np.full(n, -1, np.int32)
    has_parent = np.flatnonzero(degrees)
    parents[has_parent] = hierarchy.heads[hierarchy.start[has_parent]]
    size = hierarchy.ends - np.arange(n, dtype=np.int32)
    levels = np.searchsorted(-np.array(sizes), -size, side="right").astype(np.int32)
    fragments, tops, deepest = assign(parents, levels, hierarchy.depths)
    widths = 1 + degrees[tops] + deepest - hierarchy.depths[tops] + 1
    order = np.lexsort((np.searchsorted(CLASS_SLOTS, widths), levels[tops]))
    return levels, inverse(order)[fragments], tops[order], widths[order]


@njit(cache=True)
def assign(parents, levels, depths):
    """Return the fragment of each vertex, (n,), and the top and largest depth of each fragment; vertices in preorder.

    A vertex belongs to its parent's fragment if both are on the same level. All vertices of level 0 share a fragment.
    """
    n, count, highest = len(parents), 0, -1
    fragments, tops, deepest = np.empty(n, np.int32), np.empty(n, np.int32), np.zeros(n, np.int32)
    for v in range(n):
        if levels[v] == 0 and highest >= 0:
            fragments[v] = highest
        elif parents[v] >= 0 and levels[parents[v]] == levels[v]:
            fragments[v] = fragments[parents[v]]
        else:
            fragments[v], tops[count] = count, v
            if levels[v] == 0:
                highest = count
            count += 1
        deepest[fragments[v]] = max(deepest[fragments[v]], depths[v])
    return fragments, tops[:count].copy(), deepest[:count].copy()


@njit(cache=True)
def heads_and_places(order, rows, old_start, old_heads, start, places):
    """Return `heads` and `places` of Fragments, given `heads` and `places` of Hierarchy."""
    heads, arcs = np.empty_like(old_heads), np.empty_like(old_heads)
    for row, number in enumerate(order):
        arc = start[row]
        for old in range(old_start[number], old_start[number + 1]):
            heads[arc], arcs[old] = rows[old_heads[old]], arc
            arc += 1
    moved = places.copy()
    for i, place in enumerate(places):
        if place >= 0:
            moved[i] = 2 * np.int64(arcs[place >> 1]) + (place & 1)
    return heads, moved


@njit(cache=True)
def find_slots(start, heads, fragment, own, borders, boundary):
    """Return the slot of each arc's head, int32: its own slot if it is in the tail's fragment, else its border slot."""
    slots = np.empty(len(heads), np.int32)
    for row, f in enumerate(fragment):
        border = boundary[borders[f] : borders[f + 1]]  # sorted
        for arc in range(start[row], start[row + 1]):
            head = heads[arc]
            slots[arc] = own[head] if fragment[head] == f else 1 + np.searchsorted(border, head)
    return slots


@dataclass(frozen=True, eq=False)
class Records:
    """The arcs of each row, in the order of rows, as records of four words.

    The first word of a record has three slots of SLOT_BITS bits each, and above them a bit that is set if the next
    record belongs to the same row. The other words are the weights of the arcs from these slots. In a row's first
    record, the first slot is the row's own slot, and the first weight is that of the arc from the row's parent. The
    parent's slot is not stored, because it is the row's own slot minus 1. An additional record ends the arrays.
    """

    words: np.ndarray  # uint32, (4 * records + 4,): weights are not filled in
    arcs: np.ndarray  # int32, like words: the arc whose weight a word gets; -1 for slots; len(heads) if it gets INF
    start: np.ndarray  # int64, (n + 1,): first record of each row


@kept
def records(fragments: Fragments) -> Records:
    """Return the records of all rows."""
    degrees, arcs = np.diff(fragments.start), len(fragments.heads)
    start = starts(np.maximum(1, -(-degrees // RECORD_ARCS)))
    require_numbers(4 * (int(start[-1]) + 1), "words of records")
    words, of_arc = np.zeros((start[-1] + 1, 4), np.uint32), np.full((start[-1] + 1, 4), arcs, np.int32)
    of_arc[:, 0], of_arc[-1] = -1, -1
    set_slots(fragments.start, fragments.slots, fragments.own, start, words, of_arc)
    return Records(words.ravel(), of_arc.ravel(), start)


@njit(cache=True)
def set_slots(arc_start, slots, own, start, words, of_arc):
    """Set the first words, and the arcs, of the records of all rows."""
    for row in range(len(own)):
        first, end = arc_start[row], arc_start[row + 1]
        arc = first
        for record in range(start[row], start[row + 1]):
            word = np.int64(record + 1 < start[row + 1]) << MORE_BIT
            for i in range(min(RECORD_ARCS, end - arc)):
                if arc != first:  # the first slot is the row's own slot
                    word |= np.int64(slots[arc]) << (SLOT_BITS * i)
                of_arc[record, 1 + i] = arc
                arc += 1
            words[record, 0] = word
        words[start[row], 0] |= own[row]


class Bands(NamedTuple):
    """The bands of all levels but the last, and their closures (see Steps)."""

    start: np.ndarray  # int32: index in `depth_start` of each band's first depth, and the end
    depth_start: np.ndarray  # int32: index in `order` at which each depth of a fragment starts, and the end
    order: np.ndarray  # int32: rows that have bands, by fragment and depth
    closure_start: np.ndarray  # int64, (n + 1,): first closure of each row: that from its topmost ancestor in the band
    inner: np.ndarray  # int32, (n,): number of arcs from each row to ancestors in its band


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of a search from one source. A step searches many rows of a fragment at once.

    In all levels but the last, a fragment is cut into bands of BAND depths. A band has two steps. The first step takes
    all arcs from ancestors above the band. The second takes *closures*: a closure is the distance from an ancestor in
    the band down to a row, through vertices of the band only. In the last level a band is one depth and has one step.

    A position is an index in shared memory. Position 0 holds INF. The positions of the boundary and then of the
    fragment's rows follow. From position rooms[level] on, a second array holds the results of first steps. The
    ancestors from which closures start have positions in the second array.
    """

    entries: np.ndarray  # int32, (e, 4), by step: a row, its first arc and the end of its arcs, the row's position
    start: np.ndarray  # int32: index in `entries` at which each step starts, and e
    fragment_steps: np.ndarray  # int64, (fragments + 1,): first step of each fragment
    positions: np.ndarray  # int32, (arcs + closures,): position of the head of each arc, then of each closure
    rooms: list[int]  # maximum number of positions of a fragment, by level
    most: list[int]  # maximum number of steps of a fragment, by level
    bands: Bands

    @property
    def closures(self) -> int:
        return int(self.bands.closure_start[-1])


@kept
def steps(fragments: Fragments) -> Steps:
    """Return the steps of all fragments."""
    n, arcs = len(fragments.of_row), len(fragments.heads)
    banded = fragments.rows_before(fragments.levels - 1)  # number of rows in bands, which come first
    depth = fragments.depths - fragments.depths[fragments.row_start[fragments.of_row]]  # within the fragment
    band, inset = depth // BAND, depth % BAND
    band[banded:], inset[banded:] = depth[banded:], 0
    tails = np.repeat(np.arange(n, dtype=np.int32), np.diff(fragments.start))
    inside = fragments.of_row[fragments.heads] == fragments.of_row[tails]
    inner = np.bincount(tails[inside & (band[fragments.heads] == band[tails])], minlength=n).astype(np.int32)
    bands = Bands(*order_bands(fragments, depth[:banded], band[:banded]), starts(inset), inner)
    require_numbers(arcs + int(bands.closure_start[-1]), "arcs and closures")
    widths = np.diff(fragments.borders)
    sizes = 1 + widths + np.diff(fragments.row_start)
    rooms = [int(sizes[first:end].max(initial=0)) for first, end in pairwise(fragments.level_start)]
    local = 1 + np.arange(n) - fragments.row_start[fragments.of_row] + widths[fragments.of_row]  # position of each row
    positions = np.zeros(max(1, arcs + bands.closure_start[-1]), np.int32)
    positions[:arcs] = np.where(inside, local[fragments.heads], fragments.slots)
    room = np.repeat(rooms, np.diff(fragments.level_start))  # of each fragment
    position_closures(fragments, room[fragments.of_row] + local, inset[:banded], positions[arcs:])
    entries, start = list_entries(fragments, bands, band, local, banded)
    fragment_steps = np.searchsorted(fragments.of_row[entries[start[:-1], 0]], np.arange(len(widths) + 1))
    return Steps(
        entries=entries,
        start=start,
        fragment_steps=fragment_steps,
        positions=positions,
        rooms=rooms,
        most=[int(np.diff(fragment_steps[a : b + 1]).max(initial=0)) for a, b in pairwise(fragments.level_start)],
        bands=bands,
    )


def order_bands(fragments: Fragments, depth: np.ndarray, band: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `start`, `depth_start` and `order` of Bands. depth, band: depth and band of each row in its fragment."""
    order = np.lexsort((depth, fragments.of_row[: len(depth)])).astype(np.int32)
    depth_start = changes(fragments.of_row[order], depth[order])
    at = order[depth_start]
    start = changes(fragments.of_row[at], band[at])
    return np.r_[start, len(depth_start)].astype(np.int32), np.r_[depth_start, len(order)].astype(np.int32), order


def position_closures(fragments: Fragments, above: np.ndarray, inset: np.ndarray, positions: np.ndarray) -> None:
    """Set `positions` to above[head] for the head of each closure.

    inset: the depth of each row below the top of its band.
    """
    start = starts(inset)
    rows = ancestors = np.arange(len(inset))
    for i in range(1, BAND):
        keep = inset[rows] >= i
        rows, ancestors = rows[keep], fragments.heads[fragments.start[ancestors[keep]]]
        positions[start[rows] + inset[rows] - i] = above[ancestors]


def list_entries(
    fragments: Fragments, bands: Bands, band: np.ndarray, local: np.ndarray, banded: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return `entries` and `start` of Steps. A row has an entry for arcs from above its band, and one for closures."""
    n, arcs = len(fragments.of_row), len(fragments.heads)
    row = np.r_[np.arange(n), np.arange(banded)]
    second = np.arange(n + banded) >= n
    begins = np.r_[fragments.start[:-1] + bands.inner, arcs + bands.closure_start[:banded]]
    ends = np.r_[fragments.start[1:], arcs + bands.closure_start[1 : banded + 1]]
    order = np.lexsort((second, band[row], fragments.of_row[row]))
    entries = np.stack([row, begins, ends, local[row]], axis=1).astype(np.int32)[order]
    row = row[order]
    start = changes(fragments.of_row[row], band[row], second[order])
    return entries, np.r_[start, len(order)].astype(np.int32)


def changes(*keys: np.ndarray) -> np.ndarray:
    """Return the index at which each sequence of equal keys starts."""
    new = np.zeros(len(keys[0]), bool)
    for key in keys:
        new |= np.diff(key, prepend=-1) != 0
    return np.flatnonzero(new)


def classes(fragments: Fragments, level: int) -> np.ndarray:
    """Return the first fragment of each class of a level, and the level's end: int64.

    A class has fragments with about equally many slots.
    """
    first, end = fragments.level_start[level], fragments.level_start[level + 1]
    of = np.searchsorted(CLASS_SLOTS, fragments.widths[first:end])
    return np.r_[first + np.flatnonzero(np.diff(of, prepend=-1)), end]


def tasks(fragments: Fragments, first: int, end: int, rows: int) -> np.ndarray:
    """Divide fragments into tasks of about `rows` rows; return the first fragment of each task, and the end: int64.

    A task is a sequence of fragments that one block searches one after the other.
    """
    at = fragments.row_start[first:end] // rows
    return np.r_[first + np.flatnonzero(np.diff(at, prepend=-1)), end]


@dataclass(frozen=True, eq=False)
class Triangles:
    """The order in which arcs are customized: by height, the lowest first; all arcs of one height at once."""

    arcs: np.ndarray  # int32, (arcs,): arcs by height of the tail, as indices in `heads`
    tails: np.ndarray  # int32, (arcs,): tail of each arc, in the order of `heads`
    start: np.ndarray  # int64, (height + 1,): index in `arcs` at which each height starts


@kept
def triangles(fragments: Fragments) -> Triangles:
    """Return the order in which a hierarchy's arcs are customized."""
    height = heights(fragments.start, fragments.heads)
    tails = np.repeat(np.arange(len(height), dtype=np.int32), np.diff(fragments.start))
    arcs = np.argsort(height.astype(np.int16)[tails], kind="stable").astype(np.int32)  # linear time in 16 bits
    return Triangles(arcs, tails, starts(np.bincount(height[tails], minlength=1)))


@njit(cache=True)
def heights(start, heads):
    """Return the number of vertices below each row on the longest path down: int32, (n,)."""
    found = np.zeros(len(start) - 1, np.int32)
    for row in range(len(found) - 1, -1, -1):
        if start[row] < start[row + 1]:  # a root has no parent
            parent = heads[start[row]]
            found[parent] = max(found[parent], found[row] + 1)
    return found


@kept
def hierarchy_and_fragments(graph: Graph) -> tuple[Hierarchy, Fragments]:
    """Return the hierarchy of a graph and its fragments, which are made once per graph."""
    hierarchy = elimination.hierarchy_of(graph)
    return hierarchy, cut(hierarchy, sizes_for(graph.vertices))
