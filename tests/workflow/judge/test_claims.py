"""The paper's claims are judged by the rule that claims.md states, from ratios within jobs and from nothing else."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from kernels.errors import InputError
from tests.support import published
from tests.support.published import ARCHIVES
from tests.support.rows import in_batches, rows_of
from tests.support.views import draw
from workflow.judge import batches, claims, original, verdicts
from workflow.judge.verdicts import (
    CLAIMED,
    FEW,
    INCONCLUSIVE,
    INTERVAL,
    LESS,
    MIXED,
    MORE,
    OPPOSITE,
    SAME,
    UNKNOWN,
    Estimate,
)
from workflow.plan import experiments
from workflow.store import measurements
from workflow.views.paper import audit

ROOT = Path(__file__).parents[3]
TOLERANCE = 0.05
CLAIMS = {claim.id: claim for claim in claims.claims()}
SPREAD = (0.999, 1.0, 1.001)  # of three batches


def measured(times, factors=SPREAD, **more):
    """Rows of {(algorithm/variant, dataset): seconds}: a batch for each factor, which the left variant's times have."""
    left = next(iter(times))[0]
    return in_batches(rows_of(times, **more), "abcdefgh"[: len(factors)], [{left: factor} for factor in factors])


def judged(claim, rows):
    """The claim, judged on rows."""
    (one,) = claims.audit(claims.select(rows.assign(throttling=""), [claim]), [claim], TOLERANCE)
    return one


def two(left, right, dataset="nyc"):
    return {("bellman_ford/stride_flag", dataset): left, ("bellman_ford/naive", dataset): right}


@pytest.mark.parametrize(
    ("name", "held", "others"),
    [
        ("stride_small", ["col"], {SAME}),
        ("stride_large", [], {SAME}),
        ("stride_largest", ["e"], set()),
        ("flag_best", ["nyc", "bay", "col", "fla", "ne", "e"], set()),
        ("flag_factor", ["e"], {LESS}),
        ("dijkstra_gpu", ["gnutella04"], set()),
        ("super_naive_best", ["gnutella04", "gnutella25", "gnutella30"], set()),
        ("super_naive_shared", ["gnutella04", "gnutella25", "gnutella30"], set()),
        ("tiled_best", ["gnutella04", "gnutella25", "gnutella30"], set()),
        ("tiled_factor", ["gnutella04", "gnutella25", "gnutella30"], set()),
        ("tiled_shared_over_tiled", ["gnutella04", "gnutella25", "gnutella30"], set()),
        ("tiled_shared_over_naive", [], {LESS, MORE}),
    ],
)
def test_what_the_papers_own_tables_say(name, held, others):
    findings = {dataset: claims.judge_paper(CLAIMS[name], dataset, TOLERANCE) for dataset in CLAIMS[name].datasets}
    assert [dataset for dataset, finding in findings.items() if finding.verdict == CLAIMED] == held
    assert {finding.verdict for finding in findings.values()} - {CLAIMED} == others


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("stride_small", [CLAIMED] * 3),
        ("stride_large", [OPPOSITE, CLAIMED, CLAIMED]),
        ("flag_factor", [LESS] * 6),
        ("super_naive_shared", [CLAIMED] * 3),
        ("tiled_factor", [MORE, LESS, LESS]),
        ("tiled_shared_over_naive", [MORE, LESS, MORE]),
    ],
)
def test_what_the_papers_own_tables_say_without_tolerance(name, words):
    claim = dataclasses.replace(CLAIMS[name], about=0)
    assert [claims.judge_paper(claim, dataset, 0).verdict for dataset in claim.datasets] == words


def test_the_papers_ratios():
    finding = claims.judge_paper(CLAIMS["flag_factor"], "nyc", TOLERANCE)
    assert finding.estimate.value == pytest.approx(8.58384 / 3.91371)
    finding = claims.judge_paper(CLAIMS["stride_largest"], "e", TOLERANCE)
    assert (finding.estimate.value, finding.direction) == (pytest.approx(1137.63 - 1135.22), SAME)
    finding = claims.judge_paper(CLAIMS["flag_best"], "ne", TOLERANCE)
    assert (finding.over, finding.estimate.value) == ("bellman_ford/stride", pytest.approx(214.76 / 83.5226))
    nothing = dataclasses.replace(CLAIMS["flag_factor"], right=("bellman_ford/stride_ell",))
    assert claims.judge_paper(nothing, "nyc", TOLERANCE).why == "no time of bellman_ford/stride_ell"


@pytest.mark.parametrize(
    ("relation", "values", "left", "right", "verdict", "direction"),
    [
        ("slower", "", 12, 10, CLAIMED, CLAIMED),
        ("slower", "", 10, 12, OPPOSITE, OPPOSITE),
        ("slower", "", 10, 10, SAME, SAME),
        ("faster", "", 10, 12, CLAIMED, CLAIMED),
        ("faster", "", 12, 10, OPPOSITE, OPPOSITE),
        ("faster", "", 10, 10, SAME, SAME),
        ("fastest", "", 10, 12, CLAIMED, CLAIMED),
        ("no_better", "", 12, 10, CLAIMED, CLAIMED),
        ("no_better", "", 10, 10, CLAIMED, CLAIMED),
        ("no_better", "", 10, 12, OPPOSITE, OPPOSITE),
        ("no_better", "", 10, 10.2, OPPOSITE, OPPOSITE),  # within the tolerance, but the interval excludes 1
        ("faster", "", 10, 10.2, CLAIMED, CLAIMED),
        ("times_faster", "2 2", 10, 20, CLAIMED, CLAIMED),
        ("times_faster", "2 2", 10, 24.9, CLAIMED, CLAIMED),
        ("times_faster", "2 2", 10, 25.5, MORE, CLAIMED),
        ("times_faster", "2 2", 20, 10, LESS, OPPOSITE),
        ("times_faster", "2 2", 10, 10, LESS, SAME),
        ("times_faster", "4 6", 10, 36, CLAIMED, CLAIMED),
        ("times_faster", "4 6", 10, 34, LESS, CLAIMED),
        ("times_faster", "4 6", 10, 66, MORE, CLAIMED),
        ("faster_by_s", "2 2", 10, 12, CLAIMED, CLAIMED),
        ("faster_by_s", "2 2", 10, 14, MORE, CLAIMED),
        ("faster_by_s", "2 2", 12, 10, LESS, OPPOSITE),
        ("faster_by_s", "2 2", 200, 202, CLAIMED, CLAIMED),
    ],
)
def test_each_relation(relation, values, left, right, verdict, direction):
    low, high = values.split() or ("", "")
    claim = dataclasses.replace(CLAIMS["flag_factor"], relation=relation, low=low, high=high, datasets=("nyc",))
    # rows_of doubles what it is given
    finding = judged(claim, measured(two(left / 2, right / 2), (0.9999, 1.0, 1.0001))).from_batches["nyc"]
    assert (finding.verdict, finding.direction, finding.factor) == (verdict, direction, verdict if values else "")
    value = right - left if relation == "faster_by_s" else right / left
    assert finding.estimate.value == pytest.approx(value, rel=0.01)
    assert (finding.estimate.batches, finding.rounds, len(finding.cards)) == (3, 2, 3)


def test_a_ratio_is_taken_within_each_batch():
    """Hosts that differ by half leave a ratio as it is."""
    rows = in_batches(
        rows_of(two(1, 2)),
        "abc",
        [dict.fromkeys(("bellman_ford/naive", "bellman_ford/stride_flag"), factor) for factor in (1, 1.5, 0.5)],
    )
    finding = judged(CLAIMS["flag_factor"], rows).from_batches["nyc"]
    assert (finding.estimate.low, finding.estimate.high) == (pytest.approx(2), pytest.approx(2))


def test_what_was_measured_alone_is_compared_with_nothing():
    finding = judged(CLAIMS["flag_factor"], rows_of(two(1, 2.8))).from_batches["nyc"]
    assert (finding.verdict, finding.estimate) == (UNKNOWN, None)
    apart = pd.concat(
        [in_batches(rows_of({cell: 1}), name) for cell, name in zip(two(1, 1), "ab", strict=True)], ignore_index=True
    )
    assert judged(CLAIMS["flag_factor"], apart).from_batches["nyc"].why == finding.why


