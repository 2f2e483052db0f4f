"""List, variant by graph, what was checked where there is no GPU."""

import argparse
import logging
from pathlib import Path

from kernels.datasets import atomic
from kernels.variants import VARIANTS
from workflow import step
from workflow.store import measurements
from workflow.views import pages

COUNTS = ("vertices", "arcs", "rows_checked")
TITLE = "What was checked without a GPU"
TEXT = """\
Every GPU variant ran in numba's CUDA simulator and every CPU variant for real, on small graphs; {rows:,} rows of
distances were compared with scipy.sparse.csgraph's and every predecessor was followed to its source. All were right.
CUDA-graph variants launch the same kernels as their plain ones, and are left out. None of this is a measurement: a
simulated run has no times."""


def main(args: argparse.Namespace) -> None:
    cells = measurements.load(args.cells, simulated=True).astype(dict.fromkeys(COUNTS, int))
    cells["graph"] = [
        f"{name} ({n} vertices, {m} arcs)"
        for name, n, m in zip(cells["dataset"], cells["vertices"], cells["arcs"], strict=True)
    ]
    cells["variant"] = cells["algorithm"] + "/" + cells["variant"]
    cells["said"] = [
        f"{'simulated' if status == 'simulated' else 'run'}, {rows} row{'s' * (rows != 1)} checked"
        for status, rows in zip(cells["status"], cells["rows_checked"], strict=True)
    ]
    first = cells[cells["round"] == 1]
    table = first.pivot(index="variant", columns="graph", values="said").fillna("-")
    table = table.reindex([key for key in VARIANTS if key in table.index])
    text = TEXT.format(rows=first["rows_checked"].sum())
    page = [("h1", TITLE), ("p", text), ("table", table.reset_index().rename_axis(columns=None))]
    with atomic(args.out, "w") as markdown, atomic(args.page, "w") as html:
        markdown.write(pages.to_markdown(page))
        html.write(pages.to_html(page))
    logging.info("wrote %s: %d variants, %d graphs", args.out, *table.shape)


if __name__ == "__main__":
    arguments = step.parser(__doc__)
    arguments.add_argument("--cells", type=Path, nargs="+", required=True, metavar="FILE.csv")
    arguments.add_argument("--out", type=Path, required=True, metavar="FILE.md")
    arguments.add_argument("--page", type=Path, required=True, metavar="FILE.html")
    step.run(main, arguments)
