"""Launches: from Python without waiting, by a compiled loop that waits after each, or from CUDA graphs."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
from cuda.bindings import driver
from numba import cuda, njit, types

from kernels.errors import TOO_MANY_BLOCKS, InputError
from kernels.gpu import card, internals
from kernels.gpu.driver import checked

if TYPE_CHECKING:
    from kernels.run import Run

GRAPH_ITERATIONS = 1024
STREAMS = 16  # on which launches that do not depend on each other run, at most
ATTRIBUTES = driver.CUfunction_attribute
ALLOWED: dict[tuple[int, int], int] = {}  # bytes of shared memory that a kernel may have by now, by card and handle


class _Step:
    """Stands among a launch's arguments for the number of the iteration, a uint32 from 0."""

    dtype, strides, shape = np.dtype(np.uint32), (), ()
    _numba_type_ = types.uint32

    def __repr__(self):
        return "STEP"


STEP = _Step()


def blocks_for(items: int, block: int) -> int:
    """Blocks that give every item a thread: ceil(items / block)."""
    return -(-items // block)


def prepared(launches: tuple | list) -> Prepared:
    """The launches, each (kernel, blocks, threads, arguments[, bytes of shared memory]), ready to be launched.

    Raises RuntimeError where numba passes arguments in a way that is not known here.
    """
    check_arguments()
    return Prepared(launches)


@cache
def check_arguments() -> None:
    """Launch a kernel that writes down its arguments; once a process. Raise RuntimeError where they arrive changed."""
    arrived = cuda.to_device(np.zeros_like(internals.EXPECTED))
    arguments = *(cuda.to_device(a) if a.ndim else a for a in internals.ECHOED), arrived
    Prepared(((internals.echo, 1, 1, arguments),)).enqueue()
    internals.check_echo(arrived.copy_to_host())


class Prepared:
    """Launches whose arguments are laid out once, as cuLaunchKernel and cuLaunchCooperativeKernel take them.

    Numba's dispatcher takes far longer to start a kernel than the kernel of a small graph runs, so it launches nothing.
    """

    def __init__(self, launches: tuple | list):
        self.device = device = int(checked(driver.cuCtxGetDevice()))
        words, places, self.rows = array("Q", [0]), [], []  # the first word is the number of the iteration
        for kernel, blocks, threads, arguments, *shared in launches:
            handle, cooperative = internals.compiled_kernel(kernel, arguments, device)
            shared = shared[0] if shared else 0
            if shared > ALLOWED.get((device, handle), 0):
                ALLOWED[device, handle] = shared
                limit = ATTRIBUTES.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                checked(driver.cuKernelSetAttribute(limit, shared, handle, device))
            # The driver's arguments before the stream; where the kernel's begin in places; whether it is cooperative
            self.rows.append(((handle, *_three(blocks), *_three(threads), shared), len(places), cooperative))
            for argument in arguments:
                if argument is STEP:
                    places.append(0)
                else:
                    passed = internals.as_passed(argument)
                    places.extend(range(len(words), len(words) + len(passed)))
                    words.extend(passed)
        first = words.buffer_info()[0]
        places = array("Q", [first + 8 * place for place in places])
        self.places, self.words = places.buffer_info()[0], words
        self.kept = launches, places  # alive as long as the addresses are used

    def enqueue(self, stream=0, times: int = 1) -> None:
        """Launch all in turn, `times` over, from Python; do not wait."""
        for self.words[0] in range(times):  # the number of the iteration
            for given, place, cooperative in self.rows:
                address = self.places + 8 * place
                if cooperative:
                    (error,) = driver.cuLaunchCooperativeKernel(*given, stream, address)
                else:
                    (error,) = driver.cuLaunchKernel(*given, stream, address, 0)
                _check(error)

    def loop(self, *, wait: bool, stream: int = 0) -> Callable[[int], None]:
        """Return a function that launches all in turn, as many times over as it is told; all is laid out before.

        The loop is compiled and calls the driver as C would, so that Python's time is not measured.
        wait: whether to wait after each launch.
        """
        given, places, cooperative = zip(*self.rows, strict=True)
        given = np.array(given, np.uint64)
        columns = (
            *(given[:, 0].copy(), given[:, 1:7].astype(np.uint32), given[:, 7].astype(np.uint32)),
            *(np.array(cooperative), self.places + 8 * np.array(places, np.uint64)),
            np.frombuffer(self.words, np.uint64, 1),
        )
        compiled = _launch_loop()

        def launch(times: int, alive=self) -> None:  # whose addresses are used
            _check(compiled(*columns, times, stream, wait))

        return launch

    def replay(self, times: int) -> None:
        """Launch all in turn, `times` over, from CUDA graphs; the host waits once, at the end.

        If no argument changes from one iteration to the next, a graph of GRAPH_ITERATIONS of them is replayed; else one
        graph holds all iterations.
        """
        chunk = max(1, times) if any(a is STEP for launch in self.kept[0] for a in launch[3]) else GRAPH_ITERATIONS
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


def _three(shape) -> tuple[int, int, int]:
    """Blocks or threads along x, y and z."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    return *map(int, shape), *(1,) * (3 - len(shape))


def _check(error: int) -> None:
    if error == driver.CUresult.CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
        raise InputError(TOO_MANY_BLOCKS)
    if error:
        raise RuntimeError(f"the CUDA driver refused a launch: error {int(error)}")


def captured(stream, launch: Callable[[], None]):
    """An executable CUDA graph of what a function launches on a stream."""
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
    # Pointers that each takes at the end: (stream, parameters, extra), (stream, parameters), and no argument at all.
    pointers = (3, 2, 0)
    for function, count in zip(functions, pointers, strict=True):
        function.argtypes = [ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * count] if count else []
        function.restype = ctypes.c_int
    return compile_loop(*functions)


def compile_loop(launch_kernel, launch_cooperative, synchronize):
    """The loop over launches, compiled, with the driver's three functions by ctypes; it returns an error code, or 0."""

    @njit
    def loop(handles, shapes, shared, cooperative, parameters, step, times, stream, wait):
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


def enqueued(run: Run, *steps: tuple | list) -> Callable[[], None]:
    """A function that launches the steps in order and does not wait until they have ended.

    A step is a launch, as Run.launch takes it, or a list of launches that may run side by side. A kernel may occur with
    several sizes of shared memory.
    """
    steps = [step if isinstance(step, list) else [step] for step in steps if step]
    launches = [launch for step in steps for launch in step]
    if not card.gpu_visible():
        return lambda: run.launch(*launches)
    ready = prepared(launches)
    _prefer_shared_memory(ready)
    if len(launches) > len(steps):
        go = SideBySide(steps).launch
    else:
        go = partial(ready.loop(wait=False), 1) if run.waits else ready.enqueue

    def launch():
        go()
        run.launches += len(launches)

    return launch


def _prefer_shared_memory(ready: Prepared) -> None:
    """Prefer shared memory to L1, for all kernels alike: else a multiprocessor ends one before it starts the next."""
    for handle in {given[0] for given, *_ in ready.rows}:
        if ALLOWED.get((ready.device, handle)):
            carveout = ATTRIBUTES.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
            checked(driver.cuKernelSetAttribute(carveout, 100, handle, ready.device))  # per cent


class SideBySide:
    """A CUDA graph: steps follow each other, launches of one step may overlap."""

    def __init__(self, steps: list[list[tuple]]):
        self.kept = ready = [[Prepared([launch]) for launch in step] for step in steps]
        for one in (one for step in ready for one in step):
            # loads the kernel, which must not happen while launches are captured
            checked(driver.cuKernelGetFunction(one.rows[0][0][0]))
        count = min(STREAMS, max(map(len, steps)))
        streams = main, *others = [
            checked(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)) for _ in range(count)
        ]
        events = []

        def wait(stream, on):
            events.append(checked(driver.cuEventCreate(driver.CUevent_flags.CU_EVENT_DISABLE_TIMING)))
            checked(driver.cuEventRecord(events[-1], on))
            checked(driver.cuStreamWaitEvent(stream, events[-1], 0))

        def enqueue():
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

    def __del__(self):
        if hasattr(self, "executable"):
            driver.cuGraphExecDestroy(self.executable)
