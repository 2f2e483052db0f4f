"""Is config.yaml valid? And the environment that jobs get."""

import math
import os
import sys
from collections.abc import Iterator
from datetime import date
from fnmatch import fnmatch
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator, ValidationError, validators

from kernels import generate
from kernels.errors import InputError
from kernels.registry import ALGORITHMS, VARIANTS
from workflow import digests
from workflow.data.download import check_sources, raw_name
from workflow.measure import plan

NOT_TEXT = {"integer", "number", "boolean"}
SCHEMA = Path(__file__).parent / "schemas" / "config.schema.yaml"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's, where it is: ten times as fast
# JSON Schema takes 2.0 for an integer; range and Slurm do not.
_TYPES = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
_VALIDATOR = validators.extend(Draft202012Validator, type_checker=_TYPES)(yaml.load(SCHEMA.read_text(), _LOADER))


def check(config: dict) -> None:
    """Raise InputError for the first key or value that config.yaml may not have, and say which are valid."""
    _check_schema(config)
    _check_finite(config)
    _check_patterns("config: protocol.once", config["protocol"]["once"])
    for dataset, entry in config["datasets"].items():
        plan.cells(config, [dataset])
        _check_entry(f"config: datasets.{dataset}", entry)
        check_sources(dataset, entry, config["archives"])
        if coordinates := entry.get("coordinates"):
            check_sources(f"{dataset}.coordinates", {"format": "dimacs", **coordinates}, config["archives"])
    _check_names(config)
    _check_named_datasets(config)
    if plan.simulating(config) and not plan.measured_here():
        _check_archive(config["archive"])


def _check_schema(config: dict) -> None:
    for error in sorted(_VALIDATOR.iter_errors(config), key=lambda e: list(map(str, e.path))):
        where = ".".join(map(str, error.absolute_path)) or "the top level"
        if error.validator == "additionalProperties":
            unknown = [key for key in error.instance if key not in error.schema.get("properties", {})]
            valid = ", ".join(error.schema["properties"])
            raise InputError(f"config: unknown key {', '.join(map(repr, unknown))} at {where}: choose from {valid}")
        raise InputError(f"config: {where}: {_said(error)}")


def _check_finite(config: dict) -> None:
    for path, value in _leaves(config):
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"config: {path}: {value} is no finite number")


def _check_names(config: dict) -> None:
    """Raise InputError if two files of resources/raw/, or a dataset and a variant, have one name."""
    entries = [entry for each in config["datasets"].values() for entry in (each, each.get("coordinates") or {})]
    raws = [name for entry in entries if (name := raw_name(entry))]
    for name in {name for name in raws if raws.count(name) > 1}:
        raise InputError(f"config: two datasets have a source called {name}: resources/raw/ needs distinct names")
    if clash := set(config["datasets"]) & {*ALGORITHMS, *(v.name for v in VARIANTS.values())}:
        raise InputError(f"config: dataset {', '.join(clash)} is called like an algorithm or variant: rename it")


def _check_named_datasets(config: dict) -> None:
    """Raise InputError if a sweep, or all pairs, is of a dataset that there is not."""
    sweeps = config["sweeps"]
    named = [(f"sweeps.{name}.dataset", sweeps[name]["dataset"]) for name in ("delta", "stride")]
    for key in ("sources", "many_sources"):
        named += [(f"sweeps.{key}.datasets", name) for name in sweeps[key]["datasets"]]
    named += [("all_pairs.datasets", name) for name in config["all_pairs"]["datasets"]]
    for key, dataset in named:
        if dataset not in config["datasets"]:
            raise InputError(f"config: {key}: {plan.no_dataset(config, dataset)}")


def check_batch(name: str) -> None:
    """Raise InputError where config could not call a batch so."""
    schema = _VALIDATOR.schema["properties"]["protocol"]["properties"]["batch"]
    for error in _VALIDATOR.evolve(schema=schema).iter_errors(name):
        if error.validator == "pattern":  # the number in NAME-2 may make it too long
            raise InputError(f"batch: {_said(error)}")


def _said(error: ValidationError) -> str:
    """What is wrong with a value, and what to do."""
    value, types = error.instance, error.schema.get("type", ())
    types = [types] if isinstance(types, str) else types
    if error.validator == "pattern":
        return f"{value!r} must be {error.schema['$comment']}"
    if error.validator == "type" and isinstance(value, str) and NOT_TEXT.intersection(types):
        return f"{error.message}: --config gives text only: write numbers, true and false into a file for --configfile"
    if error.validator == "type" and "string" in types and isinstance(value, int | float | date):
        return f"{value} is no text: put it in quotes"
    if error.validator == "uniqueItems":
        twice = next(item for number, item in enumerate(value) if item in value[:number])
        return f"{twice!r} is listed twice: delete one"
    if error.validator == "maximum":
        return f"{value} is above the limit of {error.validator_value}: lower it"
    return error.message


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
    if kind := generate.kind_of(entry):
        _check_family(where, kind, entry)
    shown = entry.get("tables", {})
    if twice := set(shown.get("sssp", [])) & set(shown.get("apsp", [])):
        raise InputError(f"{where}.tables: {min(twice)} stands under sssp and apsp: a table shows a dataset once")
    weights = entry.get("weights")
    if weights and weights["min"] > weights["max"]:
        raise InputError(f"{where}.weights: min {weights['min']} is above max {weights['max']}")
    _check_patterns(f"{where}.skip", entry.get("skip", []))


def _check_family(where: str, kind: str, entry: dict) -> None:
    """Raise InputError if the entry is no graph of this family, or is shown where no family is."""
    if "skew" in entry["generate"]:
        raise InputError(f"{where}.generate: kind and skew do not go together: leave one out")
    if entry.get("directed", True) or entry["arcs"] % 2:
        raise InputError(
            f"{where}: family {kind} has each arc both ways: set directed to false, and arcs to an even number"
        )
    try:
        generate.check(kind, entry["vertices"], entry["arcs"] // 2)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    if others := {name for names in entry.get("tables", {}).values() for name in names} - {"table6"}:
        raise InputError(f"{where}.tables: {min(others)} shows no family: only table6 does")


def _check_patterns(where: str, patterns: list[str]) -> None:
    """Raise InputError for a pattern that matches no variant."""
    for pattern in patterns:
        if not any(fnmatch(key, pattern) for key in VARIANTS):
            raise InputError(f"{where}: {pattern!r} matches no variant: there are {', '.join(VARIANTS)}")


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
        nodes = [yaml.compose(Path(path).read_text(encoding="utf-8"), _LOADER)]
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


def prepare_environment(config: dict) -> None:
    """Let jobs find this Python, the project's packages, and the simulator where it is asked for."""
    for name, first in (("PATH", Path(sys.executable).parent), ("PYTHONPATH", digests.ROOT)):
        os.environ[name] = os.pathsep.join(filter(None, (str(first), os.environ.get(name))))
    if plan.simulating(config):
        os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
