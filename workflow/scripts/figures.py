"""Draw a figure of two panels from our measurements: SVG, PDF, PNG.

Figures 5 and 6 are the paper's, and below them ours against the paper's; Figure 7 is an addition. Cells without a
time are named under their group, never drawn.
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
from matplotlib.ticker import LogFormatter, NullLocator

from kernels.datasets import atomic
from workflow.lib import measurements, step
from workflow.scripts import tables


@dataclass(frozen=True)
class Series:
    """A column of a table as the figure names and draws it; the colours are Okabe and Ito's."""

    column: str  # its label in the table
    label: str
    color: str
    marker: str
    line: str | tuple = "-"
    hatch: str = ""


@dataclass(frozen=True)
class Panel:
    """kind: a key of KINDS. problem: draw only the datasets of this problem."""

    title: str
    kind: str
    problem: str | None = None


@dataclass(frozen=True)
class Plot:
    """A figure; table: the one whose columns it draws."""

    table: int
    panels: tuple[Panel, Panel]
    series: tuple[Series, ...]
    note: str = ""


PLOTS = {
    5: Plot(
        1,
        (Panel("Bellman-Ford", "bars"), Panel("Bellman-Ford, against the paper", "against paper")),
        (
            Series("Naive", "Naive", "#0072B2", "o"),
            Series("Stride", "Stride", "#E69F00", "s", hatch="////"),
            Series("Stride with Flag", "Stride with Flag", "#009E73", "^", hatch="xxxx"),
        ),
    ),
    6: Plot(
        3,
        (Panel("Floyd-Warshall", "lines"), Panel("Floyd-Warshall, against the paper", "against paper")),
        (
            Series("Super Naive", "Super Naive", "#E69F00", "s", "--"),
            Series("Super Naive Shared", "Super Naive Shared", "#D55E00", "D", ":"),
            Series("Naive", "Naive", "#0072B2", "o", "-"),
            Series("Tiled", "Tiled", "#009E73", "^", (0, (4, 1, 1, 1))),
            Series("Tiled with Shared Memory", "Tiled Shared", "#CC79A7", "v", (0, (4, 1, 1, 1, 1, 1))),
        ),
    ),
    7: Plot(
        4,
        (
            Panel("Shortest paths from one source", "kernels", "sssp"),
            Panel("Shortest paths from every source", "kernels", "apsp"),
        ),
        (
            Series("Paper's best", "Paper's best", "#0072B2", "o"),
            Series("Edge", "Edge", "#E69F00", "s"),
            Series("Dijkstra", "Dijkstra", "#009E73", "^"),
            Series("Delta-Stepping", "Delta-Stepping", "#CC79A7", "D"),
        ),
        "An addition to the paper's own figures. Hollow: the paper's timed region, as in the tables. Filled: the "
        "launches that find distances. Paper's best: Bellman-Ford's Stride with Flag; Floyd-Warshall's Tiled with "
        "Shared Memory.",
    ),
}
X_LABEL, Y_LABEL = "(number of vertices, number of edges)", "Execution Time (s)"
WIDTH, HEIGHT = 7.0, 6.4  # inches: the width of a page's text
GROUP = 0.88  # the part of a group's width that is drawn on
BEFORE_GRID = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
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
    names = {one.column: one.label for one in plot.series}
    labels = {
        variant: names[column.label]
        for column in tables.columns(table)
        if column.label in names
        for variant in column.variants.values()
    }
    rows = measurements.select(rows, list(labels), tables.datasets(table))
    facts = tables.compare(table, rows).loc[list(names)]
    stand_ins = measurements.stand_ins(rows)

    figure = Figure(figsize=(WIDTH, HEIGHT))
    for axes, panel in zip(figure.subplots(len(plot.panels)), plot.panels, strict=True):
        datasets = table["datasets"][panel.problem] if panel.problem else tables.datasets(table)
        cells = facts[facts.index.isin(datasets, level="dataset") & facts["column"].notna()]
        drawn = [one for one in plot.series if one.column in cells.index]
        KINDS[panel.kind](axes, drawn, cells)
        axes.set_title(panel.title, loc="left")
        ticks = tick_labels(datasets, drawn, cells, stand_ins)
        axes.set_xticks(range(len(ticks)), ticks)
        axes.set_xlim(-0.5, len(ticks) - 0.5)
        axes.set(xlabel=X_LABEL, ylabel=Y_LABEL)
        axes.tick_params(axis="x", length=0)
    said = [*filter(None, [plot.note]), *measurements.origin(rows, source, labels)]
    if len(rows):
        said.append("Medians, with whiskers from the least to the greatest repeat.")
    write_below(figure, said)
    figure.align_ylabels()
    return figure


