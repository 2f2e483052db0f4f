"""Write the report's appendix, a page of HTML each: what the cells were measured on, and the configuration."""

import argparse
import re
from pathlib import Path

import pandas as pd
import yaml

from workflow.lib import pages, records, step
from workflow.lib.render import save

# Columns of the pages: the head of each by its key in a provenance, levels joined by dots.
RUNS = {
    "algorithm": "Algorithm",
    "variant": "Variant",
    "dataset": "Dataset",
    "batch": "Batch",
    "commit": "Commit",
    "tree_clean": "Tree clean",
    "config_digest": "Digest of the configuration",
    "slurm.SLURM_JOB_ID": "Slurm job",
    "card.before.sm_clock_mhz": "MHz before",
    "card.after.sm_clock_mhz": "MHz after",
    "card.before.temperature_c": "°C before",
    "card.after.temperature_c": "°C after",
    "card.before.throttling": "Throttled before",
    "card.after.throttling": "Throttled after",
}
GRAPHS = {
    "dataset": "Dataset",
    "graph.entry.vertices": "Vertices",
    "graph.entry.arcs": "Arcs",
    "graph.entry.weights.seed": "Seed of the weights",
    "graph.sha256": "SHA-256 of the text form",
    "graph.origin.url": "From",
    "graph.generated": "Generated",
    "graph.substitute": "Substitute",
}
SOFTWARE = {"host": "Host", "system": "System", "card.before.driver": "Driver", "python": "Python"}
HASH = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")  # a commit or SHA-256


def read(paths: list[Path]) -> pd.DataFrame:
    """Provenance, of one cell or of many in a file: a row a cell, its keys joined by dots."""
    return pd.json_normalize([record for path in paths for record in records.read(path).values()])


def choose(facts: pd.DataFrame, columns: dict[str, str]) -> pd.DataFrame:
    """These columns as text under their heads; those that no row has are left out, and rows that are equal."""
    present = {key: head for key, head in columns.items() if key in facts}
    return facts[list(present)].map(as_text).set_axis(list(present.values()), axis="columns").drop_duplicates()


def as_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value) or "no"
    if isinstance(value, str):
        return value[:12] if HASH.fullmatch(value) else value
    return "-" if pd.isna(value) else f"{value:,.0f}"


def main(args: argparse.Namespace) -> None:
    facts = read(args.provenance)
    packages = {key: key.removeprefix("packages.") for key in sorted(facts) if key.startswith("packages.")}
    sections = {"Graphs": GRAPHS, "Software": SOFTWARE | packages, "Cells": RUNS}
    tables = [
        block for head, columns in sections.items() for block in (("h2", head), ("table", choose(facts, columns)))
    ]
    written = {
        "provenance": [("h1", "Provenance"), ("p", args.source), *(tables if len(facts) else [])],
        "configuration": [
            ("h1", "Configuration"),
            ("pre", yaml.safe_dump(args.config, sort_keys=False, default_flow_style=None)),
        ],
    }
    for name, page in written.items():
        save({".html": pages.to_html(page)}, args.out_dir / name)


if __name__ == "__main__":
    arguments = step.parser(__doc__)
    arguments.add_argument("--provenance", type=Path, nargs="*", default=[], metavar="FILE.json")
    arguments.add_argument(
        "--config", type=step.json_object, required=True, metavar="JSON", help="the whole configuration"
    )
    arguments.add_argument("--source", required=True, help="a sentence: where the measurements come from")
    arguments.add_argument("--out-dir", type=Path, default=Path("results"))
    step.run(main, arguments)
