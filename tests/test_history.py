"""results/history.csv and its figure: batches that are added, and variants that became slower."""

from pathlib import Path

import pandas as pd
import pytest

from kernels.errors import InputError
from tests.rows import in_batches, rows_of
from workflow.lib import measurements
from workflow.scripts import compare, history

FAST, OTHER = ("delta_stepping/near_far", "nyc"), ("bellman_ford/naive", "nyc")
TOLERANCE = 0.05


def measured(seconds: float = 2.0, batch: str = "a") -> pd.DataFrame:
    """A batch of both variants, on its day."""
    day = f"2026-01-{ord(batch) - 96:02}T00:00:00+00:00"
    return in_batches(rows_of({FAST: seconds, OTHER: 3.0}), batch).assign(throttling="", started=day)


@pytest.fixture
def three(tmp_path):
    """A file with three batches of both variants, in which near_far takes 2 s, 1.9 s and 2.2 s."""
    path = tmp_path / "history.csv"
    for batch, seconds in zip("abc", (2.0, 1.9, 2.2), strict=True):
        history.add(measured(seconds, batch), path)
    return path


def test_a_row_is_a_batch_and_a_cell(three):
    rows = history.load(three)
    assert list(rows.columns) == history.COLUMNS and len(rows) == 6
    of_ours = rows[rows["variant"] == FAST[0]]
    assert of_ours["batch"].tolist() == ["a", "b", "c"]
    assert of_ours["seconds"].tolist() == pytest.approx([2.0, 1.9, 2.2])
    assert (rows["commit"] != "").all()


def test_a_batch_that_is_added_again_replaces_its_rows(three):
    history.add(measured(5.0, "c"), three)
    rows = history.load(three)
    assert len(rows) == 6 and rows.loc[(rows["variant"] == FAST[0]) & (rows["batch"] == "c"), "seconds"].item() == 5.0


def test_what_was_measured_alone_is_left_out():
    assert history.of_batches(rows_of({FAST: 1.0})).empty


@pytest.mark.parametrize(("last", "word"), [(2.2, "slower"), (2.09, ""), (1.82, ""), (1.8, "faster")])
def test_a_variant_that_became_slower_is_named(three, last, word):
    history.add(measured(last, "c"), three)
    found = history.lines(history.load(three), TOLERANCE)
    assert set(found["variant"]) == {FAST[0]}, "only our own kernels change"
    assert found["ratio"].tolist() == pytest.approx([1, 0.95, last / 2])
    assert set(found["word"]) == {word}


def test_the_figure_names_it(three, tmp_path):
    found = history.lines(history.load(three), TOLERANCE)
    (axes,) = (axes for axes in history.draw(found, "").axes if axes.get_visible())
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["delta_stepping/near_far: slower"]
    history.write(history.load(three), TOLERANCE, tmp_path / "history", ["svg"])
    assert (tmp_path / "history.svg").stat().st_size > 1000


def test_one_batch_is_no_history(tmp_path):
    history.add(measured(), tmp_path / "history.csv")
    with pytest.raises(InputError, match="no two batches"):
        history.write(history.load(tmp_path / "history.csv"), TOLERANCE, tmp_path / "history")


@pytest.mark.parametrize("text", ["a,b\n1,2\n", ",".join(history.COLUMNS) + "\n" + ",".join("x" * 10) + "\n", "\xff"])
def test_another_file_is_refused(text, tmp_path):
    path = tmp_path / "history.csv"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match=r"history\.csv"):
        history.load(path)


def test_compare_adds_what_was_measured_here(tmp_path, monkeypatch):
    monkeypatch.setattr(measurements, "load", lambda files: measured(batch="z"))
    args = {"archive": tmp_path, "measurements": [], "many_sources": [], "tolerance": TOLERANCE, "out_dir": tmp_path}
    compare.main(type("Args", (), args))
    assert set(history.load(tmp_path / "history.csv")["batch"]) == {"z"}


def test_the_kept_file_has_the_archives_batches():
    kept = history.load(Path("results/history.csv"))
    archives = list(Path("results/archive").glob("*/timings.csv"))
    archived = history.of_batches(measurements.load(archives))
    keys = [set(rows[history.KEY].itertuples(index=False)) for rows in (archived, kept)]
    assert keys[0] <= keys[1]
