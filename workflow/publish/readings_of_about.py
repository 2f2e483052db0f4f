"""For docs/results.md: the verdicts on claimed values by each reading of the paper's "about"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping
from dataclasses import replace

import pandas as pd

from workflow.judge import claims
from workflow.judge.claims import outcome
from workflow.publish.documents import from_template, listed
from workflow.store.columns import Measurements
from workflow.store.measurements import marked

READINGS = {"printed digits": None, "±10 %": 0.1, "±25 %": 0.25}  # the `about` of a claim


def text(measured: Mapping[str, Measurements], others: Container[str], tolerance: float) -> str:
    """Return the verdicts that depend on the reading, a row for each.

    measured: rows by card. others: the substitutes.
    """
    valued = [claim for claim in claims.claims() if claim.valued]
    cards = defaultdict(list)
    for card, rows in measured.items():
        for claim in valued:
            read = [replace(claim, about=about) for about in READINGS.values()]
            audited = claims.audit(claims.select(rows, read), read, tolerance)
            outcomes = {
                marked(dataset, others): [one.from_batches[dataset].verdict for one in audited]
                for dataset in audited[0].from_batches
            }
            if len(outcomes) > 1:
                outcomes["as a whole"] = [outcome(one.from_batches) for one in audited]
            for place, (name, words) in enumerate(outcomes.items()):
                if len(set(words)) > 1:
                    cards[claim.number, place, name, *words].append(card)
    lines = [
        {"Claim": str(number), "Graph": name, "Card": listed(on), **dict(zip(READINGS, words, strict=True))}
        for (number, _, name, *words), on in sorted(cards.items(), key=lambda one: one[0][:2])
    ]
    return from_template("about", lines=lines, table=pd.DataFrame(lines))
