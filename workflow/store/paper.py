"""The paper's numbers and claims, and times of other programs: workflow/paper/*.csv, checked when they are read."""

from functools import cache
from pathlib import Path

import pandas as pd
import yaml

from kernels.registry import VARIANTS
from workflow.store.checked_csv import Rule, Schema, above_0, matching, once, one_of, whole
from workflow.store.columns import KNOWN, variants

FOLDER = Path(__file__).parents[1] / "paper"
ADVICE = "correct the file"
VALUED = ("times_faster", "faster_by_s")  # relations that claim a value, from low to high
RELATIONS = ("slower", "faster", "fastest", "no_better", *VALUED)

DATASETS = Schema(
    ("dataset", "vertices", "arcs", "file"),
    ("vertices", "arcs"),
    (matching("dataset"), once("dataset"), whole("vertices", 1), whole("arcs", 0), matching("file")),
    ADVICE,
)


def datasets(path: Path = FOLDER / "datasets.csv") -> pd.DataFrame:
    """Return the paper's datasets, indexed by name: vertices, arcs, file."""
    return DATASETS.read([path]).astype({"vertices": int, "arcs": int}).set_index("dataset")


DATASET = Rule(("dataset",), "the paper has no such dataset", lambda rows: rows["dataset"].isin(datasets().index))
TIMES = Schema(
    ("table", "algorithm", "variant", "dataset", "seconds", "text"),
    ("table", "seconds"),
    (
        whole("table", 1),
        KNOWN,
        DATASET,
        above_0("seconds"),
        matching("text", r">?[\d.]+(s|min|hr|)", "must be a time as the paper prints it: 22min, 8.5s, >1hr, 137.369"),
        once("algorithm", "variant", "dataset"),
    ),
    ADVICE,
)


def times() -> pd.DataFrame:
    """Return the paper's times, indexed by (algorithm/variant, dataset): seconds, text as printed.

    seconds is NaN if the paper gives only a bound (">1hr").
    """
    printed = TIMES.read([FOLDER / "times.csv"])
    printed["seconds"] = printed["seconds"].mask(printed["text"].str.startswith(">"))
    return printed.assign(column=variants(printed)).set_index(["column", "dataset"])[["seconds", "text"]]


def _names(column: str, must: str, known) -> Rule:
    """Return the rule that every name of a column is in `known()`."""

    def are_known(rows: pd.DataFrame) -> pd.Series:
        listed = set(known())
        return rows[column].map(lambda names: set(names.split()) <= listed)

    return Rule((column,), must, are_known)


def _same_problem(rows: pd.DataFrame) -> pd.Series:
    compared = (rows["left"] + " " + rows["right"]).str.split()
    return compared.map(lambda names: len({VARIANTS[name].problem for name in names}) == 1)


def _value(rows: pd.DataFrame) -> pd.Series:
    low, high = (pd.to_numeric(rows[end], errors="coerce") for end in ("low", "high"))
    empty = (rows["low"] == "") & (rows["high"] == "")
    return ((low > 0) & (low <= high) & (high < float("inf"))).where(rows["relation"].isin(VALUED), empty)


CLAIMS = Schema(
    ("id", "section", "claim", "left", "right", "datasets", "relation", "low", "high", "reading"),
    (),
    (
        matching("id"),
        once("id"),
        *(_names(column, "there is no such variant", lambda: VARIANTS) for column in ("left", "right")),
        _names("datasets", "the paper has no such dataset", lambda: datasets().index),
        one_of("relation", *RELATIONS),
        Rule(("left", "right"), "must be variants of one problem: of one source, or of all pairs", _same_problem),
        Rule(
            ("relation", "low", "high"),
            f"low and high must be numbers above 0, low no greater than high, for {' and '.join(VALUED)}, and empty "
            "for other relations",
            _value,
        ),
    ),
    ADVICE,
    "claim {id}",
)


def claims(path: Path = FOLDER / "claims.csv") -> list[dict[str, str]]:
    """Return the claims, one dictionary a line."""
    return CLAIMS.text([path])


# Of other programs: each time is from a file beside peers.csv, and was not measured here.
PEERS_CARD, PEERS_CPU = "NVIDIA H200", "16 cores of its host"
ORIGINS = "h200.csv", "h200-one-source.csv", "h200-one-source-3.csv"
GENERATED = ("grid2000", "rmat20", "uniform20")  # datasets of config.yaml with the family and size of a cited graph
PEERS = Schema(
    ("program", "version", "dataset", "source", "seconds", "contains", "n", "host", "date", "file"),
    ("seconds",),
    (
        Rule(("program",), "must be a program of peers.yaml", lambda rows: rows["program"].isin(list(programs()))),
        Rule(
            ("dataset",),
            "must be the paper's or one of paper.GENERATED",
            lambda rows: rows["dataset"].isin([*datasets().index, *GENERATED]),
        ),
        one_of("source", "0", "any", "every"),
        above_0("seconds"),
        *(matching(column) for column in ("version", "contains", "n")),
        one_of("host", PEERS_CARD, PEERS_CPU),
        matching("date", r"\d{4}-\d\d-\d\d", "must be a date"),
        one_of("file", *ORIGINS),
        once("program", "dataset", "source"),
    ),
    ADVICE,
)


@cache
def programs() -> dict[str, str]:
    """Return the authors of each other program."""
    return yaml.safe_load((FOLDER / "peers.yaml").read_text(encoding="utf-8"))


def peers() -> pd.DataFrame:
    """Return the cited times, a row a program, dataset and source."""
    return PEERS.read([FOLDER / "peers.csv"])
