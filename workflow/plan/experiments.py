"""The cells and jobs of a configuration: those of each table, figure, claim and target."""

from collections.abc import Iterable
from fnmatch import fnmatch
from typing import NamedTuple

from kernels import generate
from kernels.errors import InputError
from kernels.registry import Variant, find, select
from workflow.store import paper, revisions, tables

PAPER_TABLES = tables.PAPER_TABLES


class Cell(NamedTuple):
    """One variant on one dataset."""

    algorithm: str
    variant: str
    dataset: str

    @property
    def key(self) -> str:
        return f"{self.algorithm}/{self.variant}"

    @property
    def registered(self) -> Variant:
        return find(self.algorithm, self.variant)

    @property
    def revision(self) -> str:
        return revisions.revision_of(self.registered)


class Job(NamedTuple):
    """All cells that are compared on one dataset for one problem."""

    problem: str
    dataset: str


def cells_of(config: dict, datasets: Iterable[str] | None = None) -> list[Cell]:
    """Return the cells that config names, of the given datasets or of all."""
    cells = []
    for dataset in config["datasets"] if datasets is None else datasets:
        entry = config["datasets"][dataset]
        for key, on_gpu in (("cpu", False), ("gpu", True)):
            for pattern in entry.get(key, []):
                try:
                    chosen = select(pattern, on_gpu)
                except InputError as error:
                    raise InputError(f"config: datasets.{dataset}.{key}: {error}") from None
                kept = [v for v in chosen if not any(fnmatch(v.key, skip) for skip in entry.get("skip", []))]
                cells += [Cell(v.algorithm, v.name, dataset) for v in kept]
    return list(dict.fromkeys(cells))


def named_cells(config: dict) -> list[Cell]:
    """Return the cells on datasets of families or with `by_name`; only targets that name them make them."""
    entries = config["datasets"]
    return [c for c in cells_of(config) if generate.kind_of(entries[c.dataset]) or entries[c.dataset].get("by_name")]


def family_cells(config: dict) -> list[Cell]:
    """Return the cells that the target `families` makes: of named_cells those on datasets without `by_name`."""
    return [cell for cell in named_cells(config) if not config["datasets"][cell.dataset].get("by_name")]


def _in_tables(config: dict) -> tables.Datasets:
    """Return the datasets that the tables need measured: all but those of families."""
    return tables.of_family("", tables.of_config(config))


def table_cells(config: dict, *names: str) -> list[Cell]:
    """Return the cells that any of these tables shows, but for those of families."""
    shown = {cell for name in names for cell in tables.define(name, _in_tables(config)).cells}
    return [cell for cell in cells_of(config) if (cell.key, cell.dataset) in shown]


def figure_cells(config: dict, figure: str, table: str) -> list[Cell]:
    """Return the cells of a table that a figure draws."""
    drawn = tables.heads(figure)
    return [cell for cell in table_cells(config, table) if cell.key in drawn]


def compared_cells(config: dict) -> list[Cell]:
    """Return all cells on the datasets of tables, with the problem that the table shows."""
    pairs = set(tables.shown_pairs(_in_tables(config)))
    return [cell for cell in cells_of(config) if (cell.registered.problem, cell.dataset) in pairs]


def claimed_cells(config: dict) -> list[Cell]:
    """Return the cells that a claim of workflow/paper/claims.csv is about."""
    claimed = {
        (variant, dataset)
        for claim in paper.claims()
        for variant in (claim["left"], *claim["right"].split())
        for dataset in claim["datasets"].split()
    }
    return [cell for cell in cells_of(config) if (cell.key, cell.dataset) in claimed]


def jobs(config: dict) -> dict[Job, list[Cell]]:
    """Return the cells of each job: those of tables and named_cells, without the cells of `protocol.once`."""
    by_job: dict[Job, list[Cell]] = {}
    for cell in [*table_cells(config, *tables.DEFINITIONS), *named_cells(config)]:
        if not any(fnmatch(cell.key, pattern) for pattern in config["protocol"]["once"]):
            by_job.setdefault(Job(cell.registered.problem, cell.dataset), []).append(cell)
    return by_job


def targets(config: dict) -> dict[str, list[Cell]]:
    """Return the cells of each target that is the name of a dataset, an algorithm or a variant.

    The named_cells belong to their dataset's target only.
    """
    result: dict[str, list[Cell]] = {}
    by_name = set(named_cells(config))
    for cell in cells_of(config):
        for name in (cell.dataset,) if cell in by_name else cell:
            result.setdefault(name, []).append(cell)
    return result


def simulated_datasets(config: dict) -> list[str]:
    return [name for name, entry in config["datasets"].items() if entry.get("simulate")]


def simulated_cells(config: dict) -> list[Cell]:
    """Return the cells that are simulated without a GPU; CUDA-graph variants launch what their plain ones do."""
    return [cell for cell in cells_of(config, simulated_datasets(config)) if not cell.registered.cuda_graph]


def no_dataset(config: dict, dataset: str) -> str:
    return f"there is no dataset {dataset!r}: choose one of {', '.join(config['datasets'])}"
