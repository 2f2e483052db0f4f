"""The machine that the library sees: without a card, with numba's simulator and small blocks, or with little memory."""

import functools

import numpy as np
import pytest

from kernels import memory
from kernels.fast import near_far_layout, probe
from kernels.fast.hierarchy import all_pairs, fragments
from kernels.gpu import copies
from kernels.library import choice, searches
from kernels.library.choice import BreakEven, Card
from kernels.run import Run
from tests.support.trees import CARD


@pytest.fixture
def no_card(monkeypatch):
    """Let the library see no GPU, also on a machine that has one."""
    monkeypatch.setattr(choice, "gpu_usable", lambda: False)


@pytest.fixture
def hierarchy_from(monkeypatch):
    """Return a function that sets `choice.BREAK_EVEN` to one number, or one BreakEven, for all kinds of search."""

    def choose(least):
        least = least if isinstance(least, BreakEven) else BreakEven(least, least, least)
        monkeypatch.setattr(choice, "BREAK_EVEN", dict.fromkeys(choice.BREAK_EVEN, least))

    return choose


@pytest.fixture
def small_card(hierarchy_from, monkeypatch):
    """Return a function that lets the library choose numba's simulator for small graphs.

    pays_from: the least number of sources for which a contraction hierarchy is used. bytes: of its distances on the
    card. constants: of the modules here.
    """

    def choose(*, run=Run, pays_from=None, bytes=None, **constants):
        changes = {
            (Card, "visible"): lambda: CARD,
            (searches, "new_run"): lambda **given: run(**{"waits": False, "block": 8, "tile": 3} | given),
            (probe, "scipy_us"): lambda graph: np.inf,  # no graph is narrow
            (choice, "LEAST_WORK_FOR_CARD"): 0,
        }
        for name, value in constants.items():
            (module,) = (module for module in (choice, searches, fragments, copies) if hasattr(module, name))
            changes[module, name] = value
        if pays_from:
            hierarchy_from(pays_from)
        if bytes:
            of = all_pairs.ManySourceSearch
            changes[all_pairs, "ManySourceSearch"] = functools.partial(of, bytes=bytes)
        for (owner, name), value in changes.items():
            monkeypatch.setattr(owner, name, value)

    return choose


@pytest.fixture
def with_memory(monkeypatch):
    """Return a function that gives the host so many bytes of memory."""
    return lambda bytes: monkeypatch.setattr(memory, "host_memory", lambda: bytes)


@pytest.fixture
def narrow_rows(monkeypatch):
    """Give every graph the narrowest rows, so that vertices of few arcs have links."""
    monkeypatch.setattr(near_far_layout, "WIDTHS", (4,))


@pytest.fixture
def by_degree(monkeypatch):
    """Number the vertices of every graph by degree."""
    for name in ("LARGE", "HUBS"):
        monkeypatch.setattr(near_far_layout, name, 1)
