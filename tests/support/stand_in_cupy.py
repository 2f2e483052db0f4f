"""CuPy and PyTorch without a card, as far as docs/cupy.md uses them: their arrays are NumPy's of the host's memory.

With fake_driver.py that is where an array of the library lies too, so that it is taken without a copy here as well.
`install` puts the modules where `import` finds them.
"""

import ctypes
import sys
from types import ModuleType

import numpy as np
from cuda.core.utils import StridedMemoryView
from scipy import sparse


class Array(np.ndarray):
    """On no card: get() copies, as CuPy's. What it was taken from lives as long as it does."""

    taken_from = None

    def get(self) -> np.ndarray:
        return np.array(self)


class SparseArray:
    """Of CuPy's, which is none of SciPy's."""

    def __init__(self, arrays, shape):
        self.arrays, self.shape = arrays, shape

    def get(self) -> sparse.csr_matrix:
        return sparse.csr_matrix(tuple(array.get() for array in self.arrays), self.shape)


def view(address: int, size: int, dtype, taken_from) -> Array:
    buffer = (ctypes.c_uint8 * (size * np.dtype(dtype).itemsize)).from_address(address)
    array = np.frombuffer(buffer, dtype).view(Array)
    array.taken_from = taken_from
    return array


def by_interface(array, device: str | None = None) -> Array:
    """cupy.asarray and torch.as_tensor."""
    assert device in (None, "cuda")
    said = array.__cuda_array_interface__
    assert said["strides"] is None and said["stream"] is None
    return view(said["data"][0], *said["shape"], said["typestr"], array)


def by_dlpack(array) -> Array:
    """from_dlpack of both."""
    assert array.__dlpack_device__()[0] == 2
    taken = StridedMemoryView.from_dlpack(array, stream_ptr=-1)
    return view(taken.ptr, *taken.shape, taken.dtype, taken)


def install() -> None:
    modules = {
        "cupy": {
            "array": lambda values: np.array(values).view(Array),
            "asarray": by_interface,
            "from_dlpack": by_dlpack,
        },
        "cupyx": {},
        "cupyx.scipy": {},
        "cupyx.scipy.sparse": {"csr_matrix": SparseArray},
        "torch": {"as_tensor": by_interface, "from_dlpack": by_dlpack},
    }
    for name, values in modules.items():
        sys.modules[name] = ModuleType(name)
        vars(sys.modules[name]).update(values)
