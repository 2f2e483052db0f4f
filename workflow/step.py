"""What the command lines of all steps share: a log file, and one message where input is bad."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import yaml
from jsonschema import Draft202012Validator

from kernels.errors import InputError, reported

SCHEMA = Path(__file__).parent / "schemas" / "config.schema.yaml"


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


def add_datasets(parser: argparse.ArgumentParser) -> None:
    """Add the option that says which datasets the tables show."""
    parser.add_argument(
        "--datasets",
        type=parse_datasets,
        required=True,
        metavar="JSON",
        help="by dataset: vertices, arcs, tables, as in config.yaml",
    )


def json_object(text: str) -> dict:
    """What an option holds that takes a JSON object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("not a JSON object: it must be {...}")
    return value


def parse_datasets(text: str) -> dict[str, dict]:
    """What --datasets holds: a JSON object, by dataset its vertices, arcs and tables, and its family if it has one."""
    value = json_object(text)
    for name, entry in value.items():
        if not isinstance(entry, dict) or entry.keys() - {"family"} != {"vertices", "arcs", "tables"}:
            raise argparse.ArgumentTypeError(f"{name}: not an object of vertices, arcs and tables")
    return value


def share(text: str) -> float:
    """What an option holds that takes a number from 0 to below 1."""
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not from 0 to below 1")
    return value


def count(text: str) -> int:
    """What an option holds that takes a whole number of 1 or more."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return value


def read_json(path: Path, advice: str) -> dict:
    """The JSON object in a file. Raises InputError, which ends with the advice, where there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}: {advice}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: {error}: {advice}") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: not a JSON object: {advice}")
    return value


def check_part(option: str, value: dict, *keys: str, needed: Sequence[str] | None = None) -> None:
    """Raise InputError where an option's value is not what config.yaml may have; keys: where in its schema.

    needed: the keys that the step needs, where those are not all that config.yaml must have.
    """
    part = yaml.safe_load(SCHEMA.read_text())
    for key in keys:
        part = part["properties"][key] if "properties" in part else part[key]
    if needed is not None:
        part = {**part, "required": needed}
    for error in Draft202012Validator(part).iter_errors(value):
        where = ".".join(map(str, [option, *error.absolute_path]))
        raise InputError(f"{where}: {error.message}: see {SCHEMA.name}")


def check_entry(entry: dict, needed: Sequence[str] | None = None) -> None:
    """Raise InputError where --entry is no dataset's entry of config.yaml; needed: as check_part has it."""
    check_part("--entry", entry, "datasets", "additionalProperties", needed=needed)


@contextmanager
def logged(log: Sequence[str] = ()) -> Iterator[None]:
    """Log to stderr and to a rule's log file, if it has one, while a script runs.

    Exit 1 with one line if input or machine is at fault, and with a traceback if the program is.
    """
    logging.raiseExceptions = False  # a log on a full disk stops nothing
    _log_to(logging.StreamHandler())
    try:
        with reported(_end):
            for file in log:
                Path(file).parent.mkdir(parents=True, exist_ok=True)
                _log_to(logging.StreamHandler(), logging.FileHandler(file, mode="w"))
            yield
    except Exception:
        logging.exception("this is a defect of the program, not of its input:")
        sys.exit(1)


def run(main: Callable[[argparse.Namespace], None], arguments: argparse.ArgumentParser) -> None:
    """Parse the command line, log to stderr and to --log, and run main."""
    args = arguments.parse_args()
    with logged([args.log] if args.log else []):
        main(args)


def _end(message: str) -> NoReturn:
    logging.error("%s", message)
    sys.exit(1)


def _log_to(*handlers: logging.Handler) -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=handlers, force=True)
    for chatty in ("numba", "fontTools"):  # every allocation on the card, every glyph of a PDF
        logging.getLogger(chatty).setLevel(logging.WARNING)
