"""docs/errata.md, one test an entry: on a small graph the described method fails, and ours does not."""

import re
import subprocess
import sys
from collections import Counter, defaultdict
from contextlib import contextmanager
from heapq import heappop, heappush
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from kernels import __main__ as cli
from kernels import generate, io
from kernels.check import check, oracle
from kernels.errors import InputError, WrongResult
from kernels.gpu.compiler import cuda
from kernels.gpu.launching import blocks_for
from kernels.graph import INF, MAX_WEIGHT, Graph
from kernels.paper import bellman_ford, floyd_warshall
from kernels.registry import VARIANTS
from kernels.run import Result, Run
from tests.support.rows import DATASETS
from workflow.store import measurements
from workflow.views.paper import paper_tables

ROOT = Path(__file__).parents[1]
ERRATA = ROOT / "docs" / "errata.md"
SAMPLE1 = ROOT / "workflow" / "samples" / "sample1.txt"
simulator = pytest.mark.simulator


def graph_of(vertices, *arcs, **more):
    """Return a graph of arcs (tail, head, weight)."""
    return Graph.from_arcs(vertices, *np.array(arcs).T, **more)


def truth(graph):
    """Return the oracle's distances, a list a source."""
    return oracle(graph, tuple(range(graph.vertices))).tolist()


def checked(graph, problem, result, source=0):
    """Check a result; return the number of rows, or raise WrongResult."""
    return check(graph, problem, result, source, full_check=graph.vertices, checked_rows=graph.vertices)


def solve(key, graph, run=None):
    """Return the checked distances of one of our variants as lists."""
    variant, run = VARIANTS[key], run or Run(block=4, tile=2)
    run.on_gpu = variant.on_gpu
    result = Result.poisoned(variant.problem, graph.vertices)
    variant.function(graph, result, run)
    assert checked(graph, variant.problem, result, run.source)
    return result.distances.tolist()


def relax_in_order(graph, order):
    """Relax every (i, j, k) of `order` as Floyd-Warshall; return distances and the k that last improved each pair."""
    dist = graph.matrix.astype(np.int64)
    last = np.full(dist.shape, -1)
    last[graph.tails, graph.indices] = graph.tails
    for i, j, k in order:
        if dist[i, k] + dist[k, j] < dist[i, j] and INF not in (dist[i, k], dist[k, j]):
            dist[i, j], last[i, j] = dist[i, k] + dist[k, j], k
    return dist.tolist(), last


def textbook_order(n):
    return ((i, j, k) for k, i, j in product(range(n), repeat=3))


def walk(predecessors, vertex, most=100):
    """Return the vertices from `vertex` along the predecessors, at most so many."""
    path = [vertex]
    while predecessors[path[-1]] != -1 and len(path) < most:
        path.append(int(predecessors[path[-1]]))
    return path


def test_every_entry_names_its_test_and_every_test_has_an_entry():
    named = re.findall(r"^\* `(\w+)`: ", ERRATA.read_text(), re.MULTILINE)
    own, *tests = [name.removeprefix("test_") for name in globals() if name.startswith("test_")]
    assert named == tests
    for name in tests:
        assert [other for other in (own, *tests) if name in other] == [name]  # -k runs this test alone


# The text, the tables and the README


