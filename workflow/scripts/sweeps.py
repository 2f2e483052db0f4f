"""What the sweeps share: one algorithm measured again and again with other settings.

    python -m workflow.scripts.delta_sweep measure --graph FILE.npz --sweep JSON --out results/delta_sweep.csv
    python -m workflow.scripts.delta_sweep draw --measurements results/delta_sweep.csv --source TEXT

A sweep's CSV has the columns of a measurement and then the sweep's own, a row a repeat; each repeat is checked as
any measurement is.
"""

import argparse
import csv
import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
from matplotlib import style
from matplotlib.figure import Figure

from kernels import device, harness
from kernels.datasets import atomic
from kernels.errors import InputError, WrongResult
from kernels.graph import Graph
from kernels.variants import VARIANTS, Variant
from workflow.scripts import figures, measure, measurements, step


@dataclass(frozen=True)
class Point:
    """One setting: the variant, what it changes of the protocol, and what the sweep's own columns say of it."""

    variant: Variant
    protocol: dict
    columns: dict


@dataclass(frozen=True)
class Sweep:
    """name: of its files and target. columns: its own, all numbers.

    points(graph, options) gives its settings; options: its entry under sweeps in config.yaml.
    draw(figure, rows) fills the figure from at least one row that is ok and returns sentences to stand under it.
    """

    name: str
    columns: tuple[str, ...]
    points: Callable[[Graph, dict], Iterator[Point]]
    draw: Callable[[Figure, pd.DataFrame], list[str]]


def measured(sweep: Sweep, graph: Graph, options: dict, protocol: harness.Protocol, commit: str) -> Iterator[dict]:
    """A row a repeat, with all columns of the CSV. Raises as harness.measure does."""
    stand_in = graph.meta.get("stand_in")
    for point in sweep.points(graph, options):
        changed = replace(protocol, repeats=options["repeats"], **point.protocol)
        about = measure.about(point.variant, graph, changed, commit)
        for repeat, row in enumerate(harness.measure(point.variant, graph, changed), start=1):
            said = [row["note"], f"{measurements.STAND_IN} {stand_in}" if stand_in else ""]
            yield {**about, **row, **point.columns, "repeat": repeat, "note": "; ".join(filter(None, said))}
        logging.info("%s: %s", point.variant.key, ", ".join(f"{name} {value}" for name, value in point.columns.items()))


def write_csv(sweep: Sweep, args: argparse.Namespace) -> None:
    """Measure, and write the CSV at the end. Raises InputError where no GPU is there or a result is wrong."""
    if not device.gpu_visible():
        raise InputError(f"{sweep.name} needs a GPU and none is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES")
    graph, protocol = Graph.load(args.graph), harness.Protocol(**args.protocol)
    commit, _ = measure.state_of_project(args.commit)
    try:
        rows = list(measured(sweep, graph, args.sweep, protocol, commit))
    except WrongResult as error:
        raise InputError(f"{sweep.name}: wrong result, nothing is published: {error}") from None
    with atomic(args.out, "w") as file:
        writer = csv.DictWriter(file, (*measurements.COLUMNS, *sweep.columns), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def load(sweep: Sweep, paths: list[Path]) -> pd.DataFrame:
    """The rows of the sweep's CSVs, as measurements.load gives them."""
    return measurements.load(paths, sweep.columns)


def picture(sweep: Sweep, rows: pd.DataFrame, source: str) -> Figure:
    """The figure, to be called and saved under figures.STYLE; rows: as load gives them."""
    figure = Figure(figsize=(figures.WIDTH, figures.HEIGHT / 2))
    said = measurements.origin(rows, source, {key: variant.title for key, variant in VARIANTS.items()})
    if (rows["status"] == "ok").any():
        said = [*sweep.draw(figure, rows), *said]
    else:
        figures.say_unmeasured(figure.subplots(subplot_kw={"xticks": [], "title": sweep.name}))
    figures.write_below(figure, said)
    return figure


def write(sweep: Sweep, rows: pd.DataFrame, source: str, folder: Path) -> None:
    """Write the figure's files into a folder."""
    with style.context(["default", figures.STYLE]):
        figures.save(picture(sweep, rows, source), folder / sweep.name)


def run(sweep: Sweep, doc: str) -> None:
    """The command line of a sweep's script."""

    def main(args: argparse.Namespace) -> None:
        if args.do == "measure":
            write_csv(sweep, args)
        else:
            write(sweep, load(sweep, args.measurements), args.source, args.out_dir)

    arguments = step.parser(doc)
    commands = arguments.add_subparsers(dest="do", required=True)
    measuring = commands.add_parser("measure", help="measure, and write the CSV")
    measuring.add_argument("--graph", type=Path, required=True, metavar="FILE.npz")
    measuring.add_argument("--sweep", type=json.loads, required=True, metavar="JSON", help="of config.yaml's sweeps")
    measuring.add_argument("--protocol", type=json.loads, default={}, metavar="JSON", help="config.yaml's protocol")
    measuring.add_argument("--commit", default="", help="the commit, where there is no .git to ask")
    measuring.add_argument("--out", type=Path, required=True, metavar="FILE.csv")
    drawing = commands.add_parser("draw", help="draw the figure of a CSV")
    drawing.add_argument("--measurements", type=Path, nargs="*", default=[], metavar="FILE.csv")
    drawing.add_argument("--source", required=True, help="a sentence: where the measurements come from")
    drawing.add_argument("--out-dir", type=Path, default=Path("figures"))
    step.run(main, arguments)