def test_only_batches_of_the_same_revision_are_pooled():
    rows = measured(two(1, 2.8))
    rows.loc[rows["batch"] == "a", "revision"] = "0"
    rows.loc[rows["batch"] != "a", "started"] = "2026-02-01T00:00:00+00:00"
    finding = judged(CLAIMS["flag_factor"], rows).from_batches["nyc"]
    assert (finding.estimate.batches, finding.verdict) == (2, FEW)


def test_a_cell_keeps_what_was_measured_alone_where_it_has_no_batch():
    rows = in_batches(rows_of(two(1, 2)), "ab")
    alone = rows_of(two(1, 2), code="c0de")
    pooled = measurements.pooled(pd.concat([rows[rows["variant"] == "stride_flag"], alone], ignore_index=True))
    assert set(zip(pooled["variant"], pooled["batch"], strict=True)) == {
        *(("stride_flag", batch) for batch in "ab"),
        ("naive", ""),
    }


def test_the_newest_revision_is_that_of_each_cell_by_time():
    rows = in_batches(rows_of(two(1, 2)), "ab")
    newer = (rows["variant"] == "naive") & (rows["batch"] == "a")
    rows = rows.assign(
        revision=rows["revision"].mask(newer, "3"),
        started=rows["started"].mask(newer, "2026-02-01T00:00:00+00:00"),
    )
    pooled = measurements.pooled(rows)
    assert set(zip(pooled["variant"], pooled["batch"], strict=True)) == {
        ("naive", "a"),
        *(("stride_flag", batch) for batch in "ab"),
    }


def test_a_librarys_batches_have_the_same_cores():
    """Those of most batches, of equally many the last measured; rows that do not say are alike."""
    rows = in_batches(rows_of({("dijkstra/networkit_apsp", "gnutella04"): 1.0}, cores=16), "abcd")
    rows["cores"] = rows["cores"].mask(rows["batch"].isin(["c", "d"]), 32)
    rows["started"] = rows["started"].mask(rows["batch"] == "b", "2026-02-01T00:00:00+00:00")
    assert set(measurements.pooled(rows)["batch"]) == {"a", "b"}
    assert set(measurements.pooled(rows[rows["batch"] != "a"])["batch"]) == {"c", "d"}
    assert len(measurements.pooled(rows.assign(cores=np.nan))) == len(rows)
    rounds = rows[(rows["batch"] == "d") | ((rows["batch"] != "c") & (rows["round"] == 1))]  # two of each number
    assert set(measurements.pooled(rounds.assign(started=rows["started"].iloc[0]))["batch"]) == {"a", "b"}


@pytest.mark.parametrize("place", ["card_uuid", "host_id"])
def test_times_of_two_machines_are_not_compared(place):
    rows = measured(two(1, 2.8))
    rows.loc[(rows["batch"] == "b") & (rows["variant"] == "naive"), place] = "another"
    with pytest.raises(InputError, match=f"nyc, batch b: .* {place} "):
        judged(CLAIMS["flag_factor"], rows)


def test_a_processor_and_a_card_of_one_host_are_compared():
    times = {("dijkstra/naive", "gnutella04"): 1, ("dijkstra/cpu", "gnutella04"): 3}
    one = judged(CLAIMS["dijkstra_gpu"], measured(times))
    assert (one.verdict, len(one.from_batches["gnutella04"].cards)) == (CLAIMED, 3)


def test_two_batches_decide_nothing_and_show_their_range():
    one = judged(CLAIMS["flag_factor"], measured(two(1, 2.8), (1, 1.25)))
    assert one.from_batches["nyc"].verdict == FEW
    assert audit.value_text(one.claim, one.from_batches["nyc"]) == f"{audit.CROSS}2.50 (2.24 to 2.80), 2 batches"
    assert one.verdict == FEW


def test_an_open_verdict_says_how_many_batches_would_do():
    one = judged(
        CLAIMS["stride_small"],
        measured({("bellman_ford/stride", "nyc"): 1.02, ("bellman_ford/naive", "nyc"): 1}, (0.97, 1.0, 1.03)),
    )
    finding = one.from_batches["nyc"]
    assert finding.verdict == INCONCLUSIVE and finding.needed > 3
    assert f" {finding.needed} batches" in audit.verdict_text(finding)


