"""The paper's claims, judged: on its own tables, on the times of its own program, and on batches of measurements.

The claims stand in workflow/paper/claims.csv; rule() says how a verdict is reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from kernels.errors import InputError
from kernels.registry import VARIANTS
from workflow.judge import batches, verdicts
from workflow.judge.verdicts import CLAIMED, FEW, INCONCLUSIVE, OPPOSITE, SAME, UNKNOWN, Estimate, Region
from workflow.store import measurements, original, paper

CLAIMS = measurements.PAPER / "claims.csv"
FRAGILE = " ‡"  # behind a verdict that is lost where one batch is left out
OPEN = INCONCLUSIVE, FEW, UNKNOWN  # the words where nothing is decided
VALUED = ("times_faster", "faster_by_s")  # relations that claim a value, from low to high
RELATIONS = ("slower", "faster", "fastest", "no_better", *VALUED)
TALLIED = {  # how claims with that verdict are counted, in this order
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

    low, high: the paper's value as printed, of a relation in VALUED: a factor, or seconds. reading: why these datasets.
    """

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

    @property
    def valued(self) -> bool:
        return self.relation in VALUED

    @property
    def by_seconds(self) -> bool:
        return self.relation == "faster_by_s"

    @property
    def names(self) -> tuple[str, ...]:
        return (self.left, *self.right)

    def directions(self, tolerance: float) -> dict[str, Region]:
        """Regions of left's speed-up; no difference lies within the tolerance of 1."""
        faster, slower, same = (1, np.inf), (-np.inf, 1), (1 - tolerance, 1 + tolerance)
        if self.relation == "no_better":
            return {OPPOSITE: faster, CLAIMED: (-np.inf, 1 + tolerance)}
        held, failed = (slower, faster) if self.relation == "slower" else (faster, slower)
        return {CLAIMED: held, OPPOSITE: failed, SAME: same}

    @property
    def factors(self) -> dict[str, Region]:
        """Regions of the claimed value."""
        return verdicts.factors(self.low, self.high)


