"""Blocked Floyd-Warshall: cases beyond the small random graphs of test_kernels.py."""

from functools import cache

import numpy as np
import pytest

from kernels import harness
from kernels.check import check, oracle
from kernels.errors import InputError, WrongResult
from kernels.fast import blocked_floyd_warshall as blocked
from kernels.fast import peak
from kernels.fast import staged_floyd_warshall as staged
from kernels.fast.blocked_floyd_warshall import TileShape
from kernels.gpu.compiler import types
from kernels.graph import Graph
from kernels.registry import VARIANTS
from kernels.run import Run
from tests import revisions

CARD = Run(tile=32)
ROUND = 3 * 4 + 3  # launches for 13 vertices in tiles of 4, all in one shape


def run(name: str, graph: Graph):
    """Run a variant, check every row, and return the Run."""
    done, result = harness.run_once(
        VARIANTS[f"floyd_warshall/{name}"], graph, harness.RunSettings(warmup_launches=0, block=8, tile=4)
    )
    n = graph.vertices
    assert check(graph, "apsp", result, 0, full_check=n, checked_rows=n) == n
    return done


def chain(weights: list[int]) -> Graph:
    return Graph.from_arcs(13, np.arange(len(weights)), np.arange(1, len(weights) + 1), np.array(weights))


@pytest.mark.simulator
def test_more_strips_than_there_are_buffers():
    rng, n = np.random.default_rng(3), 26
    tails, heads = np.r_[np.arange(n), rng.integers(0, n, 30)], np.r_[(np.arange(n) + 11) % n, rng.integers(0, n, 30)]
    done = run("staged", Graph.from_arcs(n, tails, heads, rng.integers(1, 30, n + 30)))
    assert staged.strips_of(TileShape.of(done, packed=False), n) == (1, staged.STRIPS + 2)


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("weights", "again"),
    [
        pytest.param([2**14, 2**14 - 2], False, id="the longest that fits"),
        pytest.param([2**14, 2**14 - 1], True, id="one longer"),
        pytest.param([1, 2**15 - 2], True, id="infinity's own number, in two arcs"),
        pytest.param([2**15 - 1], True, id="infinity's own number"),
        pytest.param([2**16 + 1], True, id="wider than a half"),
    ],
)
def test_distances_that_do_not_fit_in_15_bits_are_found_again_in_32(weights, again):
    assert run("blocked16", chain(weights)).launches == ROUND * (1 + again)


@pytest.mark.simulator
def test_a_dear_arc_that_no_shortest_path_takes_calls_for_nothing():
    graph = Graph.from_arcs(13, [0, 1, 0], [1, 2, 2], [5, 6, 2**20])
    assert run("blocked16", graph).launches == ROUND


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("vertices", [1, 128, 129, 36682])
def test_a_matrix_is_padded_to_whole_tiles(vertices, packed):
    shape = TileShape.of(CARD, packed)
    assert (shape.tile, shape.height, shape.threads, shape.diagonal_side**2) == (128, 64, 128, 1024)
    columns = shape.columns(vertices) * shape.tile * shape.per_word
    for padded, unit in ((shape.rounds(vertices) * shape.tile, 128), (columns, 128 * shape.per_word)):
        assert padded % unit == 0 and vertices <= padded < vertices + unit


@pytest.mark.parametrize("vertices", [2561, 10876, 36682, 65536])
def test_strips_take_a_quarter_of_the_matrix(vertices):
    shape = TileShape.of(CARD, packed=False)
    height, strips = staged.strips_of(shape, vertices)
    assert staged.STRIPS * height * shape.tile * shape.pitch(vertices) * 4 <= 4 * shape.pitch(vertices) ** 2 / 4
    assert (strips - 1) * height < shape.rounds(vertices) <= strips * height
    assert strips * height * shape.tile < 2**32
    assert staged.launches(vertices, 32) == shape.rounds(vertices) * (3 + strips - 1) + 2 * strips


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("packed", "kind", "inf"), [(False, np.uint32, blocked.INF), (True, np.uint16, blocked.PACKED_INF)]
)
def test_shared_memory_holds_a_part_of_a_tile_at_a_time(packed, kind, inf, monkeypatch):
    monkeypatch.setattr(blocked, "MAX_DEPTH", 4)
    monkeypatch.setattr(blocked, "kernels", cache(blocked.kernels.__wrapped__))  # not those made before
    shape, n = TileShape(4, 2, packed), 13
    weights = np.random.default_rng(2).integers(1, 99, (n, n))
    matrix = np.full((shape.rounds(n) * shape.tile, shape.pitch(n) * shape.per_word), inf, kind)
    matrix[:n, :n] = np.where(np.eye(n), 0, weights)
    blocked.run_rounds(shape, n, matrix.reshape(-1).view(np.uint32), Run())
    graph = Graph.from_arcs(n, *np.indices((n, n)).reshape(2, -1), weights.ravel())
    assert matrix[:n, :n].tolist() == oracle(graph, tuple(range(n))).tolist()


