"""The NetworkX backend returns what NetworkX does, and leaves the rest to it."""

import inspect
import math
import random
import re
import types
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from kernels.library import choice, networkx_info
from kernels.library import networkx as backend
from kernels.run import Run
from tests.support import package
from tests.support.pages import block, blocks

ROOT = Path(__file__).parents[3]
KINDS = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)
FUNCTIONS = networkx_info.backend_info()["functions"]
LABELS = ("a", 7, (1, 2), "b", 2.5, frozenset({1}), "c")
SUMS = "closeness_centrality", "harmonic_centrality", "average_shortest_path_length", "wiener_index"
WEIGHTS = {
    "whole": lambda rng: rng.randint(1, 5),
    "with zeros": lambda rng: rng.randint(0, 2),
    "fractions": lambda rng: rng.random(),
    "mixed": lambda rng: rng.choice([1, 0.1, np.int64(3), np.float64(0.7), True]),
    "negative": lambda rng: rng.choice([-1, 1, 2, 3, 4, 5]),
    "hidden": lambda rng: rng.choice([None, 1, 2]),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return package.unpacked(tmp_path_factory.mktemp("wheel"))


def test_the_functions_are_networkxs_with_their_parameters():
    listed = set(FUNCTIONS)
    asked = {"convert_from_nx", "convert_to_nx", "should_run", "networkx_algorithm"}
    public = {
        name
        for name, value in vars(backend).items()
        if isinstance(value, types.FunctionType) and value.__module__ == backend.__name__ and name[0] != "_"
    }
    assert public - asked == listed and networkx_info.backend_info()["backend_name"] == package.NAME
    assert {name for name in vars(backend) if hasattr(getattr(nx, name, None), "orig_func")} == listed  # nothing else
    for name in listed:
        ours, theirs = (parameters(function) for function in (getattr(backend, name), getattr(nx, name).orig_func))
        if name == "closeness_centrality" and "sp" not in [p.name for p in theirs]:  # before NetworkX 3.7
            ours.pop()
        assert ours == theirs, name


def parameters(function):
    """Names, kinds and defaults, without types."""
    return [p.replace(annotation=p.empty) for p in inspect.signature(function).parameters.values()]


def calls(rng):
    """Yield every function's name with random arguments."""
    source, target, other = rng.sample(LABELS, 3)
    weight = rng.choice(["weight", "none has it", None, lambda u, v, data: 2])
    cutoff = rng.choice([None, None, -1, 0, 1, 2.5, 4])
    for name in FUNCTIONS:
        named = inspect.signature(getattr(backend, name)).parameters.keys()
        given = {
            "source": source,
            "sources": [source, other],
            "target": target,
            "weight": weight,
            "cutoff": cutoff,
            "method": rng.choice(["dijkstra", "bellman-ford"]),
            "distance": weight,
            "u": rng.choice([None, source]),
            "v": rng.choice([None, source, [source, other]]),
            "nbunch": rng.choice([None, source, [source, other, target], [source, source]]),
            "wf_improved": rng.choice([True, False, 1, ""]),
        }
        if name == "average_shortest_path_length":
            given["method"] = rng.choice([None, "unweighted", "dijkstra"])
        if rng.random() < 0.3:
            given["source"] = given["target"] = "no node"
            given["sources"] = rng.choice([[source, "no node"], []])
            given["u"], given["v"], given["nbunch"] = "no node", ["no node"], [source, "no node"]
        if name == "harmonic_centrality":
            given["sources"] = rng.choice([None, given["sources"], [*LABELS, "no node"]])
        if "method" in named and "source" in named:
            given.pop(rng.choice(["source", "target", None]), None)
        elif rng.random() < 0.5 and named >= {"target"} and not name.endswith(("_path", "path_length")):
            del given["target"]
        yield name, {key: value for key, value in given.items() if key in named}


def leaves(found, *keys):
    """Yield the numbers and paths of a result, each with its keys."""
    if isinstance(found, dict):
        for key, below in found.items():
            yield from leaves(below, *keys, key)
    elif isinstance(found, tuple):
        for i, below in enumerate(found):
            yield from leaves(below, *keys, i)
    else:
        yield keys, found


def answer(function, graph, arguments):
    """Return a call's result or error."""
    try:
        found = function(graph, **arguments)
        return dict(found) if isinstance(found, types.GeneratorType) else found
    except (nx.NetworkXException, ValueError) as error:
        return {type(error): " ".join(map(str, error.args))}


def is_error(found):
    return isinstance(found, dict) and any(isinstance(key, type) for key in found)


def length(graph, weight, path):
    def least(u, v):
        if weight is None or callable(weight):
            return 1 if weight is None else weight(u, v, graph[u][v])
        edges = graph[u][v].values() if graph.is_multigraph() else [graph[u][v]]
        return min(edge.get(weight, 1) for edge in edges)

    return sum(least(u, v) for u, v in pairwise(path))


def assert_alike(name, graph, arguments, ours, theirs):
    """Check for the same numbers and predecessors in any order; paths need the same ends and length."""
    if isinstance(theirs, np.ndarray):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
        return
    weight = arguments.get("weight")
    if name == "floyd_warshall_predecessor_and_distance" and isinstance(theirs, tuple):
        assert {u: set(row) for u, row in ours[0].items()} == {u: set(row) for u, row in theirs[0].items()}
        for u, row in ours[0].items():
            for v in set(row) - {u}:
                path = nx.reconstruct_path(u, v, ours[0])
                assert path[0] == u and math.isclose(length(graph, weight, path), ours[1][u][v])
        ours, theirs = ours[1], theirs[1]
    if name in ("center", "periphery"):
        assert ours == theirs
        return
    found, expected = dict(leaves(ours)), dict(leaves(theirs))
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        if name.endswith("predecessor_and_distance") and isinstance(value, list):
            assert Counter(found[key]) == Counter(value)
        elif isinstance(value, list):
            assert found[key][0] in arguments.get("sources", value[:1]) and found[key][-1] == value[-1]
            assert math.isclose(length(graph, weight, found[key]), length(graph, weight, value))
        elif (name.startswith("floyd_warshall") or name in SUMS) and not isinstance(value, str):
            assert math.isclose(found[key], value, rel_tol=1e-12)
        else:
            assert found[key] == value and type(found[key]) in (str, int, float)


def compare(kind, weights, graphs, arcs):
    """Compare all functions on random graphs; count the compared answers of each."""
    rng, served = random.Random(f"{kind} {weights}"), Counter()
    for _ in range(graphs):
        graph = kind()
        graph.add_nodes_from(LABELS)
        for _ in range(rng.randrange(arcs)):
            graph.add_edge(rng.choice(LABELS), rng.choice(LABELS), weight=WEIGHTS[weights](rng))
        for name, arguments in calls(rng):
            try:
                ours = answer(getattr(backend, name), backend.convert_from_nx(graph), arguments)
            except NotImplementedError:
                continue
            theirs = answer(getattr(nx, name).orig_func, graph, arguments)
            try:
                assert_alike(name, graph, arguments, ours, theirs)
            except Exception as error:
                error.add_note(f"{name} {arguments} {graph.edges(data=True)}: {ours}, NetworkX {theirs}")
                raise
            served[name] += 1
    return served


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("kind", KINDS)
def test_results_and_errors_are_networkxs(kind, weights):
    assert compare(kind, weights, graphs=10, arcs=20).keys() == set(FUNCTIONS)


@pytest.mark.simulator
@pytest.mark.parametrize("weights", ["whole", "fractions", "negative"])
def test_kernels_answer_too(small_card, monkeypatch, weights):
    searched = []

    def run(**settings):
        searched.append(settings)
        return Run(**settings)

    def watched(function, graph, arguments):
        before, found = len(searched), answer(function, graph, arguments)
        skips = function.__name__ in ("wiener_index", "harmonic_centrality", "eccentricity")  # on some arguments
        if function.__module__ == backend.__name__ and not is_error(found) and not skips:
            searches_of.append(len(searched) - before)
        return found

    searches_of, answer = [], globals()["answer"]
    monkeypatch.setitem(globals(), "answer", watched)
    small_card(run=run)
    served = compare(nx.DiGraph, weights, graphs=1, arcs=20)
    assert len(served) >= len(searches_of) >= 18 and min(searches_of) >= 1


@pytest.mark.parametrize("weights", ["whole", "with zeros", "fractions", "mixed"])
@pytest.mark.parametrize("kind", KINDS)
def test_measures_of_connected_graphs(kind, weights):
    rng = random.Random(f"{kind} {weights}")
    for _ in range(5):
        graph, names = kind(), rng.sample(LABELS, 6)
        for u, v in [*pairwise([*names, names[0]]), *(rng.sample(names, 2) for _ in range(8))]:
            graph.add_edge(u, v, weight=WEIGHTS[weights](rng))
        converted = backend.convert_from_nx(graph)
        for name in ("eccentricity", "diameter", "radius", "center", "periphery", *SUMS):
            for weight in ("weight", None):
                given = {"distance" if name.endswith("centrality") else "weight": weight}
                ours, theirs = getattr(backend, name)(converted, **given), getattr(nx, name).orig_func(graph, **given)
                assert_alike(name, graph, given, ours, theirs)
                if name == "wiener_index" and weights != "mixed":
                    assert type(ours) is type(theirs)
        assert dict(backend.eccentricity(converted, names[:2])) == nx.eccentricity.orig_func(graph, names[:2])
        given = {"nbunch": names[:2], "sources": names[1:], "distance": "weight"}
        for swapped in (given, given | {"nbunch": given["sources"], "sources": given["nbunch"]}):
            ours, theirs = (
                backend.harmonic_centrality(converted, **swapped),
                nx.harmonic_centrality.orig_func(graph, **swapped),
            )
            assert_alike("harmonic_centrality", graph, swapped, ours, theirs)


def test_measures_of_one_node_and_of_two_that_are_apart():
    for kind in KINDS:
        one, two = nx.empty_graph(1, kind), nx.empty_graph(2, kind)
        with pytest.raises(NotImplementedError, match="no node"):
            backend.eccentricity(backend.convert_from_nx(nx.empty_graph(0, kind)))
        for name in ("eccentricity", "diameter", "radius", "center", "periphery", *SUMS):
            for graph in (one, two):
                ours = answer(getattr(backend, name), backend.convert_from_nx(graph), {})
                assert ours == answer(getattr(nx, name).orig_func, graph, {}), name


@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        ("closeness_centrality", {"sp": {}}, "distances or eccentricities are given"),
        ("eccentricity", {"sp": {}}, "distances or eccentricities are given"),
        ("radius", {"e": {0: 1}}, "distances or eccentricities are given"),
        ("diameter", {"usebounds": True}, "with bounds NetworkX takes few searches"),
        ("average_shortest_path_length", {"method": "floyd-warshall"}, "the method is not Dijkstra"),
    ],
)
def test_measures_that_are_left_to_networkx(name, given, why):
    with pytest.raises(NotImplementedError, match=f"^{why}$"):
        getattr(backend, name)(backend.convert_from_nx(nx.path_graph(3)), **given)


