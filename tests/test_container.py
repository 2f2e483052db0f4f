"""The container's files agree with the environment that `make` sets up, and Snakemake runs jobs in it when asked to."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from tests.support.project import ENVIRONMENT, Project

ROOT = Path(__file__).parents[1]
DOCKERFILE, DEFINITION, MAKEFILE = (
    (ROOT / name).read_text() for name in ("container/Dockerfile", "container/apptainer.def", "Makefile")
)
INSTALL = r"python -m pip install (.+)"
IMAGE = "container/cuda-shortest-paths.sif"
# An environment's packages fit together, and the project's dependencies can be imported.
CHECK = "python -m pip check && python -c 'import numba.cuda, scipy, networkit, pymetis, snakemake'"


def found(pattern, text):
    """Return the group of the pattern's only match."""
    (one,) = re.findall(pattern, text, re.MULTILINE)
    return one


def test_python_and_the_lock_are_those_of_make():
    base = found(r"^ARG BASE=(.+)$", DOCKERFILE)
    assert found(r"^    BASE=(.+)$", DEFINITION) == base
    assert found(r"^FROM (.+)$", DOCKERFILE) == "${BASE}" and found(r"^From: (.+)$", DEFINITION) == "{{ BASE }}"
    version = found(r"^python:(3\.\d+)-slim$", base)
    versions = found(r"^VERSIONS := (.+)$", MAKEFILE).split()
    assert version == versions[0]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert all(one in SpecifierSet(project["requires-python"]) for one in versions)
    assert project["requires-python"] == f">={versions[-1]}"  # the library takes newer versions than the workflow
    for name, around in {
        "README.md": "`make` needs {};",
        "Makefile": "{} with",
    }.items():
        said = around.format(f"Python {', '.join(versions[:0:-1])} or {version}")
        assert said in " ".join((ROOT / name).read_text().split()), name
    assert f"python={version}" in yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]

    lock, copy = found(r"^COPY (.+) (.+)$", DOCKERFILE)
    assert found(r"^%files\n    (.+) (.+)$", DEFINITION) == (lock, copy)
    assert lock == found(r"^LOCK := (.+)$", MAKEFILE).replace("$(CUDA)", found(r"^CUDA \?= (\d+)$", MAKEFILE))
    options = found(INSTALL, MAKEFILE).replace("$(LOCK)", copy)
    assert found(INSTALL, DOCKERFILE) == found(INSTALL, DEFINITION) == options


# In place of a Python: fail as pyenv's shims do if the version is none, else run the code as that version.
PYTHON = """#!/bin/sh
exec {python} -c 'import sys
sys.executable, version, _, code, *sys.argv[1:] = sys.argv[1:]
if version == "none":
    sys.exit(127)
sys.version_info = tuple(map(int, version.split(".")))
exec(code)' "$0" {version} "$@"
"""


def make_setup(folder, versions, *words):
    """Run `make setup` with a copy of the Makefile and these Pythons on PATH, by name."""
    (folder / "requirements").mkdir()
    (folder / "requirements/cu13.txt").touch()
    shutil.copy(ROOT / "Makefile", folder)
    tools = folder / "bin"
    tools.mkdir()
    for name in ("make", "bash", "sh", "rm", "touch"):
        (tools / name).symlink_to(shutil.which(name))
    for name, version in versions.items():
        (tools / name).write_text(PYTHON.format(python=sys.executable, version=version))
        (tools / name).chmod(0o755)
    words = ["make", *words, "setup"]
    return subprocess.run(words, cwd=folder, env={"PATH": str(tools)}, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("versions", "chosen"),
    [
        ({"python3": "3.11.2", "python3.11": "3.11.2", "python3.12": "3.12.1", "python3.13": "3.13.0"}, "python3.13"),
        ({"python3": "3.14.0", "python3.11": "3.11.2", "python3.12": "3.12.1", "python3.13": "none"}, "python3.12"),
        ({"python3": "3.11.2", "python3.13": "none"}, "python3"),
    ],
)
def test_make_takes_the_newest_python_that_runs(tmp_path, versions, chosen):
    ran = make_setup(tmp_path, versions, "-n")
    assert f'"{tmp_path}/bin/{chosen}" -m venv .venv\n' in ran.stdout


