"""The rows of arcs of near_far, and the words that its blocks share. Does not import numba.

Rows have equal width, so that the start of a vertex's row is computed, not read. A row is relaxed by one thread per
arc. If a vertex has more arcs than its row can hold, the row's last word is a link to up to DIRECT further arcs. If it
has more than DIRECT further arcs, the link leads to a fan instead: further rows, which are enqueued like vertices and
can have links to arcs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..graph import Graph, kept

WIDTHS = (4, 8, 16, 32)  # arcs of a row: a power of two
DIRECT = 124  # maximum arcs behind a link to arcs
LARGE = 2**22  # minimum vertices of a large graph: its distances take 16 MB, a third of the L2 cache
HUBS = 16  # a graph has hubs if half of its arcs lead to 1 / HUBS of its vertices
LINK, FAN = np.uint64(1 << 63), np.uint64(1 << 62)  # bits of a word: LINK of every link, FAN of a link to rows
# Words that all blocks share:
#   CALLED   0 until a block calls a meeting early; then the number of the last meeting called early, plus 1
#   LEASTS   the least distance in far; three words, for meetings by their number modulo 3
#   QUEUED   the number of rows queued for their arcs of weight 0; two words, for even and odd levels
#   LONG     1 + the number of the last meeting before which some block had FEW_ROUNDS rounds; two words, for even and
#            odd meetings
#   WASTEFUL the number of blocks that were stopped with entries left and repeated much work; three words, like LEASTS
#   ARRIVED  how often blocks have gone to a meeting: once per block for each earlier meeting, and once for each block
#            that waits for the next meeting
#   UNEVEN   1 + the number of the last meeting called because most blocks had an empty queue; two words, like LONG
#   BUSY     the number of blocks that had an entry before the meeting; three words, like LEASTS
#   LENGTHS  the length of each part of far: a word per block for even meetings, then a word per block for odd meetings
CALLED, LEASTS, QUEUED, LONG, WASTEFUL, ARRIVED, UNEVEN, BUSY, LENGTHS = (
    np.uint32(i) for i in (0, 1, 4, 6, 8, 11, 12, 14, 17)
)


class RowLayout(NamedTuple):
    """The layout of a graph's arcs in rows. Row v < n belongs to the vertex with number v (see `order`)."""

    width: int  # words of a row
    order: np.ndarray  # int32, (n,): the vertex with each number; empty if each vertex is its own number
    rank: np.ndarray  # int32, (n,): the number of each vertex; empty if `order` is empty
    total: int  # number of rows
    queued: int  # number of rows that may be enqueued: n rows of vertices, followed by the rows of fans
    owners: np.ndarray  # uint32: for each row of a fan, the number of the vertex that it belongs to
    starts: np.ndarray  # int32: index of the first arc of each row of a fan
    stops: np.ndarray  # int32: index after the last arc of each row of a fan
    linked: np.ndarray  # uint32: rows whose last word is a link
    links: np.ndarray  # uint64: these last words; upper half: number of arcs, or of a fan's rows; lower half: first row
    behind: np.ndarray  # int32: index of the first arc behind each link; 0 for a link to rows


def width_for(degrees: np.ndarray) -> int:
    """Return the width of the rows: the least width with which few vertices have more arcs than their row can hold.

    Links take time. Unused words take time too, and wide rows have more unused words. When measured, rows of 4 with
    links in 1 of 200 rows were slower than rows of 8. Rows of 16 with links in 1 of 16 rows were faster than rows of
    32. If most arcs belong to vertices with more arcs than the widest row can hold, wide rows avoid few links.
    """
    widest = WIDTHS[-1]
    if 2 * degrees[degrees > widest].sum(dtype=np.int64) > degrees.sum(dtype=np.int64):
        return WIDTHS[0]
    return next(width for width in WIDTHS if (degrees > width).mean() <= (width / widest) ** 3)


def order_by_degree(graph: Graph) -> np.ndarray:
    """Return the vertices of a large graph with hubs by decreasing in-degree, int32; an empty array for other graphs.

    Most arcs of such a graph lead to hubs. So most of the distances that a search reads lie side by side, and stay in
    the L2 cache.
    """
    n = graph.vertices
    if n < LARGE:
        return np.empty(0, np.int32)
    degrees = np.bincount(graph.indices, minlength=n) if graph.directed else np.diff(graph.indptr)
    order = np.argsort(-degrees, kind="stable").astype(np.int32)
    has_hubs = 2 * degrees[order[: n // HUBS]].sum(dtype=np.int64) >= graph.arcs
    return order if has_hubs else order[:0]


@kept
def plain_layout(graph: Graph) -> RowLayout:
    """Return the rows of a graph in which each vertex is its own number; made once, before the clock starts."""
    return rows_of(graph, np.empty(0, np.int32))


@kept
def tree_layout(graph: Graph) -> RowLayout:
    """Return the narrowest rows of a graph, for finding predecessors only: each word of each row is read once."""
    return rows_of(graph, np.empty(0, np.int32), WIDTHS[0])


@kept
def search_layout(graph: Graph) -> RowLayout:
    """Return the rows of a graph for a search; made once, before the clock starts."""
    order = order_by_degree(graph)
    return rows_of(graph, order) if len(order) else plain_layout(graph)


def rows_of(graph: Graph, order: np.ndarray, width: int | None = None) -> RowLayout:
    """Return the rows of a graph whose vertices are numbered in this order; the default width is `width_for`'s."""
    n, degrees, first_arcs = graph.vertices, np.diff(graph.indptr), graph.indptr[:-1]
    width, rank = width or width_for(degrees), np.empty_like(order)
    rank[order] = np.arange(len(order), dtype=np.int32)
    if len(order):
        degrees, first_arcs = degrees[order], first_arcs[order]
    own, most = width - 1, width - 1 + DIRECT  # maximum arcs in a row with a link; in the row and behind the link
    long = np.flatnonzero(degrees > width)
    fanned, others = long[degrees[long] > most], long[degrees[long] <= most]
    fans = -(-(degrees[fanned] - own) // most)
    first = np.cumsum(fans) - fans  # first row of each fan, counted from row n
    owners = np.repeat(fanned, fans)
    starts = first_arcs[owners] + own + (np.arange(len(owners)) - np.repeat(first, fans)) * most
    stops = np.minimum(first_arcs[owners] + degrees[owners], starts + most)
    cut = np.flatnonzero(stops - starts > width)
    behind = np.r_[first_arcs[others], starts[cut]] + own
    arcs = np.r_[first_arcs[others] + degrees[others], stops[cut]] - behind
    rows, queued = -(-arcs // width), n + len(owners)
    counts, firsts = np.r_[arcs, fans], np.r_[queued + np.cumsum(rows) - rows, n + first]
    links = LINK | (counts.astype(np.uint64) << np.uint64(32)) | firsts.astype(np.uint64)
    links[len(arcs) :] |= FAN
    return RowLayout(
        width,
        order,
        rank,
        queued + int(rows.sum()),
        queued,
        owners.astype(np.uint32),
        starts.astype(np.int32),
        stops.astype(np.int32),
        np.r_[others, n + cut, fanned].astype(np.uint32),
        links,
        np.r_[behind, 0 * fanned].astype(np.int32),
    )
