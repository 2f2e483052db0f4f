"""What near_far's host side and its kernels share: rows of arcs, and words that all blocks read and write.

Needs no compiler, as near_far.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels.graph import Graph, kept

DEGREE = 4  # arcs of a row
DIRECT = 124  # arcs behind a link to arcs, at most
LINK, FAN = np.uint64(1 << 63), np.uint64(1 << 62)  # bits of a link: it is one; it leads to rows
# Words that all blocks share: the meeting that is called for, the least distance of far by meeting modulo 3, how many
# entries are queued for their arcs of weight 0, and from LENGTHS on how many each part of far has, of even and of odd
# meetings.
CALLED, LEASTS, QUEUED, LENGTHS = (np.uint32(i) for i in (0, 1, 4, 5))


class Rows(NamedTuple):
    """Which arcs of a graph's CSR arrays its rows have. Row v < n is vertex v's.

    count: of all rows. queued: of those that may be enqueued; they come first, and after n there are those of fans.
    owners, starts, stops: of each row of a fan, uint32 and int32: the vertex that it belongs to, and its arcs.
    linked: uint32, the rows whose last word is a link. links: uint64, those words: LINK, how many above the first row
    of them: arcs from there on, or with FAN rows. behind: int32, the first of the arcs behind each link; 0 of a fan's.
    """

    count: int
    queued: int
    owners: np.ndarray
    starts: np.ndarray
    stops: np.ndarray
    linked: np.ndarray
    links: np.ndarray
    behind: np.ndarray


@kept
def layout(graph: Graph) -> Rows:
    """The rows of a graph: found once, before the clock starts."""
    n, indptr, degrees = graph.vertices, graph.indptr, np.diff(graph.indptr)
    own, most = DEGREE - 1, DEGREE - 1 + DIRECT  # arcs beside a link; and with those behind it
    long = np.flatnonzero(degrees > DEGREE)
    hubs, others = long[degrees[long] > most], long[degrees[long] <= most]
    fans = -(-(degrees[hubs] - own) // most)
    first = np.cumsum(fans) - fans  # row of each fan, after n
    owners = np.repeat(hubs, fans)
    starts = indptr[owners] + own + (np.arange(len(owners)) - np.repeat(first, fans)) * most
    stops = np.minimum(indptr[owners + 1], starts + most)
    cut = np.flatnonzero(stops - starts > DEGREE)
    behind = np.r_[indptr[others], starts[cut]] + own
    arcs = np.r_[indptr[others + 1], stops[cut]] - behind
    rows, queued = -(-arcs // DEGREE), n + len(owners)
    counts, firsts = np.r_[arcs, fans], np.r_[queued + np.cumsum(rows) - rows, n + first]
    links = LINK | (counts.astype(np.uint64) << np.uint64(32)) | firsts.astype(np.uint64)
    links[len(arcs) :] |= FAN
    return Rows(
        queued + int(rows.sum()),
        queued,
        owners.astype(np.uint32),
        starts.astype(np.int32),
        stops.astype(np.int32),
        np.r_[others, n + cut, hubs].astype(np.uint32),
        links,
        np.r_[behind, 0 * hubs].astype(np.int32),
    )