@pytest.mark.parametrize(
    ("versions", "words", "said"),
    [
        ({"python3": "3.14.0", "python3.13": "none"}, (), "found none: install one (uv python install 3.13;"),
        ({"python3": "3.12.1", "python3.10": "3.10.4"}, ("PYTHON=python3.10",), "found python3.10: install one (uv"),
    ],
)
def test_make_says_how_to_get_a_python_that_it_can_use(tmp_path, versions, words, said):
    (tmp_path / ".venv").mkdir()
    ran = make_setup(tmp_path, versions, *words)
    assert ran.returncode == 2 and (tmp_path / ".venv").exists()
    line, end = ran.stderr.splitlines()
    assert line.startswith("make: needs Python 3.11, 3.12 or 3.13 with venv, ") and said in line
    assert "apt install" in line and "conda create" in line and end.startswith("make: ***")


def test_hadolint_finds_nothing():
    hadolint = Path(sys.executable).with_name("hadolint")
    ran = subprocess.run([hadolint, "container/Dockerfile"], cwd=ROOT, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "")


APPTAINER = """#!/bin/sh
if [ "$1" = --version ]; then echo apptainer version 1.4.0; exit; fi
echo "$@" >> "$CALLS"
for last; do :; done
exec bash -c "$last"
"""


def test_jobs_run_in_the_image_by_the_options_that_the_document_names(tmp_path):
    """A program called apptainer runs the commands on this machine instead of in an image.

    Without these options no job looks for apptainer, or the workflow's other tests would fail for want of it.
    """
    project = Project.make(tmp_path / "project")
    apptainer, calls = tmp_path / "bin/apptainer", tmp_path / "calls"
    apptainer.parent.mkdir()
    apptainer.write_text(APPTAINER)
    apptainer.chmod(0o755)
    path = os.pathsep.join([str(apptainer.parent), ENVIRONMENT["PATH"]])
    options = shlex.split(found(r"(--sdm apptainer --.+) \\$", (ROOT / "docs/slurm.md").read_text()))
    graph = "resources/graphs/bay.txt"
    project.snakemake(graph, *options, environment={**ENVIRONMENT, "PATH": path, "CALLS": str(calls)})
    assert (project.folder / graph).exists()
    (call,) = calls.read_text().splitlines()
    assert call.startswith("exec ") and " --nv --bind /etc/machine-id " in call
    assert re.search(rf" {project.folder / IMAGE} bash -c .*python\d* \S+\.convert\.py", call)
    assert found(r"apptainer build (\S+) container/apptainer\.def", DEFINITION) == IMAGE


def test_without_these_options_the_projects_path_may_have_blanks_and_braces(tmp_path):
    project = Project.make(tmp_path / "my {project}")
    graph = "resources/graphs/bay.txt"
    project.snakemake(graph)
    assert (project.folder / graph).exists()


def test_what_is_asked_of_the_image_holds_here():
    """make set up this environment by the image's own line and lock."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    subprocess.run(["sh", "-ec", CHECK], cwd=ROOT, env={**os.environ, "PATH": path}, check=True)


@pytest.mark.ci
@pytest.mark.parametrize("engine", ["podman", "apptainer"])
def test_the_image_can_be_built(engine, tmp_path):
    if not shutil.which(engine):
        pytest.skip(f"{engine} is not on PATH")
    image = str(tmp_path / "image.sif") if engine == "apptainer" else "localhost/cuda-shortest-paths:test"
    words = {
        "podman": (["build", "-f", "container/Dockerfile", "-t", image, "."], ["run", "--rm", image]),
        "apptainer": (["build", image, "container/apptainer.def"], ["exec", image]),
    }
    build, run = words[engine]
    subprocess.run([engine, *build], cwd=ROOT, check=True)
    try:
        subprocess.run([engine, *run, "sh", "-ec", CHECK], cwd=ROOT, check=True)
    finally:
        if engine == "podman":
            subprocess.run(["podman", "rmi", image], check=True)
