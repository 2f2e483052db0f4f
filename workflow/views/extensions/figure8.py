"""Draw Figures 8 and 9, extensions: speed over SciPy on one core, and the times of Table 6 as small multiples.

Figure 8 has whole calls from one source on some graphs: with the graph kept on the card, by ratios within jobs, and of
csgraph.dijkstra with a new array, by the archive's calls of the library. Figure 9 has kernels, whole call and
preparation, without datasets of families. Of programs of others, the fastest on a dataset is drawn.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from workflow.judge import batches, verdicts
from workflow.store import benchmarks, measurements, tables
from workflow.store.measurements import marked, substitutes
from workflow.store.tables import Datasets, of_family, part
from workflow.views import plots, render, series
from workflow.views.context import Context, Drawing
from workflow.views.extensions import table6
from workflow.views.plots import Look

# Of Figure 8: three real road networks, the largest one, and a graph of each other shape.
GRAPHS = "nyc", "bay", "nyc_time", "e", "grid2000", "rmat20", "uniform20", "geometric20", "preferential20", "dag2m"
OURS, SCIPY = "delta_stepping/near_far", "dijkstra/scipy"
NAMES = {
    "hierarchy/sssp": "hierarchy, prepared before",
    OURS: "near_far, graph kept on card",
    "dijkstra/networkit": "NetworKit on one core",
    "edge/sssp": "Edge of SParry",
    "bellman_ford/stride_flag": "Stride with Flag (paper's best)",
}
NEW_ARRAY, BASE = "near_far, a new array", "SciPy on one core"
ON_CARD, ON_CPU = "GPU programs of others", "CPU programs of others"
OTHERS = {ON_CARD: plots.OTHERS_GPU, ON_CPU: plots.OTHERS_CPU}
LOOKS = {name: plots.look_of(key) for key, name in NAMES.items()} | OTHERS | {NEW_ARRAY: plots.look_of(OURS)}
WHOLE_CALLS = f"Whole calls from vertex 0; whiskers: {verdicts.INTERVAL}, or the {verdicts.RANGE} of two batches."
HOLLOW = "Hollow: one call of csgraph.dijkstra, which also reads, checks and copies a new array; measured on"
CITED = (
    "Programs of others: the fastest of workflow/paper/peers.csv, on 16 cores or an H200 (kernels alone), by quotients "
    "of medians;\non generated graphs they searched other graphs of the same family and size."
)
TIMES_NOTE = (
    "Filled: kernels. Hollow: whole call, with its range. Cross: preparation before the call. From source 0, or from "
    "every source.\nBlock per source: SParry's kernels, one block for each source.\nPrograms of others: the fastest of "
    "workflow/paper/peers.csv, without predecessors; GPU programs ran on an H200."
)
WIDE, TEXT = 4.2, 8  # inches: the height of Figure 8; points: 14 pixels in README.md, which shows it 880 pixels wide
LOOK = plots.STYLE | {"font.size": TEXT, "xtick.labelsize": TEXT, "ytick.labelsize": TEXT}
START, NAMES_WIDTH = -0.05, 0.55  # left of Figure 8's first column, in widths of all: where lines and names begin
ON_A_LINE = 7  # graphs of Figure 8 whose names fit on a line; with more, every other name stands lower
COLUMNS, PANEL, MARGIN = 4, 1.5, 1.0  # of Figure 9; inches: the height of a panel, and of caption and margin
APART = 0.22  # between marks of one series in Figure 9, of the distance between two series
REGIONS = ("kernels", "call", "prepare")
TITLES = {"sssp": "One source", "apsp": "All pairs"}


def one_off(files: list[Path]) -> pd.Series:
    """Return by dataset how many times as fast as SciPy's a call with a new array is, from library_times.csv."""
    rows = benchmarks.LIBRARY_TIMES.read(files)
    calls = rows.groupby(["what", "dataset"])["seconds"].median().unstack("dataset").reindex(benchmarks.BESIDE_SCIPY)
    new, scipy = (calls.loc[what] for what in benchmarks.BESIDE_SCIPY)
    return (scipy / new).dropna()


