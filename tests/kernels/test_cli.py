"""`python -m kernels`: one variant on one graph file, and the tools that make graph files."""

import dataclasses
import errno
import fcntl
import gzip
import itertools
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.sparse import csgraph

from kernels import __main__ as cli
from kernels import io, lock
from kernels.errors import InputError, TimeLimit
from kernels.graph import INF, Graph
from kernels.library import table_files
from kernels.library.solver import Solver
from kernels.registry import VARIANTS
from tests.support import warm
from tests.support.limits import files_of_at_most

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "workflow" / "samples" / "sample3.txt"  # sinks, unreachable vertices, parallel arcs, a loop
C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
CPU = [key.split("/") for key, variant in VARIANTS.items() if not variant.on_gpu]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The test's own folder is the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def kernels(monkeypatch, capsys):
    """Run the command in this process; return stdout, stderr and its exit value (None on success)."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["kernels", *map(str, arguments)])
        try:
            end = cli.main()
        except SystemExit as exit_:
            end = exit_.code
        return *capsys.readouterr(), end

    return run


def command(*arguments, **environment):
    """Run the command as a reader types it."""
    return warm.run("kernels", *arguments, cwd=Path.cwd(), env={**os.environ, "PYTHONPATH": str(ROOT), **environment})


def assert_paths(text, sources):
    """Check that each path follows arcs from its source to its node and has the stated, least cost."""
    graph = io.read_graph(SAMPLE).cheapest()
    cost_of = {(u, v): w for u, v, w in zip(graph.tails, graph.indices, graph.weights, strict=True)}
    header, *lines = text.splitlines()
    records = [dict(zip(header.split("\t"), line.split("\t"), strict=True)) for line in lines]
    all_pairs = "source" in records[0]
    nodes = [(int(r.get("source", sources[0])), int(r["node"])) for r in records]
    assert nodes == [(s, v) for s in sources for v in range(graph.vertices)]
    assert list(records[0]) == ["source"] * all_pairs + ["node", "cost", "path"]
    least = np.minimum(graph.matrix.astype(np.int64), INF)
    for k in range(graph.vertices):
        least = np.minimum(least, least[:, [k]] + least[[k], :])
    for (source, node), record in zip(nodes, records, strict=True):
        if least[source, node] >= INF:
            assert (record["cost"], record["path"]) == ("inf", "-")
            continue
        path = [int(vertex) for vertex in record["path"].split("->")]
        assert (path[0], path[-1]) == (source, node)
        assert sum(cost_of[arc] for arc in itertools.pairwise(path)) == least[source, node]
        assert int(record["cost"]) == least[source, node]


@pytest.mark.parametrize(("algorithm", "variant"), CPU)
def test_printed_paths_can_be_walked(kernels, algorithm, variant):
    out, err, end = kernels(algorithm, variant, SAMPLE, "--source", 3, "--output", "print", "--validate")
    rows = 1 if VARIANTS[f"{algorithm}/{variant}"].problem == "sssp" else 13
    assert_paths(out, [3] if rows == 1 else range(13))
    assert end is None
    timed, checked = err.splitlines()
    assert re.fullmatch(rf"{algorithm}/{variant} on sample3: \S+ s", timed)
    assert checked == f"{algorithm}/{variant} on sample3: {rows} row{'s' * (rows > 1)} checked, all correct"
    assert not any(Path().iterdir())


@pytest.mark.parametrize("key", ["bellman_ford/stride_flag", "floyd_warshall/tiled_shared"])
def test_a_gpu_variant_in_the_simulator(key):
    arguments = *key.split("/"), SAMPLE, "--output", "print", "--validate", "--block", 8, "--tile", 4
    ran = command(*arguments, NUMBA_ENABLE_CUDASIM="1")
    assert_paths(ran.stdout, [0] if key.startswith("bellman") else range(13))
    assert ran.returncode == 0
    assert "all correct" in ran.stderr
    assert " s\n" not in ran.stderr  # a simulated run has no time


def test_output_is_written_under_its_name_or_where_asked(kernels):
    printed, _, _ = kernels("bellman_ford", "cpu", SAMPLE, "--output", "print")
    _, err, end = kernels("bellman_ford", "cpu", SAMPLE, "--output", "write")
    default = Path("results/output/bellman_ford_cpu_sample3.txt")
    assert end is None and f"wrote {default}" in err
    assert default.read_text() == printed
    kernels("bellman_ford", "cpu", SAMPLE, "--output", "write", "--to", "deep/mine.txt")
    assert Path("deep/mine.txt").read_text() == printed
    assert len([path for path in Path().rglob("*") if path.is_file()]) == 2


def test_nothing_is_printed_unasked(kernels):
    out, err, end = kernels("bellman_ford", "cpu", SAMPLE)
    assert (out, end) == ("", None)
    assert err.startswith("bellman_ford/cpu on sample3: ") and err.count("\n") == 1


def test_validate_finds_what_is_too_long(kernels):
    Path("long.txt").write_text("3 2\n0 1 2147483646\n1 2 1\n")
    _, _, end = kernels("bellman_ford", "cpu", "long.txt", "--validate", "--output", "print")
    assert "the distance from 0 to 2 is 2147483647, more than the 2147483646" in end


@pytest.mark.parametrize("words", [("dijkstra", "scipy"), ("bellman_ford", "cpu"), ("floyd_warshall", "cpu")])
@pytest.mark.parametrize(("last", "costs"), [(1, ["0", "2147483645", "2147483646"]), (2, None)])
def test_a_distance_that_is_too_long_is_not_printed_as_none(kernels, words, last, costs):
    Path("far.txt").write_text(f"4 2\n0 1 2147483645\n1 2 {last}\n")
    out, _, end = kernels(*words, "far.txt", "--output", "print")
    if costs:
        rows = [line.split("\t")[-2] for line in out.splitlines() if line.startswith(("0\t", "1\t", "2\t"))]
        assert end is None and rows[: len(costs)] == costs
        return
    problem = "apsp" if words[0] == "floyd_warshall" else "sssp"
    assert out == "" and end.startswith("error: far: ") and "2147483646" in end and f"kernels {problem}" in end


@pytest.mark.parametrize(
    "words", [("sssp", "graph.txt"), ("apsp", "graph.txt"), ("bellman_ford", "cpu", "graph.txt", "--output", "write")]
)
@pytest.mark.parametrize("to", ["graph.txt", "link"])
def test_the_graphs_file_is_not_overwritten(kernels, words, to):
    Path("graph.txt").write_text("2 1\n0 1 7\n")
    Path("link").symlink_to("graph.txt")
    assert kernels(*words, "--to", to)[2].startswith(f"error: {to}: ")
    assert Path("graph.txt").read_text() == "2 1\n0 1 7\n"


@pytest.mark.parametrize("words", [("bellman_ford", "cpu", SAMPLE, "--output", "write"), ("sssp", SAMPLE)])
@pytest.mark.parametrize("source", [-1, 13, 2**31])
def test_a_source_out_of_range(kernels, source, words):
    out, _, end = kernels(*words, "--source", source)
    assert end.startswith(f"error: source {source} ") and end.endswith("[0, 13)")
    assert out == "" and not any(Path().iterdir())


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        *(("--block", value, "1 to 1,024") for value in (0, -5, 2000)),
        *(("--tile", value, "1 to 32") for value in (0, 33)),
    ],
)
def test_a_block_or_tile_that_no_card_has(kernels, option, value, allowed):
    out, err, end = kernels("floyd_warshall", "cpu", SAMPLE, option, value, "--output", "print")
    assert (out, err) == ("", "")
    assert re.fullmatch(f"error: {option[2:]} .* {allowed}, not {value}", end)


COMMANDS = {
    "variant": ("bellman_ford", "cpu", SAMPLE, "--output", "write"),
    "sssp": ("sssp", SAMPLE),
    "apsp": ("apsp", SAMPLE),
    "parse": ("parse", "road.gr"),
    "add": ("add", "web.txt"),
    "replace": ("replace", "graph.txt"),
    "random": ("random", 40),
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize(
    ("to", "why"),
    [
        ("folder", "this is a folder"),
        (".", "this is a folder"),
        ("file/new", "Not a directory"),
    ],
)
def test_where_nothing_can_be_written_it_is_said_alone(kernels, words, to, why):
    Path("folder").mkdir()
    Path("file").touch()
    out, err, end = kernels(*words, *(["--to"] if words[0] != "random" else []), to)
    assert (out, err) == ("", "") and end.startswith(f"error: {to}: {why}: ")
    assert sorted(os.listdir()) == ["file", "folder"]


@pytest.mark.parametrize("output", ["none", "print"])
def test_to_goes_with_write(kernels, output):
    out, _, end = kernels("bellman_ford", "cpu", SAMPLE, "--output", output, "--to", "paths.txt")
    assert out == "" and "--to paths.txt needs --output write" in end


PRINT = ("bellman_ford", "cpu", SAMPLE, "--output", "print")


@pytest.mark.parametrize("words", [PRINT, ("sssp", SAMPLE), ("apsp", SAMPLE)])
def test_nothing_is_printed_where_nothing_listens(kernels, monkeypatch, words):
    monkeypatch.setattr(sys, "stdout", None)  # as Python has it after >&-
    assert re.match("error: .*standard output is closed: ", kernels(*words)[2])


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_enough(unbuffered):
    """As `| head`: the exit status is 128 plus the signal's number."""
    words = [sys.executable, "-m", "kernels", *map(str, PRINT)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as ran:
        ran.stdout.close()
        said = ran.stderr.read()
    assert ran.returncode == 141
    assert re.fullmatch(r"bellman_ford/cpu on sample3: \S+ s\n", said)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_standard_output_on_a_full_disk(unbuffered):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered}
    words = [sys.executable, "-m", "kernels", *map(str, PRINT)]
    with open("/dev/full", "w") as full:
        ran = subprocess.run(words, env=environment, stdout=full, stderr=subprocess.PIPE, text=True)
    assert ran.returncode == 1
    _, line = ran.stderr.splitlines()
    assert line.startswith("error: standard output: ") and os.strerror(errno.ENOSPC) in line


