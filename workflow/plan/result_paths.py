"""The files of measurements: cells measured alone in results/cells/, jobs of batches in results/batches/.

Results are in the working directory. Archives and the paper's data are in the project's folder if they are not here.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from kernels.registry import VARIANTS
from workflow.measure.host import host_id
from workflow.plan.experiments import Cell, Job
from workflow.store import measurements

ROOT = Path(__file__).parents[2]  # the project's folder
BATCHES = Path("results/batches")
Jobs = Mapping[Job, Sequence[Cell]]  # see experiments.jobs


def existing(*files: str) -> list[str]:
    return [path for path in files if Path(path).exists()]


def of_project(path: str) -> str:
    """Return a path relative to the working directory if it exists there or nowhere, else in the project's folder."""
    return str(ROOT / path) if not Path(path).exists() and (ROOT / path).exists() else path


def archives(config: dict) -> list[str]:
    """Return the folders of all archives, first the one that the configuration names."""
    tops = Path("results/archive"), ROOT / "results/archive"
    folders = {path.name: str(path) for top in tops[::-1] for path in top.glob("*") if measurements.files(path)}
    named = config["archive"]
    first = folders.pop(named, f"results/archive/{named}")
    return [first, *(folders[name] for name in sorted(folders))]


def graph_file(dataset: str) -> str:
    return f"resources/graphs/{dataset}.npz"


def cell_file(algorithm: str, variant: str, dataset: str, folder: str = "cells") -> str:
    return f"results/{folder}/{algorithm}/{variant}/{dataset}.csv"


def job_file(batch: str, problem: str, dataset: str) -> str:
    return f"{BATCHES}/{batch}/{problem}/{dataset}/timings.csv"


def batches(config: dict, *, new: bool = False) -> list[str]:
    """Return the names of the batches that a target makes here: NAME, NAME-2, … up to `protocol.batches`.

    NAME is `protocol.batch`. If that is empty, it is the batch that this machine worked on last, so that a run that was
    cut off goes on. If there is none, or if `new`, it is the date and this machine's id.
    """
    protocol = config["protocol"]
    name = protocol["batch"] or (not new and _last()) or f"{date.today():%Y-%m-%d}-{host_id()}"
    return [name, *(f"{name}-{number}" for number in range(2, protocol["batches"] + 1))]


def _last() -> str | None:
    """Return the batch that this machine worked on last, without the number of NAME-2; None if it made none."""
    mine = [folder for folder in BATCHES.glob("*") if folder.is_dir() and _of_this_host(folder)]
    if not mine:
        return None
    name = max(mine, key=lambda folder: max(path.stat().st_mtime for path in (folder, *folder.rglob("*")))).name
    first = re.sub(r"-\d+$", "", name)
    return first if (BATCHES / first).is_dir() else name


def _of_this_host(folder: Path) -> bool:
    """Tell by the batch's name or rows whether this machine made it."""
    named = re.search(rf"-{host_id()}(-\d+)?$", folder.name)
    return bool(named) or any(_host(table) == host_id() for table in folder.glob("*/*/timings.csv"))


def _host(table: Path) -> str | None:
    """Return the host_id in the first row of a CSV of measurements."""
    with open(table, newline="", encoding="utf-8", errors="replace") as file:
        return next(csv.DictReader(file), {}).get("host_id")


def to_make(jobs: Jobs, names: Sequence[str], wanted: Sequence[Cell]) -> list[str]:
    """Return the files of the jobs that measure wanted cells, in each of these batches; then of cells in no job."""
    mine, alone = _split(jobs, wanted)
    return [*(job_file(name, *job) for name in names for job in mine), *(cell_file(*cell) for cell in alone)]


def files_of_cells(jobs: Jobs, names: Sequence[str], wanted: Sequence[Cell], also: Sequence[Cell] = ()) -> list[str]:
    """Return the files of to_make, then existing ones: of other batches, and of wanted cells measured alone.

    also: cells of which only existing files are returned. Existing files have absolute paths, so that Snakemake treats
    them as inputs that no rule makes.
    """
    made = to_make(jobs, names, wanted)
    wanted = [*wanted, *also]
    mine, _ = _split(jobs, wanted)
    existing = [path for job in mine for path in sorted(Path().glob(job_file("*", *job)))]
    existing += [path for cell in wanted if (path := Path(cell_file(*cell))).exists()]
    return [*made, *(str(path.resolve()) for path in existing if str(path) not in made)]


def measured_here() -> list[Path]:
    """Return the measurements in results/ that are shown in place of the archive without a GPU: jobs, then cells.

    Cells of CPU variants alone do not replace an archive: `compare` shows them.
    """
    files = measured_files()
    on_gpu = {key for key, variant in VARIANTS.items() if variant.on_gpu}
    shown = any(path.name == "timings.csv" or "/".join(path.parts[-3:-1]) in on_gpu for path in files)
    return files if shown else []


def measured_files() -> list[Path]:
    """Return all measurements in results/ but the archives': jobs, then cells."""
    return measurements.files("results")


def _split(jobs: Jobs, wanted: Sequence[Cell]) -> tuple[list[Job], list[Cell]]:
    """Return the jobs that measure any of the wanted cells, and the cells that no job measures."""
    job_of = {cell: job for job, cells in jobs.items() for cell in cells}
    mine = dict.fromkeys(job_of[cell] for cell in wanted if cell in job_of)
    return list(mine), [cell for cell in wanted if cell not in job_of]
