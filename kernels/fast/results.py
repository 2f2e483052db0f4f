"""Results of searches as SciPy has them, made on the card."""

import numpy as np
from numba import cuda

from kernels.gpu.intrinsics import thread_x
from kernels.graph import INF

NO_PREDECESSOR = -9999


@cuda.jit
def as_scipy(dist, predecessor, distances):
    """distances: float64, (n,), infinite where there is no path. In predecessor NO_PREDECESSOR replaces -1."""
    v = thread_x()
    if v < len(dist):
        distances[v] = np.inf if dist[v] == INF else np.float64(dist[v])
        if predecessor[v] < 0:
            predecessor[v] = NO_PREDECESSOR


@cuda.jit
def as_lengths(dist, fits, lengths, far):
    """lengths: float64, (n,), infinite where there is no path. far[0] is 1 where another distance is above `fits`."""
    v = thread_x()
    if v < len(dist):
        d = dist[v]
        lengths[v] = np.inf if d == INF else np.float64(d)
        if d != INF and d > fits:
            far[0] = 1
