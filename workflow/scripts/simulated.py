"""List, variant by graph, what was checked where there is no GPU."""

import argparse
import logging
from pathlib import Path

import pandas as pd

from kernels.datasets import atomic
from kernels.variants import VARIANTS
from workflow.scripts import step

TEXT = """# What was checked without a GPU

Every GPU variant ran in numba's CUDA simulator and every CPU variant for real, on small graphs; {rows:,} rows of
distances were held against scipy.sparse.csgraph and every predecessor was followed to its source. All were right.
None of this is a measurement: a simulated run has no times.

{table}
"""


def main(args: argparse.Namespace) -> None:
    cells = pd.concat([pd.read_csv(path) for path in args.cells], ignore_index=True)
    cells["graph"] = [
        f"{name} ({n} vertices, {m} arcs)"
        for name, n, m in zip(cells["dataset"], cells["vertices"], cells["arcs"], strict=True)
    ]
    cells["variant"] = cells["algorithm"] + "/" + cells["variant"]
    cells["said"] = [
        f"{'simulated' if status == 'simulated' else 'run'}, {rows} row{'s' * (rows != 1)} checked"
        for status, rows in zip(cells["status"], cells["rows_checked"], strict=True)
    ]
    first = cells[cells["repeat"] == 1]
    table = first.pivot(index="variant", columns="graph", values="said").fillna("-")
    table = table.reindex([key for key in VARIANTS if key in table.index])
    with atomic(args.out, "w") as file:
        file.write(TEXT.format(rows=first["rows_checked"].sum(), table=table.to_markdown()))
    logging.info("wrote %s: %d variants, %d graphs", args.out, *table.shape)


if __name__ == "__main__":
    arguments = step.parser(__doc__)
    arguments.add_argument("--cells", type=Path, nargs="+", required=True, metavar="FILE.csv")
    arguments.add_argument("--out", type=Path, required=True, metavar="FILE.md")
    step.run(main, arguments)
