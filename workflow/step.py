"""What all steps share: the log and the error message of a rule's script, reading JSON, digests."""

from __future__ import annotations

import hashlib
import json
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from kernels.errors import InputError, PrintableFormatter, reported


@contextmanager
def logged(log: Sequence[str] = ()) -> Iterator[None]:
    """Log to stderr and to a rule's log file, if it has one, while a script runs.

    Exit 1 with one line for a fault of input or machine, and with a traceback for a defect of the program.
    """
    logging.raiseExceptions = False  # a log on a full disk stops nothing
    _log_to(logging.StreamHandler())
    try:
        with reported(_end):
            for file in log:
                Path(file).parent.mkdir(parents=True, exist_ok=True)
                _log_to(logging.StreamHandler(), logging.FileHandler(file, mode="w", encoding="utf-8"))
            yield
    except Exception:
        logging.exception("this is a defect of the program, not of its input:")
        sys.exit(1)


def read_json(path: Path, advice: str) -> dict:
    """Read the JSON object in a file. Raises InputError, which ends with the advice, if there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(value, dict):
            raise ValueError("not a JSON object")
        return value
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', error)}: {advice}") from None


def digest(data: bytes) -> str:
    """Return 16 hexadecimal digits of the SHA-256."""
    return hashlib.sha256(data).hexdigest()[:16]


def _end(message: str) -> NoReturn:
    logging.error("%s", message)
    sys.exit(1)


def _log_to(*handlers: logging.Handler) -> None:
    for handler in handlers:
        handler.setFormatter(PrintableFormatter())
    logging.basicConfig(level=logging.INFO, handlers=handlers, force=True)
    for chatty in ("numba", "fontTools"):  # every allocation on the card, every glyph of a PDF
        logging.getLogger(chatty).setLevel(logging.WARNING)
