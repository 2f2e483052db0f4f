"""Draw New York by travel time, for docs/travel-times.md: the mean from all vertices, and isochrones of three places.

The pictures show a small file of the archive: times on a grid of square cells, from which the road network cannot be
made. `measured` makes the grid from all pairs of nyc_time, the positions of its vertices and a search from each place.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure
from scipy.spatial import KDTree

import kernels
from kernels.errors import InputError
from kernels.graph import Graph
from kernels.io import atomic, read_coordinates
from workflow.store import all_pairs
from workflow.views import plots

DATASET, MEAN = "nyc_time", "mean"
# A weight of 1 is the time for 0.1 m on the fastest of four classes of roads, on which we assume 100 km/h. On the other
# classes, the speeds of the file are 80, 60 and 40 % of this.
A_MINUTE = 1e6 / 60
PLACES = {
    "Times Square": (-73.9857, 40.7580),
    "JFK Airport": (-73.7781, 40.6413),
    "Newark Airport": (-74.1745, 40.6895),
}
TOWNS = {"Staten Island": (-74.150, 40.580), "Brooklyn": (-73.950, 40.645), "Newark": (-74.172, 40.736)}
TOWNS |= {"Bronx": (-73.865, 40.850), "White Plains": (-73.765, 41.034), "Hempstead": (-73.619, 40.706)}
A_DEGREE = np.array([84.3, 111.2])  # km, of longitude at New York and of latitude
CELL, REACH = 0.2, 0.5  # km: the side of a cell, and how far from its centre the nearest vertex may be
STEPS = 4  # in a minute: times are stored as whole numbers of steps, plus 1; 0 is a cell without a vertex in reach
BANDS = range(0, 61, 10)  # minutes, of isochrones
DARKEST = 97  # the percentile of mean times from which on cells have the darkest colour
LOOK = plots.STYLE | {"font.size": 10, "axes.titlesize": 10, "axes.titlelocation": "center", "savefig.dpi": 150}
HALO = [patheffects.withStroke(linewidth=2.5, foreground="white")]


class Grid(NamedTuple):
    """Times on a grid. Field names are the keys in the file."""

    corner: np.ndarray  # float64, (2,): longitude and latitude of the lower left corner
    names: np.ndarray  # str, (k,): MEAN, then those of PLACES
    times: np.ndarray  # uint16, (k, rows, columns): see STEPS; the first row is the southernmost

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Return left, right, bottom and top in km from the corner."""
        rows, columns = self.times.shape[1:]
        return 0, columns * CELL, 0, rows * CELL

    def minutes(self, name: str) -> np.ma.MaskedArray:
        """Return the times of a name; cells without a vertex in reach are masked."""
        layer = np.ma.masked_equal(self.times[self.names.tolist().index(name)], 0)
        return (layer.astype(float) - 1) / STEPS

    def at(self, degrees: tuple[float, float]) -> np.ndarray:
        """Return x and y of a place in km from the corner."""
        return (np.array(degrees) - self.corner) * A_DEGREE

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic(path) as file:
            np.savez_compressed(file, **self._asdict())

    @classmethod
    def read(cls, path: Path) -> Grid:
        try:
            with np.load(path, allow_pickle=False) as arrays:
                return cls(*(arrays[name] for name in cls._fields))
        except (OSError, ValueError, KeyError) as error:
            files = f"results/all_pairs/{DATASET}.parquet and .json"
            wanted = f"run snakemake all_pairs on a machine with a GPU, copy {files} here, and run again"
            raise InputError(f"{path}: no grid of travel times ({error}): {wanted}") from None


def mean_time_grid(rows: Path, coordinates: Path, graph: Graph) -> Grid:
    """Return the grid of the rows of all pairs of a graph, of which `coordinates` has the positions."""
    record = all_pairs.read_record(rows.with_suffix(".json"))
    if {part["dataset_sha256"] for part in record["parts"]} != {graph.meta["sha256"]}:
        raise InputError(f"{rows}: of another graph than {graph.file}: delete one of the two and run again")
    vertices = all_pairs.read_rows(rows)
    degrees = read_coordinates(coordinates, graph.vertices)
    sources = KDTree(degrees * A_DEGREE).query(np.array(list(PLACES.values())) * A_DEGREE)[1]
    from_places = kernels.distances(graph, sources).distances
    units = {MEAN: all_pairs.closeness(vertices).to_numpy(), **dict(zip(PLACES, from_places, strict=True))}
    return on_grid(degrees, {name: of_name / A_MINUTE for name, of_name in units.items()})


