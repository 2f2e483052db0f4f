"""Hold Bellman-Ford on an ELL layout against the same on CSR arrays: results/layouts.csv, .md, .tex, .html."""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from workflow.lib import long_table, measurements, step
from workflow.scripts import tables

TITLE = "Bellman-Ford, Stride, on CSR arrays and on an ELL layout"
CSR, ELL = "bellman_ford/stride", "bellman_ford/stride_ell"
LAYOUT = (
    r"layout: longest row (?P<longest>\d+), (?P<columns>\d+) columns, (?P<slots>\d+) slots, (?P<beyond>\d+) arcs beyond"
)
REACHED = r"reached: (?P<reached>\d+) vertices"
NOTES = [
    "CSR and ELL: median of the paper's timed region, in which the arcs are on the card already. Launches are the "
    "same; only where the arcs lie differs. CSR / ELL: above 1 ELL is faster.",
    "ELL has so many columns that at least a quarter of its slots are filled. Padding: the part of them that is not. "
    "Arcs beyond: those of longer rows, kept as coordinates.",
    "Reached: vertices that the source has a path to, itself among them. The others never relax an arc.",
]


def compare(rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each dataset and device that ELL was measured on; the paper's datasets first.

    column (ELL's), dataset, device, vertices, arcs, reached, mean and longest (out-arcs of a vertex), columns, slots,
    padding (share of the slots), beyond (arcs), csr_s (NaN where not measured on that device), ell_s, ratio, note.
    Raises InputError where a dataset was not one graph.
    """
    papers = list(measurements.paper_datasets().index)
    cells = measurements.summarise(measurements.select(rows, [CSR, ELL], rows["dataset"].unique())).reset_index()
    cells = cells[cells["status"] == "ok"]
    facts = cells[cells["column"] == ELL].rename(columns={"median": "ell_s"})
    csr = cells[cells["column"] == CSR].rename(columns={"median": "csr_s"})
    facts = facts.merge(csr[["dataset", "device", "csr_s"]], on=["dataset", "device"], how="left")
    for pattern in (LAYOUT, REACHED):
        facts = facts.join(facts["note"].astype(str).str.extract(pattern).astype(float))
    facts["mean"] = facts["arcs"] / facts["vertices"]
    facts["padding"] = 1 - (facts["arcs"] - facts["beyond"]) / facts["slots"]
    facts["ratio"] = facts["csr_s"] / facts["ell_s"]
    facts["order"] = [papers.index(name) if name in papers else len(papers) for name in facts["dataset"]]
    names = [
        *("column", "dataset", "device", "vertices", "arcs", "reached", "mean", "longest", "columns", "slots"),
        *("padding", "beyond", "csr_s", "ell_s", "ratio", "note"),
    ]
    return facts.sort_values(["order", "dataset", "device"], ignore_index=True)[names]


def to_text(facts: pd.DataFrame, stand_ins: dict) -> pd.DataFrame:
    def shown(name, form):
        return ["-" if np.isnan(number) else form(number) for number in facts[name]]

    several = facts["device"].nunique() > 1
    return pd.DataFrame(
        {
            "Dataset": [
                f"{name}.txt{' †' if name in stand_ins else ''}{f' on {device}' if several else ''}"
                for name, device in zip(facts["dataset"], facts["device"], strict=True)
            ],
            "Vertices": shown("vertices", "{:,.0f}".format),
            "Reached": shown("reached", "{:,.0f}".format),
            "Mean out-degree": shown("mean", "{:.2f}".format),
            "Largest": shown("longest", "{:,.0f}".format),
            "Columns": shown("columns", "{:,.0f}".format),
            "Padding": shown("padding", "{:.0%}".format),
            "Arcs beyond": shown("beyond", "{:,.0f}".format),
            "CSR (s)": shown("csr_s", tables.digits),
            "ELL (s)": shown("ell_s", tables.digits),
            "CSR / ELL": shown("ratio", tables.digits),
        },
        dtype=str,
    )


def write(rows: pd.DataFrame, source: str, folder: Path) -> None:
    """Write the table's files into a folder; rows: as measurements.load gives them."""
    facts, stand_ins = compare(rows), measurements.stand_ins(rows)
    shown = pd.concat([facts, facts.assign(column=CSR)])
    notes = [*NOTES, *long_table.origin(rows, shown, source)]
    text = to_text(facts, stand_ins)
    long_table.write(folder / "layouts", TITLE, text, facts.assign(source=source), notes, list(text.columns[1:]))


def main(args: argparse.Namespace) -> None:
    write(measurements.load(args.measurements), args.source, args.out_dir)


if __name__ == "__main__":
    arguments = step.showing_parser(__doc__, out_dir="results")
    step.run(main, arguments)
