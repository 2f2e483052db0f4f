"""Distances to some targets, in pieces and of several types; the nearest vertices and those within a limit."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph

import kernels
from kernels import io
from kernels.errors import InputError
from kernels.fast.float_graph import FloatGraph
from kernels.fast.hierarchy import targets
from kernels.graph import INF, MAX_WEIGHT, Graph
from kernels.library import searches
from kernels.library.choice import BreakEven
from tests.support import graphs

SAMPLE = "workflow/samples/sample3.txt"  # sinks, unreachable vertices, parallel arcs, a loop
NO_SEARCH = BreakEven(10**9, 10**9, 10**9)


@pytest.fixture(params=["hierarchy", "near_far"])
def on_card(small_card, request):
    """The simulator's card for small graphs, with several levels of fragments; results come in several copies."""
    small_card(
        **{"pays_from": 1 if request.param == "hierarchy" else 10**9, "bytes": 5000, "SHARE": 0},
        **{"SMALLEST": 4, "RATIO": 2, "COPIED_AT_ONCE": 300, "LEAST_DOWNLOAD": 100, "BUFFER": 48},
    )
    return request.param


def chain(*weights) -> Graph:
    v = np.arange(len(weights))
    return Graph.from_arcs(len(weights) + 1, v, v + 1, weights)


def town(weights=range(5)) -> Graph:
    """Streets in both directions, a one-way street to a vertex and one from another, and a vertex without arcs."""
    grid = graphs.grid(25, np.array(weights))
    arcs = np.r_[grid.tails, 24, 26], np.r_[grid.indices, 25, 0], np.r_[grid.weights, 3, 2]
    return Graph.from_arcs(28, *arcs)


def in_quarters() -> Graph:
    """Return a town with fractional weights, which floats add up exactly."""
    grid = town([3, 0, 2, 1])
    return Graph.from_edges(grid.tails, grid.indices, grid.weights / 4, vertices=grid.vertices, unit=0.25)


GRAPHS = {
    "town": town,
    "weights of 0": lambda: town([0, 0, 1]),
    "streets": lambda: graphs.grid(16),
    "in quarters": in_quarters,
    "directed": lambda: graphs.sparse(24),
    "no arcs": lambda: Graph.from_arcs(3, [], [], []),
}
FLOATS = {
    "float": lambda: town().to_scipy() * 0.1,
    "negative": lambda: sparse.csr_array([[0, -1, 3], [0, 0, 2], [0.5, 0, 0]]),
}
ON_CARD = "town", "weights of 0", "directed", "no arcs", "float"


def drawn(n: int, count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, n, count)


def table(array, sources, targets=None, **more) -> np.ndarray:
    solve = csgraph.johnson if array.nnz and array.data.min() < 0 else csgraph.dijkstra
    rows = solve(array, indices=sources, **more) if len(sources) else np.zeros((0, array.shape[0]))
    return rows if targets is None else rows[:, targets]


def as_type(distances, dtype):
    if dtype != np.int32:
        return distances.astype(dtype)
    return np.where(np.isfinite(distances), distances, INF).astype(np.int32)


def assert_tables(graph, array, variant, types=3):
    """types: how many types of distances to compare."""
    n = array.shape[0]
    whole = isinstance(graph, Graph) and graph.unit == 1
    dtypes = ((np.float64, np.float32, np.int32) if whole else (np.float64, np.float32))[:types]
    for count, ends, tried in (
        *((5, drawn(n, 7, 1), dtypes), (9, None, dtypes)),
        *((1, [n - 1], dtypes[:1]), (0, [0], dtypes[-1:]), (2, [], dtypes[-1:])),
    ):
        sources = drawn(n, count)
        ends = ends if ends is None else np.array(ends, int)
        for dtype in tried:
            found = kernels.distances(graph, sources, ends, dtype=dtype)
            np.testing.assert_array_equal(found.distances, as_type(table(array, sources, ends), dtype), strict=True)
            assert found.sources.tolist() == sources.tolist()
            assert found.targets.tolist() == (list(range(n)) if ends is None else ends.tolist())
            assert variant in found.variant or not count or not array.nnz
    sources, ends = drawn(n, 9), drawn(n, 4, 2)
    parts = list(kernels.distance_pieces(graph, sources, ends, dtype="f4", rows=4))
    assert [which for which, _ in parts] == [slice(0, 4), slice(4, 8), slice(8, 9)]
    expected = table(array, sources, ends).astype(np.float32)
    np.testing.assert_array_equal(np.concatenate([rows for _, rows in parts]), expected, strict=True)


