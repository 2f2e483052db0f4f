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
AXIS = "How many times as fast the claim's variant is as the other; claim {seconds}: seconds by which it is faster"
TEXT, LINE = 8, 0.155  # points; inches: the height of a line
NAMES, WORD, BELOW, ABOVE = 0.95, 1.02, 0.85, 0.45  # inches around the axes: left, right for each card, below, above
HELD, LOST, OPEN = {"color": "black"}, {"color": "#A33F00", "weight": "bold"}, {"color": "0.4", "style": "italic"}
TICKS = [digit * 10.0**power for power in range(-3, 6) for digit in (1, 1.5, 2, 3, 5)]
CLAIMED = "#D9ECE4"  # seen in grey too

Line = str | Mapping[str, Audited] | tuple[Mapping[str, Audited], str]  # a title, a claim by card, or one of its graphs


def _lines(audited: AuditedByCard, others: Collection[str]) -> Iterator[Line]:
    """Yield the lines from top to bottom; others: the substitutes."""
    for title, replaced in ((REAL, False), (REPLACED, True)):
        blocks = [
            (by_card, [dataset for dataset in one.from_batches if (dataset in others) == replaced])
            for by_card in claim_by_claim(audited)
            for one in [next(iter(by_card.values()))]
        ]
        if any(datasets for _, datasets in blocks):
            yield title
        for by_card, datasets in blocks:
            if datasets:
                yield by_card
                yield from ((by_card, dataset) for dataset in datasets)


def estimates(by_card: Mapping[str, Audited], dataset: str) -> dict[str, Estimate | None]:
    """Return what is drawn of a claim on a dataset: the paper's, its program's, and each card's estimate."""
    first = next(iter(by_card.values()))
    of_paper = {TABLES: first.from_tables[dataset].estimate, PROGRAM: first.from_program[dataset]}
    return of_paper | {card: one.from_batches[dataset].estimate for card, one in by_card.items()}


def draw_claims(audited: AuditedByCard, others: Collection[str], tolerance: float, caption: str) -> Figure:
    """Draw the figure; others: the substitutes among the datasets. Call it in plots.styled()."""
    lines = list(_lines(audited, others))
    in_order = sorted(audited, reverse=True)  # so that a card has the same look in the picture of another
    looks = OF_PAPER | {card: OF_CARDS[in_order.index(card) % len(OF_CARDS)] for card in audited}
    width, height = plots.WIDTH, LINE * len(lines) + BELOW + ABOVE
    figure = Figure(figsize=(width, height), layout="none")
    inside = width - NAMES - WORD * len(audited)
    axes = figure.add_axes((NAMES / width, BELOW / height, inside / width, LINE * len(lines) / height))
    drawn = [estimates(*line) for line in lines if isinstance(line, tuple)]
    ends = [end for found in drawn for one in found.values() if one for end in (one.low, one.high) if end > 0]
    low, high = 0.93 * min([1, *ends]), 1.07 * max([2, *ends])
    axes.set(xscale="log", xlim=(low, high), ylim=(len(lines) - 0.5, -0.5))
    axes.xaxis.set_major_locator(FixedLocator([tick for tick in TICKS if low < tick < high]))
    axes.xaxis.set_major_formatter(FuncFormatter(plots.plain))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(axis="x")
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    for y, line in enumerate(lines):
        if isinstance(line, tuple):
            _graph(axes, y, *line, looks, others, tolerance, inside)
        else:
            text = line if isinstance(line, str) else _heading(next(iter(line.values())))
            style = {"weight": "bold", "fontsize": TEXT + 1} if isinstance(line, str) else {"fontsize": TEXT}
            back = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            left = 0.05 - NAMES / inside if isinstance(line, str) else 0.1 - NAMES / inside
            axes.text(left, y, text, transform=axes.get_yaxis_transform(), va="center", bbox=back, **style)
    for i, card in enumerate(audited):
        place = 1 + (0.06 + WORD * i) / inside
        axes.text(place, -0.9, card, transform=axes.get_yaxis_transform(), fontsize=TEXT, weight="bold", va="bottom")
    listed = next(iter(audited.values()))
    seconds = ", ".join(str(one.claim.number) for one in listed if one.claim.by_seconds)
    axes.set_xlabel(AXIS.format(seconds=seconds) if seconds else AXIS.partition(";")[0], fontsize=TEXT)
    marks = [Line2D([], [], **look.marks | (plots.HOLLOW if name in OF_PAPER else {})) for name, look in looks.items()]
    patch = Patch(facecolor=CLAIMED, edgecolor="0.6", linewidth=0.5)
    names = [*looks, "claimed range"]
    figure.legend([*marks, patch], names, loc="upper left", ncols=len(names), handlelength=1, fontsize=TEXT)
    figure.text(0.05 / width, 0.05 / height, caption, fontsize=plots.LEAST_TEXT, color="0.25", va="bottom")
    return figure


