"""Prepare the part of a contraction hierarchy that depends on a graph's arcs alone, and keep it beside the graph.

A graph whose elimination tree is too high, or whose hierarchy has too many arcs, is refused with these numbers.
"""

import logging
from pathlib import Path

import numpy as np

from kernels.fast.hierarchy import elimination
from kernels.graph import Graph
from kernels.io import atomic, writable


def prepare(path: Path, out: Path) -> None:
    """Write the prepared hierarchy of a packed graph."""
    writable(out)
    graph = Graph.load(path)
    # Compile, outside the times below: no vertex of a complete graph has few neighbours, so METIS orders it.
    n = elimination.MAX_EARLY_DEGREE + 2
    elimination.prepare_hierarchy(Graph.from_arcs(n, *np.triu_indices(n, 1), np.ones(n * (n - 1) // 2, np.int32)))
    hierarchy = elimination.prepare_hierarchy(graph)
    with atomic(out) as file:
        hierarchy.write(file, elimination.topology(graph))
    counts = hierarchy.counts
    logging.info(
        "%s: prepared in %s: %.3g s for the order, %.3g s for the tree; height %s, %s arcs, %s triangles",
        *(graph.name, out, hierarchy.order_s, hierarchy.tree_s),
        *(f"{count:,}" for count in (counts.height, counts.arcs, counts.triangles)),
    )
