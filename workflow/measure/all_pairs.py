"""Search from every vertex of a graph, in parts that may run on several cards, and merge the parts.

A part is a Parquet file with a row for each vertex: its COLUMNS are 0 unless the vertex is a source of this part.
Therefore the parts add up to the whole. The record of a part is in the frame's attributes.
"""

import json
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from kernels.errors import InputError, WrongResult
from kernels.fast.hierarchy import all_pairs, elimination
from kernels.gpu import card
from kernels.graph import Graph
from kernels.io import atomic, writable
from kernels.registry import ALL_PAIRS_REVISION, find
from kernels.run import Run
from kernels.settings import RunSettings
from workflow.measure import measure, oracle
from workflow.measure.provenance import StepContext, provenance
from workflow.store import all_pairs as store
from workflow.store import columns, records

TO_VERTEX = "total_to"  # the sum of the distances from the part's sources to a vertex; 0 if it is not computed
COLUMNS = (*store.COLUMNS[1:], TO_VERTEX)
SEED = 0  # draws the sources that are checked
SAME = ("dataset", "dataset_sha256", "revision", "shards", "symmetric")  # in the records of a graph's parts


class Part(NamedTuple):
    """One of several parts of the sources. sample: sources of all parts that are checked. block: threads of a block."""

    shard: int
    shards: int
    sample: int
    block: int


def measure_part(graph: Path, part: Part, out: Path, setting: StepContext) -> None:
    """Search from a part of the vertices of a packed graph, check, and write."""
    with measure.reserved(out, "all_pairs", setting.cores, on_card=not card.SIMULATED):
        rows = search(measure.packed(graph), part, setting)
        records.check_record(rows.attrs, out)
        with atomic(out) as file:
            rows.to_parquet(file, index=False, write_page_checksum=True)
    logging.info("%s, part %d of %d: searched and checked", rows.attrs["dataset"], part.shard, part.shards)


def search(graph: Graph, part: Part, setting: StepContext) -> pd.DataFrame:
    """Return the checked rows of a part, with its record as attributes."""
    hierarchy = elimination.hierarchy_of(graph)
    sources = np.array_split(hierarchy.vertices, part.shards)[part.shard - 1]  # near each other: their ways are shared
    drawn = np.random.default_rng(SEED).choice(graph.vertices, min(graph.vertices, part.sample), replace=False)
    checked = sources[np.isin(sources, drawn)]
    results, times = reduced(graph, sources, part.block)
    rows = pd.DataFrame({name: getattr(results, name) for name in store.COLUMNS[1:]}, index=results.sources)
    rows = rows.reindex(range(graph.vertices), fill_value=0).assign(**{TO_VERTEX: 0})
    searches = all_pairs.ManySourceSearch(graph, reduces=False, run=Run(block=part.block))
    check_distances(searches, rows, checked)
    if not graph.directed and (results.reached == graph.vertices).all():  # else a sum may include an infinite distance
        rows[TO_VERTEX] = all_pairs.sums_over_sources(searches, sources)
    counts = hierarchy.counts
    rows.attrs = {
        **provenance((*columns.COLUMNS, *records.FIELDS), setting, graph),
        **measure.cell_columns(find("hierarchy", "apsp"), graph, RunSettings(block=part.block)),
        **{"variant": "all_pairs", "revision": str(ALL_PAIRS_REVISION)},
        **{"shards": part.shards, "shard": part.shard, "rows_checked": len(checked), "symmetric": not graph.directed},
        **{"height": counts.height, "hierarchy_arcs": counts.arcs, "triangles": counts.triangles},
        **{"order_s": hierarchy.order_s, "tree_s": hierarchy.tree_s, **times},
        "protocol": {"block": part.block, "sample": part.sample},
    }
    return rows


