"""Searches from each of many sources: results/sources/<dataset>.csv each, joined into results/sources.csv.

workflow/measure/measure_sweep.py measures them.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from kernels.graph import Graph
from kernels.registry import find
from workflow.measure.sweeps import Point, Sweep
from workflow.store import measurements

VARIANT = "delta_stepping", "near_far"


def points(graph: Graph, options: dict) -> Iterator[Point]:
    """options["count"] vertices that have out-arcs (all, where there are fewer), drawn with options["seed"].

    Distances are proved, not compared with SciPy's, which would take minutes on millions of vertices.
    """
    tails = np.flatnonzero(np.diff(graph.indptr))
    random = np.random.default_rng(options["seed"])
    for source in random.choice(tails, min(options["count"], len(tails)), replace=False).tolist():
        yield Point(find(*VARIANT), {"source": source, "compared": False}, {"source": source})


SWEEP = Sweep("sources", ("source",), points, None)


def load(paths: list[Path]) -> pd.DataFrame:
    """The rows of the CSVs, as measurements.load gives them."""
    return measurements.load(paths, SWEEP.columns)
