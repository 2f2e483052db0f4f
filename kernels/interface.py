"""Shortest paths of any graph by the variant that suits it. Timed runs use harness.py instead.

    paths = kernels.shortest_paths("nyc.txt", source=0)
    paths.distances[17], paths.variant, paths.reason
    scipy.sparse.csgraph.reconstruct_path(graph, paths.predecessors)
    kernels.distances("nyc.txt", sources=[0, 5, 9]).distances[2, 17]
    kernels.eccentricities("nyc.txt").farthest

Results are as those of scipy.sparse.csgraph.dijkstra: distances float64, infinite where there is no path; predecessors
int32, -9999 where there is none. Weights that are no whole numbers from 0 to 2^31 - 2, and distances above that, are
searched in float64 (kernels/fast/floats.py). kernels/csgraph.py has SciPy's own signatures.
"""

from __future__ import annotations

import importlib.util
import itertools
import logging
import os
import reprlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from kernels import datasets, libraries, memory
from kernels.errors import InputError
from kernels.fast import floats
from kernels.fast.blocked_floyd_warshall import PACKED_INF, TileShape
from kernels.fast.floats import FloatGraph
from kernels.fast.hierarchy import all_pairs as hierarchy
from kernels.fast.hierarchy import elimination
from kernels.fast.hierarchy.many_sources import LANES, SOURCES
from kernels.fast.hierarchy.variants import MATRIX_BYTES
from kernels.fast.multi_source import bytes_of_block
from kernels.gpu import card
from kernels.graph import INF, MAX_WEIGHT, Graph
from kernels.run import Result, Run
from kernels.variants import find

log = logging.getLogger(__name__)
NO_PREDECESSOR = -9999
SMALL = 2**15  # vertices and arcs: with fewer, SciPy ends before a card has started
SPARSE = 128  # a graph is sparse where it has fewer than one of so many possible arcs
HOST_BYTES = 17  # for each pair: two int32 as computed, a float64 as returned, a byte while that is filled
FLOAT_BYTES = 20  # for each pair, with weights in float64: two int32 as bounds, a float64 and an int32 as returned
ROW_BYTES = 8  # for each pair of rows of distances: a float64 as returned
PIECE = 2**24  # distances that SciPy or the card gives at once
MANY = "hierarchy/many_sources", "hierarchy/all_pairs"  # rows of distances, and what is reduced of them; no variants
# From how many sources on a contraction hierarchy is faster than as many calls of near_far, not prepared and prepared.
# Measured on an H200 and one core of its host, on nyc and e (substitutes), 22 November 2026. A call of near_far with
# all copies takes 8 and 62 ms, a source of a search from many 0.7 and 9 us. Preparing takes 1.4 to 2.6 and 21 to 25 s,
# as long as up to 400 calls, and laying out what was prepared 3 s on e, as long as 50.
PAYS, PREPARED_PAYS = 500, 50
SHALLOW = 16  # no road network: from one vertex all others are within sqrt(vertices / SHALLOW) arcs
SHARE = 10  # where one of so many vertices is a source, all pairs are searched (by the rates of both; not measured)
LARGE = 2**15  # vertices; with more hierarchy/apsp is faster than blocked (by the rates of both; not measured)


@dataclass(frozen=True)
class Paths:
    """distances: float64, infinite where there is no path. predecessors: int32, -9999 where there is none.

    Both (n,) from one source, (n, n) with one row per source for all pairs. variant, reason: which one
    (algorithm/variant) was chosen, and why. rounds: of the search in float64 on the card; 0 where there was none.
    """

    distances: np.ndarray
    predecessors: np.ndarray
    variant: str
    reason: str
    rounds: int = 0


@dataclass(frozen=True)
class Distances:
    """distances: float64, (k, n), a row for each of the k sources, in their order; infinite where there is no path.

    sources: int64, (k,). variant, reason, rounds: as in Paths.
    """

    sources: np.ndarray
    distances: np.ndarray
    variant: str
    reason: str
    rounds: int = 0


