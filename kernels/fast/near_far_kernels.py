"""Kernels of fast/near_far.py. docs/kernels.md (section Near-Far) explains them."""

from typing import NamedTuple

import numpy as np

from ..gpu.card import SIMULATED
from ..gpu.compiler import cuda, uint32, uint64
from ..gpu.intrinsics import FULL_WARP, LAUNCH_BOUNDS, i32, load_fresh, thread_x, u32, u64
from ..graph import INF
from .near_far_layout import (
    ARRIVED,
    BUSY,
    CALLED,
    FAN,
    LEASTS,
    LENGTHS,
    LINK,
    LONG,
    QUEUED,
    UNEVEN,
    WASTEFUL,
)

CROWDED = 512  # a block calls a meeting if its queue exceeds CROWDED and twice its length after the last meeting
FEW_ROUNDS = 8  # delta is doubled if every block has fewer rounds between two meetings
# A block calls a meeting if most blocks have an empty queue and it had at least `patience` rounds since the last
# meeting, and another round for each FAR_PER_ROUND entries of its part of far, which the meeting would move. After such
# a meeting the threshold rises, unless it is FURTHEST times delta above the least distance already. Patience is
# PATIENCE. It doubles up to MOST_PATIENCE while at most 1 / NARROW of the blocks have entries.
PATIENCE, MOST_PATIENCE, NARROW, FAR_PER_ROUND, FURTHEST = u32(8), u32(128), u32(16), u32(256), u32(8)
# Work is repeated if an entry is added for a vertex that was near already. A block repeated much work if these entries
# are more than 1 / MUCH_REPEATED of the entries that it took from its queue since the last meeting.
MUCH_REPEATED = u32(64)
# A block calls a meeting if it took at least ENOUGH entries since the last meeting, has at least ENOUGH entries in its
# queue, and repeated more than 1 / TOO_MUCH_REPEATED of its work.
ENOUGH, TOO_MUCH_REPEATED = u32(1024), u32(4)
SAMPLE = u32(8)  # repeated work is counted for 1 / SAMPLE of the vertices
LANES = 1 if SIMULATED else 32  # threads of a warp
NO_ARC = np.uint64(INF << 32)  # fills up a row; its weight exceeds any distance
COUNT = u32((1 << 30) - 1)  # bits of a link: the number of arcs or rows behind the link
# Words of a block's counters: entries added in even and in odd rounds; whether to stop after an even and an odd round;
# number of entries and least distance of the block's part of far; entries added for vertices that were near already,
# counted for 1 / SAMPLE of the vertices.
ADDED, STOP, FAR, LEAST, REPEATED = (u32(i) for i in (0, 2, 4, 5, 6))
COUNTERS = 7


@cuda.jit(device=True)
def owner_of(row, n, owners):
    return row if row < n else owners[u32(row - n)]


@cuda.jit
def fill_rows(bits, indptr, indices, weights, order, rank, fan_owners, starts, stops, arcs, owners):  # noqa: PLR0913
    """Set the words of the rows that may be enqueued, one word per thread, and the owners of the rows of fans.

    `set_links` then sets the links. bits: log2 of the width of a row. order, rank: as in near_far.RowsOnCard.
    """
    i = u64(u64(cuda.blockIdx.x) * u64(cuda.blockDim.x) + u64(cuda.threadIdx.x))
    row, k, n = u32(i >> u64(bits)), u32(u32(i) & u32(u32(u32(1) << bits) - u32(1))), u32(len(indptr) - 1)
    if row < u32(n + u32(len(starts))):
        if row < n:
            vertex = u32(order[row]) if len(order) > 0 else row
            start, stop = u32(indptr[vertex]), u32(indptr[u32(vertex + u32(1))])
        else:
            start, stop = u32(starts[u32(row - n)]), u32(stops[u32(row - n)])
            owners[u32(row - n)] = fan_owners[u32(row - n)]
        arcs[i] = word_of(u32(start + k), indices, weights, rank) if u32(start + k) < stop else NO_ARC


