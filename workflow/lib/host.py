"""Which machine this is, by a number that names nobody; which of its cards a job takes."""

import fcntl
import hashlib
import logging
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import TextIO

Aside = Callable[[], AbstractContextManager]  # its context: meanwhile another job may use the card


@cache
def host_id() -> str:
    """Eight hexadecimal digits: a digest of the machine's id, its name and the UUIDs of its NVIDIA cards.

    The cards are those that NVML shows, whatever CUDA_VISIBLE_DEVICES says: virtual machines that were made from one
    image share the rest.
    """
    machine = Path("/etc/machine-id")
    parts = [machine.read_text().strip() if machine.exists() else "", platform.node(), *sorted(_cards())]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]


def _cards() -> list[str]:
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
def one_card(cores: int = 0, jobs: int = 1) -> Iterator[Aside]:
    """Take a card that no other job of this machine has, by CUDA_VISIBLE_DEVICES; wait until one is free.

    To be entered before anything asks CUDA. Where the job was given its cards, it takes one of these. The lock is
    flock's on a file a card in the folder for temporary files; it ends with the process. A card that was given by its
    number is locked by its UUID, since under Slurm two jobs may each have a card 0.
    cores: how many of the process's cores it keeps, with each card others; 0 keeps all.
    jobs: how many jobs may be on the card. With more than one, a job that is in the context that is given unlocks the
    card meanwhile, and waits for it at the end.
    """
    seen = cards = _cards()
    if given := os.environ.get("CUDA_VISIBLE_DEVICES"):
        cards = given.split(",")
    if not cards:
        yield nullcontext
        return
    with ExitStack() as stack:

        def opened(name: str) -> TextIO:
            return stack.enter_context(open(_lock_file(name), "a"))

        locks = {card: opened(_uuid(card, seen)) for card in cards}
        places = list(locks.items())
        if jobs > 1:  # each locks a file of its own, and then waits for the card
            places = [(card, opened(f"{_uuid(card, seen)} {number}")) for number, card in product(range(jobs), cards)]
        while not (taken := next((card for card, file in places if _locked(file)), None)):
            time.sleep(1)
        os.environ["CUDA_VISIBLE_DEVICES"] = taken
        kept = _keep_cores(cards.index(taken), cores)
        logging.info("on card %s of %d, with %d cores", taken, len(cards), len(kept))
        aside = nullcontext
        if jobs > 1:
            fcntl.flock(locks[taken], fcntl.LOCK_EX)
            aside = partial(_unlocked, locks[taken])
        yield aside


@contextmanager
def _unlocked(file: TextIO) -> Iterator[None]:
    """Unlock the file meanwhile; then wait until it is free."""
    fcntl.flock(file, fcntl.LOCK_UN)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_EX)


def _keep_cores(place: int, count: int) -> set[int]:
    """Keep only the place-th `count` of this process's cores, where it has more; returns those it has."""
    cores = sorted(os.sched_getaffinity(0))
    if 0 < count < len(cores):
        start = place * count % (len(cores) - count + 1)
        os.sched_setaffinity(0, cores[start : start + count])
    return os.sched_getaffinity(0)


def _uuid(card: str, seen: list[str]) -> str:
    """The UUID of a card that may be given by its number among those that NVML shows."""
    return seen[int(card)] if card.isdigit() and int(card) < len(seen) else card


def _lock_file(card: str) -> str:
    name = "".join(letter if letter.isalnum() else "_" for letter in card)
    return os.path.join(tempfile.gettempdir(), f"shortest_paths_card_{name}_{os.getuid()}.lock")


def _locked(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
