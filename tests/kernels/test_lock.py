"""A file is written by one process at a time, and by the next one as soon as that has ended, however it ended."""

import errno
import fcntl
import os
import platform
import re
import subprocess
import sys
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from kernels import lock
from kernels.errors import InputError
from tests.support.limits import files_of_at_most

HOLDER = """
import sys
from pathlib import Path
from kernels import lock
with lock.held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def out(tmp_path):
    return tmp_path / "cells" / "nyc.csv"


@contextmanager
def holder(out):
    """Another process that holds the lock until its stdin ends."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, out], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "held\n"
        yield process


def refused(out):
    with pytest.raises(InputError) as error, lock.held(out):
        pass
    return str(error.value)


def test_the_second_process_is_told_who_measures(out, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    with holder(out) as process:
        said = refused(out)
        assert said == refused(out)
    shape = rf"{out}: it is being measured by process (\d+) on (\S+) \(job 4711 of Slurm\), since (\S+): wait until .*"
    pid, host, since = re.fullmatch(shape, said).groups()
    assert (int(pid), host) == (process.pid, platform.node())
    assert timedelta() <= datetime.now(UTC) - datetime.fromisoformat(since) < timedelta(minutes=1)
    assert list(out.parent.iterdir()) == []


def test_a_killed_process_holds_nothing(out):
    with holder(out) as process:
        process.kill()
        process.wait()
    assert [path.name for path in out.parent.iterdir()] == ["nyc.csv.lock"]
    with lock.held(out):
        assert f" {os.getpid()} on {platform.node()}, " in refused(out)
    assert list(out.parent.iterdir()) == []


def test_a_lock_that_was_deleted_before_it_was_ours_is_none(out, monkeypatch):
    """Its holder may end between our open and our lock: another process would then make, and lock, a new file."""
    path, flock, seen = out.with_name("nyc.csv.lock"), fcntl.flock, []

    def after_its_holder_ended(file, how):
        if not seen:
            path.unlink()
        seen.append(file)
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", after_its_holder_ended)
    with lock.held(out):
        assert len(seen) == 2
        assert refused(out)


def test_a_lock_of_another_process_is_not_deleted(out):
    path = out.with_name("nyc.csv.lock")
    with lock.held(out):
        path.unlink()  # by hand, and then another process began
        path.write_text("its own")
    assert path.read_text() == "its own"


def test_on_a_full_disk_the_lock_is_named_and_does_not_stay(out):
    with files_of_at_most(0), pytest.raises(OSError, match="File too large") as error, lock.held(out):
        pytest.fail("it was measured")
    assert error.value.filename == f"{out}.lock"
    assert list(out.parent.iterdir()) == []


def test_where_the_disk_has_no_locks_it_is_measured_and_said(out, monkeypatch, caplog):
    def none(file, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    with lock.held(out):
        assert str(out.parent) in caplog.text
    assert list(out.parent.iterdir()) == []


@pytest.mark.parametrize("kind", ["file", "link", "folder", "pipe"])
def test_what_is_not_a_lock_is_kept(out, kind):
    path, notes = out.with_name("nyc.csv.lock"), out.with_name("notes")
    out.parent.mkdir()
    notes.write_bytes(b"" if kind == "link" else b"not ours \xff")
    if kind == "file":
        notes.rename(path)
    elif kind == "link":
        path.symlink_to(notes)
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    before = os.lstat(path)
    assert refused(out).startswith(f"{path}: ")
    assert os.path.samestat(os.lstat(path), before) and os.lstat(path).st_size == before.st_size
    assert kind != "link" or notes.read_bytes() == b""
