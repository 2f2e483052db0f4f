"""Shortest paths with the signatures of scipy.sparse.csgraph: the same arguments, results and errors.

from kernels import csgraph  # instead of: from scipy.sparse import csgraph
distances, predecessors = csgraph.dijkstra(array, indices=0, return_predecessors=True)

What was laid out of an array is kept for the next call with it. docs/scipy.md says what is exact, and what is given to
SciPy: everything where no GPU is visible, small graphs, and what no kernel takes. Errors of the arguments are SciPy's
own: what is not understood here is given to SciPy too.
"""

from __future__ import annotations

from numbers import Real

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph as scipys
from scipy.sparse.csgraph import NegativeCycleError

from kernels import memory
from kernels.fast.float_graph import FloatGraph
from kernels.graph import Graph, as_array
from kernels.library import choice, searches, solver
from kernels.library.answers import NO_PREDECESSOR, ROW_BYTES
from kernels.library.inputs import as_rows, graph_of
from kernels.library.solver import Solver

__all__ = ["NegativeCycleError", "bellman_ford", "dijkstra", "floyd_warshall", "johnson", "shortest_path"]


def dijkstra(
    csgraph,
    directed=True,
    indices=None,
    return_predecessors=False,
    unweighted=False,
    limit=np.inf,
    min_only=False,
):
    """As scipy.sparse.csgraph.dijkstra, whose documentation describes arguments, results and errors.

    Weights below 0 are given to SciPy, which warns. With a limit nothing beyond it is searched.
    """
    ours = None
    if isinstance(limit, Real) and limit >= 0:
        ours = _Question.of(csgraph, directed, indices, unweighted, one_row=min_only)
    if ours is None or ours.has_negative:
        return scipys.dijkstra(csgraph, directed, indices, return_predecessors, unweighted, limit, min_only)
    if min_only:
        return ours.nearest(return_predecessors, limit)
    return ours.rows(return_predecessors, limit)


def bellman_ford(csgraph, directed=True, indices=None, return_predecessors=False, unweighted=False):
    """As scipy.sparse.csgraph.bellman_ford, whose documentation describes arguments, results and errors."""
    return shortest_path(csgraph, "BF", directed, return_predecessors, unweighted, False, indices)


def johnson(csgraph, directed=True, indices=None, return_predecessors=False, unweighted=False):
    """As scipy.sparse.csgraph.johnson, whose documentation describes arguments, results and errors."""
    return shortest_path(csgraph, "J", directed, return_predecessors, unweighted, False, indices)


def floyd_warshall(csgraph, directed=True, return_predecessors=False, unweighted=False, overwrite=False):
    """As scipy.sparse.csgraph.floyd_warshall, whose documentation describes arguments, results and errors."""
    return shortest_path(csgraph, "FW", directed, return_predecessors, unweighted, overwrite)


def shortest_path(
    csgraph,
    method="auto",
    directed=True,
    return_predecessors=False,
    unweighted=False,
    overwrite=False,
    indices=None,
):
    """As scipy.sparse.csgraph.shortest_path, whose documentation describes arguments, results and errors.

    The variant is chosen whatever the method; "D" with weights below 0 is given to SciPy, which warns.
    """
    if method == "auto" and indices is None and sparse.issparse(csgraph) and 4 * csgraph.nnz >= csgraph.shape[0] ** 2:
        method = "FW"  # SciPy's choice; it reads entries of one place otherwise than the others
    ours = None
    known = not sparse.issparse(csgraph) or csgraph.format in ("csr", "csc", "lil")  # to SciPy's Floyd-Warshall
    if method in ("auto", "D", "BF", "J") or (method == "FW" and indices is None and known):
        ours = _Question.of(csgraph, directed, indices, unweighted, add=method != "FW")
    if ours is not None and not (method == "D" and ours.has_negative):
        try:
            found = ours.rows(return_predecessors)
        except NegativeCycleError:
            if method != "BF" or indices is None:
                raise  # else SciPy says whether the cycle is reached from the indices
        else:
            return _overwritten(csgraph, found) if overwrite and method == "FW" else found
    if method in ("auto", "FW") and type(csgraph) is np.ndarray and csgraph.ndim == 2:
        csgraph = np.ascontiguousarray(csgraph)  # SciPy's Floyd-Warshall leaves one in another order unsolved
    return scipys.shortest_path(csgraph, method, directed, return_predecessors, unweighted, overwrite, indices)


