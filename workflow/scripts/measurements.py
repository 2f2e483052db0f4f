"""Measurements and the paper's numbers, and what must be said under a table or figure of them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from kernels.errors import InputError

TIMES = ("seconds", "copy_in_s", "kernels_s", "predecessors_s", "copy_out_s")
COLUMNS = (
    *("algorithm", "variant", "problem", "dataset", "repeat", "status", *TIMES, "launches"),
    *("vertices", "arcs", "source", "rows_checked", "device", "driver", "cuda", "numba_cuda", "numba"),
    *("numpy", "commit", "dataset_sha256", "started", "host", "note"),
)
NUMBERS = (*TIMES, "repeat", "launches", "vertices", "arcs", "source", "rows_checked")
CELL = ["algorithm", "variant", "dataset"]
CLOCKS = ("clock_before_mhz", "clock_after_mhz", "clock_max_mhz")
CARD = (*CLOCKS, "throttling")
STATUSES = ("ok", "timeout", "no_memory")
PAPER = Path(__file__).parents[1] / "paper"
STAND_IN = "stand-in:"
CORES = "cores:"
GENERATED = "generated:"


def columns_with(settings: Iterable[str]) -> tuple[str, ...]:
    """The columns of a sweep's CSV, by what it changes."""
    return tuple(dict.fromkeys([*COLUMNS, *settings]))


def load(paths: Iterable[Path | str], settings: Sequence[str] = ()) -> pd.DataFrame:
    """The rows of measurement CSVs, one a repeat: NUMBERS and settings as float64 (NaN where empty), the rest str.

    settings: a sweep's columns, its own after the others; a cell is then measured once for each of their values.
    To them come the columns CARD: clocks (float64, NaN where not recorded) and reasons for throttling (str, empty
    where there is none), from the record beside each file.
    Raises InputError where a file is none, a row is simulated or does not hold together, a repeat is there twice, or
    the repeats of a cell differ in status, device or graph.
    """
    cell = [*CELL, *settings]
    empty = pd.DataFrame(columns=[*columns_with(settings), *CARD], dtype=str).astype(
        dict.fromkeys([*NUMBERS, *settings, *CLOCKS], float)
    )
    frames = [_read(path, tuple(settings)) for path in paths]
    rows = pd.concat([frame for frame in frames if len(frame)] or [empty])
    twice = rows.duplicated([*cell, "repeat"])
    _refuse(rows, twice, "this repeat of the cell was read before: give each measurement once")
    for column in ("status", "device", "vertices", "arcs", "dataset_sha256"):
        differs = rows.groupby(cell)[column].transform("nunique") > 1
        _refuse(rows, differs, f"the cell's rows differ in {column}: measure the cell again")
    return rows.reset_index(drop=True)


def _read(path: Path | str, settings: tuple[str, ...]) -> pd.DataFrame:
    """One file's rows, indexed by "path, line n"."""
    columns = columns_with(settings)
    try:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            header = tuple(reader.fieldnames or ())
            records = {f"{path}, line {reader.line_num}": record for record in reader}
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}: measure first, or leave the file out") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV file of measurements ({error})") from None
    if header != columns:
        raise InputError(
            f"{path}: not measurements: its first line must be {','.join(columns)}; delete the file and measure again"
        )
    for line, record in records.items():
        if None in record or None in record.values():
            raise InputError(f"{line}: not {len(columns)} values: delete the file and measure again")
    rows = pd.DataFrame.from_dict(records, orient="index", columns=columns, dtype=str)
    _refuse(rows, rows["status"] == "simulated", "a simulated run is no measurement: leave the file out")
    _refuse(rows, ~rows["status"].isin(STATUSES), f"unknown status: it must be one of {', '.join(STATUSES)}")
    for column in (*NUMBERS, *settings):
        text = rows[column]
        rows[column] = pd.to_numeric(text.mask(text == ""), errors="coerce").astype(float)
        _refuse(rows, (text != "") & ~np.isfinite(rows[column]), f"{column} is not a number")
    for column in ("vertices", "arcs", *settings):
        _refuse(rows, rows[column].isna(), f"{column} is empty")
    ok = rows["status"] == "ok"
    _refuse(rows, ok & ~(rows["seconds"] > 0), "seconds of a row that is ok must be above 0")
    _refuse(rows, ~ok & rows[list(TIMES)].notna().any(axis=1), "only a row that is ok has times")
    cards = _cards(Path(path))
    cell = variants(rows) + "/" + rows["dataset"]
    for column, unknown in zip(CARD, (np.nan, np.nan, np.nan, ""), strict=True):
        rows[column] = [cards.get(name, {}).get(column, unknown) for name in cell]
    return rows


