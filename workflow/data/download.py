"""Download the raw file of a dataset from the first of its sources that has it, and check it.

An existing file is checked and used without a network. An unfinished download is kept in FILE.part and FILE.part.json,
from which the next one resumes.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import signal
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path

import requests
import urllib3
from tqdm import tqdm

from kernels import io
from kernels.errors import InputError, naming
from workflow import step

CHUNK = 1 << 16  # bytes
MINUTE = 60.0  # seconds over which the speed of a download is measured
ORIGINS = Path("resources/origins")
BY_HAND = "put by hand"
RAW_NAME = re.compile(r"[A-Za-z0-9_+][A-Za-z0-9._+-]{0,199}")
NO_LOCAL_PATH = re.compile(r"[{}<>\0\ud800-\udfff]")  # Snakemake replaces {these} and <these>; no file has the others
MOST_DIGITS = 18  # of a size in bytes
TOO_SLOW = "{:,} bytes in {:g} s, less than the {:g} kB/s of download.min_kb_s"
TOO_LARGE = "{} bytes, more than the {:g} MB of download.max_mb: raise that if this is the right file"
ABOUT_RANGE = (HTTPStatus.PARTIAL_CONTENT, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)


class NotHere(Exception):
    """A source does not have the file: ask the next one."""


class NotNow(Exception):
    """A source may have the file later: ask it again."""


def raw_name(entry: dict) -> str | None:
    """Return the name of a dataset's raw file, the last part of its first source; None without a source."""
    source = next(iter(entry.get("sources", [])), None)
    if source is None or ":" not in source:
        return source and Path(source).name
    path = re.sub("^[^:]*:(//[^/?#]*)?", "", source)  # after "archive:" or "https://server"
    return re.split("[?#]", path)[0].rpartition("/")[2]


def local(entry: dict) -> str | None:
    """Return the path of a dataset whose only source is a local file, which is read in place; else None."""
    sources = entry.get("sources", [])
    return sources[0] if len(sources) == 1 and ":" not in sources[0] else None


def check_sources(dataset: str, entry: dict, archives: dict) -> None:
    """Raise InputError if a dataset's entry names no file, or one that cannot be kept under its name."""
    if entry["format"] == "random":
        return
    where, name = f"config: datasets.{dataset}.sources", raw_name(entry)
    if name is None:
        raise InputError(f"{where}: missing: a graph of format {entry['format']} is read from a file: name one")
    if path := local(entry):
        if NO_LOCAL_PATH.search(path):
            raise InputError(
                f"{where}: {path!r}: a path may not contain {{, }}, <, > or an invalid character: rename the file"
            )
        return
    places(dataset, entry, archives)
    if not RAW_NAME.fullmatch(name):
        raise InputError(
            f"{where}: {entry['sources'][0]}: a file is kept under the last part of its address, here {name!r}, which "
            "must be 1 to 200 letters, digits, . _ + or -, the first neither . nor -: name another source first, or "
            "download the file yourself and give its path as the only source"
        )


def places(dataset: str, entry: dict, archives: dict) -> list[str]:
    """Return the URLs of a dataset's file in order of preference. Raises InputError for a source that has none."""
    result = []
    for source in entry["sources"]:
        where = f"config: datasets.{dataset}.sources: {source if source.isprintable() else repr(source)}"
        archive, colon, path = source.partition(":")
        if not colon:
            raise InputError(f"{where}: a local file must be the only source: delete the others")
        if " " in source or not source.isprintable():
            raise InputError(f"{where}: an address may not contain blanks: encode them, as %20")
        if path.startswith("//"):
            if archive.lower() not in ("http", "https"):
                raise InputError(
                    f"{where}: the address is neither http nor https: download the file yourself, and give its path as "
                    "the only source"
                )
            result.append(source)
        elif archive in archives:
            result += [f"{base.rstrip('/')}/{path}" for base in archives[archive]]
        else:
            raise InputError(
                f"{where}: there is no archive {archive}: choose one of {', '.join(archives)}, or the path of a local "
                "file, without a colon"
            )
    return result


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn errors of reading a raw file into InputError, with what to do."""
    try:
        kind = path.stat().st_mode
        if stat.S_ISDIR(kind):
            raise InputError(f"{path}: this is a folder: name a file in it")
        if not stat.S_ISREG(kind):
            raise InputError(f"{path}: this is a device or a pipe: copy its data to a file")
        yield
    except FileNotFoundError:
        if path.is_symlink():
            raise InputError(
                f"{path}: a link to {os.readlink(path)}, which does not exist: correct or delete it"
            ) from None
        raise InputError(f"{path}: no such file: download it, or put it there by hand") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}: check its permissions and its disk") from None


def counts(dataset: str, entry: dict) -> io.GraphCounts | None:
    """Return the counts of vertices and arcs in a dataset's entry; None if it has no arcs."""
    if "arcs" not in entry:
        return None
    keys = f"datasets.{dataset}.vertices and datasets.{dataset}.arcs"
    advice = f"if you want another file, give its counts as {keys} in a file for --configfile"
    return io.GraphCounts(entry["vertices"], entry["arcs"], f"{dataset} has", "config says", advice)


