"""kernels/gpu/kept.py: compiled kernels on disk, which are never those of another source, compiler or card."""

import ast
import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from cuda.pathfinder import DynamicLibNotFoundError
from kernels.gpu.kept import Compiled, Kernel
from numba.cuda import codegen, dispatcher

from hatch_build import PACKAGE, renamed
from kernels.gpu import driver_api, kept
from kernels.library import choice
from tests.support import fake_driver

ROOT = Path(__file__).parents[3]
MODULE = "kernels.fast.near_far_kernels"
KINDS = "<u4", "<i4[]"


@pytest.fixture(autouse=True)
def fresh():
    kept._WARNED.clear()
    forget()
    yield
    forget()


def forget():
    """Forget what sources and settings were."""
    for found in (kept.key_of, kept.source_digest):
        found.cache_clear()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_SHORTEST_PATHS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def driver(monkeypatch):
    return fake_driver.install(monkeypatch.setattr)


@pytest.fixture
def compiled(driver, cache, monkeypatch):
    """The names of the kernels that were compiled."""
    names = []
    monkeypatch.setattr(kept, "by_numba", lambda module, name, kinds: names.append(name) or of_name(name))
    monkeypatch.setattr(kept, "check_arguments", lambda device: None)
    monkeypatch.setattr(kept, "changed_since", lambda when, module: False)
    return names


def of_name(name):
    return Compiled(name, name == "search", fake_driver.code(name))


DEVICE = SimpleNamespace(number=0, capability=(9, 0))


@pytest.fixture
def take(driver, compiled):
    """Loads a kernel as a new process does, and checks that it is this kernel."""

    def take(name="search", kinds=KINDS):
        forget()
        with driver_api.Device(0).current():
            handle, cooperative = Kernel(MODULE, name).loaded(DEVICE, kinds)
        assert (driver.handles[handle], cooperative) == (name, name == "search")

    return take


def test_what_is_kept_is_not_compiled_again(take, compiled, cache):
    for name in ("search", "search", "initialise", "search"):
        take(name)
    assert compiled == ["search", "initialise"]
    take(kinds=("<u8", "<i4[]"))
    assert compiled == ["search", "initialise", "search"]


def test_arguments_are_checked_where_a_kernel_is_compiled(take, monkeypatch):
    checks = []
    monkeypatch.setattr(kept, "check_arguments", checks.append)
    take(), take()
    assert checks == [DEVICE]


def of_one_key(cache):
    (file,) = (path for path in cache.rglob("*") if path.is_file())
    return file


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-1],
        lambda text: text[:40],
        lambda text: b"",
        lambda text: text.replace(b"true", b"null"),
        lambda text: text[:-3] + b"X" + text[-2:],
        lambda text: b"\xff" + text,
        lambda text: forged(b""),
        lambda text: forged(b"null"),
        lambda text: forged(b"[]"),
        lambda text: forged(b"{"),
        lambda text: forged(b"[" * 10**5),
        lambda text: forged(b'"\xff"'),
        lambda text: forged(b'{"entry": "search"}'),
        lambda text: forged(b'{"entry": 1, "cooperative": true}'),
        lambda text: forged(b'{"entry": "search", "cooperative": "no"}'),
        lambda text: forged(b'{"entry": "search", "cooperative": true, "code": 1}'),
        lambda text: forged(b'{"entry": "\\ud800", "cooperative": true}'),
        lambda text: forged(b'{"entry": "relax", "cooperative": true}'),
        lambda text: forged(b'{"entry": "search", "cooperative": true}', b"no machine code"),
    ],
)
def test_a_damaged_or_forged_file_is_compiled_and_written_again(damage, take, compiled, cache):
    take()
    file = of_one_key(cache)
    text = file.read_bytes()
    assert forged(b'{"entry": "search", "cooperative": true}') == text
    file.write_bytes(damage(text))
    take()
    assert compiled == ["search"] * 2 and file.read_bytes() == text
    take()
    assert compiled == ["search"] * 2


def forged(head, code=b""):
    """A file with a digest that fits; code: the kernel's, if none is given."""
    rest = head + b"\n" + (code or fake_driver.code("search"))
    return hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest


def test_what_the_driver_refuses_is_compiled(take, compiled, monkeypatch, caplog):
    caplog.set_level(logging.INFO)
    take()
    load = driver_api.driver.cuLibraryLoadData
    answers = iter([lambda *_: (driver_api.driver.CUresult.CUDA_ERROR_INVALID_IMAGE, None), load])
    monkeypatch.setattr(driver_api.driver, "cuLibraryLoadData", lambda *given: next(answers)(*given))
    take()
    assert compiled == ["search"] * 2
    assert "is not for this card or driver, so its kernel is compiled: the CUDA driver refused a call" in caplog.text


