"""Graphs of labelled vertices and fractional weights, from columns, NetworkX and frames."""

import itertools
import pickle
from decimal import Decimal
from fractions import Fraction

import hypothesis
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

import kernels
from kernels import centrality, units
from kernels.errors import InputError
from kernels.graph import INF, Graph
from kernels.units import Scale

ROADS = [("a", "b", 4), ("b", "c", 1.5), ("c", "a", 0.25), ("a", "b", 3), ("b", "a", 9), ("a", "b", 3), ("e", "d", 2)]
NAMES = {
    "texts": dict(zip("abcde", ["home", "mill", "shop", "hill", "quay"], strict=True)),
    "ids": dict(zip("abcde", [10**10, 7, 10**10 + 1, 3 * 10**9, 12], strict=True)),
    "hashes": dict(zip("abcde", [2**64 - 1, 2**63, 5, 2**63 + 1, 0], strict=True)),
    "tuples": dict(zip("abcde", [(0, 0), (0, 1), (1, 0), (1, 1), (2, 1)], strict=True)),
    "mixed": dict(zip("abcde", ["home", 3, (0, 1), frozenset("x"), 2.5], strict=True)),
}
COLUMNS = {
    "list": list,
    "tuple": tuple,
    "array": lambda values: np.fromiter(values, object),
    "pandas": pd.Series,
    "categories": lambda values: pd.Series(values).astype("category"),
    "nullable": lambda values: pd.Series(values).convert_dtypes(),
    "pyarrow": lambda values: pytest.importorskip("pyarrow").array(values),
    "polars": lambda values: pytest.importorskip("polars").Series(values),
}
PAIRS = [
    (names, column)
    for names, column in itertools.product(NAMES, COLUMNS)
    if names in ("texts", "ids") or column not in ("nullable", "pyarrow", "polars")  # of these, a column has one type
]


def by_networkx(edges, directed=True) -> nx.MultiGraph:
    roads = nx.MultiDiGraph() if directed else nx.MultiGraph()
    roads.add_weighted_edges_from(edges)
    return roads


def expected(roads: nx.MultiGraph, sources, targets, weight="weight") -> np.ndarray:
    found = {source: nx.single_source_dijkstra_path_length(roads, source, weight=weight) for source in sources}
    return np.array([[found[source].get(target, np.inf) for target in targets] for source in sources])


@pytest.mark.parametrize(("names", "column"), PAIRS)
@pytest.mark.parametrize("directed", [True, False])
def test_distances_by_labels(names, column, directed):
    named, make = NAMES[names], COLUMNS[column]
    edges = [(named[u], named[v], w) for u, v, w in ROADS]
    tails, heads, weights = zip(*edges, strict=True)
    graph = Graph.from_edges(make(tails), make(heads), weights, directed=directed)
    ends = list(named.values())
    found = kernels.distances(graph, make(ends[::-1]), make(ends[:3]))
    np.testing.assert_array_equal(found.distances, expected(by_networkx(edges, directed), ends[::-1], ends[:3]))
    assert found.sources.tolist() == ends[::-1] and found.targets.tolist() == ends[:3]
    assert kernels.distances(graph, ends[:1]).targets.tolist() == graph.labels.tolist()


def example(**more) -> Graph:
    return Graph.from_edges(*zip(*ROADS, strict=True), **more)


def test_every_search_takes_and_gives_labels():
    graph, roads = example(), by_networkx(ROADS)
    with kernels.prepare(graph) as solver:
        assert solver.path("a", "c") == ["a", "b", "c"] and solver.path("a", "e") is None
        row = solver.shortest_paths("c")
        assert row.distances.tolist() == expected(roads, "c", graph.labels)[0].tolist()
        np.testing.assert_array_equal(solver.all_pairs().distances, expected(roads, graph.labels, graph.labels))
        np.testing.assert_array_equal(solver.paths_from(["e", "b"]).distances, expected(roads, "eb", graph.labels))
        ((_, piece),) = solver.distance_pieces(["b"], ["a"])
        assert piece.tolist() == [[1.75]]
        farthest = solver.eccentricities(["b", "e"])
        assert (farthest.sources.tolist(), farthest.farthest.tolist()) == (["b", "e"], ["a", "d"])
        assert (farthest.eccentricity.tolist(), farthest.total.tolist()) == ([1.75, 2], [3.25, 2])
        within = solver.reachable(["c"], 3.25)
        assert dict(zip(graph.labels[within.indices], within.data, strict=True)) == {"c": 0, "a": 0.25, "b": 3.25}
        near = solver.nearest(["c"], 2, reverse=True)
        assert dict(zip(graph.labels[near.indices], near.data, strict=True)) == {"c": 0, "b": 1.5}


