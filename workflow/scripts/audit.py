"""Compare the paper's claims with its own tables and with the measurements.

The claims stand in workflow/paper/claims.csv; rule() says how a verdict is reached. Writes results/claims.csv (a row
a claim and dataset), .md and .html.
"""

from __future__ import annotations

import argparse
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from kernels.errors import InputError
from kernels.variants import VARIANTS
from workflow.lib import measurements, pages, paper, step
from workflow.lib.render import CROSS, digits
from workflow.scripts.summary import CONFIDENCE, INTERVAL, MIN_REPEATS, RANGE, interval

CLAIMS = measurements.PAPER / "claims.csv"
VALUED = ("times_faster", "faster_by_s")  # relations that claim a value, from low to high
RELATIONS = ("slower", "faster", "fastest", "no_better", *VALUED)
HOLDS, SAME, FAILS, UNKNOWN = "holds", "no difference", "fails", "not measured"
LESS, MORE = "less than claimed", "more than claimed"  # how a claimed value fails where the variant is faster
SEED = 0  # of the bootstrap

Times = Mapping[tuple[str, str], np.ndarray]  # (algorithm/variant, dataset): seconds, float64 (repeats,)


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper: left is slower, faster ... than each of right (algorithm/variant), on datasets.

    low, high: the paper's value, of a relation in VALUED: a factor, or seconds. reading: why these datasets.
    """

    id: str
    section: str
    claim: str
    left: str
    right: tuple[str, ...]
    datasets: tuple[str, ...]
    relation: str
    low: float
    high: float
    reading: str

    @property
    def by_seconds(self) -> bool:
        return self.relation == "faster_by_s"


@dataclass(frozen=True)
class Finding:
    """What times say of a claim on one dataset.

    value: the speed-up of left over `over`, or by how many seconds it is faster; low, high: ends of its interval or
    range, which `ends` names; empty where there is one time of each. repeats: of left and of `over`.
    rests_on: what the verdict rests on. why: what an unknown verdict lacks.
    """

    verdict: str
    over: str = ""
    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    repeats: tuple[int, int] = (0, 0)
    ends: str = ""
    rests_on: str = ""
    why: str = ""


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
    try:
        low, high = (float(row[end] or "nan") for end in ("low", "high"))
    except ValueError:
        raise InputError(f"{where}: low and high must be numbers") from None
    if np.isnan([low, high]).any() == (row["relation"] in VALUED):
        raise InputError(f"{where}: low and high must be given for {' and '.join(VALUED)}, and for no other relation")
    return Claim(**row | {"right": right, "datasets": datasets, "low": low, "high": high})


def measured_times(rows: pd.DataFrame) -> Times:
    """The seconds of every cell that has some."""
    ok = rows[rows["status"] == "ok"]
    groups = ok.groupby([measurements.variants(ok), "dataset"])
    return {cell: seconds.to_numpy() for cell, seconds in groups["seconds"]}


def paper_times() -> Times:
    """The paper's times: one a cell, none where it gives only a bound."""
    return {cell: np.array([seconds]) for cell, seconds in measurements.paper_times()["seconds"].dropna().items()}


def rule(tolerance: float) -> list[str]:
    """The sentences that say how judge and outcome reach their verdicts."""
    percent = f"{100 * tolerance:g} %"
    return [
        f"{CROSS}r: the median time of the other variant divided by that of the variant that the claim is about; above "
        "1 the latter is faster. n: its repeats first, then the other's. An interval or a range is in brackets.",
        f"With {MIN_REPEATS} repeats or more of both, one variant is faster where the {INTERVAL}s of the two medians "
        "(order statistics) do not overlap; else there is no difference. A claimed value holds where the claim's "
        f"variant is faster and the {INTERVAL} of r (bootstrap, percentiles) meets the claimed range, widened by the "
        f"tolerance of {percent} at both ends.",
        "With fewer repeats of either there is no interval: the brackets have the range of all ratios, and "
        f"the verdict rests on the tolerance. r within {percent} of 1 is no difference; a claimed value holds where r "
        "lies in the claimed range, widened by the tolerance. The paper's tables, with one time a cell, are judged so.",
        f"Where the claim's variant is faster, but not by the claimed value, it is {LESS} or {MORE}.",
        'A claim that a variant is faster than several is judged against the fastest of them, named after "over".',
        "A claim is reproduced where it holds on every dataset it is about, in part where on some, not where on none "
        "of those measured. A dataset on which a needed variant has no time is not measured, and nothing is guessed.",
    ]