def on_grid(degrees: np.ndarray, minutes: Mapping[str, np.ndarray]) -> Grid:
    """Give each cell the times of the vertex nearest to its centre. degrees: longitude and latitude, (n, 2)."""
    corner = degrees.min(axis=0)
    km = (degrees - corner) * A_DEGREE
    columns, rows = (int(size // CELL) + 1 for size in km.max(axis=0))
    centres = np.indices((rows, columns))[::-1].reshape(2, -1).T * CELL + CELL / 2
    _, nearest = KDTree(km).query(centres, distance_upper_bound=REACH)
    layers = []
    for of_name in minutes.values():
        steps = np.append(np.where(np.isfinite(of_name), np.rint(of_name * STEPS) + 1, 0), 0)  # the last: none in reach
        layers.append(steps.astype(np.uint16)[nearest].reshape(rows, columns))
    return Grid(corner, np.array(list(minutes)), np.stack(layers))


def show(axes: Axes, grid: Grid, name: str, **look):
    """Draw the times of a name, without axes, and return the image."""
    image = axes.imshow(grid.minutes(name), origin="lower", extent=grid.extent, interpolation="nearest", **look)
    axes.set_axis_off()
    return image


def scale(axes: Axes, grid: Grid, km: int) -> None:
    """Draw a bar of some km in the lower right corner."""
    right = grid.extent[1] - 3
    axes.plot([right - km, right], [3, 3], color="0.2", linewidth=2, solid_capstyle="butt")
    axes.text(right - km / 2, 4.5, f"{km} km", ha="center", va="bottom", color="0.2")


def draw_mean(grid: Grid) -> Figure:
    """Draw the mean time of each cell. Call it in plots.styled(LOOK)."""
    figure = Figure(figsize=(6, 6.6))
    axes = figure.subplots()
    most = np.percentile(grid.minutes(MEAN).compressed(), DARKEST)
    image = show(axes, grid, MEAN, cmap="viridis_r", vmax=most)
    label = "mean travel time from all crossings (minutes)"
    figure.colorbar(image, ax=axes, shrink=0.6, aspect=25, pad=0.02, label=label, extend="max")
    for name, degrees in TOWNS.items():
        axes.text(*grid.at(degrees), name, ha="center", va="center", color="0.1", path_effects=HALO)
    scale(axes, grid, 20)
    return figure


def draw_isochrones(grid: Grid) -> Figure:
    """Draw the time from each place in bands. Call it in plots.styled(LOOK)."""
    figure = Figure(figsize=(6, 3.4))
    panels = figure.subplots(1, len(PLACES))
    norm = BoundaryNorm(list(BANDS), 256, extend="max")
    for axes, (name, degrees) in zip(panels, PLACES.items(), strict=True):
        image = show(axes, grid, name, cmap="viridis_r", norm=norm)
        axes.set_title(f"from {name}")
        x, y = grid.at(degrees)
        axes.plot(x, y, "*", color=plots.VERMILION, markersize=9, markeredgecolor="white", markeredgewidth=0.8)
    scale(panels[-1], grid, 20)
    figure.colorbar(image, ax=panels, location="bottom", aspect=40, shrink=0.7, pad=0.03, label="travel time (minutes)")
    return figure


PICTURES = {"new-york.png": draw_mean, "new-york-isochrones.png": draw_isochrones}


def draw_maps(grid: Grid, folder: Path) -> None:
    """Write PICTURES into a folder."""
    with plots.styled(LOOK):
        for name, picture in PICTURES.items():
            with atomic(folder / name) as file:
                picture(grid).savefig(file, format="png")
