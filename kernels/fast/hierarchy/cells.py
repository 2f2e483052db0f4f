"""Cells: the elimination tree cut into pieces that a thread's shared memory can hold, as the kernels read them.

The tree is cut at sizes: a vertex whose subtree has at most sizes[k - 1] vertices is of level k or a later one. A cell
is what hangs together of one level, with one vertex on top; all of level 0 are one cell. The arcs from a cell lead to
vertices of the cell and to its boundary: the ancestors that its top has an arc with, and no others.

    level 0     the top of the tree: few vertices, many arcs each
    level 1     cells that depend on level 0 alone, so all of them can be worked on at once
    ...
    last level  most of the vertices, in small cells

Rows number the vertices by level, then cell, then preorder: so each level and each cell is a range of rows, and an
ancestor comes before its descendants.

Who goes through a cell by rows needs the distances of the boundary and of the vertices on the way from the top of the
cell to the present vertex, no others: a vertex of the cell takes the place of the last one with the same depth. These
places are slots: boundary vertices first, then one for each depth.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from kernels.fast.hierarchy import elimination
from kernels.fast.hierarchy.elimination import MAX_HEIGHT, Hierarchy
from kernels.graph import Graph

SMALLEST = 256  # vertices of a cell of the last level, at most
STEP = 16  # how many times larger those of the level before may be
SLOT_BITS = 10
FIRST_ARCS, MORE_ARCS = 2, 3  # arcs in the first and in each further record of a vertex
assert MAX_HEIGHT < 1 << SLOT_BITS


@dataclass(frozen=True, eq=False)
class Cells:
    """A hierarchy as the kernels read it; vertices by row, arcs by row of the descendant. int32 unless it says int64.

    numbers, ends, depths: (n,): preorder number, end of the subtree and depth of each row. rows, vertex_rows: (n,): the
    row of each preorder number, and of each vertex of the graph. start: int64, (n + 1,), and heads: (arcs,): as in
    Hierarchy, but rows. level_cells: int64, (levels + 1,): the first cell of each level. cell_rows: int64,
    (cells + 1,): the first row of each cell. borders: int64, (cells + 1,), and boundary: the rows of each cell's
    boundary. tops: (cells,): the number of each cell's top, for level 0 of its first vertex. cell: (n,): the cell of
    each row. slots: (arcs,): the slot of each head. own: (n,): the slot of each row. widths: (cells,): how many slots.
    places: int64, (m,): as in Hierarchy, but for the order of arcs here.
    """

    numbers: np.ndarray
    ends: np.ndarray
    depths: np.ndarray
    rows: np.ndarray
    vertex_rows: np.ndarray
    start: np.ndarray
    heads: np.ndarray
    level_cells: np.ndarray
    cell_rows: np.ndarray
    borders: np.ndarray
    boundary: np.ndarray
    tops: np.ndarray
    cell: np.ndarray
    slots: np.ndarray
    own: np.ndarray
    widths: np.ndarray
    places: np.ndarray

    @property
    def levels(self) -> int:
        return len(self.level_cells) - 1

    def level_rows(self, level: int) -> int:
        """The rows of the levels before this one."""
        return int(self.cell_rows[self.level_cells[level]])


def sizes_for(vertices: int) -> list[int]:
    """The sizes at which a tree of so many vertices is cut, the largest first."""
    sizes = [SMALLEST]
    while sizes[0] * STEP * 4 <= vertices:
        sizes.insert(0, sizes[0] * STEP)
    return sizes


def cut(hierarchy: Hierarchy, sizes: list[int]) -> Cells:
    """The cells of a hierarchy."""
    n = len(hierarchy.ends)
    parents = np.full(n, -1, np.int32)
    has_parent = np.flatnonzero(np.diff(hierarchy.start))
    parents[has_parent] = hierarchy.heads[hierarchy.start[has_parent]]
    size = hierarchy.ends - np.arange(n, dtype=np.int32)
    levels = np.searchsorted(-np.array(sizes), -size, side="right").astype(np.int32)
    cells, tops = assign(parents, levels)
    order = np.lexsort((cells, levels[tops][cells]))  # stable: preorder within a cell
    by_level = np.argsort(levels[tops], kind="stable")  # of the cells
    tops = tops[by_level]
    rows = np.empty(n, np.int32)
    rows[order] = np.arange(n, dtype=np.int32)
    cell = np.empty_like(by_level)
    cell[by_level] = np.arange(len(tops))
    cell = cell[cells[order]].astype(np.int32)  # of each row
    count = len(tops)
    degrees = np.diff(hierarchy.start)
    start = starts(degrees[order])
    arcs = np.repeat(hierarchy.start[:-1][order] - start[:-1], degrees[order]) + np.arange(start[-1])
    heads = rows[hierarchy.heads[arcs]]
    borders = np.where(np.arange(count) == 0, 0, degrees[tops]) if levels[tops[0]] == 0 else degrees[tops]
    borders = starts(borders)
    top_rows = rows[tops]
    boundary = heads[np.repeat(start[top_rows] - borders[:-1], np.diff(borders)) + np.arange(borders[-1])]
    depths = hierarchy.depths[order]
    own = (np.diff(borders)[cell] + depths - depths[top_rows][cell]).astype(np.int32)
    slots = find_slots(start, heads, cell, own, borders, boundary)
    cell_rows = starts(np.bincount(cell, minlength=count))
    widths = np.maximum.reduceat(own, cell_rows[:-1]) + 1
    level_cells = starts(np.bincount(levels[tops], minlength=len(sizes) + 1))
    vertex_rows = np.empty(n, np.int32)
    vertex_rows[hierarchy.vertices] = rows
    arc = np.empty(len(arcs), np.int64)  # of each arc of the hierarchy
    arc[arcs] = np.arange(len(arcs))
    is_loop = hierarchy.places < 0
    places = (
        np.where(is_loop, -1, 2 * arc[hierarchy.places >> 1] + (hierarchy.places & 1))
        if len(arcs)
        else hierarchy.places
    )
    return Cells(
        *(order.astype(np.int32), hierarchy.ends[order], depths, rows, vertex_rows, start, heads),
        *(level_cells, cell_rows, borders, boundary, tops.astype(np.int32), cell, slots, own),
        *(widths.astype(np.int32), places),
    )


def starts(counts: np.ndarray) -> np.ndarray:
    """Where each of the lists of these lengths starts, and where the last one ends; int64."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def assign(parents: np.ndarray, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cell of each vertex, (n,), and the top of each cell; vertices in preorder.

    A vertex goes to its parent's cell where it is of the same level; all of level 0 share a cell.
    """
    is_top = (parents < 0) | (levels[parents] != levels)
    is_top &= (levels > 0) | (np.arange(len(levels)) == np.argmax(levels == 0))
    top = np.where(is_top, np.arange(len(parents)), parents)  # nearer and nearer to the top, twice as far each time
    top[levels == 0] = np.argmax(levels == 0)
    while (top[top] != top).any():
        top = top[top]
    return np.cumsum(is_top)[top] - 1, np.flatnonzero(is_top)


def find_slots(
    start: np.ndarray, heads: np.ndarray, cell: np.ndarray, own: np.ndarray, borders: np.ndarray, boundary: np.ndarray
) -> np.ndarray:
    """int32: the slot of each arc's head: its own in the same cell, else its place in the boundary."""
    n, tail_cell = len(cell), np.repeat(cell, np.diff(start)).astype(np.int64)
    slots = own[heads]
    leaves = np.flatnonzero(cell[heads] != tail_cell)
    # By cell, then from the nearest ancestor to the farthest, which has the lowest row: in order as they stand.
    there = np.repeat(np.arange(len(borders) - 1), np.diff(borders)) * n + (n - boundary)
    slots[leaves] = np.searchsorted(there, tail_cell[leaves] * n + (n - heads[leaves])) - borders[tail_cell[leaves]]
    return slots


