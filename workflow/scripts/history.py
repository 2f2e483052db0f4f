"""Draw how the times of our own GPU variants changed from batch to batch, from results/history.csv: figures/history.*.

The file has a row for each batch and cell; `compare` adds this machine's. It is kept in git, where archives leave out
most batches of older code.
"""

import argparse
from collections.abc import Collection
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kernels.datasets import atomic
from kernels.errors import InputError
from kernels.variants import VARIANTS
from workflow.lib import measurements, plots, step

KEY = ["device", "dataset", "variant", "batch"]
TIMES = ["started", "commit", "code", "dataset_sha256", "rounds", "seconds"]
COLUMNS = [*KEY, *TIMES]
COLUMN_COUNT, PANEL = 3, (2.4, 1.6)  # panels in a row; inches of one
COLORS = (plots.BLUE, plots.VERMILION, plots.GREEN, plots.PINK, plots.ORANGE, plots.SKY, plots.BLACK)
NOTE = (
    "Each line is one of our GPU variants on one card and graph: kernels and predecessors, median of a batch, divided "
    "by its first batch's; batches by the time they were made. Above 1 it became slower. Named: lines whose last time "
    "is slower or faster than all before by more than {:.0%}."
)


def load(path: Path) -> pd.DataFrame:
    """The rows of a history, (rows, COLUMNS); none where there is no file. Raises InputError for another file."""
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    try:
        rows = pd.read_csv(path, dtype=dict.fromkeys([*KEY, *TIMES[:4]], str), keep_default_na=False)
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a table of times: {error}") from None
    numbers = pd.api.types.is_numeric_dtype
    if list(rows.columns) != COLUMNS or not (numbers(rows["seconds"]) and (rows["seconds"] > 0).all()):
        raise InputError(f"{path}: its columns must be {', '.join(COLUMNS)}, with seconds above 0: take git's version")
    return rows


def of_batches(rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each batch and cell; rows: as measurements.load gives them.

    seconds: the median over the batch's rounds of what the kernels took, predecessors included (s). rounds: how many.
    """
    rows = rows[(rows["status"] == "ok") & (rows["batch"] != "")]
    rows = rows.assign(variant=measurements.variants(rows), seconds=rows["kernels_s"] + rows["predecessors_s"])
    first = {name: (name, "first") for name in ("started", "commit", "code", "dataset_sha256")}
    found = (
        rows.sort_values("started")
        .groupby(KEY, as_index=False)
        .agg(**first, rounds=("seconds", "size"), seconds=("seconds", "median"))
    )
    return found[found["seconds"] > 0][COLUMNS]


def joined(history: pd.DataFrame, more: pd.DataFrame) -> pd.DataFrame:
    """Both, in order; a batch's cell that is in both as it is in `more`."""
    both = pd.concat([part for part in (history, more) if len(part)] or [history])
    return both.drop_duplicates(KEY, keep="last").sort_values([*KEY[:3], "started", "batch"], ignore_index=True)


def add(rows: pd.DataFrame, path: Path) -> None:
    """Add the batches of measurements to the file; rows: as measurements.load gives them."""
    text = joined(load(path), of_batches(rows)).to_csv(index=False, float_format="%.6g")
    with atomic(path, "w") as file:
        file.write(text)


def lines(history: pd.DataFrame, tolerance: float) -> pd.DataFrame:
    """A row a batch of each of our GPU variants that has several on one card and graph, with three columns more.

    begun: when the batch's job began; the rows are in that order. ratio: its time over the first batch's. word:
    "slower" or "faster" where the last batch is that beside all before by more than the tolerance, else "".
    """
    ours = {key for key, variant in VARIANTS.items() if variant.ours and variant.on_gpu}
    begun = history.groupby(["device", "dataset", "batch"])["started"].transform("min")
    rows = history.assign(begun=begun)[history["variant"].isin(ours)].sort_values(["begun", "batch"])
    found = []
    for _, line in rows.groupby(["device", "dataset", "dataset_sha256", "variant"], sort=False):
        if len(line) > 1:
            *before, last = line["seconds"]
            word = "slower" if last > max(before) * (1 + tolerance) else ""
            word = "faster" if last < min(before) / (1 + tolerance) else word
            found.append(line.assign(ratio=line["seconds"] / line["seconds"].iloc[0], word=word))
    return pd.concat(found) if found else rows.head(0)


def draw(found: pd.DataFrame, caption: str) -> Figure:
    """A panel for each card and dataset; found: as lines gives it, not empty."""
    panels = list(found.groupby(["device", "dataset"]))
    count = -(-len(panels) // COLUMN_COUNT)
    figure = Figure(figsize=(COLUMN_COUNT * PANEL[0], count * PANEL[1] + 0.5))
    axes = figure.subplots(count, COLUMN_COUNT, squeeze=False).ravel()
    for one, ((device, dataset), rows) in zip(axes, panels, strict=False):
        _panel(one, rows)
        one.set_title(f"{dataset}, {device.removeprefix('NVIDIA ')}", fontsize=plots.SMALL)
    for one in axes[len(panels) :]:
        one.set_visible(False)
    plots.caption(figure, caption)
    return figure


def _panel(axes: Axes, rows: pd.DataFrame) -> None:
    batches = rows.sort_values(["begun", "batch"])["batch"].unique()
    places = {batch: place for place, batch in enumerate(batches, 1)}
    named = 0
    for key, line in rows.groupby("variant", sort=False):
        x, word = line["batch"].map(places), line["word"].iloc[0]
        look = {"color": "0.6", "linewidth": 0.8, "zorder": 2}
        if word:
            look = {"color": COLORS[named % len(COLORS)], "zorder": 3, "label": f"{key}: {word}"}
            named += 1
        axes.plot(x, line["ratio"], marker="o", markersize=2.5, **look)
    axes.set_xticks(list(places.values()), list(places), fontsize=5)
    axes.axhline(1, color="0.3", linewidth=0.6, zorder=1)
    axes.set_ylim(min(0.8, 0.9 * rows["ratio"].min()), max(1.3, 1.2 * rows["ratio"].max()))
    if named:
        axes.legend(fontsize=5, loc="upper left")


def write(history: pd.DataFrame, tolerance: float, stem: Path, formats: Collection[str] = plots.FORMATS) -> None:
    """Draw the figure into stem.svg and so on. Raises InputError where no variant has two batches on one card."""
    found = lines(history, tolerance)
    if found.empty:
        raise InputError("the history has no two batches of one variant on one card: run snakemake --cores 1 compare")
    plots.write(stem, lambda: draw(found, NOTE.format(tolerance)), formats)


def main(args: argparse.Namespace) -> None:
    write(load(args.history), args.tolerance, args.figures_dir / "history")


if __name__ == "__main__":
    arguments = step.parser(__doc__)
    arguments.add_argument("--history", type=Path, required=True, metavar="history.csv")
    arguments.add_argument("--tolerance", type=step.share, required=True, help="config.yaml's audit.tolerance")
    arguments.add_argument("--figures-dir", type=Path, default=Path("figures"))
    step.run(main, arguments)
