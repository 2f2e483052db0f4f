"""Put the archive's measurements of the variants past the paper into docs/performance.md, between its markers.

python -m workflow.scripts.performance --archive results/archive/h200
"""

import argparse
from pathlib import Path

import pandas as pd

from kernels.datasets import atomic
from kernels.variants import VARIANTS, Variant
from workflow.lib import long_table, measurements, pages, step
from workflow.scripts import table6, tables
from workflow.scripts.readme import fill, page_text


def section(variant: Variant) -> str:
    """The marker under which a variant's cells stand."""
    if variant.problem == "sssp":
        return "layouts" if variant.algorithm == "bellman_ford" else "one_source"
    return "dense" if variant.algorithm == "floyd_warshall" else "sparse"


def cells(rows: pd.DataFrame, name: str, source: str) -> str:
    """A section's measured cells as Markdown. rows: as measurements.load gives them."""
    keys = [key for key, variant in VARIANTS.items() if variant.beyond and section(variant) == name]
    rows = rows[measurements.variants(rows).isin(keys)]
    found = measurements.summarise(rows.assign(seconds=rows["kernels_s"] + rows["predecessors_s"])).reset_index()
    if not len(found):
        return f"{source} No measurement yet."
    stand_ins = measurements.stand_ins(rows)
    lines = []
    for _, cell in found.iterrows():
        line = {"Variant": long_table.label(cell["column"])}
        line["Dataset"] = cell["dataset"] + (" †" if cell["dataset"] in stand_ins else "")
        if cell["status"] == "ok":
            rate = table6.rate(cell["column"], cell["median"], cell["vertices"], cell["arcs"])
            line |= {
                "Distances (s)": tables.digits(cell["kernels"]),
                "Predecessors (s)": tables.digits(cell["predecessors"]) if cell["predecessors"] > 0 else "with them",
                "Both (s)": tables.digits(cell["median"]),
                "Range": f"[{tables.digits(cell['min'])}, {tables.digits(cell['max'])}], n={cell['repeats']}",
                "Rate": table6.rate_text(*rate),
            }
        else:
            line["Both (s)"] = tables.status_text(cell)
        lines.append(line)
    table = pd.DataFrame(lines).fillna("-")
    return pages.to_markdown([("table", table), ("ul", measurements.about(rows, source))])


def main(args: argparse.Namespace) -> None:
    text, rows = page_text(args.page), measurements.load([args.archive / "timings.csv"])
    for name in ("one_source", "sparse", "dense"):
        text = fill(text, name, cells(rows, name, f"From the archive {args.archive.name}."), args.page)
    for name in ("layouts", "peak_table"):
        text = fill(text, name, (args.archive / f"{name}.md").read_text(), args.page)
    with atomic(args.page, "w") as file:
        file.write(text)


if __name__ == "__main__":
    arguments = step.parser(__doc__)
    arguments.add_argument("--archive", type=Path, required=True)
    arguments.add_argument("--page", type=Path, default=Path("docs/performance.md"))
    step.run(main, arguments)
