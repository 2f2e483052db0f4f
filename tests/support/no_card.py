"""Numba without a card: kernels are compiled for compute capability 9.0, and no driver loads them."""

from types import SimpleNamespace

import numpy as np
from cuda.bindings import driver
from numba.cuda import codegen, dispatcher
from numba.cuda.cudadrv.devicearray import DeviceNDArray
from numba.cuda.cudadrv.driver import MemoryPointer, binding

COMPILED: list[str] = []  # the names of the kernels that were compiled
LOADED: list[bytes] = []  # machine code, by handle


def _load(library):
    LOADED.append(library.get_cubin().code)
    return SimpleNamespace(handle=len(LOADED) - 1)


_make = dispatcher._Kernel.__init__


def _compile(kernel, function, *given, **options):
    COMPILED.append(function.__name__)
    _make(kernel, function, *given, **options)


def install(replace=setattr) -> None:
    """Replace numba's driver; replace: setattr, or monkeypatch.setattr."""
    card = SimpleNamespace(compute_capability=(9, 0))
    replace(driver, "cuDriverGetVersion", lambda: (driver.CUresult.CUDA_SUCCESS, 13000))
    replace(dispatcher, "get_current_device", lambda: card)
    replace(dispatcher._Kernel, "__init__", _compile)
    replace(dispatcher._Kernel, "bind", lambda kernel: kernel._codelibrary.get_cufunc())
    replace(codegen.CUDACodeLibrary, "_ensure_cc", lambda library, cc: cc or (9, 0, "a"))
    replace(codegen.CUDACodeLibrary, "get_cufunc", _load)
    replace(codegen.JITCUDACodegen, "magic_tuple", lambda self: (None, (9, 0)))


def array(dtype, size: int = 6) -> DeviceNDArray:
    """Return a device array without a device."""
    memory = MemoryPointer(context=None, pointer=binding.CUdeviceptr(4096), size=8 * size)
    return DeviceNDArray((size,), (np.dtype(dtype).itemsize,), dtype, gpu_data=memory)
