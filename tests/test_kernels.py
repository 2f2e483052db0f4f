"""Every variant against SciPy; those for a GPU in numba's CUDA simulator."""

import dataclasses
import functools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

from kernels import harness, serial
from kernels.device import POISON, Result, Run
from kernels.errors import WrongResult
from kernels.graph import INF, MAX_WEIGHT, Graph
from kernels.variants import VARIANTS

# A simulated thread takes about 0.1 ms, one that meets barriers 1 ms, and all pairs take very many threads.
MAX_VERTICES = {"sssp": 13, "apsp": 7}
EXAMPLES = {"sssp": 60, "apsp": 12}
VARIANT_KEYS = [
    pytest.param(key, marks=[pytest.mark.simulator] if variant.on_gpu else []) for key, variant in VARIANTS.items()
]

# 11 vertices: 4, 9 and 10 are sinks, 7 to 10 out of reach of 0, 0 -> 1 parallel, 5 -> 5 a loop,
# 0 -> 6 as long as a distance may be, 3 -> 6 -> 4 longer than that.
HARD = (
    11,
    [
        *[(0, 1, 9), (0, 1, 2), (0, 1, 30), (1, 2, 4), (2, 3, 1), (0, 3, MAX_WEIGHT), (3, 5, 8), (5, 5, 1)],
        *[(5, 0, 3), (0, 6, MAX_WEIGHT), (6, 4, MAX_WEIGHT), (3, 6, MAX_WEIGHT - 1), (2, 4, 50), (7, 8, 1)],
        *[(8, 7, 1), (8, 9, 5), (7, 0, 6), (8, 10, MAX_WEIGHT)],
    ],
)


def arcs(vertices):
    """Up to three times as many arcs as vertices: sinks, loops, parallel arcs and separate parts come by themselves."""
    vertex = st.integers(0, vertices - 1)
    weight = st.one_of(st.integers(1, 9), st.integers(1, MAX_WEIGHT), st.integers(MAX_WEIGHT - 9, MAX_WEIGHT))
    return st.lists(st.tuples(vertex, vertex, weight), max_size=3 * vertices)


def graphs(max_vertices):
    """(vertices, arcs), arcs as (tail, head, weight)."""
    return st.integers(1, max_vertices).flatmap(lambda n: st.tuples(st.just(n), arcs(n)))


def build(vertices, arcs):
    return Graph.from_arcs(vertices, *np.array(arcs, np.int64).reshape(-1, 3).T)


def true_distances(vertices, arcs):
    """int64, (n, n), by SciPy's Floyd-Warshall; INF where there is no path, or only longer ones than may be."""
    cheapest = np.full((vertices, vertices), np.inf)
    for tail, head, weight in arcs:
        cheapest[tail, head] = min(cheapest[tail, head], weight)
    exact = csgraph.floyd_warshall(csgraph.csgraph_from_dense(cheapest, null_value=np.inf))
    return np.where(exact <= MAX_WEIGHT, exact, INF).astype(np.int64)


def assert_right(arcs, source, expected, distances, predecessors):
    """Distances as expected, and every predecessor by an arc that closes the distance, down to the source."""
    assert distances.tolist() == expected.tolist()
    cheapest = {}
    for tail, head, weight in arcs:
        cheapest[tail, head] = min(weight, cheapest.get((tail, head), INF))
    for v, p in enumerate(predecessors.tolist()):
        if v == source or expected[v] == INF:
            assert p == -1
        else:  # weights are positive, so this leads to ever shorter distances and ends at the source
            assert expected[p] + cheapest[p, v] == expected[v]


@pytest.mark.parametrize("key", VARIANT_KEYS)
def test_every_variant_against_scipy(key):
    variant = VARIANTS[key]

    @settings(max_examples=EXAMPLES[variant.problem], derandomize=True, deadline=None)
    @given(graph=graphs(MAX_VERTICES[variant.problem]), block=st.sampled_from([4, 8]), tile=st.integers(2, 4), data=st.data())
    def holds(graph, block, tile, data):
        source = data.draw(st.integers(0, graph[0] - 1)) if variant.problem == "sssp" else 0
        assert_variant(variant, graph, Run(source, block, tile, on_gpu=variant.on_gpu))

    holds()


@pytest.mark.parametrize("key", VARIANT_KEYS)
@pytest.mark.parametrize(("block", "tile"), [(8, 4), (4, 3)])
def test_every_variant_on_a_hard_graph(key, block, tile):
    pass


def assert_variant(variant, graph, run):
    expected = true_distances(*graph)
    result = Result.poisoned(variant.problem, graph[0])
    variant.function(build(*graph), result, run)
    assert run.launches == variant.launches(graph[0], run.tile)
    if variant.problem == "sssp":
        assert_right(graph[1], run.source, expected[run.source], result.distances, result.predecessors)
    else:
        for source in range(graph[0]):
            row = expected[source], result.distances[source], result.predecessors[source]
            assert_right(graph[1], source, *row)