@pytest.fixture
def failing(kernels, monkeypatch):
    """Run the command with a variant that raises this error."""

    def fail(error):
        def raises(*anything):
            raise error

        monkeypatch.setattr(cli.harness, "run_once", raises)
        return kernels(*PRINT)

    return fail


@pytest.mark.parametrize(
    ("error", "end"),
    [
        (KeyboardInterrupt(), 130),
        (
            TimeLimit(3600),
            "error: bellman_ford/cpu on sample3: stopped after its limit of 3600 s: ",
        ),
        (MemoryError(), "error: not enough memory "),
        (OSError(24, "Too many open files", "libx.so"), "error: libx.so: Too many open files: "),
    ],
)
def test_what_is_no_defect_has_no_traceback(failing, error, end):
    out, err, said = failing(error)
    assert (out, err) == ("", "")
    assert said == end if isinstance(end, int) else said.startswith(end)


def test_a_defect_has_its_traceback(failing):
    with pytest.raises(KeyError):
        failing(KeyError("key"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise ModuleNotFoundError(name='networkit')", "networkit is not installed: pip install networkit"),
        (
            "import no_such_module",
            "networkit is installed but cannot be imported: No module named 'no_such_module'",
        ),
        ("raise ImportError('no lib')", "networkit is installed but cannot be imported: no lib"),
    ],
)
def test_a_missing_package(kernels, monkeypatch, text, said):
    Path("networkit.py").write_text(text)
    monkeypatch.syspath_prepend(Path.cwd())
    monkeypatch.delitem(sys.modules, "networkit", raising=False)
    assert kernels("dijkstra", "networkit", SAMPLE) == ("", "", f"error: {said}")


