"""Whether a graph is narrow: so deep for its size that a search from one source on the card takes longer than SciPy's.

A search on the card goes in rounds, of about a microsecond each, however few vertices a round has. A path of a million
vertices takes a second, and SciPy's Dijkstra a tenth of that. So before the first search of a graph one block goes
through it breadth first. It stops at a level that is wide, after LEVELS levels, or where no more is reached. What was
reached by then says about how many rounds a search will take. It starts from the vertex with most arcs, so that a path
that leads into a random graph does not make it narrow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels.fast import near_far
from kernels.graph import Graph
from kernels.later import Later

LEVELS = 500  # at most
WIDE = 64  # vertices of a level that is wide
THREADS = 256  # of the block, at most
LEVEL_US = 1.5  # of a search: its rounds take 1 us each, and there are more of them than levels
kernels = Later("kernels.fast.probe_kernels")  # imports numba
VERTEX_US, ARC_US = 0.05, 0.025  # of SciPy's search on a narrow graph, and of making its array


class Reached(NamedTuple):
    """levels: how many there were. vertices: how many were reached. wide: whether a level had WIDE vertices. all:
    whether all were reached that can be.
    """

    levels: int
    vertices: int
    wide: bool
    all: bool


def is_narrow(searches: near_far.Searches) -> bool:
    """Whether SciPy should search the graph of `searches`, which have their memory; the next search fills it anew."""
    graph = searches.graph
    hub = int(np.diff(graph.indptr).argmax())
    return search_us(graph, reach(searches, hub)) > scipy_us(graph)


def search_us(graph: Graph, found: Reached) -> float:
    """About how many microseconds a search on the card takes, for its rounds alone; 0 where a level is wide."""
    if found.wide:
        return 0
    return LEVEL_US * found.levels * (1 if found.all else graph.vertices / found.vertices)


def scipy_us(graph: Graph) -> float:
    """About how many microseconds SciPy takes from one source."""
    return VERTEX_US * graph.vertices + ARC_US * graph.arcs


def reach(searches: near_far.Searches, source: int) -> Reached:
    """Go through the graph breadth first, by one block."""
    run, words = searches.run, np.empty(searches.words_used, np.uint32)
    seen, queue = searches.predecessor, searches.far
    clear = kernels.clear, -(-searches.graph.vertices // run.block), run.block, (seen,)
    limits = np.uint32(source), np.uint32(LEVELS), np.uint32(WIDE)
    run.launch(clear, (kernels.walk, 1, min(THREADS, run.block), (*limits, searches.arcs, seen, queue, searches.words)))
    run.download((searches.words, words))
    return Reached(int(words[0]), int(words[1]), bool(words[2]), bool(words[3]))
