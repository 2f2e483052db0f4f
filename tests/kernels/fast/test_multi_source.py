"""All pairs, eight sources a block: 16, 32 and 64 bits, shared and global memory, sinks, loops, parallel arcs."""

import numpy as np
import pytest

from kernels.check import check
from kernels.fast import multi_source
from kernels.graph import Graph
from kernels.run import Result, Run

pytestmark = pytest.mark.simulator


def graph(weights, vertices: int = 19, arcs: int = 34) -> Graph:
    """Random: parallel arcs, a self-loop, sinks, two vertices without any arc, more sources than a block takes."""
    rng = np.random.default_rng(6)
    tails, heads = rng.integers(0, 2 * vertices // 3, arcs), rng.integers(0, vertices - 2, arcs)
    tails[:2], heads[:2] = 3, 5
    tails[2] = heads[2] = 4
    return Graph.from_arcs(vertices, tails, heads, rng.choice(weights, arcs))


def solve(on: Graph, **settings) -> Result:
    result, run = Result.poisoned("apsp", on.vertices), Run(block=6, **settings)
    multi_source.apsp(on, result, run)
    assert check(on, "apsp", result, 0, full_check=on.vertices, checked_rows=1) == on.vertices
    assert run.launches == multi_source.launches(on.vertices, 32)
    return result


@pytest.mark.parametrize("limit", [0, 1 << 11], ids=["global", "shared"])
@pytest.mark.parametrize(
    "weights", [range(1, 30), [40_000, 9], [0, 1, 2], [0]], ids=["16 bits", "32 bits", "64 bits", "64 bits, all 0"]
)
def test_right_in_every_width_wherever_the_work_is_kept(weights, limit):
    solve(graph(list(weights)), shared=limit)


def test_small_distances_need_16_bits_only(monkeypatch):
    def not_needed(*_):
        raise AssertionError("a word a distance")

    monkeypatch.setattr(multi_source, "wide_results", lambda count_hops: not_needed)
    monkeypatch.setattr(
        multi_source, "search_from_all", multi_source.search_from_all.__wrapped__
    )  # not one made before
    solve(graph(range(1, 30)))


def test_sources_whose_distances_pass_16_bits_start_anew():
    length, weight = 10, 0x7000
    u = np.arange(length - 1)
    path = Graph.from_arcs(length + 1, u, u + 1, np.full(length - 1, weight))
    assert multi_source.no_path_in_16_bits(path) == 0xFFFF - weight
    assert solve(path, shared=1 << 10).distances[0, length - 1] == (length - 1) * weight


@pytest.mark.parametrize("last", [0, 1, 2])
def test_the_largest_distance_of_16_bits_and_those_just_above(last):
    weight = 0x3FFF  # no path is 0xC000; sums with a weight are safe below 0x8001
    lengths = [weight, weight, 2 + last, 1, 1]
    path = Graph.from_arcs(6, np.arange(5), np.arange(1, 6), lengths)
    assert solve(path).distances[0].tolist() == np.cumsum([0, *lengths]).tolist()


@pytest.mark.parametrize("first", [0, 1], ids=["upper half of a word", "lower half"])
def test_a_sum_that_is_the_number_of_no_path(first):
    weight = 0x3FFF
    lengths = [weight, weight, 3, weight]  # 0x8001, and then 0xC000
    u = np.r_[np.arange(first), first : first + 4]
    path = Graph.from_arcs(first + 5, u, [first + 4] * first + list(range(first + 1, first + 5)), [9] * first + lengths)
    assert solve(path).distances[first, first:].tolist() == np.cumsum([0, *lengths]).tolist()


@pytest.mark.parametrize(
    ("arcs", "no_path"), [([], 0), ([(0, 1, 0x7FFF)], 0x8000), ([(0, 1, 0x8000)], 0), ([(0, 1, 0), (1, 0, 5)], 0)]
)
def test_when_16_bits_are_tried(arcs, no_path):
    assert multi_source.no_path_in_16_bits(Graph.from_arcs(2, *np.array(arcs, int).reshape(-1, 3).T)) == no_path


def test_the_layout_has_every_cheapest_arc_once():
    on = graph(range(1, 30), vertices=150, arcs=400)
    parts, cheapest = multi_source.sliced_layout(on), on.cheapest()
    core = parts.core.tolist()
    assert len(core) > 2 * multi_source.SLICE and set(core) == set(cheapest.tails.tolist())
    heads = np.repeat(np.arange(on.vertices), np.diff(parts.in_indptr.astype(int)))
    arcs = sorted(zip(parts.core[parts.tails], heads, parts.weights, strict=True))
    assert arcs == sorted(zip(cheapest.tails, cheapest.indices, cheapest.weights, strict=True))
    sliced = (parts.slice_tails < len(core)).sum()
    assert sliced == np.isin(cheapest.indices, core).sum()
    solve(on)
