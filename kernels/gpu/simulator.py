"""Numba's CUDA simulator, made right and faster: a Python thread for each of the card's."""

import sys

import numpy as np
from numba import types
from numba.np import numpy_support


def improve() -> None:
    """To be called once, in the simulator. Written for numba-cuda 0.30.4.

    Its main thread polls all others, which at Python's 5 ms between two threads takes three to five times as long as
    at 0.1 ms. And two threads that come to `cuda.shared.array` at once may each get an array of its own.
    """
    from numba.cuda.simulator.kernelapi import FakeCUDAShared

    sys.setswitchinterval(1e-4)
    FakeCUDAShared.array = _shared_array


def _shared_array(shared, shape, dtype, alignment=None) -> np.ndarray:
    """The block's array of this line of a kernel; all of its dynamic shared memory where the shape is 0."""
    if alignment is not None:
        raise RuntimeError("the simulator aligns no arrays")
    dtype = numpy_support.as_dtype(dtype) if isinstance(dtype, types.Type) else np.dtype(dtype)
    if shape == 0:
        return np.frombuffer(shared._dynshared.data, dtype, shared._dynshared_size // dtype.itemsize)
    caller = sys._getframe(1)
    line = caller.f_code.co_filename, caller.f_lineno
    return shared._allocations.setdefault(line, np.empty(shape, dtype))  # at once, whatever other threads do
