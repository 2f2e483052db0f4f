"""Measure all variants that are compared on one graph, in rounds, on one card: timings.csv and provenance.json.

Each round runs every variant once, in random order. Runs that end are kept in timings.csv.part, so that a job that was
cut off goes on there; on another card or host, at another revision, with other cores or versions, it starts anew.
"""

import logging
from collections.abc import Mapping
from pathlib import Path

from kernels import libraries
from kernels.gpu import card
from kernels.graph import Graph
from kernels.harness import Protocol
from kernels.io import atomic
from kernels.registry import Variant
from workflow import digests
from workflow.measure import host, measure, revisions
from workflow.measure.journal import Journal
from workflow.store import records
from workflow.store.measurements import schema


def measure_job(
    protocols: Mapping[Variant, dict], graph: Path, batch: str, out: Path, setting: measure.Setting
) -> None:
    """Measure variants of one problem on a packed graph, and write both files at the end."""
    on_gpu = any(variant.on_gpu for variant in protocols)
    with measure.reserved(out, protocols, setting.cores):
        _measure(protocols, measure.packed(graph), batch, out, setting, on_gpu)


def _measure(protocols, graph: Graph, batch: str, out: Path, setting: measure.Setting, on_gpu: bool) -> None:
    job = {
        "batch": batch,
        "dataset": graph.name,
        "graph": graph.meta["sha256"],
        "card": card.card_uuid() if on_gpu else "",
        "host": host.host_id(),
        "revisions": {v.key: revisions.columns(v, Protocol.of(protocol)) for v, protocol in protocols.items()},
        "protocols": {variant.key: protocol for variant, protocol in protocols.items()},
        "made with": [card.describe(on_gpu), libraries.cores(), measure.packages()],
    }
    journal = Journal(out.with_name(f"{out.name}.part"), job)
    if journal.runs:
        logging.info("%s: %d runs are kept from before", out, len(journal.runs))
    seed = int(digests.digest(f"{batch}/{graph.name}".encode()), 16)
    rows, found = measure.make(protocols, graph, setting, batch, seed, journal)
    text = schema(simulated=on_gpu and card.SIMULATED).to_csv(rows, out)
    path = records.beside(out)
    for record in found:
        records.check(record, path)
    with atomic(out, "w") as csv_file, atomic(path, "w") as json_file:
        csv_file.write(text)
        json_file.write(records.text({records.name(record): record for record in found}))
    journal.delete()
