"""All views, in the order in which an archive is drawn: what each shows, reads and makes, and its place in the report.

One loop makes the rules of all of them (workflow/rules/views.smk); archives and documents are made of the same list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING

from kernels.registry import VARIANTS, shown_in
from workflow.measure import plan
from workflow.measure.plan import Cell

if TYPE_CHECKING:
    import pandas as pd

    from workflow.views.context import Context, Made

PAPER_FIGURES = {"figure5": "table1", "figure6": "table3"}  # the table whose cells a figure draws
SWEEPS = ("delta_sweep", "stride_sweep")
FIGURE_FORMATS = ("svg", "pdf", "png")


@dataclass(frozen=True)
class View:
    """A table, a figure or a page.

    name: its rule's, which is its target. module: in workflow/views/; its function `view` makes the files.
    outputs: the paths of these. shown: those that the report shows, each with its part there, its label, and the file
    of its caption in workflow/report/. cells(config): the cells whose measurements it shows; None if it shows none.
    families: whether also those of families of graphs, if they were measured. reads: the other files that it reads,
    by their names in Context.files. needs: the files without which an archive does not have it. archived: whether
    archives have it at all. tracks: what makes it due besides its files.
    """

    name: str
    message: str
    module: str
    outputs: tuple[str, ...]
    shown: dict[str, tuple[str, str, str]]
    cells: Callable[[dict], list[Cell]] | None = None
    families: bool = False
    reads: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    archived: bool = True
    tracks: tuple[str, ...] = ()

    def render(self, rows: pd.DataFrame, context: Context) -> Made:
        """Make the files; rows: as measurements.load gives them."""
        return import_module(f"workflow.views.{self.module}").view(rows, replace(context, name=self.name))


def _table(name: str) -> tuple[str, ...]:
    return f"results/{name}.csv", f"results/{name}.md"


def _page(name: str) -> tuple[str, ...]:
    return *_table(name), f"results/{name}.html"


def _figure(name: str) -> tuple[str, ...]:
    return tuple(f"figures/{name}.{form}" for form in FIGURE_FORMATS)


def _paper_table(name: str) -> View:
    title = f"Table {name.removeprefix('table')}"
    return View(
        name,
        title,
        "paper_tables",
        _page(name),
        {f"results/{name}.html": ("tables", title, "table")},
        cells=lambda config: plan.table_cells(config, name),
        tracks=("datasets", "heads"),
    )


def _paper_figure(name: str) -> View:
    title = f"Figure {name.removeprefix('figure')}"
    return View(
        name,
        title,
        "figures",
        _figure(name),
        {f"figures/{name}.svg": ("figures", title, "figure")},
        cells=lambda config: plan.figure_cells(config, name, PAPER_FIGURES[name]),
        tracks=("datasets", "heads"),
    )


def _sweep(name: str) -> View:
    return View(
        f"draw_{name}",
        f"Figure {name}",
        "draw_sweep",
        _figure(name),
        {f"figures/{name}.svg": ("extensions", name, "sweep")},
        reads=(name,),
        needs=(name,),
    )


def _compared(config: dict, keys) -> list[Cell]:
    return [cell for cell in plan.compared_cells(config) if "/".join(cell[:2]) in keys]


def _peak_cells(config: dict) -> list[Cell]:
    return _compared(config, [variant.key for variant in shown_in("peak_table")])


def _many_sources_cells(config: dict) -> list[Cell]:
    datasets = config["sweeps"]["many_sources"]["datasets"]
    return [cell for cell in _compared(config, ("hierarchy/sssp", "delta_stepping/near_far")) if cell[2] in datasets]


def _launch_cells(config: dict) -> list[Cell]:
    """Return the cells whose variant, or its plain one, has a CUDA-graph variant on the dataset."""
    plain = {cell: VARIANTS["/".join(cell[:2])].plain for cell in plan.compared_cells(config)}
    with_graph = {(plain[cell], cell[2]) for cell in plain if VARIANTS["/".join(cell[:2])].cuda_graph}
    return [cell for cell in plain if (plain[cell], cell[2]) in with_graph]


VIEWS = (
    *map(_paper_table, plan.PAPER_TABLES),
    *map(_paper_figure, PAPER_FIGURES),
    View(
        "table6",
        "Table 6",
        "table6",
        _table("table6"),
        {"results/table6.csv": ("extensions", "Table 6", "table6")},
        cells=lambda config: plan.table_cells(config, "table6"),
        reads=("sources", "peers"),
        families=True,
        tracks=("datasets", "heads", "tolerance"),
    ),
    View(
        "figure8",
        "Figure 8",
        "figure8",
        _figure("figure8"),
        {"figures/figure8.svg": ("extensions", "Figure 8", "figure")},
        cells=lambda config: plan.table_cells(config, "table6"),
        reads=("sources", "peers"),
        tracks=("datasets", "heads"),
    ),
    View(
        "peak_table",
        "Table peak_table",
        "peak_table",
        _table("peak_table"),
        {"results/peak_table.csv": ("extensions", "Peak table", "peak_table")},
        cells=_peak_cells,
        reads=("peak",),
        tracks=("heads",),
    ),
    View(
        "many_sources_table",
        "Table many_sources_table",
        "many_sources_table",
        _table("many_sources_table"),
        {"results/many_sources_table.csv": ("extensions", "Many sources table", "many_sources_table")},
        cells=_many_sources_cells,
        reads=("many_sources",),
        needs=("many_sources",),
    ),
    View(
        "all_pairs_table",
        "Table all_pairs",
        "all_pairs_table",
        _page("all_pairs"),
        {"results/all_pairs.html": ("all_pairs", "All pairs", "all_pairs")},
        reads=("all_pairs",),
        needs=("all_pairs",),
    ),
    View(
        "all_pairs_figure",
        "Figure all_pairs",
        "all_pairs_figure",
        _figure("all_pairs"),
        {"figures/all_pairs.svg": ("all_pairs", "All pairs, drawn", "all_pairs_figure")},
        reads=("all_pairs", "maps"),
        needs=("all_pairs",),
        tracks=("maps",),
    ),
    View(
        "launch_overhead",
        "Table launch_overhead",
        "launch_overhead",
        _table("launch_overhead"),
        {"results/launch_overhead.csv": ("extensions", "Launch overhead", "launch_overhead")},
        cells=_launch_cells,
        tracks=("datasets",),
    ),
    View(
        "growth",
        "Table growth and its figure",
        "growth",
        (*_table("growth"), *_figure("growth")),
        {
            "results/growth.csv": ("extensions", "Growth", "growth"),
            "figures/growth.svg": ("extensions", "Growth, drawn", "growth"),
        },
        cells=plan.compared_cells,
        families=True,
        tracks=("datasets",),
    ),
    View(
        "summary",
        "Summary of the measured cells",
        "summary",
        _page("summary"),
        {"results/summary.html": ("measurements", "Summary", "summary")},
        cells=lambda config: plan.table_cells(config, *plan.PAPER_TABLES),
    ),
    View(
        "batches_table",
        "List of the batches",
        "batches_table",
        _page("batches"),
        {"results/batches.html": ("batches", "Batches and hosts", "batches")},
    ),
    View(
        "audit",
        "Audit the paper's claims",
        "audit",
        _page("claims"),
        {"results/claims.html": ("claims", "Each claim", "claims")},
        cells=plan.claimed_cells,
        reads=("claims",),
        tracks=("tolerance",),
    ),
    View(
        "claims_figure",
        "Picture of the paper's claims",
        "claims_figure",
        _figure("claims"),
        {"figures/claims.svg": ("claims", "At a glance, drawn", "claims_figure")},
        cells=plan.claimed_cells,
        reads=("claims",),
        tracks=("tolerance",),
    ),
    *map(_sweep, SWEEPS),
    View(
        "compare",
        "Compare with the archive",
        "compare",
        _page("compare"),
        {"results/compare.html": ("compare", "Beside the archive", "compare")},
        reads=("many_sources_here", "claims"),
        archived=False,
        tracks=("tolerance",),
    ),
    View(
        "simulated",
        "List what the simulator checked",
        "simulated",
        ("results/simulated.md", "results/simulated.html"),
        {"results/simulated.html": ("batches", "Simulator", "simulated")},
        reads=("simulated",),
        archived=False,
    ),
    View(
        "appendix",
        "Appendix of the report",
        "appendix",
        (
            *("results/glance.csv", "results/glance.html", "results/provenance.html"),
            *("results/measurements.zip", "results/configuration.html"),
        ),
        {
            "results/glance.html": ("claims", "At a glance", "glance"),
            "results/provenance.html": ("batches", "Provenance", "provenance"),
            "results/measurements.zip": ("measurements", "measurements.zip", "measurements"),
            "results/configuration.html": ("configuration", "Configuration", "configuration"),
        },
        reads=("provenance", "claims"),
        archived=False,
        tracks=("tolerance", "config"),
    ),
)
BY_NAME = {view.name: view for view in VIEWS}
