"""Measure the library's calls on a GPU as a user makes them; docs/library.md shows the rows.

    python -m benchmarks.library_times nyc.npz e.npz --out results/archive/h200/library_times.csv

Takes packed graphs of road networks and writes one row per repeat. After each repeat the distances from SOURCE are
compared with SciPy's. NetworkX searches the first graph only. The file is rewritten after each kind of call.
"""

import argparse
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from scipy import sparse
from scipy.sparse import csgraph as scipys

import kernels
from kernels import csgraph
from kernels.errors import InputError, WrongResult
from kernels.fast.hierarchy import all_pairs, elimination
from kernels.gpu import card
from kernels.gpu.card import CardTimer
from kernels.graph import INF, Graph
from kernels.io import read_graph, writable
from kernels.library import choice
from kernels.library import networkx as backend
from kernels.library.searches import Wanted
from workflow.measure import host
from workflow.measure.provenance import StepContext, provenance
from workflow.step import logged
from workflow.store.benchmarks import LIBRARY_TIMES

SOURCE = 0
REPEATS, LATER = 5, 50  # repeats of a call; of a call that takes milliseconds
BUDGET_S = 20.0  # after this a call is not repeated
FIRST = """
import sys, time
started = time.perf_counter()
import kernels
found = kernels.shortest_paths(sys.argv[1], int(sys.argv[2]))
seconds = time.perf_counter() - started
import numpy as np
np.savez(sys.argv[3], distances=found.distances)
print(seconds, found.variant)
"""


class Case(NamedTuple):
    """A kind of call."""

    what: str  # its name in the file
    once: Callable[[], tuple[float, object]]  # makes the call; returns its seconds and its result
    check: Callable  # checks the result
    repeats: int = REPEATS

    def rows(self) -> Iterator[dict]:
        """Yield the columns of each repeat; the first call is not counted."""
        began = time.perf_counter()
        for repeat in range(self.repeats + 1):
            if repeat > 1 and time.perf_counter() - began > BUDGET_S:
                return
            row = self.row(repeat)
            if repeat:
                yield row

    def row(self, repeat: int) -> dict:
        """Make and check a call; return its columns. Its result is freed, so that the next call can use its memory."""
        started = datetime.now(UTC).isoformat(timespec="seconds")
        seconds, found = self.once()
        self.check(found)
        return {"what": self.what, "repeat": repeat, "seconds": seconds, "started": started}


def timed(call: Callable, *arguments, **options) -> tuple[float, Any]:
    """Return the seconds and the result of a call."""
    before = time.perf_counter()
    found = call(*arguments, **options)
    return time.perf_counter() - before, found


def check_against(array: sparse.csr_array) -> Callable:
    """Return a function that raises WrongResult unless its argument has SciPy's distances from SOURCE."""
    expected = scipys.dijkstra(array, indices=SOURCE)
    reached = expected[np.isfinite(expected)]
    reduced = reached.max(), len(reached), reached.sum()

    def check(found) -> None:
        """Compare the distances, given in any form that the library returns."""
        found = found[0] if isinstance(found, tuple) else getattr(found, "distances", found)
        right: Any = expected
        if isinstance(found, dict):
            found = [found.get(vertex, np.inf) for vertex in range(len(expected))]
        elif isinstance(found, all_pairs.Reduced):
            found, right = (found.eccentricity[0], found.reached[0], found.total[0]), reduced
        elif not isinstance(found, np.ndarray):
            found = found.copy_to_host()
            found = np.where(found == INF, np.inf, found)
        if not np.array_equal(found, right):
            raise WrongResult("the distances are not SciPy's")

    return check


