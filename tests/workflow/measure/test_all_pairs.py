"""All pairs in parts, from a graph to the table and the figure, in the simulator; what is refused on the way."""

import gzip
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.sparse import csgraph

from kernels import io
from kernels.errors import InputError, WrongResult
from kernels.fast.hierarchy import elimination
from kernels.graph import INF, Graph
from tests.support import graphs
from tests.support.project import COMPLETE, ROOT, SIMULATOR, Project
from tests.support.rows import measurement
from tests.support.views import configured
from workflow import archive, configuration
from workflow.data import prepare
from workflow.measure import all_pairs, oracle, resources
from workflow.views import all_pairs_figure, catalogue, readme

SAMPLE = "workflow/samples/sample3.txt"  # has sinks and vertices that are not reached
GRAPHS = {"town": graphs.grid(16), "sample": io.read_graph(ROOT / SAMPLE)}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Both graphs, in two parts each; the town has coordinates."""
    folder, town = tmp_path_factory.mktemp("all_pairs"), GRAPHS["town"]
    io.write_text(folder / "town.txt", town.vertices, town.tails, town.indices, town.weights)
    places = [f"v {v + 1} {1000 * (v % 4) - 74000000} {1000 * (v // 4) + 40000000}\n" for v in range(town.vertices)]
    (folder / "town.co.gz").write_bytes(gzip.compress(f"c streets\np aux sp co 16\n{''.join(places)}".encode()))
    datasets = {"nyc": COMPLETE}
    for name, path in {"town": folder / "town.txt", "sample": SAMPLE}.items():
        counts = {"vertices": GRAPHS[name].vertices, "arcs": GRAPHS[name].arcs, "directed": name != "town"}
        datasets[name] = {"sources": [str(path)], "format": "text", "simulate": True, "gpu": [], **counts}
    datasets["town"]["coordinates"] = {"sources": [str(folder / "town.co.gz")]}
    shown = {"datasets": list(GRAPHS), "shards": 2, "sample": 5}
    made = Project.make(folder / "project", datasets=datasets, stub=False, mode="simulator", all_pairs=shown)
    made.said = made.snakemake("all_pairs", environment=SIMULATOR)
    return made


def whole_of(project, name="town"):
    return json.loads((project.folder / f"results/all_pairs/{name}.json").read_text())


@pytest.mark.parametrize("name", GRAPHS)
def test_rows_and_record_are_scipys(project, name):
    exact = csgraph.dijkstra(GRAPHS[name].to_scipy())
    n, reached = len(exact), np.isfinite(exact)
    finite = np.where(reached, exact, 0)
    rows = pd.read_parquet(project.folder / f"results/all_pairs/{name}.parquet")
    assert rows["vertex"].tolist() == list(range(n))
    assert rows["eccentricity"].tolist() == finite.max(axis=1).tolist()
    assert rows["reached"].tolist() == reached.sum(axis=1).tolist()
    assert rows["total"].tolist() == finite.sum(axis=1).tolist()
    assert exact[rows["vertex"], rows["farthest"]].tolist() == rows["eccentricity"].tolist()
    whole, most = whole_of(project, name), reached.sum(axis=1)
    assert whole["diameter"] == finite.max() == exact[whole["diameter_from"], whole["diameter_to"]]
    assert whole["radius"] == finite.max(axis=1)[most == most.max()].min() == finite[whole["radius_vertex"]].max()
    assert whole["mean_distance"] == pytest.approx(finite.sum() / (reached.sum() - n))
    assert whole["connected"] is whole["columns_checked"] is (name == "town")
    found = whole["distribution"]
    assert found["eccentricity"] == np.histogram(finite.max(axis=1), found["edges"])[0].tolist()
    assert sum(found["eccentricity"]) == n and sum(found["mean_distance"]) == (most > 1).sum()
    assert whole["rows_checked"] == 5 and sum(part["sources"] for part in whole["parts"]) == n


def test_a_simulated_run_has_no_times_and_says_what_it_is(project):
    for whole in (whole_of(project, name) for name in GRAPHS):
        assert whole["cards"] == 0
        assert {record[key] for record in (whole, *whole["parts"]) for key in ("search_s", "customize_s")} == {None}
    row, other = pd.read_csv(project.folder / "results/all_pairs.csv").to_dict("records")
    assert (row["dataset"], other["dataset"]) == ("town", "sample")
    assert np.isnan(row["search_s"]) and np.isnan(row["us_a_source"]) and row["shards"] == 2
    for end in ("md", "html"):
        text = (project.folder / f"results/all_pairs.{end}").read_text()
        assert "In the simulator, which has no times: town, sample." in text
        assert f"{row['diameter']:,}, {row['diameter_from']} to {row['diameter_to']}" in text
    assert (project.folder / "figures/all_pairs.svg").read_text().count("<image ") == 2  # a map and its colour bar
    said = (project.folder / "logs/prepare/town.log").read_text()
    counts = elimination.of(GRAPHS["town"]).counts
    assert f"height {counts.height}, {counts.arcs} arcs, {counts.triangles} triangles" in said
    assert re.search(r"[\d.e-]+ s for the order, [\d.e-]+ s for the tree", said)


# What an archive keeps, and what is shown of it.


def timed(project, dataset="town", **changes):
    """The town's record as a card would have made it, of another dataset perhaps."""
    of_card = {"customize_s": 0.003, "search_s": 0.0004, "cards": 2, "devices": ["NVIDIA H200"]}
    return whole_of(project) | of_card | {"dataset": dataset, "substitute": "drawn"} | changes


