"""On a card: every GPU variant with its real blocks and tiles against SciPy, and how kernels are launched and timed."""

import csv
import gc
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csgraph

import kernels
from kernels import centrality
from kernels import csgraph as ours
from kernels.check import check
from kernels.errors import InputError, NotEnoughMemory
from kernels.fast import blocked_floyd_warshall as blocked
from kernels.fast import multi_source
from kernels.fast import staged_floyd_warshall as staged
from kernels.fast.floats import Float64Search, FloatGraph
from kernels.fast.hierarchy import elimination, host
from kernels.gpu import card, internals, launching
from kernels.gpu.compiler import cuda, int32
from kernels.gpu.launching import GRAPH_ITERATIONS, STEP
from kernels.graph import INF, Graph
from kernels.library import choice
from kernels.registry import VARIANTS
from kernels.run import PHASES, Result, Run
from tests.support import graphs, marks
from tests.support.cupy_page import BLOCKS, REFUSED
from tests.support.forks import forks, in_a_fork
from tests.support.graphs import near_far_with
from tests.support.trees import allows_zero_weights, assert_trees, lengths
from workflow.measure import measure

ROOT = Path(__file__).parents[2]
GPU = sorted((v for v in VARIANTS.values() if v.on_gpu), key=lambda v: v.problem)
FREE = [v for v in GPU if v.ours and allows_zero_weights(v)]
BLOCK_PER_SOURCE = [VARIANTS[k] for k in ("edge/sssp", "edge/apsp", "dijkstra/block_apsp", "delta_stepping/block_apsp")]
NEAR_FAR, MULTI_SOURCE = VARIANTS["delta_stepping/near_far"], VARIANTS["bellman_ford/multi_source_apsp"]
FREE_WEIGHT, HALF_FREE = np.zeros(1, int), np.arange(2)

# By name: a function that makes the graph, and its vertices for one source and for all pairs.
POSITIVE = {
    "one vertex": (graphs.bare, 1, 1),
    "one with a loop": (graphs.lone, 1, 1),
    "two": (graphs.path, 2, 2),
    "33": (graphs.sparse, 33, 33),
    "129": (graphs.sparse, 129, 129),
    "one more than a block": (graphs.sparse, 1025, 1025),
    "sparse": (graphs.sparse, 4000, 600),
    "dense": (graphs.dense, 500, 200),
    "hubs": (graphs.hubs, 2000, 500),
    "path": (graphs.path, 3000, 1025),
    "comb": (graphs.comb, 3000, 400),
    "grid": (graphs.grid, 3600, 529),
    "star": (graphs.star, 2000, 300),
    "funnel": (graphs.funnel, 2000, 400),
    "parallel": (graphs.parallel, 1025, 129),
    "without arcs": (graphs.bare, 1025, 40),
    "heavy": (graphs.heavy, 500, 60),
}
FREE_ARCS = {
    "path": (lambda n: graphs.path(n, FREE_WEIGHT), 4000, 400),
    "path, half free": (lambda n: graphs.path(n, HALF_FREE), 4000, 400),
    "star": (lambda n: graphs.star(n, FREE_WEIGHT), 4000, 300),
    "star, half free": (lambda n: graphs.star(n, HALF_FREE), 4000, 300),
    "grid": (lambda n: graphs.grid(n, FREE_WEIGHT), 3600, 400),
    "grid, half free": (lambda n: graphs.grid(n, HALF_FREE), 3600, 400),
    "cycles": (graphs.free_cycles, 4000, 300),
    "chain of hubs": (graphs.free_hubs, 4201, 400),
    "hubs, half free": (lambda n: graphs.hubs(n, HALF_FREE), 4000, 300),
    "sparse": (lambda n: graphs.sparse(n, np.arange(3)), 4000, 300),
    "parallel": (lambda n: graphs.parallel(n, HALF_FREE), 1025, 129),
    "two": (lambda n: graphs.path(n, FREE_WEIGHT), 2, 2),
}


def of(names, variants):
    """Return a case for each graph and variant, ordered by graph, so that SciPy solves each once."""
    return [pytest.param(name, variant, id=f"{name}-{variant.key}") for name in names for variant in variants]


@lru_cache(maxsize=4)
def graph(family: str, name: str, problem: str) -> Graph:
    make, *vertices = {"positive": POSITIVE, "free": FREE_ARCS}[family][name]
    return make(vertices[problem == "apsp"])


def solve(variant, on, **settings):
    """As graphs.solve; if a hierarchy does not fit the graph, check that it is refused."""
    if variant.algorithm == "hierarchy" and not is_fit(on):
        with pytest.raises(InputError, match="contraction hierarchy"):
            graphs.solve(variant, on, **settings)
        return []
    return graphs.solve(variant, on, **settings)


@lru_cache(maxsize=4)
def is_fit(on: Graph) -> bool:
    try:
        elimination.prepare_hierarchy(on)
    except InputError:
        return False
    return True


def by_key(variants):
    return pytest.mark.parametrize("variant", variants, ids=lambda v: v.key)


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "variant"), of(POSITIVE, GPU))
def test_every_variant_on_every_graph(name, variant):
    on = graph("positive", name, variant.problem)
    solve(variant, on)
    if variant.problem == "sssp":
        solve(variant, on, runs=1, source=on.vertices - 1)


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "variant"), of(FREE_ARCS, FREE))
def test_weights_of_zero(name, variant):
    on = graph("free", name, variant.problem)
    solve(variant, on, runs=4)
    if variant.problem == "sssp":
        solve(variant, on, source=on.vertices // 2)


@pytest.mark.gpu
@pytest.mark.parametrize("make", [graphs.path, graphs.funnel, graphs.hubs], ids=lambda make: make.__name__)
@by_key(GPU)
def test_again_and_again(variant, make):
    """Races often go well. With few blocks, each takes many sources, and its warps drift apart."""
    on = small(make)
    solve(variant, on, runs=12)
    solve(variant, on, runs=4, grid=8)


@lru_cache(maxsize=8)
def small(make):
    return make(257)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "shape",
    [{"block": 32, "tile": 8, "grid": 1}, {"block": 96, "tile": 16, "grid": 7}, {"block": 256, "grid": 1000}],
    ids=str,
)
@by_key(GPU)
def test_other_blocks_tiles_and_grids(variant, shape):
    if variant.key == "delta_stepping/near_far":  # its blocks wait for each other, so the card must take all at once
        shape = shape | {"grid": min(shape["grid"], Run().multiprocessors)}
    solve(variant, small(graphs.sparse), **shape)


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "variant"), of(["sparse", "hubs", "path", "grid", "funnel"], BLOCK_PER_SOURCE))
def test_a_block_a_source_in_global_memory(name, variant):
    solve(variant, graph("positive", name, variant.problem), shared=0)


