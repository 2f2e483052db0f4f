"""The columns that identify the code of a measured row: the variant's revision, and settings that are not the default.

Rows are pooled, and finished files stay up to date, while both are unchanged.
"""

from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING

from kernels.errors import NotInstalled
from kernels.registry import Variant

if TYPE_CHECKING:
    from kernels.settings import RunSettings

COLUMNS = ("revision", "settings")
UNKNOWN = "0"  # of archived rows whose code was not recorded
PATTERN = r"\d+|[a-z][a-z0-9_-]* \d[\w.+-]*"
NOT_INSTALLED = r"[a-z][a-z0-9_-]*"  # a library without its version


def revision_of(variant: Variant) -> str:
    """Return the variant's revision; of a library its name and version, or its name if it is not installed."""
    if not variant.package:
        return str(variant.revision)
    try:
        return f"{variant.package} {importlib.metadata.version(variant.package)}"
    except importlib.metadata.PackageNotFoundError:
        return variant.package


def planned(variant: Variant, keep_going: bool) -> str:
    """Return the variant with its revision, and what it lacks: a job is due if one of these changes.

    keep_going: whether jobs end well without variants that lack a package. Otherwise nothing is imported.
    """
    said = f"{variant.key} {revision_of(variant)}"
    try:
        if keep_going:
            variant.check_installed()
    except NotInstalled:
        return f"{said} without {variant.needs}"
    return said


def settings(variant: Variant, protocol: RunSettings) -> str:
    """Return the settings that are not the default, as "block=512 source=3"; or an empty text."""
    from kernels.harness import OF_RUN  # imports numba, which planning does without

    names = [name for name in OF_RUN if variant.problem == "sssp" or name != "source"]
    default = type(protocol)()
    changed = {name: value for name in names if (value := getattr(protocol, name)) != getattr(default, name)}
    return " ".join(f"{name}={value}" for name, value in changed.items())


def columns(variant: Variant, protocol: RunSettings) -> dict[str, str]:
    """Return both columns of a variant's rows."""
    return dict(zip(COLUMNS, (revision_of(variant), settings(variant, protocol)), strict=True))
