"""Draw a sweep from its CSV, as SVG, PDF and PNG."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from workflow.measure import delta_sweep, stride_sweep
from workflow.measure.sweeps import Sweep
from workflow.store import measurements
from workflow.views import long_table, plots, series
from workflow.views.context import Context, Drawing

SWEEPS = {sweep.name: sweep for sweep in (delta_sweep.SWEEP, stride_sweep.SWEEP)}


def load(sweep: Sweep, paths: list[Path]) -> pd.DataFrame:
    """Return the rows of the sweep's CSVs."""
    return measurements.load(paths, sweep.columns)


def picture(sweep: Sweep, rows: pd.DataFrame, source: str) -> Figure:
    """Draw the figure; to be called in plots.styled()."""
    figure = Figure(figsize=(plots.WIDTH, 0.55 * plots.HEIGHT))
    if (rows["status"] == "ok").any():
        sweep.draw(figure, rows)
        variant, dataset = measurements.variants(rows).iloc[0], rows["dataset"].iloc[0]
        subject = f"{long_table.algorithm(variant)} on {measurements.marked(dataset, measurements.substitutes(rows))}"
        commits = ", ".join(dict.fromkeys(commit[:7] for commit in rows["commit"] if commit))
        run = f"\nMeasured at commit {commits}." if commits else ""
        plots.caption(figure, series.caption(rows, source, sweep.columns, subject) + run)
    else:
        plots.say_unmeasured(figure.subplots(subplot_kw={"xticks": [], "title": sweep.name}))
        plots.caption(figure, source)
    return figure


def view(rows: pd.DataFrame, context: Context) -> dict[str, Drawing]:
    """Render the figure of a sweep from its own CSV; `rows` are not used."""
    name = context.name.removeprefix("draw_")
    sweep = SWEEPS[name]
    rows = load(sweep, context.paths(name))
    return {name: Drawing(lambda: picture(sweep, rows, context.source))}