def compare(claim: Claim, over: str, left: np.ndarray, right: np.ndarray, tolerance: float) -> Finding:
    """What the seconds of the claim's left, and of `over` (one of its right), float64 (repeats,), say. See rule()."""
    by_intervals = min(len(left), len(right)) >= MIN_REPEATS
    operation = operator.sub if claim.by_seconds else operator.truediv
    value = operation(np.median(right), np.median(left))
    if by_intervals:
        low, high = stats.bootstrap(
            (right, left),
            lambda right, left, axis: operation(np.median(right, axis), np.median(left, axis)),
            confidence_level=CONFIDENCE,
            method="percentile",
            rng=SEED,
        ).confidence_interval
        least, most = low, high
        (left_low, left_high), (right_low, right_high) = interval(left), interval(right)
        same = left_low <= right_high and right_low <= left_high
    else:
        low, high = operation(right.min(), left.max()), operation(right.max(), left.min())
        least = most = value
        same = abs(np.median(right) / np.median(left) - 1) <= tolerance
    faster = not same and np.median(left) < np.median(right)
    short, beyond = most < claim.low * (1 - tolerance), least > claim.high * (1 + tolerance)
    holds = {
        "slower": not same and not faster,
        "no_better": not faster,
        "faster": faster,
        "fastest": faster,
    }.get(claim.relation, faster and not short and not beyond)
    failure = (LESS if short else MORE) if faster and claim.relation in VALUED else FAILS
    verdict = HOLDS if holds else SAME if same else failure
    repeats = len(left), len(right)
    ends = INTERVAL if by_intervals else RANGE if max(repeats) > 1 else ""
    return Finding(verdict, over, value, low, high, repeats, ends, "intervals" if by_intervals else "tolerance")


def judge(claim: Claim, dataset: str, times: Times, tolerance: float, cards: Mapping) -> Finding:
    """What times say of the claim on one dataset, where the strongest competitor decides.

    cards: which GPU each (algorithm/variant, dataset) ran on; times of different models do not compare.
    """
    needed = [(name, dataset) for name in (claim.left, *claim.right)]
    if missing := [name for name, _ in needed if (name, dataset) not in times]:
        return Finding(UNKNOWN, why=f"no time of {', '.join(missing)}")
    ran_on = dict.fromkeys(cards[cell] for cell in needed if cell in cards)
    if len(ran_on) > 1:
        return Finding(UNKNOWN, why=f"on different models of card: {', '.join(ran_on)}")
    left = times[claim.left, dataset]
    findings = [compare(claim, over, left, times[over, dataset], tolerance) for over in claim.right]
    return min(findings, key=lambda finding: ((FAILS, SAME, LESS, MORE, HOLDS).index(finding.verdict), finding.value))


@dataclass(frozen=True)
class Audited:
    """A claim and, by dataset, what the paper's tables and our measurements say of it.

    throttled: the cells whose card was throttled, with its reasons; empty where none was.
    """

    claim: Claim
    paper: dict[str, Finding]
    here: dict[str, Finding]
    throttled: dict[str, str]


def select(rows: pd.DataFrame, listed: list[Claim]) -> pd.DataFrame:
    """The rows of what claims are about. Raises InputError as measurements.select does."""
    cells = {(name, dataset) for claim in listed for name in (claim.left, *claim.right) for dataset in claim.datasets}
    chosen = measurements.select(rows, sorted({name for name, _ in cells}), measurements.paper_datasets().index)
    keys = pd.MultiIndex.from_arrays([measurements.variants(chosen), chosen["dataset"]])
    return chosen[keys.isin(list(cells))]


def audit(rows: pd.DataFrame, listed: list[Claim], tolerance: float) -> list[Audited]:
    """The claims, judged. rows: as select gives them."""
    papers, times = paper_times(), measured_times(rows)
    first = rows.groupby([measurements.variants(rows), "dataset"])[["device", "throttling"]].first()
    cards = {cell: device for cell, device in first["device"].items() if VARIANTS[cell[0]].on_gpu}
    reasons = {cell: reason for cell, reason in first["throttling"].items() if reason}

    def throttled(claim: Claim, dataset: str) -> str:
        names = [name for name in (claim.left, *claim.right) if (name, dataset) in reasons]
        return ", ".join(f"{name} ({reasons[name, dataset]})" for name in names)

    return [
        Audited(
            claim,
            {dataset: judge(claim, dataset, papers, tolerance, {}) for dataset in claim.datasets},
            {dataset: judge(claim, dataset, times, tolerance, cards) for dataset in claim.datasets},
            {dataset: throttled(claim, dataset) for dataset in claim.datasets},
        )
        for claim in listed
    ]


def outcome(findings: dict[str, Finding]) -> tuple[str, str]:
    """The verdict on a claim from what was found on its datasets; and where it holds, misses or was not measured."""
    held = [dataset for dataset, finding in findings.items() if finding.verdict == HOLDS]
    unknown = [dataset for dataset, finding in findings.items() if finding.verdict == UNKNOWN]
    if len(unknown) == len(findings):
        return UNKNOWN, ""
    where = f"holds on {len(held)} of {len(findings) - len(unknown)}"
    if held:
        where += f": {', '.join(held)}"
    for verdict in (LESS, MORE, UNKNOWN):
        if such := [dataset for dataset, finding in findings.items() if finding.verdict == verdict]:
            where += f"; {verdict}: {', '.join(such)}"
    if not held:
        return "not reproduced", where
    return "reproduced" if len(held) == len(findings) else "reproduced in part", where