def write_below(figure: Figure, sentences: list[str]) -> None:
    """Small text under the whole figure."""
    figure.supxlabel(" ".join(sentences), x=0.01, ha="left", fontsize=7, color="0.25", wrap=True)


def say_unmeasured(axes: Axes) -> None:
    axes.set_yticks([])
    axes.text(0.5, 0.5, "no measurement", transform=axes.transAxes, ha="center", fontsize=14, color="0.5")


def _times(cells: pd.DataFrame, column: str, name: str = "median") -> np.ndarray:
    """float64, one a dataset: seconds of the column, NaN where there is no time."""
    return cells[name].xs(column).to_numpy(float)


def median_and_spread(cells: pd.DataFrame, column: str) -> tuple[np.ndarray, list[np.ndarray]]:
    """Medians and, as errorbar wants it, how far the least and the greatest repeat are from them.

    NaN where there is one repeat: that has no spread.
    """
    several = cells[cells["repeats"] > 1].reindex(cells.index)
    median = _times(cells, column)
    return median, [median - _times(several, column, "min"), _times(several, column, "max") - median]


def offsets(series: list[Series]) -> list[tuple[Series, float]]:
    """Each series with where it stands beside the middle of a group."""
    width = GROUP / len(series)
    return [(one, (i - (len(series) - 1) / 2) * width) for i, one in enumerate(series)]


def _linear(axes: Axes, cells: pd.DataFrame) -> None:
    """An axis of time from 0."""
    axes.margins(y=0.1)
    axes.set_ylim(bottom=0)
    if not (cells["status"] == "ok").any():
        say_unmeasured(axes)


def _bars(axes: Axes, series: list[Series], cells: pd.DataFrame) -> None:
    """Grouped bars of the medians with a whisker from least to greatest, each with its value."""
    handles = []
    for one, offset in offsets(series):
        median, spread = median_and_spread(cells, one.column)
        bars = axes.bar(
            np.arange(len(median)) + offset,
            median,
            GROUP / len(series),
            yerr=spread,
            error_kw={"elinewidth": 0.8},
            facecolor=one.color,
            edgecolor="white",
            hatch=one.hatch,
        )
        axes.bar_label(bars, [value(time) for time in median], padding=2, fontsize=7)
        mark = Line2D([], [], color=one.color, marker=one.marker, linestyle="")
        handles.append((bars, mark))
    legend(axes, handles, [one.label for one in series])
    _linear(axes, cells)


def value(time: float) -> str:
    return "" if np.isnan(time) else tables.digits(time)


def _lines(axes: Axes, series: list[Series], cells: pd.DataFrame) -> None:
    """A line a series over the groups: medians with a whisker from least to greatest."""
    for one in series:
        median, spread = median_and_spread(cells, one.column)
        axes.errorbar(
            np.arange(len(median)),
            median,
            spread,
            color=one.color,
            marker=one.marker,
            linestyle=one.line,
            clip_on=False,
        )
    marks = [Line2D([], [], color=one.color, marker=one.marker, linestyle=one.line) for one in series]
    legend(axes, marks, [one.label for one in series])
    _linear(axes, cells)


def legend(axes: Axes, handles: list, labels: list[str]) -> None:
    """A legend in one row above the axes, right of the title, where no data can be."""
    axes.legend(
        handles,
        labels,
        loc="lower right",
        bbox_to_anchor=(1, 1),
        ncols=len(labels),
        handler_map={tuple: HandlerTuple(ndivide=None)},
    )


class PlainNumbers(LogFormatter):
    """0.1, 1, 10 instead of powers, and numbers between them where few of them are seen."""

    def __call__(self, x, pos=None):
        return f"{x:g}" if super().__call__(x, pos) else ""


