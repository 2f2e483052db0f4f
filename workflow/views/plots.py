"""The style of all figures: looks of programs, axes of time, names beside marks, captions, files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib import rcParams, style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import PlaceHolderLayoutEngine
from matplotlib.ticker import FuncFormatter, LogFormatter
from scipy.optimize import isotonic_regression

from kernels.io import atomic
from kernels.registry import VARIANTS
from workflow.views.catalogue import FORMATS

WIDTH, HEIGHT = 7.0, 5.8  # inches: the width of a page's text
LEAST_TEXT = 7  # points: the least size of a text
NAME_LINE = 1.4  # between the middles of two names, in sizes of text
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

# Okabe and Ito's colours, told apart by the colour-blind, and more.
BLUE, ORANGE, GREEN, PINK = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
VERMILION, SKY, BLACK, GREY = "#D55E00", "#56B4E9", "#000000", "0.35"
WINE, OLIVE, FOREST, PURPLE, BROWN, PALE = "#882255", "#999933", "#117733", "#6A3D9A", "#8B5A2B", "0.6"


@dataclass(frozen=True)
class Look:
    """How a program is drawn: its colour and its mark, and the hatch of its bars."""

    color: str
    marker: str
    hatch: str = ""

    @property
    def marks(self) -> dict:
        """The keywords that draw marks without a line."""
        return {"color": self.color, "marker": self.marker, "linestyle": ""}


class Name(NamedTuple):
    """A name of a point, with the point's colour."""

    text: str
    color: str
    x: float
    y: float


# The look of each program in all figures. Variants of one program, and the paper's best of each problem, share one.
LOOKS = {
    **dict.fromkeys(("bellman_ford/naive", "dijkstra/naive", "floyd_warshall/naive"), Look(GREY, "o")),
    **dict.fromkeys(("bellman_ford/cpu", "dijkstra/cpu", "floyd_warshall/cpu"), Look(PALE, "d")),
    "bellman_ford/stride": Look(SKY, "s", "////"),
    "bellman_ford/stride_ell": Look(OLIVE, "v", "...."),
    "floyd_warshall/super_naive": Look(ORANGE, "s", "////"),
    "floyd_warshall/super_naive_shared": Look(FOREST, "D", "...."),
    "floyd_warshall/tiled": Look(PINK, "v", "----"),
    **dict.fromkeys(("bellman_ford/stride_flag", "floyd_warshall/tiled_shared"), Look(BLUE, "^", "xxxx")),
    **{key: Look(GREEN, "<") for key, variant in VARIANTS.items() if variant.origin == "sparry"},
    **dict.fromkeys(
        (
            *("delta_stepping/near_far", "bellman_ford/multi_source_apsp"),
            *("floyd_warshall/blocked", "floyd_warshall/blocked16", "floyd_warshall/staged"),
        ),
        Look(VERMILION, "o"),
    ),
    **dict.fromkeys(("hierarchy/sssp", "hierarchy/apsp"), Look(WINE, "*")),
    **dict.fromkeys(("dijkstra/scipy", "dijkstra/scipy_apsp", "floyd_warshall/scipy"), Look(BLACK, "X")),
    **dict.fromkeys(("dijkstra/networkit", "dijkstra/networkit_apsp"), Look(BROWN, "P")),
}
OTHER = Look(PALE, "h", "++++")  # of a variant that LOOKS does not have
OTHERS_GPU, OTHERS_CPU = Look(PURPLE, "D"), Look(PURPLE, "p")  # programs of others


def look_of(key: str) -> Look:
    """Return the look of a variant; a CUDA-graph variant has its plain variant's."""
    return LOOKS.get(VARIANTS[key].plain, OTHER)


def styled(look: Mapping = STYLE) -> AbstractContextManager:
    """Return the context in which a figure is drawn and saved. `look` has matplotlib's rcParams."""
    return style.context(["default", look])


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


def linear(axes: Axes, margin: float = 0.2) -> None:
    """Make the axis of time start at 0, with a part of its height free above what is drawn."""
    axes.margins(y=margin)
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


def say_unmeasured(axes: Axes, text: str = "no measurement") -> None:
    axes.set_yticks([])
    axes.set_yticks([], minor=True)
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", fontsize=14, color="0.5")


def legend(axes: Axes, handles: list, labels: list[str], handlelength: float | None = None) -> None:
    """Draw a legend in a row above the axes, right of the title."""
    axes.legend(handles, labels, loc="lower right", bbox_to_anchor=(1, 1), ncols=len(labels), handlelength=handlelength)


def lay_out(figure: Figure) -> None:
    """Lay out all that is drawn so far; later calls do nothing."""
    if figure.get_layout_engine() and not isinstance(figure.get_layout_engine(), PlaceHolderLayoutEngine):
        figure.draw_without_rendering()
        figure.set_layout_engine("none")


def write_names(axes: Axes, names: Sequence[Name], x: float, ha: str) -> None:
    """Write names at x, each at the height of its point or as near to it as the others leave room.

    A line of its colour joins a name with its point. Call it when all else is drawn.
    """
    lay_out(axes.figure)
    heights = axes.transData.transform([(name.x, name.y) for name in names])[:, 1]
    order, gap = np.argsort(heights, kind="stable"), NAME_LINE * rcParams["font.size"] * axes.figure.dpi / 72
    steps = gap * np.arange(len(names))
    lowest, highest = axes.bbox.y0 + gap / 2, axes.bbox.y1 - gap / 2
    moved = isotonic_regression(heights[order] - steps).x.clip(lowest, max(lowest, highest - steps[-1])) + steps
    for name, height in zip((names[place] for place in order), moved, strict=True):
        at = (x, axes.transData.inverted().transform((0, height))[1])
        line = {"arrowstyle": "-", "color": name.color, "linewidth": 0.8, "relpos": (ha == "right", 0.5)}
        back = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        axes.annotate(name.text, (name.x, name.y), at, ha=ha, va="center", bbox=back, arrowprops=line)


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
