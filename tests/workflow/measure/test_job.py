"""A job: all variants that are compared on one graph, in rounds, kept where it is cut off."""

import json
import os
import re
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from kernels import io
from kernels.errors import InputError
from kernels.fast import near_far_layout
from kernels.graph import Graph
from kernels.registry import VARIANTS
from tests.support.limits import files_of_at_most
from tests.support.rows import CONFIG, SAMPLE, SHA256
from workflow.measure import host, job, measure, provenance, rounds
from workflow.measure.job import Journal
from workflow.plan import experiments
from workflow.plan.protocol import Protocol
from workflow.store import measurements, records, revisions, tables

CPU = ("bellman_ford/cpu", "dijkstra/scipy", "dijkstra/networkit")
PROTOCOL = {"repeats": 4, "warmup_launches": 1}


class CutOff(Exception):
    pass


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graph = io.read_graph(SAMPLE)
    Graph(graph.indptr, graph.indices, graph.weights, meta={"name": "nyc", "sha256": SHA256}).save("nyc.npz")


def run(batch="one", variants=CPU, commit="abc", keep_going=False, **protocol):
    out = Path(batch, "timings.csv")
    protocols = {VARIANTS[key]: PROTOCOL | protocol for key in variants}
    setting = measure.StepContext(commit=commit)
    job.measure_job(protocols, Path("nyc.npz"), batch, out, setting, keep_going=keep_going)
    return measurements.load([out])


def orders(rows):
    """By round, the variants in the order in which they ran."""
    keys = rows.assign(key=measurements.variants(rows)).sort_values("position")
    return {number: tuple(group["key"]) for number, group in keys.groupby("round")}


def test_each_round_runs_every_variant_once_in_an_order_of_the_batch():
    rows = run()
    by_round = orders(rows)
    assert list(by_round) == [1, 2, 3, 4] and all(sorted(order) == sorted(CPU) for order in by_round.values())
    assert len(set(by_round.values())) > 1
    assert set(rows["batch"]) == {"one"} and set(rows["host_id"]) == {host.host_id()} and set(rows["card_uuid"]) == {""}
    assert (rows["prepare_host_s"] > 0).all() and set(rows["settings"]) == {""}
    again, other = orders(run("one")), orders(run("two"))
    assert again == by_round != other
    assert set(records.read(Path("one/provenance.json"))) == {f"{key}/nyc/one" for key in CPU}
    assert not list(Path("one").glob("*.part"))


def test_a_job_whose_csv_lost_a_row_is_refused():
    run(repeats=2)
    table = Path("one/timings.csv")
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join(lines[:-1]))
    with pytest.raises(InputError, match=r"^one/timings\.csv: .*one/provenance\.json: "):
        measurements.load([table])


def test_variants_with_fewer_rounds_leave_the_later_ones_to_the_others(monkeypatch):
    protocols = {VARIANTS[key]: Protocol(repeats=repeats) for key, repeats in zip(CPU, (1, 3, 2), strict=True)}
    graph = Graph.load("nyc.npz")
    made = [(variant.key, row["round"]) for variant, row in rounds.interleave(protocols, graph)]
    assert sorted(made) == sorted(
        (key, n) for key, most in zip(CPU, (1, 3, 2), strict=True) for n in range(1, most + 1)
    )
    slow = {VARIANTS[CPU[0]]: Protocol(repeats=5, budget_s=1e-9)}
    assert len(list(rounds.interleave(slow, graph))) == 1


def test_each_variant_lays_out_the_graph_in_its_first_run():
    """Also where another variant of the job has laid it out: else preparing would be in one row of the two."""
    found = {}

    def function(key):
        def run(graph, result, run):
            if graph.vertices > 2:
                found.setdefault(key, []).append((len(vars(graph).get("_kept", {})), "tails" in vars(graph)))
            near_far_layout.plain_layout(graph)
            graph.tails.sum()
            VARIANTS["dijkstra/scipy"].function(graph, result, run)

        return run

    keys = ("dijkstra/scipy", "dijkstra/networkit")
    protocols = {replace(VARIANTS[key], function=function(key)): Protocol(repeats=2) for key in keys}
    list(rounds.interleave(protocols, Graph.load("nyc.npz")))
    assert found == {key: [(0, False), (1, True)] for key in keys}


def cut_off(monkeypatch, after):
    """The job's process ends after so many runs."""
    before, count = rounds._run_checked, iter(range(after))

    def until(*args):
        if next(count, None) is None:
            raise CutOff
        return before(*args)

    with monkeypatch.context() as patched, pytest.raises(CutOff):
        patched.setattr(rounds, "_run_checked", until)
        run()
    return [json.loads(line) for line in Path("one/timings.csv.part").read_text().splitlines()][1:]


