"""How much memory there is, and graphs that ask for more."""

import os
import sys
import tracemalloc
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from kernels import __main__ as cli
from kernels import io, memory
from kernels.errors import InputError
from kernels.graph import Graph

MACHINE = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(
    ("membership", "files", "found"),
    [
        ("0::/a/b", {"a/b/memory.max": "4096", "a/memory.max": "max"}, 4096),
        ("0::/a/b", {"a/b/memory.max": "8192", "a/memory.max": "4096"}, 4096),  # bound by the group above
        ("0::/", {"memory.max": "4096"}, 4096),  # a container's own view
        ("0::/not/here", {"memory.max": "4096"}, 4096),
        ("0::/a", {"a/memory.max": "max"}, MACHINE),
        ("9:cpu:/a\n4:memory:/a\n0::/", {"memory/a/memory.limit_in_bytes": "4096"}, 4096),
        ("4:cpu,memory:/b", {"memory/memory.limit_in_bytes": "4096"}, 4096),
        ("4:memory:/", {"memory/memory.limit_in_bytes": "9223372036854771712"}, MACHINE),
        ("4:cpu:/a", {"memory/a/memory.limit_in_bytes": "4096"}, MACHINE),
        (None, {}, MACHINE),  # no Linux
    ],
)
def test_memory_is_the_machines_or_the_control_groups(tmp_path, monkeypatch, membership, files, found):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    own = tmp_path / "membership"
    if membership:
        own.write_text(f"{membership}\n")
    monkeypatch.setattr(memory, "MEMBERSHIP", own)
    monkeypatch.setattr(memory, "GROUPS", tmp_path)
    assert memory.host_memory.__wrapped__() == found


def test_what_just_fits_is_taken(monkeypatch):
    monkeypatch.setattr(memory, "host_memory", lambda: 1000)
    memory.require(1000, "this takes", "take less")
    with pytest.raises(InputError, match="this takes 1,001 bytes of memory, this machine has 1,000: take less"):
        memory.require(1001, "this takes", "take less")


@pytest.mark.parametrize("form", ["text", "snap"])
def test_reading_takes_no_more_than_is_asked_for(tmp_path, monkeypatch, form):
    vertices, arcs = 60_000, 200_000
    ends = np.random.default_rng(1).integers(vertices, size=(arcs, 2)).tolist()
    path = tmp_path / "graph.txt"
    begin, end = ("", "\n") if form == "snap" else (f"{vertices} {arcs}\n", " 100\n")
    path.write_text(begin + "".join(f"{u} {v}{end}" for u, v in ends))
    monkeypatch.setattr(io, "PIECE", 1 << 14)
    tracemalloc.start()
    io.read_snap(path) if form == "snap" else io.read_graph(path)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    needed = memory.BYTES_OF_VERTEX * vertices + memory.BYTES_OF_ARC * arcs
    assert 0.5 * needed < taken < needed


def packed(path, *, method=zipfile.ZIP_STORED, claimed=2, length=2):
    """A packed graph of two vertices and no arcs, whose indptr's header claims a length and which has another."""
    with zipfile.ZipFile(path, "w", method) as file:
        for name, size, there in (("indptr", claimed, length), ("indices", 0, 0), ("weights", 0, 0)):
            header = BytesIO()
            described = {"descr": "<i4", "fortran_order": False, "shape": (size,)}
            np.lib.format.write_array_header_1_0(header, described)
            file.writestr(f"{name}.npy", header.getvalue() + bytes(4 * there))
        for name, value in (("directed", True), ("meta", "{}")):
            whole = BytesIO()
            np.save(whole, np.array(value))
            file.writestr(f"{name}.npy", whole.getvalue())
    return path


def test_a_packed_graph_that_inflates_to_more_than_there_is(tmp_path, monkeypatch):
    path = packed(tmp_path / "g.npz", method=zipfile.ZIP_DEFLATED, claimed=10**6, length=10**6)
    assert path.stat().st_size < 10**4 and Graph.load(path).vertices == 10**6 - 1
    monkeypatch.setattr(memory, "host_memory", lambda: 4 * 10**6)
    monkeypatch.setattr(np.lib.format, "read_array", None)  # nothing is read
    with pytest.raises(InputError, match=r"g\.npz: a packed graph of this size takes 4,00\d,\d+ bytes of memory, this"):
        Graph.load(path)


@pytest.mark.parametrize("claimed", [2**45, 2**61, 2**70, -3])
def test_a_packed_graph_whose_array_claims_more_than_it_has(tmp_path, claimed):
    with pytest.raises(InputError, match=r"g\.npz: .*: name a packed graph, or make this one again"):
        Graph.load(packed(tmp_path / "g.npz", claimed=claimed))


@pytest.mark.parametrize(
    "command", [["random", "500", "out.txt"], ["dijkstra", "scipy", "huge.txt"], ["add", "huge.snap"]]
)
def test_the_command_line_refuses_in_one_line(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(memory, "host_memory", lambda: 1 << 20)
    monkeypatch.setattr(sys, "argv", ["kernels", *command])
    Path("huge.txt").write_text("2147483647 2147483647\n")
    Path("huge.snap").write_text("# Nodes: 2147483647 Edges: 2147483647\n")
    with pytest.raises(SystemExit, match=r"^error: .* memory, this machine has 1,048,576: take a smaller graph.*$"):
        cli.main()
    assert not Path("out.txt").exists()
