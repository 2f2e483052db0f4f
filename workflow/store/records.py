"""Records: the JSON beside a CSV of measurements, of what they were measured on; checked like the CSV.

The JSON also has the SHA-256 of the CSV, except in older results.
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
OF_JOB = "provenance.json"  # the records of a job, by name, beside its timings.csv
TABLE = "csv_sha256"  # the key of the CSV's digest


def name(record: dict) -> str:
    """Name a record or row: algorithm/variant/dataset, and in a batch algorithm/variant/dataset/batch."""
    cell = (record[key] for key in ("algorithm", "variant", "dataset"))
    return "/".join(filter(None, [*cell, record.get("batch")]))


def beside(table: Path) -> Path:
    """Return the path of the records of a CSV's cells."""
    return table.with_name(OF_JOB) if table.name == "timings.csv" else table.with_suffix(".json")


def read(path: Path) -> dict[str, dict]:
    """Read the records of a cell or a job, by name. Raises InputError if one breaks the schema."""
    return _read(path)[0]


def of_table(table: Path) -> dict[str, dict]:
    """Read the records beside a CSV. Raises as `read`, and if the CSV is not the one that was written with them."""
    path = beside(table)
    by_name, digest = _read(path)
    if digest is not None and digest != io.sha256(table):
        raise InputError(
            f"{table}: not as it was measured: its SHA-256 is not the {TABLE} of {path}: restore the file, or delete "
            "both and measure again"
        )
    return by_name


def _read(path: Path) -> tuple[dict[str, dict], str | None]:
    """Return the records by name, and the digest of their CSV or None. Raises as `read`."""
    table = path.with_name("timings.csv") if path.name == OF_JOB else path.with_suffix(".csv")
    advice = f"restore it from git if it is an archive's, else delete {table} and measure again"
    content = step.read_json(path, advice)
    digest = content.pop(TABLE, None)
    try:
        if "records" in content:
            raise ValueError("written by an older commit; 3457ad2 is the last that reads it")
        named = content if path.name == OF_JOB else {"": content}
        for cell, record in named.items():
            if wrong := _fault(record):
                raise ValueError(f"{cell}: {wrong}" if cell else wrong)
            if cell and cell != name(record):
                raise ValueError(f"{cell}: the record is of {name(record)}")
    except ValueError as error:
        raise InputError(f"{path}: not a valid record of a measurement ({error}): {advice}") from None
    return {name(record): record for record in named.values()}, digest


def require(names: Iterable[str], by_name: dict[str, dict], table: Path) -> None:
    """Raise InputError if a record of a CSV's cells is missing."""
    if missing := [name for name in names if name not in by_name]:
        raise InputError(f"{beside(table)}: the record of {missing[0]} is missing: delete {table} and measure again")


def text(by_name: dict[str, dict], table: str) -> str:
    """Return the file of a job's records, with the digest of its CSV; table: the text of the CSV."""
    return _json(by_name | {TABLE: digest_of(table)})


def text_of_cell(record: dict, table: str) -> str:
    """Return the file of a cell that was measured alone, as `text` does."""
    return _json(record | {TABLE: digest_of(table)})


def digest_of(table: str) -> str:
    """Return the SHA-256 of a CSV of this text."""
    return hashlib.sha256(table.encode()).hexdigest()


def _json(value: dict) -> str:
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


def check_record(record: dict, path: Path) -> None:
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
