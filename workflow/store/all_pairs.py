"""All pairs in parts: which sources a part has, its files, and what all parts must agree on.

A part is three files: K.parquet, a row a source; K.sums.npy, of each vertex the sum of its distances from these
sources; K.json, what it was measured on. The whole is DATASET.parquet, a row a vertex, and DATASET.json.
"""

import io
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from jsonschema import Draft202012Validator

from kernels.errors import InputError
from kernels.graph import INF, Graph
from kernels.io import sha256
from kernels.later import Later
from workflow import step
from workflow.store import records

check = Later("kernels.check")  # imports numba
SCHEMA = Path(__file__).parents[1] / "schemas" / "all_pairs.schema.yaml"
BINS = 100  # of the distributions that a whole's record has
COLUMNS = ("vertex", "eccentricity", "farthest", "reached", "total")
SUMS = ".sums.npy"
SEED = 0  # of the sources whose rows are compared with the oracle's
ORACLE_ROWS, ORACLE_DISTANCES = 32, 1 << 26  # that the oracle is asked for at once, at most: half a gigabyte
MOST_PROCESSES = 8  # for the oracle's rows
LARGE = 500_000  # vertices and arcs: with fewer, rows are found before a process has started


def part(vertices: np.ndarray, shards: int, shard: int) -> np.ndarray:
    """The sources of part `shard`, from 1, of `shards`; vertices: of the graph, in preorder."""
    if not 1 <= shard <= shards:
        raise InputError(f"part {shard} of {shards}: parts are numbered from 1 to their number")
    if shards > len(vertices):
        raise InputError(f"all_pairs.shards: {shards:,} parts of {len(vertices):,} vertices: choose fewer")
    return np.array_split(vertices, shards)[shard - 1]


def sampled(sources: np.ndarray, vertices: int, sample: int) -> np.ndarray:
    """Those of the sources whose rows are checked: of all vertices `sample`, drawn alike for every part."""
    drawn = np.random.default_rng(SEED).choice(vertices, min(vertices, sample), replace=False)
    return sources[np.isin(sources, drawn)]


def symmetric(graph: Graph) -> bool:
    """Whether every arc has its reverse with the same weight; of parallel arcs the cheapest counts."""
    arcs = graph.to_scipy()
    arcs.data += 1  # an arc of weight 0 is not the same as none
    return (arcs != arcs.T).nnz == 0


def oracle_rows(graph: Graph, sources: np.ndarray, processes: int = 1) -> np.ndarray:
    """int32, (k, n): the oracle's distances from the sources, which are few; it does not keep them.

    processes: so many, MOST_PROCESSES at most, share the rows of a large graph, since SciPy holds Python's lock.
    """
    processes = min(processes, MOST_PROCESSES, len(sources))
    if processes > 1 and graph.vertices + graph.arcs >= LARGE:
        parts = np.array_split(sources, processes)
        return np.concatenate(list(_processes(graph).map(_rows_of_process, parts)))
    rows = check.oracle(graph, tuple(sources.tolist()))
    check.oracle.cache_clear()
    return rows


@lru_cache(maxsize=1)
def _processes(graph: Graph) -> ProcessPoolExecutor:
    """Processes that have the graph. They are not forked, since a process with a CUDA context may not be."""
    spawned = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(MOST_PROCESSES, spawned, initializer=_take_graph, initargs=(graph,))


_graph_of_process: list[Graph] = []


def _take_graph(graph: Graph) -> None:
    _graph_of_process.append(graph)


def _rows_of_process(sources: np.ndarray) -> np.ndarray:
    return oracle_rows(_graph_of_process[0], sources)


def in_pieces(values: np.ndarray, vertices: int) -> Iterator[np.ndarray]:
    """As many at a time as rows of so many vertices may be asked of the oracle at once."""
    most = max(1, min(ORACLE_ROWS, ORACLE_DISTANCES // vertices))
    return (values[start : start + most] for start in range(0, len(values), most))


def reduce_row(row: np.ndarray) -> dict[str, int]:
    """What is found of a source, but for its farthest vertex; row: its distances, int32, (n,)."""
    finite = row[row < INF].astype(np.int64)
    return {"eccentricity": int(finite.max()), "reached": len(finite), "total": int(finite.sum())}


def to_parquet(rows: pd.DataFrame) -> bytes:
    with io.BytesIO() as file:
        rows.to_parquet(file, index=False)
        return file.getvalue()


def to_npy(array: np.ndarray) -> bytes:
    with io.BytesIO() as file:
        np.save(file, array)
        return file.getvalue()


def closeness(rows: pd.DataFrame) -> pd.Series:
    """Of each vertex the mean distance to the others that it reaches; NaN where there is none. rows: with COLUMNS."""
    return rows["total"] / (rows["reached"] - 1).replace(0, np.nan)


def distribution(rows: pd.DataFrame) -> dict[str, list]:
    """How eccentricities and mean distances are distributed, over one axis of distances.

    edges: of BINS bins; eccentricity, mean_distance: how many vertices each bin has. rows: with COLUMNS.
    """
    found = {"eccentricity": rows["eccentricity"].astype(float), "mean_distance": closeness(rows)}
    edges = np.histogram_bin_edges(pd.concat(list(found.values())).dropna(), BINS)
    counts = {name: np.histogram(values.dropna(), edges)[0].tolist() for name, values in found.items()}
    return {"edges": edges.tolist(), **counts}


def fault(record: dict, kind: str) -> str:
    """As records.fault says it. kind: part or whole."""
    return records.fault(record, _schema(kind))


def read_record(path: Path, kind: str) -> dict:
    """The JSON of a part or a whole. Raises InputError where there is none."""
    advice = f"delete {path.with_suffix('.parquet')} and run again"
    if kind == "whole":
        advice = f"restore it from git if it is an archive's, else {advice}"
    record = step.read_json(path, advice)
    if wrong := fault(record, kind):
        raise InputError(f"{path}: no record of all pairs ({wrong}): {advice}")
    return record


def read_part(path: Path) -> tuple[dict, pd.DataFrame, np.ndarray]:
    """The record, rows and sums of the part whose Parquet file lies there.

    Raises InputError where a file is missing, or not the one that the record describes.
    """
    record = read_record(path.with_suffix(".json"), "part")
    for end, digest in record["files"].items():
        file = path.with_suffix(end)
        if not file.exists() or sha256(file) != digest:
            raise InputError(
                f"{file}: not the file that {path.with_suffix('.json')} describes: delete it and run again"
            )
    return record, pd.read_parquet(path), np.load(path.with_suffix(SUMS))


def kept(archive: Path, datasets: dict) -> list[Path]:
    """The records of wholes that an archive keeps: of datasets, the keys, in their order, then the others."""
    there = {path.stem: path for path in sorted((archive / "all_pairs").glob("*.json"))}
    return [there.pop(name) for name in datasets if name in there] + list(there.values())


def read_whole(path: Path) -> pd.DataFrame:
    """The rows of a whole. Raises InputError where the file has no such rows."""
    try:
        return pd.read_parquet(path, columns=list(COLUMNS))
    except (OSError, ValueError, KeyError) as error:  # pyarrow's errors are such
        raise InputError(f"{path}: no rows of all pairs ({error}): delete it and run again") from None


@cache
def _schema(kind: str) -> Draft202012Validator:
    return Draft202012Validator(yaml.safe_load(SCHEMA.read_text())[kind])
