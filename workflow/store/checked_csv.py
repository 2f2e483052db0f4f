"""CSV files of which every value is checked, after reading and before writing.

The message of an error gives the file, the line, the value, what it must be and what to do.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TextIO

import numpy as np
import pandas as pd

from kernels.errors import InputError, printable
from kernels.io import atomic

VERSION = r"\d[\w.+-]*"
DEFECT = "nothing was written: this is a defect of the program or of the machine"
Line = tuple[str, list[str]]  # "path, line n", and the values as they are written


@dataclass(frozen=True)
class Rule:
    """What must hold for every row.

    The message quotes the values of `columns`, and says what they `must`. `holds` takes rows as `Schema.read` returns
    them and gives a bool for each.
    """

    columns: tuple[str, ...]
    must: str
    holds: Callable[[pd.DataFrame], pd.Series]


def number(column: str) -> Rule:
    return Rule((column,), "must be a number", lambda rows: rows[column] != np.inf)


def whole(column: str, least: int, *, or_empty: bool = False) -> Rule:
    must = f"must be a whole number from {least}" + (", or empty" if or_empty else "")

    def holds(rows: pd.DataFrame) -> pd.Series:
        return (rows[column] >= least) & (rows[column] % 1 == 0) | (rows[column].isna() & or_empty)

    return Rule((column,), must, holds)


def above_0(column: str) -> Rule:
    return Rule((column,), "must be above 0", lambda rows: rows[column] > 0)


def at_least_0_or_empty(column: str) -> Rule:
    return Rule((column,), "must be 0 or more", lambda rows: ~(rows[column] < 0))


def one_of(column: str, *values: str) -> Rule:
    return Rule((column,), f"must be one of {', '.join(map(repr, values))}", lambda rows: rows[column].isin(values))


def matching(column: str, pattern: str = ".+", must: str = "must not be empty") -> Rule:
    """Return the rule that the pattern matches the whole text."""
    return Rule((column,), must, lambda rows: rows[column].str.fullmatch(pattern).astype(bool))


def version(column: str) -> Rule:
    return matching(column, VERSION, "must be a version")


def moment(column: str) -> Rule:
    must = "must be a date and a time with its offset, ISO 8601"
    return Rule((column,), must, lambda rows: rows[column].map(_is_moment).astype(bool))


def _is_moment(value: str) -> bool:
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def once(*columns: str, must: str = "must not occur twice") -> Rule:
    """Return the rule that no two rows have the same values."""
    return Rule(columns, must, lambda rows: ~rows.duplicated(list(columns)))


def numbered(column: str, *group: str) -> Rule:
    """Return the rule that each group is numbered from 1 without a gap; needs whole(column, 1), and once() of both."""

    def holds(rows: pd.DataFrame) -> pd.Series:
        return rows[column] <= rows.groupby(list(group), dropna=False)[column].transform("size")

    return Rule((column,), "must count from 1 without gaps", holds)


def same(column: str, *group: str, must: str) -> Rule:
    """Return the rule that each group has one value."""
    return Rule((column,), must, lambda rows: rows.groupby(list(group), dropna=False)[column].transform("nunique") == 1)


@dataclass(frozen=True)
class Schema:
    """One kind of CSV file.

    columns: in the order of the file. numbers: the columns that hold a number or nothing. rules: each may rely on the
    rules before it. advice: what to do about a file that breaks one. row: how a message names a row, with columns in
    braces. defaults: columns that files from before they were added lack, and the values that such files then have.
    """

    columns: tuple[str, ...]
    numbers: tuple[str, ...]
    rules: tuple[Rule, ...]
    advice: str
    row: str = ""
    defaults: Mapping[str, str] = field(default_factory=dict)

    def read(self, paths: Iterable[Path | str]) -> pd.DataFrame:
        """Read the rows of all files, indexed by "path, line n": numbers as float64 (NaN if empty), all else as str.

        Raises InputError for a file of another kind, and for the first value that breaks a rule.
        """
        return self._checked(self._opened(paths), self.advice)

    def text(self, paths: Iterable[Path | str]) -> list[dict[str, str]]:
        """Read the rows of all files as they are written. Raises as `read`."""
        written = self._opened(paths)
        self._checked(written, self.advice)
        return written.to_dict("records")

    def to_csv(self, rows: Iterable[dict], path: Path) -> str:
        """Return the text of a file of these rows. Raises InputError if `read` would refuse it at `path`."""
        file = io.StringIO(newline="")
        writer = csv.DictWriter(file, self.columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        file.seek(0)
        self._checked(self._frame(self._parse(file, path, DEFECT)), DEFECT)
        return file.getvalue()

    def write(self, rows: Iterable[dict], path: Path) -> None:
        """Write a file of these rows atomically. Raises as `to_csv`."""
        text = self.to_csv(rows, path)
        with atomic(path, "w") as file:
            file.write(text)

    def _opened(self, paths: Iterable[Path | str]) -> pd.DataFrame:
        return self._frame([row for path in paths for row in self._open(path)])

    def _open(self, path: Path | str) -> list[Line]:
        try:
            with open(path, newline="", encoding="utf-8") as file:
                return self._parse(file, path, self.advice)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}: {self.advice}") from None
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"{path}: not a CSV file ({error}): {self.advice}") from None

    def _parse(self, file: TextIO, path: Path | str, advice: str) -> list[Line]:
        reader = csv.reader(file)
        header = next(reader, [])
        if header != [name for name in self.columns if name in header or name not in self.defaults]:
            raise InputError(f"{path}: the first line must be {','.join(self.columns)}: {advice}")
        name = printable(str(path))  # pandas takes no name that is not Unicode
        lines = [(f"{name}, line {reader.line_num}", values) for values in reader if values]
        for line, values in lines:
            if len(values) != len(header):
                raise InputError(f"{line}: expected {len(header)} values: {advice}")
        if len(header) == len(self.columns):
            return lines
        full = [{**self.defaults, **dict(zip(header, values, strict=True))} for _, values in lines]
        return [(line, [row[name] for name in self.columns]) for (line, _), row in zip(lines, full, strict=True)]

    def _frame(self, lines: list[Line]) -> pd.DataFrame:
        return pd.DataFrame([values for _, values in lines], [line for line, _ in lines], self.columns, dtype=str)

    def _checked(self, written: pd.DataFrame, advice: str) -> pd.DataFrame:
        """Convert the columns of numbers. Raises InputError for the first value that breaks a rule."""
        rows = written.copy()
        for column in self.numbers:
            values = pd.to_numeric(written[column], errors="coerce").astype(float)
            rows[column] = values.where(np.isfinite(values) | (written[column] == ""), np.inf)
        for rule in (*map(number, self.numbers), *self.rules):
            wrong = np.flatnonzero(~rule.holds(rows).to_numpy(bool))
            if len(wrong):
                row = written.iloc[wrong[0]]
                where = f"{row.name} ({self.row.format_map(row)})" if self.row else row.name
                quoted = ", ".join(f"{column} {row[column]!r}" for column in rule.columns)
                raise InputError(f"{where}: {quoted}: {rule.must}: {advice}")
        return rows