def first_answers(path: Path, check: Callable, folder: Path) -> Iterator[Case]:
    """Yield calls in new processes, from the import to the result; for the command, the whole process.

    `folder` must be empty.
    """
    to = folder / "paths.npz"
    caches: list[str] = []

    def process(*words) -> str:
        environment = os.environ | {"CUDA_SHORTEST_PATHS_CACHE": caches[-1]}
        ran = subprocess.run([sys.executable, *map(str, words)], env=environment, capture_output=True, encoding="utf-8")
        if ran.returncode:
            raise InputError(f"a new process failed: {ran.stderr.strip()[-2000:]}")
        return ran.stdout

    def saved() -> np.ndarray:
        with np.load(to) as found:
            return found["distances"]

    def answer(compiles: bool) -> tuple[float, np.ndarray]:
        if compiles:
            caches.append(tempfile.mkdtemp(dir=folder))
        kept = set(Path(caches[-1]).rglob("*.nbc"))
        seconds, variant = process("-c", FIRST, path, SOURCE, to).split()
        compiled = set(Path(caches[-1]).rglob("*.nbc")) != kept
        if (variant, compiled) != (choice.NEAR_FAR, compiles):
            did = "compiled kernels" if compiled else "compiled no kernel"
            raise InputError(f"{path}: the process used {variant} and {did}, contrary to the name of the call")
        return float(seconds), saved()

    def command() -> tuple[float, np.ndarray]:
        seconds, _ = timed(process, "-m", "kernels", "sssp", path, "--source", SOURCE, "--to", to)
        return seconds, saved()

    yield Case("first answer of a process, nothing kept", partial(answer, True), check)
    yield Case("first answer of a process, compiled kernels kept", partial(answer, False), check)
    yield Case("python -m kernels sssp, compiled kernels kept", command, check)


def later_calls(graph: Graph, check: Callable) -> Iterator[Case]:
    """Yield repeated calls in this process."""
    with kernels.prepare(graph) as solver:

        def kernels_alone() -> tuple[float, object]:
            with solver._working():
                searches = solver._in_whole_numbers.near_far.layout
                # No host work between the events.
                searches.run.prepare = searches.run.prepare_async  # type: ignore[method-assign]
                find_distances, find_tree = searches.search(SOURCE)
                del searches.run.prepare
                with CardTimer() as timer:
                    find_distances()
                    find_tree()
                return timer.seconds, searches.dist

        what, once = "a solver's shortest_paths", partial(timed, solver.shortest_paths, SOURCE)
        yield Case(what, once, check, LATER)
        yield Case(f"{what}, left on the card", partial(once, out="device"), check, LATER)
        yield Case("the kernels alone, between two events", kernels_alone, check, LATER)
        for count in (20, 128):
            yield rows("a row of distances by near_far", solver, choice.NEAR_FAR, count, check)
    once = partial(timed, kernels.shortest_paths, graph, SOURCE)
    yield Case("shortest_paths, the same Graph again", once, check, LATER)


def rows(what: str, solver: kernels.library.solver.Solver, key: str, count: int, check: Callable) -> Case:
    """Return the case of distances from `count` vertices by the variant `key`, in seconds per source."""

    def once() -> tuple[float, np.ndarray]:
        n, found = solver.graph.vertices, np.empty((count, solver.graph.vertices))
        wanted = Wanted(spread(n, count), np.arange(n), True, found.dtype, np.inf, count)
        with solver._working():
            seconds, _ = timed(lambda: solver._in_whole_numbers.by(key).fill(wanted, found))
        return seconds / count, found[0]

    return Case(f"{what}, of {count}", once, check)


def spread(vertices: int, count: int) -> np.ndarray:
    """Return `count` distinct vertices, SOURCE first."""
    return np.arange(count) * vertices // count


def of_arrays(array: sparse.csr_array, check: Callable, suffix: str = "", **options) -> Iterator[Case]:
    """Yield calls of csgraph.dijkstra and of SciPy's."""
    name, ours = "csgraph.dijkstra", partial(csgraph.dijkstra, indices=SOURCE, **options)
    scipy = partial(timed, scipys.dijkstra, array, indices=SOURCE, **options)
    yield Case(f"{name}, the same array again{suffix}", partial(timed, ours, array), check, LATER)
    yield Case(f"{name}, a new array{suffix}", lambda: timed(ours, array.copy()), check)
    yield Case(f"scipy.sparse.{name}{suffix}", scipy, check)


