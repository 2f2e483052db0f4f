"""Measurements: their files, the rows that represent a cell, and the sentences under a table or figure of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from kernels.errors import InputError
from kernels.registry import VARIANTS
from workflow.store import paper, records, revisions
from workflow.store.checked_csv import Schema, numbered, once, one_of, same
from workflow.store.columns import (
    COLUMNS,
    DEFAULTS,
    LAYOUT,
    MEASURED,
    NUMBERS,
    PREPARATION,
    RULES,
    SETTINGS,
    STATUSES,
    SWEEPS,
    Measurements,
    cell_keys,
    variants,
)

CELL = ["algorithm", "variant", "dataset"]
GRAPH = ("vertices", "arcs", "dataset_sha256")
BATCH = [*CELL, "batch"]  # a cell's rows of one job
CLOCKS = ("clock_before_mhz", "clock_after_mhz", "clock_max_mhz")
CARD = (*CLOCKS, "throttling")
SOURCES = {"sssp": "one source", "apsp": "all pairs"}  # how a problem is called
PAPER, paper_datasets, paper_times = paper.FOLDER, paper.datasets, paper.times
ADVICE = "measure the cell again, or leave the file out"


def schema(settings: Sequence[str] = (), *, simulated: bool = False) -> Schema:
    """Return the schema of a CSV of measurements.

    settings: the columns of a sweep, which measures a cell once for each of their values. simulated: whether to allow
    rows of the simulator.
    """
    cell = [*BATCH, *settings]
    rules = (
        *((one_of("status", *STATUSES, "simulated"),) if simulated else (MEASURED, one_of("status", *STATUSES))),
        *RULES,
        *(SETTINGS[name] for name in settings),
        once(*cell, "round", must="a duplicate round of the cell (rows name their batch): give each measurement once"),
        numbered("round", *cell),
        *(
            same(column, *cell, must=f"the cell's rows differ in {column}")
            for column in ("status", "device", "card_uuid", "host_id", *revisions.COLUMNS, *GRAPH)
        ),
    )
    columns, numbers = (tuple(dict.fromkeys([*names, *settings])) for names in (COLUMNS, NUMBERS))
    return Schema(columns, numbers, rules, ADVICE, "{algorithm}/{variant} on {dataset}", DEFAULTS)


def load(
    paths: Iterable[Path | str], settings: Sequence[str] = (), *, simulated: bool = False, datasets: Iterable[str] = ()
) -> Measurements:
    """Read CSVs of measurements, in the order of variants, datasets, batches and rounds, whatever that of the files.

    settings, simulated: as for `schema`. datasets: those that come first, in their order; others follow alphabetically.
    Raises InputError if a file, a value, or a record breaks its schema, if a record is missing from its file, or if a
    file changed since its records were written.
    """
    paths = list(paths)
    rows = schema(settings, simulated=simulated).read(paths)
    names = cell_keys(rows) + ("/" + rows["batch"]).where(rows["batch"] != "", "")
    of_files = names.groupby(rows.index.map(lambda line: line.rpartition(", line ")[0])).unique()
    cards = {name: card for path in paths for name, card in _cards(Path(path), of_files.get(str(path), ())).items()}
    of_cards = [cards.get(name, {}) for name in names]
    for column, unknown in zip(CARD, (np.nan, np.nan, np.nan, ""), strict=True):
        rows[column] = [card.get(column, unknown) for card in of_cards]
    order = list(dict.fromkeys([*datasets, *sorted(rows["dataset"].unique())]))
    places = variants(rows).map(list(VARIANTS).index), rows["dataset"].map(order.index), rows["batch"], rows["round"]
    rows = rows.iloc[np.lexsort(places[::-1])]
    return rows.astype({**dict.fromkeys(CLOCKS, float), "throttling": str}).reset_index(drop=True)


def files(folder: Path | str) -> list[Path]:
    """Return the CSVs of measurements in results/ or an archive: those of jobs, then of cells measured alone."""
    jobs, alone = (sorted(Path(folder).glob(kind)) for kind in ("batches/*/*/*/timings.csv", "cells/*/*/*.csv"))
    return [*jobs, *alone]


def place(row: Mapping[str, str]) -> Path:
    """Return the path of a row's file, below results/ or an archive."""
    if row["batch"]:
        return Path("batches", row["batch"], row["problem"], row["dataset"], "timings.csv")
    return Path("cells", row["algorithm"], row["variant"], f"{row['dataset']}.csv")


def load_folder(folder: Path | str, datasets: Iterable[str] = ()) -> Measurements:
    """Return the rows of all `files`; see load."""
    return load(files(folder), datasets=datasets)


