"""Measure a sweep on one packed graph: a CSV row a repeat, each checked as any measurement is."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kernels import harness
from kernels.errors import InputError, WrongResult
from kernels.gpu import card
from kernels.graph import Graph
from kernels.io import writable
from workflow.measure import host, lock, measure, sources
from workflow.measure.sweeps import Sweep
from workflow.store.measurements import schema
from workflow.views import draw_sweep

SWEEPS = {**draw_sweep.SWEEPS, sources.SWEEP.name: sources.SWEEP}


def measured(sweep: Sweep, graph: Graph, options: dict, protocol: harness.Protocol, commit: str) -> Iterator[dict]:
    """A row a repeat, with all columns of the CSV. Raises as harness.measure does."""
    for point in sweep.points(graph, options):
        changed = replace(protocol, repeats=options["repeats"], **point.protocol)
        logging.info("%s: %s", point.variant.key, ", ".join(f"{name} {value}" for name, value in point.columns.items()))
        for row in measure.measurements(point.variant, graph, changed, commit):
            yield row | point.columns


def measure_sweep(
    sweep: Sweep, graph: Path, options: dict, protocol: dict, out: Path, setting: measure.Setting
) -> None:
    """Measure a sweep on a packed graph, on a card that no other job has, and write the CSV at the end.

    Raises InputError if there is no GPU, if another process measures the file, or if a result is wrong.
    """
    writable(out)
    loaded = Graph.load(graph)
    commit, _ = measure.state_of_project(setting.commit)
    with host.one_card(setting.cores):
        if not card.gpu_visible():
            raise InputError(f"{sweep.name} needs a GPU and none is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES")
        with lock.held(out):
            try:
                rows = list(measured(sweep, loaded, options, harness.Protocol.of(protocol), commit))
            except WrongResult as error:
                raise InputError(f"{sweep.name}: wrong result, nothing is published: {error}") from None
            schema(sweep.columns).write(rows, out)
