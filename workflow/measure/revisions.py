"""What a measured row says of the code behind it: the variant's revision, and settings other than the usual ones.

Batches are pooled, and finished files stay up to date, as long as both are the same.
"""

from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING

from kernels.registry import Variant

if TYPE_CHECKING:
    from kernels.harness import Protocol

COLUMNS = ("revision", "settings")
UNKNOWN = "0"  # the revision of rows that were archived before the project recorded what code they ran
PATTERN = r"\d+|[a-z][a-z0-9_-]* \d[\w.+-]*"
SETTINGS = ("block", "tile", "delta", "grid", "source")  # the last is none of all pairs


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
    usual = type(protocol)()
    changed = {name: value for name in names if (value := getattr(protocol, name)) != getattr(usual, name)}
    return " ".join(f"{name}={value}" for name, value in changed.items())


def columns(variant: Variant, protocol: Protocol) -> dict[str, str]:
    """Return both columns of a variant's rows."""
    return dict(zip(COLUMNS, (of(variant), settings(variant, protocol)), strict=True))
