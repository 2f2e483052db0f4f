"""Compare blocked Floyd-Warshall with the card's peak, in relaxations/s: results/peak_table.csv and .md.

The peak is that of results/peak.csv (workflow/measure/peak.py).
"""

import numpy as np
import pandas as pd

from workflow.store import benchmarks, measurements
from workflow.views import long_table
from workflow.views.context import Context
from workflow.views.render import digits, or_dash, spread, stacked

TITLE = "Relaxations/s of blocked Floyd-Warshall, beside the card's peak"
BITS = {"floyd_warshall/blocked": 32, "floyd_warshall/blocked16": 16, "floyd_warshall/staged": 32}  # of a distance
CHAINS, DENSE = "Peak: chains in registers", "Rounds on a dense matrix"
FACTS = ["what", "bits", "vertices", "dataset", "device", "median", "min", "max", "repeats", "batches", "part"]
NOTES = [
    "A relaxation is min(a + b, c). Peak: every thread of a full card relaxes in registers only. One instruction makes "
    "one relaxation of 32 bits or two of 16 bits.",
    "Rounds on a dense matrix: the launches of Blocked alone, on random weights. On a dataset: the cube of the number "
    "of vertices, divided by kernels_s. Median and range are over n repeats or, if there are several batches, over "
    "the batches' medians.",
    "Part of the peak: the rate divided by the median rate of the chains of as many bits, which ran just before on the "
    "same card. Peak and dense matrices were measured together, outside the batches. A dataset's rate is from another "
    "job, so its part of the peak is not given.",
]


def compare(peaks: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row with FACTS for each benchmark of `peaks` and each cell of `rows`; rates in relaxations/s.

    "part" of the peak is NaN for a cell, which another job measured.
    """
    rates = stacked(_of_benchmarks(peaks)[FACTS], _of_cells(rows)[FACTS])
    return rates.sort_values("bits", ascending=False, kind="stable", ignore_index=True)


def _of_benchmarks(peaks: pd.DataFrame) -> pd.DataFrame:
    rate = peaks["relaxations"] / peaks["seconds"]
    peaks = peaks.assign(what=peaks["benchmark"].map({"chains": CHAINS, "dense": DENSE}), dataset="", rate=rate)
    rates = peaks.groupby(FACTS[:5], sort=False)["rate"].agg(["median", "min", "max", "count"]).reset_index()
    limits = rates[rates["what"] == CHAINS].set_index(["bits", "device"])["median"].rename("peak")
    part = rates["median"] / rates.join(limits, on=["bits", "device"])["peak"]
    return rates.rename(columns={"count": "repeats"}).assign(batches=0, part=part)


def _of_cells(rows: pd.DataFrame) -> pd.DataFrame:
    rows = measurements.pooled(rows[measurements.variants(rows).isin(BITS) & (rows["status"] == "ok")])
    cells = measurements.summarise(rows.assign(seconds=rows["kernels_s"])).reset_index()
    relaxations = cells["vertices"] ** 3
    rates = {
        "median": relaxations / cells["median"],
        "min": relaxations / cells["max"],
        "max": relaxations / cells["min"],
    }
    return cells.assign(
        what=cells["column"].map(long_table.label),
        bits=cells["column"].map(BITS),
        vertices=cells["vertices"].map("{:.0f}".format),
        part=np.nan,
        **rates,
    )


def to_text(facts: pd.DataFrame) -> pd.DataFrame:
    tera = facts.assign(**{name: facts[name] / 1e12 for name in ("median", "min", "max")})
    return pd.DataFrame(
        {
            "What": facts["what"],
            "Bits": facts["bits"].map(str),
            "Dataset": [f"{name}.txt" if name else "-" for name in facts["dataset"]],
            "Vertices": [f"{int(n):,}" if n else "-" for n in facts["vertices"]],
            "T relaxations/s": tera["median"].map(digits),
            "Range": [spread(rate) for _, rate in tera.iterrows()],
            "Part of the peak": [or_dash(100 * part, "{:.0f} %".format) for part in facts["part"]],
        },
        dtype=str,
    )


def render_peak_table(rows: pd.DataFrame, context: Context) -> dict[str, str]:
    """Render the table."""
    peaks = benchmarks.load_peak(context.paths("peak"))
    facts = compare(peaks, rows)
    rows = measurements.pooled(rows[measurements.variants(rows).isin(BITS)])
    cards = [f"On {', '.join(facts['device'].unique())}."] if len(facts) else ["No measurement."]
    run = measurements.run(pd.concat([peaks, rows]))
    notes = [*NOTES, context.source, *cards, *measurements.generated(rows), *run]
    numbers = ["Bits", "Vertices", "T relaxations/s", "Part of the peak"]
    return long_table.files("peak_table", TITLE, to_text(facts), facts.assign(source=context.source), notes, numbers)
