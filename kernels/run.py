"""The machine a variant runs on: launching, timing, the memory guard, the warm-up.

A driver is handed a Run and a Result. It uploads what the paper has on the card before the clock
starts (`upload_untimed`), opens `timed`, and inside it opens one `phase` after the other; the harness
reads `seconds` and `phases` afterwards. The same drivers run in numba's CUDA simulator.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
from numba import cuda, types

from kernels.errors import NotEnoughMemory, TimeLimit
from kernels.gpu import card
from kernels.gpu.card import SIMULATED
from kernels.gpu.launching import STEP, Prepared, blocks_for

PHASES = ("copy_in", "kernels", "predecessors", "copy_out")
POISON = -7  # in every result before a run: neither a distance nor a predecessor


@dataclass
class Result:
    """distances, predecessors: int32, (n,) for one source, (n, n) with a row a source for all pairs.

    INF is the distance and -1 the predecessor where there is no path; -1 is the source's own.
    """

    distances: np.ndarray
    predecessors: np.ndarray

    @classmethod
    def poisoned(cls, problem: str, vertices: int) -> Result:
        shape = (vertices,) if problem == "sssp" else (vertices, vertices)
        return cls(np.full(shape, POISON, np.int32), np.full(shape, POISON, np.int32))

    def poison(self) -> None:
        self.distances.fill(POISON)
        self.predecessors.fill(POISON)


@dataclass
class Run:
    """One timed run of one variant.

    source: where single-source paths start. block: threads a block. tile: side of a tile.
    limit_s: seconds after which `check_limit` stops a serial run. on_gpu: False for a CPU variant.
    graph: replay the launches from CUDA graphs instead of waiting for each. delta: the width of
    delta-stepping's buckets. grid, shared: blocks of a kernel whose blocks share out the work, and
    bytes of shared memory a block may have; None for the variant's own rule and what the card has.
    Afterwards seconds and phases (by name, in seconds) are what was timed, launches how many
    kernels were launched, started when (ISO 8601, UTC).
    """

    source: int = 0
    block: int = 1024
    tile: int = 32
    limit_s: float = float("inf")
    on_gpu: bool = True
    graph: bool = False
    delta: int | None = None
    grid: int | None = None
    shared: int | None = None
    seconds: float = 0.0
    phases: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))
    launches: int = 0
    started: str = ""
    _clock: float = 0.0

    @property
    def blocks(self) -> int:
        """How many blocks a kernel gets whose blocks share out the work."""
        return self.grid or 2 * self.multiprocessors

    @property
    def multiprocessors(self) -> int:
        """What the card has; a kernel whose blocks wait for each other gets a block for each of them."""
        return 1 if SIMULATED else card.current().MULTIPROCESSOR_COUNT

    @property
    def shared_limit(self) -> int:
        """Bytes of shared memory a launch may ask for, besides the few a kernel declares."""
        if self.shared is not None:
            return self.shared
        return 0 if SIMULATED else card.current().MAX_SHARED_MEMORY_PER_BLOCK_OPTIN - 64

    def require(self, needed: int) -> None:
        """Raise NotEnoughMemory where so many bytes are not free on the card."""
        if not SIMULATED:
            cuda.current_context().deallocations.clear()
            free = cuda.current_context().get_memory_info().free
            if needed > free:
                raise NotEnoughMemory(needed, free)

    def allocate(self, *arrays: tuple) -> list:
        """Arrays on the card, each given as (length, dtype), with whatever lies there."""
        return [cuda.device_array(length, dtype) for length, dtype in arrays]

    def upload(self, *arrays: np.ndarray) -> list:
        """Copies of the host's arrays on the card."""
        return [cuda.to_device(array) for array in arrays]

    upload_untimed = upload

    def download(self, *pairs) -> None:
        """Copy arrays of the card to the host: (device array, host array) each."""
        for array, host in pairs:
            array.copy_to_host(host)

    def launch(self, *launches: tuple, times: int = 1) -> None:
        """Launch kernels in turn, `times` over, and let the host wait after every single one.

        A launch is (kernel, blocks, threads, arguments), and bytes of shared memory where it wants
        some; STEP among the arguments is the number of the iteration. With `graph` the same launches
        are replayed, and the host waits at the end.
        """
        if SIMULATED:
            for step in range(times):
                for kernel, blocks, threads, arguments, *shared in launches:
                    kernel[blocks, threads, 0, *shared](*(np.uint32(step) if a is STEP else a for a in arguments))
        else:
            prepared = Prepared(launches)
            (prepared.replay if self.graph else prepared.launch)(times)
        self.launches += times * len(launches)

    def prepare(self, *launches: tuple) -> Callable[[], None]:
        """A function that launches the kernels in turn and waits after each, whatever `graph` says.

        Arguments are laid out now, in another phase than the launches': for kernels that take less time than that does.
        """
        if not card.gpu_visible():
            return lambda: self.launch(*launches)
        prepared = Prepared(launches)

        def launch():
            prepared.launch(1)
            self.launches += len(launches)

        return launch

    @contextmanager
    def timed(self):
        """The region that `seconds` covers; ends when the card is idle."""
        self.started = datetime.now(UTC).isoformat(timespec="seconds")
        self._clock = time.perf_counter()
        yield
        if self.on_gpu:
            cuda.synchronize()
        self.seconds = time.perf_counter() - self._clock

    @contextmanager
    def phase(self, name: str):
        """A part of the timed region: between two events on the card, or by the CPU's clock."""
        if self.on_gpu and not SIMULATED:
            start, end = cuda.event(timing=True), cuda.event(timing=True)
            start.record()
            yield
            end.record()
            end.synchronize()
            self.phases[name] += cuda.event_elapsed_time(start, end) / 1000
        else:
            started = time.perf_counter()
            yield
            self.phases[name] += time.perf_counter() - started

    def check_limit(self) -> None:
        """Raise TimeLimit where the timed region has lasted longer than limit_s."""
        if time.perf_counter() - self._clock > self.limit_s:
            raise TimeLimit(self.limit_s)


@cuda.jit
def _warm_up(seen):
    lead = cuda.shared.array(1, types.int32)
    if cuda.threadIdx.x == 0:
        lead[0] = cuda.grid(1)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        seen[cuda.blockIdx.x] = lead[0]


def warm_up(vertices: int, block: int, launches: int) -> None:
    """Launch the paper's warm-up kernel (its utils.cuh): a thread a vertex, one barrier, no work."""
    blocks = blocks_for(vertices, block)
    seen = cuda.device_array(blocks, np.int32)
    Run().launch((_warm_up, blocks, block, (seen,)), times=launches)
