"""The examples in the docstrings of the public functions run as written, with and without a GPU."""

import doctest
import importlib
from pathlib import Path

import pytest

MODULES = ("", ".graph", ".io", ".library.centrality", ".library.csgraph", ".library.networkx", ".library.solver")


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_run(module, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    ran = doctest.testmod(importlib.import_module(f"kernels{module}"))
    assert ran.attempted and not ran.failed
