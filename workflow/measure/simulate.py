"""Check variants in numba's CUDA simulator, all in one process: two files a cell as `measure` writes them.

A cell whose record says the same revision, protocol and graph is left as it is. Where a cell fails the others are still
checked, and what is finished stays; the step then fails. At the end all rows are in one CSV.
"""

import argparse
import json
import logging
from pathlib import Path

from kernels.datasets import writable
from kernels.errors import InputError, explain
from kernels.gpu import card
from kernels.graph import Graph
from kernels.variants import find
from workflow import step
from workflow.measure import measure, revisions
from workflow.store import records
from workflow.store.measurements import schema


def current(out: Path, protocol: dict, graph: Graph) -> bool:
    """Whether the cell's files are there and say that they are of this revision, protocol and graph."""
    if not out.exists():
        return False
    try:
        (record,) = records.read(out.with_suffix(".json")).values()
    except InputError:
        return False
    same = graph.meta.get("entry", graph.meta["sha256"]), protocol, revisions.of(find(*out.parts[-3:-1]))
    entry = record["graph"].get("entry", record["graph"]["sha256"])
    return (entry, record["protocol"], record["revision"]) == same


def main(args: argparse.Namespace) -> None:
    if not card.SIMULATED:
        raise InputError("the CUDA simulator is not on: set NUMBA_ENABLE_CUDASIM=1")
    writable(args.out)
    made, failed = [], []
    for text, names in args.cells.items():
        protocol = json.loads(text)
        for name in names:
            algorithm, variant, dataset = name.split("/")
            out = args.results / algorithm / variant / f"{dataset}.csv"
            made.append(out)
            graph = args.graphs / f"{dataset}.npz"
            if current(out, protocol, Graph.load(graph)):
                continue
            common = {"protocol": protocol, "config_digest": args.config_digest, "commit": args.commit, "cores": 0}
            try:
                measure.main(argparse.Namespace(algorithm=algorithm, variant=variant, graph=graph, out=out, **common))
            except Exception as error:  # the other cells are checked all the same
                said = explain(error)
                (logging.error if said else logging.exception)("%s: %s", name, said or "a defect of the program")
                failed.append(name)
    if failed:
        raise InputError(f"{len(failed)} of {len(made)} cells failed, the others are kept: {', '.join(failed)}")
    kind = schema(simulated=True)
    kind.write(kind.text(made), args.out)


if __name__ == "__main__":
    arguments = step.parser(__doc__)
    arguments.add_argument(
        "--cells",
        type=step.json_object,
        required=True,
        metavar="JSON",
        help="by each protocol, which is JSON as text, a list of algorithm/variant/dataset",
    )
    arguments.add_argument("--graphs", type=Path, required=True, metavar="DIR", help="where <dataset>.npz are")
    arguments.add_argument("--results", type=Path, required=True, metavar="DIR")
    arguments.add_argument("--config-digest", default="")
    arguments.add_argument("--commit", default="", help="the commit, where there is no .git to ask")
    arguments.add_argument("--out", type=Path, required=True, metavar="FILE.csv")
    step.run(main, arguments)
