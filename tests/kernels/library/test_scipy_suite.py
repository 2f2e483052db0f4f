"""SciPy's own tests of shortest paths, which its wheel has, run on kernels/csgraph.py and on every variant.

SciPy's test functions are called as they are, but the functions of scipy.sparse.csgraph that they call are replaced:
by ours of the same name, all of them, without a card and on the simulator's; and by variants. Then a replaced function
asks SciPy first. Where a variant can express the call, it is asked too, has to agree, and is what SciPy's test gets to
see; else the test gets SciPy's answer. CUDA-graph variants are left out: in the simulator they are the same as the
plain ones.
"""

import functools
import inspect
import itertools
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph._validation import validate_graph
from scipy.sparse.csgraph.tests import test_shortest_path as suite

import kernels
from kernels.graph import ARRAYS, INF, Graph
from kernels.library import choice, csgraph, searches
from kernels.library.choice import Card
from kernels.library.inputs import as_graph
from kernels.library.searches import NO_PREDECESSOR
from kernels.registry import VARIANTS
from kernels.run import Result, Run
from tests.support.trees import CARD, allows_zero_weights

REPLACED = ("shortest_path", "dijkstra", "bellman_ford", "johnson", "yen")
LARGEST = {"sssp": 10, "apsp": 5}  # vertices of a graph in the simulator


class Case(NamedTuple):
    """One of SciPy's tests with its parameters.

    vertices: of the graphs of those of its calls that are ours. reasons: why the others are not.
    """

    test: str
    function: functools.partial
    vertices: list
    reasons: list

    def __str__(self):
        parameters = self.function.keywords.values()
        return "-".join([self.test, *(getattr(value, "__name__", str(value)) for value in parameters)])


