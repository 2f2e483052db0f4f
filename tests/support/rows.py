"""Rows of measurements and records of cells, as they are written."""

import csv
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pandas as pd

from kernels.registry import VARIANTS
from tests.support.published import CONFIG
from workflow.store import columns, measurements, tables

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "workflow" / "samples" / "sample3.txt"
SHA256 = "5" * 64  # of any graph
DATASETS = tables.of_config(CONFIG)
SIZES = measurements.paper_datasets()
STATE = {
    **{"driver": "580.1", "uuid": "GPU-1", "sm_clock_mhz": 1900, "max_sm_clock_mhz": 1980, "memory_clock_mhz": 2619},
    **{"temperature_c": 40, "power_w": 120.5, "throttling": []},
}


def measurement(key, dataset, repeat=1, seconds=1.0, **changes):
    """Return one repeat of a variant on one of the paper's datasets; all its seconds are in kernels."""
    variant, graph = VARIANTS[key], SIZES.loc[dataset]
    of_card = {"device": "test card", "driver": "580.1", "cuda": "13.0"}
    launches = variant.launches(int(graph.vertices), 32)
    values = {
        **{"algorithm": variant.algorithm, "variant": variant.name, "problem": variant.problem, "dataset": dataset},
        **{"round": repeat, "status": "ok", "seconds": seconds, "copy_in_s": 0.0, "kernels_s": seconds},
        **{"predecessors_s": 0.0, "copy_out_s": 0.0, "launches": 4 if launches is None else launches},
        **{"vertices": graph.vertices, "arcs": graph.arcs, "source": 0 if variant.problem == "sssp" else ""},
        **{"rows_checked": 1 if variant.problem == "sssp" else 256},
        **(of_card if variant.on_gpu else {"device": "test CPU", "driver": "", "cuda": ""}),
        **{"numba_cuda": "0.30.4", "numba": "0.66.0", "numpy": "2.4.6", "commit": "0123456789abcdef" * 2},
        **{"dataset_sha256": "ab" * 32, "started": "2026-01-01T00:00:00+00:00", "host": "test_host"},
        **dict.fromkeys(("batch", "position", *columns.PREPARATION, "host_id", "card_uuid", "cpu_model"), ""),
        **{"revision": "1", "settings": ""},
        **dict.fromkeys(("substitute", "generated", "cores", "limit_s", "needed_bytes", *columns.LAYOUT, "note"), ""),
        **changes,
    }
    return dict.fromkeys(columns.COLUMNS, "") | values


SUBSTITUTE = "drawn arc lengths"  # in place of the paper's dataset


def put_rows(rows, folder):
    """Write rows, without records, to the files where results/ or an archive has them."""
    files = {}
    for row in rows:
        files.setdefault(folder / measurements.place(row), []).append(row)
    for path, of_file in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        measurements.schema().write(of_file, path)


def rows_of(times, device="test card", **more):
    """Return two rows for each {(algorithm/variant, dataset): median of kernels_s}; more: other columns."""
    rows = [
        measurement(key, dataset, repeat, 2 * seconds, kernels_s=factor * seconds, device=device, **more)
        for (key, dataset), seconds in times.items()
        for repeat, factor in ((1, 0.9), (2, 1.1))
    ]
    return frame(rows)


def frame(found):
    """Return measurements as measurements.load does, but for numeric columns that no test reads."""
    rows = pd.DataFrame(found, columns=columns.COLUMNS).assign(throttling="")
    return rows.assign(**{name: pd.to_numeric(rows[name]) for name in columns.NUMBERS})


def in_batches(rows, names=("a", "b", "c"), factors=()):
    """Return the rows as measured in these batches, each on its own card and host.

    factors: by batch, {algorithm/variant: factor of its times}.
    """
    found = []
    for name, factor in zip_longest(names, factors, fillvalue={}):
        of_gpu = (rows["driver"] != "").to_numpy()
        by = measurements.variants(rows).map(lambda key, factor=factor: factor.get(key, 1.0)).astype(float)
        times = {time: rows[time] * by for time in columns.TIMES}
        places = {"host_id": f"host{name}", "card_uuid": np.where(of_gpu, f"GPU-{name}", "")}
        found.append(rows.assign(batch=name, revision="2", **places, **times))
    return pd.concat(found, ignore_index=True)


def record(key, dataset, card=None, **changes):
    """Return the record of a cell, as its JSON has it."""
    variant = VARIANTS[key]
    return {
        **{"algorithm": variant.algorithm, "variant": variant.name, "dataset": dataset, "commit": "", "card": card},
        **{"revision": "1", "settings": ""},
        **{"tree_clean": None, "config_digest": "", "protocol": {"tile": 32}, "graph": {"sha256": "ab" * 32}},
        **{"slurm": {}, "host": "test_host", "system": "Linux", "python": "3.11.7", "packages": {"numba": "0.66.0"}},
        **changes,
    }


def measured(tmp_path, cells):
    """Return measurements of {(algorithm/variant, dataset): (seconds, other columns)}, else as `measurement` does."""
    path = tmp_path / "timings.csv"
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, columns.COLUMNS)
        writer.writeheader()
        for (key, dataset), (times, more) in cells.items():
            writer.writerows(measurement(key, dataset, i, seconds, **more) for i, seconds in enumerate(times, start=1))
    return measurements.load([path])
