"""Bellman-Ford's stride variants over threads a block and blocks: results/stride_sweep.csv, figures/stride_sweep.*.

Section 2.1.2 of the paper halves the blocks, at 1,024 threads each, and leaves open what other shapes would do.
"""

from collections.abc import Iterator
from fractions import Fraction

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke

from kernels.gpu.launching import blocks_for
from kernels.graph import Graph
from kernels.registry import VARIANTS, find
from workflow.measure.sweeps import Point, Sweep
from workflow.views import plots
from workflow.views.render import status_text

NAMES = ("stride", "stride_flag")
PAPERS = (1024, 0.5)  # threads a block; blocks, of what a thread a vertex needs
FRAME = {"fill": False, "linewidth": 1.5, "path_effects": [withStroke(linewidth=4, foreground="white")]}
COLOURS = "cividis"  # the same to the colour-blind, and in grey


def points(graph: Graph, options: dict) -> Iterator[Point]:
    """Both variants, at each of options["threads"], with each of options["shares"] of a thread a vertex's blocks."""
    for name in NAMES:
        for threads in options["threads"]:
            for share in options["shares"]:
                blocks = max(1, int(share * blocks_for(graph.vertices, threads)))
                own = {"threads": threads, "blocks": blocks, "share": share}
                yield Point(find("bellman_ford", name), {"block": threads, "grid": blocks}, own)


def draw(figure: Figure, rows: pd.DataFrame) -> None:
    """A heat map for each variant, each cell with its median time and its blocks; the paper's own cell is framed."""
    cells = rows.groupby(["variant", "threads", "share"]).agg(
        seconds=("seconds", "median"),
        blocks=("blocks", "first"),
        status=("status", "first"),
        limit_s=("limit_s", "first"),
    )
    unit, factor = plots.unit(cells["seconds"])
    cells["time"] = factor * cells["seconds"]
    panels = figure.subplots(1, len(NAMES), sharey=True)
    for axes, name in zip(panels, NAMES, strict=True):
        times = cells["time"].xs(name).unstack("share")
        image = axes.imshow(times, COLOURS, aspect="auto", vmin=cells["time"].min(), vmax=cells["time"].max())
        for y, threads in enumerate(times.index):
            for x, share in enumerate(times.columns):
                cell = cells.loc[name, threads, share]
                timed = cell["status"] == "ok"
                text = f"{plots.digits(cell['time'])} {unit}" if timed else status_text(cell)
                text += f"\n{cell['blocks']:,.0f} blocks"
                dark = image.norm(cell["time"]) < 0.5
                axes.text(
                    x, y, text, ha="center", va="center", fontsize=plots.SMALL, color="white" if dark else "black"
                )
                if (threads, share) == PAPERS:
                    frame = axes.add_patch(Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, **FRAME))
                    plots.legend(axes, [frame], ["the paper's choice"], handlelength=1.5)
        axes.set_title(VARIANTS[f"bellman_ford/{name}"].title)
        shares = [str(Fraction(share).limit_denominator(1000)) for share in times.columns]
        axes.set_xticks(range(len(shares)), shares)
        axes.set_yticks(range(len(times.index)), [f"{threads:,.0f}" for threads in times.index])
        axes.set_xlabel("blocks (1: a thread for each vertex)")
        axes.grid(visible=False)
        axes.tick_params(length=0)
    panels[0].set_ylabel("threads a block")
    figure.colorbar(image, ax=panels, label=plots.time_label(unit))


SWEEP = Sweep("stride_sweep", ("threads", "blocks", "share"), points, draw)
