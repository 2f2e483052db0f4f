"""Sweeps measure each setting as a cell is measured, and their figures show that and nothing else."""

import csv
import dataclasses
import functools
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text

from kernels.errors import InputError
from kernels.graph import Graph
from kernels.registry import VARIANTS
from kernels.run import Run
from tests.support.graphs import graph_of
from tests.support.pictures import legible, words
from tests.support.project import SIMULATOR, Project, data
from tests.support.rows import CONFIG
from tests.support.views import configured, draw
from workflow.measure import measure, sweeps
from workflow.measure.provenance import StepContext
from workflow.plan.protocol import Protocol
from workflow.publish import archive
from workflow.store import columns, measurements
from workflow.views import plots
from workflow.views.extensions import draw_sweep
from workflow.views.extensions.draw_sweep import DRAW

ROOT = Path(__file__).parents[3]
FILES = ROOT / "tests" / "data"
DELTA, STRIDE = "delta_sweep", "stride_sweep"
# By a measurement that ran, of a variant that says nothing of a layout.
NOT_SAID = {*columns.LAYOUT, "batch", "customize_s", "limit_s", "needed_bytes"}
NAMED = ("launch_overhead", "growth", "peak_table")


def kept(sweep):
    """The rows of the test's data."""
    return measurements.load_sweep(sweep, [FILES / f"{sweep}.csv"])


def rewrite(path, sweep, change):
    """A copy of a sweep's test data at path, with change(row) applied to each row."""
    with open(FILES / f"{sweep}.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        change(row)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def launched(monkeypatch):
    """Counts launches by (blocks, threads), but those made once: predecessors, and all on the two vertices at first."""
    seen = Counter()
    launch = Run.launch

    def counted(run, *launches, times=1):
        if times > 1:
            seen.update((blocks, threads) for _, blocks, threads, *_ in launches for _ in range(times))
        launch(run, *launches, times=times)

    monkeypatch.setattr(Run, "launch", counted)
    return seen


def simulate(sweep, graph, **options):
    protocol = Protocol(warmup_launches=0, block=4)
    return list(sweeps.sweep_rows(sweep, graph, options | {"repeats": 2}, protocol, StepContext(commit="abc")))


@pytest.mark.simulator
def test_delta_sweep_in_the_simulator():
    rows = simulate(DELTA, graph_of(2), deltas=[20, 3])
    assert [(row["delta"], row["default_delta"]) for row in rows] == [(3, 16), (16, 16), (20, 16)]
    for row in rows:
        assert (row["algorithm"], row["variant"], row["problem"]) == ("delta_stepping", "block_apsp", "apsp")
        assert (row["status"], row["round"], row["rows_checked"], row["launches"]) == ("simulated", 1, 2, 2)
        assert (row["dataset"], row["commit"], row["substitute"]) == ("path", "abc", "made up")
        assert {*columns.COLUMNS, *columns.SWEEPS[DELTA]} - set(row) == NOT_SAID


@pytest.mark.simulator
def test_stride_sweep_in_the_simulator_launches_what_it_says(launched):
    rows = simulate(STRIDE, graph_of(13), threads=[2, 4], shares=[0.5, 1])
    shapes = [(row["blocks"], row["threads"]) for row in rows]
    assert [row["variant"] for row in rows] == ["stride"] * 4 + ["stride_flag"] * 4
    assert shapes == 2 * [(3, 2), (7, 2), (2, 4), (4, 4)]
    assert {(row["status"], row["launches"], row["rows_checked"]) for row in rows} == {("simulated", 25, 1)}
    assert {*columns.COLUMNS, *columns.SWEEPS[STRIDE]} - set(rows[0]) == NOT_SAID
    assert launched == dict.fromkeys(shapes, 2 * 2 * 12)  # by two variants, two kernels an iteration


def test_the_papers_own_shape_is_among_them():
    """Half the blocks at 1,024 threads is what the variants choose by themselves, at least one."""
    for vertices, blocks in ((264_346, 129), (900, 1)):
        graph = Graph(np.zeros(vertices + 1, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int32))
        points = list(sweeps.stride_points(graph, {"threads": [1024], "shares": [0.5]}))
        assert [point.variant.name for point in points] == ["stride", "stride_flag"]
        assert {point.columns["blocks"] for point in points} == {point.protocol["grid"] for point in points} == {blocks}


def test_rows_are_written_at_the_end_or_not_at_all(monkeypatch, as_with_gpu, tmp_path):
    """With a CPU variant, as if it were the sweep's."""

    @functools.wraps(VARIANTS["bellman_ford/cpu"].function)
    def wrong(graph, result, run):
        right.function(graph, result, run)
        result.distances[-1] += 1

    @functools.wraps(VARIANTS["bellman_ford/cpu"].function)
    def in_milliseconds(graph, result, run):
        right.function(graph, result, run)
        run.phases["kernels"] *= 1000

    out, right = tmp_path / "sweep.csv", VARIANTS["bellman_ford/cpu"]
    graph_of(3).save(tmp_path / "path.npz")
    args = tmp_path / "path.npz", {"repeats": 2}, {}, out, measure.StepContext(commit="abc")
    variants = [right, right]

    def points(graph, options):
        return (
            sweeps.Point(variant, {"source": source}, {"delta": source + 1, "default_delta": 1})
            for source, variant in enumerate(variants)
        )

    monkeypatch.setitem(sweeps.POINTS, DELTA, points)
    sweeps.measure_sweep(DELTA, *args)
    rows = measurements.load_sweep(DELTA, [out])
    assert rows[["delta", "source", "round"]].to_numpy().tolist() == [[1, 0, 1], [2, 1, 1], [1, 0, 2], [2, 1, 2]]
    assert set(rows["status"]) == {"ok"} and set(rows["substitute"]) == {"made up"}

    before = out.read_bytes()
    variants[1] = dataclasses.replace(right, function=in_milliseconds)
    with pytest.raises(InputError, match=r"sweep\.csv, line 4 .*kernels_s"):
        sweeps.measure_sweep(DELTA, *args)
    variants[1] = dataclasses.replace(right, function=wrong)
    with pytest.raises(InputError, match=r"sweep\.csv: wrong result"):
        sweeps.measure_sweep(DELTA, *args)
    assert out.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"sweep.csv", "path.npz"}


