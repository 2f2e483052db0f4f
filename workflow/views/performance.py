"""For docs/performance/: times and rates of our own kernels, from an archive."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from kernels.registry import VARIANTS
from workflow.measure import revisions
from workflow.store import measurements
from workflow.store.measurements import marked, substitutes
from workflow.views import many_sources_table, peak_table, table6
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


def limits(peaks: pd.DataFrame) -> dict[tuple[int, str], float]:
    """Return the card's peak (relaxations/s) by bits and device."""
    chains = peaks[peaks["benchmark"] == "chains"]
    return (chains["relaxations"] / chains["seconds"]).groupby([chains["bits"], chains["device"]]).median().to_dict()


def rate_text(key: str, cell: pd.Series) -> str:
    """Write a cell's rate, with predecessors: relaxations/s of Floyd-Warshall, else arcs/s over all of its sources."""
    rate, what = table6.rate(key, cell["median"], cell["vertices"], cell["arcs"])
    return f"{digits(rate / 1e12)} T relaxations/s" if what == "relaxations" else f"{digits(rate / 1e9)} G arcs/s"


def changed(rows: pd.DataFrame, keys: Iterable[str]) -> list[str]:
    """Return the variants that were measured, but not at today's revision."""
    known = rows[rows["revision"] != revisions.UNKNOWN]
    measured = known["revision"].groupby(measurements.variants(known)).agg(set)
    return [key for key in keys if key in measured and revisions.of(VARIANTS[key]) not in measured[key]]


def cells(rows: pd.DataFrame, keys: list[str], peaks: pd.DataFrame, archive: str) -> str:
    """Return the measured cells of these variants, and where they are from."""
    rows = measurements.pooled(rows[measurements.variants(rows).isin(keys)])
    found = measurements.summarise(rows.assign(seconds=rows["kernels_s"] + rows["predecessors_s"]))
    others, of_peak, lines = substitutes(rows), limits(peaks), []
    for (key, dataset), cell in found.iterrows():
        line = {"Variant": label(key), "Dataset": marked(dataset, others)}
        if cell["status"] != "ok":
            lines.append(line | {"Both": cell["status"].replace("_", " ")})
            continue
        line |= {
            "Distances": time_text(cell["kernels"]),
            "Predecessors": time_text(cell["predecessors"]) if cell["predecessors"] > 0 else "with them",
            "Both": time_text(cell["median"]),
            "Range": spread(cell),
            "Rate": rate_text(key, cell),
        }
        if peak := of_peak.get((peak_table.BITS.get(key), cell["device"])):
            line["Distances, of the peak"] = f"{100 * cell['vertices'] ** 3 / cell['kernels'] / peak:.0f} %"
        lines.append(line)
    return from_template(
        "performance",
        table=pd.DataFrame(lines).fillna("-"),
        archive=archive,
        devices=list(rows["device"].unique()),
        days=[started[:10] for started in rows["started"] if started],
        substitutes=others,
        older=[label(key) for key in changed(rows, keys)],
    )


def documents(rows: pd.DataFrame, peaks: pd.DataFrame, archive: str) -> dict[str, dict[str, str]]:
    """Return the content of each marker of docs/performance/, by page."""
    large = rows[rows["dataset"] == LARGE]
    return {
        f"docs/performance/{page}.md": {
            marker: cells(large if page == "larger-than-card" else rows, keys, peaks, archive)
        }
        for page, (marker, keys) in PAGES.items()
    }