@pytest.mark.parametrize("name", [*GRAPHS, *FLOATS])
def test_tables_without_a_card(name, no_card):
    graph = (GRAPHS | FLOATS)[name]()
    assert_tables(graph, graph.to_scipy() if isinstance(graph, Graph) else graph, "dijkstra/scipy")


@pytest.mark.simulator
@pytest.mark.parametrize("name", ON_CARD)
def test_tables_on_a_card(name, on_card):
    graph = (GRAPHS | FLOATS)[name]()
    array = graph.to_scipy() if isinstance(graph, Graph) else graph
    variant = {"hierarchy": "hierarchy/", "near_far": "near_far"}[on_card]
    assert_tables(graph, array, variant, types=3 if name == "town" else 1)


def assert_limited(graph, array, limits=(0, 3, 6.5, 10**6)):
    for limit in limits:
        for ends in (None, [3, 25, 3]):
            found = kernels.distances(graph, [4, 0, 4], ends, limit=limit)
            np.testing.assert_array_equal(found.distances, table(array, [4, 0, 4], ends, limit=limit), strict=True)


def test_limits_without_a_card(no_card):
    assert_limited(town(), town().to_scipy())


@pytest.mark.simulator
@pytest.mark.parametrize("make", [town, in_quarters])
def test_limits_on_a_card(make, on_card):
    assert_limited(make(), make().to_scipy(), limits=(0, 6.5))


@pytest.mark.simulator
def test_distances_on_a_card_are_the_floats_that_are_nearest_to_decimals(on_card, monkeypatch):
    release = targets.TargetSearch.release
    monkeypatch.setattr(
        targets.TargetSearch, "release", lambda search, most=0: release(search, 0)
    )  # as of large tables
    tenths = chain(*range(1, 20))
    graph = Graph.from_edges(tenths.tails, tenths.indices, tenths.weights / 10, vertices=tenths.vertices)
    ends = np.arange(20)
    totals = table(tenths.to_scipy(), [0, 3], ends) / 10
    with kernels.Solver(graph) as searching:
        for dtype in (np.float64, np.float32):
            for some in (None, ends):
                found = searching.distances([0, 3], some, dtype=dtype)
                np.testing.assert_array_equal(found.distances, totals.astype(dtype), strict=True)
            left = searching.distances([0, 3], ends, dtype=dtype, out="device").distances
            np.testing.assert_array_equal(left.copy_to_host(), totals.astype(dtype), strict=True)
        row = searching.shortest_paths(3, out="device")
        np.testing.assert_array_equal(row.distances.copy_to_host(), totals[1], strict=True)
        np.testing.assert_array_equal(searching.shortest_paths(3).distances, totals[1], strict=True)
        farthest = searching.eccentricities([3, 0])
        assert farthest.eccentricity.tolist() == [totals[1, -1], totals[0, -1]]
        np.testing.assert_allclose(farthest.total, [totals[1, 3:].sum(), totals[0].sum()])
        within = searching.reachable([3], totals[1, 9])
        assert within.indices.tolist() == list(range(3, 10)) and within.data.tolist() == totals[1, 3:10].tolist()


@pytest.mark.simulator
def test_a_limit_is_kept_if_less_memory_is_free_later(on_card, monkeypatch):
    asked, choose = [], searches.WholeNumbers._choose_many

    def choose_once(self, *given):
        asked.append(given)
        return choose(self, *given) if len(asked) == 1 else (searches.SCIPY, "no memory is free")

    monkeypatch.setattr(searches.WholeNumbers, "_choose_many", choose_once)
    found = kernels.distances(town(), [4, 0], limit=3)
    np.testing.assert_array_equal(found.distances, table(town().to_scipy(), [4, 0], limit=3))


