"""kernels.prepare: layouts, threads, closing, results on the card; and what is kept of an array."""

import contextlib
import functools
import gc
import inspect
import re
import threading
import weakref
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph as scipys

import kernels
from kernels.errors import InputError
from kernels.fast import floats, near_far, near_far_layout, probe
from kernels.fast.floats import FloatGraph
from kernels.gpu import driver
from kernels.graph import INF, MAX_WEIGHT, Graph
from kernels.library import choice, csgraph, inputs, searches
from kernels.library.choice import HIERARCHY_REDUCED, HIERARCHY_ROWS, BreakEven, Card
from kernels.run import Result, Run
from tests.support import graphs
from tests.support.forks import forks, in_a_fork
from tests.support.trees import CARD, assert_trees, lengths, with_scipys_fills


class Noting(Run):
    """Counts allocations and uploads."""

    taken = 0

    def allocate(self, *arrays):
        Noting.taken += len(arrays)
        return super().allocate(*arrays)

    def upload(self, *arrays):
        Noting.taken += len(arrays)
        return super().upload(*arrays)


@pytest.fixture
def on_card(small_card):
    small_card(run=Noting, SHARE=0)


def example(vertices=12, free=False):
    """Return a random graph with sinks and an unreachable vertex."""
    random = np.random.default_rng(vertices)
    tails, heads = random.integers(0, vertices - 2, 30), random.integers(0, vertices - 1, 30)
    return Graph.from_arcs(vertices, tails, heads, random.integers(0 if free else 1, 9, 30))


def chain(*weights):
    v = np.arange(len(weights))
    return Graph.from_arcs(len(weights) + 1, v, v + 1, weights)


def assert_right(found, graph, source):
    expected = scipys.dijkstra(graph.to_scipy(), indices=source)
    np.testing.assert_array_equal(found.distances, expected, strict=True)
    assert_trees(lengths(graph.to_scipy(), True), [source], found.distances, found.predecessors)


@pytest.mark.simulator
@pytest.mark.parametrize("free", [False, True], ids=["positive", "some 0"])
def test_what_is_on_the_card_stays_there(free, on_card):
    graph = example(free=free)
    with kernels.prepare(graph) as solver:
        taken = Noting.taken
        for source in (3, 0, 11, 3):
            found = solver.shortest_paths(source)
            assert found.variant == "delta_stepping/near_far"
            assert_right(found, graph, source)
        rows = solver.distances([5, 0, 5]).distances
        np.testing.assert_array_equal(rows, scipys.dijkstra(graph.to_scipy(), indices=[5, 0, 5]))
        assert Noting.taken == taken > 0


@pytest.mark.simulator
def test_a_solver_shows_graph_card_and_what_is_prepared(small_card):
    small_card(pays_from=1, SHARE=0)
    graph = graphs.grid(36)
    given = f"Solver(graph: 36 vertices, {graph.arcs} arcs; {CARD.name}"
    with kernels.Solver(graph) as solver:
        assert repr(solver) == f"{given})"
        solver.shortest_paths(0)
        assert repr(solver) == f"{given}; Near-Far)"
        solver.distances([0, 1])
        assert repr(solver) == f"{given}; Near-Far; hierarchy)"
    assert repr(solver) == f"{given}; closed)"


def test_dir_lists_public_names(no_card):
    assert not [name for name in dir(kernels) if name.startswith("_") and name != "__version__"]
    solver = kernels.Solver(example())
    assert not [name for name in dir(solver) if name.startswith("_")]
    assert {"graph", "distances", "close"} <= set(dir(solver))
    assert repr(solver).endswith("30 arcs; no GPU)")


