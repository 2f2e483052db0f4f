"""kernels/csgraph.py: SciPy's signatures, answered on the card and by SciPy."""

import contextlib
import inspect
import itertools
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph as scipys

import kernels.csgraph
from kernels.errors import InputError
from kernels.library import choice, csgraph
from tests.support.pages import blocks
from tests.support.trees import assert_trees, lengths

ROOT = Path(__file__).parents[3]
FUNCTIONS = [name for name in csgraph.__all__ if name != "NegativeCycleError"]


@pytest.fixture
def on_card(small_card):
    """Choose the simulator's card for small graphs, with memory for a few sources."""
    small_card(SPARSE=0, SHARE=3, PIECE=40)


@pytest.fixture
def not_scipy(on_card, monkeypatch):
    """Also let SciPy answer nothing."""
    monkeypatch.setattr(csgraph, "scipys", SimpleNamespace())


N, ARCS = 8, 22


def random_array():
    """Return an array with three weights of 0, a NaN and an inf."""
    random = np.random.default_rng(N)
    weights = random.random(ARCS) * 10.0 ** random.integers(-3, 3, ARCS)
    weights[:5] = 0, 0, 0, np.nan, np.inf
    ends = random.permutation(N * N)[:ARCS]
    return sparse.csr_array(sparse.coo_array((weights, (ends // N, ends % N)), shape=(N, N)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_signatures_are_scipys(name):
    ours = inspect.signature(getattr(csgraph, name))
    untyped = [p.replace(annotation=p.empty) for p in ours.parameters.values()]
    ours = ours.replace(parameters=untyped, return_annotation=ours.empty)
    assert str(ours) == str(inspect.signature(getattr(scipys, name)))


def test_every_other_name_is_scipys():
    for name in scipys.__all__:
        assert getattr(kernels.csgraph, name) is getattr(csgraph if name in FUNCTIONS else scipys, name)
    assert set(scipys.__all__) <= set(dir(kernels.csgraph))
    names = {}
    exec("from kernels.csgraph import *", names)
    assert set(scipys.__all__) <= set(names) and names["dijkstra"] is csgraph.dijkstra


@pytest.mark.simulator
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("indices", [None, 3, [[5, -1], [5, 0]], [4]], ids=repr)
def test_float_weights_give_scipys_distances_bit_for_bit(indices, directed, not_scipy):
    array = random_array()
    expected = scipys.dijkstra(array, directed, indices)
    distances, predecessors = csgraph.dijkstra(array, directed, indices, return_predecessors=True)
    np.testing.assert_array_equal(distances, expected, strict=True)
    assert (predecessors.dtype, predecessors.shape) == (np.int32, expected.shape)
    sources = np.arange(N) if indices is None else np.array(indices).ravel() % N
    assert_trees(lengths(array, directed), sources, distances, predecessors)
    np.testing.assert_array_equal(csgraph.dijkstra(array, directed, indices), expected, strict=True)


def with_room(dense):
    """Return a CSR array with room for more entries."""
    array = sparse.csr_array(dense)
    array.data, array.indices = np.append(array.data, 0.1), np.append(array.indices, np.int32(0))
    return array


FORMS = {
    "with room": with_room,
    "csc": sparse.csc_array,
    "lil": sparse.lil_array,
    "coo": sparse.coo_array,
    "csr_matrix": sparse.csr_matrix,
    "dense": np.array,
    "fortran": np.asfortranarray,
    "float32": lambda dense: dense.astype(np.float32),
}


@pytest.mark.simulator
@pytest.mark.parametrize("form", FORMS)
def test_graphs_in_any_form(form, not_scipy):
    array = random_array()
    array.data[np.isfinite(array.data)] += 0.5  # no zeros, which are no arcs of a dense array
    given = FORMS[form](array.toarray())
    np.testing.assert_array_equal(csgraph.shortest_path(given, indices=[2]), scipys.dijkstra(given, indices=[2]))


@pytest.mark.simulator
@pytest.mark.parametrize("dtype", [float, np.int32, bool])
@pytest.mark.parametrize("name", ["dijkstra", "bellman_ford", "johnson"])
def test_zeros_that_fill_a_block_count_as_in_scipy(name, dtype, on_card):
    dense = np.zeros((4, 4), dtype)
    dense[[1, 1, 3], [1, 2, 2]] = 2, 2, 1
    given = sparse.bsr_array(dense, blocksize=(2, 2))
    np.testing.assert_array_equal(getattr(csgraph, name)(given), getattr(scipys, name)(given))


def unsorted(dense):
    """Return a CSR array of float32 with unsorted rows and duplicate entries."""
    tails, heads = np.nonzero(dense)
    order = np.lexsort((-heads, tails)).repeat(2)
    indptr = np.searchsorted(tails[order], np.arange(len(dense) + 1))
    return sparse.csr_array((np.array(dense, np.float32)[tails, heads][order] / 2, heads[order], indptr))


@pytest.mark.simulator
@pytest.mark.parametrize("form", [with_room, unsorted, np.array], ids=["with room", "unsorted", "dense"])
@pytest.mark.parametrize("unweighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_an_array_stays_as_it_was_given(directed, unweighted, form, not_scipy):
    array = form([[0, 2.0, 5], [0, 0, 1], [3, 0, 0]])
    names = ("data", "indices", "indptr") if sparse.issparse(array) else ("real",)
    before = [getattr(array, name).copy() for name in names]
    assert csgraph.dijkstra(array, directed, indices=0, unweighted=unweighted)[1] == (1 if unweighted else 2)
    for name, copy in zip(names, before, strict=True):
        np.testing.assert_array_equal(getattr(array, name), copy, strict=True)


OPTIONS = [
    {"directed": directed, "unweighted": unweighted} for directed in (True, False) for unweighted in (True, False)
]


@pytest.mark.simulator
@pytest.mark.parametrize("value", ["False", "", 0, 2, None, np.False_, [0]], ids=repr)
@pytest.mark.parametrize("option", ["directed", "return_predecessors", "unweighted", "min_only"])
def test_any_value_is_true_or_false_as_in_scipy(option, value, not_scipy):
    array = sparse.csr_array([[0, 2.0, 0], [0, 0, 4], [1, 0, 0]])
    found, expected = (module.dijkstra(array, indices=[0], **{option: value}) for module in (csgraph, scipys))
    np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.simulator
@pytest.mark.parametrize(("first", "then"), list(itertools.permutations(OPTIONS, 2)))
def test_the_same_array_with_other_options(first, then, not_scipy):
    array = sparse.csr_array([[0, 2.0, 0], [0, 0, 4], [1, 0, 0]])
    expected = [scipys.dijkstra(array, indices=0, **options).tolist() for options in (first, then)]
    assert expected[0] != expected[1]
    assert [csgraph.dijkstra(array, indices=0, **options).tolist() for options in (first, then)] == expected


@pytest.mark.simulator
def test_the_same_array_whose_entries_of_one_place_are_added_or_not(not_scipy):
    array = unsorted([[0, 2.0, 0], [0, 0, 4], [1, 0, 0]])
    for name in ("floyd_warshall", "johnson", "floyd_warshall"):
        np.testing.assert_array_equal(getattr(csgraph, name)(array), getattr(scipys, name)(array.copy()))


def test_a_broken_array_is_refused(not_scipy):
    array = sparse.csr_array([[0, 1], [1, 0]])
    array.indices[0] = 2
    with pytest.raises(InputError, match="indices must be < 2"):
        csgraph.dijkstra(array, indices=0)


@pytest.mark.simulator
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_entries_of_one_place(name, dtype, not_scipy):
    array = sparse.csr_array((np.array([5, 3, 4], dtype), [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    found = getattr(csgraph, name)(array)
    assert array.data.tolist() == [5, 3, 4]
    np.testing.assert_array_equal(found, getattr(scipys, name)(array.copy()))


@pytest.mark.simulator
@pytest.mark.parametrize("limit", [0, 0.5, np.float32(3), True])
@pytest.mark.parametrize("directed", [True, False])
def test_up_to_a_limit(limit, directed, not_scipy):
    array = random_array()
    expected = scipys.dijkstra(array, directed, [0, 3, 6, 3], limit=limit)
    found = csgraph.dijkstra(array, directed, [0, 3, 6, 3], limit=limit, return_predecessors=True)
    np.testing.assert_array_equal(found[0], expected, strict=True)
    assert_trees(lengths(array, directed), [0, 3, 6, 3], *found)
    np.testing.assert_array_equal(csgraph.dijkstra(array, directed, [0, 3, 6, 3], limit=limit), expected, strict=True)


@pytest.mark.simulator
@pytest.mark.parametrize(("tree", "bytes_of_pair"), [(False, 8), (True, 12)])
def test_rows_up_to_a_limit_that_do_not_fit_in_memory(tree, bytes_of_pair, not_scipy, with_memory):
    array = random_array()
    csgraph.dijkstra(array, indices=0, limit=1)  # reads it, which takes more
    for more in (0, 1):
        with_memory(3 * N * bytes_of_pair - more)
        what = "paths from 3 sources" if tree else f"distances from 3 sources to {N} vertices"
        message = rf"{what} take {3 * N * bytes_of_pair} bytes of memory.*: take fewer sources at once"
        with pytest.raises(InputError, match=message) if more else contextlib.nullcontext():
            csgraph.dijkstra(array, indices=[0, 1, 2], limit=1, return_predecessors=tree)


@pytest.mark.simulator
@pytest.mark.parametrize("kind", [int, float, np.float32, np.int64])
def test_a_limit_is_a_float64(kind, not_scipy):
    array = sparse.csr_array([[0, 3, 0], [0, 0, 1e-9], [0, 0, 0]])
    assert csgraph.dijkstra(array, indices=0, limit=kind(3)).tolist() == [0, 3, np.inf]


@pytest.mark.simulator
@pytest.mark.parametrize("limit", [2.5, np.inf])
@pytest.mark.parametrize("indices", [[7, 2, -5, 2], [[1], [0]], 3], ids=repr)
def test_from_the_nearest_source(indices, limit, not_scipy):
    array = random_array()
    expected = scipys.dijkstra(array, indices=indices, limit=limit, min_only=True, return_predecessors=True)
    found = csgraph.dijkstra(array, indices=indices, limit=limit, min_only=True, return_predecessors=True)
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    np.testing.assert_array_equal(found[0], expected[0])
    sources = np.array(indices).ravel() % N
    assert_trees(lengths(array, True), [sources], *found[:2])
    np.testing.assert_array_equal(found[2], csgraph.roots(found[1], sources))
    reached = np.isfinite(found[0])
    np.testing.assert_array_equal(found[2] == -9999, ~reached)
    own = scipys.dijkstra(array, indices=found[2][reached])[np.arange(reached.sum()), reached.nonzero()[0]]
    np.testing.assert_array_equal(found[0][reached], own)
    np.testing.assert_array_equal(csgraph.dijkstra(array, indices=indices, limit=limit, min_only=True), expected[0])


def with_negatives(whole):
    """Return an array without negative cycles; whole: with whole weights up to 2^40."""
    random, array = np.random.default_rng(2), random_array()
    height, above = random.normal(size=N) * 50, random.random(ARCS)
    if whole:
        height, above = np.round(height) * 2**33, np.round(above * 9) * 2**33
    tails, heads = array.tocoo().coords
    array.data = above + height[heads] - height[tails]
    return array


@pytest.mark.simulator
@pytest.mark.parametrize("name", ["johnson", "bellman_ford", "floyd_warshall", "shortest_path"])
@pytest.mark.parametrize("whole", [True, False])
def test_weights_below_zero(name, whole, not_scipy):
    array = with_negatives(whole)
    assert (array.data < 0).sum() > 5
    expected = getattr(scipys, name)(array)
    distances, predecessors = getattr(csgraph, name)(array, return_predecessors=True)
    compare = np.testing.assert_array_equal if whole else np.testing.assert_allclose
    compare(distances, expected)
    assert_trees(lengths(array, True), range(N), distances, predecessors, exact=whole)


CYCLE = sparse.csr_array(([1.0, 1.0, -2.5, 1.0], ([0, 1, 2, 3], [1, 2, 1, 0])), shape=(5, 5))


@pytest.mark.simulator
def test_a_negative_cycle_that_is_not_reached_is_none_to_bellman_ford(on_card):
    assert csgraph.bellman_ford(CYCLE, indices=4).tolist() == [np.inf] * 4 + [0]
    with pytest.raises(csgraph.NegativeCycleError):
        csgraph.bellman_ford(CYCLE, indices=3)


@pytest.mark.simulator
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("unweighted", [True, False])
def test_whole_weights_and_none(name, unweighted, not_scipy):
    array = random_array()
    array.data = np.arange(len(array.data)) % 9
    arcs = lengths(array, True)
    for sources in ([3, 5, 3], range(N)):
        more = {} if len(sources) == N else {"indices": sources}
        if name == "floyd_warshall" and more:
            continue
        expected = getattr(scipys, name)(array, unweighted=unweighted, **more)
        found = getattr(csgraph, name)(array, unweighted=unweighted, return_predecessors=True, **more)
        np.testing.assert_array_equal(found[0], expected, strict=True)
        assert_trees(np.where(arcs < np.inf, 1, np.inf) if unweighted else arcs, sources, *found)


@pytest.mark.simulator
@pytest.mark.parametrize(("predecessors", "same"), [(True, True), (False, True), (False, False)])
def test_floyd_warshall_overwrites_what_can_hold_the_result(predecessors, same, not_scipy):
    dense = random_array().toarray()
    expected = scipys.floyd_warshall(dense)
    given = dense.copy(order="C" if same else "F")
    found = csgraph.floyd_warshall(given, overwrite=True, return_predecessors=predecessors)
    distances = found[0] if predecessors else found
    np.testing.assert_allclose(distances, expected)
    assert (distances is given) == same
    np.testing.assert_array_equal(given, distances if same else dense)


@pytest.mark.simulator
def test_floyd_warshall_overwrites_no_array_of_another_type(not_scipy):
    given = np.array([[0, 0.1, 0], [0, 0, 0.2], [0, 0, 0]], np.float32)
    before = given.copy()
    found = csgraph.floyd_warshall(given, overwrite=True)
    np.testing.assert_array_equal(found, scipys.floyd_warshall(before), strict=True)
    np.testing.assert_array_equal(given, before)


@pytest.mark.parametrize("asked", [csgraph.floyd_warshall, csgraph.shortest_path])
@pytest.mark.parametrize("overwrite", [True, False])
def test_an_array_in_fortrans_order_is_solved_without_a_card(asked, overwrite, no_card):
    """SciPy 1.17 returns the weights of such an array."""
    dense = random_array().toarray()
    given = np.asfortranarray(dense)
    np.testing.assert_array_equal(asked(given, overwrite=overwrite), scipys.floyd_warshall(dense))
    np.testing.assert_array_equal(given, dense)


ASKED = {
    "a limit below 0": lambda m: m.dijkstra(random_array(), limit=-1),
    "a limit that is none": lambda m: m.dijkstra(random_array(), limit="1"),
    "a limit of NaN": lambda m: m.dijkstra(random_array(), limit=np.nan),
    "a limit too large for float64": lambda m: m.dijkstra(random_array(), limit=10**400),
    "an index too large": lambda m: m.dijkstra(random_array(), indices=N),
    "an index too large beside one that is not": lambda m: m.dijkstra(random_array(), indices=[0, N]),
    "an index too small": lambda m: m.johnson(random_array(), indices=[0, -N - 1]),
    "indices that are no integers": lambda m: m.dijkstra(random_array(), indices=[0.7]),
    "a boolean among indices": lambda m: m.dijkstra(random_array(), indices=[[0], [True]]),
    "no index": lambda m: m.dijkstra(random_array(), indices=[]),
    "indices for Floyd-Warshall": lambda m: m.shortest_path(random_array(), "FW", indices=[0]),
    "Floyd-Warshall of COO": lambda m: m.floyd_warshall(sparse.coo_array(random_array())),
    "Floyd-Warshall of BSR, by its density": lambda m: m.shortest_path(sparse.bsr_array([[0, 1.5], [2, 0]])),
    "a method that is none": lambda m: m.shortest_path(random_array(), "X"),
    "no square": lambda m: m.dijkstra(np.zeros((2, 3))),
    "one dimension": lambda m: m.dijkstra(np.zeros(3)),
    "three dimensions": lambda m: m.dijkstra(np.zeros((3, 3, 3))),
    "no vertex": lambda m: m.dijkstra(np.zeros((0, 0))),
    "a list": lambda m: m.dijkstra([[0, 1.5], [2, 0]]),
    "a masked array": lambda m: m.dijkstra(np.ma.masked_values([[0, 0.5], [2, 0]], 2)),
    "complex numbers": lambda m: m.dijkstra(np.array([[0, 1j], [2, 0]])),
    "Dijkstra below 0": lambda m: m.dijkstra(sparse.csr_array([[0, -1.0], [0, 0]])),
    "method D below 0": lambda m: m.shortest_path(sparse.csr_array([[0, -1.0], [0, 0]]), "D"),
    "Dijkstra below 0 without weights": lambda m: m.dijkstra(sparse.csr_array([[0, -1.0], [0, 0]]), unweighted=True),
    "Dijkstra below 0 beside NaN": lambda m: m.dijkstra(sparse.csr_array([[0, -1.0, np.nan], [0, 0, 0], [0, 0, 0]])),
    "minus infinity beside NaN": lambda m: m.bellman_ford(sparse.csr_array([[0, -np.inf], [np.nan, 0]])),
    "a negative loop beside NaN": lambda m: m.floyd_warshall(sparse.csr_array([[-1.0, np.nan], [2.5, 0]])),
    "minus infinity": lambda m: m.bellman_ford(sparse.csr_array([[0, -np.inf], [0, 0]])),
    "a negative loop": lambda m: m.floyd_warshall(sparse.csr_array([[-1.0, 2.5], [0, 0]])),
    "NaN without weights": lambda m: m.dijkstra(sparse.csr_array([[0, np.nan], [0, 0]]), unweighted=True),
}


def test_the_blocks_of_the_page_for_users_of_scipy_run(capsys):
    codes, names = blocks("scipy.md"), {}
    for code in codes:
        exec(code, names)
    assert len(codes) == 3 and "scipy" not in names["csgraph"].__name__
    assert capsys.readouterr().out.startswith("dijkstra/scipy ")


def answer(module, asked):
    """Return the result, or the error, and the warnings."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            found = asked(module)
        except Exception as error:
            found = repr(error)
    return found, [str(warning.message) for warning in warned]


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_what_is_not_for_the_card_is_scipys(asked, on_card):
    """A search on the card would fail, because this process has none and no simulator."""
    (found, warned), (expected, said) = answer(csgraph, asked), answer(scipys, asked)
    np.testing.assert_array_equal(found, expected)
    assert warned == said


@pytest.mark.parametrize("small", [False, True])
def test_without_a_card_and_where_a_graph_is_small_scipy_answers(small, no_card, small_card):
    if small:
        small_card(LEAST_WORK_FOR_CARD=choice.LEAST_WORK_FOR_CARD)
    for name in FUNCTIONS:
        expected = getattr(scipys, name)(random_array())
        np.testing.assert_array_equal(getattr(csgraph, name)(random_array()), expected)
