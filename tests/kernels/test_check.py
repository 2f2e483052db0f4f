"""The checker passes right results, and names each kind of wrong entry."""

from contextlib import nullcontext

import numpy as np
import pytest
from scipy.sparse import csgraph

from kernels import check as checker
from kernels.check import BATCH, check
from kernels.errors import WrongResult
from kernels.graph import INF, MAX_WEIGHT, Graph
from kernels.run import POISON, Result
from tests.support.trees import Counted

# 6 and 7 are out of reach of 0, 5 is a sink; 0 -> 1 is parallel, the dearer arc last; 2 -> 2 is a loop.
ARCS = [(0, 1, 4), (0, 1, 9), (0, 2, 1), (2, 1, 2), (1, 3, 5), (2, 3, 8), (3, 4, 1), (4, 5, 2), (2, 2, 1), (6, 7, 1)]
VERTICES = 8
DISTANCES = [0, 3, 1, 8, 9, 11, INF, INF]
PREDECESSORS = [-1, 2, 0, 1, 3, 4, -1, -1]


def graph_of(vertices, arcs):
    return Graph.from_arcs(vertices, *np.array(arcs).T, meta={"name": "mine"})


def from_0(distances=DISTANCES, predecessors=PREDECESSORS):
    return Result(np.array(distances, np.int32), np.array(predecessors, np.int32))


def all_pairs(graph):
    distances, predecessors = csgraph.dijkstra(graph.to_scipy(), return_predecessors=True)
    predecessors[predecessors < 0] = -1
    return Result(np.where(np.isinf(distances), INF, distances).astype(np.int32), predecessors.astype(np.int32))


def ring(vertices):
    return graph_of(vertices, [(v, (v + 1) % vertices, 1 + v % 7) for v in range(vertices)])


def checked(graph, problem, result, source=0, full_check=1000, checked_rows=256):
    return check(graph, problem, result, source, full_check=full_check, checked_rows=checked_rows)


def test_a_right_result_passes():
    graph = graph_of(VERTICES, ARCS)
    assert checked(graph, "sssp", from_0()) == 1
    assert checked(graph, "sssp", from_0([INF] * 6 + [0, 1], [-1] * 7 + [6]), source=6) == 1
    assert checked(graph, "apsp", all_pairs(graph)) == VERTICES


def test_any_of_several_right_predecessors_passes():
    graph = graph_of(3, [(0, 1, 2), (0, 2, 1), (2, 1, 1), (0, 1, 2)])
    for predecessor in (0, 2):
        assert checked(graph, "sssp", from_0([0, 2, 1], [-1, predecessor, 0])) == 1


@pytest.mark.parametrize("vertex", range(VERTICES))
@pytest.mark.parametrize("change", [-1, 1, None])
def test_a_wrong_distance(vertex, change):
    distances = np.array(DISTANCES, np.int64)
    distances[vertex] = POISON if change is None else distances[vertex] + change
    if distances[vertex] > INF:
        distances[vertex] = 0
    said = f"mine, source 0: .*vertex {vertex} is {distances[vertex]}, .* {DISTANCES[vertex]}"
    with pytest.raises(WrongResult, match=said):
        checked(graph_of(VERTICES, ARCS), "sssp", from_0(distances))
    with pytest.raises(WrongResult, match="mine, source 0"):
        proved(from_0(distances))


def proved(result):
    """Return how many rows are proved right without the oracle."""
    return check(graph_of(VERTICES, ARCS), "sssp", result, 0, full_check=9, checked_rows=9, compared=False)


def test_the_proof_needs_no_oracle(monkeypatch):
    monkeypatch.setattr(checker, "oracle", None)
    assert proved(from_0()) == 1
    monkeypatch.setattr(checker, "MAX_COMPARED", len(ARCS) - 1)
    assert checked(graph_of(VERTICES, ARCS), "sssp", from_0()) == 1
    one_too_far = [d + 1 if d < INF else INF for d in DISTANCES]
    with pytest.raises(WrongResult, match=r"mine, source 0: .* is 1"):
        proved(from_0(one_too_far))


@pytest.mark.parametrize("vertex", range(VERTICES))
@pytest.mark.parametrize("predecessor", [*range(-1, VERTICES + 1), POISON, INF])
def test_a_wrong_predecessor(vertex, predecessor):
    """By a longer way, by no arc, itself, none or one too many, out of reach, and no vertex."""
    predecessors = list(PREDECESSORS)
    predecessors[vertex] = predecessor
    said = rf"mine, source 0: predecessor {predecessor} of vertex {vertex} \(distance {DISTANCES[vertex]}\)"
    right = predecessor == PREDECESSORS[vertex]
    with nullcontext() if right else pytest.raises(WrongResult, match=said):
        assert checked(graph_of(VERTICES, ARCS), "sssp", from_0(predecessors=predecessors)) == 1