def in_hierarchy(graph: Graph, check: Callable, folder: Path) -> Iterator[Case]:
    """Yield preparing and laying out a hierarchy, and rows and reduced results from few and from many sources."""
    made: list[elimination.Hierarchy] = []
    yield Case("preparing a hierarchy", partial(timed, elimination.prepare_hierarchy, graph), made.append)
    path = folder / "graph.npz"
    packed = replace(graph, file=path)
    with open(elimination.beside(path), "wb") as file:
        made[-1].write(file, elimination.topology(graph))

    def lay_out() -> tuple[float, object]:
        graph = replace(packed)  # without cached results, so that the file is read again
        return timed(all_pairs.ManySourceSearch, graph, reduces=True)

    yield Case("laying out a prepared hierarchy, from its file", lay_out, lambda _: None)
    with kernels.library.solver.Solver(packed) as solver:

        def reduced(count: int) -> tuple[float, all_pairs.Reduced]:
            with solver._working():
                seconds, found = timed(solver._in_whole_numbers.hierarchy.reduced, spread(graph.vertices, count))
            return seconds / count, found

        for count in (128, 2):
            yield rows("a row of distances in a hierarchy", solver, choice.HIERARCHY_ROWS, count, check)
        for count in (4096, 2):
            yield Case(f"an eccentricity in a hierarchy, of {count:,}", partial(reduced, count), check)


def by_networkx(graph: Graph, check: Callable) -> Iterator[Case]:
    """Yield calls of NetworkX's own functions and of the backend, which converts a new graph."""
    cheapest, roads = graph.cheapest(), nx.DiGraph()
    roads.add_nodes_from(range(graph.vertices))
    arcs = zip(cheapest.tails.tolist(), cheapest.indices.tolist(), cheapest.weights.tolist(), strict=True)
    roads.add_weighted_edges_from(arcs)
    convert = partial(backend.convert_from_nx, roads, edge_attrs={"weight": 1})
    same = convert()
    for name in ("single_source_dijkstra_path_length", "single_source_dijkstra"):
        own, ours = getattr(nx, name), getattr(backend, name)
        yield Case(f"NetworkX's {name}", partial(timed, own, roads, SOURCE, backend="networkx"), check)
        new = partial(timed, lambda ours=ours: ours(convert(), SOURCE))
        yield Case(f"{name} by the backend, a new graph", new, check)
        yield Case(f"{name} by the backend, the same graph again", partial(timed, ours, same, SOURCE), check)


def cases(path: Path, graph: Graph, networkx: bool) -> Iterator[Case]:
    """Yield all kinds of calls; NetworkX's only if `networkx`."""
    array = graph.to_scipy()
    check, not_whole = check_against(array), array * 2**-0.5
    with tempfile.TemporaryDirectory() as folder:
        yield from first_answers(path, check, Path(folder))
        yield from later_calls(graph, check)
        yield from of_arrays(array, check)
        yield from of_arrays(array, check, ", with predecessors", return_predecessors=True)
        yield from of_arrays(not_whole, check_against(not_whole), ", weights not whole")
        yield from in_hierarchy(graph, check, Path(folder))
        if networkx:
            yield from by_networkx(graph, check)


def rows_of(path: Path, graph: Graph, first: bool) -> Iterator[dict]:
    """Yield the rows of a graph."""
    for case in cases(path, graph, networkx=first):
        yield from case.rows()


def main(args: argparse.Namespace, measure: Callable[[Path, Graph, bool], Iterator[dict]] = rows_of) -> None:
    """Write the rows that `measure` yields for each graph.

    measure: a function of the graph's path, the graph, and whether it is the first one.
    """
    writable(args.out)
    choice.log.setLevel(logging.WARNING)  # otherwise each call logs why its variant was chosen
    found = []
    with host.one_card():
        card.require_gpu(args.out.stem)
        for path in args.graphs:
            graph = read_graph(path)
            about = provenance(LIBRARY_TIMES.columns, StepContext(commit=args.commit), graph)
            for row in measure(path, graph, path == args.graphs[0]):
                found.append(about | row)
                logging.info("%s: %s: %.4g s", graph.name, row["what"], row["seconds"])
                LIBRARY_TIMES.write(found, args.out)


def arguments(description: str | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", type=Path, nargs="+", metavar="GRAPH.npz")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.csv")
    parser.add_argument("--commit", default="", help="the commit, if there is no .git to ask")
    return parser.parse_args()


if __name__ == "__main__":
    given = arguments(__doc__)
    with logged():
        main(given)
