"""Check config.yaml: by its schema, and what a schema cannot say. Set the environment of jobs."""

import json
import math
import os
import sys
from collections.abc import Iterable
from datetime import date
from fnmatch import fnmatch
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator, ValidationError, validators

from kernels import generate
from kernels.errors import InputError
from kernels.io import TEXT_FORMS
from kernels.registry import ALGORITHMS, VARIANTS
from workflow.data.download import check_sources, raw_name
from workflow.plan import conditions, experiments, result_paths
from workflow.plan.protocol import Protocol
from workflow.store import measurements

ROOT = result_paths.ROOT
DEFAULTS = ROOT / "config.yaml"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's, if installed: ten times as fast
MOST_LEVELS = 50  # of lists and mappings in each other
MOST_REPEATED = 100_000  # values that aliases may add to those that are written
# JSON Schema takes 2.0 for an integer, which range and Slurm refuse, and NaN for a number.
_TYPES = Draft202012Validator.TYPE_CHECKER.redefine_many(
    {
        "integer": lambda _, value: type(value) is int,
        "number": lambda _, value: type(value) in (int, float) and math.isfinite(value),
    }
)
SCHEMA = yaml.load((ROOT / "workflow" / "schemas" / "config.schema.yaml").read_bytes(), _LOADER)
SCHEMA["properties"]["datasets"]["additionalProperties"]["properties"]["format"]["enum"] = [*TEXT_FORMS, "random"]
_PROTOCOL = SCHEMA["properties"]["protocol"]
_PROTOCOL["required"] += Protocol.schema()
_PROTOCOL["properties"] = Protocol.schema() | _PROTOCOL["properties"]
_VALIDATOR = validators.extend(Draft202012Validator, type_checker=_TYPES)(SCHEMA)


def complete(config: dict) -> None:
    """Add the project's config.yaml to the given keys, which replace the same keys of the file."""
    from snakemake.utils import update_config  # takes a second, which only Snakemake has spent already

    given = dict(config)
    config.clear()
    config |= yaml.load(DEFAULTS.read_bytes(), _LOADER)
    update_config(config, given)


def check_config(config: dict) -> None:
    """Raise InputError for the first key or value that is not valid, with the valid ones."""
    for error in sorted(_VALIDATOR.iter_errors(config), key=lambda e: list(map(str, e.path))):
        raise InputError(f"config: {_said(error)}")
    _check_patterns("protocol.once", config["protocol"]["once"])
    for dataset, entry in config["datasets"].items():
        experiments.cells_of(config, [dataset])
        _check_entry(f"datasets.{dataset}", entry)
    for name, entry in raw_entries(config).items():
        check_sources(name, entry, config["archives"])
    _check_names(config)
    _check_named_datasets(config)
    if conditions.why_simulated(config) and not result_paths.measured_here():
        _check_archive(config)


def check_batch(name: str) -> None:
    """Raise InputError if `protocol.batch` may not have this value."""
    schema = _VALIDATOR.schema["properties"]["protocol"]["properties"]["batch"]
    for error in _VALIDATOR.evolve(schema=schema).iter_errors(name):
        if error.validator == "pattern":  # not maxLength: the number in NAME-2 may exceed it
            raise InputError(f"batch: {_advice(error)}")


def _said(error: ValidationError) -> str:
    """Return where a value is not valid, what is wrong, and what to do."""
    where = ".".join(map(str, error.absolute_path)) or "the top level"
    if error.validator != "additionalProperties":
        return f"{where}: {_advice(error)}"
    valid = error.schema["properties"]
    unknown = ", ".join(repr(key) for key in error.instance if key not in valid)
    return f"unknown key {unknown} at {where}: choose from {', '.join(valid)}"


def _advice(error: ValidationError) -> str:
    """Return what is wrong with a value, and what to do."""
    value, types = error.instance, error.schema.get("type", ())
    types = {types} if isinstance(types, str) else set(types)
    if error.validator == "pattern":
        return f"{value!r} must be {error.schema['$comment']}"
    if error.validator == "type" and isinstance(value, str) and types & {"integer", "number", "boolean"}:
        return f"{error.message}: --config passes text only: write numbers, true and false into a file for --configfile"
    if error.validator == "type" and "string" in types and isinstance(value, int | float | date):
        return f"{value} is not a text: put it in quotes"
    if error.validator == "uniqueItems":
        return f"{_duplicate(value)!r} is listed twice: delete one"
    if error.validator == "maximum":
        return f"{value} is above the limit of {error.validator_value}: lower it"
    return error.message


