"""Draw Figure 5 or 6: the paper's figure from our measurements, and below it ours beside the paper's."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from workflow.store import tables
from workflow.store.tables import Datasets, part
from workflow.views import plots, series
from workflow.views.context import Context, Drawing
from workflow.views.plots import Look

Shown = dict[str, Look]  # the look of each series
MOST_UPRIGHT = 3  # series of which the values of all bars fit side by side; with more they are turned


def _bars(axes: Axes, shown: Shown, cells: pd.DataFrame) -> None:
    """Draw grouped bars of the medians, whiskers from the least to the greatest repeat, each with its value."""
    handles, x, tops, values = [], [], [], []
    for (head, look), offset in zip(shown.items(), plots.offsets(len(shown)), strict=True):
        median, spread = plots.medians(part(cells, head))
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
        handles.append((bars, Line2D([], [], **look.marks)))
        x.extend(at)
        tops.extend(median + np.nan_to_num(spread[1]))
        values.extend(map(plots.digits, median))
    plots.legend(axes, handles, list(shown))
    plots.linear(axes)
    rotation = 90 if len(shown) > MOST_UPRIGHT else 0
    plots.write_values(axes, x, tops, values, plots.ABOVE, rotation=rotation)


def _lines(axes: Axes, shown: Shown, cells: pd.DataFrame) -> None:
    """Draw a line for each series over the datasets: medians, whiskers from the least to the greatest repeat."""
    handles = []
    for head, look in shown.items():
        median, spread = plots.medians(part(cells, head))
        drawn = look.marks | {"linestyle": look.line}
        axes.errorbar(np.arange(len(median)), median, spread, **drawn, clip_on=False)
        handles.append(Line2D([], [], **drawn))
    plots.legend(axes, handles, list(shown))
    plots.linear(axes)


def _beside_paper(axes: Axes, shown: Shown, cells: pd.DataFrame) -> None:
    """Draw the paper's time (hollow) and ours (filled) of each cell, joined, on a logarithmic axis."""
    for (head, look), offset in zip(shown.items(), plots.offsets(len(shown)), strict=True):
        paper, ours = part(cells, head)[["paper", "median"]].to_numpy(float).T
        x = np.arange(len(ours)) + offset
        axes.vlines(x, np.fmin(paper, ours), np.fmax(paper, ours), color=look.color, linewidth=0.8)
        axes.plot(x, paper, look.marker, color=look.color, **plots.HOLLOW)
        axes.plot(x, ours, look.marker, color=look.color)
    plots.logarithmic(axes)
    grey = Look("0.3", "o").marks
    plots.legend(axes, [Line2D([], [], **grey | plots.HOLLOW), Line2D([], [], **grey)], ["Paper", "Measured"], 1)


PANELS = {"figure5": (_bars, plots.BARS), "figure6": (_lines, plots.LINES)}  # the upper panel and its palette


def draw_times(name: str, datasets: Datasets, rows: pd.DataFrame, source: str) -> Figure:
    """Draw the figure of that name. Call it in plots.styled()."""
    (paint, palette), definition = PANELS[name], tables.PAPER_FIGURES[name]
    by_problem = tables.datasets_of(definition["table"], datasets)
    rows = tables.select(name, by_problem, rows)
    cells = series.series_cells(name, by_problem, rows)
    shown, title = plots.looks(palette, series.heads(name)), definition["title"]

    figure = Figure(figsize=(plots.WIDTH, plots.HEIGHT))
    above, below = figure.subplots(2)
    plots.caption(figure, series.caption(rows, source))
    for axes, head, paint_panel, times in (
        (below, f"{title}, the paper's times and ours", _beside_paper, ["paper", "median"]),
        (above, title, paint, ["median"]),  # last, since its values are placed around what is drawn
    ):
        unit, in_unit = series.in_unit(cells, times)
        axes.set(title=head, ylabel=plots.time_label(unit))
        plots.groups(axes, series.tick_labels(tables.together(by_problem), cells, rows, datasets))
        paint_panel(axes, shown, in_unit)
    if not (cells["status"] == "ok").any():
        plots.say_unmeasured(above)
    figure.align_ylabels()
    return figure


def render_figures(rows: pd.DataFrame, context: Context) -> dict[str, Drawing]:
    """Render the figure that the context names."""
    return {context.name: Drawing(lambda: draw_times(context.name, context.datasets, rows, context.source))}
