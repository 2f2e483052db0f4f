"""All pairs in parts, from a graph to the table and the figure, in the simulator; what is refused on the way."""

import gzip
import json
import os
import re
import shutil

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.sparse import csgraph

from kernels.errors import InputError, WrongResult
from kernels.fast.hierarchy import elimination
from kernels.graph import INF, Graph
from tests.support import graphs
from tests.support.project import COMPLETE, ROOT, SIMULATOR, Project
from tests.support.rows import frame, measurement
from tests.support.views import configured
from workflow import archive, configuration
from workflow.data import prepare
from workflow.measure import all_pairs_merge, all_pairs_shard, resources
from workflow.store import all_pairs
from workflow.views import all_pairs_figure, all_pairs_table, catalogue, readme

SIDE = 4
VERTICES = SIDE * SIDE


def town():
    """Streets in rows and columns: undirected, and its coordinates as text of a .co file."""
    graph = graphs.grid(VERTICES)
    places = [f"v {v + 1} {-74000000 + 1000 * (v % SIDE)} {40000000 + 1000 * (v // SIDE)}\n" for v in range(VERTICES)]
    return graph, f"c streets of a town\np aux sp co {VERTICES}\n{''.join(places)}"


def entry(path, graph, **more):
    return {
        **{"sources": [str(path)], "format": "text", "vertices": graph.vertices, "arcs": graph.arcs},
        **{"directed": graph.directed, "simulate": True, "gpu": ["bellman_ford/naive"], **more},
    }


def write_text(graph, path):
    arcs = zip(graph.tails, graph.indices, graph.weights, strict=True)
    path.write_text(f"{graph.vertices} {graph.arcs}\n" + "".join(f"{u} {v} {w}\n" for u, v, w in arcs))


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A town in two parts, and one-way streets on which not every vertex reaches all others."""
    folder = tmp_path_factory.mktemp("all_pairs")
    graph, places = town()
    files = {name: folder / name for name in ("town.txt", "oneway.txt", "town.co.gz")}
    write_text(graph, files["town.txt"])
    oneway = graphs.make(6, [0, 1, 2, 3, 4], [1, 2, 0, 4, 3], [3, 4, 5, 1, 7])
    write_text(oneway, files["oneway.txt"])
    files["town.co.gz"].write_bytes(gzip.compress(places.encode()))
    datasets = {
        "town": entry(files["town.txt"], graph, coordinates={"sources": [str(files["town.co.gz"])]}),
        "oneway": entry(files["oneway.txt"], oneway, gpu=[]),
        "nyc": COMPLETE,
    }
    shown = {"datasets": ["town", "oneway"], "shards": 2, "sample": 5}
    made = Project.make(folder / "project", datasets=datasets, stub=False, mode="simulator", all_pairs=shown)
    made.said = made.snakemake("all_pairs", environment=SIMULATOR)
    made.graphs = {"town": graph, "oneway": oneway}
    return made


def distances(graph):
    exact = csgraph.dijkstra(graph.to_scipy())
    return np.where(np.isfinite(exact), exact, INF).astype(np.int64)


@pytest.mark.parametrize("name", ["town", "oneway"])
def test_what_is_found_of_each_vertex_is_scipys(project, name):
    exact = distances(project.graphs[name])
    reached, finite = exact < INF, np.where(exact < INF, exact, 0)
    rows = pd.read_parquet(project.folder / f"results/all_pairs/{name}.parquet")
    assert rows["vertex"].tolist() == list(range(len(exact)))
    assert rows["eccentricity"].tolist() == finite.max(axis=1).tolist()
    assert rows["reached"].tolist() == reached.sum(axis=1).tolist()
    assert rows["total"].tolist() == finite.sum(axis=1).tolist()
    assert exact[rows["vertex"], rows["farthest"]].tolist() == rows["eccentricity"].tolist()


@pytest.mark.parametrize("name", ["town", "oneway"])
def test_the_summary_is_of_all_pairs(project, name):
    exact = distances(project.graphs[name])
    whole = json.loads((project.folder / f"results/all_pairs/{name}.json").read_text())
    finite = np.where(exact < INF, exact, 0)
    assert whole["diameter"] == finite.max() == exact[whole["diameter_from"], whole["diameter_to"]]
    most = (exact < INF).sum(axis=1)
    assert whole["radius"] == finite.max(axis=1)[most == most.max()].min() == finite[whole["radius_vertex"]].max()
    assert whole["mean_distance"] == pytest.approx(finite.sum() / ((exact < INF).sum() - len(exact)))
    assert whole["connected"] is whole["columns_checked"] is (name == "town")
    found = whole["distribution"]
    assert found["eccentricity"] == np.histogram(finite.max(axis=1), found["edges"])[0].tolist()
    assert sum(found["eccentricity"]) == len(exact) and sum(found["mean_distance"]) == (most > 1).sum()
    assert whole["rows_checked"] == 5 and sum(part["sources"] for part in whole["parts"]) == len(exact)


def test_a_simulated_run_has_no_times_and_says_what_it_is(project):
    for name in ("town", "oneway"):
        whole = json.loads((project.folder / f"results/all_pairs/{name}.json").read_text())
        assert whole["search_s"] is whole["customize_s"] is None and whole["cards"] == 0
        assert (
            {part["search_s"] for part in whole["parts"]} == {part["customize_s"] for part in whole["parts"]} == {None}
        )
    row, other = pd.read_csv(project.folder / "results/all_pairs.csv").to_dict("records")
    assert (row["dataset"], other["dataset"]) == ("town", "oneway")
    assert np.isnan(row["search_s"]) and np.isnan(row["us_a_source"]) and row["shards"] == 2
    for end in ("md", "html"):
        text = (project.folder / f"results/all_pairs.{end}").read_text()
        assert "In the simulator, which has no times: town, oneway." in text
        assert f"{row['diameter']:,}, {row['diameter_from']} to {row['diameter_to']}" in text


# What an archive keeps, and what is shown of it.


def timed(project, dataset="town", **changes):
    """The town's record as a card would have made it, of another dataset perhaps."""
    whole = json.loads((project.folder / "results/all_pairs/town.json").read_text())
    of_card = {"customize_s": 0.003, "search_s": 0.0004, "cards": 2, "devices": ["NVIDIA H200"]}
    return whole | of_card | {"dataset": dataset, "substitute": "drawn"} | changes


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
    assert "All pairs" not in readme.results(kept, frame(rows)) and not list(kept.glob("all_pairs*"))
    put(results / "all_pairs/sample.json", timed(project, "sample", search_s=None, devices=["numba simulator"]))
    with pytest.raises(InputError, match="nothing was measured yet"):
        archive.archive(results, configured())
    put(results / "all_pairs/mixed.json", timed(project, "mixed", devices=["NVIDIA H100", "NVIDIA H200"]))
    bay = put(results / "all_pairs/bay.json", timed(project, "bay"))
    archive.archive(results, configured())
    assert "mixed.json: not kept: it is of NVIDIA H100 and NVIDIA H200" in caplog.text
    before = bay.read_bytes()
    bay.unlink()
    put(results / "all_pairs/nyc.json", timed(project, "nyc", diameter=1234))
    archive.archive(results, configured())
    assert {path.name for path in kept.glob("all_pairs/*")} == {"bay.json", "nyc.json"}  # the former stays
    assert (kept / "all_pairs/bay.json").read_bytes() == before
    assert {path.name for path in kept.glob("all_pairs.*")} == {f"all_pairs.{end}" for end in ("csv", "md", "png")}
    shown = readme.results(kept, frame(rows))
    section = shown[shown.index("## All pairs of road networks") :]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    assert [line.split("|")[1].strip() for line in lines[1:]] == ["nyc †", "bay †"] and "1,234" in lines[1]
    assert section.count("all_pairs.png)") == 1


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


