"""What the library's searches give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

NO_PREDECESSOR = -9999
HOST_BYTES = 17  # for each pair: two int32 as computed, a float64 as returned, a byte while that is filled
FLOAT_BYTES = 20  # for each pair, with weights in float64: two int32 as bounds, a float64 and an int32 as returned
ROW_BYTES = 8  # for each pair of rows of distances: a float64 as returned


@dataclass(frozen=True)
class Paths:
    """distances: float64, infinite where there is no path. predecessors: int32, -9999 where there is none.

    Both (n,) from one source, (n, n) with one row per source for all pairs. variant, reason: which one
    (algorithm/variant) was chosen, and why. rounds: of the search in float64 on the card; 0 where there was none.
    Solver.shortest_paths says what results that are left on the card have instead.
    """

    distances: np.ndarray
    predecessors: np.ndarray
    variant: str
    reason: str
    rounds: int = 0


@dataclass(frozen=True)
class Distances:
    """distances: float64, (k, n), a row for each of the k sources, in their order; infinite where there is no path.

    sources: int64, (k,). variant, reason, rounds: as in Paths.
    """

    sources: np.ndarray
    distances: np.ndarray
    variant: str
    reason: str
    rounds: int = 0


@dataclass(frozen=True)
class Eccentricities:
    """Of each source, in their order: int32, (k,) each, and int64 for total and sources.

    eccentricity: the largest distance to a vertex that is reached. farthest: a vertex at that distance. reached: how
    many vertices are, the source among them. total: the sum of the distances to them. variant, reason: as in Paths.
    Where the search was in float64, eccentricity and total are float64.
    """

    sources: np.ndarray
    eccentricity: np.ndarray
    farthest: np.ndarray
    reached: np.ndarray
    total: np.ndarray
    variant: str
    reason: str