def speeds(rows: pd.DataFrame, new_array: pd.Series) -> pd.DataFrame:
    """Return a row for each program and graph: name, dataset, speed over SciPy on one core, low and high, or NaN."""
    of_batches, columns = batches.medians(rows), ["name", "dataset", "speed", "low", "high"]
    scipy = part(measurements.summarise(rows)["median"], SCIPY)
    lines = [
        (name, dataset, one.value, one.low, one.high)
        for key, name in NAMES.items()
        for dataset in GRAPHS
        if (one := batches.speed_up(of_batches, key, SCIPY, dataset))
    ]
    lines += [(NEW_ARRAY, dataset, speed, np.nan, np.nan) for dataset, speed in new_array.items()]
    for gpu, cited in table6.cited(list(GRAPHS)).groupby("on card"):
        least = cited.groupby("dataset")[["kernels median", "call median"]].min().min(axis=1)
        speed = (scipy.reindex(least.index) / least).items()
        lines += [(ON_CARD if gpu else ON_CPU, dataset, value, np.nan, np.nan) for dataset, value in speed]
    return pd.DataFrame(lines, columns=columns).dropna(subset="speed")


def draw_speeds(rows: pd.DataFrame, new_array: pd.Series, source: str) -> Figure:
    """Draw Figure 8. Call it in plots.styled(LOOK)."""
    rows = measurements.select(rows, [*NAMES, SCIPY], GRAPHS)
    programs = speeds(rows, new_array)
    graphs = [name for name in GRAPHS if name in set(programs["dataset"][programs["name"] == NAMES[OURS]])]
    programs, rows = (some[some["dataset"].isin(graphs)] for some in (programs, rows))
    figure = Figure(figsize=(plots.WIDTH, WIDE))
    new = ", ".join(name for name in graphs if name in new_array.index)
    said = [series.caption(rows, source, what="geometric mean over jobs"), WHOLE_CALLS, f"{HOLLOW} {new}.", CITED]
    plots.caption(figure, "\n".join(said if new else [*said[:2], CITED]))
    axes = figure.subplots()
    axes.set_title(f"Shortest paths from one source: speed over {BASE}")
    labels = [marked(name, substitutes(rows)) for name in graphs]
    lower = "\n" if len(graphs) > ON_A_LINE else ""
    axes.set_xticks(range(len(graphs)), [i % 2 * lower + label for i, label in enumerate(labels)])
    axes.tick_params(axis="x", length=0)
    if graphs:
        _speeds(axes, programs.assign(x=programs["dataset"].map(graphs.index)), len(graphs))
    else:
        plots.say_unmeasured(axes)
    return figure


def _speeds(axes: Axes, programs: pd.DataFrame, width: int) -> None:
    """Draw the rows of `speeds` at x, with the names of the programs; width: the number of graphs."""
    axes.set_xlim(-NAMES_WIDTH * width, width - 0.3)
    axes.hlines(1, START * width, width, color=plots.BLACK, linewidth=0.8)
    plots.logarithmic(axes)
    names = [plots.Name(BASE, plots.BLACK, START * width, 1)]
    for name, cells in programs.sort_values("x").groupby("name", sort=False):
        x, speed, look = cells["x"], cells["speed"], LOOKS[name]
        hollow = plots.HOLLOW if name == NEW_ARRAY else {}
        axes.errorbar(x, speed, [speed - cells["low"], cells["high"] - speed], **look.marks | hollow)
        names.append(plots.Name(name, look.color, x.iloc[0], speed.iloc[0]))
        if name in (NAMES[OURS], NEW_ARRAY):
            for point in zip(x, speed, strict=True):
                at = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
                axes.annotate(f"{render.CROSS}{render.digits(point[1])}", point, **at)
    plots.write_names(axes, names, x=2 * START * width, ha="right")


