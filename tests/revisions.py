"""Digests of the kernels' PTX for compute capability 9.0, compared with kernels/revisions.csv; needs no GPU.

    python -m tests.revisions              list the recorded variants whose PTX differs
    python -m tests.revisions --record     write kernels/revisions.csv anew

The digests are those of the locked CUDA 13 compilers. Kernels are compiled as they are measured: with the default
block and tile, on an H200's shared memory and multiprocessors, for weights above 0, directed and undirected graphs,
and work in shared and in global memory.
"""

import argparse
import csv
import hashlib
import io
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np

from kernels.fast import blocked_floyd_warshall, multi_source, near_far_layout
from kernels.fast.hierarchy import all_pairs
from kernels.gpu import card
from kernels.gpu.compiler import cuda
from kernels.graph import Graph
from kernels.registry import ALL_PAIRS_REVISION, VARIANTS, Variant
from kernels.run import Result
from tests.support.recorder import Recorder, path

FILE = Path(__file__).parents[1] / "kernels" / "revisions.csv"
COLUMNS = ("variant", "revision", "ptx_sha256")
CAPABILITY = (9, 0)
ALL_PAIRS = "hierarchy/all_pairs"  # what ALL_PAIRS_REVISION is of


class H200(Recorder):
    """Record launches as on an H200."""

    multiprocessors = property(lambda self: 132)
    shared_limit = property(lambda self: 232_384 if self.shared is None else self.shared)


@cache
def compiled(function, types: tuple, capability: tuple[int, int]) -> str:
    """Return a kernel's PTX. A kernel that calls a device function asks for the present card, which need not be."""
    present = SimpleNamespace(compute_capability=capability)
    with patch.object(cuda.dispatcher, "get_current_device", lambda: present):
        return cuda.compile_ptx(function, types, cc=capability)[0]


def digest(ptx: str) -> str:
    """Return the SHA-256 of PTX without comments, names, environments and declarations of external functions.

    Names of functions and shared arrays have counters that depend on what was compiled before; declarations have no
    fixed order. An environment is a word that numba declares for each device function and no code uses.
    """
    numbers: dict[str, int] = {}
    text = re.sub(r"//[^\n]*", "", ptx)
    text = re.sub(r"\.extern \.func.*?;", "", text, flags=re.DOTALL)
    text = re.sub(r"\.common \.global \.align 8 \.u64 _ZN08NumbaEnv\w+;", "", text)
    text = re.sub(r"_Z\w+|_cudapy_\w+", lambda name: f"_{numbers.setdefault(name[0], len(numbers))}", text)
    return hashlib.sha256("\n".join(text.split()).encode()).hexdigest()


def measured_graphs(variant: str) -> Iterator[Graph]:
    """Yield graphs that make a variant launch all kernels that are measured."""
    tails = np.repeat([0, 1], near_far_layout.WIDTHS[-1] + 1)  # more arcs than a row of near_far has
    for directed in (True, False):
        yield Graph.from_arcs(2, tails, 1 - tails, np.ones(len(tails), np.int32), directed=directed)
    if variant.startswith("hierarchy/"):
        yield path(600, directed=False)  # several levels of fragments, the first with bands


def launch(variant: Variant) -> None:
    for shared in (None, 0) if not variant.key.startswith("hierarchy/") else (None,):
        for large in (near_far_layout.LARGE, 1):  # with 1, near_far numbers vertices by degree
            with patch.multiple(near_far_layout, LARGE=large, HUBS=1):
                for graph in measured_graphs(variant.key):
                    variant.function(graph, Result.poisoned(variant.problem, graph.vertices), H200(shared=shared))


def launch_all_pairs() -> None:
    """Launch the kernels of all_pairs.py: rows, results of each source, and sums over sources."""
    for graph in measured_graphs(ALL_PAIRS):
        sources = np.arange(graph.vertices)
        rows = all_pairs.ManySourceSearch(graph, reduces=False, run=H200())
        for _ in all_pairs.matrix_pieces(rows, sources):
            rows.rows(np.arange(1))
        all_pairs.sums_over_sources(rows, sources)
        for _ in all_pairs.ManySourceSearch(graph, reduces=True, run=H200()).pieces(sources):
            pass


def current() -> dict[tuple[str, str, str], str]:
    """Compile the kernels of every GPU variant; return the kernel's name by variant, revision and digest."""
    found, digests = {}, {}
    todo = [(v.key, v.revision, lambda v=v: launch(v)) for v in VARIANTS.values() if v.on_gpu]
    with ExitStack() as patches:
        patches.enter_context(patch.object(card, "gpu_visible", lambda: False))  # also on a machine with a GPU
        for module in (multi_source, blocked_floyd_warshall):
            patches.enter_context(patch.object(module, "has_16_bit_pair_minimum", lambda: True))
        for key, revision, launches in [*todo, (ALL_PAIRS, ALL_PAIRS_REVISION, launch_all_pairs)]:
            H200.launched = {}
            launches()
            for (kernel, types), function in H200.launched.items():
                if (kernel, types) not in digests:
                    digests[kernel, types] = digest(compiled(function, types, CAPABILITY))
                found[key, str(revision), digests[kernel, types]] = function.__name__
    return found


def recorded() -> set[tuple[str, str, str]]:
    """Return the rows of kernels/revisions.csv."""
    with open(FILE, newline="", encoding="utf-8") as file:
        return {tuple(row[column] for column in COLUMNS) for row in csv.DictReader(file)}


def differences(found: dict[tuple[str, str, str], str], expected: set[tuple[str, str, str]]) -> list[str]:
    """Return a line for each recorded variant whose rows differ, with the kernels that are new."""
    lines, known = [], {row[0] for row in expected}
    for variant in sorted({row[0] for row in set(found) ^ expected} & known):
        new = [found[row] for row in found if row[0] == variant and row not in expected]
        gone = sum(row[0] == variant and row not in found for row in expected)
        lines.append(f"{variant}: new PTX of {', '.join(new) or 'no kernel'}; {gone} recorded digests are gone")
    return lines


def text(found: dict[tuple[str, str, str], str]) -> str:
    """Return kernels/revisions.csv."""
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator="\n").writerows([COLUMNS, *sorted(found)])
    return file.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--record", action="store_true", help="write kernels/revisions.csv anew")
    if parser.parse_args().record:
        FILE.write_text(text(current()), encoding="utf-8")
    elif lines := differences(current(), recorded()):
        sys.exit(
            "\n".join(lines) + "\n\nIf a measured time can change, raise the variant's `revision` in "
            "kernels/registry.py. Then, or if only the compiler's version changed, record the digests: "
            "python -m tests.revisions --record"
        )


if __name__ == "__main__":
    main()
