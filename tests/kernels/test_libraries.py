"""Results of libraries, converted in blocks of rows, with arcs of weight 0, and within the time limit."""

import numpy as np
import pytest

from kernels import harness, libraries
from kernels.check import check
from kernels.errors import TimeLimit
from kernels.graph import Graph
from kernels.registry import VARIANTS
from kernels.run import Result, Run
from tests.support.trees import Counted

BASELINES = [key for key, variant in VARIANTS.items() if variant.function.__module__ == libraries.__name__]


def random_graph(seed, vertices=40, arcs=90, heaviest=3):
    """Weights from 0, with cycles of weight 0, loops, parallel arcs and sinks."""
    random = np.random.default_rng(seed)
    tails, heads = random.integers(0, vertices, (2, arcs))
    return Graph.from_arcs(vertices, tails, heads, random.integers(0, heaviest, arcs))


def test_they_run_on_the_cpu():
    assert [
        *("dijkstra/scipy", "dijkstra/scipy_apsp", "dijkstra/networkit", "dijkstra/networkit_apsp"),
        "floyd_warshall/scipy",
    ] == BASELINES
    assert not any(VARIANTS[key].on_gpu for key in BASELINES)
    assert [key for key, variant in VARIANTS.items() if variant.parallel] == ["dijkstra/networkit_apsp"]


@pytest.mark.parametrize("rows", [1, 7, 256])
@pytest.mark.parametrize("key", BASELINES)
def test_results_pass_the_check_whatever_the_blocks(monkeypatch, key, rows):
    monkeypatch.setattr(libraries, "SOURCES_AT_ONCE", rows)
    for seed in range(2):
        variant, graph = VARIANTS[key], random_graph(seed)
        _, result = harness.run_once(variant, graph, harness.RunSettings(source=seed))
        rows = check(graph, variant.problem, result, seed, full_check=40, checked_rows=40)
        assert rows == (1 if variant.problem == "sssp" else 40)


def test_of_wrong_distances_predecessors_are_left_out_and_it_ends():
    graph = Graph.from_arcs(3, [1, 2], [2, 1], [0, 0])
    predecessors = np.full((1, 3), -7, np.int32)
    distances = np.array([[0, 5, 5]], np.int32)  # 1 and 2 are out of reach
    libraries._find_predecessors(*(graph.indptr, graph.indices, graph.weights), np.array([0]), distances, predecessors)
    assert predecessors.tolist() == [[-1, -1, -1]]


@pytest.mark.parametrize("vertices", [50, 200])
def test_each_free_arc_is_read_no_more_than_twice(vertices):
    """On a path to vertex 0, against the order in which vertices are visited."""
    Counted.reads = 0
    u = np.arange(vertices - 1)
    path = Graph.from_arcs(vertices, u + 1, u, np.zeros(len(u), int))
    predecessors = np.full(vertices, -7, np.int32)
    find = libraries._find_predecessors_from.py_func
    arcs = path.indptr, path.indices.view(Counted), path.weights
    find(*arcs, vertices - 1, np.zeros(vertices, np.int32), predecessors)
    assert predecessors.tolist() == [*range(1, vertices), -1]
    assert Counted.reads == 2 * path.arcs


@pytest.mark.parametrize("key", [key for key in BASELINES if key.endswith("_apsp")])
def test_the_time_limit_is_looked_at_after_each_block(monkeypatch, key):
    monkeypatch.setattr(libraries, "SOURCES_AT_ONCE", 4)
    result = Result.poisoned("apsp", 10)
    looks = []

    class Limited(Run):
        def check_limit(self):
            looks.append((result.distances != -7).any(axis=1).sum())
            if len(looks) == 2:
                raise TimeLimit(1)

    with pytest.raises(TimeLimit):
        VARIANTS[key].function(random_graph(0, vertices=10, arcs=20), result, Limited(on_gpu=False))
    assert looks == [4, 8]
