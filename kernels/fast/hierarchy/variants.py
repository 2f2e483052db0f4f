"""The registry's variants that search in a hierarchy: from one source, and all pairs as a matrix."""

from collections.abc import Callable

import numpy as np

from ...gpu.compiler import cuda
from ...gpu.intrinsics import i32, u32, u64
from ...gpu.launching import blocks_for
from ...graph import INF, Graph
from ...run import Result, Run
from .. import near_far, near_far_layout
from .all_pairs import fill
from .customize import OnCard
from .many_sources import ManySources, by_vertex
from .one_source import OneSource

MATRIX_BYTES = 60 * 10**9  # maximum size of the distances on the card


class Trees:
    """Find predecessors from distances, (n,), with near_far's kernels, which can handle cycles of arcs of weight 0."""

    def __init__(self, graph: Graph, run: Run):
        self.graph, self.run = graph, run
        self.free_arcs = near_far.has_free_arcs(graph)
        rows = near_far_layout.tree_layout(graph)
        self.laid, self.queued = near_far.lay_out(graph, rows, run), rows.queued

    def allocate(self) -> None:
        words = int(near_far_layout.QUEUED) + 2
        self.dist, self.queue, self.words = self.run.allocate(
            (self.graph.vertices, np.int32), (self.queued, np.uint64), (words, np.uint32)
        )

    def find(self, source: int, column: int, pitch: int, vertex_rows, matrix, predecessor) -> Callable:
        """Return a function that launches the search for the predecessors of a column of distances, on the card."""
        run, n = self.run, self.graph.vertices
        found = self.dist, predecessor
        columns = np.uint32(column), np.uint64(pitch), vertex_rows, matrix, self.dist, predecessor, self.words
        return run.prepare_async(
            (by_vertex, blocks_for(n, run.block), run.block, columns),
            *near_far.tree_launches(source, self.laid, run, found, self.queue, self.words, free_arcs=self.free_arcs),
        )


def sssp(graph: Graph, result: Result, run: Run) -> None:
    """Search from run.source and fill `result`, of shape (n,). Raise InputError if the graph is unfit."""
    n = graph.vertices
    search, trees = OneSource(graph, run), Trees(graph, run)
    with run.timed():
        with run.phase("copy_in"):
            distances, predecessor = run.allocate((n, np.uint32), (n, np.int32))
            trees.allocate()
            find_distances = search.search(run.source, distances)
            find_tree = trees.find(run.source, 0, 1, search.on_card.vertex_rows, distances, predecessor)
        with run.phase("kernels"):
            find_distances()
        with run.phase("predecessors"):
            find_tree()
        with run.phase("copy_out"):
            run.download((trees.dist, result.distances), (predecessor, result.predecessors))
    search.on_card.count_order()


@cuda.jit
def find_trees(blocks, vertices, tails, heads, weights, distances, predecessors):
    """Set the predecessors of every row of distances, with `blocks` blocks per row. All weights must be positive."""
    row, arc = u64(cuda.blockIdx.x // blocks), u32(cuda.blockIdx.x % blocks) * u32(cuda.blockDim.x) + cuda.threadIdx.x
    if arc < len(tails):
        first, head = u64(row * u64(vertices)), heads[arc]
        to_head = u32(u32(distances[u64(first + u64(tails[arc]))]) + u32(weights[arc]))
        if to_head < INF and i32(to_head) == distances[u64(first + u64(head))]:
            predecessors[u64(first + u64(head))] = tails[arc]


def trees_without_free_arcs(graph: Graph, run: Run, arcs: list, rows: int, distances, predecessors) -> Callable:
    """Return a function that launches `find_trees` for `rows` rows. arcs: tails, heads and weights, on the card."""
    blocks = blocks_for(max(1, graph.arcs), run.block)
    filling = fill, blocks_for(len(predecessors), run.block), run.block, (np.int32(-1), predecessors)
    tree = np.uint32(blocks), np.uint32(graph.vertices), *arcs, distances, predecessors
    return run.prepare_async(filling, (find_trees, blocks * rows, run.block, tree))


def apsp(graph: Graph, result: Result, run: Run) -> None:
    """Search from all vertices and fill `result`, of shape (n, n). Raise InputError if the graph is unfit."""
    n = graph.vertices
    on_card = OnCard(graph, run)
    search = ManySources(on_card, reduces=False)
    most = min(search.pitch(n), max(search.group, MATRIX_BYTES // (8 * n) // search.group * search.group))
    free_arcs = near_far.has_free_arcs(graph)
    if free_arcs:
        trees = Trees(graph, run)
    else:
        arcs = run.upload_untimed(graph.tails.astype(np.int32), graph.indices, graph.weights)
    with run.timed():
        with run.phase("copy_in"):
            search.allocate(most)
            out, before = run.allocate((most * n, np.int32), (most * n, np.int32))
            if free_arcs:
                trees.allocate()
        for start in range(0, n, most):
            numbers = np.arange(start, min(n, start + most), dtype=np.int32)
            sources = on_card.hierarchy.vertices[numbers]
            with run.phase("copy_in"):
                find_distances, turn = search.search(numbers), search.rows_by_vertex(len(numbers), out)
                if free_arcs:
                    column = search.most, on_card.vertex_rows, search.matrix
                    find = [trees.find(int(s), k, *column, before[k * n : (k + 1) * n]) for k, s in enumerate(sources)]
                else:
                    find = [trees_without_free_arcs(graph, run, arcs, len(numbers), out, before)]
            with run.phase("kernels"):
                find_distances()
                turn()
            with run.phase("predecessors"):
                for launch in find:
                    launch()
            with run.phase("copy_out"):
                for array, rows in ((out, result.distances), (before, result.predecessors)):
                    found = np.empty(len(numbers) * n, np.int32)
                    run.download((array[: len(found)], found))
                    rows[sources] = found.reshape(-1, n)
    on_card.count_order()


def launches(vertices: int, tile: int) -> None:
    """Return None: the number of launches depends on the elimination tree."""
    return None
