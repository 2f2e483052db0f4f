"""Measure the card's peak of relaxations, and blocked Floyd-Warshall on dense matrices: results/peak.csv.

A row a repeat; relaxations over seconds is the rate. dense is n^3 relaxations, vertices is its n.
"""

import itertools
import logging
from collections.abc import Iterator
from pathlib import Path

from kernels.errors import InputError, NotEnoughMemory
from kernels.fast import peak
from kernels.run import Run
from workflow.measure import measure
from workflow.measure.provenance import StepContext, provenance
from workflow.store.benchmarks import PEAK

REPEATS = 5
TIMES = 50_000  # relaxations in a chain: some 20 ms on an H200


def peak_rows(vertices: list[int], commit: str) -> Iterator[dict]:
    """Yield a row a repeat, after one that compiles. Raises NotEnoughMemory and WrongResult."""
    common = provenance(PEAK.columns, StepContext(commit=commit))
    for packed, n in itertools.product((False, True), ("", *vertices)):
        own = {"benchmark": "dense" if n else "chains", "bits": 16 if packed else 32, "vertices": n}
        for repeat in range(REPEATS + 1):
            run = Run()
            relaxations, seconds = peak.dense(run, packed, n) if n else peak.chains(run, packed, TIMES)
            if repeat:
                times = {"relaxations": relaxations, "seconds": seconds, "started": run.started}
                yield common | own | {"repeat": repeat} | times
        logging.info("%s of %s bits: %.3g relaxations/s", own["benchmark"], own["bits"], relaxations / seconds)


def measure_peak(vertices: list[int], out: Path, commit: str = "") -> None:
    """Measure on this card, and write the CSV at the end; raise InputError if there is too little memory."""
    with measure.reserved(out, "peak"):
        try:
            rows = list(peak_rows(vertices, commit))
        except NotEnoughMemory as error:
            raise InputError(f"peak: {error}: use matrices of fewer than {max(vertices):,} vertices") from None
        PEAK.write(rows, out)
