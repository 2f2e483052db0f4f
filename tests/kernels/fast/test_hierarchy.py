"""Contraction hierarchies: order, fragments, customizing, and searches from one source, many sources and all pairs."""

import dataclasses
from itertools import pairwise

import numpy as np
import pymetis
import pytest

from kernels.check import check, oracle
from kernels.errors import InputError, NotEnoughMemory
from kernels.fast.hierarchy import all_pairs, elimination, fragments, variants
from kernels.fast.hierarchy.customize import OnCard
from kernels.fast.hierarchy.one_source import OneSource, ascend_from
from kernels.graph import INF, MAX_WEIGHT, Graph
from kernels.run import Result, Run
from tests.support import graphs

pytestmark = pytest.mark.simulator
ENOUGH = 10**6  # bytes of shared memory: four sources a thread; with 0 one


@pytest.fixture(autouse=True)
def small_fragments(monkeypatch):
    """Several levels of fragments, and several tasks, also in trees of a few vertices."""
    for name, value in {"SMALLEST": 3, "RATIO": 2, "LEAST_FRAGMENTS": 4, "BAND": 3, "CLASS_SLOTS": (3, 5)}.items():
        monkeypatch.setattr(fragments, name, value)
    monkeypatch.setattr("kernels.fast.hierarchy.many_sources.TASK_ROWS", 7)


def mixed(weights=range(1, 30), *, directed: bool = True) -> Graph:
    """Random: parallel arcs, loops, sinks, two vertices without arcs, several components."""
    rng = np.random.default_rng(8)
    tails, heads = rng.integers(0, 14, 40), rng.integers(0, 21, 40)
    tails[:2], heads[:2], heads[2] = 3, 5, tails[2]
    weights = rng.choice(list(weights), 40)
    if not directed:
        tails, heads, weights = np.r_[tails, heads], np.r_[heads, tails], np.r_[weights, weights]
    return Graph.from_arcs(23, tails, heads, weights, directed=directed)


def roads(*, directed: bool = False) -> Graph:
    """Three roads, each with rows in level 0 of the fragments, and three vertices without arcs."""
    tails = np.delete(np.arange(36), [14, 26])
    return graphs.make(40, tails, tails + 1, graphs.WEIGHTS, directed=directed)


SHAPES = {
    "grid": lambda: graphs.grid(30),
    "path": lambda: graphs.path(17),
    "comb": lambda: graphs.comb(20),
    "star": lambda: graphs.star(12),
    "dense": lambda: graphs.dense(12),
    "mixed": mixed,
    "undirected": lambda: mixed(directed=False),
    "roads": roads,
    "one-way roads": lambda: roads(directed=True),
    "no arcs": lambda: Graph.from_arcs(3, [], [], []),
    "one vertex": lambda: Graph.from_arcs(1, [0], [0], [1]),
}


@pytest.fixture(params=SHAPES)
def shape(request):
    return SHAPES[request.param]()


def neighbours(on: Graph) -> dict[int, set[int]]:
    around = {v: set() for v in range(on.vertices)}
    for tail, head in zip(on.tails.tolist(), on.indices.tolist(), strict=True):
        if tail != head:
            around[tail].add(head)
            around[head].add(tail)
    return around


def eliminate(around: dict[int, set[int]], order: list[int]) -> dict[int, set[int]]:
    """Eliminate vertices one by one; return each one's later neighbours. `around` becomes the graph that is left."""
    later = {}
    for v in order:
        later[v] = around.pop(v)
        for u in later[v]:
            around[u] |= later[v] - {u}
            around[u].discard(v)
    return later


LARGER = {
    "sparse": lambda: graphs.sparse(300),
    "hubs": lambda: graphs.hubs(100),
    "blocks": lambda: graphs.grid(900),
    "streets": lambda: streets(20),
}


