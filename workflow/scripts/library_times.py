"""Measure what calls of the library take, each as a user makes it: results/library_times.csv.

    python -m workflow.scripts.library_times --graphs nyc.npz e.npz --networkx nyc.npz --out results/library_times.csv

A row a repeat; every result is compared with SciPy's. First answers are those of new processes, from the import to the
result; where nothing is kept, each has an empty folder for its compiled kernels. A command's time is all of its
process's. Later calls follow a first one that is not counted.
"""

import argparse
import importlib.metadata
import json
import logging
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from cuda.bindings import driver
from scipy.sparse import csgraph as scipys

import kernels
from kernels import csgraph, interface
from kernels.datasets import read_graph, writable
from kernels.errors import InputError, WrongResult
from kernels.gpu import card
from kernels.gpu.driver_api import checked
from kernels.graph import INF, Graph
from workflow.lib import lock, step
from workflow.scripts import measure
from workflow.scripts.library_times_table import LATER, SCHEMA, What

SOURCE = 0
FIRST = """
import time
started = time.perf_counter()
import kernels
found = kernels.shortest_paths({path!r}, {source})
seconds = time.perf_counter() - started
import json, sys
import numpy as np
reached = np.isfinite(found.distances)
said = [seconds, int(reached.sum()), float(found.distances[reached].sum()), "numba" in sys.modules, found.variant]
print(json.dumps(said))
"""


class Truth:
    """SciPy's distances from SOURCE, and a reduction of them that fits on a line."""

    def __init__(self, graph: Graph):
        self.name, self.distances = graph.name, scipys.dijkstra(graph.to_scipy(), indices=SOURCE)
        reached = np.isfinite(self.distances)
        self.reduced = int(reached.sum()), float(self.distances[reached].sum())

    def check(self, what: str, distances: np.ndarray) -> None:
        """Raise WrongResult where the distances are others."""
        if not np.array_equal(distances, self.distances):
            raise WrongResult(f"{self.name}, {what}: the distances are not SciPy's")

    def check_reduced(self, what: str, reached: int, total: float) -> None:
        if (reached, total) != self.reduced:
            raise WrongResult(f"{self.name}, {what}: the distances are not SciPy's")


def measured(graphs: list[Path], networkx: Path | None, repeats: int, commit: str) -> Iterator[dict]:
    """A row a repeat. Raises InputError and WrongResult."""
    commit, clean = measure.state_of_project(commit)
    about = card.describe(on_gpu=True)
    common = {
        **about,
        "cpu_model": card.cpu_name(),
        "numba_cuda": importlib.metadata.version("numba-cuda"),
        "commit": commit,
        "tree_clean": clean,
        "host": platform.node(),
    }
    for path in graphs:
        graph = read_graph(path)
        of_graph = {
            **{"dataset": graph.name, "vertices": graph.vertices, "arcs": graph.arcs},
            "substitute": graph.meta.get("substitute") or "",
        }
        truth = Truth(graph)
        for part in (first_answers(path, truth, repeats), later_calls(graph, truth, repeats)):
            yield from (common | of_graph | row for row in part)
        if path == networkx:
            yield from (common | of_graph | row for row in by_networkx(graph, truth))


def row_of(what: str, repeat: int, seconds: float) -> dict:
    started = datetime.now(UTC).isoformat(timespec="seconds")
    logging.info("%s, %d: %.4g s", what, repeat, seconds)
    return {"what": what, "repeat": repeat, "seconds": seconds, "started": started}


def first_answers(path: Path, truth: Truth, repeats: int) -> Iterator[dict]:
    """Of new processes: without kept kernels, with them, and by the command."""
    with tempfile.TemporaryDirectory() as folder:
        own = [Path(folder, str(number)) for number in range(repeats)]
        for what, caches in ((What.COMPILED, own), (What.KEPT, [own[0]] * repeats)):
            for repeat, cache in enumerate(caches, start=1):
                code = FIRST.format(path=str(path), source=SOURCE)
                seconds, reached, total, numba, variant = json.loads(in_process(cache, "-c", code))
                truth.check_reduced(what, reached, total)
                if variant != interface.NEAR_FAR or numba != (what == What.COMPILED):
                    raise InputError(f"{path}, {what}: {variant}, compiled: {numba}: not what is to be measured")
                yield row_of(what, repeat, seconds)
        to = Path(folder, "paths.npz")
        for repeat in range(1, repeats + 1):
            started = time.perf_counter()
            in_process(own[0], "-m", "kernels", "sssp", str(path), "--source", str(SOURCE), "--to", str(to))
            seconds = time.perf_counter() - started
            with np.load(to) as found:
                truth.check(What.COMMAND, found["distances"])
            yield row_of(What.COMMAND, repeat, seconds)