@pytest.mark.gpu
@pytest.mark.parametrize("delta", [1, 100, INF])
@pytest.mark.parametrize(
    ("name", "variant"), of(["sparse", "path", "funnel"], [NEAR_FAR, VARIANTS["delta_stepping/block_apsp"]])
)
def test_any_delta(name, variant, delta):
    solve(variant, graph("positive", name, variant.problem), delta=delta)


@lru_cache(maxsize=4)
def large(make):
    return make(20_000)


@pytest.mark.gpu
@pytest.mark.parametrize("make", [graphs.sparse, graphs.hubs, graphs.star, graphs.grid], ids=lambda m: m.__name__)
@pytest.mark.parametrize("variant", [NEAR_FAR, VARIANTS["edge/sssp"]], ids=lambda v: v.key)
def test_more_vertices_than_fit_in_48_kilobytes_or_in_one_blocks_queue(variant, make):
    solve(variant, large(make))


# Blocks that meet after each round; queues that overflow, with hubs in trees of rows; queues that are shared out, wide
# rows; vertices numbered by degree; meetings for blocks that wait.
SETTINGS = [
    {"CROWDED": 0, "MIN_QUEUE": 64, "DIRECT": 124, "WIDTHS": (4,)},
    {"CROWDED": 2, "MIN_QUEUE": 4, "DIRECT": 4, "WIDTHS": (4,)},
    {"CROWDED": 16, "MIN_QUEUE": 256, "DIRECT": 1, "WIDTHS": (32,)},
    {"CROWDED": 16, "MIN_QUEUE": 64, "DIRECT": 4, "WIDTHS": (8,), "LARGE": 1, "HUBS": 1},
    {"PATIENCE": 1, "CROWDED": 512, "DIRECT": 4, "WIDTHS": (4,)},
]


@pytest.fixture(scope="module", params=SETTINGS, ids=lambda settings: "-".join(map(str, settings.values())))
def with_settings(request):
    return replace(NEAR_FAR, function=near_far_with(**request.param).sssp)


@pytest.mark.gpu
@pytest.mark.parametrize("delta", [None, 20])
@pytest.mark.parametrize(
    "make",
    [graphs.sparse, graphs.hubs, graphs.funnel, graphs.grid, *(make for make, *_ in FREE_ARCS.values())],
    ids=["sparse", "hubs", "funnel", "grid", *(f"free {name}" for name in FREE_ARCS)],
)
def test_blocks_that_meet_often_and_have_short_queues(with_settings, make, delta):
    solve(with_settings, make(600), runs=4, shared=0, delta=delta)


@pytest.mark.gpu
@pytest.mark.parametrize("shared", [None, 0], ids=["shared", "global"])
@pytest.mark.parametrize(
    "make",
    [
        graphs.hubs,
        graphs.narrow_path,
        lambda n: graphs.hubs(n, np.array([1, 40_000])),
        lambda n: graphs.hubs(n, np.arange(3)),
    ],
    ids=["16 bits", "16 and 32 bits", "32 bits", "64 bits"],
)
def test_distances_of_every_width_wherever_the_work_is_kept(make, shared):
    solve(MULTI_SOURCE, wide(make), shared=shared)


@lru_cache(maxsize=1)
def wide(make):
    return make(1300)


@pytest.mark.gpu
@pytest.mark.parametrize("make", [graphs.hubs, graphs.narrow_path], ids=lambda make: make.__name__)
def test_halves_of_a_word_compared_at_once_and_one_by_one(make, monkeypatch):
    assert card.has_16_bit_pair_minimum() == (cuda.get_current_device().compute_capability >= (9, 0))
    solve(MULTI_SOURCE, small(make))
    monkeypatch.setattr(multi_source, "has_16_bit_pair_minimum", lambda: False)
    solve(MULTI_SOURCE, small(make))


@pytest.mark.gpu
@pytest.mark.parametrize(("last", "again"), [(2**14 - 2, False), (2**14 - 1, True)])
def test_distances_that_do_not_fit_in_15_bits_are_found_again_in_32(last, again, monkeypatch):
    variant, n = VARIANTS["floyd_warshall/blocked16"], 300
    on = graphs.path(n, [*[1] * (n - 3), 2**14 - (n - 3), last])
    once = VARIANTS["floyd_warshall/blocked"].launches(n, 32)
    assert {run.launches for run in solve(variant, on)} == {once * (1 + (again and card.has_16_bit_pair_minimum()))}
    monkeypatch.setattr(blocked, "has_16_bit_pair_minimum", lambda: False)
    assert {run.launches for run in solve(variant, on)} == {once}


@pytest.mark.gpu
def test_arcs_next_to_each_other_whose_distances_share_a_word():
    n = 1025
    star = Graph.from_arcs(n, np.zeros(n - 1, int), np.arange(1, n), np.arange(1, n))
    once = VARIANTS["floyd_warshall/blocked"].launches(n, 32)  # a lost distance would call for 32 bits
    assert {run.launches for run in solve(VARIANTS["floyd_warshall/blocked16"], star, runs=4)} == {once}