def streets(side: int) -> Graph:
    """A grid without a fifth of its edges; each other edge is a path of up to four arcs."""
    rng = np.random.default_rng(3)
    v = np.arange(side * side).reshape(side, side)
    ends = np.concatenate([np.c_[v[1:].ravel(), v[:-1].ravel()], np.c_[v[:, 1:].ravel(), v[:, :-1].ravel()]])
    edges, n = [], side * side
    for tail, head in ends[rng.random(len(ends)) > 0.2].tolist():
        more = int(rng.integers(4))
        edges += pairwise([tail, *range(n, n + more), head])
        n += more
    return graphs.make(n, *np.transpose(edges), graphs.WEIGHTS, directed=False)


@pytest.mark.parametrize("name", [*SHAPES, *LARGER])
def test_what_is_dissected_is_the_graph_without_vertices_of_few_neighbours(name):
    on = (SHAPES | LARGER)[name]()
    start, around = elimination.neighbours(on.indptr, on.indices)
    vertices = np.empty(on.vertices, elimination.VERTEX)
    elimination.eliminate_few(start, around, vertices)
    rank = vertices["rank"]
    left = np.flatnonzero(rank < 0)
    gone = np.argsort(rank)[len(left) :]
    assert rank[gone].tolist() == list(range(len(gone)))
    expected = neighbours(on)
    assert all(len(later) <= elimination.MAX_EARLY_DEGREE for later in eliminate(expected, gone.tolist()).values())
    start, around = elimination.pack(left, start, around, vertices)
    found = [left[around[first:end]].tolist() for first, end in pairwise(start)]
    assert [sorted(one) for one in found] == [sorted(expected[v]) for v in left.tolist()]


def dissect(start: np.ndarray, around: np.ndarray) -> np.ndarray:
    _, rank = pymetis.nested_dissection(pymetis.CSRAdjacency(start.astype(np.int32), around))
    return np.asarray(rank, np.int32)


@pytest.mark.parametrize(("on", "arcs"), [(streets(60), 0.95), (graphs.grid(10**4), 1.05)], ids=["streets", "grid"])
def test_the_hierarchy_is_not_larger_than_by_dissection_alone(on, arcs, monkeypatch):
    found = elimination.prepare_hierarchy(on)
    assert (found.vertices == elimination.prepare_hierarchy(on).vertices).all()
    monkeypatch.setattr(elimination, "find_order", dissect)
    alone = elimination.prepare_hierarchy(on).counts
    assert found.counts.arcs <= arcs * alone.arcs and found.counts.height <= 1.1 * alone.height


@pytest.mark.parametrize(("on", "height"), [(graphs.path(1000), 20), (graphs.comb(1000), 20), (graphs.star(1000), 2)])
def test_the_tree_of_a_tree_is_low(on, height):
    assert elimination.prepare_hierarchy(on).height <= height