def test_where_nothing_can_be_written_each_process_compiles(take, compiled, cache, caplog):
    caplog.set_level(logging.INFO)
    cache.write_text("a file")
    take(), take()
    assert compiled == ["search"] * 2
    assert f"compiled kernels cannot be kept in {cache}" in caplog.text


def test_a_file_appears_whole_or_not_at_all(take, cache, monkeypatch):
    def fail(*paths):
        raise OSError("the disk is full")

    take()
    text = of_one_key(cache).read_bytes()
    monkeypatch.setattr(os, "replace", fail)
    take("initialise")
    assert of_one_key(cache).read_bytes() == text


CHANGED_SINCE = kept.changed_since


def test_what_was_imported_before_a_change_is_not_kept(take, cache, monkeypatch):
    newest = max(path.stat().st_mtime for path in kept.sources(MODULE))
    assert CHANGED_SINCE(newest - 1, MODULE) and not CHANGED_SINCE(newest, MODULE)
    monkeypatch.setattr(kept, "changed_since", CHANGED_SINCE)
    monkeypatch.setattr(kept, "_STARTED", newest - 1)
    take()
    assert not cache.exists()


def contents(folder):
    """All below a folder, with the files' bytes."""
    return {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}


def test_nothing_of_others_is_deleted(take, compiled, cache):
    for number in range(3 * kept.KEYS):
        digest = hashlib.md5(bytes([number])).hexdigest()
        (cache / digest / "empty").mkdir(parents=True)
        (cache / digest[::-1]).mkdir()
        for name in ("letter", f"search-{digest}"):
            (cache / digest / name).write_text(name)
        for folder in (digest, digest[::-1]):
            os.utime(cache / folder, (number, number))
    before = contents(cache)
    take(), take()
    assert compiled == ["search"] and before.items() <= contents(cache).items()


def test_only_the_keys_that_were_written_to_last_stay(take, compiled, cache, monkeypatch):
    folders = []
    for number in range(kept.KEYS + 2):
        monkeypatch.setenv("NUMBA_OF_THIS_TEST", str(number))
        take()
        (folder,) = set(cache.iterdir()).difference(folders)
        folders.append(folder)
        if number == 0:
            (folder / "letter").write_text("of another program")
        os.utime(folder, (number, number))
    take()
    assert [path.name for path in folders[0].iterdir()] == ["letter"] and not folders[1].exists()
    assert all(len(list(folder.iterdir())) == 1 for folder in folders[2:])
    assert len(compiled) == len(folders)


def writable_by(bits):
    return lambda path: path.chmod(path.stat().st_mode | bits)


def of_another_user(path):
    if os.geteuid():
        pytest.skip("only root can give a file away")
    os.chown(path, 4711, -1)


@pytest.mark.parametrize("change", [writable_by(0o020), writable_by(0o002), of_another_user])
@pytest.mark.parametrize("changed", ["cache", "folder", "file"])
def test_what_another_user_may_change_is_not_loaded(changed, change, take, compiled, cache, caplog):
    take(), take("initialise")
    file = next(cache.glob("*/search-*"))
    path = {"cache": cache, "folder": file.parent, "file": file}[changed]
    before, mode = contents(cache), path.stat().st_mode
    change(path)
    compiled.clear()
    take(), take()
    assert compiled == ["search"] * 2 and contents(cache) == before
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage().startswith(f"{path}: another user owns it or may write to it, so kernels are compiled")

    path.chmod(mode)
    os.chown(path, os.geteuid(), -1)
    take(), take("initialise")
    assert compiled == ["search"] * 2


def test_no_other_user_can_write_to_what_is_made(take, compiled, cache):
    """However generous the user's mask is."""
    former = os.umask(0)
    try:
        take(), take()
    finally:
        os.umask(former)
    assert compiled == ["search"]
    assert not any(path.stat().st_mode & 0o077 for path in (cache, *cache.rglob("*")))


# The key.