def test_a_solver_without_labels_takes_and_gives_numbers():
    graph = example()
    with kernels.prepare(graph, labels=False) as solver:
        a, c = graph.labels.tolist().index("a"), graph.labels.tolist().index("c")
        found = solver.distances([a], [c])
        assert (found.distances.tolist(), found.sources.tolist(), found.targets.tolist()) == ([[4.5]], [a], [c])
        assert solver.path(a, c)[::2] == [a, c]
        with pytest.raises(InputError, match="whole numbers"):
            solver.distances(["a"])


def test_centralities_by_labels_and_in_the_users_unit():
    edges = [("a", "b", 0.5), ("b", "c", 1.5), ("c", "a", 0.25), ("b", "a", 0.125)]
    graph, roads = Graph.from_edges(*zip(*edges, strict=True)), nx.DiGraph()
    roads.add_weighted_edges_from(edges)
    nodes = ["c", "a", "b"]
    closeness = nx.closeness_centrality(roads, distance="weight")
    harmonic = nx.harmonic_centrality(roads, distance="weight")
    some = nx.harmonic_centrality(roads, nbunch=["c"], distance="weight", sources=["a", "b"])
    for found, wanted in (
        (centrality.closeness_centrality(graph, nodes), [closeness[node] for node in nodes]),
        (centrality.harmonic_centrality(graph, nodes), [harmonic[node] for node in nodes]),
        (centrality.harmonic_centrality(graph, ["c"], ["a", "b"]), [some["c"]]),
        (centrality.eccentricity(graph, nodes), [nx.eccentricity(roads, node, weight="weight") for node in nodes]),
        (centrality.wiener_index(graph), nx.wiener_index(roads, weight="weight")),
        (
            centrality.average_shortest_path_length(graph),
            nx.average_shortest_path_length(roads, weight="weight"),
        ),
    ):
        np.testing.assert_allclose(found, wanted)
    assert sorted(centrality.center(graph)) == sorted(nx.center(roads, weight="weight"))
    assert sorted(centrality.periphery(graph)) == sorted(nx.periphery(roads, weight="weight"))


@pytest.mark.parametrize(
    ("names", "label", "close"),
    [
        ("texts", "hoem", "home"),
        ("texts", "Mill", "mill"),
        ("ids", 10**10 + 4, 10**10 + 1),
        ("ids", "7", 7),
        ("ids", 7.0, None),
        ("ids", True, None),
        ("hashes", -1, None),
        ("texts", 0, None),
        ("tuples", (2, 1, 0), (2, 1)),
        ("mixed", "hone", "home"),
    ],
)
def test_an_unknown_label_is_named_with_the_closest_one(names, label, close):
    edges = [(NAMES[names][u], NAMES[names][v], w) for u, v, w in ROADS]
    graph = Graph.from_edges(*zip(*edges, strict=True))
    for call in (
        lambda: kernels.distances(graph, [edges[0][0]], [edges[0][1], label]),
        lambda: kernels.prepare(graph).path(edges[0][0], label),
    ):
        with pytest.raises(InputError) as error:
            call()
        assert str(error.value).startswith(f"target {label!r} is not a vertex of the graph")
        assert (f"did you mean {close!r}?" in str(error.value)) == (close is not None)


@pytest.mark.parametrize("labels", ["home", [["home"]], 5, None, [["home"], "mill"]])
def test_what_is_no_list_of_labels(labels):
    with pytest.raises(InputError, match=r"^sources must be"):
        kernels.distances(Graph.from_edges(["home"], ["mill"]), labels)


@pytest.mark.parametrize(
    ("tails", "heads", "vertices"),
    [([0, 5], [3, 29], 30), ([0, 5], [3, 39], 40), ([0, 5], [3, 40], 4), ([0, 4 * 10**7], [3, 5], 4), ([0], [0], 1)],
)
def test_ids_that_leave_most_numbers_unused_are_labels(tails, heads, vertices):
    graph = Graph.from_edges(tails, heads)
    assert graph.vertices == vertices
    np.testing.assert_array_equal(np.diag(kernels.distances(graph, tails, heads).distances), np.not_equal(tails, heads))
    if max(tails + heads) < 100:
        assert Graph.from_edges(tails, heads, vertices=100).vertices == 100


