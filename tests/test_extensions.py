"""Extensions are compared with the paper's best, CPU libraries and cited times, and lose where they do."""

import csv
import re
import shutil
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from test_figures import legible, words
from test_tables import cells as table_cells
from test_tables import measured, read_csv
from test_workflow import SIMULATOR, Project
from test_workflow import data as graphs

from kernels import harness
from kernels.errors import InputError
from kernels.graph import Graph
from tests.rows import DATASETS
from workflow.lib import measurements, plots
from workflow.lib.tables import define
from workflow.scripts import archive, figure8, measure_sweep, peak_table, sources, table6

ROOT = Path(__file__).parents[1]
NEAR_FAR = "delta_stepping/near_far"
SUBSTITUTE = {"substitute": "made_by_hand"}
TABLE = define("table6", DATASETS)
CITED = {("GAP on 16 cores", "nyc"): 0.00291, ("ADDS", "nyc"): 0.00738, ("SParry", "gnutella04"): 0.010}


def rows_of(folder, cells):
    """Measurements of {(algorithm/variant, dataset): (kernels_s of the repeats, predecessors_s, other columns)}."""
    rows = measured(folder, {key: (times, more) for key, (times, _, more) in cells.items()})
    rows["kernels_s"], rows["seconds"] = rows["seconds"], 9.0
    rows["predecessors_s"] = [cells[f"{row.algorithm}/{row.variant}", row.dataset][1] for row in rows.itertuples()]
    return rows


@pytest.fixture
def rows(tmp_path):
    return rows_of(
        tmp_path,
        {
            (NEAR_FAR, "nyc"): ([0.0028, 0.0029, 0.0033], 0.0001, SUBSTITUTE),
            ("bellman_ford/stride_flag", "nyc"): ([6, 6.1], 0.001, SUBSTITUTE),
            ("dijkstra/scipy", "nyc"): ([0.06], 0, SUBSTITUTE),
            ("dijkstra/networkit", "nyc"): ([0.02], 0.01, {"cores": 1} | SUBSTITUTE),
            (NEAR_FAR, "bay"): ([0.004], 0, {}),
            ("dijkstra/scipy", "bay"): ([0.02, 0.03], 0, {}),
            (NEAR_FAR, "fla"): ([0.1], 0, {}),
            ("dijkstra/scipy", "fla"): ([0.03, 0.05], 0, {}),
            ("dijkstra/scipy", "col"): ([0.002], 0, {}),
            ("bellman_ford/multi_source_apsp", "gnutella04"): ([0.008], 0, {}),
            ("floyd_warshall/blocked", "gnutella04"): ([0.1], 0.02, {}),
            ("dijkstra/networkit_apsp", "gnutella04"): ([1, 2, 3], 0, {"cores": 16}),
            ("floyd_warshall/blocked", "gnutella25"): ([1.5], 0.5, {}),
            ("floyd_warshall/blocked16", "gnutella25"): ([1.0], 0.25, {}),
            ("floyd_warshall/tiled_shared", "gnutella25"): ([1.0, 1.3], 0, {}),
        },
    )


@pytest.fixture
def searches(rows):
    """Two sources of nyc, of which the median of one is 0.003, of the other 0.006."""
    one = rows[(rows["variant"] == "near_far") & (rows["dataset"] == "nyc")].drop(columns=[*measurements.CARD])
    return pd.concat([one.assign(source=4, kernels_s=[0.001, 0.0029, 0.1]), one.assign(source=7, kernels_s=0.0059)])


@pytest.fixture
def made(rows, searches):
    return table6.files(DATASETS, rows, searches, "From the test.")


def test_the_fastest_of_each_and_how_many_times_longer_it_takes(made):
    lines = {line["dataset"]: line for line in read_csv(made[".csv"])}
    nyc, four, two = lines["nyc"], lines["gnutella04"], lines["gnutella25"]
    assert float(nyc["Ours median"]) == pytest.approx(0.0030)  # kernels and predecessors
    assert (nyc["Ours repeats"], nyc["Ours column"]) == ("3", NEAR_FAR)
    assert float(nyc["Paper's best factor"]) == pytest.approx(6.051 / 0.0030)
    assert nyc["CPU library column"] == "dijkstra/networkit"
    assert float(nyc["CPU library factor"]) == pytest.approx(0.03 / 0.0030)
    for (peer, dataset), seconds in CITED.items():
        assert float(lines[dataset][f"{peer} seconds"]) == seconds
        assert float(lines[dataset][f"{peer} factor"]) == pytest.approx(seconds / float(lines[dataset]["Ours median"]))
    assert nyc["SParry seconds"] == "" == four["ADDS factor"]
    assert four["Ours column"] == "bellman_ford/multi_source_apsp"
    assert two["Ours column"] == "floyd_warshall/blocked16"
    col = lines["col"]
    assert (col["Ours status"], col["rate"], col["ADDS factor"]) == ("no measurement", "", "")
    assert lines["ne"]["CPU library status"] == "no measurement"


