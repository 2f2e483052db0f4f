"""The paper's claims (workflow/paper/claims.csv), judged from its own tables, its own program, and our batches.

`rule` states how a verdict is reached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from kernels.errors import InputError
from workflow.judge import batches, original, verdicts
from workflow.judge.batches import Medians
from workflow.judge.verdicts import CLAIMED, FEW, INCONCLUSIVE, OPEN, OPPOSITE, SAME, UNKNOWN, Estimate, Region
from workflow.store import measurements, paper
from workflow.store.columns import Measurements

CLAIMS = paper.FOLDER / "claims.csv"
FRAGILE = " ‡"  # after a verdict that is open, or another, without one of its batches
TALLIED = {  # by verdict, in this order
    verdicts.CLAIMED: "{} as claimed",
    verdicts.NOT_CLAIMED: "{} not as claimed",
    verdicts.MIXED: "{} mixed",
    INCONCLUSIVE: "{} inconclusive",
    FEW: "{} without a verdict for want of batches",
    UNKNOWN: "{} not measured",
}


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper: left is slower, faster ... than each of right (algorithm/variant), on datasets.

    low, high: the paper's value as printed, if the relation is in paper.VALUED: factors, or seconds. reading: how the
    text was understood. about: the tolerance of the value, as in verdicts.factors. number: the displayed one, from 1 in
    the order of the file.
    """

    number: int
    id: str
    section: str
    claim: str
    left: str
    right: tuple[str, ...]
    datasets: tuple[str, ...]
    relation: str
    low: str
    high: str
    reading: str
    about: float | None = None

    @property
    def valued(self) -> bool:
        return self.relation in paper.VALUED

    @property
    def by_seconds(self) -> bool:
        return self.relation == "faster_by_s"

    @property
    def names(self) -> tuple[str, ...]:
        return (self.left, *self.right)

    def values(self, times: pd.DataFrame) -> np.ndarray:
        """Return what the claim is about by batch, of the times (s) of `left`, the claim's variant, and `right`."""
        values = times["right"] - times["left"] if self.by_seconds else times["right"] / times["left"]
        return values.to_numpy()

    def directions(self, tolerance: float) -> dict[str, Region]:
        """Return the regions of left's speed-up; no difference is within the tolerance of 1."""
        faster, slower, same = verdicts.directions(tolerance).values()
        if self.relation == "no_better":
            return {OPPOSITE: faster, CLAIMED: (-np.inf, 1 + tolerance)}
        held, failed = (slower, faster) if self.relation == "slower" else (faster, slower)
        return {CLAIMED: held, OPPOSITE: failed, SAME: same}

    @property
    def factors(self) -> dict[str, Region]:
        """Return the regions of the claimed value."""
        return verdicts.factors(self.low, self.high, self.about)


@dataclass(frozen=True)
class Finding:
    """The judgement of a claim on one dataset, over the strongest competitor.

    verdict: the factor's word if the claim has a value, else the direction's. over: the competitor. estimate: left's
    speed-up over it, or the difference in seconds. rounds: the fewest of a batch. cards, hosts: their ids. needed: the
    number of batches that would decide, if these do not. verdict_without_batch: by batch. why: what an unknown
    verdict lacks.
    """

    verdict: str
    direction: str = ""
    factor: str = ""
    over: str = ""
    estimate: Estimate | None = None
    rounds: int = 0
    cards: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()
    needed: int | None = None
    verdict_without_batch: Mapping[str, str] = field(default_factory=dict)
    why: str = ""

    @property
    def decided(self) -> bool:
        return self.verdict not in OPEN

    @property
    def fragile(self) -> bool:
        """Whether the verdict is open, or another, without one of the batches."""
        return self.decided and any(word != self.verdict for word in self.verdict_without_batch.values())