def test_the_center_of_a_tree_is_networkxs():
    tree = nx.random_labeled_tree(64, seed=1)
    assert backend.center(backend.convert_from_nx(tree)) == nx.center(tree)


def test_an_edge_that_is_hidden_connects_nothing():
    graph = nx.Graph([(0, 1, {"weight": 2}), (1, 2, {"weight": None})])
    converted = backend.convert_from_nx(graph)
    for name in ("closeness_centrality", "harmonic_centrality"):
        ours, theirs = (
            f(g, distance="weight") for f, g in ((getattr(backend, name), converted), (getattr(nx, name), graph))
        )
        assert ours == theirs
    for name in ("wiener_index", "average_shortest_path_length"):
        with pytest.raises(NotImplementedError, match="a weight is None"):
            getattr(backend, name)(converted, weight="weight")


@pytest.mark.gpu
def test_a_card_answers_to_the_last_bit(monkeypatch):
    monkeypatch.setattr(choice, "LEAST_WORK_FOR_CARD", 0)
    rng, city = random.Random(1), nx.grid_2d_graph(40, 40)
    nx.set_edge_attributes(city, {street: rng.random() for street in city.edges}, "weight")
    converted, stations = backend.convert_from_nx(city), [(5, 5), (30, 12), (18, 33)]
    for name, arguments in {
        "single_source_dijkstra": {"source": (0, 0)},
        "single_source_dijkstra_path_length": {"source": (0, 0), "cutoff": 5},
        "multi_source_dijkstra": {"sources": stations},
        "single_source_bellman_ford": {"source": (0, 0)},
        "single_source_shortest_path_length": {"source": (0, 0)},
        "all_pairs_dijkstra_path_length": {"cutoff": 2},
    }.items():
        ours, theirs = getattr(backend, name)(converted, **arguments), getattr(nx, name).orig_func(city, **arguments)
        if name.startswith("all_pairs"):
            ours, theirs = dict(ours), dict(theirs)
        assert_alike(name, city, arguments, ours, theirs)


