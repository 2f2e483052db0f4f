"""The card by CUDA's driver API alone, without numba, whose import takes longer than many a search.

The context is the card's primary one, as in numba, CuPy and PyTorch, so all of them can be used in one process.
"""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property, partial
from pathlib import Path

import numpy as np
from cuda.bindings import driver

from kernels.errors import NotEnoughMemory
from kernels.gpu import dlpack

SMALL = 2**26  # bytes: for less it is not asked before how many are free, which takes longer than to take them
POOLED = 2**28  # bytes of memory that is no longer used, kept for the next arrays: taking it anew takes longer
ATTRIBUTES = driver.CUdevice_attribute


def simulated() -> bool:
    """Whether numba simulates a card, as numba reads its settings; without importing it where that can be."""
    if "numba" in sys.modules or Path(".numba_config.yaml").exists():
        from numba import config

        return bool(config.ENABLE_CUDASIM)
    try:
        return bool(int(os.environ.get("NUMBA_ENABLE_CUDASIM", "0")))
    except ValueError:
        return False


def checked(answer: tuple):
    """What a call of cuda.bindings.driver returned besides its error code; raises RuntimeError where that is not 0."""
    error, *values = answer
    if error != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"the CUDA driver refused a call: {error}")
    return values[0] if len(values) == 1 else tuple(values)


@cache
def cards() -> int:
    """How many cards the driver shows; 0 also where there is no driver."""
    try:
        checked(driver.cuInit(0))
        return checked(driver.cuDeviceGetCount())
    except RuntimeError:
        return 0


def device() -> Device:
    """The card whose context the calling thread has, else the first. There is one: see `cards`."""
    checked(driver.cuInit(0))
    has_context = int(checked(driver.cuCtxGetCurrent()))
    return _device(int(checked(driver.cuCtxGetDevice())) if has_context else 0)


@cache
def _device(number: int) -> Device:
    return Device(number)


class Device:
    """A card, by its number.

    capability: its compute capability, two numbers. multiprocessors: how many it has. shared_limit: bytes of shared
    memory a launch may ask for, besides the few a kernel declares. allowed: by a kernel's handle, for how many bytes it
    may ask now.
    """

    def __init__(self, number: int):
        self.number, self.handle = number, checked(driver.cuDeviceGet(number))
        self.context = checked(driver.cuDevicePrimaryCtxRetain(self.handle))
        ask = self._attribute
        self.capability = ask("COMPUTE_CAPABILITY_MAJOR"), ask("COMPUTE_CAPABILITY_MINOR")
        self.multiprocessors = ask("MULTIPROCESSOR_COUNT")
        self.shared_limit = ask("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN") - 64
        self.allowed = {}

    def _attribute(self, name: str) -> int:
        return checked(driver.cuDeviceGetAttribute(getattr(ATTRIBUTES, f"CU_DEVICE_ATTRIBUTE_{name}"), self.handle))

    @contextmanager
    def current(self) -> Iterator[None]:
        """In it the calling thread has the card's context."""
        checked(driver.cuCtxPushCurrent(self.context))
        try:
            yield
        finally:
            checked(driver.cuCtxPopCurrent())

    @cached_property
    def pool(self):
        """The memory of this module's arrays; None where the card has no pools."""
        if not self._attribute("MEMORY_POOLS_SUPPORTED"):
            return None
        wanted = driver.CUmemPoolProps()
        wanted.allocType = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        wanted.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        wanted.location.id = self.number
        pool = checked(driver.cuMemPoolCreate(wanted))
        most = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        checked(driver.cuMemPoolSetAttribute(pool, most, driver.cuuint64_t(POOLED)))
        return pool

    def allocate(self, size: int) -> int:
        """The address of new memory, of so many bytes; in the card's context. Raises NotEnoughMemory."""
        error, address = driver.cuMemAllocFromPoolAsync(size, self.pool, 0) if self.pool else driver.cuMemAlloc(size)
        if error == driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            raise NotEnoughMemory(size, self.free_memory())
        return int(checked((error, address)))

    def give_back(self, address: int, *, in_use: bool) -> None:
        """Give back memory; in_use: whether others than this module may have work on it. An error is nobody's."""
        driver.cuCtxPushCurrent(self.context)
        if in_use:
            driver.cuCtxSynchronize()
        driver.cuMemFreeAsync(address, 0) if self.pool else driver.cuMemFree(address)
        driver.cuCtxPopCurrent()

    def free_memory(self) -> int:
        """Bytes free on the card, with what the pool keeps, and where numba is used what it keeps too."""
        numbas = sys.modules.get(f"{__package__}.card")
        with self.current():
            free = numbas.free_memory() if numbas else checked(driver.cuMemGetInfo())[0]
        if not self.pool:
            return free
        names = (f"CU_MEMPOOL_ATTR_{name}_MEM_CURRENT" for name in ("RESERVED", "USED"))
        reserved, used = (
            int(checked(driver.cuMemPoolGetAttribute(self.pool, getattr(driver.CUmemPool_attribute, name))))
            for name in names
        )
        return free + reserved - used

    def trim(self) -> None:
        """Give back to the card what the pool keeps, once all work has ended."""
        if self.pool:
            with self.current():
                checked(driver.cuCtxSynchronize())
                checked(driver.cuMemPoolTrimTo(self.pool, 0))


