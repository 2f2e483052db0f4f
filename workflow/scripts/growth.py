"""Fit how each variant's time grows with the graph: results/growth.csv, .md, .tex, .html, figures/growth.*.

By least squares on logarithms, over the paper's datasets: the time against |V|, and against what theory says it is
proportional to.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from scipy.stats import linregress, t

from kernels.variants import VARIANTS
from workflow.lib import long_table, measurements, step
from workflow.scripts import figures

TITLE = "Growth of the time with the graph"
PROBLEMS = {"sssp": "one source", "apsp": "all pairs"}
LEAST = 3  # datasets in a fit: two always lie on a line
CONFIDENCE = 0.95
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000")  # Okabe and Ito's
MARKERS = "os^Dv<>pP*X"  # as many as have no common factor with the colours: 77 pairs
FITTED = ("exponent", "stderr", "low", "high", "r2", "intercept")
NOT_FITTED = dict.fromkeys(FITTED, np.nan)


@dataclass(frozen=True)
class Bound:
    """Theory's |V|^v |E|^e operations, in the worst case. why: where it comes from."""

    v: int
    e: int
    why: str

    @property
    def term(self) -> str:
        powers = {"V": self.v, "E": self.e}
        return " ".join(f"{name}{POWERS[power]}" for name, power in powers.items() if power)

    def of(self, cells: pd.DataFrame) -> pd.Series:
        return cells["vertices"] ** self.v * cells["arcs"] ** self.e


EVERY_ARC = Bound(
    1,
    1,
    "V - 1 iterations over all arcs (flags leave some out); on a card the launches, 2 (V - 1), are the other bound",
)
MATRIX = Bound(3, 0, "every pair of vertices by way of each vertex")
ROUNDS = Bound(2, 1, "from each source at most V rounds over all arcs; few rounds on graphs that are not deep")
BOUNDS = {
    **dict.fromkeys(
        (f"bellman_ford/{name}" for name in ("cpu", "naive", "stride", "stride_flag", "stride_ell")), EVERY_ARC
    ),
    **{key: MATRIX for key in VARIANTS if key.startswith("floyd_warshall/") and not VARIANTS[key].graph},
    "dijkstra/cpu": Bound(2, 1, "from each source a matrix row of V for every entry of the heap, at most one an arc"),
    "dijkstra/naive": Bound(3, 0, "from each source two passes over V for each vertex it reaches"),
    "edge/sssp": Bound(1, 1, "at most V rounds over all arcs; few rounds on graphs that are not deep"),
    **dict.fromkeys(("edge/apsp", "dijkstra/block_apsp", "delta_stepping/block_apsp"), ROUNDS),
}
# Slopes of guide lines by problem, where |E| grows as |V|.
GUIDES = {"sssp": {2: "O(V E)", 1: "launches"}, "apsp": {3: "O(V³), O(V² E)"}}
POWERS = {1: "", 2: "²", 3: "³"}
CLOSE = 0.1  # of the axis, between two labels below it
LEAST_HEIGHT, LEGEND_LINE, ROOM = 2.2, 0.13, 2.0  # inches; room: what stands above and below the panels
LOWER = 22  # points between the axis and a label that stands lower
NOTES = [
    "Fitted: log of the median of kernels_s (the launches that find distances, or a processor's search; no copies, "
    f"whose growth is another) by least squares, over the paper's datasets; at least {LEAST} of them.",
    f"Exponents: fitted ± standard error, [{CONFIDENCE:.0%} interval by Student's t]. Of theory's term: 1 where the "
    "time is proportional to it. Theory's slope: the exponent of V where E grows as V.",
]


def fit(x: pd.Series, y: pd.Series) -> dict[str, float]:
    """y as a power of x: exponent, stderr, low and high end of its interval, r2, intercept of log y.

    All NaN where x has fewer than LEAST values.
    """
    if x.nunique() < LEAST:
        return NOT_FITTED
    line = linregress(np.log(x), np.log(y))
    reach = t.ppf((1 + CONFIDENCE) / 2, len(x) - 2) * line.stderr
    ends = line.slope - reach, line.slope + reach
    return dict(zip(FITTED, (line.slope, line.stderr, *ends, line.rvalue**2, line.intercept), strict=True))


