"""Somebody's program beside ours: here a small one of our own, which a test writes."""

import copy
import json
import os
import re
import sys
import time
from argparse import Namespace
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest
import yaml
from test_measure import SAMPLE

from kernels import datasets, harness
from kernels.errors import InputError
from kernels.graph import Graph
from kernels.variants import VARIANTS
from tests.rows import CONFIG, DATASETS, in_batches, rows_of
from workflow.lib import configuration, external, measurements, records
from workflow.scripts import archive, collect, job, summary

PROGRAM = """#!{python}
import os, subprocess, sys, time
_, what, text, source, *more = sys.argv
with open(text) as file:
    n, m = map(int, file.readline().split())
    arcs = [tuple(map(int, line.split())) for line in file]
started = time.perf_counter()
distance = {{int(source): 0}}
for _ in range(n - 1):
    for u, v, w in arcs:
        if u in distance and distance[u] + w < distance.get(v, 2**31):
            distance[v] = distance[u] + w
took = time.perf_counter() - started
if what == "wrong":
    distance[max(distance, key=distance.get)] -= 1
if what == "hangs":
    child = subprocess.Popen(["sleep", "60"])
    print(child.pid, file=open(more[0], "w"), flush=True)
    time.sleep(60)
if what != "timeless":
    print(f"Time: {{1e6 * took}}us")
if what == "twice":
    print("Time: 1us")
if what == "negative":
    distance = {{v: -1 for v in range(n)}}
for v in range(n):
    said = [v, distance.get(v, "NA")]
    if what != "file":
        print(*said)
if what == "file":
    print(*(distance.get(v, "NA") for v in range(n)), sep="\\n", file=open(more[0], "w"))
open("left behind", "w")
print("done with", *more, file=sys.stderr)
sys.exit(3 if what == "fails" else 0)
"""
NAMES = 'it\'s a "$HOME" `folder`; {x}'
BESIDE = "dijkstra/scipy"


@pytest.fixture(autouse=True)
def program(tmp_path, monkeypatch):
    """A folder with a strange name: the program, a graph's text form, and the same packed."""
    folder = tmp_path / NAMES
    folder.mkdir()
    monkeypatch.chdir(folder)
    path = Path("their program")
    path.write_text(PROGRAM.format(python=sys.executable))
    path.chmod(0o755)
    Path("nyc.txt").write_bytes(SAMPLE.read_bytes())
    graph = datasets.read_graph(SAMPLE)
    meta = {"name": "nyc", "sha256": datasets.sha256(Path("nyc.txt"))}
    Graph(graph.indptr, graph.indices, graph.weights, meta=meta).save("nyc.npz")
    return path.absolute()


def entry(program, what="right", *more, **changes):
    """An entry of `external` that stands beside BESIDE."""
    braced = str(program).replace("{", "{{").replace("}", "}}")
    return {
        **{"command": [braced, "{variant}", "{graph}", "{source}", *more], "time": r"Time: (\S+)us", "unit": "us"},
        **{"distances": {"pattern": r"^(\d+) (\S+)$", "unreachable": "NA"}, "gpu": False, "datasets": ["nyc"]},
        **{"variants": {BESIDE: what}, **changes},
    }


def run(*entries, protocol=None, text="nyc.txt"):
    """A job of two variants of ours and the entries, called a, b …; its rows."""
    out = Path("batch/timings.csv")
    protocols = dict.fromkeys((BESIDE, "bellman_ford/cpu"), {"repeats": 3, "warmup_launches": 1} | (protocol or {}))
    job.main(
        Namespace(
            **{"variants": protocols, "batch": "one", "graph": Path("nyc.npz"), "text": Path(text), "out": out},
            **{"external": dict(zip("abc", entries, strict=False)), "config_digest": "", "commit": "abc"},
            cores=0,
            jobs_per_card=1,
        )
    )
    return measurements.load([out])


def test_it_runs_in_the_rounds_of_the_job_and_is_checked(program):
    rows = run(entry(program))
    mine = rows[measurements.external(rows)]
    assert set(measurements.variants(rows)) == {BESIDE, "bellman_ford/cpu", f"{BESIDE}@a"}
    assert list(mine["round"]) == [1, 2, 3] and set(rows["position"]) == {1, 2, 3}
    assert (mine["seconds"] < 0.1).all() and (mine["seconds"] == mine["kernels_s"]).all()
    assert set(mine["rows_checked"]) == {1} and set(mine["launches"]) == {0} and set(mine["note"]) == {""}
    assert set(mine["device"]) == set(rows["device"]) and set(mine["problem"]) == {"sssp"}
    record = records.read(Path("batch/provenance.json"))[f"{BESIDE}@a/nyc/one"]
    assert record["program"]["variant"] == "right" and record["code"] == mine["code"].iloc[0]
    assert not Path("left behind").exists()


