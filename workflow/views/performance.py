"""For docs/performance/: times and rates of our own kernels, from an archive."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from kernels.registry import VARIANTS
from workflow.measure import revisions
from workflow.store import measurements
from workflow.store.measurements import marked, substitutes
from workflow.views import many_sources_table, peak_table, render
from workflow.views.documents import from_template, spread, time_text
from workflow.views.long_table import label
from workflow.views.render import digits

RATED = list(peak_table.BITS)  # compared with the card's peak
ELL = "bellman_ford/stride_ell"
_OURS = [variant for variant in VARIANTS.values() if variant.ours and variant.key != ELL]
HIERARCHY = [variant.key for variant in _OURS if variant.algorithm == "hierarchy"]
LARGE = "random65536"  # larger than most cards: the dataset of staged
# Each page with its marker and its variants.
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
    """Load peak.csv; no rows if it does not exist."""
    return peak_table.load([path] if path.exists() else [])


def load_many(path: Path) -> pd.DataFrame:
    """Load many_sources.csv; no rows if it does not exist."""
    return many_sources_table.load([path] if path.exists() else [])


def rates(rows: pd.DataFrame, peaks: pd.DataFrame) -> pd.DataFrame:
    """Return rate and peak (relaxations/s) by variant and dataset; rate: vertices cubed over the median of kernels_s.

    The peak is NaN if the card's was not measured.
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
    """Write a cell's rate: relaxations/s of Floyd-Warshall, else arcs/s over all of its sources."""
    variant = VARIANTS[key]
    if key in RATED:
        return f"{digits(cell['vertices'] ** 3 / cell['median'] / 1e12)} T relaxations/s"
    arcs = cell["arcs"] * (cell["vertices"] if variant.problem == "apsp" else 1)
    return f"{digits(arcs / cell['median'] / 1e9)} G arcs/s"


def changed(rows: pd.DataFrame, keys: Iterable[str]) -> list[str]:
    """Return the variants that were measured, but not at today's revision."""
    known = rows[rows["revision"] != revisions.UNKNOWN]
    measured = known["revision"].groupby(measurements.variants(known)).agg(set)
    return [key for key in keys if key in measured and revisions.of(VARIANTS[key]) not in measured[key]]


def cells(rows: pd.DataFrame, keys: list[str], peaks: pd.DataFrame, archive: str) -> str:
    """Return the measured cells of these variants."""
    rows = measurements.pooled(rows[measurements.variants(rows).isin(keys)])
    found = measurements.summarise(rows.assign(seconds=rows["kernels_s"] + rows["predecessors_s"]))
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
    return _page(lines, rows, archive, older=[label(key) for key in changed(rows, keys)])


def _page(lines: list[dict], rows: pd.DataFrame, archive: str, head: str = "", older: Sequence[str] = ()) -> str:
    """Return a table and where its cells are from."""
    return from_template(
        "performance",
        head=head,
        table=pd.DataFrame(lines).fillna("-"),
        archive=archive,
        devices=list(rows["device"].unique()),
        days=[started[:10] for started in rows["started"] if started],
        substitutes=substitutes(rows),
        older=older,
    )


def many_sources(many: pd.DataFrame, archive: str) -> str:
    """Return searches from many sources by dataset; empty if there are none."""
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
        line["Customize"] = time_text(group["customize_s"].median())
        line["Prepare"] = time_text(first["order_s"] + first["tree_s"])
        lines.append(line)
    return _page(lines, many, archive, head="Many sources:")


def documents(rows: pd.DataFrame, peaks: pd.DataFrame, many: pd.DataFrame, archive: str) -> dict[str, dict[str, str]]:
    """Return the content of each marker of docs/performance/, by page."""
    found = {}
    for page, (marker, keys) in PAGES.items():
        of_page = rows[rows["dataset"] == LARGE] if page == "larger-than-card" else rows
        parts = [cells(of_page, keys, peaks, archive), many_sources(many, archive) if page == "hierarchy" else ""]
        found[f"docs/performance/{page}.md"] = {marker: "\n\n".join(filter(None, parts))}
    return found
