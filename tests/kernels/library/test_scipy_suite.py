"""SciPy's own tests of shortest paths, from its wheel, run with the functions of kernels/csgraph.py."""

import numpy as np
import pytest
from scipy.sparse.csgraph.tests import test_shortest_path as suite
from scipy.sparse.csgraph.tests.test_shortest_path import *  # noqa: F403

from kernels.library import csgraph
from kernels.library.searches import NO_PREDECESSOR

LARGEST = 10  # vertices of a graph in the simulator
ON_CARD = pytest.param(True, marks=pytest.mark.simulator, id="on a card")
REACHED: list[bool] = []  # whether a call was searched on the card, in the process with the simulator


def compare(actual, desired, *more, compare=suite.assert_array_almost_equal):
    """Of predecessors, compare only which exist: ties may differ, and test_csgraph.py checks trees."""
    if actual.dtype == np.int32:
        actual, desired = actual == NO_PREDECESSOR, desired == NO_PREDECESSOR
    compare(actual, desired, *more)


@pytest.fixture(autouse=True, params=[pytest.param(False, id="without a card"), ON_CARD])
def our_functions(request, no_card, small_card, monkeypatch):
    if request.param:
        small_card(SPARSE=0)
    question = csgraph._SupportedCall.of.__func__

    def of(cls, array, *args, **kwargs):
        ours = question(cls, array, *args, **kwargs) if np.shape(array)[0] <= LARGEST or not request.param else None
        REACHED.append(ours is not None)
        assert request.param or ours is None
        return ours

    monkeypatch.setattr(csgraph._SupportedCall, "of", classmethod(of))
    monkeypatch.setattr(suite, "assert_array_almost_equal", compare)
    for name in csgraph.__all__:
        if hasattr(suite, name):
            monkeypatch.setattr(suite, name, getattr(csgraph, name))


def test_calls_are_searched_on_the_card(request):
    """The tests above made the calls; in SciPy 1.17 168 are for the card."""
    if request.node.callspec.params["our_functions"]:
        assert sum(REACHED) >= 160
