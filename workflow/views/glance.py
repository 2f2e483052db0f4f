"""The claims at a glance: a row a claim, a column for each card that it was measured on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from workflow.judge.claims import Audited, Claim, Finding, outcome, tally
from workflow.judge.verdicts import FEW, UNKNOWN
from workflow.views.pages import Page
from workflow.views.render import CROSS, digits

ByCard = Mapping[str, Sequence[Audited]]  # by the head of a column, the claims as batches of one card judge them
TITLE = "The claims at a glance"
NOTES = [
    f"{CROSS}: how many times faster the claim's variant is than the one that it is compared with, the strongest where "
    "those are several; from the least to the greatest over the claim's graphs. Claims in seconds: by how many.",
    "‡ Without one of its batches a verdict would be undecided or another. The rule of the verdicts, and each ratio "
    "with its interval: the page of each claim.",
]


def table(audited: ByCard) -> pd.DataFrame:
    """A row a claim, as text. Verdict: of each card whose batches decide the claim; where none does the first's."""
    lines = []
    for number, ones in enumerate(zip(*audited.values(), strict=True), start=1):
        of_card = dict(zip(audited, ones, strict=True))
        first = ones[0]
        words = {head: one.counted for head, one in of_card.items() if one.decided}
        agreed = not words or (first.decided and set(words.values()) == {first.counted})
        verdict = first.counted if agreed else "; ".join(f"{head}: {word}" for head, word in words.items())
        lines.append(
            {
                "No.": str(number),
                "Claim": first.claim.claim,
                "The paper's tables": f"{outcome(first.paper)}: {ratios(first.claim, first.paper)}",
                **{head: ratios(one.claim, one.here) for head, one in of_card.items()},
                "Verdict": verdict,
            }
        )
    return pd.DataFrame(lines)


def ratios(claim: Claim, findings: Mapping[str, Finding]) -> str:
    """ "x1.51 to 2.19 on 2 of 3 graphs": the least and the greatest of what was measured."""
    values = [finding.estimate.value for finding in findings.values() if finding.estimate]
    if not values:
        return UNKNOWN
    ends = [f"{end:.3g}" if claim.by_seconds else digits(end) for end in (min(values), max(values))]
    text = " to ".join(dict.fromkeys(ends))
    text = f"{text} s" if claim.by_seconds else f"{CROSS}{text}"
    if len(values) < len(findings):
        text += f" on {len(values)} of {len(findings)} graphs"
    few = any(finding.verdict == FEW for finding in findings.values())
    return f"{text}, {FEW}" if few and not any(finding.decided for finding in findings.values()) else text


def page(audited: ByCard, sources: Mapping[str, str], substitutes: Sequence[str]) -> Page:
    """sources: by head, where its measurements come from. substitutes: the datasets that are not the paper's."""
    first = next(iter(audited))
    others = [f"{', '.join(substitutes)} are substitutes for the paper's graphs."] if substitutes else []
    said = [f"{head}: {source}" for head, source in sources.items()]
    return [
        ("h1", TITLE),
        ("p", f"{tally(audited[first])} ({first})."),
        ("table", table(audited)),
        ("ul", [*said, *NOTES, *others]),
    ]
