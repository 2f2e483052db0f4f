"""Join batches and cells into one CSV of measurements and one JSON of their records."""

from pathlib import Path

from kernels.errors import InputError
from kernels.harness import RunSettings
from kernels.io import atomic
from kernels.registry import find
from workflow.store import records
from workflow.store.measurements import load, schema


def read(files: list[Path]) -> tuple[list[dict[str, str]], dict[str, dict]]:
    """Read the rows of jobs and cells as text, and their records by name.

    Raises InputError for a simulated run, an inconsistent file, a missing record, or a wrong number of launches.
    """
    load(files)  # checks that the files fit together, too
    rows, provenance = [], {}
    for path in files:
        of_file, found = schema().text([path]), records.of_table(path)
        records.require(map(records.name, of_file), found, path)
        for row in of_file:
            _check_launches(path, row, found[records.name(row)])
        rows += of_file
        provenance |= found
    return rows, provenance


def _check_launches(path: Path, row: dict[str, str], record: dict) -> None:
    variant, tile = find(row["algorithm"], row["variant"]), record["protocol"].get("tile", RunSettings.tile)
    expected = variant.launches(int(row["vertices"]), tile)
    if row["status"] == "ok" and expected is not None and int(row["launches"]) != expected:
        raise InputError(f"{path}: {row['launches']} kernels were launched, but {variant.key} launches {expected}")


def write(
    rows: list[dict[str, str]], provenance: dict[str, dict], table: Path, record: Path, *, bound: bool = True
) -> None:
    """Write both files, or neither. bound: whether the record has the digest of the table."""
    text = schema().to_csv(rows, table)
    with atomic(table, "w") as csv_file, atomic(record, "w") as json_file:
        csv_file.write(text)
        json_file.write(records.text(provenance, text if bound else None))
