"""Check measurements in files that are joined or kept: their records, and the numbers of launches."""

from collections.abc import Sequence
from pathlib import Path

from kernels.errors import InputError
from kernels.registry import find
from kernels.settings import RunSettings
from workflow.store import records
from workflow.store.measurements import load, schema


def read(files: Sequence[Path]) -> list[dict[str, str]]:
    """Read the rows of jobs and cells as text.

    Raises InputError for a simulated run, an inconsistent file, a missing record, or a wrong number of launches.
    """
    load(files)  # checks that the files fit together, too
    rows = []
    for path in files:
        of_file, of_records = schema().text([path]), records.of_table(path)
        records.require(map(records.name, of_file), of_records, path)
        for row in of_file:
            _check_launches(path, row, of_records[records.name(row)])
        rows += of_file
    return rows


def _check_launches(path: Path, row: dict[str, str], record: dict) -> None:
    variant, tile = find(row["algorithm"], row["variant"]), record["protocol"].get("tile", RunSettings.tile)
    expected = variant.launches(int(row["vertices"]), tile)
    if row["status"] == "ok" and expected is not None and int(row["launches"]) != expected:
        raise InputError(f"{path}: {row['launches']} kernels were launched, but {variant.key} launches {expected}")
