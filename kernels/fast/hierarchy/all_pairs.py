"""Searches from many sources of a graph in a hierarchy, in pieces that fit in the card's memory.

    search = ManySourceSearch(graph, reduces=True)
    found = reduced(search, sources)       # for each source: farthest vertex, sum of distances, vertices reached
    search = ManySourceSearch(graph, reduces=False)
    for sources, rows in matrix_pieces(search, sources): ...    # the distances, on the card

Each piece reuses the memory of the previous one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...gpu import card
from ...gpu.compiler import cuda
from ...gpu.intrinsics import i32, thread_x, u64
from ...gpu.launching import blocks_for
from ...graph import Graph
from ...run import POISON, Run
from .customize import OnCard
from .many_sources import ManySources

BYTES = 60 * 10**9  # maximum size of the distances on the card
COLUMN_THREADS = 4 if card.SIMULATED else 256


@cuda.jit
def fill(value, words):
    """Set words[:] = value; the threads share the words."""
    i = u64(thread_x())
    while i < u64(len(words)):
        words[i] = value
        i = u64(i + u64(cuda.gridsize(1)))


@cuda.jit
def take_columns(pitch, columns, row_of, matrix, out):
    """Set out[k, vertex] = matrix[row of the vertex, columns[k]], with one thread per vertex."""
    vertex, n = u64(thread_x()), u64(len(row_of))
    if vertex < n:
        row = u64(u64(row_of[vertex]) * pitch)
        k = u64(0)
        while k < u64(len(columns)):
            out[u64(k * n + vertex)] = i32(matrix[u64(row + u64(columns[k]))])
            k = u64(k + u64(1))


@dataclass(frozen=True)
class Reduced:
    """Results per source; arrays of shape (k,), int32 unless stated."""

    sources: np.ndarray
    eccentricity: np.ndarray  # largest distance to a reached vertex
    farthest: np.ndarray  # a vertex at that distance
    reached: np.ndarray  # number of reached vertices, including the source
    total: np.ndarray  # int64: sum of the distances to the reached vertices
    reciprocals: np.ndarray | None = None  # float64: sum of 1 / distance, without distances of 0; None by default


class ManySourceSearch:
    """Search from many sources of one graph, whose hierarchy is prepared and then customized on the card.

    reduces: see `ManySources`. bytes: maximum size of the distances on the card. on_card: the hierarchy, with its Run,
    if it is laid out. Raises InputError if the graph is unfit for a hierarchy, and NotEnoughMemory.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        reduces: bool,
        run: Run | None = None,
        bytes: int = BYTES,
        on_card: OnCard | None = None,
    ):
        self.on_card = on_card or OnCard(graph, run or Run())
        self.run = self.on_card.run
        self.many = ManySources(self.on_card, reduces=reduces)
        self.bytes = bytes
        fragments = self.on_card.fragments
        self.numbers = fragments.numbers[fragments.vertex_rows]  # preorder number of each vertex

    def columns(self, sources: int, source_bytes: int) -> int:
        """Return a number of columns: enough for the sources, or as many as fit in memory at `source_bytes` each."""
        many, free = self.many, card.free_memory() * 9 // 10 if card.gpu_visible() else self.bytes
        fit = min(self.bytes, free) // source_bytes // many.group * many.group
        return max(many.group, min(fit, many.pitch(sources)))

    @property
    def most(self) -> int:
        """The number of sources of one search that fit in memory now."""
        return max(self.many.most, self.columns(self.on_card.graph.vertices, self.many.source_bytes))

    @property
    def customize_s(self) -> float:
        return self.run.phases["customize"]

    @property
    def search_s(self) -> float:
        """Seconds that all searches so far took on the card."""
        return self.run.phases["kernels"]

    def allocate(self, sources: int) -> None:
        """Allocate memory for `sources` sources; keep an earlier allocation if it is larger."""
        if sources > self.many.most:
            self.many.allocate(sources)

    def poison(self) -> None:
        """Fill the allocated memory with a value that cannot be a distance."""
        blocks, value = 8 * self.run.multiprocessors, np.int32(POISON).view(np.uint32)
        fills = [(fill, blocks, self.run.block, (value, array)) for array in (self.many.matrix, self.many.found)]
        self.run.prepare_async(*fills)()

    def rows(self, columns: np.ndarray) -> np.ndarray:
        """Copy columns of the last piece from the card: distances, int32, (k, n), INF if there is no path.

        Column k belongs to source k of the piece. Requires reduces=False.
        """
        n, run = self.on_card.graph.vertices, self.run
        found = np.empty((len(columns), n), np.int32)
        (chosen,) = run.upload(np.asarray(columns, np.int32))
        (out,) = run.allocate((found.size, np.int32))
        arguments = np.uint64(self.many.most), chosen, self.on_card.vertex_rows, self.many.matrix, out
        run.prepare_async((take_columns, blocks_for(n, run.block), run.block, arguments))()
        run.download((out, found.reshape(-1)))
        return found

    def pieces(self, sources: np.ndarray, most: int | None = None, *, inverts: bool = False) -> Iterator[np.ndarray]:
        """Search from the sources in preorder, at most `most` at once. After each search, yield its sources.

        inverts: see `ManySources.search`.
        """
        most, sources = most or self.most, np.asarray(sources)
        sources = sources[np.argsort(self.numbers[sources], kind="stable")]
        if not len(sources):
            return
        self.allocate(min(most, len(sources)))
        for start in range(0, len(sources), most):
            piece = sources[start : start + most]
            search = self.many.search(self.numbers[piece], inverts=inverts)
            with self.run.phase("kernels"):
                search()
            yield piece