@pytest.mark.parametrize("words", [("sssp", "nowhere.txt"), ("dijkstra", "scipy", "nowhere.txt")])
def test_ctrl_c_while_modules_are_imported(folder, words):
    Path("numpy.py").write_text("raise KeyboardInterrupt")
    environment = {**os.environ, "PYTHONPATH": f"{folder}:{ROOT}"}
    ran = subprocess.run([sys.executable, "-m", "kernels", *words], env=environment, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "")


ESCAPES, SHOWN = "a\x1b[31m\u202e\n", r"a\x1b[31m\u202e\n"


def test_unprintable_characters_of_names_are_shown_as_escapes(kernels):
    Graph.from_arcs(2, [0], [1], [5], meta={"name": ESCAPES}).save("graph.npz")
    _, said, end = kernels("bellman_ford", "cpu", "graph.npz", "--validate", "--output", "write", "--to", ESCAPES)
    assert end is None
    assert re.fullmatch(
        r"bellman_ford/cpu on NAME: \S+ s\n.* NAME: 1 row .*\nwrote NAME\n", said.replace(SHOWN, "NAME")
    )
    assert kernels("sssp", f"no{ESCAPES}")[2].startswith(f"error: no{SHOWN}: ")
    assert kernels("sssp", "graph.npz", "--source", "9")[2].count(SHOWN) == 1
    assert kernels("sssp", "graph.npz", "--to", f"{ESCAPES}/b/c")[2].startswith(f"error: {SHOWN}/b")
    assert kernels("sssp", "graph.npz", ESCAPES)[1].endswith(f"unrecognized arguments: {SHOWN}\n")


def test_names_outside_ascii_in_the_c_locale():
    Path("straße.txt").write_bytes(SAMPLE.read_bytes())
    Path("süd.txt").write_text("0 1", encoding="utf-8")
    commands = (
        "sssp straße.txt --to ö.npz",
        "matrix straße.txt --sources süd.txt --to ö.npy",
        "bellman_ford cpu straße.txt --output write --to ö.txt",
    )
    program = "import sys\nfrom kernels.__main__ import main\nfor sys.argv in map(str.split, sys.argv[1:]): main()"
    words = [sys.executable, "-c", program, *(f"kernels {command}" for command in commands)]
    subprocess.run(words, env={**os.environ, "PYTHONPATH": str(ROOT), **C_LOCALE}, check=True)
    assert all(Path(command.split()[-1]).exists() for command in commands)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"opt: [", r"numba cannot read it \(while .*\)"),
        (b"opt: \xe9", r"numba cannot read it \('utf-8' .*\)"),
        (b"- 1", r"not a mapping of numba's settings \(opt: 3\)"),
        (b"1: 2", "not a mapping of .*"),
    ],
)
def test_a_broken_file_of_numbas_settings(text, said):
    Path(".numba_config.yaml").write_bytes(text)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "kernels", *map(str, PRINT)]
    ran = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert re.fullmatch(rf"error: \.numba_config\.yaml: {said}: .*\n", ran.stderr)


def test_a_missing_file(kernels):
    _, _, end = kernels("bellman_ford", "cpu", "nowhere.txt")
    assert end.startswith("error: nowhere.txt: ")
    _, _, end = kernels("bellman_ford", "cpu", "nowhere.npz")
    assert end.startswith("error: nowhere.npz: ")


def test_an_unknown_variant_or_algorithm_lists_the_valid_ones(kernels):
    _, err, end = kernels("bellman_ford", "striding", SAMPLE)
    assert end == 2
    for name in ("striding", "cpu", "naive", "stride", "stride_flag"):
        assert re.search(rf"\b{name}\b", err)
    _, err, end = kernels("bellmanford", "naive", SAMPLE)
    assert end == 2
    for name in ("bellmanford", "bellman_ford", "dijkstra", "floyd_warshall", "parse", "add", "replace", "random"):
        assert re.search(rf"\b{name}\b", err)


