"""Bellman-Ford from every source of a sparse graph, eight sources per block.

The core is the set of vertices with out-arcs. A vertex outside the core can only be the last vertex of a path. A block
has eight core vertices as sources. For each core vertex, the block keeps a row: the vertex's distances from these
sources. The rows are in shared memory if all of them fit, else in global memory.

    until no distance changes
        each core vertex v: row[v] = min(row[v], row[u] + w) over its arcs (u, v, w) from the core
    each vertex v: the arc (u, v, w) with the least row[u] + w gives the distance, row[u] + w, and the predecessor, u

Each round reads all arcs of the core. A queue of the vertices whose in-neighbours changed would read 40 % of the arcs,
but was slower when measured (docs/performance.md).

A vertex outside the core is called a sink. It gets its distances after the last round. As a source, a sink reaches only
itself. Blocks that do not search fill the results of these sources.

A row has four words. If weights and core are small, a block first searches with two 16-bit distances per word. If a
distance might not fit in 16 bits, the block searches again with one 32-bit distance per word, from four sources at a
time. If a weight is 0, a word has 64 bits: the distance in the upper half, the number of arcs of the path in the lower
half. Then each arc increases the word, even an arc of weight 0, so that predecessors cannot form a cycle.

One thread owns a vertex. Only the owner writes the vertex's row, between two barriers.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from ..gpu.card import SIMULATED, has_16_bit_pair_minimum
from ..gpu.compiler import cuda, uint32, uint64
from ..gpu.intrinsics import HIGH, LOW, i32, min_pairs, min_pairs_native, u32, u64
from ..gpu.launching import blocks_for
from ..graph import INF, Graph, kept, starts
from ..run import Result, Run

SOURCES_PER_BLOCK = 8
SLICE = 32  # number of vertices whose arcs are interleaved, so that a warp reads one arc of each vertex at once
MAX_NARROW_WEIGHT = 0x7FFF
ALIGNMENT = None if SIMULATED else 16  # lets a thread load a row at once; the simulator rejects the option


class SlicedLayout(NamedTuple):
    """A graph in the form that the kernel reads; all arrays are uint32. Core vertices are numbered by index in `core`.

    A slice is SLICE core vertices with their arcs from the core. Arc j of the i-th vertex of slice s is at index
    slices[s] + SLICE * j + i of slice_arcs, slice_tails and slice_weights. Within a slice, the
    lists are padded to the same length with arcs of weight 0 from vertex len(core), which is never reached.

    in_indptr, arcs, tails and weights have all arcs by head, in compressed rows. Their heads are all vertices, with the
    graph's numbers; their tails are numbered by index in `core`. slice_arcs and `arcs` are read by searches with 16-bit
    distances: a word has the tail in the upper half and the weight in the lower half.
    """

    core: np.ndarray  # vertices with out-arcs, by decreasing number of arcs from the core
    sinks: np.ndarray  # vertices without out-arcs
    slices: np.ndarray
    slice_arcs: np.ndarray
    slice_tails: np.ndarray
    slice_weights: np.ndarray
    in_indptr: np.ndarray
    arcs: np.ndarray
    tails: np.ndarray
    weights: np.ndarray


@kept
def sliced_layout(graph: Graph) -> SlicedLayout:
    """Return the layout of a graph. It is made once, before the clock starts, like the CSR arrays."""
    graph = graph.cheapest()
    n, has_out = graph.vertices, np.diff(graph.indptr) > 0
    by_head = np.argsort(graph.indices, kind="stable")
    tails, heads, weights = (array[by_head] for array in (graph.tails, graph.indices, graph.weights))
    within = has_out[heads]
    in_core = np.bincount(heads[within], minlength=n)
    core = np.flatnonzero(has_out)
    core = core[np.argsort(-in_core[core], kind="stable")]
    index = np.zeros(n, np.int64)
    index[core] = np.arange(len(core))

    degrees = in_core[core]
    lengths = np.pad(degrees, (0, -len(core) % SLICE)).reshape(-1, SLICE).max(axis=1, initial=0)
    slices = starts(SLICE * lengths)
    order = np.argsort(index[heads[within]], kind="stable")
    head, tail = index[heads[within]][order], index[tails[within]][order]
    at = slices[head // SLICE] + SLICE * (np.arange(len(head)) - starts(degrees)[head]) + head % SLICE
    slice_tails, slice_weights = np.full(slices[-1], len(core)), np.zeros(slices[-1], np.int64)
    slice_tails[at], slice_weights[at] = tail, weights[within][order]

    arrays = (
        *(core, np.flatnonzero(~has_out), slices),
        *(slice_tails << 16 | slice_weights, slice_tails, slice_weights),
        *(starts(np.bincount(heads, minlength=n)), index[tails] << 16 | weights, index[tails], weights),
    )
    return SlicedLayout(*(array.astype(np.uint32) for array in arrays))


def no_path_in_16_bits(graph: Graph) -> int:
    """Return the 16-bit number that means "no path"; its sum with any weight still fits in 16 bits.

    Return 0 if 16-bit distances must not be tried: if a weight is 0 or too large, if the core has too many vertices, or
    if there are no arcs.
    """
    weights, core = graph.weights, np.count_nonzero(np.diff(graph.indptr))
    fits = len(weights) and weights.min() > 0 and weights.max() <= MAX_NARROW_WEIGHT and core < 1 << 16
    return 0xFFFF - int(weights.max()) if fits else 0


@cuda.jit(device=True)
def lesser_word(a, b):
    return min(a, b)


@cache
def arc_reader(narrow: bool, count_hops: bool):
    """Return a device function that returns an arc's tail, and the number to add to a word of the tail's row.

    narrow: whether a word of a row holds two 16-bit distances. If so, a word of `arcs` has the tail and the weight;
    otherwise it has only the tail.
    count_hops: whether a word of a row has 64 bits: the distance in the upper half, the number of arcs in the lower.
    """

    @cuda.jit(device=True)
    def read(arcs, weights, at):
        if narrow:
            arc = arcs[at]
            return u32(arc >> u32(16)), u32(u32(arc & LOW) * u32(0x10001))
        elif count_hops:
            return arcs[at], u64((u64(weights[at]) << u64(32)) | u64(1))
        else:
            return arcs[at], weights[at]

    return read


@cache
def row_setter(narrow: bool, count_hops: bool):
    """Return a device function that sets each source's distance to itself to 0 and all other distances to no path."""
    word, sources = u64 if count_hops else u32, u32(8 if narrow else 4)

    @cuda.jit(device=True)
    def set_rows(size, first_source, no_path, rows):
        thread, threads = u32(cuda.threadIdx.x), u32(cuda.blockDim.x)
        unreached = u32(no_path * u32(0x10001)) if narrow else no_path
        cuda.syncthreads()  # other threads may still read the rows of the block's previous search
        v = thread
        while v <= size:
            at = u32(u32(4) * v)
            rows[at] = unreached
            rows[u32(at | u32(1))] = unreached
            rows[u32(at | u32(2))] = unreached
            rows[u32(at | u32(3))] = unreached
            if first_source <= v and v < u32(first_source + sources) and v < size:
                k = u32(v - first_source)  # v is the block's k-th source
                if narrow:
                    half = HIGH if k & u32(1) == 0 else LOW  # mask of the other source's half of the word
                    rows[u32(at | (k >> u32(1)))] = u32(unreached & half)
                else:
                    rows[u32(at | k)] = word(0)
            v = u32(v + threads)

    return set_rows