def test_on_one_card_it_is_said():
    rows = measured(two(1, 2.8))
    assert judged(CLAIMS["flag_factor"], rows).verdict == CLAIMED
    rows = rows.assign(card_uuid="GPU-1")
    assert judged(CLAIMS["flag_factor"], rows).verdict == f"{CLAIMED}, on this card"
    assert judged(CLAIMS["flag_factor"], rows[rows["batch"] != "a"]).verdict == FEW
    undecided = rows[rows["batch"] == rows["batch"].iloc[0]].assign(dataset="bay", card_uuid="GPU-2")
    one = judged(CLAIMS["flag_factor"], pd.concat([rows, undecided], ignore_index=True))
    assert (one.from_batches["bay"].verdict, one.verdict) == (FEW, f"{CLAIMED}, on this card")


def test_a_verdict_that_rests_on_each_batch_is_marked():
    steady = judged(CLAIMS["flag_best"], measured(two(1, 2) | {("bellman_ford/stride", "nyc"): 2}, (1, 1.01, 0.99, 1)))
    assert (steady.from_batches["nyc"].verdict, steady.from_batches["nyc"].fragile) == (CLAIMED, False)
    times = two(1, 2) | {("bellman_ford/stride", "nyc"): 1.1}
    shaky = judged(CLAIMS["flag_best"], measured(times, (1, 1.03, 1.04, 0.96))).from_batches["nyc"]
    without = [
        judged(CLAIMS["flag_best"], measured(times, left)).from_batches["nyc"].verdict
        for left in [(1.03, 1.04, 0.96), (1, 1.03, 1.04)]
    ]
    assert (shaky.verdict, shaky.fragile, without) == (CLAIMED, True, [INCONCLUSIVE, CLAIMED])
    assert audit.verdict_text(shaky) == f"{CLAIMED} ‡"


def test_a_verdict_that_one_batch_would_turn_is_marked():
    ratios = np.array([0.977, 0.984, 0.995, 0.991, 0.975])
    times = {("bellman_ford/stride", "bay"): 1.0, ("bellman_ford/naive", "bay"): 1.0}
    audited = [judged(CLAIMS["stride_small"], measured(times, 1 / some)) for some in (ratios, ratios[1:])]
    finding = [one.from_batches["bay"] for one in audited]
    assert [(one.verdict, one.fragile) for one in finding] == [(CLAIMED, True), (SAME, False)]


@pytest.mark.parametrize(
    ("times", "verdict", "over"),
    [((1, 3, 2), CLAIMED, "stride"), ((1, 3, 1), SAME, "stride"), ((1, 0.5, 2), OPPOSITE, "naive")],
)
def test_the_fastest_must_be_faster_than_each(times, verdict, over):
    names = "stride_flag", "naive", "stride"
    cells = {(f"bellman_ford/{name}", "nyc"): time for name, time in zip(names, times, strict=True)}
    finding = judged(CLAIMS["flag_best"], measured(cells)).from_batches["nyc"]
    assert (finding.verdict, finding.over) == (verdict, f"bellman_ford/{over}")


def test_a_missing_variant_is_named_and_nothing_is_guessed():
    finding = judged(CLAIMS["flag_best"], measured(two(1, 3))).from_batches["nyc"]
    assert (finding.verdict, finding.why, finding.estimate) == (UNKNOWN, "no time of bellman_ford/stride", None)


def test_a_cell_that_no_claim_is_about_is_left_out():
    rows = measured(two(1, 2.8) | {("bellman_ford/naive", "bay"): 1})
    claim = dataclasses.replace(CLAIMS["flag_factor"], datasets=("nyc",))
    assert set(claims.select(rows, [claim])["dataset"]) == {"nyc"}


def test_a_dataset_that_was_two_graphs_is_refused():
    rows = measured(two(1, 2.8))
    rows.loc[rows["variant"] == "naive", "dataset_sha256"] = "cd" * 32
    with pytest.raises(InputError, match=r"^nyc "):
        claims.select(rows, [CLAIMS["flag_factor"]])


