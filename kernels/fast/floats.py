"""Shortest paths with float64 weights; distances equal those of Dijkstra's algorithm bit for bit.

    scale the weights by a power of two and round them up; find the integer distances (by any variant)
    dist = the integer distances, scaled back and slightly enlarged; dist[source] = 0; queue = the source
    while queue has entries
        each u of queue, each arc (u, v, w):
            if dist[u] + w < dist[v], set dist[v] = dist[u] + w and queue v for the next round

Result. Rounded addition is monotonic: if a summand grows, the sum does not decrease. After the last round, dist[v] is
the minimum of dist[u] + w over all arcs (u, v, w), for each v except the source. So dist[v] is the least length of a
path to v, if lengths are added up from the source on. Dijkstra's algorithm finds the same minimum: the distances equal
SciPy's, bit for bit. The order of the threads does not change the distances. A thread lowers a distance atomically, and
queues the vertex unless another thread already lowered its distance in this round. So the arcs of each vertex
are, at last, relaxed from its final distance.

Integer distances. Without integer distances, the rounds would be those of Bellman-Ford, which lowers most distances
many times. An integer distance is the length of a path with rounded-up weights. Scaled back, this length is an upper
bound of the true distance. A vertex accepts only distances below this bound, so the first accepted distance is close to
the final distance. A vertex without an integer distance has no bound. Bounds do not change the result.

Predecessors. They are found from the distances. The first pass uses arcs from a lesser to a larger distance, which
cannot form a cycle. Later rounds use arcs whose weight is 0 or is lost in rounding, but only from vertices that already
have a predecessor.

Several rows, one per source, are searched at once: vertex v of row r is entry r * vertices + v.

Negative weights need potentials (D. B. Johnson, Efficient Algorithms for Shortest Paths in Sparse Networks, JACM 24,
1977). The potential of a vertex is its distance from an additional vertex, which has an arc of weight 0 to every other
vertex. The rounds above find the potentials if all vertices are queued at the start. If weights are negative, distances
are exact only up to rounding, as in SciPy's `johnson`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..graph import INF
from ..lazy import LazyModule
from .float_graph import LANES, NONE, SOURCE, FloatGraph

if TYPE_CHECKING:
    from ..run import Run

EPSILON = 1e-15  # tolerance below 0 before a cycle counts as negative, as in SciPy
MAX_BLOCKS = 2**20
u32 = np.uint32
kernels = LazyModule(".floats_kernels", __package__)  # imports numba


class Float64Result(NamedTuple):
    """The result of a search."""

    dist: np.ndarray  # float64, (rows, n): inf if there is no path
    predecessors: np.ndarray | None  # int32, (rows, n): -9999 for no predecessor; None if not requested
    rounds: int


def enough_blocks(items: int, block: int) -> int:
    """Return the number of blocks that have a thread for every item, at most MAX_BLOCKS."""
    return min(-(-items // block), MAX_BLOCKS)


class Float64Search:
    """Search one graph repeatedly. The graph's arrays are copied to the card once.

    Weights must not be negative, except for `potentials`. `run` makes the launches, with run.block threads per block.
    """

    def __init__(self, graph: FloatGraph, run: Run):
        self.graph, self.run, self.vertices = graph, run, u32(graph.vertices)
        # Arrays on the card must not be empty.
        arrays = (graph.indptr, *(a if graph.arcs else np.zeros(1, a.dtype) for a in (graph.indices, graph.weights)))
        self.arcs = run.upload(*arrays)

    def search(self, starts, rows: int, whole=None, *, limit: float = np.inf, tree: bool = True) -> Float64Result:
        """Search `rows` rows at once, from the entries `starts`, which must not repeat.

        whole: int32, (rows, n): the integer distances (of `graph.scaled`), used as bounds. limit: the largest distance
        to search, 0 or more; vertices farther away are treated as unreachable. tree: whether to find predecessors.
        Raises NotEnoughMemory if the card has less than 24 bytes free for each entry.
        """
        size = rows * self.graph.vertices
        self.run.require(24 * size)
        beyond = np.nextafter(float(limit), np.inf)
        factor = np.ldexp(1 + 2 * self.graph.vertices * np.finfo(np.float64).eps, -self.graph.exponent)
        constants = np.array([factor, beyond])
        state = self._begin(np.asarray(starts), size, constants, whole, size if tree else 1)
        constants, dist, stamps, predecessor, queues, counts = state
        self._launch(kernels.relax, self.vertices, u32(INF), *self.arcs, dist, stamps, queues, counts)
        found, done = np.empty((rows, self.graph.vertices)), np.empty(4, np.uint32)
        self.run.download((dist, found.ravel()), (counts, done))
        found[found >= beyond] = np.inf
        last = self._find_tree(constants, dist, predecessor, found) if tree else None
        return Float64Result(found, last, int(done[3]))

    def _find_tree(self, constants, dist, predecessor, found: np.ndarray) -> np.ndarray:
        size, last = found.size, np.empty(found.shape, np.int32)
        blocks = enough_blocks(LANES * size, self.run.block)
        arguments = self.vertices, constants, *self.arcs, dist, predecessor
        self.run.launch((kernels.find_tree, blocks, self.run.block, arguments))
        self.run.download((predecessor, last.ravel()))
        if ((last == NONE) & (found < np.inf)).any():
            queues, counts = self.run.upload(np.arange(2 * size, dtype=np.uint32), np.array([size, 0, 0, 0], u32))
            state = dist, predecessor, queues, counts
            self._launch(kernels.follow_ties, self.vertices, u32(INF), *self.arcs, *state)
            self.run.download((predecessor, last.ravel()))
        last[last == NONE] = SOURCE
        return last

    def potentials(self) -> np.ndarray:
        """Return float64 potentials, 0 or less, such that potential[u] + w >= potential[v] for each arc (u, v, w).

        Raises scipy.sparse.csgraph.NegativeCycleError if there is a negative cycle.
        """
        n = self.graph.vertices
        state = self._begin(np.arange(n), n, np.zeros(2), None, 1)
        _, dist, stamps, _, queues, counts = state
        self._launch(kernels.relax, self.vertices, self.vertices, *self.arcs, dist, stamps, queues, counts)
        found = np.empty(n)
        self.run.download((dist, found))
        tails = np.repeat(np.arange(n), np.diff(self.graph.indptr))
        if (found[tails] + self.graph.weights + EPSILON < found[self.graph.indices]).any():
            from scipy.sparse.csgraph import NegativeCycleError  # few searches need it

            raise NegativeCycleError("Negative cycle detected")
        return found

    def _begin(self, starts: np.ndarray, size: int, constants: np.ndarray, whole, treed: int) -> tuple:
        run = self.run
        whole = np.array([INF], np.int32) if whole is None else np.ascontiguousarray(whole, np.int32).ravel()
        counts = np.array([len(starts), 0, 0, 0], np.uint32)
        constants, whole, starts, counts = run.upload(constants, whole, starts.astype(np.uint32), counts)
        dist, stamps, predecessor, queues = run.allocate(
            (size, np.float64), (size, np.uint32), (treed, np.int32), (2 * size, np.uint32)
        )
        blocks = enough_blocks(size, run.block)
        run.launch(
            (kernels.set_bounds, blocks, run.block, (constants, whole, dist, stamps, predecessor)),
            (kernels.start, blocks, run.block, (starts, dist, predecessor, queues)),
        )
        return constants, dist, stamps, predecessor, queues, counts

    def _launch(self, kernel, *arguments) -> None:
        self.run.launch((kernel, self.run.multiprocessors, self.run.block, arguments))


def reweighted(graph: FloatGraph, potential: np.ndarray) -> FloatGraph:
    """Return the graph with the weights w + potential[u] - potential[v], which are 0 or more."""
    tails = np.repeat(np.arange(graph.vertices), np.diff(graph.indptr))
    weights = graph.weights + potential[tails] - potential[graph.indices]
    return FloatGraph(graph.indptr, graph.indices, np.maximum(weights, 0), graph.name)
