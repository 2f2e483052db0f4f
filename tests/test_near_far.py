"""One source by Near-Far: the layout, full queues, a full far list, weights of 0, hubs, the largest distances."""

import numpy as np
import pytest

from kernels.check import check
from kernels.fast import near_far
from kernels.graph import INF, MAX_WEIGHT, Graph
from kernels.run import Result, Run

pytestmark = pytest.mark.simulator


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


@pytest.mark.parametrize("delta", [3, 1000])
@pytest.mark.parametrize("capacity", [1, 3])
def test_queues_with_few_places(capacity, delta, monkeypatch):
    monkeypatch.setattr(near_far, "MIN_BLOCK_QUEUE", capacity)
    solve(graph(range(1, 30)), shared=0, delta=delta)


@pytest.mark.parametrize("few", [0, 1, 3])
@pytest.mark.parametrize("long", [0, 4])
@pytest.mark.parametrize("capacity, grid_capacity", [(1, 4), (3, 8), (64, 64)])
def test_all_blocks_and_one_take_turns(capacity, grid_capacity, long, few, monkeypatch):
    for name, value in {
        "MIN_BLOCK_QUEUE": capacity,
        "MAX_GRID_QUEUE": grid_capacity,
        "LONG_FAR": long,
        "FEW_NEAR": few,
    }.items():
        monkeypatch.setattr(near_far, name, value)
    solve(graph(range(1, 30)), shared=0, delta=3)
    solve(graph([0, 1, 2]), shared=0)


def test_far_is_split_before_it_overflows(monkeypatch):
    # Each vertex of a path lowers three far ones: 90 entries while the path is near, and far has 2 (33 + 8) places.
    for name, value in {"MIN_BLOCK_QUEUE": 1, "MAX_GRID_QUEUE": 1}.items():
        monkeypatch.setattr(near_far, name, value)
    arcs = [(u, u + 1, 1) for u in range(29)] + [(u, v, 1000 - 10 * u) for u in range(30) for v in (30, 31, 32)]
    on = Graph.from_arcs(33, *np.array(arcs).T)
    assert len(near_far.layout(on).owners) == 33
    solve(on, delta=100, shared=0)


def test_far_is_split_where_one_block_and_all_find_it_full_by_turns(monkeypatch):
    """A hub is lowered again by every other vertex of a path, and each time lowers 16 far ones."""
    for name, value in {"MIN_BLOCK_QUEUE": 8, "MAX_GRID_QUEUE": 8, "LONG_FAR": 0, "FEW_NEAR": 8}.items():
        monkeypatch.setattr(near_far, name, value)
    hub = 40
    arcs = [(t, t + 1, 1) for t in range(hub - 1)] + [(t, hub, 3 * (hub - t)) for t in range(0, hub, 2)]
    arcs += [(hub, hub + 1 + j, 1) for j in range(4)]
    arcs += [(hub + 1 + j, hub + 5 + 4 * j + k, 5000) for j in range(4) for k in range(4)]
    solve(Graph.from_arcs(hub + 21, *np.array(arcs).T), block=1, shared=0, delta=1000)


def far_of(on: Graph) -> np.ndarray:
    """The entries of far, where one block has searched from vertex 0 with a delta of 5: its two halves, (2, m)."""
    source, poison = np.uint32(0), 2**64 - 1
    arcs, owners = near_far.layout(on)
    dist, far = np.full(len(owners), INF, np.int32), np.full(2 * (len(owners) + 8 * 64), poison, np.uint64)
    dist[source] = 0
    words, numbers = np.zeros(near_far.ENTRIES + 4 * 64, np.uint32), np.array([0, 5, 64, 64], np.uint32)
    near_far.search[1, 5, 0, words.nbytes](*numbers, arcs, dist, far, words)
    return np.ma.masked_equal(far, poison).reshape(2, -1)


def test_only_what_was_lowered_is_added_to_far():
    entries = far_of(graph(range(1, 30))).compressed()
    assert len(entries) and (entries >> np.uint64(32)).max() < INF


def test_of_two_equal_ways_one_is_added_to_far():
    first_half, _ = far_of(Graph.from_arcs(4, [0, 0, 1, 2], [1, 2, 3, 3], [1, 1, 9, 9]))
    assert first_half.compressed().tolist() == [10 << 32 | 3]


