"""The columns of timings.csv, each defined once: its meaning, its type and its rules."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from kernels.gpu import SIMULATOR
from kernels.registry import VARIANTS
from workflow.store import revisions
from workflow.store.checked_csv import VERSION, Rule, above_0, at_least_0_or_empty, matching, moment, version, whole

Measurements = pd.DataFrame
"""Rows of `measurements.load`, one a run: COLUMNS, those in NUMBERS as float64 (NaN if empty) and all else as str.

A sweep's settings follow as float64, then `clock_before_mhz`, `clock_after_mhz`, `clock_max_mhz` (NaN if not recorded)
and `throttling` (the reasons; empty if the card was not throttled), from the record beside the file.
"""

PHASES = ("copy_in_s", "kernels_s", "predecessors_s", "copy_out_s")
TIMES = ("seconds", *PHASES)
PREPARATION = ("prepare_host_s", "prepare_card_s", "customize_s")
LAYOUT = ("reached", "longest_row", "ell_columns", "ell_slots", "ell_overflow")  # what Variant.facts may say
STATUSES = ("ok", "timeout", "no_memory", "unavailable")
BATCH_NAME = r"[A-Za-z0-9][\w.-]*|"

# The sum of the phases may exceed `seconds` by this part: a card times its phases by its own clock, and two quartz
# clocks agree within some 0.01 %. No archived row needs it.
PHASES_OVER = 1e-4


@dataclass(frozen=True)
class Column:
    """A column of numbers or empty values (`number`), else of text.

    meaning: its description in results/archive/README.md; empty if the description of the column before it includes it.
    default: the value of rows in files from before the column was added; None if every file has the column. So a new
    column with a default leaves archives readable.
    """

    name: str
    meaning: str
    rules: tuple[Rule, ...] = ()
    number: bool = False
    default: str | None = None


def _number(name: str, meaning: str, *rules: Rule) -> Column:
    return Column(name, meaning, rules, number=True)


def _text(name: str, meaning: str, *rules: Rule) -> Column:
    return Column(name, meaning, rules)


def variants(rows: pd.DataFrame) -> pd.Series:
    """Return algorithm/variant of each row."""
    return rows["algorithm"] + "/" + rows["variant"]


def cell_keys(rows: pd.DataFrame) -> pd.Series:
    """Return algorithm/variant/dataset of each row."""
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
    return (simulated == (rows["device"] == SIMULATOR)) | rows["status"].isin(("no_memory", "unavailable"))


def _card_version(column: str) -> Rule:
    def holds(rows: pd.DataFrame) -> pd.Series:
        is_version = rows[column].str.fullmatch(VERSION).astype(bool)
        return is_version.where(_on_gpu(rows) & (rows["device"] != SIMULATOR), rows[column] == "")

    return Rule((column,), "must be a version if a card was used, else empty", holds)


def _limit(rows: pd.DataFrame) -> pd.Series:
    return (rows["limit_s"] > 0).where(rows["status"] == "timeout", rows["limit_s"].isna())


def _needed(rows: pd.DataFrame) -> pd.Series:
    return (rows["needed_bytes"] > 0).where(rows["status"] == "no_memory", rows["needed_bytes"].isna())


def _revision(rows: pd.DataFrame) -> pd.Series:
    known = rows["revision"].str.fullmatch(revisions.PATTERN).astype(bool)
    return known | (rows["status"] == "unavailable") & rows["revision"].str.fullmatch(revisions.NOT_INSTALLED).astype(
        bool
    )


def _on_gpu(rows: pd.DataFrame) -> pd.Series:
    return variants(rows).isin([key for key, variant in VARIANTS.items() if variant.on_gpu])


KNOWN = Rule(("algorithm", "variant"), "there is no such variant", lambda rows: variants(rows).isin(list(VARIANTS)))
MEASURED = Rule(
    ("status", "device"),
    "a simulated run is not a measurement",
    lambda rows: (rows["status"] != "simulated") & (rows["device"] != SIMULATOR),
)
DEFINED = (
    _text("algorithm", "The [cell](../../docs/design.md#glossary).", KNOWN),
    _text("variant", ""),
    _text("problem", "", Rule(("problem",), "must be the variant's problem", _problem)),
    _text("dataset", "", matching("dataset")),
    _text(
        "batch",
        "Empty if the cell was measured alone.",
        matching("batch", BATCH_NAME, "must be a name of letters, digits, . _ -, or empty"),
    ),
    _number("round", "The round, and the variant's place in it (empty in old rows), from 1.", whole("round", 1)),
    _number("position", "", whole("position", 1, or_empty=True)),
    _text(
        "status",
        "`ok`, or without times `timeout`, `no_memory`, `unavailable` (a package is missing) or `simulated`.",
        Rule(("status", *TIMES), "must have all times if the status is ok, else none", _times),
    ),
    _number(
        "seconds",
        "The paper's [timed region](../../docs/method.md#how-a-time-is-taken), by the host's clock.",
        Rule(("seconds",), "must be above 0", lambda rows: ~(rows["seconds"] <= 0)),
    ),
    _number(
        "copy_in_s",
        "Allocating, and copying to the card what is not there yet.",
        at_least_0_or_empty("copy_in_s"),
    ),
    _number(
        "kernels_s",
        "Launches that find distances, and [what they need](../../docs/method.md#how-a-time-is-taken).",
        at_least_0_or_empty("kernels_s"),
    ),
    _number(
        "predecessors_s",
        "Launches that only find predecessors.",
        at_least_0_or_empty("predecessors_s"),
    ),
    _number("copy_out_s", "Copying the results back.", at_least_0_or_empty("copy_out_s")),
    _number(
        "prepare_host_s",
        "Before the timed region: the host's work, such as layouts. For `hierarchy`, it includes order and tree.",
        at_least_0_or_empty("prepare_host_s"),
    ),
    _number(
        "prepare_card_s",
        "Before the timed region: copying the graph to the card.",
        at_least_0_or_empty("prepare_card_s"),
    ),
    _number(
        "customize_s",
        "Before the timed region: customizing a hierarchy on the card.",
        at_least_0_or_empty("customize_s"),
        Rule(TIMES, "the phases must sum to no more than seconds", _phases),
    ),
    _number(
        "launches",
        "Kernels launched; 0 on a CPU.",
        whole("launches", 0),
        Rule(
            ("launches", "status"),
            "must be 0 on a CPU, and above 0 on a card if the status is ok",
            _launches,
        ),
    ),
    _number("vertices", "The size of the graph.", whole("vertices", 1)),
    _number("arcs", "", whole("arcs", 0)),
    _number(
        "source",
        "The source for `sssp`; empty for `apsp`.",
        Rule(("source", "problem", "vertices"), "must be a vertex for sssp, and empty for apsp", _source),
    ),
    _number(
        "rows_checked",
        "Rows of distances that were [checked](../../docs/method.md#how-a-result-is-checked).",
        whole("rows_checked", 0),
        Rule(
            ("rows_checked", "status", "problem", "vertices"),
            "must be 1 for sssp and from 1 to all vertices for apsp, or 0 if no run was completed",
            _rows_checked,
        ),
    ),
    _text(
        "device",
        "The card or the processor.",
        matching("device"),
        Rule(("status", "device"), "the status must be simulated in the simulator, and only there", _simulated),
    ),
    _text("driver", "Versions; the first two are empty without a card.", _card_version("driver")),
    _text("cuda", "", _card_version("cuda")),
    *(_text(name, "", version(name)) for name in ("numba_cuda", "numba", "numpy")),
    _text("commit", "The commit of the project; empty if unknown."),
    _text(
        "revision",
        "The variant's revision, or the version of SciPy or NetworKit; 0 if not recorded.",
        Rule(("revision",), "must be a whole number, or a library and its version", _revision),
    ),
    _text(
        "settings",
        "Settings (block, tile, delta, grid, source) that differ from the defaults: `block=512 source=3`.",
    ),
    _text(
        "dataset_sha256",
        "SHA-256 of the graph's text form, or of its CSR arrays if it has none.",
        matching("dataset_sha256", "[0-9a-f]{64}", "must be 64 hexadecimal digits"),
    ),
    _text("started", "The start of the run: ISO 8601, UTC.", moment("started")),
    _text("host", "The machine's name and anonymous id, the card's UUID, the processor, the cores of a CPU variant."),
    *(_text(name, "") for name in ("host_id", "card_uuid", "cpu_model")),
    _number("cores", "", whole("cores", 1, or_empty=True)),
    _text("substitute", "A description of a substitute; how a generated graph was made."),
    _text("generated", ""),
    _number(
        "limit_s",
        "For `timeout`, the time after which the run was stopped; for `no_memory`, the memory needed.",
        Rule(("limit_s", "status"), "must be above 0 for timeout, else empty", _limit),
    ),
    _number("needed_bytes", "", Rule(("needed_bytes", "status"), "must be above 0 for no_memory, else empty", _needed)),
    _number(
        "reached",
        "For `stride_ell`: vertices reached; largest out-degree; columns and slots of the layout; arcs outside.",
        whole("reached", 0, or_empty=True),
    ),
    *(_number(name, "", whole(name, 0, or_empty=True)) for name in LAYOUT[1:]),
    _text("note", "Why the cell has fewer repeats than the protocol sets, or none."),
)
COLUMNS = tuple(column.name for column in DEFINED)
NUMBERS = tuple(column.name for column in DEFINED if column.number)
DEFAULTS = {column.name: column.default for column in DEFINED if column.default is not None}
RULES = tuple(rule for column in DEFINED for rule in column.rules)
# The rules of a sweep's settings.
SETTINGS = {
    **{name: whole(name, 1) for name in ("delta", "default_delta", "threads", "blocks")},
    **{"share": above_0("share"), "source": whole("source", 0)},
}
SWEEPS = {  # by sweep, its columns beside those of any measurement
    "delta_sweep": ("delta", "default_delta"),
    "stride_sweep": ("threads", "blocks", "share"),
    "sources": ("source",),
}
