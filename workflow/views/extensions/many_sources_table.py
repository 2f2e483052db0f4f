"""Show times of searches from many sources, and how many sources pay for a hierarchy: results/many_sources_table.*.

The measurements are those of results/many_sources/ (workflow/measure/many_sources.py), beside hierarchy/sssp and
near_far, which search from one source.
"""

from collections.abc import Mapping
from math import floor

import numpy as np
import pandas as pd

from kernels.registry import ALL_PAIRS_REVISION
from workflow.store import benchmarks, measurements
from workflow.store.benchmarks import KINDS
from workflow.views import long_table
from workflow.views.context import Context
from workflow.views.render import PREPARING, or_dash

TITLE = "Searches from many sources in a contraction hierarchy"
ONE_SOURCE, NEAR_FAR = "hierarchy/sssp", "delta_stepping/near_far"
FACTS = (
    *("dataset", "vertices", "arcs", "height", "hierarchy_arcs", "triangles", "order_s", "tree_s", "layout_s"),
    *("customize_s", "one_source_s", "rows_sources", "rows_us", "rows_us_min", "rows_us_max", "rows_repeats"),
    *("reduced_sources", "reduced_us", "reduced_us_min", "reduced_us_max", "reduced_repeats", "all_pairs_s"),
    *("near_far_s", "break_even", "rows_checked", "device", "substitute"),
)
NOTES = [
    f"{PREPARING} All other times are of searches on the card, without copies. Times are medians.",
    "One source: distances and predecessors, by hierarchy/sssp. Rows: the time per source of a search from as many "
    "sources as fit on the card, consecutive in preorder; all distances are written to the card's memory. Reduced: the "
    "same, but a source has only its eccentricity, farthest vertex, number of vertices reached and sum of distances.",
    "All pairs: a reduced search from every vertex. ≈: not measured, but computed from the time per source.",
    "Near-Far: distances from one source, without preparation. Pays from: the least number of sources for which order, "
    "tree, customizing and rows together take less time than as many searches by Near-Far. It uses the rate of a full "
    "card and leaves out layouts on the host and copies to the host (with them: docs/kernels.md). One source and "
    "Near-Far are from other jobs.",
]

OUTDATED = (
    "measured before the last change of these kernels and of the order of vertices. Preparing takes less time now, so "
    "a hierarchy pays from fewer sources (docs/kernels.md has the present numbers)."
)


def break_even(prepare_s: float, search_s: float, other_s: float) -> float:
    """Return the least number of sources k with prepare_s + k search_s < k other_s; inf: never, NaN: unknown."""
    if np.isnan(prepare_s + search_s + other_s):
        return np.nan
    return floor(prepare_s / (other_s - search_s)) + 1 if search_s < other_s else np.inf


def rates(many: pd.DataFrame) -> pd.DataFrame:
    """Return microseconds a source by (dataset, kind): median, min, max, repeats; batches is 0, as for a single run."""
    us = many["search_s"] / many["sources"] * 1e6
    microseconds = us.groupby([many["dataset"], many["kind"]], sort=False).agg(["median", "min", "max", "count"])
    return microseconds.rename(columns={"count": "repeats"}).assign(batches=0)


