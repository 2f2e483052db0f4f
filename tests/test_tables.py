"""The tables say what the measurements and the paper say, and nothing else."""

import csv
import html
import io
import itertools
import re
import statistics
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from kernels.errors import InputError
from kernels.variants import VARIANTS
from tests.rows import measurement
from workflow.lib import measurements
from workflow.scripts import tables

ROOT = Path(__file__).parents[1]
TIMINGS = ROOT / "tests" / "data" / "timings.csv"
READERS = (".md", ".tex", ".html")
CROSS = "\N{MULTIPLICATION SIGN}"


def read_csv(text):
    return list(csv.DictReader(io.StringIO(text)))


def seconds(algorithm, variant, dataset):
    """The times of a cell, read without the code under test."""
    return [
        float(row["seconds"])
        for row in read_csv(TIMINGS.read_text())
        if (row["algorithm"], row["variant"], row["dataset"]) == (algorithm, variant, dataset)
    ]


def run(*arguments):
    command = [sys.executable, "-m", "workflow.scripts.tables", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


class Cells(HTMLParser):
    """The cells of an HTML page's table, as lines of text; one that spans columns stands in each of them."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.inside, self.span = [], False, 1
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside, self.span = True, int(dict(attrs).get("colspan", 1))
        elif tag == "br":
            self.rows[-1][-1] += "\n"

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.rows[-1] += self.rows[-1][-1:] * (self.span - 1)
            self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data


def cells(suffix, content):
    """The text of a reader's table: rows of cells, lines joined by a line break; heads with that of their group."""
    if suffix == ".html":
        rows = Cells(content).rows
        if rows[0][0] == "":
            groups, heads, *body = rows
            rows = [[within(group, head) for group, head in zip(groups, heads, strict=True)], *body]
        return rows
    if suffix == ".md":
        lines = [line for line in content.splitlines() if line.startswith("|")]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        return [[cell.replace("<br>", "\n") for cell in row] for row in rows[:1] + rows[2:]]
    plain = content.replace(r" \newline ", "\n").replace(r"$\times$", CROSS).replace("$>$", ">").replace(r"\dag{}", "†")
    rows = None
    for group, body in re.findall(
        r"(?:noindent ([^\n]*?)\\par\\smallskip\n)?\\begin{tabular}.*?\\toprule\n(.*?)\\bottomrule", plain, re.S
    ):
        part = [line.split(" & ") for line in re.findall(r"^([^\\].*?) \\\\$", body, re.M | re.S)]
        if rows is None:
            rows = part
        else:  # a group below the first: the same datasets
            assert [row[:3] for row in part] == [row[:3] for row in rows]
            part[0] = [within(group, head) for head in part[0]]
            rows = [row + more[3:] for row, more in zip(rows, part, strict=True)]
    return rows


def within(group, head):
    """A column's head with its group's, as where there is one row of heads."""
    return f"{head} ({group[0].lower()}{group[1:]})" if group else head


@pytest.fixture(scope="module")
def rows():
    return measurements.load([TIMINGS])


@pytest.fixture(scope="module")
def made(rows):
    return {number: tables.render(number, rows, "From the test.") for number in tables.TABLES}


def test_the_papers_numbers_are_the_papers_cells():
    times = read_csv((measurements.PAPER / "times.csv").read_text())
    units = {"": 1, "s": 1, "min": 60, "hr": 3600}
    for row in times:
        number, unit = re.fullmatch(r">?([\d.]+)(s|min|hr|)", row["text"]).groups()
        assert float(row["seconds"]) == pytest.approx(float(number) * units[unit], rel=1e-12)
    found = {(int(r["table"]), f"{r['algorithm']}/{r['variant']}", r["dataset"]) for r in times}
    papers = {number: table for number, table in tables.TABLES.items() if not table.get("beyond")}
    grid = {
        (number, variant, dataset)
        for number, table in papers.items()
        for (problem, datasets), column in itertools.product(
            table["datasets"].items(), table["groups"][0]["columns"].values()
        )
        for variant, dataset in itertools.product([column[problem]], datasets)
    }
    # The CPU was timed on the first dataset of each table only.
    first = {tables.datasets(table)[0] for table in papers.values()}
    assert found == {cell for cell in grid if not cell[1].endswith("/cpu") or cell[2] in first}
    assert len(times) == len(found) == 37


ROADS, GNUTELLAS = ["nyc", "bay", "col", "fla", "ne", "e"], ["gnutella04", "gnutella25", "gnutella30"]
STRIDES = ["Naive", "Stride", "Stride with Flag"]
FLOYDS = ["Naive", "Super Naive", "Super Naive Shared", "Tiled", "Tiled with Shared Memory"]


def twins(heads):
    return [f"{head} (same kernels, CUDA graph)" for head in heads]


def test_every_column_is_a_variant_of_its_problem():
    for table in tables.TABLES.values():
        for column in tables.columns(table):
            for problem, key in column.variants.items():
                assert VARIANTS[key].problem == problem in table["datasets"]
                assert VARIANTS[key].graph == (column.group == "same kernels, CUDA graph")


@pytest.mark.parametrize(
    ("number", "heads", "datasets", "title"),
    [
        (1, ["CPU", *STRIDES, *twins(STRIDES)], ROADS, "Bellman-Ford on US road"),
        (2, ["CPU", "Naive"], GNUTELLAS[:1], "Algorithm on SNAP"),
        (3, ["CPU", *FLOYDS, *twins(FLOYDS)], GNUTELLAS, "Results of Floyd-Warshall"),
        (
            4,
            ["Paper's best", "Edge", "Dijkstra", "Delta-Stepping"],
            ROADS + GNUTELLAS,
            "an addition to the paper's own",
        ),
        (
            5,
            ["SciPy", "NetworKit", "SciPy's Floyd-Warshall", "Paper's best", "Edge"],
            ROADS + GNUTELLAS,
            "The GPU beside what a CPU library takes",
        ),
    ],
)
@pytest.mark.parametrize("suffix", READERS)
def test_columns_rows_and_title(made, number, heads, datasets, title, suffix):
    table = cells(suffix, made[number][suffix])
    assert table[0] == ["Dataset", "Number of Nodes", "Number of Edges", *heads]
    assert [row[0] for row in table[1:]] == [f"{name}.txt{' †' * (name == 'nyc' and number == 1)}" for name in datasets]
    assert title in html.unescape(made[number][suffix])


def test_csv_numbers(made):
    nyc, bay, *_ = read_csv(made[1][".csv"])
    naive, flag = seconds("bellman_ford", "naive", "bay"), seconds("bellman_ford", "stride_flag", "bay")
    assert float(bay["Naive seconds"]) == statistics.median(naive) == 13.0
    assert (float(bay["Naive min"]), float(bay["Naive max"])) == (min(naive), max(naive))
    assert int(bay["Naive repeats"]) == len(naive)
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


def test_csv_of_twins_and_of_table_4(made):
    """A twin's speed-up is over its own naive, and nothing beyond the paper has a number of the paper."""
    nyc, bay, *_ = read_csv(made[1][".csv"])
    twin = "Stride (same kernels, CUDA graph)"
    assert float(nyc[f"{twin} seconds"]) == statistics.median(seconds("bellman_ford", "stride_graph", "nyc")) == 2.5
    assert float(nyc[f"{twin} speed-up"]) == pytest.approx(2.0 / 2.5)
    assert (nyc[f"{twin} paper seconds"], nyc[f"{twin} paper text"], nyc[f"{twin} paper speed-up"]) == ("", "", "")
    assert (bay[f"{twin} status"], bay[f"{twin} seconds"]) == ("-", "")

    rows = {row["Dataset"]: row for row in read_csv(made[4][".csv"])}
    bay, gnutella = rows["bay.txt"], rows["gnutella04.txt"]
    assert float(bay["Paper's best seconds"]) == 4.5 == statistics.median(seconds("bellman_ford", "stride_flag", "bay"))
    assert float(bay["Edge seconds"]) == 0.09
    assert float(bay["Edge speed-up"]) == pytest.approx(4.5 / 0.09)
    assert float(gnutella["Paper's best seconds"]) == 0.9
    assert (float(gnutella["Edge seconds"]), float(gnutella["Delta-Stepping seconds"])) == (0.09, 0.1)
    assert (float(gnutella["Edge kernels_s"]), float(gnutella["Edge predecessors_s"])) == (0.004, 0.002)
    assert float(gnutella["Delta-Stepping speed-up"]) == pytest.approx(0.9 / 0.1)
    assert {row[f"{head} paper text"] for row in rows.values() for head in ("Edge", "Dijkstra", "Delta-Stepping")} == {
        ""
    }
    assert {row["Dijkstra status"] for name, row in rows.items() if "gnutella" not in name} == {"-"}
    assert rows["gnutella30.txt"]["Dijkstra status"] == "no measurement"


def measured(tmp_path, cells):
    """Measurements of {(algorithm/variant, dataset): (seconds, note)}, otherwise as tests/rows.py has them."""
    path = tmp_path / "timings.csv"
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, measurements.COLUMNS)
        writer.writeheader()
        for (key, dataset), (times, note) in cells.items():
            writer.writerows(
                measurement(key, dataset, i, seconds, note=note) for i, seconds in enumerate(times, start=1)
            )
    return measurements.load([path])