def test_the_papers_own_program_beside_ours():
    one = judged(CLAIMS["flag_factor"], measured(two(1, 2.8)))
    rows = pd.read_csv(original.BATCHES, comment="#")
    rows = rows[(rows["who"] == "original") & (rows["dataset"] == "nyc")]
    ratios = []
    for _, batch in rows.groupby("batch"):
        times = batch.groupby("variant")["seconds"].median()
        ratios.append(times["naive"] / times["stride_flag"])
    found = one.from_program["nyc"]
    assert (found.batches, found.low, found.high) == (2, pytest.approx(min(ratios)), pytest.approx(max(ratios)))
    assert (one.from_program["e"].batches, one.from_program["e"].value) == (1, pytest.approx(276.05 / 115.42))
    assert judged(CLAIMS["dijkstra_gpu"], measured(two(1, 2))).from_program == {"gnutella04": None}


def test_our_times_beside_the_papers_own_program():
    """What docs/method.md says."""
    rows = pd.read_csv(original.BATCHES, comment="#")
    times = rows.groupby(["algorithm", "variant", "dataset", "batch", "who"])["seconds"].median().unstack("who")
    ours = times["ours"] / times["original"]
    assert ours["bellman_ford", "naive", "nyc", "a"] == pytest.approx(5.5914 / 5.6314, rel=0.02)
    ends = ours.groupby("algorithm").agg(["min", "max"]).round(2)
    assert ends.loc["bellman_ford"].tolist() == [0.97, 1.03] and ends.loc["floyd_warshall"].tolist() == [0.75, 1.01]
    datasets = ours.reset_index("dataset").groupby("algorithm")["dataset"].unique()
    assert set(datasets["bellman_ford"]) == {"nyc", "bay", "col"} and set(datasets["floyd_warshall"]) == {"gnutella04"}


def test_where_the_program_has_another_direction_it_is_said():
    times = {
        ("floyd_warshall/super_naive", "gnutella04"): 1.05,
        ("floyd_warshall/super_naive_shared", "gnutella04"): 1,
        ("floyd_warshall/naive", "gnutella04"): 3,
    }
    one = judged(CLAIMS["super_naive_best"], measured(times))
    assert one.from_batches["gnutella04"].verdict == OPPOSITE and one.from_program["gnutella04"].value == pytest.approx(
        0.99, abs=0.02
    )
    said = "On gnutella04 the ratio of the paper's own program lies within 5 % of 1 and outside our interval."
    assert audit.apart(one, TOLERANCE) == said
    same = judged(CLAIMS["flag_best"], measured(two(1, 2) | {("bellman_ford/stride", "nyc"): 2}))
    assert audit.apart(same, TOLERANCE) == ""


def between(low, high):
    """An estimate whose interval that is."""
    return Estimate((low + high) / 2, low, high, 3, INTERVAL)


FASTER, SLOWER = ((1.5, 2), CLAIMED), ((0.5, 0.6), OPPOSITE)  # our interval and direction
OTHER_SIDE, NEAR_1, AWAY = "on the other side of 1", "within 5 % of 1", "more than 5 % from 1"


