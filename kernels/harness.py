"""Run a variant on a graph: compile, warm up, run once."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np

from . import run as runs
from .graph import Graph
from .heartbeat import heartbeat
from .registry import Variant
from .run import Result, Run
from .settings import RunSettings

PARALLEL = 33  # arcs in each direction in the graph of `compile_variant`: more arcs than a row of any layout holds
OF_RUN = tuple(each.name for each in fields(RunSettings) if each.name in {of_run.name for of_run in fields(Run)})


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
        **{name: getattr(settings, name) for name in OF_RUN},
        limit_s=settings.timeout_s,
        on_gpu=variant.on_gpu,
        cuda_graph=variant.cuda_graph,
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
