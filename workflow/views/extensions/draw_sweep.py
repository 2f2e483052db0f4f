"""Draw a sweep from its CSV: SVG, PDF, PNG."""

from fractions import Fraction

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke

from kernels.registry import VARIANTS
from workflow.store import measurements
from workflow.store.columns import SWEEPS
from workflow.views import long_table, plots, series
from workflow.views.context import Context, Drawing
from workflow.views.render import status_text

PAPERS = (1024, 0.5)  # threads a block; blocks, as a share of those that give each vertex a thread
FRAME = {"fill": False, "linewidth": 1.5, "path_effects": [withStroke(linewidth=4, foreground="white")]}
COLOURS = "cividis"  # the same to the colour-blind, and in grey


def draw_delta(figure: Figure, rows: pd.DataFrame) -> None:
    """Draw medians and ranges of the whole time and of the kernels over Δ, on logarithmic axes."""
    axes = figure.subplots()
    first, by_delta = rows.iloc[0], rows.groupby("delta")
    unit, factor = plots.unit(rows["kernels_s"])
    for name, label, look in (
        ("seconds", "timed region", {"linestyle": "--", **plots.HOLLOW}),
        ("kernels_s", "kernels", {"linestyle": "-"}),
    ):
        look = plots.look_of(f"{first['algorithm']}/{first['variant']}").marks | look
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


def draw_stride(figure: Figure, rows: pd.DataFrame) -> None:
    """Draw a heat map for each variant, with median times and blocks; frame the paper's choice."""
    cells = rows.groupby(["variant", "threads", "share"]).agg(
        seconds=("seconds", "median"),
        blocks=("blocks", "first"),
        status=("status", "first"),
        limit_s=("limit_s", "first"),
    )
    unit, factor = plots.unit(cells["seconds"])
    cells["time"] = factor * cells["seconds"]
    names = rows["variant"].unique()
    panels = figure.subplots(1, len(names), sharey=True)
    for axes, name in zip(panels, names, strict=True):
        times = cells["time"].xs(name).unstack("share")
        image = axes.imshow(times, COLOURS, aspect="auto", vmin=cells["time"].min(), vmax=cells["time"].max())
        _write_cells(axes, image, cells.loc[name], times, unit)
        axes.set_title(VARIANTS[f"bellman_ford/{name}"].title)
        shares = [str(Fraction(share).limit_denominator(1000)) for share in times.columns]
        axes.set_xticks(range(len(shares)), shares)
        axes.set_yticks(range(len(times.index)), [f"{threads:,.0f}" for threads in times.index])
        axes.set_xlabel("blocks (1: a thread for each vertex)")
        axes.grid(visible=False)
        axes.tick_params(length=0)
    panels[0].set_ylabel("threads a block")
    figure.colorbar(image, ax=panels, label=plots.time_label(unit))


def _write_cells(axes: Axes, image: AxesImage, cells: pd.DataFrame, times: pd.DataFrame, unit: str) -> None:
    """Write time and blocks into each cell of a heat map of `times`, and frame the paper's choice."""
    for y, threads in enumerate(times.index):
        for x, share in enumerate(times.columns):
            cell = cells.loc[threads, share]
            text = f"{plots.digits(cell['time'])} {unit}" if cell["status"] == "ok" else status_text(cell)
            text += f"\n{cell['blocks']:,.0f} blocks"
            color = "white" if image.norm(cell["time"]) < 0.5 else "black"
            axes.text(x, y, text, ha="center", va="center", fontsize=plots.LEAST_TEXT, color=color)
            if (threads, share) == PAPERS:
                frame = axes.add_patch(Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, **FRAME))
                plots.legend(axes, [frame], ["the paper's choice"], handlelength=1.5)


DRAW = {"delta_sweep": draw_delta, "stride_sweep": draw_stride}


def picture(sweep: str, rows: pd.DataFrame, source: str) -> Figure:
    """Draw a sweep; call it in plots.styled(). rows: see measurements.load_sweep."""
    figure = Figure(figsize=(plots.WIDTH, 0.55 * plots.HEIGHT))
    if (rows["status"] == "ok").any():
        DRAW[sweep](figure, rows)
        variant, dataset = measurements.variants(rows).iloc[0], rows["dataset"].iloc[0]
        subject = f"{long_table.algorithm(variant)} on {measurements.marked(dataset, measurements.substitutes(rows))}"
        commits = ", ".join(dict.fromkeys(commit[:7] for commit in rows["commit"] if commit))
        run = f"\nMeasured at commit {commits}." if commits else ""
        plots.caption(figure, series.caption(rows, source, SWEEPS[sweep], subject) + run)
    else:
        plots.say_unmeasured(figure.subplots(subplot_kw={"xticks": [], "title": sweep}))
        plots.caption(figure, source)
    return figure


def render_draw_sweep(rows: pd.DataFrame, context: Context) -> dict[str, Drawing]:
    """Render the figure of a sweep from its own CSV; rows: none."""
    name = context.name.removeprefix("draw_")
    sweep_rows = measurements.load_sweep(name, context.paths(name))
    return {name: Drawing(lambda: picture(name, sweep_rows, context.source))}
