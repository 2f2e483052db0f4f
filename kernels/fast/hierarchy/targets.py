"""Distances from many sources to some targets in a hierarchy.

Only fragments that hold a target, or lie above one that does, are searched.

    ascend    from each source (many_sources.py); after `choose` if there are more than AHEAD sources
    choose    fragment 0, the fragments that hold a target, and all fragments above these; renumber their rows
    descend   from the root through the chosen fragments (many_sources.py)
    take      out[source, target] = matrix[the target's row, the source's column]

The method is RPHAST (D. Delling, A. V. Goldberg, R. F. Werneck, Faster Batched Shortest Paths in Road Networks, ATMOS
2011), which keeps the vertices above a target. Here whole fragments are kept, so that the kernels of many_sources.py
search them. Rows of the other fragments are neither computed nor stored.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit

from ...gpu import internals
from ...gpu.compiler import cuda, uint32
from ...gpu.copies import Uploads
from ...gpu.intrinsics import u64
from ...gpu.launching import blocks_for
from ...graph import INF, kept, starts
from ...run import Run
from . import fragments as cutting
from .all_pairs import ManySourceSearch
from .customize import Extents, TreeOnCard
from .fragments import Fragments
from .many_sources import LANES, TILE_PITCH, RecordsOnCard, Totals, search_fragments

FEW_BLOCKS = 2  # a level has few blocks if it has at most FEW_BLOCKS times as many as the card can run at once
AHEAD = 4096  # maximum number of sources from which the card ascends before fragments are chosen
KEPT = 2**30  # maximum bytes on the card that are kept for the next search


@dataclass(frozen=True, eq=False)
class Above:
    """How the k fragments depend on each other; int32."""

    parents: np.ndarray  # (k,): fragment of the parent of each fragment's top; 0 if the top is a root
    of_boundary: np.ndarray  # fragment of each row of fragments.boundary
    classes: np.ndarray  # (k,): number of each fragment's class (`fragments.classes`), counted over all levels


@kept
def above(fragments: Fragments) -> Above:
    """Return how the fragments of a hierarchy depend on each other."""
    of_boundary = fragments.of_row[fragments.boundary]
    parents, has_parent = np.zeros(len(fragments.tops), np.int32), np.flatnonzero(np.diff(fragments.borders))
    parents[has_parent] = of_boundary[fragments.borders[has_parent + 1] - 1]  # the top's parent ends the boundary
    first = np.concatenate([cutting.classes(fragments, level)[:-1] for level in range(fragments.levels)])
    classes = np.searchsorted(first, np.arange(len(parents)), side="right").astype(np.int32) - 1
    return Above(parents, of_boundary, classes)


@dataclass(frozen=True, eq=False)
class Chosen:
    """The c chosen fragments. Their rows and the fragments are renumbered and keep their order."""

    first: np.ndarray  # int64, (c,): the former number of each fragment's first row
    row_start: np.ndarray  # int64, (c + 1,): as in Fragments, as are borders, boundary and tops
    borders: np.ndarray  # int64, (c + 1,)
    boundary: np.ndarray  # int32
    tops: np.ndarray  # int32, (c,)
    class_start: np.ndarray  # int64: first fragment of each class, and c
    targets: np.ndarray  # int32, (t,): row of each target

    @property
    def rows(self) -> int:
        return int(self.row_start[-1])


def choose(fragments: Fragments, targets: np.ndarray) -> Chosen:
    """Return the fragments that hold a target (a row), and all fragments above these. Fragment 0 is always chosen."""
    depend = above(fragments)
    chosen = np.flatnonzero(needed(fragments.of_row[targets], depend.parents))
    first = fragments.row_start[chosen]
    row_start = starts(fragments.row_start[chosen + 1] - first)
    moved = np.zeros(len(fragments.tops), np.int64)  # for each former fragment: new minus former number of its rows
    moved[chosen] = row_start[:-1] - first
    widths = fragments.borders[chosen + 1] - fragments.borders[chosen]
    borders = starts(widths)
    boundary = np.empty(borders[-1], np.int32)
    renumber(fragments.boundary, depend.of_boundary, moved, fragments.borders[chosen], borders, boundary)
    classes = depend.classes[chosen]
    return Chosen(
        first=first,
        row_start=row_start,
        borders=borders,
        boundary=boundary,
        tops=fragments.tops[chosen],
        class_start=np.searchsorted(classes, np.arange(depend.classes[-1] + 2)),
        targets=(targets + moved[fragments.of_row[targets]]).astype(np.int32),
    )


@njit(cache=True)
def needed(held, parents):
    """Return whether each fragment is fragment 0, holds a target, or lies above one that does.

    held: the fragment of each target.
    """
    found = np.zeros(len(parents), np.bool_)
    found[0] = True
    for fragment in held:
        while not found[fragment]:
            found[fragment] = True
            fragment = parents[fragment]
    return found


@njit(cache=True)
def renumber(old, of_old, moved, first, borders, boundary):
    """Set the boundaries of the chosen fragments, as renumbered rows.

    old: the boundaries of all fragments. first: index in `old` at which the boundary of each chosen fragment starts.
    """
    for fragment, start in enumerate(first):
        for i in range(borders[fragment], borders[fragment + 1]):
            row = start + i - borders[fragment]
            boundary[i] = old[row] + moved[of_old[row]]


@cuda.jit
def take_rows(first, row_start, tree, records, new_tree, new_records):
    """Copy the data of each row of a chosen fragment to the row's new number, with one block per fragment."""
    fragment = u64(cuda.blockIdx.x)
    row, end = u64(u64(row_start[fragment]) + u64(cuda.threadIdx.x)), u64(row_start[u64(fragment + u64(1))])
    former = u64(u64(first[fragment]) + u64(cuda.threadIdx.x))
    while row < end:
        new_tree.numbers[row] = tree.numbers[former]
        new_tree.ends[row] = tree.ends[former]
        new_tree.depths[row] = tree.depths[former]
        new_records[row] = records[former]
        row = u64(row + u64(cuda.blockDim.x))
        former = u64(former + u64(cuda.blockDim.x))


