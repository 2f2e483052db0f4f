"""Compiled kernels, kept on disk: a later process loads them without importing the compiler.

They are kept in CUDA_SHORTEST_PATHS_CACHE, else in cuda_shortest_paths in XDG_CACHE_HOME or ~/.cache. There a folder
for each key has a file for each kernel and each combination of its arguments' types. The key is a digest of all that
the machine code depends on: the source of the kernels' module and of all modules of this package that it imports, the
versions of numba-cuda and of what compiles for it, numba's settings, the card's compute capability and the driver's
version. If one of them changes, there is another key; the KEYS folders that were written to last stay.
If a file cannot be read, is damaged or is refused by the driver, the kernel is compiled again. If the folder cannot be
written to, or if another user can change a file in it, each process compiles its kernels.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import logging
import os
import re
import stat
import sys
import tempfile
import time
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import numpy as np
from cuda.bindings import driver

from kernels.gpu.driver_api import Device, DriverRun, checked

log = logging.getLogger(__name__)
FORMAT = 1  # of the files
KEYS = 16  # folders that stay
PACKAGE, ROOT = __name__.split(".")[0], Path(__file__).parents[1]
IMPORT = re.compile(rb"^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)", re.MULTILINE)
_WHEELS = ("nvvm", "nvjitlink", "cuda-nvcc", "cuda-nvrtc", "cuda-runtime", "cuda-cccl")
COMPILERS = (  # the distributions that machine code depends on; of CUDA 12 the wheels have another name
    *("numba-cuda", "numba", "llvmlite", "cuda-bindings", "cuda-core"),
    *(f"nvidia-{name}{of}" for name in _WHEELS for of in ("", "-cu12")),
)
# The second line of a file; the first is the digest of all that follows.
HEAD = re.compile(rb'\{"entry": "([\w$]+)", "cooperative": (true|false)\}')
HEX = "[0-9a-f]" * 32  # a digest, as a pattern of file names
_STARTED = time.time()
_WARNED: set[Path] = set()  # folders


class Compiled(NamedTuple):
    """entry: the kernel's name in the machine code. cooperative: whether all blocks must be on the card at once."""

    entry: str
    cooperative: bool
    code: bytes


class Kernels:
    """In the place of a module of kernels: its attributes are kernels that kernels.gpu.driver_api.DriverRun launches.

    module: its full name. constants: attributes of the module that are no kernels.
    """

    def __init__(self, module: str, **constants):
        self._module = module
        vars(self).update(constants)

    def __getattr__(self, name: str) -> Kernel:
        kernel = Kernel(self._module, name)
        setattr(self, name, kernel)
        return kernel


class Kernel:
    """A kernel of a module, compiled for all types of arguments that it is launched with."""

    def __init__(self, module: str, name: str):
        self.module, self.name, self._loaded = module, name, {}

    def loaded(self, device: Device, kinds: tuple[str, ...]) -> tuple:
        """The driver's handle of the kernel for these types of arguments, and whether its launch is cooperative."""
        if (device.number, kinds) not in self._loaded:
            self._loaded[device.number, kinds] = self._load(device, kinds)
        handle, cooperative, _ = self._loaded[device.number, kinds]
        return handle, cooperative

    def _load(self, device: Device, kinds: tuple[str, ...]) -> tuple:
        """Load what is on the disk; else compile it, write it there and load it."""
        path = path_of(self.module, self.name, kinds, device.capability)
        if path and not is_private(path):
            path = None
        if path and (found := load_file(path)):
            return found
        check_arguments(device)
        log.info("compiling %s", self.name)
        compiled = by_numba(self.module, self.name, kinds)
        if path and not changed_since(_STARTED, self.module):
            write(path, compiled)
        return load(compiled)


