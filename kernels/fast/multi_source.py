"""Bellman-Ford from every source of a sparse graph: eight sources a block.

Only vertices with out-arcs lead anywhere: they are the core. A block takes the next eight of them as
sources and keeps a row of distances, one a source, for each core vertex in shared memory.

    until no distance changes
        each core vertex v: row[v] = min(row[v], row[u] + w) over its arcs (u, v, w) from the core
    each vertex v: of its arcs (u, v, w), the one with the least row[u] + w gives its distance and predecessor

A queue of the vertices whose tails were lowered reads half as many arcs, and took longer when measured
(docs/performance.md): the frontier of eight sources is the core.

A vertex outside the core is looked at only in the last step, and as a source it reaches only itself:
other blocks fill such rows. A row is four words. At first a word holds two 16-bit distances; where
one of a block's distances could pass 16 bits, the block starts anew with a 32-bit distance a word,
four sources at a time. Where an arc weighs 0 a word is 64 bits wide, the distance above the number of
arcs: each arc then makes a path longer, so that predecessors cannot run in a circle.
"""

from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numba import cuda, uint32, uint64

from kernels.gpu.card import SIMULATED, has_pairs
from kernels.gpu.intrinsics import least_halves, least_halves_at_once
from kernels.gpu.launching import blocks_for
from kernels.graph import INF, Graph
from kernels.run import Result, Run

SOURCES = 8  # a block
SLICE = 32  # vertices whose arcs are interleaved: a warp reads an arc of each of its vertices at once
LOW, HIGH = np.uint32(0xFFFF), np.uint32(0xFFFF0000)
MAX_NARROW_WEIGHT = 0x7FFF
ALIGNMENT = None if SIMULATED else 16  # a row is then loaded at once; the simulator knows no alignment


class Layout(NamedTuple):
    """A graph as the kernel reads it: uint32 arrays; core vertices go by their place in `core`.

    core, rest: the vertices with out-arcs, those with most arcs from the core first; the others.
    slices, slice_tails, slice_weights: the arcs between core vertices by their heads. Arc j of the
    vertex in lane i of slice s lies at slices[s] + SLICE * j + i; shorter lists are filled with arcs
    of weight 0 from the vertex len(core), which is never reached. in_indptr, tails, weights: all arcs by
    their heads, any vertex, compressed.
    slice_arcs, arcs: the same with the tail in the upper and the weight in the lower half of a word,
    of use only where 16 bits can do.
    """

    core: np.ndarray
    rest: np.ndarray
    slices: np.ndarray
    slice_arcs: np.ndarray
    slice_tails: np.ndarray
    slice_weights: np.ndarray
    in_indptr: np.ndarray
    arcs: np.ndarray
    tails: np.ndarray
    weights: np.ndarray