def times(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of table6.compare, those of programs of others replaced by the fastest on each dataset."""
    cited = lines[lines["file"].notna()].copy()
    cited["who"] = np.where(cited["on card"].astype(bool), ON_CARD, ON_CPU)
    cited["time"] = cited[["kernels median", "call median"]].min(axis=1)
    least = cited.sort_values("time", kind="stable").drop_duplicates(["who", "dataset"])
    return render.stacked(lines[lines["file"].isna()], least)


def draw_times(datasets: Datasets, rows: pd.DataFrame, source: str) -> Figure:
    """Draw Figure 9. Call it in plots.styled(LOOK)."""
    table = tables.define(table6.NAME, of_family("", table6.shown(datasets, rows)))
    rows = table.select(rows)
    lines = times(table6.compare(table, rows, measurements.load_sweep("sources", [])))
    looks = {head: series.looks(table6.NAME)[head] for head in table6.columns()} | OTHERS
    height = {problem: -(-len(names) // COLUMNS) for problem, names in table.by_problem.items()}
    figure = Figure(figsize=(plots.WIDTH, PANEL * (sum(height.values()) or 1) + MARGIN))
    plots.caption(figure, f"{series.caption(rows, source, what='median')}\n{TIMES_NOTE}")
    if not any(height.values()):
        plots.say_unmeasured(figure.subplots(subplot_kw={"xticks": [], "yticks": []}))
        return figure
    grid, row = figure.add_gridspec(sum(height.values()), COLUMNS), 0
    for problem, names in table.by_problem.items():
        mine = lines[lines["dataset"].isin(names)]
        timed = mine[mine[[f"{region} median" for region in REGIONS[:2]]].notna().any(axis=1)]
        heads = [head for head in looks if head in set(timed["who"])][::-1]
        shared = None
        for i, dataset in enumerate(names):
            axes = figure.add_subplot(grid[row + i // COLUMNS, i % COLUMNS], sharex=shared)
            shared = shared or axes
            title = marked(dataset, substitutes(rows))
            axes.set_title(title if i else f"{TITLES[problem]}: {title}", fontsize=TEXT)
            _times(axes, looks, heads, mine[mine["dataset"] == dataset].set_index("who"))
            axes.tick_params(axis="y", labelleft=i % COLUMNS == 0)
        row += height[problem]
    return figure


def _times(axes: Axes, looks: dict[str, Look], heads: list[str], cells: pd.DataFrame) -> None:
    """Draw the marks of each series: kernels, below them the whole call with its range, and preparation."""
    axes.set(xscale="log", ylim=(-0.6, len(heads) - 0.4))
    axes.margins(x=0.12)
    axes.xaxis.set_major_locator(LogLocator(1000))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda time, _: f"{1e3 * time:g} ms" if time < 1 else f"{time:g} s"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(axis="x")
    axes.set_yticks(range(len(heads)), heads)
    for y, head in enumerate(heads):
        if head in cells.index:
            cell, look = cells.loc[head], {"color": looks[head].color, "markersize": 4}
            call, least, most = (cell[f"call {end}"] for end in table6.ENDS)
            axes.errorbar(call, y, xerr=[[call - least], [most - call]], marker="o", **look | {"mfc": "white"})
            axes.plot(cell["prepare"] or np.nan, y - APART, "x", **look)
            axes.plot(cell["kernels median"] if cell["on card"] else np.nan, y + APART, "o", **look)


def render_figure8(rows: pd.DataFrame, context: Context) -> dict[str, Drawing]:
    """Render both figures."""
    new_array = one_off(context.paths("library_times"))
    return {
        "figure8": Drawing(lambda: draw_speeds(rows, new_array, context.source), LOOK),
        "figure9": Drawing(lambda: draw_times(context.datasets, rows, context.source), LOOK),
    }
