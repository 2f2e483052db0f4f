"""Launch kernels from Python, from a compiled loop that can wait after each launch, or by CUDA graphs."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from ..errors import TOO_MANY_BLOCKS, InputError
from . import internals
from .compiler import cuda, types
from .driver import checked, driver

GRAPH_ITERATIONS = 1024
MAX_STREAMS = 16  # maximum number of streams for the launches of one step
SHARED_LIMITS: dict[tuple[int, int], int] = {}  # bytes of shared memory allowed so far; key: card and kernel's handle
PREFERRING: set[tuple[int, int]] = set()  # card and handle of kernels that prefer shared memory to L1 cache


class _Step:
    """A placeholder in the arguments of a launch. The kernel receives the number of the iteration, a uint32 from 0."""

    dtype, strides, shape = np.dtype(np.uint32), (), ()
    _numba_type_ = types.uint32

    def __repr__(self) -> str:
        return "STEP"


STEP = _Step()


def blocks_for(items: int, block: int) -> int:
    """Return the number of blocks of `block` threads that have a thread for every item."""
    return -(-items // block)


def prepared(launches: tuple | list) -> Prepared:
    """Prepare launches, each (kernel, blocks, threads, arguments[, bytes of shared memory]).

    Raises RuntimeError if numba passes arguments in an unknown form.
    """
    check_arguments()
    return Prepared(launches)


@cache
def check_arguments() -> None:
    """Check, once per process, that a kernel receives the arguments that were sent; raise RuntimeError if not."""
    arrived = cuda.to_device(np.zeros_like(internals.EXPECTED))
    arguments = *(cuda.to_device(a) if a.ndim else a for a in internals.ECHOED), arrived
    Prepared(((internals.echo, 1, 1, arguments),)).enqueue()
    internals.check_echo(arrived.copy_to_host())


class PackedArgument(NamedTuple):
    """An argument in the form that the driver takes."""

    argument: Any  # stays alive, because the card uses it and its id is a key
    key: tuple  # of its type
    values: array  # the 8-byte values that the kernel receives
    pointers: array  # the address of each value


class Prepared:
    """Launches whose arguments are laid out once, in the form that the CUDA driver's launch functions take.

    Numba's dispatcher is not used, because on a small graph it takes far longer to launch a kernel than to run it.
    """

    def __init__(self, launches: tuple | list = ()):
        self.device = int(checked(driver.cuCtxGetDevice()))
        self.step = array("Q", [0])  # the number of the iteration
        step = array("Q", self.step.buffer_info()[:1])
        self.arguments = {id(STEP): PackedArgument(STEP, internals.type_key(STEP), self.step, step)}
        self.pointers = array("Q")  # of all arguments, launch by launch
        # A row: the driver's arguments before the stream; the index in `pointers` of the kernel's first argument;
        # whether the launch is cooperative.
        self.rows: list[tuple] = []
        self.launches: list[tuple] = []
        self.add(launches)

    def add(self, launches: tuple | list) -> None:
        """Lay out further launches."""
        for kernel, blocks, threads, arguments, *shared in launches:
            laid_out = [self._lay_out(argument) for argument in arguments]
            keys = [one.key for one in laid_out]
            handle, cooperative = internals.compiled_kernel(kernel, arguments, self.device, keys)
            shared = shared[0] if shared else 0
            if shared > SHARED_LIMITS.get((self.device, handle), 0):
                limit = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                checked(driver.cuKernelSetAttribute(limit, shared, handle, self.device))
                SHARED_LIMITS[self.device, handle] = shared
            given = handle, *_three(blocks), *_three(threads), shared
            self.rows.append((given, len(self.pointers), cooperative))
            for one in laid_out:
                self.pointers.extend(one.pointers)
        self.launches.extend(launches)

    def _lay_out(self, argument: Any) -> PackedArgument:
        """Lay out an argument, once even if several launches have it."""
        if id(argument) not in self.arguments:
            values = array("Q", internals.as_passed(argument))
            address, count = values.buffer_info()
            pointers = array("Q", range(address, address + 8 * count, 8))
            self.arguments[id(argument)] = PackedArgument(argument, internals.type_key(argument), values, pointers)
        return self.arguments[id(argument)]

    def enqueue(self, stream=0, times: int = 1) -> None:
        """Launch all kernels in turn, `times` times, from Python, without waiting."""
        for self.step[0] in range(times):  # sets the argument STEP to the number of the iteration
            for row in range(len(self.rows)):
                self.enqueue_one(row, stream)

    def enqueue_one(self, row: int, stream=0) -> None:
        """Launch number `row` of the launches from Python, without waiting."""
        given, index, cooperative = self.rows[row]
        address = self.pointers.buffer_info()[0] + 8 * index
        if cooperative:
            (error,) = driver.cuLaunchCooperativeKernel(*given, stream, address)
        else:
            (error,) = driver.cuLaunchKernel(*given, stream, address, 0)
        _check_launch(error)

    def loop(self, *, wait: bool, stream: int = 0) -> Callable[[int], None]:
        """Return a function (times) that launches all kernels in turn, `times` times.

        wait: whether to wait after each launch. The loop is compiled and calls the driver directly, as a C program
        would, so that measured times include no time of Python.
        """
        rows, indices, cooperative = zip(*self.rows, strict=True)
        given = np.array(rows, np.uint64)
        columns = (
            *(given[:, 0].copy(), given[:, 1:7].astype(np.uint32), given[:, 7].astype(np.uint32)),
            *(np.array(cooperative), self.pointers.buffer_info()[0] + 8 * np.array(indices, np.uint64)),
            np.frombuffer(self.step, np.uint64),
        )
        compiled = _launch_loop()

        def launch(times: int, alive: Prepared = self) -> None:  # keeps alive `self`, whose addresses are used
            _check_launch(compiled(*columns, times, stream, wait))

        return launch

    def replay(self, times: int) -> None:
        """Launch all kernels in turn, `times` times, by CUDA graphs.

        If an argument is STEP, one graph holds all iterations. Otherwise a graph of GRAPH_ITERATIONS iterations is
        replayed. The host waits at the end, and before it makes the graph of the remaining iterations.
        """
        chunk = max(1, times) if any(a is STEP for launch in self.launches for a in launch[3]) else GRAPH_ITERATIONS
        stream = checked(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_DEFAULT))
        launch = self.loop(wait=False, stream=int(stream))
        try:
            for count, replays in ((chunk, times // chunk), (times % chunk, 1)):
                if count and replays:
                    executable = captured(stream, partial(launch, count))
                    for _ in range(replays):
                        checked(driver.cuGraphLaunch(executable, stream))
                    checked(driver.cuStreamSynchronize(stream))
                    checked(driver.cuGraphExecDestroy(executable))
        finally:
            checked(driver.cuStreamDestroy(stream))


def _three(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    """Return the numbers of blocks or threads along x, y and z."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    return *map(int, shape), *(1,) * (3 - len(shape))


