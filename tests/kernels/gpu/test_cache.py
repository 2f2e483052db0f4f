"""kernels/gpu/cache.py: compiled kernels on disk, which depend on source, compiler and card."""

import hashlib
import json
import logging
import os
import pickle
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from cuda.bindings import driver

from kernels.fast import results
from kernels.fast.hierarchy import all_pairs
from kernels.gpu import cache as caching
from kernels.gpu import internals
from kernels.gpu.compiler import cuda
from tests.support import no_card
from tests.support.graphs import near_far_with

ROOT = Path(__file__).parents[3]
KERNELS = {"as_scipy": results.as_scipy, "fill": all_pairs.fill}
ARGUMENTS = {"as_scipy": (np.int32, np.int32, np.float64), "fill": ("i4", np.int32)}


@pytest.fixture(autouse=True)
def fresh():
    forget()
    yield
    forget()


def forget():
    """Forget all that a process keeps of kernels, sources and settings."""
    caching.folder.cache_clear()
    internals._HANDLES.clear()
    for kernel in KERNELS.values():
        kernel._cache = cuda.core.caching.NullCache()
        kernel.overloads.clear()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_SHORTEST_PATHS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def compiled(cache, monkeypatch):
    """The names of the kernels that were compiled."""
    no_card.install(monkeypatch.setattr)
    no_card.COMPILED.clear()
    return no_card.COMPILED


@pytest.fixture
def take(compiled):
    """Take a kernel as a new process does, and check that it is this kernel."""

    def take(name="as_scipy", *others):
        forget()
        dtypes = others or ARGUMENTS[name]
        arguments = tuple(np.int32(1) if dtype == "i4" else no_card.array(dtype) for dtype in dtypes)
        handle, cooperative = internals.compiled_kernel(KERNELS[name], arguments, 0)
        assert name.encode() in no_card.LOADED[handle] and not cooperative

    return take


def test_what_is_kept_is_not_compiled_again(take, compiled):
    for name in ("as_scipy", "as_scipy", "fill", "as_scipy"):
        take(name)
    assert compiled == ["as_scipy", "fill"]
    for _ in range(2):
        take("as_scipy", np.int32, np.int32, np.float32)
    assert compiled == ["as_scipy", "fill", "as_scipy"]


def of_suffix(cache, suffix):
    (file,) = cache.rglob(f"*as_scipy*{suffix}")
    return file


class Unpickled:
    """Raises an error when it is unpickled."""

    def __reduce__(self):
        return int, ("no number",)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-1],
        lambda text: text[:40],
        lambda text: b"",
        lambda text: b"\xff" + text,
        lambda text: b"no pickle",
        lambda text: pickle.dumps(None),
        lambda text: pickle.dumps(("0" * 64, b"")),
        lambda text: pickle.dumps(Unpickled()),
    ],
)
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_damaged_or_forged_file_is_compiled_and_written_again(suffix, damage, take, compiled, cache):
    take()
    file = of_suffix(cache, suffix)
    file.write_bytes(damage(file.read_bytes()))
    take(), take()
    assert compiled == ["as_scipy"] * 2


@pytest.mark.parametrize("forge", ["another kernel", "other types", "changed machine code"])
def test_what_a_file_has_for_another_kernel_is_not_loaded(forge, take, compiled, cache):
    take(), take("fill"), take("as_scipy", np.int32, np.int32, np.float32)
    one, other = sorted(cache.rglob("*as_scipy*.nbc"))
    forged = {
        "another kernel": next(cache.rglob("*fill*.nbc")).read_bytes(),
        "other types": other.read_bytes(),
        "changed machine code": one.read_bytes().replace(b"\x7fELF", b"\x7fFLE"),
    }[forge]
    assert forged != one.read_bytes()
    one.write_bytes(forged)
    compiled.clear()
    take(), take()
    assert compiled == ["as_scipy"]


def test_what_the_driver_refuses_is_compiled(take, compiled, monkeypatch, caplog):
    caplog.set_level(logging.INFO)
    take()
    load, answers = cuda.codegen.CUDACodeLibrary.get_cufunc, [RuntimeError("the driver refuses it")]

    def refuse(library):
        if answers:
            raise answers.pop()
        return load(library)

    monkeypatch.setattr(cuda.codegen.CUDACodeLibrary, "get_cufunc", refuse)
    take()
    assert compiled == ["as_scipy"] * 2
    assert "RuntimeError('the driver refuses it')" in caplog.text


def test_where_nothing_can_be_written_each_process_compiles(take, compiled, cache, caplog):
    caplog.set_level(logging.INFO)
    cache.write_text("a file")
    take(), take()
    assert compiled == ["as_scipy"] * 2
    assert f" {cache}" in caplog.text


def test_what_cannot_be_written_is_loaded(take, compiled, cache, monkeypatch):
    def fail(*paths):
        raise OSError("the disk is full")

    take()
    before = contents(cache)
    monkeypatch.setattr(os, "replace", fail)
    take(), take("fill"), take("fill")
    assert compiled == ["as_scipy", "fill", "fill"] and contents(cache) == before


def test_what_was_imported_before_a_change_is_not_kept(take, cache, compiled, monkeypatch):
    newest = max(path.stat().st_mtime for path in caching.sources())
    monkeypatch.setattr(caching, "STARTED", newest - 1)
    take()
    assert not cache.exists()
    monkeypatch.setattr(caching, "STARTED", newest)
    take()
    assert cache.exists() and len(compiled) == 2


@cuda.jit
def of_no_package(words):
    words[0] = 1


