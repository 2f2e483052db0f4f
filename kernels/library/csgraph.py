"""Shortest paths with the arguments, results and errors of scipy.sparse.csgraph.

Replace ``from scipy.sparse import csgraph`` by ``from cuda_shortest_paths import csgraph``. An array (dense, CSR, CSC,
BSR or COO) stays laid out on the card for the next call with the same array.

SciPy itself searches if there is no GPU, if the graph is small, or if no kernel supports the arguments. Therefore
invalid arguments raise SciPy's errors. docs/scipy.md lists these cases and says which results are exact.
"""

from __future__ import annotations

from functools import cache
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse import csgraph as scipys
from scipy.sparse.csgraph import NegativeCycleError

from ..fast.float_graph import FloatGraph
from ..graph import Graph, as_array
from . import choice, functions
from .answers import NO_PREDECESSOR
from .inputs import as_rows, from_dense, graph_of, is_dense
from .solver import Solver

__all__ = ["NegativeCycleError", "bellman_ford", "dijkstra", "floyd_warshall", "johnson", "shortest_path"]

Matrix = ArrayLike | sparse.sparray | sparse.spmatrix
Arrays = Any  # an array of distances, or a tuple of this array and the other requested arrays


def dijkstra(
    csgraph: Matrix,
    directed: bool = True,
    indices: ArrayLike | None = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
    limit: float = np.inf,
    min_only: bool = False,
) -> Arrays:
    """Find shortest paths in a graph without negative weights, as scipy.sparse.csgraph.dijkstra.

    Parameters
    ----------
    csgraph : array_like or SciPy sparse array, shape (n, n)
        Entry (i, j) is the weight of the arc from i to j. In a dense array, values within 1e-8 of 0, NaN and ``inf``
        are not arcs.
    directed : bool, default True
        If False, every arc may be used in both directions.
    indices : array_like of int, optional
        The sources; negative numbers count from the end. All vertices by default.
    return_predecessors : bool, default False
        Also return the predecessors.
    unweighted : bool, default False
        Count arcs instead of adding weights.
    limit : float, default inf
        The largest distance to search, 0 or more. Vertices beyond it have distance ``inf``.
    min_only : bool, default False
        For each vertex, find only the path from the nearest source.

    Returns
    -------
    dist_matrix : ndarray of float64, shape (..., n)
        Distances; ``inf`` if there is no path. The first dimensions are those of `indices`. If `min_only`, the shape
        is (n,).
    predecessors : ndarray of int32, same shape
        Only if `return_predecessors`: the vertex before each vertex on a shortest path; -9999 for the source, and if
        there is no path.
    sources : ndarray of int32, shape (n,)
        Only if `return_predecessors` and `min_only`: the nearest source; -9999 if there is no path.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid and SciPy raises the error.
    InputError
        If a sparse array is invalid, if there are more than 2**31 - 1 vertices or arcs, or if the graph or the result
        does not fit in the host's memory.
    NotEnoughMemory
        If the search does not fit in the card's memory.

    Notes
    -----
    If a weight is negative, SciPy itself searches, and warns.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from cuda_shortest_paths import csgraph
    >>> array = csr_array([[0, 4, 7], [0, 0, 1], [0, 0, 0]])
    >>> csgraph.dijkstra(array, indices=0)
    array([0., 4., 5.])
    >>> csgraph.dijkstra(array, indices=[0, 1], limit=4)
    array([[ 0.,  4., inf],
           [inf,  0.,  1.]])
    """
    ours = None
    if isinstance(limit, Real):
        limit = float(limit)  # as in SciPy: raises OverflowError for an integer that is too large, and True is 1
        if limit >= 0:
            ours = _SupportedCall.of(csgraph, directed, indices, unweighted, one_row=min_only)
    if ours is None or ours.has_negative:
        return scipys.dijkstra(  # type: ignore[call-overload]
            csgraph, directed, indices, return_predecessors, unweighted, limit, min_only
        )
    if min_only:
        return ours.nearest(return_predecessors, limit)
    return ours.rows(return_predecessors, limit)