@dataclass(frozen=True)
class Eccentricities:
    """Of each source, in their order: int32, (k,) each, and int64 for total and sources.

    eccentricity: the largest distance to a vertex that is reached. farthest: a vertex at that distance. reached: how
    many vertices are, the source among them. total: the sum of the distances to them. variant, reason: as in Paths.
    Where the search was in float64, eccentricity and total are float64.
    """

    sources: np.ndarray
    eccentricity: np.ndarray
    farthest: np.ndarray
    reached: np.ndarray
    total: np.ndarray
    variant: str
    reason: str


@dataclass(frozen=True)
class Card:
    """What the choice of a variant depends on: bytes of shared memory a block may have, bytes free on the card."""

    shared: int
    free: int

    @classmethod
    def visible(cls) -> Card | None:
        """The card of this machine; None where there is none, which is said once, and in numba's simulator."""
        if not card.gpu_visible():
            _say_no_gpu()
            return None
        return cls(Run().shared_limit, card.free_memory())


@cache
def _say_no_gpu() -> None:
    if not log.isEnabledFor(logging.INFO):  # each choice says it
        log.warning("no GPU is visible: SciPy and NetworKit find the shortest paths, on the CPU")


class TooLong(Exception):
    """A distance is above 2^31 - 2."""


def shortest_paths(graph, source: int) -> Paths:
    """From one source to all vertices.

    graph: a kernels.graph.Graph, a file of one, or a square SciPy sparse array of any format; its entries are arcs, NaN
    and inf are none, True is 1. Entries of one place are parallel arcs in CSR and CSC and added in any other format, as
    csgraph reads them. source: a whole number of Python's or NumPy's. Raises InputError where graph or source is none
    of these or a file cannot be read, scipy.sparse.csgraph.NegativeCycleError where there is a negative cycle, and
    NotEnoughMemory where the card lacks memory.
    """
    graph = as_graph(graph)
    source = graph.check_source(source)

    def in_float64(graph: FloatGraph) -> Paths:
        search = _FloatSearch(graph, 1, choose_sssp)
        ((_, distances, predecessors),) = search.rows(np.array([source]))
        return Paths(distances, predecessors, search.variant, search.reason, search.rounds)

    return _exactly(graph, lambda whole: _solve(whole, source, *choose_sssp(whole, Card.visible())), in_float64)


def all_pairs(graph) -> Paths:
    """From every vertex to every vertex; graph and errors as for shortest_paths.

    Raises InputError also where this machine has too little memory for the result.
    """
    graph = as_graph(graph)
    what = f"{graph.name}: all pairs of {graph.vertices:,} vertices take"
    for_pair = HOST_BYTES if isinstance(graph, Graph) else FLOAT_BYTES
    memory.require(for_pair * graph.vertices**2, what, "search from single sources instead")
    return _exactly(
        graph,
        lambda whole: _solve(whole, 0, *choose_apsp(whole, Card.visible())),
        lambda floating: _paths_in_float64(floating, np.arange(graph.vertices), choose_apsp),
    )


def paths_from(graph, sources) -> Paths:
    """From each of the sources to all vertices: (k, n) each, a row for each source; the rest is as for distances."""
    graph = as_graph(graph)
    sources = check_sources(graph, sources)
    n = graph.vertices
    needed = FLOAT_BYTES * len(sources) * n
    memory.require(needed, f"{graph.name}: paths from {len(sources):,} sources take", "take fewer sources at once")
    if len(sources) * SHARE >= n and FLOAT_BYTES * n**2 <= memory.host_memory():
        found = all_pairs(graph)
        if len(sources) == n and (sources == np.arange(n)).all():
            return found
        return replace(found, distances=found.distances[sources], predecessors=found.predecessors[sources])

    def one_by_one(graph: Graph) -> Paths:
        found = [_solve(graph, int(source), *choose_sssp(graph, Card.visible())) for source in sources]
        distances, predecessors = np.empty((len(sources), n)), np.empty((len(sources), n), np.int32)
        for row, paths in enumerate(found):
            distances[row], predecessors[row] = paths.distances, paths.predecessors
        return Paths(distances, predecessors, found[0].variant, found[0].reason)

    return _exactly(graph, one_by_one, lambda floating: _paths_in_float64(floating, sources, choose_many))


