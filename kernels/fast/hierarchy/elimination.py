"""The elimination tree of a graph in nested-dissection order, which depends on the arcs only, not on their weights.

    order       vertices of few neighbours come first; nested dissection orders the others: a small separator comes
                last; recurse on each part that it separates
    eliminate   remove the vertices in this order; connect all remaining neighbours of a removed vertex with each other
    tree        the parent of a vertex is the first removed of its later neighbours; all later neighbours are ancestors

So every arc, of the graph or added by elimination, joins a vertex and one of its ancestors. If there is a path between
two vertices, there is a shortest path along these arcs that first goes up the tree and then down. The method is that of
customizable contraction hierarchies (J. Dibbelt, B. Strasser, D. Wagner, Customizable Contraction Hierarchies, ACM JEA
21, 2016). METIS finds the separators. Vertices of few neighbours are eliminated first, because METIS then takes less
time and elimination adds fewer arcs (L. Ost, C. Schulz, D. Strash, Engineering Data Reduction for Nested Dissection,
ALENEX 2021). Tree and arcs are found as in a sparse Cholesky factorization (T. A. Davis, Direct Methods for Sparse
Linear Systems, SIAM 2006, chapter 4).

Vertices are renumbered in preorder: an ancestor comes before its descendants, and the descendants of vertex p are
p + 1 to ends[p] - 1. A hierarchy is worthwhile if the separators are small. `prepare_hierarchy` counts the arcs before
it stores them, and refuses a graph whose tree is too high or whose hierarchy has too many arcs.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numba import njit

from ...errors import InputError
from ...graph import MAX_COUNT, Graph, kept, read_packed, starts

MAX_HEIGHT = 1022  # maximum vertices on a path of the tree: each needs a slot, besides slot 0, and a slot has ten bits
MAX_ARCS = 16  # maximum ratio of the hierarchy's arcs to the graph's vertices and arcs together
MAX_EARLY_DEGREE = 4  # maximum number of neighbours of a vertex that is eliminated before nested dissection
MAX_DEGREE = 12  # a vertex is not eliminated early if a neighbour could then have more than MAX_DEGREE neighbours
VERTEX = np.dtype(  # a vertex during early elimination: 64 bytes, one cache line
    [("degree", np.int32), ("rank", np.int32), ("touched", np.int32), ("around", np.int32, MAX_DEGREE + 1)]
)
FORMAT = 1  # version of the file


@dataclass(frozen=True)
class HierarchyCounts:
    """The numbers that decide whether a graph is fit for a hierarchy."""

    height: int  # of the tree
    arcs: int
    triangles: int  # number of triangles that customizing relaxes


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The elimination tree and its arcs. Field names are the keys in the file.

    Vertices have their preorder numbers. heads[start[p]:start[p + 1]] are the ancestors that vertex p has an arc with,
    the nearest first. An arc of the hierarchy is numbered by its index in `heads`. The *place* of an arc of the graph
    is twice the number of the hierarchy's arc between the same vertices, plus 1 if the graph's arc leads from the
    ancestor to the descendant.
    """

    vertices: np.ndarray  # int32, (n,): the graph's vertex that has each preorder number
    start: np.ndarray  # int64, (n + 1,)
    heads: np.ndarray  # int32, (arcs,)
    ends: np.ndarray  # int32, (n,): end of each subtree
    depths: np.ndarray  # int32, (n,): 0 for a root
    places: np.ndarray  # int64, (m,): place of each arc of the graph; -1 for a loop
    order_s: float  # seconds for the order, on one core
    tree_s: float  # seconds for tree and arcs

    @property
    def height(self) -> int:
        return int(self.depths.max(initial=-1)) + 1

    @property
    def counts(self) -> HierarchyCounts:
        return count(np.diff(self.start), self.height)

    def write(self, file: BinaryIO, digest: str) -> None:
        """Write an uncompressed .npz to an open binary file. digest: the digest of the graph's arcs, by `topology`."""
        arrays: dict[str, Any] = {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}
        np.savez(file, format=np.array(FORMAT), digest=np.array(digest), **arrays)

    @classmethod
    def load(cls, path: Path, graph: Graph) -> Hierarchy:
        """Read a file that `write` wrote. Raise InputError if the file is invalid or belongs to another graph."""
        n, m = graph.vertices, graph.arcs
        most = 20 * n + 8 * m + 4 * MAX_ARCS * (n + m) + 10**4  # the arrays, and their headers
        what = f"a prepared hierarchy of {graph.name}"
        with read_packed(path, what, "delete it and run again", most) as array:
            if (version := int(array("format").item())) != FORMAT:
                raise InputError(f"format {version}, not {FORMAT}")
            if str(array("digest")) != topology(graph):
                raise InputError("made from another graph")
            found: dict[str, Any] = {field.name: array(field.name) for field in fields(cls)}
            found |= {name: float(found[name].item()) for name in ("order_s", "tree_s")}
            hierarchy = cls(**found)
            hierarchy.check(graph)
        return hierarchy

    def check(self, graph: Graph) -> None:
        """Raise InputError unless this is a hierarchy of the graph and fit for the kernels; takes linear time."""
        n = graph.vertices
        sizes = {"vertices": n, "start": n + 1, "heads": self.heads.size, "ends": n, "depths": n, "places": graph.arcs}
        for name, size in sizes.items():
            array, dtype = getattr(self, name), np.int64 if name in ("start", "places") else np.int32
            if array.dtype != dtype or array.shape != (size,):
                raise InputError(f"{name} must be {np.dtype(dtype)} of shape ({size},)")
        degrees = np.diff(self.start)
        if self.start[0] or self.start[-1] != len(self.heads) or ((degrees < 0) | (degrees > self.depths)).any():
            raise InputError("start falls, or does not fit to heads and depths")
        refuse_unfit(graph, self.counts)
        if (p := first_wrong(self.vertices, self.start, self.heads, self.ends, self.depths)) >= 0:
            raise InputError(f"vertex, heads, end or depth of number {p} is wrong")
        number = inverse(self.vertices)
        if not np.array_equal(self.places, find_arcs(graph.tails, graph.indices, number, self.start, self.heads)):
            raise InputError("places do not match the arcs of the graph")
        if not (0 <= self.order_s < np.inf and 0 <= self.tree_s < np.inf):
            raise InputError("order_s and tree_s must be seconds")


