"""Reading the arrays of an .npz file that may be damaged: a packed graph or a prepared hierarchy."""

from __future__ import annotations

import errno
import textwrap
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from kernels import memory
from kernels.errors import InputError


@contextmanager
def reading(path, what: str, advice: str, most: int | None = None) -> Iterator[Callable[[str], np.ndarray]]:
    """Give a function that reads an array by its name; object arrays are refused.

    what: what the file should be, for messages ("a packed graph"). advice: what to do about any other file. most: the
    limit, in bytes, of all arrays by the sizes that the file states; the host's memory is a limit too. An error in the
    body also becomes an InputError, so check the arrays there.
    """
    try:
        with zipfile.ZipFile(path) as file:  # no member is read beyond the size in its directory
            needed = sum(member.file_size for member in file.infolist())
            if most is not None and needed > most:
                raise ValueError(f"{needed:,} bytes, at most {most:,} expected")
            if needed <= memory.host_memory():
                yield lambda name: _read(file, name)
                return
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except Exception as error:  # zipfile, its decompressors and NumPy raise almost any type for damaged bytes
        number = getattr(error, "errno", None)
        if number not in (None, errno.EINVAL):  # EINVAL: a damaged file asks for a place before its start
            raise InputError(f"{path}: cannot be read: {error.strerror}") from None
        reason = textwrap.shorten((str(error) or type(error).__name__).splitlines()[0], 300)
        raise InputError(f"{path}: not {what} ({reason}): {advice}") from error
    raise memory.too_much(needed, f"{path}: {what} of this size takes", memory.ADVICE)


def _read(file: zipfile.ZipFile, name: str) -> np.ndarray:
    with file.open(f"{name}.npy") as member:
        array = np.lib.format.read_array(member, allow_pickle=False)
        if member.read(1):  # also compares the checksum, which is done at the end
            raise ValueError(f"{name} is longer than its header says")
    return array
