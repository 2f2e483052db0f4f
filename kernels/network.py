"""What a graph keeps of the network that it was made from: names, positions and lines of its vertices and edges."""

from __future__ import annotations

import difflib
import importlib.util
import reprlib
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np

from .errors import InputError

MISSING = "NoneType", "NAType", "NaTType"  # types of missing values
MANY = 2**18  # for so many values, pandas' hash table saves more time than importing pandas takes


@dataclass(frozen=True, eq=False)
class Labels:
    """The names of a graph's vertices.

    Attributes
    ----------
    values : ndarray of an integer type or of objects, shape (n,)
        The label of each vertex, without duplicates.
    """

    values: np.ndarray

    def __getstate__(self) -> dict:
        """Return only the values: a process that unpickles the labels makes its own index."""
        return {"values": self.values}

    @cached_property
    def _order(self) -> tuple[np.ndarray, np.ndarray]:
        """Integer labels in ascending order, and the vertex of each."""
        order = np.argsort(self.values, kind="stable")
        return self.values[order], order

    @cached_property
    def _vertices(self) -> dict[Hashable, int]:
        """The vertex of each label."""
        return dict(zip(self.values.tolist(), range(len(self.values)), strict=True))

    def find(self, labels: Any, name: str = "vertex") -> np.ndarray:
        """Return the vertices with these labels, int64, (k,); raise InputError with `name` for an unknown label.

        labels: a list, or an array or column of one dimension.
        """
        given = label_column(labels, name)
        if not len(given):
            return np.zeros(0, np.int64)
        if given.dtype.kind in "iu" and self.values.dtype.kind in "iu":
            return self._find_integers(given, name)
        listed = given.tolist()
        if self.values.dtype.kind in "iu":  # 5.0 and True would be found as 5 and 1
            for label in listed:
                if isinstance(label, bool) or not isinstance(label, Integral):
                    raise self._unknown(label, name)
        try:
            return np.fromiter(map(self._vertices.__getitem__, listed), np.int64, len(listed))
        except KeyError as error:
            raise self._unknown(error.args[0], name) from None
        except TypeError as error:  # a value that is not hashable
            raise InputError(f"{name}s must be labels of vertices: {error}") from None

    def _find_integers(self, given: np.ndarray, name: str) -> np.ndarray:
        values, order = self._order
        places = np.searchsorted(values, given.astype(values.dtype, copy=False))
        places[places == len(values)] = 0
        wrong = values[places] != given
        if wrong.any():
            raise self._unknown(int(given[wrong.argmax()]), name)
        return order[places]

    def _unknown(self, label: Any, name: str) -> InputError:
        close = self._closest(label)
        advice = f"did you mean {reprlib.repr(close[0])}?" if close else "choose one of its labels"
        if not close and type(label) is int and 0 <= label < len(self.values):
            advice = "it has labels; prepare(graph, labels=False) takes numbers"
        return InputError(f"{name} {reprlib.repr(label)} is not a vertex of the graph: {advice}")

    def _closest(self, label: Any) -> list:
        """Return the label that is closest to an unknown one, in a list; an empty list if none is close."""
        known = self.values.tolist()
        spelled, half = str(label), len(str(label)) // 2
        labels = {str(one): one for one in known}
        # difflib takes a microsecond or more for each word. With one typing error, one half of the word is right.
        words = [one for one in labels if one.startswith(spelled[:half]) or one.endswith(spelled[half:])]
        return [labels[one] for one in difflib.get_close_matches(spelled, words, 1)]


@dataclass(frozen=True, eq=False)
class Network:
    """What a graph keeps of the network that it was made from.

    Attributes
    ----------
    edges : ndarray of int32, shape (m,)
        The position of each arc's edge in the user's list of edges.
    labels : Labels, optional
        The names of the vertices; None if the user numbers the vertices too.
    unit : float
        The graph's integers times `unit` are weights and distances as the user gave them.
    weight_error : float
        The largest difference between a weight that the user gave and the graph's; 0 if all are exact. A path of k arcs
        differs by at most k times as much.
    coordinates : ndarray of float64, shape (n, 2), optional
        x and y of each vertex.
    crs : optional
        The coordinate reference system, as given.
    geometry : ndarray of objects, optional
        The line of each of the user's edges; None if an edge has no line.
    vertices : ndarray of int32, shape (n,), optional
        The user's vertex that each vertex stands for, if the graph has turns. Vertices 0 to u - 1 are where paths to
        the user's u vertices end.
    entries : ndarray of int32, shape (u,), optional
        Where paths from the user's vertices start, if the graph has turns.
    """

    edges: np.ndarray
    labels: Labels | None = None
    unit: float = 1.0
    weight_error: float = 0.0
    coordinates: np.ndarray | None = None
    crs: Any = None
    geometry: np.ndarray | None = None
    vertices: np.ndarray | None = None
    entries: np.ndarray | None = None


def column(values: Any, name: str, *, floats: bool = True) -> np.ndarray:
    """Return a list, or an array or column of any library, as an array of one dimension: of numbers if all are.

    Raise InputError if it has another form. name: what a value is ("tail"), for the message. floats: whether objects
    become floats if not all are integers; as labels, they would lose digits.
    """
    array: np.ndarray = np.zeros(())
    if isinstance(values, np.ndarray) or hasattr(values, "__array__"):
        array = np.asarray(values)
    elif not isinstance(values, str | bytes):
        with suppress(TypeError):
            array = np.fromiter(values, object)  # np.asarray makes a row of each tuple
    if array.ndim != 1:
        raise InputError(f"{name}s must be a list or an array of one dimension, not {reprlib.repr(values)}")
    kinds = set(map(type, array)) if array.dtype == object else set()
    others = bool, np.timedelta64  # are instances of Real, too
    if not kinds or not all(issubclass(kind, Real) and kind not in others for kind in kinds):
        return array
    if not all(issubclass(kind, Integral) for kind in kinds):
        return array.astype(np.float64) if floats else array
    for dtype in (np.int64, np.uint64):
        with suppress(OverflowError):
            return array.astype(dtype)
    return array