@pytest.mark.simulator
def test_a_search_in_float64_lays_out_once(on_card, monkeypatch):
    made = []
    monkeypatch.setattr(floats, "Float64Search", lambda *given, of=floats.Float64Search: made.append(1) or of(*given))
    array = sparse.csr_array(np.array([[0, 0.5, -0.25], [1.5, 0, 0], [0, 0.375, 0]]))
    with kernels.prepare(array) as solver:
        for source in (0, 2):
            np.testing.assert_array_equal(
                solver.shortest_paths(source).distances, scipys.johnson(array, indices=source)
            )
        np.testing.assert_array_equal(solver.all_pairs().distances, scipys.johnson(array))
    assert len(made) == 2  # one for the potentials


@pytest.mark.simulator
def test_distances_that_are_too_long_are_noticed_on_the_card(on_card):
    for last in (1, 2):
        graph = chain(MAX_WEIGHT - 1, 1, last - 1)
        with kernels.prepare(graph) as solver:
            found = solver.shortest_paths(0)
            assert found.distances.tolist() == [0, MAX_WEIGHT - 1, MAX_WEIGHT, MAX_WEIGHT + last - 1]
            assert (found.rounds > 0) == (last == 2) == ("in float64" in found.reason)
            found = solver.distances([1, 2])
            assert found.distances.tolist() == [[np.inf, 0, 1, last], [np.inf, np.inf, 0, last - 1]]
            assert found.rounds == 0


@pytest.mark.simulator
def test_a_link_is_no_arc_that_is_too_long(on_card):
    graph = Graph.from_arcs(41, np.zeros(40, int), np.arange(1, 41), np.full(40, MAX_WEIGHT))
    assert len(near_far_layout.plain_layout(graph).links) == 1
    with kernels.prepare(graph) as solver:
        assert solver.shortest_paths(0).rounds == 0


@pytest.mark.simulator
def test_results_left_on_the_card_are_the_callers(on_card):
    graph = example()
    with kernels.prepare(graph) as solver:
        found = {source: solver.shortest_paths(source, out="device") for source in (3, 0)}
        solver.shortest_paths(7)
        for source, paths in found.items():
            left = Result(paths.distances.copy_to_host(), paths.predecessors.copy_to_host())
            expected = solver.shortest_paths(source)
            assert left.distances.dtype == left.predecessors.dtype == np.int32
            np.testing.assert_array_equal(with_scipys_fills(left), (expected.distances, expected.predecessors))


@pytest.mark.simulator
def test_what_cannot_be_left_on_the_card(on_card):
    for graph in (FloatGraph.of(example()), chain(MAX_WEIGHT, 5)):
        with (
            pytest.raises(InputError, match=r'graph: out="device" .* 2\^31 - 2'),
            kernels.prepare(graph) as solver,
        ):
            solver.shortest_paths(0, out="device")
    with pytest.raises(InputError, match='out must be "host" or "device", not \'gpu\''):
        kernels.prepare(example()).shortest_paths(0, out="gpu")


def test_without_a_card_nothing_is_left_there(no_card):
    with pytest.raises(InputError, match='out="device": no GPU is visible'):
        kernels.prepare(example()).shortest_paths(0, out="device")


