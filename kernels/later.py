"""Modules that are imported at their first use."""

from __future__ import annotations

import importlib
from typing import Any


class Later:
    """Stand for the module of that full name, whose import takes long and is often not needed."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)
