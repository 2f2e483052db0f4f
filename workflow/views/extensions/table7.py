"""Write Table 7, a row for each variant on a small road network: results/table7.csv, .md and .html."""

from collections.abc import Mapping

import pandas as pd

from kernels.registry import VARIANTS
from workflow.judge import batches
from workflow.store import measurements, tables
from workflow.store.measurements import SOURCES
from workflow.views import long_table, render
from workflow.views.context import Context
from workflow.views.render import CROSS, RATIOS, digits, medians_of, or_dash, time_text

NAME = "table7"
BASELINES = {"sssp": "bellman_ford/naive", "apsp": "floyd_warshall/naive"}
FACTS = [
    *("column", "problem", "dataset", "status", "median", "min", "max", "kernels", "factor", "batches", "repeats"),
    *("device", "vertices", "arcs"),
]
NOTES = [
    f"Whole call: {medians_of(render.REGION)} Kernels: kernels_s, the launches that find distances.",
    f"{CROSS}: speed-up over {long_table.label(BASELINES['sssp'])} (one source) or "
    f"{long_table.label(BASELINES['apsp'])} (all pairs), {RATIOS}",
]


def compare(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row with FACTS for each cell, in the order of tables.yaml. Take rows from Table.select."""
    of_batches, order = batches.medians(rows), list(tables.heads(NAME))
    cells = measurements.summarise(rows).reset_index()
    cells = cells.sort_values("column", key=lambda keys: keys.map(order.index), kind="stable", ignore_index=True)
    cells["problem"] = [VARIANTS[key].problem for key in cells["column"]]
    estimates = [
        batches.speed_up(of_batches, key, BASELINES[problem], dataset)
        for key, problem, dataset in zip(cells["column"], cells["problem"], cells["dataset"], strict=True)
    ]
    return cells.assign(factor=[estimate.value if estimate else float("nan") for estimate in estimates])[FACTS]


def to_text(facts: pd.DataFrame, substitutes: Mapping[str, str]) -> pd.DataFrame:
    ok = facts["status"] == "ok"
    texts = [time_text(cell["median"]) if cell["status"] == "ok" else cell["status"] for _, cell in facts.iterrows()]
    return pd.DataFrame(
        {
            "Variant": long_table.names(facts),
            "Problem": facts["problem"].map(SOURCES),
            "Dataset": [measurements.marked(name, substitutes) for name in facts["dataset"]],
            "Whole call": texts,
            "Kernels": [or_dash(seconds, time_text) for seconds in facts["kernels"].where(ok)],
            CROSS: [or_dash(factor, digits) for factor in facts["factor"]],
            "Runs": [render.spread(cell, time_text) if cell["repeats"] else "-" for _, cell in facts.iterrows()],
        },
        dtype=str,
    )


def render_table7(rows: pd.DataFrame, context: Context) -> dict[str, str]:
    """Render the table; a variant that was not measured has no row."""
    table = tables.define(NAME, context.datasets)
    rows = table.select(rows)
    facts, substitutes = compare(rows), measurements.substitutes(rows)
    labels = {key: long_table.label(key) for key in tables.heads(NAME)}
    own = NOTES if len(facts) else ["No measurement."]
    notes = [*own, *measurements.origin(rows, context.source, labels), *measurements.run(rows)]
    text = to_text(facts, substitutes)
    facts = facts.assign(source=context.source, substitute=[substitutes.get(name, "") for name in facts["dataset"]])
    return long_table.files(NAME, table.heading, text, facts, notes, ["Whole call", "Kernels", CROSS])
