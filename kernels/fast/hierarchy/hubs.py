"""Distances and routes between pairs of vertices, on the card.

A *hub* of a pair (s, t) is a common ancestor of s and t in the elimination tree. The hub distances of a vertex v are
the distances from v to its ancestors along arcs that lead up the tree, and from its ancestors to v along arcs that
lead down. They are stored by the ancestor's depth, so those of the common ancestors of two vertices are two ranges of
equal length:

    fill     each depth, from the root's; each vertex v of this depth; each depth k above:
                 to[v, k] = min over arcs to ancestors a of depth k or more: up(v, a) + to[a, k]
    search   the distance from s to t is the minimum over their common ancestors k of to[s, k] + back[t, k]

The number of common ancestors is the minimum of the depths at preorder numbers s + 1 to t, if s < t. The method is that
of hierarchical hub labels (I. Abraham, D. Delling, A. V. Goldberg, R. F. Werneck, Hierarchical Hub Labelings for
Shortest Paths, ESA 2012) on a tree decomposition (D. Ouyang, L. Qin, L. Chang, X. Lin, Y. Zhang, Q. Zhu, When Hierarchy
Meets 2-Hop-Labeling, SIGMOD 2018).

A route goes up the tree from s to the hub and down to t. The *code* of an arc of the hierarchy says what it stands for:
an arc of the graph, or two arcs of the hierarchy that pass through a vertex below both ends. The length of an arc is
the number of arcs of the graph that it stands for. So the arc of the graph at a given position of a route is found by
descending through codes, and all positions of all routes are found at once.

Of equally short routes, one is chosen by rules that depend on the hierarchy only, so that host.py finds the same:
the deepest hub; from a vertex, the arc to the nearest ancestor; for an arc, an arc of the graph, else the least code.

Bounds, from the bytes that a search must move: a pair reads 8 bytes for each common ancestor (39 on average for random
pairs on nyc), and a route writes 8 bytes for each of its arcs. A table with a second value copies 16 bytes for each
pair to the host, twice as many as without. Copies take longer than the search, so the card searches during the copies.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...gpu import copies
from ...gpu.card import SIMULATED
from ...gpu.compiler import cuda
from ...gpu.intrinsics import LAUNCH_BOUNDS, f64, i32, i64, load_four, thread_x, u32, u64
from ...gpu.launching import blocks_for
from ...graph import INF, starts
from ...units import Scale
from . import fragments as cutting
from .customize import NO_PATH, OnCard, add
from .host import FoundRoutes, arcs_by_edge
from .nearest import by_depth

GROUP = 2 if SIMULATED else 32  # threads that share the hub distances of a vertex
ALIGNED = 4  # the hub distances of a vertex start at a multiple
NO_CODE = np.uint64(2**64 - 1)  # of an arc that stands for no path
LOW = u64(0xFFFFFFFF)
NO_SECONDS = np.zeros(0)
PIECE_BUFFERS = 8  # buffers of distances that one launch finds, if results are copied during the next launch


class ArcsOnCard(NamedTuple):
    """The hierarchy's arcs on the card: `start` and `heads` of Fragments, and the depth of each row."""

    start: np.ndarray
    heads: np.ndarray
    depths: np.ndarray


class Hubs(NamedTuple):
    """The hub distances on the card, uint32: those of a row start at `first`, the root's first."""

    first: np.ndarray  # int64, (n,)
    to: np.ndarray
    back: np.ndarray


class Places(NamedTuple):
    """Where vertices are in the tree."""

    rows: np.ndarray  # int32, (n,): row of each vertex
    numbers: np.ndarray  # int32, (n,): preorder number of each row
    shallowest: np.ndarray  # int16, (levels * n,): [level, i] = the least depth of numbers i to i + 2**level - 1


class Codes(NamedTuple):
    """What the hierarchy's arcs stand for, up and down the tree.

    A code is the position of an arc of the graph in `arcs_by_edge`, or (first + 1) * 2**32 + second: first and second
    are arcs of the hierarchy from a vertex below to the ends, the end of first being the lower one. The path goes down
    one of them and up the other.
    """

    up: np.ndarray  # uint64, (arcs,)
    down: np.ndarray


class Sums(NamedTuple):
    """The sum of a value over the arcs of the graph that an arc of the hierarchy stands for."""

    up: np.ndarray
    down: np.ndarray


