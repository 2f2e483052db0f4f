"""What a table or figure shows: variants, heads and title by paper/tables.yaml, datasets by config.yaml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
import yaml

from kernels import generate
from kernels.errors import InputError
from kernels.registry import VARIANTS
from workflow.store import measurements, paper

FILE = measurements.PAPER / "tables.yaml"
SHOWN = yaml.safe_load(FILE.read_text(encoding="utf-8"))
DEFINITIONS = {name: entry for name, entry in SHOWN.items() if "baseline" in entry}
PAPER_TABLES = [name for name, entry in DEFINITIONS.items() if not entry.get("extension")]
PAPER_FIGURES = {name: entry for name, entry in SHOWN.items() if "table" in entry}
GRAPH_GROUP = "same kernels, CUDA graph"

Datasets = Mapping[str, Mapping]  # as of_config returns them
ByProblem = Mapping[str, Sequence[str]]  # the datasets of each problem that a table or figure shows


@dataclass(frozen=True)
class Column:
    """A column of a table. group is the head of its group, or empty."""

    group: str
    head: str
    variants: dict[str, str]  # algorithm/variant by problem

    @property
    def label(self) -> str:
        return label_of(self.group, self.head)


def label_of(group: str, head: str) -> str:
    return f"{head} ({group})" if group else head


@dataclass(frozen=True)
class Table:
    """A table of DEFINITIONS with its datasets."""

    name: str
    title: str
    baseline: str  # the head of the column that speed-ups are over, in each group
    columns: tuple[Column, ...]
    by_problem: ByProblem
    entries: Datasets

    @property
    def heading(self) -> str:
        return f"Table {self.name.removeprefix('table')}: {self.title}"

    @property
    def datasets(self) -> list[str]:
        return together(self.by_problem)

    @property
    def groups(self) -> list[str]:
        return list(dict.fromkeys(column.group for column in self.columns))

    @property
    def cells(self) -> set[tuple[str, str]]:
        """The (algorithm/variant, dataset) pairs that the table compares."""
        return {
            (key, dataset) for key in heads(self.name) for dataset in self.by_problem.get(VARIANTS[key].problem, ())
        }

    def select(self, rows: pd.DataFrame) -> pd.DataFrame:
        return select(self.name, self.by_problem, rows)

    def sizes(self, rows: pd.DataFrame) -> pd.DataFrame:
        return sizes(self.datasets, self.entries, rows)


def heads(name: str) -> dict[str, str]:
    """Return the head of each algorithm/variant that a table or figure shows, in the order of tables.yaml."""
    columns = SHOWN[name]["columns"]
    if unknown := [key for key in columns if key not in VARIANTS]:
        raise InputError(f"{FILE}: {name}: there is no variant {unknown[0]}: choose one of {', '.join(VARIANTS)}")
    return columns


def define(name: str, datasets: Datasets) -> Table:
    entry = DEFINITIONS[name]
    columns: dict[tuple[str, str], dict[str, str]] = {}
    for key, head in heads(name).items():
        group = GRAPH_GROUP if VARIANTS[key].cuda_graph else ""
        columns.setdefault((group, head), {})[VARIANTS[key].problem] = key
    return Table(
        name,
        entry["title"],
        entry["baseline"],
        tuple(Column(*place, variants) for place, variants in columns.items()),
        datasets_of(name, datasets),
        datasets,
    )


def datasets_of(name: str, datasets: Datasets) -> ByProblem:
    """Return the datasets that a table shows."""
    by_problem = {
        problem: tuple(dataset for dataset, entry in datasets.items() if name in entry["tables"].get(problem, ()))
        for problem in ("sssp", "apsp")
    }
    return {problem: names for problem, names in by_problem.items() if names}


def together(by_problem: ByProblem) -> list[str]:
    return [name for names in by_problem.values() for name in names]


def shown_pairs(datasets: Datasets) -> list[tuple[str, str]]:
    """Return the (problem, dataset) pairs of all tables."""
    return [(problem, dataset) for dataset, entry in datasets.items() for problem in entry["tables"]]


def select(name: str, by_problem: ByProblem, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the pooled rows that a table or figure shows. Raise InputError if a dataset's graphs differ."""
    pairs = [(problem, dataset) for problem, names in by_problem.items() for dataset in names]
    chosen = measurements.select(rows, list(heads(name)), [dataset for _, dataset in pairs])
    return chosen[pd.MultiIndex.from_frame(chosen[["problem", "dataset"]]).isin(pairs)]


def part(cells: pd.DataFrame | pd.Series, name: str) -> pd.DataFrame | pd.Series:
    """Return the cells of a column or series, the first level of their index; empty if it has none."""
    return cells[cells.index.get_level_values(0) == name].droplevel(0)


def sizes(names: Sequence[str], datasets: Datasets, rows: pd.DataFrame) -> pd.DataFrame:
    """Return vertices and arcs (int64) of each dataset: as measured, else the paper's, else as configured."""
    columns = ["vertices", "arcs"]
    configured = pd.DataFrame([[datasets[name][column] for column in columns] for name in names], names, columns)
    measured = rows.groupby("dataset")[columns].first().reindex(configured.index)
    return measured.fillna(paper.datasets()).fillna(configured).astype(int)


def of_family(family: str, datasets: Datasets) -> Datasets:
    """Return the datasets of a family of generated graphs, or those of none if `family` is empty."""
    return {name: entry for name, entry in datasets.items() if entry.get("family", "") == family}


def of_config(config: dict) -> dict[str, dict]:
    """Return the datasets that views show: those of a table and those of a family.

    Each has vertices, arcs, tables (by problem) and, if it belongs to one, family.
    """
    shown = {}
    for name, entry in config["datasets"].items():
        family = entry.get("family", generate.kind_of(entry))
        if entry.get("tables") or family:
            shown[name] = {"vertices": entry["vertices"], "arcs": entry["arcs"], "tables": entry.get("tables", {})}
            shown[name] |= {"family": family} if family else {}
    return shown
