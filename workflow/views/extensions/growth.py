"""Fit how each variant's time grows with the graph: results/growth.csv, .md, figures/growth.*.

By least squares on logarithms, over the datasets of the paper's tables, and over those of each family of generated
graphs: the time against |V|, and against the term that theory says it is proportional to.
"""

from collections.abc import Mapping
from math import ceil
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from matplotlib.transforms import offset_copy
from scipy.stats import linregress, t

from kernels.generate import KINDS
from kernels.registry import VARIANTS
from workflow.judge.verdicts import CONFIDENCE
from workflow.store import measurements
from workflow.store.measurements import SOURCES
from workflow.store.tables import PAPER_TABLES, Datasets, datasets_of, of_family
from workflow.views import long_table, plots, series
from workflow.views.context import Context, Drawing
from workflow.views.render import or_dash, stacked

TITLE = "Growth of the time with the graph"
# The groups of cells that are fitted together: those of the paper's tables by problem, then those of each family.
FAMILIES = {family: f"{SOURCES['sssp']}, {family}" for family in KINDS}
GROUPS = [*SOURCES.values(), *FAMILIES.values()]
MIN_DATASETS = 5  # in a fit: with fewer the interval says nothing
NO_FIT = f"no exponent: fewer than {MIN_DATASETS} datasets"
FITTED = ("exponent", "stderr", "low", "high", "r2", "intercept")
FACTS = ("group", "column", "device", "problem", "datasets", "sizes", "term", "slope")

COLORS = (
    *(plots.BLUE, plots.ORANGE, plots.GREEN, plots.PINK, plots.VERMILION, plots.SKY, plots.BLACK),
    *("#882255", "#999933", "#6A3D9A"),  # wine, olive, purple
)
MARKERS = "os^Dv<>pP*X"  # 11 markers and 10 colours have no common factor: 110 pairs
# Names of the guide lines by group and slope, if |E| grows as |V|. No variant of the paper runs on the families.
GUIDES = {"one source": {2: "O(V E)", 1: "launches"}, "all pairs": {3: "O(V³), O(V² E)"}}
FITTED_TITLE = f"exponent of |V| [its {CONFIDENCE:.0%} interval]; {NO_FIT}"
CLOSE = 0.06  # of the axis, between two labels below it
LOWER = 22  # points between the axis and a label that stands lower
PANEL, FEW, TALLER = 2.6, 5, 0.28  # inches: of a panel without its legend, and for each series beyond a few
LEGEND_LINE, LEGEND_COLUMNS = 0.145, 2  # inches of a line of the legend
BESIDE = 2.6  # points between the marks of two series on one graph
XLABEL = "number of vertices, |V|; the marks of one graph stand side by side"
NOTES = [
    "Fitted: the logarithm of the median of kernels_s against the logarithm of V, or of theory's term, by least "
    "squares, over the datasets of Tables 1 to 3. V and E are the numbers of vertices and of arcs. kernels_s is the "
    "time of the launches that find distances, or of a processor's search. It excludes copies, which grow differently, "
    f"except for Blocked, Staged. A fit needs at least {MIN_DATASETS} datasets. If a cell has several batches, the "
    "median is of the batches' medians.",
    f"Exponents: fitted ± standard error, [{CONFIDENCE:.0%} interval by Student's t]. The exponent of theory's term is "
    "1 if the time is proportional to the term. Theory's slope is the exponent of V if E is proportional to V.",
    "The figure shows a problem only if one of its variants has a fit.",
]
OF_FAMILIES = (
    "families of generated graphs. The fit of a family uses only its datasets. Families without a fit are not drawn."
)


class Bound(NamedTuple):
    """Theory: the number of operations grows at most with |V|^v |E|^e."""

    v: int
    e: int
    reason: str

    @property
    def term(self) -> str:
        """Theory's term: V² E."""
        powers = {1: "", 2: "²", 3: "³"}
        return " ".join(f"{name}{powers[power]}" for name, power in (("V", self.v), ("E", self.e)) if power)

    def values(self, cells: pd.DataFrame) -> pd.Series:
        """Return theory's term for the graph of each cell."""
        return cells["vertices"] ** self.v * cells["arcs"] ** self.e