def bellman_ford(
    csgraph: Matrix,
    directed: bool = True,
    indices: ArrayLike | None = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
) -> Arrays:
    """Find shortest paths in a graph that may have negative weights, as scipy.sparse.csgraph.bellman_ford.

    Parameters
    ----------
    csgraph, directed, indices, return_predecessors, unweighted
        See `dijkstra`.

    Returns
    -------
    dist_matrix : ndarray of float64, shape (..., n)
    predecessors : ndarray of int32, same shape
        See `dijkstra`.

    Raises
    ------
    NegativeCycleError
        If there is a negative cycle; with `indices`, only if a source reaches it.
    ValueError, TypeError, InputError, NotEnoughMemory
        As in `dijkstra`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from cuda_shortest_paths import csgraph
    >>> array = csr_array([[0, 4, 7], [0, 0, -1], [0, 0, 0]])
    >>> csgraph.bellman_ford(array, indices=0, return_predecessors=True)
    (array([0., 4., 3.]), array([-9999,     0,     1], dtype=int32))
    """
    return shortest_path(csgraph, "BF", directed, return_predecessors, unweighted, False, indices)


def johnson(
    csgraph: Matrix,
    directed: bool = True,
    indices: ArrayLike | None = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
) -> Arrays:
    """Find shortest paths in a sparse graph that may have negative weights, as scipy.sparse.csgraph.johnson.

    Parameters
    ----------
    csgraph, directed, indices, return_predecessors, unweighted
        See `dijkstra`.

    Returns
    -------
    dist_matrix : ndarray of float64, shape (..., n)
    predecessors : ndarray of int32, same shape
        See `dijkstra`.

    Raises
    ------
    NegativeCycleError
        If there is a negative cycle.
    ValueError, TypeError, InputError, NotEnoughMemory
        As in `dijkstra`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from cuda_shortest_paths import csgraph
    >>> array = csr_array([[0, 4, 7], [0, 0, -1], [0, 0, 0]])
    >>> csgraph.johnson(array)
    array([[ 0.,  4.,  3.],
           [inf,  0., -1.],
           [inf, inf,  0.]])
    """
    return shortest_path(csgraph, "J", directed, return_predecessors, unweighted, False, indices)


def floyd_warshall(
    csgraph: Matrix,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
) -> Arrays:
    """Find shortest paths between all pairs, as scipy.sparse.csgraph.floyd_warshall.

    Parameters
    ----------
    csgraph, directed, return_predecessors, unweighted
        See `dijkstra`.
    overwrite : bool, default False
        Write the distances into `csgraph` if it is a C-contiguous array of float64.

    Returns
    -------
    dist_matrix : ndarray of float64, shape (n, n)
    predecessors : ndarray of int32, shape (n, n)
        See `dijkstra`; there is a row for each source.

    Raises
    ------
    NegativeCycleError
        If there is a negative cycle.
    ValueError, TypeError, InputError, NotEnoughMemory
        As in `dijkstra`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from cuda_shortest_paths import csgraph
    >>> array = csr_array([[0, 4, 7], [0, 0, 1], [0, 0, 0]])
    >>> csgraph.floyd_warshall(array)
    array([[ 0.,  4.,  5.],
           [inf,  0.,  1.],
           [inf, inf,  0.]])
    """
    return shortest_path(csgraph, "FW", directed, return_predecessors, unweighted, overwrite)


