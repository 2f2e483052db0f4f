"""A weighted directed graph as compressed sparse rows (CSR), the form every kernel works on.

    indptr   int32, n + 1    the arcs that leave vertex u are indptr[u] to indptr[u + 1] - 1
    indices  int32, m        the vertex each arc leads to
    weights  int32, m        what each arc costs

A vertex without out-arcs has an empty row; parallel arcs and self-loops stay as given.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from functools import cached_property, wraps
from pathlib import Path

import numpy as np

from kernels import memory, npz
from kernels.errors import InputError, whole
from kernels.later import Later

INF = 2**31 - 1  # "no path": one more than the largest distance
MAX_WEIGHT = INF - 1
MAX_COUNT = 2**31 - 1  # of vertices and of arcs: both are numbered in int32
ARRAYS = ("indptr", "indices", "weights")
NO_GRAPH = "name a packed graph, or make this one again"
sparse = Later("scipy.sparse")


def kept(function):
    """Keep what a function of one object returns with that object: a graph owns its layouts."""

    @wraps(function)
    def found(owner):
        values = vars(owner).setdefault("_kept", {})
        if function not in values:
            values[function] = function(owner)
        return values[function]

    return found


def forget(owner) -> None:
    """Delete what was kept with a dataclass, and its cached properties."""
    for name in vars(owner).keys() - {one.name for one in fields(owner)}:
        del vars(owner)[name]


class Rows:
    """What graphs have in common, whatever their weights are."""

    def __getstate__(self) -> dict:
        """Return the fields alone: a process that gets a graph lays it out itself."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def vertices(self) -> int:
        return len(self.indptr) - 1

    @property
    def arcs(self) -> int:
        return len(self.indices)

    def check_source(self, source) -> int:
        """The source as an int; raises InputError where it is no whole number or not a vertex."""
        source = whole(source, "source")
        if not 0 <= source < self.vertices:
            raise InputError(f"source {source} is not a vertex of {self.name}: choose one in [0, {self.vertices})")
        return source

    def check_values(self) -> None:
        """Raise InputError where indptr falls, a head is no vertex or a weight is not allowed.

        Linear: milliseconds for 10 million arcs.
        """
        if len(falls := np.flatnonzero(self.indptr[1:] < self.indptr[:-1])):
            raise InputError(f"indptr of a graph falls after vertex {falls[0]}")
        self._check_arcs("head", self.indices, self.vertices - 1)

    def _check_arcs(self, name: str, values: np.ndarray, high: int) -> None:
        """Raise InputError where one of the values, int32, is outside [0, high]."""
        unsigned = values.view(np.uint32)  # what is below 0 is above any limit
        if unsigned.max(initial=0) > high:
            arc = int((unsigned > high).argmax())
            raise InputError(f"arc {arc}: {name} {values[arc]} is outside [0, {high}]")


