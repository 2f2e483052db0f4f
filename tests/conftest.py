"""What the marks of tests mean.

`simulator`: in numba's CUDA simulator, which must be asked for before numba is imported. `gpu`: on a card; skipped
where there is none, unless REQUIRE_GPU=1 makes that a failure. `ci`: takes long, or needs Slurm or a browser; skipped
unless CI_TESTS=1, as .ci/run has it.
"""

import gc
import json
import os
import tempfile

import pytest

from kernels.gpu.card import SIMULATED

pytest.register_assert_rewrite("tests.support")  # before any of it is imported
from tests.support import warm  # noqa: E402
from tests.support.marks import pytest_runtest_setup as pytest_runtest_setup  # noqa: E402

if SIMULATED:
    from tests.support import simulator

    simulator.hasten()

REPORTS = "SIMULATOR_REPORTS"  # the file in which the process with the simulator writes what came of each test
RESULTS = pytest.StashKey[dict[str, tuple[str, str]]]()


def pytest_configure(config):
    config.addinivalue_line("markers", "simulator: runs in numba's CUDA simulator, all of a file in one process")
    config.addinivalue_line("markers", "ci: takes long, or needs Slurm or a browser; skipped, but for CI_TESTS=1")
    if config.getoption("numprocesses", None):
        warm.share_with_workers()
    config.addinivalue_line("markers", "gpu: runs on a card; skipped where there is none, but for REQUIRE_GPU=1")


def pytest_collection_finish():
    gc.collect()
    gc.freeze()  # what was imported lives to the end: no later collection looks at it again


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Let another pytest run the marked tests of this file, once, and end as the test did there."""
    if SIMULATED or not pyfuncitem.get_closest_marker("simulator"):
        return None
    session = pyfuncitem.session
    results = session.stash.setdefault(RESULTS, {})
    if pyfuncitem.nodeid not in results:
        of_file = [item for item in session.items if item.path == pyfuncitem.path]
        marked = [item.nodeid for item in of_file if item.get_closest_marker("simulator")]
        results.update(_simulated(marked, session.config))
    outcome, said = results[pyfuncitem.nodeid]
    if outcome == "skipped":
        pytest.skip(said)
    if outcome == "failed":
        pytest.fail(said, pytrace=False)
    return True


def _simulated(tests: list[str], config) -> dict[str, tuple[str, str]]:
    """What came of each test, "passed", "skipped" or "failed", and what was said of it."""
    with tempfile.NamedTemporaryFile("r", suffix=".jsonl") as reports:
        ran = warm.run(
            *("pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *tests),
            cwd=config.rootpath,
            env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1", REPORTS: reports.name},
        )
        found = dict.fromkeys(tests, ("failed", ran.stdout + ran.stderr))  # where the process did not come to them
        return found | {test: (outcome, said) for test, outcome, said in map(json.loads, reports)}


def pytest_runtest_logreport(report):
    """In the process with the simulator: write down what came of a test, or of what it needs."""
    if (path := os.environ.get(REPORTS)) and (report.when == "call" or not report.passed):
        with open(path, "a") as file:
            file.write(json.dumps([report.nodeid, report.outcome, report.longreprtext]) + "\n")