@pytest.mark.parametrize(
    ("weight", "why"),
    [
        (Fraction(1, 2), "a weight is not an int, float or NumPy integer"),
        (np.float32(0.1), "a weight is not an int, float or NumPy integer"),
        ("1", "a weight is not an int, float or NumPy integer"),
        (math.inf, "a weight is infinite or NaN"),
        (math.nan, "a weight is infinite or NaN"),
        (2**51 + 1, "a sum of whole weights may be more than 2^53"),
        (10**400, "a weight is too large"),
        (-1, "a weight is negative"),
    ],
)
def test_a_weight_that_is_not_served(weight, why):
    graph = nx.DiGraph([("a", "b", {"weight": weight}), ("b", "c", {"weight": 0.5}), ("c", "d")])
    with pytest.raises(NotImplementedError, match=f"^{re.escape(why)}"):
        backend.single_source_dijkstra(backend.convert_from_nx(graph), "a")


@pytest.mark.parametrize("weights", [(1, math.nan), (math.nan, 1)])
def test_a_parallel_edge_whose_weight_is_no_number_is_not_served(weights):
    graph = nx.MultiDiGraph()
    graph.add_weighted_edges_from([("a", "b", weight) for weight in weights])
    with pytest.raises(NotImplementedError, match="infinite or NaN"):
        backend.floyd_warshall(backend.convert_from_nx(graph))


