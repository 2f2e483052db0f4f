"""Statistics of every measured cell: its median with its range, batches, repeats, spreads, clocks and throttling.

Writes results/summary.csv, .md and .html.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from workflow.store import measurements
from workflow.views import pages
from workflow.views.context import Context
from workflow.views.render import digits, status_text

CONFIDENCE = 0.95
MIN_REPEATS = 6  # below it no two repeats enclose the median with 95 % confidence: 1 - 2 / 2^5 < 0.95 < 1 - 2 / 2^6
INTERVAL, RANGE = "95 % interval", "range"
OF_BATCHES, ALONE = "batches", "alone"  # how a line's rows were measured
NOTES = [
    "A batch has a job for each dataset, which measures all that is compared on it, in rounds on one card. A cell that "
    "was measured in batches and also alone has a line for each.",
    "Median and range are of the paper's timed region: of several batches, of the batches' medians. The "
    f"{INTERVAL} of a median lies between two of its repeats (order statistics; no distribution is assumed) and says "
    f"how sure the median is on that card and host. That takes {MIN_REPEATS} repeats of one run or batch.",
    "Spread within batches: greatest less least repeat of a batch, over their median; the median over batches. Spread "
    "between batches: the same of the batches' medians.",
    "Clock: of the card's multiprocessors before and after the cell's repeats, and the highest it has; of several "
    "batches, in the first. Throttled: the reasons the card gave then for running below it. A CPU has neither.",
]


def interval(seconds: np.ndarray) -> tuple[float, float]:
    """Ends of the 95 % interval of the median of float64 (repeats,); of the range where there are too few repeats.

    Source: order statistics as in Conover, Practical Nonparametric Statistics, by scipy.stats.quantile_test.
    """
    if len(seconds) < MIN_REPEATS:
        return seconds.min(), seconds.max()
    return tuple(stats.quantile_test(seconds, p=0.5).confidence_interval(CONFIDENCE))


def spread(seconds: np.ndarray) -> float:
    """Greatest less least of float64 (count,), over the median."""
    return np.ptp(seconds) / np.median(seconds)


def statistics(rows: pd.DataFrame) -> pd.DataFrame:
    """A row for what of each cell was measured in batches, and one for what was measured alone.

    rows: as measurements.load gives them; of each line those of the newest revision.
    algorithm, variant, dataset, measured (OF_BATCHES or ALONE), status, median, low, high (s; ends of the interval or
    range, which "ends" names), batches (0 alone), repeats, within and between (spreads, parts of the median), the
    card's clocks (MHz), throttling (its reasons), device, commit, note.
    """
    parts = {OF_BATCHES: rows[rows["batch"] != ""], ALONE: rows[rows["batch"] == ""]}
    kept = pd.concat([measurements.pooled(part).assign(measured=name) for name, part in parts.items()])
    lines = kept.sort_index(kind="stable").groupby([*measurements.CELL, "measured"], sort=False)
    return pd.DataFrame([_line(key, group) for key, group in lines])


def _line(key: tuple[str, str, str, str], group: pd.DataFrame) -> dict:
    first, timed = group.iloc[0], group[group["status"] == "ok"].groupby("batch", sort=False)["seconds"]
    batches = [seconds.to_numpy() for _, seconds in timed]
    times = {"median": np.nan, "low": np.nan, "high": np.nan, "ends": "", "within": np.nan, "between": np.nan}
    if batches:
        medians = np.array([np.median(seconds) for seconds in batches])
        several = len(batches) > 1
        low, high = (medians.min(), medians.max()) if several else interval(batches[0])
        times = {
            "median": np.median(medians),
            "low": low,
            "high": high,
            "ends": INTERVAL if not several and len(batches[0]) >= MIN_REPEATS else RANGE,
            "within": np.median([spread(seconds) for seconds in batches if len(seconds) > 1] or [np.nan]),
            "between": spread(medians) if several else np.nan,
        }
    return {
        **dict(zip([*measurements.CELL, "measured"], key, strict=True)),
        "status": "ok" if batches else first["status"],
        **times,
        "batches": len(batches) if first["batch"] else 0,
        "repeats": int(group["seconds"].count()),
        **first[[*measurements.CLOCKS]],
        "throttling": ", ".join(dict.fromkeys(filter(None, group["throttling"]))),
        **first[["device", "commit", "limit_s"]],
        "note": "; ".join(dict.fromkeys(measurements.items(group["note"]))),
    }


def page(facts: pd.DataFrame, rows: pd.DataFrame, source: str) -> pages.Page:
    """facts: as statistics gives them."""
    title = "Statistics of the measured cells"
    substitutes = measurements.substitutes(rows)
    text = pd.DataFrame(
        [
            {
                "Variant": f"{cell['algorithm']}/{cell['variant']}",
                "Dataset": measurements.marked(cell["dataset"], substitutes),
                "Median": f"{digits(cell['median'])} s" if cell["status"] == "ok" else status_text(cell),
                "Interval or range": f"[{digits(cell['low'])}, {digits(cell['high'])}] s, {cell['ends']}"
                if cell["repeats"] > 1
                else "-",
                "Batches": ALONE if cell["measured"] == ALONE else str(cell["batches"]),
                "Repeats": str(cell["repeats"]),
                "Spread within batches": _percent(cell["within"]),
                "Spread between batches": _percent(cell["between"]),
                "Clock (MHz)": _clock(cell),
                "Throttled": cell["throttling"] or "-",
            }
            for _, cell in facts.iterrows()
        ]
    )
    said = [*measurements.about(rows, source), *NOTES]
    return [("h1", title), *([("table", text)] if len(text) else [("p", "Nothing was measured.")]), ("ul", said)]


def _percent(share: float) -> str:
    return "-" if np.isnan(share) else f"{100 * share:.1f} %"


def _clock(cell: pd.Series) -> str:
    before, after, highest = (cell[name] for name in measurements.CLOCKS)
    return "-" if np.isnan(highest) else f"{before:.0f}, {after:.0f} of {highest:.0f}"


def view(rows: pd.DataFrame, context: Context) -> dict[str, str]:
    """Render the page; rows: as measurements.load gives them."""
    facts = statistics(rows)
    return pages.files("summary", facts, page(facts, rows, context.source))
