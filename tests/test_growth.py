"""Exponents and launch-bound cells follow from the measurements, and what is missing is said."""

import shutil
from argparse import Namespace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib import style
from test_figures import legible, words
from test_tables import cells, read_csv
from test_workflow import SIMULATOR, Project, measured

from kernels.variants import VARIANTS
from tests.rows import measurement
from workflow.lib import long_table, measurements
from workflow.scripts import archive, figures, growth, launch_overhead, readme

STAND_IN = "stand-in: drawn arc lengths"
ROADS, GNUTELLAS = ["nyc", "bay", "col", "fla", "ne", "e"], ["gnutella04", "gnutella25", "gnutella30"]
DATASETS = {"sssp": ROADS, "apsp": GNUTELLAS}


def rows_of(times, device="test card", note=""):
    """Two rows for each {(algorithm/variant, dataset): kernels_s}, of which that is the median."""
    found = [
        measurement(key, dataset, repeat, 2 * seconds, kernels_s=factor * seconds, device=device, note=note)
        for (key, dataset), seconds in times.items()
        for repeat, factor in ((1, 0.9), (2, 1.1))
    ]
    return pd.DataFrame(found, columns=measurements.COLUMNS).assign(throttling="")


def power(key, datasets, factor, v, e=0):
    """Times of factor |V|^v |E|^e."""
    sizes = measurements.paper_datasets().astype({"vertices": float, "arcs": float})
    return {(key, name): factor * sizes.vertices[name] ** v * sizes.arcs[name] ** e for name in datasets}


def everything():
    """Every variant on every dataset of its problem, the roads stand-ins, each a factor 1.3 apart."""
    times = {}
    for i, (key, variant) in enumerate(VARIANTS.items()):
        times |= power(key, DATASETS[variant.problem], 1e-9 * 1.3**i, 1.7)
    rows = rows_of(times)
    return rows.assign(note=rows["problem"].map({"sssp": STAND_IN, "apsp": ""}))


def fitted(rows):
    return growth.fits(long_table.cells(rows)).set_index("column")


def test_a_known_exponent_is_given_back():
    times = power("floyd_warshall/tiled", GNUTELLAS, 1e-11, 3)
    times |= power("bellman_ford/naive", ROADS, 1e-12, 1, 1)
    times |= power("bellman_ford/cpu", ROADS[:3], 1e-9, 1.25)
    facts = fitted(rows_of(times))
    tiled, naive, cpu = (facts.loc[key] for key in ("floyd_warshall/tiled", "bellman_ford/naive", "bellman_ford/cpu"))
    assert tiled.vertices_exponent == pytest.approx(3)
    assert (tiled.vertices_low, tiled.vertices_high, tiled.vertices_r2) == pytest.approx((3, 3, 1), abs=1e-5)
    assert (tiled.term, tiled.slope, tiled.term_exponent) == ("V³", 3, pytest.approx(1))
    assert (naive.term, naive.slope, naive.term_exponent) == ("V E", 2, pytest.approx(1))
    assert naive.vertices_exponent == pytest.approx(2, abs=0.05) and naive.vertices_stderr > 1e-4
    assert cpu.vertices_exponent == pytest.approx(1.25)
    assert (cpu.sizes, cpu.datasets) == (3, "nyc bay col")


def test_the_interval_is_students():
    """Against the textbook's formulas, worked out here."""
    noise = dict(zip(ROADS, (0.7, 1.2, 1.0, 1.5, 0.9, 1.1), strict=True))
    exact = power("edge/sssp", ROADS, 1e-9, 1.5)
    (fit,) = fitted(rows_of({cell: seconds * noise[cell[1]] for cell, seconds in exact.items()})).itertuples()
    x = np.log(measurements.paper_datasets().vertices[ROADS].to_numpy(float))
    y = np.log([seconds * noise[name] for (_, name), seconds in exact.items()])
    dx = x - x.mean()
    slope = (dx @ y) / (dx @ dx)
    rest = y - y.mean() - slope * dx
    error = np.sqrt(rest @ rest / 4 / (dx @ dx))
    assert (fit.vertices_exponent, fit.vertices_stderr) == pytest.approx((slope, error))
    half = 2.776445 * error  # Student's t of 4 degrees of freedom, 97.5 %
    assert (fit.vertices_low, fit.vertices_high) == pytest.approx((slope - half, slope + half))
    assert fit.vertices_r2 == pytest.approx(1 - rest @ rest / np.sum((y - y.mean()) ** 2))