@cuda.jit
def take_targets(count, pitch, most, rows, places, matrix, none, out, seen):  # noqa: PLR0913
    """Set out[places[column], target] to the distance in matrix[rows[target], column], for `count` columns.

    A distance above `most` becomes none[0]. Set seen[0] = 1 if a distance is INF. Set seen[1] = 1 if a finite distance
    exceeds seen[2]. A block copies a tile of LANES x LANES distances. matrix and out are flat.
    """
    tile = cuda.shared.array((LANES, TILE_PITCH), uint32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    targets = len(rows)
    tiles = (count + LANES - 1) // LANES
    column = (cuda.blockIdx.x % tiles) * LANES
    target = (cuda.blockIdx.x // tiles) * LANES
    if target + y < targets and column + x < count:
        tile[y, x] = matrix[u64(u64(rows[target + y]) * pitch + u64(column + x))]
    cuda.syncthreads()
    if target + x < targets and column + y < count:
        at = u64(u64(places[column + y]) * u64(targets) + u64(target + x))
        distance = tile[x, y]
        if distance <= most:
            out[at] = distance
        else:
            out[at] = none[0]
        if distance == INF:
            seen[0] = 1
        elif distance > seen[2]:
            seen[1] = 1


def taking(count: int, pitch: int, most: int, rows: Any, places: Any, matrix: Any, into: tuple) -> tuple:
    """Return the launch of take_targets. into: the arrays `none`, `out` and `seen`, in this order."""
    tiles = blocks_for(count, LANES) * blocks_for(len(rows), LANES)
    arguments = np.int32(count), np.uint64(pitch), np.uint32(most), rows, places, matrix, *into
    return take_targets, tiles, (LANES, LANES), arguments


class Room(dict[str, Any]):
    """Arrays on the card by name, which searches use one after the other. Raises NotEnoughMemory."""

    def __init__(self, run: Run):
        self.run = run

    def array(self, name: str, length: int, dtype: type) -> Any:
        """Return an array; replace it if it is shorter than `length`."""
        if name not in self or self[name].size < length:
            self.pop(name, None)
            self.run.require(length * np.dtype(dtype).itemsize)
            (self[name],) = self.run.allocate((length, dtype))
        return self[name]

    def release(self, first: str, most: int = KEPT) -> None:
        """Free memory if all arrays exceed `most` bytes: the array `first`, then, if this is not enough, all."""
        if sum(array.nbytes for array in self.values()) > most:
            self.pop(first, None)
        if sum(array.nbytes for array in self.values()) > most:
            self.clear()


class TargetSearch:
    """Searches to some targets, in the hierarchy that `searches` laid out on the card.

    A search reuses the previous search's memory. Raises NotEnoughMemory.
    """

    def __init__(self, searches: ManySourceSearch):
        self.searches, self.on_card, self.run = searches, searches.on_card, searches.run
        self.levels = [[kind[:3] for kind in reversed(level)] for level in searches.many.plan]  # by class
        self.totals = Totals(*self.run.upload(*(np.zeros(1, kind) for kind in (np.uint64, np.uint64, np.uint32))))
        self.room = Room(self.run)

    @cached_property
    def uploads(self) -> Uploads:
        """The buffers for copies to the card."""
        return Uploads(self.run)

    def _choose(self, targets: np.ndarray) -> None:
        """Choose the fragments for these targets, which are vertices."""
        on, run = self.on_card, self.run
        self.chosen = chosen = choose(on.fragments, on.fragments.vertex_rows[targets])
        first, row_start, borders, boundary, self.tops, self.tasks, self.rows = self.uploads.copy(
            *(chosen.first, chosen.row_start, chosen.borders, chosen.boundary, chosen.tops),
            np.arange(len(chosen.first) + 1),  # one fragment per task
            chosen.targets,
        )
        self.extents = Extents(row_start, borders, boundary)
        self.tree = TreeOnCard(*(self.room.array(name, chosen.rows, np.int32) for name in TreeOnCard._fields))
        records = self.searches.many.records
        self.records = RecordsOnCard(self.room.array("records", chosen.rows, np.int64), records.words)
        copied = first, row_start, on.tree, records.start, self.tree, self.records.start
        run.launch((take_rows, len(chosen.first), LANES, copied))

    def result(self, length: int, dtype: np.dtype) -> Any:
        """Return an array on the card, (length,), that the next call may return again. Raises NotEnoughMemory."""
        size = length * dtype.itemsize
        return internals.part_of(self.room.array("result", size, np.uint8), 0, size, dtype)

    def search(self, sources: np.ndarray, targets: np.ndarray, most: int, none: Any, out: Any, seen: Any) -> Any:
        """Set out[i, j] to the distance from sources[i] to targets[j], without waiting for this search; return `seen`.

        most, none, out, seen: as in take_targets; none and the given `seen` are on the host, the returned one is on the
        card. sources, targets: vertices in any order. The sources are searched in preorder, in pieces that fit in
        memory. First waits for all earlier launches.
        """
        self.uploads.restart()
        none, seen = self.uploads.copy(none, seen)
        into = none, out, seen
        numbers = self.searches.numbers[sources]
        places = np.argsort(numbers, kind="stable").astype(np.int32)
        numbers = numbers[places]
        # The card ascends from few sources while the host chooses fragments. More sources may not fit in memory.
        ascended = self._ascend(numbers) if len(sources) <= AHEAD else None
        self._choose(targets)
        most_columns = self._allocate(len(sources))
        for start in range(0, len(sources), most_columns):
            piece = slice(start, start + most_columns)
            if ascended is None or most_columns < len(sources):
                ascended = self._ascend(numbers[piece])
            self._descend(*ascended, places[piece], most, into)
        return seen

    def _ascend(self, numbers: np.ndarray) -> tuple[int, Any]:
        """Ascend from the sources with these sorted numbers; return the number of columns, and a source for each."""
        many = self.searches.many
        columns = many.pitch(len(numbers))
        sources, source_rows = self.uploads.copy(*many.padded(numbers, columns))
        found = self.room.array("found", many.height * columns, np.uint32)
        self.run.launch_steps([many.ascent(columns, columns, source_rows, found)])
        return columns, sources

    def _descend(self, columns: int, sources: Any, places: np.ndarray, most: int, into: tuple) -> None:
        """Descend after `_ascend`, and write to the rows `places` of out."""
        (written,) = self.uploads.copy(places)  # the row of out of each column
        pitch, matrix, found = np.uint64(columns), self.room["matrix"], self.room["found"]
        steps: list[list] = []
        ends = self.chosen.class_start.tolist()
        for classes in self.levels:
            bounds, ends = ends[: len(classes) + 1], ends[len(classes) :]
            step = []
            for (kernel, count, shared), first, end in self._launches(classes, bounds, columns):
                groups = columns // (LANES * count)
                arguments = (
                    *(self.tasks, np.uint32(first), np.uint32(groups), pitch, self.extents, self.tops, self.tree),
                    *(self.records, sources, found, matrix, self.totals),
                )
                step.append((kernel, groups * (end - first), LANES, arguments, shared))
            steps.append(step[::-1])  # the widest class first
        steps.append([taking(len(places), columns, most, self.rows, written, matrix, into)])
        self.run.launch_steps(*steps)

    def _launches(self, classes: list[tuple], bounds: list[int], columns: int) -> list[tuple]:
        """Return the launches of a level: (kernel, sources per thread, bytes of shared memory), first fragment, end.

        bounds: the first fragment of each class, and the end. A level with few blocks takes as long as its longest
        fragment. Then there is one launch for all classes, which takes less time of the host. A thread has one source,
        because it searches a fragment from one source faster than from four.
        """
        held = [(kind, first, end) for kind, (first, end) in zip(classes, pairwise(bounds), strict=True) if first < end]
        shared = max((shared // count for (_, count, shared), *_ in held), default=0)
        blocks = columns // LANES * (bounds[-1] - bounds[0])
        if held and blocks <= FEW_BLOCKS * self.run.multiprocessors * (self.run.shared_limit // shared):
            return [((search_fragments(1, True, False, False), 1, shared), bounds[0], bounds[-1])]
        return held

    def _allocate(self, sources: int) -> int:
        """Allocate a matrix for `sources` sources, or for as many as fit; return its number of columns."""
        rows, many = self.chosen.rows, self.searches.many
        columns = many.pitch(sources)
        if "matrix" not in self.room or self.room["matrix"].size < rows * columns:
            self.room.pop("matrix", None)
            columns = self.searches.columns(sources, 4 * (rows + many.height + 2))
            self.run.require(4 * (rows + many.height) * columns)
            self.room.array("matrix", rows * columns, np.uint32)
        return columns

    def release(self, most: int = KEPT) -> None:
        """Free the memory of searches if it exceeds `most` bytes."""
        self.room.release("result", most)
        if not self.room:
            self.tree = self.records = None  # type: ignore[assignment]
