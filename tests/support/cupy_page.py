"""The code of the page for users of CuPy and PyTorch, and what the library refuses them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/cupy.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
REFUSED = """
import pytest
from kernels.errors import InputError

with pytest.raises(InputError, match="a graph is a kernels.graph.Graph, a file or a SciPy sparse array, not "):
    kernels.shortest_paths(roads, 0)
with kernels.prepare(graph / 2) as solver, pytest.raises(InputError, match="is for whole weights"):
    solver.shortest_paths(0, out="device")
"""
