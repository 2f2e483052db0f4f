"""Time on the card, between two events."""

from __future__ import annotations

from numba import cuda


class CardTimer:
    """`with CardTimer() as timer: ...`; then timer.seconds, from when the card comes to the block until it has done it.

    The host waits at the end of the block.
    """

    seconds = 0.0

    def __enter__(self) -> CardTimer:
        self._start, self._end = cuda.event(timing=True), cuda.event(timing=True)
        self._start.record()
        return self

    def __exit__(self, error, *_) -> None:
        if error is None:
            self._end.record()
            self._end.synchronize()
            self.seconds = cuda.event_elapsed_time(self._start, self._end) / 1000
