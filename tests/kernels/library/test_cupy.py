"""Run the blocks of docs/cupy.md with stand-ins for CuPy and PyTorch; test_gpu.py runs them on a card."""

import os
import subprocess
import sys

from tests.support.cupy_page import BLOCKS, REFUSED, ROOT

WITHOUT_A_CARD = """
from tests.support import cupy_page

cupy_page.install()
from kernels.library import choice, searches
from kernels.run import Run

choice.Card.visible = classmethod(lambda cls: cls(2**16, 2**30))
choice.LEAST_WORK_FOR_CARD = 0
searches.new_run = lambda **settings: Run(**settings | {"block": 4})
"""


def test_the_blocks_run_with_stand_ins(tmp_path):
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": str(ROOT)}
    script = "\n".join([WITHOUT_A_CARD, *BLOCKS, REFUSED])
    ran = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert len(BLOCKS) == 3
