"""Join batches and cells into one CSV of measurements and one JSON of what they ran on."""

from pathlib import Path

from kernels.errors import InputError
from kernels.harness import Protocol
from kernels.io import atomic
from kernels.registry import find
from workflow.store import records
from workflow.store.measurements import load, schema


def read(files: list[Path]) -> tuple[list[dict[str, str]], dict[str, dict]]:
    """The rows of jobs and cells as they stand in the files, and what they were measured on, by records.name.

    Raises InputError where a file is simulated, does not hold together, or a variant was launched otherwise than it is.
    """
    rows, provenance = [], {}
    load(files)
    for path in files:
        of_file = schema().text([path])
        found = records.of(path, {row["batch"] for row in of_file})
        for row in of_file:
            if (name := records.name(row)) not in found:
                raise InputError(f"{records.beside(path)}: no record of {name}: delete {path} and measure again")
            check_launches(path, row, found[name]["protocol"].get("tile", Protocol.tile))
        rows += of_file
        provenance |= found
    return rows, provenance


def check_launches(path: Path, row: dict[str, str], tile: int) -> None:
    if row["status"] != "ok":
        return
    variant = find(row["algorithm"], row["variant"])
    expected = variant.launches(int(row["vertices"]), tile)
    if expected is not None and int(row["launches"]) != expected:
        raise InputError(f"{path}: {row['launches']} kernels were launched, {variant.key} launches {expected}")


def write(rows: list[dict[str, str]], provenance: dict[str, dict], table: Path, record: Path) -> None:
    """Write both files, or neither."""
    text = schema().to_csv(rows, table)
    with atomic(table, "w") as csv_file, atomic(record, "w") as json_file:
        csv_file.write(text)
        json_file.write(records.text(provenance))