@pytest.mark.simulator
@pytest.mark.parametrize("solvers", [1, 2])
def test_threads(solvers, on_card):
    """Four threads on one or two solvers. The simulator refuses two kernels at once."""
    on = [example(), example(10, free=True)][:solvers]
    made, results, start = [kernels.prepare(graph) for graph in on], {}, threading.Barrier(4)

    def search(number):
        start.wait()
        for source in (number, 9 - number):
            results[number, source] = made[number % solvers].shortest_paths(source)

    threads = [threading.Thread(target=search, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    for (number, source), found in results.items():
        assert_right(found, on[number % solvers], source)


@contextlib.contextmanager
def in_a_thread(call, reached, release):
    """Run the call in a thread; it must set `reached` and wait for `release`, as the body of the statement starts."""
    thread = threading.Thread(target=call)
    thread.start()
    try:
        assert reached.wait(60)
        yield
    finally:
        release.set()
        thread.join()


@forks
@pytest.mark.parametrize("weight", [2, 0.5])
def test_a_process_that_is_forked_while_a_thread_searches(weight, no_card, monkeypatch):
    reached, release, here = threading.Event(), threading.Event(), threading.current_thread()
    array = sparse.csr_array([[0, weight, 0], [0, 0, weight], [0, 0, 0]])

    def dijkstra(*given, **options):
        if threading.current_thread() is not here:
            reached.set()
            release.wait(60)
        return scipys.dijkstra(*given, **options)

    monkeypatch.setattr(searches, "csgraph", SimpleNamespace(dijkstra=dijkstra))
    with kernels.prepare(array) as prepared:
        kernels.shortest_paths(array, 0)  # keeps the array
        for asked in (prepared.shortest_paths, lambda source: kernels.shortest_paths(array, source)):
            reached.clear(), release.clear()
            with in_a_thread(lambda asked=asked: asked(0), reached, release):
                assert in_a_fork(lambda asked=asked: asked(1).distances.tolist()) == [np.inf, 0, weight]
                assert in_a_fork(lambda: kernels.shortest_paths(chain(1, 2), 0).distances.tolist()) == [0, 1, 3]
    assert in_a_fork(prepared.close) is None


@forks
def test_a_process_that_is_forked_while_the_card_is_taken(small_card, monkeypatch):
    small_card()
    monkeypatch.setattr(driver, "simulated", lambda: True)
    made, reached, release = kernels.Solver(chain(1)), threading.Event(), threading.Event()

    def search():
        with made._working():
            reached.set()
            release.wait(60)

    def enter(solver):
        with solver._working():
            return "entered"

    with in_a_thread(search, reached, release):
        assert in_a_fork(lambda: enter(made)) == in_a_fork(lambda: enter(kernels.Solver(chain(2)))) == "entered"


@forks
def test_a_process_that_is_forked_while_a_property_is_computed(no_card, monkeypatch):
    """In Python 3.11, functools.cached_property holds a lock meanwhile."""
    reached, release, of, here = threading.Event(), threading.Event(), Graph.to_integers, threading.current_thread()

    def to_integers(graph):
        if threading.current_thread() is not here:
            reached.set()
            release.wait(60)
        return of(graph)

    monkeypatch.setattr(Graph, "to_integers", to_integers)
    with in_a_thread(lambda: kernels.prepare(chain(1)).distances([0]), reached, release):
        assert in_a_fork(lambda: kernels.prepare(chain(1, 2)).distances([0]).distances.tolist()) == [[0, 1, 3]]


@forks
def test_all_pairs_in_a_process_that_is_forked_after_a_search_by_networkit(no_card, monkeypatch):
    monkeypatch.setattr(choice, "LEAST_WORK_FOR_NETWORKIT", 0)
    assert kernels.all_pairs(example()).variant == "dijkstra/networkit_apsp"  # starts threads of OpenMP
    found = in_a_fork(lambda: kernels.all_pairs(example()))
    assert found.variant == "dijkstra/scipy_apsp" and "fork" in found.reason
    np.testing.assert_array_equal(found.distances, scipys.dijkstra(example().to_scipy()))


@forks
def test_a_process_that_is_forked_after_the_card_was_used(monkeypatch):
    monkeypatch.setattr(driver, "cards", functools.cache(lambda: 1))
    with monkeypatch.context() as patch:
        patch.setattr(Card, "visible", lambda: CARD)
        made = kernels.Solver(chain(1))
    assert driver.cards() == 1
    array = chain(1).to_scipy()
    for call in (
        lambda: made.shortest_paths(0),
        lambda: kernels.shortest_paths(array, 0),
        lambda: csgraph.dijkstra(array, indices=0),
    ):
        assert 'multiprocessing.get_context("spawn")' in in_a_fork(call)
    assert in_a_fork(made.close) is None


@pytest.mark.simulator
def test_a_hierarchy_that_is_laid_out_pays_at_once(small_card):
    least = {HIERARCHY_ROWS: BreakEven(5, 5, 2), HIERARCHY_REDUCED: BreakEven(5, 3, 2)}
    small_card(SHARE=0, bytes=5000, BREAK_EVEN=choice.BREAK_EVEN | least)
    graph = graphs.grid(16)
    expected = scipys.dijkstra(graph.to_scipy())
    with kernels.prepare(graph) as solver:
        for sources, variant in (([0, 1], "near_far"), (range(5), "many_sources"), ([9, 2], "many_sources")):
            found = solver.distances(sources)
            assert found.variant.endswith(variant)
            np.testing.assert_array_equal(found.distances, expected[list(sources)])
        assert solver.distances([7]).variant.endswith("near_far")
        assert solver.eccentricities([9, 2]).variant.endswith("near_far")
        assert solver.eccentricities([9, 2, 4]).variant == "hierarchy/all_pairs"


def test_a_closed_solver_refuses(no_card):
    graph = example()
    with kernels.prepare(graph) as solver:
        assert solver.path(3, 3) == [3]
    calls = [
        lambda: solver.shortest_paths(0),
        lambda: solver.path(0, 1),
        lambda: solver.distances([0]),
        solver.all_pairs,
        lambda: solver.paths_from([0]),
        solver.eccentricities,
        solver.__enter__,
    ]
    for call in calls:
        with pytest.raises(InputError, match="of graph is closed"):
            call()
    solver.close()


@pytest.mark.simulator
def test_a_closed_solver_gives_back_its_memory(on_card):
    solver = kernels.prepare(example())
    far = weakref.ref(solver._in_whole_numbers.near_far.layout.far)
    solver.close()
    gc.collect()
    assert far() is None


@pytest.mark.parametrize("weights", [(4, 1), (0.5, 0.25)], ids=["whole", "float"])
def test_a_path(weights, no_card):
    first, last = weights
    solver = kernels.prepare(sparse.csr_array([[0, first, 9, 0], [0, 0, last, 0], [0, 0, 0, 0], [1, 0, 0, 0]]))
    assert solver.path(0, 2) == [0, 1, 2] and solver.path(np.int8(3), 2) == [3, 0, 1, 2]
    assert solver.path(0, 0) == [0]
    assert solver.path(2, 0) is None
    for target in (4, -1):
        with pytest.raises(InputError, match=rf"target {target} .* graph: .*\[0, 4\)"):
            solver.path(0, target)
    with pytest.raises(InputError, match=r"target .* 1\.0"):
        solver.path(0, 1.0)


def test_a_solver_answers_as_the_functions_do(no_card):
    graph = example()
    solver = kernels.prepare(graph)
    for asked, *given in (("shortest_paths", 3), ("all_pairs",), ("distances", [5, 0]), ("eccentricities",)):
        answers = getattr(solver, asked)(*given), getattr(kernels, asked)(graph, *given)
        for name, value in vars(answers[0]).items():
            np.testing.assert_array_equal(value, getattr(answers[1], name))
        assert answers[0] == answers[0] != answers[1] and len(set(answers)) == 2  # by identity
    some = solver.paths_from([5, 0])
    np.testing.assert_array_equal(some.predecessors, solver.all_pairs().predecessors[[5, 0]])


@pytest.mark.parametrize(
    "name", ["all_pairs", "distances", "distance_pieces", "nearest", "pair_distances", "reachable", "routes"]
)
def test_functions_and_methods_have_the_same_parameters_and_docstrings(name):
    function, method = getattr(kernels, name), getattr(kernels.Solver, name)
    first, *parameters, last = inspect.signature(function).parameters.values()
    assert (first.name, last.name) == ("graph", "directed")
    assert list(inspect.signature(method).parameters.values())[1:] == parameters
    text, whole = inspect.getdoc(method), inspect.getdoc(function)
    assert whole.startswith(text.partition("\n")[0]) and "graph, directed" not in text and ">>>" not in text
    for section in ("Returns", "Yields", "Raises"):
        assert (f"{section}\n------" in text) == (f"{section}\n------" in whole)
    listed = re.findall(r"Parameters\n-+\n(.*?)\n\n", text, re.DOTALL)
    names = re.findall(r"^(\w[\w, ]*)(?: :.*)?$", "".join(listed), re.MULTILINE)
    assert sorted(name for line in names for name in line.split(", ")) == sorted(p.name for p in parameters)


@pytest.mark.simulator
def test_the_functions_keep_the_last_graph_while_it_lives(on_card, monkeypatch):
    made = []
    monkeypatch.setattr(
        near_far, "NearFarSearch", lambda *given, of=near_far.NearFarSearch: made.append(of(*given)) or made[-1]
    )
    one, other = example(), example(10)
    for graph, count in ((one, 1), (one, 1), (other, 2), (other, 2), (one, 3)):
        assert_right(kernels.shortest_paths(graph, 0), graph, 0)
        assert len(made) == count
    kept = weakref.ref(made.pop())
    made.clear()
    del graph, one
    gc.collect()
    assert kept() is None


CHANGES = {
    "a weight": lambda array: array.data.__setitem__(0, 7),
    "a head": lambda array: array.indices.__setitem__(0, 3),
    "indptr": lambda array: array.indptr.__setitem__(1, array.indptr[1] - 1),
    "the array of weights": lambda array: setattr(array, "data", array.data + 1),
    "the type of the weights": lambda array: setattr(array, "data", array.data.view(np.int64)),
}


@pytest.fixture
def read(monkeypatch):
    """A list that grows with each graph that is made."""
    made, of = [], inputs.graph_of
    for module in (inputs, csgraph):
        monkeypatch.setattr(module, "graph_of", lambda *arcs: made.append(1) or of(*arcs))
    return made


ASKED = {
    "csgraph": lambda array: csgraph.dijkstra(array, indices=0),
    "interface": lambda array: kernels.shortest_paths(array, 0).distances,
}


@pytest.mark.simulator
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix])
def test_an_array_that_was_changed_in_place_is_read_anew(asked, change, form, on_card, read):
    array = form([[0, 0.5, 2, 0], [0, 0, np.nan, 0], [1, 0, 0, 5], [0, 0, 0, 0]])
    for readings in (1, 1, 2, 2):
        if len(read) < readings == 2:
            CHANGES[change](array)
        np.testing.assert_array_equal(ASKED[asked](array), scipys.dijkstra(array, indices=0))
        assert len(read) == readings