@pytest.mark.parametrize(("value", "settings"), [("", ""), ("0", "num_threads: 1")])
def test_without_a_gpu_the_command_simulates(value, settings):
    """In a process that has not imported numba; its file of settings makes it import numba first."""
    if settings:
        Path(".numba_config.yaml").write_text(settings)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "-1", "NUMBA_ENABLE_CUDASIM": value}
    if not value:
        del environment["NUMBA_ENABLE_CUDASIM"]
    words = [sys.executable, "-m", "kernels", "bellman_ford", "naive", SAMPLE, "--validate"]
    ran = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "")
    how, checked = ran.stderr.splitlines()
    assert how.endswith(" simulator, block 8, tile 4") and checked.startswith("bellman_ford/naive on sample3: 1 row ")


@pytest.mark.parametrize(
    ("words", "vertices", "arcs", "most"),
    [("bellman_ford naive", 201, 1, 200), ("bellman_ford naive", 2, 10001, 200), ("dijkstra naive", 51, 1, 50)],
)
def test_what_is_too_large_for_the_simulator(words, vertices, arcs, most):
    Graph.from_arcs(vertices, [0] * arcs, [1] * arcs, [7] * arcs, meta={"name": "large"}).save("large.npz")
    ran = command(*words.split(), "large.npz", NUMBA_ENABLE_CUDASIM="1")
    assert (ran.returncode, ran.stdout) == (1, "")
    (line,) = ran.stderr.splitlines()
    assert line.startswith(f"error: large: {vertices:,} vertices and {arcs:,} arcs ")
    assert words.replace(" ", "/") in line and f" {most} vertices and 10,000 arcs" in line and "--limit" in line


ENDLESS = """
import dataclasses, sys
import numpy as np
from kernels.gpu.compiler import cuda
from kernels import __main__, registry

@cuda.jit
def endless(flag):
    while flag[0] == 0:
        pass

def function(graph, result, run):
    run.launch((endless, 1, 2, (cuda.to_device(np.zeros(1)),)))

key = "bellman_ford/naive"
registry.VARIANTS[key] = dataclasses.replace(registry.VARIANTS[key], function=function)
sys.argv[1:1] = key.split("/")
__main__.main()
"""


def test_a_kernel_that_never_ends_is_stopped():
    words = [sys.executable, "-c", ENDLESS, SAMPLE, "--limit", "0.5"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_ENABLE_CUDASIM": "1"}
    ran = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", STOPPED.format("bellman_ford/naive", 0.5))


STOPPED = (
    "error: {} on sample3: stopped after its limit of {} s: raise it with --limit SECONDS, or use a smaller graph\n"
)


def test_a_run_on_a_cpu_is_stopped(kernels, monkeypatch):
    def endless(graph, result, run):
        while True:
            pass

    variant = dataclasses.replace(VARIANTS["bellman_ford/cpu"], function=endless)
    monkeypatch.setitem(VARIANTS, variant.key, variant)
    before = signal.getsignal(signal.SIGALRM)
    _, _, end = kernels("bellman_ford", "cpu", SAMPLE, "--limit", 0.2)
    assert f"{end}\n" == STOPPED.format("bellman_ford/cpu", 0.2)
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0) and signal.getsignal(signal.SIGALRM) == before


@pytest.mark.parametrize("limit", ["0", "-1", "nan", "inf", "long"])
def test_a_limit_is_a_number_above_0(kernels, limit):
    _, err, end = kernels("bellman_ford", "cpu", SAMPLE, f"--limit={limit}")
    assert end == 2 and f"argument --limit: invalid seconds value: '{limit}'" in err


def test_parse(kernels):
    Path("road.gr").write_text("c a road\np sp 3 2\na 1 2 7\na 3 1 9\n")
    assert kernels("parse", "road.gr", "--to", "road.txt")[2] is None
    assert Path("road.txt").read_text() == "3 2\n0 1 7\n2 0 9\n"
    assert kernels("parse", "road.gr")[2] is None
    assert Path("road.gr").read_text() == "3 2\n0 1 7\n2 0 9\n"


TOOLS = {
    "add": lambda to, *more: ("add", "web.txt", *more, "--to", to),
    "replace": lambda to, *more: ("replace", "graph.txt", *more, "--to", to),
    "random": lambda to, *more: ("random", 40, to, *more),
}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_with_a_seed(kernels, tool):
    arcs = [(u, v) for u in range(40) for v in range(40) if u != v]
    Path("web.txt").write_text("# web\n" + "".join(f"{3 * u}\t{3 * v}\n" for u, v in arcs))
    Path("graph.txt").write_text(f"40 {len(arcs)}\n" + "".join(f"{u} {v} 7\n" for u, v in arcs))
    for to, more in {
        "default": (),
        "as default": (1, 100, "--seed", 0),
        "seed": ("--seed", 5),
        "same seed": ("--seed", 5),
        "range": (2147483640, 2147483646),
    }.items():
        assert kernels(*TOOLS[tool](to, *more))[2] is None
    made = {path.name: path.read_bytes() for path in Path().iterdir()}
    assert made["default"] == made["as default"] != made["seed"] == made["same seed"]
    for name, (low, high) in {"default": (1, 100), "seed": (1, 100), "range": (2147483640, 2147483646)}.items():
        vertices, tails, heads, weights = io.read_text(name)
        assert vertices == 40
        assert list(zip(tails.tolist(), heads.tolist(), strict=True)) == arcs
        assert set(weights.tolist()) == set(range(low, high + 1))


