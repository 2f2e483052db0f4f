"""scipy.sparse.csgraph, with the shortest paths of kernels/library/csgraph.py in place of SciPy's.

All other names, such as `yen` and `connected_components`, are SciPy's, so that an import is all that a program changes.
"""

from scipy.sparse.csgraph import *  # noqa: F403

from kernels.library.csgraph import (  # type: ignore[no-redef]  # noqa: F401
    NegativeCycleError,
    bellman_ford,
    dijkstra,
    floyd_warshall,
    johnson,
    shortest_path,
)
