"""Shortest paths on a GPU: `kernels.shortest_paths(graph, source)` and `kernels.all_pairs(graph)`."""

__all__ = ["Paths", "all_pairs", "shortest_paths"]


def __getattr__(name):
    # Only when asked for: the variants take a second to import, and most modules need none of them.
    if name in __all__:
        from kernels import interface

        return getattr(interface, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
