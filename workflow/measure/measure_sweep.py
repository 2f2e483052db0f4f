"""Measure a sweep on one packed graph: a CSV row a repeat, each checked as any measurement is.

    python -m workflow.measure.measure_sweep --sweep delta_sweep --options JSON --graph FILE.npz --out FILE.csv

--options is the sweep's entry in config.yaml.
"""

import argparse
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kernels import harness
from kernels.datasets import writable
from kernels.errors import InputError, WrongResult
from kernels.gpu import card
from kernels.graph import Graph
from workflow import step
from workflow.measure import host, lock, measure, sources
from workflow.measure.sweeps import Sweep
from workflow.store.measurements import schema
from workflow.views import draw_sweep

NEEDED = {  # of a sweep's entry; which dataset it is on, --graph says
    "delta": ["deltas", "repeats"],
    "stride": ["threads", "shares", "repeats"],
    "sources": ["count", "seed", "repeats"],
}
SWEEPS = {**draw_sweep.SWEEPS, sources.SWEEP.name: sources.SWEEP}


def measured(sweep: Sweep, graph: Graph, options: dict, protocol: harness.Protocol, commit: str) -> Iterator[dict]:
    """A row a repeat, with all columns of the CSV. Raises as harness.measure does."""
    for point in sweep.points(graph, options):
        changed = replace(protocol, repeats=options["repeats"], **point.protocol)
        logging.info("%s: %s", point.variant.key, ", ".join(f"{name} {value}" for name, value in point.columns.items()))
        for row in measure.measurements(point.variant, graph, changed, commit):
            yield row | point.columns


def write(
    sweep: Sweep, graph: Graph, options: dict, protocol: harness.Protocol, commit: str, out: Path, cores: int = 0
) -> None:
    """Measure on a card that no other job has, and write the CSV at the end. cores: as host.one_card has it.

    Raises InputError where no GPU is there, another process measures it, or a result is wrong.
    """
    with host.one_card(cores):
        if not card.gpu_visible():
            raise InputError(f"{sweep.name} needs a GPU and none is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES")
        with lock.held(out):
            try:
                rows = list(measured(sweep, graph, options, protocol, commit))
            except WrongResult as error:
                raise InputError(f"{sweep.name}: wrong result, nothing is published: {error}") from None
            schema(sweep.columns).write(rows, out)


def main(args: argparse.Namespace) -> None:
    key = args.sweep.removesuffix("_sweep")
    step.check_part("--options", args.options, "sweeps", key, needed=NEEDED[key])
    writable(args.out)
    graph, protocol = Graph.load(args.graph), harness.Protocol.of(args.protocol)
    commit, _ = measure.state_of_project(args.commit)
    write(SWEEPS[args.sweep], graph, args.options, protocol, commit, args.out, args.cores)


if __name__ == "__main__":
    arguments = step.parser(__doc__)
    arguments.add_argument("--sweep", choices=list(SWEEPS), required=True)
    arguments.add_argument("--options", type=step.json_object, required=True, metavar="JSON")
    arguments.add_argument("--graph", type=Path, required=True, metavar="FILE.npz")
    arguments.add_argument(
        "--protocol", type=step.json_object, default={}, metavar="JSON", help="config.yaml's protocol"
    )
    arguments.add_argument("--cores", type=int, default=0, help="how many it keeps of those it has; 0: all")
    arguments.add_argument("--commit", default="", help="the commit, where there is no .git to ask")
    arguments.add_argument("--out", type=Path, required=True, metavar="FILE.csv")
    step.run(main, arguments)
