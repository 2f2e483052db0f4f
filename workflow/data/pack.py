"""Pack a dataset as CSR arrays, with its origin.

The meta of a packed graph has these keys:

name        the dataset
sha256      the digest of the text form, or of the CSR arrays if the dataset has no text form
entry       the keys of the dataset's entry that define the graph, such as sources, format and weights
origin      the record of the raw file
generated   how the graph was generated, if it was
substitute  one sentence, if the graph is not the paper's
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from pathlib import Path

import numpy as np

from kernels import generate, io
from kernels.errors import InputError
from kernels.graph import Graph, read_packed
from workflow.data import convert, download
from workflow.store import paper

PAPER = Path(__file__).parents[1] / "paper" / "datasets.csv"


def pack(dataset: str, entry: dict, source: Path | None, out: Path) -> None:
    """Write the packed form. Raises InputError if the source is wrong.

    source: the text form; without one (convert.has_text), the raw file, or None if the graph is generated.
    """
    from_text = convert.has_text(entry)
    arcs = io.read_text(source) if from_text else convert.arcs(dataset, entry, source)
    directed = entry.get("directed", True)
    if not directed and source:
        check_reverses(dataset, *arcs)
    raw = download.raw_name(entry)
    meta = {
        "name": dataset,
        "entry": entry,
        "origin": download.read_origin(raw) if raw and not download.local(entry) else None,
        "generated": generated(entry),
        "substitute": entry.get("substitute") or substitute(dataset, arcs[0], len(arcs[1]), raw),
    }
    graph = Graph.from_arcs(*arcs, directed=directed, meta=meta)
    graph.meta["sha256"] = io.sha256(source) if from_text else csr_sha256(graph)
    with io.atomic(out) as file:
        graph.write(file)
    logging.info("%s: packed in %s%s", dataset, out, f"; {meta['substitute']}" if meta["substitute"] else "")


def digest(path: Path) -> str | None:
    """Return the sha256 of a packed graph without reading its arrays; None if the file is missing or damaged."""
    try:
        with read_packed(path, "a packed graph", "") as array:
            return json.loads(str(array("meta")))["sha256"]
    except InputError:
        return None


def csr_sha256(graph: Graph) -> str:
    """Return the SHA-256 of "n m", a line end, and indptr, indices and weights as little-endian int32."""
    digest = hashlib.sha256(b"%d %d\n" % (graph.vertices, graph.arcs))
    for array in (graph.indptr, graph.indices, graph.weights):
        digest.update(np.ascontiguousarray(array, "<i4"))
    return digest.hexdigest()


def check_reverses(dataset: str, vertices: int, tails, heads, weights) -> None:
    """Raise InputError if an arc has no reverse of the same weight."""
    up, down = tails < heads, tails > heads
    forth = _sorted_arcs(vertices, tails[up], heads[up], weights[up])
    back = _sorted_arcs(vertices, heads[down], tails[down], weights[down])
    if not np.array_equal(forth, back):
        both = min(len(forth), len(back))
        differ = np.flatnonzero((forth[:both] != back[:both]).any(axis=1))
        place = differ[0] if len(differ) else both
        pair, weight = min(tuple(arcs[place]) for arcs in (forth, back) if place < len(arcs))
        tail, head = divmod(int(pair), vertices)
        raise InputError(
            f"{dataset}: between {tail} and {head} (numbered from 0) an arc of weight {weight} has no reverse: "
            f"set datasets.{dataset}.directed to true"
        )


def _sorted_arcs(vertices: int, tails, heads, weights) -> np.ndarray:
    """Return the arcs, sorted, as int64 of shape (m, 2): the two vertices as one number, and the weight."""
    pairs = tails * vertices + heads
    order = np.lexsort((weights, pairs))
    return np.column_stack([pairs[order], weights[order]])


def generated(entry: dict) -> str | None:
    """Say how a graph without a raw file was made, or one with weights set to 0; None for others."""
    if zero := entry.get("zero"):
        made = generated({key: value for key, value in entry.items() if key != "zero"}) or download.raw_name(entry)
        return f"{made}, weights of a share of {zero['share']:g} of the edges set to 0, seed {zero['seed']}"
    if entry["format"] != "random":
        return None
    if "generate" not in entry:
        return "a complete graph"
    how, skew = entry["generate"], entry["generate"].get("skew")
    if kind := generate.kind_of(entry):
        options = [f", {name} {value:g}" for name, value in how.items() if name not in ("kind", "seed")]
        seed = f", seed {how['seed']}" if kind != "grid" else ""
        both = "" if kind in generate.DIRECTED else ", weights the same both ways"
        return f"family {kind}{''.join(options)}{seed}{both}"
    return f"random arcs, seed {how['seed']}" + (f", out-degrees by a power law of exponent {skew:g}" if skew else "")


def substitute(dataset: str, vertices: int, arcs: int, raw: str | None) -> str | None:
    """Say in one sentence how a dataset differs from the paper's of that name; None if it does not."""
    known = paper.datasets(PAPER)
    if dataset not in known.index or tuple(known.loc[dataset]) == (vertices, arcs, raw):
        return None
    theirs = known.loc[dataset]
    shown = re.sub(r"[;\x00-\x1f]", "_", raw) if raw else "a random graph"  # ";" would end the sentence
    return (
        f"not the paper's file: {vertices:,} vertices, {arcs:,} arcs from {shown} "
        f"(the paper: {theirs.vertices:,} vertices, {theirs.arcs:,} arcs from {theirs.file})"
    )
