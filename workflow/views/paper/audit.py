"""Render the page of the claims, results/claims.*: each beside the paper's tables, the paper's program and our batches.

workflow/judge/claims.py judges them.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

import pandas as pd

from kernels.registry import VARIANTS
from workflow.judge import verdicts
from workflow.judge.claims import (
    FRAGILE,
    Audited,
    Claim,
    Finding,
    audit,
    claims,
    disagreeing,
    judge_paper,
    outcome,
    rule,
    select,
)
from workflow.judge.verdicts import FEW, INCONCLUSIVE, MOST_BATCHES, UNKNOWN, Estimate
from workflow.store import measurements
from workflow.store.measurements import marked, substitutes
from workflow.views import pages
from workflow.views.context import Context
from workflow.views.render import CROSS, digits, ends, ratio

READINGS = {"printed digits": None, "±10 %": 0.1, "±25 %": 0.25}  # the `about` of a claim


def facts(audited: list[Audited], rows: pd.DataFrame, source: str) -> pd.DataFrame:
    """Return a row per claim and dataset; numbers are factors or seconds (column "unit")."""
    others = substitutes(rows)
    lines = [(one, dataset) for one in audited for dataset in one.from_batches]
    return pd.DataFrame([_fact(*line) | {"substitute": others.get(line[1], ""), "source": source} for line in lines])


def _fact(one: Audited, dataset: str) -> dict:
    claim, paper, here = one.claim, one.from_tables[dataset], one.from_batches[dataset]
    least, most = claim.factors[verdicts.CLAIMED] if claim.valued else ("", "")
    return {
        "claim": claim.id,
        "section": claim.section,
        "says": claim.claim,
        "left": claim.left,
        "right": " ".join(claim.right),
        "dataset": dataset,
        "relation": claim.relation,
        "unit": "s" if claim.by_seconds else "ratio",
        "claimed low": least,
        "claimed high": most,
        "paper": paper.estimate.value if paper.estimate else "",
        "paper verdict": paper.verdict,
        **_ends("program", one.from_program[dataset]),
        "over": here.over,
        **_ends("measured", here.estimate),
        "ends": here.estimate.ends if here.estimate else "",
        "rounds": here.rounds or "",
        "cards": len(here.cards) or "",
        "direction": here.direction,
        "factor": here.factor,
        "verdict": here.verdict,
        "lost without one batch": here.fragile,
        "batches needed": here.needed or "",
        "claim's verdict": one.verdict,
        "turns without one batch": one.fragile,
        "why not measured": here.why,
        "throttled": one.throttled[dataset],
    }


def _ends(name: str, estimate: Estimate | None) -> dict:
    """Return an estimate's columns, empty for None."""
    values = (estimate.value, estimate.low, estimate.high, estimate.batches) if estimate else [""] * 4
    return dict(zip((name, f"{name} low", f"{name} high", f"{name} batches"), values, strict=True))


def page(audited: list[Audited], rows: pd.DataFrame, source: str, tolerance: float) -> pages.Page:
    others = substitutes(rows)
    blocks = [
        ("h1", "The paper's claims, compared with the measurements"),
        ("table", overview(audited)),
        ("ul", [*measurements.about(rows, source), *rule(tolerance)]),
    ]
    for one in audited:
        text = pd.DataFrame([line(one, dataset, others) for dataset in one.from_batches])
        blocks += [
            ("h2", f"{one.claim.number}. {one.claim.claim}"),
            ("p", f"Section {one.claim.section}: {relation_text(one.claim)}. {one.claim.reading}".strip()),
            ("table", text),
        ]
        if said := apart(one, tolerance):
            blocks.append(("p", said))
    return [
        *blocks,
        ("h2", "Other readings"),
        ("p", 'These verdicts depend on the range of numbers for which a claimed "about 2" holds.'),
        ("table", other_tolerances(audited, rows, others, tolerance)),
        ("h2", "The paper's tables, read exactly"),
        ("p", "These verdicts on the paper's tables differ if a ratio and a claimed value are read exactly."),
        ("table", read_exactly(audited)),
    ]


def other_tolerances(
    audited: list[Audited], rows: pd.DataFrame, others: Container[str], tolerance: float
) -> pd.DataFrame:
    """Return the verdicts on claimed values that differ between READINGS, a row for each."""
    lines = []
    for claim in (one.claim for one in audited if one.claim.valued):
        read = [replace(claim, about=about) for about in READINGS.values()]
        judged = audit(select(rows, read), read, tolerance)
        words = {marked(name, others): [one.from_batches[name].verdict for one in judged] for name in claim.datasets}
        if len(words) > 1:
            words["as a whole"] = [outcome(one.from_batches) for one in judged]
        lines += [
            {"Claim": str(claim.number), "Dataset": name, **dict(zip(READINGS, verdict, strict=True))}
            for name, verdict in words.items()
            if len(set(verdict)) > 1
        ]
    return pd.DataFrame(lines, columns=["Claim", "Dataset", *READINGS])


def read_exactly(audited: list[Audited]) -> pd.DataFrame:
    """Return the claims with other verdicts on the paper's tables if nothing is tolerated, a row for each."""
    lines = []
    for one in audited:
        exactly = replace(one.claim, about=0)
        verdict = by_verdict({dataset: judge_paper(exactly, dataset, 0) for dataset in one.from_tables})
        if verdict != by_verdict(one.from_tables):
            lines.append({"Claim": str(one.claim.number), "Read exactly": verdict})
    return pd.DataFrame(lines, columns=["Claim", "Read exactly"])


