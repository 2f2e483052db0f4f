"""Bellman-Ford on an ELL layout: the layout, and cases beyond test_kernels.py."""

import numpy as np
import pytest

from kernels import harness
from kernels.check import check
from kernels.fast import ell
from kernels.generate import draw, draw_arcs
from kernels.graph import Graph
from kernels.registry import VARIANTS
from tests.support.project import DATASETS, Project
from workflow.store import columns

VARIANT = VARIANTS["bellman_ford/stride_ell"]
GENERATED = {
    **{"format": "random", "vertices": 9, "arcs": 20, "generate": {"seed": 1, "skew": 2.5}},
    **{"weights": {"min": 1, "max": 9, "seed": 1}, "gpu": ["bellman_ford/stride", "bellman_ford/stride_ell"]},
    **{"cpu": ["dijkstra/scipy"]},
}


def star(leaves: int) -> Graph:
    """Arcs from vertex 0 to each leaf, and from each leaf to the next."""
    u = np.arange(1, leaves)
    return Graph.from_arcs(leaves + 1, np.r_[np.zeros(leaves, int), u], np.r_[1, u + 1, u + 1], np.r_[1, u + 9, u])


def arcs_of(graph: Graph) -> list:
    """Return the arcs (tail, head, weight) of the layout, sorted."""
    parts, column = ell.ell_layout(graph), ell.pitch(graph.vertices)
    (slots,) = np.nonzero(parts.heads >= 0)
    inside = zip(slots % column, parts.heads[slots], parts.weights[slots], strict=True)
    return sorted([*inside, *zip(parts.overflow_tails, parts.overflow_heads, parts.overflow_weights, strict=True)])


@pytest.mark.parametrize("seed", range(5))
def test_every_arc_lies_in_the_layout_once_and_rows_have_no_gaps(seed):
    graph = Graph.from_arcs(70, *draw_arcs(70, 300, seed, 2.2), draw(300, seed=seed))
    parts, column, width = ell.ell_layout(graph), ell.pitch(70), ell.columns(graph)
    assert arcs_of(graph) == sorted(zip(graph.tails, graph.indices, graph.weights, strict=True))
    assert all(array.dtype == np.int32 for array in parts)
    assert len(parts.heads) == len(parts.weights) == column * width and column == 96
    filled = parts.heads.reshape(width, column) >= 0
    assert (parts.lengths == filled.sum(axis=0)[:70]).all()
    assert (parts.lengths == np.minimum(np.diff(graph.indptr), width)).all()
    assert not (filled[1:] & ~filled[:-1]).any() and not filled[:, 70:].any()


def test_columns_are_as_many_as_keep_a_quarter_of_the_slots_filled():
    regular = Graph.from_arcs(8, np.repeat(np.arange(8), 5), np.tile(np.arange(5), 8), np.ones(40, int))
    assert ell.columns(regular) == 5
    assert ell.columns(star(40)) == 4  # 43 of 164 slots; one more of 205 is less than a quarter
    for seed, skew in ((1, None), (2, 3.0), (3, 2.2)):
        graph = Graph.from_arcs(500, *draw_arcs(500, 2500, seed, skew), np.ones(2500, int))
        degrees, width = np.diff(graph.indptr), ell.columns(graph)
        filled = [np.minimum(degrees, k).sum() / (500 * k) for k in range(1, degrees.max() + 1)]
        assert min(filled[:width]) >= 0.25 and all(share < 0.25 for share in filled[width:])
    none = Graph.from_arcs(3, *np.empty((3, 0), int))
    lengths, *others = ell.ell_layout(none)
    assert ell.columns(none) == 0 and lengths.tolist() == [0, 0, 0] and not any(map(len, others))


def test_slots_are_numbered_in_31_bits(monkeypatch):
    regular = Graph.from_arcs(8, np.repeat(np.arange(8), 5), np.tile(np.arange(5), 8), np.ones(40, int))
    monkeypatch.setattr(ell, "MAX_SLOTS", 3 * ell.pitch(8) + 1)
    assert ell.columns(regular) == 3
    assert len(ell.ell_layout(regular).overflow_tails) == 16


@pytest.mark.simulator
@pytest.mark.parametrize("grid", [1, 2, None])
def test_rows_and_overflow_are_relaxed_whatever_the_grid(grid):
    graph = star(11)  # 11 arcs from vertex 0
    assert (ell.columns(graph), len(ell.ell_layout(graph).overflow_tails)) == (5, 6)
    for source in (0, 5):
        protocol = harness.RunSettings(warmup_launches=0, source=source, block=4, grid=grid)
        run, result = harness.run_once(VARIANT, graph, protocol)
        assert check(graph, "sssp", result, source, full_check=0, checked_rows=1) == 1
        assert run.launches == 2 * 11 + 1


def test_its_facts_are_columns_of_a_measurement():
    facts = ell.facts(star(40), 38)
    assert facts == {"reached": 3, "longest_row": 40, "ell_columns": 4, "ell_slots": 256, "ell_overflow": 36}
    assert set(facts) == set(columns.LAYOUT)


def test_extensions_plan_what_is_generated_and_all_does_not(tmp_path):
    project = Project.make(
        tmp_path,
        datasets=DATASETS | {"extra": GENERATED},
        sweeps={"delta": {"dataset": "gnutella04"}, "stride": {"dataset": "nyc"}},
    )
    planned = project.snakemake("-n", "extensions")
    jobs = "Measure dijkstra/scipy on extra", "Measure bellman_ford/stride_ell on extra", "Convert extra to"
    assert all(job in planned for job in jobs)
    assert "extra" not in project.snakemake("-n", "all")


def test_bellman_ford_on_gnutella_graphs_is_in_no_fit(tmp_path):
    nyc, gnutella = DATASETS["nyc"], DATASETS["gnutella04"]
    project = Project.make(
        tmp_path, datasets=DATASETS | {"gnutella04": gnutella | {"gpu": ["bellman_ford/stride"], "cpu": []}, "nyc": nyc}
    )
    assert not {job for job in project.plan("growth", "launch_overhead") if "gnutella04" in job}
