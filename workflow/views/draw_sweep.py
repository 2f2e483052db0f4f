"""Draw a sweep from its CSV: SVG, PDF, PNG.

python -m workflow.views.draw_sweep --sweep delta_sweep --measurements results/delta_sweep.csv --source TEXT
"""

import argparse
from collections.abc import Collection
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from workflow import step
from workflow.measure import delta_sweep, stride_sweep
from workflow.measure.sweeps import Sweep
from workflow.store import measurements
from workflow.views import long_table, plots, series

SWEEPS = {sweep.name: sweep for sweep in (delta_sweep.SWEEP, stride_sweep.SWEEP)}


def load(sweep: Sweep, paths: list[Path]) -> pd.DataFrame:
    """The rows of the sweep's CSVs, as measurements.load gives them."""
    return measurements.load(paths, sweep.columns)


def picture(sweep: Sweep, rows: pd.DataFrame, source: str) -> Figure:
    """The figure, to be called in plots.styled(); rows: as load gives them."""
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


def write(
    sweep: Sweep, rows: pd.DataFrame, source: str, folder: Path, formats: Collection[str] = plots.FORMATS
) -> None:
    """Write the figure's files into a folder."""
    plots.write(folder / sweep.name, lambda: picture(sweep, rows, source), formats)


def main(args: argparse.Namespace) -> None:
    sweep = SWEEPS[args.sweep]
    write(sweep, load(sweep, args.measurements), args.source, args.out_dir)


if __name__ == "__main__":
    arguments = step.showing_parser(__doc__, out_dir="figures")
    arguments.add_argument("--sweep", choices=list(SWEEPS), required=True)
    step.run(main, arguments)