def test_rates_are_what_their_definition_says(made):
    lines = {line["dataset"]: line for line in read_csv(made[".csv"])}
    nyc, four, two = lines["nyc"], lines["gnutella04"], lines["gnutella25"]
    assert (float(nyc["rate"]), nyc["rate of"]) == (pytest.approx(int(nyc["arcs"]) / 0.0030), "arcs")
    expected = int(four["arcs"]) * int(four["vertices"]) / 0.008
    assert (float(four["rate"]), four["rate of"]) == (pytest.approx(expected), "arcs")
    assert (float(two["rate"]), two["rate of"]) == (pytest.approx(int(two["vertices"]) ** 3 / 1.25), "relaxations")


def test_many_sources(made):
    nyc = read_csv(made[".csv"])[0]
    assert float(nyc["Many sources median"]) == pytest.approx(0.0045)
    assert [float(nyc[f"Many sources {what}"]) for what in ("min", "max", "count")] == pytest.approx([0.003, 0.006, 2])
    assert float(nyc["Many sources over fastest peer"]) == pytest.approx(0.0045 / 0.00291)


def test_what_a_reader_sees(made):
    head, nyc, *_ = table_cells(".md", made[".md"])
    assert set(made) == {".csv", ".md"}
    cross = "\N{MULTIPLICATION SIGN}"
    line = dict(zip(head, nyc, strict=True))
    assert line["Dataset"] == "nyc.txt †"
    assert line["Ours"] == ("Near-Far:\n0.00300 s\n[0.00290, 0.00340], n=3\nkernels 0.00290 s\npredecessors 0.000100 s")
    assert line["CPU library"] == f"NetworKit on one core:\n0.0300 s, {cross}10.0\nn=1"
    assert f"GAP on 16 cores: 0.00291 s, {cross}0.970" in line["Other programs (cited)"].split("\n")
    assert line["Many sources"] == "0.00450 s\n1.55 of the fastest cited\n[0.00300, 0.00600], 2 sources"
    assert line["Rate"].endswith(" MTEPS")


def test_words_say_where_ours_loses(made):
    said = made[".md"]
    assert "- nyc.txt: ours loses to GAP on 16 cores (1.03 times).\n" in said
    assert "- bay.txt: ours loses to GAP on 16 cores (1.24 times).\n" in said
    assert "- fla.txt: ours loses to SciPy on one core (2.50 times) and to ADDS (4.91 times) and to Lonestar" in said
    # On gnutella25 ours takes 1.25 s, more than the paper's best in the median and less than its greatest.
    assert "- gnutella25.txt: ours loses to SParry (37.9 times).\n" in said
    assert "- gnutella04.txt: ours loses to none of these.\n" in said
    assert "- nyc.txt: the median over many sources is more than 1.5 times the fastest cited time.\n" in said
    assert not re.search(r"- col\.txt", said)  # ours was not measured
    for peer in ("ADDS", "LonestarGPU near-far", "GAP on 16 cores", "SParry"):
        assert re.search(rf"- {peer}: .*H200.*\.\n", said)
    assert "Cited times: measured on one host on 20 November 2026, outside this project's workflow" in said
    assert "nyc.txt: made_by_hand" in said and "- From the test.\n" in said


def test_every_cited_time_is_explained_and_of_a_dataset():
    times = table6.cited_times()
    assert set(times.index.unique("peer")) == set(table6.cited_programs())
    assert set(times.index.unique("dataset")) == set(TABLE.datasets) and (times > 0).all()


def test_a_variant_of_the_other_problem_is_no_candidate(tmp_path):
    rows = rows_of(tmp_path, {("bellman_ford/stride_flag", "gnutella04"): ([0.001], 0, {})})
    assert (
        table6.facts(TABLE, table6.select(TABLE, rows)).loc[("Paper's best", "gnutella04"), "status"]
        == "no measurement"
    )


def test_sources_of_another_graph_are_refused(rows, searches):
    with pytest.raises(InputError, match="nyc was not one graph"):
        table6.files(DATASETS, rows, searches.assign(dataset_sha256="f" * 64), "From the test.")


