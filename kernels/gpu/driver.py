"""Query CUDA's driver and numba's settings without importing numba, whose import takes longer than many searches."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import InputError

try:
    from cuda.bindings import driver
except ModuleNotFoundError:  # numba-cuda brings it; without numba-cuda it is not used
    driver = None  # type: ignore[assignment]

STARTED = time.time()  # before any kernel is imported; cache.py compares modification times of source files with it
SETTINGS = Path(".numba_config.yaml")  # numba's settings in the working directory
MISSING = (
    'the packages that compile for it are missing (pip install "cuda-shortest-paths[cu13]", or [cu12] for a CUDA 12 '
    "driver)"
)


def check_settings() -> None:
    """Raise InputError if importing numba would fail because its configuration file cannot be read."""
    if not SETTINGS.is_file():
        return
    try:
        import yaml
    except ImportError:  # numba then ignores the file
        return
    try:
        with SETTINGS.open(encoding="locale") as file:
            found = yaml.safe_load(file) or {}
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        said = " ".join(str(error).split())
        raise InputError(f"{SETTINGS}: numba cannot read it ({said}): correct or delete it") from None
    if not (isinstance(found, dict) and all(isinstance(key, str) for key in found)):
        raise InputError(f"{SETTINGS}: not a mapping of numba's settings (opt: 3): correct or delete it")


def simulated() -> bool:
    """Return whether numba's settings turn its simulator on. Import numba only to read its configuration file."""
    if "numba" in sys.modules or SETTINGS.exists():
        from numba import config

        return bool(config.ENABLE_CUDASIM)  # type: ignore[attr-defined]  # set by numba at its import
    try:
        return bool(int(os.environ.get("NUMBA_ENABLE_CUDASIM", "0")))
    except ValueError:
        return False


def checked(answer: tuple) -> Any:
    """Return the result of a call of cuda.bindings.driver without its error code; several results as a tuple.

    Raise RuntimeError if the code is not 0.
    """
    error, *values = answer
    if error != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"the CUDA driver refused a call: {error}")
    return values[0] if len(values) == 1 else tuple(values)


@cache
def cards() -> int:
    """Return the number of cards that the driver shows; 0 if there is no driver."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int()
    refused = library.cuInit(0) or library.cuDeviceGetCount(ctypes.byref(count))
    return 0 if refused else count.value


_forked = False


def _note_fork() -> None:
    global _forked
    _forked = forked() or bool(cards.cache_info().currsize and cards())


os.register_at_fork(after_in_child=_note_fork)


def forked() -> bool:
    """Return whether this process was forked from one that had found a card. CUDA then fails in this process."""
    return _forked


def check_process() -> None:
    """Raise InputError if this process was forked from one that had found a card."""
    if forked():
        raise InputError(
            "this process was forked from one that had used the card, and CUDA does not work in it: fork before the "
            'first search, or start processes by multiprocessing.get_context("spawn")'
        )
