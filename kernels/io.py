"""Read, write and convert graph files.

Three forms of text, each plain or compressed by gzip, bzip2 or xz:

    DIMACS   "c" comments, one "p sp n m", then "a u v w" for each arc, vertices from 1
    SNAP     "#" comments, then "u v" for each arc: no weights, ids with gaps
    text     "n m", then "u v w" for each arc, vertices from 0

`parse` converts DIMACS to text, and `generate.add` converts SNAP to text. `read_graph` reads DIMACS, text
and packed graphs (`Graph.save`). It also reads sparse arrays, by SciPy: .npz files of scipy.sparse.save_npz, and
Matrix Market files (.mtx, plain or compressed). SciPy reads "5km" as 5, so the lines of a Matrix Market file are
checked first.

In DIMACS and text a weight is an integer in [1, 2^31 - 2]. A file is read in pieces. NumPy reads a piece if all
its lines have the usual form. Otherwise the piece is read line by line: unusual but valid lines are accepted, and if a
line is wrong, the error names this line.

Reading stops with an error if there are more arcs than the header or the caller states, or if a line has more than LINE
bytes. It also stops if the text read so far has more than SPARE + ARC_BYTES * (arcs read so far) bytes. The last
limit bounds comments and blank lines, also in a small compressed file whose text is very large.
"""

from __future__ import annotations

import codecs
import dataclasses
import fcntl
import gzip
import hashlib
import io
import itertools
import os
import re
import shutil
import stat
import tempfile
import zipfile
import zlib
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import memory
from .errors import COMMAND, InputError, StrPath, naming
from .graph import MAX_COUNT, MAX_WEIGHT, Graph, read_packed
from .lazy import LazyModule
from .network import Network

if TYPE_CHECKING:
    import bz2
    import lzma

    import scipy.io as scipy_io
    from scipy import sparse
else:
    scipy_io, sparse = LazyModule("scipy.io"), LazyModule("scipy.sparse")
    bz2, lzma = LazyModule("bz2"), LazyModule("lzma")  # some builds of Python lack them

try:
    from lzma import LZMAError
except ImportError:
    LZMAError = EOFError  # type: ignore[misc, assignment]

CHUNK = 1 << 16  # arcs written at once
STREAMS = stat.S_IFIFO, stat.S_IFCHR
REFUSED = {stat.S_IFDIR: "a folder", stat.S_IFBLK: "a block device", stat.S_IFSOCK: "a socket"}
READ_BYTES = 1 << 22  # bytes of text read at once
SPARE = 1 << 20  # bytes for comments, blank lines and the header of a file
ARC_BYTES = 64  # bytes for each arc, in addition to SPARE; the longest lines in use take 40
LINE = 1 << 16  # maximum bytes in a line
GET_AGAIN = "delete it and get it again"


class Compression(NamedTuple):
    """A compression of text files."""

    name: str
    start: bytes  # the first bytes of a compressed file
    open: Callable[[IO[bytes]], Any]


COMPRESSIONS = {  # by suffix
    ".gz": Compression("gzip", b"\x1f\x8b", gzip.open),
    ".bz2": Compression("bzip2", b"BZh", lambda file: bz2.open(file)),
    ".xz": Compression("xz", b"\xfd7zXZ\0", lambda file: lzma.open(file)),
}
HEAD = 1000  # bytes that tell the format of a file
# What a file is that is no graph file, by its first bytes, or by a word if it begins with "<".
OTHER_FORMATS = {
    b"PK\3\4": "a zip archive",
    b"7z\xbc\xaf'\x1c": "a 7z archive",
    b"(\xb5/\xfd": "a Zstandard file",
    b"\1" + bytes(7): "a binary graph of Galois",
    b"\2" + bytes(7): "a binary graph of Galois",
    b"\x93NUMPY": "an array of numpy.save",
    b"\x89HDF": "an HDF5 file",
    b"PAR1": "a Parquet file",
    codecs.BOM_UTF16_LE: "a text in UTF-16, not in UTF-8",
    codecs.BOM_UTF16_BE: "a text in UTF-16, not in UTF-8",
}
MARKUP = {b"<graphml": "a GraphML file", b"<gexf": "a GEXF file", b"<svg": "an SVG picture"}

Arcs = tuple[int, np.ndarray, np.ndarray, Any]  # vertices, tails, heads, and weights or None


@contextmanager
def atomic(path: StrPath, mode: str = "wb") -> Iterator[IO]:
    """Open a temporary file that is renamed to `path` at the end. After an exception `path` is unchanged.

    The temporary file is `.NAME.tmp` in the folder of `path`. A missing folder is made. If `path` is a link, the target
    of the link is replaced and the link stays. A pipe, a character device and an open file of this process, such as
    /dev/stdout, are written directly. Raises InputError if `path` is a folder, a block device, a socket or a broken
    link. An OSError names `path`, not the temporary file.
    """
    path = Path(path)
    if (stream := _stream(path)) is not None:
        with naming(path), stream(mode) as file:
            yield file
        return
    target = destination(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.tmp")
    with naming(path, str(temporary)):
        temporary.unlink(missing_ok=True)  # a killed process may have left this file; it may be a link to another file
        try:
            with open(temporary, mode.replace("w", "x"), encoding=None if "b" in mode else "utf-8") as file:
                yield file
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)


