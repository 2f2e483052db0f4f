"""Draw the claims at a glance as SVG, PDF and PNG: a row a claim, a column a dataset, the verdict as colour and sign.

The large box is the verdict on our measurements; the small box in its corner is the verdict on the paper's own tables,
by the same rule.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from workflow.judge import claims, verdicts
from workflow.store import measurements
from workflow.store.measurements import marked, substitutes
from workflow.views.context import Context, Drawing
from workflow.views.paper import audit
from workflow.views.render import CROSS

STEM = "claims"


@dataclass(frozen=True)
class Look:
    """The colour, of Okabe and Ito, and the sign of a verdict."""

    color: str
    sign: str


LOOKS = {
    verdicts.CLAIMED: Look("#009E73", "✓"),
    verdicts.SAME: Look("#C8C8C8", "="),
    verdicts.LESS: Look("#F0E442", "<"),
    verdicts.MORE: Look("#56B4E9", ">"),
    verdicts.OPPOSITE: Look("#D55E00", "✗"),
    verdicts.INCONCLUSIVE: Look("#E7DCEE", "~"),
    verdicts.FEW: Look("#F4F4F4", f"{CROSS}2"),  # in the legend; a box has its ratio
    verdicts.UNKNOWN: Look("#FFFFFF", "?"),
}
NAMES = {verdicts.LESS: "less than claimed", verdicts.MORE: "more than claimed"}
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "savefig.dpi": 200,
    "svg.fonttype": "path",
    "svg.hashsalt": "claims",  # the same figure has the same bytes
    "pdf.fonttype": 42,
}
WIDTH, HEIGHT = 9.6, 5.6  # inches
LABEL = 4.55  # the width of the claims' text, in columns
CORNER = 0.36  # the width of the small box, in columns


def draw_claims(audited: list[claims.Audited], others: Collection[str], caption: str) -> Figure:
    """Draw the figure; others: the substitutes among the datasets. To be called, and saved, under STYLE."""
    datasets = list(measurements.paper_datasets().index)
    figure = Figure(figsize=(WIDTH, HEIGHT))
    axes = figure.add_axes((0.005, 0.005, 0.99, 0.99))
    axes.set(xlim=(-LABEL, len(datasets)), ylim=(len(audited) + 0.75, -0.85))
    axes.axis("off")
    for column, dataset in enumerate(datasets):
        axes.text(column + 0.5, -0.15, marked(dataset, others), ha="center", va="bottom", fontsize=7.5)
    for row, one in enumerate(audited):
        claim = textwrap.fill(f"{one.claim.number}. {one.claim.claim}", 46, subsequent_indent="    ")
        axes.text(-LABEL + 0.05, row + 0.5, claim, ha="left", va="center")
        for dataset, here in one.from_batches.items():
            ratio = audit.short(here) if here.verdict == verdicts.FEW else ""
            _boxes(axes, datasets.index(dataset), row, here.verdict, one.from_tables[dataset].verdict, ratio)
    for row in range(len(audited) + 1):
        section = 0 < row < len(audited) and audited[row - 1].claim.section != audited[row].claim.section
        axes.axhline(row, color="0.55" if section else "0.88", linewidth=1 if section else 0.6, zorder=0)
    _legend(axes, audited, datasets)
    axes.text(-LABEL + 0.05, len(audited) + 0.4, caption, ha="left", va="center", fontsize=8, color="0.25")
    return figure


def _box(axes: Axes, x: float, y: float, width: float, height: float, verdict: str) -> None:
    edge = {"edgecolor": "0.35", "linewidth": 0.5}
    axes.add_patch(Rectangle((x, y), width, height, facecolor=LOOKS[verdict].color, **edge))


def _boxes(axes: Axes, column: float, row: float, here: str, paper: str, ratio: str = "") -> None:
    """Draw the verdict on our measurements, and in its corner that on the paper's tables.

    ratio: replaces the sign of the first.
    """
    x, y, side = column + 0.04, row + 0.06, 0.88
    _box(axes, x, y, 0.92, side, here)
    if ratio:
        axes.text(x + 0.46, y + 0.22, ratio, ha="center", va="center", fontsize=8)
    else:
        axes.text(x + 0.3, y + side / 2, LOOKS[here].sign, ha="center", va="center", fontsize=13, fontweight="bold")
    x, y = x + 0.92 - CORNER, y + side - 1.35 * CORNER
    _box(axes, x, y, CORNER, 1.35 * CORNER, paper)
    axes.text(x + CORNER / 2, y + 0.66 * CORNER, LOOKS[paper].sign, ha="center", va="center", fontsize=7)


def _legend(axes: Axes, audited: list[claims.Audited], datasets: list[str]) -> None:
    """Explain signs and boxes, in the largest free rectangle."""
    top, left, bottom, right = _largest_free(audited, datasets)
    height, width = bottom - top, right - left
    axes.add_patch(Rectangle((left + 0.1, top + 0.1), width - 0.2, height - 0.2, facecolor="white", linewidth=0))
    x, top = left + 0.35, top + max(height - 4.9, 0) / 2
    for line, (verdict, look) in enumerate(LOOKS.items()):
        y = top + 0.3 + 0.62 * (line % 4)
        at = x + (width / 2) * (line // 4)
        _box(axes, at, y, 0.5, 0.42, verdict)
        axes.text(at + 0.25, y + 0.22, look.sign, ha="center", va="center", fontsize=9, fontweight="bold")
        axes.text(at + 0.65, y + 0.22, NAMES.get(verdict, verdict), ha="left", va="center")
    y = top + 3.35
    _boxes(axes, x - 0.04, y, verdicts.CLAIMED, verdicts.SAME)
    axes.text(x + 1.1, y + 0.3, "large: what was measured here", ha="left", va="center")
    axes.text(x + 1.1, y + 0.75, "small: the paper's own tables", ha="left", va="center")


def _largest_free(audited: list[claims.Audited], datasets: list[str]) -> tuple[int, int, int, int]:
    """Return top, left, bottom, right of the largest rectangle in which no claim is about a dataset."""
    taken = np.array([[dataset in one.from_batches for dataset in datasets] for one in audited])
    rows, columns = taken.shape
    corners = product(range(rows), range(columns), range(1, rows + 1), range(1, columns + 1))
    free = [
        (top, left, bottom, right)
        for top, left, bottom, right in corners
        if top < bottom and left < right and not taken[top:bottom, left:right].any()
    ]
    return max(free, key=lambda ends: (ends[2] - ends[0]) * (ends[3] - ends[1]), default=(0, 0, rows, columns))


def caption(rows: pd.DataFrame, source: str) -> str:
    """Return a line with the source, the devices, and what † means."""
    on_card = rows["driver"] != ""
    devices = ", ".join(dict.fromkeys([*rows["device"][on_card], *rows["device"][~on_card]]))
    marks = " † Substitute for the paper's graph." if substitutes(rows) else ""
    return f"{source}{f' On {devices}.' if devices else ''}{marks}"


def render_claims_figure(rows: pd.DataFrame, context: Context) -> dict[str, Drawing]:
    """Render the figure."""
    listed = claims.claims(*context.paths("claims"))
    rows = claims.select(rows, listed)
    audited = claims.audit(rows, listed, context.tolerance)
    said = caption(rows, context.source)
    return {STEM: Drawing(lambda: draw_claims(audited, substitutes(rows), said), STYLE)}
