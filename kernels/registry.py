"""The registry: every variant there is, one entry each, with what it is.

What is listed here is measured, checked, shown in the tables and figures that its entry names, and documented. To add
a variant, write its function and its entry; no other code and no test changes (docs/extending.md).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kernels.errors import InputError

if TYPE_CHECKING:
    from kernels.graph import Graph

ORIGINS = ("paper", "sparry", "ours", "library")
ALL_PAIRS_REVISION = 1  # as Variant.revision, of searches of all pairs without a matrix (fast/hierarchy/all_pairs.py)
MAX_IN_32_BITS = 2**16 - 1  # vertices all pairs of which 32 bits can number


class Lazy:
    """A function of a module of this package, which is imported at the first call."""

    def __init__(self, module: str, name: str):
        self.__module__, self.__name__ = f"{__package__}.{module}", name

    def __call__(self, *arguments):
        return getattr(importlib.import_module(self.__module__), self.__name__)(*arguments)


@dataclass(frozen=True, eq=False)  # each is itself and no other, so that sets may hold it
class Variant:
    """One way to run an algorithm.

    problem: "sssp" (one source) or "apsp" (all pairs). title: the head of its column in the paper.
    function(graph, result, run) fills result. launches(vertices, tile): the number of kernels that it launches, or
    None if that depends on the weights. facts(graph, source): columns of its measurements that describe its layout of
    the graph. Each is a function, or "module:name" in this package, which is imported when it is called.
    origin: one of ORIGINS; "ours" is repeated more often (extensions in config.yaml).
    shown: the tables and figures that show it, each with its head there. Keys: table1, table2, table3, table6,
    figure5, figure6, figure8, peak_table. Of several variants with one head and one problem the fastest is shown.
    index_bits: the width of the numbers of pairs of vertices in its kernels. cuda_graph: whether it replays the
    launches of its plain variant from CUDA graphs. parallel: whether a CPU variant runs on all cores.
    revision: raise it by one if a change can change what is measured: the kernels' code, the sequence of launches,
    or what is inside the timed region (docs/extending.md). package: the library's distribution, whose version
    stands for the revision.
    """

    algorithm: str
    name: str
    title: str
    problem: str
    function: Callable | str
    launches: Callable | str
    origin: str
    shown: Mapping[str, str] = field(default_factory=dict)
    device: str = "gpu"
    index_bits: int = 64
    cuda_graph: bool = False
    parallel: bool = False
    facts: Callable | str | None = None
    revision: int = 1
    package: str = ""

    def __post_init__(self):
        for name in ("function", "launches", "facts"):
            if isinstance(value := getattr(self, name), str):
                object.__setattr__(self, name, Lazy(*value.split(":")))

    @property
    def key(self) -> str:
        return f"{self.algorithm}/{self.name}"

    @property
    def on_gpu(self) -> bool:
        return self.device == "gpu"

    @property
    def ours(self) -> bool:
        return self.origin == "ours"

    @property
    def in_32_bits(self) -> bool:
        """Whether its kernels number all pairs of vertices in 32 bits."""
        return self.problem == "apsp" and self.index_bits == 32

    @property
    def plain(self) -> str:
        """The key of the variant that waits after every launch; its own but for a CUDA-graph variant."""
        return self.key.removesuffix("_graph") if self.cuda_graph else self.key

    def check_size(self, graph: Graph) -> None:
        """Raise InputError where the graph has more vertices than the kernels can number the pairs of."""
        if self.in_32_bits and graph.vertices > MAX_IN_32_BITS:
            wide = (v.key for v in VARIANTS.values() if v.problem == "apsp" and v.on_gpu and not v.in_32_bits)
            raise InputError(
                f"{self.key} on {graph.name}: {graph.vertices:,} vertices, and its kernels number all pairs in 32 "
                f"bits, enough for {MAX_IN_32_BITS:,} vertices: take a smaller graph, or one of {', '.join(wide)}"
            )


# What several entries share.
_SERIAL = {"launches": "paper.serial:launches", "origin": "paper", "device": "cpu"}
_BELLMAN_FORD = {"problem": "sssp", "launches": "paper.bellman_ford:launches", "origin": "paper"}
_FLOYD_WARSHALL = {"problem": "apsp", "origin": "paper", "index_bits": 32}
_BLOCKED = {"algorithm": "floyd_warshall", "problem": "apsp", "origin": "ours"}
_HIERARCHY = {
    **{"algorithm": "hierarchy", "title": "Contraction Hierarchy", "origin": "ours"},
    "launches": "fast.hierarchy.variants:launches",
}
_SPARRY = {"launches": "sparry.block_per_source:launches", "origin": "sparry", "index_bits": 32}
_LIBRARY = {"launches": "paper.serial:launches", "origin": "library", "device": "cpu"}


def _at(head: str, *places: str) -> dict[str, str]:
    """Shown under one head in each of the places."""
    return dict.fromkeys(places, head)


_BEST, _BLOCK, _OURS, _CPU = "Paper's best", "Block per source", "Ours", "CPU library"
_PREPARED = "Ours, prepared"

_ENTRIES = (
    Variant(
        algorithm="bellman_ford",
        name="cpu",
        title="CPU",
        problem="sssp",
        function="paper.serial:bellman_ford",
        **_SERIAL,
        shown=_at("CPU", "table1"),
    ),
    Variant(
        algorithm="bellman_ford",
        name="naive",
        title="Naive",
        function="paper.bellman_ford:naive",
        **_BELLMAN_FORD,
        shown=_at("Naive", "table1", "figure5"),
    ),
    Variant(
        algorithm="bellman_ford",
        name="stride",
        title="Stride",
        function="paper.bellman_ford:stride",
        **_BELLMAN_FORD,
        shown=_at("Stride", "table1", "figure5"),
    ),
    Variant(
        algorithm="bellman_ford",
        name="stride_flag",
        title="Stride with Flag",
        function="paper.bellman_ford:stride_flag",
        **_BELLMAN_FORD,
        shown=_at("Stride with Flag", "table1", "figure5") | _at(_BEST, "table6", "figure8"),
    ),
    Variant(
        algorithm="bellman_ford",
        name="stride_ell",
        title="Stride, ELL",
        problem="sssp",
        function="fast.ell:stride",
        launches="paper.bellman_ford:launches",
        origin="ours",
        facts="fast.ell:facts",
    ),
    Variant(
        algorithm="bellman_ford",
        name="multi_source_apsp",
        title="Multi-Source",
        problem="apsp",
        function="fast.multi_source:apsp",
        launches="fast.multi_source:launches",
        origin="ours",
        shown=_at(_OURS, "table6", "figure8"),
    ),
    Variant(
        algorithm="dijkstra",
        name="cpu",
        title="CPU",
        problem="apsp",
        function="paper.serial:dijkstra",
        **_SERIAL,
        shown=_at("CPU", "table2"),
    ),
    Variant(
        algorithm="dijkstra",
        name="naive",
        title="Naive",
        problem="apsp",
        function="paper.dijkstra:naive",
        launches="paper.dijkstra:launches",
        origin="paper",
        index_bits=32,
        shown=_at("Naive", "table2"),
    ),
    Variant(
        algorithm="floyd_warshall",
        name="cpu",
        title="CPU",
        problem="apsp",
        function="paper.serial:floyd_warshall",
        **_SERIAL,
        shown=_at("CPU", "table3"),
    ),
    Variant(
        algorithm="floyd_warshall",
        name="naive",
        title="Naive",
        function="paper.floyd_warshall:naive",
        launches="paper.floyd_warshall:launches",
        **_FLOYD_WARSHALL,
        shown=_at("Naive", "table3", "figure6"),
    ),
    Variant(
        algorithm="floyd_warshall",
        name="super_naive",
        title="Super Naive",
        function="paper.floyd_warshall:super_naive",
        launches="paper.floyd_warshall:launches",
        **_FLOYD_WARSHALL,
        shown=_at("Super Naive", "table3", "figure6"),
    ),
    Variant(
        algorithm="floyd_warshall",
        name="super_naive_shared",
        title="Super Naive Shared",
        function="paper.floyd_warshall:super_naive_shared",
        launches="paper.floyd_warshall:launches",
        **_FLOYD_WARSHALL,
        shown=_at("Super Naive Shared", "table3", "figure6"),
    ),
    Variant(
        algorithm="floyd_warshall",
        name="tiled",
        title="Tiled",
        function="paper.floyd_warshall:tiled",
        launches="paper.floyd_warshall:launches_tiled",
        **_FLOYD_WARSHALL,
        shown=_at("Tiled", "table3", "figure6"),
    ),
    Variant(
        algorithm="floyd_warshall",
        name="tiled_shared",
        title="Tiled with Shared Memory",
        function="paper.floyd_warshall:tiled_shared",
        launches="paper.floyd_warshall:launches_tiled",
        **_FLOYD_WARSHALL,
        shown=_at("Tiled with Shared Memory", "table3")
        | _at("Tiled Shared", "figure6")
        | _at(_BEST, "table6", "figure8"),
    ),
    Variant(
        name="blocked",
        title="Blocked",
        function="fast.blocked_floyd_warshall:blocked",
        launches="fast.blocked_floyd_warshall:launches",
        **_BLOCKED,
        shown=_at(_OURS, "table6", "figure8") | _at("Blocked", "peak_table"),
    ),
    Variant(
        name="blocked16",
        title="Blocked, 16 bits",
        function="fast.blocked_floyd_warshall:blocked16",
        launches="fast.blocked_floyd_warshall:launches16",
        **_BLOCKED,
        shown=_at(_OURS, "table6", "figure8") | _at("Blocked, 16 bits", "peak_table"),
    ),
    Variant(
        name="staged",
        title="Blocked, Staged",
        function="fast.staged_floyd_warshall:staged",
        launches="fast.staged_floyd_warshall:launches",
        **_BLOCKED,
        shown=_at(_OURS, "table6", "figure8") | _at("Blocked, Staged", "peak_table"),
    ),
    Variant(
        algorithm="edge",
        name="sssp",
        title="Edge",
        problem="sssp",
        function="sparry.edge:sssp",
        **_SPARRY,
        shown=_at(_BLOCK, "table6", "figure8"),
    ),
    Variant(
        algorithm="edge",
        name="apsp",
        title="Edge",
        problem="apsp",
        function="sparry.edge:apsp",
        **_SPARRY,
        shown=_at(_BLOCK, "table6", "figure8"),
    ),
    Variant(
        algorithm="dijkstra",
        name="block_apsp",
        title="Dijkstra",
        problem="apsp",
        function="sparry.dijkstra:block_apsp",
        **_SPARRY,
        shown=_at(_BLOCK, "table6", "figure8"),
    ),
    Variant(
        algorithm="delta_stepping",
        name="block_apsp",
        title="Delta-Stepping",
        problem="apsp",
        function="sparry.delta_stepping:block_apsp",
        **_SPARRY,
        shown=_at(_BLOCK, "table6", "figure8"),
    ),
    Variant(
        algorithm="delta_stepping",
        name="near_far",
        title="Near-Far",
        problem="sssp",
        revision=3,
        function="fast.near_far:sssp",
        launches="fast.near_far:launches",
        origin="ours",
        shown=_at(_OURS, "table6", "figure8"),
    ),
    Variant(
        name="sssp",
        problem="sssp",
        revision=3,
        function="fast.hierarchy.variants:sssp",
        **_HIERARCHY,
        shown=_at(_PREPARED, "table6", "figure8"),
    ),
    Variant(
        name="apsp",
        problem="apsp",
        function="fast.hierarchy.variants:apsp",
        **_HIERARCHY,
        shown=_at(_PREPARED, "table6", "figure8"),
    ),
    Variant(
        algorithm="dijkstra",
        name="scipy",
        title="SciPy",
        problem="sssp",
        function="libraries:scipy_dijkstra",
        package="scipy",
        **_LIBRARY,
        shown=_at(_CPU, "table6", "figure8"),
    ),
    Variant(
        algorithm="dijkstra",
        name="scipy_apsp",
        title="SciPy",
        problem="apsp",
        function="libraries:scipy_dijkstra",
        package="scipy",
        **_LIBRARY,
        shown=_at(_CPU, "table6", "figure8"),
    ),
    Variant(
        algorithm="dijkstra",
        name="networkit",
        title="NetworKit",
        problem="sssp",
        function="libraries:networkit_dijkstra",
        package="networkit",
        **_LIBRARY,
        shown=_at(_CPU, "table6", "figure8"),
    ),
    Variant(
        algorithm="dijkstra",
        name="networkit_apsp",
        title="NetworKit",
        problem="apsp",
        function="libraries:networkit_dijkstra",
        package="networkit",
        **_LIBRARY,
        parallel=True,
        shown=_at(_CPU, "table6", "figure8"),
    ),
    Variant(
        algorithm="floyd_warshall",
        name="scipy",
        title="SciPy",
        problem="apsp",
        function="libraries:scipy_floyd_warshall",
        package="scipy",
        **_LIBRARY,
        shown=_at(_CPU, "table6", "figure8"),
    ),
)
# The plain variants that also have a CUDA-graph variant.
_WITH_GRAPH = (
    *(f"bellman_ford/{name}" for name in ("naive", "stride", "stride_flag")),
    *(f"floyd_warshall/{name}" for name in ("naive", "super_naive", "super_naive_shared", "tiled", "tiled_shared")),
)


def _graph_variant(plain: Variant) -> Variant:
    """The same launches from CUDA graphs, in a column group of its own in the paper's tables."""
    shown = {place: head for place, head in plain.shown.items() if place in ("table1", "table3")}
    return replace(plain, name=f"{plain.name}_graph", cuda_graph=True, shown=shown)