def test_a_source_beyond_the_cutoff_has_no_predecessor():
    graph = nx.DiGraph([("a", "a", {"weight": 0}), ("a", "b", {"weight": 0})])
    for cutoff in (-1, 0):
        ours = backend.dijkstra_predecessor_and_distance(backend.convert_from_nx(graph), "a", cutoff)
        assert ours == nx.dijkstra_predecessor_and_distance(graph, "a", cutoff)


def test_sources_that_can_be_read_only_once():
    """NetworkX consumes them when it checks that they are nodes, and then has no sources."""
    graph = nx.path_graph(3)
    converted = backend.convert_from_nx(graph)
    for name in ("multi_source_dijkstra", "multi_source_dijkstra_path", "multi_source_dijkstra_path_length"):
        assert getattr(backend, name)(converted, iter([0])) == getattr(nx, name)(graph, iter([0]))
    with pytest.raises(nx.NetworkXNoPath, match=r"^No path to 1\.$"):
        backend.multi_source_dijkstra(converted, iter([0]), target=1)


def test_the_largest_whole_weight_is_served():
    graph = nx.path_graph(4, nx.DiGraph)
    nx.set_edge_attributes(graph, 2**51 - 1, "weight")
    graph.edges[1, 2]["weight"] = 2**51
    expected = {0: 0, 1: 2**51 - 1, 2: 2**52 - 1, 3: 3 * 2**51 - 2}
    assert backend.single_source_dijkstra_path_length(backend.convert_from_nx(graph), 0) == expected


