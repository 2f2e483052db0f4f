"""Pack the text form of one dataset as CSR arrays, with what is known of where it comes from.

The packed graph's meta holds name, sha256 (of the text
form), entry (sources, format, weights), origin (the record of the raw file, or None), generated (how,
where there is no raw file, or None) and substitute (one sentence where the data is not the paper's, or None).
"""

from __future__ import annotations

import logging
import re
from pathlib import Path

import numpy as np

from kernels import generate, io
from kernels.errors import InputError
from kernels.graph import Graph
from workflow.data import download
from workflow.store import paper

PAPER = Path(__file__).parents[1] / "paper" / "datasets.csv"


def pack(dataset: str, entry: dict, text: Path, out: Path, origins: Path = download.ORIGINS) -> None:
    """Write the packed form. Raises InputError where the text form is wrong."""
    vertices, tails, heads, weights = io.read_text(text)
    directed = entry.get("directed", True)
    if not directed:
        check_reverses(dataset, vertices, tails, heads, weights)
    raw = download.raw_name(entry)
    meta = {
        "name": dataset,
        "sha256": io.sha256(text),
        "entry": entry,
        "origin": download.read_origin(raw, origins) if raw and not download.local(entry) else None,
        "generated": generated(entry),
        "substitute": entry.get("substitute") or substitute(dataset, vertices, len(tails), raw),
    }
    graph = Graph.from_arcs(vertices, tails, heads, weights, directed=directed, meta=meta)
    with io.atomic(out) as file:
        graph.write(file)
    logging.info("%s: packed in %s%s", dataset, out, f"; {meta['substitute']}" if meta["substitute"] else "")


def check_reverses(dataset: str, vertices: int, tails, heads, weights) -> None:
    """Raises InputError where an arc lacks its own reverse of the same weight."""
    up, down = tails < heads, tails > heads
    there = _sorted_arcs(vertices, tails[up], heads[up], weights[up])
    back = _sorted_arcs(vertices, heads[down], tails[down], weights[down])
    if not np.array_equal(there, back):
        both = min(there.shape[1], back.shape[1])
        differ = np.flatnonzero((there[:, :both] != back[:, :both]).any(axis=0))
        place = differ[0] if len(differ) else both
        pair, weight = min(tuple(arcs[:, place]) for arcs in (there, back) if place < arcs.shape[1])
        tail, head = divmod(int(pair), vertices)
        raise InputError(
            f"{dataset}: between {tail} and {head} (numbered from 0) the arc of weight {weight} goes one "
            f"way only: set datasets.{dataset}.directed to true"
        )


def _sorted_arcs(vertices: int, tails, heads, weights) -> np.ndarray:
    """int64, (2, m): the arcs' vertex pairs, each as one number, over their weights; sorted."""
    pairs = tails * vertices + heads
    order = np.lexsort((weights, pairs))
    return np.stack([pairs[order], weights[order]])


def generated(entry: dict) -> str | None:
    """How a dataset without a raw file was made; None for the others."""
    if entry["format"] != "random":
        return None
    if "generate" not in entry:
        return "a complete graph"
    how, skew = entry["generate"], entry["generate"].get("skew")
    if kind := generate.kind_of(entry):
        return f"family {kind}" + (f", seed {how['seed']}" if kind != "grid" else "") + ", weights the same both ways"
    return f"random arcs, seed {how['seed']}" + (f", out-degrees by a power law of exponent {skew:g}" if skew else "")


def substitute(dataset: str, vertices: int, arcs: int, raw: str | None) -> str | None:
    """How a dataset differs from the paper's of that name, in one sentence; None where it does not."""
    theirs = paper.datasets(PAPER)
    if dataset not in theirs.index or tuple(theirs.loc[dataset]) == (vertices, arcs, raw):
        return None
    there = theirs.loc[dataset]
    shown = re.sub(r"[;\x00-\x1f]", "_", raw) if raw else "a random graph"  # ";" would end the sentence
    return (
        f"not the paper's file: {vertices:,} vertices, {arcs:,} arcs from {shown} "
        f"(the paper: {there.vertices:,} vertices, {there.arcs:,} arcs from {there.file})"
    )