@pytest.mark.parametrize("columns", [(), columns.SWEEPS[STRIDE]])
def test_a_sweep_is_no_cell_and_no_other_sweep(columns):
    with pytest.raises(InputError, match="first line"):
        measurements.load([FILES / "delta_sweep.csv"], columns)


def drawn(sweep, rows):
    """The figure with its layout done."""
    with plots.styled():
        figure = draw_sweep.picture(sweep, rows, "From the test.")
        figure.draw_without_rendering()
    return figure


def test_delta_figure():
    (axes,) = drawn(DELTA, kept(DELTA)).axes
    whole, kernels = (container.lines[0] for container in axes.containers)
    assert whole.get_xdata().tolist() == kernels.get_xdata().tolist() == [1, 28, 100]
    np.testing.assert_allclose(whole.get_ydata().astype(float), [0.7, 0.25, 0.23])
    np.testing.assert_allclose(kernels.get_ydata().astype(float), [0.5, 0.05, 0.03])
    ends = [segment[:, 1] for segment in axes.containers[1].lines[2][0].get_segments()]
    np.testing.assert_allclose(ends, [[0.4, 0.9], [0.04, 0.06], [0.025, 0.031]])
    default = axes.lines[-1]
    assert (default.get_label(), list(default.get_xdata())) == ("default Δ = 28", [28, 28])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "28", "100"]


def test_stride_figure():
    *panels, _ = drawn(STRIDE, kept(STRIDE)).axes
    assert [axes.get_title(loc="left") for axes in panels] == ["Stride", "Stride with Flag"]
    texts = [[text.get_text() for text in axes.texts] for axes in panels]
    assert texts == [
        ["9.10 s\n258 blocks", "7.20 s\n516 blocks", "5.25 s\n64 blocks", "6.10 s\n129 blocks"],
        ["8.40 s\n258 blocks", "6.80 s\n516 blocks", "no memory\n64 blocks", "4.50 s\n129 blocks"],
    ]
    assert [label.get_text() for label in panels[0].get_yticklabels()] == ["256", "1,024"]
    for axes in panels:
        assert [label.get_text() for label in axes.get_xticklabels()] == ["1/4", "1/2"]
        (frame,) = axes.patches
        x, y = frame.get_x() + frame.get_width() / 2, frame.get_y() + frame.get_height() / 2
        assert (x, y) == pytest.approx((1, 1))  # 1,024 threads, half the blocks
        assert axes.images[0].get_clim() == (4.5, 9.1)


@pytest.mark.parametrize("sweep", DRAW)
def test_what_a_figure_says(sweep, tmp_path):
    path = rewrite(tmp_path / "sweep.csv", sweep, lambda row: row.update(substitute="made_by_hand"))
    draw(f"draw_{sweep}", None, tmp_path, formats=["svg"], files={sweep: [path]})
    said = words((tmp_path / f"{sweep}.svg").read_bytes())
    what, titles = {
        "delta_sweep": (
            "Delta-Stepping on gnutella04 †: median and range of n = 3 repeats",
            {"Delta-Stepping on gnutella04 †"},
        ),
        "stride_sweep": ("Bellman-Ford on nyc †: one repeat (n = 1)", {"Stride", "Stride with Flag"}),
    }[sweep]
    assert said[-2:] == [f"{what}, test card; † substitute. From the test.", "Measured at commit 0123456."]
    assert titles <= set(said)


