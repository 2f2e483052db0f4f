"""CuPy and PyTorch without a card, as far as docs/cupy.md uses them: their arrays are NumPy's.

In numba's simulator an array of the library lies on the host, so that it is taken without a copy here as well.
`install` puts the modules where `import` finds them.
"""

import sys
from types import ModuleType

import numpy as np
from scipy import sparse


class Array(np.ndarray):
    """On no card: get() copies, as CuPy's."""

    def get(self) -> np.ndarray:
        return np.array(self)


class SparseArray:
    """Of CuPy's, which is none of SciPy's."""

    def __init__(self, arrays, shape):
        self.arrays, self.shape = arrays, shape

    def get(self) -> sparse.csr_matrix:
        return sparse.csr_matrix(tuple(array.get() for array in self.arrays), self.shape)


def taken(array, device: str | None = None) -> Array:
    """cupy.asarray and torch.as_tensor, of an array of the simulator."""
    assert device in (None, "cuda")
    return array._ary.view(Array)


def install() -> None:
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
