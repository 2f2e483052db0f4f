"""`pip install .` installs the library alone, under its own name; it runs without the repository."""

import ast
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import PathDistribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import kernels
from tests.support import package
from tests.support.pages import blocks, blocks_of

ROOT = Path(__file__).parents[1]
MODULES = sorted(path.relative_to(ROOT / "kernels") for path in (ROOT / "kernels").rglob("*.py"))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
IN_REPOSITORY = re.compile(r"-m kernels\b|import kernels\b|from kernels\b|(?<![\w./])kernels[./][a-z]")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return package.unpacked(tmp_path_factory.mktemp("wheel"))


def test_the_wheel_has_the_library_and_no_more(site):
    files = {path.relative_to(site) for path in site.rglob("*") if path.is_file()}
    (info,) = {path.parts[0] for path in files} - {package.NAME}
    assert info == f"{package.NAME}-{PROJECT['version']}.dist-info"
    assert {path for path in files if path.parts[0] == package.NAME} == {
        Path(package.NAME, path) for path in (*MODULES, "py.typed")
    }
    for path in MODULES:
        text = (site / package.NAME / path).read_text()
        words = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
        assert not [word for word in words if isinstance(word, str) and IN_REPOSITORY.search(word)], path
        assert not re.search(r"^\s*(from|import) kernels\b", text, re.MULTILINE), path
    needed = list(map(Requirement, PathDistribution(site / info).requires))
    assert [str(r) for r in needed if not r.marker] == [str(Requirement(text)) for text in PROJECT["dependencies"]]


def test_the_page_of_the_package_index_links_to_no_file_of_the_repository(site):
    (info,) = site.glob("*.dist-info")
    described = PathDistribution(info).metadata
    assert described["Description-Content-Type"] == "text/markdown"
    assert described.get_payload().strip() == PROJECT["readme"]["text"].strip()
    assert not re.search(r"\]\(|\.md\b", described.get_payload())


def test_the_command_is_the_module(site, tmp_path):
    (info,) = site.glob("*.dist-info")
    (command,) = PathDistribution(info).entry_points.select(group="console_scripts")
    assert command.name == PROJECT["name"]
    module, function = command.value.split(":")
    code = f"import sys; sys.argv = ['', '--help']; from {module} import {function}; {function}()"
    ran = [package.python(site, *words, cwd=tmp_path) for words in (("-c", code), ("-m", package.NAME, "--help"))]
    assert ran[0].stdout == ran[1].stdout and f"python -m {package.NAME}" in ran[0].stdout


def test_the_version_is_the_projects(site, tmp_path):
    assert kernels.__version__ == PROJECT["version"] and "__version__" in dir(kernels)
    ran = package.python(site, "-c", f"import {package.NAME}; print({package.NAME}.__version__)", cwd=tmp_path)
    assert ran.stdout == f"{PROJECT['version']}\n"


def test_the_sdist_has_what_the_wheel_is_built_from(tmp_path):
    with tarfile.open(package.build(tmp_path, target="sdist")) as sdist:
        names = {str(Path(*Path(name).parts[1:])) for name in sdist.getnames()}
    others = {
        "kernels/py.typed",
        "kernels/revisions.csv",
        "LICENSE",
        "PKG-INFO",
        ".gitignore",
        "pyproject.toml",
    }
    assert names == others | {f"kernels/{path}" for path in MODULES}


def imported(folder):
    """Return the packages that a folder's modules import, without the standard library and the repository."""
    found = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module.split(".")[0])
    return found - sys.stdlib_module_names - {"kernels", "workflow"}


@pytest.mark.parametrize(
    ("folder", "group"), [("kernels", []), ("workflow", PYPROJECT["dependency-groups"]["workflow"])]
)
def test_what_is_imported_is_a_dependency(folder, group):
    extras = PROJECT["optional-dependencies"]
    listed = [*PROJECT["dependencies"], *extras["networkx"], *extras["networkit"], *extras["cu13"], *group]
    assert [text.replace("13", "12") for text in extras["cu13"]] == extras["cu12"]
    known = {Requirement(text).name for text in listed}
    known |= {"cuda-bindings", "cuda-core", "llvmlite", "urllib3"}  # of these, in the versions that they need
    known |= {"pyyaml"}  # optional: numba reads its file of settings only if this is installed
    known |= {"pyarrow"}  # optional: the command matrix writes Parquet only if this is installed
    distributions = packages_distributions()
    for name in imported(folder) - {"geopandas", "shapely"}:  # optional: lines of routes need them
        assert known & {found.lower().replace("_", "-") for found in distributions[name]}, name


