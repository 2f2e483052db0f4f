"""Search between pairs of vertices: distances, routes, and the sum of a second value along the routes.

If the graph suits a contraction hierarchy, pairs are searched in it: on the card, or without a GPU on the host, with
the same routes. In another graph, each source is searched, and a route follows the arcs that a breadth-first search
over all shortest paths meets first, or if a weight is negative, the predecessors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..fast.float_graph import FloatGraph
from ..graph import INF, CompressedRows, Graph, starts
from ..lazy import LazyModule
from . import choice
from .choice import SCIPY, Card, log
from .searches import NO_PATH_BY_DTYPE, PIECE, Wanted, from_float64, new_run

if TYPE_CHECKING:
    from scipy import sparse
    from scipy.sparse import csgraph

    from ..fast.hierarchy import host, hubs
    from ..gpu import copies
    from .searches import WholeNumbers
else:
    sparse, csgraph = LazyModule("scipy.sparse"), LazyModule("scipy.sparse.csgraph")
    copies = LazyModule("..gpu.copies", __package__)
    host = LazyModule("..fast.hierarchy.host", __package__)
    hubs = LazyModule("..fast.hierarchy.hubs", __package__)
ON_CARD, ON_HOST = "hierarchy/pairs", "hierarchy/pairs_host"
ROUTE_ARRAYS = "edges", "vertices", "second"  # of FoundRoutes, which may be on the card


class RoutesOnHost(NamedTuple):
    """The routes of p pairs; those of pair i are edges[start[i]:start[i + 1]]."""

    distances: np.ndarray  # float64, (p,), in the graph's integers; inf if there is no path
    start: np.ndarray  # int64, (p + 1,)
    edges: np.ndarray  # int32: of each arc of the routes
    heads: np.ndarray  # int32: of each arc of the routes

    @classmethod
    def of(cls, graph: Graph | FloatGraph, distances: np.ndarray, start: np.ndarray, arcs: np.ndarray) -> RoutesOnHost:
        """Return routes, given their arcs of a graph."""
        return cls(distances, start, graph.edges[arcs].astype(np.int32, copy=False), graph.indices[arcs])

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of the edges' values over each route: float64, (p,), NaN if there is no path."""
        sums = np.where(np.isinf(self.distances), np.nan, 0.0)
        some = np.flatnonzero(np.diff(self.start))
        if len(some):
            sums[some] = np.add.reduceat(values[self.edges], self.start[some])
        return sums


