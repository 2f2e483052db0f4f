"""Find shortest paths in a graph file, run one named variant, or convert or generate a graph.

%(prog)s sssp graph.txt --source 0 > distances.txt
%(prog)s sssp graph.mtx --sources 0 5 9 --to distances.npz
%(prog)s matrix graph.npz --sources homes.txt --targets shops.txt --to distances.npy
%(prog)s bellman_ford stride_flag graph.txt --source 0 --validate --output print
%(prog)s parse USA-road-d.NY.gr.gz --to nyc.txt
"""

from __future__ import annotations

import argparse
import logging
import math
import os
import re
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

from .errors import COMMAND, InputError, PrintableFormatter, TimeLimit, naming, printable, reported
from .lazy import LazyModule

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from .graph import Graph
    from .library.answers import Distances, Paths
    from .registry import Variant
    from .run import Result, Run

# Imported when first used, inside `reported`, so that Ctrl-C during a slow import ends the program quietly.
io, generate = LazyModule(".io", __package__), LazyModule(".generate", __package__)
functions, choice = LazyModule(".library.functions", __package__), LazyModule(".library.choice", __package__)
searches, inputs = LazyModule(".library.searches", __package__), LazyModule(".library.inputs", __package__)
table_files = LazyModule(".library.table_files", __package__)
harness, heartbeat = LazyModule(".harness", __package__), LazyModule(".heartbeat", __package__)
registry, checks = LazyModule(".registry", __package__), LazyModule(".check", __package__)
card, driver = LazyModule(".gpu.card", __package__), LazyModule(".gpu.driver", __package__)
PROBLEMS = {"sssp": "from one source", "apsp": "between all pairs"}
TOOLS = {
    "parse": "convert a DIMACS file, with vertices from 1, to the text form, with vertices from 0",
    "add": "convert a SNAP file to the text form, with random weights",
    "replace": "draw new random weights for a file in text form",
}
NUMBERS = (
    "Sources, targets and the output number the vertices from 0. DIMACS (.gr) and Matrix Market (.mtx) files number "
    "them from 1: their vertex 1 is vertex 0 here."
)
# Numba's CUDA simulator runs each GPU thread as a Python thread. A run on a graph of these sizes takes about a minute.
SIMULATED_BLOCK, SIMULATED_TILE = 8, 4
SIMULATED_VERTICES, SIMULATED_ARCS = {"sssp": 200, "apsp": 50}, 10_000
SIMULATED_LIMIT_S, CPU_LIMIT_S = 300, 3600


def run(args: argparse.Namespace) -> None:
    """Run the given variant once; check, print or write its result."""
    variant = registry.find(args.algorithm, args.variant)
    if args.to and args.output != "write":
        raise InputError(f"--to {args.to} needs --output write: add it, or omit --to")
    if args.output == "print" and sys.stdout is None:
        raise InputError("--output print: standard output is closed: use --output write")
    graph = io.read_graph(args.file)
    graph.check_source(args.source)
    named = re.sub(r"[^A-Za-z0-9._+-]", "_", graph.name)
    to = args.to or Path("results/output", f"{variant.algorithm}_{variant.name}_{named}.txt")
    if args.output == "write":
        not_the_input(io.writable(to), args.file)
    simulated = variant.on_gpu and _simulate(variant, graph, args)
    timing, result = _run_within_limit(variant, graph, args, simulated)
    if not simulated:
        say(f"{variant.key} on {graph.name}: {timing.seconds:.6g} s")
    if args.validate:
        rows = checks.check(
            graph, variant.problem, result, args.source, full_check=graph.vertices, checked_rows=graph.vertices
        )
        say(f"{variant.key} on {graph.name}: {rows} row{'s' * (rows != 1)} checked, all correct")
    if searches.SearchedGraph(graph).has_too_long(result.distances):
        raise InputError(
            f"{graph.name}: a distance is above 2147483646, the most that a variant can find: scale the weights down, "
            f"or use {COMMAND} {variant.problem}, which has no such limit"
        )
    if args.output == "print":
        with naming("standard output"):
            write_paths(sys.stdout, variant, result)
    elif args.output == "write":
        with io.atomic(to, "w") as file:
            write_paths(file, variant, result)
        say(f"wrote {to}")


