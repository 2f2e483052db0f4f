"""Write distance matrices to files, piece by piece. A new run continues an interrupted run.

The folder FILE.part holds the pieces written so far. If FILE is .npy, the folder has `rows.npy`, in which each piece is
written at its place and which becomes FILE. If FILE is .parquet, the folder has a file for each piece; the last step
joins these files, each as a row group. A .parquet file has a row for every pair of a source and a target.

The file `pieces.txt` in the folder marks it as ours. Its first line has a digest of the request: the graph, the
sources, the targets and the type. Each other line is added after a piece is written: the positions in `sources` at
which the piece starts and stops, and a digest of the request, the positions and the piece. A new run keeps the pieces
that agree with their digests, and computes the others.

The pieces are beside the file that FILE leads to if FILE is a link. One process at a time holds them, by a lock.
"""

from __future__ import annotations

import codecs
import hashlib
import io as memory_io
import logging
import os
import re
import reprlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .. import io, lock
from ..errors import InputError, StrPath, naming, printable
from ..heartbeat import heartbeat
from .solver import Solver

# Maximum sources of a piece, with and without a card. A piece takes a minute or less on large road networks.
PIECE_SOURCES = {True: 4096, False: 64}
PAIRS = 2**24  # maximum distances of a piece
SUFFIXES = ".npy", ".parquet"
MARK = "pieces of a distance matrix for request "
PIECES = "pieces.txt"
PIECE_FILES = re.compile(r"pieces\.txt|\.pieces\.txt\.tmp|rows\.npy|\d{12}\.parquet|\.\d{12}\.parquet\.tmp")
PIECE_LINE = re.compile(r"(\d{1,18}) (\d{1,18}) ([0-9a-f]{64})\n")


def read_vertices(path: StrPath) -> np.ndarray:
    """Read whole numbers, separated by white space, from a text file; raise InputError for anything else."""
    words = Path(path).read_bytes().removeprefix(codecs.BOM_UTF8).split()
    for word in words:
        if not re.fullmatch(rb"[+-]?\d{1,18}", word):
            said = reprlib.repr(word.decode(errors="replace"))
            raise InputError(f"{path}: {said} is not a vertex: write whole numbers, separated by spaces or line breaks")
    return np.array([int(word) for word in words], np.int64)


class Progress:
    """The text of the progress message: for the log (heartbeat.Heartbeat logs it repeatedly) and for the terminal."""

    def __init__(self, name: str, done: int, total: int) -> None:
        self.name, self.done, self.total = printable(name), done, total

    def __str__(self) -> str:
        filled = 20 * self.done // max(1, self.total)
        bar = "#" * filled + "." * (20 - filled)
        return f"matrix of {self.name}: [{bar}] {self.done:,} of {self.total:,} sources"

    def show(self, done: int) -> None:
        self.done = done
        if sys.stderr is not None and sys.stderr.isatty():
            print(f"\r{self}", end="\n" if done == self.total else "", file=sys.stderr, flush=True)


def write(solver: Solver, sources: np.ndarray, targets: np.ndarray | None, to: Path, dtype: str) -> None:
    """Write the distances to a .npy or .parquet file, or continue an interrupted run.

    Raises InputError if another process writes the file, or if FILE.part is not ours or belongs to another request.
    """
    matrix: Any = (Npy if to.suffix == ".npy" else Parquet)(to, solver, sources, targets, dtype)
    with naming(to), lock.held(matrix.folder, "written", required=True):
        matrix.start()
        try:
            progress = Progress(solver.graph.name, matrix.done, len(sources))
            with heartbeat.during(progress):  # type: ignore[arg-type]  # formatted when it is logged
                progress.show(matrix.done)
                for gap in list(matrix.gaps()):
                    for which, rows in solver.distance_pieces(sources[gap], targets, dtype=dtype, rows=matrix.rows):
                        matrix.add(gap.start + which.start, rows)
                        progress.show(matrix.done)
                matrix.finish()
        except BaseException:
            if not matrix.pieces:  # nothing to continue from
                matrix.delete_pieces()
            raise
        matrix.delete_pieces()


