"""Measure what calls of the library take, each as a user makes it: results/library_times.csv.

    python -m workflow.scripts.library_times --graphs nyc.npz e.npz --networkx nyc.npz --out results/library_times.csv

A row a repeat; every result is compared with SciPy's. First answers are those of new processes, from the import to the
result; but for those with kept kernels, each has an empty folder for its compiled kernels. A command's time is all of
its process's. Later calls follow a first one that is not counted. Also what the choice of a variant rests on
(kernels/choice.py): rows of distances one by one and in a hierarchy, and what is prepared for them.

The file is written anew after each kind of call. What fails is logged and left out; the others are still measured, and
the step ends with an error.
"""

import argparse
import itertools
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from cuda.bindings import driver
from scipy import sparse
from scipy.sparse import csgraph as scipys

import kernels
from kernels import choice, csgraph, interface
from kernels.datasets import read_graph, writable
from kernels.errors import InputError, WrongResult
from kernels.fast import near_far
from kernels.fast.hierarchy import all_pairs, elimination
from kernels.gpu import card, driver_api
from kernels.gpu.driver_api import checked
from kernels.graph import INF, Graph
from workflow.lib import host, lock, measured_on, step
from workflow.scripts import measure
from workflow.scripts.library_times_table import FEW, LATER, MANY, ROWS, SCHEMA, What

SOURCE = 0
IRRATIONAL = 2**-0.5  # times a whole weight: no whole number, so that distances are sums of rounded ones
BUDGET_S = 20.0  # seconds after which no call is repeated: a call may take half a minute
TIMEOUT_S = 300  # of a new process
FIRST = """
import time
started = time.perf_counter()
import kernels
found = kernels.shortest_paths({graph!r}, {source})
seconds = time.perf_counter() - started
import json, sys
import numpy as np
reached = np.isfinite(found.distances)
said = [seconds, int(reached.sum()), float(found.distances[reached].sum()), "numba" in sys.modules, found.variant]
print(json.dumps(said))
"""


@dataclass(frozen=True)
class Case:
    """A kind of call. once: makes it, checks what it gives, and returns its seconds. most: of repeats.

    uncounted: calls before them.
    """

    what: str
    once: Callable[[], float]
    most: int
    uncounted: int = 0

    def repeats(self, budget: float) -> Iterator[dict]:
        """The columns of each repeat's row; the first is made, the next ones until `budget` seconds are over."""
        for _ in range(self.uncounted):
            self.once()
        began = time.perf_counter()
        for repeat in range(1, self.most + 1):
            if repeat > 1 and time.perf_counter() - began > budget:
                return
            started = datetime.now(UTC).isoformat(timespec="seconds")
            yield {"what": self.what, "repeat": repeat, "seconds": self.once(), "started": started}


def timed(call: Callable, check: Callable[[object], None], given: Callable[[], tuple] = tuple, share: int = 1):
    """Of a Case: once. given: what makes the call's arguments, before the clock starts. share: answers of a call."""

    def once() -> float:
        arguments = given()
        started = time.perf_counter()
        found = call(*arguments)
        seconds = time.perf_counter() - started
        check(found)
        return seconds / share

    return once


class Truth:
    """An array, SciPy's distances in it from SOURCE, and a reduction of them that fits on a line."""

    def __init__(self, name: str, array: sparse.csr_array):
        self.name, self.array, self.distances = name, array, scipys.dijkstra(array, indices=SOURCE)
        reached = np.isfinite(self.distances)
        self.reduced = int(reached.sum()), float(self.distances[reached].sum())
        self.farthest = float(self.distances[reached].max())

    def _require(self, right: bool) -> None:
        if not right:
            raise WrongResult(f"{self.name}: the distances are not SciPy's")

    def _check_first(self, key: str, found: kernels.Distances | kernels.Eccentricities) -> None:
        if found.variant != key or found.sources[0] != SOURCE:
            raise InputError(f"{self.name}: {found.variant} from {found.sources[0]}: not what is to be measured")

    def check(self, distances: np.ndarray) -> None:
        """Raise WrongResult where the distances are others."""
        self._require(np.array_equal(distances, self.distances))

    def check_on_card(self, distances) -> None:
        found = distances.copy_to_host()
        self.check(np.where(found == INF, np.inf, found))

    def check_reduced(self, reached: int, total: float) -> None:
        self._require((reached, total) == self.reduced)

    def check_rows(self, key: str, found: kernels.Distances) -> None:
        """Raise WrongResult where the first row, that of SOURCE, is another."""
        self._check_first(key, found)
        self.check(found.distances[0])

    def check_eccentricities(self, key: str, found: kernels.Eccentricities) -> None:
        self._check_first(key, found)
        self.check_reduced(found.reached[0], found.total[0])
        self._require(found.eccentricity[0] == self.farthest)

    def check_lengths(self, found: dict) -> None:
        """What NetworkX's single_source_dijkstra_path_length gives."""
        distances = np.full(len(self.distances), np.inf)
        distances[list(found)] = list(found.values())
        self.check(distances)


