"""Graphs and sources as the library's functions take them: checked, and read from files and SciPy arrays."""

from __future__ import annotations

import os
import reprlib

import numpy as np

from kernels import io
from kernels.errors import InputError
from kernels.fast.float_graph import FloatGraph
from kernels.graph import MAX_WEIGHT, Graph, as_array, require_size
from kernels.later import Later

sparse = Later("scipy.sparse")


def check_sources(graph: Graph | FloatGraph, sources) -> np.ndarray:
    """The sources as int64, (k,); raises InputError where they are no whole numbers, or one is not a vertex."""
    try:
        array = as_array(sources)
    except ValueError as error:
        raise InputError(f"the sources are no array: {error}") from None
    if array.ndim != 1:
        raise InputError(f"sources must be a list or an array of one dimension, not {reprlib.repr(sources)}")
    if len(array) and array.dtype.kind not in "iu":
        raise InputError(f"sources must be whole numbers, not {array.dtype}")
    wrong = array[(array < 0) | (array >= graph.vertices)]
    if len(wrong):
        graph.check_source(wrong[0])
    return array.astype(np.int64)


def as_graph(graph) -> Graph | FloatGraph:
    """A graph from what the library takes: a Graph where its weights are whole numbers from 0 to 2^31 - 2.

    Raises InputError for anything else.
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
            pass  # the reader says why
        if not path:
            raise InputError(f"{graph!r}: no file has such a name")
        return io.read_graph(path)
    if not sparse.issparse(graph):
        raise InputError(f"a graph is a kernels.graph.Graph, a file or a SciPy sparse array, not {type(graph)}")
    if len(set(graph.shape)) > 1 or graph.ndim != 2:
        raise InputError(f"the sparse array of a graph is square, not of shape {graph.shape}")
    weights = getattr(graph, "dtype", np.dtype(object))  # an array has none where its data is not an array
    if weights.kind not in "biuf":
        raise InputError(f"the weights of a graph must be real numbers, not {weights}")
    return graph_of(as_rows(graph))


def as_rows(array) -> sparse.csr_array:
    """The entries of a square SciPy sparse array that csgraph reads as arcs, as float64.

    Those of one place are parallel arcs in a CSR or CSC array and are added in any other; zeros in a BSR array, which
    fill its blocks, are none. Raises InputError where its indices do not fit together or are outside it, and where
    there are too many vertices or none.
    """
    require_size(array.shape[0], 0)  # before anything as long is allocated
    try:
        if array.format in ("csr", "csc"):
            make = sparse.csr_array if array.format == "csr" else sparse.csc_array
            given = make((array.data, array.indices, array.indptr), shape=array.shape)  # to be checked: it may change
            given.check_format()
            if given.indptr[-1] <= 0 and given.indptr.any():  # which SciPy checks only where there are entries
                raise ValueError("indptr must be a non-decreasing sequence")
        else:
            given = sparse.coo_array(array, copy=True)
    except (ValueError, TypeError, AttributeError) as error:  # the last two where they are no arrays
        raise InputError(f"the sparse array of a graph is broken: {error}") from None
    given.data = given.data.astype(np.float64, copy=False)  # before they are added: a narrow type would wrap
    rows = given.tocsr()
    if array.format == "bsr":
        rows.eliminate_zeros()
    return rows


def graph_of(rows: sparse.csr_array) -> Graph | FloatGraph:
    """A graph of the entries of as_rows, of which NaN and inf are no arcs; see as_graph."""
    highest = rows.data.max(initial=0)
    if not highest < np.inf:  # nor is NaN
        there = ~(np.isnan(rows.data) | np.isposinf(rows.data))
        indptr = np.concatenate([[0], np.cumsum(there)])[rows.indptr]
        rows = sparse.csr_array((rows.data[there], rows.indices[there], indptr), shape=rows.shape)
        highest = rows.data.max(initial=0)
    require_size(rows.shape[0], rows.nnz)
    indptr, indices, weights = rows.indptr.astype(np.int32), rows.indices.astype(np.int32), rows.data
    lowest = weights.min(initial=0)
    if lowest >= 0 and highest <= MAX_WEIGHT:
        whole_weights = weights.astype(np.int32)
        if np.array_equal(whole_weights, weights):
            return Graph(indptr, indices, whole_weights)
    if lowest == -np.inf:
        raise InputError("a weight is -inf: no path through it has a length")
    return FloatGraph(indptr, indices, weights.copy())
