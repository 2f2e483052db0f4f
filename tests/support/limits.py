"""Limits of the system during a test."""

import contextlib
import resource
import signal


@contextlib.contextmanager
def files_of_at_most(size):
    """Limit the size of files: EFBIG is raised where a full disk would give ENOSPC."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
