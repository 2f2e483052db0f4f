"""What a graph keeps of the network that it was made from: names, positions and lines of its vertices and edges."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .errors import InputError


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
        given = column(labels, name)
        if not len(given):
            return np.zeros(0, np.int64)
        if self.values.dtype.kind in "iu":
            return self._find_integers(given, name)
        listed = given.tolist()
        try:
            return np.fromiter(map(self._vertices.__getitem__, listed), np.int64, len(listed))
        except KeyError as error:
            raise self._unknown(error.args[0], name) from None
        except TypeError as error:  # a value that is not hashable
            raise InputError(f"{name}s must be labels of vertices: {error}") from None

    def _find_integers(self, given: np.ndarray, name: str) -> np.ndarray:
        if given.dtype.kind not in "iu":
            raise self._unknown(next(one for one in given.tolist() if type(one) is not int), name)
        values, order = self._order
        places = np.searchsorted(values, given.astype(values.dtype, copy=False))
        places[places == len(values)] = 0
        wrong = values[places] != given
        if wrong.any():
            raise self._unknown(int(given[wrong.argmax()]), name)
        return order[places]

    def _unknown(self, label: Any, name: str) -> InputError:
        close = self._closest(label)
        advice = f"did you mean {reprlib.repr(close[0])}?" if close else "choose one of the graph's labels"
        return InputError(f"{name} {reprlib.repr(label)} is not a vertex of the graph: {advice}")

    def _closest(self, label: Any) -> list:
        """Return the label that is closest to an unknown one, in a list; an empty list if none is close."""
        known = self.values.tolist()
        if type(label) is int and self.values.dtype.kind in "iu":
            return [min(known, key=lambda one: abs(one - label))]
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


def column(values: Any, name: str) -> np.ndarray:
    """Return a list, or an array or column of any library, as an array of one dimension: of integers if all are.

    Raise InputError if it has another form. name: what a value is ("tail"), for the message.
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
    if kinds and all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
        with suppress(OverflowError):
            array = array.astype(np.int64)
    return array
