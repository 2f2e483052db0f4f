"""Find shortest paths in any graph with the variant that suits it.

The results have SciPy's form. Distances are float64, and ``inf`` if there is no path. Predecessors are int32, and -9999
if there is no predecessor. Results that are left on the card have another form. The search is in integers if all
weights and distances are integers from 0 to 2**31 - 2, else in float64 (fast/floats.py). A search with a limit
is in integers only in a contraction hierarchy.

choice.py chooses the variant, inputs.py reads graphs, searches.py searches. Modules that a search from one source does
not need are imported late, and compiled kernels are kept on disk (gpu/cache.py).
"""

from __future__ import annotations

import itertools
import os
import reprlib
import sys
import threading
import weakref
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from .. import memory
from ..errors import InputError, whole
from ..fast.float_graph import FloatGraph
from ..gpu import driver
from ..graph import INF, Graph, check_flag, starts
from ..lazy import LazyModule
from ..network import Network
from . import choice
from .answers import (
    FLOAT_BYTES,
    HOST_BYTES,
    LIMITED_BYTES,
    NO_PREDECESSOR,
    Distances,
    Eccentricities,
    Nearest,
    Paths,
    Routes,
)
from .choice import NEAR_FAR, Card
from .inputs import as_graph, check_sources
from .pairs import PairSearch, values_of_edges
from .reweighting import NewWeights, detached, reweighted_floats, weight_column
from .searches import (
    NO_PATH_BY_DTYPE,
    PIECE,
    Engine,
    Facilities,
    Float64,
    FoundNearest,
    NotInIntegers,
    Wanted,
    WholeNumbers,
    no_float32,
    no_int32,
)

if TYPE_CHECKING:
    from scipy import sparse

    GraphLike = Graph | FloatGraph | str | bytes | os.PathLike | np.ndarray | sparse.sparray | sparse.spmatrix
else:
    sparse = LazyModule("scipy.sparse")
card = LazyModule("..gpu.card", __package__)
PIECE_BYTES = 2**28  # maximum bytes of a piece of distances
ON_CARD = "results are left on the card"
Answer = TypeVar("Answer")


