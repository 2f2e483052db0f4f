"""What a reviewer types to check a claim, how long it takes, and what should come out: a table for docs/reviewers.md.

Times and expected results are those of an archive.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Mapping, Sequence

import pandas as pd

from kernels.registry import VARIANTS, find
from workflow.judge import claims
from workflow.measure import plan
from workflow.store import measurements
from workflow.store.measurements import marked, substitutes
from workflow.views import audit
from workflow.views.documents import narrow
from workflow.views.render import CROSS, ratio

BATCH = "mine"  # the name that a reviewer's batch has in the commands
Job = tuple[str, str]  # problem, dataset


def minutes(rows: pd.DataFrame, timeout_s: float, of_claims: Collection[plan.Cell]) -> pd.Series:
    """Minutes that a job took, the median over the batches that measured most of what claims compare on it.

    Indexed by (problem, dataset). From the first start to the last end, with the checks between them.
    rows: as measurements.load gives them.
    """
    job = ["problem", "dataset"]
    rows = rows[rows["batch"] != ""]
    started = pd.to_datetime(rows["started"], utc=True)
    lasted = rows["seconds"].mask(rows["status"] == "timeout", timeout_s).fillna(0)
    cells = measurements.cells(rows)
    runs = rows[[*job, "batch"]].assign(
        started=started,
        ended=started + pd.to_timedelta(lasted, unit="s"),
        compared=cells.where(cells.isin(["/".join(cell) for cell in of_claims])),
    )
    jobs = runs.groupby([*job, "batch"]).agg(
        started=("started", "min"), ended=("ended", "max"), compared=("compared", "nunique")
    )
    jobs = jobs[jobs["compared"] == jobs.groupby(job)["compared"].transform("max")]
    return ((jobs["ended"] - jobs["started"]).dt.total_seconds() / 60).groupby(job).median()


def expected(one: claims.Audited, others: Container[str]) -> str:
    """By dataset: between which values one batch more should lie, and the archive's verdict.

    others: the datasets that are substitutes.
    """
    cross, unit, number = ("", " s", "{:.3g}".format) if one.claim.by_seconds else (CROSS, "", ratio)
    lines = []
    for dataset, finding in one.here.items():
        found = finding.estimate
        if not found:
            said = finding.why
        elif found.has_interval:
            said = f"{cross}{number(found.next_low)} to {number(found.next_high)}{unit}: {audit.verdict_text(finding)}"
        else:
            said = f"about {cross}{number(found.value)}{unit}"
        lines.append(f"{marked(dataset, others)}: {said}")
    return "\n".join(lines)


def jobs_of(one: claims.Audited, of_claims: Collection[Job]) -> list[Job]:
    """The jobs that measure what a claim compares."""
    problem = VARIANTS[one.claim.left].problem
    return [job for job in of_claims if job[0] == problem and job[1] in one.claim.datasets]


def table(rows: pd.DataFrame, of_cards: Mapping[str, Sequence[claims.Audited]], config: dict) -> str:
    """Markdown: the jobs with their times, then the claims with what one batch should give.

    rows: an archive's, as measurements.load gives them. of_cards: by card its claims, the archive's first.
    """
    audited = next(iter(of_cards.values()))
    compared, jobs = plan.claimed_cells(config), plan.jobs(config)
    took, others = minutes(rows, config["protocol"]["timeout_s"], compared), substitutes(rows)
    measured = set(zip(measurements.variants(rows), rows["dataset"], rows["batch"] != "", strict=True))
    claimed = {(find(*cell[:2]).problem, cell[2]) for cell in compared}
    of_claims = [job for job in jobs if job in claimed]
    lines = [
        {
            "Job": f"{dataset}, {measurements.SOURCES[problem]}",
            "Command": f"`snakemake --cores 1 results/batches/{BATCH}/{problem}/{dataset}/timings.csv`",
            "Minutes": _minutes((problem, dataset), took, jobs, measured),
            "For claims": ", ".join(
                str(number)
                for number, one in enumerate(audited, start=1)
                if (problem, dataset) in jobs_of(one, of_claims)
            ),
        }
        for problem, dataset in of_claims
    ]
    results = [
        {
            "Claim": f"{number}. {ones[0].claim.claim}",
            "Verdict": ones[0].counted,
            **{
                f"One batch should give, {card}": expected(one, others)
                for card, one in zip(of_cards, ones, strict=True)
            },
        }
        for number, ones in enumerate(zip(*of_cards.values(), strict=True), start=1)
    ]
    ran_on = ", ".join(dict.fromkeys(device for device in rows["device"][rows["driver"] != ""]))
    note = (
        f"Minutes and verdicts: archive `{config['archive']}`, on {ran_on}; together "
        f"{math.ceil(took.reindex(of_claims).sum())} minutes. {_once(rows, config, jobs)}One batch should give a ratio "
        "between the two ends in 95 of 100 cases, by the spread between the archive's batches; with fewer than three "
        "batches the ratio stands alone. After the colon: the verdict on that card. ‡ Undecided without one of its "
        "batches."
    )
    if others:
        note += " † A substitute, as said above."
    return f"{narrow(pd.DataFrame(lines))}\n\n{narrow(pd.DataFrame(results))}\n\n{note}"


def _once(rows: pd.DataFrame, config: dict, jobs: Mapping[Job, Sequence[plan.Cell]]) -> str:
    """A sentence on the CPU variants that `make` runs once, in no batch; empty where none was measured."""
    of_jobs = {cell for cells in jobs.values() for cell in cells}
    alone = ["/".join(cell) for cell in plan.table_cells(config, *plan.PAPER_TABLES) if cell not in of_jobs]
    keys = measurements.cells(rows)
    once = keys.isin(alone) & (rows["batch"] == "")
    if not once.any():
        return ""
    names = " and ".join(f"`{name}`" for name in dict.fromkeys(keys[once]))
    return f"`make` also runs, once, {names}: {math.ceil(rows['seconds'][once].sum() / 60)} minutes. "


def _minutes(job: Job, took: pd.Series, jobs: Mapping[Job, Sequence[plan.Cell]], measured: Container[tuple]) -> str:
    """ "3", and how many of the job's variants that time lacks. measured: (algorithm/variant, dataset, True)."""
    if job not in took.index:
        return "not recorded"
    lacking = sum((f"{cell[0]}/{cell[1]}", cell[2], True) not in measured for cell in jobs[job])
    return f"{math.ceil(took[job])}" + (f" without {lacking} of {len(jobs[job])} variants" if lacking else "")