def test_preparing_says_what_it_took_and_how_large_it_is(project):
    said = (project.folder / "logs/prepare/town.log").read_text()
    counts = elimination.of(project.graphs["town"]).counts
    assert f"height {counts.height}, {counts.arcs} arcs, {counts.triangles} triangles" in said
    assert re.search(r"[\d.e-]+ s for the order, [\d.e-]+ s for the tree", said)


def test_there_is_a_map_where_coordinates_are_named(project):
    svg = (project.folder / "figures/all_pairs.svg").read_text()
    assert svg.count("<image ") == 2  # the points of one map and its colours
    assert all((project.folder / f"figures/all_pairs.{end}").stat().st_size for end in ("pdf", "png"))


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
    assert [job.split(": ")[1] for job in again] == [
        "Search all pairs of town, part 2 of 2",
        "Join all pairs of town",
    ]


def test_of_a_real_dataset_it_says_that_a_gpu_is_needed(project, tmp_path):
    (tmp_path / "nyc.yaml").write_text(yaml.safe_dump({"all_pairs": {"datasets": ["nyc"]}}))
    said = project.snakemake(
        *("results/all_pairs/nyc.json", "--configfile", tmp_path / "nyc.yaml"), code=1, environment=SIMULATOR
    )
    assert re.search("all_pairs of nyc cannot be measured here: there is no GPU.*run it on a machine with a GPU", said)


# The parts of the town, as the project made them, to be spoilt.


@pytest.fixture
def parts(project, tmp_path):
    """Copies of the Parquet files of the town's two parts, with what lies beside them."""
    for file in (project.folder / "results/all_pairs/town/2").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return [tmp_path / f"{shard}.parquet" for shard in (1, 2)]