def test_arcs_are_those_that_elimination_leaves(shape):
    found = elimination.prepare_hierarchy(shape)
    later = eliminate(neighbours(shape), found.vertices[::-1].tolist())
    assert sorted(found.vertices.tolist()) == list(range(shape.vertices))
    for p, v in enumerate(found.vertices.tolist()):
        heads = found.heads[found.start[p] : found.start[p + 1]]
        assert (np.diff(heads) < 0).all() and (heads < p).all()  # the nearest ancestor first
        assert (found.ends[heads] >= found.ends[p]).all()  # ancestors: p is in their subtrees
        assert set(found.vertices[heads].tolist()) == later[v]
        assert found.depths[p] == (found.depths[heads[0]] + 1 if len(heads) else 0)
    triangles = sum(d * (d - 1) // 2 for d in np.diff(found.start).tolist())
    assert found.counts == elimination.HierarchyCounts(int(found.depths.max()) + 1, len(found.heads), triangles)


def test_an_arc_without_a_place_is_a_defect():
    number, start, heads = np.arange(3, dtype=np.int32), np.array([0, 0, 1, 2]), np.int32([0, 1])
    rows_without_arcs = np.zeros(4, np.int64)
    for first, tail, head in ((start, 0, 2), (start, 2, 0), (rows_without_arcs, 0, 1)):
        with pytest.raises(AssertionError, match="not in the hierarchy"):
            elimination.find_arcs(np.int32([tail]), np.int32([head]), number, first, heads)


@pytest.mark.parametrize(("there", "back"), [(256, 0), (128, 128), (255, 1), (0, 512)])
def test_any_number_of_parallel_arcs(there, back):
    """Between 1 and 2, on a way from 0 to 3."""
    tails, heads = np.repeat([0, 1, 2, 2], [1, there, back, 1]), np.repeat([1, 2, 1, 3], [1, there, back, 1])
    on = Graph.from_arcs(4, tails, heads, np.arange(len(tails)) + 5)
    assert len(elimination.neighbours(on.indptr, on.indices)[1]) == 6
    for source in range(4):
        result = Result.poisoned("sssp", 4)
        variants.sssp(on, result, Run(source=source, block=4))
        check(on, "sssp", result, source, full_check=100, checked_rows=1)


def test_the_smallest_graph_compiles_all_that_preparing_a_larger_one_runs():
    """Otherwise compiling would count as preparing: the harness first runs a variant on two vertices."""

    def compiled() -> dict[str, int]:
        return {name: len(one.signatures) for name, one in vars(elimination).items() if hasattr(one, "signatures")}

    for function in vars(elimination).values():
        if hasattr(function, "signatures"):
            function._reset_overloads()
    elimination.prepare_hierarchy(graphs.path(2))
    before = compiled()
    elimination.prepare_hierarchy(graphs.dense(12))
    assert before["pack"] and compiled() == before


def test_more_than_int32_numbers_is_refused(monkeypatch):
    """Neighbours, arcs, words of records, and arcs and closures."""
    on = graphs.grid(30)
    made = elimination.prepare_hierarchy(on)
    cut = fragments.cut(made, fragments.sizes_for(30))
    closures = fragments.steps(cut).closures
    assert closures
    complete = graphs.dense(16)
    start, around = elimination.neighbours(complete.indptr, complete.indices)
    for most, ask in (
        (len(around), lambda: elimination.find_order(start, around)),
        (len(made.heads), lambda: elimination.refuse_unfit(on, made.counts)),
        (len(fragments.records(cut).words), lambda: fragments.records.__wrapped__(cut)),
        (len(made.heads) + closures, lambda: fragments.steps.__wrapped__(cut)),
    ):
        monkeypatch.setattr(elimination, "MAX_COUNT", most)
        ask()
        monkeypatch.setattr(elimination, "MAX_COUNT", most - 1)
        with pytest.raises(InputError, match=f"hierarchy with {most} .*, at most {most - 1}: take another"):
            ask()


@pytest.mark.parametrize("name", ["roads", "one-way roads"])
def test_level_0_is_one_fragment_although_it_has_several_roots(name):
    on = SHAPES[name]()
    cut = fragments.cut(elimination.prepare_hierarchy(on), fragments.sizes_for(on.vertices))
    assert cut.levels > 1 and cut.level_start[1] == 1
    assert (np.diff(cut.start)[: cut.rows_before(1)] == 0).sum() == 3


def test_layouts_have_every_arc_once_and_a_launch_has_fragments_of_one_width(shape):
    n = shape.vertices
    cut = fragments.cut(elimination.prepare_hierarchy(shape), fragments.sizes_for(n))
    records, steps = fragments.records(cut), fragments.steps(cut)
    arcs = records.arcs[(records.arcs >= 0) & (records.arcs < len(cut.heads))]
    assert arcs.tolist() == list(range(len(cut.heads)))
    assert (np.diff(records.start) == np.maximum(1, -(-np.diff(cut.start) // fragments.RECORD_ARCS))).all()
    upper = cut.rows_before(cut.levels - 1)  # their rows have a step for the arcs from above and one for the band
    assert (np.bincount(steps.entries[:, 0], minlength=n) == np.where(np.arange(n) < upper, 2, 1)).all()
    for level in range(cut.levels):
        first = fragments.classes(cut, level)
        assert first[0] == cut.level_start[level] and first[-1] == cut.level_start[level + 1]
        of = [set(np.searchsorted(fragments.CLASS_SLOTS, cut.widths[a:b])) for a, b in pairwise(first)]
        assert all(len(one) == 1 for one in of) and len(set.union(set(), *of)) == len(of)


def test_a_graph_without_small_separators_is_refused_with_the_numbers(monkeypatch):
    monkeypatch.setattr(elimination, "MAX_ARCS", 0)
    with pytest.raises(InputError, match=r"elimination leaves \d+ arcs"):
        variants.sssp(graphs.grid(30), Result.poisoned("sssp", 30), Run(block=4))
    monkeypatch.setattr(elimination, "MAX_HEIGHT", 5)
    with pytest.raises(InputError, match=r"\d+ vertices high, .* 5"):
        elimination.prepare_hierarchy(graphs.dense(8))


def test_the_file_beside_the_graph_is_used_and_checked(tmp_path, monkeypatch):
    graphs.grid(30).save(tmp_path / "grid.npz")
    on, path = Graph.load(tmp_path / "grid.npz"), tmp_path / "grid.hierarchy.npz"
    made = elimination.prepare_hierarchy(on)
    with open(path, "wb") as file:
        made.write(file, elimination.topology(on))
    monkeypatch.setattr(elimination, "prepare_hierarchy", lambda graph: pytest.fail("made again"))
    found = elimination.hierarchy_of(on)
    for field in dataclasses.fields(found):
        assert np.array_equal(getattr(found, field.name), getattr(made, field.name))
    graphs.grid(31).save(tmp_path / "grid.npz")
    with pytest.raises(InputError, match=r"of graph .*another graph"):
        elimination.hierarchy_of(Graph.load(tmp_path / "grid.npz"))
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"grid\.hierarchy\.npz: .* delete it"):
        elimination.hierarchy_of(Graph.load(tmp_path / "grid.npz"))


def test_a_hierarchy_that_lists_an_ancestor_twice_is_refused():
    on = graphs.grid(30)
    made = elimination.prepare_hierarchy(on)
    degrees = np.diff(made.start)
    p = int(np.flatnonzero((degrees > 1) & (degrees < made.depths))[0])
    end = made.start[p + 1]
    start = made.start + (np.arange(len(made.start)) > p)
    heads = np.insert(made.heads, end, made.heads[end - 1])
    number = elimination.inverse(made.vertices)
    places = elimination.find_arcs(on.tails, on.indices, number, start, heads)
    with pytest.raises(InputError, match=f"vertex, heads, end or depth of number {p} is wrong"):
        dataclasses.replace(made, start=start, heads=heads, places=places).check(on)


def test_a_digest_is_of_all_arcs_and_of_no_weight():
    one, other, heavier = (
        Graph.from_arcs(3, [0, 1], [head, 2], [weight, 1]) for head, weight in ((1, 1), (2, 1), (1, 5))
    )
    assert (one.indptr == other.indptr).all()
    assert elimination.topology(one) == elimination.topology(heavier) != elimination.topology(other)


def test_customized_weights_are_shortest_below_their_ends():
    """An arc's weight is the shortest path between its ends through vertices below both."""
    on = mixed()
    made = OnCard(on, Run(block=4))
    cut, up, down = made.fragments, np.asarray(made.up), np.asarray(made.down)
    vertex = made.hierarchy.vertices[cut.numbers]
    for row in range(on.vertices):
        for arc in range(cut.start[row], cut.start[row + 1]):
            head = cut.heads[arc]
            below = [r for r in range(on.vertices) if cut.numbers[row] < cut.numbers[r] < cut.ends[row]] + [row, head]
            kept = np.isin(on.tails, vertex[below]) & np.isin(on.indices, vertex[below])
            part = Graph.from_arcs(on.vertices, on.tails[kept], on.indices[kept], on.weights[kept])
            there, back = oracle(part, (int(vertex[row]), int(vertex[head])))
            assert (up[arc], down[arc]) == (there[vertex[head]], back[vertex[row]])


@pytest.mark.parametrize("shared", [0, ENOUGH], ids=["arcs of two ancestors at a time", "of all"])
def test_one_source(shape, shared):
    for source in (0, shape.vertices // 2, shape.vertices - 1):
        result = Result.poisoned("sssp", shape.vertices)
        variants.sssp(shape, result, Run(source=source, block=4, shared=shared))
        check(shape, "sssp", result, source, full_check=100, checked_rows=1)


def test_the_kernels_of_empty_levels_are_prepared_too(monkeypatch, request):
    """Otherwise they would be compiled while the search of a larger graph is timed."""
    on, run, ready = Graph.from_arcs(2, [0, 1], [1, 0], [1, 1]), Run(block=4), []
    search = OneSource(on, run)
    kernels = {kernel for _, _, kernel, *_ in search.plan}
    launched = {kernel for _, count, kernel, *_ in search.plan if count}
    assert launched < kernels
    distances = run.allocate((2, np.uint32))[0]
    request.getfixturevalue("as_with_gpu")
    monkeypatch.setattr(run, "prepare_async", lambda *launches: ready.append({launch[0] for launch in launches}))
    search.search(0, distances)
    *alone, together = ready
    assert set().union(*alone) == kernels - launched and together == launched | {ascend_from}


@pytest.mark.parametrize("shared", [0, ENOUGH], ids=["one source a thread", "four"])
@pytest.mark.parametrize("weights", [range(1, 30), [0, 1], [MAX_WEIGHT // 7]], ids=["positive", "some 0", "largest"])
def test_all_pairs_as_a_matrix(weights, shared, monkeypatch):
    monkeypatch.setattr(variants, "MATRIX_BYTES", 8 * 23 * 8)  # eight sources at a time
    solve_all_pairs(mixed(weights), shared)


@pytest.mark.parametrize("shared", [0, ENOUGH], ids=["one source a thread", "four"])
@pytest.mark.parametrize("name", ["roads", "one-way roads"])
def test_all_pairs_of_several_large_components(name, shared):
    solve_all_pairs(SHAPES[name](), shared)


def solve_all_pairs(on: Graph, shared: int) -> None:
    result = Result.poisoned("apsp", on.vertices)
    variants.apsp(on, result, Run(block=4, shared=shared))
    check(on, "apsp", result, 0, full_check=100, checked_rows=1)


@pytest.mark.parametrize("shared", [0, ENOUGH], ids=["one source a thread", "four"])
@pytest.mark.parametrize("name", ["grid", "mixed", "roads", "one-way roads"])
def test_all_pairs_reduced(name, shared):
    on = SHAPES[name]()
    exact = oracle(on, tuple(range(on.vertices))).astype(np.int64)
    exact[exact == INF] = -1
    sources = np.random.default_rng(0).permutation(on.vertices)[:-2]
    searches = all_pairs.ManySourceSearch(on, reduces=True, run=Run(block=4, shared=shared), bytes=1500)
    assert searches.most < len(sources)  # more than one piece
    found = all_pairs.reduced(searches, sources)
    assert (found.sources == sources).all()
    assert (found.eccentricity == exact.max(axis=1)[sources]).all()
    assert (exact[sources, found.farthest] == found.eccentricity).all()
    assert (found.reached == (exact >= 0).sum(axis=1)[sources]).all()
    assert (found.total == np.maximum(exact, 0).sum(axis=1)[sources]).all()
    assert found.reciprocals is None


@pytest.mark.parametrize("shared", [0, ENOUGH], ids=["one source a thread", "four"])
@pytest.mark.parametrize("weights", [range(1, 30), [0, 1], [MAX_WEIGHT // 7]], ids=["positive", "some 0", "largest"])
def test_sums_of_reciprocals(weights, shared):
    """Without vertices at a distance of 0, such as the source, and without those that it does not reach."""
    on = mixed(weights)
    exact = oracle(on, tuple(range(23))).astype(np.float64)
    exact[(exact == 0) | (exact == INF)] = np.inf
    sources = np.random.default_rng(0).permutation(23)[:-2]
    searches = all_pairs.ManySourceSearch(on, reduces=True, run=Run(block=4, shared=shared), bytes=1500)
    found, without = all_pairs.reduced(searches, sources, reciprocals=True), all_pairs.reduced(searches, sources)
    np.testing.assert_allclose(found.reciprocals, (1 / exact).sum(axis=1)[sources], rtol=1e-15)
    for name in ("sources", "eccentricity", "farthest", "reached", "total"):
        np.testing.assert_array_equal(getattr(found, name), getattr(without, name), strict=True)


def test_rows_in_pieces_and_sums_over_sources():
    on = graphs.grid(30)
    exact = oracle(on, tuple(range(30))).astype(np.int64)
    sources = np.random.default_rng(0).permutation(30)[:21]
    seen = []
    for piece, rows in all_pairs.matrix_pieces(
        all_pairs.ManySourceSearch(on, reduces=False, run=Run(block=4), bytes=4000), sources
    ):
        assert (np.asarray(rows).reshape(-1, 30) == exact[piece]).all()
        seen += piece.tolist()
    assert len(seen) == 21 and set(seen) == set(sources.tolist())
    searches = all_pairs.ManySourceSearch(on, reduces=False, run=Run(block=4), bytes=4000)
    assert (all_pairs.sums_over_sources(searches, sources[:2]) == exact[sources[:2]].sum(axis=0)).all()
    assert (all_pairs.sums_over_sources(searches, sources) == exact[sources].sum(axis=0)).all()


def test_pieces_fit_in_the_memory_that_is_free_now():
    searches = all_pairs.ManySourceSearch(graphs.grid(30), reduces=False, run=Run(block=4), bytes=10**6)
    sources = np.arange(30)
    assert list(map(len, searches.pieces(sources))) == [30]
    group = searches.many.group
    searches.many.most, searches.bytes = 0, searches.many.source_bytes * group
    assert list(map(len, searches.pieces(sources))) == [min(group, 30 - start) for start in range(0, 30, group)]


def test_a_piece_takes_no_more_than_is_free_on_the_card(monkeypatch, request):
    searches = all_pairs.ManySourceSearch(graphs.grid(30), reduces=False, run=Run(block=4), bytes=10**6)
    group, needed = searches.many.group, searches.many.source_bytes
    request.getfixturevalue("as_with_gpu")
    for groups in (1, 2):
        monkeypatch.setattr(all_pairs.card, "free_memory", lambda groups=groups: groups * group * needed * 10 // 9 + 1)
        assert searches.columns(30, needed) == groups * group


def test_refused_memory_leaves_a_search_that_can_go_on(monkeypatch):
    on = mixed()
    searches = all_pairs.ManySourceSearch(on, reduces=False, run=Run(block=4), bytes=10**6)
    assert list(map(len, searches.pieces(np.arange(2)))) == [2]
    with monkeypatch.context() as patch:
        patch.setattr(searches.run, "require", refuse)
        with pytest.raises(NotEnoughMemory):
            list(searches.pieces(np.arange(on.vertices)))
    for piece in searches.pieces(np.arange(6)):
        np.testing.assert_array_equal(searches.rows(np.arange(len(piece))), oracle(on, tuple(piece.tolist())))


def refuse(needed):
    raise NotEnoughMemory(needed, 0)
