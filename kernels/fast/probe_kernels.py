"""Kernels of fast/probe.py, which explains them."""

from ..gpu.compiler import cuda, uint32
from ..gpu.intrinsics import i32, thread_x, u32, u64
from .near_far_kernels import COUNT, NO_ARC
from .near_far_layout import FAN, LINK

ADDED, FANS = 0, 1  # counters: number of queued vertices; whether a queued vertex has a fan


@cuda.jit
def clear(seen):
    v = thread_x()
    if v < len(seen):
        seen[v] = -1


@cuda.jit(device=True)
def enqueue(arc, seen, queue, counters):
    """Queue the head of an arc if it is seen for the first time."""
    v = u32(arc)
    if arc != NO_ARC and cuda.atomic.cas(seen, v, i32(-1), i32(0)) == -1:
        queue[cuda.atomic.add(counters, ADDED, u32(1))] = u64(v)


@cuda.jit
def walk(bits, source, levels, wide, arcs, seen, queue, words):
    """Search breadth first from the source with one block, until a level has `wide` vertices or for `levels` levels.

    bits, arcs: as in near_far.RowsOnCard. seen: int32, (n,), all -1. queue: uint64, at least (n,). words: the result,
    in the order of probe.Reached. A vertex with a fan counts as a wide level.
    """
    counters = cuda.shared.array(2, uint32)
    thread, threads = u32(cuda.threadIdx.x), u32(cuda.blockDim.x)
    if thread == 0:
        counters[ADDED], counters[FANS] = u32(1), u32(0)
        queue[0], seen[source] = u64(source), 0
    start, end, level, stop = u32(0), u32(1), u32(0), False
    cuda.syncthreads()  # before other threads read the source's entry
    while start < end and level < levels and not stop:
        k = thread
        while k < u32(u32(end - start) << bits):
            v = queue[u32(start + (k >> bits))]
            arc = arcs[u64((v << u64(bits)) + u64(k & u32(u32(u32(1) << bits) - u32(1))))]
            if not arc & LINK:
                enqueue(arc, seen, queue, counters)
            elif arc & FAN:
                counters[FANS] = u32(1)
            else:
                first = u64(u64(u32(arc)) << u64(bits))
                for j in range(u32(arc >> u64(32)) & COUNT):
                    enqueue(arcs[u64(first + u64(j))], seen, queue, counters)
            k = u32(k + threads)
        cuda.syncthreads()  # before the added entries are read
        start, end, level = end, counters[ADDED], u32(level + u32(1))
        stop = counters[FANS] != u32(0) or u32(end - start) >= wide
        cuda.syncthreads()  # before anything is added again
    if thread == 0:
        words[0], words[1], words[2], words[3] = level, end, u32(stop), u32(start == end)
