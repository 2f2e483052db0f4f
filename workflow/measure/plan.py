"""The cells of each table, figure, claim and target; which of them can be measured here, and how."""

import json
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from kernels import generate
from kernels.errors import InputError
from kernels.gpu import driver
from kernels.library import choice
from kernels.registry import VARIANTS, Variant, find, select
from workflow.store import paper, revisions, tables

# The keys of a dataset's entry that define its graph; a change to other keys makes nothing due.
IDENTITY = ("sources", "format", "sha256", "vertices", "arcs", "directed", "weights", "generate", "zero", "substitute")
PAPER_TABLES = tables.PAPER_TABLES
OF_BATCHES = ("batch", "batches", "once", "keep_going")  # keys of `protocol` that do not change how a cell is measured
NEEDS_GPU = "cannot be measured here: there is no GPU, or the CUDA simulator was requested"


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
        return revisions.of(self.registered)


class Job(NamedTuple):
    """All cells that are compared on one dataset for one problem."""

    problem: str
    dataset: str


def simulating(config: dict) -> bool:
    """Return whether GPU variants run in numba's simulator: by the environment, else by `mode`."""
    if driver.simulated() or config["mode"] == "simulator":
        return True
    return config["mode"] == "auto" and not choice.gpu_visible()


def cells(config: dict, datasets: Iterable[str] | None = None) -> list[Cell]:
    """Return the cells that config names, of the given datasets or of all."""
    found = []
    for dataset in config["datasets"] if datasets is None else datasets:
        entry = config["datasets"][dataset]
        for key, on_gpu in (("cpu", False), ("gpu", True)):
            for pattern in entry.get(key, []):
                try:
                    chosen = select(pattern, on_gpu)
                except InputError as error:
                    raise InputError(f"config: datasets.{dataset}.{key}: {error}") from None
                kept = [v for v in chosen if not any(fnmatch(v.key, skip) for skip in entry.get("skip", []))]
                found += [Cell(v.algorithm, v.name, dataset) for v in kept]
    return list(dict.fromkeys(found))


def named_cells(config: dict) -> list[Cell]:
    """Return the cells on datasets of families or with `by_name`; only targets that name them make them."""
    entries = config["datasets"]
    return [c for c in cells(config) if generate.kind_of(entries[c.dataset]) or entries[c.dataset].get("by_name")]


def family_cells(config: dict) -> list[Cell]:
    """Return the cells that the target `families` makes: of named_cells those on datasets without `by_name`."""
    return [cell for cell in named_cells(config) if not config["datasets"][cell.dataset].get("by_name")]


def _in_tables(config: dict) -> tables.Datasets:
    """Return the datasets that the tables need measured: all but those of families."""
    return tables.of_family("", tables.of_config(config))


def table_cells(config: dict, *names: str) -> list[Cell]:
    """Return the cells that any of these tables shows, but for those of families."""
    shown = {cell for name in names for cell in tables.define(name, _in_tables(config)).cells}
    return [cell for cell in cells(config) if (cell.key, cell.dataset) in shown]


def figure_cells(config: dict, figure: str, table: str) -> list[Cell]:
    """Return the cells of a table that a figure draws."""
    drawn = tables.heads(figure)
    return [cell for cell in table_cells(config, table) if cell.key in drawn]


def compared_cells(config: dict) -> list[Cell]:
    """Return all cells on the datasets of tables, with the problem that the table shows."""
    pairs = set(tables.shown_pairs(_in_tables(config)))
    return [cell for cell in cells(config) if (cell.registered.problem, cell.dataset) in pairs]


def claimed_cells(config: dict) -> list[Cell]:
    """Return the cells that a claim of workflow/paper/claims.csv is about."""
    claimed = {
        (variant, dataset)
        for claim in paper.claims()
        for variant in (claim["left"], *claim["right"].split())
        for dataset in claim["datasets"].split()
    }
    return [cell for cell in cells(config) if (cell.key, cell.dataset) in claimed]


def jobs(config: dict) -> dict[Job, list[Cell]]:
    """Return the cells of each job: those of tables and named_cells, without the cells of `protocol.once`."""
    found: dict[Job, list[Cell]] = {}
    for cell in [*table_cells(config, *tables.DEFINITIONS), *named_cells(config)]:
        if not any(fnmatch(cell.key, pattern) for pattern in config["protocol"]["once"]):
            found.setdefault(Job(cell.registered.problem, cell.dataset), []).append(cell)
    return found


