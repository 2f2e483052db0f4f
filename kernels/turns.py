"""Forbidden and costly turns: a graph whose paths obey them.

Only vertices with such turns are split. Vertex v of the given graph becomes

    v                where paths to v end: no arc leaves it
    an entry         where paths from v start, and where arcs lead after which every turn at v is allowed
    more vertices    one for each sequence of arcs that ends at v and begins a forbidden or costly sequence

From the entry and from these vertices, an arc of weight 0 leads to v. All other vertices keep their arcs. An arc's head
is the vertex of the longest sequence that ends with the arc: the automaton of A. V. Aho and M. J. Corasick, Efficient
String Matching: An Aid to Bibliographic Search, Communications of the ACM 18 (6), 1975.
"""

from __future__ import annotations

import itertools
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from .errors import InputError
from .graph import MAX_WEIGHT, Graph, by_tail, check_flag, require_size, starts
from .network import Network
from .units import Scale


def with_turns(
    graph: Graph,
    forbidden: Iterable[Sequence[int]] = (),
    costs: Mapping[tuple[int, int], float] | ArrayLike = (),
    *,
    u_turns: bool = True,
) -> Graph:
    """Return a graph whose paths obey forbidden and costly turns.

    Parameters
    ----------
    graph : Graph
        An edge is named by its position in the list of edges that the graph was made from (`Graph.edges`).
    forbidden : iterable of sequences of int
        Edges that no path may follow one after the other: ``(from, to)``, or ``(from, via, ..., to)``, as in the turn
        restrictions of OpenStreetMap. Each sequence has two edges or more; an array of shape (k, 2) is valid.
    costs : mapping, or array_like of shape (k, 3)
        The cost of a turn, 0 or more, by ``(from, to)``, in the unit of the weights; ``inf`` forbids the turn. A row of
        an array is a turn's first edge, its second edge and its cost.
    u_turns : bool, default True
        If False, no path may return to the vertex that it has just come from, except at the end of a dead-end street.

    Returns
    -------
    Graph
        It has the given graph's vertices, with the same numbers and labels, and further ones. A path starts and ends at
        any vertex, without a turn. The functions for several sources take all vertices of the given graph, and no
        others, as targets. `shortest_paths`, `paths_from` and `all_pairs` return the given graph's vertices first. Of
        the additional arcs, which have weight 0, the edge is -1.

    Raises
    ------
    InputError
        If an edge does not exist, if consecutive edges of a sequence do not meet, if a cost is negative, or if a sum of
        a weight and a cost is above 2**31 - 2.

    Examples
    --------
    >>> import cuda_shortest_paths
    >>> from cuda_shortest_paths.graph import Graph
    >>> roads = Graph.from_edges([0, 1, 1, 2], [1, 2, 3, 3], [5, 1, 4, 1])
    >>> cuda_shortest_paths.distances(roads, [0], [3]).distances
    array([[7.]])
    >>> turns = cuda_shortest_paths.with_turns(roads, forbidden=[(0, 1)], costs={(0, 2): 3})
    >>> cuda_shortest_paths.distances(turns, [0, 1], [3]).distances
    array([[12.],
           [ 2.]])
    """
    if not isinstance(graph, Graph):
        raise InputError(f"with_turns needs a Graph, not {type(graph)}")
    if graph.destinations < graph.vertices:
        raise InputError("the graph has turns already: give all turns at once, with the graph that has none")
    arcs_of = ArcsOfEdges(graph)
    never = [arcs_of.sequences(edges)[0] for edges in _by_length(forbidden)]
    if not check_flag(u_turns, "u_turns"):
        never.append(_u_turns(graph))
    edges, costs_of, error = _costs(costs, graph.scale)
    pairs, which = arcs_of.sequences(edges)
    cost = costs_of[which]
    costly = (cost > 0) & (cost < np.inf)
    automaton = Automaton(graph)
    automaton.add([*never, pairs[np.isinf(cost)]], pairs[costly], cost[costly].astype(np.int64))
    return automaton.expanded(error)


def _by_length(sequences: Iterable[Sequence[int]]) -> list[np.ndarray]:
    """Return the sequences of edges as arrays, (k, length), one for each length."""
    try:
        if hasattr(sequences, "__array__"):
            arrays = [np.asarray(sequences)]
        else:
            arrays = [np.array([*some]) for _, some in itertools.groupby(sorted(sequences, key=len), len)]
    except (TypeError, ValueError):
        arrays = [np.zeros(1)]
    for array in arrays:
        if len(array) and (array.ndim != 2 or array.shape[1] < 2 or array.dtype.kind not in "iu"):
            raise InputError(
                "forbidden must be a list of sequences of two edges or more, which are numbers, such as [(3, 5)], not "
                f"{reprlib.repr(sequences)}"
            )
    return [array for array in arrays if len(array)]


