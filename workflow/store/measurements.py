"""Measurements and the paper's numbers, and what must be said under a table or figure of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from kernels.errors import InputError
from workflow.measure import revisions
from workflow.store import paper, records
from workflow.store.checked_csv import Schema, above_0, matching, numbered, once, one_of, same, whole
from workflow.store.columns import (
    COLUMNS,
    KNOWN,
    LAYOUT,
    MEASURED,
    NUMBERS,
    PREPARATION,
    RULES,
    SETTINGS,
    STATUSES,
    SWEEPS,
    cells,
    variants,
)
from workflow.store.paper import datasets as paper_datasets

CELL = ["algorithm", "variant", "dataset"]
GRAPH = ("vertices", "arcs", "dataset_sha256")
BATCH = [*CELL, "batch"]  # a cell's rows of one job
CLOCKS = ("clock_before_mhz", "clock_after_mhz", "clock_max_mhz")
CARD = (*CLOCKS, "throttling")
SOURCES = {"sssp": "one source", "apsp": "all pairs"}  # what a problem is called
PAPER = paper.FOLDER
ADVICE = "measure the cell again, or leave the file out"


def columns_with(settings: Iterable[str]) -> tuple[str, ...]:
    """The columns of a sweep's CSV, by what it changes."""
    return tuple(dict.fromkeys([*COLUMNS, *settings]))


PAPER_TIMES = Schema(
    ("table", "algorithm", "variant", "dataset", "seconds", "text"),
    ("table", "seconds"),
    (
        whole("table", 1),
        KNOWN,
        paper.DATASET,
        above_0("seconds"),
        matching("text", r">?[\d.]+(s|min|hr|)", "must be a time as the paper prints it: 22min, 8.5s, >1hr, 137.369"),
        once("algorithm", "variant", "dataset"),
    ),
    paper.ADVICE,
)


def schema(settings: Sequence[str] = (), *, simulated: bool = False) -> Schema:
    """What a CSV of measurements must be.

    settings: a sweep's columns, its own after the others; a cell is then measured once for each of their values.
    simulated: whether rows from the simulator may be there.
    """
    cell = [*BATCH, *settings]
    rules = (
        *((one_of("status", *STATUSES, "simulated"),) if simulated else (MEASURED, one_of("status", *STATUSES))),
        *RULES,
        *(SETTINGS[name] for name in settings),
        once(*cell, "round", must="this round of the cell was read before: give each measurement once"),
        numbered("round", *cell),
        *(
            same(column, *cell, must=f"the cell's rows differ in {column}")
            for column in ("status", "device", "card_uuid", "host_id", *revisions.COLUMNS, *GRAPH)
        ),
    )
    numbers = tuple(dict.fromkeys([*NUMBERS, *settings]))
    columns = columns_with(settings)
    named = "{algorithm}/{variant} on {dataset}"
    return Schema(columns, numbers, rules, ADVICE, named, former=("code", "repeat"))


def load(paths: Iterable[Path | str], settings: Sequence[str] = (), *, simulated: bool = False) -> pd.DataFrame:
    """The rows of measurement CSVs, one a run: NUMBERS and settings as float64 (NaN where empty), the rest str.

    settings, simulated: see schema. To the columns come CARD: clocks (float64, NaN where not recorded) and reasons for
    throttling (str, empty where there is none), from the record beside each file.
    Raises InputError where a file is no such CSV, a value is not as the schema says, or a record is another cell's.
    """
    paths = list(paths)
    rows = schema(settings, simulated=simulated).read(paths)
    names = cells(rows) + ("/" + rows["batch"]).where(rows["batch"] != "", "")
    file_of = rows.index.map(lambda line: line.rpartition(", line ")[0])
    cards = {}
    for path in paths:
        mine = file_of == str(path)
        cards[str(path)] = _cards(Path(path), set(names[mine]), set(rows["batch"][mine]))
    found = [cards[file].get(name, {}) for file, name in zip(file_of, names, strict=True)]
    for column, unknown in zip(CARD, (np.nan, np.nan, np.nan, ""), strict=True):
        rows[column] = [card.get(column, unknown) for card in found]
    return rows.astype({**dict.fromkeys(CLOCKS, float), "throttling": str}).reset_index(drop=True)


