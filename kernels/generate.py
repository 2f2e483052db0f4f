"""Generate graphs and weights: random weights, complete and random graphs, and families of undirected graphs.

A family is graphs of one kind in several sizes. The kinds are `grid`, and `rmat` and `uniform`, the random graphs of
the GAP Benchmark Suite:

S. Beamer, K. Asanović and D. Patterson, The GAP Benchmark Suite, arXiv:1508.03619, 2015.
"""

from collections.abc import Mapping
from math import isqrt

import numpy as np

from kernels import memory
from kernels.errors import InputError, StrPath, whole
from kernels.graph import MAX_COUNT, MAX_WEIGHT
from kernels.io import read_snap, read_text, write_text

KINDS = ("grid", "rmat", "uniform")
RMAT = 0.57, 0.19, 0.19  # probabilities of the upper left, upper right and lower left quarter, as in Graph500 and GAP
MAX_COMPLETE = 46341  # maximum vertices of a complete graph: the number of its arcs fits in int32
SPARE = 1.25  # edges drawn per missing edge, because some are loops or duplicates


def kind_of(entry: Mapping) -> str:
    """Return the kind of graph that a dataset's entry in config.yaml generates; empty if it generates none."""
    return entry.get("generate", {}).get("kind", "")


def draw_edges(kind: str, vertices: int, edges: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw the edges of an undirected graph without loops and parallel edges.

    Parameters
    ----------
    kind : {"grid", "rmat", "uniform"}
        "grid" numbers the vertices of a square row by row and joins each to its right and lower neighbour.
        "uniform" draws all pairs of vertices with the same probability.
        "rmat" draws entries of the recursive matrix of D. Chakrabarti, Y. Zhan and C. Faloutsos (SDM 2004) with the
        probabilities RMAT, then renumbers the vertices at random. The number of vertices must be a power of two.
    vertices, edges : int
    seed : int
        The seed of the random kinds. A grid is not random, so it ignores the seed.

    Returns
    -------
    ends, other_ends : ndarray of int64, shape (edges,)

    Raises
    ------
    InputError
        If no graph of this kind has these numbers of vertices and edges.
    """
    check(kind, vertices, edges)
    memory.require_graph(vertices, 2 * edges, f"a {kind} graph")
    if kind == "grid":
        return grid(isqrt(vertices))
    rng = np.random.default_rng((seed, 2))  # independent of the weights and random arcs of this seed
    number = rng.permutation(vertices) if kind == "rmat" else None
    found = np.empty(0, np.int64)  # each edge as low * vertices + high, in the order of drawing
    while len(found) < edges:
        count = int(SPARE * (edges - len(found))) + 16
        ends = rmat(rng, vertices, count) if kind == "rmat" else rng.integers(vertices, size=(2, count))
        low, high = np.sort(ends if number is None else number[ends], axis=0)
        drawn = np.r_[found, (low * vertices + high)[low != high]]
        first = np.sort(np.unique(drawn, return_index=True)[1])
        found = drawn[first[:edges]]
    return found // vertices, found % vertices


def check(kind: str, vertices: int, edges: int) -> None:
    """Raise InputError if no graph of this kind has these numbers of vertices and edges.

    A random graph may have at most half of all possible edges.
    """
    wanted = f"{kind}: {vertices:,} vertices and {edges:,} edges, each two arcs"
    if kind not in KINDS:
        raise InputError(f"{wanted}: there is no kind {kind!r}: choose one of {', '.join(KINDS)}")
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
    """Draw entries of the recursive matrix: their rows and columns, int64, (2, count).

    For each binary digit of a row and a column, choose a quarter of the matrix at random.
    """
    upper_left, upper_right, lower_left = np.cumsum(RMAT)
    ends = np.zeros((2, count), np.int64)
    for _ in range(vertices.bit_length() - 1):
        chance = rng.random(count)
        ends[0] = 2 * ends[0] + (chance >= upper_right)
        ends[1] = 2 * ends[1] + (((chance >= upper_left) & (chance < upper_right)) | (chance >= lower_left))
    return ends


def add(file: StrPath, to: StrPath | None = None, low: int = 1, high: int = 100, seed: int = 0) -> None:
    """Convert a SNAP file to the text form, with random integer weights from low to high.

    Write to `to`, or overwrite `file` if `to` is None.
    """
    vertices, tails, heads, _ = read_snap(file)
    write_text(to or file, vertices, tails, heads, draw(len(tails), low, high, seed))


def replace(file: StrPath, to: StrPath | None = None, low: int = 1, high: int = 100, seed: int = 0) -> None:
    """Replace the weights of a file in text form by random integers from low to high.

    Write to `to`, or overwrite `file` if `to` is None.
    """
    vertices, tails, heads, _ = read_text(file)
    write_text(to or file, vertices, tails, heads, draw(len(tails), low, high, seed))


def random(vertices: int, to: StrPath, low: int = 1, high: int = 100, seed: int = 0) -> None:
    """Write the complete directed graph without self-loops in text form, with random weights from low to high."""
    vertices = whole(vertices, "the number of vertices")
    if not 1 <= vertices <= MAX_COMPLETE:
        raise InputError(f"{vertices} vertices: a complete graph is made with 1 to {MAX_COMPLETE}")
    memory.require_graph(vertices, vertices * (vertices - 1), "a complete graph")
    tails = np.repeat(np.arange(vertices), vertices - 1)
    heads = np.tile(np.arange(vertices - 1), vertices)
    heads += heads >= tails
    write_text(to, vertices, tails, heads, draw(len(tails), low, high, seed))


def draw_arcs(vertices: int, arcs: int, seed: int, skew: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Draw random arcs without self-loops; return tails and heads, int64, (arcs,) each. Arcs may be parallel.

    Heads are uniform. If `skew` is None, tails are uniform too. If it is above 2, out-degrees follow a power law with
    this exponent: the vertices are ordered at random, and the k-th is drawn as a tail with a probability proportional
    to k^(-1 / (skew - 1)) (K.-I. Goh, B. Kahng and D. Kim, Phys. Rev. Lett. 87, 2001).
    Raises InputError if the numbers of vertices and arcs or the skew are out of range.
    """
    vertices, arcs = whole(vertices, "the number of vertices"), whole(arcs, "the number of arcs")
    if vertices > MAX_COUNT or arcs > MAX_COUNT or vertices < min(2, arcs + 1) or (skew is not None and not skew > 2):
        raise InputError(
            f"{arcs} random arcs between {vertices} vertices, skew {skew}: expected at least 2 vertices, at most "
            f"{MAX_COUNT} of both, and a skew above 2 or none"
        )
    memory.require_graph(vertices, arcs, "a random graph")
    rng = np.random.default_rng((seed, 1))  # independent of the weights of this seed
    if skew is None:
        tails = rng.integers(vertices, size=arcs)
    else:
        # The first x vertices have a share r of the arcs for x = r^p n, with p = 2 for a skew of 3.
        share = (skew - 2) / (skew - 1)
        ranks = np.minimum(vertices * rng.random(arcs) ** (1 / share), vertices - 1).astype(np.int64)
        tails = rng.permutation(vertices)[ranks]
    heads = rng.integers(max(1, vertices - 1), size=arcs)
    heads += heads >= tails
    return tails, heads


def draw(arcs: int, low: int = 1, high: int = 100, seed: int = 0) -> np.ndarray:
    """Draw random integer weights from low to high, both included: int64, (arcs,)."""
    if not 1 <= low <= high <= MAX_WEIGHT:
        raise InputError(f"weights from {low} to {high}: expected 1 <= least <= largest <= {MAX_WEIGHT}")
    if seed < 0:
        raise InputError(f"seed {seed}: expected 0 or more")
    return np.random.default_rng(seed).integers(low, high, size=arcs, endpoint=True)