def _check_patterns(where: str, patterns: list[str]) -> None:
    """Raise InputError for a pattern that matches no variant."""
    for pattern in patterns:
        if not any(fnmatch(key, pattern) for key in VARIANTS):
            raise InputError(f"config: {where}: {pattern!r} matches no variant: choose from {', '.join(VARIANTS)}")


def _check_entry(where: str, entry: dict) -> None:
    """Raise InputError for keys of a dataset's entry that exclude each other."""
    form = entry["format"]
    if unfit := {"sources" if form == "random" else "generate"} & set(entry):
        why = f"not allowed for format {form}: a random graph is generated, all others have sources"
        raise InputError(f"config: {where}.{unfit.pop()}: {why}")
    kind = generate.kind_of(entry)
    if not kind and (options := set(generate.OPTIONS.values()) & set(entry.get("generate", ()))):
        raise InputError(f"config: {where}.generate: {min(options)} is an option of a kind: name the kind")
    if kind:
        _check_family(f"config: {where}", kind, entry)
    if "family" in entry and not kind:
        raise InputError(f"config: {where}.family: only a generated graph of a kind is in a family: delete it")
    shown = entry.get("tables", {})
    if shown and (kind or entry.get("by_name")) and not entry.get("family", kind):
        raise InputError(f"config: {where}.tables: a graph that only its name makes needs a family to be in a table")
    if twice := set(shown.get("sssp", [])) & set(shown.get("apsp", [])) - {"table7"}:
        raise InputError(f"config: {where}.tables: {min(twice)} is under sssp and apsp: list it under one of them")
    weights = entry.get("weights")
    if weights and weights["min"] > weights["max"]:
        said = f"min {weights['min']} is above max {weights['max']}: lower min or raise max"
        raise InputError(f"config: {where}.weights: {said}")
    _check_patterns(f"{where}.skip", entry.get("skip", []))