def load_sweep(sweep: str, paths: Iterable[Path | str]) -> pd.DataFrame:
    """Return the rows of a sweep's CSVs; raises as load does."""
    return load(paths, SWEEPS[sweep])


def _cards(path: Path, names: set[str], batches: set[str]) -> dict[str, dict]:
    """What the records beside a CSV say of the card, by their names; nothing where there is none.

    names: those that its rows should have, of these batches.
    """
    beside = records.beside(path)
    if not beside.exists():
        return {}
    found = records.of(path, batches)
    if beside.name != records.ARCHIVED and (others := names - set(found)):
        raise InputError(f"{beside}: not the record of {others.pop()}: delete {path} and measure again")
    return {name: _card(record["card"]) for name, record in found.items() if record["card"]}


def _card(card: dict) -> dict:
    before, after = card["before"], card["after"]
    return {
        "clock_before_mhz": float(before["sm_clock_mhz"]),
        "clock_after_mhz": float(after["sm_clock_mhz"]),
        "clock_max_mhz": float(after["max_sm_clock_mhz"]),
        "throttling": ", ".join(dict.fromkeys(before["throttling"] + after["throttling"])),
    }


def pooled(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that stand for each cell; rows: as load gives them.

    The batches of the revision, and settings, that were measured last; of a CPU variant those with the number of cores
    that most batches have. A cell without a batch keeps its rows that were measured alone.
    """
    return _of_usual_cores(_of_last_revision(_in_batches(rows)))


def _in_batches(rows: pd.DataFrame) -> pd.DataFrame:
    """Leave out rows that were measured alone, of cells that have batches."""
    in_batch = rows["batch"] != ""
    return rows[in_batch | ~in_batch.groupby([rows[key] for key in CELL]).transform("any")]


def _of_last_revision(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of each cell's revision and settings that were measured last."""
    code = list(revisions.COLUMNS)
    last = rows.sort_values("started", kind="stable").groupby(CELL)[code].transform("last")
    return rows[(rows[code] == last.reindex(rows.index)).all(axis=1)]


def _of_usual_cores(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of each cell with the number of cores that most of its batches have; a tie goes to the last."""
    cores = rows["cores"].fillna(0)
    batches = rows.groupby([*(rows[key] for key in CELL), cores])["batch"].transform("nunique")
    order = rows.assign(cores=cores, batches=batches).sort_values(["batches", "started"], kind="stable")
    return rows[cores == order.groupby(CELL)["cores"].transform("last").reindex(rows.index)]


def select(rows: pd.DataFrame, columns: Sequence[str], datasets: Sequence[str]) -> pd.DataFrame:
    """The pooled rows of columns (each algorithm/variant) on datasets. Raises as require_one_graph does."""
    chosen = pooled(rows[variants(rows).isin(columns) & rows["dataset"].isin(datasets)])
    require_one_graph(chosen)
    return chosen


def require_one_graph(rows: pd.DataFrame) -> None:
    """Raise InputError where a dataset's graph differs between variants: its times cannot be compared."""
    for dataset, group in rows.groupby("dataset"):
        if group[["vertices", "arcs", "dataset_sha256"]].drop_duplicates().shape[0] > 1:
            graphs = group["dataset_sha256"].str[:12].groupby(variants(group), sort=False)
            cells = ", ".join(f"{variant} on {sha256}" for variant, sha256 in graphs.first().items())
            raise InputError(f"{dataset} was not one graph ({cells}): measure all its variants on the same data")


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """One row a cell, indexed by (algorithm/variant, dataset). rows: as pooled gives them.

    status, device, note (items joined by "; "), vertices, arcs, source, cores, limit_s, substitute, generated, LAYOUT;
    batches (0 where the cell was measured alone) and repeats, the number of its runs.
    Of `seconds` (s, NaN unless status is ok) median: over batches of each one's median; min, max: of the batches'
    medians, of one batch's runs where there is one. kernels, predecessors: likewise the median of the phases.
    prepare: as preparation gives it, of the batch that was measured last of those where it was recorded.
    """
    keys = [variants(rows).rename("column"), rows["dataset"]]
    times = pd.DataFrame(
        {
            "median": rows["seconds"],
            "kernels": rows["kernels_s"],
            "predecessors": rows["predecessors_s"],
        }
    )
    of_batches = times.groupby([*keys, rows["batch"]], sort=False).median()
    over = of_batches.groupby(["column", "dataset"], sort=False)
    last = rows.assign(prepare=preparation(rows)).sort_values("started", kind="stable").groupby(keys)["prepare"].last()
    found = rows.groupby(keys, sort=False).agg(
        status=("status", "first"),
        repeats=("seconds", "count"),
        batches=("batch", lambda names: names[names != ""].nunique()),
        vertices=("vertices", "first"),
        arcs=("arcs", "first"),
        device=("device", "first"),
        min=("seconds", "min"),
        max=("seconds", "max"),
        **{name: (name, "first") for name in ("source", "cores", "limit_s", "substitute", "generated", *LAYOUT)},
        note=("note", lambda notes: "; ".join(dict.fromkeys(items(notes)))),
    )
    several = found["batches"] > 1
    found["min"] = over["median"].min().where(several, found["min"])
    found["max"] = over["median"].max().where(several, found["max"])
    return over.median().join(found).join(last)


def preparation(rows: pd.DataFrame) -> pd.Series:
    """For each row, what preparing took (s): that of its cell's first run in its batch; NaN where not recorded.

    Later runs say less, since a process keeps the graph's layout.
    """
    both = rows[list(PREPARATION)].sum(axis=1, min_count=1)
    return both.where(rows["round"] == 1).groupby([rows[key] for key in BATCH]).transform("max")


def items(notes: Iterable[str]) -> Iterator[str]:
    """The items of notes, which are joined by "; "."""
    return (item.strip() for note in notes for item in note.split("; ") if item.strip())


def paper_times() -> pd.DataFrame:
    """The paper's times, indexed by (algorithm/variant, dataset): seconds, text as printed.

    seconds is NaN where the paper gives only a bound (">1hr").
    """
    times = PAPER_TIMES.read([PAPER / "times.csv"])
    times["seconds"] = times["seconds"].mask(times["text"].str.startswith(">"))
    times["column"] = variants(times)
    return times.set_index(["column", "dataset"])[["seconds", "text"]]


def substitutes(rows: pd.DataFrame) -> dict[str, str]:
    """For each dataset whose graph is not the paper's: what it is instead, in words."""
    paper = paper_datasets()
    result = {}
    for dataset, group in rows.groupby("dataset", sort=False):
        said = [text for text in dict.fromkeys(group["substitute"]) if text]
        here = group.iloc[0]
        there = paper.loc[dataset] if dataset in paper.index else here
        if not said and (here.vertices, here.arcs) != (there.vertices, there.arcs):
            said = [
                f"{here.vertices:,.0f} vertices, {here.arcs:,.0f} arcs (the paper: {there.vertices:,}, {there.arcs:,})"
            ]
        if said:
            result[dataset] = "; ".join(said)
    return result


def card(rows: pd.DataFrame) -> str:
    """The name of the card, as "H200" or "H100", without its memory; "CPU" where no row is of a card."""
    names = rows["device"][rows["driver"] != ""].unique()
    return re.sub(r"^NVIDIA | \d+GB.*$", "", names[0]) if len(names) else "CPU"


def marked(dataset: str, substitutes: Mapping[str, str]) -> str:
    """The dataset's name, with a † where it is a substitute."""
    return f"{dataset} †" if dataset in substitutes else dataset


def generated(rows: pd.DataFrame) -> list[str]:
    """A sentence on each dataset that was generated."""
    sentences = []
    for dataset, texts in rows.groupby("dataset", sort=False)["generated"]:
        sentences += [f"{dataset}.txt is generated: {how}." for how in dict.fromkeys(texts) if how]
    return sentences


def origin(rows: pd.DataFrame, source: str, heads: dict[str, str]) -> list[str]:
    """Sentences on where the numbers come from: the source, the devices with what ran on each, what is not the paper's.

    heads: what each algorithm/variant is called.
    """
    sentences = [source]
    columns = variants(rows)
    for device, ran in columns.groupby(rows["device"], sort=False):
        names = ", ".join(dict.fromkeys(head for column, head in heads.items() if column in set(ran)))
        sentences.append(f"On {device}: {names}.")
    by_text: dict[str, list[str]] = {}
    for dataset, text in substitutes(rows).items():
        by_text.setdefault(text, []).append(f"{dataset}.txt")
    sentences += [f"† substitute for the paper's {', '.join(names)}: {text}." for text, names in by_text.items()]
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
