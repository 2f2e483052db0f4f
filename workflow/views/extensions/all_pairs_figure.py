"""Draw all pairs: histograms of eccentricities and mean distances, and a map of the mean distances.

A dataset with a DIMACS .co file has a map, of the rows in the Parquet file beside its record.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from kernels.io import read_coordinates
from workflow.data import download
from workflow.store import all_pairs, measurements
from workflow.views import plots
from workflow.views.context import Context, Drawing
from workflow.views.extensions.all_pairs_table import notes

PANEL = 2.3  # height in inches
UNIT = "arc lengths of the graph's file"  # which for DIMACS' road networks name no unit
MAP_AREA = 4e4  # square points, about the area of a map; divided among its vertices


def distributions(axes: Axes, distribution: dict[str, list]) -> None:
    """Draw what all_pairs.distribution found."""
    for name, color in (("eccentricity", plots.BLUE), ("mean_distance", plots.ORANGE)):
        label = name.replace("_", " ")
        axes.stairs(distribution[name], distribution["edges"], fill=True, alpha=0.5, color=color, label=label)
    axes.set(xlabel=f"distance ({UNIT})", ylabel="vertices", ylim=(0, None))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(plots.plain))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    plots.legend(axes, *axes.get_legend_handles_labels(), handlelength=1.5)


def draw_map(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw a point for each vertex, at x and y, coloured by its mean distance to the others."""
    size = np.clip(MAP_AREA / len(rows), 0.1, 20)
    look = {"cmap": "viridis_r", "linewidths": 0, "rasterized": True}
    points = axes.scatter(rows["x"], rows["y"], size, all_pairs.closeness(rows), **look)
    axes.set(xlabel="longitude", ylabel="latitude", aspect=1 / max(0.1, np.cos(np.radians(rows["y"].mean()))))
    axes.grid(False)
    bar = axes.figure.colorbar(points, ax=axes, label=f"mean distance\n({UNIT})")
    bar.formatter = FuncFormatter(plots.plain)


def picture(wholes: list[dict], maps: Mapping[str, pd.DataFrame], source: str) -> Figure:
    """Draw the figure, in plots.styled(). maps: of some datasets, the rows of the vertices with their x and y."""
    figure = Figure(figsize=(plots.WIDTH, PANEL * len(wholes) + 1))
    grid = figure.subplots(len(wholes), 2 if maps else 1, squeeze=False)
    parts = all_pairs.parts(wholes)
    for (left, *right), whole in zip(grid, wholes, strict=True):
        left.set_title(measurements.marked(whole["dataset"], measurements.substitutes(parts)))
        distributions(left, whole["distribution"])
        for axes in right:
            if whole["dataset"] in maps:
                draw_map(axes, maps[whole["dataset"]])
            else:
                axes.set_axis_off()
    plots.caption(figure, " ".join(notes(parts, source)))
    return figure


def render_all_pairs_figure(rows: pd.DataFrame, context: Context) -> dict[str, Drawing]:
    """Render the figure of the records of all pairs."""
    paths, maps = context.paths("all_pairs"), {}
    for record in paths:
        for path in context.paths(f"coordinates of {record.stem}"):
            entry = {"format": "dimacs", **context.config["datasets"][record.stem]["coordinates"]}
            download.verify_raw(path, f"{record.stem}.coordinates", entry)
            vertices = all_pairs.read_rows(record.with_suffix(".parquet"))
            maps[record.stem] = vertices.join(pd.DataFrame(read_coordinates(path, len(vertices)), columns=["x", "y"]))
    wholes = [all_pairs.read_record(path) for path in paths]
    return {"all_pairs": Drawing(lambda: picture(wholes, maps, context.source))}