VARIANTS = {variant.key: variant for variant in _ENTRIES}
VARIANTS |= {variant.key: variant for variant in (_graph_variant(VARIANTS[key]) for key in _WITH_GRAPH)}
ALGORITHMS = tuple(dict.fromkeys(variant.algorithm for variant in VARIANTS.values()))


def shown_in(place: str) -> list[Variant]:
    """The variants that a table or figure shows."""
    return [variant for variant in VARIANTS.values() if place in variant.shown]


def find(algorithm: str, name: str) -> Variant:
    """The variant; raises InputError that lists the valid ones."""
    try:
        return VARIANTS[f"{algorithm}/{name}"]
    except KeyError:
        raise InputError(f"there is no variant {algorithm}/{name}: choose one of {', '.join(VARIANTS)}") from None


def select(pattern: str, on_gpu: bool) -> list[Variant]:
    """The GPU (or CPU) variants of an algorithm, or the one that "algorithm/name" names."""
    found = [v for v in VARIANTS.values() if pattern in (v.algorithm, v.key) and v.on_gpu == on_gpu]
    if not found:
        kind = "GPU" if on_gpu else "CPU"
        valid = dict.fromkeys(p for v in VARIANTS.values() if v.on_gpu == on_gpu for p in (v.algorithm, v.key))
        raise InputError(f"{pattern!r} is no {kind} variant: choose one of {', '.join(valid)}")
    return found
