"""The machine a variant runs on: launching, timing, the memory guard, the warm-up.

A driver is handed a Run and a Result. It uploads what the paper has on the card before the clock
starts (`resident`), opens `timed`, and inside it opens one `phase` after the other; the harness
reads `seconds` and `phases` afterwards. The same drivers run in numba's CUDA simulator.
"""

from __future__ import annotations

import ctypes
import platform
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache

import numpy as np
from cuda.bindings import driver
from numba import config, cuda, njit, types

from kernels.errors import NotEnoughMemory, TimeLimit

SIMULATED = bool(config.ENABLE_CUDASIM)
PHASES = ("copy_in", "kernels", "predecessors", "copy_out")
GRAPH_ITERATIONS = 1024
SIMULATOR = "numba CUDA simulator"  # the name of its device
POISON = -7  # in every result before a run: neither a distance nor a predecessor


class _Step:
    """Stands among a launch's arguments for the number of the iteration, a uint32 from 0."""

    def __repr__(self):
        return "STEP"


STEP = _Step()


@dataclass
class Result:
    """distances, predecessors: int32, (n,) for one source, (n, n) with a row a source for all pairs.

    INF is the distance and -1 the predecessor where there is no path; -1 is the source's own.
    """

    distances: np.ndarray
    predecessors: np.ndarray

    @classmethod
    def poisoned(cls, problem: str, vertices: int) -> Result:
        shape = (vertices,) if problem == "sssp" else (vertices, vertices)
        return cls(np.full(shape, POISON, np.int32), np.full(shape, POISON, np.int32))

    def poison(self) -> None:
        self.distances.fill(POISON)
        self.predecessors.fill(POISON)


@dataclass
class Run:
    """One timed run of one variant.

    source: where single-source paths start. block: threads a block. tile: side of a tile.
    limit_s: seconds after which `check_limit` stops a serial run. on_gpu: False for a CPU variant.
    graph: replay the launches from CUDA graphs instead of waiting for each. delta: the width of
    delta-stepping's buckets. grid, shared: blocks of a kernel whose blocks share out the work, and
    bytes of shared memory a block may have; None for the variant's own rule and what the card has.
    Afterwards seconds and phases (by name, in seconds) are what was timed, launches how many
    kernels were launched, started when (ISO 8601, UTC).
    """

    source: int = 0
    block: int = 1024
    tile: int = 32
    limit_s: float = float("inf")
    on_gpu: bool = True
    graph: bool = False
    delta: int | None = None
    grid: int | None = None
    shared: int | None = None
    seconds: float = 0.0
    phases: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))
    launches: int = 0
    started: str = ""
    _clock: float = 0.0

    @property
    def blocks(self) -> int:
        """How many blocks a kernel gets whose blocks share out the work."""
        return self.grid or 2 * self.multiprocessors

    @property
    def multiprocessors(self) -> int:
        """What the card has; a kernel whose blocks wait for each other gets a block for each of them."""
        return 1 if SIMULATED else _card().MULTIPROCESSOR_COUNT

    @property
    def shared_limit(self) -> int:
        """Bytes of shared memory a launch may ask for, besides the few a kernel declares."""
        if self.shared is not None:
            return self.shared
        return 0 if SIMULATED else _card().MAX_SHARED_MEMORY_PER_BLOCK_OPTIN - 64

    def require(self, needed: int) -> None:
        """Raise NotEnoughMemory where so many bytes are not free on the card."""
        if not SIMULATED:
            cuda.current_context().deallocations.clear()
            free = cuda.current_context().get_memory_info().free
            if needed > free:
                raise NotEnoughMemory(needed, free)

    def allocate(self, *arrays: tuple) -> list:
        """Arrays on the card, each given as (length, dtype), with whatever lies there."""
        return [cuda.device_array(length, dtype) for length, dtype in arrays]

    def upload(self, *arrays: np.ndarray) -> list:
        """Copies of the host's arrays on the card."""
        return [cuda.to_device(array) for array in arrays]

    resident = upload  # the same, before the clock starts

    def download(self, *pairs) -> None:
        """Copy arrays of the card to the host: (device array, host array) each."""
        for array, host in pairs:
            array.copy_to_host(host)

    def launch(self, *launches: tuple, times: int = 1) -> None:
        """Launch kernels in turn, `times` over, and let the host wait after every single one.

        A launch is (kernel, blocks, threads, arguments), and bytes of shared memory where it wants
        some; STEP among the arguments is the number of the iteration. With `graph` the same launches
        are replayed, and the host waits at the end.
        """
        if SIMULATED:
            for step in range(times):
                for kernel, blocks, threads, arguments, *shared in launches:
                    kernel[blocks, threads, 0, *shared](*(np.uint32(step) if a is STEP else a for a in arguments))
        else:
            prepared = Prepared(launches)
            (prepared.replay if self.graph else prepared.launch)(times)
        self.launches += times * len(launches)

    @contextmanager
    def timed(self):
        """The region that `seconds` covers; ends when the card is idle."""
        self.started = datetime.now(UTC).isoformat(timespec="seconds")
        self._clock = time.perf_counter()
        yield
        if self.on_gpu:
            cuda.synchronize()
        self.seconds = time.perf_counter() - self._clock

    @contextmanager
    def phase(self, name: str):
        """A part of the timed region: between two events on the card, or by the CPU's clock."""
        if self.on_gpu and not SIMULATED:
            start, end = cuda.event(timing=True), cuda.event(timing=True)
            start.record()
            yield
            end.record()
            end.synchronize()
            self.phases[name] += cuda.event_elapsed_time(start, end) / 1000
        else:
            started = time.perf_counter()
            yield
            self.phases[name] += time.perf_counter() - started

    def check_limit(self) -> None:
        """Raise TimeLimit where the timed region has lasted longer than limit_s."""
        if time.perf_counter() - self._clock > self.limit_s:
            raise TimeLimit(self.limit_s)


