"""Numba's CUDA simulator, made faster for tests: its threads are used again, and none polls the others.

As in numba's own each thread of the card is a Python thread that any other may interrupt, so that a race shows.
"""

import threading
from typing import ClassVar

import numpy as np
from numba.cuda.simulator import kernel
from numba.cuda.simulator.kernelapi import Dim3


def hasten() -> None:
    """To be called once, in the simulator. Written for numba-cuda 0.30.4."""
    kernel.BlockManager = Block


def held():
    """A lock that whoever asks for it waits for, until another releases it."""
    lock = threading.Lock()
    lock.acquire()
    return lock


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
        """One thread of the card."""
        self.block.run_thread()

    def syncthreads(self):
        self.block.wait(self)

    def syncthreads_count(self, value):
        return np.count_nonzero(self._of_all(value))

    def syncthreads_and(self, value):
        return int(np.all(self._of_all(value)))

    def syncthreads_or(self, value):
        return int(np.any(self._of_all(value)))

    def _of_all(self, value):
        self.block.values[*self.threadIdx] = value
        self.syncthreads()
        values = self.block.values.copy()
        self.syncthreads()
        return values


class Block:
    """A block of threads. A barrier opens when all that have not ended wait at it."""

    def __init__(self, function, grid, shape, debug):
        self.function, self.shape = function, shape
        self.values = np.zeros(shape, np.bool_)
        self.lock, self.ended = threading.Lock(), held()
        self.waiting: list[Thread] = []
        self.error: Exception | None = None

    def run(self, at, *arguments):
        """Returns when the last thread has ended; raises what the first that failed raised."""
        self.arguments = arguments
        points = list(np.ndindex(*self.shape))
        self.alive = len(points)
        threads = [Thread.idle.pop() if Thread.idle else Thread() for _ in points]
        for thread, point in zip(threads, points, strict=True):
            thread.block, thread.blockIdx, thread.threadIdx = self, Dim3(*at), Dim3(*point)
        for thread in threads:
            thread.go.release()
        self.ended.acquire()
        Thread.idle += threads
        if self.error:
            raise self.error

    def run_thread(self):
        try:
            self.function(*self.arguments)
        except Exception as error:
            self.error = self.error or error
        with self.lock:
            self.alive -= 1
            self._open()
            if not self.alive:
                self.ended.release()

    def wait(self, thread: Thread):
        with self.lock:
            self.waiting.append(thread)
            self._open()
        thread.go.acquire()
        if self.error:
            raise RuntimeError("another thread of the block failed")

    def _open(self):
        """Open the barrier if nobody is missing, or if one failed: then all that wait there fail too."""
        if self.error or len(self.waiting) == self.alive:
            for thread in self.waiting:
                thread.go.release()
            self.waiting = []
