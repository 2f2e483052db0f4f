"""A table with a row a result instead of a row a dataset, in the formats of tables.py."""

from pathlib import Path

import pandas as pd

from kernels.variants import VARIANTS
from workflow.lib import measurements
from workflow.scripts import tables

# (problem, dataset) as the tables have it: one source on road networks, all pairs on Gnutella graphs.
SHOWN = [
    (problem, dataset)
    for table in tables.TABLES.values()
    for problem, names in table["datasets"].items()
    for dataset in names
]


def algorithm(key: str) -> str:
    return VARIANTS[key].algorithm.replace("_", "-").title()


def label(key: str) -> str:
    """What a variant (algorithm/variant) is called where several algorithms are shown: Bellman-Ford Naive."""
    variant = VARIANTS[key]
    told = variant.title != algorithm(key)
    named = f"{algorithm(key)} {variant.title}" if told else f"{algorithm(key)} ({variant.name})"
    return f"{named} (CUDA graph)" if variant.graph else named


def names(facts: pd.DataFrame) -> list[str]:
    """The label of each row's column, with its device where that variant is there from several."""
    several = facts.groupby("column")["device"].transform("nunique") > 1
    return [
        label(key) + (f" on {device}" if many else "")
        for key, device, many in zip(facts["column"], facts["device"], several, strict=True)
    ]


def cells(rows: pd.DataFrame) -> pd.DataFrame:
    """The measured cells of the paper's datasets for each problem, one a row.

    Variants, each with its twin behind it, then datasets.

    The columns of measurements.summarise, "column" (algorithm/variant), "dataset" and "launches"; `kernels` is always a
    time.
    Raises InputError where a dataset was not one graph.
    """
    usual = list(VARIANTS)
    columns = sorted(usual, key=lambda key: usual.index(key.removesuffix("_graph")))
    order = {"column": columns, "dataset": list(measurements.paper_datasets().index)}
    rows = measurements.select(rows, *order.values())
    rows = rows[pd.MultiIndex.from_frame(rows[["problem", "dataset"]]).isin(SHOWN)]
    launches = rows.groupby([measurements.variants(rows).rename("column"), "dataset"])["launches"].first()
    found = measurements.summarise(rows).join(launches).reset_index()
    found = found[(found["status"] == "ok") & (found["kernels"] > 0)]
    return found.sort_values(list(order), key=lambda names: names.map(order[names.name].index), ignore_index=True)


def origin(rows: pd.DataFrame, cells: pd.DataFrame, source: str) -> list[str]:
    """Sentences on where these cells (of rows) come from: devices with what ran on each, stand-ins, their run."""
    used = rows.set_index([measurements.variants(rows), "dataset"], drop=False)
    used = used[used.index.isin(cells.set_index(["column", "dataset"]).index)].reset_index(drop=True)
    heads = {key: algorithm(key) if variant.on_gpu else label(key) for key, variant in VARIANTS.items()}
    return [*measurements.origin(used, source, heads), *measurements.run(used)]


def write(
    stem: Path, title: str, text: pd.DataFrame, facts: pd.DataFrame, notes: list[str], numbers: list[str]
) -> None:
    """Write stem.csv (facts) and, for readers, stem.md, stem.tex, stem.html (text: all cells str).

    numbers: the columns of text that stand on the right.
    """
    positions = [1 + text.columns.get_loc(head) for head in numbers]
    layout = "".join("r" if head in numbers else "l" for head in text)
    body = text.map(tables.latex).rename(columns=tables.latex).style.hide(axis="index")
    files = {
        ".csv": tables.csv_text(facts.rename(columns={"column": "variant"})),
        ".md": tables.to_markdown(title, text, notes, numbers),
        ".tex": tables.latex_page(title, [body.to_latex(hrules=True, column_format=layout).rstrip()], notes),
        ".html": tables.html_page(title, text, notes, positions),
    }
    tables.save(files, stem)