def load(compiled: Compiled) -> tuple:
    """The driver's handle of compiled code, whether its launch is cooperative, and what must live as long."""
    library = checked(driver.cuLibraryLoadData(compiled.code, [], [], 0, [], [], 0))
    handle = checked(driver.cuLibraryGetKernel(library, compiled.entry.encode()))
    return int(handle), compiled.cooperative, library


def load_file(path: Path) -> tuple | None:
    """Load what `write` wrote; None if there is nothing, if it is damaged or if the driver refuses it."""
    if found := read(path):
        try:
            return load(found)
        except RuntimeError as error:
            log.info("%s is not for this card or driver, so its kernel is compiled: %s", path, error)
    return None


def by_numba(module: str, name: str, kinds: tuple[str, ...]) -> Compiled:
    """Compile a kernel for the card of the context."""
    import numba

    def of(kind: str):
        number = numba.from_dtype(np.dtype(kind.removesuffix("[]")))
        return numba.types.Array(number, 1, "C") if kind.endswith("[]") else number

    kernel = getattr(importlib.import_module(module), name).compile(tuple(map(of, kinds)))
    return Compiled(kernel.entry_name, bool(kernel.cooperative), bytes(kernel._codelibrary.get_cubin().code))


@cache
def check_arguments(device: Device) -> None:
    """Launch a kernel that writes down its arguments. Raise RuntimeError where they arrive changed: numba passes them
    otherwise than driver_api.as_passed.

    Done where a kernel is compiled: the key of what is kept has the versions that this depends on.
    """
    from kernels.gpu import internals

    run = DriverRun(device)
    (arrived,) = run.upload(np.zeros_like(internals.EXPECTED))
    arguments = *(run.upload(a)[0] if a.ndim else a for a in internals.ECHOED), arrived
    run.launch((_Echo(), 1, 1, arguments))
    internals.check_echo(arrived.copy_to_host())


class _Echo:
    """The kernel that writes down its arguments, which is not kept."""

    def loaded(self, device: Device, kinds: tuple[str, ...]) -> tuple:
        handle, cooperative, self.library = load(by_numba(f"{__package__}.internals", "echo", kinds))
        return handle, cooperative


# The key.


@cache
def key_of(module: str, capability: tuple[int, int]) -> str:
    """A digest of what the machine code of a module's kernels depends on."""
    return _digest(parts_of_key(module, capability))


def parts_of_key(module: str, capability: tuple[int, int]) -> dict:
    """What key_of digests, by name."""
    return {
        "format": FORMAT,
        "module": module,
        "source": source_digest(module),
        "capability": capability,
        "python": sys.version_info[:2],
        "compilers": {name: found for name in COMPILERS if (found := _version(name))},
        "settings": settings(),
        "driver": checked(driver.cuDriverGetVersion()),
    }


def settings() -> dict[str, str]:
    """What numba reads besides the source: variables of the environment, and its file in the working directory."""
    begins = "NUMBA_", "CUDA_HOME", "CUDA_PATH"
    found = {name: value for name, value in os.environ.items() if name.startswith(begins)}
    with contextlib.suppress(OSError, UnicodeError):
        found["file"] = Path(".numba_config.yaml").read_text()
    return found


@cache
def source_digest(module: str) -> str:
    """A digest of the source of a module and of all modules of this package that it imports."""
    found = hashlib.sha256()
    for path in sources(module):
        text = path.read_bytes()
        found.update(f"{path.relative_to(ROOT).as_posix()} {len(text)}\n".encode() + text)
    return found.hexdigest()


def sources(module: str) -> list[Path]:
    """The files of a module and of all modules of this package that it may import, sorted."""
    found = [ROOT.joinpath(*module.split(".")[1:]).with_suffix(".py")]
    for path in found:  # which grows
        for dots, name, names in IMPORT.findall(path.read_bytes()):
            parts = name.decode().split(".") if name else []
            if dots:
                folder = path.parents[len(dots) - 1]
            elif parts and parts[0] == PACKAGE:
                folder, parts = ROOT, parts[1:]
            else:
                continue
            at = folder.joinpath(*parts)
            files = [at / f"{word.decode()}.py" for word in re.findall(rb"\w+", names)]
            files += [at.with_suffix(".py")] if parts else []
            found += {file for file in files if file.is_file()}.difference(found)
    return sorted(found)


