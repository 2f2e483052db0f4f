"""Search from every vertex of a graph, in parts that may run on several cards, and merge the parts.

A part is one Parquet file with a row for each vertex: all_pairs.COLUMNS, 0 unless the vertex is a source of this part,
and TO_VERTEX. Therefore the parts add up to the whole. What it was measured on is in the frame's attributes.
"""

import json
import logging
from collections.abc import Sequence
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
from workflow.measure import host, lock, measure
from workflow.measure.oracle import in_pieces, oracle_rows, reduce_row
from workflow.store import all_pairs as store
from workflow.store import records

TO_VERTEX = "total_to"  # the sum of the distances from the part's sources to a vertex; 0 if not `symmetric`
SEED = 0  # draws the sources that are checked
WHOLE = (
    *("dataset", "vertices", "arcs", "shards", "height", "hierarchy_arcs", "triangles", "revision"),
    *("dataset_sha256", "substitute", "generated"),
)
SAME = *WHOLE, "sample", "settings", "symmetric"  # in all parts of a graph


@dataclass(frozen=True)
class Part:
    """One of several parts of the sources. sample: sources of all parts that are checked. block: threads of a block."""

    shard: int = 1
    shards: int = 1
    sample: int = 256
    block: int = 1024

    def sources(self, vertices: np.ndarray) -> np.ndarray:
        """Return this part of the vertices, which are in preorder, so that its searches share most of their way."""
        if not 1 <= self.shard <= self.shards <= len(vertices):
            said = f"{len(vertices):,} vertices have no part {self.shard} of {self.shards}"
            raise InputError(f"{said}: choose another all_pairs.shards")
        return np.array_split(vertices, self.shards)[self.shard - 1]

    def checked(self, sources: np.ndarray, vertices: int) -> np.ndarray:
        """Return the sources that are checked; they are drawn from all vertices, equally in each part."""
        drawn = np.random.default_rng(SEED).choice(vertices, min(vertices, self.sample), replace=False)
        return sources[np.isin(sources, drawn)]


def measure_part(graph: Path, part: Part, out: Path, setting: measure.Setting, processes: int = 1) -> None:
    """Search from a part of the vertices of a packed graph, check, and write. processes: for the oracle."""
    writable(out)
    with lock.held(out), nullcontext() if card.SIMULATED else host.one_card(setting.cores):
        if not card.SIMULATED and not card.gpu_visible():
            raise InputError("all_pairs needs a GPU, but none is visible: check nvidia-smi and CUDA_VISIBLE_DEVICES")
        rows = search(measure.packed(graph), part, setting, processes)
        records.check(rows.attrs, out)
        with atomic(out) as file:
            rows.to_parquet(file, index=False, write_page_checksum=True)
    seconds = "simulated" if card.SIMULATED else f"{rows.attrs['search_s']:.3g} s"
    logging.info("%s, part %d of %d: %s", rows.attrs["dataset"], part.shard, part.shards, seconds)


def search(graph: Graph, part: Part, setting: measure.Setting, processes: int) -> pd.DataFrame:
    """Return the checked rows of a part, with its record as attributes."""
    hierarchy = elimination.of(graph)
    sources = part.sources(hierarchy.vertices)
    found, times = reduced(graph, sources, part.block)
    rows = pd.DataFrame({name: getattr(found, name) for name in store.COLUMNS[1:]}, index=found.sources)
    rows = rows.reindex(range(graph.vertices), fill_value=0).assign(**{TO_VERTEX: 0})
    searches = all_pairs.AllPairsSearch(graph, reduces=False, run=Run(block=part.block))
    checked = check(searches, rows, part.checked(sources, graph.vertices), processes)
    symmetric = is_symmetric(graph)
    if symmetric and (found.reached == graph.vertices).all():  # else a sum may include an infinite distance
        rows[TO_VERTEX] = all_pairs.sums_over_sources(searches, sources)
    commit, clean = measure.state_of_project(setting.commit)
    counts = hierarchy.counts
    rows.attrs = {
        **measure.about(find("hierarchy", "apsp"), graph, Protocol(block=part.block), commit),
        **{"variant": "all_pairs", "revision": str(ALL_PAIRS_REVISION), "tree_clean": clean},
        **{"shards": part.shards, "shard": part.shard, "sources": len(sources), "sample": part.sample},
        **{"height": counts.height, "hierarchy_arcs": counts.arcs, "triangles": counts.triangles},
        **{"order_s": hierarchy.order_s, "tree_s": hierarchy.tree_s, **times},
        **{"rows_checked": checked, "symmetric": symmetric, "graph": graph.meta},
        **{"protocol": {"block": part.block, "sample": part.sample}, "config_digest": setting.config_digest},
        **measure.surroundings(),
    }
    return rows


