"""Near-Far: delta-stepping with two piles, near and far, from one source.

    near = the source, far = nothing, threshold = delta
    while near or far has entries
        while near has entries
            each entry (u, d) of near, each arc (u, v, w):
                where d + w < dist[v], dist[v] = d + w and (v, d + w) goes to near (below the threshold) or to far
        raise threshold by delta, or past the least distance in far; what is below it moves from far to near

The method is A. Davidson, S. Baxter, M. Garland and J. D. Owens' (Work-Efficient Parallel GPU Methods for
Single-Source Shortest Paths, IPDPS 2014).

On a road graph a search takes a thousand rounds and more, each with hundreds of near vertices, so the latency of a
round decides. A barrier of one block takes far less time than one of the whole card: so one block searches, with the
near queue in shared memory (`search`). All blocks go on, with a queue in global memory (`search_on`), where the near
entries do not fit in the block's queue, or where far is long when it has to be split. Where few entries are near
again, one block goes on and the others wait. The host takes no part in that.

A vertex has a row of DEGREE arcs, so that its arcs are found without reading where they start. A vertex with more
arcs has a tree of rows: each further row has a distance of its own, behind an arc of weight 0. Where the graph itself
has weights of 0, predecessors along such arcs are found last, so that they cannot form a circle.

The state of a search is an array of uint32 words; all blocks have one in global memory, one block has one in shared
memory. A near queue is double: a round reads one and fills the other. With places for c entries in each of the two:

    word              name       meaning
    0, 1              COUNTERS   entries added to queue 0 (1); no round resets them (only `hand_over` does), so that
                                 one barrier per round is enough
    2                 FAR        entries of far
    3                 LEAST      the least distance found when far was last split
    4, 5              FULL       1: split far after the round that fills queue 0 (1)
    6, 7, 8           COUNT, THRESHOLD, HALF    handed over: near entries, threshold, which half of far is in use
    9 to 9 + 2c - 1   ENTRIES    the rows of queue 0's entries, then of queue 1's
    then 2c words                their distances, in the same order

Far is an array of uint64, the distance above the row, in two halves. To split far is to read one half: outdated
entries are dropped, near ones move to the near queue, the others to the other half. Far cannot overflow. Whoever
lowers a distance enqueues it, so a row has at most one entry with the distance that it has now; dropping the others
leaves at most as many entries as there are rows. A round adds at most DEGREE for each near entry. So each half has
places for all rows and for a round of one block and of all blocks, and far is split after any round that leaves more
than `rows` entries in it. If one block stops with more, all blocks split far after their first round.
"""

from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numba import cuda, uint32

from kernels.gpu.card import SIMULATED
from kernels.gpu.intrinsics import i32, thread_x, u32, u64
from kernels.gpu.launching import blocks_for
from kernels.graph import INF, Graph
from kernels.run import Result, Run

DEGREE = 4  # arcs of a row
DELTA = 8  # the default delta, in mean weights
MAX_BLOCK_QUEUE = 4096  # places of one block's near queue, at most
MIN_BLOCK_QUEUE = 64  # the same, at least, whatever shared memory there is
MAX_GRID_QUEUE = 2**20  # places of all blocks' near queue, at most
LONG_FAR = 2**14  # all blocks split far where it has more entries
FEW_NEAR = 512  # all blocks stop at so few near entries, or fewer, and one block goes on
COUNTERS, FAR, LEAST, FULL, COUNT, THRESHOLD, HALF, ENTRIES = (u32(i) for i in (0, 2, 3, 4, 6, 7, 8, 9))
# Blocks of up to 1,024 threads. Without this bound the compiler gives a thread more registers than so many threads
# can have on cards before 9.0, and the launch fails. The simulator does not take it.
LAUNCH_BOUNDS = {} if SIMULATED else {"launch_bounds": 1024}
NO_ARC = np.uint64(INF << 32)  # longer than any path


