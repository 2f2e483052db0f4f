"""Check variants in numba's CUDA simulator, all in one process: results/simulated.csv."""

import logging
from collections.abc import Mapping
from pathlib import Path

from kernels.errors import InputError, explain
from kernels.gpu import card
from workflow.measure import measure
from workflow.measure.provenance import StepContext
from workflow.plan.experiments import Cell
from workflow.store.measurements import schema


def simulate(cells: Mapping[Cell, dict], graphs: Path, out: Path, setting: StepContext) -> None:
    """Check cells in the simulator, each by its protocol, and write their rows.

    Raises InputError with the names of the cells that failed, after all others are checked.
    """
    if not card.SIMULATED:
        raise InputError("the CUDA simulator is not enabled: set NUMBA_ENABLE_CUDASIM=1")
    with measure.reserved(out, "simulate", on_card=False):
        rows, failed = [], []
        for cell, protocol in cells.items():
            try:
                cell.registered.check_installed()
                graph = measure.packed(graphs / f"{cell.dataset}.npz")
                rows += measure.make({cell.registered: protocol}, graph, setting)[0]
            except Exception as error:  # check the other cells
                name, said = "/".join(cell), explain(error)
                (logging.error if said else logging.exception)("%s: %s", name, said or "a defect of the program")
                failed.append(name)
        if failed:
            raise InputError(f"{len(failed)} of {len(cells)} cells failed: {', '.join(failed)}")
        schema(simulated=True).write(rows, out)
