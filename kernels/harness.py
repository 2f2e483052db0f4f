"""Run a variant on a graph: compile, warm up, run once."""

from __future__ import annotations

import math
import reprlib
from dataclasses import dataclass, replace
from numbers import Real
from typing import ClassVar

import numpy as np

from kernels import run as runs
from kernels.errors import InputError, whole
from kernels.graph import INF, Graph
from kernels.heartbeat import heartbeat
from kernels.registry import Variant
from kernels.run import Result, Run

PARALLEL = 33  # arcs in each direction in the graph of `compile_variant`: more arcs than a row of any layout holds


@dataclass(frozen=True)
class RunSettings:
    """The settings of a run, with times in seconds.

    Raises InputError for a value that is not allowed. Whether `source` is a vertex is checked later, by the graph.
    """

    warmup_launches: int = 10
    timeout_s: float = 3600
    block: int = 1024
    tile: int = 32
    delta: int | None = None
    grid: int | None = None
    source: int = 0

    RANGES: ClassVar = {  # the least and the largest value of each integer
        "warmup_launches": (0, INF),
        "block": (1, 1024),  # threads of a block
        "tile": (1, 32),  # a block has tile x tile threads
        "delta": (1, INF),
        "grid": (1, INF),
    }
    SECONDS: ClassVar = ("timeout_s",)

    def __post_init__(self) -> None:
        for name, (low, high) in self.RANGES.items():
            if (value := getattr(self, name)) is None and name in ("delta", "grid"):
                continue
            value = whole(value, name)
            if not low <= value <= high:
                allowed = f"from {low} to {high:,}" if high < INF else f"{low} or more"
                raise InputError(f"{name} must be {allowed}, not {value}")
            object.__setattr__(self, name, value)
        object.__setattr__(self, "source", whole(self.source, "source"))
        for name in self.SECONDS:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Real) or not value > 0:  # type: ignore[operator]
                raise InputError(f"{name} must be a number of seconds above 0, not {reprlib.repr(value)}")


def run_once(variant: Variant, graph: Graph, settings: RunSettings) -> tuple[Run, Result]:
    """Make one run. Return the run and its result, which is not checked (see `check.check`).

    Raises InputError if the source is not a vertex or the graph is too large for the variant's indices; NotEnoughMemory
    if the graph does not fit on the card; TimeLimit if a CPU variant takes longer than `timeout_s`; and NotInstalled.
    """
    graph.check_source(settings.source)
    variant.check_size(graph)
    compile_variant(variant, graph, settings)
    result = Result.poisoned(variant.problem, graph.vertices)
    return timed_run(variant, graph, result, settings), result


def timed_run(variant: Variant, graph: Graph, result: Result, settings: RunSettings) -> Run:
    """Run a compiled variant and return its run; a CPU variant may raise TimeLimit."""
    limit_s = math.inf if variant.on_gpu else settings.timeout_s
    with heartbeat.during(f"{variant.key} on {graph.name}: running", limit_s):
        run = run_for_variant(variant, settings)
        variant.function(graph, result, run)
    return run


def run_for_variant(variant: Variant, settings: RunSettings) -> Run:
    return Run(
        source=settings.source,
        block=settings.block,
        tile=settings.tile,
        limit_s=settings.timeout_s,
        on_gpu=variant.on_gpu,
        cuda_graph=variant.cuda_graph,
        delta=settings.delta,
        grid=settings.grid,
    )


def compile_variant(variant: Variant, graph: Graph, settings: RunSettings) -> None:
    """Compile all kernels of the variant by running it on two vertices and parallel edges; then warm up.

    The variant runs twice, because it may have one kernel for shared memory and another for global memory. It may have
    other kernels for weights of 0, so the edges have weight 0 if the graph has an arc of weight 0. It may also have a
    kernel for arcs that do not fit in a row of its layout, so there are PARALLEL edges.
    """
    variant.check_installed()
    weight = min(1, graph.weights.min(initial=1))
    tails = np.repeat([0, 1], PARALLEL)
    tiny = Graph.from_arcs(2, tails, 1 - tails, np.full(len(tails), weight), directed=graph.directed)
    with heartbeat.during(f"{variant.key} on {graph.name}: compiling"):
        for shared in (None, 0) if variant.on_gpu else (None,):
            run = replace(run_for_variant(variant, settings), source=0, shared=shared)
            variant.function(tiny, Result.poisoned(variant.problem, tiny.vertices), run)
        if variant.on_gpu:
            runs.warm_up(graph.vertices, settings.block, settings.warmup_launches)
