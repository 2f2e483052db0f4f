"""The tables say what the measurements and the paper say, and nothing else."""

import csv
import html
import re
import statistics
from pathlib import Path

import pandas as pd
import pytest

from kernels.errors import InputError
from kernels.registry import VARIANTS
from tests.support.cells import cells, read_csv
from tests.support.rows import DATASETS, frame, in_batches, measured, measurement
from tests.support.views import draw
from workflow.store import columns, measurements
from workflow.store.tables import DEFINITIONS, PAPER_TABLES, SHOWN, define, heads, sizes
from workflow.views.extensions import table6
from workflow.views.paper import paper_tables as tables
from workflow.views.render import ALONE, RATIOS, REGION, medians_of

ROOT = Path(__file__).parents[4]
TIMINGS = ROOT / "tests" / "data" / "timings.csv"
READERS = (".md", ".html")
CROSS = "\N{MULTIPLICATION SIGN}"


def seconds(algorithm, variant, dataset):
    """The times of a cell, read without the code under test."""
    return [
        float(row["seconds"])
        for row in read_csv(TIMINGS.read_text())
        if (row["algorithm"], row["variant"], row["dataset"]) == (algorithm, variant, dataset)
    ]


TOLERANCE = 0.05


def render(number, rows, source="From the test."):
    return tables.files(define(f"table{number}", DATASETS), rows, source)


@pytest.fixture(scope="module")
def rows():
    """The rows of TIMINGS as one batch."""
    return in_batches(measurements.load([TIMINGS]), ["one"])


@pytest.fixture(scope="module")
def made(rows):
    return {number: render(number, rows) for number in (1, 2, 3)}


def test_the_papers_numbers_are_the_papers_cells():
    times = read_csv((measurements.PAPER / "times.csv").read_text())
    units = {"": 1, "s": 1, "min": 60, "hr": 3600}
    for row in times:
        number, unit = re.fullmatch(r">?([\d.]+)(s|min|hr|)", row["text"]).groups()
        assert float(row["seconds"]) == pytest.approx(float(number) * units[unit], rel=1e-12)
    printed = {(int(r["table"]), f"{r['algorithm']}/{r['variant']}", r["dataset"]) for r in times}
    papers = {int(name.removeprefix("table")): define(name, DATASETS) for name in PAPER_TABLES}
    grid = {
        (number, variant, dataset)
        for number, table in papers.items()
        for variant, dataset in table.cells
        if VARIANTS[variant].origin == "paper" and not VARIANTS[variant].cuda_graph
    }
    # The CPU was timed on the first dataset of each table only.
    first = {table.datasets[0] for table in papers.values()}
    assert printed == {cell for cell in grid if not cell[1].endswith("/cpu") or cell[2] in first}
    assert len(times) == len(printed) == 37


ROADS, GNUTELLAS = ["nyc", "bay", "col", "fla", "ne", "e"], ["gnutella04", "gnutella25", "gnutella30"]
STRIDES = ["Naive", "Stride", "Stride with Flag"]
FLOYDS = ["Naive", "Super Naive", "Super Naive Shared", "Tiled", "Tiled with Shared Memory"]


def with_graph(heads):
    return [f"{head} (same kernels, CUDA graph)" for head in heads]


def test_every_column_is_a_variant_of_its_problem():
    for name in DEFINITIONS:
        table = define(name, DATASETS)
        for column in table.columns:
            for problem, key in column.variants.items():
                assert VARIANTS[key].problem == problem in (table.by_problem or ("sssp", "apsp"))
                assert VARIANTS[key].cuda_graph == (column.group == "same kernels, CUDA graph")


def test_a_column_of_no_variant_is_refused(monkeypatch):
    monkeypatch.setitem(SHOWN["table1"]["columns"], "bellman_ford/quater", "Quarter")
    with pytest.raises(InputError, match=r"tables\.yaml: table1: .*bellman_ford/quater"):
        heads("table1")


