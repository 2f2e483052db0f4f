"""Measure searches from many sources of one graph at once, in its hierarchy: results/many_sources/<dataset>.csv.

A row a repeat, of two kinds. rows: from as many sources as the card has memory for, which follow each other in preorder
from a random start; all distances stay on the card, by vertex in the order of the hierarchy, a column a source.
reduced: from all sources, or from as many as fit at once where all would take longer than the budget; of each only what
all_pairs.Reduced has.

Before each repeat what the search writes is filled with a value that is no distance; after it all distances from some
of the sources (rows), or what was found of these sources (reduced), are compared with the oracle's.
"""

import hashlib
import importlib.metadata
import logging
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from kernels.errors import InputError, NotEnoughMemory, WrongResult
from kernels.fast.hierarchy import all_pairs, elimination, fragments
from kernels.gpu import card
from kernels.graph import Graph
from kernels.io import writable
from kernels.registry import ALL_PAIRS_REVISION
from kernels.run import Run
from workflow.measure import host, lock, measure
from workflow.measure.oracle import in_pieces, oracle_rows, reduce_row
from workflow.views.many_sources_table import KINDS, REDUCED, SCHEMA

SEED = 0  # of where the sources start, and of those that are checked


@dataclass(frozen=True)
class Truth:
    """What the oracle says of a source. digest: SHA-256 of its row of distances, int32, in the graph's order."""

    digest: bytes
    eccentricity: int
    reached: int
    total: int


class Sample:
    """Sources that are checked, at most `count`, and the truth of each, which the oracle is asked for once.

    processes: share the oracle's work.
    """

    def __init__(self, graph: Graph, count: int, processes: int):
        self.graph, self.count, self.processes, self.truths = graph, count, processes, {}

    def of(self, sources: np.ndarray) -> np.ndarray:
        """Places of those of the sources that are checked; the first call draws them."""
        if not self.truths:
            drawn = np.random.default_rng(SEED).choice(sources, min(self.count, len(sources)), replace=False)
            for some in in_pieces(drawn, self.graph.vertices):
                rows = oracle_rows(self.graph, some, self.processes)
                self.truths |= zip(some.tolist(), map(truth, rows), strict=True)
        return np.flatnonzero(np.isin(sources, list(self.truths)))

    def check_row(self, source: int, row: np.ndarray) -> None:
        """Raise WrongResult that names the first wrong distance."""
        if digest(row) != self.truths[source].digest:
            (expected,) = oracle_rows(self.graph, np.array([source]))
            v = np.flatnonzero(row != expected)[0]
            self.refuse(source, f"distance of vertex {v} is {row[v]}, the oracle says {expected[v]}")

    def check_reduced(self, source: int, **found: int) -> None:
        """Raise WrongResult where what was found of a source is not what its row adds up to."""
        for what, value in found.items():
            if value != (expected := getattr(self.truths[source], what)):
                self.refuse(source, f"{what} is {value}, by the oracle's row {expected}")

    def refuse(self, source: int, said: str) -> None:
        raise WrongResult(f"{self.graph.name}, source {source}: {said}")


def digest(row: np.ndarray) -> bytes:
    return hashlib.sha256(row).digest()


def truth(row: np.ndarray) -> Truth:
    return Truth(digest(row), **reduce_row(row))


def measured(graph: Graph, options: dict, block: int, commit: str, processes: int = 1) -> Iterator[dict]:
    """Yield a row a repeat, with all columns. options: repeats, rows_checked and budget_s.

    Raises InputError, NotEnoughMemory and WrongResult.
    """
    compile_all(block)
    hierarchy = elimination.of(graph)
    started = time.perf_counter()
    _, cut = fragments.of(graph)
    fragments.records(cut)
    layout_s = time.perf_counter() - started
    counts = hierarchy.counts
    commit, clean = measure.state_of_project(commit)
    about = card.describe(on_gpu=True)
    common = {
        "dataset": graph.name,
        "vertices": graph.vertices,
        "arcs": graph.arcs,
        "height": counts.height,
        "hierarchy_arcs": counts.arcs,
        "triangles": counts.triangles,
        "order_s": hierarchy.order_s,
        "tree_s": hierarchy.tree_s,
        "layout_s": layout_s,
        "device": about["device"],
        "driver": about["driver"],
        "card_uuid": card.card_uuid(),
        "host_id": host.host_id(),
        "host": platform.node(),
        "numba_cuda": importlib.metadata.version("numba-cuda"),
        "revision": ALL_PAIRS_REVISION,
        "commit": commit,
        "tree_clean": clean,
        "dataset_sha256": graph.meta["sha256"],
        "substitute": graph.meta.get("substitute") or "",
    }
    customized = [
        all_pairs.AllPairsSearch(graph, reduces=False, run=Run(block=block)).customize_s
        for _ in range(options["repeats"])
    ]
    sample = Sample(graph, options["rows_checked"], processes)
    for kind in KINDS:
        for row in repeats(kind, graph, sample, options, block):
            yield common | row | {"customize_s": customized[row["repeat"] - 1]}


