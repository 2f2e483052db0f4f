"""Limits of time and memory of a cluster's jobs, their partitions, and advice after Slurm ended a job."""

import csv
import math
import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from kernels.errors import InputError
from kernels.registry import find
from workflow.plan import conditions
from workflow.plan.experiments import Cell
from workflow.store import measurements

# Requested are TIMES as many minutes as the archive's card took, or TIMES_ELSEWHERE as many if GPU_MODEL does not name
# this card. For a slower one raise them by --set-resources measure:runtime=MINUTES or measure:mem_mb=MEGABYTES.
TIMES, TIMES_ELSEWHERE = 3, 4
START_S = 60  # starting, compiling and warming up, which rows do not record
# What no archive has is estimated for the paper's card.
BASE_S = 600  # starting, compiling, warming up, the oracle
BASE_MB = 2000  # Python, numba and a CUDA context
# By problem, and of variants that differ: seconds of a run per n (n + m) for one source and n^3 for all pairs; bytes on
# the host per n + m for one source and n^2 for all pairs.
SECONDS = {"sssp": 6e-11, "apsp": 4e-11, "dijkstra/naive": 1.5e-10, "delta_stepping/near_far": 1e-12}
BYTES = {
    **{"sssp": 64, "apsp": 16, "dijkstra/naive": 21, "dijkstra/networkit": 112, "floyd_warshall/scipy": 24},
    **{"floyd_warshall/blocked": 8, "floyd_warshall/staged": 8},
}
# Of all pairs as a stream, per n + m: bytes on the host, seconds of one source, seconds of the oracle's one source.
ALL_PAIRS_BYTES, ALL_PAIRS_S, ORACLE_S = 400, 1e-10, 1e-6
# What to do if Slurm ended a job, by its state.
ADVICE = {
    "TIMEOUT": "exceeded its requested time: raise it with --set-resources {rule}:runtime=MINUTES",
    "OUT_OF_MEMORY": "exceeded its requested memory: raise it with --set-resources {rule}:mem_mb=MEGABYTES",
    "NODE_FAIL": "lost its node: run the same command again",
    "CANCELLED": "was cancelled: run the same command again",
}
INTERRUPTED = "Terminating processes on user request"  # as Snakemake logs it
FAILED = re.compile(
    r"Error in rule (\w+):\s+message: SLURM-job '(\S+)' failed.*? status is: '(\w+)'.*?"
    r"output: ([^\s,]+).*?log: .*?(\S+) \(check",
    re.DOTALL,
)


class Lasted(NamedTuple):
    """What an archived run of a cell took, in seconds, on average."""

    run_s: float  # the timed region
    whole_s: float  # until the next run of the batch started: with the check, and the next variant's preparation


@cache
def archived(folder: str) -> dict[tuple[str, ...], Lasted]:
    """Return what the runs of each cell (algorithm, variant, dataset) of an archive took; empty without an archive."""
    jobs: dict[tuple[str, ...], list[tuple]] = defaultdict(list)  # runs one after the other
    for path in measurements.files(folder):
        with open(path, newline="", encoding="utf-8") as lines:
            try:
                for row in csv.DictReader(lines):
                    if row["status"] in ("ok", "timeout"):
                        cell = row["algorithm"], row["variant"], row["dataset"]
                        job = (row["problem"], row["dataset"], row["batch"]) if row["batch"] else cell
                        started = datetime.fromisoformat(row["started"]).timestamp()
                        code = row["revision"], row["settings"]
                        jobs[job].append((started, cell, code, float(row["seconds"] or row["limit_s"])))
            except (KeyError, TypeError, ValueError, csv.Error):
                raise InputError(f"{path}: not a file of measurements: restore it from git") from None
    lasted: dict[tuple[str, ...], dict[tuple, list]] = defaultdict(lambda: defaultdict(list))
    newest: dict[tuple[str, ...], tuple] = {}
    for runs in jobs.values():
        runs.sort()
        ends = [run[0] for run in runs[1:]] + [0.0]
        for (started, cell, code, seconds), end in zip(runs, ends, strict=True):
            lasted[cell][code].append((seconds, max(seconds, end - started)))
            newest[cell] = max(newest.get(cell, ()), (started, code))
    of_newest = {cell: lasted[cell][code] for cell, (_, code) in newest.items()}
    return {cell: Lasted(*map(fmean, zip(*of_cell, strict=True))) for cell, of_cell in of_newest.items()}


def times(archives: Sequence[str]) -> tuple[str, int]:
    """Return the archive of the model that GPU_MODEL names, else the first, and TIMES or TIMES_ELSEWHERE."""
    model = os.environ.get("GPU_MODEL", "").lower()
    named = [folder for folder in archives if model and f"{Path(folder).name}-".startswith(f"{model}-")]
    return (named[0], TIMES) if named else (archives[0], TIMES_ELSEWHERE)


