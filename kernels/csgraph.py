"""Shortest paths with the signatures of scipy.sparse.csgraph, defined in kernels/library/csgraph.py."""

from kernels.library.csgraph import NegativeCycleError, bellman_ford, dijkstra, floyd_warshall, johnson, shortest_path

__all__ = ["NegativeCycleError", "bellman_ford", "dijkstra", "floyd_warshall", "johnson", "shortest_path"]
