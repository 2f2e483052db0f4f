"""Keep measurements in git: results/archive/<gpu>/ with the same files as results/, and its tables, figures and pages.

A file goes to the archive of the card that it was measured on, and replaces the file of that name there. Jobs without a
GPU variant go where their batch goes; CPU cells measured alone go where any GPU rows go, or into the default archive.
"""

import logging
import re
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from kernels.errors import InputError
from kernels.gpu import SIMULATOR
from kernels.io import atomic
from kernels.registry import find
from workflow.store import all_pairs, benchmarks, collect, measurements, records, tables
from workflow.views import catalogue
from workflow.views.context import Context, write

KEPT = (".csv", ".md", ".png")  # of the files that views make; all others can be made again
PICTURES = ["png"]
# The other files that are kept, each of one card, with their readers; by the name that views have for them.
OTHERS = {
    "delta_sweep": ("delta_sweep.csv", partial(measurements.load_sweep, "delta_sweep")),
    "stride_sweep": ("stride_sweep.csv", partial(measurements.load_sweep, "stride_sweep")),
    "sources": ("sources/*.csv", partial(measurements.load_sweep, "sources")),
    "many_sources": ("many_sources/*.csv", benchmarks.MANY_SOURCES.read),
    "peak": ("peak.csv", benchmarks.load_peak),
}
ALL_PAIRS = "all_pairs/*.json"
Names = dict[Path, set[str]]  # of the archives that a file goes to


def slug(device: str) -> str:
    """Name the folder of a card: h200 for NVIDIA H200."""
    words = re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-").split("-")
    return "-".join(word for word in words if word not in ("nvidia", "geforce", "tesla")) or "unnamed"


def jobs_and_cells(results: Path, config: dict) -> Names:
    """Return the archives of jobs and cells, but for files that have only `unavailable` rows."""
    names: Names = {}
    batches: dict[Path, str] = {}
    of_batch: dict[str, set[str]] = {}
    for path in measurements.files(results):
        rows = [row for row in collect.read([path]) if row["status"] != "unavailable"]
        for row in rows:
            if (expected := results / measurements.place(row)) != path:
                raise InputError(f"{path}: has rows that belong in {expected}: move the file, or correct the rows")
        if rows:
            on_gpu = [row for row in rows if find(row["algorithm"], row["variant"]).on_gpu]
            names[path], batches[path] = {slug(row["device"]) for row in on_gpu}, rows[0]["batch"]
            of_batch.setdefault(batches[path], set()).update(names[path])
    everywhere = set().union(*of_batch.values())
    for path, batch in batches.items():
        names[path] = names[path] or (of_batch[batch] if batch else everywhere) or {config["archive"]}
    return names


def others(results: Path) -> Names:
    """Return the archives of the files of OTHERS."""
    names = {}
    for pattern, read in OTHERS.values():
        for path in sorted(results.glob(pattern)):
            if (rows := read([path])).empty:
                raise InputError(f"{path}: no rows: delete it and measure again")
            names[path] = {slug(rows["device"].iloc[0])}
    return names


def searched(results: Path) -> Names:
    """Return the archives of the records of all pairs that were searched on cards of one model."""
    names = {}
    for path in sorted(results.glob(ALL_PAIRS)):
        devices = sorted({part["device"] for part in all_pairs.read_record(path)["parts"]})
        if len(devices) > 1:
            logging.warning(
                "%s: not archived: measured on %s, but an archive is for one model of card", path, " and ".join(devices)
            )
        elif devices != [SIMULATOR]:
            names[path] = {slug(devices[0])}
    return names


def check_host(job: Path, archived: Path) -> None:
    """Raise InputError if the archive's job, which would be replaced, is of another host. A batch may have several."""
    mine, old = ({row["host_id"] for row in measurements.schema().text([path])} for path in (job, archived))
    if mine != old:
        raise InputError(
            f"{job}: the archive has this job from another host, {archived}: rename this batch: its folder in "
            f"results/batches/, and the name in the files there, and delete {records.TABLE} there"
        )


def copies(measured: Names, archives: Path, results: Path) -> Iterator[tuple[Path, Path]]:
    """Yield each file to copy and where to; raises as `check_host`."""
    for path, names in measured.items():
        for folder in (archives / name for name in sorted(names)):
            place = path.relative_to(results)
            if place.name == "timings.csv" and (folder / place).exists():
                check_host(path, folder / place)
            for file in (path, records.beside(path)):
                if file.exists():
                    yield file, folder / file.relative_to(results)


def draw_archive(archive: Path, config: dict) -> None:
    """Draw the tables, figures and pages of an archive; keep those of KEPT."""
    datasets = tables.of_config(config)
    rows = measurements.load_folder(archive, datasets)
    patterns = {name: pattern for name, (pattern, _) in OTHERS.items()} | {"all_pairs": ALL_PAIRS}
    patterns["library_times"] = "library_times.csv"
    files = {name: measurements.files_of_datasets(archive, pattern, datasets) for name, pattern in patterns.items()}
    files["other cards"] = [  # the picture of the claims has them too
        folder for folder in sorted(archive.parent.glob("*/")) if folder != archive and measurements.files(folder)
    ]
    source, tolerance = f"From the archive {archive.name}.", config["audit"]["tolerance"]
    context = Context(source=source, datasets=datasets, tolerance=tolerance, files=files, config=config)
    measured = {*zip(measurements.variants(rows), rows["dataset"], strict=True)}
    with tempfile.TemporaryDirectory(dir=archive) as name:
        drawn = Path(name)
        for view in catalogue.VIEWS:
            there = not view.optional or tables.define(view.columns, datasets).cells & measured
            if view.archived and there and all(files.get(name) for name in view.needs):
                write(view.render(rows, context), drawn, drawn, PICTURES)
        for made in drawn.iterdir():
            if made.suffix in KEPT:
                made.replace(archive / made.name)


def archive(results: Path, config: dict) -> None:
    """Copy all measurements of a folder of results to archives, and draw all archives.

    An archive's picture of the claims has the cards of the others too.
    """
    archives = results / "archive"
    measured = jobs_and_cells(results, config) | others(results) | searched(results)
    for path, to in list(copies(measured, archives, results)):
        with open(path, "rb") as source, atomic(to) as target:
            shutil.copyfileobj(source, target)
        logging.info("copied %s", to)
    if not (shown := [folder for folder in sorted(archives.glob("*/")) if measurements.files(folder)]) and not measured:
        raise InputError(f"{results}/cells: nothing was measured yet: run snakemake on a machine with a GPU first")
    for folder in shown:
        draw_archive(folder, config)
