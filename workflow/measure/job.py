"""Measure all variants that are compared on one graph, in rounds, on one card: timings.csv and provenance.json.

Each round runs every variant once, in random order. Finished runs are kept in timings.csv.part, so that a job that was
cut off goes on there. It starts anew on another card or host, at another revision, with other cores or versions.
"""

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path

from kernels import libraries
from kernels.errors import InputError, naming
from kernels.gpu import card
from kernels.graph import Graph
from kernels.io import atomic
from kernels.registry import Variant
from workflow import step
from workflow.measure import host, measure, provenance
from workflow.plan.protocol import Protocol
from workflow.store import revisions


def measure_job(
    protocols: Mapping[Variant, dict],
    graph: Path,
    batch: str,
    out: Path,
    setting: provenance.StepContext,
    *,
    keep_going: bool = False,
) -> None:
    """Measure variants of one problem on a packed graph, and write both files at the end.

    If variants lack a package, raise InputError before anything is measured. With `keep_going`, log the same and
    measure the others; but if no variant can run, raise it.
    """
    if lacking := measure.lacking(protocols):
        said = "; ".join(f"{variant.key} cannot run: {reason}" for variant, reason in lacking.items())
        if not keep_going or len(lacking) == len(protocols):
            advice = (
                "mend this, or measure the other variants with protocol.keep_going: true in a file for --configfile"
            )
            raise InputError(f"{out}: nothing was measured: {said}: {advice}")
        logging.warning("%s: %s: measuring the other variants", out, said)
    on_gpu = any(variant.on_gpu for variant in protocols)
    with measure.reserved_for(protocols, out, setting.cores):
        loaded = measure.packed(graph)
        journal = Journal(out.with_name(f"{out.name}.part"), _conditions(protocols, loaded, batch, on_gpu))
        if journal.runs:
            logging.info("%s: continuing after %d finished runs", out, len(journal.runs))
        seed = int(step.digest(f"{batch}/{loaded.name}".encode()), 16)
        rows, cell_records = measure.make(protocols, loaded, setting, batch, seed, journal.runs, journal.add)
        measure.publish(rows, cell_records, out, simulated=on_gpu and card.SIMULATED)
        journal.delete()


def _conditions(protocols: Mapping[Variant, dict], graph: Graph, batch: str, on_gpu: bool) -> dict:
    """Return what a job's runs depend on: runs under other conditions are not kept."""
    return {
        "batch": batch,
        "dataset": graph.name,
        "graph": graph.meta["sha256"],
        "card": card.card_uuid() if on_gpu else "",
        "host": host.host_id(),
        "revisions": {v.key: revisions.columns(v, Protocol.of(protocol)) for v, protocol in protocols.items()},
        "protocols": {variant.key: protocol for variant, protocol in protocols.items()},
        **({"lacking": [variant.key for variant in lacking]} if (lacking := measure.lacking(protocols)) else {}),
        "made with": [card.describe(on_gpu), libraries.cores(), provenance.packages()],
    }


class Journal:
    """A file of a job's finished runs: its conditions in the first line, then a line of JSON for each run.

    A file with other conditions is replaced, and the rest after a line that was cut off is deleted.
    """

    def __init__(self, path: Path, conditions: dict):
        self.path = path
        self.runs: list[tuple[str, dict]] = []  # algorithm/variant and row
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        lines = text.split("\n")[:-1]
        first = _parsed(lines[0]) if lines else None
        head = json.dumps(conditions)
        if first == json.loads(head):
            for line in lines[1:]:
                if (run := _parsed(line)) is None:
                    break
                self.runs.append(tuple(run))
            head = lines[0]
        whole = "".join(f"{line}\n" for line in [head, *lines[1 : 1 + len(self.runs)]])
        if whole != text:
            with atomic(path, "w") as file:
                file.write(whole)

    def add(self, key: str, row: dict) -> None:
        with naming(self.path), open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps([key, row]) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def delete(self) -> None:
        self.path.unlink(missing_ok=True)


def _parsed(line: str):
    """Return the value of a line; None if it is no JSON."""
    try:
        return json.loads(line)
    except ValueError:
        return None