def test_factors_of_the_text():
    times = measurements.paper_times()["seconds"]

    def factor(slow, fast):
        return (times[slow] / times[fast]).dropna().to_dict()

    (entry,) = re.findall(r"^\* `factors_of_the_text`(.*?)^\* ", ERRATA.read_text(), re.MULTILINE | re.DOTALL)
    said = dict(re.findall(r"^\| (.+?) \"[^|]+\| (.+?) \|$", entry, re.MULTILINE))
    flag = factor("bellman_ford/naive", "bellman_ford/stride_flag")
    others = [ratio for dataset, ratio in flag.items() if dataset != "e"]
    on_five = f"{min(others):.1f} to {max(others):.1f} on the other five road networks"
    assert said["stride with flag"] == f"{flag['e']:.1f} on e; {on_five}"
    tiled = factor("floyd_warshall/naive", "floyd_warshall/tiled")
    assert said["tiled"] == "{:.1f}, {:.1f}, {:.1f}".format(*tiled.values())
    shared = factor("floyd_warshall/naive", "floyd_warshall/tiled_shared")
    assert said["tiled with shared memory"] == "{:.1f}, {:.1f}, {:.2f}".format(*shared.values())
    gain = (times["bellman_ford/naive"] - times["bellman_ford/stride"]).dropna()
    gain = gain[gain > 0]
    assert list(gain.index) == ["ne", "e"]
    longer = (100 * (times["bellman_ford/stride"] / times["bellman_ford/naive"] - 1)).dropna()
    longer = longer[longer > 0]
    assert len(longer) == 4
    saved = f"{gain['ne']:.1f} s on ne, {gain['e']:.1f} s on e"
    on_four = f"{longer.min():.0f} to {longer.max():.0f} % slower on the other four"
    assert said["stride faster by"] == f"{saved}; {on_four}"
    # Verdicts are generated, in one place only.
    assert "](../results/archive/h200/claims.md#the-papers-tables-read-exactly)" in entry
    assert not re.search(r"\bholds?\b|as claimed|tolerance", entry)
    for number, head, right in ((1, "Stride with Flag", flag), (3, "Tiled", tiled)):
        facts = paper_tables.compare(paper_tables.define(f"table{number}", DATASETS), measurements.load([]))
        assert facts["paper speed-up"][head].to_dict() == pytest.approx(right)


def test_times_without_a_unit():
    times = measurements.paper_times()
    bare = times[times["text"].str.fullmatch(r"[\d.]+")]
    assert len(bare) == 2
    gpu = times.filter(regex="floyd_warshall/(?!cpu)", axis=0)["seconds"].unstack()
    order = gpu["gnutella04"].sort_values().index.tolist()
    for (variant, dataset), row in bare.iterrows():
        column = gpu[dataset]
        assert column[variant] == float(row["text"])
        assert column.sort_values().index.tolist() == order
        in_milliseconds = column.mask(column.index == variant, column / 1000)
        assert in_milliseconds.sort_values().index.tolist() != order


def test_edges_of_the_tables_are_arcs(tmp_path):
    roads = measurements.paper_datasets().query("file.str.startswith('USA')")
    assert len(roads) == 6 and (roads["arcs"] % 2 == 0).all()
    one_road = tmp_path / "road.gr"
    one_road.write_text("p sp 2 2\na 1 2 7\na 2 1 7\n")
    vertices, *arcs = io.read_dimacs(one_road)
    lines = list(zip(*(a.tolist() for a in arcs), strict=True))
    as_undirected = lines + [(head, tail, weight) for tail, head, weight in lines]
    assert len(as_undirected) == 2 * len(set(as_undirected)) == 4
    assert Graph.from_arcs(vertices, *arcs).arcs == 2


@simulator
def test_thread_for_every_edge():
    chain = graph_of(3, (0, 1, 4), (1, 2, 5))
    edges = set(zip(chain.tails.tolist(), chain.indices.tolist(), strict=True))
    dist, _ = relax_in_order(chain, ((i, j, k) for i, j, k in textbook_order(3) if (i, j) in edges))
    assert dist[0][2] == INF and truth(chain)[0][2] == 9

    class Watched(Run):
        def launch(self, *launches, times=1):
            threads.extend(int(np.prod(blocks) * np.prod(block)) for _, blocks, block, _ in launches)
            super().launch(*launches, times=times)

    threads = []
    assert solve("floyd_warshall/super_naive", chain, Watched(tile=2))[0][2] == 9
    assert min(threads) >= chain.vertices**2


@simulator
def test_column_tiles_of_phase_two():
    graph = graph_of(4, (3, 0, 5), (0, 1, 1))
    primary, column = graph.matrix[:2, :2].astype(np.int64), graph.matrix[2:, :2].astype(np.int64)
    as_told, right = column.copy(), column.copy()
    for k, y, x in product(range(2), repeat=3):
        as_told[y, x] = min(as_told[y, x], primary[y, k] + as_told[k, x])
        right[y, x] = min(right[y, x], right[y, k] + primary[k, x])
    assert as_told[0, 0] == 6  # a path from 2, which no arc leaves
    assert right.tolist() == [row[:2] for row in truth(graph)[2:]] == [[INF, INF], [5, 6]]
    for name in ("tiled", "tiled_shared"):
        assert solve(f"floyd_warshall/{name}", graph) == truth(graph)