def _heading(one: Audited) -> str:
    return f"{one.claim.number}. {one.claim.claim}"


def _graph(
    axes: Axes,
    y: int,
    by_card: Mapping[str, Audited],
    dataset: str,
    looks: Mapping[str, Look],
    others: Collection[str],
    tolerance: float,
    inside: float,
) -> None:
    """Draw the line of a claim on a dataset: its name, the claimed range, the estimates, and the verdicts."""
    by_line, claim = axes.get_yaxis_transform(), next(iter(by_card.values())).claim
    axes.text(-0.06 / inside, y, marked(dataset, others), transform=by_line, ha="right", va="center", fontsize=TEXT)
    regions = claim.factors if claim.valued else claim.directions(tolerance)
    low, high = np.clip(regions[verdicts.CLAIMED], *axes.get_xlim())
    axes.fill_between([low, high], y - 0.5, y + 0.5, color=CLAIMED, linewidth=0, zorder=0)
    axes.vlines(1, y - 0.5, y + 0.5, color="0.5", linewidth=0.8, zorder=1)
    found = estimates(by_card, dataset)
    for offset, (name, look) in zip(plots.offsets(len(looks)), looks.items(), strict=True):
        if (one := found[name]) and one.value > 0:
            ends = np.clip([one.low, one.high], *axes.get_xlim())
            axes.hlines(y + offset, *ends, color=look.color, linewidth=1)
            hollow = {"markerfacecolor": "white"} if name in OF_PAPER else {}
            axes.plot(one.value, y + offset, **look.marks | hollow, markersize=3.8, markeredgewidth=0.9)
    for i, one in enumerate(by_card.values()):
        finding = one.from_batches[dataset]
        style = OPEN if not finding.decided else HELD if finding.verdict == verdicts.CLAIMED else LOST
        word = finding.verdict + (FRAGILE if finding.fragile else "")
        axes.text(1 + (0.06 + WORD * i) / inside, y, word, transform=by_line, va="center", fontsize=TEXT, **style)


def caption(rows: Sequence[pd.DataFrame], source: str) -> str:
    """Return a line with the source, the devices, and what marks mean."""
    both = render.stacked(*rows)
    on_card = both["driver"] != ""
    devices = ", ".join(dict.fromkeys([*both["device"][on_card], *both["device"][~on_card]]))
    whiskers = f"Whiskers: {verdicts.INTERVAL}, or the {verdicts.RANGE} of two batches."
    mark = f"{FRAGILE.strip()}: undecided or another verdict if one batch were left out."
    others = " Other cards: their archives." if len(rows) > 1 else ""
    return f"{whiskers} {mark}\n{source}{others}{f' On {devices}.' if devices else ''}"


def view(rows: pd.DataFrame, context: Context) -> dict[str, Drawing]:
    """Render the figure."""
    listed = claims.claims(*context.paths("claims"))
    here = ", here" if context.source == MEASURED_HERE else ""
    of_cards = {measurements.card(rows) + here: rows}
    of_cards |= {measurements.card(other): other for other in map(measurements.load_folder, context.paths("archives"))}
    of_cards = {card: claims.select(of_card, listed) for card, of_card in of_cards.items()}
    audited = {card: claims.audit(of_card, listed, context.tolerance) for card, of_card in of_cards.items()}
    first = next(iter(audited))
    audited = {card: ones for card, ones in audited.items() if card == first or any(one.decided for one in ones)}
    replaced, said = substitutes(of_cards[first]), caption([of_cards[card] for card in audited], context.source)
    return {STEM: Drawing(lambda: draw_claims(audited, replaced, context.tolerance, said))}
