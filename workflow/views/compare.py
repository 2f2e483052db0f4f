"""Compare what this machine measured with an archive: its times cell by cell, and the verdicts on the claims.

Writes results/compare.csv (a row a cell), .md and .html.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from kernels.errors import InputError
from workflow.judge import batches, claims, verdicts
from workflow.plan import result_paths
from workflow.store import benchmarks, measurements
from workflow.store.measurements import marked, substitutes
from workflow.views import pages, render
from workflow.views.context import Context
from workflow.views.extensions import many_sources_table
from workflow.views.paper import audit
from workflow.views.render import CROSS, digits, spread, time_and_range

CONSISTENT, FASTER, SLOWER = "consistent", "faster", "slower"
FEW = "the archive has fewer than three batches"
NOT_COMPARABLE = "not comparable: {}"
RATIO = ("ratio", "ratio low", "ratio high")
FACTS = (
    *("variant", "dataset", "seconds", "min", "max", "batches", "device"),
    *(f"archive {name}" for name in ("median", "min", "max", "batches", "device")),
    *(*RATIO, "word"),
)


def rule(tolerance: float) -> list[str]:
    """Return sentences that say how times are compared."""
    return [
        "Ratio: the archive's time divided by the time here. Above 1, this machine is faster. Times are medians over "
        "batches. In parentheses: the least and the greatest ratio of the two ranges.",
        f"{CONSISTENT.capitalize()}: the time here lies in the archive's 95 % prediction interval for one more batch, "
        f"or within {100 * tolerance:g} % of the archive's time. Otherwise it is {FASTER} or {SLOWER}. Times of other "
        "cards, processors or graphs are not compared, nor are cells of which the archive has fewer than three "
        "batches.",
        "Claims: a ratio is inside if it lies in the archive's 95 % prediction interval for one more batch of the same "
        "graph and card, by Student's t of the logarithms (for claims in seconds: of the differences). There is no "
        "tolerance. If a claim has several other variants, the ratio is over the archive's fastest, and the verdict "
        "here over the fastest here.",
    ]


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Return measurements.summarise of the pooled rows, with "graphs": each cell's graphs, by their SHA-256."""
    rows = measurements.pooled(rows)
    graphs = rows.groupby([measurements.variants(rows).rename("column"), "dataset"])["dataset_sha256"].agg(frozenset)
    return measurements.summarise(rows).assign(graphs=graphs)


def beside(here: pd.DataFrame, archive: pd.DataFrame) -> pd.DataFrame:
    """Join summaries: RATIO, and "reason", why a cell is not comparable, which is empty if it is."""
    both = here.join(archive.add_prefix("archive "))
    both["ratio"] = both["archive median"] / both["median"]
    both["ratio low"], both["ratio high"] = both["archive min"] / both["max"], both["archive max"] / both["min"]
    both["reason"] = [_why_not_comparable(cell) for _, cell in both.iterrows()]
    return both


def _why_not_comparable(cell: pd.Series) -> str:
    status, other = cell["status"], cell["archive status"]
    if pd.isna(other):
        return "it is not in the archive"
    if cell["graphs"] != cell["archive graphs"]:
        return "another graph"
    if cell["device"] != cell["archive device"]:
        return f"the archive is of {cell['archive device']}"
    if cell["cores"] != cell["archive cores"] and cell["cores"] > 0 and cell["archive cores"] > 0:
        return f"the archive's ran on {render.cores({'cores': cell['archive cores']})}"
    if cell["source"] != cell["archive source"] and pd.notna(cell["archive source"]):
        return f"the archive's is from vertex {cell['archive source']:.0f}"
    if not status == other == "ok":
        return f"{status} here, {other} in the archive".replace("_", " ")
    return ""


def agreements(here: pd.DataFrame, archive: pd.DataFrame, tolerance: float) -> pd.DataFrame:
    """Return a row with FACTS for each cell of `here`; "word": whether its time agrees with the archive's."""
    facts, estimates = beside(summarise(here), summarise(archive)), _estimates(archive)
    facts["word"] = [
        NOT_COMPARABLE.format(cell["reason"])
        if cell["reason"]
        else _agreement(cell["median"], estimates.get(key), tolerance)
        for key, cell in facts.iterrows()
    ]
    return facts.reset_index().rename(columns={"column": "variant", "median": "seconds"})[list(FACTS)]