def test_large_columns_are_numbered_as_small_ones(monkeypatch):
    """Large ones by pandas."""
    rng = np.random.default_rng(3)
    ids = rng.integers(10**9, 10**10, 50)
    for names in (ids, ids.astype(str).astype(object)):
        tails, heads = names[rng.integers(0, 50, 200)], names[rng.integers(0, 50, 200)]
        small = Graph.from_edges(tails, heads)
        with monkeypatch.context() as patch:
            patch.setattr("kernels.network.MANY", 10)
            large = Graph.from_edges(tails, heads)
        assert small.labels.tolist() == large.labels.tolist()
        np.testing.assert_array_equal(small.indices, large.indices)


MISSING = [None, np.nan, pd.NA, pd.NaT]


@pytest.mark.parametrize("missing", MISSING, ids=str)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_row_of_a_missing_value_is_named(missing, place):
    columns = [["a", "b", "c"], ["b", "c", "d"], [1, 2, 3]]
    columns[place][1] = missing
    name = ["tail", "head", "weight"][place]
    for make in (list, lambda values: np.array(values, object), lambda values: pd.Series(values, dtype=object)):
        with pytest.raises(InputError, match=f"row 1: the {name} is missing"):
            Graph.from_edges(*map(make, columns))


@pytest.mark.parametrize("unit", ["ns", "us", "s"])
def test_times_are_labels(unit):
    times = np.array(["2020-01-01T12", "2020-01-02", "2020-01-03"], f"datetime64[{unit}]")
    graph = Graph.from_edges(pd.Series(times[:2]), pd.Series(times[1:]), [1, 2])
    for source in times[:1], [pd.Timestamp(times[0])], pd.Series(times[:1]):
        assert kernels.distances(graph, source).distances.tolist() == [[0, 1, 3]]
    assert graph.labels.tolist() == [pd.Timestamp(time) for time in times]
    with kernels.prepare(graph) as solver:
        assert solver.path(times[0], times[2]) == graph.labels.tolist()
    spans = times - times[0]
    assert kernels.distances(Graph.from_edges(list(spans[:2]), spans[1:]), [spans[1]]).distances.tolist() == [
        [np.inf, 0, 1]
    ]
    for make in np.array, lambda values, kind: list(np.array(values, kind)):
        with pytest.raises(InputError, match=r"tail 1970.*01 is finer than a microsecond"):
            Graph.from_edges(make([0, 1], "datetime64[ns]"), make([0, 0], "datetime64[ns]"))
    day, hour = np.datetime64("2020-01-01"), np.datetime64("2020-01-02T01")
    roads = nx.DiGraph([("a", day), (day, hour)])
    assert kernels.distances(Graph.from_networkx(roads), [day], ["a", day, hour]).distances.tolist() == [[np.inf, 0, 1]]
    assert Graph.from_edges([day, day], [hour, day], [1, 2]).vertices == 2
    with pytest.raises(InputError, match="weight"):
        Graph.from_edges([0], [1], [np.timedelta64(5, "ns")])


@pytest.mark.parametrize("library", ["pandas", "pyarrow", "polars"])
def test_missing_numbers_in_columns(library):
    make = COLUMNS["nullable" if library == "pandas" else library]
    for place, name in enumerate(["tail", "head", "weight"]):
        columns = [[10**10, 1, 2], [1, 2, 10**10], [1, 2, 3]]
        columns[place][2] = None
        with pytest.raises(InputError, match=f"row 2: the {name} is missing"):
            Graph.from_edges(*map(make, columns))


@pytest.mark.parametrize("wrong", [-1, -0.5, np.inf, "far", [1], 1j, True])
def test_weights_that_are_no_numbers_of_0_or_more(wrong):
    with pytest.raises(InputError, match=r"edge 1: weight|weights of the edges"):
        Graph.from_edges(["a", "b"], ["b", "c"], [1.5, wrong])


# Units.


