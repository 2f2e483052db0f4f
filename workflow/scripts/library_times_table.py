"""Of results/library_times.csv, which workflow/scripts/library_times.py measures: what a file may hold."""

from pathlib import Path

import pandas as pd

from workflow.lib import measured_on
from workflow.lib.checked_csv import Schema, above_0, matching, numbered, once, one_of, whole

LATER = 10  # times as many repeats of a later call as of a first answer
ROWS, FEW, MANY = 20, 2, 128  # sources of rows by near_far, and of rows in a hierarchy


class What:
    """What is measured; the words stand in the file and in the table."""

    COMPILED = "first answer of a process, nothing kept"
    KEPT = "first answer of a process, compiled kernels kept"
    COMMAND = "python -m kernels sssp, compiled kernels kept"
    SOLVER = "a solver's shortest_paths"
    ON_CARD = "a solver's shortest_paths, left on the card"
    KERNELS = "the kernels alone, between two events"
    SAME_GRAPH = "shortest_paths, the same Graph again"
    SAME_ARRAY = "csgraph.dijkstra, the same array again"
    SAME_ARRAY_TREE = "csgraph.dijkstra, the same array again, with predecessors"
    NEW_ARRAY = "csgraph.dijkstra, a new array"
    SAME_FLOATS = "csgraph.dijkstra, the same array again, weights not whole"
    NEW_FLOATS = "csgraph.dijkstra, a new array, weights not whole"
    SCIPY = "scipy.sparse.csgraph.dijkstra"
    SCIPY_TREE = "scipy.sparse.csgraph.dijkstra, with predecessors"
    SCIPY_FLOATS = "scipy.sparse.csgraph.dijkstra, weights not whole"
    NETWORKX_LENGTHS = "NetworkX's single_source_dijkstra_path_length"
    LENGTHS_NEW = "single_source_dijkstra_path_length by the backend, a new graph"
    LENGTHS_SAME = "single_source_dijkstra_path_length by the backend, the same graph again"
    NETWORKX_PATHS = "NetworkX's single_source_dijkstra"
    PATHS_NEW = "single_source_dijkstra by the backend, a new graph"
    PATHS_SAME = "single_source_dijkstra by the backend, the same graph again"
    ON_HOST = "laying out a graph for near_far, on the host"
    TO_CARD = "laying out a graph for near_far, on the card"
    ROW = f"a row of distances by near_far, of {ROWS}"
    ROW_OF_SO_MANY = f"a row of distances by near_far, of {MANY}"
    PREPARING = "preparing a hierarchy"
    LAYING_OUT = "laying out a prepared hierarchy, from its file"
    ROW_OF_MANY = f"a row of distances in a hierarchy, of {MANY}"
    ROW_OF_FEW = f"a row of distances in a hierarchy, of {FEW}"
    SOURCE_OF_MANY = f"an eccentricity in a hierarchy, of {32 * MANY:,}"
    SOURCE_OF_FEW = f"an eccentricity in a hierarchy, of {FEW}"


ALL = [value for name, value in vars(What).items() if name.isupper()]
FORMER = [  # archived, and no longer measured
    "first answer of a process, machine code of the wheel",
    "first answer of a process, machine code of the wheel, weights not whole",
]
SCHEMA = Schema(
    (
        *("dataset", "vertices", "arcs", "what", "repeat", "seconds"),
        *measured_on.COLUMNS,
    ),
    ("vertices", "arcs", "repeat", "seconds"),
    (
        matching("dataset"),
        whole("vertices", 1),
        whole("arcs", 0),
        one_of("what", *ALL, *FORMER),
        whole("repeat", 1),
        above_0("seconds"),
        once("dataset", "what", "repeat"),
        numbered("repeat", "dataset", "what"),
        *measured_on.RULES,
    ),
    "measure again, or leave the file out",
    "{what} on {dataset}",
)


def load(paths: list[Path]) -> pd.DataFrame:
    """The rows; raises InputError where they are not as SCHEMA says."""
    return SCHEMA.read_one(paths, "--library-times")


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Indexed by (what, dataset), in the file's order: median, min and max of the seconds, repeats and batches.

    Kinds of calls that are no longer measured are left out.
    """
    of_each = rows[rows["what"].isin(ALL)].groupby(["what", "dataset"], sort=False)["seconds"]
    found = of_each.agg(["median", "min", "max", "count"])
    return found.rename(columns={"count": "repeats"}).assign(batches=1)
