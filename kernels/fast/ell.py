"""Bellman-Ford from one source, with the launches of `bellman_ford/stride`, on an ELL layout instead of CSR arrays.

    heads, weights    one row per vertex with its first out-arcs, stored by columns: arc j of vertex u is in slot
                      j * pitch + u, so that the threads of a warp read neighbouring words
    lengths           the number of slots of each row that hold an arc
    overflow          the remaining arcs of longer rows, as (tail, head, weight): one thread per arc

Because of the lengths (ELLPACK-R: F. Vázquez, J. J. Fernández and E. M. Garzón, 2011) a thread reads no padding, and
loads its next arc before it relaxes the current arc. N. Bell and M. Garland (Supercomputing 2009) introduced ELL with a
list of overflow arcs. They keep a column if a third of the rows have an arc in it. This layout has the largest number
of columns for which at least a quarter of all slots hold an arc. So a road network has no overflow, and a few vertices
with thousands of arcs do not add slots to all other rows. Overflow arcs are relaxed in the same launch as the rows.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csgraph

from ..gpu.compiler import cuda
from ..gpu.intrinsics import i32, thread_x, u32
from ..gpu.launching import blocks_for
from ..graph import Graph, kept
from ..paper.bellman_ford import drive, relax_arc, set_predecessor, update_stride
from ..run import Result, Run

WARP = 32
SLOTS_PER_ARC = 4  # maximum ratio of all slots to the slots that hold an arc
MAX_SLOTS = 2**31  # so that slot + pitch, the index of the next slot in a row, fits in 32 bits


class EllLayout(NamedTuple):
    """The arrays of the layout, int32."""

    lengths: np.ndarray  # (n,)
    heads: np.ndarray  # (columns * pitch,): -1 is padding
    weights: np.ndarray  # (columns * pitch,)
    overflow_tails: np.ndarray  # (number of overflow arcs,), as are overflow_heads and overflow_weights
    overflow_heads: np.ndarray
    overflow_weights: np.ndarray


def pitch(vertices: int) -> int:
    """Return the number of slots in a column: a multiple of a warp, so that columns start at aligned addresses."""
    return WARP * blocks_for(vertices, WARP)


def columns(graph: Graph) -> int:
    """Return the largest number of columns for which at least 1 / SLOTS_PER_ARC of the slots hold an arc."""
    rows_of_degree = np.bincount(np.diff(graph.indptr))
    filled = np.cumsum(np.cumsum(rows_of_degree[::-1])[::-1][1:])  # filled slots, by number of columns
    count = np.arange(1, len(filled) + 1)
    fits = (graph.vertices * count <= SLOTS_PER_ARC * filled) & (pitch(graph.vertices) * count <= MAX_SLOTS)
    return int(np.count_nonzero(fits))  # with more columns, the filled share only decreases


@kept
def ell_layout(graph: Graph) -> EllLayout:
    """Return the layout of a graph. It is made once, before the clock starts, like the CSR arrays."""
    width, column = columns(graph), pitch(graph.vertices)
    position = np.arange(graph.arcs) - graph.indptr[graph.tails]  # position of each arc in its row
    inside = position < width
    slots = position[inside] * column + graph.tails[inside]
    heads, weights = np.full(width * column, -1, np.int32), np.zeros(width * column, np.int32)
    heads[slots], weights[slots] = graph.indices[inside], graph.weights[inside]
    lengths = np.minimum(np.diff(graph.indptr), width)
    return EllLayout(lengths, heads, weights, *(a[~inside] for a in (graph.tails, graph.indices, graph.weights)))


def facts(graph: Graph, source: int) -> dict[str, int]:
    """Return extra columns of a measurement: sizes of the layout, and the number of vertices that are reached."""
    parts = ell_layout(graph)
    reached = csgraph.breadth_first_order(graph.to_integers(), source, return_predecessors=False)
    return {
        "reached": len(reached),
        "longest_row": int(np.diff(graph.indptr).max()),
        "ell_columns": columns(graph),
        "ell_slots": len(parts.heads),
        "ell_overflow": len(parts.overflow_tails),
    }


@cuda.jit
def relax(column, rows, previous, dist):
    u, stride = thread_x(), u32(cuda.gridsize(1))
    while u < len(dist):
        # The length is read from memory in each iteration, as in bellman_ford, so that the loop is not unrolled.
        slot, arc, ahead = u, u32(0), (i32(0), i32(0))
        if arc < u32(rows.lengths[u]):
            ahead = rows.heads[slot], rows.weights[slot]
        while arc < u32(rows.lengths[u]):
            (v, w), arc, slot = ahead, u32(arc + 1), u32(slot + column)
            if arc < u32(rows.lengths[u]):
                ahead = rows.heads[slot], rows.weights[slot]
            relax_arc(u, u32(v), w, previous, dist)
        u = u32(u + stride)
    arc = thread_x()
    while arc < len(rows.overflow_tails):
        u, v = u32(rows.overflow_tails[arc]), u32(rows.overflow_heads[arc])
        relax_arc(u, v, rows.overflow_weights[arc], previous, dist)
        arc = u32(arc + stride)


@cuda.jit
def find_predecessors(column, rows, dist, predecessor):
    u, stride = thread_x(), u32(cuda.gridsize(1))
    while u < len(dist):
        slot, left = u, rows.lengths[u]
        while left > 0:
            set_predecessor(u, u32(rows.heads[slot]), rows.weights[slot], dist, predecessor)
            slot = u32(slot + column)
            left = i32(left - 1)
        u = u32(u + stride)
    arc = thread_x()
    while arc < len(rows.overflow_tails):
        u, v = u32(rows.overflow_tails[arc]), u32(rows.overflow_heads[arc])
        set_predecessor(u, v, rows.overflow_weights[arc], dist, predecessor)
        arc = u32(arc + stride)


def stride(graph: Graph, result: Result, run: Run) -> None:
    """Run half the blocks that one thread per vertex needs; fill `result`, (n,), with the paths from run.source."""
    arcs = np.uint32(pitch(graph.vertices)), EllLayout(*run.upload_untimed(*ell_layout(graph)))
    drive(graph, result, run, arcs, (relax, update_stride, find_predecessors), divide_blocks_by=2)
