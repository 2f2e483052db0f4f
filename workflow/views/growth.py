"""Fit how each variant's time grows with the graph: results/growth.csv, .md, figures/growth.*.

By least squares on logarithms, over the tables' datasets, and over those of each family of generated graphs: the time
against |V|, and against what theory says it is proportional to.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from matplotlib.transforms import offset_copy
from scipy.stats import linregress, t

from kernels.generate import KINDS
from kernels.registry import VARIANTS
from workflow.store import measurements
from workflow.views import long_table, plots, series
from workflow.views.context import Context, Drawing
from workflow.views.tables import Datasets, of_family

TITLE = "Growth of the time with the graph"
PROBLEMS = {"sssp": "one source", "apsp": "all pairs"}
# (problem, family) of what is fitted together; the family is empty for the tables' datasets.
GROUPS = [*((problem, "") for problem in PROBLEMS), *(("sssp", family) for family in KINDS)]
LEAST = 5  # datasets in a fit: with fewer its interval says nothing
NO_FIT = f"no exponent: fewer than {LEAST} datasets"
CONFIDENCE = 0.95
COLORS = (plots.BLUE, plots.ORANGE, plots.GREEN, plots.PINK, plots.VERMILION, plots.SKY, plots.BLACK)
MARKERS = "os^Dv<>pP*X"  # as many as have no common factor with the colours: 77 pairs
FITTED = ("exponent", "stderr", "low", "high", "r2", "intercept")
NOT_FITTED = dict.fromkeys(FITTED, np.nan)


# Slopes of guide lines by problem, where |E| grows as |V|; none for families, on which no variant of the paper runs.
GUIDES = {"sssp": {2: "O(V E)", 1: "launches"}, "apsp": {3: "O(V³), O(V² E)"}}
POWERS = {1: "", 2: "²", 3: "³"}
FITTED_TITLE = f"exponent of |V| [its {CONFIDENCE:.0%} interval]; {NO_FIT}"
CLOSE = 0.06  # of the axis, between two labels below it
LOWER = 22  # points between the axis and a label that stands lower
PANEL, LEGEND_LINE, LEGEND_COLUMNS = 2.6, 0.145, 2  # inches: of a panel without its legend, of a line of the legend
NOTES = [
    "Fitted: log of the median of kernels_s (the launches that find distances, or a processor's search; no copies, "
    f"whose growth is another) by least squares, over the tables' datasets: at least {LEAST} of them, else no fit. The "
    "median is of a cell's runs, of several batches that of their medians.",
    f"Exponents: fitted ± standard error, [{CONFIDENCE:.0%} interval by Student's t]. Of theory's term: 1 where the "
    "time is proportional to it. Theory's slope: the exponent of V where E grows as V.",
    "The figure shows a problem only where one of its variants has a fit.",
]
OF_FAMILIES = (
    "grid, rmat, uniform: families of generated graphs, each fitted over its datasets alone, and drawn where it has "
    "a fit."
)


@dataclass(frozen=True)
class Bound:
    """Theory: the number of operations grows at most with |V|^v |E|^e. why: the reason."""

    v: int
    e: int
    why: str


EVERY_ARC = Bound(
    1,
    1,
    "V - 1 iterations over all arcs (flags leave some out); on a GPU the 2 (V - 1) launches are the other bound",
)
MATRIX = Bound(3, 0, "every pair of vertices by way of each vertex")
ROUNDS = Bound(2, 1, "from each source at most V rounds over all arcs; few rounds on graphs that are not deep")
BOUNDS = {  # by variant; a CUDA-graph variant has that of its plain one
    **dict.fromkeys(
        (f"bellman_ford/{name}" for name in ("cpu", "naive", "stride", "stride_flag", "stride_ell")), EVERY_ARC
    ),
    "dijkstra/cpu": Bound(2, 1, "from each source a matrix row of V for every entry of the heap, at most one an arc"),
    "dijkstra/naive": Bound(3, 0, "from each source two passes over V for each vertex it reaches"),
    **{key: MATRIX for key in VARIANTS if key.startswith("floyd_warshall/")},
    "edge/sssp": Bound(1, 1, "at most V rounds over all arcs; few rounds on graphs that are not deep"),
    **dict.fromkeys(("edge/apsp", "dijkstra/block_apsp", "delta_stepping/block_apsp"), ROUNDS),
}


def bound_of(key: str) -> Bound | None:
    """Return the bound of a variant, or None if none is known."""
    return BOUNDS.get(VARIANTS[key].plain)


def term(bound: Bound) -> str:
    """Theory's term: V² E."""
    powers = {"V": bound.v, "E": bound.e}
    return " ".join(f"{name}{POWERS[power]}" for name, power in powers.items() if power)


def values(bound: Bound, cells: pd.DataFrame) -> pd.Series:
    """Theory's term for the graph of each cell."""
    return cells["vertices"] ** bound.v * cells["arcs"] ** bound.e


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


