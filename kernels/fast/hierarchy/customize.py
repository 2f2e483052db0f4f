"""The weights of a hierarchy's arcs, on the card.

For an arc between a vertex v and its ancestor a, up(v, a) is the weight from v to a, down(v, a) the weight from a to v.

    up, down = the graph's weights, INF if there is no arc
    each height, from the lowest; each vertex v of this height; each two arcs from v, to ancestors a and b, a below b:
        up(a, b) = min(up(a, b), down(v, a) + up(v, b))
        down(a, b) = min(down(a, b), down(v, b) + up(v, a))

The height of a vertex is the number of vertices below it on the longest path down the tree. v, a and b form a triangle.
The method is that of customizable contraction hierarchies (J. Dibbelt, B. Strasser, D. Wagner, ACM JEA 21, 2016). All
heights in one cooperative launch are added.

Distances and weights are uint32 here, and at most INF, which is 2^31 - 1. So the sum of two distances or weights does
not wrap. A sum of at least INF means that there is no path.
"""

from typing import Any, NamedTuple

import numpy as np

from ...errors import InputError
from ...gpu import card
from ...gpu.card import SIMULATED
from ...gpu.compiler import cuda
from ...gpu.intrinsics import LAUNCH_BOUNDS, thread_x, u32, u64
from ...gpu.launching import blocks_for
from ...graph import INF, Graph
from ...run import Run
from . import fragments as cutting

GROUP = 1 if SIMULATED else 32  # threads that share the arcs of a vertex
NO_PATH = u32(INF)


@cuda.jit(device=True)
def add(a, b):
    return u32(a + b)


@cuda.jit
def set_weights(places, weights, up, down):
    """Copy the graph's weights to the arcs of the hierarchy; of parallel arcs, copy the least weight."""
    arc = u64(thread_x())
    if arc < u64(len(places)):
        position = places[arc]
        if position >= 0:
            if position & 1:
                cuda.atomic.min(down, position >> 1, u32(weights[arc]))
            else:
                cuda.atomic.min(up, position >> 1, u32(weights[arc]))


@cuda.jit
def clear(up, down):
    """Set all weights to INF. The threads share the arcs."""
    i = u64(thread_x())
    while i < u64(len(down)):
        down[i] = NO_PATH
        if i < u64(len(up)):
            up[i] = NO_PATH
        i = u64(i + u64(cuda.gridsize(1)))


@cuda.jit(**LAUNCH_BOUNDS)
def customize(heights, arcs, tails, start, heads, up, down):
    """Relax all triangles, height by height, in one cooperative launch.

    A group of GROUP threads takes an arc from v to a. Its threads share v's further arcs, which lead to ancestors b of
    a. There is an arc from a to every such b, which a thread finds by binary search in the heads of a. The weights of
    the arcs from v are final. The weights of the arcs from a are lowered atomically.
    """
    grid = cuda.cg.this_grid()
    lane = u32(cuda.threadIdx.x % GROUP)
    groups = u32(cuda.gridsize(1) // GROUP)
    h = 0
    while h < len(heights) - 1:
        i = heights[h] + thread_x() // GROUP
        while i < heights[h + 1]:
            first = arcs[i]
            a = heads[first]
            a_start, a_end = start[a], start[a + 1]
            second, end = first + 1 + lane, start[tails[first] + 1]
            down_a, up_a = down[first], up[first]
            while second < end:
                b = heads[second]
                low, high = a_start, a_end
                while high - low > 1:
                    middle = (low + high) >> 1
                    if heads[middle] >= b:
                        low = middle
                    else:
                        high = middle
                to_b, to_a = add(down_a, up[second]), add(down[second], up_a)
                if to_b < NO_PATH and to_b < up[low]:
                    cuda.atomic.min(up, low, to_b)
                if to_a < NO_PATH and to_a < down[low]:
                    cuda.atomic.min(down, low, to_a)
                second += GROUP
            i += groups
        grid.sync()  # now the arcs of the next height are final
        h += 1


class TreeOnCard(NamedTuple):
    """The elimination tree on the card: `numbers`, `ends` and `depths` of fragments.Fragments."""

    numbers: np.ndarray
    ends: np.ndarray
    depths: np.ndarray


class Extents(NamedTuple):
    """The extent of each fragment, on the card: row_start, borders and boundary of fragments.Fragments."""

    rows: np.ndarray
    borders: np.ndarray
    boundary: np.ndarray


class OnCard:
    """A graph's hierarchy on the card, customized with its weights before the clock of `run` starts.

    `up` and `down` are uint32, (arcs,); `room` words of INF follow the arcs in `down`. run.phases["customize"] is the
    time that customizing takes on the card. weights: int32, (m,), by default the graph's; INF closes an arc. The
    attribute `weights` has them on the card. Raises
    InputError if the graph is unfit for a hierarchy, and NotEnoughMemory.
    """

    def __init__(self, graph: Graph, run: Run, room: int = 0, weights: np.ndarray | None = None):
        self.graph, self.run = graph, run
        self.hierarchy, self.fragments = cutting.hierarchy_and_fragments(graph)
        fragments, order = self.fragments, cutting.triangles(self.fragments)
        arcs = len(fragments.heads)
        run.require(32 * graph.vertices + 32 * arcs + 12 * graph.arcs + 4 * room)
        upload = run.upload_untimed
        self.start, self.heads = upload(fragments.start, fragments.heads)
        self.tree = TreeOnCard(*upload(fragments.numbers, fragments.ends, fragments.depths))
        (self.vertex_rows,) = upload(fragments.vertex_rows)
        self.extents = Extents(*upload(fragments.row_start, fragments.borders, fragments.boundary))
        (self.tops,) = upload(fragments.tops)
        self.up, self.down = upload(*(np.full(max(1, size), INF, np.uint32) for size in (arcs, arcs + room)))
        weights = graph.weights if weights is None else weights
        self.places, self.weights = upload(fragments.places, weights.astype(np.uint32))
        self.triangles = *upload(order.start, order.arcs, order.tails), self.start, self.heads, self.up, self.down
        customizing = run.prepare_async(*self._customizing(self.weights))
        run.phases.setdefault("customize", 0.0)
        with run.phase("customize"):
            customizing()

    def _customizing(self, weights: Any) -> tuple:
        """Return the launches that customize with the weights of the graph's arcs, if all weights are INF before."""
        run = self.run
        setting = self.places, weights, self.up, self.down
        return (
            (set_weights, blocks_for(max(1, self.graph.arcs), run.block), run.block, setting),
            (customize, run.multiprocessors, run.block, self.triangles),
        )

    def customize(self, weights: Any) -> None:
        """Customize again, without waiting; what else was made of the weights, such as closures, is out of date.

        weights: uint32, (m,), on the card; INF closes an arc.
        """
        run, self.weights = self.run, weights
        clearing = clear, 2 * run.multiprocessors, run.block, (self.up, self.down)
        run.launch(clearing, *self._customizing(weights))

    def count_order(self) -> None:
        """Include the time of the order and the tree in the run's preparation, even if an earlier run made them.

        Call this after the timed part of the run.
        """
        made = self.hierarchy.order_s + self.hierarchy.tree_s
        self.run.prepare_host_s = max(self.run.prepare_host_s, made)


def check_shared(graph: Graph, needed: int, what: str) -> None:
    """Raise InputError if a block needs more shared memory than the card has."""
    if card.gpu_visible() and needed > (limit := Run().shared_limit):
        raise InputError(
            f"{graph.name}: {what} takes {needed:,} bytes of shared memory, and a block of this card may "
            f"have {limit:,}: take another variant"
        )