@dataclass(frozen=True)
class Audited:
    """A claim with, by dataset, the findings from the paper's tables and our batches, and its program's estimates.

    throttled: the variants whose card was throttled, with the reasons.
    """

    claim: Claim
    from_tables: dict[str, Finding]
    from_batches: dict[str, Finding]
    from_program: dict[str, Estimate | None] = field(default_factory=dict)
    throttled: dict[str, str] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """The verdict on the whole claim; "on this card" if all its batches are of one card."""
        word = outcome(self.from_batches)
        cards = frozenset().union(
            *(finding.cards for finding in (deciding(self.from_batches) or self.from_batches).values())
        )
        return f"{word}, on this card" if len(cards) == 1 and word not in (FEW, UNKNOWN) else word

    @property
    def decided(self) -> bool:
        """Whether our batches decide the claim on at least one dataset."""
        return bool(deciding(self.from_batches))

    @property
    def fragile(self) -> bool:
        """Whether the verdict on the whole claim is open, or another, without one of the batches."""
        return bool(self.turned_on)

    @property
    def turned_on(self) -> list[str]:
        """The datasets on which a batch is left out if the verdict on the whole claim is then open, or another."""
        if not self.decided:
            return []
        left_out = {batch for finding in self.from_batches.values() for batch in finding.verdict_without_batch}
        turned = set()
        for batch in left_out:
            words = {
                dataset: finding.verdict_without_batch.get(batch, finding.verdict)
                for dataset, finding in self.from_batches.items()
            }
            if verdicts.whole(list(words.values())) != outcome(self.from_batches):
                turned |= {dataset for dataset, word in words.items() if word != self.from_batches[dataset].verdict}
        return [dataset for dataset in self.from_batches if dataset in turned]

    @property
    def counted(self) -> str:
        """The verdict with its mark, and the number of decided datasets if not all are."""
        decided, text = len(deciding(self.from_batches)), self.verdict + (FRAGILE if self.fragile else "")
        return (
            f"{text} ({decided} of {len(self.from_batches)} decided)" if 0 < decided < len(self.from_batches) else text
        )


def deciding(findings: Mapping[str, Finding]) -> dict[str, Finding]:
    """Return the findings that are decided."""
    return {dataset: finding for dataset, finding in findings.items() if finding.decided}


def outcome(findings: Mapping[str, Finding]) -> str:
    """Return the verdict on a claim from the findings on its datasets."""
    return verdicts.whole([finding.verdict for finding in findings.values()])


def tally(audited: Sequence[Audited]) -> str:
    """Count the verdicts: "Of the paper's 12 claims: 4 as claimed, 3 not as claimed, 5 mixed"."""
    words = [outcome(one.from_batches) for one in audited]
    counts = [said.format(count) for word, said in TALLIED.items() if (count := words.count(word))]
    return f"Of the paper's {len(words)} claims: {', '.join(counts)}"


def claims(path: Path = CLAIMS) -> list[Claim]:
    """Read the claims. A reading names another claim by its id, as "claim {stride_small}", which becomes its number.

    Raises InputError if a line breaks a rule of paper.CLAIMS, or if a reading names an unknown id.
    """
    rows = paper.claims(path)
    numbers = {row["id"]: number for number, row in enumerate(rows, start=1)}
    listed = []
    for row in rows:
        try:
            reading = row["reading"].format_map(numbers)
        except (KeyError, ValueError) as error:
            raise InputError(f"{path} (claim {row['id']}): reading: no claim {error}: correct the file") from None
        names = {column: tuple(row[column].split()) for column in ("right", "datasets")}
        listed.append(Claim(**row | names | {"number": numbers[row["id"]], "reading": reading}))
    return listed


