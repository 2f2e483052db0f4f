"""The nearest facilities of all vertices, by one sweep in a hierarchy."""

import numpy as np
import pytest

from kernels.fast.hierarchy import nearest
from kernels.fast.hierarchy.customize import OnCard
from kernels.graph import INF, Graph
from kernels.run import Run
from kernels.units import Scale
from tests.kernels.fast.test_hierarchy import SHAPES, mixed, small_fragments  # noqa: F401
from tests.kernels.fast.test_targets import all_distances

pytestmark = pytest.mark.simulator
GRAPHS = {
    **{name: SHAPES[name] for name in ("grid", "mixed", "one-way roads", "star", "no arcs")},
    "some 0": lambda: mixed([0, 1]),
}


def expected(exact: np.ndarray, facilities: np.ndarray, k: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return distances and facilities, by distances from each vertex to each facility, (n, t)."""
    exact = np.where(exact > most, np.inf, exact.astype(float))
    order = np.argsort(exact, axis=1, kind="stable")[:, :k]
    distances = np.take_along_axis(exact, order, axis=1)
    return distances, np.where(np.isinf(distances), -1, facilities[order])


@pytest.mark.parametrize("most", [INF - 1, 12])
@pytest.mark.parametrize("name", GRAPHS)
def test_the_nearest_facilities_of_all_vertices(name, most, monkeypatch):
    on: Graph = GRAPHS[name]()
    n, exact, random = on.vertices, all_distances(on), np.random.default_rng(2)
    monkeypatch.setattr(nearest, "ASCENT_BYTES", 1)  # two facilities at a time
    search = nearest.NearestSearch(OnCard(on, Run(block=4)))
    for count, k in ((1, 1), (n // 2 + 1, 2), (n, min(n, 5))):
        facilities = random.permutation(n)[:count]
        for reverse in (False, True):
            lists = search.search(facilities, min(k, count), most, reverse=reverse)
            sources = None if reverse else random.integers(0, n, n)
            distances, found, counts = search.take(sources, facilities, min(k, count), Scale(4.0, 2.0), lists)
            to = exact[facilities].T if reverse else exact[sources][:, facilities]
            distances_right, right = expected(to, facilities, k, most)
            np.testing.assert_array_equal(np.reshape(found, (n, -1)), right)
            np.testing.assert_array_equal(np.reshape(distances, (n, -1)), 0.5 * distances_right)
            assert np.asarray(counts).tolist() == [(right[:, 0] == facility).sum() for facility in facilities]