def put(path, whole):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(whole))
    return path


def test_the_archive_keeps_records_and_draws_them(project, tmp_path, monkeypatch, caplog):
    views = [catalogue.BY_NAME[name] for name in ("all_pairs_table", "all_pairs_figure")]
    monkeypatch.setattr(catalogue, "VIEWS", views)
    results = tmp_path / "results"
    kept = results / "archive/h200"
    rows = [measurement("delta_stepping/near_far", "nyc", seconds=0.0025)]
    archive.keep(rows, {}, kept, configured())
    assert "all_pairs" not in readme.links([kept], ["H200"]) and not list(kept.glob("all_pairs*"))
    put(results / "all_pairs/sample.json", timed(project, "sample", search_s=None, devices=["numba simulator"]))
    with pytest.raises(InputError, match="nothing was measured yet"):
        archive.archive(results, configured())
    put(results / "all_pairs/mixed.json", timed(project, "mixed", devices=["NVIDIA H100", "NVIDIA H200"]))
    bay = put(results / "all_pairs/bay.json", timed(project, "bay"))
    archive.archive(results, configured())
    assert "mixed.json: not archived: measured on NVIDIA H100 and NVIDIA H200" in caplog.text
    before = bay.read_bytes()
    bay.unlink()
    put(results / "all_pairs/nyc.json", timed(project, "nyc", diameter=1234))
    archive.archive(results, configured())
    assert {path.name for path in kept.glob("all_pairs/*")} == {"bay.json", "nyc.json"}  # the former stays
    assert (kept / "all_pairs/bay.json").read_bytes() == before
    assert {path.name for path in kept.glob("all_pairs.*")} == {f"all_pairs.{end}" for end in ("csv", "md", "png")}
    notes = (kept / "all_pairs.md").read_text()
    lines = [line for line in notes.splitlines() if line.startswith("| ")][1:]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert [row[0] for row in rows] == ["nyc †", "bay †"] and rows[0][2].startswith("1,234, ")
    assert rows[0][-5:] == ["0.00300", "0.000400", "25.0", "2", "2"]  # customize, search, µs a source, cards, parts
    assert "On NVIDIA H200: all pairs." in notes and "simulator" not in notes
    assert "† substitute for the paper's nyc.txt, bay.txt: drawn." in notes
    links = readme.links([kept], ["H200"])
    assert all(f"(../results/archive/h200/all_pairs.{end})" in links for end in ("md", "png"))