def fits(cells: pd.DataFrame) -> pd.DataFrame:
    """A row for each variant and device; cells: as long_table.cells gives them.

    column, device, problem, datasets (joined by spaces), sizes (how many of them), term (theory's, empty where none is
    stated here), slope (theory's, NaN likewise); fit() against |V| as vertices_exponent …, against the term as
    term_exponent ….
    """
    rows = []
    for (key, device), group in cells.groupby(["column", "device"], sort=False):
        bound = BOUNDS.get(key.removesuffix("_graph"))
        against = {"vertices": fit(group["vertices"], group["kernels"])}
        against["term"] = fit(bound.of(group), group["kernels"]) if bound else NOT_FITTED
        rows.append(
            {
                "column": key,
                "device": device,
                "problem": VARIANTS[key].problem,
                "datasets": " ".join(group["dataset"]),
                "sizes": len(group),
                "term": bound.term if bound else "",
                "slope": bound.v + bound.e if bound else np.nan,
                **{f"{x}_{name}": value for x, fitted in against.items() for name, value in fitted.items()},
            }
        )
    names = [f"{x}_{name}" for x in ("vertices", "term") for name in FITTED]
    return pd.DataFrame(rows, columns=["column", "device", "problem", "datasets", "sizes", "term", "slope", *names])


def to_text(facts: pd.DataFrame, stand_ins: dict) -> pd.DataFrame:
    def exponents(x):
        columns = (facts[f"{x}_{name}"] for name in ("exponent", "stderr", "low", "high"))
        return [
            "-" if np.isnan(b) else f"{b:.2f} ± {error:.2f}, [{low:.2f}, {high:.2f}]"
            for b, error, low, high in zip(*columns, strict=True)
        ]

    def r2(x):
        return ["-" if np.isnan(value) else f"{value:.4f}" for value in facts[f"{x}_r2"]]

    few = facts["vertices_exponent"].isna()
    return pd.DataFrame(
        {
            "Variant": long_table.names(facts),
            "Problem": facts["problem"].map(PROBLEMS),
            "Datasets": [
                f"{len(found)}{' †' if stand_ins.keys() & set(found) else ''}"
                for found in facts["datasets"].str.split()
            ],
            "Exponent of V": pd.Series(exponents("vertices")).mask(few, f"no fit: fewer than {LEAST} datasets"),
            "R²": r2("vertices"),
            "Theory": [f"O({term})" if term else "-" for term in facts["term"]],
            "Theory's slope": ["-" if np.isnan(slope) else f"{slope:.0f}" for slope in facts["slope"]],
            "Exponent of theory's term": exponents("term"),
            "R² of that": r2("term"),
        },
        dtype=str,
    )


def theory(facts: pd.DataFrame) -> list[str]:
    """A sentence on each bound: which variants it is for and where it comes from."""
    reasons: dict[Bound, list[str]] = {}
    for key in facts["column"].drop_duplicates():
        if key in BOUNDS:
            reasons.setdefault(BOUNDS[key], []).append(long_table.label(key))
    return [f"O({bound.term}), {bound.why}: {', '.join(labels)}." for bound, labels in reasons.items()]


def draw(facts: pd.DataFrame, cells: pd.DataFrame, stand_ins: dict, said: list[str]) -> Figure:
    """The figure, to be called, and saved, under figures.STYLE; said: sentences to stand under it."""
    panels = [facts[facts["problem"] == problem] for problem in PROBLEMS]
    heights = [max(LEAST_HEIGHT, LEGEND_LINE * (len(panel) + 3)) for panel in panels]  # 3: its title, two guides
    figure = Figure(figsize=(figures.WIDTH, sum(heights) + ROOM))
    every = figure.subplots(len(panels), height_ratios=heights)
    for axes, panel, (problem, title) in zip(every, panels, PROBLEMS.items(), strict=True):
        if len(panel):
            _panel(axes, panel, cells[cells["column"].isin(panel["column"])], GUIDES[problem], stand_ins)
        else:
            axes.set_xticks([])
            figures.say_unmeasured(axes)
        axes.set_title(f"Shortest paths, {title}", loc="left")
        axes.set(xlabel="number of vertices, |V|", ylabel="time of the kernels (s)")
    figures.write_below(figure, said)
    figure.align_ylabels()
    return figure


