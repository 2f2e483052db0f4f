"""Weighted directed graphs in compressed sparse rows (CSR), and their packed files. Every kernel reads a CSR graph.

    indptr   int32, n + 1    the arcs that leave vertex u are indptr[u] to indptr[u + 1] - 1
    indices  int32, m        the head of each arc
    weights  int32, m        the weight of each arc

A vertex without out-arcs has an empty row. Parallel arcs and self-loops are allowed.
"""

from __future__ import annotations

import errno
import json
import reprlib
import textwrap
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from . import memory, network, units
from .errors import InputError, StrPath, whole
from .lazy import LazyModule
from .network import Network
from .units import Scale

if TYPE_CHECKING:
    from scipy import sparse
else:
    sparse = LazyModule("scipy.sparse")

INF = 2**31 - 1  # the distance if there is no path; a path is at most INF - 1 long
MAX_WEIGHT = INF - 1
MAX_COUNT = 2**31 - 1  # maximum number of vertices, and maximum number of arcs, because their numbers are int32
ARRAYS = ("indptr", "indices", "weights")
NO_GRAPH = "name a packed graph, or make this one again"


def kept(function: Callable) -> Callable:
    """Decorate a function of one argument, such as one that lays out a graph: cache its result in the argument."""

    @wraps(function)
    def found(owner: object) -> Any:
        values = vars(owner).setdefault("_kept", {})
        if function not in values:
            values[function] = function(owner)
        return values[function]

    return found


def forget(owner: CompressedRows) -> None:
    """Delete a graph's cached results and properties."""
    for name in vars(owner).keys() - {one.name for one in fields(owner)}:
        del vars(owner)[name]


def starts(counts: ArrayLike) -> np.ndarray:
    """Return the start of each of several consecutive lists with these lengths, and the end of the last one: int64."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


@dataclass(frozen=True, eq=False)
class CompressedRows:
    """The arcs of a graph in compressed sparse rows, with weights of any dtype."""

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray

    def __getstate__(self) -> dict:
        """Return only the fields, without cached layouts. A process that unpickles the graph makes its own layouts."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def name(self) -> str:
        """The graph's name, for messages."""
        return "graph"

    @property
    def vertices(self) -> int:
        """The number of vertices, n."""
        return len(self.indptr) - 1

    @property
    def arcs(self) -> int:
        """The number of arcs, m."""
        return len(self.indices)

    @cached_property
    def tails(self) -> np.ndarray:
        """The tail of each arc, int32, (m,)."""
        return np.repeat(np.arange(self.vertices, dtype=np.int32), np.diff(self.indptr))

    @property
    def scale(self) -> Scale:
        """The scale from the weights to the user's weights."""
        return Scale(1, 1)

    @property
    def destinations(self) -> int:
        """The number of vertices that a user knows, and that are numbered first; the others stand for turns."""
        return self.vertices

    @property
    def has_turns(self) -> bool:
        """Whether the graph has vertices that the user does not know, by `with_turns`."""
        return self.destinations < self.vertices

    def entries(self, vertices: np.ndarray) -> np.ndarray:
        """Return the vertices, int64, where paths from a user's vertices start."""
        return vertices.astype(np.int64, copy=False)

    def known(self, vertices: np.ndarray) -> np.ndarray:
        """Return the user's vertices that vertices stand for."""
        return vertices

    def named(self, vertices: np.ndarray) -> np.ndarray:
        """Return the labels of vertices, which are numbers; the user's numbers if the graph has no labels."""
        return vertices

    def check_source(self, source: Any, name: str = "source") -> int:
        """Return a vertex as an int; raise InputError with `name` if it is not an integer or is not a vertex."""
        source = whole(source, name)
        if not 0 <= source < self.destinations:
            raise InputError(f"{name} {source} is not a vertex of {self.name}: choose one in [0, {self.destinations})")
        return source

    def undirected(self) -> Self:
        """Return the graph with the reverse of every arc added."""
        n = self.vertices
        require_size(n, 2 * self.arcs)
        rows = self._numbered()
        both = sparse.hstack([rows, rows.T.tocsr()], format="csr")
        return self._with_arcs(both.indptr, both.indices % n, both.data)

    def reversed(self) -> Self:
        """Return the graph with every arc reversed."""
        rows = self._numbered().T.tocsr()
        return self._with_arcs(rows.indptr, rows.indices, rows.data)

    def _numbered(self) -> sparse.csr_array:
        """Return the arcs as a sparse array whose entries are the arcs' numbers."""
        numbers = np.arange(self.arcs, dtype=np.int32)
        return sparse.csr_array((numbers, self.indices, self.indptr), shape=(self.vertices,) * 2)

    def _with_arcs(self, indptr: np.ndarray, indices: np.ndarray, arcs: np.ndarray) -> Self:
        """Return the graph with other rows and heads. arcs: the number of the arc that each new arc stems from."""
        indptr, indices = indptr.astype(np.int32, copy=False), indices.astype(np.int32, copy=False)
        return replace(self, indptr=indptr, indices=indices, weights=self.weights[arcs])

    def check_values(self) -> None:
        """Check the arrays' values, in time linear in the arcs.

        Raises
        ------
        InputError
            If `indptr` decreases or a head is not a vertex. Subclasses also check the weights.
        """
        if len(falls := np.flatnonzero(self.indptr[1:] < self.indptr[:-1])):
            raise InputError(f"indptr of a graph falls after vertex {falls[0]}")
        self._check_arcs("head", self.indices, self.vertices - 1)

    def _check_arcs(self, name: str, values: np.ndarray, high: int) -> None:
        """Raise InputError if one of `values` (int32) is outside [0, high]."""
        unsigned = values.view(np.uint32)  # negative values become larger than any limit
        if unsigned.max(initial=0) > high:
            arc = int((unsigned > high).argmax())
            raise InputError(f"arc {arc}: {name} {values[arc]} is outside [0, {high}]")


