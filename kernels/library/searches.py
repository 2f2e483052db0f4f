"""Search one graph with the chosen variant. Layouts on the card are kept for the next search.

WholeNumbers searches a Graph in integers. Float64 searches a FloatGraph: by SciPy, or on the card with bounds from a
search in integers (kernels/fast/floats.py).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kernels.errors import InputError
from kernels.fast import near_far, probe
from kernels.fast.float_graph import FloatGraph
from kernels.graph import INF, Graph
from kernels.later import Later
from kernels.library import choice
from kernels.library.answers import NO_PREDECESSOR, Paths
from kernels.library.choice import (
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

if TYPE_CHECKING:
    from scipy import sparse

    from kernels.fast import floats
    from kernels.fast.hierarchy import all_pairs as hierarchy
    from kernels.fast.hierarchy import targets as to_targets
    from kernels.fast.hierarchy import within
    from kernels.fast.near_far import NearFarSearch
    from kernels.gpu import copies
    from kernels.run import Result, Run
else:
    sparse, floats = Later("scipy.sparse"), Later("kernels.fast.floats")
    hierarchy = Later("kernels.fast.hierarchy.all_pairs")
    to_targets, within = Later("kernels.fast.hierarchy.targets"), Later("kernels.fast.hierarchy.within")
    copies = Later("kernels.gpu.copies")
csgraph, results = Later("scipy.sparse.csgraph"), Later("kernels.fast.results")
FLOAT64 = "bellman_ford/float64"  # a search in float64 without bounds
PIECE = 2**24  # maximum number of distances that SciPy or the card computes at once
NO_PATH = {np.dtype(np.float64): np.inf, np.dtype(np.float32): np.inf, np.dtype(np.int32): INF}
COPIED_AT_ONCE = 2**32  # maximum bytes of distances that are copied from the card to the host at once


class TooLong(Exception):
    """A distance is above 2**31 - 2."""


Chooser = Callable[["WholeNumbers", int], tuple[str, str]]


def has_too_long(graph: Graph, distances: np.ndarray) -> bool:
    """Return whether a distance is above 2**31 - 2.

    distances: a variant's result, int32, (n,) or (n, n). The variant stored INF for a distance above 2**31 - 2.
    """
    try:
        WholeNumbers(graph)._refuse_too_long(distances)
    except TooLong:
        return True
    return False


def new_run(**settings: Any) -> Run:
    """Return a Run that does not wait after each launch, unless `settings` has waits=True."""
    from kernels import run

    return run.Run(**{"waits": False} | settings)


class WholeNumbers:
    """Search a Graph in integers. short: True states that no path is longer than 2**31 - 2."""

    def __init__(self, graph: Graph, *, short: bool = False) -> None:
        self.graph, self.short = graph, short
        self.largest = int(graph.weights.max(initial=0))  # the largest weight
        self.hierarchies: dict[bool, hierarchy.AllPairsSearch] = {}  # key: whether the card reduces distances
        self.lengths: Any = None  # distances in float64, (n,), on the card

    @cached_property
    def array(self) -> sparse.csr_array:
        """The graph as an array for SciPy."""
        return self.graph.to_scipy()

    @cached_property
    def near_far(self) -> NearFarSearch:
        """The Near-Far search, with the graph laid out on the card."""
        searches = near_far.NearFarSearch(self.graph, new_run())
        searches.allocate()
        return searches

    def search(self, source: int, *, tree: bool = True) -> NearFarSearch:
        """Search by Near-Far and leave the results on the card. Find predecessors if `tree`. Raises TooLong."""
        find_distances, find_tree = self.near_far.search(source)
        find_distances()
        if tree:
            find_tree()
        if not self._fits and self.near_far.is_too_long():
            raise TooLong
        return self.near_far

    @cached_property
    def _fits(self) -> bool:
        """Whether bounds, which take less time than a search, show that no path is longer than 2**31 - 2."""
        most = (self.graph.vertices - 1) * self.largest
        return self.short or most < INF or int(self.graph.weights.sum(dtype=np.int64)) < INF

    def paths(self, source: int, key: str, reason: str, into: tuple | None = None) -> Paths:
        """Search from the source by Near-Far or SciPy, as `key` says. Raises TooLong.

        into: arrays for distances and predecessors; new ones by default.
        """
        log.info("%s on %s: %s", key, self.graph.name, reason)
        if key == NEAR_FAR:
            found = into or (np.empty(self.graph.vertices), np.empty(self.graph.vertices, np.int32))
            self._download(self.search(source), *found)
        else:
            found = csgraph.dijkstra(self.array, indices=source, return_predecessors=True)
            if into:
                into[0][:], into[1][:] = found
        distances, predecessors = into or found
        return Paths(distances, predecessors, key, reason)

    def all_pairs(self) -> Paths:
        """Search all pairs with the variant that suits the graph. Raises TooLong."""
        key, reason = self.choose_all()
        log.info("%s on %s: %s", key, self.graph.name, reason)
        result = _run(self.graph, key)
        self._refuse_too_long(result.distances)
        result.predecessors[result.predecessors == -1] = NO_PREDECESSOR
        return Paths(as_type(result.distances, np.dtype(np.float64)), result.predecessors, key, reason)

    def _download(self, found: NearFarSearch, distances: np.ndarray, predecessors: np.ndarray | None) -> None:
        """Convert results to SciPy's form on the card, then copy them to the host. The card converts faster.

        predecessors: None if no predecessors are wanted.
        """
        run, n = found.run, self.graph.vertices
        if self.lengths is None:
            run.require(8 * n)
            (self.lengths,) = run.allocate((n, np.float64))
        run.launch((results.as_scipy, -(-n // run.block), run.block, (found.dist, found.predecessor, self.lengths)))
        run.download((self.lengths, distances))
        if predecessors is not None:
            run.download((found.predecessor, predecessors))

    @cached_property
    def is_narrow(self) -> bool:
        """Whether a probe on the card finds the graph too narrow for Near-Far. If it does, free the layout."""
        found = probe.is_narrow(self.near_far)
        if found:
            del self.near_far
        return found

    def choose_one(self) -> tuple[str, str]:
        """Return the variant for one source and the reason: SciPy if the graph is narrow, else by `choose_sssp`."""
        return self._unless_narrow(*choose_sssp(self.graph, Card.visible()))

    def choose_all(self) -> tuple[str, str]:
        """Return the variant for all pairs and the reason, by `choose_apsp`."""
        return choose_apsp(self.graph, Card.visible())

    def _unless_narrow(self, key: str, reason: str) -> tuple[str, str]:
        if key == NEAR_FAR and self.is_narrow:
            return SCIPY, "the graph is narrow, so that a search on the card would take too many rounds"
        return key, reason

    def choose_rows(self, sources: int, search: str = HIERARCHY_ROWS) -> tuple[str, str]:
        """Return the variant for several sources and the reason: SciPy for a narrow graph, else by `choose_many`."""
        return self._unless_narrow(*self._choose_many(sources, search))

    def suits(self, search: str, sources: int) -> str:
        """Return why `search`, in a hierarchy, is chosen for this number of sources; an empty string if it is not."""
        key, reason = self._choose_many(sources, search)
        return reason if key == search else ""

    def _choose_many(self, sources: int, search: str) -> tuple[str, str]:
        laid_out = (search == HIERARCHY_REDUCED) in self.hierarchies
        known = choice.BREAK_EVEN[search]
        least = (known.laid_out if laid_out else known.prepared) if self.hierarchies else None
        return choose_many(self.graph, sources, Card.visible(), search, least)

    def find(
        self,
        sources: np.ndarray,
        key: str,
        found: np.ndarray,
        targets: np.ndarray | None = None,
        limit: float = np.inf,
    ) -> None:
        """Fill `found`, (k, t), with distances from the sources to the targets, by default all vertices; raise TooLong.

        found: of a dtype in NO_PATH. limit: finite only if `key` is a search in a hierarchy.
        """
        if key in (HIERARCHY_ROWS, HIERARCHY_TARGETS) or (key == NEAR_FAR and targets is not None):
            most = max(1, COPIED_AT_ONCE // (found.itemsize * max(1, found.shape[1])))
            for start in range(0, len(sources) if found.size else 0, most):
                into = found[start : start + most].reshape(-1)
                on_card = self.on_card(sources[start : start + most], key, found.dtype, targets, limit, reuse=True)
                if into.nbytes < copies.LARGE:
                    on_card.copy_to_host(into)
                else:
                    self.downloads.copy(on_card, into)
            return
        places = places_of(sources)
        if key == NEAR_FAR and found.dtype == np.float64:
            for source, (first, *others) in places.items():
                self._download(self.search(source, tree=False), found[first], None)
                found[others] = found[first]
            return
        for source, row in self.rows(np.array(list(places), np.int64), key):
            found[places[source]] = as_type(row if targets is None else row[targets], found.dtype)

    def on_card(
        self,
        sources: np.ndarray,
        key: str,
        dtype: np.dtype,
        targets: np.ndarray | None = None,
        limit: float = np.inf,
        *,
        reuse: bool = False,
    ) -> Any:
        """Return the distances of `find` as an array on the card, (k * t,). Search by Near-Far or in a hierarchy.

        reuse: whether the next search may overwrite the array. Allocating and freeing an array may take a millisecond.
        """
        targets, every = (np.arange(self.graph.vertices), True) if targets is None else (targets, False)
        size, most = len(sources) * len(targets), int(min(limit, INF - 1))
        run = self.near_far.run if key == NEAR_FAR else self.targets.run
        if reuse and key != NEAR_FAR:
            out = self.targets.result(size, dtype)
        else:
            run.require(size * dtype.itemsize)
            (out,) = run.allocate((size, dtype))
        if not size:
            return out
        none, seen = np.array([NO_PATH[dtype]], dtype), np.array([0, 0, INF - 1 - self.largest], np.int32)
        if key == NEAR_FAR:
            into = *run.upload(none), out, *run.upload(seen)
            rows, places = run.upload(targets.astype(np.int32), np.arange(len(sources), dtype=np.int32))
            for source, same in places_of(sources).items():
                distances = self.search(source, tree=False).dist
                for place in same:
                    run.launch(to_targets.taking(1, 1, most, rows, places[place:], distances, into))
            return out
        try:
            run.download((self.targets.search(sources, targets, most, none, out, seen), seen))
        finally:
            self.targets.release()
        if most == INF - 1 and not self._fits and (seen[1] if every else seen[0]):
            self._refuse_too_long_from(sources)
        return out

    @cached_property
    def targets(self) -> to_targets.TargetSearch:
        """Searches to some targets in a hierarchy."""
        return to_targets.TargetSearch(self._searches(reduces=False))

    @cached_property
    def downloads(self) -> copies.Downloads:
        """The buffers for copies to the host."""
        return copies.Downloads()

    def select(self, sources: np.ndarray, **wanted: int) -> Iterator[tuple[np.ndarray, ...]]:
        """Select vertices in a hierarchy, as within.select does; raise TooLong."""
        doubtful = []  # sources that may reach a vertex whose distance is too long
        with self._hierarchy(reduces=False) as searches:
            for piece, counts, *entries in within.select(searches, sources, **wanted):
                doubtful.append(piece[counts < wanted.get("nearest", INF)])
                yield piece, counts, *entries
        if not self._fits and wanted.get("limit", INF) >= INF - 1 and any(map(len, doubtful)):
            self._refuse_too_long_from(np.concatenate(doubtful))

    def _refuse_too_long_from(self, sources: np.ndarray) -> None:
        """Raise TooLong if a distance from one of the sources, to any vertex, is above 2**31 - 2."""
        if not self._is_near:
            once = np.unique(sources)
            self.refuse_too_far(once, self.reduced(once).eccentricity)

    def refuse_too_far(self, sources: np.ndarray, eccentricity: np.ndarray) -> None:
        """Raise TooLong if a distance from one of the distinct sources, to any vertex, is above 2**31 - 2.

        eccentricity: of each source, among the distances that fit.
        """
        # On a path that is too long, the last distance that fits is more than INF - 1 - (the largest weight).
        for _ in self.rows(sources[eccentricity > INF - 1 - self.largest], HIERARCHY_ROWS):
            pass

    @cached_property
    def _is_near(self) -> bool:
        """Whether two searches prove that no distance is above 2**31 - 2.

        A path leaves the largest strong component at most once, and visits each vertex outside it at most once.
        """
        _, component = csgraph.connected_components(self.array, connection="strong")
        inside = component == np.bincount(component).argmax()
        hub, others = int(inside.argmax()), len(inside) - int(inside.sum())
        there, back = (csgraph.dijkstra(array, indices=hub)[inside].max() for array in (self.array, self.array.T))
        return there + back + (others + 1) * self.largest < INF

    def rows(self, sources: np.ndarray, key: str) -> Iterator[tuple[int, np.ndarray]]:
        """Yield each source with its distances: int32, (n,), INF if there is no path. Raises TooLong.

        The sources must be distinct.
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
        if key == HIERARCHY_ROWS:
            with self._hierarchy(reduces=False) as searches:
                on_card: Any
                for piece, on_card in hierarchy.matrix(searches, sources):
                    for start in range(0, len(piece), most):
                        some = piece[start : start + most]
                        found = np.empty(len(some) * n, np.int32)
                        searches.run.download((on_card[start * n : (start + len(some)) * n], found))
                        yield from zip(some, found.reshape(-1, n), strict=True)
        elif key == SCIPY:
            for start in range(0, len(sources), most):
                some = sources[start : start + most]
                found = csgraph.dijkstra(self.array, indices=some)
                yield from zip(some, np.minimum(found, INF, out=found).astype(np.int32), strict=True)
        else:
            result = _run(self.graph, key)
            yield from ((source, result.distances[source]) for source in sources)

    def reduced(self, sources: np.ndarray, *, reciprocals: bool = False) -> hierarchy.Reduced:
        """Search in a hierarchy, and compute the columns of `Eccentricities` on the card."""
        with self._hierarchy(reduces=True) as searches:
            return hierarchy.reduced(searches, sources, reciprocals=reciprocals)

    def _searches(self, *, reduces: bool) -> hierarchy.AllPairsSearch:
        """Return the searches in a hierarchy, laid out once."""
        if reduces not in self.hierarchies:
            self.hierarchies[reduces] = hierarchy.AllPairsSearch(self.graph, reduces=reduces, run=new_run())
        return self.hierarchies[reduces]

    @contextmanager
    def _hierarchy(self, *, reduces: bool) -> Iterator[hierarchy.AllPairsSearch]:
        """Yield the object that searches in a hierarchy.

        At the end of the `with` statement, free its results, which take most of the memory.
        """
        searches = self._searches(reduces=reduces)
        if "targets" in vars(self):
            self.targets.release(0)
        try:
            yield searches
        finally:
            searches.many.most, searches.many.matrix, searches.many.found = 0, None, None

    def _refuse_too_long(self, distances: np.ndarray) -> None:
        """Raise TooLong if a distance is above 2**31 - 2.

        A distance above 2**31 - 2 is stored as INF. Then an arc leads from a reached vertex to a seemingly unreached
        one. Skip this test if the largest distance plus the largest weight fits, because then no distance is too long.
        """
        if self._fits:
            return
        for row in np.atleast_2d(distances):
            reached = row != INF
            if int(row.max(where=reached, initial=0)) + self.largest < INF:
                continue
            if (reached[self.graph.tails] & ~reached[self.graph.indices]).any():
                raise TooLong


