"""Measure one variant on one packed graph: a CSV row a run, and beside it a JSON of what it ran on."""

from __future__ import annotations

import importlib.metadata
import json
import logging
import os
import platform
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from kernels import harness, libraries
from kernels.errors import InputError, WrongResult
from kernels.gpu import card
from kernels.graph import Graph
from kernels.io import atomic, writable
from kernels.registry import Variant
from workflow import digests
from workflow.measure import host, lock, revisions
from workflow.measure.journal import Journal
from workflow.store import records
from workflow.store.measurements import schema

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


@dataclass(frozen=True)
class Setting:
    """How a step runs here.

    cores: how many of its cores a job on a card keeps; 0 for all. commit: the project's, if there is no .git to ask.
    config_digest: of the whole configuration.
    """

    cores: int = 0
    commit: str = ""
    config_digest: str = ""

    @classmethod
    def of(cls, snakemake) -> Setting:
        """Return the setting of a rule's script."""
        config = snakemake.config
        digest = digests.digest(json.dumps(config, sort_keys=True).encode())
        return cls(snakemake.params.cores, config["commit"], digest)


def measure(variant: Variant, graph: Path, protocol: dict, out: Path, setting: Setting = Setting()) -> None:
    """Measure a variant on a packed graph, and write a row a run to `out` and a record beside it."""
    with reserved(out, [variant], setting.cores):
        loaded = packed(graph)
        rows, (record,) = make({variant: protocol}, loaded, setting)
        text = schema(simulated=variant.on_gpu and card.SIMULATED).to_csv(rows, out)
        path = out.with_suffix(".json")
        records.check(record, path)
        with atomic(out, "w") as csv_file, atomic(path, "w") as json_file:
            csv_file.write(text)
            json.dump(record, json_file, indent=1, sort_keys=True)
            json_file.write("\n")
    for row in rows:
        seconds = f"{row['seconds']:.6g} s" if row["status"] == "ok" else row["status"]
        logging.info("%s on %s: %s  %s", variant.key, loaded.name, seconds, row["note"])


@contextmanager
def reserved(out: Path, variants: Iterable[Variant], cores: int) -> Iterator[None]:
    """Keep other processes from the file meanwhile and, where a variant runs on a GPU, from a card and its cores.

    cores: as host.one_card has it. Raises InputError where another process measures the file,
    the variants cannot be measured here, or would be simulated in a place for measurements.
    """
    on_gpu = [variant.key for variant in variants if variant.on_gpu]
    if on_gpu and card.SIMULATED and "simulated" not in out.parts:
        raise InputError(f"{out}: a simulated run is no measurement: unset NUMBA_ENABLE_CUDASIM")
    writable(out)
    on_card = on_gpu and not card.SIMULATED
    with lock.held(out), host.one_card(cores) if on_card else nullcontext():
        if on_card and not card.gpu_visible():
            raise InputError(f"{on_gpu[0]} needs a GPU and none is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES")
        yield


def packed(path: Path) -> Graph:
    """The graph in a file; raises InputError where it was not made by the rule pack."""
    graph = Graph.load(path)
    if "sha256" not in graph.meta:
        raise InputError(f"{path}: does not say of which text form it is: make it by the rule pack")
    return graph


def make(
    protocols: Mapping[Variant, dict],
    graph: Graph,
    setting: Setting,
    batch: str = "",
    seed: int = 0,
    journal: Journal | None = None,
) -> tuple[list[dict], list[dict]]:
    """Measure the variants in rounds: the rows with all columns, and a record of each variant, in their order.

    protocols: config.yaml's protocol for each. seed: of the orders in a round.
    journal: keeps finished runs; those it has are not made again.
    Raises InputError where a result is wrong.
    """
    wanted = {variant: harness.Protocol.of(protocol) for variant, protocol in protocols.items()}
    on_card = any(variant.on_gpu for variant in wanted) and not card.SIMULATED
    commit, clean = state_of_project(setting.commit)
    before = card.card_state() if on_card else None
    by_key = {variant.key: variant for variant in wanted}
    runs = [(by_key[key], row) for key, row in (journal.runs if journal else [])]
    try:
        for variant, row in harness.interleave(wanted, graph, seed, list(runs)):
            row = row | {"commit": commit}
            runs.append((variant, row))
            if journal:
                journal.add(variant.key, row)
    except WrongResult as error:
        raise InputError(f"wrong result, nothing is published: {error}") from None
    after = card.card_state() if on_card else None
    rows, found = [], []
    for variant, protocol in wanted.items():
        common = about(variant, graph, protocol, commit) | {"batch": batch}
        mine = [row for of, row in runs if of is variant]
        rows += [common | row for row in harness.finished(mine, protocol)]  # kept ones have the commit they were of
        found.append(
            {
                "algorithm": variant.algorithm,
                "variant": variant.name,
                "dataset": graph.name,
                "commit": commit,
                "tree_clean": clean,
                "config_digest": setting.config_digest,
                **({"batch": batch} if batch else {}),
                **revisions.columns(variant, protocol),
                "protocol": protocols[variant],
                "graph": graph.meta,
                "card": {"before": before, "after": after} if variant.on_gpu and on_card else None,
                **surroundings(),
            }
        )
    return rows, found


SLURM = [
    "SLURM_JOB_ID",
    "SLURM_JOB_PARTITION",
    "SLURMD_NODENAME",
    "SLURM_JOB_GPUS",
    "SLURM_STEP_GPUS",
    "CUDA_VISIBLE_DEVICES",
]


def surroundings() -> dict:
    """What a record says of the machine, besides its card."""
    return {
        "slurm": {key: value for key, value in os.environ.items() if key in SLURM},
        "host": platform.node(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": packages(),
    }


def measurements(variant: Variant, graph: Graph, protocol: harness.Protocol, commit: str) -> list[dict]:
    """A row a run with all columns. Raises as harness.measure does."""
    common = about(variant, graph, protocol, commit)
    return [row | common for row in harness.measure(variant, graph, protocol)]


def about(variant: Variant, graph: Graph, protocol: harness.Protocol, commit: str) -> dict:
    """The columns that are the same in all rows of a cell."""
    return {
        "algorithm": variant.algorithm,
        "variant": variant.name,
        "problem": variant.problem,
        "dataset": graph.name,
        "vertices": graph.vertices,
        "arcs": graph.arcs,
        "source": protocol.source if variant.problem == "sssp" else "",
        **card.describe(variant.on_gpu),
        **{name.replace("-", "_"): importlib.metadata.version(name) for name in ("numba-cuda", "numba", "numpy")},
        "commit": commit,
        **revisions.columns(variant, protocol),
        "dataset_sha256": graph.meta["sha256"],
        "host": platform.node(),
        "host_id": host.host_id(),
        "card_uuid": card.card_uuid() if variant.on_gpu else "",
        "cpu_model": card.cpu_name(),
        "substitute": graph.meta.get("substitute") or "",
        "generated": graph.meta.get("generated") or "",
        "cores": "" if variant.on_gpu else libraries.cores() if variant.parallel else 1,
        **(variant.facts(graph, protocol.source) if variant.facts else {}),
    }


def state_of_project(commit: str) -> tuple[str, bool | None]:
    """The commit, and whether the tree has no uncommitted changes (None where git cannot tell)."""
    try:
        said = [
            subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.strip()
            for words in (("rev-parse", "HEAD"), ("status", "--porcelain"))
        ]
    except (OSError, subprocess.CalledProcessError):
        return commit, None
    return (commit, None) if commit else (said[0], not said[1])


def packages() -> dict[str, str]:
    """Versions of what a time may depend on; those that are not installed are left out."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
