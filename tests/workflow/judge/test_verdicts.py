"""Estimates over batches, and the words for them: what they are, and how often they are wrong."""

import numpy as np
import pytest
from scipy import stats

from workflow.judge import claims, verdicts
from workflow.judge.verdicts import CLAIMED, FEW, INCONCLUSIVE, LESS, MORE, OPPOSITE, SAME

TOLERANCE = 0.05
FASTER = next(claim for claim in claims.claims() if claim.relation == "faster").directions(TOLERANCE)


def test_the_interval_is_that_of_a_t_test_on_logarithms():
    values = [1.05, 1.11, 0.98, 1.07]
    estimate = verdicts.estimate(values)
    low, high = stats.ttest_1samp(np.log(values), 0).confidence_interval(0.95)
    assert (estimate.value, estimate.batches) == (pytest.approx(stats.gmean(values)), 4)
    assert (estimate.low, estimate.high) == (pytest.approx(np.exp(low)), pytest.approx(np.exp(high)))
    estimate = verdicts.estimate(values, differences=True)
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (estimate.value, estimate.low, estimate.high) == (
        pytest.approx(np.mean(values)),
        pytest.approx(low),
        pytest.approx(high),
    )


def test_a_further_batch_lies_in_its_interval_as_often_as_it_says():
    random = np.random.default_rng(1)
    draws = np.exp(random.normal(0.1, 0.03, (2000, 6)))
    estimates = [verdicts.estimate(draw[:5]) for draw in draws]
    inside = np.mean([one.next_low < draw[5] < one.next_high for one, draw in zip(estimates, draws, strict=True)])
    assert 0.935 < inside < 0.965


@pytest.mark.parametrize("count", [1, 5, 38, 200])
def test_how_many_further_batches_should_lie_inside_is_binomial(count):
    low, high = stats.binom.interval(0.95, count, 0.95)
    assert verdicts.expected_inside(count) == (pytest.approx(0.95 * count), low, high)


@pytest.mark.parametrize(
    ("values", "ends", "low", "high"),
    [([1.2], "", 1.2, 1.2), ([1.2, 1.5], "range", 1.2, 1.5), ([1.5, 0.5], "range", 0.5, 1.5)],
)
def test_one_or_two_batches_have_no_interval_and_decide_nothing(values, ends, low, high):
    estimate = verdicts.estimate(values)
    assert (estimate.ends, estimate.low, estimate.high) == (ends, pytest.approx(low), pytest.approx(high))
    assert np.isnan(estimate.next_low) and verdicts.decide(estimate, FASTER) == FEW


@pytest.mark.parametrize(
    ("values", "regions", "word"),
    [
        ([1.10, 1.11, 1.12], FASTER, CLAIMED),
        ([1.010, 1.011, 1.012], FASTER, CLAIMED),  # within the tolerance, but the interval excludes 1
        ([0.90, 0.91, 0.92], FASTER, OPPOSITE),
        ([0.99, 1.00, 1.01], FASTER, SAME),
        ([0.95, 1.00, 1.05], FASTER, INCONCLUSIVE),
        ([1.00, 1.10, 1.20], FASTER, INCONCLUSIVE),
        ([2.0, 2.1, 2.2], verdicts.factors("2", "2"), CLAIMED),
        ([2.4, 2.5, 2.6], verdicts.factors("2", "2"), INCONCLUSIVE),
        ([2.6, 2.61, 2.62], verdicts.factors("2", "2"), MORE),
        ([1.4, 1.41, 1.42], verdicts.factors("2", "2"), LESS),
        ([0.95, 0.96, 0.97], verdicts.directions(TOLERANCE), "slower"),
        ([0.98, 0.99, 1.0], verdicts.directions(TOLERANCE), SAME),
        ([1.0, 1.01, 1.02], verdicts.directions(TOLERANCE), SAME),
        ([1.03, 1.04, 1.05], verdicts.directions(TOLERANCE), "faster"),
        ([0.9, 1.0, 1.01], verdicts.directions(TOLERANCE), INCONCLUSIVE),
    ],
)
def test_the_word_of_an_interval(values, regions, word):
    assert verdicts.decide(verdicts.estimate(values), regions) == word


