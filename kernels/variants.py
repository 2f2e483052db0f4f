"""Every variant there is: one line each. What is listed here is measured, checked and drawn."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from kernels import baselines, delta_stepping, dijkstra, edge, ell, frontier, near_far, serial
from kernels import bellman_ford as bf
from kernels import block_per_source as bps
from kernels import blocked_floyd_warshall as blocked_fw
from kernels import floyd_warshall as fw
from kernels.device import Result, Run
from kernels.errors import InputError
from kernels.graph import Graph

# Modules whose kernels number the entries of an (n, n) matrix in 32 bits, and the largest n for which that is enough.
IN_32_BITS = tuple(module.__name__ for module in (fw, dijkstra, edge, delta_stepping))
MAX_IN_32_BITS = 2**16 - 1

# How many atomic operations the PTX of each kernel of a module has at least (more where loops are unrolled), in all
# or in one kind of memory; a kernel that is not named has none.
_ATOMICS = {
    bf.__name__: {f"relax_{name}": {"min.s32": 1} for name in ("naive", "stride", "stride_flag")},
    ell.__name__: {"relax": {"min.s32": 2}},
    frontier.__name__: {},
    dijkstra.__name__: {"kernel": {"min.s32": 1}},
    fw.__name__: {},
    blocked_fw.__name__: {"initial": {"cas.b32": 2}},
    edge.__name__: {"kernel": {"min.s32": 1}},
    delta_stepping.__name__: {"kernel": {"min.s32": 3, "shared.min.s32": 1}},
    near_far.__name__: {
        "search": {"min.s32": 3, "shared.add.u32": 8, "shared.min.u32": 1},
        "search_on": {
            **{"min.s32": 6, "shared.add.u32": 8, "shared.min.u32": 1},
            **{"global.add.u32": 8, "global.min.u32": 1},
        },
        "claim_free_heads": {"cas.b32": 1, "add.u32": 1},
        "claim_further_heads": {"cas.b32": 1, "add.u32": 1},
    },
}


@dataclass(frozen=True)
class Variant:
    """One way to run an algorithm.

    problem: "sssp" (one source) or "apsp" (all pairs). title: as the paper heads its column.
    function(graph, result, run) fills result. launches(vertices, tile): how many kernels it must
    launch, None where that depends on the weights. graph: a twin, which replays the same launches
    from CUDA graphs. parallel: a CPU variant that runs on all cores. beyond: past the paper, and
    measured with more repeats. note(graph, source): what its measurements say of the graph as it
    has it.
    """

    algorithm: str
    name: str
    title: str
    problem: str
    function: Callable[[Graph, Result, Run], None]
    launches: Callable[[int, int], int | None]
    graph: bool = False
    parallel: bool = False
    note: Callable[[Graph, int], str] | None = None

    @property
    def on_gpu(self) -> bool:
        return self.function.__module__ not in (serial.__name__, baselines.__name__)

    @property
    def beyond(self) -> bool:
        return self.key in _BEYOND

    @property
    def atomics(self) -> Mapping[str, Mapping[str, int]]:
        """By name of a kernel, the least number of each atomic operation in its PTX; for a GPU variant."""
        return _ATOMICS[self.function.__module__]

    @property
    def key(self) -> str:
        return f"{self.algorithm}/{self.name}"

    @property
    def in_32_bits(self) -> bool:
        """Whether its kernels number all pairs of vertices in 32 bits."""
        return self.problem == "apsp" and self.function.__module__ in IN_32_BITS

    def check_size(self, graph: Graph) -> None:
        """Raise InputError where the graph has more vertices than the kernels can number the pairs of."""
        if self.in_32_bits and graph.vertices > MAX_IN_32_BITS:
            wide = (v.key for v in VARIANTS.values() if v.problem == "apsp" and v.on_gpu and not v.in_32_bits)
            raise InputError(
                f"{self.key} on {graph.name}: {graph.vertices:,} vertices, and its kernels number all pairs in 32 "
                f"bits, enough for {MAX_IN_32_BITS:,} vertices: take a smaller graph, or one of {', '.join(wide)}"
            )


# fmt: off
_PLAIN = (
    Variant("bellman_ford", "cpu", "CPU", "sssp", serial.bellman_ford, serial.launches),
    Variant("bellman_ford", "naive", "Naive", "sssp", bf.naive, bf.launches),
    Variant("bellman_ford", "stride", "Stride", "sssp", bf.stride, bf.launches),
    Variant("bellman_ford", "stride_flag", "Stride with Flag", "sssp", bf.stride_flag, bf.launches),
    Variant("bellman_ford", "stride_ell", "Stride, ELL", "sssp", ell.stride, bf.launches, note=ell.note),
    Variant("bellman_ford", "frontier_apsp", "Frontier", "apsp", frontier.apsp, frontier.launches),
    Variant("dijkstra", "cpu", "CPU", "apsp", serial.dijkstra, serial.launches),
    Variant("dijkstra", "naive", "Naive", "apsp", dijkstra.naive, dijkstra.launches),
    Variant("floyd_warshall", "cpu", "CPU", "apsp", serial.floyd_warshall, serial.launches),
    Variant("floyd_warshall", "naive", "Naive", "apsp", fw.naive, fw.launches),
    Variant("floyd_warshall", "super_naive", "Super Naive", "apsp", fw.super_naive, fw.launches),
    Variant("floyd_warshall", "super_naive_shared", "Super Naive Shared", "apsp", fw.super_naive_shared, fw.launches),
    Variant("floyd_warshall", "tiled", "Tiled", "apsp", fw.tiled, fw.launches_tiled),
    Variant("floyd_warshall", "tiled_shared", "Tiled with Shared Memory", "apsp", fw.tiled_shared, fw.launches_tiled),
    Variant("floyd_warshall", "blocked", "Blocked", "apsp", blocked_fw.blocked, blocked_fw.launches),
    Variant("floyd_warshall", "blocked16", "Blocked, 16 bits", "apsp", blocked_fw.blocked16, blocked_fw.launches16),
    Variant("floyd_warshall", "staged", "Blocked, Staged", "apsp", blocked_fw.staged, blocked_fw.launches_staged),
    Variant("edge", "sssp", "Edge", "sssp", edge.sssp, bps.launches),
    Variant("edge", "apsp", "Edge", "apsp", edge.apsp, bps.launches),
    Variant("dijkstra", "block_apsp", "Dijkstra", "apsp", dijkstra.block_apsp, bps.launches),
    Variant("delta_stepping", "block_apsp", "Delta-Stepping", "apsp", delta_stepping.block_apsp, bps.launches),
    Variant("delta_stepping", "near_far", "Near-Far", "sssp", near_far.sssp, near_far.launches),
    Variant("dijkstra", "scipy", "SciPy", "sssp", baselines.scipy_dijkstra, serial.launches),
    Variant("dijkstra", "scipy_apsp", "SciPy", "apsp", baselines.scipy_dijkstra, serial.launches),
    Variant("dijkstra", "networkit", "NetworKit", "sssp", baselines.networkit_dijkstra, serial.launches),
    Variant("dijkstra", "networkit_apsp", "NetworKit", "apsp", baselines.networkit_dijkstra, serial.launches,
            parallel=True),
    Variant("floyd_warshall", "scipy", "SciPy", "apsp", baselines.scipy_floyd_warshall, serial.launches),
)
_TWINS = (
    "bellman_ford/naive", "bellman_ford/stride", "bellman_ford/stride_flag",
    "floyd_warshall/naive", "floyd_warshall/super_naive", "floyd_warshall/super_naive_shared",
    "floyd_warshall/tiled", "floyd_warshall/tiled_shared",
)
_BEYOND = (
    "bellman_ford/frontier_apsp", "bellman_ford/stride_ell", "delta_stepping/near_far",
    "floyd_warshall/blocked", "floyd_warshall/blocked16", "floyd_warshall/staged",
)
# fmt: on

VARIANTS = {v.key: v for v in _PLAIN}
VARIANTS |= {f"{key}_graph": replace(VARIANTS[key], name=f"{VARIANTS[key].name}_graph", graph=True) for key in _TWINS}

ALGORITHMS = tuple(dict.fromkeys(v.algorithm for v in VARIANTS.values()))


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
