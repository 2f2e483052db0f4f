"""Keep measurements in git: results/archive/<gpu>/ with timings.csv, provenance.json, tables, figures and the audit.

Also kept are the files of PLAIN and, of all pairs, the record of each dataset, all_pairs/<dataset>.json.

A new batch is added; rows of the same cell and batch are replaced, and so are rows that were measured alone; `standing`
drops rows of older code. `unavailable` rows are left out. CPU rows of a batch go where its GPU rows go; CPU cells
measured alone go where any GPU rows go, or into the default archive.
"""

import logging
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path

from kernels.errors import InputError
from kernels.gpu import SIMULATOR
from kernels.io import atomic
from kernels.registry import VARIANTS, find
from workflow.store import all_pairs, benchmarks, collect, columns, measurements, records, revisions, tables
from workflow.store.columns import Measurements
from workflow.views import catalogue
from workflow.views.context import Context, write

KEPT = (".csv", ".md", ".png")  # of the files that views make; all others can be made again
PICTURES = ["png"]
# Files that are kept unchanged, with their readers.
PLAIN = {
    **{f"{sweep}.csv": partial(measurements.load_sweep, sweep) for sweep in columns.SWEEPS},
    "peak.csv": benchmarks.load_peak,
    "many_sources.csv": benchmarks.MANY_SOURCES.read,
}
# Files whose datasets may be measured at different times, with their schemas: rows of other datasets stay.
BY_DATASET = {
    "sources.csv": measurements.schema(columns.SWEEPS["sources"]),
    "many_sources.csv": benchmarks.MANY_SOURCES,
}


def slug(device: str) -> str:
    """Name the folder of a card: h200 for NVIDIA H200."""
    words = re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-").split("-")
    return "-".join(word for word in words if word not in ("nvidia", "geforce", "tesla")) or "unnamed"


def cell(row: dict[str, str]) -> str:
    return "/".join(row[key] for key in measurements.CELL)


def order_of_datasets(rows: list[dict[str, str]], config: dict) -> dict[str, int]:
    """Return the position of each dataset: the configuration's in their order, then the others alphabetically."""
    names = [*tables.of_config(config), *sorted({row["dataset"] for row in rows})]
    return {name: number for number, name in enumerate(dict.fromkeys(names))}


def merged(old: list[dict[str, str]], new: list[dict[str, str]]) -> list[dict[str, str]]:
    """Merge rows: new ones replace old ones of the same cell and batch, and only `standing` ones remain.

    Raises InputError if a new batch has the name of an old one of another host.
    """
    replaced = {records.name(row) for row in new}
    hosts = {records.name(row): row["host_id"] for row in old if row["batch"]}
    for row in new:
        if hosts.get(name := records.name(row), row["host_id"]) != row["host_id"]:
            raise InputError(
                f"{name}: the archive has a batch {row['batch']} from another host, which this one would replace: "
                "rename this batch: its folder in results/batches/, and the name in the files there, and delete "
                f"{records.TABLE} there"
            )
    by_cell: dict[str, list[dict[str, str]]] = {}
    for row in [*(row for row in old if records.name(row) not in replaced), *new]:
        by_cell.setdefault(cell(row), []).append(row)
    return [row for of_cell in by_cell.values() for row in standing(of_cell)]


