"""Weights with fractions as integer multiples of a unit.

Searches are in integers. Fractional weights are rounded to multiples of a unit, such as 0.001. A weight then differs
by at most half a unit, and the length of a path of k arcs by at most k halves. By default the unit is the coarsest
power of ten for which no weight is rounded, but not so fine that a shortest path may exceed 2**31 - 2 units.
"""

from __future__ import annotations

import reprlib
from contextlib import suppress
from numbers import Number, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .errors import InputError
from .lazy import LazyModule
from .network import column, require_complete

if TYPE_CHECKING:
    from scipy import sparse

    from .graph import CompressedRows
else:
    sparse = LazyModule("scipy.sparse")
csgraph = LazyModule("scipy.sparse.csgraph")
LONGEST = 2**31 - 2  # the longest path and the largest weight
EXACT = 1e-12  # relative difference from a multiple of the unit that counts as a rounding error of float64
SMALLEST = 1e-290  # least bound of distances by which a unit is chosen; so units are normal numbers of float64
PROBE = 1000  # weights that are looked at before all are


class Scale(NamedTuple):
    """A length in the user's weights is a length in units / divisor * factor. One of the two is 1."""

    divisor: float
    factor: float

    @classmethod
    def of(cls, unit: float) -> Scale:
        """Return the scale of a unit. The divisor of 0.001 is 1000, so that 1234 becomes the float nearest to 1.234."""
        inverse = round(1 / unit) if unit < 1 else 1
        return cls(float(inverse), 1.0) if abs(inverse * unit - 1) < EXACT else cls(1.0, float(unit))

    def apply(self, lengths: np.ndarray) -> np.ndarray:
        """Convert lengths in units (float64 or float32) in place, and return them."""
        if self.divisor != 1:
            np.divide(lengths, self.divisor, out=lengths)
        if self.factor != 1:
            np.multiply(lengths, self.factor, out=lengths)
        return lengths

    def in_units(self, lengths: Any) -> Any:
        """Return lengths of the user's weights, float64, in units: not rounded."""
        return lengths * self.divisor / self.factor

    def units_within(self, limit: float) -> float:
        """Return the largest whole number of units that is, converted, at most `limit`."""
        units = float(np.floor(self.in_units(limit)))
        if self == (1, 1) or not units < 2**53:  # above all distances
            return limit if self == (1, 1) else np.inf
        return next(one for one in (units + 1, units, units - 1) if one / self.divisor * self.factor <= limit)


class RoundedWeights(NamedTuple):
    """Weights in units, int32; the unit; and the largest difference between a given weight and its multiple."""

    weights: np.ndarray
    unit: float
    error: float


def edge_weights(values: Any) -> np.ndarray:
    """Return the weights of edges as an array of integers or floats; raise InputError if one is no number of 0 or more.

    values: as in `network.column`.
    """
    weights = column(values, "weight")
    if not len(weights):
        return np.zeros(0, np.int32)
    require_complete(weights, "weight")
    if weights.dtype == object:  # such as decimal fractions
        strange = next(
            (
                edge
                for edge, one in enumerate(weights)
                if isinstance(one, bool | np.timedelta64) or not isinstance(one, Number)
            ),
            None,
        )
        if strange is not None:
            raise InputError(f"edge {strange}: weight {reprlib.repr(weights[strange])} is not a number")
        with suppress(TypeError):  # complex numbers
            weights = weights.astype(np.float64)
    if weights.dtype.kind not in "iuf":
        raise InputError(f"the weights of the edges must be integers or floats, not {weights.dtype}")
    wrong = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
    if len(wrong):
        raise InputError(f"edge {wrong[0]}: weight {weights[wrong[0]]} is not a finite number of 0 or more")
    return weights


