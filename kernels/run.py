"""One run of a variant: its settings, its arrays on the card, its launches and its times.

A variant's function is called with a Graph, a Result to fill and a Run. It uploads what the paper has on the card
before the clock starts (`upload_untimed`), opens `timed`, and inside it one `phase` after the other; the harness reads
`seconds` and `phases` afterwards. The same functions run in numba's CUDA simulator.
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
from kernels.gpu.launching import STEP, blocks_for, check_arguments, prepared
from kernels.gpu.timing import CardTimer

PHASES = ("copy_in", "kernels", "predecessors", "copy_out")
SMALL = 2**26  # bytes
POISON = -7  # in every result before a run: neither a distance nor a predecessor


@dataclass
class Result:
    """distances, predecessors: int32, (n,) for one source, (n, n) with one row per source for all pairs.

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

    source: where single-source paths start. block: threads per block. tile: side of a tile.
    limit_s: seconds after which `check_limit` stops a serial run. on_gpu: False for a CPU variant.
    cuda_graph: launch from CUDA graphs instead of waiting for each launch.
    delta: the width of delta-stepping's buckets; None for the variant's own rule.
    grid: blocks of a kernel whose blocks share out the work; None for the variant's own rule.
    waits: whether the host waits after each launch, as in the paper. If not, it launches from Python, which spares
    compiling the loop of measured launches, and lays out the arguments of `prepare` while the card has other work.
    shared: bytes of shared memory a block may have; None for what the card has.

    Afterwards: seconds, and phases (seconds by name), are what was timed; launches is the number of launched kernels;
    started is when (ISO 8601, UTC). prepare_host_s, prepare_card_s: seconds before the clock starts, from when the Run
    was made: on the host, which lays out what the variant keeps of a graph the first time only; and for
    `upload_untimed`.
    """

    source: int = 0
    block: int = 1024
    tile: int = 32
    limit_s: float = float("inf")
    on_gpu: bool = True
    cuda_graph: bool = False
    delta: int | None = None
    grid: int | None = None
    waits: bool = True
    shared: int | None = None
    seconds: float = 0.0
    phases: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))
    launches: int = 0
    started: str = ""
    prepare_host_s: float = 0.0
    prepare_card_s: float = 0.0
    _clock: float = field(default_factory=time.perf_counter)

    @property
    def blocks(self) -> int:
        """Blocks of a kernel whose blocks share out the work."""
        return self.grid or 2 * self.multiprocessors

    @property
    def multiprocessors(self) -> int:
        """Multiprocessors of the card; a kernel whose blocks wait for each other has one block for each."""
        return 1 if SIMULATED else card.current().MULTIPROCESSOR_COUNT

    @property
    def shared_limit(self) -> int:
        """Bytes of shared memory a launch may ask for, besides the few a kernel declares."""
        if self.shared is not None:
            return self.shared
        return 0 if SIMULATED else card.current().MAX_SHARED_MEMORY_PER_BLOCK_OPTIN - 64

    def require(self, needed: int) -> None:
        """Raise NotEnoughMemory if fewer bytes than needed are free on the card.

        For a few bytes a Run that does not wait leaves that to `allocate`: asking takes longer than taking them.
        """
        asks = not SIMULATED and (self.waits or needed >= SMALL)
        if asks and needed > (free := card.free_memory()):
            raise NotEnoughMemory(needed, free)

    def allocate(self, *arrays: tuple) -> list:
        """Arrays on the card, each given as (length, dtype); what is in them is undefined."""
        with card.allocating(sum(int(length) * np.dtype(dtype).itemsize for length, dtype in arrays)):
            return [cuda.device_array(length, dtype) for length, dtype in arrays]

    def upload(self, *arrays: np.ndarray) -> list:
        """Copies of the host's arrays on the card."""
        with card.allocating(sum(array.nbytes for array in arrays)):
            return [cuda.to_device(array) for array in arrays]

    def upload_untimed(self, *arrays: np.ndarray) -> list:
        """The same, of what is on the card before the clock starts, as the paper's graph is."""
        started = time.perf_counter()
        uploaded = self.upload(*arrays)
        cuda.synchronize()
        self.prepare_card_s += time.perf_counter() - started
        return uploaded

    def download(self, *pairs) -> None:
        """Copy arrays of the card to the host: (device array, host array) each."""
        for array, host in pairs:
            array.copy_to_host(host)

    def launch(self, *launches: tuple, times: int = 1) -> None:
        """Launch kernels in turn, `times` over; the host waits after every launch if the Run `waits`.

        A launch is (kernel, blocks, threads, arguments), and bytes of shared memory where it needs some; STEP among the
        arguments is the number of the iteration. With `cuda_graph` the same launches come from CUDA graphs, and the
        host waits once, at the end.
        """
        if SIMULATED:
            for step in range(times):
                for kernel, blocks, threads, arguments, *shared in launches:
                    kernel[blocks, threads, 0, *shared](*(np.uint32(step) if a is STEP else a for a in arguments))
        else:
            ready = prepared(launches)
            if not self.waits:
                ready.enqueue(times=times)
            elif self.cuda_graph:
                ready.replay(times)
            else:
                ready.loop(wait=True)(times)
        self.launches += times * len(launches)

    def prepare(self, *launches: tuple) -> Callable[[], None]:
        """A function that launches the kernels in turn, as `launch` does, whatever `cuda_graph` says.

        If the Run waits, arguments are laid out now, in another phase than that of the launches: that takes longer than
        a short kernel.
        """
        if not self.waits or not card.gpu_visible():
            return lambda: self.launch(*launches)
        loop = prepared(launches).loop(wait=True)

        def launch():
            loop(1)
            self.launches += len(launches)

        return launch

    def wait(self) -> None:
        """Wait until all that was launched has ended."""
        cuda.synchronize()

    @contextmanager
    def timed(self):
        """The region that `seconds` covers; it ends when the card is idle."""
        self.started = datetime.now(UTC).isoformat(timespec="seconds")
        self.prepare_host_s = time.perf_counter() - self._clock - self.prepare_card_s
        if self.on_gpu and not SIMULATED:
            check_arguments()  # so that this one launch of a process is never timed
        self._clock = time.perf_counter()
        yield
        if self.on_gpu:
            cuda.synchronize()
        self.seconds = time.perf_counter() - self._clock

    @contextmanager
    def phase(self, name: str):
        """A part of the timed region: its time on the card, or by the CPU's clock where there is no card."""
        if self.on_gpu and not SIMULATED:
            with CardTimer() as timer:
                yield
            self.phases[name] += timer.seconds
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
    """Launch the paper's warm-up kernel (its utils.cuh), which only stores its thread number: one thread per vertex."""
    blocks = blocks_for(vertices, block)
    seen = cuda.device_array(blocks, np.int32)
    Run().launch((_warm_up, blocks, block, (seen,)), times=launches)
