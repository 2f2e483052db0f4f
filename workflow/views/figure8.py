"""Draw Figure 8: our fastest beside the paper's best, SParry's, CPU libraries and other programs: SVG, PDF, PNG.

It is no figure of the paper. It shows what Table 6 says, but for datasets of families: times of kernels, with the graph
on the device and the result left there, of whole calls with copies, and of preparation before them, in panels of their
own; a CPU's time stands beside whole calls. Of several variants under one head the fastest on a dataset is drawn, of
cited programs the least time.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from workflow.store import measurements
from workflow.views import plots, series, table6
from workflow.views.context import Context, Drawing
from workflow.views.plots import Look
from workflow.views.render import status_text
from workflow.views.tables import Datasets, datasets_of, define, of_family

PLACE, TABLE = "figure8", table6.NAME
ON_CARD, ON_CPU = "GPU programs (cited)", "CPU programs (cited)"
NOTE = (
    "Filled: from source 0, or from every source. Hollow: from any source, the median over many.\n"
    "Bars: least and greatest. Preparation: before the whole call; no mark where it was not recorded.\n"
    "Cited, not measured here: the fastest program of workflow/paper/peers.csv, without predecessors; GPU programs ran "
    "on an H200."
)
LOOKS_OF_CITED = {ON_CARD: Look(plots.GREY, "D"), ON_CPU: Look(plots.BLACK, "p")}
CITED = {"kernels": ON_CARD, "call": ON_CPU}
LOOK_OF_OURS = Look(plots.VERMILION, "^")
TITLES = {"sssp": "One source", "apsp": "Every source"}
REGIONS = {"kernels": "kernels", "call": "whole call", "prepare": "preparation"}
HEIGHT, DECADES = 12.5, 1000  # inches; the least part of an axis of time
LETTERS = {"sssp": series.LINE, "apsp": series.LINE // 2 - 6}  # of a line below a panel, whole or half as wide
TIMES = {"median": "median", "min": "min", "max": "max", "any": "any source median"}


def heads(region: str, present: Collection[str] = table6.OPTIONAL) -> dict[str, Look]:
    """The series of a panel from left to right: the registry's, then the cited times, ours last.

    present: what is there; of table6.OPTIONAL only these are series.
    """
    shown = plots.looks(plots.MARKS, [head for head in table6.columns(PLACE) if head != table6.OURS])
    shown = {head: look for head, look in shown.items() if head in present or head not in table6.OPTIONAL}
    if region == "kernels":
        shown = {head: look for head, look in shown.items() if head in table6.on_card(PLACE)}
    cited = CITED.get(region)
    return {**shown, **({cited: LOOKS_OF_CITED[cited]} if cited else {}), table6.OURS: LOOK_OF_OURS}


def cells(lines: pd.DataFrame, region: str) -> pd.DataFrame:
    """A row for each of heads() on each dataset, indexed by (head, dataset): TIMES (s), repeats, untimed (words).

    lines: as table6.compare gives them.
    """
    cited = lines["file"].notna()
    times = {name: "prepare" if region == "prepare" else f"{region} {column}" for name, column in TIMES.items()}
    found = pd.DataFrame({name: lines[column] for name, column in times.items()})
    if region == "prepare":
        found["any"] = np.nan
    found = found.assign(head=lines["who"], dataset=lines["dataset"], repeats=lines["repeats"].fillna(1))
    found["untimed"] = ["" if line["status"] == "ok" else status_text(line) for _, line in lines.iterrows()]
    least = found[cited].groupby("dataset", sort=False)[["median", "any"]].min().reset_index()
    least = least.assign(head=CITED.get(region, ""), repeats=1, untimed="")
    shown = heads(region, set(lines["who"]))
    every = pd.MultiIndex.from_product([shown, lines["dataset"].unique()], names=["head", "dataset"])
    both = pd.concat([part for part in (found[~cited], least) if len(part)] or [found])
    return both.set_index(["head", "dataset"]).reindex(every).fillna({"untimed": ""})


def draw(datasets: Datasets, rows: pd.DataFrame, searches: pd.DataFrame, source: str) -> Figure:
    """The figure; rows: as measurements.load gives them, searches: as sources.load. To be called in plots.styled()."""
    datasets = of_family("", table6.shown(datasets, rows))
    by_problem = datasets_of(TABLE, datasets)
    rows = series.select(PLACE, by_problem, rows)
    lines = table6.compare(define(TABLE, datasets), rows, searches, PLACE)
    figure = Figure(figsize=(plots.WIDTH, HEIGHT))
    plots.caption(figure, f"{series.caption(rows, source, what='median')}\n{NOTE}")
    _legend(figure, set(lines["who"]))
    grid = figure.add_gridspec(5, 2)
    places = {"sssp": [grid[row, :] for row in range(3)], "apsp": [grid[3, 0], grid[3, 1], grid[4, 0]]}
    unit, factor = plots.unit(lines[["kernels median", "call median", "prepare"]].to_numpy(float).ravel())
    panels = []
    for problem, title in TITLES.items():
        names = by_problem.get(problem, ())
        for place, (region, what) in zip(places[problem], REGIONS.items(), strict=True):
            axes = figure.add_subplot(place)
            mine = cells(lines[lines["dataset"].isin(names)], region)
            axes.set(title=f"{title}: {what}")
            plots.groups(axes, series.tick_labels(names, mine, rows, datasets, LETTERS[problem]))
            scaled = mine.assign(**{name: factor * mine[name] for name in TIMES})
            shown = heads(region, set(mine.index.get_level_values("head")))
            panels.append((axes, _marks(axes, shown, list(names), scaled)))
        _one_scale([axes for axes, _ in panels[-len(REGIONS) :]], unit)
    for axes, points in panels:  # when everything has its place
        texts = [plots.digits(time) if named else "" for _, time, named in points]
        plots.write_values(axes, *points.T[:2], texts, plots.AROUND)
    return figure


def _marks(axes: Axes, shown: dict[str, Look], names: list[str], cells: pd.DataFrame) -> np.ndarray:
    """A mark for each cell on a logarithmic axis; returns where they are, a row each, with whether it is named."""
    points = [np.empty((0, 3))]
    for (head, look), offset in zip(shown.items(), plots.offsets(len(shown)), strict=True):
        mine = series.of(cells, head).reindex(names)
        median, spread = plots.medians(mine)
        x = np.arange(len(names)) + offset
        drawn = {"color": look.color, "marker": look.marker, "linestyle": ""}
        axes.errorbar(x, median, spread, **drawn)
        beside = x + 0.25 * plots.GROUP / len(shown)
        axes.plot(beside, mine["any"], **{**drawn, **plots.HOLLOW, "markersize": 4})
        points.append(np.column_stack([x, median, np.ones(len(x))]))
        points.append(np.column_stack([beside, mine["any"].to_numpy(float), np.zeros(len(x))]))
    plots.logarithmic(axes, margin=0.15)
    return np.concatenate(points)


def _one_scale(panels: list[Axes], unit: str) -> None:
    """A problem's panels with the same axis of time, named once where they are side by side."""
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
    """One for all panels, above them."""
    shown = {**heads("kernels", present), **heads("call", present)}
    order = [head for head in shown if head != table6.OURS] + [table6.OURS]
    marks = [Line2D([], [], color=shown[head].color, marker=shown[head].marker, linestyle="") for head in order]
    figure.legend(marks, order, loc="outside upper left", ncols=len(order), handlelength=1, columnspacing=1)


def view(rows: pd.DataFrame, context: Context) -> dict[str, Drawing]:
    """Render the figure; rows: as measurements.load gives them."""
    searches = measurements.load_sweep("sources", context.paths("sources"))
    return {PLACE: Drawing(lambda: draw(context.datasets, rows, searches, context.source))}
