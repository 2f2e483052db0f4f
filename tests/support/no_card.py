"""Numba without a card: kernels are compiled for compute capability 9.0, and no driver loads them."""

from types import SimpleNamespace

import numpy as np
from cuda.bindings import driver

from kernels.gpu.compiler import cuda

COMPILED: list[str] = []  # the names of the kernels that were compiled
LOADED: list[bytes] = []  # machine code, by handle


def _load(library):
    LOADED.append(library.get_cubin().code)
    return SimpleNamespace(handle=len(LOADED) - 1)


_make = cuda.dispatcher._Kernel.__init__


def _compile(kernel, function, *given, **options):
    COMPILED.append(function.__name__)
    _make(kernel, function, *given, **options)


def install(replace=setattr) -> None:
    """Replace numba's driver; replace: setattr, or monkeypatch.setattr."""
    card = SimpleNamespace(compute_capability=(9, 0))
    replace(driver, "cuDriverGetVersion", lambda: (driver.CUresult.CUDA_SUCCESS, 13000))
    replace(cuda.dispatcher, "get_current_device", lambda: card)
    replace(cuda.dispatcher._Kernel, "__init__", _compile)
    replace(cuda.dispatcher._Kernel, "bind", lambda kernel: kernel._codelibrary.get_cufunc())
    replace(cuda.codegen.CUDACodeLibrary, "_ensure_cc", lambda library, cc: cc or (9, 0, "a"))
    replace(cuda.codegen.CUDACodeLibrary, "get_cufunc", _load)
    replace(cuda.codegen.JITCUDACodegen, "magic_tuple", lambda self: (None, (9, 0)))


def array(dtype, size: int = 6) -> cuda.cudadrv.devicearray.DeviceNDArray:
    """Return a device array without a device."""
    memory = cuda.cudadrv.driver.MemoryPointer(context=None, pointer=driver.CUdeviceptr(4096), size=8 * size)
    return cuda.cudadrv.devicearray.DeviceNDArray((size,), (np.dtype(dtype).itemsize,), dtype, gpu_data=memory)
