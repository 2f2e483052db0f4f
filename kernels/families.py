"""Families of undirected graphs that are generated: grids, and random graphs as the GAP Benchmark Suite has them.

S. Beamer, K. Asanović and D. Patterson, The GAP Benchmark Suite, arXiv:1508.03619, 2015.
"""

from collections.abc import Mapping
from math import isqrt

import numpy as np

from kernels import memory
from kernels.errors import InputError
from kernels.graph import MAX_COUNT

KINDS = ("grid", "rmat", "uniform")
RMAT = 0.57, 0.19, 0.19  # shares of a matrix's quarters: upper left, upper right, lower left (Graph500's, and GAP's)
SPARE = 1.25  # more edges are drawn at once than are missing, since some will be loops or there already


def kind_of(entry: Mapping) -> str:
    """The kind of a dataset's family, by its entry in config.yaml; empty where it is of none."""
    return entry.get("generate", {}).get("kind", "")


def draw_edges(kind: str, vertices: int, edges: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of the edges of a graph without loops and parallel edges: int64, (edges,). The same for the same seed.

    grid: a square of vertices, row by row, each with its neighbours to the right and below; seed does not count.
    uniform: all pairs are equally likely. rmat: D. Chakrabarti, Y. Zhan and C. Faloutsos' recursive matrix (SDM 2004)
    with shares RMAT, for a power of two of vertices, which are then numbered anew at random.
    Raises InputError where there is no such graph.
    """
    check(kind, vertices, edges)
    memory.require_graph(vertices, 2 * edges, f"a {kind} graph")
    if kind == "grid":
        return grid(isqrt(vertices))
    rng = np.random.default_rng((seed, 2))  # not the numbers that weights and random arcs of this seed are made of
    number = rng.permutation(vertices) if kind == "rmat" else None
    found = np.empty(0, np.int64)  # the edges as numbers, in the order in which they were drawn
    while len(found) < edges:
        count = int(SPARE * (edges - len(found))) + 16
        ends = rmat(rng, vertices, count) if kind == "rmat" else rng.integers(vertices, size=(2, count))
        low, high = np.sort(ends if number is None else number[ends], axis=0)
        drawn = np.r_[found, (low * vertices + high)[low != high]]
        first = np.sort(np.unique(drawn, return_index=True)[1])
        found = drawn[first[:edges]]
    return found // vertices, found % vertices


def check(kind: str, vertices: int, edges: int) -> None:
    """Raise InputError for counts that a family does not allow. Random ones join at most half of all pairs."""
    wanted = f"{kind}: {vertices:,} vertices and {edges:,} edges, each two arcs"
    if kind not in KINDS:
        raise InputError(f"{wanted}: choose one of {', '.join(KINDS)}")
    if not 1 <= vertices <= MAX_COUNT or not 0 <= 2 * edges <= MAX_COUNT:
        raise InputError(f"{wanted}: expected 1 to {MAX_COUNT:,} vertices and at most as many arcs")
    side = isqrt(vertices)
    if kind == "grid" and (side * side != vertices or edges != 2 * side * (side - 1)):
        raise InputError(
            f"{wanted}: a grid has a square number of vertices; with {side * side:,} it has "
            f"{4 * side * (side - 1):,} arcs"
        )
    if kind == "rmat" and vertices & (vertices - 1):
        raise InputError(f"{wanted}: expected a power of two of vertices")
    if kind != "grid" and 4 * edges > vertices * (vertices - 1):
        raise InputError(f"{wanted}: expected edges between at most half of all pairs")


def grid(side: int) -> tuple[np.ndarray, np.ndarray]:
    v = np.arange(side * side, dtype=np.int64).reshape(side, side)
    starts = [v[:, :-1].ravel(), v[:-1].ravel()]
    return np.concatenate(starts), np.concatenate([starts[0] + 1, starts[1] + side])


def rmat(rng: np.random.Generator, vertices: int, count: int) -> np.ndarray:
    """int64, (2, count): places in the matrix, each found by choosing a quarter for each of its binary digits."""
    upper_left, upper_right, lower_left = np.cumsum(RMAT)
    ends = np.zeros((2, count), np.int64)
    for _ in range(vertices.bit_length() - 1):
        chance = rng.random(count)
        ends[0] = 2 * ends[0] + (chance >= upper_right)
        ends[1] = 2 * ends[1] + (((chance >= upper_left) & (chance < upper_right)) | (chance >= lower_left))
    return ends
