"""A NetworkX backend: NetworkX's functions of shortest paths, answered by csgraph.py.

    NETWORKX_BACKEND_PRIORITY=cuda_shortest_paths python script.py

Each function has the arguments, the result and the errors of NetworkX's function of the same name. Lengths are int
where all weights are, else float. Of several shortest paths it may give another one than NetworkX. What it does not
serve raises NotImplementedError, and NetworkX then runs its own function; docs/networkx.md lists it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import networkx as nx
import numpy as np
from scipy.sparse import csr_array

from kernels.library import csgraph
from kernels.library.networkx_info import NAME

EXACT = 2**53  # up to here float64 has every whole number
SMALL = 64  # vertices; NetworkX searches so few in about the time that converting them takes
PIECE = 2**24  # distances of all pairs that are computed at once


class Converted:
    """A NetworkX graph as compressed sparse rows (kernels/graph.py), with the labels of its vertices.

    nodes: the labels, in NetworkX's order. indptr, indices: int32, one arc of each ordered pair.
    """

    __networkx_backend__ = NAME

    def __init__(self, adjacency, predecessors, multigraph: bool):
        self.adjacency, self.predecessors, self.multigraph = adjacency, predecessors, multigraph
        self.nodes = list(adjacency)
        self.index = {node: i for i, node in enumerate(self.nodes)}
        self.indptr = np.zeros(len(self.nodes) + 1, np.int32)
        np.cumsum([len(heads) for heads in adjacency.values()], out=self.indptr[1:])
        heads = (self.index[head] for heads in adjacency.values() for head in heads)
        self.indices = np.fromiter(heads, np.int32, self.indptr[-1])
        self.known = {}  # by the weight's name

    def __contains__(self, node) -> bool:
        try:
            return node in self.index
        except TypeError:  # as NetworkX does with what no node can be
            return False

    @cached_property
    def reversed(self) -> Converted:
        """The same vertices with every arc turned round."""
        if self.predecessors is self.adjacency:
            return self
        return Converted(self.predecessors, self.adjacency, self.multigraph)

    def arcs(self, weight) -> Arcs:
        """The arcs weighted by an attribute's name or a function, the least of parallel ones; None: each 1.

        Raises NotImplementedError where a weight is not a finite number that float64 holds, or sums may not be.
        """
        if callable(weight):
            return self._arcs(weight)
        if weight not in self.known:
            if weight is None:
                ones = csr_array((np.ones(len(self.indices)), self.indices, self.indptr), shape=[len(self.nodes)] * 2)
                self.known[None] = Arcs(ones, whole=True, hidden=False)
            elif self.multigraph:
                self.known[weight] = self._arcs(lambda _u, _v, edges: _least(weight, edges))
            else:
                self.known[weight] = self._arcs(lambda _u, _v, edge: edge.get(weight, 1))
        return self.known[weight]

    def _arcs(self, weight) -> Arcs:
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
            raise NotImplementedError("a weight is no int, float or NumPy integer")
        try:
            data = np.array(values, np.float64)
        except OverflowError as error:
            raise NotImplementedError("a weight is too large") from error
        if not np.isfinite(data).all():
            raise NotImplementedError("a weight is infinite or no number")
        whole = not any(issubclass(kind, float) for kind in types)
        if not all(issubclass(kind, float) for kind in types) and n * np.abs(data).max(initial=0) > EXACT:
            raise NotImplementedError("a sum of whole weights may be more than 2^53")
        return Arcs(csr_array((data, heads, indptr), shape=(n, n)), whole, hidden)


def _least(weight, edges):
    """The least weight of parallel edges; NaN where one is, which min may pass over."""
    weights = [edge.get(weight, 1) for edge in edges.values()]
    return next((value for value in weights if value != value), min(weights))


@dataclass(frozen=True)
class Arcs:
    """array: float64 CSR, (n, n). whole: whether all weights are integers. hidden: whether arcs of weight None were
    left out."""

    array: csr_array
    whole: bool
    hidden: bool

    @cached_property
    def tails(self) -> np.ndarray:
        """The vertex each arc leaves."""
        return np.repeat(np.arange(self.array.shape[0]), np.diff(self.array.indptr))

    @property
    def has_negative_loop(self) -> bool:
        return bool((self.array.diagonal() < 0).any())


@dataclass(frozen=True)
class Tree:
    """What a search from one source, or from the nearest of several, found.

    sources: by number. distances: float64, (n,). predecessors: int32, (n,), or None. cutoff: the largest distance.
    """

    graph: Converted
    whole: bool
    sources: list[int]
    distances: np.ndarray
    predecessors: np.ndarray | None
    cutoff: float = math.inf

    @cached_property
    def reached(self) -> list[int]:
        """The vertices within the cutoff, the nearest first."""
        is_source = np.zeros(len(self.distances), bool)
        is_source[self.sources] = True
        found = np.flatnonzero(np.isfinite(self.distances) & (self.distances <= self.cutoff) | is_source)
        return found[np.lexsort((~is_source[found], self.distances[found]))].tolist()

    def lengths(self) -> dict:
        """By node its distance."""
        found = self.distances[self.reached]
        values = (found.astype(np.int64) if self.whole else found).tolist()
        return dict(zip([self.graph.nodes[v] for v in self.reached], values, strict=True))

    def paths(self) -> dict:
        """By node a shortest path to it, a list of nodes from the source on."""
        nodes, last = self.graph.nodes, self.predecessors.tolist()
        paths = {source: [nodes[source]] for source in self.sources}
        for v in self.reached:
            way = []
            while v not in paths:  # along arcs of weight 0 a predecessor may come later
                way.append(v)
                v = last[v]
            for v in reversed(way):
                paths[v] = [*paths[last[v]], nodes[v]]
        return {nodes[v]: paths[v] for v in self.reached}

    def to(self, node) -> tuple | None:
        """Distance and path to one node; None where it is not reached."""
        v = self.graph.index.get(node)
        if v is None or not self.distances[v] <= self.cutoff or math.isinf(self.distances[v]):
            return None
        length, path = self.distances[v].item(), [node]
        while (v := self.predecessors[v]) >= 0:
            path.append(self.graph.nodes[v])
        return int(length) if self.whole else length, path[::-1]

    def all_predecessors(self, arcs: Arcs) -> dict:
        """By node the nodes before it on any shortest path, the nearest to the source first."""
        nodes, dist = self.graph.nodes, np.full(len(self.distances), np.inf)
        dist[self.reached] = self.distances[self.reached]
        tails, heads = arcs.tails, arcs.array.indices
        within = np.isfinite(dist[tails]) & (dist[heads] <= self.cutoff)  # the source itself may be beyond
        tight = np.flatnonzero(within & (dist[tails] + arcs.array.data == dist[heads]))
        tight = tight[np.argsort(dist[tails[tight]], kind="stable")]
        found = {nodes[v]: [] for v in self.reached}
        for tail, head in zip(tails[tight].tolist(), heads[tight].tolist(), strict=True):
            found[nodes[head]].append(nodes[tail])
        return found


# What NetworkX asks of a backend.


def convert_from_nx(graph, edge_attrs=None, **_) -> Converted:
    """The graph as the functions below take it. NetworkX keeps it in graph.__networkx_cache__ until graph changes."""
    adjacency = graph._adj
    converted = Converted(adjacency, graph._pred if graph.is_directed() else adjacency, graph.is_multigraph())
    for weight in edge_attrs or ():
        converted.arcs(weight)
    return converted


def convert_to_nx(result, **_):
    """No function here returns a graph."""
    return result


def can_run(name: str, args: tuple, kwargs: dict) -> bool | str:
    """True, or why NetworkX must run the function itself."""
    call = inspect.signature(globals()[name]).bind(*args, **kwargs)
    call.apply_defaults()
    given = call.arguments
    if not len(given["G"]):
        return "the graph has no node"
    if name in ("shortest_path", "shortest_path_length"):
        if given["method"] not in ("dijkstra", "bellman-ford"):
            return "the method is another one"
        if given["source"] is not None and given["target"] is not None:
            return "NetworkX chooses the function for one pair, and searches from both ends"
    return True


def should_run(name: str, args: tuple, kwargs: dict) -> bool | str:
    """True, or why NetworkX is as fast."""
    graph = args[0] if args else kwargs["G"]
    return len(graph) >= SMALL or f"the graph has fewer than {SMALL} nodes"


# Searches.


def _dijkstra(graph: Converted, sources: Iterable, cutoff, weight, *, trees: bool) -> tuple[Tree, Arcs]:
    """From the nearest of the sources, which are nodes."""
    arcs, cutoff = _nonnegative(graph, weight), _number(cutoff)
    numbers = sorted({graph.index[source] for source in sources})
    if not numbers:  # of a generator, which was read when its nodes were looked up, as NetworkX does
        n = len(graph.nodes)
        return Tree(graph, arcs.whole, [], np.full(n, np.inf), np.full(n, csgraph.NO_PREDECESSOR), cutoff), arcs
    many = len(numbers) > 1
    found = csgraph.dijkstra(
        arcs.array,
        indices=numbers if many else numbers[0],
        return_predecessors=trees,
        limit=max(cutoff, 0),
        min_only=many,
    )
    distances, predecessors = found[:2] if trees else (found, None)
    return Tree(graph, arcs.whole, numbers, distances, predecessors, cutoff), arcs


def _bellman_ford(graph: Converted, source, weight, *, trees: bool) -> tuple[Tree, Arcs]:
    arcs = _with_all_arcs(graph, weight)
    number = graph.index[source]
    found = _without_negative_cycle(csgraph.bellman_ford, arcs.array, indices=number, return_predecessors=trees)
    distances, predecessors = found if trees else (found, None)
    return Tree(graph, arcs.whole, [number], distances, predecessors), arcs


def _trees(graph: Converted, arcs: Arcs, search, *, trees: bool, cutoff=math.inf) -> Iterator[tuple[object, Tree]]:
    """Each node with the tree of a search from it."""
    rows = max(1, PIECE // len(graph.nodes))
    for start in range(0, len(graph.nodes), rows):
        sources = range(start, min(start + rows, len(graph.nodes)))
        found = search(arcs.array, indices=list(sources), return_predecessors=trees)
        distances, predecessors = found if trees else (found, [None] * len(sources))
        for source, row, last in zip(sources, distances, predecessors, strict=True):
            yield graph.nodes[source], Tree(graph, arcs.whole, [source], row, last, cutoff)


def _all_pairs_dijkstra(graph: Converted, cutoff, weight, *, trees: bool) -> Iterator[tuple[object, Tree]]:
    cutoff = _number(cutoff)
    search = partial(csgraph.dijkstra, limit=max(cutoff, 0))
    return _trees(graph, _nonnegative(graph, weight), search, trees=trees, cutoff=cutoff)


def _all_pairs_bellman_ford(graph: Converted, weight, *, trees: bool) -> Iterator[tuple[object, Tree]]:
    search = partial(_without_negative_cycle, csgraph.bellman_ford)
    return _trees(graph, _with_all_arcs(graph, weight), search, trees=trees)


def _nonnegative(graph: Converted, weight) -> Arcs:
    arcs = graph.arcs(weight)
    if arcs.array.data.min(initial=0) < 0:
        raise NotImplementedError("a weight is negative: NetworkX says what its Dijkstra makes of it")
    return arcs


def _with_all_arcs(graph: Converted, weight) -> Arcs:
    arcs = graph.arcs(weight)
    if arcs.hidden:
        raise NotImplementedError("a weight is None: NetworkX says what this algorithm makes of it")
    return arcs


def _without_negative_cycle(search, *args, **kwargs):
    try:
        return search(*args, **kwargs)
    except csgraph.NegativeCycleError as error:
        raise nx.NetworkXUnbounded("Negative cycle detected.") from error


def _number(cutoff) -> float:
    if cutoff is None:
        return math.inf
    if not isinstance(cutoff, int | float | np.integer) or math.isnan(cutoff):
        raise NotImplementedError("the cutoff is no int, float or NumPy integer")
    return cutoff


def _hops(cutoff) -> float | None:
    """A cutoff of searches without weights: NetworkX goes on to the first whole number that is not below it."""
    return math.ceil(cutoff) if cutoff is not None and math.isfinite(cutoff) else cutoff


def _check(graph: Converted, node, message: str) -> None:
    if node not in graph:
        raise nx.NodeNotFound(message)


# Dijkstra.


def dijkstra_path(G, source, target, weight="weight"):
    return single_source_dijkstra(G, source, target=target, weight=weight)[1]


def dijkstra_path_length(G, source, target, weight="weight"):
    _check(G, source, f"Node {source} not found in graph")
    if source == target:
        return 0
    lengths = _dijkstra(G, [source], None, weight, trees=False)[0].lengths()
    if target not in lengths:
        raise nx.NetworkXNoPath(f"Node {target} not reachable from {source}")
    return lengths[target]


def single_source_dijkstra(G, source, target=None, cutoff=None, weight="weight"):
    return multi_source_dijkstra(G, {source}, cutoff=cutoff, target=target, weight=weight)


def single_source_dijkstra_path(G, source, cutoff=None, weight="weight"):
    return multi_source_dijkstra_path(G, {source}, cutoff=cutoff, weight=weight)


def single_source_dijkstra_path_length(G, source, cutoff=None, weight="weight"):
    return multi_source_dijkstra_path_length(G, {source}, cutoff=cutoff, weight=weight)


def multi_source_dijkstra(G, sources, target=None, cutoff=None, weight="weight"):
    _check_sources(G, sources)
    if target in sources:
        return 0, [target]
    tree, _ = _dijkstra(G, sources, cutoff, weight, trees=True)
    if target is None:
        return tree.lengths(), tree.paths()
    if (found := tree.to(target)) is None:
        raise nx.NetworkXNoPath(f"No path to {target}.")
    return found


def multi_source_dijkstra_path(G, sources, cutoff=None, weight="weight"):
    _check_sources(G, sources)
    return _dijkstra(G, sources, cutoff, weight, trees=True)[0].paths()


def multi_source_dijkstra_path_length(G, sources, cutoff=None, weight="weight"):
    _check_sources(G, sources)
    return _dijkstra(G, sources, cutoff, weight, trees=False)[0].lengths()


def _check_sources(graph: Converted, sources) -> None:
    if not sources:
        raise ValueError("sources must not be empty")
    for source in sources:
        _check(graph, source, f"Node {source} not found in graph")


def dijkstra_predecessor_and_distance(G, source, cutoff=None, weight="weight"):
    _check(G, source, f"Node {source} is not found in the graph")
    tree, arcs = _dijkstra(G, [source], cutoff, weight, trees=False)
    return tree.all_predecessors(arcs), tree.lengths()


def all_pairs_dijkstra(G, cutoff=None, weight="weight"):
    trees = _all_pairs_dijkstra(G, cutoff, weight, trees=True)
    return ((node, (tree.lengths(), tree.paths())) for node, tree in trees)


def all_pairs_dijkstra_path(G, cutoff=None, weight="weight"):
    return ((node, tree.paths()) for node, tree in _all_pairs_dijkstra(G, cutoff, weight, trees=True))


def all_pairs_dijkstra_path_length(G, cutoff=None, weight="weight"):
    return ((node, tree.lengths()) for node, tree in _all_pairs_dijkstra(G, cutoff, weight, trees=False))


# Bellman-Ford and Johnson.


def bellman_ford_path(G, source, target, weight="weight"):
    return single_source_bellman_ford(G, source, target=target, weight=weight)[1]


def bellman_ford_path_length(G, source, target, weight="weight"):
    if source == target:
        _check(G, source, f"Node {source} not found in graph")
        return 0
    lengths = single_source_bellman_ford_path_length(G, source, weight)
    if target not in lengths:
        raise nx.NetworkXNoPath(f"node {target} not reachable from {source}")
    return lengths[target]


def single_source_bellman_ford(G, source, target=None, weight="weight"):
    if source == target:
        _check(G, source, f"Node {source} is not found in the graph")
        return 0, [source]
    _check(G, source, f"Source {source} not in G")
    tree, _ = _bellman_ford(G, source, weight, trees=True)
    if target is None:
        return tree.lengths(), tree.paths()
    if (found := tree.to(target)) is None:
        raise nx.NetworkXNoPath(f"Target {target} cannot be reached from given sources")
    return found


def single_source_bellman_ford_path(G, source, weight="weight"):
    return single_source_bellman_ford(G, source, weight=weight)[1]


def single_source_bellman_ford_path_length(G, source, weight="weight"):
    _check(G, source, f"Source {source} not in G")
    return _bellman_ford(G, source, weight, trees=False)[0].lengths()


def bellman_ford_predecessor_and_distance(G, source, target=None, weight="weight", heuristic=False):
    _check(G, source, f"Node {source} is not found in the graph")
    if _with_all_arcs(G, weight).has_negative_loop:  # also of a node that is not reached
        raise nx.NetworkXUnbounded("Negative cycle detected.")
    if len(G.nodes) == 1:
        return {source: []}, {source: 0}
    tree, arcs = _bellman_ford(G, source, weight, trees=False)
    return tree.all_predecessors(arcs), tree.lengths()


def all_pairs_bellman_ford_path(G, weight="weight"):
    return ((node, tree.paths()) for node, tree in _all_pairs_bellman_ford(G, weight, trees=True))


def all_pairs_bellman_ford_path_length(G, weight="weight"):
    return ((node, tree.lengths()) for node, tree in _all_pairs_bellman_ford(G, weight, trees=False))


def johnson(G, weight="weight"):
    search = partial(_without_negative_cycle, csgraph.johnson)
    return {node: tree.paths() for node, tree in _trees(G, _with_all_arcs(G, weight), search, trees=True)}


# Floyd-Warshall.


def floyd_warshall(G, weight="weight"):
    return floyd_warshall_predecessor_and_distance(G, weight)[1]


def floyd_warshall_predecessor_and_distance(G, weight="weight"):
    arcs, nodes = _named_arcs(G, weight), G.nodes
    rows, lasts = _floyd_warshall(arcs, return_predecessors=True)
    distances = {}
    for node, row in zip(nodes, rows.tolist(), strict=True):
        values = [d if math.isinf(d) else int(d) for d in row] if arcs.whole else row
        distances[node] = dict(zip(nodes, values, strict=True))
    loops = arcs.tails[arcs.tails == arcs.array.indices]
    lasts[loops, loops] = loops  # as NetworkX has it
    found = {
        node: {head: nodes[v] for head, v in zip(nodes, last, strict=True) if v >= 0}
        for node, last in zip(nodes, lasts.tolist(), strict=True)
    }
    return {node: before for node, before in found.items() if before}, distances


def floyd_warshall_numpy(G, nodelist=None, weight="weight"):
    if nodelist is not None and not len(nodelist) == len(G.nodes) == len(set(nodelist)):
        raise nx.NetworkXError(
            "nodelist must contain every node in G with no repeats."
            "If you wanted a subgraph of G use G.subgraph(nodelist)"
        )
    if not all(node in G for node in nodelist or ()):
        raise NotImplementedError("a node of nodelist is none of the graph's: NetworkX says so")
    found = _floyd_warshall(_named_arcs(G, weight))
    order = [G.index[node] for node in nodelist or G.nodes]
    return found[np.ix_(order, order)]


def _named_arcs(graph: Converted, weight) -> Arcs:
    if callable(weight):
        raise NotImplementedError("a function as weight: versions of NetworkX differ in what they make of it")
    return _with_all_arcs(graph, weight)


def _floyd_warshall(arcs: Arcs, **options):
    try:
        if arcs.has_negative_loop:  # which SciPy leaves out
            raise csgraph.NegativeCycleError
        return csgraph.floyd_warshall(arcs.array, **options)
    except csgraph.NegativeCycleError as error:
        raise NotImplementedError("a negative cycle: versions of NetworkX differ in what they make of it") from error


# Without weights.


def single_source_shortest_path(G, source, cutoff=None):
    _check(G, source, f"Source {source} not in G")
    return _dijkstra(G, [source], _hops(cutoff), None, trees=True)[0].paths()


def single_source_shortest_path_length(G, source, cutoff=None):
    _check(G, source, f"Source {source} is not in G")
    return _dijkstra(G, [source], _hops(cutoff), None, trees=False)[0].lengths()


def single_target_shortest_path(G, target, cutoff=None):
    _check(G, target, f"Target {target} not in G")
    return _turned(single_source_shortest_path(G.reversed, target, cutoff))


def single_target_shortest_path_length(G, target, cutoff=None):
    _check(G, target, f"Target {target} is not in G")
    return single_source_shortest_path_length(G.reversed, target, cutoff)


def all_pairs_shortest_path(G, cutoff=None):
    return all_pairs_dijkstra_path(G, _hops(cutoff), None)


def all_pairs_shortest_path_length(G, cutoff=None):
    return all_pairs_dijkstra_path_length(G, _hops(cutoff), None)


# By what is given; can_run leaves one pair to NetworkX.


def shortest_path(G, source=None, target=None, weight=None, method="dijkstra"):
    if weight is None:
        one, every = single_source_shortest_path, all_pairs_shortest_path
    elif method == "dijkstra":
        one, every = (partial(f, weight=weight) for f in (single_source_dijkstra_path, all_pairs_dijkstra_path))
    else:
        one, every = (partial(f, weight=weight) for f in (single_source_bellman_ford_path, all_pairs_bellman_ford_path))
    if target is not None:
        return _turned(one(G.reversed, target))
    return every(G) if source is None else one(G, source)


def shortest_path_length(G, source=None, target=None, weight=None, method="dijkstra"):
    if weight is None:
        one, every = single_source_shortest_path_length, all_pairs_shortest_path_length
    elif method == "dijkstra":
        functions = single_source_dijkstra_path_length, all_pairs_dijkstra_path_length
        one, every = (partial(f, weight=weight) for f in functions)
    else:
        functions = single_source_bellman_ford_path_length, all_pairs_bellman_ford_path_length
        one, every = (partial(f, weight=weight) for f in functions)
    if target is not None:
        return one(G.reversed, target)
    return every(G) if source is None else one(G, source)


def _turned(paths: dict) -> dict:
    return {node: path[::-1] for node, path in paths.items()}