def runtime_min(config: dict, archives: Sequence[str], cells: Sequence[Cell]) -> int:
    """Return the minutes that cells may take in one job: by the runs of an archive, else by `_unarchived_s`."""
    folder, factor = times(archives)
    seconds: float = factor * START_S
    for cell in cells:
        protocol = conditions.protocol_of(config, cell.algorithm, cell.variant)
        limit = _unarchived_s(config, protocol, cell)
        if lasted := archived(folder).get(cell):
            runs = min(protocol["repeats"], max(1, protocol["budget_s"] // max(lasted.run_s, 1e-9)))
            limit = min(limit, factor * runs * lasted.whole_s)
        seconds += limit
    return math.ceil(seconds / 60)


def _unarchived_s(config: dict, protocol: dict, cell: Cell) -> float:
    """Return the seconds that a cell may take: its budget, one run that exceeds it, and BASE_S."""
    n, m = _size(config, cell.dataset)
    work = n * (n + m) if cell.registered.problem == "sssp" else n**3
    per_work = SECONDS.get(cell.key, SECONDS[cell.registered.problem])
    run = per_work * work if cell.registered.on_gpu else protocol["timeout_s"]
    return BASE_S + protocol["budget_s"] + run


def memory_mb(config: dict, algorithm: str, variant: str, dataset: str) -> int:
    """Return the megabytes on the host of a cell: graph, matrices and results, the oracle's rows, and BASE_MB."""
    protocol, (n, m), cell = config["protocol"], _size(config, dataset), find(algorithm, variant)
    checked = n if n <= protocol["full_check"] else min(n, protocol["checked_rows"])
    items, rows = (n + m, 1) if cell.problem == "sssp" else (n * n, checked)
    return BASE_MB + math.ceil((BYTES.get(cell.key, BYTES[cell.problem]) * items + 4 * n * rows) / 1e6)


def all_pairs_mb(config: dict, dataset: str) -> int:
    """Return the megabytes on the host of a part of all pairs: the hierarchy, the oracle's rows, and BASE_MB."""
    return BASE_MB + math.ceil(ALL_PAIRS_BYTES * sum(_size(config, dataset)) / 1e6)


def all_pairs_min(config: dict, dataset: str, shards: int) -> int:
    """Return the minutes that a part of all pairs may take: two passes over its sources, the oracle, and BASE_S."""
    n, m = _size(config, dataset)
    oracle = ORACLE_S * min(n, config["all_pairs"]["sample"]) * (n + m)
    return math.ceil((BASE_S + oracle + 2 * ALL_PAIRS_S * n * (n + m) / shards) / 60)


def many_sources_min(config: dict, dataset: str) -> int:
    """Return the minutes of searches from many sources: two budgets, each exceeded by one search, and the oracle."""
    options, (n, m) = config["sweeps"]["many_sources"], _size(config, dataset)
    oracle = ORACLE_S * min(n, options["rows_checked"]) * (n + m)
    return math.ceil((BASE_S + oracle + 4 * options["budget_s"]) / 60)


def of_device(on_gpu: bool, *, on_slurm: bool) -> dict[str, int | str | None]:
    """Return what a job asks a cluster for (slurm/config.yaml): None is the default partition, or any model of GPU.

    Raises InputError for a request that Snakemake's Slurm plugin would refuse when it submits the job.
    """
    partition = os.environ.get("GPU_PARTITION" if on_gpu else "CPU_PARTITION") or None
    model = (on_gpu and os.environ.get("GPU_MODEL")) or None
    asked = {"gpu": int(on_gpu), "gpu_model": model, "gres": None, "slurm_partition": partition}
    # Without Slurm `gpu` stays 1: it keeps two timed runs from sharing the card.
    if not (on_gpu and on_slurm):
        return asked
    request = os.environ.get("GPU_REQUEST") or "gpus"
    if request not in ("gpus", "gres"):
        raise InputError(f"GPU_REQUEST: {request!r} is no form of a request: set it to gpus or gres")
    if model and not re.fullmatch(r"[\w.-]+", model, re.ASCII):
        said = "is no model of a card: set it to the name alone that sinfo -o %G shows, as h100 for gpu:h100:8"
        raise InputError(f"GPU_MODEL: {model!r} {said}")
    hyphened = "-" in (model or "")  # which the plugin accepts neither in gpu_model nor in gres
    if hyphened and request == "gres":
        raise InputError(
            f"GPU_MODEL: {model}: with GPU_REQUEST=gres a model cannot be requested if its name has a hyphen: unset "
            "GPU_REQUEST, or unset GPU_MODEL and choose nodes by a feature that sinfo -o %f shows: --set-resources "
            "job:constraint=FEATURE measure:constraint=FEATURE"
        )
    if request == "gres":
        return asked | {"gpu": 0, "gpu_model": None, "gres": ":".join(filter(None, ("gpu", model, "1")))}
    if hyphened:
        return asked | {"gpu": 0, "gpu_model": None, "slurm_extra": f"-G {model}:1"}
    return asked


def requested(asked: Mapping[str, int | str]) -> str:
    """Return what a job asks Slurm for, in words."""
    partition, account = (asked.get(f"slurm_{name}") or "default" for name in ("partition", "account"))
    gpu = "no GPU"
    if gres := asked.get("gres"):
        gpu = f"--gres={gres}"
    elif asked["gpu"]:
        gpu = "--gpus=" + ":".join(str(word) for word in (asked.get("gpu_model"), asked["gpu"]) if word)
    elif in_extra := re.search(r"-G (\S+)", str(asked.get("slurm_extra"))):
        gpu = f"--gpus={in_extra[1]}"
    return f"partition {partition}, account {account}, {gpu}, {asked['runtime']} min, {asked['mem_mb']} MB"


def _size(config: dict, dataset: str) -> tuple[int, int]:
    return config["datasets"][dataset]["vertices"], config["datasets"][dataset]["arcs"]


def advice(log: str) -> list[str]:
    """Return what to do next: a line for each job in Snakemake's log that Slurm ended, and one after Ctrl-C."""
    lines = ["Interrupted: run the same command to continue"] if INTERRUPTED in log else []
    for rule, job, state, output, slurm_log in FAILED.findall(log):
        # Not every Slurm reports OUT_OF_MEMORY, but the job's own log says so.
        if Path(slurm_log).exists() and re.search(b"oom.kill|memory limit", Path(slurm_log).read_bytes()):
            state = "OUT_OF_MEMORY"
        if state in ADVICE:
            lines.append(f"{output}: Slurm job {job} {ADVICE[state].format(rule=rule)}")
    return lines