class Prepared:
    """Launches whose arguments are laid out once, as the driver's cuLaunchKernel and its cooperative sister want them.

    Numba's dispatcher takes far longer to start a kernel than the kernel of a small graph runs, so
    that a loop over it measures Python. This loop is compiled, and calls the driver as C would.
    """

    def __init__(self, launches: tuple):
        count = len(launches)
        self.handles = np.empty(count, np.uint64)
        self.shapes = np.ones((count, 6), np.uint32)  # blocks x, y, z, threads x, y, z
        self.shared = np.zeros(count, np.uint32)
        self.together = np.zeros(count, np.bool_)  # whether all blocks have to be on the card at once
        self.parameters = np.empty(count, np.uint64)  # where each launch's pointers to its arguments lie
        self.step = np.zeros(1, np.uint64)
        self.kept = [launches]  # alive as long as the addresses are used
        for i, (kernel, blocks, threads, arguments, *shared) in enumerate(launches):
            compiled = kernel.specialize(*(np.uint32(0) if a is STEP else a for a in arguments))
            compiled = next(iter(compiled.overloads.values()))
            self.handles[i], self.together[i] = int(compiled._codelibrary.get_cufunc().handle), compiled.cooperative
            if shared:
                self.shared[i] = shared[0]
                attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                _checked(driver.cuKernelSetAttribute(attribute, shared[0], int(self.handles[i]), _card().id))
            for start, shape in ((0, blocks), (3, threads)):
                shape = np.atleast_1d(shape)
                self.shapes[i, start : start + len(shape)] = shape
            pointers = []
            for argument in arguments:
                values = self.step if argument is STEP else np.array(_as_passed(argument), np.uint64)
                pointers += [values.ctypes.data + 8 * j for j in range(len(values))]
                self.kept.append(values)
            pointers = np.array(pointers, np.uint64)
            self.parameters[i] = pointers.ctypes.data
            self.kept.append(pointers)

    def launch(self, times: int) -> None:
        """Launch all in turn, `times` over, and wait after each one."""
        self._loop(times, stream=0, wait=True)

    def replay(self, times: int) -> None:
        """Launch all in turn, `times` over, from CUDA graphs, and wait once at the end.

        Where no argument changes from one iteration to the next a graph of GRAPH_ITERATIONS is
        replayed; else one graph holds all iterations.
        """
        chunk = max(1, times) if any(a is STEP for launch in self.kept[0] for a in launch[3]) else GRAPH_ITERATIONS
        stream = _checked(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_DEFAULT))
        try:
            for count, replays in ((chunk, times // chunk), (times % chunk, 1)):
                if count and replays:
                    self._replay_graph(stream, count, replays)
        finally:
            _checked(driver.cuStreamDestroy(stream))

    def _replay_graph(self, stream, iterations: int, replays: int) -> None:
        _checked(driver.cuStreamBeginCapture(stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
        self._loop(iterations, stream=int(stream), wait=False)
        graph = _checked(driver.cuStreamEndCapture(stream))
        executable = _checked(driver.cuGraphInstantiate(graph, 0))
        for _ in range(replays):
            _checked(driver.cuGraphLaunch(executable, stream))
        _checked(driver.cuStreamSynchronize(stream))
        _checked(driver.cuGraphExecDestroy(executable))
        _checked(driver.cuGraphDestroy(graph))

    def _loop(self, times: int, *, stream: int, wait: bool) -> None:
        loop = _launch_loop()
        arrays = self.handles, self.shapes, self.shared, self.together, self.parameters, self.step
        error = loop(*arrays, times, stream, wait)
        if error:
            raise RuntimeError(f"the CUDA driver refused a launch: error {error}")


def _checked(answer: tuple):
    """What a call of cuda.bindings.driver returns besides its error code; raises where that is not 0."""
    error, *values = answer
    if error != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"the CUDA driver refused a call: {error}")
    return values[0] if values else None


def _as_passed(argument) -> list[int]:
    """The 8-byte values as which numba passes a device array, or an integer of NumPy, to a kernel."""
    if isinstance(argument, np.integer):
        return [int(argument) % 2**64]
    address = argument.__cuda_array_interface__["data"][0]
    return [0, 0, argument.size, argument.dtype.itemsize, address, *argument.shape, *argument.strides]


@cache
def _launch_loop():
    library = ctypes.CDLL("libcuda.so.1")
    functions = library.cuLaunchKernel, library.cuLaunchCooperativeKernel, library.cuCtxSynchronize
    pointers = 3, 2, 0  # stream, parameters, and what only the first takes besides
    for function, count in zip(functions, pointers, strict=True):
        function.argtypes = [ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * count] if count else []
        function.restype = ctypes.c_int
    return compile_loop(*functions)


def compile_loop(launch_kernel, launch_together, synchronize):
    """The loop over launches and waits; cuLaunchKernel, cuLaunchCooperativeKernel, cuCtxSynchronize by ctypes."""

    @njit
    def loop(handles, shapes, shared, together, parameters, step, times, stream, wait):
        for i in range(times):
            step[0] = i
            for j in range(len(handles)):
                x, y, z, tx, ty, tz = shapes[j]
                if together[j]:
                    error = launch_together(handles[j], x, y, z, tx, ty, tz, shared[j], stream, parameters[j])
                else:
                    error = launch_kernel(handles[j], x, y, z, tx, ty, tz, shared[j], stream, parameters[j], 0)
                if wait and error == 0:
                    error = synchronize()
                if error != 0:
                    return error
        return 0

    return loop


def blocks_for(items: int, block: int) -> int:
    """Blocks that give every item a thread: ceil(items / block)."""
    return -(-items // block)


@cuda.jit(device=True)
def thread_x():
    """This thread's number along x, as uint32; numba's cuda.grid is 64 bits wide and compiles worse."""
    return np.uint32(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)


@cuda.jit(device=True)
def thread_y():
    return np.uint32(cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y)


@cuda.jit
def _warm_up(seen):
    lead = cuda.shared.array(1, types.int32)
    if cuda.threadIdx.x == 0:
        lead[0] = cuda.grid(1)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        seen[cuda.blockIdx.x] = lead[0]


def warm_up(vertices: int, block: int, launches: int) -> None:
    """Launch the paper's warm-up kernel (its utils.cuh): a thread a vertex, one barrier, no work."""
    blocks = blocks_for(vertices, block)
    seen = cuda.device_array(blocks, np.int32)
    Run().launch((_warm_up, blocks, block, (seen,)), times=launches)


def _card():
    return cuda.get_current_device()


def gpu_visible() -> bool:
    """Whether a real GPU can be used from here."""
    return not SIMULATED and cuda.is_available()


def has_pairs() -> bool:
    """Whether the card takes the minimum of two 16-bit pairs in one instruction."""
    return gpu_visible() and _card().compute_capability >= (9, 0)


@cache
def cpu_name() -> str:
    """The processor's name as the system gives it."""
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def describe(on_gpu: bool) -> dict[str, str]:
    """device, driver and cuda as a measurement's row names them; the last two empty for a CPU."""
    if not on_gpu:
        return {"device": cpu_name(), "driver": "", "cuda": ""}
    if SIMULATED:
        return {"device": SIMULATOR, "driver": "", "cuda": ""}
    name = _card().name
    return {
        "device": name.decode() if isinstance(name, bytes) else name,
        "driver": card_state()["driver"],
        "cuda": ".".join(map(str, cuda.runtime.get_version())),
    }


def card_state() -> dict:
    """The card's clocks (MHz), temperature (C), power (W) and reasons for throttling, now."""
    import pynvml

    pynvml.nvmlInit()
    try:
        card = pynvml.nvmlDeviceGetHandleByUUID(str(_card().uuid))
        reasons = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(card)
        return {
            "driver": pynvml.nvmlSystemGetDriverVersion(),
            "uuid": pynvml.nvmlDeviceGetUUID(card),
            "sm_clock_mhz": pynvml.nvmlDeviceGetClockInfo(card, pynvml.NVML_CLOCK_SM),
            "max_sm_clock_mhz": pynvml.nvmlDeviceGetMaxClockInfo(card, pynvml.NVML_CLOCK_SM),
            "memory_clock_mhz": pynvml.nvmlDeviceGetClockInfo(card, pynvml.NVML_CLOCK_MEM),
            "temperature_c": pynvml.nvmlDeviceGetTemperature(card, pynvml.NVML_TEMPERATURE_GPU),
            "power_w": pynvml.nvmlDeviceGetPowerUsage(card) / 1000,
            "throttling": [name for name, bit in _THROTTLING.items() if reasons & bit],
        }
    finally:
        pynvml.nvmlShutdown()


# NVML's bits for a clock below what was asked for; idling and set application clocks are none.
_THROTTLING = {
    "power cap": 0x4,
    "hardware slowdown": 0x8,
    "sync boost": 0x10,
    "software thermal": 0x20,
    "hardware thermal": 0x40,
    "power brake": 0x80,
}
