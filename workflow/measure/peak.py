"""Measure the card's peak of relaxations, and blocked Floyd-Warshall on dense matrices: results/peak.csv.

A row a repeat; relaxations over seconds is the rate. dense is n^3 relaxations, vertices is its n.
"""

import importlib.metadata
import logging
import platform
from collections.abc import Iterator
from pathlib import Path

from kernels.errors import InputError, NotEnoughMemory, WrongResult
from kernels.fast import peak
from kernels.gpu import card
from kernels.io import writable
from kernels.run import Run
from workflow.measure import lock, measure
from workflow.views.peak_table import SCHEMA

TIMES = 50_000  # relaxations in a chain: some 20 ms on an H200


def measured(vertices: list[int], repeats: int, commit: str) -> Iterator[dict]:
    """A row a repeat, after one that compiles. Raises NotEnoughMemory and WrongResult."""
    commit, clean = measure.state_of_project(commit)
    common = {
        **card.describe(on_gpu=True),
        "numba_cuda": importlib.metadata.version("numba-cuda"),
        "commit": commit,
        "tree_clean": clean,
        "host": platform.node(),
    }
    for packed in (False, True):
        for n in ("", *vertices):
            name = "dense" if n else "chains"
            for repeat in range(repeats + 1):
                run = Run()
                relaxations, seconds = peak.dense(run, packed, n) if n else peak.chains(run, packed, TIMES)
                if repeat:
                    own = {"benchmark": name, "bits": 16 if packed else 32, "vertices": n, "repeat": repeat}
                    yield common | own | {"relaxations": relaxations, "seconds": seconds, "started": run.started}
            logging.info("%s of %s bits: %.3g relaxations/s", name, 16 if packed else 32, relaxations / seconds)


def measure_peak(vertices: list[int], out: Path, commit: str = "", repeats: int = 5) -> None:
    """Measure on this card, and write the CSV at the end.

    Raises InputError if there is no GPU or too little memory, if another process measures the file, or if a result is
    wrong.
    """
    if not card.gpu_visible():
        raise InputError("peak needs a GPU and none is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES")
    writable(out)
    with lock.held(out):
        try:
            rows = list(measured(vertices, repeats, commit))
        except NotEnoughMemory as error:
            raise InputError(f"peak: {error}: name smaller matrices than of {max(vertices):,} vertices") from None
        except WrongResult as error:
            raise InputError(f"peak: wrong result, nothing is published: {error}") from None
        SCHEMA.write(rows, out)
