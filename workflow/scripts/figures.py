"""Draw one of the paper's figures from our measurements, and ours against the paper's: SVG, PDF, PNG.

Cells without a time are named under their group, never drawn.
"""

from __future__ import annotations

import argparse
import logging
import textwrap
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D

from kernels.datasets import atomic
from workflow.scripts import measurements, step, tables


@dataclass(frozen=True)
class Series:
    """A variant as the figure names and draws it; the colours are Okabe and Ito's."""

    column: str  # algorithm/variant
    label: str
    color: str
    marker: str
    line: str | tuple = "-"
    hatch: str = ""


@dataclass(frozen=True)
class Plot:
    """A figure of the paper: kind is "bars" or "lines", table the one that it draws."""

    title: str
    kind: str
    table: int
    series: tuple[Series, ...]


PLOTS = {
    5: Plot(
        "Bellman-Ford",
        "bars",
        1,
        (
            Series("bellman_ford/naive", "Naive", "#0072B2", "o"),
            Series("bellman_ford/stride", "Stride", "#E69F00", "s", hatch="////"),
            Series("bellman_ford/stride_flag", "Stride with Flag", "#009E73", "^", hatch="xxxx"),
        ),
    ),
    6: Plot(
        "Floyd-Warshall",
        "lines",
        3,
        (
            Series("floyd_warshall/super_naive", "Super Naive", "#E69F00", "s", "--"),
            Series("floyd_warshall/super_naive_shared", "Super Naive Shared", "#D55E00", "D", ":"),
            Series("floyd_warshall/naive", "Naive", "#0072B2", "o", "-"),
            Series("floyd_warshall/tiled", "Tiled", "#009E73", "^", (0, (4, 1, 1, 1))),
            Series("floyd_warshall/tiled_shared", "Tiled Shared", "#CC79A7", "v", (0, (4, 1, 1, 1, 1, 1))),
        ),
    ),
}
X_LABEL, Y_LABEL = "(number of vertices, number of edges)", "Execution Time (s)"
WIDTH, HEIGHT = 7.0, 6.4  # inches: the width of a page's text
NOTE_CHARACTERS = 140  # a line of 7 pt over WIDTH
GROUP = 0.88  # the part of a group's width that is drawn on
HOLLOW = {"markerfacecolor": "white", "markersize": 7}  # seen around a filled mark at the same place
STYLE = {
    "font.size": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "0.88",
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.5,
    "lines.markersize": 5,
    "lines.linewidth": 1.2,
    "legend.frameon": False,
    "legend.columnspacing": 1.0,
    "legend.handlelength": 3.6,
    "legend.markerscale": 0.8,
    "legend.handletextpad": 0.5,
    "legend.borderaxespad": 0.1,
    "errorbar.capsize": 1.5,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 200,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "shortest paths",  # the same figure has the same bytes
    "pdf.fonttype": 42,
}
METADATA = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}


def short(count: int) -> str:
    """A count as on the paper's axes, cut off, not rounded: 264346 is 264K, 3598623 3.5M, 1057066 1M."""
    if count >= 1_000_000:
        return f"{count // 100_000 / 10:g}M"
    return f"{count // 1000}K" if count >= 1000 else str(count)


def draw(number: int, rows: pd.DataFrame, source: str) -> Figure:
    """The figure; rows: as measurements.load gives them. To be called, and saved, under STYLE."""
    plot = PLOTS[number]
    table = tables.TABLES[plot.table]
    labels = {series.column: series.label for series in plot.series}
    rows = measurements.select(rows, list(labels), table["datasets"])
    facts = tables.compare(table, rows)

    figure = Figure(figsize=(WIDTH, HEIGHT))
    ours, both = figure.subplots(2, 1)
    (_bars if plot.kind == "bars" else _lines)(ours, plot, facts)
    ours.set_title(plot.title, loc="left")
    ours.margins(y=0.1)
    ours.set_ylim(bottom=0)
    if not (facts["status"] == "ok").any():
        ours.set_yticks([])
        ours.text(0.5, 0.5, "no measurement", transform=ours.transAxes, ha="center", fontsize=14, color="0.5")
    _against_paper(both, plot, facts)
    both.set_title(f"{plot.title}, against the paper", loc="left")
    ticks = _tick_labels(table["datasets"], labels, facts, measurements.stand_ins(rows))
    for axes in (ours, both):
        axes.set_xticks(range(len(ticks)), ticks)
        axes.set_xlim(-0.5, len(ticks) - 0.5)
        axes.set(xlabel=X_LABEL, ylabel=Y_LABEL)
        axes.tick_params(axis="x", length=0)
    said = measurements.origin(rows, source, labels)
    if len(rows):
        said.append("Medians, with whiskers from the least to the greatest repeat.")
    figure.align_ylabels()
    note = textwrap.fill(" ".join(said), NOTE_CHARACTERS, break_on_hyphens=False)
    figure.supxlabel(note, x=0.01, ha="left", fontsize=7, color="0.25")
    return figure


def _times(facts: pd.DataFrame, column: str, name: str = "median") -> np.ndarray:
    """float64, one a dataset: seconds of the column, NaN where there is no time."""
    return facts[name].xs(column, level="column").to_numpy(float)