@pytest.mark.simulator
def test_eccentricities_need_no_proof_by_searches_on_the_host(on_card):
    with kernels.Solver(town()) as searching:
        assert on_card in searching.eccentricities().variant
        assert "is_near" not in vars(searching._in_whole_numbers.on)


@pytest.mark.simulator
@pytest.mark.parametrize("on_card", ["hierarchy"], indirect=True)
def test_tables_with_a_second_value_on_a_card(on_card):
    graph = GRAPHS["streets"]()
    sources, targets, values = drawn(16, 6), drawn(16, 5, 1), drawn(graph.arcs, graph.arcs, 2) / 4
    ends = np.repeat(sources, 5), np.tile(targets, 6)
    exact = table(graph.to_scipy(), sources, targets)
    with kernels.prepare(graph) as solver:
        found, routes = solver.distances(sources, targets, second=values), solver.routes(*ends)
        np.testing.assert_array_equal(solver.pair_distances(*ends).distances, exact.ravel())
    assert found.variant == "hierarchy/pairs"
    np.testing.assert_array_equal(found.distances, exact)
    np.testing.assert_array_equal(found.second.ravel(), [values[route.edges].sum() for route in routes])


@pytest.mark.simulator
@pytest.mark.parametrize("on_card", ["hierarchy"], indirect=True)
@pytest.mark.parametrize("make", [lambda: chain(5, *[MAX_WEIGHT] * 3), FLOATS["float"], FLOATS["negative"]])
def test_pairs_that_integers_do_not_fit_are_left_on_the_card_too(make, on_card):
    graph = make()
    exact = table(graph.to_scipy() if isinstance(graph, Graph) else graph, [0, 1], [2, 0])
    with kernels.prepare(graph) as solver:
        for _ in range(2):
            pairs = solver.pair_distances([0, 0, 1, 1], [2, 0, 2, 0], out="device").distances
            np.testing.assert_array_equal(pairs.copy_to_host(), exact.ravel(), strict=True)
        with_hops = solver.distances([0, 1], [2, 0], second=np.ones(solver.graph.edges.max() + 1), out="device")
        routes = solver.routes([0, 0, 1, 1], [2, 0, 2, 0], out="device")
        np.testing.assert_array_equal(with_hops.distances.copy_to_host(), exact)
        np.testing.assert_array_equal(routes.distances.copy_to_host(), exact.ravel())
        hops = np.where(np.isinf(exact.ravel()), np.nan, np.diff(routes.edge_start))
        np.testing.assert_array_equal(with_hops.second.copy_to_host().ravel(), hops)
        with pytest.raises(InputError, match='out="device"'):
            solver.distances([0], [2], out="device")


@pytest.mark.simulator
def test_tables_left_on_the_card(on_card):
    graph, array = town(), town().to_scipy()
    for ends, dtype, limit in (
        (None, "float64", np.inf),
        ([3, 27, 3], "int32", np.inf),
        ([], "int32", 4),
        ([1, 2], "f4", 4),
    ):
        with kernels.Solver(graph) as searching:
            found = searching.distances([5, 26, 5], ends, dtype=dtype, limit=limit, out="device")
        assert on_card in found.variant or ends == []
        left = found.distances.copy_to_host()
        expected = as_type(table(array, [5, 26, 5], ends, limit=limit), np.dtype(dtype))
        np.testing.assert_array_equal(left, expected, strict=True)