def reduced(graph: Graph, sources: np.ndarray, block: int) -> tuple[all_pairs.Reduced, dict]:
    """Return the results of the sources; of the record, the times and the card's states, None in the simulator."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    before = None if card.SIMULATED else card.card_state()
    searches = all_pairs.ManySourceSearch(graph, reduces=True, run=Run(block=block))
    all_pairs.reduced(searches, sources[:1])  # loads the kernels
    loaded = searches.search_s
    results = all_pairs.reduced(searches, sources)
    measured = {"customize_s": searches.customize_s, "search_s": searches.search_s - loaded}
    if card.SIMULATED:
        return results, {"started": started, "card": None, **dict.fromkeys(measured)}
    return results, {"started": started, "card": {"before": before, "after": card.card_state()}, **measured}


def check_distances(searches: all_pairs.ManySourceSearch, results: pd.DataFrame, sources: np.ndarray) -> None:
    """Compare all distances from the sources, and the sources' rows, with the oracle's."""
    graph = searches.on_card.graph
    for piece in searches.pieces(sources):
        for place, expected in enumerate(oracle.rows(graph, piece)):
            (row,) = searches.rows([place])
            check_source(f"{graph.name}, source {piece[place]}", expected, row, results.loc[piece[place]])


def check_source(name: str, expected: np.ndarray, distances: np.ndarray, results: pd.Series) -> None:
    """Raise WrongResult that names the first value of a source that is not the oracle's."""
    true = oracle.reduce_row(expected)
    values = [(f"distance of vertex {v}", distances[v], expected[v]) for v in np.flatnonzero(distances != expected)[:1]]
    values += [(column, results[column], value) for column, value in true.items()]
    values += [("distance of the farthest", expected[results["farthest"]], true["eccentricity"])]
    for what, value, right in values:
        if value != right:
            raise WrongResult(f"{name}: {what} is {value}, but {right} by the oracle's row")


def merge(paths: Sequence[Path], out: Path) -> None:
    """Write the sum of the parts: a row for each vertex and, beside it, the record."""
    writable(out)
    parts = [store.read_rows(path, COLUMNS) for path in paths]
    require_one_graph(parts, paths[0].parent)
    rows = pd.DataFrame({name: sum(part[name] for part in parts) for name in COLUMNS})
    rows.insert(0, "vertex", np.arange(len(rows), dtype=np.int32))
    record = {**summary(rows, parts[0].attrs), "parts": [part.attrs for part in parts]}
    path = out.with_suffix(".json")
    store.check_whole(record, path, "delete its parts and run again")
    with atomic(out) as file, atomic(path, "w") as json_file:
        rows[list(store.COLUMNS)].to_parquet(file, index=False, write_page_checksum=True)
        json_file.write(json.dumps(record, indent=1, sort_keys=True) + "\n")
    logging.info("%s: diameter %d, radius %d", record["dataset"], record["diameter"], record["radius"])


def require_one_graph(parts: Sequence[pd.DataFrame], folder: Path) -> None:
    """Raise InputError unless the parts agree in SAME and each vertex is the source of one of them."""
    differ = [key for key in SAME if len({part.attrs[key] for part in parts}) > 1]
    times = sum((part["reached"] > 0).astype(int) for part in parts)
    wrong = [f"vertex {vertex} is a source in {times[vertex]} of them" for vertex in np.flatnonzero(times != 1)[:1]]
    if wrong := [f"they differ in {', '.join(differ)}"] if differ else wrong:
        raise InputError(f"{folder}: not the parts of one graph: {wrong[0]}: delete them and run again")


def summary(rows: pd.DataFrame, part: dict) -> dict:
    """Return the record of the whole but for its parts. Its distances are those to vertices that are reached.

    The radius is the least eccentricity of the vertices that reach most others. Raises WrongResult if the sums of the
    distances from and to a vertex differ, and may not.
    """
    n, name = len(rows), part["dataset"]
    connected = bool((rows["reached"] == n).all())
    differ = rows.loc[rows["total"] != rows[TO_VERTEX], ["vertex", "total", TO_VERTEX]]
    if (compared := connected and part["symmetric"]) and len(differ):
        v, total, other = differ.iloc[0]
        raise WrongResult(f"{name}: the distances from vertex {v} sum to {total}, but those to it to {other}")
    end = rows.loc[rows["eccentricity"].idxmax()].to_dict()
    centre = rows.loc[rows["eccentricity"][rows["reached"] == rows["reached"].max()].idxmin()].to_dict()
    pairs = int(rows["reached"].sum()) - n
    return {
        **{"dataset": name, "connected": connected, "columns_checked": compared},
        **{"diameter": end["eccentricity"], "diameter_from": end["vertex"], "diameter_to": end["farthest"]},
        **{"radius": centre["eccentricity"], "radius_vertex": centre["vertex"]},
        "mean_distance": float(rows["total"].to_numpy().sum(dtype=float) / pairs) if pairs else None,
        "distribution": store.distribution(rows),
    }
