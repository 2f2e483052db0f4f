"""Errors of the input, the user or the machine, and how a command reports them and ends."""

from __future__ import annotations

import errno
import operator
import os
import reprlib
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

StrPath = str | os.PathLike[str]

# What to do about an OSError, by its number.
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


class InputError(ValueError):
    """Bad input: one message that says what is wrong, where, and what to do."""


class NotEnoughMemory(RuntimeError):
    """A run does not fit in memory.

    Attributes
    ----------
    needed, free : int
        Bytes.
    where : str
        "the card" or "the host".
    """

    def __init__(self, needed: int, free: int, where: str = "the card") -> None:
        super().__init__(f"needs {needed:,} bytes of memory on {where}, {free:,} are free")
        self.needed, self.free, self.where = needed, free, where


class TimeLimit(RuntimeError):
    """A run was stopped after its time limit, in seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"stopped after its limit of {seconds:g} s")
        self.seconds = seconds


class WrongResult(AssertionError):
    """A wrong distance or predecessor."""


def whole(value: Any, name: str) -> int:
    """Return an integer of Python or NumPy as an int. Raise InputError with `name` for True, 3.0 and all else."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise InputError(f"{name} must be a whole number, not {reprlib.repr(value)}")


def explain(error: BaseException) -> str | None:
    """Return one line about an error and what to do; None for a defect of the program."""
    if isinstance(error, InputError | NotEnoughMemory | TimeLimit | WrongResult):
        return str(error)
    if isinstance(error, MemoryError):
        return f"not enough memory ({str(error) or 'none is left'}): take a smaller graph, or a machine with more"
    if isinstance(error, OSError) and error.errno:
        said = ADVICE.get(error.errno, "correct that, or choose another path")
        return f"{error.filename or 'a file'}: {error.strerror}: {said}"
    return None


@contextmanager
def naming(path: StrPath, *temporary: str) -> Iterator[None]:
    """Put the path into an OSError that names no file, as when a disk is full, or only a temporary file."""
    try:
        yield
    except OSError as error:
        if error.errno and error.filename in (None, *temporary):
            error.filename = str(path)
        raise


@contextmanager
def reported(end: Callable[[str], NoReturn]) -> Iterator[None]:
    """Pass `end` one line about an error, to end the program with exit status 1; let a defect propagate.

    Exit quietly with status 130 after Ctrl-C, and with 141 if standard output was closed, as a shell does for signals.
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
    """Flush standard output now, so that Python does not fail to at its end."""
    try:
        with naming("standard output"):
            if sys.stdout:
                sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise
