"""Delta-stepping with two piles, near and far, from one source: one block while few vertices are near, else all.

    while a vertex is near or far
        until none is near
            each vertex v put near, by the distance d that it had then:
                each of its arcs (v, u, w): where d + w < dist[u], dist[u] = d + w, and u is put near or far
        the threshold moves on by delta; what is far and below it is near now

Near is what is below the threshold. The method is Near-Far, by A. Davidson, S. Baxter, M. Garland and
J. D. Owens (Work-Efficient Parallel GPU Methods for Single-Source Shortest Paths, IPDPS 2014).

A road graph takes a thousand rounds and more with some hundred near vertices each, so that a round's
latency is what counts, and a barrier of one block takes far less time than one of the whole card: one
block searches, with its queue in shared memory. Where what is near does not fit there, or far is long
once it is to be gone through, all blocks go on, with a queue in global memory; where few are near again
one block does, and the others wait. The host has no part in that.

For a vertex's arcs to be found without a look at where they start, each has a row of DEGREE arcs; one
with more has a tree of rows, each a vertex of its own behind an arc of weight 0. Where weights of the
graph itself are 0, predecessors along such arcs are found last, so that they cannot run in a circle.
"""

from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numba import cuda, uint32

from kernels.gpu.card import SIMULATED
from kernels.gpu.intrinsics import thread_x
from kernels.gpu.launching import blocks_for
from kernels.graph import INF, Graph
from kernels.run import Result, Run

DEGREE = 4  # arcs of a row
DELTA = 8  # in mean weights
NEAR, LEAST_NEAR = 4096, 64  # places of one block's near queue: at most, and at least, whatever shared memory there is
WIDE = 2**20  # places of all blocks' near queue, at most
LONG = 2**14  # entries of far that all blocks go through
FEW = 512  # near vertices that one block goes on with
# In the words of queues:
FAR, LEAST, FULL, COUNT, THRESHOLD, HALF, HEADER = (np.uint32(i) for i in (2, 3, 4, 6, 7, 8, 9))
MAX_THREADS = {} if SIMULATED else {"launch_bounds": 1024}  # else cards before 9.0 have too few registers for them
NONE = np.uint64(INF << 32)  # an arc that is none: longer than any path


class Layout(NamedTuple):
    """A graph as rows of arcs. Row v < n is vertex v's own, any other lies in the tree of the vertex that owns it.

    arcs: uint64, (DEGREE rows,), the weight above the row it leads to; NONE where there are fewer.
    owners: uint32, (rows,).
    """

    arcs: np.ndarray
    owners: np.ndarray