def rounded_weights(weights: np.ndarray, arcs: CompressedRows, unit: float | None) -> RoundedWeights:
    """Return the weights of edges, 0 or more, as multiples of the unit; by default of a unit that suits them.

    arcs: the arcs with the position of each arc's edge as its weight.
    """
    weights64 = weights.astype(np.float64, copy=False)
    if unit is not None:
        unit = _check_unit(unit)
        exact = _is_exact(weights64, unit, _tolerance(weights))
    elif (weights == np.floor(weights)).all():
        unit, exact = 1.0, True
    else:
        shape = (arcs.vertices,) * 2
        rows = sparse.csr_array((weights64[arcs.weights], arcs.indices, arcs.indptr), shape=shape)
        unit, exact = _suitable(weights, rows)
    scale = Scale.of(unit)
    multiples = np.rint(scale.in_units(weights64))
    if multiples.max(initial=0) > LONGEST:
        edge = int(multiples.argmax())
        raise InputError(f"edge {edge}: weight {weights[edge]} is above 2^31 - 2 units of {unit:g}: take a larger unit")
    error = 0.0 if exact else float(np.abs(scale.apply(multiples.copy()) - weights64).max(initial=0))
    return RoundedWeights(multiples.astype(np.int32), unit, min(error, unit / 2))


def _check_unit(unit: Any) -> float:
    if not isinstance(unit, Real) or isinstance(unit, bool) or not 1e-99 < float(unit) < 1e99:
        raise InputError(f"unit must be a number above 1e-99, such as 0.01, not {reprlib.repr(unit)}")
    return float(unit)


def _tolerance(weights: np.ndarray) -> float:
    """Return the relative rounding error of weights as they were given."""
    return max(EXACT, 4 * float(np.finfo(weights.dtype).eps)) if weights.dtype.kind == "f" else EXACT


def _is_exact(weights: np.ndarray, unit: float, tolerance: float) -> bool:
    """Return whether the weights are multiples of the unit, up to rounding errors of floats."""
    for some in (weights[:PROBE], weights):
        multiples = some / unit
        if (np.abs(multiples - np.rint(multiples)) > np.minimum(tolerance * multiples, 0.01)).any():
            return False
    return True


def _suitable(weights: np.ndarray, rows: sparse.csr_array) -> tuple[float, bool]:
    """Return the unit for fractional weights, and whether all of them are multiples of it."""
    weights64, tolerance, tried = weights.astype(np.float64, copy=False), _tolerance(weights), -1
    for longest in longest_by_sum, longest_by_hub:  # the second takes longer, and may allow a finer unit
        finest = _decimals(rows, longest(rows))
        for decimals in range(tried + 1, finest + 1):
            if _is_exact(weights64, 10.0**-decimals, tolerance):
                return 10.0**-decimals, True
        tried = max(tried, finest)
    return 10.0**-finest, False


def _decimals(rows: sparse.csr_array, longest: float) -> int:
    """Return the most decimals for which all distances fit, if none exceeds `longest`; negative for units above 1."""
    room = max(LONGEST - rows.shape[0], 1)  # rounding adds at most a half to each arc, of two paths in a bound
    return int(np.floor(np.log10(room / np.clip(longest, SMALLEST, np.finfo(np.float64).max))))


def longest_by_sum(rows: sparse.csr_array) -> float:
    """Return a bound of all distances and weights: a path leaves each vertex at most once."""
    return float(_largest_from_each(rows).sum())


def longest_by_hub(rows: sparse.csr_array) -> float:
    """Return a bound of all distances and weights, by two searches.

    A path leaves the largest strong component at most once, and each vertex outside it at most once. Inside it, no
    distance exceeds that of a detour by one of its vertices, the hub.
    """
    _, component = csgraph.connected_components(rows, connection="strong")
    inside = component == np.bincount(component).argmax()
    hub, largest = int(inside.argmax()), _largest_from_each(rows)
    there, back = (csgraph.dijkstra(array, indices=hub)[inside].max() for array in (rows, rows.T))
    return float(there + back + largest[~inside].sum() + largest.max())


def _largest_from_each(rows: sparse.csr_array) -> np.ndarray:
    """Return the largest weight of an arc from each vertex, (n,); 0 without arcs."""
    largest = np.zeros(rows.shape[0])
    has_arcs = rows.indptr[:-1] < rows.indptr[1:]
    if has_arcs.any():
        largest[has_arcs] = np.maximum.reduceat(rows.data, rows.indptr[:-1][has_arcs])
    return largest
