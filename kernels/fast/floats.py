"""Shortest paths with weights in float64, exactly as Dijkstra's algorithm gives them.

    scale the weights by a power of two and round them up; find the distances in whole numbers (by any variant)
    dist = these, scaled back and a little larger; dist[source] = 0; queue = the source
    while queue has entries
        each u of queue, each arc (u, v, w):
            where dist[u] + w < dist[v], dist[v] = dist[u] + w and v is queued for the next round

What comes out. A rounded sum never falls where one of its parts grows. So the rounds end where dist[v] is the minimum
of dist[u] + w over all arcs (u, v, w), for each v but the source; and dist[v] is the least of the sums along all paths
to v, added up from the source on. Dijkstra's algorithm finds the same: the distances are equal to SciPy's, bit for bit.
No order of the threads changes them.

What the whole numbers are for. Without them the rounds are Bellman-Ford's, in which most vertices are lowered many
times. A rounded-up weight is no less than the true one, so a distance in whole numbers is the length of a path that is
no shorter than the shortest. A vertex takes only what is less: nearly its distance at once. Should whole numbers not
have found a path, then there is no bound, and the result is the same.

Predecessors come from the distances: first along arcs that lead to a larger distance, which cannot form a circle. The
others (a weight of 0, or one that is lost in rounding) are followed from vertices that have a predecessor by then.

Several rows, one for each source, are searched at once: row r's vertex v is entry r * vertices + v.

Weights below 0 need potentials (D. B. Johnson, Efficient Algorithms for Shortest Paths in Sparse Networks, JACM 24,
1977). They are the distances from a further vertex with an arc of weight 0 to each other one: the rounds above, from
all vertices at once. Distances are then within rounding, as SciPy's Johnson is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernels.fast.float_graph import LANES, NONE, SOURCE, FloatGraph
from kernels.graph import INF
from kernels.later import Later

if TYPE_CHECKING:
    from kernels.run import Run

EPSILON = 1e-15  # what a cycle is at least below 0, as in SciPy
MOST_BLOCKS = 2**20
u32 = np.uint32
kernels = Later("kernels.fast.floats_kernels")  # imports numba


class Found(NamedTuple):
    """dist: float64, (rows, n), infinite where there is no path. predecessors: int32, (rows, n), -9999 where there is
    none; None where they were not asked for. rounds: how many there were.
    """

    dist: np.ndarray
    predecessors: np.ndarray | None
    rounds: int


def enough_blocks(items: int, block: int) -> int:
    """So many blocks that each thread has an item, or several where that were too many."""
    return min(-(-items // block), MOST_BLOCKS)


class Searches:
    """Searches on one graph, whose arrays are copied to the card once; run: what launches them, with its block.

    graph: no weight is below 0, but for `potentials`.
    """

    def __init__(self, graph: FloatGraph, run: Run):
        self.graph, self.run, self.vertices = graph, run, u32(graph.vertices)
        # No array on the card is empty.
        arrays = (graph.indptr, *(a if graph.arcs else np.zeros(1, a.dtype) for a in (graph.indices, graph.weights)))
        self.arcs = run.upload(*arrays)

    def search(self, starts, rows: int, whole=None, *, limit: float = np.inf, tree: bool = True) -> Found:
        """Distances in `rows` rows from the entries `starts`, integers that differ, each at distance 0.

        whole: int32, (rows, n): distances in graph.scaled, as bounds. limit: 0 or more; what is farther has no path,
        and nothing is searched beyond. tree: whether predecessors are wanted. Raises NotEnoughMemory where the card
        has not 24 bytes for each entry.
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
        last = None
        if tree:
            blocks = enough_blocks(LANES * size, self.run.block)
            arguments = self.vertices, constants, *self.arcs, dist, predecessor
            self.run.launch((kernels.find_tree, blocks, self.run.block, arguments))
            last = np.empty((rows, self.graph.vertices), np.int32)
            self.run.download((predecessor, last.ravel()))
            if ((last == NONE) & (found < np.inf)).any():
                queues, counts = self.run.upload(np.arange(2 * size, dtype=np.uint32), np.array([size, 0, 0, 0], u32))
                state = dist, predecessor, queues, counts
                self._launch(kernels.follow_ties, self.vertices, u32(INF), *self.arcs, *state)
                self.run.download((predecessor, last.ravel()))
            last[last == NONE] = SOURCE
        return Found(found, last, int(done[3]))

    def potentials(self) -> np.ndarray:
        """float64, (n,), with which no arc (u, v, w) has potential[u] + w < potential[v]; 0 or less.

        Raises scipy.sparse.csgraph.NegativeCycleError where there are none.
        """
        n = self.graph.vertices
        state = self._begin(np.arange(n), n, np.zeros(2), None, 1)
        _, dist, stamps, _, queues, counts = state
        self._launch(kernels.relax, self.vertices, self.vertices, *self.arcs, dist, stamps, queues, counts)
        found = np.empty(n)
        self.run.download((dist, found))
        tails = np.repeat(np.arange(n), np.diff(self.graph.indptr))
        if (found[tails] + self.graph.weights + EPSILON < found[self.graph.indices]).any():
            from scipy.sparse.csgraph import NegativeCycleError  # imported here, since few searches need it

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


def reduced(graph: FloatGraph, potential: np.ndarray) -> FloatGraph:
    """The graph with weights w + potential[u] - potential[v], none below 0."""
    tails = np.repeat(np.arange(graph.vertices), np.diff(graph.indptr))
    weights = graph.weights + potential[tails] - potential[graph.indices]
    return FloatGraph(graph.indptr, graph.indices, np.maximum(weights, 0), graph.name)