def key(**more):
    forget()
    return kept.key_of(MODULE, more.get("capability", (9, 0)))


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A copy of the package, of which digests are made."""
    shutil.copytree(ROOT / "kernels", tmp_path / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(kept, "ROOT", tmp_path / "kernels")
    fake_driver.install(monkeypatch.setattr)
    return tmp_path / "kernels"


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        *((f"fast/{name}.py", True) for name in ("near_far_kernels", "near_far_layout")),
        *((name, True) for name in ("gpu/intrinsics.py", "gpu/card.py", "gpu/simulator.py", "graph.py")),
        *((name, False) for name in ("fast/near_far.py", "fast/floats.py", "solver.py", "paper/dijkstra.py")),
    ],
)
def test_a_change_of_a_source_changes_the_key(file, counts, copy):
    before = key()
    (copy / file).write_text((copy / file).read_text() + "\nCHANGED = 1\n")
    assert (key() != before) == counts


@pytest.mark.parametrize(
    "change",
    [
        *(lambda patch, name=name: patch.setattr(kept, "_version", lambda d: "9" if d == name else old(d))
          for name in kept.COMPILERS[:5]),
        *(lambda patch, name=name: patch.setenv(name, "2") for name in ("NUMBA_OPT", "NUMBA_DEBUGINFO", "CUDA_HOME")),
        lambda patch: Path(".numba_config.yaml").write_text("opt: 0"),
        lambda patch: patch.setattr(kept.driver, "cuDriverGetVersion", lambda: (kept.driver.CUresult(0), 12000)),
        lambda patch: patch.setattr(sys, "version_info", (3, 99, 0)),
        lambda patch: patch.setattr(kept, "FORMAT", 0),
    ],
)  # fmt: skip
def test_a_change_of_the_compiler_its_settings_or_the_driver_changes_the_key(change, copy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = key()
    assert key() == before
    change(monkeypatch)
    assert key() != before


old = kept._version


def test_another_card_or_module_has_another_key(copy):
    assert len({key(), key(capability=(8, 0)), kept.key_of("kernels.fast.results", (9, 0))}) == 3


def test_the_key_has_all_that_compiles(copy):
    found = kept.parts_of_key(MODULE, (9, 0))["compilers"]
    assert {"numba-cuda", "numba", "llvmlite", "cuda-core"} <= found.keys()
    assert all(found.values()) and any("nvvm" in name or "nvcc" in name for name in found)


def imported(path):
    """The files of the repository that a module imports, by its syntax tree."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "kernels":
            for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                file = ROOT / f"{name.replace('.', '/')}.py"
                if file.is_file():
                    yield file


def test_all_imports_are_found():
    for path in (ROOT / "kernels").rglob("*.py"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found = kept.sources(module)
        assert path in found and set(imported(path)) <= set(found), path


def test_the_same_are_found_in_the_wheel(tmp_path, monkeypatch):
    names = [path.relative_to(kept.ROOT) for path in kept.sources(MODULE)]
    for path in (ROOT / "kernels").rglob("*.py"):
        inside = path.relative_to(ROOT / "kernels")
        written = tmp_path / PACKAGE / inside
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_bytes(renamed(path.read_bytes(), inside))
    monkeypatch.setattr(kept, "ROOT", tmp_path / PACKAGE)
    monkeypatch.setattr(kept, "PACKAGE", PACKAGE)
    found = kept.sources(MODULE.replace("kernels", PACKAGE, 1))
    assert [path.relative_to(tmp_path / PACKAGE) for path in found] == names


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"CUDA_SHORTEST_PATHS_CACHE": "/own", "XDG_CACHE_HOME": "/caches"}, "/own"),
        ({"XDG_CACHE_HOME": "/caches", "HOME": "/home"}, "/caches/cuda_shortest_paths"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/home"}, "/home/.cache/cuda_shortest_paths"),
        ({"HOME": "/home"}, "/home/.cache/cuda_shortest_paths"),
    ],
)
def test_the_folder(environment, expected, monkeypatch):
    for name in ("CUDA_SHORTEST_PATHS_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert kept.root() == Path(expected)


# What is compiled.


@pytest.mark.parametrize(
    ("name", "kinds"), [("as_scipy", ("<i4[]", "<i4[]", "<f8[]")), ("as_lengths", ("<i4[]", "<i4", "<f8[]", "<i4[]"))]
)
def test_numba_compiles_machine_code_without_launching_it(name, kinds, monkeypatch):
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=(9, 0)))
    monkeypatch.setattr(codegen.CUDACodeLibrary, "_ensure_cc", lambda library, cc: cc or (9, 0, "a"))
    monkeypatch.setattr(dispatcher._Kernel, "bind", lambda kernel: None)
    found = kept.by_numba("kernels.fast.results", name, kinds)
    assert found.code.startswith(b"\x7fELF") and found.entry.encode() in found.code and not found.cooperative


@pytest.mark.parametrize("right", [True, False])
def test_arguments_that_arrive_otherwise_are_refused(right, driver, monkeypatch):
    asked = []

    def by_numba(module, name, kinds):
        asked.append((module, name, kinds))
        return Compiled("echo", False, fake_driver.code("echo"))

    monkeypatch.setattr(kept, "by_numba", by_numba)
    if not right:
        monkeypatch.setattr(
            driver_api, "as_passed", lambda a: a.passed if hasattr(a, "passed") else [int(a) % 2**64 ^ 1]
        )
    device = driver_api.Device(0)
    with device.current():
        if right:
            kept.check_arguments.__wrapped__(device)
        else:
            with pytest.raises(RuntimeError, match="passes arguments to kernels otherwise"):
                kept.check_arguments.__wrapped__(device)
    assert asked == [("kernels.gpu.internals", "echo", ("<u4", "<i4", "<u8", "<i4[]", "<u8[]", "<u8[]"))]
    assert driver.log[0] == "echo"