@pytest.mark.ci
def test_without_a_gpu_the_archive_is_shown(project, tmp_path):
    here = Project.make(tmp_path, datasets={"nyc": COMPLETE}, stub=False, mode="simulator")
    shutil.rmtree(tmp_path / "results/archive/h200/all_pairs", ignore_errors=True)
    put(tmp_path / "results/archive/h200/all_pairs/nyc.json", timed(project, "nyc", diameter=1234))
    here.configure(all_pairs={"datasets": ["nyc"]})
    assert "Table all_pairs" in here.plan("extensions", environment=SIMULATOR)
    here.snakemake("all_pairs", environment=SIMULATOR)
    text = (tmp_path / "results/all_pairs.md").read_text()
    assert "- From the archive h200, not measured here.\n" in text and "1,234" in text
    assert "From the archive h200" in (tmp_path / "figures/all_pairs.svg").read_text()
    put(tmp_path / "results/all_pairs/nyc.json", timed(project, "nyc", diameter=4321))  # without its rows
    here.snakemake("all_pairs_table", environment=SIMULATOR)
    text = (tmp_path / "results/all_pairs.md").read_text()
    assert "- Measured by this copy of the project.\n" in text and "4,321" in text


def test_a_lost_part_is_made_again_and_no_other(project):
    assert len(re.findall(r"^Job \d+: Search all pairs of", project.said, re.MULTILINE)) == 4
    lost = [project.folder / f"results/all_pairs/{name}.parquet" for name in ("town/2/2", "town")]
    for path in lost:
        path.rename(path.with_suffix(".kept"))
    try:
        said = project.snakemake("-n", "all_pairs", environment=SIMULATOR)
    finally:
        for path in lost:
            path.with_suffix(".kept").rename(path)
    again = re.findall(r"^Job \d+: (?:Search|Join|Prepare|Pack) .*", said, re.MULTILINE)
    assert [job.split(": ")[1] for job in again] == ["Search all pairs of town, part 2 of 2", "Join all pairs of town"]


def test_of_a_real_dataset_it_says_that_a_gpu_is_needed(project, tmp_path):
    (tmp_path / "nyc.yaml").write_text(yaml.safe_dump({"all_pairs": {"datasets": ["nyc"]}}))
    said = project.snakemake(
        *("results/all_pairs/nyc.json", "--configfile", tmp_path / "nyc.yaml"), code=1, environment=SIMULATOR
    )
    assert re.search("all_pairs of nyc cannot be measured here: there is no GPU.*run it on a machine with a GPU", said)


@pytest.fixture
def parts(project, tmp_path):
    """Copies of the town's two parts."""
    folder = project.folder / "results/all_pairs/town/2"
    return [Path(shutil.copy(folder / f"{shard}.parquet", tmp_path)) for shard in (1, 2)]


def refused(parts, error, message):
    with pytest.raises(error, match=message):
        all_pairs.merge(parts, parts[0].with_name("town.parquet"))
    assert not list(parts[0].parent.glob("*town*"))


def spoil(path, column=None, vertex=0, by=1, **changes):
    """Add to one number of a part, or change its record."""
    rows = pd.read_parquet(path)
    rows.attrs |= changes
    if column:
        rows.loc[vertex, column] += by
    rows.to_parquet(path, index=False)


def test_the_order_of_the_parts_does_not_matter(parts, project):
    all_pairs.merge(parts[::-1], parts[0].with_name("town.parquet"))
    made = project.folder / "results/all_pairs/town.parquet"
    assert parts[0].with_name("town.parquet").read_bytes() == made.read_bytes()


@pytest.mark.parametrize("kind", ["cut", "changed", "empty", "another"])
def test_a_file_that_is_no_part_or_is_damaged_is_refused(parts, project, kind):
    was, whole = parts[1].read_bytes(), project.folder / "results/all_pairs/town.parquet"
    content = {"cut": was[:-9], "changed": was[:30] + b"?" + was[31:], "empty": b"", "another": whole.read_bytes()}
    parts[1].write_bytes(content[kind])
    why = "without arcs" if kind == "another" else ".+"
    refused(parts, InputError, rf"2\.parquet: not a part of all pairs \({why}\): delete it and run again")


