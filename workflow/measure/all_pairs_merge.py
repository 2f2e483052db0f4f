"""Join the parts of all pairs: a row a vertex, and the graph's diameter, radius and mean distance.

Every vertex must be a source of one part. Where arcs go both ways and all vertices are reached, each vertex's sum of
distances to all others must be the sum of the distances from all others, which another pass found.
"""

import json
import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from kernels.errors import InputError, WrongResult
from kernels.io import atomic, writable
from workflow.store import all_pairs as parts
from workflow.store.checked_csv import DEFECT

SAME = (
    "dataset",
    "vertices",
    "arcs",
    "shards",
    "sample",
    "height",
    "hierarchy_arcs",
    "revision",
    "settings",
    "symmetric",
)


def merge(paths: Sequence[Path], out: Path) -> None:
    """Join the parts whose Parquet files are given."""
    writable(out)
    read = [parts.read_part(path) for path in paths]
    found = [record for record, _, _ in read]
    require_one_graph(found, paths)
    rows = joined([rows for _, rows, _ in read], found[0])
    checked = check_columns(rows, [sums for _, _, sums in read], found[0])
    whole = summary(rows, found) | {"columns_checked": checked}
    path = out.with_suffix(".json")
    if wrong := parts.fault(whole, "whole"):
        raise InputError(f"{path}: {wrong}: {DEFECT}")
    with atomic(out) as file, atomic(path, "w") as json_file:
        file.write(parts.to_parquet(rows))
        json.dump(whole, json_file, indent=1, sort_keys=True)
        json_file.write("\n")
    logging.info(
        "%s: diameter %s, between %d and %d; radius %s, of %d",
        *(whole["dataset"], f"{whole['diameter']:,}", whole["diameter_from"], whole["diameter_to"]),
        *(f"{whole['radius']:,}", whole["radius_vertex"]),
    )


def require_one_graph(found: Sequence[dict], paths: Sequence[Path]) -> None:
    """Raise InputError where the parts are not all parts of one graph, each once, searched at one revision."""
    first = found[0]
    for record, path in zip(found, paths, strict=True):
        differ = [key for key in SAME if record[key] != first[key]]
        differ += ["graph"] if record["graph"]["sha256"] != first["graph"]["sha256"] else []
        if differ:
            raise InputError(f"{path}: differs from {paths[0]} in {', '.join(differ)}: delete both and run again")
    numbers = sorted(record["shard"] for record in found)
    if numbers != list(range(1, first["shards"] + 1)):
        there = ", ".join(map(str, numbers))
        raise InputError(f"{first['dataset']}: {first['shards']} parts are needed, each once, and there are {there}")


def joined(tables: Sequence[pd.DataFrame], of: dict) -> pd.DataFrame:
    """The rows of all parts by vertex. Raises InputError where not every vertex is there once."""
    rows = pd.concat(tables, ignore_index=True).sort_values("vertex", kind="stable", ignore_index=True)
    times = rows["vertex"].value_counts().reindex(range(of["vertices"]), fill_value=0)
    wrong = times[times != 1]
    if len(wrong) or len(rows) != of["vertices"]:
        said = f"vertex {wrong.index[0]} is a source {wrong.iloc[0]} times" if len(wrong) else f"{len(rows)} sources"
        raise InputError(f"{of['dataset']}: {said}, and every vertex must be one once: delete its parts and run again")
    return rows


def check_columns(rows: pd.DataFrame, sums: Sequence[np.ndarray], of: dict) -> bool:
    """Compare the sums of rows and of columns, where arcs go both ways and all vertices are reached; whether they were.

    Raises WrongResult that names the first vertex whose sums differ.
    """
    if not of["symmetric"] or (rows["reached"] < of["vertices"]).any():
        return False
    columns = np.sum(sums, axis=0)
    if wrong := np.flatnonzero(rows["total"].to_numpy() != columns).tolist():
        v = wrong[0]
        raise WrongResult(
            f"{of['dataset']}: the distances from vertex {v} sum to {rows['total'][v]}, those to it to {columns[v]}, "
            f"though every arc goes both ways ({len(wrong):,} such vertices): nothing is published"
        )
    return True


def summary(rows: pd.DataFrame, found: Sequence[dict]) -> dict:
    """What the parts add up to; rows: of all vertices. Distances are those to vertices that are reached.

    The radius is the least eccentricity of the vertices that reach most others. customize_s is the median of the
    parts', which each customize for themselves; search_s is their sum.
    """
    first, n = found[0], len(rows)
    end = rows["eccentricity"].idxmax()
    centre = rows["eccentricity"][rows["reached"] == rows["reached"].max()].idxmin()
    pairs = int(rows["reached"].sum()) - n
    simulated = any(record["search_s"] is None for record in found)
    states = [state for record in found if record["card"] for state in record["card"].values()]
    return {
        **{
            key: first[key]
            for key in ("dataset", "vertices", "arcs", "shards", "height", "hierarchy_arcs", "triangles")
        },
        **{key: first[key] for key in ("order_s", "tree_s", "revision")},
        "dataset_sha256": first["graph"]["sha256"],
        "substitute": first["graph"].get("substitute") or "",
        "generated": first["graph"].get("generated") or "",
        "diameter": int(rows["eccentricity"][end]),
        "diameter_from": int(rows["vertex"][end]),
        "diameter_to": int(rows["farthest"][end]),
        "radius": int(rows["eccentricity"][centre]),
        "radius_vertex": int(rows["vertex"][centre]),
        "mean_distance": float(rows["total"].to_numpy().sum(dtype=float) / pairs) if pairs else None,
        "distribution": parts.distribution(rows),
        "connected": bool((rows["reached"] == n).all()),
        "rows_checked": sum(record["rows_checked"] for record in found),
        "customize_s": None if simulated else float(np.median([record["customize_s"] for record in found])),
        "search_s": None if simulated else sum(record["search_s"] for record in found),
        "cards": len({record["card_uuid"] for record in found} - {""}),
        "hosts": len({record["host_id"] for record in found}),
        "devices": sorted({record["device"] for record in found}),
        "throttling": ", ".join(dict.fromkeys(reason for state in states for reason in state["throttling"])),
        "commits": sorted({record["commit"] for record in found if record["commit"]}),
        "started": sorted({record["started"] for record in found}),
        "parts": list(found),
    }
