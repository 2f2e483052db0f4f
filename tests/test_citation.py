"""The files by which the project is cited agree; the identifier of a release is that of its files."""

import hashlib
import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from kernels.errors import InputError
from workflow.scripts import ro_crate, swhid

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
ZENODO = json.loads((ROOT / ".zenodo.json").read_text())
CODEMETA = json.loads((ROOT / "codemeta.json").read_text())
PAPER = "Accelerating Shortest Path Algorithms on the GPU using CUDA"
ARCHIVES = ("9th DIMACS Implementation Challenge", "SNAP")


def test_the_files_agree():
    assert CITATION["title"] == ZENODO["title"] == CODEMETA["name"]
    assert CITATION["title"] == ro_crate.TITLE
    assert (ROOT / "README.md").read_text().startswith(f"# {CITATION['title']}\n")
    assert CODEMETA["identifier"] == PROJECT["name"]
    assert {CITATION["version"], ZENODO["version"], CODEMETA["version"]} == {PROJECT["version"]}
    assert {CITATION["abstract"], ZENODO["description"], CODEMETA["description"]} == {PROJECT["description"]}
    assert {CITATION["license"], ZENODO["license"]} == {PROJECT["license"]}
    assert CODEMETA["license"] == f"https://spdx.org/licenses/{PROJECT['license']}"
    assert (ROOT / "LICENSE").read_text().startswith(f"{PROJECT['license']} License\n")
    assert CITATION["date-released"] == CODEMETA["datePublished"]
    assert CODEMETA["runtimePlatform"] == f"Python {PROJECT['requires-python']}"
    names = [author["name"] for author in PROJECT["authors"]]
    for authors in (CITATION["authors"], ZENODO["creators"], CODEMETA["author"]):
        assert [author["name"] for author in authors] == names


def test_each_relates_to_the_paper_its_version_in_a_journal_and_the_data():
    readme = (ROOT / "README.md").read_text()
    (doi,) = re.findall(r"\bdoi (10\.\S+)\.", readme)
    urls = [re.search(rf"\[{name}\]\((\S+)\)", (ROOT / "docs/data.md").read_text())[1] for name in ARCHIVES]

    references = CITATION["references"]
    assert [one.get("doi") for one in references] == [None, doi, None, None]
    assert [one.get("url") for one in references] == [None, None, *urls]

    assert [one["identifier"] for one in ZENODO["related_identifiers"]] == [doi, *urls]
    cited = CODEMETA["citation"]
    assert [one.get("@id") for one in cited] == [None, f"https://doi.org/{doi}", None, None]
    assert [one.get("url") for one in cited] == [None, None, *urls]

    titles = [one["title"] for one in references]
    assert titles[0] == PAPER and f"*{PAPER}*" in readme
    assert titles == [one["name"] for one in cited]
    assert all(title in said for title, said in zip(titles, ZENODO["references"], strict=True))


def test_the_measurements_have_a_licence_of_their_own():
    first = (ROOT / "results/archive/LICENSE").read_text().splitlines()[0]
    assert first == "SPDX-License-Identifier: CC-BY-4.0"
    assert "(results/archive/LICENSE)" in (ROOT / "README.md").read_text()
    assert "results/archive/ are under CC-BY-4.0" in ZENODO["notes"]


FILES = {"a/b": b"in a folder", "a.txt": b"sorts before the folder a", "run": b"#!/bin/sh\n", "z": b"\0\r\n"}


@pytest.fixture
def checkout(tmp_path):
    """A commit of FILES, of which `run` can be executed."""
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "run").chmod(0o755)
    options = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.autocrlf=false", "-c", "commit.gpgsign=false")
    for words in (("init", "-q"), ("add", "."), (*options, "commit", "-q", "-m", "all")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


def git_hash(kind, content):
    return hashlib.sha1(f"{kind} {len(content)}\0".encode() + content).digest()


def test_the_identifier_of_a_release_is_that_of_its_files(checkout):
    blobs = {name: git_hash("blob", content) for name, content in FILES.items()}
    folder = git_hash("tree", b"100644 b\0" + blobs["a/b"])
    entries = {"a.txt": ("100644", blobs["a.txt"]), "a": ("40000", folder), "run": ("100755", blobs["run"])}
    entries["z"] = "100644", blobs["z"]
    tree = git_hash("tree", b"".join(f"{mode} {name}\0".encode() + of for name, (mode, of) in entries.items()))
    assert swhid.of_head(checkout) == f"swh:1:dir:{tree.hex()}"


def test_the_identifier_is_of_committed_files_alone(checkout, tmp_path_factory):
    (checkout / "new").write_text("not added")
    with pytest.raises(InputError, match=rf"^{checkout}: not as it was committed \(\?\? new\): commit or undo"):
        swhid.of_head(checkout)
    below = checkout / "a"
    for folder in (tmp_path_factory.mktemp("bare"), below):
        with pytest.raises(InputError, match=f"^{folder}: no git checkout, .*: clone it with git$"):
            swhid.of_head(folder)
    subprocess.run(["git", "init", "-q"], cwd=below, check=True)
    with pytest.raises(InputError, match=rf"^git rev-parse HEAD\^\{{tree\}} in {below}: "):
        (below / "b").unlink()
        swhid.of_head(below)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(InputError, match="install git first"):
        patch.setenv("PATH", "")
        swhid.of_head(checkout)