@pytest.mark.simulator
def test_distances_that_are_too_long(on_card):
    """Also if only vertices that are not asked for are too far, or if a vertex is not reached and none is too far."""
    for last, farthest in ((1, 4), (3, 4), (3, 3), (1, 5)):
        graph = Graph.from_arcs(6, [0, 1, 2, 3], [1, 2, 3, 4], [MAX_WEIGHT - 5, 1, 2, last])
        array, too_long = graph.to_scipy(), last == 3 and farthest == 4
        for sources, ends in (([0, 1], [farthest, 2]), ([1], [0, 4])):
            found = kernels.distances(graph, sources, ends)
            np.testing.assert_array_equal(found.distances, table(array, sources, ends))
            if 0 in sources and too_long:
                assert "in float64" in found.reason
                with pytest.raises(InputError, match="dtype int32"):
                    kernels.distances(graph, sources, ends, dtype=np.int32)
                with pytest.raises(InputError, match="host"):
                    kernels.distances(graph, sources, ends, out="device")
            else:
                found = kernels.distances(graph, sources, ends, dtype=np.int32)
                np.testing.assert_array_equal(found.distances, as_type(table(array, sources, ends), np.int32))
        np.testing.assert_array_equal(kernels.nearest(graph, [0, 1], 6).toarray(), csr(array, [0, 1], k=6).toarray())
        np.testing.assert_array_equal(
            kernels.reachable(graph, [0, 1], np.inf).toarray(), csr(array, [0, 1], limit=np.inf).toarray()
        )


