"""The convert and pack steps, on files made here."""

import gzip
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.sparse.csgraph import dijkstra

from kernels import generate, io
from kernels.errors import InputError
from kernels.graph import Graph
from workflow.data import convert, download, pack

ROOT = Path(__file__).parents[3]
RAW = Path("resources/raw/data.gz")
TEXT = Path("resources/graphs/mine.txt")
PACKED = Path("resources/graphs/mine.npz")
RECORD = Path("resources/origins/data.gz.json")

DIMACS = "c comment\np sp 3 4\na 1 2 7\na 2 1 7\na 3 2 5\na 2 3 5\n"
ENTRY = {"sources": ["archive:data.gz"], "format": "dimacs", "vertices": 3, "arcs": 4, "directed": False}
SNAP = "# Nodes: 3 Edges: 3\r\n0\t5\r\n5\t9\r\n9\t0\r\n"
SNAP_ENTRY = {
    "sources": ["archive:data.gz"],
    "format": "snap",
    "vertices": 3,
    "arcs": 3,
    "weights": {"min": 1, "max": 1000, "seed": 7},
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The test's own folder is the working directory, and the paper has a dataset `mine`."""
    paper = tmp_path.with_name(f"{tmp_path.name}.csv")
    paper.write_text("dataset,vertices,arcs,file\nmine,3,4,data.gz\n")
    monkeypatch.setattr(pack, "PAPER", paper)
    monkeypatch.chdir(tmp_path)


def put(content):
    """Put the raw file there, as by hand."""
    RAW.parent.mkdir(parents=True, exist_ok=True)
    RAW.write_bytes(gzip.compress(content.encode(), mtime=0))


def convert_and_pack(content, entry):
    put(content)
    convert.convert("mine", entry, RAW, TEXT)
    pack.pack("mine", entry, TEXT, PACKED)
    return Graph.load(PACKED)


def test_dimacs_to_text_to_packed():
    graph = convert_and_pack(DIMACS, ENTRY)
    assert TEXT.read_text() == "3 4\n0 1 7\n1 0 7\n2 1 5\n1 2 5\n"
    assert graph.indptr.tolist() == [0, 1, 3, 4]
    assert graph.indices.tolist() == [1, 0, 2, 1]
    assert graph.weights.tolist() == [7, 7, 5, 5]
    assert not graph.directed
    assert graph.meta == {
        "name": "mine",
        "sha256": hashlib.sha256(TEXT.read_bytes()).hexdigest(),
        "entry": ENTRY,
        "origin": json.loads(RECORD.read_text()),
        "generated": None,
        "substitute": None,
    }
    assert graph.meta["origin"]["url"] == "put by hand"
    assert sorted(path for path in Path().rglob("*.*") if path.is_file()) == [PACKED, TEXT, RECORD, RAW]
    first = PACKED.read_bytes()
    pack.pack("mine", ENTRY, TEXT, PACKED)
    assert PACKED.read_bytes() == first


def test_snap_gets_the_weights_config_asks_for():
    entry = {**SNAP_ENTRY, "substitute": "made up"}
    graph = convert_and_pack(SNAP, entry)
    vertices, tails, heads, weights = io.read_text(TEXT)
    assert (vertices, tails.tolist(), heads.tolist()) == (3, [0, 1, 2], [1, 2, 0])
    assert weights.tolist() == generate.draw(3, low=1, high=1000, seed=7).tolist()
    assert graph.directed
    assert graph.meta["entry"]["weights"] == {"min": 1, "max": 1000, "seed": 7}
    assert graph.meta["substitute"] == "made up"

    again = convert_and_pack(SNAP, entry)
    assert again.meta == graph.meta
    other = {**SNAP_ENTRY, "weights": {"min": 1, "max": 1000, "seed": 8}}
    assert convert_and_pack(SNAP, other).meta["sha256"] != graph.meta["sha256"]


def test_a_random_graph_has_no_raw_file():
    entry = {"format": "random", "vertices": 4, "arcs": 12, "weights": {"min": 5, "max": 5, "seed": 1}}
    with pytest.raises(InputError, match="made has 12 arcs, config says 16"):
        convert.convert("made", entry | {"arcs": 16}, None, TEXT)
    assert not TEXT.exists()
    convert.convert("made", entry, None, TEXT)
    pack.pack("made", entry, TEXT, PACKED)
    graph = Graph.load(PACKED)
    assert (graph.vertices, graph.arcs, set(graph.weights.tolist())) == (4, 12, {5})
    assert (graph.meta["origin"], graph.meta["substitute"]) == (None, None)
    assert graph.meta["generated"] == "a complete graph"


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"seed": 7}, "random arcs, seed 7"),
        ({"seed": 7, "skew": 2.5}, "random arcs, seed 7, out-degrees by a power law of exponent 2.5"),
    ],
)
def test_a_generated_graph_is_no_substitute_and_no_download(how, said):
    entry = {
        **{"format": "random", "vertices": 50, "arcs": 200, "generate": how},
        "weights": {"min": 3, "max": 5, "seed": 7},
    }
    convert.convert("made", entry, None, TEXT)
    pack.pack("made", entry, TEXT, PACKED)
    graph = Graph.load(PACKED)
    tails, heads = generate.draw_arcs(50, 200, **how)
    assert sorted(zip(graph.tails, graph.indices, strict=True)) == sorted(zip(tails, heads, strict=True))
    assert set(graph.weights.tolist()) == {3, 4, 5}
    assert (graph.meta["origin"], graph.meta["substitute"], graph.meta["generated"]) == (None, None, said)
    first = PACKED.read_bytes()
    convert.convert("made", entry, None, TEXT)
    pack.pack("made", entry, TEXT, PACKED)
    assert PACKED.read_bytes() == first


