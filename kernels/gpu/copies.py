"""Copies between host and card: in both directions at once while the card computes, small arrays, large results."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph import starts
from ..lazy import LazyModule
from . import card, internals
from .card import SIMULATED
from .compiler import cuda
from .driver import checked, driver

if TYPE_CHECKING:
    from ..run import Run

runtime = LazyModule("cuda.bindings.runtime")
LEAST_DOWNLOAD = 2**24  # bytes; the library copies smaller arrays directly, not by Downloads
BUFFERS, BUFFER = 4, 2**24  # number of page-locked buffers of Downloads, and the size of each in bytes
THREADS, PARTS = 16, 8  # maximum number of threads of Downloads, and the number of parts in which they empty a buffer
UPLOADS = 2**22  # size in bytes of the buffers of Uploads
ALIGNED = 256  # bytes; Uploads starts each array at a multiple


class Copies:
    """Copy rows of 32-bit words between page-locked arrays, (rows, n), on the host and buffers on the card.

    `to_card` and `to_host` are asynchronous, each on a stream of its own; `wait` waits for all copies.
    pitch: words from one row of a buffer to the next, at least n. Raises RuntimeError if CUDA refuses a copy.
    """

    def __enter__(self):
        if not SIMULATED:
            flags = driver.CUstream_flags.CU_STREAM_NON_BLOCKING
            self.streams = [checked(driver.cuStreamCreate(flags)) for _ in range(2)]
        return self

    def __exit__(self, *error):
        if not SIMULATED:
            for stream in self.streams:
                checked(driver.cuStreamSynchronize(stream))
                checked(driver.cuStreamDestroy(stream))

    def to_card(self, rows: np.ndarray, buffer, pitch: int) -> None:
        if SIMULATED:
            _rows_of(buffer, pitch, rows.shape)[:] = rows
        else:
            self._copy(0, buffer.device_ctypes_pointer.value, 4 * pitch, rows.ctypes.data, rows.strides[0], rows.shape)

    def to_host(self, buffer, rows: np.ndarray, pitch: int) -> None:
        if SIMULATED:
            rows[:] = _rows_of(buffer, pitch, rows.shape).copy_to_host()
        else:
            self._copy(1, rows.ctypes.data, rows.strides[0], buffer.device_ctypes_pointer.value, 4 * pitch, rows.shape)

    def wait(self) -> None:
        if not SIMULATED:
            for stream in self.streams:
                checked(driver.cuStreamSynchronize(stream))

    def _copy(self, stream: int, to, to_pitch, source, source_pitch, shape):
        rows, columns = shape
        kind = runtime.cudaMemcpyKind.cudaMemcpyDefault
        (error,) = runtime.cudaMemcpy2DAsync(
            to, to_pitch, source, source_pitch, 4 * columns, rows, kind, int(self.streams[stream])
        )
        if error != runtime.cudaError_t.cudaSuccess:
            raise RuntimeError(f"CUDA refused to copy {rows} rows of {4 * columns} bytes: {error}")


def _rows_of(buffer, pitch, shape):
    """Return the rows of a buffer that a copy reads or writes, in the simulator."""
    rows, columns = shape
    return buffer[: rows * pitch].reshape(rows, pitch)[:, :columns]


class Uploads:
    """Copy small arrays to the card without allocating memory there, and without waiting for earlier launches.

    The arrays pass through a page-locked buffer, from which the card reads after it has finished earlier launches. They
    stay at the same place of a buffer on the card until `restart`. Arrays for which the buffers have no room left are
    copied directly.
    """

    def __init__(self, run: Run):
        self.run, self.used = run, 0
        with card.allocating(UPLOADS):
            self.host: np.ndarray = cuda.pinned_array(UPLOADS, np.uint8)
        (self.card,) = run.allocate((UPLOADS, np.uint8))

    def restart(self) -> None:
        """Wait for all launches. Then the next copies overwrite all earlier ones."""
        self.run.wait()
        self.used = 0

    def copy(self, *arrays: np.ndarray) -> list:
        """Copy one-dimensional arrays; return them on the card. An empty array gets one undefined element."""
        sizes = [max(array.nbytes, array.itemsize) for array in arrays]
        places = starts(np.array([-(-size // ALIGNED) * ALIGNED for size in sizes])).tolist()
        first, size, fits = self.used, places[-1], self.used + places[-1] <= UPLOADS
        host = self.host[first : first + size] if fits else np.empty(size, np.uint8)
        for array, place in zip(arrays, places, strict=False):
            host[place : place + array.nbytes] = array.view(np.uint8)
        if not fits:
            (on_card,), first = self.run.upload(host), 0
        else:
            on_card, self.used = self.card, first + size
            if SIMULATED:
                on_card[first : self.used] = host
            else:
                address = on_card.device_ctypes_pointer.value + first
                checked(driver.cuMemcpyHtoDAsync(address, host.ctypes.data, size, 0))
        parts = zip(arrays, places, sizes, strict=False)
        return [internals.part_of(on_card, first + place, size, array.dtype) for array, place, size in parts]


def recorded() -> Any:
    """Return an event that occurs when the card has finished all launches so far."""
    event = cuda.event()
    event.record()
    return event


class Downloads:
    """Copy large arrays to the host through page-locked buffers, from which several threads copy to the final array.

    The pages of a new array are mapped when they are first written. If one thread writes them, this takes longer than
    the copy over PCIe. While the threads empty some buffers, the card fills another, and may compute later results.
    """

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(min(THREADS, len(os.sched_getaffinity(0))))
        self.buffers = [cuda.pinned_array(BUFFER, np.uint8) for _ in range(BUFFERS)]
        self.handles: list = []
        if SIMULATED:
            self.streams = [cuda.stream() for _ in range(BUFFERS)]
        else:
            flags = driver.CUstream_flags.CU_STREAM_NON_BLOCKING
            self.handles = [checked(driver.cuStreamCreate(flags)) for _ in range(BUFFERS)]
            self.streams = [cuda.external_stream(int(handle)) for handle in self.handles]

    def __del__(self) -> None:
        for handle in vars(self).get("handles", ()):
            driver.cuStreamDestroy(handle)

    def copy(self, array, host: np.ndarray) -> None:
        """Wait for all launches, then copy a one-dimensional array from the card to an array on the host."""
        self.copy_in_turn([(array, host, recorded())])

    def copy_in_turn(self, arrays: Iterable[tuple]) -> None:
        """Copy one-dimensional arrays to the host, each given as (array, host array, event): after the event."""
        emptied: list[list[Future]] = [[] for _ in self.buffers]
        which, filling = 0, None
        for array, host, event in arrays:
            source, target = array.view(np.uint8), host.view(np.uint8)
            for start in range(0, len(target), BUFFER):
                into = target[start : start + BUFFER]
                self._wait(emptied[which])
                event.wait(self.streams[which])
                part = internals.part_of(source, start, len(into), into.dtype)
                part.copy_to_host(self.buffers[which][: len(into)], stream=self.streams[which])
                if filling:
                    emptied[which - 1] = self._empty(*filling)
                filling = which, into
                which = (which + 1) % len(self.buffers)
        if filling:
            emptied[which - 1] = self._empty(*filling)
        for copies in emptied:
            self._wait(copies)

    def _empty(self, which: int, target: np.ndarray) -> list[Future]:
        """Wait until a buffer is filled, then let the threads copy it."""
        self.streams[which].synchronize()
        buffer, step = self.buffers[which], -(-BUFFER // PARTS)
        ends = range(0, len(target), step)
        return [
            self.pool.submit(np.copyto, target[i : i + step], buffer[i : i + len(target[i : i + step])]) for i in ends
        ]

    @staticmethod
    def _wait(copies: list[Future]) -> None:
        for copy in copies:
            copy.result()
