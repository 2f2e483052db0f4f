"""The workflow from another folder: its results are made there, its code, archives and defaults are the project's."""

import pytest

from tests.support.project import DATASETS, Project

MODULE = """
configfile: {configfile!r}

module paths:
    snakefile: {snakefile!r}
    config: config

use rule * from paths as paths_*

rule mine:
    default_target: True
    input:
        rules.paths_table1.output,
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project in which nothing is run."""
    return Project.make(tmp_path_factory.mktemp("project"), DATASETS)


def made(folder):
    return {str(path.relative_to(folder)) for path in (folder / "results").rglob("*") if path.is_file()}


TABLE1 = {f"results/table1.{form}" for form in ("csv", "md", "html")}
NO_GPU = "--config", "mode=simulator"


@pytest.mark.parametrize("directory", [True, False])
def test_from_another_folder(project, tmp_path, directory):
    """With --directory in the project's folder, and with -s in the other folder."""
    before = project.files()
    if directory:
        project.snakemake("--directory", str(tmp_path), "table1", *NO_GPU)
    else:
        Project(tmp_path).snakemake("-s", str(project.folder / "Snakefile"), "table1", *NO_GPU)
    assert made(tmp_path) == TABLE1
    assert "From the archive h200" in (tmp_path / "results/table1.md").read_text()
    assert project.files() == before


def test_a_local_dataset_of_the_project_is_found_from_another_folder(project, tmp_path):
    planned = Project(tmp_path).plan("-s", str(project.folder / "Snakefile"), "resources/graphs/nyc.npz")
    assert planned == {"Convert nyc", "Pack nyc"}


@pytest.mark.parametrize(
    ("outer", "configfile"), [("Snakefile", "mine.yaml"), ("workflow/Snakefile", "config/config.yaml")]
)
def test_as_a_module(project, tmp_path, outer, configfile):
    """By one file, and in the layout of snakedeploy; the outer file's configuration replaces keys of the project's."""
    for path in (outer, configfile):
        (tmp_path / path).parent.mkdir(exist_ok=True)
    snakefile = str(project.folder / "workflow/Snakefile")
    (tmp_path / outer).write_text(MODULE.format(configfile=configfile, snakefile=snakefile))
    (tmp_path / configfile).write_text("mode: simulator\narchive: h100-80gb-hbm3\n")
    Project(tmp_path).snakemake()
    assert made(tmp_path) == TABLE1
    assert "From the archive h100-80gb-hbm3" in (tmp_path / "results/table1.md").read_text()
    (tmp_path / configfile).write_text("archive: h300\n")
    said = Project(tmp_path).snakemake("-n", *NO_GPU, code=1)
    assert said.splitlines()[-1].startswith("config: archive: ")