def _estimates(archive: pd.DataFrame) -> dict[tuple[str, str], verdicts.Estimate]:
    """Estimate the time of each cell (variant, dataset) that was measured in batches."""
    medians = batches.medians(measurements.pooled(archive[archive["batch"] != ""]))["seconds"]
    return {cell: verdicts.estimate(times) for cell, times in medians.groupby(level=["column", "dataset"])}


def _agreement(here: float, archived: verdicts.Estimate | None, tolerance: float) -> str:
    """Say whether a time lies in the archive's interval for one more batch, or within the tolerance of its time."""
    if not archived or not archived.has_interval:
        return NOT_COMPARABLE.format(FEW)
    if here < min(archived.next_low, archived.value * (1 - tolerance)):
        return FASTER
    if here > max(archived.next_high, archived.value * (1 + tolerance)):
        return SLOWER
    return CONSISTENT


def judged(here: pd.DataFrame, archive: pd.DataFrame, tolerance: float) -> tuple[pd.DataFrame, list[bool]]:
    """Return a row, as text, for each claim and dataset that was measured here, and whether each batch lies inside."""
    listed, others = claims.claims(), substitutes(here)
    here = claims.select(here, listed)
    audited, archived = (claims.audit(rows, listed, tolerance) for rows in (here, claims.select(archive, listed)))
    reasons, of_batches = beside(summarise(here), summarise(archive))["reason"], batches.medians(here)
    lines, all_inside = [], []
    for mine, theirs in zip(audited, archived, strict=True):
        claim = mine.claim
        for dataset in (dataset for dataset, finding in mine.from_batches.items() if finding.estimate):
            finding, other = mine.from_batches[dataset], theirs.from_batches[dataset]
            over = other.over or finding.over
            values = claim.values(batches.pairs(of_batches, claim.left, over, dataset))
            estimate = verdicts.estimate(values, differences=claim.by_seconds)
            reason = reasons[claim.left, dataset] or ("" if other.estimate and other.estimate.has_interval else FEW)
            inside = [] if reason else [other.estimate.next_low < one < other.estimate.next_high for one in values]
            all_inside += inside
            lines.append(
                {
                    "Claim": f"{claim.number}. {claim.claim}",
                    "Dataset": marked(dataset, others),
                    "Here": audit.value_text(claim, replace(finding, over=over, estimate=estimate)),
                    "Verdict here": audit.verdict_text(finding),
                    "Archive": audit.value_text(claim, other),
                    "Verdict of the archive": audit.verdict_text(other),
                    "One more batch": "-" if reason else audit.next_text(claim, other.estimate),
                    "Ratio here is": NOT_COMPARABLE.format(reason) if reason else _inside_text(inside),
                }
            )
    return pd.DataFrame(lines), all_inside


def _inside_text(inside: list[bool]) -> str:
    if len(inside) > 1:
        return f"inside in {sum(inside)} of {len(inside)} batches"
    return "inside" if inside[0] else "outside"


def count_text(inside: list[bool]) -> str:
    """Say how many ratios lie inside, and how many should."""
    mean, low, high = verdicts.expected_inside(len(inside))
    return (
        f"{sum(inside)} of {len(inside)} ratios lie in the archive's interval for one more batch. On average "
        f"{mean:.1f} should, and {low} to {high} in 95 of 100 cases if the ratios were independent; those of one job "
        "share times, so the number varies more."
    )


def many_sources(here: pd.DataFrame, archive: pd.DataFrame) -> pd.DataFrame:
    """Return a row, as text, for each dataset and kind of search from many sources that was measured here."""
    others = substitutes(here)
    return pd.DataFrame(
        [
            {
                "Dataset": marked(dataset, others),
                "Search": kind,
                "Here (µs a source)": f"{digits(cell['median'])} ({spread(cell)})",
                "Archive (µs a source)": _archived_rate(cell),
                "Ratio": NOT_COMPARABLE.format(cell["reason"]) if cell["reason"] else _ratio_text(*cell[[*RATIO]]),
            }
            for (dataset, kind), cell in beside(_rates(here), _rates(archive)).iterrows()
        ]
    )