def changed_since(when: float, module: str) -> bool:
    """Whether a source has changed since then, so that it may not be what was imported."""
    return any(path.stat().st_mtime > when for path in sources(module))


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


def _digest(value) -> str:
    """Of what JSON can express."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


# The disk.


def root() -> Path | None:
    """The folder of all that is kept; None where there is no home."""
    if own := os.environ.get("CUDA_SHORTEST_PATHS_CACHE"):
        return Path(own)
    if (caches := Path(os.environ.get("XDG_CACHE_HOME", ""))).is_absolute():
        return caches / "cuda_shortest_paths"
    try:
        return Path.home() / ".cache/cuda_shortest_paths"
    except RuntimeError:
        return None


def path_of(module: str, name: str, kinds: tuple[str, ...], capability: tuple[int, int]) -> Path | None:
    """Where a kernel for arguments of these types is kept; None where there is no home."""
    folder = folder_of(key_of(module, capability))
    return folder and folder / f"{name}-{_digest(kinds)}"


def folder_of(key: str) -> Path | None:
    """Where what has this key is kept."""
    return (at := root()) and at / key


def is_private(path: Path) -> bool:
    """Whether no other user can change a file, its folder or the cache's folder. If one can, warn once."""
    folder = path.parents[1]
    for one in (folder, path.parent, path):
        try:
            found = one.stat()
        except OSError:  # `write` makes what is missing
            continue
        if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            log.log(
                logging.INFO if folder in _WARNED else logging.WARNING,
                "%s: another user owns it or may write to it, so kernels are compiled in each process: delete it, use "
                "chown and chmod go-w, or set CUDA_SHORTEST_PATHS_CACHE to a folder of your own",
                one,
            )
            _WARNED.add(folder)
            return False
    return True


def read(path: Path) -> Compiled | None:
    """Read what `write` wrote; None if there is nothing, or something else."""
    try:
        digest, _, rest = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    head, _, code = rest.partition(b"\n")
    found = HEAD.fullmatch(head)
    if not found or digest != hashlib.sha256(rest).hexdigest().encode():
        log.info("%s is damaged, or no compiled kernel", path)
        return None
    return Compiled(found[1].decode(), found[2] == b"true", code)


def write(path: Path, compiled: Compiled) -> None:
    """Write a file at once, whatever other processes do. A folder that cannot be written to is no error."""
    head = {"entry": compiled.entry, "cooperative": compiled.cooperative}
    rest = json.dumps(head).encode() + b"\n" + compiled.code
    temporary = None
    try:
        path.parents[1].mkdir(mode=0o700, parents=True, exist_ok=True)
        is_new = not path.parent.is_dir()
        path.parent.mkdir(mode=0o700, exist_ok=True)
        number, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
        with open(number, "wb") as file:
            file.write(hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest)
        os.replace(temporary, path)
        if is_new:
            _forget(path.parents[1])
    except OSError as error:
        log.info("compiled kernels cannot be kept in %s: %s", path.parent, error)
        if temporary:
            Path(temporary).unlink(missing_ok=True)


def _forget(folder: Path) -> None:
    """Delete the kernels of all keys but the KEYS that were written to last. What `read` refuses stays."""
    written: dict[Path, list[Path]] = {}
    for path in folder.glob(f"{HEX}/*-{HEX}"):
        if read(path):
            written.setdefault(path.parent, []).append(path)
    for key in sorted(written, key=lambda key: -key.stat().st_mtime)[KEYS:]:
        for path in written[key]:
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # it holds something else
            key.rmdir()