@pytest.mark.simulator
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("axis", [0, 1])
def test_an_entry_that_was_moved_in_place_is_read_anew(asked, axis, on_card):
    array = sparse.coo_array(([1.5, 2], ([0, 1], [1, 2])), shape=(4, 4))
    before = ASKED[asked](array).tolist()
    array.coords[axis][0] = 3
    expected = scipys.dijkstra(array, indices=0).tolist()
    assert before != expected
    assert ASKED[asked](array).tolist() == expected


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("form", "kind", "readings"), [(sparse.csr_array, float, 1), (np.array, int, 1), (sparse.csr_array, int, 2)]
)
def test_floyd_warshall_reads_an_array_anew_only_where_it_reads_it_otherwise(form, kind, readings, on_card, read):
    array = form(np.array([[0, 2, 0], [0, 0, 1], [3, 0, 0]], kind))
    for asked in (csgraph.dijkstra, csgraph.floyd_warshall):
        assert asked(array).tolist() == [[0, 2, 3], [4, 0, 1], [3, 5, 0]]
    assert len(read) == readings


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("form", "readings"),
    [(np.array, 1), (np.asfortranarray, 1), (sparse.coo_array, 1), (sparse.bsr_array, 1), (sparse.lil_array, 2)],
)
def test_which_arrays_are_kept(form, readings, on_card, read):
    dense = np.array([[0, 2, 0], [0, 0, 1], [3, 0, 0]])
    array = form(dense)
    for _ in range(2):
        assert csgraph.dijkstra(array, indices=0).tolist() == [0, 2, 3]
    assert len(read) == readings
    assert csgraph.dijkstra(array, directed=False, indices=0).tolist() == [0, 2, 3]
    assert csgraph.dijkstra(array, unweighted=True, indices=0).tolist() == [0, 1, 2]
    assert csgraph.dijkstra(form(2 * dense), indices=0).tolist() == [0, 4, 6]
    assert len(read) == readings + 3


