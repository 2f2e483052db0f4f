"""The host's memory, and checks that raise an error before too much of it is allocated."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from .errors import InputError

MEMBERSHIP = Path("/proc/self/cgroup")  # lists the control groups of this process (Linux)
GROUPS = Path("/sys/fs/cgroup")  # the mount point of control groups
BYTES_OF_VERTEX = 12  # at the peak, while a graph is read and built; the finished graph takes 4
BYTES_OF_ARC = 100  # at the same peak (SNAP 97, text form 55); the finished graph takes 8
TAKE_SMALLER = "take a smaller graph, or a machine with more"


@functools.cache
def host_memory() -> int:
    """Return the memory that this process may use, in bytes: the machine's, or a control group's limit if lower."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for line in MEMBERSHIP.read_text(encoding="utf-8").splitlines() if MEMBERSHIP.exists() else []:
        _, controllers, group = line.split(":", 2)
        if not controllers:
            top, name = GROUPS, "memory.max"
        elif "memory" in controllers.split(","):
            top, name = GROUPS / "memory", "memory.limit_in_bytes"
        else:
            continue
        # The limits of the enclosing groups hold too. In a container, only the file of the top group may exist.
        own = top / group.lstrip("/")
        for file in (folder / name for folder in (own, *own.parents)):
            limit = file.read_text(encoding="utf-8").strip() if file.is_file() else "max"
            if limit != "max":
                limits.append(int(limit))
    return min(limits)


def require(needed: int, what: str, advice: str) -> None:
    """Raise InputError if this process cannot have `needed` bytes. what: the beginning of the message."""
    if needed > host_memory():
        raise too_much(needed, what, advice)


def too_much(needed: int, what: str, advice: str) -> InputError:
    """Return the error that `require` raises."""
    return InputError(f"{what} {needed:,} bytes of memory, this machine has {host_memory():,}: {advice}")


def require_graph(vertices: int, arcs: int, what: str = "a graph") -> None:
    """Raise InputError if reading and building a graph takes more memory than this process can have."""
    needed = BYTES_OF_VERTEX * int(vertices) + BYTES_OF_ARC * arcs
    size = f"{vertices:,} vertices and {arcs:,} arcs"
    require(needed, f"{what} of {size} takes", TAKE_SMALLER)