class Solver:
    """Search one graph repeatedly. The graph is read, checked and laid out once.

    `close`, or the end of a `with` statement, frees the memory on the card. A closed solver raises InputError.

    Threads may share a solver. On a card, all solvers of a process together run one search at a time. Without a GPU,
    each solver runs one search at a time. In a forked process, a solver works only without a GPU (docs/library.md).

    Parameters
    ----------
    graph, directed, labels
        See `prepare`.

    Raises
    ------
    InputError, NotEnoughMemory, NegativeCycleError
        As in `shortest_paths`, here and in the methods.

    Examples
    --------
    >>> import numpy as np
    >>> from cuda_shortest_paths import Solver
    >>> graph = np.array([[0, 4, 7, 0], [0, 0, 1, 0], [0, 0, 0, 2], [0, 6, 0, 0]])
    >>> with Solver(graph) as solver:
    ...     solver.path(0, 3), solver.path(1, 0)
    ([0, 1, 2, 3], None)
    """

    def __init__(self, graph: GraphLike, *, directed: bool = True, labels: bool = True) -> None:
        directed = check_flag(directed, "directed")
        read = self._read(graph)
        if isinstance(read, Graph) and read.structure is not read:  # of another solver
            read = detached(read)
        if not check_flag(labels, "labels") and isinstance(read, Graph):
            read = read.without_labels()
        if not directed and isinstance(read, Graph) and not read.network:  # then its edges are numbered
            read = replace(read, network=Network(read.edges))
        self.graph, self._card = read if directed else read.undirected(), Card.visible()
        self._prepared = self.graph
        self._given_as_directed = directed
        self._closed = False
        self._lock = _new_lock(self)
        _solvers.add(self)

    def _read(self, graph: Any) -> Graph | FloatGraph:
        return as_graph(graph)

    def __dir__(self) -> list[str]:
        return [name for name in object.__dir__(self) if not name.startswith("_")]

    def __repr__(self) -> str:
        """Return the graph, its size, the card and what is laid out on the card."""
        graph, engines = self.graph, [vars(self).get(name) for name in ("_in_whole_numbers", "_in_float64")]
        size = f"{graph.name}: {graph.vertices:,} vertices, {graph.arcs:,} arcs"
        prepared = [name for engine in engines if engine for name in engine.prepared]
        state = ["closed"] if self._closed else prepared
        return f"{type(self).__name__}({'; '.join([size, self._card.name if self._card else 'no GPU', *state])})"

    @property
    def on_card(self) -> bool:
        """Whether searches may run on a card."""
        return self._card is not None

    def __enter__(self) -> Solver:
        with self._working():
            return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for searches to end, then free the memory on the card. Results that were left on the card stay."""
        with self._lock:
            self._closed = True
            if self.on_card and driver.forked():
                return  # the memory on the card belongs to the parent
            for name in ("_in_whole_numbers", "_in_float64", "_reversed", "_pairs"):
                vars(self).pop(name, None)
            if isinstance(new := vars(self.graph).get("new_weights"), NewWeights):
                new.leave_card()
            if self._uses_gpu:
                with self._context:
                    card.free_pending()

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Hold the lock, and use the card of this solver's first search. Raises InputError if the solver is closed."""
        with self._lock:
            if self.on_card:
                driver.check_process()
            if self._closed:
                raise InputError(f"the solver of {self.graph.name} is closed: prepare the graph again")
            with self._context:
                yield

    @property
    def directed(self) -> bool:
        """Whether an arc may have no reverse arc of the same weight."""
        if not isinstance(self.graph, Graph) or not isinstance(self._prepared, Graph):  # a FloatGraph does not say it
            return self._given_as_directed
        if not self.graph.directed or self._prepared.directed:
            return self.graph.directed
        return self.graph.reversed() is not self.graph  # arcs that lead back may have other new weights

    @property
    def _uses_gpu(self) -> bool:
        return self.on_card and not driver.simulated()

    @cached_property
    def _context(self) -> AbstractContextManager:
        """A context manager in which the card of the first search is current."""
        return card.using(card.current()) if self._uses_gpu else nullcontext()

    @cached_property
    def _in_whole_numbers(self) -> WholeNumbers:
        """The object that searches in integers."""
        assert isinstance(self.graph, Graph)
        return WholeNumbers(self.graph)

    @cached_property
    def _in_float64(self) -> Float64:
        """The object that searches in float64."""
        graph = FloatGraph.of(self.graph) if isinstance(self.graph, Graph) else self.graph
        return Float64(graph, self.graph)

    def reweight(self, weights: Any) -> None:
        """Change the weights of edges, and close edges or open them again.

        Later results are those of a new graph with these weights and the same unit. The graph keeps its arcs, so a
        contraction hierarchy keeps its order, and the card only adapts its weights. To insert an edge, prepare a new
        graph.

        Parameters
        ----------
        weights : array_like, shape (e,)
            For each edge that the graph was made from, in their order (`Graph.edges` has the edge of each arc). For a
            graph of arcs, for each arc in the order of ``graph.indices``. ``inf`` closes an edge; a later finite weight
            opens it again. In a graph with turns, the costs of turns stay.
            For a `Graph`, other weights are integers or floats from 0 to 2**31 - 2 times `Graph.unit`. They are rounded
            to multiples of the unit; if it is 1, they must be whole. For a SciPy sparse array with other weights, they
            may be any finite numbers.

        Raises
        ------
        InputError
            If `weights` has a wrong length or type, or a weight is out of range. The solver is then unchanged.

        Examples
        --------
        >>> import cuda_shortest_paths
        >>> from cuda_shortest_paths.graph import Graph
        >>> roads = Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 1, 9])
        >>> with cuda_shortest_paths.prepare(roads) as solver:
        ...     solver.reweight([4, float("inf"), 9])
        ...     solver.path(0, 2)
        [0, 2]
        """
        with self._working():
            given = weight_column(weights, self._edge_count, self.graph.name)
            changed: Any = {}
            if not isinstance(self._prepared, Graph):
                graph: Graph | FloatGraph = reweighted_floats(self._prepared, given)
            else:
                scale, whole_only = self._prepared.scale, self._prepared.unit == 1
                engine = self._in_whole_numbers.reweighted(given, scale, whole_only=whole_only)
                graph, changed = engine.graph, {"_in_whole_numbers": engine}
            backward = vars(self).get("_reversed")
            for name in ("_in_whole_numbers", "_in_float64", "_reversed", "_pairs"):
                vars(self).pop(name, None)
            self.graph = graph
            vars(self).update(changed)
            if backward and changed:
                backward.reweight(given)
                self._reversed = backward

    @cached_property
    def _edge_count(self) -> int:
        """The number of edges that the graph was made from."""
        return int(self._prepared.edges.max(initial=-1)) + 1

    def _answer(self, ask: Callable[[Engine], Answer]) -> Answer:
        """Ask the engines in order: integers, then float64."""
        if isinstance(self.graph, Graph):
            try:
                return ask(self._in_whole_numbers)
            except NotInIntegers:
                pass
        return ask(self._in_float64)

    def shortest_paths(self, source: Hashable, out: str = "host", *, limit: float = np.inf) -> Paths:
        """Find shortest paths from one source to all vertices.

        Parameters
        ----------
        source, limit
            See `shortest_paths`.
        out : {"host", "device"}
            If "device", the results stay on the card as two device arrays of int32, shape (n,). CuPy and PyTorch use
            them without a copy (``__cuda_array_interface__``). If there is no path, the distance is 2**31 - 1 and the
            predecessor -1. No later search changes these arrays.
            If the unit of the graph's weights is not 1, distances are of float64, and ``inf`` if there is no path.

        Returns
        -------
        Paths
            Distances and predecessors of shape (n,).

        Raises
        ------
        InputError
            If the source is not a vertex, if `limit` is not a number of 0 or more, or if `limit` is given and a weight
            is negative. With ``out="device"``, also if there is no GPU, if `limit` is given, or if a weight or a
            distance is not an integer from 0 to 2**31 - 2.
        """
        source, limit, out = self.graph.check_source(source), self._limit(limit), _check_out(out)
        if out == "device" and limit < np.inf:
            raise InputError('out="device" cannot be combined with a limit: take the results on the host')
        if out == "device":
            with self._left_on_card() as whole:
                found = whole.near_far.search(source)
                distances, predecessors = found.give()  # allocates arrays for the next result while the kernels run
                distances = whole.near_far.in_users_unit(distances)
                found.run.wait()
            return Paths(distances, predecessors, NEAR_FAR, ON_CARD)
        with self._working():
            return self._in_users_unit(self._answer(lambda engine: engine.paths(source, limit)))

    def _limit(self, limit: float) -> float:
        """Check a limit and return it in the graph's units."""
        return self.graph.scale.units_within(_check_limit(limit))

    def _in_users_unit(self, found: Paths) -> Paths:
        """Convert the distances to the user's unit in place."""
        self.graph.scale.apply(found.distances)
        return found

    @contextmanager
    def _left_on_card(self) -> Iterator[WholeNumbers]:
        """Yield the search in integers; raise InputError if it cannot leave the results on a card."""
        with self._working():
            self._require_card()
            if not isinstance(self.graph, Graph):
                raise self._too_long_for_card()
            try:
                yield self._in_whole_numbers
            except NotInIntegers:
                raise self._too_long_for_card() from None

    def _require_card(self) -> None:
        if not self.on_card:
            raise InputError(f'out="device": {choice.why_no_gpu()}: take the results on the host')

    @contextmanager
    def _searching_pairs(self, *, on_card: bool) -> Iterator[PairSearch]:
        """Yield the searches between pairs; raise InputError if results are to be left on a card and there is none."""
        with self._working():
            if on_card:
                self._require_card()
            yield self._pairs

    def _too_long_for_card(self) -> InputError:
        return InputError(
            f'{self.graph.name}: out="device" is for whole weights and distances up to 2^31 - 2: take the results on '
            "the host"
        )

    def path(self, source: Hashable, target: Hashable) -> list | None:
        """Find a shortest path between two vertices.

        Parameters
        ----------
        source, target : int, or label
            Vertices.

        Returns
        -------
        list of int, or of labels, or None
            The vertices of the path, from source to target; None if there is no path.

        Raises
        ------
        InputError
            If the source or the target is not a vertex.
        """
        target = self.graph.check_source(target, "target")
        found = self.shortest_paths(source)
        if np.isinf(found.distances[target]):
            return None
        path = [target]
        while (before := int(found.predecessors[path[-1]])) != NO_PREDECESSOR:
            path.append(before)
        if self.graph.entries(np.array(target)) != target:
            del path[0]  # the end of paths to the target, to which an additional arc leads
        return self.graph.named(np.array(path[::-1])).tolist()

    def all_pairs(self) -> Paths:
        found = self._from_every_vertex()
        vertices = np.arange(self.graph.destinations)
        entries = self.graph.entries(vertices)
        for vertex in np.flatnonzero(entries != vertices):
            for array in found.distances, found.predecessors:
                array[vertex] = array[entries[vertex]]
        return found

    def _from_every_vertex(self) -> Paths:
        """Search from every vertex: with turns, also from where paths end."""
        n = self.graph.vertices
        for_pair = HOST_BYTES if isinstance(self.graph, Graph) else FLOAT_BYTES
        what = f"{self.graph.name}: all pairs of {n:,} vertices take"
        memory.require(for_pair * n**2, what, "search from single sources instead")
        with self._working():
            return self._in_users_unit(self._answer(lambda engine: engine.all_pairs()))

    def paths_from(self, sources: ArrayLike, *, limit: float = np.inf) -> Paths:
        """Find shortest paths from several sources to all vertices.

        Parameters
        ----------
        sources : array_like of int, or of labels, shape (k,)
            Vertices in any order; duplicates are allowed.
        limit
            See `shortest_paths`.

        Returns
        -------
        Paths
            Distances and predecessors of shape (k, n), with a row for each source.

        Raises
        ------
        InputError
            If the sources are not a one-dimensional array of vertices, `limit` is not a number of 0 or more, or the
            result does not fit in the host's memory. Also if `limit` is given and a weight is negative.
        """
        sources, n, limit = check_sources(self.graph, sources), self.graph.vertices, self._limit(limit)
        what = f"{self.graph.name}: paths from {len(sources):,} sources take"
        for_pair = FLOAT_BYTES if limit == np.inf else LIMITED_BYTES
        memory.require(for_pair * len(sources) * n, what, "take fewer sources at once")
        if limit == np.inf and len(sources) * choice.SHARE >= n and FLOAT_BYTES * n**2 <= memory.host_memory():
            found = self._from_every_vertex()
            if len(sources) == n and (sources == np.arange(n)).all():
                return found
            return replace(found, distances=found.distances[sources], predecessors=found.predecessors[sources])

        with self._working():
            return self._in_users_unit(self._answer(lambda engine: engine.paths_from(sources, limit)))

    def _from_nearest(self, sources: np.ndarray, limit: float, *, tree: bool) -> tuple[np.ndarray, np.ndarray | None]:
        """Search from the nearest of some distinct sources, for graphs of unit 1; return distances and predecessors.

        The distances are of shape (n,), and so are the predecessors, which are None unless `tree`.
        """
        with self._working():
            return self._in_float64.from_nearest(sources, limit, tree=tree)

    def distances(
        self,
        sources: ArrayLike,
        targets: ArrayLike | None = None,
        *,
        dtype: DTypeLike = np.float64,
        limit: float = np.inf,
        second: ArrayLike | None = None,
        out: str = "host",
    ) -> Distances:
        wanted, out = self._wanted(sources, targets, dtype, limit), _check_out(out)
        if second is not None:
            return self._with_second(wanted, second, out)
        if out == "device":
            with self._left_on_card() as whole:
                found, key = whole.fill_on_card(wanted)
                found = found.reshape(wanted.shape)
            return Distances(*self._ends(wanted), found, key, ON_CARD)
        memory.require(
            wanted.row_bytes * len(wanted.sources),
            f"{self.graph.name}: distances from {len(wanted.sources):,} sources to {len(wanted.targets):,} vertices "
            "take",
            "take fewer sources at once (distance_pieces), or eccentricities",
        )
        found = np.empty(wanted.shape, wanted.dtype)
        return Distances(*self._ends(wanted), found, *self._fill(wanted, found))

    def _ends(self, wanted: Wanted) -> tuple[np.ndarray, np.ndarray]:
        """Return the sources and targets, by their labels if they have some."""
        return self.graph.named(wanted.sources), self.graph.named(wanted.targets)

    @cached_property
    def _pairs(self) -> PairSearch:
        """Searches between pairs."""
        whole = self._in_whole_numbers if isinstance(self.graph, Graph) else None
        return PairSearch(self.graph, whole, weakref.WeakMethod(self._integer_rows))

    def _integer_rows(self, sources: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray | None]]:
        """Yield each of some distinct sources with distances in the graph's integers, float64, and predecessors, (n,).

        Predecessors are None if no weight is negative. Then each distance is exactly that of a predecessor plus the
        weight of an arc.
        """
        n = self.graph.vertices
        most = max(1, PIECE // n)
        for start in range(0, len(sources), most):
            some = sources[start : start + most]
            if not isinstance(self.graph, Graph):
                paths = self._in_float64.paths_from(some)
                tree = paths.predecessors if self._in_float64.negative else itertools.repeat(None)
                yield from zip(some.tolist(), paths.distances, tree, strict=False)
                continue
            wanted = Wanted(some, np.arange(n), True, np.dtype(np.float64), np.inf, len(some))
            found = np.empty(wanted.shape)
            self._answer(lambda engine, wanted=wanted, found=found: engine.fill(wanted, found))  # type: ignore[misc]
            yield from zip(some.tolist(), found, itertools.repeat(None))

    def _with_second(self, wanted: Wanted, second: ArrayLike, out: str) -> Distances:
        """Return the wanted distances with sums of a second value."""
        values, on_card = values_of_edges(second, self._edge_count), out == "device"
        if not isinstance(self.graph, Graph):
            self._in_float64.check_limit(wanted.limit)
        what = f"{self.graph.name}: {wanted.size:,} distances with a second value take"
        memory.require((8 + wanted.dtype.itemsize) * wanted.size, what, "take fewer sources at once")
        with self._searching_pairs(on_card=on_card) as pairs:
            distances, sums, variant, reason = pairs.table(wanted, values, on_card=on_card)
        return Distances(*self._ends(wanted), distances, variant, reason, second=sums)

    def pair_distances(
        self, sources: ArrayLike, targets: ArrayLike, *, dtype: DTypeLike = np.float64, out: str = "host"
    ) -> Distances:
        kind, on_card, (given, ends) = (
            self._check_type(dtype),
            _check_out(out) == "device",
            self._pair_ends(sources, targets),
        )
        with self._searching_pairs(on_card=on_card) as pairs:
            distances, variant, reason = pairs.distances(given, ends, kind, on_card=on_card)
        return Distances(self.graph.named(given), self.graph.named(ends), distances, variant, reason)

    def routes(
        self, sources: ArrayLike, targets: ArrayLike, *, second: ArrayLike | None = None, out: str = "host"
    ) -> Routes:
        on_card, (given, ends) = _check_out(out) == "device", self._pair_ends(sources, targets)
        values = None if second is None else values_of_edges(second, self._edge_count)
        with self._searching_pairs(on_card=on_card) as pairs:
            found = pairs.routes(given, ends, values, on_card=on_card)
        return Routes(self.graph.named(given), self.graph.named(ends), self.graph, **found)

    def _pair_ends(self, sources: ArrayLike, targets: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of pairs. Large arrays of integers are checked later: on the card, if they go there."""
        plain = not isinstance(self.graph, Graph) or self.graph.network is None
        given, ends = (
            values
            if plain and isinstance(values, np.ndarray) and values.dtype in (np.int32, np.int64) and values.ndim == 1
            else check_sources(self.graph, values, name)
            for values, name in ((sources, "source"), (targets, "target"))
        )
        if len(given) != len(ends):
            raise InputError(f"{len(given):,} sources and {len(ends):,} targets: give as many of each")
        return given, ends

    def distance_pieces(
        self,
        sources: ArrayLike,
        targets: ArrayLike | None = None,
        *,
        dtype: DTypeLike = np.float64,
        limit: float = np.inf,
        rows: int | None = None,
    ) -> Iterator[tuple[slice, np.ndarray]]:
        wanted = self._wanted(sources, targets, dtype, limit)
        most = max(1, PIECE_BYTES // max(1, wanted.row_bytes)) if rows is None else _check_positive(rows, "rows")
        return self._pieces(wanted, most)

    def _pieces(self, wanted: Wanted, most: int) -> Iterator[tuple[slice, np.ndarray]]:
        for start in range(0, len(wanted.sources), most):
            which = slice(start, min(start + most, len(wanted.sources)))
            piece = wanted._replace(sources=wanted.sources[which])
            found = np.empty(piece.shape, piece.dtype)
            self._fill(piece, found)
            yield which, found

    def _fill(self, wanted: Wanted, found: np.ndarray) -> tuple:
        """Fill an array with the wanted distances; return variant, reason and rounds."""
        with self._working():
            return self._answer(lambda engine: engine.fill(wanted, found))

    def _wanted(self, sources: ArrayLike, targets: ArrayLike | None, dtype: DTypeLike, limit: float) -> Wanted:
        """Check the arguments of `distances`."""
        given = check_sources(self.graph, sources)
        ends = np.arange(self.graph.destinations) if targets is None else check_sources(self.graph, targets, "target")
        every = targets is None and len(ends) == self.graph.vertices
        kind, most = self._check_type(dtype), self._limit(limit)
        return Wanted(given, ends, every, kind, most, len(np.unique(given)), self.graph.scale)

    def _check_type(self, dtype: DTypeLike) -> np.dtype:
        kind = _check_type(dtype)
        if kind == np.int32 and (self.graph.scale != (1, 1) or not isinstance(self.graph, Graph)):
            raise no_int32(self.graph.name)
        if kind == np.float32 and isinstance(self.graph, Graph) and INF * self.graph.unit > float(np.finfo(kind).max):
            raise no_float32(self.graph.name)
        return kind

    def nearest(
        self,
        sources: ArrayLike | None,
        k: int,
        *,
        targets: ArrayLike | None = None,
        limit: float = np.inf,
        reverse: bool = False,
    ) -> sparse.csr_array | Nearest:
        given = None if sources is None else check_sources(self.graph, sources)
        count, limit, reverse = _check_positive(k, "k"), self._limit(limit), check_flag(reverse, "reverse")
        if targets is not None:
            return self._nearest_of(given, check_sources(self.graph, targets, "target"), count, limit, reverse)
        if given is None:
            raise InputError("sources=None, all vertices, is for the nearest of some targets: give targets")
        with self._working():
            return (self._backward if reverse else self)._select(given, limit=limit, nearest=count)

    def _nearest_of(
        self, sources: np.ndarray | None, targets: np.ndarray, k: int, limit: float, reverse: bool
    ) -> Nearest:
        """Find the `k` nearest of some targets; see `nearest`."""
        n, (_, first) = self.graph.vertices, np.unique(targets, return_index=True)
        if sources is None and self.graph.has_turns:
            sources = self.graph.entries(np.arange(self.graph.destinations))
        first.sort()  # the positions of distinct targets
        wanted = Facilities(sources, targets[first], min(k, len(first)), limit, reverse, n)
        what = f"{self.graph.name}: {k:,} targets for each of {wanted.size:,} sources take"
        memory.require(12 * k * wanted.size, what, "take fewer sources at once")
        counts = np.zeros(len(targets), np.int64)
        with self._working():
            found = (wanted.k and wanted.size and self._sweep(wanted)) or self._nearest_in_tables(wanted)
        counts[first] = found.counts
        less = (0, 0), (0, k - wanted.k)
        nearest = np.pad(found.targets, less, constant_values=-1) if k > wanted.k else found.targets
        distances = np.pad(found.distances, less, constant_values=np.inf) if k > wanted.k else found.distances
        every = np.arange(n) if sources is None else sources
        return Nearest(self.graph.named(every), self._named(nearest), distances, counts, found.variant, found.reason)

    def _sweep(self, wanted: Facilities) -> FoundNearest | None:
        """Find the nearest targets in a hierarchy; return None if none suits."""
        if not isinstance(self.graph, Graph):
            return None
        if wanted.reverse and self.graph.has_turns:
            assert wanted.sources is not None
            ends, starts = self.graph.known(wanted.sources), self.graph.entries(wanted.targets)
            wanted = wanted._replace(sources=ends, targets=starts)
        try:
            found = self._in_whole_numbers.nearest(wanted)
        except NotInIntegers:
            return None
        if found and self.graph.has_turns:
            found = found._replace(targets=np.where(found.targets < 0, -1, self.graph.known(found.targets)))
        return found

    def _nearest_in_tables(self, wanted: Facilities) -> FoundNearest:
        """Find the nearest targets from tables of distances, by searches from the sources or, if fewer, the targets."""
        n, k, targets = self.graph.vertices, wanted.k, wanted.targets.astype(np.int32)
        sources = np.arange(n) if wanted.sources is None else wanted.sources
        once, inverse = np.unique(sources, return_inverse=True)
        forward = len(once) <= len(targets)
        solver = self._backward if forward == wanted.reverse else self
        starts, ends = (once, targets) if forward else (self.graph.entries(targets), self.graph.known(once))
        dtype, how = np.dtype(np.float64), ("", "")
        rows = max(1, min(len(starts), PIECE_BYTES // max(1, 8 * len(ends))))
        what = f"{self.graph.name}: {k:,} targets for each of {len(sources):,} sources, from tables of distances, take"
        cells, inserted = rows * len(ends), k * (rows if forward else len(once))
        most = max(8 * cells + 12 * min(PIECE, rows * n), 17 * cells + 13 * inserted, 21 * k * len(sources))
        needed = 12 * k * len(once) + most + 64 * (n + len(sources)) + 256 * rows
        memory.require(needed, what, "take fewer sources at once")
        nearest = KeptNearest(len(once), k)
        for first in range(0, max(1, len(starts)), rows):
            piece = starts[first : first + rows]
            table = np.empty((len(piece), len(ends)))
            how = solver._fill(Wanted(piece, ends, False, dtype, wanted.limit, len(piece)), table)[:2]
            table[table > wanted.limit] = np.inf
            if forward:
                nearest.take_rows(first, table)
            else:
                for place, row in enumerate(table, first):
                    nearest.insert(place, row)
        found, distances = nearest.found[:, inverse].T, np.ascontiguousarray(nearest.distances[:, inverse].T)
        self.graph.scale.apply(distances)
        counts = np.bincount(found[:, 0][found[:, 0] >= 0], minlength=len(targets)) if k else np.zeros(0, int)
        vertices = np.where(found < 0, np.int32(-1), targets[found]) if k else found
        return FoundNearest(np.ascontiguousarray(vertices), distances, counts, *how)

    def _named(self, vertices: np.ndarray) -> np.ndarray:
        """Return the labels of vertices if the graph has labels; for -1, no vertex, -1 or None."""
        network = self.graph.network if isinstance(self.graph, Graph) else None
        if not network or not network.labels:
            return vertices
        named, none = network.labels.values[vertices], vertices < 0
        if none.any():
            named = named if named.dtype.kind in "iu" else named.astype(object)
            named[none] = -1 if named.dtype.kind in "iu" else None
        return named

    def reachable(self, sources: ArrayLike, limit: float, *, reverse: bool = False) -> sparse.csr_array:
        given, limit = check_sources(self.graph, sources), self._limit(limit)
        reverse = check_flag(reverse, "reverse")
        with self._working():
            return (self._backward if reverse else self)._select(given, limit=limit)

    def _select(self, sources: np.ndarray, *, limit: float = np.inf, nearest: int | None = None) -> sparse.csr_array:
        """Return the vertices within the limit, or the nearest, of each source."""
        once = np.unique(sources)
        found = self._answer(lambda engine: engine.select(once, np.inf if nearest else limit, nearest))
        rows = [found[source] for source in sources.tolist()]
        if nearest and limit < np.inf:
            rows = [(vertices[within := distances <= limit], distances[within]) for vertices, distances in rows]
        indptr = starts([len(vertices) for vertices, _ in rows])
        indices, data = (
            np.concatenate([np.zeros(0, kind), *column]).astype(kind, copy=False)
            for kind, column in zip((np.int32, np.float64), zip(*rows, strict=True) if rows else ((), ()), strict=True)
        )
        self.graph.scale.apply(data)
        selected = sparse.csr_array((data, indices, indptr), shape=(len(sources), self.graph.vertices))
        return selected[:, : self.graph.destinations] if self.graph.has_turns else selected

    @property
    def _backward(self) -> Solver:
        """The solver of the graph with every arc reversed; self if reversing changes no distance."""
        return self._reversed or self

    @cached_property
    def _reversed(self) -> Solver | None:
        graph, prepared, new = self.graph.reversed(), self._prepared, vars(self.graph).get("new_weights")
        if graph is self.graph:
            return None  # a solver that refers to itself would stay alive
        if not isinstance(prepared, Graph):
            return Solver(graph)
        if not prepared.network:
            prepared = replace(prepared, network=Network(prepared.edges))
        solver = Solver(prepared.with_arcs_reversed())  # with closed arcs, and with the edge of each arc
        if new:
            solver.reweight(new.as_given)
        return solver

    def eccentricities(self, sources: ArrayLike | None = None, *, reciprocals: bool = False) -> Eccentricities:
        """Find each source's farthest vertex, and the number of reached vertices and the sum of distances to them.

        See `eccentricities`.

        Parameters
        ----------
        sources : array_like of int, or of labels, shape (k,), optional
            All vertices by default.
        reciprocals : bool, default False
            Whether to sum the reciprocal distances too. In a hierarchy the sums' last digits vary from call to call.

        Returns
        -------
        Eccentricities
            Arrays of shape (k,).

        Raises
        ------
        InputError
            If the sources are not a one-dimensional array of vertices.
        """
        every = np.arange(self.graph.destinations)
        given = self.graph.entries(every) if sources is None else check_sources(self.graph, sources)
        once, inverse = np.unique(given, return_inverse=True)
        reciprocals = check_flag(reciprocals, "reciprocals")

        with self._working():
            found = self._answer(lambda engine: engine.eccentricities(once, reciprocals=reciprocals))
        arrays: Any = {name: value[inverse] for name, value in vars(found).items() if isinstance(value, np.ndarray)}
        scale = self.graph.scale
        if scale != (1, 1):
            for name in ("eccentricity", "total"):
                arrays[name] = scale.apply(arrays[name].astype(np.float64))
            if reciprocals:
                arrays["reciprocals"] *= scale.divisor / scale.factor
        arrays |= {name: self.graph.named(arrays[name]) for name in ("sources", "farthest")}
        return replace(found, **arrays)


class KeptNearest:
    """The k nearest of the targets that were seen so far, of each of s sources. Targets are numbered from 0.

    distances: float64, (k, s), in ascending order. found: int32, (k, s), the targets; -1 if there is none.
    """

    def __init__(self, sources: int, k: int) -> None:
        self.distances, self.found = np.full((k, sources), np.inf), np.full((k, sources), -1, np.int32)

    def take_rows(self, first: int, table: np.ndarray) -> None:
        """Set the nearest of all targets of the sources from `first` on. table: a row for each of these sources."""
        order = np.argsort(table, axis=1, kind="stable")[:, : len(self.found)]
        distances, found = (array[:, first : first + len(table)] for array in (self.distances, self.found))
        distances[:], found[:] = np.take_along_axis(table, order, axis=1).T, order.T
        found[np.isinf(distances)] = -1

    def insert(self, target: int, distances: np.ndarray) -> None:
        """Insert a target, whose number is larger than those seen so far. distances: from each source, (s,)."""
        nearer = np.flatnonzero(distances < self.distances[-1])
        row, kept, found = distances[nearer], self.distances[:, nearer], self.found[:, nearer]
        place = (kept <= row).sum(axis=0)
        for i in range(len(kept) - 1, 0, -1):
            moved = place < i
            kept[i, moved], found[i, moved] = kept[i - 1, moved], found[i - 1, moved]
        at = place, np.arange(len(nearer))
        kept[at], found[at] = row, target
        self.distances[:, nearer], self.found[:, nearer] = kept, found


def _check_out(out: str) -> str:
    if not isinstance(out, str) or out not in ("host", "device"):
        raise InputError(f'out must be "host" or "device", not {reprlib.repr(out)}')
    return out


def _check_positive(value: int, name: str) -> int:
    value = whole(value, name)
    if value < 1:
        raise InputError(f"{name} must be 1 or more, not {value}")
    return value


def _check_type(dtype: DTypeLike) -> np.dtype:
    try:
        if (kind := np.dtype(dtype)) in NO_PATH_BY_DTYPE and dtype is not None:
            return kind
    except TypeError:
        pass
    raise InputError(f"dtype must be float64, float32 or int32, not {reprlib.repr(dtype)}")


def _check_limit(limit: float) -> float:
    """Return the limit as a float, inf if it is too large for one; raise InputError if it is no number of 0 or more."""
    if not isinstance(limit, Real) or isinstance(limit, bool) or not limit >= 0:
        raise InputError(f"limit must be a number of 0 or more, not {reprlib.repr(limit)}")
    try:
        return float(limit)
    except OverflowError:  # of an integer or a fraction above all distances
        return np.inf


_one_search = threading.RLock()  # held during a search on the card
_solvers: weakref.WeakSet[Solver] = weakref.WeakSet()


def _new_lock(solver: Solver) -> threading.RLock:
    return _one_search if solver.on_card else threading.RLock()


def _renew_locks() -> None:
    """Replace all locks in a forked process: a thread of the parent, which does not run here, may hold one."""
    global _one_search
    _one_search = threading.RLock()
    for solver in list(_solvers):
        solver._lock = _new_lock(solver)
    package, _, _ = __name__.partition(".")
    ours = [module for name, module in sys.modules.items() if name.startswith(f"{package}.")]
    for owner in [value for module in ours for value in vars(module).values() if isinstance(value, type)]:
        for value in vars(owner).values():
            if isinstance(value, cached_property) and hasattr(value, "lock"):  # in Python 3.11
                value.lock = threading.RLock()


os.register_at_fork(after_in_child=_renew_locks)
