"""What the marks of tests mean.

`simulator`: in numba's CUDA simulator, which must be asked for before numba is imported. `gpu`: on a card; skipped
where there is none, unless REQUIRE_GPU=1 makes that a failure.
"""

import os
import subprocess
import sys

import pytest

from kernels.device import SIMULATED, gpu_visible


def pytest_configure(config):
    config.addinivalue_line("markers", "simulator: runs in a process of its own, in numba's CUDA simulator")
    config.addinivalue_line("markers", "gpu: runs on a card; skipped where there is none, but for REQUIRE_GPU=1")


def pytest_runtest_setup(item):
    """Skip a test that needs a card where there is none, or let it fail."""
    if item.get_closest_marker("gpu") and not gpu_visible():
        (pytest.fail if os.environ.get("REQUIRE_GPU") == "1" else pytest.skip)("no GPU is visible")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Let another pytest run a marked test, and fail as it does."""
    if SIMULATED or not pyfuncitem.get_closest_marker("simulator"):
        return None
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", pyfuncitem.nodeid],
        cwd=pyfuncitem.config.rootpath,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
    )
    if ran.returncode:
        pytest.fail(ran.stdout + ran.stderr, pytrace=False)
    return True