@pytest.mark.parametrize(
    ("weights", "unit", "exact"),
    [
        ([1, 2.0, 3], 1, True),
        ([0.0, 0.0], 1, True),
        ([1.5, 2.25], 0.01, True),
        ([0.1 + 0.2, 12345.6], 0.1, True),
        (np.array([12.3, 4.56], np.float32), 0.01, True),
        ([Decimal("0.125"), Decimal(7)], 0.001, True),
        ([1 / 3, 2 / 3], 1e-9, False),
        ([100 / 3, 0.001], 1e-7, False),
        ([10**12 / 3, 0.001], 1000, False),
    ],
)
def test_the_unit_of_weights(weights, unit, exact):
    graph = Graph.from_edges(range(len(weights)), range(1, len(weights) + 1), weights)
    assert graph.unit == pytest.approx(unit, rel=1e-12)
    given = np.asarray(weights, float)
    assert (graph.weight_error == 0) == exact and graph.weight_error <= graph.unit / 2
    np.testing.assert_allclose(graph.to_scipy().data, given, rtol=1e-7 if exact else 0, atol=graph.weight_error)


def test_a_unit_may_be_chosen():
    graph = example(unit=0.5)
    assert (graph.unit, graph.weight_error) == (0.5, 0.25)
    assert kernels.distances(graph, ["b"], ["c"]).distances.tolist() == [[1.5]]
    assert kernels.distances(example(unit=10), ["b"], ["a"]).distances.tolist() == [[0]]
    tens = Graph.from_edges([0, 1], [1, 2], [30, 50], unit=10)
    assert tens.weights.tolist() == [3, 5] and kernels.distances(tens, [0], [2]).distances.tolist() == [[80]]
    for unit in (0, -1, np.nan, np.inf, True, "m", 1e-10):
        with pytest.raises(InputError, match="unit"):
            example(unit=unit)


def test_distances_are_the_floats_that_are_nearest_to_decimals():
    weights = np.random.default_rng(5).integers(1, 10**6, 200)
    v = np.arange(200)
    for digits in (1, 2, 3):
        graph = Graph.from_edges(v, v + 1, weights / 10**digits)
        decimals = [float(Decimal(int(total)).scaleb(-digits)) for total in np.cumsum(weights)]
        assert graph.unit == 10**-digits
        with kernels.prepare(graph) as solver:
            assert solver.shortest_paths(0).distances[1:].tolist() == decimals
            assert solver.distances([0], v + 1).distances[0].tolist() == decimals
            found = solver.distances([0], v + 1, dtype="float32").distances
            np.testing.assert_array_equal(found[0], np.float32(decimals), strict=True)
            for place in range(0, 200, 23):  # a limit that is a distance
                assert solver.reachable([0], decimals[place]).nnz == place + 2
                below = np.nextafter(decimals[place], 0)
                assert np.isfinite(solver.shortest_paths(0, limit=below).distances).sum() == place + 1


def test_a_table_of_int32_is_refused_unless_the_unit_is_1():
    with pytest.raises(InputError, match="int32"):
        kernels.distances(example(), ["a"], dtype="int32")
    assert kernels.distances(Graph.from_edges(["a", "b"], ["b", "c"], [1.0, 2]), ["a"], dtype="int32")


@st.composite
def networks(draw):
    """Return a number of vertices, and edges with decimals of at most `digits` digits or arbitrary floats."""
    n = draw(st.integers(1, 8))
    ends = st.integers(0, n - 1)
    digits = draw(st.integers(0, 4))
    weights = draw(st.sampled_from([st.integers(0, 10**6).map(lambda w: w / 10**digits), st.floats(0, 1e6)]))
    return n, draw(st.lists(st.tuples(ends, ends, weights), min_size=1, max_size=24)), draw(st.booleans())