def reduced(graph: Graph, sources: np.ndarray, block: int) -> tuple[all_pairs.Reduced, dict]:
    """Return the results of the sources; of the record, the times and the card's states, None in the simulator."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    before = None if card.SIMULATED else card.card_state()
    searches = all_pairs.AllPairsSearch(graph, reduces=True, run=Run(block=block))
    all_pairs.reduced(searches, sources[:1])  # loads the kernels
    loaded = searches.search_s
    found = all_pairs.reduced(searches, sources)
    if card.SIMULATED:
        return found, {"started": started, "customize_s": None, "search_s": None, "card": None}
    seconds = {"customize_s": searches.customize_s, "search_s": searches.search_s - loaded}
    return found, {"started": started, **seconds, "card": {"before": before, "after": card.card_state()}}


def is_symmetric(graph: Graph) -> bool:
    """Return whether every arc has its reverse with the same weight; of parallel arcs the cheapest counts."""
    arcs = graph.to_scipy()
    arcs.data += 1  # distinguishes an arc of weight 0 from none
    return (arcs != arcs.T).nnz == 0


def check(searches: all_pairs.AllPairsSearch, found: pd.DataFrame, sources: np.ndarray, processes: int) -> int:
    """Compare all distances from the sources, and the sources' rows, with the oracle's; return their number."""
    graph = searches.on_card.graph
    for piece in searches.pieces(sources):
        for places in in_pieces(np.arange(len(piece)), graph.vertices):
            expected = oracle_rows(graph, piece[places], processes)
            for source, true, row in zip(piece[places].tolist(), expected, searches.rows(places), strict=True):
                check_source(f"{graph.name}, source {source}", true, row, found.loc[source])
    return len(sources)


def check_source(name: str, expected: np.ndarray, distances: np.ndarray, found: pd.Series) -> None:
    """Raise WrongResult that names the first value of a source that is not the oracle's."""
    true = reduce_row(expected)
    values = [(f"distance of vertex {v}", distances[v], expected[v]) for v in np.flatnonzero(distances != expected)[:1]]
    values += [(column, found[column], value) for column, value in true.items()]
    values += [("distance of the farthest", expected[found["farthest"]], true["eccentricity"])]
    for what, value, right in values:
        if value != right:
            raise WrongResult(f"{name}: {what} is {value}, but {right} by the oracle's row: nothing is written")


def merge(paths: Sequence[Path], out: Path) -> None:
    """Write the sum of the parts: a row for each vertex and, beside it, a record of the whole."""
    writable(out)
    parts = [read_part(path) for path in paths]
    require_one_graph(parts, paths)
    columns = (*store.COLUMNS[1:], TO_VERTEX)
    rows = pd.DataFrame({name: sum(part[name] for part in parts) for name in columns})
    rows.insert(0, "vertex", np.arange(len(rows), dtype=np.int32))
    checked = compare_sums(rows, parts[0].attrs)
    whole = summary(rows, [part.attrs for part in parts]) | {"columns_checked": checked}
    path = out.with_suffix(".json")
    store.check(whole, path)
    with atomic(out) as file, atomic(path, "w") as json_file:
        rows[list(store.COLUMNS)].to_parquet(file, index=False)
        json.dump(whole, json_file, indent=1, sort_keys=True)
        json_file.write("\n")
    logging.info(
        "%s: diameter %s, between %d and %d; radius %s, of %d",
        *(whole["dataset"], f"{whole['diameter']:,}", whole["diameter_from"], whole["diameter_to"]),
        *(f"{whole['radius']:,}", whole["radius_vertex"]),
    )


