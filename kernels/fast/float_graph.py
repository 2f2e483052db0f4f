"""A graph with float64 weights, for the searches of floats.py."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kernels.errors import InputError
from kernels.graph import INF, Graph, Rows
from kernels.later import Later

if TYPE_CHECKING:
    from scipy import sparse
else:
    sparse = Later("scipy.sparse")

# Shared by floats.py and its kernels.
LANES = 8  # threads that share the arcs of a queued vertex; must divide the threads of a block
TINY = np.finfo(np.float64).tiny  # added to bounds; larger than the rounding error of a subnormal bound
NONE, SOURCE = -1, -9999  # the predecessor of a vertex that is not reached yet, and of a source


@dataclass(frozen=True, eq=False)
class FloatGraph(Rows):
    """A directed graph in compressed sparse rows, like kernels.graph.Graph, but with any finite weights."""

    indptr: np.ndarray  # int32, (n + 1,)
    indices: np.ndarray  # int32, (m,)
    weights: np.ndarray  # float64, (m,)
    name: str = "graph"

    @classmethod
    def of(cls, graph: Graph) -> FloatGraph:
        """Return the same graph with float64 weights."""
        return cls(graph.indptr, graph.indices, graph.weights.astype(np.float64), graph.name)

    def check_values(self) -> None:
        """Raise InputError unless the arrays are valid (see `Rows.check_values`) and all weights are finite."""
        super().check_values()
        if len(wrong := np.flatnonzero(~np.isfinite(self.weights))):
            raise InputError(f"arc {wrong[0]}: weight {self.weights[wrong[0]]} is not finite")

    @cached_property
    def exponent(self) -> int:
        """Return an e such that, with weights scaled by 2**e and rounded up, no shortest path exceeds 2^31 - 2.

        A shortest path leaves each vertex at most once. So its length is at most the sum, over all vertices, of the
        largest weight of the vertex's arcs. e is the largest number for which this sum fits, with 1 % to spare.
        """
        starts = self.indptr[:-1][np.diff(self.indptr) > 0]
        largest = np.maximum.reduceat(self.weights, starts) if self.arcs else np.zeros(1)  # weight of each vertex
        _, shift = np.frexp(largest.max())
        total = np.ldexp(largest, -shift).sum()  # of weights scaled to at most 1, so that the sum is finite
        if total == 0:
            return 0
        room = max(0.99 * INF - len(largest), 1)  # rounding up adds at most 1 to each weight
        return int(np.floor(np.log2(room / total))) - int(shift)

    @cached_property
    def scaled(self) -> Graph:
        """Return the arcs with integer weights, scaled and rounded up; 0 stays 0, and no other weight becomes 0."""
        whole = np.ceil(np.ldexp(self.weights, self.exponent))
        whole = np.clip(whole, self.weights > 0, INF - 1).astype(np.int32)
        return Graph(self.indptr, self.indices, whole, meta={"name": self.name})

    def to_scipy(self) -> sparse.csr_array:
        """Return a float64 CSR array; parallel arcs are kept."""
        return sparse.csr_array((self.weights, self.indices, self.indptr), shape=(self.vertices,) * 2)
