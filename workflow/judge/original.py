"""Times of the paper's own CUDA C++, measured outside this workflow: workflow/paper/original-batches.csv, h200.csv.

The first file has two batches, each of one card, in which the program and this project ran in turn; the second a single
run of each variant on one card.
"""

from __future__ import annotations

from functools import cache

import pandas as pd

from workflow.judge import verdicts
from workflow.judge.verdicts import Estimate
from workflow.store import columns, paper

BATCHES, SINGLE = paper.FOLDER / "original-batches.csv", paper.FOLDER / "h200.csv"


@cache
def single_runs() -> pd.Series:
    """Return the seconds of one run each, indexed by (algorithm/variant, dataset)."""
    rows = pd.read_csv(SINGLE, comment="#").query("who == 'bodra'")
    heads = {"^fw_": "floyd_warshall/", "^dijkstra_": "dijkstra/", "^(?=[^/]+$)": "bellman_ford/"}
    column = rows["variant"]
    for short, long in heads.items():
        column = column.str.replace(short, long, regex=True)
    return rows.set_index([column.rename("column"), "dataset"])["seconds"]


@cache
def medians() -> pd.Series:
    """Return the program's median seconds over the rounds, indexed by (algorithm/variant, dataset, batch)."""
    rows = pd.read_csv(BATCHES, comment="#").query("who == 'original'")
    return rows.assign(column=columns.variants(rows)).groupby(["column", "dataset", "batch"])["seconds"].median()


@cache
def estimate(left: str, right: str, dataset: str, *, differences: bool = False) -> Estimate | None:
    """Estimate the program's speed-up of left over right, or the difference in seconds; None if it was not measured.

    Over the batches; of the single runs if there is no batch.
    """
    times, single, pair = medians(), single_runs(), ((left, dataset), (right, dataset))
    if all(cell in times.index.droplevel("batch") for cell in pair):
        one, other = (times[cell] for cell in pair)
    elif all(cell in single.index for cell in pair):
        one, other = (single[[cell]].reset_index(drop=True) for cell in pair)
    else:
        return None
    values = (other - one if differences else other / one).dropna()
    return verdicts.estimate(values.to_numpy(), differences=differences)
