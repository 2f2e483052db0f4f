"""Near-Far: delta-stepping with two piles, near and far, from one source.

    near = the source, far = nothing, threshold = delta
    while near or far has entries
        while near has entries
            each entry (u, d) of near, each arc (u, v, w):
                where d + w < dist[v], dist[v] = d + w and (v, d + w) goes to near (below the threshold) or to far
        raise the threshold past the least distance in far; what is below it moves from far to near

The method is A. Davidson, S. Baxter, M. Garland and J. D. Owens' (Work-Efficient Parallel GPU Methods for
Single-Source Shortest Paths, IPDPS 2014).

On a road graph a search takes a thousand rounds and more, each with hundreds of near vertices, so the latency of a
round decides: a barrier of a block takes far less time than one of the whole card. So each block has a near queue of
its own, in shared memory, and goes through it round after round without the others. Whoever lowers a distance enqueues
the vertex in its own block. That the blocks do not wait for each other costs some work twice: a block may go on from a
distance that another one lowers later.

All blocks meet at a barrier of the card when their queues are empty. Each has published how many entries its part of
far has and the least distance in it, so all raise the threshold to the same value. Then each block reads an equal share
of every part: what is below the threshold goes to its own queue, the rest to its part of far. Far has two halves: one
is read, the other written. A block calls the others to meet earlier where its queue is long or its part of far is full.
The threshold then stays, and each block first moves what is left in its queue to far, so that it is shared out.

Arcs are stored in rows of DEGREE, so that those of a vertex are found without reading where they start; as many threads
take a row. A vertex with more arcs has a row of one arc less and a link, to up to DIRECT further arcs, which the
threads of a warp relax together. A hub has more than that: its link leads to a fan, further rows with links of their
own, which are enqueued as vertices are. Where the graph itself has weights of 0, predecessors along such arcs are found
last, so that they cannot form a circle.

A near queue is a ring. A round takes an entry for every DEGREE threads from it, and adds to its end. The additions of
even and of odd rounds have a counter each, so that one barrier per round is enough: when some threads already add to
one, others may still read the other.
"""

import time
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import cuda, uint32, uint64

from kernels.gpu.card import SIMULATED
from kernels.gpu.intrinsics import i32, thread_x, u32, u64
from kernels.gpu.launching import blocks_for
from kernels.graph import INF, Graph
from kernels.run import Result, Run

DEGREE = 4  # arcs of a row
DIRECT = 124  # arcs behind a link to arcs, at most
DELTA = 128  # the default delta: this many mean weights, divided by the square of the mean out-degree
THREADS, WIDE_THREADS = 512, 1024  # of a block, at most; of a wide graph's, whose rounds have more than a block takes
WIDE = 8  # the mean out-degree from which on a graph is wide
MAX_PLACES = 4096  # of a near queue, at most; a power of two
MIN_PLACES = 64  # the same, at least, whatever shared memory there is
CROWDED = 512  # a block with more near entries calls the others to meet
# Blocks of up to 1,024 threads. Without this bound the compiler gives a thread more registers than so many threads
# can have on cards before 9.0, and the launch fails. The simulator does not take it.
LAUNCH_BOUNDS = {} if SIMULATED else {"launch_bounds": 1024}
LANES = 1 if SIMULATED else 32  # threads of a warp
FULL_WARP = 0xFFFFFFFF
NO_ARC = np.uint64(INF << 32)  # longer than any path
LINK, FAN = u64(1 << 63), u64(1 << 62)  # bits of a link: it is one; it leads to rows
COUNT = u32((1 << 30) - 1)  # bits of how many arcs or rows a link leads to
# Words of a block's counters: entries added in even and in odd rounds, whether to stop after an even and an odd round,
# the entries and the least distance of its part of far.
ADDED, STOP, FAR, LEAST = (u32(i) for i in (0, 2, 4, 5))
COUNTERS = 6
# Words that all blocks share: the meeting that is called for, the least distance of far by meeting modulo 3, how many
# entries are queued for their arcs of weight 0, and from LENGTHS on how many each part of far has, of even and of odd
# meetings.
CALLED, LEASTS, QUEUED, LENGTHS = (u32(i) for i in (0, 1, 4, 5))


