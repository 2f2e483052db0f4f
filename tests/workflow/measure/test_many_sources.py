"""Searches from many sources at once: how they are measured and checked, their file, their table, their archive."""

import csv
import functools
import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from kernels.check import oracle
from kernels.errors import InputError, WrongResult
from kernels.fast.hierarchy import all_pairs, fragments
from kernels.fast.hierarchy.many_sources import ManySources
from kernels.gpu import SIMULATOR
from kernels.graph import Graph
from kernels.registry import ALL_PAIRS_REVISION
from kernels.run import Run
from tests.support import graphs
from tests.support.cells import read_csv
from tests.support.many_sources import row
from tests.support.project import Project
from tests.support.rows import CONFIG, SIZES, measurement, put_rows, rows_of
from tests.support.views import configured, draw
from workflow.measure import many_sources, measure
from workflow.plan import allocation
from workflow.publish import archive
from workflow.store import benchmarks
from workflow.views import compare
from workflow.views.extensions import many_sources_table
from workflow.views.render import CROSS

OPTIONS = {"repeats": 2, "rows_checked": 5, "budget_s": 1e6}
VERTICES = 12
NEAR_FAR, ONE_SOURCE = many_sources_table.NEAR_FAR, many_sources_table.ONE_SOURCE


@pytest.fixture
def town(monkeypatch):
    """Streets whose tree has several levels of fragments, on a card that has memory for searches from 8 sources."""
    for name, value in {"SMALLEST": 3, "RATIO": 2, "BAND": 2}.items():
        monkeypatch.setattr(fragments, name, value)
    monkeypatch.setattr(all_pairs, "ManySourceSearch", functools.partial(all_pairs.ManySourceSearch, bytes=700))
    on = graphs.grid(VERTICES)
    meta = {"name": "town", "sha256": "5" * 64, "substitute": "made up"}
    yield Graph.from_arcs(VERTICES, on.tails, on.indices, on.weights, directed=False, meta=meta)


def measured(graph, **options):
    return list(many_sources.timed_repeats(graph, OPTIONS | options, 4, measure.StepContext(commit="abc")))


@pytest.mark.simulator
def test_rows_and_reductions_are_searched_and_checked(town):
    rows = measured(town)
    assert {tuple(sorted(row)) for row in rows} == {tuple(sorted(benchmarks.MANY_SOURCES.columns))}
    said = [(row["kind"], row["repeat"], row["sources"], row["rows_checked"]) for row in rows]
    assert said == [(kind, repeat, sources, 5) for kind, sources in (("rows", 8), ("reduced", 12)) for repeat in (1, 2)]
    assert all(row[name] > 0 for row in rows for name in ("search_s", "customize_s", "layout_s", "tree_s"))
    assert len({row["customize_s"] for row in rows}) == 2  # one a repeat
    counts = {(row["vertices"], row["arcs"], row["dataset_sha256"], row["substitute"]) for row in rows}
    assert counts == {(VERTICES, town.arcs, "5" * 64, "made up")}


@pytest.mark.simulator
def test_over_the_budget_there_are_fewer_repeats_and_sources(town):
    rows = measured(town, budget_s=1e-9)
    assert [(row["kind"], row["repeat"]) for row in rows] == [("rows", 1), ("reduced", 1)]
    assert [(row["sources"], row["rows_checked"]) for row in rows] == [(8, 5), (8, 5)]  # the same ones


def test_sources_follow_each_other_and_more_of_them_contain_fewer():
    vertices = np.random.default_rng(1).permutation(100)
    windows = [many_sources.consecutive(vertices, most) for most in (7, 60, 99, 100, 128)]
    assert [len(window) for window in windows] == [7, 60, 99, 100, 100]
    for fewer, more in itertools.pairwise(windows):
        start = more.tolist().index(fewer[0])
        assert (more[start : start + len(fewer)] == fewer).all()


def after(change):
    """A search that changes what it has found; change: takes the ManySources and the sources."""
    made = ManySources.search

    def search(self, numbers, **settings):
        launch = made(self, numbers, **settings)

        def changed():
            launch()
            change(self, numbers)

        return changed

    return search