@pytest.mark.simulator
def test_an_array_whose_shape_alone_was_changed_is_read_anew(on_card):
    array = sparse.coo_array([[0, 2], [0, 0]])
    assert csgraph.dijkstra(array, indices=0).tolist() == [0, 2]
    array.resize(3, 3)
    assert csgraph.dijkstra(array, indices=0).tolist() == [0, 2, np.inf]


@pytest.mark.simulator
@pytest.mark.parametrize("weights", [[1, 2, 3], [0.5, 2, 3]], ids=["whole", "float64"])
def test_scipy_searches_a_narrow_graph(weights, on_card, monkeypatch):
    array = sparse.csr_array((weights, ([0, 1, 2], [1, 2, 3])), shape=(4, 4))
    for scipy_us, key in ((0, "dijkstra/scipy"), (np.inf, "delta_stepping/near_far")):
        monkeypatch.setattr(probe, "scipy_us", lambda graph, us=scipy_us: us)
        with kernels.prepare(array) as solver:
            for source in (0, 1, 1):
                found = solver.shortest_paths(source)
                assert found.variant == key and ("narrow" in found.reason) == (scipy_us == 0)
                assert found.distances.tolist()[source:] == [0, *np.cumsum(weights[source:]).tolist()]
            assert solver.distances([0, 2]).variant == key
            on = solver._in_whole_numbers if weights[0] == 1 else solver._in_float64.bounds
            assert ("near_far" in vars(on)) == (scipy_us > 0)


