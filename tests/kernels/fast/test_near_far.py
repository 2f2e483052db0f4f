"""One source by Near-Far: the layout, several blocks, full queues, weights of 0, hubs, the largest distances."""

from collections import Counter

import numpy as np
import pytest

from kernels.check import check
from kernels.fast import near_far, near_far_kernels, near_far_layout
from kernels.graph import MAX_WEIGHT, Graph
from kernels.run import Result, Run
from tests.support.simulator import blocks_at_once

POISON = np.uint64(2**64 - 1)
pytestmark = [pytest.mark.simulator, pytest.mark.usefixtures("narrow_rows")]


def graph(weights, vertices: int = 23, arcs: int = 60, *, directed: bool = True) -> Graph:
    """Random: parallel arcs, a self-loop, sinks, a vertex with more arcs than a row, two without any."""
    rng = np.random.default_rng(8)
    tails, heads = rng.integers(0, 2 * vertices // 3, arcs), rng.integers(0, vertices - 2, arcs)
    tails[:2], heads[:2] = 3, 5
    tails[2] = heads[2] = 4
    tails[3:21] = 2
    weights = rng.choice(weights, arcs)
    if not directed:
        tails, heads, weights = np.r_[tails, heads], np.r_[heads, tails], np.r_[weights, weights]
    return Graph.from_arcs(vertices, tails, heads, weights, directed=directed)


def chain(weights, vertices: int | None = None) -> Graph:
    u = np.arange(len(weights))
    return Graph.from_arcs(vertices or len(weights) + 1, u, u + 1, weights)


def solve(on: Graph, **settings) -> Result:
    result, run = Result.poisoned("sssp", on.vertices), Run(**{"block": 5, **settings})
    near_far.sssp(on, result, run)
    assert check(on, "sssp", result, run.source, full_check=on.vertices, checked_rows=1) == 1
    return result


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weights", [range(1, 30), [0, 1, 2], [0]], ids=["positive", "some 0", "all 0"])
def test_right_from_several_sources(weights, directed):
    on = graph(list(weights), directed=directed)
    for source in (0, 2, on.vertices - 1):
        solve(on, source=source)


@pytest.mark.parametrize("delta", [1, 7, 1000, MAX_WEIGHT, 2**40])
def test_any_delta_gives_the_same(delta):
    solve(graph(range(1, 30)), delta=delta)
    solve(chain([MAX_WEIGHT - 1, 1, 0], vertices=5), delta=delta)


@pytest.mark.parametrize("delta", [3, 1000])
@pytest.mark.parametrize("capacity", [1, 4])
def test_queues_with_few_entries(capacity, delta, monkeypatch):
    monkeypatch.setattr(near_far, "MIN_QUEUE", capacity)
    solve(graph(range(1, 30)), shared=0, delta=delta)


@pytest.mark.parametrize("crowded", [0, 2, 512])
@pytest.mark.parametrize("blocks, capacity", [(2, 1), (3, 4), (5, 64)])
def test_several_blocks(blocks, capacity, crowded, monkeypatch):
    monkeypatch.setattr(near_far, "MIN_QUEUE", capacity)
    monkeypatch.setattr(near_far_kernels, "CROWDED", crowded)
    with blocks_at_once():
        solve(graph(range(1, 30)), shared=0, delta=3, grid=blocks)
        solve(graph([0, 1, 2]), shared=0, grid=blocks)


def funnel(hub: int = 100) -> Graph:
    """A hub whose distance every second vertex of a path lowers, each time with those of 16 far vertices."""
    arcs = [(t, t + 1, 1) for t in range(hub - 1)] + [(t, hub, 3 * (hub - t)) for t in range(0, hub, 2)]
    arcs += [(hub, hub + 1 + j, 1) for j in range(4)]
    arcs += [(hub + 1 + j, hub + 5 + 4 * j + k, 5000) for j in range(4) for k in range(4)]
    return Graph.from_arcs(hub + 21, *np.array(arcs).T)


@pytest.mark.parametrize("blocks", [1, 3])
def test_a_part_of_far_never_has_more_than_its_capacity(blocks):
    on, settings = funnel(), {"block": 4, "shared": 0, "delta": 1000, "grid": blocks}
    capacity, _ = near_far.far_capacity(on, near_far_layout.plain_layout(on), blocks, 4, near_far.MIN_QUEUE)
    assert capacity < 100 // 2 * 16, "as many are added to far in all"
    used = []

    class Noting(Run):
        def allocate(self, *arrays):
            found = super().allocate(*arrays)
            if len(found) == 4:
                used.append(found[2])
                found[2][:] = POISON
            return found

    result = Result.poisoned("sssp", on.vertices)
    with blocks_at_once():
        near_far.sssp(on, result, Noting(**settings))
    assert check(on, "sssp", result, 0, full_check=on.vertices, checked_rows=1) == 1
    written = (used[0].copy_to_host() != POISON).reshape(2, blocks, capacity)
    assert written.any() and not written[..., -1].any()


@pytest.mark.parametrize(
    ("on", "blocks", "threads", "capacity", "limit"),
    [  # with a queue of 64: two rounds of each arc, twice, and the queue, twice; a share; two for each block
        (chain([1] * 9), 1, 1, 20 + 2 * (2 * 1 + 64) + 10 + 2, 20),
        (chain([1] * 9), 3, 8, 8 + 2 * (2 * 2 + 64) + 4 + 6, 8),
        # a row of 127 arcs and three rows of its fan, of 304 rows that may be enqueued
        (Graph.from_arcs(301, [0] * 300, range(1, 301), [1] * 300), 1, 4, 608 + 2 * (2 * 130 + 64) + 304 + 2, 608),
        (Graph.from_arcs(301, [0] * 300, range(1, 301), [1] * 300), 2, 8, 304 + 2 * (2 * 257 + 64) + 152 + 4, 304),
    ],
    ids=["a row", "three blocks", "a hub", "two rows"],
)
def test_a_part_of_far_has_room_for_all_that_a_block_may_add(on, blocks, threads, capacity, limit):
    assert near_far.far_capacity(on, near_far_layout.plain_layout(on), blocks, threads, 64) == (capacity, limit)


@pytest.mark.parametrize("direct", [1, 4, 124])
def test_a_hub_whose_free_arcs_lie_behind_links(direct, monkeypatch):
    monkeypatch.setattr(near_far_layout, "DIRECT", direct)
    heads = np.arange(1, 19)
    solve(Graph.from_arcs(19, np.zeros(18, int), heads, heads % 2))


@pytest.mark.parametrize(
    "arcs",
    [
        [(v + 1, v) for v in range(22)],  # a path to vertex 0, against the order of the vertices
        [(22, v) for v in range(22)],  # a star: its hub's arcs lie in a tree of rows
        [(v, v ^ bit) for v in range(23) for bit in (1, 2, 4, 8, 16) if v ^ bit < 23],  # circles everywhere
        [(22, v) for v in range(12)] + [(11, v) for v in range(12, 22)] + [(v, 11) for v in range(22)],
    ],
    ids=["path", "star", "circles", "two hubs"],
)
@pytest.mark.parametrize("block", [1, 5])
def test_each_arc_is_looked_at_no_more_than_twice_for_its_weight_of_0(arcs, block, monkeypatch):
    monkeypatch.setattr(near_far_layout, "DIRECT", 4)
    look, looks = near_far_kernels.take_zero_arc, []
    monkeypatch.setattr(
        near_far_kernels, "take_zero_arc", lambda arc, *rest: looks.append(int(arc)) or look(arc, *rest)
    )
    on = Graph.from_arcs(23, *np.array([(*arc, 0) for arc in arcs]).T)
    result = solve(on, source=22, block=block)
    assert (result.predecessors >= 0).sum() == 22
    looks = Counter(look for look in looks if look < on.vertices)
    assert looks.keys() <= set(on.indices.tolist()) and looks >= Counter(on.indices.tolist())
    assert all(looks[v] <= 2 * count for v, count in Counter(on.indices.tolist()).items())


@pytest.mark.parametrize(
    ("degrees", "width"),
    [
        ([4] * 511 + [5], 4),  # one in 512 has more arcs
        ([4] * 510 + [5, 5], 8),
        ([6] * 100, 8),
        ([12] * 100, 16),
        ([12] * 63 + [20] * 9, 16),  # one in eight has more arcs
        ([12] * 62 + [20] * 10, 32),
        ([8] * 84 + [40] * 16, 32),
        ([8] * 80 + [40] * 20, 4),
    ],
)
def test_rows_are_as_wide_as_makes_links_rare(degrees, width, monkeypatch):
    monkeypatch.setattr(near_far_layout, "WIDTHS", (4, 8, 16, 32))
    assert near_far_layout.width_for(np.array(degrees, np.int32)) == width


@pytest.mark.parametrize("width", [8, 32])
@pytest.mark.parametrize("weights", [range(1, 30), [0, 1, 2]], ids=["positive", "some 0"])
def test_wide_rows(weights, width, monkeypatch):
    monkeypatch.setattr(near_far_layout, "WIDTHS", (width,))
    monkeypatch.setattr(near_far_layout, "DIRECT", 4)
    solve(graph(list(weights)), block=40)
    solve(chain([5] * 5 + [0]), block=1)


def test_a_graph_has_hubs_if_few_vertices_have_half_of_the_arcs_that_lead_to_them(monkeypatch):
    monkeypatch.setattr(near_far_layout, "LARGE", 32)
    star = Graph.from_arcs(32, range(1, 32), np.zeros(31, int), [1] * 31)
    assert near_far_layout.order_by_degree(star).tolist() == list(range(32))
    assert near_far_layout.order_by_degree(chain([1] * 31)).size == 0
    both = Graph.from_arcs(32, [3] * 9 + [5] * 8, [4, 5] * 8 + [5], [1] * 17, directed=False)
    assert near_far_layout.order_by_degree(both)[:2].tolist() == [3, 5]  # by out-degree, which is the same
    monkeypatch.setattr(near_far_layout, "LARGE", 33)
    assert near_far_layout.order_by_degree(star).size == 0


@pytest.mark.parametrize("weights", [range(1, 30), [0, 1, 2]], ids=["positive", "some 0"])
def test_vertices_numbered_by_degree(weights, by_degree):
    on = graph(list(weights))
    assert near_far_layout.search_layout(on).order.size == on.vertices
    for source in (0, 2, on.vertices - 1):
        solve(on, source=source)


@pytest.mark.usefixtures("by_degree")
def test_results_by_degree_are_the_callers():
    searches = near_far.NearFarSearch(graph(range(1, 30)), Run(block=5))
    searches.allocate()
    found = {}
    for source in (3, 0):
        for launch in searches.search(source):
            launch()
        found[source] = searches.give()
        assert not searches.is_too_long()
    for source, arrays in found.items():
        expected = solve(searches.graph, source=source)
        assert arrays[0].copy_to_host().tolist() == expected.distances.tolist()


def windows(on: Graph, monkeypatch, **settings) -> list[tuple]:
    """Return (delta, threshold) after each meeting of a search."""
    found, of = [], near_far_kernels.next_window
    monkeypatch.setattr(near_far_kernels, "next_window", lambda *given: found.append(of(*given)) or found[-1])
    solve(on, block=1, **settings)
    return [(int(delta), int(threshold)) for delta, threshold, _ in found[::4]]  # the same for each of the four threads


def test_delta_is_doubled_if_meetings_come_after_few_rounds(monkeypatch):
    few = windows(chain([10] * 22), monkeypatch, delta=10)
    assert [delta for delta, _ in few][:4] == [20, 40, 80, 160]
    monkeypatch.setattr(near_far_kernels, "FEW_ROUNDS", 2)
    assert [delta for delta, _ in windows(chain([10] * 22), monkeypatch, delta=30)][:3] == [30, 30, 30]


def test_delta_is_narrowed_if_crowded_blocks_do_work_twice(monkeypatch):
    monkeypatch.setattr(near_far_kernels, "CROWDED", 2)
    monkeypatch.setattr(near_far_kernels, "SAMPLE", np.uint32(1))
    again = windows(funnel(), monkeypatch, delta=1000)
    assert min(delta for delta, _ in again) < 250
    monkeypatch.setattr(near_far_kernels, "MUCH_REPEATED", np.uint32(0))
    assert min(delta for delta, _ in windows(funnel(), monkeypatch, delta=1000)) == 1000


def test_a_block_that_often_does_work_twice_calls_a_meeting(monkeypatch):
    monkeypatch.setattr(near_far_kernels, "SAMPLE", np.uint32(1))
    monkeypatch.setattr(near_far_kernels, "ENOUGH", np.uint32(3))
    often = windows(funnel(), monkeypatch, delta=1000)
    monkeypatch.setattr(near_far_kernels, "TOO_MUCH_REPEATED", np.uint32(0))
    assert len(often) > len(windows(funnel(), monkeypatch, delta=1000))


def test_a_meeting_is_called_if_most_blocks_have_no_entries(monkeypatch):
    on = chain([1] * 40)
    assert len(windows(on, monkeypatch, delta=1000)) == 0  # the search ends at its first meeting
    others = {near_far_kernels.ARRIVED: 1}  # as if another block waited
    read = near_far_kernels.load_fresh
    monkeypatch.setattr(near_far_kernels, "load_fresh", lambda words, at: read(words, at) + others.get(at, 0))
    uneven = windows(on, monkeypatch, delta=10)
    assert all(delta == 10 for delta, _ in uneven)
    thresholds = [threshold for _, threshold in uneven]
    assert thresholds[:2] == [20, 30]  # raised although near entries are left
    monkeypatch.setattr(near_far_kernels, "PATIENCE", np.uint32(4))
    assert len(windows(on, monkeypatch, delta=10)) > len(uneven)


def test_the_next_window():
    def after(least, patience=8, *, uneven=0, busy=132, parts=132):
        words = np.zeros(near_far_kernels.LENGTHS, np.uint32)
        words[near_far_kernels.UNEVEN + 1], words[near_far_kernels.BUSY] = 4 * uneven, busy
        words[near_far_kernels.LONG + 1] = 4
        meeting, threshold, delta = 3, 1000, 100
        return tuple(
            int(number)
            for number in near_far_kernels.next_window(least, threshold, delta, patience, meeting, parts, words)
        )

    assert after(990, uneven=1) == (100, 1100, 8)
    assert after(300, uneven=1) == (100, 1100, 8)
    assert after(200, uneven=1) == (100, 1000, 8)  # already 8 times delta above the least distance
    assert after(990) == (100, 1000, 8)
    assert after(1234) == (100, 1300, 8)
    assert [after(1234, patience, busy=8)[2] for patience in (8, 64, 128)] == [16, 128, 128]
    assert after(1234, 128, busy=9)[2] == 8


@pytest.mark.parametrize(("weights", "too_long"), [([4, 4, 4], False), ([1, MAX_WEIGHT, 1], True)])
def test_whether_a_distance_is_too_long_when_the_first_vertex_is_not_reached(weights, too_long):
    searches = near_far.NearFarSearch(chain(weights), Run(block=4))
    searches.allocate()
    for source, expected in ((1, too_long), (2, False)):
        for launch in searches.search(source):
            launch()
        assert searches.is_too_long() == expected


def test_delta_follows_mean_weight_and_degree():
    assert near_far.default_window(Graph.from_arcs(2, [0] * 12, [1] * 12, [72] * 12)) == 2 * near_far.DELTA
    assert near_far.default_window(chain([1, 2, 3])) == 2 * near_far.DELTA * 4**4 // 3**3
    assert near_far.default_window(chain([30] * 3, vertices=300)) == 30 * near_far.DELTA * 4 * 100**3
    assert near_far.default_window(Graph.from_arcs(2, [0] * 99, [1] * 99, [1] * 99)) == 1
    assert near_far.default_window(chain([0, 0])) == 1
    assert near_far.default_window(chain([], vertices=1)) == 1


@pytest.mark.parametrize("direct", [1, 4, 124])
@pytest.mark.parametrize("degree", [0, 1, 3, 4, 5, 7, 8, 16, 17, 70, 127, 128])
def test_the_layout_has_every_arc_of_a_hub_once(degree, direct, monkeypatch):
    monkeypatch.setattr(near_far_layout, "DIRECT", direct)
    heads = np.random.default_rng(degree).permutation(degree) + 3
    tails = np.r_[np.full(degree, 1), 0, 2, np.full(degree, 2)]
    on = Graph.from_arcs(degree + 4, tails, np.r_[heads, 1, 1, heads], np.arange(len(tails)) + 1)
    arcs = near_far.lay_out(on, near_far_layout.plain_layout(on), Run(block=64)).arcs.copy_to_host()
    slots = [
        arc for arc in arcs.tolist() if arc != int(near_far_kernels.NO_ARC) and not arc & int(near_far_layout.LINK)
    ]
    found = [(slot & 2**32 - 1, slot >> 32) for slot in slots]
    assert sorted(found) == sorted(zip(on.indices.tolist(), on.weights.tolist(), strict=True))
    for source in (0, 2):
        solve(on, source=source, block=4)


@pytest.mark.parametrize("threads", [32, 512, 1024])
@pytest.mark.parametrize("bits", [2, 3, 4, 5])
def test_the_rows_of_a_round_are_spread_over_the_warps(bits, threads, monkeypatch):
    """On a card; the simulator's warps have one thread."""
    monkeypatch.setattr(near_far_kernels, "SIMULATED", False)
    monkeypatch.setattr(near_far_kernels, "LANES", 32)
    row_of = getattr(near_far_kernels.row_in_round, "py_func", near_far_kernels.row_in_round)
    rows = np.array([row_of(thread, threads, bits) for thread in range(threads)]).reshape(-1, 2**bits)
    assert (rows == rows[:, :1]).all() and sorted(rows[:, 0]) == list(range(threads >> bits))
    warps = np.argsort(rows[:, 0]) * 2**bits // 32  # by row
    assert (warps == np.arange(threads >> bits) % (threads // 32)).all()
