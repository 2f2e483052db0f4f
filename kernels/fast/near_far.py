"""Near-Far: delta-stepping with two piles, near and far, from one source.

    near = the source, far = empty, threshold = delta
    while near or far has entries
        while near has entries
            each entry (u, d) of near, each arc (u, v, w):
                if d + w < dist[v], set dist[v] = d + w; add (v, d + w) to near if d + w < threshold, else to far
        raise the threshold past the least distance in far; move entries below the threshold from far to near

The method is by A. Davidson, S. Baxter, M. Garland and J. D. Owens (Work-Efficient Parallel GPU Methods for
Single-Source Shortest Paths, IPDPS 2014).

On a road network a search takes more than a thousand rounds, each with hundreds of near vertices. So its time depends
on the latency of a round. A barrier of a block takes far less time than a barrier of the whole card. Therefore each
block has its own near queue, in shared memory, and runs its rounds without waiting for other blocks. The thread that
lowers a distance, atomically, adds an entry to its own block's queue or part of far. The vertex's last entry has its
final distance. So the arcs of each vertex are relaxed from its final distance. A block may also relax arcs from a
larger distance, which another block lowers later. This repeats work and does no harm.

A meeting is a barrier of the card. A block goes to the next meeting when its queue is empty. Before a meeting each
block publishes how many entries its part of far has, and their least distance. So all blocks set the threshold to the
same value. After the meeting each block reads an equal share of every part. It adds entries below the threshold to its
own queue, and all others to its own part of far. Far has two halves: blocks read one half and write to the other half.
A block calls an early meeting if its queue or its part of far is long. It also does so if it repeats a large share of
its work (TOO_MUCH_REPEATED). Before an early meeting, each block moves the entries left in its queue to far, so that
all blocks share these entries.

A window lasts as long as its longest chain of near vertices. On a road network most blocks soon wait for a few. So a
block also calls a meeting if most blocks have an empty queue. Then the threshold rises by delta although near entries
are left: all blocks get work, and the chain goes on beside it. This relaxes more arcs too early, but takes
fewer rounds. Patience limits these meetings: a block must have had at least this many rounds since the last one. It
grows while so few vertices are near that a meeting cannot give work to most blocks.

The window is the range of near distances. Its width, delta, changes at meetings (`next_window`). If no near entries
are left and no block had FEW_ROUNDS rounds since the last meeting, delta is doubled, because a meeting takes as long as
several rounds. If most blocks were stopped with entries left and repeated much work, the card is busy, and nearer
vertices should come first. Then delta becomes half of the range from the least distance left to the threshold, and the
threshold falls to that distance plus delta. Work is repeated if an entry is added for a vertex that was near already.
A block repeated much work if these entries are more than 1 / MUCH_REPEATED of the entries that it took from its queue
since the last meeting.

Arcs are stored in rows of equal width, so that the start of a vertex's row is computed, not read. A row is relaxed by
one thread per arc. If a vertex has more arcs than its row can hold, the row's last word is a link to up to DIRECT
further arcs. If a vertex has more than DIRECT further arcs, the link leads to a fan instead: further rows, which are
enqueued like vertices and can have links to arcs. A warp relaxes the arcs behind its threads' links, two links at a
time. Successive rows of a queue go to different warps, so that as many warps as possible share a round's links.
Vertices of a large graph with hubs are numbered by degree (`near_far_layout.order_by_degree`).

A near queue is a ring. A round takes entries from the ring's head, as many as the block can relax at once, and adds new
entries at the ring's tail. An entry that does not fit in the ring goes to far, which cannot overflow (`far_capacity`).
Even and odd rounds count their additions in two counters. So one barrier per round is enough: while some threads still
read one counter, others may already add to the other counter. Likewise each value that blocks read after a meeting has
two or three copies, which successive meetings use in turn. After the barrier, all blocks compute the next window from
the same copies.

Predecessors are found from the distances: first along arcs of positive weight, then along arcs of weight 0 from
vertices that have a predecessor. So predecessors cannot form a cycle. Along arcs of weight 0, threads set a vertex's
predecessor by compare-and-swap; the thread that succeeds queues the vertex.
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
