"""Log what has been running for long: a compilation, a run, a check, a distance matrix."""

import logging
import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

log = logging.getLogger(__name__)


class Heartbeat:
    """Log what has been running for longer than `interval` seconds. One thread checks this once per interval."""

    def __init__(self, interval: float = 30):
        self.interval = interval
        self._current: tuple[str, float, float] | None = None
        self._thread: threading.Thread | None = None

    @contextmanager
    def during(self, what: str, limit_s: float = math.inf) -> Iterator[None]:
        """Log that `what` is running if the body takes long. limit_s: the time limit of `what`."""
        if not self._thread:
            self._thread = threading.Thread(target=self._beat, daemon=True)
            self._thread.start()
        self._current = what, time.perf_counter(), limit_s
        try:
            yield
        finally:
            self._current = None

    def _beat(self) -> None:
        pause = threading.Event()
        while not pause.wait(self.interval):
            if not (current := self._current):
                continue
            what, started, limit_s = current
            if (elapsed := time.perf_counter() - started) >= self.interval:
                limit = f", limit {limit_s:g} s" if math.isfinite(limit_s) else ""
                log.info("%s for %.0f s%s", what, elapsed, limit)


heartbeat = Heartbeat()