def rule(tolerance: float) -> list[str]:
    """Return the sentences that state how verdicts are reached."""
    percent = f"{100 * tolerance:g} %"
    return [
        batches.JOBS,
        "r is the other variant's median time divided by that of the claim's variant, in one job. Above 1, the claim's "
        "variant is faster. Over batches, r is the geometric mean. From three batches on, it has the 95 % interval by "
        "Student's t of the logarithms. A claim in seconds has the arithmetic mean of differences, and their interval. "
        "Of two batches, r has its range in parentheses, and there is no verdict.",
        "One more batch: the 95 % prediction interval for r of another batch on the same graphs and model of card.",
        f"Direction: {CLAIMED} or {OPPOSITE} if the interval excludes 1; {SAME} if it includes 1 and lies within "
        f"{percent} of it; otherwise {INCONCLUSIVE}, with the number of batches that would be enough at this spread.",
        "Factor: a claimed value stands for a range, half a unit of its last printed digit to each side (2: from 1.5 "
        "to 2.5). As claimed: the interval lies in this range; less: below it; more: above it; otherwise inconclusive. "
        "A claim of a value is judged by the factor.",
        f"A claim as a whole is {CLAIMED} if it is so on every decided dataset, {verdicts.NOT_CLAIMED} if on none, "
        f"otherwise {verdicts.MIXED}. If no dataset is decided, it is {INCONCLUSIVE} if any dataset is, otherwise "
        f"{FEW} or {UNKNOWN}.",
        f'"No faster" is {OPPOSITE} if the interval lies above 1, otherwise {CLAIMED} if it lies below '
        f"{1 + tolerance:g}, otherwise {INCONCLUSIVE}.",
        "If the text names no graph, a claim is judged on all graphs of its table or on those that its note names.",
        'A claim that a variant is faster than several is judged against the fastest of them, named after "over".',
        f"The paper's tables have one time in a cell. So r within {percent} of 1 is no difference, and a value is "
        "compared without an interval. The paper's own program was run outside this workflow (workflow/paper), on "
        "substitutes of all road networks, nyc and bay included. Its ratio and range have no verdict. Two batches are "
        "one from an H200 and one from an H100; a single run is from an H200.",
        "‡: if one batch were left out, the verdict could be undecided or different.",
    ]


def judge(claim: Claim, dataset: str, of_batches: Medians, tolerance: float) -> Finding:
    """Judge the claim on one dataset from batches."""
    findings = [_compare(claim, over, dataset, of_batches, tolerance) for over in claim.right]
    missing = [finding for finding in findings if finding.verdict == UNKNOWN]
    return missing[0] if missing else _strongest(findings)


def _strongest(findings: list[Finding]) -> Finding:
    """Return the finding that decides a claim over several competitors: as claimed only if each finding is."""
    order = (OPPOSITE, verdicts.LESS, verdicts.MORE, SAME, INCONCLUSIVE, FEW, CLAIMED)
    decisive = min(findings, key=lambda finding: (order.index(finding.verdict), finding.estimate.value))
    left_out = {batch for one in findings for batch in one.verdict_without_batch}
    without = {
        batch: min((one.verdict_without_batch.get(batch, one.verdict) for one in findings), key=order.index)
        for batch in left_out
    }
    return replace(decisive, verdict_without_batch=without)


def _compare(claim: Claim, over: str, dataset: str, of_batches: Medians, tolerance: float) -> Finding:
    """Judge the claim over one competitor, from all batches and without each of them."""
    both = batches.pairs(of_batches, claim.left, over, dataset)
    if both.empty:
        measured = of_batches.index[of_batches.index.get_level_values("dataset") == dataset].get_level_values("column")
        missing = [name for name in (claim.left, over) if name not in measured]
        return Finding(UNKNOWN, why=f"no time of {', '.join(missing)}" if missing else "not measured in one job")
    times = both[["left", "right"]]
    without = {} if len(times) == 1 else {batch: _judge(claim, times.drop(batch), tolerance) for batch in times.index}
    return replace(
        _judge(claim, times, tolerance),
        over=over,
        rounds=int(both["rounds"].min()),
        cards=frozenset(both["card_uuid"]),
        hosts=frozenset(both["host_id"]),
        verdict_without_batch={batch: finding.verdict for batch, finding in without.items()},
    )


def _judge(claim: Claim, times: pd.DataFrame, tolerance: float) -> Finding:
    """Judge the claim from the times (s) of each batch: `left`, the claim's variant, and `right`."""
    ratios, regions = (times["right"] / times["left"]).to_numpy(), claim.directions(tolerance)
    estimate = verdicts.estimate(ratios)
    direction = verdicts.decide(estimate, regions)
    needed = verdicts.needed(ratios, regions) if direction == INCONCLUSIVE else None
    if not claim.valued:
        return Finding(direction, direction, estimate=estimate, needed=needed)
    values = claim.values(times)
    estimate = verdicts.estimate(values, differences=claim.by_seconds)
    factor = verdicts.decide(estimate, claim.factors)
    if factor == INCONCLUSIVE:
        needed = verdicts.needed(values, claim.factors, differences=claim.by_seconds)
    return Finding(factor, direction, factor, estimate=estimate, needed=needed)


