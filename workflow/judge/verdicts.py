"""What ratios (or differences) from several batches say of a claim: an estimate over batches, and a word for it.

A batch is the unit of replication. From three batches on an estimate has a 95 % interval by Student's t. A word is
given where the whole interval lies in the word's region; else it is `inconclusive`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from scipy.special import stdtrit

CONFIDENCE = 0.95
MIN_BATCHES = 3  # for an interval, and so for a verdict
MOST_BATCHES = 1000  # that `needed` looks for
INTERVAL, RANGE = "95 % interval", "range"

CLAIMED, OPPOSITE, SAME = "as claimed", "opposite", "no difference"
LESS, MORE = "less", "more"
INCONCLUSIVE, FEW, UNKNOWN = "inconclusive", "too few batches", "not measured"
NOT_CLAIMED, MIXED = "not as claimed", "mixed"

Region = tuple[float, float]  # open; its ends in the unit of the values


@dataclass(frozen=True)
class Estimate:
    """The mean over batches: geometric of ratios, arithmetic of differences. low, high: as `ends` says.

    ends: INTERVAL from MIN_BATCHES batches on, RANGE of two, empty of one. next_low, next_high: where one batch more
    would lie, with the same confidence (a prediction interval); NaN where there is no interval. differences: it is
    of seconds, not of ratios.
    """

    value: float
    low: float
    high: float
    batches: int
    ends: str
    next_low: float = np.nan
    next_high: float = np.nan
    differences: bool = False

    @property
    def has_interval(self) -> bool:
        return self.ends == INTERVAL


def estimate(values: Sequence[float], *, differences: bool = False) -> Estimate:
    """Of one value a batch: float64 (batches,), ratios above 0, or differences of any sign. There is at least one.

    Source of the interval: Student's t of the (logarithms of the) values, as scipy.stats.t.
    """
    values = np.asarray(values, float)
    scaled = values if differences else np.log(values)
    mean, count = scaled.mean(), len(values)
    found = mean, scaled.min(), scaled.max(), np.nan, np.nan
    if count >= MIN_BATCHES:
        half = _half_width(scaled.std(ddof=1), count)
        further = half * np.sqrt(count + 1)
        found = mean, mean - half, mean + half, mean - further, mean + further
    value, low, high, next_low, next_high = map(float, found if differences else np.exp(found))
    ends = INTERVAL if count >= MIN_BATCHES else RANGE if count > 1 else ""
    return Estimate(value, low, high, count, ends, next_low, next_high, differences)


def _half_width(deviation: float, batches: int) -> float:
    # What scipy.stats.t.ppf calls, whose import takes a second.
    return stdtrit(batches - 1, (1 + CONFIDENCE) / 2) * deviation / np.sqrt(batches)


def decide(found: Estimate, regions: Mapping[str, Region]) -> str:
    """The first word in whose region the interval lies; INCONCLUSIVE where in none, FEW without an interval."""
    if not found.has_interval:
        return FEW
    inside = (word for word, (low, high) in regions.items() if low < found.low and found.high < high)
    return next(inside, INCONCLUSIVE)


def decide_point(value: float, regions: Mapping[str, Region]) -> str:
    """The word of one number without a spread. Where regions overlap or meet, the last one decides."""
    return next(word for word, (low, high) in reversed(regions.items()) if low <= value <= high)


def needed(values: Sequence[float], regions: Mapping[str, Region], *, differences: bool = False) -> int | None:
    """The least number of batches that would decide, were their mean and deviation those of values; as estimate.

    None where MOST_BATCHES would not, or fewer than two values tell no deviation.
    """
    if len(values) < 2:
        return None
    scaled = np.asarray(values, float) if differences else np.log(values)
    counts = np.arange(MIN_BATCHES, MOST_BATCHES + 1)
    half = _half_width(scaled.std(ddof=1), counts)
    decided = np.zeros(len(counts), bool)
    for ends in regions.values():
        low, high = ends if differences else (_log(end) for end in ends)
        decided |= (low < scaled.mean() - half) & (scaled.mean() + half < high)
    return int(counts[decided.argmax()]) if decided.any() else None


def _log(end: float) -> float:
    return np.log(end) if end > 0 else -np.inf


def directions(tolerance: float) -> dict[str, Region]:
    """Return the regions of a speed-up: faster, slower and no difference, which is within the tolerance of 1."""
    return {"faster": (1, np.inf), "slower": (-np.inf, 1), SAME: (1 - tolerance, 1 + tolerance)}


def factors(low: str, high: str, *, exact: bool = False) -> dict[str, Region]:
    """Regions of a claimed value, printed as low to high: as claimed within half a unit of their last digits.

    exact: as claimed from low to high alone.
    """
    least, most = Decimal(low), Decimal(high)
    if not exact:
        least, most = least - _half_unit(low), most + _half_unit(high)
    return {
        LESS: (-np.inf, float(least)),
        MORE: (float(most), np.inf),
        CLAIMED: (float(least), float(most)),
    }


def _half_unit(printed: str) -> Decimal:
    """Half a unit of a number's last digit other than 0: 0.05 of 2.8, 500 of 2000."""
    return Decimal((0, (5,), Decimal(printed).normalize().as_tuple().exponent - 1))


def whole(words: Sequence[str]) -> str:
    """The verdict on a claim, from those on its datasets."""
    decided = [word for word in words if word not in (INCONCLUSIVE, FEW, UNKNOWN)]
    if not decided:
        return next((word for word in (INCONCLUSIVE, FEW, UNKNOWN) if word in words), UNKNOWN)
    held = decided.count(CLAIMED)
    return CLAIMED if held == len(decided) else MIXED if held else NOT_CLAIMED
