"""What a figure shows: its series, as the registry names them, with their times on its datasets."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence

import pandas as pd

from kernels.registry import VARIANTS, Variant, shown_in
from workflow.store import measurements
from workflow.views import plots
from workflow.views.render import status_text
from workflow.views.tables import Datasets, sizes

LINE = 105  # letters of a group's text, over all groups of a panel


ByProblem = Mapping[str, Sequence[str]]  # by problem, the datasets that a figure shows


def together(names: ByProblem) -> list[str]:
    """The datasets of all problems."""
    return [name for of_problem in names.values() for name in of_problem]


def heads(place: str) -> dict[str, list[Variant]]:
    """The variants of each series, in the registry's order."""
    found: dict[str, list[Variant]] = {}
    for variant in shown_in(place):
        found.setdefault(variant.shown[place], []).append(variant)
    return found


def select(place: str, names: ByProblem, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that the figure shows. Raises InputError where a dataset was not one graph."""
    problems = {name: problem for problem, of_problem in names.items() for name in of_problem}
    chosen = measurements.select(rows, [variant.key for variant in shown_in(place)], list(problems))
    return chosen[chosen["problem"] == chosen["dataset"].map(problems)]


def cells(place: str, names: ByProblem, rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each series on each dataset, indexed by (head, dataset); of several variants the fastest.

    The columns of measurements.summarise, "column" (algorithm/variant), "paper" (the paper's time, s, NaN where it has
    none) and "untimed" (what is said instead of a time; empty where there is one, or no variant for the problem).
    rows: as select gives them.
    """
    found = pd.DataFrame(
        [
            (head, dataset, variant.key)
            for head, variants in heads(place).items()
            for variant in variants
            for dataset in names.get(variant.problem, ())
        ],
        columns=["head", "dataset", "column"],
    )
    paper = measurements.paper_times()["seconds"].rename("paper")
    for facts in (measurements.summarise(rows), paper):
        found = found.join(facts, on=["column", "dataset"])
    found["unmeasured"] = found["status"].isna()
    found["status"] = found["status"].fillna("no measurement")
    fastest = found.sort_values(["median", "unmeasured"], kind="stable").drop_duplicates(["head", "dataset"])
    fastest["untimed"] = ["" if cell["status"] == "ok" else status_text(cell) for _, cell in fastest.iterrows()]
    every = pd.MultiIndex.from_product([heads(place), together(names)], names=["head", "dataset"])
    found = fastest.set_index(["head", "dataset"]).drop(columns="unmeasured").reindex(every)
    return found.fillna({"untimed": ""})


def of(cells: pd.DataFrame, head: str) -> pd.DataFrame:
    """The cells of one series, indexed by dataset."""
    return cells[cells.index.get_level_values("head") == head].droplevel("head")


def in_unit(cells: pd.DataFrame, columns: Sequence[str]) -> tuple[str, pd.DataFrame]:
    """The unit for a panel that shows these columns of cells, which are in seconds, and the cells in that unit."""
    name, factor = plots.unit(cells[list(columns)].to_numpy(float).ravel())
    times = [column for column in ("median", "min", "max", "paper") if column in cells]
    return name, cells.assign(**{column: factor * cells[column] for column in times})


def tick_labels(
    names: Sequence[str], cells: pd.DataFrame, rows: pd.DataFrame, datasets: Datasets, line: int = LINE
) -> list[str]:
    """For each dataset its counts, its name, and which series have no time.

    Counts are as tables.sizes gives them. line: letters of all groups.
    """
    substitutes = measurements.substitutes(rows)
    graphs = sizes({name: (datasets[name]["vertices"], datasets[name]["arcs"]) for name in names}, rows)
    labels = []
    for dataset in names:
        counts = f"({plots.short(graphs.loc[dataset, 'vertices'])},{plots.short(graphs.loc[dataset, 'arcs'])})"
        mine = cells[cells.index.get_level_values("dataset") == dataset]["untimed"]
        untimed: dict[str, list[str]] = {}
        for (head, _), text in mine[mine != ""].items():
            untimed.setdefault(text, []).append(head)
        said = [
            text if len(missing) == len(mine) else f"{text}: {', '.join(missing)}" for text, missing in untimed.items()
        ]
        said = [textwrap.fill(text, line // len(names), break_long_words=False) for text in said]
        labels.append("\n".join([counts, measurements.marked(dataset, substitutes), *said]))
    return labels


def _number(counts: pd.Series, unit: str) -> str:
    """ "3 batches", "1 to 6 repeats"."""
    few, many = counts.min(), counts.max()
    return f"{few if few == many else f'{few} to {many}'} {unit if many > 1 else unit.removesuffix('s')}"


def caption(
    rows: pd.DataFrame, source: str, settings: Sequence[str] = (), subject: str = "", what: str = "median and range"
) -> str:
    """A line on what rows are: of how many batches or repeats, on which devices, whether of substitutes, from where.

    rows: as measurements.pooled gives them. settings: a sweep's columns. subject: what was measured, where no title
    says it. what: is drawn of a cell.
    """
    timed = rows[rows["status"] == "ok"]
    if timed.empty:
        return source
    of_cell = timed.groupby([*measurements.CELL, *settings])["batch"].agg(["nunique", "size"])
    several = of_cell["nunique"] > 1
    alone = "runs" if several.any() else "repeats"
    counts = {"batches": of_cell["nunique"][several], alone: of_cell["size"][~several]}
    drawn = [_number(count, unit) for unit, count in counts.items() if len(count)]
    said = "one repeat (n = 1)" if of_cell["size"].max() == 1 else f"{what} of n = {' or '.join(drawn)}"
    said = f"{subject}: {said}" if subject else said[0].upper() + said[1:]
    on_gpu = measurements.variants(timed).map(lambda key: VARIANTS[key].on_gpu)
    devices = pd.concat([timed[on_gpu], timed[~on_gpu]])["device"].unique()
    names = [re.sub(r"\((R|TM)\)| Processor$", "", device) for device in devices]
    mark = "; † substitute" if measurements.substitutes(rows) else ""
    return f"{said}, {', '.join(names)}{mark}. {source}"
