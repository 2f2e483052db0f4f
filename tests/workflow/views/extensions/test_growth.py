"""Exponents and launch-bound cells follow from the measurements, and what is missing is said."""

import numpy as np
import pandas as pd
import pytest
import yaml

from kernels.registry import VARIANTS
from tests.support import published
from tests.support.cells import cells, read_csv
from tests.support.pictures import legible, words
from tests.support.project import SIMULATOR, Project, in_batch, measured
from tests.support.rows import DATASETS as SHOWN
from tests.support.rows import ROOT, SUBSTITUTE, in_batches, rows_of
from tests.support.views import draw
from workflow.store import measurements, tables
from workflow.views import long_table, plots, series
from workflow.views.extensions import growth, launch_overhead

ROADS, GNUTELLAS = ["nyc", "bay", "col", "fla", "ne", "e"], ["gnutella04", "gnutella25", "gnutella30"]
DATASETS = {"sssp": ROADS, "apsp": GNUTELLAS}
FAMILIES = ("grid", "rmat", "uniform")


def power(key, datasets, factor, v, e=0):
    """Times of factor |V|^v |E|^e."""
    sizes = measurements.paper_datasets().astype({"vertices": float, "arcs": float})
    return {(key, name): factor * sizes.vertices[name] ** v * sizes.arcs[name] ** e for name in datasets}


def everything():
    """Every variant on every dataset of its problem, the roads substitutes, each a factor 1.3 apart."""
    times = {}
    for i, (key, variant) in enumerate(VARIANTS.items()):
        times |= power(key, DATASETS[variant.problem], 1e-9 * 1.3**i, 1.7)
    rows = rows_of(times)
    return rows.assign(substitute=rows["problem"].map({"sssp": SUBSTITUTE, "apsp": ""}))


def fitted(rows):
    return growth.fits(growth.growth_cells(rows, SHOWN)).set_index("column")


def test_a_known_exponent_is_given_back():
    times = power("edge/sssp", ROADS, 1e-11, 3) | power("floyd_warshall/tiled", GNUTELLAS, 1e-11, 3)
    times |= power("bellman_ford/naive", ROADS, 1e-12, 1, 1)
    times |= power("bellman_ford/cpu", ROADS[:5], 1e-9, 1.25)
    facts = fitted(rows_of(times))
    edge, tiled, naive, cpu = (facts.loc[key] for key in dict.fromkeys(key for key, _ in times))
    assert edge.vertices_exponent == pytest.approx(3)
    assert (edge.vertices_low, edge.vertices_high, edge.vertices_r2) == pytest.approx((3, 3, 1), abs=1e-5)
    assert (tiled.term, tiled.slope, tiled.sizes) == ("V³", 3, 3)
    assert (naive.term, naive.slope, naive.term_exponent) == ("V E", 2, pytest.approx(1))
    assert naive.vertices_exponent == pytest.approx(2, abs=0.05) and naive.vertices_stderr > 1e-4
    assert cpu.vertices_exponent == pytest.approx(1.25)
    assert (cpu.sizes, cpu.datasets) == (5, ROADS[:5])


def test_an_exponent_of_theorys_term_is_one_where_the_time_is_proportional_to_it():
    graphs = pd.DataFrame({"vertices": [10.0, 20, 40, 80, 160], "arcs": [30.0, 10, 70, 20, 90]})
    fit = growth.fit(growth.MATRIX.values(graphs), 7 * graphs["vertices"] ** 3)
    assert (fit["exponent"], np.exp(fit["intercept"])) == pytest.approx((1, 7))
    bound = growth.bound_of("dijkstra/block_apsp")
    assert bound.term == "V² E"
    np.testing.assert_allclose(bound.values(graphs), graphs["vertices"] ** 2 * graphs["arcs"])
    assert all(growth.bound_of(key) for key, _ in measurements.paper_times().index)


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
    times = power("bellman_ford/cpu", ROADS[:4], 1e-9, 2) | power("bellman_ford/naive", ROADS[:5], 1e-9, 3)
    draw("growth", rows_of(times), tmp_path, formats=())
    _, cpu, naive = cells(".md", (tmp_path / "growth.md").read_text())
    assert cpu[0] == "Bellman-Ford CPU" and cpu[2] == "4" and "no exponent" in cpu[3]
    assert "-" == cpu[-1] == cpu[-2]
    assert naive[0] == "Bellman-Ford Naive" and "no fit" not in " ".join(naive)
    cpu, naive = read_csv((tmp_path / "growth.csv").read_text())
    assert float(naive["vertices_exponent"]) == pytest.approx(3) and cpu["vertices_exponent"] == ""


