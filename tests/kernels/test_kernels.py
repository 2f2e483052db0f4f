"""Every variant against SciPy; those for a GPU in numba's CUDA simulator."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

from kernels import harness
from kernels.graph import INF, MAX_WEIGHT, Graph
from kernels.registry import VARIANTS
from tests.support.trees import allows_zero_weights, assert_trees, lengths, with_scipys_fills


class Case(NamedTuple):
    """A graph, arcs as (tail, head, weight), and how a variant runs on it."""

    vertices: int
    arcs: list
    source: int
    block: int
    tile: int


# A simulated thread takes about 0.1 ms, one that meets barriers 1 ms, and all pairs take many threads.
MAX_VERTICES = {"sssp": 13, "apsp": 5}
EXAMPLES = {"sssp": 12, "apsp": 4}

# 4 and 7 are sinks; 6 and 7 are unreachable from the others; 0 -> 1 is parallel, 3 -> 3 a loop;
# 0 -> 5 and 2 -> 4 are as long as a distance may be, 0 -> 4 is longer.
HARD = Case(
    vertices=8,
    arcs=[
        *[(0, 1, 9), (0, 1, 2), (0, 1, 30), (1, 2, 4), (2, 3, 1), (0, 3, MAX_WEIGHT), (3, 3, 1), (3, 0, 3)],
        *[(0, 5, MAX_WEIGHT), (5, 4, 2), (3, 5, MAX_WEIGHT - 3), (6, 7, 1), (6, 0, 6)],
    ],
    source=0,
    block=3,
    tile=3,
)
POSITIVE = [
    HARD,
    Case(3, [(0, 1, MAX_WEIGHT), (1, 2, 1)], source=0, block=3, tile=2),  # a distance that is one too long
    Case(4, [(0, 1, 5), (0, 2, 1), (2, 1, 3), (1, 3, 1)], source=0, block=4, tile=4),  # one that falls by one
    Case(1, [(0, 0, 5)], source=0, block=4, tile=2),
    Case(3, [], source=1, block=4, tile=2),
]
# Circles of arcs of weight 0, in which a predecessor must not be a vertex's own successor.
FREE = [
    Case(
        vertices=7,
        arcs=[
            *[(0, 1, 0), (1, 2, 0), (2, 0, 0), (2, 3, 0), (4, 5, 0), (5, 4, 0), (6, 6, 0), (6, 4, 0)],
            *[(3, 4, 7), (0, 5, 9)],
        ],
        source=0,
        block=8,
        tile=4,
    ),
    Case(5, [(0, 1, 7), (1, 2, 0), (2, 3, 0), (3, 1, 0), (2, 1, 0), (1, 0, 0)], source=0, block=5, tile=4),
    Case(4, [(0, 1, 0), (1, 0, 0), (3, 0, 5)], source=3, block=4, tile=4),  # a circle before the source in order
    Case(4, [(3, 2, 0), (2, 1, 0), (0, 3, 0)], source=0, block=4, tile=4),  # each waits for the one after it
    *(
        Case(5, [(0, 1, MAX_WEIGHT - 1), (1, 2, 1), (2, 3, last)], source=0, block=4, tile=4)
        for last in (0, 1)  # as long as a distance may be, and one longer
    ),
]


def circle(vertices):
    """Through every vertex, an odd number of them: whichever is left out breaks it."""
    return Case(vertices, [(u, (u + 2) % vertices, u + 1) for u in range(vertices)], source=3, block=3, tile=2)


@st.composite
def cases(draw, problem, least):
    """Draw a case; sinks, unreachable vertices, loops and parallel arcs are frequent."""
    vertices = draw(st.integers(1, MAX_VERTICES[problem]))
    vertex = st.integers(0, vertices - 1)
    weight = st.one_of(st.integers(least, 9), st.integers(1, MAX_WEIGHT), st.integers(MAX_WEIGHT - 9, MAX_WEIGHT))
    arcs = draw(st.lists(st.tuples(vertex, vertex, weight), max_size=3 * vertices))
    return Case(vertices, arcs, draw(vertex), draw(st.integers(2, 5)), draw(st.integers(2, 4)))


def true_distances(case):
    """int64, (n, n), by SciPy's Floyd-Warshall; INF if there is no path, or only longer ones than may be."""
    cheapest = np.full((case.vertices,) * 2, np.inf)
    for tail, head, weight in case.arcs:
        cheapest[tail, head] = min(cheapest[tail, head], weight)
    exact = csgraph.floyd_warshall(csgraph.csgraph_from_dense(cheapest, null_value=np.inf))
    return np.where(exact <= MAX_WEIGHT, exact, INF).astype(np.int64)


