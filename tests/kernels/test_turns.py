"""Forbidden and costly turns: distances are those of Dijkstra's algorithm over vertices and the last edges."""

import heapq
import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import kernels
from kernels import centrality
from kernels.errors import InputError
from kernels.graph import INF, MAX_WEIGHT, Graph
from kernels.network import Labels, Network


def network(vertices, tails, heads, weights, *, directed=True, **more):
    """Return the graph of a list of edges, with their positions."""
    edges = np.arange(len(tails))
    if not directed:
        tails, heads, weights, edges = np.r_[tails, heads], np.r_[heads, tails], np.tile(weights, 2), np.tile(edges, 2)
    order = Graph.from_arcs(vertices, tails, heads, np.arange(len(tails))).weights
    graph = Graph.from_arcs(vertices, tails, heads, weights, directed=directed)
    return replace(graph, network=Network(edges[order].astype(np.int32), **more))


def streets(seed, *, directed):
    """Return a random graph of few vertices with parallel edges and a loop."""
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, 7, (2, 18 if directed else 11))
    heads[:-1] += tails[:-1] == heads[:-1]
    return network(8, tails, heads, rng.integers(0, 9, len(tails)), directed=directed), rng


def walks(graph, rng, length, count):
    """Return the edges of random walks."""
    found = []
    while len(found) < count:
        arcs = [int(rng.integers(graph.arcs))]
        while len(arcs) < length and (leaving := np.flatnonzero(graph.tails == graph.indices[arcs[-1]])).size:
            arcs.append(int(rng.choice(leaving)))
        if len(arcs) == length:
            found.append(tuple(graph.edges[arcs].tolist()))
    return found


def oracle(graph, source, forbidden=(), costs=None, u_turns=True):
    """Search over all histories of the longest length that a forbidden sequence has; return distances."""
    tails, heads, edges = graph.tails.tolist(), graph.indices.tolist(), graph.edges.tolist()
    most = max([2, *map(len, forbidden)])
    found, queue, done = np.full(graph.vertices, np.inf), [(0, source, ())], set()
    while queue:
        length, v, history = heapq.heappop(queue)
        if (v, history) in done:
            continue
        done.add((v, history))
        found[v] = min(found[v], length)
        leaving = [arc for arc, tail in enumerate(tails) if tail == v]
        for arc in leaving:
            walked = tuple(edges[a] for a in (*history, arc))
            if any(walked[-len(sequence) :] == tuple(sequence) for sequence in forbidden):
                continue
            before = tails[history[-1]] if history else None
            if not u_turns and heads[arc] == before and any(heads[other] != before for other in leaving):
                continue
            cost = (costs or {}).get(walked[-2:], 0)
            if cost < np.inf:
                after = length + int(graph.weights[arc]) + cost
                heapq.heappush(queue, (after, heads[arc], (*history, arc)[-(most - 1) :]))
    return found


def cases(step=1):
    """Yield every `step`-th of 48 graphs with turns; a step of 5 keeps all kinds."""
    kinds = itertools.product(range(12), (True, False), (True, False))
    for seed, directed, u_turns in itertools.islice(kinds, 0, None, step):
        graph, rng = streets(seed, directed=directed)
        sequences = [walk for length in (2, 3, 4) for walk in walks(graph, rng, length, seed % 5)]
        pairs = walks(graph, rng, 2, 4)
        costs = {pair: float(cost) for pair, cost in zip(pairs, [0, 3, 20, np.inf], strict=True)}
        yield graph, sequences, costs, u_turns


def test_distances_obey_turns(no_card):
    changed = 0
    for graph, forbidden, costs, u_turns in cases():
        turns = kernels.with_turns(graph, forbidden, costs, u_turns=u_turns)
        expected = np.array([oracle(graph, v, forbidden, costs, u_turns) for v in range(graph.vertices)])
        found = kernels.distances(turns, range(graph.vertices))
        np.testing.assert_array_equal(found.distances, expected)
        assert found.sources.tolist() == found.targets.tolist() == list(range(graph.vertices))
        changed += not np.array_equal(expected, kernels.distances(graph, range(graph.vertices)).distances)
        np.testing.assert_array_equal(kernels.shortest_paths(turns, 3).distances[: graph.vertices], expected[3])
    assert changed > 20


