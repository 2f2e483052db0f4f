"""Generate graphs and weights: random weights, complete and random graphs, and families of graphs.

A family is graphs of one kind in several sizes. The kinds are `grid`, `rmat`, `uniform`, `geometric`,
`preferential` and `dag`. `rmat` and `uniform` are the random graphs of the GAP Benchmark Suite:

S. Beamer, K. Asanović and D. Patterson, The GAP Benchmark Suite, arXiv:1508.03619, 2015.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from math import isqrt, pi, sqrt
from typing import TYPE_CHECKING

import numpy as np

from . import memory
from .errors import InputError, StrPath, whole
from .graph import MAX_COUNT, MAX_WEIGHT
from .io import read_snap, read_text, write_text
from .lazy import LazyModule

if TYPE_CHECKING:
    from scipy import spatial
else:
    spatial = LazyModule("scipy.spatial")

KINDS = ("grid", "rmat", "uniform", "geometric", "preferential", "dag")
DIRECTED = ("dag",)  # kinds in which an edge is one arc; in the other kinds, an edge is two arcs
OPTIONS = {"rmat": "draws", "geometric": "degree", "preferential": "draws", "dag": "span"}  # `rmat` may lack its option
UNIT = 10**6  # the weight of an edge of length 1 in a geometric graph
RMAT = 0.57, 0.19, 0.19  # probabilities of the upper left, upper right and lower left quarter, as in Graph500 and GAP
MAX_COMPLETE = 46341  # maximum vertices of a complete graph: the number of its arcs fits in int32
DRAWN_PER_MISSING = 1.25  # edges drawn per missing edge, because some are loops or duplicates
BLOCK = 1 << 20  # edges in a block of a recursive matrix; each block has a random generator of its own


def kind_of(entry: Mapping) -> str:
    """Return the kind of graph that a dataset's entry in config.yaml generates; empty if it has none."""
    return entry.get("generate", {}).get("kind", "")


def draw_edges(kind: str, vertices: int, edges: int, seed: int, **option: float) -> tuple[np.ndarray, np.ndarray]:
    """Draw the edges of a graph without loops and, unless it is a dag, without parallel edges.

    Parameters
    ----------
    kind : {"grid", "rmat", "uniform", "geometric", "preferential", "dag"}
        "grid" numbers the vertices of a square row by row and joins each to its right and lower neighbour.
        "uniform" draws all pairs of vertices with the same probability.
        "rmat" draws entries of the recursive matrix of D. Chakrabarti, Y. Zhan and C. Faloutsos (SDM 2004) with the
        probabilities RMAT, then renumbers the vertices at random. The number of vertices must be a power of two.
        "geometric" draws points of the unit square and joins those within sqrt(degree / (pi vertices)).
        "preferential" joins each vertex to `draws` earlier vertices, drawn in proportion to their degrees.
        "dag" draws arcs from a vertex to one of the next `span` vertices.
    vertices, edges : int
        If `draws` or `degree` is given, it determines the number of edges. Then `edges` is only an estimate, for the
        check of memory.
    seed : int
        The seed of the random kinds. A grid is not random, so it ignores the seed.
    **option
        The option of the kind in OPTIONS. With `draws`, "rmat" draws this many edges for each vertex and drops loops
        and duplicates. Without `draws`, "rmat" replaces loops and duplicates by new edges.

    Returns
    -------
    ends, other_ends : ndarray of int64, shape (number of edges,)

    Raises
    ------
    InputError
        If no graph of this kind has these numbers of vertices and edges, or this option.
    """
    check_parameters(kind, vertices, edges, **option)
    memory.require_graph(vertices, arcs_of(kind, edges), f"a {kind} graph")
    rng = np.random.default_rng((seed, 2))  # independent of the weights and random arcs of this seed
    if kind == "grid":
        return grid(isqrt(vertices))
    if kind == "dag":
        return dag(rng, vertices, edges, int(option["span"]))
    if kind == "uniform" or not option:
        return distinct(kind, rng, vertices, edges)
    if kind == "rmat":
        keys = rmat_keys(rng.permutation(vertices), int(option["draws"]), seed)
    elif kind == "geometric":
        keys = geometric_keys(points(vertices, seed), option["degree"])
    else:
        keys = preferential_keys(rng, vertices, int(option["draws"]))
    return keys // vertices, keys % vertices


def arcs_of(kind: str, edges: int) -> int:
    """Return the number of arcs of a graph of this kind with `edges` edges."""
    return edges if kind in DIRECTED else 2 * edges


