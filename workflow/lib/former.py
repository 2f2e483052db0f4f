"""Files of measurements that this project wrote before a column or a name changed: they stay readable through here."""

from __future__ import annotations

import re

from kernels.variants import VARIANTS

# The columns of a CSV of measurements before a commit of November 2026 that gave what the note said columns of its own;
# and those until batches came, when a row of a job became a round.
COLUMNS = (
    "algorithm",
    "variant",
    "problem",
    "dataset",
    "repeat",
    "status",
    "seconds",
    "copy_in_s",
    "kernels_s",
    "predecessors_s",
    "copy_out_s",
    "launches",
    "vertices",
    "arcs",
    "source",
    "rows_checked",
    "device",
    "driver",
    "cuda",
    "numba_cuda",
    "numba",
    "numpy",
    "commit",
    "dataset_sha256",
    "started",
    "host",
    "note",
)
REPEATED = (
    *COLUMNS[:-1],
    *("substitute", "generated", "cores", "limit_s", "needed_bytes"),
    *("reached", "longest_row", "ell_columns", "ell_slots", "ell_overflow", "note"),
)
BATCHED = (  # until hierarchies came, which are customized
    *("algorithm", "variant", "problem", "dataset", "batch", "round", "position", "status", "seconds", "copy_in_s"),
    *("kernels_s", "predecessors_s", "copy_out_s", "prepare_host_s", "prepare_card_s", "launches", "vertices", "arcs"),
    *("source", "rows_checked", "device", "driver", "cuda", "numba_cuda", "numba", "numpy", "commit", "code"),
    *("dataset_sha256", "started", "host", "host_id", "card_uuid", "cpu_model", "cores", "substitute", "generated"),
    *("limit_s", "needed_bytes", "reached", "longest_row", "ell_columns", "ell_slots", "ell_overflow", "note"),
)
# Items of a note, joined by "; ", that have columns of their own now.
_ITEMS = [
    re.compile(pattern)
    for pattern in (
        r"stand-in: (?P<substitute>.+)",
        r"generated: (?P<generated>.+)",
        r"cores: (?P<cores>\d+)",
        r"limit (?P<limit_s>[\d.e+-]+) s passed",
        r"needs (?P<needed_bytes>[\d,]+) bytes .+",
        r"layout: longest row (?P<longest_row>\d+), (?P<ell_columns>\d+) columns, (?P<ell_slots>\d+) slots, "
        r"(?P<ell_overflow>\d+) arcs beyond them",
        r"reached: (?P<reached>\d+) vertices",
    )
]
_RENAMED = {variant.former: variant.key for variant in VARIANTS.values() if variant.former}


def row(record: dict[str, str]) -> dict[str, str]:
    """A row under COLUMNS, and a sweep's own, as rows are now; the values are the same, and text."""
    algorithm, _, variant = _renamed(f"{record['algorithm']}/{record['variant']}").partition("/")
    kept, found = [], {}
    for item in filter(None, record["note"].split("; ")):
        match = next((match for pattern in _ITEMS if (match := pattern.fullmatch(item))), None)
        found |= match.groupdict() if match else {}
        if match is None or "needed_bytes" in match.groupdict():
            kept.append(item)
    if "needed_bytes" in found:
        found["needed_bytes"] = found["needed_bytes"].replace(",", "")
    own = {"algorithm": algorithm, "variant": variant, "note": "; ".join(kept)} | found
    return repeated(record | own)


def repeated(record: dict[str, str]) -> dict[str, str]:
    """A row under REPEATED, likewise; it is of no batch."""
    return {name: value for name, value in record.items() if name != "repeat"} | {"round": record["repeat"]}


ROWS = {COLUMNS: row, REPEATED: repeated, BATCHED: dict}  # what reads a row, by the file's columns


def provenance(record: dict) -> dict:
    """The JSON beside a cell, as it is written now."""
    algorithm, _, variant = _renamed(f"{record['algorithm']}/{record['variant']}").partition("/")
    graph = {key.replace("stand_in", "substitute"): value for key, value in record["graph"].items()}
    if isinstance(graph.get("entry"), dict):
        graph["entry"] = {key.replace("stand_in", "substitute"): value for key, value in graph["entry"].items()}
    return record | {"algorithm": algorithm, "variant": variant, "graph": graph}


def cell(name: str) -> str:
    """A record's name, algorithm/variant/dataset or algorithm/variant/dataset/batch, with the variant's present one."""
    algorithm, _, rest = name.partition("/")
    variant, slash, place = rest.partition("/")
    return f"{_renamed(f'{algorithm}/{variant}')}{slash}{place}"


def _renamed(key: str) -> str:
    return _RENAMED.get(key, key)