def test_untimed_rows_and_graphs_of_no_table_of_the_papers_are_left_out():
    rows = rows_of(power("bellman_ford/naive", ROADS[:5], 1e-11, 2))
    rows.loc[rows["dataset"] == "ne", ["status", "kernels_s"]] = "no_memory", np.nan
    sample = rows[rows["dataset"] == "nyc"].assign(dataset="sample1", vertices=6)
    only_6 = rows[rows["dataset"] == "nyc"].assign(dataset="only_6")
    shown = SHOWN | {"only_6": SHOWN["nyc"] | {"tables": {"sssp": ["table6"]}}}
    (fit,) = growth.fits(growth.growth_cells(pd.concat([rows, sample, only_6]), shown)).itertuples()
    assert (fit.datasets, fit.sizes) == (ROADS[:4], 4) and np.isnan(fit.vertices_exponent)


def on_families(factors=None):
    """near_far on all sizes of each family, as V^1.5, V^1 and V^1.2, SciPy's as V^1, and near_far on the roads as V^3.

    factors: by dataset, what near_far's time there is multiplied by.
    """
    powers = {"grid": 1.5, "rmat": 1.0, "uniform": 1.2}
    parts = [rows_of(power("delta_stepping/near_far", ROADS, 1e-18, 3))]
    for name, entry in SHOWN.items():
        if (family := entry.get("family")) in powers and name not in ("rmat22", "rmat24", "rmat25"):
            graph = {"vertices": entry["vertices"], "arcs": entry["arcs"], "dataset_sha256": f"{len(parts):064x}"}
            for key, exponent in (("delta_stepping/near_far", powers[family]), ("dijkstra/scipy", 1.0)):
                times = 1e-9 * entry["vertices"] ** exponent * (factors or {}).get(name, 1)
                parts.append(rows_of({(key, "nyc"): times}).assign(dataset=name, **graph))
    return pd.concat(parts, ignore_index=True)


def test_each_family_has_a_fit_of_its_own():
    facts = growth.fits(growth.growth_cells(on_families(), SHOWN))
    assert list(facts["group"]) == ["one source", *(f"one source, {family}" for family in FAMILIES for _ in range(2))]
    near_far = facts[facts["column"] == "delta_stepping/near_far"]
    assert list(near_far["vertices_exponent"]) == pytest.approx([3, 1.5, 1, 1.2])
    assert list(near_far["datasets"]) == [
        ROADS,
        ["grid250", "grid500", "grid1000", "grid2000", "grid4000"],
        *([f"{family}{scale}" for scale in (14, 16, 18, 20, 21)] for family in ("rmat", "uniform")),
    ]


def test_families_have_rows_and_panels_of_their_own(tmp_path):
    rows = on_families({"rmat21": 2})
    draw("growth", rows, tmp_path, formats=())
    text = (tmp_path / "growth.md").read_text()
    _, *body = cells(".md", text)
    assert [line[1] for line in body[::2]] == ["one source", *(f"one source, {family}" for family in FAMILIES)]
    assert (
        f"- grid, rmat, uniform: {growth.OF_FAMILIES}\n" in text
        and "group" not in (tmp_path / "growth.csv").read_text()
    )
    figure = drawn(rows)
    legible(figure)
    assert titles(figure) == list(growth.PANELS)
    roads, families = ([text.get_text() for text in axes.texts] for axes in figure.axes)
    assert sum("theory" in name for name in roads) == 2 and len(roads) == 3
    names = [f"{title}, {family}" for family in FAMILIES for title in ("Near-Far", "SciPy")]
    assert sorted(name.split(":")[0] for name in families) == sorted(names)