def measured(rows: pd.DataFrame, datasets: Datasets) -> pd.DataFrame:
    """The cells of the tables' datasets, as long_table.cells gives them, then those of each family from one source.

    "family": empty for the former.
    """
    groups = {"": of_family("", datasets)}
    groups |= {family: {name: {"tables": {"sssp": ()}} for name in of_family(family, datasets)} for family in KINDS}
    parts = [long_table.cells(rows, group).assign(family=family) for family, group in groups.items()]
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def fits(cells: pd.DataFrame) -> pd.DataFrame:
    """A row for each family, variant and device; cells: as measured gives them.

    family, column, device, problem, datasets (joined by spaces), sizes (how many of them), term (theory's, empty where
    there is no bound), slope (theory's, NaN likewise); fit() over |V| as vertices_exponent …, over the term as
    term_exponent ….
    """
    rows = []
    for (family, key, device), group in cells.groupby(["family", "column", "device"], sort=False):
        bound = bound_of(key)
        over = {"vertices": fit(group["vertices"], group["kernels"])}
        over["term"] = fit(values(bound, group), group["kernels"]) if bound else NOT_FITTED
        rows.append(
            {
                "family": family,
                "column": key,
                "device": device,
                "problem": VARIANTS[key].problem,
                "datasets": " ".join(group["dataset"]),
                "sizes": len(group),
                "term": term(bound) if bound else "",
                "slope": bound.v + bound.e if bound else np.nan,
                **{f"{x}_{name}": value for x, fitted in over.items() for name, value in fitted.items()},
            }
        )
    names = [f"{x}_{name}" for x in ("vertices", "term") for name in FITTED]
    said = ["family", "column", "device", "problem", "datasets", "sizes", "term", "slope"]
    return pd.DataFrame(rows, columns=[*said, *names])


def title(problem: str, family: str) -> str:
    """What is fitted together: one source, grid."""
    return ", ".join(filter(None, (PROBLEMS[problem], family)))


def to_text(facts: pd.DataFrame, substitutes: Mapping[str, str]) -> pd.DataFrame:
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
            "Problem": [title(*group) for group in zip(facts["problem"], facts["family"], strict=True)],
            "Datasets": [
                f"{len(found)}{' †' if substitutes.keys() & set(found) else ''}"
                for found in facts["datasets"].str.split()
            ],
            "Exponent of V": pd.Series(exponents("vertices")).mask(few, NO_FIT),
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
    for key in dict.fromkeys(VARIANTS[key].plain for key in facts["column"]):
        if bound := bound_of(key):
            reasons.setdefault(bound, []).append(long_table.label(key))
    return [f"O({term(bound)}), {bound.why}: {', '.join(labels)}." for bound, labels in reasons.items()]


def groups_of(cells: pd.DataFrame) -> pd.MultiIndex:
    """Which of GROUPS each row belongs to: the problem of its column, and its family."""
    problems = cells["column"].map(lambda key: VARIANTS[key].problem)
    return pd.MultiIndex.from_arrays([problems, cells["family"]])


def drawn_groups(facts: pd.DataFrame) -> list[tuple[str, str]]:
    """The groups that have a panel: those with a fit; where none has one, all of the tables' datasets."""
    fitted = set(groups_of(facts[facts["vertices_exponent"].notna()]))
    return [group for group in GROUPS if group in fitted] or [(problem, "") for problem in PROBLEMS]


