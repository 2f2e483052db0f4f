"""Check variants in numba's CUDA simulator, all in one process; each cell's files are those of `measure`.

Cells of this revision, protocol and graph are kept. If a cell fails, the others are still checked and kept, and the
step fails at the end.
"""

import logging
from collections.abc import Mapping
from pathlib import Path

from kernels.errors import InputError, explain
from kernels.gpu import card
from kernels.graph import Graph
from kernels.io import writable
from kernels.registry import find
from workflow.measure import measure
from workflow.plan.experiments import Cell
from workflow.store import records, revisions
from workflow.store.measurements import schema


def current(out: Path, protocol: dict, graph: Graph) -> bool:
    """Return whether the cell's files exist and are of this revision, protocol and graph."""
    if not out.exists():
        return False
    try:
        (record,) = records.of_table(out).values()
    except InputError:
        return False
    same = graph.meta.get("entry", graph.meta["sha256"]), protocol, revisions.of(find(*out.parts[-3:-1]))
    entry = record["graph"].get("entry", record["graph"]["sha256"])
    return (entry, record["protocol"], record["revision"]) == same


def simulate(cells: Mapping[Cell, dict], graphs: Path, results: Path, out: Path, setting: measure.Setting) -> None:
    """Check cells in the simulator, each by its protocol, and write all rows to `out`.

    Raises InputError with the names of the cells that failed, after all others are checked.
    """
    if not card.SIMULATED:
        raise InputError("the CUDA simulator is not enabled: set NUMBA_ENABLE_CUDASIM=1")
    writable(out)
    made, failed = [], []
    for cell, protocol in cells.items():
        name = "/".join(cell)
        made.append(results / f"{name}.csv")
        graph = graphs / f"{cell.dataset}.npz"
        if current(made[-1], protocol, Graph.load(graph)):
            continue
        try:
            measure.measure(cell.registered, graph, protocol, made[-1], setting)
        except Exception as error:  # check the other cells
            said = explain(error)
            (logging.error if said else logging.exception)("%s: %s", name, said or "a defect of the program")
            failed.append(name)
    if failed:
        raise InputError(f"{len(failed)} of {len(made)} cells failed, the other results are kept: {', '.join(failed)}")
    kind = schema(simulated=True)
    kind.write(kind.text(made), out)