def in_process(cache: Path, *words: str) -> str:
    """What a new Python says, which keeps its kernels in that folder. Raises InputError where it fails."""
    environment = os.environ | {"CUDA_SHORTEST_PATHS_CACHE": str(cache)}
    ran = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True)
    if ran.returncode:
        raise InputError(f"a new process failed: {ran.stderr.strip()[-2000:]}")
    return ran.stdout


def later_calls(graph: Graph, truth: Truth, repeats: int) -> Iterator[dict]:
    """In this process, one call after the other; the first of each is not counted."""
    array = graph.to_scipy()
    with kernels.prepare(graph) as solver:
        searches = solver.in_whole_numbers.near_far

        def kernels_alone() -> float:
            with solver.working():
                launches = searches.search(SOURCE)
                return on_card(lambda: [launch() for launch in launches])

        calls: dict[str, Callable] = {
            What.SOLVER: lambda: solver.shortest_paths(SOURCE).distances,
            What.ON_CARD: lambda: solver.shortest_paths(SOURCE, out="device").distances,
            What.SAME_GRAPH: lambda: kernels.shortest_paths(graph, SOURCE).distances,
            What.SAME_ARRAY: lambda: csgraph.dijkstra(array, indices=SOURCE),
            What.SAME_ARRAY_TREE: lambda: csgraph.dijkstra(array, indices=SOURCE, return_predecessors=True)[0],
            What.SCIPY: lambda: scipys.dijkstra(array, indices=SOURCE),
            What.SCIPY_TREE: lambda: scipys.dijkstra(array, indices=SOURCE, return_predecessors=True)[0],
        }
        for what, call in calls.items():
            rounds = 1 if what in (What.SCIPY, What.SCIPY_TREE) else LATER * repeats
            for repeat in range(rounds + 1):
                started = time.perf_counter()
                found = call()
                seconds = time.perf_counter() - started
                if what == What.ON_CARD:
                    found = found.copy_to_host()
                    found = np.where(found == INF, np.inf, found)
                truth.check(what, found)
                if repeat:
                    yield row_of(what, repeat, seconds)
        for repeat in range(LATER * repeats + 1):
            seconds = kernels_alone()
            if repeat:
                yield row_of(What.KERNELS, repeat, seconds)


def on_card(work: Callable[[], object]) -> float:
    """Seconds from the start to the end of work on the card, between two events of it."""
    events = [checked(driver.cuEventCreate(driver.CUevent_flags.CU_EVENT_DEFAULT)) for _ in range(2)]
    checked(driver.cuEventRecord(events[0], 0))
    work()
    checked(driver.cuEventRecord(events[1], 0))
    checked(driver.cuEventSynchronize(events[1]))
    seconds = checked(driver.cuEventElapsedTime(*events)) / 1000
    for event in events:
        checked(driver.cuEventDestroy(event))
    return seconds


def by_networkx(graph: Graph, truth: Truth) -> Iterator[dict]:
    """single_source_dijkstra of NetworkX, by its own function and by our backend, whose first call converts."""
    import networkx as nx

    from kernels import networkx_backend as backend

    cheapest = graph.cheapest()
    roads = nx.DiGraph()
    roads.add_nodes_from(range(graph.vertices))
    arcs = zip(cheapest.tails.tolist(), cheapest.indices.tolist(), cheapest.weights.tolist(), strict=True)
    roads.add_weighted_edges_from(arcs)
    converted = []  # as NetworkX keeps it with the graph

    def by_backend():
        if not converted:
            converted.append(backend.convert_from_nx(roads, edge_attrs={"weight": 1}))
        return backend.single_source_dijkstra(converted[0], SOURCE)

    calls = {
        What.NETWORKX: lambda: nx.single_source_dijkstra(roads, SOURCE, backend="networkx"),
        What.BACKEND_FIRST: by_backend,
        What.BACKEND: by_backend,
    }
    for what, call in calls.items():
        started = time.perf_counter()
        lengths, _ = call()
        seconds = time.perf_counter() - started
        found = np.full(graph.vertices, np.inf)
        found[list(lengths)] = list(lengths.values())
        truth.check(what, found)
        yield row_of(what, 1, seconds)


def main(args: argparse.Namespace) -> None:
    if not card.gpu_visible():
        raise InputError("library_times needs a GPU and none is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES")
    writable(args.out)
    with lock.held(args.out):
        SCHEMA.write(list(measured(args.graphs, args.networkx, args.repeats, args.commit)), args.out)


if __name__ == "__main__":
    arguments = step.parser(__doc__)
    arguments.add_argument("--graphs", type=Path, nargs="+", required=True, metavar="FILE.npz")
    arguments.add_argument("--networkx", type=Path, metavar="FILE.npz", help="which of them NetworkX is asked about")
    arguments.add_argument("--repeats", type=step.count, default=5, help="of first answers; of later calls LATER more")
    arguments.add_argument("--commit", default="", help="the commit, where there is no .git to ask")
    arguments.add_argument("--out", type=Path, required=True, metavar="FILE.csv")
    step.run(main, arguments)