def check_content(path: Path, expected: io.GraphCounts | None = None) -> None:
    """Raise InputError if a file is damaged, empty, a page, binary, or has more text than the expected counts allow.

    The message does not name the file.
    """
    size, most = 0, io.most_bytes(expected.arcs) if expected else math.inf
    for part in io.unpacked(path):
        size += len(part)
        if size > most:
            reason = f"more than {most:,} bytes of text, too many for the {expected.arcs:,} arcs that config says"
            raise InputError(f"{reason}: {expected.advice}")
    named = io.COMPRESSIONS.get(Path(path.name.removesuffix(".part")).suffix.lower())
    if named and io.compression_of(path) != named:
        raise InputError(f"not a {named.name} file")


def read_origin(name: str) -> dict | None:
    """Return the record of a raw file's origin: url, sha256, bytes, retrieved (ISO 8601 UTC)."""
    record = ORIGINS / f"{name}.json"
    if not record.exists():
        return None
    return _record(record, ("url", "sha256", "retrieved"), "delete it to record the file again")


def _record(path: Path, keys: tuple[str, ...], advice: str) -> dict:
    """Read a JSON object with at least these keys. Raises InputError, which ends with the advice."""
    record = step.read_json(path, advice)
    if missing := [key for key in keys if key not in record]:
        raise InputError(f"{path}: the key {missing[0]} is missing: {advice}")
    return record


