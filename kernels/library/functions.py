"""The functions of a graph: the searches of `Solver`, and the solver that is kept from call to call."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from ..fast.float_graph import FloatGraph
from ..graph import Graph, check_flag
from ..lazy import LazyModule
from .answers import Distances, Eccentricities, Nearest, Paths, Routes
from .choice import NEAR_FAR, choose_sssp
from .reweighting import detached
from .solver import Solver

if TYPE_CHECKING:
    from scipy import sparse

    from .solver import GraphLike
else:
    sparse = LazyModule("scipy.sparse")
Parameters = ParamSpec("Parameters")
Found = TypeVar("Found", covariant=True)
SolverType = TypeVar("SolverType", bound=Solver)


def prepare(graph: GraphLike, *, directed: bool = True, labels: bool = True) -> Solver:
    """Prepare repeated searches on one graph: read it, lay it out on the card, compile the search from one source.

    Parameters
    ----------
    graph, directed
        See `shortest_paths`.
    labels : bool, default True
        If False, the solver takes and returns the numbers of vertices, from 0, also if the graph has labels.

    Returns
    -------
    Solver

    Raises
    ------
    InputError, NotEnoughMemory, NegativeCycleError
        As in `shortest_paths`.

    Examples
    --------
    >>> import numpy as np
    >>> import cuda_shortest_paths
    >>> graph = np.array([[0, 4, 7, 0], [0, 0, 1, 0], [0, 0, 0, 2], [0, 6, 0, 0]])
    >>> with cuda_shortest_paths.prepare(graph) as solver:
    ...     solver.shortest_paths(0).distances[3], solver.path(0, 3)
    (np.float64(7.0), [0, 1, 2, 3])
    """
    solver = Solver(graph, directed=directed, labels=labels)
    if solver.on_card and choose_sssp(solver.graph, solver._card)[0] == NEAR_FAR:
        (first,) = solver.graph.named(np.zeros(1, np.int64)).tolist()
        solver.shortest_paths(first)  # compiles or loads the kernels of this search, and no others
    return solver


def shortest_paths(graph: GraphLike, source: Hashable, *, limit: float = np.inf, directed: bool = True) -> Paths:
    """Find shortest paths from one source to all vertices.

    Parameters
    ----------
    graph : Graph, file path, or NumPy or SciPy sparse array of shape (n, n)
        `io.read_graph` describes the forms of files; here a sparse array in a file (.npz, .mtx) may have any real
        weights. Entry (i, j) of an array is the weight of the arc from i to j. NaN and ``inf`` are not arcs, and
        True has weight 1. Explicit zeros of a sparse array are arcs of weight 0, except in BSR and DIA format. Values
        within 1e-8 of 0 in a dense array are not arcs. Duplicate entries are parallel arcs in all formats, so the
        cheapest one counts.
    source : int, or label
        A vertex. Vertices are numbered from 0, unless the graph has labels (see `Graph.from_edges`).
    limit : float, default inf
        The largest distance to search, 0 or more. Vertices beyond it have distance ``inf`` and no predecessor.
    directed : bool, default True
        If False, every arc may be used in both directions.

    Returns
    -------
    Paths
        Distances and predecessors of shape (n,), the chosen variant and the reason for the choice.

    Raises
    ------
    InputError
        If an argument has a wrong type or value, if a file cannot be read, or if `limit` is given and a weight is
        negative.
    scipy.sparse.csgraph.NegativeCycleError
        If there is a negative cycle.
    NotEnoughMemory
        If the search does not fit in the card's memory.

    See Also
    --------
    prepare : For several searches on one graph.
    csgraph.dijkstra : With SciPy's signature.

    Notes
    -----
    The layout of a `Graph` or an array (dense, CSR, CSC, BSR or COO) is kept for the next call. A changed array is read
    again. Do not change the arrays of a `Graph`: later calls may return distances in the old graph.
    docs/scipy.md lists the arrays that SciPy and `csgraph` read differently from this function.

    Examples
    --------
    >>> import numpy as np
    >>> import cuda_shortest_paths
    >>> graph = np.array([[0, 4, 7, 0], [0, 0, 1, 0], [0, 0, 0, 2], [0, 6, 0, 0]])
    >>> paths = cuda_shortest_paths.shortest_paths(graph, source=0)
    >>> paths.distances
    array([0., 4., 5., 7.])
    >>> paths.predecessors
    array([-9999,     0,     1,     2], dtype=int32)
    >>> cuda_shortest_paths.shortest_paths(graph, source=3, limit=5, directed=False).distances
    array([inf,  3.,  2.,  0.])
    """
    return last.solver(graph, directed).shortest_paths(source, limit=limit)


class OfGraph(Protocol[Parameters, Found]):
    """A function with the parameters of a method of Solver, between `graph` and `directed`.

    ParamSpec allows no further keyword, so type checkers check no other parameter in a call with `directed`.
    """

    @overload
    def __call__(self, graph: GraphLike, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Found: ...
    @overload
    def __call__(self, graph: GraphLike, *args: Any, directed: bool, **kwargs: Any) -> Found: ...


def of_graph(
    method: Callable[Concatenate[Solver, Parameters], Found],
) -> Callable[[Callable[..., Found]], OfGraph[Parameters, Found]]:
    """Give a function the parameters of a method of Solver, and give the method the function's docstring.

    The method's docstring lacks `graph`, `directed` and the examples.
    """

    def decorate(function: Callable[..., Found]) -> Any:
        signature, (_, *parameters) = inspect.signature(function), inspect.signature(method).parameters.values()
        graph, _, directed, _ = signature.parameters.values()
        vars(function)["__signature__"] = signature.replace(parameters=[graph, *parameters, directed])
        text = inspect.cleandoc(function.__doc__ or "").partition("\n\nExamples\n")[0]
        for unwanted in ("graph, directed\n    See `shortest_paths`.\n", "Parameters\n----------\n\n"):
            text = text.replace(unwanted, "")
        method.__doc__ = text
        return function

    return decorate


@of_graph(Solver.all_pairs)
def all_pairs(graph: GraphLike, *args: Any, directed: bool = True, **kwargs: Any) -> Paths:
    """Find shortest paths between all pairs of vertices.

    Parameters
    ----------
    graph, directed
        See `shortest_paths`.

    Returns
    -------
    Paths
        Distances and predecessors of shape (n, n), with a row for each source.

    Raises
    ------
    InputError
        As in `shortest_paths`, and if the result does not fit in the host's memory.
    NotEnoughMemory, NegativeCycleError
        As in `shortest_paths`.

    Examples
    --------
    >>> import numpy as np
    >>> import cuda_shortest_paths
    >>> graph = np.array([[0, 4, 7, 0], [0, 0, 1, 0], [0, 0, 0, 2], [0, 6, 0, 0]])
    >>> cuda_shortest_paths.all_pairs(graph).distances[3]
    array([inf,  6.,  7.,  0.])
    """
    return last.solver(graph, directed).all_pairs(*args, **kwargs)


@of_graph(Solver.distances)
def distances(graph: GraphLike, *args: Any, directed: bool = True, **kwargs: Any) -> Distances:
    """Find the distances from several sources to several targets, or to all vertices, without predecessors.

    Parameters
    ----------
    graph, directed
        See `shortest_paths`.
    sources : array_like of int, or of labels, shape (k,)
        Vertices in any order; duplicates are allowed.
    targets : array_like of int, or of labels, shape (t,), optional
        Vertices in any order; duplicates are allowed. All vertices by default.
    dtype : {float64, float32, int32}
        The type of the distances. If there is no path, the distance is ``inf``, or 2**31 - 1 for int32.
    limit
        See `shortest_paths`.
    second : array_like of float, shape (e,), optional
        A second value of each edge, which is summed along the shortest paths; see `routes`.
    out : {"host", "device"}
        With "device" the distances stay on the card as a device array, which CuPy and PyTorch use without a copy.

    Returns
    -------
    Distances
        Distances of shape (k, t), with a row for each source.

    Raises
    ------
    InputError
        As in `shortest_paths`. Also if the sources or targets are not a one-dimensional array of integers, or if the
        result does not fit in the host's memory. With dtype int32, or with ``out="device"`` and without `second`, also
        if a weight or a distance is not an integer from 0 to 2**31 - 2 (with ``out="device"``, times the graph's unit).
        With ``out="device"``, also if there is no GPU.
    NotEnoughMemory, NegativeCycleError
        As in `shortest_paths`.

    See Also
    --------
    distance_pieces : For results that do not fit in memory.

    Notes
    -----
    With `targets`, a search in a contraction hierarchy skips parts that lead to no target, and only the distances
    to the targets are copied to the host. The method is RPHAST (D. Delling, A. V. Goldberg and R. F. Werneck, Faster
    Batched Shortest Paths in Road Networks, ATMOS 2011).

    Examples
    --------
    >>> import numpy as np
    >>> import cuda_shortest_paths
    >>> graph = np.array([[0, 4, 7, 0], [0, 0, 1, 0], [0, 0, 0, 2], [0, 6, 0, 0]])
    >>> cuda_shortest_paths.distances(graph, sources=[0, 3]).distances
    array([[ 0.,  4.,  5.,  7.],
           [inf,  6.,  7.,  0.]])
    >>> cuda_shortest_paths.distances(graph, [0, 3], targets=[3, 0], dtype="int32").distances
    array([[         7,          0],
           [         0, 2147483647]], dtype=int32)
    """
    return last.solver(graph, directed).distances(*args, **kwargs)


@of_graph(Solver.distance_pieces)
def distance_pieces(
    graph: GraphLike, *args: Any, directed: bool = True, **kwargs: Any
) -> Iterator[tuple[slice, np.ndarray]]:
    """Find the same distances as `distances`, a few sources at a time, for results that do not fit in memory.

    Parameters
    ----------
    graph, directed
        See `shortest_paths`.
    sources, targets, dtype, limit
        See `distances`.
    rows : int, optional
        Number of sources in a piece. By default a piece takes up to 256 MiB.

    Yields
    ------
    which : slice
        Positions in `sources`. The pieces are in order.
    distances : ndarray, shape (k, t)
        The distances from these sources.

    Raises
    ------
    InputError, NotEnoughMemory, NegativeCycleError
        As in `distances`.

    Examples
    --------
    >>> import numpy as np
    >>> import cuda_shortest_paths
    >>> graph = np.array([[0, 4, 7, 0], [0, 0, 1, 0], [0, 0, 0, 2], [0, 6, 0, 0]])
    >>> for which, rows in cuda_shortest_paths.distance_pieces(graph, [0, 3, 1], targets=[3], rows=2):
    ...     print(which, rows.tolist())
    slice(0, 2, None) [[7.0], [0.0]]
    slice(2, 3, None) [[3.0]]
    """
    return last.solver(graph, directed).distance_pieces(*args, **kwargs)


@of_graph(Solver.nearest)
def nearest(graph: GraphLike, *args: Any, directed: bool = True, **kwargs: Any) -> sparse.csr_array | Nearest:
    """Find the `k` vertices that are nearest to each source, or the `k` nearest of some facilities.

    Parameters
    ----------
    graph, directed
        See `shortest_paths`.
    sources : array_like of int, or of labels, shape (s,), or None
        Vertices in any order; duplicates are allowed. With `targets`, None stands for all vertices.
    k : int
        Number of vertices, 1 or more. Without `targets`, the source is one of them.
    targets : array_like of int, or of labels, shape (t,), optional
        The facilities to choose from. All vertices by default. Duplicates count once.
    limit : float, default inf
        The largest distance, 0 or more.
    reverse : bool, default False
        If True, find distances to each source, not from each source.

    Returns
    -------
    Nearest
        If `targets` is given. Ties are broken by the position in `targets`.
    scipy.sparse.csr_array of float64, shape (s, n)
        Otherwise. A row for each source, with sorted indices, which are numbers of vertices. Distances of 0, such as
        the source's own, are explicit entries. A row has fewer than `k` entries if the source reaches fewer vertices.
        Ties are broken by the vertex's number.

    Raises
    ------
    InputError
        As in `distances`. Also if `k` is not an integer of 1 or more, or if `sources` is None without `targets`.
    NotEnoughMemory, NegativeCycleError
        As in `shortest_paths`.

    Notes
    -----
    With `targets`, a search in a contraction hierarchy ascends from each target and then sweeps once over all vertices,
    so it takes about as long for one source as for all.

    Examples
    --------
    >>> import numpy as np
    >>> import cuda_shortest_paths
    >>> graph = np.array([[0, 4, 7, 0], [0, 0, 1, 0], [0, 0, 0, 2], [0, 6, 0, 0]])
    >>> found = cuda_shortest_paths.nearest(graph, [0, 3], k=3)
    >>> found.indices.tolist(), found.data.tolist()
    ([0, 1, 2, 1, 2, 3], [0.0, 4.0, 5.0, 6.0, 7.0, 0.0])
    >>> found = cuda_shortest_paths.nearest(graph, None, k=1, targets=[3, 2])
    >>> found.targets.ravel().tolist(), found.distances.ravel().tolist(), found.counts.tolist()
    ([2, 2, 2, 3], [5.0, 1.0, 0.0, 0.0], [1, 3])
    """
    return last.solver(graph, directed).nearest(*args, **kwargs)


@of_graph(Solver.reachable)
def reachable(graph: GraphLike, *args: Any, directed: bool = True, **kwargs: Any) -> sparse.csr_array:
    """Find all vertices within `limit` of each source, and their distances (isochrones).

    Parameters
    ----------
    graph, directed
        See `shortest_paths`.
    sources : array_like of int, or of labels, shape (s,)
        Vertices in any order; duplicates are allowed.
    limit : float
        The largest distance, 0 or more.
    reverse : bool, default False
        If True, find distances to each source, not from each source.

    Returns
    -------
    scipy.sparse.csr_array of float64, shape (s, n)
        A row for each source, with sorted indices, which are numbers of vertices. Distances of 0, such as the source's
        own, are explicit entries.

    Raises
    ------
    InputError
        As in `distances`.
    NotEnoughMemory, NegativeCycleError
        As in `shortest_paths`.

    Examples
    --------
    >>> import numpy as np
    >>> import cuda_shortest_paths
    >>> graph = np.array([[0, 4, 7, 0], [0, 0, 1, 0], [0, 0, 0, 2], [0, 6, 0, 0]])
    >>> found = cuda_shortest_paths.reachable(graph, [0, 3], limit=5)
    >>> found.indices.tolist(), found.data.tolist()
    ([0, 1, 2, 3], [0.0, 4.0, 5.0, 0.0])
    >>> cuda_shortest_paths.reachable(graph, [3], limit=5, reverse=True).indices.tolist()
    [1, 2, 3]
    """
    return last.solver(graph, directed).reachable(*args, **kwargs)


def eccentricities(graph: GraphLike, sources: ArrayLike | None = None, *, directed: bool = True) -> Eccentricities:
    """Find, for each source, the farthest vertex, the number of reached vertices and the sum of distances to them.

    Parameters
    ----------
    graph, directed
        See `shortest_paths`.
    sources : array_like of int, or of labels, shape (k,), optional
        All vertices by default.

    Returns
    -------
    Eccentricities
        Arrays of shape (k,).

    Raises
    ------
    InputError, NotEnoughMemory, NegativeCycleError
        As in `distances`.

    Notes
    -----
    If the chosen variant is a contraction hierarchy, the results are computed on the card. With other variants the host
    computes them, row by row.

    Examples
    --------
    >>> import numpy as np
    >>> import cuda_shortest_paths
    >>> graph = np.array([[0, 4, 7, 0], [0, 0, 1, 0], [0, 0, 0, 2], [0, 6, 0, 0]])
    >>> found = cuda_shortest_paths.eccentricities(graph, sources=[0, 3])
    >>> found.eccentricity.tolist(), found.farthest.tolist(), found.total.tolist()
    ([7, 7], [3, 2], [16, 13])
    """
    return last.solver(graph, directed).eccentricities(sources)


@of_graph(Solver.pair_distances)
def pair_distances(graph: GraphLike, *args: Any, directed: bool = True, **kwargs: Any) -> Distances:
    """Find the distance of each of several pairs: from sources[i] to targets[i].

    Parameters
    ----------
    graph, directed
        See `shortest_paths`.
    sources, targets : array_like of int, shape (p,)
        Vertices; duplicates are allowed. Arrays of int32 take the least time.
    dtype, out
        See `distances`.

    Returns
    -------
    Distances
        Distances of shape (p,).

    Raises
    ------
    InputError, NotEnoughMemory, NegativeCycleError
        As in `distances` with a second value. InputError also if there are not as many sources as targets.

    Notes
    -----
    If a contraction hierarchy suits the graph, the distances between each vertex and its ancestors are kept on the
    card (hierarchical hub labels: I. Abraham, D. Delling, A. V. Goldberg and R. F. Werneck, ESA 2012). In other graphs,
    and if a distance exceeds 2**31 - 2, each distinct source is searched. With ``out="device"``, results that are found
    on the host are copied to the card.

    Examples
    --------
    >>> import numpy as np
    >>> import cuda_shortest_paths
    >>> graph = np.array([[0, 4, 7, 0], [0, 0, 1, 0], [0, 0, 0, 2], [0, 6, 0, 0]])
    >>> cuda_shortest_paths.pair_distances(graph, [0, 3], [3, 1]).distances
    array([7., 6.])
    """
    return last.solver(graph, directed).pair_distances(*args, **kwargs)


@of_graph(Solver.routes)
def routes(graph: GraphLike, *args: Any, directed: bool = True, **kwargs: Any) -> Routes:
    """Find a shortest path for each of several pairs: from sources[i] to targets[i].

    Parameters
    ----------
    graph, directed
        See `shortest_paths`.
    sources, targets : array_like of int, shape (p,)
        Vertices; duplicates are allowed.
    second : array_like of float, shape (e,), optional
        A second value of each edge, such as its length in metres if weights are seconds, in the order of the list of
        edges that the graph was made from. It is summed along each route.
    out : {"host", "device"}
        With "device" edges, vertices and sums stay on the card as device arrays. Vertices are numbers then.

    Returns
    -------
    Routes

    Raises
    ------
    InputError, NotEnoughMemory, NegativeCycleError
        As in `pair_distances`. InputError also if `second` is not a finite number for each edge.

    Notes
    -----
    Of several shortest paths, the same one is found with and without a GPU, unless a weight is negative. If a
    contraction hierarchy suits the graph, its elimination tree decides: the highest vertex of the path is as deep in
    the tree as possible. Otherwise, and if edges of weight 0 form a cycle, each distinct source is searched, and the
    path has as few edges as possible if no weight is negative. Of parallel edges, the cheapest counts, and of several,
    the first.

    Examples
    --------
    >>> import numpy as np
    >>> import cuda_shortest_paths
    >>> graph = np.array([[0, 4, 7, 0], [0, 0, 1, 0], [0, 0, 0, 2], [0, 6, 0, 0]])
    >>> routes = cuda_shortest_paths.routes(graph, [0, 3], [3, 1])
    >>> routes.distances.tolist(), routes[0].vertices.tolist()
    ([7.0, 6.0], [0, 1, 2, 3])
    """
    return last.solver(graph, directed).routes(*args, **kwargs)


class Kept(NamedTuple):
    given: weakref.ref
    shape: tuple | None
    arrays: list
    options: tuple
    solver: Any


class Last:
    """Keep the solver of the last graph until the user deletes the graph object.

    The solver is used again for the same object and options. An array must also have the same values.
    """

    def __init__(self) -> None:
        self.kept: Kept | None = None

    def solver(self, graph: GraphLike, directed: bool) -> Solver:
        """Return the solver of this graph: the last one, or a new one."""
        options = (check_flag(directed, "directed"),)

        def make() -> Solver:  # a solver that refers to `graph` would keep it alive
            given = detached(graph) if isinstance(graph, Graph | FloatGraph) else graph
            return Solver(given, directed=directed)

        return self.find(graph, options) or self.keep(graph, make, options)

    def find(self, graph: Any, options: tuple) -> Any:
        """Return the last solver if it was made for this graph and these options, else None."""
        kept, arrays = self.kept, _arrays_of(graph)  # read self.kept once, because another thread may set it
        if kept is None or arrays is None or kept.given() is not graph or kept.options != options:
            return None
        same = kept.shape == getattr(graph, "shape", None) and all(map(_same_values, kept.arrays, arrays))
        return kept.solver if same else None

    def keep(self, graph: Any, make: Callable[[], SolverType], options: tuple) -> SolverType:
        """Make a solver of the graph. Keep it for `find` if `_arrays_of` knows the graph's type."""
        self.kept = None  # may free memory on the card
        arrays = _arrays_of(graph)
        if arrays is None:
            return make()
        copies, shape = [array.copy() for array in arrays], getattr(graph, "shape", None)
        solver = make()
        self.kept = Kept(weakref.ref(graph, self._forget), shape, copies, options, solver)
        return solver

    def _forget(self, given: weakref.ref) -> None:
        if self.kept and self.kept.given is given:
            self.kept = None


last = Last()  # shared by the functions here, in csgraph.py, in centrality.py and in networkx.py


def _arrays_of(graph: Any) -> list | None:
    """Return the arrays of a graph that a user may change in place; None if its type is unknown."""
    if isinstance(graph, Graph | FloatGraph):
        return []  # users must not change its arrays
    arrays: list = []
    form = getattr(graph, "format", None)
    known = form in ("csr", "csc", "bsr", "coo") and sparse.issparse(graph)  # imports scipy.sparse late (0.1 s)
    if isinstance(graph, np.ndarray):
        arrays = [graph]
    elif known and form == "coo":
        arrays = [*graph.coords, graph.data]
    elif known:
        arrays = [graph.indptr, graph.indices, graph.data]
    return arrays if arrays and all(isinstance(array, np.ndarray) for array in arrays) else None


def _same_values(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two arrays have the same bits; for elements of more than 64 bits, the same values."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    bits = f"u{one.itemsize}" if one.itemsize <= 8 else one.dtype  # compare bits, because NaN != NaN
    return np.array_equal(one.view(bits), other.view(bits))
