"""Tests marked `simulator` run in numba's CUDA simulator, which must be asked for before numba is imported."""

import os
import subprocess
import sys

import pytest

from kernels.device import SIMULATED


def pytest_configure(config):
    config.addinivalue_line("markers", "simulator: runs in a process of its own, in numba's CUDA simulator")


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