def test_the_gpu_beside_the_fastest_cpu_library(tmp_path):
    rows = measured(
        tmp_path,
        {
            ("dijkstra/scipy", "nyc"): ([0.03, 0.05, 0.04], ""),
            ("dijkstra/networkit", "nyc"): ([0.08], ""),
            ("bellman_ford/stride_flag", "nyc"): ([6], ""),
            ("edge/sssp", "nyc"): ([0.05, 0.11, 0.12], ""),
            ("dijkstra/scipy_apsp", "gnutella04"): ([9], ""),
            ("dijkstra/networkit_apsp", "gnutella04"): ([1.8], "1 of 6 repeats: budget of 1 s; cores: 16"),
            ("floyd_warshall/scipy", "gnutella04"): ([400], ""),
            ("floyd_warshall/tiled_shared", "gnutella04"): ([0.6], ""),
            ("dijkstra/networkit_apsp", "gnutella25"): ([5], "cores: 1"),
            ("floyd_warshall/tiled_shared", "gnutella25"): ([20], ""),
            ("floyd_warshall/tiled_shared", "gnutella30"): ([80], ""),
            ("dijkstra/scipy", "bay"): ([0.04], ""),
        },
    )
    made = tables.render(5, rows, "From the test.")
    table = {row["Dataset"]: row for row in read_csv(made[".csv"])}
    for dataset, expected in {
        "nyc": {"SciPy": 1, "NetworKit": 0.5, "Paper's best": 0.04 / 6, "Edge": 0.04 / 0.11},
        "gnutella04": {"SciPy": 0.2, "NetworKit": 1, "SciPy's Floyd-Warshall": 1.8 / 400, "Paper's best": 3},
        "gnutella25": {"NetworKit": 1, "Paper's best": 0.25},
    }.items():
        row = table[f"{dataset}.txt"]
        assert {head: float(row[f"{head} speed-up"]) for head in expected} == pytest.approx(expected)
    assert table["gnutella30.txt"]["Paper's best speed-up"] == ""
    said = made[".md"]
    for sentence in (
        "over the fastest of SciPy, NetworKit and SciPy's Floyd-Warshall in the same row,",
        "- nyc.txt: SciPy on one core is 150 times faster than Paper's best; "
        "no difference between Edge and SciPy on one core.\n",
        "- gnutella04.txt: Paper's best is 3.00 times faster than NetworKit on 16 cores.\n",
        "- gnutella25.txt: NetworKit on one core is 4.00 times faster than Paper's best.\n",
    ):
        assert sentence in said
    assert not re.search(r"- (gnutella30|bay)\.txt:", said)  # one side only


