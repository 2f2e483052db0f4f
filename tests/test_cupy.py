"""The page for users of CuPy and PyTorch: its blocks run with stand-ins for both, and for real in tests/test_gpu.py."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/cupy.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
REFUSED = """
import pytest
from kernels.errors import InputError

with pytest.raises(InputError, match="a graph is a kernels.graph.Graph, a file or a SciPy sparse array, not "):
    kernels.shortest_paths(roads, 0)
with kernels.prepare(graph / 2) as solver, pytest.raises(InputError, match="is for whole weights"):
    solver.shortest_paths(0, out="device")
with pytest.raises(BufferError):
    left.distances.__dlpack__(copy=True)
with pytest.raises(BufferError):
    left.distances.__dlpack__(dl_device=(1, 0))
"""
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
        shutil.copy(ROOT / f"tests/{name}.py", tmp_path)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment |= {"CUDA_SHORTEST_PATHS_CACHE": str(tmp_path / "cache"), "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    script = "\n".join([WITHOUT_A_CARD, *BLOCKS, REFUSED, "solver = None", MEMORY])
    ran = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert len(BLOCKS) == 3
