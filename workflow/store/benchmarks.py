"""CSV files that are neither jobs nor cells: many_sources/*.csv, peak.csv and library_times.csv, a row a repeat.

Each file is of one card. `measure.many_sources`, `measure.peak` and benchmarks/library_times.py write them.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from kernels.gpu import SIMULATOR
from workflow.store.checked_csv import (
    Rule,
    Schema,
    above_0,
    matching,
    moment,
    numbered,
    once,
    one_of,
    same,
    version,
    whole,
)

KINDS = ROWS, REDUCED = "rows", "reduced"  # of searches from many sources
VERSIONS = ("driver", "cuda", "numba_cuda")
GRAPH = ("vertices", "arcs", "height", "hierarchy_arcs", "triangles")
# Of library_times.csv: the calls that are compared, a new array first.
BESIDE_SCIPY = "csgraph.dijkstra, a new array", "scipy.sparse.csgraph.dijkstra"
PREPARED = ("order_s", "tree_s", "layout_s")


def _schema(
    columns: tuple[str, ...], numbers: tuple[str, ...], rules: tuple[Rule, ...], repeated: tuple[str, ...], row: str
) -> Schema:
    """Return a schema with the rules of all these files added; `repeated` are the columns that repeats share."""
    on_one_card = (
        matching("device"),
        Rule(("device",), "a simulated run is not a measurement", lambda rows: rows["device"] != SIMULATOR),
        Rule(("device",), "must be the same in all rows", lambda rows: rows["device"].isin(rows["device"].iloc[:1])),
        *(version(column) for column in VERSIONS if column in columns),
        one_of("tree_clean", "True", "False", ""),
        moment("started"),
    )
    repeats = (whole("repeat", 1), once(*repeated, "repeat"), numbered("repeat", *repeated))
    return Schema(columns, numbers, (*rules, *on_one_card, *repeats), "measure again, or leave the file out", row)


MANY_SOURCES = _schema(
    (
        *("kind", "dataset", "repeat", "sources", "search_s", "customize_s", "order_s", "tree_s", "layout_s", "height"),
        *("hierarchy_arcs", "triangles", "vertices", "arcs", "rows_checked", "device", "driver", "card_uuid"),
        *("host_id", "host", "numba_cuda", "revision", "commit", "tree_clean", "dataset_sha256", "substitute"),
        "started",
    ),
    ("repeat", "sources", "search_s", "customize_s", *PREPARED, *GRAPH, "rows_checked"),
    (
        one_of("kind", *KINDS),
        matching("dataset"),
        whole("vertices", 1),
        *(whole(column, 0) for column in GRAPH[1:]),
        whole("sources", 1),
        Rule(("sources", "vertices"), "more sources than vertices", lambda rows: rows["sources"] <= rows["vertices"]),
        above_0("search_s"),
        above_0("customize_s"),
        *(Rule((name,), "must be 0 or more", lambda rows, name=name: rows[name] >= 0) for name in PREPARED),
        whole("rows_checked", 1),
        Rule(
            ("rows_checked", "sources"),
            "more rows checked than sources",
            lambda rows: rows["rows_checked"] <= rows["sources"],
        ),
        matching("revision", r"\d+", "must be a whole number"),
        matching("dataset_sha256", "[0-9a-f]{64}", "must be 64 hexadecimal digits"),
        same("sources", "kind", "dataset", must="the repeats differ in sources"),
        *(
            same(column, "dataset", must=f"the dataset's rows differ in {column}")
            for column in (*GRAPH, *PREPARED, "card_uuid", "revision", "dataset_sha256")
        ),
    ),
    ("kind", "dataset"),
    "{kind} of {dataset}",
)


def _sizes(rows: pd.DataFrame) -> pd.Series:
    n = rows["vertices"]
    return ((n % 1 == 0) & (n**3 == rows["relaxations"])).where(rows["benchmark"] == "dense", n.isna())


PEAK = _schema(
    (
        *("benchmark", "bits", "vertices", "repeat", "relaxations", "seconds"),
        *("device", *VERSIONS, "commit", "tree_clean", "started", "host"),
    ),
    ("bits", "vertices", "repeat", "relaxations", "seconds"),
    (
        one_of("benchmark", "chains", "dense"),
        Rule(("bits",), "must be 16 or 32", lambda rows: rows["bits"].isin([16, 32])),
        whole("relaxations", 1),
        Rule(
            ("benchmark", "vertices", "relaxations"),
            "dense needs a whole number of vertices, and its cube as relaxations; chains needs no vertices",
            _sizes,
        ),
        above_0("seconds"),
    ),
    ("benchmark", "bits", "vertices"),
    "{benchmark} of {bits} bits",
)
LIBRARY_TIMES = _schema(
    (
        *("dataset", "vertices", "arcs", "what", "repeat", "seconds", "device", "driver", "cuda", "cpu_model"),
        *("numba_cuda", "commit", "tree_clean", "started", "host", "substitute"),
    ),
    ("vertices", "arcs", "repeat", "seconds"),
    (matching("dataset"), whole("vertices", 1), whole("arcs", 0), matching("what"), above_0("seconds")),
    ("dataset", "what"),
    "{what} on {dataset}",
)


def load_peak(paths: Iterable[Path]) -> pd.DataFrame:
    """Read CSVs of the peak; vertices are text, which is empty for the chains. Raises as `Schema.read`."""
    rows = PEAK.read(paths)
    sizes = ["" if np.isnan(n) else f"{n:.0f}" for n in rows["vertices"]]
    return rows.assign(vertices=sizes).astype({"bits": int})
