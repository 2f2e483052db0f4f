"""Centralities and other measures that need only sums and maxima of shortest distances.

No value is estimated from a sample. `Solver.eccentricities` reduces the distances from each vertex to a few numbers. If
a contraction hierarchy is chosen, the card reduces them; otherwise the host does, row by row. Names, definitions and
directions are those of NetworkX: closeness and harmonic centrality use the distances *to* a vertex, eccentricity uses
those *from* it.

Parameters
----------
graph : Graph, path, array or Solver
    See `shortest_paths`. A solver keeps the graph and its hierarchy on the card for further calls.
vertices : array_like of int, or of labels, shape (k,), optional
    The vertices to compute values for; all by default.
directed : bool, default True
    If False, every arc may be used in both directions. Ignored if a solver is given.

Raises
------
InputError, NotEnoughMemory, NegativeCycleError
    As in `distances`.

Examples
--------
>>> from cuda_shortest_paths import centrality
>>> from cuda_shortest_paths.graph import Graph
>>> path = Graph.from_edges([0, 1], [1, 2], [4, 1], directed=False)
>>> centrality.closeness_centrality(path), centrality.harmonic_centrality(path)
(array([0.22222222, 0.4       , 0.33333333]), array([0.45, 1.25, 1.2 ]))
>>> centrality.diameter(path), centrality.radius(path), centrality.center(path), centrality.periphery(path)
(5.0, 4.0, array([1]), array([0, 2]))
>>> centrality.wiener_index(path), centrality.average_shortest_path_length(path)
(10.0, 3.3333333333333335)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..graph import check_flag
from .answers import Eccentricities
from .functions import last
from .inputs import check_vertices
from .solver import Solver

if TYPE_CHECKING:
    from .solver import GraphLike

__all__ = [
    "average_shortest_path_length",
    "center",
    "closeness_centrality",
    "diameter",
    "eccentricity",
    "harmonic_centrality",
    "periphery",
    "radius",
    "wiener_index",
]


def closeness_centrality(
    graph: GraphLike | Solver, vertices: ArrayLike | None = None, *, wf_improved: bool = True, directed: bool = True
) -> np.ndarray:
    """Compute closeness of a vertex: the number of others that reach it, divided by the sum of their distances to it.

    Parameters
    ----------
    graph, vertices, directed
        See the module.
    wf_improved : bool, default True
        Whether to multiply by the share of the other vertices that reach the vertex (Wasserman and Faust).

    Returns
    -------
    ndarray of float64, shape (k,)
        0 if no other vertex reaches the vertex, or if the sum of the distances is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from cuda_shortest_paths import centrality
    >>> graph = np.array([[0, 4, 7, 0], [0, 0, 1, 0], [0, 0, 0, 2], [0, 6, 0, 0]])
    >>> centrality.closeness_centrality(graph, [0, 3])
    array([0.  , 0.25])
    """
    solver, wf_improved = _solver(graph, directed), check_flag(wf_improved, "wf_improved")
    found = _backward(solver).eccentricities(vertices)
    others, total = found.reached - 1.0, found.total
    closeness = np.divide(others, total, out=np.zeros(len(total)), where=total > 0)
    return closeness * (others / max(1, solver.graph.destinations - 1)) if wf_improved else closeness


def harmonic_centrality(
    graph: GraphLike | Solver,
    vertices: ArrayLike | None = None,
    sources: ArrayLike | None = None,
    *,
    directed: bool = True,
) -> np.ndarray:
    """Compute harmonic centrality: the sum of 1 / distance from the other vertices. Skip distances of 0.

    Parameters
    ----------
    graph, vertices, directed
        See the module.
    sources : array_like of int, or of labels, shape (s,), optional
        The vertices whose distances to a vertex are summed; all by default. Duplicates count once.

    Returns
    -------
    ndarray of float64, shape (k,)
        In a contraction hierarchy the summands are added in varying order, so the last digits vary from call to call.

    Examples
    --------
    >>> import numpy as np
    >>> from cuda_shortest_paths import centrality
    >>> graph = np.array([[0, 4, 7, 0], [0, 0, 1, 0], [0, 0, 0, 2], [0, 6, 0, 0]])
    >>> centrality.harmonic_centrality(graph, [0, 2])
    array([0.        , 1.34285714])
    """
    solver = _solver(graph, directed)
    if sources is None:
        sums = _backward(solver).eccentricities(vertices, reciprocals=True).reciprocals
        assert sums is not None
        return sums
    n = solver.graph.destinations
    wanted = np.arange(n) if vertices is None else check_vertices(solver.graph, vertices, "source")
    starts = np.unique(check_vertices(solver.graph, sources, "source"))
    if len(wanted) < len(starts):
        rows = _reciprocals(_backward(solver), wanted, starts)
        return np.concatenate([np.zeros(0), *(row.sum(axis=1) for row in rows)])
    return sum((row.sum(axis=0) for row in _reciprocals(solver, starts, wanted)), np.zeros(len(wanted)))


def eccentricity(graph: GraphLike | Solver, vertices: ArrayLike | None = None, *, directed: bool = True) -> np.ndarray:
    """Compute the largest distance from a vertex to any other vertex.

    Parameters
    ----------
    graph, vertices, directed
        See the module.

    Returns
    -------
    ndarray of float64, shape (k,)
        ``inf`` if the vertex does not reach all others. `eccentricities` ignores unreached vertices.

    Examples
    --------
    >>> import numpy as np
    >>> from cuda_shortest_paths import centrality
    >>> graph = np.array([[0, 4, 7, 0], [0, 0, 1, 0], [0, 0, 0, 2], [0, 6, 0, 0]])
    >>> centrality.eccentricity(graph, [0, 3])
    array([ 7., inf])
    """
    solver = _solver(graph, directed)
    found = solver.eccentricities(vertices)
    return np.where(found.reached == solver.graph.destinations, found.eccentricity, np.inf)


def diameter(graph: GraphLike | Solver, *, directed: bool = True) -> float:
    """Compute the largest eccentricity; ``inf`` if the graph is not strongly connected. Parameters: see the module."""
    return float(eccentricity(graph, directed=directed).max())


def radius(graph: GraphLike | Solver, *, directed: bool = True) -> float:
    """Compute the least eccentricity; ``inf`` if no vertex reaches all others. Parameters: see the module."""
    return float(eccentricity(graph, directed=directed).min())


def center(graph: GraphLike | Solver, *, directed: bool = True) -> np.ndarray:
    """Find the vertices whose eccentricity is the radius: numbers in ascending order, int64, or labels."""
    solver = _solver(graph, directed)
    found = eccentricity(solver)
    return solver.graph.named(np.flatnonzero(found == found.min()))


def periphery(graph: GraphLike | Solver, *, directed: bool = True) -> np.ndarray:
    """Find the vertices whose eccentricity is the diameter: numbers in ascending order, int64, or labels."""
    solver = _solver(graph, directed)
    found = eccentricity(solver)
    return solver.graph.named(np.flatnonzero(found == found.max()))


def average_shortest_path_length(graph: GraphLike | Solver, *, directed: bool = True) -> float:
    """Compute the mean distance over all ordered pairs of different vertices. Parameters: see the module.

    Returns
    -------
    float
        ``inf`` if the graph is not strongly connected; 0 for a single vertex.
    """
    solver = _solver(graph, directed)
    n = solver.graph.destinations
    return _sum(solver.eccentricities(), n) / max(1, n * (n - 1))


def wiener_index(graph: GraphLike | Solver, *, directed: bool = True) -> float:
    """Compute the sum of the distances over all pairs of vertices. Parameters: see the module.

    The pairs are unordered if `directed` is False or the graph is an undirected `Graph`, else ordered.

    Returns
    -------
    int or float
        ``inf`` if the graph is not strongly connected. An int if the pairs are ordered and the distances are integers.
    """
    solver = _solver(graph, directed)
    total = _sum(solver.eccentricities(), solver.graph.destinations)
    return total if solver.directed else total / 2


def _solver(graph: GraphLike | Solver, directed: bool) -> Solver:
    return graph if isinstance(graph, Solver) else last.solver(graph, directed)


def _backward(solver: Solver) -> Solver:
    """Return the solver of the graph with every arc reversed."""
    with solver._working():
        return solver._backward


def _sum(found: Eccentricities, n: int) -> float:
    """Return the sum of all distances; ``inf`` if a vertex does not reach all others."""
    if (found.reached < n).any():
        return math.inf
    totals = found.total.tolist()  # Python's integers do not overflow
    return math.fsum(totals) if found.total.dtype == np.float64 else sum(totals)


def _reciprocals(solver: Solver, sources: np.ndarray, targets: np.ndarray) -> Iterator[np.ndarray]:
    """Yield 1 / distance from the sources to the targets, in pieces, in order; 0 if a distance is 0 or infinite."""
    for _, rows in solver.distance_pieces(solver.graph.named(sources), solver.graph.named(targets)):
        yield np.divide(1, rows, out=np.zeros_like(rows), where=rows != 0)
