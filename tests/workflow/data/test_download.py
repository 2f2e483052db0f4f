"""The download step against a real HTTP server on loopback."""

import bz2
import gzip
import hashlib
import json
import logging
import lzma
import os
import re
import socket
import sys
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
import yaml

from kernels.errors import InputError
from kernels.graph import Graph
from tests.support.project import Project
from tests.support.server import ranged, serving, status, whole
from workflow.data import download
from workflow.plan import configuration

ROOT = Path(__file__).parents[3]
OPTIONS = {
    **{"connect_timeout_s": 2, "read_timeout_s": 10, "min_kb_s": 1},
    **{"retries": 2, "backoff_s": 0.01, "max_mb": 2000},
}
SMALL = gzip.compress(b"p sp", mtime=0)
DATA = gzip.compress(np.random.default_rng(0).bytes(1_000_000), mtime=0)
OTHER = gzip.compress(np.random.default_rng(1).bytes(1_000_000), mtime=0)
PAGE = b"<!DOCTYPE html><html><body>Sign in first</body></html>"
RAW = Path("resources/raw/data.gz")
RECORD = Path("resources/origins/data.gz.json")


BROKEN = {"sent": 400_000}  # the connection ends in the midst of the body


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A site; the test's own folder is the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as server:
        yield server


def fetch(*sources, archives=None, options=None, **entry):
    download.download("mine", {"sources": list(sources), **entry}, archives or {}, {**OPTIONS, **(options or {})}, RAW)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def files():
    """Every file below the working directory."""
    return sorted(path for path in Path().rglob("*") if path.is_file())


def assert_fetched(data=DATA):
    assert RAW.read_bytes() == data
    assert json.loads(RECORD.read_text())["sha256"] == sha256(data)
    assert files() == [RECORD, RAW]


def test_a_file_is_fetched_and_its_origin_recorded(site):
    url = site.url("/a/data.gz", whole(DATA))
    fetch(url)
    assert_fetched()
    origin = json.loads(RECORD.read_text())
    assert list(origin) == ["url", "sha256", "bytes", "retrieved"]
    assert (origin["url"], origin["bytes"]) == (url, len(DATA))
    assert datetime.fromisoformat(origin["retrieved"]).utcoffset() == timedelta(0)


def test_mirrors_are_asked_in_order_of_preference(site):
    base = site.url("")
    archives = {"main": [f"{base}/a", f"{base}/b/"], "other": [f"{base}/c"]}
    site.url("/c/deep/data.gz", whole(DATA))
    site.url("/last", whole(OTHER))
    fetch("main:deep/data.gz", "other:deep/data.gz", f"{base}/last", archives=archives)
    assert_fetched()
    assert site.asked() == ["/a/deep/data.gz", "/b/deep/data.gz", "/c/deep/data.gz"]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("dimacs9:USA-road-d.NY.gr.gz", "USA-road-d.NY.gr.gz"),
        ("my_archive:deep/data.gz", "data.gz"),
        ("https://some.where/deep/data.gz?v=1", "data.gz"),
        ("https://some.where/deep/data.gz?v=/1#/2", "data.gz"),
        ("https://some.where", ""),
        ("some/where/data.txt", "data.txt"),
        ("some/where/#1 data?.txt", "#1 data?.txt"),
    ],
)
def test_the_raw_file_is_named_after_the_first_source(source, name):
    assert download.raw_name({"sources": [source, "another.txt"]}) == name
    assert download.raw_name({"format": "random"}) is None


def test_an_unknown_archive(site):
    with pytest.raises(InputError, match=r"datasets\.mine\.sources: snp:x: .* dimacs9, snap,"):
        fetch("snp:x", archives={"dimacs9": [], "snap": []})


NAMELESS = ["snap:..", "snap:.", "snap:", "snap:deep/", "snap:.hidden", "snap:-rf", "snap:a:b.gz", f"snap:{'a' * 201}"]
NAMELESS += ["http://h/..", "http://h/", "http://h", "http://h?a.gz", "http://h/{file}", "http://[h", "http://h/%2e%2e"]
NAMELESS += ["http://h/a;touch${IFS}b.gz", "http://h/$(id).gz", "http://h/a&b", "http://h/ü.gz", "http://h/deep\\a.gz"]


@pytest.mark.parametrize("source", NAMELESS)
def test_a_name_that_no_raw_file_may_have_is_refused(source):
    name = source.rpartition("/")[2].removeprefix("snap:") if source.count("/") != 2 else ""
    with pytest.raises(InputError) as error:
        download.check_sources("mine", {"format": "text", "sources": [source]}, {"snap": []})
    said = str(error.value)
    assert said.startswith(f"config: datasets.mine.sources: {source}: ") and f" {name!r}" in said and "\n" not in said


@pytest.mark.parametrize(
    ("sources", "reason"),
    [
        (["snap:a.gz", "ftp://h/a.gz"], "ftp://h/a.gz: "),
        (["file:///a.gz"], "file:///a.gz: "),
        (["C:\\a.gz"], "C:\\a.gz: "),
        (["snap:a b.gz"], "snap:a b.gz: "),
        (["http://h/a.gz\n"], r"'http://h/a.gz\n': "),
        (["snap:a.gz", "b\n"], r"'b\n': "),
        (["a{dataset}.txt"], "'a{dataset}.txt': "),
        (["<results>.txt"], "'<results>.txt': "),
        (["a\0.txt"], r"'a\x00.txt': "),
        (["a\ud800.txt"], r"'a\ud800.txt': "),
        ([], "missing: "),
    ],
)
def test_what_is_no_source_is_refused(sources, reason):
    with pytest.raises(InputError) as error:
        download.check_sources("mine", {"format": "text", "sources": sources}, {"snap": []})
    assert str(error.value).startswith(f"config: datasets.mine.sources: {reason}")


def test_config_is_refused_for_its_sources_before_any_job():
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    config["datasets"]["nyc"]["sources"] = ["snap:.."]
    with pytest.raises(InputError, match=r"config: datasets\.nyc\.sources: snap:\.\.: "):
        configuration.check_config(config)


@pytest.mark.parametrize("name", ["x $(touch y).txt", "-x", "a;b", "it's", "#1?", "a\nb", "ü", "..", "a" * 300])
def test_a_file_of_this_machine_may_have_any_name(name):
    download.check_sources("mine", {"format": "text", "sources": [name]}, {})


@pytest.mark.parametrize("code", [403, 404, 410])
def test_a_file_that_is_not_there_is_asked_for_once(site, code):
    fetch(site.url("/gone", status(code)), site.url("/b", whole(DATA)))
    assert_fetched()
    assert site.asked() == ["/gone", "/b"]


@pytest.mark.parametrize(
    "answer",
    [status(500), status(503), status(429), whole(DATA, **BROKEN), whole(DATA, sent=400_000, stalls=True)],
    ids=["500", "503", "429", "broken", "stalled"],
)
def test_a_source_is_asked_again(site, answer):
    url = site.url("/flaky", answer, answer, whole(DATA))
    fetch(url, options={"read_timeout_s": 1})
    assert_fetched()
    assert site.asked() == ["/flaky"] * 3


def test_the_wait_before_asking_again_doubles(site, monkeypatch):
    waits = []
    monkeypatch.setattr(download.time, "sleep", waits.append)
    with pytest.raises(InputError, match=r"500 .* 4 times"):
        fetch(site.url("/500", status(500)), options={"retries": 3, "backoff_s": 1})
    assert waits == [1, 2, 4]


REFUSALS = {
    "404": (status(404), "404 Not Found"),
    "500": (status(500), "500 Internal Server Error, tried 3 times"),
    "page": (whole(PAGE), "an HTML page instead of data"),
    "empty": (whole(b""), "an empty file"),
    "no gzip": (whole(b"p sp 3 4"), "not a gzip file"),
    "bzip2": (whole(bz2.compress(b"p sp 3 4")), "not a gzip file"),
    "zip": (whole(b"PK\3\4\x14"), "this looks like a zip archive"),
    "control characters": (whole(b"", code=404, reason="Gone \x1b[31m\x9b0m"), r"404 Gone \\x1b\[31m\\x9b0m\)"),
    "truncated gzip": (whole(DATA[:-1000]), "a truncated or corrupted gzip file"),
    "corrupted gzip": (whole(DATA[:-8] + b"12345678"), "a truncated or corrupted gzip file"),
    "zipped page": (whole(gzip.compress(PAGE)), "an HTML page instead of data"),
    "broken": (whole(DATA, **BROKEN), "the connection broke after 4.*, tried 3 times"),
    "silent": (whole(b"", length=10, stalls=True), "the connection broke after 0 bytes .*, tried 3 times"),
    "no answer": (lambda handler: handler.server.stopped.wait(20), "no answer within 0.3 s, tried 3 times"),
}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_refused_with_one_message_and_nothing_left(site, refusal):
    answer, reason = REFUSALS[refusal]
    neighbour = RAW.with_name("other.gz")
    neighbour.parent.mkdir(parents=True)
    neighbour.write_bytes(OTHER)
    url = site.url("/bad", answer)
    with pytest.raises(InputError, match=rf"^mine: .*{url}: {reason}.*{RAW}.*$"):
        fetch(url, options={"read_timeout_s": 0.3})
    assert files() == [neighbour]


