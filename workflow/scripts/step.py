"""What the command lines of all steps share: a log file, and one message where input is bad."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable
from pathlib import Path

from kernels.errors import InputError


def parser(doc: str) -> argparse.ArgumentParser:
    """A command line described by the module's docstring, with the option every step has."""
    result = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("--log", type=Path, help="also write what is said to this file")
    return result


def showing_parser(doc: str, out_dir: str) -> argparse.ArgumentParser:
    """The same for a step that shows measurements: what it reads, a sentence on where that is from, where it writes."""
    result = parser(doc)
    result.add_argument("--measurements", type=Path, nargs="*", default=[], help="CSV files of measurements")
    result.add_argument("--source", required=True, help="a sentence: where the measurements come from")
    result.add_argument("--out-dir", type=Path, default=Path(out_dir))
    return result


def run(main: Callable[[argparse.Namespace], None], arguments: argparse.ArgumentParser) -> None:
    """Parse, log to stderr and to --log, run main; exit 1 with one line where input is bad."""
    args = arguments.parse_args()
    handlers: list[logging.Handler] = [logging.StreamHandler()]
    if args.log:
        args.log.parent.mkdir(parents=True, exist_ok=True)
        handlers.append(logging.FileHandler(args.log, mode="w"))
    logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=handlers, force=True)
    for chatty in ("numba", "fontTools"):  # every allocation on the card, every glyph of a PDF
        logging.getLogger(chatty).setLevel(logging.WARNING)
    try:
        main(args)
    except InputError as error:
        logging.error("error: %s", error)
        sys.exit(1)
    except Exception:
        logging.exception("this is a defect of the program, not of its input:")
        sys.exit(1)
