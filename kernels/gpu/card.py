"""The card: whether there is one, its name, free memory and state, and a timer."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from typing import Any

from ..errors import InputError, NotEnoughMemory
from . import SIMULATOR, internals
from .compiler import SIMULATED, cuda
from .driver import MISSING, cards, driver

if SIMULATED:
    internals.improve_simulator()
# NVML's bits for the reasons of lowered clocks. Idling and clocks that a user has set are not included.
THROTTLING = {
    "power cap": 0x4,
    "hardware slowdown": 0x8,
    "sync boost": 0x10,
    "software thermal": 0x20,
    "hardware thermal": 0x40,
    "power brake": 0x80,
}


def current() -> Any:
    """Return numba's device object of the card that this thread uses."""
    return cuda.get_current_device()


def card_name() -> str:
    """Return the name of the card that this thread uses."""
    name = current().name
    return name.decode() if isinstance(name, bytes) else name


def using(device: Any) -> AbstractContextManager:
    """Return a context manager in which the thread uses this card."""
    return cuda.gpus[device.id]


def gpu_visible() -> bool:
    """Return whether a real GPU can be used from here."""
    return not SIMULATED and cuda.is_available()


def require_gpu(step: str) -> None:
    """Raise InputError if no real GPU can be used. step: what needs it."""
    if gpu_visible():
        return
    found = "none is visible: check nvidia-smi and CUDA_VISIBLE_DEVICES"
    if cards() and not SIMULATED:
        found, failed = MISSING, None
        with suppress(InputError):  # there is no numba-cuda
            failed = cuda.cudadrv.driver.driver.initialization_error
        if failed:
            found = f"numba-cuda cannot use its driver ({' '.join(failed.split())}): check nvidia-smi"
    raise InputError(f"{step} needs a GPU, but {found}")


def has_16_bit_pair_minimum() -> bool:
    """Return whether the card has an instruction for the minimum of two pairs of 16-bit numbers."""
    return gpu_visible() and current().compute_capability >= (9, 0)


def free_memory() -> int:
    """Return the number of free bytes on the card, after memory that is no longer used has been freed."""
    free_pending()
    return cuda.current_context().get_memory_info().free


def free_pending() -> None:
    """Free the memory on the card that is no longer used; numba defers this."""
    cuda.current_context().deallocations.clear()


class CardTimer:
    """Measure the seconds that the card spends on what a `with` statement launches, between two events.

        with CardTimer() as timer:
            ...
        timer.seconds

    The time includes gaps in which the card waits for the host. The host waits at the end of the statement.
    """

    seconds = 0.0

    def __enter__(self) -> CardTimer:
        event: Any = cuda.event
        self._start, self._end = event(timing=True), event(timing=True)
        self._start.record()
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is None:
            self._end.record()
            self._end.synchronize()
            self.seconds = cuda.event_elapsed_time(self._start, self._end) / 1000


@contextmanager
def allocating(size: int) -> Iterator[None]:
    """Raise NotEnoughMemory if the driver cannot allocate memory in the body. size: the bytes to allocate."""
    try:
        yield
    except cuda.cudadrv.driver.CudaAPIError as error:
        if error.code != driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            raise
        raise NotEnoughMemory(size, free_memory()) from None


@cache
def cpu_name() -> str:
    """Return the name of the processor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def card_uuid() -> str:
    """Return the UUID that the driver reports for the card; an empty string in the simulator."""
    return "" if SIMULATED else str(current().uuid)


def describe(on_gpu: bool) -> dict[str, str]:
    """Return the columns device, driver and cuda of a measurement; driver and cuda are empty for a CPU."""
    if not on_gpu:
        return {"device": cpu_name(), "driver": "", "cuda": ""}
    if SIMULATED:
        return {"device": SIMULATOR, "driver": "", "cuda": ""}
    return {
        "device": card_name(),
        "driver": card_state()["driver"],
        "cuda": ".".join(map(str, cuda.runtime.get_version())),
    }


def card_state() -> dict:
    """Return the card's driver, uuid, clocks (MHz), temperature (C), power (W) and reasons for throttling, by NVML."""
    import pynvml

    pynvml.nvmlInit()
    try:
        card = pynvml.nvmlDeviceGetHandleByUUID(str(current().uuid))
        reasons = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(card)
        return {
            "driver": pynvml.nvmlSystemGetDriverVersion(),
            "uuid": pynvml.nvmlDeviceGetUUID(card),
            "sm_clock_mhz": pynvml.nvmlDeviceGetClockInfo(card, pynvml.NVML_CLOCK_SM),
            "max_sm_clock_mhz": pynvml.nvmlDeviceGetMaxClockInfo(card, pynvml.NVML_CLOCK_SM),
            "memory_clock_mhz": pynvml.nvmlDeviceGetClockInfo(card, pynvml.NVML_CLOCK_MEM),
            "temperature_c": pynvml.nvmlDeviceGetTemperature(card, pynvml.NVML_TEMPERATURE_GPU),
            "power_w": pynvml.nvmlDeviceGetPowerUsage(card) / 1000,
            "throttling": [name for name, bit in THROTTLING.items() if reasons & bit],
        }
    finally:
        pynvml.nvmlShutdown()