@pytest.mark.gpu
@pytest.mark.parametrize("vertices", [129, 641, 900])  # two strips; five and a last row; eight
def test_strips_come_and_go(vertices):
    on = graphs.sparse(vertices)
    assert staged.strips_of(blocked.TileShape.of(Run(), packed=False), vertices)[1] == -(-vertices // 128)
    solve(VARIANTS["floyd_warshall/staged"], on, runs=4)


@pytest.mark.gpu
@by_key([v for v in FREE if v.problem == "apsp"])
def test_all_pairs_of_five_thousand_vertices(variant):
    """`staged` then has strips of two tiles, and a last one of one tile."""
    solve(variant, five_thousand(), runs=1, rows=48)


@lru_cache(maxsize=1)
def five_thousand():
    return graphs.sparse(5121)


# How kernels are launched.


@cuda.jit
def multiply_and_add(factor, more, numbers):
    i = cuda.grid(1)
    if i < len(numbers):
        numbers[i] = np.uint32(numbers[i] * factor + more)


@pytest.mark.gpu
@pytest.mark.parametrize("replayed", [False, True], ids=["launched", "replayed"])
@pytest.mark.parametrize("times", [1, 7, GRAPH_ITERATIONS, 2 * GRAPH_ITERATIONS + 5])
@pytest.mark.parametrize("step", [np.uint32(12345), STEP], ids=["the same each time", "STEP"])
def test_launches_are_made_in_turn_with_their_arguments(step, times, replayed):
    run, started = Run(cuda_graph=replayed), np.arange(70, dtype=np.uint32)
    (numbers,) = run.upload(started)
    run.launch(
        (multiply_and_add, 3, 32, (np.uint32(5), step, numbers)),
        (multiply_and_add, 3, 32, (np.uint32(3), np.uint32(1), numbers)),
        times=times,
    )
    assert run.launches == 2 * times
    expected = started.tolist()
    for i in range(times):
        more = i if step is STEP else int(step)
        expected = [((number * 5 + more) * 3 + 1) % 2**32 for number in expected]
    assert numbers.copy_to_host().tolist() == expected


@pytest.mark.gpu
def test_arguments_arrive_as_they_were_sent():
    launching.check_arguments.__wrapped__()


@pytest.mark.gpu
@pytest.mark.parametrize("place", [0, 3, 4], ids=["a whole number", "bytes an item", "the address"])
def test_arguments_that_arrive_otherwise_are_refused(place, monkeypatch):
    passed = internals.as_passed

    def shifted(argument):
        """Pass another length (the address that kernels read stays right) or another number."""
        values = passed(argument)
        if len(values) == 1:
            return [values[0] ^ 1] if place == 0 else values
        if place == 3:  # the shape where the bytes an item are, and the other way around
            values[3], values[5] = values[5], values[3]
        if place == 4 and argument.size == 3:
            values[4] += 4
        return values

    monkeypatch.setattr(internals, "as_passed", shifted)
    with pytest.raises(RuntimeError, match="arguments"):
        launching.check_arguments.__wrapped__()


@cuda.jit
def where(seen):
    place = cuda.blockIdx.x + cuda.gridDim.x * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z)
    thread = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
    seen[place, thread] += 1


@pytest.mark.gpu
@pytest.mark.parametrize("replayed", [False, True], ids=["launched", "replayed"])
def test_grids_and_blocks_of_three_dimensions(replayed):
    run = Run(cuda_graph=replayed)
    (seen,) = run.upload(np.zeros((2 * 3 * 4, 5 * 6 * 7), np.int64))
    run.launch((where, (2, 3, 4), (5, 6, 7), (seen,)), times=2)
    assert (seen.copy_to_host() == 2).all()


@cuda.jit
def pass_on(numbers, seen):
    """Write in each block, wait for all, and read what the next block wrote."""
    me, threads = cuda.grid(1), cuda.gridsize(1)
    numbers[me] = me
    cuda.cg.this_grid().sync()
    seen[me] = numbers[(me + cuda.blockDim.x) % threads]


@pytest.mark.gpu
def test_blocks_that_wait_for_each_other():
    run, block = Run(), 1024
    count = run.multiprocessors * block
    for _ in range(20):
        numbers, seen = run.upload(*[np.full(count, -1, np.int64)] * 2)
        run.launch((pass_on, run.multiprocessors, block, (numbers, seen)))
        assert (seen.copy_to_host() == (np.arange(count) + block) % count).all()


@pytest.mark.gpu
def test_more_blocks_that_wait_for_each_other_than_there_is_space_for_are_refused():
    run = Run()
    blocks = 64 * run.multiprocessors
    numbers, seen = run.upload(*[np.zeros(1024 * blocks, np.int64)] * 2)
    with pytest.raises(InputError, match="smaller grid"):
        run.launch((pass_on, blocks, 1024, (numbers, seen)))
    assert run.launches == 0


@cuda.jit
def reverse(numbers):
    here, n = cuda.shared.array(0, int32), len(numbers)
    i = cuda.threadIdx.x
    while i < n:
        here[i] = numbers[i]
        i += cuda.blockDim.x
    cuda.syncthreads()
    i = cuda.threadIdx.x
    while i < n:
        numbers[i] = here[n - 1 - i]
        i += cuda.blockDim.x


