"""What a measured row says of the code behind it: the variant's revision, and settings other than the usual ones.

Batches are pooled, and finished files stay up to date, as long as both are the same.
"""

import csv
import importlib.metadata
import json
from pathlib import Path

from kernels.harness import Protocol
from kernels.variants import ALL_PAIRS_REVISION, Variant, find

COLUMNS = ("revision", "settings")
UNKNOWN = "0"  # the revision of rows that were archived before the project recorded what code they ran
PATTERN = r"\d+|[a-z][a-z0-9_-]* \d[\w.+-]*"
USUAL, SETTINGS = Protocol(), ("block", "tile", "delta", "grid", "source")  # the last is none of all pairs


def of(variant: Variant) -> str:
    """Return the variant's revision; of a library its name and version, or its name if it is not installed."""
    if not variant.package:
        return str(variant.revision)
    try:
        return f"{variant.package} {importlib.metadata.version(variant.package)}"
    except importlib.metadata.PackageNotFoundError:
        return variant.package


def settings(variant: Variant, protocol: Protocol) -> str:
    """Return the settings that are not the usual ones, as "block=512 source=3"; empty if all are."""
    names = SETTINGS if variant.problem == "sssp" else SETTINGS[:-1]
    changed = {name: value for name in names if (value := getattr(protocol, name)) != getattr(USUAL, name)}
    return " ".join(f"{name}={value}" for name, value in changed.items())


def columns(variant: Variant, protocol: Protocol) -> dict[str, str]:
    """Return both columns of a variant's rows."""
    return dict(zip(COLUMNS, (of(variant), settings(variant, protocol)), strict=True))


def due_by(path: Path | str, *variants: str) -> list[str]:
    """Return the parameter that makes a measured file due: the revision of each algorithm/variant.

    Without a variant: that of searches of all pairs. Snakemake recorded digests as this parameter of files from before
    there were revisions. They still stand in the file, and are returned for it, so that nothing that a user has
    measured becomes due.
    """
    former = _former_digests(Path(path))
    own = {key: of(find(*key.split("/", 1))) for key in variants} or {"": str(ALL_PAIRS_REVISION)}
    return [former.get(key, revision) for key, revision in own.items()]


def _former_digests(path: Path) -> dict[str, str]:
    """Return what a file has under `code`, by algorithm/variant; nothing if it has revisions."""
    try:
        if path.suffix == ".json":
            return {"": json.loads(path.read_text(encoding="utf-8"))["code"]}
        with open(path, newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            if "code" not in (rows.fieldnames or ()):
                return {}
            return {"/".join(row[key] for key in ("algorithm", "variant") if key in row): row["code"] for row in rows}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
