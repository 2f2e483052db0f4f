"""Somebody's program, measured in the same job as ours: the entries of `external` in config.yaml.

Each of an entry's variants stands beside one of ours, and its rows are named after that and the program:
bellman_ford/naive@bodra. The program runs in a process of its own, without a shell; it reads the graph's text form, and
says itself how long it took. Its distances are checked like ours where it gives them, else its rows say "unchecked".
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import signal
import string
import subprocess
import tempfile
import warnings
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

from kernels.errors import InputError, TimeLimit
from kernels.graph import INF, Graph
from kernels.run import Result, Run
from kernels.variants import VARIANTS, Variant
from workflow.lib import batches, digests, measurements, plan

FIELDS = ("graph", "source", "variant", "distances")  # what may stand in braces in a command
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
SAID_LINES, SAID_LETTERS = 5, 500  # of a program's output, in a message


class Program:
    """One variant of somebody's program, as the function of a Variant.

    name: the program's. beside: the variant of ours, algorithm/variant. entry: of `external`, which check has passed.
    text: the graph's text form.
    Raises InputError where there is no such program.
    """

    def __init__(self, name: str, beside: str, entry: Mapping, text: Path):
        self.key, self.entry, self.text = f"{beside}@{name}", entry, text
        self.variant = entry["variants"][beside] or ""
        self.distances = entry.get("distances")
        self.gives_distances = self.distances is not None
        self.executable = executable(f"config: external.{name}.command", entry, self.variant)
        self.code = self._code()
        self._said = ""

    def _code(self) -> str:
        """A digest of what is run and read; files that the command names count by their bytes, not by their paths."""
        command = [digests.digest(self.executable.read_bytes())]
        for text in self.entry["command"][1:]:
            path = ""
            if _fields(text) <= {"variant"}:
                path = os.path.join(self.entry.get("folder", os.sep), text.format(variant=self.variant))
            command.append(digests.digest(Path(path).read_bytes()) if os.path.isfile(path) else text)
        rest = [self.entry.get(key) for key in ("time", "unit", "distances", "gpu")]
        return digests.digest(json.dumps([command, self.variant, rest]).encode())

    def about(self) -> dict:
        """What a record says of it: its entry, and what stands for {variant}."""
        return {key: value for key, value in self.entry.items() if key != "variants"} | {"variant": self.variant}

    def said(self) -> str:
        return f"its output ends: {self._said}" if self._said else "it printed nothing"

    def __call__(self, graph: Graph, result: Result, run: Run) -> None:
        """Run it on the text form, whatever graph is; set run's seconds, and result's distances where they can be read.

        Raises TimeLimit after run.limit_s, by which it and all that it started are ended; InputError where it fails or
        its output is not as the entry says.
        """
        with tempfile.TemporaryDirectory() as folder:
            written = Path(folder, "distances")
            values = {
                "graph": self.text.absolute(),
                "source": run.source,
                "variant": self.variant,
                "distances": written,
            }
            command = [str(self.executable), *(text.format(**values) for text in self.entry["command"][1:])]
            run.started = datetime.now(UTC).isoformat(timespec="seconds")
            printed = self._printed(command, Path(folder), run.limit_s, graph.name)
            run.seconds = run.phases["kernels"] = self._seconds(printed, graph.name)
            if self.gives_distances:
                found = self._read(printed, written, result.distances.size, run.source, graph.name)
                result.distances[...] = found.reshape(result.distances.shape)

    def _printed(self, command: list[str], folder: Path, limit_s: float, dataset: str) -> str:
        """Run it; what it wrote to stdout."""
        paths = folder / "stdout", folder / "stderr"
        own = folder / "empty"
        own.mkdir()
        with open(paths[0], "wb") as out, open(paths[1], "wb") as err:
            try:
                process = subprocess.Popen(
                    command,
                    cwd=self.entry.get("folder", own),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                )
            except OSError as error:
                raise self._failure(dataset, f"it cannot be run ({error.strerror})") from None
            try:
                process.wait(limit_s)
            except subprocess.TimeoutExpired:
                raise TimeLimit(limit_s) from None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # its group: also what it left running
                process.wait()
        printed, complained = (path.read_text(encoding="utf-8", errors="replace") for path in paths)
        lines = [line.strip() for text in (printed, complained) for line in text[-SAID_LETTERS:].splitlines()]
        self._said = " | ".join(filter(None, lines[-SAID_LINES:]))[-SAID_LETTERS:]
        if process.returncode:
            ended = f"exit status {process.returncode}" if process.returncode > 0 else f"signal {-process.returncode}"
            raise self._failure(dataset, f"it ended with {ended}")
        return printed

    def _seconds(self, printed: str, dataset: str) -> float:
        found = re.findall(self.entry["time"], printed, re.MULTILINE)
        if len(found) != 1:
            raise self._failure(dataset, f"`time`, {self.entry['time']!r}, matches {len(found)} times, and must once")
        with suppress(ValueError):
            if math.isfinite(seconds := float(found[0]) * SECONDS[self.entry["unit"]]) and seconds > 0:
                return seconds
        raise self._failure(dataset, f"its time, {found[0]!r}, is no number above 0")

    def _read(self, printed: str, written: Path, size: int, source: int, dataset: str) -> np.ndarray:
        """int64, (size,): the distances."""
        if pattern := self.distances.get("pattern"):
            found = self._matched(pattern, printed, size, source, dataset)
        else:
            found = self._of_file(written, dataset)
            if len(found) != size:
                raise self._failure(dataset, f"it wrote {len(found):,} distances, and there are {size:,}")
        if len(wrong := np.flatnonzero((found < 0) | (found > INF))):
            raise self._failure(
                dataset, f"it gave the distance {found[wrong[0]]}: say in distances.unreachable what stands for no path"
            )
        return found

    def _matched(self, pattern: str, printed: str, size: int, source: int, dataset: str) -> np.ndarray:
        """What the pattern finds; a vertex that is not printed cannot be reached, but the source, which is at 0."""
        found, unreachable = np.full(size, INF, np.int64), self.distances.get("unreachable")
        found[source] = 0
        seen = set()
        for match in re.finditer(pattern, printed, re.MULTILINE):
            vertex, distance = match.groups()
            try:
                number = int(vertex)
                if not 0 <= number < size or number in seen:
                    raise ValueError
                found[number] = INF if distance == unreachable else int(distance)
            except (TypeError, ValueError, OverflowError):
                raise self._failure(dataset, f"no distance of a vertex, once: {match.group()!r}") from None
            seen.add(number)
        return found

    def _of_file(self, written: Path, dataset: str) -> np.ndarray:
        """The whole numbers of the file that it wrote."""
        if not written.is_file():
            raise self._failure(dataset, "it wrote no file {distances}")
        data = written.read_bytes()
        if unreachable := self.distances.get("unreachable"):
            data = re.sub(rb"(?<!\S)" + re.escape(unreachable.encode()) + rb"(?!\S)", b"%d" % INF, data)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", DeprecationWarning)
                return np.fromstring(data, np.int64, sep=" ")
        except (DeprecationWarning, ValueError):
            raise self._failure(dataset, "what it wrote to {distances} is not all whole numbers") from None

    def _failure(self, dataset: str, what: str) -> InputError:
        return InputError(
            f"{self.key} on {dataset}: {what}: correct its entry under `external`, or the program; {self.said()}"
        )


def executable(where: str, entry: Mapping, variant: str) -> Path:
    """The file that an entry's command runs for a variant of it. Raises InputError, which says where, without one."""
    name = entry["command"][0].format(variant=variant)
    if not (found := shutil.which(name)):
        raise InputError(f"{where}: there is no program {name!r} that may be executed: build it, or correct its path")
    return Path(found).absolute()