@cache
def relaxation(narrow: bool, count_hops: bool, native: bool):
    """Return a device function that finds the distances from the block's sources to the `size` core vertices.

    narrow, count_hops: see `arc_reader`. native: whether the card has one instruction for the minima of both halves of
    two words.
    """
    word = u64 if count_hops else u32
    lesser = lesser_word if not narrow else min_pairs_native if native else min_pairs
    set_rows, read = row_setter(narrow, count_hops), arc_reader(narrow, count_hops)

    @cuda.jit(device=True)
    def relax(size, first_source, no_path, slices, arcs, weights, rows):
        thread, threads = u32(cuda.threadIdx.x), u32(cuda.blockDim.x)
        set_rows(size, first_source, no_path, rows)
        cuda.syncthreads()
        changed = True
        while changed:
            any_less = i32(0)
            start = u32(0)
            while start < size:  # one vertex per thread; all threads read before any writes
                v = u32(start + thread)
                at = u32(u32(4) * v)
                less = False
                if v < size:  # the four words of its row, a to d, stay in registers
                    a0 = a = rows[at]
                    b0 = b = rows[u32(at | u32(1))]
                    c0 = c = rows[u32(at | u32(2))]
                    d0 = d = rows[u32(at | u32(3))]
                    s = u32(v // u32(SLICE))
                    arc = u32(slices[s] + v % u32(SLICE))
                    end = slices[u32(s + u32(1))]
                    while arc < end:
                        tail, w = read(arcs, weights, arc)
                        u = u32(u32(4) * tail)
                        a = lesser(a, word(rows[u] + w))
                        b = lesser(b, word(rows[u32(u | u32(1))] + w))
                        c = lesser(c, word(rows[u32(u | u32(2))] + w))
                        d = lesser(d, word(rows[u32(u | u32(3))] + w))
                        arc = u32(arc + u32(SLICE))
                    less = a != a0 or b != b0 or c != c0 or d != d0
                cuda.syncthreads()
                if less:
                    rows[at] = a
                    rows[u32(at | u32(1))] = b
                    rows[u32(at | u32(2))] = c
                    rows[u32(at | u32(3))] = d
                    any_less = i32(1)
                cuda.syncthreads()
                start = u32(start + threads)
            changed = cuda.syncthreads_or(any_less) != 0

    return relax


@cuda.jit(device=True)
def all_fit(size, no_path, rows):
    """Return whether every 16-bit distance is so small that its sum with a weight stays below no_path."""
    limit = u32(u32(2) * no_path - LOW)  # no_path minus the largest weight, which is 65,535 - no_path
    too_large = i32(0)
    i, end = u32(cuda.threadIdx.x), u32(u32(4) * size)
    while i < end:
        low, high = u32(rows[i] & LOW), u32(rows[i] >> u32(16))
        if (limit <= low and low < no_path) or (limit <= high and high < no_path):
            too_large = i32(1)
        i = u32(i + cuda.blockDim.x)
    return cuda.syncthreads_or(too_large) == 0


@cuda.jit(device=True)
def write_path(n, v, k, first_source, core, has_path, d, u, dist, predecessor):  # noqa: PLR0913
    """Write distance d and predecessor u (an index in core) of v for the block's k-th source.

    first_source: index in core of the block's first source.
    """
    i = u32(first_source + u32(k))
    if i < len(core):
        source = core[i]
        at = u64(u64(source) * u64(n) + u64(v))
        if v == source:
            dist[at], predecessor[at] = 0, -1
        elif has_path:
            dist[at], predecessor[at] = i32(d), i32(core[u])
        else:
            dist[at], predecessor[at] = INF, -1


@cuda.jit(device=True)
def write_narrow_path(n, v, k, first_source, no_path, core, best, dist, predecessor):  # noqa: PLR0913
    d = u32(best >> u32(16))
    write_path(n, v, k, first_source, core, d < no_path, d, u32(best & LOW), dist, predecessor)


read_narrow = arc_reader(narrow=True, count_hops=False)


@cuda.jit(device=True)
def better_pair(low, high, word, u):
    """Return the best path of each of two sources: the best path so far, or the path through tail u if it is shorter.

    low, high: the best path so far of each source, as in `write_narrow_results`. word: the lengths of the two paths
    through u.
    """
    return min(low, u32(word << u32(16) | u)), min(high, u32(word & HIGH | u))


@cuda.jit(device=True)
def write_narrow_results(n, first_source, no_path, graph, rows, dist, predecessor):
    """Write distances and predecessors of eight sources.

    The best path of each source, b0 to b7, is a word with the distance in the upper half and the tail (its index in
    core) in the lower half, so that one minimum finds both. b0 to b7 are separate variables, because an array that is
    indexed in a loop would be in local memory, not in registers.
    """
    v = u32(cuda.threadIdx.x)
    while v < n:
        b0 = b1 = b2 = b3 = b4 = b5 = b6 = b7 = u32(no_path << u32(16))
        arc, end = graph.in_indptr[v], graph.in_indptr[u32(v + u32(1))]
        while arc < end:
            u, w = read_narrow(graph.arcs, graph.weights, arc)
            at = u32(u32(4) * u)
            b0, b1 = better_pair(b0, b1, u32(rows[at] + w), u)
            b2, b3 = better_pair(b2, b3, u32(rows[u32(at | u32(1))] + w), u)
            b4, b5 = better_pair(b4, b5, u32(rows[u32(at | u32(2))] + w), u)
            b6, b7 = better_pair(b6, b7, u32(rows[u32(at | u32(3))] + w), u)
            arc = u32(arc + u32(1))
        write_narrow_path(n, v, 0, first_source, no_path, graph.core, b0, dist, predecessor)
        write_narrow_path(n, v, 1, first_source, no_path, graph.core, b1, dist, predecessor)
        write_narrow_path(n, v, 2, first_source, no_path, graph.core, b2, dist, predecessor)
        write_narrow_path(n, v, 3, first_source, no_path, graph.core, b3, dist, predecessor)
        write_narrow_path(n, v, 4, first_source, no_path, graph.core, b4, dist, predecessor)
        write_narrow_path(n, v, 5, first_source, no_path, graph.core, b5, dist, predecessor)
        write_narrow_path(n, v, 6, first_source, no_path, graph.core, b6, dist, predecessor)
        write_narrow_path(n, v, 7, first_source, no_path, graph.core, b7, dist, predecessor)
        v = u32(v + cuda.blockDim.x)


@cache
def wide_results(count_hops: bool):
    """Return a device function that writes distances and predecessors of four sources, with one word per distance."""
    word = u64 if count_hops else u32
    read = arc_reader(False, count_hops)
    shift = word(32 if count_hops else 0)

    @cuda.jit(device=True)
    def write_wide_results(n, first_source, no_path, graph, rows, dist, predecessor):
        v = u32(cuda.threadIdx.x)
        while v < n:
            k = u32(0)
            while k < u32(4):
                best, tail = no_path, u32(0)
                arc, end = graph.in_indptr[v], graph.in_indptr[u32(v + u32(1))]
                while arc < end:
                    u, w = read(graph.tails, graph.weights, arc)
                    x = word(rows[u32(u32(4) * u + k)] + w)
                    if x < best:
                        best, tail = x, u
                    arc = u32(arc + u32(1))
                write_path(n, v, k, first_source, graph.core, best < no_path, best >> shift, tail, dist, predecessor)
                k = u32(k + u32(1))
            v = u32(v + cuda.blockDim.x)

    return write_wide_results


@cuda.jit(device=True)
def fill_sinks(n, i, sinks, dist, predecessor):
    """Fill the rows of the i-th group of eight sinks. As a source, a sink reaches only itself."""
    i = u32(u32(SOURCES_PER_BLOCK) * i)
    end = min(u32(i + u32(SOURCES_PER_BLOCK)), u32(len(sinks)))
    while i < end:
        source = sinks[i]
        row = u64(u64(source) * u64(n))
        v = u32(cuda.threadIdx.x)
        while v < n:
            dist[u64(row + u64(v))] = 0 if v == source else INF
            predecessor[u64(row + u64(v))] = -1
            v = u32(v + cuda.blockDim.x)
        i = u32(i + u32(1))


@cache
def search_from_all(in_shared: bool, count_hops: bool, native: bool):
    """Return the kernel. A block searches from a group of eight core vertices, or fills the rows of eight sinks.

    The two kinds of blocks are interleaved evenly, so that both run at the same time. Block b searches if
    (b + 1) * groups // blocks is greater than b * groups // blocks, else it fills rows.

    in_shared: whether a block's rows are in shared memory; otherwise they are in `work`. count_hops, native: see
    `arc_reader` and `relaxation`. The kernel's argument no_path_16 is the result of `no_path_in_16_bits`.
    """
    word, word_type = (u64, uint64) if count_hops else (u32, uint32)
    no_path = word(INF << 32 if count_hops else INF)
    may_be_narrow = not count_hops
    relax_narrow, relax_wide = relaxation(True, False, native), relaxation(False, count_hops, native)
    write_wide_results = wide_results(count_hops)

    @cuda.jit
    def kernel(n, no_path_16, graph, work, dist, predecessor):
        size, block, blocks = u32(len(graph.core)), u64(cuda.blockIdx.x), u64(cuda.gridDim.x)
        groups = u64((size + u32(SOURCES_PER_BLOCK - 1)) // u32(SOURCES_PER_BLOCK))
        group = u32(block * groups // blocks)
        if group == u32((block + u64(1)) * groups // blocks):
            fill_sinks(n, u32(block - group), graph.sinks, dist, predecessor)
            return
        if in_shared:
            rows = cuda.shared.array(0, word_type, ALIGNMENT)
        else:
            start = u64(u64(group) * u64(size + u32(1)))
            rows = work[u64(4) * start :]
        first_source = u32(u32(SOURCES_PER_BLOCK) * group)
        done = False
        if may_be_narrow and no_path_16 != 0:
            relax_narrow(size, first_source, no_path_16, graph.slices, graph.slice_arcs, graph.slice_weights, rows)
            done = all_fit(size, no_path_16, rows)
            if done:
                write_narrow_results(n, first_source, no_path_16, graph, rows, dist, predecessor)
        if not done:
            end = min(u32(first_source + u32(SOURCES_PER_BLOCK)), size)
            while first_source < end:
                relax_wide(size, first_source, no_path, graph.slices, graph.slice_tails, graph.slice_weights, rows)
                write_wide_results(n, first_source, no_path, graph, rows, dist, predecessor)
                first_source = u32(first_source + u32(4))

    return kernel


def bytes_of_block(core: int, count_hops: bool) -> int:
    """Return the size of a block's rows in bytes: one row per core vertex, and one for vertex len(core) (`Layout`)."""
    return (core + 1) * (32 if count_hops else 16)


def apsp(graph: Graph, result: Result, run: Run) -> None:
    """Search from eight sources per block and fill `result`, of shape (n, n). Weights may be 0."""
    n, parts = graph.vertices, sliced_layout(graph)
    count_hops = bool(graph.arcs) and graph.weights.min() == 0
    needed = bytes_of_block(len(parts.core), count_hops)
    in_shared = needed <= run.shared_limit
    groups = blocks_for(len(parts.core), SOURCES_PER_BLOCK)
    blocks = groups + blocks_for(len(parts.sinks), SOURCES_PER_BLOCK)
    run.require(2 * 4 * n * n + (0 if in_shared else groups * needed))
    on_card = SlicedLayout(*run.upload_untimed(*parts))
    with run.timed():
        with run.phase("copy_in"):
            dist, predecessor = run.allocate((n * n, np.int32), (n * n, np.int32))
            word = u64 if count_hops else u32
            (work,) = run.allocate((1 if in_shared else groups * needed // np.dtype(word).itemsize, word))
            arguments = (u32(n), u32(no_path_in_16_bits(graph)), on_card, work, dist, predecessor)
            shared = needed if in_shared else 0
            kernel = search_from_all(in_shared, count_hops, has_16_bit_pair_minimum())
            search = run.prepare((kernel, blocks, run.block, arguments, shared))
        with run.phase("kernels"):
            search()
        with run.phase("copy_out"):
            run.download((dist, result.distances.ravel()), (predecessor, result.predecessors.ravel()))


def launches(vertices: int, tile: int) -> int:
    """Return 1: a single launch makes all searches."""
    return 1