@pytest.mark.parametrize(("nvvm", "visible"), [(True, True), (False, False)])
def test_a_gpu_for_which_nothing_can_be_compiled_is_not_used(nvvm, visible, monkeypatch):
    """Else all pairs would fail where one source does not."""
    fake_driver.install(monkeypatch.setattr)
    monkeypatch.setattr(choice, "_can_compile", choice._can_compile.__wrapped__)
    monkeypatch.setattr(driver_api, "cards", lambda: 1)
    monkeypatch.setattr(driver_api, "simulated", lambda: False)
    if not nvvm:
        monkeypatch.setattr(choice.nvvm, "version", lambda: (_ for _ in ()).throw(DynamicLibNotFoundError("nvvm")))
    assert choice.gpu_visible() == visible


# Processes.

PROCESS = """
import gc, json, runpy, sys, threading
import fake_driver

driver = fake_driver.install()
import numpy as np
import kernels
from kernels.library import csgraph
from kernels.library import searches, solver
from kernels.gpu import kept

compiled = []
def by_numba(module, name, kinds):
    compiled.append(name)
    return kept.Compiled(name, name in fake_driver.COOPERATIVE, fake_driver.code(name))
kept.by_numba, kept.check_arguments = by_numba, lambda device: None
searches.WholeNumbers._fits = False  # whether a distance is too long is looked for
graph = kernels.graph.Graph.load("graph.npz")
array = graph.to_scipy()
expected, last = fake_driver.csgraph.dijkstra(array, indices=5, return_predecessors=True)

def right(distances, predecessors=last):
    np.testing.assert_array_equal(distances, expected, strict=True)
    np.testing.assert_array_equal(predecessors, last, strict=True)

found = kernels.shortest_paths(graph, 5)
assert found.variant == "delta_stepping/near_far"
right(found.distances, found.predecessors)
with kernels.prepare(graph) as solver:
    right(solver.distances([5, 5]).distances[1])
    rows = solver.paths_from([7, 5])
    right(rows.distances[1], rows.predecessors[1])
    left = solver.shortest_paths(5, out="device")
    solver.shortest_paths(7, out="device")
    threads = [threading.Thread(target=lambda: right(solver.shortest_paths(5).distances)) for _ in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
assert (left.distances.copy_to_host()[expected < np.inf] == expected[expected < np.inf]).all()
right(*csgraph.dijkstra(array, indices=5, return_predecessors=True))
halves = array * 2**-0.5
right_halves = fake_driver.csgraph.dijkstra(halves, indices=[5, 7], return_predecessors=True)
for answer, rightly in zip(csgraph.dijkstra(halves, indices=[5, 7], return_predecessors=True), right_halves):
    np.testing.assert_array_equal(answer, rightly, strict=True)
sys.argv = ["kernels", "sssp", "graph.npz", "--source", "5", "--to", "paths.npz"]
runpy.run_module("kernels", run_name="__main__")
with np.load("paths.npz") as file:
    right(file["distances"], file["predecessors"])
solver.last.kept = left = found = solver = rows = None
gc.collect()
assert not driver.memory and not driver.contexts, driver.memory
print(json.dumps([compiled, sorted({"numba", "llvmlite", "pandas"} & set(sys.modules))]))
"""


def test_a_later_process_imports_no_compiler_until_a_kernel_changes(tmp_path):
    """A copy of the package, with a driver that has no card, in five processes one after the other."""
    from tests.support import graphs

    shutil.copytree(ROOT / "kernels", tmp_path / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "tests/support/fake_driver.py", tmp_path)
    graphs.sparse(9000).save(tmp_path / "graph.npz")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "PYTHONPATH"))},
        "CUDA_SHORTEST_PATHS_CACHE": str(tmp_path / "cache"),
    }

    def process():
        ran = subprocess.run(
            [sys.executable, "-c", PROCESS], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    def change(name):
        path = tmp_path / "kernels" / name
        path.write_text(path.read_text() + "\nCHANGED = 1\n")
        os.utime(path, (time.time() - 9,) * 2)

    near_far = ["fill_rows", "set_links", "clear", "walk", "initialise", "search", "find_predecessors", "find_too_long"]
    floats = ["set_bounds", "start", "relax", "find_tree"]
    assert process() == [[*near_far, "as_scipy", *floats], []]
    assert process() == [[], []]
    change("fast/near_far_kernels.py")
    assert process() == [near_far, []]
    change("gpu/intrinsics.py")
    assert process() == [[*near_far, "as_scipy", *floats], []]
    change("fast/floats_kernels.py")
    assert process() == [floats, []]
