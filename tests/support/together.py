"""Numba's CUDA simulator with all blocks of a grid at once, which meet at cuda.cg.this_grid().sync()."""

import sys
import threading
from contextlib import contextmanager
from functools import partial
from unittest.mock import patch

import numpy as np
from numba import types
from numba.np import numpy_support

TIMEOUT_S = 60  # until a barrier that not all threads come to is an error
MOST_BLOCKS = 8  # a larger grid's blocks run one after the other, as they do without this


@contextmanager
def blocks_at_once():
    """Meanwhile small grids run their blocks at once, each with shared memory of its own. For numba-cuda 0.30.4."""
    from numba.cuda.simulator import kernel, kernelapi

    class Thread(threading.Thread):
        """A thread of the card, with what the simulator asks of one."""

        def __init__(self, function, block: int, thread: int, barriers):
            super().__init__(daemon=True)
            self.function, self.barriers, self.error = function, barriers, None
            self.blockIdx, self.threadIdx = kernelapi.Dim3(block, 0, 0), kernelapi.Dim3(thread, 0, 0)
            self.thread_id = thread

        def run(self):
            try:
                self.function()
            except Exception as error:
                self.error = error
                for barrier in self.barriers:
                    barrier.abort()

        def syncthreads(self):
            self.barriers[0].wait(TIMEOUT_S)

    one_block = kernel.BlockManager

    class Manager:
        def __init__(self, function, grid, shape, debug):
            self.function, self.grid, self.shape, self.debug = function, grid, shape, debug

        def run(self, grid_point, *args):
            blocks, threads = self.grid[0], self.shape[0]
            if not 1 < blocks <= MOST_BLOCKS:
                one_block(self.function, self.grid, self.shape, self.debug).run(grid_point, *args)
            elif grid_point[0] == 0:
                own = [threading.Barrier(threads) for _ in range(blocks)]
                grid = threading.Barrier(blocks * threads)
                go = partial(self.function, *args)
                running = [Thread(go, b, t, (own[b], grid)) for b in range(blocks) for t in range(threads)]
                for thread in running:
                    thread.start()
                for thread in running:
                    thread.join()
                errors = [thread.error for thread in running if thread.error]
                broken = (threading.BrokenBarrierError,)
                for error in sorted(errors, key=lambda error: isinstance(error, broken)):
                    raise error

    def shared_array(shared, shape, dtype, alignment=None):
        block = threading.current_thread().blockIdx.x
        dtype = numpy_support.as_dtype(dtype) if isinstance(dtype, types.Type) else np.dtype(dtype)
        caller = sys._getframe(1)
        where = block, 0 if shape == 0 else (caller.f_code.co_filename, caller.f_lineno)
        count = shared._dynshared_size // dtype.itemsize if shape == 0 else shape
        return shared._allocations.setdefault(where, np.empty(count, dtype))

    def grid_sync(group):
        thread = threading.current_thread()
        barriers = getattr(thread, "barriers", None)
        barriers[1].wait(TIMEOUT_S) if barriers else thread.syncthreads()

    with (
        patch.object(kernel, "BlockManager", Manager),
        patch.object(kernelapi.FakeCUDAShared, "array", shared_array),
        patch.object(kernelapi.GridGroup, "sync", grid_sync),
    ):
        yield
