"""For docs/results.md: the verdicts on claimed values by each reading of the paper's "about"."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from workflow.judge import claims
from workflow.judge.claims import outcome
from workflow.store.columns import Measurements
from workflow.store.measurements import marked
from workflow.views import audit
from workflow.views.documents import from_template

READINGS = {"printed digits": None, "±10 %": 0.1, "±25 %": 0.25}  # the `about` of a claim


def text(measured: Mapping[str, Measurements], others: Container[str], tolerance: float) -> str:
    """Return the verdicts by reading, and name those that depend on it.

    measured: rows by card. others: the substitutes.
    """
    listed = [(number, claim) for number, claim in enumerate(claims.claims(), start=1) if claim.valued]
    lines = [{"Claim": f"{number}. {claim.claim}"} for number, claim in listed]
    dependent: dict[str, list[str]] = {card: [] for card in measured}
    for card, rows in measured.items():
        for line, (number, claim) in zip(lines, listed, strict=True):
            read = [replace(claim, about=about) for about in READINGS.values()]
            audited = claims.audit(claims.select(rows, read), read, tolerance)
            said, where = [], []
            for dataset, finding in audited[0].here.items():
                words = [one.here[dataset].verdict for one in audited]
                value = f"{audit.estimate_text(claim, finding.estimate)}: " if finding.estimate else ""
                said.append(f"{marked(dataset, others)}: {value}{_joined(words)}")
                where += [dataset] if len(set(words)) > 1 else []
            if len(said) > 1:
                words = [outcome(one.here) for one in audited]
                said.append(f"**as a whole: {_joined(words)}**")
                where += ["as a whole"] if len(set(words)) > 1 else []
            dependent[card] += [f"claim {number} ({', '.join(where)})"] if where else []
            line[card] = "\n".join(said)
    return from_template("about", table=pd.DataFrame(lines), readings=list(READINGS), dependent=dependent)


def _joined(words: Sequence[str]) -> str:
    """Join the verdicts by reading; one if all are the same."""
    return " / ".join(words if len(set(words)) > 1 else words[:1])
