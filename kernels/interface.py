"""Shortest paths of any graph by the variant that suits it. Timed runs use harness.py instead.

    with kernels.prepare("nyc.txt") as solver:  # what it lays out on the card stays there
        solver.path(0, 17)
    paths = kernels.shortest_paths("nyc.txt", source=0)
    paths.distances[17], paths.variant, paths.reason
    scipy.sparse.csgraph.reconstruct_path(graph, paths.predecessors)
    kernels.distances("nyc.txt", sources=[0, 5, 9]).distances[2, 17]
    kernels.eccentricities("nyc.txt").farthest

Results are as those of scipy.sparse.csgraph.dijkstra: distances float64, infinite where there is no path; predecessors
int32, -9999 where there is none. Weights that are no whole numbers from 0 to 2^31 - 2, and distances above that, are
searched in float64 (kernels/fast/floats.py). kernels/csgraph.py has SciPy's own signatures.

What a search from one source does not need is imported when it is needed, and its kernels come with the wheel or are
kept on disk (kernels/gpu/kept.py): a first answer comes before numba would have been imported.
"""

from __future__ import annotations

import importlib.util
import itertools
import logging
import os
import reprlib
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from cuda.bindings import nvvm
from scipy import sparse

from kernels import datasets, memory
from kernels.errors import InputError, whole
from kernels.fast import near_far, probe
from kernels.fast.float_graph import FloatGraph
from kernels.gpu import built, driver_api, kept
from kernels.graph import INF, MAX_WEIGHT, Graph, require_size
from kernels.later import Later

if TYPE_CHECKING:
    from kernels.run import Result

csgraph = Later("scipy.sparse.csgraph")
libraries = Later("kernels.libraries")
floats, results = Later("kernels.fast.floats"), Later("kernels.fast.results")
probe_kernels = Later("kernels.fast.probe_kernels")
hierarchy, elimination = Later("kernels.fast.hierarchy.all_pairs"), Later("kernels.fast.hierarchy.elimination")
many_sources = Later("kernels.fast.hierarchy.many_sources")
KEPT = kept.Kernels(built.SEARCH, LANES=32), kept.Kernels(built.RESULTS)
KEPT_PROBE = kept.Kernels(built.PROBE)
log = logging.getLogger(__name__)
NO_PREDECESSOR = -9999
NEAR_FAR = "delta_stepping/near_far"
SMALL = 2**15  # vertices and arcs: with fewer, SciPy ends before a card has started
SPARSE = 128  # a graph is sparse where it has fewer than one of so many possible arcs
HOST_BYTES = 17  # for each pair: two int32 as computed, a float64 as returned, a byte while that is filled
FLOAT_BYTES = 20  # for each pair, with weights in float64: two int32 as bounds, a float64 and an int32 as returned
ROW_BYTES = 8  # for each pair of rows of distances: a float64 as returned
PIECE = 2**24  # distances that SciPy or the card gives at once
MANY = "hierarchy/many_sources", "hierarchy/all_pairs"  # rows of distances, and what is reduced of them; no variants


class Pays(NamedTuple):
    """From how many sources on a contraction hierarchy is faster than as many searches by near_far: where it is not
    prepared, where its file lies beside the graph's, and where a solver has laid it out on the card.
    """

    first: int
    prepared: int
    laid_out: int


# Measured on an H200 and one core of its host, on nyc and e (substitutes), 23 November 2026. By near_far a row takes
# 1.40 and 15.1 ms until it is on the host. In a hierarchy it takes 0.98 and 8.1 ms, nearly all of it for the copy; what
# is reduced on the card takes 5 and 15 us. Preparing takes 1.5 and 26 s, laying out what was prepared 0.3 and 3.5 s
# more, and each call 13 to 33 ms. So preparing pays from 4,300 and 4,200 rows on, or 1,300 and 2,000 sources reduced.
PAYS = {MANY[0]: Pays(4000, 600, 20), MANY[1]: Pays(1500, 200, 10)}
SHALLOW = 16  # no road network: from one vertex all others are within sqrt(vertices / SHALLOW) arcs
SHARE = 10  # where one of so many vertices is a source, all pairs are searched (by the rates of both; not measured)
LARGE = 2**15  # vertices; with more hierarchy/apsp is faster than blocked (by the rates of both; not measured)


