"""Search one graph with the chosen variant. Layouts on the card are kept for the next search.

There are two engines with the same methods, and a solver asks them in this order. WholeNumbers searches a Graph in
integers: by Near-Far, in a hierarchy, by SciPy, or by a variant for all pairs. Float64 searches a FloatGraph: by SciPy,
or on the card with bounds from a search in integers (fast/floats.py).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..fast import near_far, probe
from ..fast.float_graph import FloatGraph
from ..graph import INF, MAX_WEIGHT, Graph
from ..lazy import LazyModule
from ..units import Scale, longest_by_hub
from . import choice
from .answers import NO_PREDECESSOR, Eccentricities, Paths
from .choice import (
    HIERARCHY_NEAREST,
    HIERARCHY_REDUCED,
    HIERARCHY_ROWS,
    HIERARCHY_TARGETS,
    NEAR_FAR,
    SCIPY,
    Card,
    choose_apsp,
    choose_many,
    choose_sssp,
    log,
)
from .reweighting import (
    NewWeights,
    ReweightedGraph,
    in_units,
    too_large_with_turns,
    turn_costs,
    wrong_weight,
)

if TYPE_CHECKING:
    from scipy import sparse

    from ..fast import floats
    from ..fast.hierarchy import all_pairs as hierarchy
    from ..fast.hierarchy import customize, hubs, reweighting, within
    from ..fast.hierarchy import nearest as to_nearest
    from ..fast.hierarchy import targets as to_targets
    from ..fast.near_far import NearFarSearch
    from ..gpu import copies, internals
    from ..run import Result, Run
else:
    sparse, floats = LazyModule("scipy.sparse"), LazyModule("..fast.floats", __package__)
    hierarchy = LazyModule("..fast.hierarchy.all_pairs", __package__)
    customize, hubs, to_nearest, reweighting, to_targets, within = (
        LazyModule(f"..fast.hierarchy.{name}", __package__)
        for name in ("customize", "hubs", "nearest", "reweighting", "targets", "within")
    )
    copies, internals = LazyModule("..gpu.copies", __package__), LazyModule("..gpu.internals", __package__)
csgraph, results = LazyModule("scipy.sparse.csgraph"), LazyModule("..fast.results", __package__)
FLOAT64 = "bellman_ford/float64"  # a search in float64 without bounds
PIECE = 2**24  # maximum number of distances that SciPy or the card computes at once
NO_PATH_BY_DTYPE = {np.dtype(np.float64): np.inf, np.dtype(np.float32): np.inf, np.dtype(np.int32): INF}
COPIED_AT_ONCE = 2**32  # maximum bytes of distances that are copied from the card to the host at once


class NotInIntegers(Exception):
    """WholeNumbers cannot answer: a distance is above 2**31 - 2, or no chosen search in integers stops at a limit."""


class Wanted(NamedTuple):
    """The checked arguments of `distances`. `different` is the number of distinct sources."""

    sources: np.ndarray
    targets: np.ndarray
    every: bool  # whether the targets are all vertices, in order
    dtype: np.dtype
    limit: float  # in the graph's units
    different: int
    scale: Scale = Scale(1, 1)

    @property
    def searched_dtype(self) -> np.dtype:
        """The type of the distances on the card before they are converted to the user's unit."""
        return np.dtype(np.int32) if self.dtype == np.float32 and self.scale != (1, 1) else self.dtype

    @property
    def search(self) -> str:
        """The search in a hierarchy."""
        return HIERARCHY_ROWS if self.every else HIERARCHY_TARGETS

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.sources), len(self.targets)

    @property
    def size(self) -> int:
        return len(self.sources) * len(self.targets)

    @property
    def row_bytes(self) -> int:
        return len(self.targets) * self.dtype.itemsize

    @property
    def most(self) -> int:
        """The largest distance of a search in integers."""
        return int(min(self.limit, INF - 1))

    def on_card(self, run: Run, room: Callable[[int, np.dtype], Any] | None = None) -> tuple[Any, Any]:
        """Return an array on the card for the distances, (k * t,), of `searched_dtype`, and the same memory as `dtype`.

        room: a function of length and dtype that returns an array, always in the same memory; by default allocate one.
        """
        if room is None:
            size = self.size * self.dtype.itemsize
            run.require(size)
            (allocated,) = run.allocate((size, np.uint8))
            return tuple(internals.part_of(allocated, 0, size, kind) for kind in (self.searched_dtype, self.dtype))
        return room(self.size, self.searched_dtype), room(self.size, self.dtype)

    def in_users_unit(self, distances: np.ndarray) -> np.ndarray:
        """Convert distances of type `searched_dtype` to the user's unit, perhaps in place."""
        if self.scale == (1, 1):
            return distances
        return self.scale.apply(as_type(distances, np.dtype(np.float64)))


def new_run(**settings: Any) -> Run:
    """Return a Run that does not wait after each launch, unless `settings` has waits=True."""
    from .. import run

    return run.Run(**{"waits": False} | settings)


