"""Check whether numba-cuda-mlir can replace numba-cuda (docs/design.md). Needs both packages in one environment.

    python -m benchmarks.compiler_trial              inspect PTX for compute capability 9.0; needs no GPU
    python -m benchmarks.compiler_trial nyc.npz      also time near_far on this graph, and blocked; needs a GPU

Each compiler runs in a process of its own and takes the place of kernels/gpu/compiler.py there. Prints a line for each
point with the result of both compilers. The exit status is 1 if a point does not hold for numba-cuda-mlir.
"""

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from statistics import median
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

CAPABILITY = (9, 0)
MLIR = "numba_cuda_mlir"
# The module of numba-cuda-mlir for each name of kernels/gpu/compiler.py except cuda.
MODULES = {
    **dict.fromkeys(("types", "int32", "uint8", "uint32", "uint64"), f"{MLIR}.cuda"),
    "typeof": f"{MLIR}.numba_cuda.typing.typeof",
    "intrinsic": f"{MLIR}.numba_cuda.extending",
    "as_dtype": f"{MLIR}.numba_cuda.np.numpy_support",
}
KERNELS = {"delta_stepping/near_far": ["search"], "floyd_warshall/blocked": ["panel", "trailing"]}  # compared
cuda: Any = None  # of the compiler that runs; a global name, because the simulator replaces it during a launch
MOST = 1.1  # numba-cuda-mlir may take this many times the instructions or seconds of numba-cuda
VERTICES, REPEATS = 4096, 5  # of the random graph of blocked; timed runs of a variant
SIGNED = r"\.s(32|64)\b"


def main(words: list[str]) -> int:
    """Compare the compilers; return the exit status."""
    old, new = (points_of(compiler, words) for compiler in ("numba-cuda", "numba-cuda-mlir"))
    failed = 0
    for point, before in old.items():
        after = new[point]
        good = after == "ok" if isinstance(before, str) else not isinstance(after, str) and after <= MOST * before
        failed += not good
        print(f"{'ok  ' if good else 'FAIL'}  {point}: numba-cuda {before}, numba-cuda-mlir {after}")
    print(f"{failed} of {len(old)} points do not hold")
    return int(failed > 0)


def points_of(compiler: str, words: list[str]) -> dict[str, str | float]:
    """Return a compiler's result at each point, found in processes of their own: "ok", a number or an error."""
    simulating = {"NUMBA_ENABLE_CUDASIM": "1", "CUDA_VISIBLE_DEVICES": "-1"}
    found: dict[str, str | float] = {}
    for task, environment in (("card", {}), ("simulator", simulating)):
        command = [sys.executable, "-m", "benchmarks.compiler_trial", *words, "--task", task, "--compiler", compiler]
        ran = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
        if ran.returncode:
            sys.exit(f"compiler_trial: {compiler}: {ran.stderr.strip()}")
        found |= json.loads(ran.stdout.splitlines()[-1])
    return found


def attempt(task: Callable[[], Any]) -> Any:
    """Return what the task returns, or its error in a line: a compiler may raise any exception."""
    try:
        return task()
    except Exception as error:
        said = " ".join(str(error).split())
        return f"{type(error).__name__}: {said[:300]}"


def use(compiler: str) -> ModuleType:
    """Let the project take a compiler; return the module in place of kernels/gpu/compiler.py."""
    if compiler == "numba-cuda-mlir":
        seam = ModuleType("kernels.gpu.compiler")
        vars(seam).update({name: getattr(importlib.import_module(module), name) for name, module in MODULES.items()})
        vars(seam).update(cuda=importlib.import_module(f"{MLIR}.cuda"), SIMULATED=False)
        sys.modules["kernels.gpu.compiler"] = seam
    return importlib.import_module("kernels.gpu.compiler")


def simulated(compiler: str) -> dict[str, str]:
    """Run a kernel without a card."""

    def run() -> str:
        global cuda
        cuda, array = use(compiler).cuda, np.zeros(4, np.int32)

        @cuda.jit
        def number(out):
            out[cuda.threadIdx.x] = cuda.threadIdx.x

        number[1, 4](array)
        return "ok" if array.tolist() == [0, 1, 2, 3] else f"wrong: {array.tolist()}"

    return {"simulator": attempt(run)}


def on_card(compiler: str, graph: Path | None) -> dict[str, str | float]:
    """Inspect the PTX of small kernels and of KERNELS; time the variants if a graph is given."""
    seam = use(compiler)
    found: dict[str, str | float] = {}
    with for_capability(compiler):
        for point, probe in probes(seam).items():
            found[point] = attempt(partial(inspect, seam.cuda, *probe))
        for key, names in KERNELS.items():
            counts = attempt(partial(instructions, seam.cuda, key))
            for name in names:
                found[f"instructions of {name}"] = counts[name] if isinstance(counts, dict) else counts
    if graph:
        for key in KERNELS:
            found[f"seconds of {key}"] = attempt(partial(seconds, key, graph))
    return found