class Writing:
    """A file that is being written. pieces: the positions and the digest of each piece that is written."""

    def __init__(self, to: Path, solver: Solver, sources: np.ndarray, targets: np.ndarray | None, dtype: str) -> None:
        self.to, self.sources = to, sources
        self.targets = np.arange(solver.graph.vertices) if targets is None else targets
        self.dtype = np.dtype(dtype)
        self.rows = min(PIECE_SOURCES[solver.on_card], max(1, PAIRS // max(1, len(self.targets))))
        destination = io.destination(to)
        self.folder = destination.with_name(f"{destination.name}.part")
        self.list_file = self.folder / PIECES
        self.pieces: list[tuple[int, int, str]] = []
        digest = hashlib.sha256(f"{to.suffix} {self.dtype}".encode())
        for array in (solver.graph.indptr, solver.graph.indices, solver.graph.weights, sources, self.targets):
            digest.update(f"{array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).data)
        self.request = digest.hexdigest()

    @property
    def done(self) -> int:
        """The number of sources whose rows are written."""
        return sum(stop - start for start, stop, _ in self.pieces)

    def start(self) -> None:
        """Make the folder, or keep the pieces in it that agree with their digests.

        Raises InputError if the folder is not ours or belongs to another request.
        """
        listed = self._listed()
        self.pieces = [piece for piece in listed if self.digest(*piece[:2], self.read(*piece[:2])) == piece[2]]
        if changed := len(listed) - len(self.pieces):
            logging.warning(
                "%s: %d of %d pieces are damaged or missing: computing them again", self.folder, changed, len(listed)
            )
        self.folder.mkdir(exist_ok=True)
        with io.atomic(self.list_file, "w") as file:
            file.write(f"{MARK}{self.request}\n")
            file.writelines(f"{start} {stop} {digest}\n" for start, stop, digest in self.pieces)

    def _listed(self) -> list[tuple[int, int, str]]:
        """Return the pieces that `pieces.txt` lists, in order, without those that overlap an earlier one."""
        matches = filter(None, map(PIECE_LINE.fullmatch, self._lines()))
        pieces: list[tuple[int, int, str]] = []
        for start, stop, digest in sorted((int(match[1]), int(match[2]), match[3]) for match in matches):
            if (pieces[-1][1] if pieces else 0) <= start < stop <= len(self.sources):
                pieces.append((start, stop, digest))
        return pieces

    def _lines(self) -> list[str]:
        """Return the lines of `pieces.txt` after the first; none if the folder is new. Raises InputError as `start`."""
        if not os.path.lexists(self.folder):
            return []
        if self.folder.is_symlink() or not self.folder.is_dir():
            raise InputError(
                f"{self.folder}: a folder of this name is needed for the rows found so far: move this file or link "
                "away, or name another file to write"
            )
        with os.scandir(self.folder) as entries:
            regular = {entry.name: entry.is_file(follow_symlinks=False) for entry in entries}
        if not set(regular) - {f".{PIECES}.tmp"}:  # a run was killed before it had written pieces.txt
            return []
        text = self.list_file.read_text(encoding="utf-8", errors="replace") if regular.get(PIECES) else ""
        first, *lines = text.splitlines(keepends=True) or [""]
        if not first.startswith(MARK) or not all(regular[name] for name in regular if PIECE_FILES.fullmatch(name)):
            raise InputError(
                f"{self.folder}: this folder was not made by this command: move it away, or name another file to write"
            )
        if first != f"{MARK}{self.request}\n":
            raise InputError(
                f"{self.folder}: left by a run for another graph, other sources or targets or another dtype: delete "
                "it, or name another file to write"
            )
        return lines

    def gaps(self) -> Iterator[slice]:
        """Yield the positions of the sources whose rows are not written."""
        end = 0
        for start, stop, _ in [*sorted(self.pieces), (len(self.sources), len(self.sources), "")]:
            if end < start:
                yield slice(end, start)
            end = stop

    def digest(self, start: int, stop: int, piece: bytes) -> str:
        digest = hashlib.sha256(f"{self.request} {start} {stop}\n".encode())
        digest.update(piece)
        return digest.hexdigest()

    def add(self, start: int, rows: np.ndarray) -> None:
        """Write the rows of the sources from position `start` on, and then a line in `pieces.txt`."""
        stop, piece = start + len(rows), self.encoded(start, rows)
        self.store(start, piece)
        self.pieces.append((start, stop, self.digest(start, stop, piece)))
        with open(self.list_file, "a", encoding="utf-8") as file:
            file.write(f"{start} {stop} {self.pieces[-1][2]}\n")

    def delete_pieces(self) -> None:
        """Delete our files, `pieces.txt` last, and the folder unless it has other files."""
        for name in sorted(filter(PIECE_FILES.fullmatch, os.listdir(self.folder)), key=lambda name: name == PIECES):
            os.unlink(self.folder / name)
        if os.listdir(self.folder):
            logging.warning("%s: kept, because it has files that this command did not write", self.folder)
        else:
            self.folder.rmdir()

    def encoded(self, start: int, rows: np.ndarray) -> bytes:
        """Return the bytes of a piece."""
        raise NotImplementedError

    def store(self, start: int, piece: bytes) -> None:
        """Write the bytes of a piece to the disk."""
        raise NotImplementedError

    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes of a piece, or fewer if they are missing."""
        raise NotImplementedError

    def finish(self) -> None:
        """Write FILE from all pieces."""
        raise NotImplementedError


class Npy(Writing):
    """A NumPy file of shape (k, t)."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.file = self.folder / "rows.npy"
        header, shape = memory_io.BytesIO(), (len(self.sources), len(self.targets))
        np.lib.format.write_array_header_1_0(header, {"descr": self.dtype.str, "fortran_order": False, "shape": shape})
        self.header, self.row_bytes = header.getvalue(), shape[1] * self.dtype.itemsize

    def start(self) -> None:
        super().start()
        open(self.file, "ab").close()

    def encoded(self, start: int, rows: np.ndarray) -> bytes:
        return rows.tobytes()

    def store(self, start: int, piece: bytes) -> None:
        with open(self.file, "r+b") as file:
            file.seek(len(self.header) + start * self.row_bytes)
            file.write(piece)
            file.flush()
            os.fsync(file.fileno())

    def read(self, start: int, stop: int) -> bytes:
        try:
            with open(self.file, "rb") as file:
                file.seek(len(self.header) + start * self.row_bytes)
                return file.read((stop - start) * self.row_bytes)
        except FileNotFoundError:
            return b""

    def finish(self) -> None:
        size = len(self.header) + len(self.sources) * self.row_bytes
        with open(self.file, "r+b") as file:
            file.write(self.header)
            if file.seek(0, os.SEEK_END) < size:
                raise InputError(f"{self.file}: changed during the run: run the same command again")
            file.truncate(size)
            os.fsync(file.fileno())
        io.move(self.file, self.to)


class Parquet(Writing):
    """A Parquet file with the columns source, target and distance."""

    def __init__(self, *given: Any) -> None:
        try:
            import pyarrow
            from pyarrow import parquet
        except ModuleNotFoundError:
            raise InputError("a .parquet file needs pyarrow (pip install pyarrow): write a .npy file") from None
        self.arrow, self.parquet = pyarrow, parquet
        super().__init__(*given)
        self.schema = pyarrow.schema(
            [
                ("source", pyarrow.int64()),
                ("target", pyarrow.int64()),
                ("distance", pyarrow.from_numpy_dtype(self.dtype)),
            ]
        )

    def file(self, start: int) -> Path:
        return self.folder / f"{start:012}.parquet"

    def encoded(self, start: int, rows: np.ndarray) -> bytes:
        sources = np.repeat(self.sources[start : start + len(rows)], len(self.targets))
        columns = sources, np.tile(self.targets, len(rows)), rows.ravel()
        table, file = self.arrow.table(dict(zip(self.schema.names, columns, strict=True))), memory_io.BytesIO()
        self.parquet.write_table(table, file)
        return file.getvalue()

    def store(self, start: int, piece: bytes) -> None:
        with io.atomic(self.file(start)) as file:
            file.write(piece)

    def read(self, start: int, stop: int) -> bytes:
        try:
            return self.file(start).read_bytes()
        except FileNotFoundError:
            return b""

    def finish(self) -> None:
        with io.atomic(self.to) as file, self.parquet.ParquetWriter(file, self.schema) as writer:
            for start, stop, digest in sorted(self.pieces):
                piece = self.read(start, stop)
                if self.digest(start, stop, piece) != digest:
                    raise InputError(f"{self.file(start)}: changed during the run: run the same command again")
                writer.write_table(self.parquet.read_table(memory_io.BytesIO(piece)))
