"""A graph with float64 weights, for the searches of floats.py."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from ..errors import InputError
from ..graph import INF, CompressedRows, Graph
from ..lazy import LazyModule

if TYPE_CHECKING:
    from scipy import sparse
else:
    sparse = LazyModule("scipy.sparse")

# Shared by floats.py and its kernels.
LANES = 8  # threads that share the arcs of a queued vertex; must divide the threads of a block
TINY = np.finfo(np.float64).tiny  # added to bounds; larger than the rounding error of a subnormal bound
NONE, SOURCE = -1, -9999  # values in `predecessor`: NONE for a vertex without a predecessor so far, SOURCE for a source


@dataclass(frozen=True, eq=False)
class FloatGraph(CompressedRows):
    """A directed graph in compressed sparse rows, like graph.Graph, but with any finite weights."""

    indptr: np.ndarray  # int32, (n + 1,)
    indices: np.ndarray  # int32, (m,)
    weights: np.ndarray  # float64, (m,)
    name: str = "graph"
    numbers: np.ndarray | None = None  # `edges` if they differ from the numbers of arcs

    @property
    def edges(self) -> np.ndarray:
        """The position of each arc in the user's list of edges or arcs: int32, (m,)."""
        return np.arange(self.arcs, dtype=np.int32) if self.numbers is None else self.numbers

    def _with_arcs(self, indptr: np.ndarray, indices: np.ndarray, arcs: np.ndarray) -> Self:
        return replace(super()._with_arcs(indptr, indices, arcs), numbers=self.edges[arcs])

    @classmethod
    def of(cls, graph: Graph) -> FloatGraph:
        """Return the same graph with float64 weights."""
        return cls(graph.indptr, graph.indices, graph.weights.astype(np.float64), graph.name)

    def check_values(self) -> None:
        """Raise InputError unless the arrays are valid, as `CompressedRows.check_values` says, and weights finite."""
        super().check_values()
        if len(wrong := np.flatnonzero(~np.isfinite(self.weights))):
            raise InputError(f"arc {wrong[0]}: weight {self.weights[wrong[0]]} is not finite")

    @cached_property
    def exponent(self) -> int:
        """Return the exponent e for the integer search, which multiplies weights by 2**e and rounds them up.

        No shortest path may then exceed 2^31 - 2. A shortest path leaves each vertex at most once. So its length is at
        most the sum, over all vertices, of the largest weight of an arc from the vertex. e is the largest integer for
        which this sum is at most 99 % of 2^31 - 1.
        """
        starts = self.indptr[:-1][np.diff(self.indptr) > 0]
        largest = np.maximum.reduceat(self.weights, starts) if self.arcs else np.zeros(1)  # of each vertex
        _, shift = np.frexp(largest.max())
        total = np.ldexp(largest, -shift).sum()  # weights are scaled to at most 1, so that their sum is finite
        if total == 0:
            return 0
        room = max(0.99 * INF - len(largest), 1)  # rounding up adds at most 1 to each weight
        return int(np.floor(np.log2(room / total))) - int(shift)

    @cached_property
    def scaled(self) -> Graph:
        """Return the graph with integer weights: multiplied by 2**exponent and rounded up. Only 0 becomes 0."""
        whole = np.ceil(np.ldexp(self.weights, self.exponent))
        whole = np.clip(whole, self.weights > 0, INF - 1).astype(np.int32)
        return Graph(self.indptr, self.indices, whole, meta={"name": self.name})

    def to_scipy(self) -> sparse.csr_array:
        """Return a float64 CSR array; parallel arcs are kept."""
        return sparse.csr_array((self.weights, self.indices, self.indptr), shape=(self.vertices,) * 2)
