"""The claims at a glance: a row a claim, a column for each card that it was measured on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from workflow.judge.claims import Audited, Claim, Finding, outcome, tally
from workflow.judge.verdicts import FEW, UNKNOWN
from workflow.views.pages import Page
from workflow.views.render import CROSS, digits

AuditedByCard = Mapping[str, Sequence[Audited]]  # the judged claims, by the head of the card's column
TITLE = "The claims at a glance"
NOTES = [
    f"{CROSS}: how many times faster the claim's variant is than the other, from the least to the greatest over the "
    "claim's graphs. If there are several others, it is compared with the fastest. Claims in seconds have differences.",
    "‡: if one batch were left out, a verdict could be undecided or different. The page of each claim has the rules "
    "of verdicts, and each ratio with its interval.",
]


def claim_by_claim(audited: AuditedByCard) -> Iterator[dict[str, Audited]]:
    """Yield, for each claim, its verdicts by card."""
    for judged in zip(*audited.values(), strict=True):
        yield dict(zip(audited, judged, strict=True))


def table(audited: AuditedByCard) -> pd.DataFrame:
    """Return a row a claim, as text."""
    lines = []
    for by_card in claim_by_claim(audited):
        first = next(iter(by_card.values()))
        lines.append(
            {
                "No.": str(first.claim.number),
                "Claim": first.claim.claim,
                "The paper's tables": f"{outcome(first.from_tables)}: {ratios(first.claim, first.from_tables)}",
                **{head: ratios(one.claim, one.from_batches) for head, one in by_card.items()},
                "Verdict": _verdict(by_card),
            }
        )
    return pd.DataFrame(lines)


def _verdict(by_card: Mapping[str, Audited]) -> str:
    """Return the verdict of each card that decides the claim; once if they agree; the first card's if none decides."""
    verdicts = {head: one.counted for head, one in by_card.items() if one.decided}
    first = next(iter(by_card))
    if not verdicts or (first in verdicts and len(set(verdicts.values())) == 1):
        return by_card[first].counted
    return "; ".join(f"{head}: {verdict}" for head, verdict in verdicts.items())


def ratios(claim: Claim, findings: Mapping[str, Finding]) -> str:
    """Return the least and the greatest measured ratio, as "x1.51 to 2.19 on 2 of 3 graphs"."""
    values = [finding.estimate.value for finding in findings.values() if finding.estimate]
    if not values:
        return UNKNOWN
    text = " to ".join(dict.fromkeys([digits(min(values)), digits(max(values))]))
    text = f"{text} s" if claim.by_seconds else f"{CROSS}{text}"
    if len(values) < len(findings):
        text += f" on {len(values)} of {len(findings)} graphs"
    few = any(finding.verdict == FEW for finding in findings.values())
    return f"{text}, {FEW}" if few and not any(finding.decided for finding in findings.values()) else text


def page(audited: AuditedByCard, sources: Mapping[str, str], substitutes: Sequence[str]) -> Page:
    """Return the page; sources: by head, a sentence; substitutes: the datasets that substitute for the paper's."""
    first = next(iter(audited))
    others = [f"{', '.join(substitutes)} are substitutes for the paper's graphs."] if substitutes else []
    return [
        ("h1", TITLE),
        ("p", f"{tally(audited[first])} ({first})."),
        ("table", table(audited)),
        ("ul", [*(f"{head}: {source}" for head, source in sources.items()), *NOTES, *others]),
    ]
