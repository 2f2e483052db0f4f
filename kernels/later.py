"""Modules that are imported when something of them is first asked for."""

from __future__ import annotations

import importlib


class Later:
    """Stands for a module, by its full name, whose import takes long and is often not needed."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str):
        return getattr(importlib.import_module(self._name), name)