def _simulate(variant: Variant, graph: Graph, args: argparse.Namespace) -> bool:
    """Return whether to simulate a GPU variant. If no GPU is visible, turn numba's simulator on.

    Call this before numba is imported. Raises InputError if a GPU is visible but no compiler for it is installed, and
    if --limit is not given and the graph would take too long.
    """
    asked = driver.simulated()
    if not asked and choice.gpu_usable():
        return False
    if not asked and driver.cards():
        raise InputError(f"{variant.key}: {choice.why_no_gpu()}; set NUMBA_ENABLE_CUDASIM=1 to simulate one")
    most = SIMULATED_VERTICES[variant.problem]
    if args.limit is None and (graph.vertices > most or graph.arcs > SIMULATED_ARCS):
        raise InputError(
            f"{graph.name}: {graph.vertices:,} vertices and {graph.arcs:,} arcs are too many to simulate "
            f"{variant.key}: use a graph of at most {most} vertices and {SIMULATED_ARCS:,} arcs, use a variant for a "
            "CPU, or add --limit SECONDS to try"
        )
    args.block = SIMULATED_BLOCK if args.block is None else args.block
    args.tile = SIMULATED_TILE if args.tile is None else args.tile
    if not asked:
        os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
        if "numba" in sys.modules:  # already imported, to read its configuration file
            sys.modules["numba"].config.ENABLE_CUDASIM = 1
        said = f"no GPU is visible: {variant.key} runs in numba's CUDA simulator, block {args.block}, tile {args.tile}"
        say(said)
    return True


def _run_within_limit(variant: Variant, graph: Graph, args: argparse.Namespace, simulated: bool) -> tuple[Run, Result]:
    """Run the variant; raise InputError if it takes longer than --limit."""
    limit = args.limit or (SIMULATED_LIMIT_S if simulated else math.inf if variant.on_gpu else CPU_LIMIT_S)
    heartbeat.log.setLevel(logging.INFO)
    given = {name: value for name in ("block", "tile") if (value := getattr(args, name)) is not None}
    settings = harness.RunSettings(source=args.source, timeout_s=limit, **given)
    try:
        with _alarm(limit):
            return harness.run_once(variant, graph, settings)
    except TimeLimit as error:
        raise InputError(
            f"{variant.key} on {graph.name}: {error}: raise it with --limit SECONDS, or use a smaller graph"
        ) from None


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise TimeLimit in the main thread after `seconds`.

    If compiled code or the CUDA driver is running then, Python raises the exception after that code has returned.
    """

    def late(*signal_and_frame: object) -> None:
        raise TimeLimit(seconds)

    if math.isinf(seconds):
        yield
        return
    before = signal.signal(signal.SIGALRM, late)
    # Repeat the alarm every second, because Python ignores an exception in a finalizer.
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def solve(args: argparse.Namespace) -> None:
    """Search with the variant that suits the graph; print the result, or write its fields to an .npz file."""
    choice.log.setLevel(logging.INFO)
    if args.to:
        not_the_input(io.writable(args.to), args.file)
    elif sys.stdout is None:
        raise InputError("standard output is closed: name a file with --to")
    graph = inputs.as_graph(args.file)
    found: Paths | Distances
    if args.problem == "apsp":
        found = functions.all_pairs(graph)
    elif args.sources:
        found = functions.distances(graph, args.sources)
    else:
        found = functions.shortest_paths(graph, args.source or 0)
    if not args.to:
        with naming("standard output"):
            sys.stdout.writelines(distance_lines(found))
        return
    import numpy as np

    with io.atomic(args.to) as file:
        np.savez(file, **{name: value for name, value in vars(found).items() if value is not None})
    say(f"wrote {args.to}")


def matrix(args: argparse.Namespace) -> None:
    """Write the distances from several sources to several targets, piece by piece."""
    if args.to.suffix not in table_files.SUFFIXES:
        raise InputError(f"--to {args.to}: name a file that ends in {' or '.join(table_files.SUFFIXES)}")
    heartbeat.log.setLevel(logging.INFO)
    not_the_input(io.writable(args.to), args.file)
    graph = inputs.as_graph(args.file)
    sources = inputs.check_sources(graph, table_files.read_vertices(args.sources))
    targets = args.targets and inputs.check_sources(graph, table_files.read_vertices(args.targets), "target")
    with functions.Solver(graph) as searches:
        table_files.write(searches, sources, targets, args.to, args.dtype)
    say(f"wrote {args.to}")


def distance_lines(found: Paths | Distances) -> Iterator[str]:
    """Yield a line for each source and vertex: [source], vertex, distance[, predecessor]."""
    predecessors = getattr(found, "predecessors", None)
    if found.distances.ndim == 1:
        yield from _vertex_lines(found.distances, predecessors, "")
        return
    sources = getattr(found, "sources", range(len(found.distances)))
    for row, (source, distances) in enumerate(zip(sources, found.distances, strict=True)):
        yield from _vertex_lines(distances, None if predecessors is None else predecessors[row], f"{source} ")


def _vertex_lines(distances: np.ndarray, predecessors: np.ndarray | None, head: str) -> Iterator[str]:
    last = (
        [""] * len(distances) if predecessors is None else [f" {p if p >= 0 else '-'}" for p in predecessors.tolist()]
    )
    for vertex, (distance, before) in enumerate(zip(distances.tolist(), last, strict=True)):
        yield f"{head}{vertex} {str(distance).removesuffix('.0')}{before}\n"


def say(text: str) -> None:
    """Print a line to standard error, with unprintable characters of names as escapes."""
    print(printable(text), file=sys.stderr)


def not_the_input(to: Path, file: Path) -> None:
    """Raise InputError if the output file is the graph's own file."""
    if to.exists() and to.samefile(file):
        raise InputError(f"{to}: this is the file of the graph: name another file to write")


