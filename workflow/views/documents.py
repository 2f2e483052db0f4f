"""What the generated parts of the documents share: markers, and the facts that hold for a whole document."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from kernels.errors import InputError
from kernels.registry import VARIANTS, Variant
from workflow.store import measurements
from workflow.views import render
from workflow.views.render import digits

ORIGINS = {
    "paper": "the paper's variants",
    "sparry": "SParry's kernels",
    "ours": "our own kernels",
    "library": "the libraries",
}


def page_text(page: Path) -> str:
    """A page's text. Raises InputError where it is not text."""
    try:
        return page.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{page}: not a text file ({error})") from None


def fill(text: str, name: str, content: str, page: Path | str = "README.md") -> str:
    """The page's text with what stands between the markers of that name replaced. HTML but <br> is escaped."""
    pattern = re.compile(f"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    if not pattern.search(text):
        raise InputError(f"{page}: the markers of {name} are missing: <!-- begin {name} --> and <!-- end {name} -->")
    shown = re.sub("<(?!br>)", "&lt;", content.strip())
    return pattern.sub(lambda found: f"{found[1]}{shown}\n{found[2]}", text)


def _origin(variant: Variant) -> str:
    return ORIGINS[variant.origin] if variant.on_gpu or variant.origin != "paper" else "the paper's CPU variants"


def origins(rows: pd.DataFrame) -> dict[str, list[str]]:
    """By device, the families of variants that ran on it. rows: as measurements.load gives them."""
    origin = measurements.variants(rows).map({key: _origin(variant) for key, variant in VARIANTS.items()})
    return {device: list(dict.fromkeys(names)) for device, names in origin.groupby(rows["device"], sort=False)}


def facts(rows: pd.DataFrame, archive: str) -> list[str]:
    """Sentences that hold for all tables of a document: source, devices, generated graphs, throttling.

    rows: as measurements.load gives them.
    """
    days = sorted({started[:10] for started in rows["started"] if started})
    commits = sorted({commit[:12] for commit in rows["commit"] if commit})
    sentences = [f"All numbers are from the archive `{archive}`."]
    if days:
        sentences.append(
            f"Measured from {days[0]} to {days[-1]}; "
            + (f"commits {', '.join(commits)}." if commits else "the commits are not recorded.")
        )
    sentences += [f"On {device}: {', '.join(ran)}." for device, ran in origins(rows).items()]
    sentences += measurements.generated(rows)
    throttled = rows[rows["throttling"] != ""]
    for (*variant, dataset), reasons in throttled.groupby(measurements.CELL, sort=False)["throttling"].first().items():
        sentences.append(f"{'/'.join(variant)} on {dataset}: the card was throttled ({reasons}).")
    return sentences


def substitutes_table(rows: pd.DataFrame) -> str:
    """Markdown: each substitute with its counts beside the paper's; empty where there is none."""
    found, paper = measurements.substitutes(rows), measurements.paper_datasets()
    if not found:
        return ""
    here = rows.groupby("dataset")[["vertices", "arcs"]].first()
    lines = [
        {
            "Substitute": measurements.marked(dataset, found),
            "What it is": text,
            "Vertices": f"{here.vertices[dataset]:,.0f}",
            "Arcs": f"{here.arcs[dataset]:,.0f}",
            "The paper's vertices": f"{paper.vertices[dataset]:,}" if dataset in paper.index else "-",
            "The paper's arcs": f"{paper.arcs[dataset]:,}" if dataset in paper.index else "-",
        }
        for dataset, text in found.items()
    ]
    link = "[Why there are substitutes](data.md#the-substitutes)."
    return f"† marks a dataset that is not the paper's graph:\n\n{narrow(pd.DataFrame(lines))}\n\n{link}\n"


def narrow(table: pd.DataFrame) -> str:
    """A Markdown table without the spaces that would align it in an editor."""
    table = table.rename(columns=render.markdown_cell).map(render.markdown_cell)
    lines = [list(table.columns), [":--"] * len(table.columns), *table.to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def time_text(seconds: float) -> str:
    """A time with three digits, in milliseconds below a second."""
    return f"{digits(1e3 * seconds)} ms" if seconds < 1 else f"{digits(seconds)} s"


def spread(cell: pd.Series) -> str:
    """ "[5.69 s, 5.72 s], 3 batches, n=9" of a row of measurements.summarise."""
    return render.spread(cell, time_text)
