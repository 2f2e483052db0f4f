"""Every kernel that a variant launches compiles for three generations of cards, without a card."""

from types import SimpleNamespace

import numpy as np
import pytest
from numba import cuda, typeof
from numba.cuda import dispatcher

from kernels.device import STEP, Result, Run
from kernels.graph import Graph
from kernels.variants import VARIANTS

GPU_VARIANTS = [key for key, variant in VARIANTS.items() if variant.on_gpu]


class Recorder(Run):
    """Notes what a driver would launch; uploads stay on the host."""

    def __init__(self, shared):
        super().__init__(grid=2, shared=shared)
        self.kernels = {}

    def require(self, needed):
        pass

    def upload(self, *arrays):
        return list(arrays)

    resident = upload

    def allocate(self, *arrays):
        return [np.empty(length, dtype) for length, dtype in arrays]

    def download(self, *pairs):
        pass

    def launch(self, *launches, times=1):
        for kernel, _, _, arguments, *_ in launches:
            types = tuple(typeof(np.uint32(0) if a is STEP else a) for a in arguments)
            self.kernels[kernel.py_func.__qualname__] = (kernel.py_func, types)

    def _quiet(self, *args):
        from contextlib import nullcontext

        return nullcontext()

    timed = phase = _quiet


def test_every_gpu_variant_is_here():
    assert len(GPU_VARIANTS) >= 9


@pytest.mark.parametrize("capability", [(7, 5), (8, 0), (9, 0)], ids=lambda c: f"cc{c[0]}{c[1]}")
@pytest.mark.parametrize("key", GPU_VARIANTS)
def test_compiles(key, capability, monkeypatch):
    # A kernel that calls a device function asks for the present card: let it see the target.
    card = SimpleNamespace(compute_capability=capability)
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: card)
    variant, kernels = VARIANTS[key], {}
    graph = Graph.from_arcs(2, np.array([0]), np.array([1]), np.array([1]))
    for shared in (0, 48 << 10):  # work kept in global memory, and in shared memory
        recorder = Recorder(shared)
        variant.function(graph, Result.poisoned(variant.problem, 2), recorder)
        kernels |= {(name, shared): kernel for name, kernel in recorder.kernels.items()}
    assert kernels
    for name, (function, types) in kernels.items():
        ptx, _ = cuda.compile_ptx(function, types, cc=capability)
        assert f".target sm_{capability[0]}{capability[1]}" in ptx, name
        assert ".entry" in ptx, name
