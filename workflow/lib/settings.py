"""What the rules ask of config.yaml: is it valid, in which mode do we run, which cells are there.

A cell is one variant on one dataset, here a tuple (algorithm, variant, dataset).
"""

import ast
import hashlib
import json
import math
import os
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator, validators
from numba import cuda

from kernels.errors import InputError
from kernels.gpu.card import SIMULATED
from kernels.variants import ALGORITHMS, VARIANTS, find, select, shown_in
from workflow.lib import paper, tables
from workflow.scripts.download import check_sources, raw_name

ROOT = Path(__file__).parents[2]
NO_TIMES = ("kernels/graph.py", "kernels/memory.py", "kernels/errors.py")  # modules whose change makes no cell due
SCHEMA = Path(__file__).parents[1] / "schemas" / "config.schema.yaml"
# JSON Schema takes 2.0 for an integer; range and Slurm do not.
_TYPES = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
_VALIDATOR = validators.extend(Draft202012Validator, type_checker=_TYPES)(yaml.safe_load(SCHEMA.read_text()))

# What of a dataset's entry decides what the graph is; the rest may change without anything being due.
IDENTITY = ("sources", "format", "sha256", "vertices", "arcs", "directed", "weights", "generate", "substitute")

TABLES = list(tables.DEFINITIONS)
PAPER_TABLES = tables.PAPER_TABLES
EXTENSION_TABLES = [name for name in TABLES if name not in PAPER_TABLES]

Cell = tuple[str, str, str]


def check(config: dict) -> None:
    """Raise InputError for the first key or value that config.yaml may not have, and say which are valid."""
    for error in sorted(_VALIDATOR.iter_errors(config), key=lambda e: list(map(str, e.path))):
        where = ".".join(map(str, error.absolute_path)) or "the top level"
        if error.validator == "additionalProperties":
            unknown = [key for key in error.instance if key not in error.schema.get("properties", {})]
            valid = ", ".join(error.schema["properties"])
            raise InputError(f"config: unknown key {', '.join(map(repr, unknown))} at {where}: choose from {valid}")
        raise InputError(f"config: {where}: {error.message}")
    for path, value in _leaves(config):
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"config: {path}: {value} is no finite number")
    for dataset, entry in config["datasets"].items():
        cells(config, [dataset])
        _check_entry(f"config: datasets.{dataset}", entry)
        check_sources(dataset, entry, config["archives"])
    raws = [name for entry in config["datasets"].values() if (name := raw_name(entry))]
    for name in {name for name in raws if raws.count(name) > 1}:
        raise InputError(f"config: two datasets have a source called {name}: resources/raw/ needs distinct names")
    if clash := set(config["datasets"]) & {*ALGORITHMS, *(v.name for v in VARIANTS.values())}:
        raise InputError(f"config: dataset {', '.join(clash)} is called like an algorithm or variant: rename it")
    sweeps = config["sweeps"]
    swept = [(f"{name}.dataset", sweeps[name]["dataset"]) for name in ("delta", "stride")]
    for key, dataset in [*swept, *(("sources.datasets", name) for name in sweeps["sources"]["datasets"])]:
        if dataset not in config["datasets"]:
            raise InputError(f"config: sweeps.{key}: {_no_dataset(config, dataset)}")
    if simulating(config) and not measured_here():
        _check_archive(config["archive"])


def _check_archive(archive: str) -> None:
    """Raise InputError where there is no such archive to draw."""
    there = sorted(path.parent.name for path in Path("results/archive").glob("*/timings.csv"))
    if archive not in there:
        raise InputError(
            f"config: archive: nothing was measured here, and there is no results/archive/{archive}/timings.csv to "
            f"draw instead: name one of those in results/archive/, which are {', '.join(there) or 'none'}"
        )


def _check_entry(where: str, entry: dict) -> None:
    """Raise InputError where keys of a dataset's entry, each valid by itself, do not go together."""
    form = entry["format"]
    if unfit := {"sources" if form == "random" else "generate"} & set(entry):
        raise InputError(
            f"{where}.{unfit.pop()}: not for format {form}: a random graph is generated, every other has sources"
        )
    weights = entry.get("weights")
    if weights and weights["min"] > weights["max"]:
        raise InputError(f"{where}.weights: min {weights['min']} is above max {weights['max']}")
    for pattern in entry.get("skip", []):
        if not any(fnmatch(key, pattern) for key in VARIANTS):
            raise InputError(f"{where}.skip: {pattern!r} matches no variant: there are {', '.join(VARIANTS)}")