@pytest.mark.parametrize(
    ("number", "shown", "datasets", "title"),
    [
        (1, ["CPU", *STRIDES, *with_graph(STRIDES)], ROADS, "Bellman-Ford on US road"),
        (2, ["CPU", "Naive"], GNUTELLAS[:1], "Algorithm on SNAP"),
        (3, ["CPU", *FLOYDS, *with_graph(FLOYDS)], GNUTELLAS, "Results of Floyd-Warshall"),
    ],
)
@pytest.mark.parametrize("suffix", READERS)
def test_columns_rows_and_title(made, number, shown, datasets, title, suffix):
    table = cells(suffix, made[number][suffix])
    ours = {head for key, head in heads(f"table{number}").items() if VARIANTS[key].ours}
    assert [head for head in table[0] if head not in ours] == ["Dataset", "Number of Nodes", "Number of Edges", *shown]
    assert [row[0] for row in table[1:]] == [f"{name}.txt{' †' * (name == 'nyc' and number == 1)}" for name in datasets]
    assert title in html.unescape(made[number][suffix])


def test_a_cell_without_its_package_says_what_to_install():
    reason = "networkit is not installed: pip install networkit"
    lacks = dict.fromkeys(columns.TIMES[1:], "") | {
        "status": "unavailable",
        "note": reason,
        "rows_checked": 0,
        "seconds": "",
    }
    rows = frame([measurement("bellman_ford/naive", "bay"), measurement("bellman_ford/stride", "bay", **lacks)])
    made = render(1, rows)
    assert read_csv(made[".csv"])[1]["Stride status"] == "unavailable"
    assert f"bay.txt, Stride: unavailable; {reason}." in made[".md"]


def test_csv_numbers(made):
    nyc, bay, *_ = read_csv(made[1][".csv"])
    naive, flag = seconds("bellman_ford", "naive", "bay"), seconds("bellman_ford", "stride_flag", "bay")
    assert float(bay["Naive seconds"]) == statistics.median(naive) == 13.0
    assert (float(bay["Naive min"]), float(bay["Naive max"])) == (min(naive), max(naive))
    assert (int(bay["Naive repeats"]), bay["Naive batches"]) == (len(naive), "1")
    assert float(bay["Naive speed-up"]) == 1
    expected = statistics.median(naive) / statistics.median(flag)
    assert float(bay["Stride with Flag speed-up"]) == pytest.approx(expected)
    assert float(bay["Stride with Flag paper speed-up"]) == pytest.approx(11.7708 / 5.12986)
    assert float(nyc["Stride speed-up"]) == pytest.approx(6.1 / 8.0)
    assert (nyc["CPU status"], nyc["CPU seconds"], nyc["CPU speed-up"]) == ("timeout", "", "")
    assert (float(nyc["CPU paper seconds"]), nyc["CPU paper text"]) == (1320, "22min")
    assert float(nyc["CPU paper speed-up"]) == pytest.approx(8.58384 / 1320)
    assert (bay["CPU status"], bay["CPU paper seconds"]) == ("-", "")
    assert (nyc["Stride with Flag status"], nyc["Stride with Flag seconds"]) == ("no measurement", "")
    assert (nyc["CPU device"], nyc["Naive device"]) == ("test CPU", "test card")


def test_csv_of_cuda_graph_variants(made):
    """The speed-up of a CUDA-graph variant is over its own naive, and the paper has no number of it."""
    nyc, bay, *_ = read_csv(made[1][".csv"])
    graph = "Stride (same kernels, CUDA graph)"
    assert float(nyc[f"{graph} seconds"]) == statistics.median(seconds("bellman_ford", "stride_graph", "nyc")) == 2.5
    assert float(nyc[f"{graph} speed-up"]) == pytest.approx(2.0 / 2.5)
    assert (nyc[f"{graph} paper seconds"], nyc[f"{graph} paper text"], nyc[f"{graph} paper speed-up"]) == ("", "", "")
    assert (bay[f"{graph} status"], bay[f"{graph} seconds"]) == ("-", "")


