"""The grid of travel times of New York is kept in the archive, and its pictures are drawn from it."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from matplotlib.testing.compare import compare_images
from scipy.sparse import csgraph

from kernels import io
from kernels.errors import InputError
from tests.support import graphs
from tests.support.project import SIMULATOR, Project
from workflow.views.extensions import new_york
from workflow.views.extensions.new_york import A_DEGREE, A_MINUTE, CELL, MEAN, PLACES, STEPS, Grid

ROOT = Path(__file__).parents[4]
KEPT = ROOT / "results/archive/h200/all_pairs/nyc_time.npz"
DEGREES = np.array([[-74.0, 40.7], [-74.0, 40.72], [-73.97, 40.7]])  # 2.2 km to the north of the first, 2.5 to the east


def cell_of(grid, degrees):
    column, row = grid.at(degrees) // CELL
    return int(row), int(column)


def test_a_cell_has_the_time_of_the_nearest_vertex_in_reach_and_no_time_without_one(tmp_path):
    made = new_york.on_grid(DEGREES, {MEAN: np.array([3.0, np.inf, 0.24]), "Harbour": np.array([0, 60, 120.5])})
    made.write(tmp_path / "new/grid.npz")
    grid = Grid.read(tmp_path / "new/grid.npz")
    first, second, third = (cell_of(grid, degrees) for degrees in DEGREES)
    mean, harbour = grid.minutes(MEAN), grid.minutes("Harbour")
    assert mean[first] == 3 and mean[third] == pytest.approx(0.24, abs=0.5 / STEPS)
    assert mean[second] is np.ma.masked  # a vertex that is not reached
    assert [harbour[at] for at in (first, second, third)] == [0, 60, 120.5]
    beside = (first[0], first[1] + 1)
    assert mean[beside] == 3 and mean[first[0], third[1] // 2] is np.ma.masked  # no vertex in reach
    left, right, bottom, top = grid.extent
    assert (left, bottom) == (0, 0) and right == pytest.approx(0.03 * A_DEGREE[0], abs=CELL)
    assert top == pytest.approx(0.02 * A_DEGREE[1], abs=CELL)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A town as nyc_time, all pairs of which were searched in the simulator; weights are minutes."""
    folder, town = tmp_path_factory.mktemp("new_york"), graphs.grid(16)
    io.write_text(folder / "town.txt", 16, town.tails, town.indices, np.rint(town.weights * A_MINUTE).astype(int))
    places = "".join(f"v {v + 1} {10000 * (v % 4) - 74000000} {10000 * (v // 4) + 40000000}\n" for v in range(16))
    (folder / "town.co").write_text(places)
    entry = {"sources": [str(folder / "town.txt")], "format": "text", "simulate": True, "gpu": []}
    entry |= {
        "vertices": 16,
        "arcs": town.arcs,
        "directed": False,
        "coordinates": {"sources": [str(folder / "town.co")]},
    }
    shown = {"datasets": ["nyc_time"], "sample": 5}
    datasets = {"nyc": entry | {"simulate": False}, "nyc_time": entry}
    made = Project.make(folder / "project", datasets=datasets, stub=False, mode="simulator", all_pairs=shown)
    (made.folder / "docs").mkdir()
    (made.folder / "results/archive/h200/all_pairs/nyc_time.npz").unlink(missing_ok=True)
    assert "nyc_time.npz: " in made.snakemake("new_york", code=1, environment=SIMULATOR)
    made.snakemake("all_pairs", environment=SIMULATOR)
    made.snakemake("new_york", environment=SIMULATOR)
    return made


@pytest.mark.ci
def test_all_pairs_and_searches_from_the_places_are_archived(project):
    grid = Grid.read(project.folder / "results/archive/h200/all_pairs/nyc_time.npz")
    exact = csgraph.dijkstra(graphs.grid(16).to_scipy())
    degrees = [(-74 + 0.01 * (v % 4), 40 + 0.01 * (v // 4)) for v in range(16)]
    mean = [grid.minutes(MEAN)[cell_of(grid, place)] for place in degrees]
    assert np.allclose(mean, exact.sum(axis=1) / 15, atol=0.5 / STEPS)
    assert grid.names.tolist() == [MEAN, *PLACES]
    for name, place in PLACES.items():
        nearest = np.hypot(*((np.array(degrees) - place) * A_DEGREE).T).argmin()
        minutes = [grid.minutes(name)[cell_of(grid, of)] for of in degrees]
        assert np.allclose(minutes, exact[nearest], atol=0.5 / STEPS)


@pytest.mark.ci
def test_the_pictures_are_drawn_from_the_archive_alone(project, tmp_path):
    first = {name: (project.folder / "docs" / name).read_bytes() for name in new_york.PICTURES}
    assert all(content.startswith(b"\x89PNG") for content in first.values())
    shutil.move(project.folder / "results/all_pairs", tmp_path / "elsewhere")
    for name in first:
        (project.folder / "docs" / name).unlink()
    project.snakemake("new_york", environment=SIMULATOR)
    assert {name: (project.folder / "docs" / name).read_bytes() for name in first} == first
    shutil.move(tmp_path / "elsewhere", project.folder / "results/all_pairs")


@pytest.mark.ci
def test_all_pairs_of_another_graph_are_refused(project):
    graph = project.folder / "resources/graphs/nyc_time.npz"
    other = io.read_graph(graph)
    other.meta["sha256"] = "0" * 64
    with pytest.raises(InputError, match=r"nyc_time\.parquet: "):
        new_york.mean_time_grid(Path(project.folder / "results/all_pairs/nyc_time.parquet"), Path("unread"), other)


@pytest.mark.skipif(not KEPT.exists(), reason="the archive has no grid of New York")
def test_the_pictures_of_the_page_are_those_of_the_archive(tmp_path):
    new_york.draw_maps(Grid.read(KEPT), tmp_path)
    for name in new_york.PICTURES:
        assert f"]({name})" in (ROOT / "docs/travel-times.md").read_text()
        differ = compare_images(str(ROOT / "docs" / name), str(tmp_path / name), tol=2)
        assert not differ, f"{differ}: run snakemake --cores 1 new_york"
