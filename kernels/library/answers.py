"""The results of the library's searches."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..graph import starts
from ..network import Network

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
        A row for each source. If there is no path, ``inf``, or 2**31 - 1 for int32. Of `pair_distances`: one distance
        for each pair, shape (p,).
    variant, reason, rounds
        As in `Paths`.
    second : ndarray of float64, same shape as `distances`, or None
        The sum of the second value along a shortest path, NaN if there is no path; None if no value was given.
    """

    sources: np.ndarray
    targets: np.ndarray
    distances: np.ndarray
    variant: str
    reason: str
    rounds: int = 0
    second: np.ndarray | None = None


class Route(NamedTuple):
    """One route: see `Routes`."""

    distance: float
    vertices: np.ndarray
    edges: np.ndarray


@dataclass(frozen=True, eq=False)
class Routes:
    """Shortest paths between pairs of vertices. ``routes[i]`` is the `Route` of pair i.

    Attributes
    ----------
    sources, targets : ndarray, shape (p,)
        The ends of each pair, as given.
    graph : Graph or FloatGraph
        The searched graph.
    distances : ndarray of float64, shape (p,)
        ``inf`` if there is no path.
    edges : ndarray of int32
        The edges of all routes, as positions in the list of edges that the graph was made from. Those of pair i are
        ``edges[edge_start[i]:edge_start[i + 1]]``.
    edge_start : ndarray of int64, shape (p + 1,)
    vertices : ndarray
        The vertices of all routes, from source to target. Those of pair i are
        ``vertices[vertex_start[i]:vertex_start[i + 1]]``, none if there is no path.
    vertex_start : ndarray of int64, shape (p + 1,)
    variant, reason
        As in `Paths`.
    second : ndarray of float64, shape (p,), or None
        The sum of the second value along each route, NaN if there is no path; None if no value was given.
    """

    sources: np.ndarray
    targets: np.ndarray
    graph: Any = field(repr=False)
    distances: np.ndarray
    edges: np.ndarray
    edge_start: np.ndarray
    vertices: np.ndarray
    vertex_start: np.ndarray
    variant: str
    reason: str
    second: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, pair: int) -> Route:
        pair = range(len(self))[operator.index(pair)]
        vertices = self.vertices[self.vertex_start[pair] : self.vertex_start[pair + 1]]
        edges = self.edges[self.edge_start[pair] : self.edge_start[pair + 1]]
        return Route(float(self.distances[pair]), vertices, edges)

    def to_geodataframe(self) -> Any:
        """Return a table with the line of each route.

        Returns
        -------
        geopandas.GeoDataFrame
            A row for each pair, with the columns source, target, distance, second (if a second value was given) and
            geometry. The line follows the geometry of the edges, or is straight from vertex to vertex if they have
            none. It is None if the route has no edge. `GeoDataFrame.to_json` returns GeoJSON.

        Raises
        ------
        InputError
            If the graph has no coordinates, or geopandas is not installed.
        """
        network = getattr(self.graph, "network", None)
        if network is None or network.coordinates is None:
            raise InputError(f"{self.graph.name} has no coordinates: make it by Graph.from_networkx or from_geopandas")
        try:
            import geopandas
        except ModuleNotFoundError:
            raise InputError("to_geodataframe needs geopandas: pip install geopandas") from None
        columns = {"source": self.sources, "target": self.targets, "distance": np.asarray(self.distances)}
        if self.second is not None:
            columns["second"] = np.asarray(self.second)
        return geopandas.GeoDataFrame(columns, geometry=self._lines(network), crs=network.crs)

    def _lines(self, network: Network) -> np.ndarray:
        """Return the line of each route as a shapely object, None for a route without an edge."""
        import shapely

        edges, vertices = np.asarray(self.edges), np.asarray(self.vertices)
        named = network.labels is not None and isinstance(self.vertices, np.ndarray)  # those on the card are numbers
        numbers = network.labels.find(vertices) if network.labels and named else vertices
        first = np.zeros(len(vertices), bool)
        first[self.vertex_start[:-1][np.diff(self.vertex_start) > 0]] = True
        heads = np.flatnonzero(~first)
        assert network.coordinates is not None
        ends = network.coordinates[np.stack([numbers[heads - 1], numbers[heads]], axis=1)]  # (edges, 2, 2)
        lines = shapely.linestrings(ends) if len(ends) else np.zeros(0, object)
        if network.geometry is not None:
            given = network.geometry[edges]
            lines = np.where(shapely.is_missing(given) | shapely.is_empty(given), lines, given)
        points, of_edge = shapely.get_coordinates(lines, return_index=True)
        count = np.bincount(of_edge, minlength=len(edges))
        start = starts(count)
        tail = points[start[:-1]] - ends[:, 0], points[start[1:] - 1] - ends[:, 0]
        is_reversed = (np.square(tail[1]).sum(axis=1) < np.square(tail[0]).sum(axis=1))[of_edge]
        place = np.arange(len(points)) - start[of_edge]  # within its edge
        points = points[np.where(is_reversed, start[of_edge + 1] - 1 - place, np.arange(len(points)))]
        of_route = np.repeat(np.arange(len(self)), np.diff(self.edge_start))[of_edge]
        kept = (place > 0) | np.isin(of_edge, self.edge_start[:-1])  # the first point of an edge is the last one's last
        found = np.full(len(self), None, object)
        some = np.flatnonzero(np.diff(self.edge_start))
        if len(some):
            found[some] = shapely.linestrings(points[kept], indices=np.searchsorted(some, of_route[kept]))
        return found


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