def redirect(location):
    return whole(b"over there", code=302, Location=location)


def endless(*heads):
    """Send these lines, then a byte every 50 ms until the client hangs up."""

    def answer(handler):
        with suppress(OSError):
            handler.wfile.write("".join(f"{line}\r\n" for line in heads).encode())
            while not handler.server.stopped.wait(0.05):
                handler.wfile.write(b"1")
        handler.close_connection = True

    return answer


OK, CHUNKED = "HTTP/1.1 200 OK", "Transfer-Encoding: chunked"
GARBLED = {
    "Content-Length of 5,000 digits": whole(SMALL, length="9" * 5000),
    "Content-Length of 4,000 digits": whole(SMALL, length="9" * 4000),
    "no IPv6 address": redirect("http://[::1"),
    "no UTF-8": redirect("http://h/\xe9\xff"),
    "no port": redirect("http://h:x/"),
    "too large a port": redirect("http://127.0.0.1:99999999/"),
    "too long a name": redirect(f"http://{'a' * 300}.example/"),
    "an empty name": redirect("http://a..b/"),
    "no address": redirect("http://"),
    "another protocol": redirect("file:///etc/passwd"),
    "no protocol": redirect("1:2:3"),
    "a redirect without end": redirect("/bad"),
}


@pytest.mark.parametrize("bad", GARBLED)
def test_the_next_source_is_tried_after_an_answer_that_cannot_be_read(site, bad):
    url = site.url("/bad", GARBLED[bad])
    fetch(url, site.url("/b", whole(DATA)))
    assert_fetched()
    RAW.unlink()
    with pytest.raises(InputError, match=rf"mine: .*{url}: ") as error:
        fetch(url)
    assert len(str(error.value)) < 1000


@pytest.fixture
def half_a_second(monkeypatch):
    """The time after which a download may not be too slow, in place of a minute."""
    monkeypatch.setattr(download, "MINUTE", 0.5)


@pytest.mark.parametrize(
    "answer",
    [
        endless(OK, "Content-Length: 1000000", ""),
        endless(OK, ""),
        endless(OK, CHUNKED, "", "1;name="),
        endless(OK, "Name: "),
        endless("HTTP/1.1 302 Found", "Location: /b", CHUNKED, "Name:"),
    ],
    ids=["length", "no length", "chunk", "header", "header of a redirect"],
)
def test_the_next_source_is_tried_after_one_that_is_too_slow(site, half_a_second, answer):
    limits = {"connect_timeout_s": 0.2, "read_timeout_s": 0.3}
    fetch(slow := site.url("/slow", answer), site.url("/b", whole(DATA)), options=limits)
    assert_fetched()
    assert site.asked() == ["/slow", "/b"]
    RAW.unlink()
    with pytest.raises(InputError, match=rf"{slow}: \d+ bytes in 1 s, less than the 1 kB/s of download\.min_kb_s"):
        fetch(slow, options=limits)


def test_a_download_that_becomes_too_slow_is_given_up(site, half_a_second):
    def answer(handler):
        whole(DATA, sent=400_000)(handler)
        endless()(handler)

    with pytest.raises(InputError, match=r"/a: \d\d? bytes in 0\.5 s, less than the 1 kB/s"):
        fetch(site.url("/a", answer), options={"connect_timeout_s": 0.2, "read_timeout_s": 0.3})