def label_column(values: Any, name: str, *, floats: bool = False) -> np.ndarray:
    """Return labels as `column` does, with times as Python's, so that equal ones are found in any form.

    Raise InputError also for a time finer than a microsecond, which Python's times have not.
    """
    array = column(values, name, floats=floats)
    if array.dtype.kind in "mM":
        return _in_microseconds(array, name)
    times = array.dtype == object and set(map(type, array)) & {np.datetime64, np.timedelta64}
    if not times:
        return array
    listed = [_in_microseconds(np.array([one]), name).item() if type(one) in times else one for one in array]
    return np.fromiter(listed, object, len(listed))


def _in_microseconds(times: np.ndarray, name: str) -> np.ndarray:
    """Return times in microseconds if their unit is finer. Dates stay as they are."""
    if np.datetime_data(times.dtype)[0] not in ("ns", "ps", "fs", "as"):
        return times
    found = times.astype(f"{times.dtype.kind}8[us]")
    finer = times[(found != times) & ~np.isnat(times)]
    if len(finer):
        raise InputError(f"{name} {finer[0]} is finer than a microsecond: take texts as labels")
    return found


def require_complete(array: np.ndarray, name: str) -> None:
    """Raise InputError with the row if a value of a column is missing: NaN, None, NA or NaT."""
    if array.dtype == object:
        suspects = {kind for kind in set(map(type, array)) if issubclass(kind, float) or kind.__name__ in MISSING}
        among = array if suspects else ()
        missing = np.flatnonzero([type(one) in suspects and _is_missing(one) for one in among])
    else:
        missing = np.flatnonzero(array != array)
    if len(missing):
        row = missing[0]
        raise InputError(f"row {row}: the {name} is missing ({array[row]}): drop such rows, or fill them in")


def _is_missing(value: Any) -> bool:
    return type(value).__name__ in MISSING or value != value


def vertex_column(values: Any, name: str) -> np.ndarray:
    """Return a column of vertices, as in `column`: integers or labels. name: "tail" or "head"."""
    array = label_column(values, name, floats=True)
    if not len(array):
        return np.zeros(0, np.int64)
    require_complete(array, name)
    if array.dtype.kind in "bfc":
        raise InputError(f"the {name}s of the edges must be integers or labels, not {array.dtype}: convert them")
    return array


def numbered(
    tails: np.ndarray, heads: np.ndarray, *, labels: bool | None
) -> tuple[Labels | None, np.ndarray, np.ndarray]:
    """Return the labels, and the tails and heads as numbers; no labels if the given vertices are numbers.

    labels: whether integers are labels; None if they are if they leave most numbers unused.
    """
    if {tails.dtype.kind, heads.dtype.kind} <= {"i", "u"} and np.result_type(tails, heads).kind != "f":
        both = np.concatenate([tails, heads])
        if not (_leaves_most_unused(both) if labels is None else labels):
            return None, tails, heads
    else:
        both = np.concatenate([tails.astype(object), heads.astype(object)])
    try:
        numbers, values = _factorized(both)
    except TypeError as error:  # a value that is not hashable
        raise InputError(f"the tails and heads of the edges must be integers or labels: {error}") from None
    return Labels(values), numbers[: len(tails)], numbers[len(tails) :]


def _leaves_most_unused(numbers: np.ndarray) -> bool:
    """Return whether more than nine tenths of the numbers from 0 to the largest one are not among `numbers`."""
    end = int(numbers.max()) + 1
    if end > 10 * len(numbers):
        return True
    if numbers.min() < 0:
        return False
    used = np.zeros(end, bool)
    used[numbers] = True
    return 10 * int(np.count_nonzero(used)) < end


def _factorized(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of each value, and the distinct values in the order in which they first appear."""
    if len(values) >= MANY and importlib.util.find_spec("pandas"):
        return importlib.import_module("pandas").factorize(values)
    listed = values.tolist()
    numbers = dict.fromkeys(listed)
    numbers = dict(zip(numbers, range(len(numbers)), strict=True))
    distinct = np.fromiter(numbers, object, len(numbers)).astype(values.dtype)
    return np.fromiter(map(numbers.__getitem__, listed), np.int64, len(listed)), distinct


def labels_of(vertices: list) -> Labels | None:
    """Return the labels of vertices; None if they are the numbers from 0 in order."""
    values = label_column(vertices, "node")
    return None if are_numbers(values) else Labels(values)


def are_numbers(labels: np.ndarray) -> bool:
    """Return whether labels are the numbers from 0 in order."""
    return labels.dtype.kind in "iu" and np.array_equal(labels, np.arange(len(labels)))


def points(x: Any, y: Any) -> np.ndarray | None:
    """Return coordinates as float64, (n, 2); None unless all are numbers."""
    try:
        found = np.stack([np.asarray(x, np.float64), np.asarray(y, np.float64)], axis=1)
    except (TypeError, ValueError):
        return None
    return None if np.isnan(found).any() else found


def lines_of(lines: Any) -> np.ndarray | None:
    """Return the lines of edges as an array of objects, with None for a missing one; None if all are missing."""
    array = np.fromiter((None if isinstance(line, float) else line for line in lines), object)
    return None if all(line is None for line in array) else array
