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
        for name in figures.PANELS:
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
def some(number):
    """The figure of some cells, which no test changes."""
    return drawn(number, measurements.load([TIMINGS]))


def whole():
    """Every cell of the paper's tables, twice: whole figures."""
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
        5: [*MEASURED_ROADS, *ROADS, "Bellman-Ford", "Naive", "Stride", "Stride with Flag", "nyc †", "bay"],
        6: [*GNUTELLAS, "Floyd-Warshall", "Super Naive", "Super Naive Shared", "Naive", "Tiled", "Tiled Shared"],
    }
    for text in (*expected[number], "(number of vertices, number of edges)", "Execution time (s)", "Paper", "Measured"):
        assert text in lines
    caption = {
        5: "Median and range of n = 1 to 4 repeats, test card; † substitute. From the test.",
        6: "Median and range of n = 1 to 3 repeats, test card. From the test.",
    }
    assert lines[-1] == caption[number]
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
        assert "gnutella30 no measurement: Naive, Super Naive Shared, Tiled Shared no memory: Super Naive" in said


def heights_of_bars(axes):
    """By head in Figure 5, the heights on its six datasets."""
    heads = series.heads("figure5")
    return dict(zip(heads, np.reshape([bar.get_height() for bar in axes.patches], (len(heads), 6)), strict=True))


def test_bars_are_the_medians():
    ours, both = some(5).axes
    heights, none = heights_of_bars(ours), [np.nan] * 4
    assert list(heights)[:3] == ["Naive", "Stride", "Stride with Flag"]
    np.testing.assert_allclose(heights["Naive"], [6.1, 13.0, *none])
    np.testing.assert_allclose(heights["Stride"], [8.0, np.nan, *none])
    np.testing.assert_allclose(heights["Stride with Flag"], [np.nan, 4.5, *none])
    assert {text.get_text() for text in ours.texts} == {"6.10", "13.0", "8.00", "4.50"}
    assert (ours.get_yscale(), both.get_yscale()) == ("linear", "log")


def test_lines_are_the_medians():
    ours, both = some(6).axes
    lines = {container.lines[0].get_color(): container.lines[0].get_ydata() for container in ours.containers}
    nan = np.nan
    expected = {
        **{"Naive": [8.1, nan, nan], "Super Naive": [nan] * 3, "Super Naive Shared": [nan] * 3},
        **{"Tiled": [nan, nan, 50.0], "Tiled Shared": [0.9, nan, nan]},
    }
    looks = plots.looks(plots.LINES, series.heads("figure6"))
    assert list(looks)[:5] == list(expected)
    for head, times in expected.items():
        np.testing.assert_allclose(lines[looks[head].color], times)
    # Below: for each variant the paper's hollow marks, then our filled ones.
    hollow, filled = both.lines[0], both.lines[1]
    np.testing.assert_allclose(hollow.get_ydata(), [30.1521, 137.369, 703.358])
    np.testing.assert_allclose(filled.get_ydata(), [8.1, nan, nan])


def test_a_panel_with_short_times_is_in_milliseconds():
    rows = measurements.load([TIMINGS])
    short = (rows["variant"] == "tiled_shared") & (rows["dataset"] == "gnutella04")
    ours, both = drawn(6, rows.assign(seconds=rows["seconds"].mask(short, 0.0099))).axes
    assert ours.get_ylabel() == both.get_ylabel() == "Execution time (ms)"
    tiled_shared = list(series.heads("figure6")).index("Tiled Shared")
    assert max(ours.containers[tiled_shared].lines[0].get_ydata()) == pytest.approx(9.9, nan_ok=True)
    np.testing.assert_allclose(both.lines[0].get_ydata(), [30152.1, 137369, 703358])
    assert plots.unit([0.01, np.nan]) == plots.unit([np.nan]) == plots.unit([]) == ("s", 1)


def test_a_variant_with_a_new_head_is_a_further_series(monkeypatch):
    """Of two with one head the fastest is drawn."""
    naive = VARIANTS["bellman_ford/naive"]
    for name in ("slow", "fast"):
        new = replace(naive, name=name)
        monkeypatch.setitem(VARIANTS, new.key, new)
        monkeypatch.setitem(tables.SHOWN["figure5"]["columns"], new.key, "New")
    rows = whole()
    mine = rows[(rows["algorithm"] == "bellman_ford") & (rows["variant"] == "naive")]
    more = [mine.assign(variant=name, seconds=mine["seconds"] / part) for name, part in (("slow", 2), ("fast", 4))]
    figure = drawn(5, pd.concat([rows, *more]))
    heights = heights_of_bars(figure.axes[0])
    np.testing.assert_allclose(heights["New"], heights["Naive"] / 4)
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()][-1] == "New"
    assert {text.get_position() for text in figure.axes[0].texts} == {plots.ABOVE[0][:2]}  # none floats above its bar
    legible(figure)


@pytest.mark.parametrize("number", [5, 6])
def test_no_text_lies_on_other_text(number):
    for figure in (some(number), drawn(number, whole()), drawn(number, measurements.load([]))):
        legible(figure)


