"""A NetworkX backend: NetworkX's functions for shortest paths and centralities, by `Solver` and centrality.py.

    NETWORKX_BACKEND_PRIORITY=cuda_shortest_paths python script.py

NetworkX asks `should_run`, converts the graph by `convert_from_nx`, and calls the function of the same name here. Each
function has the arguments, the results and the errors of NetworkX's function. If there are several shortest paths, it
may return another path than NetworkX. docs/networkx.md lists the calls that NetworkX runs itself.

Parameters
----------
G : Converted
    The graph, from `convert_from_nx`.
source, target : node
    The nodes where paths start and end. `sources` are several nodes; paths start from the nearest of them.
cutoff : int or float, optional
    The largest length of a path.
weight : str, function or None
    The name of the edge attribute that is the weight, or a function of two nodes and the edge's attributes. An edge
    without the attribute has weight 1. If None, every edge has weight 1.

Returns
-------
list or dict
    A path is a list of nodes, from source to target. Functions with "length" in their name, `floyd_warshall` and
    `floyd_warshall_numpy` return lengths. Functions with "predecessor" in their name return predecessors and lengths.
    The other functions return paths, or lengths and paths. A length is an int if all weights are integers, else a
    float.

    Functions of one source return a dict whose keys are the targets (below: "by target"), or two such dicts. Functions
    of all pairs return an iterator of pairs: a source, and what a function of one source returns for it.
    `floyd_warshall` and `johnson` return a dict of dicts, by source and target.

    Centralities and `eccentricity` return a dict by node, or a number for a single node. `center` and `periphery`
    return lists.

Raises
------
networkx.NodeNotFound, networkx.NetworkXNoPath, networkx.NetworkXUnbounded, networkx.NetworkXError
    If a node is not in the graph, no path leads to the target, there is a negative cycle, or a measure requires a
    connected graph.
NotImplementedError
    If this backend does not support the arguments, such as weights that are not numbers. NetworkX then runs its own
    function, unless the call has ``backend="cuda_shortest_paths"``.

Examples
--------
>>> import networkx as nx
>>> from cuda_shortest_paths.library import networkx as backend
>>> graph = nx.DiGraph()
>>> graph.add_weighted_edges_from([("a", "b", 4), ("b", "c", 1), ("a", "c", 7)])
>>> G = backend.convert_from_nx(graph)
>>> backend.dijkstra_path(G, "a", "c"), backend.dijkstra_path_length(G, "a", "c")
(['a', 'b', 'c'], 5)
>>> backend.single_source_dijkstra_path_length(G, "a", cutoff=4)
{'a': 0, 'b': 4}
>>> dict(backend.all_pairs_shortest_path_length(G))
{'a': {'a': 0, 'b': 1, 'c': 1}, 'b': {'b': 0, 'c': 1}, 'c': {'c': 0}}
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial, wraps
from itertools import repeat
from typing import Any, TypeVar

import networkx as nx
import numpy as np
from scipy.sparse import csgraph as scipys
from scipy.sparse import csr_array
from scipy.sparse.csgraph import NegativeCycleError

from ..errors import whole
from ..fast.float_graph import FloatGraph
from ..graph import Graph, check_flag
from . import centrality, choice, functions
from .answers import NO_PREDECESSOR
from .inputs import graph_of
from .networkx_info import NAME
from .solver import Solver

EXACT = 2**53  # float64 has every integer up to here
PIECE = 2**24  # maximum number of distances that are computed at once
ROUNDING = 1e-12  # of distances, as a part of the largest, if a weight is negative

Node = Hashable
Cutoff = int | float | None
Weight = str | Callable | None
NodePaths = dict[Node, list[Node]]
Lengths = dict[Node, float]
Function = TypeVar("Function", bound=Callable)


class Converted:
    """A NetworkX graph in compressed sparse rows (graph.py), with the labels of its vertices.

    nodes: the labels, in NetworkX's order. indptr, indices: int32; parallel edges are one arc.
    """

    __networkx_backend__ = NAME

    def __init__(self, adjacency: Mapping, predecessors: Mapping, multigraph: bool) -> None:
        self.adjacency, self.predecessors, self.multigraph = adjacency, predecessors, multigraph
        self.nodes = list(adjacency)
        self.index = {node: i for i, node in enumerate(self.nodes)}
        self.indptr = np.zeros(len(self.nodes) + 1, np.int32)
        np.cumsum([len(heads) for heads in adjacency.values()], out=self.indptr[1:])
        heads = (self.index[head] for heads in adjacency.values() for head in heads)
        self.indices = np.fromiter(heads, np.int32, self.indptr[-1])
        self.known: dict[str | None, WeightedArcs] = {}  # key: the weight's name

    def __contains__(self, node: Any) -> bool:
        try:
            return node in self.index
        except TypeError:  # not hashable; NetworkX also returns False
            return False

    def __len__(self) -> int:
        return len(self.nodes)

    def is_directed(self) -> bool:
        """Return whether the graph is directed."""
        return self.predecessors is not self.adjacency

    @cached_property
    def reversed(self) -> Converted:
        """The graph with every arc reversed."""
        if not self.is_directed():
            return self
        return Converted(self.predecessors, self.adjacency, self.multigraph)

    def arcs(self, weight: Weight) -> WeightedArcs:
        """Return the arcs with their weights. An arc of several parallel edges has the least of their weights.

        Raises NotImplementedError if a weight is not a finite number, or if float64 may be unable to hold a weight or
        the length of a path exactly.
        """
        if callable(weight):
            return self._arcs(weight)
        if weight not in self.known:
            if weight is None:
                n = len(self.nodes)
                ones = csr_array((np.ones(len(self.indices)), self.indices, self.indptr), shape=(n, n))
                self.known[None] = WeightedArcs(ones, whole=True, hidden=False)
            elif self.multigraph:
                self.known[weight] = self._arcs(lambda _u, _v, edges: _least(weight, edges))
            else:
                self.known[weight] = self._arcs(lambda _u, _v, edge: edge.get(weight, 1))
        return self.known[weight]

    def _arcs(self, weight: Callable) -> WeightedArcs:
        n = len(self.nodes)
        try:
            values = [weight(u, v, edge) for u, heads in self.adjacency.items() for v, edge in heads.items()]
        except Exception as error:
            raise NotImplementedError(f"a weight cannot be read: {error!r}") from error
        types = set(map(type, values))
        hidden = type(None) in types
        heads, indptr = self.indices, self.indptr
        if hidden:
            shown = np.array([value is not None for value in values])
            heads, indptr = heads[shown], np.r_[0, np.cumsum(shown)][indptr].astype(np.int32)
            values = [value for value in values if value is not None]
            types.discard(type(None))
        if not all(issubclass(kind, int | float | np.integer) for kind in types):
            raise NotImplementedError("a weight is not an int, float or NumPy integer")
        try:
            data = np.array(values, np.float64)
        except OverflowError as error:
            raise NotImplementedError("a weight is too large") from error
        if not np.isfinite(data).all():
            raise NotImplementedError("a weight is infinite or NaN")
        whole = not any(issubclass(kind, float) for kind in types)
        if not all(issubclass(kind, float) for kind in types) and n * np.abs(data).max(initial=0) > EXACT:
            raise NotImplementedError("a sum of whole weights may be more than 2^53")
        return WeightedArcs(csr_array((data, heads, indptr), shape=(n, n)), whole, hidden)


def _least(weight: str, edges: Mapping) -> Any:
    """Return the least weight of parallel edges; NaN if one weight is NaN, because `min` may skip NaN."""
    weights = [edge.get(weight, 1) for edge in edges.values()]
    return next((value for value in weights if value != value), min(weights))


@dataclass(frozen=True)
class WeightedArcs:
    """The weighted arcs of a graph."""

    array: csr_array  # float64, (n, n)
    whole: bool  # whether all weights are integers
    hidden: bool  # whether arcs of weight None were left out

    @cached_property
    def graph(self) -> Graph | FloatGraph:
        """The arcs as a graph of the library."""
        return graph_of(self.array)

    @property
    def solver(self) -> Solver:
        """The solver of the arcs. It is kept until other arcs are searched."""
        return functions.last.solver(self.graph, True)

    @cached_property
    def tails(self) -> np.ndarray:
        """The tail of each arc."""
        return np.repeat(np.arange(self.array.shape[0]), np.diff(self.array.indptr))

    @property
    def has_negative_loop(self) -> bool:
        """Whether a self-loop has a negative weight."""
        return bool((self.array.diagonal() < 0).any())


@dataclass(frozen=True)
class Tree:
    """The result of a search from one source, or from the nearest of several."""

    graph: Converted
    whole: bool  # whether lengths are integers
    sources: list[int]
    distances: np.ndarray  # float64, (n,)
    predecessors: np.ndarray | None  # int32, (n,)
    cutoff: float = math.inf  # the largest distance to return

    @cached_property
    def reached(self) -> list[int]:
        """The vertices within the cutoff, the nearest first."""
        is_source = np.zeros(len(self.distances), bool)
        is_source[self.sources] = True
        found = np.flatnonzero(np.isfinite(self.distances) & (self.distances <= self.cutoff) | is_source)
        return found[np.lexsort((~is_source[found], self.distances[found]))].tolist()

    def lengths(self) -> Lengths:
        """Return the distance of each node within the cutoff."""
        found = self.distances[self.reached]
        values = (found.astype(np.int64) if self.whole else found).tolist()
        return dict(zip([self.graph.nodes[v] for v in self.reached], values, strict=True))

    def paths(self) -> NodePaths:
        """Return a shortest path to each node within the cutoff, from the source on."""
        assert self.predecessors is not None
        nodes, last = self.graph.nodes, self.predecessors.tolist()
        paths = {source: [nodes[source]] for source in self.sources}
        for v in self.reached:
            way: list[int] = []
            while v not in paths:  # after an arc of weight 0, v may come before its predecessor in the order
                way.append(v)
                v = last[v]
            for v in reversed(way):
                paths[v] = [*paths[last[v]], nodes[v]]
        return {nodes[v]: paths[v] for v in self.reached}

    def to(self, node: Node) -> tuple[float, list[Node]] | None:
        """Return the distance and the path to a node; None if it is not within the cutoff."""
        assert self.predecessors is not None
        v = self.graph.index.get(node)
        if v is None or not self.distances[v] <= self.cutoff or math.isinf(self.distances[v]):
            return None
        length, path = self.distances[v].item(), [node]
        while (v := self.predecessors[v]) >= 0:
            path.append(self.graph.nodes[v])
        return int(length) if self.whole else length, path[::-1]

    def all_predecessors(self, arcs: WeightedArcs) -> dict[Node, list[Node]]:
        """Return, for each node, its predecessors on all shortest paths, those nearest to the source first."""
        nodes, dist = self.graph.nodes, np.full(len(self.distances), np.inf)
        dist[self.reached] = self.distances[self.reached]
        tails, heads = arcs.tails, arcs.array.indices
        # Even if the cutoff is negative, `reached` has the sources.
        within = np.flatnonzero(np.isfinite(dist[tails]) & (dist[heads] <= self.cutoff))
        slack = dist[tails[within]] + arcs.array.data[within] - dist[heads[within]]
        rounded = not self.whole and (arcs.array.data < 0).any()  # searches with negative weights round distances
        tight = within[np.abs(slack) <= (ROUNDING * np.abs(dist[self.reached]).max() if rounded else 0)]
        tight = tight[np.argsort(dist[tails[tight]], kind="stable")]
        found: dict[Node, list[Node]] = {nodes[v]: [] for v in self.reached}
        for tail, head in zip(tails[tight].tolist(), heads[tight].tolist(), strict=True):
            found[nodes[head]].append(nodes[tail])
        return found


# NetworkX's interface for backends.

# Why NetworkX runs a call itself, and a function of the call's arguments that returns whether this applies.
Reason = tuple[str, Callable[[Mapping], bool]]
REASONS: dict[str, tuple[Reason, ...]] = {}  # by function of this backend
NO_NODE = "the graph has no node", lambda given: not len(given["G"])


def networkx_algorithm(*refusals: Reason, slower: tuple[Reason, ...] = ()) -> Callable[[Function], Function]:
    """List the function in the backend's metadata (networkx_info.py), and make it refuse calls.

    If a reason of `refusals` applies, the function raises NotImplementedError. NetworkX shows this error if the call
    names the backend. (It would hide a reason that a function `can_run` returns.) If a reason of `slower` applies,
    NetworkX is as fast, so the backend runs only if the call names it.
    """

    def register(function: Function) -> Function:
        signature, refused = inspect.signature(function), (NO_NODE, *refusals)
        REASONS[function.__name__] = (*refused, *slower)

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            if reason := _first_reason(refused, signature, args, kwargs):
                raise NotImplementedError(reason)
            return function(*args, **kwargs)

        return checked  # type: ignore[return-value]

    return register


def _first_reason(reasons: Iterable[Reason], signature: inspect.Signature, args: tuple, kwargs: dict) -> str | None:
    """Return the first reason that applies to a call's arguments; None if no reason applies."""
    given = signature.bind(*args, **kwargs)
    given.apply_defaults()
    return next((reason for reason, applies in reasons if applies(given.arguments)), None)