@dataclass(frozen=True)
class Paths:
    """distances: float64, infinite where there is no path. predecessors: int32, -9999 where there is none.

    Both (n,) from one source, (n, n) with one row per source for all pairs. variant, reason: which one
    (algorithm/variant) was chosen, and why. rounds: of the search in float64 on the card; 0 where there was none.
    Solver.shortest_paths says what results that are left on the card have instead.
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
        if not gpu_visible():
            _say_no_gpu()
            return None
        device = driver_api.device()
        return cls(device.shared_limit, device.free_memory())


def gpu_visible() -> bool:
    """Whether a real GPU can be used from here: there is one, and numba can compile for it."""
    return not driver_api.simulated() and bool(driver_api.cards()) and _can_compile()


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


class TooLong(Exception):
    """A distance is above 2^31 - 2."""


def has_too_long(graph: Graph, distances: np.ndarray) -> bool:
    """Whether a distance is above 2^31 - 2, by what a variant found from one source or of all pairs: int32, (n,) or
    (n, n), INF where there is no path or too long a one.
    """
    try:
        _WholeNumbers(graph)._refuse_too_long(distances)
    except TooLong:
        return True
    return False


def Run(**settings):
    """A kernels.run.Run."""
    from kernels import run

    return run.Run(**settings)


def prepare(graph) -> Solver:
    """A solver of the graph, laid out on the card and compiled for searches from one source; see Solver."""
    solver = Solver(graph)
    if solver.on_card and choose_sssp(solver.graph, solver.card)[0] == NEAR_FAR:
        solver.shortest_paths(0)  # compiles or loads all kernels of a search, and no other
    return solver


def shortest_paths(graph, source: int) -> Paths:
    """From one source to all vertices.

    graph: a kernels.graph.Graph, a file of one, or a square SciPy sparse array of any format; its entries are arcs, NaN
    and inf are none, True is 1. Entries of one place are parallel arcs in CSR and CSC and added in any other format, as
    float64; zeros in a BSR array are no arcs. docs/scipy.md says where SciPy, and kernels.csgraph with it, reads an
    array otherwise. source: a whole number of Python's or NumPy's. Raises InputError where graph or source is none of
    these, a value of a Graph is wrong (see Graph.check_values) or a file cannot be read,
    scipy.sparse.csgraph.NegativeCycleError where there is a negative cycle, and NotEnoughMemory where the card lacks
    memory.

    What was laid out of a Graph or an array is kept until it is deleted, changed, or another one is searched.
    """
    return last.solver(graph).shortest_paths(source)


def all_pairs(graph) -> Paths:
    """From every vertex to every vertex; graph and errors as for shortest_paths.

    Raises InputError also where this machine has too little memory for the result.
    """
    return last.solver(graph).all_pairs()


def distances(graph, sources) -> Distances:
    """From each of the sources to all vertices, without predecessors; graph and errors as for shortest_paths.

    sources: whole numbers, a list or an array of one dimension; a vertex may come several times. Raises InputError
    also where the sources are none or this machine has too little memory for the result.
    """
    return last.solver(graph).distances(sources)


def eccentricities(graph, sources=None) -> Eccentricities:
    """How far the vertices lie from each source, without a matrix as result; the rest is as for distances.

    sources: None for all vertices. With a hierarchy only these numbers are copied from the card, otherwise distances.
    """
    return last.solver(graph).eccentricities(sources)


class Solver:
    """Searches on one graph, which is read, checked and laid out once; what is on the card stays there until `close`.

        with kernels.prepare(graph) as solver:
            solver.shortest_paths(0).distances[17]

    graph, errors: as for shortest_paths, where nothing else is said. Threads may share a solver. A search takes the
    whole card, so those of a process follow each other. A closed solver raises InputError.
    """

    def __init__(self, graph):
        self.graph, self.card = as_graph(graph), Card.visible()
        self._closed = False
        # Kernels have attributes that each launch of a process sets anew, so all solvers share a lock.
        self._lock = _ONE_SEARCH if self.on_card else threading.RLock()

    @property
    def on_card(self) -> bool:
        return self.card is not None

    def __enter__(self) -> Solver:
        with self.working():
            return self

    def __exit__(self, *error) -> None:
        self.close()

    def close(self) -> None:
        """Give back the memory on the card, but for results that were left there; once the searches have ended."""
        with self._lock:
            self._closed = True
            for name in ("in_whole_numbers", "in_float64"):
                vars(self).pop(name, None)
            if self._device:
                self._device.trim()

    @contextmanager
    def working(self) -> Iterator[None]:
        """One thread at a time, on the card that the first had. Raises InputError where the solver is closed."""
        with self._lock:
            if self._closed:
                raise InputError(f"the solver of {self.graph.name} is closed: prepare the graph again")
            with self._device.current() if self._device else nullcontext():
                yield

    @cached_property
    def _device(self) -> driver_api.Device | None:
        return driver_api.device() if self.on_card and not driver_api.simulated() else None

    @cached_property
    def in_whole_numbers(self) -> _WholeNumbers:
        return _WholeNumbers(self.graph)

    @cached_property
    def in_float64(self) -> _Float64:
        return _Float64(FloatGraph.of(self.graph) if isinstance(self.graph, Graph) else self.graph)

    def _exactly(self, in_whole_numbers: Callable, in_float64: Callable):
        """What the first gives, of self.in_whole_numbers; where a weight or distance is none, the second's answer."""
        if isinstance(self.graph, Graph):
            try:
                return in_whole_numbers(self.in_whole_numbers)
            except TooLong:
                pass
        return in_float64(self.in_float64)

    def shortest_paths(self, source: int, out: str = "host") -> Paths:
        """From one source to all vertices.

        out="device" leaves the results on the card, as the kernels have them: two kernels.gpu.driver_api.DeviceArray,
        int32, (n,), which CuPy and PyTorch take without a copy, by __cuda_array_interface__ or DLPack. A distance is
        then 2^31 - 1 and a predecessor -1 where there is none. They are the caller's; no later search changes them.
        Raises InputError where there is no GPU, or the weights or distances are no whole numbers up to 2^31 - 2.
        """
        source = self.graph.check_source(source)
        if out not in ("host", "device"):
            raise InputError(f'out must be "host" or "device", not {reprlib.repr(out)}')
        with self.working():
            if out == "device":
                return self._left_on_card(source)
            return self._exactly(
                lambda on: on.paths(source, *on.choose_one()),
                lambda on: _paths_in_float64(on, source),
            )

    def _left_on_card(self, source: int) -> Paths:
        if not self.on_card:
            raise InputError('out="device": no GPU is visible: take the results on the host')
        if isinstance(self.graph, Graph):
            try:
                found = self.in_whole_numbers.search(source)
            except TooLong:
                pass
            else:
                left = found.give()
                if not driver_api.simulated():
                    found.run.wait()
                return Paths(*left, NEAR_FAR, "results are left on the card")
        raise InputError(
            f'{self.graph.name}: out="device" is for whole weights and distances up to 2^31 - 2: take the results on '
            "the host"
        )

    def path(self, source: int, target: int) -> list[int] | None:
        """The vertices of a shortest path, source and target included; None where there is none."""
        target = whole(target, "target")
        if not 0 <= target < self.graph.vertices:
            name, n = self.graph.name, self.graph.vertices
            raise InputError(f"target {target} is not a vertex of {name}: choose one in [0, {n})")
        found = self.shortest_paths(source)
        if np.isinf(found.distances[target]):
            return None
        path = [target]
        while (before := int(found.predecessors[path[-1]])) != NO_PREDECESSOR:
            path.append(before)
        return path[::-1]

    def all_pairs(self) -> Paths:
        """From every vertex to every vertex.

        Raises InputError also where this machine has too little memory for the result.
        """
        n = self.graph.vertices
        for_pair = HOST_BYTES if isinstance(self.graph, Graph) else FLOAT_BYTES
        what = f"{self.graph.name}: all pairs of {n:,} vertices take"
        memory.require(for_pair * n**2, what, "search from single sources instead")
        with self.working():
            return self._exactly(
                lambda on: on.paths(0, *choose_apsp(self.graph, Card.visible())),
                lambda on: _rows_in_float64(on, np.arange(n), _all_pairs),
            )

    def paths_from(self, sources) -> Paths:
        """From each of the sources to all vertices: (k, n) each, a row for each source. sources: as for distances."""
        sources, n = check_sources(self.graph, sources), self.graph.vertices
        what = f"{self.graph.name}: paths from {len(sources):,} sources take"
        memory.require(FLOAT_BYTES * len(sources) * n, what, "take fewer sources at once")
        if len(sources) * SHARE >= n and FLOAT_BYTES * n**2 <= memory.host_memory():
            found = self.all_pairs()
            if len(sources) == n and (sources == np.arange(n)).all():
                return found
            return replace(found, distances=found.distances[sources], predecessors=found.predecessors[sources])

        def one_by_one(on: _WholeNumbers) -> Paths:
            distances, predecessors = np.empty((len(sources), n)), np.empty((len(sources), n), np.int32)
            key, reason = on.choose_one()
            for row, source in enumerate(sources.tolist()):
                on.paths(source, key, reason, into=(distances[row], predecessors[row]))
            return Paths(distances, predecessors, key, reason)

        with self.working():
            return self._exactly(one_by_one, lambda on: _rows_in_float64(on, sources, _many_sources))

    def distances(self, sources) -> Distances:
        """From each of the sources to all vertices, without predecessors.

        sources: whole numbers, a list or an array of one dimension; a vertex may come several times. Raises InputError
        also where the sources are none or this machine has too little memory for the result.
        """
        sources = check_sources(self.graph, sources)
        needed = ROW_BYTES * len(sources) * self.graph.vertices
        what = f"{self.graph.name}: distances from {len(sources):,} sources to {self.graph.vertices:,} vertices take"
        memory.require(needed, what, "take fewer sources at once, or kernels.eccentricities")
        found = np.empty((len(sources), self.graph.vertices))
        once, first = np.unique(sources, return_index=True)
        rows = {source: found[place] for source, place in zip(once.tolist(), first.tolist(), strict=True)}

        def in_whole_numbers(on: _WholeNumbers) -> tuple:
            key, reason = on.choose_rows(len(once), MANY[0])
            log.info("%s on %s: %s", key, self.graph.name, reason)
            on.find(rows, key)
            return key, reason

        def in_float64(on: _Float64) -> tuple:
            search = _FloatSearch(on, len(once), _many_sources)
            for source, row, _ in search.rows(once, tree=False):
                rows[int(source)][:] = row
            return search.variant, search.reason, search.rounds

        with self.working():
            how = self._exactly(in_whole_numbers, in_float64)
        for again in np.setdiff1d(np.arange(len(sources)), first).tolist():
            found[again] = rows[int(sources[again])]
        return Distances(sources, found, *how)

    def eccentricities(self, sources=None) -> Eccentricities:
        """How far the vertices lie from each source, without a matrix as result; the rest is as for distances.

        sources: None for all vertices. With a hierarchy only these numbers are copied from the card, otherwise
        distances.
        """
        sources = np.arange(self.graph.vertices) if sources is None else check_sources(self.graph, sources)
        once, places = np.unique(sources, return_inverse=True)

        def in_whole_numbers(on: _WholeNumbers) -> Eccentricities:
            key, reason = on.choose_rows(len(once), MANY[1])
            log.info("%s on %s: %s", key, self.graph.name, reason)
            if key == MANY[1]:
                found = on.reduced(once)
                columns = found.eccentricity, found.farthest, found.reached, found.total
                # The path to a vertex that is too far passes one that is not, a weight or less below the limit.
                for _ in on.rows(once[found.eccentricity > INF - 1 - on.largest], MANY[0]):
                    pass  # rows stops at the first that is
            else:
                columns = _reduced(once, on.rows(once, key), INF)
            return of_columns(columns, (np.int32, np.int32, np.int32, np.int64), key, reason)

        def in_float64(on: _Float64) -> Eccentricities:
            search = _FloatSearch(on, len(once), _many_sources)
            columns = _reduced(once, (row[:2] for row in search.rows(once, tree=False)), np.inf)
            types = np.float64, np.int32, np.int32, np.float64
            return of_columns(columns, types, search.variant, search.reason)

        def of_columns(columns, types, key: str, reason: str) -> Eccentricities:
            columns = (np.asarray(column)[places].astype(kind) for column, kind in zip(columns, types, strict=True))
            return Eccentricities(sources, *columns, key, reason)

        with self.working():
            return self._exactly(in_whole_numbers, in_float64)


