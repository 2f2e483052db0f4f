"""The code of docs/travel-times.md and docs/osmnx.md runs without a GPU, and draws and prints what the pages show."""

import gzip
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from matplotlib.testing.compare import compare_images

from tests.support import graphs
from tests.support.pages import blocks
from tests.support.project import SIMULATOR, Project
from workflow.views.extensions import new_york, travel_times

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs/travel-times.md"
SHOWN = "".join(blocks("travel-times.md", "text"))


def stripped(text):
    return [line.rstrip() for line in text.splitlines()]


def test_the_rule_draws_the_pictures_of_the_page_also_from_another_folder(tmp_path):
    project = Project.make(tmp_path / "project")
    (project.folder / "docs").mkdir()
    shutil.copy2(PAGE, project.folder / "docs")
    snakefile = str(project.folder / "Snakefile")
    Project(tmp_path).snakemake("-s", snakefile, "travel_times", environment=SIMULATOR)
    assert [path.name for path in (project.folder / "docs").iterdir()] == [PAGE.name]
    shown = re.findall(r"^!\[.+\]\((.+)\)$", PAGE.read_text(), re.MULTILINE)
    for name in [name for name in shown if name not in new_york.PICTURES]:
        differ = compare_images(str(ROOT / "docs" / name), str(tmp_path / "docs" / name), tol=2)
        assert not differ, f"{differ}: run snakemake --cores 1 travel_times"


def test_the_code_prints_what_the_page_shows_also_on_a_graph_from_files(tmp_path):
    """The town in the place of New York."""
    imports, town, *questions, new_york = travel_times.blocks(PAGE)
    assert stripped(travel_times.run([imports, town, *questions], tmp_path)) == stripped(SHOWN)
    for folder in ("raw", "graphs"):
        (tmp_path / "resources" / folder).mkdir(parents=True)
    names = {}
    exec(imports + town, names)
    names["town"].save(tmp_path / "resources/graphs/nyc.npz")
    degrees = np.rint(names["places"].to_numpy() / [84.4, 111.2] * 1e6).astype(int)
    lines = [f"v {vertex} {x} {y}\n" for vertex, (x, y) in enumerate(degrees, start=1)]
    with gzip.open(tmp_path / "resources/raw/USA-road-d.NY.co.gz", "wt") as file:
        file.writelines(["c coordinates\n", f"p aux sp co {len(lines)}\n", *lines])
    assert stripped(travel_times.run([imports, new_york, *questions], tmp_path)) == stripped(SHOWN)


REAL = next((one for parent in ROOT.parents if (one := parent / "shared/data/real").exists()), None)
ROADS = "USA-road-t.NY.gr.gz", "USA-road-d.NY.gr.gz", "USA-road-d.NY.co.gz"


def run_osmnx(folder):
    return stripped(travel_times.run(travel_times.blocks(ROOT / "docs/osmnx.md"), folder))


@pytest.mark.skipif(REAL is None, reason="needs the archive's files in ../shared/data/real")
def test_the_code_of_osmnx_prints_and_draws_what_the_page_shows(tmp_path):
    (tmp_path / "resources/raw").mkdir(parents=True)
    for name in ROADS:
        (tmp_path / "resources/raw" / name).symlink_to(REAL / name)
    assert run_osmnx(tmp_path) == stripped("".join(blocks("osmnx.md", "text")))
    assert not compare_images(str(ROOT / "docs/routes.png"), str(tmp_path / "routes.png"), tol=2)


def test_the_code_of_osmnx_runs_on_a_small_network(tmp_path):
    (tmp_path / "resources/raw").mkdir(parents=True)
    on = graphs.grid(400)
    lines = [
        f"a {tail + 1} {head + 1} {weight}\n"
        for tail, head, weight in zip(on.tails, on.indices, on.weights, strict=True)
    ]
    for name in ROADS[:2]:
        with gzip.open(tmp_path / "resources/raw" / name, "wt") as file:
            file.writelines([f"p sp {on.vertices} {on.arcs}\n", *lines])
    with gzip.open(tmp_path / "resources/raw" / ROADS[2], "wt") as file:
        file.writelines(f"v {vertex} {vertex % 20} {vertex // 20}\n" for vertex in range(1, 401))
    printed = run_osmnx(tmp_path)
    assert printed[-2:] == ["[ True]", "[ True]"] and printed[-4].startswith("(400, 2)")
    assert (tmp_path / "routes.png").stat().st_size > 10_000