def test_a_path_follows_edges_that_may_follow_each_other(no_card):
    for graph, forbidden, costs, u_turns in cases(5):
        turns = kernels.with_turns(graph, forbidden, costs, u_turns=u_turns)
        steps = set(zip(graph.tails.tolist(), graph.indices.tolist(), strict=True))
        with kernels.prepare(turns) as solver:
            table = solver.distances(range(graph.vertices)).distances
            for source, target in itertools.product(range(graph.vertices), repeat=2):
                path = solver.path(source, target)
                assert (path is None) == np.isinf(table[source, target])
                if path is not None:
                    assert path[0] == source and path[-1] == target
                    assert len(path) > 1 or source == target
                    assert set(itertools.pairwise(path)) <= steps


def assert_routes(routes, graph, expected, forbidden, costs, u_turns):
    """Check that each route is as long as expected, by its edges and turns, and makes no forbidden one."""
    np.testing.assert_array_equal(routes.distances, expected)
    for source, target, (distance, vertices, edges), count in zip(
        routes.sources, routes.targets, routes, routes.second, strict=True
    ):
        if np.isinf(distance):
            assert not len(edges) and not len(vertices) and np.isnan(count)
            continue
        assert (vertices[0], vertices[-1], count) == (source, target, len(edges)) == (source, target, len(vertices) - 1)
        leaving, entering = graph.tails.tolist(), graph.indices.tolist()
        arcs = set(zip(leaving, entering, graph.edges.tolist(), strict=True))
        assert set(zip(vertices[:-1].tolist(), vertices[1:].tolist(), edges.tolist(), strict=True)) <= arcs
        weight = dict(zip(graph.edges.tolist(), graph.weights.tolist(), strict=True))
        walked = edges.tolist()
        length = sum(weight[edge] for edge in walked) + sum(costs.get(turn, 0) for turn in itertools.pairwise(walked))
        assert length == distance
        for sequence in forbidden:
            assert sequence not in {tuple(walked[i : i + len(sequence)]) for i in range(len(walked))}
        for i in range(len(walked) - 1) if not u_turns else ():
            returns = vertices[i] == vertices[i + 2]
            assert not returns or {head for tail, head, _ in arcs if tail == vertices[i + 1]} == {vertices[i]}


def assert_all_functions_obey_turns(graph, forbidden, costs, u_turns):
    every = np.arange(graph.vertices)
    expected = np.array([oracle(graph, v, forbidden, costs, u_turns) for v in every])
    turns = kernels.with_turns(graph, forbidden, costs, u_turns=u_turns)
    with kernels.prepare(turns) as solver:
        for reverse, table in (False, expected), (True, expected.T):
            found = solver.reachable(every, 9, reverse=reverse).toarray()
            np.testing.assert_array_equal(found, np.where(table <= 9, table, 0))
            found = solver.nearest(every, 3, reverse=reverse)
            assert found.shape == table.shape
            nearest = np.sort(table)[:, :3]
            np.testing.assert_array_equal(np.sort(found.data), np.sort(nearest[np.isfinite(nearest)]))
            np.testing.assert_array_equal(table[found.tocoo().coords], found.data)
            targets = [5, 2, 6]
            for sources in None, [3, 3, 5]:
                given = every if sources is None else sources
                some = table[np.ix_(given, targets)]
                found = solver.nearest(sources, 2, targets=targets, reverse=reverse)
                np.testing.assert_array_equal(found.sources, given)
                np.testing.assert_array_equal(found.distances, np.sort(some)[:, :2])
                at = table[np.array(given)[:, None], found.targets]
                np.testing.assert_array_equal(np.where(found.targets < 0, np.inf, at), found.distances)
                assert np.isin(found.targets, [*targets, -1]).all()
        found = solver.all_pairs()
        np.testing.assert_array_equal(found.distances[: len(every), : len(every)], expected)
        np.testing.assert_array_equal(found.distances[: len(every)], solver.paths_from(every).distances)
        np.testing.assert_array_equal(
            found.predecessors[every, every], solver.paths_from(every).predecessors[every, every]
        )
        pairs = np.indices(expected.shape).reshape(2, -1)
        np.testing.assert_array_equal(solver.pair_distances(*pairs).distances, expected.ravel())
        assert_routes(
            solver.routes(*pairs, second=np.ones(graph.edges.max() + 1)),
            graph,
            expected.ravel(),
            forbidden,
            costs,
            u_turns,
        )
        sums = solver.eccentricities()
        reached = np.isfinite(expected)
        np.testing.assert_array_equal(sums.sources, every)
        np.testing.assert_array_equal(sums.reached, reached.sum(axis=1))
        np.testing.assert_array_equal(sums.total, expected.sum(axis=1, where=reached))
        np.testing.assert_array_equal(sums.eccentricity, expected.max(axis=1, initial=0, where=reached))
        np.testing.assert_array_equal(expected[every, sums.farthest], sums.eccentricity)
        inverse = np.divide(1, expected, out=np.zeros_like(expected), where=expected > 0)
        np.testing.assert_allclose(centrality.harmonic_centrality(solver), inverse.sum(axis=0))
        np.testing.assert_allclose(centrality.harmonic_centrality(solver, [2], [5, 3]), inverse[[3, 5], 2].sum())
        pieces = [rows for _, rows in solver.distance_pieces(every[::-1], [1, 6], rows=3)]
        np.testing.assert_array_equal(np.concatenate(pieces), expected[::-1, [1, 6]])


