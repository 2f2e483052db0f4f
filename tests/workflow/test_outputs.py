"""Where outputs are written: a regular file is replaced, and nothing else ever."""

import os
import socket
import stat
import sys
import threading
from pathlib import Path

import pytest

from kernels import __main__ as cli
from kernels import io
from kernels.errors import InputError
from kernels.graph import Graph


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The test's own folder is the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path, mode="w"):
    with io.atomic(path, mode) as file:
        file.write("new" if mode == "w" else b"new")


def entries():
    return sorted(str(path) for path in Path().rglob("*"))


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_the_file_that_it_leads_to_is_replaced(there):
    Path("far").mkdir()
    if there:
        Path("far/file").write_text("old")
    Path("link").symlink_to("far/file")
    Path("second").symlink_to("link")
    write("second")
    assert Path("far/file").read_text() == "new"
    assert (os.readlink("second"), os.readlink("link")) == ("link", "far/file")
    assert entries() == ["far", "far/file", "link", "second"]


def test_a_failure_leaves_what_a_link_leads_to():
    Path("file").write_text("old")
    Path("link").symlink_to("file")
    with pytest.raises(RuntimeError), io.atomic("link", "w") as file:
        file.write("new")
        raise RuntimeError
    assert Path("file").read_text() == "old"
    assert entries() == ["file", "link"]


@pytest.mark.parametrize("target", ["missing/file", "link"])
def test_a_link_that_leads_nowhere_is_refused(target):
    Path("link").symlink_to(target)
    with pytest.raises(InputError, match=f"^link: a link to {target}"):
        write("link")
    assert os.readlink("link") == target
    assert entries() == ["link"]


def test_a_folder_and_a_socket_are_refused():
    Path("folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        for name in ("folder", "socket"):
            with pytest.raises(InputError, match=f"^{name}: this is a {name}"):
                write(name)
        assert stat.S_ISSOCK(os.stat("socket").st_mode)
    assert entries() == ["folder", "socket"]


def test_a_block_device_is_refused(monkeypatch):
    Path("disk").write_text("old")
    monkeypatch.setattr(io.stat, "S_IFMT", lambda mode: stat.S_IFBLK)
    with pytest.raises(InputError, match=r"^disk: this is a block device"):
        write("disk")
    assert Path("disk").read_text() == "old"


@pytest.mark.parametrize("mode", ["w", "wb"])
def test_a_pipe_is_written(mode):
    os.mkfifo("pipe")
    came = []
    reader = threading.Thread(target=lambda: came.append(Path("pipe").read_bytes()), daemon=True)
    reader.start()
    write("pipe", mode)
    reader.join(10)
    assert came == [b"new"]
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)


def test_a_character_device_is_written():
    Path("null").symlink_to("/dev/null")
    write("null")
    assert os.readlink("null") == "/dev/null"
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_standard_output_is_written_where_it_is(capfd):
    Path("link").symlink_to("/dev/stdout")
    os.write(1, b"before ")
    for name in ("/dev/stdout", "link"):
        write(name)
    os.write(1, b" after")
    assert capfd.readouterr().out == "before newnew after"
    assert os.path.islink("/dev/stdout") and os.readlink("link") == "/dev/stdout"


@pytest.mark.parametrize("how", ["file", "append", "pipe"])
def test_a_packed_graph_goes_where_np_savez_must_not_go_back(how):
    """np.savez writes the sizes in front of its arrays last, where it can go back."""
    if how == "pipe":
        reading, writing = os.pipe()
    else:
        writing = os.open("out.npz", os.O_WRONLY | os.O_CREAT | (os.O_APPEND if how == "append" else 0))
    with io.atomic(f"/dev/fd/{writing}") as file:
        Graph.from_arcs(2, [0], [1], [7]).write(file)
    os.close(writing)
    if how == "pipe":
        with open(reading, "rb") as file:
            Path("out.npz").write_bytes(file.read())
    packed = Graph.load("out.npz")
    assert (packed.vertices, packed.weights.tolist()) == (2, [7])


def test_what_is_open_for_reading_only_is_refused():
    Path("in").write_text("old")
    with open("in") as file:
        path = f"/dev/fd/{file.fileno()}"
        with pytest.raises(InputError, match=f"^{path}: not open"):
            write(path)
    with pytest.raises(InputError, match=f"^{path}: not open"):  # closed by now
        write(path)
    assert Path("in").read_text() == "old"


@pytest.mark.parametrize("left", ["link", "file"])
def test_what_has_the_temporary_name_is_not_written_through(left):
    Path("other").write_text("other")
    if left == "link":
        Path(".file.tmp").symlink_to("other")
    else:
        os.link("other", ".file.tmp")
    write("file")
    assert Path("other").read_text() == "other"
    assert Path("file").read_text() == "new" and not Path("file").is_symlink()
    assert entries() == ["file", "other"]


def test_the_name_in_a_packed_graph_does_not_choose_the_folder(monkeypatch):
    """A packed graph may come from anywhere; its name is part of the default output's."""
    Graph.from_arcs(2, [0], [1], [7], meta={"name": "../../x y"}).save("mine.npz")
    monkeypatch.setattr(sys, "argv", ["kernels", "bellman_ford", "cpu", "mine.npz", "--output", "write"])
    cli.main()
    made = "results/output/bellman_ford_cpu_.._.._x_y.txt"
    assert entries() == ["mine.npz", "results", "results/output", made]
