"""Estimates of ratios (or differences) over batches, and the word for an estimate.

A batch is the unit of replication. From three batches on an estimate has a 95 % interval by Student's t. It gets the
word of the region in which the whole interval lies, else `inconclusive`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from scipy.special import bdtr, stdtrit

CONFIDENCE = 0.95
MIN_BATCHES = 3  # for an interval, and so for a verdict
MOST_BATCHES = 1000  # the limit of `needed`
INTERVAL, RANGE = "95 % interval", "range"

CLAIMED, OPPOSITE, SAME = "as claimed", "opposite", "no difference"
LESS, MORE = "less", "more"
INCONCLUSIVE, FEW, UNKNOWN = OPEN = "inconclusive", "too few batches", "not measured"
NOT_CLAIMED, MIXED = "not as claimed", "mixed"

Region = tuple[float, float]  # open; its ends in the unit of the values


@dataclass(frozen=True)
class Estimate:
    """The mean over batches: geometric of ratios, arithmetic of differences in seconds.

    low and high end what `ends` says: INTERVAL from MIN_BATCHES batches on, RANGE of two, empty for one. next_low and
    next_high: the prediction interval of one more batch; NaN without an interval.
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
    """Estimate the mean of one value a batch, at least one; the interval is Student's t of the values' logarithms.

    differences: the values have any sign, and are taken as they are.
    """
    values = np.asarray(values, float)
    scaled = values if differences else np.log(values)
    mean, count = scaled.mean(), len(values)
    numbers = mean, scaled.min(), scaled.max(), np.nan, np.nan
    if count >= MIN_BATCHES:
        half = _half_width(scaled.std(ddof=1), count)
        further = half * np.sqrt(count + 1)
        numbers = mean, mean - half, mean + half, mean - further, mean + further
    value, low, high, next_low, next_high = map(float, numbers if differences else np.exp(numbers))
    ends = INTERVAL if count >= MIN_BATCHES else RANGE if count > 1 else ""
    return Estimate(value, low, high, count, ends, next_low, next_high, differences)


def _half_width(deviation: float, batches: int) -> float:
    # scipy.stats.t.ppf calls the same; its import takes a second.
    return stdtrit(batches - 1, (1 + CONFIDENCE) / 2) * deviation / np.sqrt(batches)


def expected_inside(count: int) -> tuple[float, int, int]:
    """Return how many of `count` further batches should lie in their intervals: mean and 95 % binomial range."""
    below = bdtr(np.arange(count + 1), count, CONFIDENCE)
    low, high = np.searchsorted(below, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return CONFIDENCE * count, int(low), int(high)


def decide(estimated: Estimate, regions: Mapping[str, Region]) -> str:
    """Return the first word whose region holds the interval, else INCONCLUSIVE; FEW without an interval."""
    if not estimated.has_interval:
        return FEW
    inside = (word for word, (low, high) in regions.items() if low < estimated.low and estimated.high < high)
    return next(inside, INCONCLUSIVE)


def decide_point(value: float, regions: Mapping[str, Region]) -> str:
    """Return the word of one number; if regions overlap or meet, the last one."""
    return next(word for word, (low, high) in reversed(regions.items()) if low <= value <= high)


def needed(values: Sequence[float], regions: Mapping[str, Region], *, differences: bool = False) -> int | None:
    """Return the least number of batches with the values' mean and deviation whose interval would decide.

    None if MOST_BATCHES would not, or if there are fewer than two values.
    """
    if len(values) < 2:
        return None
    scaled = np.asarray(values, float) if differences else np.log(values)
    counts = np.arange(MIN_BATCHES, MOST_BATCHES + 1)
    half = _half_width(scaled.std(ddof=1), counts)
    ends = np.array(list(regions.values()), float)
    with np.errstate(divide="ignore"):  # the logarithm of 0 is -inf
        low, high = (ends if differences else np.log(ends.clip(0))).T[:, :, None]
    decided = ((low < scaled.mean() - half) & (scaled.mean() + half < high)).any(axis=0)
    return int(counts[decided.argmax()]) if decided.any() else None


def directions(tolerance: float) -> dict[str, Region]:
    """Return the regions of a speed-up; no difference is within the tolerance of 1."""
    return {"faster": (1, np.inf), "slower": (-np.inf, 1), SAME: (1 - tolerance, 1 + tolerance)}


def factors(low: str, high: str, about: float | None = None) -> dict[str, Region]:
    """Return the regions of a value claimed as low to high, as printed.

    about: how far below low and above high the claimed region reaches, as a part of each; by default half a unit of
    their last digits.
    """
    least, most = (Decimal(printed).normalize() for printed in (low, high))
    if about is None:  # the last digit other than 0: half a unit of 2.8 is 0.05, of 2000 it is 500
        below, above = (Decimal((0, (5,), value.as_tuple().exponent - 1)) for value in (least, most))
    else:
        below, above = (Decimal(str(about)) * value for value in (least, most))
    least, most = least - below, most + above
    return {LESS: (-np.inf, float(least)), MORE: (float(most), np.inf), CLAIMED: (float(least), float(most))}


def whole(words: Sequence[str]) -> str:
    """Return the verdict on a claim from the words of its datasets."""
    decided = [word for word in words if word not in OPEN]
    if not decided:
        return next((word for word in OPEN if word in words), UNKNOWN)
    held = decided.count(CLAIMED)
    return CLAIMED if held == len(decided) else MIXED if held else NOT_CLAIMED
