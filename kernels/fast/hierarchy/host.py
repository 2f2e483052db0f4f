"""Distances and routes between pairs of vertices, on the host: what hubs.py finds on the card, with the same rules.

A search climbs the tree from both ends, and keeps distances for the ancestors of this pair only. `tight_tree` finds
routes in graphs without a hierarchy.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from ...graph import INF, Graph, kept, starts
from . import fragments as cutting

NO_CODE = np.uint64(2**64 - 1)
LOW, SHIFT, ONE = np.uint64(2**32 - 1), np.uint64(32), np.uint64(1)


@kept
def arcs_by_edge(graph: Graph) -> np.ndarray:
    """Return the graph's arcs in the order of the user's edges: of parallel arcs, the first edge's comes first."""
    return np.argsort(graph.edges, kind="stable") if graph.network else np.arange(graph.arcs)


class Arcs(NamedTuple):
    """The arcs of a customized hierarchy: `start`, `heads` and `depths` of Fragments, weights, and codes (hubs.py)."""

    start: np.ndarray
    heads: np.ndarray
    depths: np.ndarray
    up: np.ndarray  # int64, (arcs,), INF if there is no path
    down: np.ndarray
    up_codes: np.ndarray  # uint64, (arcs,)
    down_codes: np.ndarray


class FoundRoutes(NamedTuple):
    """Routes of p pairs, on the host or on the card: fields of library.answers.Routes, with vertices as numbers."""

    distances: Any  # (p,)
    edges: Any  # int32
    edge_start: np.ndarray  # int64, (p + 1,), on the host
    vertices: Any  # int32
    vertex_start: np.ndarray  # int64, (p + 1,), on the host
    second: Any  # float64, (p,); (0,) without a second value


@njit(cache=True)
def customize(positions, weights, start, heads, up, down, up_codes, down_codes):
    """Set the weights and codes of a hierarchy's arcs."""
    for arc in range(len(positions)):
        position, weight = positions[arc], weights[arc]
        if position >= 0 and weight < INF:
            if position & 1:
                offer(down, down_codes, position >> 1, weight, np.uint64(arc))
            else:
                offer(up, up_codes, position >> 1, weight, np.uint64(arc))
    for row in range(len(start) - 2, -1, -1):
        for first in range(start[row], start[row + 1]):
            low = start[heads[first]]
            for second in range(first + 1, start[row + 1]):
                while heads[low] != heads[second]:
                    low += 1
                code = np.uint64(first + 1) << SHIFT | np.uint64(second)
                offer(up, up_codes, low, down[first] + up[second], code)
                offer(down, down_codes, low, down[second] + up[first], code)


@njit(cache=True)
def offer(weights, codes, arc, weight, code):
    """Lower the weight of an arc, or its code if the weight is the same."""
    if weight < INF and (weight < weights[arc] or (weight == weights[arc] and code < codes[arc])):
        weights[arc], codes[arc] = weight, code


@njit(cache=True)
def sum_arcs(start, up_codes, down_codes, values, up, down):
    """Sum a value of the graph's arcs over what each arc of the hierarchy stands for."""
    for row in range(len(start) - 2, -1, -1):
        for arc in range(start[row], start[row + 1]):
            up[arc] = sum_of(up_codes[arc], True, values, up, down)
            down[arc] = sum_of(down_codes[arc], False, values, up, down)


@njit(cache=True)
def sum_of(code, goes_up, values, up, down):
    if code == NO_CODE:
        return values.dtype.type(0)
    if code <= LOW:
        return values[code]
    first, second = (code >> SHIFT) - ONE, code & LOW
    return down[first] + up[second] if goes_up else down[second] + up[first]


@njit(cache=True)
def climb(row, arcs, weights, path, dist):
    """Fill the path from a row to its root, by depth, and the distances along arcs up the tree (or against them)."""
    depth = arcs.depths[row]
    dist[: depth + 1] = INF
    dist[depth] = 0
    for d in range(depth, -1, -1):
        path[d] = row
        for arc in range(arcs.start[row], arcs.start[row + 1]):
            at = arcs.depths[arcs.heads[arc]]
            dist[at] = min(dist[at], dist[d] + weights[arc])
        if d:
            row = arcs.heads[arcs.start[row]]
    return depth


