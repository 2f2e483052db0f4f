"""All pairs in parts, from a graph to the table and the figure, in the simulator; what is refused on the way."""

import gzip
import json
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
from kernels.gpu import SIMULATOR as SIMULATED
from kernels.graph import INF
from tests.support import graphs
from tests.support.project import COMPLETE, ROOT, SIMULATOR, Project
from tests.support.rows import measurement, put_rows
from tests.support.views import configured
from workflow.measure import all_pairs
from workflow.plan import allocation
from workflow.publish import archive

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
    finite, most = np.where(reached, exact, 0), reached.sum(axis=1)
    rows = pd.read_parquet(project.folder / f"results/all_pairs/{name}.parquet")
    assert rows["vertex"].tolist() == list(range(n))
    assert rows["eccentricity"].tolist() == finite.max(axis=1).tolist()
    assert rows["reached"].tolist() == most.tolist()
    assert rows["total"].tolist() == finite.sum(axis=1).tolist()
    assert exact[rows["vertex"], rows["farthest"]].tolist() == rows["eccentricity"].tolist()
    whole = whole_of(project, name)
    assert whole["diameter"] == finite.max() == exact[whole["diameter_from"], whole["diameter_to"]]
    assert whole["radius"] == finite.max(axis=1)[most == most.max()].min() == finite[whole["radius_vertex"]].max()
    assert whole["mean_distance"] == pytest.approx(finite.sum() / (most.sum() - n))
    assert whole["connected"] is whole["columns_checked"] is (name == "town")
    found = whole["distribution"]
    assert found["eccentricity"] == np.histogram(finite.max(axis=1), found["edges"])[0].tolist()
    assert sum(found["mean_distance"]) == (most > 1).sum()


def test_a_simulated_run_has_no_times_and_says_what_it_is(project):
    rows = pd.read_csv(project.folder / "results/all_pairs.csv", index_col="dataset")
    assert rows.index.tolist() == list(GRAPHS)
    assert rows[["customize_s", "search_s", "us_a_source"]].isna().all(axis=None)
    row = rows.loc["town"]
    assert row[["shards", "rows_checked", "cards", "hosts"]].tolist() == [2, 5, 0, 1]
    for end in ("md", "html"):
        text = (project.folder / f"results/all_pairs.{end}").read_text()
        assert f"On {SIMULATED}: all pairs." in text
        assert f"{row['diameter']:,}, {row['diameter_from']} to {row['diameter_to']}" in text
    assert (project.folder / "figures/all_pairs.svg").read_text().count("<image ") == 2  # a map and its colour bar


# What an archive keeps, and what is shown of it.


def put(folder, project, dataset, devices=("NVIDIA H200", "NVIDIA H200"), **changes):
    """Write the town's record as if these cards had made it, of a dataset."""
    whole, card = whole_of(project), {"dataset": dataset, "customize_s": 0.003, "search_s": 0.0002}
    for part, device in zip(whole["parts"], devices, strict=True):
        part |= card | {"device": device, "card_uuid": f"GPU-{part['shard']}"}
        part["graph"]["substitute"] = "drawn"
    path = folder / f"all_pairs/{dataset}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(whole | {"dataset": dataset} | changes))
    return path


def test_the_archive_keeps_records_and_draws_them(project, tmp_path, only_views, caplog):
    only_views("all_pairs_table", "all_pairs_figure")
    put(tmp_path, project, "sample", [SIMULATED] * 2)
    with pytest.raises(InputError, match="nothing"):
        archive.archive(tmp_path, configured())
    kept = tmp_path / "archive/h200"
    put_rows([measurement("delta_stepping/near_far", "nyc")], kept)
    archive.draw_archive(kept, configured())
    assert not list(kept.glob("all_pairs*"))
    put(tmp_path, project, "mixed", ["NVIDIA H200", "NVIDIA H100"])
    bay = put(tmp_path, project, "bay")
    archive.archive(tmp_path, configured())
    assert "mixed.json: not archived" in caplog.text
    bay.unlink()
    put(tmp_path, project, "nyc", diameter=1234)
    archive.archive(tmp_path, configured())
    assert {path.name for path in kept.glob("all_pairs/*")} == {"bay.json", "nyc.json"}  # the former stays
    assert {path.name for path in kept.glob("all_pairs.*")} == {f"all_pairs.{end}" for end in ("csv", "md", "png")}
    rows = pd.read_csv(kept / "all_pairs.csv").set_index("dataset")
    assert rows["diameter"]["nyc"] == 1234 and rows["us_a_source"].tolist() == [pytest.approx(25)] * 2
    assert rows[["search_s", "cards", "shards"]].to_numpy().tolist() == [[0.0004, 2, 2]] * 2
    notes = (kept / "all_pairs.md").read_text()
    assert "On NVIDIA H200: all pairs." in notes and "simulator" not in notes
    assert "nyc.txt, bay.txt: drawn." in notes
    put(tmp_path, project, "nyc", radius=None)
    with pytest.raises(InputError, match=r"nyc\.json: .*radius"):
        archive.archive(tmp_path, configured())