@dataclass(frozen=True, eq=False)
class Graph(CompressedRows):
    """A directed graph with integer weights from 0 to 2**31 - 2.

    Parameters
    ----------
    indptr : ndarray of int32, shape (n + 1,)
        The arcs that leave vertex u are ``indptr[u]`` to ``indptr[u + 1] - 1``.
    indices : ndarray of int32, shape (m,)
        The head of each arc.
    weights : ndarray of int32, shape (m,)
        The weight of each arc, in multiples of the network's unit if there is one.
    directed : bool, default True
        False states that every arc has a reverse arc of the same weight. This is not checked.
    meta : dict, optional
        Data about the graph, such as its ``name``, its ``origin`` and the ``sha256`` of its text form.
    file : Path, optional
        The packed file that the graph was loaded from. If a file beside the packed file has the graph's
        contraction hierarchy, searches use the hierarchy.
    network : Network, optional
        The names of vertices, the unit of the weights, and what else the graph keeps of the network that it was made
        from. See `from_edges`.

    Raises
    ------
    InputError
        If an array has a wrong dtype or number of dimensions, if the arrays do not match each other, if `directed` is
        not a bool, if `meta` is not a dict or if its name is not a string.

    Notes
    -----
    `check_values`, `from_arcs` and `load` check the values of the arrays; ``Graph(...)`` does not. Do not change the
    arrays of a `Graph`, because searches keep layouts of the arrays.

    Examples
    --------
    >>> from cuda_shortest_paths.graph import Graph
    >>> graph = Graph.from_arcs(3, tails=[0, 1, 0], heads=[1, 2, 2], weights=[4, 1, 7])
    >>> graph.vertices, graph.arcs, graph.indptr.tolist()
    (3, 3, [0, 2, 3, 3])
    """

    directed: bool = True
    meta: dict = field(default_factory=dict)
    file: Path | None = None
    network: Network | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ARRAYS:
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.dtype != np.int32 or array.ndim != 1:
                raise InputError(f"{name} of a graph must be an int32 array of one dimension")
        if len(self.indptr) < 2 or not len(self.indices) == len(self.weights) == self.indptr[-1] or self.indptr[0]:
            raise InputError("indptr, indices and weights of a graph do not fit together")
        check_flag(self.directed, "directed")
        if not isinstance(self.meta, dict):
            raise InputError("meta of a graph must be a dictionary")
        if not isinstance(self.name, str):
            raise InputError("the name in meta of a graph must be a string")

    @property
    def name(self) -> str:
        """The name in `meta`, else "graph"."""
        return self.meta.get("name", "graph")

    @property
    def structure(self) -> Graph:
        """The graph with its closed arcs too, which has the order of a hierarchy; see `Solver.reweight`."""
        return self

    @property
    def unit(self) -> float:
        """The graph's integers times `unit` are weights and distances as the user gave them."""
        return self.network.unit if self.network else 1.0

    @property
    def weight_error(self) -> float:
        """The largest difference between a given weight and the graph's multiple of the unit; 0 if all are exact.

        A path of k arcs differs by at most k times as much, in the user's weights.
        """
        return self.network.weight_error if self.network else 0.0

    @property
    def edges(self) -> np.ndarray:
        """The position of each arc's edge in the list of edges that the graph was made from: int32, (m,)."""
        return self.network.edges if self.network else np.arange(self.arcs, dtype=np.int32)

    @property
    def edge_weights(self) -> np.ndarray:
        """The weights of the edges that the graph was made from, in the user's unit: float64, (e,); inf without an arc.

        It is a new array, which `Solver.reweight` takes.
        """
        edges, weights = self.edges, self.scale.apply(self.weights.astype(np.float64))
        known = edges >= 0
        found = np.full(int(self.structure.edges.max(initial=-1)) + 1, np.inf)
        np.minimum.at(found, edges[known], weights[known])
        return found

    def __repr__(self) -> str:
        unit = "" if self.unit == 1 else f", unit {self.unit:g}"
        return f"Graph({self.name}: {self.vertices:,} vertices, {self.arcs:,} arcs{unit})"

    @property
    def labels(self) -> np.ndarray | None:
        """The label of each vertex, (n,); None if vertices are numbers.

        With turns, the additional vertices have the labels of those that they stand for.
        """
        if not self.network or not self.network.labels:
            return None
        labels, vertices = self.network.labels.values, self.network.vertices
        return labels if vertices is None else labels[vertices]

    @property
    def scale(self) -> Scale:
        return Scale.of(self.unit)

    def named(self, vertices: np.ndarray) -> np.ndarray:
        vertices = self.known(vertices)
        return self.network.labels.values[vertices] if self.network and self.network.labels else vertices

    def known(self, vertices: np.ndarray) -> np.ndarray:
        return self.network.vertices[vertices] if self.network and self.network.vertices is not None else vertices

    @property
    def destinations(self) -> int:
        return self.vertices if not self.network or self.network.entries is None else len(self.network.entries)

    def entries(self, vertices: np.ndarray) -> np.ndarray:
        if self.network and self.network.entries is not None:
            vertices = self.network.entries[vertices]
        return vertices.astype(np.int64, copy=False)

    def without_labels(self) -> Self:
        """Return the graph with numbered vertices only."""
        return replace(self, network=self.network and replace(self.network, labels=None))

    def check_values(self) -> None:
        """Check the arrays' values, in time linear in the arcs.

        Raises
        ------
        InputError
            If `indptr` decreases, a head is not a vertex or a weight is outside [0, 2**31 - 2].
        """
        super().check_values()
        self._check_arcs("weight", self.weights, MAX_WEIGHT)

    @classmethod
    def from_arcs(
        cls,
        vertices: int,
        tails: ArrayLike,
        heads: ArrayLike,
        weights: ArrayLike,
        *,
        directed: bool = True,
        meta: dict | None = None,
    ) -> Graph:
        """Build a graph from a list of arcs. The arcs that leave a vertex keep their order.

        Parameters
        ----------
        vertices : int
            The number of vertices, n, from 1 to 2**31 - 1.
        tails, heads : array_like of int, shape (m,)
            Vertices, from 0 to n - 1. There are at most 2**31 - 1 arcs.
        weights : array_like of int, shape (m,)
            From 0 to 2**31 - 2.
        directed, meta
            See `Graph`.

        Returns
        -------
        Graph

        Raises
        ------
        InputError
            If an array is not of integers (booleans and floats such as 3.0 are refused), if the arrays differ in
            length, if a value is out of range, if `directed` is not a bool, or if the graph does not fit in memory.

        Examples
        --------
        >>> from cuda_shortest_paths.graph import Graph
        >>> Graph.from_arcs(2, tails=[0, 1], heads=[1, 0], weights=[3, 5]).matrix
        array([[0, 3],
               [5, 0]], dtype=int32)
        """
        vertices = whole(vertices, "the number of vertices")
        tails, heads, weights = (
            _integers(name, values) for name, values in (("tail", tails), ("head", heads), ("weight", weights))
        )
        require_arcs("arc", vertices, tails, heads, weights)
        require_range("arc", "weight", weights, MAX_WEIGHT)
        rows = by_tail(vertices, tails, heads, weights.astype(np.int32, copy=False))
        return cls(rows.indptr, rows.indices, rows.data, directed, meta or {})

    @classmethod
    def from_edges(
        cls,
        tails: Any,
        heads: Any,
        weights: Any = None,
        *,
        vertices: int | None = None,
        directed: bool = True,
        labels: bool | None = None,
        unit: float | None = None,
        meta: dict | None = None,
    ) -> Graph:
        """Build a graph from the columns of an edge list: arrays, lists, or columns of pandas, Polars or pyarrow.

        Parameters
        ----------
        tails, heads : array_like, shape (m,)
            The vertices where each edge begins and ends: numbers from 0, or labels of any hashable type, such as texts.
            Integers are labels if they leave more than nine tenths of the numbers up to the largest one unused, as the
            ids of OpenStreetMap do. Functions take and return a vertex by its label.
        weights : array_like, shape (m,), optional
            Integers or floats of 0 or more; 1 by default. Of parallel edges the cheapest counts.
        vertices : int, optional
            The number of vertices; `tails` and `heads` are then numbers. By default it is the largest one, plus 1.
        directed : bool, default True
            If False, each edge may be used in both directions.
        labels : bool, optional
            True states that integers are labels, False that they are numbers.
        unit : float, optional
            Weights are rounded to multiples of `unit`, such as 0.01. By default it is 1 for whole weights. For others
            it is the coarsest of 1, 0.1, 0.01, ... for which no weight is rounded. If a path might then exceed
            2**31 - 2 units, it is the finest power of ten for which none does.
        meta : dict, optional
            See `Graph`.

        Returns
        -------
        Graph
            `edges` has the position of each arc in the columns, `labels` the labels, `unit` the unit, and
            `weight_error` the largest rounding error of a weight. It is at most half a unit, so that a path of k edges
            differs by at most k halves.

        Raises
        ------
        InputError
            If a column is not one-dimensional or has a missing value, if the columns differ in length, if a vertex or
            weight is out of range, or if the graph does not fit in memory. Also if `vertices` is not given and there
            are no edges.

        Examples
        --------
        >>> import cuda_shortest_paths
        >>> from cuda_shortest_paths.graph import Graph
        >>> roads = Graph.from_edges(["home", "mill"], ["mill", "shop"], [0.4, 1.25], directed=False)
        >>> roads.vertices, roads.arcs, roads.labels.tolist(), roads.unit
        (3, 4, ['home', 'mill', 'shop'], 0.01)
        >>> cuda_shortest_paths.distances(roads, ["home"], ["shop", "mill"]).distances
        array([[1.65, 0.4 ]])
        """
        tails, heads = network.vertex_column(tails, "tail"), network.vertex_column(heads, "head")
        named = None
        if vertices is None:
            if not len(tails) and not len(heads):
                raise InputError("a graph without edges: give the number of vertices (vertices=n)")
            named, tails, heads = network.numbered(tails, heads, labels=labels)
            vertices = len(named.values) if named else int(max(tails.max(initial=0), heads.max(initial=0))) + 1
        about = {"labels": named}
        return cls._from_numbers(vertices, tails, heads, weights, about, directed=directed, unit=unit, meta=meta)

    @classmethod
    def _from_numbers(
        cls,
        vertices: int,
        tails: np.ndarray,
        heads: np.ndarray,
        weights: Any,
        about: dict[str, Any],
        *,
        directed: bool,
        unit: float | None,
        meta: dict | None = None,
    ) -> Graph:
        """Build a graph from edges between vertices that are numbers. about: fields of `Network`."""
        directed, vertices = check_flag(directed, "directed"), whole(vertices, "the number of vertices")
        tails, heads = _integers("tail", tails), _integers("head", heads)
        given = np.ones(len(tails), np.int32) if weights is None else units.edge_weights(weights)
        require_arcs("edge", vertices, tails, heads, given)
        edges = by_tail(vertices, tails, heads, np.arange(len(tails), dtype=np.int32))
        arcs = CompressedRows(edges.indptr, edges.indices, edges.data)
        if not directed:
            arcs = arcs.undirected()
        lengths = units.rounded_weights(given, arcs, unit)
        kept = Network(arcs.weights, unit=lengths.unit, weight_error=lengths.error, **about)
        return cls(arcs.indptr, arcs.indices, lengths.weights[arcs.weights], directed, meta or {}, network=kept)

    @classmethod
    def from_networkx(cls, graph: Any, weight: str | None = "weight", *, unit: float | None = None) -> Graph:
        """Build a graph from a NetworkX graph, such as one of OSMnx. Vertex i is the i-th node of ``list(graph)``.

        Parameters
        ----------
        graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
            An edge of an undirected graph becomes two arcs, one in each direction. The nodes are the labels, unless
            they are the integers from 0 in order. The nodes' attributes x and y, the graph's attribute crs and the
            edges' attribute geometry are kept if they exist.
        weight : str or None, default "weight"
            The name of the edge attribute that is the weight, such as OSMnx's "length" or "travel_time". An edge
            without this attribute has weight 1, but if `weight` is given, at least one edge must have it. If `weight`
            is None, every edge has weight 1.
        unit : float, optional
            See `from_edges`.

        Returns
        -------
        Graph
            `edges` has positions in ``list(graph.edges)``, which are in a multigraph those of its keys.

        Raises
        ------
        InputError
            If `graph` is not a NetworkX graph, has no node or no edge with the attribute `weight`, or has a weight that
            is no number of 0 or more.

        Examples
        --------
        >>> import networkx as nx
        >>> from cuda_shortest_paths.graph import Graph
        >>> roads = nx.Graph([("a", "b", {"weight": 4}), ("b", "c", {"weight": 1.5})])
        >>> Graph.from_networkx(roads).to_scipy().toarray()
        array([[0. , 4. , 0. ],
               [4. , 0. , 1.5],
               [0. , 1.5, 0. ]])
        """
        if not hasattr(graph, "is_directed") or not hasattr(graph, "edges"):
            raise InputError(f"a NetworkX graph is needed, not {type(graph)}")
        index = {node: i for i, node in enumerate(graph)}
        edges = list(graph.edges(data=True))
        tails, heads = (np.fromiter((index[edge[end]] for edge in edges), np.int64, len(edges)) for end in (0, 1))
        if weight not in (None, "weight") and edges and not any(weight in edge[2] for edge in edges):
            known = reprlib.repr(sorted(map(str, edges[0][2])))
            raise InputError(f"no edge has the attribute {weight!r}: choose one of {known}")
        weights = None if weight is None else [edge[2].get(weight, 1) for edge in edges]
        about = {
            "labels": network.labels_of(list(index)),
            "coordinates": network.points(*([one.get(axis) for _, one in graph.nodes(data=True)] for axis in "xy")),
            "crs": graph.graph.get("crs"),
            "geometry": network.lines_of(edge[2].get("geometry") for edge in edges),
        }
        directed = graph.is_directed()
        return cls._from_numbers(len(index), tails, heads, weights, about, directed=directed, unit=unit)

    @classmethod
    def from_geopandas(
        cls, nodes: Any, edges: Any, weight: str | None = "length", *, directed: bool = True, unit: float | None = None
    ) -> Graph:
        """Build a graph from two frames, such as ``osmnx.graph_to_gdfs(G)``. GeoPandas itself is not needed.

        Parameters
        ----------
        nodes : GeoDataFrame or pandas.DataFrame, n rows
            The index has the labels, without duplicates. Columns x and y, or else points in the column geometry, are
            kept as coordinates.
        edges : GeoDataFrame or pandas.DataFrame, m rows
            The first two levels of the index, or else the columns u and v, have the labels of the ends. A column
            geometry is kept.
        weight : str or None, default "length"
            The column of `edges` with the weights; None for 1.
        directed, unit
            See `from_edges`.

        Returns
        -------
        Graph
            `edges` has positions of rows in `edges`.

        Raises
        ------
        InputError
            As in `from_edges`. Also if a frame lacks a column, or if an edge ends at no node.
        """
        if not len(nodes):
            raise InputError("nodes has no row: a graph has a vertex or more")
        labels = network.Labels(network.vertex_column(nodes.index, "node"))
        if not nodes.index.is_unique:
            raise InputError(f"node {nodes.index[nodes.index.duplicated()][0]!r} is there twice: keep one row of it")
        tails, heads = map(labels.find, _ends(edges), ("tail", "head"))
        about = {
            "labels": None if network.are_numbers(labels.values) else labels,
            "coordinates": _places(nodes),
            "crs": getattr(nodes, "crs", None) or getattr(edges, "crs", None),
            "geometry": network.lines_of(edges["geometry"]) if "geometry" in edges else None,
        }
        weights = None if weight is None else _column_of(edges, weight)
        return cls._from_numbers(len(nodes), tails, heads, weights, about, directed=directed, unit=unit)

    def check_source(self, source: Any, name: str = "source") -> int:
        if self.network and self.network.labels:
            vertex = int(self.network.labels.find([source], name)[0])
        else:
            vertex = super().check_source(source, name)
        return int(self.entries(np.array(vertex))) if name == "source" else vertex

    def undirected(self) -> Self:
        """Return the graph with the reverse of every arc added. The result keeps only the name of `meta`.

        Returns
        -------
        Graph
            This graph itself if it is undirected.
        """
        if not self.directed:
            return self
        if self.destinations < self.vertices:
            raise InputError(f"{self.name}: a graph with turns is directed: give with_turns an undirected graph")
        return replace(super().undirected(), directed=False)

    def reversed(self) -> Self:
        """Return the graph with every arc reversed. The result keeps only the name of `meta`.

        Returns
        -------
        Graph
            This graph itself if reversing changes no distance.
        """
        if not self.directed:
            return self
        found = self.with_arcs_reversed()
        if found.destinations < found.vertices:
            return found
        one, other = self.cheapest(), found.cheapest()
        same = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ARRAYS)
        return self if same else found

    def with_arcs_reversed(self) -> Self:
        """Return the graph with every arc reversed, even if this changes no distance."""
        found = super().reversed()
        return found._with_ends_as_entries() if found.destinations < found.vertices else found

    def _with_ends_as_entries(self) -> Self:
        """Exchange the numbers of the vertices where paths from and to a user's vertex start and end."""
        swapped, ends = np.arange(self.vertices), np.arange(self.destinations)
        entries = self.entries(ends)
        swapped[ends], swapped[entries] = entries, ends
        rows = by_tail(self.vertices, swapped[self.tails], swapped[self.indices], np.arange(self.arcs))
        return self._with_arcs(rows.indptr, rows.indices, rows.data)

    def _with_arcs(self, indptr: np.ndarray, indices: np.ndarray, arcs: np.ndarray) -> Self:
        network = self.network and replace(self.network, edges=self.network.edges[arcs])
        return replace(super()._with_arcs(indptr, indices, arcs), network=network, meta={"name": self.name}, file=None)

    def cheapest(self) -> Graph:
        """Return the graph with only the cheapest of parallel arcs, and with the arcs of each row sorted by head.

        Of equally cheap ones, the one whose edge comes first in `edges` stays.
        """
        arcs = self._numbered().tocsc().tocsr()  # sorts each row by head, in linear time, and keeps parallel arcs
        tails = np.repeat(np.arange(self.vertices, dtype=np.int32), np.diff(arcs.indptr))
        first = np.ones(self.arcs + 1, bool)
        first[1:-1] = (tails[1:] != tails[:-1]) | (arcs.indices[1:] != arcs.indices[:-1])
        several = np.flatnonzero(~(first[:-1] & first[1:]))  # arcs that have parallel arcs
        first, order, some = first[:-1], arcs.data, arcs.data[several]
        pairs = np.cumsum(first, dtype=np.int32)[several]
        order[several] = some[np.lexsort((self.edges[some], self.weights[some], pairs))]
        indptr = starts(first)[arcs.indptr]
        return replace(self._with_arcs(indptr, arcs.indices[first], order[first]), meta=self.meta)

    def to_scipy(self) -> sparse.csr_array:
        """Return a float64 array for scipy.sparse.csgraph, with only the cheapest of parallel arcs.

        Returns
        -------
        scipy.sparse.csr_array of float64, shape (n, n)
            Arcs of weight 0 are explicit zeros. Weights are the user's, rounded to multiples of `unit`.

        Examples
        --------
        >>> from cuda_shortest_paths.graph import Graph
        >>> Graph.from_arcs(2, tails=[0, 0], heads=[1, 1], weights=[5, 3]).to_scipy().toarray()
        array([[0., 3.],
               [0., 0.]])
        """
        array = self.to_integers()
        self.scale.apply(array.data)
        return array

    def to_integers(self) -> sparse.csr_array:
        """Return `to_scipy` with weights in units: whole numbers, in float64."""
        graph, shape = self.cheapest(), (self.vertices,) * 2
        return sparse.csr_array((graph.weights.astype(np.float64), graph.indices, graph.indptr), shape=shape)

    @cached_property
    def matrix(self) -> np.ndarray:
        """The adjacency matrix, int32, (n, n), in units: the cheapest weight, INF without an arc, 0 on the diagonal."""
        matrix = np.full((self.vertices,) * 2, INF, np.int32)
        graph = self.cheapest()
        matrix[graph.tails, graph.indices] = graph.weights
        np.fill_diagonal(matrix, 0)
        return matrix

    def save(self, path: StrPath) -> None:
        """Write the packed form: an uncompressed .npz of the three arrays, `directed` and `meta` (JSON).

        The same graph gives the same bytes. The file has no labels, no unit, no turns and nothing else of `network`.

        Parameters
        ----------
        path : path
            The file to write.

        Raises
        ------
        InputError
            If the graph has labels, a unit other than 1, or turns: pickle such a graph. Also if `meta` has a value
            that JSON cannot represent.
        """
        if (self.network and self.network.labels) or self.unit != 1 or self.has_turns:
            raise InputError(f"{self.name}: a packed file has no labels, unit or turns: pickle the graph instead")
        try:
            json.dumps(self.meta, sort_keys=True)
        except (TypeError, ValueError) as error:
            raise InputError(f"{self.name}: meta of the graph cannot be written as JSON: {error}") from None
        with open(path, "wb") as file:
            self.write(file)

    def write(self, file: IO[bytes]) -> None:
        """Write the packed form to a binary file that is open for writing."""
        np.savez(
            file,
            indptr=self.indptr,
            indices=self.indices,
            weights=self.weights,
            directed=np.array(self.directed),
            meta=np.array(json.dumps(self.meta, sort_keys=True)),
        )

    @classmethod
    def load(cls, path: StrPath) -> Graph:
        """Read the packed form.

        Parameters
        ----------
        path : path
            A file that `save` wrote.

        Returns
        -------
        Graph

        Raises
        ------
        InputError
            If the file is missing, is not a packed graph or has a value out of range (see `check_values`), or if the
            graph does not fit in memory.
        """
        with read_packed(path, "a packed graph", NO_GRAPH) as array:
            indptr, indices, weights, directed = [array(name) for name in (*ARRAYS, "directed")]
            if directed.dtype != bool or directed.shape:
                raise InputError("directed of a graph must be one boolean")
            graph = cls(indptr, indices, weights, bool(directed), json.loads(str(array("meta"))), Path(path))
            graph.check_values()
        return graph


