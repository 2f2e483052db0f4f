"""What a figure shows: its series, as the registry names them, with their times on its datasets."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import pandas as pd

from kernels.variants import VARIANTS, Variant, shown_in
from workflow.lib import measurements, plots
from workflow.scripts import tables

TABLES = {"figure5": 1, "figure6": 3, "figure8": 5}  # the table whose datasets a figure shows
LINE = 105  # letters of a group's text, over all groups of a panel


def datasets(place: str) -> dict[str, list[str]]:
    """The figure's datasets by problem."""
    return tables.TABLES[TABLES[place]]["datasets"]


def heads(place: str) -> dict[str, list[Variant]]:
    """The variants of each series, in the registry's order."""
    found: dict[str, list[Variant]] = {}
    for variant in shown_in(place):
        found.setdefault(variant.shown[place], []).append(variant)
    return found


def select(place: str, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that the figure shows. Raises InputError where a dataset was not one graph."""
    problems = {name: problem for problem, names in datasets(place).items() for name in names}
    chosen = measurements.select(rows, [variant.key for variant in shown_in(place)], list(problems))
    return chosen[chosen["problem"] == chosen["dataset"].map(problems)]


def cells(place: str, rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each series on each dataset, indexed by (head, dataset); of several variants the fastest.

    The columns of measurements.summarise, "column" (algorithm/variant), "paper" (the paper's time, s, NaN where it has
    none) and "untimed" (what is said instead of a time, empty where there is one). rows: as select gives them.
    """
    found = pd.DataFrame(
        [
            (head, dataset, variant.key)
            for head, variants in heads(place).items()
            for variant in variants
            for dataset in datasets(place).get(variant.problem, [])
        ],
        columns=["head", "dataset", "column"],
    )
    paper = measurements.paper_times()["seconds"].rename("paper")
    for facts in (measurements.summarise(rows), paper):
        found = found.join(facts, on=["column", "dataset"])
    found["unmeasured"] = found["status"].isna()
    found["status"] = found["status"].fillna("no measurement")
    fastest = found.sort_values(["median", "unmeasured"], kind="stable").drop_duplicates(["head", "dataset"])
    fastest = fastest.sort_index().set_index(["head", "dataset"]).drop(columns="unmeasured")
    fastest["untimed"] = ["" if cell["status"] == "ok" else tables.status_text(cell) for _, cell in fastest.iterrows()]
    return fastest


def in_unit(cells: pd.DataFrame, columns: Sequence[str]) -> tuple[str, pd.DataFrame]:
    """The unit for a panel that shows these columns of cells, which are in seconds, and the cells in that unit."""
    name, factor = plots.unit(cells[list(columns)].to_numpy(float).ravel())
    times = [column for column in ("median", "min", "max", "paper") if column in cells]
    return name, cells.assign(**{column: factor * cells[column] for column in times})


def substitutes(rows: pd.DataFrame) -> set[str]:
    """The datasets of which another graph than the paper's was measured."""
    return set(measurements.stand_ins(rows))


def marked(dataset: str, rows: pd.DataFrame) -> str:
    """The dataset's name, with † where another graph than the paper's was measured."""
    return f"{dataset} †" if dataset in substitutes(rows) else dataset


def tick_labels(names: Sequence[str], cells: pd.DataFrame, rows: pd.DataFrame) -> list[str]:
    """For each dataset its counts, its name, and which series have no time.

    Counts are those of the graph that was measured, in rows; the paper's where none was.
    """
    counts = rows.groupby("dataset")[["vertices", "arcs"]].first()
    counts = counts.combine_first(measurements.paper_datasets()[["vertices", "arcs"]])
    labels = []
    for dataset in names:
        size = [f"({','.join(plots.short(int(count)) for count in counts.loc[dataset])})"] * (dataset in counts.index)
        mine = cells[cells.index.get_level_values("dataset") == dataset]["untimed"]
        untimed: dict[str, list[str]] = {}
        for (head, _), text in mine[mine != ""].items():
            untimed.setdefault(text, []).append(head)
        said = [
            text if len(missing) == len(mine) else textwrap.fill(f"{text}: {', '.join(missing)}", LINE // len(names))
            for text, missing in untimed.items()
        ]
        labels.append("\n".join([*size, marked(dataset, rows), *said]))
    return labels


def caption(
    rows: pd.DataFrame, source: str, settings: Sequence[str] = (), subject: str = "", what: str = "median and range"
) -> str:
    """A line on what rows are: of how many repeats, on which card, whether of substitutes, from where.

    settings: a sweep's columns. subject: what was measured, where no title says it. what: is drawn of a cell.
    """
    timed = rows[rows["status"] == "ok"]
    if timed.empty:
        return source
    repeats = timed.groupby([*measurements.CELL, *settings]).size()
    few, many = repeats.min(), repeats.max()
    number = few if few == many else f"{few} to {many}"
    said = f"{what} of n = {number} repeats" if many > 1 else "one repeat (n = 1)"
    said = f"{subject}: {said}" if subject else said[0].upper() + said[1:]
    on_gpu = measurements.variants(timed).map(lambda key: VARIANTS[key].on_gpu)
    devices = (timed[on_gpu] if on_gpu.any() else timed)["device"].unique()
    mark = "; † substitute graph" if substitutes(rows) else ""
    return f"{said}, {' and '.join(devices)}{mark}. {source}"