def rows_scanned(matrix, source, skip_outdated):
    """Return Dijkstra's distances with a heap, and the number of rows of the matrix that were scanned."""
    dist = [INF] * len(matrix)
    dist[source] = 0
    heap, rows = [(0, source)], 0
    while heap:
        d, u = heappop(heap)
        if skip_outdated and d > dist[u]:
            continue
        rows += 1
        for v, w in enumerate(matrix[u].tolist()):
            if w != INF and dist[u] + w < dist[v]:
                dist[v] = dist[u] + w
                heappush(heap, (dist[v], v))
    return dist, rows


def test_most_efficient_serial_dijkstra():
    n = 8
    graph = graph_of(n, *((i, j, (j - i) ** 2) for i in range(n) for j in range(i + 1, n)))
    dist, rows = rows_scanned(graph.matrix, 0, skip_outdated=False)
    assert rows_scanned(graph.matrix, 0, skip_outdated=True) == (dist, n)
    assert dist == truth(graph)[0] == solve("dijkstra/cpu", graph)[0]
    assert rows == 1 + n * (n - 1) // 2 == 29


@simulator
def test_what_the_times_contain():
    class Watched(Run):
        in_time = False

        @contextmanager
        def timed(self):
            with super().timed():
                self.in_time = True
                yield
                self.in_time = False

        def upload(self, *arrays):
            numbers[self.in_time] += sum(array.size for array in arrays)
            return super().upload(*arrays)

        upload_untimed = upload

    graph = io.read_graph(SAMPLE1)
    n, m = graph.vertices, graph.arcs
    for key, before, within in (
        ("bellman_ford/naive", n + 1 + 2 * m, 3 * n),
        ("floyd_warshall/super_naive", 0, 2 * n * n),
        ("dijkstra/naive", 0, 4 * n * n),
    ):
        numbers = Counter()
        solve(key, graph, Watched(block=8, tile=4))
        assert (numbers[False], numbers[True]) == (before, within)


def test_numbers_of_the_algorithms(monkeypatch, capsys):
    readme = {"0": "cpu", "1": "stride", "2": "stride_flag"}
    listing = {"0": "cpu", "1": "naive", "2": "stride", "3": "stride_flag"}
    assert [number for number in listing if readme.get(number) != listing[number]] == ["1", "2", "3"]
    for algorithm, names in (("bellman_ford", listing.values()), ("floyd_warshall", ["naive", "tiled"])):
        for number in ("1", "7"):
            monkeypatch.setattr(sys, "argv", ["kernels", algorithm, number, str(SAMPLE1), "--output", "print"])
            with pytest.raises(SystemExit) as end:
                cli.main()
            told = capsys.readouterr()
            assert (end.value.code, told.out) == (2, "")
            assert all(name in told.err for name in names)


def test_sample2_has_9900_arcs(tmp_path):
    made = tmp_path / "sample2.txt"
    generate.random(100, made)
    header, *arcs = made.read_text().splitlines()
    assert header == "100 9900" and len(arcs) == 9900
    made.write_text("\n".join(["100 99000", *arcs]) + "\n")
    with pytest.raises(InputError, match=r"9900 arcs.* 99000"):
        io.read_graph(made)


# The data


def test_rows_shift_without_out_arcs():
    graph = graph_of(3, (1, 2, 5), (2, 0, 7))
    _, out_arcs = np.unique(graph.tails, return_counts=True)  # of the vertices that have any
    indptr = np.append(np.r_[0, np.cumsum(out_arcs)], graph.arcs).astype(np.int32)
    shifted = Graph(indptr, graph.indices, graph.weights)
    assert len(indptr) == len(graph.indptr) and truth(shifted)[1] == [7, 0, 12]
    assert solve("bellman_ford/cpu", graph, Run(source=1)) == truth(graph)[1] == [12, 0, 5]