_ONE_SEARCH = threading.RLock()  # held while a search is on the card


class Last:
    """The solver of the last graph, as long as that lives and its arrays have the same values."""

    class Kept(NamedTuple):
        given: weakref.ref
        shape: tuple | None
        arrays: list
        options: tuple
        solver: Solver

    def __init__(self):
        self.kept = None

    def solver(self, graph) -> Solver:
        """A solver of what shortest_paths takes: the last one, or a new one."""
        # A solver of the graph itself would keep it alive.
        return self.find(graph) or self.keep(
            graph, lambda: Solver(replace(graph) if isinstance(graph, Graph | FloatGraph) else graph)
        )

    def find(self, graph, options: tuple = ()) -> Solver | None:
        """The last solver, where it is of this graph and made with these options."""
        kept, arrays = self.kept, _arrays_of(graph)  # another thread may set it meanwhile
        if kept is None or kept.given() is not graph or kept.options != options:
            return None
        same = kept.shape == getattr(graph, "shape", None) and all(map(_same_values, kept.arrays, arrays))
        return kept.solver if same else None

    def keep(self, graph, make: Callable[[], Solver], options: tuple = ()) -> Solver:
        """What `make` makes of the graph, kept for `find`, where the graph's arrays are known here."""
        self.kept = None  # which may free memory on the card
        arrays = _arrays_of(graph)
        if arrays is None:
            return make()
        copies, shape = [array.copy() for array in arrays], getattr(graph, "shape", None)
        solver = make()
        self.kept = self.Kept(weakref.ref(graph, self._forget), shape, copies, options, solver)
        return solver

    def _forget(self, given: weakref.ref) -> None:
        if self.kept and self.kept.given is given:
            self.kept = None


