"""For docs/reviewers.md: what a reviewer types to check a claim, and how long it takes."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import pandas as pd

from kernels.registry import VARIANTS
from workflow.judge import claims
from workflow.plan import experiments
from workflow.publish.documents import from_template
from workflow.store import measurements

BATCH = "mine"  # the name of a reviewer's batch in the commands
Job = tuple[str, str]  # problem, dataset
JOB = ["problem", "dataset"]


def minutes(rows: pd.DataFrame, timeout_s: float, of_claims: Collection[experiments.Cell]) -> pd.Series:
    """Return, by job, the median minutes over the batches that measured most of what claims compare.

    From the first start to the last end, checks included.
    """
    rows = rows[rows["batch"] != ""]
    started = pd.to_datetime(rows["started"], utc=True)
    lasted = rows["seconds"].mask(rows["status"] == "timeout", timeout_s).fillna(0)
    cells = measurements.cell_keys(rows)
    runs = rows[[*JOB, "batch"]].assign(
        started=started,
        ended=started + pd.to_timedelta(lasted, unit="s"),
        compared=cells.where(cells.isin(["/".join(cell) for cell in of_claims])),
    )
    jobs = runs.groupby([*JOB, "batch"]).agg(
        started=("started", "min"), ended=("ended", "max"), compared=("compared", "nunique")
    )
    jobs = jobs[jobs["compared"] == jobs.groupby(JOB)["compared"].transform("max").clip(lower=1)]
    return ((jobs["ended"] - jobs["started"]).dt.total_seconds() / 60).groupby(JOB).median()


def table(measured: Mapping[str, pd.DataFrame], audited: Sequence[claims.Audited], config: dict) -> str:
    """Return the jobs with their times. measured: rows by card. audited: the claims on the first of them."""
    first, rows = next(iter(measured.items()))
    compared, jobs = experiments.claimed_cells(config), experiments.jobs(config)
    archived = set(measurements.variants(rows))  # others are not published yet, or personal
    jobs = {job: [cell for cell in cells if cell.key in archived] for job, cells in jobs.items()}
    limit = config["protocol"]["timeout_s"]
    took = {card: minutes(of_card, limit, compared) for card, of_card in measured.items()}
    claimed = {(cell.registered.problem, cell.dataset) for cell in compared}
    of_claims = [job for job in jobs if job in claimed]
    return from_template(
        "reviewers",
        jobs=_job_lines(of_claims, audited, {card: _minutes(measured[card], took[card], jobs) for card in measured}),
        card=first,
        minutes=math.ceil(took[first].reindex(of_claims).sum()),
        once=_once(rows, config, jobs),
    )


def _job_lines(
    jobs: Sequence[Job], audited: Sequence[claims.Audited], took: Mapping[str, Mapping[Job, str]]
) -> pd.DataFrame:
    """Return a row per job: its command, how long it took on each card, and the claims that it serves."""
    lines = []
    for problem, dataset in jobs:
        numbers = [
            str(one.claim.number)
            for one in audited
            if VARIANTS[one.claim.left].problem == problem and dataset in one.claim.datasets
        ]
        lines.append(
            {
                "Command": f"`snakemake --cores 1 results/batches/{BATCH}/{problem}/{dataset}/timings.csv`",
                **{f"Minutes on {card}": of_card[problem, dataset] for card, of_card in took.items()},
                "For claims": ", ".join(numbers),
            }
        )
    return pd.DataFrame(lines)


def _once(rows: pd.DataFrame, config: dict, jobs: Mapping[Job, Sequence[experiments.Cell]]) -> dict:
    """Return the names and minutes of the cells that `make` runs once, in no batch."""
    of_jobs = {cell for cells in jobs.values() for cell in cells}
    alone = [
        "/".join(cell) for cell in experiments.table_cells(config, *experiments.PAPER_TABLES) if cell not in of_jobs
    ]
    keys = measurements.cell_keys(rows)
    once = keys.isin(alone) & (rows["batch"] == "")
    return {"names": list(keys[once].unique()), "minutes": math.ceil(rows["seconds"][once].sum() / 60)}


def _minutes(rows: pd.DataFrame, took: pd.Series, jobs: Mapping[Job, Sequence[experiments.Cell]]) -> dict[Job, str]:
    """Return each job's minutes, and how many of its variants no batch has measured yet."""
    measured = set(measurements.cell_keys(rows[rows["batch"] != ""]))
    texts = dict.fromkeys(jobs, "not recorded")
    for job in set(jobs) & set(took.index):
        lacking = sum("/".join(cell) not in measured for cell in jobs[job])
        texts[job] = f"{math.ceil(took[job])}" + (f" without {lacking} of {len(jobs[job])} variants" if lacking else "")
    return texts
