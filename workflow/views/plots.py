"""The style of all figures: colours, axes of time, values placed without overlap, captions, files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import PlaceHolderLayoutEngine
from matplotlib.legend_handler import HandlerTuple
from matplotlib.text import Annotation
from matplotlib.ticker import FuncFormatter, LogFormatter
from matplotlib.transforms import Bbox

from kernels.io import atomic
from workflow.views.catalogue import FORMATS

WIDTH, HEIGHT = 7.0, 5.8  # inches: the width of a page's text
LEGEND_ROW = 5  # entries: with more it has several rows
LEAST_TEXT = 7  # points: the least size of a text
GROUP = 0.88  # the part of a group's width that is drawn on
HOLLOW = {"markerfacecolor": "white", "markersize": 7}  # seen around a filled mark at the same place
COUNTS_LABEL = "(number of vertices, number of edges)"
LEAST_SECONDS = 0.01  # below it a panel is in milliseconds
STYLE = {
    "font.size": 8,
    "legend.fontsize": LEAST_TEXT,
    "legend.title_fontsize": LEAST_TEXT,
    "xtick.labelsize": LEAST_TEXT,
    "ytick.labelsize": LEAST_TEXT,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "0.88",
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.5,
    "lines.markersize": 5,
    "lines.linewidth": 1.2,
    "legend.frameon": False,
    "legend.columnspacing": 1.4,
    "legend.handlelength": 3.0,
    "legend.markerscale": 0.8,
    "legend.handletextpad": 0.5,
    "legend.borderaxespad": 0.5,
    "errorbar.capsize": 1.5,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.w_pad": 0.1,
    "figure.constrained_layout.h_pad": 0.1,
    "savefig.dpi": 200,
    "svg.fonttype": "path",
    "svg.hashsalt": "shortest paths",  # the same figure has the same bytes
    "pdf.fonttype": 42,
}
METADATA = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}

# Okabe and Ito's colours, told apart by the colour-blind.
BLUE, ORANGE, GREEN, PINK = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
VERMILION, SKY, BLACK, GREY = "#D55E00", "#56B4E9", "#000000", "0.35"


@dataclass(frozen=True)
class Look:
    """How a series is drawn."""

    color: str
    marker: str
    line: str | tuple = "-"
    hatch: str = ""

    @property
    def marks(self) -> dict:
        """The keywords that draw marks without a line."""
        return {"color": self.color, "marker": self.marker, "linestyle": ""}


# A palette for each kind of plot: a series has the look at its position.
BARS = (
    Look(BLUE, "o"),
    Look(ORANGE, "s", hatch="////"),
    Look(GREEN, "^", hatch="xxxx"),
    Look(PINK, "D", hatch="...."),
    Look(VERMILION, "v", hatch="----"),
    Look(SKY, "P", hatch="\\\\\\\\"),
    Look(BLACK, "X", hatch="++++"),
)
LINES = (
    Look(BLUE, "o", "-"),
    Look(ORANGE, "s", "--"),
    Look(VERMILION, "D", ":"),
    Look(GREEN, "^", (0, (4, 1, 1, 1))),
    Look(PINK, "v", (0, (4, 1, 1, 1, 1, 1))),
    Look(SKY, "P", (0, (8, 2))),
    Look(BLACK, "X", (0, (1, 3))),
)
MARKS = (
    Look(BLUE, "o"),
    Look(GREEN, "v"),
    Look(ORANGE, "s"),
    Look(PINK, "P"),
    Look(SKY, "X"),
    Look(BLACK, "*"),
)

# Places for a value beside its mark: points to the right and up, and its alignment. The first free place is taken.
ABOVE = tuple((0, up, "center", "bottom") for up in (2, 12, 22))
AROUND = (
    *((0, 6.5, "center", "bottom"), (0, -7.5, "center", "top"), (7, 0, "left", "center"), (-7, 0, "right", "center")),
    *((4, 5, "left", "bottom"), (-4, 5, "right", "bottom"), (4, -6, "left", "top"), (-4, -6, "right", "top")),
    *((0, 14, "center", "bottom"), (0, -15, "center", "top")),
    *((10, 12, "left", "bottom"), (-10, 12, "right", "bottom"), (10, -13, "left", "top"), (-10, -13, "right", "top")),
    *((14, 0, "left", "center"), (0, 21, "center", "bottom"), (0, -22, "center", "top")),
)
PASSES = 2  # of placing values: in the second, those that were placed first give way
APART = 1.5  # pixels around a value, at 100 pixels an inch
MARK = 5  # pixels from the middle of a mark to its edge


def styled(look: Mapping = STYLE) -> AbstractContextManager:
    """Return the context in which a figure is drawn and saved. `look` has matplotlib's rcParams."""
    return style.context(["default", look])


