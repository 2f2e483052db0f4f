"""Test whether a graph is narrow: so deep for its size that a search on the card takes longer than SciPy takes.

A search on the card works in rounds. A round takes about a microsecond, even if it has few vertices. So a path of a
million vertices takes a second, and SciPy's Dijkstra takes a tenth of a second. Therefore, before the first search of a
graph, one block searches the graph breadth first. This probe stops at a wide level, after LEVELS levels, or when it
reaches no further vertices. The number of rounds is predicted from the levels and vertices that the probe reached. The
probe starts from the vertex with the most arcs, so that a random graph with an attached path does not count as narrow.

Threads mark a vertex by compare-and-swap; the thread that succeeds queues the vertex. Barriers separate the levels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..graph import Graph
from ..lazy import LazyModule
from . import near_far

LEVELS = 500  # maximum number of levels of the breadth-first search
WIDE_LEVEL = 64  # minimum number of vertices of a wide level
THREADS = 256  # maximum number of threads of the block
LEVEL_US = 1.5  # time of a search per level: a round takes 1 us, and there are more rounds than levels
VERTEX_US, ARC_US = 0.05, 0.025  # time of SciPy's search on a narrow graph, including making SciPy's array
kernels = LazyModule(".probe_kernels", __package__)  # imports numba


class Reached(NamedTuple):
    """The result of the breadth-first search."""

    levels: int
    vertices: int  # number of vertices reached
    wide: bool  # whether a level had at least WIDE_LEVEL vertices
    all: bool  # whether all reachable vertices were reached


def is_narrow(searches: near_far.NearFarSearch) -> bool:
    """Return whether SciPy should search the graph instead of `searches`.

    Call searches.allocate() first, because the probe uses this memory. The next search overwrites it.
    """
    graph = searches.graph
    hub = int(np.diff(graph.indptr).argmax())
    return search_us(graph, reach(searches, hub)) > scipy_us(graph)


def search_us(graph: Graph, found: Reached) -> float:
    """Estimate the microseconds that the rounds of a search on the card take; 0 if a level is wide."""
    if found.wide:
        return 0
    return LEVEL_US * found.levels * (1 if found.all else graph.vertices / found.vertices)


def scipy_us(graph: Graph) -> float:
    """Estimate the microseconds that SciPy takes from one source."""
    return VERTEX_US * graph.vertices + ARC_US * graph.arcs


def reach(searches: near_far.NearFarSearch, source: int) -> Reached:
    """Search the graph breadth first with one block."""
    run, words = searches.run, np.empty(searches.words_used, np.uint32)
    seen, queue = searches.predecessor, searches.far
    clear = kernels.clear, -(-searches.graph.vertices // run.block), run.block, (seen,)
    limits = np.uint32(searches.number_of(source)), np.uint32(LEVELS), np.uint32(WIDE_LEVEL)
    arguments = searches.laid.bits, *limits, searches.laid.arcs, seen, queue, searches.words
    run.launch(clear, (kernels.walk, 1, min(THREADS, run.block), arguments))
    run.download((searches.words, words))
    return Reached(int(words[0]), int(words[1]), bool(words[2]), bool(words[3]))
