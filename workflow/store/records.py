"""Records: the JSON beside a CSV of measurements, of what they were measured on; checked like the CSV.

The JSON also has the SHA-256 of the CSV, except in archives, which have SHA256SUMS, and in older results.
"""

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from kernels import io
from kernels.errors import InputError
from workflow import step
from workflow.store.checked_csv import DEFECT

SCHEMA = yaml.safe_load((Path(__file__).parents[1] / "schemas" / "record.schema.yaml").read_text(encoding="utf-8"))
FIELDS = tuple(SCHEMA["properties"])
ARCHIVED = "provenance.json"  # all records beside a timings.csv
TABLE = "csv_sha256"  # the key of the CSV's digest
SHARED = ("graph", "packages", "protocol")  # parts that many records have in common


def name(record: dict) -> str:
    """Name a record or row: algorithm/variant/dataset, and in a batch algorithm/variant/dataset/batch."""
    cell = (record[key] for key in ("algorithm", "variant", "dataset"))
    return "/".join(filter(None, [*cell, record.get("batch")]))


def beside(table: Path) -> Path:
    """Return the path of the records of a CSV's cells."""
    return table.with_name(ARCHIVED) if table.name == "timings.csv" else table.with_suffix(".json")


def read(path: Path) -> dict[str, dict]:
    """Read the records of a cell, a job or an archive, by name. Raises InputError if one breaks the schema."""
    return _read(path)[0]


def of_table(table: Path) -> dict[str, dict]:
    """Read the records beside a CSV. Raises as `read`, and if the CSV is not the one that was written with them."""
    path = beside(table)
    found, digest = _read(path)
    if digest is not None and digest != io.sha256(table):
        raise InputError(
            f"{table}: not as it was measured: its SHA-256 is not the {TABLE} of {path}: restore the file, or delete "
            "both and measure again"
        )
    return found


def _read(path: Path) -> tuple[dict[str, dict], str | None]:
    """Return the records by name, and the digest of their CSV or None. Raises as `read`."""
    if path.name == ARCHIVED:
        advice = f"restore it from git if it is an archive's, else delete {path.with_name('timings.csv')} and run again"
    else:
        advice = f"delete {path.with_suffix('.csv')} and measure again"
    content = step.read_json(path, advice)
    digest = content.pop(TABLE, None)
    try:
        named = _expanded(content) if path.name == ARCHIVED else {"": content}
        for cell, record in named.items():
            if wrong := _fault(record):
                raise ValueError(f"{cell}: {wrong}" if cell else wrong)
            if cell and cell != name(record):
                raise ValueError(f"{cell}: the record is of {name(record)}")
    except ValueError as error:
        raise InputError(f"{path}: not a valid record of a measurement ({error}): {advice}") from None
    return {name(record): record for record in named.values()}, digest


def require(names: Iterable[str], found: dict[str, dict], table: Path) -> None:
    """Raise InputError if a record of a CSV's cells is missing."""
    if missing := [name for name in names if name not in found]:
        raise InputError(f"{beside(table)}: the record of {missing[0]} is missing: delete {table} and measure again")


def text(found: dict[str, dict], table: str | None = None) -> str:
    """Return an ARCHIVED file: a line for each record, whose SHARED parts are numbers of parts above the records.

    table: the text of the CSV whose digest the file has.
    """
    parts: dict[str, dict[str, int]] = {part: {} for part in SHARED}
    lines = []
    for cell, record in sorted(found.items()):
        numbers = {part: parts[part].setdefault(_json(record[part]), len(parts[part])) for part in SHARED}
        lines.append(f"  {json.dumps(cell)}: {_json(record | numbers)}")
    above = "" if table is None else f' "{TABLE}": "{digest_of(table)}",\n'
    above += "".join(f' "{part}": [\n  ' + ",\n  ".join(values) + "\n ],\n" for part, values in parts.items())
    return "{\n" + above + ' "records": {\n' + ",\n".join(lines) + "\n }\n}\n"


def text_of_cell(record: dict, table: str) -> str:
    """Return the file of a cell that was measured alone, with the digest of its CSV."""
    return json.dumps(record | {TABLE: digest_of(table)}, indent=1, sort_keys=True) + "\n"


def digest_of(table: str) -> str:
    """Return the SHA-256 of a CSV of this text."""
    return hashlib.sha256(table.encode()).hexdigest()


def _json(value: dict) -> str:
    return json.dumps(value, sort_keys=True)


def _expanded(content: dict) -> dict:
    """Return the records with their SHARED parts; a file may have nothing but whole records."""
    if "records" not in content:
        return content
    try:
        return {
            cell: record | {part: content[part][record[part]] for part in SHARED}
            for cell, record in content["records"].items()
        }
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"a shared part of a record is missing: {error!r}") from None


def check(record: dict, path: Path) -> None:
    """Raise InputError if `read` would refuse this record at `path`."""
    if wrong := _fault(record):
        raise InputError(f"{path}: {wrong}: {DEFECT}")


def _fault(record: dict) -> str:
    """Return the first violation of the schema in words, or an empty string."""
    error = best_match(_schema().iter_errors(record))
    where = ".".join(map(str, error.absolute_path)) if error else ""
    return ": ".join(filter(None, [where, error.message])) if error else ""


@cache
def _schema() -> Draft202012Validator:
    return Draft202012Validator(SCHEMA)