@pytest.mark.gpu
@pytest.mark.parametrize("replayed", [False, True], ids=["launched", "replayed"])
def test_as_much_shared_memory_as_a_block_may_have(replayed):
    run = Run(cuda_graph=replayed)
    assert run.shared_limit > 48 * 1024
    (numbers,) = run.upload(np.arange(run.shared_limit // 4, dtype=np.int32))
    run.launch((reverse, 1, 1024, (numbers,), numbers.size * 4), times=3)
    assert (numbers.copy_to_host() == np.arange(numbers.size)[::-1]).all()


@pytest.mark.gpu
def test_what_the_driver_refuses_is_an_error_and_harms_nothing():
    run = Run()
    (numbers,) = run.upload(np.arange(9, dtype=np.int32))
    with pytest.raises(RuntimeError, match="CUDA driver"):
        run.launch((reverse, 1, 32, (numbers,), run.shared_limit + 2**20))
    with pytest.raises(RuntimeError, match=r"error 1$"):
        run.launch((reverse, 1, 2048, (numbers,), 36))
    run.launch((reverse, 1, 32, (numbers,), 36))
    assert numbers.copy_to_host().tolist() == list(range(8, -1, -1))


# How they are timed.


@cuda.jit
def spin(times, seen):
    number, i = np.uint32(seen[0]), np.uint32(0)
    while i < times:
        number = np.uint32(number * number + i)
        i = np.uint32(i + 1)
    seen[0] = number


LONG = np.uint32(2**25)  # about a tenth of a second


@pytest.fixture
def spinning():
    """The arguments of a long kernel, compiled."""
    arguments = LONG, cuda.to_device(np.ones(1, np.uint32))
    Run().launch((spin, 1, 1, (np.uint32(1), arguments[1])))
    spin[1, 1](np.uint32(1), arguments[1])
    cuda.synchronize()
    return arguments


@pytest.mark.gpu
def test_phases_are_seconds_and_sum_to_at_most_the_region(spinning):
    run, host = Run(), {}
    with run.timed():
        for name in PHASES:
            with run.phase(name):
                started = time.perf_counter()
                run.launch((spin, 1, 1, spinning))
                host[name] = time.perf_counter() - started
    assert min(host.values()) > 0.01
    for name, seconds in host.items():
        assert run.phases[name] == pytest.approx(seconds, rel=0.1)
    assert sum(host.values()) <= run.seconds
    assert sum(run.phases.values()) <= run.seconds * 1.001


@pytest.mark.gpu
def test_region_and_phase_end_when_the_card_is_idle(spinning):
    started = time.perf_counter()
    spin[1, 1](*spinning)
    cuda.synchronize()
    long = time.perf_counter() - started
    region, phase = Run(), Run()
    with region.timed():
        spin[1, 1](*spinning)  # which does not wait
    assert region.seconds > long / 2
    with phase.phase("kernels"):
        spin[1, 1](*spinning)
    assert phase.phases["kernels"] > long / 2


# The card's state, and the library on it.


@pytest.mark.gpu
def test_more_memory_than_the_card_has_is_refused():
    free, total = cuda.current_context().get_memory_info()
    Run().require(2**20)
    with pytest.raises(NotEnoughMemory) as refused:
        Run().require(2 * free)
    assert refused.value.needed == 2 * free
    assert 0 < refused.value.free <= total


@pytest.mark.gpu
def test_the_state_of_the_card():
    state = card.card_state()
    assert state["uuid"].startswith(("GPU-", "MIG-"))
    assert int(state["driver"].split(".")[0]) >= 500
    assert 0 < state["sm_clock_mhz"] <= state["max_sm_clock_mhz"] and state["memory_clock_mhz"] > 0
    assert 0 < state["temperature_c"] < 120 and 0 < state["power_w"] < 3000
    assert set(state["throttling"]) <= set(card.THROTTLING)
    about = card.describe(on_gpu=True)
    assert about["driver"] == state["driver"] and about["device"] and int(about["cuda"].split(".")[0]) >= 12


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("make", "vertices", "free", "variant"),
    [
        (graphs.sparse, 1000, None, "bellman_ford/multi_source_apsp"),
        (graphs.dense, 300, None, "floyd_warshall/blocked16"),
        (lambda n: graphs.dense(n, np.arange(1, 2) * 10**6), 300, None, "floyd_warshall/blocked"),
        (graphs.dense, 300, 2**20, "floyd_warshall/staged"),
    ],
    ids=["sparse", "dense", "dense, far", "a full card"],
)
def test_all_pairs_by_the_variant_that_suits(make, vertices, free, variant, monkeypatch):
    if free:
        card = choice.Card(Run().shared_limit, free)
        monkeypatch.setattr(choice.Card, "visible", lambda: card)
    on = make(vertices)
    found = kernels.all_pairs(on)
    assert found.variant == variant
    np.testing.assert_array_equal(found.distances, csgraph.dijkstra(on.to_scipy()))
    for source in (0, vertices - 1):
        tree = csgraph.reconstruct_path(on.to_scipy(), found.predecessors[source])
        np.testing.assert_array_equal(csgraph.dijkstra(tree, indices=source), found.distances[source])


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("make", "variant"), [(graphs.path, "dijkstra/scipy"), (graphs.grid, "delta_stepping/near_far")]
)
def test_scipy_searches_a_narrow_graph(make, variant):
    graph = make(10**5)
    found = kernels.shortest_paths(graph, 0)
    assert found.variant == variant
    np.testing.assert_array_equal(found.distances, csgraph.dijkstra(graph.to_scipy(), indices=0))


@pytest.mark.gpu
def test_many_sources_in_a_hierarchy(hierarchy_from):
    hierarchy_from(choice.BreakEven(1500, 50, 2))
    on = graphs.grid(3000)
    sources = np.random.default_rng(0).permutation(3000)[:1500]
    expected = csgraph.dijkstra(on.to_scipy(), indices=sources)
    found = kernels.distances(on, sources)
    assert found.variant == "hierarchy/many_sources"
    np.testing.assert_array_equal(found.distances, expected)
    reduced = kernels.eccentricities(on, sources)
    assert reduced.variant == "hierarchy/all_pairs"
    np.testing.assert_array_equal(reduced.eccentricity, expected.max(axis=1))
    np.testing.assert_array_equal(reduced.total, expected.sum(axis=1))


HIERARCHIES = {"grid": (graphs.grid, 3000), "large grid": (graphs.grid, 40_000), "town": (lambda n: town(n), 3000)}


def town(n: int) -> Graph:
    """Streets, with weights of 0, a vertex that they reach but do not leave, one that leads to them, and a lone one."""
    grid = graphs.grid(n, np.arange(5))
    arcs = np.r_[grid.tails, n - 1, n + 1], np.r_[grid.indices, n, 0], np.r_[grid.weights, 3, 2]
    return Graph.from_arcs(n + 3, *arcs)


@pytest.fixture
def few(hierarchy_from, monkeypatch):
    """A hierarchy pays for one source."""
    monkeypatch.setattr(choice, "LEAST_WORK_FOR_CARD", 0)
    hierarchy_from(1)


def as_type(distances, dtype):
    return np.where(np.isinf(distances), INF if dtype == "int32" else np.inf, distances).astype(dtype)