def test_too_few_datasets_are_not_fitted(tmp_path):
    times = power("edge/apsp", GNUTELLAS[:2], 1e-9, 2) | power("dijkstra/naive", GNUTELLAS, 1e-9, 3)
    growth.write(rows_of(times), "From the test.", tmp_path, tmp_path)
    for suffix in (".md", ".tex", ".html"):
        _, naive, edge = cells(suffix, (tmp_path / f"growth{suffix}").read_text())
        assert edge[0] == "Edge (apsp)" and edge[2:4] == ["2", "no fit: fewer than 3 datasets"]
        assert "-" == edge[-1] == edge[-2]
        assert naive[0] == "Dijkstra Naive" and "no fit" not in " ".join(naive)
    naive, edge = read_csv((tmp_path / "growth.csv").read_text())
    assert float(naive["vertices_exponent"]) == pytest.approx(3) and edge["vertices_exponent"] == ""


def test_untimed_rows_and_other_graphs_are_left_out():
    rows = rows_of(power("floyd_warshall/naive", GNUTELLAS, 1e-11, 3))
    rows.loc[rows["dataset"] == "gnutella30", ["status", "kernels_s"]] = "no_memory", np.nan
    sample = rows[rows["dataset"] == "gnutella04"].assign(dataset="sample1", vertices=6)
    (fit,) = fitted(pd.concat([rows, sample])).itertuples()
    assert (fit.datasets, fit.sizes) == ("gnutella04 gnutella25", 2) and np.isnan(fit.vertices_exponent)


def test_cards_are_not_mixed():
    times = power("edge/apsp", GNUTELLAS[:2], 1e-9, 2), power("edge/apsp", GNUTELLAS[2:], 1e-9, 2)
    both = pd.concat([rows_of(times[0], "card A"), rows_of(times[1], "card B")])
    facts = growth.fits(long_table.cells(both))
    assert list(facts["sizes"]) == [2, 1] and facts["vertices_exponent"].isna().all()
    assert long_table.names(facts) == ["Edge (apsp) on card A", "Edge (apsp) on card B"]


def test_every_bound_is_a_variants_and_every_paper_variant_has_one():
    assert set(growth.BOUNDS) <= set(VARIANTS)
    papers = {key for key, _ in measurements.paper_times().index}
    assert papers <= set(growth.BOUNDS)


def drawn(rows):
    """The figure with its layout done; to be called under figures.STYLE."""
    found, stand_ins = long_table.cells(rows), measurements.stand_ins(rows)
    figure = growth.draw(growth.fits(found), found, stand_ins, long_table.origin(rows, found, "From the test."))
    figure.draw_without_rendering()
    return figure


def test_the_figure_shows_points_and_fits():
    times = power("floyd_warshall/tiled", GNUTELLAS, 1e-11, 3) | power("edge/apsp", GNUTELLAS[:2], 1e-9, 2)
    with style.context(["default", figures.STYLE]):
        one, every = drawn(rows_of(times)).axes
    assert [text.get_text() for text in one.texts] == ["no measurement"]
    assert (every.get_xscale(), every.get_yscale()) == ("log", "log")
    lines = {line.get_label(): line for line in every.lines}
    points = lines["Floyd-Warshall Tiled: 3.00"]
    np.testing.assert_allclose(points.get_ydata(), [times["floyd_warshall/tiled", name] for name in GNUTELLAS])
    assert points.get_xdata().tolist() == [10876, 22687, 36682]
    (fit,) = (line for line in every.lines if line.get_color() == points.get_color() and line is not points)
    np.testing.assert_allclose(fit.get_ydata(), points.get_ydata()[[0, 2]])
    assert len(lines["Edge (apsp)"].get_xdata()) == 2
    guide = lines["theory, O(V³), O(V² E): 3"]
    x, y = np.log(guide.get_xdata()), np.log(guide.get_ydata())
    assert (y[1] - y[0]) / (x[1] - x[0]) == pytest.approx(3)