@dataclass(frozen=True)
class Finding:
    """What times say of a claim on one dataset, where the strongest competitor decides.

    verdict: of the factor where the claim is of a value, else the direction. direction, factor: a word each; factor is
    empty where the claim is of no value. over: that competitor. estimate: left's speed-up over it, or by how many
    seconds left is faster; None where nothing was measured. rounds: the least of a batch. cards: UUIDs. hosts: ids.
    needed: how many batches would decide, where these do not; None where more than verdicts.MOST_BATCHES.
    without: by batch, the verdict where it is left out. why: what an unknown verdict lacks.
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
    without: Mapping[str, str] = field(default_factory=dict)
    why: str = ""

    @property
    def decided(self) -> bool:
        return self.verdict not in OPEN

    @property
    def fragile(self) -> bool:
        """Whether the verdict is lost where one batch is left out."""
        return self.decided and any(word in OPEN for word in self.without.values())


@dataclass(frozen=True)
class Audited:
    """A claim and, by dataset, what the paper's tables, its own program and our measurements say of it.

    program: the estimate of the program, None where it was not measured. throttled: the variants whose card was
    throttled, with its reasons.
    """

    claim: Claim
    paper: dict[str, Finding]
    here: dict[str, Finding]
    program: dict[str, Estimate | None] = field(default_factory=dict)
    throttled: dict[str, str] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """On the claim as a whole; "on this card" where all batches that it rests on are of one."""
        word = outcome(self.here)
        cards = frozenset().union(*(finding.cards for finding in (deciding(self.here) or self.here).values()))
        return f"{word}, on this card" if len(cards) == 1 and word not in (FEW, UNKNOWN) else word

    @property
    def decided(self) -> bool:
        """Whether our batches decide the claim on any dataset."""
        return bool(deciding(self.here))

    @property
    def fragile(self) -> bool:
        """Whether the verdict on the claim as a whole is open, or another, where one batch is left out."""
        findings, word = self.here.values(), outcome(self.here)
        left_out = {batch for finding in findings for batch in finding.without}
        return self.decided and any(
            verdicts.whole([finding.without.get(batch, finding.verdict) for finding in findings]) != word
            for batch in left_out
        )

    @property
    def counted(self) -> str:
        """The verdict with its mark, and on how many datasets it rests where that is not on all."""
        decided, text = len(deciding(self.here)), self.verdict + (FRAGILE if self.fragile else "")
        return f"{text} ({decided} of {len(self.here)} decided)" if 0 < decided < len(self.here) else text


def deciding(findings: Mapping[str, Finding]) -> dict[str, Finding]:
    """Those of them that are decided."""
    return {dataset: finding for dataset, finding in findings.items() if finding.decided}


def agreed(ones: Iterable[Audited]) -> Audited | None:
    """A claim as several cards judge it together: each dataset by a card that decides it, if any does.

    Returns None where two of the cards decide a dataset differently. What does not depend on cards is the first's.
    """
    first, *others = ones
    found = dict(first.here)
    for number, other in enumerate(others):
        for dataset, finding in deciding(other.here).items():
            mine = found[dataset]
            if not mine.decided:  # the other's batches are others, whatever their names
                without = {f"{batch} of card {number}": word for batch, word in finding.without.items()}
                found[dataset] = replace(finding, without=without)
            elif mine.verdict != finding.verdict:
                return None
            else:  # without a batch of one card the other still decides
                found[dataset] = replace(mine, cards=mine.cards | finding.cards, without={})
    return replace(first, here=found)


def outcome(findings: Mapping[str, Finding]) -> str:
    """The verdict on a claim, from what was found on its datasets."""
    return verdicts.whole([finding.verdict for finding in findings.values()])


def tally(audited: Sequence[Audited]) -> str:
    """ "Of the paper's 12 claims: 4 as claimed, 3 not as claimed, 5 mixed"."""
    words = [outcome(one.here) for one in audited]
    counts = [said.format(count) for word, said in TALLIED.items() if (count := words.count(word))]
    return f"Of the paper's {len(words)} claims: {', '.join(counts)}"


def claims(path: Path = CLAIMS) -> list[Claim]:
    """The claims; raises InputError where one names what there is not, or lacks its value."""
    return [_claim(f"{path.name}, claim {row['id']}", row) for row in paper.claims(path)]


def _claim(where: str, row: dict[str, str]) -> Claim:
    right, datasets = tuple(row["right"].split()), tuple(row["datasets"].split())
    valid_datasets = tuple(measurements.paper_datasets().index)
    for kind, named, valid in (
        ("variant", (row["left"], *right), tuple(VARIANTS)),
        ("dataset", datasets, valid_datasets),
        ("relation", (row["relation"],), RELATIONS),
    ):
        if unknown := [name for name in named if name not in valid]:
            raise InputError(f"{where}: there is no {kind} {unknown[0]!r}: choose one of {', '.join(valid)}")
    if len({VARIANTS[name].problem for name in (row["left"], *right)}) > 1:
        raise InputError(
            f"{where}: compares variants of different problems: name variants of one source or of all pairs"
        )
    values = row["low"], row["high"]
    if any(values) != (row["relation"] in VALUED) or any(values) != all(values):
        raise InputError(f"{where}: low and high must be given for {' and '.join(VALUED)}, and for no other relation")
    try:
        if any(values) and not 0 < float(values[0]) <= float(values[1]) < np.inf:
            raise ValueError
    except ValueError:
        raise InputError(f"{where}: low and high must be numbers above 0, low no greater than high") from None
    return Claim(**row | {"right": right, "datasets": datasets})


def rule(tolerance: float) -> list[str]:
    """The sentences that say how verdicts are reached."""
    percent = f"{100 * tolerance:g} %"
    return [
        "A job measures the variants of a dataset on one card, in rounds, each in random order; a batch is the jobs of "
        "one name. r is the median time of the other variant divided by that of the claim's variant, in one job; above "
        "1 the claim's variant is faster. Over batches: geometric mean and, from three on, the 95 % interval of "
        "Student's t, of the logarithms (of claims in seconds: arithmetic mean, of the differences). Of two batches "
        "the range stands in the brackets, and there is no verdict.",
        f"Direction: {CLAIMED} or {OPPOSITE} where the interval excludes 1; {SAME} where it includes 1 and lies within "
        f"{percent} of it; else {INCONCLUSIVE}, with the number of batches that would do at this spread. Factor: a "
        "claimed value is a range, half a unit of its last printed digit to each side (2 is 1.5 to 2.5); the interval "
        "lies inside, below (less) or above it (more), else it is inconclusive. A claim of a value is judged by the "
        "factor.",
        f"A claim as a whole is {CLAIMED} where every dataset that is decided is, {verdicts.NOT_CLAIMED} where none of "
        f"them is, else {verdicts.MIXED}. Where none is decided: {INCONCLUSIVE} if any is, else {FEW} or {UNKNOWN}.",
        f'"No faster" is {OPPOSITE} where the interval lies above 1, else {CLAIMED} where it lies below 1 plus the '
        "tolerance.",
        'A claim that a variant is faster than several is judged against the strongest of them, named after "over".',
        f"The paper's tables have one time a cell: r within {percent} of 1 is no difference, and a value is compared "
        "without an interval. The paper's own program was run outside this workflow (workflow/paper): ratio and range, "
        "no verdict; of two batches one is of an H200 and one of an H100, single runs are of an H200.",
        "‡ without one of its batches the verdict would be undecided, as any verdict from three would; on a claim as a "
        "whole: undecided or another.",
    ]


def judge(claim: Claim, dataset: str, found: pd.DataFrame, tolerance: float) -> Finding:
    """What batches say of the claim on one dataset. found: as batches.medians gives it."""
    findings = [_compare(claim, over, dataset, found, tolerance) for over in claim.right]
    missing = [finding for finding in findings if finding.verdict == UNKNOWN]
    return missing[0] if missing else _strongest(findings)


def _strongest(findings: list[Finding]) -> Finding:
    """The finding that decides on a claim against several. What is as claimed is so against each of them."""
    order = (OPPOSITE, verdicts.LESS, verdicts.MORE, SAME, INCONCLUSIVE, FEW, CLAIMED)
    found = min(findings, key=lambda finding: (order.index(finding.verdict), finding.estimate.value))
    left_out = {batch for one in findings for batch in one.without}
    without = {
        batch: min((one.without.get(batch, one.verdict) for one in findings), key=order.index) for batch in left_out
    }
    return replace(found, without=without)


def _compare(claim: Claim, over: str, dataset: str, found: pd.DataFrame, tolerance: float) -> Finding:
    both = batches.pairs(found, claim.left, over, dataset)
    if both.empty:
        there = set(found.index.get_level_values("column")[found.index.get_level_values("dataset") == dataset])
        missing = [name for name in (claim.left, over) if name not in there]
        return Finding(UNKNOWN, why=f"no time of {', '.join(missing)}" if missing else "not measured in one job")
    times = both[["left", "right"]].to_numpy()
    verdict, direction, factor, estimate, needed = _words(claim, times, tolerance)
    others = {batch: np.delete(times, row, axis=0) for row, batch in enumerate(both.index)} if len(times) > 1 else {}
    return Finding(
        verdict,
        direction,
        factor,
        over,
        estimate,
        rounds=int(both["rounds"].min()),
        cards=frozenset(both["card_uuid"]),
        hosts=frozenset(both["host_id"]),
        needed=needed,
        without={batch: _words(claim, left, tolerance)[0] for batch, left in others.items()},
    )


def _words(claim: Claim, times: np.ndarray, tolerance: float) -> tuple[str, str, str, Estimate, int | None]:
    """Verdict, direction and factor of a claim from some batches; what they rest on; the number of batches needed.

    times: (k, 2), s, of k batches: the claim's variant and the other.
    """
    left, right = times.T
    ratios, differences = right / left, right - left
    directions = claim.directions(tolerance)
    estimate = verdicts.estimate(ratios)
    direction = verdicts.decide(estimate, directions)
    if not claim.valued:
        needed = verdicts.needed(ratios, directions) if direction == INCONCLUSIVE else None
        return direction, direction, "", estimate, needed
    values = differences if claim.by_seconds else ratios
    estimate = verdicts.estimate(values, differences=claim.by_seconds)
    factor = verdicts.decide(estimate, claim.factors)
    needed = None
    if factor == INCONCLUSIVE:
        needed = verdicts.needed(values, claim.factors, differences=claim.by_seconds)
    elif direction == INCONCLUSIVE:
        needed = verdicts.needed(ratios, directions)
    return factor, direction, factor, estimate, needed


def judge_paper(claim: Claim, dataset: str, tolerance: float | None) -> Finding:
    """What the paper's own tables say of the claim on one dataset: one time a cell.

    tolerance: as Claim.directions takes it; None reads ratios and claimed values exactly.
    """
    exact = tolerance is None
    times = _paper_times()
    if missing := [name for name in claim.names if (name, dataset) not in times.index]:
        return Finding(UNKNOWN, why=f"no time of {', '.join(missing)}")
    findings = []
    for over in claim.right:
        left, right = times[claim.left, dataset], times[over, dataset]
        direction = verdicts.decide_point(right / left, claim.directions(0 if exact else tolerance))
        value = right - left if claim.by_seconds else right / left
        values = verdicts.factors(claim.low, claim.high, exact=exact) if claim.valued else {}
        factor = verdicts.decide_point(value, values) if claim.valued else ""
        estimate = verdicts.estimate([value], differences=claim.by_seconds)
        findings.append(Finding(factor or direction, direction, factor, over, estimate))
    return _strongest(findings)


@cache
def _paper_times() -> pd.Series:
    return measurements.paper_times()["seconds"].dropna()


def select(rows: pd.DataFrame, listed: list[Claim]) -> pd.DataFrame:
    """The pooled rows of what claims are about. Raises InputError as measurements.select does."""
    cells = {(name, dataset) for claim in listed for name in claim.names for dataset in claim.datasets}
    keys = pd.MultiIndex.from_arrays([measurements.variants(rows), rows["dataset"]])
    rows = rows[keys.isin(list(cells))]
    return measurements.select(rows, measurements.variants(rows).unique(), rows["dataset"].unique())


def audit(rows: pd.DataFrame, listed: list[Claim], tolerance: float) -> list[Audited]:
    """The claims, judged. rows: as select gives them."""
    found = batches.medians(rows)
    reasons = rows[rows["throttling"] != ""].groupby([measurements.variants(rows), "dataset"])["throttling"].first()
    return [
        Audited(
            claim,
            {dataset: judge_paper(claim, dataset, tolerance) for dataset in claim.datasets},
            here := {dataset: judge(claim, dataset, found, tolerance) for dataset in claim.datasets},
            {dataset: of_program(claim, dataset, here[dataset].over) for dataset in claim.datasets},
            {dataset: _throttled(claim, dataset, reasons) for dataset in claim.datasets},
        )
        for claim in listed
    ]


def _throttled(claim: Claim, dataset: str, reasons: pd.Series) -> str:
    names = [name for name in claim.names if (name, dataset) in reasons.index]
    return ", ".join(f"{name} ({reasons[name, dataset]})" for name in names)


def of_program(claim: Claim, dataset: str, over: str) -> Estimate | None:
    """What the paper's own program says of the claim: over that competitor, else over its own strongest.

    None where it was not measured. Source: workflow/store/original.py.
    """
    found = {
        name: original.estimate(claim.left, name, dataset, differences=claim.by_seconds)
        for name in claim.right
        if not over or name == over
    }
    known = [one for one in found.values() if one]
    return min(known, key=lambda one: one.value) if len(known) == len(found) and known else None


def disagreeing(one: Audited, tolerance: float) -> dict[str, str]:
    """By dataset, where the paper's own program lies as `disagreement` says, if it disagrees there."""
    found = {dataset: disagreement(one, dataset, tolerance) for dataset in one.here}
    return {dataset: where for dataset, where in found.items() if where}


def disagreement(one: Audited, dataset: str, tolerance: float) -> str:
    """Where the paper's own program lies if it and our kernels differ in direction and ours is decided; else empty.

    They differ where the program's range and our interval do not overlap, and the range lies on the other side of 1 or,
    of the two, only one lies within the tolerance of 1.
    """
    program, here = one.program.get(dataset), one.here[dataset]
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