def test_a_function_of_weights_that_fails_where_no_search_comes():
    graph = nx.DiGraph([("a", "b", {"km": 2}), ("c", "d")])
    with pytest.raises(NotImplementedError, match="KeyError"):
        backend.dijkstra_path(backend.convert_from_nx(graph), "a", "b", lambda u, v, edge: edge["km"])


@pytest.mark.parametrize("cutoff", [Fraction(1, 2), math.nan, "1"])
def test_a_cutoff_that_is_not_served(cutoff):
    with pytest.raises(NotImplementedError, match="cutoff"):
        backend.all_pairs_dijkstra(backend.convert_from_nx(nx.path_graph(3)), cutoff)


@pytest.mark.parametrize("seed", range(5))
def test_negative_fractions_have_all_predecessors(seed):
    rng, graph = random.Random(seed), nx.gnp_random_graph(30, 0.2, seed=seed, directed=True)
    height = {node: rng.random() for node in graph}
    for u, v, edge in graph.edges(data=True):
        edge["weight"] = rng.random() / 9 + height[v] - height[u]
    ours = backend.bellman_ford_predecessor_and_distance(backend.convert_from_nx(graph), 0)
    before, lengths = nx.bellman_ford_predecessor_and_distance(graph, 0)
    assert ours[0] == before and min(lengths.values()) < 0
    assert ours[1] == pytest.approx(lengths, rel=1e-12)


def test_all_predecessors_come_by_distance():
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([("s", "far", 3), ("s", "near", 1), ("far", "t", 1), ("near", "t", 3), ("s", "t", 4)])
    before, _ = backend.dijkstra_predecessor_and_distance(backend.convert_from_nx(graph), "s")
    assert before == {"s": [], "near": ["s"], "far": ["s"], "t": ["s", "near", "far"]}


def test_the_nearest_come_first_and_all_pairs_come_in_pieces(monkeypatch):
    graph = nx.path_graph(5)
    graph.edges[0, 1]["weight"] = 0
    converted = backend.convert_from_nx(graph)
    assert list(backend.single_source_dijkstra_path(converted, 1)) == [1, 0, 2, 3, 4]
    assert list(backend.multi_source_dijkstra_path_length(converted, [4, 1])) == [1, 4, 0, 2, 3]
    monkeypatch.setattr(backend, "PIECE", 12)  # two rows at once
    assert dict(backend.all_pairs_shortest_path(converted)) == dict(nx.all_pairs_shortest_path(graph))


# By NetworkX, in a process that has the wheel.
SUITES = (
    *(f"centrality.tests.test_{name}_centrality" for name in ("closeness", "harmonic")),
    *("tests.test_distance_measures", "tests.test_wiener"),
)
USED = re.compile(rf"Using backend '{package.NAME}' for call to '(\w+)'")
REFUSED = re.compile(rf"Backend '{package.NAME}' raised(?: NotImplementedError)? when calling '(\w+)'")


