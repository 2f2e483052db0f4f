"""The rows of arcs and the shared words of near_far, for its host side and its kernels.

Imports no compiler, like near_far.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels.graph import Graph, kept

WIDTHS = (4, 8, 16, 32)  # arcs of a row: a power of two
DIRECT = 124  # maximum arcs behind a link to arcs
LARGE = 2**22  # minimum vertices of a large graph: its distances take 16 MB, a third of the L2 cache
HUBS = 16  # a graph has hubs if half of its arcs lead to 1 / HUBS of its vertices
LINK, FAN = np.uint64(1 << 63), np.uint64(1 << 62)  # bits of a word: it is a link; the link leads to rows
# Words that all blocks share:
#   CALLED   the meeting that is called for
#   LEASTS   the least distance in far, by meeting modulo 3
#   QUEUED   the number of rows queued for their arcs of weight 0, by level modulo 2
#   LONG     the last meeting before which a block had FEW_ROUNDS rounds, by meeting modulo 2
#   WASTED   the number of blocks that were stopped with entries left and repeated much work, by meeting modulo 3
#   LENGTHS  from here on, the length of each part of far, for even and then for odd meetings
CALLED, LEASTS, QUEUED, LONG, WASTED, LENGTHS = (np.uint32(i) for i in (0, 1, 4, 6, 8, 11))


class Rows(NamedTuple):
    """The arcs of a graph's CSR arrays by row. Row v < n belongs to the vertex with number v; see `order`."""

    width: int  # words of a row
    order: np.ndarray  # int32, (n,): the vertex with each number; empty if a vertex is its own number
    rank: np.ndarray  # int32, (n,): the number of each vertex, or empty
    total: int  # number of rows
    queued: int  # number of rows that may be enqueued: first n rows of vertices, then the rows of fans
    owners: np.ndarray  # uint32: number of the vertex of each row of a fan
    starts: np.ndarray  # int32: first arc of each row of a fan
    stops: np.ndarray  # int32: end of its arcs
    linked: np.ndarray  # uint32: rows whose last word is a link
    links: np.ndarray  # uint64: these words; upper half: number of arcs (FAN: rows) behind the link; lower: first row
    behind: np.ndarray  # int32: first arc behind each link; 0 for a link to rows


def width_for(degrees: np.ndarray) -> int:
    """Return the width of the rows: the least for which few enough vertices have more arcs than fit in a row.

    Links take time, and so do unused words, of which wide rows have more. Measured: rows of 4 with links in 1 of 200
    rows were slower than rows of 8. Rows of 16 with links in 1 of 16 rows were faster than rows of 32. If most arcs
    belong to vertices with more arcs than the widest row has, wide rows save few links.
    """
    widest = WIDTHS[-1]
    if 2 * degrees[degrees > widest].sum(dtype=np.int64) > degrees.sum(dtype=np.int64):
        return WIDTHS[0]
    return next(width for width in WIDTHS if (degrees > width).mean() <= (width / widest) ** 3)


def order_by_degree(graph: Graph) -> np.ndarray:
    """Return the vertices by in-degree, the largest first, for a large graph with hubs; else an empty array: int32.

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
def layout(graph: Graph) -> Rows:
    """Return the rows of a graph, each vertex its own number; made once, before the clock starts."""
    return rows_of(graph, np.empty(0, np.int32))


@kept
def search_layout(graph: Graph) -> Rows:
    """Return the rows of a graph for a search; made once, before the clock starts."""
    order = order_by_degree(graph)
    return rows_of(graph, order) if len(order) else layout(graph)


def rows_of(graph: Graph, order: np.ndarray) -> Rows:
    """Return the rows of a graph whose vertices are numbered in this order."""
    n, degrees, first_arcs = graph.vertices, np.diff(graph.indptr), graph.indptr[:-1]
    width, rank = width_for(degrees), np.empty_like(order)
    rank[order] = np.arange(len(order), dtype=np.int32)
    if len(order):
        degrees, first_arcs = degrees[order], first_arcs[order]
    own, most = width - 1, width - 1 + DIRECT  # maximum arcs beside a link, and including those behind it
    long = np.flatnonzero(degrees > width)
    fanned, others = long[degrees[long] > most], long[degrees[long] <= most]
    fans = -(-(degrees[fanned] - own) // most)
    first = np.cumsum(fans) - fans  # row of each fan, after n
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
    return Rows(
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