def writable(path: StrPath) -> Path:
    """Return the path if `atomic` can write it; otherwise raise the error that `atomic` would raise. Change nothing."""
    path = Path(path)
    if _stream(path) is None:
        folder = destination(path).parent
        while not folder.exists():
            folder = folder.parent
        try:
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            error.filename = str(path)
            raise
    return path


def destination(path: StrPath) -> Path:
    """Return the regular or new file that `atomic` replaces, after following links.

    If `atomic` writes to the path directly, return the path. Raises InputError if `atomic` cannot write the path.
    """
    path = Path(path)
    if _stream(path) is not None:
        return path
    kind = stat.S_IFMT(path.stat().st_mode) if path.exists() else None
    if kind in REFUSED:
        raise InputError(f"{path}: this is {REFUSED[kind]}: name a file to write")
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    if path.is_symlink() and (target.is_symlink() or not target.parent.is_dir()):
        raise InputError(f"{path}: a link to {os.readlink(path)}, where no file can be: name another file to write")
    return target


def move(file: StrPath, path: StrPath) -> None:
    """Move a finished file to `path` as `atomic` writes it. The file must be on the disk of `destination(path)`."""
    if _stream(Path(path)) is None:
        with naming(path, str(file)):
            os.replace(file, destination(path))
    else:
        with open(file, "rb") as source, atomic(path) as target:
            shutil.copyfileobj(source, target)
        os.unlink(file)


def _stream(path: Path) -> Callable[[str], IO] | None:
    """Return a function that takes a mode and opens the path for direct writing; None if `atomic` replaces the path.

    Raises InputError if the path is a file of this process that is not open for writing.
    """
    number = _open_number(path)
    if number is not None:
        return lambda mode: _opened(os.dup(number), mode)
    if path.exists() and stat.S_IFMT(path.stat().st_mode) in STREAMS:
        return lambda mode: _opened(path, mode)
    return None