@pytest.mark.gpu
@pytest.mark.parametrize("name", HIERARCHIES)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
def test_distances_to_some_targets_in_a_hierarchy(name, dtype, few, monkeypatch):
    make, n = HIERARCHIES[name]
    on, random = make(n), np.random.default_rng(3)
    array = on.to_scipy()
    with kernels.prepare(on) as solver:
        for count, ends in ((1, 1), (129, 70), (300, 2000), (130, None), (700, 33), (5, 0)):
            sources = random.integers(0, on.vertices, count)
            targets = ends if ends is None else random.integers(0, on.vertices, ends)
            expected = csgraph.dijkstra(array, indices=sources)
            expected = as_type(expected if ends is None else expected[:, targets], dtype)
            found = solver.distances(sources, targets, dtype=dtype)
            assert found.variant.startswith("hierarchy/")
            np.testing.assert_array_equal(found.distances, expected, strict=True)
            left = solver.distances(sources, targets, dtype=dtype, out="device")
            assert left.distances.__cuda_array_interface__["shape"] == expected.shape
            np.testing.assert_array_equal(left.distances.copy_to_host(), expected, strict=True)
            monkeypatch.setattr("kernels.library.searches.COPIED_AT_ONCE", 2**18)  # the next results come in pieces


def assert_nearest(solver, on: Graph, targets, k: int, *, reverse: bool) -> None:
    """Compare the nearest of different targets with SciPy's distances."""
    found = solver.nearest(None, k, targets=targets, reverse=reverse)
    assert found.variant == "hierarchy/nearest"
    array = on.to_scipy() if reverse else on.to_scipy().T.tocsr()
    distances = csgraph.dijkstra(array, indices=targets).T
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    expected = np.take_along_axis(distances, order, axis=1)
    np.testing.assert_array_equal(found.distances, expected)
    np.testing.assert_array_equal(found.targets, np.where(np.isinf(expected), -1, targets[order]))
    np.testing.assert_array_equal(found.counts, [(found.targets[:, 0] == target).sum() for target in targets])


@pytest.mark.gpu
@pytest.mark.parametrize("name", HIERARCHIES)
def test_nearest_targets_in_a_hierarchy(name, few):
    make, n = HIERARCHIES[name]
    on, random = make(n), np.random.default_rng(5)
    with kernels.prepare(on) as solver:
        for count, k in ((1, 1), (40, 5), (500, 5), (70, 33), (500, 500 if n < 10_000 else 40)):
            targets = random.choice(on.vertices, count, replace=False)
            for reverse in (False, True):
                assert_nearest(solver, on, targets, k, reverse=reverse)


@pytest.mark.gpu
@pytest.mark.parametrize("name", HIERARCHIES)
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_new_weights_in_a_hierarchy(name, dtype, few):
    make, n = HIERARCHIES[name]
    on, random = make(n), np.random.default_rng(6)
    with kernels.prepare(on) as solver:
        solver.distances([0], [1])
        solver.eccentricities([0])
        for _ in range(3):
            weights = random.integers(0, 50, on.arcs).astype(dtype)
            if weights.dtype.kind == "f":
                weights[random.random(on.arcs) < 0.05] = np.inf
            solver.reweight(weights)
            kept = np.isfinite(weights)
            new = Graph.from_arcs(on.vertices, on.tails[kept], on.indices[kept], weights[kept].astype(int))
            sources, targets = random.integers(0, on.vertices, (2, 60))
            expected = csgraph.dijkstra(new.to_scipy(), indices=sources)
            found = solver.distances(sources, targets)
            assert found.variant == "hierarchy/targets"
            np.testing.assert_array_equal(found.distances, expected[:, targets])
            np.testing.assert_array_equal(solver.distances(sources).distances, expected)
            reached = solver.eccentricities(sources)
            np.testing.assert_array_equal(reached.total, expected.sum(axis=1, where=np.isfinite(expected)))
            np.testing.assert_array_equal(solver.shortest_paths(sources[0]).distances, expected[0])
            assert_nearest(solver, new, np.unique(targets), 5, reverse=False)
        with pytest.raises(InputError, match="edge 3: weight -1"):
            solver.reweight(np.where(np.arange(on.arcs) == 3, -1, weights).astype(dtype))
        np.testing.assert_array_equal(solver.distances(sources).distances, expected)


@pytest.mark.gpu
def test_a_large_table_comes_through_buffers(few):
    on, random = graphs.grid(3000), np.random.default_rng(4)
    sources, targets = random.integers(0, 3000, (2, 4000))
    expected = csgraph.dijkstra(on.to_scipy())[np.ix_(sources, targets)]
    with kernels.prepare(on) as solver:
        for _ in range(2):
            np.testing.assert_array_equal(solver.distances(sources, targets).distances, expected, strict=True)
        pairs = solver.pair_distances(np.repeat(sources, 4000), np.tile(targets, 4000))
        np.testing.assert_array_equal(pairs.distances, expected.ravel())
        table = solver.distances(sources, targets, second=on.weights / 4)
        assert table.variant == "hierarchy/pairs"
        np.testing.assert_array_equal(table.distances, expected)
        np.testing.assert_array_equal(table.second, expected / 4)
        parts = list(solver.distance_pieces(sources, targets, rows=1500))
        np.testing.assert_array_equal(np.concatenate([rows for _, rows in parts]), expected)


@pytest.mark.gpu
@pytest.mark.parametrize("limit", [0, 500, 10**6])
def test_a_limit_in_a_hierarchy(limit, few):
    on, sources, targets = town(3000), [5, 3001, 5, 17], [3000, 7, 3002]
    expected = csgraph.dijkstra(on.to_scipy(), indices=sources, limit=limit)
    np.testing.assert_array_equal(kernels.distances(on, sources, limit=limit).distances, expected)
    np.testing.assert_array_equal(kernels.distances(on, sources, targets, limit=limit).distances, expected[:, targets])


@pytest.mark.gpu
def test_targets_one_source_after_the_other():
    on, sources, targets = graphs.sparse(9000), [5, 0, 5], [8, 8999, 8]
    expected = csgraph.dijkstra(on.to_scipy(), indices=sources)[:, targets]
    for dtype in ("float64", "int32"):
        found = kernels.distances(on, sources, targets, dtype=dtype)
        assert found.variant == "delta_stepping/near_far"
        np.testing.assert_array_equal(found.distances, as_type(expected, dtype))
        left = kernels.distances(on, sources, targets, dtype=dtype, out="device").distances
        np.testing.assert_array_equal(left.copy_to_host(), as_type(expected, dtype))


