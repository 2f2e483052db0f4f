"""Measure variants: compile, warm up, run repeatedly. Poison the result before each run; check it afterwards."""

from __future__ import annotations

import logging
import math
import reprlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import partial
from numbers import Real

import numpy as np

from kernels import run as runs
from kernels.check import check
from kernels.errors import InputError, NotEnoughMemory, NotInstalled, TimeLimit, WrongResult, whole
from kernels.gpu import card
from kernels.graph import INF, Graph, forget
from kernels.registry import Variant
from kernels.run import Result, Run

log = logging.getLogger(__name__)
PARALLEL = 33  # arcs in each direction in the graph of `_prepare`: more arcs than a row of any layout holds
WHOLE = {  # the least and the largest value of each integer setting
    "warmup_launches": (0, INF),
    "repeats": (1, INF),
    "block": (1, 1024),  # threads of a block
    "tile": (1, 32),  # a block has tile x tile threads
    "delta": (1, INF),
    "grid": (1, INF),
    "checked_rows": (1, INF),
    "full_check": (0, INF),
}


@dataclass(frozen=True)
class Protocol:
    """The settings of a measurement: the keys of `protocol` in config.yaml, with times in seconds.

    Raises InputError for a value that is not allowed. Whether `source` is a vertex is checked later, by the graph.
    """

    warmup_launches: int = 10
    repeats: int = 6
    budget_s: float = 60
    timeout_s: float = 3600
    block: int = 1024
    tile: int = 32
    delta: int | None = None
    grid: int | None = None
    source: int = 0
    checked_rows: int = 256
    full_check: int = 12_000
    compared: bool = True  # whether to compare distances with SciPy's, in addition to the proof (kernels/check.py)

    def __post_init__(self) -> None:
        for name, (low, high) in WHOLE.items():
            if (value := getattr(self, name)) is None and name in ("delta", "grid"):
                continue
            value = whole(value, name)
            if not low <= value <= high:
                allowed = f"from {low} to {high:,}" if high < INF else f"{low} or more"
                raise InputError(f"{name} must be {allowed}, not {value}")
            object.__setattr__(self, name, value)
        object.__setattr__(self, "source", whole(self.source, "source"))
        if not isinstance(self.compared, bool):
            raise InputError(f"compared must be true or false, not {reprlib.repr(self.compared)}")
        for name in ("budget_s", "timeout_s"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Real) or not value > 0:  # type: ignore[operator]
                raise InputError(f"{name} must be a number of seconds above 0, not {reprlib.repr(value)}")

    @classmethod
    def of(cls, options: dict) -> Protocol:
        """Make a protocol from a dict of settings; raise InputError for an unknown key or a wrong value."""
        valid = [field.name for field in fields(cls)]
        if unknown := [key for key in options if key not in valid]:
            raise InputError(f"protocol: unknown key {', '.join(map(repr, unknown))}: choose from {', '.join(valid)}")
        return cls(**options)


class Heartbeat:
    """Log what has been running for longer than `interval` seconds. One thread checks this once per interval."""

    def __init__(self, interval: float = 30):
        self.interval = interval
        self._current: tuple[str, float, float] | None = None
        self._thread: threading.Thread | None = None

    @contextmanager
    def during(self, what: str, limit_s: float = math.inf) -> Iterator[None]:
        """Log that `what` is running if the body takes long. limit_s: the time limit of `what`."""
        if not self._thread:
            self._thread = threading.Thread(target=self._beat, daemon=True)
            self._thread.start()
        self._current = what, time.perf_counter(), limit_s
        try:
            yield
        finally:
            self._current = None

    def _beat(self) -> None:
        pause = threading.Event()
        while not pause.wait(self.interval):
            if not (current := self._current):
                continue
            what, started, limit_s = current
            if (elapsed := time.perf_counter() - started) >= self.interval:
                limit = f", limit {limit_s:g} s" if math.isfinite(limit_s) else ""
                log.info("%s for %.0f s%s", what, elapsed, limit)


heartbeat = Heartbeat()


def measure(variant: Variant, graph: Graph, protocol: Protocol) -> list[dict]:
    """Measure one variant; return its rows. See `interleave`."""
    return finished([row for _, row in interleave({variant: protocol}, graph)], protocol)


