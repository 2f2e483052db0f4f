"""The JSON beside a CSV of measurements, of what they were measured on; it is checked when it is read."""

import json
from collections.abc import Collection
from functools import cache
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from kernels.errors import InputError
from workflow.store.checked_csv import DEFECT, FORMER

SCHEMA = Path(__file__).parents[1] / "schemas" / "record.schema.yaml"
ARCHIVED = "provenance.json"  # all records beside a timings.csv
SHARED = ("graph", "packages", "protocol")  # parts that many records have in common


def name(record: dict) -> str:
    """What a record, or a row, is of: algorithm/variant/dataset, and in a batch algorithm/variant/dataset/batch."""
    cell = (record[key] for key in ("algorithm", "variant", "dataset"))
    return "/".join(filter(None, [*cell, record.get("batch")]))


def beside(table: Path) -> Path:
    """Where the records of a CSV's cells are."""
    return table.with_name(ARCHIVED) if table.name == "timings.csv" else table.with_suffix(".json")


def read(path: Path) -> dict[str, dict]:
    """The records of a file by their names; a file holds one, or all of a job or an archive.

    Raises InputError if the file cannot be read, or a record is not as the schema says.
    """
    if path.name == ARCHIVED:
        advice = f"restore it from git if it is an archive's, else delete {path.with_name('timings.csv')} and run again"
    else:
        advice = f"delete {path.with_suffix('.csv')} and measure again"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("no JSON object")
        found = {}
        for cell, record in (_expanded(content) if path.name == ARCHIVED else {"": content}).items():
            if isinstance(record, dict) and "revision" not in record:
                raise ValueError(f"it {FORMER}")
            if wrong := fault(record, _schema()):
                raise ValueError(f"{cell}: {wrong}" if cell else wrong)
            found[cell] = record
        for cell, record in found.items():
            if cell and cell != name(record):
                raise ValueError(f"{cell}: it is of {name(record)}")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}: {advice}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: no record of what was run ({error}): {advice}") from None
    return {name(record): record for record in found.values()}


def text(found: dict[str, dict]) -> str:
    """Return an ARCHIVED file: a line for each record, whose SHARED parts are numbers of parts above the records."""
    parts: dict[str, dict[str, int]] = {part: {} for part in SHARED}
    lines = []
    for cell, record in sorted(found.items()):
        numbers = {part: parts[part].setdefault(_json(record[part]), len(parts[part])) for part in SHARED}
        lines.append(f"  {json.dumps(cell)}: {_json(record | numbers)}")
    above = (f' "{part}": [\n  ' + ",\n  ".join(values) + "\n ],\n" for part, values in parts.items())
    return "{\n" + "".join(above) + ' "records": {\n' + ",\n".join(lines) + "\n }\n}\n"


def _json(value: dict) -> str:
    return json.dumps(value, sort_keys=True)


def _expanded(content: dict) -> dict:
    """Return the records of an ARCHIVED file with their SHARED parts; a former file has nothing but records.

    Raises ValueError if a part is missing.
    """
    if "records" not in content:
        return content
    try:
        return {
            cell: record | {part: content[part][record[part]] for part in SHARED}
            for cell, record in content["records"].items()
        }
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"a shared part of a record is missing: {error!r}") from None


def of(table: Path, batches: Collection[str]) -> dict[str, dict]:
    """The records beside a CSV whose rows are of these batches, by their names. Raises as read does.

    Records of a job that do not say their batch, as the first ones did not, are of its rows'.
    """
    found = read(beside(table))
    if len(batches) > 1 or not any(batches) or any("batch" in record for record in found.values()):
        return found
    (batch,) = batches
    return {f"{cell}/{batch}": record | {"batch": batch} for cell, record in found.items()}


def check(record: dict, path: Path) -> None:
    """Raise InputError where read would refuse this record, which is to be at path."""
    if wrong := fault(record, _schema()):
        raise InputError(f"{path}: {wrong}: {DEFECT}")


def fault(record: dict, schema: Draft202012Validator) -> str:
    """The first thing that is not as the schema says, in words; empty where all is."""
    error = best_match(schema.iter_errors(record))
    where = ".".join(map(str, error.absolute_path)) if error else ""
    return ": ".join(filter(None, [where, error.message])) if error else ""


@cache
def _schema() -> Draft202012Validator:
    return Draft202012Validator(yaml.safe_load(SCHEMA.read_text()))
