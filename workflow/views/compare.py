"""Compare what this machine measured with an archive: its times cell by cell, and the verdicts on the claims.

Writes results/compare.csv (a row a cell), .md and .html.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from kernels.errors import InputError
from workflow.judge import batches, claims, verdicts
from workflow.judge.verdicts import Estimate
from workflow.store import measurements
from workflow.store.measurements import marked, substitutes
from workflow.views import audit, many_sources_table, pages, render
from workflow.views.context import Context
from workflow.views.documents import time_text
from workflow.views.render import CROSS, digits, spread

CONSISTENT, FASTER, SLOWER, DIFFERENT = "consistent", "faster", "slower", "different"
NO_WORD = "not comparable: {}"
FEW = "the archive has fewer than three batches"


def rule(tolerance: float) -> list[str]:
    """The sentences that say how the words are reached."""
    return [
        "Ratio: the archive's time divided by the time here, above 1 this machine is faster; medians over batches, in "
        "brackets the least and the greatest ratio of both ranges.",
        f"{CONSISTENT.capitalize()}: the time here lies where one more batch of the archive would lie in 95 of 100 "
        f"cases, by the spread between its batches, or within {100 * tolerance:g} % of its time. Else it is {FASTER} "
        f"or {SLOWER}. Times of other cards, processors or graphs are not compared, nor is what the archive has "
        "fewer than three batches of.",
        "Claims: the ratio here beside the archive's, by the same rule, of the same graph and the same card.",
    ]


def cells(here: pd.DataFrame, archive: pd.DataFrame, tolerance: float) -> pd.DataFrame:
    """A row a cell that was measured here: both medians and ranges (s), batches, ratio with range, word.

    here, archive: as measurements.load gives them.
    """
    here, archive = measurements.pooled(here), measurements.pooled(archive)
    mine, theirs = measurements.summarise(here), measurements.summarise(archive)
    found = batches.medians(archive)["seconds"].sort_index()
    facts = []
    for (column, dataset), cell in mine.iterrows():
        key = (column, dataset)
        other = theirs.loc[key] if key in theirs.index else None
        line = {
            "variant": column,
            "dataset": dataset,
            "seconds": cell["median"],
            "min": cell["min"],
            "max": cell["max"],
        }
        line |= {"batches": cell["batches"], "device": cell["device"]}
        if other is None:
            facts.append(line | {"word": NO_WORD.format("it is not in the archive")})
            continue
        line |= {f"archive {name}": other[name] for name in ("median", "min", "max", "batches", "device")}
        line |= {
            "ratio": other["median"] / cell["median"],
            "ratio low": other["min"] / cell["max"],
            "ratio high": other["max"] / cell["min"],
        }
        if reason := _apart(cell, other, _graphs(here, key), _graphs(archive, key)):
            word = NO_WORD.format(reason)
        else:
            times = found[key].drop(index="", errors="ignore") if key in found.index.droplevel("batch") else []
            word = _word(cell["median"], verdicts.estimate(times) if len(times) else None, tolerance)
        facts.append(line | {"word": word})
    return pd.DataFrame(facts)


def _graphs(rows: pd.DataFrame, key: tuple[str, str]) -> set[str]:
    """The graphs that a cell was measured on, by their text form's sha256."""
    return set(rows["dataset_sha256"][(measurements.variants(rows) == key[0]) & (rows["dataset"] == key[1])])


def _apart(cell: pd.Series, other: pd.Series, graphs: set[str], archived: set[str]) -> str:
    """Why two cells are not comparable; empty where they are."""
    if graphs != archived:
        return "another graph"
    if cell["device"] != other["device"]:
        return f"the archive is of {other['device']}"
    if cell["cores"] != other["cores"] and cell["cores"] > 0 and other["cores"] > 0:
        return f"the archive's ran on {render.cores(other)}"
    if cell["source"] != other["source"] and pd.notna(other["source"]):
        return f"the archive's is from vertex {other['source']:.0f}"
    if "ok" not in (cell["status"], other["status"]) or cell["status"] != other["status"]:
        return f"{cell['status']} here, {other['status']} in the archive".replace("_", " ")
    return ""


def _word(seconds: float, found: Estimate | None, tolerance: float) -> str:
    """What a time here is beside the archive's batches."""
    if not found or not found.has_interval:
        return NO_WORD.format(FEW)
    least, most = (
        min(found.next_low, found.value * (1 - tolerance)),
        max(found.next_high, found.value * (1 + tolerance)),
    )
    return CONSISTENT if least <= seconds <= most else FASTER if seconds < least else SLOWER


def judged(here: pd.DataFrame, archive: pd.DataFrame, tolerance: float) -> pd.DataFrame:
    """A row a claim and dataset that was measured here, as text: ratio and verdict of both, and a word."""
    listed = claims.claims()
    both = [claims.audit(claims.select(rows, listed), listed, tolerance) for rows in (here, archive)]
    pools = [measurements.pooled(rows) for rows in (here, archive)]
    mine_of, theirs_of = map(measurements.summarise, pools)
    others = substitutes(here)
    lines = []
    for number, (mine, theirs) in enumerate(zip(*both, strict=True), start=1):
        for dataset, finding in mine.here.items():
            if not finding.estimate:
                continue
            archived, key = theirs.here[dataset], (mine.claim.left, dataset)
            reason = "it is not in the archive"
            if key in theirs_of.index:
                reason = _apart(mine_of.loc[key], theirs_of.loc[key], *(_graphs(rows, key) for rows in pools))
            beside = _beside(finding, archived, mine.claim.by_seconds, tolerance)
            lines.append(
                {
                    "Claim": f"{number}. {mine.claim.claim}",
                    "Dataset": marked(dataset, others),
                    "Here": audit.value_text(mine.claim, finding),
                    "Verdict here": audit.verdict_text(finding),
                    "Archive": audit.value_text(mine.claim, archived),
                    "Verdict of the archive": audit.verdict_text(archived),
                    "Ratio here is": NO_WORD.format(reason) if reason else beside,
                }
            )
    return pd.DataFrame(lines)