@contextmanager
def read_packed(
    path: StrPath, what: str, advice: str, most: int | None = None
) -> Iterator[Callable[[str], np.ndarray]]:
    """Yield a function that reads an array of an .npz file by its name; raise InputError if the file is damaged.

    Check the arrays in the body of the `with` statement: any error in the body becomes an InputError. what: the file's
    contents, for messages ("a packed graph"). advice: what to do about an invalid file. most: the maximum size
    in bytes of all arrays together, as the file's directory states it. The host's memory also limits this size.
    """
    try:
        # zipfile reads no more of a member than the size that the archive's directory states.
        with zipfile.ZipFile(path) as file:
            needed = sum(member.file_size for member in file.infolist())
            if most is not None and needed > most:
                raise ValueError(f"{needed:,} bytes, at most {most:,} expected")
            if needed <= memory.host_memory():
                yield lambda name: _read_array(file, name)
                return
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except Exception as error:  # for damaged bytes, zipfile and NumPy raise exceptions of almost any type
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # EINVAL: a negative offset
            raise InputError(f"{path}: cannot be read: {error.strerror}") from None
        reason = textwrap.shorten((str(error) or type(error).__name__).splitlines()[0], 300)
        raise InputError(f"{path}: not {what} ({reason}): {advice}") from error
    raise memory.too_much(needed, f"{path}: {what} of this size takes", memory.TAKE_SMALLER)