def write_origin(path: Path, digest: str, url: str) -> None:
    origin = {
        "url": url,
        "sha256": digest,
        "bytes": path.stat().st_size,
        "retrieved": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    with io.atomic(ORIGINS / f"{path.name}.json", "w") as file:
        file.write(json.dumps(origin, indent=2) + "\n")


def check_sha256(digest: str, dataset: str, entry: dict, origin: dict | None) -> None:
    """Raise InputError if a raw file has another digest than the configuration, or else its record."""
    key = f"datasets.{dataset}.sha256"
    expected, source = entry.get("sha256"), key
    if not expected and origin:
        expected, source = origin["sha256"], f"the record of {origin['retrieved']} ({origin['url']})"
    if expected and expected != "any" and digest != expected.lower():
        raise InputError(
            f"its sha256 is {digest}, but {source} says {expected} "
            f"(if it is the right file, set {key} to its sha256 or to any)"
        )


def verify_raw(path: Path, dataset: str, entry: dict) -> None:
    """Check a raw file against the configuration and the record of its origin in ORIGINS.

    A new file, or another one that the configuration allows, is recorded as put by hand; a local file in place is not
    recorded. Raises InputError if the file is missing, unreadable or another one.
    """
    with reading(path):
        digest = io.sha256(path)
    own = bool(source := local(entry)) and path.absolute() == Path(source).absolute()
    origin = None if own else read_origin(path.name)
    try:
        check_sha256(digest, dataset, entry, origin)
    except InputError as error:
        raise InputError(f"{path}: {error}{'' if own else ': delete it to download it again'}") from None
    if not own and (not origin or origin["sha256"] != digest):
        write_origin(path, digest, BY_HAND)


class Part:
    """An unfinished download: FILE.part, and FILE.part.json with its source."""

    def __init__(self, target: Path, expected: io.GraphCounts | None = None):
        self.expected = expected
        self.received = 0  # bytes, by this process
        self.path = target.with_name(f"{target.name}.part")
        self.notes_path = target.with_name(f"{target.name}.part.json")

    def size(self) -> int:
        return self.path.stat().st_size if self.path.is_file() and not self.path.is_symlink() else 0

    def notes(self) -> dict:
        """Read url, total (bytes), validator (for If-Range; may be empty) and ranges (whether it can be resumed)."""
        if not self.size() or not self.notes_path.exists():
            return {}
        return _record(self.notes_path, ("url", "total", "validator", "ranges"), f"delete it and {self.path}")

    def note(self, **notes) -> None:
        with io.atomic(self.notes_path, "w") as file:
            json.dump(notes, file)

    def delete(self) -> None:
        self.path.unlink(missing_ok=True)
        self.notes_path.unlink(missing_ok=True)


def download(dataset: str, entry: dict, archives: dict, options: dict, target: Path) -> None:
    """Download a dataset's raw file to target, or check the existing one, and record its origin.

    Raises InputError that lists each source with its reason, or names the fault of the existing file.
    """
    if os.path.lexists(target):
        logging.info("%s: %s exists: nothing to download", dataset, target)
        with reading(target):
            try:
                check_content(target, counts(dataset, entry))
            except InputError as error:
                raise InputError(f"{target}: {error}: delete it to download it again") from None
        verify_raw(target, dataset, entry)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part, origin, failures = Part(target, counts(dataset, entry)), read_origin(target.name), []
    for place in places(dataset, entry, archives):
        try:
            fetch(place, part, options)
            digest = io.sha256(part.path)
            check_sha256(digest, dataset, entry, origin)
        except InputError as error:
            part.delete()
            failures.append(f"{place}: {error}")
        except NotHere as error:
            if not part.notes().get("ranges"):
                part.delete()
            failures.append(f"{place}: {error}")
        else:
            write_origin(part.path.replace(target), digest, place)
            part.delete()
            return
        logging.info("%s", failures[-1])
    why = failures[0] if len(failures) == 1 else "the reason of each is above"
    raise InputError(
        f"{dataset}: no source provided the file ({why}): put it at {target} yourself, "
        f"or name another source in datasets.{dataset}.sources or archives"
    )


def fetch(place: str, part: Part, options: dict) -> None:
    """Download the whole file from one URL into the part, and check its content.

    Raises NotHere if the source does not have it, InputError if it is something else.
    """
    waits = [options["backoff_s"] * 2**retry for retry in range(options["retries"])]
    for wait in [*waits, None]:
        try:
            fetch_once(place, part, options)
            return
        except NotNow as error:
            if wait is None:
                raise NotHere(f"{error}, tried {len(waits) + 1} times") from None
            logging.info("%s: %s; trying again in %g s", place, error, wait)
            time.sleep(wait)


def fetch_once(url: str, part: Part, options: dict) -> None:
    """Ask a URL once for the rest of the part. Raises NotNow if asking again may help."""
    notes = part.notes()
    resumed = notes.get("url") == url
    headers = {"Accept-Encoding": "identity"}
    if resumed:
        headers["Range"] = f"bytes={part.size()}-"
        if notes["validator"]:
            headers["If-Range"] = notes["validator"]
    limits = options["connect_timeout_s"], options["read_timeout_s"]
    get = partial(requests.get, headers=headers, timeout=limits, stream=True, hooks={"response": skip_page})
    with asking(part, limits), fast_enough(part, options["min_kb_s"], sum(limits)), get(url) as response:
        if resumed and response.status_code in ABOUT_RANGE and not continues(response, part):
            part.delete()
            return fetch_once(url, part, options)
        receive(response, url, part, resumed, options["max_mb"])
    try:
        check_content(part.path, part.expected)
    except InputError as error:
        if not resumed:
            raise
        part.delete()
        raise NotNow(f"{error}, after it was resumed") from None


@contextmanager
def asking(part: Part, limits: tuple[float, float]) -> Iterator[None]:
    """Turn errors of a request and its answer into NotNow and NotHere. limits: seconds to connect and to read."""
    try:
        yield
    except requests.Timeout as error:
        limit = limits[0] if isinstance(error, requests.ConnectTimeout) else limits[1]
        raise NotNow(f"no answer within {limit:g} s") from None
    except requests.ConnectionError as error:
        cause = error.args[0] if error.args else error
        cause = getattr(cause, "reason", cause)
        if isinstance(cause, urllib3.exceptions.NameResolutionError):
            raise NotHere("the server's name has no address: check this machine's network") from None
        raise NotNow(f"no connection ({type(cause).__name__})") from None
    except urllib3.exceptions.HTTPError as error:
        raise NotNow(f"the connection broke after {part.size():,} bytes ({type(error).__name__})") from None
    except requests.RequestException as error:
        raise NotHere(str(error)) from None
    except InputError:
        raise
    except (ValueError, OverflowError) as error:  # of parsing a header, as the address of a redirect
        raise NotHere(f"an answer that cannot be read ({error})") from None


@contextmanager
def fast_enough(part: Part, kb_s: float, start_s: float) -> Iterator[None]:
    """Raise NotHere if the part is received at less than this speed, measured over each MINUTE.

    The first measurement ends `start_s` later, so that a silent server meets its time limits first. The alarm
    interrupts any step of the download: connecting, headers and body.
    """
    before, seconds = part.received, start_s + MINUTE

    def check(*_) -> None:
        nonlocal before, seconds
        received = part.received - before
        if received < kb_s * 1e3 * MINUTE:
            raise NotHere(TOO_SLOW.format(received, seconds, kb_s))
        before, seconds = part.received, MINUTE

    former = signal.signal(signal.SIGALRM, check)
    signal.setitimer(signal.ITIMER_REAL, seconds, MINUTE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


def skip_page(response: requests.Response, **options) -> None:
    """Skip the page of a redirect, which requests would read to its end."""
    if response.is_redirect:
        response.close()


def continues(response: requests.Response, part: Part) -> bool:
    """Return whether the answer is the rest of the part."""
    total = part.notes()["total"]
    return response.headers.get("Content-Range") == f"bytes {part.size()}-{total - 1}/{total}"


def receive(response: requests.Response, url: str, part: Part, resumed: bool, max_mb: float) -> None:
    """Append an answer's body to the part (206), or write it from the start (200).

    Raises InputError if the file is larger than max_mb, before its body is received if the server gives its size.
    """
    status, headers = response.status_code, response.headers
    if resumed and status == HTTPStatus.PARTIAL_CONTENT:
        total = part.notes()["total"]
    elif status == HTTPStatus.OK:
        part.delete()
        length = headers.get("Content-Length", "")
        if len(length) > MOST_DIGITS:
            raise NotHere(f"a Content-Length of {len(length):,} characters")
        total = int(length) if length.isdecimal() else None
        if total:
            etag = headers.get("ETag", "")
            validator = etag if etag.startswith('"') else headers.get("Last-Modified", "")
            part.note(url=url, total=total, validator=validator, ranges=headers.get("Accept-Ranges") == "bytes")
    elif status == HTTPStatus.TOO_MANY_REQUESTS or status >= 500:
        raise NotNow(f"{status} {response.reason}")
    else:
        raise NotHere(f"{status} {response.reason}")
    if total is not None and total > max_mb * 1e6:
        raise InputError(TOO_LARGE.format(f"{total:,}", max_mb))
    there = part.size()
    logging.info("%s: from byte %s of %s", url, f"{there:,}", "?" if total is None else f"{total:,}")
    with naming(part.path), open(part.path, "ab") as file:
        # The bytes as served: some servers call a .gz file an encoding, which would be undone. And as they arrive.
        chunks = iter(partial(response.raw.read1, CHUNK, decode_content=False), b"")
        for chunk in progress(chunks, there, total):
            if file.tell() + len(chunk) > max_mb * 1e6:
                raise InputError(TOO_LARGE.format(f"over {file.tell():,}", max_mb))
            file.write(chunk)
            part.received += len(chunk)
    if total not in (None, part.size()):
        raise NotNow(f"the connection broke after {part.size():,} of {total:,} bytes")
    logging.info("%s: all %s bytes", url, f"{part.size():,}")


def progress(chunks: Iterator[bytes], done: int, total: int | None) -> Iterator[bytes]:
    """Pass the chunks on, with a bar on a terminal, else with a logged line every tenth."""
    terminal = sys.stderr.isatty()
    with tqdm(total=total, initial=done, unit="B", unit_scale=True, leave=False, disable=not terminal) as bar:
        for chunk in chunks:
            yield chunk
            bar.update(len(chunk))
            before, done = done, done + len(chunk)
            if total and not terminal and 10 * before // total < 10 * done // total:
                logging.info("%d %%", 100 * done // total)
