"""snakemake compare: what was measured here beside an archive."""

import dataclasses
import re

import pandas as pd
import pytest

from kernels.errors import InputError
from tests.support import published
from tests.support.claims import CLAIMS
from tests.support.rows import in_batches, rows_of
from workflow.judge import claims
from workflow.store import columns, measurements
from workflow.views import compare
from workflow.views.context import write
from workflow.views.render import CROSS

NAIVE, FLAG = ("bellman_ford/naive", "nyc"), ("bellman_ford/stride_flag", "nyc")
TIMES = {NAIVE: 2.0, FLAG: 1.0}
TOLERANCE = 0.05
NONE = pd.DataFrame()  # of searches from many sources
SPREAD, CLOSE = (0.98, 1, 1.02), (0.9999, 1, 1.0001)  # by batch, what its times are multiplied by


def archived(times, factors=SPREAD):
    """An archive of three batches."""
    variants = {variant for variant, _ in times}
    return in_batches(rows_of(times), "abc", [dict.fromkeys(variants, factor) for factor in factors])


def spread(times):
    """An archive of three batches, whose ratios over Stride with Flag scatter."""
    return in_batches(rows_of(times), "abc", [{FLAG[0]: factor} for factor in SPREAD])


ARCHIVE = archived(TIMES)


def here(times=TIMES, batch="z", **more):
    rows = rows_of(times, **more)
    return in_batches(rows, batch) if batch else rows


def agreement_of_cells(rows, archive=ARCHIVE):
    facts = compare.agreements(rows, archive, TOLERANCE)
    return dict(zip(zip(facts["variant"], facts["dataset"], strict=True), facts["word"], strict=True))


@pytest.mark.parametrize(
    ("factors", "agreements"),
    [
        (SPREAD, {2.0: "consistent", 2.15: "consistent", 2.3: "slower", 1.85: "consistent", 1.6: "faster"}),
        (CLOSE, {1.85: "faster", 1.92: "consistent", 2.08: "consistent", 2.15: "slower"}),
    ],
)
def test_a_time_agrees_if_one_more_batch_would_lie_there_or_within_the_tolerance(factors, agreements):
    for seconds, agreement in agreements.items():
        assert agreement_of_cells(here({NAIVE: seconds}), archived({NAIVE: 2.0}, factors)) == {NAIVE: agreement}


def test_a_ratios_range_is_that_of_the_ends_furthest_apart():
    mine = in_batches(rows_of({NAIVE: 1.0}), "yz", [{NAIVE[0]: factor} for factor in (0.5, 2)])
    (cell,) = compare.agreements(mine, ARCHIVE, TOLERANCE).to_dict("records")
    assert (cell["ratio low"], cell["ratio high"]) == pytest.approx((1.96 / 2, 2.04 / 0.5))
    assert compare.text(pd.DataFrame([cell])).iloc[0].to_dict() == {
        "Variant": NAIVE[0],
        "Dataset": "nyc",
        "Here": "2.50 s (1.00 s to 4.00 s), 2 batches",
        "Archive": "4.00 s (3.92 s to 4.08 s), 3 batches",
        "Ratio": f"{CROSS}1.60 (0.980 to 4.08)",
        "Agreement": "faster",
    }


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (here({NAIVE: 2.0}, device="other card"), "the archive is of test card"),
        (here({NAIVE: 2.0}).assign(dataset_sha256="cd" * 32), "another graph"),
        (here({("bellman_ford/stride", "nyc"): 2.0}), "it is not in the archive"),
        (here({NAIVE: 2.0}).assign(source=7.0), "the archive's is from vertex 0"),
        (here({NAIVE: 2.0}).assign(status="no_memory", seconds=float("nan")), "no memory here, ok in the archive"),
    ],
)
def test_what_is_not_comparable_says_why(rows, reason):
    assert list(agreement_of_cells(rows).values()) == [f"not comparable: {reason}"]


@pytest.mark.parametrize(
    ("cores", "of_archive", "agreement"),
    [
        (16, 16, "consistent"),
        (2, 16, "not comparable: the archive's ran on 16 cores"),
        (16, "", "consistent"),
        ("", 16, "consistent"),
    ],
)
def test_times_on_other_numbers_of_cores_are_not_compared_if_both_are_known(cores, of_archive, agreement):
    library = {("dijkstra/networkit_apsp", "gnutella04"): 1.0}
    archive = in_batches(rows_of(library, cores=of_archive))
    assert list(agreement_of_cells(here(library, cores=cores), archive).values()) == [agreement]