@njit(cache=True)
def find_hub(row, other, arcs, paths, dists):
    """Return the distance and the depth of the deepest hub on a shortest path, -1 if there is none."""
    depth, other_depth = (
        climb(row, arcs, arcs.up, paths[0], dists[0]),
        climb(other, arcs, arcs.down, paths[1], dists[1]),
    )
    best, hub = INF, -1
    for k in range(min(depth, other_depth) + 1):
        if paths[0, k] != paths[1, k]:
            break
        there = dists[0, k] + dists[1, k]
        if there <= best and there < INF:
            best, hub = there, k
    return best, hub


@njit(cache=True)
def search_pairs(sources, targets, rows, arcs, height, out):
    """Set out[i] to the distance from sources[i] to targets[i], INF if there is no path."""
    paths, dists = np.empty((2, height), np.int32), np.empty((2, height), np.int64)
    for i in range(len(sources)):
        out[i], _ = find_hub(rows[sources[i]], rows[targets[i]], arcs, paths, dists)


@njit(cache=True)
def list_arcs(path, depth, hub, arcs, weights, column, chosen, listed):
    """List the arcs of a shortest path between a row and its hub, from the row on; return their number.

    path: the row's ancestors by depth. column, chosen: room for the distances to the hub and the arcs taken, by depth.
    """
    column[hub] = 0
    for d in range(hub + 1, depth + 1):
        column[d], row = INF, path[d]
        for arc in range(arcs.start[row], arcs.start[row + 1]):
            at = arcs.depths[arcs.heads[arc]]
            if at >= hub and column[at] + weights[arc] < column[d]:
                column[d], chosen[d] = column[at] + weights[arc], arc
    count, d = 0, depth
    while d > hub:
        listed[count] = chosen[d]
        d = arcs.depths[arcs.heads[chosen[d]]]
        count += 1
    return count


@njit(cache=True)
def find_routes(sources, targets, rows, arcs, height, lengths, out, edges, segment_arcs):  # noqa: PLR0913
    """Set the distance and the number of edges of each route (-1 for none); return the segments of all routes.

    segment_arcs: twice an arc of the hierarchy, plus 1 if the route goes down the tree.
    """
    paths, dists = np.empty((2, height), np.int32), np.empty((2, height), np.int64)
    column, chosen, listed = np.empty(height, np.int64), np.empty(height, np.int64), np.empty(height, np.int64)
    end = 0
    for i in range(len(sources)):
        row, other = rows[sources[i]], rows[targets[i]]
        out[i], hub = find_hub(row, other, arcs, paths, dists)
        edges[i] = -1 if hub < 0 else 0
        if end + 2 * height > len(segment_arcs):
            longer = np.empty(2 * len(segment_arcs) + 2 * height, np.int64)
            longer[:end] = segment_arcs[:end]
            segment_arcs = longer
        if hub >= 0:
            for arc in listed[: list_arcs(paths[0], arcs.depths[row], hub, arcs, arcs.up, column, chosen, listed)]:
                segment_arcs[end] = 2 * arc
                edges[i] += lengths[0][arc]
                end += 1
            count = list_arcs(paths[1], arcs.depths[other], hub, arcs, arcs.down, column, chosen, listed)
            for arc in listed[:count][::-1]:
                segment_arcs[end] = 2 * arc + 1
                edges[i] += lengths[1][arc]
                end += 1
    return segment_arcs[:end]


@njit(cache=True)
def unpack(segment_arcs, up_codes, down_codes, out):
    """Write the graph's arcs that the segments stand for, in order."""
    end, stack = 0, np.empty(2**12, np.int64)
    for segment in segment_arcs:
        stack[0], left = segment, 1
        while left:
            left -= 1
            arc, goes_down = stack[left] >> 1, stack[left] & 1
            code = down_codes[arc] if goes_down else up_codes[arc]
            if code <= LOW:
                out[end] = code
                end += 1
            else:
                first, second = np.int64((code >> SHIFT) - ONE), np.int64(code & LOW)
                before, after = (second, first) if goes_down else (first, second)
                stack[left], stack[left + 1] = 2 * after, 2 * before + 1
                left += 2