def change_distance(many, numbers):
    if not many.reduces:
        many.matrix[VERTICES // 2 * many.most] += 1


def change_sum(many, numbers):
    if many.reduces:
        many.totals.sums[0] += 1


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (change_distance, r"town, source \d+: distance of vertex \d+ is \d+, the oracle says \d+"),
        (change_sum, r"town, source \d+: total is \d+, but \d+ by the oracle's row"),
    ],
    ids=["distance", "sum"],
)
def test_one_wrong_value_is_found(town, monkeypatch, change, said):
    monkeypatch.setattr(ManySources, "search", after(change))
    with pytest.raises(WrongResult, match=said):
        measured(town, rows_checked=VERTICES, repeats=1)


@pytest.mark.simulator
def test_what_a_search_leaves_out_is_found(town, monkeypatch):
    calls, made = [], ManySources.search

    def search(self, numbers, **settings):
        calls.append(numbers)
        return made(self, numbers, **settings) if len(calls) < 3 else lambda: None

    monkeypatch.setattr(ManySources, "search", search)
    with pytest.raises(WrongResult, match="is -7, the oracle says"):
        measured(town)
    assert len(calls) == 3  # the one that loads the kernels, and one that was right


@pytest.mark.simulator
def test_rows_of_some_sources_are_the_oracles(town):
    searches = all_pairs.ManySourceSearch(town, reduces=False, run=Run(block=4))
    (piece,) = searches.pieces(np.arange(3, 11))
    columns = np.array([7, 3, 4])
    assert (searches.rows(columns) == oracle(town, tuple(piece[columns].tolist()))).all()


def test_what_is_wrong_is_not_written(monkeypatch, as_with_gpu, tmp_path):
    def wrong(*_):
        raise WrongResult("nyc, source 3: distance of vertex 4 is 1, the oracle says 2")
        yield

    monkeypatch.setattr(many_sources.measure, "packed", lambda path: graphs.grid(9))
    monkeypatch.setattr(many_sources, "timed_repeats", wrong)
    with pytest.raises(InputError, match="nyc, source 3: "):
        many_sources.measure_many_sources(Path("none.npz"), OPTIONS, 4, tmp_path / "nyc.csv", measure.StepContext())
    assert not list(tmp_path.iterdir())


# The file


def write(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, benchmarks.MANY_SOURCES.columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def both(dataset="nyc", **changes):
    """Two repeats of each kind: 1 µs a source."""
    return [row(kind, repeat, dataset, **changes) for kind in benchmarks.KINDS for repeat in (1, 2)]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": "columns"}, "kind 'columns'"),
        *(({"repeat": value}, f"repeat '{value}'") for value in (1, 3)),
        ({"sources": 264_347}, "sources '264347', vertices '264346'"),
        ({"sources": 49_999}, "sources '50000'"),
        *(({name: 0}, f"{name} '0'") for name in ("search_s", "customize_s")),
        ({"order_s": -1}, "order_s '-1'"),
        *(({"rows_checked": value}, f"rows_checked '{value}'") for value in (0, 50_001)),
        *(({"device": value}, f"device '{value}'") for value in (SIMULATOR, "other card")),
        ({"driver": ""}, "driver ''"),
        ({"dataset_sha256": "5"}, "dataset_sha256 '5'"),
        ({"dataset_sha256": "cd" * 32}, "dataset_sha256"),
        ({"started": "2026-01-01"}, "started '2026-01-01'"),
    ],
)
def test_a_row_that_cannot_be_is_refused(tmp_path, changes, said):
    path = write(tmp_path / "many_sources.csv", row(), row(repeat=2) | changes)
    with pytest.raises(InputError, match=rf"many_sources\.csv, line [23] .*{said}"):
        benchmarks.MANY_SOURCES.read([path])


def test_files_of_datasets_are_read_together_and_none_twice(tmp_path):
    nyc, bay = (write(tmp_path / f"{name}.csv", *both(name)) for name in ("nyc", "bay"))
    joined = benchmarks.MANY_SOURCES.read([nyc, bay])
    assert joined.groupby("dataset").size().to_dict() == {"nyc": 4, "bay": 4}
    with pytest.raises(InputError, match=f"^{nyc}, line "):
        benchmarks.MANY_SOURCES.read([nyc, nyc])


