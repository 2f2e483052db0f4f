"""GPU variants under compute-sanitizer's memcheck and racecheck, on small graphs; each result is checked.

make sanitize
make sanitize ARGS="near_far edge/"
make sanitize ARGS="--tool racecheck floyd_warshall"
"""

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from kernels.gpu import card
from kernels.registry import VARIANTS, Variant
from tests.support import graphs
from tests.support.graphs import near_far_with, solve

ROOT = Path(__file__).parents[1]
TOOLS = {"memcheck": ("--leak-check", "no"), "racecheck": ("--racecheck-report", "all")}
BLOCKED = ("floyd_warshall/blocked", "floyd_warshall/blocked16", "floyd_warshall/staged")
MULTI_SOURCE, NEAR_FAR = "bellman_ford/multi_source_apsp", "delta_stepping/near_far"
BLOCK_PER_SOURCE = ("edge/sssp", "edge/apsp", "dijkstra/block_apsp", "delta_stepping/block_apsp")
OFTEN = {"MIN_QUEUE": 4, "CROWDED": 2, "DIRECT": 4, "PATIENCE": 1}  # short queues, and blocks that meet often


def runs(variant: Variant) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the names and runs of what a variant is run on."""

    def on(make, n, run_as=variant, **settings):
        return lambda: solve(run_as, make(n), runs=1, **settings)

    def free(make):
        return lambda n: make(n, np.arange(2))

    yield "one vertex", on(graphs.lone, 1)
    yield "sparse", on(graphs.sparse, 150)
    yield "hubs", on(graphs.hubs, 100)
    yield "path", on(graphs.path, 70)
    yield "grid", on(graphs.grid, 81)
    yield "funnel", on(graphs.funnel, 150)
    if variant.key in (*BLOCKED, MULTI_SOURCE, NEAR_FAR):
        yield "hubs, half free", on(free(graphs.hubs), 150)
        yield "grid, half free", on(free(graphs.grid), 81)
        yield "cycles of weight 0", on(graphs.free_cycles, 100)
        yield "chain of free hubs", on(graphs.free_hubs, 148)
    if variant.key in (*BLOCK_PER_SOURCE, MULTI_SOURCE):
        yield "in global memory", on(graphs.sparse, 150, shared=0)
        yield "undirected, in global memory", on(graphs.grid, 81, shared=0)
        yield "few blocks", on(graphs.hubs, 100, grid=3)
    if variant.key == MULTI_SOURCE:
        yield "16 and 32 bits", on(graphs.narrow_path, 70)
        yield "64 bits in global memory", on(graphs.free_hubs, 148, shared=0)
    if variant.key == "hierarchy/sssp":
        yield "arcs of two ancestors at a time", on(graphs.grid, 81, shared=0)
    if variant.key == NEAR_FAR:
        often = replace(variant, function=near_far_with(**OFTEN).sssp)
        for make in (graphs.sparse, graphs.funnel, free(graphs.hubs), graphs.free_hubs):
            yield "meetings", on(make, 148, often, shared=0, delta=50)
        by_degree = replace(variant, function=near_far_with(LARGE=1, HUBS=1, WIDTHS=(8,), DIRECT=4).sssp)
        yield "by degree, wide rows", on(free(graphs.hubs), 148, by_degree)
    if variant.key in BLOCKED:
        yield "three tiles and more", on(graphs.sparse, 400)
        yield "seven small tiles", on(graphs.sparse, 26, tile=4)
        yield "seven small tiles, far", on(graphs.narrow_path, 26, tile=4)


def run_all(variants: list[Variant]) -> int:
    """Run the variants, print a line for each, and return how many gave a wrong answer."""
    wrong = 0
    for variant in variants:
        started, said = time.perf_counter(), []
        for name, run in runs(variant):
            try:
                run()
            except AssertionError as error:
                said.append(f"WRONG on {name}: {error}")
        print(f"{variant.key}: {'; '.join(said) or 'right'}, {time.perf_counter() - started:.1f} s", flush=True)
        wrong += bool(said)
    return wrong


def chosen(parts: list[str]) -> list[Variant]:
    """Return the GPU variants whose names contain one of these parts; all without parts."""
    found = [v for v in VARIANTS.values() if v.on_gpu and (not parts or any(part in v.key for part in parts))]
    if not found:
        sys.exit(f"sanitize: no GPU variant's name holds {' or '.join(parts)}")
    return found


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="of the names of the variants to run; all without one")
    parser.add_argument("--tool", choices=TOOLS, help="only this one")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)  # what compute-sanitizer starts
    args = parser.parse_args(words)
    variants = chosen(args.parts)
    if args.inside:
        sys.exit(run_all(variants) > 0)
    sanitizer = shutil.which("compute-sanitizer")
    if sanitizer is None:
        sys.exit("sanitize: there is no compute-sanitizer on PATH: it comes with the CUDA toolkit")
    if not card.gpu_visible():
        sys.exit("sanitize: no GPU is visible: check nvidia-smi and CUDA_VISIBLE_DEVICES")
    failed = []
    for tool in [args.tool] if args.tool else TOOLS:
        print(f"{tool}: {len(variants)} variants", flush=True)
        inside = [sys.executable, "-m", "tests.sanitize", "--inside", *args.parts]
        ran = subprocess.run([sanitizer, "--tool", tool, *TOOLS[tool], "--error-exitcode", "1", *inside], cwd=ROOT)
        failed += [tool] * (ran.returncode != 0)
    if failed:
        sys.exit(f"sanitize: errors or wrong answers under {' and '.join(failed)}")


if __name__ == "__main__":
    main()