@pytest.mark.parametrize(
    "variant", [pytest.param(v, id=key, marks=[pytest.mark.simulator] * v.on_gpu) for key, v in VARIANTS.items()]
)
def test_every_variant_against_scipy(variant):
    random = 1 if variant.cuda_graph else EXAMPLES[variant.problem]  # CUDA graphs are of a real card
    free = allows_zero_weights(variant)

    # Cases are small and not shrunk, which would take minutes in the simulator.
    @settings(max_examples=random, phases=(Phase.explicit, Phase.generate), derandomize=True, deadline=None)
    @given(cases(variant.problem, 0 if free else 1))
    def is_right(case):
        graph = Graph.from_arcs(case.vertices, *np.array(case.arcs, np.int64).reshape(-1, 3).T)
        protocol = harness.RunSettings(warmup_launches=0, source=case.source, block=case.block, tile=case.tile)
        run, result = harness.run_once(variant, graph, protocol)
        sources = [case.source] if variant.problem == "sssp" else range(case.vertices)
        expected = true_distances(case)[sources]
        assert result.distances.reshape(expected.shape).tolist() == expected.tolist()
        assert_trees(lengths(graph.to_scipy(), True), sources, *with_scipys_fills(result))
        assert variant.launches(case.vertices, case.tile) in (run.launches, None)

    for case in (*POSITIVE, circle(MAX_VERTICES[variant.problem]), *(FREE if free else [])):
        is_right = example(case)(is_right)
    is_right()


def solve(key, arcs, **settings):
    """Distances and predecessors as lists."""
    graph = Graph.from_arcs(1 + max(max(arc[:2]) for arc in arcs), *np.array(arcs).T)
    protocol = harness.RunSettings(**{"warmup_launches": 0, "block": 4, "tile": 4, **settings})
    _, result = harness.run_once(VARIANTS[key], graph, protocol)
    return result.distances.tolist(), result.predecessors.tolist()


@pytest.mark.simulator
@pytest.mark.parametrize("name", ["tiled", "tiled_shared"])
def test_the_threads_of_a_tile_wait_for_each_other(name):
    """Along a path within one tile nearly every thread needs results of others."""
    for path in ([0, 3, 2, 1], [0, 7, 3, 6, 1, 5, 2, 4]):
        distances, predecessors = solve(f"floyd_warshall/{name}", [(u, v, 1) for u, v in pairwise(path)], tile=8)
        for start, source in enumerate(path):
            assert [distances[source][v] for v in path] == [INF] * start + list(range(len(path) - start))
            assert [predecessors[source][v] for v in path] == [-1] * (start + 1) + path[start:-1]


@pytest.mark.parametrize(
    ("algorithm", "names", "launches"),
    [
        ("bellman_ford", ["naive", "stride", "stride_flag"], 2 * 99 + 1),
        ("dijkstra", ["naive"], 1),
        ("floyd_warshall", ["super_naive", "super_naive_shared", "naive"], 100),
        ("floyd_warshall", ["tiled", "tiled_shared"], 3 * 4),
    ],
)
def test_launches_on_a_hundred_vertices_are_the_papers(algorithm, names, launches):
    for name in names:
        assert VARIANTS[f"{algorithm}/{name}"].launches(100, 32) == launches
        if graph_variant := VARIANTS.get(f"{algorithm}/{name}_graph"):
            assert graph_variant.launches(100, 32) == launches
