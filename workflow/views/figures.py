"""Draw Figure 5 or 6: the paper's figure from our measurements, and below it ours beside the paper's: SVG, PDF, PNG.

What has no time is named under its dataset.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from workflow.views import plots, series
from workflow.views.context import Context, Drawing
from workflow.views.plots import Look
from workflow.views.tables import Datasets, datasets_of


def _bars(axes: Axes, shown: dict[str, Look], cells: pd.DataFrame) -> None:
    """Grouped bars of the medians, whiskers from the least to the greatest repeat, each with its value."""
    handles, x, tops, values = [], [], [], []
    for (head, look), offset in zip(shown.items(), plots.offsets(len(shown)), strict=True):
        median, spread = plots.medians(series.of(cells, head))
        at = np.arange(len(median)) + offset
        bars = axes.bar(
            at,
            median,
            plots.GROUP / len(shown),
            yerr=spread,
            error_kw={"elinewidth": 0.8},
            facecolor=look.color,
            edgecolor="white",
            hatch=look.hatch,
        )
        handles.append((bars, Line2D([], [], color=look.color, marker=look.marker, linestyle="")))
        x.extend(at)
        tops.extend(median + np.nan_to_num(spread[1]))
        values.extend(map(plots.digits, median))
    plots.legend(axes, handles, list(shown))
    plots.linear(axes)
    plots.write_values(axes, x, tops, values, plots.ABOVE)


def _lines(axes: Axes, shown: dict[str, Look], cells: pd.DataFrame) -> None:
    """A line for each series over the datasets: medians, whiskers from the least to the greatest repeat."""
    marks = []
    for head, look in shown.items():
        median, spread = plots.medians(series.of(cells, head))
        drawn = {"color": look.color, "marker": look.marker, "linestyle": look.line}
        axes.errorbar(np.arange(len(median)), median, spread, **drawn, clip_on=False)
        marks.append(Line2D([], [], **drawn))
    plots.legend(axes, marks, list(shown))
    plots.linear(axes)


def _beside_paper(axes: Axes, shown: dict[str, Look], cells: pd.DataFrame) -> None:
    """For each cell the paper's time (hollow) and ours (filled), joined, on a logarithmic axis."""
    for (head, look), offset in zip(shown.items(), plots.offsets(len(shown)), strict=True):
        paper, ours = (series.of(cells, head)[name].to_numpy(float) for name in ("paper", "median"))
        x = np.arange(len(ours)) + offset
        axes.vlines(x, np.fmin(paper, ours), np.fmax(paper, ours), color=look.color, linewidth=0.8)
        axes.plot(x, paper, look.marker, color=look.color, **plots.HOLLOW)
        axes.plot(x, ours, look.marker, color=look.color)
    plots.logarithmic(axes)
    grey = {"color": "0.3", "marker": "o", "linestyle": ""}
    marks = [Line2D([], [], **{**grey, **hollow}) for hollow in (plots.HOLLOW, {})]
    plots.legend(axes, marks, ["Paper", "Measured"], handlelength=1)


@dataclass(frozen=True)
class Plot:
    """A figure of the paper: its title, the table of its datasets, and how its upper panel is painted."""

    title: str
    table: str
    paint: Callable[[Axes, dict[str, Look], pd.DataFrame], None]
    palette: tuple[Look, ...]


PLOTS = {
    "figure5": Plot("Bellman-Ford", "table1", _bars, plots.BARS),
    "figure6": Plot("Floyd-Warshall", "table3", _lines, plots.LINES),
}


def draw(name: str, datasets: Datasets, rows: pd.DataFrame, source: str) -> Figure:
    """The figure of that name, to be called in plots.styled(); rows: as measurements.load gives them."""
    plot = PLOTS[name]
    by_problem = datasets_of(plot.table, datasets)
    rows = series.select(name, by_problem, rows)
    cells, names = series.cells(name, by_problem, rows), series.together(by_problem)
    shown = plots.looks(plot.palette, series.heads(name))

    figure = Figure(figsize=(plots.WIDTH, plots.HEIGHT))
    above, below = figure.subplots(2)
    plots.caption(figure, series.caption(rows, source))
    for axes, title, paint, times in (
        (below, f"{plot.title}, the paper's times and ours", _beside_paper, ["paper", "median"]),
        (above, plot.title, plot.paint, ["median"]),  # last, since its values are set into what is drawn
    ):
        unit, in_unit = series.in_unit(cells, times)
        axes.set(title=title, ylabel=plots.time_label(unit))
        plots.groups(axes, series.tick_labels(names, cells, rows, datasets))
        paint(axes, shown, in_unit)
    if not (cells["status"] == "ok").any():
        plots.say_unmeasured(above)
    figure.align_ylabels()
    return figure


def view(rows: pd.DataFrame, context: Context) -> dict[str, Drawing]:
    """Render the figure that the context names; rows: as measurements.load gives them."""
    return {context.name: Drawing(lambda: draw(context.name, context.datasets, rows, context.source))}
