"""Read and check the graphs and sources that users pass to the library's functions."""

from __future__ import annotations

import os
import reprlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import io
from ..errors import InputError
from ..fast.float_graph import FloatGraph
from ..graph import MAX_WEIGHT, Graph, as_array, by_tail, require_size, starts
from ..lazy import LazyModule

if TYPE_CHECKING:
    from scipy import sparse
    from scipy.sparse import csgraph
else:
    sparse, csgraph = LazyModule("scipy.sparse"), LazyModule("scipy.sparse.csgraph")


def check_sources(graph: Graph | FloatGraph, sources: ArrayLike, name: str = "source") -> np.ndarray:
    """Return the vertices, int64, (k,), where searches from the user's vertices start; see `check_vertices`.

    With another name than "source", the vertices themselves.
    """
    vertices = check_vertices(graph, sources, name)
    return graph.entries(vertices) if name == "source" else vertices


def check_vertices(graph: Graph | FloatGraph, vertices: ArrayLike, name: str) -> np.ndarray:
    """Return vertices, given by their labels if they have some, as int64, (k,).

    Raise InputError with `name` if a value is no label, or without labels, no integer or no vertex.
    """
    if isinstance(graph, Graph) and graph.network and graph.network.labels:
        return graph.network.labels.find(vertices, name)
    try:
        array = as_array(vertices)
    except ValueError as error:
        raise InputError(f"{name}s must be an array: {error}") from None
    if array.ndim != 1:
        raise InputError(f"{name}s must be a list or an array of one dimension, not {reprlib.repr(vertices)}")
    if len(array) and array.dtype.kind not in "iu":
        raise InputError(f"{name}s must be whole numbers, not {array.dtype}")
    wrong = array[(array < 0) | (array >= graph.destinations)]
    if len(wrong):
        graph.check_source(wrong[0], name)  # raises
    return array.astype(np.int64)


def as_graph(graph: Any) -> Graph | FloatGraph:
    """Read a graph from any type that the library takes; raise InputError for any other type.

    The result is a Graph if the weights are integers from 0 to 2**31 - 2, else a FloatGraph.
    """
    if isinstance(graph, Graph | FloatGraph):
        graph.check_values()
        return graph
    if isinstance(graph, str | bytes | os.PathLike):
        path = os.fsdecode(graph)
        try:
            os.stat(path)
        except ValueError:
            path = ""
        except OSError:
            pass  # reported by the reader
        if not path:
            raise InputError(f"{graph!r}: not a valid file name: name a graph file")
        if not io.is_array(path):
            return io.read_graph(path)
        found = as_graph(io.read_array(path))
        name = io.graph_name(path)
        return replace(found, name=name) if isinstance(found, FloatGraph) else replace(found, meta={"name": name})
    dense = is_dense(graph)
    if not dense and not sparse.issparse(graph):
        known = "a Graph (see Graph.from_edges, Graph.from_networkx), a file, a NumPy array or a SciPy sparse array"
        raise InputError(f"a graph must be {known}, not {type(graph)}")
    array: Any = graph
    if len(set(array.shape)) > 1 or array.ndim != 2:
        raise InputError(f"the array of a graph must be square, not of shape {array.shape}")
    weights = getattr(array, "dtype", np.dtype(object))  # missing if the array's data is not an array
    if weights.kind not in "biuf":
        raise InputError(f"the weights of a graph must be real numbers, not {weights}")
    return graph_of(from_dense(array) if dense else as_rows(array))


def is_dense(graph: Any) -> bool:
    """Return whether `graph` is a NumPy array that is not masked."""
    return isinstance(graph, np.ndarray) and not np.ma.isMaskedArray(graph)


def from_dense(array: np.ndarray) -> sparse.csr_array:
    """Return the entries of a square dense array that csgraph reads as arcs: all but 0 (within 1e-8), NaN and inf."""
    require_size(array.shape[0], 0)
    return csgraph.csgraph_from_dense(array)


def as_rows(array: Any) -> sparse.csr_array:
    """Return the entries of a square SciPy sparse array, as float64.

    Duplicate entries stay separate, as parallel arcs. Zeros in BSR and DIA arrays are dropped, because they only pad
    blocks and diagonals. The array is not changed. Raises InputError if the index arrays do not match each other or are
    out of range, if there are too many vertices or entries, or if there is no vertex.
    """
    require_size(array.shape[0], 0)  # before any array of this length is allocated
    given: Any
    try:
        if array.format in ("csr", "csc"):
            make = sparse.csr_array if array.format == "csr" else sparse.csc_array
            given = make((array.data, array.indices, array.indptr), shape=array.shape)  # check_format may change it
            given.check_format()
            if given.indptr[-1] <= 0 and given.indptr.any():  # SciPy checks this only if there are entries
                raise ValueError("indptr must be a non-decreasing sequence")
        else:
            given = sparse.coo_array(array)
    except (ValueError, TypeError, AttributeError) as error:  # TypeError and AttributeError: the data are not arrays
        raise InputError(f"the sparse array of a graph is invalid: {error}") from None
    given.data = given.data.astype(np.float64, copy=False)
    if given.format != "coo":
        return given.tocsr()
    if array.format == "bsr":
        given.eliminate_zeros()
    require_size(array.shape[0], given.nnz)
    tails, heads = given.coords
    return by_tail(array.shape[0], tails, heads, given.data)  # `tocsr` would sum duplicates


def graph_of(rows: sparse.csr_array) -> Graph | FloatGraph:
    """Return the graph of the entries of `as_rows`; NaN and inf are not arcs. `as_graph` explains the type."""
    highest = rows.data.max(initial=0)
    if not highest < np.inf:  # inf or NaN
        finite = ~(np.isnan(rows.data) | np.isposinf(rows.data))
        indptr = starts(finite)[rows.indptr]
        rows = sparse.csr_array((rows.data[finite], rows.indices[finite], indptr), shape=rows.shape)
        highest = rows.data.max(initial=0)
    require_size(rows.shape[0], rows.nnz)
    indptr, indices, weights = rows.indptr.astype(np.int32), rows.indices.astype(np.int32), rows.data
    lowest = weights.min(initial=0)
    if lowest >= 0 and highest <= MAX_WEIGHT:
        whole_weights = weights.astype(np.int32)
        if np.array_equal(whole_weights, weights):
            return Graph(indptr, indices, whole_weights)
    if lowest == -np.inf:
        raise InputError("a weight is -inf: remove it, since paths through it have no length")
    return FloatGraph(indptr, indices, weights.copy())
