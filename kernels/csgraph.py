"""A replacement for scipy.sparse.csgraph that finds shortest paths on a GPU.

The functions for shortest paths come from library/csgraph.py. All other names, such as `yen` and
`connected_components`, are SciPy's. So a program only has to change its import.
"""

from scipy.sparse.csgraph import *  # noqa: F403

from .library.csgraph import (  # type: ignore[no-redef]  # noqa: F401
    NegativeCycleError,
    bellman_ford,
    dijkstra,
    floyd_warshall,
    johnson,
    shortest_path,
)
