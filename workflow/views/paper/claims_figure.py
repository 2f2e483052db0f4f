"""Draw the claims as a forest plot: a line a claim and dataset, with the paper's ratio, its program's, and each card's.

The claimed range is shaded; the verdict of each card stands at the right. Real graphs and substitutes stand apart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from workflow.judge import claims, verdicts
from workflow.judge.claims import FRAGILE, Audited
from workflow.judge.verdicts import Estimate
from workflow.store import measurements
from workflow.store.measurements import marked, substitutes
from workflow.views import plots, render
from workflow.views.catalogue import MEASURED_HERE
from workflow.views.context import Context, Drawing
from workflow.views.paper.glance import AuditedByCard, claim_by_claim
from workflow.views.plots import Look

STEM = "claims"
TABLES, PROGRAM = "the paper's tables", "the paper's program"
OF_PAPER = {TABLES: Look("0.3", "D"), PROGRAM: Look("0.3", "s")}
OF_CARDS = (Look(plots.BLUE, "o"), Look(plots.ORANGE, "v"), Look(plots.GREEN, "^"), Look(plots.PINK, "P"))
REAL, REPLACED = "Real graphs", "Substitutes for the paper's graphs †"
TEXT, LINE = 8, 0.155  # points; inches: the height of a line
NAMES, WORD, BELOW, ABOVE = 0.95, 1.02, 0.85, 0.45  # inches around the axes: left, right for each card, below, above
HELD, LOST, OPEN = {"color": "black"}, {"color": "#A33F00", "weight": "bold"}, {"color": "0.4", "style": "italic"}
TICKS = [digit * 10.0**power for power in range(-3, 6) for digit in (1, 1.5, 2, 3, 5)]
CLAIMED = "#D9ECE4"  # seen in grey too

Line = str | tuple[Mapping[str, Audited], str]  # a heading, or a claim by card and one of its datasets


def _lines(audited: AuditedByCard, others: Collection[str]) -> Iterator[Line]:
    """Yield the lines from top to bottom; others: the substitutes."""
    for title, replaced in ((REAL, False), (REPLACED, True)):
        block: list[Line] = []
        for by_card in claim_by_claim(audited):
            one = next(iter(by_card.values()))
            datasets = [dataset for dataset in one.from_batches if (dataset in others) == replaced]
            block += [f"{one.claim.number}. {one.claim.claim}"] if datasets else []
            block += [(by_card, dataset) for dataset in datasets]
        yield from [title, *block] if block else []


def estimates(by_card: Mapping[str, Audited], dataset: str) -> dict[str, Estimate | None]:
    """Return what is drawn of a claim on a dataset: the paper's, its program's, and each card's estimate."""
    first = next(iter(by_card.values()))
    of_paper = {TABLES: first.from_tables[dataset].estimate, PROGRAM: first.from_program[dataset]}
    return of_paper | {card: one.from_batches[dataset].estimate for card, one in by_card.items()}


def draw_claims(audited: AuditedByCard, others: Collection[str], tolerance: float, caption: str) -> Figure:
    """Draw the figure; others: the substitutes among the datasets. Call it in plots.styled()."""
    lines = list(_lines(audited, others))
    graphs = {y: line for y, line in enumerate(lines) if not isinstance(line, str)}
    in_order = sorted(audited, reverse=True)  # so that a card has the same look in the picture of another
    looks = OF_PAPER | {card: OF_CARDS[in_order.index(card) % len(OF_CARDS)] for card in audited}

    width, height, inside = plots.WIDTH, LINE * len(lines) + BELOW + ABOVE, plots.WIDTH - NAMES - WORD * len(audited)
    figure = Figure(figsize=(width, height), layout="none")
    axes = figure.add_axes((NAMES / width, BELOW / height, inside / width, LINE * len(lines) / height))
    axes.set_ylim(len(lines) - 0.5, -0.5)
    axes.set_yticks(list(graphs), [marked(dataset, others) for _, dataset in graphs.values()], fontsize=TEXT)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    seconds = [str(one.claim.number) for one in next(iter(audited.values())) if one.claim.by_seconds]
    _ratio_axis(axes, [one for line in graphs.values() for one in estimates(*line).values() if one], seconds)
    for y, (by_card, dataset) in graphs.items():
        _graph(axes, y, by_card, dataset, looks, tolerance)
    for y, line in enumerate(lines):
        if isinstance(line, str):
            bold = {"weight": "bold"} if line in (REAL, REPLACED) else {}
            _write(axes, line, 0, y, 4 - 72 * NAMES, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1}, **bold)
    for i, card in enumerate(audited):
        _write(axes, card, 1, -1, 4 + 72 * WORD * i, weight="bold")

    marks = [Line2D([], [], **look.marks | (plots.HOLLOW if name in OF_PAPER else {})) for name, look in looks.items()]
    marks.append(Patch(facecolor=CLAIMED, edgecolor="0.6", linewidth=0.5))
    names = [*looks, "claimed range"]
    figure.legend(marks, names, loc="upper left", ncols=len(names), handlelength=1, fontsize=TEXT)
    figure.text(0.05 / width, 0.05 / height, caption, fontsize=plots.LEAST_TEXT, color="0.25", va="bottom")
    return figure


