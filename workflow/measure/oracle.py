"""Rows of true distances, computed on several cores for a large graph, since SciPy holds Python's lock."""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache

import numpy as np

from kernels.graph import INF, Graph
from kernels.later import Later

check = Later("kernels.check")  # imports numba
ROWS, DISTANCES = 32, 1 << 26  # limits of one request: half a gigabyte
MOST_PROCESSES = 8
LARGE = 500_000  # vertices and arcs; a smaller graph is done before a process has started


def in_pieces(values: np.ndarray, vertices: int) -> Iterator[np.ndarray]:
    """Split sources, or their places, so that the rows of each piece may be requested at once."""
    most = max(1, min(ROWS, DISTANCES // vertices))
    return (values[start : start + most] for start in range(0, len(values), most))


def oracle_rows(graph: Graph, sources: np.ndarray, processes: int = 1) -> np.ndarray:
    """Return the oracle's distances from few sources: int32, (k, n). Processes share the rows of a large graph."""
    processes = min(processes, MOST_PROCESSES, len(sources))
    if processes > 1 and graph.vertices + graph.arcs >= LARGE:
        return np.concatenate(list(_pool(graph).map(_rows_of_process, np.array_split(sources, processes))))
    rows = check.oracle(graph, tuple(sources.tolist()))
    check.oracle.cache_clear()
    return rows


def reduce_row(row: np.ndarray) -> dict[str, int]:
    """Return what all_pairs.Reduced has of a row of distances, except the farthest vertex."""
    finite = row[row < INF].astype(np.int64)
    return {"eccentricity": int(finite.max()), "reached": len(finite), "total": int(finite.sum())}


_graphs: list[Graph] = []  # in a process of the pool: its graph


@lru_cache(maxsize=1)
def _pool(graph: Graph) -> ProcessPoolExecutor:
    """Start processes that have the graph. A process with a CUDA context may not be forked."""
    spawned = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(MOST_PROCESSES, spawned, initializer=_take, initargs=(graph,))


def _take(graph: Graph) -> None:
    _graphs.append(graph)


def _rows_of_process(sources: np.ndarray) -> np.ndarray:
    return oracle_rows(_graphs[0], sources)
