"""The figures show the measurements, name what is missing, and can be read."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from kernels.registry import VARIANTS
from tests.support import published
from tests.support.pictures import legible, words
from tests.support.rows import DATASETS, frame, in_batches, measurement
from tests.support.views import draw
from workflow.store import all_pairs, measurements, tables
from workflow.views import plots, series
from workflow.views.extensions import all_pairs_figure, draw_sweep, figure8, growth
from workflow.views.paper import figures

ROOT = Path(__file__).parents[3]
TIMINGS = ROOT / "tests" / "data" / "timings.csv"
ARCHIVE = ROOT / "results" / "archive" / "h200"
MEASURED_ROADS = ["(264K,730K)", "(321K,800K)"]  # nyc has other arcs than the paper's there
ROADS = ["(436K,1.1M)", "(1.1M,2.7M)", "(1.5M,3.9M)", "(3.6M,8.8M)"]
GNUTELLAS = ["(11K,40K)", "(23K,55K)", "(37K,88K)"]


@pytest.fixture(scope="module", autouse=True)
def no_more_than_the_papers_series():
    """Figures 5 and 6 without variants of ours: whether the values fit depends on the number of series."""
    with pytest.MonkeyPatch.context() as patch:
        for name in tables.PAPER_FIGURES:
            columns = {key: head for key, head in tables.heads(name).items() if not VARIANTS[key].ours}
            patch.setitem(tables.SHOWN[name], "columns", columns)
        yield


def make(number, out_dir, files=(TIMINGS,), **formats):
    draw(f"figure{number}", measurements.load(files), out_dir, **formats)
    return {path.name: path.read_bytes() for path in sorted(out_dir.iterdir())}


@pytest.fixture(scope="module", params=[5, 6])
def made(request, tmp_path_factory):
    return request.param, make(request.param, tmp_path_factory.mktemp("figures"))


def drawn(number, rows):
    """The figure with its layout done."""
    with plots.styled():
        figure = figures.draw_times(f"figure{number}", DATASETS, rows, "From the test.")
        figure.draw_without_rendering()
    return figure


@cache
def whole(number):
    """The figure of every cell of the paper's tables, which no test changes."""
    return drawn(number, whole_rows())


@cache
def some(number):
    """The figure of some cells, which no test changes."""
    return drawn(number, measurements.load([TIMINGS]))


def whole_rows():
    """Every cell of the paper's tables, twice."""
    times = measurements.paper_times()["seconds"].dropna()
    rows = [
        measurement(key, dataset, repeat, factor * seconds)
        for (key, dataset), seconds in times.items()
        for repeat, factor in ((1, 0.9), (2, 1.1))
    ]
    return frame(rows)


def test_three_formats_and_no_more(made):
    number, files = made
    assert list(files) == [f"figure{number}.pdf", f"figure{number}.png", f"figure{number}.svg"]
    assert files[f"figure{number}.pdf"].startswith(b"%PDF")
    assert files[f"figure{number}.png"].startswith(b"\x89PNG")
    assert min(len(content) for content in files.values()) > 10_000


def test_the_same_bytes_twice_and_matplotlib_as_it_was(made, tmp_path):
    number, files = made
    before, form = dict(matplotlib.rcParams), {5: "pdf", 6: "svg"}[number]
    assert make(number, tmp_path, formats=[form]).items() <= files.items()
    assert dict(matplotlib.rcParams) == before


def test_words_in_the_picture(made):
    number, files = made
    lines = words(files[f"figure{number}.svg"])
    expected = {
        5: [*MEASURED_ROADS, *ROADS, "Naive", "Stride", "Stride with Flag", "nyc †", "bay"],
        6: [*GNUTELLAS, "Super Naive", "Super Naive Shared", "Naive", "Tiled", "Tiled with Shared Memory"],
    }
    title = {5: "Bellman-Ford", 6: "Floyd-Warshall"}[number]
    panels = [f"{title}: {panel}" for panel in ("Speed-up over Naive", "Times, drawn as in the paper")]
    for text in (*expected[number], *panels, "(number of vertices, number of edges)", "Execution time (s)"):
        assert text in lines
    caption = {
        5: "Median and range of n = 1 to 4 repeats, test card; † substitute. From the test.",
        6: "Median and range of n = 1 to 3 repeats, test card. From the test.",
    }
    assert caption[number] in lines and figures.RANGES in lines
    assert ("†" in " ".join(lines)) == (number == 5)


