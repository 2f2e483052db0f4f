"""Batches of measurements: a cell's time over its batches, and the ratio of two cells, taken within a job.

A job measures on one card, in rounds, all variants that are compared on a dataset; a batch is the jobs that share a
name. Rows with an empty `batch` were measured alone: they are shown, and compared with nothing.
"""

from __future__ import annotations

import pandas as pd

from kernels.errors import InputError
from workflow.judge import verdicts
from workflow.store import measurements

KEYS = ["column", "dataset", "batch"]  # column: algorithm/variant


def medians(rows: pd.DataFrame) -> pd.DataFrame:
    """A row a cell and batch, indexed by KEYS, of the rows that are ok; rows: as measurements.pooled gives them.

    seconds: the median over the batch's rounds (s). rounds: their number. card_uuid, host_id: where they ran.
    """
    ok = rows[rows["status"] == "ok"]
    keys = [measurements.variants(ok).rename("column"), ok["dataset"], ok["batch"]]
    return ok.groupby(keys, sort=False).agg(
        seconds=("seconds", "median"),
        rounds=("seconds", "size"),
        card_uuid=("card_uuid", "first"),
        host_id=("host_id", "first"),
    )


def pairs(found: pd.DataFrame, left: str, right: str, dataset: str) -> pd.DataFrame:
    """The batches in which one job measured both cells, indexed by batch: `left` and `right` (s), card_uuid, host_id.

    left, right: algorithm/variant. found: as medians gives it. card_uuid: the job's card; empty where both are of a
    CPU. Raises InputError where a batch's two cells are of different cards or hosts.
    """
    names, datasets, batch = (found.index.get_level_values(key) for key in KEYS)
    there = (datasets == dataset) & (batch != "")
    mine, others = (found[there & (names == key)].droplevel(["column", "dataset"]) for key in (left, right))
    both = mine.add_suffix(" left").join(others.add_suffix(" right"), how="inner")
    on_cards = (both["card_uuid left"] != "") & (both["card_uuid right"] != "")
    for place, where in (("host_id", True), ("card_uuid", on_cards)):
        apart = where & (both[f"{place} left"] != both[f"{place} right"])
        if apart.any():
            raise InputError(
                f"{left} and {right} on {dataset}, batch {both.index[apart][0]}: their {place} differs, and times of "
                "different machines are not compared: measure the batch again, or leave its files out"
            )
    card = both["card_uuid left"].where(both["card_uuid left"] != "", both["card_uuid right"])
    return pd.DataFrame(
        {
            "left": both["seconds left"],
            "right": both["seconds right"],
            "rounds": both[["rounds left", "rounds right"]].min(axis=1),
            "card_uuid": card,
            "host_id": both["host_id left"],
        }
    )


def ratios(found: pd.DataFrame, left: str, right: str, dataset: str) -> pd.Series:
    """How many times longer `right` took than `left`, by batch: left's speed-up. As pairs, which raises."""
    both = pairs(found, left, right, dataset)
    return both["right"] / both["left"]


def speed_up(found: pd.DataFrame, left: str, right: str, dataset: str) -> verdicts.Estimate | None:
    """How many times longer `right` took than `left`, over batches; None where no job measured both.

    As pairs, which raises.
    """
    by_batch = ratios(found, left, right, dataset)
    return verdicts.estimate(by_batch) if len(by_batch) else None