@pytest.mark.parametrize("sweep", DRAW)
@pytest.mark.parametrize("measured", [True, False])
def test_no_text_lies_on_other_text(sweep, measured):
    figure = drawn(sweep, kept(sweep) if measured else measurements.load_sweep(sweep, []))
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    assert ("no measurement" in {text.get_text() for text in texts}) != measured
    legible(figure)


def test_archive_keeps_and_draws_a_sweep(tmp_path, only_views):
    only_views(*(f"draw_{name}" for name in DRAW))
    results = tmp_path / "results"
    results.mkdir()
    shutil.copy(FILES / "delta_sweep.csv", results)
    archive.archive(results, configured())
    found = {str(path.relative_to(results / "archive")) for path in (results / "archive").rglob("*") if path.is_file()}
    assert found == {"test-card/delta_sweep.csv"}  # drawn beside measurements of cells
    assert (results / "archive/test-card/delta_sweep.csv").read_bytes() == (FILES / "delta_sweep.csv").read_bytes()
    archive.draw_archive(results / "archive/test-card", configured())
    drawn = results / "archive/test-card"
    assert (drawn / "delta_sweep.png").exists() and not (drawn / "stride_sweep.png").exists()


def test_targets_plan_the_sweep_and_no_more_and_in_the_simulator_end_before_any_job(tmp_path):
    datasets = {"delta": {"dataset": "gnutella04"}, "stride": {"dataset": "nyc"}}
    project = Project.make(tmp_path, sweeps=datasets)
    before = project.files()
    for target, dataset in (("delta_sweep", "gnutella04"), ("stride_sweep", "nyc")):
        assert project.plan(target) == data(dataset) | {f"Measure {target} on {dataset}", f"Figure {target}"}
        said = project.snakemake(target, code=1, environment=SIMULATOR)
        assert target in said and "Job " not in said
    assert project.files() == before


def test_a_dataset_measured_only_by_name_is_joined_only_if_its_file_exists(tmp_path):
    drawn = {"format": "random", "vertices": 9, "arcs": 24, "weights": {"min": 1, "max": 9, "seed": 1}}
    drawn |= {"directed": False, "generate": {"kind": "grid", "seed": 1}, "gpu": ["delta_stepping/near_far"]}
    datasets = {"drawn": drawn, "large": {**drawn, "by_name": True}}
    project = Project.make(tmp_path, datasets=datasets, sweeps={"sources": {"datasets": ["drawn", "large"]}})
    assert project.plan("sources") == {"Pack drawn", "Measure sources on drawn"}
    assert "Pack large" not in project.plan("table6")
    assert project.plan("results/sources/large.csv") == {"Pack large", "Measure sources on large"}
    (file := project.folder / "results/sources/large.csv").parent.mkdir(parents=True)
    file.touch()
    assert "Measure sources on large" in project.plan("sources", "-F")


@pytest.mark.ci
def test_in_the_simulator_the_extensions_draw_the_archive(tmp_path):
    project = Project.make(tmp_path, datasets=CONFIG["datasets"], stub=False, mode="auto")
    shutil.rmtree(tmp_path / "results/archive/h200/many_sources", ignore_errors=True)  # other tests are of these
    shutil.rmtree(tmp_path / "results/archive/h200/all_pairs", ignore_errors=True)
    shutil.copy(FILES / "delta_sweep.csv", tmp_path / "results/archive/h200")
    tables = {"Table 6", "Table 7", *(f"Table {name}" for name in NAMED)}
    plan = {*tables, "Figure 8", *(f"Figure {name}" for name in DRAW)}
    assert project.plan("extensions", environment=SIMULATOR) == plan
    (tmp_path / "results/archive/h200/stride_sweep.csv").unlink(missing_ok=True)
    project.snakemake("extensions", environment=SIMULATOR)
    said = {
        path: " ".join(words(content)) for path, content in project.files("figures").items() if path.endswith("svg")
    }
    archived = "From the archive h200, not measured here."
    assert archived in said["figures/delta_sweep.svg"] and "default Δ = 28" in said["figures/delta_sweep.svg"]
    assert archived in said["figures/stride_sweep.svg"] and "no measurement" in said["figures/stride_sweep.svg"]
    assert archived in said["figures/figure8.svg"]
    assert archived in (tmp_path / "results/table6.md").read_text()
    assert not (tmp_path / "results/cells").exists() and not (tmp_path / "results/delta_sweep.csv").exists()
    assert "Nothing to be done" in project.snakemake("extensions", environment=SIMULATOR)