@pytest.mark.parametrize("some", [True, False])
def test_figure_8(rows, some):
    rows = rows if some else rows[:0]
    with plots.styled():
        figure = figure8.draw(DATASETS, rows, "From the test.")
        figure.draw_without_rendering()
        one, every = figure.axes
        drawn, of_all = (
            {container.lines[0].get_marker(): container.lines[0] for container in axes.containers}
            for axes in (one, every)
        )
        np.testing.assert_allclose(drawn["D"].get_ydata().astype(float)[:2], [2.91, 3.23])
        expected = [3.0, 4.0, np.nan] if some else [np.nan] * 3
        np.testing.assert_allclose(drawn["^"].get_ydata().astype(float)[:3], expected)
        fastest = [8.0, 1250] if some else [np.nan] * 2  # gnutella25: with 16 bits
        np.testing.assert_allclose(of_all["^"].get_ydata().astype(float)[:2], fastest)
        assert drawn["D"].get_markerfacecolor() == "white" != drawn["^"].get_markerfacecolor()
        assert one.get_yscale() == "log" and one.get_ylabel() == "Execution time (ms)"
        texts = {text.get_text() for text in figure.findobj(Text)}
        assert ("3.00" in texts) == some
        assert any("no measurement" in text for text in texts)
        legible(figure)


def test_figure_8s_series_are_the_registrys_and_the_cited():
    assert list(figure8.heads()) == ["Paper's best", "Block per source", "CPU library", figure8.CITED, "Ours"]


def test_figure_8_says_what_it_is_of(rows, tmp_path):
    figure8.write(DATASETS, rows, "From the test.", tmp_path)
    said = words((tmp_path / "figure8.svg").read_bytes())
    assert "Other programs (cited)" in said and "nyc †" in said
    caption = "Median of n = 1 to 3 repeats, test card, test CPU; † substitute graph. From the test."
    assert said[-2:] == [caption, figure8.CITED_FROM]
    assert {path.suffix for path in tmp_path.glob("figure8.*")} == {".svg", ".pdf", ".png"}


def peaks(tmp_path):
    path = tmp_path / "peak.csv"
    common = {
        **{"device": "test card", "driver": "580.1", "cuda": "13.0", "numba_cuda": "0.30.4", "commit": "abc"},
        **{"tree_clean": True, "started": "2026-01-02T03:04:05Z", "host": "test_host"},
    }
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, peak_table.COLUMNS, lineterminator="\n")
        writer.writeheader()
        for bits, name, vertices, repeat, relaxations, seconds in (
            *((32, "chains", "", 1, 16e12, 1), (32, "dense", 8192, 1, 8192**3, 8192**3 / 12e12)),
            *((16, "chains", "", 1, 30e12, 1), (16, "chains", "", 2, 34e12, 1)),
        ):
            own = {"bits": bits, "benchmark": name, "vertices": vertices, "repeat": repeat}
            writer.writerow(common | own | {"relaxations": relaxations, "seconds": seconds})
    return path


def test_the_part_of_the_peak(rows, tmp_path):
    peak_table.write(peak_table.load([peaks(tmp_path)]), rows, "From the test.", tmp_path)
    found = {
        (line["what"], line["bits"], line["dataset"]): (float(line["median"]), float(line["part"]))
        for line in read_csv((tmp_path / "peak_table.csv").read_text())
    }
    cubes = rows.groupby("dataset")["vertices"].first() ** 3
    four, two = cubes["gnutella04"], cubes["gnutella25"]
    assert found == {
        (peak_table.CHAINS, "32", ""): pytest.approx((16e12, 1)),
        (peak_table.DENSE, "32", ""): pytest.approx((12e12, 0.75)),
        ("Floyd-Warshall Blocked", "32", "gnutella04"): pytest.approx((four / 0.1, four / 0.1 / 16e12)),
        ("Floyd-Warshall Blocked", "32", "gnutella25"): pytest.approx((two / 1.5, two / 1.5 / 16e12)),
        (peak_table.CHAINS, "16", ""): pytest.approx((32e12, 1)),
        ("Floyd-Warshall Blocked, 16 bits", "16", "gnutella25"): pytest.approx((two, two / 32e12)),
    }
    text = (tmp_path / "peak_table.md").read_text()
    assert re.search(r"\| Rounds on a dense matrix +\| +32 \| - +\| +8,192 \| +12.0 \| .* \| +75 % \|", text)
    assert "- On test card.\n" in text
    peak_table.write(peak_table.load([]), rows[:0], "From the test.", tmp_path / "none")
    assert "- No measurement.\n" in (tmp_path / "none/peak_table.md").read_text()