def _read_array(file: zipfile.ZipFile, name: str) -> np.ndarray:
    with file.open(f"{name}.npy") as member:
        array = np.lib.format.read_array(member, allow_pickle=False)
        if member.read(1):  # reading to the end also compares the checksum
            raise ValueError(f"{name} is longer than its header says")
    return array


def require_size(vertices: int, arcs: int) -> None:
    """Raise InputError if a graph cannot have these numbers of vertices and arcs, or would not fit in memory."""
    if not 1 <= vertices <= MAX_COUNT:
        raise InputError(f"a graph has 1 to {MAX_COUNT:,} vertices, not {vertices:,}")
    if arcs > MAX_COUNT:
        raise InputError(f"a graph has at most {MAX_COUNT:,} arcs, not {arcs:,}")
    memory.require_graph(vertices, arcs)


def require_arcs(item: str, vertices: int, tails: np.ndarray, heads: np.ndarray, weights: np.ndarray) -> None:
    """Raise InputError if arcs differ in length, are too many, or have no such vertices. item: "arc" or "edge"."""
    if not len(tails) == len(heads) == len(weights):
        lengths = f"{len(tails)}, {len(heads)}, {len(weights)}"
        raise InputError(f"tails, heads and weights differ in length: {lengths}")
    require_size(vertices, len(tails))
    require_range(item, "tail", tails, vertices - 1)
    require_range(item, "head", heads, vertices - 1)