def for_capability(compiler: str) -> AbstractContextManager:
    """Return a context in which kernels are compiled for CAPABILITY without asking for a card."""
    if compiler == "numba-cuda-mlir":
        return patch(f"{MLIR}.tools.get_gpu_compute_capability", lambda *_: CAPABILITY)
    card = SimpleNamespace(compute_capability=CAPABILITY)
    return patch("numba.cuda.dispatcher.get_current_device", lambda: card)


def probes(seam: ModuleType) -> dict[str, tuple]:
    """Return for each point a kernel, its types, and patterns of PTX that it must have and must not have."""
    cuda, words = seam.cuda, seam.uint32[::1]

    def least(a, out):
        out[0] = min(a[0], a[1])

    def most(a, out):
        out[0] = max(a[0], a[1])

    def atomic_least(a, out):
        cuda.atomic.min(out, 0, a[0])

    def atomic_most(a, out):
        cuda.atomic.max(out, 0, a[0])

    def atomic_in_shared(a, out):
        sums = cuda.shared.array(64, seam.uint32)
        cuda.atomic.add(sums, a[0], np.uint32(1))
        cuda.syncthreads()
        out[0] = sums[a[1]]

    @cuda.jit(device=True)
    def add_one(sums, i):
        cuda.atomic.add(sums, i, np.uint32(1))

    def atomic_in_function(a, out):
        sums = cuda.shared.array(64, seam.uint32)
        add_one(sums, a[0])
        cuda.syncthreads()
        out[0] = sums[a[1]]

    def index(a, out):
        out[0] = a[a[0]]

    two, in_shared = (words, words), (r"(atom|red)\.\S*shared", r"(atom|red)\.\S*global")
    return {
        "min of unsigned integers": (least, two, r"(min|setp\.\w+)\.u(32|64)", rf"(min|setp\.\w+){SIGNED}"),
        "max of unsigned integers": (most, two, r"(max|setp\.\w+)\.u(32|64)", rf"(max|setp\.\w+){SIGNED}"),
        "atomic min of unsigned integers": (atomic_least, two, r"(atom|red)\.\S*min\.u32", rf"min{SIGNED}"),
        "atomic max of unsigned integers": (atomic_most, two, r"(atom|red)\.\S*max\.u32", rf"max{SIGNED}"),
        "atomics on shared arrays": (atomic_in_shared, two, *in_shared),
        "atomics on shared arrays in device functions": (atomic_in_function, two, *in_shared),
        "unsigned indices": (index, two, r"\.u32\b", r"(ld\.\S+|cvt\.s64|mul\.wide)\.s32\b"),
    }


def inspect(cuda: Any, kernel: Callable, types: tuple, needed: str, refused: str) -> str:
    """Compile a kernel; return "ok", or what is wrong in its PTX."""
    ptx = cuda.compile_ptx(kernel, types, cc=CAPABILITY)[0]
    if wrong := re.search(rf"^.*\b{refused}.*$", ptx, re.MULTILINE):
        return f"has {wrong[0].strip()}"
    return "ok" if re.search(rf"\b{needed}", ptx) else f"lacks {needed}"


def instructions(cuda: Any, key: str) -> dict[str, int]:
    """Return by name the number of PTX instructions of the kernels that a variant launches; of one name, the most."""
    from kernels.registry import VARIANTS
    from tests import revisions

    revisions.H200.launched = {}
    revisions.launch(VARIANTS[key])
    counts: dict[str, int] = {}
    for (_, types), function in revisions.H200.launched.items():
        if function.__name__ in KERNELS[key]:
            ptx = cuda.compile_ptx(function, types, cc=CAPABILITY)[0]
            count = len(re.findall(r"^\s+(?:@!?%\w+ +)?[a-z][\w.:]*\s[^\n]*;$", ptx, re.MULTILINE))
            counts[function.__name__] = max(count, counts.get(function.__name__, 0))
    return counts


def seconds(key: str, path: Path) -> float:
    """Return the median time of a variant's kernels: near_far on a graph, blocked on a random one."""
    from kernels import harness
    from kernels.graph import Graph
    from kernels.io import read_graph
    from kernels.registry import VARIANTS

    variant = VARIANTS[key]
    if variant.problem == "sssp":
        graph = read_graph(path)
    else:
        random = np.random.default_rng(0)
        ends = random.integers(0, VERTICES, (2, 8 * VERTICES))
        graph = Graph.from_arcs(VERTICES, ends[0], ends[1], random.integers(1, 100, 8 * VERTICES))
    runs = [harness.run_once(variant, graph, harness.RunSettings())[0] for _ in range(REPEATS)]
    return median(run.phases["kernels"] for run in runs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("graph", type=Path, nargs="?", help="the graph on which near_far is timed")
    parser.add_argument("--task", choices=["card", "simulator"], help=argparse.SUPPRESS)
    parser.add_argument("--compiler", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.task is None:
        sys.exit(main([str(args.graph)] if args.graph else []))
    print(json.dumps(simulated(args.compiler) if args.task == "simulator" else on_card(args.compiler, args.graph)))
