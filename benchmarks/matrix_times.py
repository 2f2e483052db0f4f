"""Measure from how many sources on a hierarchy pays for distances to targets; needs a GPU.

    python -m benchmarks.matrix_times nyc.npz e.npz

Prints for each graph the seconds of a source by Near-Far, of preparing a hierarchy, of laying it out and of a call, and
the numbers of sources at which a hierarchy takes as long as Near-Far: `BREAK_EVEN` of kernels/library/choice.py.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from kernels.errors import WrongResult
from kernels.fast.hierarchy import elimination
from kernels.graph import Graph
from kernels.io import read_graph
from kernels.library import choice
from kernels.library.searches import Wanted, WholeNumbers
from workflow.step import logged

TARGETS, FEW, REPEATS = 1000, 20, 5


def seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def measure(graph: Graph, folder: Path) -> None:
    """Print the times and break-even numbers of a graph."""
    random = np.random.default_rng(0)
    sources, targets = random.integers(0, graph.vertices, FEW), random.integers(0, graph.vertices, TARGETS)
    made: list[elimination.Hierarchy] = []
    prepare = seconds(lambda: made.append(elimination.prepare_hierarchy(graph)))
    path = folder / f"{graph.name}.npz"
    packed = replace(graph, file=path)
    with open(elimination.beside(path), "wb") as file:
        made[0].write(file, elimination.topology(graph))
    found = {key: np.empty((FEW, TARGETS), np.int32) for key in (choice.NEAR_FAR, choice.HIERARCHY_TARGETS)}
    times = {}
    for compiled in (False, True):  # kernels of a hierarchy are compiled in each process
        on = WholeNumbers(replace(packed))  # without the results kept with a graph
        lay_out = seconds(partial(getattr, on.hierarchy, "targets"))
        wanted = Wanted(sources, targets, False, np.dtype(np.int32), np.inf, FEW)
        for key, table in found.items():
            call = partial(on.by(key).fill, wanted, table)
            call()
            times[key] = median(seconds(call) for _ in range(REPEATS)) if compiled else 0.0
    first, second = found.values()
    if not np.array_equal(first, second):
        raise WrongResult(f"{graph.name}: the distances differ")
    source, once = times[choice.NEAR_FAR] / FEW, times[choice.HIERARCHY_TARGETS]
    print(
        f"{graph.name}: near_far {source * 1e3:.3g} ms a source, hierarchy prepare {prepare:.3g} s, lay out "
        f"{lay_out:.3g} s, call {once * 1e3:.3g} ms: first {(prepare + lay_out + once) / source:.0f}, prepared "
        f"{(lay_out + once) / source:.0f}, laid_out {once / source:.1f}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", type=Path, nargs="+", metavar="GRAPH.npz")
    with logged(), tempfile.TemporaryDirectory() as temporary:
        for path in parser.parse_args().graphs:
            measure(read_graph(path), Path(temporary))