@pytest.mark.ci
def test_networkxs_own_tests_pass_and_reach_every_function(site, tmp_path):
    log = tmp_path / "networkx.log"
    ran = package.python(
        site,
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--log-file", log),
        *("--log-file-level", "DEBUG", "--pyargs", "networkx.algorithms.shortest_paths"),
        *(f"networkx.algorithms.{name}" for name in SUITES),
        *("-k", "not use_bounds_on_off or -10-"),  # 500 random graphs, of which those of ten vertices are enough
        cwd=tmp_path,
        **package.NO_GPU,
        NETWORKX_TEST_BACKEND=package.NAME,
        NETWORKX_FALLBACK_TO_NX="1",
    )
    (passed,) = re.findall(r"^(\d+) passed\b", ran.stdout, re.MULTILINE)
    assert ran.returncode == 0 and int(passed) >= 750
    text = log.read_text()
    reached = Counter(USED.findall(text))
    reached.subtract(REFUSED.findall(text))
    assert {name for name, times in reached.items() if times > 0} == set(FUNCTIONS)


PAGE = (ROOT / "docs/networkx.md").read_text()
ADDED = 'nx.config.backend_priority = ["cuda_shortest_paths"]  # the line to add\n'


def logged(site, folder, script, **environment):
    """Run a script; return NetworkX's messages on backends."""
    log_all = block("networkx.md", "import logging\n")
    ran = package.python(site, "-c", log_all + script, cwd=folder, **package.NO_GPU, **environment)
    assert ran.returncode == 0, ran.stderr
    return [line for line in ran.stderr.splitlines() if line.startswith("DEBUG:networkx.utils.backends:")]


@pytest.mark.parametrize("how", ["a line", "the environment"])
def test_the_example_runs_with_the_line_or_the_environment(site, tmp_path, how):
    example = block("networkx.md", "import random\n")
    assert ADDED in example
    variable, name = re.search(r"^    (\w+)=(\w+) python streets.py$", PAGE, re.MULTILINE).groups()
    script, environment = (example, {}) if how == "a line" else (example.replace(ADDED, ""), {variable: name})
    said = logged(site, tmp_path, script, **environment)
    assert [name for line in said for name in USED.findall(line)] == [
        "single_source_dijkstra_path_length",
        "dijkstra_path",
        "single_source_dijkstra_path_length",
        "multi_source_dijkstra_path_length",
    ]
    assert sum("Caching converted graph" in line for line in said) == 1
    assert sum("cached converted" in line for line in said) == 3
    assert logged(site, tmp_path, example.replace(ADDED, "")) == []


def test_every_block_of_the_page_is_run():
    first_lines = [code.partition("\n")[0] for code in blocks("networkx.md")]
    assert first_lines == ["import random", "import logging"]


def test_the_page_lists_the_functions():
    (table,) = re.findall(r"^\| kind .*?\n\n", PAGE, re.MULTILINE | re.DOTALL)
    assert sorted(re.findall(r"`(\w+)`", table)) == sorted(FUNCTIONS)
    settings = networkx_info.backend_info()["default_config"]
    assert f" {settings['min_nodes']} nodes" in PAGE
    assert all(f"\n| `{name}` | {value} |" in PAGE for name, value in settings.items())


NOT_SERVED = """
import math
import networkx as nx
graph = nx.path_graph(64)
distances = {node: {node: 0} for node in graph}
for name, arguments, why in [
    ("single_source_dijkstra", {"source": 0, "weight": lambda *edge: -1}, "a weight is negative"),
    ("shortest_path", {"source": 0, "target": 9, "method": "A*"}, "the method is not Dijkstra or Bellman-Ford"),
    ("diameter", {"usebounds": True}, "with bounds NetworkX takes few searches"),
    ("closeness_centrality", {"u": 0, "distance": "km", "sp": distances}, "distances or eccentricities are given"),
    ("average_shortest_path_length", {"method": "floyd-warshall"}, "the method is not Dijkstra"),
    ("bidirectional_dijkstra", {"source": 0, "target": 9}, "is not implemented"),
]:
    call = getattr(nx, name)
"""


def test_a_call_that_names_the_backend_is_refused_with_the_reason(site, tmp_path):
    script = """
    try:
        call(graph, **arguments, backend="cuda_shortest_paths")
    except NotImplementedError as error:
        assert why in str(error.__cause__ or error), error
    else:
        raise AssertionError(name)
"""
    logged(site, tmp_path, NOT_SERVED + script)


