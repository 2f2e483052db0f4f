"""Locks by which only one process at a time writes a file.

The process holds an flock on FILE.lock beside the file that it will write. The kernel releases it when the process
ends, so a FILE.lock that was left behind locks nothing. On a shared disk the lock holds between machines if the disk's
flock does: over NFS, and on Lustre mounted with `flock`, but not with `localflock`.
"""

import errno
import fcntl
import logging
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from .errors import InputError, naming

NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)  # of flock, if the disk has no locks
LOCK_START = "process "  # the first bytes of a lock file


@contextmanager
def held(out: Path, doing: str = "measured", *, required: bool = False) -> Iterator[None]:
    """Lock the file, and make its folder; raise InputError with the holder if another process has the lock.

    doing: what the holder does to the file, for the message. If the disk has no locks, log a warning and go on, or, if
    `required`, raise InputError.
    """
    path = out.with_name(f"{out.name}.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise _foreign(path)
        with open(path, "a+", encoding="utf-8", errors="replace") as file:
            _lock(file, out, doing, required)
            if not _at(path, file):
                continue  # its holder deleted it after we opened it: lock the next one
            file.seek(0)
            if (text := file.read()) and not text.startswith(LOCK_START):
                raise _foreign(path)
            job = os.environ.get("SLURM_JOB_ID")
            said = f"{LOCK_START}{os.getpid()} on {platform.node()}{f' (job {job} of Slurm)' if job else ''}, since "
            said += f"{datetime.now(UTC).isoformat(timespec='seconds')}\n"
            try:
                with naming(path):
                    file.truncate(0)
                    os.write(file.fileno(), said.encode())  # not buffered: after a failure closing would write again
                yield
            finally:
                if _at(path, file):
                    path.unlink()
            return


def _lock(file: TextIO, out: Path, doing: str, required: bool) -> None:
    """Lock the open file; raise InputError as held does."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "another process"
        raise InputError(
            f"{out}: it is being {doing} by {holder}: wait until that ends or stop it, then run again"
        ) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        if required:
            if not os.fstat(file.fileno()).st_size:
                os.unlink(file.name)  # we made it
            raise InputError(
                f"{out.parent}: files cannot be locked on this disk ({error.strerror}): choose a path on another disk"
            ) from None
        logging.warning("%s: files cannot be locked there: let no other process measure the same file", out.parent)


def _foreign(path: Path) -> InputError:
    return InputError(f"{path}: the name of a lock, but it is something else: move it away, or choose another path")


def _at(path: Path, file: TextIO) -> bool:
    """Return whether the open file is still the one at the path."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
