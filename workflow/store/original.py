"""Times of the paper's own CUDA C++, measured outside this workflow: workflow/paper/original-batches.csv, h200.csv.

The first has two batches, of one card each, in which the program and this project ran in turn; the second a single run
of each variant on one card. The heads of both say how.
"""

from __future__ import annotations

from functools import cache

import pandas as pd

from workflow.judge import verdicts
from workflow.judge.verdicts import Estimate
from workflow.store import paper

BATCHES, SINGLE = paper.FOLDER / "original-batches.csv", paper.FOLDER / "h200.csv"
PROGRAM, OURS = "original", "ours"


@cache
def batches() -> pd.DataFrame:
    """Rows a run: batch, card, round, position, who (PROGRAM or OURS), column (algorithm/variant), dataset, seconds."""
    rows = pd.read_csv(BATCHES, comment="#")
    return rows.assign(column=rows["algorithm"] + "/" + rows["variant"])


@cache
def single_runs() -> pd.Series:
    """Seconds of one run each, indexed by (algorithm/variant, dataset)."""
    rows = pd.read_csv(SINGLE, comment="#")
    rows = rows[rows["who"] == "bodra"]
    heads = {"fw_": "floyd_warshall/", "dijkstra_": "dijkstra/"}
    column = rows["variant"].replace({f"^{short}": long for short, long in heads.items()}, regex=True)
    column = column.where(column.str.contains("/"), "bellman_ford/" + column)
    return rows.set_index([column.rename("column"), "dataset"])["seconds"]


@cache
def medians(who: str = PROGRAM) -> pd.Series:
    """Seconds, the median over the rounds, indexed by (algorithm/variant, dataset, batch)."""
    rows = batches()
    return rows[rows["who"] == who].groupby(["column", "dataset", "batch"])["seconds"].median()


def estimate(left: str, right: str, dataset: str, *, differences: bool = False) -> Estimate | None:
    """The program's left's speed-up over right, or by how many seconds left is faster; None where it was not measured.

    Over the batches, or of the single run where there is none.
    """
    times = medians()
    there = [name for name in (left, right) if (name, dataset) in times.index.droplevel("batch")]
    if len(there) == 2:
        one, other = times[left, dataset], times[right, dataset]
    elif (left, dataset) in single_runs().index and (right, dataset) in single_runs().index:
        one, other = (single_runs()[[(name, dataset)]].reset_index(drop=True) for name in (left, right))
    else:
        return None
    values = (other - one if differences else other / one).dropna()
    return verdicts.estimate(values.to_numpy(), differences=differences)


def beside_ours() -> pd.DataFrame:
    """Our time divided by the program's, a row a cell (column, dataset): by batch, each a median over its rounds."""
    return (medians(OURS) / medians(PROGRAM)).unstack("batch")
