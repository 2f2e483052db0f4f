"""Modules and functions that are imported at their first use, because some imports are slow and often not needed."""

from __future__ import annotations

import importlib
from typing import Any


class LazyModule:
    """Stand in for a module, which is imported when an attribute is first used.

    `name` and `package` are those of importlib.import_module.
    """

    def __init__(self, name: str, package: str | None = None) -> None:
        self._name = name, package

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(*self._name), name)


class LazyFunction:
    """Stand in for the function `name` of `module`, which is imported at the first call."""

    def __init__(self, module: str, name: str) -> None:
        self.__module__, self.__name__ = module, name

    def __call__(self, *arguments: Any) -> Any:
        return getattr(importlib.import_module(self.__module__), self.__name__)(*arguments)