@pytest.mark.parametrize(("tails", "weights", "fits"), [
    ([0, 0, 1], [3, 1, INF - 5], True),  # of all arcs: INF - 1
    ([0, 0, 1], [3, 1, INF - 4], False),
    ([0, 0, 0], [INF // 2] * 3, True),  # of two arcs, as a path has at most: INF - 1
    ([0, 0, 0], [INF // 2 + 1] * 3, False),
    ([], [], True),
])  # fmt: skip
def test_when_no_distance_can_be_too_long(tails, weights, fits):
    graph = Graph.from_arcs(3, tails, [2] * len(tails), weights)
    assert searches.SearchedGraph(graph).fits == fits
    assert searches.SearchedGraph(graph, short=True).fits


@pytest.fixture(params=["no_card", pytest.param("on_card", marks=pytest.mark.simulator)])
def anywhere(request):
    """Run a test without a card, and on the simulator's."""
    request.getfixturevalue(request.param)


def random_dense(whole):
    """Return a dense array with NaN and inf, and numbers that count as 0; whole: its weights."""
    random = np.random.default_rng(4)
    dense = np.where(random.random((12, 12)) < 0.25, random.integers(1, 9, (12, 12)) + 0.3 * (not whole), 0)
    dense[0, 1:4] = np.nan, np.inf, 1e-9
    return dense


FORMS = {
    "dense": random_dense,
    "fortran": lambda whole: np.asfortranarray(random_dense(whole)),
    "csr": lambda whole: scipys.csgraph_from_dense(random_dense(whole)),
    "Graph": lambda whole: example(free=True) if whole else FloatGraph.of(example(free=True)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("limit", [0, np.float32(2.5), 6, np.inf])
@pytest.mark.parametrize("directed", [True, False])
def test_limit_and_direction_are_scipys(form, whole, limit, directed, anywhere):
    graph, sources = FORMS[form](whole), [3, 0, 3, 11]
    array = graph.to_scipy() if form == "Graph" else graph
    expected = scipys.dijkstra(array, directed, sources, limit=limit)
    one = kernels.shortest_paths(graph, 3, limit=limit, directed=directed)
    np.testing.assert_array_equal(one.distances, expected[0], strict=True)
    found = kernels.distances(graph, sources, limit=limit, directed=directed)
    np.testing.assert_array_equal(found.distances, expected, strict=True)
    with kernels.prepare(graph, directed=directed) as solver:
        paths = solver.paths_from(sources, limit=limit)
        np.testing.assert_array_equal(paths.distances, expected, strict=True)
        arcs = lengths(scipys.csgraph_from_dense(array) if form in ("dense", "fortran") else array, directed)
        assert_trees(arcs, sources, paths.distances, paths.predecessors)
        assert_trees(arcs, [3], one.distances, one.predecessors)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_direction_of_all_pairs(form, directed, anywhere):
    graph = FORMS[form](True)
    expected = scipys.dijkstra(graph.to_scipy() if form == "Graph" else graph, directed)
    np.testing.assert_array_equal(kernels.all_pairs(graph, directed=directed).distances, expected)
    farthest = kernels.eccentricities(graph, directed=directed).eccentricity
    np.testing.assert_array_equal(farthest, expected.max(axis=1, where=np.isfinite(expected), initial=0))


def test_the_same_graph_with_and_without_directions(anywhere):
    graph = chain(2, 3)
    for directed, expected in ((True, [np.inf, 0, 3]), (False, [2, 0, 3]), (True, [np.inf, 0, 3])):
        assert kernels.shortest_paths(graph, 1, directed=directed).distances.tolist() == expected
    undirected = graph.undirected()
    assert undirected.undirected() is undirected and (undirected.directed, undirected.arcs) == (False, 4)


def test_the_variant_up_to_a_limit(no_card):
    found = kernels.shortest_paths(chain(2, 3), 0, limit=2)
    assert (found.variant, found.rounds) == ("dijkstra/scipy", 0) and "limit" in found.reason
    assert found.distances.tolist() == [0, 2, np.inf] and found.predecessors.tolist() == [-9999, 0, -9999]


@pytest.mark.simulator
def test_the_variant_up_to_a_limit_on_a_card(on_card):
    found = kernels.shortest_paths(chain(2, 3), 0, limit=2)
    assert found.variant == "bellman_ford/float64" and found.rounds > 0
    with pytest.raises(InputError, match=r'out="device" .* limit'):
        kernels.prepare(chain(2, 3)).shortest_paths(0, out="device", limit=2)


@pytest.mark.parametrize("limit", [-1, np.nan, "1", None, True, [1]], ids=repr)
def test_a_limit_that_is_none(limit, no_card):
    for search in (
        lambda: kernels.shortest_paths(chain(1), 0, limit=limit),
        lambda: kernels.distances(chain(1), [0], limit=limit),
        lambda: kernels.prepare(chain(1)).paths_from([0], limit=limit),
    ):
        with pytest.raises(InputError, match="limit "):
            search()


def test_a_limit_above_the_largest_float64_is_no_limit(anywhere):
    for limit in (10**400, Fraction(10**400)):
        assert kernels.shortest_paths(chain(1, 2), 0, limit=limit).distances.tolist() == [0, 1, 3]
        assert kernels.reachable(chain(1, 2), [0], limit=limit).data.tolist() == [0, 1, 3]


def test_a_limit_is_not_for_negative_weights(anywhere):
    array = np.array([[0, 2, 0], [0, 0, -1], [0, 0, 0]])
    assert kernels.shortest_paths(array, 0).distances.tolist() == [0, 2, 1]
    for search in (
        kernels.shortest_paths,
        lambda array, source, limit: kernels.distances(array, [source], limit=limit),
    ):
        with pytest.raises(InputError, match=r"graph: .*limit"):
            search(array, 0, limit=1)