def compile_all(block: int) -> None:
    """Compile what runs on the host, so that no time has it."""
    tiny = Graph.from_arcs(2, np.array([0, 1]), np.array([1, 0]), np.ones(2, np.int32), directed=False)
    for kind in KINDS:
        all_pairs.AllPairsSearch(tiny, reduces=kind == REDUCED, run=Run(block=block))


def repeats(kind: str, graph: Graph, sample: Sample, options: dict, block: int) -> Iterator[dict]:
    """The columns of each repeat that are its own, but for customize_s; a search before them is not counted."""
    searches = all_pairs.AllPairsSearch(graph, reduces=kind == REDUCED, run=Run(block=block))
    sources = consecutive(elimination.of(graph).vertices, searches.most)
    searches.allocate(len(sources))
    seconds, _ = search(kind, searches, sources)  # loads the kernels
    if kind == REDUCED and seconds / len(sources) * graph.vertices <= options["budget_s"]:
        sources = np.arange(graph.vertices)
    due, repeat = options["repeats"], 0
    while repeat < due:
        repeat += 1
        searches.poison()
        started = datetime.now(UTC).isoformat(timespec="seconds")
        seconds, found = search(kind, searches, sources)
        checked = check(searches, found, sources, sample)
        due = min(due, max(1, int(options["budget_s"] // seconds)))
        own = {"kind": kind, "repeat": repeat, "sources": len(sources), "search_s": seconds}
        yield own | {"rows_checked": checked, "started": started}
    logging.info("%s, %s: %d repeats from %d sources, checked", graph.name, kind, repeat, len(sources))


def consecutive(vertices: np.ndarray, most: int) -> np.ndarray:
    """At most so many of the vertices, which are in preorder, from the same start; more contain fewer."""
    start = np.random.default_rng(SEED).integers(len(vertices))
    return vertices[max(0, min(start, len(vertices) - most)) :][:most]


def search(
    kind: str, searches: all_pairs.AllPairsSearch, sources: np.ndarray
) -> tuple[float, all_pairs.Reduced | None]:
    """Seconds on the card, and what was found where that is not the rows, which stay there."""
    before = searches.search_s
    if kind == REDUCED:
        found = all_pairs.reduced(searches, sources)
        return searches.search_s - before, found
    (_,) = searches.pieces(sources)
    return searches.search_s - before, None


def check(
    searches: all_pairs.AllPairsSearch, found: all_pairs.Reduced | None, sources: np.ndarray, sample: Sample
) -> int:
    """Compare what was found of the sample with the oracle's; of how many sources. Raises WrongResult."""
    places = sample.of(sources)
    for some in in_pieces(places, sample.graph.vertices):
        if found:
            for i in some:
                values = {name: int(getattr(found, name)[i]) for name in ("eccentricity", "reached", "total")}
                sample.check_reduced(int(sources[i]), **values)
        else:
            for source, row in zip(sources[some].tolist(), searches.rows(some), strict=True):
                sample.check_row(source, row)
    return len(places)


def measure_many_sources(
    graph: Path, options: dict, block: int, out: Path, setting: measure.Setting, processes: int = 1
) -> None:
    """Measure on a packed graph, and write the CSV at the end. options: as measured takes them.

    Raises InputError if there is no GPU or too little memory on it, if another process measures the file, or if a
    result is wrong.
    """
    writable(out)
    with lock.held(out), host.one_card(setting.cores):
        if not card.gpu_visible():
            raise InputError("many_sources needs a GPU and none is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES")
        loaded = measure.packed(graph)
        try:
            rows = list(measured(loaded, options, block, setting.commit, processes))
        except NotEnoughMemory as error:
            raise InputError(f"many_sources of {loaded.name}: {error}: take a card with more memory") from None
        except WrongResult as error:
            raise InputError(f"many_sources: wrong result, nothing is published: {error}") from None
        SCHEMA.write(rows, out)
