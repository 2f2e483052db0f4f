"""For docs/results.md: the verdicts on claimed values by each reading of the paper's "about"."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace

import pandas as pd

from workflow.judge import claims
from workflow.judge.claims import outcome
from workflow.publish.documents import from_template
from workflow.store.columns import Measurements
from workflow.store.measurements import marked

READINGS = {"printed digits": None, "±10 %": 0.1, "±25 %": 0.25}  # the `about` of a claim


def text(measured: Mapping[str, Measurements], others: Container[str], tolerance: float) -> str:
    """Return the verdicts that depend on the reading, a row for each.

    measured: rows by card. others: the substitutes.
    """
    listed = [claim for claim in claims.claims() if claim.valued]
    lines = []
    for card, rows in measured.items():
        for claim in listed:
            read = [replace(claim, about=about) for about in READINGS.values()]
            audited = claims.audit(claims.select(rows, read), read, tolerance)
            outcomes = {
                marked(dataset, others): [one.from_batches[dataset].verdict for one in audited]
                for dataset in audited[0].from_batches
            }
            if len(outcomes) > 1:
                outcomes["as a whole"] = [outcome(one.from_batches) for one in audited]
            lines += [
                {"Card": card, "Claim": str(claim.number), "Graph": name, **dict(zip(READINGS, words, strict=True))}
                for name, words in outcomes.items()
                if len(set(words)) > 1
            ]
    return from_template("about", lines=lines, table=pd.DataFrame(lines))
