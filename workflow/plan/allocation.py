"""Limits of time and memory of a cluster's jobs, their partitions, and advice after Slurm ended a job."""

import math
import os
import re
from collections.abc import Mapping
from pathlib import Path

from kernels.errors import InputError
from kernels.registry import find
from workflow.plan import conditions

# The limits suffice for the paper's card; for a slower one raise them by --set-resources measure:runtime=MINUTES or
# measure:mem_mb=MEGABYTES.
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
    "TIMEOUT": "exceeded its time limit: raise it with --set-resources {rule}:runtime=MINUTES",
    "OUT_OF_MEMORY": "ran out of memory: raise the limit with --set-resources {rule}:mem_mb=MEGABYTES",
    "NODE_FAIL": "lost its node: run the same command again",
    "CANCELLED": "was cancelled: run the same command again",
}
INTERRUPTED = "Terminating processes on user request"  # as Snakemake logs it
FAILED = re.compile(
    r"Error in rule (\w+):\s+message: SLURM-job '(\S+)' failed.*? status is: '(\w+)'.*?"
    r"output: ([^\s,]+).*?log: .*?(\S+) \(check",
    re.DOTALL,
)


def runtime_min(config: dict, algorithm: str, variant: str, dataset: str) -> int:
    """Return the minutes that a cell may take: its budget, one run that exceeds it, and BASE_S."""
    protocol, cell = conditions.protocol_of(config, algorithm, variant), find(algorithm, variant)
    n, m = _size(config, dataset)
    work = n * (n + m) if cell.problem == "sssp" else n**3
    run = SECONDS.get(cell.key, SECONDS[cell.problem]) * work if cell.on_gpu else protocol["timeout_s"]
    return math.ceil((BASE_S + protocol["budget_s"] + run) / 60)


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
    found = {"gpu": int(on_gpu), "gpu_model": model, "gres": None, "slurm_partition": partition}
    # Without Slurm `gpu` stays 1: it keeps two timed runs from sharing the card.
    if not (on_gpu and on_slurm):
        return found
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
        return found | {"gpu": 0, "gpu_model": None, "gres": ":".join(filter(None, ("gpu", model, "1")))}
    if hyphened:
        return found | {"gpu": 0, "gpu_model": None, "slurm_extra": f"-G {model}:1"}
    return found


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