@cuda.jit(device=True)
def word_of(arc, indices, weights, rank):
    """Return the word of an arc: its weight above the number of its head."""
    head = indices[arc]
    if len(rank) > 0:
        head = rank[head]
    return u64(u64(weights[arc]) << u64(32) | u64(head))


@cuda.jit
def set_links(bits, linked, links, behind, indices, weights, rank, n, arcs, owners):  # noqa: PLR0913
    """Set one link per thread, the arcs behind the link, and the owner of the rows that hold these arcs."""
    i, width = thread_x(), u32(u32(1) << bits)
    if i < len(linked):
        row, link = linked[i], links[i]
        arcs[u64((u64(row) << u64(bits)) + u64(width - u32(1)))] = link
        if not link & FAN:
            first, count, k = u32(link), u32(link >> u64(32)) & COUNT, u32(0)
            owner = owner_of(row, n, owners)
            while k & u32(width - u32(1)) != u32(0) or k < count:
                word = word_of(u32(u32(behind[i]) + k), indices, weights, rank) if k < count else NO_ARC
                arcs[u64((u64(first) << u64(bits)) + u64(k))] = word
                owners[u32(first - n + (k >> bits))] = owner
                k = u32(k + u32(1))


@cuda.jit
def initialise(bits, source, arcs, dist, predecessor, words):
    v = thread_x()
    if v < len(dist):
        # `zero` is always 0, because weights have 31 bits. Reading the arcs here brings them into the L2 cache, as far
        # as they fit, before the search needs them. If `zero` were not used, the compiler would remove the load.
        zero = i32(arcs[u64(u64(v) << u64(bits))] >> u64(63))
        dist[v] = zero if v == source else i32(INF - zero)
        predecessor[v] = -1
    if v < len(words):
        words[v] = u32(INF) if v >= LEASTS and v < QUEUED else u32(0)


class Sizes(NamedTuple):
    """Arguments of `search` that are numbers."""

    bits: int  # log2 of the width of a row
    delta: int  # width of the first window
    part_capacity: int  # capacity of each block's part of a half of far
    limit: int  # a block calls a meeting if its part has more entries
    queue_capacity: int  # capacity of a near queue, a power of two


class Calls(NamedTuple):
    """When a block calls a meeting."""

    limit: int  # if its part of far has more entries
    crowded: int  # if its queue has more entries
    patience: int  # if most blocks have an empty queue, after at least this number of rounds


class Block(NamedTuple):
    """The piles to which the threads of a block add entries, and their state."""

    queue: np.ndarray  # near entries, a ring whose length is a power of two
    counters: np.ndarray  # COUNTERS words
    far: np.ndarray  # all parts
    part: int  # index in `far` at which the block's part starts
    threshold: int  # distances below it are near
    bits: int  # log2 of the width of a row
    counter: int  # index of the counter of this round's additions
    seen: int  # value of this counter before this round
    head: int  # next index of the ring to read
    tail: int  # next index of the ring to add to


@cuda.jit(device=True)
def enqueue(v, d, before, block):
    """Add (v, d) to the queue if d is near and the queue has room, and return INF; else add it to far and return d.

    before: the former distance of v, to count vertices that are enqueued again.
    """
    is_near = d < block.threshold
    # One atomic addition serves both piles, so that the threads of a warp do not diverge here.
    index = u32(cuda.atomic.add(block.counters, block.counter if is_near else FAR, u32(1)))
    entry = u64(u64(d) << u64(32) | u64(v))
    if is_near:
        if before < block.threshold and v & u32(SAMPLE - u32(1)) == 0:
            cuda.atomic.add(block.counters, REPEATED, u32(1))
        index = u32(block.tail + u32(index - block.seen))
        if u32(index - block.head) < u32(len(block.queue)):
            block.queue[index & u32(len(block.queue) - 1)] = entry
            return u32(INF)
        index = u32(cuda.atomic.add(block.counters, FAR, u32(1)))
    block.far[u64(block.part + u64(index))] = entry
    return d


