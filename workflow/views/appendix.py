"""Write the report's own pages: the claims at a glance, provenance, and the configuration.

Writes results/glance.csv and .html, provenance.html, configuration.html, and measurements.zip: the files that these
are made of.
"""

import io
import os
import re
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pandas as pd
import yaml

from workflow.judge import claims
from workflow.plan.result_paths import ROOT
from workflow.store import measurements, records
from workflow.views import pages
from workflow.views.catalogue import MEASURED_HERE
from workflow.views.context import Context
from workflow.views.paper import glance
from workflow.views.render import csv_text

# The heads of the columns, by their keys in the provenance, with levels joined by dots.
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
    "graph.sha256": "SHA-256 of the text form or the CSR arrays",
    "graph.origin.url": "From",
    "graph.generated": "Generated",
    "graph.substitute": "Substitute",
}
SOFTWARE = {"host": "Host", "system": "System", "card.before.driver": "Driver", "python": "Python"}
HASH = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")  # a commit or SHA-256


def read(paths: Iterable[Path]) -> pd.DataFrame:
    """Return a row a cell of provenance files, each of one cell or of many, with the keys' levels joined by dots."""
    return pd.json_normalize([record for path in paths for record in records.read(path).values()])


def choose(provenance: pd.DataFrame, heads: Mapping[str, str]) -> pd.DataFrame:
    """Return the columns of these keys as text, without the columns that no row has and without duplicate rows."""
    present = {key: head for key, head in heads.items() if key in provenance}
    return provenance[list(present)].map(_text).rename(columns=present).drop_duplicates()


def _text(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(value) or "no"
        case str():
            return value[:12] if HASH.fullmatch(value) else value
    return "-" if pd.isna(value) else f"{value:,.0f}"


def provenance_page(provenance: pd.DataFrame, source: str) -> pages.Page:
    packages = {key: key.removeprefix("packages.") for key in sorted(provenance) if key.startswith("packages.")}
    page = [("h1", "Provenance"), ("p", source)]
    if len(provenance):
        for head, columns in {"Graphs": GRAPHS, "Software": SOFTWARE | packages, "Cells": RUNS}.items():
            page += [("h2", head), ("table", choose(provenance, columns))]
    return page


def claims_at_a_glance(
    rows: pd.DataFrame, others: Mapping[str, pd.DataFrame], source: str, tolerance: float
) -> tuple[pd.DataFrame, pages.Page]:
    """Return table and page of the claims; others: the rows of other archives, by their names."""
    listed = claims.claims()
    head = measurements.card(rows) + (", here" if source == MEASURED_HERE else "")
    columns = [(head, source, rows)]
    columns += [(measurements.card(other), f"From the archive {name}.", other) for name, other in others.items()]
    selected = {head: claims.select(of_card, listed) for head, _, of_card in columns}
    audited = {head: claims.audit(of_card, listed, tolerance) for head, of_card in selected.items()}
    sources = {head: said for head, said, _ in columns}
    return glance.table(audited), glance.page(audited, sources, list(measurements.substitutes(selected[head])))


def packed(paths: Iterable[Path]) -> bytes:
    """Return a ZIP archive of the files, each under its path in the project."""
    file = io.BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for path in paths:
            inside = path.is_relative_to(ROOT) and not path.is_relative_to(Path.cwd())
            archive.write(path, os.path.relpath(path, ROOT if inside else None))
    return file.getvalue()


def render_appendix(rows: pd.DataFrame, context: Context) -> dict[str, str | bytes]:
    """Render the report's own pages."""
    shown, compared = context.paths("rows"), context.paths("compared")
    provenance = provenance_page(read(map(records.beside, shown)), context.source)
    if compared:
        provenance += provenance_page(read(map(records.beside, compared)), MEASURED_HERE)
    others = {folder.name: measurements.files(folder) for folder in context.paths("archives")}
    rows_of_others = {name: measurements.load(files) for name, files in others.items()}
    table, page = claims_at_a_glance(rows, rows_of_others, context.source, context.tolerance)
    measured = [*shown, *compared, *chain(*others.values())]
    configuration = yaml.safe_dump(dict(context.config), sort_keys=False, default_flow_style=None)
    return {
        "glance.csv": csv_text(table),
        "glance.html": pages.to_html(page),
        "provenance.html": pages.to_html(provenance),
        "configuration.html": pages.to_html([("h1", "Configuration"), ("pre", configuration)]),
        "measurements.zip": packed([*measured, *map(records.beside, measured)]),
    }
