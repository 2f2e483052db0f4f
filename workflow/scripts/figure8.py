"""Draw Figure 8: our fastest beside the paper's best, SParry's, CPU libraries and other programs: SVG, PDF, PNG.

It is no figure of the paper. Times are what finds distances and predecessors, with the graph on the device and the
result left there: kernels_s + predecessors_s, on a CPU what the library takes. Of several variants under one head the
fastest on a dataset is drawn. Times of other programs are cited (workflow/paper/peers.csv): the least of each dataset,
without predecessors.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from workflow.lib import measurements, plots, series, step
from workflow.lib.plots import Look
from workflow.lib.tables import Datasets, datasets_of
from workflow.scripts import table6

PLACE, TABLE = "figure8", "table6"
CITED = "Other programs (cited)"
CITED_FROM = "Cited: as published in workflow/paper/peers.csv and peers.yaml, not measured here."
LOOK_OF_CITED, LOOK_OF_OURS = Look(plots.GREY, "D"), Look(plots.VERMILION, "^")
TITLES = {"sssp": "From one source", "apsp": "From every source"}
HEIGHT = 6.4  # inches


def heads() -> dict[str, Look]:
    """The series from left to right: the registry's, then the cited times, ours last."""
    ours = [head for head, variants in series.heads(PLACE).items() if any(variant.ours for variant in variants)]
    others = [head for head in series.heads(PLACE) if head not in ours]
    return {**plots.looks(plots.MARKS, others), CITED: LOOK_OF_CITED, **dict.fromkeys(ours, LOOK_OF_OURS)}


def cells(names: series.ByProblem, rows: pd.DataFrame) -> pd.DataFrame:
    """As series.cells, of these times; with the cited ones. rows: as series.select gives them."""
    measured = series.cells(PLACE, names, rows.assign(seconds=rows["kernels_s"] + rows["predecessors_s"]))
    least = table6.cited_times().groupby("dataset").min()
    cited = pd.DataFrame({"status": "ok", "untimed": "", "median": least, "repeats": 1})
    cited.index = pd.MultiIndex.from_product([[CITED], least.index], names=["head", "dataset"])
    return pd.concat([measured, cited])


def draw(datasets: Datasets, rows: pd.DataFrame, source: str) -> Figure:
    """The figure; rows: as measurements.load gives them. To be called in plots.styled()."""
    by_problem = datasets_of(TABLE, datasets)
    rows = series.select(PLACE, by_problem, rows)
    found, shown = cells(by_problem, rows), heads()
    figure = Figure(figsize=(plots.WIDTH, HEIGHT))
    plots.caption(figure, f"{series.caption(rows, source, what='median')}\n{CITED_FROM}")
    panels = []
    for axes, (problem, title) in zip(figure.subplots(len(TITLES)), TITLES.items(), strict=True):
        names = by_problem.get(problem, ())
        mine = found[found.index.isin(names, level="dataset")]
        unit, in_unit = series.in_unit(mine, ["median"])
        axes.set(title=title, ylabel=plots.time_label(unit))
        plots.groups(axes, series.tick_labels(names, mine, rows, datasets))
        panels.append((axes, _marks(axes, shown, names, in_unit)))
    figure.align_ylabels()
    for axes, points in panels:  # when everything has its place
        plots.write_values(axes, *points.T, [plots.digits(time) for _, time in points], plots.AROUND)
    return figure


def _marks(axes: Axes, shown: dict[str, Look], names: Sequence[str], cells: pd.DataFrame) -> np.ndarray:
    """A mark for each cell on a logarithmic axis; returns where they are, a row each."""
    handles, points = [], []
    for (head, look), offset in zip(shown.items(), plots.offsets(len(shown)), strict=True):
        median, spread = plots.medians(series.of(cells, head).reindex(names))
        x = np.arange(len(names)) + offset
        drawn = {"color": look.color, "marker": look.marker, "linestyle": ""}
        drawn |= plots.HOLLOW if head == CITED else {}
        axes.errorbar(x, median, spread, **drawn)
        handles.append(Line2D([], [], **drawn))
        points.append(np.column_stack([x, median]))
    plots.logarithmic(axes, margin=0.15)
    plots.legend(axes, handles, list(shown), handlelength=1)
    return np.concatenate(points)


def write(
    datasets: Datasets, rows: pd.DataFrame, source: str, folder: Path, formats: Collection[str] = plots.FORMATS
) -> None:
    """Write the figure's files into a folder."""
    plots.write(folder / PLACE, lambda: draw(datasets, rows, source), formats)


def main(args: argparse.Namespace) -> None:
    write(args.datasets, measurements.load(args.measurements), args.source, args.out_dir)


if __name__ == "__main__":
    arguments = step.showing_parser(__doc__, out_dir="figures")
    step.add_datasets(arguments)
    step.run(main, arguments)