def test_what_the_key_does_not_tell_apart_is_not_kept(cache):
    """A kernel with a closure, of a module with other constants, and of no module of the package."""
    number = 5

    @cuda.jit
    def with_closure(words):
        words[0] = number

    for kernel in (with_closure, near_far_with(CROWDED=1).kernels.search, of_no_package):
        caching.enable(kernel)
        assert isinstance(kernel._cache, cuda.core.caching.NullCache)


def contents(folder):
    """Return all paths below a folder, with the bytes of files."""
    return {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}


def test_nothing_of_others_is_deleted(take, compiled, cache):
    for number in range(3 * caching.KEYS):
        digest = hashlib.md5(bytes([number])).hexdigest()
        (cache / digest / "empty").mkdir(parents=True)
        (cache / "other" / digest).mkdir(parents=True)
        for path in (cache / digest / "letter", cache / "other" / digest / "kernel.nbc"):
            path.write_text("of another program")
        for folder in (cache / digest, cache / "other" / digest):
            os.utime(folder, (number, number))
    before = contents(cache)
    take(), take()
    assert compiled == ["as_scipy"] and before.items() <= contents(cache).items()


def test_only_the_keys_that_were_written_to_last_stay(take, compiled, cache, monkeypatch):
    monkeypatch.setattr(caching, "KEYS", 3)
    folders = []
    for number in range(caching.KEYS + 2):
        monkeypatch.setenv("NUMBA_OF_THIS_TEST", str(number))
        take()
        (folder,) = set(cache.iterdir()).difference(folders)
        folders.append(folder)
        if number == 0:
            (folder / "letter").write_text("of another program")
        os.utime(folder, (number, number))
    take()
    assert [path.name for path in folders[0].iterdir()] == ["letter"] and not folders[1].exists()
    assert all(len(list(folder.iterdir())) == 2 for folder in folders[2:])
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
    take()
    file = of_suffix(cache, ".nbc")
    path = {"cache": cache, "folder": file.parent, "file": file}[changed]
    before, mode = contents(cache), path.stat().st_mode
    change(path)
    compiled.clear()
    take()
    assert compiled == ["as_scipy"] and contents(cache) == before
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage().startswith(f"{path}: another user owns it or may write to it, so kernels are compiled")

    path.chmod(mode)
    os.chown(path, os.geteuid(), -1)
    take()
    assert compiled == ["as_scipy"]


def test_no_other_user_can_write_to_what_is_made(take, compiled, cache):
    """Whatever the user's mask is."""
    former = os.umask(0)
    try:
        take(), take()
    finally:
        os.umask(former)
    assert compiled == ["as_scipy"]
    assert not any(path.stat().st_mode & 0o077 for path in (cache, *cache.rglob("*")))


# The key.


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A copy of the package, from which the key is computed."""
    shutil.copytree(ROOT / "kernels", tmp_path / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(caching, "PACKAGE_FOLDER", tmp_path / "kernels")
    no_card.install(monkeypatch.setattr)
    return tmp_path / "kernels"


@pytest.mark.parametrize("file", ["fast/near_far_kernels.py", "gpu/intrinsics.py", "graph.py", "new.py"])
def test_a_change_of_a_source_changes_the_key(file, copy):
    before = caching.key()
    with open(copy / file, "a") as source:
        source.write("\nCHANGED = 1\n")
    assert caching.key() != before


@pytest.mark.parametrize(
    "change",
    [
        *(lambda patch, name=name: patch.setattr(caching, "_version_of", lambda d: "9" if d == name else old(d))
          for name in caching.COMPILERS[:5]),
        *(lambda patch, name=name: patch.setenv(name, "2") for name in ("NUMBA_OPT", "NUMBA_DEBUGINFO", "CUDA_HOME")),
        lambda patch: Path(".numba_config.yaml").write_text("opt: 0"),
        lambda patch: patch.setattr(driver, "cuDriverGetVersion", lambda: (driver.CUresult(0), 12000)),
        lambda patch: patch.setattr(sys, "version_info", (3, 99, 0)),
    ],
)  # fmt: skip
def test_a_change_of_the_compiler_its_settings_or_the_driver_changes_the_key(change, copy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = caching.key()
    assert caching.key() == before
    change(monkeypatch)
    assert caching.key() != before


old = caching._version_of


def test_the_key_has_all_that_compiles(copy):
    versions = caching.parts_of_key()["compilers"]
    assert {"numba-cuda", "numba", "llvmlite", "cuda-core"} <= versions.keys()
    assert all(versions.values()) and any("nvvm" in name or "nvcc" in name for name in versions)


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
    assert caching.root() == Path(expected)


# Processes.

PROCESS = """
import json
import no_card

no_card.install()
import numpy as np
from kernels.fast import near_far_kernels, results
from kernels.gpu import internals

words, distances, longs = (no_card.array(dtype) for dtype in (np.int32, np.float64, np.uint64))
handles = [
    internals.compiled_kernel(results.as_scipy, (words, words, distances), 0),
    internals.compiled_kernel(near_far_kernels.find_too_long, (np.uint32(2), longs, words, words, words), 0),
]
assert [no_card.LOADED[handle][:4] for handle, _ in handles] == [b"\\x7fELF"] * 2
print(json.dumps(no_card.COMPILED))
"""


def test_a_later_process_compiles_nothing_until_a_source_changes(tmp_path):
    """Run a copy of the package in four processes, one after the other."""
    shutil.copytree(ROOT / "kernels", tmp_path / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "tests/support/no_card.py", tmp_path)
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

    both, path = ["as_scipy", "find_too_long"], tmp_path / "kernels/gpu/intrinsics.py"
    assert process() == both
    assert process() == []
    path.write_text(path.read_text() + "\nCHANGED = 1\n")
    os.utime(path, (time.time() - 9,) * 2)
    assert process() == both
    os.utime(path, (time.time() - 5,) * 2)  # the same source
    assert process() == []