def _leaves(value, path: str = "") -> Iterator[tuple[str, object]]:
    """What stands in a configuration that is neither a mapping nor a list, with the keys to it joined by dots."""
    if isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(below, f"{path}.{key}" if path else str(key))
    else:
        yield path, value


def check_keys(path) -> None:
    """Raise InputError for a key that stands twice in a mapping of a YAML file, where only the second would count."""
    try:
        nodes = [yaml.compose(Path(path).read_text(encoding="utf-8"), yaml.SafeLoader)]
    except yaml.YAMLError:  # JSON with tabs, which Snakemake takes too
        return
    for node in nodes:  # which grows
        if isinstance(node, yaml.MappingNode):
            keys = [str(key.value) for key, _ in node.value]
            if twice := [i for i, key in enumerate(keys) if key in keys[:i]]:
                line = node.value[twice[0]][0].start_mark.line + 1
                raise InputError(f"{path}, line {line}: {keys[twice[0]]} stands twice in one place: delete one")
            nodes += [value for _, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            nodes += node.value


def simulating(config: dict) -> bool:
    """Whether GPU variants run in numba's simulator: by the environment, else as `mode` says."""
    if SIMULATED or config["mode"] == "simulator":
        return True
    return config["mode"] == "auto" and not cuda.is_available()


def cells(config: dict, datasets=None) -> list[Cell]:
    """The cells that config names (of the given datasets)."""
    found = []
    for dataset in datasets or config["datasets"]:
        entry = config["datasets"][dataset]
        for key, on_gpu in (("cpu", False), ("gpu", True)):
            for pattern in entry.get(key, []):
                try:
                    chosen = select(pattern, on_gpu)
                except InputError as error:
                    raise InputError(f"config: datasets.{dataset}.{key}: {error}") from None
                skipped = {v.key for v in chosen for skip in entry.get("skip", []) if fnmatch(v.key, skip)}
                found += [(v.algorithm, v.name, dataset) for v in chosen if v.key not in skipped]
    return list(dict.fromkeys(found))


def table_cells(config: dict, *names: str) -> list[Cell]:
    """The cells that config names and any of these tables shows."""
    shown = {cell for name in names for cell in tables.define(name, tables.of_config(config)).cells}
    return [cell for cell in cells(config) if (f"{cell[0]}/{cell[1]}", cell[2]) in shown]


def figure_cells(config: dict, figure: str, table: str) -> list[Cell]:
    """The cells of a table that a figure draws."""
    drawn = {variant.key for variant in shown_in(figure)}
    return [cell for cell in table_cells(config, table) if f"{cell[0]}/{cell[1]}" in drawn]


def compared_cells(config: dict) -> list[Cell]:
    """The cells that config names on datasets of any table, with the problem that the table shows."""
    pairs = set(tables.shown_pairs(tables.of_config(config)))
    return [cell for cell in cells(config) if (find(*cell[:2]).problem, cell[2]) in pairs]


def claimed_cells(config: dict) -> list[Cell]:
    """The cells that a claim of workflow/paper/claims.csv is about and config names."""
    claimed = {
        (variant, dataset)
        for claim in paper.claims()
        for variant in (claim["left"], *claim["right"].split())
        for dataset in claim["datasets"].split()
    }
    return [cell for cell in cells(config) if (f"{cell[0]}/{cell[1]}", cell[2]) in claimed]


def targets(config: dict) -> dict[str, list[Cell]]:
    """The cells behind each target that is a dataset's, an algorithm's or a variant's name."""
    result: dict[str, list[Cell]] = {}
    for cell in cells(config):
        for name in cell:
            result.setdefault(name, []).append(cell)
    return result


def refusal(config: dict, algorithm: str, variant: str, dataset: str, place: str) -> str | None:
    """Why the cell cannot be made under results/<place>/, or None."""
    try:
        found = find(algorithm, variant)
    except InputError as error:
        return str(error)
    if dataset not in config["datasets"]:
        return _no_dataset(config, dataset)
    if place == "simulated":
        if not simulating(config):
            return "simulated cells are only made in mode simulator (config.yaml, mode)"
        if config["datasets"][dataset].get("simulate"):
            return None
        return (
            f"{dataset} is too large for the CUDA simulator: take "
            f"{' or '.join(name for name, entry in config['datasets'].items() if entry.get('simulate'))}"
        )
    if not simulating(config) or not found.on_gpu:
        return None
    return f"{algorithm}/{variant} on {dataset} {NEEDS_GPU}: run it on a machine with a GPU"


NEEDS_GPU = "cannot be measured here: there is no GPU, or the CUDA simulator was asked for"


def makeable(config: dict, wanted: list[Cell]) -> tuple[list[tuple[str, Cell]], list[Cell]]:
    """What a target makes here of its cells, each with its place, and the cells that it skips.

    Where there is a GPU all are measured. Elsewhere those of a dataset that has `simulate` are checked in the
    simulator, other CPU variants are measured, and other GPU variants are skipped.
    """
    made, skipped = [], []
    for cell in wanted:
        place = next((place for place in ("simulated", "cells") if not refusal(config, *cell, place)), None)
        if place:
            made.append((place, cell))
        else:
            skipped.append(cell)
    return made, skipped


def simulated_cells(config: dict) -> list[Cell]:
    """The cells that are checked where there is no GPU; a CUDA-graph variant launches what its plain one does."""
    simulate = [name for name, entry in config["datasets"].items() if entry.get("simulate")]
    return [cell for cell in cells(config, simulate) if not find(*cell[:2]).graph] if simulate else []


def measured_here() -> list[Path]:
    """The cells in results/cells/ that are shown where there is no GPU: none where all are of CPU variants.

    A few CPU times do not take the place of the archive.
    """
    cells = sorted(Path("results/cells").glob("*/*/*.csv"))
    on_gpu = {key for key, variant in VARIANTS.items() if variant.on_gpu}
    return cells if any("/".join(path.parts[-3:-1]) in on_gpu for path in cells) else []


def _no_dataset(config: dict, dataset: str) -> str:
    return f"there is no dataset {dataset!r}: choose one of {', '.join(config['datasets'])}"


def identity(entry: dict) -> str:
    """JSON of what decides a dataset's graph."""
    return json.dumps({key: entry[key] for key in IDENTITY if key in entry}, sort_keys=True)


def code(algorithm: str, variant: str) -> str:
    """A digest of the code that a cell's times depend on: see module_code."""
    return module_code(find(algorithm, variant).function.__module__)


def module_code(name: str) -> str:
    """A digest of a module of kernels and of all that it imports from there, but for what graphs and errors are."""
    found, paths = [], [_source_file(name)]
    for path in paths:  # which grows
        text = (ROOT / path).read_text()
        found.append(text.encode())
        files = map(_source_file, _imported(text))
        paths += [file for file in files if file not in (*paths, *NO_TIMES) and (ROOT / file).is_file()]
    return digest(*sorted(found))


@cache
def _imported(text: str) -> list[str]:
    """What a module with this text may import from kernels: modules, and names in them."""
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in imports if node.module.split(".")[0] == "kernels"]
    return [name for node in ours for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))]