def test_all_functions_obey_turns(no_card):
    for case in cases(5):
        assert_all_functions_obey_turns(*case)


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("pays_from", "variant"),
    [(1, "hierarchy/nearest"), (10**9, "delta_stepping/near_far")],
    ids=["hierarchy", "Near-Far"],
)
def test_all_functions_obey_turns_on_a_card(pays_from, variant, small_card):
    small_card(pays_from=pays_from, SHARE=0)
    graph, forbidden, costs, u_turns = list(cases())[17]
    assert_all_functions_obey_turns(graph, forbidden, costs, u_turns)
    assert_new_weights_keep_turns(graph, forbidden, costs, u_turns, ((graph.edges[3],), ()))
    assert kernels.nearest(kernels.with_turns(graph, forbidden), None, 2, targets=[1, 2, 3]).variant == variant


def assert_new_weights_keep_turns(graph, forbidden, costs, u_turns, closings):
    """closings: the edges to close with each change of the weights."""
    every, edges, rng = np.arange(graph.vertices), graph.edges, np.random.default_rng(1)
    with kernels.prepare(kernels.with_turns(graph, forbidden, costs, u_turns=u_turns)) as solver:
        solver.distances(every)
        for closed in closings:
            weights = rng.integers(0, 9, edges.max() + 1).astype(float)
            weights[list(closed)] = np.inf
            solver.reweight(weights)
            changed = replace(graph, weights=np.minimum(weights, 10**6)[edges].astype(np.int32))  # closed: too far
            table = np.array([oracle(changed, v, forbidden, costs, u_turns) for v in every])
            table[table >= 10**6] = np.inf
            for reverse in False, True:
                found = solver.nearest(every, 2, targets=[4, 2, 3], reverse=reverse).distances
                expected = (table.T if reverse else table)[:, [4, 2, 3]]
                np.testing.assert_array_equal(found, np.sort(expected)[:, :2])
            np.testing.assert_array_equal(solver.distances(every).distances, table)
            np.testing.assert_array_equal(solver.routes(every, every[::-1]).distances, table[every, every[::-1]])


def test_a_source_is_the_nearest_to_itself(no_card):
    on = Graph.from_edges([3, 0, 1, 1, 2], [0, 1, 2, 3, 3], [0, 5, 1, 4, 1])
    turns = kernels.with_turns(on, forbidden=[(4, 0)])
    for graph in on, turns, replace(turns, weights=turns.weights + np.int32(2**30) * (turns.weights > 0)):
        assert kernels.nearest(graph, [3], k=1).indices.tolist() == [3]


def test_new_weights_keep_turns(no_card):
    for graph, *turns in cases(5):
        edges = graph.edges
        assert_new_weights_keep_turns(graph, *turns, ((), (edges[3],), (), (edges[0], edges[9])))
    path = network(3, [0, 1], [1, 2], [1, 1])
    with kernels.prepare(kernels.with_turns(path, costs={(0, 1): 5})) as solver:
        for weights in ([-1, 1], [1, 0.5], [1, MAX_WEIGHT]):
            with pytest.raises(InputError):
                solver.reweight(weights)
        assert solver.distances([0], [2]).distances == 7


def test_labels_unit_and_coordinates_stay(no_card):
    graph = network(3, [0, 1, 0], [1, 2, 2], [4, 6, 14], labels=Labels(np.array(["a", "b", "c"], object)), unit=0.5)
    graph = replace(graph, network=replace(graph.network, coordinates=np.array([[0.0, 1], [2, 3], [4, 5]])))
    turns = kernels.with_turns(graph, costs={(0, 1): 1.5})
    assert turns.unit == 0.5 and turns.named(np.arange(3)).tolist() == ["a", "b", "c"]
    assert kernels.Solver(turns).graph.check_source("c") == 2
    for vertex, place in zip(turns.named(np.arange(turns.vertices)), turns.network.coordinates, strict=True):
        assert place.tolist() == {"a": [0, 1], "b": [2, 3], "c": [4, 5]}[vertex]
    with kernels.prepare(turns) as solver:
        assert solver.distances(["a"], ["c"]).distances == (4 + 3 + 6) / 2 and solver.path("a", "c") == ["a", "b", "c"]
        solver.reweight([2, 3, 7.5])
        assert solver.routes(["a"], ["c"]).distances == 2 + 1.5 + 3
        assert solver.nearest(["c"], 1, targets=["a"], reverse=True).distances == 2 + 1.5 + 3
        paths = solver.shortest_paths("a")
        assert turns.labels[paths.predecessors[[1, 2]]].tolist() == ["b", "b"]  # of b where paths end: b
    assert kernels.with_turns(graph) is graph
    with pytest.raises(InputError, match="pickle"):
        kernels.with_turns(network(3, [0, 1], [1, 2], [4, 6]), forbidden=[(0, 1)]).save("graph.npz")


