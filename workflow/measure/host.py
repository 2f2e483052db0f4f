"""The machine, by an anonymous id, and the card that a job takes."""

import fcntl
import hashlib
import logging
import os
import platform
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import IO


@cache
def host_id() -> str:
    """Return eight hexadecimal digits: a digest of the machine's id, its name and the UUIDs of all its NVIDIA cards.

    The cards tell apart virtual machines that were made from one image.
    """
    machine = Path("/etc/machine-id")
    machine_id = machine.read_text(encoding="utf-8").strip() if machine.exists() else ""
    parts = [machine_id, platform.node(), *sorted(_cards())]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]


def _cards() -> list[str]:
    """Return the UUIDs of all cards, whatever CUDA_VISIBLE_DEVICES says."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return []
    try:
        handles = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
        return [pynvml.nvmlDeviceGetUUID(handle) for handle in handles]
    finally:
        pynvml.nvmlShutdown()


@contextmanager
def one_card(cores: int = 0) -> Iterator[None]:
    """Take a card that no other job of this machine has, by CUDA_VISIBLE_DEVICES; wait until one is free.

    Call it before CUDA is initialized. If CUDA_VISIBLE_DEVICES names cards, it takes one of these. Each card has a file
    that is locked by flock, which ends with the process, in the folder for temporary files. A card that is given by its
    number is locked by its UUID, since under Slurm two jobs may each have a card 0.
    cores: the number of cores that the process keeps, other ones with each card; 0 keeps all.
    """
    seen = cards = _cards()
    if given := os.environ.get("CUDA_VISIBLE_DEVICES"):
        cards = given.split(",")
    if not cards:
        yield
        return
    with ExitStack() as stack:
        locks = {card: stack.enter_context(open(_lock_file(_uuid(card, seen)), "ab")) for card in cards}
        while not (taken := next((card for card, file in locks.items() if _locked(file)), None)):
            time.sleep(1)
        os.environ["CUDA_VISIBLE_DEVICES"] = taken
        kept = _keep_cores(cards.index(taken), cores)
        logging.info("using card %s of %d and %d cores", taken, len(cards), len(kept))
        yield


def _keep_cores(card: int, count: int) -> set[int]:
    """Pin the process to the slice of `count` of its cores that belongs to a card; return the cores it has."""
    cores = sorted(os.sched_getaffinity(0))
    if 0 < count < len(cores):
        start = card * count % (len(cores) - count + 1)
        os.sched_setaffinity(0, cores[start : start + count])
    return os.sched_getaffinity(0)


def _uuid(card: str, seen: list[str]) -> str:
    """Return the UUID of a card that is given by its UUID or its number."""
    return seen[int(card)] if card.isdigit() and int(card) < len(seen) else card


def _lock_file(card: str) -> str:
    name = "".join(letter if letter.isalnum() else "_" for letter in card)
    return os.path.join(tempfile.gettempdir(), f"shortest_paths_card_{name}_{os.getuid()}.lock")


def _locked(file: IO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