class DeviceArray:
    """An array on a card. CuPy, PyTorch, numba and others take it without a copy: by __cuda_array_interface__, which
    cupy.asarray and torch.as_tensor read, or by DLPack, as cupy.from_dlpack and torch.from_dlpack do.

    size, shape, strides, dtype, nbytes: as NumPy's, of one dimension. All work on it has ended when a caller gets it.
    The memory is given back when the array and all that took it are deleted.
    """

    ndim = 1
    address = None

    def __init__(self, device: Device, size: int, dtype):
        self.device, self.size, self.dtype = device, int(size), np.dtype(dtype)
        self.shape, self.strides = (self.size,), (self.dtype.itemsize,)
        self.nbytes = self.size * self.dtype.itemsize
        self.address = device.allocate(max(1, self.nbytes))
        self._shared = False
        # For a launch: the type, and the values as which numba passes an array (kernels/gpu/internals.py).
        self.kind = f"{self.dtype.str}[]"
        self.passed = [0, 0, self.size, self.dtype.itemsize, self.address, *self.shape, *self.strides]

    def __del__(self, ends=sys.is_finalizing):
        if self.address and not ends():
            self.device.give_back(self.address, in_use=self._shared)

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"<{self.size:,} numbers, {self.dtype}, on card {self.device.number}>"

    def copy_to_host(self) -> np.ndarray:
        """A copy as a NumPy array."""
        host = np.empty(self.size, self.dtype)
        with self.device.current():
            self.read(host)
        return host

    def read(self, host: np.ndarray) -> None:
        """Copy to a contiguous array of the same size and dtype; in the card's context."""
        if self.nbytes:
            checked(driver.cuMemcpyDtoH(host.ctypes.data, self.address, self.nbytes))

    def write(self, host: np.ndarray) -> None:
        """Copy from a contiguous array of the same size and dtype; in the card's context."""
        if self.nbytes:
            checked(driver.cuMemcpyHtoD(self.address, host.ctypes.data, self.nbytes))

    @property
    def __cuda_array_interface__(self) -> dict:
        self._shared = True
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "strides": None,
            "stream": None,  # nobody has to wait
            "version": 3,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CUDA, self.device.number

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A capsule of DLPack's, of the version before 1.0, which all take. Raises BufferError where a copy is asked
        for, or another device.
        """
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("an array on the card is given as it is: copy it afterwards")
        self._shared = True
        return dlpack.capsule(self, self.device.number)


class DriverRun:
    """In the place of a kernels.run.Run for what needs no clock: arrays, copies, and launches of compiled kernels.

    block, delta, grid, multiprocessors, shared_limit and the methods are as Run's. A kernel is one of
    kernels/gpu/kept.py. All is done in the card's context, which the caller has made current.
    """

    block, delta, grid = 1024, None, None
    prepare_card_s = 0.0

    def __init__(self, device: Device):
        self.device = device
        self.multiprocessors, self.shared_limit = device.multiprocessors, device.shared_limit

    def require(self, needed: int) -> None:
        """Raise NotEnoughMemory where fewer bytes than needed are free; for few bytes `allocate` does."""
        if needed >= SMALL and needed > (free := self.device.free_memory()):
            raise NotEnoughMemory(needed, free)

    def allocate(self, *arrays: tuple) -> list[DeviceArray]:
        return [DeviceArray(self.device, length, dtype) for length, dtype in arrays]

    def upload(self, *arrays: np.ndarray) -> list[DeviceArray]:
        uploaded = self.allocate(*((len(host), host.dtype) for host in arrays))
        for copy, host in zip(uploaded, arrays, strict=True):
            copy.write(np.ascontiguousarray(host))
        return uploaded

    upload_untimed = upload

    def download(self, *pairs) -> None:
        for on_card, host in pairs:
            on_card.read(host)

    def launch(self, *launches: tuple) -> None:
        """Launch kernels in turn. Nobody waits: what follows, copies too, begins when they have ended."""
        for launch in launches:
            function, arguments, _ = self._call(*launch)
            checked(function(*arguments))

    def prepare(self, *launches: tuple) -> Callable[[], None]:
        """A function that launches the kernels in turn. The host lays out arguments while the card has other work."""
        return partial(self.launch, *launches)

    def prepare_now(self, *launches: tuple) -> Callable[[], None]:
        """The same, with arguments that are laid out now: for a time of the kernels alone."""
        calls = [self._call(*launch) for launch in launches]

        def launch():
            for function, arguments, _ in calls:
                checked(function(*arguments))

        return launch

    def wait(self) -> None:
        """Until all that was launched has ended."""
        checked(driver.cuCtxSynchronize())

    def _call(self, kernel, blocks: int, threads: int, arguments: tuple, shared: int = 0) -> tuple:
        """The driver's function that launches a kernel, what it is given, and what has to live until then."""
        handle, cooperative = kernel.loaded(self.device, tuple(map(kind_of, arguments)))
        if shared and self.device.allowed.get(handle) != shared:
            limit = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            checked(driver.cuKernelSetAttribute(limit, shared, handle, self.device.number))
            self.device.allowed[handle] = shared
        words = array("Q")
        for argument in arguments:
            words.extend(as_passed(argument))
        first, count = words.buffer_info()
        places = array("Q", range(first, first + 8 * count, 8))
        given = handle, blocks, 1, 1, threads, 1, 1, shared, 0, places.buffer_info()[0]
        if cooperative:
            return driver.cuLaunchCooperativeKernel, given, (words, places)
        return driver.cuLaunchKernel, (*given, 0), (words, places)


def kind_of(argument) -> str:
    """The type of a kernel's argument: "<u4", or of an array "<u4[]"."""
    return argument.kind if isinstance(argument, DeviceArray) else argument.dtype.str


def as_passed(argument) -> list[int]:
    """The 8-byte values as which numba passes an argument to a kernel; see kernels/gpu/internals.py."""
    return argument.passed if isinstance(argument, DeviceArray) else [int(argument) % 2**64]