# The table


@pytest.mark.parametrize(
    ("prepare", "search", "other", "expected"),
    [
        (1.0, 0.0, 0.3, 4),  # 3 take 0.9 s
        (1.0, 0.25, 0.5, 5),  # 4 take as long as 4 by the other
        (0.0, 0.25, 0.5, 1),
        (1.0, 0.5, 0.5, np.inf),
        (1.0, 0.6, 0.5, np.inf),
        (1.0, 0.5, np.nan, np.nan),
    ],
)
def test_the_least_number_of_sources_that_take_less(prepare, search, other, expected):
    least = many_sources_table.break_even(prepare, search, other)
    assert least == expected or (np.isnan(least) and np.isnan(expected))
    if np.isfinite(expected):
        assert prepare + least * search < least * other and prepare + (least - 1) * search >= (least - 1) * other


@pytest.fixture
def rows():
    """Medians: by near_far 2.5 ms on nyc, on ne less than a row takes; hierarchy/sssp takes 0.5 ms on nyc."""
    times = {(NEAR_FAR, "nyc"): 0.0025, (NEAR_FAR, "ne"): 5e-7, (ONE_SOURCE, "nyc"): 0.0004}
    rows = rows_of(times)
    return rows.assign(predecessors_s=np.where(rows["variant"] == "sssp", 0.0001, 0.0003))


def test_the_table_has_what_was_measured_and_the_break_even(rows, tmp_path):
    part = [
        row(kind, 1, "bay", sources=1000, search_s=0.003, substitute="made up", revision=str(ALL_PAIRS_REVISION))
        for kind in ("rows", "reduced")
    ]
    many = write(tmp_path / "many_sources.csv", *both(), *part, row(dataset="ne"))
    draw("many_sources_table", rows, tmp_path, files={"many_sources": [many]})
    nyc, bay, ne = read_csv((tmp_path / "many_sources_table.csv").read_text())
    assert [float(nyc[name]) for name in ("customize_s", "rows_us", "reduced_us")] == pytest.approx([0.003, 1, 1])
    assert [float(nyc[name]) for name in ("one_source_s", "near_far_s")] == pytest.approx([0.0005, 0.0025])
    assert float(nyc["all_pairs_s"]) == pytest.approx(0.264346)
    assert float(nyc["break_even"]) == np.ceil(1.253 / (0.0025 - 1e-6)) == 502
    assert float(bay["all_pairs_s"]) == pytest.approx(3e-6 * SIZES.loc["bay"].vertices)
    assert (bay["near_far_s"], bay["break_even"], ne["reduced_us"], ne["break_even"]) == ("", "", "", "inf")
    text = (tmp_path / "many_sources_table.md").read_text()
    lines = {line[2:7].strip(): re.sub(" +", " ", line) for line in text.splitlines() if line.startswith("| ")}
    assert lines["nyc"].endswith("| 1.00 | 1.00 | 0.264 | 2.50 | 502 sources |")
    assert lines["bay †"].endswith("| - | 3.00 | 3.00 | ≈ 0.964 | - | - |")
    assert lines["ne"].endswith("| - | - | 0.000500 | never |")
    assert "nyc 50,000 (n=2)" in text and "- On test card.\n" in text and "bay.txt: made up." in text
    draw("many_sources_table", rows[:0], tmp_path / "none")
    assert "- No measurement.\n" in (tmp_path / "none/many_sources_table.md").read_text()
    assert f"- nyc, ne: {many_sources_table.OUTDATED}\n" in text  # their rows are of revision 1
    many = write(tmp_path / "many_sources.csv", *both(revision=str(ALL_PAIRS_REVISION)))
    draw("many_sources_table", rows, tmp_path / "now", files={"many_sources": [many]})
    assert many_sources_table.OUTDATED not in (tmp_path / "now/many_sources_table.md").read_text()


def test_times_of_another_graph_or_card_are_not_compared(rows, tmp_path):
    many = benchmarks.MANY_SOURCES.read([write(tmp_path / "many_sources.csv", *both())])
    with pytest.raises(InputError, match=r"^nyc "):
        many_sources_table.facts(many, rows.assign(dataset_sha256="cd" * 32))
    elsewhere = many_sources_table.facts(many, rows.assign(device="other card"))
    assert np.isnan(elsewhere["near_far_s"].iloc[0])


