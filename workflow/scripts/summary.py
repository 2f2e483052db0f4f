"""Statistics of every measured cell: its median with an interval, repeats, spread, clocks and throttling.

Writes results/summary.csv, .md and .html.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from workflow.lib import external, measurements, pages, step
from workflow.lib.render import digits, status_text

CONFIDENCE = 0.95
MIN_REPEATS = 6  # below it no two repeats enclose the median with 95 % confidence: 1 - 2 / 2^5 < 0.95 < 1 - 2 / 2^6
INTERVAL, RANGE = "95 % interval", "range"
NOTES = [
    f"Median, interval and range are of the paper's timed region. The {INTERVAL} of a median lies between two of its "
    f"repeats (order statistics; no distribution is assumed). That takes {MIN_REPEATS} repeats: of fewer the range "
    "from the least to the greatest stands there, and is called one.",
    "Spread: greatest less least repeat, over the median.",
    "Clock: of the card's multiprocessors before and after the cell's repeats, and the highest it has. "
    "Throttled: the reasons the card gave then for running below it. A CPU has neither.",
]


def interval(seconds: np.ndarray) -> tuple[float, float]:
    """Ends of the 95 % interval of the median of float64 (repeats,); of the range where there are too few repeats.

    Source: order statistics as in Conover, Practical Nonparametric Statistics, by scipy.stats.quantile_test.
    """
    if len(seconds) < MIN_REPEATS:
        return seconds.min(), seconds.max()
    return tuple(stats.quantile_test(seconds, p=0.5).confidence_interval(CONFIDENCE))


def statistics(rows: pd.DataFrame) -> pd.DataFrame:
    """One row a cell; rows: as measurements.load gives them.

    algorithm, variant, dataset, status, median, low, high (s; ends of the interval or range, which "ends" names),
    repeats, spread (of the median), the card's clocks (MHz), throttling (its reasons), device, commit, note.
    """
    return pd.DataFrame([_cell(cell, group) for cell, group in rows.groupby(measurements.CELL, sort=False)])


def _cell(cell: tuple[str, str, str], group: pd.DataFrame) -> dict:
    first, seconds = group.iloc[0], group["seconds"].dropna().to_numpy()
    times = {"median": np.nan, "low": np.nan, "high": np.nan, "ends": "", "spread": np.nan}
    if len(seconds):
        low, high = interval(seconds)
        times = {
            "median": np.median(seconds),
            "low": low,
            "high": high,
            "ends": INTERVAL if len(seconds) >= MIN_REPEATS else RANGE,
            "spread": np.ptp(seconds) / np.median(seconds),
        }
    return {
        **dict(zip(measurements.CELL, cell, strict=True)),
        "status": first["status"],
        **times,
        "repeats": len(seconds),
        **first[[*measurements.CARD, "device", "commit", "limit_s"]],
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
                "Repeats": str(cell["repeats"]),
                "Spread": f"{100 * cell['spread']:.1f} %" if cell["repeats"] > 1 else "-",
                "Clock (MHz)": _clock(cell),
                "Throttled": cell["throttling"] or "-",
            }
            for _, cell in facts.iterrows()
        ]
    )
    said = [*measurements.about(rows, source), *external.unchecked(rows), *NOTES]
    return [("h1", title), *([("table", text)] if len(text) else [("p", "Nothing was measured.")]), ("ul", said)]


def _clock(cell: pd.Series) -> str:
    before, after, highest = (cell[name] for name in measurements.CLOCKS)
    return "-" if np.isnan(highest) else f"{before:.0f}, {after:.0f} of {highest:.0f}"


def write(rows: pd.DataFrame, source: str, folder: Path) -> None:
    """Write summary.csv, .md and .html into a folder."""
    facts = statistics(rows)
    pages.write(folder / "summary", facts, page(facts, rows, source))


def main(args: argparse.Namespace) -> None:
    write(measurements.load(args.measurements), args.source, args.out_dir)


if __name__ == "__main__":
    arguments = step.showing_parser(__doc__, out_dir="results")
    step.run(main, arguments)
