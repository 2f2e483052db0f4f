"""Convert the raw file of a dataset to the text form: "n m", then "u v w" an arc, vertices from 0.

The raw file, which may have been put there by hand, is checked. A SNAP file gets random weights; a random graph is
generated.
"""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np

from kernels import generate, io
from workflow.data import download


def convert(dataset: str, entry: dict, raw: Path | None, out: Path) -> None:
    """Write the text form of a dataset. Raises InputError if its raw file or its counts are wrong."""
    io.write_text(out, *arcs(dataset, entry, raw))
    logging.info("%s: %d vertices, %d arcs in %s", dataset, entry["vertices"], entry["arcs"], out)


def has_text(entry: dict) -> bool:
    """Return whether a dataset is packed from its text form.

    Graphs of families are packed as they are generated, since their text is large. The text form has no weight 0.
    """
    return not generate.kind_of(entry) and "zero" not in entry


def arcs(dataset: str, entry: dict, raw: Path | None) -> io.Arcs:
    """Return the vertices, tails, heads and weights of a dataset, read from its raw file or generated.

    Raises InputError if the raw file or the counts are wrong.
    """
    vertices, expected = entry["vertices"], download.counts(dataset, entry)
    if generate.kind_of(entry):
        tails, heads, weights = of_family(expected, entry)
    elif entry["format"] == "random":
        if "generate" in entry:
            tails, heads = generate.draw_arcs(vertices, entry["arcs"], **entry["generate"])
        else:
            expected.check(vertices=vertices, arcs=vertices * (vertices - 1))
            tails, heads = generate.complete(vertices)
        weights = generate.draw(len(tails), **drawn(entry))
    else:
        download.verify_raw(raw, dataset, entry)
        vertices, tails, heads, weights = io.FORMATS[entry["format"]].read(raw, expected)
        if weights is None:
            weights = generate.draw(len(tails), **drawn(entry))
    if "zero" in entry:
        weights = generate.zero(vertices, tails, heads, weights, **entry["zero"])
    return vertices, tails, heads, weights


def of_family(expected: io.GraphCounts, entry: dict) -> list[np.ndarray]:
    """Generate tails, heads and weights of a graph of a family, int32. An edge's two arcs have the same weight."""
    vertices, how = entry["vertices"], entry["generate"]
    directed = how["kind"] in generate.DIRECTED
    ends = generate.draw_edges(vertices=vertices, edges=entry["arcs"] // (2 - directed), **how)
    expected.check(arcs=generate.arcs_of(how["kind"], len(ends[0])))
    if how["kind"] == "geometric":
        weights = generate.lengths(generate.points(vertices, how["seed"]), *ends)
    else:
        weights = generate.draw(len(ends[0]), **drawn(entry))
    columns = [(ends[0],), (ends[1],), (weights,)] if directed else [ends, ends[::-1], (weights, weights)]
    return [np.concatenate(column, dtype=np.int32, casting="unsafe") for column in columns]


def drawn(entry: dict) -> dict:
    """Return the weights of a dataset's entry as arguments of generate.draw."""
    names = {"min": "low", "max": "high"}
    return {names.get(key, key): value for key, value in entry.get("weights", {}).items()}