class Rows(NamedTuple):
    """Which arcs of a graph's CSR arrays its rows have. Row v < n is vertex v's.

    count: of all rows. queued: of those that may be enqueued; they come first, and after n there are those of fans.
    owners, starts, stops: of each row of a fan, uint32 and int32: the vertex that it belongs to, and its arcs.
    linked: uint32, the rows whose last word is a link. links: uint64, those words: LINK, how many above the first row
    of them: arcs from there on, or with FAN rows. behind: int32, the first of the arcs behind each link; 0 of a fan's.
    """

    count: int
    queued: int
    owners: np.ndarray
    starts: np.ndarray
    stops: np.ndarray
    linked: np.ndarray
    links: np.ndarray
    behind: np.ndarray


@lru_cache(maxsize=1)
def layout(graph: Graph) -> Rows:
    """The rows of a graph: found once, before the clock starts."""
    n, indptr, degrees = graph.vertices, graph.indptr, np.diff(graph.indptr)
    own, most = DEGREE - 1, DEGREE - 1 + DIRECT  # arcs beside a link; and with those behind it
    long = np.flatnonzero(degrees > DEGREE)
    hubs, others = long[degrees[long] > most], long[degrees[long] <= most]
    fans = -(-(degrees[hubs] - own) // most)
    first = np.cumsum(fans) - fans  # row of each fan, after n
    owners = np.repeat(hubs, fans)
    starts = indptr[owners] + own + (np.arange(len(owners)) - np.repeat(first, fans)) * most
    stops = np.minimum(indptr[owners + 1], starts + most)
    cut = np.flatnonzero(stops - starts > DEGREE)
    behind = np.r_[indptr[others], starts[cut]] + own
    arcs = np.r_[indptr[others + 1], stops[cut]] - behind
    rows, queued = -(-arcs // DEGREE), n + len(owners)
    counts, firsts = np.r_[arcs, fans], np.r_[queued + np.cumsum(rows) - rows, n + first]
    links = LINK | (counts.astype(np.uint64) << u64(32)) | firsts.astype(np.uint64)
    links[len(arcs) :] |= FAN
    return Rows(
        queued + int(rows.sum()),
        queued,
        owners.astype(np.uint32),
        starts.astype(np.int32),
        stops.astype(np.int32),
        np.r_[others, n + cut, hubs].astype(np.uint32),
        links,
        np.r_[behind, 0 * hubs].astype(np.int32),
    )


@cuda.jit(device=True)
def owner_of(row, n, owners):
    return row if row < n else owners[u32(row - n)]


@cuda.jit
def fill_rows(indptr, indices, weights, fan_owners, starts, stops, arcs, owners):
    """The arcs of the rows that may be enqueued, a thread a word, without links; and the owners of those after n."""
    i = u64(u64(cuda.blockIdx.x) * u64(cuda.blockDim.x) + u64(cuda.threadIdx.x))
    row, n = u32(i // u64(DEGREE)), u32(len(indptr) - 1)
    if i < u64(DEGREE) * u64(n + len(starts)):
        if row < n:
            start, stop = u32(indptr[row]), u32(indptr[u32(row + u32(1))])
        else:
            start, stop = u32(starts[u32(row - n)]), u32(stops[u32(row - n)])
            owners[u32(row - n)] = fan_owners[u32(row - n)]
        arc = u32(start + u32(i % u64(DEGREE)))
        arcs[i] = u64(u64(weights[arc]) << u64(32) | u64(indices[arc])) if arc < stop else NO_ARC


@cuda.jit
def set_links(linked, links, behind, indices, weights, n, arcs, owners):
    """The links, a thread each, with the arcs behind them and their owners."""
    i = thread_x()
    if i < len(linked):
        row, link = linked[i], links[i]
        arcs[u64(u64(DEGREE) * u64(row) + u64(DEGREE - 1))] = link
        if not link & FAN:
            first, count, k = u32(link), u32(link >> u64(32)) & COUNT, u32(0)
            owner = owner_of(row, n, owners)
            while k % u32(DEGREE) != u32(0) or k < count:
                word, arc = NO_ARC, u32(u32(behind[i]) + k)
                if k < count:
                    word = u64(u64(weights[arc]) << u64(32) | u64(indices[arc]))
                arcs[u64(u64(DEGREE) * u64(first) + u64(k))] = word
                owners[u32(first - n + k // u32(DEGREE))] = owner
                k = u32(k + u32(1))


def lay_out(graph: Graph, run: Run) -> tuple:
    """On the card, before the clock starts: the words of all rows, uint64, (DEGREE rows,), and the owners, uint32, of
    those from n on.
    """
    rows, n, block = layout(graph), graph.vertices, run.block
    indptr, indices, weights, *others = run.upload_untimed(graph.indptr, graph.indices, graph.weights, *rows[2:])
    fans, links = others[:3], others[3:]
    started = time.perf_counter()
    arcs, owners = run.allocate((DEGREE * rows.count, np.uint64), (rows.count - n, np.uint32))
    words = blocks_for(DEGREE * rows.queued, block)
    run.launch((fill_rows, words, block, (indptr, indices, weights, *fans, arcs, owners)))
    if len(rows.linked):
        arguments = *links, indices, weights, np.uint32(n), arcs, owners
        run.launch((set_links, blocks_for(len(rows.linked), block), block, arguments))
    run.prepare_card_s += time.perf_counter() - started
    return arcs, owners


def default_delta(graph: Graph) -> int:
    """DELTA mean weights, divided by the square of the mean out-degree; at least 1."""
    return max(1, int(DELTA * graph.weights.mean() * (graph.vertices / graph.arcs) ** 2)) if graph.arcs else 1


@cuda.jit
def initialise(source, arcs, dist, predecessor, words):
    v = thread_x()
    if v < len(dist):
        # Always 0 of an arc, since weights have 31 bits. Reading it brings the arcs into the L2 cache, as far as they
        # fit, before the search has to wait for them; using it keeps the compiler from removing the load.
        zero = i32(arcs[u64(u64(DEGREE) * u64(v))] >> u64(63))
        dist[v] = zero if v == source else i32(INF - zero)
        predecessor[v] = -1
    if v < len(words):
        words[v] = u32(INF) if v >= LEASTS and v < QUEUED else u32(0)


class Block(NamedTuple):
    """What a block's threads enqueue into.

    queue: of the near entries, a ring whose length is a power of two. counters: see the module. far: all parts.
    part: where the block's part of far starts. threshold: a distance below it is near. counter: the one of this
    round's additions. seen: what it was before them. head, tail: the first place of the ring that is still to be read,
    and the first that is added to.
    """

    queue: np.ndarray
    counters: np.ndarray
    far: np.ndarray
    part: int
    threshold: int
    counter: int
    seen: int
    head: int
    tail: int


@cuda.jit(device=True)
def enqueue(v, d, block):
    """Add (v, d) to the queue where d is near and a place is free, and return INF; else add it to far, and return d."""
    is_near = d < block.threshold
    # One addition for either pile, so that a warp that has both does not make them one after the other.
    place = u32(cuda.atomic.add(block.counters, block.counter if is_near else FAR, u32(1)))
    entry = u64(u64(d) << u64(32) | u64(v))
    if is_near:
        place = u32(block.tail + u32(place - block.seen))
        if u32(place - block.head) < u32(len(block.queue)):
            block.queue[place & u32(len(block.queue) - 1)] = entry
            return u32(INF)
        place = u32(cuda.atomic.add(block.counters, FAR, u32(1)))
    block.far[u64(block.part + u64(place))] = entry
    return d


@cuda.jit(device=True)
def relax(arc, d, dist, block):
    """Relax an arc of a vertex at distance d; return what enqueue returns."""
    v, to_v = u32(arc), u32(d + u32(arc >> u64(32)))
    if to_v < INF and to_v < u32(cuda.atomic.min(dist, v, i32(to_v))):
        return enqueue(v, to_v, block)
    return u32(INF)


@cuda.jit(device=True)
def relax_if_less(arc, d, dist, block):
    """The same where most arcs lower nothing: reads first, which takes less than an atomic minimum."""
    if u32(d + u32(arc >> u64(32))) < u32(dist[u32(arc)]):
        return relax(arc, d, dist, block)
    return u32(INF)


@cuda.jit(device=True)
def follow_link(link, d, arcs, dist, block):
    """What is behind a link, by the threads of a warp: relax its arcs or enqueue its rows. Return the least in far."""
    least = u32(INF)
    first, count = u32(link), u32(link >> u64(32)) & COUNT
    i = u32(0) if SIMULATED else u32(cuda.laneid)
    if link & FAN:
        while i < count:
            least = min(least, enqueue(u32(first + i), d, block))
            i = u32(i + u32(LANES))
    else:
        start = u64(u64(DEGREE) * u64(first))
        while i < count:
            arc, other = arcs[u64(start + u64(i))], NO_ARC
            if u32(i + u32(LANES)) < count:
                other = arcs[u64(start + u64(u32(i + u32(LANES))))]
            least = min(least, relax_if_less(arc, d, dist, block))
            least = min(least, relax_if_less(other, d, dist, block))
            i = u32(i + u32(2 * LANES))
    return least


@cuda.jit(device=True)
def follow_links(link, d, arcs, dist, block):
    """Each thread's link (0: none), one after the other by the whole warp. Return the least distance put into far."""
    least = u32(INF)
    if SIMULATED:
        if link != u64(0):
            least = follow_link(link, d, arcs, dist, block)
    else:
        todo = u32(cuda.ballot_sync(FULL_WARP, link != u64(0)))
        while todo != u32(0):
            lane = i32(cuda.ffs(i32(todo)) - 1)
            todo = u32(todo & u32(todo - u32(1)))
            upper = u32(cuda.shfl_sync(FULL_WARP, i32(u32(link >> u64(32))), lane))
            lower = u32(cuda.shfl_sync(FULL_WARP, i32(u32(link)), lane))
            to_owner = u32(cuda.shfl_sync(FULL_WARP, i32(d), lane))
            least = min(least, follow_link(u64(u64(upper) << u64(32) | u64(lower)), to_owner, arcs, dist, block))
    return least


@cuda.jit(device=True)
def take_row(thread, count, n, arcs, owners, dist, block):
    """Relax a slot of one of the `count` rows at the head of the queue, and follow links. Return the least in far."""
    link, d, least = u64(0), u32(0), u32(INF)
    i = u32(thread // u32(DEGREE))
    if i < count:
        entry = block.queue[u32(block.head + i) & u32(len(block.queue) - 1)]
        row, d = u32(entry), u32(entry >> u64(32))
        arc = arcs[u64(u64(DEGREE) * u64(row) + u64(thread % u32(DEGREE)))]
        if arc & LINK:
            owner = owner_of(row, n, owners)
            # Skips outdated entries. A fan is followed once for each distance: what the card has now is read.
            now = cuda.atomic.min(dist, owner, i32(d)) if arc & FAN else dist[owner]
            if u32(now) >= d:
                link = arc
        else:
            least = relax(arc, d, dist, block)
    return min(least, follow_links(link, d, arcs, dist, block))


@cuda.jit(device=True)
def go_through(thread, threads, meeting, limit, called, words, n, arcs, owners, dist, block, other):
    """Rounds until the queue is empty or the blocks should meet.

    other: what the counter of the other rounds' additions is.
    Return all of the queue that is left, the counters as they are then, and the least distance put into far.
    """
    queue, counters, least = block.queue, block.counters, u32(INF)
    head, tail, counter, seen = block.head, block.tail, block.counter, block.seen
    stop = False
    while tail != head and not stop:
        waiting = u32(tail - head)
        count = min(waiting, u32(threads // u32(DEGREE)))
        now = Block(queue, counters, block.far, block.part, block.threshold, counter, seen, head, tail)
        asked = u32(0)
        if thread == u32(threads - u32(1)):  # seldom has a row
            asked = u32(cuda.atomic.max(words, CALLED, u32(0)))
        least = min(least, take_row(thread, count, n, arcs, owners, dist, now))
        if thread == u32(threads - u32(1)):
            call = waiting > called or u32(cuda.atomic.add(counters, FAR, u32(0))) > limit
            if call and asked <= meeting:
                cuda.atomic.max(words, CALLED, u32(meeting + u32(1)))
            counters[u32(STOP + (counter - ADDED))] = u32(1) if call or asked > meeting else u32(0)
        cuda.syncthreads()  # before what was added is read
        added = counters[counter]
        stop = counters[u32(STOP + (counter - ADDED))] != u32(0)
        tail = u32(head + min(u32(waiting + u32(added - seen)), u32(len(queue))))
        head = u32(head + count)
        seen, other = other, added
        counter = u32(ADDED + u32(1) - (counter - ADDED))
    return head, tail, counter, seen, other, least


@cuda.jit(device=True)
def split_parts(thread, threads, parts, lengths, places, start, n, owners, words, dist, block):
    """This block's share of all parts of far: drop outdated entries, enqueue the others. Return the least put into far.

    parts: how many; lengths: the word where their lengths start; places: of each; start: where the first one starts.
    """
    least = u32(INF)
    part, lane, lanes = u32(thread % parts), u32(thread // parts), max(u32(1), u32(threads // parts))
    while part < parts and lane < lanes:
        length = words[u32(lengths + part)]
        i = u32((cuda.blockIdx.x + part) % parts + parts * lane)
        while i < length:
            entry = block.far[u64(start + u64(part) * places + u64(i))]
            row, d = u32(entry), u32(entry >> u64(32))
            if u32(dist[owner_of(row, n, owners)]) >= d:
                least = min(least, enqueue(row, d, block))
            i = u32(i + parts * lanes)
        part = u32(part + threads)
    return least


@cuda.jit(**LAUNCH_BOUNDS)
def search(source, delta, places, limit, queue_places, arcs, owners, dist, far, words):
    """All distances: blocks that are all on the card at once, with queue_places 64-bit words of shared memory each.

    places: of each block's part of a half of far. limit: a block with more entries in its part calls the others.
    words: LENGTHS + 2 per block, as `initialise` leaves them. What lies in far before does not matter.
    """
    dynamic = cuda.shared.array(0, uint64)
    counters = cuda.shared.array(COUNTERS, uint32)
    queue = dynamic[:queue_places]
    grid = cuda.cg.this_grid()
    thread, threads = u32(cuda.threadIdx.x), u32(cuda.blockDim.x)
    number, parts, n = u32(cuda.blockIdx.x), u32(cuda.gridDim.x), u32(len(dist))
    half = u64(u64(parts) * places)
    if thread == 0:
        for i in range(COUNTERS):
            counters[i] = u32(INF) if i == LEAST else u32(0)
        queue[0] = u64(source)
    head, tail = u32(0), u32(1) if number == 0 else u32(0)
    counter, seen, other = ADDED, u32(0), u32(0)
    threshold, meeting, called = min(delta, u32(INF)), u32(0), u32(CROWDED)
    cuda.syncthreads()  # before other threads read the source's entry and the counters
    while True:
        part = u64(half * u64(meeting & u32(1)) + u64(number) * places)
        block = Block(queue, counters, far, part, threshold, counter, seen, head, tail)
        head, tail, counter, seen, other, least = go_through(
            thread, threads, meeting, limit, called, words, n, arcs, owners, dist, block, other
        )
        i = u32(head + thread)
        while u32(i - head) < u32(tail - head):
            entry = queue[i & u32(len(queue) - 1)]
            least = min(least, u32(entry >> u64(32)))
            far[u64(part + u64(cuda.atomic.add(counters, FAR, u32(1))))] = entry
            i = u32(i + threads)
        if least != INF:
            cuda.atomic.min(counters, LEAST, least)
        cuda.syncthreads()  # before the first thread reads the counters
        lengths = u32(LENGTHS + parts * (meeting & u32(1)))
        if thread == 0:
            words[u32(lengths + number)] = counters[FAR]
            cuda.atomic.min(words, u32(LEASTS + meeting % u32(3)), counters[LEAST])
            counters[FAR], counters[LEAST] = u32(0), u32(INF)
        grid.sync()  # before far, its lengths and the least distance are read
        least = words[u32(LEASTS + meeting % u32(3))]
        if least == INF:
            return
        if number == 0 and thread == 0:  # none reads it any more, and none lowers it before the next meeting
            words[u32(LEASTS + (meeting + u32(2)) % u32(3))] = u32(INF)
        threshold = max(threshold, min(u32(least // delta * delta + delta), u32(INF)))
        start, meeting = u64(half * u64(meeting & u32(1))), u32(meeting + u32(1))
        part = u64(half * u64(meeting & u32(1)) + u64(number) * places)
        block = Block(queue, counters, far, part, threshold, counter, seen, u32(0), u32(0))
        least = split_parts(thread, threads, parts, lengths, places, start, n, owners, words, dist, block)
        if least != INF:
            cuda.atomic.min(counters, LEAST, least)
        cuda.syncthreads()  # before what was added is read
        added = counters[counter]
        head, tail = u32(0), min(u32(added - seen), u32(len(queue)))
        called = max(u32(CROWDED), u32(u32(2) * tail))
        seen, other = other, added
        counter = u32(ADDED + u32(1) - (counter - ADDED))


@cuda.jit
def find_predecessors(arcs, owners, dist, predecessor):
    """Predecessors along arcs of positive weight, a thread an arc; of equally good ones the last to write stays."""
    i = u64(u64(cuda.blockIdx.x) * u64(cuda.blockDim.x) + u64(cuda.threadIdx.x))
    if i < u64(len(arcs)):
        arc, u = arcs[i], owner_of(u32(i // u64(DEGREE)), u32(len(dist)), owners)
        v, w = u32(arc), u32(arc >> u64(32)) & u32(INF)
        to_v = u32(u32(dist[u]) + w)
        if not arc & LINK and w != 0 and to_v < INF and i32(to_v) == dist[v]:
            predecessor[v] = u


@cuda.jit(device=True)
def take_zero_arc(arc, u, source, dist, predecessor, queue, words):
    """Make u the predecessor along an arc of weight 0, and queue the head, where it had none until then."""
    v = u32(arc)
    to_queue = arc >> u64(32) == u64(0) and v != source and dist[v] == dist[u] and predecessor[v] < 0
    if to_queue and cuda.atomic.cas(predecessor, v, -1, i32(u)) == -1:
        queue[cuda.atomic.add(words, QUEUED, u32(1))] = u64(v)


@cuda.jit
def start_zero_arcs(source, arcs, owners, dist, predecessor, queue, words):
    """Predecessors along arcs of weight 0, from vertices that have one by now, and from the source; a thread an arc.

    queue: uint64, a place for each row that may be enqueued; words[QUEUED] is 0. Each vertex gets a predecessor once,
    and is queued then, and each row of its fan is queued once behind it. So the places are enough, and the work is
    linear.
    """
    i = u64(u64(cuda.blockIdx.x) * u64(cuda.blockDim.x) + u64(cuda.threadIdx.x))
    if i < u64(len(arcs)):
        u = owner_of(u32(i // u64(DEGREE)), u32(len(dist)), owners)
        if u == source or predecessor[u] >= 0:
            take_zero_arc(arcs[i], u, source, dist, predecessor, queue, words)


@cuda.jit
def follow_zero_arcs(source, arcs, owners, dist, predecessor, queue, words):
    """The same from the queued rows, level by level until the queue is empty: one block, a warp a row."""
    lane, warps = u32(cuda.threadIdx.x % u32(LANES)), u32(cuda.blockDim.x // u32(LANES))
    start, end = u32(0), words[QUEUED]
    while start < end:
        cuda.syncthreads()  # all have read the end before any thread adds to the queue
        i = u32(start + u32(cuda.threadIdx.x // u32(LANES)))
        while i < end:
            row = u32(queue[i])
            u, first = owner_of(row, u32(len(dist)), owners), u64(u64(DEGREE) * u64(row))
            link, k = arcs[u64(first + u64(DEGREE - 1))], lane
            count = u32(link >> u64(32)) & COUNT if link & LINK else u32(0)
            while k < u32(count + u32(DEGREE)):
                if k < u32(DEGREE):
                    take_zero_arc(arcs[u64(first + u64(k))], u, source, dist, predecessor, queue, words)
                elif link & FAN:
                    queue[cuda.atomic.add(words, QUEUED, u32(1))] = u64(u32(u32(link) + k - u32(DEGREE)))
                else:
                    at = u64(u64(DEGREE) * u64(u32(link)) + u64(k - u32(DEGREE)))
                    take_zero_arc(arcs[at], u, source, dist, predecessor, queue, words)
                k = u32(k + u32(LANES))
            i = u32(i + warps)
        cuda.syncthreads()  # before any thread reads the queued rows and their number
        start, end = end, words[QUEUED]


def tree_launches(source: int, block: int, tree: tuple, queue, words, *, free_arcs: bool) -> list:
    """The launches that find predecessors, from a source, by blocks of about `block` threads.

    tree: arcs, owners, dist and predecessor, which is -1, on the card. queue, words: as start_zero_arcs has them; they
    are used only with free_arcs, whether a weight is 0.
    """
    block = max(LANES, block // LANES * LANES)
    blocks = blocks_for(len(tree[0]), block)
    found = [(find_predecessors, blocks, block, tree)]
    if free_arcs:
        queued = np.uint32(source), *tree, queue, words
        found += [(start_zero_arcs, blocks, block, queued), (follow_zero_arcs, 1, block, queued)]
    return found


def has_free_arcs(graph: Graph) -> bool:
    """Whether a weight is 0."""
    return bool(graph.arcs and graph.weights.min() == 0)


@cuda.jit
def find_too_long(arcs, owners, dist, found):
    """found[0] = 1 where an arc leads from a vertex that is reached to one that is not, a thread an arc."""
    i = u64(u64(cuda.blockIdx.x) * u64(cuda.blockDim.x) + u64(cuda.threadIdx.x))
    if i < u64(len(arcs)):
        arc, u = arcs[i], owner_of(u32(i // u64(DEGREE)), u32(len(dist)), owners)
        if not arc & LINK and arc != NO_ARC and dist[u] != INF and dist[u32(arc)] == INF:
            found[0] = 1


def places_of_far(graph: Graph, blocks: int, threads: int, queue_places: int) -> tuple[int, int]:
    """Places of each block's part of a half of far, and with how many entries a block calls the others to meet.

    At a meeting all parts together have an entry for each row at most, once outdated ones are dropped. After it a part
    starts with an equal share of what they had, and a place more for each block, since shares are rounded up. A block
    calls when its part is full, stops a round later, and adds what is left in its queue. So it ends with what it
    started with or with the limit, and two rounds and a queue more; the average of all blocks with that and an equal
    share of the rows.
    """
    queued, rows = layout(graph).queued, max(1, threads // DEGREE)
    share = blocks_for(queued, blocks)
    widest = int(np.diff(graph.indptr).max(initial=0))
    fans = min(queued - graph.vertices, rows * blocks_for(widest, DEGREE - 1 + DIRECT))
    added = 2 * (rows * min(widest, DEGREE - 1 + DIRECT) + fans) + queue_places
    limit = 2 * share
    return limit + 2 * added + share + 2 * blocks, limit


class Searches:
    """Searches on one graph, one after the other; its rows are copied to the card once.

    run: what launches them; run.delta is how far the threshold moves, None for default_delta. dist, predecessor: of the
    last search, int32, (n,), on the card, where `allocate` took memory. Raises NotEnoughMemory.
    """

    def __init__(self, graph: Graph, run: Run):
        self.graph, self.run = graph, run
        n, rows = graph.vertices, layout(graph)
        self.delta = np.uint32(min(run.delta or default_delta(graph), INF))
        most = WIDE_THREADS if graph.arcs >= WIDE * n else THREADS
        self.blocks = run.grid or run.multiprocessors
        self.threads = max(DEGREE, LANES, min(most, run.block) // LANES * LANES)
        fitting = run.shared_limit // 8
        self.queue_places = max(MIN_PLACES, min(MAX_PLACES, 1 << max(0, fitting.bit_length() - 1)))
        self.places, self.limit = places_of_far(graph, self.blocks, self.threads, self.queue_places)
        self.words_used = int(LENGTHS) + 2 * self.blocks
        of_rows = 8 * DEGREE * rows.count + 4 * (rows.count - n) + sum(part.nbytes for part in rows[2:])
        run.require(of_rows + 12 * n + 8 * graph.arcs + 16 * self.places * self.blocks + 4 * self.words_used)
        self.free_arcs = has_free_arcs(graph)
        self.arcs, self.owners = lay_out(graph, run)

    def allocate(self) -> None:
        """Take memory for searches."""
        n = self.graph.vertices
        self.dist, self.predecessor, self.far, self.words = self.run.allocate(
            *((n, np.int32), (n, np.int32), (2 * self.places * self.blocks, np.uint64), (self.words_used, np.uint32))
        )

    def search(self, source: int) -> tuple[Callable[[], None], Callable[[], None]]:
        """Two functions, which launch the search for distances from a source and then that for predecessors."""
        run, n = self.run, self.graph.vertices
        start = np.uint32(source), self.arcs, self.dist, self.predecessor, self.words
        sizes = np.uint64(self.places), np.uint32(self.limit), np.uint32(self.queue_places)
        arguments = np.uint32(source), self.delta, *sizes, self.arcs, self.owners, self.dist, self.far, self.words
        find_distances = run.prepare(
            (initialise, blocks_for(max(n, self.words_used), run.block), run.block, start),
            (search, self.blocks, self.threads, arguments, 8 * self.queue_places),
        )
        tree = self.arcs, self.owners, self.dist, self.predecessor
        launches = tree_launches(source, run.block, tree, self.far, self.words, free_arcs=self.free_arcs)
        return find_distances, run.prepare(*launches)

    def is_too_long(self) -> bool:
        """Whether a distance of the last search is above 2^31 - 2, so that its vertex seems not to be reached."""
        run, said = self.run, np.empty(1, np.uint32)
        (found,) = run.upload(np.zeros(1, np.uint32))
        arguments = self.arcs, self.owners, self.dist, found
        run.launch((find_too_long, blocks_for(len(self.arcs), run.block), run.block, arguments))
        run.download((found, said))
        return bool(said[0])

    def give(self) -> tuple:
        """dist and predecessor of the last search, which no later search overwrites: that has others."""
        found, n = (self.dist, self.predecessor), self.graph.vertices
        self.run.require(8 * n)
        self.dist, self.predecessor = self.run.allocate((n, np.int32), (n, np.int32))
        return found


def sssp(graph: Graph, result: Result, run: Run) -> None:
    """Fills result, (n,), from run.source. run.delta is how far the threshold moves, None for default_delta."""
    searches = Searches(graph, run)
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
    """Four or five, and two more where a weight is 0."""
    return None
