"""A new variant is a function and an entry, a new dataset an entry, a new column a line; no test or page changes."""

import re
from textwrap import indent

import pytest
import yaml

from tests.support.copies import copy_project, run_pytest
from tests.support.project import SIMULATOR, Project
from tests.support.sbatch import sbatch_calls

FUNCTION = '''"""A variant that only tests know: Bellman-Ford's stride variant with a quarter of the blocks."""

from kernels.paper.bellman_ford import csr, drive, predecessors_stride, relax_stride, update_stride


def dummy(graph, result, run):
    kernels = relax_stride, update_stride, predecessors_stride
    drive(graph, result, run, csr(graph, run), kernels, divide_blocks_by=4)
'''
ENTRY = """
VARIANTS["bellman_ford/dummy"] = replace(
    VARIANTS["bellman_ford/stride"],
    name="dummy",
    title="Dummy",
    function="fast.dummy:dummy",
    origin="ours",
)
"""
HEADS = {"table1": "Dummy", "table6": "Ours", "figure5": "Dummy"}
DATASET = {
    **{"format": "random", "vertices": 4, "arcs": 12, "weights": {"min": 1, "max": 9, "seed": 1}, "simulate": True},
    **{"tables": {"sssp": ["table1", "table6"]}, "gpu": ["bellman_ford/dummy", "bellman_ford/naive"], "cpu": []},
}
SHOWN = ("table1", "table6", "figure5", "results/simulated.md")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project with the variant and the dataset, simulated and drawn; nothing was measured."""
    folder = tmp_path_factory.mktemp("project")
    project = Project.make(folder, datasets={"village": DATASET}, stub=False, mode="auto")
    add_variant(folder)
    project.snakemake(*SHOWN, environment=SIMULATOR)
    return project


def add_variant(folder):
    (folder / "kernels/fast/dummy.py").write_text(FUNCTION)
    registry = folder / "kernels/registry.py"
    text = registry.read_text()
    end = "ALGORITHMS = tuple("
    assert text.count(end) == 1
    registry.write_text(text.replace(end, f"{ENTRY.lstrip()}{end}"))
    tables = folder / "workflow/paper/tables.yaml"
    shown = yaml.safe_load(tables.read_text())
    for name, head in HEADS.items():
        shown[name]["columns"]["bellman_ford/dummy"] = head
    tables.write_text(yaml.safe_dump(shown, sort_keys=False))


def test_both_are_simulated(project):
    assert re.search(
        r"\| bellman_ford/dummy +\| simulated, 1 row checked", (project.folder / "results/simulated.md").read_text()
    )


def test_both_are_in_a_table_and_in_a_figure(project):
    heads, _, *body = (project.folder / "results/table1.md").read_text().splitlines()[2:]
    assert "Dummy" in heads.replace("|", " ").split() and any(line.startswith("| village.txt ") for line in body)
    assert "Dummy" in (project.folder / "results/table6.md").read_text()
    figure = (project.folder / "figures/figure5.svg").read_text()
    assert "<!-- Dummy -->" in figure and "<!-- village" in figure  # text is drawn as paths, and named beside them


def test_both_are_in_the_report(project):
    project.snakemake("--report", "report.html", *SHOWN, environment=SIMULATOR)
    page = (project.folder / "report.html").read_text()
    assert "results/table1.html" in page and "figures/figure5.svg" in page


def test_both_are_on_slurms_command_line(project, tmp_path):
    calls = sbatch_calls(project, tmp_path, "village")
    assert "job_wildcards_one_sssp_village" in calls


def test_both_are_in_the_command_line_and_the_configuration(project):
    said = project.snakemake("-n", "village", "dummy", "--config", "mode=cuda")
    assert "Measure bellman_ford/dummy on village" in said and "Measure sssp on village, batch one" in said


@pytest.mark.ci
def test_no_test_and_no_page_changes(tmp_path):
    """Tests that count variants, datasets, columns, series or cells pass, and so do those of README.md and docs/."""
    add_variant(copy_project(tmp_path))
    config = tmp_path / "config.yaml"
    entry = indent(yaml.safe_dump({"village": DATASET}), "  ")
    config.write_text(config.read_text().replace("\ndatasets:\n", f"\ndatasets:\n{entry}"))
    assert "village" in yaml.safe_load(config.read_text())["datasets"]
    tests = [
        *(f"tests/workflow/{name}.py" for name in ("plan/test_configuration", "measure/test_job")),
        *(
            f"tests/workflow/{name}.py"
            for name in ("views/test_announce", "publish/test_readme", "views/paper/test_tables")
        ),
        *("tests/kernels/test_revisions.py", "tests/test_errata.py"),
        "tests/workflow/views/paper/test_audit.py::test_what_a_reviewer_types",
        *(
            f"tests/workflow/views/test_figures.py::test_{name}"
            for name in ("bars_are_the_medians", "a_variant_with_a_new_head_is_a_further_series")
        ),
        "tests/workflow/views/extensions/test_growth.py::test_series_that_coincide_are_told_apart",
        "tests/workflow/views/extensions/test_extensions.py::test_figure_9",
        "tests/kernels/gpu/test_compile.py::test_compiles_with_exactly_the_atomic_operations_that_are_listed[bellman_ford/dummy-cc90]",
    ]
    code, said = run_pytest(tmp_path, *tests)
    assert code == 0, said
