"""New weights in a solver: all results equal those of a new solver."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import kernels
from kernels import centrality
from kernels.errors import InputError
from kernels.fast.float_graph import FloatGraph
from kernels.graph import INF, MAX_WEIGHT, Graph
from kernels.library.solver import Solver
from kernels.network import Labels, Network
from tests.kernels.library.test_distance_tables import (  # noqa: F401
    FLOATS,
    GRAPHS,
    chain,
    drawn,
    on_card,
)


def parallel() -> Graph:
    """Parallel arcs, loops, several components, arcs of weight 0."""
    return Graph.from_arcs(6, [0, 0, 0, 1, 1, 2, 4, 5], [1, 1, 2, 1, 2, 0, 5, 4], [4, 3, 9, 1, 0, 2, 5, 6])


DIRECTED = {**{name: GRAPHS[name] for name in ("town", "streets", "directed", "no arcs")}, "parallel": parallel}


def open_graph(graph: Graph, weights: np.ndarray) -> Graph:
    """Return the graph with new weights of its arcs, without those of weight inf."""
    is_open = np.isfinite(weights)
    ends = graph.tails[is_open], graph.indices[is_open]
    return Graph.from_arcs(graph.vertices, *ends, weights[is_open].astype(int), meta={"name": graph.name})


def new_weights(count: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.where(random.random(count) < 0.2, np.inf, random.integers(0, 9, count))


def answers(solver: Solver) -> dict:
    """Return the results of all functions of a solver."""
    n = solver.graph.vertices
    sources, targets = drawn(n, 3, 5), drawn(n, 4, 6)
    tree = solver.shortest_paths(0)
    facilities = solver.nearest(None, 2, targets=targets)
    farthest = solver.eccentricities()
    pairs = solver.routes(sources, targets[:3])
    selections = (solver.nearest(sources, 3), solver.reachable(sources, 5), solver.reachable(sources, 5, reverse=True))
    return {
        "one source": tree.distances,
        "limit": solver.shortest_paths(1, limit=6).distances,
        "reached": tree.predecessors >= 0,
        "several": solver.paths_from(sources).distances,
        "pairs": solver.all_pairs().distances,
        "table": solver.distances(sources, targets).distances,
        "whole": solver.distances(sources, dtype="int32").distances,
        "within": solver.distances(sources, targets, limit=4).distances,
        "pieces": np.vstack([rows for _, rows in solver.distance_pieces(sources, rows=2)]),
        "facilities": facilities.targets,
        "counts": facilities.counts,
        "to facilities": facilities.distances,
        "from facilities": solver.nearest(sources, 2, targets=targets, reverse=True).distances,
        **{f"selection {i}": found.toarray() for i, found in enumerate(selections)},
        "between pairs": solver.pair_distances(sources, targets[:3]).distances,
        "routes": pairs.distances,
        "eccentricity": farthest.eccentricity,
        "total": farthest.total,
        "weights": solver.graph.to_scipy().toarray(),
    }


def assert_same_answers(solver: Solver, graph, **options) -> None:
    with Solver(graph, **options) as new:
        expected = answers(new)
    for name, found in answers(solver).items():
        np.testing.assert_array_equal(found, expected[name], err_msg=name)


def change_weights(graph: Graph, kinds=(np.float64, np.float32, np.int64)) -> None:
    """Change weights several times, before and after the first search."""
    with Solver(graph) as solver:
        for seed, kind in enumerate(kinds):
            weights = new_weights(graph.arcs, seed)
            if np.dtype(kind).kind == "i":
                weights[np.isinf(weights)] = 7
            solver.reweight(weights.astype(kind))
            assert_same_answers(solver, open_graph(graph, weights))
        solver.reweight(graph.weights)
        assert_same_answers(solver, graph)


@pytest.mark.parametrize("name", DIRECTED)
def test_without_a_card(name, no_card):
    change_weights(DIRECTED[name]())


@pytest.mark.simulator
@pytest.mark.parametrize("name", ["parallel", "no arcs"])
def test_on_a_card(name, on_card):  # noqa: F811
    change_weights(DIRECTED[name](), (np.float32, np.int32))


@pytest.mark.simulator
@pytest.mark.parametrize("on_card", ["hierarchy"], indirect=True)
def test_the_hierarchy_is_kept(on_card, monkeypatch):  # noqa: F811
    graph = GRAPHS["town"]()
    with Solver(graph) as solver:
        solver.distances([0], [1])
        solver.eccentricities()
        solver.reachable([0], 3, reverse=True)
        hierarchy = solver._in_whole_numbers.hierarchy
        laid_out, monkeyed = dict(hierarchy.laid_out), []
        monkeypatch.setattr(
            "kernels.fast.hierarchy.elimination.prepare_hierarchy", lambda given: monkeyed.append(given)
        )
        for seed in range(3):
            weights = new_weights(graph.arcs, seed)
            solver.reweight(weights)
            assert "weights" not in vars(solver.graph)  # no array is made on the host
            found = solver.distances([0, 5, 9], [1, 26, 3])
            assert found.variant == "hierarchy/targets" and solver._in_whole_numbers.hierarchy is hierarchy
            right = open_graph(graph, weights).to_scipy()
            exact = sparse.csgraph.dijkstra(right, indices=[0, 5, 9])[:, [1, 26, 3]]
            np.testing.assert_array_equal(found.distances, exact)
            assert "of_edges" not in vars(solver.graph.new_weights)
            every = sparse.csgraph.dijkstra(right)
            nearest = solver.nearest(None, 2, targets=[1, 26, 3])
            np.testing.assert_array_equal(nearest.distances, np.sort(every[:, [1, 26, 3]], axis=1)[:, :2])
            pairs = solver.pair_distances([0, 5, 9], [3, 26, 1])
            np.testing.assert_array_equal(pairs.distances, every[[0, 5, 9], [3, 26, 1]])
            total = solver.eccentricities().total
            np.testing.assert_array_equal(total, every.sum(axis=1, where=np.isfinite(every)))
            back = np.asarray(solver.reachable([7], 30, reverse=True).toarray())
            exact = sparse.csgraph.dijkstra(right.T.tocsr(), indices=[7], limit=30)
            np.testing.assert_array_equal(back, np.where(np.isinf(exact), 0, exact))
        assert hierarchy.laid_out == laid_out and not monkeyed
    assert solver.graph.weights.tolist() == weights[np.isfinite(weights)].tolist()  # after the card's memory was freed


def turning(weights) -> Graph:
    """Streets with parallel edges, costs of turns and forbidden turns."""
    grid = GRAPHS["streets"]()
    edges = Graph.from_edges(grid.tails, grid.indices, weights)
    leading = [np.flatnonzero(edges.tails == head)[:1] for head in edges.indices]
    turns = [(edge, int(others[0])) for edge, others in enumerate(leading) if len(others)]
    return kernels.with_turns(edges, forbidden=turns[:20:3], costs=dict.fromkeys(turns[1::4], 4))


def test_turns_stay(no_card):
    solver = Solver(turning(GRAPHS["streets"]().weights))
    assert solver.graph.vertices > 16
    count = GRAPHS["streets"]().arcs
    for seed in range(2):
        weights = np.random.default_rng(seed).integers(1, 9, count)
        solver.reweight(weights)
        with Solver(turning(weights)) as new:
            sources = np.arange(16)
            np.testing.assert_array_equal(solver.distances(sources).distances, new.distances(sources).distances)
            found, right = (one.reachable([4, 7], 9, reverse=True).toarray() for one in (solver, new))
            np.testing.assert_array_equal(found, right)
            found, right = (one.nearest(None, 2, targets=[3, 9]) for one in (solver, new))
            np.testing.assert_array_equal(found.distances, right.distances)
            np.testing.assert_array_equal(found.targets, right.targets)
    closed, before = np.where(np.arange(count) % 5 == 0, np.inf, weights), solver.distances(sources).distances
    solver.reweight(closed)
    assert (solver.distances(sources).distances >= before).all()
    assert (np.isfinite(closed[solver.graph.edges]) | (solver.graph.edges < 0)).all()
    for largest in (MAX_WEIGHT - 3, MAX_WEIGHT - 1):  # with a turn of cost 4, the first is INF
        with pytest.raises(InputError, match="a weight and the cost of a turn sum to more than"):
            solver.reweight(np.full(count, largest))


def undirected() -> tuple[Graph, Graph]:
    """Return a graph whose edges lead both ways, and the same graph without a network."""
    edges = Graph.from_arcs(5, [0, 3, 1, 3, 0], [1, 2, 2, 4, 3], [4, 1, 3, 5, 6])
    numbered = replace(edges, network=Network(np.array([4, 0, 3, 1, 2], np.int32)))
    return numbered.undirected(), edges


@pytest.mark.parametrize("known", [True, False], ids=["by the network", "by the solver"])
def test_edges_that_lead_both_ways(known, no_card):
    both, edges = undirected()
    order = np.array([4, 0, 3, 1, 2]) if known else np.arange(5)
    with Solver(both) if known else Solver(edges, directed=False) as solver:
        for weights in ([1, 2, 3, 4, 5], [np.inf, 2, 0, 4, np.inf], [4, 1, 3, 5, 6]):
            solver.reweight(weights)
            assert_same_answers(solver, open_graph(edges, np.array(weights, float)[order]), directed=False)
            if known:
                ends = sorted(zip(solver.graph.edges.tolist(), solver.graph.weights.tolist(), strict=True))
                assert ends == sorted((i, w) for i, w in enumerate(weights) if w < np.inf for _ in range(2))


@pytest.mark.parametrize("directed", [True, False])
def test_arcs_with_edges_of_their_own_lose_their_symmetry(directed, no_card):
    both = Graph.from_arcs(3, [0, 1, 1, 2], [1, 0, 2, 1], [5, 5, 2, 2], directed=False)
    weights = np.array([np.inf, 5, 2, 3])
    expected = [[0, np.inf, np.inf], [5, 0, 2], [8, 3, 0]]
    for graph in both, replace(both, network=Network(both.edges)):
        with Solver(graph, directed=directed) as solver:
            solver.reweight(weights)
            np.testing.assert_array_equal(solver.distances(range(3)).distances, expected)
            np.testing.assert_array_equal(
                solver.nearest(None, 1, targets=[2]).distances[:, 0], np.array(expected)[:, 2]
            )
            np.testing.assert_array_equal(solver.reachable([2], 9, reverse=True).toarray(), [[0, 2, 0]])
            np.testing.assert_array_equal(solver.graph.edge_weights, weights)
            solver.reweight([1, 5, 2, 7])
            assert centrality.wiener_index(solver) == 1 + 5 + 2 + 7 + (1 + 2) + (7 + 5)
            solver.reweight([1, 1, 2, 2])
            assert centrality.wiener_index(solver) == 1 + 2 + (1 + 2)


def test_weights_of_closed_edges_are_infinite(no_card):
    with Solver(Graph.from_edges([0, 1], [1, 2], [1, 2])) as solver:
        solver.reweight([1, np.inf])
        assert solver.graph.edge_weights.tolist() == [1, np.inf]
        solver.reweight(solver.graph.edge_weights)
        assert solver.distances([0]).distances.tolist() == [[0, 1, np.inf]]
        with Solver(solver.graph) as other:  # a solver of the open edges
            assert other.reachable([1], 9, reverse=True).toarray().tolist() == [[1, 0, 0]]
            other.reweight([3])
            assert other.distances([0]).distances.tolist() == [[0, 3, np.inf]]
        assert kernels.distances(solver.graph, [0], second=[5, 6.0]).second[0, 1] == 5
    with Solver(Graph.from_arcs(3, [0, 1], [1, 2], [1, 2])) as solver:
        solver.reweight([np.inf, 2])
        assert kernels.distances(solver.graph, [1], [2], second=[5, 6.0]).second == 6
        with Solver(solver.graph) as other:
            assert other.distances([1], [2], second=[5, 6.0]).second == 6
            other.reweight(solver.graph.edge_weights)
            assert other.distances([1]).distances.tolist() == [[np.inf, 0, 2]]


def test_the_unit_and_the_labels_stay(no_card):
    graph = chain(5, 10, 20)
    labels = Labels(np.array(["a", "b", "c", "d"], object))
    graph = replace(graph, network=Network(np.array([2, 0, 1], np.int32), labels=labels, unit=0.5))
    with Solver(graph) as solver:
        solver.reweight([1.5, 2.26, np.inf])
        assert solver.graph.weights.tolist() == [3, 5] and solver.graph.edges.tolist() == [0, 1]
        assert solver.graph.unit == 0.5 and solver.graph.labels.tolist() == ["a", "b", "c", "d"]
        assert solver.nearest(["a", "b"], 1, targets=["d"]).distances.tolist() == [[np.inf], [4.0]]
        copied = pickle.loads(pickle.dumps(solver.graph))
        assert copied.weights.tolist() == [3, 5] and copied.edges.tolist() == [0, 1] and copied.arcs == 2


@pytest.mark.simulator
@pytest.mark.parametrize("on_card", ["hierarchy"], indirect=True)
def test_the_card_rounds_as_the_host_does(on_card):  # noqa: F811
    unit, weights = 0.5, np.r_[0.25, 0.75, 1.25, 1.75, np.random.default_rng(0).random(20) * 1e4, np.inf]
    graph = chain(*range(len(weights)))
    graph = replace(graph, network=Network(np.arange(graph.arcs, dtype=np.int32), unit=unit))
    found = []
    for on_the_card in (False, True):
        with Solver(graph) as solver:
            if on_the_card:
                solver.distances([0], [1])
            solver.reweight(weights)
            found.append(solver.graph.weights.tolist())
    assert found[0] == found[1] and found[0][:4] == [0, 2, 2, 4]


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", FLOATS)
def test_weights_in_float64(name, directed, no_card):
    if name == "negative" and not directed:
        return  # a negative cycle
    array = FLOATS[name]().tocsr()
    with Solver(array, directed=directed) as solver:
        for seed in range(3):
            changed = array.copy()
            changed.data = new_weights(array.nnz, seed) * (0.1 if seed < 2 else 1)
            solver.reweight(changed.data)
            with Solver(changed, directed=directed) as new:
                assert type(solver.graph) is type(new.graph)
                np.testing.assert_array_equal(solver.all_pairs().distances, new.all_pairs().distances)
                np.testing.assert_array_equal(
                    solver.distances([1], [0, 2]).distances, new.distances([1], [0, 2]).distances
                )


def assert_routes(solver: Solver, weights) -> None:
    """Check that the edges of routes, as positions in the user's list, are open and make up the distances."""
    n = solver.graph.vertices
    found = solver.routes(
        np.repeat(np.arange(n), n), np.tile(np.arange(n), n), second=np.where(np.isinf(weights), 0, weights)
    )
    sums = np.array([np.asarray(weights)[route.edges].sum() for route in found])
    reached = np.isfinite(found.distances)
    np.testing.assert_allclose(sums[reached], found.distances[reached])
    np.testing.assert_allclose(found.second[reached], found.distances[reached])
    assert reached.sum() > n


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("scale", [1, 0.5], ids=["whole", "float64"])
def test_routes_have_the_users_edges(scale, directed, no_card):
    graph = parallel()
    given = graph if scale == 1 else FloatGraph(graph.indptr, graph.indices, graph.weights * 0.5)
    with Solver(given, directed=directed) as solver:
        assert_routes(solver, graph.weights * scale)
        for closed in (1, 4):
            weights = np.where(np.arange(graph.arcs) == closed, np.inf, graph.weights[::-1] * scale)
            solver.reweight(weights)
            assert_routes(solver, weights)