def _source_file(module: str) -> str:
    return f"{module.replace('.', '/')}.py"


def on_gpu(algorithm: str, variant: str) -> bool:
    return find(algorithm, variant).on_gpu


def digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def protocol(config: dict, algorithm: str = "", variant: str = "", *, simulated: bool = False) -> str:
    """JSON of how cells (of a variant) are measured, or simulated: then with the simulator's blocks and tiles."""
    return json.dumps(_protocol(config, algorithm, variant, simulated), sort_keys=True)


def _protocol(config: dict, algorithm: str, variant: str, simulated: bool = False) -> dict:
    found = config["protocol"] | (config["simulator"] if simulated else {})
    if variant and find(algorithm, variant).ours:
        found |= {key: max(found[key], least) for key, least in config["extensions"].items()}
    return found


def prepare_environment(config: dict) -> None:
    """Let jobs find this Python, the project's packages, and the simulator where it is asked for."""
    for name, first in (("PATH", Path(sys.executable).parent), ("PYTHONPATH", ROOT)):
        os.environ[name] = os.pathsep.join(filter(None, (str(first), os.environ.get(name))))
    if simulating(config):
        os.environ["NUMBA_ENABLE_CUDASIM"] = "1"


# What a cluster's job may take. Both rules bound the paper's card and code; a slower one is given more by
# --set-resources measure:runtime=MINUTES or measure:mem_mb=MEGABYTES.
BASE_S = 600  # starting, compiling, warming up, the oracle
BASE_MB = 2000  # Python, numba and a CUDA context
# Where a variant's entry says nothing else, by problem: seconds of a run, of n (n + m) for one source, of n^3 for all
# pairs; bytes on the host, of n + m for one source, of n^2 for all pairs.
SECONDS = {"sssp": 6e-11, "apsp": 4e-11}
BYTES = {"sssp": 64, "apsp": 16}


