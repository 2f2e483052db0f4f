"""Times of calls of the library: the file that benchmarks/library_times.py writes and docs/library.md shows."""

from pathlib import Path

import pandas as pd

from kernels.gpu import SIMULATOR
from workflow.store.checked_csv import Rule, Schema, above_0, matching, moment, numbered, once, one_of, version, whole

SCHEMA = Schema(
    (
        *("dataset", "vertices", "arcs", "what", "repeat", "seconds", "device", "driver", "cuda", "cpu_model"),
        *("numba_cuda", "commit", "tree_clean", "started", "host", "substitute"),
    ),
    ("vertices", "arcs", "repeat", "seconds"),
    (
        matching("dataset"),
        whole("vertices", 1),
        whole("arcs", 0),
        matching("what"),
        whole("repeat", 1),
        above_0("seconds"),
        once("dataset", "what", "repeat"),
        numbered("repeat", "dataset", "what"),
        matching("device"),
        Rule(("device",), "a simulated run is no measurement", lambda rows: rows["device"] != SIMULATOR),
        Rule(("device",), "the rows differ in device", lambda rows: rows["device"].isin(rows["device"].iloc[:1])),
        *(version(column) for column in ("driver", "cuda", "numba_cuda")),
        one_of("tree_clean", "True", "False", ""),
        moment("started"),
    ),
    "measure again, or leave the file out",
    "{what} on {dataset}",
)


def load(path: Path) -> pd.DataFrame:
    """Read the rows. Raises as `Schema.read`."""
    return SCHEMA.read([path])