def test_a_bound_is_not_computed_with(made):
    row, *_ = read_csv(made[3][".csv"])
    assert (row["CPU paper text"], row["CPU paper seconds"], row["CPU paper speed-up"]) == (">1hr", "", "")


def test_csv_counts_and_stand_in(made):
    nyc, bay, col, *_ = read_csv(made[1][".csv"])
    assert (nyc["Number of Nodes"], nyc["Number of Edges"]) == ("264346", "730100")  # as measured
    assert (col["Number of Nodes"], col["Number of Edges"]) == ("435666", "1057066")  # the paper's
    assert "made_by_hand" in nyc["note"] and "733,846" in nyc["note"]
    assert bay["note"] == ""
    assert nyc["source"] == "From the test."


@pytest.mark.parametrize("suffix", READERS)
@pytest.mark.parametrize(
    ("number", "dataset", "head", "text"),
    [
        (1, "nyc.txt †", "CPU", f">1 h\npaper: 22min, {CROSS}0.00650"),
        (1, "nyc.txt †", "Number of Edges", "730,100"),
        (1, "nyc.txt †", "Naive", f"6.10 s, {CROSS}1.00\n[6.00, 6.30], n=3\npaper: 8.58384s, {CROSS}1.00"),
        (1, "nyc.txt †", "Stride", f"8.00 s, {CROSS}0.762\nn=1\npaper: 8.77939s, {CROSS}0.978"),
        (1, "nyc.txt †", "Stride with Flag", f"no measurement\npaper: 3.91371s, {CROSS}2.19"),
        (1, "bay.txt", "CPU", "-"),
        (1, "bay.txt", "Stride", f">90 s\npaper: 12.3157s, {CROSS}0.956"),
        (1, "bay.txt", "Stride with Flag", f"4.50 s, {CROSS}2.89\n[4.00, 5.00], n=2\npaper: 5.12986s, {CROSS}2.29"),
        (2, "gnutella04.txt", "CPU", f">2 h\npaper: 24min, {CROSS}0.0833"),
        (2, "gnutella04.txt", "Naive", f"1236 s, {CROSS}1.00\n[1234, 1240], n=3\npaper: 119.941s, {CROSS}1.00"),
        (3, "gnutella04.txt", "CPU", "no measurement\npaper: >1hr"),
        (3, "gnutella04.txt", "Tiled with Shared Memory",
         f"0.900 s, {CROSS}9.00\n[0.800, 1.00], n=3\npaper: 2.37704s, {CROSS}12.7"),
        (3, "gnutella25.txt", "Naive", f"no measurement\npaper: 137.369, {CROSS}1.00"),
        (3, "gnutella30.txt", "Super Naive", f"no memory\npaper: 314.191s, {CROSS}2.24"),
        (1, "nyc.txt †", "Naive (same kernels, CUDA graph)", f"2.00 s, {CROSS}1.00\nn=1"),
        (1, "nyc.txt †", "Stride (same kernels, CUDA graph)", f"2.50 s, {CROSS}0.800\n[2.40, 2.60], n=2"),
        (1, "bay.txt", "Naive (same kernels, CUDA graph)", "-"),
        (4, "bay.txt", "Paper's best",
         f"4.50 s, {CROSS}1.00\n[4.00, 5.00], n=2\nkernels 4.00 s\npaper: 5.12986s, {CROSS}1.00"),
        (4, "bay.txt", "Edge", f"0.0900 s, {CROSS}50.0\nn=1\nkernels 0.0840 s\npredecessors 0.00200 s"),
        (4, "nyc.txt", "Edge", "no measurement"),
        (4, "nyc.txt", "Dijkstra", "-"),
        (4, "gnutella04.txt", "Delta-Stepping",
         f"0.100 s, {CROSS}9.00\nn=1\nkernels 0.0240 s\npredecessors 0.00200 s"),
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
    road, floyd, beyond = (made[number][suffix] for number in (1, 3, 4))
    stand_in = "stand-in: made_by_hand, 100 % without parallel arcs"
    if suffix == ".tex":
        stand_in = stand_in.replace("_", r"\_").replace("%", r"\%")
    for text in (
        "From the test.",
        "On test CPU: CPU.",
        "On test card: Naive, Stride, Stride with Flag, "
        "Naive (same kernels, CUDA graph), Stride (same kernels, CUDA graph).",
        f"nyc.txt: {stand_in}.",
        "264,346 vertices and 730,100 arcs (in the paper 264,346 and 733,846)",
        "[least, greatest] of n repeats",
        "Repeats: 1 to 4 a cell.",
        "Run: commit 0123456789ab; 2026-01-02.",
        "limit 3600 s passed",
    ):
        assert text in road
    assert "stand-in" not in floyd and "†" not in floyd and r"\dag" not in floyd
    assert "gnutella30.txt, Super Naive: no memory; needs 10,764,552,992 bytes" in floyd
    assert "over Naive in the same row and column group" in road
    for text in (
        "Paper's best: Bellman-Ford, Stride with Flag",
        "over Paper's best in the same row,",
        "kernels is what",
    ):
        assert text in html.unescape(beyond)


def test_latex_is_escaped(made):
    text = made[1][".tex"]
    assert not re.search(r"(?<!\\)[_%&](?!\s|Needs)", text.split(r"\toprule")[1].replace(" & ", " "))
    assert text.isascii()
    assert all(rule in text for rule in (r"\toprule", r"\midrule", r"\bottomrule"))


def test_html_stands_alone(made):
    page = made[3][".html"]
    assert page.count("Same kernels, CUDA graph</th>") == 1
    assert page.startswith("<!doctype html>") and "<caption>Table 3: Results of Floyd-Warshall</caption>" in page
    assert not re.search(r"\b(src|href|url)\b", page)


def test_without_measurements():
    for number, table in tables.TABLES.items():
        made = tables.render(number, measurements.load([]), "Nothing measured.")
        for row in read_csv(made[".csv"]):
            statuses = {row[f"{column.label} status"] for column in tables.columns(table)}
            assert statuses <= {"no measurement", "-"} and "no measurement" in statuses
            assert not any(row[f"{column.label} seconds"] for column in tables.columns(table))
        assert all("no measurement" in made[suffix] and "Nothing measured." in made[suffix] for suffix in READERS)


def test_command_line_writes_four_files_and_no_more(tmp_path, made):
    done = run(
        *("--table", 1, "--measurements", TIMINGS, "--source", "From the test."),
        *("--out-dir", tmp_path / "results", "--log", tmp_path / "log"),
    )
    assert done.returncode == 0, done.stderr
    found = {path.name: path.read_text() for path in (tmp_path / "results").iterdir()}
    assert found == {f"table1{suffix}": text for suffix, text in made[1].items()}


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


TIMELESS = dict.fromkeys(measurements.TIMES, "")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"status": "simulated", **TIMELESS}, "a simulated run is no measurement"),
        ({"status": "fine"}, "status 'fine': must be one of 'ok', 'timeout', 'no_memory': "),
        ({"seconds": ""}, "a row that is ok has all times, any other none"),
        ({"seconds": "-1"}, "seconds '-1': must be above 0"),
        ({"seconds": "6,0"}, "seconds '6,0': must be a number"),
        ({"kernels_s": "inf"}, "kernels_s 'inf': must be a number"),
        ({"arcs": ""}, "arcs '': must be a whole number from 0"),
        ({"status": "timeout"}, "a row that is ok has all times, any other none"),
        ({"repeat": 3}, "read before"),
        ({"status": "timeout", "rows_checked": 0, **TIMELESS}, "rows differ in status"),
        ({"device": "another card"}, "rows differ in device"),
    ],
)
def test_refused_rows(tmp_path, values, message):
    path = changed(tmp_path, 3, **values)
    with pytest.raises(InputError, match=message) as error:
        measurements.load([path])
    assert "bellman_ford/naive on nyc" in str(error.value)
    assert re.search(rf"{re.escape(str(path))}, line [345] ", str(error.value))


