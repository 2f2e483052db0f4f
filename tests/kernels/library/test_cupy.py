"""The page for users of CuPy and PyTorch: its blocks run with stand-ins for both; test_gpu.py runs them for real."""

import os
import shutil
import subprocess
import sys

from tests.support.cupy_page import BLOCKS, REFUSED, ROOT

WITHOUT_A_CARD = """
import fake_driver, stand_in_cupy

driver = fake_driver.install()
stand_in_cupy.install()
from kernels.gpu import kept

kept.by_numba = lambda module, name, kinds: kept.Compiled(
    name, name in fake_driver.COOPERATIVE, fake_driver.code(name)
)
kept.check_arguments = lambda device: None
"""
# What is said of memory: the same for all that took it, and given back with the last of them.
MEMORY = """
import gc

addresses = {array.__array_interface__["data"][0] for array in (distances, cupy.from_dlpack(left.distances))}
assert addresses == {left.distances.address} and len(driver.memory) == 2
left = predecessors = None
gc.collect()
assert list(driver.memory) == list(addresses)
distances = None
gc.collect()
assert not driver.memory
"""


def test_the_blocks_run_with_stand_ins(tmp_path):
    for name in ("fake_driver", "stand_in_cupy"):
        shutil.copy(ROOT / f"tests/support/{name}.py", tmp_path)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment |= {"CUDA_SHORTEST_PATHS_CACHE": str(tmp_path / "cache"), "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    script = "\n".join([WITHOUT_A_CARD, *BLOCKS, REFUSED, "solver = None", MEMORY])
    ran = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert len(BLOCKS) == 3