last = Last()  # of all functions here and in csgraph.py


def _arrays_of(graph) -> list | None:
    """The arrays that a graph's arcs are in, which may be changed in place; None of what is not known here."""
    if isinstance(graph, Graph | FloatGraph):
        return []  # not to be changed
    if isinstance(graph, np.ndarray):
        return [graph]
    if sparse.issparse(graph) and graph.format in ("csr", "csc", "bsr"):
        return [graph.indptr, graph.indices, graph.data]
    return [*graph.coords, graph.data] if sparse.issparse(graph) and graph.format == "coo" else None


def _same_values(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays have the same bits; those of more than 64 the same values."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    bits = f"u{one.itemsize}" if one.itemsize <= 8 else one.dtype  # NaN is unlike itself
    return np.array_equal(one.view(bits), other.view(bits))


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
    if isinstance(graph, Graph):
        graph.check_values()
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
    if graph.dtype.kind not in "biuf":
        raise InputError(f"the weights of a graph must be real numbers, not {graph.dtype}")
    return graph_of(as_rows(graph))


def as_rows(array) -> sparse.csr_array:
    """The entries of a square SciPy sparse array that csgraph reads as arcs, as float64.

    Those of one place are parallel arcs in a CSR or CSC array and are added in any other; zeros in a BSR array, which
    fill its blocks, are none. Raises InputError where its indices do not fit together or are outside it, and where
    there are too many vertices or none.
    """
    require_size(array.shape[0], 0)  # before anything as long is allocated
    try:
        if array.format in ("csr", "csc"):
            make = sparse.csr_array if array.format == "csr" else sparse.csc_array
            given = make((array.data, array.indices, array.indptr), shape=array.shape)  # to be checked: it may change
            given.check_format()
            if given.indptr[-1] <= 0 and given.indptr.any():  # which SciPy checks only where there are entries
                raise ValueError("indptr must be a non-decreasing sequence")
        else:
            given = sparse.coo_array(array, copy=True)
    except ValueError as error:
        raise InputError(f"the sparse array of a graph is broken: {error}") from None
    given.data = given.data.astype(np.float64, copy=False)  # before they are added: a narrow type would wrap
    rows = given.tocsr()
    if array.format == "bsr":
        rows.eliminate_zeros()
    return rows


def graph_of(rows: sparse.csr_array) -> Graph | FloatGraph:
    """A graph of the entries of as_rows, of which NaN and inf are no arcs; see as_graph."""
    highest = rows.data.max(initial=0)
    if not highest < np.inf:  # nor is NaN
        there = ~(np.isnan(rows.data) | np.isposinf(rows.data))
        indptr = np.concatenate([[0], np.cumsum(there)])[rows.indptr]
        rows = sparse.csr_array((rows.data[there], rows.indices[there], indptr), shape=rows.shape)
        highest = rows.data.max(initial=0)
    require_size(rows.shape[0], rows.nnz)
    indptr, indices, weights = rows.indptr.astype(np.int32), rows.indices.astype(np.int32), rows.data
    lowest = weights.min(initial=0)
    if lowest >= 0 and highest <= MAX_WEIGHT:
        whole_weights = weights.astype(np.int32)
        if np.array_equal(whole_weights, weights):
            return Graph(indptr, indices, whole_weights)
    if lowest == -np.inf:
        raise InputError("a weight is -inf: no path through it has a length")
    return FloatGraph(indptr, indices, weights.copy())


def choose_sssp(graph: Graph, card: Card | None) -> tuple[str, str]:
    """The variant (algorithm/variant) for one source, and why."""
    if card is None:
        return "dijkstra/scipy", "no GPU is visible, and of the CPU libraries SciPy is the fastest from one source"
    if graph.vertices + graph.arcs < SMALL:
        return "dijkstra/scipy", f"a GPU takes longer to start than {graph.vertices + graph.arcs:,} vertices and arcs"
    return "delta_stepping/near_far", "the fastest that was measured from one source"


def choose_apsp(graph: Graph, card: Card | None) -> tuple[str, str]:
    """The variant for all pairs, and why."""
    from kernels.fast.blocked_floyd_warshall import PACKED_INF, TileShape
    from kernels.fast.hierarchy.variants import MATRIX_BYTES
    from kernels.fast.multi_source import bytes_of_block

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
        return "dijkstra/scipy", "no GPU is visible, and SciPy gives rows without predecessors"
    if sources * (graph.vertices + graph.arcs) < SMALL:
        return "dijkstra/scipy", f"a GPU takes longer to start than {sources:,} searches of so few vertices and arcs"
    unfit = _unfit(graph, sources, card, many, pays)
    if not unfit:
        return many, f"a contraction hierarchy is fit for the graph and pays from so many sources ({sources:,})"
    if sources * SHARE >= graph.vertices and HOST_BYTES * graph.vertices**2 <= memory.host_memory():
        key, reason = choose_apsp(graph, card)
        return key, f"all pairs, since {sources:,} of {graph.vertices:,} vertices are sources: {reason}"
    key, reason = choose_sssp(graph, card)
    return key, f"one source after the other, {unfit}: {reason}"


class _WholeNumbers:
    """Searches on a Graph. What they lay out on the card stays.

    largest: the largest weight. short: whether it is known that no path is longer than 2^31 - 2. hierarchies: by
    whether they reduce what they find. lengths: distances in float64, (n,), on the card, where there were any.
    """

    def __init__(self, graph: Graph, *, short: bool = False):
        self.graph, self.largest, self.short = graph, int(graph.weights.max(initial=0)), short
        self.hierarchies, self.lengths = {}, None

    @cached_property
    def array(self) -> sparse.csr_array:
        return self.graph.to_scipy()

    @cached_property
    def near_far(self) -> near_far.Searches:
        if driver_api.simulated():
            searches = near_far.Searches(self.graph, Run())
        else:
            searches = near_far.Searches(self.graph, driver_api.DriverRun(driver_api.device()), KEPT[0])
        searches.allocate()
        return searches

    def search(self, source: int, *, tree: bool = True) -> near_far.Searches:
        """Near-Far from a source, whose results are then on the card. tree: whether predecessors are wanted.

        Raises TooLong.
        """
        find_distances, find_tree = self.near_far.search(source)
        find_distances()
        if tree:
            find_tree()
        if not self._fits and self.near_far.is_too_long():
            raise TooLong
        return self.near_far

    @cached_property
    def _fits(self) -> bool:
        """Whether no path can be longer than 2^31 - 2, by bounds that take less time than a search."""
        most = (self.graph.vertices - 1) * self.largest
        return self.short or most < INF or int(self.graph.weights.sum(dtype=np.int64)) < INF

    def paths(self, source: int, key: str, reason: str, into: tuple | None = None) -> Paths:
        """By a variant: from the source, or of all pairs, which have none. Raises TooLong.

        into: where distances and predecessors from the source are to be; None for new arrays.
        """
        log.info("%s on %s: %s", key, self.graph.name, reason)
        if key == NEAR_FAR:
            into = into or (np.empty(self.graph.vertices), np.empty(self.graph.vertices, np.int32))
            self._download(self.search(source), *into)
            return Paths(*into, key, reason)
        if key == "dijkstra/scipy":
            found = csgraph.dijkstra(self.array, indices=source, return_predecessors=True)
        else:
            result = _run(self.graph, key)
            self._refuse_too_long(result.distances)
            result.predecessors[result.predecessors == -1] = NO_PREDECESSOR
            found = _as_float64(result.distances), result.predecessors
        if into:
            into[0][:], into[1][:] = found
        return Paths(*(into or found), key, reason)

    def _download(self, found: near_far.Searches, distances: np.ndarray, predecessors: np.ndarray | None) -> None:
        """Copy a search's results to the host, as SciPy has them: made on the card, which takes less time.

        predecessors: None where they are not wanted.
        """
        run, n = found.run, self.graph.vertices
        if self.lengths is None:
            run.require(8 * n)
            (self.lengths,) = run.allocate((n, np.float64))
        kernels = results if driver_api.simulated() else KEPT[1]
        run.launch((kernels.as_scipy, -(-n // run.block), run.block, (found.dist, found.predecessor, self.lengths)))
        run.download((self.lengths, distances))
        if predecessors is not None:
            run.download((found.predecessor, predecessors))

    @cached_property
    def is_narrow(self) -> bool:
        """Whether the graph is too narrow for Near-Far; found out on the card, whose memory is then given back."""
        found = probe.is_narrow(self.near_far, probe_kernels if driver_api.simulated() else KEPT_PROBE)
        if found:
            del self.near_far
        return found

    def choose_one(self) -> tuple[str, str]:
        """choose_sssp's choice, but SciPy for a narrow graph."""
        return self._unless_narrow(*choose_sssp(self.graph, Card.visible()))

    def _unless_narrow(self, key: str, reason: str) -> tuple[str, str]:
        if key == NEAR_FAR and self.is_narrow:
            return "dijkstra/scipy", "the graph is narrow, so that a search on the card would take too many rounds"
        return key, reason

    def choose_rows(self, sources: int, many: str) -> tuple[str, str]:
        """choose_many's choice, but SciPy for a narrow graph."""
        laid_out = (many == MANY[1]) in self.hierarchies
        pays = (PAYS[many].laid_out if laid_out else PAYS[many].prepared) if self.hierarchies else None
        return self._unless_narrow(*choose_many(self.graph, sources, Card.visible(), many, pays))

    def find(self, rows: dict[int, np.ndarray], key: str) -> None:
        """Fill rows, by their sources: float64, (n,), infinite where there is no path. Raises TooLong."""
        sources = np.array(list(rows), np.int64)
        if key == NEAR_FAR:
            for source, row in rows.items():
                self._download(self.search(source, tree=False), row, None)
        elif key == MANY[0]:
            with self._hierarchy(reduces=False) as searches:
                for piece, on_card in hierarchy.matrix(searches, sources):
                    self._download_rows(searches.run, on_card, [rows[source] for source in piece.tolist()])
        else:
            for source, row in self.rows(sources, key):
                rows[source][:] = _as_float64(row)

    def _download_rows(self, run: Run, on_card, rows: list[np.ndarray]) -> None:
        """Copy distances, int32, (k * n,), to as many rows, made float64 on the card. Raises TooLong."""
        n, fits = self.graph.vertices, np.int32(INF - 1 - self.largest)
        (lengths,), (far,) = run.allocate((n, np.float64)), run.upload(np.zeros(1, np.int32))
        parts = [on_card[i * n : (i + 1) * n] for i in range(len(rows))]
        for part, row in zip(parts, rows, strict=True):
            run.launch((results.as_lengths, -(-n // run.block), run.block, (part, fits, lengths, far)))
            run.download((lengths, row))
        (some_are_far,) = far.copy_to_host()
        for part in parts if some_are_far else ():
            self._refuse_too_long(part.copy_to_host())

    def rows(self, sources: np.ndarray, key: str) -> Iterator[tuple[int, np.ndarray]]:
        """Each of the sources, which differ, with the distances from it: int32, (n,), INF where there is no path.

        Raises TooLong.
        """
        if key == NEAR_FAR:
            for source in sources.tolist():
                found, row = self.search(source, tree=False), np.empty(self.graph.vertices, np.int32)
                found.run.download((found.dist, row))
                yield source, row
        elif len(sources):
            for source, row in self._unchecked_rows(sources, key):
                self._refuse_too_long(row)
                yield int(source), row

    def _unchecked_rows(self, sources: np.ndarray, key: str) -> Iterator[tuple[np.integer, np.ndarray]]:
        n, most = self.graph.vertices, max(1, PIECE // self.graph.vertices)
        if key == MANY[0]:
            with self._hierarchy(reduces=False) as searches:
                for piece, on_card in hierarchy.matrix(searches, sources):
                    for start in range(0, len(piece), most):
                        some = piece[start : start + most]
                        found = np.empty(len(some) * n, np.int32)
                        searches.run.download((on_card[start * n : (start + len(some)) * n], found))
                        yield from zip(some, found.reshape(-1, n), strict=True)
        elif key == "dijkstra/scipy":
            for start in range(0, len(sources), most):
                some = sources[start : start + most]
                found = csgraph.dijkstra(self.array, indices=some)
                yield from zip(some, np.minimum(found, INF, out=found).astype(np.int32), strict=True)
        else:
            result = _run(self.graph, key)
            yield from ((source, result.distances[source]) for source in sources)

    def reduced(self, sources: np.ndarray) -> hierarchy.Reduced:
        """By a hierarchy."""
        with self._hierarchy(reduces=True) as searches:
            return hierarchy.reduced(searches, sources)

    @contextmanager
    def _hierarchy(self, *, reduces: bool) -> Iterator[hierarchy.Searches]:
        """Searches in a hierarchy. The memory for what they find, most of what is free, is given back."""
        if reduces not in self.hierarchies:
            self.hierarchies[reduces] = hierarchy.Searches(self.graph, reduces=reduces)
        searches = self.hierarchies[reduces]
        try:
            yield searches
        finally:
            searches.many.most, searches.many.matrix, searches.many.found = 0, None, None

    def _refuse_too_long(self, distances: np.ndarray) -> None:
        """Raise TooLong where a distance is above 2^31 - 2: an arc then leads from a vertex that is reached to one that
        is not.

        No distance is too long where the largest that was found and the largest weight fit.
        """
        if self._fits:
            return
        for row in np.atleast_2d(distances):
            reached = row != INF
            if int(row.max(where=reached, initial=0)) + self.largest < INF:
                continue
            if (reached[self.graph.tails] & ~reached[self.graph.indices]).any():
                raise TooLong


class _Float64:
    """Searches on a FloatGraph. What they lay out on the card stays.

    negative: whether a weight is below 0.
    """

    def __init__(self, graph: FloatGraph):
        self.given, self.negative = graph, bool((graph.weights < 0).any())

    @cached_property
    def potential(self) -> np.ndarray:
        """Of a graph with weights below 0. Raises scipy.sparse.csgraph.NegativeCycleError."""
        return floats.Searches(self.given, Run()).potentials()

    @cached_property
    def graph(self) -> FloatGraph:
        """The graph without weights below 0."""
        return floats.reduced(self.given, self.potential) if self.negative else self.given

    @cached_property
    def searches(self) -> floats.Searches:
        return floats.Searches(self.graph, Run())

    @cached_property
    def bounds(self) -> _WholeNumbers:
        return _WholeNumbers(self.graph.scaled, short=True)


# What chooses the variant that bounds a search in float64.


def _one_source(bounds: _WholeNumbers, sources: int) -> tuple[str, str]:
    return bounds.choose_one()


def _all_pairs(bounds: _WholeNumbers, sources: int) -> tuple[str, str]:
    return choose_apsp(bounds.graph, Card.visible())


def _many_sources(bounds: _WholeNumbers, sources: int) -> tuple[str, str]:
    return bounds.choose_rows(sources, MANY[0])


class _FloatSearch:
    """A search in float64 from `sources` sources: by SciPy, or bounded by distances of a variant that `choose` gives.

    variant, reason: as in Paths, of the bounds. rounds: so far, the most of a search on the card.
    Raises scipy.sparse.csgraph.NegativeCycleError.
    """

    def __init__(self, on: _Float64, sources: int, choose: Callable):
        self.on, self.rounds = on, 0
        self.variant, size = "dijkstra/scipy", on.given.vertices + on.given.arcs
        if Card.visible() is None:
            self.reason = "no GPU is visible, and of the CPU libraries SciPy takes weights in float64"
        elif sources * size < SMALL:
            self.reason = f"a GPU takes longer to start than {sources:,} searches of so few vertices and arcs"
        else:
            self.variant, self.reason = choose(on.bounds, sources)
            if self.variant != "dijkstra/scipy":
                self.reason += "; of weights scaled and rounded up, which bounds the search in float64"
        log.info("%s on %s: %s", self.variant, on.given.name, self.reason)

    def rows(self, sources: np.ndarray, *, tree: bool = True) -> Iterator[tuple[int, np.ndarray, np.ndarray | None]]:
        """Each of the sources, which differ, in any order: with its distances, (n,), and predecessors where wanted."""
        on, n = self.on, self.on.given.vertices
        most = max(1, PIECE // n)
        if self.variant == "dijkstra/scipy":
            solve, array = csgraph.johnson if on.negative else csgraph.dijkstra, on.given.to_scipy()
            for start in range(0, len(sources), most):
                some = sources[start : start + most]
                found = solve(array, indices=some, return_predecessors=tree)
                distances, predecessors = found if tree else (found, itertools.repeat(None))
                yield from zip(some.tolist(), distances, predecessors, strict=False)
            return
        bounds = on.bounds.rows(sources, self.variant)
        while part := list(itertools.islice(bounds, most)):
            some = np.array([source for source, _ in part])
            starts, whole = n * np.arange(len(some)) + some, np.stack([row for _, row in part])
            found = on.searches.search(starts, len(some), whole, tree=tree)
            self.rounds = max(self.rounds, found.rounds)
            for row, source in enumerate(some.tolist()):
                distances = found.dist[row]
                if on.negative:
                    distances += on.potential - on.potential[source]
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
    on = _WholeNumbers(more)
    key, _ = on.choose_one()
    ((_, row),) = on.rows(np.array([graph.vertices]), key)
    return row[:-1]


def _paths_in_float64(on: _Float64, source: int) -> Paths:
    search = _FloatSearch(on, 1, _one_source)
    ((_, distances, predecessors),) = search.rows(np.array([source]))
    return Paths(distances, predecessors, search.variant, search.reason, search.rounds)


def _rows_in_float64(on: _Float64, sources: np.ndarray, choose: Callable) -> Paths:
    """A row for each of the sources."""
    once, n = np.unique(sources), on.given.vertices
    search = _FloatSearch(on, len(once), choose)
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
    needed = 2 * 4 * lanes * many_sources.SOURCES * n  # the rows of the fewest sources of a search, in both orders
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


def _run(graph: Graph, key: str) -> Result:
    """All pairs by a variant."""
    from kernels.run import Result
    from kernels.variants import find

    variant = find(*key.split("/"))
    variant.check_size(graph)
    result = Result.poisoned(variant.problem, graph.vertices)
    variant.function(graph, result, Run(on_gpu=variant.on_gpu))
    return result


def _as_float64(distances: np.ndarray) -> np.ndarray:
    """int32 distances as float64, infinite where there is no path."""
    found = distances.astype(np.float64)
    found[distances == INF] = np.inf
    return found
