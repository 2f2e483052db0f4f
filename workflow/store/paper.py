"""The paper's numbers and claims, kept as CSV files in workflow/paper/; each is checked when it is read."""

from pathlib import Path

import pandas as pd

from workflow.store.checked_csv import Rule, Schema, matching, once, whole

FOLDER = Path(__file__).parents[1] / "paper"
ADVICE = "correct the file"

DATASETS = Schema(
    ("dataset", "vertices", "arcs", "file"),
    ("vertices", "arcs"),
    (matching("dataset"), once("dataset"), whole("vertices", 1), whole("arcs", 0), matching("file")),
    ADVICE,
)
_CLAIM = ("id", "section", "claim", "left", "right", "datasets", "relation", "low", "high", "reading")
CLAIMS = Schema(_CLAIM, (), (matching("id"), once("id")), ADVICE)


def datasets(path: Path = FOLDER / "datasets.csv") -> pd.DataFrame:
    """The paper's datasets, indexed by name: vertices, arcs, file. Raises InputError where the file is wrong."""
    return DATASETS.read([path]).astype({"vertices": int, "arcs": int}).set_index("dataset")


DATASET = Rule(("dataset",), "the paper has no such dataset", lambda rows: rows["dataset"].isin(datasets().index))


def claims(path: Path = FOLDER / "claims.csv") -> list[dict[str, str]]:
    """The claims as they stand in the file, a dictionary a line. Raises InputError where its columns are others."""
    return CLAIMS.read([path]).to_dict("records")