def facts(many: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row with FACTS for each dataset; raise InputError if it was measured on different graphs."""
    of_dataset = dict.fromkeys([name for name in FACTS[1:] if name in benchmarks.MANY_SOURCES.columns], "first")
    of_dataset |= {"customize_s": "median", "rows_checked": "min"}
    by_dataset = many.groupby("dataset", sort=False).agg(of_dataset)
    by_kind = rates(many).join(many.groupby(["dataset", "kind"])["sources"].first())
    for kind in KINDS:
        of_kind = by_kind[by_kind.index.get_level_values("kind") == kind].droplevel("kind")
        of_kind = of_kind.rename(columns={"median": "us", "min": "us_min", "max": "us_max"}).drop(columns="batches")
        by_dataset = by_dataset.join(of_kind.add_prefix(f"{kind}_"))
    by_dataset = by_dataset.join(one_source(many, rows))
    by_dataset["all_pairs_s"] = by_dataset["reduced_us"] * by_dataset["vertices"] / 1e6
    prepare_s = by_dataset["order_s"] + by_dataset["tree_s"] + by_dataset["customize_s"]
    costs = zip(prepare_s, by_dataset["rows_us"] / 1e6, by_dataset["near_far_s"], strict=True)
    return by_dataset.assign(break_even=[break_even(*cost) for cost in costs]).reset_index()[list(FACTS)]


def one_source(many: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return medians (s) on the same card by dataset: one_source_s, with predecessors, and near_far_s, without."""
    rows = rows[(rows["status"] == "ok") & rows["device"].isin(many["device"])]
    chosen = measurements.select(rows, [ONE_SOURCE, NEAR_FAR], list(many["dataset"].unique()))
    of_many = many.assign(algorithm="hierarchy", variant="many_sources")
    measurements.require_one_graph(pd.concat([of_many, chosen]) if len(chosen) else of_many)
    predecessors_s = chosen["predecessors_s"].where(measurements.variants(chosen) == ONE_SOURCE, 0)
    medians = measurements.summarise(chosen.assign(seconds=chosen["kernels_s"] + predecessors_s))["median"]
    names = {ONE_SOURCE: "one_source_s", NEAR_FAR: "near_far_s"}
    return medians.unstack("column").reindex(columns=list(names)).rename(columns=names).astype(float)


def to_text(lines: pd.DataFrame, substitutes: Mapping[str, str]) -> pd.DataFrame:
    def shown(name, scale=1.0):
        return [or_dash(scale * number) for number in lines[name]]

    def pays_from(number):
        return f"{number:,.0f} sources" if np.isfinite(number) else "never"

    searched_all = lines["reduced_sources"] == lines["vertices"]
    all_pairs = zip(shown("all_pairs_s"), searched_all, strict=True)
    return pd.DataFrame(
        {
            "Dataset": [measurements.marked(name, substitutes) for name in lines["dataset"]],
            "Order (s)": shown("order_s"),
            "Tree (s)": shown("tree_s"),
            "Customize (ms)": shown("customize_s", 1e3),
            "One source (ms)": shown("one_source_s", 1e3),
            "Rows (µs a source)": shown("rows_us"),
            "Reduced (µs a source)": shown("reduced_us"),
            "All pairs (s)": [text if whole or text == "-" else f"≈ {text}" for text, whole in all_pairs],
            "Near-Far (ms)": shown("near_far_s", 1e3),
            "Pays from": [or_dash(number, pays_from) for number in lines["break_even"]],
        },
        dtype=str,
    )


def counts(lines: pd.DataFrame) -> list[str]:
    """Return sentences on the numbers of sources, repeats and checked rows."""
    if lines.empty:
        return []
    said = []
    for kind in KINDS:
        ran = lines[lines[f"{kind}_repeats"].notna()]
        each = zip(ran["dataset"], ran[f"{kind}_sources"], ran[f"{kind}_repeats"], strict=True)
        said.append(", ".join(f"{name} {sources:,.0f} (n={repeats:.0f})" for name, sources, repeats in each) or "none")
    checked = ", ".join(f"{count:,.0f}" for count in sorted(lines["rows_checked"].unique()))
    return [
        f"Number of sources (and repeats) of rows: {said[0]}; of reduced: {said[1]}.",
        f"After each repeat, {checked} sources were checked; for rows, every distance was compared with SciPy's.",
    ]


def render_many_sources_table(rows: pd.DataFrame, context: Context) -> dict[str, str]:
    """Render the table of searches from many sources; `rows` are those from one source."""
    many = benchmarks.MANY_SOURCES.read(context.paths("many_sources"))
    lines, substitutes = facts(many, rows), measurements.substitutes(many)
    text = to_text(lines, substitutes)
    cards = [f"On {', '.join(many['device'].unique())}."] if len(many) else ["No measurement."]
    marks = [f"† substitute for the paper's {name}.txt: {what}." for name, what in substitutes.items()]
    earlier = many["dataset"][many["revision"].astype(int) < ALL_PAIRS_REVISION].unique()
    outdated = [f"{', '.join(earlier)}: {OUTDATED}"] if len(earlier) else []
    notes = [*NOTES, *outdated, *counts(lines), context.source, *cards, *marks, *measurements.run(many)]
    lines = lines.assign(source=context.source)
    return long_table.files("many_sources_table", TITLE, text, lines, notes, list(text.columns[1:]))
