"""Write a table of our measurements beside the paper's numbers (workflow/paper/times.csv): CSV, Markdown and HTML."""

from __future__ import annotations

import pandas as pd

from kernels.registry import VARIANTS
from workflow.judge import batches
from workflow.store import measurements
from workflow.store.tables import Table, define, label_of, part
from workflow.views import render
from workflow.views.context import Context
from workflow.views.render import CROSS, digits, speed_up, status_text

NODES, EDGES = "Number of Nodes", "Number of Edges"
# What the CSV has of each cell, and its name there if that differs.
FACTS = [
    *("status", "median", "min", "max", "repeats", "batches", "kernels", "predecessors", "speed-up", "device"),
    *("paper seconds", "paper text", "paper speed-up"),
]
NAMES = {"median": "seconds", "kernels": "kernels_s", "predecessors": "predecessors_s"}


def compare(table: Table, rows: pd.DataFrame) -> pd.DataFrame:
    """Return our cells beside the paper's, indexed by (label of a column, dataset). Take rows from Table.select.

    The columns of measurements.summarise, "paper seconds", "paper text", "speed-up" (the geometric mean over batches of
    the ratios within a job, NaN if no job measured both cells) and "paper speed-up". status is "no measurement" if a
    cell is to be measured, "-" if the paper has no such number or no such variant solves the problem.
    """
    cells = [
        (column.label, dataset, column.variants.get(problem), label_of(column.group, table.baseline))
        for column in table.columns
        for problem, names in table.by_problem.items()
        for dataset in names
    ]
    facts = pd.DataFrame.from_records(cells, ["label", "dataset"], columns=["label", "dataset", "column", "baseline"])
    for times in (measurements.summarise(rows), measurements.paper_times().add_prefix("paper ")):
        facts = facts.join(times, on=["column", "dataset"])
    facts["status"] = facts["status"].fillna(_missing(facts))
    facts = facts.assign(**{name: facts[name].astype(float).fillna(0).astype(int) for name in ("repeats", "batches")})
    facts["paper speed-up"] = _of_baseline(facts)["paper seconds"].to_numpy() / facts["paper seconds"]
    facts["speed-up"] = _speed_ups(facts, rows)
    return facts


def _missing(facts: pd.DataFrame) -> pd.Series:
    """Return the status of each cell as if none were measured."""
    origin = facts["column"].map({key: variant.origin for key, variant in VARIANTS.items()})
    other_dataset = ~facts.index.isin(measurements.paper_datasets().index, level="dataset")
    wanted = facts["column"].notna() & (facts["paper text"].notna() | other_dataset | (origin != "paper"))
    return wanted.map({True: "no measurement", False: "-"})


def _of_baseline(facts: pd.DataFrame) -> pd.DataFrame:
    """Return for each cell that of its baseline on the same dataset."""
    return facts.reindex(pd.MultiIndex.from_arrays([facts["baseline"], facts.index.get_level_values("dataset")]))


def _speed_ups(facts: pd.DataFrame, rows: pd.DataFrame) -> list[float]:
    of_batches, base = batches.medians(rows), _of_baseline(facts)
    both_ok = (facts["status"] == "ok") & (base["status"] == "ok").to_numpy()
    pairs = zip(facts["column"], base["column"], facts.index.get_level_values("dataset"), both_ok, strict=True)
    estimates = [batches.speed_up(of_batches, own, other, dataset) if ok else None for own, other, dataset, ok in pairs]
    return [estimate.value if estimate else float("nan") for estimate in estimates]


def to_csv(table: Table, facts: pd.DataFrame, rows: pd.DataFrame, source: str) -> pd.DataFrame:
    """Return a row for each dataset, a column for each fact; times in seconds."""
    graphs, substitutes = table.sizes(rows), measurements.substitutes(rows)
    flat = {
        "Dataset": list(map(measurements.text_file, table.datasets)),
        NODES: graphs["vertices"],
        EDGES: graphs["arcs"],
    }
    for column in table.columns:
        flat |= {f"{column.label} {NAMES.get(fact, fact)}": part(facts[fact], column.label) for fact in FACTS}
    substitute = [substitutes.get(name, "") for name in table.datasets]
    return pd.DataFrame(flat | {"source": source, "substitute": substitute})


