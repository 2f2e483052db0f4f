"""Say what searches from many sources take, and from how many on a hierarchy pays: results/many_sources_table.csv, .md.

Of results/many_sources.csv (workflow/measure/many_sources.py), beside hierarchy/sssp and near_far, which search from
one source.
"""

from math import floor
from pathlib import Path

import numpy as np
import pandas as pd

from kernels.gpu import SIMULATOR
from workflow.store import measurements
from workflow.store.checked_csv import (
    Rule,
    Schema,
    above_0,
    matching,
    moment,
    numbered,
    once,
    one_of,
    same,
    version,
    whole,
)
from workflow.views import long_table
from workflow.views.context import Context
from workflow.views.render import digits

TITLE = "Searches from many sources in a contraction hierarchy"
KINDS = ROWS, REDUCED = "rows", "reduced"
ONE_SOURCE, NEAR_FAR = "hierarchy/sssp", "delta_stepping/near_far"
COLUMNS = (
    *("kind", "dataset", "repeat", "sources", "search_s", "customize_s", "order_s", "tree_s", "layout_s"),
    *("height", "hierarchy_arcs", "triangles", "vertices", "arcs", "rows_checked", "device", "driver", "card_uuid"),
    *("host_id", "host", "numba_cuda", "revision", "commit", "tree_clean", "dataset_sha256", "substitute", "started"),
)
GRAPH = ("vertices", "arcs", "height", "hierarchy_arcs", "triangles")
PREPARED = ("order_s", "tree_s", "layout_s")
SCHEMA = Schema(
    COLUMNS,
    ("repeat", "sources", "search_s", "customize_s", *PREPARED, *GRAPH, "rows_checked"),
    (
        one_of("kind", *KINDS),
        matching("dataset"),
        whole("repeat", 1),
        whole("vertices", 1),
        *(whole(column, 0) for column in GRAPH[1:]),
        whole("sources", 1),
        Rule(("sources", "vertices"), "more sources than vertices", lambda rows: rows["sources"] <= rows["vertices"]),
        above_0("search_s"),
        above_0("customize_s"),
        *(Rule((name,), "must be 0 or more", lambda rows, name=name: rows[name] >= 0) for name in PREPARED),
        whole("rows_checked", 1),
        Rule(
            ("rows_checked", "sources"),
            "more rows checked than sources",
            lambda rows: rows["rows_checked"] <= rows["sources"],
        ),
        matching("device"),
        Rule(("device",), "a simulated run is no measurement", lambda rows: rows["device"] != SIMULATOR),
        *(version(column) for column in ("driver", "numba_cuda")),
        matching("revision", r"\d+", "must be a whole number"),
        one_of("tree_clean", "True", "False", ""),
        matching("dataset_sha256", "[0-9a-f]{64}", "must be 64 hexadecimal digits"),
        moment("started"),
        once("kind", "dataset", "repeat"),
        numbered("repeat", "kind", "dataset"),
        same("sources", "kind", "dataset", must="the repeats differ in sources"),
        *(
            same(column, "dataset", must=f"the dataset's rows differ in {column}")
            for column in (*GRAPH, *PREPARED, "card_uuid", "revision", "dataset_sha256")
        ),
        Rule(("device",), "the rows differ in device", lambda rows: rows["device"].isin(rows["device"].iloc[:1])),
    ),
    "measure again, or leave the file out",
    "{kind} of {dataset}",
)
FACTS = (
    *("dataset", "vertices", "arcs", "height", "hierarchy_arcs", "triangles", "order_s", "tree_s", "layout_s"),
    *("customize_s", "one_source_s", "rows_sources", "rows_us", "rows_us_min", "rows_us_max", "rows_repeats"),
    *("reduced_sources", "reduced_us", "reduced_us_min", "reduced_us_max", "reduced_repeats", "all_pairs_s"),
    *("near_far_s", "break_even", "rows_checked", "device", "substitute"),
)
NOTES = [
    "Order, tree: preparing, once for a set of arcs, on one core: nested dissection, then the elimination tree. "
    "Customize: once for a set of weights, on the card. All else is searching, on the card, without copies. Medians.",
    "One source: distances and predecessors, by hierarchy/sssp. Rows: microseconds a source of a search from as many "
    "sources as the card has memory for, which follow each other in preorder; all distances are written to the card. "
    "Reduced: likewise, of each source only its eccentricity, farthest vertex, number of vertices reached and sum of "
    "distances.",
    "All pairs: a reduced search from every vertex; ≈ where it was not measured, by the microseconds a source.",
    "Near-Far: distances from one source, without preparation. Pays from: the least number of sources for which order, "
    "tree, customizing and rows, at the rate of a full card, together take less than as many searches by Near-Far; "
    "neither has what is laid out on the host, nor copies to it (with them: docs/kernels.md). "
    "One source and Near-Far are of other jobs.",
]


def load(paths: list[Path]) -> pd.DataFrame:
    """The rows of many_sources.csv, of none or one path.

    Raises InputError where it is another file, or a value is not as SCHEMA says.
    """
    return SCHEMA.read_one(paths, "--many-sources")


def break_even(prepare_s: float, search_s: float, other_s: float) -> float:
    """The least number of sources k with prepare_s + k search_s < k other_s: inf for never, NaN for not known."""
    if np.isnan(prepare_s + search_s + other_s):
        return np.nan
    return floor(prepare_s / (other_s - search_s)) + 1 if search_s < other_s else np.inf