class Float64:
    """Search a FloatGraph in float64."""

    def __init__(self, graph: FloatGraph) -> None:
        self.given, self.negative = graph, bool((graph.weights < 0).any())

    @cached_property
    def potential(self) -> np.ndarray:
        """Potentials that make all weights 0 or more. Raises scipy.sparse.csgraph.NegativeCycleError."""
        return floats.Float64Search(self.given, new_run()).potentials()

    @cached_property
    def graph(self) -> FloatGraph:
        """The graph with all weights made 0 or more by the potentials."""
        return floats.reduced(self.given, self.potential) if self.negative else self.given

    @cached_property
    def searches(self) -> floats.Float64Search:
        """The search in float64 on the card."""
        return floats.Float64Search(self.graph, new_run())

    @cached_property
    def bounds(self) -> WholeNumbers:
        """The search in integers, whose distances are bounds for the search in float64."""
        return WholeNumbers(self.graph.scaled, short=True)

    def paths(self, source: int, limit: float) -> Paths:
        """Search from the source up to a limit."""
        search = FloatSearch(self, np.array([source]), lambda bounds, sources: bounds.choose_one(), limit)
        ((_, distances, predecessors),) = search.rows()
        assert predecessors is not None
        return Paths(distances, predecessors, search.variant, search.reason, search.rounds)

    def paths_from(self, sources: np.ndarray, choose: Chooser, limit: float = np.inf) -> Paths:
        """Search from each of the sources up to a limit. choose: see `FloatSearch`."""
        once, n = np.unique(sources), self.given.vertices
        search = FloatSearch(self, once, choose, limit)
        distances, predecessors = np.empty((len(sources), n)), np.empty((len(sources), n), np.int32)
        for source, row, last in search.rows():
            assert last is not None
            distances[sources == source], predecessors[sources == source] = row, last
        return Paths(distances, predecessors, search.variant, search.reason, search.rounds)


