"""New weights for the arcs of a hierarchy, read and customized on the card.

    read    the weights of edges, as the user gave them, as integer multiples of a unit; inf closes an edge
    weigh   the weight of each arc of the graph is that of its edge; closed arcs have INF
    clear   up = down = INF
    customize, as for the first weights (customize.py)

The order, the tree, the arcs of the hierarchy and their triangles depend on the graph's arcs only, so they stay.

Bounds. The card receives 4 or 8 bytes for each edge over PCIe: 6 MB of float64 for nyc, 0.15 ms, or 1 ms from pageable
memory. Customizing reads or lowers three weights for each triangle and takes longest, 2.7 ms on nyc.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...gpu.compiler import cuda
from ...gpu.intrinsics import f64, thread_x, u32, u64
from ...graph import INF
from ...units import Scale
from .customize import NO_PATH, OnCard

ROUNDING = f64(2**52)  # added to a number from 0 to 2^51, it leaves no bits for a fraction: the number is rounded
TOTAL_THREADS = 256  # per block of weigh_arcs, whose threads each add to totals once


class Unit(NamedTuple):
    """On the card: weights times divisor / factor are in units. whole_only: whether fractions of a unit are wrong."""

    scale: np.ndarray  # float64, (2,): divisor and factor
    whole_only: np.ndarray  # int32, (1,)


@cuda.jit
def read_weights(given, unit, weights, wrong):
    """Set weights[edge] to the weight of each edge in units; lower wrong[0] to an edge whose weight is invalid."""
    edge, step = u64(thread_x()), u64(cuda.gridsize(1))
    divisor, factor, whole_only = unit.scale[0], unit.scale[1], unit.whole_only[0] != 0
    while edge < u64(len(given)):
        weight = f64(given[edge])
        exact = f64(weight * divisor) / factor
        if weight == np.inf:
            weights[edge] = NO_PATH
        elif weight >= f64(0) and exact < f64(INF) - f64(0.5):
            rounded = f64(f64(exact + ROUNDING) - ROUNDING)
            weights[edge] = u32(rounded)
            if whole_only and rounded != exact:
                cuda.atomic.min(wrong, 0, edge)
        else:
            cuda.atomic.min(wrong, 0, edge)
        edge = u64(edge + step)


@cuda.jit
def weigh_arcs(edges, costs, weights, of_arcs, totals):
    """Set of_arcs[arc] to the weight of its edge, plus costs[arc] if there are costs. The edge -1 has weight 0.

    A closed edge closes its arcs. totals: the number of closed arcs, and the largest and the sum of the other weights.
    """
    arc, step = u64(thread_x()), u64(cuda.gridsize(1))
    closed, largest, total = u64(0), u64(0), u64(0)
    while arc < u64(len(edges)):
        edge = edges[arc]
        weight = weights[edge] if edge >= 0 else u32(0)
        if weight == NO_PATH:
            closed = u64(closed + u64(1))
        else:
            if len(costs) == len(edges):
                weight = u32(weight + costs[arc])
            largest, total = max(largest, u64(weight)), u64(total + u64(weight))
        of_arcs[arc] = weight
        arc = u64(arc + step)
    if closed > u64(0):
        cuda.atomic.add(totals, 0, closed)
    if largest > totals[1]:
        cuda.atomic.max(totals, 1, largest)
    if total > u64(0):
        cuda.atomic.add(totals, 2, total)


class ReadWeights(NamedTuple):
    """New weights on the card, and what a search on the host wants to know about them."""

    weights: Any  # uint32: of each edge, in units; INF if closed
    of_arcs: Any  # uint32: of each arc
    wrong: int  # an edge whose weight is invalid; -1 if there is none
    closed: int  # number of closed arcs
    largest: int  # of the other arcs
    total: int  # of the other arcs


class Reweighter:
    """Changes of the weights in the hierarchy that `on_card` holds. Raises NotEnoughMemory.

    edges: int32, (m,): the position of each arc's edge in the user's list of edges; -1 for an additional arc of weight
    0. costs: uint32, (m,): the weight of each arc beyond that of its edge, if there are such weights.
    """

    def __init__(self, on_card: OnCard, edges: np.ndarray, costs: np.ndarray | None = None):
        self.on_card, self.run, self._edges, self._costs = on_card, on_card.run, edges, costs

    @cached_property
    def arcs(self) -> tuple:
        """The edges and costs of arcs on the card."""
        return tuple(self.run.upload(self._edges, np.zeros(1, np.uint32) if self._costs is None else self._costs))

    def read(self, given: np.ndarray, scale: Scale, *, whole_only: bool) -> ReadWeights:
        """Read the weights of edges: int32, int64, float32 or float64, one for each. The hierarchy stays as it is.

        whole_only: see `Unit`.
        """
        run, arcs = self.run, len(self._edges)
        run.require(given.nbytes + 4 * len(given) + 4 * arcs)
        if not arcs:
            weights, of_arcs = run.allocate((1, np.uint32), (1, np.uint32))
            return ReadWeights(weights, of_arcs, -1, 0, 0, 0)
        on_card, *units = run.upload(given, np.array(scale, np.float64), np.array([whole_only], np.int32))
        wrong, totals = run.upload(np.full(1, 2**63, np.uint64), np.zeros(3, np.uint64))
        weights, of_arcs = run.allocate((len(given), np.uint32), (arcs, np.uint32))
        blocks = run.multiprocessors
        threads = min(run.block, TOTAL_THREADS)
        run.launch(
            (read_weights, 2 * blocks, run.block, (on_card, Unit(*units), weights, wrong)),
            (weigh_arcs, blocks, threads, (*self.arcs, weights, of_arcs, totals)),
        )
        edge, sums = np.empty(1, np.uint64), np.empty(3, np.uint64)
        run.download((wrong, edge), (totals, sums))
        closed, largest, total = map(int, sums)
        return ReadWeights(weights, of_arcs, int(edge[0]) if edge[0] < len(given) else -1, closed, largest, total)

    def apply(self, read: ReadWeights) -> None:
        """Customize the hierarchy with weights that are valid, without waiting."""
        self.on_card.customize(read.of_arcs)
