"""Graphs of many shapes, deep and shallow, narrow and wide: what the choice of a variant is tried on."""

from collections.abc import Callable

import numpy as np

from kernels import families
from kernels.graph import Graph

SEED = 20


def of(vertices: int, tails, heads, low: int = 1, high: int = 100, *, both_ways: bool = True, weights=None) -> Graph:
    """A graph of these arcs, and with both_ways of their reverses; weights: drawn from low to high where not given."""
    if weights is None:
        weights = np.random.default_rng(SEED).integers(low, high + 1, len(tails))
    if both_ways:
        tails, heads, weights = np.r_[tails, heads], np.r_[heads, tails], np.r_[weights, weights]
    return Graph.from_arcs(vertices, tails, heads, weights, directed=not both_ways)


def path(n: int, **options) -> Graph:
    return of(n, np.arange(n - 1), np.arange(1, n), **options)


def cycle(n: int) -> Graph:
    v = np.arange(n)
    return of(n, v, (v + 1) % n)


def star(n: int) -> Graph:
    return of(n, np.zeros(n - 1, int), np.arange(1, n))


def comb(teeth: int, length: int) -> Graph:
    """A path of `teeth` vertices; from each of them a path of `length` more."""
    v = np.arange(teeth * (length + 1)).reshape(teeth, length + 1)
    return of(v.size, np.r_[v[:-1, 0], v[:, :-1].ravel()], np.r_[v[1:, 0], v[:, 1:].ravel()])


def strip(rows: int, columns: int, **options) -> Graph:
    """A grid of rows x columns."""
    v = np.arange(rows * columns).reshape(columns, rows)
    return of(v.size, np.r_[v[:-1].ravel(), v[:, :-1].ravel()], np.r_[v[1:].ravel(), v[:, 1:].ravel()], **options)


def tree(levels: int) -> Graph:
    """Binary."""
    v = np.arange(1, 2**levels - 1)
    return of(len(v) + 1, (v - 1) // 2, v)


def family(kind: str, n: int, edges: int, **options) -> Graph:
    return of(n, *families.draw_edges(kind, n, edges, SEED), **options)


def dense(n: int) -> Graph:
    tails, heads = np.indices((n, n)).reshape(2, -1)
    return of(n, tails, heads, both_ways=False)


def skewed(n: int) -> Graph:
    """Eight arcs a vertex, most of them to and from a few."""
    ends = (n * np.random.default_rng(SEED).random((2, 8 * n)) ** 4).astype(int)
    return of(n, *ends, both_ways=False)


def pair_apart(side: int) -> Graph:
    """Vertices 0 and 1 with an edge, and a grid that they are no part of."""
    tails, heads = families.grid(side)
    return of(side * side + 2, np.r_[0, tails + 2], np.r_[1, heads + 2])


def path_into_random(length: int, n: int) -> Graph:
    """A path, and at its end a random graph of n vertices."""
    tails, heads = families.draw_edges("uniform", n, 8 * n, SEED)
    v = np.arange(length)
    return of(length + n, np.r_[v, tails + length], np.r_[v + 1, heads + length])


def heavy_tailed(side: int) -> Graph:
    """A grid whose weights span six orders of magnitude."""
    tails, heads = families.grid(side)
    drawn = np.random.default_rng(SEED).lognormal(6, 2.5, len(tails))
    return of(side * side, tails, heads, weights=np.clip(drawn, 1, 10**6).astype(int))


SHAPES: dict[str, Callable[[], Graph]] = {
    "path of 10,000": lambda: path(10**4),
    "path of 1,000,000": lambda: path(10**6),
    "path of 1,000,000, one way": lambda: path(10**6, both_ways=False),
    "path of 100,000, all weights 0": lambda: path(10**5, low=0, high=0),
    "cycle of 300,000": lambda: cycle(300_000),
    "star of 1,000,000": lambda: star(10**6),
    "comb, 1,000 teeth of 1,000": lambda: comb(1000, 1000),
    "comb, 10 teeth of 100,000": lambda: comb(10, 10**5),
    "comb, 250,000 teeth of 1": lambda: comb(250_000, 1),
    "grid, 2 x 250,000": lambda: strip(2, 250_000),
    "grid, 16 x 60,000": lambda: strip(16, 60_000),
    "grid, 100 x 100": lambda: strip(100, 100),
    "grid, 1,000 x 1,000": lambda: strip(1000, 1000),
    "grid, 1,000 x 1,000, all weights 1": lambda: strip(1000, 1000, high=1),
    "grid, 700 x 700, half of the weights 0": lambda: strip(700, 700, low=0, high=1),
    "grid, 700 x 700, weights of six orders": lambda: heavy_tailed(700),
    "tree, binary, 20 levels": lambda: tree(20),
    "RMAT, 2^18 vertices": lambda: family("rmat", 2**18, 2**22, high=255),
    "uniform, 2^18 vertices": lambda: family("uniform", 2**18, 2**22, high=255),
    "skewed, 200,000 vertices": lambda: skewed(200_000),
    "dense, 2,000 vertices": lambda: dense(2000),
    "an edge apart from a grid of 1,000,000": lambda: pair_apart(1000),
    "path of 50,000 into a uniform graph": lambda: path_into_random(50_000, 2**17),
}
