"""Delta-stepping over the width of its buckets, Δ, on one graph: results/delta_sweep.csv and figures/delta_sweep.*.

The default Δ is measured too, and marked.
"""

from collections.abc import Iterator

import pandas as pd
from matplotlib.figure import Figure

from kernels.graph import Graph
from kernels.registry import find
from kernels.sparry.delta_stepping import default_delta
from workflow.measure.sweeps import Point, Sweep
from workflow.store import measurements
from workflow.views import plots


def points(graph: Graph, options: dict) -> Iterator[Point]:
    """Each of options["deltas"], and the graph's default, in rising order."""
    variant, default = find("delta_stepping", "block_apsp"), default_delta(graph)
    for delta in sorted({*options["deltas"], default}):
        yield Point(variant, {"delta": delta}, {"delta": delta, "default_delta": default})


def draw(figure: Figure, rows: pd.DataFrame) -> None:
    """The whole time and the kernels', medians with whiskers, over Δ; both axes logarithmic."""
    axes = figure.subplots()
    first, by_delta = rows.iloc[0], rows.groupby("delta")
    unit, factor = plots.unit(rows["kernels_s"])
    for name, label, look in (
        ("seconds", "timed region", {"color": plots.BLUE, "marker": "o", "linestyle": "--", **plots.HOLLOW}),
        ("kernels_s", "kernels", {"color": plots.VERMILION, "marker": "s"}),
    ):
        median, least, most = (factor * by_delta[name].agg(what) for what in ("median", "min", "max"))
        axes.errorbar(median.index, median, [median - least, most - median], label=label, **look)
    plots.logarithmic(axes)
    axes.set_xscale("log")
    deltas = sorted(rows["delta"].unique())
    axes.set_xticks(deltas, map(plots.plain, deltas))
    axes.set_xticks([], minor=True)
    axes.axvline(first["default_delta"], color="0.3", linestyle=":", label=f"default Δ = {first['default_delta']:g}")
    axes.set_title(f"Delta-Stepping on {measurements.marked(first['dataset'], measurements.substitutes(rows))}")
    axes.set(xlabel="Δ, the width of a bucket", ylabel=plots.time_label(unit))
    plots.legend(axes, *axes.get_legend_handles_labels(), handlelength=3)


SWEEP = Sweep("delta_sweep", ("delta", "default_delta"), points, draw)