@pytest.mark.parametrize("which", ["all", "some", "none"])
def test_no_text_lies_on_other_text(which):
    rows = everything()
    rows = {"all": rows, "some": rows[rows["dataset"].isin(["nyc", "bay", "col", "gnutella04"])], "none": rows[:0]}
    with style.context(["default", figures.STYLE]):
        figure = drawn(rows[which])
        legible(figure)


def plain(latex):
    for command, character in {
        r"$\pm$": "±",
        "$^2$": "²",
        "$^3$": "³",
        r"\textmu{}": "µ",
        r"\%": "%",
        r"\_": "_",
    }.items():
        latex = latex.replace(command, character)
    return latex


def test_what_the_files_say(tmp_path):
    growth.write(everything(), "From the test.", tmp_path, tmp_path)
    launch_overhead.write(everything(), "From the test.", tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        *(f"{name}.{end}" for name in ("growth", "launch_overhead") for end in ("csv", "md", "tex", "html")),
        *(f"growth.{end}" for end in ("svg", "pdf", "png")),
    }
    twinned = sum(len(DATASETS[VARIANTS[key].problem]) for key in VARIANTS if f"{key}_graph" in VARIANTS)
    roads = ", ".join(f"{name}.txt" for name in ROADS)
    for said in (
        " ".join(words((tmp_path / "growth.svg").read_bytes())),
        (tmp_path / "growth.md").read_text(),
        (tmp_path / "launch_overhead.md").read_text(),
    ):
        for text in (
            "From the test.",
            "On test card: Bellman-Ford",
            f"† {roads}: {STAND_IN}.",
            "Run: commit 0123456789ab; 2026-01-01.",
        ):
            assert text in said
    for name, shown in (("growth", len(VARIANTS)), ("launch_overhead", twinned)):
        tables = [cells(suffix, (tmp_path / f"{name}{suffix}").read_text()) for suffix in (".md", ".tex", ".html")]
        assert tables[0] == tables[2] and len(tables[0]) == 1 + shown
        assert [[plain(cell) for cell in row] for row in tables[1]] == tables[0]


def test_nothing_measured(tmp_path):
    growth.write(measurements.load([]), "Nothing measured.", tmp_path, tmp_path)
    launch_overhead.write(measurements.load([]), "Nothing measured.", tmp_path)
    assert words((tmp_path / "growth.svg").read_bytes()).count("no measurement") == 2
    for name in ("growth", "launch_overhead"):
        text = (tmp_path / f"{name}.md").read_text()
        assert len(cells(".md", text)) == 1 and "Nothing measured." in text


def overhead(rows):
    return launch_overhead.compare(long_table.cells(rows)).set_index(["column", "dataset"])


def test_launch_bound_and_kernel_bound():
    launches = 2 * (264_346 - 1) + 1
    times = {
        ("bellman_ford/naive", "nyc"): 6.0,
        ("bellman_ford/naive_graph", "nyc"): 1.5,
        ("bellman_ford/stride", "nyc"): 6.0,
        ("bellman_ford/stride_graph", "nyc"): 3.0,
        ("floyd_warshall/tiled", "gnutella04"): 1.0,
        ("floyd_warshall/tiled_graph", "gnutella04"): 1.01,
        ("dijkstra/naive", "gnutella04"): 60.0,
    }
    facts = overhead(rows_of(times))
    assert list(facts.index) == [(key, name) for key, name in times if key in launch_overhead.TWINNED]
    naive = facts.loc["bellman_ford/naive", "nyc"]
    assert (naive.plain_s, naive.graph_s, naive.launches, naive.bound) == (6, 1.5, launches, "launch-bound")
    assert (naive.plain_us, naive.graph_us) == pytest.approx((6e6 / launches, 1.5e6 / launches))
    assert naive.share == pytest.approx(0.75)
    assert facts["bound"].tolist()[1:] == ["kernel-bound", "kernel-bound"]  # one half is not above one half
    assert facts["share"].tolist()[1:] == pytest.approx([0.5, -0.01])