@settings(deadline=None)
@given(networks())
@hypothesis.example((2, [(0, 1, 1.1e-308)], True))
@hypothesis.example((2, [(0, 1, 5e-324), (1, 0, 2e-300)], False))
def test_distances_are_within_the_stated_bound(network):
    n, edges, directed = network
    roads = by_networkx(edges, directed)
    roads.add_nodes_from(range(n))
    tails, heads, weights = map(np.array, zip(*edges, strict=True))
    graph = Graph.from_edges([f"v{u}" for u in tails], [f"v{v}" for v in heads], weights, directed=directed)
    ends = [int(label[1:]) for label in graph.labels]
    with kernels.prepare(graph) as solver:
        found, exact = solver.distances(graph.labels).distances, expected(roads, ends, ends)
    assert (np.isfinite(found) == np.isfinite(exact)).all()
    reached = np.isfinite(exact)
    bound = graph.vertices * (graph.weight_error + 1e-12 * weights.max())
    assert np.abs(found[reached] - exact[reached]).max() <= bound
    assert graph.weight_error <= graph.unit / 2
    # The position of each arc's edge, and of parallel edges the cheapest, which comes first in the list.
    for one in (graph, graph.undirected(), graph.reversed()):
        named = one.named(one.tails), one.named(one.indices)
        for u, v, edge in zip(*named, one.edges, strict=True):
            assert {u, v} == {f"v{tails[edge]}", f"v{heads[edge]}"}
        np.testing.assert_array_equal(one.weights, np.rint(weights / one.unit)[one.edges])
    kept = graph.cheapest()
    for arc in range(kept.arcs):
        same = (graph.tails == kept.tails[arc]) & (graph.indices == kept.indices[arc])
        assert kept.edges[arc] == min(zip(graph.weights[same], graph.edges[same], strict=True))[1]


@settings(deadline=None)
@given(networks(), st.integers(0, 9))
def test_no_distance_exceeds_the_bounds(network, power):
    n, edges, directed = network
    tails, heads, weights = map(np.array, zip(*edges, strict=True))
    weights = weights * 10.0**power + 0.5  # whole weights would keep the unit 1
    hypothesis.assume((weights % 1 > 0).any())
    graph = Graph.from_edges(tails, heads, weights, vertices=n, directed=directed)
    array = graph.to_integers()
    distances = csgraph.dijkstra(array)
    farthest = max(distances[np.isfinite(distances)].max(), array.data.max())
    assert farthest < INF
    assert farthest <= units.longest_by_hub(array) and farthest <= units.longest_by_sum(array)


@settings(deadline=None)
@given(st.sampled_from([0.1, 0.01, 0.001, 1e-6, 0.25, 0.3, 7, 60, 1000]), st.integers(0, 2**31 - 2))
def test_a_limit_in_units_is_the_largest_distance_within_it(unit, units_):
    scale = Scale.of(unit)

    def length(count: int) -> float:
        return float(scale.apply(np.array([float(count)]))[0])

    assert length(units_) == pytest.approx(units_ * unit, rel=1e-15)
    assert scale.units_within(length(units_)) == units_
    assert scale.units_within(np.nextafter(length(units_ + 1), 0)) == units_
    assert scale.units_within(np.inf) == scale.units_within(1.7e308) == np.inf


# NetworkX and frames.


def town() -> nx.MultiDiGraph:
    """A graph as OSMnx makes it: ids, positions, and lines of some edges."""
    rng = np.random.default_rng(8)
    roads, ids = nx.MultiDiGraph(crs="epsg:4326"), rng.integers(10**9, 10**10, 20).tolist()
    for node in ids:
        roads.add_node(node, x=float(rng.uniform(-74, -73)), y=float(rng.uniform(40, 41)))
    for place in range(90):
        more = {"geometry": f"line {place}"} if place % 3 else {}
        u, v = rng.choice(ids, 2).tolist()
        roads.add_edge(u, v, length=float(rng.uniform(1, 900)), travel_time=round(float(rng.uniform(1, 60)), 1), **more)
    return roads


@pytest.mark.parametrize(("weight", "unit"), [("travel_time", 0.1), ("length", None), (None, 1)])
@pytest.mark.parametrize("kind", [nx.MultiDiGraph, nx.MultiGraph, nx.DiGraph, nx.Graph])
def test_a_road_network_of_networkx(kind, weight, unit):
    roads = kind(town())
    graph, ids = Graph.from_networkx(roads, weight), list(roads)
    assert graph.labels.tolist() == ids and (unit is None or graph.unit == unit)
    bound = len(ids) * graph.weight_error + 1e-9
    exact = expected(roads, ids, ids, weight)
    np.testing.assert_allclose(kernels.distances(graph, ids).distances, exact, rtol=0, atol=bound)
    network = graph.network
    np.testing.assert_array_equal(network.coordinates, [[roads.nodes[i]["x"], roads.nodes[i]["y"]] for i in ids])
    assert network.crs == "epsg:4326"
    edges = list(roads.edges(data=True))
    for tail, head, edge in zip(graph.named(graph.tails), graph.named(graph.indices), graph.edges, strict=True):
        u, v, values = edges[edge]
        assert (tail, head) == (u, v) or (not graph.directed and (head, tail) == (u, v))
        assert network.geometry[edge] == values.get("geometry")


