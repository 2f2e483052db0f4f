"""A result is measured by one process at a time, and by the next one as soon as that has ended, however it ended."""

import errno
import fcntl
import os
import platform
import re
import subprocess
import sys
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kernels.errors import InputError
from kernels.gpu import card
from kernels.registry import VARIANTS
from tests.support.limits import files_of_at_most
from workflow.measure import lock, many_sources, measure, peak, sweeps

HOLDER = """
import sys
from pathlib import Path
from workflow.measure import lock
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
        assert f"process {os.getpid()} on {platform.node()}, since" in refused(out)
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
        assert "files cannot be locked there" in caplog.text
    assert list(out.parent.iterdir()) == []


def a_cell(out):
    measure.measure(VARIANTS["bellman_ford/cpu"], Path("none.npz"), {}, out)


def a_sweep(out):
    sweeps.measure_sweep("delta_sweep", Path("none.npz"), {"repeats": 1}, {}, out, measure.Setting())


def a_search(out):
    many_sources.measure_many_sources(Path("none.npz"), {}, 4, out, measure.Setting())


def a_peak(out):
    peak.measure_peak([8], out)


ON_GPU = {"delta_sweep": a_sweep, "many_sources": a_search, "peak": a_peak}


@pytest.mark.parametrize("step", [a_cell, *ON_GPU.values()])
def test_no_step_measures_beside_another_process(step, out, monkeypatch):
    monkeypatch.setattr(card, "gpu_visible", lambda: True)
    for module, name in ((measure, "packed"), (peak, "measured")):
        monkeypatch.setattr(module, name, lambda *args: pytest.fail("it was measured"))
    with lock.held(out), pytest.raises(InputError, match=f"it is being measured by process {os.getpid()}"):
        step(out)
    assert list(out.parent.iterdir()) == []


@pytest.mark.parametrize("name", ON_GPU)
def test_without_a_gpu_nothing_is_measured_or_written(name, out, monkeypatch):
    monkeypatch.setattr(card, "gpu_visible", lambda: False)
    with pytest.raises(InputError, match=f"^{name} needs a GPU, but none is visible: "):
        ON_GPU[name](out)
    assert list(out.parent.iterdir()) == []
    with pytest.raises(InputError, match="this is a folder: name a file to write"):
        ON_GPU[name](out.parent)