def test_parallel_arcs():
    graph = graph_of(2, (0, 1, 2), (0, 1, 9))
    matrix = np.full((2, 2), INF)
    for tail, head, weight in zip(graph.tails, graph.indices, graph.weights, strict=True):
        matrix[tail, head] = weight
    assert matrix[0, 1] == 9
    assert solve("bellman_ford/cpu", graph) == [0, 2]
    for key in ("dijkstra/cpu", "floyd_warshall/cpu"):
        assert solve(key, graph) == [[0, 2], [INF, 0]]


def test_ids_with_gaps(tmp_path):
    web = tmp_path / "web.txt"
    web.write_text("# Nodes: 3 Edges: 3\n0\t3\n3\t0\n2\t0\n")
    n, arcs = 3, [(0, 3), (3, 0), (2, 0)]
    places = [tail * n + head for tail, head in arcs]
    assert divmod(places[0], n) == (1, 0)  # an arc that the file does not have
    assert places[1] >= n * n  # outside the matrix
    vertices, tails, heads, _ = io.read_snap(web)
    assert (vertices, tails.tolist(), heads.tolist()) == (3, [0, 2, 1], [2, 0, 0])


def test_lines_counted_by_parse(tmp_path):
    road = tmp_path / "road.gr"
    road.write_text("c one comment, not four\np sp 3 4\na 1 2 7\na 2 3 1\na 3 1 2\na 2 1 7\n")
    lines = road.read_text().splitlines()
    header, arcs = lines[4].split()[2:4], lines[7:]
    assert (header, arcs) == (["1", "2"], [])
    io.parse(road)
    assert road.read_text() == "3 4\n0 1 7\n1 2 1\n2 0 2\n1 0 7\n"


def test_weights_without_a_seed():
    unseeded = [np.random.default_rng().integers(1, 101, 1000).tolist() for _ in range(2)]
    assert unseeded[0] != unseeded[1]
    assert generate.draw(1000, seed=4).tolist() == generate.draw(1000, seed=4).tolist()


# The validation and the output


def test_validation_against_an_unfilled_array():
    graph = io.read_graph(SAMPLE1)
    right = np.array(truth(graph)[0], np.int32)
    unfilled = np.full(graph.vertices, INF)
    assert (unfilled != right).any()  # a right result does not pass

    wrong = right + 50
    wrong[0] = 0
    repaired = wrong.copy()
    for _ in range(graph.vertices - 1):  # the CPU's run, into the GPU's array
        np.minimum.at(repaired, graph.indices, repaired[graph.tails] + graph.weights)
    assert (repaired == right).all()  # and what is printed after it is the CPU's

    result = Result(wrong.copy(), np.full(graph.vertices, -1, np.int32))
    with pytest.raises(WrongResult, match="oracle"):
        checked(graph, "sssp", result)
    assert (result.distances == wrong).all()


def test_assertions_compiled_out():
    program = """
import numpy as np
from kernels.check import check
from kernels.run import Result
from kernels.errors import WrongResult
from kernels.graph import Graph

result = Result(np.array([0, 9], np.int32), np.array([-1, 0], np.int32))
assert result.distances[1] == 4, "asserted"
print("not asserted")
try:
    check(Graph.from_arcs(2, [0], [1], [4]), "sssp", result, 0, full_check=2, checked_rows=2)
except WrongResult:
    print("refused")
"""

    def ran(*options):
        return subprocess.run([sys.executable, *options, "-c", program], cwd=ROOT, capture_output=True, text=True)

    assert "asserted" in ran().stderr
    assert ran("-O").stdout == "not asserted\nrefused\n"


def test_only_distances_are_validated():
    graph = graph_of(4, (0, 1, 1), (0, 2, 1), (1, 3, 1), (2, 3, 1))
    distances = np.array(truth(graph)[0], np.int32)
    for by in (1, 2):  # two right answers, so that the CPU's need not be the GPU's
        assert checked(graph, "sssp", Result(distances, np.array([-1, 0, 0, by], np.int32))) == 1
    with pytest.raises(WrongResult, match="predecessor 0 of vertex 3"):
        checked(graph, "sssp", Result(distances, np.array([-1, 0, 0, 0], np.int32)))


