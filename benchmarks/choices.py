"""Measure whether the library chooses the faster search from one source, on graphs of many shapes; needs a GPU.

    python -m benchmarks.choices nyc.npz e.npz --out results/archive/h200/choices.csv

Measures packed graphs and SHAPES: one row per repeat and way. The three ways take turns: the search that the library
chooses, Near-Far and SciPy. Each starts from a new Graph in host memory and ends with distances and predecessors there.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from scipy.sparse import csgraph

from benchmarks import library_times
from benchmarks.library_times import SOURCE, Case
from kernels import generate
from kernels.graph import Graph
from kernels.library import choice
from kernels.library.solver import Solver
from workflow.step import logged

REPEATS = 5
SEED = 1
Edges = tuple[int, np.ndarray, np.ndarray]  # number of vertices, ends, other ends


def path(vertices: int) -> Edges:
    before = np.arange(vertices - 1)
    return vertices, before, before + 1


def cycle(vertices: int) -> Edges:
    return vertices, np.arange(vertices), np.roll(np.arange(vertices), -1)


def comb(teeth: int, length: int) -> Edges:
    """Attach a path of `length` vertices to each vertex of a path."""
    vertices = np.arange(teeth * (length + 1)).reshape(teeth, length + 1)
    ends = [vertices[:-1, 0], vertices[:, :-1].ravel()]
    return vertices.size, np.concatenate(ends), np.concatenate([vertices[1:, 0], vertices[:, 1:].ravel()])


def strip(rows: int, columns: int) -> Edges:
    """Join the neighbours in a grid, whose vertices are numbered column by column."""
    vertices = np.arange(rows * columns).reshape(columns, rows)
    ends = [vertices[:-1].ravel(), vertices[:, :-1].ravel()]
    return vertices.size, np.concatenate(ends), np.concatenate([vertices[1:].ravel(), vertices[:, 1:].ravel()])


def star(vertices: int) -> Edges:
    return vertices, np.zeros(vertices - 1, np.int64), np.arange(1, vertices)


def binary_tree(levels: int) -> Edges:
    children = np.arange(1, 2**levels - 1)
    return 2**levels - 1, (children - 1) // 2, children


def random(kind: str, vertices: int, edges: int, **option: float) -> Edges:
    return vertices, *generate.draw_edges(kind, vertices, edges, SEED, **option)


def path_into_uniform(length: int, vertices: int) -> Edges:
    """Attach a path, which begins at the source, to a uniform random graph."""
    (_, ends, others), (_, before, after) = random("uniform", vertices, 8 * vertices), path(length + 1)
    return vertices + length, np.r_[before, ends + length], np.r_[after, others + length]


SHAPES: dict[str, Callable[[], Edges]] = {
    **{f"path of {n:,}": partial(path, n) for n in (10_000, 100_000, 1_000_000)},
    "cycle of 300,000": partial(cycle, 300_000),
    "comb, 250,000 teeth of 1": partial(comb, 250_000, 1),
    "comb, 1,000 teeth of 1,000": partial(comb, 1000, 1000),
    "comb, 10 teeth of 100,000": partial(comb, 10, 100_000),
    **{f"grid, {a:,} x {b:,}": partial(strip, a, b) for a, b in ((2, 250_000), (4, 250_000), (8, 125_000))},
    **{f"grid, {a:,} x {b:,}": partial(strip, a, b) for a, b in ((16, 60_000), (64, 15_000), (100, 100), (1000, 1000))},
    "star of 1,000,000": partial(star, 1_000_000),
    "binary tree, 20 levels": partial(binary_tree, 20),
    "path of 50,000 into a uniform graph": partial(path_into_uniform, 50_000, 2**17),
    "uniform, 2^18 vertices": partial(random, "uniform", 2**18, 2**22),
    "rmat, 2^18 vertices": partial(random, "rmat", 2**18, 2**22),
    "geometric, 2^18 vertices": partial(random, "geometric", 2**18, 2**20, degree=6),
}


def save(name: str, folder: Path) -> Path:
    """Write a shape, with both arcs of each edge and random weights from 1 to 100, as a packed graph."""
    vertices, ends, others = SHAPES[name]()
    weights = np.tile(generate.draw(len(ends), seed=SEED), 2)
    graph = Graph.from_arcs(vertices, np.r_[ends, others], np.r_[others, ends], weights, directed=False)
    file = folder / f"{list(SHAPES).index(name)}.npz"
    replace(graph, meta={"name": name}).save(file)
    return file


def ways(graph: Graph) -> Iterator[Case]:
    """Yield the three ways, each from a new Graph. The name of the first one says what the library chose."""
    check = library_times.check_against(graph.to_scipy())

    def chosen():
        with Solver(replace(graph)) as solver:
            return solver.shortest_paths(SOURCE)

    def near_far():
        with Solver(replace(graph)) as solver, solver._working():
            return solver._in_whole_numbers.near_far.tree(SOURCE)

    def scipy():
        return csgraph.dijkstra(replace(graph).to_scipy(), indices=SOURCE, return_predecessors=True)

    for what, search in ((f"chosen: {chosen().variant}", chosen), (choice.NEAR_FAR, near_far), (choice.SCIPY, scipy)):
        yield Case(what, partial(library_times.timed, search), check)


def rows(path: Path, graph: Graph, first: bool) -> Iterator[dict]:
    """Yield the rows of a graph, repeat by repeat; the first calls are not counted."""
    cases = list(ways(graph))
    for repeat in range(REPEATS + 1):
        measured = [case.row(repeat) for case in cases]
        if repeat:
            yield from measured


if __name__ == "__main__":
    given = library_times.arguments(__doc__)
    with logged(), tempfile.TemporaryDirectory() as folder:
        given.graphs += [save(name, Path(folder)) for name in SHAPES]
        library_times.main(given, rows)