@pytest.fixture(scope="module")
def archived():
    return published.archived_rows(ARCHIVE.name)


def of_growth(rows, source):
    cells = growth.growth_cells(rows, DATASETS)
    return growth.draw_growth(
        growth.fits(cells), cells, measurements.substitutes(rows), series.caption(rows, source, what="median")
    )


def of_sweep(name):
    return lambda _, source: draw_sweep.picture(name, measurements.load_sweep(name, [ARCHIVE / f"{name}.csv"]), source)


SEARCHES = measurements.load_sweep("sources", ARCHIVE.glob("sources/*.csv"))
DRAW = {
    "figure5": lambda *args: figures.draw_times("figure5", DATASETS, *args),
    "figure6": lambda *args: figures.draw_times("figure6", DATASETS, *args),
    "figure8": lambda rows, source: figure8.draw_ratios(DATASETS, rows, SEARCHES, source),
    "growth": of_growth,
    **{name: of_sweep(name) for name in draw_sweep.DRAW},
}


@pytest.fixture(scope="module")
def archived_figure_8(archived):
    with plots.styled(figure8.LOOK):
        figure = DRAW["figure8"](archived, "From the archive h200, not measured here.")
        figure.draw_without_rendering()
    return figure


@pytest.mark.parametrize("name", DRAW)
def test_the_archives_figures_are_legible_with_their_lines_below(name, archived, request):
    with plots.styled(figure8.LOOK if name == "figure8" else plots.STYLE):
        if name == "figure8":
            figure = request.getfixturevalue("archived_figure_8")
        else:
            figure = DRAW[name](archived, "From the archive h200, not measured here.")
            figure.draw_without_rendering()
        legible(figure)
        (caption,) = [text for text in figure.findobj(Text) if "From the archive" in text.get_text()]
        lines = caption.get_text().count("\n") + 1
        assert caption.get_window_extent().height < 1.6 * lines * caption.get_fontsize() * figure.dpi / 72
    assert "NVIDIA H200" in caption.get_text() and "n = " in caption.get_text()


def test_figure_8_can_be_read_in_the_readme(archived_figure_8):
    """It is shown 880 pixels wide: every number is at least 13 pixels high."""
    figure = archived_figure_8
    numbers = [text for axes in figure.axes for text in (*axes.texts, *axes.get_xticklabels(), *axes.get_yticklabels())]
    assert min(text.get_fontsize() for text in numbers) * 880 / figure.get_figwidth() / 72 >= 13
    assert "Block per source: " in figure.get_supxlabel()  # the caption


def test_distances_of_all_pairs_have_a_unit():
    wholes = [all_pairs.read_record(path) for path in sorted(ARCHIVE.glob("all_pairs/*.json"))]
    with plots.styled():
        axes, *_ = all_pairs_figure.picture(wholes, {}, "From the test.").axes
    assert re.fullmatch(r"distance \(.+\)", axes.get_xlabel())


def test_texts_that_touch_are_noticed():
    figure = drawn(5, whole())
    legible(figure)
    (first, *_), axes = figure.axes[0].texts, figure.axes[0]
    for place in ((0.5, -0.002), (0.9, 1.04)):  # on the axis, on the legend
        wrong = axes.text(*place, "wrong", transform=axes.transAxes)
        with pytest.raises(AssertionError, match="wrong"):
            legible(figure)
        wrong.remove()
    first.set_fontsize(6)
    with pytest.raises(AssertionError):
        legible(figure)


def test_values_of_close_marks_stand_apart():
    with plots.styled():
        figure = matplotlib.figure.Figure(figsize=(3, 2))
        axes = figure.subplots()
        x, y = np.array([0.0, 0.05, 0.1, 1.0]), np.array([1.0, 1.01, 1.0, np.nan])
        axes.plot(x, y, "o")
        plots.write_values(axes, x, y, ["1.001", "1.010", "0.999", ""], plots.AROUND)
        figure.draw_without_rendering()
        legible(figure)
    assert [text.get_text() for text in axes.texts] == ["1.001", "1.010", "0.999"]


def test_nothing_measured(tmp_path):
    for number in (5, 6):
        said = words(make(number, tmp_path / str(number), files=(), formats=["svg"])[f"figure{number}.svg"])
        groups = {5: ["(264K,734K)", "(321K,800K)", *ROADS], 6: GNUTELLAS}[number]
        assert said.count("no measurement") == 2 * len(groups) + 1  # once in the upper panel; below are the paper's
        assert all(said.count(group) == 2 for group in groups)
        assert said[-1] == "From the test."


def test_counts_are_rounded():
    counts = {264346: "264K", 1500: "2K", 999499: "999K", 999999: "1.0M", 1057066: "1.1M", 2712798: "2.7M"}
    counts |= {3598623: "3.6M", 3868020: "3.9M", 999: "999"}
    assert {count: plots.short(count) for count in counts} == counts


def test_values_have_three_digits():
    texts = {0.0120: "0.0120", 5.52: "5.52", 284.6: "285", 999.6: "1,000", 22328: "22,300", np.nan: ""}
    assert {number: plots.digits(number) for number in texts} == texts