def shortest_path(
    csgraph: Matrix,
    method: Literal["auto", "FW", "D", "BF", "J"] = "auto",
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
    indices: ArrayLike | None = None,
) -> Arrays:
    """Find shortest paths, as scipy.sparse.csgraph.shortest_path.

    Parameters
    ----------
    csgraph, directed, return_predecessors, unweighted, indices
        See `dijkstra`.
    method : {"auto", "FW", "D", "BF", "J"}
        The method decides, as in SciPy, which arguments are valid. It does not decide which kernels search.
    overwrite : bool, default False
        Write the distances into `csgraph` if it is a C-contiguous array of float64 and the method is "FW".

    Returns
    -------
    dist_matrix : ndarray of float64, shape (..., n)
    predecessors : ndarray of int32, same shape
        See `dijkstra`.

    Raises
    ------
    NegativeCycleError
        If there is a negative cycle; with `indices` and the method "BF", only if a source reaches it.
    ValueError, TypeError, InputError, NotEnoughMemory
        As in `dijkstra`.

    Notes
    -----
    If a weight is negative and the method is "D", SciPy itself searches, and warns.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from cuda_shortest_paths import csgraph
    >>> array = csr_array([[0, 4, 7], [0, 0, 1], [0, 0, 0]])
    >>> csgraph.shortest_path(array, unweighted=True, indices=0)
    array([0., 1., 1.])
    """
    ours = None
    if method == "auto" and indices is None and sparse.issparse(csgraph) and 4 * csgraph.nnz >= csgraph.shape[0] ** 2:
        method = "FW"  # as SciPy chooses, whose Floyd-Warshall does not add up duplicates
    known = not sparse.issparse(csgraph) or csgraph.format in ("csr", "csc", "lil")  # formats of SciPy's Floyd-Warshall
    if method in ("auto", "D", "BF", "J") or (method == "FW" and indices is None and known):
        ours = _SupportedCall.of(csgraph, directed, indices, unweighted, add=method != "FW")
    if ours is not None and not (method == "D" and ours.has_negative):
        try:
            found = ours.rows(return_predecessors)
        except NegativeCycleError:
            if method != "BF" or indices is None:
                raise
            # SciPy tests whether the sources reach the cycle.
        else:
            return _overwritten(csgraph, found) if overwrite and method == "FW" else found
    if method in ("auto", "FW") and type(csgraph) is np.ndarray and csgraph.ndim == 2:
        csgraph = np.ascontiguousarray(csgraph)  # SciPy's Floyd-Warshall requires this order
    return scipys.shortest_path(  # type: ignore[call-overload, misc]
        csgraph, method, directed, return_predecessors, unweighted, overwrite, indices
    )


class _SupportedCall:
    """A search that the kernels support.

    sources: int64, (k,). shape: the shape of the results without the last dimension. has_negative: whether a weight in
    the array is negative, even if `unweighted`.
    """

    def __init__(self, solver: Solver, sources: np.ndarray, shape: tuple, has_negative: bool) -> None:
        self.solver, self.sources, self.shape, self.has_negative = solver, sources, shape, has_negative

    @classmethod
    def of(
        cls,
        csgraph: Any,
        directed: bool,
        indices: ArrayLike | None,
        unweighted: bool,
        *,
        one_row: bool = False,
        add: bool = True,
    ) -> _SupportedCall | None:
        """Return the search; None if SciPy must search.

        one_row: whether one search starts from all sources together. add: see `_as_csr`.
        """
        if choice.Card.visible() is None:
            return None
        # A dense or float64 array is read alike with and without `add`.
        as_given = isinstance(csgraph, np.ndarray) or getattr(csgraph, "dtype", None) == np.float64
        options = bool(directed), bool(unweighted), add or as_given
        own = functions.last.find(csgraph, options)
        array: Any = None if own else _as_csr(csgraph, add)
        if own is None and array is None:
            return None
        n, entries = (own.graph.vertices, own.entries) if own else (array.shape[0], array.nnz)
        sources = np.arange(n) if indices is None else _vertices(indices, n)
        if sources is None or (1 if one_row else sources.size) * (n + entries) < choice.LEAST_WORK_FOR_CARD:
            return None
        if own is None:
            read = _rows_and_sign(array, unweighted)
            if read is None:
                return None
            own = functions.last.keep(csgraph, lambda: _OfArray(array.nnz, *read, directed=bool(directed)), options)
        return cls(own, sources.ravel(), sources.shape, own.has_negative)

    def rows(self, predecessors: bool, limit: float = np.inf) -> Arrays:
        """Return the distances from each source, and the predecessors if `predecessors` is true."""
        if not predecessors:
            return self.solver.distances(self.sources, limit=limit).distances.reshape(*self.shape, -1)
        found = self.solver.paths_from(self.sources, limit=limit)
        return found.distances.reshape(*self.shape, -1), found.predecessors.reshape(*self.shape, -1)

    def nearest(self, predecessors: bool, limit: float) -> Arrays:
        """Return the distances from the nearest source, (n,).

        If `predecessors` is true, also return the predecessors and the nearest sources.
        """
        once = np.unique(self.sources)
        distances, last = self.solver._from_nearest(once, limit, tree=predecessors)
        return distances if last is None else (distances, last, roots(last, once))