def test_a_missing_twin_is_said_not_guessed(tmp_path):
    rows = rows_of(
        {("floyd_warshall/naive", "gnutella04"): 16.0, ("bellman_ford/naive_graph", "col"): 4.0}, note=STAND_IN
    )
    elsewhere = rows_of({("floyd_warshall/naive_graph", "gnutella04"): 2.0}, device="another card", note=STAND_IN)
    launch_overhead.write(pd.concat([rows, elsewhere]), "From the test.", tmp_path)
    (fact,) = read_csv((tmp_path / "launch_overhead.csv").read_text())
    assert fact["variant"] == "floyd_warshall/naive"
    assert (fact["graph_s"], fact["graph_us"], fact["share"], fact["bound"]) == ("", "", "", "no twin measured")
    text = (tmp_path / "launch_overhead.md").read_text()
    _, row = cells(".md", text)
    assert row == [
        *("Floyd-Warshall Naive", "gnutella04.txt †", "10,876", "16.0", "-", "1471", "-", "-"),
        "no twin measured",
    ]
    assert "col.txt" not in text  # its plain variant was not measured


def test_archive_and_readme_keep_both(tmp_path, monkeypatch):
    monkeypatch.setattr(readme, "rule_graph", lambda: "")
    rows = everything()[list(measurements.COLUMNS)].astype(object).fillna("").astype(str).to_dict("records")
    archive.keep(rows, {}, tmp_path / "card", tolerance=0.05)
    kept = {path.name for path in (tmp_path / "card").iterdir()}
    assert kept >= {"growth.md", "growth.csv", "growth.svg", "growth.png", "launch_overhead.md", "launch_overhead.csv"}
    root = Path(__file__).parents[1]
    shutil.copy(root / "README.md", tmp_path)
    shutil.copytree(root / "docs", tmp_path / "docs")
    readme.main(Namespace(archive=tmp_path / "card", root=tmp_path, config=Path("config.yaml")))
    page = (tmp_path / "docs/results.md").read_text()
    for name in ("growth", "launch_overhead"):
        assert readme.own_part((tmp_path / f"card/{name}.md").read_text()) in page


def test_targets_plan_their_cells(tmp_path):
    twins = {"nyc": {"gpu": ["bellman_ford/naive", "bellman_ford/naive_graph", "edge/sssp"]}}
    project = Project.make(tmp_path, datasets={**PLANNED, "nyc": PLANNED["nyc"] | twins["nyc"]})
    pair = measured("bellman_ford/naive/nyc", "bellman_ford/naive_graph/nyc")
    plan = project.plan("launch_overhead")
    assert {job for job in plan if "Measure" in job} == pair and "Table launch_overhead" in plan
    plan = project.plan("growth")
    assert {job for job in plan if "Measure" in job} == pair | measured("edge/sssp/nyc", "bellman_ford/cpu/nyc")
    assert "Table growth" in plan
    assert {"Table launch_overhead", "Table growth"} <= project.plan("launch_overhead", "growth")


PLANNED = {
    "nyc": {
        **{"sources": ["workflow/samples/sample3.txt"], "format": "text", "vertices": 13, "arcs": 32},
        **{"gpu": [], "cpu": ["bellman_ford"]},
    },
    "sample1": {
        **{"format": "random", "vertices": 5, "arcs": 20, "weights": {"min": 1, "max": 9, "seed": 1}},
        **{"simulate": True, "gpu": ["bellman_ford/naive"]},
    },
}


def test_in_the_simulator_the_archive_is_drawn(tmp_path):
    project = Project.make(tmp_path, stub=False, mode="auto")
    everything().to_csv(tmp_path / "results/archive/h200/timings.csv", index=False, columns=list(measurements.COLUMNS))
    said = project.snakemake("launch_overhead", "growth", environment=SIMULATOR)
    assert "Measure" not in said
    for name in ("launch_overhead", "growth"):
        text = (tmp_path / f"results/{name}.md").read_text()
        assert "From the archive h200; nothing was measured here." in text and "On test card: " in text
    assert "Floyd-Warshall Tiled: 1.70" in " ".join(words((tmp_path / "figures/growth.svg").read_bytes()))
    assert "Nothing to be done" in project.snakemake("launch_overhead", "growth", environment=SIMULATOR)