def test_a_tool_refuses_a_negative_seed(kernels):
    assert kernels("random", 3, "made.txt", "--seed", -1)[2] == "error: seed -1: expected 0 or more"
    assert not any(Path().iterdir())


@pytest.mark.parametrize("words", [("sssp",), ("apsp",), ("matrix", "--sources", "s.txt", "--to", "o.npy")])
def test_a_negative_cycle_is_one_line(kernels, words):
    Path("s.txt").write_text("0\n")
    Path("cycle.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1.5\n2 1 -2\n")
    _, _, end = kernels(words[0], "cycle.mtx", *words[1:])
    assert re.fullmatch("error: .* negative cycle.*", end)
    assert {path.name for path in Path().iterdir()} == {"s.txt", "cycle.mtx"}


@pytest.mark.parametrize("problem", ["sssp", "apsp"])
def test_paths_by_the_variant_that_suits(folder, problem):
    """Without a GPU; SciPy reads the files."""
    more = ("--source", 3) if problem == "sssp" else ()
    words = problem, SAMPLE, *more, "--to", "results/paths.npz"
    ran = command(*words, CUDA_VISIBLE_DEVICES="-1", NUMBA_ENABLE_CUDASIM="0")
    chosen = r"dijkstra/\w+ on sample3: no GPU is visible, and .*"
    assert ran.returncode == 0 and re.fullmatch(rf"{chosen}\nwrote results/paths.npz\n", ran.stderr), ran.stderr
    assert ran.stdout == ""
    array = io.read_graph(SAMPLE).to_scipy()
    expected = csgraph.dijkstra(array, indices=3 if problem == "sssp" else None)
    with np.load("results/paths.npz") as found:
        assert set(found) == {"distances", "predecessors", "variant", "reason", "rounds"}
        np.testing.assert_array_equal(found["distances"], expected)
        if problem == "apsp":
            dist = csgraph.construct_dist_matrix(array, found["predecessors"])
            np.testing.assert_array_equal(dist, expected)
        assert str(found["variant"]).startswith("dijkstra/")


def test_without_a_file_the_distances_are_printed(kernels):
    Path("graph.mtx").write_text("%%MatrixMarket matrix coordinate real general\n4 4 2\n1 2 1.5\n2 3 2.5\n")
    assert kernels("sssp", "graph.mtx")[::2] == ("0 0 -\n1 1.5 0\n2 4 1\n3 inf -\n", None)
    assert kernels("sssp", "graph.mtx", "--source", 2)[0] == "0 inf -\n1 inf -\n2 0 -\n3 inf -\n"
    out, _, end = kernels("sssp", "graph.mtx", "--sources", 1, 1)
    assert (out, end) == (2 * "1 0 inf\n1 1 0\n1 2 2.5\n1 3 inf\n", None)
    lines = kernels("apsp", "graph.mtx")[0].splitlines()
    assert len(lines) == 16 and lines[:3] == ["0 0 0 -", "0 1 1.5 0", "0 2 4 1"] and lines[-1] == "3 3 0 -"
    assert os.listdir() == ["graph.mtx"]


FORMS = {
    "road.gr": "c a road\np sp 3 2\na 1 2 7\na 2 3 9\n",
    "road.gr.gz": gzip.compress(b"p sp 3 2\na 1 2 7\na 2 3 9\n"),
    "road.mtx": "%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 2 7\n2 3 9\n",
    "road.mtx.gz": gzip.compress(b"%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 7\n2 3 9\n"),
    "road.npz": sparse.csr_array(([7, 9], ([0, 1], [1, 2])), shape=(3, 3)),
}


@pytest.mark.parametrize("name", FORMS)
def test_forms_of_graphs(kernels, name):
    content = FORMS[name]
    if sparse.issparse(content):
        sparse.save_npz(name, content)
    else:
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert kernels("sssp", name)[0] == "0 0 -\n1 7 0\n2 16 1\n"
    out, err, end = kernels("bellman_ford", "cpu", name, "--output", "print", "--validate")
    assert (out, end) == ("node\tcost\tpath\n0\t0\t0\n1\t7\t0->1\n2\t16\t0->1->2\n", None)
    assert err.startswith("bellman_ford/cpu on road: ")


def test_distances_from_many_sources(kernels):
    _, err, end = kernels("sssp", SAMPLE, "--sources", 3, 0, 3, "--to", "rows.npz")
    assert (err.splitlines()[-1], end) == ("wrote rows.npz", None)
    expected = csgraph.dijkstra(io.read_graph(SAMPLE).to_scipy(), indices=[3, 0, 3])
    with np.load("rows.npz") as found:
        assert set(found) == {"sources", "targets", "distances", "variant", "reason", "rounds"}
        np.testing.assert_array_equal(found["distances"], expected)
        assert found["sources"].tolist() == [3, 0, 3]
    assert kernels("sssp", SAMPLE, "--sources", 3, 13, "--to", "more.npz")[2].startswith("error: source 13 is not a ")
    for source in (3, 0):
        assert kernels("sssp", SAMPLE, "--sources", 3, "--source", source)[2] == 2
    assert [path.name for path in Path().iterdir()] == ["rows.npz"]


