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
from workflow import configuration
from workflow.data import convert, pack

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


# Known bytes: another version of NumPy that draws other numbers is to be noticed.
KNOWN = {
    "uniform": "25f417f039820aade5485f5b604f36b3feccbfce51f27c760644cb0f148fd400",
    "rmat": "57dc625438e3d6b86489e19f4aa1cc902f14cfaa8df9d1bc8580ace8be32938c",
}


@pytest.mark.parametrize("kind", KNOWN)
def test_edges_are_the_same_for_a_seed(kind):
    first, other = (np.stack(generate.draw_edges(kind, 64, 300, seed)) for seed in (4, 5))
    assert not np.array_equal(first, other)
    assert hashlib.sha256(first.tobytes()).hexdigest() == KNOWN[kind]


WRONG = [
    ("grid", 10, 24, "a grid has a square number of vertices; with 9 it has 24 arcs"),
    ("grid", 9, 20, "with 9 it has 24 arcs"),
    ("rmat", 100, 20, "expected a power of two of vertices"),
    ("uniform", 10, 46, "expected edges between at most half of all pairs"),
    ("rmat", 16, 122, "expected edges between at most half of all pairs"),
    ("uniform", 2**31, 2, "expected 1 to 2,147,483,647 vertices"),
    ("uniform", 0, 0, "expected 1 to 2,147,483,647 vertices"),
    ("ring", 9, 8, "choose one of grid, rmat, uniform"),
]


@pytest.mark.parametrize(("kind", "vertices", "arcs", "reason"), WRONG)
def test_a_graph_that_there_is_not_is_refused(kind, vertices, arcs, reason):
    with pytest.raises(InputError, match=f"^{kind}: {vertices:,} vertices and {arcs // 2:,} edges.*{reason}"):
        generate.draw_edges(kind, vertices, arcs // 2, 1)


def entry(kind, vertices, arcs, **other):
    weights = {"min": 1, "max": 9, "seed": 2}
    how = {"kind": kind, "seed": 2}
    return {"format": "random", "vertices": vertices, "arcs": arcs, "generate": how, "weights": weights, **other}


@pytest.mark.parametrize(
    ("kind", "vertices", "arcs", "said"),
    [
        ("grid", 36, 120, "family grid, weights the same both ways"),
        ("rmat", 32, 120, "family rmat, seed 2, weights the same both ways"),
        ("uniform", 40, 120, "family uniform, seed 2, weights the same both ways"),
    ],
)
def test_a_dataset_of_a_family(kind, vertices, arcs, said, tmp_path):
    text, packed = tmp_path / "made.txt", tmp_path / "made.npz"
    made = entry(kind, vertices, arcs, directed=False)
    convert.convert("made", made, None, text)
    pack.pack("made", made, text, packed)
    assert len(read_text(text)[1]) == arcs
    graph = Graph.load(packed)
    assert (graph.vertices, graph.arcs, graph.directed, graph.meta["generated"]) == (vertices, arcs, False, said)
    matrix = graph.to_scipy()
    assert (matrix != matrix.T).nnz == 0 and len(set(graph.weights.tolist())) > 5
    if kind == "grid":
        assert csgraph.connected_components(matrix)[0] == 1


def test_an_odd_number_of_arcs_is_refused_by_hand_too(tmp_path):
    with pytest.raises(InputError, match="120 arcs, config says 121"):
        convert.convert("made", entry("rmat", 32, 121, directed=False), None, tmp_path / "made.txt")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (entry("rmat", 32, 120), "family rmat has each arc in both directions: set directed to false"),
        (entry("rmat", 32, 121, directed=False), "arcs to an even number"),
        (entry("rmat", 33, 120, directed=False), "expected a power of two of vertices"),
        (entry("ring", 32, 120, directed=False), "'ring' is not one of"),
        (
            {**entry("rmat", 32, 120, directed=False), "generate": {"kind": "rmat", "seed": 1, "skew": 3}},
            "generate: kind and skew exclude each other",
        ),
    ],
)
def test_a_wrong_dataset_of_a_family_is_refused(wrong, reason):
    config = yaml.safe_load(CONFIG.read_text())
    config["datasets"]["made"] = wrong
    with pytest.raises(InputError, match=f"config: datasets.made.*{reason}"):
        configuration.check(config)
