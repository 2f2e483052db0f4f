"""What numba's documentation does not promise: a kernel's handle, how arguments are passed, the simulator's threads.

Written for numba-cuda WRITTEN_FOR. Before anything is launched on a card, kernels/gpu/launching.py launches `echo` once
a process, and `check_echo` raises if another version passes arguments otherwise.
"""

import sys
from importlib.metadata import version

import numpy as np
from numba import cuda, types
from numba.np import numpy_support

from kernels.later import Later

WRITTEN_FOR = "0.30.4"
cache = Later("kernels.gpu.cache")  # not used by the simulator
_HANDLES: dict[tuple, tuple[int, bool]] = {}  # by card, kernel and types of its arguments


def compiled_kernel(kernel, arguments: tuple, device: int) -> tuple[int, bool]:
    """Return the driver's handle of a kernel for these arguments on a card, and whether its launch is cooperative."""
    key = device, kernel, *map(_type_key, arguments)
    if key not in _HANDLES:
        cache.enable(kernel)
        compiled = kernel.compile(tuple(map(kernel.typeof_pyval, arguments)))
        _HANDLES[key] = int(compiled._codelibrary.get_cufunc().handle), compiled.cooperative
    return _HANDLES[key]


def _type_key(argument) -> tuple:
    """Return a key of the type of an argument."""
    if isinstance(argument, tuple):
        return type(argument), *map(_type_key, argument)
    # The shape belongs to the type only of arrays of several dimensions, whose layout it decides.
    return argument.dtype.str, argument.strides, argument.shape[1:] and argument.shape


def as_passed(argument) -> list[int]:
    """Return the 8-byte values as which numba passes an argument to a kernel.

    A NumPy integer is one, whatever its width: the kernel reads the lower bytes. A device array is seven if it has one
    dimension: two pointers that kernels do not use, items, bytes an item, address, then shape and strides. A
    NamedTuple is passed as its fields.
    """
    if isinstance(argument, tuple):
        return [value for field in argument for value in as_passed(field)]
    if isinstance(argument, np.integer):
        return [int(argument) % 2**64]
    address = argument.device_ctypes_pointer.value or 0
    return [0, 0, argument.size, argument.dtype.itemsize, address, *argument.shape, *argument.strides]


@cuda.jit
def echo(small, negative, large, words, pairs, arrived):
    """Write what arrives of each kind of argument that the kernels take."""
    arrived[0], arrived[1], arrived[2] = small, np.uint32(negative), large
    arrived[3], arrived[4], arrived[5] = len(words), words[0], words[len(words) - 1]
    arrived[6], arrived[7], arrived[8] = len(pairs), pairs[0], pairs[len(pairs) - 1]


ECHOED = np.uint32(7), np.int32(-3), np.uint64(2**40), np.array([5, 6, 8], np.int32), np.array([2**33, 9], np.uint64)
EXPECTED = np.array([7, 2**32 - 3, 2**40, 3, 5, 8, 2, 2**33, 9], np.uint64)  # what echo writes when it is sent ECHOED


def check_echo(arrived: np.ndarray) -> None:
    """Raise RuntimeError if `echo`, sent ECHOED, did not write EXPECTED; arrived: uint64, (9,)."""
    if not np.array_equal(arrived, EXPECTED):
        raise RuntimeError(
            f"numba-cuda {version('numba-cuda')} passes arguments to kernels otherwise than numba-cuda {WRITTEN_FOR}, "
            "for which kernels/gpu/internals.py was written: install that version (the lock files in requirements/ "
            f"have it). Sent {EXPECTED.tolist()}, arrived {arrived.tolist()}"
        )


def improve_simulator() -> None:
    """Make numba's simulator faster, and its shared arrays safe; call it once, in the simulator.

    Its main thread polls all others, which takes three to five times as long with Python's 5 ms between two threads as
    with 0.1 ms. Two threads that come to `cuda.shared.array` at once may each get an array of their own.
    """
    from numba.cuda.simulator.kernelapi import FakeCUDAShared

    sys.setswitchinterval(1e-4)
    FakeCUDAShared.array = _shared_array  # type: ignore[method-assign]


def _shared_array(shared, shape, dtype, alignment=None) -> np.ndarray:
    """Return the block's array of this line of a kernel; if the shape is 0, all of its dynamic shared memory."""
    if alignment is not None:
        raise RuntimeError("the simulator aligns no arrays")
    dtype = numpy_support.as_dtype(dtype) if isinstance(dtype, types.Type) else np.dtype(dtype)
    if shape == 0:
        return np.frombuffer(shared._dynshared.data, dtype, shared._dynshared_size // dtype.itemsize)
    caller = sys._getframe(1)
    line = caller.f_code.co_filename, caller.f_lineno
    return shared._allocations.setdefault(line, np.empty(shape, dtype))  # at once, whatever other threads do
