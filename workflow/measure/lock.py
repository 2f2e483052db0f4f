"""Locks by which only one process at a time measures a file.

A measurement may outlive the Snakemake that started it. It holds an flock on FILE.lock beside the file that it will
write. The kernel releases it when the process ends, so a FILE.lock that was left behind locks nothing. On a shared disk
the lock holds between machines if the disk's flock does: over NFS, and on Lustre mounted with `flock`, but not with
`localflock`.
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

from kernels.errors import InputError, naming

NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)  # of flock, if the disk has no locks


@contextmanager
def held(out: Path) -> Iterator[None]:
    """Lock the file, and make its folder; raise InputError with the holder if another process has the lock."""
    path = out.with_name(f"{out.name}.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with open(path, "a+", encoding="utf-8") as file:
            _lock(file, out)
            if not _at(path, file):
                continue  # its holder deleted it after we opened it: lock the next one
            job = os.environ.get("SLURM_JOB_ID")
            said = f"process {os.getpid()} on {platform.node()}{f' (job {job} of Slurm)' if job else ''}, since "
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


def _lock(file: TextIO, out: Path) -> None:
    """Lock the open file; raise InputError as held does."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "another process"
        raise InputError(
            f"{out}: it is being measured by {holder}: wait until that ends or stop it, then run again"
        ) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        logging.warning("%s: files cannot be locked there: let no other process measure the same file", out.parent)


def _at(path: Path, file: TextIO) -> bool:
    """Return whether the open file is still the one at the path."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