def test_another_file_is_no_peak(tmp_path):
    (tmp_path / "peak.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"peak\.csv: its first line must be benchmark,bits,.*: measure again"):
        peak_table.load([tmp_path / "peak.csv"])


def cycle(vertices):
    """Vertices in a circle, and one without out-arcs."""
    steps = np.arange(vertices)
    meta = {"name": "nyc", "sha256": "5" * 64}
    return Graph.from_arcs(vertices + 1, steps, (steps + 1) % vertices, np.full(vertices, 8), meta=meta)


def test_sources_are_drawn_with_the_seed_from_those_with_out_arcs():
    def drawn(**options):
        return [point.protocol["source"] for point in sources.points(cycle(9), {"count": 5, "seed": 1} | options)]

    assert len(set(drawn())) == 5 and drawn() == drawn() != drawn(seed=2)
    assert set(drawn(count=64)) == set(range(9))


@pytest.mark.simulator
def test_each_source_is_searched_and_checked():
    protocol = harness.Protocol(warmup_launches=0, block=4)
    options = {"count": 3, "seed": 1, "repeats": 2}
    rows = list(measure_sweep.measured(sources.SWEEP, cycle(4), options, protocol, "abc"))
    assert [row["source"] for row in rows] == [point.protocol["source"] for point in sources.points(cycle(4), options)]
    assert {(row["status"], row["rows_checked"], row["dataset"]) for row in rows} == {("simulated", 1, "nyc")}
    assert set(rows[0]) <= set(measurements.COLUMNS)


def written(rows, path):
    """A CSV of measurements."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows.to_csv(path, index=False, columns=list(measurements.COLUMNS))
    return path


def test_files_of_sources_are_joined_and_those_that_do_not_fit_refused(searches, tmp_path):
    nyc = written(searches, tmp_path / "nyc.csv")
    bay = written(searches.assign(dataset="bay"), tmp_path / "bay.csv")
    command = [sys.executable, "-m", "workflow.scripts.sources", "--out", tmp_path / "out/sources.csv"]
    done = subprocess.run([*command, "--measurements", nyc, bay], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    joined = sources.load([tmp_path / "out/sources.csv"])
    assert list(joined.columns[: len(measurements.COLUMNS)]) == list(measurements.COLUMNS)
    assert joined.groupby(["dataset", "source"]).size().to_dict() == {
        (dataset, source): 3 for dataset in ("nyc", "bay") for source in (4, 7)
    }
    (tmp_path / "out/sources.csv").unlink()
    done = subprocess.run([*command, "--measurements", nyc, nyc], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1) and "was read before" in done.stderr
    assert not list((tmp_path / "out").iterdir())


def test_archive_keeps_sources_and_peak_and_the_tables_show_them(rows, searches, tmp_path, monkeypatch):
    for other in (archive.figures, archive.growth, archive.claims_figure):
        monkeypatch.setattr(other, "write", lambda *_: None)
    results = tmp_path / "results"
    written(searches, results / "sources.csv")
    shutil.move(peaks(tmp_path), results / "peak.csv")
    args = Namespace(
        cells=results / "cells", archive=results / "archive", default="h200", tolerance=0.05, datasets=DATASETS
    )
    archive.main(args)
    kept = results / "archive/test-card"
    assert {path.name for path in kept.iterdir()} == {"sources.csv", "peak.csv"}
    records = rows[list(measurements.COLUMNS)].astype(object).where(rows[list(measurements.COLUMNS)].notna(), "")
    records["round"] = records["round"].astype(int)  # as it stands in a cell's CSV
    archive.keep(records.to_dict("records"), {}, kept, args)
    (kept / "table6.md").unlink()
    archive.main(args)  # nothing but these was measured again
    assert "2 sources" in (kept / "table6.md").read_text() and (kept / "figure8.png").exists()
    assert "75 %" in (kept / "peak_table.md").read_text()


def test_many_sources_are_measured_by_dataset_and_shown_in_table_6(tmp_path):
    project = Project.make(tmp_path)
    assert "sources: config names no dataset" in project.snakemake("sources", code=1)
    project.configure(datasets={"bay": {"gpu": [NEAR_FAR]}, "nyc": {"gpu": [NEAR_FAR]}})
    each = {f"Measure sources on {dataset}" for dataset in ("nyc", "bay")}
    assert project.plan("sources") == graphs("nyc", "bay") | each | {"Join"}
    assert {"Table 6", "Join"} | each <= project.plan("table6") and "Join" not in project.plan("figure8")
    (tmp_path / "results/sources").mkdir()
    said = project.snakemake("sources", code=1, environment=SIMULATOR)
    assert "sources cannot be measured here: there is no GPU" in said


def test_without_a_gpu_tables_show_the_archive(rows, searches, tmp_path):
    project = Project.make(tmp_path, stub=False, mode="auto")
    kept = tmp_path / "results/archive/h200"
    written(rows[rows["variant"] != "near_far"], kept / "timings.csv")
    written(searches, kept / "sources.csv")
    peaks(kept)
    said = project.snakemake("table6", "figure8", "peak_table", environment=SIMULATOR)
    assert "Measure" not in said
    text = (tmp_path / "results/table6.md").read_text()
    assert "From the archive h200; nothing was measured here." in text and "2 sources" in text
    assert "75 %" in (tmp_path / "results/peak_table.md").read_text()
    assert (tmp_path / "figures/figure8.svg").exists()
    assert "Nothing to be done" in project.snakemake("table6", "figure8", "peak_table", environment=SIMULATOR)