@pytest.mark.simulator
@pytest.mark.parametrize("on_card", ["hierarchy"], indirect=True)
def test_routes_on_a_card_have_the_users_edges(on_card):  # noqa: F811
    graph = parallel()
    with Solver(graph) as solver:
        solver.distances([0], [1])
        for closed in (1, 4):
            weights = np.where(np.arange(graph.arcs) == closed, np.inf, graph.weights[::-1])
            solver.reweight(weights)
            assert_routes(solver, weights)


WRONG = {
    "of an edge more": ([1, 2, 3], "3 weights for 2 edges: give one for each"),
    "negative": ([1, -2], "edge 1: weight -2 is not a whole number from 0 to"),
    "a fraction": ([0.5, 1], r"edge 0: weight 0\.5 is not a whole number .* with a smaller unit"),
    "missing": ([1, np.nan], "edge 1: weight nan is not"),
    "minus infinity": ([-np.inf, 1], "edge 0: weight -inf is not"),
    "too large": ([1, INF], f"edge 1: weight {INF} is not"),
    "far too large": (np.array([2**63 + 2, 1], np.uint64), "edge 0: weight "),
    "texts": (["1", "2"], "weights must be integers or floats, not"),
    "a number": (3, "weights must be a list or an array of one dimension, not 3"),
    "a table": (np.ones((2, 2)), "of one dimension"),
}