def _check_launch(error: int) -> None:
    if error == driver.CUresult.CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
        raise InputError(TOO_MANY_BLOCKS)
    if error:
        raise RuntimeError(f"the CUDA driver refused a launch: error {int(error)}")


def captured(stream: int, launch: Callable[[], None]) -> driver.CUgraphExec:
    """Return an executable CUDA graph of the work that `launch` submits to a stream."""
    checked(driver.cuStreamBeginCapture(stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
    launch()
    graph = checked(driver.cuStreamEndCapture(stream))
    executable = checked(driver.cuGraphInstantiate(graph, 0))
    checked(driver.cuGraphDestroy(graph))
    return executable


@cache
def _launch_loop():
    library = ctypes.CDLL("libcuda.so.1")
    functions = library.cuLaunchKernel, library.cuLaunchCooperativeKernel, library.cuCtxSynchronize
    # The number of pointers at the end of each function's arguments: (stream, parameters, extra), (stream, parameters),
    # and none.
    pointers = (3, 2, 0)
    for function, count in zip(functions, pointers, strict=True):
        function.argtypes = [ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * count] if count else []
        function.restype = ctypes.c_int
    return compile_loop(*functions)


def compile_loop(launch_kernel, launch_cooperative, synchronize):
    """Return the compiled loop over launches. It calls the driver's functions and returns 0 or an error code."""

    @njit
    def loop(handles, shapes, shared, cooperative, parameters, step, times, stream, wait):  # noqa: PLR0913
        for i in range(times):
            step[0] = i
            for j in range(len(handles)):
                x, y, z, tx, ty, tz = shapes[j]
                if cooperative[j]:
                    error = launch_cooperative(handles[j], x, y, z, tx, ty, tz, shared[j], stream, parameters[j])
                else:
                    error = launch_kernel(handles[j], x, y, z, tx, ty, tz, shared[j], stream, parameters[j], 0)
                if wait and error == 0:
                    error = synchronize()
                if error != 0:
                    return error
        return 0

    return loop


def enqueued(steps: list[list[tuple]], *, compiled: bool) -> Callable[[], None]:
    """Return a function that launches the steps in order, without waiting; launches of one step may overlap.

    compiled: whether to launch by the compiled loop instead of from Python; no effect if a step has several launches.
    The same kernel may be launched with different sizes of shared memory.
    """
    launches = [launch for step in steps for launch in step]
    ready = prepared(launches)
    _prefer_shared_memory(ready.device, ready.rows)
    if len(launches) > len(steps):
        return SideBySide(steps).launch
    return partial(ready.loop(wait=False), 1) if compiled else ready.enqueue


def _prefer_shared_memory(device: int, rows: list[tuple]) -> None:
    """Choose the split of L1 cache with the most shared memory for all kernels with dynamic shared memory.

    A multiprocessor cannot run two kernels with different splits at the same time.
    """
    for handle in {given[0] for given, *_ in rows}:
        if SHARED_LIMITS.get((device, handle)) and (device, handle) not in PREFERRING:
            carveout = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
            checked(driver.cuKernelSetAttribute(carveout, 100, handle, device))  # per cent
            PREFERRING.add((device, handle))


class SideBySide:
    """A CUDA graph of steps that run one after the other. Launches of one step may overlap."""

    def __init__(self, steps: list[list[tuple]]):
        self.kept = ready = [[Prepared([launch]) for launch in step] for step in steps]
        for one in (one for step in ready for one in step):
            # Load the kernel now, because a kernel cannot be loaded while launches are captured.
            checked(driver.cuKernelGetFunction(one.rows[0][0][0]))
        count = min(MAX_STREAMS, max(map(len, steps)))
        streams = main, *others = [
            checked(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)) for _ in range(count)
        ]
        events = []

        def wait(stream: int, on: int) -> None:
            events.append(checked(driver.cuEventCreate(driver.CUevent_flags.CU_EVENT_DISABLE_TIMING)))
            checked(driver.cuEventRecord(events[-1], on))
            checked(driver.cuStreamWaitEvent(stream, events[-1], 0))

        def enqueue() -> None:
            for step in ready:
                used = others[: len(step) - 1]
                for stream in used:
                    wait(stream, main)
                for i, one in enumerate(step):
                    one.enqueue(streams[i % count])
                for stream in used:
                    wait(main, stream)

        try:
            self.executable = captured(main, enqueue)
        finally:
            for event in events:
                checked(driver.cuEventDestroy(event))
            for stream in streams:
                checked(driver.cuStreamDestroy(stream))

    def launch(self) -> None:
        checked(driver.cuGraphLaunch(self.executable, 0))

    def __del__(self) -> None:
        if hasattr(self, "executable"):
            driver.cuGraphExecDestroy(self.executable)


def enqueue_steps(steps: list[list[tuple]]) -> None:
    """Launch the steps in order, without waiting; launches of one step may overlap.

    No CUDA graph is made, because making a graph takes longer than launching a few dozen kernels from Python. Besides,
    the card runs a step while the host prepares the next step.
    """
    check_arguments()
    ready = Prepared()
    for step in steps:
        start = len(ready.rows)
        ready.add(step)
        _prefer_shared_memory(ready.device, ready.rows[start:])
        count = min(len(step), MAX_STREAMS)
        streams, events = _streams(ready.device)
        if count > 1:
            checked(driver.cuEventRecord(events[0], 0))
        for stream in streams[1:count]:
            checked(driver.cuStreamWaitEvent(stream, events[0], 0))
        for row in range(len(step)):
            ready.enqueue_one(start + row, streams[row % count])
        for stream, event in zip(streams[1:count], events[1:count], strict=True):
            checked(driver.cuEventRecord(event, stream))
            checked(driver.cuStreamWaitEvent(0, event, 0))


@cache
def _streams(device: int) -> tuple[list, list]:
    """Return MAX_STREAMS streams of a card, the default stream first, and an event for each stream."""
    flags, no_time = driver.CUstream_flags.CU_STREAM_NON_BLOCKING, driver.CUevent_flags.CU_EVENT_DISABLE_TIMING
    streams = [0, *(checked(driver.cuStreamCreate(flags)) for _ in range(MAX_STREAMS - 1))]
    return streams, [checked(driver.cuEventCreate(no_time)) for _ in streams]