def distances(graph, sources) -> Distances:
    """From each of the sources to all vertices, without predecessors; graph and errors as for shortest_paths.

    sources: whole numbers, a list or an array of one dimension; a vertex may come several times. Raises InputError
    also where the sources are none or this machine has too little memory for the result.
    """
    graph = as_graph(graph)
    sources = check_sources(graph, sources)
    needed = ROW_BYTES * len(sources) * graph.vertices
    what = f"{graph.name}: distances from {len(sources):,} sources to {graph.vertices:,} vertices take"
    memory.require(needed, what, "take fewer sources at once, or kernels.eccentricities")
    once = np.unique(sources)
    found = np.empty((len(sources), graph.vertices))

    def in_whole_numbers(graph: Graph) -> Distances:
        key, reason = _choose_rows(graph, len(once), MANY[0])
        for source, row in _rows(graph, once, key):
            values = row.astype(np.float64)
            values[row == INF] = np.inf
            found[sources == source] = values
        return Distances(sources, found, key, reason)

    def in_float64(graph: FloatGraph) -> Distances:
        search = _FloatSearch(graph, len(once), choose_many)
        for source, row, _ in search.rows(once, tree=False):
            found[sources == source] = row
        return Distances(sources, found, search.variant, search.reason, search.rounds)

    return _exactly(graph, in_whole_numbers, in_float64)


def eccentricities(graph, sources=None) -> Eccentricities:
    """How far the vertices lie from each source, without a matrix as result; the rest is as for distances.

    sources: None for all vertices. With a hierarchy only these numbers are copied from the card, otherwise distances.
    """
    graph = as_graph(graph)
    sources = np.arange(graph.vertices) if sources is None else check_sources(graph, sources)
    once, places = np.unique(sources, return_inverse=True)

    def in_whole_numbers(graph: Graph) -> Eccentricities:
        key, reason = _choose_rows(graph, len(once), MANY[1])
        if key == MANY[1]:
            found = hierarchy.reduced(hierarchy.Searches(graph, reduces=True), once)
            columns = found.eccentricity, found.farthest, found.reached, found.total
            # The path to a vertex that is too far passes one that is not, a weight or less below the limit.
            for _ in _rows(graph, once[found.eccentricity > INF - 1 - _largest_weight(graph)], MANY[0]):
                pass  # _rows stops at the first that is
        else:
            columns = _reduced(once, _rows(graph, once, key), INF)
        return of_columns(columns, (np.int32, np.int32, np.int32, np.int64), key, reason)

    def in_float64(graph: FloatGraph) -> Eccentricities:
        search = _FloatSearch(graph, len(once), choose_many)
        columns = _reduced(once, (row[:2] for row in search.rows(once, tree=False)), np.inf)
        types = np.float64, np.int32, np.int32, np.float64
        return of_columns(columns, types, search.variant, search.reason)

    def of_columns(columns, types, key: str, reason: str) -> Eccentricities:
        columns = (np.asarray(column)[places].astype(kind) for column, kind in zip(columns, types, strict=True))
        return Eccentricities(sources, *columns, key, reason)

    return _exactly(graph, in_whole_numbers, in_float64)


def check_sources(graph: Graph | FloatGraph, sources) -> np.ndarray:
    """The sources as int64, (k,); raises InputError where they are no whole numbers, or one is not a vertex."""
    try:
        array = np.asarray(sources)
    except ValueError as error:
        raise InputError(f"the sources are no array: {error}") from None
    if array.ndim != 1:
        raise InputError(f"sources must be a list or an array of one dimension, not {reprlib.repr(sources)}")
    if len(array) and array.dtype.kind not in "iu":
        raise InputError(f"sources must be whole numbers, not {array.dtype}")
    wrong = array[(array < 0) | (array >= graph.vertices)]
    if len(wrong):
        graph.check_source(wrong[0])
    return array.astype(np.int64)