def test_predecessors_in_a_circle_are_no_path():
    """As the paper's variants may find them if weights are 0."""
    with pytest.raises(InputError, match="vertex 1 form a cycle"):
        list(cli.path_lines(np.array([0, 1, 1]), np.array([-1, 2, 1])))


MATRIX = "matrix", SAMPLE, "--sources", "sources.txt", "--to"


@pytest.fixture
def listed():
    """Files of sources and targets; return the distances between them."""
    Path("sources.txt").write_text("3 0 5\n5\n\n12")
    Path("targets.txt").write_text("1\n12\n")
    rows = csgraph.dijkstra(io.read_graph(SAMPLE).to_scipy(), indices=[3, 0, 5, 5, 12])
    return rows[:, [1, 12]]


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_a_matrix(kernels, listed, dtype):
    listed = listed if dtype == "float64" else np.where(np.isfinite(listed), listed, INF).astype(dtype)
    out, err, end = kernels(*MATRIX, "deep/found.npy", "--targets", "targets.txt", "--dtype", dtype)
    assert (out, err.splitlines()[-1], end) == ("", "wrote deep/found.npy", None)
    np.testing.assert_array_equal(np.load("deep/found.npy"), listed, strict=True)
    kernels(*MATRIX, "found.parquet", "--targets", "targets.txt", "--dtype", dtype)
    frame = pd.read_parquet("found.parquet")
    assert frame.dtypes.to_dict() == {"source": np.int64, "target": np.int64, "distance": np.dtype(dtype)}
    assert frame.source.tolist() == np.repeat([3, 0, 5, 5, 12], 2).tolist() and frame.target.tolist() == [1, 12] * 5
    np.testing.assert_array_equal(frame.distance, listed.ravel())
    assert sorted(os.listdir()) == ["deep", "found.parquet", "sources.txt", "targets.txt"]
    assert os.listdir("deep") == ["found.npy"]


def test_a_matrix_to_all_vertices_and_one_without_sources(kernels, listed):
    assert kernels(*MATRIX, "all.npy")[2] is None
    expected = csgraph.dijkstra(io.read_graph(SAMPLE).to_scipy(), indices=[3, 0, 5, 5, 12])
    np.testing.assert_array_equal(np.load("all.npy"), expected, strict=True)
    Path("sources.txt").write_text("")
    for name in ("none.npy", "none.parquet"):
        assert kernels(*MATRIX, name)[2] is None
    assert np.load("none.npy").shape == (0, 13) and len(pd.read_parquet("none.parquet")) == 0


@pytest.fixture
def interrupted(kernels, listed, monkeypatch):
    """Write a matrix by pieces of two sources, and press Ctrl-C after so many pieces are written."""
    monkeypatch.setattr(table_files, "PIECE_SOURCES", {True: 2, False: 2})

    def run(to, after):
        all_pieces = Solver.distance_pieces

        def first_pieces(self, *args, **options):
            yield from itertools.islice(all_pieces(self, *args, **options), after)
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(Solver, "distance_pieces", first_pieces)
            return kernels(*MATRIX, to, "--targets", "targets.txt")[2]

    return run


@pytest.fixture
def searched(monkeypatch):
    """The sources of the searches."""
    sources, dijkstra = [], csgraph.dijkstra
    monkeypatch.setattr(csgraph, "dijkstra", lambda *a, **k: sources.extend(k["indices"]) or dijkstra(*a, **k))
    return sources


def whole(to):
    return np.load(to) if to.endswith(".npy") else pd.read_parquet(to).distance.to_numpy().reshape(-1, 2)


@pytest.mark.parametrize("to", ["found.npy", "found.parquet"])
@pytest.mark.parametrize(("after", "left"), [(0, {3, 0, 5, 12}), (1, {5, 12}), (2, {12}), (3, set())])
def test_an_interrupted_matrix_is_continued(interrupted, kernels, listed, searched, to, after, left, caplog):
    assert interrupted(to, after) == 130
    assert not Path(to).exists() and Path(f"{to}.part").is_dir() == (after > 0)
    searched.clear()
    assert kernels(*MATRIX, to, "--targets", "targets.txt")[2] is None
    assert not Path(f"{to}.part").exists() and "damaged" not in caplog.text
    np.testing.assert_array_equal(whole(to), listed)
    assert set(searched) == left


def change_byte(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("name", "damage", "again"),
    [
        ("rows.npy", lambda file: os.truncate(file, 170), {5, 12}),
        ("rows.npy", lambda file: change_byte(file, 130), {3, 0, 12}),
        ("rows.npy", os.unlink, {3, 0, 5, 12}),
        ("000000000002.parquet", os.unlink, {5, 12}),
        ("000000000000.parquet", lambda file: change_byte(file, 9), {3, 0, 12}),
        ("000000000000.parquet", lambda file: file.write_text("garbage"), {3, 0, 12}),
        ("000000000000.parquet", lambda file: os.replace(file.with_name("000000000002.parquet"), file), {3, 0, 5, 12}),
    ],
)
def test_a_damaged_piece_is_computed_again(interrupted, kernels, listed, searched, name, damage, again, caplog):
    to = f"found{Path(name).suffix}"
    interrupted(to, 2)
    damage(Path(f"{to}.part", name))
    searched.clear()
    assert kernels(*MATRIX, to, "--targets", "targets.txt")[2] is None
    assert not Path(f"{to}.part").exists()
    np.testing.assert_array_equal(whole(to), listed)
    assert set(searched) == again
    assert f"{to}.part: {2 if again == {3, 0, 5, 12} else 1} of 2 pieces" in caplog.text