def _panel(axes: Axes, panel: pd.DataFrame, cells: pd.DataFrame, guides: dict[int, str], stand_ins: dict) -> None:
    axes.set_xscale("log")
    figures.logarithmic(axes)
    _guides(axes, guides, cells)
    plain = panel["column"].str.removesuffix("_graph")
    colours, _ = pd.factorize(plain + panel["device"])  # a twin's are its plain variant's
    for i, name, (_, row) in zip(colours, long_table.names(panel), panel.iterrows(), strict=True):
        _series(axes, i, name, row, cells)
    axes.legend(
        title="variant: exponent of |V|",
        title_fontsize=7,
        alignment="left",
        loc="upper left",
        bbox_to_anchor=(1.01, 1.08),
        labelspacing=0.3,
        handlelength=2.4,
    )
    _ticks(axes, cells.drop_duplicates("dataset").sort_values("vertices"), stand_ins)


def _ticks(axes: Axes, graphs: pd.DataFrame, stand_ins: dict) -> None:
    """A tick a graph with its name and size, which stand lower where the graph before is close."""
    sizes = graphs["vertices"]
    marks = [" †" if dataset in stand_ins else "" for dataset in graphs["dataset"]]
    names = [f"{dataset}{mark}" for dataset, mark in zip(graphs["dataset"], marks, strict=True)]
    counts = [figures.short(int(size)) for size in sizes]
    axes.set_xticks(sizes, [f"{name}\n{count}" for name, count in zip(names, counts, strict=True)])
    axes.xaxis.set_minor_locator(NullLocator())
    places = np.log(sizes)
    lower = False
    for tick, gap in zip(axes.xaxis.get_major_ticks(), places.diff() / np.ptp(places), strict=True):
        lower = not lower and gap < CLOSE
        if lower:
            tick.set_pad(LOWER)


def _series(axes: Axes, i: int, name: str, row: pd.Series, cells: pd.DataFrame) -> None:
    """Points of a variant, hollow for a twin, and its fitted line; the legend gives the exponent."""
    mine = cells[(cells["column"] == row["column"]) & (cells["device"] == row["device"])]
    look = {"color": COLORS[i % len(COLORS)], "marker": MARKERS[i % len(MARKERS)], "zorder": 3}
    line = "-"
    if VARIANTS[row["column"]].graph:
        look |= figures.HOLLOW | {"zorder": 2.5}  # around the plain variant's
        line = "--"
    x, exponent = mine["vertices"], row["vertices_exponent"]
    if not np.isnan(exponent):
        ends = np.array([x.min(), x.max()])
        axes.plot(ends, np.exp(row["vertices_intercept"]) * ends**exponent, line, color=look["color"])
        name = f"{name}: {exponent:.2f}"
    axes.plot(x, mine["kernels"], linestyle="", label=name, **look)


def _guides(axes: Axes, guides: dict[int, str], cells: pd.DataFrame) -> None:
    """Grey lines of theory's slopes through the middle of the points."""
    middle = np.exp(np.log(cells[["vertices", "kernels"]]).mean())
    ends = np.array([cells["vertices"].min(), cells["vertices"].max()])
    for (slope, name), line in zip(guides.items(), (":", "-."), strict=False):
        times = middle["kernels"] * (ends / middle["vertices"]) ** slope
        axes.plot(ends, times, line, color="0.6", zorder=0, label=f"theory, {name}: {slope}")


def write(rows: pd.DataFrame, source: str, results: Path, pictures: Path) -> None:
    """Write the table's files and the figure's into two folders; rows: as measurements.load gives them."""
    cells = long_table.cells(rows)
    facts, stand_ins = fits(cells), measurements.stand_ins(rows)
    text, origin = to_text(facts, stand_ins), long_table.origin(rows, cells, source)
    stood_in = [
        "; ".join(f"{name}: {', '.join(stand_ins[name])}" for name in found if name in stand_ins)
        for found in facts["datasets"].str.split()
    ]
    long_table.write(
        results / "growth",
        TITLE,
        text,
        facts.assign(source=source, note=stood_in),
        [*NOTES, *theory(facts), *origin],
        ["Theory's slope", "R²", "R² of that"],
    )
    said = [
        "Medians, and fits where there are three datasets, whose exponent of |V| the legend gives. Hollow and dashed: "
        "the same kernels in a CUDA graph. Grey: theory's slopes where |E| grows as |V|.",
        *origin,
    ]
    with style.context(["default", figures.STYLE]):
        figures.save(draw(facts, cells, stand_ins, said), pictures / "growth")


def main(args: argparse.Namespace) -> None:
    write(measurements.load(args.measurements), args.source, args.out_dir, args.figures_dir)


if __name__ == "__main__":
    arguments = step.showing_parser(__doc__, out_dir="results")
    arguments.add_argument("--figures-dir", type=Path, default=Path("figures"))
    step.run(main, arguments)
