"""kernels/gpu/compiler.py: numba-cuda with NumPy 2.5, and what works without numba-cuda."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]
COMPILED = """
import numpy as np
assert not hasattr(np, "row_stack")
from kernels.gpu.compiler import cuda, uint32

def first(out):
    out[0] = 1

ptx, _ = cuda.compile_ptx(first, (uint32[::1],), cc=(9, 0))
assert ".entry" in ptx and not hasattr(np, "row_stack")
"""
# Hide numba-cuda and the bindings that it brings, and its redirection of numba.cuda. {cards}: what the driver shows.
HIDDEN = """
import sys
sys.modules["numba_cuda"] = sys.modules["cuda"] = None
sys.meta_path[:] = [f for f in sys.meta_path if type(f).__module__ != "_numba_cuda_redirector"]
from kernels.gpu import driver
driver.cards = lambda: {cards}
"""
SEARCH = """
import kernels
found = kernels.all_pairs("workflow/samples/sample1.txt")
print(found.variant, found.distances[0].tolist())
"""
COMMAND = """
from kernels import __main__
sys.argv[1:] = ["bellman_ford", "naive", "workflow/samples/sample1.txt", "--validate", "--block", "8"]
__main__.main()
"""
UPLOAD = """
import numpy as np
from kernels import errors, run
with errors.reported(sys.exit):
    run.Run().upload(np.zeros(1))
"""
INSTALL = 'pip install "cuda-shortest-paths[cu13]", or [cu12] for a CUDA 12 driver'


def python(code: str, simulator: str = "0") -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_ENABLE_CUDASIM": simulator}
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.skipif(hasattr(np, "row_stack"), reason="this NumPy has row_stack")
def test_numba_cuda_compiles_without_row_stack_and_leaves_none():
    ran = python(COMPILED)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize(("cards", "said"), [(0, "no GPU is visible"), (1, INSTALL)])
def test_without_numba_cuda_the_cpu_searches(cards, said):
    ran = python(HIDDEN.format(cards=cards) + SEARCH)
    assert ran.stdout == "dijkstra/scipy_apsp [0.0, 4.0, 7.0, 9.0, 12.0, 13.0]\n"
    assert said in ran.stderr and "the CPU is used instead" in ran.stderr


@pytest.mark.parametrize(("cards", "simulator"), [(0, "0"), (1, "1")])
def test_without_numba_cuda_numbas_own_simulator_runs_kernels(cards, simulator):
    ran = python(HIDDEN.format(cards=cards) + COMMAND, simulator)
    assert ran.returncode == 0 and "bellman_ford/naive on sample1: 1 row" in ran.stderr


@pytest.mark.parametrize("use", [COMMAND, UPLOAD])
def test_without_numba_cuda_a_card_is_refused(use):
    ran = python(HIDDEN.format(cards=1) + use)
    (line,) = ran.stderr.splitlines()
    assert ran.returncode == 1 and line.startswith("error: ") and INSTALL in line and "NUMBA_ENABLE_CUDASIM=1" in line


@pytest.mark.ci
@pytest.mark.parametrize(("task", "simulator"), [("card", "0"), ("simulator", "1")])
def test_numba_cuda_passes_the_trial_of_its_successor(task, simulator):
    trial = [f"--task={task}", "--compiler=numba-cuda"]
    code = f"sys.argv[1:] = {trial}; runpy.run_module('benchmarks.compiler_trial', run_name='__main__')"
    ran = python(f"import runpy, sys; {code}", simulator)
    points = json.loads(ran.stdout)
    assert points and all(result == "ok" or result > 100 for result in points.values()), points