@pytest.mark.parametrize(
    ("ours", "program", "said"),
    [
        (FASTER, (0.7, 0.8), OTHER_SIDE),
        (FASTER, (0.7, 0.99), OTHER_SIDE),
        (FASTER, (0.7, 1.2), ""),  # on both sides
        (FASTER, (1.2, 1.3), ""),
        (FASTER, (2.5, 3), ""),
        (FASTER, (0.7, 1.5), ""),  # overlaps ours
        (FASTER, (2, 3), ""),
        (FASTER, (0.97, 1.03), NEAR_1),
        (FASTER, (0.97, 1.2), ""),
        (((1.01, 1.2), CLAIMED), (0.97, 1.02), ""),
        (((0.98, 1.04), CLAIMED), (1.06, 1.2), OTHER_SIDE),  # of "no faster"
        (((0.98, 1.04), CLAIMED), (0.8, 0.9), ""),
        (SLOWER, (1.2, 1.3), OTHER_SIDE),
        (SLOWER, (1.01, 1.3), OTHER_SIDE),
        (SLOWER, (0.9, 1.3), ""),
        (SLOWER, (0.7, 0.8), ""),
        (SLOWER, (0.2, 0.3), ""),
        (SLOWER, (0.6, 1.3), ""),
        (SLOWER, (0.97, 1.03), NEAR_1),
        (SLOWER, (0.9, 1.03), ""),
        (((0.999, 1.001), SAME), (1.06, 1.2), AWAY),
        (((0.999, 1.001), SAME), (0.8, 0.94), AWAY),
        (((0.999, 1.001), SAME), (1.02, 1.2), ""),
        (((0.999, 1.001), SAME), (0.8, 0.98), ""),
        (((0.96, 1.04), SAME), (1.03, 1.2), ""),
        (((0.9, 1.1), INCONCLUSIVE), (1.2, 1.3), ""),
        (((0.9, 1.1), FEW), (1.2, 1.3), ""),
    ],
)
def test_where_the_program_disagrees(ours, program, said):
    interval, direction = ours
    here = claims.Finding(INCONCLUSIVE, direction, estimate=between(*interval))  # the verdict on a value may be open
    one = claims.Audited(CLAIMS["flag_factor"], {}, {"nyc": here}, {"nyc": between(*program)})
    assert claims.disagreement(one, "nyc", TOLERANCE) == said
    assert claims.disagreeing(one, TOLERANCE) == ({"nyc": said} if said else {})
    in_seconds = dataclasses.replace(one, claim=CLAIMS["stride_largest"])
    assert claims.disagreement(in_seconds, "nyc", TOLERANCE) == ""
    assert claims.disagreement(dataclasses.replace(one, from_program={"nyc": None}), "nyc", TOLERANCE) == ""


def test_the_program_is_judged_over_the_same_competitor_else_over_its_strongest():
    claim, naive, stride = CLAIMS["flag_best"], "bellman_ford/naive", "bellman_ford/stride"
    by_naive, by_stride = (original.estimate(claim.left, name, "e").value for name in (naive, stride))
    assert by_stride < by_naive
    for over, ratio in ((naive, by_naive), (stride, by_stride), ("", by_stride)):
        assert claims.of_program(claim, "e", over).value == ratio
    unknown = dataclasses.replace(claim, right=(naive, "edge/sssp"))  # the program has no such variant
    assert claims.of_program(unknown, "e", "") is None and claims.of_program(unknown, "e", naive).value == by_naive


def test_what_decides_against_several_is_the_worst_of_them():
    """What is not as claimed comes before what is open, and that before what is as claimed; then the least ratio."""

    def over(word, value):
        return claims.Finding(word, over=f"{word} {value}", estimate=between(value, value))

    words = OPPOSITE, LESS, MORE, SAME, INCONCLUSIVE, FEW, CLAIMED
    for number, word in enumerate(words):
        for later in words[number:]:
            findings = [over(later, 3), over(word, 2), over(later, 4)]
            assert claims._strongest(findings).over == f"{word} 2"
            assert claims._strongest(findings[::-1]).over == f"{word} 2"
    # A competitor keeps its word where a batch that it is not of is left out.
    one, other = (
        dataclasses.replace(over(word, 2), verdict_without_batch={word: INCONCLUSIVE}) for word in (CLAIMED, SAME)
    )
    assert claims._strongest([one, other]).verdict_without_batch == {CLAIMED: SAME, SAME: INCONCLUSIVE}


def test_a_claim_about_no_variant_is_refused(tmp_path):
    path = tmp_path / "claims.csv"
    path.write_text(claims.CLAIMS.read_text().replace("bellman_ford/stride_flag", "bellman_ford/flag"))
    said = r"claims\.csv, line 5 \(claim flag_best\): left 'bellman_ford/flag': "
    with pytest.raises(InputError, match=said):
        draw("audit", measurements.load([]), tmp_path / "out", files={"claims": [path]})
    assert not list((tmp_path / "out").iterdir())


def test_the_claims_cells_are_configured():
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    cells = experiments.claimed_cells(config)
    wanted = {
        (*name.split("/"), dataset) for claim in CLAIMS.values() for name in claim.names for dataset in claim.datasets
    }
    assert set(cells) == wanted and len(cells) == len(wanted)
    of_jobs = {cell for job in experiments.jobs(config).values() for cell in job}
    assert wanted <= of_jobs  # so that one job has all that a claim compares