def merge(parts):
    all_pairs_merge.merge(parts, parts[0].with_name("town.parquet"))


def refused(parts, error, message):
    with pytest.raises(error, match=message):
        merge(parts)
    assert not list(parts[0].parent.glob("*town*"))


def spoil(path, rows=lambda rows: rows, sums=lambda sums: sums, **changes):
    """Write the files of a part anew, so that its record describes them."""
    table = all_pairs.to_parquet(rows(pd.read_parquet(path)))
    npy = all_pairs.to_npy(sums(np.load(path.with_suffix(all_pairs.SUMS))))
    path.write_bytes(table)
    path.with_suffix(all_pairs.SUMS).write_bytes(npy)
    digests = {".parquet": all_pairs.sha256(path), all_pairs.SUMS: all_pairs.sha256(path.with_suffix(all_pairs.SUMS))}
    record = json.loads(path.with_suffix(".json").read_text()) | {"files": digests} | changes
    path.with_suffix(".json").write_text(json.dumps(record))


def test_the_order_of_the_parts_does_not_matter(parts, project):
    merge(parts[::-1])
    there = project.folder / "results/all_pairs/town.parquet"
    assert pd.read_parquet(parts[0].with_name("town.parquet")).equals(pd.read_parquet(there))


@pytest.mark.parametrize("end", [".parquet", all_pairs.SUMS])
def test_a_damaged_file_of_a_part_is_refused(parts, end):
    file = parts[1].with_suffix(end)
    file.write_bytes(file.read_bytes()[:-9])
    refused(
        parts, InputError, rf"{re.escape(str(file))}: not the file that .*2\.json describes: delete it and run again"
    )


@pytest.mark.parametrize("text", ["", "[]", '{"dataset": "town"}'])
def test_a_damaged_record_of_a_part_is_refused(parts, text):
    parts[1].with_suffix(".json").write_text(text)
    refused(parts, InputError, r"2\.json: .*: delete .*2\.parquet and run again")


def test_parts_that_are_missing_or_there_twice_are_refused(parts):
    refused(parts[:1], InputError, "town: 2 parts are needed, each once, and there are 1$")
    refused([parts[0], parts[0]], InputError, "each once, and there are 1, 1$")


@pytest.mark.parametrize("key, value", [("revision", "2"), ("graph", {"sha256": "0" * 64}), ("shards", 3)])
def test_parts_of_another_graph_or_revision_are_refused(parts, key, value):
    spoil(parts[1], **{key: value})
    refused(parts, InputError, rf"2\.parquet: differs from .*1\.parquet in {key}: delete both and run again")


def test_a_vertex_that_is_a_source_twice_or_never_is_refused(parts):
    twice = int(pd.read_parquet(parts[0])["vertex"][0])
    spoil(parts[1], rows=lambda rows: rows.assign(vertex=[twice, *rows["vertex"][1:]]))
    refused(parts, InputError, r"town: vertex \d+ is a source [02] times, and every vertex must be one once")


@pytest.mark.parametrize("which", ["rows", "sums"])
def test_sums_of_rows_and_columns_that_differ_are_refused(parts, which):
    if which == "rows":
        wrong = int(pd.read_parquet(parts[1])["vertex"][3])
        spoil(parts[1], rows=lambda rows: rows.assign(total=rows["total"] + (rows["vertex"] == wrong)))
    else:
        wrong = 7
        spoil(parts[1], sums=lambda sums: sums - (np.arange(len(sums)) >= wrong))
    refused(parts, WrongResult, f"town: the distances from vertex {wrong} sum to .*: nothing is published")


def test_the_table_has_times_where_there_are_any(project):
    whole = json.loads((project.folder / "results/all_pairs/town.json").read_text())
    timed = {"customize_s": 0.003, "search_s": 0.0004, "cards": 2, "devices": ["NVIDIA H200"], "substitute": "drawn"}
    facts = all_pairs_table.facts([whole | timed], "Here.")
    assert facts["us_a_source"].tolist() == pytest.approx([0.0004 / VERTICES * 1e6])
    (row,) = all_pairs_table.to_text(facts, {"town": "drawn"}).to_dict("records")
    assert row["Dataset"] == "town †" and row["Cards"] == "2" and row["µs a source"] == "25.0"
    assert row["Customize (s)"] == "0.00300" and row["Search (s)"] == "0.000400"
    notes = all_pairs_table.notes([whole | timed], "Here.")
    assert "On NVIDIA H200: all pairs." in notes and not any("simulator" in note for note in notes)
    assert "† substitute for the paper's town.txt: drawn." in notes


# Steps by themselves.