def interleave(
    protocols: Mapping[Variant, Protocol],
    graph: Graph,
    seed: int = 0,
    before: Iterable[tuple[Variant, dict]] = (),
) -> Iterator[tuple[Variant, dict]]:
    """Measure variants of one problem in rounds. A round has one run of every variant that is due, in random order.

    Yield each run as it ends: the variant and a row with round (from 1), position (in the round, from 1), status, times
    (s), launches, rows_checked, started and note. A variant is due until it has made `repeats`
    runs, or as many runs as fit in `budget_s` if each takes as long as the slowest run. If the graph does not fit on
    the card (`no_memory`), a CPU run passes its limit (`timeout`) or a package is missing (`unavailable`), yield one
    row without times and drop the variant.

    seed: the seed of the random order. before: the runs that an interrupted call yielded; they are not repeated. The
    interrupted call must have had the same protocols, graph and seed.
    Raises InputError if the source is not a vertex or the graph is too large for a variant's indices, and WrongResult
    if a check fails.
    """
    (problem,) = {variant.problem for variant in protocols}
    done = {(variant, row["round"]): row for variant, row in before}
    due = {}  # the number of rounds of each unfinished variant
    for variant, protocol in protocols.items():
        if problem == "sssp":
            graph.check_source(protocol.source)
        variant.check_size(graph)
        due[variant] = 1 if variant.on_gpu and card.SIMULATED else protocol.repeats
    refused = {
        v: _row_or_refusal(v, protocol, partial(_prepare, v, graph, protocol)) for v, protocol in protocols.items()
    }
    random, result, number = np.random.default_rng(seed), None, 0
    while due:
        number += 1
        order = [list(due)[i] for i in random.permutation(len(due))]
        for position, variant in enumerate(order, 1):
            protocol = protocols[variant]
            if not (row := done.get((variant, number))):
                if not (row := refused[variant]):
                    result = result or Result.poisoned(problem, graph.vertices)
                    if number == 1 and len(protocols) > 1:
                        forget(graph)  # so that each variant's first run makes the variant's layout
                    row = _row_or_refusal(variant, protocol, partial(_run_checked, variant, graph, result, protocol))
                said = f"{row['seconds']:.6g} s" if row["status"] == "ok" else row["status"]
                log.info("%s on %s: %s", variant.key, graph.name, "; ".join(filter(None, [said, row["note"]])))
                row |= {"round": number, "position": position}
                yield variant, row
            if row["status"] == "ok":
                due[variant] = min(due[variant], max(1, int(protocol.budget_s // row["seconds"])))
            elif row["status"] != "simulated":
                due[variant] = 1
            if number >= due[variant]:
                del due[variant]


def finished(rows: list[dict], protocol: Protocol) -> list[dict]:
    """Return the rows of one variant that a file stores.

    If the last row has no times, return only the last row. If the budget ended the repeats early, add a note to each
    row.
    """
    if rows[-1]["status"] not in ("ok", "simulated"):
        return [rows[-1] | {"round": 1}]
    if rows[0]["status"] == "ok" and len(rows) < protocol.repeats:
        note = f"{len(rows)} of {protocol.repeats} repeats: budget of {protocol.budget_s:g} s"
        return [row | {"note": "; ".join(filter(None, [row["note"], note]))} for row in rows]
    return rows


def _row_or_refusal(variant: Variant, protocol: Protocol, step: Callable[[], dict | None]) -> dict:
    """Return the result of `step`. If it runs out of memory or time or lacks a package, return a row of that status."""
    try:
        return step() or {}
    except NotEnoughMemory as error:
        note = f"needs {error.needed:,} bytes on the card, {error.free:,} are free"
        return _row("no_memory", _new_run(variant, protocol), note=note) | {"needed_bytes": error.needed}
    except TimeLimit as error:
        return _row("timeout", _new_run(variant, protocol)) | {"limit_s": error.seconds}
    except NotInstalled as error:
        return _row("unavailable", _new_run(variant, protocol), note=str(error))


def _run_checked(variant: Variant, graph: Graph, result: Result, protocol: Protocol) -> dict:
    result.poison()
    run = _run(variant, graph, result, protocol)
    try:
        with heartbeat.during(f"{variant.key} on {graph.name}: checking its result"):
            checked = check(
                graph,
                variant.problem,
                result,
                protocol.source,
                full_check=protocol.full_check,
                checked_rows=protocol.checked_rows,
                compared=protocol.compared,
            )
    except WrongResult as error:
        raise WrongResult(f"{variant.key} on {error}") from None
    return _row("simulated" if variant.on_gpu and card.SIMULATED else "ok", run, checked)


def run_once(variant: Variant, graph: Graph, protocol: Protocol) -> tuple[Run, Result]:
    """Make one run. Return the run and its result, which is not checked.

    Raises NotEnoughMemory, TimeLimit, NotInstalled, and InputError as in `interleave`.
    """
    graph.check_source(protocol.source)
    variant.check_size(graph)
    _prepare(variant, graph, protocol)
    result = Result.poisoned(variant.problem, graph.vertices)
    return _run(variant, graph, result, protocol), result


def _run(variant: Variant, graph: Graph, result: Result, protocol: Protocol) -> Run:
    """Run the variant and return its run; a CPU variant may raise TimeLimit."""
    limit_s = math.inf if variant.on_gpu else protocol.timeout_s
    with heartbeat.during(f"{variant.key} on {graph.name}: running", limit_s):
        run = _new_run(variant, protocol)
        variant.function(graph, result, run)
    return run


def _new_run(variant: Variant, protocol: Protocol) -> Run:
    return Run(
        source=protocol.source,
        block=protocol.block,
        tile=protocol.tile,
        limit_s=protocol.timeout_s,
        on_gpu=variant.on_gpu,
        cuda_graph=variant.cuda_graph,
        delta=protocol.delta,
        grid=protocol.grid,
    )


def _prepare(variant: Variant, graph: Graph, protocol: Protocol) -> None:
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
            run = replace(_new_run(variant, protocol), source=0, shared=shared)
            variant.function(tiny, Result.poisoned(variant.problem, tiny.vertices), run)
        if variant.on_gpu:
            runs.warm_up(graph.vertices, protocol.block, protocol.warmup_launches)


def _row(status: str, run: Run, checked: int = 0, note: str = "") -> dict:
    times: dict = dict.fromkeys(
        ("seconds", *(f"{phase}_s" for phase in runs.PHASES), "prepare_host_s", "prepare_card_s"), ""
    )
    if status == "ok":
        times = {"seconds": run.seconds, **{f"{phase}_s": seconds for phase, seconds in run.phases.items()}}
        times |= {"prepare_host_s": run.prepare_host_s, "prepare_card_s": run.prepare_card_s}
    return {
        "status": status,
        **times,
        "launches": run.launches,
        "rows_checked": checked,
        "started": run.started or datetime.now(UTC).isoformat(timespec="seconds"),
        "note": note,
    }