def looks(palette: Sequence[Look], series: Iterable[str]) -> dict[str, Look]:
    """Return the look of each series by its position; the palette repeats."""
    return {name: palette[i % len(palette)] for i, name in enumerate(series)}


def short(count: int) -> str:
    """Return a count in thousands or tenths of millions, rounded: 264346 is 264K, 3868020 3.9M, 999999 1.0M."""
    if count >= 999_500:
        return f"{count / 1e6:.1f}M"
    return f"{count / 1000:.0f}K" if count >= 1000 else str(count)


def digits(number: float) -> str:
    """Return three significant digits: 0.0120, 285, 22,300; nothing for NaN."""
    if np.isnan(number):
        return ""
    return f"{float(f'{number:.3g}'):,.0f}" if number >= 999.5 else f"{number:#.3g}".rstrip(".")


def plain(number: float, _position: int | None = None) -> str:
    """Return a tick's number without powers: 0.1, 1, 10, 1,000."""
    return f"{number:,.10g}"


class PlainNumbers(LogFormatter):
    """plain() for the ticks of a logarithmic axis; between powers of ten only if few of them are seen."""

    def __call__(self, x, pos=None):
        return plain(x) if super().__call__(x, pos) else ""


def unit(seconds: Iterable[float]) -> tuple[str, float]:
    """Return the unit for a panel of these times, and its number in a second: ms if a time is below 0.01 s."""
    times = np.asarray(list(seconds), float)
    return ("ms", 1e3) if np.any(times < LEAST_SECONDS) else ("s", 1.0)


def time_label(name: str) -> str:
    return f"Execution time ({name})"


def linear(axes: Axes) -> None:
    """Make the axis of time start at 0."""
    axes.margins(y=0.2)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(plain))


def logarithmic(axes: Axes, margin: float = 0.1) -> None:
    """Make the axis of time logarithmic, with a part of its height free above and below what is drawn."""
    axes.set_yscale("log")
    axes.margins(y=margin)
    axes.yaxis.set_major_formatter(PlainNumbers())
    axes.yaxis.set_minor_formatter(PlainNumbers(minor_thresholds=(2, 0.5)))


def groups(axes: Axes, labels: Sequence[str]) -> None:
    """Name groups of marks below the axis."""
    axes.set_xticks(range(len(labels)), labels)
    axes.set_xlim(-0.56, len(labels) - 0.44)
    axes.set_xlabel(COUNTS_LABEL)
    axes.tick_params(axis="x", length=0)


def offsets(series: int) -> np.ndarray:
    """Return the offset of each series from the middle of a group."""
    return (np.arange(series) - (series - 1) / 2) * GROUP / series