@pytest.fixture(params=["no_card", pytest.param("on_card", marks=pytest.mark.simulator)])
def anywhere(request):
    if request.param == "no_card":
        return request.getfixturevalue("no_card")
    return request.getfixturevalue("on_card")


@pytest.mark.parametrize("name", WRONG)
def test_wrong_weights_change_nothing(name, no_card):
    assert_refused(*WRONG[name])


@pytest.mark.simulator
@pytest.mark.parametrize("on_card", ["hierarchy"], indirect=True)
@pytest.mark.parametrize("name", ["a fraction", "minus infinity", "far too large"])  # that the card reads
def test_wrong_weights_change_nothing_on_a_card(name, on_card):  # noqa: F811
    assert_refused(*WRONG[name])


def assert_refused(weights, message) -> None:
    graph = chain(4, 5)
    with Solver(graph) as solver:
        for given in (graph.weights, [MAX_WEIGHT, 1], [np.inf, 3]):
            solver.reweight(given)
            before = solver.distances([0, 1], [2, 1]).distances
            with pytest.raises(InputError, match=message):
                solver.reweight(weights)
            np.testing.assert_array_equal(solver.distances([0, 1], [2, 1]).distances, before)
        assert solver.graph.weights.tolist() == [3]


def test_floats_that_are_wrong(no_card):
    with Solver(FloatGraph.of(chain(3, 4))) as solver:
        for weights in ([1, np.nan], [1, -np.inf]):
            with pytest.raises(InputError, match=r"edge 1: weight .* is neither finite nor inf"):
                solver.reweight(weights)


def test_a_closed_solver(no_card):
    solver = kernels.prepare(chain(3, 4))
    solver.close()
    with pytest.raises(InputError, match="is closed"):
        solver.reweight([1, 2])
