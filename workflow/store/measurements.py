"""Measurements and the paper's numbers, and what must be said under a table or figure of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from kernels.errors import InputError
from kernels.gpu import SIMULATOR
from kernels.variants import VARIANTS
from workflow.measure import revisions
from workflow.store import paper, records
from workflow.store.checked_csv import (
    VERSION,
    Rule,
    Schema,
    above_0,
    matching,
    moment,
    numbered,
    once,
    one_of,
    same,
    version,
    whole,
)
from workflow.store.paper import datasets as paper_datasets

PHASES = ("copy_in_s", "kernels_s", "predecessors_s", "copy_out_s")
TIMES = ("seconds", *PHASES)
PREPARATION = ("prepare_host_s", "prepare_card_s", "customize_s")
LAYOUT = ("reached", "longest_row", "ell_columns", "ell_slots", "ell_overflow")  # what Variant.facts may say
COLUMNS = (
    "algorithm",
    "variant",
    "problem",
    "dataset",
    "batch",
    "round",
    "position",
    "status",
    "seconds",
    "copy_in_s",
    "kernels_s",
    "predecessors_s",
    "copy_out_s",
    "prepare_host_s",
    "prepare_card_s",
    "customize_s",
    "launches",
    "vertices",
    "arcs",
    "source",
    "rows_checked",
    "device",
    "driver",
    "cuda",
    "numba_cuda",
    "numba",
    "numpy",
    "commit",
    *revisions.COLUMNS,
    "dataset_sha256",
    "started",
    "host",
    "host_id",
    "card_uuid",
    "cpu_model",
    "cores",
    "substitute",
    "generated",
    "limit_s",
    "needed_bytes",
    "reached",
    "longest_row",
    "ell_columns",
    "ell_slots",
    "ell_overflow",
    "note",
)
NUMBERS = (
    *TIMES,
    *PREPARATION,
    *LAYOUT,
    "round",
    "position",
    "launches",
    "vertices",
    "arcs",
    "source",
    "rows_checked",
    "cores",
    "limit_s",
    "needed_bytes",
)
CELL = ["algorithm", "variant", "dataset"]
GRAPH = ("vertices", "arcs", "dataset_sha256")
BATCH = [*CELL, "batch"]  # a cell's rows of one job
CLOCKS = ("clock_before_mhz", "clock_after_mhz", "clock_max_mhz")
CARD = (*CLOCKS, "throttling")
SOURCES = {"sssp": "one source", "apsp": "all pairs"}  # what a problem is called
STATUSES = ("ok", "timeout", "no_memory")
BATCH_NAME = r"[A-Za-z0-9][\w.-]*|"
PAPER = paper.FOLDER
ADVICE = "measure the cell again, or leave the file out"

# The part of `seconds` by which the sum of the phases may pass it: a card's phases are timed by its own clock, and two
# clocks of quartz agree within some 0.01 %. None of the archive's 2,128 rows needs it: in all of them the sum is below
# `seconds`, on a card by 0.13 ms or more, which is 0.0002 % or more.
PHASES_OVER = 1e-4


def columns_with(settings: Iterable[str]) -> tuple[str, ...]:
    """The columns of a sweep's CSV, by what it changes."""
    return tuple(dict.fromkeys([*COLUMNS, *settings]))


def variants(rows: pd.DataFrame) -> pd.Series:
    """What each row is of: algorithm/variant."""
    return rows["algorithm"] + "/" + rows["variant"]


def cells(rows: pd.DataFrame) -> pd.Series:
    """The cell of each row: algorithm/variant/dataset."""
    return variants(rows) + "/" + rows["dataset"]


def _problem(rows: pd.DataFrame) -> pd.Series:
    return rows["problem"] == variants(rows).map({key: variant.problem for key, variant in VARIANTS.items()})


def _source(rows: pd.DataFrame) -> pd.Series:
    source = rows["source"]
    is_vertex = (source >= 0) & (source < rows["vertices"]) & (source % 1 == 0)
    return is_vertex.where(rows["problem"] == "sssp", source.isna())


def _times(rows: pd.DataFrame) -> pd.Series:
    there = rows[list(TIMES)].notna()
    return there.all(axis=1).where(rows["status"] == "ok", ~there.any(axis=1))


def _phases(rows: pd.DataFrame) -> pd.Series:
    return ~(rows[list(PHASES)].sum(axis=1) > rows["seconds"] * (1 + PHASES_OVER))


def _launches(rows: pd.DataFrame) -> pd.Series:
    launched = rows["launches"] > 0
    return (launched | (rows["status"] != "ok")).where(_on_gpu(rows), ~launched)


def _rows_checked(rows: pd.DataFrame) -> pd.Series:
    checked, most = rows["rows_checked"], rows["vertices"].where(rows["problem"] == "apsp", 1)
    return checked.between(1, most).where(rows["status"].isin(("ok", "simulated")), checked == 0)


