"""Undocumented parts of numba: handles of kernels, the form in which arguments are passed, the simulator's threads.

This module is written for version WRITTEN_FOR of numba-cuda. Before the first launch on a card,
gpu/launching.py launches `echo`, and `check_echo` raises an error if the installed version passes arguments in
another form.
"""

import sys
from importlib.metadata import version

import numpy as np

from ..lazy import LazyModule
from .compiler import as_dtype, cuda, types

WRITTEN_FOR = "0.30.4"
cache = LazyModule(".cache", __package__)  # not used by the simulator
_HANDLES: dict[tuple, tuple[int, bool]] = {}  # key: card, kernel and types of its arguments


def compiled_kernel(kernel, arguments: tuple, device: int, keys: list | None = None) -> tuple[int, bool]:
    """Return the driver's handle of a kernel for these arguments on a card, and whether its launch is cooperative.

    keys: the `type_key` of each argument; computed if None.
    """
    key = device, kernel, *(map(type_key, arguments) if keys is None else keys)
    if key not in _HANDLES:
        cache.enable(kernel)
        compiled = kernel.compile(tuple(map(kernel.typeof_pyval, arguments)))
        _HANDLES[key] = int(compiled._codelibrary.get_cufunc().handle), compiled.cooperative
    return _HANDLES[key]


def type_key(argument) -> tuple:
    """Return a key of the type of an argument."""
    if isinstance(argument, tuple):
        return type(argument), *map(type_key, argument)
    # The shape of an array of several dimensions is part of the key, because it decides the layout.
    return argument.dtype.str, argument.strides, argument.shape[1:] and argument.shape


def as_passed(argument) -> list[int]:
    """Return the 8-byte values that numba passes to a kernel for an argument.

    A NumPy integer of any width is one value, of which the kernel reads the lower bytes. A device array of one
    dimension is seven values: two pointers that kernels do not use, the number of items, bytes per item, address, shape
    and strides. A NamedTuple is passed as its fields.
    """
    if isinstance(argument, tuple):
        return [value for field in argument for value in as_passed(field)]
    if isinstance(argument, np.integer):
        return [int(argument) % 2**64]
    address = argument.device_ctypes_pointer.value or 0
    return [0, 0, argument.size, argument.dtype.itemsize, address, *argument.shape, *argument.strides]


def part_of(array, start: int, size: int, dtype: np.dtype):
    """Return `size` bytes of a device array of bytes, from byte `start`, as an array of one dimension.

    A slice would do, but takes several times as long.
    """
    if not hasattr(array, "gpu_data"):  # in the simulator
        return array[start : start + size].view(dtype)
    shape, strides = (size // dtype.itemsize,), (dtype.itemsize,)
    return type(array)(shape, strides, dtype, gpu_data=array.gpu_data.view(start, start + size))


@cuda.jit
def echo(small, negative, large, words, pairs, arrived):
    """Write to `arrived` the values that the kernel receives, for each kind of argument that the kernels take."""
    arrived[0], arrived[1], arrived[2] = small, np.uint32(negative), large
    arrived[3], arrived[4], arrived[5] = len(words), words[0], words[len(words) - 1]
    arrived[6], arrived[7], arrived[8] = len(pairs), pairs[0], pairs[len(pairs) - 1]


ECHOED = np.uint32(7), np.int32(-3), np.uint64(2**40), np.array([5, 6, 8], np.int32), np.array([2**33, 9], np.uint64)
EXPECTED = np.array([7, 2**32 - 3, 2**40, 3, 5, 8, 2, 2**33, 9], np.uint64)  # what `echo` writes for ECHOED


def check_echo(arrived: np.ndarray) -> None:
    """Raise RuntimeError if `arrived` (uint64, (9,)), which `echo` wrote for the arguments ECHOED, is not EXPECTED."""
    if not np.array_equal(arrived, EXPECTED):
        raise RuntimeError(
            f"numba-cuda {version('numba-cuda')} passes arguments to kernels otherwise than numba-cuda {WRITTEN_FOR}, "
            "for which gpu/internals.py was written: install that version (the lock files in requirements/ "
            f"have it). Sent {EXPECTED.tolist()}, arrived {arrived.tolist()}"
        )


def improve_simulator() -> None:
    """Make numba's simulator faster, and its shared arrays thread-safe. Call this once, in the simulator.

    The simulator's main thread polls all other threads. With Python's default switch interval of 5 ms a run takes three
    to five times as long as with 0.1 ms. In numba's own version of `cuda.shared.array`, two threads that call it at
    once may get different arrays.
    """
    sys.setswitchinterval(1e-4)
    cuda.simulator.kernelapi.FakeCUDAShared.array = _shared_array


def _shared_array(shared, shape, dtype, alignment=None) -> np.ndarray:
    """Return a block's shared array for the calling line of a kernel; dynamic shared memory if the shape is 0."""
    if alignment is not None:
        raise RuntimeError("the simulator aligns no arrays")
    dtype = as_dtype(dtype) if isinstance(dtype, types.Type) else np.dtype(dtype)
    if shape == 0:
        return np.frombuffer(shared._dynshared.data, dtype, shared._dynshared_size // dtype.itemsize)
    caller = sys._getframe(1)
    line = caller.f_code.co_filename, caller.f_lineno
    return shared._allocations.setdefault(line, np.empty(shape, dtype))  # setdefault is atomic