def test_parent_is_an_intermediate_vertex():
    graph = graph_of(4, (0, 2, 1), (2, 1, 1), (1, 3, 1))
    dist, last = relax_in_order(graph, textbook_order(4))
    assert dist == truth(graph)
    assert walk(last[0], 3) == [3, 2, 0]  # no arc leads from 2 to 3
    with pytest.raises(WrongResult, match="predecessor 2 of vertex 3"):
        checked(graph, "apsp", Result(np.array(dist), last))
    result = Result.poisoned("apsp", 4)
    VARIANTS["floyd_warshall/cpu"].function(graph, result, Run(on_gpu=False))
    assert walk(result.predecessors[0], 3) == [3, 1, 2, 0]


def test_arcs_without_weight(tmp_path):
    graph = graph_of(3, (0, 1, 1), (1, 2, 0), (2, 1, 0))
    dist = np.array(truth(graph)[0], np.int32)
    parent = np.full(3, -1, np.int32)
    for u, v, w in zip(graph.tails, graph.indices, graph.weights, strict=True):
        if dist[u] + w == dist[v]:
            parent[v] = u
    assert len(walk(parent, 2)) == 100  # 2, 1, 2, 1 and so on
    with pytest.raises(WrongResult):
        checked(graph, "sssp", Result(dist, parent))
    file = tmp_path / "graph.txt"
    file.write_text("2 1\n0 1 0\n")
    with pytest.raises(InputError, match=r"line 2.*weight 0 is outside \[1, "):
        io.read_graph(file)
    with pytest.raises(InputError, match="weights from"):
        generate.draw(1, 0, 100)


def test_source_shown_as_missing():
    graph = io.read_graph(SAMPLE1)
    result = Result.poisoned("sssp", graph.vertices)
    VARIANTS["bellman_ford/cpu"].function(graph, result, Run(on_gpu=False))
    assert [v for v, d in enumerate(result.distances) if d in (INF, 0)] == [0]  # none of them out of reach
    source, first, *_ = cli.path_lines(result.distances, result.predecessors)
    assert (source, first) == ("0\t0\t0\n", "1\t4\t0->1\n")


# The kernels