def rates(many: pd.DataFrame) -> pd.DataFrame:
    """Microseconds a source, indexed by (dataset, kind): median, min, max; repeats; batches: 0, as it is in none.

    many: as load gives them.
    """
    us = many["search_s"] / many["sources"] * 1e6
    found = us.groupby([many["dataset"], many["kind"]], sort=False).agg(["median", "min", "max", "count"])
    return found.rename(columns={"count": "repeats"}).assign(batches=0)


def facts(many: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """A row a dataset with FACTS; what was not measured is NaN.

    many: as load gives them; rows: as measurements.load does. Raises InputError where a dataset was not one graph.
    """
    single, found = one_source(many, rows), rates(many)
    lines = []
    for dataset, group in many.groupby("dataset", sort=False):
        line = {name: group[name].iloc[0] for name in FACTS if name in COLUMNS}
        line |= {"customize_s": group["customize_s"].median(), "rows_checked": group["rows_checked"].min()}
        for kind, ran in group.groupby("kind"):
            us = found.loc[(dataset, kind)]
            line |= {f"{kind}_sources": ran["sources"].iloc[0], f"{kind}_repeats": len(ran), f"{kind}_us": us["median"]}
            line |= {f"{kind}_us_{end}": us[end] for end in ("min", "max")}
        line |= {name: seconds.get(dataset, np.nan) for name, seconds in single.items()}
        line["all_pairs_s"] = line.get("reduced_us", np.nan) * line["vertices"] / 1e6
        once_s = line["order_s"] + line["tree_s"] + line["customize_s"]
        line["break_even"] = break_even(once_s, line.get("rows_us", np.nan) / 1e6, line["near_far_s"])
        lines.append(line)
    return pd.DataFrame(lines, columns=list(FACTS))


def one_source(many: pd.DataFrame, rows: pd.DataFrame) -> dict[str, pd.Series]:
    """Medians (s) by dataset: one_source_s, with predecessors, and near_far_s, without; those of the same device."""
    rows = rows[(rows["status"] == "ok") & rows["device"].isin(many["device"])]
    chosen = measurements.select(rows, [ONE_SOURCE, NEAR_FAR], list(many["dataset"].unique()))
    of_many = many.assign(algorithm="hierarchy", variant="many_sources")
    measurements.require_one_graph(pd.concat([of_many, chosen]) if len(chosen) else of_many)
    found = {}
    for name, variant, seconds in (
        ("one_source_s", ONE_SOURCE, chosen["kernels_s"] + chosen["predecessors_s"]),
        ("near_far_s", NEAR_FAR, chosen["kernels_s"]),
    ):
        mine = chosen.assign(seconds=seconds)[measurements.variants(chosen) == variant]
        found[name] = (
            measurements.summarise(mine)["median"].droplevel("column") if len(mine) else pd.Series(dtype=float)
        )
    return found


def to_text(found: pd.DataFrame, substitutes: dict) -> pd.DataFrame:
    def shown(name, scale=1.0):
        return ["-" if np.isnan(number) else digits(scale * number) for number in found[name]]

    every = found["reduced_sources"] == found["vertices"]
    pairs = zip(shown("all_pairs_s"), every, strict=True)
    pays = {np.inf: "never"}
    return pd.DataFrame(
        {
            "Dataset": [measurements.marked(name, substitutes) for name in found["dataset"]],
            "Order (s)": shown("order_s"),
            "Tree (s)": shown("tree_s"),
            "Customize (ms)": shown("customize_s", 1e3),
            "One source (ms)": shown("one_source_s", 1e3),
            "Rows (µs a source)": shown("rows_us"),
            "Reduced (µs a source)": shown("reduced_us"),
            "All pairs (s)": [text if whole or text == "-" else f"≈ {text}" for text, whole in pairs],
            "Near-Far (ms)": shown("near_far_s", 1e3),
            "Pays from": ["-" if np.isnan(k) else pays.get(k) or f"{k:,.0f} sources" for k in found["break_even"]],
        },
        dtype=str,
    )


def view(rows: pd.DataFrame, context: Context) -> dict[str, str]:
    """Render the table; rows: as measurements.load gives them."""
    many = load(context.paths("many_sources"))
    found = facts(many, rows)
    text = to_text(found, substitutes := measurements.substitutes(many))
    said = [f"On {', '.join(many['device'].unique())}."] if len(many) else ["No measurement."]
    said += [f"† substitute for the paper's {name}.txt: {what}." for name, what in substitutes.items()]
    notes = [*NOTES, *counts(found), context.source, *said, *measurements.run(many)]
    found = found.assign(source=context.source)
    return long_table.files("many_sources_table", TITLE, text, found, notes, list(text.columns[1:]))


def counts(found: pd.DataFrame) -> list[str]:
    """Sentences on how many sources and repeats there were, and how many rows were checked."""
    kinds = []
    for kind in KINDS:
        ran = found[found[f"{kind}_repeats"].notna()]
        each = zip(ran["dataset"], ran[f"{kind}_sources"], ran[f"{kind}_repeats"], strict=True)
        kinds.append(", ".join(f"{name} {sources:,.0f} (n={repeats:.0f})" for name, sources, repeats in each))
    checked = ", ".join(f"{count:,.0f}" for count in sorted(found["rows_checked"].unique()))
    if not checked:
        return []
    return [
        f"Sources (and repeats) of rows: {kinds[0] or 'none'}; reduced: {kinds[1] or 'none'}.",
        f"After each repeat {checked} of the sources were checked: of rows every distance against SciPy's.",
    ]