def _median(facts: pd.DataFrame, column: str) -> tuple[np.ndarray, list[np.ndarray]]:
    """Medians and, as errorbar wants it, how far the least and the greatest repeat are from them.

    NaN where there is one repeat: that has no spread.
    """
    several = facts[facts["repeats"] > 1].reindex(facts.index)
    median = _times(facts, column)
    return median, [median - _times(several, column, "min"), _times(several, column, "max") - median]


def _offsets(plot: Plot) -> list[tuple[Series, float]]:
    """Each series with where it stands beside the middle of a group."""
    width = GROUP / len(plot.series)
    return [(series, (i - (len(plot.series) - 1) / 2) * width) for i, series in enumerate(plot.series)]


def _bars(axes: Axes, plot: Plot, facts: pd.DataFrame) -> None:
    """Grouped bars of the medians with a whisker from least to greatest, each with its value."""
    handles = []
    for series, offset in _offsets(plot):
        median, spread = _median(facts, series.column)
        bars = axes.bar(
            np.arange(len(median)) + offset,
            median,
            GROUP / len(plot.series),
            yerr=spread,
            error_kw={"elinewidth": 0.8},
            facecolor=series.color,
            edgecolor="white",
            hatch=series.hatch,
        )
        values = ["" if np.isnan(time) else tables.digits(time) for time in median]
        axes.bar_label(bars, values, padding=2, fontsize=7)
        mark = Line2D([], [], color=series.color, marker=series.marker, linestyle="")
        handles.append((bars, mark))
    _legend(axes, handles, [series.label for series in plot.series])


def _lines(axes: Axes, plot: Plot, facts: pd.DataFrame) -> None:
    """A line a series over the groups: medians with a whisker from least to greatest."""
    for series in plot.series:
        median, spread = _median(facts, series.column)
        axes.errorbar(
            np.arange(len(median)),
            median,
            spread,
            color=series.color,
            marker=series.marker,
            linestyle=series.line,
            clip_on=False,
        )
    marks = [Line2D([], [], color=s.color, marker=s.marker, linestyle=s.line) for s in plot.series]
    _legend(axes, marks, [series.label for series in plot.series])


def _legend(axes: Axes, handles: list, labels: list[str]) -> None:
    """A legend in one row above the axes, right of the title, where no data can be."""
    axes.legend(
        handles,
        labels,
        loc="lower right",
        bbox_to_anchor=(1, 1),
        ncols=len(labels),
        handler_map={tuple: HandlerTuple(ndivide=None)},
    )


def _against_paper(axes: Axes, plot: Plot, facts: pd.DataFrame) -> None:
    """For each cell the paper's time (hollow) and ours (filled), joined, on a logarithmic axis."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda seconds, _: f"{seconds:g}")
    for series, offset in _offsets(plot):
        ours, paper = _times(facts, series.column), _times(facts, series.column, "paper seconds")
        x = np.arange(len(ours)) + offset
        axes.vlines(x, np.fmin(ours, paper), np.fmax(ours, paper), color=series.color, linewidth=0.8)
        axes.plot(x, paper, series.marker, color=series.color, **HOLLOW)
        axes.plot(x, ours, series.marker, color=series.color)
    measured = Line2D([], [], color="0.3", marker="o", linestyle="")
    paper = Line2D([], [], color="0.3", marker="o", linestyle="", **HOLLOW)
    _legend(axes, [paper, measured], ["Paper", "Measured"])


def _tick_labels(datasets: list[str], labels: dict, facts: pd.DataFrame, stand_ins: dict) -> list[str]:
    """A group's counts as in the paper, its dataset († where another graph stands in), what has no time."""
    paper = measurements.paper_datasets()
    result = []
    for dataset in datasets:
        lines = [
            f"({short(paper.vertices[dataset])},{short(paper.arcs[dataset])})",
            dataset + (" †" if dataset in stand_ins else ""),
        ]
        untimed: dict[str, list[str]] = {}
        for column, label in labels.items():
            cell = facts.loc[column, dataset]
            if cell["status"] != "ok":
                untimed.setdefault(tables.status_text(cell), []).append(label)
        for text, names in untimed.items():
            all_of_them = len(names) == len(labels)
            lines.append(text if all_of_them else textwrap.fill(f"{text}: {', '.join(names)}", 105 // len(datasets)))
        result.append("\n".join(lines))
    return result


def write(number: int, rows: pd.DataFrame, source: str, folder: Path) -> None:
    """Write the figure's files into a folder."""
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # says each glyph it embeds in a PDF
    with style.context(["default", STYLE]):
        figure = draw(number, rows, source)
        for suffix, metadata in METADATA.items():
            path = folder / f"figure{number}{suffix}"
            with atomic(path) as file:
                figure.savefig(file, format=suffix[1:], metadata=metadata)
            logging.info("wrote %s", path)


def main(args: argparse.Namespace) -> None:
    write(args.figure, measurements.load(args.measurements), args.source, args.out_dir)


if __name__ == "__main__":
    arguments = step.parser(__doc__)
    arguments.add_argument("--figure", type=int, choices=list(PLOTS), required=True)
    arguments.add_argument("--measurements", type=Path, nargs="*", default=[], help="CSV files of measurements")
    arguments.add_argument("--source", required=True, help="a sentence: where the measurements come from")
    arguments.add_argument("--out-dir", type=Path, default=Path("figures"))
    step.run(main, arguments)
