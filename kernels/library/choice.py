"""Which variant suits a graph: by its size and shape, the number of sources, and the card.

Each choice comes with its reason, in words. searches.py asks here, and adds what it knows besides: of graphs that are
too narrow for the card, of weights in float64, and of what is laid out already.
"""

from __future__ import annotations

import importlib.util
import logging
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from cuda.bindings import nvvm

from kernels import memory
from kernels.errors import InputError
from kernels.gpu import driver
from kernels.graph import Graph
from kernels.later import Later
from kernels.library.answers import HOST_BYTES

csgraph = Later("scipy.sparse.csgraph")
libraries = Later("kernels.libraries")
elimination, many_sources = Later("kernels.fast.hierarchy.elimination"), Later("kernels.fast.hierarchy.many_sources")
log = logging.getLogger(__name__)
NEAR_FAR, SCIPY = "delta_stepping/near_far", "dijkstra/scipy"
SMALL = 2**15  # vertices and arcs: with fewer, SciPy ends before a card has started
SPARSE = 128  # a graph is sparse where it has fewer than one of so many possible arcs
MANY = "hierarchy/many_sources", "hierarchy/all_pairs"  # rows of distances, and what is reduced of them; no variants


class Pays(NamedTuple):
    """From how many sources on a contraction hierarchy is faster than as many searches by near_far: where it is not
    prepared, where its file lies beside the graph's, and where a solver has laid it out on the card.
    """

    first: int
    prepared: int
    laid_out: int


# Measured on an H200 and one core of its host, on nyc and e (substitutes), 23 November 2026. By near_far a row takes
# 2.0 and 17 ms until it is on the host. In a hierarchy it takes 0.93 and 8.2 ms, nearly all of it for the copy; what is
# reduced on the card takes 1 and 7 us. docs/kernels.md has what preparing, laying out and a call take, and from how
# many sources on they pay.
PAYS = {MANY[0]: Pays(3000, 400, 10), MANY[1]: Pays(1500, 200, 5)}
SHALLOW = 16  # no road network: from one vertex all others are within sqrt(vertices / SHALLOW) arcs
SHARE = 10  # where one of so many vertices is a source, all pairs are searched (by the rates of both; not measured)
LARGE = 2**15  # vertices; with more hierarchy/apsp is faster than blocked (by the rates of both; not measured)


@dataclass(frozen=True)
class Card:
    """What the choice of a variant depends on: bytes of shared memory a block may have, bytes free on the card."""

    shared: int
    free: int

    @classmethod
    def visible(cls) -> Card | None:
        """The card of this machine; None where there is none, which is said once, and in numba's simulator."""
        if not gpu_visible():
            _say_no_gpu()
            return None
        from kernels.gpu import card
        from kernels.run import Run

        return cls(Run().shared_limit, card.free_memory())


def gpu_visible() -> bool:
    """Whether a real GPU can be used from here: there is one, and numba can compile for it."""
    return not driver.simulated() and bool(driver.cards()) and _can_compile()


@cache
def _can_compile() -> bool:
    """Whether NVVM is installed. Numba asks the same, but takes longer to import than many a search."""
    try:
        nvvm.version()
    except (RuntimeError, nvvm.nvvmError):
        return False
    return True


@cache
def _say_no_gpu() -> None:
    if not log.isEnabledFor(logging.INFO):  # each choice says it
        log.warning("no GPU is visible: SciPy and NetworKit find the shortest paths, on the CPU")


def choose_sssp(graph: Graph, card: Card | None) -> tuple[str, str]:
    """The variant (algorithm/variant) for one source, and why."""
    if card is None:
        return SCIPY, "no GPU is visible, and of the CPU libraries SciPy is the fastest from one source"
    if graph.vertices + graph.arcs < SMALL:
        return SCIPY, f"a GPU takes longer to start than {graph.vertices + graph.arcs:,} vertices and arcs"
    return NEAR_FAR, "the fastest that was measured from one source"


