"""Kernels of the searches with float64 weights; fast/floats.py explains them."""

from functools import cache

from ..gpu.compiler import cuda
from ..gpu.intrinsics import LAUNCH_BOUNDS, i32, thread_x, u32, u64
from ..graph import INF
from .float_graph import LANES, NONE, SOURCE, TINY


@cuda.jit
def set_bounds(constants, whole, dist, stamps, predecessor):
    """Set dist to the bounds, and reset stamps and predecessor.

    constants[0]: the factor that scales integer distances back. constants[1]: the largest bound; a vertex without an
    integer distance has this bound.
    """
    at, threads = u64(thread_x()), u64(cuda.gridsize(1))
    while at < u64(len(dist)):
        bound = constants[1]
        if at < u64(len(whole)) and whole[at] != INF:
            bound = min(bound, whole[at] * constants[0] + TINY)
        dist[at] = bound
        stamps[at] = 0
        if at < u64(len(predecessor)):
            predecessor[at] = NONE
        at = u64(at + threads)


@cuda.jit
def start(starts, dist, predecessor, queues):
    """Queue the sources, which have distance 0."""
    i, threads = u64(thread_x()), u64(cuda.gridsize(1))
    while i < u64(len(starts)):
        at = starts[i]
        queues[i] = at
        dist[at] = 0
        if at < u64(len(predecessor)):
            predecessor[at] = SOURCE
        i = u64(i + threads)


@cuda.jit(device=True)
def lower(u, at, to, d, x, done, dist, stamps):
    """Lower the distance of `to` to x; return whether this thread is the first in the round to lower it."""
    if x < dist[to] and x < cuda.atomic.min(dist, to, x):
        return cuda.atomic.max(stamps, to, u32(done + u32(1))) <= done
    return False


@cuda.jit(device=True)
def adopt(u, at, to, d, x, done, dist, predecessor):
    """Set u as the predecessor of `to` if the arc adds nothing to the distance; return whether this thread set u.

    The arc is used only if u already has a predecessor or is a source.
    """
    if x == d and d == dist[to] and predecessor[to] == NONE and predecessor[at] != NONE:
        return cuda.atomic.cas(predecessor, to, NONE, i32(u)) == NONE
    return False


@cache
def rounds(take):
    """Return a cooperative kernel that runs rounds until no vertex is queued.

    A round calls `take` for each arc of a queued vertex. If `take` returns True, the head is queued for the next round.

    The kernel's `most` is the maximum number of rounds. `marks`: the stamps of `lower`, or the predecessors of `adopt`.
    queues: uint32, two words per entry of dist; a round reads one half of the array and fills the other half. counts:
    uint32, (4,). Words 0 to 2 are used in rotation, so that one barrier per round is enough: round r reads the number
    of its queued vertices from word r mod 3, counts in word (r + 1) mod 3 the vertices that it queues, and sets word (r
    + 2) mod 3 to 0. Word 3 becomes the number of rounds.
    """

    @cuda.jit(**LAUNCH_BOUNDS)
    def kernel(vertices, most, indptr, indices, weights, dist, marks, queues, counts):  # noqa: PLR0913
        grid = cuda.cg.this_grid()
        thread, groups = thread_x(), u32(cuda.gridsize(1) // LANES)
        done, count = u32(0), counts[0]
        while count != 0 and done < most:
            following = u32((done + u32(1)) % u32(3))
            if thread == 0:
                counts[u32((done + u32(2)) % u32(3))] = 0
            read = u64(len(dist)) * u64(done & u32(1))
            fill = u64(len(dist)) - read
            i = u32(thread // u32(LANES))
            while i < count:
                at = queues[u64(read + u64(i))]
                u = u32(at % vertices)
                row, d = u32(at - u), dist[at]
                arc, end = u32(u32(indptr[u]) + thread % u32(LANES)), u32(indptr[u32(u + u32(1))])
                while arc < end:
                    to = u32(row + u32(indices[arc]))
                    if take(u, at, to, d, d + weights[arc], done, dist, marks):
                        queues[u64(fill + u64(cuda.atomic.add(counts, following, u32(1))))] = to
                    arc = u32(arc + u32(LANES))
                i = u32(i + groups)
            grid.sync()
            done = u32(done + u32(1))
            count = counts[u32(done % u32(3))]
        if thread == 0:
            counts[3] = done

    return kernel


relax, follow_ties = rounds(lower), rounds(adopt)


@cuda.jit
def find_tree(vertices, constants, indptr, indices, weights, dist, predecessor):
    """Set predecessors along arcs that lead to a larger distance. Ties: the last writer wins."""
    at, groups = u64(thread_x() // u32(LANES)), u64(cuda.gridsize(1) // LANES)
    while at < u64(len(dist)):
        u = u32(at % u64(vertices))
        row, d = u64(at - u64(u)), dist[at]
        arc, end = u32(u32(indptr[u]) + thread_x() % u32(LANES)), u32(indptr[u32(u + u32(1))])
        while arc < end:
            to = u64(row + u64(indices[arc]))
            x = d + weights[arc]
            if d < x and x < constants[1] and x == dist[to]:
                predecessor[to] = i32(u)
            arc = u32(arc + u32(LANES))
        at = u64(at + groups)
