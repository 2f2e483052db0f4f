"""Machine code of the kernels that search from one source: the wheel has it, so that a first answer compiles nothing.

    python -m kernels.gpu.built FOLDER 9.0

compiles them for cards of a compute capability, without a card, into files that kernels/gpu/kept.py reads.
hatch_build.py runs it.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

from kernels.gpu import kept
from kernels.gpu.kept import Signature

SEARCH, PROBE, RESULTS = "kernels.fast.near_far_kernels", "kernels.fast.probe_kernels", "kernels.fast.results"
FLOATS = "kernels.fast.floats_kernels"
_TREE = "<u8[]", "<u4[]", "<i4[]", "<i4[]"
_ROWS = "<i4[]", "<i4[]", "<f8[]"
KERNELS = [
    Signature(SEARCH, "fill_rows", ("<i4[]", "<i4[]", "<i4[]", "<u4[]", "<i4[]", "<i4[]", "<u8[]", "<u4[]")),
    Signature(SEARCH, "set_links", ("<u4[]", "<u8[]", "<i4[]", "<i4[]", "<i4[]", "<u4", "<u8[]", "<u4[]")),
    Signature(SEARCH, "initialise", ("<u4", "<u8[]", "<i4[]", "<i4[]", "<u4[]")),
    Signature(SEARCH, "search", ("<u4", "<u4", "<u8", "<u4", "<u4", "<u8[]", "<u4[]", "<i4[]", "<u8[]", "<u4[]")),
    Signature(SEARCH, "find_predecessors", _TREE),
    Signature(SEARCH, "start_zero_arcs", ("<u4", *_TREE, "<u8[]", "<u4[]")),
    Signature(SEARCH, "follow_zero_arcs", ("<u4", *_TREE, "<u8[]", "<u4[]")),
    Signature(SEARCH, "find_too_long", ("<u8[]", "<u4[]", "<i4[]", "<u4[]")),
    Signature(PROBE, "clear", ("<i4[]",)),
    Signature(PROBE, "walk", ("<u4", "<u4", "<u4", "<u8[]", "<i4[]", "<u8[]", "<u4[]")),
    Signature(RESULTS, "as_scipy", ("<i4[]", "<i4[]", "<f8[]")),
    Signature(FLOATS, "set_bounds", ("<f8[]", "<i4[]", "<f8[]", "<u4[]", "<i4[]")),
    Signature(FLOATS, "start", ("<u4[]", "<f8[]", "<i4[]", "<u4[]")),
    Signature(FLOATS, "relax", ("<u4", "<u4", *_ROWS, "<f8[]", "<u4[]", "<u4[]", "<u4[]")),
    Signature(FLOATS, "follow_ties", ("<u4", "<u4", *_ROWS, "<f8[]", "<i4[]", "<u4[]", "<u4[]")),
    Signature(FLOATS, "find_tree", ("<u4", "<f8[]", *_ROWS, "<f8[]", "<i4[]")),
]


def build(folder: Path, capability: tuple[int, int]) -> None:
    """Compile KERNELS; write a file each. Once in a process.

    Raises RuntimeError for a numba-cuda that may pass arguments otherwise: only a card can show it (kept.py).
    """
    from numba.cuda import codegen, dispatcher

    from kernels.gpu import internals

    if (found := version("numba-cuda")) != internals.WRITTEN_FOR:
        raise RuntimeError(f"machine code is built with numba-cuda {internals.WRITTEN_FOR}, not {found}")
    # Three things ask for a card: compiling what a kernel calls, linking, and a kernel, which binds itself to it.
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
    code_for = *capability, "a" if capability == (9, 0) else ""  # "a": for it alone, as numba links it
    codegen.CUDACodeLibrary._ensure_cc = lambda library, given: given or code_for
    dispatcher._Kernel.bind = lambda kernel: None
    for signature in KERNELS:
        path = kept.built_path(*signature, capability)
        written = folder / path.relative_to(kept.BUILT)
        kept.write(written, kept.by_numba(*signature))
        if not written.exists():
            raise OSError(f"{written} cannot be written")


if __name__ == "__main__":
    major, minor = map(int, sys.argv[2].split("."))
    build(Path(sys.argv[1]), (major, minor))
