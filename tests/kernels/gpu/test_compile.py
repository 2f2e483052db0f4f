"""Every kernel compiles for the oldest and the newest cards, without a card, and before it is timed."""

import ctypes
import itertools
import re
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import nullcontext
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from kernels import harness
from kernels import run as runs
from kernels.fast import (
    blocked_floyd_warshall,
    floats,
    floats_kernels,
    multi_source,
    near_far,
    near_far_kernels,
    probe,
    results,
)
from kernels.fast.floats import FloatGraph
from kernels.fast.hierarchy import all_pairs, hubs, many_sources, nearest, reweighting, targets, within
from kernels.fast.hierarchy.customize import OnCard
from kernels.gpu import internals
from kernels.gpu.compiler import cuda, typeof
from kernels.graph import INF
from kernels.library.searches import NO_PATH_BY_DTYPE
from kernels.registry import VARIANTS
from kernels.run import Result
from kernels.units import Scale
from tests import revisions
from tests.support.recorder import SHARED, Recorder, path

ROOT = Path(__file__).parents[3]
CAPABILITIES = [  # the newest always, the oldest only in CI
    pytest.param((9, 0), id="cc90"),
    pytest.param((7, 5), id="cc75", marks=pytest.mark.ci),
]
GPU_VARIANTS = [key for key, variant in VARIANTS.items() if variant.on_gpu]
RELAX = {"min.s32": 1}
ZERO_ARCS = {name: {"cas.b32": 1, "add.u32": 1} for name in ("start_zero_arcs", "follow_zero_arcs")}
# By module and kernel (its function if two have one name), the least number of each atomic operation. An atomic
# operation made a plain write gives right results in the simulator, and on a card nearly always.
ATOMICS = {
    "paper.bellman_ford": {f"relax_{name}": RELAX for name in ("naive", "stride", "stride_flag")},
    "paper.dijkstra": {},
    "paper.floyd_warshall": {},
    "sparry.edge": {"kernel": RELAX},
    "sparry.dijkstra": {"kernel": RELAX},
    "sparry.delta_stepping": {"kernel": {"min.s32": 3, "shared.min.s32": 1}},
    "fast.ell": {"relax": {"min.s32": 2}},
    "fast.blocked_floyd_warshall": {"initial": {"cas.b32": 2}},
    "fast.near_far_kernels": {
        "search": {
            **{"min.s32": 4, "shared.add.u32": 8, "shared.min.u32": 2},
            **{"global.min.u32": 1, "global.max.u32": 1, "global.add.u32": 3},
        },
        **ZERO_ARCS,
    },
    **{f"fast.hierarchy.{name}": {} for name in ("targets", "within")},
    "fast.hierarchy.hubs": {name: {"min.u64": 2} for name in ("set_own_codes", "set_codes")},
    "fast.hierarchy.nearest": {"take_nearest": {"add.u32": 1}},
    "fast.hierarchy.reweighting": {
        "read_weights": {"min.u64": 1},
        "weigh_arcs": {"add.u64": 2, "max.u64": 1},
    },
    "fast.hierarchy.one_source": {"ascend_from": {"shared.min.u32": 1}},
    "fast.hierarchy.customize": {"set_weights": {"min.u32": 2}, "customize": {"min.u32": 2}},
    "fast.floats_kernels": {
        floats_kernels.relax.py_func: {"cas.b64": 1, "max.u32": 1, "add.u32": 1},
        floats_kernels.follow_ties.py_func: {"cas.b32": 1, "add.u32": 1},
    },
    "fast.probe_kernels": {"walk": {"cas.b32": 2, "add.u32": 2}},
}


ATOMICS["fast.hierarchy.many_sources"] = {
    many_sources.search_fragments(threads, stores, True, inverts).py_func: {
        **{"max.u64": 1, "add.u64": 1, "add.u32": 1},
        **({"add.f64": 1} if inverts else {}),
    }
    for threads, stores, inverts in itertools.product((1, 4), (True, False), (True, False))
}


class OnHost:
    """The attributes of a device array that are read."""

    def __init__(self, array):
        self.size, self.dtype, self.shape, self.strides = array.size, array.dtype, array.shape, array.strides
        self.device_ctypes_pointer = array.ctypes.data_as(ctypes.c_void_p)


