"""All views: what each shows, reads and makes, and its place in the report, in the order in which archives are drawn.

The rules (workflow/rules/views.smk), the archives' files and the report's parts are made from this list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from workflow.plan import experiments
from workflow.plan.experiments import Cell
from workflow.store import tables
from workflow.store.tables import PAPER_FIGURES, PAPER_TABLES, heads

if TYPE_CHECKING:
    import pandas as pd

    from workflow.views.context import Context, Made

SWEEPS = ("delta_sweep", "stride_sweep")
FORMATS = ("svg", "pdf", "png")  # of figures; not in plots.py, since the rules need no matplotlib
MEASURED_HERE = "Measured by this copy of the project."  # a source of rows


class Shown(NamedTuple):
    """The place of a file in the report."""

    part: str  # a key of REPORT in workflow/rules/common.smk
    label: str
    caption: str  # of workflow/report/<caption>.rst


@dataclass(frozen=True)
class View:
    """A table, a figure or a page. Its name is that of its rule and target."""

    name: str
    message: str
    outputs: tuple[str, ...]
    shown: dict[str, Shown]  # the outputs that the report shows
    module: str  # in workflow.views: extensions.table6 has the function `render_table6`, which makes the files
    columns: str = ""  # the entry of workflow/paper/tables.yaml that says which variants it shows, and their heads
    cells: Callable[[dict], list[Cell]] | None = None  # by config, the cells whose measurements it shows, if any
    families: bool = False  # whether it also shows cells of families of graphs, if they were measured
    reads: tuple[str, ...] = ()  # the other files that it reads, by their names in Context.files
    needs: tuple[str, ...] = ()  # those without which an archive does not have the view
    archived: bool = True  # whether archives can have the view
    optional: bool = False  # whether an archive has the table `columns` only if one of the table's cells was measured
    tracks: tuple[str, ...] = ()  # parameters of ViewInputs.tracks in workflow/plan/view_inputs.py that make it due

    def render(self, rows: pd.DataFrame, context: Context) -> Made:
        """Make the files from the rows of measurements.load."""
        module = import_module(f"workflow.views.{self.module}")
        render = getattr(module, f"render_{self.module.rpartition('.')[2]}")
        return render(rows, replace(context, name=self.name))


def _page(name: str) -> tuple[str, ...]:
    return tuple(f"results/{name}.{form}" for form in ("csv", "md", "html"))


def _figure(name: str) -> tuple[str, ...]:
    return tuple(f"figures/{name}.{form}" for form in FORMATS)


def _paper_table(name: str) -> View:
    title = f"Table {name.removeprefix('table')}"
    return View(
        name,
        title,
        _page(name),
        {f"results/{name}.html": Shown("tables", title, "table")},
        module="paper.paper_tables",
        columns=name,
        cells=lambda config: experiments.table_cells(config, name),
        tracks=("datasets",),
    )


def _paper_figure(name: str) -> View:
    title = f"Figure {name.removeprefix('figure')}"
    return View(
        name,
        title,
        _figure(name),
        {f"figures/{name}.svg": Shown("figures", title, "figure")},
        module="paper.figures",
        columns=name,
        cells=lambda config: experiments.figure_cells(config, name, PAPER_FIGURES[name]["table"]),
        tracks=("datasets",),
    )


def _sweep(name: str) -> View:
    return View(
        f"draw_{name}",
        f"Figure {name}",
        _figure(name),
        {f"figures/{name}.svg": Shown("extensions", name, "sweep")},
        module="extensions.draw_sweep",
        reads=(name,),
        needs=(name,),
    )


def _extension(name: str, label: str, message: str = "", **options) -> View:
    """Return a table that the paper does not have."""
    shown = {f"results/{name}.html": Shown("extensions", label, name)}
    return View(name, message or f"Table {name}", _page(name), shown, f"extensions.{name}", **options)


def _compared(config: dict, keys) -> list[Cell]:
    return [cell for cell in experiments.compared_cells(config) if cell.key in keys]


def _many_sources_cells(config: dict) -> list[Cell]:
    datasets = config["sweeps"]["many_sources"]["datasets"]
    return [
        cell for cell in _compared(config, ("hierarchy/sssp", "delta_stepping/near_far")) if cell.dataset in datasets
    ]


def _growth_cells(config: dict) -> list[Cell]:
    """Return the compared cells on datasets of the paper's tables, since those of others are in no fit."""
    datasets = tables.of_config(config)
    papers = {name for table in PAPER_TABLES for name in tables.define(table, datasets).datasets}
    return [cell for cell in experiments.compared_cells(config) if cell.dataset in papers]


def _launch_cells(config: dict) -> list[Cell]:
    """Return the cells whose variant, or its plain one, has a CUDA-graph variant on the dataset."""
    plain = {cell: cell.registered.plain for cell in experiments.compared_cells(config)}
    with_graph = {(plain[cell], cell.dataset) for cell in plain if cell.registered.cuda_graph}
    return [cell for cell in plain if (plain[cell], cell.dataset) in with_graph]


