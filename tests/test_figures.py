"""The figures show the measurements, name what is missing, and can be read."""

import argparse
import itertools
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import style
from matplotlib.text import Text

from workflow.lib import measurements
from workflow.scripts import figures

ROOT = Path(__file__).parents[1]
TIMINGS = ROOT / "tests" / "data" / "timings.csv"
ROADS = ["(264K,733K)", "(321K,800K)", "(435K,1M)", "(1M,2.7M)", "(1.5M,3.8M)", "(3.5M,8.7M)"]
GNUTELLAS = ["(10K,39K)", "(22K,54K)", "(36K,88K)"]


def make(number, out_dir, files=(TIMINGS,)):
    figures.main(argparse.Namespace(figure=number, measurements=files, source="From the test.", out_dir=out_dir))
    return {path.name: path.read_bytes() for path in sorted(out_dir.iterdir())}


def words(svg):
    """The text of an SVG, a line each."""
    return [element.text for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


@pytest.fixture(scope="module", params=[5, 6, 7])
def made(request, tmp_path_factory):
    return request.param, make(request.param, tmp_path_factory.mktemp("figures"))


def drawn(number, rows):
    """The figure with its layout done."""
    figure = figures.draw(number, rows, "From the test.")
    figure.draw_without_rendering()
    return figure


def whole():
    """Every cell of the paper's tables and of Table 4, twice: whole figures."""
    times = measurements.paper_times()["seconds"].dropna().reset_index()
    ours = [
        *(("edge/sssp", dataset, 0.1) for dataset in ("nyc", "bay", "col", "fla", "ne", "e")),
        *(
            (column, dataset, seconds)
            for column in ("edge/apsp", "dijkstra/block_apsp", "delta_stepping/block_apsp")
            for dataset, seconds in (("gnutella04", 0.08), ("gnutella25", 0.3), ("gnutella30", 0.9))
        ),
    ]
    times = pd.concat([times, pd.DataFrame(ours, columns=["column", "dataset", "seconds"])], ignore_index=True)
    times[["algorithm", "variant"]] = times.pop("column").str.split("/", expand=True).to_numpy()
    times = times.join(measurements.paper_datasets()[["vertices", "arcs"]], on="dataset")
    times = times.assign(status="ok", device="card", dataset_sha256="ab", note="", predecessors_s=0.001, throttling="")
    times["kernels_s"] = times["seconds"] / 10
    return pd.concat([times.assign(seconds=factor * times["seconds"]) for factor in (0.9, 1.1)])


def test_three_formats_and_no_more(made):
    number, files = made
    assert list(files) == [f"figure{number}.pdf", f"figure{number}.png", f"figure{number}.svg"]
    assert files[f"figure{number}.pdf"].startswith(b"%PDF")
    assert files[f"figure{number}.png"].startswith(b"\x89PNG")
    assert min(len(content) for content in files.values()) > 10_000


def test_the_same_bytes_twice(made, tmp_path):
    number, files = made
    assert make(number, tmp_path) == files


def test_words_in_the_picture(made):
    number, files = made
    lines = words(files[f"figure{number}.svg"])
    expected = {
        5: [*ROADS, "Bellman-Ford", "Naive", "Stride", "Stride with Flag"],
        6: [*GNUTELLAS, "Floyd-Warshall", "Super Naive", "Super Naive Shared", "Naive", "Tiled", "Tiled Shared"],
        7: [*ROADS, *GNUTELLAS, "Shortest paths from every source", "Paper's best", "Edge", "Delta-Stepping"],
    }
    for text in (*expected[number], "(number of vertices, number of edges)", "Execution Time (s)"):
        assert text in lines
    said = " ".join(lines)
    assert "From the test. On test card: " in said
    assert ("Measured" in lines) == (number != 7) != ("An addition to the paper's own figures." in said)
    if number == 5:
        assert "nyc †" in lines
        assert "† nyc.txt: stand-in: made_by_hand, 100 % without parallel arcs." in said
        assert "264,346 vertices and 730,100 arcs (in the paper 264,346 and 733,846)" in said
    else:
        assert "†" not in said and "stand-in" not in said


def test_cells_without_a_time_are_named(made):
    number, files = made
    said = " ".join(words(files[f"figure{number}.svg"]))
    if number == 5:
        assert "nyc † no measurement: Stride with Flag" in said
        assert "bay >90 s: Stride" in said
        assert "col no measurement" in said
    elif number == 7:
        assert "(264K,733K) nyc no measurement (321K,800K) bay (435K,1M) col no measurement" in said
        assert "gnutella04 no measurement: Dijkstra (22K,54K) gnutella25 no measurement" in said
    else:
        assert "gnutella25 no measurement" in said
        assert "gnutella30 no memory: Super Naive no measurement: Super Naive Shared, Naive, Tiled Shared" in said


def test_bars_are_the_medians():
    with style.context(["default", figures.STYLE]):
        ours, both = drawn(5, measurements.load([TIMINGS])).axes
    heights = np.array([bar.get_height() for bar in ours.patches]).reshape(3, 6)
    none = [np.nan] * 4
    np.testing.assert_allclose(heights, [[6.1, 13.0, *none], [8.0, np.nan, *none], [np.nan, 4.5, *none]])
    assert {text.get_text() for text in ours.texts} == {"6.10", "13.0", "8.00", "4.50", ""}
    assert (ours.get_yscale(), both.get_yscale()) == ("linear", "log")


def test_lines_are_the_medians():
    with style.context(["default", figures.STYLE]):
        ours, both = drawn(6, measurements.load([TIMINGS])).axes
    lines = {container.lines[0].get_color(): container.lines[0].get_ydata() for container in ours.containers}
    nan = np.nan
    expected = [[nan] * 3, [nan] * 3, [8.1, nan, nan], [nan, nan, 50.0], [0.9, nan, nan]]
    for series, times in zip(figures.PLOTS[6].series, expected, strict=True):
        np.testing.assert_allclose(lines[series.color], times)
    # Below: for each variant the paper's hollow marks, then our filled ones.
    hollow, filled = both.lines[4], both.lines[5]
    np.testing.assert_allclose(hollow.get_ydata(), [30.1521, 137.369, 703.358])
    np.testing.assert_allclose(filled.get_ydata(), [8.1, nan, nan])


def test_marks_are_the_whole_time_and_the_kernels():
    with style.context(["default", figures.STYLE]):
        one, every = drawn(7, measurements.load([TIMINGS])).axes
    assert one.get_yscale() == every.get_yscale() == "log"
    nan = np.nan
    expected = {
        one: {"Paper's best": ([nan, 4.5, *[nan] * 4], [nan, 4.0, *[nan] * 4]), "Edge": ([nan, 0.09], [nan, 0.084])},
        every: {"Edge": ([0.09, nan, nan], [0.004, nan, nan]), "Dijkstra": ([nan] * 3, [nan] * 3)},
    }
    colors = {series.column: series.color for series in figures.PLOTS[7].series}
    for axes, marks in expected.items():
        for column, (whole, kernels) in marks.items():
            lines = [line for line in axes.lines if line.get_color() == colors[column] and line.get_marker() != "None"]
            hollow, filled = (line.get_ydata()[: len(whole)] for line in lines if line.get_marker() not in "_|")
            np.testing.assert_allclose(hollow, whole)
            np.testing.assert_allclose(filled, kernels)
    values = {text.get_text() for text in one.texts + every.texts}
    assert {"4.50", "4.00", "0.0900", "0.0840", "0.00400", "0.100", "0.0240"} <= values


def legible(figure):
    """No text is too small, lies on another or leaves the figure."""
    ticks = [(axes, tick) for axes in figure.axes for tick in axes.yaxis.get_major_ticks()]
    beyond = [tick for axes, tick in ticks if not axes.viewLim.containsy(tick.get_loc())]
    hidden = {label for tick in beyond for label in (tick.label1, tick.label2)}  # these are not drawn
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    assert min(text.get_fontsize() for text in texts) >= 7
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text not in hidden]
    for (one, box), (other, another) in itertools.combinations(boxes, 2):
        assert not box.overlaps(another), f"{one!r} lies on {other!r}"
    for text, box in boxes:
        assert figure.bbox.containsx(box.x0) and figure.bbox.containsx(box.x1), text
        assert figure.bbox.containsy(box.y0) and figure.bbox.containsy(box.y1), text


