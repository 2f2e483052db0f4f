"""The registry: one entry for each variant.

A listed variant is measured, checked and documented. To add one, write its function and its entry
(docs/extending.md). workflow/paper/tables.yaml says which tables and figures show it.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from .errors import InputError, NotInstalled
from .lazy import LazyFunction

if TYPE_CHECKING:
    from .graph import Graph

ALL_PAIRS_REVISION = 2  # like Variant.revision, for all pairs without a matrix (fast/hierarchy/all_pairs.py)
MAX_IN_32_BITS = 2**16 - 1  # maximum number of vertices whose pairs can be numbered in 32 bits


@dataclass(frozen=True, eq=False)  # compared by identity, so that sets can hold variants
class Variant:
    """One way to run an algorithm.

    A function is a callable or "module:name" in this package. Raise `revision` by one if a change can change what is
    measured: the kernels' code, the sequence of launches, or what is inside the timed region (docs/extending.md).
    """

    algorithm: str
    name: str
    title: str  # its name in the paper or in a document, without the algorithm
    problem: Literal["sssp", "apsp"]  # from one source; all pairs
    function: Any  # called as function(graph, result, run); fills the result
    origin: str  # paper, sparry, ours or library; "ours" is repeated more often (extensions in config.yaml)
    # A function (vertices, tile) that returns the number of kernel launches, or None if it depends on the weights.
    # By default the function `launches` of the same module.
    launches: Any = ""
    device: Literal["gpu", "cpu"] = "gpu"
    index_bits: int = 64  # the width in which its kernels number pairs of vertices
    cuda_graph: bool = False  # whether it replays the launches of its plain variant from CUDA graphs
    parallel: bool = False  # whether a CPU variant runs on all cores
    facts: Any = None  # function (graph, source) that returns extra columns about the layout
    revision: int = 1
    package: str = ""  # the library's distribution; its version replaces the revision
    needs: str = ""  # a package that it imports and that may be missing; pip installs it by the same name

    def __post_init__(self):
        if not self.launches:
            object.__setattr__(self, "launches", f"{self.function.split(':')[0]}:launches")
        for name in ("function", "launches", "facts"):
            if isinstance(value := getattr(self, name), str):
                module, _, function = value.partition(":")
                object.__setattr__(self, name, LazyFunction(f"{__package__}.{module}", function))

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
        """Whether the kernels number all pairs of vertices in 32 bits."""
        return self.problem == "apsp" and self.index_bits == 32

    @property
    def plain(self) -> str:
        """The key of the variant that makes the same launches without CUDA graphs; its own key if it uses none."""
        return self.key.removesuffix("_graph") if self.cuda_graph else self.key

    def check_installed(self) -> None:
        """Raise NotInstalled if the package that the variant needs cannot be imported."""
        try:
            if self.needs:
                importlib.import_module(self.needs)
        except ImportError as error:
            if isinstance(error, ModuleNotFoundError) and error.name == self.needs:
                raise NotInstalled(f"{self.needs} is not installed: pip install {self.needs}") from None
            raise NotInstalled(f"{self.needs} is installed but cannot be imported: {error}") from None

    def check_size(self, graph: Graph) -> None:
        """Raise InputError if the kernels cannot number all pairs of the graph's vertices."""
        if self.in_32_bits and graph.vertices > MAX_IN_32_BITS:
            wide = (v.key for v in VARIANTS.values() if v.problem == "apsp" and v.on_gpu and not v.in_32_bits)
            raise InputError(
                f"{self.key} on {graph.name}: {graph.vertices:,} vertices, and its kernels number all pairs in 32 "
                f"bits, enough for {MAX_IN_32_BITS:,} vertices: take a smaller graph, or one of {', '.join(wide)}"
            )


# Arguments that several entries share.
_IN_32_BITS: dict[str, Any] = {"origin": "paper", "index_bits": 32}
_TILED: dict[str, Any] = _IN_32_BITS | {"launches": "paper.floyd_warshall:launches_tiled"}
_SPARRY: dict[str, Any] = {"origin": "sparry", "launches": "sparry.block_per_source:launches", "index_bits": 32}
_SCIPY: dict[str, Any] = {"origin": "library", "launches": "paper.serial:launches", "device": "cpu", "package": "scipy"}
_NETWORKIT: dict[str, Any] = _SCIPY | {"package": "networkit", "needs": "networkit"}
_HIERARCHY: dict[str, Any] = {"origin": "ours", "needs": "pymetis"}

