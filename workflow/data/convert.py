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

READERS = {"dimacs": io.read_dimacs, "snap": io.read_snap, "text": io.read_text}


def convert(dataset: str, entry: dict, raw: Path | None, out: Path, origins: Path = download.ORIGINS) -> None:
    """Write the text form of a dataset. Raises InputError if its raw file or its counts are wrong."""
    vertices, expected = entry["vertices"], download.counts(dataset, entry)
    if kind := generate.kind_of(entry):
        expected.check(arcs=2 * (entry["arcs"] // 2))  # as many one way as the other
        ends = generate.draw_edges(kind, vertices, entry["arcs"] // 2, entry["generate"]["seed"])
        weights = generate.draw(len(ends[0]), **drawn(entry))
        both_ways = np.r_[ends[0], ends[1]], np.r_[ends[1], ends[0]], np.r_[weights, weights]
        io.write_text(out, vertices, *both_ways)
    elif "generate" in entry:
        arcs = generate.draw_arcs(vertices, entry["arcs"], **entry["generate"])
        io.write_text(out, vertices, *arcs, generate.draw(entry["arcs"], **drawn(entry)))
    elif entry["format"] == "random":
        expected.check(vertices=vertices, arcs=vertices * (vertices - 1))
        generate.random(vertices, out, **drawn(entry))
    else:
        download.verify_raw(raw, dataset, entry, origins)
        vertices, tails, heads, weights = READERS[entry["format"]](raw, expected)
        if weights is None:
            weights = generate.draw(len(tails), **drawn(entry))
        io.write_text(out, vertices, tails, heads, weights)
    logging.info("%s: %d vertices, %d arcs in %s", dataset, entry["vertices"], entry["arcs"], out)


def drawn(entry: dict) -> dict:
    """Return the range and seed of a dataset's weights as arguments of generate.draw."""
    names = {"min": "low", "max": "high", "seed": "seed"}
    return {names[key]: value for key, value in entry.get("weights", {}).items()}