def choose_apsp(graph: Graph, card: Card | None) -> tuple[str, str]:
    """The variant for all pairs, and why."""
    from kernels.fast.blocked_floyd_warshall import PACKED_INF, TileShape
    from kernels.fast.hierarchy.variants import MATRIX_BYTES
    from kernels.fast.multi_source import bytes_of_block
    from kernels.run import Run

    n, arcs = graph.vertices, graph.arcs
    if card is None:
        if importlib.util.find_spec("networkit"):
            return "dijkstra/networkit_apsp", f"no GPU is visible, and NetworKit takes all {libraries.cores()} cores"
        return "dijkstra/scipy_apsp", "no GPU is visible, and NetworKit is not installed"
    if n * (n + arcs) < SMALL:
        return "dijkstra/scipy_apsp", f"a GPU takes longer to start than {n:,} searches of so few vertices and arcs"
    core = int(np.count_nonzero(np.diff(graph.indptr)))
    rows = bytes_of_block(core, count_hops=bool(arcs and graph.weights.min() == 0))
    if arcs * SPARSE < n * n and rows <= card.shared and 8 * n * n <= card.free:
        return "bellman_ford/multi_source_apsp", (
            f"sparse, and the {core:,} vertices with out-arcs take {rows:,} bytes of shared memory, of {card.shared:,}"
        )
    large = n >= LARGE and arcs * SPARSE < n * n and min(12 * n * n, MATRIX_BYTES * 3 // 2) <= card.free
    if large and not _unfit(graph, n, card, MANY[1]):
        return "hierarchy/apsp", f"{core:,} vertices with out-arcs do not fit in shared memory; a hierarchy is fit"
    shape = TileShape.of(Run(), packed=False)
    matrices = 4 * shape.rounds(n) * shape.tile * shape.pitch(n) + 8 * n * n
    if matrices > card.free:
        return "floyd_warshall/staged", f"the matrices take {matrices:,} bytes, on the card {card.free:,} are free"
    why = "dense" if arcs * SPARSE >= n * n else f"{core:,} vertices with out-arcs do not fit in shared memory"
    farthest = _farthest(graph)
    seen = f"{why}; from one vertex the largest distance is {farthest:,}"
    if 2 * farthest < PACKED_INF:
        return "floyd_warshall/blocked16", f"{seen}, so that all should fit in 15 bits"
    return "floyd_warshall/blocked", f"{seen}, so that not all may fit in 15 bits"


def choose_many(
    graph: Graph, sources: int, card: Card | None, many: str = MANY[0], pays: int | None = None
) -> tuple[str, str]:
    """The variant for distances from so many sources, or `many`, and why.

    pays: from how many sources on a hierarchy pays, where a solver has prepared it. Else prepares it where nothing else
    decides: seconds for a million vertices.
    """
    if card is None:
        return SCIPY, "no GPU is visible, and SciPy gives rows without predecessors"
    if sources * (graph.vertices + graph.arcs) < SMALL:
        return SCIPY, f"a GPU takes longer to start than {sources:,} searches of so few vertices and arcs"
    unfit = _unfit(graph, sources, card, many, pays)
    if not unfit:
        return many, f"a contraction hierarchy is fit for the graph and pays from so many sources ({sources:,})"
    if sources * SHARE >= graph.vertices and HOST_BYTES * graph.vertices**2 <= memory.host_memory():
        key, reason = choose_apsp(graph, card)
        return key, f"all pairs, since {sources:,} of {graph.vertices:,} vertices are sources: {reason}"
    key, reason = choose_sssp(graph, card)
    return key, f"one source after the other, {unfit}: {reason}"


def _unfit(graph: Graph, sources: int, card: Card, many: str, pays: int | None = None) -> str:
    """Why a contraction hierarchy is not for so many sources of the graph; empty where it is, and then prepared.

    Raises InputError where the file of the hierarchy is none.
    """
    n = graph.vertices
    if sources < (least := pays or PAYS[many].prepared):
        return f"since a contraction hierarchy pays from {least:,} sources at the earliest"
    prepared = graph.file is not None and elimination.beside(graph.file).exists()
    least = pays or (PAYS[many].prepared if prepared else PAYS[many].first)
    if sources < least:
        return f"since a contraction hierarchy pays from {least:,} sources"
    lanes = many_sources.LANES
    fewest = lanes * many_sources.SOURCES_PER_THREAD  # sources of a search
    needed = 2 * 4 * fewest * n  # their rows, in both orders
    if needed > card.free:
        return f"since rows in a hierarchy take {needed:,} bytes, on the card {card.free:,} are free"
    if pays:
        return ""
    if not prepared and SHALLOW * (hops := _farthest(graph, unweighted=True)) ** 2 < n:
        return f"since the graph is no road network: from one vertex none is farther than {hops} arcs"
    try:
        height = elimination.of(graph).height
    except InputError as error:
        if prepared:
            raise
        return f"since {str(error).removesuffix(': take another variant')}"
    needed = 4 * lanes * (height + 1)
    if needed > card.shared:
        return f"since a path of the hierarchy takes {needed:,} bytes of shared memory, of {card.shared:,}"
    return ""


def _farthest(graph: Graph, *, unweighted: bool = False) -> int:
    """The largest distance from the vertex with most out-arcs. Where all arcs go both ways none is over twice that.

    unweighted: in arcs.
    """
    hub = int(np.diff(graph.indptr).argmax())
    found = csgraph.dijkstra(graph.to_scipy(), indices=hub, unweighted=unweighted)
    return int(found[np.isfinite(found)].max())