@pytest.mark.parametrize("block", [1, 2, 7])
def test_any_number_of_threads(block):
    solve(graph(range(1, 30)), block=block)


def test_predecessors_do_not_run_in_a_circle_of_free_arcs():
    on = Graph.from_arcs(5, [0, 1, 2, 3, 2, 1], [1, 2, 3, 1, 1, 0], [7, 0, 0, 0, 0, 0])
    assert solve(on).predecessors.tolist() == [-1, 0, 1, 2, -1]
    on = Graph.from_arcs(3, [0, 1, 2, 1], [1, 2, 1, 0], [0, 0, 0, 0])
    assert solve(on).predecessors.tolist() == [-1, 0, 1]


def test_a_hub_whose_free_arcs_lie_in_its_tree():
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
def test_each_row_is_looked_at_no_more_than_twice_for_its_free_arcs(arcs, block, monkeypatch):
    look, looks = near_far.take_zero_arcs, []
    monkeypatch.setattr(near_far, "take_zero_arcs", lambda row, *rest: looks.append(int(row)) or look(row, *rest))
    on = Graph.from_arcs(23, *np.array([(*arc, 0) for arc in arcs]).T)
    result = solve(on, source=22, block=block)
    assert (result.predecessors >= 0).sum() == 22
    rows = len(near_far.layout(on).owners)
    assert rows - 1 <= len(looks) <= 2 * rows and set(looks) == set(range(rows))


@pytest.mark.parametrize("free", [0, 1])
@pytest.mark.parametrize("delta", [1, None])
def test_distances_up_to_the_largest(free, delta):
    on = chain([MAX_WEIGHT - 1, 1, free], vertices=5)
    result = Result.poisoned("sssp", 5)
    near_far.sssp(on, result, Run(block=4, delta=delta))
    assert result.distances.tolist() == [0, MAX_WEIGHT - 1, MAX_WEIGHT, INF if free else MAX_WEIGHT, INF]
    assert result.predecessors.tolist() == [-1, 0, 1, -1 if free else 2, -1]


def test_what_is_one_too_far_has_no_predecessor():
    on = chain([MAX_WEIGHT, 1])
    result = Result.poisoned("sssp", 3)
    near_far.sssp(on, result, Run(block=4))
    assert result.distances.tolist() == [0, MAX_WEIGHT, INF]
    assert result.predecessors.tolist() == [-1, 0, -1]


def test_an_unreached_first_vertex_is_nobodys():
    assert solve(chain([4, 4]), source=1).predecessors.tolist() == [-1, -1, 1]


def test_without_any_arc():
    assert solve(chain([], vertices=3), source=1).distances.tolist() == [INF, 0, INF]


def test_delta_is_a_multiple_of_the_mean_weight():
    assert near_far.default_delta(chain([1, 2, 3])) == 2 * near_far.DELTA
    assert near_far.default_delta(chain([0, 0])) == 1
    assert near_far.default_delta(chain([], vertices=1)) == 1


@pytest.mark.parametrize("degree", [0, 1, 4, 5, 16, 17, 70])
def test_the_layout_has_every_arc_once_in_its_tails_tree(degree):
    rng = np.random.default_rng(degree)
    tails = np.r_[np.full(degree, 1), 0, 2]
    on = Graph.from_arcs(4, tails, rng.integers(0, 4, degree + 2), rng.integers(1, 9, degree + 2))
    parts = near_far.layout(on)
    rows = len(parts.owners)
    assert parts.owners[:4].tolist() == [0, 1, 2, 3]
    heads, weights = parts.arcs & np.uint64(0xFFFFFFFF), parts.arcs >> np.uint64(32)
    row = np.repeat(np.arange(rows), near_far.DEGREE)
    real = (heads < 4) & (weights != INF)
    arcs = zip(parts.owners[row[real]].tolist(), heads[real].tolist(), weights[real].tolist(), strict=True)
    assert sorted(arcs) == sorted(zip(*(a.tolist() for a in (on.tails, on.indices, on.weights)), strict=True))
    # The others lead to each further row once, from a row of the same vertex.
    links = heads >= 4
    assert sorted(heads[links].tolist()) == list(range(4, rows))
    assert not weights[links].any()
    assert parts.owners[row[links]].tolist() == parts.owners[heads[links]].tolist()