@pytest.mark.parametrize(
    ("low", "high", "least", "most"),
    [
        ("2", "2", 1.5, 2.5),
        ("8", "8", 7.5, 8.5),
        ("2.8", "2.8", 2.75, 2.85),
        ("4", "6", 3.5, 6.5),
        ("2000", "2000", 1500, 2500),
        ("0.5", "2", 0.45, 2.5),
    ],
)
def test_a_claimed_value_is_as_wide_as_it_was_rounded(low, high, least, most):
    assert verdicts.factors(low, high)[CLAIMED] == (least, most)
    exactly = verdicts.factors(low, high, 0)
    assert exactly[CLAIMED] == (float(low), float(high))
    assert verdicts.decide_point(float(low), exactly) == verdicts.decide_point(float(high), exactly) == CLAIMED


@pytest.mark.parametrize(
    ("regions", "words"),
    [
        (FASTER, {1.2: CLAIMED, 0.9: OPPOSITE, 1.04: SAME, 0.96: SAME, 1.06: CLAIMED}),
        (verdicts.factors("2", "2"), {1.4: LESS, 1.5: CLAIMED, 2.5: CLAIMED, 2.6: MORE, -3: LESS}),
    ],
)
def test_the_word_of_one_number(regions, words):
    assert {value: verdicts.decide_point(value, regions) for value in words} == words


@pytest.mark.parametrize(
    ("low", "high", "about", "region"),
    [
        ("2.8", "2.8", 0.1, (2.52, 3.08)),
        ("4", "6", 0.1, (3.6, 6.6)),
        ("4", "6", 0.25, (3.0, 7.5)),
        ("2", "2", 0.25, (1.5, 2.5)),
    ],
)
def test_a_tolerance_applies_to_each_end_of_a_claimed_value(low, high, about, region):
    assert verdicts.factors(low, high, about) == {
        LESS: (-np.inf, region[0]),
        MORE: (region[1], np.inf),
        CLAIMED: region,
    }


RATIOS, FACTORS = {"faster": (1.0, np.inf), "slower": (-np.inf, 1.0)}, verdicts.factors("2", "2")
OF_2 = [(1.9, 2.2), (2.2, 2.6, 2.5), (2.4, 2.8), (1.3, 1.5, 1.6), (0.2, 1.1), (0.9, 4, 5, 6)]


@pytest.mark.parametrize(
    ("values", "regions", "differences"),
    [((0.99, 1.05, 1.06), RATIOS, False)] + [(values, FACTORS, kind) for kind in (False, True) for values in OF_2],
)
def test_the_number_of_batches_is_the_least_whose_interval_lies_in_a_region(values, regions, differences):
    scaled = np.array(values) if differences else np.log(values)
    mean, deviation = scaled.mean(), scaled.std(ddof=1)
    for count in range(3, 1001):
        ends = stats.t.interval(0.95, count - 1, mean, deviation / np.sqrt(count))
        low, high = ends if differences else np.exp(ends)
        if any(least < low and high < most for least, most in regions.values()):
            break
    assert verdicts.needed(values, regions, differences=differences) == count > 3


def test_three_to_a_thousand_batches_are_looked_for():
    def values(mean):  # of deviation 1; the interval of 1000 batches is 0.06206 to each side, that of 999 is 0.06209
        return np.exp([mean - 1, mean, mean + 1])

    assert verdicts.needed([1.2], FASTER) is None
    assert verdicts.needed([0.5, 2.0], {CLAIMED: (1.0, np.inf)}) is None  # the mean is 1
    assert verdicts.needed([1.2, 1.2001], FASTER) == 3
    assert verdicts.needed(values(0.06207), {CLAIMED: (1.0, np.inf)}) == 1000
    assert verdicts.needed(values(0.06205), {CLAIMED: (1.0, np.inf)}) is None