def test_weights_of_a_share_of_the_edges_are_0():
    """The graph is packed from its raw file, since the text form has no weight 0."""
    put(DIMACS)
    entry = {**ENTRY, "zero": {"share": 0.5, "seed": 1}}
    weights = generate.zero(3, *io.read_dimacs(RAW)[1:], share=0.5, seed=1)
    pack.pack("mine", entry, RAW, PACKED)
    graph = Graph.load(PACKED)
    assert sorted(graph.weights) == sorted(weights) and 0 < (weights == 0).sum() < 4
    assert json.loads(RECORD.read_text())["url"] == "put by hand" and graph.meta["origin"]["sha256"] == io.sha256(RAW)
    said = "data.gz, weights of a share of 0.5 of the edges set to 0, seed 1"
    assert (graph.meta["generated"], graph.meta["entry"]["zero"], graph.directed) == (said, entry["zero"], False)
    assert graph.meta["sha256"] == pack.csr_sha256(graph)
    with pytest.raises(InputError, match="no reverse"):
        put(DIMACS.replace("a 3 2 5", "a 3 2 6"))
        pack.pack("mine", {**entry, "sha256": "any", "zero": {"share": 0, "seed": 1}}, RAW, PACKED)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"vertices": 5}, "mine has 3 vertices, config says 5: "),
        ({"arcs": 5}, "mine has 4 arcs, config says 5: "),
        ({"vertices": 2, "arcs": 1}, "mine has 3 vertices, config says 2 and 4 arcs, config says 1: "),
    ],
)
def test_counts_other_than_in_config_are_refused(changes, reason):
    put(DIMACS)
    with pytest.raises(InputError, match=f"{reason}.*datasets.mine.vertices.*datasets.mine.arcs"):
        convert.convert("mine", {**ENTRY, **changes}, RAW, TEXT)
    assert not TEXT.parent.exists()


def test_snap_with_its_counts_in_a_bare_first_line():
    graph = convert_and_pack(SNAP.replace("# Nodes: 3 Edges: 3", "3 3"), SNAP_ENTRY)
    assert (graph.vertices, graph.arcs, graph.indices.tolist()) == (3, 3, [1, 2, 0])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("0\t5\n" * 5, "mine has at least 4 arcs, config says 3: "),
        ("3\t3\n" + "0\t5\n" * 5, "mine has at least 4 arcs, config says 3: "),
        ("0\t5\n" * 2, "mine has 2 arcs, config says 3: "),
        ("0\t5\n" * 3, "2 vertices have arcs, config says 3: "),
        ("#" + "x" * 60_000 + "\n", None),
    ],
)
def test_configs_counts_limit_a_file_without_its_own(content, reason):
    content, reason = (content, reason) if reason else (content * 20, "line 18: .* bytes up to here, and only 0 arcs")
    put(content)
    with pytest.raises(InputError, match=reason):
        convert.convert("mine", SNAP_ENTRY, RAW, TEXT)
    assert not TEXT.exists()


def test_a_raw_file_other_than_the_recorded_one_is_refused():
    convert_and_pack(DIMACS, ENTRY)
    text = TEXT.read_text()
    put(DIMACS.replace("comment", "another"))
    with pytest.raises(InputError, match=r"data\.gz: .*sha256"):
        convert.convert("mine", ENTRY, RAW, TEXT)
    assert TEXT.read_text() == text
    convert.convert("mine", {**ENTRY, "sha256": "any"}, RAW, TEXT)
    assert json.loads(RECORD.read_text())["sha256"] == io.sha256(RAW)


