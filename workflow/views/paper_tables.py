"""Write a table, our measurements beside the paper's numbers: CSV, Markdown and HTML.

What a table shows stands in workflow/views/tables.py, the paper's numbers in workflow/paper/times.csv. Cells without a
measurement say so.
"""

from __future__ import annotations

import pandas as pd

from workflow.store import measurements
from workflow.views.context import Context
from workflow.views.render import (
    CROSS,
    RATIOS,
    REGION,
    capital,
    csv_text,
    digits,
    html_page,
    medians_of,
    speed_up,
    spread,
    status_text,
    to_markdown,
)
from workflow.views.tables import EDGES, NODES, Table, compare, counts, define, of_label

# What the CSV says of each cell: the column's head followed by the right-hand name.
FACTS = {
    "status": "status",
    "median": "seconds",
    "min": "min",
    "max": "max",
    "repeats": "repeats",
    "batches": "batches",
    "kernels": "kernels_s",
    "predecessors": "predecessors_s",
    "speed-up": "speed-up",
    "device": "device",
    "paper seconds": "paper seconds",
    "paper text": "paper text",
    "paper speed-up": "paper speed-up",
}


def to_csv(table: Table, facts: pd.DataFrame, rows: pd.DataFrame, source: str) -> str:
    """A row a dataset, a column a fact; times in seconds. facts: as compare gives them."""
    graphs, substitutes = counts(table, rows), measurements.substitutes(rows)
    flat = {
        "Dataset": [f"{dataset}.txt" for dataset in table.datasets],
        NODES: graphs["vertices"],
        EDGES: graphs["arcs"],
    }
    for column in table.columns:
        flat |= {f"{column.label} {name}": of_label(facts[fact], column.label) for fact, name in FACTS.items()}
    flat["source"] = source
    flat["substitute"] = [substitutes.get(dataset, "") for dataset in table.datasets]
    return csv_text(pd.DataFrame(flat))


def to_text(table: Table, facts: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """The table as text for readers, a column a label, cells as cell_text gives them. facts: as compare gives them."""
    graphs, substitutes = counts(table, rows), measurements.substitutes(rows)
    shown = facts.assign(text=[cell_text(cell) for _, cell in facts.iterrows()])["text"]
    return pd.DataFrame(
        {
            "Dataset": [f"{name}.txt{' †' if name in substitutes else ''}" for name in table.datasets],
            NODES: graphs["vertices"].map("{:,}".format),
            EDGES: graphs["arcs"].map("{:,}".format),
            **{column.label: of_label(shown, column.label) for column in table.columns},
        }
    )


def cell_text(cell: pd.Series) -> str:
    """One row of compare() in lines: median and speed-up, range with batches and runs, the paper's.

    "5.70 s, x1.51", "[5.69, 5.72], 3 batches, n=9", "paper: 3.91371s, x2.19".
    """
    if cell["status"] == "ok":
        lines = [f"{digits(cell['median'])} s" + speed_up(cell["speed-up"]), spread(cell)]
    else:
        lines = [status_text(cell)]
    if isinstance(cell["paper text"], str):
        lines.append(f"paper: {cell['paper text']}" + speed_up(cell["paper speed-up"]))
    return "\n".join(lines)


def own_notes(table: Table, facts: pd.DataFrame) -> list[str]:
    """The sentences under the table that are of this table alone; facts: as compare gives them."""
    group = " and column group" if len(table.groups) > 1 else ""
    sentences = [
        f"Measured: {medians_of(REGION)} Paper: as printed there.",
        f"{CROSS}: speed-up over {table.baseline} in the same row{group}, {RATIOS}",
        *alone(facts),
    ]
    for (label, dataset), cell in facts[facts["status"].isin(["timeout", "no_memory"])].iterrows():
        reasons = filter(None, [status_text(cell), cell["note"]])
        sentences.append(f"{dataset}.txt, {label}: {'; '.join(reasons)}.")
    return sentences


def alone(facts: pd.DataFrame) -> list[str]:
    """A sentence on the cells that were measured in no batch; facts: as compare gives them."""
    timed = facts[facts["status"] == "ok"]
    names = timed[timed["batches"] == 0].reset_index().groupby("label", sort=False)["dataset"].agg(", ".join)
    if not len(names):
        return []
    if not timed["batches"].any():
        return ["All cells were measured alone, so there is no ratio of ours."]
    said = "; ".join(f"{label} on {datasets}" for label, datasets in names.items())
    return [f"Measured alone, so no ratio: {said}."]


def notes(table: Table, facts: pd.DataFrame, rows: pd.DataFrame, source: str) -> list[str]:
    """All sentences under the table: its own, and where its numbers come from; facts: as compare gives them."""
    labels = {variant: column.label for column in table.columns for variant in column.variants.values()}
    return [*own_notes(table, facts), *measurements.origin(rows, source, labels), *measurements.run(rows)]


def to_html(title: str, text: pd.DataFrame, notes: list[str], table: Table) -> str:
    if len(table.groups) > 1:
        heads = [(capital(column.group), column.head) for column in table.columns]
        heads = pd.MultiIndex.from_tuples([("", head) for head in text.columns[:3]] + heads)
        text = text.set_axis(heads, axis="columns")
    return html_page(title, text, notes, numbers=[2, 3])


def heading(table: Table) -> str:
    return f"Table {table.name.removeprefix('table')}: {table.title}"


def render(table: Table, rows: pd.DataFrame, source: str) -> dict[str, str]:
    """The table's files by suffix. rows: as measurements.load gives them."""
    rows = measurements.select(rows, table.variants, table.datasets)
    facts = compare(table, rows)
    text, said = to_text(table, facts, rows), notes(table, facts, rows, source)
    return {
        ".csv": to_csv(table, facts, rows, source),
        ".md": to_markdown(heading(table), text, said, (NODES, EDGES)),
        ".html": to_html(heading(table), text, said, table),
    }


def view(rows: pd.DataFrame, context: Context) -> dict[str, str]:
    """Render the table that the context names; rows: as measurements.load gives them."""
    made = render(define(context.name, context.datasets), rows, context.source)
    return {context.name + suffix: text for suffix, text in made.items()}
