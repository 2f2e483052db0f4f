"""What a reviewer types to check a claim, how long it takes, and what should come out: a table for docs/reviewers.md.

Times and expected results are those of an archive.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Container, Sequence

import pandas as pd

from kernels.variants import VARIANTS, find, shown_in
from workflow.lib import measurements, plan
from workflow.lib.documents import narrow
from workflow.lib.measurements import marked, substitutes
from workflow.lib.render import CROSS
from workflow.scripts import audit

PAUSE_S = 60  # longer pauses are not counted as preparing a cell
BETWEEN_HOSTS = 0.09  # times that are mostly launching differed by that between two hosts (docs/method.md)


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


def time_text(cells: list[plan.Cell], took: pd.Series) -> str:
    """ "9 min", with the number of cells where the archive has not all of them."""
    recorded = [took[cell] for cell in cells if cell in took.index]
    if not recorded:
        return "not recorded"
    some = f" for {len(recorded)} of {len(cells)} cells" if len(recorded) < len(cells) else ""
    return f"{math.ceil(sum(recorded))} min{some}"


def braces(names: Sequence[str]) -> str:
    """The names as a shell expands them: {a,b}."""
    return f"{{{','.join(names)}}}" if len(names) > 1 else names[0]


def expected(one: audit.Audited, tolerance: float, others: Container[str]) -> str:
    """The verdict and, by dataset, what was measured and the allowed variation: its ends widened by the tolerance.

    others: the datasets that are substitutes.
    """
    cross, unit = ("", " s") if one.claim.by_seconds else (CROSS, "")
    lines = [audit.outcome(one.here)[0]]
    for dataset, finding in one.here.items():
        if finding.verdict != audit.UNKNOWN:
            slack = tolerance * abs(finding.value)
            ends = f"{finding.low - slack:.3g} to {finding.high + slack:.3g}"
            lines.append(f"{marked(dataset, others)}: {finding.verdict}, {cross}{finding.value:.3g}{unit} ({ends})")
        else:
            lines.append(f"{marked(dataset, others)}: {finding.verdict}")
    return "<br>".join(lines)


def unsure(audited: list[audit.Audited], tolerance: float) -> str:
    """ "claim 1 on nyc, col": verdicts that another run may change.

    Those of no difference, and those whose allowed variation comes within the tolerance of 1 or contains an end of the
    claimed range, which is widened by the tolerance.
    """
    said = []
    for number, one in enumerate(audited, start=1):
        near, ends = [], (one.claim.low * (1 - tolerance), one.claim.high * (1 + tolerance))
        for dataset, finding in one.here.items():
            slack = tolerance * abs(finding.value)
            least, most = finding.low - slack, finding.high + slack
            same = not one.claim.by_seconds and least <= 1 + tolerance and most >= 1 - tolerance
            if finding.verdict == audit.SAME or same or any(least < end < most for end in ends):
                near.append(dataset)
        if near:
            said.append(f"claim {number} on {', '.join(near)}")
    return "; ".join(said)


def single(rows: pd.DataFrame, cells: list[plan.Cell]) -> str:
    """ "bellman_ford/naive on fla, ne": those of the cells that have one time only."""
    ok = rows[rows["status"] == "ok"]
    counts = ok.groupby(measurements.CELL, sort=False).size()
    once: dict[str, list[str]] = {}
    for cell in cells:
        if counts.get(cell) == 1:
            once.setdefault(f"{cell[0]}/{cell[1]}", []).append(cell[2])
    return "; ".join(f"{name} on {', '.join(datasets)}" for name, datasets in once.items())


def table(rows: pd.DataFrame, audited: list[audit.Audited], config: dict) -> str:
    """Markdown: claim, command, time, the expected result with its allowed variation.

    rows: an archive's, as measurements.load gives them. audited: its claims.
    """
    took, claimed = minutes(rows, config["protocol"]["timeout_s"]), plan.claimed_cells(config)
    tolerance, others = config["audit"]["tolerance"], substitutes(rows)
    percent = f"{100 * tolerance:g} %"
    lines = [("All claims", "audit", claimed, "the verdicts below, in `results/claims.md`")]
    for name in plan.PAPER_TABLES:
        lines.append(_table_line(name, plan.table_cells(config, name), percent, rows, others))
    for number, one in enumerate(audited, start=1):
        lines.append(_claim_line(number, one, claimed, expected(one, tolerance, others)))
    text = pd.DataFrame(
        [
            (what, f"`snakemake --cores 1 {target}`", time_text(cells, took), result)
            for what, target, cells, result in lines
        ],
        columns=["Claim", "Command", "Time", "Expected"],
    )
    ran_on = ", ".join(dict.fromkeys(device for device in rows["device"] if device))
    note = (
        f"Times and results: archive `{config['archive']}`, on {ran_on}. In parentheses: the allowed variation, which "
        f"is the interval or range of the archive widened by {percent} at both ends or, where n = 1, the single "
        f"ratio ± {percent}. Ratios of times that are mostly launching (Bellman-Ford on the smaller road "
        f"networks) may vary by {100 * BETWEEN_HOSTS:g} % between hosts."
    )
    if others:
        note += " † A substitute, as said above."
    if near := unsure(audited, tolerance):
        note += (
            f"\n\nVerdicts that another run may change, since the allowed variation reaches another verdict: {near}."
        )
    if once := single(rows, claimed):
        note += f"\n\nCells of the claims with a single run: {once}."
    of_tables = dict.fromkeys(cell for name in plan.PAPER_TABLES for cell in plan.table_cells(config, name))
    on_gpu, on_cpu = (
        time_text([cell for cell in of_tables if find(*cell[:2]).on_gpu == gpu], took) for gpu in (True, False)
    )
    note += f"\n\nAll cells of Tables 1 to 3, with all repeats: on the GPU {on_gpu}, on a CPU {on_cpu}."
    return f"{narrow(text)}\n\n{note}"


def figures_of(table: str) -> list[str]:
    """The figures that show variants of a table of the paper, and of no other family."""
    families: dict[str, set[str]] = {}
    for variant in VARIANTS.values():
        for place in variant.shown:
            families.setdefault(place, set()).add(variant.family)
    shown = dict.fromkeys(place for variant in shown_in(table) for place in variant.shown)
    return [place for place in shown if place.startswith("figure") and families[place] == {"paper"}]


def _table_line(table: str, cells: list[plan.Cell], percent: str, rows: pd.DataFrame, others: Collection[str]) -> tuple:
    """A table of the paper and the figures drawn from it: what, target, cells, expected."""
    cards = " or ".join(dict.fromkeys(rows["device"][rows["driver"] != ""])) or "the same card"
    if any(dataset in others for _, _, dataset in cells):
        expect = "the same order of variants; the times differ, since the archive's graphs are substitutes †"
    else:
        expect = (
            f"on {cards}, GPU medians within {percent} of the range in [results.md](results.md), or of the single "
            "time where n = 1; CPU columns depend on your processor"
        )
    names = [table, *figures_of(table)]
    return (
        ", ".join(re.sub(r"([a-z]+)(\d+)", lambda found: f"{found[1].title()} {found[2]}", name) for name in names),
        " ".join(names),
        cells,
        f"`results/{table}.md`: {expect}",
    )


def _claim_line(number: int, one: audit.Audited, claimed: list[plan.Cell], result: str) -> tuple:
    """A claim: what, target, cells, expected."""
    names, datasets = (one.claim.left, *one.claim.right), one.claim.datasets
    algorithm = one.claim.left.split("/")[0]
    variants = braces([name.split("/")[1] for name in names])
    return (
        f"{number}. {one.claim.claim}",
        f"results/cells/{algorithm}/{variants}/{braces(datasets)}.csv",
        [cell for cell in claimed if f"{cell[0]}/{cell[1]}" in names and cell[2] in datasets],
        result,
    )
