"""The cards that kernels are compiled for, and the atomic operations in their PTX."""

import re
from collections import Counter

import pytest

CAPABILITIES = [  # the newest always, the older ones only in CI
    pytest.param((9, 0), id="cc90"),
    pytest.param((8, 0), id="cc80", marks=pytest.mark.ci),
    pytest.param((7, 5), id="cc75", marks=pytest.mark.ci),
]


def assert_atomics(ptx: str, needed: dict, kernel: str) -> None:
    """An atomic operation made a plain write gives right results in the simulator, and on a card nearly always."""
    found = Counter(f".{operation}" for operation in re.findall(r"\s(?:atom|red)\.(\S+)", ptx))
    for operation, least in needed.items():
        there = sum(number for name, number in found.items() if name.endswith(f".{operation}"))
        assert there >= least, f"{kernel}: {there} times {operation}, at least {least} are needed"
    unknown = [name for name in found if not any(name.endswith(f".{operation}") for operation in needed)]
    assert not unknown, f"{kernel}: kernels/variants.py does not list {unknown}"