@lru_cache(maxsize=1)
def layout(graph: Graph) -> Layout:
    """A property of the graph, as its CSR arrays are: made once, before the clock starts."""
    graph = graph.cheapest()
    n, has_out = graph.vertices, np.diff(graph.indptr) > 0
    by_head = np.argsort(graph.indices, kind="stable")
    tails, heads, weights = (array[by_head] for array in (graph.tails, graph.indices, graph.weights))
    within = has_out[heads]
    in_core = np.bincount(heads[within], minlength=n)
    core = np.flatnonzero(has_out)
    core = core[np.argsort(-in_core[core], kind="stable")]
    place = np.zeros(n, np.int64)
    place[core] = np.arange(len(core))

    degrees = in_core[core]
    lengths = np.pad(degrees, (0, -len(core) % SLICE)).reshape(-1, SLICE).max(axis=1, initial=0)
    slices = _starts(SLICE * lengths)
    order = np.argsort(place[heads[within]], kind="stable")
    head, tail = place[heads[within]][order], place[tails[within]][order]
    at = slices[head // SLICE] + SLICE * (np.arange(len(head)) - _starts(degrees)[head]) + head % SLICE
    slice_tails, slice_weights = np.full(slices[-1], len(core)), np.zeros(slices[-1], np.int64)
    slice_tails[at], slice_weights[at] = tail, weights[within][order]

    arrays = (
        *(core, np.flatnonzero(~has_out), slices),
        *(slice_tails << 16 | slice_weights, slice_tails, slice_weights),
        *(_starts(np.bincount(heads, minlength=n)), place[tails] << 16 | weights, place[tails], weights),
    )
    return Layout(*(array.astype(np.uint32) for array in arrays))


def _starts(counts: np.ndarray) -> np.ndarray:
    """Where each of the lists of these lengths starts, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(counts)])


def narrow_cap(graph: Graph) -> int:
    """What stands for "no path" in 16 bits: a sum with any weight still fits. 0 where 16 bits cannot do."""
    weights, core = graph.weights, np.count_nonzero(np.diff(graph.indptr))
    fits = len(weights) and weights.min() > 0 and weights.max() <= MAX_NARROW_WEIGHT and core < 1 << 16
    return 0xFFFF - int(weights.max()) if fits else 0


@cuda.jit(device=True)
def least(a, b):
    return min(a, b)


@cache
def arc_reader(narrow: bool, hops: bool):
    """An arc's tail, and its weight as it is added to a word of a row, as a device function.

    narrow: a word holds two distances, and tail and weight lie in one. hops: it holds a number of
    arcs below the distance.
    """

    @cuda.jit(device=True)
    def read(tails, weights, at):
        if narrow:
            arc = tails[at]
            return np.uint32(arc >> np.uint32(16)), np.uint32(np.uint32(arc & LOW) * np.uint32(0x10001))
        elif hops:
            return tails[at], np.uint64((np.uint64(weights[at]) << np.uint64(32)) | np.uint64(1))
        else:
            return tails[at], weights[at]

    return read


@cache
def relaxation(narrow: bool, hops: bool, at_once: bool):
    """The loop until nothing changes, as a device function."""
    word = np.uint64 if hops else np.uint32
    lesser = least if not narrow else least_halves_at_once if at_once else least_halves
    read = arc_reader(narrow, hops)
    sources = np.uint32(8 if narrow else 4)

    @cuda.jit(device=True)
    def relax(core, first, cap, slices, tails, weights, rows):
        me, threads = np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockDim.x)
        far = np.uint32(cap * np.uint32(0x10001)) if narrow else cap
        cuda.syncthreads()  # whoever still reads the rows of the sources before
        v = me
        while v <= core:
            at = np.uint32(np.uint32(4) * v)
            rows[at] = far
            rows[np.uint32(at | np.uint32(1))] = far
            rows[np.uint32(at | np.uint32(2))] = far
            rows[np.uint32(at | np.uint32(3))] = far
            if first <= v and v < np.uint32(first + sources) and v < core:
                lane = np.uint32(v - first)
                if narrow:
                    own = HIGH if lane & np.uint32(1) == 0 else LOW
                    rows[np.uint32(at | (lane >> np.uint32(1)))] = np.uint32(far & own)
                else:
                    rows[np.uint32(at | lane)] = word(0)
            v = np.uint32(v + threads)
        cuda.syncthreads()
        changed = True
        while changed:
            lowered = np.int32(0)
            start = np.uint32(0)
            while start < core:  # a vertex a thread; all read before any writes
                v = np.uint32(start + me)
                at = np.uint32(np.uint32(4) * v)
                lower = False
                if v < core:
                    a0 = a = rows[at]
                    b0 = b = rows[np.uint32(at | np.uint32(1))]
                    c0 = c = rows[np.uint32(at | np.uint32(2))]
                    d0 = d = rows[np.uint32(at | np.uint32(3))]
                    s = np.uint32(v // np.uint32(SLICE))
                    arc = np.uint32(slices[s] + v % np.uint32(SLICE))
                    end = slices[np.uint32(s + np.uint32(1))]
                    while arc < end:
                        tail, w = read(tails, weights, arc)
                        u = np.uint32(np.uint32(4) * tail)
                        a = lesser(a, word(rows[u] + w))
                        b = lesser(b, word(rows[np.uint32(u | np.uint32(1))] + w))
                        c = lesser(c, word(rows[np.uint32(u | np.uint32(2))] + w))
                        d = lesser(d, word(rows[np.uint32(u | np.uint32(3))] + w))
                        arc = np.uint32(arc + np.uint32(SLICE))
                    lower = a != a0 or b != b0 or c != c0 or d != d0
                cuda.syncthreads()
                if lower:
                    rows[at] = a
                    rows[np.uint32(at | np.uint32(1))] = b
                    rows[np.uint32(at | np.uint32(2))] = c
                    rows[np.uint32(at | np.uint32(3))] = d
                    lowered = np.int32(1)
                cuda.syncthreads()
                start = np.uint32(start + threads)
            changed = cuda.syncthreads_or(lowered) != 0

    return relax


@cuda.jit(device=True)
def all_fit(core, cap, rows):
    """Whether no 16-bit distance is so large that a sum with a weight could reach cap."""
    limit = np.uint32(np.uint32(2) * cap - LOW)
    too_large = np.int32(0)
    i, end = np.uint32(cuda.threadIdx.x), np.uint32(np.uint32(4) * core)
    while i < end:
        low, high = np.uint32(rows[i] & LOW), np.uint32(rows[i] >> np.uint32(16))
        if (limit <= low and low < cap) or (limit <= high and high < cap):
            too_large = np.int32(1)
        i = np.uint32(i + cuda.blockDim.x)
    return cuda.syncthreads_or(too_large) == 0


@cuda.jit(device=True)
def put(n, v, lane, first, core, there, d, u, dist, predecessor):
    """Write the distance d and predecessor u (its place in core) of v for a source, where there is a path."""
    i = np.uint32(first + np.uint32(lane))
    if i < len(core):
        source = core[i]
        at = np.uint64(np.uint64(source) * np.uint64(n) + np.uint64(v))
        if v == source:
            dist[at], predecessor[at] = 0, -1
        elif there:
            dist[at], predecessor[at] = np.int32(d), np.int32(core[u])
        else:
            dist[at], predecessor[at] = INF, -1


read_narrow = arc_reader(True, False)


@cuda.jit(device=True)
def finish_narrow(n, first, cap, core, in_indptr, arcs, weights, rows, dist, predecessor):
    """Distances and predecessors of eight sources. A best: the distance above the place of the tail."""
    v = np.uint32(cuda.threadIdx.x)
    while v < n:
        b0 = b1 = b2 = b3 = b4 = b5 = b6 = b7 = np.uint32(cap << np.uint32(16))
        arc, end = in_indptr[v], in_indptr[np.uint32(v + np.uint32(1))]
        while arc < end:
            u, w = read_narrow(arcs, weights, arc)
            at = np.uint32(np.uint32(4) * u)
            x = np.uint32(rows[at] + w)
            b0, b1 = min(b0, np.uint32(x << np.uint32(16) | u)), min(b1, np.uint32(x & HIGH | u))
            x = np.uint32(rows[np.uint32(at | np.uint32(1))] + w)
            b2, b3 = min(b2, np.uint32(x << np.uint32(16) | u)), min(b3, np.uint32(x & HIGH | u))
            x = np.uint32(rows[np.uint32(at | np.uint32(2))] + w)
            b4, b5 = min(b4, np.uint32(x << np.uint32(16) | u)), min(b5, np.uint32(x & HIGH | u))
            x = np.uint32(rows[np.uint32(at | np.uint32(3))] + w)
            b6, b7 = min(b6, np.uint32(x << np.uint32(16) | u)), min(b7, np.uint32(x & HIGH | u))
            arc = np.uint32(arc + np.uint32(1))
        put_narrow(n, v, 0, first, cap, core, b0, dist, predecessor)
        put_narrow(n, v, 1, first, cap, core, b1, dist, predecessor)
        put_narrow(n, v, 2, first, cap, core, b2, dist, predecessor)
        put_narrow(n, v, 3, first, cap, core, b3, dist, predecessor)
        put_narrow(n, v, 4, first, cap, core, b4, dist, predecessor)
        put_narrow(n, v, 5, first, cap, core, b5, dist, predecessor)
        put_narrow(n, v, 6, first, cap, core, b6, dist, predecessor)
        put_narrow(n, v, 7, first, cap, core, b7, dist, predecessor)
        v = np.uint32(v + cuda.blockDim.x)


@cuda.jit(device=True)
def put_narrow(n, v, lane, first, cap, core, best, dist, predecessor):
    d = np.uint32(best >> np.uint32(16))
    put(n, v, lane, first, core, d < cap, d, np.uint32(best & LOW), dist, predecessor)


@cache
def finish_wide(hops: bool):
    """The same for four sources, a word a distance; as a device function."""
    word = np.uint64 if hops else np.uint32
    read = arc_reader(False, hops)
    shift = word(32 if hops else 0)

    @cuda.jit(device=True)
    def finish(n, first, cap, core, in_indptr, tails, weights, rows, dist, predecessor):
        v = np.uint32(cuda.threadIdx.x)
        while v < n:
            lane = np.uint32(0)
            while lane < np.uint32(4):
                best, tail = cap, np.uint32(0)
                arc, end = in_indptr[v], in_indptr[np.uint32(v + np.uint32(1))]
                while arc < end:
                    u, w = read(tails, weights, arc)
                    x = word(rows[np.uint32(np.uint32(4) * u + lane)] + w)
                    if x < best:
                        best, tail = x, u
                    arc = np.uint32(arc + np.uint32(1))
                put(n, v, lane, first, core, best < cap, best >> shift, tail, dist, predecessor)
                lane = np.uint32(lane + np.uint32(1))
            v = np.uint32(v + cuda.blockDim.x)

    return finish


@cuda.jit(device=True)
def fill(n, i, rest, dist, predecessor):
    """The rows of the i-th eight sources without out-arcs."""
    i = np.uint32(np.uint32(SOURCES) * i)
    end = min(np.uint32(i + np.uint32(SOURCES)), np.uint32(len(rest)))
    while i < end:
        source = rest[i]
        row = np.uint64(np.uint64(source) * np.uint64(n))
        v = np.uint32(cuda.threadIdx.x)
        while v < n:
            dist[np.uint64(row + np.uint64(v))] = 0 if v == source else INF
            predecessor[np.uint64(row + np.uint64(v))] = -1
            v = np.uint32(v + cuda.blockDim.x)
        i = np.uint32(i + np.uint32(1))


@cache
def search_from_all(in_shared: bool, hops: bool, at_once: bool):
    """Blocks that search and blocks that fill follow each other evenly, so that the card does both at once."""
    word, word_type = (np.uint64, uint64) if hops else (np.uint32, uint32)
    cap = word(INF << 32 if hops else INF)
    may_be_narrow = not hops
    relax_narrow, relax_wide = relaxation(True, False, at_once), relaxation(False, hops, at_once)
    finish = finish_wide(hops)

    @cuda.jit
    def kernel(
        n, most, core, rest, slices, slice_arcs, slice_tails, slice_weights, in_indptr, arcs, tails, weights,
        work, dist, predecessor,
    ):  # fmt: skip
        size, block, blocks = np.uint32(len(core)), np.uint64(cuda.blockIdx.x), np.uint64(cuda.gridDim.x)
        batches = np.uint64((size + np.uint32(SOURCES - 1)) // np.uint32(SOURCES))
        batch = np.uint32(block * batches // blocks)
        if batch == np.uint32((block + np.uint64(1)) * batches // blocks):
            fill(n, np.uint32(block - batch), rest, dist, predecessor)
            return
        if in_shared:
            rows = cuda.shared.array(0, word_type, ALIGNMENT)
        else:
            start = np.uint64(np.uint64(batch) * np.uint64(size + np.uint32(1)))
            rows = work[np.uint64(4) * start :]
        first = np.uint32(np.uint32(SOURCES) * batch)
        done = False
        if may_be_narrow and most != 0:
            relax_narrow(size, first, most, slices, slice_arcs, slice_weights, rows)
            done = all_fit(size, most, rows)
            if done:
                finish_narrow(n, first, most, core, in_indptr, arcs, weights, rows, dist, predecessor)
        if not done:
            end = min(np.uint32(first + np.uint32(SOURCES)), size)
            while first < end:
                relax_wide(size, first, cap, slices, slice_tails, slice_weights, rows)
                finish(n, first, cap, core, in_indptr, tails, weights, rows, dist, predecessor)
                first = np.uint32(first + np.uint32(4))

    return kernel


def bytes_of_block(core: int, hops: bool) -> int:
    """The shared memory that a block's rows take; one row more than the core has, for the vertex never reached."""
    return (core + 1) * (32 if hops else 16)


def apsp(graph: Graph, result: Result, run: Run) -> None:
    """Eight sources a block; fills result, (n, n). Weights may be 0."""
    n, parts = graph.vertices, layout(graph)
    hops = bool(graph.arcs) and graph.weights.min() == 0
    needed = bytes_of_block(len(parts.core), hops)
    in_shared = needed <= run.shared_limit
    batches = blocks_for(len(parts.core), SOURCES)
    blocks = batches + blocks_for(len(parts.rest), SOURCES)
    run.require(2 * 4 * n * n + (0 if in_shared else batches * needed))
    arrays = run.resident(*parts)
    with run.timed():
        with run.phase("copy_in"):
            dist, predecessor = run.allocate((n * n, np.int32), (n * n, np.int32))
            word = np.uint64 if hops else np.uint32
            (work,) = run.allocate((1 if in_shared else batches * needed // np.dtype(word).itemsize, word))
            arguments = (np.uint32(n), np.uint32(narrow_cap(graph)), *arrays, work, dist, predecessor)
            shared = needed if in_shared else 0
            search = run.prepare((search_from_all(in_shared, hops, has_pairs()), blocks, run.block, arguments, shared))
        with run.phase("kernels"):
            search()
        with run.phase("copy_out"):
            run.download((dist, result.distances.ravel()), (predecessor, result.predecessors.ravel()))


def launches(vertices: int, tile: int) -> int:
    """One for everything."""
    return 1
