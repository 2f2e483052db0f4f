"""The registry: every variant there is, one entry each, with all that the project knows of it.

What is listed here is measured, checked, shown in the tables and figures that its entry names, and documented. To add
a variant, write its function and its entry; no other code and no test changes (docs/extending.md).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from kernels import libraries
from kernels.errors import InputError
from kernels.fast import blocked_floyd_warshall as blocked
from kernels.fast import ell, multi_source, near_far, staged_floyd_warshall
from kernels.fast.hierarchy import variants as hierarchy
from kernels.graph import Graph
from kernels.paper import bellman_ford, dijkstra, floyd_warshall, serial
from kernels.run import Result, Run
from kernels.sparry import block_per_source, delta_stepping, edge
from kernels.sparry import dijkstra as block_dijkstra

FAMILIES = ("paper", "sparry", "ours", "library")
ALL_PAIRS_REVISION = 1  # as Variant.revision, of searches of all pairs without a matrix (fast/hierarchy/all_pairs.py)
MAX_IN_32_BITS = 2**16 - 1  # vertices all pairs of which 32 bits can number


@dataclass(frozen=True)
class Bound:
    """Theory: the operations grow at most with |V|^v |E|^e. why: where it comes from."""

    v: int
    e: int
    why: str


EVERY_ARC = Bound(
    1,
    1,
    "V - 1 iterations over all arcs (flags leave some out); on a GPU the 2 (V - 1) launches are the other bound",
)
MATRIX = Bound(3, 0, "every pair of vertices by way of each vertex")
ROUNDS = Bound(2, 1, "from each source at most V rounds over all arcs; few rounds on graphs that are not deep")


@dataclass(frozen=True, eq=False)  # each is itself and no other, so that sets may hold it
class Variant:
    """One way to run an algorithm.

    problem: "sssp" (one source) or "apsp" (all pairs). title: as the paper heads its column.
    function(graph, result, run) fills result. launches(vertices, tile): how many kernels it must
    launch, None where that depends on the weights. family: one of FAMILIES; "ours" is repeated more
    often (extensions in config.yaml).
    shown: the tables and figures that show it, each with the head it has there. Keys: table1,
    table2, table3, table6, figure5, figure6, figure8, peak_table.
    Of several with one head and one problem the fastest is shown.
    bound: what its time grows at most with. atomics: by name of a kernel, the least
    number of each atomic operation in its PTX. index_bits: the width in which its kernels number all
    pairs of vertices. bits: of a distance, where its rate is compared with the card's peak.
    zero_weights: whether predecessors lead to the source also where arcs of weight 0 form circles.
    cuda_graph: a CUDA-graph variant, which replays the same launches from CUDA graphs. parallel: a CPU
    variant that runs on all cores. facts(graph, source): columns of its measurements that say how
    it lays out the graph.
    run_s, host_bytes: what a cluster's job may take of time and host memory. run_s: seconds per
    n (n + m) (one source) or per n^3 (all pairs). host_bytes: bytes per (n + m), or per n^2.
    revision: raise it by one if a change can change what is measured: the kernels' code, the sequence of launches,
    or what is inside the timed region (docs/extending.md). package: the library's distribution, whose version
    stands for the revision.
    """

    algorithm: str
    name: str
    title: str
    problem: str
    function: Callable[[Graph, Result, Run], None]
    launches: Callable[[int, int], int | None]
    family: str
    shown: Mapping[str, str] = field(default_factory=dict)
    bound: Bound | None = None
    atomics: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    device: str = "gpu"
    index_bits: int = 64
    bits: int | None = None
    cuda_graph: bool = False
    zero_weights: bool = False
    parallel: bool = False
    facts: Callable[[Graph, int], dict[str, int]] | None = None
    run_s: float | None = None
    host_bytes: int | None = None
    revision: int = 1
    package: str = ""

    @property
    def key(self) -> str:
        return f"{self.algorithm}/{self.name}"

    @property
    def on_gpu(self) -> bool:
        return self.device == "gpu"

    @property
    def ours(self) -> bool:
        return self.family == "ours"

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
_SERIAL = {"launches": serial.launches, "family": "paper", "device": "cpu", "zero_weights": True}
_BELLMAN_FORD = {"problem": "sssp", "launches": bellman_ford.launches, "family": "paper", "bound": EVERY_ARC}
_FLOYD_WARSHALL = {"problem": "apsp", "family": "paper", "bound": MATRIX, "index_bits": 32, "zero_weights": True}
_BLOCKED = {
    **{"algorithm": "floyd_warshall", "problem": "apsp", "family": "ours", "bound": MATRIX, "zero_weights": True},
    "host_bytes": 8,
}
_BLOCKED_ATOMICS = {"initial": {"cas.b32": 2}}
_HIERARCHY = {
    **{"algorithm": "hierarchy", "title": "Contraction Hierarchy", "launches": hierarchy.launches},
    **{"family": "ours", "zero_weights": True},
}
_ZERO_ARCS = {name: {"cas.b32": 1, "add.u32": 1} for name in ("start_zero_arcs", "follow_zero_arcs")}
_CUSTOMIZE = {"set_weights": {"min.u32": 2}, "customize": {"min.u32": 2}}
_SPARRY = {"launches": block_per_source.launches, "family": "sparry", "index_bits": 32}
_LIBRARY = {"launches": serial.launches, "family": "library", "device": "cpu", "zero_weights": True}


def _at(head: str, *places: str) -> dict[str, str]:
    """Shown under one head in each of the places."""
    return dict.fromkeys(places, head)


_BEST, _BLOCK, _OURS, _CPU = "Paper's best", "Block per source", "Ours", "CPU library"
_PREPARED = "Ours, prepared"
_RELAX = {"min.s32": 1}

_ENTRIES = (
    Variant(
        algorithm="bellman_ford",
        name="cpu",
        title="CPU",
        problem="sssp",
        function=serial.bellman_ford,
        **_SERIAL,
        bound=EVERY_ARC,
        shown=_at("CPU", "table1"),
    ),
    Variant(
        algorithm="bellman_ford",
        name="naive",
        title="Naive",
        function=bellman_ford.naive,
        **_BELLMAN_FORD,
        atomics={"relax_naive": _RELAX},
        shown=_at("Naive", "table1", "figure5"),
    ),
    Variant(
        algorithm="bellman_ford",
        name="stride",
        title="Stride",
        function=bellman_ford.stride,
        **_BELLMAN_FORD,
        atomics={"relax_stride": _RELAX},
        shown=_at("Stride", "table1", "figure5"),
    ),
    Variant(
        algorithm="bellman_ford",
        name="stride_flag",
        title="Stride with Flag",
        function=bellman_ford.stride_flag,
        **_BELLMAN_FORD,
        atomics={"relax_stride_flag": _RELAX},
        shown=_at("Stride with Flag", "table1", "figure5") | _at(_BEST, "table6", "figure8"),
    ),
    Variant(
        algorithm="bellman_ford",
        name="stride_ell",
        title="Stride, ELL",
        problem="sssp",
        function=ell.stride,
        launches=bellman_ford.launches,
        family="ours",
        bound=EVERY_ARC,
        atomics={"relax": {"min.s32": 2}},
        facts=ell.facts,
    ),
    Variant(
        algorithm="bellman_ford",
        name="multi_source_apsp",
        title="Multi-Source",
        problem="apsp",
        function=multi_source.apsp,
        launches=multi_source.launches,
        family="ours",
        zero_weights=True,
        shown=_at(_OURS, "table6", "figure8"),
    ),
    Variant(
        algorithm="dijkstra",
        name="cpu",
        title="CPU",
        problem="apsp",
        function=serial.dijkstra,
        **_SERIAL,
        bound=Bound(2, 1, "from each source a matrix row of V for every entry of the heap, at most one an arc"),
        shown=_at("CPU", "table2"),
    ),
    Variant(
        algorithm="dijkstra",
        name="naive",
        title="Naive",
        problem="apsp",
        function=dijkstra.naive,
        launches=dijkstra.launches,
        family="paper",
        zero_weights=True,
        index_bits=32,
        run_s=1.5e-10,
        host_bytes=21,
        bound=Bound(3, 0, "from each source two passes over V for each vertex it reaches"),
        shown=_at("Naive", "table2"),
    ),
    Variant(
        algorithm="floyd_warshall",
        name="cpu",
        title="CPU",
        problem="apsp",
        function=serial.floyd_warshall,
        **_SERIAL,
        bound=MATRIX,
        shown=_at("CPU", "table3"),
    ),
    Variant(
        algorithm="floyd_warshall",
        name="naive",
        title="Naive",
        function=floyd_warshall.naive,
        launches=floyd_warshall.launches,
        **_FLOYD_WARSHALL,
        shown=_at("Naive", "table3", "figure6"),
    ),
    Variant(
        algorithm="floyd_warshall",
        name="super_naive",
        title="Super Naive",
        function=floyd_warshall.super_naive,
        launches=floyd_warshall.launches,
        **_FLOYD_WARSHALL,
        shown=_at("Super Naive", "table3", "figure6"),
    ),
    Variant(
        algorithm="floyd_warshall",
        name="super_naive_shared",
        title="Super Naive Shared",
        function=floyd_warshall.super_naive_shared,
        launches=floyd_warshall.launches,
        **_FLOYD_WARSHALL,
        shown=_at("Super Naive Shared", "table3", "figure6"),
    ),
    Variant(
        algorithm="floyd_warshall",
        name="tiled",
        title="Tiled",
        function=floyd_warshall.tiled,
        launches=floyd_warshall.launches_tiled,
        **_FLOYD_WARSHALL,
        shown=_at("Tiled", "table3", "figure6"),
    ),
    Variant(
        algorithm="floyd_warshall",
        name="tiled_shared",
        title="Tiled with Shared Memory",
        function=floyd_warshall.tiled_shared,
        launches=floyd_warshall.launches_tiled,
        **_FLOYD_WARSHALL,
        shown=_at("Tiled with Shared Memory", "table3")
        | _at("Tiled Shared", "figure6")
        | _at(_BEST, "table6", "figure8"),
    ),
    Variant(
        name="blocked",
        title="Blocked",
        function=blocked.blocked,
        launches=blocked.launches,
        **_BLOCKED,
        atomics=_BLOCKED_ATOMICS,
        bits=32,
        shown=_at(_OURS, "table6", "figure8") | _at("Blocked", "peak_table"),
    ),
    Variant(
        name="blocked16",
        title="Blocked, 16 bits",
        function=blocked.blocked16,
        launches=blocked.launches16,
        **{**_BLOCKED, "host_bytes": 16},
        atomics=_BLOCKED_ATOMICS,
        bits=16,
        shown=_at(_OURS, "table6", "figure8") | _at("Blocked, 16 bits", "peak_table"),
    ),
    Variant(
        name="staged",
        title="Blocked, Staged",
        function=staged_floyd_warshall.staged,
        launches=staged_floyd_warshall.launches,
        **_BLOCKED,
        atomics=_BLOCKED_ATOMICS,
        bits=32,
        shown=_at(_OURS, "table6", "figure8") | _at("Blocked, Staged", "peak_table"),
    ),
    Variant(
        algorithm="edge",
        name="sssp",
        title="Edge",
        problem="sssp",
        function=edge.sssp,
        **_SPARRY,
        atomics={"kernel": _RELAX},
        shown=_at(_BLOCK, "table6", "figure8"),
        bound=Bound(1, 1, "at most V rounds over all arcs; few rounds on graphs that are not deep"),
    ),
    Variant(
        algorithm="edge",
        name="apsp",
        title="Edge",
        problem="apsp",
        function=edge.apsp,
        **_SPARRY,
        bound=ROUNDS,
        atomics={"kernel": _RELAX},
        shown=_at(_BLOCK, "table6", "figure8"),
    ),
    Variant(
        algorithm="dijkstra",
        name="block_apsp",
        title="Dijkstra",
        problem="apsp",
        function=block_dijkstra.block_apsp,
        **_SPARRY,
        bound=ROUNDS,
        atomics={"kernel": _RELAX},
        shown=_at(_BLOCK, "table6", "figure8"),
    ),
    Variant(
        algorithm="delta_stepping",
        name="block_apsp",
        title="Delta-Stepping",
        problem="apsp",
        function=delta_stepping.block_apsp,
        **_SPARRY,
        bound=ROUNDS,
        shown=_at(_BLOCK, "table6", "figure8"),
        atomics={"kernel": {"min.s32": 3, "shared.min.s32": 1}},
    ),
    Variant(
        algorithm="delta_stepping",
        name="near_far",
        title="Near-Far",
        problem="sssp",
        revision=2,
        function=near_far.sssp,
        launches=near_far.launches,
        run_s=1e-12,
        family="ours",
        zero_weights=True,
        shown=_at(_OURS, "table6", "figure8"),
        atomics={
            "search": {
                **{"min.s32": 4, "shared.add.u32": 8, "shared.min.u32": 2},
                **{"global.min.u32": 1, "global.max.u32": 2},
            },
        }
        | _ZERO_ARCS,
    ),
    Variant(
        name="sssp",
        problem="sssp",
        revision=2,
        function=hierarchy.sssp,
        **_HIERARCHY,
        atomics=_CUSTOMIZE | _ZERO_ARCS,
        shown=_at(_PREPARED, "table6", "figure8"),
    ),
    Variant(
        name="apsp",
        problem="apsp",
        function=hierarchy.apsp,
        **_HIERARCHY,
        atomics=_CUSTOMIZE | _ZERO_ARCS,
        shown=_at(_PREPARED, "table6", "figure8"),
    ),
    Variant(
        algorithm="dijkstra",
        name="scipy",
        title="SciPy",
        problem="sssp",
        function=libraries.scipy_dijkstra,
        package="scipy",
        **_LIBRARY,
        shown=_at(_CPU, "table6", "figure8"),
    ),
    Variant(
        algorithm="dijkstra",
        name="scipy_apsp",
        title="SciPy",
        problem="apsp",
        function=libraries.scipy_dijkstra,
        package="scipy",
        **_LIBRARY,
        shown=_at(_CPU, "table6", "figure8"),
    ),
    Variant(
        algorithm="dijkstra",
        name="networkit",
        title="NetworKit",
        problem="sssp",
        function=libraries.networkit_dijkstra,
        package="networkit",
        **_LIBRARY,
        host_bytes=112,
        shown=_at(_CPU, "table6", "figure8"),
    ),
    Variant(
        algorithm="dijkstra",
        name="networkit_apsp",
        title="NetworKit",
        problem="apsp",
        function=libraries.networkit_dijkstra,
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
        function=libraries.scipy_floyd_warshall,
        package="scipy",
        **_LIBRARY,
        bound=MATRIX,
        host_bytes=24,
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