def medians(cells: pd.DataFrame) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return medians and, for errorbar, the distances to the least and the greatest repeat; NaN of one repeat."""
    median, several = cells["median"].to_numpy(float), (cells["repeats"] > 1).to_numpy()
    least, most = (np.where(several, cells[end], np.nan) for end in ("min", "max"))
    return median, [median - least, most - median]


def say_unmeasured(axes: Axes) -> None:
    axes.set_yticks([])
    axes.set_yticks([], minor=True)
    axes.text(0.5, 0.5, "no measurement", transform=axes.transAxes, ha="center", fontsize=14, color="0.5")


def legend(axes: Axes, handles: list, labels: list[str], handlelength: float | None = None) -> None:
    """Draw a legend above the axes, right of the title; in a row if it has few entries."""
    axes.legend(
        handles,
        labels,
        loc="lower right",
        bbox_to_anchor=(1, 1),
        ncols=-(-len(labels) // -(-len(labels) // LEGEND_ROW)),
        handlelength=handlelength,
        handler_map={tuple: HandlerTuple(ndivide=None)},
    )


def lay_out(figure: Figure) -> None:
    """Lay out all that is drawn so far; later calls do nothing."""
    if figure.get_layout_engine() and not isinstance(figure.get_layout_engine(), PlaceHolderLayoutEngine):
        figure.draw_without_rendering()
        figure.set_layout_engine("none")


def write_values(
    axes: Axes,
    x: Sequence[float],
    y: Sequence[float],
    texts: Sequence[str],
    places: tuple,
    *,
    size: float = LEAST_TEXT,
    rotation: float = 0,
) -> None:
    """Write a text beside each point, at the first of the places that is free of marks, texts and the axes' edges.

    Places where another mark is as near to the text as its own come last. Call it when all else is drawn. A point with
    an empty text is only a mark.
    """
    lay_out(axes.figure)
    marks = axes.transData.transform([(a, b) for a, b in zip(x, y, strict=True) if not np.isnan(b)]).reshape(-1, 2)
    fixed = [Bbox.from_extents(*(mark - MARK), *(mark + MARK)) for mark in marks] if places is AROUND else []
    background = {"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8}
    drawn = {"textcoords": "offset points", "fontsize": size, "rotation": rotation, "in_layout": False}
    written = [(point, text) for point, text in zip(zip(x, y, strict=True), texts, strict=True) if text]
    labels = [axes.annotate(text, point, (0, 0), **drawn, bbox=background) for point, text in written]
    boxes: dict[Annotation, Bbox] = {}

    def settle(label: Annotation) -> float:
        """Move the label to its best place, and return what the place costs."""
        taken = [*fixed, *(box for other, box in boxes.items() if other is not label)]
        own = (marks == axes.transData.transform(label.xy)).all(axis=1)

        def cost(place: tuple) -> float:
            conflicts = _conflicts(_move(label, place), axes.bbox, taken)
            return conflicts + (_apart(label, marks[~own]) <= _apart(label, marks[own])) / 2

        costs = [cost(place) for place in places]
        boxes[label] = _box(_move(label, places[costs.index(min(costs))]))
        return min(costs)

    for _ in range(PASSES):
        if max(map(settle, labels), default=0) < 1:
            break


def _move(label: Annotation, place: tuple) -> Annotation:
    right, up, ha, va = place
    label.set(position=(right, up), ha=ha, va=va)
    return label


def _box(label: Annotation) -> Bbox:
    return label.get_window_extent().padded(APART)


def _conflicts(label: Annotation, edges: Bbox, taken: list[Bbox]) -> int:
    """Return how many boxes the label touches; more than there are if it leaves the axes."""
    box = _box(label)
    inside = edges.x0 < box.x0 and box.x1 < edges.x1 and edges.y0 < box.y0 and box.y1 < edges.y1
    return box.count_overlaps(taken) + (0 if inside else len(taken) + 1)


def _apart(label: Annotation, marks: np.ndarray) -> float:
    """Return the distance of the label from the nearest mark; infinite without marks."""
    box = _box(label)
    nearest = np.clip(marks, [box.x0, box.y0], [box.x1, box.y1])
    return np.hypot(*(marks - nearest).T).min(initial=np.inf)


def caption(figure: Figure, text: str) -> None:
    """Write small text under the whole figure."""
    figure.supxlabel(text, x=0.015, ha="left", fontsize=LEAST_TEXT, color="0.25", wrap=True)


def write(stem: Path, draw: Callable[[], Figure], formats: Collection[str] = FORMATS, look: Mapping = STYLE) -> None:
    """Draw a figure in a look of styled() and write it in each format: stem.svg and so on."""
    with styled(look):
        figure = draw()
        lay_out(figure)
        for form in formats:
            path = stem.with_suffix(f".{form}")
            with atomic(path) as file:
                figure.savefig(file, format=form, metadata=METADATA[form])
            logging.info("wrote %s", path)