def test_a_slow_download_that_is_fast_enough_is_taken(site, half_a_second):
    def answer(handler):
        whole(SMALL, sent=1)(handler)
        for byte in SMALL[1:]:
            handler.server.stopped.wait(0.08)
            handler.wfile.write(bytes([byte]))
            handler.wfile.flush()

    limits = {"connect_timeout_s": 0.2, "read_timeout_s": 0.3, "min_kb_s": 0.005}
    fetch(site.url("/data", answer), options=limits)
    assert_fetched(SMALL)


def test_the_page_of_a_redirect_is_not_read(site):
    fetch(site.url("/a", endless("HTTP/1.1 302 Found", "Location: /b", "")), site.url("/b", whole(DATA)))
    assert_fetched()
    assert site.asked() == ["/a", "/b"]


def long(**headers):
    """A body of 3 MB, whose size is said by no header of its own."""

    def answer(handler):
        handler.send_response(200)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        with suppress(OSError):  # until the client hangs up
            for _ in range(48):
                handler.wfile.write(b"10000\r\n%s\r\n" % bytes(0x10000) if headers else bytes(0x10000))
        handler.close_connection = True

    return answer


@pytest.mark.parametrize(
    ("answer", "size"),
    [
        (whole(DATA, sent=0, stalls=True), f"{len(DATA):,}"),
        (long(), "over [34]..,..."),
        (long(Transfer_Encoding="chunked", Content_Length=10), "over [34]..,..."),
    ],
    ids=["said before", "not said", "said wrongly"],
)
def test_too_large_a_file_is_not_taken_and_the_next_source_is_asked(site, answer, size):
    large, small = site.url("/large", answer), site.url("/small", whole(SMALL))
    options = {"max_mb": 0.5, "read_timeout_s": 1}
    with pytest.raises(InputError, match=rf"{large}: {size} bytes.* 0.5 MB .*download\.max_mb"):
        fetch(large, options=options)
    assert files() == []
    fetch(large, small, options=options)
    assert_fetched(SMALL)
    assert site.asked() == ["/large", "/large", "/small"]


def test_a_file_as_large_as_is_allowed_is_taken(site):
    fetch(site.url("/data", whole(DATA)), options={"max_mb": len(DATA) / 1e6})
    assert_fetched()


def test_the_rest_of_too_large_a_file_is_not_taken(site):
    url = site.url("/data", ranged(DATA, **BROKEN))
    with pytest.raises(InputError, match="broke"):
        fetch(url, options={"retries": 0})
    with pytest.raises(InputError, match=rf"{len(DATA):,} bytes.*download\.max_mb"):
        fetch(url, options={"max_mb": 0.5})
    assert files() == []


def test_a_part_that_is_a_link_is_not_written_through(site):
    url = site.url("/data", ranged(DATA, **BROKEN))
    with pytest.raises(InputError, match="broke"):
        fetch(url, options={"retries": 0})
    part = RAW.with_name("data.gz.part")
    part.rename("other")
    part.symlink_to(Path("other").absolute())
    fetch(url)
    assert Path("other").read_bytes() == DATA[:400_000]
    Path("other").unlink()
    assert_fetched()


def test_a_file_that_inflates_to_more_than_its_arcs_take_is_refused(site, monkeypatch):
    bomb = gzip.compress(b"\n" * 10**6) * 300
    reason = "more than 1,049,216 bytes .* 10 arcs "
    pieces = []
    parts = download.io.unpacked
    monkeypatch.setattr(download.io, "unpacked", lambda path: (pieces.append(1) or part for part in parts(path)))
    with pytest.raises(InputError, match=f"/bomb: {reason}"):
        fetch(site.url("/bomb", whole(bomb)), vertices=5, arcs=10)
    assert files() == [] and len(pieces) == 1  # the rest of 300 MB is not inflated

    RAW.write_bytes(bomb)
    with pytest.raises(InputError, match=f"{RAW}: {reason}"):
        fetch("http://never.asked", vertices=5, arcs=10)
    assert files() == [RAW]
    fetch("http://never.asked", vertices=5, arcs=10**7)


def test_every_source_and_its_reason_are_listed(site, caplog):
    caplog.set_level("INFO")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        bad = f"http://127.0.0.1:{unused.getsockname()[1]}/x"
    with pytest.raises(InputError, match=r"^mine: "):
        fetch(bad, site.url("/page", whole(PAGE)), "http://")
    for reason in (f"{bad}: no connection .*, tried 3 times", "/page: an HTML page", "http://: Invalid URL"):
        assert re.search(reason, caplog.text)
    assert files() == []