def titles(figure):
    return [axes.get_title(loc="left").removeprefix("Shortest paths from one source: ") for axes in figure.axes]


def test_a_family_of_too_few_sizes_has_no_line_and_what_is_not_there_no_row(tmp_path):
    rows = on_families()
    rows = rows[~rows["dataset"].str.contains("uniform|rmat18")]
    draw("growth", rows, tmp_path, formats=())
    text = (tmp_path / "growth.md").read_text()
    assert "one source, uniform" not in text and text.count("no exponent") == 2
    names = [text.get_text() for text in drawn(rows).axes[1].texts]
    assert sorted(name.split(":")[0] for name in names) == ["Near-Far, grid", "SciPy, grid"]
    draw("growth", rows[rows["dataset"].isin(ROADS)], tmp_path, formats=())
    assert "grid" not in (tmp_path / "growth.md").read_text()


def test_larger_sizes_and_other_kinds_join_where_they_were_measured(tmp_path):
    rows = on_families()
    more = [rows[rows["dataset"] == "rmat20"].assign(dataset=name) for name in ("rmat22", "geometric20", "pareto1200")]
    rows = pd.concat([rows, *more], ignore_index=True)
    rows.loc[rows["dataset"] == "rmat22", ["vertices", "arcs"]] *= 4
    rows.loc[rows["dataset"] == "rmat22", ["seconds", "kernels_s"]] *= 4
    shown = tables.of_config(yaml.safe_load((ROOT / "config.yaml").read_text()))
    facts = growth.fits(growth.growth_cells(rows, shown)).set_index(["group", "column"])
    rmat, geometric = (facts.loc[f"one source, {name}", "delta_stepping/near_far"] for name in ("rmat", "geometric"))
    assert rmat["datasets"] == ["rmat14", "rmat16", "rmat18", "rmat20", "rmat21", "rmat22"]
    assert rmat["vertices_exponent"] == pytest.approx(1)
    assert geometric["datasets"] == ["geometric20"] and np.isnan(geometric["vertices_exponent"])
    assert "pareto1200" not in facts["datasets"].sum()
    draw("growth", rows, tmp_path, formats=(), datasets=shown)
    assert f"- grid, rmat, uniform, geometric: {growth.OF_FAMILIES}\n" in (tmp_path / "growth.md").read_text()


def test_cards_are_not_mixed():
    times = power("edge/sssp", ROADS[:3], 1e-9, 2), power("edge/sssp", ROADS[3:], 1e-9, 2)
    both = pd.concat([rows_of(times[0], "card A"), rows_of(times[1], "card B")])
    facts = growth.fits(growth.growth_cells(both, SHOWN))
    assert list(facts["sizes"]) == [3, 3] and facts["vertices_exponent"].isna().all()
    assert long_table.names(facts) == ["Edge (sssp) on card A", "Edge (sssp) on card B"]


def test_the_median_of_batches_is_fitted_and_said(tmp_path):
    times = power("bellman_ford/naive", ROADS, 1e-11, 1.5)
    rows = in_batches(rows_of(times), factors=[{"bellman_ford/naive": factor} for factor in (1, 2, 9)])
    (fit,) = fitted(rows).itertuples()
    assert np.exp(fit.vertices_intercept) == pytest.approx(2e-11)
    both = pd.concat([rows, rows_of(times)], ignore_index=True)
    draw("growth", both, tmp_path, formats=["svg"], source="From the test.")
    assert words((tmp_path / "growth.svg").read_bytes())[-1] == "Median of n = 3 batches, test card. From the test."