@dataclass(frozen=True, eq=False)
class Graph(Rows):
    """indptr, indices, weights: see the module. directed: False where every arc has its reverse.

    meta: what is known of the data: name, sha256 (of the text form), origin, substitute and so on.
    file: the packed file it was loaded from, if it was; what is prepared of the graph may lie beside it.
    The arrays must not be changed afterwards: variants keep layouts that they made from them.
    Raises InputError where the arrays have another dtype or shape or do not fit together, and where meta is no
    dictionary or its name no string. The values are not checked here: from_arcs, load and check_values do that.
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    directed: bool = True
    meta: dict = field(default_factory=dict)
    file: Path | None = None

    def __post_init__(self):
        for name in ARRAYS:
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.dtype != np.int32 or array.ndim != 1:
                raise InputError(f"{name} of a graph must be an int32 array of one dimension")
        if len(self.indptr) < 2 or not len(self.indices) == len(self.weights) == self.indptr[-1] or self.indptr[0]:
            raise InputError("indptr, indices and weights of a graph do not fit together")
        if not isinstance(self.meta, dict):
            raise InputError("meta of a graph must be a dictionary")
        if not isinstance(self.name, str):
            raise InputError("the name in meta of a graph must be a string")

    @property
    def name(self) -> str:
        return self.meta.get("name", "graph")

    def check_values(self) -> None:
        """As of Rows; weights are from 0 to 2^31 - 2."""
        super().check_values()
        self._check_arcs("weight", self.weights, MAX_WEIGHT)

    @classmethod
    def from_arcs(cls, vertices: int, tails, heads, weights, *, directed: bool = True, meta=None) -> Graph:
        """Build from m arcs: three integer arrays of shape (m,), or lists, vertices numbered from 0.

        Arcs of one vertex keep their order. Raises InputError where the three are no integers (whole floats and
        booleans are none) or not of one length, where there are not 1 to 2^31 - 1 vertices or more arcs than that, a
        vertex is outside [0, vertices) or a weight outside [0, 2^31 - 2], and where the graph takes more memory than
        there is.
        """
        vertices = whole(vertices, "the number of vertices")
        tails, heads, weights = columns = [
            _integers(name, values) for name, values in (("tail", tails), ("head", heads), ("weight", weights))
        ]
        if not len(tails) == len(heads) == len(weights):
            raise InputError(f"tails, heads and weights differ in length: {', '.join(map(str, map(len, columns)))}")
        require_size(vertices, len(tails))
        for name, values, low, high in (
            ("tail", tails, 0, vertices - 1),
            ("head", heads, 0, vertices - 1),
            ("weight", weights, 0, MAX_WEIGHT),
        ):
            wrong = np.flatnonzero((values < low) | (values > high))
            if len(wrong):
                raise InputError(f"arc {wrong[0]}: {name} {values[wrong[0]]} is outside [{low}, {high}]")
        order = np.argsort(tails, kind="stable")
        indptr = np.zeros(vertices + 1, np.int32)
        np.cumsum(np.bincount(tails, minlength=vertices), out=indptr[1:])
        return cls(indptr, heads[order].astype(np.int32), weights[order].astype(np.int32), directed, meta or {})

    @cached_property
    def tails(self) -> np.ndarray:
        """int32, (m,): the vertex each arc leaves."""
        return np.repeat(np.arange(self.vertices, dtype=np.int32), np.diff(self.indptr))

    def cheapest(self) -> Graph:
        """The same graph with only the cheapest arc of each ordered pair, rows sorted by head."""
        arcs = sparse.csr_array((self.weights, self.indices, self.indptr), shape=(self.vertices,) * 2)
        arcs = arcs.tocsc().tocsr()  # sorts each row by head, in linear time; parallel arcs stay
        tails = np.repeat(np.arange(self.vertices, dtype=np.int32), np.diff(arcs.indptr))
        first = np.ones(self.arcs, bool)
        first[1:] = (tails[1:] != tails[:-1]) | (arcs.indices[1:] != arcs.indices[:-1])
        starts = np.flatnonzero(first)
        indptr = np.zeros(self.vertices + 1, np.int32)
        np.cumsum(np.bincount(tails[starts], minlength=self.vertices), out=indptr[1:])
        weights = np.minimum.reduceat(arcs.data, starts) if self.arcs else arcs.data
        return Graph(indptr, arcs.indices[starts].astype(np.int32, copy=False), weights, self.directed, self.meta)

    def to_scipy(self) -> sparse.csr_array:
        """float64 CSR array for scipy.sparse.csgraph, which would add parallel arcs: cheapest only."""
        graph = self.cheapest()
        return sparse.csr_array(
            (graph.weights.astype(np.float64), graph.indices, graph.indptr), shape=(self.vertices,) * 2
        )

    @cached_property
    def matrix(self) -> np.ndarray:
        """int32 adjacency matrix, (n, n): cheapest arc, INF where there is none, 0 on the diagonal."""
        matrix = np.full((self.vertices,) * 2, INF, np.int32)
        graph = self.cheapest()
        matrix[graph.tails, graph.indices] = graph.weights
        np.fill_diagonal(matrix, 0)
        return matrix

    def save(self, path) -> None:
        """Write the packed form: an uncompressed .npz of the three arrays, directed and meta (JSON).

        The same graph gives the same bytes.
        """
        with open(path, "wb") as file:
            self.write(file)

    def write(self, file) -> None:
        """The same to a binary file that is open for writing."""
        np.savez(
            file,
            **{name: getattr(self, name) for name in ARRAYS},
            directed=np.array(self.directed),
            meta=np.array(json.dumps(self.meta, sort_keys=True)),
        )

    @classmethod
    def load(cls, path) -> Graph:
        """Read the packed form. Raises InputError where the file is none, its values are wrong (see check_values), or
        it takes more memory than there is.
        """
        with npz.reading(path, "a packed graph", NO_GRAPH) as array:
            arrays, directed = [array(name) for name in ARRAYS], array("directed")
            if directed.dtype != bool or directed.shape:
                raise InputError("directed of a graph must be one boolean")
            graph = cls(*arrays, directed=bool(directed), meta=json.loads(str(array("meta"))), file=Path(path))
            graph.check_values()
        return graph


def require_size(vertices: int, arcs: int) -> None:
    """Raise InputError where a graph cannot have so many vertices or arcs, or takes more memory than there is."""
    if not 1 <= vertices <= MAX_COUNT:
        raise InputError(f"a graph has 1 to {MAX_COUNT:,} vertices, not {vertices:,}")
    if arcs > MAX_COUNT:
        raise InputError(f"a graph has at most {MAX_COUNT:,} arcs, not {arcs:,}")
    memory.require_graph(vertices, arcs)


def as_array(values) -> np.ndarray:
    """np.asarray, but bool for a list of integers and booleans, of which NumPy makes integers."""
    array = np.asarray(values)
    may_be_mixed = isinstance(values, list | tuple) and array.dtype.kind in "iu"
    if may_be_mixed and any(isinstance(value, bool | np.bool_) for value in np.asarray(values, object).flat):
        return array.astype(bool)
    return array


def _integers(name: str, values) -> np.ndarray:
    """The arcs' tails, heads or weights as an integer array of shape (m,). Raises InputError where they are none."""
    try:
        values = as_array(values)
    except ValueError as error:
        raise InputError(f"the {name}s of the arcs are no array: {error}") from None
    if values.ndim != 1:
        raise InputError(f"the {name}s of the arcs must be of one dimension, not of shape {values.shape}")
    if not len(values):
        return values.astype(np.int64)  # an empty list is an array of floats
    if values.dtype.kind not in "iu":
        raise InputError(f"the {name}s of the arcs must be integers, not {values.dtype}")
    return values