def _check_family(where: str, kind: str, entry: dict) -> None:
    """Raise InputError if the entry is no graph of this family, or a table shows it that shows no family."""
    option = {name: value for name, value in entry["generate"].items() if name not in ("kind", "seed")}
    if "skew" in option:
        raise InputError(f"{where}.generate: kind and skew exclude each other: delete one")
    directed = kind in generate.DIRECTED
    if directed and not entry.get("directed", True):
        raise InputError(f"{where}: family {kind} is directed: set directed to true")
    if not directed and (entry.get("directed", True) or entry["arcs"] % 2):
        raise InputError(
            f"{where}: family {kind} has each arc in both directions: set directed to false, and arcs to an even number"
        )
    if kind == "geometric" and "weights" in entry:
        raise InputError(f"{where}.weights: the weights of family {kind} are lengths: delete them")
    try:
        generate.check_parameters(kind, entry["vertices"], entry["arcs"] // (2 - directed), **option)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    if others := {name for names in entry.get("tables", {}).values() for name in names} - {"table6"}:
        raise InputError(f"{where}.tables: {min(others)} cannot show a dataset of a family: only table6 can")


def raw_entries(config: dict) -> dict[str, dict]:
    """Return the entries of all datasets, and like them those of their coordinates, as "nyc.coordinates"."""
    entries = dict(config["datasets"])
    for dataset, entry in config["datasets"].items():
        if coordinates := entry.get("coordinates"):
            entries[f"{dataset}.coordinates"] = {"format": "dimacs", **coordinates}
    return entries


def _check_names(config: dict) -> None:
    """Raise InputError if two files of resources/raw/, or a dataset and a variant, have the same name."""
    files = {(name, *entry["sources"]) for entry in raw_entries(config).values() if (name := raw_name(entry))}
    raws = sorted(name for name, *_ in files)  # datasets of the same sources share a file
    if name := _duplicate(raws):
        said = f"two datasets have a source called {name}, but resources/raw/ needs distinct names"
        raise InputError(f"config: {said}: choose another source for one of them")
    if clash := set(config["datasets"]) & {*ALGORITHMS, *(v.name for v in VARIANTS.values())}:
        raise InputError(f"config: dataset {', '.join(clash)} has the name of an algorithm or variant: rename it")


def _check_named_datasets(config: dict) -> None:
    """Raise InputError if a sweep, or all pairs, names an unknown dataset."""
    named = {"all_pairs.datasets": config["all_pairs"]["datasets"]}
    for name, options in config["sweeps"].items():
        key = "dataset" if "dataset" in options else "datasets"
        named[f"sweeps.{name}.{key}"] = [options[key]] if key == "dataset" else options[key]
    for key, datasets in named.items():
        for dataset in datasets:
            if dataset not in config["datasets"]:
                raise InputError(f"config: {key}: {experiments.no_dataset(config, dataset)}")


def _check_archive(config: dict) -> None:
    """Raise InputError if the archive that is drawn without a GPU does not exist."""
    named, *others = result_paths.archives(config)
    if not measurements.files(named):
        names = ", ".join(Path(folder).name for folder in others)
        raise InputError(
            f"config: archive: nothing was measured here, and there is nothing in {named}/ to draw instead: name one "
            f"of those in results/archive/, which are {names or 'none'}"
        )


def check_arguments(words: Iterable[str]) -> None:
    """Check config.yaml, and what Snakemake reads before the Snakefile: the files and values among its arguments."""
    option = ""
    for word in (result_paths.of_project("config.yaml"), *words):
        option = word if word.startswith("-") else option
        if option in ("--configfile", "--configfiles") and word != option and not Path(word).is_file():
            said = "correct the path" if Path(word).suffix else f"name a target first: snakemake {word} {option} FILE"
            raise InputError(f"{option}: {word}: no such file (all words after {option} are files): {said}")
        name, equals, value = word.partition("=")  # --configfile=FILE, or KEY=VALUE after --config
        path = Path(value if equals else name)
        if path.suffix in (".yaml", ".yml", ".json"):
            if path.is_file():
                check_keys(path)
        elif equals:
            _check_extent(value, name)


def check_keys(path: Path | str) -> None:
    """Raise InputError for a file of YAML or JSON that is not UTF-8, expands too far or has a duplicate key.

    Of two equal keys of a mapping only the second would count.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 (byte {error.start}): save it as UTF-8") from None
    _check_extent(text, path)
    try:
        nodes = [yaml.compose(text, _LOADER)]
    except yaml.YAMLError:  # JSON with tabs, which Snakemake takes too
        return
    seen = set()
    while nodes:
        node = nodes.pop()
        if id(node) in seen:  # by an alias
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            keys = set()
            for key, value in node.value:
                name = key.value if isinstance(key, yaml.ScalarNode) else id(key)
                if name in keys:
                    where = f"{path}, line {key.start_mark.line + 1}"
                    raise InputError(f"{where}: duplicate key {name}: delete one")
                keys.add(name)
                nodes.append(value)
        elif isinstance(node, yaml.SequenceNode):
            nodes += node.value


def _check_extent(text: str, where: Path | str) -> None:
    """Raise InputError for YAML or JSON with too many levels, or with aliases that repeat too many values.

    Reads the text once, without building its values.
    """
    sizes: dict[str | None, int] = {}  # values of each anchor that has ended, with those that aliases repeat
    unfinished: list[tuple[str | None, int]] = [(None, 0)]  # anchor and values so far of each collection
    written = 0  # values in the text
    try:
        for event in yaml.parse(text, _LOADER):
            at = f"{where}, line {event.start_mark.line + 1}"
            if isinstance(event, yaml.CollectionStartEvent):
                if len(unfinished) > MOST_LEVELS:
                    raise InputError(f"{at}: more than {MOST_LEVELS} levels: make it flatter")
                unfinished.append((event.anchor, 1))
                written += 1
                continue
            if isinstance(event, yaml.CollectionEndEvent):
                anchor, size = unfinished.pop()
            elif isinstance(event, yaml.ScalarEvent):
                anchor, size = event.anchor, 1
                written += 1
            elif isinstance(event, yaml.AliasEvent):
                anchor = event.anchor
                if anchor in [name for name, _ in unfinished]:
                    raise InputError(f"{at}: *{anchor} is inside the value of &{anchor}, which has no end: delete it")
                size = sizes.get(anchor, 1)
            else:
                continue
            above, so_far = unfinished[-1]
            if so_far + size > written + MOST_REPEATED:
                raise InputError(f"{at}: aliases repeat more than {MOST_REPEATED:,} values: use fewer")
            sizes[anchor] = size
            unfinished[-1] = above, so_far + size
    except yaml.YAMLError:
        try:
            json.loads(text)
        except RecursionError:
            raise InputError(f"{where}: more than {MOST_LEVELS} levels: make it flatter") from None
        except ValueError:  # neither YAML nor JSON, which Snakemake says
            pass


def _duplicate(values: list):
    """Return the first value that occurs a second time; None if there is none."""
    return next((value for number, value in enumerate(values) if value in values[:number]), None)


def prepare_environment(*, simulating: bool) -> None:
    """Let jobs find this Python and the project's packages, and use the simulator if wanted."""
    for name, first in (("PATH", Path(sys.executable).parent), ("PYTHONPATH", ROOT)):
        os.environ[name] = os.pathsep.join(filter(None, (str(first), os.environ.get(name))))
    if simulating:
        os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
