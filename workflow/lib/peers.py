"""Times of other programs: cited from workflow/paper/peers.csv, each from a file beside it; none was measured here."""

from functools import cache

import numpy as np
import pandas as pd
import yaml

from workflow.lib import paper
from workflow.lib.checked_csv import Rule, Schema, above_0, matching, once, one_of

CARD, CPU = "NVIDIA H200", "16 cores of its host"
ORIGINS = {"h200.csv": None, "h200-one-source.csv": "ours"}  # by file, its column of our kernel's times, if it has one
MS = 1e-3  # seconds: the unit of that column
GENERATED = ("grid2000", "rmat20", "uniform20")  # config's datasets that are of the families and sizes of cited graphs
CALLED = {"urand20": "uniform20"}  # which of them a file calls otherwise
SOURCES = ("0", "any", "every")

TIMES = Schema(
    ("program", "version", "dataset", "source", "seconds", "contains", "n", "host", "date", "file"),
    ("seconds",),
    (
        Rule(("program",), "peers.yaml says nothing of it", lambda rows: rows["program"].isin(list(programs()))),
        Rule(
            ("dataset",),
            "neither the paper's nor one of peers.GENERATED",
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
    """By name, who wrote each program."""
    return yaml.safe_load((paper.FOLDER / "peers.yaml").read_text())


def times() -> pd.DataFrame:
    """A row a program, dataset and source: the columns of TIMES and "ratio".

    ratio: how many times longer than our kernel, which ran beside it on the same host; NaN for a program on the CPU,
    which stands beside our whole call, and where the file has no time of ours.
    """
    found = TIMES.read([paper.FOLDER / "peers.csv"])
    ours = [_ours(name).get((dataset, source), np.nan) for name, dataset, source in found[KEY].itertuples(index=False)]
    ratio = found["seconds"] / np.array(ours, float)
    return found.assign(ratio=ratio.where(found["host"] == CARD)).reset_index(drop=True)


KEY = ["file", "dataset", "source"]


@cache
def _ours(name: str) -> dict[tuple[str, str], float]:
    """Our kernel's seconds in a file of workflow/paper/, by dataset and source."""
    if not (column := ORIGINS[name]):
        return {}
    rows = pd.read_csv(paper.FOLDER / name, comment="#", dtype={"source": str})
    datasets = rows["dataset"].replace(CALLED)
    return dict(zip(zip(datasets, rows["source"], strict=True), MS * rows[column], strict=True))
