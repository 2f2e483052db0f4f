"""Measure variants in rounds. Poison the result before each run; check it afterwards."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial

import numpy as np

from kernels import run as runs
from kernels.check import check
from kernels.errors import NotEnoughMemory, NotInstalled, TimeLimit, WrongResult
from kernels.gpu import card
from kernels.graph import Graph, forget
from kernels.harness import compile_variant, timed_run
from kernels.heartbeat import heartbeat
from kernels.registry import Variant
from kernels.run import Result, Run
from workflow.plan.protocol import Protocol


def measure_alone(variant: Variant, graph: Graph, protocol: Protocol) -> list[dict]:
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
    refused = {v: _row_or_refusal(partial(compile_variant, v, graph, protocol)) for v, protocol in protocols.items()}
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
                    row = _row_or_refusal(partial(_run_checked, variant, graph, result, protocol))
                said = f"{row['seconds']:.6g} s" if row["status"] == "ok" else row["status"]
                logging.info("%s on %s: %s", variant.key, graph.name, "; ".join(filter(None, [said, row["note"]])))
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


def _row_or_refusal(step: Callable[[], dict | None]) -> dict:
    """Return the result of `step`. If it runs out of memory or time or lacks a package, return a row of that status."""
    try:
        return step() or {}
    except NotEnoughMemory as error:
        note = f"needs {error.needed:,} bytes on the card, {error.free:,} are free"
        return _row("no_memory", Run(), note=note) | {"needed_bytes": error.needed}
    except TimeLimit as error:
        return _row("timeout", Run()) | {"limit_s": error.seconds}
    except NotInstalled as error:
        return _row("unavailable", Run(), note=str(error))


def _run_checked(variant: Variant, graph: Graph, result: Result, protocol: Protocol) -> dict:
    result.poison()
    run = timed_run(variant, graph, result, protocol)
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
