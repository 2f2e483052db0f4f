"""What a table shows: variants by kernels/registry.py, datasets by config.yaml, its title by paper/tables.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import yaml

from kernels import generate
from kernels.registry import VARIANTS, shown_in
from workflow.judge import batches
from workflow.store import measurements, paper

DEFINITIONS = yaml.safe_load((measurements.PAPER / "tables.yaml").read_text())
PAPER_TABLES = [name for name, table in DEFINITIONS.items() if not table.get("extension")]
MEASURED_HERE = "Measured by this copy of the project."  # where what a view shows is from
PROBLEMS = ("sssp", "apsp")
NODES, EDGES = "Number of Nodes", "Number of Edges"
GRAPH_GROUP = "same kernels, CUDA graph"

# By dataset: vertices, arcs and tables (by problem), as its entry in config.yaml has them; family where it has one.
Datasets = Mapping[str, Mapping]


@dataclass(frozen=True)
class Column:
    """A column of a table. group: the head of its group, or empty. variants: algorithm/variant by problem."""

    group: str
    head: str
    variants: dict[str, str]
    baseline: str  # the label of the column that its speed-ups are over

    @property
    def label(self) -> str:
        return _label(self.group, self.head)


def _label(group: str, head: str) -> str:
    return f"{head} ({group})" if group else head


@dataclass(frozen=True)
class Table:
    """name: table1 … datasets: by problem, in config's order. counts: by dataset, vertices and arcs of config."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: dict[str, tuple[str, ...]]
    counts: dict[str, tuple[int, int]]
    baseline: str

    @property
    def datasets(self) -> list[str]:
        return [dataset for names in self.rows.values() for dataset in names]

    @property
    def variants(self) -> list[str]:
        """Each algorithm/variant that the table shows; of several under one head it shows the fastest."""
        return [variant.key for variant in shown_in(self.name)]

    @property
    def groups(self) -> list[str]:
        return list(dict.fromkeys(column.group for column in self.columns))

    @property
    def cells(self) -> set[tuple[str, str]]:
        """(algorithm/variant, dataset) of all that is compared in it."""
        return {
            (variant.key, dataset) for variant in shown_in(self.name) for dataset in self.rows.get(variant.problem, ())
        }


def define(name: str, datasets: Datasets) -> Table:
    """The table of that name, a key of DEFINITIONS."""
    said = DEFINITIONS[name]
    columns: dict[tuple[str, str], dict[str, str]] = {}
    for variant in shown_in(name):
        group = GRAPH_GROUP if variant.cuda_graph else ""
        columns.setdefault((group, variant.shown[name]), {})[variant.problem] = variant.key
    rows = datasets_of(name, datasets)
    return Table(
        name,
        said["title"],
        tuple(
            Column(group, head, variants, _label(group, said["baseline"]))
            for (group, head), variants in columns.items()
        ),
        rows,
        {
            dataset: (datasets[dataset]["vertices"], datasets[dataset]["arcs"])
            for one in rows.values()
            for dataset in one
        },
        said["baseline"],
    )


def datasets_of(name: str, datasets: Datasets) -> dict[str, tuple[str, ...]]:
    """By problem, the datasets that a table shows."""
    by_problem = {
        problem: tuple(d for d, entry in datasets.items() if name in entry.get("tables", {}).get(problem, ()))
        for problem in PROBLEMS
    }
    return {problem: names for problem, names in by_problem.items() if names}


def shown_pairs(datasets: Datasets) -> list[tuple[str, str]]:
    """(problem, dataset) of all tables."""
    return [(problem, dataset) for dataset, entry in datasets.items() for problem in entry.get("tables", {})]


def compare(table: Table, rows: pd.DataFrame) -> pd.DataFrame:
    """Ours beside the paper's: one row a cell, indexed by (label of a column, dataset).

    The columns of measurements.summarise, "paper seconds", "paper text" and:
    speed-up: the geometric mean over batches of the ratios within a job; NaN where no job measured both cells.
    paper speed-up: that in the paper; NaN where it has none.
    status is "no measurement" where a cell is to be measured, "-" where the table has none: the paper has no such
    number, or no such variant solves the problem. rows: as measurements.select gives them.
    """
    cells = pd.DataFrame.from_records(
        [
            (column.label, dataset, column.variants.get(problem), column.baseline)
            for column in table.columns
            for problem, names in table.rows.items()
            for dataset in names
        ],
        columns=["label", "dataset", "column", "baseline"],
        index=["label", "dataset"],
    )
    paper = measurements.paper_times().add_prefix("paper ")
    facts = cells.join(measurements.summarise(rows), on=["column", "dataset"]).join(paper, on=["column", "dataset"])
    theirs = set(measurements.paper_datasets().index)
    wanted = [
        isinstance(cell["column"], str)
        and (isinstance(cell["paper text"], str) or dataset not in theirs or VARIANTS[cell["column"]].origin != "paper")
        for (_, dataset), cell in facts.iterrows()
    ]
    missing = pd.Series(wanted, facts.index, dtype=bool).map({True: "no measurement", False: "-"})
    facts["status"] = facts["status"].fillna(missing)
    facts = facts.astype({"repeats": float, "batches": float}).fillna({"repeats": 0, "batches": 0})
    facts = facts.astype({"repeats": int, "batches": int})
    by_label = facts["paper seconds"].unstack("dataset")
    baseline = [by_label.loc[label, dataset] for (_, dataset), label in facts["baseline"].items()]
    facts["paper speed-up"] = baseline / facts["paper seconds"]
    of_batches = batches.medians(rows)
    facts["speed-up"] = [_speed_up(facts, of_batches, *cell) for cell in facts.index]
    return facts


def _speed_up(facts: pd.DataFrame, of_batches: pd.DataFrame, label: str, dataset: str) -> float:
    cell = facts.loc[label, dataset]
    base = facts.loc[cell["baseline"], dataset]
    if not cell["status"] == base["status"] == "ok":
        return np.nan
    found = batches.speed_up(of_batches, cell["column"], base["column"], dataset)
    return found.value if found else np.nan


def of_label(facts: pd.DataFrame | pd.Series, label: str, level: str = "label"):
    """The part of facts that has this label, indexed by dataset; empty where a table shows no dataset."""
    return facts[facts.index.get_level_values(level) == label].droplevel(level)


def counts(table: Table, rows: pd.DataFrame) -> pd.DataFrame:
    """vertices and arcs (int64) of each of the table's datasets, as sizes gives them."""
    return sizes({name: table.counts[name] for name in table.datasets}, rows)


def sizes(configured: Mapping[str, tuple[int, int]], rows: pd.DataFrame) -> pd.DataFrame:
    """vertices and arcs (int64) of each dataset: as measured, else the paper's, else as configured."""
    said = pd.DataFrame.from_dict(configured, "index", columns=["vertices", "arcs"])
    found = rows.groupby("dataset")[["vertices", "arcs"]].first().reindex(said.index)
    return found.fillna(paper.datasets()).fillna(said).astype(int)


def of_family(family: str, datasets: Datasets) -> Datasets:
    """The datasets of a family; for an empty one those that are of none."""
    return {name: entry for name, entry in datasets.items() if entry.get("family", "") == family}


def of_config(config: dict) -> dict[str, dict]:
    """What of config.yaml the tables read: the datasets that a table shows, and all of families."""
    found = {}
    for name, entry in config["datasets"].items():
        family = generate.kind_of(entry)
        if entry.get("tables") or family:
            found[name] = {"vertices": entry["vertices"], "arcs": entry["arcs"], "tables": entry.get("tables", {})}
            found[name] |= {"family": family} if family else {}
    return found
