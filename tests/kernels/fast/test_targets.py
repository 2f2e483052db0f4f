"""Searches in a hierarchy to some targets, selections on the card, and copies of large results."""

from itertools import pairwise

import numpy as np
import pytest

from kernels.check import oracle
from kernels.fast.hierarchy import all_pairs, fragments, targets, within
from kernels.fast.hierarchy.targets import TargetSearch
from kernels.gpu import copies
from kernels.gpu.compiler import cuda
from kernels.graph import INF, Graph
from kernels.run import Run
from tests.kernels.fast.test_hierarchy import ENOUGH, SHAPES, small_fragments  # noqa: F401

pytestmark = pytest.mark.simulator


@pytest.fixture(params=["grid", "mixed", "roads", "one-way roads", "star", "no arcs"])
def shape(request) -> Graph:
    return SHAPES[request.param]()


def all_distances(on: Graph) -> np.ndarray:
    return oracle(on, tuple(range(on.vertices))).astype(np.int64)


def searches(on: Graph, **settings) -> all_pairs.ManySourceSearch:
    return all_pairs.ManySourceSearch(on, reduces=False, run=Run(block=4, shared=ENOUGH), **settings)


def table(search: TargetSearch, sources: np.ndarray, ends: np.ndarray, most: int = INF - 1, dtype=np.int32):
    """Return the distances and what was seen."""
    none, seen = np.array([INF if dtype == np.int32 else np.inf], dtype), np.array([0, 0, 40], np.int32)
    out = search.result(len(sources) * len(ends), np.dtype(dtype))
    out[:] = -7
    seen = search.search(sources, ends, most, none, out, seen)
    return np.asarray(out).reshape(len(sources), -1), np.asarray(seen)[:2].tolist()


def expected(exact: np.ndarray, sources, ends, most: int = INF - 1, no_path=INF):
    found = exact[np.ix_(sources, ends)]
    return np.where(found > most, no_path, found)


def test_only_what_is_above_a_target_is_chosen(shape):
    _, cut = fragments.hierarchy_and_fragments(shape)
    parents = np.array([heads[0] if len(heads) else -1 for heads in np.split(cut.heads, cut.start[1:-1])])
    for row in range(shape.vertices):
        chosen = targets.choose(cut, np.array([row]))
        path = {0}  # fragments
        while row >= 0:
            path.add(int(cut.of_row[row]))
            row = int(parents[row])
        assert chosen.first.tolist() == cut.row_start[sorted(path)].tolist()
        assert np.diff(chosen.row_start).tolist() == np.diff(cut.row_start)[sorted(path)].tolist()
    every = targets.choose(cut, np.arange(shape.vertices))
    for name in ("row_start", "borders", "boundary", "tops"):
        np.testing.assert_array_equal(getattr(every, name), getattr(cut, name))
    assert every.targets.tolist() == list(range(shape.vertices))


def test_fragments_are_ordered_by_class(shape):
    _, cut = fragments.hierarchy_and_fragments(shape)
    chosen = targets.choose(cut, np.arange(0, shape.vertices, 3))
    first = [start for level in range(cut.levels) for start in fragments.classes(cut, level)[:-1]]
    former = np.searchsorted(cut.row_start, chosen.first, side="right") - 1
    classes = np.searchsorted(first, former, side="right") - 1
    held = [classes[start:end].tolist() for start, end in pairwise(chosen.class_start)]
    assert held == [[kind] * (classes == kind).sum() for kind in range(len(first))]


@pytest.mark.parametrize("few", [0, 2], ids=["a launch per class", "a launch per level"])
def test_distances_to_some_targets(shape, few, monkeypatch):
    monkeypatch.setattr(targets, "FEW_BLOCKS", few)
    exact, random = all_distances(shape), np.random.default_rng(0)
    search = TargetSearch(searches(shape))
    for count, ends in ((1, [0]), (7, [1, 0, 1]), (shape.vertices, random.permutation(shape.vertices))):
        sources, ends = random.integers(0, shape.vertices, count), np.array(ends)
        for most in (INF - 1, 20):
            found, seen = table(search, sources, ends, most)
            np.testing.assert_array_equal(found, expected(exact, sources, ends, most))
            within_range = exact[np.ix_(sources, ends)]
            assert seen == [(within_range == INF).any(), ((within_range > 40) & (within_range < INF)).any()]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_the_types_of_distances(dtype):
    on = SHAPES["one-way roads"]()
    found, _ = table(TargetSearch(searches(on)), np.arange(40), np.arange(40), dtype=dtype)
    no_path = INF if dtype == np.int32 else np.inf
    np.testing.assert_array_equal(found, expected(all_distances(on), range(40), range(40), no_path=no_path))
    assert found.dtype == dtype