@pytest.mark.gpu
@pytest.mark.parametrize("hierarchy", [True, False])
@pytest.mark.parametrize("reverse", [True, False])
def test_the_nearest_vertices_and_those_within_a_limit(hierarchy, reverse, hierarchy_from):
    hierarchy_from(1 if hierarchy else 10**9)
    on, sources = town(20_000), np.random.default_rng(5).integers(0, 20_003, 150)
    array = on.to_scipy().T.tocsr() if reverse else on.to_scipy()
    distances = csgraph.dijkstra(array, indices=sources)
    with kernels.prepare(on) as solver:
        for limit in (0, 9, np.inf):
            found = solver.reachable(sources, limit, reverse=reverse)
            assert found.nnz == (np.isfinite(distances) & (distances <= limit)).sum() and found.has_sorted_indices
            rows = np.repeat(np.arange(150), np.diff(found.indptr))
            np.testing.assert_array_equal(distances[rows, found.indices], found.data)
            assert found.data.max() <= limit
        for k in (1, 20, 30_000):
            found = solver.nearest(sources, k, reverse=reverse)
            for row, source in enumerate(sources.tolist()):
                order = np.lexsort((np.arange(20_003), distances[row], np.arange(20_003) != source))
                nearest = np.sort(order[: min(k, np.isfinite(distances[row]).sum())])
                entries = slice(*found.indptr[row : row + 2])
                np.testing.assert_array_equal(found.indices[entries], nearest)
                np.testing.assert_array_equal(found.data[entries], distances[row, nearest])


@pytest.mark.gpu
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_centralities_in_a_hierarchy(directed, hierarchy_from):
    hierarchy_from(choice.BreakEven(1500, 50, 2))
    streets = graphs.grid(3000, HALF_FREE if directed else graphs.WEIGHTS)
    kept = np.random.default_rng(0).random(streets.arcs) < (0.9 if directed else 1)
    on = Graph.from_arcs(3001, streets.tails[kept], streets.indices[kept], streets.weights[kept])
    inward = csgraph.dijkstra(on.to_scipy().T.tocsr())
    reached = np.isfinite(inward)
    others, total = reached.sum(axis=1) - 1, inward.sum(axis=1, where=reached)
    closeness = np.divide(others**2, 3000 * total, out=np.zeros(3001), where=total > 0)
    harmonic = np.divide(1, inward, out=np.zeros(inward.shape), where=inward > 0).sum(axis=1)
    with kernels.Solver(on) as solver:
        for some in (None, np.arange(0, 3001, 7)):
            chosen = slice(None) if some is None else some
            np.testing.assert_allclose(centrality.closeness_centrality(solver, some), closeness[chosen], rtol=1e-14)
            np.testing.assert_allclose(centrality.harmonic_centrality(solver, some), harmonic[chosen], rtol=1e-13)
        assert solver._backward.eccentricities(reciprocals=True).variant == "hierarchy/all_pairs"


@pytest.mark.gpu
def test_a_few_sources_one_after_the_other():
    on = graphs.sparse(9000)
    found = kernels.distances(on, [5, 0, 5])
    assert found.variant == "delta_stepping/near_far"
    np.testing.assert_array_equal(found.distances, csgraph.dijkstra(on.to_scipy(), indices=[5, 0, 5]))