def test_a_graph_that_is_not_fit_is_refused_with_the_numbers(tmp_path, monkeypatch):
    town()[0].save(tmp_path / "graph.npz")
    monkeypatch.setattr(elimination, "MAX_HEIGHT", 3)
    with pytest.raises(InputError, match=r"not fit for a contraction hierarchy: .* \d+ vertices high, .*take 3: take"):
        prepare.prepare(tmp_path / "graph.npz", tmp_path / "graph.hierarchy.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["graph.npz"]


@pytest.mark.parametrize("shards", [1, 3, 7])
def test_parts_are_all_sources_once_and_share_the_sample(shards):
    vertices = np.random.default_rng(1).permutation(23).astype(np.int32)
    pieces = [all_pairs.part(vertices, shards, shard) for shard in range(1, shards + 1)]
    assert np.concatenate(pieces).tolist() == vertices.tolist()
    assert max(map(len, pieces)) - min(map(len, pieces)) <= 1
    drawn = [all_pairs.sampled(piece, 23, 9) for piece in pieces]
    assert len(set(np.concatenate(drawn).tolist())) == 9
    assert set(np.concatenate(drawn).tolist()) == set(all_pairs.sampled(vertices, 23, 9).tolist())
    assert sum(len(all_pairs.sampled(piece, 23, 256)) for piece in pieces) == 23


def test_more_parts_than_vertices_are_refused():
    with pytest.raises(InputError, match=r"all_pairs\.shards: 4 parts of 3 vertices: choose fewer"):
        all_pairs.part(np.arange(3), 4, 1)
    with pytest.raises(InputError, match="part 3 of 2: parts are numbered from 1"):
        all_pairs.part(np.arange(3), 2, 3)


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
    assert all_pairs.symmetric(Graph.from_arcs(3, *zip(*arcs, strict=True))) is expected


ROW = pd.Series({"eccentricity": 9, "farthest": 2, "reached": 3, "total": 13})


def test_what_is_found_of_a_source_is_compared_with_the_oracle():
    row = np.array([0, 4, 9, INF], np.int32)
    all_pairs_shard.check_source("town", 0, row, row, ROW)
    with pytest.raises(WrongResult, match="town, source 0: distance of vertex 1 is 3, the oracle says 4: nothing"):
        all_pairs_shard.check_source("town", 0, row, np.array([0, 3, 9, INF]), ROW)
    for name, wrong in (("eccentricity", 8), ("farthest", 1), ("reached", 4), ("total", 14)):
        with pytest.raises(WrongResult, match=f"{name}.* by the oracle's row .*: nothing is published"):
            all_pairs_shard.check_source("town", 0, row, row, ROW.replace({ROW[name]: wrong}))


def test_coordinates_are_read_in_any_order(tmp_path):
    lines = ["c two places", "p aux sp co 2", "v 2 -73000000 41500000", "v 1 -74000000 40000000", ""]
    (tmp_path / "x.co").write_text("\n".join(lines))
    assert all_pairs_figure.read_coordinates(tmp_path / "x.co", 2).tolist() == [[-74, 40], [-73, 41.5]]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("v 1 5 6\nv 2 5 6\n", "has 2 lines of vertices, not 1 to 3 once each"),
        ("v 1 5 6\nv 2 5 6\nv 2 5 6\n", "has 3 lines of vertices, not 1 to 3 once each"),
        ("a 1 2 3\n", "not a DIMACS .co file .a line that begins with 'a'"),
        ("v 1 5 6\nv 2 5\nv 3 5 6\n", "not a DIMACS .co file"),
        ("v 1 5 6\nv 2 5 x\nv 3 5 6\n", "not a DIMACS .co file"),
        ("<html>\n", "not a DIMACS .co file"),
        ("", "has 0 lines of vertices, not 1 to 3 once each"),
    ],
)
def test_a_file_without_the_coordinates_is_refused(tmp_path, text, why):
    (tmp_path / "x.co").write_text(text)
    with pytest.raises(InputError, match=f"x.co: {why}.*: name the coordinates of this graph, or none$"):
        all_pairs_figure.read_coordinates(tmp_path / "x.co", 3)


def test_damaged_coordinates_are_refused(tmp_path):
    (tmp_path / "x.co.gz").write_bytes(gzip.compress(b"v 1 5 6\n" * 1000)[:-20])
    with pytest.raises(InputError, match=r"x\.co\.gz: not a DIMACS \.co file"):
        all_pairs_figure.read_coordinates(tmp_path / "x.co.gz", 3)


# The configuration.


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
    (graph, _), sources = town(), np.array([5, 0, 7])
    expected = all_pairs.oracle_rows(graph, sources)
    monkeypatch.setattr(all_pairs, "LARGE", 1)
    all_pairs._processes.cache_clear()
    shared = all_pairs.oracle_rows(graph, sources, processes=2)
    pool = all_pairs._processes(graph)
    assert len(pool._processes) == 2 and os.getpid() not in pool._processes
    pool.shutdown()
    all_pairs._processes.cache_clear()
    np.testing.assert_array_equal(shared, expected)