def test_pieces_that_fit_and_memory_that_is_used_again(monkeypatch):
    on, ends = SHAPES["grid"](), np.array([3, 17])
    exact, search = all_distances(on), TargetSearch(searches(on, bytes=1500))
    pieces, ascend = [], TargetSearch._ascend
    monkeypatch.setattr(
        TargetSearch, "_ascend", lambda self, numbers: pieces.append(len(numbers)) or ascend(self, numbers)
    )
    for ahead in (0, 30):  # ascend before the fragments are chosen; the sources do not fit
        monkeypatch.setattr(targets, "AHEAD", ahead)
        np.testing.assert_array_equal(table(search, np.arange(30), ends)[0], expected(exact, range(30), ends))
        assert len(pieces) > 1 + (ahead > 0) and sum(pieces) == 30 + ahead
        pieces.clear()
    kept = search.room["matrix"]
    np.testing.assert_array_equal(table(search, np.arange(3), ends)[0], expected(exact, range(3), ends))
    assert search.room["matrix"] is kept
    search.release()
    assert search.room["matrix"] is kept
    search.release(sum(array.nbytes for array in search.room.values()) - 1)
    assert search.room["matrix"] is kept and "result" not in search.room
    search.release(0)
    assert not search.room
    matrices = []
    for _ in range(2):
        np.testing.assert_array_equal(table(search, np.arange(3), ends)[0], expected(exact, range(3), ends))
        matrices.append(search.room["matrix"])
    assert matrices[0] is matrices[1]


@pytest.mark.parametrize(("less", "groups"), [(0, 2), (1, 1)])
def test_a_piece_takes_the_memory_that_it_may(less, groups):
    on, ends = SHAPES["grid"](), np.array([3, 17])
    search = TargetSearch(searches(on))
    table(search, np.arange(30), ends)
    # Of each source: a column of the matrix, distances to its ancestors, its number and its row of the result.
    needed = 4 * (search.chosen.rows + search.searches.many.height + 2)
    group = search.searches.many.group
    search = TargetSearch(searches(on, bytes=2 * group * needed - less))
    np.testing.assert_array_equal(table(search, np.arange(30), ends)[0], expected(all_distances(on), range(30), ends))
    assert search.room["matrix"].size == groups * group * search.chosen.rows


def test_selections(shape):
    exact, sources = all_distances(shape), np.random.default_rng(1).permutation(shape.vertices)[:10]
    search = searches(shape, bytes=3_000)
    for wanted in ({"limit": 0}, {"limit": 25}, {}, {"nearest": 1}, {"nearest": 4}, {"nearest": 100}):
        seen = []
        for piece, counts, vertices, distances in within.vertices_within(search, sources, **wanted):
            ends = np.cumsum(counts)
            for source, count, end in zip(piece, counts, ends, strict=True):
                row = exact[source]
                nearest = np.sort(row)[min(wanted.get("nearest", len(row)), len(row)) - 1]
                limit = min(wanted.get("limit", INF - 1), nearest, np.max(row, where=row < INF, initial=0))
                assert vertices[end - count : end].tolist() == np.flatnonzero(row <= limit).tolist()
                assert distances[end - count : end].tolist() == row[row <= limit].tolist()
            assert len(vertices) == len(distances) == ends[-1]
            seen += piece.tolist()
        assert sorted(seen) == sorted(sources)


def test_small_arrays_keep_their_place_until_the_restart(monkeypatch):
    monkeypatch.setattr(copies, "UPLOADS", 3 * copies.ALIGNED)
    uploads, given = copies.Uploads(Run(waits=False)), (np.arange(5), np.zeros(0, np.int32))
    first = uploads.copy(*given)
    second = uploads.copy(np.array([1.5]), np.array([7], np.int32))  # there is room for one of two arrays
    (third,) = uploads.copy(np.array([9], np.uint64))
    assert [len(array) for array in first] == [5, 1]
    assert [np.asarray(array).tolist() for array in (first[0], *second, third)] == [[*range(5)], [1.5], [7], [9]]
    assert [array.dtype for array in second] == [np.float64, np.int32]
    uploads.restart()
    (again,) = uploads.copy(np.full(5, 3))
    assert np.asarray(again).tolist() == np.asarray(first[0]).tolist() == [3] * 5


@pytest.mark.parametrize("size", [1, 9, 10, 11, 20, 47])
def test_large_results_come_through_buffers(size, monkeypatch):
    monkeypatch.setattr(copies, "BUFFER", 80)
    host = np.zeros(size)
    copies.Downloads().copy(cuda.to_device(np.arange(size) + 0.5), host)
    assert host.tolist() == [i + 0.5 for i in range(size)]
