"""Prepare a contraction hierarchy of one packed graph: what depends on its arcs alone, kept beside it.

    python -m workflow.data.prepare --graph resources/graphs/nyc.npz --out resources/graphs/nyc.hierarchy.npz

A graph whose elimination tree is too high, or whose hierarchy has too many arcs, is refused with these numbers.
"""

import argparse
import logging
from pathlib import Path

from kernels.datasets import atomic, writable
from kernels.fast.hierarchy import elimination
from kernels.graph import Graph
from workflow import step


def main(args: argparse.Namespace) -> None:
    writable(args.out)
    graph = Graph.load(args.graph)
    elimination.prepare(Graph.from_arcs(3, [0, 1], [1, 2], [1, 1]))  # numba compiles: no part of the times below
    hierarchy = elimination.prepare(graph)
    with atomic(args.out) as file:
        hierarchy.write(file, elimination.topology(graph))
    counts = hierarchy.counts
    logging.info(
        "%s: prepared in %s: %.3g s for the order, %.3g s for the tree; height %s, %s arcs, %s triangles",
        *(graph.name, args.out, hierarchy.order_s, hierarchy.tree_s),
        *(f"{count:,}" for count in (counts.height, counts.arcs, counts.triangles)),
    )


if __name__ == "__main__":
    arguments = step.parser(__doc__)
    arguments.add_argument("--graph", type=Path, required=True, metavar="FILE.npz")
    arguments.add_argument("--out", type=Path, required=True, metavar="FILE.hierarchy.npz")
    step.run(main, arguments)