def to_text(table: Table, facts: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the table as text for readers."""
    graphs, substitutes = table.sizes(rows), measurements.substitutes(rows)
    shown = facts.assign(text=[cell_text(cell) for _, cell in facts.iterrows()])["text"]
    return pd.DataFrame(
        {
            "Dataset": [
                measurements.text_file(name) + (" †" if name in substitutes else "") for name in table.datasets
            ],
            NODES: graphs["vertices"].map("{:,}".format),
            EDGES: graphs["arcs"].map("{:,}".format),
            **{column.label: part(shown, column.label) for column in table.columns},
        }
    )


def cell_text(cell: pd.Series) -> str:
    """Return a cell of compare() in lines: median and speed-up, range with batches and runs, the paper's.

    "5.70 s, x1.51", "[5.69, 5.72], 3 batches, n=9", "paper: 3.91371s, x2.19".
    """
    if cell["status"] == "ok":
        lines = [f"{digits(cell['median'])} s" + speed_up(cell["speed-up"]), render.spread(cell)]
    else:
        lines = [status_text(cell)]
    if isinstance(cell["paper text"], str):
        lines.append(f"paper: {cell['paper text']}" + speed_up(cell["paper speed-up"]))
    return "\n".join(lines)


def own_notes(table: Table, facts: pd.DataFrame) -> list[str]:
    group = " and column group" if len(table.groups) > 1 else ""
    failed = facts[facts["status"].isin(["timeout", "no_memory", "unavailable"])]
    return [
        f"Measured: {render.medians_of(render.REGION)} Paper: the time that the paper's table has.",
        f"{CROSS}: speed-up over {table.baseline} in the same row{group}, {render.RATIOS}",
        *alone(facts),
        *(
            f"{measurements.text_file(dataset)}, {label}: {'; '.join(filter(None, [status_text(cell), cell['note']]))}."
            for (label, dataset), cell in failed.iterrows()
        ),
    ]


def alone(facts: pd.DataFrame) -> list[str]:
    """Return a sentence on the cells that were measured in no batch."""
    timed = facts[facts["status"] == "ok"]
    names = timed[timed["batches"] == 0].reset_index().groupby("label", sort=False)["dataset"].agg(", ".join)
    if names.empty:
        return []
    if not timed["batches"].any():
        return [render.ALONE]
    return [f"Measured alone, so no ratio: {'; '.join(f'{label} on {on}' for label, on in names.items())}."]


def notes(table: Table, facts: pd.DataFrame, rows: pd.DataFrame, source: str) -> list[str]:
    """Return all sentences under the table."""
    labels = {variant: column.label for column in table.columns for variant in column.variants.values()}
    return [*own_notes(table, facts), *measurements.origin(rows, source, labels), *measurements.run(rows)]


def in_groups(table: Table, text: pd.DataFrame) -> pd.DataFrame:
    """Return the text with the heads of groups above those of columns, if the table has groups."""
    if len(table.groups) < 2:
        return text
    heads = [(column.group[:1].upper() + column.group[1:], column.head) for column in table.columns]
    counts = [("", head) for head in text.columns[: -len(heads)]]
    return text.set_axis(pd.MultiIndex.from_tuples(counts + heads), axis="columns")


def files(table: Table, rows: pd.DataFrame, source: str) -> dict[str, str]:
    """Return the table's files by suffix."""
    rows = table.select(rows)
    facts = compare(table, rows)
    text, said = to_text(table, facts, rows), notes(table, facts, rows, source)
    return {
        ".csv": render.csv_text(to_csv(table, facts, rows, source)),
        ".md": render.to_markdown(table.heading, text, said, (NODES, EDGES)),
        ".html": render.html_page(table.heading, in_groups(table, text), said, numbers=[2, 3]),
    }


def render_paper_tables(rows: pd.DataFrame, context: Context) -> dict[str, str]:
    """Render the table that the context names."""
    made = files(define(context.name, context.datasets), rows, context.source)
    return {context.name + suffix: text for suffix, text in made.items()}
