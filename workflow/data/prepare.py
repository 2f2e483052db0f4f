"""Prepare a contraction hierarchy of one packed graph: what depends on its arcs alone, kept beside it.

A graph whose elimination tree is too high, or whose hierarchy has too many arcs, is refused with these numbers.
"""

import logging
from pathlib import Path

from kernels.fast.hierarchy import elimination
from kernels.graph import Graph
from kernels.io import atomic, writable


def prepare(path: Path, out: Path) -> None:
    """Write what searches in a hierarchy of a packed graph need of its arcs alone."""
    writable(out)
    graph = Graph.load(path)
    elimination.prepare(Graph.from_arcs(3, [0, 1], [1, 2], [1, 1]))  # numba compiles: no part of the times below
    hierarchy = elimination.prepare(graph)
    with atomic(out) as file:
        hierarchy.write(file, elimination.topology(graph))
    counts = hierarchy.counts
    logging.info(
        "%s: prepared in %s: %.3g s for the order, %.3g s for the tree; height %s, %s arcs, %s triangles",
        *(graph.name, out, hierarchy.order_s, hierarchy.tree_s),
        *(f"{count:,}" for count in (counts.height, counts.arcs, counts.triangles)),
    )