def test_a_vertex_must_be_a_source_of_one_part(parts):
    said = "town: vertex {} is a source in {} of {} parts, not in exactly 1: delete its 2 parts and run again"
    refused(parts[:1], InputError, said.format(r"\d+", 0, 1))
    refused([parts[0], parts[0]], InputError, said.format(r"\d+", "[02]", 2))
    spoil(parts[1], "reached", 2)
    refused(parts, InputError, said.format(2, 2, 2))


@pytest.mark.parametrize("key, value", [("revision", "2"), ("dataset_sha256", "0" * 64), ("shards", 3)])
def test_parts_of_another_graph_or_revision_are_refused(parts, key, value):
    spoil(parts[1], **{key: value})
    refused(parts, InputError, rf"2\.parquet: differs from .*1\.parquet in {key}: delete both and run again")


@pytest.mark.parametrize("column", ["total", "total_to"])
def test_sums_of_rows_and_columns_that_differ_are_refused(parts, column):
    for vertex in (9, 7):
        spoil(parts[1], column, vertex)
    said = r"from vertex 7 sum to \d+, but those to it to \d+, although .* \(2 such vertices\): nothing is written"
    refused(parts, WrongResult, f"town: the distances {said}")


def test_a_graph_that_is_not_fit_is_refused_with_the_numbers(tmp_path, monkeypatch):
    GRAPHS["town"].save(tmp_path / "graph.npz")
    monkeypatch.setattr(elimination, "MAX_HEIGHT", 3)
    with pytest.raises(InputError, match=r"not fit for a contraction hierarchy: .* \d+ vertices high, .*take 3: take"):
        prepare.prepare(tmp_path / "graph.npz", tmp_path / "graph.hierarchy.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["graph.npz"]


@pytest.mark.parametrize("shard, shards", [(1, 4), (3, 2)])
def test_a_part_that_does_not_exist_is_refused(shard, shards):
    with pytest.raises(InputError, match=f"3 vertices have no part {shard} of {shards}: choose another"):
        all_pairs.Part(shard, shards).sources(np.arange(3))


@pytest.mark.parametrize(
    ("arcs", "expected"),
    [
        ([(0, 1, 5), (1, 0, 5)], True),
        ([(0, 1, 5), (1, 0, 4)], False),
        ([(0, 1, 5)], False),
        ([(0, 1, 0)], False),  # weight 0 is an arc
        ([(0, 1, 5), (0, 1, 9), (1, 0, 7), (1, 0, 5)], True),  # the cheapest of parallel arcs
    ],
)
def test_where_arcs_go_both_ways(arcs, expected):
    assert all_pairs.is_symmetric(Graph.from_arcs(3, *zip(*arcs, strict=True))) is expected


def test_what_is_found_of_a_source_is_compared_with_the_oracle():
    found = pd.Series({"eccentricity": 9, "farthest": 2, "reached": 3, "total": 13})
    row = np.array([0, 4, 9, INF], np.int32)
    all_pairs.check_source("town, source 0", row, row, found)
    with pytest.raises(WrongResult, match="source 0: distance of vertex 1 is 3, but 4 by the oracle's row: nothing"):
        all_pairs.check_source("town, source 0", row, np.array([0, 3, 9, INF]), found)
    for name, wrong in (("eccentricity", 8), ("farthest", 1), ("reached", 4), ("total", 14)):
        with pytest.raises(WrongResult, match=f"{name}.* by the oracle's row: nothing is written"):
            all_pairs.check_source("town, source 0", row, row, found.replace({found[name]: wrong}))


def test_coordinates_are_read_in_any_order(tmp_path):
    (tmp_path / "x.co").write_text("c places\np aux sp co 2\nv 2 -73000000 41500000\nv 1 -74000000 40000000\n")
    assert all_pairs_figure.read_coordinates(tmp_path / "x.co", 2).tolist() == [[-74, 40], [-73, 41.5]]


@pytest.mark.parametrize(
    "content",
    [
        *(b"v 1 5 6\nv 2 5 6\n", b"v 1 5 6\nv 2 5 6\nv 2 5 6\n", b"a 1 2 3\n", b"a 1 5 6\nv 2 5 6\nv 3 5 6\n"),
        *(b"v 1 5 6\nv 2 5\nv 3 5 6\n", b"v 1 5 6\nv 2 5 x\nv 3 5 6\n", b"<html>\n", b""),
        gzip.compress(b"v 1 5 6\n" * 1000, mtime=0)[:-20],
    ],
)
def test_a_file_without_the_coordinates_is_refused(tmp_path, content):
    path = tmp_path / ("x.co.gz" if content.startswith(b"\x1f") else "x.co")
    path.write_bytes(content)
    said = r"not a DIMACS \.co file of 3 vertices \(.+\): name the coordinates of this graph, or none$"
    with pytest.raises(InputError, match=rf"{re.escape(path.name)}: {said}"):
        all_pairs_figure.read_coordinates(path, 3)


@pytest.fixture
def config():
    return yaml.safe_load((ROOT / "config.yaml").read_text())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"all_pairs": {"datasets": ["nyk"], "shards": 1, "sample": 9}}, r"all_pairs\.datasets: there is no .*'nyk'"),
        ({"all_pairs": {"datasets": ["nyc"], "shards": 0, "sample": 9}}, r"all_pairs\.shards: 0 is less"),
        ({"coordinates": {"sources": ["dimacs8:x.co"]}}, r"datasets\.nyc\.coordinates\.sources: .*no archive dimacs8"),
        ({"coordinates": {"sources": ["dimacs9:USA-road-d.NY.gr.gz"]}}, "two datasets have a source called USA-road-d"),
        ({"coordinates": "x.co"}, r"datasets\.nyc\.coordinates: 'x.co' is not of type"),
    ],
)  # fmt: skip
def test_what_the_configuration_may_not_say(config, change, why):
    configuration.check(config)
    (config if "all_pairs" in change else config["datasets"]["nyc"]).update(change)
    with pytest.raises(InputError, match=f"^config: {why}"):
        configuration.check(config)