class PairSearch:
    """Searches between pairs of vertices of one graph.

    whole: the searches in integers; None if weights are in float64. rows: a weak reference to a function that yields
    each of some distinct sources with its distances in the graph's integers, float64, (n,), and its predecessors, or
    None. In the methods, `on_card` says whether to leave results on the card, as device arrays.
    """

    def __init__(
        self,
        graph: Graph | FloatGraph,
        whole: WholeNumbers | None,
        rows: Callable[[], Callable[[np.ndarray], Iterator[tuple[int, np.ndarray, np.ndarray | None]]] | None],
    ) -> None:
        self.graph, self.whole, self.rows = graph, whole, rows
        self._second: tuple[np.ndarray, tuple] = np.zeros(0), ()

    @cached_property
    def unfit(self) -> str:
        """Why pairs are not searched in a hierarchy; an empty string if they are."""
        if not isinstance(self.graph, Graph):
            return "since weights are in float64"
        return choice.no_hierarchy(self.graph)

    @cached_property
    def has_free_cycle(self) -> bool:
        """Whether arcs of weight 0 form a cycle. A route in a hierarchy might then pass a vertex again and again."""
        graph = self.graph
        free = np.flatnonzero(graph.weights == 0)
        if not len(free):
            return False
        ends, arcs = np.unique(np.concatenate([graph.tails[free], graph.indices[free]]), return_inverse=True)
        arcs = arcs.reshape(2, -1)
        arcs = arcs[:, arcs[0] != arcs[1]]
        between = sparse.coo_array((np.ones(arcs.shape[1]), tuple(arcs)), shape=(len(ends),) * 2)
        return csgraph.connected_components(between, connection="strong")[0] < len(ends)

    @cached_property
    def on_host(self) -> host.HostHierarchy:
        """The hierarchy on the host."""
        assert isinstance(self.graph, Graph) and self.whole
        new = self.whole.on.new_weights
        return host.HostHierarchy(self.graph.structure, new.of_arcs if new else self.graph.weights)

    @property
    def hubs(self) -> hubs.HubSearch:
        """The hierarchy on the card."""
        assert self.whole
        return self.whole.hierarchy.hubs

    @property
    def unfit_for_routes(self) -> str:
        """Why routes are not searched in a hierarchy; an empty string if they are."""
        return self.unfit or ("since arcs of weight 0 form a cycle" if self.has_free_cycle else "")

    def _choose(self, pairs: int, unfit: str, *, on_card: bool) -> tuple[str, str]:
        """Return the variant and the reason. unfit: `unfit`, or `unfit_for_routes`."""
        work = pairs * (self.graph.vertices + self.graph.arcs)
        if unfit:
            chosen = from_each_source(unfit)
        elif Card.visible() is None:
            chosen = ON_HOST, f"{choice.why_no_gpu()}, and a contraction hierarchy suits the graph"
        elif not on_card and work < choice.LEAST_WORK_FOR_CARD:
            chosen = ON_HOST, f"a GPU takes longer to start than {pairs:,} searches of so few vertices and arcs"
        else:
            chosen = ON_CARD, "a contraction hierarchy suits the graph"
        log.info("%s on %s: %s", chosen[0], self.graph.name, chosen[1])
        return chosen

    def _done(self, variant: str, reason: str) -> tuple[str, str]:
        """Return the variant and the reason of a search on the host, given the chosen ones."""
        return from_each_source(self.unfit) if self.unfit else (variant, reason)

    def _is_doubtful(self, unreached: bool) -> bool:
        """Return whether a distance may be above 2**31 - 2, given whether a pair seems to have no path.

        If so, pairs are not searched in a hierarchy any more.
        """
        if self.unfit or not unreached or not self.whole or self.whole.on.fits or self.whole.on.is_near:
            return False
        self.unfit = "since a distance may be above 2^31 - 2"
        return True

    def distances(
        self, sources: np.ndarray, targets: np.ndarray, dtype: np.dtype, *, on_card: bool
    ) -> tuple[Any, str, str]:
        """Return the distances of pairs, (p,), with variant and reason. Sources or targets may be no vertices."""
        variant, reason = self._choose(len(sources), self.unfit, on_card=on_card)
        if variant == ON_CARD:
            run = self.hubs.run
            run.require(len(sources) * (sources.itemsize + targets.itemsize + dtype.itemsize))
            (out,) = run.allocate((len(sources), dtype))
            none = np.array([NO_PATH_BY_DTYPE[dtype]], dtype)
            hosts: tuple = () if on_card else (np.empty(len(sources), dtype),)
            unreached, wrong, _ = self.hubs.pairs(
                run.upload(sources, targets), self.graph.scale, none, out, **self._copies_to(hosts)
            )
            if wrong:
                self._check(sources, targets)
            if not self._is_doubtful(unreached):
                return (out if on_card else hosts[0]), variant, reason
        self._check(sources, targets)
        found = from_float64(self._distances_on_host(sources, targets), dtype, self.graph.name)
        return self._left(found, on_card=on_card), *self._done(variant, reason)

    def _check(self, sources: np.ndarray, targets: np.ndarray) -> None:
        """Raise InputError if a source or a target is no vertex."""
        for name, given in (("source", sources), ("target", targets)):
            wrong = np.flatnonzero((given < 0) | (given >= self.graph.vertices))
            if len(wrong):
                CompressedRows.check_source(self.graph, given[wrong[0]], name)  # raises

    def _distances_on_host(self, sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
        if not self.unfit:
            found = self.on_host.pairs(sources, targets).astype(np.float64)
            found[found == INF] = np.inf
            if not self._is_doubtful(bool(np.isinf(found).any())):
                return self.graph.scale.apply(found)
        found = np.empty(len(sources))
        for row, _, places in self._by_source(sources):
            found[places] = row[targets[places]]
        return self.graph.scale.apply(found)

    def _copies_to(self, hosts: tuple) -> dict[str, Any]:
        """Return the arguments of HubSearch.pairs that copy results to arrays on the host, if there are some."""
        assert self.whole
        large = sum(host.nbytes for host in hosts) >= copies.LEAST_DOWNLOAD
        return {"hosts": hosts, "downloads": self.whole.on.downloads if large else None}

    def _downloaded(self, array: Any) -> np.ndarray:
        """Copy an array from the card."""
        assert self.whole
        found = np.empty(array.size, array.dtype)
        if found.nbytes < copies.LEAST_DOWNLOAD:
            self.hubs.run.download((array, found))
        else:
            self.whole.on.downloads.copy(array, found)
        return found

    def _left(self, array: np.ndarray, *, on_card: bool) -> Any:
        """Copy an array to the card if the results are to be left there."""
        return new_run().upload(array)[0] if on_card else array

    def seconds_on_card(self, values: np.ndarray) -> tuple:
        """Return HubSearch.second, which is kept for the next call with the same values of edges."""
        known, kept = self._second
        if not kept or kept[0] is not self.hubs or not np.array_equal(known, values):
            self._second = np.zeros(0), ()  # frees memory
            self._second = values, (self.hubs, self.hubs.second(values[self.hubs.on_card.graph.edges]))
        return self._second[1][1]

    def table(self, wanted: Wanted, values: np.ndarray, *, on_card: bool) -> tuple[Any, Any, str, str]:
        """Return distances and sums of the edges' values, both of shape (k, t), with variant and reason."""
        variant, reason = self._choose(wanted.size, self.unfit_for_routes, on_card=on_card)
        if variant == ON_CARD:
            run, second = self.hubs.run, self.seconds_on_card(values)
            run.require((8 + wanted.dtype.itemsize) * wanted.size)
            (out,) = run.allocate((wanted.size, wanted.dtype))
            none = np.array([NO_PATH_BY_DTYPE[wanted.dtype]], wanted.dtype)
            hosts = () if on_card else (np.empty(wanted.size, wanted.dtype), np.empty(wanted.size))
            unreached, _, sums = self.hubs.pairs(
                run.upload(wanted.sources, wanted.targets),
                self.graph.scale,
                none,
                out,
                width=len(wanted.targets),
                most=wanted.most,
                second=second,
                **self._copies_to(hosts),
            )
            if not self._is_doubtful(unreached):
                out, sums = hosts or (out, sums)
                return out.reshape(wanted.shape), sums.reshape(wanted.shape), variant, reason
        distances, sums = np.empty(wanted.shape), np.empty(wanted.shape)
        step = max(1, PIECE // max(1, len(wanted.targets)) // 100)
        for start in range(0, len(wanted.sources), step):
            rows = slice(start, start + step)
            pairs = (
                np.repeat(wanted.sources[rows], len(wanted.targets)),
                np.tile(wanted.targets, len(wanted.sources[rows])),
            )
            found = self._routes_on_host(*pairs)
            far = found.distances > wanted.limit
            distances[rows].flat = np.where(far, np.inf, found.distances)
            sums[rows].flat = np.where(far, np.nan, found.sums(values))
        distances = from_float64(self.graph.scale.apply(distances), wanted.dtype, self.graph.name)
        return self._left(distances, on_card=on_card), self._left(sums, on_card=on_card), *self._done(variant, reason)

    def routes(
        self, sources: np.ndarray, targets: np.ndarray, values: np.ndarray | None, *, on_card: bool
    ) -> dict[str, Any]:
        """Return the other fields of answers.Routes. values: of `values_of_edges`, to sum along routes, or None."""
        variant, reason = self._choose(len(sources), self.unfit_for_routes, on_card=on_card)
        self._check(sources, targets)
        found = self._routes_on_card(sources, targets, values) if variant == ON_CARD else None
        stays = on_card and found is not None and not self.graph.has_turns
        if found is None:
            found = self._routes_by_host(sources, targets, values)
            variant, reason = self._done(variant, reason)
        elif not stays:
            found = found._replace(**{name: self._downloaded(getattr(found, name)) for name in ROUTE_ARRAYS})
        if self.graph.has_turns:
            found = self._without_turns(found)
        if on_card and not stays:
            found = found._replace(**{name: self._left(getattr(found, name), on_card=True) for name in ROUTE_ARRAYS})
        fields = found._asdict() | {"distances": self._left(found.distances, on_card=on_card)}
        if not on_card:
            fields["vertices"] = self.graph.named(found.vertices)
        if values is None:
            fields["second"] = None
        return fields | {"variant": variant, "reason": reason}

    def _routes_on_card(
        self, sources: np.ndarray, targets: np.ndarray, values: np.ndarray | None
    ) -> host.FoundRoutes | None:
        """Return the routes of pairs, with distances on the host; None if a distance may be above 2**31 - 2."""
        second = () if values is None else self.seconds_on_card(values)
        found = self.hubs.routes(sources.astype(np.int32), targets.astype(np.int32), second)
        whole = self._downloaded(found.distances)
        if self._is_doubtful(bool((whole == INF).any())):
            return None
        return found._replace(
            distances=self.graph.scale.apply(np.where(whole == INF, np.inf, whole.astype(np.float64)))
        )

    def _routes_by_host(self, sources: np.ndarray, targets: np.ndarray, values: np.ndarray | None) -> host.FoundRoutes:
        """Return the routes of pairs, found on the host."""
        found = self._routes_on_host(sources, targets)
        reached = np.isfinite(found.distances)
        vertex_start = starts(np.diff(found.start) + reached)
        first = np.zeros(vertex_start[-1], bool)
        first[vertex_start[:-1][reached]] = True
        vertices = np.empty(len(first), np.int32)
        vertices[first], vertices[~first] = sources[reached], found.heads
        second = np.zeros(0) if values is None else found.sums(values)
        distances = self.graph.scale.apply(found.distances)
        return host.FoundRoutes(distances, found.edges, found.start, vertices, vertex_start, second)

    def _without_turns(self, found: host.FoundRoutes) -> host.FoundRoutes:
        """Return routes without the arcs that with_turns added, and with the user's vertices; on the host."""
        kept = found.edges >= 0
        first = np.zeros(len(found.vertices), bool)
        first[found.vertex_start[:-1][np.diff(found.vertex_start) > 0]] = True
        stays = first.copy()
        stays[~first] = kept
        return found._replace(
            edges=found.edges[kept],
            edge_start=starts(kept)[found.edge_start],
            vertices=self.graph.known(found.vertices[stays]),
            vertex_start=starts(stays)[found.vertex_start],
        )

    def _by_source(self, sources: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray | None, np.ndarray]]:
        """Yield the distances and predecessors of each distinct source, (n,), and the indices of its pairs."""
        if not len(sources):
            return
        order = np.argsort(sources, kind="stable")
        once, first = np.unique(sources[order], return_index=True)
        places = dict(zip(once.tolist(), np.split(order, first[1:]), strict=True))
        rows = self.rows()
        assert rows
        for source, row, predecessors in rows(once):
            yield row, predecessors, places[source]

    def _routes_on_host(self, sources: np.ndarray, targets: np.ndarray) -> RoutesOnHost:
        """Return the routes of pairs."""
        if not self.unfit_for_routes:
            whole, start, arcs = self.on_host.routes(sources, targets)
            if not self._is_doubtful(bool((whole == INF).any())):
                distances = np.where(whole == INF, np.inf, whole.astype(np.float64))
                return RoutesOnHost.of(self.on_host.graph, distances, start, arcs)
        distances, parts = np.empty(len(sources)), [np.zeros(0, np.int64)] * len(sources)
        graph, order = self.graph, np.argsort(self.graph.edges, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        for row, predecessors, places in self._by_source(sources):
            given = graph.indptr, graph.indices, graph.weights, rank
            if predecessors is None:
                last = host.tight_tree(*given, row, int(sources[places[0]]))
            else:
                last = host.arcs_of_tree(*given, predecessors)
            for place in places:
                distances[place] = row[targets[place]]
                parts[place] = host.walk_back(last, graph.tails, int(targets[place]))
        joined = np.concatenate([*parts, np.zeros(0, np.int64)])
        return RoutesOnHost.of(graph, distances, starts([len(part) for part in parts]), joined)


def from_each_source(unfit: str) -> tuple[str, str]:
    """Return the variant and the reason of searches from each source."""
    return SCIPY, f"one source after the other, {unfit}"


def values_of_edges(second: Any, edges: int) -> np.ndarray:
    """Return a second value of each of the user's edges, and 0 for edge -1: float64, (e + 1,); raise InputError."""
    try:
        values = np.asarray(second, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"second must be an array of numbers, one for each edge: {error}") from None
    if values.ndim != 1 or len(values) < edges:
        raise InputError(f"second must have a number for each of the {edges:,} edges, not shape {values.shape}")
    if len(wrong := np.flatnonzero(~np.isfinite(values))):
        raise InputError(f"edge {wrong[0]}: second {values[wrong[0]]} is not finite")
    return np.append(values, 0.0)  # with_turns adds arcs of edge -1