class _Question:
    """What is asked, for the kernels.

    sources: int64, (k,). shape: of the results, less the last dimension. has_negative: whether a weight given is below
    0, also where it is not to count.
    """

    def __init__(self, solver: Solver, sources: np.ndarray, shape: tuple, has_negative: bool):
        self.solver, self.sources, self.shape, self.has_negative = solver, sources, shape, has_negative

    @classmethod
    def of(cls, csgraph, directed, indices, unweighted, *, one_row=False, add=True) -> _Question | None:
        """None where SciPy is to answer. one_row: whether one search starts from all sources. add: for `_as_csr`."""
        if choice.Card.visible() is None:
            return None
        as_given = isinstance(csgraph, np.ndarray) or getattr(csgraph, "dtype", None) == np.float64  # whatever `add` is
        options = bool(directed), bool(unweighted), add or as_given
        own = solver.last.find(csgraph, options)
        array = None if own else _as_csr(csgraph, add)
        if own is None and array is None:
            return None
        n, entries = (own.graph.vertices, own.entries) if own else (array.shape[0], array.nnz)
        sources = np.arange(n) if indices is None else _vertices(indices, n)
        if sources is None or (1 if one_row else sources.size) * (n + entries) < choice.SMALL:
            return None
        if own is None:
            read = _read(array, directed, unweighted)
            if read is None:
                return None
            own = solver.last.keep(csgraph, lambda: _OfArray(array.nnz, *read), options)
        return cls(own, sources.ravel(), sources.shape, own.has_negative)

    def rows(self, predecessors: bool, limit: float = np.inf):
        """The distances from each source, and the predecessors where they are wanted."""
        if limit < np.inf:
            distances, last = self._within(predecessors, limit)
        elif predecessors:
            found = self.solver.paths_from(self.sources)
            distances, last = found.distances, found.predecessors
        else:
            distances = self.solver.distances(self.sources).distances
        distances = distances.reshape(*self.shape, -1)
        return (distances, last.reshape(*self.shape, -1)) if predecessors else distances

    def _within(self, tree: bool, limit: float) -> tuple:
        """Rows of distances up to the limit, and of predecessors. Raises InputError where they take too much memory."""
        k, n = len(self.sources), self.solver.graph.vertices
        what = f"{self.solver.graph.name}: paths from {k:,} sources take"
        each = ROW_BYTES + 4 * tree  # a predecessor is an int32
        memory.require(each * k * n, what, "take fewer sources at once")
        distances, last = np.empty((k, n)), np.empty((k, n), np.int32) if tree else None
        most = max(1, searches.PIECE // n)
        with self.solver.working():
            search = self.solver.in_float64.searches.search
            for first in range(0, k, most):
                rows = slice(first, first + most)
                some = self.sources[rows]
                found = search(n * np.arange(len(some)) + some, len(some), limit=limit, tree=tree)
                distances[rows] = found.dist
                if tree:
                    last[rows] = found.predecessors
        return distances, last

    def nearest(self, predecessors: bool, limit: float):
        """From the nearest of the sources: distances, (n,), and predecessors and sources where they are wanted."""
        once = np.unique(self.sources)
        with self.solver.working():
            on = self.solver.in_float64
            bounds = None if limit < np.inf else searches.bounds_from_any(on.graph, once)
            distances, last, _ = on.searches.search(once, 1, bounds, limit=limit, tree=predecessors)
        if not predecessors:
            return distances[0]
        return distances[0], last[0], roots(last[0], once)


class _OfArray(Solver):
    """The solver of an array; entries: how many it has. has_negative: as _Question has it."""

    def __init__(self, entries: int, rows: sparse.csr_array, has_negative: bool):
        super().__init__(rows)
        self.entries, self.has_negative = entries, has_negative

    def _read(self, rows: sparse.csr_array) -> Graph | FloatGraph:
        return graph_of(rows)  # as_rows has looked at the entries


def roots(predecessors: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """int32, (n,): the source whose tree each vertex is in, -9999 where it is in none.

    predecessors: int32, (n,), -9999 where there is none. sources: vertices without one.
    """
    ends = np.where(predecessors == NO_PREDECESSOR, np.arange(len(predecessors), dtype=np.int32), predecessors)
    while not np.array_equal(further := ends[ends], ends):
        ends = further
    return np.where(np.isin(ends, sources), ends, np.int32(NO_PREDECESSOR))


def _as_csr(csgraph, add: bool) -> sparse.csr_array | None:
    """The arcs that SciPy takes; None where this is not known here, or is no graph with a vertex.

    add: whether entries of one place are added where they are not float64. SciPy's astype does that; its Floyd-Warshall
    does not call it.
    """
    dense = isinstance(csgraph, np.ndarray) and not np.ma.isMaskedArray(csgraph)
    if not (dense or sparse.issparse(csgraph)) or csgraph.dtype.kind not in "biuf":
        return None
    if csgraph.ndim != 2 or not csgraph.shape[0] == csgraph.shape[1] > 0:
        return None
    if dense:
        return scipys.csgraph_from_dense(csgraph)
    array = csgraph.tocsr()
    return array.astype(np.float64, copy=False) if add else array


def _read(array: sparse.csr_array, directed, unweighted) -> tuple[sparse.csr_array, bool] | None:
    """The arcs, as inputs.as_rows has them, and whether a weight given is below 0.

    None where SciPy's methods differ in what they make of the weights.
    """
    rows, n = as_rows(array), array.shape[0]
    lowest = np.fmin.reduce(rows.data, initial=0)  # where there is NaN, of the others
    if lowest == -np.inf or (lowest < 0 and _has_negative_loop(rows)):
        return None
    if unweighted:
        if not np.isfinite(rows.data).all():
            return None
        rows.data = np.ones_like(rows.data)
    if not directed:
        both = sparse.hstack([rows, rows.T.tocsr()], format="csr")
        rows = sparse.csr_array((both.data, both.indices % n, both.indptr), shape=(n, n))
    return rows, bool(lowest < 0)


def _has_negative_loop(rows: sparse.csr_array) -> bool:
    tails = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return bool(((rows.data < 0) & (tails == rows.indices)).any())


def _vertices(indices, n: int) -> np.ndarray | None:
    """int64, of any shape, counted from the end where they are below 0; None where they are no vertices, or none."""
    array = as_array(indices)
    if array.dtype.kind not in "iu" or not array.size or array.min() < -n or array.max() >= n:
        return None
    return array.astype(np.int64) % n


def _overwritten(csgraph, found):
    """SciPy's result of overwriting: what was given, if it can hold the distances."""
    distances, *rest = found if isinstance(found, tuple) else (found,)
    if isinstance(csgraph, np.ndarray) and csgraph.dtype == np.float64 and csgraph.flags.c_contiguous:
        csgraph[:] = distances
        distances = csgraph
    return (distances, *rest) if rest else distances
