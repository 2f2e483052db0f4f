"""Measure all variants that are compared on one graph, in rounds, on one card: timings.csv and provenance.json.

Each round runs every variant once, in random order. Runs that end are kept in timings.csv.part, so that a job that was
cut off goes on there; on another card or host, at another revision, with other cores or versions, it starts anew.
"""

import argparse
import logging
from pathlib import Path

from kernels import libraries
from kernels.datasets import atomic
from kernels.errors import InputError
from kernels.gpu import card
from kernels.harness import Protocol
from kernels.variants import Variant, find
from workflow import digests, step
from workflow.measure import host, measure, revisions
from workflow.measure.journal import Journal
from workflow.store import records
from workflow.store.measurements import schema


def main(args: argparse.Namespace) -> None:
    protocols = {find(*key.split("/", 1)): protocol for key, protocol in args.variants.items()}
    if len({variant.problem for variant in protocols}) != 1:
        raise InputError("--variants: must name variants of one problem, one source or all pairs")
    on_gpu = any(variant.on_gpu for variant in protocols)
    with measure.reserved(args.out, protocols, args.cores):
        make(args, protocols, on_gpu)


def make(args: argparse.Namespace, protocols: dict[Variant, dict], on_gpu: bool) -> None:
    """Measure, and write both files at the end."""
    graph = measure.packed(args.graph)
    job = {
        "batch": args.batch,
        "dataset": graph.name,
        "graph": graph.meta["sha256"],
        "card": card.card_uuid() if on_gpu else "",
        "host": host.host_id(),
        "revisions": {v.key: revisions.columns(v, Protocol.of(protocol)) for v, protocol in protocols.items()},
        "protocols": {variant.key: protocol for variant, protocol in protocols.items()},
        "made with": [card.describe(on_gpu), libraries.cores(), measure.packages()],
    }
    journal = Journal(args.out.with_name(f"{args.out.name}.part"), job)
    if journal.runs:
        logging.info("%s: %d runs are kept from before", args.out, len(journal.runs))
    seed = int(digests.digest(f"{args.batch}/{graph.name}".encode()), 16)
    rows, found = measure.make(protocols, graph, args, args.batch, seed, journal)
    text = schema(simulated=on_gpu and card.SIMULATED).to_csv(rows, args.out)
    path = records.beside(args.out)
    for record in found:
        records.check(record, path)
    with atomic(args.out, "w") as csv_file, atomic(path, "w") as json_file:
        csv_file.write(text)
        json_file.write(records.text({records.name(record): record for record in found}))
    journal.delete()


if __name__ == "__main__":
    arguments = step.parser(__doc__)
    arguments.add_argument(
        "--variants",
        type=step.json_object,
        required=True,
        metavar="JSON",
        help="by algorithm/variant, config.yaml's protocol",
    )
    arguments.add_argument("--batch", required=True, help="the name of the batch")
    arguments.add_argument("--graph", type=Path, required=True, metavar="FILE.npz")
    arguments.add_argument("--cores", type=int, default=0, help="how many it keeps of those it has; 0: all")
    arguments.add_argument("--config-digest", default="")
    arguments.add_argument("--commit", default="", help="the commit, where there is no .git to ask")
    arguments.add_argument("--out", type=Path, required=True, metavar="timings.csv")
    step.run(main, arguments)
