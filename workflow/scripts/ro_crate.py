"""Describe an archive by results/archive/<gpu>/ro-crate-metadata.json, as a Workflow Run RO-Crate.

Each batch is one action, and all cells that were measured alone are one: the workflow's commits, the graphs by the
sha256 of their text form and of the file that it was made from, hosts and cards, and from when to when. Its results are
timings.csv and provenance.json. Every file of the folder is listed with its sha256. The Snakefile there was copied with
the last run; what a run ran is called by the Software Heritage identifier of its commit.
"""

import argparse
import hashlib
import json
import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from mimetypes import MimeTypes
from pathlib import Path

from rocrate.model.contextentity import ContextEntity
from rocrate.model.data_entity import DataEntity
from rocrate.model.entity import Entity
from rocrate.model.metadata import BASENAME
from rocrate.rocrate import ROCrate

from kernels.datasets import atomic
from kernels.errors import InputError
from workflow.lib import measurements, records, step
from workflow.scripts.download import raw_name

VERSION = "1.1"  # of RO-Crate, which these profiles extend
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
TERMS = {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}  # the profiles', not RO-Crate's
DATA_LICENSE = "https://creativecommons.org/licenses/by/4.0/", "Creative Commons Attribution 4.0 International"
CODE_LICENSE = "https://spdx.org/licenses/MIT", "MIT License"
SNAKEMAKE = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"
TITLE = "Shortest paths with CUDA, measured again"
WORKFLOW, TIMINGS = "Snakefile", "timings.csv"

Row = dict[str, str]