def test_refused_files(tmp_path):
    text = TIMINGS.read_text()
    for name, content, message in (
        ("columns.csv", text.replace("seconds,", "time,", 1), "its first line must be"),
        ("empty.csv", "", "its first line must be"),
        ("short.csv", text[:-60], "line 30: not 27 values"),
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
    with pytest.raises(InputError, match=r"nyc was not one graph .*/naive on a{12}, bellman_ford/stride on e{12}"):
        tables.render(1, rows, "From the test.")
    tables.render(2, rows, "From the test.")  # has no nyc


@pytest.mark.parametrize("values", [{"status": "simulated", **TIMELESS}, {"seconds": "soon"}])
def test_bad_input_ends_with_one_line(tmp_path, values):
    path = changed(tmp_path, 3, **values)
    done = run(
        *("--table", 1, "--measurements", path, "--source", "From the test."),
        *("--out-dir", tmp_path / "results", "--log", tmp_path / "log"),
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert (tmp_path / "log").read_text() == done.stderr
    assert not (tmp_path / "results").exists()


def test_counts_are_said_once(tmp_path):
    """Where the stand-in's own words give both graphs' counts they are not said again."""
    text = TIMINGS.read_text()
    words = "made_by_hand, 100 % without parallel arcs"
    for said, times in (("264,346 and 730,100 for 264,346 and 733,846", 1), ("730,100 arcs", 2)):
        path = tmp_path / "timings.csv"
        path.write_text(text.replace(words, said))
        assert " ".join(measurements.stand_ins(measurements.load([path]))["nyc"]).count("730,100") == times
