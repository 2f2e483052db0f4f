"""The code of docs/travel-times.md runs without a GPU, prints what the page shows and draws the page's pictures."""

import gzip
import re
import shutil
from pathlib import Path

import numpy as np
from matplotlib.testing.compare import compare_images

from tests.support.pages import blocks
from tests.support.project import SIMULATOR, Project
from workflow.views.extensions import new_york, travel_times

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs/travel-times.md"
SHOWN = "".join(blocks("travel-times.md", "text"))


def stripped(text):
    return [line.rstrip() for line in text.splitlines()]


def test_the_rule_draws_the_pictures_of_the_page(tmp_path):
    project = Project.make(tmp_path)
    (tmp_path / "docs").mkdir()
    shutil.copy2(PAGE, tmp_path / "docs")
    project.snakemake("travel_times", environment=SIMULATOR)
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