def test_a_job_that_was_cut_off_goes_on(monkeypatch):
    whole = orders(run())
    Path("one/timings.csv").unlink()
    kept = cut_off(monkeypatch, 5)
    assert len(kept) == 5
    with open("one/timings.csv.part", "a") as file:
        file.write('["dijkstra/scipy", {"roun')  # a line that was not finished
    rows = run(commit="def")
    assert orders(rows) == whole and rows["commit"].value_counts().to_dict() == {"abc": 5, "def": 7}
    seconds = rows.set_index([measurements.variants(rows), "round"])["seconds"]
    assert [seconds[key, row["round"]] for key, row in kept] == [row["seconds"] for _, row in kept]


def test_on_a_full_disk_finished_runs_stay_and_the_file_is_named():
    part = Path("one/timings.csv.part")
    for number in range(3):
        Journal(part, {"batch": "one"}).add("dijkstra/scipy", {"round": number})
    whole = part.read_bytes()
    with files_of_at_most(1):
        journal = Journal(part, {"batch": "one"})  # nothing to write
        assert [row["round"] for _, row in journal.runs] == [0, 1, 2]
        with pytest.raises(OSError, match="File too large") as error:
            journal.add("dijkstra/scipy", {"round": 3})
        assert error.value.filename == str(part) and part.read_bytes() == whole
    with open(part, "a") as file:
        file.write("[")
    with files_of_at_most(1), pytest.raises(OSError, match="File too large") as error:
        Journal(part, {"batch": "one"})
    assert error.value.filename == str(part) and part.read_bytes() == whole + b"["
    assert [path.name for path in part.parent.iterdir()] == [part.name]
    assert len(Journal(part, {"batch": "one"}).runs) == 3 and part.read_bytes() == whole


ELSEWHERE = {
    "host": (host, "host_id", lambda: "01234567"),
    "card": (job.card, "describe", lambda _: {"device": "another", "driver": "", "cuda": ""}),
    "cores": (job.libraries, "cores", lambda: 77),
    "versions": (provenance, "packages", lambda: {"numpy": "0.1"}),
    "revision": (revisions, "revision_of", lambda _: "77"),
}


@pytest.mark.parametrize("change", [*ELSEWHERE, "protocol", "graph"])
def test_elsewhere_it_starts_anew(monkeypatch, change):
    kept = cut_off(monkeypatch, 5)
    if change in ELSEWHERE:
        monkeypatch.setattr(*ELSEWHERE[change])
    elif change == "graph":
        graph = Graph.load("nyc.npz")
        graph.meta["sha256"] = "6" * 64
        graph.save("nyc.npz")
    rows = run(commit="def", **({"repeats": 5} if change == "protocol" else {}))
    assert {row["commit"] for _, row in kept} == {"abc"} and set(rows["commit"]) == {"def"}


LACKS = "dijkstra/networkit .*pip install networkit"


def test_a_job_with_a_missing_package_ends_before_anything_is_measured(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkit", None)  # an import of it fails
    with pytest.raises(InputError, match=rf"^one/timings\.csv: .*{LACKS}.*protocol\.keep_going"):
        run()
    with pytest.raises(InputError, match=LACKS):
        run(variants=CPU[2:], keep_going=True)  # none is left
    assert not Path("one").exists()


def test_keep_going_measures_the_variants_whose_packages_are_there(monkeypatch, caplog):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "networkit", None)
        rows = run(keep_going=True)
        assert revisions.planned(VARIANTS[CPU[2]], True).endswith(" without networkit")
    assert re.search(LACKS, caplog.messages[0])
    keys = measurements.variants(rows)
    assert [set(rows[keys == key]["status"]) for key in CPU] == [{"ok"}, {"ok"}, {"unavailable"}]
    (row,) = rows[keys == CPU[2]].to_dict("records")
    assert row["round"] == 1 and "pip install networkit" in row["note"]
    assert set(rows[keys == CPU[0]]["round"]) == {1, 2, 3, 4}

    assert "without" not in revisions.planned(VARIANTS[CPU[2]], True)  # so that the job is due
    both = measurements.pooled(measurements.load([Path("one/timings.csv")]))
    assert set(both["status"]) == {"ok", "unavailable"}
    run("two", commit="def")
    both = measurements.pooled(measurements.load(Path(f"{batch}/timings.csv") for batch in ("one", "two")))
    assert set(both["status"]) == {"ok"} and set(both[both["variant"] == "networkit"]["batch"]) == {"two"}


