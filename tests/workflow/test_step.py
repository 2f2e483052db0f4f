"""How a step ends: with one line where input or machine is at fault, with a traceback where the program is."""

import dataclasses
import errno
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from kernels import generate, io
from kernels.errors import InputError, TimeLimit, WrongResult, explain, reported
from kernels.graph import Graph
from kernels.registry import VARIANTS
from tests.support.limits import files_of_at_most
from workflow.data import download
from workflow.measure import measure, peak, sweeps
from workflow.plan.protocol import Protocol
from workflow.store import benchmarks, collect, measurements
from workflow.views import appendix, simulated
from workflow.views.context import Context
from workflow.views.paper import audit

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("error", "line"),
    [
        *(
            (OSError(number, os.strerror(number), "a"), f"a: {os.strerror(number)}: ")
            for number in (errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOENT, errno.ETXTBSY)
        ),
        (OSError(errno.EMFILE, "Too many open files", "a"), "a: Too many open files: .*ulimit -n"),
        (MemoryError(), "not enough memory"),
        (MemoryError("Unable to allocate 9 TiB"), r"not enough memory \(Unable to allocate 9 TiB\)"),
        (InputError("graph.txt: no header"), "graph.txt: no header"),
        (InputError("Zürich\x1b[31m\x9b\r"), r"Zürich\\x1b\[31m\\x9b\\r$"),
        (TimeLimit(5), "stopped after its limit of 5 s"),
        (WrongResult("vertex 3"), "vertex 3"),
    ],
)
def test_what_is_no_defect_is_said_in_a_line(error, line):
    assert re.match(line, explain(error))


@pytest.mark.parametrize("error", [OSError("no number"), ValueError("x"), KeyError("x"), AssertionError("x")])
def test_a_defect_goes_on(error):
    assert explain(error) is None
    with pytest.raises(type(error)), reported(pytest.fail):
        raise error


def ran(body, *log, **options):
    """What a script does with this statement as its work, in a process of its own."""
    code = f"import os, signal, sys\nfrom workflow.step import logged\nwith logged(sys.argv[1:]): {body}\n"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, log)],
        **{"cwd": ROOT, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options},
    )


def test_a_machines_error_ends_a_step_with_a_line(tmp_path):
    failed = ran("raise PermissionError(13, 'Permission denied', 'there')", tmp_path / "deep/log")
    assert failed.returncode == 1
    assert failed.stderr.startswith("error: there: Permission denied: ") and failed.stderr.count("\n") == 1
    assert (tmp_path / "deep/log").read_text() == failed.stderr


def test_unprintable_characters_are_logged_as_escapes(tmp_path):
    ended = ran(
        "import logging; logging.info('to %s', 'a\\x1b[31m\\udcff'); raise OSError(2, 'No', 'b\\x07')", tmp_path / "log"
    )
    assert ended.stderr.startswith("to a\\x1b[31m\\udcff\nerror: b\\x07: No: ")
    assert (tmp_path / "log").read_text() == ended.stderr


def test_a_defect_ends_a_step_with_its_traceback(tmp_path):
    failed = ran("{}['key']", tmp_path / "log")
    assert failed.returncode == 1
    assert "Traceback " in failed.stderr
    assert (tmp_path / "log").read_text() == failed.stderr


def test_an_interrupted_step_ends_quietly():
    listen = "signal.signal(signal.SIGINT, signal.default_int_handler)"  # a shell's background job ignores it
    stopped = ran(f"{listen}; os.kill(os.getpid(), signal.SIGINT)")
    assert (stopped.returncode, stopped.stderr) == (130, "")


@pytest.mark.parametrize(
    ("log", "line"), [("folder", "folder: Is a directory: name a file"), ("file/log", "file: File exists: a folder is")]
)
def test_a_log_that_cannot_be_written_is_said(tmp_path, log, line):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    failed = ran("pass", tmp_path / log)
    assert failed.returncode == 1
    assert failed.stderr.startswith(f"error: {tmp_path}/{line}") and failed.stderr.count("\n") == 1


ENTRY = {"format": "text", "vertices": 2, "arcs": 1}


# Files that cannot be written


WRITERS = {
    "text": lambda path: io.write_text(path, 3, *[np.zeros(999, int)] * 3),
    "npz": lambda path: save(path, lambda file: np.savez(file, distances=np.arange(9999))),
    **{
        f".{suffix}": lambda path, suffix=suffix: save(path, lambda file: figure().savefig(file, format=suffix))
        for suffix in ("png", "pdf", "svg")
    },
}


def save(path, write):
    with io.atomic(path) as file:
        write(file)


def figure():
    made = Figure()
    made.subplots().plot(np.random.default_rng(0).random(99))
    return made


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
def test_an_error_of_the_disk_names_the_file_and_leaves_nothing(tmp_path, writer):
    path = tmp_path / "made"
    with pytest.raises(OSError, match="File too large") as caught, files_of_at_most(500):
        writer(path)
    assert explain(caught.value).startswith(f"{path}: File too large: ")
    assert not any(tmp_path.iterdir())


def test_an_error_of_the_temporary_file_names_the_file(tmp_path, monkeypatch):
    def refused(path, *rest, **more):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), str(path))

    monkeypatch.setattr("builtins.open", refused)
    with pytest.raises(OSError, match=r"\[Errno") as caught, io.atomic(tmp_path / "made"):
        pass
    assert caught.value.filename == str(tmp_path / "made")


