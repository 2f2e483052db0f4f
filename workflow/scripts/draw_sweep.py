"""Draw a sweep from its CSV: SVG, PDF, PNG.

python -m workflow.scripts.draw_sweep --sweep delta_sweep --measurements results/delta_sweep.csv --source TEXT
"""

import argparse
from pathlib import Path

import pandas as pd
from matplotlib import style
from matplotlib.figure import Figure

from kernels.variants import VARIANTS
from workflow.lib import measurements, step
from workflow.lib.sweeps import Sweep
from workflow.scripts import delta_sweep, figures, stride_sweep

SWEEPS = {sweep.name: sweep for sweep in (delta_sweep.SWEEP, stride_sweep.SWEEP)}


def load(sweep: Sweep, paths: list[Path]) -> pd.DataFrame:
    """The rows of the sweep's CSVs, as measurements.load gives them."""
    return measurements.load(paths, sweep.columns)


def picture(sweep: Sweep, rows: pd.DataFrame, source: str) -> Figure:
    """The figure, to be called and saved under figures.STYLE; rows: as load gives them."""
    figure = Figure(figsize=(figures.WIDTH, figures.HEIGHT / 2))
    said = measurements.origin(rows, source, {key: variant.title for key, variant in VARIANTS.items()})
    if (rows["status"] == "ok").any():
        said = [*sweep.draw(figure, rows), *said]
    else:
        figures.say_unmeasured(figure.subplots(subplot_kw={"xticks": [], "title": sweep.name}))
    figures.write_below(figure, said)
    return figure


def write(sweep: Sweep, rows: pd.DataFrame, source: str, folder: Path) -> None:
    """Write the figure's files into a folder."""
    with style.context(["default", figures.STYLE]):
        figures.save(picture(sweep, rows, source), folder / sweep.name)


def main(args: argparse.Namespace) -> None:
    sweep = SWEEPS[args.sweep]
    write(sweep, load(sweep, args.measurements), args.source, args.out_dir)


if __name__ == "__main__":
    arguments = step.showing_parser(__doc__, out_dir="figures")
    arguments.add_argument("--sweep", choices=list(SWEEPS), required=True)
    step.run(main, arguments)
