"""Keep compiled kernels on disk, in numba's own cache. Later processes load the kernels instead of compiling them.

The cache is in the folder CUDA_SHORTEST_PATHS_CACHE, else in cuda_shortest_paths in XDG_CACHE_HOME or ~/.cache. This
folder has one folder per key. A key is a digest of what machine code depends on: the source of this package, the
versions of the compilers, numba's settings, and the versions of Python and of the driver. Within a folder, numba stores
a kernel for each combination of argument types and card. The KEYS most recent folders are kept.

Numba unpickles the files, so a folder is used only if no other user can write to it. If a file is damaged or the driver
refuses it, it is deleted, and the kernel is compiled and written again. Kernels with a closure are compiled in each
process, because numba identifies them by their closure cells, which differ from process to process.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import pickle
import re
import stat
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .compiler import cuda
from .driver import SETTINGS, STARTED, checked, driver

log = logging.getLogger(__name__)
KEYS = 16  # maximum number of folders
PACKAGE, PACKAGE_FOLDER = __name__.split(".")[0], Path(__file__).parents[1]
_WHEELS = ("nvvm", "nvjitlink", "cuda-nvcc", "cuda-nvrtc", "cuda-runtime", "cuda-cccl")
COMPILERS = (  # the distributions that machine code depends on; the wheels of CUDA 12 have other names
    *("numba-cuda", "numba", "llvmlite", "cuda-bindings", "cuda-core"),
    *(f"nvidia-{name}{of}" for name in _WHEELS for of in ("", "-cu12")),
)
KEY = re.compile("[0-9a-f]{32}")  # a folder's name
NUMBA_SUFFIXES = ".nbi", ".nbc"  # of numba's files


def enable(kernel) -> None:
    """Let numba load a kernel from disk, or write it there after compiling it."""
    function = kernel.py_func
    module = sys.modules.get(function.__module__)
    is_ours = module and module.__name__.split(".")[0] == PACKAGE and vars(module) is function.__globals__
    if is_ours and function.__closure__ is None and isinstance(kernel._cache, cuda.core.caching.NullCache) and folder():
        kernel._cache = _Cache(function)


class _Locator(cuda.core.caching._UserProvidedCacheLocator):
    """Name files by module and function. File names need no stamp of the source: the folder's key covers the source."""

    def __init__(self, py_func, py_file):
        self._cache_path, self._module = str(folder()), py_func.__module__

    @classmethod
    def from_function(cls, py_func, py_file):
        return cls(py_func, py_file)

    def get_source_stamp(self):
        return ""

    def get_disambiguator(self):
        return self._module


class _Impl(cuda.dispatcher.CUDACacheImpl):
    """Store numba's data for a kernel together with a digest of the data."""

    _locator_classes = [_Locator]  # noqa: RUF012

    def reduce(self, kernel):
        data = cuda.serialize.dumps(super().reduce(kernel))
        return self._digest(data), data

    def rebuild(self, target_context, reduced):
        digest, data = reduced
        if digest != self._digest(data):
            raise ValueError("the digest is wrong")
        return super().rebuild(target_context, pickle.loads(data))

    def _digest(self, data: bytes) -> str:
        return hashlib.sha256(self.filename_base.encode() + data).hexdigest()


class _Cache(cuda.dispatcher.CUDACache):
    """Numba's cache of one kernel. After an error in loading, the kernel is compiled."""

    _impl_class = _Impl

    def load_overload(self, sig, target_context):
        try:
            if found := self._load_overload(sig, target_context):  # skip numba's refresh (0.2 s)
                if found.argument_types != tuple(sig):  # two processes wrote at once
                    raise ValueError(f"it is for {found.argument_types}")
                found.bind()  # the driver loads the kernel
            return found
        except Exception as error:  # unpickling can raise any exception
            log.info("%s of %s is compiled, not loaded: %r", self._impl.filename_base, self.cache_path, error)
            with contextlib.suppress(OSError):
                for path in _files(Path(self.cache_path)):
                    if path.name.startswith(f"{self._impl.filename_base}."):
                        path.unlink()

    def save_overload(self, sig, data):
        log.info("compiled %s", self._py_func.__name__)
        at = Path(self.cache_path)
        try:
            _make(at)
            super().save_overload(sig, data)
            for path in _files(at):
                path.chmod(0o600)  # whatever the user's umask is
        except (OSError, pickle.PicklingError) as error:
            log.info("compiled kernels cannot be kept in %s: %s", at, error)


# The folder.


@cache
def folder() -> Path | None:
    """Return the folder of this process's kernels, or None if they cannot be cached.

    Log a warning if the reason is that another user can change the folder.
    """
    at = root()
    if not at or any(path.stat().st_mtime > STARTED for path in sources()):  # the imported code may be older
        return None
    at /= key()
    for path in (at.parent, at, *_files(at)):
        try:
            found = path.stat()
        except OSError:  # not made yet
            continue
        if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            log.warning(
                "%s: another user owns it or may write to it, so kernels are compiled in each process: delete it, use "
                "chown and chmod go-w, or set CUDA_SHORTEST_PATHS_CACHE to a folder of your own",
                path,
            )
            return None
    return at


def root() -> Path | None:
    """Return the folder that has the folders of all keys; None if the user has no home folder."""
    if own := os.environ.get("CUDA_SHORTEST_PATHS_CACHE"):
        return Path(own)
    if (caches := Path(os.environ.get("XDG_CACHE_HOME", ""))).is_absolute():
        return caches / "cuda_shortest_paths"
    try:
        return Path.home() / ".cache/cuda_shortest_paths"
    except RuntimeError:
        return None


def _files(at: Path) -> Iterator[Path]:
    """Yield numba's files in a folder."""
    with contextlib.suppress(OSError):
        yield from [path for path in at.iterdir() if path.suffix in NUMBA_SUFFIXES]


def _make(at: Path) -> None:
    """Make the folder of a key if it is missing, and delete numba's files of old keys."""
    if at.is_dir():
        return
    at.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    at.mkdir(mode=0o700, exist_ok=True)
    keys = [path for path in at.parent.iterdir() if KEY.fullmatch(path.name) and any(_files(path))]
    for old in sorted(keys, key=lambda path: -path.stat().st_mtime)[KEYS - 1 :]:
        for path in _files(old):
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # not empty
            old.rmdir()


# The key.


def key() -> str:
    """Return a digest of what the machine code of all kernels depends on."""
    return hashlib.sha256(json.dumps(parts_of_key(), sort_keys=True).encode()).hexdigest()[:32]


def parts_of_key() -> dict:
    """Return, by name, the values that `key` digests."""
    digest = hashlib.sha256()
    for path in sources():
        text = path.read_bytes()
        digest.update(f"{path.relative_to(PACKAGE_FOLDER).as_posix()} {len(text)}\n".encode() + text)
    return {
        "package": PACKAGE,
        "sources": digest.hexdigest(),
        "python": sys.version_info[:2],
        "compilers": {name: found for name in COMPILERS if (found := _version_of(name))},
        "settings": settings(),
        "driver": checked(driver.cuDriverGetVersion()),
    }


def sources() -> list[Path]:
    """Return the source files of this package."""
    return sorted(PACKAGE_FOLDER.rglob("*.py"))


def settings() -> dict[str, str]:
    """Return numba's settings: environment variables, and the configuration file in the working directory."""
    begins = "NUMBA_", "CUDA_HOME", "CUDA_PATH"
    found = {name: value for name, value in os.environ.items() if name.startswith(begins)}
    with contextlib.suppress(OSError, UnicodeError):
        found["file"] = SETTINGS.read_text(encoding="utf-8")
    return found


def _version_of(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""
