"""Near-Far: delta-stepping with two piles, near and far, from one source.

    near = the source, far = empty, threshold = delta
    while near or far has entries
        while near has entries
            each entry (u, d) of near, each arc (u, v, w):
                if d + w < dist[v], set dist[v] = d + w; add (v, d + w) to near if d + w < threshold, else to far
        raise the threshold past the least distance in far; move entries below the threshold from far to near

The method is by A. Davidson, S. Baxter, M. Garland and J. D. Owens (Work-Efficient Parallel GPU Methods for
Single-Source Shortest Paths, IPDPS 2014). docs/kernels.md (section Near-Far) explains what is added: each block has its
own near queue and its own part of far, blocks share the entries at meetings, and delta adapts (`next_window`).

Concurrent accesses. The thread that lowers a distance, atomically, adds an entry to its own block's queue or part of
far. So the last entry of a vertex has its final distance. A block may relax arcs from a distance that another block
lowers later. This repeats work and does no harm. Far has two halves: after a meeting, blocks read one half and write to
the other. Even and odd rounds count their additions in two counters, so one barrier per round is enough: while some
threads still read one counter, others may already add to the other. Likewise each value that blocks read after a
meeting has two or three copies, which successive meetings use in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..graph import INF, Graph
from ..lazy import LazyModule
from . import near_far_layout
from .near_far_layout import LENGTHS, WIDTHS, RowLayout

if TYPE_CHECKING:
    from ..run import Result, Run

DELTA, LOW_DEGREE = 128, 4  # see default_window
THREADS, WIDE_THREADS = 512, 1024  # maximum per block; WIDE_THREADS if rows have more than 4 words
WIDE_DEGREE = 8  # minimum mean out-degree for WIDE_THREADS if rows have 4 words
MAX_QUEUE = 4096  # maximum entries of a near queue, a power of two
MIN_QUEUE = 64  # minimum entries of a near queue, even if shared memory is short
kernels = LazyModule(".near_far_kernels", __package__)  # imports numba


class RowsOnCard(NamedTuple):
    """The rows of a graph on the card."""

    bits: np.uint32  # log2 of the width of a row
    arcs: Any  # uint64, (width * rows,): the words of all rows
    owners: Any  # uint32, (rows - n,): for each row from n on, the number of the vertex that it belongs to
    order: Any  # int32, (n,): the vertex with each number; empty if each vertex is its own number
    rank: Any  # int32, (n,): the number of each vertex; empty if `order` is empty


def lay_out(graph: Graph, rows: RowLayout, run: Run) -> RowsOnCard:
    """Lay out the rows on the card, before the clock starts."""
    n, block = graph.vertices, run.block
    given = graph.indptr, graph.indices, graph.weights, rows.order, rows.rank
    indptr, indices, weights, order, rank = run.upload_untimed(*given)
    fans = run.upload_untimed(rows.owners, rows.starts, rows.stops)
    links = run.upload_untimed(rows.linked, rows.links, rows.behind)
    bits = np.uint32(rows.width.bit_length() - 1)
    started = time.perf_counter()
    arcs, owners = run.allocate((rows.width * rows.total, np.uint64), (rows.total - n, np.uint32))
    filled = bits, indptr, indices, weights, order, rank, *fans, arcs, owners
    run.launch((kernels.fill_rows, -(-rows.width * rows.queued // block), block, filled))
    if len(rows.linked):
        arguments = bits, *links, indices, weights, rank, np.uint32(n), arcs, owners
        run.launch((kernels.set_links, -(-len(rows.linked) // block), block, arguments))
    run.prepare_card_s += time.perf_counter() - started
    return RowsOnCard(bits, arcs, owners, order, rank)


def default_window(graph: Graph) -> int:
    """Return DELTA times the mean weight, divided by the square of the mean out-degree, at least 1.

    If the mean out-degree is below LOW_DEGREE, return LOW_DEGREE / degree times as much.
    """
    if not graph.arcs:
        return 1
    degree = graph.arcs / graph.vertices
    return max(1, int(DELTA * graph.weights.mean() / degree**2 * max(1, LOW_DEGREE / degree)))


def tree_launches(source: int, laid: RowsOnCard, run: Run, found: tuple, queue, words, *, free_arcs: bool) -> list:
    """Return the launches that find predecessors from the vertex with number `source`.

    found: dist and predecessor on the card, ordered by number; all predecessors are -1. free_arcs: whether a weight is
    0. Only then are queue and words used, as in start_zero_arcs.
    """
    block = max(kernels.LANES, run.block // kernels.LANES * kernels.LANES)
    blocks = -(-len(laid.arcs) // block)
    launches = [(kernels.find_predecessors, blocks, block, (laid.bits, laid.arcs, laid.owners, *found))]
    if free_arcs:
        queued = laid.bits, np.uint32(source), laid.arcs, laid.owners, *found, queue, words
        launches.append((kernels.start_zero_arcs, blocks, block, queued))
        launches.append((kernels.follow_zero_arcs, run.multiprocessors, block, queued))
    return launches


def has_free_arcs(graph: Graph) -> bool:
    """Return whether a weight is 0."""
    return bool(graph.arcs and graph.weights.min() == 0)


def far_capacity(graph: Graph, rows: RowLayout, blocks: int, threads: int, queue_capacity: int) -> tuple[int, int]:
    """Return the capacity of a block's part of a half of far, and the length above which the block calls a meeting.

    A block whose part exceeds `limit` calls a meeting, stops a round later, and adds the entries left in its queue. So
    between meetings a part grows, beyond its start or the limit, by at most the entries of two rounds and of a queue:
    `added`. At the start, all parts together have at most one entry per row, because outdated entries were dropped. So
    before the next meeting the mean length of a part is at most share + limit + added. A block then reads an equal
    share of each part, rounded up. In the worst case none of these entries is outdated. So its new part starts with at
    most share + limit + added + blocks entries, and grows by `added`. The capacity is larger than this bound.
    """
    taken, most = max(1, threads // rows.width), rows.width - 1 + near_far_layout.DIRECT
    share = -(-rows.queued // blocks)
    widest = int(np.diff(graph.indptr).max(initial=0))
    fans = min(rows.queued - graph.vertices, taken * -(-widest // most))
    added = 2 * (taken * min(widest, most) + fans) + queue_capacity
    limit = 2 * share
    return limit + 2 * added + share + 2 * blocks, limit


class NearFarSearch:
    """Searches on one graph, one after the other. The graph's rows are copied to the card once.

    The width of the first window is run.delta, by default default_window(graph). Call `allocate` before the first
    search. dist and predecessor, int32, (n,), are the results of the last search. `by_number` has the same results,
    ordered by the numbers of the vertices. Raises NotEnoughMemory.
    """

    def __init__(self, graph: Graph, run: Run):
        self.graph, self.run = graph, run
        n, rows = graph.vertices, near_far_layout.search_layout(graph)
        self.delta = min(run.delta or default_window(graph), INF)
        most = WIDE_THREADS if rows.width > WIDTHS[0] or graph.arcs >= WIDE_DEGREE * n else THREADS
        self.blocks = run.grid or run.multiprocessors
        self.threads = max(rows.width, kernels.LANES, min(most, run.block) // kernels.LANES * kernels.LANES)
        fitting = run.shared_limit // 8
        self.queue_capacity = max(MIN_QUEUE, min(MAX_QUEUE, 1 << max(0, fitting.bit_length() - 1)))
        self.part_capacity, self.limit = far_capacity(graph, rows, self.blocks, self.threads, self.queue_capacity)
        self.words_used = int(LENGTHS) + 2 * self.blocks
        layout = sum(part.nbytes for part in rows if isinstance(part, np.ndarray))
        of_rows = 8 * rows.width * rows.total + 4 * (rows.total - n) + layout
        of_search = 12 * n + 8 * len(rows.order) + 16 * self.part_capacity * self.blocks + 4 * self.words_used
        run.require(of_rows + 8 * graph.arcs + of_search)
        self.free_arcs = has_free_arcs(graph)
        self.laid = lay_out(graph, rows, run)
        if len(rows.order):  # compile before the clock starts; the small graph of harness.py has no order
            (scratch,), order, rank = run.allocate((1, np.int32)), self.laid.order, self.laid.rank
            run.launch(
                (kernels.distances_by_vertex, 1, 1, (rank, rank, scratch)),
                (kernels.predecessors_by_vertex, 1, 1, (rank, order, rank, scratch)),
            )

    def allocate(self) -> None:
        """Allocate memory for searches."""
        n = self.graph.vertices
        sizes = (n, np.int32), (n, np.int32), (2 * self.part_capacity * self.blocks, np.uint64)
        self.dist, self.predecessor, self.far, self.words = self.run.allocate(*sizes, (self.words_used, np.uint32))
        self.sorted = self.run.allocate((n, np.int32), (n, np.int32)) if len(self.laid.order) else None

    @property
    def by_number(self) -> tuple:
        """Distances and predecessors by the numbers of vertices, on the card."""
        return tuple(self.sorted) if self.sorted else (self.dist, self.predecessor)

    def number_of(self, vertex: int) -> int:
        """Return the number of a vertex."""
        rank = near_far_layout.search_layout(self.graph).rank
        return int(rank[vertex]) if len(rank) else vertex

    def search(self, source: int) -> tuple[Callable[[], None], Callable[[], None]]:
        """Return two functions that launch the search from a source: for distances, and then for predecessors."""
        run, n, laid = self.run, self.graph.vertices, self.laid
        dist, predecessor = self.by_number
        first = np.uint32(self.number_of(source))
        start = laid.bits, first, laid.arcs, dist, predecessor, self.words
        room = np.uint64(self.part_capacity), np.uint32(self.limit), np.uint32(self.queue_capacity)
        sizes = kernels.Sizes(laid.bits, np.uint32(self.delta), *room)
        arguments = first, sizes, laid.arcs, laid.owners, dist, self.far, self.words
        blocks = -(-n // run.block)
        distances = [
            (kernels.initialise, -(-max(n, self.words_used) // run.block), run.block, start),
            # A cooperative launch, since `search` has grid.sync().
            (kernels.search, self.blocks, self.threads, arguments, 8 * self.queue_capacity),
        ]
        tree = tree_launches(int(first), laid, run, self.by_number, self.far, self.words, free_arcs=self.free_arcs)
        if self.sorted:
            distances.append((kernels.distances_by_vertex, blocks, run.block, (laid.rank, dist, self.dist)))
            back = laid.rank, laid.order, predecessor, self.predecessor
            tree.append((kernels.predecessors_by_vertex, blocks, run.block, back))
        return run.prepare(*distances), run.prepare(*tree)

    def is_too_long(self) -> bool:
        """Return whether a vertex seems unreached after the last search because its distance exceeds 2^31 - 2."""
        run, said, laid = self.run, np.empty(1, np.uint32), self.laid
        (found,) = run.upload(np.zeros(1, np.uint32))
        arguments = laid.bits, laid.arcs, laid.owners, self.by_number[0], found
        run.launch((kernels.find_too_long, -(-len(laid.arcs) // run.block), run.block, arguments))
        run.download((found, said))
        return bool(said[0])

    def give(self) -> tuple:
        """Return dist and predecessor of the last search, and allocate new arrays for later searches."""
        found, n = (self.dist, self.predecessor), self.graph.vertices
        start = -(-n // 32) * 32  # where predecessors start; one allocation takes half the time of two
        self.run.require(4 * (start + n))
        (both,) = self.run.allocate((start + n, np.int32))
        self.dist, self.predecessor = both[:n], both[start:]
        return found


def sssp(graph: Graph, result: Result, run: Run) -> None:
    """Search from run.source and fill `result`, of shape (n,)."""
    searches = NearFarSearch(graph, run)
    with run.timed():
        with run.phase("copy_in"):
            searches.allocate()
            find_distances, find_tree = searches.search(run.source)
        with run.phase("kernels"):
            find_distances()
        with run.phase("predecessors"):
            find_tree()
        with run.phase("copy_out"):
            run.download((searches.dist, result.distances), (searches.predecessor, result.predecessors))


def launches(vertices: int, tile: int) -> None:
    """Return None: the number depends on the graph.

    It is four, plus one if rows have links, four if vertices are numbered by degree, and two if a weight is 0.
    """
    return None
