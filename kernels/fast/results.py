"""Conversion of results to SciPy's form, on the card."""

import numpy as np

from ..gpu.compiler import cuda
from ..gpu.intrinsics import thread_x
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