def test_without_a_network_each_source_is_asked_once_and_the_message_says_where_to_put_the_file(
    site, monkeypatch, caplog
):
    caplog.set_level("INFO")
    asked = []

    def unknown(host, *rest):
        asked.append(host)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    monkeypatch.setattr(download.time, "sleep", pytest.fail)
    sources = "https://one.example/data.gz", "http://two.example/data.gz"
    with pytest.raises(InputError, match=f"^mine: .*{RAW}"):
        fetch(*sources)
    for source in sources:
        assert any(message.startswith(f"{source}: ") for message in caplog.messages)
    assert asked == ["one.example", "two.example"]


def test_a_broken_download_is_resumed(site):
    fetch(site.url("/data", ranged(DATA, **BROKEN)))
    assert_fetched()
    assert site.ranges() == [None, "bytes=400000-"]


def test_a_later_run_resumes_and_mirrors_do_not_mix(site):
    url = site.url("/data", ranged(DATA, **BROKEN))
    with pytest.raises(InputError, match="broke after 400,000"):
        fetch(url, options={"retries": 0})
    assert files() == [RAW.with_name(name) for name in ("data.gz.part", "data.gz.part.json")]
    fetch(site.url("/gone", status(404)), url)
    assert_fetched()
    assert site.ranges() == [None, None, "bytes=400000-"]

    RAW.unlink()
    site.requests.clear()
    fetch(site.url("/a", ranged(OTHER, **BROKEN)), site.url("/b", ranged(DATA)), options={"retries": 0})
    assert_fetched()
    assert site.ranges() == [None, None]


