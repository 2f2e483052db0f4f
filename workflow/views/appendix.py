"""Write the report's own pages: the claims at a glance, batches and hosts, provenance, and the configuration.

Writes results/glance.csv and .html, batches.html, provenance.html, configuration.html, and measurements.zip: the files
that these are made of.
"""

import io
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pandas as pd
import yaml

from workflow.judge import claims
from workflow.store import measurements, records
from workflow.views import glance, pages, tables
from workflow.views.context import Context
from workflow.views.render import CROSS, csv_text

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
HERE = "here"
ABOUT_BATCHES = [
    "A job measures the variants of one dataset on one card, in rounds; a batch is the jobs of one name. What is in no "
    "batch was measured alone, and is compared with nothing. A row is one run of one variant.",
    "A host is named by eight digits of a digest, a card by the first digits of its UUID. Cores: how many the CPU "
    "variants had.",
]


def batches_table(measured: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """A row a batch and host, as text, in the order they were measured; measured: by name, as measurements.load."""
    lines = []
    for name, rows in measured.items():
        for (batch, host), mine in rows.sort_values("started").groupby(["batch", "host_id"], sort=False):
            lines.append(
                {
                    "From": name,
                    "Batch": batch or "none",
                    "Date": " to ".join(dict.fromkeys(_days(mine))),
                    "Host": host or "-",
                    "CPU": _each(mine["cpu_model"]),
                    "Cores": _each(f"{cores:g}" for cores in sorted(mine["cores"].dropna().unique())),
                    "Cards": _each(
                        f"{len(uuids)} {CROSS} {card}" if uuids else card for card, uuids in _cards(mine).items()
                    ),
                    "Driver": _each(mine["driver"]),
                    "Datasets": _each(sorted(mine["dataset"])),
                    "Throttled": _each(mine["throttling"]).replace("-", "no"),
                    "Rows": f"{len(mine):,}",
                }
            )
    return pd.DataFrame(lines)


def hosts_table(measured: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """A row a host that has an id, as text; measured: as batches_table takes it."""
    rows = pd.concat([part.assign(place=name) for name, part in measured.items()])
    lines = [
        {
            "Host": host,
            "CPU": _each(mine["cpu_model"]),
            "Cards": _each(f"{card}: {', '.join(uuids)}" for card, uuids in _cards(mine).items()),
            "Driver": _each(mine["driver"]),
            "Batches": "; ".join(f"{name}: {_each(part['batch'])}" for name, part in mine.groupby("place", sort=False)),
            "Rows": f"{len(mine):,}",
        }
        for host, mine in rows[rows["host_id"] != ""].groupby("host_id", sort=False)
    ]
    return pd.DataFrame(lines)


def _each(values: Iterable[str]) -> str:
    """The values that are not empty, each once; "-" of none."""
    return ", ".join(dict.fromkeys(filter(None, values))) or "-"


def _days(rows: pd.DataFrame) -> list[str]:
    """The first and the last day, which no line breaks."""
    days = sorted({started[:10].replace("-", "\N{NON-BREAKING HYPHEN}") for started in rows["started"]})
    return [days[0], days[-1]]


def _cards(rows: pd.DataFrame) -> dict[str, list[str]]:
    """By the name of the cards, the first digits of their UUIDs, as far as those are recorded."""
    rows = rows[rows["driver"] != ""]
    uuids = rows["card_uuid"].str.removeprefix("GPU-").str[:8]
    return {
        name: [*dict.fromkeys(filter(None, of_name))] for name, of_name in uuids.groupby(rows["device"], sort=False)
    }


def packed(paths: Iterable[Path]) -> bytes:
    """Return a ZIP archive of the files, each under its path in the project."""
    file = io.BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for path in paths:
            archive.write(path, os.path.relpath(path))
    return file.getvalue()


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


def of_provenance(facts: pd.DataFrame, source: str) -> pages.Page:
    """facts: as read gives them."""
    packages = {key: key.removeprefix("packages.") for key in sorted(facts) if key.startswith("packages.")}
    sections = {"Graphs": GRAPHS, "Software": SOFTWARE | packages, "Cells": RUNS}
    tables = [
        block for head, columns in sections.items() for block in (("h2", head), ("table", choose(facts, columns)))
    ]
    return [("h1", "Provenance"), ("p", source), *(tables if len(facts) else [])]


def of_batches(measured: Mapping[str, pd.DataFrame], source: str) -> pages.Page:
    """measured: as batches_table takes it."""
    tables = [
        block
        for head, table in (("Batches", batches_table(measured)), ("Hosts", hosts_table(measured)))
        for block in (("h2", head), ("table", table))
        if len(table)
    ]
    return [("h1", "Batches and hosts"), ("p", source), ("ul", ABOUT_BATCHES), *tables]


def at_a_glance(measured: Mapping[str, pd.DataFrame], source: str, tolerance: float) -> tuple[pd.DataFrame, pages.Page]:
    """The claims at a glance, as a table and as a page; measured: as batches_table takes it, source: of the first."""
    listed = claims.claims()
    audited, sources = {}, {}
    for name, rows in measured.items():
        head = f"{measurements.card(rows)}, {HERE}" if name == HERE else measurements.card(rows)
        audited[head] = claims.audit(claims.select(rows, listed), listed, tolerance)
        sources[head] = f"From the archive {name}." if sources else source
    first = next(iter(measured.values()))
    substitutes = measurements.substitutes(claims.select(first, listed))
    return glance.table(audited), glance.page(audited, sources, list(substitutes))


def view(rows: pd.DataFrame, context: Context) -> dict[str, str | bytes]:
    """Render the report's own pages; rows: as measurements.load gives them, of the files "rows"."""
    files, provenance, archives = (context.paths(name) for name in ("rows", "provenance", "archives"))
    beside = [folder / "timings.csv" for folder in archives]
    name = HERE if context.source == tables.MEASURED_HERE else context.config["archive"]
    measured = {name: rows} | {path.parent.name: measurements.load([path]) for path in beside}
    table, page = at_a_glance(measured, context.source, context.tolerance)
    configuration = yaml.safe_dump(dict(context.config), sort_keys=False, default_flow_style=None)
    made = {
        "glance": page,
        "batches": of_batches(measured, context.source),
        "provenance": of_provenance(read(provenance), context.source),
        "configuration": [("h1", "Configuration"), ("pre", configuration)],
    }
    return {
        "glance.csv": csv_text(table),
        **{f"{name}.html": pages.to_html(blocks) for name, blocks in made.items()},
        "measurements.zip": packed([*files, *provenance, *beside, *map(records.beside, beside)]),
    }