class Sparse(dict):
    """A long array on the card; words that were not set are 0."""

    def __missing__(self, index):
        return np.uint32(0)

    def __setitem__(self, index, word):
        assert 0 <= int(index) < self.length
        super().__setitem__(int(index), np.uint32(word))

    def __getitem__(self, index):
        return super().__getitem__(int(index))


class FarApart(TileShape):
    """Rows so long that a few vertices take more than 2^32 words."""

    def pitch(self, vertices):
        return 2**30 - self.tile


@pytest.mark.simulator
@pytest.mark.parametrize("packed", [False, True])
def test_rows_beyond_32_bits_do_not_fold_onto_each_other(packed):
    shape, n, run = FarApart(2, 2, packed), 11, Run(block=8, tile=4)
    pitch, weights = shape.pitch(n), np.random.default_rng(1).integers(1, 9, (n, n))
    np.fill_diagonal(weights, 0)
    matrix, dist = Sparse(), np.zeros(n * n, np.uint32)
    matrix.length = shape.rounds(n) * shape.tile * pitch
    for u in range(shape.rounds(n) * shape.tile):
        for at in range(shape.columns(n) * shape.tile):
            ends = [
                weights[u, v] if max(u, v) < n else blocked.PACKED_INF if packed else blocked.INF
                for v in range(at * shape.per_word, (at + 1) * shape.per_word)
            ]
            matrix[u * pitch + at] = sum(int(d) << 16 * half for half, d in enumerate(ends))
    blocked.run_rounds(shape, n, matrix, run)
    kernel = blocked.kernels(shape)
    kernel.unpack[n, 8](np.uint32(n), np.uint32(pitch), matrix, dist)
    graph = Graph.from_arcs(n, *np.indices((n, n)).reshape(2, -1), weights.ravel())
    assert dist.reshape(n, n).tolist() == oracle(graph, tuple(range(n))).tolist()


@pytest.mark.simulator
def test_predecessors_are_found_in_rows_beyond_32_bits():
    n, pitch = 6, 2**31
    graph = Graph.from_arcs(n, np.arange(5), np.arange(1, 6), np.full(5, 3))
    dist, predecessor = Sparse(), np.full(n * n, -7, np.int32)
    dist.length = n * pitch
    for u in range(n):
        for v in range(n):
            dist[u * pitch + v] = 3 * (v - u) if v >= u else blocked.INF
    numbers = np.uint32(n), np.uint32(pitch), np.uint32(0)
    overflow = np.zeros(1, np.int32)
    blocked.find_predecessors[n, 4](*numbers, *blocked.arcs_by_head(graph), dist, predecessor, overflow)
    assert predecessor.reshape(n, n).tolist() == [[v - 1 if v > u else -1 for v in range(n)] for u in range(n)]
    assert not overflow[0]


@pytest.mark.parametrize("key", [key for key, v in VARIANTS.items() if v.on_gpu])
def test_what_numbers_pairs_in_32_bits_refuses_more_vertices_than_they_are_enough_for(key):
    variant, more = VARIANTS[key], Graph.from_arcs(2**16, *np.empty((3, 0), int), meta={"name": "large"})
    wide = ("multi_source", "blocked_floyd_warshall", "staged_floyd_warshall", "hierarchy.variants")
    refused = variant.problem == "apsp" and variant.function.__module__.removeprefix("kernels.fast.") not in wide
    if not refused:
        variant.check_size(more)
        return
    with pytest.raises(
        InputError, match=rf"^{key} on large: 65,536 vertices, .* floyd_warshall/staged, hierarchy/apsp$"
    ):
        harness.run_once(variant, more, harness.RunSettings())
    variant.check_size(Graph.from_arcs(2**16 - 1, *np.empty((3, 0), int)))


@pytest.mark.simulator
@pytest.mark.parametrize("packed", [False, True])
def test_the_peak_counts_what_was_made(packed):
    per_word = 2 if packed else 1
    assert peak.chains(Run(block=2), packed, 5)[0] == 2 * 2 * peak.CHAINS * 5 * per_word  # 2 blocks of 2 threads
    assert peak.dense(Run(tile=4), packed, 9)[0] == 9**3


@pytest.mark.simulator
def test_the_peak_refuses_a_wrong_result(monkeypatch):
    monkeypatch.setattr(peak, "run_rounds", lambda *_: None)
    with pytest.raises(WrongResult, match="9 vertices, packed False: row"):
        peak.dense(Run(tile=4), False, 9)


@pytest.mark.parametrize("packed", [False, True])
def test_the_chains_compile_to_one_instruction_a_relaxation(packed):
    arrays = (types.Array(types.uint32, 1, "C"),) * 2
    ptx = revisions.compiled(peak.chains_kernel(packed).py_func, (types.uint32, types.uint32, *arrays), (9, 0))
    assert ptx.count("min.u16x2" if packed else "min.u32") == peak.CHAINS
    assert ".local" not in ptx