def judge_paper(claim: Claim, dataset: str, tolerance: float) -> Finding:
    """Judge the claim on one dataset from the paper's own tables, which have one time a cell."""
    times = _paper_times()
    if missing := [name for name in claim.names if (name, dataset) not in times.index]:
        return Finding(UNKNOWN, why=f"no time of {', '.join(missing)}")
    findings = []
    for over in claim.right:
        left, right = times[claim.left, dataset], times[over, dataset]
        direction = verdicts.decide_point(right / left, claim.directions(tolerance))
        value = right - left if claim.by_seconds else right / left
        factor = verdicts.decide_point(value, claim.factors) if claim.valued else ""
        estimate = verdicts.estimate([value], differences=claim.by_seconds)
        findings.append(Finding(factor or direction, direction, factor, over, estimate))
    return _strongest(findings)


@cache
def _paper_times() -> pd.Series:
    return paper.times()["seconds"].dropna()


def select(rows: Measurements, listed: list[Claim]) -> Measurements:
    """Return the pooled rows of the claims' cells. Raises as measurements.select."""
    cells = {(name, dataset) for claim in listed for name in claim.names for dataset in claim.datasets}
    keys = pd.MultiIndex.from_arrays([measurements.variants(rows), rows["dataset"]])
    rows = rows[keys.isin(list(cells))]
    return measurements.select(rows, measurements.variants(rows).unique(), rows["dataset"].unique())


def audit(rows: Measurements, listed: list[Claim], tolerance: float) -> list[Audited]:
    """Judge the claims from the rows of `select`."""
    of_batches = batches.medians(rows)
    reasons = rows[rows["throttling"] != ""].groupby([measurements.variants(rows), "dataset"])["throttling"].first()
    return [
        Audited(
            claim,
            {dataset: judge_paper(claim, dataset, tolerance) for dataset in claim.datasets},
            here := {dataset: judge(claim, dataset, of_batches, tolerance) for dataset in claim.datasets},
            {dataset: of_program(claim, dataset, here[dataset].over) for dataset in claim.datasets},
            {dataset: _throttled(claim, dataset, reasons) for dataset in claim.datasets},
        )
        for claim in listed
    ]


def _throttled(claim: Claim, dataset: str, reasons: pd.Series) -> str:
    names = [name for name in claim.names if (name, dataset) in reasons.index]
    return ", ".join(f"{name} ({reasons[name, dataset]})" for name in names)


def of_program(claim: Claim, dataset: str, over: str) -> Estimate | None:
    """Estimate the claim from the paper's own program: over one competitor, or its strongest if `over` is empty.

    None if the program was not measured.
    """
    names = [name for name in claim.right if over in ("", name)]
    estimates = [original.estimate(claim.left, name, dataset, differences=claim.by_seconds) for name in names]
    return min(estimates, key=lambda one: one.value) if estimates and all(estimates) else None


def disagreeing(one: Audited, tolerance: float) -> dict[str, str]:
    """Return the datasets with a `disagreement`, and its words."""
    disagreements = {dataset: disagreement(one, dataset, tolerance) for dataset in one.from_batches}
    return {dataset: where for dataset, where in disagreements.items() if where}


def disagreement(one: Audited, dataset: str, tolerance: float) -> str:
    """Say where the paper's own program lies if its direction differs from ours, which is decided; else return "".

    They differ if the program's range and our interval do not overlap, and the range lies on the other side of 1, or
    within the tolerance of 1 although ours has a direction, or outside it although ours is no difference.
    """
    program, here = one.from_program.get(dataset), one.from_batches[dataset]
    if not program or one.claim.by_seconds or here.direction in (*OPEN, ""):
        return ""
    ours, percent = here.estimate, f"{100 * tolerance:g} %"
    if program.low <= ours.high and ours.low <= program.high:
        return ""
    if here.direction == SAME:
        return f"more than {percent} from 1" if program.low > 1 + tolerance or program.high < 1 - tolerance else ""
    if program.low > 1 - tolerance and program.high < 1 + tolerance:
        return f"within {percent} of 1"
    return "on the other side of 1" if (program.high < 1 if ours.low > 1 else program.low > 1) else ""
