"""Measure searches from many sources of one graph at once, in its hierarchy: results/many_sources/<dataset>.csv.

A row a repeat, of two kinds. rows: from as many sources as the card has memory for, consecutive in preorder from a
random start; all distances stay on the card. reduced: from all sources, or from as many as fit at once if all would
take longer than the budget; only all_pairs.Reduced of each source is kept.

Before each repeat the results are filled with a value that is no distance. After it the results of some sources are
compared with the oracle's.
"""

import hashlib
import logging
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from kernels.errors import InputError, NotEnoughMemory, WrongResult
from kernels.fast.hierarchy import all_pairs, elimination, fragments
from kernels.graph import Graph
from kernels.registry import ALL_PAIRS_REVISION
from kernels.run import Run
from workflow.measure import measure, oracle
from workflow.measure.provenance import StepContext, provenance
from workflow.store.benchmarks import KINDS, MANY_SOURCES, REDUCED

SEED = 0  # of the first source, and of the sample that is checked


class Sample:
    """At most `count` sources that are checked, and what the oracle says of each."""

    def __init__(self, graph: Graph, count: int):
        self.graph, self.count = graph, count
        self.expected: dict[int, dict] = {}  # of reduce_row; digest: of the row of distances

    def of(self, sources: np.ndarray) -> np.ndarray:
        """Return the positions of the checked sources; the first call draws them."""
        if not self.expected:
            drawn = np.random.default_rng(SEED).choice(sources, min(self.count, len(sources)), replace=False)
            for source, row in zip(drawn.tolist(), oracle.rows(self.graph, drawn), strict=True):
                self.expected[source] = {"digest": digest(row), **oracle.reduce_row(row)}
        return np.flatnonzero(np.isin(sources, list(self.expected)))

    def check_row(self, source: int, row: np.ndarray) -> None:
        """Raise WrongResult for the first wrong distance."""
        if digest(row) != self.expected[source]["digest"]:
            (expected,) = oracle.rows(self.graph, np.array([source]))
            v = np.flatnonzero(row != expected)[0]
            self.refuse(source, f"distance of vertex {v} is {row[v]}, the oracle says {expected[v]}")

    def check_reduced(self, source: int, reductions: all_pairs.Reduced, position: int) -> None:
        """Raise WrongResult for the first value that differs from that of the oracle's row."""
        for what in ("eccentricity", "reached", "total"):
            value, expected = int(getattr(reductions, what)[position]), self.expected[source][what]
            if value != expected:
                self.refuse(source, f"{what} is {value}, but {expected} by the oracle's row")

    def refuse(self, source: int, said: str) -> None:
        raise WrongResult(f"{self.graph.name}, source {source}: {said}")


def digest(row: np.ndarray) -> bytes:
    return hashlib.sha256(row).digest()


def timed_repeats(graph: Graph, options: dict, block: int, setting: StepContext) -> Iterator[dict]:
    """Yield a row a repeat, with all columns. options: repeats, rows_checked and budget_s.

    Raises InputError, NotEnoughMemory and WrongResult.
    """
    compile_all(block)
    common = common_columns(graph, setting)
    customized = [
        all_pairs.ManySourceSearch(graph, reduces=False, run=Run(block=block)).customize_s
        for _ in range(options["repeats"])
    ]
    sample = Sample(graph, options["rows_checked"])
    for kind in KINDS:
        for row in repeats(kind, graph, sample, options, block):
            yield common | row | {"customize_s": customized[row["repeat"] - 1]}


def common_columns(graph: Graph, setting: StepContext) -> dict:
    """Prepare the hierarchy and its layout, and return the columns that are the same in all rows."""
    hierarchy = elimination.hierarchy_of(graph)
    started = time.perf_counter()
    _, cut = fragments.hierarchy_and_fragments(graph)
    fragments.records(cut)
    layout_s = time.perf_counter() - started
    counts = hierarchy.counts
    return provenance(MANY_SOURCES.columns, setting, graph) | {
        "height": counts.height,
        "hierarchy_arcs": counts.arcs,
        "triangles": counts.triangles,
        "order_s": hierarchy.order_s,
        "tree_s": hierarchy.tree_s,
        "layout_s": layout_s,
        "revision": ALL_PAIRS_REVISION,
    }


def compile_all(block: int) -> None:
    """Compile what runs on the host, so that no measured time includes it."""
    tiny = Graph.from_arcs(2, np.array([0, 1]), np.array([1, 0]), np.ones(2, np.int32), directed=False)
    for kind in KINDS:
        all_pairs.ManySourceSearch(tiny, reduces=kind == REDUCED, run=Run(block=block))


def repeats(kind: str, graph: Graph, sample: Sample, options: dict, block: int) -> Iterator[dict]:
    """Yield the columns that differ between repeats, but for customize_s; a first search is not counted."""
    searches = all_pairs.ManySourceSearch(graph, reduces=kind == REDUCED, run=Run(block=block))
    sources = consecutive(elimination.hierarchy_of(graph).vertices, searches.most)
    searches.allocate(len(sources))
    seconds, _ = search(kind, searches, sources)  # loads the kernels
    if kind == REDUCED and seconds / len(sources) * graph.vertices <= options["budget_s"]:
        sources = np.arange(graph.vertices)
    due, repeat = options["repeats"], 0
    while repeat < due:
        repeat += 1
        searches.poison()
        started = datetime.now(UTC).isoformat(timespec="seconds")
        seconds, reductions = search(kind, searches, sources)
        checked = check_sample(searches, reductions, sources, sample)
        due = min(due, max(1, int(options["budget_s"] // seconds)))
        own = {"kind": kind, "repeat": repeat, "sources": len(sources), "search_s": seconds}
        yield own | {"rows_checked": checked, "started": started}
    logging.info("%s, %s: %d repeats from %d sources, checked", graph.name, kind, repeat, len(sources))


def consecutive(vertices: np.ndarray, most: int) -> np.ndarray:
    """Return at most `most` consecutive vertices from a fixed random start; a longer slice contains a shorter one."""
    start = np.random.default_rng(SEED).integers(len(vertices))
    return vertices[max(0, min(start, len(vertices) - most)) :][:most]


def search(
    kind: str, searches: all_pairs.ManySourceSearch, sources: np.ndarray
) -> tuple[float, all_pairs.Reduced | None]:
    """Return the seconds on the card, and the reductions; of kind rows None, since the rows stay on the card."""
    before = searches.search_s
    if kind == REDUCED:
        reductions = all_pairs.reduced(searches, sources)
        return searches.search_s - before, reductions
    (_,) = searches.pieces(sources)
    return searches.search_s - before, None


def check_sample(
    searches: all_pairs.ManySourceSearch, reductions: all_pairs.Reduced | None, sources: np.ndarray, sample: Sample
) -> int:
    """Compare what was found of the sample with the oracle's; return the number of checked sources."""
    positions = sample.of(sources)
    for source, position in zip(sources[positions].tolist(), positions, strict=True):
        if reductions:
            sample.check_reduced(source, reductions, position)
        else:
            sample.check_row(source, *searches.rows([position]))
    return len(positions)


def measure_many_sources(graph: Path, options: dict, block: int, out: Path, setting: StepContext) -> None:
    """Measure on a packed graph, and write the CSV at the end; options: see timed_repeats."""
    with measure.reserved(out, "many_sources", setting.cores):
        loaded = measure.packed(graph)
        try:
            rows = list(timed_repeats(loaded, options, block, setting))
        except NotEnoughMemory as error:
            raise InputError(f"many_sources of {loaded.name}: {error}: use a card with more memory") from None
        MANY_SOURCES.write(rows, out)
