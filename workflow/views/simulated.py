"""List what was checked without a GPU, by variant and graph."""

import pandas as pd

from kernels.registry import VARIANTS
from workflow.store import measurements
from workflow.views import pages
from workflow.views.context import Context

TITLE = "What was checked without a GPU"
TEXT = """\
Every GPU variant ran in numba's CUDA simulator and every CPU variant for real, on small graphs; {rows:,} rows of
distances were compared with scipy.sparse.csgraph's and every predecessor was followed to its source. All were right.
CUDA-graph variants launch the same kernels as their plain ones, and are left out. None of this is a measurement: a
simulated run has no times."""


def render_simulated(rows: pd.DataFrame, context: Context) -> dict[str, str]:
    """Render the page from results/simulated.csv; `rows` are not used."""
    cells = measurements.load(context.paths("simulated"), simulated=True)
    cells = cells[cells["round"] == 1]
    of_cells = zip(cells["status"], cells["rows_checked"], strict=True)
    cells = cells.assign(
        column=measurements.variants(cells),
        graph=[
            f"{name} ({vertices:.0f} vertices, {arcs:.0f} arcs)"
            for name, vertices, arcs in zip(cells["dataset"], cells["vertices"], cells["arcs"], strict=True)
        ],
        text=[
            f"{'simulated' if status == 'simulated' else 'run'}, {count:.0f} row{'s' * (count != 1)} checked"
            for status, count in of_cells
        ],
    )
    table = cells.pivot(index="column", columns="graph", values="text").fillna("-").rename_axis("variant")
    table = table.reindex([key for key in VARIANTS if key in table.index]).reset_index().rename_axis(columns=None)
    page = [("h1", TITLE), ("p", TEXT.format(rows=int(cells["rows_checked"].sum()))), ("table", table)]
    return {"simulated.md": pages.to_markdown(page), "simulated.html": pages.to_html(page)}