def draw(facts: pd.DataFrame, cells: pd.DataFrame, substitutes: Mapping[str, str], caption: str) -> Figure:
    """The figure, to be called in plots.styled(); facts, cells: as fits takes and gives them."""
    panels = {group: facts[groups_of(facts).isin([group])] for group in drawn_groups(facts)}
    guides = {group: {} if group[1] else GUIDES[group[0]] for group in panels}
    lines = [-(-(len(panel) + len(guides[group])) // LEGEND_COLUMNS) for group, panel in panels.items()]
    heights = [PANEL + LEGEND_LINE * (count + 2) for count in lines]
    figure = Figure(figsize=(plots.WIDTH, sum(heights) + 0.6))
    plots.caption(figure, caption)
    every = figure.subplots(len(panels), height_ratios=heights, squeeze=False)
    for axes, (group, panel) in zip(every.flat, panels.items(), strict=True):
        mine = cells[groups_of(cells).isin([group])]
        unit, factor = plots.unit(mine["kernels"])
        axes.set(title=f"Shortest paths, {title(*group)}", ylabel=f"Time of the kernels ({unit})")
        axes.set_xlabel("number of vertices, |V|")
        if len(panel):
            _panel(axes, panel, mine, factor, guides[group], substitutes)
        else:
            axes.set_xticks([])
            plots.say_unmeasured(axes)
    figure.align_ylabels()
    return figure


def _panel(
    axes: Axes,
    panel: pd.DataFrame,
    cells: pd.DataFrame,
    factor: float,
    guides: dict[int, str],
    substitutes: Mapping[str, str],
) -> None:
    """factor: how many of the axis's unit a second has."""
    axes.set_xscale("log")
    plots.logarithmic(axes, margin=0.07)
    _guides(axes, guides, cells, factor)
    plain = pd.Series([VARIANTS[key].plain for key in panel["column"]], panel.index)
    looks, _ = pd.factorize(plain + panel["device"])  # a CUDA-graph variant has its plain variant's
    for i, name, (_, row) in zip(looks, long_table.names(panel), panel.iterrows(), strict=True):
        _series(axes, i, name, row, cells, factor)
    lower = _ticks(axes, cells.drop_duplicates("dataset").sort_values("vertices"), substitutes)
    axes.legend(
        title=NO_FIT if panel["vertices_exponent"].isna().all() else FITTED_TITLE,
        alignment="left",
        loc="upper left",
        bbox_to_anchor=(0, 0),
        bbox_transform=offset_copy(axes.transAxes, axes.figure, x=-40, y=-44 - LOWER * lower, units="points"),
        ncols=LEGEND_COLUMNS,
        labelspacing=0.3,
        handlelength=2.4,
    )


def _ticks(axes: Axes, graphs: pd.DataFrame, substitutes: Mapping[str, str]) -> bool:
    """A tick for each graph with its name and size; returns whether one stands lower, since the one before is close."""
    sizes = graphs["vertices"]
    names = [measurements.marked(dataset, substitutes) for dataset in graphs["dataset"]]
    counts = [plots.short(int(size)) for size in sizes]
    axes.set_xticks(sizes, [f"{name}\n{count}" for name, count in zip(names, counts, strict=True)])
    axes.xaxis.set_minor_locator(NullLocator())
    places = np.log(sizes)
    lower = [False]
    for tick, gap in zip(axes.xaxis.get_major_ticks(), places.diff() / np.ptp(places), strict=True):
        lower.append(not lower[-1] and gap < CLOSE)
        if lower[-1]:
            tick.set_pad(LOWER)
    return any(lower)


def _series(axes: Axes, i: int, name: str, row: pd.Series, cells: pd.DataFrame, factor: float) -> None:
    """Points of a variant, hollow for a CUDA-graph variant, and its fitted line; the legend gives the exponent."""
    mine = cells[(cells["column"] == row["column"]) & (cells["device"] == row["device"])]
    look = {"color": COLORS[i % len(COLORS)], "marker": MARKERS[i % len(MARKERS)], "zorder": 3}
    line = "-"
    if VARIANTS[row["column"]].cuda_graph:
        look |= plots.HOLLOW | {"zorder": 2.5}  # around the plain variant's
        line = "--"
    x, exponent = mine["vertices"], row["vertices_exponent"]
    if not np.isnan(exponent):
        ends = np.array([x.min(), x.max()])
        axes.plot(ends, factor * np.exp(row["vertices_intercept"]) * ends**exponent, line, color=look["color"])
        name = f"{name}: {exponent:.2f} [{row['vertices_low']:.2f}, {row['vertices_high']:.2f}]"
    axes.plot(x, factor * mine["kernels"], linestyle="", label=name, **look)


def _guides(axes: Axes, guides: dict[int, str], cells: pd.DataFrame, factor: float) -> None:
    """Grey lines of theory's slopes through the middle of the points."""
    middle = np.exp(np.log(cells[["vertices", "kernels"]]).mean())
    ends = np.array([cells["vertices"].min(), cells["vertices"].max()])
    for (slope, name), line in zip(guides.items(), (":", "-."), strict=False):
        times = factor * middle["kernels"] * (ends / middle["vertices"]) ** slope
        axes.plot(ends, times, line, color="0.6", zorder=0, label=f"theory, {name}: {slope}")


def view(rows: pd.DataFrame, context: Context) -> dict[str, str | Drawing]:
    """Render the table and the figure; rows: as measurements.load gives them."""
    cells = measured(rows, context.datasets)
    facts, substitutes = fits(cells), measurements.substitutes(rows)
    text, origin = to_text(facts, substitutes), long_table.origin(rows, cells, context.source)
    said = [
        "; ".join(f"{name}: {substitutes[name]}" for name in found if name in substitutes)
        for found in facts["datasets"].str.split()
    ]
    table = long_table.files(
        "growth",
        TITLE,
        text,
        facts.drop(columns="family").assign(source=context.source, substitute=said),  # which the datasets tell
        [*NOTES, *([OF_FAMILIES] if facts["family"].any() else []), *theory(facts), *origin],
        ["Theory's slope", "R²", "R² of that"],
    )
    shown = groups_of(cells).isin(drawn_groups(facts))
    keys = pd.MultiIndex.from_frame(cells.loc[shown, ["column", "dataset"]])
    rows = measurements.pooled(rows)
    drawn = rows[pd.MultiIndex.from_arrays([measurements.variants(rows), rows["dataset"]]).isin(keys)]
    caption = series.caption(drawn, context.source, what="median")
    return table | {"growth": Drawing(lambda: draw(facts, cells, substitutes, caption))}
