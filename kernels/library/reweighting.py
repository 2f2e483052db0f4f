"""New weights for the arcs of a graph, in integers of the graph's unit. An infinite weight closes an edge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..fast.float_graph import FloatGraph
from ..graph import INF, MAX_WEIGHT, Graph, kept, starts
from ..lazy import LazyModule
from ..network import Network, column
from ..units import Scale
from .inputs import graph_of

if TYPE_CHECKING:
    from scipy import sparse
else:
    sparse = LazyModule("scipy.sparse")


@kept
def turn_costs(graph: Graph) -> np.ndarray | None:
    """Return the weight of each arc beyond that of its edge, the cost of a turn: uint32, (m,); None without turns.

    See turns.py: for each edge there is an arc where paths start with it, and which therefore has no cost.
    """
    if graph.network is None or graph.network.entries is None:
        return None
    edges = graph.edges
    of_edges = np.full(int(edges.max(initial=-1)) + 2, INF, np.int32)
    np.minimum.at(of_edges, edges, graph.weights)
    of_edges[-1] = 0  # of the edge -1, of additional arcs
    return (graph.weights - of_edges[edges]).astype(np.uint32)


def weights_of_arcs(graph: Graph, of_edges: np.ndarray) -> np.ndarray:
    """Return the weight of each arc, int32, by the weights of edges; INF is kept."""
    costs = turn_costs(graph)
    if costs is None:
        return of_edges[graph.edges]
    weights = np.append(of_edges, np.int32(0))[graph.edges]
    sums = np.where(weights == INF, INF, weights.astype(np.int64) + costs)
    if (sums[weights != INF] > MAX_WEIGHT).any():
        raise too_large_with_turns(graph)
    return sums.astype(np.int32)


def too_large_with_turns(graph: Graph) -> InputError:
    """Return the error for a weight that is too large together with the cost of a turn."""
    return InputError(f"{graph.name}: a weight and the cost of a turn sum to more than {MAX_WEIGHT * graph.unit:g}")


@kept
def _arcs_share_edges(graph: Graph) -> bool:
    """Return whether edges have two arcs each, which then always weigh the same; else each arc has its own edge."""
    return graph.network is not None and int(np.bincount(graph.edges).max(initial=0)) > 1


class NewWeights:
    """The weights of all arcs of a graph, whose array is made when it is first needed.

    read: a function that returns the weights of edges: int32, INF for a closed edge. closed: the number of closed arcs.
    largest, total: the largest weight and the sum of the weights of the other arcs.
    """

    def __init__(self, graph: Graph, read: Callable[[], np.ndarray], closed: int, largest: int, total: int) -> None:
        self._graph, self._read, self.closed, self.largest, self.total = graph, read, closed, largest, total

    @classmethod
    def of(cls, graph: Graph, weights: np.ndarray) -> NewWeights:
        """Return these weights of edges."""
        of_arcs = weights_of_arcs(graph, weights)
        is_open = of_arcs != INF
        largest, total = of_arcs.max(initial=0, where=is_open), of_arcs.sum(dtype=np.int64, where=is_open)
        return cls(graph, lambda: weights, len(of_arcs) - int(np.count_nonzero(is_open)), int(largest), int(total))

    @cached_property
    def of_edges(self) -> np.ndarray:
        """The weight of each edge, int32; INF for a closed edge."""
        weights = self._read()
        del self._read  # may free memory on the card
        return weights

    @cached_property
    def of_arcs(self) -> np.ndarray:
        """The weight of each arc, int32, (m,); INF for a closed arc."""
        return weights_of_arcs(self._graph, self.of_edges)

    def leave_card(self) -> None:
        """Copy weights to the host that are on the card only."""
        _ = self.of_edges

    @property
    def as_given(self) -> np.ndarray:
        """The weights of edges in the user's unit, float64; inf for a closed edge."""
        weights = self._graph.scale.apply(self.of_edges.astype(np.float64))
        weights[self.of_edges == INF] = np.inf
        return weights

    @cached_property
    def open_arcs(self) -> np.ndarray:
        return np.flatnonzero(self.of_arcs != INF)


def reweighted_floats(graph: FloatGraph, given: np.ndarray) -> Graph | FloatGraph:
    """Return the open arcs of a graph with new weights of edges."""
    edges = graph.edges
    weights = given.astype(np.float64)[edges]
    wrong = np.isnan(weights) | (weights == -np.inf)
    if wrong.any():
        edge = int(edges[wrong].min())
        raise InputError(f"{graph.name}: edge {edge}: weight {given[edge]} is neither finite nor inf, which closes it")
    found = graph_of(sparse.csr_array((weights, graph.indices, graph.indptr), shape=(graph.vertices,) * 2))
    edges = edges[weights < np.inf]
    if isinstance(found, Graph):
        return replace(found, meta={"name": graph.name}, network=Network(edges))
    return replace(found, name=graph.name, numbers=edges)