def test_batches_are_drawn_with_their_range_and_said():
    rows = measurements.load([TIMINGS])
    flag = rows["variant"] == "stride_flag"
    several = in_batches(rows[~flag], factors=[{}, {"bellman_ford/naive": 2}, {"bellman_ford/naive": 0.5}])
    both = tables.select("figure5", {"sssp": ["nyc", "bay"]}, pd.concat([several, rows], ignore_index=True))
    naive = series.series_cells("figure5", {"sssp": ["nyc", "bay"]}, both).loc["Naive", "bay"]
    assert (naive["median"], naive["min"], naive["max"], naive["batches"]) == (13, 6.5, 26, 3)
    said = series.caption(both, "From the test.")
    assert "n = 3 batches or 2 runs, test card" in said


def test_cells_without_a_time_are_named(made):
    number, files = made
    said = " ".join(words(files[f"figure{number}.svg"]))
    if number == 5:
        assert "nyc † no measurement: Stride with Flag" in said
        assert "bay >90 s: Stride" in said
        assert "col no measurement" in said
    else:
        assert "gnutella25 no measurement" in said
        assert (
            "gnutella30 no measurement: Naive, Super Naive Shared, Tiled with Shared Memory no memory: Super Naive"
            in said
        )


def heights_of_bars(axes):
    """By head in Figure 5, the heights on its six datasets."""
    heads = series.heads("figure5")
    return dict(zip(heads, np.reshape([bar.get_height() for bar in axes.patches], (len(heads), 6)), strict=True))


def test_bars_are_the_medians():
    _, ours, both = some(5).axes
    heights, none = heights_of_bars(ours), [np.nan] * 4
    assert list(heights)[:3] == ["Naive", "Stride", "Stride with Flag"]
    np.testing.assert_allclose(heights["Naive"], [6.1, 13.0, *none])
    np.testing.assert_allclose(heights["Stride"], [8.0, np.nan, *none])
    np.testing.assert_allclose(heights["Stride with Flag"], [np.nan, 4.5, *none])
    assert {text.get_text() for text in ours.texts} == {"6.10", "13.0", "8.00", "4.50"}
    assert (ours.get_yscale(), both.get_yscale()) == ("linear", "log")


def marks_of(axes):
    """The heights of a panel's marks, by colour and whether they are hollow, with those of their whiskers."""
    marks = {}
    for line in axes.lines:
        if line.get_marker() not in ("None", "_"):
            marks[line.get_color(), line.get_markerfacecolor() == "white"] = line.get_ydata()
    return marks


def test_the_papers_times_stand_beside_ours():
    _, ours, both = some(6).axes
    assert [bar.get_height() for bar in ours.patches[:3]] == pytest.approx([8.1, np.nan, np.nan], nan_ok=True)
    naive, marks = plots.look_of("floyd_warshall/naive").color, marks_of(both)
    np.testing.assert_allclose(marks[naive, True], [30.1521, 137.369, 703.358])
    np.testing.assert_allclose(marks[naive, False], [8.1, np.nan, np.nan])
    assert not any(line.get_linestyle() == "-" and len(line.get_xdata()) > 2 for line in both.lines)