def runtime_min(config: dict, algorithm: str, variant: str, dataset: str) -> int:
    """Minutes that a cell may take: its repeats, of which one may pass the budget, and BASE_S."""
    protocol, cell = _protocol(config, algorithm, variant), find(algorithm, variant)
    n, m = _size(config, dataset)
    work = n * (n + m) if cell.problem == "sssp" else n**3
    run = (cell.run_s or SECONDS[cell.problem]) * work if cell.on_gpu else protocol["timeout_s"]
    return math.ceil((BASE_S + protocol["budget_s"] + run) / 60)


def memory_mb(config: dict, algorithm: str, variant: str, dataset: str) -> int:
    """Megabytes of the host that a cell may take: the graph, matrices and results, the oracle's rows, and BASE_MB."""
    protocol, (n, m), cell = config["protocol"], _size(config, dataset), find(algorithm, variant)
    checked = n if n <= protocol["full_check"] else min(n, protocol["checked_rows"])
    items, rows = (n + m, 1) if cell.problem == "sssp" else (n * n, checked)
    return BASE_MB + math.ceil(((cell.host_bytes or BYTES[cell.problem]) * items + 4 * n * rows) / 1e6)


def partition(on_gpu: bool) -> str | None:
    """The cluster's partition for a job, as slurm/config.yaml has it; None for the cluster's default."""
    return os.environ.get("GPU_PARTITION" if on_gpu else "CPU_PARTITION") or None


def gpu_model(on_gpu: bool) -> str | None:
    """The model of GPU that a job asks a cluster for, as slurm/config.yaml has it; None for any, and for no GPU."""
    return (on_gpu and os.environ.get("GPU_MODEL")) or None


def _size(config: dict, dataset: str) -> tuple[int, int]:
    """Vertices and arcs."""
    return config["datasets"][dataset]["vertices"], config["datasets"][dataset]["arcs"]


# What to do where Slurm ended a job, by the state that it reports.
ADVICE = {
    "TIMEOUT": "ran into its time limit: raise it with --set-resources measure:runtime=MINUTES",
    "OUT_OF_MEMORY": "ran out of memory: raise it with --set-resources measure:mem_mb=MEGABYTES",
    "NODE_FAIL": "lost its node: give the same command again",
    "CANCELLED": "was cancelled: give the same command again",
}
FAILED = re.compile(
    r"SLURM-job '(\S+)' failed.*? status is: '(\w+)'.*?output: ([^\s,]+).*?log: .*?(\S+) \(check", re.DOTALL
)


def advice(log: str) -> list[str]:
    """What Snakemake's log says of jobs that Slurm ended: a line each, with what to do next."""
    lines = []
    for job, state, output, slurm_log in FAILED.findall(log):
        # Not every Slurm calls it OUT_OF_MEMORY; what it writes into the job's own log is clearer.
        if Path(slurm_log).exists() and re.search("oom.kill|memory limit", Path(slurm_log).read_text()):
            state = "OUT_OF_MEMORY"
        if state in ADVICE:
            lines.append(f"{output}: Slurm's job {job} {ADVICE[state]}")
    return lines