def test_a_row_that_was_half_written_is_written_again(interrupted, kernels, listed):
    interrupted("found.npy", 1)
    with open("found.npy.part/rows.npy", "ab") as file:
        file.write(b"half of a row" * 9)
    change_byte(Path("found.npy.part/rows.npy"), 0)  # the header is written at the end, too
    assert kernels(*MATRIX, "found.npy", "--targets", "targets.txt")[2] is None
    np.testing.assert_array_equal(np.load("found.npy"), listed)
    assert Path("found.npy").stat().st_size == 128 + listed.nbytes


@pytest.mark.parametrize(
    ("name", "damage"), [("rows.npy", lambda file: os.truncate(file, 170)), ("000000000000.parquet", os.unlink)]
)
def test_a_piece_that_changes_during_the_run_is_noticed(interrupted, kernels, listed, monkeypatch, name, damage):
    to = f"found{Path(name).suffix}"
    all_pieces = Solver.distance_pieces

    def then_damaged(*args, **options):
        yield from all_pieces(*args, **options)
        damage(Path(f"{to}.part", name))

    with monkeypatch.context() as patched:
        patched.setattr(Solver, "distance_pieces", then_damaged)
        end = kernels(*MATRIX, to, "--targets", "targets.txt")[2]
    assert end.startswith(f"error: {to}.part/{name}: changed ")
    assert not Path(to).exists()
    assert kernels(*MATRIX, to, "--targets", "targets.txt")[2] is None
    np.testing.assert_array_equal(whole(to), listed)


@pytest.mark.parametrize("to", ["found.npy", "found.parquet"])
def test_a_matrix_that_was_killed_while_its_folder_was_made_or_deleted(interrupted, kernels, listed, monkeypatch, to):
    part, unlink = Path(f"{to}.part"), os.unlink
    part.mkdir()
    (part / ".pieces.txt.tmp").write_text("half of a line")

    def kill(path, **options):
        if Path(path).match("found.parquet.part/*.parquet"):
            raise KeyboardInterrupt
        unlink(path, **options)

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", kill)
        end = kernels(*MATRIX, to, "--targets", "targets.txt")[2]
    assert end == (130 if to.endswith(".parquet") else None)
    np.testing.assert_array_equal(whole(to), listed)
    assert kernels(*MATRIX, to, "--targets", "targets.txt")[2] is None
    assert not part.exists()


@pytest.mark.parametrize("to", ["found.npy", "found.parquet"])
@pytest.mark.parametrize(
    "edit",
    [
        *(
            lambda lines, more=more: [*lines, f"{more} {'0' * 64}\n"]
            for more in ("4 5", "4 6", f"4 {'9' * 18}", f"4 {'9' * 5000}", "5 4", "0 5")
        ),
        *(lambda lines, more=more: [*lines, more] for more in ("true\n", "\0", "4 5 012", "[" * 100_000)),
        lambda lines: [lines[0], *lines[1:], *lines[1:]],
        lambda lines: [lines[0], lines[1].replace("0 2 ", "0 1 "), lines[2].replace("2 4 ", "1 4 ")],
        lambda lines: [lines[0], lines[2], lines[1]],
    ],
)
def test_the_list_of_pieces_is_not_trusted(interrupted, kernels, listed, to, edit):
    interrupted(to, 2)
    pieces = Path(f"{to}.part/pieces.txt")
    pieces.write_text("".join(edit(pieces.read_text().splitlines(keepends=True))))
    assert kernels(*MATRIX, to, "--targets", "targets.txt")[2] is None
    np.testing.assert_array_equal(whole(to), listed)
    assert not pieces.parent.exists()


@pytest.mark.parametrize("to", ["found.npy", "found.parquet"])
def test_a_folder_that_is_not_ours_is_kept(interrupted, kernels, listed, to, caplog):
    part = Path(f"{to}.part")
    said = f"error: {part}: "
    part.mkdir()
    for name in ("000000000000.parquet", "rows.npy", "pieces.txt"):
        (part / name).write_text("[" * 100_000)
        assert kernels(*MATRIX, to)[2].startswith(said)
        assert (part / name).read_text() == "[" * 100_000 and len(os.listdir(part)) == 1
        (part / name).unlink()
    interrupted(to, 1)  # an empty folder is used
    for name in sorted(os.listdir(part)):  # a link in our folder would lead to somebody's file
        (part / name).rename(name)
        (part / name).symlink_to(f"../{name}")
        assert kernels(*MATRIX, to, "--targets", "targets.txt")[2].startswith(said)
        Path(name).replace(part / name)
    pd.DataFrame({"source": [1], "target": [2], "distance": [3.0]}).to_parquet(part / "000.parquet")
    assert kernels(*MATRIX, to, "--targets", "targets.txt")[2] is None
    assert f"{part}: kept" in caplog.text
    assert os.listdir(part) == ["000.parquet"]
    np.testing.assert_array_equal(whole(to), listed)


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_link_or_file_is_not_the_folder_of_a_matrix(kernels, listed, kind):
    Path("other").mkdir()
    part = Path("found.npy.part")
    part.symlink_to("other") if kind == "link" else part.write_text("")
    assert kernels(*MATRIX, "found.npy")[2].startswith(f"error: {part}: ")
    assert os.path.lexists(part) and os.listdir("other") == []