def test_a_wrong_raw_file_leaves_the_old_text():
    convert_and_pack(DIMACS, ENTRY)
    text = TEXT.read_text()
    put(DIMACS.replace("a 3 2 5", "a 3 2 0"))
    with pytest.raises(InputError, match=r"data\.gz, line 5: 'a 3 2 0': weight 0 is outside"):
        convert.convert("mine", {**ENTRY, "sha256": "any"}, RAW, TEXT)
    assert TEXT.read_text() == text
    assert sorted(TEXT.parent.iterdir()) == [PACKED, TEXT]


@pytest.mark.parametrize(
    ("old", "new", "arc"),
    [
        ("a 3 2 5", "a 3 2 6", "between 1 and 2 .* an arc of weight 5"),
        ("a 3 2 5", "a 3 1 5", "between 0 and 2 .* an arc of weight 5"),
        ("a 2 3 5", "a 3 2 5", "between 1 and 2 .* an arc of weight 5"),
        ("a 2 1 7", "a 1 2 7", "between 0 and 1 .* an arc of weight 7"),
        ("a 2 1 7", "a 1 1 7", "between 0 and 1 .* an arc of weight 7"),
    ],
)
def test_an_undirected_graph_has_every_reverse(old, new, arc):
    content = DIMACS.replace(old, new)
    with pytest.raises(InputError, match=f"mine: {arc} .*datasets.mine.directed"):
        convert_and_pack(content, ENTRY)
    assert not PACKED.exists()
    assert convert_and_pack(content, {**ENTRY, "directed": True, "sha256": "any"}).directed


def test_parallel_arcs_and_self_loops_may_be_undirected():
    content = "p sp 2 5\na 1 2 3\na 1 2 4\na 1 1 9\na 2 1 4\na 2 1 3\n"
    graph = convert_and_pack(content, {**ENTRY, "vertices": 2, "arcs": 5})
    assert graph.weights.tolist() == [3, 4, 9, 4, 3]


@pytest.mark.parametrize(
    ("paper", "differs"),
    [("3,4,data.gz", False), ("4,4,data.gz", True), ("3,6,data.gz", True), ("3,4,theirs.gz", True)],
)
def test_what_is_not_the_papers_says_so(paper, differs):
    pack.PAPER.write_text(f"dataset,vertices,arcs,file\nmine,{paper}\n")
    substitute = convert_and_pack(DIMACS, ENTRY).meta["substitute"]
    vertices, arcs, file = paper.split(",")
    assert (substitute is not None) == differs
    if differs:
        assert re.search(
            rf"3 vertices, 4 arcs from data\.gz .* {vertices} vertices, {arcs} arcs from {file}", substitute
        )


@pytest.mark.parametrize("sample", ["sample1", "sample2", "sample3"])
def test_the_samples_are_what_config_says(sample):
    entry = yaml.safe_load((ROOT / "config.yaml").read_text())["datasets"][sample]
    if "sources" in entry:
        entry["sources"] = [str(ROOT / source) for source in entry["sources"]]
    raw = download.local(entry)
    convert.convert(sample, entry, raw and Path(raw), TEXT)
    pack.pack(sample, entry, TEXT, PACKED)
    assert not download.ORIGINS.exists()  # nothing was downloaded
    assert (Graph.load(PACKED).vertices, Graph.load(PACKED).arcs) == (entry["vertices"], entry["arcs"])


def test_sample1_is_small_but_not_trivial():
    graph = io.read_graph(ROOT / "workflow/samples/sample1.txt")
    distances = dijkstra(graph.to_scipy(), indices=0)
    assert distances.tolist() == [0, 4, 7, 9, 12, 13]
    direct = graph.weights[(graph.tails == 0) & (graph.indices == 3)]
    assert direct == 20  # one hop, dearer than the three by 1 and 2


def test_sample3_has_every_oddity():
    graph = io.read_graph(ROOT / "workflow/samples/sample3.txt")
    sinks = np.flatnonzero(np.diff(graph.indptr) == 0)
    assert sinks[0] < graph.vertices // 2 and sinks[-1] == graph.vertices - 1
    assert np.isinf(dijkstra(graph.to_scipy(), indices=0)).any()
    assert (graph.tails == graph.indices).sum() == 1
    assert (graph.weights.min(), graph.weights.max()) == (1, 100)
    weights = {}
    for tail, head, weight in zip(graph.tails, graph.indices, graph.weights, strict=True):
        weights.setdefault((tail, head), []).append(weight)
    parallel = [group for group in weights.values() if len(group) > 1]
    cheapest_last = [group[-1] == min(group) for group in parallel]
    assert set(cheapest_last) == {True, False}
    assert all(len(set(group)) == len(group) for group in parallel)
