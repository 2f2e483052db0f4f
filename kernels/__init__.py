"""Find shortest paths on a GPU. Each function chooses the kernels that suit the graph.

    shortest_paths(graph, source)   distances and predecessors from one source
    all_pairs(graph)                distances and predecessors from all vertices
    distances(graph, sources)       distances from several sources, to several targets or all vertices
    distance_pieces(graph, ...)     the same, a few sources at a time
    nearest(graph, sources, k)      the nearest vertices, or nearest facilities, of several sources or all vertices
    reachable(graph, sources, d)    the vertices within a distance of several sources
    pair_distances(graph, s, t)     the distance of each of several pairs
    routes(graph, s, t)             the shortest path of each of several pairs
    eccentricities(graph)           each vertex's farthest vertex and sum of distances
    with_turns(graph, forbidden)    the graph with forbidden and costly turns
    prepare(graph)                  a `Solver` with these functions, which keeps the graph on the card

The module `csgraph` has the names and signatures of scipy.sparse.csgraph, `centrality` closeness and related measures,
`graph` the class `Graph`, `io` the readers of graph files, and `errors` the exceptions. Each module is imported when it
is first used. `__version__` is the version.

The package is installed as cuda_shortest_paths. In the repository it is the folder kernels/, which is imported as
`kernels`.

Examples
--------
>>> import numpy as np
>>> import cuda_shortest_paths
>>> graph = np.array([[0, 4, 7, 0], [0, 0, 1, 0], [0, 0, 0, 2], [0, 6, 0, 0]])
>>> paths = cuda_shortest_paths.shortest_paths(graph, source=0)
>>> paths.distances
array([0., 4., 5., 7.])
>>> with cuda_shortest_paths.prepare(graph) as solver:
...     solver.path(0, 3)
[0, 1, 2, 3]
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import centrality, csgraph, errors, generate, graph, io  # noqa: F401
    from .graph import Graph
    from .library.answers import Distances, Eccentricities, Nearest, Paths, Routes
    from .library.functions import (
        all_pairs,
        distance_pieces,
        distances,
        eccentricities,
        nearest,
        pair_distances,
        prepare,
        reachable,
        routes,
        shortest_paths,
    )
    from .library.solver import Solver
    from .turns import with_turns

    __version__: str

__all__ = [
    "Distances",
    "Eccentricities",
    "Graph",
    "Nearest",
    "Paths",
    "Routes",
    "Solver",
    "all_pairs",
    "distance_pieces",
    "distances",
    "eccentricities",
    "nearest",
    "pair_distances",
    "prepare",
    "reachable",
    "routes",
    "shortest_paths",
    "with_turns",
]
MODULES = "centrality", "csgraph", "errors", "generate", "graph", "io"


def __getattr__(name: str) -> Any:
    """Import a module when it is first used, because importing SciPy and CUDA's bindings is slow."""
    if name in __all__:
        module = {"with_turns": ".turns", "Graph": ".graph"}.get(name, ".library.functions")
        return getattr(importlib.import_module(module, __name__), name)
    if name in MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name == "__version__":
        return _version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *MODULES, "__version__"])


def _version() -> str:
    """Return the version: from pyproject.toml in a checkout, else from the installed distribution."""
    if __name__ == "kernels":
        import tomllib

        project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
        return project["project"]["version"]
    from importlib import metadata

    return metadata.version("cuda-shortest-paths")