@simulator
def test_half_of_one_block_is_none():
    graph, block = io.read_graph(SAMPLE1), 8
    halves = {n: blocks_for(n, 1024) // 2 for n in (6, 100, 1024, 1025)}
    assert halves == {6: 0, 100: 0, 1024: 0, 1025: 1}

    class Watched(Run):
        def launch(self, *launches, times=1):
            blocks.update(launch[1] for launch in launches)
            super().launch(*launches, times=times)

    start = np.full(graph.vertices, INF, np.int32)
    start[0] = 0
    arrays = [cuda.to_device(a) for a in (graph.indptr, graph.indices, graph.weights, start, start)]
    bellman_ford.relax_stride[blocks_for(graph.vertices, block) // 2, block](*arrays)
    assert (arrays[-1].copy_to_host() == start).all()  # a card refuses the launch; the simulator runs no thread
    for name in ("stride", "stride_flag"):
        blocks = set()
        assert solve(f"bellman_ford/{name}", graph, Watched(block=block)) == truth(graph)[0]
        assert blocks == {1}


@simulator
def test_sums_wrap_to_negative():
    graph = graph_of(3, (0, 1, MAX_WEIGHT), (1, 2, 5), (0, 2, 7))
    dist = np.array([0, MAX_WEIGHT, 7], np.int32)
    with np.errstate(over="ignore"):
        dist[2] = min(dist[2], dist[1] + np.int32(5))
    assert dist[2] < 0
    for name in ("naive", "stride", "stride_flag"):
        assert solve(f"bellman_ford/{name}", graph) == truth(graph)[0]
    for name in ("super_naive", "super_naive_shared", "naive", "tiled", "tiled_shared"):
        assert solve(f"floyd_warshall/{name}", graph) == truth(graph)
    assert solve("dijkstra/naive", graph) == truth(graph)


def test_squares_of_vertices():
    n = 46341
    with np.errstate(over="ignore"):
        assert np.int32(n - 1) * np.int32(n - 1) > 0
        assert np.int32(n) * np.int32(n) < 0
    i, j, k = n - 1, n - 2, n - 3
    dist = defaultdict(lambda: np.int32(INF), {i * n + k: np.int32(3), k * n + j: np.int32(4)})
    predecessor = defaultdict(lambda: np.int32(-1), {k * n + j: np.int32(k)})
    relax = getattr(floyd_warshall.relax, "py_func", floyd_warshall.relax)
    relax(*map(np.uint32, (n, i, j, k)), dist, predecessor)
    assert (dist[i * n + j], predecessor[i * n + j]) == (7, k)


@simulator
def test_barrier_that_not_all_threads_reach(monkeypatch):
    from tests.support.simulator import Thread

    def arrivals(act):
        """Return, for each block, how many barriers its threads met."""
        events = []  # appended to at once, whatever other threads do

        def run(thread, runs=Thread.be):
            events.append((tuple(thread.blockIdx), tuple(thread.threadIdx), 0))
            runs(thread)

        def meet(thread, meets=Thread.syncthreads):
            events.append((tuple(thread.blockIdx), tuple(thread.threadIdx), 1))
            meets(thread)

        with monkeypatch.context() as patch:
            patch.setattr(Thread, "be", run)
            patch.setattr(Thread, "syncthreads", meet)
            act()
        met = defaultdict(Counter)
        for block, thread, barrier in events:
            met[block][thread] += barrier
        return [set(threads.values()) for threads in met.values()]

    @cuda.jit
    def double(values):
        i = cuda.grid(1)
        if i < len(values):
            cuda.syncthreads()
            values[i] *= 2

    assert arrivals(lambda: double[2, 4](cuda.to_device(np.ones(5, np.int32)))) == [{1}, {0, 1}]
    graph = graph_of(5, (0, 4, 9), (0, 1, 1), (1, 4, 2))
    for name in ("super_naive_shared", "tiled", "tiled_shared"):
        counts = arrivals(lambda name=name: solve(f"floyd_warshall/{name}", graph, Run(block=4, tile=3)))
        assert all(len(count) == 1 for count in counts) and max(map(max, counts)) > 0


@simulator
def test_missing_barriers_of_tiled():
    graph = graph_of(4, (0, 3, 1), (3, 2, 1), (2, 1, 1))
    warp_after_warp = ((i, j, k) for i, k, j in product(range(4), repeat=3))
    dist, _ = relax_in_order(graph, warp_after_warp)
    assert dist[0][1] == INF and truth(graph)[0][1] == 3
    assert solve("floyd_warshall/tiled", graph, Run(tile=4)) == truth(graph)


# SParry's pseudocode


def fronts(graph, source, threads, flag=True):
    """Return distances from one source, with vertices divided among threads, and the final flag.

    The threads read the flag one after the other; a thread that finds it cleared leaves.
    """
    dist, reached = [INF] * graph.vertices, [INF] * graph.vertices
    dist[source] = reached[source] = 0
    modified, working = {source}, list(range(threads))
    while True:
        for thread in list(working):
            if flag:
                flag = False
            else:
                working.remove(thread)
        if not working:
            return dist, flag
        for u in [u for u in modified if u % threads in working]:
            for arc in range(graph.indptr[u], graph.indptr[u + 1]):
                v = graph.indices[arc]
                reached[v] = min(reached[v], dist[u] + int(graph.weights[arc]))
        modified = {v for v in range(graph.vertices) if v % threads in working and reached[v] < dist[v]}
        for v in modified:
            dist[v], flag = reached[v], True


@simulator
def test_race_for_the_shared_flag():
    chain = graph_of(4, (0, 1, 1), (1, 2, 1), (2, 3, 1))
    assert fronts(chain, 0, threads=1)[0] == truth(chain)[0]
    assert fronts(chain, 0, threads=2)[0] == [0, INF, INF, INF]  # thread 1 has left, and 1 and 3 are its vertices
    for key in ("edge/apsp", "dijkstra/block_apsp"):
        assert solve(key, chain, Run(block=2, grid=1)) == truth(chain)


@simulator
def test_next_source_of_a_block():
    ring = graph_of(3, (0, 1, 1), (1, 2, 1), (2, 0, 1))
    rows, flag = [], True
    for source in range(3):
        dist, flag = fronts(ring, source, 1, flag)
        rows.append(dist)
    assert rows == [truth(ring)[0], [INF, 0, INF], [INF, INF, 0]]
    for key in ("edge/apsp", "dijkstra/block_apsp", "delta_stepping/block_apsp"):
        assert solve(key, ring, Run(block=2, grid=1)) == truth(ring)


@simulator
def test_both_ways_along_a_directed_arc():
    arcs = [(0, 1, 4)]
    dist = [INF, 0]  # from vertex 1
    for u, v, w in arcs:
        dist[v] = min(dist[v], dist[u] + w)
        dist[u] = min(dist[u], dist[v] + w)
    graph = graph_of(2, *arcs)
    assert dist == [4, 0]
    assert solve("edge/sssp", graph, Run(source=1, block=2)) == truth(graph)[1] == [INF, 0]
    road = graph_of(2, (0, 1, 4), (1, 0, 4), directed=False)
    assert solve("edge/sssp", road, Run(source=1, block=2)) == [4, 0]


@simulator
def test_infinity_plus_a_weight():
    graph = graph_of(3, (1, 2, 5), (0, 2, 7))  # 1 is out of reach of 0
    dist = np.array([0, INF, INF], np.int32)
    for u, v, w in zip(graph.tails, graph.indices, graph.weights, strict=True):
        with np.errstate(over="ignore"):
            dist[v] = min(dist[v], dist[u] + w)
    assert dist[2] < 0
    for key in ("edge/apsp", "dijkstra/block_apsp", "delta_stepping/block_apsp"):
        assert solve(key, graph)[0] == truth(graph)[0] == [0, INF, 7]


@simulator
def test_loop_that_does_not_advance():
    graph = graph_of(3, (0, 2, 1))
    u, looked_at = 0, []
    while u < graph.vertices and len(looked_at) < 100:
        looked_at.append(u)
        if u != 0:  # only the source is modified
            continue
        u += 1
    assert looked_at == [0] + [1] * 99
    assert solve("dijkstra/block_apsp", graph, Run(block=1, grid=1)) == truth(graph)


def buckets(graph, source, delta, *, queued, first, most=50):
    """Delta-stepping from the bucket `first` on, over `most` buckets; queued: whether the source is queued before."""
    dist = [INF] * graph.vertices
    dist[source] = 0
    waiting, bucket = {source} if queued else set(), first
    while waiting and bucket < most:
        while here := {u for u in waiting if dist[u] // delta == bucket}:
            waiting -= here
            for u in here:
                for arc in range(graph.indptr[u], graph.indptr[u + 1]):
                    v, d = int(graph.indices[arc]), dist[u] + int(graph.weights[arc])
                    if d < dist[v]:
                        dist[v] = d
                        waiting.add(v)
        bucket += 1
    return dist


@simulator
def test_buckets_that_start_empty():
    chain = graph_of(3, (0, 1, 2), (1, 2, 5))
    untouched = [0, INF, INF]
    assert buckets(chain, 0, 3, queued=False, first=0) == untouched
    assert buckets(chain, 0, 3, queued=True, first=1) == untouched  # the source is in bucket 0
    assert buckets(chain, 0, 3, queued=True, first=0) == truth(chain)[0]
    assert solve("delta_stepping/block_apsp", chain, Run(block=2, delta=3)) == truth(chain)


@simulator
def test_width_of_a_bucket():
    graph = graph_of(4, (0, 1, 9), (0, 2, 1), (2, 1, 2), (1, 3, 30), (3, 0, 4))
    for delta in (1, 4, 100, None):
        assert solve("delta_stepping/block_apsp", graph, Run(block=2, delta=delta)) == truth(graph)