@pytest.fixture
def launched(as_without_gpu):
    """The functions of launched kernels, by kernel and types of its arguments; no card is used."""
    Recorder.launched = {}
    return Recorder.launched


@pytest.fixture
def compiled(launched, monkeypatch):
    """compiled(launch, capability): the functions of the kernels that `launch` launches, each with its PTX."""

    def compiled(launch, capability=(9, 0)):
        for module in (multi_source, blocked_floyd_warshall):
            monkeypatch.setattr(module, "has_16_bit_pair_minimum", lambda: capability >= (9, 0))
        launch()
        assert launched
        return [
            (function, revisions.compiled(function, types, capability)) for (_, types), function in launched.items()
        ]

    return compiled


class Unfinished(Recorder):
    """Nothing has a predecessor, so that all kernels are launched."""

    def download(self, *pairs):
        for _, host in pairs:
            host[...] = floats.NONE if host.dtype == np.int32 else 0


def by_variant(key):
    variant = VARIANTS[key]
    for shared in (0, SHARED):  # work kept in global memory, and in shared memory
        for graph in (path(2, True), path(2, False), path(2, True, weight=0)):
            variant.function(graph, Result.poisoned(variant.problem, 2), Recorder(shared=shared))


def searches():
    search = near_far.NearFarSearch(path(9, True), Recorder())
    search.allocate()
    Recorder.launched.clear()
    return search


def in_hierarchy():
    """Launch a search to targets, for each type of distances, and selections."""
    run, on = Recorder(shared=10**6), path(600, False)
    search = all_pairs.ManySourceSearch(on, reduces=False, run=run)
    to_some, seen = targets.TargetSearch(search), np.zeros(3, np.int32)
    to_some.uploads = SimpleNamespace(restart=lambda: None, copy=lambda *arrays: list(arrays))
    for kind in NO_PATH_BY_DTYPE:
        to_some.search(np.array([7]), np.array([3, 500]), INF - 1, np.empty(1, kind), np.empty(2, kind), seen)
    many = np.zeros(600 * 2, np.int32)
    dist = np.empty(600, np.int32)
    for kind in NO_PATH_BY_DTYPE:
        none, out = np.empty(1, kind), np.empty(2, kind)
        run.launch(targets.taking(1, 1, INF - 1, many[:2], many[:1], dist, (none, out, seen)))
    search.allocate(1)
    within.Selection(search, 1).take(np.zeros(1))
    reweighter = reweighting.Reweighter(search.on_card, on.edges)
    for kind in (np.int32, np.int64, np.float32, np.float64):
        reweighter.apply(reweighter.read(np.zeros(on.arcs, kind), on.scale, whole_only=True))
    to_nearest, facilities = nearest.NearestSearch(search.on_card), np.array([7])
    to_nearest.take(None, facilities, 1, on.scale, to_nearest.search(facilities, 1, INF - 1, reverse=False))


def reduced():
    """Launch the reducing searches in a hierarchy of two levels, with four sources and with one source a thread."""
    for shared in (10**6, SHARED):
        search = all_pairs.ManySourceSearch(path(600, False), reduces=True, run=Recorder(shared=shared))
        for inverts in (False, True):
            for _ in search.pieces(np.arange(2), inverts=inverts):
                pass


def between_pairs():
    """Launch searches between pairs, with and without a second value, and the kernels of routes."""
    run, on = Recorder(), path(9, True)
    search = hubs.HubSearch(OnCard(on, run))
    second, end = search.second(np.ones(on.arcs)), np.zeros(1, np.int32)
    for kind in NO_PATH_BY_DTYPE:
        none, out = np.empty(1, kind), np.empty(1, kind)
        search.pairs([end, end], Scale(1, 1), none, out)
        search.pairs([end, end], Scale(1, 1), none, out, second=second)
    search.routes(end, end)


def scaled():
    """Convert distances to the user's unit, for each type of distances."""
    run, numbers = Recorder(), np.ones(2)
    for found, out in ((np.int32, np.float32), (np.int32, np.float64), (np.float64, np.float64)):
        run.launch((results.scale, 1, run.block, (np.zeros(2, found), numbers, np.zeros(2, out))))


