"""Batches of measurements: a cell's time over its batches, and the ratio of two cells, taken within a job.

A job measures on one card, in rounds, all variants that are compared on a dataset; a batch is the jobs that share a
name. Rows with an empty `batch` were measured alone: they are shown, but not compared.
"""

from __future__ import annotations

import pandas as pd

from kernels.errors import InputError
from workflow.judge import verdicts
from workflow.store import measurements
from workflow.store.columns import Measurements

JOBS = (  # under tables
    "A job measures the variants of a dataset together on one card, in rounds, in random order. A batch has all jobs "
    "of one name. Not every batch has every dataset."
)
KEYS = ["column", "dataset", "batch"]  # column: algorithm/variant
Medians = pd.DataFrame
"""A row a cell and batch, indexed by KEYS: `seconds`, the median over `rounds` runs; `card_uuid` and `host_id`."""


def medians(rows: Measurements) -> Medians:
    """Return the medians of the rows that are ok."""
    ok = rows[rows["status"] == "ok"]
    return ok.groupby([measurements.variants(ok).rename("column"), *KEYS[1:]], sort=False).agg(
        seconds=("seconds", "median"),
        rounds=("seconds", "size"),
        card_uuid=("card_uuid", "first"),
        host_id=("host_id", "first"),
    )


def pairs(of_batches: Medians, left: str, right: str, dataset: str) -> pd.DataFrame:
    """Return the batches in which one job measured both variants.

    Indexed by batch: left, right (s), rounds (the fewer), host_id and card_uuid, which is empty if both ran on a CPU.
    Raises InputError if a batch's two cells are of different cards or hosts.
    """
    names, datasets, batch = (of_batches.index.get_level_values(key) for key in KEYS)
    compared = (datasets == dataset) & (batch != "")
    one, other = (of_batches[compared & (names == name)].droplevel(KEYS[:2]) for name in (left, right))
    both = one.add_suffix(" left").join(other.add_suffix(" right"), how="inner")
    on_cards = (both["card_uuid left"] != "") & (both["card_uuid right"] != "")
    for place, checked in (("host_id", True), ("card_uuid", on_cards)):
        apart = checked & (both[f"{place} left"] != both[f"{place} right"])
        if apart.any():
            raise InputError(
                f"{left} and {right} on {dataset}, batch {both.index[apart][0]}: their {place} differs, and times of "
                "different machines are not compared: measure the batch again, or remove its files"
            )
    return pd.DataFrame(
        {
            "left": both["seconds left"],
            "right": both["seconds right"],
            "rounds": both[["rounds left", "rounds right"]].min(axis=1),
            "card_uuid": both[["card_uuid left", "card_uuid right"]].max(axis=1),  # that of a card, not of a CPU
            "host_id": both["host_id left"],
        }
    )


def ratios(of_batches: Medians, left: str, right: str, dataset: str) -> pd.Series:
    """Return left's speed-up over right by batch. Raises as `pairs`."""
    both = pairs(of_batches, left, right, dataset)
    return both["right"] / both["left"]


def speed_up(of_batches: Medians, left: str, right: str, dataset: str) -> verdicts.Estimate | None:
    """Estimate left's speed-up over right; None if no job measured both. Raises as `pairs`."""
    by_batch = ratios(of_batches, left, right, dataset)
    return verdicts.estimate(by_batch) if len(by_batch) else None