@pytest.mark.gpu
@pytest.mark.parametrize(("family", "name"), [*(("positive", g) for g in POSITIVE), *(("free", g) for g in FREE_ARCS)])
def test_weights_in_float64(family, name):
    """Whole weights times an irrational number, from three sources at once, in memory that was used."""
    whole = graph(family, name, "sssp")
    on = FloatGraph(whole.indptr, whole.indices, whole.weights * 2**-0.5)
    n, sources = whole.vertices, np.array([0, whole.vertices // 2, whole.vertices - 1])
    expected, arcs = csgraph.dijkstra(on.to_scipy(), indices=sources), lengths(on.to_scipy(), True)
    bounds = np.minimum(csgraph.dijkstra(on.scaled.to_scipy(), indices=sources), INF).astype(np.int32)
    for filling in graphs.FILLINGS:
        run = graphs.Dirty()
        run.filling = filling
        for given in (bounds, None):
            found = Float64Search(on, run).search(n * np.arange(3) + sources, 3, given)
            np.testing.assert_array_equal(found.dist, expected)
            assert_trees(arcs, sources, found.dist, found.predecessors)


@pytest.mark.gpu
def test_scipys_signatures_on_the_card():
    few = graphs.sparse(3000).to_scipy() * 2**-0.5
    np.testing.assert_array_equal(ours.shortest_path(few, directed=False), csgraph.dijkstra(few, directed=False))
    on = graphs.sparse(9000)  # large enough for one search on the card
    array = on.to_scipy() * 2**-0.5
    for more in ({"indices": 7}, {"indices": [5, 0, 8999], "limit": 1500.5}, {"indices": [9, 8], "min_only": True}):
        np.testing.assert_array_equal(ours.dijkstra(array, **more), csgraph.dijkstra(array, **more), strict=True)
    height = np.random.default_rng(0).normal(size=9000) * 1000
    expected = csgraph.dijkstra(array, indices=[4, 70]) + height - height[[4, 70]][:, None]
    array.data += height[array.indices] - height[on.cheapest().tails]
    np.testing.assert_allclose(ours.johnson(array, indices=[4, 70]), expected, rtol=1e-9, atol=1e-9)
    array[8999, 0], array[0, 8999] = 1, -2
    with pytest.raises(csgraph.NegativeCycleError):
        ours.johnson(array)


@pytest.mark.gpu
def test_a_solver_from_threads():
    """Two solvers, each from two threads; with results left on the card."""
    on = [graphs.sparse(9000), graphs.grid(9000)]
    expected = [csgraph.dijkstra(graph.to_scipy(), indices=range(8)) for graph in on]
    solvers = [kernels.prepare(graph) for graph in on]

    def search(number):
        solver, source = solvers[number % 2], number // 2
        left = solver.shortest_paths(source, out="device")
        found = solver.shortest_paths(source)
        assert found.variant == "delta_stepping/near_far"
        return left, found

    with ThreadPoolExecutor(4) as pool:
        for number, (left, found) in enumerate(pool.map(search, range(16))):
            np.testing.assert_array_equal(found.distances, expected[number % 2][number // 2])
            for array in (left.distances, left.predecessors):
                said = array.__cuda_array_interface__
                assert said["typestr"] == "<i4" and said["shape"] == (9000,) and said["data"][0]
            distances = left.distances.copy_to_host()
            np.testing.assert_array_equal(np.where(distances == INF, np.inf, distances), found.distances)
    for solver in solvers:
        solver.close()


@pytest.mark.gpu
def test_results_on_the_card_are_taken_without_a_copy():
    on = graphs.sparse(9000)
    with kernels.prepare(on) as solver:
        left, found = solver.shortest_paths(3, out="device"), solver.shortest_paths(3)
    distances, predecessors = cuda.as_cuda_array(left.distances), cuda.as_cuda_array(left.predecessors)
    address = left.distances.__cuda_array_interface__["data"][0]
    assert distances.__cuda_array_interface__["data"][0] == address and distances.shape == (9000,)
    result = Result(distances.copy_to_host(), predecessors.copy_to_host())
    assert check(on, "sssp", result, 3, full_check=9000, checked_rows=1) == 1
    del left  # numba's arrays keep the memory
    kernels.shortest_paths(graphs.grid(9000), 0)
    host = distances.copy_to_host()
    np.testing.assert_array_equal(np.where(host == INF, np.inf, host), found.distances)


@pytest.mark.gpu
def test_the_page_for_users_of_cupy():
    for name in ("cupy", "torch"):
        pytest.importorskip(name, reason=f"{name} is not installed: tests/kernels/library/test_cupy.py has a stand-in")
    names = {}
    for code in (*BLOCKS[:-1], REFUSED):
        exec(code, names)
    taken, address = names["distances"], names["left"].distances.__cuda_array_interface__["data"][0]
    assert taken.data.ptr == address
    exec(BLOCKS[-1], names)
    assert names["distances"].data_ptr() == address and names["distances"].device.type == "cuda"


IN_A_PROCESS = """
import logging, kernels, numpy as np
logging.basicConfig()
logging.getLogger("kernels.gpu.cache").setLevel(logging.INFO)
found = kernels.shortest_paths("graph.npz", 5)
assert found.variant == "delta_stepping/near_far"
np.save("found.npy", found.distances)
"""


@pytest.mark.gpu
def test_a_later_process_loads_what_one_compiled(tmp_path):
    on = graphs.sparse(9000)
    on.save(tmp_path / "graph.npz")
    environment = {**os.environ, "CUDA_SHORTEST_PATHS_CACHE": str(tmp_path / "cache")}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *sys.path])  # of the packages the versions of this process

    def process():
        ran = subprocess.run(
            [sys.executable, "-c", IN_A_PROCESS], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stderr
        distances = np.load(tmp_path / "found.npy")
        np.testing.assert_array_equal(distances, csgraph.dijkstra(on.to_scipy(), indices=5))
        return ran.stderr.count("compiled ")

    assert process() > 3 and process() == 0
    damaged = [path for path in (tmp_path / "cache").rglob("*.nbc") if ".search-" in path.name]
    for path in damaged:
        path.write_bytes(path.read_bytes()[:-1])
    assert len(damaged) == 1 and process() == 1 and process() == 0


@pytest.mark.gpu
def test_a_solver_gives_its_memory_back():
    on = graphs.grid(90_000)
    free = []
    for _ in range(24):
        with kernels.prepare(on) as solver:
            left = solver.shortest_paths(5, out="device")
        del left
        gc.collect()
        card.free_pending()
        free.append(cuda.current_context().get_memory_info().free)
    # The driver keeps up to 34 MiB of freed pages, and returns them after some ten solvers. A leak lowers the maximum.
    assert max(free[12:]) >= max(free[:12]) - 2**21


@pytest.mark.gpu
def test_a_solver_whose_distances_are_too_long():
    v = np.arange(40_000)
    on = Graph.from_arcs(40_001, v, v + 1, np.full(40_000, 10**5))
    with kernels.prepare(on) as solver:
        np.testing.assert_array_equal(solver.shortest_paths(0).distances, 10.0**5 * np.arange(40_001))
        assert solver.shortest_paths(30_000).rounds == 0
        with pytest.raises(InputError, match="host"):
            solver.shortest_paths(0, out="device")
        found = solver.pair_distances([0, 9], [40_000, 30_000], out="device").distances
        assert found.copy_to_host().tolist() == [40_000 * 10**5, 29_991 * 10**5]


@pytest.mark.gpu
def test_the_command_on_the_card():
    command = [sys.executable, "-m", "kernels", "bellman_ford", "naive", "workflow/samples/sample3.txt", "--validate"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "bellman_ford/naive on sample3: 1 row" in ran.stderr


@pytest.mark.gpu
@by_key(GPU)
def test_a_cell_as_it_is_measured(variant, tmp_path):
    on = replace(small(graphs.sparse), meta={"name": "made", "sha256": "5" * 64})
    on.save(tmp_path / "made.npz")
    out = tmp_path / "made.csv"
    protocol = {"repeats": 3}
    measure.measure(variant, tmp_path / "made.npz", protocol, out, measure.StepContext(commit="c0ffee"))
    with open(out, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["status"] for row in rows] == ["ok"] * 3
    for row in rows:
        seconds = float(row["seconds"])
        assert 0 < float(row["kernels_s"]) <= seconds < 10
        assert sum(float(row[f"{phase}_s"]) for phase in PHASES) <= seconds * 1.001 + 1e-5
        assert row["device"] == card.describe(on_gpu=True)["device"]
        assert variant.launches(on.vertices, 32) in (int(row["launches"]), None)
    record = json.loads(out.with_suffix(".json").read_text())
    for when in ("before", "after"):
        assert record["card"][when]["uuid"] == card.card_state()["uuid"]
    assert (record["commit"], record["tree_clean"]) == ("c0ffee", None)
    assert record["packages"]["numba-cuda"] == rows[0]["numba_cuda"]


# Without a card.


@pytest.mark.parametrize(("required", "outcome"), [("0", pytest.skip.Exception), ("1", pytest.fail.Exception)])
def test_without_a_card_these_are_skipped_or_fail(required, outcome, monkeypatch, request):
    monkeypatch.setenv("REQUIRE_GPU", required)
    monkeypatch.setattr(marks, "gpu_visible", lambda: False)
    request.applymarker(pytest.mark.gpu)
    with pytest.raises((pytest.skip.Exception, pytest.fail.Exception), match="no GPU is visible") as ended:
        marks.pytest_runtest_setup(request.node)
    assert ended.type is outcome


def test_all_variants_that_the_library_chooses_allow_weights_of_0():
    chosen = {
        *("delta_stepping/near_far", "bellman_ford/multi_source_apsp", "hierarchy/apsp"),
        *(f"floyd_warshall/{name}" for name in ("blocked", "blocked16", "staged")),
    }
    assert chosen <= {v.key for v in FREE}


@pytest.mark.gpu
@forks
def test_a_process_that_is_forked_after_a_search_on_the_card():
    graph = graphs.sparse(40_000)
    with kernels.prepare(graph) as prepared:
        expected = prepared.shortest_paths(0)
        assert expected.variant == NEAR_FAR.key
        for search in (prepared.shortest_paths, lambda source: kernels.shortest_paths(graph, source)):
            assert "CUDA" in in_a_fork(lambda search=search: search(0))
        assert in_a_fork(prepared.close) is None
        np.testing.assert_array_equal(prepared.shortest_paths(0).distances, expected.distances)


@pytest.mark.gpu
@pytest.mark.parametrize("name", HIERARCHIES)
def test_pairs_and_routes_in_a_hierarchy(name, few):
    make, n = HIERARCHIES[name]
    on, random = make(n), np.random.default_rng(6)
    sources, targets = random.integers(0, on.vertices, (2, 5000))
    sources[:4000] %= 50
    second, array = random.integers(1, 9, on.arcs) / 8, on.to_scipy()
    expected = csgraph.dijkstra(array, indices=range(50))[sources[:4000], targets[:4000]]
    by_host = host.HostHierarchy(on, on.weights)
    distances, start, arcs = by_host.routes(sources, targets)
    with kernels.prepare(on) as solver:
        for dtype in ("float64", "float32", "int32"):
            found = solver.pair_distances(sources, targets, dtype=dtype)
            assert found.variant == "hierarchy/pairs"
            np.testing.assert_array_equal(found.distances[:4000], as_type(expected, dtype))
        routes = solver.routes(sources, targets, second=second, out="device")
        if name == "town":  # arcs of weight 0 form cycles, which the hierarchy's routes pass again and again
            arcs, start, vertices = routes.edges.copy_to_host(), routes.edge_start, routes.vertices.copy_to_host()
            lengths = np.add.reduceat(np.append(on.weights[arcs], 0), start[:-1]) * (np.diff(start) > 0)
            np.testing.assert_array_equal(np.where(distances == INF, 0, distances), lengths)
            pair = np.repeat(np.arange(5000), np.diff(routes.vertex_start))
            assert len(np.unique(np.c_[pair, vertices], axis=0)) == len(vertices)
        np.testing.assert_array_equal(routes.edges.copy_to_host(), arcs)
        np.testing.assert_array_equal(routes.edge_start, start)
        sums = np.add.reduceat(np.append(second[arcs], 0), start[:-1]) * (np.diff(start) > 0)
        sums[distances == INF] = np.nan
        np.testing.assert_array_equal(routes.second.copy_to_host(), sums)
        np.testing.assert_array_equal(solver.routes(sources, targets).vertices, routes.vertices.copy_to_host())
        table = solver.distances(sources[:9], targets[:7], second=second)
        ends = np.repeat(sources[:9], 7), np.tile(targets[:7], 9)
        np.testing.assert_array_equal(table.second.ravel(), solver.routes(*ends, second=second).second)
        np.testing.assert_array_equal(table.distances, csgraph.dijkstra(array, indices=sources[:9])[:, targets[:7]])
        with pytest.raises(InputError, match="target 10000000"):
            solver.pair_distances(sources, np.full(5000, 10**7))
        weights = random.integers(0, 50, on.arcs)
        solver.reweight(weights)
        again = Graph.from_arcs(on.vertices, on.tails, on.indices, weights)
        np.testing.assert_array_equal(
            solver.routes(sources, targets).edges, kernels.routes(again, sources, targets).edges
        )


@pytest.mark.gpu
def test_turns_labels_and_fractions(few, monkeypatch):
    on, random = graphs.grid(1600), np.random.default_rng(8)
    names = np.array([f"v{i}" for i in range(on.vertices)], object)
    edges = Graph.from_edges(names[on.tails], names[on.indices], on.weights / 10)
    after = [np.flatnonzero(on.tails == head) for head in on.indices[:900]]
    turns = [(edge, int(following[0])) for edge, following in enumerate(after)]
    turning = kernels.with_turns(edges, forbidden=turns[::3], costs=dict.fromkeys(turns[1::3], 4.5))
    sources, targets, second = random.choice(names, 30), random.choice(names, 20), random.integers(1, 9, on.arcs) / 8
    ends, weights = (np.repeat(sources, 20), np.tile(targets, 30)), random.integers(1, 99, on.arcs) / 10

    def answers(solver):
        nearest, routes = solver.nearest(None, 3, targets=targets), solver.routes(*ends, second=second)
        table, pairs = solver.distances(sources, targets, second=second), solver.pair_distances(*ends)
        plain = solver.distances(sources, targets)
        yield from (plain.distances, table.distances, pairs.distances, routes.distances, nearest.distances)
        yield from (nearest.targets, nearest.counts, table.second, routes.second, routes.edges, routes.vertices)

    with kernels.prepare(turning) as solver:
        found = [*answers(solver)]
        assert solver.distances(sources, targets).variant == "hierarchy/targets"
        with pytest.raises(InputError, match="a weight and the cost of a turn sum to more than"):
            solver.reweight(np.full(on.arcs, (2**31 - 1) / 10 - 4.5))
        solver.reweight(weights)
        found += answers(solver)
    monkeypatch.setattr(choice.Card, "visible", lambda: None)
    with kernels.prepare(turning) as solver:
        expected = [*answers(solver)]
        solver.reweight(weights)
        expected += answers(solver)
    for one, right in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, right)