# What the library launches besides variants, and how many kernels these are.
OTHERS = {
    "floats": (lambda: floats.Float64Search(FloatGraph.of(path(9, True)), Unfinished()).search([0], 1), 5),
    "probe": (lambda: probe.reach(searches(), 0), None),
    "in_hierarchy": (in_hierarchy, None),
    "reduced": (reduced, None),
    "between_pairs": (between_pairs, None),
    "scaled": (scaled, 3),
    "find_too_long": (lambda: searches().is_too_long(), 1),
}


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("key", [*(key for key in GPU_VARIANTS if not VARIANTS[key].cuda_graph), *OTHERS])
def test_compiles_with_exactly_the_atomic_operations_that_are_listed(key, capability, launched, compiled):
    launch, count = OTHERS.get(key, (lambda: by_variant(key), None))
    for function, ptx in compiled(launch, capability):
        assert f".target sm_{capability[0]}{capability[1]}" in ptx and ".entry" in ptx, function
        of_module = ATOMICS.get(function.__module__.removeprefix("kernels."))
        if of_module is not None:
            needed = of_module.get(function, of_module.get(function.__name__, {}))
            assert_atomics(ptx, needed, function.__name__)
    assert count in (len(launched), None)


def assert_atomics(ptx: str, needed: dict, kernel: str) -> None:
    found = Counter(f".{operation}" for operation in re.findall(r"\s(?:atom|red)\.(\S+)", ptx))
    for operation, least in needed.items():
        there = sum(number for name, number in found.items() if name.endswith(f".{operation}"))
        assert there >= least, f"{kernel}: {there} times {operation}, at least {least} are needed"
    unknown = [name for name in found if not any(name.endswith(f".{operation}") for operation in needed)]
    assert not unknown, f"{kernel}: ATOMICS does not list {unknown}"


def test_a_block_waits_for_what_its_first_thread_reads(compiled):
    """In the simulator the first thread is nearly always the first."""
    variant = VARIANTS["floyd_warshall/super_naive_shared"]
    ((_, ptx),) = compiled(lambda: variant.function(path(2, True), Result.poisoned("apsp", 2), Recorder()))
    assert len(re.findall(r"\bbar(?:rier)?\.sync", ptx)) == 1


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_the_kernel_that_checks_the_arguments_compiles(capability):
    arguments = (*internals.ECHOED, internals.EXPECTED)
    ptx, _ = cuda.compile_ptx(internals.echo.py_func, tuple(map(typeof, arguments)), cc=capability)
    values = sum(len(internals.as_passed(OnHost(a) if a.ndim else a)) for a in arguments)
    assert ".entry" in ptx and ptx.count(".param .") == values  # as many as as_passed lays out


class Pair(NamedTuple):
    number: np.uint32
    array: np.ndarray


def write_pair(pair, array):
    array[0] = pair.number + pair.array[0]


def write_parts(number, array, other):
    other[0] = number + array[0]


def test_a_tuple_is_passed_as_its_fields():
    number, array = np.uint32(1), np.zeros(1, np.uint32)
    one, other = (
        cuda.compile_ptx(function, tuple(map(typeof, arguments)), cc=(9, 0))[0]
        for function, arguments in ((write_pair, (Pair(number, array), array)), (write_parts, (number, array, array)))
    )
    assert revisions.digest(one) == revisions.digest(other)


def recorded(monkeypatch, variant, graph):
    """Compile a variant as before a measured run, without a card."""
    monkeypatch.setattr(runs, "warm_up", lambda *_: None)
    monkeypatch.setattr(harness, "Run", Recorder)
    harness.compile_variant(variant, graph, harness.RunSettings())