def test_a_cell_that_has_no_time_on_either_side_is_not_compared():
    none = dict.fromkeys(columns.TIMES, float("nan")) | {"status": "timeout"}
    agreements = agreement_of_cells(here({NAIVE: 2.0}).assign(**none), ARCHIVE.assign(**none))
    assert list(agreements) == [NAIVE] and agreements[NAIVE].count("timeout") == 2


@pytest.mark.parametrize("other", [FLAG, ("bellman_ford/naive", "bay")])
def test_a_graph_is_compared_with_that_of_the_same_cell_alone(other):
    archive = archived({NAIVE: 2.0, other: 1.0})
    of_other = (measurements.variants(archive) == other[0]) & (archive["dataset"] == other[1])
    archive["dataset_sha256"] = archive["dataset_sha256"].mask(of_other, "cd" * 32)
    assert agreement_of_cells(here({NAIVE: 2.0}), archive) == {NAIVE: "consistent"}


@pytest.mark.parametrize("older", [0, 1])
def test_only_batches_of_the_newest_revision_are_compared(older):
    """Those of an older one, on either side, took ten times as long, on another graph."""
    sides = [spread(TIMES), spread(TIMES)]
    before = archived({cell: 10 * seconds for cell, seconds in TIMES.items()}).replace({"batch": {"a": "d", "b": "e"}})
    before = before.assign(revision="0", started="2025-01-01T00:00:00+00:00", dataset_sha256="cd" * 32)
    sides[older] = pd.concat([before, sides[older]], ignore_index=True)
    assert set(agreement_of_cells(*sides).values()) == {"consistent"}
    assert beside(*sides) == "inside in 3 of 3 batches"


def test_too_few_archived_batches_give_a_ratio_without_agreement():
    archive = ARCHIVE[ARCHIVE["batch"] != "c"]
    facts = compare.agreements(here(), archive, TOLERANCE).set_index("variant")
    (word,) = set(facts["word"])
    assert word.startswith("not comparable: ") and "three" in word
    assert facts.loc["bellman_ford/naive", "ratio"] == pytest.approx(0.99)
    assert set(agreement_of_cells(here(), rows_of(TIMES)).values()) == {word}


def test_the_claims_are_side_by_side(tmp_path):
    many = pd.DataFrame([{"Dataset": "nyc", "Search": "rows", "Ratio": f"{CROSS}1.33"}])
    rows = here({NAIVE: 2.0, FLAG: 0.5}, substitute="made by hand")
    write(compare.files(rows, ARCHIVE, many, "h200", TOLERANCE), tmp_path, tmp_path)
    facts = pd.read_csv(tmp_path / "compare.csv").set_index("variant")
    assert facts.loc["bellman_ford/stride_flag", "word"] == "faster"
    text = (tmp_path / "compare.md").read_text()
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {CLAIMS['flag_factor'].number}. ")]
    cells = [cell.strip() for cell in line.split("|")[2:-1]]
    assert cells == [
        "nyc †",
        f"{CROSS}4.00",
        "too few batches",
        f"{CROSS}2.00 [2.00, 2.00], 3 batches",
        "less ‡; direction as claimed",
        f"{CROSS}2.00 to 2.00",
        "outside",
    ]
    assert re.search(r"\b0 of 1 ratios .* 0\.9 .* 0 to 1 ", text)
    assert "1 consistent, 1 faster." in text and "Bellman" not in text
    assert re.search(rf"many sources\n\n.*\n\n.*\n.*\n\| nyc +\| rows +\| {CROSS}1.33 ", text)
    write(compare.files(here(), ARCHIVE, NONE, "h200", TOLERANCE), tmp_path, tmp_path)
    assert "many sources" not in (tmp_path / "compare.md").read_text()


def judged(rows, archive, claim="flag_factor", dataset="nyc"):
    """What `judged` says of a claim on a dataset, and whether each batch lies inside."""
    (one,) = (one for one in claims.claims() if one.id == claim)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "claims", lambda: [dataclasses.replace(one, datasets=(dataset,))])
        table, inside = compare.judged(rows, archive, TOLERANCE)
    (line,) = table.to_dict("records")
    return line, inside


def beside(*given):
    return judged(*given)[0]["Ratio here is"]


@pytest.mark.parametrize(
    ("seconds", "agreement"), [(0.999, "outside"), (0.9995, "inside"), (1.0005, "inside"), (1.001, "outside")]
)
def test_a_claims_ratio_has_no_tolerance(seconds, agreement):
    """The archive's two times scatter by 0.1 permille each, in opposite directions."""
    factors = [{NAIVE[0]: factor, FLAG[0]: 2 - factor} for factor in CLOSE]
    archive = in_batches(rows_of(TIMES), "abc", factors)
    assert beside(here({NAIVE: 2.0, FLAG: seconds}), archive) == agreement