def why_not(arguments, weights):
    """Why the interface cannot express a call; "" where it can."""
    reasons = {
        "more than one path": "K" in arguments,
        "min_only": arguments.get("min_only"),
        "a limit": arguments.get("limit", np.inf) < np.inf,
        "a negative weight": (weights < 0).any(),
        "a weight that is no whole number": (np.floor(weights) != weights).any(),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def both_ways(array):
    """Every arc and its reverse, so that the cheaper of two directions counts, as in SciPy."""
    arcs = sparse.coo_array(array)
    (tails, heads), weights = arcs.coords, arcs.data.astype(np.int64)
    return Graph.from_arcs(
        arcs.shape[0], np.r_[tails, heads], np.r_[heads, tails], np.r_[weights, weights], directed=False
    )


def assert_trees(graph, sources, distances, predecessors):
    """Each predecessor has an arc that makes up the difference of two distances, and leads to the source."""
    vertices = np.arange(graph.vertices)
    for source, dist, last in zip(sources, distances, predecessors, strict=True):
        led = np.isfinite(dist) & (vertices != source)
        np.testing.assert_array_equal(last != NO_PREDECESSOR, led)
        np.testing.assert_array_equal(dist[last[led]] + graph.matrix[last[led], vertices[led]], dist[led])
        ends = np.where(led, last, vertices)
        for _ in range(graph.vertices.bit_length()):
            ends = ends[ends]
        assert (ends[led] == source).all()


class Replacement:
    """Answers SciPy's tests by solve(given, sources), or by SciPy where solve is None; keeps what was asked.

    given: a sparse array or a Graph. solve returns distances and predecessors as the interface has them, a row a
    source; None for predecessors that need not be right.
    """

    def __init__(self, solve):
        self.solve, self.vertices, self.reasons, self.trees = solve, [], [], []

    def call(self, function, *args, **kwargs):
        bound = inspect.signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = bound.arguments
        try:
            array = arguments["csgraph"]
            if not sparse.issparse(array):
                array = validate_graph(array, arguments["directed"], dense_output=False)
            scipys = function(*args, **kwargs)
        except Exception:
            self.reasons.append("an error that SciPy raises")
            raise
        if arguments["unweighted"]:
            array = sparse.coo_array(array, copy=True)
            array.data = np.ones_like(array.data)
        if reason := why_not(arguments, sparse.coo_array(array).data):
            self.reasons.append(reason)
            return scipys
        self.vertices.append(array.shape[0])
        if self.solve is None:
            return scipys
        distances, predecessors = self.ours(array if arguments["directed"] else both_ways(array), arguments["indices"])
        both = arguments["return_predecessors"]
        np.testing.assert_array_equal(distances, scipys[0] if both else scipys, strict=True)
        return (distances, predecessors) if both else distances

    def ours(self, given, indices):
        n = given.vertices if isinstance(given, Graph) else given.shape[0]
        indices = np.arange(n) if indices is None else np.asarray(indices)
        distances, predecessors = self.solve(given, indices.ravel().tolist())
        if predecessors is not None:
            assert_trees(as_graph(given), indices.ravel(), distances, predecessors)
            predecessors = predecessors.reshape(*indices.shape, n)
            self.trees.append(predecessors)
        return distances.reshape(*indices.shape, n), predecessors

    def compare(self, compare, actual, desired):
        """Where several predecessors are equally good ours need not be SciPy's, and have been seen to be trees."""
        if any(actual is tree for tree in self.trees):
            actual, desired = actual == NO_PREDECESSOR, desired == NO_PREDECESSOR
        compare(actual, desired)


def run(function, solve):
    """Call one of SciPy's tests with SciPy's functions replaced."""
    replacement = Replacement(solve)
    with pytest.MonkeyPatch.context() as patch:
        for name in REPLACED:
            patch.setattr(suite, name, functools.partial(replacement.call, getattr(suite, name)))
        compare = functools.partial(replacement.compare, suite.assert_array_almost_equal)
        patch.setattr(suite, "assert_array_almost_equal", compare)
        function()
    return replacement


def scipys_cases():
    """Every test of SciPy's with every set of its parameters, each run once with SciPy's own answers."""
    for name, function in list(vars(suite).items()):
        if name.startswith("test_"):
            axes = [
                [(names.replace(" ", "").split(","), row if "," in names else [row]) for row in rows]
                for names, rows in (mark.args for mark in getattr(function, "pytestmark", []))
            ]
            for chosen in itertools.product(*axes):
                arguments = {key: value for keys, row in chosen for key, value in zip(keys, row, strict=True)}
                call = functools.partial(function, **arguments)
                seen = run(call, None)
                yield Case(name, call, seen.vertices, seen.reasons)


CASES = list(scipys_cases())
OURS = [case for case in CASES if case.vertices]


def by_shortest_paths(given, sources):
    found = [kernels.shortest_paths(given, source) for source in sources]
    return np.stack([paths.distances for paths in found]), np.stack([paths.predecessors for paths in found])


def by_all_pairs(given, sources):
    found = kernels.all_pairs(given)
    return found.distances[sources], found.predecessors[sources]


def by_distances(given, sources):
    return kernels.distances(given, sources).distances, by_shortest_paths(given, sources)[1]


def by_variant(variant):
    """What solves by one variant; of graphs that differ only in arcs that are not the cheapest it runs one."""
    known = {}

    def row(graph, source):
        least, one = graph.cheapest(), variant.problem == "sssp"
        directed = graph.directed if variant.algorithm == "edge" else None  # no other reads it
        key = *(getattr(least, name).tobytes() for name in ARRAYS), directed, source if one else None
        if key not in known:
            result = Result.poisoned(variant.problem, graph.vertices)
            variant.function(graph, result, Run(source=source, block=2, tile=3, on_gpu=variant.on_gpu))
            distances = np.where(result.distances == INF, np.inf, result.distances)
            known[key] = distances, np.where(result.predecessors == -1, NO_PREDECESSOR, result.predecessors)
        return known[key] if one else [array[source] for array in known[key]]

    def solve(given, sources):
        graph = as_graph(given)
        distances, predecessors = map(np.stack, zip(*(row(graph, source) for source in sources), strict=True))
        trees = allows_zero_weights(variant) or graph.weights.min(initial=1) > 0
        return distances, predecessors if trees else None

    return solve


def test_how_many_of_scipys_cases_are_ours():
    """No fewer than SciPy 1.17 and 1.18 have, so that none is lost unseen; of each of the others it is said why."""
    assert len(OURS) >= 47, f"only {len(OURS)} of {len(CASES)}"
    reasons = Counter(reason for case in CASES if not case.vertices for reason in set(case.reasons))
    assert sum(reasons.values()) == len(CASES) - len(OURS)
    assert reasons >= Counter(
        {
            "min_only": 27,
            "more than one path": 6,
            "a negative weight": 4,
            "an error that SciPy raises": 4,
            "a weight that is no whole number": 2,
        }
    )


@pytest.mark.parametrize("case", OURS, ids=str)
@pytest.mark.parametrize("solve", [by_shortest_paths, by_all_pairs, by_distances])
def test_the_interface_passes(solve, case):
    assert run(case.function, solve).vertices == case.vertices


def all_pass(variants, cases):
    """Whatever fails says of which variant and case."""
    assert variants and cases
    for variant in variants:
        solve = by_variant(variant)
        for case in cases:
            try:
                assert run(case.function, solve).vertices == case.vertices
            except Exception as error:
                error.add_note(f"{variant.key} in {case}")
                raise


@pytest.mark.parametrize("variant", [pytest.param(v, id=key) for key, v in VARIANTS.items() if not v.on_gpu])
def test_a_cpu_variant_passes(variant):
    all_pass([variant], OURS)


def redirected(function, largest):
    """Call one of SciPy's tests with our functions for graphs of so many vertices; how many calls were not SciPy's."""
    question, reached = csgraph._Question.of.__func__, []

    def of(cls, array, *args, **kwargs):
        ours = question(cls, array, *args, **kwargs) if np.shape(array)[0] <= largest else None
        reached.append(ours is not None)
        return ours

    def compare(compare, actual, desired):
        """Of equally good predecessors ours need not be SciPy's; test_csgraph.py looks at them."""
        if actual.dtype == np.int32:
            actual, desired = actual == NO_PREDECESSOR, desired == NO_PREDECESSOR
        compare(actual, desired)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csgraph._Question, "of", classmethod(of))
        for name in csgraph.__all__:
            if hasattr(suite, name):
                patch.setattr(suite, name, getattr(csgraph, name))
        patch.setattr(suite, "assert_array_almost_equal", functools.partial(compare, suite.assert_array_almost_equal))
        function()
    return sum(reached)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_scipys_tests_pass_with_our_functions(case, monkeypatch):
    monkeypatch.setattr(Card, "visible", lambda: None)
    assert redirected(case.function, np.inf) == 0