VIEWS = (
    *map(_paper_table, PAPER_TABLES),
    *map(_paper_figure, PAPER_FIGURES),
    _extension(
        "table6",
        "Table 6",
        "Table 6",
        columns="table6",
        cells=lambda config: experiments.table_cells(config, "table6"),
        reads=("sources", "peers"),
        families=True,
        tracks=("datasets", "tolerance"),
    ),
    _extension(
        "table7",
        "Table 7",
        "Table 7",
        columns="table7",
        cells=lambda config: experiments.table_cells(config, "table7"),
        optional=True,
        tracks=("datasets",),
    ),
    View(
        "figure8",
        "Figure 8",
        (*_figure("figure8"), *_figure("figure9")),
        {
            "figures/figure8.svg": Shown("extensions", "Figure 8", "figure"),
            "figures/figure9.svg": Shown("extensions", "Figure 9", "figure"),
        },
        "extensions.figure8",
        columns="table6",
        cells=lambda config: experiments.table_cells(config, "table6"),
        families=True,
        reads=("peers", "library_times"),
        tracks=("datasets",),
    ),
    _extension(
        "peak_table",
        "Peak table",
        columns="peak_table",
        cells=lambda config: _compared(config, heads("peak_table")),
        reads=("peak",),
    ),
    _extension(
        "many_sources_table",
        "Many sources table",
        cells=_many_sources_cells,
        reads=("many_sources",),
        needs=("many_sources",),
    ),
    View(
        "all_pairs_table",
        "Table all_pairs",
        _page("all_pairs"),
        {"results/all_pairs.html": Shown("all_pairs", "All pairs", "all_pairs")},
        "extensions.all_pairs_table",
        reads=("all_pairs",),
        needs=("all_pairs",),
    ),
    View(
        "all_pairs_figure",
        "Figure all_pairs",
        _figure("all_pairs"),
        {"figures/all_pairs.svg": Shown("all_pairs", "All pairs, drawn", "all_pairs_figure")},
        "extensions.all_pairs_figure",
        reads=("all_pairs", "maps"),
        needs=("all_pairs",),
        tracks=("maps",),
    ),
    _extension("launch_overhead", "Launch overhead", cells=_launch_cells, tracks=("datasets",)),
    View(
        "growth",
        "Table growth and its figure",
        (*_page("growth"), *_figure("growth")),
        {
            "results/growth.html": Shown("extensions", "Growth", "growth"),
            "figures/growth.svg": Shown("extensions", "Growth, drawn", "growth"),
        },
        "extensions.growth",
        cells=_growth_cells,
        families=True,
        tracks=("datasets",),
    ),
    View(
        "summary",
        "Summary of the measured cells",
        _page("summary"),
        {"results/summary.html": Shown("measurements", "Summary", "summary")},
        "paper.summary",
        cells=lambda config: experiments.table_cells(config, *PAPER_TABLES),
    ),
    View(
        "batches_table",
        "Legend of the batches",
        _page("batches"),
        {"results/batches.html": Shown("batches", "Batches and hosts", "batches")},
        "paper.batches_table",
    ),
    View(
        "audit",
        "Audit the paper's claims",
        _page("claims"),
        {"results/claims.html": Shown("claims", "Each claim", "claims")},
        "paper.audit",
        cells=experiments.claimed_cells,
        reads=("claims",),
        tracks=("tolerance",),
    ),
    View(
        "claims_figure",
        "Picture of the paper's claims",
        _figure("claims"),
        {"figures/claims.svg": Shown("claims", "At a glance, drawn", "claims_figure")},
        "paper.claims_figure",
        cells=experiments.claimed_cells,
        reads=("claims",),
        tracks=("tolerance",),
    ),
    *map(_sweep, SWEEPS),
    View(
        "compare",
        "Compare with the archive",
        _page("compare"),
        {"results/compare.html": Shown("compare", "Beside the archive", "compare")},
        "compare",
        reads=("many_sources_here", "claims"),
        archived=False,
        tracks=("tolerance",),
    ),
    View(
        "simulated",
        "List what the simulator checked",
        ("results/simulated.md", "results/simulated.html"),
        {"results/simulated.html": Shown("batches", "Simulator", "simulated")},
        "simulated",
        reads=("simulated",),
        archived=False,
    ),
    View(
        "appendix",
        "Appendix of the report",
        (
            *("results/glance.csv", "results/glance.html", "results/provenance.html"),
            *("results/measurements.zip", "results/configuration.html"),
        ),
        {
            "results/glance.html": Shown("claims", "At a glance", "glance"),
            "results/provenance.html": Shown("batches", "Provenance", "provenance"),
            "results/measurements.zip": Shown("measurements", "measurements.zip", "measurements"),
            "results/configuration.html": Shown("configuration", "Configuration", "configuration"),
        },
        "appendix",
        reads=("compared", "claims"),
        archived=False,
        tracks=("tolerance", "config"),
    ),
)
BY_NAME = {view.name: view for view in VIEWS}
