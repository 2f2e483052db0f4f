"""Of results/choices.csv, which workflow/scripts/choices.py measures: what a file may hold, and what pages show."""

from pathlib import Path

import pandas as pd

from workflow.lib import measured_on
from workflow.lib.checked_csv import Schema, above_0, matching, numbered, once, whole
from workflow.lib.documents import narrow, time_text

MOST = 2  # times as long as the faster of near_far and SciPy the choice may take
WAYS = ["chosen_s", "near_far_s", "scipy_s"]
SCHEMA = Schema(
    (
        *("shape", "vertices", "arcs", "variant", "repeat", *WAYS),
        *measured_on.COLUMNS,
    ),
    ("vertices", "arcs", "repeat", *WAYS),
    (
        matching("shape"),
        whole("vertices", 1),
        whole("arcs", 0),
        matching("variant"),
        whole("repeat", 1),
        *map(above_0, WAYS),
        once("shape", "repeat"),
        numbered("repeat", "shape"),
        *measured_on.RULES,
    ),
    "measure again, or leave the file out",
    "{shape}",
)


def load(paths: list[Path]) -> pd.DataFrame:
    """The rows; raises InputError where they are not as SCHEMA says."""
    return SCHEMA.read_one(paths, "--choices")


def medians(rows: pd.DataFrame) -> pd.DataFrame:
    """A row a shape: the medians of its times in seconds, and ratio: of chosen over the least of the other two."""
    of_shapes = rows.groupby("shape", sort=False)
    found = of_shapes[["vertices", "arcs", "variant", "substitute"]].first().join(of_shapes[WAYS].median())
    found["ratio"] = found["chosen_s"] / found[WAYS[1:]].min(axis=1)
    return found.reset_index()


def markdown(rows: pd.DataFrame) -> str:
    """The table, with a row a shape."""
    found = medians(rows)
    names = zip(found["shape"], found["substitute"], strict=True)
    columns = {
        "Graph": [f"{name} †" if substitute else name for name, substitute in names],
        "Vertices": found["vertices"].map("{:,.0f}".format),
        "Arcs": found["arcs"].map("{:,.0f}".format),
        "Chosen": found["variant"].str.split("/").str[1],
        **{head: found[way].map(time_text) for head, way in zip(("It takes", "near_far", "SciPy"), WAYS, strict=True)},
        "Over the faster": found["ratio"].map("{:.2f}".format),
    }
    return narrow(pd.DataFrame(columns))
