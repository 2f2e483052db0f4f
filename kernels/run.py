"""One run of a variant: its settings, its arrays on the card, its launches and its times.

A variant's function takes a Graph, a Result to fill and a Run. First the function copies arrays to the card by
`upload_untimed`, before the clock starts. Then it opens `timed` and, inside `timed`, each `phase` in turn. Afterwards
the caller reads `seconds` and `phases`. The same functions run in numba's CUDA simulator.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from .errors import NotEnoughMemory, TimeLimit
from .gpu import card, launching
from .gpu.card import SIMULATED, CardTimer
from .gpu.compiler import cuda, types
from .gpu.launching import STEP, blocks_for, check_arguments, prepared

PHASES = ("copy_in", "kernels", "predecessors", "copy_out")
UNQUERIED_BYTES = 2**26  # bytes; if a Run does not wait and needs less, it does not query the free memory
POISON = -7  # the value that fills a result before a run; no distance or predecessor has this value


@dataclass
class Result:
    """Distances and predecessors, int32: (n,) for one source; (n, n) for all pairs, one row per source.

    If there is no path, the distance is INF and the predecessor -1. The source's predecessor is -1.
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

    Parameters
    ----------
    source : int
        The source of single-source paths.
    block, tile : int
        Threads per block, and the number of rows and columns of a tile.
    limit_s : float
        Seconds after which `check_limit` stops a run on the CPU.
    on_gpu : bool
        False for a CPU variant.
    cuda_graph : bool
        Launch from CUDA graphs instead of waiting for each launch.
    delta : int, optional
        The width of delta-stepping's buckets. By default the variant computes it.
    grid : int, optional
        The number of blocks of a kernel whose blocks share the work. By default the variant computes it.
    waits : bool
        Wait after each launch, as in the paper. If False, launch from Python, not from a compiled loop. The function
        that `prepare` returns then lays out the arguments itself, usually while the card runs earlier launches.
    shared : int, optional
        The maximum shared memory of a block in bytes; by default the card's limit.

    Attributes
    ----------
    seconds, phases : float, dict of str to float
        The time of the timed region and the time of each of its phases, in seconds.
    launches : int
        The number of launched kernels.
    started : str
        Start of the timed region, ISO 8601, UTC.
    prepare_host_s, prepare_card_s : float
        Seconds between the creation of the Run and the timed region: the time of work on the host, and the time of
        copies to the card and launches. In the first run on a graph, the host also makes the graph's layout.
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
        """Return the number of blocks of a kernel whose blocks share the work."""
        return self.grid or 2 * self.multiprocessors

    @property
    def multiprocessors(self) -> int:
        """Return the number of multiprocessors; if a kernel's blocks wait for each other, each runs one block."""
        return 1 if SIMULATED else card.current().MULTIPROCESSOR_COUNT

    @property
    def shared_limit(self) -> int:
        """Return the maximum dynamic shared memory of a launch in bytes; a few bytes are left for static arrays."""
        if self.shared is not None:
            return self.shared
        return 0 if SIMULATED else card.current().MAX_SHARED_MEMORY_PER_BLOCK_OPTIN - 64

    def require(self, needed: int) -> None:
        """Raise NotEnoughMemory if fewer than `needed` bytes are free on the card.

        Skip the query if the Run does not wait and needs less than UNQUERIED_BYTES: the query takes longer than the
        allocation.
        """
        asks = not SIMULATED and (self.waits or needed >= UNQUERIED_BYTES)
        if asks and needed > (free := card.free_memory()):
            raise NotEnoughMemory(needed, free)

    def allocate(self, *arrays: tuple) -> list:
        """Allocate arrays on the card, each given as (length, dtype)."""
        with card.allocating(sum(int(length) * np.dtype(dtype).itemsize for length, dtype in arrays)):
            return [cuda.device_array(length, dtype) for length, dtype in arrays]

    def upload(self, *arrays: np.ndarray) -> list:
        """Copy arrays from the host to the card."""
        with card.allocating(sum(array.nbytes for array in arrays)):
            return [cuda.to_device(array) for array in arrays]

    def upload_untimed(self, *arrays: np.ndarray) -> list:
        """Copy arrays to the card before the clock starts, as the paper's Bellman-Ford copies its graph."""
        started = time.perf_counter()
        uploaded = self.upload(*arrays)
        cuda.synchronize()
        self.prepare_card_s += time.perf_counter() - started
        return uploaded

    def download(self, *pairs: tuple) -> None:
        """Copy arrays from the card to the host, each given as (device array, host array)."""
        for array, host in pairs:
            array.copy_to_host(host)

    def launch(self, *launches: tuple, times: int = 1) -> None:
        """Launch the kernels in turn, `times` times; wait after every launch if the Run `waits`.

        A launch is (kernel, blocks, threads, arguments[, bytes of shared memory]). For the argument STEP the kernel
        receives the number of the iteration. If the Run waits and `cuda_graph` is set, launch from CUDA graphs and wait
        once, at the end.
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
        """Return a function that launches the kernels in turn, as `launch` does if `cuda_graph` is not set.

        If the Run waits, lay out the arguments now, before the timed launches: laying out takes longer than a short
        kernel.
        """
        if not self.waits or not card.gpu_visible():
            return lambda: self.launch(*launches)
        loop = prepared(launches).loop(wait=True)

        def launch() -> None:
            loop(1)
            self.launches += len(launches)

        return launch

    def prepare_async(self, *steps: tuple | list[tuple]) -> Callable[[], None]:
        """Return a function that launches the steps in order, without waiting.

        A step is a launch, in the form that `launch` takes, or a list of launches that may overlap. The same kernel may
        be launched with different sizes of shared memory.
        """
        ordered = [step if isinstance(step, list) else [step] for step in steps if step]
        launches = [launch for step in ordered for launch in step]
        if not card.gpu_visible():
            return lambda: self.launch(*launches)
        go = launching.enqueued(ordered, compiled=self.waits)

        def launch() -> None:
            go()
            self.launches += len(launches)

        return launch

    def launch_steps(self, *steps: list[tuple]) -> None:
        """Launch steps in order, without waiting. The launches of a step may overlap; see `launch` for their form."""
        launches = [launch for step in steps for launch in step]
        if card.gpu_visible():
            launching.enqueue_steps([step for step in steps if step])
            self.launches += len(launches)
        else:
            self.launch(*launches)

    def wait(self) -> None:
        """Wait until all launches have ended."""
        cuda.synchronize()

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Measure `seconds`, the time from the start of the `with` statement until the card is idle at its end."""
        self.started = datetime.now(UTC).isoformat(timespec="seconds")
        self.prepare_host_s = time.perf_counter() - self._clock - self.prepare_card_s
        if self.on_gpu and not SIMULATED:
            check_arguments()  # once per process this launches a kernel, and that launch must not be timed
        self._clock = time.perf_counter()
        yield
        if self.on_gpu:
            cuda.synchronize()
        self.seconds = time.perf_counter() - self._clock

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure a part of the timed region: by events on the card, or by the host's clock if the run uses no card."""
        if self.on_gpu and not SIMULATED:
            with CardTimer() as timer:
                yield
            self.phases[name] += timer.seconds
        else:
            started = time.perf_counter()
            yield
            self.phases[name] += time.perf_counter() - started

    def check_limit(self) -> None:
        """Raise TimeLimit if the timed region has lasted longer than limit_s."""
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
    """Launch the paper's warm-up kernel (utils.cuh), with one thread per vertex. The kernel stores thread numbers."""
    blocks = blocks_for(vertices, block)
    seen = cuda.device_array(blocks, np.int32)
    Run().launch((_warm_up, blocks, block, (seen,)), times=launches)
