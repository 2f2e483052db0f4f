"""Graphs that reveal kernels that race, wrap or forget to write, and checked runs of a variant on them.

A graph depends on the number of vertices alone. Neighbours have distant numbers, so that one warp writes what another
reads.
"""

import importlib.util
import sys
from functools import lru_cache
from types import ModuleType
from unittest.mock import patch

import numpy as np
from scipy.sparse import csgraph

from kernels.check import check
from kernels.graph import INF, MAX_WEIGHT, Graph
from kernels.registry import Variant
from kernels.run import Result, Run
from tests.support.trees import assert_trees, lengths, with_scipys_fills

FILLINGS = 0xA5, 0x5A  # as an int32 less than any distance, and more than most
WEIGHTS = np.arange(1, 1000)


def make(vertices: int, tails, heads, weights, *, directed: bool = True) -> Graph:
    """Renumber all vertices but 0 at random; weights: a list, or an array from which each arc's is drawn."""
    rng = np.random.default_rng(vertices)
    number = np.r_[0, 1 + rng.permutation(vertices - 1)]
    tails, heads = number[np.asarray(tails, int)], number[np.asarray(heads, int)]
    weights = np.asarray(weights) if isinstance(weights, list) else rng.choice(weights, len(tails))
    if not directed:
        tails, heads, weights = np.r_[tails, heads], np.r_[heads, tails], np.r_[weights, weights]
    return Graph.from_arcs(vertices, tails, heads, weights, directed=directed)


