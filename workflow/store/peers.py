"""Times of other programs, cited from workflow/paper/peers.csv; each is from a file beside it, not measured here."""

from functools import cache

import pandas as pd
import yaml

from workflow.store import paper
from workflow.store.checked_csv import Rule, Schema, above_0, matching, once, one_of

CARD, CPU = "NVIDIA H200", "16 cores of its host"
ORIGINS = "h200.csv", "h200-one-source.csv"
GENERATED = ("grid2000", "rmat20", "uniform20")  # datasets of config.yaml with the family and size of a cited graph
SOURCES = ("0", "any", "every")

TIMES = Schema(
    ("program", "version", "dataset", "source", "seconds", "contains", "n", "host", "date", "file"),
    ("seconds",),
    (
        Rule(("program",), "peers.yaml does not name it", lambda rows: rows["program"].isin(list(programs()))),
        Rule(
            ("dataset",),
            "must be the paper's or one of peers.GENERATED",
            lambda rows: rows["dataset"].isin([*paper.datasets().index, *GENERATED]),
        ),
        one_of("source", *SOURCES),
        above_0("seconds"),
        *(matching(column) for column in ("version", "contains", "n")),
        one_of("host", CARD, CPU),
        matching("date", r"\d{4}-\d\d-\d\d", "must be a date"),
        one_of("file", *ORIGINS),
        once("program", "dataset", "source"),
    ),
    paper.ADVICE,
)


@cache
def programs() -> dict[str, str]:
    """Return the authors of each program."""
    return yaml.safe_load((paper.FOLDER / "peers.yaml").read_text())


def times() -> pd.DataFrame:
    """Return the cited times, a row a program, dataset and source."""
    return TIMES.read([paper.FOLDER / "peers.csv"])