def of_job(config: Mapping, problem: str, dataset: str) -> dict[str, dict]:
    """By program's name the entries that run in this job, with those variants beside which the job has ours."""
    held = {f"{cell[0]}/{cell[1]}" for cell in plan.jobs(config).get((problem, dataset), [])}
    found = {}
    for name, entry in config["external"].items():
        chosen = {beside: own for beside, own in entry["variants"].items() if beside in held}
        if dataset in entry["datasets"] and chosen:
            found[name] = {key: value for key, value in entry.items() if key != "datasets"} | {"variants": chosen}
    return found


def variants(entries: Mapping[str, Mapping], text: Path) -> dict[Variant, str]:
    """The programs' variants, each with the key of ours that it stands beside. entries: as of_job gives them.

    text: the text form of the job's graph. Raises InputError where there is no such program.
    """
    found = {}
    for name, entry in entries.items():
        for beside in entry["variants"]:
            ours, program = VARIANTS[beside], Program(name, beside, entry, text)
            variant = Variant(
                algorithm=ours.algorithm,
                name=f"{ours.name}@{name}",
                title=name,
                problem=ours.problem,
                function=program,
                launches=lambda vertices, tile: 0,
                family="external",
                device="gpu" if entry["gpu"] else "cpu",
                parallel=True,
                program=program,
            )
            found[variant] = beside
    return found