def measured(args: argparse.Namespace, failed: list[str]) -> Iterator[list[dict]]:
    """The rows of each kind of call in turn; to `failed` goes what could not be measured."""
    common = measured_on.about(*measure.state_of_project(args.commit))
    for path in args.graphs:
        graph = read_graph(path)
        of_graph = {
            **{"dataset": graph.name, "vertices": graph.vertices, "arcs": graph.arcs},
            "substitute": graph.meta.get("substitute") or "",
        }
        truth, asked = Truth(graph.name, graph.to_scipy()), (args.repeats,)
        not_whole = Truth(graph.name, truth.array * IRRATIONAL)
        parts = [first_answers(path, truth, *asked), later_calls(graph, truth, not_whole, *asked)]
        parts += [layouts(graph, truth, *asked), in_hierarchy(graph, truth, *asked)]
        if path == args.networkx:
            parts += [by_networkx(graph, truth, *asked)]
        for part in parts:
            for case in each_of(part, graph.name, failed):
                with going_on(f"{graph.name}: {case.what}", failed):
                    rows = [common | of_graph | row for row in case.repeats(args.budget)]
                    seconds = [row["seconds"] for row in rows]
                    logging.info("%s: %s: %.4g s, of %d", graph.name, case.what, np.median(seconds), len(rows))
                    yield rows


def each_of(part: Iterator[Case], name: str, failed: list[str]) -> Iterator[Case]:
    """The cases of a part, until what they need cannot be made."""
    with going_on(f"{name}: the rest of {part.__name__}", failed):
        yield from part


@contextmanager
def going_on(what: str, failed: list[str]) -> Iterator[None]:
    """Log what goes wrong, and note that this failed."""
    try:
        yield
    except Exception:
        logging.exception("%s failed:", what)
        failed.append(what)


def first_answers(path: Path, truth: Truth, repeats: int) -> Iterator[Case]:
    """Of new processes: without kept kernels, with them, and by the command. path: the graph's file."""
    with tempfile.TemporaryDirectory() as folder:
        folders = (Path(folder, str(number)) for number in itertools.count(1))
        kept = Path(folder, "1")

        def answer(cache: Path, compiles: bool) -> float:
            code = FIRST.format(graph=str(path), source=SOURCE)
            seconds, reached, total, numba, variant = json.loads(in_process(cache, "-c", code))
            truth.check_reduced(reached, total)
            if variant != choice.NEAR_FAR or numba != compiles:
                raise InputError(f"{path}: {variant}, compiled: {numba}: not what is to be measured")
            return seconds

        yield Case(What.COMPILED, lambda: answer(next(folders), True), repeats)
        yield Case(What.KEPT, lambda: answer(kept, False), repeats)
        to = Path(folder, "paths.npz")
        words = "-m", "kernels", "sssp", str(path), "--source", str(SOURCE), "--to", str(to)

        def check(_) -> None:
            with np.load(to) as found:
                truth.check(found["distances"])

        yield Case(What.COMMAND, timed(lambda: in_process(kept, *words), check), repeats)


def in_process(cache: Path, *words: str) -> str:
    """What a new Python says, which keeps its kernels in that folder. Raises InputError where it fails."""
    environment = os.environ | {"CUDA_SHORTEST_PATHS_CACHE": str(cache)}
    command = [sys.executable, *words]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
    if ran.returncode:
        raise InputError(f"a new process failed: {ran.stderr.strip()[-2000:]}")
    return ran.stdout