def _cards(path: Path) -> dict[str, dict]:
    """What the record beside a file says of the card, by "algorithm/variant/dataset"; nothing where there is none."""
    record = path.with_name("provenance.json") if path.name == "timings.csv" else path.with_suffix(".json")
    if not record.exists():
        return {}
    try:
        said = json.loads(record.read_text(encoding="utf-8"))
        records = said if record.name == "provenance.json" else {"/".join(said[key] for key in CELL): said}
        return {cell: _card(entry["card"]) for cell, entry in records.items() if entry.get("card")}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{record}: no record of what was run ({error!r}): delete {path} and measure again") from None


def _card(card: dict) -> dict:
    before, after = card["before"], card["after"]
    return {
        "clock_before_mhz": float(before["sm_clock_mhz"]),
        "clock_after_mhz": float(after["sm_clock_mhz"]),
        "clock_max_mhz": float(after["max_sm_clock_mhz"]),
        "throttling": ", ".join(dict.fromkeys(before["throttling"] + after["throttling"])),
    }


def _refuse(rows: pd.DataFrame, wrong: pd.Series, message: str) -> None:
    """Raise InputError for the first row that is wrong."""
    for line, row in rows[wrong].iterrows():
        cell = f"{row.algorithm}/{row.variant} on {row.dataset}"
        raise InputError(f"{line} ({cell}, status {row.status!r}): {message}")


def variants(rows: pd.DataFrame) -> pd.Series:
    """What each row is of: algorithm/variant."""
    return rows["algorithm"] + "/" + rows["variant"]


def select(rows: pd.DataFrame, columns: Sequence[str], datasets: Sequence[str]) -> pd.DataFrame:
    """The rows of columns (each algorithm/variant) on datasets.

    Raises InputError where a dataset was not the same graph for all of them: no two of its times compare.
    """
    chosen = rows[variants(rows).isin(columns) & rows["dataset"].isin(datasets)]
    for dataset, group in chosen.groupby("dataset"):
        if group[["vertices", "arcs", "dataset_sha256"]].drop_duplicates().shape[0] > 1:
            graphs = group["dataset_sha256"].str[:12].groupby(variants(group), sort=False)
            cells = ", ".join(f"{variant} on {sha256}" for variant, sha256 in graphs.first().items())
            raise InputError(f"{dataset} was not one graph ({cells}): measure all its variants on the same data")
    return chosen


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """One row a cell, indexed by (algorithm/variant, dataset).

    status, device, note (items joined by "; "), vertices, arcs; of `seconds` median, min, max (s, NaN unless
    status is ok) and repeats; of the phases kernels and predecessors the median (s).
    """
    column = variants(rows).rename("column")
    return rows.groupby([column, "dataset"], sort=False).agg(
        status=("status", "first"),
        median=("seconds", "median"),
        min=("seconds", "min"),
        max=("seconds", "max"),
        repeats=("seconds", "count"),
        kernels=("kernels_s", "median"),
        predecessors=("predecessors_s", "median"),
        vertices=("vertices", "first"),
        arcs=("arcs", "first"),
        device=("device", "first"),
        note=("note", lambda notes: "; ".join(dict.fromkeys(items(notes)))),
    )


