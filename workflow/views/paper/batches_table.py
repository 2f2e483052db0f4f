"""List the batches: results/batches.csv, .md and .html.

A row a batch and host: when and on which host, processor, cores, cards and driver it ran, what it measured, at which
commit.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from workflow.judge.batches import JOBS
from workflow.store import measurements
from workflow.views import pages
from workflow.views.context import Context

HEADS = {
    "batch": "Batch",
    "date": "Date",
    "host": "Host",
    "cpu": "CPU",
    "cores": "Cores",
    "card": "Card",
    "card_ids": "Card ids",
    "driver": "Driver",
    "datasets": "Datasets",
    "cells": "Cells",
    "runs": "Runs",
    "throttled": "Throttled",
    "commit": "Commit",
}
NOTES = [
    f"{JOBS} Cells without a batch (-) were measured alone and are compared with nothing.",
    "Host: an anonymous id, the first eight digits of a digest. Card ids: the first eight digits of the cards' UUIDs. "
    "Cores: the number of cores that the CPU variants had. Cells: variants on datasets. Runs: the cells' rows in "
    "timings.csv. Dates are UTC.",
]


def facts(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row a batch and host, by the batches' names, all as text; an unknown value is empty."""
    groups = rows.sort_values("started", kind="stable").groupby(["batch", "host_id"], sort=False)
    lines = [_facts(batch, host, group) for (batch, host), group in groups]
    lines.sort(key=lambda line: (len(line["batch"]), line["batch"]))  # AA after Z
    return pd.DataFrame(lines, columns=list(HEADS), dtype=str)


def _facts(batch: str, host: str, rows: pd.DataFrame) -> dict[str, str]:
    days = rows["started"].str[:10]
    on_card = rows[rows["driver"] != ""]
    return {
        "batch": batch,
        "date": " to ".join(dict.fromkeys([days.iloc[0], days.iloc[-1]])),
        "host": host,
        "cpu": _each(rows["cpu_model"]),
        "cores": _each(f"{cores:g}" for cores in sorted(rows["cores"].dropna())),
        "card": _each(on_card["device"]),
        "card_ids": _each(on_card["card_uuid"].str.removeprefix("GPU-").str[:8]),
        "driver": _each(rows["driver"]),
        "datasets": _each(sorted(rows["dataset"])),
        "cells": str(measurements.cell_keys(rows).nunique()),
        "runs": str(len(rows)),
        "throttled": _each(rows["throttling"]) or "no",
        "commit": _each(rows["commit"].str[:12]),
    }


def _each(values: Iterable[str]) -> str:
    """Join the values that are not empty, each once."""
    return ", ".join(dict.fromkeys(filter(None, values)))


def table(rows: pd.DataFrame) -> list[tuple[str, str | pd.DataFrame]]:
    """Return the blocks of a page that show the batches of these rows."""
    lines = facts(rows)
    if lines.empty:
        return [("p", "Nothing was measured.")]
    return [("table", lines.replace("", "-").rename(columns=HEADS))]


def render_batches_table(rows: pd.DataFrame, context: Context) -> dict[str, str]:
    """Render the batches of the rows and, for the report, those of the other archives."""
    page = [("h1", "Batches and hosts"), ("p", context.source), *table(rows), ("ul", NOTES)]
    for archive in context.paths("archives"):
        others = measurements.load_folder(archive)
        page += [("h2", f"The archive {archive.name}"), *table(others)]
    return pages.files("batches", facts(rows), page)