def test_theory_names_each_plain_variant_once():
    times = power("bellman_ford/naive", ROADS, 1e-9, 2) | power("bellman_ford/naive_graph", ROADS, 1e-9, 2)
    times |= power("bellman_ford/stride_graph", ROADS, 1e-9, 2) | power("dijkstra/scipy", ROADS, 1e-9, 2)
    (sentence,) = growth.theory(growth.fits(growth.growth_cells(rows_of(times), SHOWN)))
    assert sentence.startswith("O(V E), V - 1 iterations")
    assert sentence.endswith(": Bellman-Ford Naive, Bellman-Ford Stride.")


def drawn(rows):
    """The figure with its layout done."""
    cells = growth.growth_cells(rows, SHOWN)
    with plots.styled():
        figure = growth.draw_growth(
            growth.fits(cells), cells, measurements.substitutes(rows), series.caption(rows, "From the test.")
        )
        figure.draw_without_rendering()
    return figure


def test_the_figure_shows_points_and_fits():
    times = power("bellman_ford/naive", ROADS, 1e-11, 1.5) | power("edge/sssp", ROADS[:4], 1e-8, 1)
    times |= power("bellman_ford/naive_graph", ROADS, 1e-12, 1.5)
    figure = drawn(rows_of(times))
    assert titles(figure) == ["Road networks"]
    (one,) = figure.axes
    assert (one.get_xscale(), one.get_yscale(), one.get_ylabel()) == ("log", "log", "Time of the kernels (ms)")
    lines = {line.get_label(): line for line in one.lines}
    points = lines["Naive: 1.50 [1.50, 1.50]"]
    np.testing.assert_allclose(points.get_ydata(), [1000 * times["bellman_ford/naive", name] for name in ROADS])
    assert points.get_xdata().tolist() == [264346, 321270, 435666, 1070376, 1524453, 3598623]
    (fit,) = (line for line in one.lines if line.get_color() == points.get_color() and line is not points)
    np.testing.assert_allclose(fit.get_ydata(), points.get_ydata()[[0, 5]])
    guide, _ = (line for line in one.lines if line not in (points, fit))  # of slopes 2 and 1; no Edge, no CUDA graphs
    x, y = np.log(guide.get_xdata()), np.log(guide.get_ydata())
    assert (y[1] - y[0]) / (x[1] - x[0]) == pytest.approx(2)
    assert {text.get_text() for text in one.texts} == {
        *("Naive: 1.50 [1.50, 1.50]", "theory, O(V E): 2", "theory, launches: 1")
    }


def test_series_that_coincide_are_told_apart():
    """Each plain variant has a colour of its own, and marks of one time stand apart."""
    keys = [key for key, variant in VARIANTS.items() if variant.problem == "sssp" and key in published.VARIANTS]
    rows = rows_of({cell: seconds for key in keys for cell, seconds in power(key, ROADS, 1e-11, 1.5).items()})
    axes, *_ = drawn(rows).axes
    marks = [line for line in axes.lines if line.get_linestyle() == "None"]
    plain = {VARIANTS[key].plain for key in keys}
    assert len({line.get_color() for line in marks}) == len(marks) == len(plain)
    places = sorted(line.get_transform().transform(line.get_xydata())[0, 0] for line in marks)
    assert np.diff(places).min() > 1
    assert axes.get_ylim()[0] < min(marks[0].get_ydata()) and max(marks[0].get_ydata()) < axes.get_ylim()[1]


def test_a_panel_says_if_there_is_no_fit():
    (axes,) = drawn(rows_of(power("bellman_ford/naive", ROADS[:4], 1e-11, 1.5))).axes
    assert [text.get_text() for text in axes.texts] == ["no fit"]


def test_no_text_lies_on_other_text():
    some = everything().query("dataset in ['nyc', 'bay', 'col', 'gnutella04']")
    for figure in (drawn(everything()), drawn(some), drawn(some[:0])):
        legible(figure)