def test_an_error_that_names_its_file_keeps_it(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, io.atomic(tmp_path / "made"):
        (tmp_path / "other").read_text()
    assert caught.value.filename == str(tmp_path / "other")


@pytest.mark.parametrize(
    ("path", "number"),
    [("file/made", errno.ENOTDIR), ("x" * 256, errno.ENAMETOOLONG)],
)
def test_a_path_that_cannot_be_written_is_known_before(tmp_path, monkeypatch, path, number):
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    with pytest.raises(OSError, match=r"\[Errno") as caught:
        io.writable(path)
    assert (caught.value.errno, caught.value.filename) == (number, path)
    assert os.listdir() == ["file"]


@pytest.mark.parametrize("path", ["folder", "."])
def test_a_folder_is_known_before_as_no_file(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    with pytest.raises(InputError, match=rf"^{re.escape(path)}: this is a folder"):
        io.writable(path)
    assert os.listdir() == ["folder"]


def test_a_path_that_can_be_written_is_left_as_it_is(tmp_path):
    (tmp_path / "there").write_text("before")
    for name in ("there", "new", "deep/er/new"):
        assert io.writable(tmp_path / name) == tmp_path / name
    assert [path.read_text() for path in tmp_path.iterdir()] == ["before"]


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOSPC])
def test_a_folder_where_no_file_can_be_made(tmp_path, monkeypatch, number):
    def refused(dir):
        raise OSError(number, os.strerror(number), f"{dir}/random")

    monkeypatch.setattr(io.tempfile, "TemporaryFile", refused)
    with pytest.raises(OSError, match=os.strerror(number)) as caught:
        io.writable(tmp_path / "deep/new")
    assert caught.value.filename == str(tmp_path / "deep/new")


@pytest.mark.parametrize(
    "start",
    [
        lambda out: measure.measure(VARIANTS["bellman_ford/cpu"], Path("none.npz"), {}, out, measure.StepContext()),
        lambda out: sweeps.measure_sweep("sources", Path("none.npz"), {}, {}, out, measure.StepContext()),
        lambda out: peak.measure_peak([8], out),
    ],
)
def test_a_measurement_does_not_start_where_it_cannot_be_kept(tmp_path, as_with_gpu, start):
    with pytest.raises(InputError, match=f"^{tmp_path}: this is a folder"):
        start(tmp_path)


# The protocol


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        *(("block", value, "1 to 1,024") for value in (0, -5, 1025)),
        *(("tile", value, "1 to 32") for value in (0, 33)),
        *((key, 0, "from 1 to ") for key in ("repeats", "delta", "grid", "checked_rows")),
        *((key, -1, "from 0 to ") for key in ("warmup_launches", "full_check")),
        *(("block", value, "whole number") for value in (8.0, "8", None, True, [8])),
        ("source", "0", "whole number"),
        *(("timeout_s", value, "seconds above 0") for value in (0, float("nan"), "1")),
        ("budget_s", True, "seconds above 0"),
        ("blocks", 8, "warmup_launches, .*, block, "),
    ],
)
def test_a_protocol_refuses_what_it_cannot_use(key, value, allowed):
    with pytest.raises(InputError, match=f"{key}.*{allowed}"):
        Protocol.of({key: value})


def test_a_protocol_takes_whole_numbers_of_numpy():
    protocol = Protocol.of({"block": np.int64(1024), "tile": np.uint8(32), "delta": None, "timeout_s": float("inf")})
    assert json.dumps([protocol.block, protocol.tile]) == "[1024, 32]"
    with pytest.raises(InputError, match=r"block .* 2048"):
        dataclasses.replace(protocol, block=2048)  # as a sweep does


# What the steps read


def of_files(read):
    return lambda path: read([path])


def beside(read, name):
    """A reader of a good CSV of measurements, with the path as its record."""

    def called(path):
        shutil.copy(measurements.files(ROOT / "results/archive/h200")[0], path.with_name(name))
        shutil.copy(path, path.with_name("rows.json"))
        return read([path.with_name(name)])

    return called


READERS = {
    "collect": beside(collect.read, "rows.csv"),
    "appendix": of_files(appendix.read),
    "peak_table": of_files(benchmarks.load_peak),
    "simulated": lambda path: simulated.render_simulated(None, Context(source="", files={"simulated": [path]})),
    "audit": audit.claims,
    "origin": lambda path: download.read_origin(str(path.with_suffix(""))),
    "part": lambda path: download.Part(path.with_name("raw")).notes(),
}


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe\0", b"{", b"[]", b"3", b"null", b'{"a": 1}', b"[" * 10**5],
    ids=lambda content: repr(content[:9]),
)
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_what_is_no_such_file_is_refused_by_its_name(tmp_path, read, content):
    (tmp_path / "raw.part").write_bytes(b"some")
    for name in ("bad.json", "raw.part.json"):
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=r"/(bad|rows|raw\.part)\.json: "):
        read(tmp_path / "bad.json")


def test_a_graph_of_unknown_text_is_not_measured(tmp_path):
    Graph.from_arcs(2, [0], [1], [1]).save(tmp_path / "bare.npz")
    with pytest.raises(InputError, match=r"bare\.npz: has no sha256"):
        measure.packed(tmp_path / "bare.npz")


@pytest.mark.parametrize("vertices", [5.0, "5", True])
def test_a_random_graph_has_a_whole_number_of_vertices(tmp_path, vertices):
    for make in (lambda: generate.random(vertices, tmp_path / "made"), lambda: generate.draw_arcs(vertices, 3, 0)):
        with pytest.raises(InputError, match="number of vertices"):
            make()
