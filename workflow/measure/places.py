"""Which files hold measurements: cells measured alone in results/cells/, jobs of batches in results/batches/."""

import csv
import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from workflow.measure.host import host_id
from workflow.measure.plan import Cell

Job = tuple[str, str]  # a problem and a dataset
Jobs = Mapping[Job, Sequence[Cell]]  # what each job measures, as plan.jobs gives it
BATCHES = Path("results/batches")


def cell_file(algorithm: str, variant: str, dataset: str, place: str = "cells") -> str:
    return f"results/{place}/{algorithm}/{variant}/{dataset}.csv"


def job_file(batch: str, problem: str, dataset: str) -> str:
    return f"{BATCHES}/{batch}/{problem}/{dataset}/timings.csv"


def batches(config: dict, *, new: bool = False) -> list[str]:
    """The names of the batches that a target makes on this machine: NAME, NAME-2, … up to `protocol.batches`.

    NAME is `protocol.batch`. Where that is empty it is the batch that this machine worked on last, so that a run that
    was cut off goes on; without one, or if new, the date and this machine's id.
    """
    protocol = config["protocol"]
    name = protocol["batch"] or (not new and _last()) or f"{date.today():%Y-%m-%d}-{host_id()}"
    return [name, *(f"{name}-{number}" for number in range(2, protocol["batches"] + 1))]


def _last() -> str | None:
    """The batch that this machine worked on last, without the number of NAME-2; None where it made none."""
    mine = [folder for folder in BATCHES.glob("*") if folder.is_dir() and _of_this_host(folder)]
    if not mine:
        return None
    name = max(mine, key=_changed).name
    first = re.sub(r"-\d+$", "", name)
    return first if (BATCHES / first).is_dir() else name


def _changed(folder: Path) -> float:
    """When a file in the folder was written last, in seconds."""
    return max(path.stat().st_mtime for path in (folder, *folder.rglob("*")))


def _of_this_host(folder: Path) -> bool:
    """Whether this machine made the batch, by its name or by its rows."""
    named = re.search(rf"-{host_id()}(-\d+)?$", folder.name)
    return bool(named) or any(_host(table) == host_id() for table in folder.glob("*/*/timings.csv"))


def _host(table: Path) -> str | None:
    """The host_id in the first row of a CSV of measurements."""
    with open(table, newline="", encoding="utf-8", errors="replace") as file:
        return next(csv.DictReader(file), {}).get("host_id")


def to_make(jobs: Jobs, names: Sequence[str], wanted: Sequence[Cell]) -> list[str]:
    """The files of the jobs that measure wanted cells, in each of these batches; then of the cells that no job does."""
    mine, alone = _split(jobs, wanted)
    return [*(job_file(name, *job) for name in names for job in mine), *(cell_file(*cell) for cell in alone)]


def measured(jobs: Jobs, names: Sequence[str], wanted: Sequence[Cell], also: Sequence[Cell] = ()) -> list[str]:
    """The files of to_make, then those that are there: other batches of the same jobs, wanted cells measured alone too.

    The latter have absolute paths: no rule makes them, so that none is due. also: cells of which only these are taken.
    """
    made = to_make(jobs, names, wanted)
    wanted = [*wanted, *also]
    mine, _ = _split(jobs, wanted)
    there = [path for job in mine for path in sorted(BATCHES.glob(job_file("*", *job).removeprefix(f"{BATCHES}/")))]
    there += [path for cell in wanted if (path := Path(cell_file(*cell))).exists()]
    return [*made, *(str(path.resolve()) for path in there if str(path) not in made)]


def _split(jobs: Jobs, wanted: Sequence[Cell]) -> tuple[list[Job], list[Cell]]:
    """The jobs that measure any of the wanted cells, and the cells that no job measures."""
    job_of = {cell: job for job, held in jobs.items() for cell in held}
    mine = dict.fromkeys(job_of[cell] for cell in wanted if cell in job_of)
    return list(mine), [cell for cell in wanted if cell not in job_of]
