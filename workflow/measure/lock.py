"""A file is measured by one process at a time.

A measurement may outlive the Snakemake that started it. It holds a lock, flock's on FILE.lock beside the file it will
write, which the kernel takes back when the process ends, however it ends; so a FILE.lock that was left behind locks
nothing. On a disk that several machines share, as a cluster's nodes do, it holds between them where the disk's flock
does: over NFS, and on Lustre mounted with `flock`, but not with `localflock`.
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

NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)  # what flock says where the disk has none


@contextmanager
def held(out: Path) -> Iterator[None]:
    """Keep every other process from measuring the file meanwhile. Makes its folder.

    Raises InputError that says who measures it, where another process does.
    """
    path = out.with_name(f"{out.name}.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with open(path, "a+", encoding="utf-8") as file:
            _lock(file, out)
            if not _at(path, file):
                continue  # its holder deleted it between our open and our lock: lock the next one
            job = os.environ.get("SLURM_JOB_ID")
            said = f"process {os.getpid()} on {platform.node()}{f' (job {job} of Slurm)' if job else ''}, since "
            said += f"{datetime.now(UTC).isoformat(timespec='seconds')}\n"
            try:
                with naming(path):
                    file.truncate(0)
                    os.write(file.fileno(), said.encode())  # not buffered: closing would try it again where it fails
                yield
            finally:
                if _at(path, file):
                    path.unlink()
            return


def _lock(file: TextIO, out: Path) -> None:
    """Lock the open file; raises InputError as held does."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "another process"
        raise InputError(
            f"{out}: it is being measured by {holder}: wait until that ends, or stop it, and start again"
        ) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        logging.warning("%s: no file can be locked there: see that no other process measures it too", out.parent)


def _at(path: Path, file: TextIO) -> bool:
    """Whether it is this open file that lies at the path."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
