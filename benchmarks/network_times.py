"""Measure pairs, routes, nearest facilities, tables with a second value and new weights on a GPU, host to host.

    python -m benchmarks.network_times nyc.npz ne.npz --out results/archive/h200/network_times.csv

Takes packed graphs of road networks and writes one row per repeat, as benchmarks/library_times.py does. The hierarchy
is laid out before. The calls take turns. After each call, samples of its results are compared with SciPy's. On the
first graph, searches with fractional weights and with labels run too, beside the same searches without.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csgraph as scipys

import kernels
from benchmarks import library_times
from benchmarks.library_times import Case
from kernels.errors import WrongResult
from kernels.gpu.compiler import cuda
from kernels.graph import Graph
from workflow.step import logged

PAIRS, ROUTES, SIDE, FACILITIES, NEAREST = 10**8, 10**6, 10_000, 1000, 5
SAMPLES = 4  # sources whose distances are compared
REPEATS = 5


def require(right: bool, what: str) -> None:
    if not right:
        raise WrongResult(f"{what}: the results are not SciPy's")


def on_host(array: Any) -> np.ndarray:
    return array if isinstance(array, np.ndarray) else array.copy_to_host()


class Calls:
    """The measured calls on a graph, and the checks of their results."""

    def __init__(self, graph: Graph, solver: kernels.Solver) -> None:
        self.graph, self.solver, n, random = graph, solver, graph.vertices, np.random.default_rng(0)
        self.rows = random.choice(n, SAMPLES, replace=False)
        self.exact = scipys.dijkstra(graph.to_scipy(), indices=self.rows)
        self.sources, self.targets = random.integers(0, n, (2, PAIRS), np.int32)
        self.sources[: SAMPLES * 1000] = np.repeat(self.rows, 1000)
        chosen: np.ndarray = random.choice(n, 2 * SIDE, replace=False)
        self.starts, self.ends = chosen[:SIDE], chosen[SIDE:]
        self.starts[:SAMPLES] = self.rows
        self.facilities, self.second = random.choice(n, FACILITIES, replace=False), random.random(graph.arcs)
        self.weights = random.permutation(graph.weights)
        self.reweighted = Graph.from_arcs(n, graph.tails, graph.indices, self.weights)
        self.exact_later = scipys.dijkstra(self.reweighted.to_scipy(), indices=self.rows)

    def cases(self) -> Iterator[Case]:
        pairs = self.sources, self.targets
        table = self.starts, self.ends
        for name, check, call in (
            (
                "10^8 pairs, left on the card",
                self.check_pairs,
                lambda: self.solver.pair_distances(*pairs, out="device"),
            ),
            (
                "10^6 routes with vertices and edges, left on the card",
                self.check_routes,
                lambda: self.solver.routes(*(ends[:ROUTES] for ends in pairs), out="device"),
            ),
            (
                "the nearest 5 of 1,000 facilities for all vertices",
                self.check_nearest,
                lambda: self.solver.nearest(None, NEAREST, targets=self.facilities),
            ),
            ("a table of 10,000 x 10,000", self.check_table, lambda: self.solver.distances(*table)),
            (
                "a table of 10,000 x 10,000 with a second value",
                self.check_table,
                lambda: self.solver.distances(*table, second=self.second),
            ),
            (
                "a table of 10,000 x 10,000, left on the card",
                self.check_table,
                lambda: self.solver.distances(*table, out="device"),
            ),
            (
                "a table of 10,000 x 10,000 with a second value, left on the card",
                self.check_table,
                lambda: self.solver.distances(*table, second=self.second, out="device"),
            ),
        ):
            yield Case(name, waiting(call), check)

    def beside(self, opened: ExitStack) -> Iterator[Case]:
        """Yield searches in whole numbers, with weights in tenths, and with labels. `opened` closes their solvers."""
        graph, table = self.graph, (self.starts, self.ends)
        whole, tenths = (
            partial(Graph.from_edges, graph.tails, graph.indices, weights, vertices=graph.vertices)
            for weights in (graph.weights, graph.weights / 10)
        )
        tables: list[tuple[Any, ...]] = []
        for made, divisor, about in (whole, 1, ""), (tenths, 10, ", weights in tenths"):
            solver = opened.enter_context(kernels.prepare(made()))
            one = partial(solver.shortest_paths, int(self.rows[0]))
            yield Case("all distances from one source" + about, waiting(one), partial(self.check_one, divisor))
            first = f"a first table of 10,000 x 10,000, from columns of edges{about}"
            check = partial(self.check_table, divisor=divisor)
            yield Case(first, waiting(partial(self.first_table, made)), check)
            tables.append((about or ", weights in whole numbers", solver, table, check))
        numbers = np.random.default_rng(1).choice(10**10, graph.vertices, replace=False)
        for labels, about in (numbers, "numbers up to 10^10"), (numbers.astype(str).astype(object), "texts"):
            made = partial(Graph.from_edges, labels[graph.tails], labels[graph.indices], graph.weights)
            solver = opened.enter_context(kernels.prepare(made()))
            ends = tuple(labels[ends] for ends in table)
            tables.append((f", by labels that are {about}", solver, ends, self.check_table))
        for about, solver, ends, check in tables:
            yield Case("a table of 10,000 x 10,000" + about, waiting(partial(solver.distances, *ends)), check)

    def first_table(self, made: Callable[[], Graph]) -> kernels.Distances:
        with kernels.prepare(made()) as solver:
            return solver.distances(self.starts, self.ends)

    def reweighting(self) -> Iterator[Case]:
        yield Case("new weights, from the host, ready to search", waiting(self.reweight), self.check_later)
        yield Case("the hub distances of all vertices", waiting(self.hub_distances), lambda _: None)

    def reweight(self) -> None:
        self.solver.reweight(self.weights)

    def hub_distances(self) -> None:
        hierarchy = self.solver._in_whole_numbers.hierarchy
        vars(hierarchy).pop("hubs", None)
        _ = hierarchy.hubs

    def check_pairs(self, found: kernels.Distances) -> None:
        samples = on_host(found.distances[: SAMPLES * 1000]).reshape(SAMPLES, -1)
        targets = self.targets[: SAMPLES * 1000].reshape(SAMPLES, -1)
        require(np.array_equal(samples, np.take_along_axis(self.exact, targets, axis=1)), "pairs")

    def check_routes(self, found: kernels.Routes) -> None:
        count, graph = SAMPLES * 1000, self.graph
        start = found.edge_start[: count + 1]
        edges = on_host(found.edges[: start[-1]])
        tails, heads = graph.tails[edges], graph.indices[edges]
        some = np.flatnonzero(np.diff(start))
        first, last = start[some], start[some + 1] - 1
        inner = np.delete(np.arange(len(edges)), first)
        chained = np.array_equal(tails[inner], heads[inner - 1])
        ends = np.array_equal(tails[first], self.sources[some]) and np.array_equal(heads[last], self.targets[some])
        sums = np.add.reduceat(graph.weights[edges].astype(np.int64), first)
        exact = self.exact[some // 1000, self.targets[some]]
        require(chained and ends and np.array_equal(sums, exact), "routes")

    def check_nearest(self, found: kernels.Nearest) -> None:
        order = np.argsort(self.exact[:, self.facilities], axis=1, kind="stable")[:, :NEAREST]
        distances = np.take_along_axis(self.exact[:, self.facilities], order, axis=1)
        right = np.array_equal(found.distances[self.rows], distances)
        require(right and np.array_equal(found.targets[self.rows], self.facilities[order]), "nearest")

    def check_table(self, found: kernels.Distances, divisor: int = 1) -> None:
        require(np.array_equal(on_host(found.distances[:SAMPLES]), self.exact[:, self.ends] / divisor), "table")

    def check_one(self, divisor: int, found: kernels.Paths) -> None:
        require(np.array_equal(found.distances, self.exact[0] / divisor), "one source")

    def check_later(self, _: None) -> None:
        require(np.array_equal(self.solver.distances(self.rows).distances, self.exact_later), "new weights")


def waiting(call: Callable) -> Callable[[], tuple[float, Any]]:
    """Return a function that makes the call, waits for the card, and returns the seconds and the result."""

    def once() -> tuple[float, Any]:
        def finished() -> Any:
            found = call()
            cuda.synchronize()
            return found

        return library_times.timed(finished)

    return once


def in_turn(cases: list[Case]) -> Iterator[dict]:
    """Yield the columns of the repeats of cases, which take turns in alternating order; the first is not counted."""
    for repeat in range(REPEATS + 1):
        for case in cases[:: (-1) ** (repeat + 1)]:
            row = case.row(repeat)
            if repeat:
                yield row


def rows(path: Path, graph: Graph, first: bool) -> Iterator[dict]:
    """Yield the rows of a graph."""
    with kernels.prepare(graph) as solver, ExitStack() as opened:
        calls = Calls(graph, solver)
        yield from in_turn([*calls.cases(), *(calls.beside(opened) if first else ())])
        yield from in_turn([*calls.reweighting()])


if __name__ == "__main__":
    given = library_times.arguments(__doc__)
    with logged():
        library_times.main(given, rows)