def convert_from_nx(graph: nx.Graph, edge_attrs: Mapping | None = None, **_: Any) -> Converted:
    """Convert a graph. NetworkX keeps the result in its cache until a method of the graph changes it."""
    adjacency = graph._adj
    converted = Converted(adjacency, graph._pred if graph.is_directed() else adjacency, graph.is_multigraph())
    for weight in edge_attrs or ():
        converted.arcs(weight)
    return converted


def convert_to_nx(result: Any, **_: Any) -> Any:
    """Return the result, which is never a graph here."""
    return result


def should_run(name: str, args: tuple, kwargs: dict) -> bool | str:
    """Return True, or the reason why NetworkX runs the function unless the call names this backend.

    Raises InputError if a setting in `nx.config.backends.cuda_shortest_paths` is invalid.
    """
    settings, where = nx.config.backends[NAME], f"nx.config.backends.{NAME}"
    least = whole(settings.min_nodes, f"{where}.min_nodes")
    without_gpu = check_flag(settings.use_without_gpu, f"{where}.use_without_gpu")
    signature = inspect.signature(globals()[name])
    if len(signature.bind(*args, **kwargs).arguments["G"]) < least:
        return f"the graph has fewer than {least} nodes"
    if not without_gpu and not choice.gpu_usable():
        return choice.why_no_gpu()
    return _first_reason(REASONS[name], signature, args, kwargs) or True