def standing(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the rows of a cell that an archive keeps.

    These are all batches of the newest batch's revision and settings, the last batch of all others, and rows that were
    measured alone with the same revision or later than the newest batch.
    """
    in_batches = sorted((row for row in rows if row["batch"]), key=started)
    if not in_batches:
        return rows
    newest = in_batches[-1]
    former = [row["batch"] for row in in_batches if revision(row) != revision(newest)][-1:]
    return [
        row
        for row in rows
        if revision(row) == revision(newest)
        or (row["batch"] in former if row["batch"] else started(row) > started(newest))
    ]


def revision(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row[column] for column in revisions.COLUMNS)


def started(row: dict[str, str]) -> datetime:
    return datetime.fromisoformat(row["started"])


def keep(rows: list[dict[str, str]], provenance: dict[str, dict], folder: Path, config: dict) -> None:
    """Merge rows into the folder's archive, and draw its tables, figures and audit again."""
    table, record = folder / "timings.csv", folder / records.ARCHIVED
    if table.exists():
        rows, provenance = merged(measurements.schema().text([table]), rows), records.read(record) | provenance
    else:
        rows = merged([], rows)
    variants, datasets = list(VARIANTS), order_of_datasets(rows, config)

    def place(row: dict[str, str]) -> tuple:
        variant = variants.index(f"{row['algorithm']}/{row['variant']}")
        return variant, datasets[row["dataset"]], row["batch"], int(row["round"])

    rows = sorted(rows, key=place)
    names = {records.name(row) for row in rows}
    folder.mkdir(parents=True, exist_ok=True)
    found = {name: record for name, record in provenance.items() if name in names}
    collect.write(rows, found, table, record, bound=False)  # but by SHA256SUMS
    with kept_part(folder) as drawn:
        draw(measurements.load([table]), folder, drawn, config)
    cells, batches = {cell(row) for row in rows}, {row["batch"] for row in rows} - {""}
    logging.info("%s: %d rows of %d cells, %d batches", table, len(rows), len(cells), len(batches))


@contextmanager
def kept_part(folder: Path) -> Iterator[Path]:
    """Give a folder to draw into; its KEPT files are then moved to the archive's folder."""
    with tempfile.TemporaryDirectory(dir=folder) as drawn:
        yield Path(drawn)
        for made in Path(drawn).iterdir():
            if made.suffix in KEPT:
                made.replace(folder / made.name)


def draw(rows: Measurements, archive: Path, folder: Path, config: dict) -> None:
    """Write all tables, figures and pages of an archive's rows into a folder."""
    datasets = tables.of_config(config)
    files = {Path(name).stem: [path] for name in PLAIN if (path := archive / name).exists()}
    files["all_pairs"] = all_pairs.kept(archive, datasets)
    source, tolerance = f"From the archive {archive.name}.", config["audit"]["tolerance"]
    context = Context(source=source, datasets=datasets, tolerance=tolerance, files=files, config=config)
    measured = {*zip(measurements.variants(rows), rows["dataset"], strict=True)}
    for view in catalogue.VIEWS:
        there = not view.optional or tables.define(view.columns, datasets).cells & measured
        if view.archived and there and all(files.get(name) for name in view.needs):
            write(view.render(rows, context), folder, folder, PICTURES)


def keep_plain(measured: Path, archives: Path, config: dict) -> Path:
    """Copy or merge a file of PLAIN into the archive of its card, and return that folder."""
    found = PLAIN[measured.name]([measured])
    if found.empty:
        raise InputError(f"{measured}: no rows: delete it and measure again")
    folder = archives / slug(found["device"].iloc[0])
    target = folder / measured.name
    if (schema := BY_DATASET.get(measured.name)) and target.exists():
        rows = schema.text([measured])
        again = {row["dataset"] for row in rows}
        rows = [*(row for row in schema.text([target]) if row["dataset"] not in again), *rows]
        order = order_of_datasets(rows, config)
        schema.write(sorted(rows, key=lambda row: order[row["dataset"]]), target)
    else:
        copy(measured, target)
    return folder


def searched(results: Path) -> dict[Path, str]:
    """Return the records of all pairs that were searched on cards of one model, and the model's name."""
    found = {}
    for path in sorted(results.glob("all_pairs/*.json")):
        devices = sorted({part["device"] for part in all_pairs.read_record(path)["parts"]})
        if len(devices) > 1:
            logging.warning(
                "%s: not archived: measured on %s, but an archive is for one model of card", path, " and ".join(devices)
            )
        elif devices != [SIMULATOR]:
            (found[path],) = devices
    return found


def copy(measured: Path, to: Path) -> None:
    with open(measured, "rb") as source, atomic(to) as target:
        shutil.copyfileobj(source, target)


def archive(results: Path, config: dict) -> None:
    """Archive all measurements of a folder of results. If there are none, draw all archives again."""
    archives = results / "archive"
    cells = sorted(results.glob("cells/*/*/*.csv")) + sorted(results.glob("batches/*/*/*/timings.csv"))
    plain = [path for name in PLAIN if (path := results / name).exists()]
    wholes = searched(results)
    folders = {keep_plain(path, archives, config) for path in plain}
    if not cells and not plain and not wholes:
        folders = {path.parent for path in archives.glob("*/timings.csv")}
        if not folders:
            raise InputError(f"{results}/cells: nothing was measured yet: run snakemake on a machine with a GPU first")
    for path, device in wholes.items():
        folders.add(folder := archives / slug(device))
        copy(path, folder / "all_pairs" / path.name)
    measured = keep_cells(cells, archives, config) if cells else set()
    for folder in sorted(folders - measured):
        if (folder / "timings.csv").exists():
            keep([], {}, folder, config)


def keep_cells(files: list[Path], archives: Path, config: dict) -> set[Path]:
    """Merge jobs and cells into the archives of their cards, and return these folders."""
    rows, provenance = collect.read(files)
    rows = [row for row in rows if row["status"] != "unavailable"]
    cards: dict[str, set[str]] = {}  # by batch, the cards of its GPU rows
    for row in rows:
        if on_gpu(row):
            cards.setdefault(row["batch"], set()).add(row["device"])
    everywhere = set().union(*cards.values())
    folders: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        beside = cards.get(row["batch"], set()) if row["batch"] else everywhere
        for device in sorted({row["device"]} if on_gpu(row) else beside) or [None]:
            folders.setdefault(slug(device) if device else config["archive"], []).append(row)
    for folder, mine in sorted(folders.items()):
        keep(mine, provenance, archives / folder, config)
    return {archives / folder for folder in folders}


def on_gpu(row: dict[str, str]) -> bool:
    return find(row["algorithm"], row["variant"]).on_gpu
