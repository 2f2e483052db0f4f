"""Measure what the choice of a variant for one source costs, on graphs of many shapes: results/choices.csv.

    python -m workflow.scripts.choices --graphs nyc.npz e.npz --out results/choices.csv

A row a repeat, with three times from a graph in this machine's memory to distances and predecessors in it: by the
variant that the library chooses, by near_far and by SciPy. So what is laid out, copied and converted is part of each;
compiling is not. Every result is compared with SciPy's.
"""

import argparse
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from scipy.sparse import csgraph

from kernels.answers import Paths
from kernels.choice import NEAR_FAR
from kernels.datasets import writable
from kernels.errors import InputError, WrongResult
from kernels.gpu import card
from kernels.graph import Graph
from kernels.interface import Solver
from workflow.lib import host, lock, measured_on, shapes, step
from workflow.scripts import measure
from workflow.scripts.choices_table import SCHEMA

SOURCE = 0


def chosen(graph: Graph) -> Paths:
    with Solver(graph) as solver:
        return solver.shortest_paths(SOURCE)


def by_near_far(graph: Graph) -> Paths:
    with Solver(graph) as solver, solver.working():
        return solver.in_whole_numbers.paths(SOURCE, NEAR_FAR, "measured")


def by_scipy(graph: Graph) -> Paths:
    found = csgraph.dijkstra(graph.to_scipy(), indices=SOURCE, return_predecessors=True)
    return Paths(*found, "dijkstra/scipy", "measured")


WAYS: dict[str, Callable[[Graph], Paths]] = {"chosen": chosen, "near_far": by_near_far, "scipy": by_scipy}


def times(name: str, graph: Graph, repeats: int) -> Iterator[dict]:
    """A row a repeat, the three ways in random order in each. Raises WrongResult."""
    random, right = np.random.default_rng(0), by_scipy(graph).distances
    for repeat in range(1, repeats + 1):
        row = {"shape": name, "vertices": graph.vertices, "arcs": graph.arcs, "repeat": repeat}
        for way in random.permutation(list(WAYS)).tolist():
            fresh = replace(graph)  # of which nothing is laid out
            started = time.perf_counter()
            found = WAYS[way](fresh)
            row[f"{way}_s"] = time.perf_counter() - started
            if not np.array_equal(found.distances, right):
                raise WrongResult(f"{name}, {way}: the distances are not SciPy's")
            if way == "chosen":
                row["variant"] = found.variant
        yield row | {"started": datetime.now(UTC).isoformat(timespec="seconds")}


def measured(graphs: list[Path], repeats: int, commit: str) -> Iterator[dict]:
    """A row a repeat of each packed graph and of each shape, after one of a grid, which loads all kernels."""
    common = measured_on.about(*measure.state_of_project(commit))
    list(times("grid", shapes.strip(300, 300, low=0), 2))
    for path in graphs:
        graph = Graph.load(path)
        for row in times(graph.name, graph, repeats):
            yield common | row | {"substitute": graph.meta.get("substitute") or ""}
    for name, make in shapes.SHAPES.items():
        graph = make()
        for row in times(name, graph, repeats):
            yield common | row
        last = {way: f"{row[f'{way}_s']:.3g} s" for way in WAYS}
        logging.info("%s: %s, %s", name, row["variant"], last)


def main(args: argparse.Namespace) -> None:
    writable(args.out)
    with host.one_card(args.cores):
        if not card.gpu_visible():
            raise InputError("choices needs a GPU and none is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES")
        with lock.held(args.out):
            try:
                rows = list(measured(args.graphs, args.repeats, args.commit))
            except WrongResult as error:
                raise InputError(f"choices: wrong result, nothing is published: {error}") from None
            SCHEMA.write(rows, args.out)


if __name__ == "__main__":
    arguments = step.parser(__doc__)
    arguments.add_argument("--graphs", type=Path, nargs="*", default=[], metavar="FILE.npz")
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--cores", type=int, default=0, help="how many it keeps of those it has; 0: all")
    arguments.add_argument("--commit", default="", help="the commit, where there is no .git to ask")
    arguments.add_argument("--out", type=Path, required=True, metavar="FILE.csv")
    step.run(main, arguments)
