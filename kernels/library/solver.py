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

choice.py chooses the variant, inputs.py reads graphs, searches.py searches. What a search from one source does not need
is imported when it is needed, and compiled kernels are kept on disk (kernels/gpu/cache.py).
"""

from __future__ import annotations

import reprlib
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kernels import memory
from kernels.errors import InputError, whole
from kernels.fast.float_graph import FloatGraph
from kernels.gpu import driver
from kernels.graph import INF, Graph
from kernels.later import Later
from kernels.library import choice
from kernels.library.answers import FLOAT_BYTES, HOST_BYTES, NO_PREDECESSOR, ROW_BYTES, Distances, Eccentricities, Paths
from kernels.library.choice import MANY, NEAR_FAR, Card, choose_sssp, log
from kernels.library.inputs import as_graph, check_sources
from kernels.library.searches import Float64, FloatSearch, TooLong, WholeNumbers

card, sparse = Later("kernels.gpu.card"), Later("scipy.sparse")


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
        self.graph, self.card = self._read(graph), Card.visible()
        self._closed = False
        self._lock = _ONE_SEARCH if self.on_card else threading.RLock()

    def _read(self, graph) -> Graph | FloatGraph:
        return as_graph(graph)

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
            if self._uses_gpu:
                with self._context:
                    card.free_pending()

    @contextmanager
    def working(self) -> Iterator[None]:
        """One thread at a time, on the card that the first had. Raises InputError where the solver is closed."""
        with self._lock:
            if self._closed:
                raise InputError(f"the solver of {self.graph.name} is closed: prepare the graph again")
            with self._context:
                yield

    @property
    def _uses_gpu(self) -> bool:
        return self.on_card and not driver.simulated()

    @cached_property
    def _context(self):
        """A context manager in which the card of the thread that asked first is current."""
        return card.using(card.current()) if self._uses_gpu else nullcontext()

    @cached_property
    def in_whole_numbers(self) -> WholeNumbers:
        return WholeNumbers(self.graph)

    @cached_property
    def in_float64(self) -> Float64:
        return Float64(FloatGraph.of(self.graph) if isinstance(self.graph, Graph) else self.graph)

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

        out="device" leaves the results on the card, as the kernels have them: two device arrays of numba, int32,
        (n,), which CuPy, PyTorch and JAX take without a copy, by __cuda_array_interface__. A distance is then 2^31 - 1
        and a predecessor -1 where there is none. They are the caller's; no later search changes them.
        Raises InputError where there is no GPU, or the weights or distances are no whole numbers up to 2^31 - 2.
        """
        source = self.graph.check_source(source)
        if not isinstance(out, str) or out not in ("host", "device"):
            raise InputError(f'out must be "host" or "device", not {reprlib.repr(out)}')
        with self.working():
            if out == "device":
                return self._left_on_card(source)
            return self._exactly(
                lambda on: on.paths(source, *on.choose_one()),
                lambda on: on.paths(source),
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
                left = found.give()  # takes memory for the next result while the kernels run
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
                WholeNumbers.all_pairs,
                lambda on: on.paths_from(np.arange(n), lambda bounds, sources: bounds.choose_all()),
            )

    def paths_from(self, sources) -> Paths:
        """From each of the sources to all vertices: (k, n) each, a row for each source. sources: as for distances."""
        sources, n = check_sources(self.graph, sources), self.graph.vertices
        what = f"{self.graph.name}: paths from {len(sources):,} sources take"
        memory.require(FLOAT_BYTES * len(sources) * n, what, "take fewer sources at once")
        if len(sources) * choice.SHARE >= n and FLOAT_BYTES * n**2 <= memory.host_memory():
            found = self.all_pairs()
            if len(sources) == n and (sources == np.arange(n)).all():
                return found
            return replace(found, distances=found.distances[sources], predecessors=found.predecessors[sources])

        def one_by_one(on: WholeNumbers) -> Paths:
            distances, predecessors = np.empty((len(sources), n)), np.empty((len(sources), n), np.int32)
            key, reason = on.choose_one()
            for row, source in enumerate(sources.tolist()):
                on.paths(source, key, reason, into=(distances[row], predecessors[row]))
            return Paths(distances, predecessors, key, reason)

        with self.working():
            return self._exactly(one_by_one, lambda on: on.paths_from(sources, WholeNumbers.choose_rows))

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

        def in_whole_numbers(on: WholeNumbers) -> tuple:
            key, reason = on.choose_rows(len(once))
            log.info("%s on %s: %s", key, self.graph.name, reason)
            on.find(rows, key)
            return key, reason

        def in_float64(on: Float64) -> tuple:
            search = FloatSearch(on, once, WholeNumbers.choose_rows)
            for source, row, _ in search.rows(tree=False):
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

        def in_whole_numbers(on: WholeNumbers) -> Eccentricities:
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

        def in_float64(on: Float64) -> Eccentricities:
            search = FloatSearch(on, once, WholeNumbers.choose_rows)
            columns = _reduced(once, (row[:2] for row in search.rows(tree=False)), np.inf)
            types = np.float64, np.int32, np.int32, np.float64
            return of_columns(columns, types, search.variant, search.reason)

        def of_columns(columns, types, key: str, reason: str) -> Eccentricities:
            columns = (np.asarray(column)[places].astype(kind) for column, kind in zip(columns, types, strict=True))
            return Eccentricities(sources, *columns, key, reason)

        with self.working():
            return self._exactly(in_whole_numbers, in_float64)


def _reduced(sources: np.ndarray, rows, no_path: float) -> tuple:
    """The columns of Eccentricities. rows: each of the sources, which differ, in any order, with its distances."""
    found = {}
    for source, row in rows:
        reached = row != no_path
        farthest = np.where(reached, row, -np.inf).argmax()
        found[source] = row[farthest], farthest, reached.sum(), row.sum(where=reached)
    return tuple(zip(*(found[source] for source in sources.tolist()), strict=True)) or ([],) * 4


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
        if kept is None or arrays is None or kept.given() is not graph or kept.options != options:
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
    arrays, form = [], getattr(graph, "format", None)  # asked first: importing scipy.sparse takes 0.1 s
    if isinstance(graph, np.ndarray):
        arrays = [graph]
    elif form in ("csr", "csc", "bsr") and sparse.issparse(graph):
        arrays = [graph.indptr, graph.indices, graph.data]
    elif form == "coo" and sparse.issparse(graph):
        arrays = [*graph.coords, graph.data]
    return arrays if arrays and all(isinstance(array, np.ndarray) for array in arrays) else None


def _same_values(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays have the same bits; those of more than 64 the same values."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    bits = f"u{one.itemsize}" if one.itemsize <= 8 else one.dtype  # NaN is unlike itself
    return np.array_equal(one.view(bits), other.view(bits))
