"""Numba's CUDA simulator, made faster for tests: its threads are used again, and nothing polls them.

As before each of the card's threads is a Python thread that any other may interrupt, so a missing barrier shows.
"""

import threading

import numpy as np
from numba.cuda.simulator import kernel
from numba.cuda.simulator.kernelapi import Dim3


def hasten() -> None:
    """To be called once, in the simulator. Written for numba-cuda 0.30.4."""
    kernel.BlockManager = Block


class Thread(threading.Thread):
    """One that is each time another of the card's: threadIdx, blockIdx and syncthreads are those of this time."""

    idle: list["Thread"] = []

    def __init__(self):
        super().__init__(daemon=True)
        self.go = threading.Lock()  # held while there is nothing to do, or while it waits at a barrier
        self.go.acquire()
        self.start()

    def run(self):
        while True:
            self.go.acquire()
            self.block.attend(self)

    def syncthreads(self):
        self.block.wait(self)

    def syncthreads_count(self, value):
        return np.count_nonzero(self._values(value))

    def syncthreads_and(self, value):
        return int(np.all(self._values(value)))

    def syncthreads_or(self, value):
        return int(np.any(self._values(value)))

    def _values(self, value):
        self.block.values[*self.threadIdx] = value
        self.syncthreads()
        values = self.block.values.copy()
        self.syncthreads()
        return values


class Block:
    """A block of threads; run() ends with its last thread, or raises what one of them raised."""

    def __init__(self, function, grid, shape, debug):
        self.function, self.shape = function, shape
        self.values = np.zeros(shape, np.bool_)
        self.lock, self.ended = threading.Lock(), threading.Lock()
        self.waiting, self.error = [], None

    def run(self, at, *arguments):
        self.arguments = arguments
        points = list(np.ndindex(*self.shape))
        self.alive = len(points)
        while len(Thread.idle) < len(points):
            Thread.idle.append(Thread())
        threads = [Thread.idle.pop() for _ in points]
        self.ended.acquire()
        for thread, point in zip(threads, points, strict=True):
            thread.block, thread.blockIdx, thread.threadIdx = self, Dim3(*at), Dim3(*point)
        for thread in threads:
            thread.go.release()
        self.ended.acquire()
        Thread.idle += threads
        if self.error:
            raise self.error

    def attend(self, thread):
        try:
            self.function(*self.arguments)
        except Exception as error:
            self.error = self.error or error
        with self.lock:
            self.alive -= 1
            self._let_go()
            if not self.alive:
                self.ended.release()

    def wait(self, thread):
        with self.lock:
            self.waiting.append(thread)
            self._let_go()
        thread.go.acquire()
        if self.error:
            raise RuntimeError("another thread of the block failed")

    def _let_go(self):
        if self.error or len(self.waiting) == self.alive:
            for thread in self.waiting:
                thread.go.release()
            self.waiting = []