# Searches.


def _dijkstra(
    graph: Converted, sources: Iterable[Node], cutoff: Cutoff, weight: Weight, *, trees: bool
) -> tuple[Tree, WeightedArcs]:
    """Search from all sources together: a path starts from the nearest one."""
    arcs, most = _nonnegative(graph, weight), _number(cutoff)
    numbers = sorted({graph.index[source] for source in sources})
    if not numbers:  # if `sources` was a generator, `_check_sources` exhausted it, as in NetworkX
        n = len(graph.nodes)
        return Tree(graph, arcs.whole, [], np.full(n, np.inf), np.full(n, NO_PREDECESSOR), most), arcs
    if len(numbers) == 1:
        distances, predecessors = _search_one(arcs, numbers[0], trees=trees, limit=max(most, 0))
    else:
        distances, predecessors = arcs.solver._from_nearest(np.array(numbers), max(most, 0), tree=trees)
    return Tree(graph, arcs.whole, numbers, distances, predecessors, most), arcs


def _search_one(
    arcs: WeightedArcs, source: int, *, trees: bool, limit: float = math.inf
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the distances from a vertex, and if `trees` is True, the predecessors."""
    if not trees:
        return arcs.solver.distances([source], limit=limit).distances[0], None
    found = arcs.solver.shortest_paths(source, limit=limit)
    return found.distances, found.predecessors


def _bellman_ford(graph: Converted, source: Node, weight: Weight, *, trees: bool) -> tuple[Tree, WeightedArcs]:
    arcs, number = _with_all_arcs(graph, weight), graph.index[source]
    with _negative_cycle_raises(nx.NetworkXUnbounded("Negative cycle detected.")):
        try:
            distances, predecessors = _search_one(arcs, number, trees=trees)
        except NegativeCycleError:  # perhaps the source does not reach the cycle
            distances, predecessors = scipys.bellman_ford(arcs.array, indices=number, return_predecessors=True)
    return Tree(graph, arcs.whole, [number], distances, predecessors), arcs


def _trees(
    graph: Converted, arcs: WeightedArcs, *, trees: bool, cutoff: float = math.inf
) -> Iterator[tuple[Node, Tree]]:
    """Yield each node with the tree of a search from this node."""
    rows, limit = max(1, PIECE // len(graph.nodes)), max(cutoff, 0)
    for start in range(0, len(graph.nodes), rows):
        sources = range(start, min(start + rows, len(graph.nodes)))
        lasts: Iterable = repeat(None)
        with _negative_cycle_raises(nx.NetworkXUnbounded("Negative cycle detected.")):
            if trees:
                found = arcs.solver.paths_from(sources, limit=limit)
                distances, lasts = found.distances, found.predecessors
            else:
                distances = arcs.solver.distances(sources, limit=limit).distances
        for source, row, last in zip(sources, distances, lasts, strict=False):
            yield graph.nodes[source], Tree(graph, arcs.whole, [source], row, last, cutoff)


def _all_pairs_dijkstra(
    graph: Converted, cutoff: Cutoff, weight: Weight, *, trees: bool
) -> Iterator[tuple[Node, Tree]]:
    most = _number(cutoff)
    return _trees(graph, _nonnegative(graph, weight), trees=trees, cutoff=most)


def _all_pairs_bellman_ford(graph: Converted, weight: Weight, *, trees: bool) -> Iterator[tuple[Node, Tree]]:
    return _trees(graph, _with_all_arcs(graph, weight), trees=trees)


def _nonnegative(graph: Converted, weight: Weight) -> WeightedArcs:
    arcs = graph.arcs(weight)
    if arcs.array.data.min(initial=0) < 0:
        raise NotImplementedError("a weight is negative")
    return arcs


def _with_all_arcs(graph: Converted, weight: Weight) -> WeightedArcs:
    arcs = graph.arcs(weight)
    if arcs.hidden:
        raise NotImplementedError("a weight is None")
    return arcs


@contextmanager
def _negative_cycle_raises(error: Exception) -> Iterator[None]:
    """Raise the error if there is a negative cycle."""
    try:
        yield
    except NegativeCycleError as cycle:
        raise error from cycle


def _number(cutoff: Cutoff) -> float:
    if cutoff is None:
        return math.inf
    if not isinstance(cutoff, int | float | np.integer) or math.isnan(cutoff):
        raise NotImplementedError("the cutoff is not an int, float or NumPy integer")
    return float(cutoff)


def _hops(cutoff: Cutoff) -> Cutoff:
    """Return the cutoff of a search that counts edges; NetworkX rounds it up."""
    return math.ceil(cutoff) if cutoff is not None and math.isfinite(cutoff) else cutoff


def _check_node(graph: Converted, node: Any, message: str) -> None:
    if node not in graph:
        raise nx.NodeNotFound(message)


# Dijkstra.


@networkx_algorithm()
def dijkstra_path(G: Converted, source: Node, target: Node, weight: Weight = "weight") -> list[Node]:
    """Return a shortest path from source to target."""
    return single_source_dijkstra(G, source, target=target, weight=weight)[1]


@networkx_algorithm()
def dijkstra_path_length(G: Converted, source: Node, target: Node, weight: Weight = "weight") -> float:
    """Return the length of a shortest path from source to target."""
    _check_node(G, source, f"Node {source} not found in graph")
    if source == target:
        return 0
    lengths = _dijkstra(G, [source], None, weight, trees=False)[0].lengths()
    if target not in lengths:
        raise nx.NetworkXNoPath(f"Node {target} not reachable from {source}")
    return lengths[target]


@networkx_algorithm()
def single_source_dijkstra(
    G: Converted, source: Node, target: Node | None = None, cutoff: Cutoff = None, weight: Weight = "weight"
) -> tuple:
    """Return lengths and shortest paths from the source, to all nodes or to the target."""
    return multi_source_dijkstra(G, {source}, cutoff=cutoff, target=target, weight=weight)


@networkx_algorithm()
def single_source_dijkstra_path(
    G: Converted, source: Node, cutoff: Cutoff = None, weight: Weight = "weight"
) -> NodePaths:
    """Return shortest paths from the source, by target."""
    return multi_source_dijkstra_path(G, {source}, cutoff=cutoff, weight=weight)


@networkx_algorithm()
def single_source_dijkstra_path_length(
    G: Converted, source: Node, cutoff: Cutoff = None, weight: Weight = "weight"
) -> Lengths:
    """Return the lengths of shortest paths from the source, by target."""
    return multi_source_dijkstra_path_length(G, {source}, cutoff=cutoff, weight=weight)


@networkx_algorithm()
def multi_source_dijkstra(
    G: Converted,
    sources: Collection[Node],
    target: Node | None = None,
    cutoff: Cutoff = None,
    weight: Weight = "weight",
) -> tuple:
    """Return lengths and shortest paths from the nearest source, to all nodes or to the target."""
    _check_sources(G, sources)
    if target in sources:
        return 0, [target]
    tree, _ = _dijkstra(G, sources, cutoff, weight, trees=True)
    if target is None:
        return tree.lengths(), tree.paths()
    if (found := tree.to(target)) is None:
        raise nx.NetworkXNoPath(f"No path to {target}.")
    return found


@networkx_algorithm()
def multi_source_dijkstra_path(
    G: Converted, sources: Collection[Node], cutoff: Cutoff = None, weight: Weight = "weight"
) -> NodePaths:
    """Return shortest paths from the nearest source, by target."""
    _check_sources(G, sources)
    return _dijkstra(G, sources, cutoff, weight, trees=True)[0].paths()


@networkx_algorithm()
def multi_source_dijkstra_path_length(
    G: Converted, sources: Collection[Node], cutoff: Cutoff = None, weight: Weight = "weight"
) -> Lengths:
    """Return the lengths of shortest paths from the nearest source, by target."""
    _check_sources(G, sources)
    return _dijkstra(G, sources, cutoff, weight, trees=False)[0].lengths()


def _check_sources(graph: Converted, sources: Collection[Node]) -> None:
    if not sources:
        raise ValueError("sources must not be empty")
    for source in sources:
        _check_node(graph, source, f"Node {source} not found in graph")


@networkx_algorithm()
def dijkstra_predecessor_and_distance(
    G: Converted, source: Node, cutoff: Cutoff = None, weight: Weight = "weight"
) -> tuple[dict, Lengths]:
    """Return the predecessors on all shortest paths from the source, and the lengths, by target."""
    _check_node(G, source, f"Node {source} is not found in the graph")
    tree, arcs = _dijkstra(G, [source], cutoff, weight, trees=False)
    return tree.all_predecessors(arcs), tree.lengths()


@networkx_algorithm()
def all_pairs_dijkstra(
    G: Converted, cutoff: Cutoff = None, weight: Weight = "weight"
) -> Iterator[tuple[Node, tuple[Lengths, NodePaths]]]:
    """Yield each source with its lengths and shortest paths, by target."""
    trees = _all_pairs_dijkstra(G, cutoff, weight, trees=True)
    return ((node, (tree.lengths(), tree.paths())) for node, tree in trees)


@networkx_algorithm()
def all_pairs_dijkstra_path(
    G: Converted, cutoff: Cutoff = None, weight: Weight = "weight"
) -> Iterator[tuple[Node, NodePaths]]:
    """Yield each source with its shortest paths, by target."""
    return ((node, tree.paths()) for node, tree in _all_pairs_dijkstra(G, cutoff, weight, trees=True))


@networkx_algorithm()
def all_pairs_dijkstra_path_length(
    G: Converted, cutoff: Cutoff = None, weight: Weight = "weight"
) -> Iterator[tuple[Node, Lengths]]:
    """Yield each source with the lengths of its shortest paths, by target."""
    return ((node, tree.lengths()) for node, tree in _all_pairs_dijkstra(G, cutoff, weight, trees=False))


# Bellman-Ford and Johnson.


@networkx_algorithm()
def bellman_ford_path(G: Converted, source: Node, target: Node, weight: Weight = "weight") -> list[Node]:
    """Return a shortest path from source to target; weights may be negative."""
    return single_source_bellman_ford(G, source, target=target, weight=weight)[1]


@networkx_algorithm()
def bellman_ford_path_length(G: Converted, source: Node, target: Node, weight: Weight = "weight") -> float:
    """Return the length of a shortest path from source to target; weights may be negative."""
    if source == target:
        _check_node(G, source, f"Node {source} not found in graph")
        return 0
    lengths = single_source_bellman_ford_path_length(G, source, weight)
    if target not in lengths:
        raise nx.NetworkXNoPath(f"node {target} not reachable from {source}")
    return lengths[target]


@networkx_algorithm()
def single_source_bellman_ford(
    G: Converted, source: Node, target: Node | None = None, weight: Weight = "weight"
) -> tuple:
    """Return lengths and shortest paths from the source, to all nodes or to the target."""
    if source == target:
        _check_node(G, source, f"Node {source} is not found in the graph")
        return 0, [source]
    _check_node(G, source, f"Source {source} not in G")
    tree, _ = _bellman_ford(G, source, weight, trees=True)
    if target is None:
        return tree.lengths(), tree.paths()
    if (found := tree.to(target)) is None:
        raise nx.NetworkXNoPath(f"Target {target} cannot be reached from given sources")
    return found


@networkx_algorithm()
def single_source_bellman_ford_path(G: Converted, source: Node, weight: Weight = "weight") -> NodePaths:
    """Return shortest paths from the source, by target."""
    return single_source_bellman_ford(G, source, weight=weight)[1]


@networkx_algorithm()
def single_source_bellman_ford_path_length(G: Converted, source: Node, weight: Weight = "weight") -> Lengths:
    """Return the lengths of shortest paths from the source, by target."""
    _check_node(G, source, f"Source {source} not in G")
    return _bellman_ford(G, source, weight, trees=False)[0].lengths()


@networkx_algorithm()
def bellman_ford_predecessor_and_distance(
    G: Converted, source: Node, target: Node | None = None, weight: Weight = "weight", heuristic: bool = False
) -> tuple[dict, Lengths]:
    """Return the predecessors on all shortest paths from the source, and the lengths, by target."""
    _check_node(G, source, f"Node {source} is not found in the graph")
    if _with_all_arcs(G, weight).has_negative_loop:  # even if the source does not reach the loop
        raise nx.NetworkXUnbounded("Negative cycle detected.")
    if len(G.nodes) == 1:
        return {source: []}, {source: 0}
    tree, arcs = _bellman_ford(G, source, weight, trees=False)
    return tree.all_predecessors(arcs), tree.lengths()


@networkx_algorithm()
def all_pairs_bellman_ford_path(G: Converted, weight: Weight = "weight") -> Iterator[tuple[Node, NodePaths]]:
    """Yield each source with its shortest paths, by target."""
    return ((node, tree.paths()) for node, tree in _all_pairs_bellman_ford(G, weight, trees=True))


@networkx_algorithm()
def all_pairs_bellman_ford_path_length(G: Converted, weight: Weight = "weight") -> Iterator[tuple[Node, Lengths]]:
    """Yield each source with the lengths of its shortest paths, by target."""
    return ((node, tree.lengths()) for node, tree in _all_pairs_bellman_ford(G, weight, trees=False))


@networkx_algorithm()
def johnson(G: Converted, weight: Weight = "weight") -> dict[Node, NodePaths]:
    """Return shortest paths by source and target."""
    return {node: tree.paths() for node, tree in _trees(G, _with_all_arcs(G, weight), trees=True)}


# Floyd-Warshall.

CYCLE = "a negative cycle, which versions of NetworkX treat differently"


@networkx_algorithm()
def floyd_warshall(G: Converted, weight: Weight = "weight") -> dict[Node, Lengths]:
    """Return lengths by source and target, ``inf`` if there is no path."""
    return floyd_warshall_predecessor_and_distance(G, weight)[1]


@networkx_algorithm()
def floyd_warshall_predecessor_and_distance(
    G: Converted, weight: Weight = "weight"
) -> tuple[dict, dict[Node, Lengths]]:
    """Return the predecessor on a shortest path, and the length, by source and target."""
    arcs, nodes = _named_arcs(G, weight), G.nodes
    with _negative_cycle_raises(NotImplementedError(CYCLE)):
        found = arcs.solver.all_pairs()
    rows, lasts = found.distances, found.predecessors
    distances = {}
    for node, row in zip(nodes, rows.tolist(), strict=True):
        values = [d if math.isinf(d) else int(d) for d in row] if arcs.whole else row
        distances[node] = dict(zip(nodes, values, strict=True))
    loops = arcs.tails[arcs.tails == arcs.array.indices]
    lasts[loops, loops] = loops  # as in NetworkX
    before = {
        node: {head: nodes[v] for head, v in zip(nodes, last, strict=True) if v >= 0}
        for node, last in zip(nodes, lasts.tolist(), strict=True)
    }
    return {node: row for node, row in before.items() if row}, distances


@networkx_algorithm()
def floyd_warshall_numpy(
    G: Converted, nodelist: Collection[Node] | None = None, weight: Weight = "weight"
) -> np.ndarray:
    """Return the lengths as float64, (n, n), in the order of `nodelist`; without it, in the order of the graph."""
    if nodelist is not None and not len(nodelist) == len(G.nodes) == len(set(nodelist)):
        raise nx.NetworkXError(
            "nodelist must contain every node in G with no repeats."
            "If you wanted a subgraph of G use G.subgraph(nodelist)"
        )
    if not all(node in G for node in nodelist or ()):
        raise NotImplementedError("a node of nodelist is not in the graph")
    arcs = _named_arcs(G, weight)
    with _negative_cycle_raises(NotImplementedError(CYCLE)):
        found = arcs.solver.distances(range(len(G.nodes))).distances
    order = [G.index[node] for node in nodelist or G.nodes]
    return found[np.ix_(order, order)]


def _named_arcs(graph: Converted, weight: Weight) -> WeightedArcs:
    if callable(weight):
        raise NotImplementedError("the weight is a function, which versions of NetworkX treat differently")
    return _with_all_arcs(graph, weight)


# Without weights.


@networkx_algorithm()
def single_source_shortest_path(G: Converted, source: Node, cutoff: Cutoff = None) -> NodePaths:
    """Return paths with the fewest edges from the source, by target."""
    _check_node(G, source, f"Source {source} not in G")
    return _dijkstra(G, [source], _hops(cutoff), None, trees=True)[0].paths()


@networkx_algorithm()
def single_source_shortest_path_length(G: Converted, source: Node, cutoff: Cutoff = None) -> Lengths:
    """Return the least number of edges from the source, by target."""
    _check_node(G, source, f"Source {source} is not in G")
    return _dijkstra(G, [source], _hops(cutoff), None, trees=False)[0].lengths()


@networkx_algorithm()
def single_target_shortest_path(G: Converted, target: Node, cutoff: Cutoff = None) -> NodePaths:
    """Return paths with the fewest edges to the target, by source."""
    _check_node(G, target, f"Target {target} not in G")
    return _reversed(single_source_shortest_path(G.reversed, target, cutoff))


@networkx_algorithm()
def single_target_shortest_path_length(G: Converted, target: Node, cutoff: Cutoff = None) -> Lengths:
    """Return the least number of edges to the target, by source."""
    _check_node(G, target, f"Target {target} is not in G")
    return single_source_shortest_path_length(G.reversed, target, cutoff)


@networkx_algorithm()
def all_pairs_shortest_path(G: Converted, cutoff: Cutoff = None) -> Iterator[tuple[Node, NodePaths]]:
    """Yield each source with the paths that have the fewest edges, by target."""
    return all_pairs_dijkstra_path(G, _hops(cutoff), None)


@networkx_algorithm()
def all_pairs_shortest_path_length(G: Converted, cutoff: Cutoff = None) -> Iterator[tuple[Node, Lengths]]:
    """Yield each source with the least number of edges to each target."""
    return all_pairs_dijkstra_path_length(G, _hops(cutoff), None)


# Search from one source, to one target, for one pair or for all pairs, depending on the arguments.

METHODS = "dijkstra", "bellman-ford"
OTHER_METHOD = "the method is not Dijkstra or Bellman-Ford", lambda given: given["method"] not in METHODS
ONE_PAIR = "for one pair NetworkX searches from both ends", lambda given: None not in (given["source"], given["target"])


@networkx_algorithm(OTHER_METHOD, slower=(ONE_PAIR,))
def shortest_path(
    G: Converted,
    source: Node | None = None,
    target: Node | None = None,
    weight: Weight = None,
    method: str = "dijkstra",
) -> list[Node] | NodePaths | Iterator[tuple[Node, NodePaths]]:
    """Return a shortest path; without source or target, paths from all nodes, to all nodes or between all pairs."""
    if source is not None and target is not None:
        if weight is not None and method == "bellman-ford":
            return bellman_ford_path(G, source, target, weight)
        return _pair(G, source, target, weight)[1]
    one: Callable
    every: Callable
    if weight is None:
        one, every = single_source_shortest_path, all_pairs_shortest_path
    else:
        if method == "dijkstra":
            one, every = single_source_dijkstra_path, all_pairs_dijkstra_path
        else:
            one, every = single_source_bellman_ford_path, all_pairs_bellman_ford_path
        one, every = partial(one, weight=weight), partial(every, weight=weight)
    if target is not None:
        return _reversed(one(G.reversed, target))
    return every(G) if source is None else one(G, source)


@networkx_algorithm(OTHER_METHOD, slower=(ONE_PAIR,))
def shortest_path_length(
    G: Converted,
    source: Node | None = None,
    target: Node | None = None,
    weight: Weight = None,
    method: str = "dijkstra",
) -> float | Lengths | Iterator[tuple[Node, Lengths]]:
    """Return the lengths of the paths that `shortest_path` returns."""
    if source is not None and target is not None:
        if weight is None:
            return _pair(G, source, target, None)[0]
        return (dijkstra_path_length if method == "dijkstra" else bellman_ford_path_length)(G, source, target, weight)
    one: Callable
    every: Callable
    if weight is None:
        one, every = single_source_shortest_path_length, all_pairs_shortest_path_length
    else:
        if method == "dijkstra":
            one, every = single_source_dijkstra_path_length, all_pairs_dijkstra_path_length
        else:
            one, every = single_source_bellman_ford_path_length, all_pairs_bellman_ford_path_length
        one, every = partial(one, weight=weight), partial(every, weight=weight)
    if target is not None:
        return one(G.reversed, target)
    return every(G) if source is None else one(G, source)


def _pair(graph: Converted, source: Node, target: Node, weight: Weight) -> tuple[float, list[Node]]:
    """Return the length of a shortest path, and the path."""
    _check_node(graph, source, f"Source {source} is not in G")
    _check_node(graph, target, f"Target {target} is not in G")
    if (found := _dijkstra(graph, [source], None, weight, trees=True)[0].to(target)) is None:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return found


def _reversed(paths: NodePaths) -> NodePaths:
    return {node: path[::-1] for node, path in paths.items()}


# Centralities and other measures.

KNOWN = "distances or eccentricities are given", lambda given: given.get("sp", given.get("e")) is not None
BOUNDED = "with bounds NetworkX takes few searches", lambda given: given["usebounds"] and not given["G"].is_directed()
TREE = (
    "the center of a tree takes no search",
    lambda given: given["weight"] is None and given["G"].number_of_edges() == len(given["G"]) - 1,
)
NOT_DIJKSTRA = "the method is not Dijkstra", lambda given: given["method"] not in (None, "unweighted", "dijkstra")


@networkx_algorithm(KNOWN)
def closeness_centrality(
    G: Converted,
    u: Node | None = None,
    distance: Weight = None,
    wf_improved: bool = True,
    *,
    sp: Mapping | None = None,
) -> Any:
    """Return the closeness of each node, or of node u. It depends on the distances to the node."""
    if u is not None:
        _check_node(G, u, f"Source {u} is not in G" if distance is None else f"Node {u} not found in graph")
    array, vertices = _nonnegative(G, distance).array, None if u is None else [G.index[u]]
    found = centrality.closeness_centrality(array, vertices, wf_improved=bool(wf_improved)).tolist()
    return dict(zip(G.nodes, found, strict=True)) if u is None else found[0]


@networkx_algorithm()
def harmonic_centrality(
    G: Converted,
    nbunch: Any = None,
    distance: Weight = None,
    sources: Any = None,
) -> Lengths:
    """Return the sum of the reciprocal distances to each node of nbunch from the sources, by node."""
    nodes = list(dict.fromkeys(_bunch(G, nbunch)))
    starts = None if sources is None else [G.index[node] for node in _bunch(G, sources)]
    vertices = None if nbunch is None else [G.index[node] for node in nodes]
    found = centrality.harmonic_centrality(_nonnegative(G, distance).array, vertices, starts)
    return dict(zip(nodes, found.tolist(), strict=True))


@networkx_algorithm(KNOWN)
def eccentricity(G: Converted, v: Any = None, sp: Mapping | None = None, weight: Weight = None) -> Any:
    """Return the eccentricity of each node; if `v` is given, of the node v or the nodes v."""
    nodes, arcs = list(_bunch(G, v)), _nonnegative(G, weight)
    found = arcs.solver.eccentricities([G.index[node] for node in nodes])
    if (found.reached < len(G.nodes)).any():
        why = "digraph is not strongly connected" if G.is_directed() else "graph is not connected"
        raise nx.NetworkXError(f"Found infinite path length because the {why}")
    values = found.eccentricity.astype(np.int64 if arcs.whole else np.float64).tolist()
    by_node = dict(zip(nodes, values, strict=True))
    return by_node[v] if v in G else by_node


@networkx_algorithm(KNOWN, BOUNDED)
def diameter(G: Converted, e: Mapping | None = None, usebounds: bool = False, weight: Weight = None) -> float:
    """Return the largest eccentricity."""
    return max(eccentricity(G, weight=weight).values())


@networkx_algorithm(KNOWN, BOUNDED)
def radius(G: Converted, e: Mapping | None = None, usebounds: bool = False, weight: Weight = None) -> float:
    """Return the least eccentricity."""
    return min(eccentricity(G, weight=weight).values())


@networkx_algorithm(KNOWN, BOUNDED, slower=(TREE,))
def center(G: Converted, e: Mapping | None = None, usebounds: bool = False, weight: Weight = None) -> list[Node]:
    """Return the nodes whose eccentricity is the radius."""
    found = eccentricity(G, weight=weight)
    least = min(found.values())
    return [node for node, value in found.items() if value == least]


@networkx_algorithm(KNOWN, BOUNDED)
def periphery(G: Converted, e: Mapping | None = None, usebounds: bool = False, weight: Weight = None) -> list[Node]:
    """Return the nodes whose eccentricity is the diameter."""
    found = eccentricity(G, weight=weight)
    most = max(found.values())
    return [node for node, value in found.items() if value == most]


@networkx_algorithm(NOT_DIJKSTRA)
def average_shortest_path_length(G: Converted, weight: Weight = None, method: str | None = None) -> float:
    """Return the mean length over all pairs of nodes."""
    if len(G.nodes) == 1:
        return 0
    if not _is_connected(G):
        raise nx.NetworkXError(f"Graph is not {'strongly ' if G.is_directed() else ''}connected.")
    arcs = _measured(G, None if method == "unweighted" else weight)
    return centrality.average_shortest_path_length(arcs.array)


@networkx_algorithm()
def wiener_index(G: Converted, weight: Weight = None) -> float:
    """Return the sum of the lengths over all pairs of nodes; infinite if the graph is not connected."""
    if not _is_connected(G):
        return math.inf
    arcs = _measured(G, weight)
    total = centrality.wiener_index(arcs.array)
    if arcs.whole:
        total = int(total)
    return total if G.is_directed() else total / 2


def _bunch(graph: Converted, nbunch: Any) -> Iterator[Node]:
    """Yield the nodes of nbunch, which may be one node; nodes that are not in the graph are skipped."""
    own = nx.Graph()
    own._adj = graph.adjacency
    return own.nbunch_iter(nbunch)


def _is_connected(graph: Converted) -> bool:
    """Return whether each node reaches all others; weights do not matter."""
    return scipys.connected_components(graph.arcs(None).array, connection="strong", return_labels=False) == 1


def _measured(graph: Converted, weight: Weight) -> WeightedArcs:
    """Return the arcs; raise NotImplementedError if a weight is negative or None."""
    _nonnegative(graph, weight)
    return _with_all_arcs(graph, weight)
