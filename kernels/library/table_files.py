"""Write distance matrices to files, piece by piece. A new run continues an interrupted run.

The folder FILE.part holds the pieces written so far. Its file `state.json` is replaced after each piece. If FILE is
.npy, the folder has `rows.npy`, which grows by each piece and becomes FILE. If FILE is .parquet, the folder has a file
for each piece; the last step joins these files, each as a row group. A .parquet file has a row for every pair of a
source and a target.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import os
import re
import reprlib
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

from kernels import io
from kernels.errors import InputError, StrPath, naming, printable
from kernels.harness import heartbeat
from kernels.library.solver import Solver

# Maximum sources of a piece, with and without a card. A piece takes a minute or less on large road networks.
ROWS = {True: 4096, False: 64}
PAIRS = 2**24  # maximum distances of a piece
SUFFIXES = ".npy", ".parquet"


def read_vertices(path: StrPath) -> np.ndarray:
    """Read whole numbers, separated by white space, from a text file; raise InputError for anything else."""
    words = Path(path).read_bytes().removeprefix(codecs.BOM_UTF8).split()
    for word in words:
        if not re.fullmatch(rb"[+-]?\d{1,18}", word):
            said = reprlib.repr(word.decode(errors="replace"))
            raise InputError(f"{path}: {said} is not a vertex: write whole numbers, separated by spaces or line breaks")
    return np.array([int(word) for word in words], np.int64)


class Progress:
    """The text of the progress message: for the log (harness.Heartbeat logs it repeatedly) and for the terminal."""

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

    Raises InputError if the interrupted run had another graph, other vertices or another type.
    """
    form: Any = (Npy if to.suffix == ".npy" else Parquet)(to, solver, sources, targets, dtype)
    progress = Progress(solver.graph.name, form.done, len(sources))
    with naming(to), heartbeat.during(progress):  # type: ignore[arg-type]  # formatted when it is logged
        progress.show(form.done)
        pieces = solver.distance_pieces(sources[form.done :], targets, dtype=dtype, rows=form.rows)
        start = form.done
        for which, rows in pieces:
            form.add(rows)
            form.save(start + which.stop)
            progress.show(form.done)
        form.finish()


class Writing:
    """A file that is being written. done: the number of sources whose rows are written, in order."""

    def __init__(self, to: Path, solver: Solver, sources: np.ndarray, targets: np.ndarray | None, dtype: str) -> None:
        self.to, self.sources = to, sources
        self.targets = np.arange(solver.graph.vertices) if targets is None else targets
        self.dtype = np.dtype(dtype)
        self.rows = min(ROWS[solver.on_card], max(1, PAIRS // max(1, len(self.targets))))
        self.folder = to.with_name(f"{to.name}.part")
        self.state = self.folder / "state.json"
        digest = hashlib.sha256(str(self.dtype).encode())
        for array in (solver.graph.indptr, solver.graph.indices, solver.graph.weights, sources, self.targets):
            digest.update(f"{array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).data)
        self.digest = digest.hexdigest()
        self.done = self._continued()
        self.folder.mkdir(parents=True, exist_ok=True)

    def _continued(self) -> int:
        """Return the number of sources whose rows an interrupted run has written."""
        try:
            text = self.state.read_text()
        except FileNotFoundError:
            return 0
        try:
            digest, done = (json.loads(text)[key] for key in ("digest", "done"))
        except (ValueError, TypeError, KeyError):
            digest, done = None, 0
        if digest != self.digest or not isinstance(done, int) or not 0 <= done <= len(self.sources):
            raise InputError(
                f"{self.folder}: left by a run for another graph, other sources or targets or another dtype: delete "
                "it, or name another file to write"
            )
        return done if self.is_there() else 0

    def is_there(self) -> bool:
        """Return whether the files of the written rows still exist."""
        return True

    def save(self, done: int) -> None:
        """Record that the rows of the first `done` sources are written."""
        with io.atomic(self.state, "w") as file:
            json.dump({"digest": self.digest, "done": done}, file)
        self.done = done


class Npy(Writing):
    """A NumPy file of shape (k, t)."""

    @property
    def file(self) -> Path:
        return self.folder / "rows.npy"

    def is_there(self) -> bool:
        return self.file.exists()

    def add(self, rows: np.ndarray) -> None:
        shape = len(self.sources), len(self.targets)
        with open(self.file, "r+b" if self.file.exists() else "xb") as file:
            header = {"descr": self.dtype.str, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            file.seek(self.done * shape[1] * self.dtype.itemsize, os.SEEK_CUR)
            file.truncate()  # removes what an interrupted run wrote after the last piece
            rows.tofile(file)
            file.flush()
            os.fsync(file.fileno())

    def finish(self) -> None:
        if not len(self.sources):
            self.add(np.empty(0, self.dtype))
        os.replace(self.file, self.to)
        shutil.rmtree(self.folder)


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

    def add(self, rows: np.ndarray) -> None:
        sources = np.repeat(self.sources[self.done : self.done + len(rows)], len(self.targets))
        columns = sources, np.tile(self.targets, len(rows)), rows.ravel()
        with io.atomic(self.folder / f"{self.done:012}.parquet") as file:
            self.parquet.write_table(self.arrow.table(dict(zip(self.schema.names, columns, strict=True))), file)

    def finish(self) -> None:
        with io.atomic(self.to) as file, self.parquet.ParquetWriter(file, self.schema) as writer:
            for path in sorted(self.folder.glob("*.parquet")):
                writer.write_table(self.parquet.read_table(path))
        shutil.rmtree(self.folder)
