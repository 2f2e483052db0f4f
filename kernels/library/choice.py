"""The choice of a variant by the graph's size and shape, the number of sources, and the card.

Each choice comes with a reason in words. searches.py also takes account of graphs that are too narrow for the card, of
weights in float64, and of layouts that already exist.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from .. import memory
from ..errors import InputError
from ..fast.float_graph import FloatGraph
from ..gpu import driver
from ..graph import Graph
from ..lazy import LazyModule
from .answers import HOST_BYTES

csgraph = LazyModule("scipy.sparse.csgraph")
libraries = LazyModule("..libraries", __package__)
elimination = LazyModule("..fast.hierarchy.elimination", __package__)
many_sources = LazyModule("..fast.hierarchy.many_sources", __package__)
nvvm = LazyModule("cuda.bindings.nvvm")
log = logging.getLogger(__name__)
NEAR_FAR, SCIPY = "delta_stepping/near_far", "dijkstra/scipy"
# Vertices plus arcs, times sources. Below it, SciPy ends before a search on a card has started.
LEAST_WORK_FOR_CARD = 2**15
LEAST_WORK_FOR_NETWORKIT = 2**20  # likewise; NetworKit takes about 40 ms to start, and more in a process's first search
SPARSE = 128  # a graph is sparse if it has less than 1 / SPARSE of all possible arcs
# Searches in a contraction hierarchy, which are not in the registry of variants. ROWS returns rows of distances,
# REDUCED reduces rows on the card, TARGETS returns the distances to some targets, NEAREST the nearest of some targets.
HIERARCHY_ROWS, HIERARCHY_REDUCED = "hierarchy/many_sources", "hierarchy/all_pairs"
HIERARCHY_TARGETS, HIERARCHY_NEAREST = "hierarchy/targets", "hierarchy/nearest"


class BreakEven(NamedTuple):
    """The least number of sources for which a contraction hierarchy is faster than one near_far search per source."""

    first: int  # if the hierarchy is not prepared
    prepared: int  # if the hierarchy's file lies beside the graph's file
    laid_out: int  # if a solver has laid the hierarchy out on the card


# Measured on nyc and e; docs/kernels.md has the numbers. For TARGETS, benchmarks/matrix_times.py found 1121 and 1026
# sources if the hierarchy is not prepared, 168 and 290 if it is, 3.2 and 1.0 if it is laid out. NEAREST is estimated
# from ROWS: without a hierarchy, the host receives a row for each target.
BREAK_EVEN = {
    HIERARCHY_ROWS: BreakEven(400, 120, 5),
    HIERARCHY_REDUCED: BreakEven(350, 100, 3),
    HIERARCHY_TARGETS: BreakEven(1100, 250, 3),
    HIERARCHY_NEAREST: BreakEven(400, 120, 5),
}
SHALLOW = 16  # if a vertex is within sqrt(vertices / SHALLOW) arcs of all others, the graph is no road network
SHARE = 10  # if at least one in SHARE vertices is a source, search all pairs (estimated from rates, not measured)
MOST_FOR_BLOCKED = 2**15  # with more vertices, hierarchy/apsp is faster (estimated from rates, not measured)


@dataclass(frozen=True)
class Card:
    """The properties of a card that the choice of a variant depends on."""

    shared: int  # maximum shared memory of a block in bytes
    free: int  # bytes free on the card
    name: str = "GPU"

    @classmethod
    def visible(cls) -> Card | None:
        """Return this machine's card; None without a GPU (warns once) or in the simulator.

        Raises InputError if this process was forked from one that had used the card.
        """
        if not gpu_usable():
            _say_no_gpu()
            return None
        driver.check_process()
        from ..gpu import card
        from ..run import Run

        return cls(Run().shared_limit, card.free_memory(), card.card_name())


def gpu_usable() -> bool:
    """Return whether there is a real GPU and numba can compile for it."""
    return not driver.simulated() and bool(driver.cards()) and _can_compile()


@cache
def _can_compile() -> bool:
    """Return whether numba-cuda and NVVM are installed.

    Do not import numba, because the import takes longer than many searches.
    """
    if not importlib.util.find_spec("numba_cuda"):
        return False
    try:
        nvvm.version()
    except (RuntimeError, nvvm.nvvmError):
        return False
    return True


@cache
def _say_no_gpu() -> None:
    if not log.isEnabledFor(logging.INFO):  # at level INFO, each choice logs its reason instead
        log.warning("%s: the CPU is used instead", why_no_gpu())


def why_no_gpu() -> str:
    """Return why no GPU is used."""
    if driver.simulated() or not driver.cards() or _can_compile():
        return "no GPU is visible"
    return f"a GPU is visible, but {driver.MISSING}"


_forked_with_networkit = False  # whether this process was forked from one that had imported NetworKit


def _note_networkit() -> None:
    global _forked_with_networkit
    _forked_with_networkit = _forked_with_networkit or "networkit" in sys.modules


os.register_at_fork(after_in_child=_note_networkit)  # a search by NetworKit would wait for OpenMP threads of the parent


def choose_sssp(graph: Graph | FloatGraph, card: Card | None) -> tuple[str, str]:
    """Return the variant (algorithm/variant) for one source, and the reason."""
    if card is None:
        return SCIPY, f"{why_no_gpu()}, and of the CPU libraries SciPy is the fastest from one source"
    if graph.vertices + graph.arcs < LEAST_WORK_FOR_CARD:
        return SCIPY, f"a GPU takes longer to start than {graph.vertices + graph.arcs:,} vertices and arcs"
    return NEAR_FAR, "the fastest measured variant from one source"


def choose_apsp(graph: Graph, card: Card | None) -> tuple[str, str]:
    """Return the variant for all pairs, and the reason."""
    from ..fast.blocked_floyd_warshall import PACKED_INF, TileShape
    from ..fast.hierarchy.variants import MATRIX_BYTES
    from ..fast.multi_source import bytes_of_block
    from ..run import Run

    n, arcs = graph.vertices, graph.arcs
    if card is None:
        if _forked_with_networkit:
            return "dijkstra/scipy_apsp", f"{why_no_gpu()}, and NetworKit's threads do not survive a fork"
        if n * (n + arcs) < LEAST_WORK_FOR_NETWORKIT:
            return "dijkstra/scipy_apsp", f"{why_no_gpu()}, and SciPy is faster for so few vertices and arcs"
        if importlib.util.find_spec("networkit"):
            return "dijkstra/networkit_apsp", f"{why_no_gpu()}, and NetworKit takes all {libraries.cores()} cores"
        return "dijkstra/scipy_apsp", f"{why_no_gpu()}, and NetworKit is not installed"
    if n * (n + arcs) < LEAST_WORK_FOR_CARD:
        return "dijkstra/scipy_apsp", f"a GPU takes longer to start than {n:,} searches of so few vertices and arcs"
    core = int(np.count_nonzero(np.diff(graph.indptr)))
    rows = bytes_of_block(core, count_hops=bool(arcs and graph.weights.min() == 0))
    if arcs * SPARSE < n * n and rows <= card.shared and 8 * n * n <= card.free:
        return "bellman_ford/multi_source_apsp", (
            f"sparse, and the {core:,} vertices with out-arcs take {rows:,} bytes of shared memory, of {card.shared:,}"
        )
    large = n >= MOST_FOR_BLOCKED and arcs * SPARSE < n * n and min(12 * n * n, MATRIX_BYTES * 3 // 2) <= card.free
    if large and not _unfit(graph, n, card, HIERARCHY_REDUCED):
        return "hierarchy/apsp", f"{core:,} vertices with out-arcs do not fit in shared memory; a hierarchy suits"
    shape = TileShape.of(Run(), packed=False)
    matrices = 4 * shape.rounds(n) * shape.tile * shape.pitch(n) + 8 * n * n
    if matrices > card.free:
        return "floyd_warshall/staged", f"the matrices take {matrices:,} bytes, but {card.free:,} are free on the card"
    why = "dense" if arcs * SPARSE >= n * n else f"{core:,} vertices with out-arcs do not fit in shared memory"
    farthest = _farthest(graph)
    seen = f"{why}; from one vertex the largest distance is {farthest:,}"
    if 2 * farthest < PACKED_INF:
        return "floyd_warshall/blocked16", f"{seen}, so that all should fit in 15 bits"
    return "floyd_warshall/blocked", f"{seen}, so that not all may fit in 15 bits"


def choose_many(
    graph: Graph, sources: int, card: Card | None, search: str = HIERARCHY_ROWS, least: int | None = None
) -> tuple[str, str]:
    """Return the variant for distances from `sources` sources, and the reason.

    search: the search to return if a hierarchy is the best choice. least: the least number of sources for which the
    solver's prepared hierarchy pays; None if the solver has no hierarchy. If the solver has no hierarchy and no other
    condition decides first, this function prepares one: seconds for a million vertices.
    """
    if card is None:
        return SCIPY, f"{why_no_gpu()}, and SciPy finds distances without predecessors"
    if sources * (graph.vertices + graph.arcs) < LEAST_WORK_FOR_CARD:
        return SCIPY, f"a GPU takes longer to start than {sources:,} searches of so few vertices and arcs"
    unfit = _unfit(graph, sources, card, search, least)
    if not unfit:
        return search, f"a contraction hierarchy suits the graph and pays off for {sources:,} sources"
    if sources * SHARE >= graph.vertices and HOST_BYTES * graph.vertices**2 <= memory.host_memory():
        key, reason = choose_apsp(graph, card)
        return key, f"all pairs, since {sources:,} of {graph.vertices:,} vertices are sources: {reason}"
    key, reason = choose_sssp(graph, card)
    return key, f"one source after the other, {unfit}: {reason}"


def _unfit(graph: Graph, sources: int, card: Card, search: str, least: int | None = None) -> str:
    """Return why a contraction hierarchy does not suit `sources` sources; an empty string if it suits them.

    If the result is empty and `least` is None, this call has prepared the hierarchy. Raises InputError if the
    hierarchy's file is invalid.
    """
    n, known = graph.vertices, BREAK_EVEN[search]
    if sources < (earliest := least or known.prepared):
        return f"since a contraction hierarchy pays from {earliest:,} sources at the earliest"
    file = graph.structure.file
    prepared = file is not None and elimination.beside(file).exists()
    if sources < (needed := least or (known.prepared if prepared else known.first)):
        return f"since a contraction hierarchy pays from {needed:,} sources"
    lanes = many_sources.LANES
    fewest = lanes * many_sources.SOURCES_PER_THREAD  # number of sources of the smallest search
    needed = 2 * 4 * fewest * n  # bytes of the rows, once in the hierarchy's order and once in the graph's
    if needed > card.free:
        return f"since rows in a hierarchy take {needed:,} bytes, but {card.free:,} are free on the card"
    if least:
        return ""
    if why := no_hierarchy(graph):
        return why
    height = elimination.hierarchy_of(graph.structure).height
    needed = 4 * lanes * (height + 1)
    if needed > card.shared:
        return f"since a path of the hierarchy takes {needed:,} bytes of shared memory, of {card.shared:,}"
    return ""


def no_hierarchy(graph: Graph) -> str:
    """Return why the graph has no contraction hierarchy; an empty string if it has one, which is prepared then.

    Raises InputError if the hierarchy's file is invalid.
    """
    graph = graph.structure
    prepared = graph.file is not None and elimination.beside(graph.file).exists()
    if not prepared and SHALLOW * (hops := _farthest(graph, unweighted=True)) ** 2 < graph.vertices:
        return f"since the graph is no road network: from one vertex none is farther than {hops} arcs"
    try:
        elimination.hierarchy_of(graph)
    except InputError as error:
        if prepared:
            raise
        return f"since {str(error).removesuffix(': take another variant')}"
    return ""


def _farthest(graph: Graph, *, unweighted: bool = False) -> int:
    """Return the largest distance from the vertex with most out-arcs; if `unweighted`, count arcs.

    In an undirected graph no distance is more than twice the result.
    """
    hub = int(np.diff(graph.indptr).argmax())
    found = csgraph.dijkstra(graph.to_integers(), indices=hub, unweighted=unweighted)
    return int(found[np.isfinite(found)].max())