@pytest.mark.parametrize("to", ["found.npy", "found.parquet"])
def test_a_matrix_that_another_process_writes_is_refused(interrupted, kernels, listed, to):
    interrupted(to, 1)
    Path(f"link{Path(to).suffix}").symlink_to(to)
    before = sorted((path.name, path.read_bytes()) for path in Path(f"{to}.part").iterdir())
    with lock.held(Path(f"{to}.part"), "written"):
        for name in (to, f"link{Path(to).suffix}"):
            end = kernels(*MATRIX, name, "--targets", "targets.txt")[2]
            assert f"{to}.part: " in end and f" process {os.getpid()} on " in end
    assert sorted((path.name, path.read_bytes()) for path in Path(f"{to}.part").iterdir()) == before
    assert kernels(*MATRIX, to, "--targets", "targets.txt")[2] is None
    np.testing.assert_array_equal(whole(to), listed)


def test_a_matrix_needs_a_disk_with_locks(kernels, listed, monkeypatch):
    def none(file, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    assert "No locks available" in kernels(*MATRIX, "found.npy")[2]
    assert sorted(os.listdir()) == ["sources.txt", "targets.txt"]


@pytest.mark.parametrize("to", ["found.npy", "found.parquet"])
def test_on_a_full_disk_a_matrix_is_named_and_continued(interrupted, kernels, listed, to):
    Path("targets.txt").write_text("1 12 " * 20)
    interrupted(to, 1)
    Path(to).write_text("old")
    with files_of_at_most(900):
        end = kernels(*MATRIX, to, "--targets", "targets.txt")[2]
    assert re.match(f"error: {to}.*: File too large: ", end)
    assert Path(to).read_text() == "old"
    assert kernels(*MATRIX, to, "--targets", "targets.txt")[2] is None
    np.testing.assert_array_equal(whole(to).ravel(), np.tile(listed, 20).ravel())


@pytest.mark.parametrize("to", ["found.npy", "found.parquet"])
def test_a_matrix_leaves_a_link_and_is_written_through_a_pipe(kernels, listed, to):
    link, pipe = Path(f"link{Path(to).suffix}"), Path(f"pipe{Path(to).suffix}")
    Path("deep").mkdir()
    link.symlink_to(Path("deep", to))
    os.mkfifo(pipe)
    assert kernels(*MATRIX, link, "--targets", "targets.txt")[2] is None
    assert link.is_symlink() and os.listdir("deep") == [to]
    np.testing.assert_array_equal(whole(str(link)), listed)
    with open(to, "wb") as file, subprocess.Popen(["cat", pipe], stdout=file):
        assert kernels(*MATRIX, pipe, "--targets", "targets.txt")[2] is None
    assert pipe.is_fifo()
    np.testing.assert_array_equal(whole(to), listed)
    assert sorted(os.listdir()) == sorted(["deep", to, str(link), str(pipe), "sources.txt", "targets.txt"])


def test_an_interrupted_matrix_of_something_else_is_kept(interrupted, kernels, listed):
    interrupted("found.npy", 1)
    said = "error: found.npy.part: left by a run for another graph"
    graph, sources, targets = SAMPLE, "sources.txt", "targets.txt"
    Path("other.txt").write_text("1 12 3")
    other_weights = SAMPLE.read_text().replace(" 7\n", " 8\n")
    assert other_weights != SAMPLE.read_text()
    Path("graph.txt").write_text(other_weights)
    for words in (
        ("graph.txt", "--sources", sources, "--targets", targets),
        (graph, "--sources", "other.txt", "--targets", targets),
        (graph, "--sources", sources, "--targets", "other.txt"),
        (graph, "--sources", sources),
        (graph, "--sources", sources, "--targets", targets, "--dtype", "int32"),
    ):
        assert kernels("matrix", *words, "--to", "found.npy")[2].startswith(said)
    assert kernels(*MATRIX, "found.npy", "--targets", "targets.txt")[2] is None


def test_a_byte_order_mark_before_the_vertices(kernels):
    Path("sources.txt").write_bytes(b"\xef\xbb\xbf0 12")
    assert kernels(*MATRIX, "found.npy")[2] is None
    assert np.load("found.npy").shape == (2, 13)


@pytest.mark.parametrize(
    ("content", "to", "said"),
    [
        ("0 1.5", "a.npy", "sources.txt: '1.5'"),
        ("0 99999999999999999999", "a.npy", "sources.txt: '99999999999999999999'"),
        ("0\n13", "a.npy", "source 13 "),
        (None, "a.npy", "sources.txt: No such file"),
        ("0", "a.txt", "--to a.txt: "),
        ("0", "folder.npy", "folder.npy: this is a folder"),
    ],
)
def test_a_matrix_that_is_refused(kernels, content, to, said):
    Path("folder.npy").mkdir()
    if content is not None:
        Path("sources.txt").write_text(content)
    assert kernels(*MATRIX, to)[2].startswith(f"error: {said}")
    assert {path.name for path in Path().iterdir()} <= {"folder.npy", "sources.txt"}


def test_parquet_needs_pyarrow(kernels, listed, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install pyarrow" in kernels(*MATRIX, "found.parquet")[2]