def test_nodes_that_are_numbers_of_any_kind():
    nodes = [2**60, 2**60 + 1, 0.5, Fraction(1, 3), "text"]
    roads = nx.DiGraph()
    roads.add_weighted_edges_from(zip(nodes[:-1], nodes[1:], [1, 2, 3, 4], strict=True))
    for count in 3, 5:
        part = roads.subgraph(nodes[:count])
        found = kernels.distances(Graph.from_networkx(part), nodes[:count], nodes[:count]).distances
        np.testing.assert_array_equal(found, expected(part, nodes[:count], nodes[:count]))


def test_nodes_that_are_numbers_are_no_labels():
    graph = Graph.from_networkx(nx.path_graph(5))
    assert graph.labels is None and graph.network.coordinates is None and graph.network.geometry is None
    shuffled = Graph.from_networkx(nx.path_graph([2, 0, 1]))
    assert kernels.distances(shuffled, [2], [0, 1]).distances.tolist() == [[1, 2]]
    grid = nx.grid_2d_graph(2, 3)
    assert kernels.prepare(Graph.from_networkx(grid)).path((0, 0), (0, 2)) == [(0, 0), (0, 1), (0, 2)]


def test_an_attribute_that_no_edge_has():
    with pytest.raises(InputError, match=r"'minutes'.*'travel_time'"):
        Graph.from_networkx(town(), "minutes")
    assert Graph.from_networkx(nx.empty_graph(3), "minutes").arcs == 0


def frames(roads: nx.MultiDiGraph) -> tuple[pd.DataFrame, pd.DataFrame]:
    nodes = pd.DataFrame.from_dict(dict(roads.nodes(data=True)), orient="index")
    edges = pd.DataFrame([values for *_, values in roads.edges(data=True)])
    edges.index = pd.MultiIndex.from_tuples(roads.edges(keys=True), names=["u", "v", "key"])
    return nodes, edges


def assert_same(one: Graph, other: Graph) -> None:
    for name in ("indptr", "indices", "weights", "edges", "labels"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.network.coordinates, other.network.coordinates)
    assert (one.unit, one.directed, one.weight_error) == (other.unit, other.directed, other.weight_error)


def test_a_pair_of_frames():
    roads = town()
    nodes, edges = frames(roads)
    for weight in ("length", "travel_time", None):
        graph = Graph.from_geopandas(nodes, edges, weight)
        assert_same(graph, Graph.from_networkx(roads, weight))
        assert_same(graph, Graph.from_geopandas(nodes, edges.reset_index(), weight))
    assert graph.network.geometry.tolist() == Graph.from_networkx(roads).network.geometry.tolist()
    both = Graph.from_geopandas(nodes, edges, "length", directed=False)
    assert both.arcs == 2 * graph.arcs and not both.directed
    for wrong, message in (
        (lambda: Graph.from_geopandas(nodes.iloc[1:], edges), "is not a vertex"),
        (lambda: Graph.from_geopandas(pd.concat([nodes, nodes]), edges), "twice"),
        (lambda: Graph.from_geopandas(nodes, edges, "minutes"), "'minutes'"),
        (lambda: Graph.from_geopandas(nodes, edges.reset_index(drop=True)), "'u'"),
    ):
        with pytest.raises(InputError, match=message):
            wrong()


def test_the_frames_of_osmnx():
    osmnx, geopandas = pytest.importorskip("osmnx"), pytest.importorskip("geopandas")
    roads = town()
    for *_, values in roads.edges(data=True):
        values.pop("geometry", None)
    nodes, edges = osmnx.graph_to_gdfs(roads)
    graph = Graph.from_geopandas(nodes, edges, "travel_time")
    assert_same(graph, Graph.from_networkx(roads, "travel_time"))
    assert graph.network.crs == nodes.crs and graph.network.geometry[0].equals(edges.geometry.iloc[0])
    places = geopandas.GeoDataFrame(geometry=nodes.geometry)
    assert_same(graph, Graph.from_geopandas(places, edges, "travel_time"))


# Derived graphs.