def line(one: Audited, dataset: str, others: dict[str, str]) -> dict[str, str]:
    """Return a claim on one dataset as text; others: the substitutes."""
    here, paper = one.from_batches[dataset], one.from_tables[dataset]
    throttled = f"; throttled: {one.throttled[dataset]}" if one.throttled[dataset] else ""
    return {
        "Dataset": marked(dataset, others),
        "Paper's tables": f"{value_text(one.claim, paper)}: {paper.verdict}" if paper.estimate else paper.why,
        "Paper's program": estimate_text(one.claim, one.from_program[dataset], over_text(one.claim, here)),
        "Ours": value_text(one.claim, here) + throttled,
        "Verdict": verdict_text(here),
        "One more batch": next_text(one.claim, here.estimate) if here.estimate and here.estimate.has_interval else "-",
    }


def apart(one: Audited, tolerance: float) -> str:
    """Return a sentence for each dataset on which the paper's own program has another direction than our batches."""
    return " ".join(
        f"On {dataset} the ratio of the paper's own program lies {where} and outside our interval."
        for dataset, where in disagreeing(one, tolerance).items()
    )


def overview(audited: list[Audited]) -> pd.DataFrame:
    """Return the table at the top of the page, a row per claim."""
    return pd.DataFrame(
        [
            {
                "Claim": f"{one.claim.number}. {one.claim.claim}",
                "Section": one.claim.section,
                "The paper's own tables": f"{outcome(one.from_tables)} ({by_verdict(one.from_tables)})",
                "Ours": by_verdict(one.from_batches),
                "Verdict": one.counted,
            }
            for one in audited
        ]
    )


def by_verdict(findings: dict[str, Finding]) -> str:
    """Group datasets by verdict: "as claimed: nyc; no difference: bay, col", or "as claimed: all 6"."""
    by_word: dict[str, list[str]] = {}
    fragile = [finding.fragile for finding in findings.values()]
    each = f" (each{FRAGILE})" if len(fragile) > 1 and all(fragile) else ""
    for dataset, finding in findings.items():
        ratio = f" {short(finding)}" if finding.verdict == FEW else ""
        mark = FRAGILE if finding.fragile and not each else ""
        by_word.setdefault(finding.verdict, []).append(dataset + ratio + mark)
    plain = (each or not any(fragile)) and FEW not in by_word
    if len(by_word) == 1 and len(findings) > 1 and plain:
        return f"{next(iter(by_word))}: all {len(findings)}{each}"
    return "; ".join(f"{verdict}: {', '.join(names)}" for verdict, names in by_word.items()) + each


def short(finding: Finding) -> str:
    """Return the measured value in its shortest form: "x1.51" or "2.41 s"."""
    estimate = finding.estimate
    return f"{digits(estimate.value)} s" if estimate.differences else f"{CROSS}{digits(estimate.value)}"


def relation_text(claim: Claim) -> str:
    """State the claim by its variants: "floyd_warshall/tiled 4 to 6 times faster than floyd_warshall/naive"."""
    value = claim.low if claim.low == claim.high else f"{claim.low} to {claim.high}"
    words = {
        "fastest": "faster than each of",
        "no_better": "not faster than",
        "times_faster": f"{value} times faster than",
        "faster_by_s": f"{value} s faster than",
    }
    return f"{claim.left} {words.get(claim.relation, f'{claim.relation} than')} {', '.join(claim.right)}"


def verdict_text(finding: Finding) -> str:
    """Return the verdict, of a value with its direction ("less ‡; direction as claimed"), and the batches needed."""
    text = finding.verdict + (FRAGILE if finding.fragile else "")
    would_do = f", {finding.needed or f'more than {MOST_BATCHES}'} batches would do"
    if finding.verdict == INCONCLUSIVE:
        text += would_do
    if finding.factor and finding.verdict not in (FEW, UNKNOWN, finding.direction):
        text += f"; direction {finding.direction}"
        text += would_do if finding.decided and finding.direction == INCONCLUSIVE else ""
    return text


def value_text(claim: Claim, finding: Finding) -> str:
    """Return "x1.51 over Naive [1.50, 1.52], 5 batches, on one card", or what is missing."""
    if not finding.estimate:
        return finding.why
    alone = ", on one card" if finding.estimate.batches > 1 and len(finding.cards) == 1 else ""
    return estimate_text(claim, finding.estimate, over_text(claim, finding)) + alone


def over_text(claim: Claim, finding: Finding) -> str:
    """Return " over Naive" for a claim against several variants of which Naive decides, else nothing."""
    return f" over {VARIANTS[finding.over].title}" if finding.over and len(claim.right) > 1 else ""


def estimate_text(claim: Claim, estimate: Estimate | None, over: str = "") -> str:
    """Return "x1.51 [1.50, 1.52], 5 batches", or "-" for None."""
    if not estimate:
        return "-"

    number = digits if claim.by_seconds else ratio
    text = (f"{number(estimate.value)} s" if claim.by_seconds else f"{CROSS}{number(estimate.value)}") + over
    if estimate.batches == 1:
        return text
    return f"{text}{ends(estimate, number)}, {estimate.batches} batches"


def next_text(claim: Claim, estimate: Estimate) -> str:
    """Return the interval for one more batch: "x1.41 to 1.62"."""
    cross, unit, number = ("", " s", digits) if claim.by_seconds else (CROSS, "", ratio)
    return f"{cross}{number(estimate.next_low)} to {number(estimate.next_high)}{unit}"


def render_audit(rows: pd.DataFrame, context: Context) -> dict[str, str]:
    """Render the page of the claims."""
    listed = claims(*context.paths("claims"))
    rows = select(rows, listed)
    audited = audit(rows, listed, context.tolerance)
    return pages.files(
        "claims", facts(audited, rows, context.source), page(audited, rows, context.source, context.tolerance)
    )