def test_a_speed_up_is_of_ratios_within_jobs_not_of_medians(tmp_path):
    """Naive ran in all batches, of which b's host is slow; Stride in two of them."""
    rows = measured(tmp_path, {("bellman_ford/naive", "nyc"): ([2, 3], {}), ("bellman_ford/stride", "nyc"): ([1], {})})
    slow = {"bellman_ford/naive": 4, "bellman_ford/stride": 2}
    batches = in_batches(rows, "abc", [{}, slow, {}])
    made = render(1, batches[(batches["batch"] != "c") | (batches["variant"] == "naive")])
    nyc, *_ = read_csv(made[".csv"])
    assert float(nyc["Stride speed-up"]) == pytest.approx((2.5 * 5) ** 0.5)
    assert (float(nyc["Naive seconds"]), float(nyc["Naive min"]), float(nyc["Naive max"])) == (2.5, 2.5, 10)
    assert (float(nyc["Stride seconds"]), nyc["Stride batches"], nyc["Stride repeats"]) == (1.5, "2", "2")


def test_what_was_measured_alone_has_no_ratio():
    made = render(1, measurements.load([TIMINGS]))
    assert all(row[f"{head} speed-up"] == "" for row in read_csv(made[".csv"]) for head in STRIDES)
    assert f"- {ALONE}\n" in made[".md"]
    assert "<br>6.00 to 6.30, n=3<br>paper: 8.58384s" in made[".md"]


def test_preparation_is_that_of_the_first_round_of_each_batch():
    """Whatever later rounds took, and nothing where the first one does not say."""

    def runs(batch, *host, card=""):
        return [
            measurement(
                "bellman_ford/stride_flag", "nyc", number, batch=batch, prepare_host_s=seconds, prepare_card_s=card
            )
            for number, seconds in enumerate(host, start=1)
        ]

    rows = frame([*runs("a", 0.5, 2, 0.1, card=0.25), *runs("b", 3, 4), *runs("c", "", 5), *runs("d", 0)])
    prepared = measurements.preparation(rows).groupby(rows["batch"]).agg(lambda values: list(values))
    assert prepared["a"] == [0.75] * 3 and prepared["b"] == [3] * 2 and prepared["d"] == [0]
    assert pd.isna(prepared["c"]).all()


def test_a_cell_over_its_batches_and_runs():
    def runs(variant, seconds, **more):
        return [
            measurement(f"bellman_ford/{variant}", "nyc", number, taken, **more)
            for number, taken in enumerate(seconds, start=1)
        ]

    nothing = {"status": "no_memory", "needed_bytes": 9, "kernels_s": ""}
    summary = measurements.summarise(
        frame(
            [
                *runs("naive", [1, 2, 9], batch="a", started="2026-02-01T00:00:00+00:00", prepare_host_s=0.5),
                *runs("naive", [4, 5, 6], batch="b", started="2026-01-01T00:00:00+00:00", prepare_host_s=0.25),
                *runs("stride", [3, 1], note="one; two"),
                *runs("stride_flag", [""], **nothing),
            ]
        )
    ).droplevel("dataset")
    columns = ["median", "min", "max", "batches", "repeats"]
    assert summary.loc["bellman_ford/naive", columns].tolist() == [3.5, 2, 5, 2, 6]
    assert summary.loc["bellman_ford/stride", columns].tolist() == [2, 1, 3, 0, 2]
    assert summary.loc["bellman_ford/stride_flag", ["batches", "repeats"]].tolist() == [0, 0]
    assert summary.loc["bellman_ford/naive", "prepare"] == 0.5  # of the batch that was measured last
    assert summary.loc["bellman_ford/stride", "note"] == "one; two"


def test_a_bound_is_not_computed_with(made):
    row, *_ = read_csv(made[3][".csv"])
    assert (row["CPU paper text"], row["CPU paper seconds"], row["CPU paper speed-up"]) == (">1hr", "", "")


def test_csv_counts_and_substitute(made):
    nyc, bay, col, *_ = read_csv(made[1][".csv"])
    assert (nyc["Number of Nodes"], nyc["Number of Edges"]) == ("264346", "730100")  # as measured
    assert (col["Number of Nodes"], col["Number of Edges"]) == ("435666", "1057066")  # config's
    assert "made_by_hand" in nyc["substitute"]
    assert bay["substitute"] == ""
    assert nyc["source"] == "From the test."