EVERY_ARC = Bound(
    v=1,
    e=1,
    reason="V - 1 iterations over all arcs, of which flags leave some out; a GPU also needs 2 (V - 1) launches",
)
MATRIX = Bound(3, 0, "every pair of vertices, by way of each vertex")
ROUNDS = Bound(2, 1, "from each source, at most V rounds over all arcs; few if shortest paths have few arcs")
BOUNDS = {  # by variant; a CUDA-graph variant has that of its plain one
    **{f"bellman_ford/{name}": EVERY_ARC for name in ("cpu", "naive", "stride", "stride_flag", "stride_ell")},
    "dijkstra/cpu": Bound(2, 1, "from each source, a matrix row of V for each entry of the heap, at most one per arc"),
    "dijkstra/naive": Bound(3, 0, "from each source, two passes over all vertices for each vertex reached"),
    **{key: MATRIX for key in VARIANTS if key.startswith("floyd_warshall/")},
    "edge/sssp": Bound(1, 1, "at most V rounds over all arcs; few if shortest paths have few arcs"),
    **dict.fromkeys(("edge/apsp", "dijkstra/block_apsp", "delta_stepping/block_apsp"), ROUNDS),
}


def bound_of(key: str) -> Bound | None:
    """Return the bound of a variant, or None if none is known."""
    return BOUNDS.get(VARIANTS[key].plain)


def fit(x: pd.Series, y: pd.Series) -> dict[str, float]:
    """Fit y as a power of x; return the FITTED, of which low and high are the ends of the exponent's interval.

    Empty if x has fewer than MIN_DATASETS values.
    """
    if x.nunique() < MIN_DATASETS:
        return {}
    line = linregress(np.log(x), np.log(y))
    half = t.ppf((1 + CONFIDENCE) / 2, len(x) - 2) * line.stderr
    values = line.slope, line.stderr, line.slope - half, line.slope + half, line.rvalue**2, line.intercept
    return dict(zip(FITTED, values, strict=True))


def growth_cells(rows: pd.DataFrame, datasets: Datasets) -> pd.DataFrame:
    """Return the times on datasets of the paper's tables, then on each family from one source, with "group"."""
    papers = {name for table in PAPER_TABLES for names in datasets_of(table, datasets).values() for name in names}
    of_papers = long_table.cells_with_times(rows, {name: datasets[name] for name in datasets if name in papers})
    parts = [of_papers.assign(group=[SOURCES[VARIANTS[key].problem] for key in of_papers["column"]])]
    for family, group in FAMILIES.items():
        of_one_source = {name: {"tables": {"sssp": ()}} for name in of_family(family, datasets)}
        parts.append(long_table.cells_with_times(rows, of_one_source).assign(group=group))
    return stacked(*parts).reset_index(drop=True)


