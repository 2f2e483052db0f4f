"""CUDA's driver without a card: memory of the host, and kernels of near_far.py and floats.py by SciPy. No numba.

`install` puts it in the place of cuda.bindings.driver's functions; `Driver.log` has what was launched. Machine code is
the kernel's name, and whether its launch is cooperative, as `code` gives it.
"""

import ctypes
import threading

import numpy as np
from cuda.bindings import driver
from scipy import sparse
from scipy.sparse import csgraph

INF, LINK = 2**31 - 1, 1 << 63
ATTRIBUTES = driver.CUdevice_attribute
COOPERATIVE = {"search", "relax", "follow_ties"}  # kernels


def code(name: str) -> bytes:
    return f"\x7fELF\ncode of {name}\n".encode()


class Driver:
    """log: the names of launched kernels. memory: by address, what is allocated. context: of each thread, a stack."""

    cards, pools, free = 1, 1, 10**9

    def __init__(self):
        self.log, self.memory, self.handles, self.thread = [], {}, {}, threading.local()

    @property
    def contexts(self) -> list:
        return vars(self.thread).setdefault("contexts", [])

    def needs_context(self) -> None:
        assert self.contexts, "no context is current"

    def cuInit(self, flags):
        pass

    def cuDriverGetVersion(self):
        return 13000

    def cuDeviceGetCount(self):
        return self.cards

    def cuDeviceGet(self, number):
        return number

    def cuDeviceGetAttribute(self, attribute, device):
        names = "COMPUTE_CAPABILITY_MAJOR", "MULTIPROCESSOR_COUNT", "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"
        values = dict(zip((getattr(ATTRIBUTES, f"CU_DEVICE_ATTRIBUTE_{n}") for n in names), (9, 4, 9000), strict=True))
        values[ATTRIBUTES.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED] = self.pools
        return values.get(attribute, 0)

    def cuDevicePrimaryCtxRetain(self, device):
        return 7

    def cuCtxGetCurrent(self):
        return self.contexts[-1] if self.contexts else 0

    def cuCtxGetDevice(self):
        self.needs_context()
        return 0

    def cuCtxPushCurrent(self, context):
        self.contexts.append(context)

    def cuCtxPopCurrent(self):
        return self.contexts.pop()

    def cuCtxSynchronize(self):
        self.needs_context()
        self.log.append("wait")

    def cuMemGetInfo(self):
        self.needs_context()
        return self.free, self.free

    def cuMemPoolCreate(self, wanted):
        return 5

    def cuMemPoolSetAttribute(self, pool, attribute, value):
        pass

    def cuMemPoolGetAttribute(self, pool, attribute):
        return 300 if attribute == driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT else 100

    def cuMemPoolTrimTo(self, pool, kept):
        self.log.append("trim")

    def cuMemAllocFromPoolAsync(self, size, pool, stream):
        assert self.pools
        return self.allocate(size)

    def cuMemAlloc(self, size):
        assert not self.pools
        return self.allocate(size)

    def allocate(self, size):
        self.needs_context()
        if size > self.free:
            raise MemoryError
        buffer = ctypes.create_string_buffer(b"\xab" * size, size)
        self.memory[ctypes.addressof(buffer)] = buffer
        return ctypes.addressof(buffer)

    def cuMemFreeAsync(self, address, stream):
        self.cuMemFree(address)

    def cuMemFree(self, address):
        self.needs_context()
        del self.memory[address]
        self.log.append("free")

    def cuMemcpyDtoH(self, host, card, size):
        self.needs_context()
        ctypes.memmove(host, card, size)

    cuMemcpyHtoD = cuMemcpyDtoH

    def cuLibraryLoadData(self, text, *options):
        self.needs_context()
        return text if text.startswith(code("")[:-1]) else driver.CUresult.CUDA_ERROR_INVALID_IMAGE

    def cuLibraryGetKernel(self, library, name):
        if library != code(name.decode()):
            return driver.CUresult.CUDA_ERROR_NOT_FOUND
        self.handles[1000 + len(self.handles)] = name.decode()
        return 999 + len(self.handles)

    def cuKernelSetAttribute(self, attribute, value, kernel, device):
        assert value <= 9000 - 64

    def cuLaunchKernel(self, handle, *rest):
        self.launch(handle, *rest, cooperative=False)

    def cuLaunchCooperativeKernel(self, handle, *rest):
        self.launch(handle, *rest, 0, cooperative=True)

    def launch(self, handle, x, y, z, tx, ty, tz, shared, stream, parameters, extra, *, cooperative):
        self.needs_context()
        name = self.handles[handle]
        assert (y, z, ty, tz, stream, cooperative) == (1, 1, 1, 1, 0, name in COOPERATIVE) and x > 0 and tx <= 1024
        self.log.append(name)
        values = Values(parameters)
        getattr(self, name)(values)

    # Kernels; how many arguments each has, and which are arrays, is as in near_far_kernels.py.

    def echo(self, values):
        small, negative, large = values.numbers(3)
        words, pairs, arrived = (values.array(kind) for kind in (np.int32, np.uint64, np.uint64))
        ends = [end for array in (words, pairs) for end in (len(array), array[0], array[-1])]
        arrived[:] = np.array([small, negative % 2**32, large, *ends], np.uint64)

    def fill_rows(self, values):
        self.indptr, self.indices, self.weights = (values.array(np.int32).copy() for _ in range(3))

    def set_links(self, values):
        pass

    def initialise(self, values):
        pass

    def search(self, values):
        (self.source, *_), _, _ = values.numbers(5), values.array(np.uint64), values.array(np.uint32)
        n = len(self.indptr) - 1
        graph = sparse.csr_array((self.weights.astype(float), self.indices, self.indptr), shape=(n, n))
        found, self.last = csgraph.dijkstra(graph, indices=self.source, return_predecessors=True)
        values.array(np.int32)[:] = np.minimum(found, INF)

    def clear(self, values):
        pass

    def walk(self, values):
        *_, words = values.numbers(3), *(values.array(kind) for kind in (np.uint64, np.int32, np.uint64, np.uint32))
        words[:4] = 1, 2, True, False

    def find_predecessors(self, values):
        *_, predecessor = (values.array(kind) for kind in (np.uint64, np.uint32, np.int32, np.int32))
        predecessor[:] = np.maximum(self.last, -1)

    def find_too_long(self, values):
        pass

    def as_scipy(self, values):
        dist, predecessor, distances = (values.array(kind) for kind in (np.int32, np.int32, np.float64))
        distances[:] = np.where(dist == INF, np.inf, dist)
        predecessor[predecessor < 0] = -9999

    # As in floats_kernels.py.

    def set_bounds(self, values):
        constants, _, dist, _, predecessor = map(values.array, (np.float64, np.int32, np.float64, np.uint32, np.int32))
        dist[:], predecessor[:] = constants[1], -1

    def start(self, values):
        starts, dist, predecessor, _ = map(values.array, (np.uint32, np.float64, np.int32, np.uint32))
        self.starts, dist[starts] = starts.copy(), 0
        predecessor[starts if len(predecessor) == len(dist) else []] = -9999

    def relax(self, values):
        n, _ = values.numbers(2)
        indptr, indices, weights = map(values.array, (np.int32, np.int32, np.float64))
        dist, _, _, counts = map(values.array, (np.float64, np.uint32, np.uint32, np.uint32))
        graph = sparse.csr_array((weights, indices, indptr), shape=(n, n))
        found, self.last = csgraph.dijkstra(graph, indices=self.starts % n, return_predecessors=True)
        dist[:], counts[3] = found.ravel(), 2

    def find_tree(self, values):
        values.numbers(1)
        *_, predecessor = map(values.array, (np.float64, np.int32, np.int32, np.float64, np.float64, np.int32))
        predecessor[:] = self.last.ravel()

    def follow_ties(self, values):
        raise AssertionError("find_tree leaves none")


