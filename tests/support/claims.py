"""The paper's claims, and files of cells to judge them by."""

import csv
import json

import numpy as np

from kernels.registry import VARIANTS
from tests.support.rows import STATE, measurement, record
from workflow.judge import claims
from workflow.store import columns

TOLERANCE = 0.05
CLAIMS = {claim.id: claim for claim in claims.claims()}


def around(middle, n=6, part=0.01):
    """Return n times around a median, within a fraction of it."""
    return list(middle * (1 + part * np.linspace(-1, 1, n)))


def put(folder, cells, devices=None, throttling=None):
    """Write the CSV and JSON of cells {(algorithm/variant, dataset): seconds of the repeats}; return the CSVs."""
    paths = []
    for (key, dataset), times in cells.items():
        path = folder / key / f"{dataset}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, columns.COLUMNS)
            writer.writeheader()
            for repeat, seconds in enumerate(times, start=1):
                started = f"2026-01-01T00:{repeat - 1:02}:00+00:00"
                own = {"device": (devices or {}).get(key, "card"), "commit": "c0ffee", "started": started}
                writer.writerow(measurement(key, dataset, repeat, seconds, **own))
        after = STATE | {"sm_clock_mhz": 1500, "throttling": (throttling or {}).get((key, dataset), [])}
        card = {"before": STATE, "after": after} if VARIANTS[key].on_gpu else None
        path.with_suffix(".json").write_text(json.dumps(record(key, dataset, card)))
        paths.append(path)
    return paths