@pytest.mark.parametrize(
    ("words", "whole"),
    [
        ([CLAIMED, CLAIMED, INCONCLUSIVE], CLAIMED),
        ([OPPOSITE, SAME], verdicts.NOT_CLAIMED),
        ([CLAIMED, LESS], verdicts.MIXED),
        ([INCONCLUSIVE, FEW], INCONCLUSIVE),
        ([verdicts.UNKNOWN, FEW], FEW),
        ([FEW, INCONCLUSIVE], INCONCLUSIVE),
        ([verdicts.UNKNOWN], verdicts.UNKNOWN),
        ([MORE, verdicts.UNKNOWN], verdicts.NOT_CLAIMED),
    ],
)
def test_the_verdict_on_a_claim(words, whole):
    assert verdicts.whole(words) == whole


@pytest.mark.parametrize("batches", [3, 5])
@pytest.mark.parametrize("true", [1, 1.05, 1.1, 1.5])
def test_how_often_batches_are_wrong(true, batches):
    """Host effects of up to 9 %, common to a job, cancel; 2 % between batches and 1.5 % a run do not."""
    words, ratios = drawn(true, np.arange(batches), 0)
    wrong = {CLAIMED, OPPOSITE} if true == 1 else {OPPOSITE, SAME} if true > 1 + TOLERANCE else {OPPOSITE}
    assert sum(word in wrong for word in words) <= 60
    if true >= 1.1 and batches == 5:
        assert sum(word != INCONCLUSIVE for word in words) >= 900
    assert {verdicts.decide(verdicts.estimate(draw[:2]), FASTER) for draw in ratios} == {FEW}


@pytest.mark.parametrize(
    ("hosts", "share", "percent"),
    [
        *[([0, 0, 0], 0.1, 6.5), ([0, 0, 0, 1, 2], 0.1, 6), ([0, 0, 0, 1, 1], 0.1, 6)],
        *[([0, 0, 0], 0.5, 13), ([0, 0, 0, 1, 2], 0.5, 10), ([0, 0, 0, 1, 1], 0.5, 12)],
        *[([0, 0, 1], 0.1, 5.5), ([0, 0, 0, 1], 0.1, 6), ([0, 0, 1], 0.5, 7), ([0, 0, 0, 1], 0.5, 11)],
    ],
)
def test_batches_of_one_host_are_wrong_more_often(hosts, share, percent):
    """What docs/method.md says of a true ratio of 1. share: of the variance between batches, the host's."""
    words, _ = drawn(1, np.array(hosts), share)
    assert np.mean([word in (CLAIMED, OPPOSITE) for word in words]) == pytest.approx(percent / 100, abs=0.02)


def drawn(true, hosts, share):
    """The words of 1,000 draws of a batch a host of `hosts`, and their ratios, (1000, batches).

    share: of the variance between batches what is common to batches of one host.
    """
    random, draws, batches, rounds = np.random.default_rng(16), 1000, len(hosts), 3
    of_host, of_batch = (0.02 * np.sqrt(part) for part in (share, 1 - share))
    speed = (1 + random.uniform(-0.09, 0.09, (draws, batches, 1, 1)))[:, hosts]
    between = random.normal(0, of_host, (draws, batches, 1, 2))[:, hosts]
    between = np.exp(between + random.normal(0, of_batch, (draws, batches, 1, 2)))
    runs = np.exp(random.normal(0, 0.015, (draws, batches, rounds, 2)))
    medians = np.median(np.array([1, true]) * speed * between * runs, axis=2)
    ratios = medians[..., 1] / medians[..., 0]
    return [verdicts.decide(verdicts.estimate(draw), FASTER) for draw in ratios], ratios
