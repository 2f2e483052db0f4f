"""Each archive's RO-Crate is of its files and batches, and has what its profiles require, by a validator offline."""

import csv
import hashlib
import json
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import requests
from rocrate_validator import services
from rocrate_validator.utils.http import HttpRequester

from kernels.errors import InputError
from workflow.scripts import ro_crate

ROOT = Path(__file__).parents[1]
ARCHIVES = sorted(path.parent for path in (ROOT / "results/archive").glob("*/timings.csv"))
NAME = "ro-crate-metadata.json"
# The terms of RO-Crate 1.1 that a crate may use: those of schema.org, and others.
SCHEMA_ORG = """
    ComputerLanguage CreateAction CreativeWork Dataset IndividualProduct SoftwareSourceCode
    about actionStatus agent contentSize datePublished description encodingFormat endTime hasPart instrument license
    mainEntity mentions name object programmingLanguage result serialNumber startTime url version
"""
TERMS = {term: f"http://schema.org/{term}" for term in SCHEMA_ORG.split()} | {
    "ComputationalWorkflow": "https://bioschemas.org/ComputationalWorkflow",
    "File": "http://schema.org/MediaObject",
    "conformsTo": "http://purl.org/dc/terms/conformsTo",
}


quiet = pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")  # rdflib's own


@pytest.fixture(params=ARCHIVES, ids=lambda folder: folder.name)
def archive(request):
    return request.param


def entities(folder):
    return {entity["@id"]: entity for entity in json.loads((folder / NAME).read_text())["@graph"]}


def references(value):
    """The identifiers that a property's value refers to."""
    values = value if isinstance(value, list) else [value]
    return [one["@id"] for one in values if isinstance(one, dict)]


def test_the_crate_is_that_of_the_archive(archive):
    assert json.loads((archive / NAME).read_text()) == ro_crate.describe(archive), "run snakemake --cores 1 ro_crate"


def test_every_identifier_leads_to_an_entity(archive):
    graph = entities(archive)
    named = {one for entity in graph.values() for key in entity for one in references(entity[key])}
    assert named - set(graph) == {"https://w3id.org/ro/crate/1.1"}
    assert set(graph) - named == {NAME}


def test_every_file_is_listed_with_its_hash(archive):
    graph = entities(archive)
    there = {str(path.relative_to(archive)) for path in archive.rglob("*") if path.is_file()} - {NAME}
    assert {name for name, entity in graph.items() if "File" in entity["@type"]} == there
    assert set(references(graph["./"]["hasPart"])) == there
    for name in there:
        content = (archive / name).read_bytes()
        assert graph[name]["sha256"] == hashlib.sha256(content).hexdigest()
        assert graph[name]["contentSize"] == str(len(content))


def test_an_action_is_what_the_rows_of_its_batch_say(archive):
    graph = entities(archive)
    with open(archive / "timings.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    provenance = json.loads((archive / "provenance.json").read_text())
    named = {batch: f"#batch-{batch}" if batch else "#alone" for batch in {row["batch"] for row in rows}}
    assert {name for name, entity in graph.items() if entity["@type"] == "CreateAction"} == set(named.values())
    for batch, name in named.items():
        action = graph[name]
        mine = [row for row in rows if row["batch"] == batch]
        commits = {f"swh:1:rev:{row['commit']}" for row in mine if row["commit"]}
        assert set(references(action["instrument"])) == {"Snakefile", *commits}
        hosts = {f"#host-{row['host_id']}" for row in mine if row["host_id"]}
        records = [record for record in provenance.values() if record.get("batch", "") == batch]
        cards = {f"#{record['card']['before']['uuid']}" for record in records if record["card"]}
        assert cards >= {f"#{row['card_uuid']}" for row in mine if row["card_uuid"]}
        assert set(references(action["agent"])) == hosts | cards
        raw = {record["graph"]["origin"]["sha256"] for record in records if record["graph"].get("origin")}
        hashes = {graph[one]["sha256"] for one in references(action["object"])}
        assert hashes == {row["dataset_sha256"] for row in mine} | raw
        started = [datetime.fromisoformat(row["started"]) for row in mine]
        taken = [timedelta(seconds=float(row["seconds"] or row["limit_s"] or 0)) for row in mine]
        last = max(begin + time for begin, time in zip(started, taken, strict=True))
        assert datetime.fromisoformat(action["startTime"]) == min(started)
        assert datetime.fromisoformat(action["endTime"]) == last.replace(microsecond=0)


@pytest.fixture
def validated(monkeypatch, tmp_path):
    """A function that says what a folder's crate lacks of what the profile requires; asks no server."""

    def get(self, url, **options):
        assert url == "https://w3id.org/ro/crate/1.1/context"
        response = requests.Response()
        response.status_code, response._content = 200, json.dumps({"@context": TERMS}).encode()
        response.headers["Content-Type"] = "application/ld+json"
        return response

    monkeypatch.setattr(HttpRequester, "get", get, raising=False)
    options = {"profile_identifier": "workflow-run-crate", "offline": True, "cache_path": tmp_path / "cache"}

    def issues(folder):
        result = services.validate({"rocrate_uri": folder, "requirement_severity": "REQUIRED", **options})
        return [issue.message for issue in result.get_issues()]

    return issues


@quiet
def test_the_crate_has_what_its_profiles_require(archive, validated):
    assert validated(archive) == []


@quiet
def test_the_validator_finds_what_is_missing(validated, tmp_path):
    shutil.copytree(ARCHIVES[0], tmp_path / "crate")
    path = tmp_path / "crate" / NAME
    crate = json.loads(path.read_text())
    for entity in crate["@graph"]:
        if entity["@type"] == "CreateAction":
            entity["instrumnet"] = entity.pop("instrument")
    path.write_text(json.dumps(crate))
    (tmp_path / "crate/timings.csv").unlink()
    found = "\n".join(validated(tmp_path / "crate"))
    assert "MUST have an instrument" in found and "instrumnet" in found and "timings.csv" in found


def test_an_archive_without_rows_or_its_workflow_is_refused(tmp_path):
    lines = (ARCHIVES[0] / "timings.csv").read_text().splitlines(keepends=True)
    for count, message in ((1, r"/timings\.csv: no rows: archive"), (2, "/Snakefile: no such file: copy it there")):
        (tmp_path / "timings.csv").write_text("".join(lines[:count]))
        with pytest.raises(InputError, match=message):
            ro_crate.describe(tmp_path)
