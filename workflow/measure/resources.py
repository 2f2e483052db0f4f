"""What a cluster's job may take of time and memory, where it runs, and what to do where Slurm ended it."""

import math
import os
import re
from pathlib import Path

from kernels.registry import find
from workflow.measure import plan
from workflow.measure.oracle import LARGE, MOST_PROCESSES

# What a cluster's job may take. Limits enough for the paper's card; for a slower one raise them by
# --set-resources measure:runtime=MINUTES or measure:mem_mb=MEGABYTES.
BASE_S = 600  # starting, compiling, warming up, the oracle
BASE_MB = 2000  # Python, numba and a CUDA context
# By problem, and of variants that differ: seconds of a run per n (n + m) for one source, per n^3 for all pairs; bytes
# on the host per n + m for one source, per n^2 for all pairs.
SECONDS = {"sssp": 6e-11, "apsp": 4e-11, "dijkstra/naive": 1.5e-10, "delta_stepping/near_far": 1e-12}
BYTES = {
    **{"sssp": 64, "apsp": 16, "dijkstra/naive": 21, "dijkstra/networkit": 112, "floyd_warshall/scipy": 24},
    **{"floyd_warshall/blocked": 8, "floyd_warshall/staged": 8},
}
# Of all pairs as a stream: bytes and seconds of n + m, for the host, for one source and for the oracle's one source.
ALL_PAIRS_BYTES, ALL_PAIRS_S, ORACLE_S = 400, 1e-10, 1e-6
ORACLE_MB, ORACLE_BYTES = 300, 60  # of each of several processes that the oracle's rows are shared out to; of n + m
# What to do where Slurm ended a job, by the state that it reports.
ADVICE = {
    "TIMEOUT": "ran into its time limit: raise it with --set-resources {rule}:runtime=MINUTES",
    "OUT_OF_MEMORY": "ran out of memory: raise it with --set-resources {rule}:mem_mb=MEGABYTES",
    "NODE_FAIL": "lost its node: give the same command again",
    "CANCELLED": "was cancelled: give the same command again",
}
RULES = {"results/batches/": "job", "results/all_pairs/": "all_pairs_shard"}  # that write there
FAILED = re.compile(
    r"SLURM-job '(\S+)' failed.*? status is: '(\w+)'.*?output: ([^\s,]+).*?log: .*?(\S+) \(check", re.DOTALL
)


def runtime_min(config: dict, algorithm: str, variant: str, dataset: str) -> int:
    """Minutes that a cell may take: its repeats, of which one may pass the budget, and BASE_S."""
    protocol, cell = plan.protocol_of(config, algorithm, variant), find(algorithm, variant)
    n, m = _size(config, dataset)
    work = n * (n + m) if cell.problem == "sssp" else n**3
    run = SECONDS.get(cell.key, SECONDS[cell.problem]) * work if cell.on_gpu else protocol["timeout_s"]
    return math.ceil((BASE_S + protocol["budget_s"] + run) / 60)


def memory_mb(config: dict, algorithm: str, variant: str, dataset: str) -> int:
    """Megabytes of the host that a cell may take: the graph, matrices and results, the oracle's rows, and BASE_MB."""
    protocol, (n, m), cell = config["protocol"], _size(config, dataset), find(algorithm, variant)
    checked = n if n <= protocol["full_check"] else min(n, protocol["checked_rows"])
    items, rows = (n + m, 1) if cell.problem == "sssp" else (n * n, checked)
    return BASE_MB + math.ceil((BYTES.get(cell.key, BYTES[cell.problem]) * items + 4 * n * rows) / 1e6)


def all_pairs_mb(config: dict, dataset: str, threads: int = 1) -> int:
    """Megabytes of the host that a part of all pairs may take: the hierarchy, the oracle's rows, and BASE_MB.

    threads: of its job; with several the oracle has processes of its own.
    """
    items = sum(_size(config, dataset))
    processes = MOST_PROCESSES if threads > 1 and items >= LARGE else 0
    return BASE_MB + math.ceil((ALL_PAIRS_BYTES + processes * ORACLE_BYTES) * items / 1e6) + processes * ORACLE_MB


def all_pairs_min(config: dict, dataset: str, shards: int) -> int:
    """Minutes that a part of all pairs may take: two passes over its sources, the oracle, and BASE_S."""
    n, m = _size(config, dataset)
    oracle = ORACLE_S * min(n, config["all_pairs"]["sample"]) * (n + m)
    return math.ceil((BASE_S + oracle + 2 * ALL_PAIRS_S * n * (n + m) / shards) / 60)


def many_sources_min(config: dict, dataset: str) -> int:
    """Minutes that searches from many sources may take: two budgets, each passed by one search, the oracle, BASE_S."""
    options, (n, m) = config["sweeps"]["many_sources"], _size(config, dataset)
    oracle = ORACLE_S * min(n, options["rows_checked"]) * (n + m)
    return math.ceil((BASE_S + oracle + 4 * options["budget_s"]) / 60)


def partition(on_gpu: bool) -> str | None:
    """The cluster's partition for a job, as slurm/config.yaml has it; None for the cluster's default."""
    return os.environ.get("GPU_PARTITION" if on_gpu else "CPU_PARTITION") or None


def gpu_model(on_gpu: bool) -> str | None:
    """The model of GPU that a job asks a cluster for, as slurm/config.yaml has it; None for any, and for no GPU."""
    return (on_gpu and os.environ.get("GPU_MODEL")) or None


def _size(config: dict, dataset: str) -> tuple[int, int]:
    """Vertices and arcs."""
    return config["datasets"][dataset]["vertices"], config["datasets"][dataset]["arcs"]


def advice(log: str) -> list[str]:
    """What Snakemake's log says of jobs that Slurm ended: a line each, with what to do next."""
    lines = []
    for job, state, output, slurm_log in FAILED.findall(log):
        # Not every Slurm calls it OUT_OF_MEMORY; what it writes into the job's own log is clearer.
        if Path(slurm_log).exists() and re.search("oom.kill|memory limit", Path(slurm_log).read_text()):
            state = "OUT_OF_MEMORY"
        if state in ADVICE:
            rule = next((rule for folder, rule in RULES.items() if output.startswith(folder)), "measure")
            lines.append(f"{output}: Slurm's job {job} {ADVICE[state].format(rule=rule)}")
    return lines