class Values:
    """What a kernel is given, from the first argument on. An array of one dimension is seven values."""

    def __init__(self, parameters):
        self.at = parameters

    def numbers(self, count: int) -> list[int]:
        found = [ctypes.c_int64.from_address(p).value for p in (ctypes.c_uint64 * count).from_address(self.at)]
        self.at += 8 * count
        return found

    def array(self, kind) -> np.ndarray:
        *unused, size, item, address, length, stride = self.numbers(7)
        assert (unused, item, length, stride) == ([0, 0], np.dtype(kind).itemsize, size, item)
        return np.ctypeslib.as_array((ctypes.c_uint8 * (size * item)).from_address(address)).view(kind)


def install(replace=setattr) -> Driver:
    """replace: as setattr, or monkeypatch.setattr."""
    made = Driver()
    for name in dir(made):
        if name.startswith("cu"):
            replace(driver, name, _answering(getattr(made, name)))
    return made


def _answering(function):
    """The function with the driver's way to return an error and values."""

    def answer(*given):
        try:
            found = function(*given)
        except MemoryError:
            return driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY, None
        if isinstance(found, driver.CUresult):
            return found, None
        values = found if isinstance(found, tuple) else () if found is None else (found,)
        return driver.CUresult.CUDA_SUCCESS, *values

    return answer