@dataclass(frozen=True, eq=False)
class Records:
    """The arcs of each row, in the order of rows, as records of four words.

    A row's first record has its slot and two heads' slots, the number of its further records, and two weights; each
    further one has three slots and three weights. words: uint32, (4 records + 4,), without weights. arcs: int32, of the
    same shape: which arc's weight a word is; -1 for none, and the number of arcs where INF fills up a record.
    start: int64, (n + 1,): the first record of each row. One record more ends the arrays.
    """

    words: np.ndarray
    arcs: np.ndarray
    start: np.ndarray


@lru_cache(maxsize=1)
def records(cells: Cells) -> Records:
    """The records of all rows."""
    degrees, arcs = np.diff(cells.start), len(cells.heads)
    further = np.maximum(0, -(-(degrees - FIRST_ARCS) // MORE_ARCS))
    start = starts(1 + further)
    words, of_arc = np.zeros((start[-1] + 1, 4), np.uint32), np.full((start[-1] + 1, 4), arcs, np.int32)
    words[start[:-1], 0], words[start[:-1], 1] = cells.own, further
    of_arc[:, 0], of_arc[start[:-1], 1], of_arc[-1] = -1, -1, -1
    # Where each arc lies: a row's first record has no room for the first of three.
    place = np.arange(arcs) - np.repeat(cells.start[:-1], degrees) + MORE_ARCS - FIRST_ARCS
    record = np.repeat(start[:-1], degrees) + place // MORE_ARCS
    place %= MORE_ARCS
    of_arc[record, 1 + place] = np.arange(arcs)
    for i in range(MORE_ARCS):
        here = place == i
        words[record[here], 0] |= (cells.slots[here] << (SLOT_BITS * i)).astype(np.uint32)
    return Records(words.ravel(), of_arc.ravel(), start)


@dataclass(frozen=True, eq=False)
class Steps:
    """Cells for a search from one source, which takes all vertices of a cell of the same depth in one step.

    order: int32, (n,): the rows of each cell by depth. begins, ends: int32, (n,): the arcs of these rows. start: int32:
    where in order each step starts, and n. cell_steps: int64, (cells + 1,): the first step of each cell. places: int32,
    (arcs,): of each head, among the boundary and then the rows of the cell. room: the most rows of a cell with its
    boundary. most: the most steps of a cell.
    """

    order: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    start: np.ndarray
    cell_steps: np.ndarray
    places: np.ndarray
    room: int
    most: int


@lru_cache(maxsize=1)
def steps(cells: Cells) -> Steps:
    """The steps of all cells."""
    order = np.lexsort((cells.depths, cells.cell)).astype(np.int32)
    cell, depth = cells.cell[order], cells.depths[order]
    first = np.flatnonzero(np.r_[True, (cell[1:] != cell[:-1]) | (depth[1:] != depth[:-1])])
    widths = np.diff(cells.borders)
    tail_cell = np.repeat(cells.cell, np.diff(cells.start))
    inside = cells.cell[cells.heads] == tail_cell
    local = cells.heads - cells.cell_rows[tail_cell] + widths[tail_cell]
    places = np.where(inside, local, cells.slots).astype(np.int32)
    room = int((widths + np.diff(cells.cell_rows)).max())
    begins, ends = (cells.start[at].astype(np.int32) for at in (order, order + 1))
    cell_steps = np.searchsorted(first, cells.cell_rows)
    start = np.r_[first, len(order)].astype(np.int32)
    return Steps(order, begins, ends, start, cell_steps, places, room, int(np.diff(cell_steps).max()))


def jobs(cells: Cells, level: int, rows: int) -> np.ndarray:
    """int64: the first cell of each job, where a level is cut into jobs of about so many rows; and the level's end."""
    first, end = cells.level_cells[level], cells.level_cells[level + 1]
    at = cells.cell_rows[first:end]
    new = np.r_[True, at[1:] // rows != at[:-1] // rows] if len(at) else np.zeros(0, bool)
    return np.r_[np.flatnonzero(new) + first, end]


@dataclass(frozen=True, eq=False)
class Triangles:
    """In which order the arcs are customized: all of one height at once, the lowest first.

    arcs: int32, (arcs,): by height of the tail. tails: int32, (arcs,): the row that each arc leaves, in the order of
    rows. start: int64, (height + 1,): where in arcs each height starts.
    """

    arcs: np.ndarray
    tails: np.ndarray
    start: np.ndarray


@lru_cache(maxsize=1)
def triangles(cells: Cells) -> Triangles:
    """The order for a hierarchy's arcs."""
    height = heights(cells.start, cells.heads, cells.depths)
    tails = np.repeat(np.arange(len(height), dtype=np.int32), np.diff(cells.start))
    arcs = np.argsort(height[tails], kind="stable").astype(np.int32)
    return Triangles(arcs, tails, starts(np.bincount(height[tails], minlength=1)))


def heights(start: np.ndarray, heads: np.ndarray, depths: np.ndarray) -> np.ndarray:
    """int32, (n,): how many vertices lie below each row on the longest way down."""
    found = np.zeros(len(depths), np.int32)
    order = np.argsort(-depths, kind="stable")
    ends = starts(np.bincount(depths)[::-1])
    for first, end in pairwise(ends[:-1]):  # the deepest first; roots have no parent
        rows = order[first:end]
        np.maximum.at(found, heads[start[rows]], found[rows] + 1)
    return found


@lru_cache(maxsize=1)
def of(graph: Graph) -> tuple[Hierarchy, Cells]:
    """The hierarchy of a graph and its cells, made once."""
    hierarchy = elimination.of(graph)
    return hierarchy, cut(hierarchy, sizes_for(graph.vertices))
