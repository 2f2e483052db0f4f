"""A table with a row for each cell instead of each dataset, as CSV, Markdown and HTML."""

import pandas as pd

from kernels.registry import VARIANTS
from workflow.store import measurements
from workflow.store.tables import Datasets, shown_pairs
from workflow.views.render import table_files


def algorithm(key: str) -> str:
    """Return the name of a variant's algorithm: Bellman-Ford. A title that contains the name is used instead."""
    variant = VARIANTS[key]
    name = variant.algorithm.replace("_", "-").title()
    return variant.title if name in variant.title else name


def label(key: str) -> str:
    """Return the name of a variant with its algorithm: Bellman-Ford Naive."""
    variant = VARIANTS[key]
    told = variant.title != algorithm(key)
    named = f"{algorithm(key)} {variant.title}" if told else f"{algorithm(key)} ({variant.name})"
    return f"{named} (CUDA graph)" if variant.cuda_graph else named


def names(facts: pd.DataFrame) -> list[str]:
    """Return the label of each row's variant, with the device if the variant ran on several."""
    several = facts.groupby("column")["device"].transform("nunique") > 1
    return [
        label(key) + (f" on {device}" if many else "")
        for key, device, many in zip(facts["column"], facts["device"], several, strict=True)
    ]


def cells_with_times(rows: pd.DataFrame, datasets: Datasets) -> pd.DataFrame:
    """Return the measured cells of the tables' datasets, each for the problem that a table shows it with.

    The columns of measurements.summarise, "column" (algorithm/variant), "dataset" and "launches". Sorted by variant, a
    CUDA-graph variant after its plain one, then by dataset. Raise InputError if a dataset's graphs differ.
    """
    usual = list(VARIANTS)
    columns = sorted(usual, key=lambda key: usual.index(VARIANTS[key].plain))
    order = {"column": columns, "dataset": list(datasets)}
    rows = measurements.select(rows, *order.values())
    rows = rows[pd.MultiIndex.from_frame(rows[["problem", "dataset"]]).isin(shown_pairs(datasets))]
    launches = rows.groupby([measurements.variants(rows).rename("column"), "dataset"])["launches"].first()
    cells = measurements.summarise(rows).join(launches).reset_index()
    cells = cells[(cells["status"] == "ok") & (cells["kernels"] > 0)]
    return cells.sort_values(list(order), key=lambda names: names.map(order[names.name].index), ignore_index=True)


def origin(rows: pd.DataFrame, cells: pd.DataFrame, source: str) -> list[str]:
    """Return sentences on where these cells of rows come from: devices, substitutes, commits and days."""
    rows = measurements.pooled(rows)
    used = rows.set_index([measurements.variants(rows), "dataset"], drop=False)
    used = used[used.index.isin(cells.set_index(["column", "dataset"]).index)].reset_index(drop=True)
    heads = {key: algorithm(key) if variant.on_gpu else label(key) for key, variant in VARIANTS.items()}
    return [*measurements.origin(used, source, heads), *measurements.run(used)]


def files(
    name: str, title: str, text: pd.DataFrame, facts: pd.DataFrame, notes: list[str], numbers: list[str]
) -> dict[str, str]:
    """Return name.csv (facts), name.md and name.html (text). The columns `numbers` are aligned on the right."""
    made = table_files(title, text, facts.rename(columns={"column": "variant"}), notes, numbers)
    return {name + suffix: content for suffix, content in made.items()}