def read_part(path: Path) -> pd.DataFrame:
    """Read a part, with its record as attributes. Raises InputError if the file is not one or is damaged."""
    try:
        rows = pd.read_parquet(path, page_checksum_verification=True)
        if missing := {*SAME, *store.COLUMNS[1:], TO_VERTEX} - {*rows.attrs, *rows}:
            raise ValueError(f"without {min(missing)}")
    except (OSError, ValueError) as error:  # pyarrow's errors are such
        raise InputError(f"{path}: not a part of all pairs ({error}): delete it and run again") from None
    return rows


def require_one_graph(parts: Sequence[pd.DataFrame], paths: Sequence[Path]) -> None:
    """Raise InputError unless the parts agree in SAME and each vertex is the source of one of them."""
    first = parts[0].attrs
    for part, path in zip(parts, paths, strict=True):
        if differ := [key for key in SAME if part.attrs[key] != first[key]]:
            raise InputError(f"{path}: differs from {paths[0]} in {', '.join(differ)}: delete both and run again")
    times = sum((part["reached"] > 0).astype(int) for part in parts)
    if len(wrong := np.flatnonzero(times != 1)):
        said = f"vertex {wrong[0]} is a source in {times[wrong[0]]} of {len(parts)} parts, not in exactly 1"
        raise InputError(f"{first['dataset']}: {said}: delete its {first['shards']} parts and run again")


def compare_sums(rows: pd.DataFrame, record: dict) -> bool:
    """Compare the sums of the distances from and to each vertex; return False if they may differ."""
    if not record["symmetric"] or (rows["reached"] < record["vertices"]).any():
        return False
    if len(wrong := rows[rows["total"] != rows[TO_VERTEX]]):
        v, total, other = wrong.iloc[0][["vertex", "total", TO_VERTEX]]
        raise WrongResult(
            f"{record['dataset']}: the distances from vertex {v} sum to {total}, but those to it to "
            f"{other}, although every arc has its reverse ({len(wrong):,} such vertices): nothing is written"
        )
    return True


def summary(rows: pd.DataFrame, parts: Sequence[dict]) -> dict:
    """Return the record of the whole. Its distances are those to vertices that are reached.

    The radius is the least eccentricity of the vertices that reach most others. customize_s is the median of the
    parts, each of which customizes; search_s is their sum.
    """
    first, n = parts[0], len(rows)
    end = rows.loc[rows["eccentricity"].idxmax()].to_dict()
    centre = rows.loc[rows["eccentricity"][rows["reached"] == rows["reached"].max()].idxmin()].to_dict()
    pairs = int(rows["reached"].sum()) - n
    simulated = any(part["search_s"] is None for part in parts)
    states = [state for part in parts if part["card"] for state in part["card"].values()]
    return {
        **{key: first[key] for key in (*WHOLE, "order_s", "tree_s")},
        **{"diameter": end["eccentricity"], "diameter_from": end["vertex"], "diameter_to": end["farthest"]},
        **{"radius": centre["eccentricity"], "radius_vertex": centre["vertex"]},
        "mean_distance": float(rows["total"].to_numpy().sum(dtype=float) / pairs) if pairs else None,
        "distribution": store.distribution(rows),
        "connected": bool((rows["reached"] == n).all()),
        "rows_checked": sum(part["rows_checked"] for part in parts),
        "customize_s": None if simulated else float(np.median([part["customize_s"] for part in parts])),
        "search_s": None if simulated else sum(part["search_s"] for part in parts),
        "cards": len({part["card_uuid"] for part in parts} - {""}),
        "hosts": len({part["host_id"] for part in parts}),
        "devices": sorted({part["device"] for part in parts}),
        "throttling": ", ".join(dict.fromkeys(reason for state in states for reason in state["throttling"])),
        "commits": sorted({part["commit"] for part in parts if part["commit"]}),
        "started": sorted({part["started"] for part in parts}),
        "parts": parts,
    }
