"""Which cells there are: those of a table, a figure, a claim or a target; which can be made here, and how.

A cell is one variant on one dataset, here a tuple (algorithm, variant, dataset).
"""

import json
from fnmatch import fnmatch
from pathlib import Path

from kernels import generate
from kernels.errors import InputError
from kernels.gpu import driver
from kernels.library import choice
from kernels.registry import VARIANTS, find, select
from workflow.store import paper
from workflow.views import tables

# What of a dataset's entry decides what the graph is; the rest may change without anything being due.
IDENTITY = ("sources", "format", "sha256", "vertices", "arcs", "directed", "weights", "generate", "substitute")
TABLES = list(tables.DEFINITIONS)
PAPER_TABLES = tables.PAPER_TABLES
Cell = tuple[str, str, str]
OF_BATCHES = ("batch", "batches", "once")  # keys of `protocol` that a cell is not measured by
NEEDS_GPU = "cannot be measured here: there is no GPU, or the CUDA simulator was asked for"


def simulating(config: dict) -> bool:
    """Whether GPU variants run in numba's simulator: by the environment, else as `mode` says."""
    if driver.simulated() or config["mode"] == "simulator":
        return True
    return config["mode"] == "auto" and not choice.gpu_visible()


def cells(config: dict, datasets=None) -> list[Cell]:
    """The cells that config names (of the given datasets)."""
    found = []
    for dataset in datasets or config["datasets"]:
        entry = config["datasets"][dataset]
        for key, on_gpu in (("cpu", False), ("gpu", True)):
            for pattern in entry.get(key, []):
                try:
                    chosen = select(pattern, on_gpu)
                except InputError as error:
                    raise InputError(f"config: datasets.{dataset}.{key}: {error}") from None
                skipped = {v.key for v in chosen for skip in entry.get("skip", []) if fnmatch(v.key, skip)}
                found += [(v.algorithm, v.name, dataset) for v in chosen if v.key not in skipped]
    return list(dict.fromkeys(found))


def family_cells(config: dict) -> list[Cell]:
    """The cells on datasets of families: no target makes them that does not name them."""
    return [cell for cell in cells(config) if generate.kind_of(config["datasets"][cell[2]])]


def _in_tables(config: dict) -> tables.Datasets:
    """The datasets that are measured for the tables that show them: all but those of families."""
    return tables.of_family("", tables.of_config(config))


def table_cells(config: dict, *names: str) -> list[Cell]:
    """The cells that config names and any of these tables shows, but for those of families."""
    shown = {cell for name in names for cell in tables.define(name, _in_tables(config)).cells}
    return [cell for cell in cells(config) if (f"{cell[0]}/{cell[1]}", cell[2]) in shown]


def figure_cells(config: dict, figure: str, table: str) -> list[Cell]:
    """The cells of a table that a figure draws."""
    drawn = tables.heads(figure)
    return [cell for cell in table_cells(config, table) if f"{cell[0]}/{cell[1]}" in drawn]


def compared_cells(config: dict) -> list[Cell]:
    """As table_cells, of any table: all cells with the problem that the table shows."""
    pairs = set(tables.shown_pairs(_in_tables(config)))
    return [cell for cell in cells(config) if (find(*cell[:2]).problem, cell[2]) in pairs]


def claimed_cells(config: dict) -> list[Cell]:
    """The cells that a claim of workflow/paper/claims.csv is about and config names."""
    claimed = {
        (variant, dataset)
        for claim in paper.claims()
        for variant in (claim["left"], *claim["right"].split())
        for dataset in claim["datasets"].split()
    }
    return [cell for cell in cells(config) if (f"{cell[0]}/{cell[1]}", cell[2]) in claimed]


def jobs(config: dict) -> dict[tuple[str, str], list[Cell]]:
    """By problem and dataset, the cells that a job measures together: all that tables, figures and claims compare, and
    all of families.

    Without the cells of `protocol.once`.
    """
    found: dict[tuple[str, str], list[Cell]] = {}
    for cell in [*table_cells(config, *TABLES), *family_cells(config)]:
        variant = find(*cell[:2])
        if not any(fnmatch(variant.key, pattern) for pattern in config["protocol"]["once"]):
            found.setdefault((variant.problem, cell[2]), []).append(cell)
    return found


