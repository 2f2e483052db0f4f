"""Families of generated graphs: their edges, and their datasets in the workflow."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.sparse import csgraph

from kernels import generate
from kernels.errors import InputError
from kernels.graph import Graph
from kernels.io import read_text
from workflow.data import convert, pack
from workflow.plan import configuration

CONFIG = Path(__file__).parents[2] / "config.yaml"


def test_a_grid_joins_each_vertex_to_those_beside_it():
    tails, heads = generate.draw_edges("grid", 12 * 12, 2 * 12 * 11, seed=1)
    differ = [abs(a - b) for a, b in zip(np.divmod(tails, 12), np.divmod(heads, 12), strict=True)]
    assert (differ[0] + differ[1] == 1).all() and len(set(zip(tails, heads, strict=True))) == 2 * 12 * 11


@pytest.mark.parametrize("kind", ["uniform", "rmat"])
def test_edges_are_as_many_as_asked_for_and_no_loops_and_not_there_twice(kind):
    tails, heads = generate.draw_edges(kind, 256, 4000, seed=1)
    assert tails.dtype == heads.dtype == np.int64 and len(tails) == len(heads) == 4000
    assert (tails < heads).all() and len(np.unique(256 * tails + heads)) == 4000


def test_uniform_edges_are_uniform():
    tails, heads = generate.draw_edges("uniform", 500, 50_000, seed=2)
    degrees = np.bincount(np.r_[tails, heads], minlength=500)
    assert abs(degrees - 200).max() < 6 * np.sqrt(200)


def test_places_in_the_recursive_matrix_have_its_shares():
    ends = generate.rmat(np.random.default_rng(5), 1 << 10, 400_000)
    for bit in (0, 4, 9):
        tails, heads = ends >> bit & 1
        shares = np.bincount(2 * tails + heads, minlength=4) / 400_000
        np.testing.assert_allclose(shares, [0.57, 0.19, 0.19, 0.05], atol=0.004)


def test_a_recursive_matrix_has_hubs_whose_numbers_say_nothing():
    tails, heads = generate.draw_edges("rmat", 1 << 12, 1 << 15, seed=3)
    degrees = np.bincount(np.r_[tails, heads], minlength=1 << 12)
    assert degrees.max() > 20 * degrees.mean() and (degrees == 0).mean() > 0.1
    assert abs(np.corrcoef(np.arange(1 << 12), degrees)[0, 1]) < 0.1


def test_entries_of_the_recursive_matrix_are_drawn_once_and_kept_once(monkeypatch):
    """The number of edges is that of distinct pairs among the draws, whatever the number of threads."""
    monkeypatch.setattr(generate, "BLOCK", 1000)
    keys = generate.rmat_keys(np.arange(256), 16, seed=1)
    blocks = [generate.rmat(np.random.default_rng((1, 3, i)), 256, min(1000, 4096 - 1000 * i)) for i in range(5)]
    pairs = {tuple(sorted(pair)) for pair in np.hstack(blocks).T.tolist() if pair[0] != pair[1]}
    assert [divmod(key, 256) for key in keys.tolist()] == sorted(pairs)
    assert 1000 < len(keys) < 16 * 256
    tails, heads = generate.draw_edges("rmat", 256, 2000, seed=1, draws=16)
    assert len(tails) == len(keys) and (tails < heads).all()
    assert not np.array_equal(256 * tails + heads, keys)  # renumbered


def test_a_geometric_graph_joins_the_points_within_its_radius():
    vertices, degree = 400, 6.5
    tails, heads = generate.draw_edges("geometric", vertices, 1300, seed=3, degree=degree)
    places = generate.points(vertices, 3)
    away = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))
    near = np.argwhere(np.triu(away <= np.sqrt(degree / (np.pi * vertices)), 1))
    assert np.array_equal(np.column_stack([tails, heads]), near)
    assert 5 < 2 * len(tails) / vertices < 7
    weights = generate.lengths(places, tails, heads)
    np.testing.assert_array_equal(weights, np.maximum(1, np.rint(1e6 * away[tails, heads])))
    assert generate.lengths(np.zeros((2, 2)), np.array([0]), np.array([1])).tolist() == [1]


def test_a_vertex_prefers_those_of_high_degree():
    tails, heads = generate.draw_edges("preferential", 1 << 14, 1 << 16, seed=4, draws=4)
    assert (tails < heads).all() and len(np.unique(tails * (1 << 14) + heads)) == len(tails)
    joined = np.bincount(heads, minlength=1 << 14)  # edges to earlier vertices
    assert joined[0] == 0 and (joined[1:] >= 1).all() and joined.max() == 4 and joined[1:].mean() > 3.95
    # Degrees of a graph that grows so have the share 2 k (k + 1) / (d (d + 1) (d + 2)) of degree d.
    degrees = np.bincount(np.r_[tails, heads])
    assert (degrees == 4).mean() == pytest.approx(2 * 5 / (5 * 6), abs=0.02)
    assert (degrees >= 20).mean() == pytest.approx(4 * 5 / (20 * 21), abs=0.01)
    assert degrees.max() > 200


@pytest.mark.parametrize(("vertices", "heads"), [(1, []), (2, [1])])
def test_the_smallest_graphs_of_preferential_attachment(vertices, heads):
    assert generate.draw_edges("preferential", vertices, 0, seed=1, draws=4)[1].tolist() == heads


def test_arcs_of_a_dag_lead_forward_by_at_most_its_span():
    tails, heads = generate.draw_edges("dag", 1000, 20_000, seed=5, span=10)
    assert len(tails) == 20_000 and heads.max() == 999
    steps = np.bincount(heads - tails, minlength=11)
    assert len(steps) == 11 and steps[0] == 0
    assert abs(steps[1:] - 2000).max() < 6 * np.sqrt(2000)
    assert np.bincount(tails, minlength=1000)[-1] == 0 and abs(np.bincount(tails)[:990] - 20).max() < 6 * np.sqrt(20)


def test_pareto_weights_have_its_quantiles_and_limits():
    weights = generate.draw(100_000, low=1, high=10**6, seed=1, pareto=0.5)
    assert weights.min() == 1 and weights.max() == 10**6 and weights.dtype == np.int64
    for value in (4, 100, 10_000):  # the share above x is x^-0.5
        assert (weights > value).mean() == pytest.approx((value + 0.5) ** -0.5, abs=0.01)
    assert (weights == 10**6).mean() == pytest.approx(10**-3, rel=0.5)
    assert generate.draw(1000, low=7, high=10**9, pareto=2).min() == 7
    np.testing.assert_array_equal(weights, generate.draw(100_000, low=1, high=10**6, seed=1, pareto=0.5))


def test_weights_of_a_share_of_the_edges_are_0_both_ways():
    tails, heads = np.stack(generate.draw_edges("uniform", 1000, 20_000, seed=1))
    both = np.r_[tails, heads, tails[:50]], np.r_[heads, tails, heads[:50]]  # 50 arcs are parallel
    weights = generate.zero(1000, *both, np.arange(1, 40_051), share=0.25, seed=1)
    there, back, parallel = np.split(weights == 0, [20_000, 40_000])
    assert there.mean() == pytest.approx(0.25, abs=0.02)
    np.testing.assert_array_equal(there, back)
    np.testing.assert_array_equal(there[:50], parallel)
    kept = weights[weights > 0]
    assert np.isin(kept, np.arange(1, 40_051)).all() and (np.diff(kept) > 0).all()


# Known bytes: another version of NumPy that draws other numbers is to be noticed.
KNOWN = {
    "uniform": "25f417f039820aade5485f5b604f36b3feccbfce51f27c760644cb0f148fd400",
    "rmat": "57dc625438e3d6b86489e19f4aa1cc902f14cfaa8df9d1bc8580ace8be32938c",
    "rmat of draws": "303e2242656221733523a07b1dd77198f12a41b1491e6e12f3b922f820ece2f2",
    "geometric": "e901bd9720f3a49a7cf9a3b9970ee5b58e8ff20d49552f59e54670a8337316a2",
    "preferential": "9cdf2a0647142e3a9ec5e9cf6b386605e37d0f1fefff8c0ac3c8190c464628a6",
    "dag": "6649d8ea9abab0070b99f7c14682cc743815014037eef759ca1e41fed4b606ef",
}
OPTION = {
    **{"rmat of draws": {"draws": 16}, "geometric": {"degree": 6.5}, "preferential": {"draws": 5}},
    "dag": {"span": 10},
}


def drawn(name, vertices, edges, seed):
    """Draw the edges of a kind with its option."""
    return generate.draw_edges(name.split()[0], vertices, edges, seed, **OPTION.get(name, {}))


@pytest.mark.parametrize("kind", KNOWN)
def test_edges_are_the_same_for_a_seed(kind):
    first, other = (np.stack(drawn(kind, 64, 300, seed)) for seed in (4, 5))
    assert not np.array_equal(first, other)
    assert hashlib.sha256(first.tobytes()).hexdigest() == KNOWN[kind]


WRONG = [
    ("grid", 10, 24, "with 9 it has 24 arcs"),
    ("grid", 9, 20, "with 9 it has 24 arcs"),
    ("rmat", 100, 20, "expected a power of two of vertices"),
    ("uniform", 10, 46, "half of all pairs"),
    ("rmat", 16, 122, "half of all pairs"),
    ("uniform", 2**31, 2, "expected 1 to 2,147,483,647 vertices"),
    ("uniform", 0, 0, "expected 1 to 2,147,483,647 vertices"),
    ("ring", 9, 8, "choose one of grid, rmat, uniform"),
]


WRONG_OPTIONS = [
    ("grid", {"draws": 2}, "expected no option"),
    ("uniform", {"draws": 2}, "expected no option"),
    ("rmat", {"span": 2}, "expected the option draws"),
    ("geometric", {}, "no option: expected the option degree"),
    ("geometric", {"degree": 0}, "degree 0: "),
    ("geometric", {"degree": 16}, "degree 16: "),
    ("preferential", {}, "no option: expected the option draws"),
    ("preferential", {"draws": 1}, "draws 1: "),
    ("rmat", {"draws": 0}, "draws 0: "),
    ("dag", {}, "no option: expected the option span"),
    ("dag", {"span": 16}, "span 16: "),
    ("dag", {"span": 0}, "span 0: "),
]


@pytest.mark.parametrize(("kind", "option", "reason"), WRONG_OPTIONS)
def test_an_option_that_the_kind_cannot_have_is_refused(kind, option, reason):
    with pytest.raises(InputError, match=f"^{kind}: 16 vertices .*{reason}"):
        generate.draw_edges(kind, 16, 24, 1, **option)


@pytest.mark.parametrize(("kind", "vertices", "arcs", "reason"), WRONG)
def test_a_graph_that_there_is_not_is_refused(kind, vertices, arcs, reason):
    with pytest.raises(InputError, match=f"^{kind}: {vertices:,} vertices .*{reason}"):
        generate.draw_edges(kind, vertices, arcs // 2, 1)


def entry(kind, vertices, arcs, **other):
    weights = {"min": 1, "max": 9, "seed": 2}
    how = {"kind": kind, "seed": 2}
    return {"format": "random", "vertices": vertices, "arcs": arcs, "generate": how, "weights": weights, **other}


SIZES = {"grid": (36, 60), "rmat": (32, 60), "uniform": (40, 60)}


@pytest.mark.parametrize(
    ("kind", "option", "said"),
    [
        ("grid", {}, "family grid, weights the same both ways"),
        ("rmat", {}, "family rmat, seed 2, weights the same both ways"),
        ("uniform", {}, "family uniform, seed 2, weights the same both ways"),
        ("rmat", {"draws": 4}, "family rmat, draws 4, seed 2, weights the same both ways"),
        ("geometric", {"degree": 6.5}, "family geometric, degree 6.5, seed 2, weights the same both ways"),
        ("preferential", {"draws": 3}, "family preferential, draws 3, seed 2, weights the same both ways"),
        ("dag", {"span": 5}, "family dag, span 5, seed 2"),
    ],
)
def test_a_dataset_of_a_family(kind, option, said, tmp_path):
    """If the number of arcs is not known beforehand, config says it, or the graph is refused."""
    text, packed = tmp_path / "made.txt", tmp_path / "made.npz"
    vertices, edges = SIZES[kind] if not option else (64, 100)
    tails, heads = generate.draw_edges(kind, vertices, edges, 2, **option)
    arcs = generate.arcs_of(kind, len(tails))
    made = entry(kind, vertices, arcs)
    made["generate"] |= option
    if kind == "geometric":
        del made["weights"]
    if kind != "dag":
        made["directed"] = False
    config = yaml.safe_load(CONFIG.read_text())
    config["datasets"]["made"] = made
    configuration.check_config(config)
    convert.convert("made", made, None, text)
    pack.pack("made", made, None, packed)
    graph = Graph.load(packed)
    assert (graph.vertices, graph.arcs, graph.directed) == (vertices, arcs, kind == "dag")
    assert graph.meta["generated"] == said
    assert graph.meta["sha256"] == pack.csr_sha256(Graph.from_arcs(*read_text(text)))
    same(graph, Graph.from_arcs(*read_text(text)))
    matrix = graph.to_scipy()
    assert ((matrix != matrix.T).nnz == 0) == (kind != "dag")
    assert {*zip(tails, heads, strict=True)} <= {*zip(graph.tails, graph.indices, strict=True)}
    if kind not in ("dag", "geometric"):
        assert graph.weights.min() == 1 and graph.weights.max() == 9
    if kind == "grid":
        assert csgraph.connected_components(matrix)[0] == 1
    if option and kind != "dag":
        with pytest.raises(InputError, match=f"made has {arcs} arcs, .* {arcs - 2}: "):
            pack.pack("made", {**made, "arcs": arcs - 2}, None, packed)


def same(one, other):
    for array in ("indptr", "indices", "weights"):
        np.testing.assert_array_equal(getattr(one, array), getattr(other, array))


def test_an_odd_number_of_arcs_is_refused_by_hand_too(tmp_path):
    with pytest.raises(InputError, match="120 arcs, config says 121"):
        convert.convert("made", entry("rmat", 32, 121, directed=False), None, tmp_path / "made.txt")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (entry("rmat", 32, 120), "set directed to false"),
        (entry("rmat", 32, 121, directed=False), "arcs to an even number"),
        (entry("rmat", 33, 120, directed=False), "expected a power of two of vertices"),
        (entry("ring", 32, 120, directed=False), "'ring' is not one of"),
        (entry("geometric", 32, 120, directed=False) | {"weights": {}}, "required property"),
        (entry("dag", 32, 121, directed=False), "set directed to true"),
        (entry("dag", 32, 121), "no option: expected the option span"),
        (
            {**entry("rmat", 32, 120, directed=False), "generate": {"kind": "rmat", "seed": 1, "skew": 3}},
            "generate: kind and skew",
        ),
    ],
)
def test_a_wrong_dataset_of_a_family_is_refused(wrong, reason):
    config = yaml.safe_load(CONFIG.read_text())
    config["datasets"]["made"] = wrong
    with pytest.raises(InputError, match=f"config: datasets.made.*{reason}"):
        configuration.check_config(config)