def _simulated(rows: pd.DataFrame) -> pd.Series:
    simulated = rows["status"] == "simulated"
    return (simulated == (rows["device"] == SIMULATOR)) | (rows["status"] == "no_memory")


def _card_version(column: str) -> Rule:
    def holds(rows: pd.DataFrame) -> pd.Series:
        is_version = rows[column].str.fullmatch(VERSION).astype(bool)
        return is_version.where(_on_gpu(rows) & (rows["device"] != SIMULATOR), rows[column] == "")

    return Rule((column,), "must be a version where a card was used, and else empty", holds)


def _empty_or_from(column: str, least: int):
    def holds(rows: pd.DataFrame) -> pd.Series:
        return rows[column].isna() | ((rows[column] >= least) & (rows[column] % 1 == 0))

    return holds


def _limit(rows: pd.DataFrame) -> pd.Series:
    return (rows["limit_s"] > 0).where(rows["status"] == "timeout", rows["limit_s"].isna())


def _needed(rows: pd.DataFrame) -> pd.Series:
    return (rows["needed_bytes"] > 0).where(rows["status"] == "no_memory", rows["needed_bytes"].isna())


def _on_gpu(rows: pd.DataFrame) -> pd.Series:
    return variants(rows).isin([key for key, variant in VARIANTS.items() if variant.on_gpu])


KNOWN = Rule(("algorithm", "variant"), "there is no such variant", lambda rows: variants(rows).isin(list(VARIANTS)))
RULES = (
    KNOWN,
    Rule(("problem",), "must be the variant's own", _problem),
    matching("dataset"),
    whole("round", 1),
    matching("batch", BATCH_NAME, "must be a name of letters, digits, . _ -, or empty"),
    Rule(("position",), "must be a whole number from 1, or empty", _empty_or_from("position", 1)),
    whole("vertices", 1),
    whole("arcs", 0),
    Rule(("source", "problem", "vertices"), "must be a vertex for sssp, and empty for apsp", _source),
    Rule(("status", *TIMES), "a row that is ok has all times, any other none", _times),
    Rule(("seconds",), "must be above 0", lambda rows: ~(rows["seconds"] <= 0)),
    *(
        Rule((phase,), "must be 0 or more", lambda rows, phase=phase: ~(rows[phase] < 0))
        for phase in (*PHASES, *PREPARATION)
    ),
    Rule(TIMES, "the phases must sum to no more than seconds", _phases),
    whole("launches", 0),
    Rule(
        ("launches", "status"),
        "must be 0 on a CPU, and above 0 on a card where the status is ok",
        _launches,
    ),
    whole("rows_checked", 0),
    Rule(
        ("rows_checked", "status", "problem", "vertices"),
        "must be 1 for sssp and from 1 to all for apsp, and 0 where nothing ran to its end",
        _rows_checked,
    ),
    matching("device"),
    Rule(("status", "device"), "a run is simulated in the simulator, and only there", _simulated),
    _card_version("driver"),
    _card_version("cuda"),
    *(version(column) for column in ("numba_cuda", "numba", "numpy")),
    matching("revision", revisions.PATTERN, "must be a whole number, or a library and its version"),
    matching("dataset_sha256", "[0-9a-f]{64}", "must be 64 hexadecimal digits"),
    moment("started"),
    Rule(("cores",), "must be a whole number from 1, or empty", _empty_or_from("cores", 1)),
    *(Rule((name,), "must be a whole number from 0, or empty", _empty_or_from(name, 0)) for name in LAYOUT),
    Rule(("limit_s", "status"), "must be above 0 where the limit was passed", _limit),
    Rule(("needed_bytes", "status"), "must be above 0 where memory was lacking", _needed),
)
MEASURED = Rule(
    ("status", "device"),
    "a simulated run is no measurement",
    lambda rows: (rows["status"] != "simulated") & (rows["device"] != SIMULATOR),
)
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
# Of what a sweep changes.
SETTINGS = {
    **{name: whole(name, 1) for name in ("delta", "default_delta", "threads", "blocks")},
    **{"share": above_0("share"), "source": whole("source", 0)},
}


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
    """Return the rows that stand for each cell: the batches of the revision, and settings, that was measured last.

    Of a CPU variant all have the same number of cores: that of most batches. A cell without a batch keeps its rows
    that were measured alone. rows: as load gives them.
    """
    cells = [rows[key] for key in CELL]
    in_batch = rows["batch"] != ""
    rows = rows[in_batch | ~in_batch.groupby(cells).transform("any")]
    last = rows.sort_values("started", kind="stable").groupby(CELL)[list(revisions.COLUMNS)].transform("last")
    rows = rows[(rows[list(revisions.COLUMNS)] == last.reindex(rows.index)).all(axis=1)]
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
