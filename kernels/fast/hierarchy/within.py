"""The vertices within a distance of many sources, or nearest to them, selected on the card.

    found[source] = {vertex: distance, if the distance is at most limit[source]}
    nearest: limit[source] = the least limit with `count` vertices, by bisection

In both kernels, a thread takes a source and a chunk of successive vertices. The first kernel counts the chunk's
entries. The second kernel writes them after the entries of earlier chunks. So the entries of a source are sorted by
vertex.
"""

from collections.abc import Iterator

import numpy as np

from ...gpu.card import SIMULATED
from ...gpu.compiler import cuda
from ...gpu.intrinsics import i32, u64
from ...gpu.launching import blocks_for
from ...graph import INF, starts
from .all_pairs import ManySourceSearch
from .many_sources import LANES

VERTICES_PER_THREAD = 5 if SIMULATED else 4096
MEMORY_SHARE = 4  # only 1 / MEMORY_SHARE of the columns that fit in memory are searched at once; results need memory


@cuda.jit
def count_within(columns, pitch, chunk, row_of, matrix, limits, counts):
    """Set counts[column, chunk] to the number of distances up to limits[column] in each chunk of the vertices."""
    groups = (columns + LANES - 1) // LANES
    column = u64(u64(cuda.blockIdx.x % groups) * u64(LANES) + u64(cuda.threadIdx.x))
    part, parts = u64(cuda.blockIdx.x // groups), u64(cuda.gridDim.x // groups)
    if column < u64(columns):
        vertex = u64(part * chunk)
        end = min(u64(vertex + chunk), u64(len(row_of)))
        limit, count = limits[column], 0
        while vertex < end:
            if matrix[u64(u64(row_of[vertex]) * pitch + column)] <= limit:
                count += 1
            vertex = u64(vertex + u64(1))
        counts[u64(column * parts + part)] = count


@cuda.jit
def take_within(columns, pitch, chunk, row_of, matrix, limits, start, vertices, distances):  # noqa: PLR0913
    """Write the vertices that count_within counts, and their distances, from index start[column, chunk] on."""
    groups = (columns + LANES - 1) // LANES
    column = u64(u64(cuda.blockIdx.x % groups) * u64(LANES) + u64(cuda.threadIdx.x))
    part, parts = u64(cuda.blockIdx.x // groups), u64(cuda.gridDim.x // groups)
    if column < u64(columns):
        vertex = u64(part * chunk)
        end = min(u64(vertex + chunk), u64(len(row_of)))
        limit, at = limits[column], u64(start[u64(column * parts + part)])
        while vertex < end:
            distance = matrix[u64(u64(row_of[vertex]) * pitch + column)]
            if distance <= limit:
                vertices[at] = i32(vertex)
                distances[at] = i32(distance)
                at = u64(at + u64(1))
            vertex = u64(vertex + u64(1))


class Selection:
    """Select among the distances of the last piece of a search, from `columns` sources."""

    def __init__(self, search: ManySourceSearch, columns: int):
        self.search, self.run, self.columns = search, search.run, columns
        self.parts = blocks_for(search.on_card.graph.vertices, VERTICES_PER_THREAD)
        (self.counts,) = self.run.allocate((columns * self.parts, np.int32))

    def _launch(self, kernel, limits: np.ndarray, *into) -> None:
        many, row_of = self.search.many, self.search.on_card.vertex_rows
        (on_card,) = self.run.upload(limits.astype(np.uint32))
        sizes = np.int32(self.columns), np.uint64(many.most), np.uint64(VERTICES_PER_THREAD)
        arguments = *sizes, row_of, many.matrix, on_card, *into
        self.run.launch((kernel, blocks_for(self.columns, LANES) * self.parts, LANES, arguments))

    def count(self, limits: np.ndarray) -> np.ndarray:
        """Return the number of vertices within each source's limit, by chunk: int32, (columns, chunks)."""
        self._launch(count_within, limits, self.counts)
        found = np.empty((self.columns, self.parts), np.int32)
        self.run.download((self.counts, found.reshape(-1)))
        return found

    def take(self, limits: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the number of vertices within each source's limit, these vertices and their distances: int32."""
        counts = self.count(limits)
        start = starts(counts.ravel())
        total = int(start[-1])
        self.run.require(8 * total + start.nbytes)
        vertices, distances = self.run.allocate(*[(max(1, total), np.int32)] * 2)
        self._launch(take_within, limits, *self.run.upload(start), vertices, distances)
        found = np.empty(total, np.int32), np.empty(total, np.int32)
        if total:
            self.run.download((vertices[:total], found[0]), (distances[:total], found[1]))
        return counts.sum(axis=1), *found

    def limits(self, count: int) -> np.ndarray:
        """Return for each source the least limit that holds `count` vertices, or all reached vertices if fewer."""
        low, high = np.zeros(self.columns, np.int64), np.full(self.columns, INF - 1)
        wanted = np.minimum(count, self.count(high).sum(axis=1))
        while (low < high).any():
            middle = (low + high) // 2
            enough = self.count(middle).sum(axis=1) >= wanted
            low, high = np.where(enough, low, middle + 1), np.where(enough, middle, high)
        return high


def vertices_within(
    search: ManySourceSearch, sources: np.ndarray, *, limit: int = INF - 1, nearest: int | None = None
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield pieces of the sources, in preorder, and the vertices within `limit` of each.

    nearest: if given, yield this number of nearest vertices instead, and all others as near as
    the last of these.

    A piece is four arrays: its sources; the number of vertices of each source; these vertices, sorted for each source;
    their distances. Requires a search with reduces=False.
    """
    group = search.many.group
    for piece in search.pieces(sources, max(group, search.most // MEMORY_SHARE // group * group)):
        selection = Selection(search, len(piece))
        yield piece, *selection.take(np.full(len(piece), limit) if nearest is None else selection.limits(nearest))