def _beside(finding: claims.Finding, archived: claims.Finding, by_seconds: bool, tolerance: float) -> str:
    if archived.over != finding.over and archived.estimate:
        return NO_WORD.format(f"the archive's is over {archived.over}")
    word = _word(finding.estimate.value, archived.estimate, 0 if by_seconds else tolerance)
    return DIFFERENT if word in (FASTER, SLOWER) else word


def many_sources(here: pd.DataFrame, archive: pd.DataFrame) -> pd.DataFrame:
    """A row a dataset and kind of search from many sources that was measured here, as text: both times, and the ratio.

    here, archive: as many_sources_table.load gives them.
    """
    mine, theirs = many_sources_table.rates(here), many_sources_table.rates(archive)
    said = ["device", "dataset_sha256"]
    of_here, of_archive = (rows.groupby("dataset")[said].first() for rows in (here, archive))
    others, lines = substitutes(here), []
    for (dataset, kind), cell in mine.iterrows():
        other, ratio = None, NO_WORD.format("it is not in the archive")
        if (dataset, kind) in theirs.index:
            other, at, there = theirs.loc[(dataset, kind)], of_here.loc[dataset], of_archive.loc[dataset]
            both = (other["median"] / cell["median"], other["min"] / cell["max"], other["max"] / cell["min"])
            ratio = _ratio(dict(zip(("ratio", "ratio low", "ratio high"), both, strict=True)))
            if at["dataset_sha256"] != there["dataset_sha256"]:
                ratio = NO_WORD.format("another graph")
            elif at["device"] != there["device"]:
                ratio = NO_WORD.format(f"the archive is of {there['device']}")
        lines.append(
            {
                "Dataset": marked(dataset, others),
                "Search": kind,
                "Here (µs a source)": f"{digits(cell['median'])} {spread(cell)}",
                "Archive (µs a source)": "-" if other is None else f"{digits(other['median'])} {spread(other)}",
                "Ratio": ratio,
            }
        )
    return pd.DataFrame(lines)


def page(facts: pd.DataFrame, claimed: pd.DataFrame, many: pd.DataFrame, archive: str, tolerance: float) -> pages.Page:
    """facts: as cells gives them; claimed: as judged; many: as many_sources."""
    words = facts["word"].str.partition(":")[0].value_counts()
    counted = ", ".join(f"{count} {word}" for word, count in words.items())
    blocks = [
        ("h1", f"This machine beside the archive {archive}"),
        ("p", f"Of {len(facts)} cells: {counted}."),
        ("ul", rule(tolerance)),
        ("h2", "The claims"),
        ("table", claimed) if len(claimed) else ("p", "No job here measured what a claim compares."),
        ("h2", "The times"),
        ("table", text(facts)),
    ]
    if len(many):
        blocks += [
            ("h2", "Searches from many sources"),
            ("p", "One run here and one in the archive, each of n repeats: ratios, and no word."),
            ("table", many),
        ]
    return blocks


def text(facts: pd.DataFrame) -> pd.DataFrame:
    """The times for readers."""
    return pd.DataFrame(
        [
            {
                "Variant": line["variant"],
                "Dataset": line["dataset"],
                "Here": _time(line["seconds"], line["min"], line["max"], line["batches"]),
                "Archive": _time(
                    *(line.get(f"archive {name}", np.nan) for name in ("median", "min", "max", "batches"))
                ),
                "Ratio": _ratio(line),
                "Word": line["word"],
            }
            for line in facts.to_dict("records")
        ]
    )


def _time(median: float, least: float, most: float, count: float) -> str:
    if np.isnan(median):
        return "-"
    ends = f" [{time_text(least)}, {time_text(most)}]" if least < most else ""
    return f"{time_text(median)}{ends}" + (f", {count:.0f} {'batch' if count == 1 else 'batches'}" if count else "")


def _ratio(line: dict) -> str:
    if np.isnan(line.get("ratio", np.nan)):
        return "-"
    return f"{CROSS}{digits(line['ratio'])} [{digits(line['ratio low'])}, {digits(line['ratio high'])}]"


def view(rows: pd.DataFrame, context: Context) -> dict[str, str]:
    """Render the page of what was measured here, rows, beside the archive that the configuration names.

    Raises InputError if one of them has no rows.
    """
    name, tolerance = context.config["archive"], context.tolerance
    folder = Path("results/archive", name)
    archive = measurements.load([folder / "timings.csv"])
    of_archive = many_sources_table.load([path] if (path := folder / "many_sources.csv").exists() else [])
    many = many_sources(many_sources_table.load(context.paths("many_sources_here")), of_archive)
    return files(rows, archive, many, name, tolerance)


def files(here: pd.DataFrame, archive: pd.DataFrame, many: pd.DataFrame, name: str, tolerance: float) -> dict[str, str]:
    """Return compare.csv, .md and .html.

    here, archive: as measurements.load gives them; many: as many_sources does. Raises InputError if there are no rows.
    """
    for rows, what in ((here, "here"), (archive, f"in the archive {name}")):
        if rows.empty:
            raise InputError(f"nothing to compare: nothing was measured {what}: type snakemake --cores 1 batch first")
    facts = cells(here, archive, tolerance)
    return pages.files("compare", facts, page(facts, judged(here, archive, tolerance), many, name, tolerance))
