"""List, variant by graph, what was checked where there is no GPU."""

import pandas as pd

from kernels.registry import VARIANTS
from workflow.store import measurements
from workflow.views import pages
from workflow.views.context import Context

COUNTS = ("vertices", "arcs", "rows_checked")
TITLE = "What was checked without a GPU"
TEXT = """\
Every GPU variant ran in numba's CUDA simulator and every CPU variant for real, on small graphs; {rows:,} rows of
distances were compared with scipy.sparse.csgraph's and every predecessor was followed to its source. All were right.
CUDA-graph variants launch the same kernels as their plain ones, and are left out. None of this is a measurement: a
simulated run has no times."""


def view(rows: pd.DataFrame, context: Context) -> dict[str, str]:
    """Render the page from results/simulated.csv; rows: none."""
    cells = measurements.load(context.paths("simulated"), simulated=True).astype(dict.fromkeys(COUNTS, int))
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
    return {"simulated.md": pages.to_markdown(page), "simulated.html": pages.to_html(page)}