def without_batch(rows, batch, audited):
    """Return each claim's findings without a batch; those on datasets that the batch lacks are the same."""
    datasets = set(rows["dataset"][rows["batch"] == batch])
    left = batches.medians(rows[rows["dataset"].isin(datasets) & (rows["batch"] != batch)])
    return [
        {
            dataset: claims.judge(one.claim, dataset, left, TOLERANCE) if dataset in datasets else finding
            for dataset, finding in one.from_batches.items()
        }
        for one in audited
    ]


@pytest.mark.parametrize("path", ARCHIVES, ids=lambda path: path.name)
def test_no_archived_batch_turns_a_verdict_without_a_mark(path):
    """A decided verdict is marked just if it changes without some one batch; a claim's is marked if it changes."""
    listed = list(CLAIMS.values())
    rows = claims.select(published.archived_rows(path.name), listed)
    whole = claims.audit(rows, listed, TOLERANCE)
    fewer = [without_batch(rows, batch, whole) for batch in sorted(set(rows["batch"]) - {""})]
    assert len(fewer) >= 3
    for found, *left in zip(whole, *fewer, strict=True):
        for dataset, here in found.from_batches.items():
            turned = any(one[dataset].verdict != here.verdict for one in left)
            assert here.fragile == (here.decided and turned)
        others = [one for one in left if found.decided and claims.outcome(one) != claims.outcome(found.from_batches)]
        assert found.turned_on == [
            dataset
            for dataset, here in found.from_batches.items()
            if any(one[dataset].verdict != here.verdict for one in others)
        ]


def test_a_verdict_on_a_claim_that_rests_on_one_batch_is_marked():
    """Stride is slower than Naive on nyc, in each batch; it is not on bay, where one batch decides."""
    times = {(f"bellman_ford/{name}", at): 1.0 for name in ("stride", "naive") for at in ("nyc", "bay")}
    slower = {("bellman_ford/stride", "nyc"): 2.0}
    for at_bay, word, mark in ((0.5, MIXED, " ‡"), (2.0, CLAIMED, "")):
        rows = measured(times | slower | {("bellman_ford/stride", "bay"): at_bay}, (1, 1.01, 0.99, 1))
        last = sorted(set(rows["batch"]))[-1]
        one = judged(CLAIMS["stride_small"], rows[(rows["dataset"] != "bay") | (rows["batch"] != last)])
        assert one.from_batches["bay"].fragile and not one.from_batches["nyc"].fragile
        assert one.counted == f"{word}{mark} (2 of 3 decided)"
        assert one.turned_on == (["bay"] if mark else [])


def test_a_verdict_that_rests_on_one_card_says_so():
    here = {"nyc": claims.Finding(CLAIMED, cards=frozenset({"GPU-1"}))}
    assert claims.Audited(CLAIMS["flag_factor"], {}, here).verdict == f"{CLAIMED}, on this card"
    here["bay"] = claims.Finding(CLAIMED, cards=frozenset({"GPU-2"}))
    assert claims.Audited(CLAIMS["flag_factor"], {}, here).verdict == CLAIMED


def test_each_throttled_variant_of_a_claim_is_named():
    rows = measured(two(1, 2.8))
    claim = CLAIMS["flag_factor"]
    rows["throttling"] = rows["variant"].map({"stride_flag": "heat", "naive": "power cap"})
    (one,) = claims.audit(claims.select(rows, [claim]), [claim], TOLERANCE)
    assert one.throttled["nyc"] == "bellman_ford/stride_flag (heat), bellman_ford/naive (power cap)"
    assert one.throttled["bay"] == ""


def test_a_claim_of_which_nothing_is_decided_is_not_marked():
    """Though it would be decided without its last batch."""
    times = {("bellman_ford/stride", "nyc"): 1.3, ("bellman_ford/naive", "nyc"): 1}
    one = judged(CLAIMS["stride_small"], measured(times, (1, 1.001, 0.999, 0.3)).assign(card_uuid="GPU-1"))
    assert one.from_batches["nyc"].verdict_without_batch["d"] == CLAIMED
    assert not one.from_batches["nyc"].fragile and not one.fragile
    assert one.counted == f"{INCONCLUSIVE}, on this card"