def targets(config: dict) -> dict[str, list[Cell]]:
    """The cells behind each target that is a dataset's, an algorithm's or a variant's name; of families a dataset's."""
    result: dict[str, list[Cell]] = {}
    named = set(family_cells(config))
    for cell in cells(config):
        for name in cell[2:] if cell in named else cell:
            result.setdefault(name, []).append(cell)
    return result


def refusal(config: dict, algorithm: str, variant: str, dataset: str, place: str) -> str | None:
    """Why the cell cannot be made under results/<place>/, or None."""
    try:
        found = find(algorithm, variant)
    except InputError as error:
        return str(error)
    if dataset not in config["datasets"]:
        return no_dataset(config, dataset)
    if place == "simulated":
        if not simulating(config):
            return "simulated cells are only made in mode simulator (config.yaml, mode)"
        if config["datasets"][dataset].get("simulate"):
            return None
        return (
            f"{dataset} is too large for the CUDA simulator: take "
            f"{' or '.join(name for name, entry in config['datasets'].items() if entry.get('simulate'))}"
        )
    if not simulating(config) or not found.on_gpu:
        return None
    return f"{algorithm}/{variant} on {dataset} {NEEDS_GPU}: run it on a machine with a GPU"


def no_source(config: dict, wanted: list[Cell]) -> str | None:
    """Why `protocol.source` is no source for one of the cells, by its dataset's entry; None where it is for all."""
    source = config["protocol"]["source"]
    for algorithm, variant, dataset in wanted:
        vertices = config["datasets"][dataset]["vertices"]
        if find(algorithm, variant).problem == "sssp" and source >= vertices:
            return (
                f"config: protocol.source: {source} is not a vertex of {dataset}: choose one from 0 to {vertices - 1}"
            )
    return None


def makeable(config: dict, wanted: list[Cell]) -> tuple[list[tuple[str, Cell]], list[Cell]]:
    """What a target makes here of its cells, each with its place, and the cells that it skips.

    Where there is a GPU all are measured. Elsewhere those of a dataset that has `simulate` are checked in the
    simulator, other CPU variants are measured, and other GPU variants are skipped.
    """
    made, skipped = [], []
    for cell in wanted:
        place = next((place for place in ("simulated", "cells") if not refusal(config, *cell, place)), None)
        if place:
            made.append((place, cell))
        else:
            skipped.append(cell)
    return made, skipped


def simulated_cells(config: dict) -> list[Cell]:
    """The cells that are checked where there is no GPU; a CUDA-graph variant launches what its plain one does."""
    simulate = [name for name, entry in config["datasets"].items() if entry.get("simulate")]
    return [cell for cell in cells(config, simulate) if not find(*cell[:2]).cuda_graph] if simulate else []


def measured_here() -> list[Path]:
    """The files in results/cells/ and results/batches/ that are shown where there is no GPU.

    None where there is no batch and all cells are of CPU variants: a few CPU times do not take the archive's place.
    """
    cells, jobs = (sorted(Path("results").glob(files)) for files in ("cells/*/*/*.csv", "batches/*/*/*/timings.csv"))
    on_gpu = {key for key, variant in VARIANTS.items() if variant.on_gpu}
    shown = jobs or any("/".join(path.parts[-3:-1]) in on_gpu for path in cells)
    return [*cells, *jobs] if shown else []


def measured_files() -> list[Path]:
    """All measurements that results/ has, but for the archives': jobs of batches, then cells."""
    return [
        *sorted(Path("results/batches").glob("*/*/*/timings.csv")),
        *sorted(Path("results/cells").glob("*/*/*.csv")),
    ]


def no_dataset(config: dict, dataset: str) -> str:
    return f"there is no dataset {dataset!r}: choose one of {', '.join(config['datasets'])}"


def identity(entry: dict) -> dict:
    """Return what decides a dataset's graph, with its keys in one order: Snakemake compares parameters as text."""
    return json.loads(json.dumps({key: entry[key] for key in IDENTITY if key in entry}, sort_keys=True))


def on_gpu(algorithm: str, variant: str) -> bool:
    return find(algorithm, variant).on_gpu


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