def require_range(item: str, name: str, values: np.ndarray, high: int) -> None:
    """Raise InputError if an arc's or edge's value is outside [0, high]. item: "arc" or "edge"."""
    wrong = np.flatnonzero((values < 0) | (values > high))
    if len(wrong):
        raise InputError(f"{item} {wrong[0]}: {name} {values[wrong[0]]} is outside [0, {high}]")


def check_flag(value: bool, name: str) -> bool:
    """Return Python's or NumPy's True or False as a bool; raise InputError with `name` for any other value."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be True or False, not {reprlib.repr(value)}")
    return bool(value)


def by_tail(vertices: int, tails: np.ndarray, heads: np.ndarray, weights: np.ndarray) -> sparse.csr_array:
    """Return arcs as CSR with int32 indices. Keep parallel arcs, and the order of the arcs that leave a vertex."""
    # Arc i is the entry of a sparse array in row tails[i] and column i. SciPy sorts rows in linear time.
    places = tails.astype(np.int32, copy=False), np.arange(len(tails), dtype=np.int32)
    rows = sparse.coo_array((weights, places), shape=(vertices, max(1, len(tails)))).tocsr()
    heads = heads[rows.indices].astype(np.int32, copy=False)
    return sparse.csr_array((rows.data, heads, rows.indptr), shape=(vertices, vertices))


def as_array(values: ArrayLike) -> np.ndarray:
    """Return np.asarray(values). A list that mixes integers and booleans becomes boolean, so that callers refuse it."""
    array = np.asarray(values)
    may_be_mixed = isinstance(values, list | tuple) and array.dtype.kind in "iu"
    if may_be_mixed and any(isinstance(value, bool | np.bool_) for value in np.asarray(values, object).flat):
        return array.astype(bool)
    return array


def _ends(edges: Any) -> tuple[Any, Any]:
    """Return the labels of both ends of a frame's edges: two levels of its index, else its columns u and v."""
    if edges.index.nlevels > 1:
        return edges.index.get_level_values(0), edges.index.get_level_values(1)
    return _column_of(edges, "u"), _column_of(edges, "v")