SAYS_ONCE = """
import pkgutil, sys
import cuda_shortest_paths as library

for module in pkgutil.walk_packages(library.__path__, "cuda_shortest_paths."):
    # networkx and numba-cuda need not be there
    if not module.name.endswith(("__main__", "library.networkx", "gpu.cache")):
        __import__(module.name)
graph = library.graph.Graph.from_arcs(3, [0, 1, 0], [1, 2, 2], [4, 1, 7])
print(library.shortest_paths(graph, 0).distances, library.distances(graph, [1]).distances)
assert not {"kernels", "workflow"} & set(sys.modules)
"""
WARNING = "no GPU is visible: the CPU is used instead\n"


def test_all_modules_run_without_the_repository_and_say_once_that_there_is_no_gpu(site, tmp_path):
    ran = package.python(site, "-c", SAYS_ONCE, cwd=tmp_path, **package.NO_GPU)
    assert (ran.stdout, ran.stderr) == ("[0. 4. 5.] [[inf  0.  1.]]\n", WARNING)


@pytest.mark.ci
def test_the_examples_run(site, tmp_path):
    *examples, silent = blocks("library.md")
    (described,) = blocks_of(PROJECT["readme"]["text"])
    ran = package.python(
        site,
        "-c",
        "".join([silent, described, *examples]),
        cwd=tmp_path,
        CUDA_VISIBLE_DEVICES="-1",
        NUMBA_ENABLE_CUDASIM="0",
    )
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.ci
def test_the_wheel_of_the_sdist_runs_in_an_empty_environment(tmp_path):
    with tarfile.open(package.build(tmp_path / "sdist", target="sdist")) as sdist:
        sdist.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    wheel = package.build(tmp_path / "wheel", source)
    (tmp_path / "direct").mkdir()
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(package.build(tmp_path / "direct")) as other:
        assert {name: one.read(name) for name in one.namelist()} == {n: other.read(n) for n in other.namelist()}
    shutil.rmtree(source)
    venv.create(tmp_path / "empty", with_pip=True)
    python = tmp_path / "empty/bin/python"

    def run(*arguments, **more):
        environment = {"PATH": "/usr/bin:/bin", **package.NO_GPU, **more}
        ran = subprocess.run([python, "-P", *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout, ran.stderr

    def install(what):
        subprocess.run([python, "-m", "pip", "install", "--quiet", what], cwd=tmp_path, check=True)

    install(wheel)
    run("-m", "pip", "check")
    helped = subprocess.run([tmp_path / f"empty/bin/{PROJECT['name']}", "--help"], capture_output=True, text=True)
    assert helped.stdout.startswith(f"usage: python -m {package.NAME}")
    names, _ = run("-m", "pip", "list", "--format", "freeze")
    installed = set(re.findall("^[^=]+", names, re.MULTILINE))
    assert installed == {PROJECT["name"], "llvmlite", "numba", "numpy", "pip", "scipy"}
    assert run("-c", SAYS_ONCE) == ("[0. 4. 5.] [[inf  0.  1.]]\n", WARNING)
    sample = ROOT / "workflow/samples/sample1.txt"
    _, said = run("-m", package.NAME, "apsp", sample, "--to", "paths.npz")
    assert said.startswith("dijkstra/scipy_apsp on sample1: no GPU is visible")
    command = [package.NAME, "bellman_ford", "naive", sample, "--validate", "--block", "8"]
    _, said = run("-m", *command, NUMBA_ENABLE_CUDASIM="1")
    assert said.startswith("bellman_ford/naive on sample1: 1 row ") and said.count("\n") == 1
    install(f"{wheel}[networkx]")
    asked = f"nx.single_source_dijkstra_path_length(nx.path_graph(9), 0, backend={package.NAME!r})[8]"
    assert run("-c", f"import networkx as nx; print({asked})")[0] == "8\n"