class FloatSearch:
    """A search in float64 from several sources.

    The search runs in SciPy or on the card. On the card, a variant first finds integer distances as bounds, unless
    there is a limit. choose: a function of the integer search and the number of sources. It returns the variant for the
    bounds and a reason, which become the attributes `variant` and `reason`. rounds: the largest number of rounds of a
    search on the card so far.
    Raises scipy.sparse.csgraph.NegativeCycleError, and InputError if a limit is given and a weight is negative.
    """

    def __init__(self, on: Float64, sources: np.ndarray, choose: Chooser, limit: float = np.inf) -> None:
        self.on, self.sources, self.limit, self.rounds = on, sources, limit, 0
        self.variant, size = SCIPY, on.given.vertices + on.given.arcs
        if limit < np.inf and on.negative:
            raise InputError(f"{on.given.name}: a limit is for weights of 0 or more: search without one")
        if Card.visible() is None:
            found = "stops at a limit" if limit < np.inf else "takes weights in float64"
            self.reason = f"{choice.why_no_gpu()}, and of the CPU libraries SciPy {found}"
        elif len(sources) * size < choice.SMALL:
            self.reason = f"a GPU takes longer to start than {len(sources):,} searches of so few vertices and arcs"
        elif limit < np.inf:
            self.variant, self.reason = FLOAT64, "a limit is given, so no bounds are searched first"
        else:
            self.variant, self.reason = choose(on.bounds, len(sources))
            if self.variant != SCIPY:
                self.reason += "; run with weights scaled and rounded up, to bound the search in float64"
        log.info("%s on %s: %s", self.variant, on.given.name, self.reason)

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
        bounds: Any = (
            zip(sources.tolist(), itertools.repeat(None)) if limited else on.bounds.rows(sources, self.variant)
        )
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


