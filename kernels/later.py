"""Modules that are imported at their first use."""

from __future__ import annotations

import importlib
from typing import Any


class Later:
    """Stand in for the module `name` and import it when an attribute is first used.

    This saves the time of an import that is slow and often not needed.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)
