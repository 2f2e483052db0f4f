"""List statistics of all cells: results/summary.csv, .md and .html.

Median with range or interval, batches, repeats, spreads, the card's clocks and throttling.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy import stats

from workflow.judge.batches import JOBS
from workflow.judge.verdicts import CONFIDENCE, INTERVAL, RANGE
from workflow.store import measurements
from workflow.views import pages
from workflow.views.context import Context
from workflow.views.render import digits, or_dash, status_text

MIN_REPEATS = 6  # below it no two repeats enclose the median with 95 % confidence: 1 - 2 / 2^5 < 0.95 < 1 - 2 / 2^6
OF_BATCHES, ALONE = "batches", "alone"  # how a cell was measured
NOTES = [
    f"{JOBS} A cell that was measured both in batches and alone has two rows.",
    "Median and range are of the paper's timed region. If a cell has several batches, they are of the batches' "
    f"medians. The {INTERVAL} of a median lies between two of the cell's repeats (order statistics, which assume no "
    "distribution). It says how certain the median is on that card and host. It is given instead of the range if a "
    f"cell was measured alone or in one batch, with at least {MIN_REPEATS} repeats.",
    "Spread within batches: the range of a batch's repeats, divided by their median; then the median over batches. "
    "Spread between batches: the range of the batches' medians, divided by their median.",
    "Clock: that of the card's multiprocessors before and after the cell's repeats, and the card's highest; if there "
    "are several batches, in the first. Throttled: the reasons that the card gave for a lower clock. A CPU has "
    "neither.",
]


def interval(seconds: np.ndarray) -> tuple[float, float]:
    """Return the 95 % interval of the median of (repeats,) float64, or the range if there are too few repeats.

    Source: order statistics as in Conover, Practical Nonparametric Statistics, by scipy.stats.quantile_test.
    """
    if len(seconds) < MIN_REPEATS:
        return seconds.min(), seconds.max()
    return tuple(stats.quantile_test(seconds, p=0.5).confidence_interval(CONFIDENCE))


def spread(seconds: np.ndarray) -> float:
    """Return the range of (count,) float64 over their median."""
    return np.ptp(seconds) / np.median(seconds)


def statistics(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row a cell, of its newest revision; two if it was measured in batches and also alone.

    Times are in s, spreads parts of the median, clocks in MHz; "ends" says whether low and high are those of the
    INTERVAL or the RANGE.
    """
    parts = {OF_BATCHES: rows[rows["batch"] != ""], ALONE: rows[rows["batch"] == ""]}
    rows = pd.concat([measurements.pooled(part).assign(measured=name) for name, part in parts.items()])
    groups = rows.sort_index(kind="stable").groupby([*measurements.CELL, "measured"], sort=False)
    return pd.DataFrame([_statistics(key, group) for key, group in groups])


def _statistics(key: tuple[str, str, str, str], rows: pd.DataFrame) -> dict:
    first, ok = rows.iloc[0], rows[rows["status"] == "ok"]
    batches = [seconds.to_numpy() for _, seconds in ok.groupby("batch", sort=False)["seconds"]]
    return {
        **dict(zip([*measurements.CELL, "measured"], key, strict=True)),
        "status": "ok" if batches else first["status"],
        **_times(batches),
        "batches": len(batches) if first["batch"] else 0,
        "repeats": int(rows["seconds"].count()),
        **first[[*measurements.CLOCKS]],
        "throttling": ", ".join(dict.fromkeys(filter(None, rows["throttling"]))),
        **first[["device", "commit", "limit_s"]],
        "note": "; ".join(dict.fromkeys(measurements.items(rows["note"]))),
    }


def _times(batches: list[np.ndarray]) -> dict:
    """Summarise the seconds of each batch."""
    if not batches:
        return {"median": np.nan, "low": np.nan, "high": np.nan, "ends": "", "within": np.nan, "between": np.nan}
    medians, several = np.array([np.median(seconds) for seconds in batches]), len(batches) > 1
    low, high = (medians.min(), medians.max()) if several else interval(batches[0])
    return {
        "median": np.median(medians),
        "low": low,
        "high": high,
        "ends": INTERVAL if not several and len(batches[0]) >= MIN_REPEATS else RANGE,
        "within": np.median([spread(seconds) for seconds in batches if len(seconds) > 1] or [np.nan]),
        "between": spread(medians) if several else np.nan,
    }


def page(facts: pd.DataFrame, rows: pd.DataFrame, source: str) -> pages.Page:
    substitutes = measurements.substitutes(rows)
    lines = [_line(cell, substitutes) for _, cell in facts.iterrows()]
    table = ("table", pd.DataFrame(lines)) if lines else ("p", "Nothing was measured.")
    return [("h1", "Statistics of the measured cells"), table, ("ul", [*measurements.about(rows, source), *NOTES])]


def _line(cell: pd.Series, substitutes: Mapping[str, str]) -> dict[str, str]:
    low, high = digits(cell["low"]), digits(cell["high"])
    ends = f"[{low}, {high}] s, {INTERVAL}" if cell["ends"] == INTERVAL else f"{low} to {high} s, {RANGE}"
    before, after, highest = cell[[*measurements.CLOCKS]]
    return {
        "Variant": f"{cell['algorithm']}/{cell['variant']}",
        "Dataset": measurements.marked(cell["dataset"], substitutes),
        "Median": f"{digits(cell['median'])} s" if cell["status"] == "ok" else status_text(cell),
        "Interval or range": ends if cell["repeats"] > 1 else "-",
        "Batches": ALONE if cell["measured"] == ALONE else str(cell["batches"]),
        "Repeats": str(cell["repeats"]),
        "Spread within batches": or_dash(100 * cell["within"], "{:.1f} %".format),
        "Spread between batches": or_dash(100 * cell["between"], "{:.1f} %".format),
        "Clock (MHz)": "-" if np.isnan(highest) else f"{before:.0f}, {after:.0f} of {highest:.0f}",
        "Throttled": cell["throttling"] or "-",
    }


def render_summary(rows: pd.DataFrame, context: Context) -> dict[str, str]:
    """Render the page."""
    facts = statistics(rows)
    return pages.files("summary", facts, page(facts, rows, context.source))