def _costs(costs: Mapping | ArrayLike, scale: Scale) -> tuple[np.ndarray, np.ndarray, float]:
    """Return pairs of edges, (k, 2), their costs in units as whole float64 numbers or inf, and the rounding error."""
    try:
        rows = np.array([(*turn, cost) for turn, cost in costs.items()] if isinstance(costs, Mapping) else costs, float)
        rows = rows if rows.size else rows.reshape(-1, 3)
        valid = rows.ndim == 2 and rows.shape[1] == 3 and (rows[:, :2] == np.floor(rows[:, :2])).all()
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise InputError(
            f"costs must have a cost for each pair of edges, such as {{(3, 5): 20.0}}, not {reprlib.repr(costs)}"
        )
    edges, given = rows[:, :2].astype(np.int64), rows[:, 2]
    cost = np.rint(scale.in_units(given))
    finite = np.isfinite(given)
    error = np.abs(scale.apply(cost[finite]) - given[finite])
    wrong = np.flatnonzero(~(given >= 0) | ((cost != given) & (scale == (1, 1))) | (finite & (cost > MAX_WEIGHT)))
    if len(wrong):
        turn, cost = edges[wrong[0]].tolist(), given[wrong[0]]
        kind = "a whole number, as the weights are" if cost > 0 else "0 or more"
        kind = (
            f"at most {MAX_WEIGHT * scale.factor / scale.divisor:g}, or inf"
            if np.isfinite(cost) and cost > MAX_WEIGHT * scale.factor / scale.divisor
            else kind
        )
        raise InputError(f"the cost of the turn from edge {turn[0]} to {turn[1]} must be {kind}, not {cost}")
    return edges, cost, error.max(initial=0)


class ArcsOfEdges:
    """The arcs of each edge: one, or two if the edge is undirected."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.order = np.argsort(graph.edges, kind="stable")
        self.edges = graph.edges[self.order]

    def sequences(self, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sequences of consecutive arcs of sequences of edges, (k, length), and which each one is of.

        edges: (s, length). Raises InputError if a sequence of edges has none.
        """
        which = np.arange(len(edges))
        arcs = np.zeros((len(edges), 0), np.int64)
        for column in edges.T:
            first, end = (np.searchsorted(self.edges, column[which], side) for side in ("left", "right"))
            counts = end - first
            rows = np.repeat(np.arange(len(which)), counts)
            next_arcs = self.order[np.repeat(first - starts(counts)[:-1], counts) + np.arange(len(rows))]
            if arcs.shape[1]:
                meet = self.graph.indices[arcs[rows, -1]] == self.graph.tails[next_arcs]
                rows, next_arcs = rows[meet], next_arcs[meet]
            which, arcs = which[rows], np.column_stack([arcs[rows], next_arcs])
        self._check(edges, which)
        return arcs, which

    def _check(self, edges: np.ndarray, which: np.ndarray) -> None:
        missing = np.setdiff1d(np.arange(len(edges)), which)
        if not len(missing):
            return
        sequence = edges[missing[0]]
        unknown = sequence[~np.isin(sequence, self.edges)]
        if len(unknown):
            raise InputError(f"the turn {tuple(sequence.tolist())}: the graph has no edge {unknown[0]}")
        raise InputError(
            f"the turn {tuple(sequence.tolist())}: an edge does not start where the one before it ends: name "
            "consecutive edges by their positions in the list that the graph was made from"
        )


def _u_turns(graph: Graph) -> np.ndarray:
    """Return the pairs of arcs, (k, 2), that lead back to the vertex they come from, but not at dead ends."""
    n, tails, heads = graph.vertices, graph.tails.astype(np.int64), graph.indices
    there, back = tails * n + heads, heads.astype(np.int64) * n + tails
    order = np.argsort(there, kind="stable")
    first, end = (np.searchsorted(there[order], back, side) for side in ("left", "right"))
    counts = end - first
    arcs = np.repeat(np.arange(graph.arcs), counts)
    backs = order[np.repeat(first - starts(counts)[:-1], counts) + np.arange(len(arcs))]
    dead_end = (counts == np.diff(graph.indptr)[heads])[arcs]
    return np.column_stack([arcs, backs])[~dead_end]


