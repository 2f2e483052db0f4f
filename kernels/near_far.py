"""Delta-stepping with two piles, near and far, from one source; one block does the whole search.

    while a vertex is near or far
        until none is near
            each vertex v put near, by the distance d that it had then:
                each of its arcs (v, u, w): where d + w < dist[u], dist[u] = d + w, and u is put near or far
        the threshold moves on by delta; what is far and below it is near now

Near is what is below the threshold. The method is Near-Far, by A. Davidson, S. Baxter, M. Garland and
J. D. Owens (Work-Efficient Parallel GPU Methods for Single-Source Shortest Paths, IPDPS 2014).

A road graph takes a thousand rounds and more with some hundred near vertices each, so that a round's
latency is what counts, and a barrier of one block takes far less time than one of the whole card. For
a vertex's arcs to be found without a look at where they start, each has a row of DEGREE arcs; one with
more has a tree of rows, each a vertex of its own behind an arc of weight 0. Where weights of the
graph itself are 0, predecessors along such arcs are found last, so that they cannot run in a circle.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import cuda, uint32

from kernels.device import Result, Run, blocks_for, thread_x
from kernels.graph import INF, Graph
from kernels.ready import ready

DEGREE = 4  # arcs of a row
DELTA = 8  # in mean weights
NEAR, LEAST_NEAR = 4096, 64  # places of a near queue: at most, and at least, whatever shared memory there is
HEADER, FAR, LEAST = 4, np.uint32(2), np.uint32(3)  # of the search's shared memory
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


@cuda.jit(device=True)
def relaxation(i, count, room, here, words, arcs):
    """The i-th arc of a round: its head, and how long the path to it is; INF where there is none.

    No branches, so that the loads of several are under way at once.
    """
    there = i < np.uint32(np.uint32(DEGREE) * count)
    at = np.uint32(here + (i // np.uint32(DEGREE) if there else np.uint32(0)))
    v, d = words[at], words[np.uint32(at + np.uint32(2) * room)]
    arc = arcs[np.uint64(np.uint64(DEGREE) * np.uint64(v) + np.uint64(i % np.uint32(DEGREE)))]
    return np.uint32(arc), np.uint32(d + np.uint32(arc >> np.uint64(32))) if there else np.uint32(INF)


@cuda.jit(device=True)
def put(v, d, threshold, room, words, side, near, base, far, half):
    """Put v near where d is below the threshold and there is room, else far, and return its place there, else 0."""
    is_near = d < threshold
    # One addition for either pile, so that a warp that has both does not make them one after the other.
    place = np.uint32(cuda.atomic.add(words, side if is_near else FAR, np.uint32(1)))
    if is_near and np.uint32(place - base) < room:
        at = np.uint32(near + np.uint32(place - base))
        words[at] = v
        words[np.uint32(at + np.uint32(2) * room)] = d
        return np.uint32(0)
    if is_near:
        place = np.uint32(cuda.atomic.add(words, FAR, np.uint32(1)))
    far[np.uint64(half + np.uint64(place))] = np.uint64((np.uint64(d) << np.uint64(32)) | np.uint64(v))
    return place


@cuda.jit
def search(source, delta, room, arcs, dist, far):
    """One block, with HEADER + 4 room words of shared memory.

    words: how many entries were ever put into the one and the other near queue (never set back, so that
    one barrier a round is enough), how many far holds, the least distance in it; then of all places of
    both queues the rows, and the distances. An entry of far is the distance above the row.

    Whoever lowers a distance puts an entry, so that a row has at most one entry with the distance that
    it has now: throwing out the others leaves no more than there are rows. A round adds at most DEGREE
    for each entry of the queue. So far, each half of which has places for both, cannot run over where it
    is gone through as soon as more than `rows` are in it.
    """
    words = cuda.shared.array(0, uint32)
    me, threads = np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockDim.x)
    rows, halves = np.uint32(len(dist)), np.uint64(len(far) // 2)
    threshold = min(delta, np.uint32(INF))
    count, side, near, half = np.uint32(1), np.uint32(0), np.uint32(HEADER), np.uint64(0)
    total = earlier = np.uint32(0)  # what was ever put into the queue now read, and into the other
    if me == 0:
        words[near] = source
        words[np.uint32(near + np.uint32(2) * room)] = 0
        words[0] = words[1] = words[FAR] = 0
    cuda.syncthreads()
    while count != 0:
        here, near, side = near, np.uint32(np.uint32(2 * HEADER) + room - near), np.uint32(np.uint32(1) - side)
        base, earlier = earlier, total
        place = np.uint32(0)
        i = me
        while i < np.uint32(np.uint32(DEGREE) * count):
            u, to_u = relaxation(i, count, room, here, words, arcs)
            v, to_v = relaxation(np.uint32(i + threads), count, room, here, words, arcs)
            x, to_x = relaxation(np.uint32(i + np.uint32(2) * threads), count, room, here, words, arcs)
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
        full = cuda.syncthreads_or(np.int32(place >= rows)) != 0
        total = words[side]
        count = min(np.uint32(total - base), room)
        if full or count == 0:
            if count == 0:
                threshold = min(np.uint32(threshold + delta), np.uint32(INF))
            while full or (count == 0 and words[FAR] != 0):
                length = words[FAR]
                cuda.syncthreads()
                if me == 0:
                    words[FAR] = 0
                    words[LEAST] = INF
                cuda.syncthreads()
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
                cuda.syncthreads()
                full = False
                total = words[side]
                count = min(np.uint32(total - base), room)
                if count == 0:  # the bucket of the least
                    threshold = min(np.uint32(words[LEAST] // delta * delta + delta), np.uint32(INF))


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


@cuda.jit
def claim_free_heads(source, arcs, owners, dist, predecessor):
    """The others' predecessors, by arcs of weight 0 from vertices that lead to the source already; one block."""
    n, rows = np.uint32(len(predecessor)), np.uint32(len(dist))
    changed = True
    while changed:
        claimed = np.int32(0)
        row = np.uint32(cuda.threadIdx.x)
        while row < rows:
            u = owners[row]
            if u == source or predecessor[u] >= 0:
                arc = np.uint64(np.uint64(DEGREE) * np.uint64(row))
                end = np.uint64(arc + np.uint64(DEGREE))
                while arc < end:
                    v = np.uint32(arcs[arc])
                    if arcs[arc] < n and v != source and dist[v] == dist[row] and predecessor[v] < 0:
                        cuda.atomic.cas(predecessor, v, -1, np.int32(u))
                        claimed = np.int32(1)
                    arc = np.uint64(arc + np.uint64(1))
            row = np.uint32(row + cuda.blockDim.x)
        changed = cuda.syncthreads_or(claimed) != 0


