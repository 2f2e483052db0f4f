"""Draw all pairs: how eccentricities and mean distances are distributed, and a map of the mean distances.

    python -m workflow.views.all_pairs_figure --measurements results/all_pairs/nyc.json --source TEXT

A panel a dataset, from its record. Beside it, with the rows of the Parquet file beside the record, a map where
--coordinates names a file of the dataset's, a DIMACS .co file:

    v 1 -73530767 41085396      vertex, from 1; longitude and latitude in millionths of a degree
"""

import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from kernels.errors import InputError
from workflow.data import download
from workflow.store import all_pairs, measurements
from workflow.views import plots
from workflow.views.all_pairs_table import notes
from workflow.views.context import Context, Drawing

PANEL = 2.3  # inches: its height
MAP_AREA = 4e4  # square points: about that of a map, which its vertices share
# By dataset: the rows of all its vertices, and the degrees of each.
Maps = Mapping[str, tuple[pd.DataFrame, np.ndarray]]


def read_coordinates(path: Path, vertices: int) -> np.ndarray:
    """float64, (vertices, 2): longitude and latitude of each vertex in degrees, from a DIMACS .co file.

    Raises InputError where the file is none, or not of so many vertices.
    """
    advice = "name the coordinates of this graph, or none"
    try:
        columns = pd.read_csv(path, sep=r"\s+", comment="c", header=None, names=["kind", "id", "x", "y"], dtype=str)
        columns = columns[columns["kind"] != "p"]
        if len(other := columns[columns["kind"] != "v"]):
            raise ValueError(f"a line that begins with {other['kind'].iloc[0]!r}")
        ids = columns["id"].astype("int64").to_numpy()
        places = columns[["x", "y"]].astype("int64").to_numpy()
    except (OSError, EOFError, ValueError, zlib.error) as error:  # pandas' errors are ValueErrors
        raise InputError(f"{path}: not a DIMACS .co file ({error}): {advice}") from None
    if not np.array_equal(np.sort(ids), np.arange(1, vertices + 1)):
        raise InputError(f"{path}: has {len(ids):,} lines of vertices, not 1 to {vertices:,} once each: {advice}")
    degrees = np.empty((vertices, 2))
    degrees[ids - 1] = places / 1e6
    return degrees


def distributions(axes: Axes, found: dict[str, list]) -> None:
    """Histograms of eccentricities and mean distances; found: as all_pairs.distribution gives it."""
    for name, look in zip(("eccentricity", "mean_distance"), plots.BARS, strict=False):
        label = name.replace("_", " ")
        axes.stairs(found[name], found["edges"], fill=True, alpha=0.5, color=look.color, label=label)
    axes.set(xlabel="distance", ylabel="vertices", ylim=(0, None))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(plots.plain))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    plots.legend(axes, *axes.get_legend_handles_labels(), handlelength=1.5)


def draw_map(axes: Axes, rows: pd.DataFrame, degrees: np.ndarray) -> None:
    """A point a vertex, coloured by its mean distance to the others: the central ones are bright."""
    longitude, latitude = degrees.T
    size = np.clip(MAP_AREA / len(rows), 0.1, 20)
    points = axes.scatter(
        *(longitude, latitude, size, all_pairs.closeness(rows)), cmap="viridis_r", linewidths=0, rasterized=True
    )
    axes.set(xlabel="longitude", ylabel="latitude", aspect=1 / max(0.1, np.cos(np.radians(latitude.mean()))))
    axes.grid(False)
    bar = axes.figure.colorbar(points, ax=axes, label="mean distance")
    bar.formatter = FuncFormatter(plots.plain)


def picture(wholes: list[dict], maps: Maps, source: str) -> Figure:
    """The figure, to be called in plots.styled()."""
    figure = Figure(figsize=(plots.WIDTH, PANEL * len(wholes) + 1))
    grid = figure.subplots(len(wholes), 2 if maps else 1, squeeze=False)
    substitutes = measurements.substitutes(pd.DataFrame(wholes))
    for panels, whole in zip(grid, wholes, strict=True):
        panels[0].set_title(measurements.marked(whole["dataset"], substitutes))
        distributions(panels[0], whole["distribution"])
        if whole["dataset"] in maps:
            draw_map(panels[1], *maps[whole["dataset"]])
        elif maps:
            panels[1].set_axis_off()
    plots.caption(figure, " ".join(notes(wholes, source)))
    return figure


def view(rows: pd.DataFrame, context: Context) -> dict[str, Drawing]:
    """Render the figure of the records of all pairs, with a map of each whose coordinates are there; rows: none."""
    wholes, maps = [], {}
    for record in context.paths("all_pairs"):
        wholes.append(whole := all_pairs.read_record(record, "whole"))
        name = whole["dataset"]
        for path in context.paths(f"coordinates of {name}"):
            entry = {"format": "dimacs", **context.config["datasets"][name]["coordinates"]}
            download.verify_raw(path, f"{name}.coordinates", entry)
            maps[name] = all_pairs.read_whole(record.with_suffix(".parquet")), read_coordinates(path, whole["vertices"])
    return {"all_pairs": Drawing(lambda: picture(wholes, maps, context.source))}