SIZES = [(key, vertices) for key in GPU_VARIANTS for vertices in (20, 60)]  # fits in shared memory, and does not
LEVELS = [
    (key, 600) for key in GPU_VARIANTS if key.startswith("hierarchy/")
]  # two levels of fragments, the first in bands


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize(("key", "vertices"), SIZES + LEVELS)
def test_what_a_timed_run_launches_was_compiled_before(key, vertices, directed, launched, monkeypatch):
    class Timed(Recorder):
        def timed(self):
            launched.clear()
            return nullcontext()

    variant, protocol = VARIANTS[key], harness.RunSettings()
    for weight in (0, 1):
        graph = path(vertices, directed, weight)
        recorded(monkeypatch, variant, graph)
        compiled = set(launched)
        monkeypatch.setattr(harness, "Run", Timed)
        variant.function(graph, Result.poisoned(variant.problem, vertices), harness.run_for_variant(variant, protocol))
        assert launched and set(launched) <= compiled
        launched.clear()


def test_links_are_compiled_before_a_measured_run(launched, monkeypatch):
    recorded(monkeypatch, VARIANTS["delta_stepping/near_far"], path(2, True))
    assert near_far_kernels.set_links.py_func in launched.values()


def test_kernels_that_number_by_degree_are_compiled_before_the_clock(launched, by_degree):
    near_far.NearFarSearch(path(2, True), Recorder())
    by_degree = near_far_kernels.distances_by_vertex, near_far_kernels.predecessors_by_vertex
    assert {kernel.py_func for kernel in by_degree} <= set(launched.values())


def test_halves_are_compared_at_once_if_the_card_can(compiled):
    run = Recorder(shared=SHARED)
    ((_, ptx),) = compiled(lambda: multi_source.apsp(path(2, True), Result.poisoned("apsp", 2), run))
    assert "min.u16x2" in ptx


@pytest.mark.parametrize(("name", "count"), [("blocked", 2), ("blocked16", 4)])
def test_the_product_of_tiles_takes_four_words_at_a_time(name, count, compiled):
    variant = VARIANTS[f"floyd_warshall/{name}"]
    ptx_of_kernels = compiled(lambda: variant.function(path(2, True), Result.poisoned("apsp", 2), Recorder()))
    products = [ptx for function, ptx in ptx_of_kernels if function.__name__ in ("panel", "trailing")]
    assert len(products) == count
    for ptx in products:
        taken = re.findall(r"\b(ld|st)(?:\.global)?(?:\.(v\d))?\.[bu]32\b", ptx)
        assert set(taken) == {("ld", "v4"), ("st", "v4")}
        assert ".local" not in ptx


COMPILERS = ("numba-cuda", "numba", "llvmlite", "nvidia-nvvm")


def other_compilers() -> str:
    """Return the compilers that differ from the CUDA 13 lock, for which the digests hold."""
    locked = dict(re.findall(r"^([\w-]+)==(\S+)", (ROOT / "requirements/cu13.txt").read_text(), re.MULTILINE))
    try:
        return ", ".join(name for name in COMPILERS if version(name) != locked[name])
    except PackageNotFoundError as error:
        return str(error.name)


locked_compilers = pytest.mark.skipif(
    bool(other_compilers()), reason=f"the digests are those of the CUDA 13 lock, not of this {other_compilers()}"
)


@locked_compilers
def test_the_kernels_are_those_of_the_recorded_revisions():
    """In this file, whose tests have compiled most of them."""
    assert revisions.differences(revisions.current(), revisions.recorded()) == []


@pytest.mark.ci
@locked_compilers
def test_one_other_instruction_is_found_and_another_name_is_not(tmp_path):
    for part in ("kernels", "tests"):
        shutil.copytree(ROOT / part, tmp_path / part)
    for file in (tmp_path / "kernels").rglob("*.py"):
        text = file.read_text().replace("relax_stride", "lower_stride")
        file.write_text(text.replace('"""', '"""Changed. ', 1) if file.name == "bellman_ford.py" else text)
    file = tmp_path / "kernels/paper/dijkstra.py"
    text = file.read_text()
    file.write_text(text.replace("dist[here] < least:", "dist[here] <= least:"))
    assert file.read_text() != text
    ran = subprocess.run([sys.executable, "-m", "tests.revisions"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 1 and ran.stderr.startswith("dijkstra/naive: new PTX of search_from_every_source; ")
    assert "raise the variant's `revision`" in ran.stderr and "bellman_ford" not in ran.stderr
