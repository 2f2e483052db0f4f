"""Draw Figure 8, an extension: our fastest beside the paper's best, SParry's, CPU libraries and other programs.

It shows the times of Table 6, without datasets of families: of kernels (graph and result on the device), of whole calls
with copies, and of preparation, in panels of their own. A CPU's time stands beside whole calls. Of cited programs the
least time on a dataset is drawn.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from workflow.store import measurements
from workflow.store.tables import Datasets, define, of_family, part
from workflow.views import plots, render, series
from workflow.views.context import Context, Drawing
from workflow.views.extensions import table6
from workflow.views.plots import Look

ON_CARD, ON_CPU = "GPU programs (cited)", "CPU programs (cited)"
NOTE = (
    "Filled: from source 0, or from every source. Hollow: from any source, the median over many.\n"
    "Block per source: SParry's kernels, one block for each source.\n"
    "Bars: least and greatest. Preparation: before the whole call; no mark where it was not recorded.\n"
    "Cited, not measured here: the fastest program of workflow/paper/peers.csv, without predecessors;\n"
    "GPU programs ran on an H200."
)
CITED = {"kernels": {ON_CARD: Look(plots.GREY, "D")}, "call": {ON_CPU: Look(plots.BLACK, "p")}}
LOOK_OF_OURS = Look(plots.VERMILION, "^")
TITLES = {"sssp": "One source", "apsp": "Every source"}
REGIONS = {"kernels": "kernels", "call": "whole call", "prepare": "preparation"}
HEIGHT, LABEL, LABEL_LINE = 17, 2, 0.15  # inches if labels below a panel have LABEL lines; of each further line
DECADES = 1000  # the least part of an axis of time
VALUE = 9  # points: 15 pixels if the figure is 880 wide, as README.md shows it
LOOK = plots.STYLE | {
    "font.size": 9,
    "legend.fontsize": VALUE,
    "xtick.labelsize": VALUE,
    "ytick.labelsize": VALUE,
    "axes.titlesize": 10,
}
LETTERS = {"sssp": series.LINE, "apsp": series.LINE // 2 - 6}  # of a line below a panel, whole or half as wide
TIMES = {"median": "median", "min": "min", "max": "max", "any": "any source median"}


def heads(region: str, present: Collection[str] = table6.OPTIONAL) -> dict[str, Look]:
    """Return the series of a panel from left to right: Table 6's, the cited, ours.

    Those of table6.OPTIONAL are series only if they are present.
    """
    shown = plots.looks(plots.MARKS, [head for head in table6.columns() if head != table6.OURS])
    shown = {head: look for head, look in shown.items() if head in present or head not in table6.OPTIONAL}
    if region == "kernels":
        shown = {head: look for head, look in shown.items() if head in table6.on_card()}
    return shown | CITED.get(region, {}) | {table6.OURS: LOOK_OF_OURS}


def ratio_cells(lines: pd.DataFrame, region: str) -> pd.DataFrame:
    """Return a row for each series on each dataset, indexed by (head, dataset): TIMES (s), repeats, untimed."""
    times = {name: "prepare" if region == "prepare" else f"{region} {column}" for name, column in TIMES.items()}
    cells = pd.DataFrame({name: lines[column] for name, column in times.items()})
    if region == "prepare":
        cells["any"] = np.nan
    cells["untimed"] = series.untimed(lines)
    cells = cells.assign(head=lines["who"], dataset=lines["dataset"], repeats=lines["repeats"].fillna(1))
    cited = lines["file"].notna()
    least = cells[cited].groupby("dataset", sort=False)[["median", "any"]].min().reset_index()
    least = least.assign(head=next(iter(CITED.get(region, {})), ""), repeats=1, untimed="")
    shown = heads(region, set(lines["who"]))
    every = pd.MultiIndex.from_product([shown, lines["dataset"].unique()], names=["head", "dataset"])
    both = render.stacked(cells[~cited], least)
    return both.set_index(["head", "dataset"]).reindex(every).fillna({"untimed": ""})


def draw_ratios(datasets: Datasets, rows: pd.DataFrame, searches: pd.DataFrame, source: str) -> Figure:
    """Draw the figure. Call it in plots.styled(LOOK)."""
    table = define(table6.NAME, of_family("", table6.shown(datasets, rows)))
    rows = table.select(rows)
    lines = table6.compare(table, rows, searches)
    figure = Figure(figsize=(plots.WIDTH, HEIGHT))
    plots.caption(figure, f"{series.caption(rows, source, what='median')}\n{NOTE}")
    _legend(figure, set(lines["who"]))
    grid = figure.add_gridspec(5, 2)
    places = {"sssp": [grid[row, :] for row in range(3)], "apsp": [grid[3, 0], grid[3, 1], grid[4, 0]]}
    unit, factor = plots.unit(lines[["kernels median", "call median", "prepare"]].to_numpy(float).ravel())
    points, lines_below = {}, dict.fromkeys(range(5), LABEL)  # the lines by row of panels
    for problem, title in TITLES.items():
        names = table.by_problem.get(problem, ())
        panels = [figure.add_subplot(place) for place in places[problem]]
        for axes, (region, what) in zip(panels, REGIONS.items(), strict=True):
            mine = ratio_cells(lines[lines["dataset"].isin(names)], region)
            axes.set(title=f"{title}: {what}")
            labels = series.tick_labels(names, mine, rows, table.entries, LETTERS[problem])
            plots.groups(axes, labels)
            row = axes.get_subplotspec().rowspan.start
            lines_below[row] = max([lines_below[row], *(1 + label.count("\n") for label in labels)])
            scaled = mine.assign(**{name: factor * mine[name] for name in TIMES})
            points[axes] = _marks(axes, heads(region, set(mine.index.get_level_values("head"))), names, scaled)
        _one_scale(panels, unit)
    figure.set_figheight(HEIGHT + LABEL_LINE * sum(count - LABEL for count in lines_below.values()))
    for axes, marks in points.items():  # when everything has its place
        texts = [plots.digits(time) if named else "" for _, time, named in marks]
        plots.write_values(axes, *marks.T[:2], texts, plots.AROUND, size=VALUE)
    return figure


def _marks(axes: Axes, shown: dict[str, Look], names: Collection[str], cells: pd.DataFrame) -> np.ndarray:
    """Draw a mark for each cell on a logarithmic axis; return x, y and whether its value is written, a row each."""
    points = [np.empty((0, 3))]
    for (head, look), offset in zip(shown.items(), plots.offsets(len(shown)), strict=True):
        mine = part(cells, head).reindex(list(names))
        median, spread = plots.medians(mine)
        x = np.arange(len(names)) + offset
        axes.errorbar(x, median, spread, **look.marks)
        beside, any_source = x + 0.25 * plots.GROUP / len(shown), mine["any"].to_numpy(float)
        axes.plot(beside, any_source, **{**look.marks, **plots.HOLLOW, "markersize": 4})
        points.append(np.column_stack([x, median, np.ones(len(x))]))
        points.append(np.column_stack([beside, any_source, np.zeros(len(x))]))
    plots.logarithmic(axes, margin=0.2)
    return np.concatenate(points)


def _one_scale(panels: list[Axes], unit: str) -> None:
    """Give a problem's panels the same axis of time, named once for those side by side."""
    drawn = [axes for axes in panels if not np.isnan(axes.dataLim.ymin) and axes.dataLim.ymax > 0]
    ends = np.array([axes.get_ylim() for axes in drawn] or [(1, DECADES)])
    low, high = ends[:, 0].min(), ends[:, 1].max()
    wider = max(1, np.sqrt(DECADES / (high / low)))  # so that only powers of ten are named
    for axes in panels:
        axes.set_ylim(low / wider, high * wider)
        first = axes.get_subplotspec().is_first_col()
        axes.set_ylabel(plots.time_label(unit) if first else "")
        axes.tick_params(axis="y", which="both", labelleft=first)
        if axes not in drawn:
            plots.say_unmeasured(axes)


def _legend(figure: Figure, present: set[str]) -> None:
    """Draw one legend for all panels, above them."""
    shown = {**heads("kernels", present), **heads("call", present)}
    order = [head for head in shown if head != table6.OURS] + [table6.OURS]
    marks = [Line2D([], [], **shown[head].marks) for head in order]
    figure.legend(marks, order, loc="outside upper left", ncols=-(-len(order) // 2), handlelength=1, columnspacing=1)


def render_figure8(rows: pd.DataFrame, context: Context) -> dict[str, Drawing]:
    """Render the figure."""
    searches = measurements.load_sweep("sources", context.paths("sources"))
    return {"figure8": Drawing(lambda: draw_ratios(context.datasets, rows, searches, context.source), LOOK)}