def test_labels_of_graphs_of_nearly_one_size_stand_on_two_lines():
    rows = rows_of(power("bellman_ford/naive", ROADS, 1e-11, 1.5) | power("dijkstra/scipy", ROADS, 1e-9, 1))
    rows["vertices"] = rows["vertices"].mask(rows["dataset"] == "bay", 270_000)
    figure = drawn(rows)
    legible(figure)
    nyc, bay, col, *_ = (label.get_window_extent().y1 for label in figure.axes[0].get_xticklabels())
    assert bay < nyc == col


def test_what_the_files_say(tmp_path):
    paired = sum(len(DATASETS[VARIANTS[key].problem]) for key in VARIANTS if f"{key}_graph" in VARIANTS)
    roads = ", ".join(f"{name}.txt" for name in ROADS)
    for name, lines in (("growth", len(VARIANTS)), ("launch_overhead", paired)):
        draw(name, everything(), tmp_path, formats=["svg"])
        text = (tmp_path / f"{name}.md").read_text()
        assert len(cells(".md", text)) == 1 + lines
        for said in (
            "From the test.",
            "On test card: Bellman-Ford",
            f"† substitute for the paper's {roads}: {SUBSTITUTE}.",
            "Run: commit 0123456789ab; 2026-01-01.",
        ):
            assert said in text
    assert {path.name for path in tmp_path.iterdir()} == {
        *(f"{name}.{end}" for name in ("growth", "launch_overhead") for end in ("csv", "md", "html")),
        "growth.svg",
    }
    caption = words((tmp_path / "growth.svg").read_bytes())[-1]
    assert caption == "Median of n = 2 repeats, test card; † substitute. From the test."


def test_nothing_measured(tmp_path):
    for name in ("growth", "launch_overhead"):
        draw(name, measurements.load([]), tmp_path, formats=["svg"], source="Nothing measured.")
        text = (tmp_path / f"{name}.md").read_text()
        assert len(cells(".md", text)) == 1 and "Nothing measured." in text
    assert words((tmp_path / "growth.svg").read_bytes()).count("no fit") == 1


def overhead(rows):
    return launch_overhead.compare(long_table.cells_with_times(rows, SHOWN), rows).set_index(["column", "dataset"])


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
    facts = overhead(in_batches(rows_of(times)))
    assert list(facts.index) == [(key, name) for key, name in times if key in launch_overhead.PLAIN]
    naive = facts.loc["bellman_ford/naive", "nyc"]
    assert (naive.plain_s, naive.graph_s, naive.launches, naive.bound) == (6, 1.5, launches, "launch-bound")
    assert (naive.plain_us, naive.graph_us) == pytest.approx((6e6 / launches, 1.5e6 / launches))
    assert naive.share == pytest.approx(0.75)
    assert facts["bound"].tolist()[1:] == ["inconclusive", "kernel-bound"]  # one half is not above one half
    assert facts["share"].tolist()[1:] == pytest.approx([0.5, -0.01])
    assert facts["batches"].tolist() == [3, 3, 3]


def test_what_launching_takes_is_a_ratio_within_jobs():
    rows = rows_of({("bellman_ford/naive", "nyc"): 6.0, ("bellman_ford/naive_graph", "nyc"): 1.5})
    (alone,) = overhead(rows).itertuples()
    assert (alone.plain_s, alone.graph_s, alone.batches, alone.bound) == (6, 1.5, 0, launch_overhead.ALONE)
    assert np.isnan(alone.share)
    factors = [{"bellman_ford/naive_graph": factor} for factor in (0.5, 1, 2)]
    (over,) = overhead(in_batches(rows, factors=factors)).itertuples()
    assert (over.share, over.batches, over.bound) == (pytest.approx(0.75), 3, "inconclusive")
    (two,) = overhead(in_batches(rows, "ab")).itertuples()
    assert (two.share, two.bound) == (pytest.approx(0.75), "too few batches")