def test_speed_ups_are_ratios_within_jobs_with_their_interval():
    """Of three batches, in which Stride took 0.8, 1 and 1.25 times as long; what was measured alone has none."""
    batched = in_batches(whole_rows(), factors=[{"bellman_ford/stride": factor} for factor in (0.8, 1, 1.25)])
    stride, flag = (plots.look_of(f"bellman_ford/{name}").color for name in ("stride", "stride_flag"))
    ratios, *_ = drawn(5, batched).axes
    times, marks = measurements.paper_times()["seconds"], marks_of(ratios)
    expected = times["bellman_ford/naive"] / times["bellman_ford/stride"]
    np.testing.assert_allclose(marks[stride, False], expected[["nyc", "bay", "col", "fla", "ne", "e"]])
    np.testing.assert_allclose(marks[stride, True], marks[stride, False])  # the paper's
    assert {color for (color, _), y in marks.items() if not np.isnan(y).all()} == {stride, flag}  # Naive: the line at 1
    (low, *_), (high, *_) = [line.get_ydata() for line in ratios.lines if line.get_color() == stride][2:4]
    assert low < expected["nyc"] / 1.25 and expected["nyc"] / 0.8 < high  # Student's t
    alone, *_ = whole(5).axes
    assert np.isnan(marks_of(alone)[stride, False]).all() and not np.isnan(marks_of(alone)[stride, True]).any()


def test_a_panel_with_short_times_is_in_milliseconds():
    rows = measurements.load([TIMINGS])
    short = (rows["variant"] == "tiled_shared") & (rows["dataset"] == "gnutella04")
    _, ours, both = drawn(6, rows.assign(seconds=rows["seconds"].mask(short, 0.0099))).axes
    assert ours.get_ylabel() == both.get_ylabel() == "Execution time (ms)"
    naive, shared = (plots.look_of(f"floyd_warshall/{name}").color for name in ("naive", "tiled_shared"))
    assert marks_of(both)[shared, False][0] == pytest.approx(9.9)
    np.testing.assert_allclose(marks_of(both)[naive, True], [30152.1, 137369, 703358])
    assert plots.unit([0.01, np.nan]) == plots.unit([np.nan]) == plots.unit([]) == ("s", 1)


def test_a_variant_with_a_new_head_is_a_further_series(monkeypatch):
    """Of two with one head the fastest is drawn."""
    naive = VARIANTS["bellman_ford/naive"]
    for name in ("slow", "fast"):
        new = replace(naive, name=name)
        monkeypatch.setitem(VARIANTS, new.key, new)
        monkeypatch.setitem(tables.SHOWN["figure5"]["columns"], new.key, "New")
    rows = whole_rows()
    mine = rows[(rows["algorithm"] == "bellman_ford") & (rows["variant"] == "naive")]
    more = [mine.assign(variant=name, seconds=mine["seconds"] / part) for name, part in (("slow", 2), ("fast", 4))]
    figure = drawn(5, pd.concat([rows, *more]))
    heights = heights_of_bars(figure.axes[1])
    np.testing.assert_allclose(heights["New"], heights["Naive"] / 4)
    assert [text.get_text() for text in figure.legends[0].get_texts()][-1] == "New"
    legible(figure)


@pytest.mark.parametrize("number", [5, 6])
def test_no_text_lies_on_other_text(number):
    for figure in (some(number), whole(number), drawn(number, measurements.load([]))):
        legible(figure)


def of_growth(rows, source):
    cells = growth.growth_cells(rows, DATASETS)
    return growth.draw_growth(
        growth.fits(cells), cells, measurements.substitutes(rows), series.caption(rows, source, what="median")
    )


def of_sweep(name):
    return lambda _, source: draw_sweep.picture(name, measurements.load_sweep(name, [ARCHIVE / f"{name}.csv"]), source)


CALLS = ARCHIVE / "library_times.csv"
DRAW = {
    "figure5": lambda *args: figures.draw_times("figure5", DATASETS, *args),
    "figure6": lambda *args: figures.draw_times("figure6", DATASETS, *args),
    "figure8": lambda rows, source: figure8.draw_speeds(rows, figure8.one_off([CALLS]), source),
    "figure9": lambda rows, source: figure8.draw_times(DATASETS, rows, source),
    "growth": of_growth,
    **{name: of_sweep(name) for name in draw_sweep.DRAW},
}