def test_counts_are_as_measured_else_the_papers_else_as_configured(rows):
    counts = {"nyc": (1, 2), "col": (3, 4), "village": (5, 6)}
    configured = {name: {"vertices": vertices, "arcs": arcs} for name, (vertices, arcs) in counts.items()}
    assert sizes(list(counts), configured, rows).T.to_dict("list") == {
        "nyc": [264346, 730100],
        "col": [435666, 1057066],
        "village": [5, 6],
    }


@pytest.mark.parametrize("suffix", READERS)
@pytest.mark.parametrize(
    ("number", "dataset", "head", "text"),
    [
        (1, "nyc.txt †", "CPU", f">1 h\npaper: 22min, {CROSS}0.00650"),
        (1, "nyc.txt †", "Number of Edges", "730,100"),
        (1, "nyc.txt †", "Naive", f"6.10 s, {CROSS}1.00\n6.00 to 6.30, n=3\npaper: 8.58384s, {CROSS}1.00"),
        (1, "nyc.txt †", "Stride", f"8.00 s, {CROSS}0.762\nn=1\npaper: 8.77939s, {CROSS}0.978"),
        (1, "nyc.txt †", "Stride with Flag", f"no measurement\npaper: 3.91371s, {CROSS}2.19"),
        (1, "bay.txt", "CPU", "-"),
        (1, "bay.txt", "Stride", f">90 s\npaper: 12.3157s, {CROSS}0.956"),
        (1, "bay.txt", "Stride with Flag", f"4.50 s, {CROSS}2.89\n4.00 to 5.00, n=2\npaper: 5.12986s, {CROSS}2.29"),
        (2, "gnutella04.txt", "CPU", f">2 h\npaper: 24min, {CROSS}0.0833"),
        (2, "gnutella04.txt", "Naive", f"1236 s, {CROSS}1.00\n1234 to 1240, n=3\npaper: 119.941s, {CROSS}1.00"),
        (3, "gnutella04.txt", "CPU", "no measurement\npaper: >1hr"),
        (3, "gnutella04.txt", "Tiled with Shared Memory",
         f"0.900 s, {CROSS}9.00\n0.800 to 1.00, n=3\npaper: 2.37704s, {CROSS}12.7"),
        (3, "gnutella25.txt", "Naive", f"no measurement\npaper: 137.369, {CROSS}1.00"),
        (3, "gnutella30.txt", "Super Naive", f"no memory\npaper: 314.191s, {CROSS}2.24"),
        (1, "nyc.txt †", "Naive (same kernels, CUDA graph)", f"2.00 s, {CROSS}1.00\nn=1"),
        (1, "nyc.txt †", "Stride (same kernels, CUDA graph)", f"2.50 s, {CROSS}0.800\n2.40 to 2.60, n=2"),
        (1, "bay.txt", "Naive (same kernels, CUDA graph)", "-"),
        # No speed-up where naive was not measured.
        (3, "gnutella30.txt", "Tiled", f"50.0 s\nn=1\npaper: 186.350, {CROSS}3.77"),
    ],
)  # fmt: skip
def test_cells(made, suffix, number, dataset, head, text):
    heads, *body = cells(suffix, made[number][suffix])
    (row,) = [row for row in body if row[0] == dataset]
    assert row[heads.index(head)] == text


@pytest.mark.parametrize("suffix", READERS)
def test_what_stands_under_a_table(made, suffix):
    road, floyd = (made[number][suffix] for number in (1, 3))
    substitute = "made_by_hand, 100 % without parallel arcs"
    for text in (
        "From the test.",
        "On test CPU: CPU.",
        "On test card: Naive, Stride, Stride with Flag, "
        "Naive (same kernels, CUDA graph), Stride (same kernels, CUDA graph).",
        f"nyc.txt: {substitute}.",
        medians_of(REGION),
        RATIOS,
        "Run: commit 0123456789ab; 2026-01-02.",
        "nyc.txt, CPU: ",
    ):
        assert text in html.unescape(road)
    assert "substitute" not in floyd and "†" not in floyd
    assert re.search("gnutella30.txt, Super Naive: .* 10,764,552,992 bytes", floyd)


