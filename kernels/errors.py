"""Exceptions for errors of the input, the user or the machine, and how commands report them."""

from __future__ import annotations

import errno
import logging
import operator
import os
import reprlib
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

StrPath = str | os.PathLike[str]

# Advice for an OSError, by errno.
ADVICE = {
    errno.EACCES: "change its permissions, or choose another path",
    errno.EPERM: "change its permissions, or choose another path",
    errno.EROFS: "choose a path that can be written to",
    errno.ENOSPC: "make space on that disk, or write to another one",
    errno.EDQUOT: "delete what is not needed, or ask for a larger quota",
    errno.EFBIG: "raise the largest size a file may have (ulimit -f)",
    errno.EMFILE: "raise the number of files that may be open (ulimit -n)",
    errno.ENFILE: "close programs that hold many files open",
    errno.ENOENT: "make it first, or correct the path",
    errno.EEXIST: "a folder is needed there: remove the file, or choose another path",
    errno.ENOTDIR: "a folder is needed, and part of the path is a file: choose another path",
    errno.EISDIR: "name a file, not a folder",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "its links form a cycle: choose another path",
    errno.EIO: "the disk is faulty: choose a path on another one",
    errno.ENOMEM: "free some memory, or take a machine with more",
}
TOO_MANY_BLOCKS = "the card cannot hold all blocks of a kernel at once, which wait for each other: take a smaller grid"

COMMAND = f"python -m {__package__}"  # runs __main__.py


def printable(text: str) -> str:
    r"""Return the text with each unprintable character, such as a terminal's control character, as an escape: \x1b."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


class PrintableFormatter(logging.Formatter):
    """Format a log record as its message, with unprintable characters as escapes. A traceback keeps its lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return printable(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return "\n".join(map(printable, super().formatException(ei).split("\n")))


class InputError(ValueError):
    """Invalid input. The message says what is wrong, where, and what to do, in printable characters."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class NotEnoughMemory(RuntimeError):
    """A run does not fit in the card's memory.

    Attributes
    ----------
    needed, free : int
        The bytes that the run needs, and the bytes that are free.
    """

    def __init__(self, needed: int, free: int) -> None:
        super().__init__(f"needs {needed:,} bytes of memory on the card, {free:,} are free")
        self.needed, self.free = needed, free


class NotInstalled(InputError):
    """A package that a variant needs cannot be imported. The message begins with the package."""


class TimeLimit(RuntimeError):
    """A run was stopped because it exceeded its time limit. The attribute `seconds` is the limit."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"stopped after its limit of {seconds:g} s")
        self.seconds = seconds


class WrongResult(AssertionError):
    """A wrong distance or predecessor."""


def whole(value: Any, name: str) -> int:
    """Return a Python or NumPy integer as an int.

    For any other value, such as True or 3.0, raise InputError. Its message begins with `name`.
    """
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise InputError(f"{name} must be a whole number, not {reprlib.repr(value)}")


def explain(error: BaseException) -> str | None:
    """Return one line that explains an error and says what to do. Return None if the error is a bug in the program."""
    said = _explain(error)
    return said if said is None else printable(said)


def _explain(error: BaseException) -> str | None:
    if isinstance(error, InputError | NotEnoughMemory | TimeLimit | WrongResult):
        return str(error)
    if isinstance(error, MemoryError):
        return f"not enough memory ({str(error) or 'none is left'}): take a smaller graph, or a machine with more"
    if isinstance(error, OSError) and error.errno:
        said = ADVICE.get(error.errno, "correct that, or choose another path")
        return f"{error.filename or 'a file'}: {error.strerror}: {said}"
    from scipy.sparse.csgraph import NegativeCycleError  # takes long, and few errors get here

    if isinstance(error, NegativeCycleError):
        return "the graph has a negative cycle, so there are no shortest paths: remove it, or raise its weights"
    return None


@contextmanager
def naming(path: StrPath, *temporary: str) -> Iterator[None]:
    """Add `path` to an OSError that names only a temporary file or, as for a full disk, no file."""
    try:
        yield
    except OSError as error:
        if error.errno and error.filename in (None, *temporary):
            error.filename = str(path)
        raise


@contextmanager
def reported(end: Callable[[str], NoReturn]) -> Iterator[None]:
    """Report an error of the body by `end(message)`, which must end the program with status 1. Let bugs propagate.

    After Ctrl-C, exit quietly with status 130. If standard output was closed, exit quietly with status 141. Shells use
    these statuses for SIGINT and SIGPIPE.
    """
    try:
        try:
            yield
        finally:
            _flush()
    except BrokenPipeError:
        sys.exit(128 + signal.SIGPIPE)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except Exception as error:
        said = explain(error)
        if said is None:
            raise
        end(f"error: {said}")


def _flush() -> None:
    """Flush standard output now, so that Python does not fail to flush it when the program ends."""
    try:
        with naming("standard output"):
            if sys.stdout:
                sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise
