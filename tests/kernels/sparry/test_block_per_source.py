"""The kernels that give each source a block: work in shared and global memory, directed and undirected, any delta."""

import numpy as np
import pytest

from kernels.check import check
from kernels.gpu import card
from kernels.graph import INF, MAX_WEIGHT, Graph
from kernels.run import Result, Run
from kernels.sparry import block_per_source, delta_stepping, dijkstra, edge

pytestmark = pytest.mark.simulator

DRIVERS = {
    "edge sssp": ("sssp", edge.sssp),
    "edge apsp": ("apsp", edge.apsp),
    "dijkstra": ("apsp", dijkstra.block_apsp),
    "delta-stepping": ("apsp", delta_stepping.block_apsp),
}


def graph(directed: bool, vertices: int = 7, edges: int = 9) -> Graph:
    """Random, with parallel arcs, a self-loop, and unreachable vertices."""
    rng = np.random.default_rng(5)
    tails, heads = rng.integers(0, vertices - 2, (2, edges))
    weights = rng.integers(1, 30, edges)
    tails[-1] = heads[-1] = 3
    if directed:
        return Graph.from_arcs(vertices, tails, heads, weights)
    there_and_back = np.r_[tails, heads], np.r_[heads, tails], np.r_[weights, weights]
    return Graph.from_arcs(vertices, *there_and_back, directed=False)


def solve(name: str, on: Graph, **settings) -> tuple[Result, list]:
    """Return the checked result, and for each launch whether its work was in shared memory."""
    problem, driver = DRIVERS[name]
    shared = []

    class Watched(Run):
        def launch(self, *launches, times=1):
            shared.extend(launch[4] > 0 for launch in launches if len(launch) > 4)
            super().launch(*launches, times=times)

    result = Result.poisoned(problem, on.vertices)
    driver(on, result, Watched(source=1, block=4, **settings))
    rows = check(on, problem, result, 1, full_check=on.vertices, checked_rows=1)
    assert rows == (1 if problem == "sssp" else on.vertices)
    return result, shared


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("limit", [0, 1 << 10], ids=["global", "shared"])
@pytest.mark.parametrize("name", DRIVERS)
def test_right_wherever_the_work_is_kept(name, limit, directed):
    _, shared = solve(name, graph(directed), shared=limit)
    assert shared == [limit > 0]


def test_work_that_just_fits_is_kept_in_shared_memory():
    n = graph(True).vertices
    assert solve("dijkstra", graph(True), shared=5 * n)[1] == [True]
    assert solve("dijkstra", graph(True), shared=5 * n - 1)[1] == [False]


def test_the_default_delta():
    on = Graph.from_arcs(3, [0, 0, 1, 2], [1, 2, 2, 0], [5, 10, 3, 7])
    assert delta_stepping.default_delta(on) == 8  # ceil(10 / (4 / 3))
    assert delta_stepping.default_delta(Graph.from_arcs(2, *np.empty((3, 0), int))) == 1
    assert delta_stepping.default_delta(Graph.from_arcs(3, [0], [1], [MAX_WEIGHT])) == INF


def test_nothing_larger_than_a_row_a_block_is_allocated_besides_the_results():
    on, sizes = graph(True), []

    class Watched(Run):
        def allocate(self, *arrays):
            sizes.extend(arrays)
            return super().allocate(*arrays)

    run = Watched(block=4, grid=2)
    dijkstra.block_apsp(on, Result.poisoned("apsp", on.vertices), run)
    results, work = sizes[:2], sizes[2:]
    assert [length for length, _ in results] == [on.vertices**2] * 2
    assert [length for length, _ in work] == [run.blocks * on.vertices] * 2
    assert run.launches == block_per_source.launches(on.vertices, 32) == 2
    assert card.SIMULATED