@pytest.mark.ci
def test_without_a_gpu_the_archive_is_shown(project, tmp_path):
    here = Project.make(tmp_path, datasets={"nyc": COMPLETE}, stub=False, mode="simulator")
    shutil.rmtree(tmp_path / "results/archive/h200/all_pairs", ignore_errors=True)
    put(tmp_path / "results/archive/h200", project, "nyc", diameter=1234)
    here.configure(all_pairs={"datasets": ["nyc"]})
    assert "Table all_pairs" in here.plan("extensions", environment=SIMULATOR)
    here.snakemake("all_pairs", environment=SIMULATOR)
    text = (tmp_path / "results/all_pairs.md").read_text()
    assert "- From the archive h200, not measured here.\n" in text and "1,234" in text
    assert "From the archive h200" in (tmp_path / "figures/all_pairs.svg").read_text()
    put(tmp_path / "results", project, "nyc", diameter=4321)  # without its rows
    here.snakemake("all_pairs_table", environment=SIMULATOR)
    text = (tmp_path / "results/all_pairs.md").read_text()
    assert "h200" not in text and "4,321" in text


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
    words = "results/all_pairs/nyc.json", "--configfile", tmp_path / "nyc.yaml"
    said = project.snakemake(*words, code=1, environment=SIMULATOR)
    assert "nyc" in said and "Job " not in said


@pytest.fixture
def parts(project, tmp_path):
    """Copies of the town's two parts."""
    folder = project.folder / "results/all_pairs/town/2"
    return [Path(shutil.copy(folder / f"{shard}.parquet", tmp_path)) for shard in (1, 2)]


def refused(parts, error, message):
    with pytest.raises(error, match=message):
        all_pairs.merge(parts, parts[0].with_name("town.parquet"))
    assert not list(parts[0].parent.glob("*town*"))


def spoil(path, column=None, vertex=0, **changes):
    """Add to one number of a part, or change its record."""
    rows = pd.read_parquet(path)
    rows.attrs |= changes
    if column:
        rows.loc[vertex, column] += 1
    rows.to_parquet(path, index=False)


@pytest.mark.parametrize("kind", ["cut", "changed", "empty", "another"])
def test_a_file_that_is_no_part_or_is_damaged_is_refused(parts, project, kind):
    was, whole = parts[1].read_bytes(), project.folder / "results/all_pairs/town.parquet"
    content = {"cut": was[:-9], "changed": was[:30] + b"?" + was[31:], "empty": b"", "another": whole.read_bytes()}
    parts[1].write_bytes(content[kind])
    refused(parts, InputError, r"2\.parquet: .*: delete it")


def test_parts_that_do_not_belong_together_are_refused(parts):
    refused(parts[:1], InputError, r"vertex \d+ is a source in 0 ")
    source = int(pd.read_parquet(parts[0])["reached"].gt(0).idxmax())
    spoil(parts[1], "reached", source)
    refused(parts, InputError, f"vertex {source} is a source in 2 ")
    spoil(parts[1], revision="0", dataset_sha256="0" * 64)
    refused(parts, InputError, "dataset_sha256, revision")


@pytest.mark.parametrize("column", ["total", "total_to"])
def test_sums_of_rows_and_columns_that_differ_are_refused(parts, column):
    spoil(parts[1], column, 7)
    refused(parts, WrongResult, r"town: .*vertex 7 .* \d+, .* \d+")


def test_what_is_found_of_a_source_is_compared_with_the_oracle():
    found = pd.Series({"eccentricity": 9, "farthest": 2, "reached": 3, "total": 13})
    row = np.array([0, 4, 9, INF], np.int32)
    all_pairs.check_source("town, source 0", row, row, found)
    with pytest.raises(WrongResult, match=r"town, source 0: .*vertex 1 is 3, but 4 "):
        all_pairs.check_source("town, source 0", row, np.array([0, 3, 9, INF]), found)
    for name, wrong in (("eccentricity", 8), ("farthest", 1), ("reached", 4), ("total", 14)):
        with pytest.raises(WrongResult, match=f"{name}.* oracle"):
            all_pairs.check_source("town, source 0", row, row, found.replace({found[name]: wrong}))


def test_coordinates_are_read_in_any_order_and_must_be_the_graphs(tmp_path):
    path = tmp_path / "x.co"
    path.write_text("c places\np aux sp co 2\nv 2 -73000000 41500000\nv 1 -74000000 40000000\n")
    assert io.read_coordinates(path, 2).tolist() == [[-74, 40], [-73, 41.5]]
    path.with_suffix(".co.gz").write_bytes(gzip.compress(b"v 1 5 6\n" * 1000, mtime=0)[:-20])
    with pytest.raises(InputError, match=r"none\.co: cannot be read"):
        io.read_coordinates(tmp_path / "none.co", 2)
    said = r"\.co.* 2 vertices"
    with pytest.raises(InputError, match=said):
        io.read_coordinates(path.with_suffix(".co.gz"), 2)
    for content in ("c\n" * 2**20, "v 1 5 6\n", "v 1 5 6\nv 1 5 6\n", "a 1 5 6\nv 2 5 6\n", "v 1 5 6\nv 2 5\n"):
        path.write_text(content)
        with pytest.raises(InputError, match=said):
            io.read_coordinates(path, 2)


def test_limits_of_a_part():
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    assert allocation.all_pairs_mb(config, "nyc") < 3000 < 6000 < allocation.all_pairs_mb(config, "e") < 8000
    n = 3_000_000
    config["datasets"]["town"] = {"vertices": n, "arcs": n}
    config["all_pairs"]["sample"] = 100
    minutes = [allocation.all_pairs_min(config, "town", shards) for shards in (1, 2, 4)]
    assert minutes == [10 + 10 + 60, 10 + 10 + 30, 10 + 10 + 15]  # the base, the oracle, two passes
