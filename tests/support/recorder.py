"""Record which kernels a variant launches, with the types of their arguments, without a card."""

from contextlib import nullcontext

import numpy as np

from kernels.gpu.compiler import typeof
from kernels.gpu.launching import STEP
from kernels.graph import Graph
from kernels.run import Run

SHARED = 200  # bytes of shared memory a block


class Recorder(Run):
    """Note in `launched` what a driver would launch; uploads stay on the host."""

    launched: dict

    multiprocessors = property(lambda self: 1)
    shared_limit = property(lambda self: SHARED if self.shared is None else self.shared)

    def require(self, needed):
        pass

    def upload(self, *arrays):
        return list(arrays)

    upload_untimed = upload

    def allocate(self, *arrays):
        return [np.empty(length, dtype) for length, dtype in arrays]

    def download(self, *pairs):
        pass

    def launch(self, *launches, times=1):
        for kernel, _, _, arguments, *_ in launches:
            types = tuple(typeof(np.uint32(0) if a is STEP else a) for a in arguments)
            self.launched[kernel, types] = kernel.py_func

    def timed(self):
        return nullcontext()

    def phase(self, name):
        return nullcontext()


def path(vertices: int, directed: bool, weight: int = 1) -> Graph:
    u = np.arange(vertices - 1)
    tails, heads = (u, u + 1) if directed else (np.r_[u, u + 1], np.r_[u + 1, u])
    return Graph.from_arcs(vertices, tails, heads, np.full(len(tails), weight), directed=directed)
