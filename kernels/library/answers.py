"""The results of the library's searches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

NO_PREDECESSOR = -9999
# Host memory in bytes for each pair of source and vertex.
HOST_BYTES = 17  # two computed int32, a returned float64, and a byte while the float64 is filled
FLOAT_BYTES = 20  # in a float64 search: two int32 for bounds, a returned float64 and a returned int32
LIMITED_BYTES = 12  # in a search with a limit: a returned float64 and a returned int32


@dataclass(frozen=True, eq=False)
class Paths:
    """Distances and predecessors from one source, from several or from all vertices.

    Attributes
    ----------
    distances : ndarray of float64, shape (n,), (k, n) or (n, n)
        A row for each source; ``inf`` if there is no path.
    predecessors : ndarray of int32, same shape
        The vertex before each vertex on a shortest path; -9999 for the source, and if there is no path. Vertices are
        numbers, also if the graph has labels.
    variant : str
        The chosen variant, "algorithm/variant". docs/kernels.md lists the searches that only the library runs.
    reason : str
        Why the variant was chosen.
    rounds : int
        The number of rounds of the float64 search on the card. Of several searches, the largest number counts. 0 if no
        float64 search ran on the card. A round follows the arcs of the vertices whose distances the previous round
        lowered.

    Notes
    -----
    Results that are left on the card have another form; see `Solver.shortest_paths`.
    """

    distances: np.ndarray
    predecessors: np.ndarray
    variant: str
    reason: str
    rounds: int = 0


@dataclass(frozen=True, eq=False)
class Distances:
    """Distances from several sources to several targets.

    Attributes
    ----------
    sources : ndarray of int64, or of labels, shape (k,)
        The sources, as given.
    targets : ndarray of int64, or of labels, shape (t,)
        The targets, as given; by default all vertices.
    distances : ndarray of float64, float32 or int32, shape (k, t)
        A row for each source. If there is no path, ``inf``, or 2**31 - 1 for int32.
    variant, reason, rounds
        As in `Paths`.
    """

    sources: np.ndarray
    targets: np.ndarray
    distances: np.ndarray
    variant: str
    reason: str
    rounds: int = 0


@dataclass(frozen=True, eq=False)
class Nearest:
    """The facilities that are nearest to each source.

    Attributes
    ----------
    sources : ndarray, shape (s,)
        The sources, as given; by default all vertices.
    targets : ndarray, shape (s, k)
        The facilities, as vertices, the nearest first: int32, or labels if the graph has labels. If fewer than `k` can
        be reached, -1, or None if the labels are not integers.
    distances : ndarray of float64, shape (s, k)
        The distances to these facilities; ``inf`` if there is none.
    counts : ndarray of int64, shape (t,)
        For each of the targets, as given: the number of sources whose nearest facility it is. Of a target that is given
        several times, the first one counts.
    variant, reason
        As in `Paths`.
    """

    sources: np.ndarray
    targets: np.ndarray
    distances: np.ndarray
    counts: np.ndarray
    variant: str
    reason: str


@dataclass(frozen=True, eq=False)
class Eccentricities:
    """For each source: the farthest vertex, the number of reached vertices, and the sum of the distances to them.

    Attributes
    ----------
    sources : ndarray of int64, or of labels, shape (k,)
        The sources, as given.
    eccentricity : ndarray of int32 or float64, shape (k,)
        The largest distance to a vertex that the source reaches; float64 if the search was in float64, or if the unit
        of the graph's weights is not 1.
    farthest : ndarray of int32, or of labels, shape (k,)
        A vertex at the largest distance.
    reached : ndarray of int32, shape (k,)
        The number of vertices that the source reaches, including the source.
    total : ndarray of int64 or float64, shape (k,)
        The sum of the distances to the reached vertices; float64 if `eccentricity` is.
    variant, reason
        As in `Paths`.
    reciprocals : ndarray of float64, shape (k,), or None
        The sum of 1 / distance over the distances that are not 0; None if the sum was not requested.
    """

    sources: np.ndarray
    eccentricity: np.ndarray
    farthest: np.ndarray
    reached: np.ndarray
    total: np.ndarray
    variant: str
    reason: str
    reciprocals: np.ndarray | None = None