def test_distances_in_a_file_and_none_at_all(program):
    file = entry(program, "file", "{distances}", distances={"unreachable": "NA"})
    silent = entry(program)
    del silent["distances"]
    rows = run(file, silent, protocol={"repeats": 2, "source": 3})
    found = rows.groupby(measurements.variants(rows))[["rows_checked", "note"]].agg(set)
    assert found.loc[f"{BESIDE}@a"].to_list() == [{1}, {""}]
    assert found.loc[f"{BESIDE}@b"].to_list() == [{0}, {"unchecked"}]
    said = f"Unchecked, since the program gives no distances: {BESIDE}@b on nyc."
    summary.write(rows, "Here.", Path("shown"))
    assert said in Path("shown/summary.md").read_text()
    assert f"{BESIDE}@a" in Path("shown/summary.md").read_text()


def test_all_pairs_from_a_file(program):
    """The same program, from every source, by a small one around it."""
    Path("all").write_text(
        f"#!{sys.executable}\nimport subprocess, sys\n"
        "with open(sys.argv[2], 'w') as file:\n    for source in range(13):\n"
        f"        command = [{str(program)!r}, 'right', sys.argv[1], str(source)]\n"
        "        said = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()[1:]\n"
        "        print(*(line.split()[1] for line in said), file=file)\nprint('Time: 5us')\n"
    )
    Path("all").chmod(0o755)
    every = entry("./all", variants={"dijkstra/scipy_apsp": None}, distances={"unreachable": "NA"})
    every["command"][1:] = ["{graph}", "{distances}"]
    (variant,) = external.variants({"a": every}, Path("nyc.txt"))
    (row,) = harness.measure(variant, Graph.load("nyc.npz"), harness.Protocol(repeats=1))
    assert row["rows_checked"] == 13 and row["seconds"] == pytest.approx(5e-6)


@pytest.mark.parametrize(
    ("what", "changes", "said"),
    [
        (
            "wrong",
            {},
            r"wrong result, nothing is published: dijkstra/scipy@a on nyc, source 0: distance of vertex \d+ is",
        ),
        ("fails", {}, "it ended with exit status 3"),
        ("timeless", {}, "`time`, .* matches 0 times"),
        ("twice", {}, "`time`, .* matches 2 times"),
        ("right", {"time": "^(0) "}, "its time, '0', is no number above 0"),
        ("right", {"time": "done|^(0) "}, "its time, '0', is no number above 0"),
        ("negative", {}, "it gave the distance -1: say in distances.unreachable what stands for no path"),
        ("right", {"distances": {"pattern": r"^(\d+) (\S+)$"}}, r"no distance of a vertex, once: '\d+ NA'"),
        ("right", {"distances": {"pattern": r"^\d(\d*) (\S+)$"}}, "no distance of a vertex, once"),
        ("right", {"distances": {"unreachable": "NA"}}, "it wrote no file {distances}"),
        ("file", {"distances": {}}, "what it wrote to {distances} is not all whole numbers"),
    ],
)
def test_a_program_that_is_not_as_its_entry_says_ends_the_job(program, what, changes, said):
    more = ["{distances}"] if what == "file" else ["the $end"]
    with pytest.raises(InputError, match=said) as error:
        run(entry(program, what, *more, **changes))
    assert "dijkstra/scipy@a on nyc" in str(error.value) and "\n" not in str(error.value)
    if what != "file":
        assert str(error.value).endswith("done with the $end")
    assert not Path("batch/timings.csv").exists() and not Path("batch/provenance.json").exists()
    assert Path("batch/timings.csv.part").exists()


def test_a_program_that_hangs_is_ended_with_all_that_it_started(program):
    started = Path("child").absolute()
    braced = str(started).replace("{", "{{").replace("}", "}}")
    begun = time.perf_counter()
    rows = run(entry(program, "hangs", braced), protocol={"timeout_s": 2})
    assert time.perf_counter() - begun < 30
    (row,) = rows[measurements.external(rows)].to_dict("records")
    assert (row["status"], row["limit_s"], row["rows_checked"]) == ("timeout", 2, 0)
    state = Path(f"/proc/{started.read_text().strip()}/stat")
    with suppress(FileNotFoundError):
        assert state.read_text().rpartition(")")[2].split()[0] == "Z"