def codes(entries: Mapping[str, Mapping]) -> list[str]:
    """Digests of the programs' variants. entries: as of_job gives them. Raises as variants does."""
    return [variant.program.code for variant in variants(entries, Path())]


def check(config: Mapping) -> None:
    """Raise InputError for an entry, each key of it valid by itself, that cannot be measured."""
    for name, entry in config["external"].items():
        where = f"config: external.{name}"
        if unknown := [key for key in entry["variants"] if key not in VARIANTS]:
            raise InputError(f"{where}.variants: ours has no {unknown[0]!r}: choose from {', '.join(VARIANTS)}")
        for dataset in entry["datasets"]:
            if dataset not in config["datasets"]:
                raise InputError(f"{where}.datasets: {plan.no_dataset(config, dataset)}")
        _check_jobs(where, config, name, entry)
        _check_command(where, entry)
        _check_pattern(f"{where}.time", entry["time"], "the time")
        if pattern := entry.get("distances", {}).get("pattern"):
            _check_pattern(f"{where}.distances.pattern", pattern, "a vertex", "its distance")
        if not Path(folder := entry.get("folder", ".")).is_dir():
            raise InputError(f"{where}.folder: there is no folder {folder!r}: make it, or correct its path")
        for variant in entry["variants"].values():
            executable(f"{where}.command", entry, variant or "")


def _check_jobs(where: str, config: Mapping, name: str, entry: Mapping) -> None:
    """Whether each dataset and each variant has a job in which the program stands beside ours."""
    jobs = [(problem, dataset) for problem in ("sssp", "apsp") for dataset in entry["datasets"]]
    held = {job: of_job(config, *job).get(name, {"variants": {}})["variants"] for job in jobs}
    what = "tables, gpu, cpu and skip of a dataset and protocol.once say what a job has"
    for dataset in entry["datasets"]:
        if not any(held[job] for job in jobs if job[1] == dataset):
            raise InputError(f"{where}.datasets: no job has {' or '.join(entry['variants'])} on {dataset}: {what}")
    for beside in entry["variants"]:
        if not any(beside in found for found in held.values()):
            raise InputError(f"{where}.variants: no job has {beside} on {', '.join(entry['datasets'])}: {what}")


