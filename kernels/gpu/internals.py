"""What numba's documentation does not promise: the handle of a kernel, and how numba passes arguments to it.

Written for numba-cuda WRITTEN_FOR. Before anything is launched on a card, kernels/gpu/launching.py launches `echo` once
a process, and `check_echo` raises where another version passes arguments otherwise.
"""

from importlib.metadata import version

import numpy as np
from cuda.bindings import driver
from numba import cuda

WRITTEN_FOR = "0.30.4"


def checked(answer: tuple):
    """What a call of cuda.bindings.driver returned besides its error code; raises RuntimeError where that is not 0."""
    error, *values = answer
    if error != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"the CUDA driver refused a call: {error}")
    return values[0] if values else None


def compiled_kernel(kernel, arguments) -> tuple[int, bool]:
    """The driver's handle of a kernel, compiled for these arguments, and whether its launch is cooperative."""
    (compiled,) = kernel.specialize(*arguments).overloads.values()
    return int(compiled._codelibrary.get_cufunc().handle), compiled.cooperative


def as_passed(argument) -> list[int]:
    """The 8-byte values as which numba passes an argument to a kernel.

    A NumPy integer is one, whatever its width: the kernel reads the lower bytes. A device array is seven where it has
    one dimension: two pointers that kernels do not use, items, bytes an item, address, then shape and strides. A
    NamedTuple is passed as its fields.
    """
    if isinstance(argument, tuple):
        return [value for field in argument for value in as_passed(field)]
    if isinstance(argument, np.integer):
        return [int(argument) % 2**64]
    address = argument.__cuda_array_interface__["data"][0]
    return [0, 0, argument.size, argument.dtype.itemsize, address, *argument.shape, *argument.strides]


@cuda.jit
def echo(small, negative, large, words, pairs, arrived):
    """Write down what arrives of each kind of argument that the kernels take."""
    arrived[0], arrived[1], arrived[2] = small, np.uint32(negative), large
    arrived[3], arrived[4], arrived[5] = len(words), words[0], words[len(words) - 1]
    arrived[6], arrived[7], arrived[8] = len(pairs), pairs[0], pairs[len(pairs) - 1]


ECHOED = np.uint32(7), np.int32(-3), np.uint64(2**40), np.array([5, 6, 8], np.int32), np.array([2**33, 9], np.uint64)
EXPECTED = np.array([7, 2**32 - 3, 2**40, 3, 5, 8, 2, 2**33, 9], np.uint64)  # what echo writes when it is sent ECHOED


def check_echo(arrived: np.ndarray) -> None:
    """Raise RuntimeError where `echo`, sent ECHOED, did not write EXPECTED; arrived: uint64, (9,)."""
    if not np.array_equal(arrived, EXPECTED):
        raise RuntimeError(
            f"numba-cuda {version('numba-cuda')} passes arguments to kernels otherwise than numba-cuda {WRITTEN_FOR}, "
            "for which kernels/gpu/internals.py was written: install that version (the lock files in requirements/ "
            f"have it). Sent {EXPECTED.tolist()}, arrived {arrived.tolist()}"
        )
