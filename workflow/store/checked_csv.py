"""CSV files whose every value is checked, when they are read and before they are written.

One message says where a value stands, what it is, what it must be and what to do.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TextIO

import numpy as np
import pandas as pd

from kernels.errors import InputError
from kernels.io import atomic

VERSION = r"\d[\w.+-]*"
LAST_READER = "7b35d0b"  # the last commit that reads files from before rows had a revision
FORMER = f"was written before measurements had a revision, and commit {LAST_READER} reads it"
DEFECT = "nothing was written: this is a defect of the program or of the machine, and no measurement"


@dataclass(frozen=True)
class Rule:
    """What must hold of every row.

    columns: those that it is about, which the message quotes. must: the rest of that sentence.
    holds(rows): bool, (rows,), numbers being float64 (NaN where empty) and all other values str.
    """

    columns: tuple[str, ...]
    must: str
    holds: Callable[[pd.DataFrame], pd.Series]


def whole(column: str, least: int) -> Rule:
    must = f"must be a whole number from {least}"
    return Rule((column,), must, lambda rows: (rows[column] >= least) & (rows[column] % 1 == 0))


def above_0(column: str) -> Rule:
    return Rule((column,), "must be above 0", lambda rows: rows[column] > 0)


def one_of(column: str, *values: str) -> Rule:
    return Rule((column,), f"must be one of {', '.join(map(repr, values))}", lambda rows: rows[column].isin(values))


def matching(column: str, pattern: str = ".+", must: str = "must not be empty") -> Rule:
    """Text that the pattern matches as a whole."""
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


def once(*columns: str, must: str = "must not be there twice") -> Rule:
    """No two rows with the same values."""
    return Rule(columns, must, lambda rows: ~rows.duplicated(list(columns)))


def numbered(column: str, *group: str) -> Rule:
    """From 1 up without a gap in each group of rows; needs whole(column, 1), and once() of both."""
    must = "must go from 1 up without a gap"
    return Rule(
        (column,), must, lambda rows: rows[column] <= rows.groupby(list(group), dropna=False)[column].transform("size")
    )


def same(column: str, *group: str, must: str) -> Rule:
    """One value in each group of rows."""
    return Rule((column,), must, lambda rows: rows.groupby(list(group), dropna=False)[column].transform("nunique") == 1)


@dataclass(frozen=True)
class Schema:
    """One kind of CSV file.

    columns: of the file, in their order. numbers: those that hold a number or nothing. rules: what else must hold of
    its rows, of which a later one may rely on those before it. advice: what to do about a file that breaks one.
    row: the words that say which row is meant, with columns in braces. former: columns that only files from before
    there were revisions have.
    """

    columns: tuple[str, ...]
    numbers: tuple[str, ...]
    rules: tuple[Rule, ...]
    advice: str
    row: str = ""
    former: tuple[str, ...] = ()

    def read(self, paths: Iterable[Path | str]) -> pd.DataFrame:
        """The rows of all files, indexed by "path, line n": numbers as float64 (NaN where empty), the rest str.

        Raises InputError for a file that is none of this kind, and for the first value that breaks a rule.
        """
        return self._checked(self._opened(paths), self.advice)

    def read_one(self, paths: Sequence[Path | str], option: str) -> pd.DataFrame:
        """The rows of one file, or of none. Raises as read does, and for several; option: that names the paths."""
        if len(paths) > 1:
            raise InputError(f"{option} takes one file, not {len(paths)}: {', '.join(map(str, paths))}")
        return self.read(paths)

    def text(self, paths: Iterable[Path | str]) -> list[dict[str, str]]:
        """The rows of all files as text, by column. Raises as read does."""
        said = self._opened(paths)
        self._checked(said, self.advice)
        return said.to_dict("records")

    def to_csv(self, rows: Iterable[dict], path: Path) -> str:
        """The text of a file of these rows, which is to be at path. Raises InputError where read would refuse it."""
        file = io.StringIO(newline="")
        writer = csv.DictWriter(file, self.columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        file.seek(0)
        self._checked(self._parse(file, path, DEFECT), DEFECT)
        return file.getvalue()

    def write(self, rows: Iterable[dict], path: Path) -> None:
        """Write a file of these rows, whole or not at all. Raises as to_csv does."""
        text = self.to_csv(rows, path)
        with atomic(path, "w") as file:
            file.write(text)

    def _opened(self, paths: Iterable[Path | str]) -> pd.DataFrame:
        """The rows of all files as they stand there, all str."""
        frames = [self._open(path) for path in paths]
        return pd.concat([frame for frame in frames if len(frame)] or [self._frame({})])

    def _open(self, path: Path | str) -> pd.DataFrame:
        try:
            with open(path, newline="", encoding="utf-8") as file:
                return self._parse(file, path, self.advice)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}: {self.advice}") from None
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"{path}: not a CSV file ({error}): {self.advice}") from None

    def _parse(self, file: TextIO, path: Path | str, advice: str) -> pd.DataFrame:
        """The rows as they stand in the file, all str, with the present columns."""
        reader = csv.DictReader(file)
        columns = tuple(reader.fieldnames or ())
        if set(columns) & set(self.former):
            raise InputError(f"{path}: {FORMER}: {advice}")
        if columns != self.columns:
            raise InputError(f"{path}: its first line must be {','.join(self.columns)}: {advice}")
        records = {f"{path}, line {reader.line_num}": record for record in reader}
        for line, record in records.items():
            if None in record or None in record.values():
                raise InputError(f"{line}: not {len(columns)} values: {advice}")
        return self._frame(records)

    def _frame(self, records: dict[str, dict]) -> pd.DataFrame:
        return pd.DataFrame.from_dict(records, orient="index", columns=self.columns, dtype=str)

    def _checked(self, said: pd.DataFrame, advice: str) -> pd.DataFrame:
        """The rows with their numbers as such; said: the same as they stand in the file."""
        rows = said.copy()
        for column in self.numbers:
            empty = said[column] == ""
            rows[column] = pd.to_numeric(said[column].mask(empty), errors="coerce").astype(float)
            self._refuse(said, empty | np.isfinite(rows[column]), (column,), "must be a number", advice)
        for rule in self.rules:
            self._refuse(said, rule.holds(rows), rule.columns, rule.must, advice)
        return rows

    def _refuse(self, said: pd.DataFrame, holds: pd.Series, columns: tuple[str, ...], must: str, advice: str) -> None:
        """Raise InputError for the first row that does not hold."""
        wrong = np.flatnonzero(~holds.to_numpy(bool))
        if len(wrong):
            row = said.iloc[wrong[0]]
            where = f"{row.name} ({self.row.format_map(row)})" if self.row else row.name
            quoted = ", ".join(f"{column} {row[column]!r}" for column in columns)
            raise InputError(f"{where}: {quoted}: {must}: {advice}")