def logarithmic(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(PlainNumbers())
    axes.yaxis.set_minor_formatter(PlainNumbers())


def _pairs(axes: Axes, one: Series, x: np.ndarray, hollow: np.ndarray, filled: np.ndarray) -> None:
    """Two marks a cell, joined."""
    axes.vlines(x, np.fmin(hollow, filled), np.fmax(hollow, filled), color=one.color, linewidth=0.8)
    axes.plot(x, hollow, one.marker, color=one.color, **HOLLOW)
    axes.plot(x, filled, one.marker, color=one.color)


def _against_paper(axes: Axes, series: list[Series], cells: pd.DataFrame) -> None:
    """For each cell the paper's time (hollow) and ours (filled), joined, on a logarithmic axis."""
    logarithmic(axes)
    for one, offset in offsets(series):
        ours, paper = _times(cells, one.column), _times(cells, one.column, "paper seconds")
        _pairs(axes, one, np.arange(len(ours)) + offset, paper, ours)
    measured = Line2D([], [], color="0.3", marker="o", linestyle="")
    paper = Line2D([], [], color="0.3", marker="o", linestyle="", **HOLLOW)
    legend(axes, [paper, measured], ["Paper", "Measured"])


def _kernels(axes: Axes, series: list[Series], cells: pd.DataFrame) -> None:
    """For each cell the whole time (hollow) and the kernels' (filled), each with its value, on a logarithmic axis."""
    logarithmic(axes)
    for one, offset in offsets(series):
        (whole, spread), kernels = median_and_spread(cells, one.column), _times(cells, one.column, "kernels")
        x = np.arange(len(whole)) + offset
        axes.errorbar(x, whole, spread, color=one.color, linestyle="", elinewidth=0.8)
        _pairs(axes, one, x, whole, kernels)
        for times, distance, side in ((whole, 7, "bottom"), (kernels, -7, "top")):
            for at, time in zip(x, times, strict=True):
                beside = {"xytext": (0, distance), "textcoords": "offset points", "ha": "center", "va": side}
                axes.annotate(value(time), (at, time), **beside, fontsize=7, bbox=BEFORE_GRID)
    marks = [Line2D([], [], color=one.color, marker=one.marker, linestyle="") for one in series]
    legend(axes, marks, [one.label for one in series])
    if (cells["status"] == "ok").any():
        low, high = np.log10([cells["kernels"].min(), cells["median"].max()])
        room = max(0.55, 0.2 * (high - low))  # for the values, and above one decade in all
        axes.set_ylim(10 ** (low - room), 10 ** (high + room))
    else:
        axes.yaxis.set_minor_locator(NullLocator())
        say_unmeasured(axes)


KINDS = {"bars": _bars, "lines": _lines, "against paper": _against_paper, "kernels": _kernels}


def tick_labels(datasets: list[str], series: list[Series], cells: pd.DataFrame, stand_ins: dict) -> list[str]:
    """A group's counts as in the paper, its dataset († where another graph stands in), what has no time."""
    paper = measurements.paper_datasets()
    result = []
    for dataset in datasets:
        lines = [
            f"({short(paper.vertices[dataset])},{short(paper.arcs[dataset])})",
            dataset + (" †" if dataset in stand_ins else ""),
        ]
        untimed: dict[str, list[str]] = {}
        for one in series:
            cell = cells.loc[one.column, dataset]
            if cell["status"] != "ok":
                untimed.setdefault(tables.status_text(cell), []).append(one.label)
        for text, names in untimed.items():
            all_of_them = len(names) == len(series)
            lines.append(text if all_of_them else textwrap.fill(f"{text}: {', '.join(names)}", 105 // len(datasets)))
        result.append("\n".join(lines))
    return result


def save(figure: Figure, stem: Path) -> None:
    """Write a figure as SVG, PDF and PNG: stem.svg and so on. To be called under STYLE."""
    for suffix, metadata in METADATA.items():
        path = stem.with_suffix(suffix)
        with atomic(path) as file:
            figure.savefig(file, format=suffix[1:], metadata=metadata)
        logging.info("wrote %s", path)


def write(number: int, rows: pd.DataFrame, source: str, folder: Path) -> None:
    """Write the figure's files into a folder."""
    with style.context(["default", STYLE]):
        save(draw(number, rows, source), folder / f"figure{number}")


def main(args: argparse.Namespace) -> None:
    write(args.figure, measurements.load(args.measurements), args.source, args.out_dir)


if __name__ == "__main__":
    arguments = step.showing_parser(__doc__, out_dir="figures")
    arguments.add_argument("--figure", type=int, choices=list(PLOTS), required=True)
    step.run(main, arguments)