def facts(audited: list[Audited], rows: pd.DataFrame, source: str) -> pd.DataFrame:
    """One row a claim and dataset. claimed, paper, measured: a factor, or seconds, as `unit` says."""
    substitutes = measurements.substitutes(rows)
    return pd.DataFrame(
        [
            {
                "claim": one.claim.id,
                "section": one.claim.section,
                "says": one.claim.claim,
                "left": one.claim.left,
                "right": " ".join(one.claim.right),
                "dataset": dataset,
                "relation": one.claim.relation,
                "unit": "s" if one.claim.by_seconds else "ratio",
                "claimed low": one.claim.low,
                "claimed high": one.claim.high,
                "paper": one.paper[dataset].value,
                "paper verdict": one.paper[dataset].verdict,
                "measured": here.value,
                "over": here.over,
                "low": here.low,
                "high": here.high,
                "ends": here.ends,
                "repeats left": here.repeats[0],
                "repeats over": here.repeats[1],
                "verdict": here.verdict,
                "rests on": here.rests_on,
                "claim's verdict": outcome(one.here)[0],
                "why not measured": here.why,
                "throttled": one.throttled[dataset],
                "substitute": substitutes.get(dataset, ""),
                "source": source,
            }
            for one in audited
            for dataset, here in one.here.items()
        ]
    )


def page(audited: list[Audited], rows: pd.DataFrame, source: str, tolerance: float) -> pages.Page:
    substitutes = measurements.substitutes(rows)
    blocks = [
        ("h1", "The paper's claims, compared with the measurements"),
        ("table", overview(audited)),
        ("ul", [*measurements.about(rows, source), *rule(tolerance)]),
    ]
    for number, one in enumerate(audited, start=1):
        text = pd.DataFrame(
            [
                {
                    "Dataset": measurements.marked(dataset, substitutes),
                    "Paper's tables": value_text(one.claim, paper := one.paper[dataset]),
                    "Verdict on them": paper.verdict,
                    "Measured": value_text(one.claim, here)
                    + (f"; throttled: {one.throttled[dataset]}" if one.throttled[dataset] else ""),
                    "Verdict": here.verdict + (f", by {here.rests_on}" if here.rests_on else ""),
                }
                for dataset, here in one.here.items()
            ]
        )
        blocks += [
            ("h2", f"{number}. {one.claim.claim}"),
            ("p", f"Section {one.claim.section}: {relation_text(one.claim)}. {one.claim.reading}"),
            ("table", text),
        ]
    return blocks


def overview(audited: list[Audited]) -> pd.DataFrame:
    """One row a claim."""
    return pd.DataFrame(
        [
            {
                "Claim": f"{number}. {one.claim.claim}",
                "Section": one.claim.section,
                "The paper's own tables": outcome(one.paper)[1],
                "Measured": "; ".join(filter(None, outcome(one.here))),
            }
            for number, one in enumerate(audited, start=1)
        ]
    )


def relation_text(claim: Claim) -> str:
    """The claim with its variants: "floyd_warshall/tiled 4 to 6 times faster than floyd_warshall/naive"."""
    value = f"{claim.low:g}" if claim.low == claim.high else f"{claim.low:g} to {claim.high:g}"
    words = {
        "fastest": "faster than each of",
        "no_better": "not faster than",
        "times_faster": f"{value} times faster than",
        "faster_by_s": f"{value} s faster than",
    }
    return f"{claim.left} {words.get(claim.relation, f'{claim.relation} than')} {', '.join(claim.right)}"


def value_text(claim: Claim, finding: Finding) -> str:
    """ "x1.51 [1.50, 1.52], 95 % interval, n=6, 6", or what is missing."""
    if finding.verdict == UNKNOWN:
        return finding.why
    text = f"{finding.value:.3g} s" if claim.by_seconds else f"{CROSS}{digits(finding.value)}"
    if len(claim.right) > 1:
        text += f" over {finding.over}"
    if finding.ends:
        low, high = (f"{end:.3g}" if claim.by_seconds else digits(end) for end in (finding.low, finding.high))
        text += f" [{low}, {high}], {finding.ends}"
    return f"{text}, n={finding.repeats[0]}, {finding.repeats[1]}"


def write(rows: pd.DataFrame, listed: list[Claim], source: str, tolerance: float, folder: Path) -> None:
    """Write claims.csv, .md and .html into a folder. rows: as measurements.load gives them."""
    rows = select(rows, listed)
    audited = audit(rows, listed, tolerance)
    pages.write(folder / "claims", facts(audited, rows, source), page(audited, rows, source, tolerance))


def main(args: argparse.Namespace) -> None:
    write(measurements.load(args.measurements), claims(args.claims), args.source, args.tolerance, args.out_dir)


if __name__ == "__main__":
    arguments = step.showing_parser(__doc__, out_dir="results")
    arguments.add_argument("--claims", type=Path, default=CLAIMS, help="a CSV file of claims")
    arguments.add_argument("--tolerance", type=step.share, required=True, help="config.yaml's audit.tolerance")
    step.run(main, arguments)