class Segments(NamedTuple):
    """The arcs of the hierarchy in all routes, in order."""

    arcs: np.ndarray  # uint32: twice the arc, plus 1 if the route goes down the tree
    edges: np.ndarray  # int64: index of the segment's first edge in all routes' edges
    routes: np.ndarray  # int32: the route of each segment


def shallowest(depths: np.ndarray) -> np.ndarray:
    """Return `Places.shallowest`. depths: the depth of each preorder number."""
    levels = [depths.astype(np.int16)]
    while (half := 1 << len(levels) - 1) * 2 <= len(depths):
        last, least = levels[-1], levels[-1].copy()
        np.minimum(last[:-half], last[half:], out=least[:-half])
        levels.append(least)
    return np.concatenate(levels)


@cuda.jit(**LAUNCH_BOUNDS)
def fill_hubs(levels, order, arcs, up, down, hubs):
    """Fill the hub distances, depth by depth, in one cooperative launch.

    order: rows by depth. levels: index in `order` at which each depth starts. A group of GROUP threads takes a row and
    GROUP depths above it.
    """
    grid = cuda.cg.this_grid()
    lane = i32(cuda.threadIdx.x % GROUP)
    groups = i64(cuda.gridsize(1) // GROUP)
    depth = i32(0)
    while depth < len(levels) - 1:
        pieces = i64(depth // GROUP + 1)
        first, count = levels[depth], i64((levels[depth + 1] - levels[depth]) * pieces)
        i = i64(thread_x() // GROUP)
        while i < count:
            row, k = order[first + i // pieces], i32(i % pieces * GROUP + lane)
            if k <= depth:
                to = back = u32(0) if k == depth else NO_PATH
                arc, end = arcs.start[row], arcs.start[row + 1]
                while arc < end:
                    head = arcs.heads[arc]
                    if arcs.depths[head] < k:
                        break  # the further heads are above
                    at = hubs.first[head] + k
                    to = min(to, add(up[arc], hubs.to[at]))
                    back = min(back, add(down[arc], hubs.back[at]))
                    arc += 1
                at = hubs.first[row] + k
                hubs.to[at], hubs.back[at] = to, back
            i += groups
        grid.sync()
        depth += i32(1)


@cuda.jit(device=True)
def first_arc(row, k, arcs, weights, first, distances):
    """Return the row's first arc on a shortest path, up or down the tree, to or from its ancestor of depth k."""
    wanted = distances[first[row] + k]
    arc, end = arcs.start[row], arcs.start[row + 1] - 1
    while arc < end and add(weights[arc], distances[first[arcs.heads[arc]] + k]) != wanted:
        arc += 1
    return arc


@cuda.jit(**LAUNCH_BOUNDS)
def fill_seconds(levels, order, arcs, up, down, hubs, sums, to_sums, back_sums):  # noqa: PLR0913
    """Sum a value along the paths of the hub distances; like fill_hubs. sums: of the arcs."""
    grid = cuda.cg.this_grid()
    lane = i32(cuda.threadIdx.x % GROUP)
    groups = i64(cuda.gridsize(1) // GROUP)
    depth = i32(0)
    while depth < len(levels) - 1:
        pieces = i64(depth // GROUP + 1)
        first, count = levels[depth], i64((levels[depth + 1] - levels[depth]) * pieces)
        i = i64(thread_x() // GROUP)
        while i < count:
            row, k = order[first + i // pieces], i32(i % pieces * GROUP + lane)
            if k <= depth:
                at = hubs.first[row] + k
                to_sums[at] = back_sums[at] = 0
                if k < depth and hubs.to[at] < NO_PATH:
                    arc = first_arc(row, k, arcs, up, hubs.first, hubs.to)
                    to_sums[at] = sums.up[arc] + to_sums[hubs.first[arcs.heads[arc]] + k]
                if k < depth and hubs.back[at] < NO_PATH:
                    arc = first_arc(row, k, arcs, down, hubs.first, hubs.back)
                    back_sums[at] = sums.down[arc] + back_sums[hubs.first[arcs.heads[arc]] + k]
            i += groups
        grid.sync()
        depth += i32(1)


@cuda.jit(device=True)
def common_ancestors(row, other, depths, places):
    """Return the number of common ancestors of two rows; a vertex is its own ancestor."""
    i, j, n = places.numbers[row], places.numbers[other], u64(len(places.rows))
    if i == j:
        return i32(depths[row] + 1)
    low, high = min(i, j), max(i, j)
    level = u64(31 - cuda.clz(i32(high - low)))
    begin = u64(level * n)
    return i32(
        min(
            places.shallowest[u64(begin + u64(low + 1))],
            places.shallowest[u64(begin + u64(high + 1) - u64(u64(1) << level))],
        )
    )


@cuda.jit(device=True)
def closer(best, hub, to, back, k):
    """Return the least sum so far, and its hub; of equal sums, that of the last hub."""
    there = add(to, back)
    return (there, k) if there <= best else (best, hub)


@cuda.jit(device=True)
def find_hub(row, other, depths, places, hubs):
    """Return the distance from a row to another, and the depth of the deepest hub on a shortest path.

    The depth is -1 if there is no path.
    """
    count = common_ancestors(row, other, depths, places)
    best, hub, k = u32(NO_PATH - u32(1)), i32(-1), i32(0)
    s, t = u64(hubs.first[row]), u64(hubs.first[other])
    while k + 4 <= count:
        to, back = load_four(hubs.to, u64(s + u64(k))), load_four(hubs.back, u64(t + u64(k)))
        best, hub = closer(best, hub, to[0], back[0], k)
        best, hub = closer(best, hub, to[1], back[1], i32(k + 1))
        best, hub = closer(best, hub, to[2], back[2], i32(k + 2))
        best, hub = closer(best, hub, to[3], back[3], i32(k + 3))
        k = i32(k + 4)
    while k < count:
        best, hub = closer(best, hub, hubs.to[u64(s + u64(k))], hubs.back[u64(t + u64(k))], k)
        k = i32(k + 1)
    return (NO_PATH if hub < 0 else best), hub


@cuda.jit
def search_pairs(  # noqa: PLR0913
    sources, targets, width, most, depths, places, hubs, scale, none, out, seen, to_sums, back_sums, sums
):
    """Set out[i] to the distance of pair i; none[0] if it exceeds `most` or there is no path.

    The distance is divided by scale[0] and multiplied by scale[1]. Set seen[0] = 1 if there is no path, seen[1] = 1 if
    an end is not a vertex. Pair i is (sources[i], targets[i]) if `width` is 0, else (sources[i // width],
    targets[i % width]). If `sums` is not empty, set sums[i] to the sum of the second value, NaN if out[i] is none[0].
    """
    i = u64(u64(cuda.blockIdx.x) * u64(cuda.blockDim.x) + u64(cuda.threadIdx.x))
    if i < u64(len(out)):
        from_, to_ = (u64(i // u64(width)), u64(i % u64(width))) if width else (i, i)
        source, target, n = u64(sources[from_]), u64(targets[to_]), u64(len(places.rows))
        if source >= n or target >= n:
            seen[1] = 1
            return
        row, other = places.rows[source], places.rows[target]
        distance, hub = find_hub(row, other, depths, places, hubs)
        if hub < 0:
            seen[0] = 1
        near = distance <= most and hub >= 0
        if not near:
            out[i] = none[0]
        elif scale[0] == 1 and scale[1] == 1:
            out[i] = distance
        else:
            out[i] = f64(distance) / scale[0] * scale[1]
        if len(sums):
            if not near:
                sums[i] = np.nan
            else:
                sums[i] = to_sums[hubs.first[row] + hub] + back_sums[hubs.first[other] + hub]


@cuda.jit
def set_own_codes(by_edge, positions, weights, up, down, codes):
    """Give a code to each arc of the hierarchy that stands for an arc of the graph: the least of several."""
    code = u64(thread_x())
    if code < u64(len(by_edge)):
        arc = by_edge[code]
        position, weight = positions[arc], u32(weights[arc])
        if position >= 0 and weight < NO_PATH:
            if position & 1:
                if down[position >> 1] == weight:
                    cuda.atomic.min(codes.down, position >> 1, code)
            elif up[position >> 1] == weight:
                cuda.atomic.min(codes.up, position >> 1, code)


@cuda.jit
def set_codes(tails, start, heads, up, down, codes):
    """Give a code to each arc of the hierarchy that stands for two others. One thread per arc; see customize."""
    first = i32(thread_x())
    if first < len(heads):
        a = heads[first]
        a_start, a_end = start[a], start[a + 1]
        second, end = first + 1, start[tails[first] + 1]
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
            code = u64(u64(first + 1) << u64(32)) | u64(second)
            if to_b < NO_PATH and to_b == up[low]:
                cuda.atomic.min(codes.up, low, code)
            if to_a < NO_PATH and to_a == down[low]:
                cuda.atomic.min(codes.down, low, code)
            second += 1


@cuda.jit(**LAUNCH_BOUNDS)
def sum_arcs(heights, order, codes, values, sums):
    """Sum a value of the graph's arcs over what each arc of the hierarchy stands for, height by height."""
    grid = cuda.cg.this_grid()
    h = 0
    while h < len(heights) - 1:
        i = heights[h] + thread_x()
        while i < heights[h + 1]:
            arc = order[i]
            up, down = codes.up[arc], codes.down[arc]
            if up <= LOW:
                sums.up[arc] = values[up]
            elif up != NO_CODE:
                sums.up[arc] = sums.down[(up >> u64(32)) - u64(1)] + sums.up[up & LOW]
            if down <= LOW:
                sums.down[arc] = values[down]
            elif down != NO_CODE:
                sums.down[arc] = sums.down[down & LOW] + sums.up[(down >> u64(32)) - u64(1)]
            i += cuda.gridsize(1)
        grid.sync()
        h += 1


@cuda.jit
def measure_routes(sources, targets, arcs, up, down, places, hubs, lengths, found, hub_of, edges, segments):  # noqa: PLR0913
    """Find the distance, the hub, the number of edges and the number of segments of each route; -1 edges for none."""
    i = u64(thread_x())
    if i < u64(len(sources)):
        row, other = places.rows[sources[i]], places.rows[targets[i]]
        found[i], hub = find_hub(row, other, arcs.depths, places, hubs)
        hub_of[i], count, length = hub, i32(0), i32(-1 if hub < 0 else 0)
        if hub >= 0:
            while arcs.depths[row] > hub:
                arc = first_arc(row, hub, arcs, up, hubs.first, hubs.to)
                row, length, count = arcs.heads[arc], i32(length + i32(lengths.up[arc])), i32(count + 1)
            while arcs.depths[other] > hub:
                arc = first_arc(other, hub, arcs, down, hubs.first, hubs.back)
                other, length, count = arcs.heads[arc], i32(length + i32(lengths.down[arc])), i32(count + 1)
        edges[i], segments[i] = length, count


@cuda.jit
def list_segments(sources, targets, arcs, up, down, places, hubs, lengths, hub_of, bounds, segments, vertices):  # noqa: PLR0913
    """List the segments of each route, and write its first vertex."""
    i = u64(thread_x())
    if i < u64(len(sources)) and hub_of[i] >= 0:
        row, other, hub = places.rows[sources[i]], places.rows[targets[i]], hub_of[i]
        vertices[bounds.vertices[i]] = sources[i]
        edge, at = bounds.edges[i], bounds.segments[i]
        while arcs.depths[row] > hub:
            arc = first_arc(row, hub, arcs, up, hubs.first, hubs.to)
            segments.arcs[at], segments.edges[at], segments.routes[at] = u32(2 * arc), edge, i
            edge += lengths.up[arc]
            row = arcs.heads[arc]
            at += 1
        edge, at = bounds.edges[i + u64(1)], bounds.segments[i + u64(1)]
        while arcs.depths[other] > hub:
            arc = first_arc(other, hub, arcs, down, hubs.first, hubs.back)
            edge -= lengths.down[arc]
            at -= 1
            segments.arcs[at], segments.edges[at], segments.routes[at] = u32(2 * arc + 1), edge, i
            other = arcs.heads[arc]


@cuda.jit
def unpack(segments, codes, lengths, edge_of, heads, bounds, edges, vertices):
    """Write the edge at each position of all routes, and the vertex after it. One thread per position."""
    i = u64(u64(cuda.blockIdx.x) * u64(cuda.blockDim.x) + u64(cuda.threadIdx.x))
    if i < u64(len(edges)):
        low, high = u64(0), u64(len(segments.edges))
        while u64(high - low) > u64(1):
            middle = u64(u64(low + high) >> u64(1))
            if u64(segments.edges[middle]) <= i:
                low = middle
            else:
                high = middle
        offset = u32(i - u64(segments.edges[low]))
        arc, goes_down = u32(segments.arcs[low] >> u32(1)), segments.arcs[low] & u32(1) != 0
        code = codes.down[arc] if goes_down else codes.up[arc]
        while code > LOW:
            first, second = u32((code >> u64(32)) - u64(1)), u32(code & LOW)
            before, after = (second, first) if goes_down else (first, second)
            length = u32(lengths.down[before])
            goes_down = offset < length
            if goes_down:
                arc = before
            else:
                arc, offset = after, u32(offset - length)
            code = codes.down[arc] if goes_down else codes.up[arc]
        route = u64(segments.routes[low])
        edges[i] = edge_of[code]
        vertices[u64(u64(bounds.vertices[route]) + u64(1) + u64(i - u64(bounds.edges[route])))] = heads[code]


class Bounds(NamedTuple):
    """Where each route starts in all routes' edges, segments and vertices, and the ends: int64, (p + 1,)."""

    edges: np.ndarray
    segments: np.ndarray
    vertices: np.ndarray


class HubSearch:
    """Searches between pairs, in the hierarchy that `on_card` holds.

    Raises NotEnoughMemory: the hub distances take 8 bytes for each vertex and ancestor (373 MB for nyc).
    """

    def __init__(self, on_card: OnCard):
        self.on_card, run, fragments = on_card, on_card.run, on_card.fragments
        self.run = run
        n, depths = on_card.graph.vertices, fragments.depths
        self.arcs = ArcsOnCard(on_card.start, on_card.heads, on_card.tree.depths)
        self.size = (depths.astype(np.int64) // ALIGNED + 1) * ALIGNED
        first, self.entries = starts(self.size)[:-1], int(self.size.sum())
        run.require(8 * self.entries + 64 * n)
        levels = by_depth(fragments)
        first, least = run.upload(first, shallowest(depths[fragments.rows]))
        to, back = run.allocate((self.entries, np.uint32), (self.entries, np.uint32))
        self.hubs, self.places = Hubs(first, to, back), Places(on_card.vertex_rows, on_card.tree.numbers, least)
        self.by_depth = run.upload(levels.start, levels.order)
        self._go((fill_hubs, run.multiprocessors, run.block, (*self.by_depth, *self._weights, self.hubs)))

    @property
    def _weights(self) -> tuple:
        return self.arcs, self.on_card.up, self.on_card.down

    def _go(self, *launches: tuple) -> None:
        self.run.prepare_async(*launches)()

    @cached_property
    def codes(self) -> Codes:
        """What each arc of the hierarchy stands for."""
        on, run, fragments = self.on_card, self.run, self.on_card.fragments
        order, arcs = cutting.triangles(fragments), len(fragments.heads)
        run.require(16 * arcs + 12 * on.graph.arcs + 4 * arcs)
        codes = Codes(*run.upload(*(np.full(max(1, arcs), NO_CODE) for _ in Codes._fields)))
        by_edge, tails = run.upload(arcs_by_edge(on.graph), order.tails)
        own = by_edge, on.places, on.weights, on.up, on.down, codes
        both = tails, on.start, on.heads, on.up, on.down, codes
        self._go(
            (set_own_codes, blocks_for(max(1, on.graph.arcs), run.block), run.block, own),
            (set_codes, blocks_for(max(1, arcs), run.block), run.block, both),
        )
        return codes

    def sums(self, values: np.ndarray) -> Sums:
        """Return the sums of a value of the graph's arcs, (m,), over the hierarchy's arcs."""
        run, order = self.run, cutting.triangles(self.on_card.fragments)
        arcs = max(1, len(order.tails))
        run.require(2 * arcs * values.itemsize + values.nbytes + 12 * arcs)
        sums = Sums(*run.upload(*(np.zeros(arcs, values.dtype) for _ in Sums._fields)))
        heights, ordered, on_card = run.upload(order.start, order.arcs, values[arcs_by_edge(self.on_card.graph)])
        self._go((sum_arcs, run.multiprocessors, run.block, (heights, ordered, self.codes, on_card, sums)))
        return sums

    @cached_property
    def lengths(self) -> Sums:
        """The number of the graph's arcs that each arc of the hierarchy stands for."""
        return self.sums(np.ones(self.on_card.graph.arcs, np.int32))

    def second(self, values: np.ndarray) -> tuple:
        """Return the sums of a second value along the paths of the hub distances, float64. values: float64, (m,)."""
        run, sums = self.run, self.sums(values)
        run.require(16 * self.entries)
        along = run.allocate((self.entries, np.float64), (self.entries, np.float64))
        arguments = *self.by_depth, *self._weights, self.hubs, sums, *along
        self._go((fill_seconds, run.multiprocessors, run.block, arguments))
        return tuple(along)

    def pairs(  # noqa: PLR0913
        self,
        ends: list,
        scale: Scale,
        none: np.ndarray,
        out: Any,
        *,
        width: int = 0,
        most: int = INF - 1,
        second: tuple = (),
        hosts: tuple = (),
        downloads: copies.Downloads | None = None,
    ) -> tuple[bool, bool, Any]:
        """Set `out`, on the card, to the distances of pairs; see search_pairs. ends: sources and targets, on the card.

        hosts: arrays on the host for the distances and the sums, if they are to be copied there. With `downloads`, the
        card searches further pairs during the copies.

        Returns whether a pair has no path, whether an end is not a vertex, and the sums of the second value on the
        card, float64.
        """
        run, noted, (sources, targets) = self.run, np.zeros(2, np.int32), ends
        numbers, none, seen, nothing = run.upload(np.array(scale), none, noted, NO_SECONDS)
        (sums,) = run.allocate((out.size, np.float64)) if second else (nothing,)

        def search(sources: Any, targets: Any, out: Any, sums: Any = nothing) -> None:
            given = sources, targets, np.uint32(width), np.uint32(most), self.arcs.depths, self.places, self.hubs
            into = numbers, none, out, seen, *(second or (nothing, nothing)), sums
            self._go((search_pairs, blocks_for(max(1, out.size), 256), 256, (*given, *into)))

        def pieces() -> Iterator[tuple]:
            """Search some pairs at once, and yield what is copied of the pairs that were searched before."""
            launched: list[tuple] = []
            wide = max(1, width)
            step = max(1, PIECE_BUFFERS * copies.BUFFER // (8 * wide))
            for first in range(0, sources.size, step):
                rows, places = slice(first, first + step), slice(first * wide, (first + step) * wide)
                parts = [array[places] for array in (out, sums)[: len(hosts)]]
                search(sources[rows], targets if width else targets[rows], *parts)
                event = copies.recorded()
                yield from launched
                launched = [(part, host[places], event) for part, host in zip(parts, hosts, strict=True)]
            yield from launched

        if downloads:
            downloads.copy_in_turn(pieces())
            run.download((seen, noted))
        else:
            search(sources, targets, out, sums)
            run.download(*zip((out, sums), hosts, strict=False), (seen, noted))
        return bool(noted[0]), bool(noted[1]), sums

    def routes(self, sources: np.ndarray, targets: np.ndarray, second: tuple = ()) -> FoundRoutes:
        """Find the route of each pair. sources, targets: int32, on the host. second: what `second` returned."""
        run, graph, count = self.run, self.on_card.graph, len(sources)
        run.require(32 * count)
        ends = run.upload(sources, targets)
        found, hub_of, edges, segments = run.allocate((count, np.uint32), *[(count, np.int32)] * 3)
        common = *ends, *self._weights, self.places, self.hubs, self.lengths
        blocks = blocks_for(max(1, count), 256)
        self._go((measure_routes, blocks, 256, (*common, found, hub_of, edges, segments)))
        lengths, counts = np.zeros(count, np.int32), np.zeros(count, np.int32)
        run.download((edges, lengths), (segments, counts))
        edge_start, segment_start = starts(np.maximum(lengths, 0)), starts(counts)
        vertex_start = starts(lengths + 1)
        total, pieces = int(edge_start[-1]), int(segment_start[-1])
        run.require(16 * pieces + 4 * total + 4 * int(vertex_start[-1]) + 24 * count + 8 * graph.arcs)
        bounds = Bounds(*run.upload(edge_start, segment_start, vertex_start))
        listed = Segments(*run.allocate((pieces, np.uint32), (pieces, np.int64), (pieces, np.int32)))
        edges, vertices = run.allocate((total, np.int32), (int(vertex_start[-1]), np.int32))
        by_edge = arcs_by_edge(graph)
        edge_of, heads = run.upload(graph.edges[by_edge], graph.indices[by_edge])
        self._go((list_segments, blocks, 256, (*common, hub_of, bounds, listed, vertices)))
        arguments = listed, self.codes, self.lengths, edge_of, heads, bounds, edges, vertices
        self._go((unpack, blocks_for(max(1, total), 256), 256, arguments))
        sums = run.upload(NO_SECONDS)[0]
        if second:
            (distances,) = run.allocate((count, np.float64))
            _, _, sums = self.pairs(ends, Scale(1.0, 1.0), np.full(1, np.inf), distances, second=second)
        return FoundRoutes(found, edges, edge_start, vertices, vertex_start, sums)