@njit(cache=True)
def tight_tree(indptr, indices, weights, rank, distances, source):
    """Return the last arc of a shortest path to each vertex, int64, (n,); -1 for the source and without a path.

    A breadth-first search from the source follows the arcs that end a shortest path. Of parallel arcs, that of the
    least rank counts.
    """
    last = np.full(len(distances), -1, np.int64)
    queue, head, end = np.empty(len(distances), np.int64), 0, 1
    queue[0] = source
    while head < end:
        u = queue[head]
        head += 1
        for arc in range(indptr[u], indptr[u + 1]):
            v = indices[arc]
            if v == source or distances[u] + weights[arc] != distances[v] or distances[v] == np.inf:
                continue
            if last[v] == -1:
                last[v], queue[end] = arc, v
                end += 1
            elif last[v] >= indptr[u] and last[v] < indptr[u + 1] and rank[arc] < rank[last[v]]:
                last[v] = arc
    return last


@njit(cache=True)
def arcs_of_tree(indptr, indices, weights, rank, predecessors):
    """Return the arc from each vertex's predecessor, int64, (n,); -1 without one.

    Of parallel arcs, the cheapest counts, and of several, that of the least rank.
    """
    last = np.full(len(predecessors), -1, np.int64)
    for v in range(len(predecessors)):
        u = predecessors[v]
        if u < 0:
            continue
        for arc in range(indptr[u], indptr[u + 1]):
            if indices[arc] == v:
                best = last[v]
                lighter = best == -1 or weights[arc] < weights[best]
                if lighter or (weights[arc] == weights[best] and rank[arc] < rank[best]):
                    last[v] = arc
    return last


@njit(cache=True)
def walk_back(last, tails, target):
    """Return the arcs of the path that ends at the target, in order."""
    count, v = 0, target
    while last[v] >= 0:
        count, v = count + 1, tails[last[v]]
    found, v = np.empty(count, np.int64), target
    for i in range(count - 1, -1, -1):
        found[i] = last[v]
        v = tails[last[v]]
    return found


class HostHierarchy:
    """A graph's hierarchy, customized on the host with some weights of its arcs: int32, (m,), INF for a closed arc.

    Raises InputError if the graph is unfit.
    """

    def __init__(self, graph: Graph, weights: np.ndarray):
        self.graph = graph
        self.hierarchy, fragments = cutting.hierarchy_and_fragments(graph)
        self.rows, self.height, count = fragments.vertex_rows, self.hierarchy.height, len(fragments.heads)
        of_arcs, codes = np.full((2, count), INF, np.int64), np.full((2, count), NO_CODE)
        self.by_edge = arcs_by_edge(graph)
        own = fragments.places[self.by_edge], weights[self.by_edge]
        customize(*own, fragments.start, fragments.heads, *of_arcs, *codes)
        self.arcs = Arcs(fragments.start, fragments.heads, fragments.depths, *of_arcs, *codes)

    def sums(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of a value of the graph's arcs, (m,), over the hierarchy's arcs, up and down."""
        up, down = np.zeros((2, len(self.arcs.heads)), values.dtype)
        sum_arcs(self.arcs.start, self.arcs.up_codes, self.arcs.down_codes, values[self.by_edge], up, down)
        return up, down

    @cached_property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """The number of the graph's arcs that each arc of the hierarchy stands for."""
        return self.sums(np.ones(self.graph.arcs, np.int64))

    def pairs(self, sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return the distance of each pair: int64, (p,), INF if there is no path."""
        out = np.empty(len(sources), np.int64)
        search_pairs(sources, targets, self.rows, self.arcs, self.height, out)
        return out

    def routes(self, sources: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return distances, int64, (p,), the start of each route, int64, (p + 1,), and all routes' arcs of the graph.

        A route that does not exist has distance INF and no arcs.
        """
        count = len(sources)
        out, edges, room = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(0, np.int64)
        found = find_routes(sources, targets, self.rows, self.arcs, self.height, self.lengths, out, edges, room)
        start = starts(np.maximum(edges, 0))
        arcs = np.empty(start[-1], np.int64)
        unpack(found, self.arcs.up_codes, self.arcs.down_codes, arcs)
        return out, start, self.by_edge[arcs]
