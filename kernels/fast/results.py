"""Conversion of results to SciPy's form and to the user's unit, on the card."""

import numpy as np

from ..gpu.compiler import cuda
from ..gpu.intrinsics import f64, thread_x, u64
from ..graph import INF

NO_PREDECESSOR = -9999


@cuda.jit
def as_scipy(dist, predecessor, distances):
    """Convert distances to float64, inf if there is no path, and -1 in `predecessor` to NO_PREDECESSOR."""
    v = thread_x()
    if v < len(dist):
        distances[v] = np.inf if dist[v] == INF else np.float64(dist[v])
        if predecessor[v] < 0:
            predecessor[v] = NO_PREDECESSOR


@cuda.jit
def scale(lengths, divisor_and_factor, scaled):
    """Convert lengths to floats in the user's unit; INF becomes inf. The arrays may share their memory."""
    i = u64(u64(cuda.blockIdx.x) * u64(cuda.blockDim.x) + u64(cuda.threadIdx.x))
    if i < u64(len(lengths)):
        length = f64(lengths[i])
        scaled[i] = np.inf if length == INF else length / divisor_and_factor[0] * divisor_and_factor[1]
