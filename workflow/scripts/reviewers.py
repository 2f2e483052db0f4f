"""What a reviewer types to check a claim, how long it takes, and what should come out: a table for README.md.

Times and expected results are those of an archive.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence

import pandas as pd

from workflow.lib import measurements, settings
from workflow.scripts import audit
from workflow.scripts.figures import PLOTS
from workflow.scripts.tables import CROSS

PAUSE_S = 60  # a longer pause between two cells was no preparation of the second


def minutes(rows: pd.DataFrame, timeout_s: float) -> pd.Series:
    """Minutes that each cell took, indexed by (algorithm, variant, dataset).

    From its first start to its last end, checks between them included, and the median pause between two cells, in
    which the next one starts, compiles and is checked for the first time.
    """
    started = pd.to_datetime(rows["started"], utc=True)
    lasted = rows["seconds"].mask(rows["status"] == "timeout", timeout_s).fillna(0)
    runs = rows[measurements.CELL].assign(started=started, ended=started + pd.to_timedelta(lasted, unit="s"))
    cells = runs.groupby(measurements.CELL).agg(started=("started", "min"), ended=("ended", "max"))
    cells = cells.sort_values("started")
    pauses = (cells["started"] - cells["ended"].shift()).dt.total_seconds()
    pauses = pauses[pauses.between(0, PAUSE_S)]
    pause = pauses.median() if len(pauses) else 0
    return ((cells["ended"] - cells["started"]).dt.total_seconds() + pause) / 60


def time_text(cells: list[settings.Cell], took: pd.Series) -> str:
    """ "9 min", with the number of cells where the archive has not all of them."""
    recorded = [took[cell] for cell in cells if cell in took.index]
    if not recorded:
        return "not recorded"
    some = f" for {len(recorded)} of {len(cells)} cells" * (len(recorded) < len(cells))
    return f"{math.ceil(sum(recorded))} min{some}"


def braces(names: Sequence[str]) -> str:
    """The names as a shell expands them: {a,b}."""
    return f"{{{','.join(names)}}}" if len(names) > 1 else names[0]


def expected(one: audit.Audited, tolerance: float, stand_ins: Container[str]) -> str:
    """The verdict and, by dataset, what was measured and the allowed variation: its ends widened by the tolerance."""
    cross, unit = ("", " s") if one.claim.by_seconds else (CROSS, "")
    lines = ["; ".join(filter(None, audit.outcome(one.here)))]
    for dataset, finding in one.here.items():
        if finding.verdict != audit.UNKNOWN:
            slack = tolerance * abs(finding.value)
            ends = f"{finding.low - slack:.3g} to {finding.high + slack:.3g}"
            dagger = " †" * (dataset in stand_ins)
            lines.append(f"{dataset}{dagger} {cross}{finding.value:.3g}{unit} ({ends})")
    return "<br>".join(lines)


def table(rows: pd.DataFrame, audited: list[audit.Audited], config: dict) -> str:
    """Markdown: what, command, time, the file that is filled, the expected result with its allowed variation.

    rows: an archive's, as measurements.load gives them. audited: its claims.
    """
    took, claimed = minutes(rows, config["protocol"]["timeout_s"]), settings.claimed_cells(config)
    tolerance = config["audit"]["tolerance"]
    percent, stand_ins = f"{100 * tolerance:g} %", measurements.stand_ins(rows)
    lines = [("All claims", "audit", claimed, "results/claims.md", "the verdicts below")]
    for number, shown in settings.TABLES.items():
        lines.append(_table_line(number, settings.table_cells(config, shown), percent))
    for number, one in enumerate(audited, start=1):
        lines.append(_claim_line(number, one, claimed, expected(one, tolerance, stand_ins)))
    text = pd.DataFrame(
        [
            (what, f"`snakemake --cores 1 {target}`", time_text(cells, took), fills, result)
            for what, target, cells, fills, result in lines
        ],
        columns=["What", "Command", "Time", "Fills", "Expected"],
    )
    ran_on = ", ".join(dict.fromkeys(device for device in rows["device"] if device))
    return (
        f"{text.to_markdown(index=False)}\n\nTimes and results: archive {config['archive']}, on {ran_on}. "
        f"In parentheses: the allowed variation, which is the interval or range of the archive widened by {percent}. "
        "†: on a stand-in, as said below."
    )


def _table_line(number: int, cells: list[settings.Cell], percent: str) -> tuple:
    """A paper's table and the figures drawn from it: what, target, cells, files, expected."""
    figures = [figure for figure, plot in PLOTS.items() if plot.table == number]
    return (
        ", ".join([f"Table {number}", *(f"Figure {figure}" for figure in figures)]),
        " ".join([f"table{number}", *(f"figure{figure}" for figure in figures)]),
        cells,
        ", ".join([f"results/table{number}.md", *(f"figures/figure{figure}.svg" for figure in figures)]),
        f"medians between the least and the greatest of Table {number} below, or up to {percent} outside",
    )


def _claim_line(number: int, one: audit.Audited, claimed: list[settings.Cell], result: str) -> tuple:
    """A claim: what, target, cells, file, expected."""
    names, datasets = (one.claim.left, *one.claim.right), one.claim.datasets
    algorithm = one.claim.left.split("/")[0]
    variants = braces([name.split("/")[1] for name in names])
    return (
        f"{number}. {one.claim.claim}",
        f"results/cells/{algorithm}/{variants}/{braces(datasets)}.csv",
        [cell for cell in claimed if f"{cell[0]}/{cell[1]}" in names and cell[2] in datasets],
        "results/claims.md",
        result,
    )