@pytest.mark.parametrize("number", [5, 6, 7])
@pytest.mark.parametrize("data", ["all", "some", "none"])
def test_no_text_lies_on_other_text(number, data):
    rows = {
        "all": whole,
        "some": lambda: measurements.load([TIMINGS]),
        "none": lambda: measurements.load([]),
    }[data]()
    with style.context(["default", figures.STYLE]):
        figure = drawn(number, rows)
        legible(figure)


def test_nothing_measured(tmp_path):
    for number in figures.PLOTS:
        said = words(make(number, tmp_path / str(number), files=())[f"figure{number}.svg"])
        groups = {5: 2 * ROADS, 6: 2 * GNUTELLAS, 7: ROADS + GNUTELLAS}[number]
        panels = 2 if number == 7 else 1  # the other has the paper's times
        assert said.count("no measurement") == len(groups) + panels


def test_drawing_leaves_matplotlib_as_it_was(tmp_path):
    before = dict(matplotlib.rcParams)
    make(5, tmp_path)
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize(
    ("count", "label"),
    [(264346, "264K"), (999999, "999K"), (1057066, "1M"), (2712798, "2.7M"), (3598623, "3.5M"), (999, "999")],
)
def test_counts_are_cut_off_as_in_the_paper(count, label):
    assert figures.short(count) == label


def test_simulated_rows_are_refused(tmp_path):
    path = tmp_path / "timings.csv"
    path.write_text(TIMINGS.read_text().replace(",no_memory,", ",simulated,"))
    command = [sys.executable, "-m", "workflow.scripts.figures", "--figure", "6", "--source", "From the test."]
    command += ["--measurements", path, "--out-dir", tmp_path / "figures", "--log", tmp_path / "log"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert "simulated" in done.stderr
    assert not (tmp_path / "figures").exists()