def reduced(search: ManySourceSearch, sources: np.ndarray, *, reciprocals: bool = False) -> Reduced:
    """Search from the sources and return their results in the order given. Requires reduces=True.

    reciprocals: whether to sum the reciprocal distances. The sums' last digits vary from run to run, because the order
    of addition varies.
    """
    on_card, many = search.on_card, search.many
    of_row = on_card.hierarchy.vertices[on_card.fragments.numbers]  # the vertex of each row
    pieces, parts = [], []
    for piece in search.pieces(sources, inverts=reciprocals):
        totals = [np.empty(len(piece), array.dtype) for array in many.totals]
        search.run.download(*((array[: len(piece)], host) for array, host in zip(many.totals, totals, strict=True)))
        pieces.append(piece)
        parts.append(totals)
    position = np.empty(on_card.graph.vertices, np.int64)
    piece = np.concatenate(pieces)
    position[piece] = np.arange(len(piece))
    order = position[np.asarray(sources)]
    farthest, total, reached, *inverse = (np.concatenate(arrays)[order] for arrays in zip(*parts, strict=True))
    rows, eccentricity = ~farthest.astype(np.uint32), (farthest >> np.uint64(32)).astype(np.int64) - 1
    columns = eccentricity.astype(np.int32), of_row[rows].astype(np.int32), reached.astype(np.int32)
    return Reduced(piece[order], *columns, total.astype(np.int64), *inverse)


def matrix_pieces(search: ManySourceSearch, sources: np.ndarray) -> Iterator[tuple[np.ndarray, object]]:
    """Yield pieces of the sources, in preorder, with their distances on the card: int32, (k * n,), INF if no path.

    The next piece overwrites the distances. Requires reduces=False. A piece has at most half of `search.most` sources,
    because the card holds the distances twice: in the search's order and in the order that is yielded.
    """
    n, most = search.on_card.graph.vertices, max(1, search.most // 2)
    (out,) = search.run.allocate((min(most, len(sources)) * n, np.int32))
    for piece in search.pieces(sources, most):
        search.many.rows_by_vertex(len(piece), out)()
        yield piece, out[: len(piece) * n]


@cuda.jit
def add_columns(count, pitch, matrix, totals):
    """Add the first `count` columns of each row to totals[row], with one block per row."""
    row, total = u64(cuda.blockIdx.x), u64(0)
    column = u64(cuda.threadIdx.x)
    while column < count:
        total = u64(total + u64(matrix[u64(row * pitch + column)]))
        column = u64(column + u64(cuda.blockDim.x))
    cuda.atomic.add(totals, row, total)


def sums_over_sources(search: ManySourceSearch, sources: np.ndarray) -> np.ndarray:
    """Return for each vertex the sum of its distances from the sources: int64, (n,). Requires reduces=False.

    If there is no path from a source, INF is added.
    """
    n, run, many = search.on_card.graph.vertices, search.run, search.many
    (totals,) = run.upload(np.zeros(n, np.uint64))
    for piece in search.pieces(sources):
        arguments = np.uint64(len(piece)), np.uint64(many.most), many.matrix, totals
        run.prepare_async((add_columns, n, COLUMN_THREADS, arguments))()
    by_row = np.empty(n, np.uint64)
    run.download((totals, by_row))
    return by_row[search.on_card.fragments.vertex_rows].astype(np.int64)