def test_another_build_is_another_code(program):
    (before,) = external.codes({"a": entry(program)})
    assert external.codes({"a": entry(program)}) == [before]
    (other,) = external.codes({"a": entry(program, "wrong")})
    script = entry(program, "right", str(program).replace("{", "{{").replace("}", "}}"))
    script["command"][0] = sys.executable
    (by_script,) = external.codes({"a": script})
    moved = Path("moved")
    moved.write_bytes(program.read_bytes())
    moved.chmod(0o755)
    assert external.codes({"a": entry(moved.absolute())}) == [before]
    program.write_text(program.read_text() + "# built again\n")
    assert len({before, other, by_script, *external.codes({"a": entry(program)}), *external.codes({"a": script})}) == 5


def test_another_graph_than_its_text_is_refused(program):
    Path("other.txt").write_text("1 0\n")
    with pytest.raises(InputError, match=r"other.txt: is not the text form of nyc.npz"):
        run(entry(program), text="other.txt")


def config_with(made):
    config = copy.deepcopy(CONFIG)
    config["external"] = {"bodra": made}
    return config


def test_a_valid_entry_runs_in_the_jobs_that_have_ours(program):
    two = entry(
        program, variants={"bellman_ford/naive": "1", "floyd_warshall/naive": "2"}, datasets=["nyc", "gnutella04"]
    )
    del two["distances"]
    config = config_with(two)
    external.check(config)
    assert external.of_job(config, "sssp", "nyc")["bodra"]["variants"] == {"bellman_ford/naive": "1"}
    assert external.of_job(config, "apsp", "gnutella04")["bodra"]["variants"] == {"floyd_warshall/naive": "2"}
    assert external.of_job(config, "sssp", "bay") == {} == external.of_job(config, "apsp", "nyc")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"command": ["/no/such program", "{graph}"]}, "command: there is no program '/no/such program' that may be"),
        ({"command": [os.path.abspath(__file__), "{graph}"]}, "command: there is no program .* that may be executed"),
        ({"command": ["true", "{grahp}"]}, "command: {grahp} is no field: choose from {graph}, {source}, {variant}"),
        ({"command": ["true", "{graph.name}"]}, "command: {graph.name} is no field"),
        ({"command": ["true", "{graph", "}"]}, "command: .*: write {{ and }} for braces"),
        ({"command": ["true"]}, "command: has no {graph}"),
        ({"command": ["{graph}"]}, "command: '{graph}' names the program: only {variant} may stand in it"),
        ({"variants": {BESIDE: None}}, "variants: has no value for {variant}, which is in command"),
        (
            {"command": ["true", "{graph}"], "variants": {BESIDE: "", "bellman_ford/naive": ""}},
            "command: has no {variant}",
        ),
        ({"variants": {"dijkstra/heap": "1"}}, "variants: ours has no 'dijkstra/heap': choose from bellman_ford/cpu, "),
        ({"datasets": ["nyk"]}, "datasets: there is no dataset 'nyk'"),
        ({"datasets": ["nyc", "sample1"]}, "datasets: no job has dijkstra/scipy on sample1: "),
        (
            {"variants": {BESIDE: "1", "floyd_warshall/naive": "2"}},
            "variants: no job has floyd_warshall/naive on nyc: ",
        ),
        ({"time": "Time: ("}, r"time: 'Time: \(' is no regular expression: "),
        ({"time": "Time"}, "time: 'Time' has 0 groups: it needs 1, for the time"),
        ({"distances": {"pattern": r"(\d+)"}}, "distances.pattern: .* has 1 groups: it needs 2, for a vertex and its"),
        ({"distances": {}}, "distances: needs a `pattern`, or {distances}, a file's path, in command"),
        ({"command": ["true", "{graph}", "{distances}"]}, "distances: must be there without `pattern`"),
        (
            {"datasets": ["gnutella04"], "variants": {"dijkstra/scipy_apsp": "x"}},
            "distances.pattern: is for one source, and dijkstra/scipy_apsp is all pairs",
        ),
        ({"unit": "min"}, "unit: 'min' is not one of"),
        ({"gpu": "yes"}, "gpu: 'yes' is not of type 'boolean'"),
        ({"shell": True}, "unknown key 'shell' at external.bodra: choose from command, "),
        ({"folder": "/no/such"}, "folder: there is no folder '/no/such'"),
    ],
)
def test_a_wrong_entry_is_refused(program, changes, said):
    with pytest.raises(InputError) as error:
        configuration.check(config_with(entry(program) | changes))
    message = str(error.value)
    start = "config: " if "unknown key" in said else "config: external.bodra."
    assert message.startswith(start) and re.match(
        re.escape(start) + said.replace("{", r"\{").replace("}", r"\}"), message
    )
    assert "\n" not in message


