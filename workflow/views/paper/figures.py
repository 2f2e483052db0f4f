"""Draw Figure 5 or 6: speed-ups over Naive, the paper's and ours; our times as in the paper; both times."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from workflow.judge import batches, verdicts
from workflow.store import tables
from workflow.store.tables import Datasets, part
from workflow.views import plots, series
from workflow.views.context import Context, Drawing
from workflow.views.plots import Look

Shown = dict[str, Look]  # the look of each series
RATIOS = ["ratio", "low", "high", "paper ratio"]
MOST_UPRIGHT = 3  # series of which the values of all bars fit side by side; with more they are turned
HEIGHT = 8  # inches
BESIDE = 0.17  # of the width of a series, from its middle to its marks: the paper's and ours
WHISKERS = {"elinewidth": 0.8, "capthick": 0.8}
RANGES = f"Whiskers of speed-ups: {verdicts.INTERVAL} over batches; of times: range. Hollow: the paper's."


def with_ratios(cells: pd.DataFrame, rows: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Return the cells of series.series_cells with their speed-up over the series `baseline`, and the paper's.

    The columns ratio, low, high and "paper ratio" are NaN for the baseline and for what no job measured with it.
    """
    of_batches, base = batches.medians(rows), part(cells, baseline)
    lines = []
    for (head, dataset), cell in cells.iterrows():
        one = batches.speed_up(of_batches, cell["column"], base.loc[dataset, "column"], dataset)
        of_paper = base.loc[dataset, "paper"] / cell["paper"]
        ratios = [one.value, one.low, one.high] if one else [np.nan] * 3
        lines.append([np.nan] * 4 if head == baseline else [*ratios, of_paper])
    return cells.assign(**dict(zip(RATIOS, np.reshape(lines, (-1, len(RATIOS))).T, strict=True)))


def _ratios(axes: Axes, shown: Shown, cells: pd.DataFrame) -> None:
    """Draw the speed-up of each series, the paper's (hollow) and ours (filled) with its interval."""
    for (head, look), x, beside in _places(shown, cells):
        ratio, low, high, paper = part(cells, head)[RATIOS].to_numpy(float).T
        axes.plot(x - beside, paper, **look.marks | plots.HOLLOW)
        axes.errorbar(x + beside, ratio, [ratio - low, high - ratio], **look.marks)
    plots.logarithmic(axes)
    axes.axhline(1, color="0.5", linewidth=0.8, zorder=0)


def _bars(axes: Axes, shown: Shown, cells: pd.DataFrame) -> None:
    """Draw grouped bars of the medians, whiskers from the least to the greatest repeat, each with its value."""
    turned = len(shown) > MOST_UPRIGHT
    for (head, look), x, _ in _places(shown, cells):
        median, spread = plots.medians(part(cells, head))
        bars = {"facecolor": look.color, "edgecolor": "white", "hatch": look.hatch, "error_kw": WHISKERS}
        axes.bar(x, median, plots.GROUP / len(shown), yerr=spread, **bars)
        for place, time, above in zip(x, median, np.nan_to_num(spread[1]), strict=True):
            if not np.isnan(time):
                drawn = {"fontsize": plots.LEAST_TEXT, "rotation": 90 * turned}
                at = {"xytext": (0, 4), "textcoords": "offset points", "ha": "center", "va": "bottom"}
                axes.annotate(plots.digits(time), (place, time + above), **at, **drawn)
    plots.linear(axes, 0.4 if turned else 0.2)


def _beside_paper(axes: Axes, shown: Shown, cells: pd.DataFrame) -> None:
    """Draw the paper's time (hollow) and ours (filled) with its range, on a logarithmic axis."""
    for (head, look), x, beside in _places(shown, cells):
        median, spread = plots.medians(part(cells, head))
        axes.plot(x - beside, part(cells, head)["paper"].to_numpy(float), **look.marks | plots.HOLLOW)
        axes.errorbar(x + beside, median, spread, **look.marks)
    plots.logarithmic(axes)


def _places(shown: Shown, cells: pd.DataFrame) -> Iterator[tuple[tuple[str, Look], np.ndarray, float]]:
    """Yield each series with its look, its places on the axis, and the distance of its marks from these."""
    graphs = np.arange(len(cells.index.unique("dataset")))
    for item, offset in zip(shown.items(), plots.offsets(len(shown)), strict=True):
        yield item, graphs + offset, BESIDE * plots.GROUP / len(shown)


def draw_times(name: str, datasets: Datasets, rows: pd.DataFrame, source: str) -> Figure:
    """Draw the figure of that name. Call it in plots.styled()."""
    definition = tables.PAPER_FIGURES[name]
    title, baseline = definition["title"], tables.DEFINITIONS[definition["table"]]["baseline"]
    by_problem = tables.datasets_of(definition["table"], datasets)
    rows = tables.select(name, by_problem, rows)
    cells = with_ratios(series.series_cells(name, by_problem, rows), rows, baseline)
    shown = series.looks(name)

    figure = Figure(figsize=(plots.WIDTH, HEIGHT))
    ratios, times, both = figure.subplots(3)
    plots.caption(figure, f"{series.caption(rows, source)}\n{RANGES}")
    labels = series.tick_labels(tables.together(by_problem), cells, rows, datasets)
    for axes, head, paint, columns in (
        (ratios, f"Speed-up over {baseline}", _ratios, []),
        (times, "Times, drawn as in the paper", _bars, ["median"]),
        (both, "The paper's times and ours", _beside_paper, ["paper", "median"]),
    ):
        unit, in_unit = series.in_unit(cells, columns)
        axes.set(title=f"{title}: {head}", ylabel=plots.time_label(unit) if columns else "Speed-up")
        plots.groups(axes, labels)
        paint(axes, shown, in_unit)
    if not (cells["status"] == "ok").any():
        plots.say_unmeasured(times)
    figure.align_ylabels()
    marks = [Line2D([], [], **look.marks) for look in shown.values()]
    figure.legend(marks, list(shown), loc="outside upper left", ncols=len(marks), handlelength=1)
    return figure


def render_figures(rows: pd.DataFrame, context: Context) -> dict[str, Drawing]:
    """Render the figure that the context names."""
    return {context.name: Drawing(lambda: draw_times(context.name, context.datasets, rows, context.source))}