def test_turns_may_be_tables(no_card):
    graph = network(4, [0, 1, 1, 2], [1, 2, 3, 3], [5, 1, 4, 1])
    table = pd.DataFrame({"from": [0], "to": [1]})
    for forbidden, costs in (
        (table, table.assign(to=2, seconds=3)),
        (table.to_numpy(), np.array([[0, 2, 3]])),
        (((0, 1),), {(0, 2): 3}),
    ):
        turns = kernels.with_turns(graph, forbidden, costs)
        assert kernels.distances(turns, [0], [3]).distances == 5 + 3 + 4


def test_a_path_may_return_at_a_dead_end_only(no_card):
    star = network(4, [0, 1, 1], [1, 2, 3], [1, 10, 100], directed=False)
    turns = kernels.with_turns(star, [(0, 1)], u_turns=False)
    assert kernels.distances(turns, [0], [2]).distances == 1 + 100 + 100 + 10  # by 3, where the street ends
    longer = network(5, [0, 1, 1, 3], [1, 2, 3, 4], [1, 10, 100, 1000], directed=False)
    turns = kernels.with_turns(longer, [(0, 1)], u_turns=False)
    assert kernels.distances(turns, [0], [2]).distances == 1 + 100 + 1000 + 1000 + 100 + 10  # by 4, not by 3


def test_only_vertices_with_turns_are_split():
    side = np.arange(99)
    graph = network(100, side, side + 1, np.ones(99, int), directed=False)
    turns = kernels.with_turns(graph, [(40, 41)])
    assert (turns.vertices, turns.arcs) == (
        102,
        graph.arcs + 1 + 2,
    )  # an entry and a state; its arc, and two to the end
    assert np.isin([-1], turns.edges).all() and turns.destinations == 100


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"forbidden": [(0, 2)]}, r"the turn \(0, 2\): an edge does not start where the one before it ends"),
        ({"forbidden": [(0, 1), (0, 1, 9)]}, r"the turn \(0, 1, 9\): the graph has no edge 9"),
        ({"forbidden": [(0,)]}, "forbidden must be a list of sequences of two edges or more"),
        *(({"forbidden": wrong}, "forbidden") for wrong in ([("a", "b")], 3)),
        ({"costs": {(0, 1): -2}}, "the cost of the turn from edge 0 to 1 must be 0 or more, not -2"),
        ({"costs": {(0, 1): np.nan}}, "not nan"),
        ({"costs": {(0, 1): 2.5}}, "must be a whole number, as the weights are, not 2.5"),
        ({"costs": {(0, 1): MAX_WEIGHT}}, f"sum to {MAX_WEIGHT + 1}: the largest sum is {MAX_WEIGHT}"),
        ({"costs": {0: 2}}, "costs must have a cost for each pair of edges"),
        *(({"costs": wrong}, "costs") for wrong in ([(0, 1)], [(0, 0.5, 2)])),
        ({"u_turns": 1}, "u_turns must be True or False"),
    ],
)
def test_bad_input(given, said):
    with pytest.raises(InputError, match=said):
        kernels.with_turns(network(4, [0, 1, 2], [1, 2, 3], [1, 1, 1]), **given)


def test_a_graph_has_turns_once_and_is_directed(no_card):
    turns = kernels.with_turns(network(3, [0, 1], [1, 2], [1, 1]), [(0, 1)])
    with pytest.raises(InputError, match="has turns already"):
        kernels.with_turns(turns, [(0, 1)])
    with pytest.raises(InputError, match="directed"):
        kernels.distances(turns, [0], directed=False)
    with pytest.raises(InputError, match=r"target 3 is not a vertex of graph: choose one in \[0, 3\)"):
        kernels.distances(turns, [0], [3])
    with pytest.raises(InputError, match="source 4 "):
        kernels.shortest_paths(turns, 4)
    assert kernels.distances(turns, [0, 1], [2], dtype="int32").distances.tolist() == [[INF], [1]]