@pytest.mark.parametrize("name", DRAW)
def test_the_archives_figures_are_legible_with_their_lines_below(name):
    with plots.styled(figure8.LOOK if name in ("figure8", "figure9") else plots.STYLE):
        figure = DRAW[name](published.archived_rows(ARCHIVE.name), "From the archive h200, not measured here.")
        figure.draw_without_rendering()
        legible(figure)
        (caption,) = [text for text in figure.findobj(Text) if "From the archive" in text.get_text()]
        lines = caption.get_text().count("\n") + 1
        assert caption.get_window_extent().height < 1.6 * lines * caption.get_fontsize() * figure.dpi / 72
    assert "NVIDIA H200" in caption.get_text() and "n = " in caption.get_text()
    if name == "figure8":  # README shows it 880 pixels wide: every number and name is at least 13 pixels high
        texts = [
            text for axes in figure.axes for text in (*axes.texts, *axes.get_xticklabels(), *axes.get_yticklabels())
        ]
        assert min(text.get_fontsize() for text in texts) * 880 / figure.get_figwidth() / 72 >= 13


def test_distances_of_all_pairs_have_a_unit():
    wholes = [all_pairs.read_record(path) for path in sorted(ARCHIVE.glob("all_pairs/*.json"))]
    with plots.styled():
        axes, *_ = all_pairs_figure.picture(wholes, {}, "From the test.").axes
    assert re.fullmatch(r"distance \(.+\)", axes.get_xlabel())


def test_texts_that_touch_are_noticed():
    figure = drawn(5, whole_rows())
    (first, *_), axes = figure.axes[1].texts, figure.axes[1]
    for place in ((0.5, -0.002), (0.1, 1.04)):  # on the axis, on the title
        wrong = axes.text(*place, "wrong", transform=axes.transAxes)
        with pytest.raises(AssertionError, match="wrong"):
            legible(figure)
        wrong.remove()
    first.set_fontsize(6)
    with pytest.raises(AssertionError):
        legible(figure)


def test_names_of_close_points_stand_apart_in_their_order():
    with plots.styled():
        figure = matplotlib.figure.Figure(figsize=(3, 2))
        axes = figure.subplots()
        y = [1.5, 1.51, 1.49, 2.5]
        axes.plot(np.zeros(4), y, "o")
        axes.set(xlim=(-0.1, 1), ylim=(0, 3))
        names = [plots.Name(text, "red", 0, height) for text, height in zip(("b", "c", "a", "far"), y, strict=True)]
        plots.write_names(axes, names, x=0.5, ha="left")
        figure.draw_without_rendering()
        legible(figure)
    places = {text.get_text(): text.xyann[1] for text in axes.texts}
    assert places["a"] < places["b"] < places["c"] < places["far"] == pytest.approx(2.5)
    assert np.mean([places[name] for name in "abc"]) == pytest.approx(1.5)


def test_nothing_measured(tmp_path):
    for number in (5, 6):
        said = words(make(number, tmp_path / str(number), files=(), formats=["svg"])[f"figure{number}.svg"])
        groups = {5: ["(264K,734K)", "(321K,800K)", *ROADS], 6: GNUTELLAS}[number]
        assert said.count("no measurement") == 3 * len(groups) + 1  # once in the middle; the others have the paper's
        assert all(said.count(group) == 3 for group in groups)
        assert "From the test." in said


def test_counts_are_rounded():
    counts = {264346: "264K", 1500: "2K", 999499: "999K", 999999: "1.0M", 1057066: "1.1M", 2712798: "2.7M"}
    counts |= {3598623: "3.6M", 3868020: "3.9M", 999: "999"}
    assert {count: plots.short(count) for count in counts} == counts


def test_values_have_three_digits():
    texts = {0.0120: "0.0120", 5.52: "5.52", 284.6: "285", 999.6: "1,000", 22328: "22,300", np.nan: ""}
    assert {number: plots.digits(number) for number in texts} == texts