def targets(config: dict) -> dict[str, list[Cell]]:
    """Return the cells of each target that is the name of a dataset, an algorithm or a variant.

    The named_cells belong to their dataset's target only.
    """
    result: dict[str, list[Cell]] = {}
    by_name = set(named_cells(config))
    for cell in cells(config):
        for name in (cell.dataset,) if cell in by_name else cell:
            result.setdefault(name, []).append(cell)
    return result


def refusal(config: dict, cell: Cell, folder: str = "cells") -> str:
    """Return why the cell cannot be made in results/<folder>/; an empty text if it can."""
    try:
        on_gpu = cell.registered.on_gpu
    except InputError as error:
        return str(error)
    if cell.dataset not in config["datasets"]:
        return no_dataset(config, cell.dataset)
    if folder == "simulated":
        small = simulated_datasets(config)
        if not simulating(config):
            return "cells are simulated only in the mode simulator: set mode in config.yaml"
        if cell.dataset not in small:
            return f"{cell.dataset} is too large for the CUDA simulator: choose {' or '.join(small)}"
    elif on_gpu and simulating(config):
        return f"{cell.key} on {cell.dataset} {NEEDS_GPU}: run it on a machine with a GPU"
    return ""


def check(config: dict, wanted: Iterable[Cell], folder: str = "cells") -> None:
    """Raise InputError for the first cell that cannot be made in results/<folder>/ or lacks `protocol.source`."""
    source = config["protocol"]["source"]
    for cell in wanted:
        if why := refusal(config, cell, folder):
            raise InputError(why)
        vertices = config["datasets"][cell.dataset]["vertices"]
        if cell.registered.problem == "sssp" and source >= vertices:
            where = f"{source} is not a vertex of {cell.dataset}"
            raise InputError(f"config: protocol.source: {where}: choose one from 0 to {vertices - 1}")


def makeable(config: dict, wanted: Iterable[Cell]) -> tuple[list[tuple[str, Cell]], list[Cell]]:
    """Return the cells that can be made here, each with its folder in results/, and the cells that cannot.

    With a GPU all are measured. Without one, cells of datasets with `simulate` are simulated, and other CPU variants
    are measured.
    """
    made, skipped = [], []
    for cell in wanted:
        folder = next((folder for folder in ("simulated", "cells") if not refusal(config, cell, folder)), None)
        if folder:
            made.append((folder, cell))
        else:
            skipped.append(cell)
    return made, skipped


def simulated_datasets(config: dict) -> list[str]:
    return [name for name, entry in config["datasets"].items() if entry.get("simulate")]


def simulated_cells(config: dict) -> list[Cell]:
    """Return the cells that are simulated without a GPU; CUDA-graph variants launch what their plain ones do."""
    return [cell for cell in cells(config, simulated_datasets(config)) if not cell.registered.cuda_graph]


def measured_here() -> list[Path]:
    """Return the measurements in results/ that are shown in place of the archive without a GPU: cells, then jobs.

    A few CPU times stand beside the archive: there must be a job, or a cell of a GPU variant.
    """
    cells, jobs = _cell_files(), _job_files()
    on_gpu = {key for key, variant in VARIANTS.items() if variant.on_gpu}
    shown = jobs or any("/".join(path.parts[-3:-1]) in on_gpu for path in cells)
    return [*cells, *jobs] if shown else []


def measured_files() -> list[Path]:
    """Return all measurements in results/ but the archives': jobs, then cells."""
    return [*_job_files(), *_cell_files()]


def _cell_files() -> list[Path]:
    return sorted(Path("results/cells").glob("*/*/*.csv"))


def _job_files() -> list[Path]:
    return sorted(Path("results/batches").glob("*/*/*/timings.csv"))


def no_dataset(config: dict, dataset: str) -> str:
    return f"there is no dataset {dataset!r}: choose one of {', '.join(config['datasets'])}"


def identity(entry: dict) -> dict:
    """Return the keys that define a dataset's graph, sorted, since Snakemake compares parameters as text."""
    return json.loads(json.dumps({key: entry[key] for key in IDENTITY if key in entry}, sort_keys=True))


def protocol_of(config: dict, algorithm: str = "", variant: str = "", simulated: bool = False) -> dict:
    """Return how cells (of a variant) are measured, or simulated: then with the simulator's blocks and tiles."""
    found = config["protocol"] | (config["simulator"] if simulated else {})
    found = {key: value for key, value in found.items() if key not in OF_BATCHES}
    if variant and find(algorithm, variant).ours:
        found |= {key: max(found[key], least) for key, least in config["extensions"].items()}
    return found


def settings_text(protocol: dict) -> str:
    """Return a protocol as one line, which Snakemake compares and shows."""
    return " ".join(f"{name}={value}" for name, value in sorted(protocol.items()))