def count(degrees: np.ndarray, height: int) -> HierarchyCounts:
    """Return the HierarchyCounts, given the number of arcs of each vertex and the height."""
    degrees = degrees.astype(np.int64)
    return HierarchyCounts(height, int(degrees.sum()), int((degrees * (degrees - 1) // 2).sum()))


def require_numbers(count: int, what: str) -> None:
    """Raise InputError if `count` exceeds int32, which METIS and the kernels use."""
    if count > MAX_COUNT:
        raise InputError(f"a contraction hierarchy with {count:,} {what}, at most {MAX_COUNT:,}: take another variant")


def refuse_unfit(graph: Graph, counts: HierarchyCounts) -> None:
    """Raise InputError, whose message has the counts, if the graph is unfit for the kernels."""
    most, why = MAX_ARCS * (graph.vertices + graph.arcs), ""
    if counts.height > MAX_HEIGHT:
        why = f"its elimination tree is {counts.height:,} vertices high, and the kernels take {MAX_HEIGHT:,}"
    elif counts.arcs > most:
        why = f"elimination leaves {counts.arcs:,} arcs, and more than {most:,} do not pay"
    if why:
        raise InputError(f"{graph.name}: not fit for a contraction hierarchy: {why}: take another variant")
    require_numbers(counts.arcs, "arcs")


def prepare_hierarchy(graph: Graph) -> Hierarchy:
    """Return the hierarchy of a graph. One core takes 1.4 to 2 seconds per million vertices of a road network.

    Raises InputError if the graph is unfit.
    """
    started = time.perf_counter()
    first, around = neighbours(graph.indptr, graph.indices)
    rank = find_order(first, around)
    ordered = time.perf_counter()
    first, before = earlier(first, around, rank)
    parents = tree(first, before)
    depths, ends, numbers = preorder(parents)
    height = int(depths.max(initial=-1)) + 1
    refuse_unfit(graph, HierarchyCounts(height, 0, 0))  # before counting the arcs, which may be many
    degrees = later_degrees(first, before, parents)
    refuse_unfit(graph, count(degrees, height))
    # From here on, arrays are indexed by preorder number.
    ranks = inverse(numbers)
    start = starts(degrees[ranks])
    heads = later_neighbours(first, before, parents, numbers, start)
    number = numbers[rank]  # preorder number of each vertex of the graph
    places = find_arcs(graph.tails, graph.indices, number, start, heads)
    vertices = inverse(number)
    done = time.perf_counter()
    return Hierarchy(vertices, start, heads, ends[ranks], depths[ranks], places, ordered - started, done - ordered)


def inverse(permutation: np.ndarray) -> np.ndarray:
    """Return the position of each number in a permutation of 0, 1, ..., in the same dtype."""
    found = np.empty_like(permutation)
    found[permutation] = np.arange(len(permutation), dtype=permutation.dtype)
    return found


@njit(cache=True)
def neighbours(indptr, indices):
    """Return the neighbours of each vertex along arcs of either direction, once each and without loops: CSR."""
    n = len(indptr) - 1
    end = np.zeros(n + 2, np.int64)  # end[v + 1]: end of the list of v so far
    for u in range(n):
        for v in indices[indptr[u] : indptr[u + 1]]:
            end[u + 2] += 1
            end[v + 2] += 1
    for v in range(n):
        end[v + 2] += end[v + 1]
    around = np.empty(end[n + 1], np.int32)
    for u in range(n):
        for v in indices[indptr[u] : indptr[u + 1]]:
            around[end[u + 1]] = v
            end[u + 1] += 1
            around[end[v + 1]] = u
            end[v + 1] += 1
    start, seen = np.zeros(n + 1, np.int64), np.full(n, -1, np.int32)
    for u in range(n):
        seen[u] = u
        start[u + 1] = start[u]
        for v in around[end[u] : end[u + 1]]:
            if seen[v] != u:
                seen[v] = u
                around[start[u + 1]] = v
                start[u + 1] += 1
    return start, around[: start[n]].copy()


def find_order(start: np.ndarray, around: np.ndarray) -> np.ndarray:
    """Return each vertex's rank in the elimination order: int32, (n,). The same neighbours give the same order."""
    try:
        import pymetis
    except ModuleNotFoundError:
        raise InputError("a contraction hierarchy needs pymetis (pip install pymetis): take another variant") from None
    vertices = np.empty(len(start) - 1, VERTEX)
    eliminate_few(start, around, vertices)
    rank = vertices["rank"].copy()
    left = np.flatnonzero(rank < 0)
    require_numbers(int(vertices["degree"][left].sum(dtype=np.int64)), "neighbours")
    packed = pack(left, start, around, vertices)  # even if none is left, so that the smallest graph compiles it
    if len(left):
        # pymetis converts arrays of any other dtype element by element.
        adjacency = pymetis.CSRAdjacency(*(array.astype(pymetis.zero_copy_dtype()) for array in packed))
        _, found = pymetis.nested_dissection(adjacency)
        rank[left] = len(rank) - len(left) + np.asarray(found, np.int32)
    return rank


@njit(cache=True)
def eliminate_few(start, around, vertices):
    """Eliminate vertices of at most 2 neighbours, then of at most 3, up to MAX_EARLY_DEGREE; fill `vertices` (VERTEX).

    A vertex that is not eliminated gets rank -1. If its neighbours do not fit in its field `around`, they stay as in
    the graph, and the field is not filled.

    In a round no two neighbours are eliminated, so that a long path does not become a high tree (multiple elimination:
    J. W. H. Liu, ACM TOMS 11, 1985). The next round tries the neighbours of the eliminated vertices. A vertex stays if
    a neighbour might get more than MAX_DEGREE neighbours, so the time is linear.
    """
    n = len(vertices)
    for v in range(n):
        vertex = vertices[v]
        vertex.degree, vertex.rank, vertex.touched = start[v + 1] - start[v], -1, -1
        if vertex.degree <= len(vertex.around):  # else neither the vertex nor its neighbours are eliminated
            vertex.around[: vertex.degree] = around[start[v] : start[v + 1]]
    tried, touching = np.empty(n, np.int32), np.empty(n, np.int32)
    eliminated = turn = 0
    for few in range(2, MAX_EARLY_DEGREE + 1):
        count = n
        for v in range(n):
            tried[v] = v
        while count:
            end, count = count, 0
            for v in tried[:end]:
                vertex = vertices[v]
                if vertex.rank >= 0 or vertex.degree > few or vertex.touched == turn:
                    continue
                others = vertex.around[: vertex.degree]
                most = 0
                for u in others:
                    most = max(most, vertices[u].degree + len(others) - 2)
                if most > MAX_DEGREE:
                    continue
                vertex.rank = eliminated
                eliminated += 1
                for u in others:
                    other = vertices[u]
                    other.degree = join(other.around, other.degree, u, v, others)
                    if other.touched != turn:
                        other.touched = turn
                        touching[count] = u
                        count += 1
            tried, touching = touching, tried
            turn += 1


@njit(cache=True)
def join(around, degree, u, v, others):
    """In the neighbours of u, replace v by `others`, without u and repeats; return the new number of neighbours."""
    for i in range(degree):
        if around[i] == v:
            degree -= 1
            around[i] = around[degree]
            break
    for w in others:
        known = w == u
        for i in range(degree):
            known |= around[i] == w
        if not known:
            around[degree] = w
            degree += 1
    return degree


@njit(cache=True)
def pack(left, start, around, vertices):
    """Return the neighbours of the remaining vertices as CSR, int32; vertices are numbered by their index in `left`."""
    number, packed_start = np.empty(len(vertices), np.int32), np.zeros(len(left) + 1, np.int32)
    for i, v in enumerate(left):
        number[v] = i
        packed_start[i + 1] = packed_start[i] + vertices[v].degree
    packed = np.empty(packed_start[-1], np.int32)
    for i, v in enumerate(left):
        vertex = vertices[v]
        few = vertex.degree <= len(vertex.around)
        others = vertex.around[: vertex.degree] if few else around[start[v] : start[v + 1]]
        for j, u in enumerate(others):
            packed[packed_start[i] + j] = number[u]
    return packed_start, packed


@njit(cache=True)
def earlier(start, around, rank):
    """Return, for each vertex, the neighbours that are eliminated before it: CSR, with vertices numbered by rank."""
    n = len(rank)
    begin = np.zeros(n + 1, np.int64)
    for v in range(n):
        for u in around[start[v] : start[v + 1]]:
            begin[rank[v] + 1] += rank[u] < rank[v]
    for r in range(n):
        begin[r + 1] += begin[r]
    found = np.empty(begin[n], np.int32)
    for v in range(n):
        end = begin[rank[v]]
        for u in around[start[v] : start[v + 1]]:
            if rank[u] < rank[v]:
                found[end] = rank[u]
                end += 1
    return begin, found


@njit(cache=True)
def tree(indptr, indices):
    """Return the parent of each vertex, -1 for a root: int32, (n,). Vertices are numbered by rank.

    `reached` holds, for each vertex, the highest ancestor found so far, so that walks up the tree skip vertices.
    """
    n = len(indptr) - 1
    parents, reached = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    for v in range(n):
        for i in range(indptr[v], indptr[v + 1]):
            u = indices[i]
            while u != -1 and u < v:
                above = reached[u]
                reached[u] = v
                if above == -1:
                    parents[u] = v
                u = above
    return parents


@njit(cache=True)
def later_degrees(indptr, indices, parents):
    """Return each vertex's number of later neighbours after elimination: int32, (n,). Vertices are numbered by rank.

    If u is an earlier neighbour of v, then v is a later neighbour of all vertices on the tree path from u up to v.
    """
    n = len(parents)
    degrees, seen = np.zeros(n, np.int32), np.full(n, -1, np.int32)
    for v in range(n):
        seen[v] = v
        for i in range(indptr[v], indptr[v + 1]):
            u = indices[i]
            while u < v and seen[u] != v:
                seen[u] = v
                degrees[u] += 1
                u = parents[u]
    return degrees


@njit(cache=True)
def later_neighbours(indptr, indices, parents, numbers, start):
    """Return the later neighbours that `later_degrees` counts, for each preorder number, the nearest first: int32."""
    n = len(parents)
    heads, end, seen = np.empty(start[n], np.int32), start.copy(), np.full(n, -1, np.int32)
    for v in range(n):
        seen[v] = v
        for i in range(indptr[v], indptr[v + 1]):
            u = indices[i]
            while u < v and seen[u] != v:
                seen[u] = v
                heads[end[numbers[u]]] = numbers[v]
                end[numbers[u]] += 1
                u = parents[u]
    return heads


@njit(cache=True)
def preorder(parents):
    """Return depths, subtree ends and preorder numbers of the vertices: int32, (n,). Vertices are numbered by rank."""
    n = len(parents)
    sizes = np.ones(n, np.int32)
    for v in range(n):
        if parents[v] >= 0:
            sizes[parents[v]] += sizes[v]
    depths, numbers, free = np.zeros(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    roots = 0
    for v in range(n - 1, -1, -1):
        p = parents[v]
        if p < 0:
            numbers[v] = roots
            roots += sizes[v]
        else:
            depths[v] = depths[p] + 1
            numbers[v] = free[p]
            free[p] += sizes[v]
        free[v] = numbers[v] + 1
    return depths, numbers + sizes, numbers


@njit(cache=True)
def first_wrong(vertices, start, heads, ends, depths):
    """Return a preorder number at which the arrays violate Hierarchy, or -1; `start` must be valid.

    The first head of a vertex must be its parent. The vertex's other heads must be heads of the parent too, in the same
    order. Then all heads of a vertex are its ancestors, the nearest first, and have arcs with each other.
    """
    n = len(vertices)
    seen, sizes = np.zeros(n, np.bool_), np.ones(n, np.int32)
    for p in range(n - 1, -1, -1):
        v, first, end = vertices[p], start[p], start[p + 1]
        if not 0 <= v < n or seen[v] or ends[p] != p + sizes[p]:
            return p
        seen[v] = True
        if first == end:
            if depths[p] != 0:
                return p
            continue
        parent = heads[first]
        if not 0 <= parent < p or ends[p] > ends[parent] or depths[p] != depths[parent] + 1:
            return p
        sizes[parent] += sizes[p]
        i = start[parent]
        for arc in range(first + 1, end):
            while i < start[parent + 1] and heads[i] != heads[arc]:
                i += 1
            if i == start[parent + 1]:
                return p
            i += 1
    return -1


@njit(cache=True)
def find_arcs(tails, indices, number, start, heads):
    """Return `Hierarchy.places` for the arcs from tails to indices. Raise AssertionError if an arc is missing."""
    places = np.full(len(tails), -1, np.int64)
    for i in range(len(tails)):
        tail, head = number[tails[i]], number[indices[i]]
        if tail != head:
            lower, upper = max(tail, head), min(tail, head)  # the descendant has the larger number
            low, high = start[lower], start[lower + 1]
            while high - low > 1:
                middle = (low + high) // 2
                if heads[middle] >= upper:
                    low = middle
                else:
                    high = middle
            if low == high or heads[low] != upper:
                raise AssertionError("an arc of the graph is not in the hierarchy")
            places[i] = 2 * low + (tail == upper)
    return places


def beside(packed: Path | str) -> Path:
    """Return the path of the hierarchy of a packed graph: nyc.hierarchy.npz beside nyc.npz."""
    return Path(packed).with_suffix(".hierarchy.npz")


def topology(graph: Graph) -> str:
    """Return a digest of the graph's arcs, without their weights."""
    return hashlib.sha256(graph.indptr.tobytes() + graph.indices.tobytes()).hexdigest()


@kept
def hierarchy_of(graph: Graph) -> Hierarchy:
    """Return the graph's hierarchy: read the file beside the packed graph, or prepare it if there is no such file.

    Raises InputError if the graph is unfit or the file is invalid.
    """
    path = graph.file and beside(graph.file)
    return Hierarchy.load(path, graph) if path and path.exists() else prepare_hierarchy(graph)