def test_a_job_that_was_cut_off_measures_a_variant_whose_package_was_installed_since(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "networkit", None)
        patch.setattr(measure, "publish", lambda *args, **options: (_ for _ in ()).throw(CutOff))
        with pytest.raises(CutOff):
            run(keep_going=True)
    assert set(run(keep_going=True)["status"]) == {"ok"}


def test_a_timeout_has_one_row():
    (row,) = list(run(variants=CPU[:1], timeout_s=1e-9).to_dict("records"))
    assert (row["status"], row["round"], row["limit_s"]) == ("timeout", 1, 1e-9)


def test_a_job_of_a_gpu_is_refused_without_one():
    with pytest.raises(InputError, match="bellman_ford/naive needs a GPU"):
        run(variants=("bellman_ford/naive", "bellman_ford/cpu"))
    assert not list(Path().rglob("one/*"))


def test_jobs_hold_what_is_compared():
    jobs = experiments.jobs(CONFIG)
    by_name = {"/".join(cell) for cell in experiments.named_cells(CONFIG)}
    roads, others = ["nyc", "bay", "col", "fla", "ne", "e"], {name.split("/")[2] for name in by_name}
    more = [name for name in ("nyc_time", "rome") if name in CONFIG["datasets"]]
    of_one = [dataset for problem, dataset in jobs if problem == "sssp"]
    assert of_one[:6] == roads and len(others) >= 15 and set(of_one[6:]) == {*others, *more}
    of_all = [dataset for problem, dataset in jobs if problem == "apsp" and dataset not in more]
    assert of_all == ["gnutella04", "gnutella25", "gnutella30"]
    once = ("bellman_ford/cpu", "floyd_warshall/cpu", "floyd_warshall/scipy")
    assert {*CONFIG["protocol"]["once"]} == set(once)
    held = {"/".join(cell) for cells in jobs.values() for cell in cells}
    assert not {name for name in held if name.rpartition("/")[0] in once}
    assert {name for name in held if "stride_ell" in name} <= {"bellman_ford/stride_ell/rome"}  # only Table 7 has ELL
    compared = {
        f"{variant.key}/{dataset}"
        for variant in VARIANTS.values()
        for dataset, entry in CONFIG["datasets"].items()
        for table in entry.get("tables", {}).get(variant.problem, ())
        if variant.key in tables.heads(table) and variant.key not in once
    }
    configured = {"/".join(cell) for cell in experiments.cells_of(CONFIG)}
    assert held == compared & configured | by_name
    assert {"/".join(cell) for cell in experiments.claimed_cells(CONFIG)} <= held


@pytest.fixture
def cards(monkeypatch, tmp_path):
    """A machine with these cards, on which the test waits for none."""

    class Waits(Exception):
        names = ("GPU-a", "GPU-b")

    def wait(seconds):
        raise Waits

    monkeypatch.setattr(host, "_cards", lambda: list(Waits.names))
    monkeypatch.setattr(host.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(host.time, "sleep", wait)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    return Waits


def test_each_job_takes_a_card_of_its_own(cards, monkeypatch):
    with host.one_card():
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "GPU-a"
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
        with host.one_card():
            assert os.environ["CUDA_VISIBLE_DEVICES"] == "GPU-b"
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
            with pytest.raises(cards), host.one_card():
                pass
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-b")
    with host.one_card():
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "GPU-b"
        with pytest.raises(cards), host.one_card():
            pass


def test_two_jobs_of_slurm_may_each_have_a_card_0(cards, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    cards.names = ["GPU-a"]
    with host.one_card():
        cards.names = ["GPU-b"]
        with host.one_card():
            assert os.environ["CUDA_VISIBLE_DEVICES"] == "0"
            with pytest.raises(cards), host.one_card():
                pass


@pytest.mark.parametrize(
    ("card", "count", "kept"),
    [("GPU-a", 2, [0, 1]), ("GPU-b", 2, [2, 3]), *(("GPU-b", count, range(5)) for count in (0, 5, 9))],
)
def test_jobs_beside_each_other_keep_to_cores_of_their_own(cards, monkeypatch, card, count, kept):
    has = set(range(5))
    monkeypatch.setattr(host.os, "sched_getaffinity", lambda process: has)
    monkeypatch.setattr(host.os, "sched_setaffinity", lambda process, cores: has.intersection_update(cores))
    with host.one_card() if card == "GPU-b" else nullcontext():
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
        with host.one_card(count):
            assert os.environ["CUDA_VISIBLE_DEVICES"] == card
            assert has == set(kept)


def test_a_machine_without_a_card_locks_none(cards, tmp_path):
    cards.names = []
    with host.one_card():
        assert os.environ["CUDA_VISIBLE_DEVICES"] == ""
        assert [path.name for path in tmp_path.iterdir()] == ["nyc.npz"]