class _OfArray(Solver):
    """The solver of an array. entries: the number of the array's entries. has_negative: see `_SupportedCall`."""

    def __init__(self, entries: int, rows: sparse.csr_array, has_negative: bool, *, directed: bool) -> None:
        super().__init__(rows, directed=directed)
        self.entries, self.has_negative = entries, has_negative

    def _read(self, rows: sparse.csr_array) -> Graph | FloatGraph:
        return graph_of(rows)  # as_rows has checked the entries


def roots(predecessors: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """Return the source from which each vertex is reached, int32, (n,); -9999 if no source reaches it.

    predecessors: int32, (n,); -9999 if there is none. sources: vertices without a predecessor.
    """
    ends = np.where(predecessors == NO_PREDECESSOR, np.arange(len(predecessors), dtype=np.int32), predecessors)
    while not np.array_equal(further := ends[ends], ends):
        ends = further
    return np.where(np.isin(ends, sources), ends, np.int32(NO_PREDECESSOR))


def _as_csr(csgraph: Any, add: bool) -> sparse.csr_array | None:
    """Return the entries that SciPy reads, as CSR; None if the array's type is unknown or there is no vertex.

    add: whether to sum duplicate entries of an array that is not float64. SciPy's conversion by `astype` sums
    duplicates; SciPy's Floyd-Warshall does not call `astype`.
    """
    dense = is_dense(csgraph)
    if not (dense or sparse.issparse(csgraph)) or csgraph.dtype.kind not in "biuf":
        return None
    if csgraph.ndim != 2 or not csgraph.shape[0] == csgraph.shape[1] > 0:
        return None
    if dense:
        return from_dense(csgraph)
    array = csgraph.tocsr()
    if csgraph.format == "bsr" and _drops_zeros_of_bsr():
        array.eliminate_zeros()
    return array.astype(np.float64, copy=False) if add else array


@cache
def _drops_zeros_of_bsr() -> bool:
    """Return whether SciPy reads no zero of a BSR array as an arc, as it does from version 1.18 on."""
    block = sparse.bsr_array(np.array([[0.0, 1.0], [0.0, 0.0]]), blocksize=(2, 2))
    return bool(np.isinf(scipys.dijkstra(block, indices=1)[0]))


def _rows_and_sign(array: sparse.csr_array, unweighted: bool) -> tuple[sparse.csr_array, bool] | None:
    """Return the arcs in the form of `inputs.as_rows`, and whether a weight is negative.

    Return None if SciPy's methods treat a weight differently from each other.
    """
    rows = as_rows(array)
    lowest = np.fmin.reduce(rows.data, initial=0)  # ignores NaN
    if lowest == -np.inf or (lowest < 0 and _has_negative_loop(rows)):
        return None
    if unweighted:
        if not np.isfinite(rows.data).all():
            return None
        rows.data = np.ones_like(rows.data)
    return rows, bool(lowest < 0)


def _has_negative_loop(rows: sparse.csr_array) -> bool:
    tails = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return bool(((rows.data < 0) & (tails == rows.indices)).any())


def _vertices(indices: ArrayLike, n: int) -> np.ndarray | None:
    """Return the vertices as int64, in the given shape; None if a number is not a vertex or the array is empty.

    Negative numbers count from the end.
    """
    array = as_array(indices)
    if array.dtype.kind not in "iu" or not array.size or array.min() < -n or array.max() >= n:
        return None
    return array.astype(np.int64) % n


def _overwritten(csgraph: Any, found: Arrays) -> Arrays:
    """Return the result. If the given array is of float64 and C-contiguous, store the distances in it."""
    distances, *rest = found if isinstance(found, tuple) else (found,)
    if isinstance(csgraph, np.ndarray) and csgraph.dtype == np.float64 and csgraph.flags.c_contiguous:
        csgraph[:] = distances
        distances = csgraph
    return (distances, *rest) if rest else distances