def bounds_from_any(graph: FloatGraph, sources: np.ndarray) -> np.ndarray:
    """Return each vertex's distance from the nearest source, in the integer graph graph.scaled: int32, (n,).

    Sources must be distinct.

    The search starts from an additional vertex, numbered n, which has arcs of weight 0 to the sources.
    """
    scaled, zeros = graph.scaled, np.zeros(len(sources), np.int32)
    more = Graph(
        np.append(scaled.indptr, np.int32(graph.arcs + len(sources))),
        np.append(scaled.indices, sources.astype(np.int32)),
        np.append(scaled.weights, zeros),
    )
    on = WholeNumbers(more)
    key, _ = on.choose_one()
    ((_, row),) = on.rows(np.array([graph.vertices]), key)
    return row[:-1]


def places_of(sources: np.ndarray) -> dict[int, list[int]]:
    """Return the positions of each source in an array of sources, ordered by first position."""
    places: dict[int, list[int]] = {}
    for place, source in enumerate(sources.tolist()):
        places.setdefault(source, []).append(place)
    return places


def from_float64(distances: np.ndarray, dtype: np.dtype, graph: str) -> np.ndarray:
    """Return float64 distances as one of the types in NO_PATH; raise InputError if they do not fit in int32."""
    if dtype != np.int32:
        return distances.astype(dtype, copy=False)
    finite = np.isfinite(distances)
    if (distances[finite] >= INF).any():
        raise no_int32(graph)
    return np.where(finite, distances, INF).astype(np.int32)


def no_int32(graph: str) -> InputError:
    """Return the error for distances that do not fit in int32."""
    return InputError(f"{graph}: dtype int32 is for whole weights and distances up to 2^31 - 2: take float64")


def as_type(distances: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return int32 distances, INF if there is no path, as one of the types in NO_PATH."""
    if dtype == np.int32:
        return distances
    found = distances.astype(dtype)
    found[distances == INF] = np.inf
    return found


def _run(graph: Graph, key: str) -> Result:
    """Search all pairs with a variant."""
    from kernels.registry import find
    from kernels.run import Result

    variant = find(*key.split("/"))
    variant.check_size(graph)
    result = Result.poisoned(variant.problem, graph.vertices)
    variant.function(graph, result, new_run(on_gpu=variant.on_gpu, waits=True))
    return result