def later_calls(graph: Graph, truth: Truth, not_whole: Truth, repeats: int) -> Iterator[Case]:
    """In this process, one call after the other. not_whole: of the same arcs, with weights that are not."""
    array, floats = truth.array, not_whole.array
    with kernels.prepare(graph) as solver:
        later = {
            What.SOLVER: lambda: solver.shortest_paths(SOURCE).distances,
            What.SAME_GRAPH: lambda: kernels.shortest_paths(graph, SOURCE).distances,
            What.SAME_ARRAY: lambda: csgraph.dijkstra(array, indices=SOURCE),
            What.SAME_ARRAY_TREE: lambda: csgraph.dijkstra(array, indices=SOURCE, return_predecessors=True)[0],
        }
        for what, call in later.items():
            yield Case(what, timed(call, truth.check), LATER * repeats, uncounted=1)
        left = timed(lambda: solver.shortest_paths(SOURCE, out="device").distances, truth.check_on_card)
        yield Case(What.ON_CARD, left, LATER * repeats, uncounted=1)

        def kernels_alone() -> float:
            with solver.working():
                searches = solver.in_whole_numbers.near_far
                searches.run.prepare = searches.run.prepare_now  # no work of the host's between the events
                launches = searches.search(SOURCE)
                del searches.run.prepare
                seconds = on_card(lambda: [launch() for launch in launches])
                truth.check_on_card(searches.dist)
                return seconds

        yield Case(What.KERNELS, kernels_alone, LATER * repeats, uncounted=1)
        for what, count in ((What.ROW, ROWS), (What.ROW_OF_SO_MANY, MANY)):
            sources = spread(graph, count)
            rows = timed(
                lambda sources=sources: by_variant(solver, choice.NEAR_FAR).distances(sources),
                lambda found: truth.check_rows(choice.NEAR_FAR, found),
                share=len(sources),
            )
            yield Case(what, rows, repeats, uncounted=1)
    yield new_array(What.NEW_ARRAY, truth, repeats)
    again = timed(lambda: csgraph.dijkstra(floats, indices=SOURCE), not_whole.check)
    yield Case(What.SAME_FLOATS, again, LATER * repeats, uncounted=1)
    yield new_array(What.NEW_FLOATS, not_whole, repeats)
    by_scipy = {
        What.SCIPY: lambda: scipys.dijkstra(array, indices=SOURCE),
        What.SCIPY_TREE: lambda: scipys.dijkstra(array, indices=SOURCE, return_predecessors=True)[0],
    }
    for what, call in by_scipy.items():
        yield Case(what, timed(call, truth.check), repeats)
    yield Case(What.SCIPY_FLOATS, timed(lambda: scipys.dijkstra(floats, indices=SOURCE), not_whole.check), repeats)


def new_array(what: str, truth: Truth, repeats: int) -> Case:
    """A call with an array that was not seen before."""
    once = timed(
        lambda array: csgraph.dijkstra(array, indices=SOURCE), truth.check, given=lambda: (truth.array.copy(),)
    )
    return Case(what, once, repeats, uncounted=1)


def spread(graph: Graph, count: int) -> np.ndarray:
    """So many vertices that differ, or all, SOURCE first."""
    return np.arange(min(count, graph.vertices)) * graph.vertices // min(count, graph.vertices)


def by_variant(solver: interface.Solver, key: str) -> interface.Solver:
    """The solver, whose next rows are found by this variant."""
    solver.in_whole_numbers.choose_rows = lambda *_: (key, "it is measured")
    return solver


def layouts(graph: Graph, truth: Truth, repeats: int) -> Iterator[Case]:
    """What is done before the first search on a graph, once the kernels are loaded."""

    def forgotten() -> tuple:
        near_far.layout.cache_clear()
        return ()

    yield Case(What.ON_HOST, timed(lambda: near_far.layout(graph), check=len, given=forgotten), repeats)
    with kernels.prepare(graph) as solver:
        on = solver.in_whole_numbers

        def to_card() -> float:
            vars(on).pop("near_far", None)
            driver_api.device().trim()
            with solver.working():
                return timed(lambda: on.near_far.run.wait(), check=lambda _: None)()

        def once() -> float:
            seconds = to_card()
            truth.check(solver.shortest_paths(SOURCE).distances)
            return seconds

        yield Case(What.TO_CARD, once, repeats, uncounted=1)


