"""Shortest paths of any graph by the variant that suits it. Timed runs use harness.py instead.

    paths = kernels.shortest_paths("nyc.txt", source=0)
    paths.distances[17], paths.variant, paths.reason
    scipy.sparse.csgraph.reconstruct_path(graph, paths.predecessors)

Results are as those of scipy.sparse.csgraph.dijkstra: distances float64, infinite where there is no path; predecessors
int32, -9999 where there is none.
"""

from __future__ import annotations

import importlib.util
import logging
import os
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from kernels import datasets, harness, libraries, memory
from kernels.errors import InputError
from kernels.fast.blocked_floyd_warshall import PACKED_INF, TileShape
from kernels.fast.multi_source import bytes_of_block
from kernels.gpu import card
from kernels.graph import INF, MAX_WEIGHT, Graph
from kernels.run import Run
from kernels.variants import find

log = logging.getLogger(__name__)
NO_PREDECESSOR = -9999
SMALL = 2**15  # vertices and arcs: with fewer, SciPy ends before a card has started
SPARSE = 128  # a graph is sparse where it has fewer than one of so many possible arcs
HOST_BYTES = 17  # for each pair: two int32 as computed, a float64 as returned, a byte while that is filled


@dataclass(frozen=True)
class Paths:
    """distances: float64, infinite where there is no path. predecessors: int32, -9999 where there is none.

    Both (n,) from one source, (n, n) with one row per source for all pairs. variant, reason: which one
    (algorithm/variant) was chosen, and why.
    """

    distances: np.ndarray
    predecessors: np.ndarray
    variant: str
    reason: str


@dataclass(frozen=True)
class Card:
    """What the choice of a variant depends on: bytes of shared memory a block may have, bytes free on the card."""

    shared: int
    free: int

    @classmethod
    def visible(cls) -> Card | None:
        """The card of this machine; None where there is none, and in numba's simulator."""
        if not card.gpu_visible():
            return None
        return cls(Run().shared_limit, card.free_memory())


def shortest_paths(graph, source: int) -> Paths:
    """From one source to all vertices.

    graph: a kernels.graph.Graph, a file of one, or a square SciPy sparse array of any format whose entries are
    whole weights from 0 to 2^31 - 2 (integers, whole floats; True is 1); entries of one place are parallel arcs
    in CSR and CSC and added in any other format, as csgraph reads them. source: a whole number of Python's or
    NumPy's. Raises InputError where graph or source is none of these, a file cannot be read or a distance is
    above 2^31 - 2, and NotEnoughMemory where the card lacks memory.
    """
    graph = as_graph(graph)
    source = graph.check_source(source)
    return _solve(graph, source, *choose_sssp(graph, Card.visible()))


def all_pairs(graph) -> Paths:
    """From every vertex to every vertex; graph and errors as for shortest_paths.

    Raises InputError also where this machine has too little memory for the result.
    """
    graph = as_graph(graph)
    needed, what = HOST_BYTES * graph.vertices**2, f"{graph.name}: all pairs of {graph.vertices:,} vertices take"
    memory.require(needed, what, "search from single sources instead")
    return _solve(graph, 0, *choose_apsp(graph, Card.visible()))


def as_graph(graph) -> Graph:
    """A Graph from what the functions above take. Raises InputError for anything else and for a wrong weight."""
    if isinstance(graph, Graph):
        return graph
    if isinstance(graph, str | bytes | os.PathLike):
        path = os.fsdecode(graph)
        try:
            os.stat(path)
        except ValueError:
            raise InputError(f"{path!r}: no file has such a name") from None
        except OSError:
            pass  # the reader says why
        return datasets.read_graph(path)
    if not sparse.issparse(graph):
        raise InputError(f"a graph is a kernels.graph.Graph, a file or a SciPy sparse array, not {type(graph)}")
    if len(set(graph.shape)) > 1 or graph.ndim != 2:
        raise InputError(f"the sparse array of a graph is square, not of shape {graph.shape}")
    try:
        arcs = sparse.coo_array(graph, copy=True)
    except ValueError as error:
        raise InputError(f"the sparse array of a graph is broken: {error}") from None
    if arcs.dtype.kind not in "biuf":
        raise InputError(f"the weights of a graph must be whole numbers, not {arcs.dtype}")
    weights = arcs.data
    if weights.dtype.kind == "f":
        if (np.floor(weights) != weights).any():
            raise InputError("a weight is no whole number: scale the weights and round them")
        weights = weights.astype(np.float64)  # a narrower one cannot tell the largest weight from the next
    if len(wrong := weights[(weights < 0) | (weights > MAX_WEIGHT)]):
        raise InputError(f"weight {wrong[0]} is outside [0, {MAX_WEIGHT}]: scale the weights")
    arcs.data = weights.astype(np.int64)  # before they are added: a narrow type would wrap
    # As csgraph reads them: entries of one place are parallel arcs in a CSR or CSC array and are added in any other;
    # zeros that only fill a block of a BSR array are none.
    if graph.format not in ("csr", "csc"):
        arcs.sum_duplicates()
    if graph.format == "bsr":
        arcs.eliminate_zeros()
    return Graph.from_arcs(graph.shape[0], *arcs.coords, arcs.data)


def choose_sssp(graph: Graph, card: Card | None) -> tuple[str, str]:
    """The variant (algorithm/variant) for one source, and why."""
    if card is None:
        return "dijkstra/scipy", "no GPU is visible, and of the CPU libraries SciPy is the fastest from one source"
    if graph.vertices + graph.arcs < SMALL:
        return "dijkstra/scipy", f"a GPU takes longer to start than {graph.vertices + graph.arcs:,} vertices and arcs"
    return "delta_stepping/near_far", "the fastest that was measured from one source"


def choose_apsp(graph: Graph, card: Card | None) -> tuple[str, str]:
    """The variant for all pairs, and why."""
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


def _farthest(graph: Graph) -> int:
    """The largest distance from the vertex with most out-arcs: where all arcs go both ways at least half of any."""
    hub = int(np.diff(graph.indptr).argmax())
    distances = csgraph.dijkstra(graph.to_scipy(), indices=hub)
    return int(distances[np.isfinite(distances)].max())


def _solve(graph: Graph, source: int, key: str, reason: str) -> Paths:
    log.info("%s on %s: %s", key, graph.name, reason)
    protocol = harness.Protocol(source=source, timeout_s=float("inf"))
    _, result = harness.run_once(find(*key.split("/")), graph, protocol)
    _refuse_too_long(graph, result.distances)
    distances = result.distances.astype(np.float64)
    distances[result.distances == INF] = np.inf
    predecessors = result.predecessors
    predecessors[predecessors == -1] = NO_PREDECESSOR
    return Paths(distances, predecessors, key, reason)


def _refuse_too_long(graph: Graph, distances: np.ndarray) -> None:
    """Raise InputError where a distance is above 2^31 - 2: an arc then leads out of what is reached."""
    if (graph.vertices - 1) * int(graph.weights.max(initial=0)) < INF:
        return
    for row in np.atleast_2d(distances):
        reached = row != INF
        if (reached[graph.tails] & ~reached[graph.indices]).any():
            raise InputError(f"{graph.name}: a distance is more than {INF - 1:,}: scale the weights down")