def test_other_calls_that_are_not_served_are_networkxs(site, tmp_path):
    script = """
    def answer():
        try:
            return call(graph, **arguments)
        except ValueError as error:  # of NetworkX
            return repr(error)
    expected = answer()
    with nx.config(backend_priority=["cuda_shortest_paths"]):
        assert answer() == expected, name
"""
    said = logged(site, tmp_path, NOT_SERVED + script)
    used = {name for line in said for name in USED.findall(line)}
    assert not used & {"shortest_path", "diameter", "closeness_centrality", "average_shortest_path_length"}


def test_what_is_not_served_is_left_to_networkx(site, tmp_path):
    script = """
import sys
from fractions import Fraction
import networkx as nx
assert not {"numba", "scipy"} & set(sys.modules)  # until they are needed
nx.config.backend_priority = ["cuda_shortest_paths"]
small, large = nx.path_graph(63), nx.path_graph(64)
assert nx.single_source_shortest_path_length(small, 0)[62] == 62
assert nx.single_source_shortest_path_length(small, 0, backend="cuda_shortest_paths")[62] == 62
assert nx.shortest_path(large, 0, 63) == list(range(64))
assert nx.bidirectional_dijkstra(large, 0, 63)[0] == 63
assert nx.shortest_path_length(large, 0)[63] == 63
large.add_edge(0, 63, weight=Fraction(1, 2))
assert nx.single_source_dijkstra_path_length(large, 0)[62] == Fraction(3, 2)
large[0][63]["weight"] = -1
try:
    nx.single_source_dijkstra(large.to_directed(), 63)
except ValueError as error:
    print(error)
"""
    said = logged(site, tmp_path, script)
    assert [name for line in said for name in USED.findall(line)] == [
        "single_source_shortest_path_length",
        "shortest_path_length",
        "single_source_dijkstra",
        "multi_source_dijkstra",
    ]
    for why in (
        "shouldn't run `single_source_shortest_path_length`.*because: the graph has fewer than 64 nodes",
        "shouldn't run `shortest_path` .*because: for one pair NetworkX searches from both ends",
        "does not implement 'bidirectional_dijkstra'",
        "raised when calling 'single_source_dijkstra_path_length': a weight is not an int, float or NumPy integer",
        "raised when calling 'single_source_dijkstra': a weight is negative",
    ):
        assert any(re.search(why, line) for line in said), why


def test_settings_leave_calls_to_networkx_unless_they_name_the_backend(site, tmp_path):
    script = """
import networkx as nx
nx.config.backend_priority = ["cuda_shortest_paths"]
graph = nx.path_graph(99)
for settings in {"min_nodes": 100}, {"use_without_gpu": False}, {"min_nodes": 99}:
    with nx.config.backends.cuda_shortest_paths(**settings):
        assert nx.single_source_shortest_path_length(graph, 0)[98] == 98
with nx.config.backends.cuda_shortest_paths(min_nodes=100, use_without_gpu=False):
    assert nx.shortest_path_length(graph, 0, 98, backend="cuda_shortest_paths") == 98
for name, value in ("min_nodes", "64"), ("use_without_gpu", 1):
    try:
        with nx.config.backends.cuda_shortest_paths(**{name: value}):
            nx.single_source_shortest_path_length(graph, 0)
    except ValueError as error:
        assert str(error).startswith(f"nx.config.backends.cuda_shortest_paths.{name} "), error
    else:
        raise AssertionError(name)
"""
    said = logged(site, tmp_path, script)
    assert [name for line in said for name in USED.findall(line)] == [
        "single_source_shortest_path_length",
        "shortest_path_length",
    ]
    whys = "the graph has fewer than 100 nodes", "no GPU is visible"
    assert [next(why for why in whys if why in line) for line in said if "shouldn't run" in line] == [*whys]