def test_the_archive_keeps_the_file_and_shows_the_table(rows, tmp_path, only_views):
    only_views("many_sources_table")
    results = tmp_path / "results"
    kept = results / "archive/test-card"
    found = [measurement(NEAR_FAR, "nyc", seconds=0.0025)]
    put_rows(found, kept)
    archive.draw_archive(kept, configured())
    assert not (kept / "many_sources_table.md").exists()
    measured = write(results / "many_sources/nyc.csv", *both())
    archive.archive(results, configured())
    assert (kept / "many_sources/nyc.csv").read_bytes() == measured.read_bytes()
    assert "502 sources" in (kept / "many_sources_table.md").read_text()
    write(measured, *both(search_s=0.02, revision="2"))
    write(results / "many_sources/bay.csv", *both("bay"))
    archive.archive(results, configured())
    joined = benchmarks.MANY_SOURCES.read((kept / "many_sources").iterdir())
    assert joined.groupby("dataset")["revision"].unique().map(list).to_dict() == {"nyc": ["2"], "bay": ["1"]}


def test_they_stand_beside_the_archives(tmp_path):
    def load(name, *rows):
        return benchmarks.MANY_SOURCES.read([write(tmp_path / name, *rows)] if rows else [])

    there = load("there.csv", *both(), *both("col"))
    here = load("here.csv", row(), row(repeat=2, search_s=0.025), row("reduced"), *both("bay"))
    facts = compare.many_sources(here, there)
    nyc, reduced, *bay = facts.to_dict("records")
    assert (nyc["Here (µs a source)"], nyc["Archive (µs a source)"]) == (
        "0.750 (0.500 to 1.00, n=2)",
        "1.00 (1.00 to 1.00, n=2)",
    )
    assert nyc["Ratio"] == f"{CROSS}1.33 (1.00 to 2.00)" and reduced["Ratio"] == f"{CROSS}1.00 (1.00 to 1.00)"
    assert all(line["Ratio"].startswith("not comparable: ") for line in bay)
    for changes, said in (
        ({"device": "other card"}, "the archive is of test card"),
        ({"dataset_sha256": "cd" * 32}, "another graph"),
    ):
        lines = compare.many_sources(load("other.csv", *both(**changes)), there)
        assert set(lines["Ratio"]) == {f"not comparable: {said}"}
    marked = compare.many_sources(load("marked.csv", *both(substitute="made by hand")), there)
    assert set(marked["Dataset"]) == {"nyc †"}
    assert compare.many_sources(load("none.csv"), there).empty


# The workflow


def test_the_target_measures_each_dataset_and_the_table_shows_them(tmp_path):
    datasets = {name: CONFIG["datasets"][name] for name in ("nyc", "bay")}
    project = Project.make(tmp_path, datasets, sweeps={"many_sources": {"datasets": ["nyc"]}})
    planned = re.findall(r"^Job \d+: (.*)", project.snakemake("-n", "extensions"), re.MULTILINE)
    measuring = ["Prepare a hierarchy of nyc", "Measure many_sources on nyc"]
    assert {*measuring, "Table many_sources_table"} <= set(planned) and "Measure many_sources on bay" not in planned


def test_a_job_has_time_for_the_oracle_and_both_kinds():
    def minutes(name, **changes):
        options = CONFIG["sweeps"]["many_sources"] | changes
        return allocation.many_sources_min(CONFIG | {"sweeps": {"many_sources": options}}, name)

    assert 10 < minutes("nyc") < minutes("e") < 180
    # Of each kind the budget, and a search that takes as long.
    assert minutes("nyc", budget_s=660) - minutes("nyc", budget_s=60) == 2 * 2 * 10
    n, m = (CONFIG["datasets"]["nyc"][size] for size in ("vertices", "arcs"))
    checked = minutes("nyc", rows_checked=1000) - minutes("nyc", rows_checked=0)
    assert checked == pytest.approx(1e-6 * 1000 * (n + m) / 60, abs=1)
    assert minutes("nyc", rows_checked=n) == minutes("nyc", rows_checked=2 * n)