def _ratio_axis(axes: Axes, shown: Collection[Estimate], seconds: Sequence[str]) -> None:
    """Set up the axis of ratios for these estimates; seconds: the claims that it shows seconds of."""
    ends = [end for one in shown for end in (one.low, one.high) if end > 0]
    low, high = 0.93 * min([1, *ends]), 1.07 * max([2, *ends])
    axes.set(xscale="log", xlim=(low, high))
    axes.xaxis.set_major_locator(FixedLocator([tick for tick in TICKS if low < tick < high]))
    axes.xaxis.set_major_formatter(FuncFormatter(plots.plain))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(axis="x")
    axes.grid(False, axis="y")
    of_seconds = f"; claim {', '.join(seconds)}: seconds by which it is faster" if seconds else ""
    axes.set_xlabel(f"How many times as fast the claim's variant is as the other{of_seconds}", fontsize=TEXT)


def _write(axes: Axes, text: str, side: int, y: float, right: float, **style) -> None:
    """Write a text at a line, `right` points from the left (0) or right (1) side of the axes."""
    place = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points"}
    axes.annotate(text, (side, y), (right, 0), **place, va="center", fontsize=TEXT, **style)


def _graph(
    axes: Axes, y: int, by_card: Mapping[str, Audited], dataset: str, looks: Mapping[str, Look], tolerance: float
) -> None:
    """Draw the line of a claim on a dataset: the claimed range, the estimates, and the verdicts."""
    claim, view = next(iter(by_card.values())).claim, axes.get_xlim()
    regions = claim.factors if claim.valued else claim.directions(tolerance)
    axes.fill_between(np.clip(regions[verdicts.CLAIMED], *view), y - 0.5, y + 0.5, color=CLAIMED, linewidth=0, zorder=0)
    axes.vlines(1, y - 0.5, y + 0.5, color="0.5", linewidth=0.8, zorder=1)
    shown = estimates(by_card, dataset)
    for offset, (name, look) in zip(plots.offsets(len(looks)), looks.items(), strict=True):
        if (one := shown[name]) and one.value > 0:
            axes.hlines(y + offset, *np.clip([one.low, one.high], *view), color=look.color, linewidth=1)
            hollow = {"markerfacecolor": "white"} if name in OF_PAPER else {}
            axes.plot(one.value, y + offset, **look.marks | hollow, markersize=3.8, markeredgewidth=0.9)
    for i, finding in enumerate(one.from_batches[dataset] for one in by_card.values()):
        style = OPEN if not finding.decided else HELD if finding.verdict == verdicts.CLAIMED else LOST
        _write(axes, finding.verdict + (FRAGILE if finding.fragile else ""), 1, y, 4 + 72 * WORD * i, **style)


def caption(rows: Sequence[pd.DataFrame], source: str) -> str:
    """Return a line with the source, the devices, and what marks mean."""
    both = render.stacked(*rows)
    on_card = both["driver"] != ""
    devices = ", ".join(dict.fromkeys([*both["device"][on_card], *both["device"][~on_card]]))
    whiskers = f"Whiskers: {verdicts.INTERVAL}, or the {verdicts.RANGE} of two batches."
    mark = f"{FRAGILE.strip()}: undecided or another verdict if one batch were left out."
    others = " Other cards: their archives." if len(rows) > 1 else ""
    return f"{whiskers} {mark}\n{source}{others}{f' On {devices}.' if devices else ''}"


def render_claims_figure(rows: pd.DataFrame, context: Context) -> dict[str, Drawing]:
    """Render the figure."""
    listed = claims.claims(*context.paths("claims"))
    here = ", here" if context.source == MEASURED_HERE else ""
    of_cards = {measurements.card(rows) + here: rows}
    of_cards |= {
        measurements.card(other): other
        for other in map(measurements.load_folder, context.paths("archives") or context.paths("other cards"))
    }
    of_cards = {card: claims.select(of_card, listed) for card, of_card in of_cards.items()}
    audited = {card: claims.audit(of_card, listed, context.tolerance) for card, of_card in of_cards.items()}
    first = next(iter(audited))
    audited = {card: ones for card, ones in audited.items() if card == first or any(one.decided for one in ones)}
    replaced, said = substitutes(of_cards[first]), caption([of_cards[card] for card in audited], context.source)
    return {STEM: Drawing(lambda: draw_claims(audited, replaced, context.tolerance, said))}
