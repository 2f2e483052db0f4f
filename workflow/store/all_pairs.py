"""The files of all pairs of a graph: results/all_pairs/<dataset>.parquet, a row for each vertex, and .json, the record.

Beside what was found, a record has the records of the parts, each like that of a cell.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from kernels.errors import InputError
from workflow import step
from workflow.store import measurements

COLUMNS = ("vertex", "eccentricity", "farthest", "reached", "total")
# The fields of a record, and those of a part's record that are shown.
FOUND = {
    **{"dataset": str, "diameter": int, "diameter_from": int, "diameter_to": int, "radius": int, "radius_vertex": int},
    **{"mean_distance": float | None, "connected": bool},
    **{"columns_checked": bool},  # whether the sums from and to each vertex were compared
    **{"distribution": dict, "parts": list},
}
PART = {
    **{"vertices": int, "arcs": int, "shards": int, "height": int, "hierarchy_arcs": int, "triangles": int},
    **{"order_s": float, "tree_s": float, "customize_s": float | None, "search_s": float | None, "rows_checked": int},
    **{"card": dict | None, "card_uuid": str, "host_id": str, "device": str, "commit": str, "started": str},
    **{"graph": dict},
}
BINS = 100


def closeness(rows: pd.DataFrame) -> pd.Series:
    """Return each vertex's mean distance to the others that it reaches; NaN if it reaches none."""
    return rows["total"] / (rows["reached"] - 1).replace(0, np.nan)


def distribution(rows: pd.DataFrame) -> dict[str, list]:
    """Return histograms of eccentricities and mean distances: the edges of the bins, and each one's counts."""
    values = {"eccentricity": rows["eccentricity"].astype(float), "mean_distance": closeness(rows).dropna()}
    edges = np.histogram_bin_edges(np.concatenate(list(values.values())), BINS)
    return {"edges": edges.tolist()} | {name: np.histogram(of, edges)[0].tolist() for name, of in values.items()}


def read_record(path: Path) -> dict:
    """Read the record of a whole."""
    advice = f"restore it from git if it is an archive's, else delete {path.with_suffix('.parquet')} and run again"
    record = step.read_json(path, advice)
    check_whole(record, path, advice)
    return record


def check_whole(record: dict, path: Path, advice: str) -> None:
    """Raise InputError if a field is missing or of another type."""
    for fields, values in ((FOUND, [record]), (PART, record.get("parts", []))):
        for name, kind in fields.items():
            if not all(isinstance(value.get(name), kind) for value in values):
                raise InputError(f"{path}: no record of all pairs (see {name}): {advice}")


def parts(records: Sequence[dict]) -> pd.DataFrame:
    """Return the parts of records like rows of measurements; simulated times are NaN."""
    rows = []
    for part in (part for record in records for part in record["parts"]):
        about = {name: part["graph"].get(name) or "" for name in ("substitute", "generated")}
        states = measurements.of_card(part["card"]) if part["card"] else {"throttling": ""}
        rows.append(part | about | states)
    return pd.DataFrame(rows).astype({"customize_s": float, "search_s": float})


def read_rows(path: Path, columns: Sequence[str] = COLUMNS) -> pd.DataFrame:
    """Read the rows of a whole or a part, of which the record is in the attributes."""
    try:
        return pd.read_parquet(path, page_checksum_verification=True)[list(columns)]
    except (OSError, ValueError, KeyError) as error:  # pyarrow's errors are such
        raise InputError(f"{path}: not a valid table of all pairs ({error}): delete it and run again") from None
