"""The measured parts of docs/performance/: times and rates of our own kernels, from an archive."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from kernels.registry import VARIANTS
from workflow.measure import revisions
from workflow.store import measurements
from workflow.store.measurements import marked, substitutes
from workflow.views import many_sources_table, peak_table, render
from workflow.views.documents import narrow, spread, time_text
from workflow.views.long_table import label
from workflow.views.render import digits

RATED = list(peak_table.BITS)  # compared with the card's peak
ELL = "bellman_ford/stride_ell"
_OURS = [variant for variant in VARIANTS.values() if variant.ours and variant.key != ELL]
HIERARCHY = [variant.key for variant in _OURS if variant.algorithm == "hierarchy"]
LARGE = "random65536"  # its matrix is what staged was made for
# The pages with their marker and the variants whose cells stand there.
PAGES = {
    "one-source": (
        "one_source",
        [variant.key for variant in _OURS if variant.problem == "sssp" and variant.key not in HIERARCHY],
    ),
    "all-pairs-sparse": (
        "sparse",
        [v.key for v in _OURS if v.problem == "apsp" and v.key not in RATED and v.key not in HIERARCHY],
    ),
    "hierarchy": ("hierarchy", HIERARCHY),
    "all-pairs-dense": ("dense", [key for key in RATED if key != "floyd_warshall/staged"]),
    "larger-than-card": ("staged", ["floyd_warshall/blocked", "floyd_warshall/staged"]),
    "ell": ("ell", ["bellman_ford/stride", ELL]),
}


def load_peaks(path: Path) -> pd.DataFrame:
    """The rows of peak.csv; none where there is no such file."""
    return peak_table.load([path] if path.exists() else [])


def load_many(path: Path) -> pd.DataFrame:
    """The rows of many_sources.csv; none where there is no such file."""
    return many_sources_table.load([path] if path.exists() else [])


def rates(rows: pd.DataFrame, peaks: pd.DataFrame) -> pd.DataFrame:
    """Indexed by (variant, dataset): rate, peak (relaxations/s; NaN where the card's peak was not measured).

    rate: the vertices cubed over the median of kernels_s. rows: as measurements.load gives them; peaks: as load_peaks.
    """
    rows = measurements.pooled(rows[measurements.variants(rows).isin(RATED) & (rows["status"] == "ok")])
    chains = peaks[peaks["benchmark"] == "chains"]
    limits = (chains["relaxations"] / chains["seconds"]).groupby([chains["bits"], chains["device"]]).median().to_dict()
    found = measurements.summarise(rows)
    keys = found.index.get_level_values("column")
    bits = [peak_table.BITS[key] for key in keys]
    return pd.DataFrame(
        {
            "rate": found["vertices"] ** 3 / found["kernels"],
            "peak": [limits.get(key, np.nan) for key in zip(bits, found["device"], strict=True)],
        },
        index=found.index,
        dtype=float,
    )


def rate_text(key: str, cell: pd.Series) -> str:
    """The rate of a cell, with predecessors: relaxations/s of Floyd-Warshall, else arcs/s, from each of its sources."""
    variant = VARIANTS[key]
    if key in RATED:
        return f"{digits(cell['vertices'] ** 3 / cell['median'] / 1e12)} T relaxations/s"
    arcs = cell["arcs"] * (cell["vertices"] if variant.problem == "apsp" else 1)
    return f"{digits(arcs / cell['median'] / 1e9)} G arcs/s"


def brief(rows: pd.DataFrame, archive: str) -> str:
    """One line: where the cells are from."""
    devices = ", ".join(dict.fromkeys(rows["device"]))
    days = sorted({started[:10] for started in rows["started"] if started})
    when = f", {' to '.join(dict.fromkeys([days[0], days[-1]]))}" if days else ""
    marks = " † A [substitute](../data.md#the-substitutes)." if substitutes(rows) else ""
    return f"From the archive `{archive}`: {devices}{when}.{marks}"


def changed(rows: pd.DataFrame, keys: Iterable[str]) -> list[str]:
    """Return those of the variants that were measured only at other revisions than today's."""
    known = rows[rows["revision"] != revisions.UNKNOWN]
    measured = known["revision"].groupby(measurements.variants(known)).agg(set)
    return [key for key in keys if key in measured and revisions.of(VARIANTS[key]) not in measured[key]]


def cells(rows: pd.DataFrame, keys: list[str], peaks: pd.DataFrame, archive: str) -> str:
    """Markdown of the measured cells of these variants. rows: as measurements.load gives them."""
    rows = measurements.pooled(rows[measurements.variants(rows).isin(keys)])
    found = measurements.summarise(rows.assign(seconds=rows["kernels_s"] + rows["predecessors_s"]))
    if not len(found):
        return f"From the archive `{archive}`: no measurement yet."
    others, of_peak = substitutes(rows), rates(rows, peaks)
    lines = []
    for (key, dataset), cell in found.iterrows():
        line = {"Variant": label(key), "Dataset": marked(dataset, others)}
        if cell["status"] == "ok":
            apart = cell["predecessors"] > 0
            line |= {
                "Distances": time_text(cell["kernels"]),
                "Predecessors": time_text(cell["predecessors"]) if apart else "with them",
                "Both": time_text(cell["median"]),
                "Range": spread(cell),
                "Rate": rate_text(key, cell),
            }
            if (key, dataset) in of_peak.index and not np.isnan(of_peak.loc[(key, dataset), "peak"]):
                rate, peak = of_peak.loc[(key, dataset)]
                line["Distances, of the peak"] = f"{100 * rate / peak:.0f} %"
        else:
            line["Both"] = cell["status"].replace("_", " ")
        lines.append(line)
    older = ", ".join(map(label, changed(rows, keys)))
    said = f" Measured at an older revision: {older}." if older else ""
    return f"{narrow(pd.DataFrame(lines).fillna('-'))}\n\n{brief(rows, archive)}{said}"


def many_sources(many: pd.DataFrame, archive: str) -> str:
    """Markdown: searches from many sources by dataset; empty where there are none. many: as load_many gives them."""
    if many.empty:
        return ""
    us, others, lines = many_sources_table.rates(many), substitutes(many), []
    for dataset, group in many.groupby("dataset", sort=False):
        first, line = group.iloc[0], {"Dataset": marked(dataset, others)}
        for kind in many_sources_table.KINDS:
            cell = us.loc[(dataset, kind)] if (dataset, kind) in us.index else None
            line |= {
                f"{kind.capitalize()}, µs a source": "-" if cell is None else digits(cell["median"]),
                f"Range of {kind}": "-" if cell is None else render.spread(cell),
            }
        line |= {
            "Customize": time_text(group["customize_s"].median()),
            "Prepare": time_text(first["order_s"] + first["tree_s"]),
        }
        lines.append(line)
    return f"Many sources:\n\n{narrow(pd.DataFrame(lines))}\n\n{brief(many, archive)}"


def documents(rows: pd.DataFrame, peaks: pd.DataFrame, many: pd.DataFrame, archive: str) -> dict[str, dict[str, str]]:
    """The pages of docs/performance/: by page, the content of each marker."""
    found = {}
    for page, (marker, keys) in PAGES.items():
        of_page = rows[rows["dataset"] == LARGE] if page == "larger-than-card" else rows
        parts = [cells(of_page, keys, peaks, archive), many_sources(many, archive) if page == "hierarchy" else ""]
        found[f"docs/performance/{page}.md"] = {marker: "\n\n".join(filter(None, parts))}
    return found
