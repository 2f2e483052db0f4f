"""Launches prepared once: a compiled loop over the driver's cuLaunchKernel, and CUDA graphs of the same launches."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
from cuda.bindings import driver
from numba import cuda, njit

from kernels.errors import TOO_MANY_BLOCKS, InputError
from kernels.gpu import card, internals
from kernels.gpu.internals import checked

GRAPH_ITERATIONS = 1024


class _Step:
    """Stands among a launch's arguments for the number of the iteration, a uint32 from 0."""

    def __repr__(self):
        return "STEP"


STEP = _Step()


def blocks_for(items: int, block: int) -> int:
    """Blocks that give every item a thread: ceil(items / block)."""
    return -(-items // block)


def prepared(launches: tuple) -> Prepared:
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
    Prepared(((internals.echo, 1, 1, arguments),)).launch(1)
    internals.check_echo(arrived.copy_to_host())


class Prepared:
    """Launches whose arguments are laid out once, as cuLaunchKernel and cuLaunchCooperativeKernel take them.

    Numba's dispatcher takes far longer to start a kernel than the kernel of a small graph runs, so a loop over it
    would measure Python. The loop here is compiled, and calls the driver as C would.
    """

    def __init__(self, launches: tuple):
        count = len(launches)
        self.handles = np.empty(count, np.uint64)
        self.shapes = np.ones((count, 6), np.uint32)  # blocks x, y, z, threads x, y, z
        self.shared = np.zeros(count, np.uint32)
        self.cooperative = np.zeros(count, np.bool_)  # whether all blocks must be on the card at once
        self.parameters = np.empty(count, np.uint64)  # the address of each launch's pointers to its arguments
        self.step = np.zeros(1, np.uint64)
        self.kept = [launches]  # alive as long as the addresses are used
        for i, (kernel, blocks, threads, arguments, *shared) in enumerate(launches):
            typed = (np.uint32(0) if a is STEP else a for a in arguments)
            self.handles[i], self.cooperative[i] = internals.compiled_kernel(kernel, typed)
            if shared:
                self.shared[i] = shared[0]
                attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                checked(driver.cuKernelSetAttribute(attribute, shared[0], int(self.handles[i]), card.current().id))
            for start, shape in ((0, blocks), (3, threads)):
                shape = np.atleast_1d(shape)
                self.shapes[i, start : start + len(shape)] = shape
            pointers = []
            for argument in arguments:
                values = self.step if argument is STEP else np.array(internals.as_passed(argument), np.uint64)
                pointers += [values.ctypes.data + 8 * j for j in range(len(values))]
                self.kept.append(values)
            pointers = np.array(pointers, np.uint64)
            self.parameters[i] = pointers.ctypes.data
            self.kept.append(pointers)

    def launch(self, times: int) -> None:
        """Launch all in turn, `times` over; the host waits after each launch."""
        self._loop(times, stream=0, wait=True)

    def replay(self, times: int) -> None:
        """Launch all in turn, `times` over, from CUDA graphs; the host waits once, at the end.

        Where no argument changes from one iteration to the next, a graph of GRAPH_ITERATIONS of them is replayed;
        else one graph holds all iterations.
        """
        chunk = max(1, times) if any(a is STEP for launch in self.kept[0] for a in launch[3]) else GRAPH_ITERATIONS
        stream = checked(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_DEFAULT))
        try:
            for count, replays in ((chunk, times // chunk), (times % chunk, 1)):
                if count and replays:
                    self._replay_graph(stream, count, replays)
        finally:
            checked(driver.cuStreamDestroy(stream))

    def _replay_graph(self, stream, iterations: int, replays: int) -> None:
        checked(driver.cuStreamBeginCapture(stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
        self._loop(iterations, stream=int(stream), wait=False)
        graph = checked(driver.cuStreamEndCapture(stream))
        executable = checked(driver.cuGraphInstantiate(graph, 0))
        for _ in range(replays):
            checked(driver.cuGraphLaunch(executable, stream))
        checked(driver.cuStreamSynchronize(stream))
        checked(driver.cuGraphExecDestroy(executable))
        checked(driver.cuGraphDestroy(graph))

    def _loop(self, times: int, *, stream: int, wait: bool) -> None:
        loop = _launch_loop()
        arrays = self.handles, self.shapes, self.shared, self.cooperative, self.parameters, self.step
        error = loop(*arrays, times, stream, wait)
        if error == driver.CUresult.CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
            raise InputError(TOO_MANY_BLOCKS)
        if error:
            raise RuntimeError(f"the CUDA driver refused a launch: error {error}")


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