def sssp(graph: Graph, result: Result, run: Run) -> None:
    """Fills result, (n,), from run.source. run.delta is how far the threshold moves, None for default_delta."""
    n, parts = graph.vertices, layout(graph)
    rows, source = len(parts.owners), np.uint32(run.source)
    free = bool(graph.arcs and graph.weights.min() == 0)
    delta = np.uint32(min(run.delta or default_delta(graph), INF))
    room = min(NEAR, max(LEAST_NEAR, run.shared_limit // 16 - 1))
    places = 2 * (rows + DEGREE * room)
    run.require(sum(part.nbytes for part in parts) + 4 * rows + 4 * n + 8 * places)
    arcs, owners = run.resident(*parts)
    with run.timed():
        with run.phase("copy_in"):
            dist, predecessor, far = run.allocate((rows, np.int32), (n, np.int32), (places, np.uint64))
            find = ready(
                run,
                (initialise, blocks_for(rows, run.block), run.block, (source, arcs, dist, predecessor)),
                (search, 1, run.block, (source, delta, np.uint32(room), arcs, dist, far), 4 * (HEADER + 4 * room)),
            )
            everything = arcs, owners, dist, predecessor
            claims = [(claim_heads, blocks_for(rows, run.block), run.block, everything)]
            if free:
                claims.append((claim_free_heads, 1, run.block, (source, *everything)))
            claim = ready(run, *claims)
        with run.phase("kernels"):
            find()
        with run.phase("predecessors"):
            claim()
        with run.phase("copy_out"):
            run.download((dist[:n], result.distances), (predecessor, result.predecessors))


def launches(vertices: int, tile: int) -> None:
    """Three, and one more where a weight is 0."""
    return None