class Crate:
    """The crate of an archive's folder, with an entity for each file; the others are added as they are asked for.

    commit: of the workflow's file.
    """

    def __init__(self, folder: Path, commit: str):
        self.crate = ROCrate(version=VERSION)
        self.crate.metadata.extra_terms = TERMS
        self.crate.metadata.append_to("conformsTo", {"@id": list(PROFILES)[-1]})
        self.files = {path.relative_to(folder).as_posix(): self.file(path, folder, commit) for path in files(folder)}

    def known(self, identifier: str, kind: str, **properties) -> Entity:
        """The entity with this identifier, made where it is new."""
        new = ContextEntity(self.crate, identifier, {"@type": kind, **properties})
        return self.crate.dereference(new.id) or self.crate.add(new)

    def file(self, path: Path, folder: Path, commit: str) -> Entity:
        identifier = path.relative_to(folder).as_posix()
        properties = {
            "@type": "File",
            "name": path.name,
            "encodingFormat": MimeTypes().guess_type(path.name)[0] or "text/plain",
            "contentSize": str(path.stat().st_size),
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        return self.crate.add(
            DataEntity(self.crate, identifier, properties | (self.workflow(commit) if identifier == WORKFLOW else {}))
        )

    def license(self, identifier: str, name: str) -> Entity:
        return self.known(identifier, "CreativeWork", name=name)

    def workflow(self, commit: str) -> dict:
        """What the workflow's file has besides."""
        url = "https://snakemake.readthedocs.io"
        return {
            "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
            "name": TITLE,
            "version": commit or "unknown",
            "license": self.license(*CODE_LICENSE),
            "programmingLanguage": self.known(SNAKEMAKE, "ComputerLanguage", name="Snakemake", url=url),
        }

    def instruments(self, row: Row) -> list[Entity]:
        """The workflow, and the commit that a run ran, where that is known."""
        found = [self.files[WORKFLOW]]
        if commit := row["commit"]:
            found.append(self.known(f"swh:1:rev:{commit}", "SoftwareSourceCode", name=TITLE, version=commit))
        return found

    def inputs(self, row: Row, record: dict) -> list[Entity]:
        """A run's graph in text form, and the file that it was made from, where there is one."""
        what = row["substitute"] or row["generated"]
        found = [self.hashed(row["dataset_sha256"], row["dataset"], **({"description": what} if what else {}))]
        graph = record.get("graph", {})
        if origin := graph.get("origin"):
            found.append(self.hashed(origin["sha256"], raw_name(graph["entry"])))
        return found

    def hashed(self, sha256: str, name: str, **properties) -> Entity:
        return self.known(f"#{sha256}", "CreativeWork", name=name, sha256=sha256, **properties)

    def agents(self, row: Row, record: dict) -> list[Entity]:
        """The host and the card of a run, where they are known."""
        found = []
        if host := row["host_id"]:
            cpu = row["cpu_model"]
            found.append(self.known(f"#host-{host}", "IndividualProduct", name=f"Host {host}", description=cpu))
        if card := record.get("card"):
            uuid = card["before"]["uuid"]
            found.append(self.known(f"#{uuid}", "IndividualProduct", name=row["device"], serialNumber=uuid))
        return found

    def action(self, batch: str, rows: list[Row], provenance: dict[str, dict]) -> Entity:
        """What measured these rows: a batch, or all that were measured alone."""
        runs = [(row, provenance.get(records.name(row), {})) for row in rows]
        properties = {
            "@type": "CreateAction",
            "name": f"Batch {batch}" if batch else "Cells measured alone",
            "description": f"{len(rows)} runs on {', '.join(dict.fromkeys(row['dataset'] for row in rows))}",
            "instrument": distinct(entity for row in rows for entity in self.instruments(row)),
            "object": distinct(entity for run in runs for entity in self.inputs(*run)),
            "result": [self.files[TIMINGS], self.files[records.ARCHIVED]],
            "agent": distinct(entity for run in runs for entity in self.agents(*run)),
            "startTime": min(map(started, rows)).isoformat(timespec="seconds"),
            "endTime": max(map(ended, rows)).isoformat(timespec="seconds"),
            "actionStatus": "http://schema.org/CompletedActionStatus",
        }
        return self.crate.add(ContextEntity(self.crate, f"#batch-{batch}" if batch else "#alone", properties))


def distinct(entities: Iterable[Entity]) -> Entity | list[Entity]:
    """The entities, each once, by identifier; a single one is no list, as RO-Crate has it."""
    found = [entity for _, entity in sorted({entity.id: entity for entity in entities}.items())]
    return found[0] if len(found) == 1 else found


def files(folder: Path) -> list[Path]:
    """All files that the crate lists."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != BASENAME)


def started(row: Row) -> datetime:
    return datetime.fromisoformat(row["started"])


def ended(row: Row) -> datetime:
    """When the timed region of a run ended, or the run was stopped."""
    return started(row) + timedelta(seconds=float(row["seconds"] or row["limit_s"] or 0))


def describe(folder: Path) -> dict:
    """The crate of an archive's folder as JSON-LD. Raises InputError where a file is missing or cannot be read."""
    rows = sorted(measurements.schema().text([folder / TIMINGS]), key=started)
    if not rows:
        raise InputError(f"{folder / TIMINGS}: no rows: archive measurements first")
    if not (folder / WORKFLOW).exists():
        raise InputError(f"{folder / WORKFLOW}: no such file: copy it there from the commit that was measured last")
    provenance = records.read(folder / records.ARCHIVED)
    batches: dict[str, list[Row]] = {}
    for row in rows:
        batches.setdefault(row["batch"], []).append(row)
    made = Crate(folder, rows[-1]["commit"])
    root = made.crate.root_dataset
    root["name"] = f"Measurements of the archive {folder.name}"
    root["description"] = "Times of shortest-path kernels, with the tables, figures and verdicts that are made of them."
    root["datePublished"] = max(map(ended, rows)).date().isoformat()
    root["license"] = made.license(*DATA_LICENSE)
    root["conformsTo"] = [
        made.known(profile, "CreativeWork", name=name, version=profile.rpartition("/")[2])
        for profile, name in PROFILES.items()
    ]
    root["mainEntity"] = made.files[WORKFLOW]
    root["mentions"] = distinct(made.action(batch, mine, provenance) for batch, mine in batches.items())
    return made.crate.metadata.generate()


def write(folder: Path) -> None:
    text = json.dumps(describe(folder), indent=1, ensure_ascii=False)
    with atomic(folder / BASENAME, "w") as file:
        file.write(f"{text}\n")
    logging.info("%s", folder / BASENAME)


def main(args: argparse.Namespace) -> None:
    for folder in args.archives:
        write(folder)


if __name__ == "__main__":
    arguments = step.parser(__doc__)
    arguments.add_argument("--archives", type=Path, nargs="+", required=True, help="folders, of one card each")
    step.run(main, arguments)
