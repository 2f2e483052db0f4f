"""Time on the card, between two events."""

from __future__ import annotations

from numba import cuda


class CardTimer:
    """`with CardTimer() as timer: ...`; then timer.seconds: seconds the card spent on the work launched inside the with
    statement, with gaps in which it waited for the host.

    The host waits at the end of the statement.
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
