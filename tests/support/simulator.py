"""Numba's CUDA simulator for tests: its threads are used again, and the blocks of a small grid may run at once.

As in numba's own, each thread of the card is a Python thread that any other may interrupt, so that a race shows.
Written for numba-cuda 0.30.4.
"""

import sys
import threading
from contextlib import contextmanager
from functools import partial
from typing import ClassVar
from unittest.mock import patch

import numpy as np

from kernels.gpu.compiler import as_dtype, cuda, types

kernel, kernelapi = cuda.simulator.kernel, cuda.simulator.kernelapi
MOST_BLOCKS = 8  # a larger grid's blocks run one after the other


def hasten() -> None:
    """Replace the simulator's blocks; to be called once."""
    kernel.BlockManager = Block
    kernelapi.GridGroup.sync = lambda group: (thread := threading.current_thread()).grid.wait(thread)


@contextmanager
def blocks_at_once():
    """Run the blocks of small grids at once, each with shared memory of its own."""
    with patch.object(Block, "at_once", True), patch.object(kernelapi.FakeCUDAShared, "array", shared_array):
        yield


def shared_array(shared, shape, dtype, alignment=None):
    dtype = as_dtype(dtype) if isinstance(dtype, types.Type) else np.dtype(dtype)
    caller = sys._getframe(1)
    place = threading.current_thread().blockIdx.x, shape and (caller.f_code.co_filename, caller.f_lineno)
    count = shape or shared._dynshared_size // dtype.itemsize
    return shared._allocations.setdefault(place, np.empty(count, dtype))


def held():
    """Return a lock that is released by another thread than the one that waits for it."""
    lock = threading.Lock()
    lock.acquire()
    return lock


class Barrier:
    """Opens when all threads that have not ended wait at it; if one failed, all fail.

    strict: a thread that ends may not be waited for, as at the barrier of a grid.
    """

    def __init__(self, threads: int, *, strict: bool = False):
        self.alive, self.strict = threads, strict
        self.lock, self.ended = threading.Lock(), held()
        self.waiting: list[Thread] = []
        self.left, self.error = False, None

    def wait(self, thread: "Thread"):
        with self.lock:
            self.waiting.append(thread)
            self._open()
        thread.go.acquire()
        if self.error:
            raise RuntimeError("another thread failed")

    def leave(self, error: Exception | None):
        with self.lock:
            self.alive -= 1
            self.left, self.error = True, self.error or error
            self._open()
            if not self.alive:
                self.ended.release()

    def _open(self):
        if self.strict and self.left and self.waiting:
            self.error = self.error or RuntimeError("a thread has ended that others wait for")
        if self.error or len(self.waiting) == self.alive:
            for thread in self.waiting:
                thread.go.release()
            self.waiting = []


class Thread(threading.Thread):
    """One thread of the card after another; numba asks it for threadIdx, blockIdx and the barriers."""

    idle: ClassVar[list["Thread"]] = []

    def __init__(self):
        super().__init__(daemon=True)
        self.go = held()
        self.start()

    def run(self):
        while True:
            self.go.acquire()
            self.be()

    def be(self):
        """Run as one thread of the card."""
        grid, block, error = self.grid, self.block, None
        try:
            self.act()
        except Exception as failed:
            error = failed
        grid.leave(error)
        block.leave(error)

    def syncthreads(self):
        self.block.wait(self)

    def syncthreads_or(self, value):
        self.block.values[*self.threadIdx] = value
        self.syncthreads()
        found = np.any(self.block.values)
        self.syncthreads()
        return int(found)


class Block:
    """Runs one block of threads after the other; `at_once` all of a small grid with the first."""

    at_once = False

    def __init__(self, function, grid, shape, debug):
        self.function, self.grid, self.shape = function, grid, shape

    def run(self, at, *arguments):
        """Return when the last thread has ended; raise what the first that failed raised."""
        blocks = [at]
        if self.at_once and np.prod(self.grid) <= MOST_BLOCKS:
            blocks = [] if any(at) else list(np.ndindex(*self.grid))
        points, threads = list(np.ndindex(*self.shape)), []
        grid = Barrier(len(blocks) * len(points), strict=True)
        for place in blocks:
            block = Barrier(len(points))
            block.values = np.zeros(self.shape, np.bool_)
            for point in points:
                threads.append(thread := Thread.idle.pop() if Thread.idle else Thread())
                thread.act, thread.grid, thread.block = partial(self.function, *arguments), grid, block
                thread.blockIdx, thread.threadIdx = kernelapi.Dim3(*place), kernelapi.Dim3(*point)
        if threads:
            for thread in threads:
                thread.go.release()
            grid.ended.acquire()
            Thread.idle += threads
        if grid.error:
            raise grid.error