def test_a_missing_cuda_graph_variant_is_said_not_guessed(tmp_path):
    rows = rows_of(
        {("floyd_warshall/naive", "gnutella04"): 16.0, ("bellman_ford/naive_graph", "col"): 4.0}, substitute=SUBSTITUTE
    )
    graph = {("floyd_warshall/naive_graph", "gnutella04"): 2.0}
    elsewhere = rows_of(graph, device="another card", substitute=SUBSTITUTE)
    draw("launch_overhead", pd.concat([rows, elsewhere]), tmp_path)
    (fact,) = read_csv((tmp_path / "launch_overhead.csv").read_text())
    assert (fact["variant"], fact["bound"]) == ("floyd_warshall/naive", launch_overhead.NOT_MEASURED)
    assert {fact[name] for name in ("graph_s", "graph_us", "share")} == {""}
    text = (tmp_path / "launch_overhead.md").read_text()
    _, row = cells(".md", text)
    said = ["Floyd-Warshall Naive", "gnutella04.txt †", "10,876", "16.0", "-", "1471", "-", "-", "-"]
    assert row == [*said, launch_overhead.NOT_MEASURED]
    assert "col.txt" not in text  # its plain variant was not measured


def test_targets_plan_their_cells(tmp_path):
    project = Project.make(tmp_path, datasets={**PLANNED, "nyc": BOTH})
    plan = project.plan("launch_overhead")
    assert {job for job in plan if "Measure" in job} == in_batch("sssp/nyc") and "Table launch_overhead" in plan
    plan = project.plan("growth")
    assert {job for job in plan if "Measure" in job} == in_batch("sssp/nyc") | measured(
        "edge/sssp/nyc", "bellman_ford/cpu/nyc"
    )
    assert "Table growth" in plan
    assert {"Table launch_overhead", "Table growth"} <= project.plan("launch_overhead", "growth")


@pytest.mark.ci
def test_families_are_planned_by_name_alone_and_shown_where_they_are_there(tmp_path):
    drawn = {
        **{"format": "random", "vertices": 9, "arcs": 24, "directed": False, "generate": {"kind": "grid", "seed": 1}},
        **{"weights": {"min": 1, "max": 9, "seed": 1}, "gpu": ["bellman_ford/naive"]},
        "tables": {"sssp": ["table6"]},
    }
    large = {**drawn, "by_name": True}
    project = Project.make(tmp_path, datasets={**PLANNED, "nyc": BOTH, "drawn": drawn, "large": large})
    job = {"Pack drawn"} | in_batch("sssp/drawn")
    assert project.plan("families") == project.plan("drawn") == job
    assert project.plan("large") == {"Pack large"} | in_batch("sssp/large")
    assert "Convert drawn" in project.plan("resources/graphs/drawn.txt")
    others = ["all", "batch", "extensions", "growth", "table6", "figure8", "bellman_ford", "naive"]
    said = project.snakemake("-n", *others)
    assert "sssp on drawn" not in said and "sssp on large" not in said
    project.snakemake("families")
    taken = "results/batches/one/sssp/drawn/timings.csv"
    views = "growth", "table6", "launch_overhead", "figure8"
    taken_by = {name for name in views if taken in project.snakemake("--filegraph", name)}
    assert taken_by == {"growth", "table6", "figure8"}
    assert "Job " not in project.snakemake("families", code=1, environment=SIMULATOR)


PLANNED = {
    "nyc": {
        **{"sources": ["workflow/samples/sample3.txt"], "format": "text", "vertices": 13, "arcs": 32},
        **{"gpu": [], "cpu": ["bellman_ford"], "tables": {"sssp": ["table1"]}},
    },
    "sample1": {
        **{"format": "random", "vertices": 5, "arcs": 20, "weights": {"min": 1, "max": 9, "seed": 1}},
        **{"simulate": True, "gpu": ["bellman_ford/naive"]},
    },
}
BOTH = PLANNED["nyc"] | {"gpu": ["bellman_ford/naive", "bellman_ford/naive_graph", "edge/sssp"]}
