"""Calls of the library and choices of a variant: how they are measured, their files, the pages that show them."""

import csv
import json
import os
import re
import zipfile
from argparse import Namespace
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph
from test_workflow import SIMULATOR, Project

from kernels.answers import Paths
from kernels.choice import NEAR_FAR
from kernels.errors import InputError, WrongResult
from kernels.gpu import card
from kernels.graph import Graph
from tests import graphs
from tests.rows import CONFIG
from workflow.lib import configuration, host, lock, resources, shapes
from workflow.scripts import archive, choices, choices_table, guides, library_times, library_times_table
from workflow.scripts.library_times_table import ALL, What

ROOT = Path(__file__).parents[1]
COMMON = {
    **{"device": "NVIDIA H200", "driver": "580.1", "cuda": "13.0", "cpu_model": "test CPU", "numba_cuda": "0.30.4"},
    **{"commit": "abcdef0123456789", "tree_clean": "", "started": "2026-01-01T00:00:00+00:00", "host": "vm"},
    "substitute": "",
}


@pytest.fixture
def on_card(monkeypatch):
    """As if there were a card, which no other job has."""
    monkeypatch.setattr(card, "gpu_visible", lambda: True)
    monkeypatch.setattr(card, "describe", lambda on_gpu: {key: COMMON[key] for key in ("device", "driver", "cuda")})
    monkeypatch.setattr(host, "one_card", nullcontext)


def town(name="town") -> Graph:
    return replace(graphs.grid(900), meta={"name": name, "substitute": "made up"})


# Choices


def found(distances, key="dijkstra/scipy"):
    return Paths(distances, np.zeros(len(distances), np.int32), key, "")


@pytest.fixture
def near_far(monkeypatch):
    """SciPy in its place; the graphs that it was given."""
    given = []

    def search(graph):
        given.append(graph)
        return choices.by_scipy(graph)

    monkeypatch.setitem(choices.WAYS, "near_far", search)
    return given


def test_each_way_is_timed_on_a_graph_of_which_nothing_is_laid_out(near_far):
    graph = town()
    rows = list(choices.times("a town", graph, 3))
    assert [row["repeat"] for row in rows] == [1, 2, 3]
    assert len({id(each) for each in [graph, *near_far]}) == 4
    for row in rows:
        assert (row["shape"], row["vertices"], row["arcs"]) == ("a town", graph.vertices, graph.arcs)
        assert row["variant"] == "dijkstra/scipy" and min(row[way] for way in choices_table.WAYS) > 0


@pytest.mark.parametrize("way", choices.WAYS)
def test_a_wrong_choice_is_not_written(way, near_far, on_card, monkeypatch, tmp_path):
    def wrong(graph):
        distances = csgraph.dijkstra(graph.to_scipy(), indices=0)
        return found(distances + (np.arange(len(distances)) == 7), NEAR_FAR)

    right = choices.by_scipy(town()).distances
    assert not np.array_equal(wrong(town()).distances, right)
    monkeypatch.setitem(choices.WAYS, way, wrong)
    with pytest.raises(WrongResult, match=f"grid, {way}: the distances are not SciPy's"):
        list(choices.times("grid", town(), 1))
    with pytest.raises(InputError, match=f"nothing is published: grid, {way}"):
        choices.main(Namespace(graphs=[], repeats=1, commit="abc", cores=0, out=tmp_path / "choices.csv"))
    assert not list(tmp_path.iterdir())


def test_choices_are_measured_on_graphs_and_shapes(near_far, on_card, monkeypatch, tmp_path):
    monkeypatch.setattr(shapes, "SHAPES", {"path of 9": lambda: shapes.path(9)})
    town().save(tmp_path / "town.npz")
    out = tmp_path / "choices.csv"
    choices.main(Namespace(graphs=[tmp_path / "town.npz"], repeats=2, commit="abc", cores=0, out=out))
    rows = choices_table.load([out])
    assert rows["shape"].tolist() == ["town"] * 2 + ["path of 9"] * 2  # and none of the first grid, which loads all
    assert rows["substitute"].tolist() == ["made up"] * 2 + [""] * 2 and set(rows["commit"]) == {"abc"}


