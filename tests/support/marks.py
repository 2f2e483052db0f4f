"""Skip or fail tests by their marks."""

import os

import pytest

from kernels.gpu.card import gpu_visible


def pytest_runtest_setup(item):
    if item.get_closest_marker("ci") and os.environ.get("CI_TESTS") != "1":
        pytest.skip("only .ci/run runs this, or CI_TESTS=1")
    if item.get_closest_marker("gpu") and not gpu_visible():
        (pytest.fail if os.environ.get("REQUIRE_GPU") == "1" else pytest.skip)("no GPU is visible")
