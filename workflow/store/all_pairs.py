"""The files of all pairs of a graph: results/all_pairs/<dataset>.parquet, a row for each vertex, and .json."""

from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from jsonschema import Draft202012Validator

from kernels.errors import InputError
from workflow import step
from workflow.store import records
from workflow.store.checked_csv import DEFECT

SCHEMA = Path(__file__).parents[1] / "schemas" / "all_pairs.schema.yaml"
COLUMNS = ("vertex", "eccentricity", "farthest", "reached", "total")
BINS = 100


def closeness(rows: pd.DataFrame) -> pd.Series:
    """Return each vertex's mean distance to the others that it reaches; NaN if it reaches none."""
    return rows["total"] / (rows["reached"] - 1).replace(0, np.nan)


def distribution(rows: pd.DataFrame) -> dict[str, list]:
    """Return histograms of eccentricities and mean distances: the edges of the bins, and each one's counts."""
    values = {"eccentricity": rows["eccentricity"].astype(float), "mean_distance": closeness(rows).dropna()}
    edges = np.histogram_bin_edges(np.concatenate(list(values.values())), BINS)
    return {"edges": edges.tolist()} | {name: np.histogram(of, edges)[0].tolist() for name, of in values.items()}


def check(record: dict, path: Path, advice: str = DEFECT) -> None:
    """Raise InputError unless the record is as the schema says."""
    if wrong := records.fault(record, Draft202012Validator(yaml.safe_load(SCHEMA.read_text()))):
        raise InputError(f"{path}: not a valid record of all pairs ({wrong}): {advice}")


def read_record(path: Path) -> dict:
    """Read the record of a whole."""
    advice = f"restore it from git if it is an archive's, else delete {path.with_suffix('.parquet')} and run again"
    record = step.read_json(path, advice)
    check(record, path, advice)
    return record


def read_rows(path: Path) -> pd.DataFrame:
    """Read the rows of a whole."""
    try:
        return pd.read_parquet(path, columns=list(COLUMNS))
    except (OSError, ValueError, KeyError) as error:  # pyarrow's errors are such
        raise InputError(f"{path}: not a valid table of all pairs ({error}): delete it and run again") from None


def kept(archive: Path, datasets: dict) -> list[Path]:
    """Return the records in an archive: first those of the datasets, in their order."""
    order, found = list(datasets), sorted((archive / "all_pairs").glob("*.json"))
    return sorted(found, key=lambda path: order.index(path.stem) if path.stem in order else len(order))
