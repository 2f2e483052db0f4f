"""The series of a figure, with their times on its datasets, the labels of these, and the caption."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

import pandas as pd

from kernels.registry import VARIANTS
from workflow.store import measurements, tables
from workflow.store.tables import ByProblem, Datasets
from workflow.views import plots
from workflow.views.render import status_text

LINE = 105  # letters of a group's text, over all groups of a panel


def heads(name: str) -> list[str]:
    """Return the series of a figure from left to right."""
    return list(dict.fromkeys(tables.heads(name).values()))


def looks(name: str) -> dict[str, plots.Look]:
    """Return the look of each series of a figure or table: that of its first variant."""
    first = {head: key for key, head in reversed(tables.heads(name).items())}
    return {head: plots.look_of(first[head]) for head in heads(name)}


def series_cells(name: str, by_problem: ByProblem, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the fastest variant of each series on each dataset, indexed by (head, dataset). Take rows from select.

    The columns of measurements.summarise, "column" (algorithm/variant), "paper" (the paper's time, s) and "untimed"
    (the text in place of a time; empty if there is a time, or no variant for the problem).
    """
    cells = pd.DataFrame(
        [
            (head, dataset, key)
            for key, head in tables.heads(name).items()
            for dataset in by_problem.get(VARIANTS[key].problem, ())
        ],
        columns=["head", "dataset", "column"],
    )
    for facts in (measurements.summarise(rows), measurements.paper_times()["seconds"].rename("paper")):
        cells = cells.join(facts, on=["column", "dataset"])
    cells["unmeasured"] = cells["status"].isna()
    cells["status"] = cells["status"].fillna("no measurement")
    fastest = cells.sort_values(["median", "unmeasured"], kind="stable").drop_duplicates(["head", "dataset"])
    fastest["untimed"] = untimed(fastest)
    every = pd.MultiIndex.from_product([heads(name), tables.together(by_problem)], names=["head", "dataset"])
    return fastest.set_index(["head", "dataset"]).drop(columns="unmeasured").reindex(every).fillna({"untimed": ""})


def untimed(cells: pd.DataFrame) -> list[str]:
    """Return for each cell the text in place of a time; empty if there is a time."""
    return ["" if cell["status"] == "ok" else status_text(cell) for _, cell in cells.iterrows()]


def in_unit(cells: pd.DataFrame, columns: Sequence[str]) -> tuple[str, pd.DataFrame]:
    """Return the unit of a panel that shows these columns, and the cells in that unit instead of seconds."""
    name, factor = plots.unit(cells[list(columns)].to_numpy(float).ravel())
    return name, cells.assign(**{time: factor * cells[time] for time in ("median", "min", "max", "paper")})


def tick_labels(
    names: Sequence[str], cells: pd.DataFrame, rows: pd.DataFrame, datasets: Datasets, line: int = LINE
) -> list[str]:
    """Return for each dataset its counts, its name, and which series have no time. `line` is that of LINE."""
    substitutes, graphs = measurements.substitutes(rows), tables.sizes(names, datasets, rows)
    labels = []
    for dataset in names:
        counts = ",".join(plots.short(count) for count in graphs.loc[dataset])
        texts = cells["untimed"].xs(dataset, level="dataset")
        said = [f"({counts})", measurements.marked(dataset, substitutes)]
        for text, missing in texts[texts != ""].groupby(texts, sort=False):
            of_some = f": {', '.join(missing.index)}" if len(missing) < len(texts) else ""
            said.append(textwrap.fill(text + of_some, line // len(names), break_long_words=False))
        labels.append("\n".join(said))
    return labels


def _number(counts: pd.Series, unit: str) -> str:
    """Return "3 batches", "1 to 6 repeats"."""
    few, many = counts.min(), counts.max()
    return f"{few if few == many else f'{few} to {many}'} {unit if many > 1 else unit.removesuffix('s')}"


def caption(
    rows: pd.DataFrame, source: str, settings: Sequence[str] = (), subject: str = "", what: str = "median and range"
) -> str:
    """Return a line on what pooled rows are: of how many batches or repeats, on which devices, from where.

    Parameters
    ----------
    settings : a sweep's columns
    subject : what was measured, if no title says it
    what : what is drawn of a cell
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
