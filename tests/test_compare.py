"""snakemake compare: what was measured here beside an archive."""

import re

import pandas as pd
import pytest

from kernels.errors import InputError
from tests.rows import in_batches, rows_of
from workflow.lib.render import CROSS
from workflow.scripts import compare

NAIVE, FLAG = ("bellman_ford/naive", "nyc"), ("bellman_ford/stride_flag", "nyc")
TIMES = {NAIVE: 2.0, FLAG: 1.0}
TOLERANCE = 0.05
NONE = pd.DataFrame()  # of searches from many sources
ARCHIVE = in_batches(rows_of(TIMES), "abc", [dict.fromkeys((NAIVE[0], FLAG[0]), factor) for factor in (0.98, 1, 1.02)])
ARCHIVE = ARCHIVE.assign(throttling="")


def here(times=TIMES, batch="z", **more):
    rows = rows_of(times, **more)
    return (in_batches(rows, batch) if batch else rows).assign(throttling="")


def words(rows, archive=ARCHIVE):
    facts = compare.cells(rows, archive, TOLERANCE)
    return dict(zip(zip(facts["variant"], facts["dataset"], strict=True), facts["word"], strict=True))


@pytest.mark.parametrize(
    ("seconds", "word"),
    [(2.0, "consistent"), (2.15, "consistent"), (2.3, "slower"), (1.85, "consistent"), (1.6, "faster")],
)
def test_a_time_is_judged_by_where_one_more_batch_would_lie(seconds, word):
    assert words(here({NAIVE: seconds})) == {NAIVE: word}


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
    assert list(words(rows).values()) == [f"not comparable: {reason}"]


def test_times_on_other_numbers_of_cores_are_not_compared():
    library = {("dijkstra/networkit_apsp", "gnutella04"): 1.0}
    archive = in_batches(rows_of(library, cores=16)).assign(throttling="")
    assert list(words(here(library, cores=16), archive).values()) == ["consistent"]
    assert list(words(here(library, cores=2), archive).values()) == ["not comparable: the archive's ran on 16 cores"]


def test_too_few_archived_batches_give_no_word_but_a_ratio():
    archive = ARCHIVE[ARCHIVE["batch"] != "c"]
    facts = compare.cells(here(), archive, TOLERANCE).set_index("variant")
    assert set(facts["word"]) == {"not comparable: the archive has fewer than three batches"}
    assert facts.loc["bellman_ford/naive", "ratio"] == pytest.approx(0.99)
    alone = rows_of(TIMES).assign(throttling="")
    assert set(words(here(), alone).values()) == {"not comparable: the archive has fewer than three batches"}


def test_the_claims_are_side_by_side(tmp_path):
    many = pd.DataFrame([{"Dataset": "nyc", "Search": "rows", "Ratio": f"{CROSS}1.33"}])
    compare.write(here({NAIVE: 2.0, FLAG: 0.5}), ARCHIVE, many, "h200", TOLERANCE, tmp_path)
    facts = pd.read_csv(tmp_path / "compare.csv").set_index("variant")
    assert facts.loc["bellman_ford/stride_flag", "word"] == "faster"
    text = (tmp_path / "compare.md").read_text()
    (line,) = [line for line in text.splitlines() if line.startswith("| 5. ")]
    cells = [cell.strip() for cell in line.split("|")[2:-1]]
    assert cells == [
        "nyc",
        f"{CROSS}4.00",
        "too few batches",
        f"{CROSS}2.00 [2.00, 2.00], 3 batches",
        "less ‡; direction as claimed",
        "different",
    ]
    assert "Of 2 cells: 1 consistent, 1 faster." in text and "Bellman" not in text
    assert re.search(rf"## Searches from many sources\n\n.*\n\n.*\n.*\n\| nyc +\| rows +\| {CROSS}1.33 ", text)
    compare.write(here(), ARCHIVE, NONE, "h200", TOLERANCE, tmp_path)
    assert "many sources" not in (tmp_path / "compare.md").read_text()


def test_a_rerun_of_one_variant_is_compared_too():
    assert words(here({NAIVE: 2.0}, batch="")) == {NAIVE: "consistent"}


@pytest.mark.parametrize("empty", [0, 1])
def test_nothing_measured_is_one_message_and_no_file(tmp_path, empty):
    rows = [here(), ARCHIVE]
    rows[empty] = rows[empty].iloc[:0]
    with pytest.raises(InputError, match=r"nothing was measured (here|in the archive h200): type snakemake"):
        compare.write(*rows, NONE, "h200", TOLERANCE, tmp_path)
    assert not list(tmp_path.iterdir())
