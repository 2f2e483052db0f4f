"""Measure variants on a packed graph: a CSV row a run, and beside it a JSON of what it ran on."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from kernels import harness, libraries, lock
from kernels.errors import InputError, NotInstalled, WrongResult
from kernels.gpu import card
from kernels.graph import Graph
from kernels.io import atomic, writable
from kernels.registry import Variant
from workflow import step
from workflow.measure import host
from workflow.store import records, revisions
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
    """How a step runs here."""

    cores: int = 0  # that a job on a card keeps of its own; 0 for all
    commit: str = ""  # the project's, if there is no .git
    config_digest: str = ""  # of the whole configuration

    @classmethod
    def of(cls, snakemake) -> Setting:
        """Return the setting of a rule's script."""
        config = snakemake.config
        digest = step.digest(json.dumps(config, sort_keys=True).encode())
        return cls(snakemake.params.cores, config["commit"], digest)


def measure(variant: Variant, graph: Path, protocol: dict, out: Path, setting: Setting = Setting()) -> None:
    """Measure a variant on a packed graph; write a row a run to `out` and a record beside it."""
    variant.check_installed()
    with reserved_for([variant], out, setting.cores):
        rows, found = make({variant: protocol}, packed(graph), setting)
        publish(rows, found, out, simulated=variant.on_gpu and card.SIMULATED)


@contextmanager
def reserved(out: Path, step: str, cores: int = 0, *, on_card: bool = True) -> Iterator[None]:
    """Keep other processes from the file and, with `on_card`, from a card and its cores (see host.one_card).

    The file is locked because a measurement may outlive the Snakemake that started it.
    Raises InputError if another process measures the file, if no card can be used, and for a WrongResult.
    """
    writable(out)
    with lock.held(out), host.one_card(cores) if on_card else nullcontext():
        if on_card:
            card.require_gpu(step)
        try:
            yield
        except WrongResult as error:
            raise InputError(f"{out}: wrong result, nothing is written: {error}") from None


def reserved_for(variants: Iterable[Variant], out: Path, cores: int) -> AbstractContextManager[None]:
    """Reserve what variants need; raise InputError if simulated rows would be written among measurements."""
    on_gpu = [variant.key for variant in variants if variant.on_gpu]
    if on_gpu and card.SIMULATED and "simulated" not in out.parts:
        raise InputError(f"{out}: a simulated run is not a measurement: unset NUMBA_ENABLE_CUDASIM")
    return reserved(out, next(iter(on_gpu), ""), cores, on_card=bool(on_gpu) and not card.SIMULATED)


def lacking(variants: Iterable[Variant]) -> dict[Variant, str]:
    """Return the variants that cannot run here for lack of a package, each with the reason."""
    found = {}
    for variant in variants:
        try:
            variant.check_installed()
        except NotInstalled as error:
            found[variant] = str(error)
    return found


def packed(path: Path) -> Graph:
    """Load a graph; raise InputError if the rule pack did not make it."""
    graph = Graph.load(path)
    if "sha256" not in graph.meta:
        raise InputError(f"{path}: has no sha256 of the text form: make it with the rule pack")
    return graph


def make(
    protocols: Mapping[Variant, dict],
    graph: Graph,
    setting: Setting,
    batch: str = "",
    seed: int = 0,
    kept: Iterable[tuple[str, dict]] = (),
    keep: Callable[[str, dict], None] | None = None,
) -> tuple[list[dict], list[dict]]:
    """Measure the variants in rounds; return the rows with all columns, and a record of each variant.

    protocols: `protocol` of config.yaml for each. seed: of the orders in a round. kept: keys and rows of finished runs,
    which are not measured again. keep: called with the key and row of each run that ends.
    """
    wanted = {variant: harness.Protocol.of(protocol) for variant, protocol in protocols.items()}
    on_card = any(variant.on_gpu for variant in wanted) and not card.SIMULATED
    commit, clean = state_of_project(setting.commit)
    before = card.card_state() if on_card else None
    by_key, runs = {variant.key: variant for variant in wanted}, list(kept)
    done = [(by_key[key], row) for key, row in runs]
    for variant, row in harness.interleave(wanted, graph, seed, done):
        runs.append((variant.key, row | {"commit": commit}))
        if keep:
            keep(*runs[-1])
    after = card.card_state() if on_card else None
    rows, found = [], []
    for variant, protocol in wanted.items():
        common = about(variant, graph, protocol, commit) | {"batch": batch}
        mine = [row for key, row in runs if key == variant.key]
        rows += [common | row for row in harness.finished(mine, protocol)]  # kept rows have the commit of their run
        found.append(
            {
                **{"algorithm": variant.algorithm, "variant": variant.name, "dataset": graph.name},
                **{"commit": commit, "tree_clean": clean, "config_digest": setting.config_digest},
                **({"batch": batch} if batch else {}),
                **revisions.columns(variant, protocol),
                **{"protocol": protocols[variant], "graph": graph.meta},
                "card": {"before": before, "after": after} if variant.on_gpu and on_card else None,
                **surroundings(),
            }
        )
    return rows, found


def publish(rows: list[dict], found: list[dict], out: Path, *, simulated: bool) -> None:
    """Check rows and records, then write the CSV and the JSON beside it."""
    text = schema(simulated=simulated).to_csv(rows, out)
    path = records.beside(out)
    for record in found:
        records.check(record, path)
    if path.name == records.OF_JOB:
        record_text = records.text({records.name(record): record for record in found}, text)
    else:
        record_text = records.text_of_cell(found[0], text)
    with atomic(out, "w") as csv_file, atomic(path, "w") as json_file:
        csv_file.write(text)
        json_file.write(record_text)


SLURM = [
    "SLURM_JOB_ID",
    "SLURM_JOB_PARTITION",
    "SLURMD_NODENAME",
    "SLURM_JOB_GPUS",
    "SLURM_STEP_GPUS",
    "CUDA_VISIBLE_DEVICES",
]


def surroundings() -> dict:
    """Return what a record says of the machine, besides its card."""
    return {
        "slurm": {key: value for key, value in os.environ.items() if key in SLURM},
        "host": platform.node(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": packages(),
    }


def about(variant: Variant, graph: Graph, protocol: harness.Protocol, commit: str) -> dict:
    """Return the columns that are the same in all rows of a cell."""
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
    """Return the commit, and whether the tree has no uncommitted changes (None if git cannot tell)."""
    try:
        said = [
            subprocess.run(["git", *words], capture_output=True, check=True).stdout.decode(errors="replace").strip()
            for words in (("rev-parse", "HEAD"), ("status", "--porcelain"))
        ]
    except (OSError, subprocess.CalledProcessError):
        return commit, None
    return (commit, None) if commit else (said[0], not said[1])


def packages() -> dict[str, str]:
    """Return the versions of the installed packages that a time may depend on."""
    found = {}
    for name in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found