def as_graph(graph) -> Graph | FloatGraph:
    """A graph from what the functions above take: a Graph where its weights are whole numbers from 0 to 2^31 - 2.

    Raises InputError for anything else.
    """
    if isinstance(graph, Graph | FloatGraph):
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
        raise InputError(f"the weights of a graph must be real numbers, not {arcs.dtype}")
    arcs.data = arcs.data.astype(np.float64)  # before they are added: a narrow type would wrap
    # As csgraph reads them: entries of one place are parallel arcs in a CSR or CSC array and are added in any other;
    # zeros that only fill a block of a BSR array are none.
    if graph.format not in ("csr", "csc"):
        arcs.sum_duplicates()
    if graph.format == "bsr":
        arcs.eliminate_zeros()
    return graph_of(graph.shape[0], *arcs.coords, arcs.data)


def graph_of(vertices: int, tails, heads, weights: np.ndarray) -> Graph | FloatGraph:
    """A graph of m arcs: integers, (m,), and weights, float64, (m,), of which NaN and inf are no arcs; see as_graph."""
    there = ~(np.isnan(weights) | np.isposinf(weights))
    if not there.all():
        tails, heads, weights = tails[there], heads[there], weights[there]
    if ((weights >= 0) & (weights <= MAX_WEIGHT) & (np.floor(weights) == weights)).all():
        return Graph.from_arcs(vertices, tails, heads, weights.astype(np.int64))
    return FloatGraph.from_arcs(vertices, tails, heads, weights)


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
    large = n >= LARGE and arcs * SPARSE < n * n and min(12 * n * n, MATRIX_BYTES * 3 // 2) <= card.free
    if large and not _unfit(graph, n, card):
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


def choose_many(graph: Graph, sources: int, card: Card | None, many: str = MANY[0]) -> tuple[str, str]:
    """The variant for distances from so many sources, or `many`, and why.

    Prepares the hierarchy where nothing else decides: seconds for a million vertices.
    """
    if card is None:
        return "dijkstra/scipy", "no GPU is visible, and SciPy gives rows without predecessors"
    if sources * (graph.vertices + graph.arcs) < SMALL:
        return "dijkstra/scipy", f"a GPU takes longer to start than {sources:,} searches of so few vertices and arcs"
    unfit = _unfit(graph, sources, card)
    if not unfit:
        return many, f"a contraction hierarchy is fit for the graph and pays from so many sources ({sources:,})"
    if sources * SHARE >= graph.vertices and HOST_BYTES * graph.vertices**2 <= memory.host_memory():
        key, reason = choose_apsp(graph, card)
        return key, f"all pairs, since {sources:,} of {graph.vertices:,} vertices are sources: {reason}"
    key, reason = choose_sssp(graph, card)
    return key, f"one source after the other, {unfit}: {reason}"


def _exactly(graph: Graph | FloatGraph, in_whole_numbers: Callable, in_float64: Callable):
    """What the first function gives for a Graph; the second for a FloatGraph, or where a distance is above 2^31 - 2."""
    if isinstance(graph, Graph):
        try:
            return in_whole_numbers(graph)
        except TooLong:
            graph = FloatGraph.of(graph)
    return in_float64(graph)


class _FloatSearch:
    """A search in float64 from `sources` sources: by SciPy, or bounded by distances of a variant that `choose` gives.

    variant, reason: as in Paths, of the bounds. rounds: so far, the most of a search on the card.
    Raises scipy.sparse.csgraph.NegativeCycleError.
    """

    def __init__(self, graph: FloatGraph, sources: int, choose: Callable):
        card = Card.visible()
        self.graph, self.potential, self.rounds = graph, None, 0
        self.negative = (graph.weights < 0).any()
        self.variant = "dijkstra/scipy"
        if card is None:
            self.reason = "no GPU is visible, and of the CPU libraries SciPy takes weights in float64"
        elif sources * (graph.vertices + graph.arcs) < SMALL:
            self.reason = f"a GPU takes longer to start than {sources:,} searches of so few vertices and arcs"
        else:
            if self.negative:
                self.potential = floats.Searches(graph, Run()).potentials()
                self.graph = floats.reduced(graph, self.potential)
            given = (sources,) if choose is choose_many else ()
            self.variant, self.reason = choose(self.graph.scaled, *given, card)
            self.reason += "; of weights scaled and rounded up, which bounds the search in float64"
        log.info("%s on %s: %s", self.variant, graph.name, self.reason)

    def rows(self, sources: np.ndarray, *, tree: bool = True) -> Iterator[tuple[int, np.ndarray, np.ndarray | None]]:
        """Each of the sources, which differ, in any order: with its distances, (n,), and predecessors where wanted."""
        n, most = self.graph.vertices, max(1, PIECE // self.graph.vertices)
        if self.variant == "dijkstra/scipy":
            solve, array = csgraph.johnson if self.negative else csgraph.dijkstra, self.graph.to_scipy()
            for start in range(0, len(sources), most):
                some = sources[start : start + most]
                found = solve(array, indices=some, return_predecessors=tree)
                distances, predecessors = found if tree else (found, itertools.repeat(None))
                yield from zip(some.tolist(), distances, predecessors, strict=False)
            return
        searches, bounds = floats.Searches(self.graph, Run()), _rows(self.graph.scaled, sources, self.variant)
        while part := list(itertools.islice(bounds, most)):
            some = np.array([source for source, _ in part])
            starts, whole = n * np.arange(len(some)) + some, np.stack([row for _, row in part])
            found = searches.search(starts, len(some), whole, tree=tree)
            self.rounds = max(self.rounds, found.rounds)
            for row, source in enumerate(some.tolist()):
                distances = found.dist[row]
                if self.potential is not None:
                    distances += self.potential - self.potential[source]
                yield source, distances, found.predecessors[row] if tree else None


def bounds_from_any(graph: FloatGraph, sources: np.ndarray) -> np.ndarray:
    """int32, (n,): of each vertex the distance in graph.scaled from the nearest source: from one more vertex.

    sources: vertices that differ. Arcs of weight 0 lead to them from that vertex, the last.
    """
    scaled, zeros = graph.scaled, np.zeros(len(sources), np.int32)
    more = Graph(
        np.append(scaled.indptr, np.int32(graph.arcs + len(sources))),
        np.append(scaled.indices, sources.astype(np.int32)),
        np.append(scaled.weights, zeros),
    )
    key, _ = choose_sssp(more, Card.visible())
    ((_, row),) = _rows(more, np.array([graph.vertices]), key)
    return row[:-1]


def _paths_in_float64(graph: FloatGraph, sources: np.ndarray, choose: Callable) -> Paths:
    """A row for each of the sources."""
    once, n = np.unique(sources), graph.vertices
    search = _FloatSearch(graph, len(once), choose)
    distances, predecessors = np.empty((len(sources), n)), np.empty((len(sources), n), np.int32)
    for source, *row in search.rows(once):
        distances[sources == source], predecessors[sources == source] = row
    return Paths(distances, predecessors, search.variant, search.reason, search.rounds)


def _reduced(sources: np.ndarray, rows, no_path: float) -> tuple:
    """The columns of Eccentricities. rows: each of the sources, which differ, in any order, with its distances."""
    found = {}
    for source, row in rows:
        reached = row != no_path
        farthest = np.where(reached, row, -np.inf).argmax()
        found[source] = row[farthest], farthest, reached.sum(), row.sum(where=reached)
    return tuple(zip(*(found[source] for source in sources.tolist()), strict=True)) or ([],) * 4


def _choose_rows(graph: Graph, sources: int, many: str) -> tuple[str, str]:
    key, reason = choose_many(graph, sources, Card.visible(), many)
    log.info("%s on %s: %s", key, graph.name, reason)
    return key, reason


def _unfit(graph: Graph, sources: int, card: Card) -> str:
    """Why a contraction hierarchy is not for so many sources of the graph; empty where it is, and then prepared.

    Raises InputError where the file of the hierarchy is none.
    """
    n = graph.vertices
    prepared = graph.file is not None and elimination.beside(graph.file).exists()
    least = PREPARED_PAYS if prepared else PAYS
    if sources < least:
        return f"since a contraction hierarchy pays from {least:,} sources"
    needed = 2 * 4 * LANES * SOURCES * n  # the rows of the fewest sources of a search, in both orders
    if needed > card.free:
        return f"since rows in a hierarchy take {needed:,} bytes, on the card {card.free:,} are free"
    if not prepared and SHALLOW * (hops := _farthest(graph, unweighted=True)) ** 2 < n:
        return f"since the graph is no road network: from one vertex none is farther than {hops} arcs"
    try:
        height = elimination.of(graph).height
    except InputError as error:
        if prepared:
            raise
        return f"since {str(error).removesuffix(': take another variant')}"
    needed = 4 * LANES * (height + 1)
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


def _rows(graph: Graph, sources: np.ndarray, key: str) -> Iterator[tuple[int, np.ndarray]]:
    """Each of the sources, which differ, with the distances from it: int32, (n,), INF where there is no path.

    Raises TooLong.
    """
    if len(sources):
        largest = _largest_weight(graph)
        for source, row in _unchecked_rows(graph, sources, key):
            _refuse_too_long(graph, row, largest)
            yield int(source), row


def _unchecked_rows(graph: Graph, sources: np.ndarray, key: str) -> Iterator[tuple[np.integer, np.ndarray]]:
    n, most = graph.vertices, max(1, PIECE // graph.vertices)
    if key == MANY[0]:
        searches = hierarchy.Searches(graph, reduces=False)
        for piece, on_card in hierarchy.matrix(searches, sources):
            for start in range(0, len(piece), most):
                some = piece[start : start + most]
                found = np.empty(len(some) * n, np.int32)
                searches.run.download((on_card[start * n : (start + len(some)) * n], found))
                yield from zip(some, found.reshape(-1, n), strict=True)
    elif key == "dijkstra/scipy":
        array = graph.to_scipy()
        for start in range(0, len(sources), most):
            some = sources[start : start + most]
            found = csgraph.dijkstra(array, indices=some)
            yield from zip(some, np.minimum(found, INF, out=found).astype(np.int32), strict=True)
    elif find(*key.split("/")).problem == "apsp":
        result = _run(graph, 0, key)
        yield from ((source, result.distances[source]) for source in sources)
    else:
        yield from ((source, _run(graph, int(source), key).distances) for source in sources)


def _run(graph: Graph, source: int, key: str) -> Result:
    variant = find(*key.split("/"))
    variant.check_size(graph)
    result = Result.poisoned(variant.problem, graph.vertices)
    variant.function(graph, result, Run(source=source, on_gpu=variant.on_gpu))
    return result


def _solve(graph: Graph, source: int, key: str, reason: str) -> Paths:
    log.info("%s on %s: %s", key, graph.name, reason)
    result = _run(graph, source, key)
    _refuse_too_long(graph, result.distances, _largest_weight(graph))
    distances = result.distances.astype(np.float64)
    distances[result.distances == INF] = np.inf
    predecessors = result.predecessors
    predecessors[predecessors == -1] = NO_PREDECESSOR
    return Paths(distances, predecessors, key, reason)


def _largest_weight(graph: Graph) -> int:
    return int(graph.weights.max(initial=0))


def _refuse_too_long(graph: Graph, distances: np.ndarray, largest: int) -> None:
    """Raise TooLong where a distance is above 2^31 - 2: an arc then leads from a vertex that is reached to one that is
    not.

    largest: the largest weight. No distance is too long where the largest that was found and that weight fit.
    """
    if (graph.vertices - 1) * largest < INF:
        return
    for row in np.atleast_2d(distances):
        reached = row != INF
        if int(row.max(where=reached, initial=0)) + largest < INF:
            continue
        if (reached[graph.tails] & ~reached[graph.indices]).any():
            raise TooLong