def files_of_datasets(folder: Path | str, pattern: str, datasets: Iterable[str]) -> list[Path]:
    """Return the files of a pattern, which are named after datasets: first these, in their order."""
    order, files = list(datasets), sorted(Path(folder).glob(pattern))
    return sorted(files, key=lambda path: order.index(path.stem) if path.stem in order else len(order))


def load_sweep(sweep: str, paths: Iterable[Path | str]) -> Measurements:
    """Return the rows of a sweep's CSVs; raises as load does."""
    return load(paths, SWEEPS[sweep])


def _cards(path: Path, names: Iterable[str]) -> dict[str, dict]:
    """Return the columns of CARD by record, from the file beside a CSV; empty if it does not exist."""
    if not records.beside(path).exists():
        return {}
    by_name = records.of_table(path)
    records.require(names, by_name, path)
    return {name: of_card(record["card"]) for name, record in by_name.items() if record["card"]}


def of_card(card: dict) -> dict:
    """Return the columns of CARD from the states of a card before and after."""
    before, after = card["before"], card["after"]
    return {
        "clock_before_mhz": float(before["sm_clock_mhz"]),
        "clock_after_mhz": float(after["sm_clock_mhz"]),
        "clock_max_mhz": float(after["max_sm_clock_mhz"]),
        "throttling": ", ".join(dict.fromkeys(before["throttling"] + after["throttling"])),
    }


def pooled(rows: Measurements) -> Measurements:
    """Return the rows that represent each cell.

    These are its batches of the newest revision and settings, with the number of cores that most of them have; the rows
    that were measured alone only if the cell has no batch; `unavailable` rows only if it has no others.
    """
    return _of_usual_cores(_of_newest_revision(_in_batches(_available(rows))))


def _available(rows: Measurements) -> Measurements:
    """Drop rows of variants that lacked a package if their cell has other rows."""
    available = rows["status"] != "unavailable"
    return rows[available | ~available.groupby([rows[key] for key in CELL]).transform("any")]


def _in_batches(rows: Measurements) -> Measurements:
    """Drop rows that were measured alone if their cell has batches."""
    in_batch = rows["batch"] != ""
    return rows[in_batch | ~in_batch.groupby([rows[key] for key in CELL]).transform("any")]


def _of_newest_revision(rows: Measurements) -> Measurements:
    """Return the rows of each cell's revision and settings that were measured last."""
    code = list(revisions.COLUMNS)
    last = rows.sort_values("started", kind="stable").groupby(CELL)[code].transform("last")
    return rows[(rows[code] == last.reindex(rows.index)).all(axis=1)]


def _of_usual_cores(rows: Measurements) -> Measurements:
    """Return the rows of each cell with the number of cores of most of its batches; ties: that measured last."""
    cores = rows["cores"].fillna(0)
    batches = rows.groupby([*(rows[key] for key in CELL), cores])["batch"].transform("nunique")
    order = rows.assign(cores=cores, batches=batches).sort_values(["batches", "started"], kind="stable")
    return rows[cores == order.groupby(CELL)["cores"].transform("last").reindex(rows.index)]


def select(rows: Measurements, columns: Sequence[str], datasets: Sequence[str]) -> Measurements:
    """Return the pooled rows of columns (algorithm/variant) on datasets. Raises as `require_one_graph`."""
    chosen = pooled(rows[variants(rows).isin(columns) & rows["dataset"].isin(datasets)])
    require_one_graph(chosen)
    return chosen


def require_one_graph(rows: Measurements) -> None:
    """Raise InputError if a dataset's graph differs between variants, whose times cannot be compared."""
    for dataset, group in rows.groupby("dataset"):
        if len(group[list(GRAPH)].drop_duplicates()) > 1:
            graphs = group["dataset_sha256"].str[:12].groupby(variants(group), sort=False)
            cells = ", ".join(f"{variant} on {sha256}" for variant, sha256 in graphs.first().items())
            raise InputError(
                f"{dataset} was measured on different graphs ({cells}): measure all its variants on the same data"
            )