def weight_column(values: Any, edges: int, graph: str) -> np.ndarray:
    """Return weights as int32, int64, float32 or float64, (edges,); raise InputError for any other form.

    values: as in `network.column`. The values are not checked.
    """
    given = column(values, "weight")
    if given.dtype == object and all(issubclass(kind, Real) for kind in set(map(type, given))):
        given = given.astype(np.float64)
    if given.dtype.kind not in "iuf" and len(given):
        raise InputError(f"{graph}: the weights must be integers or floats, not {given.dtype}")
    if len(given) != edges:
        raise InputError(
            f"{graph}: {len(given):,} weights for {edges:,} edges: give one for each, in the order of the edges that "
            "the graph was made from (prepare a new graph to add or remove edges)"
        )
    kinds: Any = (np.float32, np.float64) if given.dtype.kind == "f" else (np.int32, np.int64)
    return np.ascontiguousarray(given, given.dtype if given.dtype in kinds else kinds[1])


def in_units(given: np.ndarray, scale: Scale, *, whole_only: bool) -> tuple[np.ndarray, int]:
    """Return the weights of edges in units, int32, INF for inf; and an edge whose weight is invalid, or -1.

    whole_only: whether fractions of a unit are invalid.
    """
    exact = scale.in_units(given.astype(np.float64))
    rounded, closed = np.rint(exact), given == np.inf
    wrong = ~closed & ~((given >= 0) & (rounded < INF))
    if whole_only:
        wrong |= ~closed & (rounded != exact)
    if wrong.any():
        return np.zeros(0, np.int32), int(wrong.argmax())
    rounded[closed] = INF
    return rounded.astype(np.int32), -1


def wrong_weight(graph: Graph, given: np.ndarray, edge: int, *, whole_only: bool) -> InputError:
    """Return the error for an invalid weight of an edge."""
    what = "a whole number" if whole_only else "a number"
    advice = "; for fractions, prepare a graph with a smaller unit" if whole_only else ""
    if given[edge] > MAX_WEIGHT * graph.unit:
        advice = "; for larger weights, prepare a graph with a larger unit"
    return InputError(
        f"{graph.name}: edge {edge}: weight {given[edge]} is not {what} from 0 to {MAX_WEIGHT * graph.unit:g}, nor "
        f"inf, which closes the edge{advice}"
    )


class OpenNetwork(Network):
    """A network without the edges of closed arcs. `edges` is made when it is first read."""

    all_edges: np.ndarray
    new_weights: NewWeights

    @classmethod
    def of(cls, network: Network, new: NewWeights, weight_error: float) -> OpenNetwork:
        """Return the network of the open arcs."""
        made = object.__new__(cls)
        vars(made).update(vars(network), weight_error=weight_error, all_edges=network.edges, new_weights=new)
        del vars(made)["edges"]
        return made

    @cached_property
    def edges(self) -> np.ndarray:  # type: ignore[override]
        return self.all_edges[self.new_weights.open_arcs]


def detached(graph: Graph | FloatGraph) -> Graph | FloatGraph:
    """Return a copy of a graph. That of a reweighted one has arrays of its own, and the edge of each arc."""
    if not isinstance(graph, Graph) or graph.structure is graph:
        return replace(graph)
    return replace(graph, network=graph.network or Network(graph.edges))


class ReweightedGraph(Graph):
    """The open arcs of a graph with new weights. The arrays are made when they are first read.

    structure: the graph with all arcs. The result of `dataclasses.replace` has arrays of its own.
    """

    new_weights: NewWeights

    @classmethod
    def of(cls, structure: Graph, new: NewWeights) -> ReweightedGraph:
        """Return the graph."""
        made, network = object.__new__(cls), structure.network
        directed = structure.directed or not _arcs_share_edges(structure)
        vars(made).update(meta={"name": structure.name}, directed=directed, file=None, structure=structure)
        vars(made).update(new_weights=new, vertices=structure.vertices, arcs=structure.arcs - new.closed)
        if not new.closed:
            vars(made).update(indptr=structure.indptr, indices=structure.indices)
        if network:
            vars(made)["network"] = OpenNetwork.of(network, new, 0.0 if structure.unit == 1 else structure.unit / 2)
        return made

    @cached_property
    def structure(self) -> Graph:  # type: ignore[override]
        return self

    @property
    def edges(self) -> np.ndarray:
        if self.network or self.structure is self:
            return super().edges
        return self.structure.edges[self.new_weights.open_arcs]

    @cached_property
    def vertices(self) -> int:  # type: ignore[override]
        return len(self.indptr) - 1

    @cached_property
    def arcs(self) -> int:  # type: ignore[override]
        return len(self.indices)

    @cached_property
    def indptr(self) -> np.ndarray:  # type: ignore[override]
        return starts(self.new_weights.of_arcs != INF)[self.structure.indptr].astype(np.int32)

    @cached_property
    def indices(self) -> np.ndarray:  # type: ignore[override]
        return self.structure.indices[self.new_weights.open_arcs]

    @cached_property
    def weights(self) -> np.ndarray:  # type: ignore[override]
        return self.new_weights.of_arcs[self.new_weights.open_arcs]