def in_hierarchy(graph: Graph, truth: Truth, repeats: int) -> Iterator[Case]:
    """Preparing a hierarchy; laying it out; rows and reductions of them in it, of a few sources and of many."""
    ends = np.arange(2, dtype=np.int64)
    elimination.prepare(Graph.from_arcs(2, ends, ends[::-1], ends))  # compiles what runs on the host
    made = []
    yield Case(What.PREPARING, timed(lambda: elimination.prepare(graph), check=made.append), repeats)
    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder, f"{graph.name}.npz")
        with open(elimination.beside(packed), "wb") as file:
            made[-1].write(file, elimination.topology(graph))

        def beside_it() -> Graph:
            return replace(graph, file=packed)  # of which nothing is known yet

        lay_out = timed(
            lambda new: all_pairs.Searches(new, reduces=True),
            check=lambda _: None,
            given=lambda: (beside_it(),),
        )
        yield Case(What.LAYING_OUT, lay_out, repeats, uncounted=1)
        with interface.Solver(beside_it()) as solver:
            rows, reduced = choice.MANY
            for what, count in ((What.ROW_OF_MANY, MANY), (What.ROW_OF_FEW, FEW)):
                sources = spread(graph, count)
                once = timed(
                    lambda sources=sources: by_variant(solver, rows).distances(sources),
                    lambda found: truth.check_rows(rows, found),
                    share=len(sources),
                )
                yield Case(what, once, repeats, uncounted=1)
            for what, count in ((What.SOURCE_OF_MANY, 32 * MANY), (What.SOURCE_OF_FEW, FEW)):
                sources = spread(graph, count)
                once = timed(
                    lambda sources=sources: by_variant(solver, reduced).eccentricities(sources),
                    lambda found: truth.check_eccentricities(reduced, found),
                    share=len(sources),
                )
                yield Case(what, once, repeats, uncounted=1)


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


def by_networkx(graph: Graph, truth: Truth, repeats: int) -> Iterator[Case]:
    """Lengths alone and with the paths, by NetworkX's own functions and by our backend, which converts a new graph."""
    import networkx as nx

    from kernels import networkx_backend as backend

    cheapest = graph.cheapest()
    roads = nx.DiGraph()
    roads.add_nodes_from(range(graph.vertices))
    arcs = zip(cheapest.tails.tolist(), cheapest.indices.tolist(), cheapest.weights.tolist(), strict=True)
    roads.add_weighted_edges_from(arcs)
    converted = []  # as NetworkX keeps it with the graph

    def lengths() -> dict:
        return backend.single_source_dijkstra_path_length(converted[0], SOURCE)

    def paths() -> tuple[dict, dict]:
        return backend.single_source_dijkstra(converted[0], SOURCE)

    def of_a_new_graph(call: Callable) -> object:
        converted[:] = [backend.convert_from_nx(roads, edge_attrs={"weight": 1})]
        return call()

    def check_both(found: tuple[dict, dict]) -> None:
        truth.check_lengths(found[0])

    own_lengths, own_paths = nx.single_source_dijkstra_path_length, nx.single_source_dijkstra
    of_lengths = {
        What.NETWORKX_LENGTHS: lambda: own_lengths(roads, SOURCE, backend="networkx"),
        What.LENGTHS_NEW: lambda: of_a_new_graph(lengths),
        What.LENGTHS_SAME: lengths,
    }
    of_both = {
        What.NETWORKX_PATHS: lambda: own_paths(roads, SOURCE, backend="networkx"),
        What.PATHS_NEW: lambda: of_a_new_graph(paths),
        What.PATHS_SAME: paths,
    }
    for calls, check in ((of_lengths, truth.check_lengths), (of_both, check_both)):
        for what, call in calls.items():
            yield Case(what, timed(call, check), repeats)


def main(args: argparse.Namespace) -> None:
    writable(args.out)
    rows, failed = [], []
    with host.one_card(args.cores):
        if not card.gpu_visible():
            raise InputError("library_times needs a GPU and none is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES")
        with lock.held(args.out):
            for more in measured(args, failed):
                rows += more
                SCHEMA.write(rows, args.out)
    if failed:
        raise InputError(f"not measured, see above: {'; '.join(failed)}")


if __name__ == "__main__":
    arguments = step.parser(__doc__)
    arguments.add_argument("--graphs", type=Path, nargs="+", required=True, metavar="FILE.npz")
    arguments.add_argument("--networkx", type=Path, metavar="FILE.npz", help="which of them NetworkX is asked about")
    arguments.add_argument("--repeats", type=step.count, default=5, help="of a call; of a later call LATER times more")
    arguments.add_argument("--budget", type=float, default=BUDGET_S, help="seconds after which no call is repeated")
    arguments.add_argument("--cores", type=int, default=0, help="how many it keeps of those it has; 0: all")
    arguments.add_argument("--commit", default="", help="the commit, where there is no .git to ask")
    arguments.add_argument("--out", type=Path, required=True, metavar="FILE.csv")
    step.run(main, arguments)
