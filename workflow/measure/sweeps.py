"""Measure a sweep: one algorithm on one packed graph with many settings; a CSV row a repeat, checked as any other."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kernels.gpu.launching import blocks_for
from kernels.graph import Graph
from kernels.registry import Variant, find
from kernels.sparry.delta_stepping import default_delta
from workflow.measure import measure, rounds
from workflow.measure.provenance import StepContext, provenance
from workflow.plan.protocol import Protocol
from workflow.store.columns import SWEEPS as COLUMNS
from workflow.store.measurements import schema


@dataclass(frozen=True)
class Point:
    """One setting: the variant, what differs from the protocol, and the values of the sweep's own columns."""

    variant: Variant
    protocol: dict
    columns: dict


def delta_points(graph: Graph, options: dict) -> Iterator[Point]:
    """Yield Delta-Stepping at each of options["deltas"] and the graph's default, in rising order."""
    default = default_delta(graph)
    for delta in sorted({*options["deltas"], default}):
        yield Point(find("delta_stepping", "block_apsp"), {"delta": delta}, {"delta": delta, "default_delta": default})


def stride_points(graph: Graph, options: dict) -> Iterator[Point]:
    """Yield both stride variants at each of options["threads"] a block and options["shares"] of blocks.

    A share of 1 is a thread for each vertex. Section 2.1.2 of the paper takes half the blocks, at 1,024 threads each,
    and leaves open what other shapes would do.
    """
    for name in ("stride", "stride_flag"):
        for threads in options["threads"]:
            for share in options["shares"]:
                blocks = max(1, int(share * blocks_for(graph.vertices, threads)))
                columns = {"threads": threads, "blocks": blocks, "share": share}
                yield Point(find("bellman_ford", name), {"block": threads, "grid": blocks}, columns)


def source_points(graph: Graph, options: dict) -> Iterator[Point]:
    """Yield a search from each of options["count"] vertices with out-arcs, or from all if there are fewer.

    They are drawn with options["seed"]. Distances are proved but not compared with SciPy's, which would take minutes on
    millions of vertices.
    """
    tails = np.flatnonzero(np.diff(graph.indptr))
    random = np.random.default_rng(options["seed"])
    for source in random.choice(tails, min(options["count"], len(tails)), replace=False).tolist():
        yield Point(find("delta_stepping", "near_far"), {"source": source, "compared": False}, {"source": source})


POINTS = {"delta_sweep": delta_points, "stride_sweep": stride_points, "sources": source_points}


def sweep_rows(sweep: str, graph: Graph, options: dict, protocol: Protocol, setting: StepContext) -> Iterator[dict]:
    """Yield a row a repeat with all columns of the sweep's CSV; options: its entry under `sweeps` in config.yaml.

    Raises as rounds.measure_alone does.
    """
    columns = schema(COLUMNS[sweep]).columns
    for point in POINTS[sweep](graph, options):
        logging.info("%s: %s", point.variant.key, ", ".join(f"{name} {value}" for name, value in point.columns.items()))
        changed = replace(protocol, repeats=options["repeats"], **point.protocol)
        known = provenance(columns, setting, graph, on_gpu=point.variant.on_gpu)
        common = known | measure.cell_columns(point.variant, graph, changed) | point.columns
        for row in rounds.measure_alone(point.variant, graph, changed):
            yield row | common


def measure_sweep(sweep: str, graph: Path, options: dict, protocol: dict, out: Path, setting: StepContext) -> None:
    """Measure a sweep on a packed graph, and write the CSV at the end."""
    with measure.reserved(out, sweep, setting.cores):
        rows = list(sweep_rows(sweep, measure.packed(graph), options, Protocol.of(protocol), setting))
        schema(COLUMNS[sweep]).write(rows, out)