@cuda.jit(device=True)
def relax(arc, d, dist, block):
    """Relax an arc of a vertex at distance d; return what enqueue returns."""
    v, to_v = u32(arc), u32(d + u32(arc >> u64(32)))
    if to_v < INF:
        before = u32(cuda.atomic.min(dist, v, i32(to_v)))
        if to_v < before:
            return enqueue(v, to_v, before, block)
    return u32(INF)


@cuda.jit(device=True)
def lowers(arc, d, dist):
    """Return whether an arc of a vertex at distance d seems to lower a distance.

    A read takes less time than the atomic minimum of `relax`.
    """
    return u32(d + u32(arc >> u64(32))) < u32(dist[u32(arc)])


@cuda.jit(device=True)
def lane_number():
    return u32(0) if SIMULATED else u32(cuda.laneid)


@cuda.jit(device=True)
def arcs_behind(link):
    """Return the number of arcs behind a link; 0 if it leads to rows, or is 0."""
    return u32(0) if link & FAN else u32(link >> u64(32)) & COUNT


@cuda.jit(device=True)
def follow_fan(link, d, block):
    """Enqueue the rows behind a link to rows, with a whole warp; return the least distance added to far."""
    least, i, count = u32(INF), lane_number(), u32(link >> u64(32)) & COUNT
    while link & FAN and i < count:
        least = min(least, enqueue(u32(u32(link) + i), d, u32(INF), block))
        i = u32(i + u32(LANES))
    return least


@cuda.jit(device=True)
def follow_pair(one, d_one, other, d_other, arcs, dist, block):
    """Follow two links (0: none) of vertices at the given distances, with a whole warp; return as `follow_fan` does.

    A thread reads two arcs, and then two distances, before it relaxes an arc: reads take far longer, and two reads can
    overlap.
    """
    least = min(follow_fan(one, d_one, block), follow_fan(other, d_other, block))
    count, count_other = arcs_behind(one), arcs_behind(other)
    start, start_other = u64(u64(u32(one)) << u64(block.bits)), u64(u64(u32(other)) << u64(block.bits))
    i = lane_number()
    while i < max(count, count_other):
        arc = arcs[u64(start + u64(i))] if i < count else NO_ARC
        arc_other = arcs[u64(start_other + u64(i))] if i < count_other else NO_ARC
        lowers_one, lowers_other = lowers(arc, d_one, dist), lowers(arc_other, d_other, dist)
        if lowers_one:
            least = min(least, relax(arc, d_one, dist, block))
        if lowers_other:
            least = min(least, relax(arc_other, d_other, dist, block))
        i = u32(i + u32(LANES))
    return least


@cuda.jit(device=True)
def received(link, d, lane):
    """Return a link and a distance of another thread of the warp."""
    upper = u32(cuda.shfl_sync(FULL_WARP, i32(u32(link >> u64(32))), lane))
    lower = u32(cuda.shfl_sync(FULL_WARP, i32(u32(link)), lane))
    return u64(u64(upper) << u64(32) | u64(lower)), u32(cuda.shfl_sync(FULL_WARP, i32(d), lane))


@cuda.jit(device=True)
def follow_links(link, d, arcs, dist, block):
    """Follow the links of the warp's threads (0: none), two at a time; return the least distance added to far."""
    least = u32(INF)
    if SIMULATED:
        if link != u64(0):
            least = follow_pair(link, d, u64(0), d, arcs, dist, block)
    else:
        todo = u32(cuda.ballot_sync(FULL_WARP, link != u64(0)))
        while todo != u32(0):
            one, d_one = received(link, d, i32(cuda.ffs(i32(todo)) - 1))
            todo = u32(todo & u32(todo - u32(1)))
            other, d_other = received(link, d, i32(max(0, cuda.ffs(i32(todo)) - 1)))
            if todo == u32(0):
                other = u64(0)
            todo = u32(todo & u32(todo - u32(1)))
            least = min(least, follow_pair(one, d_one, other, d_other, arcs, dist, block))
    return least