@pytest.mark.parametrize(("seconds", "agreement"), [(50, "inside"), (49.98, "outside"), (50.02, "outside")])
def test_a_claim_in_seconds_is_compared_by_its_difference(seconds, agreement):
    """Stride is 2 s faster in the archive; 0.04 s more or less are 2 % of that."""
    naive, stride = ("bellman_ford/naive", "e"), ("bellman_ford/stride", "e")
    archive = archived({naive: 51.0, stride: 50.0}, CLOSE)
    assert beside(here({naive: 51.0, stride: seconds}), archive, "stride_largest", "e") == agreement


def test_each_batch_here_is_one_more_batch():
    factors = [{FLAG[0]: factor} for factor in (1.0, 1.01, 1.5)]
    line, inside = judged(in_batches(rows_of(TIMES), "xyz", factors), spread(TIMES))
    assert (line["Ratio here is"], inside) == ("inside in 2 of 3 batches", [True, True, False])


def test_a_claim_against_several_is_compared_over_the_archives_strongest():
    """Naive is the strongest competitor in the archive, Stride here; or the archive lacks one, so that none decides."""
    stride = ("bellman_ford/stride", "nyc")
    rows, archive = here(TIMES | {stride: 1.5}), spread(TIMES | {stride: 3.0})
    line, inside = judged(rows, archive, "flag_best")
    assert line["Here"] == f"{CROSS}2.00 over Naive" and "over Naive" in line["Archive"] and inside == [True]
    assert beside(rows, ARCHIVE, "flag_best").startswith("not comparable: ")


def job_like_the_archives(dataset, **ratios):
    """A job on the archive's graph and card, in which Naive's time has these ratios to those of other variants."""
    rows = published.archived_rows("h200")
    rows = rows[(rows["dataset"] == dataset) & (rows["algorithm"] == "bellman_ford")]
    rows = measurements.pooled(rows[rows["variant"].isin(["naive", *ratios])])
    seconds = 10 / rows["variant"].map({"naive": 1.0} | ratios)
    return rows[rows["batch"] == rows["batch"].max()].assign(batch="independent", seconds=seconds)


@pytest.mark.parametrize(
    ("dataset", "claim", "ratios", "verdict"),
    [
        ("nyc", "stride_small", {"stride": 0.929}, "inside"),
        ("col", "stride_small", {"stride": 1.036}, "inside"),
        ("nyc", "flag_factor", {"stride_flag": 1.061}, "inside"),
        ("col", "flag_factor", {"stride_flag": 1.202}, "inside"),
        ("bay", "flag_factor", {"stride_flag": 1.11}, "outside"),  # just below 1.11 to 1.25
    ],
)
def test_independent_jobs_are_compared_with_the_intervals_of_the_archive(dataset, claim, ratios, verdict):
    """Ratios of two jobs on H200s that are in no batch. Four of the five lie in the interval of one more batch."""
    line, inside = judged(job_like_the_archives(dataset, **ratios), published.archived_rows("h200"), claim, dataset)
    assert (line["Ratio here is"], inside) == (verdict, [verdict == "inside"])
    far = {variant: 1.4 * ratio for variant, ratio in ratios.items()}
    assert beside(job_like_the_archives(dataset, **far), published.archived_rows("h200"), claim, dataset) == "outside"


@pytest.mark.parametrize(
    ("archive", "reason"),
    [
        (ARCHIVE.assign(device="other card"), "the archive is of other card"),
        (ARCHIVE.assign(dataset_sha256="cd" * 32), "another graph"),
        (ARCHIVE[ARCHIVE["variant"] == "naive"], "it is not in the archive"),
    ],
)
def test_claims_on_other_cards_and_graphs_are_not_compared(archive, reason):
    assert beside(here(), archive) == f"not comparable: {reason}"


def test_a_rerun_of_one_variant_is_compared_too():
    assert agreement_of_cells(here({NAIVE: 2.0}, batch="")) == {NAIVE: "consistent"}


@pytest.mark.parametrize("empty", [0, 1])
def test_nothing_measured_is_one_message(empty):
    rows = [here(), ARCHIVE]
    rows[empty] = rows[empty].iloc[:0]
    with pytest.raises(InputError, match=r"nothing was measured (here|in the archive h200): run snakemake"):
        compare.files(*rows, NONE, "h200", TOLERANCE)
