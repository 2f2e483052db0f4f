"""A table with a row a result instead of a row a dataset, as CSV and Markdown."""

import pandas as pd

from kernels.registry import VARIANTS
from workflow.store import measurements
from workflow.views.render import csv_text, to_markdown
from workflow.views.tables import Datasets, shown_pairs


def algorithm(key: str) -> str:
    """What a variant's algorithm is called: Bellman-Ford. Contraction Hierarchy is a title that says more than it."""
    variant = VARIANTS[key]
    name = variant.algorithm.replace("_", "-").title()
    return variant.title if name in variant.title else name


def label(key: str) -> str:
    """What a variant (algorithm/variant) is called where several algorithms are shown: Bellman-Ford Naive."""
    variant = VARIANTS[key]
    told = variant.title != algorithm(key)
    named = f"{algorithm(key)} {variant.title}" if told else f"{algorithm(key)} ({variant.name})"
    return f"{named} (CUDA graph)" if variant.cuda_graph else named


def names(facts: pd.DataFrame) -> list[str]:
    """The label of each row's column, with its device where that variant is there from several."""
    several = facts.groupby("column")["device"].transform("nunique") > 1
    return [
        label(key) + (f" on {device}" if many else "")
        for key, device, many in zip(facts["column"], facts["device"], several, strict=True)
    ]


def cells(rows: pd.DataFrame, datasets: Datasets) -> pd.DataFrame:
    """The measured cells of the tables' datasets, for the problem that a table shows each with; one a row.

    Variants, each with its CUDA-graph variant behind it, then datasets.

    The columns of measurements.summarise, "column" (algorithm/variant), "dataset" and "launches"; `kernels` is always a
    time.
    Raises InputError where a dataset was not one graph.
    """
    usual = list(VARIANTS)
    columns = sorted(usual, key=lambda key: usual.index(VARIANTS[key].plain))
    order = {"column": columns, "dataset": list(datasets)}
    rows = measurements.select(rows, *order.values())
    rows = rows[pd.MultiIndex.from_frame(rows[["problem", "dataset"]]).isin(shown_pairs(datasets))]
    launches = rows.groupby([measurements.variants(rows).rename("column"), "dataset"])["launches"].first()
    found = measurements.summarise(rows).join(launches).reset_index()
    found = found[(found["status"] == "ok") & (found["kernels"] > 0)]
    return found.sort_values(list(order), key=lambda names: names.map(order[names.name].index), ignore_index=True)


def origin(rows: pd.DataFrame, cells: pd.DataFrame, source: str) -> list[str]:
    """Sentences on where these cells (of rows) come from: devices with what ran on each, substitutes, their run."""
    rows = measurements.pooled(rows)
    used = rows.set_index([measurements.variants(rows), "dataset"], drop=False)
    used = used[used.index.isin(cells.set_index(["column", "dataset"]).index)].reset_index(drop=True)
    heads = {key: algorithm(key) if variant.on_gpu else label(key) for key, variant in VARIANTS.items()}
    return [*measurements.origin(used, source, heads), *measurements.run(used)]


def files(
    name: str, title: str, text: pd.DataFrame, facts: pd.DataFrame, notes: list[str], numbers: list[str]
) -> dict[str, str]:
    """Return name.csv (facts) and, for readers, name.md (text: all cells str).

    numbers: the columns of text that stand on the right.
    """
    return {
        f"{name}.csv": csv_text(facts.rename(columns={"column": "variant"})),
        f"{name}.md": to_markdown(title, text, notes, numbers),
    }
