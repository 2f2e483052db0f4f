"""Join cells into one CSV of measurements and one JSON of what they ran on."""

import argparse
import json
from pathlib import Path

from kernels.datasets import atomic
from kernels.errors import InputError
from kernels.harness import Protocol
from kernels.variants import VARIANTS
from workflow.lib import records, step
from workflow.lib.measurements import load, schema


def read(cells: list[Path]) -> tuple[list[dict[str, str]], dict[str, dict]]:
    """The rows of all cells as they stand in the files, and {"algorithm/variant/dataset": provenance}.

    Raises InputError where a cell is simulated, does not hold together, or was launched otherwise
    than its variant is.
    """
    rows, provenance = [], {}
    load(cells)
    for path in cells:
        found = records.read(path.with_suffix(".json"))
        (record,) = found.values()
        cell = schema().text([path])
        for row in cell:
            check_launches(path, row, record["protocol"].get("tile", Protocol.tile))
        rows += cell
        provenance |= found
    return rows, provenance


def check_launches(path: Path, row: dict[str, str], tile: int) -> None:
    variant = VARIANTS.get(f"{row['algorithm']}/{row['variant']}")
    if row["status"] != "ok" or variant is None:  # None: somebody's program
        return
    expected = variant.launches(int(row["vertices"]), tile)
    if expected is not None and int(row["launches"]) != expected:
        raise InputError(f"{path}: {row['launches']} kernels were launched, {variant.key} launches {expected}")


def write(rows: list[dict[str, str]], provenance: dict[str, dict], table: Path, record: Path) -> None:
    """Write both files, or neither."""
    text = schema().to_csv(rows, table)
    with atomic(table, "w") as csv_file, atomic(record, "w") as json_file:
        csv_file.write(text)
        json.dump(provenance, json_file, indent=1, sort_keys=True)
        json_file.write("\n")


def main(args: argparse.Namespace) -> None:
    write(*read(args.cells), args.csv, args.json)


if __name__ == "__main__":
    arguments = step.parser(__doc__)
    arguments.add_argument("--cells", type=Path, nargs="*", default=[], metavar="FILE.csv")
    arguments.add_argument("--csv", type=Path, required=True)
    arguments.add_argument("--json", type=Path, required=True)
    step.run(main, arguments)