def check_parameters(kind: str, vertices: int, edges: int, **option: float) -> None:
    """Raise InputError if no graph of this kind has these numbers of vertices and edges, or this option.

    `uniform`, and `rmat` without `draws`, may have at most half of all possible edges.
    """
    each = "an arc" if kind in DIRECTED else "two arcs"
    wanted = f"{kind}: {vertices:,} vertices and {edges:,} edges, each {each}"
    if kind not in KINDS:
        raise InputError(f"{wanted}: there is no kind {kind!r}: choose one of {', '.join(KINDS)}")
    if not 1 <= vertices <= MAX_COUNT or not 0 <= arcs_of(kind, edges) <= MAX_COUNT:
        raise InputError(f"{wanted}: expected 1 to {MAX_COUNT:,} vertices and at most as many arcs")
    name = OPTIONS.get(kind, "")
    value = option.get(name, 0)
    if option.keys() - {name} or (name not in option and name and kind != "rmat"):
        raise InputError(f"{wanted}, {option or 'no option'}: expected {f'the option {name}' if name else 'no option'}")
    side = isqrt(vertices)
    if kind == "grid" and (side * side != vertices or edges != 2 * side * (side - 1)):
        raise InputError(
            f"{wanted}: a grid has a square number of vertices; with {side * side:,} it has "
            f"{4 * side * (side - 1):,} arcs"
        )
    if kind == "rmat" and vertices & (vertices - 1):
        raise InputError(f"{wanted}: expected a power of two of vertices")
    if kind == "geometric" and not 0 < value < vertices:
        raise InputError(f"{wanted}, degree {value:g}: expected a mean degree above 0 and below the vertices")
    if kind == "dag" and not 1 <= value < vertices:
        raise InputError(f"{wanted}, span {value:g}: expected a span from 1 to the vertices less 1")
    if name == "draws" and option and (value < 1 or edges > value * vertices):
        raise InputError(f"{wanted}, draws {value:g}: expected at least 1, and at most as many edges as are drawn")
    if kind in ("rmat", "uniform") and not option and 4 * edges > vertices * (vertices - 1):
        raise InputError(f"{wanted}: expected edges between at most half of all pairs")


