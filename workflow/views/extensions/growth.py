"""Fit how each variant's time grows with the graph: results/growth.csv, .md, figures/growth.*.

By least squares on logarithms, over the datasets of the paper's tables, and over those of each family of generated
graphs: the time against |V|, and against the term that theory says it is proportional to.
"""

from collections.abc import Mapping
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
from workflow.judge.verdicts import CONFIDENCE, INTERVAL
from workflow.store import measurements
from workflow.store.measurements import SOURCES
from workflow.store.tables import PAPER_TABLES, Datasets, datasets_of, of_family
from workflow.views import long_table, plots, series
from workflow.views.context import Context, Drawing
from workflow.views.render import or_dash, stacked

TITLE = "Growth of the time with the graph"
# The groups of cells that are fitted together are those of the paper's tables by problem, and those of each family.
FAMILIES = {family: f"{SOURCES['sssp']}, {family}" for family in KINDS}
MIN_DATASETS = 5  # in a fit: with fewer the interval says nothing
NO_FIT = f"no exponent: fewer than {MIN_DATASETS} datasets"
FITTED = ("exponent", "stderr", "low", "high", "r2", "intercept")
KEYS = ["group", "column", "device"]  # of a fit
FACTS = ("group", "column", "device", "problem", "datasets", "sizes", "term", "slope")

LINES = dict(zip(KINDS, ("-", "--", ":", "-.", (0, (1, 3)), (0, (8, 2))), strict=True))  # of families
GUIDES = {2: "theory, O(V E)", 1: "theory, launches"}  # names of the slopes of searches of road networks
PANELS = {"Road networks": [SOURCES["sssp"]], "Families of generated graphs": [*FAMILIES.values()]}
HEIGHT = 3.7  # inches of a panel
NAMES_WIDTH = 0.75  # of the names right of the lines, in widths of the lines
NAMES_FROM = 1.2  # times the greatest number of vertices
CLOSE = 0.1  # of the lines' width, between two labels below it
LOWER = 22  # points between the axis and a label that stands lower
BESIDE = 1.5  # points between the marks of two series on one graph
XLABEL = f"number of vertices; in names: exponent of |V| [its {INTERVAL}]"
NOTES = [
    "Fitted: the logarithm of the median of kernels_s against the logarithm of V, or of theory's term, by least "
    "squares, over the datasets of Tables 1 to 3. V and E are the numbers of vertices and of arcs. kernels_s is the "
    "time of the launches that find distances, or of a processor's search. It excludes copies, which grow differently, "
    f"except for Blocked, Staged. A fit needs at least {MIN_DATASETS} datasets. If a cell has several batches, the "
    "median is of the batches' medians.",
    f"Exponents: fitted ± standard error, [{CONFIDENCE:.0%} interval by Student's t]. The exponent of theory's term is "
    "1 if the time is proportional to the term. Theory's slope is the exponent of V if E is proportional to V.",
    "The figure shows the fits of searches from one source, without CUDA-graph variants.",
]
OF_FAMILIES = "families of generated graphs. The fit of a family uses only its datasets."


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


def drawn(facts: pd.DataFrame) -> pd.DataFrame:
    """Return the fits that the figure shows."""
    plain = facts["column"].map(lambda key: VARIANTS[key].plain == key and VARIANTS[key].problem == "sssp")
    return facts[plain.astype(bool) & facts["vertices_exponent"].notna()]


