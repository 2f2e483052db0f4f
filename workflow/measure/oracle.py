"""Rows of true distances, one at a time, and what searches that keep no row find of them."""

from collections.abc import Iterator

import numpy as np

from kernels import check
from kernels.graph import INF, Graph


def rows(graph: Graph, sources: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the oracle's distances from each source: int32, (n,)."""
    for source in sources.tolist():
        yield from check.oracle(graph, (source,))
        check.oracle.cache_clear()  # rows may be large


def reduce_row(row: np.ndarray) -> dict[str, int]:
    """Return what all_pairs.Reduced has of a row of distances, except the farthest vertex."""
    finite = row[row < INF].astype(np.int64)
    return {"eccentricity": int(finite.max()), "reached": len(finite), "total": int(finite.sum())}