class Automaton:
    """The states in which a path may be. A state has a row for each arc that leaves its vertex.

    States 0 to n - 1 are those of the vertices, if no sequence has begun; their rows are the graph's arcs.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.vertex = np.arange(graph.vertices)  # of each state
        self.fallback = self.vertex  # of each state: that of the longest shorter end of the sequence
        self.first = graph.indptr[:-1].astype(np.int64)  # row of each state
        self.arc = np.arange(graph.arcs)  # of each row
        self.next = graph.indices.astype(np.int64)  # state after each row's arc
        self.cost = np.zeros(graph.arcs, np.int64)  # of each row, in addition to the arc's weight
        self.allowed = np.ones(graph.arcs, bool)  # of each row

    def rows(self, states: np.ndarray, arcs: np.ndarray) -> np.ndarray:
        """Return the rows of arcs that leave states."""
        return self.first[states] + arcs - self.graph.indptr[self.graph.tails[arcs]]

    def add(self, forbidden: list[np.ndarray], pairs: np.ndarray, costs: np.ndarray) -> None:
        """Add all forbidden sequences of arcs, (k, length) each, and pairs of arcs, (k, 2), with their costs, (k,)."""
        sequences = [array for array in (pairs, *forbidden) if len(array)]
        states = [self.graph.tails[array[:, 0]].astype(np.int64) for array in sequences]
        for at in range(1, max((array.shape[1] for array in sequences), default=0)):
            longer = [i for i, array in enumerate(sequences) if array.shape[1] > at]
            new = self._follow(
                np.concatenate([states[i] for i in longer]), np.concatenate([sequences[i][:, at - 1] for i in longer])
            )
            for i, part in zip(longer, np.split(new, starts([len(states[i]) for i in longer])[1:-1]), strict=True):
                states[i] = part
            for i in longer:
                if sequences[i].shape[1] == at + 1:
                    last = self.rows(states[i], sequences[i][:, at])
                    if sequences[i] is pairs:
                        np.add.at(self.cost, last, costs)
                    else:
                        self.allowed[last] = False

    def _follow(self, states: np.ndarray, arcs: np.ndarray) -> np.ndarray:
        """Return a new state for each different pair of a state and an arc; call once for each length of sequences."""
        rows, index, inverse = np.unique(self.rows(states, arcs), return_index=True, return_inverse=True)
        states, arcs = states[index], arcs[index]
        roots = self.graph.indices[arcs].astype(np.int64)
        shorter = self.next[self.rows(self.fallback[states], arcs)]
        fallback = np.where(states < self.graph.vertices, roots, shorter)
        self.next[rows] = new = len(self.vertex) + np.arange(len(rows))
        counts = np.diff(self.graph.indptr)[roots].astype(np.int64)
        ends = starts(counts)
        copied = np.repeat(self.first[fallback] - ends[:-1], counts) + np.arange(ends[-1])
        self.vertex, self.fallback = np.append(self.vertex, roots), np.append(self.fallback, fallback)
        self.first = np.append(self.first, len(self.arc) + ends[:-1])
        self.arc, self.next = np.append(self.arc, self.arc[copied]), np.append(self.next, self.next[copied])
        self.cost, self.allowed = np.append(self.cost, self.cost[copied]), np.append(self.allowed, self.allowed[copied])
        return new[inverse]

    def expanded(self, error: float) -> Graph:
        """Return the graph of the states. error: the largest rounding error of a cost."""
        graph, n, states = self.graph, self.graph.vertices, len(self.vertex)
        is_split = np.zeros(n, bool)
        is_split[self.vertex[n:]] = True
        split = np.flatnonzero(is_split)
        if not len(split):
            return graph
        number = np.arange(states) + len(split)  # the vertex of each state
        number[:n] = np.where(is_split, n + np.cumsum(is_split) - 1, np.arange(n))
        ending = np.flatnonzero(is_split[self.vertex])  # states from which an arc leads to the end of paths
        kept = np.flatnonzero(self.allowed)
        weights = graph.weights[self.arc[kept]] + self.cost[kept]
        if weights.max(initial=0) > MAX_WEIGHT:
            raise InputError(f"a weight and the cost of a turn sum to {weights.max()}: the largest sum is {MAX_WEIGHT}")
        require_size(states + len(split), len(kept) + len(ending))
        tails = np.repeat(number, np.diff(graph.indptr)[self.vertex])[kept]
        rows = by_tail(
            states + len(split),
            np.append(tails, number[ending]),
            np.append(number[self.next[kept]], self.vertex[ending]),
            np.arange(len(kept) + len(ending)),
        )
        weights = np.append(weights, np.zeros(len(ending), np.int64))
        edges = np.append(graph.edges[self.arc[kept]], np.full(len(ending), -1, np.int32))
        vertices = np.concatenate([np.arange(n), split, self.vertex[n:]])
        given = graph.network or Network(graph.edges)
        network = replace(
            given,
            edges=edges[rows.data],
            weight_error=given.weight_error + error,
            coordinates=None if given.coordinates is None else given.coordinates[vertices],
            vertices=vertices.astype(np.int32),
            entries=number[:n].astype(np.int32),
        )
        return Graph(
            rows.indptr, rows.indices, weights[rows.data].astype(np.int32), meta={"name": graph.name}, network=network
        )
