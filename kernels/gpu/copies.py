"""Copies between host and card, in both directions at once, while the card computes."""

import numpy as np
from cuda.bindings import driver, runtime

from kernels.gpu.card import SIMULATED
from kernels.gpu.driver import checked


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
