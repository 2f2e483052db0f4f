"""Write the report's appendix, a page of HTML each: the cells' times, what they ran on, the configuration."""

import argparse
import json
import logging
import re
from pathlib import Path

import pandas as pd
import yaml

from kernels.datasets import atomic
from kernels.errors import InputError
from workflow.scripts import measurements, page, step
from workflow.scripts.tables import digits

# Columns of the pages: the head of each by its key in a provenance, levels joined by dots.
RUNS = {
    **{"algorithm": "Algorithm", "variant": "Variant", "dataset": "Dataset", "commit": "Commit"},
    **{"tree_clean": "Tree clean", "config_digest": "Digest of the configuration", "slurm.SLURM_JOB_ID": "Slurm job"},
    **{"card.before.sm_clock_mhz": "MHz before", "card.after.sm_clock_mhz": "MHz after"},
    **{"card.before.temperature_c": "°C before", "card.after.temperature_c": "°C after"},
    **{"card.before.throttling": "Throttled before", "card.after.throttling": "Throttled after"},
}
GRAPHS = {
    **{"dataset": "Dataset", "graph.entry.vertices": "Vertices", "graph.entry.arcs": "Arcs"},
    **{"graph.entry.weights.seed": "Seed of the weights", "graph.sha256": "SHA-256 of the text form"},
    **{"graph.origin.url": "From", "graph.stand_in": "Stand-in"},
}
SOFTWARE = {"host": "Host", "system": "System", "card.before.driver": "Driver", "python": "Python"}
TIMES = {
    **{"column": "Variant", "dataset": "Dataset", "status": "Status", "repeats": "Repeats", "median": "Median"},
    **{"min": "Least", "max": "Greatest", "kernels": "Kernels", "predecessors": "Predecessors"},
    **{"device": "Device", "note": "Note"},
}
HASH = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")  # a commit or SHA-256
SECONDS = ["median", "min", "max", "kernels", "predecessors"]
ABOUT_TIMES = (
    "Times in seconds: median, least and greatest of the paper's timed region over the repeats; medians of its parts "
    "that find distances (kernels) and only predecessors (none where the kernels record them). Every single repeat "
    "stands in timings.csv."
)


def read(paths: list[Path]) -> pd.DataFrame:
    """Provenance, of one cell or of many in a file: a row a cell, its keys joined by dots."""
    records = []
    for path in paths:
        try:
            content = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: {error}: delete it and measure again") from None
        records += [content] if "algorithm" in content else content.values()
    return pd.json_normalize(records)


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


def times(rows: pd.DataFrame) -> pd.DataFrame:
    cells = measurements.summarise(rows).reset_index()
    cells[SECONDS] = cells[SECONDS].map(lambda seconds: digits(seconds) if seconds > 0 else "-")
    return choose(cells, TIMES)


def main(args: argparse.Namespace) -> None:
    source, facts = page.paragraph(args.source), read(args.provenance)
    packages = {key: key.removeprefix("packages.") for key in sorted(facts) if key.startswith("packages.")}
    pages = {
        "times": (
            "Times",
            [source, page.paragraph(ABOUT_TIMES), page.table(times(measurements.load(args.measurements)))],
        ),
        "provenance": (
            "Provenance",
            [
                source,
                *(page.heading("Graphs"), page.table(choose(facts, GRAPHS))),
                *(page.heading("Software"), page.table(choose(facts, SOFTWARE | packages))),
                *(page.heading("Cells"), page.table(choose(facts, RUNS))),
            ],
        ),
        "configuration": (
            "Configuration",
            [page.preformatted(yaml.safe_dump(args.config, sort_keys=False, default_flow_style=None))],
        ),
    }
    for name, (title, parts) in pages.items():
        path = args.out_dir / f"{name}.html"
        with atomic(path, "w") as file:
            file.write(page.page(title, *parts))
        logging.info("wrote %s", path)


if __name__ == "__main__":
    arguments = step.parser(__doc__)
    arguments.add_argument("--measurements", type=Path, nargs="*", default=[], metavar="FILE.csv")
    arguments.add_argument("--provenance", type=Path, nargs="*", default=[], metavar="FILE.json")
    arguments.add_argument("--config", type=json.loads, required=True, metavar="JSON", help="the whole configuration")
    arguments.add_argument("--source", required=True, help="a sentence: where the measurements come from")
    arguments.add_argument("--out-dir", type=Path, default=Path("results"))
    step.run(main, arguments)
