"""Say what part of the card's peak blocked Floyd-Warshall reaches: results/peak_table.csv and .md.

Both rates are in relaxations/s. The peak is that of results/peak.csv (workflow/measure/peak.py).
"""

from pathlib import Path

import numpy as np
import pandas as pd

from kernels.gpu import SIMULATOR
from workflow.store import measurements
from workflow.store.checked_csv import Rule, Schema, above_0, matching, moment, numbered, once, one_of, version, whole
from workflow.views import long_table
from workflow.views.context import Context
from workflow.views.render import digits, spread

TITLE = "Relaxations/s of blocked Floyd-Warshall, beside the card's peak"
BITS = {  # of a distance
    "floyd_warshall/blocked": 32,
    "floyd_warshall/blocked16": 16,
    "floyd_warshall/staged": 32,
}
CHAINS, DENSE = "Peak: chains in registers", "Rounds on a dense matrix"
FACTS = ["what", "bits", "vertices", "dataset", "device", "median", "min", "max", "repeats", "batches", "part"]
COLUMNS = (
    "benchmark",
    "bits",
    "vertices",
    "repeat",
    "relaxations",
    "seconds",
    "device",
    "driver",
    "cuda",
    "numba_cuda",
    "commit",
    "tree_clean",
    "started",
    "host",
)


def _sizes(rows: pd.DataFrame) -> pd.Series:
    n = rows["vertices"]
    return ((n % 1 == 0) & (n**3 == rows["relaxations"])).where(rows["benchmark"] == "dense", n.isna())


SCHEMA = Schema(
    COLUMNS,
    ("bits", "vertices", "repeat", "relaxations", "seconds"),
    (
        one_of("benchmark", "chains", "dense"),
        Rule(("bits",), "must be 16 or 32", lambda rows: rows["bits"].isin([16, 32])),
        whole("repeat", 1),
        whole("relaxations", 1),
        Rule(
            ("benchmark", "vertices", "relaxations"),
            "dense must have a whole number of vertices, and their cube of relaxations; chains have none",
            _sizes,
        ),
        above_0("seconds"),
        matching("device"),
        Rule(("device",), "a simulated run is no measurement", lambda rows: rows["device"] != SIMULATOR),
        *(version(column) for column in ("driver", "cuda", "numba_cuda")),
        one_of("tree_clean", "True", "False", ""),
        moment("started"),
        once("benchmark", "bits", "vertices", "repeat"),
        numbered("repeat", "benchmark", "bits", "vertices"),
        Rule(("device",), "the rows differ in device", lambda rows: rows["device"].isin(rows["device"].iloc[:1])),
    ),
    "measure again, or leave the file out",
    "{benchmark} of {bits} bits",
)
NOTES = [
    "A relaxation is min(a + b, c). Peak: every thread of a full card relaxes in registers only, one instruction for "
    "one relaxation of 32 bits or for two of 16.",
    "Rounds on a dense matrix: random weights, the launches of Blocked and nothing else. On a dataset: the vertices "
    "cubed over kernels_s. Median and [range] of n repeats, of several batches of the batches' medians.",
    "Part of the peak: over the median of the chains with as many bits, which ran just before on the same card. Peak "
    "and dense matrices are one run, outside the batches. A dataset's rate is of another job: no part is given of it.",
]


def load(paths: list[Path]) -> pd.DataFrame:
    """The rows of peak.csv, of none or one path; vertices are text, empty for the chains.

    Raises InputError where it is another file, or a value is not as SCHEMA says.
    """
    rows = SCHEMA.read_one(paths, "--peak")
    sizes = ["" if np.isnan(n) else f"{n:.0f}" for n in rows["vertices"]]
    return rows.assign(vertices=sizes).astype({"bits": int})


def compare(peaks: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """A row a benchmark or cell, with FACTS: rates in relaxations/s.

    part: of the peak of the same run; NaN for a cell, which is of another. batches: 0 for what was measured alone.
    peaks: as load gives them; rows: as measurements.load does.
    """
    measured = peaks.assign(
        what=peaks["benchmark"].map({"chains": CHAINS, "dense": DENSE}),
        dataset="",
        rate=peaks["relaxations"] / peaks["seconds"],
    )
    rates = measured.groupby(FACTS[:5], sort=False)["rate"].agg(["median", "min", "max", "count"]).reset_index()
    rates = rates.rename(columns={"count": "repeats"}).assign(batches=0)
    limits = rates[rates["what"] == CHAINS].set_index(["bits", "device"])["median"].to_dict()
    limit = [limits.get(key, np.nan) for key in zip(rates["bits"], rates["device"], strict=True)]
    rates["part"] = rates["median"] / np.array(limit, float)

    rows = measurements.pooled(rows[measurements.variants(rows).isin(BITS) & (rows["status"] == "ok")])
    cells = measurements.summarise(rows.assign(seconds=rows["kernels_s"])).reset_index()
    cubes = cells["vertices"] ** 3
    ends = {"median": cubes / cells["median"], "min": cubes / cells["max"], "max": cubes / cells["min"]}
    cells = cells.assign(
        what=cells["column"].map(long_table.label),
        bits=cells["column"].map(BITS),
        vertices=cells["vertices"].map("{:.0f}".format),
        part=np.nan,
        **ends,
    )
    found = pd.concat([part[FACTS] for part in (rates, cells) if len(part)] or [rates[FACTS]])
    return found.sort_values("bits", ascending=False, kind="stable", ignore_index=True)


def to_text(facts: pd.DataFrame) -> pd.DataFrame:
    tera = facts.assign(**{name: facts[name] / 1e12 for name in ("median", "min", "max")})
    sizes = [f"{int(n):,}" if n else "-" for n in facts["vertices"]]
    return pd.DataFrame(
        {
            "What": facts["what"],
            "Bits": facts["bits"].map(str),
            "Dataset": facts["dataset"].map(lambda name: f"{name}.txt" if name else "-"),
            "Vertices": sizes,
            "T relaxations/s": tera["median"].map(digits),
            "Range": [spread(rate) for _, rate in tera.iterrows()],
            "Part of the peak": ["-" if np.isnan(part) else f"{100 * part:.0f} %" for part in facts["part"]],
        },
        dtype=str,
    )


def view(rows: pd.DataFrame, context: Context) -> dict[str, str]:
    """Render the table; rows: as measurements.load gives them."""
    peaks = load(context.paths("peak"))
    facts = compare(peaks, rows)
    devices = ", ".join(dict.fromkeys(facts["device"]))
    cells = measurements.pooled(rows[measurements.variants(rows).isin(BITS)])
    said = [f"On {devices}."] if devices else ["No measurement."]
    text, numbers = to_text(facts), ["Bits", "Vertices", "T relaxations/s", "Part of the peak"]
    notes = [
        *NOTES,
        context.source,
        *said,
        *measurements.generated(cells),
        *measurements.run(pd.concat([peaks, cells])),
    ]
    return long_table.files("peak_table", TITLE, text, facts.assign(source=context.source), notes, numbers)