def distinct(kind: str, rng: np.random.Generator, vertices: int, edges: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw edges of kind "rmat" or "uniform" until `edges` of them are neither loops nor duplicates."""
    number = rng.permutation(vertices) if kind == "rmat" else None
    found = np.empty(0, np.int64)  # each edge as low * vertices + high, in the order of drawing
    while len(found) < edges:
        count = int(DRAWN_PER_MISSING * (edges - len(found))) + 16
        ends = rmat(rng, vertices, count) if kind == "rmat" else rng.integers(vertices, size=(2, count))
        low, high = np.sort(ends if number is None else number[ends], axis=0)
        drawn = np.r_[found, (low * vertices + high)[low != high]]
        first = np.sort(np.unique(drawn, return_index=True)[1])
        found = drawn[first[:edges]]
    return found // vertices, found % vertices


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


def rmat_keys(number: np.ndarray, draws: int, seed: int) -> np.ndarray:
    """Draw `draws` entries of the recursive matrix for each vertex; renumber the vertices; drop loops and duplicates.

    Each block is drawn from a generator of its own, so the result does not depend on the number of threads.

    Parameters
    ----------
    number : ndarray of int64, shape (n,)
        The new number of each vertex.

    Returns
    -------
    ndarray of int64
        Each edge as low * n + high, in ascending order.
    """
    vertices = len(number)
    keys = np.empty(draws * vertices, np.int64)

    def fill(start: int) -> None:
        part = keys[start : start + BLOCK]
        ends = number[rmat(np.random.default_rng((seed, 3, start // BLOCK)), vertices, len(part))]
        part[:] = ends.min(axis=0) * vertices + ends.max(axis=0)
        part[ends[0] == ends[1]] = -1

    with ThreadPoolExecutor() as threads:
        list(threads.map(fill, range(0, len(keys), BLOCK)))
    keys.sort()
    keys = keys[np.searchsorted(keys, 0) :]
    return keys[np.diff(keys, prepend=-1) > 0]


def points(vertices: int, seed: int) -> np.ndarray:
    """Draw the points of a geometric graph: float64, (n, 2)."""
    return np.random.default_rng((seed, 2)).random((vertices, 2))


def geometric_keys(places: np.ndarray, degree: float) -> np.ndarray:
    """Join points within sqrt(degree / (pi n)): each edge as low * n + high, in ascending order."""
    vertices = len(places)
    pairs = spatial.cKDTree(places).query_pairs(sqrt(degree / (pi * vertices)), output_type="ndarray")
    return np.sort(pairs[:, 0] * vertices + pairs[:, 1])


def lengths(places: np.ndarray, ends: np.ndarray, other_ends: np.ndarray) -> np.ndarray:
    """Return the weights of a geometric graph's edges: max(1, round(UNIT * distance)), int64."""
    distances = np.hypot(*(places[ends] - places[other_ends]).T)
    return np.maximum(1, np.rint(UNIT * distances)).astype(np.int64)


def preferential_keys(rng: np.random.Generator, vertices: int, draws: int) -> np.ndarray:
    """Grow a graph by the copying model, without duplicates: each edge as low * n + high, in ascending order.

    A list holds all ends. Position 2 e has the new vertex of edge e. Position 2 e + 1 has a copy of a random position
    of earlier vertices' edges. A vertex is in the list as often as its degree says, so it is drawn in proportion to its
    degree (V. Batagelj and U. Brandes, Phys. Rev. E 71, 2005).
    """
    new = 1 + np.arange(draws * (vertices - 1), dtype=np.int64) // draws
    copied = rng.integers(np.maximum(1, 2 * draws * (new - 1)))
    old = np.where(copied % 2, -1, new[copied // 2]) if len(new) else new.copy()
    old[:draws] = 0
    unknown = np.flatnonzero(old < 0)
    while len(unknown):
        old[unknown] = old[copied[unknown] // 2]
        unknown = unknown[old[unknown] < 0]
    return np.unique(old * vertices + new)


def dag(rng: np.random.Generator, vertices: int, arcs: int, span: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw arcs from a vertex to one of the next `span` vertices. Arcs may be parallel."""
    tails = rng.integers(vertices - 1, size=arcs)
    return tails, tails + 1 + rng.integers(np.minimum(span, vertices - 1 - tails))


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
    tails, heads = complete(vertices)
    write_text(to, vertices, tails, heads, draw(len(tails), low, high, seed))


def complete(vertices: int) -> tuple[np.ndarray, np.ndarray]:
    """Return tails and heads of the complete directed graph without self-loops: int64."""
    vertices = whole(vertices, "the number of vertices")
    if not 1 <= vertices <= MAX_COMPLETE:
        raise InputError(f"{vertices} vertices: a complete graph is made with 1 to {MAX_COMPLETE}")
    memory.require_graph(vertices, vertices * (vertices - 1), "a complete graph")
    tails = np.repeat(np.arange(vertices), vertices - 1)
    heads = np.tile(np.arange(vertices - 1), vertices)
    heads += heads >= tails
    return tails, heads


def draw_arcs(vertices: int, arcs: int, seed: int, skew: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Draw random arcs without self-loops; return tails and heads, int64, (arcs,) each. Arcs may be parallel.

    Heads are uniform. If `skew` is None, tails are uniform too. If `skew` is above 2, out-degrees follow a power law
    with the exponent `skew`: the vertices are ordered at random, and the k-th is drawn as a tail with a probability
    proportional to k^(-1 / (skew - 1)) (K.-I. Goh, B. Kahng and D. Kim, Phys. Rev. Lett. 87, 2001).
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
        # A fraction r of the arcs belongs to the first r^p n vertices, where p = 1 / share (2 for a skew of 3).
        share = (skew - 2) / (skew - 1)
        ranks = np.minimum(vertices * rng.random(arcs) ** (1 / share), vertices - 1).astype(np.int64)
        tails = rng.permutation(vertices)[ranks]
    heads = rng.integers(max(1, vertices - 1), size=arcs)
    heads += heads >= tails
    return tails, heads


def draw(arcs: int, low: int = 1, high: int = 100, seed: int = 0, pareto: float | None = None) -> np.ndarray:
    """Draw random integer weights from low to high, both included: int64, (arcs,).

    If `pareto` is None, the weights are uniform. Otherwise they are rounded values of the Pareto distribution with
    exponent `pareto` and minimum low; values above high become high.
    """
    if not 1 <= low <= high <= MAX_WEIGHT:
        raise InputError(f"weights from {low} to {high}: expected 1 <= least <= largest <= {MAX_WEIGHT}")
    if seed < 0:
        raise InputError(f"seed {seed}: expected 0 or more")
    rng = np.random.default_rng(seed)
    if pareto is None:
        return rng.integers(low, high, size=arcs, endpoint=True)
    return np.minimum(np.rint(low * (1 + rng.pareto(pareto, arcs))), high).astype(np.int64)


def zero(
    vertices: int, tails: np.ndarray, heads: np.ndarray, weights: np.ndarray, share: float, seed: int
) -> np.ndarray:
    """Return the weights with a share of them set to 0. All arcs between the same two vertices are treated alike."""
    pairs, pair = np.unique(np.minimum(tails, heads) * vertices + np.maximum(tails, heads), return_inverse=True)
    chosen = np.random.default_rng((seed, 4)).random(len(pairs)) < share
    return np.where(chosen[pair], 0, weights)