def _rates(many: pd.DataFrame) -> pd.DataFrame:
    """Return many_sources_table.rates with the other columns of a summary."""
    first = many.groupby("dataset")[["device", "dataset_sha256"]].first()
    rates = many_sources_table.rates(many).join(first.rename(columns={"dataset_sha256": "graphs"}))
    return rates.assign(status="ok", cores=np.nan, source=np.nan)


def _archived_rate(cell: pd.Series) -> str:
    rate = cell.filter(like="archive ").rename(lambda name: name.removeprefix("archive "))
    return "-" if np.isnan(rate["median"]) else f"{digits(rate['median'])} ({spread(rate)})"


def page(
    facts: pd.DataFrame,
    claimed: pd.DataFrame,
    inside: list[bool],
    many: pd.DataFrame,
    archive: str,
    tolerance: float,
) -> pages.Page:
    """Return the page of what `cells`, `judged` and `many_sources` found."""
    counts = facts["word"].str.partition(":")[0].value_counts()
    counted = ", ".join(f"{count} {agreement}" for agreement, count in counts.items())
    blocks = [
        ("h1", f"This machine beside the archive {archive}"),
        ("p", f"Of {len(facts)} cells: {counted}."),
        ("ul", rule(tolerance)),
        ("h2", "The claims"),
        *([("p", count_text(inside))] if inside else []),
        ("table", claimed) if len(claimed) else ("p", "No job here measured what a claim compares."),
        ("h2", "The times"),
        ("table", text(facts)),
    ]
    if len(many):
        blocks += [
            ("h2", "Searches from many sources"),
            ("p", "One run here and one in the archive, each of n repeats. So agreement is not judged."),
            ("table", many),
        ]
    return blocks


def text(facts: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Variant": facts["variant"],
            "Dataset": facts["dataset"],
            "Here": _each(_time_text, facts, "seconds", "min", "max", "batches"),
            "Archive": _each(_time_text, facts, *(f"archive {name}" for name in ("median", "min", "max", "batches"))),
            "Ratio": _each(_ratio_text, facts, *RATIO),
            "Agreement": facts["word"],
        }
    )


def _each(text, facts: pd.DataFrame, *columns: str) -> list[str]:
    return [text(*row) for row in facts[list(columns)].itertuples(index=False)]


def _time_text(median: float, least: float, most: float, count: float) -> str:
    if np.isnan(median):
        return "-"
    batches = f", {count:.0f} {'batch' if count == 1 else 'batches'}" if count else ""
    return time_and_range(median, least, most) + batches


def _ratio_text(ratio: float, low: float, high: float) -> str:
    return "-" if np.isnan(ratio) else f"{CROSS}{digits(ratio)} ({digits(low)} to {digits(high)})"


def render_compare(rows: pd.DataFrame, context: Context) -> dict[str, str]:
    """Render the page of what was measured here beside the archive that the configuration names."""
    name = context.config["archive"]
    folder = result_paths.archives(context.config)[0]
    archive = measurements.load_folder(folder, context.datasets)
    many_there = measurements.files_of_datasets(folder, "many_sources/*.csv", context.datasets)
    many = many_sources(*map(benchmarks.MANY_SOURCES.read, (context.paths("many_sources_here"), many_there)))
    return files(rows, archive, many, name, context.tolerance)


def files(here: pd.DataFrame, archive: pd.DataFrame, many: pd.DataFrame, name: str, tolerance: float) -> dict[str, str]:
    """Return compare.csv, .md and .html; raise InputError if `here` or `archive` has no rows."""
    for rows, place in ((here, "here"), (archive, f"in the archive {name}")):
        if rows.empty:
            raise InputError(f"nothing to compare: nothing was measured {place}: run snakemake --cores 1 batch first")
    facts = agreements(here, archive, tolerance)
    claimed, inside = judged(here, archive, tolerance)
    return pages.files("compare", facts, page(facts, claimed, inside, many, name, tolerance))
