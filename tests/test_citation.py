"""The files by which the project is cited agree; tests/workflow/publish/test_release.py has their version and date."""

import json
import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
ZENODO = json.loads((ROOT / ".zenodo.json").read_text())
CODEMETA = json.loads((ROOT / "codemeta.json").read_text())
PAPER = "Accelerating Shortest Path Algorithms on the GPU using CUDA"
ARCHIVES = ("9th DIMACS Implementation Challenge", "SNAP")


def test_the_files_agree():
    assert CITATION["title"] == ZENODO["title"] == CODEMETA["name"]
    assert (ROOT / "README.md").read_text().startswith(f"# {CITATION['title']}\n")
    assert CODEMETA["identifier"] == PROJECT["name"]
    assert CITATION["abstract"] == ZENODO["description"] == CODEMETA["description"]
    assert {CITATION["license"], ZENODO["license"]} == {PROJECT["license"]}
    assert CODEMETA["license"] == f"https://spdx.org/licenses/{PROJECT['license']}"
    assert (ROOT / "LICENSE").read_text().startswith(f"{PROJECT['license']} License\n")
    assert CODEMETA["runtimePlatform"] == f"Python {PROJECT['requires-python']}"
    names = [author["name"] for author in PROJECT["authors"]]
    for authors in (CITATION["authors"], ZENODO["creators"], CODEMETA["author"]):
        assert [author["name"] for author in authors] == names


def test_each_relates_to_the_paper_its_version_in_a_journal_and_the_data():
    readme = (ROOT / "README.md").read_text()
    (doi,) = re.findall(r"\bdoi (10\.\S+)\.", readme)
    urls = [re.search(rf"\[{name}\]\((\S+)\)", (ROOT / "docs/data.md").read_text())[1] for name in ARCHIVES]

    references = CITATION["references"][:4]
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


def test_the_methods_that_are_cited_are_credited_where_the_kernels_are_described():
    credited = re.findall(r"\*\*Credit\.\*\* (.*?)\n\n", (ROOT / "docs/kernels.md").read_text(), re.DOTALL)
    for one in CITATION["references"][4:]:
        named = [*(author["family-names"] for author in one["authors"]), str(one["year"])]
        assert any(all(name in credit for name in named) for credit in credited), one["title"]


def test_the_measurements_have_a_licence_of_their_own():
    first = (ROOT / "results/archive/LICENSE").read_text().splitlines()[0]
    assert first == "SPDX-License-Identifier: CC-BY-4.0"
    assert "(results/archive/LICENSE)" in (ROOT / "README.md").read_text()
    assert "results/archive/ are under CC-BY-4.0" in ZENODO["notes"]