@cuda.jit(device=True)
def row_in_round(thread, threads, bits):
    """Return which of a round's rows a thread takes. Successive rows go to different warps.

    threads: a multiple of LANES. A row has at most LANES words.
    """
    if SIMULATED:
        return u32(thread >> bits)
    lane, warp = u32(thread % u32(LANES)), u32(thread // u32(LANES))
    return u32(u32(lane >> bits) * u32(threads // u32(LANES)) + warp)


@cuda.jit(device=True)
def take_row(thread, threads, count, n, arcs, owners, dist, block):
    """Relax the `count` rows at the queue's head, an arc per thread; return the least distance added to far.

    If a thread has a link instead of an arc, its warp follows the link.
    """
    link, d, least = u64(0), u32(0), u32(INF)
    i = row_in_round(thread, threads, block.bits)
    if i < count:
        entry = block.queue[u32(block.head + i) & u32(len(block.queue) - 1)]
        row, d = u32(entry), u32(entry >> u64(32))
        arc = arcs[u64((u64(row) << u64(block.bits)) + u64(thread & u32(u32(u32(1) << block.bits) - u32(1))))]
        if arc & LINK:
            owner = owner_of(row, n, owners)
            # Skip outdated entries. A plain read may return an old distance, and then a fan's rows would be enqueued
            # again. The atomic minimum returns the present distance.
            now = cuda.atomic.min(dist, owner, i32(d)) if arc & FAN else dist[owner]
            if u32(now) >= d:
                link = arc
        else:
            least = relax(arc, d, dist, block)
    return min(least, follow_links(link, d, arcs, dist, block))


@cuda.jit(device=True)
def go_through(thread, threads, parts, meeting, calls, words, n, arcs, owners, dist, block, other):  # noqa: PLR0913
    """Run rounds until the queue is empty or the blocks should meet.

    other: the value of the counter that the first round does not use (even and odd rounds have a counter each).
    Returns head and tail of the queue; the next round's counter, its value, and the value of the other counter; and the
    least distance added to far. Sets LONG after FEW_ROUNDS rounds, and UNEVEN if the block calls a meeting because
    most blocks have an empty queue. Adds 1 to ARRIVED; to BUSY if the block had an entry; and to WASTEFUL if it is
    stopped with entries left and repeated much work.
    """
    queue, counters, least = block.queue, block.counters, u32(INF)
    rounds, taken = u32(0), u32(0)
    head, tail, counter, seen = block.head, block.tail, block.counter, block.seen
    stop = False
    while tail != head and not stop:
        waiting = u32(tail - head)
        count = min(waiting, u32(threads >> block.bits))
        now = Block(queue, counters, block.far, block.part, block.threshold, block.bits, counter, seen, head, tail)
        asked, arrived, length = u32(0), u32(0), u32(0)
        if thread == u32(threads - u32(1)):  # the last thread most often has no arc to relax
            asked, arrived = u32(load_fresh(words, u64(CALLED))), u32(load_fresh(words, u64(ARRIVED)))
            length = u32(cuda.atomic.add(counters, FAR, u32(0)))
        least = min(least, take_row(thread, threads, count, n, arcs, owners, dist, now))
        if thread == u32(threads - u32(1)):
            call = waiting > calls.crowded or length > calls.limit
            if min(waiting, taken) >= ENOUGH:
                again = u32(cuda.atomic.add(counters, REPEATED, u32(0)))
                call = call or u32(SAMPLE * TOO_MUCH_REPEATED * again) > taken
            empty = u32(arrived - u32(parts * meeting))
            if u32(empty + empty) > parts and rounds >= u32(calls.patience + length // FAR_PER_ROUND):
                call = True
                if asked <= meeting:
                    words[u32(UNEVEN + (meeting & u32(1)))] = u32(meeting + u32(1))
            if call and asked <= meeting:
                cuda.atomic.max(words, CALLED, u32(meeting + u32(1)))
            counters[u32(STOP + (counter - ADDED))] = u32(1) if call or asked > meeting else u32(0)
        cuda.syncthreads()  # before the additions are read
        added = counters[counter]
        stop = counters[u32(STOP + (counter - ADDED))] != u32(0)
        tail = u32(head + min(u32(waiting + u32(added - seen)), u32(len(queue))))
        head = u32(head + count)
        seen, other = other, added
        counter = u32(ADDED + u32(1) - (counter - ADDED))
        rounds, taken = u32(rounds + u32(1)), u32(taken + count)
        if rounds == u32(FEW_ROUNDS) and thread == 0:
            words[u32(LONG + (meeting & u32(1)))] = u32(meeting + u32(1))
    if thread == 0:
        cuda.atomic.add(words, ARRIVED, u32(1))
        if taken > u32(0):
            cuda.atomic.add(words, u32(BUSY + meeting % u32(3)), u32(1))
    if tail != head and thread == 0 and u32(u32(SAMPLE * MUCH_REPEATED) * counters[REPEATED]) > taken:
        cuda.atomic.add(words, u32(WASTEFUL + meeting % u32(3)), u32(1))
    return head, tail, counter, seen, other, least


@cuda.jit(device=True)
def split_parts(thread, threads, parts, lengths, part_capacity, start, n, owners, words, dist, block):  # noqa: PLR0913
    """Read the block's share of far, drop outdated entries, enqueue the others; return the least distance added to far.

    parts: the number of parts. lengths: index in words of the first part's length. part_capacity: capacity of a part.
    start: index in far of the first part.
    """
    least = u32(INF)
    part, lane, lanes = u32(thread % parts), u32(thread // parts), max(u32(1), u32(threads // parts))
    while part < parts and lane < lanes:
        length = words[u32(lengths + part)]
        i = u32((cuda.blockIdx.x + part) % parts + parts * lane)
        while i < length:
            entry = block.far[u64(start + u64(part) * part_capacity + u64(i))]
            row, d = u32(entry), u32(entry >> u64(32))
            if u32(dist[owner_of(row, n, owners)]) >= d:
                least = min(least, enqueue(row, d, u32(INF), block))
            i = u32(i + parts * lanes)
        part = u32(part + threads)
    return least


@cuda.jit(device=True)
def next_window(least, threshold, delta, patience, meeting, parts, words):
    """Return delta, the threshold and the patience after a meeting, from what the blocks counted before the meeting.

    If near entries are left because most blocks had an empty queue, raise the threshold. If near entries are left and
    most blocks added to WASTEFUL, halve the window. If no near entries are left and no block had FEW_ROUNDS rounds,
    double delta, because the meetings take most of the time.
    """
    if u32(NARROW * words[u32(BUSY + meeting % u32(3))]) <= parts:
        patience = min(u32(patience + patience), MOST_PATIENCE)
    else:
        patience = u32(PATIENCE)
    if least < threshold:
        if words[u32(UNEVEN + (meeting & u32(1)))] == u32(meeting + u32(1)):
            if u32(threshold - least) // FURTHEST < delta:
                threshold = min(u32(threshold + delta), u32(INF))
        elif u32(2) * words[u32(WASTEFUL + meeting % u32(3))] > parts:
            delta = max(u32(1), u32(u32(threshold - least) >> u32(1)))
            threshold = u32(least + delta)
    else:
        if words[u32(LONG + (meeting & u32(1)))] != u32(meeting + u32(1)):
            delta = min(u32(delta + delta), u32(1 << 30))
        threshold = min(u32(least // delta * delta + delta), u32(INF))
    return delta, threshold, patience


@cuda.jit(**LAUNCH_BOUNDS)
def search(source, sizes, arcs, owners, dist, far, words):
    """Find all distances, in a cooperative launch. A block has queue_capacity 64-bit words of shared memory.

    words: LENGTHS words and two per block, with the values that `initialise` sets. `far` need not be initialised.
    """
    dynamic = cuda.shared.array(0, uint64)
    counters = cuda.shared.array(COUNTERS, uint32)
    queue = dynamic[: sizes.queue_capacity]
    grid = cuda.cg.this_grid()
    thread, threads = u32(cuda.threadIdx.x), u32(cuda.blockDim.x)
    number, parts, n = u32(cuda.blockIdx.x), u32(cuda.gridDim.x), u32(len(dist))
    part_capacity, bits = u64(sizes.part_capacity), u32(sizes.bits)
    half = u64(u64(parts) * part_capacity)
    if thread == 0:
        for i in range(COUNTERS):
            counters[i] = u32(INF) if i == LEAST else u32(0)
        queue[0] = u64(source)
    head, tail = u32(0), u32(1) if number == 0 else u32(0)
    counter, seen, other = ADDED, u32(0), u32(0)
    delta = u32(sizes.delta)
    threshold, meeting = min(delta, u32(INF)), u32(0)
    calls = Calls(u32(sizes.limit), u32(CROWDED), u32(PATIENCE))
    cuda.syncthreads()  # before other threads read the source's entry and the counters
    while True:
        part = u64(half * u64(meeting & u32(1)) + u64(number) * part_capacity)
        block = Block(queue, counters, far, part, threshold, bits, counter, seen, head, tail)
        head, tail, counter, seen, other, least = go_through(
            thread, threads, parts, meeting, calls, words, n, arcs, owners, dist, block, other
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
            counters[FAR], counters[LEAST], counters[REPEATED] = u32(0), u32(INF), u32(0)
        grid.sync()  # before far, its lengths and the other words are read
        least = words[u32(LEASTS + meeting % u32(3))]
        if least == INF:
            return
        delta, threshold, patience = next_window(least, threshold, delta, calls.patience, meeting, parts, words)
        if number == 0 and thread == 0:  # no other thread reads or changes these words before the next meeting
            words[u32(LEASTS + (meeting + u32(2)) % u32(3))] = u32(INF)
            words[u32(WASTEFUL + (meeting + u32(2)) % u32(3))] = u32(0)
            words[u32(BUSY + (meeting + u32(2)) % u32(3))] = u32(0)
        start, meeting = u64(half * u64(meeting & u32(1))), u32(meeting + u32(1))
        part = u64(half * u64(meeting & u32(1)) + u64(number) * part_capacity)
        block = Block(queue, counters, far, part, threshold, bits, counter, seen, u32(0), u32(0))
        least = split_parts(thread, threads, parts, lengths, part_capacity, start, n, owners, words, dist, block)
        if least != INF:
            cuda.atomic.min(counters, LEAST, least)
        cuda.syncthreads()  # before the additions are read
        added = counters[counter]
        head, tail = u32(0), min(u32(added - seen), u32(len(queue)))
        calls = Calls(u32(sizes.limit), max(u32(CROWDED), u32(u32(2) * tail)), patience)
        seen, other = other, added
        counter = u32(ADDED + u32(1) - (counter - ADDED))


@cuda.jit
def find_predecessors(bits, arcs, owners, dist, predecessor):
    """Set predecessors along arcs of positive weight, an arc per thread. Ties: the last writer wins."""
    i = u64(u64(cuda.blockIdx.x) * u64(cuda.blockDim.x) + u64(cuda.threadIdx.x))
    if i < u64(len(arcs)):
        arc, u = arcs[i], owner_of(u32(i >> u64(bits)), u32(len(dist)), owners)
        v, w = u32(arc), u32(arc >> u64(32)) & u32(INF)
        to_v = u32(u32(dist[u]) + w)
        if not arc & LINK and w != 0 and to_v < INF and i32(to_v) == dist[v]:
            predecessor[v] = u


@cuda.jit(device=True)
def queue_row(row, queue, counter, first, words):
    """Add a row at queue[first + words[counter]], and add 1 to words[counter]."""
    queue[u32(first + u32(cuda.atomic.add(words, counter, u32(1))))] = u64(row)


@cuda.jit(device=True)
def take_zero_arc(arc, u, source, dist, predecessor, queue, counter, first, words):  # noqa: PLR0913
    """If the arc has weight 0 and its head has no predecessor, set u as its predecessor and queue the head."""
    v = u32(arc)
    to_queue = arc >> u64(32) == u64(0) and v != source and dist[v] == dist[u] and predecessor[v] < 0
    if to_queue and cuda.atomic.cas(predecessor, v, -1, i32(u)) == -1:
        queue_row(v, queue, counter, first, words)


@cuda.jit
def start_zero_arcs(bits, source, arcs, owners, dist, predecessor, queue, words):
    """Set predecessors along arcs of weight 0, from the source and vertices with a predecessor; an arc per thread.

    queue: uint64, an entry for each row that may be enqueued; words[QUEUED] and the next word are 0. Each vertex is
    queued at most once, when it gets its predecessor. Each row of the vertex's fan is queued once after the vertex. So
    the queue is long enough, and the work is linear.
    """
    i = u64(u64(cuda.blockIdx.x) * u64(cuda.blockDim.x) + u64(cuda.threadIdx.x))
    if i < u64(len(arcs)):
        u = owner_of(u32(i >> u64(bits)), u32(len(dist)), owners)
        if u == source or predecessor[u] >= 0:
            take_zero_arc(arcs[i], u, source, dist, predecessor, queue, QUEUED, u32(0), words)


@cuda.jit(**LAUNCH_BOUNDS)
def follow_zero_arcs(bits, source, arcs, owners, dist, predecessor, queue, words):
    """Follow arcs of weight 0 from the queued rows, level by level, with one warp per row, in a cooperative launch."""
    grid = cuda.cg.this_grid()
    lane, warps = u32(cuda.threadIdx.x % u32(LANES)), u32(u32(cuda.gridDim.x) * u32(cuda.blockDim.x // u32(LANES)))
    first_row = u32(u32(cuda.blockIdx.x) * u32(cuda.blockDim.x // u32(LANES)) + u32(cuda.threadIdx.x // u32(LANES)))
    start, end, width = u32(0), words[QUEUED], u32(u32(1) << bits)
    # Even and odd levels count the rows that they queue in two counters. So one barrier per level is enough: while some
    # blocks still read one counter, others may already add to the other counter.
    counter, counted, other = u32(QUEUED + u32(1)), u32(0), end
    while start < end:
        added = u32(end - counted)  # an addition that finds the counter at c goes to queue[added + c]
        i = u32(start + first_row)
        while i < end:
            row = u32(queue[i])
            u, first = owner_of(row, u32(len(dist)), owners), u64(u64(row) << u64(bits))
            link, k = arcs[u64(first + u64(width - u32(1)))], lane
            count = u32(link >> u64(32)) & COUNT if link & LINK else u32(0)
            while k < u32(count + width):
                if k < width:
                    arc = arcs[u64(first + u64(k))]
                    take_zero_arc(arc, u, source, dist, predecessor, queue, counter, added, words)
                elif link & FAN:
                    queue_row(u32(u32(link) + k - width), queue, counter, added, words)
                else:
                    arc = arcs[u64((u64(u32(link)) << u64(bits)) + u64(k - width))]
                    take_zero_arc(arc, u, source, dist, predecessor, queue, counter, added, words)
                k = u32(k + u32(LANES))
            i = u32(i + warps)
        grid.sync()  # before any thread reads the queued rows and their number
        start, now = end, words[counter]
        end = u32(end + u32(now - counted))
        counter, counted, other = u32(u32(QUEUED + QUEUED + u32(1)) - counter), other, now


@cuda.jit
def distances_by_vertex(rank, found, out):
    """Set out[v] to the distance of vertex v: found[rank[v]]."""
    v = thread_x()
    if v < len(out):
        out[v] = found[rank[v]]


@cuda.jit
def predecessors_by_vertex(rank, order, found, out):
    """Set out[v] to the predecessor of vertex v: order[found[rank[v]]], or -1 if it has none."""
    v = thread_x()
    if v < len(out):
        number = found[rank[v]]
        out[v] = order[number] if number >= 0 else number


@cuda.jit
def find_too_long(bits, arcs, owners, dist, found):
    """Set found[0] = 1 if an arc leads from a reached vertex to an unreached one; an arc per thread."""
    i = u64(u64(cuda.blockIdx.x) * u64(cuda.blockDim.x) + u64(cuda.threadIdx.x))
    if i < u64(len(arcs)):
        arc, u = arcs[i], owner_of(u32(i >> u64(bits)), u32(len(dist)), owners)
        if not arc & LINK and arc != NO_ARC and dist[u] != INF and dist[u32(arc)] == INF:
            found[0] = 1
