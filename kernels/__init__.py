"""Shortest paths on a GPU, by the variant that suits the graph.

shortest_paths(graph, source)       distances and predecessors from one source
all_pairs(graph)                    of all pairs
distances(graph, sources)           distances from many sources
eccentricities(graph)               of each vertex the farthest one, and the sum of distances
prepare(graph)                      a solver with these functions, which keeps the graph on the card

kernels.csgraph has SciPy's signatures, kernels.graph the class Graph, kernels.io the readers of files and
kernels.errors the errors; each is imported when it is first named.
"""

import importlib

__all__ = [
    "Distances",
    "Eccentricities",
    "Paths",
    "Solver",
    "all_pairs",
    "distances",
    "eccentricities",
    "prepare",
    "shortest_paths",
]
MODULES = "csgraph", "errors", "generate", "graph", "io"


def __getattr__(name):
    # Only when asked for: it imports SciPy and CUDA's bindings, which most modules do not need.
    if name in __all__:
        from kernels.library import solver

        return getattr(solver, name)
    if name in MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__, *MODULES})