def sparse(n: int, weights=WEIGHTS) -> Graph:
    """Four arcs a vertex; a quarter of the vertices have no out-arcs, an eighth no in-arcs."""
    rng = np.random.default_rng(1)
    return make(n, rng.integers(0, max(1, 3 * n // 4), 4 * n), rng.integers(0, max(1, 7 * n // 8), 4 * n), weights)


def dense(n: int, weights=WEIGHTS) -> Graph:
    """An arc for every ordered pair."""
    return make(n, *np.indices((n, n)).reshape(2, -1), weights)


def hubs(n: int, weights=WEIGHTS) -> Graph:
    """Six arcs a vertex, most from and to a few vertices."""
    ends = np.random.default_rng(2).random((2, 6 * n)) ** 4
    return make(n, *(n * ends).astype(int), weights)


def path(n: int, weights=WEIGHTS) -> Graph:
    """From 0 through all vertices."""
    return make(n, np.arange(n - 1), np.arange(1, n), weights)


def comb(n: int, weights=WEIGHTS) -> Graph:
    """A path through every third vertex, and from each of them a tooth of two arcs."""
    v = np.arange(n)
    return make(n, np.r_[v[:-3:3], v[:-1][v[:-1] % 3 < 2]], np.r_[v[3::3], v[1:][v[1:] % 3 > 0]], weights)


def grid(n: int, weights=WEIGHTS) -> Graph:
    """Streets in rows and columns, both ways: undirected."""
    v = np.arange(n)
    side = max(1, int(n**0.5))
    along, across = v[:-1][v[1:] % side > 0], v[:-side]
    return make(n, np.r_[along, across], np.r_[along + 1, across + side], weights, directed=False)


def star(n: int, weights=WEIGHTS) -> Graph:
    """From 0 an arc to every other vertex, and back."""
    v, centre = np.arange(1, n), np.zeros(n - 1, int)
    return make(n, np.r_[centre, v], np.r_[v, centre], weights)


def funnel(n: int) -> Graph:
    """Equal arcs from 0 to all but the last three, unequal ones from all of these to the last three, and back to 0."""
    middle, last = np.arange(1, n - 3), np.arange(n - 3, n)
    to_last = np.random.default_rng(3).integers(1, 10**6, 3 * len(middle)).tolist()
    tails = np.r_[0 * middle, np.repeat(middle, 3), last]
    heads = np.r_[middle, np.tile(last, len(middle)), last[1:], 0]
    return make(n, tails, heads, [1] * len(middle) + to_last + [1, 1, 1])


def parallel(n: int, weights=WEIGHTS) -> Graph:
    """Twelve arcs a vertex, to itself and the next two: loops and parallel arcs."""
    tails = np.repeat(np.arange(n), 12)
    return make(n, tails, (tails + np.random.default_rng(4).integers(0, 3, 12 * n)) % n, weights)


def lone(n: int) -> Graph:
    """No arcs but a loop."""
    return make(n, [0], [0], [5])


def bare(n: int) -> Graph:
    """No arcs."""
    return make(n, [], [], np.arange(1, 2))


def heavy(n: int) -> Graph:
    """Weights near 2^31, distances of exactly 2^31 - 2, and paths that are too long; n > 9."""
    arcs = [(0, 1, MAX_WEIGHT - 5), (1, 2, 5), (1, 3, 6), (2, 4, 1), (0, 5, MAX_WEIGHT), (5, 6, MAX_WEIGHT), (3, 7, 1)]
    rng = np.random.default_rng(5)
    weights = np.r_[1, 2**28, 2**30, MAX_WEIGHT // 2, MAX_WEIGHT - np.arange(3)]
    arcs = np.r_[arcs, [(0, 8, 2)], np.c_[rng.integers(8, n, (5 * n, 2)), rng.choice(weights, 5 * n)]]
    return make(n, *arcs.T[:2], arcs.T[2].tolist())


def free_cycles(n: int) -> Graph:
    """Cycles of three to nine arcs of weight 0, both ways, joined by arcs that cost as much as one another."""
    rng = np.random.default_rng(6)
    v, lengths = np.arange(n), rng.integers(3, 10, n)
    first = np.repeat(np.r_[0, np.cumsum(lengths)], np.r_[lengths, 1])[:n]  # the first vertex of each one's cycle
    after = np.where(np.r_[first[1:], n] == first, v + 1, first)
    joined = rng.integers(0, n, (2, n))
    tails, heads = np.r_[v, after, joined[0]], np.r_[after, v, joined[1]]
    return make(n, tails, heads, [0] * (2 * n) + [7] * n)


def free_hubs(n: int) -> Graph:
    """A chain of hubs: arcs of weight 0 lead from each to twenty vertices, and from all of these to the next hub."""
    v = np.arange(n)
    hub, leaf = v - v % 21, v[v % 21 > 0]
    on = leaf[hub[leaf] + 21 < n]
    return make(n, np.r_[hub[leaf], on], np.r_[leaf, hub[on] + 21], np.zeros(1, int))


def narrow_path(n: int) -> Graph:
    """A path with distances that fit in 16 bits only from its last vertices."""
    return path(n, np.array([0x6000, 0x7000]))


class Dirty(Run):
    """A Run whose new memory on the card is filled with one byte, so that no earlier result is left in it."""

    filling = 0

    def allocate(self, *arrays):
        allocated = super().allocate(*arrays)
        for array in allocated:
            (word,) = np.full(array.dtype.itemsize, self.filling, np.uint8).view(array.dtype)
            array.copy_to_device(np.full(array.size, word))
        return allocated


def solve(variant: Variant, on: Graph, *, runs: int = len(FILLINGS), rows: int | None = None, **settings) -> list[Run]:
    """Run a variant on a graph with these settings of Run; check every row of each result, or `rows` of them."""
    done, result = [], Result.poisoned(variant.problem, on.vertices)
    for i in range(runs):
        run = Dirty(cuda_graph=variant.cuda_graph, **settings)
        run.filling = FILLINGS[i % len(FILLINGS)]
        result.poison()
        variant.function(on, result, run)
        assert_right(on, variant.problem, result, run.source, rows)
        assert variant.launches(on.vertices, run.tile) in (run.launches, None)
        done.append(run)
    return done


def assert_right(on: Graph, problem: str, result: Result, source: int, rows: int | None = None) -> None:
    """Compare with SciPy and by kernels.check; with `rows`, only by the latter, and only so many."""
    if rows is None:
        distances, fit = expected(on, problem, source)
        wrong = np.argwhere(result.distances != distances)
        assert not len(wrong), f"{len(wrong)} wrong distances, the first at {wrong[0].tolist()}"
        if not fit:
            sources = [source] if problem == "sssp" else range(on.vertices)
            return assert_trees(lengths(on.to_scipy(), True), sources, *with_scipys_fills(result))
    full, rows = (on.vertices, 1) if rows is None else (0, rows)
    assert check(on, problem, result, source, full_check=full, checked_rows=rows)


@lru_cache(maxsize=4)
def expected(on: Graph, problem: str, source: int) -> tuple[np.ndarray, bool]:
    """Return SciPy's distances, INF if too long for a result, and whether all fit."""
    exact = csgraph.dijkstra(on.to_scipy(), indices=source if problem == "sssp" else None)
    return np.where(exact <= MAX_WEIGHT, exact, INF).astype(np.int32), not (np.isfinite(exact) & (exact > INF)).any()


def near_far_with(**constants: int | tuple[int, ...]) -> ModuleType:
    """Import a second kernels.fast.near_far with other constants: kernels keep those that they were compiled with."""
    made = {}
    with patch.dict(sys.modules):
        for name in (f"kernels.fast.near_far{part}" for part in ("_layout", "", "_kernels")):
            spec = importlib.util.find_spec(name)
            made[name] = sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(made[name])
            for constant in constants.keys() & vars(made[name]).keys():
                setattr(made[name], constant, constants[constant])
    layout, host, kernels = made.values()
    assert constants.keys() <= vars(layout).keys() | vars(host).keys() | vars(kernels).keys()
    host.near_far_layout = layout
    host.kernels = kernels
    return host


def graph_of(vertices):
    """Return a path with weights of 8."""
    steps = np.arange(vertices - 1)
    meta = {"name": "path", "sha256": "5" * 64, "substitute": "made up"}
    return Graph.from_arcs(vertices, steps, steps + 1, np.full(vertices - 1, 8), meta=meta)