def test_a_finding_says_its_least_rounds_and_all_hosts_and_needs_no_more_batches():
    rows = measured(two(1, 2.8))
    finding = judged(CLAIMS["flag_factor"], rows[(rows["batch"] != "b") | (rows["round"] == 1)]).from_batches["nyc"]
    assert (finding.rounds, finding.hosts, finding.needed) == (1, {"hosta", "hostb", "hostc"}, None)
    slower = {("bellman_ford/stride", "nyc"): 2, ("bellman_ford/naive", "nyc"): 1}
    assert judged(CLAIMS["stride_small"], measured(slower)).from_batches["nyc"].needed is None


@pytest.mark.parametrize(
    ("name", "dataset", "left", "right", "factors"),
    [("flag_factor", "nyc", 1, 2.82, (0.97, 1, 1.03)), ("stride_largest", "e", 50, 51, (0.99, 1, 1.01))],
)
def test_a_value_that_is_open_has_its_number_of_batches(name, dataset, left, right, factors):
    claim = CLAIMS[name]
    rows = measured({(claim.left, dataset): left, (claim.right[0], dataset): right}, factors)
    finding = judged(claim, rows).from_batches[dataset]
    # rows_of doubles what it is given
    values = [2 * right - 2 * left * factor if claim.by_seconds else right / (left * factor) for factor in factors]
    needed = verdicts.needed(values, claim.factors, differences=claim.by_seconds)
    assert (finding.verdict, finding.needed) == (INCONCLUSIVE, needed) and needed > 3


def test_a_direction_that_is_open_has_its_number_of_batches():
    """Of a value that is decided: below 2.8, on either side of 1."""
    finding = judged(CLAIMS["flag_factor"], measured(two(1, 1.02), (0.95, 1, 1.05))).from_batches["nyc"]
    assert (finding.verdict, finding.direction) == ("less", INCONCLUSIVE) and finding.needed > 3
    said = audit.verdict_text(finding)
    assert said.startswith("less ‡; direction inconclusive") and f" {finding.needed} batches" in said


@pytest.mark.parametrize("path", ARCHIVES, ids=lambda path: path.name)
def test_what_an_archived_verdict_compares_is_of_one_card_and_host(path):
    rows = claims.select(published.archived_rows(path.name), list(CLAIMS.values()))
    medians = batches.medians(rows[rows["batch"] != ""])
    for claim in CLAIMS.values():
        for dataset in claim.datasets:
            for over in claim.right:
                for batch in batches.pairs(medians, claim.left, over, dataset).index:
                    sides = medians.loc[[(claim.left, dataset, batch), (over, dataset, batch)]]
                    assert sides["host_id"].nunique() == 1 and sides["host_id"].iloc[0]
                    assert sides["card_uuid"][sides["card_uuid"] != ""].nunique() == 1


@pytest.mark.parametrize(("card", "ratio"), [("h200", 1.3), ("h100-80gb-hbm3", 1.2)])
def test_batches_of_one_host_differ_nearly_as_much_as_those_of_several(card, ratio):
    """What docs/method.md says: the mean square between hosts over that within, each ratio scaled by its deviation."""
    rows = claims.select(published.archived_rows(card), list(CLAIMS.values()))
    found, within, between = batches.medians(rows), [0.0, 0], [0.0, 0]
    on_cards = [claim for claim in CLAIMS.values() if claim.id != "dijkstra_gpu"]
    for left, over, dataset in {
        (c.left, over, dataset) for c in on_cards for over in c.right for dataset in c.datasets
    }:
        both = batches.pairs(found, left, over, dataset)
        scores = np.log(both["right"] / both["left"])
        scores = (scores - scores.mean()) / scores.std()
        means = scores.groupby(both["host_id"]).transform("mean")
        hosts = both["host_id"].nunique()
        within = np.add(within, [((scores - means) ** 2).sum(), len(both) - hosts])
        between = np.add(between, [(means**2).sum(), hosts - 1])
    assert between[0] / between[1] / (within[0] / within[1]) == pytest.approx(ratio, abs=0.1)