@pytest.mark.parametrize("script", [choices, library_times])
def test_without_a_gpu_it_says_so(script, on_card, monkeypatch, tmp_path):
    monkeypatch.setattr(card, "gpu_visible", lambda: False)
    with pytest.raises(InputError, match=r"needs a GPU and none is visible"):
        script.main(Namespace(graphs=[], cores=0, out=tmp_path / "out.csv"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("script", [choices, library_times])
def test_nothing_is_measured_beside_another_process(script, on_card, monkeypatch, tmp_path):
    monkeypatch.setattr(script, "measured", lambda *_: pytest.fail("it was measured"))
    out = tmp_path / "out.csv"
    with lock.held(out), pytest.raises(InputError, match=f"it is being measured by process {os.getpid()}"):
        script.main(Namespace(graphs=[], repeats=1, commit="", cores=0, out=out))


@pytest.mark.parametrize(
    ("graph", "vertices", "arcs", "deepest"),
    [
        (shapes.path(5), 5, 8, 4),
        (shapes.path(5, both_ways=False), 5, 4, 4),
        (shapes.cycle(6), 6, 12, 3),
        (shapes.star(5), 5, 8, 1),
        (shapes.comb(3, 2), 9, 16, 4),
        (shapes.strip(2, 3), 6, 14, 3),
        (shapes.tree(4), 15, 28, 3),
        (shapes.dense(4), 4, 16, 1),
        (shapes.pair_apart(3), 11, 26, 1),
        (shapes.path_into_random(4, 64), 68, 1032, None),
        (shapes.heavy_tailed(3), 9, 24, 4),
    ],
    ids=["path", "one way", "cycle", "star", "comb", "strip", "tree", "dense", "pair", "path into random", "heavy"],
)
def test_shapes(graph, vertices, arcs, deepest):
    assert (graph.vertices, graph.arcs) == (vertices, arcs)
    if deepest:
        levels = csgraph.dijkstra(graph.to_scipy(), indices=0, unweighted=True)
        assert levels[np.isfinite(levels)].max() == deepest
    assert graph.weights.min() >= 1


# Calls of the library


def test_a_call_is_repeated_until_the_budget_is_over(monkeypatch):
    clock, made = iter(range(100)), []
    monkeypatch.setattr(library_times.time, "perf_counter", lambda: next(clock))
    case = library_times.Case("a call", lambda: made.append(1) or 0.5, most=10, uncounted=2)
    rows = list(case.repeats(2))
    assert [row["repeat"] for row in rows] == [1, 2, 3] and len(made) == 5
    assert {(row["what"], row["seconds"]) for row in rows} == {("a call", 0.5)}
    assert len(list(replace(case, most=2).repeats(1e9))) == 2


def test_only_the_call_is_timed_and_a_share_of_it(monkeypatch):
    clock = iter((10.0, 14.0))
    seen = []
    monkeypatch.setattr(library_times.time, "perf_counter", lambda: next(clock))
    once = library_times.timed(lambda value: seen.append(value) or value + 1, seen.append, lambda: (5,), share=8)
    assert once() == 0.5 and seen == [5, 6]


def test_results_are_compared_with_scipys():
    graph = town()
    truth = library_times.Truth(graph.name, graph.to_scipy())
    right = csgraph.dijkstra(graph.to_scipy(), indices=0)
    wrong = right + (np.arange(len(right)) == 3)
    lengths = dict(enumerate(right.tolist()))
    rows = Namespace(variant="rows", sources=[0, 5], distances=np.stack([right, wrong]))
    reduced = Namespace(
        variant="reduced", sources=[0], reached=[len(right)], total=[right.sum()], eccentricity=[right.max()]
    )
    on_card = Namespace(copy_to_host=lambda: right.astype(np.int32))
    truth.check(right)
    truth.check_lengths(lengths)
    truth.check_rows("rows", rows)
    truth.check_eccentricities("reduced", reduced)
    truth.check_on_card(on_card)
    for check in (
        lambda: truth.check(wrong),
        lambda: truth.check_lengths(lengths | {3: -1}),
        lambda: truth.check_lengths({key: value for key, value in lengths.items() if key != 3}),
        lambda: truth.check_rows("rows", Namespace(**vars(rows) | {"distances": rows.distances[::-1]})),
        lambda: truth.check_eccentricities("reduced", Namespace(**vars(reduced) | {"eccentricity": [1.0]})),
        lambda: truth.check_on_card(Namespace(copy_to_host=lambda: wrong.astype(np.int32))),
    ):
        with pytest.raises(WrongResult, match="town: the distances are not SciPy's"):
            check()
    with pytest.raises(InputError, match="rows from 0: not what is to be measured"):
        truth.check_rows("others", rows)


def test_first_answers_are_of_new_processes(monkeypatch, tmp_path):
    """Without kept kernels, with them, and of an installed library."""
    graph, folders, variant = town(), [], NEAR_FAR
    truth, not_whole = (library_times.Truth(graph.name, graph.to_scipy() * by) for by in (1, library_times.IRRATIONAL))

    def process(cache, *words, **more):
        if "hatchling" in words:
            assert more == {"CUDA_SHORTEST_PATHS_BUILD_FOR": "9.0"}
            folder = Path(words[words.index("-d") + 1])
            folder.mkdir()
            with zipfile.ZipFile(folder / "a.whl", "w") as wheel:
                wheel.writestr(f"{library_times.PACKAGE}/machine_code/a", "")
            return ""
        new, installed = cache not in folders, "import cuda_shortest_paths as kernels" in words[-1]
        folders.append(cache)
        if installed:
            assert (Path(more["PYTHONPATH"].split(os.pathsep)[0]) / library_times.PACKAGE).is_dir() and new
        if words[0] == "-c":
            saved = re.search(r"sparse.load_npz\('(.*)'\)", words[-1])
            expected = library_times.Truth("town", sparse.load_npz(saved[1])) if saved else truth
            return json.dumps([1.0 if installed else 2.0 if new else 0.5, *expected.reduced, new > installed, variant])
        np.savez(words[words.index("--to") + 1], distances=truth.distances)
        return ""

    monkeypatch.setattr(library_times, "in_process", process)
    monkeypatch.setattr(library_times.driver_api, "device", lambda: Namespace(capability=(9, 0)))
    cases = library_times.first_answers(tmp_path / "town.npz", truth, not_whole, 3, tmp_path / "site")
    seconds = {case.what: [row["seconds"] for row in case.repeats(1e9)] for case in cases}
    assert seconds[What.COMPILED] == [2.0] * 3 and seconds[What.KEPT] == [0.5] * 3
    assert seconds[What.INSTALLED] == seconds[What.INSTALLED_FLOATS] == [1.0] * 3
    assert len(seconds[What.COMMAND]) == 3 and len(set(folders)) == 9 and set(folders[3:9]) == {folders[0]}
    variant = "dijkstra/scipy"
    with pytest.raises(InputError, match="dijkstra/scipy, compiled: True: not what is to be measured"):
        next(library_times.first_answers(tmp_path / "town.npz", truth, not_whole, 1, tmp_path / "site")).once()


def test_what_a_new_process_says_and_how_it_fails(tmp_path):
    says = "import os; print(os.environ['CUDA_SHORTEST_PATHS_CACHE'])"
    assert library_times.in_process(tmp_path, "-c", says) == f"{tmp_path}\n"
    with pytest.raises(InputError, match=r"a new process failed: (.|\n)*ValueError: no graph"):
        library_times.in_process(tmp_path, "-c", "raise ValueError('no graph')")


def fails(message):
    raise InputError(message)


def nothing(*_):
    yield from ()


@pytest.fixture
def without_parts(monkeypatch):
    """Without new processes and hierarchies, and with a part that fails after its first kind of call."""

    def broken(*_):
        yield library_times.Case(What.ON_HOST, lambda: 0.25, 2)
        yield library_times.Case(What.TO_CARD, lambda: fails("no memory"), 2)
        yield library_times.Case(What.PREPARING, lambda: 0.75, 1)
        fails("there is no more")

    for part in ("first_answers", "in_hierarchy"):
        monkeypatch.setattr(library_times, part, nothing)
    monkeypatch.setattr(library_times, "layouts", broken)


def arguments(tmp_path, **changes):
    town().save(tmp_path / "town.npz")
    paths = {"graphs": [tmp_path / "town.npz"], "networkx": tmp_path / "town.npz", "out": tmp_path / "out.csv"}
    return Namespace(**paths | {"repeats": 2, "budget": 60, "commit": "abc", "cores": 0} | changes)


def test_what_fails_is_left_out_and_all_else_is_measured(without_parts, on_card, monkeypatch, tmp_path, caplog):
    """Without a card: what needs one fails."""
    monkeypatch.setattr(library_times, "LATER", 2)
    args, written = arguments(tmp_path), []
    write = type(library_times.SCHEMA).write
    monkeypatch.setattr(
        type(library_times.SCHEMA),
        "write",
        lambda self, rows, path: written.append(len(rows)) or write(self, rows, path),
    )
    with pytest.raises(InputError, match="not measured, see above: ") as error:
        library_times.main(args)
    left_out = str(error.value).split(": ", 1)[1]
    needing = (What.ON_CARD, What.KERNELS, What.ROW, What.ROW_OF_SO_MANY, What.TO_CARD)
    assert left_out == "; ".join([*(f"town: {what}" for what in needing), "town: the rest of broken"])
    assert "there is no more" in caplog.text and "no memory" in caplog.text
    rows = library_times_table.load([args.out])
    networkx = (What.NETWORKX_LENGTHS, What.LENGTHS_NEW, What.LENGTHS_SAME)
    networkx += What.NETWORKX_PATHS, What.PATHS_NEW, What.PATHS_SAME
    later = What.SOLVER, What.SAME_GRAPH, What.SAME_ARRAY, What.SAME_ARRAY_TREE
    counts = dict.fromkeys(later, 4) | {What.NEW_ARRAY: 2, What.SAME_FLOATS: 4}
    counts |= dict.fromkeys((What.NEW_FLOATS, What.SCIPY, What.SCIPY_TREE, What.SCIPY_FLOATS), 2)
    counts |= {What.ON_HOST: 2, What.PREPARING: 1}
    counts |= dict.fromkeys(networkx, 2)
    assert rows.groupby("what")["repeat"].max().to_dict() == counts
    assert written == np.cumsum(list(counts.values())).tolist()  # anew after each kind of call
    assert set(rows["substitute"]) == {"made up"} and set(rows["commit"]) == {"abc"}


def test_networkx_is_asked_about_the_graph_that_is_named(without_parts, on_card, monkeypatch, tmp_path):
    for part in ("later_calls", "layouts"):
        monkeypatch.setattr(library_times, part, nothing)
    library_times.main(arguments(tmp_path))
    assert set(library_times_table.load([tmp_path / "out.csv"])["what"]) < set(ALL)
    (tmp_path / "out.csv").unlink()
    library_times.main(arguments(tmp_path, networkx=Path("")))
    assert not (tmp_path / "out.csv").exists()


def test_a_wrong_length_of_networkxs_is_found():
    graph = town()
    other = replace(graph, weights=graph.weights + 1)
    for case in library_times.by_networkx(graph, library_times.Truth(other.name, other.to_scipy()), 1):
        with pytest.raises(WrongResult):
            case.once()


# The files


def call(what=What.SOLVER, seconds=1.0, dataset="nyc", repeat=1, **changes):
    size = {"nyc": (264346, 733846), "e": (3598623, 8778114)}[dataset]
    values = {"dataset": dataset, "vertices": size[0], "arcs": size[1], "what": what, "repeat": repeat}
    return COMMON | values | {"seconds": seconds} | changes


def choice(shape="path", chosen=1.0, near_far=1.0, scipy=2.0, repeat=1, variant=NEAR_FAR, **changes):
    values = {"shape": shape, "vertices": 10**6, "arcs": 3 * 10**6, "variant": variant, "repeat": repeat}
    return COMMON | values | {"chosen_s": chosen, "near_far_s": near_far, "scipy_s": scipy} | changes


def write(path, schema, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, schema.columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


WRONG = [
    ({"device": card.SIMULATOR}, "a simulated run is no measurement"),
    ({"device": "other card"}, "the rows differ in device"),
    ({"driver": ""}, "driver '': must be a version"),
    ({"repeat": 3}, "repeat '3': must go from 1 up without a gap"),
    ({"repeat": 1}, "must not be there twice"),
    ({"started": "2026-01-01"}, "must be a date and a time with its offset"),
]


@pytest.mark.parametrize(
    ("table", "make", "changes", "said"),
    [
        *((library_times_table, call, changes, said) for changes, said in WRONG),
        (library_times_table, call, {"what": "a dream"}, "what 'a dream': must be one of"),
        (library_times_table, call, {"seconds": 0}, "seconds '0': must be above 0"),
        *((choices_table, choice, changes, said) for changes, said in WRONG),
        (choices_table, choice, {"scipy_s": ""}, "scipy_s '': must be above 0"),
    ],
)
def test_a_row_that_cannot_be_is_refused(tmp_path, table, make, changes, said):
    path = write(tmp_path / "a.csv", table.SCHEMA, make(), make(repeat=2) | changes)
    with pytest.raises(InputError, match=said):
        table.load([path])


def test_both_files_are_kept_in_the_archive_of_their_card(tmp_path):
    results = tmp_path / "results"
    files = {
        "library_times.csv": (library_times_table.SCHEMA, call()),
        "choices.csv": (choices_table.SCHEMA, choice()),
    }
    for name, (schema, row) in files.items():
        write(results / name, schema, row)
    args = Namespace(
        cells=results / "cells", archive=results / "archive", default="none", tolerance=0.05, datasets={"nyc": []}
    )
    archive.main(args)
    for name in files:
        assert (results / "archive/h200" / name).read_bytes() == (results / name).read_bytes()
    write(results / "choices.csv", choices_table.SCHEMA)
    with pytest.raises(InputError, match=r"choices\.csv: no rows: delete it and measure again"):
        archive.main(args)


# The pages


def pages(tmp_path, calls=(), chosen=()):
    times, found = (
        load(write(tmp_path / name, schema, *rows) if rows else tmp_path / "none")
        for load, name, schema, rows in (
            (guides.load_times, "times.csv", library_times_table.SCHEMA, calls),
            (guides.load_choices, "choices.csv", choices_table.SCHEMA, chosen),
        )
    )
    return guides.documents(times, found, "h200")


def test_what_was_not_measured_is_said(tmp_path):
    found = pages(tmp_path)
    assert list(found) == [f"docs/{name}.md" for name in ("library", "scipy", "networkx", "cupy")]
    for marker, text in ((marker, text) for parts in found.values() for marker, text in parts.items()):
        target = "choices" if marker == "choices" else "library_times"
        said = f"Not measured: the archive `h200` has none of it. `snakemake --cores 1 {target}` measures it."
        assert text == said


def test_the_table_has_a_row_a_kind_of_call_and_a_column_a_dataset(tmp_path):
    calls = [call(What.SOLVER, seconds, repeat=n) for n, seconds in enumerate((0.002, 0.004, 0.003), 1)]
    calls += [call(What.SCIPY_TREE, 0.06, commit="", started="2026-01-02T00:00:00+00:00"), call(What.SCIPY, 0.06)]
    calls += [call(What.SCIPY_TREE, 2.0, dataset="e", substitute="made up"), call(What.NETWORKX_PATHS, 3.0)]
    text = pages(tmp_path, calls)["docs/library.md"]["library_times"]
    assert "| What | nyc | e † |" in text and "NetworkX" not in text
    assert f"| {What.SOLVER} | 3.00 ms, [2.00 ms, 4.00 ms], n=3 | - |" in text
    assert f"| {What.SCIPY_TREE} | 60.0 ms, n=1 | 2.00 s, n=1 |" in text
    assert (
        text.count("\n- ") == 1 and "- A later call, with a solver, beside SciPy: faster on nyc (factor 20.0)." in text
    )
    assert text.endswith(
        "From the archive `h200`: NVIDIA H200, driver 580.1, in a host with test CPU, 2026-01-01 to 2026-01-02, commit "
        "abcdef012345. † A [substitute](data.md#the-substitutes): e, made up."
    )


def test_where_ours_is_slower_or_as_fast_it_is_said(tmp_path):
    first, by_scipy, new, same = 1.0, 0.1, 0.09, 0.005
    calls = [
        *(call(what, s) for what, s in ((What.INSTALLED, first), (What.SCIPY_TREE, by_scipy), (What.SCIPY, by_scipy))),
        *(call(what, s) for what, s in ((What.NEW_ARRAY, new), (What.SAME_ARRAY, same))),
        *(call(what, 1.0, dataset="e") for what in (What.INSTALLED, What.SCIPY_TREE)),
    ]
    text = pages(tmp_path, calls)["docs/scipy.md"]["scipy_times"]
    words = "The first answer of a process, machine code of the wheel, beside a search by SciPy alone"
    assert f"- {words}: slower on nyc (factor 10.0); about as fast on e (factor 1.00)." in text
    assert "- A new array, beside SciPy: about as fast on nyc (factor 1.11)." in text
    assert "- The same array again, beside SciPy: faster on nyc (factor 20.0)." in text
    assert guides.in_words(guides.ALIKE)[0] == "faster" and guides.in_words(1 / guides.ALIKE)[0] == "slower"


def test_what_part_of_networkxs_calls_the_paths_take(tmp_path):
    calls = [
        *(call(what, s) for what, s in ((What.NETWORKX_LENGTHS, 1.0), (What.LENGTHS_NEW, 0.5))),
        *(call(what, s) for what, s in ((What.LENGTHS_SAME, 0.1), (What.NETWORKX_PATHS, 2.2))),
        *(call(what, s) for what, s in ((What.PATHS_NEW, 2.4), (What.PATHS_SAME, 2.0))),
    ]
    text = pages(tmp_path, calls)["docs/networkx.md"]["networkx_times"]
    assert "- Lengths alone, the same graph again, beside NetworkX: faster on nyc (factor 10.0)." in text
    assert "- Lengths and paths, a new graph, beside NetworkX: about as fast on nyc (factor 0.917)." in text
    assert "- With the same graph again the paths take 95 % on nyc of the call: Python's lists of nodes" in text
    assert pages(tmp_path, calls)["docs/cupy.md"]["cupy_times"].startswith("Not measured: ")
    alone = pages(tmp_path, calls[-1:])["docs/networkx.md"]["networkx_times"]
    assert "- " not in alone.split("repeats.")[1].split("From")[0]


def test_the_worst_choice_is_named(tmp_path):
    chosen = [
        *(choice("a path", 1.5, 2.0, 1.0, n, "dijkstra/scipy") for n in (1, 2)),
        choice("a path", 9.0, 8.0, 1.0, 3, "dijkstra/scipy"),
        choice("nyc", 0.5, 0.5, 2.0, substitute="made up"),
    ]
    text = pages(tmp_path, chosen=chosen)["docs/library.md"]["choices"]
    assert text.startswith(
        'The largest ratio of 2 graphs is 1.50, on "a path"; a test allows 2. SciPy was chosen on 1 of them.'
    )
    assert "| a path | 1,000,000 | 3,000,000 | scipy | 1.50 s | 2.00 s | 1.00 s | 1.50 |" in text
    assert "| nyc † | 1,000,000 | 3,000,000 | near_far | 500 ms | 500 ms | 2.00 s | 1.00 |" in text
    assert "nyc, made up." in text


@pytest.mark.parametrize(
    "folder", sorted(ROOT.glob("results/archive/*/timings.csv")), ids=lambda path: path.parent.name
)
def test_no_choice_in_the_archive_takes_longer_than_is_allowed(folder):
    path = folder.with_name("choices.csv")
    if not path.exists():
        pytest.skip(f"{path.parent.name} has no choices.csv: nothing was measured on such a card")
    found = choices_table.medians(choices_table.load([path]))
    assert len(found) >= 20
    assert found.loc[found["ratio"] > choices_table.MOST, ["shape", "ratio"]].values.tolist() == []


# The rules


def test_there_are_twenty_shapes():
    assert len(shapes.SHAPES) >= 20


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Its library_times and choices are of nyc."""
    asked = {"library_times": {"datasets": ["nyc"], "networkx": "nyc"}, "choices": {"datasets": ["nyc"]}}
    return Project.make(tmp_path_factory.mktemp("project"), {"nyc": CONFIG["datasets"]["nyc"]}, **asked)


def test_the_targets_measure_on_packed_graphs(project):
    said = project.snakemake("-n", "-p", "library_times", "choices", "--cores", "8", "--resources", "gpu=2")
    assert "Pack nyc as CSR arrays" in said
    (times,) = re.findall(r"python -m workflow\.scripts\.library_times (.*)", said)
    (chosen,) = re.findall(r"python -m workflow\.scripts\.choices (.*)", said)
    graph = "resources/graphs/nyc.npz"
    assert times.startswith(f"--graphs {graph} --networkx={graph} --cores 4 --commit= --out results/library_times.csv")
    assert chosen.startswith(f"--graphs {graph} --repeats 3 --cores 4 --commit= --out results/choices.csv")


@pytest.mark.ci
def test_without_a_gpu_nothing_is_planned(project):
    targets = "library_times", "choices"
    running = [project.start("-n", target, environment=SIMULATOR) for target in targets]
    for target, process in zip(targets, running, strict=True):
        said = process.communicate()[0]
        assert process.returncode and f"{target} cannot be measured here" in said and "Job " not in said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"library_times": {"datasets": ["nyk"], "networkx": None}}, r"library_times\.datasets: there is no .*'nyk'"),
        ({"choices": {"datasets": ["nyk"], "repeats": 3}}, r"choices\.datasets: there is no .*'nyk'"),
        ({"choices": {"datasets": [], "repeats": 0}}, r"choices\.repeats: 0 is less"),
        (
            {"library_times": {"datasets": ["nyc"], "networkx": "e"}},
            r"library_times\.networkx: e is none of library_times\.datasets",
        ),
    ],
)
def test_a_wrong_configuration_is_refused(changes, said):
    with pytest.raises(InputError, match=said):
        configuration.check(CONFIG | changes)


def test_a_job_has_time_and_memory_for_its_graphs():
    def needs(*datasets, networkx=None):
        config = CONFIG | {"library_times": {"datasets": list(datasets), "networkx": networkx}}
        return resources.library_min(config), resources.library_mb(config)

    none, small, large, both = needs(), needs("nyc"), needs("e"), needs("nyc", "e")
    assert none[0] == 10 and none[0] + 5 <= small[0] < large[0] < both[0] < 60
    assert none[1] < small[1] < large[1] == both[1] < needs("nyc", "e", networkx="nyc")[1] < 16000
