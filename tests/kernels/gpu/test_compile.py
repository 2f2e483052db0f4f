"""Every kernel a variant launches compiles for three generations of cards, without a card, and before it is timed."""

import ctypes
import re
from contextlib import nullcontext
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from numba import cuda, typeof
from numba.cuda import dispatcher

from kernels import harness
from kernels import run as runs
from kernels.fast import multi_source
from kernels.gpu import internals
from kernels.registry import VARIANTS
from kernels.run import Result
from tests.revisions import digest
from tests.support.ptx import CAPABILITIES, assert_atomics, atomics_of
from tests.support.recorder import SHARED, Recorder, path

GPU_VARIANTS = [key for key, variant in VARIANTS.items() if variant.on_gpu]


class OnHost:
    """What a device array shows of itself."""

    def __init__(self, array):
        self.size, self.dtype, self.shape, self.strides = array.size, array.dtype, array.shape, array.strides
        self.device_ctypes_pointer = array.ctypes.data_as(ctypes.c_void_p)


@pytest.fixture
def launched(monkeypatch):
    """What is launched, by kernel and types of its arguments."""
    monkeypatch.setattr(Recorder, "launched", {}, raising=False)
    monkeypatch.setattr(
        "kernels.gpu.card.gpu_visible", lambda: False
    )  # also where a card is: nothing is to be prepared
    return Recorder.launched


def test_every_gpu_variant_is_here():
    assert len(GPU_VARIANTS) >= 9


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("key", [key for key in GPU_VARIANTS if not VARIANTS[key].cuda_graph])
def test_compiles(key, capability, launched, monkeypatch):
    # A kernel that calls a device function asks for the present card: let it see the target.
    card = SimpleNamespace(compute_capability=capability)
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: card)
    variant = VARIANTS[key]
    for shared in (0, SHARED):  # work kept in global memory, and in shared memory
        for graph in (path(2, True), path(2, False), path(2, True, weight=0)):
            variant.function(graph, Result.poisoned(variant.problem, 2), Recorder(shared=shared))
    assert launched
    for (kernel, types), function in launched.items():
        ptx, _ = cuda.compile_ptx(function, types, cc=capability)
        assert f".target sm_{capability[0]}{capability[1]}" in ptx, kernel
        assert ".entry" in ptx, kernel
        if (needed := atomics_of(function)) is not None:
            assert_atomics(ptx, needed, function.__name__)


def test_a_block_waits_for_what_its_first_thread_reads(launched, monkeypatch):
    """In the simulator the first thread is nearly always the first."""
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=(9, 0)))
    variant = VARIANTS["floyd_warshall/super_naive_shared"]
    variant.function(path(2, True), Result.poisoned("apsp", 2), Recorder())
    (((_, types), function),) = launched.items()
    ptx, _ = cuda.compile_ptx(function, types, cc=(9, 0))
    assert len(re.findall(r"\bbar(?:rier)?\.sync", ptx)) == 1


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_the_kernel_that_checks_the_arguments_compiles(capability):
    arguments = (*internals.ECHOED, internals.EXPECTED)
    ptx, _ = cuda.compile_ptx(internals.echo.py_func, tuple(map(typeof, arguments)), cc=capability)
    assert ".entry" in ptx
    values = sum(len(internals.as_passed(OnHost(a) if a.ndim else a)) for a in arguments)
    assert ptx.count(".param .") == values  # as many as as_passed lays out


class Pair(NamedTuple):
    number: np.uint32
    array: np.ndarray


def write_pair(pair, array):
    array[0] = pair.number + pair.array[0]


def write_parts(number, array, other):
    other[0] = number + array[0]


def test_a_tuple_is_passed_as_its_fields():
    number, array = np.uint32(1), np.zeros(1, np.uint32)
    ptx = [
        cuda.compile_ptx(function, tuple(map(typeof, arguments)), cc=(9, 0))[0]
        for function, arguments in ((write_pair, (Pair(number, array), array)), (write_parts, (number, array, array)))
    ]
    assert digest(ptx[0]) == digest(ptx[1])


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

    variant, protocol = VARIANTS[key], harness.Protocol()
    monkeypatch.setattr(runs, "warm_up", lambda *_: None)
    for weight in (0, 1):
        graph = path(vertices, directed, weight)
        monkeypatch.setattr(harness, "Run", Recorder)
        harness._prepare(variant, graph, protocol)
        compiled = set(launched)
        monkeypatch.setattr(harness, "Run", Timed)
        variant.function(graph, Result.poisoned(variant.problem, vertices), harness._new_run(variant, protocol))
        assert launched and set(launched) <= compiled
        launched.clear()


def test_halves_are_compared_at_once_where_the_card_can(launched, monkeypatch):
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=(9, 0)))
    monkeypatch.setattr(multi_source, "has_16_bit_pair_minimum", lambda: True)
    multi_source.apsp(path(2, directed=True), Result.poisoned("apsp", 2), Recorder(shared=SHARED))
    (((_, types), function),) = launched.items()
    ptx, _ = cuda.compile_ptx(function, types, cc=(9, 0))
    assert "min.u16x2" in ptx


@pytest.mark.parametrize("name", ["blocked", "blocked16"])
def test_the_product_of_tiles_takes_four_words_at_a_time(name, launched, monkeypatch):
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=(9, 0)))
    monkeypatch.setattr("kernels.fast.blocked_floyd_warshall.has_16_bit_pair_minimum", lambda: True)
    VARIANTS[f"floyd_warshall/{name}"].function(path(2, directed=True), Result.poisoned("apsp", 2), Recorder())
    products = [(f, types) for (_, types), f in launched.items() if f.__name__ in ("panel", "trailing")]
    assert len(products) == (4 if name == "blocked16" else 2)
    for function, types in products:
        ptx, _ = cuda.compile_ptx(function, types, cc=(9, 0))
        taken = re.findall(r"\b(ld|st)(?:\.global)?(?:\.(v\d))?\.[bu]32\b", ptx)
        assert set(taken) == {("ld", "v4"), ("st", "v4")}
        assert ".local" not in ptx