def scale_on_card(run: Run, scale: Scale, found: Any, out: Any) -> Any:
    """Convert distances on the card to the user's unit, and return `out`, which may have the memory of `found`."""
    if scale != (1, 1) and len(out):
        (numbers,) = run.upload(np.array(scale, np.float64))
        run.launch((results.scale, -(-len(out) // run.block), run.block, (found, numbers, out)))
    return out


class SearchedGraph:
    """A Graph with what its searches in integers share. short: True states that no path is longer than 2**31 - 2."""

    def __init__(self, graph: Graph, *, short: bool = False) -> None:
        self.graph, self.short = graph, short

    @cached_property
    def array(self) -> sparse.csr_array:
        """The graph as an array for SciPy."""
        return self.graph.to_integers()

    @cached_property
    def downloads(self) -> copies.Downloads:
        """The buffers for copies to the host."""
        return copies.Downloads()

    def copy_to_host(self, on_card: Any, host: np.ndarray) -> None:
        """Copy a one-dimensional array from the card."""
        if host.nbytes < copies.LEAST_DOWNLOAD:
            on_card.copy_to_host(host)
        else:
            self.downloads.copy(on_card, host)

    def constants(self, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        """Return the arrays `none` and `seen` of the kernel take_targets."""
        return np.array([NO_PATH_BY_DTYPE[dtype]], dtype), np.array([0, 0, INF - 1 - self.largest], np.int32)

    @cached_property
    def largest(self) -> int:
        """The largest weight."""
        return self.new_weights.largest if self.new_weights else int(self.graph.weights.max(initial=0))

    @cached_property
    def total(self) -> int:
        """The sum of the weights."""
        return self.new_weights.total if self.new_weights else int(self.graph.weights.sum(dtype=np.int64))

    @property
    def new_weights(self) -> NewWeights | None:
        """The weights, if they were changed."""
        return vars(self.graph).get("new_weights")

    @cached_property
    def fits(self) -> bool:
        """Whether bounds, which take less time than a search, show that no path is longer than 2**31 - 2."""
        most = (self.graph.vertices - 1) * self.largest
        return self.short or most < INF or self.total < INF

    @cached_property
    def is_near(self) -> bool:
        """Whether two searches prove that no distance is above 2**31 - 2."""
        return longest_by_hub(self.array) < INF

    def has_too_long(self, distances: np.ndarray) -> bool:
        """Return whether a distance is above 2**31 - 2.

        distances: a variant's result, int32, (n,) or (n, n). A distance above 2**31 - 2 is stored as INF. Then an arc
        leads from a reached vertex to a seemingly unreached one. Skip this test if the largest distance plus the
        largest weight fits, because then no distance is too long.
        """
        if self.fits:
            return False
        for row in np.atleast_2d(distances):
            reached = row != INF
            if int(row.max(where=reached, initial=0)) + self.largest < INF:
                continue
            if (reached[self.graph.tails] & ~reached[self.graph.indices]).any():
                return True
        return False


class Facilities(NamedTuple):
    """The checked arguments of `nearest`. `reverse` asks for distances from targets, not to them."""

    sources: np.ndarray | None  # None: all vertices, in order
    targets: np.ndarray  # without duplicates
    k: int  # at most the number of targets
    limit: float  # in the graph's units
    reverse: bool
    vertices: int  # of the graph

    @property
    def size(self) -> int:
        """The number of sources."""
        return self.vertices if self.sources is None else len(self.sources)

    @property
    def different(self) -> int:
        """The number of distinct sources."""
        return self.vertices if self.sources is None else len(np.unique(self.sources))


class FoundNearest(NamedTuple):
    """The columns of `Nearest`."""

    targets: np.ndarray  # int32, (s, k): vertices, or -1
    distances: np.ndarray
    counts: np.ndarray  # of the distinct targets
    variant: str
    reason: str


class Search:
    """Search a Graph in integers in one way."""

    def __init__(self, on: SearchedGraph) -> None:
        self.on, self.graph = on, on.graph

    def rows(self, sources: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Yield each source with its distances: int32, (n,), INF if there is no path. Raises NotInIntegers.

        The sources must be distinct.
        """
        for source, row in self._unchecked_rows(sources) if len(sources) else ():
            if self.on.has_too_long(row):
                raise NotInIntegers
            yield int(source), row

    def _unchecked_rows(self, sources: np.ndarray) -> Iterator[tuple[np.integer, np.ndarray]]:
        raise NotImplementedError

    def fill(self, wanted: Wanted, found: np.ndarray) -> None:
        """Fill `found`, (k, t), with the wanted distances. The limit is finite only in a hierarchy."""
        places = places_of(wanted.sources)
        for source, row in self.rows(np.array(list(places), np.int64)):
            distances = as_type(row if wanted.every else row[wanted.targets], wanted.searched_dtype)
            found[places[source]] = wanted.in_users_unit(distances)


class ByScipy(Search):
    """Search by SciPy's Dijkstra."""

    def tree(self, source: int, into: tuple | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return distances and predecessors of one source. into: arrays for them; new ones by default."""
        found = csgraph.dijkstra(self.on.array, indices=source, return_predecessors=True)
        if into:
            into[0][:], into[1][:] = found
        return into or found

    def _unchecked_rows(self, sources: np.ndarray) -> Iterator[tuple[np.integer, np.ndarray]]:
        most = max(1, PIECE // self.graph.vertices)
        for start in range(0, len(sources), most):
            some = sources[start : start + most]
            found = csgraph.dijkstra(self.on.array, indices=some)
            yield from zip(some, np.minimum(found, INF, out=found).astype(np.int32), strict=True)


class ByVariant(Search):
    """Search all pairs by a variant of the registry."""

    def __init__(self, on: SearchedGraph, key: str) -> None:
        super().__init__(on)
        self.key = key

    def result(self) -> Result:
        """Return the variant's result, whose distances may be too long."""
        from ..registry import find
        from ..run import Result

        variant = find(*self.key.split("/"))
        variant.check_size(self.graph)
        result = Result.poisoned(variant.problem, self.graph.vertices)
        variant.function(self.graph, result, new_run(on_gpu=variant.on_gpu, waits=True))
        return result

    def _unchecked_rows(self, sources: np.ndarray) -> Iterator[tuple[np.integer, np.ndarray]]:
        result = self.result()
        yield from ((source, result.distances[source]) for source in sources)


class ByNearFar(Search):
    """Search by Near-Far on the card, one source after the other."""

    def __init__(self, on: SearchedGraph) -> None:
        super().__init__(on)
        self.layout = near_far.NearFarSearch(self.graph, new_run())
        self.layout.allocate()
        self.run = self.layout.run
        self.lengths: Any = None  # distances in float64, (n,), on the card

    def search(self, source: int, *, tree: bool = True) -> NearFarSearch:
        """Search and leave the results on the card. Find predecessors if `tree`. Raises NotInIntegers."""
        find_distances, find_tree = self.layout.search(source)
        find_distances()
        if tree:
            find_tree()
        if not self.on.fits and self.layout.is_too_long():
            raise NotInIntegers
        return self.layout

    def tree(self, source: int, into: tuple | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return distances and predecessors of one source. into: arrays for them; new ones by default."""
        into = into or (np.empty(self.graph.vertices), np.empty(self.graph.vertices, np.int32))
        self._download(self.search(source), *into)
        return into

    def _download(self, found: NearFarSearch, distances: np.ndarray, predecessors: np.ndarray | None) -> None:
        """Convert results to SciPy's form on the card, then copy them to the host. The card converts faster.

        predecessors: None if no predecessors are wanted.
        """
        run, n = self.run, self.graph.vertices
        if self.lengths is None:
            run.require(8 * n)
            (self.lengths,) = run.allocate((n, np.float64))
        run.launch((results.as_scipy, -(-n // run.block), run.block, (found.dist, found.predecessor, self.lengths)))
        run.download((self.lengths, distances))
        if predecessors is not None:
            run.download((found.predecessor, predecessors))

    def rows(self, sources: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """See `Search.rows`. `search` has proved that the distances fit."""
        for source in sources.tolist():
            found, row = self.search(source, tree=False), np.empty(self.graph.vertices, np.int32)
            self.run.download((found.dist, row))
            yield source, row

    def fill(self, wanted: Wanted, found: np.ndarray) -> None:
        if not wanted.every:
            _fill_from_card(self, wanted, found)
        elif wanted.dtype == np.float64:
            for source, (first, *others) in places_of(wanted.sources).items():
                self._download(self.search(source, tree=False), found[first], None)
                wanted.scale.apply(found[first])
                found[others] = found[first]
        else:
            super().fill(wanted, found)

    def in_users_unit(self, distances: Any) -> Any:
        """Return int32 distances on the card, (n,), in the user's unit: as float64, unless the unit is 1."""
        scale, n = self.graph.scale, self.graph.vertices
        if scale == (1, 1):
            return distances
        self.run.require(8 * n)
        (lengths,) = self.run.allocate((n, np.float64))
        return scale_on_card(self.run, scale, distances, lengths)

    def on_card(self, wanted: Wanted, *, reuse: bool = False) -> Any:
        """Return the wanted distances as a new array on the card, (k * t,)."""
        run, (found, out) = self.run, wanted.on_card(self.run)
        if wanted.size:
            none, seen = self.on.constants(wanted.searched_dtype)
            into = *run.upload(none), found, *run.upload(seen)
            numbers = wanted.targets.astype(np.int32), np.arange(len(wanted.sources), dtype=np.int32)
            rows, places = run.upload(*numbers)
            for source, same in places_of(wanted.sources).items():
                distances = self.search(source, tree=False).dist
                for place in same:
                    run.launch(to_targets.taking(1, 1, wanted.most, rows, places[place:], distances, into))
        return scale_on_card(run, wanted.scale, found, out)


class InHierarchy(Search):
    """Search in a contraction hierarchy on the card."""

    def __init__(self, on: SearchedGraph) -> None:
        super().__init__(on)
        self.laid_out: dict[bool, hierarchy.ManySourceSearch] = {}  # key: whether the card reduces distances

    @cached_property
    def customized(self) -> customize.OnCard:
        """The hierarchy of the graph's structure on the card, with INF for the weights of closed arcs."""
        new = self.on.new_weights
        return customize.OnCard(self.graph.structure, new_run(), weights=new.of_arcs if new else None)

    @property
    def is_laid_out(self) -> bool:
        """Whether the hierarchy is laid out on the card."""
        return "customized" in vars(self)

    @cached_property
    def reweighter(self) -> reweighting.Reweighter:
        """Changes of the weights on the card."""
        structure, costs = self.graph.structure, turn_costs(self.graph.structure)
        return reweighting.Reweighter(self.customized, structure.edges, costs)

    def reweight(self, on: SearchedGraph, read: reweighting.ReadWeights) -> None:
        """Search another graph of the same structure, with weights that `reweighter` has read, without waiting.

        Whatever else depends on weights must be changed or dropped here.
        """
        if "downloads" in vars(self.on):
            on.downloads = self.on.downloads
        self.on, self.graph = on, on.graph
        self.reweighter.apply(read)
        vars(self).pop("hubs", None)
        for searches in self.laid_out.values():
            searches.many.fill_records()

    def _searches(self, *, reduces: bool) -> hierarchy.ManySourceSearch:
        """Return the searches in a hierarchy, laid out once."""
        if reduces not in self.laid_out:
            make = hierarchy.ManySourceSearch
            self.laid_out[reduces] = make(self.graph.structure, reduces=reduces, on_card=self.customized)
        return self.laid_out[reduces]

    @contextmanager
    def _hierarchy(self, *, reduces: bool) -> Iterator[hierarchy.ManySourceSearch]:
        """Yield the object that searches in a hierarchy.

        At the end of the `with` statement, free its results, which take most of the memory.
        """
        searches = self._searches(reduces=reduces)
        if "targets" in vars(self):
            self.targets.release(0)
        if "facilities" in vars(self):
            self.facilities.room.release("lists", 0)
        try:
            yield searches
        finally:
            searches.many.most, searches.many.matrix, searches.many.found = 0, None, None

    @cached_property
    def targets(self) -> to_targets.TargetSearch:
        """Searches to some targets."""
        return to_targets.TargetSearch(self._searches(reduces=False))

    @cached_property
    def hubs(self) -> hubs.HubSearch:
        """Searches between pairs."""
        return hubs.HubSearch(self.customized)

    def _unchecked_rows(self, sources: np.ndarray) -> Iterator[tuple[np.integer, np.ndarray]]:
        n, most = self.graph.vertices, max(1, PIECE // self.graph.vertices)
        with self._hierarchy(reduces=False) as searches:
            on_card: Any
            for piece, on_card in hierarchy.matrix_pieces(searches, sources):
                for start in range(0, len(piece), most):
                    some = piece[start : start + most]
                    found = np.empty(len(some) * n, np.int32)
                    searches.run.download((on_card[start * n : (start + len(some)) * n], found))
                    yield from zip(some, found.reshape(-1, n), strict=True)

    def fill(self, wanted: Wanted, found: np.ndarray) -> None:
        _fill_from_card(self, wanted, found)

    def on_card(self, wanted: Wanted, *, reuse: bool = False) -> Any:
        """Return the wanted distances as an array on the card, (k * t,).

        reuse: whether the next search may overwrite the array. Allocating and freeing an array may take a millisecond.
        """
        run = self.targets.run
        found, out = wanted.on_card(run, self.targets.result if reuse else None)
        if not wanted.size:
            return out
        none, seen = self.on.constants(wanted.searched_dtype)
        sources, ends = wanted.sources, wanted.targets
        try:
            run.download((self.targets.search(sources, ends, wanted.most, none, found, seen), seen))
        finally:
            self.targets.release()
        if wanted.most == INF - 1 and not self.on.fits and (seen[1] if wanted.every else seen[0]):
            self._refuse_too_long_from(sources)
        return scale_on_card(run, wanted.scale, found, out)

    def select(self, sources: np.ndarray, **wanted: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield each source, its vertices as in within.vertices_within, and their distances; raise NotInIntegers."""
        doubtful = []  # sources that may reach a vertex whose distance is too long
        with self._hierarchy(reduces=False) as searches:
            for piece, counts, vertices, distances in within.vertices_within(searches, sources, **wanted):
                doubtful.append(piece[counts < wanted.get("nearest", INF)])
                ends = np.cumsum(counts)
                for source, start, end in zip(piece.tolist(), (ends - counts).tolist(), ends.tolist(), strict=True):
                    yield source, vertices[start:end], distances[start:end]
        if not self.on.fits and wanted.get("limit", INF) >= INF - 1 and any(map(len, doubtful)):
            self._refuse_too_long_from(np.concatenate(doubtful))

    @cached_property
    def facilities(self) -> to_nearest.NearestSearch:
        """Searches for the nearest of some targets."""
        return to_nearest.NearestSearch(self.customized)

    def nearest(self, wanted: Facilities) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return `targets`, `distances` and `counts` of FoundNearest; raise NotInIntegers."""
        search, most = self.facilities, int(min(wanted.limit, INF - 1))
        shape = wanted.size, wanted.k
        found, distances = np.empty(shape, np.int32), np.empty(shape)
        counts = np.empty(len(wanted.targets), np.int32)
        try:
            lists = search.search(wanted.targets, wanted.k, most, reverse=wanted.reverse)
            taken = search.take(wanted.sources, wanted.targets, wanted.k, self.graph.scale, lists)
            self.on.copy_to_host(taken[0], distances.reshape(-1))
            self.on.copy_to_host(taken[1], found.reshape(-1))
            self.on.copy_to_host(taken[2], counts)
        finally:
            search.room.release("lists")
        if most == INF - 1 and not self.on.fits and len(doubtful := np.flatnonzero(found[:, -1] < 0)):
            doubtful = doubtful if wanted.sources is None else wanted.sources[doubtful]
            self._refuse_too_long_from(wanted.targets if wanted.reverse else doubtful)
        return found, distances, counts

    def reduced(self, sources: np.ndarray, *, reciprocals: bool = False) -> hierarchy.Reduced:
        """Compute the columns of `Eccentricities` on the card."""
        with self._hierarchy(reduces=True) as searches:
            return hierarchy.reduced(searches, sources, reciprocals=reciprocals)

    def _refuse_too_long_from(self, sources: np.ndarray) -> None:
        """Raise NotInIntegers if a distance from one of the sources, to any vertex, is above 2**31 - 2."""
        if not self.on.is_near:
            once = np.unique(sources)
            self.refuse_too_far(once, self.reduced(once).eccentricity)

    def refuse_too_far(self, sources: np.ndarray, eccentricity: np.ndarray) -> None:
        """Raise NotInIntegers if a distance from one of the distinct sources, to any vertex, is above 2**31 - 2.

        eccentricity: of each source, among the distances that fit.
        """
        # On a path that is too long, the last distance that fits is more than INF - 1 - (the largest weight).
        for _ in self.rows(sources[eccentricity > INF - 1 - self.on.largest]):
            pass


def _fill_from_card(search: ByNearFar | InHierarchy, wanted: Wanted, found: np.ndarray) -> None:
    """Let the card select the targets and convert the distances, and copy them to `found`."""
    most = max(1, COPIED_AT_ONCE // max(1, wanted.row_bytes))
    for start in range(0, len(found) if found.size else 0, most):
        into = found[start : start + most].reshape(-1)
        on_card = search.on_card(wanted._replace(sources=wanted.sources[start : start + most]), reuse=True)
        search.on.copy_to_host(on_card, into)


class WholeNumbers:
    """The engine that searches a Graph in integers. short: see `SearchedGraph`. Methods raise NotInIntegers."""

    def __init__(self, graph: Graph, *, short: bool = False) -> None:
        self.graph, self.on = graph, SearchedGraph(graph, short=short)
        self.hierarchy = InHierarchy(self.on)

    def reweighted(self, given: np.ndarray, scale: Scale, *, whole_only: bool) -> WholeNumbers:
        """Return the engine with new weights of edges; raise InputError if one is invalid. See reweighting.in_units.

        If the hierarchy is on the card, the card reads the weights, and the new engine takes the hierarchy over.
        """
        structure = self.graph.structure
        if not self.hierarchy.is_laid_out:
            weights, wrong = in_units(given, scale, whole_only=whole_only)
            if wrong >= 0:
                raise wrong_weight(structure, given, wrong, whole_only=whole_only)
            return WholeNumbers(ReweightedGraph.of(structure, NewWeights.of(structure, weights)))
        read = self.hierarchy.reweighter.read(given, scale, whole_only=whole_only)
        if read.wrong >= 0:
            raise wrong_weight(structure, given, read.wrong, whole_only=whole_only)
        if read.largest > MAX_WEIGHT:
            raise too_large_with_turns(structure)
        on_card, totals = read.weights, (read.closed, read.largest, read.total)
        kept = NewWeights(structure, lambda: on_card.copy_to_host().view(np.int32), *totals)
        engine = WholeNumbers(ReweightedGraph.of(structure, kept))
        self.hierarchy.reweight(engine.on, read)
        engine.hierarchy = self.hierarchy
        return engine

    @cached_property
    def near_far(self) -> ByNearFar:
        """The Near-Far search, with the graph laid out on the card."""
        return ByNearFar(self.on)

    def by(self, key: str) -> Search:
        """Return the search that `key` names."""
        if key == NEAR_FAR:
            return self.near_far
        if key in (HIERARCHY_ROWS, HIERARCHY_TARGETS):
            return self.hierarchy
        return ByScipy(self.on) if key == SCIPY else ByVariant(self.on, key)

    @property
    def prepared(self) -> list[str]:
        """What is laid out on the card."""
        laid_out = {"Near-Far": "near_far" in vars(self), "hierarchy": bool(self.hierarchy.laid_out)}
        return [name for name, is_laid_out in laid_out.items() if is_laid_out]

    @cached_property
    def is_narrow(self) -> bool:
        """Whether a probe on the card finds the graph too narrow for Near-Far. If it does, free the layout."""
        found = probe.is_narrow(self.near_far.layout)
        if found:
            del self.near_far
        return found

    def choose_one(self) -> tuple[str, str]:
        """Return the variant for one source and the reason: SciPy if the graph is narrow, else by `choose_sssp`."""
        return self._unless_narrow(*choose_sssp(self.graph, Card.visible()))

    def choose_all(self) -> tuple[str, str]:
        """Return the variant for all pairs and the reason, by `choose_apsp`."""
        return choose_apsp(self.graph, Card.visible())

    def choose_rows(self, sources: int, search: str = HIERARCHY_ROWS) -> tuple[str, str]:
        """Return the variant for several sources and the reason: SciPy for a narrow graph, else by `choose_many`."""
        return self._unless_narrow(*self._choose_many(sources, search))

    def _choose_many(self, sources: int, search: str) -> tuple[str, str]:
        laid_out = search == HIERARCHY_NEAREST or (search == HIERARCHY_REDUCED) in self.hierarchy.laid_out
        known = choice.BREAK_EVEN[search]
        least = (known.laid_out if laid_out else known.prepared) if self.hierarchy.is_laid_out else None
        return choose_many(self.graph, sources, Card.visible(), search, least)

    def _unless_narrow(self, key: str, reason: str) -> tuple[str, str]:
        if key == NEAR_FAR and self.is_narrow:
            return SCIPY, "the graph is narrow, so that a search on the card would take too many rounds"
        return key, reason

    def _log(self, key: str, reason: str) -> None:
        log.info("%s on %s: %s", key, self.graph.name, reason)

    def _tree(self, source: int, key: str, reason: str, into: tuple | None = None) -> tuple[np.ndarray, np.ndarray]:
        self._log(key, reason)
        return (self.near_far if key == NEAR_FAR else ByScipy(self.on)).tree(source, into)

    def paths(self, source: int, limit: float) -> Paths:
        """Search from the source."""
        _refuse_limit(limit)
        key, reason = self.choose_one()
        return Paths(*self._tree(source, key, reason), key, reason)

    def paths_from(self, sources: np.ndarray, limit: float) -> Paths:
        """Search from each of the sources."""
        _refuse_limit(limit)
        shape = len(sources), self.graph.vertices
        distances, predecessors = np.empty(shape), np.empty(shape, np.int32)
        key, reason = self.choose_one()
        for row, source in enumerate(sources.tolist()):
            self._tree(source, key, reason, (distances[row], predecessors[row]))
        return Paths(distances, predecessors, key, reason)

    def all_pairs(self) -> Paths:
        """Search all pairs with the variant that suits the graph."""
        key, reason = self.choose_all()
        self._log(key, reason)
        result = ByVariant(self.on, key).result()
        if self.on.has_too_long(result.distances):
            raise NotInIntegers
        result.predecessors[result.predecessors == -1] = NO_PREDECESSOR
        return Paths(as_type(result.distances, np.dtype(np.float64)), result.predecessors, key, reason)

    def fill(self, wanted: Wanted, found: np.ndarray) -> tuple:
        """Fill `found` with the wanted distances; return variant and reason."""
        key, reason = self._choose_many(wanted.different, wanted.search)
        if key != wanted.search:
            _refuse_limit(wanted.limit)
            key, reason = self._unless_narrow(key, reason)
        self._log(key, reason)
        self.by(key).fill(wanted, found)
        return key, reason

    def fill_on_card(self, wanted: Wanted) -> tuple[Any, str]:
        """Return the wanted distances as an array on the card, (k * t,), and the variant."""
        if self._choose_many(wanted.different, wanted.search)[0] == wanted.search:
            return self.hierarchy.on_card(wanted), wanted.search
        return self.near_far.on_card(wanted), NEAR_FAR

    def select(self, sources: np.ndarray, limit: float, nearest: int | None) -> Selected:
        """Return the vertices within the limit, or the nearest, of each of the distinct sources."""
        key, _ = self._choose_many(len(sources), HIERARCHY_TARGETS)
        if key == HIERARCHY_TARGETS and (nearest is None or self.graph.destinations == self.graph.vertices):
            wanted = {"limit": int(min(limit, INF - 1))} if nearest is None else {"nearest": nearest}
            return _cut(self.graph, self.hierarchy.select(sources, **wanted), nearest)
        _refuse_limit(limit)
        key, _ = self.choose_rows(len(sources))  # not HIERARCHY_TARGETS
        return _cut(self.graph, _reached(self._rows(key, sources), INF), nearest)

    def _rows(self, key: str, sources: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Yield each source with its distances to the vertices that a user knows."""
        return ((source, row[: self.graph.destinations]) for source, row in self.by(key).rows(sources))

    def nearest(self, wanted: Facilities) -> FoundNearest | None:
        """Find the nearest targets of each source in a hierarchy; return None if none suits."""
        key, reason = self._choose_many(min(wanted.different, len(wanted.targets)), HIERARCHY_NEAREST)
        if key != HIERARCHY_NEAREST or not self.hierarchy.facilities.fits(wanted.k):
            return None
        self._log(key, reason)
        return FoundNearest(*self.hierarchy.nearest(wanted), key, reason)

    def eccentricities(self, sources: np.ndarray, *, reciprocals: bool) -> Eccentricities:
        """Search from the distinct sources."""
        has_turns = self.graph.has_turns
        key, reason = self.choose_rows(len(sources), HIERARCHY_ROWS if has_turns else HIERARCHY_REDUCED)
        self._log(key, reason)
        if key == HIERARCHY_REDUCED:
            found = self.hierarchy.reduced(sources, reciprocals=reciprocals)
            self.hierarchy.refuse_too_far(sources, found.eccentricity)
            columns = found.eccentricity, found.farthest, found.reached, found.total
            return Eccentricities(sources, *columns, key, reason, found.reciprocals)
        return _reduced(sources, self._rows(key, sources), INF, (key, reason), reciprocals)


class Float64:
    """The engine that searches a FloatGraph in float64. limit: see `FloatSearch`.

    users: the graph that the user knows, with vertices for turns; by default the FloatGraph.
    """

    def __init__(self, graph: FloatGraph, users: Graph | FloatGraph | None = None) -> None:
        self.given, self.users = graph, users or graph
        self.negative = bool((graph.weights < 0).any())

    def check_limit(self, limit: float) -> None:
        """Raise InputError if there is a limit and a weight is negative."""
        if limit < np.inf and self.negative:
            raise InputError(f"{self.given.name}: a limit is for weights of 0 or more: search without one")

    @cached_property
    def potential(self) -> np.ndarray:
        """Potentials that make all weights 0 or more. Raises scipy.sparse.csgraph.NegativeCycleError."""
        return floats.Float64Search(self.given, new_run()).potentials()

    @cached_property
    def graph(self) -> FloatGraph:
        """The graph with all weights made 0 or more by the potentials."""
        return floats.reweighted(self.given, self.potential) if self.negative else self.given

    @cached_property
    def searches(self) -> floats.Float64Search:
        """The search in float64 on the card."""
        return floats.Float64Search(self.graph, new_run())

    @cached_property
    def bounds(self) -> WholeNumbers:
        """The search in integers, whose distances are bounds for the search in float64."""
        return WholeNumbers(self.graph.scaled, short=True)

    @property
    def prepared(self) -> list[str]:
        """What is laid out on the card."""
        return self.bounds.prepared if "bounds" in vars(self) else []

    def paths(self, source: int, limit: float) -> Paths:
        """Search from the source."""
        search = FloatSearch(self, np.array([source]), limit, lambda bounds, _: bounds.choose_one())
        ((_, distances, predecessors),) = search.rows()
        assert predecessors is not None
        return Paths(distances, predecessors, *search.how)

    def paths_from(
        self, sources: np.ndarray, limit: float = np.inf, choose: Chooser = WholeNumbers.choose_rows
    ) -> Paths:
        """Search from each of the sources. choose: see `FloatSearch`."""
        shape = len(sources), self.given.vertices
        search = FloatSearch(self, np.unique(sources), limit, choose)
        distances, predecessors = np.empty(shape), np.empty(shape, np.int32)
        for source, row, last in search.rows():
            assert last is not None
            distances[sources == source], predecessors[sources == source] = row, last
        return Paths(distances, predecessors, *search.how)

    def all_pairs(self) -> Paths:
        """Search all pairs."""
        return self.paths_from(np.arange(self.given.vertices), choose=lambda bounds, _: bounds.choose_all())

    def fill(self, wanted: Wanted, found: np.ndarray) -> tuple:
        """Fill `found` with the wanted distances; return variant, reason and rounds."""
        places = places_of(wanted.sources)
        search = FloatSearch(self, np.array(sorted(places), np.int64), wanted.limit)
        for source, row, _ in search.rows(tree=False):
            row = row if wanted.every else row[wanted.targets]
            found[places[source]] = from_float64(wanted.scale.apply(row), wanted.dtype, self.given.name)
        return search.how

    def select(self, sources: np.ndarray, limit: float, nearest: int | None) -> Selected:
        """Return the vertices within the limit, or the nearest, of each of the distinct sources."""
        rows = FloatSearch(self, sources, limit).rows(tree=False)
        known = ((source, row[: self.users.destinations]) for source, row, _ in rows)
        return _cut(self.users, _reached(known, np.inf), nearest)

    def eccentricities(self, sources: np.ndarray, *, reciprocals: bool) -> Eccentricities:
        """Search from the distinct sources."""
        search = FloatSearch(self, sources)
        rows = ((source, row[: self.users.destinations]) for source, row, _ in search.rows(tree=False))
        return _reduced(sources, rows, np.inf, search.how[:2], reciprocals)

    def from_nearest(self, sources: np.ndarray, limit: float, *, tree: bool) -> tuple[np.ndarray, np.ndarray | None]:
        """Search from all of the distinct sources together; return distances and predecessors, (n,).

        On the card, a search in integers finds bounds, unless there is a limit. It starts from an additional vertex,
        numbered n, which has arcs of weight 0 to the sources.
        """
        if Card.visible() is None or self.given.vertices + self.given.arcs < choice.LEAST_WORK_FOR_CARD:
            options: Any = {"return_predecessors": tree, "limit": limit, "min_only": True}
            scipys = csgraph.dijkstra(self.given.to_scipy(), indices=sources, **options)
            return scipys[:2] if tree else (scipys, None)
        whole = self._bounds_from_nearest(sources) if limit == np.inf else None
        found = self.searches.search(sources, 1, whole, limit=limit, tree=tree)
        return found.dist[0], None if found.predecessors is None else found.predecessors[0]

    def _bounds_from_nearest(self, sources: np.ndarray) -> np.ndarray:
        """Search in integers, and free the card's memory."""
        scaled = self.graph.scaled
        more = Graph(
            np.append(scaled.indptr, np.int32(scaled.arcs + len(sources))),
            np.append(scaled.indices, sources.astype(np.int32)),
            np.append(scaled.weights, np.zeros(len(sources), np.int32)),
        )
        on = WholeNumbers(more)
        key, _ = on.choose_one()
        ((_, row),) = on.by(key).rows(np.array([scaled.vertices]))
        return row[:-1]


Engine = WholeNumbers | Float64
Chooser = Callable[[WholeNumbers, int], tuple[str, str]]
Selected = dict[int, tuple[np.ndarray, np.ndarray]]  # by source: vertices, in ascending order, and their distances


class FloatSearch:
    """A search in float64 from several sources.

    The search runs in SciPy or on the card. On the card, a variant first finds integer distances as bounds, unless
    there is a limit. choose: a function of the integer search and the number of sources. It returns the variant for the
    bounds and a reason, which become the attributes `variant` and `reason`. rounds: the largest number of rounds of a
    search on the card so far.
    Raises scipy.sparse.csgraph.NegativeCycleError, and InputError if a limit is given and a weight is negative.
    """

    def __init__(
        self,
        on: Float64,
        sources: np.ndarray,
        limit: float = np.inf,
        choose: Chooser = WholeNumbers.choose_rows,
    ) -> None:
        self.on, self.sources, self.limit, self.rounds = on, sources, limit, 0
        self.variant, size = SCIPY, on.given.vertices + on.given.arcs
        on.check_limit(limit)
        if Card.visible() is None:
            found = "stops at a limit" if limit < np.inf else "takes weights in float64"
            self.reason = f"{choice.why_no_gpu()}, and of the CPU libraries SciPy {found}"
        elif len(sources) * size < choice.LEAST_WORK_FOR_CARD:
            self.reason = f"a GPU takes longer to start than {len(sources):,} searches of so few vertices and arcs"
        elif limit < np.inf:
            self.variant, self.reason = FLOAT64, "a limit is given, so no bounds are searched first"
        else:
            self.variant, self.reason = choose(on.bounds, len(sources))
            if self.variant != SCIPY:
                self.reason += "; run with weights scaled and rounded up, to bound the search in float64"
        log.info("%s on %s: %s", self.variant, on.given.name, self.reason)

    @property
    def how(self) -> tuple[str, str, int]:
        """The variant, the reason and the rounds."""
        return self.variant, self.reason, self.rounds

    def rows(self, *, tree: bool = True) -> Iterator[tuple[int, np.ndarray, np.ndarray | None]]:
        """Yield each source, in any order, with its distances, (n,), and predecessors (None unless `tree`)."""
        on, n, sources = self.on, self.on.given.vertices, self.sources
        most = max(1, PIECE // n)
        if self.variant == SCIPY:
            solve, array = csgraph.johnson if on.negative else csgraph.dijkstra, on.given.to_scipy()
            for start in range(0, len(sources), most):
                some = sources[start : start + most]
                within = {"limit": self.limit} if self.limit < np.inf else {}
                found = solve(array, indices=some, return_predecessors=tree, **within)
                distances, predecessors = found if tree else (found, itertools.repeat(None))
                yield from zip(some.tolist(), distances, predecessors, strict=False)
            return
        limited = self.limit < np.inf
        bounds: Any = zip(sources.tolist(), itertools.repeat(None))
        if not limited:
            bounds = on.bounds.by(self.variant).rows(sources)
        while part := list(itertools.islice(bounds, most)):
            some = np.array([source for source, _ in part])
            starts, whole = n * np.arange(len(some)) + some, None if limited else np.stack([row for _, row in part])
            bounded: Any = on.searches.search(starts, len(some), whole, limit=self.limit, tree=tree)
            self.rounds = max(self.rounds, bounded.rounds)
            for row, source in enumerate(some.tolist()):
                distances = bounded.dist[row]
                if on.negative:
                    distances += on.potential - on.potential[source]
                yield source, distances, bounded.predecessors[row] if tree else None


def places_of(sources: np.ndarray) -> dict[int, list[int]]:
    """Return the positions of each source in an array of sources, ordered by first position."""
    places: dict[int, list[int]] = {}
    for place, source in enumerate(sources.tolist()):
        places.setdefault(source, []).append(place)
    return places


def from_float64(distances: np.ndarray, dtype: np.dtype, graph: str) -> np.ndarray:
    """Return float64 distances in a type of NO_PATH_BY_DTYPE; raise InputError if they do not fit."""
    if dtype == np.float64:
        return distances
    finite = np.isfinite(distances)
    if dtype == np.float32:
        if (np.abs(distances[finite]) > np.finfo(dtype).max).any():
            raise no_float32(graph)
        return distances.astype(dtype)
    if (distances[finite] >= INF).any():
        raise no_int32(graph)
    return np.where(finite, distances, INF).astype(np.int32)


def no_int32(graph: str) -> InputError:
    """Return the error for distances that do not fit in int32."""
    return InputError(f"{graph}: dtype int32 is for whole weights and distances up to 2^31 - 2: take float64")


def no_float32(graph: str) -> InputError:
    """Return the error for distances that do not fit in float32."""
    return InputError(f"{graph}: a distance may be too large for dtype float32: take float64")


def as_type(distances: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return int32 distances, INF if there is no path, in a type of NO_PATH_BY_DTYPE."""
    if dtype == np.int32:
        return distances
    found = distances.astype(dtype)
    found[distances == INF] = np.inf
    return found


def _refuse_limit(limit: float) -> None:
    """Raise NotInIntegers if there is a limit."""
    if limit < np.inf:
        raise NotInIntegers


def _reached(rows: Iterable[tuple[int, np.ndarray]], no_path: float) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield each source with the vertices that it reaches and their distances. rows: sources and all distances."""
    for source, row in rows:
        vertices = np.flatnonzero(row != no_path).astype(np.int32)
        yield source, vertices, row[vertices]


def _cut(
    graph: Graph | FloatGraph, found: Iterable[tuple[int, np.ndarray, np.ndarray]], nearest: int | None
) -> Selected:
    """Return the vertices of each source and their distances; only the nearest vertices if `nearest` is a number."""
    if nearest is None:
        return {source: (vertices, distances) for source, vertices, distances in found}
    return {
        source: _nearest(int(graph.known(np.array(source))), vertices, distances, nearest)
        for source, vertices, distances in found
    }


def _nearest(source: int, vertices: np.ndarray, distances: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the source and the `count` - 1 vertices nearest to it, with their distances. vertices: ascending."""
    if len(vertices) <= count:
        return vertices, distances
    order = np.where(vertices == source, -np.inf, distances)
    last = np.partition(order, count - 1)[count - 1]
    taken = order < last
    taken[np.flatnonzero(order == last)[: count - np.count_nonzero(taken)]] = True
    return vertices[taken], distances[taken]


def _reduced(
    sources: np.ndarray, rows: Iterable[tuple[int, np.ndarray]], no_path: float, how: tuple[str, str], reciprocals: bool
) -> Eccentricities:
    """Reduce the rows of the distinct sources. rows: pairs of a source and its distances, in any order."""
    found = {}
    for source, row in rows:
        reached = row != no_path
        farthest = np.where(reached, row, -np.inf).argmax()
        inverse = (1 / row[reached & (row != 0)]).sum() if reciprocals else 0
        found[source] = row[farthest], farthest, reached.sum(), row.sum(where=reached), inverse
    number, total = (np.int32, np.int64) if no_path == INF else (np.float64, np.float64)
    kinds = number, np.int32, np.int32, total, np.float64
    columns = zip(*(found[source] for source in sources.tolist()), strict=True) if found else [()] * 5
    largest, farthests, counts, totals, sums = map(np.array, columns, kinds)
    return Eccentricities(sources, largest, farthests, counts, totals, *how, sums if reciprocals else None)