def fits(cells: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each group, variant and device of the measured cells: FACTS, and FITTED over |V| and the term.

    Columns of the fits are called vertices_exponent …, term_exponent …; "term" is empty if no bound is known.
    """
    lines = []
    for (group, key, device), cell in cells.groupby(["group", "column", "device"], sort=False):
        bound = bound_of(key)
        over_term = fit(bound.values(cell), cell["kernels"]) if bound else {}
        lines.append(
            {
                "group": group,
                "column": key,
                "device": device,
                "problem": VARIANTS[key].problem,
                "datasets": list(cell["dataset"]),
                "sizes": len(cell),
                "term": bound.term if bound else "",
                "slope": bound.v + bound.e if bound else np.nan,
                **{f"vertices_{name}": value for name, value in fit(cell["vertices"], cell["kernels"]).items()},
                **{f"term_{name}": value for name, value in over_term.items()},
            }
        )
    return pd.DataFrame(lines, columns=[*FACTS, *(f"{x}_{name}" for x in ("vertices", "term") for name in FITTED)])


def to_text(facts: pd.DataFrame, substitutes: Mapping[str, str]) -> pd.DataFrame:
    def exponents(x):
        columns = (facts[f"{x}_{name}"] for name in ("exponent", "stderr", "low", "high"))
        return [
            "-" if np.isnan(exponent) else f"{exponent:.2f} ± {error:.2f}, [{low:.2f}, {high:.2f}]"
            for exponent, error, low, high in zip(*columns, strict=True)
        ]

    def shown(column, form):
        return [or_dash(value, form.format) for value in facts[column]]

    return pd.DataFrame(
        {
            "Variant": long_table.names(facts),
            "Problem": facts["group"],
            "Datasets": [
                f"{len(names)}{' †' if substitutes.keys() & set(names) else ''}" for names in facts["datasets"]
            ],
            "Exponent of V": [NO_FIT if exponent == "-" else exponent for exponent in exponents("vertices")],
            "R²": shown("vertices_r2", "{:.4f}"),
            "Theory": [f"O({term})" if term else "-" for term in facts["term"]],
            "Theory's slope": shown("slope", "{:.0f}"),
            "Exponent of theory's term": exponents("term"),
            "R² of that": shown("term_r2", "{:.4f}"),
        },
        dtype=str,
    )


def theory(facts: pd.DataFrame) -> list[str]:
    """Return a sentence on each bound: its reason, and the variants that it is for."""
    labels: dict[Bound, list[str]] = {}
    for key in dict.fromkeys(VARIANTS[key].plain for key in facts["column"]):
        if bound := bound_of(key):
            labels.setdefault(bound, []).append(long_table.label(key))
    return [f"O({bound.term}), {bound.reason}: {', '.join(names)}." for bound, names in labels.items()]


def drawn_groups(facts: pd.DataFrame) -> list[str]:
    """Return the groups that have a panel: those with a fit, or the problems if there is no fit."""
    fitted = set(facts["group"][facts["vertices_exponent"].notna()])
    return [group for group in GROUPS if group in fitted] or list(SOURCES.values())


def draw_growth(facts: pd.DataFrame, cells: pd.DataFrame, substitutes: Mapping[str, str], caption: str) -> Figure:
    """Draw a panel for each group; to be called in plots.styled()."""
    panels = {group: facts[facts["group"] == group] for group in drawn_groups(facts)}
    entries = [len(panel) + len(GUIDES.get(group, ())) for group, panel in panels.items()]
    heights = [
        PANEL + TALLER * max(0, count - FEW) + LEGEND_LINE * (ceil(count / LEGEND_COLUMNS) + 2) for count in entries
    ]
    figure = Figure(figsize=(plots.WIDTH, sum(heights) + 0.6))
    plots.caption(figure, caption)
    all_axes = figure.subplots(len(panels), height_ratios=heights, squeeze=False).flat
    for axes, (group, panel) in zip(all_axes, panels.items(), strict=True):
        mine = cells[cells["group"] == group]
        unit, factor = plots.unit(mine["kernels"])
        axes.set(title=f"Shortest paths, {group}", ylabel=f"Time of the kernels ({unit})")
        axes.set_xlabel(XLABEL)
        if len(panel):
            _panel(axes, panel, mine.assign(time=factor * mine["kernels"]), factor, substitutes)
        else:
            axes.set_xticks([])
            plots.say_unmeasured(axes)
    figure.align_ylabels()
    return figure


def _panel(axes: Axes, panel: pd.DataFrame, cells: pd.DataFrame, factor: float, substitutes: Mapping[str, str]) -> None:
    """Draw one group; "time" of the cells is in the axis's unit, of which a second has `factor`."""
    axes.set_xscale("log")
    plots.logarithmic(axes, margin=0.07)
    _guides(axes, GUIDES.get(panel["group"].iloc[0], {}), cells)
    plain = pd.Series([VARIANTS[key].plain for key in panel["column"]], panel.index)
    looks, _ = pd.factorize(plain + panel["device"])  # a CUDA-graph variant has its plain variant's
    for look, name, (_, row) in zip(looks, long_table.names(panel), panel.iterrows(), strict=True):
        mine = cells[(cells["column"] == row["column"]) & (cells["device"] == row["device"])]
        beside = BESIDE * (look - looks.max() / 2)
        _series(axes, look, name, row, mine, factor, beside)
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
    """Label each graph with its name and size; return whether a label stands lower because the one before is close."""
    graphs = graphs.drop_duplicates(["vertices", "dataset"])
    sizes = graphs["vertices"]
    names = [measurements.marked(dataset, substitutes) for dataset in graphs["dataset"]]
    axes.set_xticks(sizes, [f"{name}\n{plots.short(int(size))}" for name, size in zip(names, sizes, strict=True)])
    axes.xaxis.set_minor_locator(NullLocator())
    places = np.log(sizes)
    lower = [False]
    for tick, gap in zip(axes.xaxis.get_major_ticks(), places.diff() / np.ptp(places), strict=True):
        lower.append(not lower[-1] and gap < CLOSE)
        if lower[-1]:
            tick.set_pad(LOWER)
    return any(lower)


def _series(
    axes: Axes, number: int, name: str, fitted: pd.Series, cells: pd.DataFrame, factor: float, beside: float
) -> None:
    """Draw a variant's points, hollow for a CUDA-graph variant, and its fitted line.

    The points stand `beside` points right of the place of their graph.
    """
    look = {"color": COLORS[number % len(COLORS)], "marker": MARKERS[number % len(MARKERS)], "zorder": 3}
    line = "-"
    if VARIANTS[fitted["column"]].cuda_graph:
        look |= plots.HOLLOW | {"zorder": 2.5}  # around the plain variant's
        line = "--"
    exponent = fitted["vertices_exponent"]
    if not np.isnan(exponent):
        ends = np.array([cells["vertices"].min(), cells["vertices"].max()])
        axes.plot(ends, factor * np.exp(fitted["vertices_intercept"]) * ends**exponent, line, color=look["color"])
        name = f"{name}: {exponent:.2f} [{fitted['vertices_low']:.2f}, {fitted['vertices_high']:.2f}]"
    place = offset_copy(axes.transData, axes.figure, x=beside, units="points")
    axes.plot(cells["vertices"], cells["time"], linestyle="", label=name, transform=place, **look)
    axes.update_datalim(cells[["vertices", "time"]])  # which matplotlib does not for marks moved aside
    axes.autoscale_view()


def _guides(axes: Axes, guides: Mapping[int, str], cells: pd.DataFrame) -> None:
    """Draw grey lines of theory's slopes through the middle of the points."""
    middle = np.exp(np.log(cells[["vertices", "time"]]).mean())
    ends = np.array([cells["vertices"].min(), cells["vertices"].max()])
    for (slope, name), line in zip(guides.items(), (":", "-."), strict=False):
        times = middle["time"] * (ends / middle["vertices"]) ** slope
        axes.plot(ends, times, line, color="0.6", zorder=0, label=f"theory, {name}: {slope}")


def render_growth(rows: pd.DataFrame, context: Context) -> dict[str, str | Drawing]:
    """Render the table and the figure."""
    cells = growth_cells(rows, context.datasets)
    facts, substitutes = fits(cells), measurements.substitutes(rows)
    families = [family for family, group in FAMILIES.items() if group in set(facts["group"])]
    of_families = [f"{', '.join(families)}: {OF_FAMILIES}"] if families else []
    notes = [*NOTES, *of_families, *theory(facts), *long_table.origin(rows, cells, context.source)]
    replaced = [
        "; ".join(f"{name}: {substitutes[name]}" for name in names if name in substitutes)
        for names in facts["datasets"]
    ]
    table = long_table.files(
        "growth",
        TITLE,
        to_text(facts, substitutes),
        facts.drop(columns="group").assign(
            datasets=facts["datasets"].map(" ".join), source=context.source, substitute=replaced
        ),
        notes,
        ["Theory's slope", "R²", "R² of that"],
    )
    drawn = pd.MultiIndex.from_frame(cells.loc[cells["group"].isin(drawn_groups(facts)), ["column", "dataset"]])
    rows = measurements.pooled(rows)
    rows = rows[pd.MultiIndex.from_arrays([measurements.variants(rows), rows["dataset"]]).isin(drawn)]
    caption = series.caption(rows, context.source, what="median")
    return table | {"growth": Drawing(lambda: draw_growth(facts, cells, substitutes, caption))}