def test_predecessors_that_go_in_a_circle():
    # Only arcs of weight 0 can close a circle in which every distance is right.
    graph = graph_of(4, [(0, 1, 5), (1, 2, 0), (2, 1, 0), (2, 3, 1)])
    assert checked(graph, "sssp", from_0([0, 5, 5, 6], [-1, 0, 1, 2])) == 1
    with pytest.raises(WrongResult, match="predecessor 2 of vertex 1"):
        checked(graph, "sssp", from_0([0, 5, 5, 6], [-1, 2, 1, 2]))


@pytest.mark.parametrize("leaves", [50, 200])
def test_a_hubs_arcs_are_read_a_fixed_number_of_times(leaves):
    Counted.reads = 0
    star = graph_of(leaves + 1, [(0, v, v) for v in range(1, leaves + 1)])
    heads, distances = star.indices.view(Counted), np.arange(leaves + 1)
    predecessors = np.array([-1] + [0] * leaves)
    look, fits = checker._look_at_arcs.py_func, np.zeros(leaves + 1, bool)
    assert look(star.indptr, heads, star.weights, distances, predecessors, 0, leaves + 1, fits) == -1
    assert Counted.reads == leaves
    assert fits.tolist() == [False] + [True] * leaves


@pytest.mark.parametrize(
    ("distances", "predecessors", "vertex"),
    [
        ([0, 4, 1, 9, 10, 12, INF, INF], [-1, 0, 0, 2, 3, 4, -1, -1], 1),  # by 0 -> 1, where 0 -> 2 -> 1 is shorter
        ([0, 3, 1, 8, 9, INF, INF, INF], [-1, 2, 0, 1, 3, -1, -1, -1], 5),  # 4 -> 5 is left out
    ],
)
def test_a_longer_way_on_which_the_oracle_agrees(monkeypatch, distances, predecessors, vertex):
    monkeypatch.setattr(checker, "oracle", lambda graph, sources: np.array([distances]))
    with pytest.raises(WrongResult, match=f"mine, source 0: .* vertex {vertex} "):
        checked(graph_of(VERTICES, ARCS), "sssp", from_0(distances, predecessors))


@pytest.mark.parametrize("field", ["distances", "predecessors"])
def test_one_wrong_entry_of_all_pairs(field):
    vertices = BATCH + 10  # the oracle is asked twice
    graph = ring(vertices)
    result = all_pairs(graph)
    assert checked(graph, "apsp", result) == vertices
    source, vertex = vertices - 1, vertices // 2
    values = getattr(result, field)
    values[source, vertex] -= 1
    with pytest.raises(WrongResult, match=rf"source {source}: .*vertex {vertex}"):
        checked(graph, "apsp", result)


def test_of_a_large_graph_random_rows_are_checked():
    graph = ring(40)
    result = all_pairs(graph)
    found = []
    for row in range(40):
        wrong = Result(result.distances.copy(), result.predecessors)
        wrong.distances[row, 3] += 1
        try:
            assert checked(graph, "apsp", wrong, full_check=39, checked_rows=12) == 12
        except WrongResult:
            found.append(row)
    assert len(found) == 12
    assert found[0] > 0 or found[-1] > 11  # not just the first ones
    assert checked(graph, "apsp", result, full_check=39, checked_rows=100) == 40


@pytest.mark.parametrize("problem", ["sssp", "apsp"])
def test_a_distance_too_long_for_the_result_is_refused(problem):
    longest = graph_of(3, [(0, 1, MAX_WEIGHT - 1), (1, 2, 1)])
    result = from_0([0, MAX_WEIGHT - 1, MAX_WEIGHT], [-1, 0, 1]) if problem == "sssp" else all_pairs(longest)
    assert checked(longest, problem, result) == len(np.atleast_2d(result.distances))
    for too_long in (2, MAX_WEIGHT):
        graph = graph_of(3, [(0, 1, MAX_WEIGHT - 1), (1, 2, too_long)])
        with pytest.raises(WrongResult, match=rf"from 0 to 2 is {MAX_WEIGHT - 1 + too_long}, .* {MAX_WEIGHT}"):
            checked(graph, problem, result)
