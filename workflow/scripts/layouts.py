"""Compare Bellman-Ford on an ELL layout with the same on CSR arrays: results/layouts.csv and .md."""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from kernels.variants import shown_in
from workflow.lib import batches, long_table, measurements, step
from workflow.lib.render import RATIOS, REGION, digits
from workflow.lib.tables import Datasets

TITLE = "Bellman-Ford, Stride, on CSR arrays and on an ELL layout"
VARIANT = {variant.shown["layouts"]: variant.key for variant in shown_in("layouts")}
CSR, ELL = VARIANT["CSR"], VARIANT["ELL"]
NOTES = [
    f"CSR and ELL: median of {REGION}, of several batches the median of their medians. The arcs are on the card before "
    "it. Launches are the same; only where the arcs lie differs.",
    f"CSR / ELL: {RATIOS} Above 1 ELL is faster. ELL is in no batch: where it was measured alone, in one run, its time "
    "stands beside that of CSR without a ratio.",
    "ELL has so many columns that at least a quarter of its slots are filled. Padding: the part of them that is not. "
    "Overflow: the arcs of longer rows, kept as coordinates.",
    "Reached: vertices that the source has a path to, itself among them. The others never relax an arc.",
]


def compare(rows: pd.DataFrame, datasets: Datasets) -> pd.DataFrame:
    """A row for each dataset and device that ELL was measured on; the tables' datasets first.

    column (ELL's), dataset, device, vertices, arcs, reached, mean and longest_row (out-arcs of a vertex), ell_columns,
    ell_slots, padding (share of the slots), ell_overflow (arcs), csr_s (NaN where not measured on that device),
    ell_s, ratio (NaN where no job measured both).
    Raises InputError where a dataset was not one graph.
    """
    shown = list(datasets)
    rows = measurements.select(rows, [CSR, ELL], rows["dataset"].unique())
    cells, of_batches = measurements.summarise(rows).reset_index(), batches.medians(rows)
    cells = cells[cells["status"] == "ok"]
    facts = cells[cells["column"] == ELL].rename(columns={"median": "ell_s"})
    csr = cells[cells["column"] == CSR].rename(columns={"median": "csr_s"})
    facts = facts.merge(csr[["dataset", "device", "csr_s"]], on=["dataset", "device"], how="left")
    facts["mean"] = facts["arcs"] / facts["vertices"]
    facts["padding"] = 1 - (facts["arcs"] - facts["ell_overflow"]) / facts["ell_slots"]
    ratios = [batches.speed_up(of_batches, ELL, CSR, dataset) for dataset in facts["dataset"]]
    facts["ratio"] = [ratio.value if ratio else np.nan for ratio in ratios]
    facts["order"] = [shown.index(name) if name in shown else len(shown) for name in facts["dataset"]]
    names = ["column", "dataset", "device", "vertices", "arcs", "reached", "mean", "longest_row", "ell_columns"]
    names += ["ell_slots", "padding", "ell_overflow", "csr_s", "ell_s", "ratio"]
    return facts.sort_values(["order", "dataset", "device"], ignore_index=True)[names]


def to_text(facts: pd.DataFrame, substitutes: dict) -> pd.DataFrame:
    def shown(name, form):
        return ["-" if np.isnan(number) else form(number) for number in facts[name]]

    several = facts["device"].nunique() > 1
    return pd.DataFrame(
        {
            "Dataset": [
                f"{name}.txt{' †' if name in substitutes else ''}{f' on {device}' if several else ''}"
                for name, device in zip(facts["dataset"], facts["device"], strict=True)
            ],
            "Vertices": shown("vertices", "{:,.0f}".format),
            "Reached": shown("reached", "{:,.0f}".format),
            "Mean out-degree": shown("mean", "{:.2f}".format),
            "Largest": shown("longest_row", "{:,.0f}".format),
            "Columns": shown("ell_columns", "{:,.0f}".format),
            "Padding": shown("padding", "{:.0%}".format),
            "Overflow arcs": shown("ell_overflow", "{:,.0f}".format),
            "CSR (s)": shown("csr_s", digits),
            "ELL (s)": shown("ell_s", digits),
            "CSR / ELL": shown("ratio", digits),
        },
        dtype=str,
    )


def write(rows: pd.DataFrame, datasets: Datasets, source: str, folder: Path) -> None:
    """Write the table's files into a folder; rows: as measurements.load gives them."""
    facts, substitutes = compare(rows, datasets), measurements.substitutes(rows)
    shown = pd.concat([facts, facts.assign(column=CSR)])
    notes = [*NOTES, *long_table.origin(rows, shown, source)]
    text = to_text(facts, substitutes)
    long_table.write(
        folder / "layouts",
        TITLE,
        text,
        facts.assign(source=source, substitute=[substitutes.get(name, "") for name in facts["dataset"]]),
        notes,
        list(text.columns[1:]),
    )


def main(args: argparse.Namespace) -> None:
    write(measurements.load(args.measurements), args.datasets, args.source, args.out_dir)


if __name__ == "__main__":
    arguments = step.showing_parser(__doc__, out_dir="results")
    step.add_datasets(arguments)
    step.run(main, arguments)
