"""The code of docs/cupy.md, and CuPy and PyTorch without a card, as far as that uses them: their arrays are NumPy's.

In numba's simulator an array of the library lies on the host, so that it is taken without a copy here as well.
"""

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
from scipy import sparse

from tests.support.pages import blocks

ROOT = Path(__file__).parents[2]
BLOCKS = blocks("cupy.md")
REFUSED = """
import pytest
from kernels.errors import InputError

with pytest.raises(InputError, match="<class "):
    cuda_shortest_paths.shortest_paths(roads, 0)
with cuda_shortest_paths.prepare(graph / 2) as solver, pytest.raises(InputError, match="whole weights"):
    solver.shortest_paths(0, out="device")
"""


class Array(np.ndarray):
    """get() copies, as CuPy's does."""

    def get(self) -> np.ndarray:
        return np.array(self)


class SparseArray:
    """CuPy's, which SciPy does not know."""

    def __init__(self, arrays, shape):
        self.arrays, self.shape = arrays, shape

    def get(self) -> sparse.csr_matrix:
        return sparse.csr_matrix(tuple(array.get() for array in self.arrays), self.shape)


def taken(array, device: str | None = None) -> Array:
    """Stand in for cupy.asarray and torch.as_tensor."""
    assert device in (None, "cuda")
    return array._ary.view(Array)


def install() -> None:
    """Put the modules where `import` finds them."""
    modules = {
        "cupy": {"array": lambda values: np.array(values).view(Array), "asarray": taken},
        "cupyx": {},
        "cupyx.scipy": {},
        "cupyx.scipy.sparse": {"csr_matrix": SparseArray},
        "torch": {"as_tensor": taken},
    }
    for name, values in modules.items():
        sys.modules[name] = ModuleType(name)
        vars(sys.modules[name]).update(values)