def _check_command(where: str, entry: Mapping) -> None:
    command, distances, own = entry["command"], entry.get("distances"), entry["variants"]
    try:
        used = [_fields(text) for text in command]
    except ValueError as error:
        raise InputError(f"{where}.command: {error}: write {{{{ and }}}} for braces") from None
    named = set().union(*used)
    if unknown := named - set(FIELDS):
        valid = ", ".join(f"{{{field}}}" for field in FIELDS)
        raise InputError(
            f"{where}.command: {{{min(unknown)}}} is no field: choose from {valid}, or write {{{{ and }}}}"
        )
    if used[0] - {"variant"}:
        raise InputError(f"{where}.command: {command[0]!r} names the program: only {{variant}} may stand in it")
    if "graph" not in named:
        raise InputError(f"{where}.command: has no {{graph}}, which is the path of the graph's text form")
    if "variant" in named and None in own.values():
        raise InputError(f"{where}.variants: has no value for {{variant}}, which is in command")
    if len(own) > 1 and "variant" not in named:
        raise InputError(f"{where}.command: has no {{variant}}, and `variants` names {len(own)}: name one, or add it")
    in_file, pattern = "distances" in named, (distances or {}).get("pattern")
    if in_file and (distances is None or pattern):
        raise InputError(f"{where}.distances: must be there without `pattern`, since command has {{distances}}")
    if distances is not None and not in_file and not pattern:
        raise InputError(f"{where}.distances: needs a `pattern`, or {{distances}}, a file's path, in command")
    if pattern and (pairs := [key for key in own if VARIANTS[key].problem == "apsp"]):
        raise InputError(
            f"{where}.distances.pattern: is for one source, and {pairs[0]} is all pairs: take {{distances}}"
        )


def _fields(text: str) -> set[str]:
    """The names in braces in an argument. Raises ValueError for a brace that is none of a pair."""
    found = set()
    for _, name, form, conversion in string.Formatter().parse(text):
        if name is not None:
            found.add(name + (f"!{conversion}" if conversion else "") + (f":{form}" if form else ""))
    return found


def _check_pattern(where: str, pattern: str, *groups: str) -> None:
    """Whether it is a regular expression with a group for each of these."""
    try:
        found = re.compile(pattern).groups
    except re.error as error:
        raise InputError(f"{where}: {pattern!r} is no regular expression: {error}") from None
    if found != len(groups):
        raise InputError(f"{where}: {pattern!r} has {found} groups: it needs {len(groups)}, for {' and '.join(groups)}")


def beside(rows: pd.DataFrame) -> pd.DataFrame:
    """Somebody's programs beside ours: a row a program, variant of ours, dataset and batch that has both.

    rows: as measurements.pooled gives them.
    column (algorithm/variant, ours), program (its name), dataset, batch; ours, theirs: medians over the batch's
    rounds (s); ratio: ours over theirs, below 1 where ours is faster; rounds, the fewer of both; checked (bool):
    whether all of the program's distances that were due were compared; card_uuid, host_id: where the job ran.
    Raises InputError where a batch's two are of different cards or hosts.
    """
    found = batches.medians(rows)
    theirs = rows[measurements.external(rows) & (rows["status"] == "ok")]
    checked = (
        (theirs["rows_checked"] > 0).groupby([measurements.variants(theirs), theirs["dataset"], theirs["batch"]]).all()
    )
    cells = theirs.assign(column=measurements.ours(theirs), key=measurements.variants(theirs))
    parts = []
    for column, key, dataset in cells[["column", "key", "dataset"]].drop_duplicates().itertuples(index=False):
        both = batches.pairs(found, column, key, dataset)
        both = both.rename(columns={"left": "ours", "right": "theirs"}).rename_axis("batch").reset_index()
        both = both.assign(column=column, program=key.rpartition("@")[2], dataset=dataset)
        both["ratio"] = both["ours"] / both["theirs"]
        both["checked"] = [bool(checked[key, dataset, batch]) for batch in both["batch"]]
        parts.append(both[BESIDE])
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=BESIDE)


BESIDE = [
    *("column", "program", "dataset", "batch", "ours", "theirs", "ratio", "rounds", "checked", "card_uuid", "host_id"),
]


def unchecked(rows: pd.DataFrame) -> list[str]:
    """A sentence that names the programs' cells whose distances could not be read, if there are any."""
    found = rows[measurements.external(rows) & (rows["status"] == "ok") & (rows["rows_checked"] == 0)]
    cells = ", ".join(dict.fromkeys(measurements.variants(found) + " on " + found["dataset"]))
    return [f"Unchecked, since the program gives no distances: {cells}."] if cells else []
