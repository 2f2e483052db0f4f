"""The provenance of a measurement: graph, code, card and machine, under the names of columns and records."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from kernels.gpu import card
from kernels.graph import Graph
from workflow import step
from workflow.measure import host
from workflow.plan.result_paths import ROOT

PACKAGES = [
    "numba-cuda",
    "numba",
    "numpy",
    "scipy",
    "networkit",
    "cuda-bindings",
    "cuda-core",
    "nvidia-ml-py",
    "snakemake",
]
SLURM = [
    "SLURM_JOB_ID",
    "SLURM_JOB_PARTITION",
    "SLURMD_NODENAME",
    "SLURM_JOB_GPUS",
    "SLURM_STEP_GPUS",
    "CUDA_VISIBLE_DEVICES",
]


@dataclass(frozen=True)
class StepContext:
    """How a step runs here."""

    cores: int = 0  # that a job on a card keeps of its own; 0 for all
    commit: str = ""  # the project's, if there is no .git
    config_digest: str = ""  # of the whole configuration

    @classmethod
    def of(cls, snakemake) -> StepContext:
        """Return the setting of a rule's script."""
        config = snakemake.config
        digest = step.digest(json.dumps(config, sort_keys=True).encode())
        return cls(snakemake.params.cores, config["commit"], digest)


def provenance(names: Iterable[str], setting: StepContext, graph: Graph | None = None, *, on_gpu: bool = True) -> dict:
    """Return the provenance of measurements made here, now: of `names` those that it has.

    names: the columns of a CSV file, or records.FIELDS. graph: the measured graph. on_gpu: whether the card is used.
    """
    names = tuple(names)
    commit, clean = state_of_project(setting.commit)
    known = {
        **card.describe(on_gpu),
        "card_uuid": card.card_uuid() if on_gpu and "card_uuid" in names else "",
        "cpu_model": card.cpu_name(),
        "host": platform.node(),
        "host_id": host.host_id(),
        "system": platform.platform(),
        "slurm": {key: value for key, value in os.environ.items() if key in SLURM},
        "python": platform.python_version(),
        "packages": packages(),
        **{name.replace("-", "_"): importlib.metadata.version(name) for name in ("numba-cuda", "numba", "numpy")},
        "commit": commit,
        "tree_clean": clean,
        "config_digest": setting.config_digest,
    }
    if graph:
        known |= {
            "dataset": graph.name,
            "vertices": graph.vertices,
            "arcs": graph.arcs,
            "dataset_sha256": graph.meta.get("sha256", ""),
            "substitute": graph.meta.get("substitute") or "",
            "generated": graph.meta.get("generated") or "",
            "graph": graph.meta,
        }
    return {name: known[name] for name in names if name in known}


def state_of_project(commit: str) -> tuple[str, bool | None]:
    """Return the commit, and whether the tree has no uncommitted changes (None if git cannot tell)."""
    try:
        said = [
            subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=True).stdout.decode(errors="replace")
            for words in (("rev-parse", "HEAD"), ("status", "--porcelain"))
        ]
    except (OSError, subprocess.CalledProcessError):
        return commit, None
    return (commit, None) if commit else (said[0].strip(), not said[1].strip())


def packages() -> dict[str, str]:
    """Return the versions of the installed packages that a time may depend on."""
    versions = {}
    for name in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions
