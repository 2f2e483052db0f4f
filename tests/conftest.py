"""The marks of tests.

`simulator`: runs in numba's CUDA simulator, which must be chosen before numba is imported. `gpu`: runs on a card;
without one it is skipped, or fails if REQUIRE_GPU=1. `ci`: takes long, or needs Slurm or a browser; skipped unless
CI_TESTS=1.
"""

import gc
import json
import os
import tempfile

import pytest

from kernels.gpu import card
from kernels.gpu.card import SIMULATED

pytest.register_assert_rewrite("tests.support")  # before any of it is imported
from tests.support import warm  # noqa: E402
from tests.support.marks import pytest_runtest_setup as pytest_runtest_setup  # noqa: E402

if SIMULATED:
    from tests.support import simulator

    simulator.hasten()

REPORTS = "SIMULATOR_REPORTS"  # the file to which the process with the simulator writes the outcome of each test
RESULTS = pytest.StashKey[dict[str, tuple[str, str]]]()


def pytest_configure(config):
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # waiting threads sleep, and the cores run other tests
    config.addinivalue_line("markers", "simulator: runs in numba's CUDA simulator, all of a file in one process")
    config.addinivalue_line("markers", "ci: takes long, or needs Slurm or a browser; skipped unless CI_TESTS=1")
    if config.getoption("numprocesses", None):
        warm.share_with_workers()
    config.addinivalue_line("markers", "gpu: runs on a card; without one skipped, or failed if REQUIRE_GPU=1")


@pytest.fixture
def as_with_gpu(monkeypatch):
    """Let steps begin as on a machine with a GPU."""
    monkeypatch.setattr(card, "gpu_visible", lambda: True)


@pytest.fixture
def as_without_gpu(monkeypatch):
    """Let no GPU be visible, also on a machine that has one."""
    monkeypatch.setattr(card, "gpu_visible", lambda: False)


def pytest_collection_finish():
    gc.collect()
    gc.freeze()  # imported modules live to the end: later collections skip them


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run the marked tests of a file once, in another pytest, and report the outcome of each here."""
    if SIMULATED or not pyfuncitem.get_closest_marker("simulator"):
        return None
    session = pyfuncitem.session
    results = session.stash.setdefault(RESULTS, {})
    if pyfuncitem.nodeid not in results:
        of_file = [item for item in session.items if item.path == pyfuncitem.path]
        marked = [item.nodeid for item in of_file if item.get_closest_marker("simulator")]
        results.update(_simulated(marked, session.config))
    outcome, message = results[pyfuncitem.nodeid]
    if outcome == "skipped":
        pytest.skip(message)
    if outcome == "failed":
        pytest.fail(message, pytrace=False)
    return True


def _simulated(tests: list[str], config) -> dict[str, tuple[str, str]]:
    """Return each test's outcome, "passed", "skipped" or "failed", and its message."""
    with tempfile.NamedTemporaryFile("r", suffix=".jsonl") as reports:
        ran = warm.run(
            *("pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *tests),
            cwd=config.rootpath,
            env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1", REPORTS: reports.name},
        )
        outcomes = dict.fromkeys(tests, ("failed", ran.stdout + ran.stderr))  # if the process ended before them
        return outcomes | {test: (outcome, message) for test, outcome, message in map(json.loads, reports)}


def pytest_runtest_logreport(report):
    """Write the outcome of a test, or of its fixtures, in the process with the simulator."""
    if (path := os.environ.get(REPORTS)) and (report.when == "call" or not report.passed):
        with open(path, "a") as file:
            file.write(json.dumps([report.nodeid, report.outcome, report.longreprtext]) + "\n")