@pytest.mark.ci
@pytest.mark.simulator
def test_scipys_tests_pass_with_our_functions_on_a_card(monkeypatch):
    monkeypatch.setattr(Card, "visible", lambda: CARD)
    for name in ("SMALL", "SPARSE"):
        monkeypatch.setattr(choice, name, 0)
    monkeypatch.setattr(searches, "new_run", functools.partial(Run, block=8, tile=3))
    reached = 0
    for case in CASES:
        try:
            reached += redirected(case.function, LARGEST["sssp"])
        except Exception as error:
            error.add_note(str(case))
            raise
    assert reached >= 160  # 168 with SciPy 1.17


@pytest.mark.simulator
@pytest.mark.parametrize("problem", LARGEST)
def test_a_variant_of_each_module_passes(problem):
    """Of the cases that a variant can express those on a graph of at most five vertices."""
    variants = [v for v in VARIANTS.values() if v.problem == problem and v.on_gpu]
    first = {v.function.__module__: v for v in reversed(variants)}
    all_pass(list(first.values()), [case for case in OURS if max(case.vertices) <= 5])


@pytest.mark.ci
@pytest.mark.simulator
@pytest.mark.parametrize("problem", LARGEST)
def test_the_gpu_variants_pass(problem):
    variants = [v for v in VARIANTS.values() if v.problem == problem and v.on_gpu and not v.cuda_graph]
    all_pass(variants, [case for case in OURS if max(case.vertices) <= LARGEST[problem]])
