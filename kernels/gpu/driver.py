"""What is asked of CUDA's driver without importing numba, whose import takes longer than many a search."""

from __future__ import annotations

import os
import sys
import time
from functools import cache
from pathlib import Path

from cuda.bindings import driver

STARTED = time.time()  # before any kernel is imported; kernels/gpu/cache.py compares sources with it


def simulated() -> bool:
    """Whether numba simulates a card, as numba reads its settings; imports numba only for its settings file."""
    if "numba" in sys.modules or Path(".numba_config.yaml").exists():
        from numba import config

        return bool(config.ENABLE_CUDASIM)
    try:
        return bool(int(os.environ.get("NUMBA_ENABLE_CUDASIM", "0")))
    except ValueError:
        return False


def checked(answer: tuple):
    """Return what a call of cuda.bindings.driver returned besides its error code; raise RuntimeError if that is not 0.

    Several values come as a tuple.
    """
    error, *values = answer
    if error != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"the CUDA driver refused a call: {error}")
    return values[0] if len(values) == 1 else tuple(values)


@cache
def cards() -> int:
    """Return how many cards the driver shows; 0 also without a driver."""
    try:
        checked(driver.cuInit(0))
        return checked(driver.cuDeviceGetCount())
    except RuntimeError:
        return 0