@pytest.mark.parametrize("empty", [0, 1])
def test_an_edge_with_an_empty_line_is_straight(empty):
    shapely = pytest.importorskip("shapely")
    pytest.importorskip("geopandas")
    roads = nx.DiGraph()
    for node in range(3):
        roads.add_node(node, x=node, y=0)
    roads.add_edges_from([(0, 1), (1, 2)], length=1)
    roads.edges[empty, empty + 1]["geometry"] = shapely.LineString()
    found = kernels.routes(Graph.from_networkx(roads, "length"), [0], [2]).to_geodataframe()
    assert shapely.get_coordinates(found.geometry[0]).tolist() == [[0, 0], [1, 0], [2, 0]]


def test_a_derived_graph_keeps_its_network():
    graph = Graph.from_networkx(town(), "length")
    unpickled = pickle.loads(pickle.dumps(graph))
    assert_same(graph, unpickled)
    ids = graph.labels[:5]
    for derived in (unpickled, graph.undirected(), graph.reversed(), graph.cheapest()):
        assert derived.unit == graph.unit and derived.weight_error == graph.weight_error
        assert derived.network.geometry.tolist() == graph.network.geometry.tolist()
        np.testing.assert_array_equal(derived.network.coordinates, graph.network.coordinates)
        again = kernels.distances(derived, ids, ids).distances
        straight = kernels.distances(graph, ids, ids).distances
        if derived is unpickled or derived.arcs < graph.arcs:
            np.testing.assert_array_equal(again, straight)
        elif derived.directed:
            np.testing.assert_array_equal(again, straight.T)
        else:
            found = kernels.distances(graph, ids, ids, directed=False).distances
            np.testing.assert_array_equal(again, found)


def test_a_graph_with_labels_or_a_unit_is_not_packed(tmp_path):
    for graph in (example(), Graph.from_edges(["a"], ["b"]), Graph.from_edges([0], [1], [0.5])):
        with pytest.raises(InputError, match="pickle"):
            graph.save(tmp_path / "graph.npz")
    before = (tmp_path / "graph.npz").write_bytes(b"kept")
    with pytest.raises(InputError, match="JSON"):
        Graph.from_edges([0], [1], meta={"at": {1, 2}}).save(tmp_path / "graph.npz")
    assert (tmp_path / "graph.npz").stat().st_size == before
    Graph.from_edges([0], [1], [5.0]).save(tmp_path / "graph.npz")
    assert Graph.load(tmp_path / "graph.npz").weights.tolist() == [5]


def test_all_paths_are_of_the_users_weights():
    """Also in float64, which searches with a limit on the host take."""
    graph = example()
    for limit, source in itertools.product([0, 0.25, 1.5, 1.75, 4.5, 100], graph.labels):
        exact = expected(by_networkx(ROADS), [source], graph.labels)[0]
        found = kernels.shortest_paths(graph, source, limit=limit).distances
        np.testing.assert_array_equal(found, np.where(exact <= limit, exact, np.inf))


@pytest.mark.parametrize("directed", [True, False])
def test_weights_of_edges_in_the_users_order_and_unit(directed):
    tails, heads, weights = [5, 2, 2, 5], [9, 5, 9, 9], [0.4, 1.25, 3, 7]
    graph = Graph.from_edges(tails, heads, weights, directed=directed, labels=True)
    np.testing.assert_array_equal(graph.edge_weights, weights)
    with kernels.prepare(graph) as solver:
        before = solver.pair_distances([2, 2], [9, 5]).distances
        solver.reweight([np.inf, 1, 1, np.inf])
        assert solver.pair_distances([2, 2], [9, 5]).distances.tolist() == [1, 1]
        solver.reweight(graph.edge_weights)
        np.testing.assert_array_equal(solver.pair_distances([2, 2], [9, 5]).distances, before)


@pytest.mark.parametrize(("labels", "vertices"), [(True, 3), (False, 10), (None, 10)])
def test_whether_integers_are_labels_may_be_said(labels, vertices):
    assert Graph.from_edges([5, 2], [9, 5], [1, 1], labels=labels).vertices == vertices


def test_a_number_in_place_of_a_label_is_explained():
    graph = Graph.from_edges([10**10, 10**10 + 7], [10**10 + 7, 10**10 + 9], [1, 1])
    with pytest.raises(InputError, match="labels=False"):
        kernels.distances(graph, [1])
    assert repr(graph) == "Graph(graph: 3 vertices, 2 arcs)"