def write_paths(file: TextIO, variant: Variant, result: Result) -> None:
    """Write one line per source and vertex: node, cost and path; "inf" and "-" if there is no path."""
    if variant.problem == "sssp":
        file.write("node\tcost\tpath\n")
        file.writelines(path_lines(result.distances, result.predecessors))
        return
    file.write("source\tnode\tcost\tpath\n")
    for row, (distances, predecessors) in enumerate(zip(result.distances, result.predecessors, strict=True)):
        file.writelines(f"{row}\t{line}" for line in path_lines(distances, predecessors))


def path_lines(distances: np.ndarray, predecessors: np.ndarray) -> Iterator[str]:
    from .graph import INF

    for node, cost in enumerate(distances.tolist()):
        if cost == INF:
            yield f"{node}\tinf\t-\n"
            continue
        path = [node]
        while (before := int(predecessors[path[-1]])) >= 0:
            path.append(before)
            if len(path) > len(predecessors):
                raise InputError(
                    f"the predecessors of vertex {node} form a cycle of arcs of weight 0: use {COMMAND} sssp "
                    "or apsp, which choose a variant for such weights"
                )
        yield f"{node}\t{cost}\t{'->'.join(map(str, reversed(path)))}\n"


class Parser(argparse.ArgumentParser):
    """A parser that reports unknown arguments, such as file names, in printable characters."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


def parser(first: str = "") -> argparse.ArgumentParser:
    """Return the argument parser. Omit the algorithms, whose import is slow, if `first` is another command."""
    top = Parser(prog=COMMAND, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = top.add_subparsers(required=True, metavar="PROBLEM, ALGORITHM or TOOL")
    for problem, text in PROBLEMS.items():
        help_text = f"find shortest paths {text}, by the variant that suits the graph"
        add_problem(commands.add_parser(problem, help=help_text), problem)
    text = (
        "write distances from listed sources to listed targets to a file; to continue after an interruption, run again"
    )
    add_matrix(commands.add_parser("matrix", help=text))
    for algorithm in () if first in (*PROBLEMS, *TOOLS, "matrix", "random") else registry.ALGORITHMS:
        names = [v.name for v in registry.VARIANTS.values() if v.algorithm == algorithm]
        add_algorithm(commands.add_parser(algorithm, help=f"run {', '.join(names)}"), algorithm, names)
    for name, text in TOOLS.items():
        add_tool(commands.add_parser(name, help=text, description=f"{text[0].upper() + text[1:]}."), name)
    command = commands.add_parser("random", help="write a complete graph with random weights, in text form")
    command.add_argument("vertices", type=int)
    command.add_argument("to", type=Path, metavar="FILE")
    add_weights(command)
    command.set_defaults(act=lambda args: generate.random(args.vertices, target(args), *drawn(args)))
    return top


def add_problem(command: argparse.ArgumentParser, problem: str) -> None:
    command.set_defaults(act=solve, problem=problem)
    command.add_argument("file", type=Path, help=f"a graph file: {io.described_formats()}")
    if problem == "sssp":
        start = command.add_mutually_exclusive_group()
        start.add_argument("--source", type=int, help="where the paths start (default 0)")
        several = "find only the distances from each of these sources"
        start.add_argument("--sources", type=int, nargs="+", metavar="VERTEX", help=several)
    command.add_argument(
        "--to", type=Path, metavar="FILE.npz", help="write the arrays of the result to this file, print nothing"
    )
    command.description = (
        f"Find shortest paths {PROBLEMS[problem]}. Without --to, print a line 'vertex distance predecessor' for each "
        "vertex. If there is no path, the distance is 'inf'. If there is no predecessor, '-' is printed. With "
        "--sources, and in apsp, each line begins with the source. With --sources, predecessors are not printed. "
        f"{NUMBERS}"
    )


def add_matrix(command: argparse.ArgumentParser) -> None:
    command.set_defaults(act=matrix)
    command.add_argument("file", type=Path, help=f"a graph file: {io.described_formats()}")
    vertices = "a text file of vertices, separated by spaces or line breaks"
    command.add_argument("--sources", type=Path, metavar="FILE", required=True, help=vertices)
    command.add_argument("--targets", type=Path, metavar="FILE", help="a file like that of --sources (default all)")
    command.add_argument("--to", type=Path, metavar="FILE", required=True, help="a .npy or .parquet file to write")
    command.add_argument("--dtype", choices=["float64", "float32", "int32"], default="float64")
    command.description = (
        "Write the distances from each source to each target: an array of shape (sources, targets) in NumPy's format, "
        "or the columns source, target and distance in Parquet. If there is no path, the distance is inf (2147483647 "
        "in int32). During the search, distances are written to the folder FILE.part. If the command is interrupted, "
        f"run the same command again to continue. One process at a time can write FILE. {NUMBERS}"
    )


def add_algorithm(command: argparse.ArgumentParser, algorithm: str, variants: list[str]) -> None:
    command.set_defaults(act=run, algorithm=algorithm)
    command.description = f"Run one variant. {NUMBERS}"
    command.add_argument("variant", choices=variants)
    command.add_argument("file", type=Path, help=f"a graph file: {io.described_formats()}")
    command.add_argument("--source", type=int, default=0, help="where single-source paths start (default 0)")
    command.add_argument("--validate", action="store_true", help="check every distance and predecessor")
    output = "print the node, cost and path of each vertex, or write them to a file (default none)"
    command.add_argument("--output", choices=["none", "print", "write"], default="none", help=output)
    command.add_argument("--to", type=Path, metavar="FILE", help="file for --output write (default in results/output)")
    command.add_argument("--block", type=int, help=f"threads per block (default 1024; simulated {SIMULATED_BLOCK})")
    command.add_argument("--tile", type=int, help=f"side of a tile (default 32; simulated {SIMULATED_TILE})")
    command.add_argument(
        "--limit",
        type=seconds,
        metavar="SECONDS",
        help=f"stop a run after this many seconds (default {CPU_LIMIT_S} on a CPU, {SIMULATED_LIMIT_S} in the "
        "simulator, no limit on a GPU); a running kernel is not interrupted",
    )


def seconds(text: str) -> float:
    """Parse a number of seconds; raise ValueError unless it is above 0."""
    value = float(text)
    if not 0 < value < 1e9:
        raise ValueError
    return value


def add_tool(command: argparse.ArgumentParser, name: str) -> None:
    command.add_argument("file", type=Path)
    command.add_argument("--to", type=Path, metavar="FILE", help="write here instead of in place")
    if name == "parse":
        command.set_defaults(act=lambda args: io.parse(args.file, target(args)))
    else:
        add_weights(command)
        command.set_defaults(act=lambda args: getattr(generate, name)(args.file, target(args), *drawn(args)))


def add_weights(command: argparse.ArgumentParser) -> None:
    command.add_argument("min", type=int, nargs="?", default=1, help="least weight (default 1)")
    command.add_argument("max", type=int, nargs="?", default=100, help="largest weight (default 100)")
    command.add_argument("--seed", type=int, default=0, help="the seed of the random weights (default 0)")


def drawn(args: argparse.Namespace) -> tuple[int, int, int]:
    return args.min, args.max, args.seed


def target(args: argparse.Namespace) -> Path | None:
    """Return the file that a tool writes; None if it overwrites its input."""
    return args.to and io.writable(args.to)


def main() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    with reported(sys.exit):
        driver.check_settings()
        args = parser(*sys.argv[1:2]).parse_args()
        args.act(args)


if __name__ == "__main__":
    main()