def test_limits_of_a_part(config):
    assert resources.all_pairs_min(config, "e", 4) < resources.all_pairs_min(config, "e", 1) < 6 * 60
    assert resources.all_pairs_mb(config, "nyc") < 3000 < 6000 < resources.all_pairs_mb(config, "e") < 8000
    assert resources.all_pairs_mb(config, "e", 2) == resources.all_pairs_mb(config, "e", 16) > 13_000
    assert resources.all_pairs_mb(config, "sample1", 16) == resources.all_pairs_mb(config, "sample1")  # small
    n = m = 3_000_000
    config["datasets"]["town"] = {"vertices": n, "arcs": m}

    def minutes(shards, sample):
        return resources.all_pairs_min(config | {"all_pairs": {"sample": sample}}, "town", shards)

    assert [minutes(shards, 0) for shards in (1, 2, 4)] == [10 + 60, 10 + 30, 10 + 15]  # two passes
    assert minutes(1, 100) == 10 + 10 + 60 and minutes(1, n) == minutes(1, 2 * n)  # the oracle


@pytest.mark.ci
def test_rows_of_a_large_graph_are_shared_out_to_processes(monkeypatch):
    graph, sources = GRAPHS["town"], np.array([5, 0, 7])
    expected = oracle.oracle_rows(graph, sources)
    monkeypatch.setattr(oracle, "LARGE", 1)
    oracle._pool.cache_clear()
    shared = oracle.oracle_rows(graph, sources, processes=2)
    pool = oracle._pool(graph)
    assert len(pool._processes) == 2 and os.getpid() not in pool._processes
    pool.shutdown()
    oracle._pool.cache_clear()
    np.testing.assert_array_equal(shared, expected)