def items(notes: Iterable[str]) -> Iterator[str]:
    """The items of notes, which are joined by "; "."""
    return (item.strip() for note in notes for item in note.split("; ") if item.strip())


def paper_datasets() -> pd.DataFrame:
    """The paper's datasets, indexed by name: vertices, arcs, file."""
    return pd.read_csv(PAPER / "datasets.csv", index_col="dataset")


def paper_times() -> pd.DataFrame:
    """The paper's times, indexed by (algorithm/variant, dataset): seconds, text as printed.

    seconds is NaN where the paper gives only a bound (">1hr").
    """
    times = pd.read_csv(PAPER / "times.csv")
    times["seconds"] = times["seconds"].mask(times["text"].str.startswith(">"))
    times["column"] = variants(times)
    return times.set_index(["column", "dataset"])[["seconds", "text"]]


def stand_ins(rows: pd.DataFrame) -> dict[str, list[str]]:
    """For each dataset that is not the paper's: what stands in for it, and counts that differ."""
    paper = paper_datasets()
    result = {}
    for dataset, group in rows.groupby("dataset", sort=False):
        said = [item for item in dict.fromkeys(items(group["note"])) if item.startswith(STAND_IN)]
        here = group.iloc[0]
        there = paper.loc[dataset] if dataset in paper.index else here
        counts = [f"{count:,.0f}" for count in (here.vertices, here.arcs, there.vertices, there.arcs)]
        if counts[:2] != counts[2:] and not all(count in " ".join(said) for count in counts):
            said.append("{} vertices and {} arcs (in the paper {} and {})".format(*counts))
        if said:
            result[dataset] = said
    return result


def generated(rows: pd.DataFrame) -> list[str]:
    """A sentence on each dataset that was generated."""
    sentences = []
    for dataset, notes in rows.groupby("dataset", sort=False)["note"]:
        made = (item.removeprefix(GENERATED).strip() for item in items(notes) if item.startswith(GENERATED))
        sentences += [f"{dataset}.txt is generated: {how}." for how in dict.fromkeys(made)]
    return sentences


def origin(rows: pd.DataFrame, source: str, heads: dict[str, str]) -> list[str]:
    """Sentences on where the numbers come from: the source, the devices with what ran on each, what is not the paper's.

    heads: what each algorithm/variant is called.
    """
    sentences = [source]
    columns = variants(rows)
    for device, ran in columns.groupby(rows["device"], sort=False):
        names = ", ".join(dict.fromkeys(head for column, head in heads.items() if column in set(ran)))
        sentences.append(f"On {device or 'a device without name'}: {names}.")
    by_text: dict[str, list[str]] = {}
    for dataset, texts in stand_ins(rows).items():
        for text in texts:
            by_text.setdefault(text, []).append(f"{dataset}.txt")
    sentences += [f"† {', '.join(datasets)}: {text}." for text, datasets in by_text.items()]
    sentences += generated(rows)
    throttled = rows[(rows["throttling"] != "") & columns.isin(list(heads))]
    for (*variant, dataset), reasons in throttled.groupby(CELL, sort=False)["throttling"].first().items():
        sentences.append(f"{dataset}.txt, {heads['/'.join(variant)]}: the card was throttled ({reasons}).")
    return sentences


def run(rows: pd.DataFrame) -> list[str]:
    """A sentence on the commits and the days of the measurements, if there are any."""
    said = []
    if commits := sorted({commit[:12] for commit in rows["commit"] if commit}):
        said.append(f"commit {', '.join(commits)}")
    if days := sorted({started[:10] for started in rows["started"] if started}):
        said.append(" to ".join(dict.fromkeys([days[0], days[-1]])))
    return [f"Run: {'; '.join(said)}."] if said else []


def about(rows: pd.DataFrame, source: str) -> list[str]:
    """The sentences of origin, with each variant under its own name, and of run."""
    names = dict.fromkeys(variants(rows))
    return [*origin(rows, source, {name: name for name in names}), *run(rows)]
