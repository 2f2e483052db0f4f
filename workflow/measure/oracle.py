"""Rows of true distances, computed on several cores for a large graph, since SciPy holds Python's lock."""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from kernels.graph import INF, Graph
from kernels.later import Later

check = Later("kernels.check")  # imports numba
PENDING = 32  # limit of the rows that the processes compute ahead
MOST_PROCESSES = 8
LARGE = 500_000  # vertices and arcs; a smaller graph is done before a process has started


def rows(graph: Graph, sources: np.ndarray, processes: int = 1) -> Iterator[np.ndarray]:
    """Yield the oracle's distances from each source: int32, (n,). Processes share the sources of a large graph."""
    if processes == 1 or graph.vertices + graph.arcs < LARGE:
        yield from (_row(source, graph) for source in sources.tolist())
        return
    spawned = multiprocessing.get_context("spawn")  # a process with a CUDA context may not be forked
    with ProcessPoolExecutor(min(processes, MOST_PROCESSES), spawned, _take, (graph,)) as pool:
        for start in range(0, len(sources), PENDING):
            yield from pool.map(_row, sources[start : start + PENDING].tolist())


def reduce_row(row: np.ndarray) -> dict[str, int]:
    """Return what all_pairs.Reduced has of a row of distances, except the farthest vertex."""
    finite = row[row < INF].astype(np.int64)
    return {"eccentricity": int(finite.max()), "reached": len(finite), "total": int(finite.sum())}


_graphs: list[Graph] = []  # in a process of the pool: its graph


def _take(graph: Graph) -> None:
    _graphs.append(graph)


def _row(source: int, graph: Graph | None = None) -> np.ndarray:
    (row,) = check.oracle(graph or _graphs[0], (source,))
    check.oracle.cache_clear()
    return row