def theirs(rows, program, factor=1.0, **changes):
    """What a program made of each row of ours takes: so many times as long."""
    times = {name: rows[name].astype(float) * factor for name in ("seconds", "kernels_s")}
    return rows.assign(variant=rows["variant"] + f"@{program}", launches=0, **times, **changes)


def with_program():
    ours = rows_of({("bellman_ford/naive", "nyc"): 2.0, ("bellman_ford/stride", "nyc"): 4.0})
    ours = ours.assign(cuda="13.0")
    found = in_batches(ours, ("a", "b"), ({}, {"bellman_ford/naive": 1.5}))
    naive = found[found["variant"] == "naive"]
    return pd.concat(
        [found, theirs(naive, "bodra", 2.0), theirs(found, "gapbs", 0.5, rows_checked=0)], ignore_index=True
    )


def test_beside_gives_the_ratio_in_each_batch():
    rows = with_program()
    found = external.beside(rows).set_index(["program", "column", "batch"])
    assert len(found) == 6
    assert found.loc[("bodra", "bellman_ford/naive", "b")].to_dict() == {
        **{"dataset": "nyc", "ours": 6.0, "theirs": 12.0, "ratio": 0.5, "rounds": 2, "checked": True},
        **{"card_uuid": "GPU-b", "host_id": "hostb"},
    }
    assert set(found.loc["gapbs"]["ratio"]) == {2.0} and not found.loc["gapbs"]["checked"].any()
    alone = external.beside(rows[~measurements.external(rows)])
    assert alone.empty and list(alone) == external.BESIDE
    apart = rows.assign(card_uuid=rows["card_uuid"].where(~measurements.external(rows), "GPU-other"))
    with pytest.raises(
        InputError, match="bellman_ford/naive and bellman_ford/naive@bodra on nyc, batch a: their card_uuid"
    ):
        external.beside(apart)


def written(rows, path):
    """Write rows as a CSV of measurements and read them again."""
    rows = rows[list(measurements.COLUMNS)].astype(object)
    rows = rows.where(rows.notna(), "")
    path.write_text(measurements.schema().to_csv(rows.to_dict("records"), path))
    return measurements.load([path])


@pytest.mark.ci
def test_an_archive_with_a_program_is_read_and_drawn(tmp_path):
    """Also where the configuration names no program: nothing here reads it."""
    rows = written(with_program(), tmp_path / "timings.csv")
    assert measurements.external(rows).sum() == 12
    archive.draw(rows, tmp_path, tmp_path, Namespace(datasets=DATASETS, tolerance=0.05))
    assert "bellman_ford/naive@bodra" in (tmp_path / "summary.csv").read_text().replace(",", "/")
    collect.check_launches(tmp_path, rows.iloc[-1].to_dict(), 32)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"variant": "naif@bodra"}, "there is no such variant"),
        ({"variant": "naive@Bodra!"}, "there is no such variant"),
        ({"problem": "apsp", "source": ""}, "must be the variant's own"),
        ({"launches": 3}, "0 of somebody's program"),
        ({"rows_checked": 2}, "a program's also 0"),
        ({"variant": "naive", "rows_checked": 0, "launches": 528691}, "must be 1 for sssp"),
    ],
)
def test_wrong_rows_of_a_program_are_refused(tmp_path, change, said):
    rows = with_program().iloc[-1:].assign(round=1, variant="naive@bodra")
    written(rows, tmp_path / "right.csv")
    with pytest.raises(InputError, match=said):
        written(rows.assign(**change), tmp_path / "wrong.csv")


def test_the_registry_has_no_program():
    assert not [key for key, variant in VARIANTS.items() if variant.program or "@" in key]
    assert CONFIG["external"] == {} and json.dumps(external.of_job(CONFIG, "sssp", "nyc")) == "{}"


def test_the_documents_examples_are_valid():
    """But for the programs, which are somebody's: another takes their place."""
    root = Path(__file__).parents[1]
    (block,) = re.findall(r"```yaml\n(external:\n.*?)```", (root / "docs/extending.md").read_text(), re.DOTALL)
    commented = re.search(r"#   external:\n(#  .*\n)+", (root / "config.yaml").read_text())[0]
    shown, short = (yaml.safe_load(text)["external"] for text in (block, commented.replace("#   ", "")))
    assert shown["bodra"] == short["bodra"] and set(shown) == {"bodra", "gapbs"}
    for made in shown.values():
        made["command"][0] = "true"
    config = CONFIG | {"external": shown}
    external.check(config)
    assert list(external.of_job(config, "sssp", "nyc")) == ["bodra", "gapbs"]
    assert configuration._VALIDATOR.is_valid(config)
    assert re.findall(shown["bodra"]["time"], "Calculating\nTime: 1.2e+06ms\n", re.MULTILINE) == ["1.2e+06"]