def test_html_stands_alone(made):
    page = made[3][".html"]
    assert page.count("Same kernels, CUDA graph</th>") == 1
    assert page.startswith("<!doctype html>") and "<caption>Table 3: Results of Floyd-Warshall</caption>" in page
    assert not re.search(r"\b(src|href|url)\b", page)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_without_measurements(number):
    table, made = define(f"table{number}", DATASETS), render(number, measurements.load([]), "Nothing measured.")
    for row in read_csv(made[".csv"]):
        statuses = {row[f"{column.label} status"] for column in table.columns}
        assert statuses <= {"no measurement", "-"} and "no measurement" in statuses
        assert not any(row[f"{column.label} seconds"] for column in table.columns)
    for suffix in made.keys() - {".csv"}:
        assert "no measurement" in made[suffix] and "Nothing measured." in made[suffix]


@pytest.mark.parametrize("name", [name for name in DEFINITIONS if name != "table7"])  # it has a row for each variant
@pytest.mark.parametrize("dataset", [None, "village"])
def test_tables_of_no_dataset_and_of_one_that_the_paper_does_not_have(name, dataset):
    problem = VARIANTS[next(iter(heads(name)))].problem
    entry = {"vertices": 4, "arcs": 12, "tables": {problem: [name]}}
    shown, nothing = ({dataset: entry} if dataset else {}), measurements.load([])
    if name == "table6":
        made = table6.files(shown, nothing, measurements.load_sweep("sources", []), "Nothing measured.", TOLERANCE)
    else:
        made = tables.files(define(name, shown), nothing, "Nothing measured.")
    names, *body = cells(".md", made[".md"])
    assert names[0] == "Dataset" and {row[0] for row in body} == ({"village.txt"} if dataset else set())
    assert "no measurement" in made[".md"] if dataset else "no measurement" not in made[".md"]


def test_these_files_are_written_and_no_more(tmp_path, rows, made):
    draw("table1", rows, tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        f"table1{suffix}": text for suffix, text in made[1].items()
    }


def changed(tmp_path, line, **values):
    """A copy of the measurements with one line (as an editor counts) changed."""
    rows = read_csv(TIMINGS.read_text())
    rows[line - 2] |= {name: str(value) for name, value in values.items()}
    path = tmp_path / "timings.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_refused_files(tmp_path):
    text = TIMINGS.read_text()
    for name, content, message in (
        ("columns.csv", text.replace("seconds,", "time,", 1), "the first line must be"),
        ("empty.csv", "", "the first line must be"),
        ("short.csv", text[:-60], "line 30: expected 47 values"),
        ("binary.csv", b"\xff\xfe\x00", "not a CSV file"),
    ):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(InputError, match=message) as error:
            measurements.load([path])
        assert str(path) in str(error.value)
    with pytest.raises(InputError, match="No such file"):
        measurements.load([tmp_path / "missing.csv"])


def test_a_dataset_is_one_graph(tmp_path):
    """Stride of nyc (line 6) on other data than naive: their ratio means nothing."""
    rows = measurements.load([changed(tmp_path, 6, dataset_sha256="ee" * 32)])
    with pytest.raises(InputError, match=r"^nyc .*/naive on a{12}, bellman_ford/stride on e{12}"):
        render(1, rows)
    render(2, rows)  # has no nyc


def test_what_is_selected_is_of_these_variants_and_datasets():
    cells = [(f"bellman_ford/{name}", dataset) for name in ("naive", "stride") for dataset in ("nyc", "bay")]
    rows = frame([measurement(*cell) for cell in cells])
    selected = measurements.select(rows, ["bellman_ford/naive"], ["bay"])
    assert list(zip(measurements.variants(selected), selected["dataset"], strict=True)) == [
        ("bellman_ford/naive", "bay")
    ]


def test_throttling_is_said_of_what_is_shown():
    rows = frame([measurement(f"bellman_ford/{name}", "nyc") for name in ("naive", "stride", "stride_flag")])
    rows = rows.assign(throttling=["power cap", "", "heat"])
    said = measurements.origin(rows, "From the test.", {"bellman_ford/naive": "Naive", "bellman_ford/stride": "Stride"})
    assert len(said) == 3 and "nyc.txt, Naive: " in said[2] and "power cap" in said[2]