class Layout(NamedTuple):
    """A graph as rows of arcs. Row v < n is the first of vertex v; any other is in the tree of the vertex that owns it.

    arcs: uint64, (DEGREE rows,), the weight above the row it leads to; NO_ARC where there are fewer.
    owners: uint32, (rows,).
    """

    arcs: np.ndarray
    owners: np.ndarray


@lru_cache(maxsize=1)
def layout(graph: Graph) -> Layout:
    """The layout of a graph: made once, before the clock starts, as its CSR arrays are."""
    rows = graph.vertices
    places, values, owners = [], [], [np.arange(rows)]
    lists, lengths = owners[0], np.diff(graph.indptr)
    words = graph.weights.astype(np.uint64) << np.uint64(32) | graph.indices.astype(np.uint64)
    # Each turn lays out lists of arcs: a short list in the row of its vertex, a longer one in several new rows. The
    # arcs of weight 0 that lead to the new rows are the lists of the next turn.
    while len(lists):
        which = np.repeat(np.arange(len(lists)), lengths)
        place = np.arange(len(words)) - (np.cumsum(lengths) - lengths)[which]
        fits = lengths <= DEGREE
        cut = np.where(fits, 0, -(-lengths // DEGREE))  # new rows of each list
        row = np.where(fits, lists, rows + np.cumsum(cut) - cut)[which] + place // DEGREE
        places.append(DEGREE * row + place % DEGREE)
        values.append(words)
        owners.append(np.repeat(lists, cut))
        words = np.arange(rows, rows + cut.sum(), dtype=np.uint64)  # arcs to them: weight 0 above the row
        rows += len(words)
        lists, lengths = lists[~fits], cut[~fits]
    arcs = np.full(DEGREE * rows, NO_ARC)
    arcs[np.concatenate(places)] = np.concatenate(values)
    return Layout(arcs, np.concatenate(owners).astype(np.uint32))


def default_delta(graph: Graph) -> int:
    """DELTA times the mean weight."""
    return max(1, int(DELTA * graph.weights.mean())) if graph.arcs else 1


@cuda.jit
def initialise(source, arcs, dist, predecessor):
    row = thread_x()
    if row < len(dist):
        # Always 0, since weights have 31 bits. Reading it brings the arcs into the L2 cache, as far as they fit, before
        # a single multiprocessor has to wait for them; using it keeps the compiler from removing the load.
        zero = i32(arcs[u64(u64(DEGREE) * u64(row))] >> u64(63))
        dist[row] = zero if row == source else i32(INF - zero)
    if row < len(predecessor):
        predecessor[row] = -1


class State(NamedTuple):
    """What a search works on. words: see the module; capacity: places of each near queue in it."""

    words: np.ndarray
    capacity: int
    arcs: np.ndarray
    dist: np.ndarray
    far: np.ndarray


class Target(NamedTuple):
    """Where `enqueue` adds an entry.

    threshold: a distance below it is near. queue: 0 or 1, the near queue. start: the word where its entries start.
    count_when_empty: its counter when the queue was empty. half: the entry where the half of far starts.
    """

    threshold: int
    queue: int
    start: int
    count_when_empty: int
    half: int


@cache
def search_rounds(all_blocks: bool):
    """Rounds of all blocks until one block should go on, or of one until all should, as a device function."""

    @cuda.jit(device=True)
    def barrier():
        if all_blocks:
            cuda.cg.this_grid().sync()
        else:
            cuda.syncthreads()

    @cuda.jit(device=True)
    def next_place(words, counter):
        """Add 1 to a counter atomically; return what it was."""
        if all_blocks and not SIMULATED:  # one addition for all threads of a warp that add to the same counter
            alike = cuda.match_any_sync(cuda.activemask(), counter)
            leader = i32(cuda.ffs(alike) - 1)
            before = u32(cuda.popc(u32(alike & cuda.lanemask_lt())))
            place = i32(0)
            if before == 0:
                place = i32(cuda.atomic.add(words, counter, u32(cuda.popc(alike))))
            return u32(u32(cuda.shfl_sync(alike, place, leader)) + before)
        return u32(cuda.atomic.add(words, counter, u32(1)))

    @cuda.jit(device=True)
    def enqueue(v, d, state, target):
        """Add (v, d) to the near queue where d is below the threshold and a place is free, else to far.

        Return its place in far, 0 where it is in the near queue.
        """
        words, capacity = state.words, state.capacity
        is_near = d < target.threshold
        # One addition for either pile, so that a warp that has both does not make them one after the other.
        place = next_place(words, u32(COUNTERS + target.queue) if is_near else FAR)
        if is_near and u32(place - target.count_when_empty) < capacity:
            at = u32(target.start + u32(place - target.count_when_empty))
            words[at] = v
            words[u32(at + u32(2) * capacity)] = d
            return u32(0)
        if is_near:
            place = next_place(words, FAR)
        state.far[u64(target.half + u64(place))] = u64((u64(d) << u64(32)) | u64(v))
        return place

    @cuda.jit(device=True)
    def candidate(i, count, start, state):
        """The head of the i-th arc of a round, and the length of the path to it; INF where there is no such arc.

        No branches, so that the loads of several are under way at once.
        """
        exists = i < u32(u32(DEGREE) * count)
        at = u32(start + (i // u32(DEGREE) if exists else u32(0)))
        v, d = state.words[at], state.words[u32(at + u32(2) * state.capacity)]
        if all_blocks:  # skips outdated entries; for one block the load takes longer than their few arcs do
            exists = exists and u32(state.dist[v]) >= d
        arc = state.arcs[u64(u64(DEGREE) * u64(v) + u64(i % u32(DEGREE)))]
        return u32(arc), u32(d + u32(arc >> u64(32))) if exists else u32(INF)

    @cuda.jit(device=True)
    def relax_near(thread, threads, count, start, state, target):
        """Relax the arcs of the `count` near entries from word `start` on; return the last place in far that was used.

        A thread takes three arcs at a time: all three atomics are under way before any result is looked at.
        """
        dist = state.dist
        place = u32(0)
        i = thread
        while i < u32(u32(DEGREE) * count):
            u, to_u = candidate(i, count, start, state)
            v, to_v = candidate(u32(i + threads), count, start, state)
            x, to_x = candidate(u32(i + u32(2) * threads), count, start, state)
            old_u = old_v = old_x = i32(0)
            if to_u < INF:
                old_u = cuda.atomic.min(dist, u, i32(to_u))
            if to_v < INF:
                old_v = cuda.atomic.min(dist, v, i32(to_v))
            if to_x < INF:
                old_x = cuda.atomic.min(dist, x, i32(to_x))
            if to_u < u32(old_u):
                place = max(place, enqueue(u, to_u, state, target))
            if to_v < u32(old_v):
                place = max(place, enqueue(v, to_v, state, target))
            if to_x < u32(old_x):
                place = max(place, enqueue(x, to_x, state, target))
            i = u32(i + u32(3) * threads)
        return place

    @cuda.jit(device=True)
    def split_far(thread, threads, state, target):
        """Split far: drop outdated entries, move the others to the near queue or to far's other half.

        target.half: the half in use; return the other one, which is in use from now on.
        """
        words, far = state.words, state.far
        length = words[FAR]
        barrier()  # all have read the counters before the first thread resets them
        if thread == 0:
            words[FAR] = words[FULL] = words[u32(FULL + u32(1))] = 0
            words[LEAST] = INF
        barrier()  # before `enqueue` adds to them
        half, least = u64(u64(len(far) // 2) - target.half), u32(INF)
        to = Target(target.threshold, target.queue, target.start, target.count_when_empty, half)
        i = thread
        while i < length:
            entry = far[u64(target.half + u64(i))]
            v, d = u32(entry), u32(entry >> u64(32))
            if u32(state.dist[v]) == d:
                enqueue(v, d, state, to)
                least = min(least, d)
            i = u32(i + threads)
        if least != INF:
            cuda.atomic.min(words, LEAST, least)
        barrier()  # before entries, counters and the least distance are read
        return half

    @cuda.jit(device=True)
    def advance(state, few, delta, threshold, half, count):
        """Start from `count` entries at ENTRIES; return threshold, half, near entries, and their start.

        few: all blocks stop at `few` near entries or fewer.
        """
        words, capacity = state.words, state.capacity
        thread = thread_x() if all_blocks else u32(cuda.threadIdx.x)
        threads = u32(cuda.gridsize(1)) if all_blocks else u32(cuda.blockDim.x)
        rows = u32(len(state.dist))
        queue, start = u32(0), ENTRIES
        # Counters: of the queue being filled, when it was empty and now; of the other queue.
        count_when_empty = count_now = other_count = u32(0)
        while True:
            full = False
            if count != 0:  # a round: read one queue, fill the other
                filled, start = start, u32(u32(2) * ENTRIES + capacity - start)
                queue = u32(u32(1) - queue)
                count_when_empty, other_count = other_count, count_now
                to = Target(threshold, queue, start, count_when_empty, half)
                place = relax_near(thread, threads, count, filled, state, to)
                # The round's one barrier, of all blocks or (below) of this one, is between writing a near queue and its
                # counter and reading them. The next round writes the other queue, which was read before this barrier,
                # and adds to the other counter; no round resets a counter, so one barrier is enough. dist needs none:
                # cuda.atomic.min only lowers it.
                if all_blocks:
                    if place >= rows:
                        words[u32(FULL + queue)] = 1
                    barrier()
                    full = words[u32(FULL + queue)] != 0
                else:
                    full = cuda.syncthreads_or(i32(place >= rows)) != 0
                count_now = words[u32(COUNTERS + queue)]
                count = min(u32(count_now - count_when_empty), capacity)
            must_split = full or count == 0
            too_many = u32(count_now - count_when_empty) > capacity
            if not all_blocks and (too_many or (must_split and words[FAR] > LONG_FAR)):
                return threshold, half, count, start
            if count == 0:
                threshold = min(u32(threshold + delta), u32(INF))
            while full or (count == 0 and words[FAR] != 0):
                to = Target(threshold, queue, start, count_when_empty, half)
                half = split_far(thread, threads, state, to)
                full = False
                count_now = words[u32(COUNTERS + queue)]
                count = min(u32(count_now - count_when_empty), capacity)
                if count == 0:  # raise the threshold to the end of the least distance's bucket
                    threshold = min(u32(words[LEAST] // delta * delta + delta), u32(INF))
            if count == 0 or (all_blocks and count <= few):
                return threshold, half, count, start

    return advance


advance_one_block, advance_all_blocks = search_rounds(all_blocks=False), search_rounds(all_blocks=True)


@cuda.jit(device=True)
def hand_over(words, start, capacity, count, to, to_capacity):
    """Copy the near entries to queue 0 of other words, by one block."""
    i = u32(cuda.threadIdx.x)
    while i < count:
        to[u32(ENTRIES + i)] = words[u32(start + i)]
        to[u32(ENTRIES + u32(2) * to_capacity + i)] = words[u32(start + u32(2) * capacity + i)]
        i = u32(i + cuda.blockDim.x)
    if cuda.threadIdx.x == 0:
        to[COUNTERS] = to[u32(COUNTERS + u32(1))] = to[FULL] = to[u32(FULL + u32(1))] = 0
        to[FAR] = words[FAR]
    cuda.syncthreads()  # before other threads of the block read what was copied


@cuda.jit(device=True)
def run_one_block(words, capacity, block_words, block_capacity, delta, threshold, half, count, arcs, dist, far):
    """Go on with `count` entries at ENTRIES of block_words, and hand over to words what is near then.

    If one block stops with far too long, with more entries than there are rows, FULL makes all blocks split far after
    their first round, which fills queue 1.
    """
    state = State(block_words, block_capacity, arcs, dist, far)
    threshold, half, count, start = advance_one_block(state, u32(0), delta, threshold, half, count)
    hand_over(block_words, start, block_capacity, count, words, capacity)
    if cuda.threadIdx.x == 0:
        words[THRESHOLD], words[HALF], words[COUNT] = threshold, u32(half != 0), count
        words[u32(FULL + u32(1))] = u32(words[FAR] > len(dist))


@cuda.jit
def search(source, delta, block_capacity, capacity, arcs, dist, far, words):
    """Distances, until all blocks should go on: one block, with ENTRIES + 4 block_capacity words of shared memory.

    words: ENTRIES + 4 capacity of them. What lies in words and far before does not matter.
    """
    block_words = cuda.shared.array(0, uint32)
    if cuda.threadIdx.x == 0:
        block_words[ENTRIES] = source
        block_words[u32(ENTRIES + u32(2) * block_capacity)] = block_words[FAR] = 0
        block_words[COUNTERS] = block_words[u32(COUNTERS + u32(1))] = 0
    cuda.syncthreads()  # before other threads read the source's entry and the counters
    threshold = min(delta, u32(INF))
    run_one_block(words, capacity, block_words, block_capacity, delta, threshold, u64(0), u32(1), arcs, dist, far)


@cuda.jit(**LAUNCH_BOUNDS)
def search_on(delta, block_capacity, capacity, arcs, dist, far, words):
    """The remaining distances, after `search`: blocks that are all on the card at once; arguments as there."""
    block_words = cuda.shared.array(0, uint32)
    grid = cuda.cg.this_grid()
    few = min(block_capacity, u32(FEW_NEAR))
    while True:
        threshold, half, count = words[THRESHOLD], u64(words[HALF]) * u64(len(far) // 2), words[COUNT]
        if count == 0 and words[FAR] == 0:
            return
        state = State(words, capacity, arcs, dist, far)
        threshold, half, count, start = advance_all_blocks(state, few, delta, threshold, half, count)
        grid.sync()  # before the first block changes words
        if count == 0:
            return
        if cuda.blockIdx.x == 0:
            hand_over(words, start, capacity, count, block_words, block_capacity)
            run_one_block(words, capacity, block_words, block_capacity, delta, threshold, half, count, arcs, dist, far)
        grid.sync()  # before other blocks read what the first one handed over


@cuda.jit
def find_predecessors(arcs, owners, dist, predecessor):
    """Predecessors along arcs of positive weight; of several that are equally good the last to write stays."""
    row = thread_x()
    if row < len(dist):
        d, arc = u32(dist[row]), u64(u64(DEGREE) * u64(row))
        end = u64(arc + u64(DEGREE))
        while arc < end:
            v, w = u32(arcs[arc]), u32(arcs[arc] >> u64(32))
            to_v = u32(d + w)
            if w != 0 and to_v < INF and i32(to_v) == dist[v]:
                predecessor[v] = owners[row]
            arc = u64(arc + u64(1))


@cuda.jit(device=True)
def take_zero_arcs(row, also_tree_rows, source, arcs, owners, dist, predecessor, far, words):
    """Make a row's owner the predecessor along the row's arcs of weight 0; queue each vertex that had none until then.

    also_tree_rows: also queue the rows that this one leads to in the tree of its owner.
    """
    n, u = u32(len(predecessor)), owners[row]
    arc = u64(u64(DEGREE) * u64(row))
    end = u64(arc + u64(DEGREE))
    while arc < end:
        v, w = u32(arcs[arc]), u32(arcs[arc] >> u64(32))
        to_queue = False
        if w == 0:
            if v >= n:
                to_queue = also_tree_rows
            elif v != source and dist[v] == dist[row] and predecessor[v] < 0:
                to_queue = cuda.atomic.cas(predecessor, v, -1, i32(u)) == -1
        if to_queue:
            far[cuda.atomic.add(words, FAR, u32(1))] = u64(v)
        arc = u64(arc + u64(1))


@cuda.jit
def start_zero_arcs(source, arcs, owners, dist, predecessor, far, words):
    """Predecessors along arcs of weight 0, from vertices that have one by now, and from the source.

    far, which is empty by now (words[FAR] is 0), becomes the queue: each vertex gets a predecessor once, and is queued
    then, and each row of its tree is queued once behind it. So a place for each row is enough, and the work is linear.
    """
    row = thread_x()
    if row < len(dist):
        u = owners[row]
        if u == source or predecessor[u] >= 0:
            take_zero_arcs(row, False, source, arcs, owners, dist, predecessor, far, words)


@cuda.jit
def follow_zero_arcs(source, arcs, owners, dist, predecessor, far, words):
    """The same from the queued rows, level by level until the queue is empty: one block."""
    start, end = u32(0), words[FAR]
    while start < end:
        cuda.syncthreads()  # all have read the end before any thread adds to the queue
        i = u32(start + cuda.threadIdx.x)
        while i < end:
            take_zero_arcs(u32(far[i]), True, source, arcs, owners, dist, predecessor, far, words)
            i = u32(i + cuda.blockDim.x)
        cuda.syncthreads()  # before any thread reads the queued rows and their number
        start, end = end, words[FAR]


def sssp(graph: Graph, result: Result, run: Run) -> None:
    """Fills result, (n,), from run.source. run.delta is how far the threshold moves, None for default_delta."""
    n, parts = graph.vertices, layout(graph)
    rows, source = len(parts.owners), np.uint32(run.source)
    has_zero_weights = bool(graph.arcs and graph.weights.min() == 0)
    delta = np.uint32(min(run.delta or default_delta(graph), INF))
    block_capacity = min(MAX_BLOCK_QUEUE, max(MIN_BLOCK_QUEUE, (run.shared_limit // 4 - int(ENTRIES)) // 4))
    capacity = max(block_capacity, min(MAX_GRID_QUEUE, rows))
    far_places, words = 2 * (rows + DEGREE * (block_capacity + capacity)), int(ENTRIES) + 4 * capacity
    run.require(sum(part.nbytes for part in parts) + 4 * rows + 4 * n + 8 * far_places + 4 * words)
    arcs, owners = run.upload_untimed(*parts)
    with run.timed():
        with run.phase("copy_in"):
            dist, predecessor, far, queues = run.allocate(
                *((rows, np.int32), (n, np.int32), (far_places, np.uint64), (words, np.uint32))
            )
            common_arguments = delta, np.uint32(block_capacity), np.uint32(capacity), arcs, dist, far, queues
            shared = 4 * (int(ENTRIES) + 4 * block_capacity)
            find_distances = run.prepare(
                (initialise, blocks_for(rows, run.block), run.block, (source, arcs, dist, predecessor)),
                (search, 1, run.block, (source, *common_arguments), shared),
                (search_on, run.multiprocessors, run.block, common_arguments, shared),
            )
            tree = arcs, owners, dist, predecessor
            kernels = [(find_predecessors, blocks_for(rows, run.block), run.block, tree)]
            if has_zero_weights:
                queued = source, *tree, far, queues
                kernels.append((start_zero_arcs, blocks_for(rows, run.block), run.block, queued))
                kernels.append((follow_zero_arcs, 1, run.block, queued))
            find_tree = run.prepare(*kernels)
        with run.phase("kernels"):
            find_distances()
        with run.phase("predecessors"):
            find_tree()
        with run.phase("copy_out"):
            run.download((dist[:n], result.distances), (predecessor, result.predecessors))


def launches(vertices: int, tile: int) -> None:
    """Four, and two more where a weight is 0."""
    return None