_ENTRIES = (
    Variant("bellman_ford", "cpu", "CPU", "sssp", "paper.serial:bellman_ford", "paper", device="cpu"),
    Variant("bellman_ford", "naive", "Naive", "sssp", "paper.bellman_ford:naive", "paper"),
    Variant("bellman_ford", "stride", "Stride", "sssp", "paper.bellman_ford:stride", "paper"),
    Variant("bellman_ford", "stride_flag", "Stride with Flag", "sssp", "paper.bellman_ford:stride_flag", "paper"),
    Variant(
        "bellman_ford",
        "stride_ell",
        "Stride, ELL",
        "sssp",
        "fast.ell:stride",
        "ours",
        launches="paper.bellman_ford:launches",
        facts="fast.ell:facts",
    ),
    Variant("bellman_ford", "multi_source_apsp", "Multi-Source", "apsp", "fast.multi_source:apsp", "ours"),
    Variant("dijkstra", "cpu", "CPU", "apsp", "paper.serial:dijkstra", "paper", device="cpu"),
    Variant("dijkstra", "naive", "Naive", "apsp", "paper.dijkstra:naive", **_IN_32_BITS),
    Variant("floyd_warshall", "cpu", "CPU", "apsp", "paper.serial:floyd_warshall", "paper", device="cpu"),
    Variant("floyd_warshall", "naive", "Naive", "apsp", "paper.floyd_warshall:naive", **_IN_32_BITS),
    Variant("floyd_warshall", "super_naive", "Super Naive", "apsp", "paper.floyd_warshall:super_naive", **_IN_32_BITS),
    Variant(
        "floyd_warshall",
        "super_naive_shared",
        "Super Naive Shared",
        "apsp",
        "paper.floyd_warshall:super_naive_shared",
        **_IN_32_BITS,
    ),
    Variant("floyd_warshall", "tiled", "Tiled", "apsp", "paper.floyd_warshall:tiled", **_TILED),
    Variant(
        "floyd_warshall",
        "tiled_shared",
        "Tiled with Shared Memory",
        "apsp",
        "paper.floyd_warshall:tiled_shared",
        **_TILED,
    ),
    Variant("floyd_warshall", "blocked", "Blocked", "apsp", "fast.blocked_floyd_warshall:blocked", "ours"),
    Variant(
        "floyd_warshall",
        "blocked16",
        "Blocked, 16 bits",
        "apsp",
        "fast.blocked_floyd_warshall:blocked16",
        "ours",
        launches="fast.blocked_floyd_warshall:launches16",
    ),
    Variant("floyd_warshall", "staged", "Blocked, Staged", "apsp", "fast.staged_floyd_warshall:staged", "ours"),
    Variant("edge", "sssp", "Edge", "sssp", "sparry.edge:sssp", **_SPARRY),
    Variant("edge", "apsp", "Edge", "apsp", "sparry.edge:apsp", **_SPARRY),
    Variant("dijkstra", "block_apsp", "Dijkstra", "apsp", "sparry.dijkstra:block_apsp", **_SPARRY),
    Variant("delta_stepping", "block_apsp", "Delta-Stepping", "apsp", "sparry.delta_stepping:block_apsp", **_SPARRY),
    Variant("delta_stepping", "near_far", "Near-Far", "sssp", "fast.near_far:sssp", "ours", revision=7),
    Variant(
        "hierarchy", "sssp", "Contraction Hierarchy", "sssp", "fast.hierarchy.variants:sssp", revision=7, **_HIERARCHY
    ),
    Variant(
        "hierarchy", "apsp", "Contraction Hierarchy", "apsp", "fast.hierarchy.variants:apsp", revision=2, **_HIERARCHY
    ),
    Variant("dijkstra", "scipy", "SciPy", "sssp", "libraries:scipy_dijkstra", **_SCIPY),
    Variant("dijkstra", "scipy_apsp", "SciPy", "apsp", "libraries:scipy_dijkstra", **_SCIPY),
    Variant("dijkstra", "networkit", "NetworKit", "sssp", "libraries:networkit_dijkstra", **_NETWORKIT),
    Variant(
        "dijkstra", "networkit_apsp", "NetworKit", "apsp", "libraries:networkit_dijkstra", **_NETWORKIT, parallel=True
    ),
    Variant("floyd_warshall", "scipy", "SciPy", "apsp", "libraries:scipy_floyd_warshall", **_SCIPY),
)
# The plain variants that also have a CUDA-graph variant, which replays the same launches from CUDA graphs.
_WITH_GRAPH = (
    *(f"bellman_ford/{name}" for name in ("naive", "stride", "stride_flag")),
    *(f"floyd_warshall/{name}" for name in ("naive", "super_naive", "super_naive_shared", "tiled", "tiled_shared")),
)
VARIANTS = {variant.key: variant for variant in _ENTRIES}
VARIANTS |= {
    f"{key}_graph": replace(VARIANTS[key], name=f"{VARIANTS[key].name}_graph", cuda_graph=True) for key in _WITH_GRAPH
}
ALGORITHMS = tuple(dict.fromkeys(variant.algorithm for variant in VARIANTS.values()))


def find(algorithm: str, name: str) -> Variant:
    """Return the variant; if there is none, raise InputError, which lists the valid ones."""
    try:
        return VARIANTS[f"{algorithm}/{name}"]
    except KeyError:
        raise InputError(f"there is no variant {algorithm}/{name}: choose one of {', '.join(VARIANTS)}") from None


def select(pattern: str, on_gpu: bool) -> list[Variant]:
    """Return the GPU or CPU variants that match `pattern`, which is an algorithm or "algorithm/name"."""
    found = [v for v in VARIANTS.values() if pattern in (v.algorithm, v.key) and v.on_gpu == on_gpu]
    if not found:
        kind = "GPU" if on_gpu else "CPU"
        valid = dict.fromkeys(p for v in VARIANTS.values() if v.on_gpu == on_gpu for p in (v.algorithm, v.key))
        raise InputError(f"{pattern!r} is no {kind} variant: choose one of {', '.join(valid)}")
    return found