def _of_fits(cells: pd.DataFrame, facts: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that these fits are of."""
    return cells[pd.MultiIndex.from_frame(cells[KEYS]).isin(list(facts[KEYS].itertuples(index=False, name=None)))]


def draw_growth(facts: pd.DataFrame, cells: pd.DataFrame, substitutes: Mapping[str, str], caption: str) -> Figure:
    """Draw the fits of road networks and those of families; to be called in plots.styled()."""
    facts = drawn(facts)
    shown = {title: part for title, groups in PANELS.items() if len(part := facts[facts["group"].isin(groups)])}
    shown = shown or {next(iter(PANELS)): facts}
    figure = Figure(figsize=(plots.WIDTH, HEIGHT * len(shown)))
    plots.caption(figure, caption)
    panels: dict[Axes, list[plots.Name]] = {}
    for (title, panel), axes in zip(shown.items(), figure.subplots(len(shown), squeeze=False).flat, strict=True):
        mine = _of_fits(cells, panel)
        unit, factor = plots.unit(mine["kernels"])
        axes.set(title=f"Shortest paths from one source: {title}", ylabel=f"Time of the kernels ({unit})")
        if len(panel):
            panels[axes] = _panel(axes, panel, mine.assign(time=factor * mine["kernels"]), factor, substitutes)
        else:
            axes.set_xticks([])
            plots.say_unmeasured(axes, "no fit")
    figure.align_ylabels()
    for axes, ends in panels.items():  # when everything has its place
        plots.write_names(axes, ends, x=NAMES_FROM * max(end.x for end in ends), ha="left")
    return figure


def _panel(
    axes: Axes, panel: pd.DataFrame, cells: pd.DataFrame, factor: float, substitutes: Mapping[str, str]
) -> list[plots.Name]:
    """Draw a line with its marks for each fit, and return where the lines end.

    "time" of the cells is in the axis's unit, of which a second has `factor`.
    """
    axes.set_xscale("log")
    plots.logarithmic(axes, margin=0.07)
    low, high = cells["vertices"].min(), cells["vertices"].max()
    of_roads = set(panel["group"]) == {SOURCES["sssp"]}
    ends = _guides(axes, cells) if of_roads else []
    for number, (name, (_, fitted)) in enumerate(zip(_names(panel), panel.iterrows(), strict=True)):
        mine = cells[(cells[KEYS] == fitted[KEYS]).all(axis=1)]
        look, family = plots.look_of(fitted["column"]), fitted["group"].rpartition(", ")[2]
        x = np.array([mine["vertices"].min(), mine["vertices"].max()])
        y = factor * np.exp(fitted["vertices_intercept"]) * x ** fitted["vertices_exponent"]
        axes.plot(x, y, linestyle=LINES.get(family, "-"), color=look.color)
        beside = BESIDE * (number - len(panel) / 2) if of_roads else 0
        place = offset_copy(axes.transData, axes.figure, x=beside, units="points")
        axes.plot(mine["vertices"], mine["time"], **look.marks, transform=place, label=name, zorder=3)
        axes.update_datalim(mine[["vertices", "time"]])  # which matplotlib does not for marks moved aside
        ends.append(plots.Name(name, look.color, x[-1], y[-1]))
    axes.autoscale_view()
    reach = high / low
    axes.set_xlim(low / reach**0.05, high * reach**NAMES_WIDTH)
    axes.set_xlabel(XLABEL)
    if of_roads:
        _ticks(axes, cells.drop_duplicates("dataset").sort_values("vertices"), substitutes)
    else:
        decades = 10 ** np.arange(np.ceil(np.log10(low)), np.log10(high) + 0.01)
        axes.set_xticks(decades, [plots.short(int(size)) for size in decades])
    axes.xaxis.set_minor_locator(NullLocator())
    return ends


def _guides(axes: Axes, cells: pd.DataFrame) -> list[plots.Name]:
    """Draw thin lines of theory's slopes through the middle of the points, and return where they end."""
    middle, ends = np.exp(np.log(cells[["vertices", "time"]]).mean()), []
    x = np.array([cells["vertices"].min(), cells["vertices"].max()])
    for slope, name in GUIDES.items():
        y = middle["time"] * (x / middle["vertices"]) ** slope
        axes.plot(x, y, color=plots.PALE, linewidth=0.8, zorder=0)
        ends.append(plots.Name(f"{name}: {slope}", plots.GREY, x[-1], y[-1]))
    return ends


def _names(panel: pd.DataFrame) -> list[str]:
    """Return each fit's variant, its device if there are several, its family, and its exponent."""
    several = panel.groupby(["group", "column"])["device"].transform("nunique") > 1
    return [
        f"{VARIANTS[fit.column].title}{f' on {fit.device}' if many else ''}{fit.group.removeprefix(SOURCES['sssp'])}: "
        f"{fit.vertices_exponent:.2f} [{fit.vertices_low:.2f}, {fit.vertices_high:.2f}]"
        for many, fit in zip(several, panel.itertuples(), strict=True)
    ]


def _ticks(axes: Axes, graphs: pd.DataFrame, substitutes: Mapping[str, str]) -> None:
    """Label each graph with its name and size; a label stands lower if the one before is close."""
    graphs = graphs.drop_duplicates(["vertices", "dataset"])
    sizes, names = graphs["vertices"], [measurements.marked(dataset, substitutes) for dataset in graphs["dataset"]]
    axes.set_xticks(sizes, [f"{name}\n{plots.short(int(size))}" for name, size in zip(names, sizes, strict=True)])
    places, lower = np.log(sizes), False
    for tick, gap in zip(axes.xaxis.get_major_ticks(), places.diff() / np.ptp(places), strict=True):
        lower = not lower and gap < CLOSE
        if lower:
            tick.set_pad(LOWER)


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
    shown = _of_fits(cells, drawn(facts))[["column", "dataset"]]
    rows = measurements.pooled(rows)
    of_figure = pd.MultiIndex.from_arrays([measurements.variants(rows), rows["dataset"]])
    rows = rows[of_figure.isin(pd.MultiIndex.from_frame(shown))]
    caption = series.caption(rows, context.source, what="median")
    return table | {"growth": Drawing(lambda: draw_growth(facts, cells, substitutes, caption))}