def _open_number(path: Path) -> int | None:
    """Return the number of the open file that a path such as /dev/stdout names; None for another path.

    Raises InputError if the open file is not open for writing.
    """
    name = path
    for _ in range(40):  # Linux follows at most 40 links
        folder = os.path.realpath(name.parent)
        if folder == os.path.realpath("/proc/self/fd") and name.name.isdecimal():
            if not os.path.lexists(name) or fcntl.fcntl(int(name.name), fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
                raise InputError(f"{path}: not open for writing: name a file to write")
            return int(name.name)
        if not name.is_symlink():
            break
        name = Path(folder, os.readlink(name))
    return None


class _Stream(io.FileIO):
    """A file without seek. With seek, np.savez would move back and corrupt a file that is open for appending."""

    def seekable(self) -> bool:
        return False


def _opened(file: Path | int, mode: str) -> IO:
    """Open a path, or the number of an open file, for writing from its current position."""
    binary = io.BufferedWriter(_Stream(file, "w"))
    return binary if "b" in mode else io.TextIOWrapper(binary, encoding="utf-8")


def sha256(path: StrPath) -> str:
    """Return the SHA-256 of a file's bytes, 64 hex digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclasses.dataclass(frozen=True)
class GraphCounts:
    """The numbers of vertices and arcs that a graph must have, and texts for the error if it has others."""

    vertices: int
    arcs: int
    graph: str  # the subject of the message: "nyc has", "FILE:"
    source: str  # where the counts come from: "config says"
    advice: str  # what to do

    def check(self, least: str = "", **found: int) -> None:
        """Raise InputError if the numbers found differ.

        least: text before each number found; "at least " if reading stopped early.
        """
        wrong = [
            f"{least}{number} {what}, {self.source} {getattr(self, what)}"
            for what, number in found.items()
            if number != getattr(self, what)
        ]
        if wrong:
            raise InputError(f"{self.graph} {' and '.join(wrong)}: {self.advice}")


def compression_of(path: StrPath) -> Compression | None:
    """Return the compression of a file, by its first bytes; None for a plain file."""
    with open(path, "rb") as file:
        start = file.read(HEAD)
    return next((one for one in COMPRESSIONS.values() if start.startswith(one.start)), None)


def most_bytes(arcs: int) -> int:
    """Return the maximum text size, in bytes, of a graph file of `arcs` arcs."""
    return SPARE + ARC_BYTES * arcs


class OtherFormat(InputError):
    """A file is in a format that is not read. The message names the format, not the file."""


def unpacked(path: StrPath) -> Iterator[bytes]:
    """Yield the text of a file, plain or compressed, in parts of up to READ_BYTES bytes, without a byte order mark.

    Raises InputError, without the file's name, for damaged compressed data, an empty file and an HTML page, and
    OtherFormat for other files that are not text.
    """
    compression = compression_of(path)
    with open(path, "rb") as file:
        try:
            stream = compression.open(file) if compression else file
            _check_head(head := stream.peek(HEAD))
            if head.startswith(codecs.BOM_UTF8):
                stream.read(len(codecs.BOM_UTF8))
            while part := stream.read(READ_BYTES):
                yield part
        except InputError:
            raise
        except ImportError as error:
            raise OtherFormat(f"this Python has no module for such a file ({error})") from None
        except (EOFError, OSError, zlib.error, LZMAError) as error:
            if not compression or getattr(error, "errno", None):
                raise
            raise InputError(f"a truncated or corrupted {compression.name} file ({error})") from None


def _check_head(head: bytes) -> None:
    """Raise InputError if these first bytes are not those of a text file with data."""
    if not head.removeprefix(codecs.BOM_UTF8):
        raise InputError("an empty file")
    kind = next((kind for start, kind in OTHER_FORMATS.items() if head.startswith(start)), "")
    if head[257:262] == b"ustar":
        kind = "a tar archive"
    elif not kind and 0 in head[:16]:
        kind = "a binary file"
    elif head.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"<"):
        words = head[:HEAD].lower()
        if b"<html" in words or b"<!doctype html" in words:
            raise InputError("an HTML page instead of data")
        kind = next((kind for word, kind in MARKUP.items() if word in words), "an XML file")
    if kind:
        raise OtherFormat(f"this looks like {kind}")


def contents(path: StrPath) -> Iterator[bytes]:
    """Yield what `unpacked` yields. All errors, including an unreadable file, are InputErrors that name the file."""
    try:
        yield from unpacked(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except OtherFormat as error:
        raise InputError(f"{path}: {error}: unpack or convert it: a graph is read from {described_formats()}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}: {GET_AGAIN}") from None


@dataclasses.dataclass(frozen=True)
class FileFormat:
    """The syntax of a graph file. Each pattern except first_arc matches one line."""

    header: re.Pattern  # the line with the numbers of vertices and arcs
    header_needed: str  # the header's form, for a message; empty if a file may have no header
    skipped: re.Pattern  # comments and blank lines
    first_arc: re.Pattern  # the beginning of the first arc's line in the file
    mark: bytes  # the first bytes of an arc's line
    arc: re.Pattern  # tail, head, and weight if the form has weights
    expected: str  # the form of an arc's line, for a message
    base: int  # the number of the first vertex


COLUMNS = ("tail", "head", "weight")
NUMBER = rb"[ \t]+(-?\d{1,400})"
DIMACS = FileFormat(
    header=re.compile(rb"p[ \t]+sp[ \t]+(\d{1,18})[ \t]+(\d{1,18})\s*"),
    header_needed="'p sp VERTICES ARCS' before the arcs",
    skipped=re.compile(rb"(?:c.*)?\s*", re.DOTALL),
    first_arc=re.compile(rb"^(?=a)", re.MULTILINE),
    mark=b"a",
    arc=re.compile(rb"a" + NUMBER * 3 + rb"\s*"),
    expected="'a TAIL HEAD WEIGHT', three whole numbers",
    base=1,
)
SNAP = FileFormat(
    header=re.compile(rb"#\s*Nodes:\s*(\d{1,18})\s+Edges:\s*(\d{1,18})\s*"),
    header_needed="",
    skipped=re.compile(rb"(?:#.*)?\s*", re.DOTALL),
    first_arc=re.compile(rb"^(?=[^#\s])", re.MULTILINE),
    mark=b"",
    arc=re.compile(rb"(-?\d{1,400})" + NUMBER + rb"\s*"),
    expected="'TAIL HEAD', two whole numbers",
    base=0,
)
TEXT = FileFormat(
    header=re.compile(rb"(\d{1,18})[ \t]+(\d{1,18})\s*"),
    header_needed="'VERTICES ARCS' in the first line",
    skipped=re.compile(rb"\s*"),
    first_arc=re.compile(rb"\n(?=\S)"),
    mark=b"",
    arc=re.compile(rb"(-?\d{1,400})" + NUMBER * 2 + rb"\s*"),
    expected="'TAIL HEAD WEIGHT', three whole numbers",
    base=0,
)


def read_dimacs(path: StrPath, expected: GraphCounts | None = None) -> Arcs:
    """Read a DIMACS shortest-path file (9th DIMACS Implementation Challenge, .gr).

    Parameters
    ----------
    path : path
        The file, plain or compressed by gzip, bzip2 or xz.
    expected : GraphCounts, optional
        The numbers of vertices and arcs that the file must have.

    Returns
    -------
    vertices : int
        The number of vertices, n.
    tails, heads, weights : ndarray of int64, shape (m,)
        Vertices are numbered from 0.

    Raises
    ------
    InputError
        If a line is wrong; the message names the line. Also if the header's counts differ from the expected counts, or
        if the graph does not fit in memory; arcs are not read then.
    """
    header, (tails, heads, weights) = _read(path, DIMACS, expected)
    tails -= 1
    heads -= 1
    return header.vertices, tails, heads, weights


def read_snap(path: StrPath, expected: GraphCounts | None = None) -> Arcs:
    """Read a SNAP edge list. Renumber its ids, in ascending order, from 0 to n - 1.

    Parameters
    ----------
    path : path
        The file, plain or compressed by gzip, bzip2 or xz.
    expected : GraphCounts, optional
        The numbers of vertices and arcs that the file must have.

    Returns
    -------
    vertices : int
        The number of vertices, n.
    tails, heads : ndarray of int64, shape (m,)
        Vertices are numbered from 0.
    weights : None

    Raises
    ------
    InputError
        As in `read_dimacs`. Without a header or expected counts, only memory limits the number of arcs.

    Notes
    -----
    A first line "N M" without a "#" may be an arc, or it may state the numbers of vertices and arcs (the counts). If M
    lines follow, the first line states the counts in two cases:

    * A comment "# Nodes: N Edges: M" or the caller states the same counts.
    * No comment and no caller states counts, and exactly N vertices occur in the M lines.

    If no comment and no caller states counts, and fewer than N vertices occur in the M lines, the file is refused,
    because its first line is ambiguous.
    """
    counts, (tails, heads) = _read(path, SNAP, expected)
    if not counts and len(heads) > 1 and heads[0] == len(heads) - 1:
        others = len(np.union1d(tails[1:], heads[1:]))
        if tails[0] > others:
            raise InputError(
                f"{path}: its first line may be an arc, or the counts of the {heads[0]} that follow, of {others} "
                "vertices: begin it with a line '# Nodes: VERTICES Edges: ARCS', and delete the first if it is no arc"
            )
        if tails[0] == others:
            tails, heads = tails[1:], heads[1:]
    if not len(tails):
        raise InputError(f"{path}: no arcs in it: expected lines with {SNAP.expected}")
    ends = np.concatenate([tails, heads])
    del tails, heads
    ids, numbers = np.unique(ends, return_inverse=True)
    if counts and counts.vertices != len(ids):
        raise InputError(f"{path}: {len(ids)} vertices have arcs, {counts.source} {counts.vertices}: {counts.advice}")
    tails, heads = numbers.reshape(2, -1)
    return len(ids), tails, heads, None


def read_text(path: StrPath, expected: GraphCounts | None = None) -> Arcs:
    """Read a file in text form. Parameters, results and errors are those of `read_dimacs`."""
    header, (tails, heads, weights) = _read(path, TEXT, expected)
    return header.vertices, tails, heads, weights


def _read(path: StrPath, form: FileFormat, expected: GraphCounts | None) -> tuple[Any, list[np.ndarray]]:
    """Return the counts and the columns of the arcs, int64; vertices are numbered as in the file.

    The counts come from the header. If there is no header, the counts are `expected`, which may be None.
    """
    reader = _Reader(path, form, expected)
    for piece in _pieces(path):
        reader.take(piece)
    return reader.finish()


def _pieces(path: StrPath) -> Iterator[bytes]:
    """Yield the text of a file in pieces that end at ends of lines.

    If a line has more than LINE bytes, yield only its first part, then stop.
    """
    rest = b""
    for part in contents(path):
        part = rest + part
        end = part.rfind(b"\n") + 1
        yield part[:end]
        rest = part[end:]
        if len(rest) > LINE:
            break
    yield rest


class _Reader:
    """Read a file piece by piece; raise InputError at the first piece that is wrong or passes a limit."""

    def __init__(self, path: StrPath, form: FileFormat, expected: GraphCounts | None):
        self.path, self.form, self.expected = path, form, expected
        self.header: GraphCounts | None = None
        self.lines = self.bytes = 0  # read so far
        self.columns = [array("q") for _ in range(form.arc.groups)]
        if expected:
            self.require_memory(expected.vertices, expected.arcs)

    @property
    def arcs(self) -> int:
        return len(self.columns[0])

    @property
    def counts(self) -> GraphCounts | None:
        return self.header or self.expected

    def require_memory(self, vertices: int, arcs: int) -> None:
        memory.require_graph(vertices, arcs, f"{self.path}: a graph")

    def take(self, piece: bytes) -> None:
        """Read the lines of a piece."""
        start = 0
        if not self.header and not self.arcs:
            found = self.form.first_arc.search(piece)
            start = found.end() if found else len(piece)
            self.take_lines(piece[:start])
        if start < len(piece):
            self.take_arcs(piece[start:])

    def take_arcs(self, arcs: bytes) -> None:
        """Read lines; the first line is an arc."""
        self.check_header()
        columns = _columns(arcs, self.form)
        if columns is None or not _in_range(columns, self.ranges()):
            self.take_lines(arcs)
        else:
            self.lines += len(columns[0])
            self.bytes += len(arcs)
            for column, part in zip(self.columns, columns, strict=True):
                column.frombytes(part.tobytes())
        if not self.counts:
            what = f"{self.path}: a graph of {self.arcs:,} arcs and more takes"
            memory.require(memory.BYTES_OF_ARC * self.arcs, what, memory.TAKE_SMALLER)
        elif self.arcs > self.counts.arcs + self.begins_with_counts():
            self.counts.check("at least ", arcs=self.counts.arcs + 1)

    def check_header(self) -> None:
        if self.form.header_needed and not self.header:
            raise InputError(f"{self.path}: no header: expected {self.form.header_needed}")

    def begins_with_counts(self) -> bool:
        """Return whether the first line of a SNAP file has the known counts."""
        assert self.counts is not None
        first = [column[:1].tolist() for column in self.columns]
        return self.form is SNAP and first == [[self.counts.vertices], [self.counts.arcs]]

    def finish(self) -> tuple[GraphCounts | None, list[np.ndarray]]:
        """Return the result of `_read`."""
        self.check_header()
        columns = [np.frombuffer(column, np.int64) for column in self.columns]
        if self.counts:
            if self.arcs == self.counts.arcs + 1:  # the first line is the counts
                columns = [column[1:] for column in columns]
            self.counts.check(arcs=len(columns[0]))
        return self.counts, columns

    def ranges(self) -> list[tuple[int, int]]:
        """Return the lowest and highest number allowed in each column."""
        base = self.form.base
        last = self.header.vertices - 1 + base if self.header and self.form.header_needed else 10**18
        return [(base, last), (base, last), (1, MAX_WEIGHT)][: self.form.arc.groups]

    def take_lines(self, piece: bytes) -> None:
        """Read each line by itself; raise InputError at the first wrong one."""
        ranges = self.ranges()
        for line in io.BytesIO(piece):
            self.lines += 1
            self.bytes += len(line)
            wrong = ""
            if len(line) > LINE:
                wrong = f"more than {LINE:,} bytes in a line"
            elif arc := self.form.arc.fullmatch(line):
                if self.form.header_needed and not self.header:
                    wrong = f"expected {self.form.header_needed}"
                for column, text, (low, high), name in zip(self.columns, arc.groups(), ranges, COLUMNS, strict=False):
                    if low <= int(text) <= high:
                        column.append(int(text))
                    else:
                        wrong = wrong or f"{name} {text.decode()} is outside [{low}, {high}]"
            elif not self.header and (counts := self.form.header.fullmatch(line)):
                wrong = self.begin(*(int(count) for count in counts.groups()))
                ranges = self.ranges()
            elif not self.form.skipped.fullmatch(line):
                expected = self.form.expected if self.header else self.form.header_needed or self.form.expected
                wrong = f"expected {expected}"
            if not wrong and self.bytes > most_bytes(self.arcs):
                wrong = (
                    f"{self.bytes:,} bytes up to here, and only {self.arcs:,} arcs: the most is {SPARE:,} bytes and "
                    f"{ARC_BYTES} for each arc: {GET_AGAIN}"
                )
            if wrong:
                raise InputError(f"{self.path}, line {self.lines}: {_quoted(line)}: {wrong}")

    def begin(self, vertices: int, arcs: int) -> str:
        """Set the header's counts; return what is wrong with the line, or an empty string."""
        if not 1 <= vertices <= MAX_COUNT or arcs > MAX_COUNT:
            return f"expected 1 to {MAX_COUNT} vertices and at most as many arcs"
        if self.expected:
            self.expected.check(vertices=vertices, arcs=arcs)
        self.require_memory(vertices, arcs)
        self.header = GraphCounts(vertices, arcs, f"{self.path}:", "its header says", GET_AGAIN)
        return ""


def _columns(piece: bytes, form: FileFormat) -> list[np.ndarray] | None:
    """Return the columns; None if a line is not an arc with one blank or tab between its numbers."""
    arcs = (piece.replace(b"\r\n", b"\n") if b"\r" in piece else piece).removesuffix(b"\n")
    blank = b"\t" if b"\t" in arcs else b" "
    fields = bool(form.mark) + form.arc.groups
    rows = 1 + arcs.count(b"\n")
    if form.mark:
        marked = arcs.startswith(form.mark + blank) + arcs.count(b"\n" + form.mark + blank)
        if not marked == arcs.count(form.mark) == rows:
            return None
    if len(piece) > rows * ARC_BYTES or arcs.translate(None, b"0123456789\n" + blank + form.mark):
        return None
    text = np.frombuffer(arcs + b"\n", np.uint8)
    ends = np.flatnonzero(text < ord("0"))  # of the fields
    digits = np.diff(ends, prepend=-1) - 1
    if len(ends) != rows * fields or not (text[ends[fields - 1 :: fields]] == ord("\n")).all():
        return None
    if not 1 <= digits.min() <= digits.max() <= 18:  # more may not fit in int64
        return None
    numbers = np.fromstring(arcs.translate(None, form.mark), np.int64, sep=" ")
    return list(np.ascontiguousarray(numbers.reshape(rows, -1).T))


def _in_range(columns, ranges) -> bool:
    return all(
        not len(column) or (low <= column.min() and column.max() <= high)
        for column, (low, high) in zip(columns, ranges, strict=True)
    )


def _quoted(line: bytes) -> str:
    """Return a line for a message: make every byte visible, and leave out the middle of a long line."""
    line = line.removesuffix(b"\n").removesuffix(b"\r")
    if len(line) <= 60:
        return repr(line)[1:]
    return f"{repr(line[:40])[1:]}...{repr(line[-20:])[1:]}"


def write_text(path: StrPath, vertices: int, tails: np.ndarray, heads: np.ndarray, weights: np.ndarray) -> None:
    """Write a graph in text form; tails, heads and weights are integers, (m,), with vertices from 0."""
    if (suffix := Path(path).suffix).lower() in COMPRESSIONS:
        raise InputError(f"{path}: the text form is written plain: choose a name without {suffix}")
    with atomic(path) as file:
        file.write(b"%d %d\n" % (vertices, len(tails)))
        for start in range(0, len(tails), CHUNK):
            chunk = np.column_stack([column[start : start + CHUNK] for column in (tails, heads, weights)])
            file.write(b"%d %d %d\n" * len(chunk) % tuple(chunk.ravel().tolist()))


def parse(file: StrPath, to: StrPath | None = None) -> None:
    """Convert a DIMACS file to the text form. Write to `to`, or overwrite `file` if `to` is None."""
    write_text(to or file, *read_dimacs(file))


def read_coordinates(path: StrPath, vertices: int) -> np.ndarray:
    """Read the coordinates of a graph's vertices from the lines "v ID X Y" of a DIMACS .co file.

    Parameters
    ----------
    path : path
        The file, plain or compressed by gzip, bzip2 or xz.
    vertices : int
        The number of vertices, n.

    Returns
    -------
    ndarray of float64, shape (n, 2)
        X and y of each vertex in degrees: the file's numbers / 10**6.

    Raises
    ------
    InputError
        If the file has another form, or not one line for each vertex.
    """
    text, most = io.BytesIO(), most_bytes(vertices)
    try:
        for part in unpacked(path):
            text.write(part)
            if text.tell() > most:
                raise ValueError(f"its text has more than {most:,} bytes")
        text.seek(0)
        kinds = np.dtype([("kind", "S2"), ("id", np.int64), ("place", np.int64, 2)])
        lines = np.loadtxt(text, kinds, comments=["c", "p"], ndmin=1)
        order = np.argsort(lines["id"], kind="stable")
        if {*lines["kind"]} != {b"v"} or not np.array_equal(lines["id"][order], np.arange(1, vertices + 1)):
            raise ValueError(f"it must have lines v 1 to v {vertices}, each once")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:  # also InputError
        advice = "name the coordinates of this graph, or none"
        raise InputError(f"{path}: not a DIMACS .co file of {vertices:,} vertices ({error}): {advice}") from None
    return lines["place"][order] / 1e6


def read_graph(path: StrPath, coordinates: StrPath | None = None) -> Graph:
    """Read a graph file.

    Parameters
    ----------
    path : path
        A regular file: a packed graph, a graph in text or DIMACS form, or a sparse array of whole weights, written by
        scipy.sparse.save_npz or in Matrix Market form. Text may be compressed by gzip, bzip2 or xz.
    coordinates : path, optional
        A DIMACS .co file with the coordinates of the vertices in degrees (`read_coordinates`).

    Returns
    -------
    Graph
        Its `meta` has `name`: the name stored in a packed graph, else the file's name without the suffix. If the file
        is in text form, `meta` also has `sha256`.

    Raises
    ------
    InputError
        If the file cannot be read, is not a regular file, is in another form or has weights that are not whole. If a
        command converts the file's form, the message names the command.

    Examples
    --------
    >>> from cuda_shortest_paths import io
    >>> from cuda_shortest_paths.graph import Graph
    >>> Graph.from_arcs(3, tails=[0, 1, 0], heads=[1, 2, 2], weights=[4, 1, 7]).save("triangle.npz")
    >>> graph = io.read_graph("triangle.npz")
    >>> graph.name, graph.vertices, graph.arcs
    ('triangle', 3, 3)
    """
    if coordinates is not None:
        graph = read_graph(path)
        places = read_coordinates(coordinates, graph.vertices)
        network = graph.network or Network(graph.edges)
        return dataclasses.replace(graph, network=dataclasses.replace(network, coordinates=places, crs="EPSG:4326"))
    path = Path(path)
    _check_regular(path)
    name = graph_name(path)
    if is_array(path):
        return _whole(path, read_array(path), name)
    if path.suffix.lower() == ".npz":
        graph = Graph.load(path)
        return dataclasses.replace(graph, meta={"name": name, **graph.meta})
    first = next(contents(path))[:100].lstrip()[:1]
    if first == b"%":
        raise InputError(f"{path}: this is a Matrix Market file: give it a name that ends in .mtx")
    form = next((form for form in TEXT_FORMS.values() if first and first in form.marks), FORMATS["text"])
    if form.command:
        raise InputError(f"{path}: this is a {form.title} file: {form.command.format(path)}")
    digest = {} if form.marks else {"sha256": sha256(path)}
    return Graph.from_arcs(*form.read(path), meta={"name": name, **digest})


def graph_name(path: StrPath) -> str:
    """Return the name of a file's graph: the file's name without folder and suffixes (.txt, .txt.gz)."""
    return _uncompressed(path).stem


def _uncompressed(path: StrPath) -> Path:
    """Return the path without the suffix of a compression."""
    path = Path(path)
    return path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path


def is_array(path: StrPath) -> bool:
    """Return whether `read_array` can read a file. The suffix decides; for an .npz file, its members decide."""
    path = Path(path)
    if _uncompressed(path).suffix.lower() == ".mtx":
        return True
    if path.suffix.lower() != ".npz":
        return False
    try:
        with zipfile.ZipFile(path) as file:
            return "format.npy" in file.namelist()
    except Exception:  # a missing or damaged file, which Graph.load reports
        return False


def read_array(path: StrPath) -> Any:
    """Read a sparse array: an .npz of scipy.sparse.save_npz, or a Matrix Market file.

    Returns
    -------
    sparse array of real numbers, shape (n, n)
        For a Matrix Market file: all stored entries, including zeros, and both directions of a symmetric matrix. If the
        file has only a pattern, all entries are 1.

    Raises
    ------
    InputError
        If the file is damaged, is not a square array of real numbers, or does not fit in memory.
    """
    _check_regular(Path(path))
    if Path(path).suffix.lower() == ".npz":
        what = "an array of scipy.sparse.save_npz"
        with read_packed(path, what, "write it again by scipy.sparse.save_npz"):
            array: Any = sparse.load_npz(path)
            if array.format in ("csr", "csc", "bsr"):
                array.check_format()
    else:
        array = _read_matrix_market(path)
    if len(set(array.shape)) > 1 or array.ndim != 2:
        raise InputError(f"{path}: an array of shape {array.shape}: the array of a graph is square")
    if array.dtype.kind not in "biuf":
        raise InputError(f"{path}: weights of type {array.dtype}: the weights of a graph are real numbers")
    return array


_WHOLE = rb"-?[0-9]++"
_REAL = rb"-?(?:(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eEdD][+-]?[0-9]++)?+|(?i:inf(?:inity)?|nan))"
_WHOLE_ENTRY = [_WHOLE], "'ROW COLUMN VALUE', three whole numbers"
_REAL_ENTRY = [_REAL], "'ROW COLUMN VALUE', two whole numbers and a number such as 1.5, 15e-1 or 1.5D+00"
MARKET_VALUES = {  # by the banner's field: the values of an entry, and the form of its line for a message
    "pattern": ([], "'ROW COLUMN', two whole numbers"),
    "integer": _WHOLE_ENTRY,
    "unsigned-integer": _WHOLE_ENTRY,
    "real": _REAL_ENTRY,
    "double": _REAL_ENTRY,
    "complex": ([_REAL, _REAL], "'ROW COLUMN REAL IMAGINARY', two whole numbers and two numbers"),
}
MARKET_HEADER = re.compile(rb"(?:[ \t]*+(?:%[^\n]*+)?\r?\n)*+[^\n]++\n?")  # comments, and the line with the counts
FORTRAN = bytes.maketrans(b"dD", b"ee")  # the exponents of Fortran, as C writes them


class _MarketText:
    """The text of a Matrix Market file, for scipy.io.mmread. SciPy reads a number's valid beginning and drops the rest.

    So `entries` checks each line. The lines keep their numbers, which SciPy's errors name.
    """

    def __init__(self, path: StrPath) -> None:
        self.path, self._pieces = path, _pieces(path)
        text, found = b"", None
        while not found and len(text) <= SPARE and (piece := next(self._pieces, b"")):
            text += piece
            found = MARKET_HEADER.match(text)
        if not found and len(text) > SPARE:
            raise InputError(f"{path}: more than {SPARE:,} bytes before its entries: {GET_AGAIN}")
        end = found.end() if found else len(text)
        self.header, self._rest = text[:end], text[end:]
        self._text: Iterator[bytes] = iter(())

    def entries(self, field: str, count: int) -> _MarketText:
        """Return this text for mmread; reading it raises InputError at a line that is not wholly an entry."""
        self._text = self._checked(field, count)
        return self

    def read(self, size: int = -1) -> bytes:
        """Return the next part, of any size; an empty one at the end."""
        return next(self._text, b"")

    def _checked(self, field: str, count: int) -> Iterator[bytes]:
        """Yield the header and the lines of the entries, with exponents as C writes them."""
        yield self.header
        lines = self.header.count(b"\n")
        values, form = MARKET_VALUES[field]
        entry = rb"[ \t]*+(?:" + rb"[ \t]++".join([rb"[0-9]++"] * 2 + values) + rb")?+[ \t\r]*+\n"
        entries = re.compile(rb"(?:" + entry + rb")*+")
        size = 0
        for piece in filter(None, itertools.chain([self._rest], self._pieces)):
            text = piece if piece.endswith(b"\n") else piece + b"\n"
            size += len(text)
            if size > most_bytes(count):
                what = f"more than {most_bytes(count):,} bytes, too many for the {count:,} entries of its header"
                raise InputError(f"{self.path}: {what}: {GET_AGAIN}")
            if not (_is_plain(text, 2 + len(values), _REAL in values) or entries.fullmatch(text)):
                place = entries.match(text).end()  # type: ignore[union-attr]  # matches at least nothing
                line = text[place : text.index(b"\n", place)]
                raise self._wrong(lines + text.count(b"\n", 0, place) + 1, line, f"expected {form}")
            lines += text.count(b"\n")
            if len(text) > LINE and text is not piece:  # `_pieces` has stopped in this line
                raise self._wrong(lines, text, f"more than {LINE:,} bytes in a line")
            yield text.translate(FORTRAN) if b"D" in text or b"d" in text else text

    def _wrong(self, number: int, line: bytes, wrong: str) -> InputError:
        return InputError(f"{self.path}, line {number}: {_quoted(line)}: {wrong}")


def _is_plain(text: bytes, fields: int, real: bool) -> bool:
    """Return whether each line has this many unsigned numbers, with one blank between them and without exponents.

    If `real`, the last one may have a decimal point between digits. This takes a third of a regular expression's time.
    """
    characters = np.frombuffer(text, np.uint8)
    marks = np.flatnonzero(characters < ord("0"))  # the blanks, points and line ends among digits
    if characters.max() > ord("9") or np.diff(marks, prepend=-1).min() < 2:
        return False
    found = characters[marks]
    points = found == ord(".")
    if points.any():
        if not real or (found[1:][points[:-1]] != ord("\n")).any():
            return False
        found = found[~points]
    line = np.frombuffer(b" " * (fields - 1) + b"\n", np.uint8)
    return len(found) % fields == 0 and bool((found.reshape(-1, fields) == line).all())


def _read_matrix_market(path: StrPath) -> Any:
    text = _MarketText(path)
    try:
        rows, _, entries, layout, field, symmetry = scipy_io.mminfo(io.BytesIO(text.header))
        if layout == "coordinate":
            memory.require_graph(rows, entries * (1 if symmetry == "general" else 2), f"{path}: a graph")
            return scipy_io.mmread(text.entries(field, entries), spmatrix=False)  # type: ignore[call-overload]
    except InputError:
        raise
    except (ValueError, OverflowError) as error:
        raise InputError(f"{path}: not a Matrix Market file ({error}): {GET_AGAIN}") from None
    raise InputError(f"{path}: a Matrix Market file of all entries: write the arcs alone, as 'coordinate'")


def _whole(path: Path, array: Any, name: str) -> Graph:
    """Return the graph of an array with whole weights; raise InputError for other weights."""
    arcs = array.tocoo()  # keeps duplicate entries, as parallel arcs
    if array.format == "bsr":
        arcs.eliminate_zeros()  # zeros that only fill the blocks of a BSR array
    wrong = np.flatnonzero(~((arcs.data >= 0) & (arcs.data <= MAX_WEIGHT) & (arcs.data == np.floor(arcs.data))))
    if len(wrong):
        raise InputError(
            f"{path}: weight {arcs.data[wrong[0]]}: a variant takes whole numbers from 0 to {MAX_WEIGHT}: scale them, "
            f"or take {COMMAND} sssp or apsp, which takes any"
        )
    tails, heads = arcs.coords
    return Graph.from_arcs(arcs.shape[0], tails, heads, arcs.data.astype(np.int64), meta={"name": name})


def _check_regular(path: Path) -> None:
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise InputError(f"{path}: not a regular file, and a graph is read more than once: write it to a file first")


class GraphFormat(NamedTuple):
    """A form of graph file."""

    title: str
    suffix: str  # the usual suffix, without that of a compression
    described: str  # what a file has
    read: Callable[..., Any]
    has_arcs: bool = True  # whether it is a text whose reader returns Arcs, as the raw file of a dataset
    marks: bytes = b""  # the characters that such a text may begin with; empty for the form of all other texts
    command: str = ""  # if `read_graph` does not read the form: the command that converts it


FORMATS = {  # by their names in config.yaml
    "text": GraphFormat("text", ".txt", "n m, then u v w", read_text),
    "dimacs": GraphFormat("DIMACS", ".gr", "p sp n m, then a u v w", read_dimacs, marks=b"cpa"),
    "snap": GraphFormat(
        "SNAP", ".txt", "u v, without weights", read_snap, marks=b"#", command=f"{COMMAND} add {{}} --to OUT"
    ),
    "matrix_market": GraphFormat("Matrix Market", ".mtx", "coordinates", read_array, has_arcs=False),
    "packed": GraphFormat(
        "packed", ".npz", "CSR arrays, or an array of scipy.sparse.save_npz", Graph.load, has_arcs=False
    ),
}
TEXT_FORMS = {name: form for name, form in FORMATS.items() if form.has_arcs}  # of raw files


def described_formats() -> str:
    """Return the forms of graph files in one line."""
    forms = [f"{form.title} ({form.suffix}: {form.described})" for form in FORMATS.values()]
    return f"{', '.join(forms)}; all but packed ones plain or compressed by {', '.join(COMPRESSIONS)}"