def _places(nodes: Any) -> np.ndarray | None:
    """Return the coordinates of a frame's nodes, (n, 2): its columns x and y, else its points; None without them."""
    place = nodes if "x" in nodes and "y" in nodes else getattr(nodes.get("geometry"), "geometry", None)
    try:
        return None if place is None else network.points(place.x, place.y)
    except ValueError as error:
        raise InputError(f"the geometry of the nodes must be points: {error}") from None


def _column_of(frame: Any, name: str) -> Any:
    if name not in frame:
        known = reprlib.repr(list(map(str, frame.columns)))
        raise InputError(f"the edges have no column {name!r}: choose one of {known}")
    return frame[name]


def _integers(name: str, given: ArrayLike) -> np.ndarray:
    """Return the arcs' tails, heads or weights as an integer array of shape (m,).

    Raise InputError if they are not integers or have several dimensions. name: "tail", "head" or "weight".
    """
    try:
        values = as_array(given)
    except ValueError as error:
        raise InputError(f"the {name}s of the arcs are no array: {error}") from None
    if values.ndim != 1:
        raise InputError(f"the {name}s of the arcs must be of one dimension, not of shape {values.shape}")
    if not len(values):
        return values.astype(np.int64)  # NumPy makes floats of an empty list
    if values.dtype.kind not in "iu":
        raise InputError(f"the {name}s of the arcs must be integers, not {values.dtype}")
    return values
