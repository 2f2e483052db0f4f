"""The memory of the host, and graphs that need more."""

import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from kernels import io, memory
from kernels.errors import InputError
from kernels.fast.hierarchy.elimination import MAX_HEIGHT
from kernels.library import answers

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


def test_what_just_fits_is_taken():
    most = memory.host_memory()
    memory.require(most, "this takes", "take less")
    with pytest.raises(InputError, match=f"^this takes {most + 1:,} .* {most:,}: take less$"):
        memory.require(most + 1, "this takes", "take less")


@pytest.mark.parametrize("form", ["text", "snap"])
def test_reading_takes_no_more_than_is_asked_for(tmp_path, monkeypatch, form):
    vertices, arcs = 60_000, 200_000
    ends = np.random.default_rng(1).integers(vertices, size=(arcs, 2)).tolist()
    path = tmp_path / "graph.txt"
    begin, end = ("", "\n") if form == "snap" else (f"{vertices} {arcs}\n", " 100\n")
    path.write_text(begin + "".join(f"{u} {v}{end}" for u, v in ends))
    monkeypatch.setattr(io, "READ_BYTES", 1 << 14)
    read = io.read_snap if form == "snap" else io.read_graph
    read(path)  # imports what it needs
    tracemalloc.start()
    read(path)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    needed = memory.BYTES_OF_VERTEX * vertices + memory.BYTES_OF_ARC * arcs
    assert 0.5 * needed < taken < needed


def test_the_page_of_restrictions_has_the_numbers_of_the_code():
    said = (Path(__file__).parents[2] / "docs/restrictions.md").read_text()
    for number in (
        f"| {memory.BYTES_OF_VERTEX} n + {memory.BYTES_OF_ARC} m |",
        f"| {answers.HOST_BYTES} n²; {answers.FLOAT_BYTES} n² in float64 |",
        f"| {answers.FLOAT_BYTES} s n |",
        f"| at most {MAX_HEIGHT:,} vertices on a path",
    ):
        assert number in said
