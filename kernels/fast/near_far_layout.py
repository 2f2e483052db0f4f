"""The rows of arcs and the shared words of near_far, for its host side and its kernels.

Imports no compiler, like near_far.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels.graph import Graph, kept

DEGREE = 4  # arcs of a row
DIRECT = 124  # maximum arcs behind a link to arcs
LINK, FAN = np.uint64(1 << 63), np.uint64(1 << 62)  # bits of a word: it is a link; the link leads to rows
# Words that all blocks share: the meeting that is called for; the least distance of far, by meeting modulo 3; the
# number of entries queued for their arcs of weight 0; from LENGTHS on, the length of each part of far, for even and
# for odd meetings.
CALLED, LEASTS, QUEUED, LENGTHS = (np.uint32(i) for i in (0, 1, 4, 5))


class Rows(NamedTuple):
    """The arcs of a graph's CSR arrays by row. Row v < n belongs to vertex v."""

    total: int  # number of rows
    queued: int  # number of rows that may be enqueued; they come first, from n on those of fans
    owners: np.ndarray  # uint32: vertex of each row of a fan
    starts: np.ndarray  # int32: first arc of each row of a fan
    stops: np.ndarray  # int32: end of its arcs
    linked: np.ndarray  # uint32: rows whose last word is a link
    links: np.ndarray  # uint64: these words: LINK, and the count above the first row of arcs, or with FAN of rows
    behind: np.ndarray  # int32: first of the arcs behind each link; 0 for a link to rows


@kept
def layout(graph: Graph) -> Rows:
    """Return the rows of a graph; made once, before the clock starts."""
    n, indptr, degrees = graph.vertices, graph.indptr, np.diff(graph.indptr)
    own, most = DEGREE - 1, DEGREE - 1 + DIRECT  # maximum arcs beside a link, and including those behind it
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
