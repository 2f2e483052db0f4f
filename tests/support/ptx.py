"""The cards that kernels are compiled for, and the atomic operations in their PTX."""

import re
from collections import Counter

import pytest

CAPABILITIES = [  # the newest always, the older ones only in CI
    pytest.param((9, 0), id="cc90"),
    pytest.param((8, 0), id="cc80", marks=pytest.mark.ci),
    pytest.param((7, 5), id="cc75", marks=pytest.mark.ci),
]


_RELAX = {"min.s32": 1}
_ZERO_ARCS = {name: {"cas.b32": 1, "add.u32": 1} for name in ("start_zero_arcs", "follow_zero_arcs")}
# By module and kernel, the least number of each atomic operation.
ATOMICS = {
    "paper.bellman_ford": {f"relax_{name}": _RELAX for name in ("naive", "stride", "stride_flag")},
    "paper.dijkstra": {},
    "paper.floyd_warshall": {},
    "sparry.edge": {"kernel": _RELAX},
    "sparry.dijkstra": {"kernel": _RELAX},
    "sparry.delta_stepping": {"kernel": {"min.s32": 3, "shared.min.s32": 1}},
    "fast.ell": {"relax": {"min.s32": 2}},
    "fast.blocked_floyd_warshall": {"initial": {"cas.b32": 2}},
    "fast.near_far_kernels": {
        "search": {
            **{"min.s32": 4, "shared.add.u32": 8, "shared.min.u32": 2},
            **{"global.min.u32": 1, "global.max.u32": 2},
        },
        **_ZERO_ARCS,
    },
    "fast.hierarchy.customize": {"set_weights": {"min.u32": 2}, "customize": {"min.u32": 2}},
}


def atomics_of(function) -> dict | None:
    """Return what a kernel of this package must have; None of a module that is not listed."""
    of_module = ATOMICS.get(function.__module__.removeprefix("kernels."))
    return None if of_module is None else of_module.get(function.__name__, {})


def assert_atomics(ptx: str, needed: dict, kernel: str) -> None:
    """An atomic operation made a plain write gives right results in the simulator, and on a card nearly always."""
    found = Counter(f".{operation}" for operation in re.findall(r"\s(?:atom|red)\.(\S+)", ptx))
    for operation, least in needed.items():
        there = sum(number for name, number in found.items() if name.endswith(f".{operation}"))
        assert there >= least, f"{kernel}: {there} times {operation}, at least {least} are needed"
    unknown = [name for name in found if not any(name.endswith(f".{operation}") for operation in needed)]
    assert not unknown, f"{kernel}: ATOMICS does not list {unknown}"
