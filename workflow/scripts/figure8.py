"""Draw Figure 8, our fastest beside the paper's, CPU libraries and other programs: SVG, PDF, PNG.

The times are Table 6's.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from workflow.lib import measurements, step
from workflow.scripts import figures, table6
from workflow.scripts.figures import Series

CITED = "Other programs (cited)"
SERIES = (
    Series(table6.PAPER, "Paper's best", "#0072B2", "o"),
    Series(table6.CPU, "CPU library", "#E69F00", "s"),
    Series(CITED, CITED, "0.35", "D"),
    Series(table6.OURS, "Ours", "#D55E00", "^"),
)
TITLES = {"sssp": "From one source", "apsp": "From every source"}
NOTE = (
    "An addition to the paper's own figures. What finds distances and predecessors, the graph on the device and the "
    "result left there: kernels_s + predecessors_s. Medians, with whiskers from the least to the greatest repeat. "
    "Ours and paper's best: as in Table 6. Hollow: the least time cited there, not measured by this project, without "
    "predecessors."
)


def draw(rows: pd.DataFrame, source: str) -> Figure:
    """The figure; rows: as measurements.load gives them. To be called, and saved, under figures.STYLE."""
    rows = table6.select(rows)
    found = pd.concat([table6.facts(rows), cited()])
    stand_ins = measurements.stand_ins(rows)
    figure = Figure(figsize=(figures.WIDTH, figures.HEIGHT))
    for axes, (problem, datasets) in zip(figure.subplots(len(TITLES)), table6.DATASETS.items(), strict=True):
        cells = found[found.index.isin(datasets, level="dataset")]
        _marks(axes, cells, len(datasets))
        ticks = figures.tick_labels(datasets, [one for one in SERIES if one.column != CITED], cells, stand_ins)
        axes.set_xticks(range(len(ticks)), ticks)
        axes.set_xlim(-0.5, len(ticks) - 0.5)
        axes.set_title(TITLES[problem], loc="left")
        axes.set(xlabel=figures.X_LABEL, ylabel=figures.Y_LABEL)
        axes.tick_params(axis="x", length=0)
    figures.write_below(figure, [NOTE, *measurements.origin(rows, source, table6.heads())])
    figure.align_ylabels()
    return figure


def cited() -> pd.DataFrame:
    """The least cited time of each dataset, as a row of table6.facts; the only repeat there is."""
    least = table6.cited_times().groupby("dataset").min()
    index = pd.MultiIndex.from_product([[CITED], table6.PROBLEM], names=["who", "dataset"])
    times = least.reindex(list(table6.PROBLEM)).to_numpy()
    return pd.DataFrame({"status": "ok", "median": times, "repeats": 1}, index=index)


def _marks(axes: Axes, cells: pd.DataFrame, datasets: int) -> None:
    """A mark a cell with its value, below the least of a dataset and above the others, on a logarithmic axis."""
    figures.logarithmic(axes)
    least = cells["median"].groupby("dataset", sort=False).min().to_numpy()
    handles = []
    for one, offset in figures.offsets(list(SERIES)):
        median, spread = figures.median_and_spread(cells, one.column)
        x = np.arange(datasets) + offset
        look = {"color": one.color, "marker": one.marker, "linestyle": ""}
        look |= figures.HOLLOW if one.column == CITED else {}
        axes.errorbar(x, median, spread, **look)
        handles.append(Line2D([], [], **look))
        for at, time, lowest in zip(x, median, least, strict=True):
            side, distance = ("top", -7) if time == lowest else ("bottom", 6)
            beside = {"xytext": (0, distance), "textcoords": "offset points", "ha": "center", "va": side}
            axes.annotate(figures.value(time), (at, time), **beside, fontsize=7, bbox=figures.BEFORE_GRID)
    figures.legend(axes, handles, [one.label for one in SERIES])
    low, high = np.log10([cells["median"].min(), cells["median"].max()])
    room = max(0.4, 0.2 * (high - low))
    axes.set_ylim(10 ** (low - room), 10 ** (high + room))
    axes.yaxis.set_minor_locator(NullLocator())


def write(rows: pd.DataFrame, source: str, folder: Path) -> None:
    """Write the figure's files into a folder."""
    with style.context(["default", figures.STYLE]):
        figures.save(draw(rows, source), folder / "figure8")


def main(args: argparse.Namespace) -> None:
    write(measurements.load(args.measurements), args.source, args.out_dir)


if __name__ == "__main__":
    step.run(main, step.showing_parser(__doc__, out_dir="figures"))