def summarise(rows: Measurements) -> pd.DataFrame:
    """Summarise pooled rows, a row a cell, indexed by (algorithm/variant, dataset).

    Columns: median, kernels, predecessors, the medians of times over batches of each one's median; min, max of
    `seconds`, over the batches' medians, or over the runs of a single batch; prepare, as `preparation`, of the last
    batch that recorded it; batches, 0 for a cell that was measured alone; repeats, the number of runs; note, its items
    joined by "; "; status, device, vertices, arcs, source, cores, limit_s, substitute, generated and LAYOUT.
    """
    keys = [variants(rows).rename("column"), rows["dataset"]]
    times = {"seconds": "median", "kernels_s": "kernels", "predecessors_s": "predecessors"}
    of_batches = rows[list(times)].rename(columns=times).groupby([*keys, rows["batch"]], sort=False).median()
    over = of_batches.groupby(["column", "dataset"], sort=False)
    last = rows.assign(prepare=preparation(rows)).sort_values("started", kind="stable").groupby(keys)["prepare"].last()
    cells = rows.groupby(keys, sort=False).agg(
        **{name: (name, "first") for name in ("status", "device", "vertices", "arcs", "source", "cores", "limit_s")},
        **{name: (name, "first") for name in ("substitute", "generated", *LAYOUT)},
        repeats=("seconds", "count"),
        batches=("batch", lambda names: names[names != ""].nunique()),
        min=("seconds", "min"),
        max=("seconds", "max"),
        note=("note", lambda notes: "; ".join(dict.fromkeys(items(notes)))),
    )
    several = cells["batches"] > 1
    cells["min"] = over["median"].min().where(several, cells["min"])
    cells["max"] = over["median"].max().where(several, cells["max"])
    return over.median().join(cells).join(last)


def preparation(rows: Measurements) -> pd.Series:
    """Return for each row the seconds of preparing its cell's first run in the batch; NaN if not recorded.

    Later runs take less, since a process keeps the graph's layout.
    """
    both = rows[list(PREPARATION)].sum(axis=1, min_count=1)
    return both.where(rows["round"] == 1).groupby([rows[key] for key in BATCH]).transform("max")


def items(notes: Iterable[str]) -> Iterator[str]:
    """Split notes into their items, which are joined by "; "."""
    return (item.strip() for note in notes for item in note.split("; ") if item.strip())


def substitutes(rows: Measurements) -> dict[str, str]:
    """Return, for each dataset whose graph is not the paper's, what it is instead."""
    said = rows[rows["substitute"] != ""].groupby("dataset", sort=False)["substitute"].unique()
    return {dataset: "; ".join(texts) for dataset, texts in said.items()}


def card(rows: Measurements) -> str:
    """Return the name of the card without its memory, as "H200"; "CPU" if no row is of a card."""
    names = rows["device"][rows["driver"] != ""].unique()
    return re.sub(r"^NVIDIA | \d+GB.*$", "", names[0]) if len(names) else "CPU"


def text_file(dataset: str) -> str:
    """Return the name of the graph's text form: nyc.txt."""
    return f"{dataset}.txt"


def marked(dataset: str, substitutes: Mapping[str, str]) -> str:
    """Return the dataset's name, with a † if it is a substitute."""
    return f"{dataset} †" if dataset in substitutes else dataset


def _files(rows: Measurements, column: str) -> dict[str, str]:
    """Return, for each text of a column, the names of the datasets' text forms."""
    said = rows.loc[rows[column] != "", ["dataset", column]].drop_duplicates()
    return {text: ", ".join(map(text_file, names)) for text, names in said.groupby(column, sort=False)["dataset"]}


def generated(rows: Measurements) -> list[str]:
    """Return a list with one sentence on how the generated datasets were made; it is empty if there are none."""
    said = "; ".join(f"{names} ({how})" for how, names in _files(rows, "generated").items())
    return [f"Generated: {said}."] if said else []


def origin(rows: Measurements, source: str, heads: dict[str, str]) -> list[str]:
    """Return sentences on the source, the devices, the graphs that are not the paper's, and throttled cards.

    heads: the displayed names of algorithm/variant.
    """
    sentences, columns = [source], variants(rows)
    for device, ran in columns.groupby(rows["device"], sort=False):
        names = ", ".join(dict.fromkeys(head for column, head in heads.items() if column in set(ran)))
        sentences.append(f"On {device}: {names}.")
    for text, names in _files(rows, "substitute").items():
        sentences.append(f"† substitute for the paper's {names}: {text}.")
    sentences += generated(rows)
    throttled = rows[(rows["throttling"] != "") & columns.isin(list(heads))]
    for (*variant, dataset), reasons in throttled.groupby(CELL, sort=False)["throttling"].first().items():
        sentences.append(f"{text_file(dataset)}, {heads['/'.join(variant)]}: the card was throttled ({reasons}).")
    return sentences


def run(rows: pd.DataFrame) -> list[str]:
    """Return a sentence on the commits and days of the measurements, if they are recorded."""
    said = []
    if commits := sorted({commit[:12] for commit in rows["commit"] if commit}):
        said.append(f"commit {', '.join(commits)}")
    if days := sorted({started[:10] for started in rows["started"] if started}):
        said.append(" to ".join(dict.fromkeys([days[0], days[-1]])))
    return [f"Run: {'; '.join(said)}."] if said else []


def about(rows: Measurements, source: str) -> list[str]:
    """Return the sentences of `origin`, with each variant under its own name, and of `run`."""
    names = dict.fromkeys(variants(rows))
    return [*origin(rows, source, {name: name for name in names}), *run(rows)]