@pytest.mark.simulator
def test_a_bound_on_all_distances(on_card):
    """The bound is above what two searches find, and no search follows if it is small enough."""
    heavy = [MAX_WEIGHT // 25]
    for graph, near in ((town(heavy), True), (chain(*heavy * 5), True), (chain(MAX_WEIGHT, 1), False)):
        on = searches.SearchedGraph(graph)
        assert not on.fits or graph.vertices < 10
        assert on.is_near == near
    array = town(heavy).to_scipy()
    found = kernels.distances(town(heavy), [3, 27], [27, 25])
    assert "in float64" not in found.reason
    np.testing.assert_array_equal(found.distances, table(array, [3, 27], [27, 25]))


def csr(array, sources, *, k=None, limit=np.inf) -> sparse.csr_array:
    """Return what `nearest` or `reachable` should find, row by row."""
    rows, columns, values = [], [], []
    for place, (source, distances) in enumerate(zip(sources, table(array, sources, limit=limit), strict=True)):
        order = sorted(np.flatnonzero(np.isfinite(distances)), key=lambda v: (v != source, distances[v], v))
        for vertex in sorted(order[:k]):
            rows.append(place)
            columns.append(vertex)
            values.append(distances[vertex])
    found = sparse.coo_array((values, (rows, columns)), shape=(len(sources), array.shape[0]))
    return sparse.csr_array(
        (np.array(values, float), found.coords[1], np.searchsorted(rows, range(len(sources) + 1))), shape=found.shape
    )


def assert_same(found, expected):
    assert isinstance(found, sparse.csr_array) and found.has_sorted_indices and found.dtype == np.float64
    assert found.shape == expected.shape
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def assert_selections(graph, array, step=1):
    """step: check every step-th combination of sources and directions."""
    n = array.shape[0]
    cases = enumerate(itertools.product((drawn(n, 6), [n - 1], []), (False, True)))
    for i, (sources, reverse) in itertools.islice(cases, 0, None, step):
        there = array.T.tocsr() if reverse else array
        for k in (3, *((1, n), (1, 10**6), (n, 10**6))[i % 3]):
            assert_same(kernels.nearest(graph, sources, k, reverse=reverse), csr(there, sources, k=k))
        for limit in ((0, 4.5), (4.5, np.inf), (0, np.inf))[(i + i // 2) % 3]:
            assert_same(kernels.reachable(graph, sources, limit, reverse=reverse), csr(there, sources, limit=limit))


@pytest.mark.parametrize("name", [*GRAPHS, "float"])
def test_selections_without_a_card(name, no_card):
    graph = (GRAPHS | FLOATS)[name]()
    assert_selections(graph, graph.to_scipy() if isinstance(graph, Graph) else graph)


@pytest.mark.simulator
@pytest.mark.parametrize("name", ON_CARD)
def test_selections_on_a_card(name, on_card):
    graph = (GRAPHS | FLOATS)[name]()
    assert_selections(graph, graph.to_scipy() if isinstance(graph, Graph) else graph, step=3)


def test_negative_weights_have_nearest_vertices_and_no_limit(no_card):
    array = FLOATS["negative"]()
    found = kernels.nearest(array, [0, 2], 2)
    assert (found.indices.tolist(), found.data.tolist()) == ([0, 1, 1, 2], [0, -1, -0.5, 0])
    with pytest.raises(InputError, match="limit"):
        kernels.reachable(array, [0], 3)


def test_both_directions(no_card):
    graph, both = town(), town().undirected().to_scipy()
    assert_same(kernels.nearest(graph, [26, 3], 5, directed=False, reverse=True), csr(both, [26, 3], k=5))
    found = kernels.distances(graph, [25], [0, 26], directed=False).distances
    np.testing.assert_array_equal(found, table(both, [25], [0, 26]))


def test_a_reversed_graph():
    assert graphs.grid(9).reversed().weights.tolist() == graphs.grid(9).weights.tolist()
    same = Graph.from_arcs(3, [0, 1, 1, 2], [1, 0, 2, 1], [5, 5, 2, 2])
    assert same.reversed() is same
    graph = Graph.from_arcs(3, [0, 0, 1], [1, 1, 2], [5, 4, 2])
    found = graph.reversed()
    assert (found.indptr.tolist(), found.indices.tolist()) == ([0, 0, 2, 3], [0, 0, 1])
    assert sorted(found.weights[:2].tolist()) == [4, 5] and found.file is None


def test_a_closed_solver(no_card):
    with kernels.Solver(SAMPLE) as searching:
        pieces = searching.distance_pieces([0, 1], rows=1)
        next(pieces)
        searching.nearest([0], 1, reverse=True)
    for call in (lambda: searching.nearest([0], 1), lambda: searching.reachable([0], 1), lambda: next(pieces)):
        with pytest.raises(InputError, match="is closed"):
            call()


FLOAT = FloatGraph.of(io.read_graph(SAMPLE))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda: kernels.distances(SAMPLE, [0], [13]),
            r"target 13 .* sample3: .*\[0, 13\)",
        ),
        (lambda: kernels.distances(SAMPLE, [0], [0.5]), "targets .* float64"),
        (lambda: kernels.distances(SAMPLE, [0], 3), "targets .* 3"),
        *(
            (
                lambda kind=kind: kernels.distances(SAMPLE, [0], dtype=kind),
                "dtype .* float64, float32 or int32",
            )
            for kind in ("int64", "f2", "nothing", None, object)
        ),
        (lambda: kernels.distances(FLOAT, [0], dtype="int32"), "dtype int32"),
        (lambda: kernels.distances(SAMPLE, [0], limit=-1), "limit .* -1"),
        (lambda: kernels.distances(SAMPLE, [0], out="gpu"), 'out .* "host" or "device"'),
        (lambda: kernels.distances(SAMPLE, [0], out="device"), "no GPU is visible"),
        (lambda: kernels.distance_pieces(SAMPLE, [99]), "source 99"),
        (lambda: kernels.distance_pieces(SAMPLE, [0], rows=0), "rows .* 0"),
        (lambda: kernels.nearest(SAMPLE, [0], 0), "k .* 0"),
        (lambda: kernels.nearest(SAMPLE, [0], 1.0), r"k .* 1\.0"),
        (lambda: kernels.nearest(SAMPLE, 0, 1), "sources"),
        (lambda: kernels.reachable(SAMPLE, [0], np.nan), "limit .* nan"),
        (lambda: kernels.reachable(SAMPLE, [-1], 5), "source -1"),
    ],
)
def test_bad_arguments(ask, message, no_card):
    with pytest.raises(InputError, match=message):
        ask()


def test_roads(no_card):
    """The samples of the repository."""
    for number in (1, 3):
        graph = io.read_graph(f"workflow/samples/sample{number}.txt")
        array, n = graph.to_scipy(), graph.vertices
        sources, ends = drawn(n, 4), drawn(n, 3, 1)
        np.testing.assert_array_equal(kernels.distances(graph, sources, ends).distances, table(array, sources, ends))
        assert_same(kernels.reachable(graph, sources, 20), csr(array, sources, limit=20))