def test_a_file_without_validator_is_resumed_by_its_length(site):
    def rest(handler):
        start = int(handler.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        place = f"bytes {start}-{len(DATA) - 1}/{len(DATA)}"
        whole(DATA[start:], code=206, Content_Range=place)(handler)

    fetch(site.url("/data", whole(DATA, **BROKEN), rest))
    assert_fetched()


DATE = "Fri, 01 Jan 2021 00:00:00 GMT"


@pytest.mark.parametrize(
    ("validator", "answers"),
    [
        ('"1"', (ranged(OTHER, etag='"1"', **BROKEN), ranged(DATA, etag='"2"'))),
        (DATE, (whole(DATA, ETag='W/"1"', Last_Modified=DATE, **BROKEN), whole(DATA))),
    ],
    ids=["ETag", "date"],
)
def test_a_file_that_changed_meanwhile_is_fetched_anew(site, validator, answers):
    """A weak ETag is no validator."""
    fetch(site.url("/data", *answers))
    assert_fetched()
    assert [headers["If-Range"] for _, headers in site.requests] == [None, validator]


@pytest.mark.parametrize(
    "answer",
    [
        status(416),
        whole(DATA[400_000:], code=206, Content_Range=f"bytes 400001-{len(DATA) - 1}/{len(DATA)}"),
        whole(DATA[400_000:], code=206, Content_Range=f"bytes 400000-{len(DATA)}/{len(DATA) + 1}"),
        whole(DATA[400_000:], code=206),
    ],
    ids=["416", "another place", "another length", "no place"],
)
def test_a_server_that_cannot_resume_is_asked_for_all(site, answer):
    fetch(site.url("/data", whole(DATA, **BROKEN), answer, whole(DATA)), options={"retries": 1})
    assert_fetched()
    assert site.ranges() == [None, "bytes=400000-", None]


def test_two_files_resumed_into_one_are_noticed(site):
    rest = f"bytes 400000-{len(DATA) - 1}/{len(DATA)}"
    mixed = whole(OTHER[400_000 - len(OTHER) + len(DATA) :], code=206, Content_Range=rest)
    fetch(site.url("/data", whole(DATA, **BROKEN), mixed, whole(DATA)))
    assert_fetched()
    assert site.ranges() == [None, "bytes=400000-", None]


def test_bytes_are_kept_as_served(site):
    fetch(site.url("/data", whole(DATA, Content_Encoding="x-gzip")))
    assert_fetched()


def test_a_local_file_must_be_the_only_source(site):
    with pytest.raises(InputError, match=r"there/data\.gz: "):
        fetch("there/data.gz", site.url("/data", whole(DATA)))
    assert files() == []


def test_only_the_file_config_names_is_taken(site):
    fetch(site.url("/a", whole(OTHER)), site.url("/b", whole(DATA)), sha256=sha256(DATA).upper())
    assert_fetched()
    RAW.unlink()
    wanted = "0" * 64
    with pytest.raises(InputError, match=rf"{sha256(DATA)}.*datasets\.mine\.sha256.* {wanted}"):
        fetch(site.url("/b", whole(DATA)), sha256=wanted)
    assert files() == [RECORD]


def test_a_later_download_must_be_the_recorded_file(site):
    url = site.url("/data", whole(DATA), whole(OTHER))
    fetch(url)
    RAW.unlink()
    recorded = RECORD.read_text()
    with pytest.raises(InputError, match=rf"{sha256(OTHER)}.*{sha256(DATA)}.*to any"):
        fetch(url)
    assert files() == [RECORD]
    assert RECORD.read_text() == recorded
    fetch(url, sha256="any")
    assert_fetched(OTHER)


def test_a_file_put_by_hand_is_used_without_a_network(site):
    RAW.parent.mkdir(parents=True)
    RAW.write_bytes(DATA)
    url = site.url("/data", whole(OTHER))
    fetch(url)
    assert site.requests == []
    assert_fetched()
    assert json.loads(RECORD.read_text())["url"] == "put by hand"


@pytest.mark.parametrize(
    ("there", "sha", "reason"),
    [
        (DATA[:-1000], None, "a truncated or corrupted gzip file"),
        (PAGE, None, "an HTML page instead of data"),
        (b"", None, "an empty file"),
        (DATA, "0" * 64, r"its sha256 is .*, but datasets\.mine\.sha256 says 0000"),
    ],
)
def test_a_wrong_file_put_by_hand_is_an_error_and_stays(site, there, sha, reason):
    RAW.parent.mkdir(parents=True)
    RAW.write_bytes(there)
    with pytest.raises(InputError, match=f"{RAW}: {reason}.*: delete it"):
        fetch(site.url("/data", whole(DATA)), sha256=sha)
    assert site.requests == []
    assert RAW.read_bytes() == there
    assert files() == [RAW]


def test_a_record_is_written_once_and_again_only_where_config_allows_another_file(site):
    RAW.parent.mkdir(parents=True)
    RAW.write_bytes(DATA)
    download.verify_raw(RAW, "mine", {})
    RECORD.write_text(RECORD.read_text().replace("put by hand", "http://first"))
    download.verify_raw(RAW, "mine", {"sha256": "any"})
    assert json.loads(RECORD.read_text())["url"] == "http://first"

    RAW.write_bytes(OTHER)
    with pytest.raises(InputError, match=r"the record of .* \(http://first\) says"):
        download.verify_raw(RAW, "mine", {})
    download.verify_raw(RAW, "mine", {"sha256": sha256(OTHER)})
    assert json.loads(RECORD.read_text())["sha256"] == sha256(OTHER)

    RAW.unlink()
    with pytest.raises(InputError, match=r"data\.gz: no such file"):
        download.verify_raw(RAW, "mine", {})


def test_a_wrong_file_of_the_users_own_is_not_to_be_deleted(site):
    """It is read where it lies, also where config gives its path in another way than Path does."""
    Path("mine.gz").write_bytes(DATA)
    entry = {"sources": [".//mine.gz"], "sha256": "0" * 64}
    with pytest.raises(InputError, match=rf"^mine\.gz: .*{sha256(DATA)}.*{'0' * 64}") as error:
        download.verify_raw(Path(entry["sources"][0]), "mine", entry)
    assert "delete" not in str(error.value)
    download.verify_raw(Path(entry["sources"][0]), "mine", entry | {"sha256": "any"})
    assert files() == [Path("mine.gz")]


UNREADABLE = {
    "folder": (Path.mkdir, "this is a folder"),
    "pipe": (os.mkfifo, "this is a device or a pipe"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "this is a device or a pipe"),
    "link": (lambda path: path.symlink_to("nowhere"), "a link to nowhere"),
    "below": (lambda path: path.symlink_to("/dev/null/below"), ".*Not a directory"),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_what_is_no_file_is_said_and_stays(site, kind):
    make, reason = UNREADABLE[kind]
    RAW.parent.mkdir(parents=True)
    make(RAW)
    before = RAW.lstat().st_ino
    for read in (lambda: fetch(site.url("/data", whole(DATA))), lambda: download.verify_raw(RAW, "mine", {})):
        with pytest.raises(InputError, match=f"^{RAW}: {reason}"):
            read()
    assert RAW.lstat().st_ino == before
    assert site.requests == []


@pytest.mark.parametrize("function", ["check_content", "io.sha256"])
def test_a_raw_file_that_may_not_be_read(site, monkeypatch, function):
    def refuse(path, *rest):
        raise PermissionError(13, "Permission denied", str(path))

    RAW.parent.mkdir(parents=True)
    RAW.write_bytes(DATA)
    monkeypatch.setattr(f"workflow.data.download.{function}", refuse)
    with pytest.raises(InputError, match=f"^{RAW}: .*Permission denied"):
        fetch(site.url("/data", whole(DATA)))


def test_a_damaged_record_is_named(site):
    RECORD.parent.mkdir(parents=True)
    RECORD.write_text("{")
    with pytest.raises(InputError, match=f"^{RECORD}: .*: delete it"):
        fetch(site.url("/data", whole(DATA)))
    assert files() == [RECORD]


def test_plain_lines_in_a_log(site, caplog):
    caplog.set_level(logging.INFO)
    url = site.url("/data", whole(DATA))
    fetch(url)
    size = f"{len(DATA):,}"
    start, *percents, end = caplog.messages
    assert (start, end) == (f"{url}: from byte 0 of {size}", f"{url}: all {size} bytes")
    assert [int(line.removesuffix(" %")) // 10 for line in percents] == list(range(1, 11))


def test_a_bar_on_a_terminal(site, capsys, monkeypatch, caplog):
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    fetch(site.url("/data", whole(DATA)))
    assert "B/s]" in capsys.readouterr().err
    assert not any("%" in line for line in caplog.messages)


# Files of the 9th DIMACS Challenge that are in folders of their own: travel times, and Rome's, which is not gzipped.

CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text())
SMALL_TOWN = b"c a town\np sp 3 4\na 1 2 5\na 2 1 5\na 2 3 7\na 3 2 7\n"
SERVED = {
    "nyc_time": ("/challenge9/data/USA-road-t/USA-road-t.NY.gr.gz", "USA-road-t.NY.gr.gz"),
    "rome": ("/challenge9/data/rome/rome99.gr", "rome99.gr.xz"),
}


def packed(site, folder, contents, **changes):
    """Make the packed graphs of datasets of config.yaml from {dataset: the content of its file}."""
    for dataset, content in contents.items():
        site.url(SERVED[dataset][0], whole(content))
    mirror = f"http://127.0.0.1:{site.server_port}/challenge9/data"
    entries = {name: CONFIG["datasets"][name] | {"coordinates": None} | changes for name in contents}
    project = Project.make(folder, datasets=entries, archives={"challenge9": [mirror]})
    files = {name: f"resources/graphs/{name}.npz" for name in contents}
    project.snakemake(*files.values())
    return {name: Graph.load(folder / file) for name, file in files.items()}


def test_files_of_other_folders_plain_or_gzipped_become_graphs(site, tmp_path):
    contents = {"rome": SMALL_TOWN, "nyc_time": gzip.compress(SMALL_TOWN)}
    found = packed(site, tmp_path, contents, vertices=3, arcs=4, sha256="any")
    assert {name: graph.weights.tolist() for name, graph in found.items()} == {name: [5, 5, 7, 7] for name in contents}
    assert (tmp_path / "resources/raw/rome99.gr").read_bytes() == SMALL_TOWN


FOLDERS = [parent / "shared/data/real" for parent in ROOT.parents]


@pytest.mark.skipif(not any(map(Path.is_dir, FOLDERS)), reason="the archive's own files are not beside the repository")
def test_the_archives_own_files_of_rome_and_of_travel_times_become_graphs(site, tmp_path):
    (folder,) = filter(Path.is_dir, FOLDERS)
    contents = {name: (folder / file).read_bytes() for name, (_, file) in SERVED.items()}
    found = packed(site, tmp_path, contents | {"rome": lzma.decompress(contents["rome"])})
    assert (found["rome"].vertices, found["rome"].arcs, found["rome"].directed) == (3353, 8870, True)
    assert (found["nyc_time"].vertices, found["nyc_time"].arcs) == (264_346, 733_846)