@lru_cache(maxsize=1)
def layout(graph: Graph) -> Layout:
    """A property of the graph, as its CSR arrays are: made once, before the clock starts."""
    rows = graph.vertices
    places, values, owners = [], [], [np.arange(rows)]
    lists, lengths = owners[0], np.diff(graph.indptr)
    words = graph.weights.astype(np.uint64) << np.uint64(32) | graph.indices.astype(np.uint64)
    while len(lists):
        which = np.repeat(np.arange(len(lists)), lengths)
        place = np.arange(len(words)) - (np.cumsum(lengths) - lengths)[which]
        fits = lengths <= DEGREE
        cut = np.where(fits, 0, -(-lengths // DEGREE))  # the rows that a longer list is cut into
        row = np.where(fits, lists, rows + np.cumsum(cut) - cut)[which] + place // DEGREE
        places.append(DEGREE * row + place % DEGREE)
        values.append(words)
        owners.append(np.repeat(lists, cut))
        words = np.arange(rows, rows + cut.sum(), dtype=np.uint64)  # arcs of weight 0 to those rows
        rows += len(words)
        lists, lengths = lists[~fits], cut[~fits]
    arcs = np.full(DEGREE * rows, NONE)
    arcs[np.concatenate(places)] = np.concatenate(values)
    return Layout(arcs, np.concatenate(owners).astype(np.uint32))


def default_delta(graph: Graph) -> int:
    """DELTA times the mean weight."""
    return max(1, int(DELTA * graph.weights.mean())) if graph.arcs else 1


@cuda.jit
def initialise(source, arcs, dist, predecessor):
    row = thread_x()
    if row < len(dist):
        # 0, as weights have 31 bits: read so that the arcs lie in the L2 cache, as far as they fit, before one
        # multiprocessor alone has to wait for them.
        nothing = np.int32(arcs[np.uint64(np.uint64(DEGREE) * np.uint64(row))] >> np.uint64(63))
        dist[row] = nothing if row == source else np.int32(INF - nothing)
    if row < len(predecessor):
        predecessor[row] = -1


@cache
def rounds(by_all: bool):
    """Rounds of one block until all should go on, or of all until one block should, as a device function.

    words: how many entries were put into the one and the other near queue (never set back meanwhile,
    so that one barrier a round is enough), how many far holds, the least distance in it, for either
    queue whether far was full when it was filled, and what is handed over; then, from HEADER on, of
    all `room` places of both queues the rows, and the distances. An entry of far is the distance
    above the row.

    Whoever lowers a distance puts an entry, so that a row has at most one entry with the distance that
    it has now: throwing out the others leaves no more than there are rows. A round adds at most DEGREE
    for each entry of the queue. So far cannot run over: each half of it has places for rows and for a round
    of either kind, and it is gone through after the round that puts more than `rows` into it, or, where
    that is left to all blocks, after their first.
    """

    @cuda.jit(device=True)
    def meet():
        if by_all:
            cuda.cg.this_grid().sync()
        else:
            cuda.syncthreads()

    @cuda.jit(device=True)
    def next_place(words, counter):
        if by_all and not SIMULATED:  # one addition for all of a warp that count alike
            alike = cuda.match_any_sync(cuda.activemask(), counter)
            leader = np.int32(cuda.ffs(alike) - 1)
            before = np.uint32(cuda.popc(np.uint32(alike & cuda.lanemask_lt())))
            place = np.int32(0)
            if before == 0:
                place = np.int32(cuda.atomic.add(words, counter, np.uint32(cuda.popc(alike))))
            return np.uint32(np.uint32(cuda.shfl_sync(alike, place, leader)) + before)
        return np.uint32(cuda.atomic.add(words, counter, np.uint32(1)))

    @cuda.jit(device=True)
    def put(v, d, threshold, room, words, side, near, base, far, half):
        """Put v near where d is below the threshold and there is room, else far, and return its place there, else 0."""
        is_near = d < threshold
        # One addition for either pile, so that a warp that has both does not make them one after the other.
        place = next_place(words, side if is_near else FAR)
        if is_near and np.uint32(place - base) < room:
            at = np.uint32(near + np.uint32(place - base))
            words[at] = v
            words[np.uint32(at + np.uint32(2) * room)] = d
            return np.uint32(0)
        if is_near:
            place = next_place(words, FAR)
        far[np.uint64(half + np.uint64(place))] = np.uint64((np.uint64(d) << np.uint64(32)) | np.uint64(v))
        return place

    @cuda.jit(device=True)
    def relaxation(i, count, room, here, words, arcs, dist):
        """The i-th arc of a round: its head, and how long the path to it is; INF where there is none.

        No branches, so that the loads of several are under way at once.
        """
        there = i < np.uint32(np.uint32(DEGREE) * count)
        at = np.uint32(here + (i // np.uint32(DEGREE) if there else np.uint32(0)))
        v, d = words[at], words[np.uint32(at + np.uint32(2) * room)]
        if by_all:  # one block does not look: a load more takes longer than the arcs of the few that are out of date
            there = there and np.uint32(dist[v]) >= d
        arc = arcs[np.uint64(np.uint64(DEGREE) * np.uint64(v) + np.uint64(i % np.uint32(DEGREE)))]
        return np.uint32(arc), np.uint32(d + np.uint32(arc >> np.uint64(32))) if there else np.uint32(INF)

    @cuda.jit(device=True)
    def go_on(words, room, few, delta, threshold, half, count, arcs, dist, far):
        """Start from `count` entries at HEADER; return threshold, half, how many entries are near, and where."""
        me = thread_x() if by_all else np.uint32(cuda.threadIdx.x)
        threads = np.uint32(cuda.gridsize(1)) if by_all else np.uint32(cuda.blockDim.x)
        rows, halves = np.uint32(len(dist)), np.uint64(len(far) // 2)
        side, near = np.uint32(0), HEADER
        base = total = earlier = np.uint32(0)  # what was ever put into a queue: before, into that now read, the other
        while True:
            full = False
            if count != 0:
                here, near = near, np.uint32(np.uint32(2) * HEADER + room - near)
                side = np.uint32(np.uint32(1) - side)
                base, earlier = earlier, total
                place = np.uint32(0)
                i = me
                while i < np.uint32(np.uint32(DEGREE) * count):
                    u, to_u = relaxation(i, count, room, here, words, arcs, dist)
                    v, to_v = relaxation(np.uint32(i + threads), count, room, here, words, arcs, dist)
                    x, to_x = relaxation(np.uint32(i + np.uint32(2) * threads), count, room, here, words, arcs, dist)
                    old_u = old_v = old_x = np.int32(0)  # all are asked for before any is looked at
                    if to_u < INF:
                        old_u = cuda.atomic.min(dist, u, np.int32(to_u))
                    if to_v < INF:
                        old_v = cuda.atomic.min(dist, v, np.int32(to_v))
                    if to_x < INF:
                        old_x = cuda.atomic.min(dist, x, np.int32(to_x))
                    if to_u < np.uint32(old_u):
                        place = max(place, put(u, to_u, threshold, room, words, side, near, base, far, half))
                    if to_v < np.uint32(old_v):
                        place = max(place, put(v, to_v, threshold, room, words, side, near, base, far, half))
                    if to_x < np.uint32(old_x):
                        place = max(place, put(x, to_x, threshold, room, words, side, near, base, far, half))
                    i = np.uint32(i + np.uint32(3) * threads)
                if by_all:
                    if place >= rows:
                        words[np.uint32(FULL + side)] = 1
                    meet()
                    full = words[np.uint32(FULL + side)] != 0
                else:
                    full = cuda.syncthreads_or(np.int32(place >= rows)) != 0
                total = words[side]
                count = min(np.uint32(total - base), room)
            idle = full or count == 0
            if not by_all and (np.uint32(total - base) > room or (idle and words[FAR] > LONG)):
                return threshold, half, count, near
            if count == 0:
                threshold = min(np.uint32(threshold + delta), np.uint32(INF))
            while full or (count == 0 and words[FAR] != 0):
                length = words[FAR]
                meet()
                if me == 0:
                    words[FAR] = words[FULL] = words[np.uint32(FULL + np.uint32(1))] = 0
                    words[LEAST] = INF
                meet()
                half, nearest = np.uint64(halves - half), np.uint32(INF)
                i = me
                while i < length:
                    entry = far[np.uint64(halves - half + np.uint64(i))]
                    v, d = np.uint32(entry), np.uint32(entry >> np.uint64(32))
                    if np.uint32(dist[v]) == d:
                        put(v, d, threshold, room, words, side, near, base, far, half)
                        nearest = min(nearest, d)
                    i = np.uint32(i + threads)
                if nearest != INF:
                    cuda.atomic.min(words, LEAST, nearest)
                meet()
                full = False
                total = words[side]
                count = min(np.uint32(total - base), room)
                if count == 0:  # the bucket of the least
                    threshold = min(np.uint32(words[LEAST] // delta * delta + delta), np.uint32(INF))
            if count == 0 or (by_all and count <= few):
                return threshold, half, count, near

    return go_on


@cuda.jit(device=True)
def hand_over(words, near, room, count, to, to_room):
    """What is near, to the first queue of other words: by one block."""
    i = np.uint32(cuda.threadIdx.x)
    while i < count:
        to[np.uint32(HEADER + i)] = words[np.uint32(near + i)]
        to[np.uint32(HEADER + np.uint32(2) * to_room + i)] = words[np.uint32(near + np.uint32(2) * room + i)]
        i = np.uint32(i + cuda.blockDim.x)
    if cuda.threadIdx.x == 0:
        to[0] = to[1] = to[FULL] = to[np.uint32(FULL + np.uint32(1))] = 0
        to[FAR] = words[FAR]
    cuda.syncthreads()


alone, together = rounds(by_all=False), rounds(by_all=True)


@cuda.jit(device=True)
def by_one_block(words, wide, own, room, delta, threshold, half, count, arcs, dist, far):
    """Go on with `count` entries at HEADER of own; hand what comes of it over to words.

    With more far than there are rows, all blocks look at far after a round: their first is of side 1.
    """
    threshold, half, count, near = alone(own, room, np.uint32(0), delta, threshold, half, count, arcs, dist, far)
    hand_over(own, near, room, count, words, wide)
    if cuda.threadIdx.x == 0:
        words[THRESHOLD], words[HALF], words[COUNT] = threshold, np.uint32(half != 0), count
        words[np.uint32(FULL + np.uint32(1))] = np.uint32(words[FAR] > len(dist))


@cuda.jit
def search(source, delta, room, wide, arcs, dist, far, words):
    """Distances, until all blocks should go on: one block, with HEADER + 4 room words of shared memory.

    words: HEADER + 4 wide. Whatever lies in it and in far.
    """
    own = cuda.shared.array(0, uint32)
    if cuda.threadIdx.x == 0:
        own[HEADER] = source
        own[np.uint32(HEADER + np.uint32(2) * room)] = own[0] = own[1] = own[FAR] = 0
    cuda.syncthreads()
    threshold = min(delta, np.uint32(INF))
    by_one_block(words, wide, own, room, delta, threshold, np.uint64(0), np.uint32(1), arcs, dist, far)


@cuda.jit(**MAX_THREADS)
def search_on(delta, room, wide, arcs, dist, far, words):
    """The rest of the distances, after `search`: blocks that are all on the card at once; arguments as there."""
    own = cuda.shared.array(0, uint32)
    grid = cuda.cg.this_grid()
    few = min(room, np.uint32(FEW))
    while True:
        threshold, half, count = words[THRESHOLD], np.uint64(words[HALF]) * np.uint64(len(far) // 2), words[COUNT]
        if count == 0 and words[FAR] == 0:
            return
        threshold, half, count, near = together(words, wide, few, delta, threshold, half, count, arcs, dist, far)
        grid.sync()  # before the first block changes words
        if count == 0:
            return
        if cuda.blockIdx.x == 0:
            hand_over(words, near, wide, count, own, room)
            by_one_block(words, wide, own, room, delta, threshold, half, count, arcs, dist, far)
        grid.sync()


@cuda.jit
def claim_heads(arcs, owners, dist, predecessor):
    """Predecessors by arcs that cost something; of several that are equally good the last to write stays."""
    row = thread_x()
    if row < len(dist):
        d, arc = np.uint32(dist[row]), np.uint64(np.uint64(DEGREE) * np.uint64(row))
        end = np.uint64(arc + np.uint64(DEGREE))
        while arc < end:
            v, w = np.uint32(arcs[arc]), np.uint32(arcs[arc] >> np.uint64(32))
            to_v = np.uint32(d + w)
            if w != 0 and to_v < INF and np.int32(to_v) == dist[v]:
                predecessor[v] = owners[row]
            arc = np.uint64(arc + np.uint64(1))


@cuda.jit(device=True)
def claim_free(row, links, source, arcs, owners, dist, predecessor, far, words):
    """Make a row's owner the predecessor along the row's arcs of weight 0, and queue whom that claims first.

    links: also queue the rows that this one leads to in the tree of its owner.
    """
    n, u = np.uint32(len(predecessor)), owners[row]
    arc = np.uint64(np.uint64(DEGREE) * np.uint64(row))
    end = np.uint64(arc + np.uint64(DEGREE))
    while arc < end:
        v, w = np.uint32(arcs[arc]), np.uint32(arcs[arc] >> np.uint64(32))
        claims = False
        if w == 0:
            if v >= n:
                claims = links
            elif v != source and dist[v] == dist[row] and predecessor[v] < 0:
                claims = cuda.atomic.cas(predecessor, v, -1, np.int32(u)) == -1
        if claims:
            far[cuda.atomic.add(words, FAR, np.uint32(1))] = np.uint64(v)
        arc = np.uint64(arc + np.uint64(1))


@cuda.jit
def claim_free_heads(source, arcs, owners, dist, predecessor, far, words):
    """Predecessors by arcs of weight 0, from vertices that have one by now, and from the source.

    far, which is empty by now (words[FAR] is 0), becomes the queue: each vertex is claimed, and so queued, once, and
    each row of its tree once behind it. So all rows are enough places, and the work is linear.
    """
    row = thread_x()
    if row < len(dist):
        u = owners[row]
        if u == source or predecessor[u] >= 0:
            claim_free(row, False, source, arcs, owners, dist, predecessor, far, words)


@cuda.jit
def claim_further_heads(source, arcs, owners, dist, predecessor, far, words):
    """The same from those who are queued, until nobody is: one block."""
    start, end = np.uint32(0), words[FAR]
    while start < end:
        cuda.syncthreads()  # all have read the end before anyone moves it
        i = np.uint32(start + cuda.threadIdx.x)
        while i < end:
            claim_free(np.uint32(far[i]), True, source, arcs, owners, dist, predecessor, far, words)
            i = np.uint32(i + cuda.blockDim.x)
        cuda.syncthreads()
        start, end = end, words[FAR]


def sssp(graph: Graph, result: Result, run: Run) -> None:
    """Fills result, (n,), from run.source. run.delta is how far the threshold moves, None for default_delta."""
    n, parts = graph.vertices, layout(graph)
    rows, source = len(parts.owners), np.uint32(run.source)
    free = bool(graph.arcs and graph.weights.min() == 0)
    delta = np.uint32(min(run.delta or default_delta(graph), INF))
    room = min(NEAR, max(LEAST_NEAR, (run.shared_limit // 4 - int(HEADER)) // 4))
    wide = max(room, min(WIDE, rows))
    places, words = 2 * (rows + DEGREE * (room + wide)), int(HEADER) + 4 * wide
    run.require(sum(part.nbytes for part in parts) + 4 * rows + 4 * n + 8 * places + 4 * words)
    arcs, owners = run.resident(*parts)
    with run.timed():
        with run.phase("copy_in"):
            dist, predecessor, far, queues = run.allocate(
                *((rows, np.int32), (n, np.int32), (places, np.uint64), (words, np.uint32))
            )
            on = delta, np.uint32(room), np.uint32(wide), arcs, dist, far, queues
            shared = 4 * (int(HEADER) + 4 * room)
            find = run.prepare(
                (initialise, blocks_for(rows, run.block), run.block, (source, arcs, dist, predecessor)),
                (search, 1, run.block, (source, *on), shared),
                (search_on, run.multiprocessors, run.block, on, shared),
            )
            everything = arcs, owners, dist, predecessor
            claims = [(claim_heads, blocks_for(rows, run.block), run.block, everything)]
            if free:
                queued = source, *everything, far, queues
                claims.append((claim_free_heads, blocks_for(rows, run.block), run.block, queued))
                claims.append((claim_further_heads, 1, run.block, queued))
            claim = run.prepare(*claims)
        with run.phase("kernels"):
            find()
        with run.phase("predecessors"):
            claim()
        with run.phase("copy_out"):
            run.download((dist[:n], result.distances), (predecessor, result.predecessors))


def launches(vertices: int, tile: int) -> None:
    """Four, and two more where a weight is 0."""
    return None
