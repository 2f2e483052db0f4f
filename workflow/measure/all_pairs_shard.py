"""Search from one part of a graph's vertices on one card: of each its eccentricity, farthest vertex and sum.

Vertices are taken in preorder of the graph's hierarchy. Before anything is written, all distances from a sample of the
sources are compared with the oracle's. Where arcs go both ways, a second pass, which is not timed, adds up the
distances from all sources for each vertex; all_pairs_merge compares these sums with those of the first pass.
"""

import hashlib
import json
import logging
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

from kernels.errors import InputError, WrongResult
from kernels.fast.hierarchy import all_pairs, elimination
from kernels.gpu import card
from kernels.graph import Graph
from kernels.harness import Protocol
from kernels.io import atomic, writable
from kernels.registry import ALL_PAIRS_REVISION, find
from kernels.run import Run
from workflow.measure import host, lock, measure, revisions
from workflow.store import all_pairs as parts
from workflow.store import records


@dataclass(frozen=True)
class Part:
    """Which part is searched, and how: the sources of all parts whose rows are checked, and threads a block."""

    shard: int = 1
    shards: int = 1
    sample: int = 256
    block: int = 1024


def measure_part(graph: Path, part: Part, out: Path, setting: measure.Setting, processes: int = 1) -> None:
    """Search from a part of the vertices of a packed graph. processes: the number that share the oracle's work."""
    writable(out)
    with lock.held(out), nullcontext() if card.SIMULATED else host.one_card(setting.cores):
        if not card.SIMULATED and not card.gpu_visible():
            raise InputError("all_pairs needs a GPU and none is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES")
        _measure(measure.packed(graph), part, out, setting, processes)


def _measure(graph: Graph, part: Part, out: Path, setting: measure.Setting, processes: int) -> None:
    """Search, check, and write the three files at the end."""
    hierarchy = elimination.of(graph)
    sources = parts.part(hierarchy.vertices, part.shards, part.shard)
    on_card = not card.SIMULATED
    before, started = card.card_state() if on_card else None, datetime.now(UTC).isoformat(timespec="seconds")
    found, customize_s, search_s = search(graph, sources, part.block)
    after = card.card_state() if on_card else None
    symmetric = parts.symmetric(graph)
    searches = all_pairs.Searches(graph, reduces=False, run=Run(block=part.block))
    checked = check(searches, found, parts.sampled(sources, graph.vertices, part.sample), processes)
    # Without a path between some vertices their sums say nothing.
    added_up = symmetric and bool((found["reached"] == graph.vertices).all())
    sums = all_pairs.sums_over_sources(searches, sources) if added_up else np.empty(0, np.int64)
    contents = {".parquet": parts.to_parquet(found), parts.SUMS: parts.to_npy(sums)}
    commit, clean = measure.state_of_project(setting.commit)
    counts = hierarchy.counts
    record = {
        "algorithm": "hierarchy",
        "variant": "all_pairs",
        "dataset": graph.name,
        "vertices": graph.vertices,
        "arcs": graph.arcs,
        "shards": part.shards,
        "shard": part.shard,
        "sources": len(sources),
        "sample": part.sample,
        "height": counts.height,
        "hierarchy_arcs": counts.arcs,
        "triangles": counts.triangles,
        "order_s": hierarchy.order_s,
        "tree_s": hierarchy.tree_s,
        "customize_s": customize_s if on_card else None,
        "search_s": search_s if on_card else None,
        "rows_checked": checked,
        "symmetric": symmetric,
        **card.describe(on_gpu=True),
        "card_uuid": card.card_uuid(),
        "host_id": host.host_id(),
        "cpu_model": card.cpu_name(),
        "revision": str(ALL_PAIRS_REVISION),
        "settings": revisions.settings(find("hierarchy", "apsp"), Protocol(block=part.block)),
        "commit": commit,
        "tree_clean": clean,
        "config_digest": setting.config_digest,
        "protocol": {"block": part.block, "sample": part.sample},
        "graph": graph.meta,
        "card": {"before": before, "after": after} if on_card else None,
        **measure.surroundings(),
        "started": started,
        "files": {end: hashlib.sha256(content).hexdigest() for end, content in contents.items()},
    }
    path = out.with_suffix(".json")
    records.check(record, path)
    with atomic(out) as rows, atomic(out.with_suffix(parts.SUMS)) as npy, atomic(path, "w") as json_file:
        rows.write(contents[".parquet"])
        npy.write(contents[parts.SUMS])
        json.dump(record, json_file, indent=1, sort_keys=True)
        json_file.write("\n")
    took = f"{search_s:.3g} s, customizing {customize_s:.3g} s" if on_card else "simulated"
    logging.info("%s, part %d of %d: %s sources: %s", graph.name, part.shard, part.shards, f"{len(sources):,}", took)


def search(graph: Graph, sources: np.ndarray, block: int) -> tuple[pd.DataFrame, float, float]:
    """A row a source with parts.COLUMNS; seconds on the card of customizing and of the searches."""
    searches = all_pairs.Searches(graph, reduces=True, run=Run(block=block))
    all_pairs.reduced(searches, sources[:1])  # loads the kernels
    loaded = searches.search_s
    found = all_pairs.reduced(searches, sources)
    columns = found.sources, found.eccentricity, found.farthest, found.reached, found.total
    rows = pd.DataFrame(dict(zip(parts.COLUMNS, columns, strict=True)))
    return rows, searches.customize_s, searches.search_s - loaded


def check(searches: all_pairs.Searches, found: pd.DataFrame, sources: np.ndarray, processes: int) -> int:
    """Compare all distances from the sources with the oracle's, and with these what was found; how many sources.

    searches: that do not reduce. found: with parts.COLUMNS. processes: share the oracle's work. Raises WrongResult that
    names the first wrong value.
    """
    graph = searches.on_card.graph
    n, found, checked = graph.vertices, found.set_index("vertex"), 0
    for piece, rows in all_pairs.matrix(searches, sources) if len(sources) else ():
        for some in parts.in_pieces(np.arange(len(piece)), n):
            distances = np.empty(len(some) * n, np.int32)
            searches.run.download((rows[some[0] * n : (some[-1] + 1) * n], distances))
            expected = parts.oracle_rows(graph, piece[some], processes)
            for source, there, here in zip(piece[some].tolist(), expected, distances.reshape(-1, n), strict=True):
                check_source(graph.name, source, there, here, found.loc[source])
                checked += 1
    return checked


def check_source(name: str, source: int, expected: np.ndarray, distances: np.ndarray, found: pd.Series) -> None:
    """Raise WrongResult where distances from a source, or what was found of it, are not what is expected."""
    wrong = np.flatnonzero(distances != expected)
    if len(wrong):
        v = wrong[0]
        said = f"distance of vertex {v} is {distances[v]}, the oracle says {expected[v]}"
        raise WrongResult(f"{name}, source {source}: {said}: nothing is published")
    true = parts.reduce_row(expected)
    values = {**found[list(true)].to_dict(), "distance of the farthest": expected[int(found["farthest"])]}
    for what, value in {**true, "distance of the farthest": true["eccentricity"]}.items():
        if values[what] != value:
            said = f"{what} is {values[what]}, by the oracle's row {value}"
            raise WrongResult(f"{name}, source {source}: {said}: nothing is published")
