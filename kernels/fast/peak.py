"""The card's peak rate of integer relaxations, min(a + b, c), and the rate of blocked Floyd-Warshall.

    chains    every thread makes CHAINS independent chains of relaxations in registers and accesses memory only before
              and after them: the peak
    dense     the rounds of blocked Floyd-Warshall on a random matrix with an arc for every pair

If distances are packed, one instruction makes two relaxations.
"""

from functools import cache

import numpy as np

from ..errors import WrongResult
from ..gpu.compiler import cuda, uint32
from ..gpu.intrinsics import add_min, add_min_pairs, u32
from ..run import Run
from .blocked_floyd_warshall import TileShape, run_rounds

CHAINS = 48
THREADS = 512  # maximum per block; each thread needs 2 * CHAINS registers
PAIR = 0x10001  # PAIR * x is a word with x in both halves
MAX_PEAK_WEIGHT = 100
CHECKED = 2  # rows of a dense matrix that are checked


@cache
def chains_kernel(packed: bool):
    relax = add_min_pairs if packed else add_min

    @cuda.jit
    def chains(times, step, limits, reached):
        value = cuda.local.array(CHAINS, uint32)
        limit = cuda.local.array(CHAINS, uint32)
        first = u32((cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) * CHAINS)
        c = u32(0)
        while c < CHAINS:
            value[c], limit[c] = u32(0), limits[u32(first + c)]
            c = u32(c + 1)
        i = u32(0)
        while i < times:
            c = u32(0)
            while c < CHAINS:
                value[c] = relax(value[c], step, limit[c])
                c = u32(c + 1)
            i = u32(i + 1)
        c = u32(0)
        while c < CHAINS:
            reached[u32(first + c)] = value[c]
            c = u32(c + 1)

    return chains


def chains(run: Run, packed: bool, times: int) -> tuple[int, float]:
    """Make `times` relaxations in each of CHAINS chains per thread; return the number of relaxations and the seconds.

    Raises WrongResult if a chain ends in a wrong value.
    """
    threads = min(run.block, THREADS)
    limits = np.random.default_rng(0).integers(1, 2**15, run.blocks * threads * CHAINS).astype(np.uint32)
    both = u32(PAIR if packed else 1)
    on_card, reached = run.upload(limits * both, np.zeros_like(limits))
    with run.timed(), run.phase("kernels"):
        run.launch((chains_kernel(packed), run.blocks, threads, (u32(times), both, on_card, reached)))
    ends = np.zeros_like(limits)
    run.download((reached, ends))
    if (ends != np.minimum(limits, times) * both).any():
        raise WrongResult(f"chains of {times} relaxations, packed {packed}: an end is wrong")
    return len(limits) * times * (2 if packed else 1), run.phases["kernels"]


def dense(run: Run, packed: bool, vertices: int) -> tuple[int, float]:
    """Run the rounds on random weights from 1 to MAX_WEIGHT; return the number of relaxations, n^3, and the seconds.

    Raises NotEnoughMemory if the card has less than n^2 words free, and WrongResult if one of CHECKED rows does not
    solve Bellman's equation, whose solution is unique because all weights are positive.
    """
    shape, n, random = TileShape.of(run, packed), vertices, np.random.default_rng(0)
    weights = random.integers(1, MAX_PEAK_WEIGHT + 1, (n, n), np.uint8)
    size = shape.rounds(n) * shape.tile, shape.pitch(n) * shape.per_word
    matrix = np.full(size, shape.inf & (0xFFFF if packed else 0xFFFFFFFF), np.uint16 if packed else np.uint32)
    matrix[:n, :n] = weights
    np.fill_diagonal(matrix, 0)
    run.require(matrix.nbytes)
    (on_card,) = run.upload(matrix.ravel().view(np.uint32))
    run.cuda_graph = True  # as in the variants of blocked Floyd-Warshall
    with run.timed(), run.phase("kernels"):
        run_rounds(shape, n, on_card, run)
    run.download((on_card, matrix.ravel().view(np.uint32)))
    for source in random.choice(n, min(n, CHECKED), replace=False):
        dist, through = matrix[source, :n].astype(np.int32), np.full(n, MAX_PEAK_WEIGHT, np.int32)
        for u in range(n):  # all weights are positive, so the arc from u to u never gives the least sum
            np.minimum(through, dist[u] + weights[u], out=through)
        through[source] = 0
        if (dist != through).any():
            raise WrongResult(f"dense matrix of {n} vertices, packed {packed}: row {source} is wrong")
    return n**3, run.phases["kernels"]
