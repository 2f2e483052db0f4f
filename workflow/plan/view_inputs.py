"""What the rules of tables, figures and pages take and track."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kernels.errors import InputError
from workflow import step
from workflow.plan import experiments, result_paths
from workflow.plan.experiments import Cell
from workflow.plan.planner import SWEPT, Plan
from workflow.store import measurements, tables
from workflow.views.catalogue import MEASURED_HERE, VIEWS, View

NEW_YORK = "nyc_time"  # as in workflow/views/extensions/new_york.py
SHOW_ALL = ("summary", "batches_table", "appendix")  # views of all measurements that the report shows


@dataclass(frozen=True)
class ViewInputs:
    """The inputs and parameters of views. Without a GPU, they are the measurements in results/, else the archive's."""

    plan: Plan

    @property
    def config(self) -> dict:
        return self.plan.config

    def measured(self, wanted: Sequence[Cell], also: Sequence[Cell] = ()) -> list[str]:
        """Return the files of the jobs that measure these cells, and of cells that are measured alone.

        also: cells whose files are returned if they exist.
        """
        if not self.plan.simulating:
            return result_paths.files_of_cells(self.plan.jobs, self.plan.batches, wanted, also)
        # Absolute paths, so that Snakemake treats them as existing inputs.
        here = [str(path.resolve()) for path in result_paths.measured_here()]
        return here or list(map(str, measurements.files(self.plan.archive)))

    def _kept(self, pattern: str) -> list[str]:
        """Return the existing files in results/ if there are any, else the archive's."""
        # Absolute paths, so that Snakemake treats them as existing inputs.
        here = [str(Path(path).resolve()) for path in self._found("results", pattern)]
        return here or self._found(self.plan.archive, pattern)

    def _found(self, folder: str, pattern: str) -> list[str]:
        return list(map(str, measurements.files_of_datasets(folder, pattern, self.config["datasets"])))

    def generated_cells(self) -> list[Cell]:
        """Return the cells on generated datasets, except those of families and those with `by_name`."""
        named = {cell.dataset for cell in self.plan.named_cells}
        datasets = self.config["datasets"].items()
        return experiments.cells_of(
            self.config, [name for name, entry in datasets if "generate" in entry and name not in named]
        )

    @cached_property
    def many_sources(self) -> list[str]:
        """What many_sources_table reads."""
        return self._kept("many_sources/*.csv") if self.plan.simulating else self.plan.many_sources_files

    @cached_property
    def all_pairs_here(self) -> list[str]:
        return list(self.plan.all_pairs_files(".json").values())

    @cached_property
    def all_pairs(self) -> list[str]:
        """The records of all pairs: without a GPU and without records in results/, the archive's."""
        if self.all_pairs_here or not self.plan.simulating:
            return self.all_pairs_here
        return self._found(self.plan.archive, "all_pairs/*.json")

    @cached_property
    def maps(self) -> dict[str, str]:
        """For each dataset with coordinates, the rows of its vertices, from which a map is drawn."""
        files = self.plan.all_pairs_files(".parquet")
        return {name: path for name, path in files.items() if self.plan.has_coordinates(name)}

    @cached_property
    def collected(self) -> list[str]:
        """The measurements that the report shows."""
        return self.measured(experiments.table_cells(self.config, *experiments.PAPER_TABLES))

    @cached_property
    def beside(self) -> list[str]:
        """The archives that the report shows beside `collected`."""
        first = [] if self._here else [self.plan.archive]
        return [folder for folder in self.plan.archives if folder not in first and measurements.files(folder)]

    @property
    def _here(self) -> bool:
        """Whether views show measurements in results/, which are or will be there."""
        return bool(result_paths.measured_here()) or not self.plan.simulating

    def _reads(self, name: str) -> str | list[str]:
        """Return the files that views read under this name."""
        if name in SWEPT or name == "peak":
            return self._kept(f"{name}.csv") if self.plan.simulating else [f"results/{name}.csv"]
        if name == "sources":
            return self._kept("sources/*.csv") if self.plan.simulating else self.plan.source_files
        if name == "library_times":  # of this card: the archive's, unless measurements in results/ are shown
            return [] if self._here else self._found(self.plan.archive, f"{name}.csv")
        if name == "peers":  # the times of other programs that Table 6 and Figure 8 cite
            return [result_paths.of_project(f"workflow/paper/peers.{form}") for form in ("csv", "yaml")]
        if name == "maps":
            return [path for at, rows in self.maps.items() for path in (rows, self.plan.coordinates_file(at))]
        if name == "many_sources_here":
            return [str(Path(path).resolve()) for path in self._found("results", "many_sources/*.csv")]
        if name == "compared":  # CPU cells measured here, which `compare` alone shows
            alone = self.plan.simulating and not result_paths.measured_here()
            return [str(path.resolve()) for path in result_paths.measured_files()] if alone else []
        if name in ("many_sources", "all_pairs"):
            return getattr(self, name)
        return {"claims": result_paths.of_project("workflow/paper/claims.csv"), "simulated": "results/simulated.csv"}[
            name
        ]

    def inputs(self, view: View) -> dict[str, str | list[str]]:
        """Return the files that a view reads."""
        if view.cells:
            rows = self.measured(view.cells(self.config), self.plan.named_cells if view.families else ())
        elif view.name == "compare":
            rows = [str(path.resolve()) for path in result_paths.measured_files()]
        else:
            rows = self.collected if view.name in SHOW_ALL else []
        return {"rows": rows} | {name: self._reads(name) for name in view.reads}

    def source(self, view: View) -> str:
        """Return the note on the origin of the data that a view shows: results/ if they are or will be there."""
        archive = f"From the archive {self.config['archive']}, "
        if view.name.removeprefix("draw_") in SWEPT:
            here = Path(f"results/{view.reads[0]}.csv").exists() or not self.plan.simulating
        elif "all_pairs" in view.reads:
            here = bool(self.all_pairs_here)
        else:
            here = self._here
        return MEASURED_HERE if here else f"{archive}not measured here."

    def tracks(self, view: View) -> dict[str, object]:
        """Return parameters whose changes make a view due. These are short, since the report shows them."""
        values = {
            "datasets": lambda: _short_digest(tables.of_config(self.config)),
            "tolerance": lambda: self.config["audit"]["tolerance"],
            "config": lambda: _short_digest(self.config),
            "maps": lambda: {name: self.plan.coordinates_file(name) for name in self.maps},
        }
        heads = {"heads": _short_digest(tables.heads(view.columns))} if view.columns else {}
        return heads | {name: values[name]() for name in view.tracks}

    def needs_all_pairs(self, wildcards) -> list[str]:
        if not self.all_pairs:
            self.plan.require_gpu("all_pairs")
            raise InputError("all_pairs: config names no dataset under all_pairs.datasets: add one")
        return list(self.plan.all_pairs_files(".parquet").values())

    def new_york(self, wildcards) -> dict[str, str]:
        """Return what is archived of all pairs of NEW_YORK if they are in results/, else nothing."""
        rows = Path(f"results/all_pairs/{NEW_YORK}.parquet")
        if not rows.exists() or not self.plan.has_coordinates(NEW_YORK):
            return {}
        coordinates, graph = self.plan.coordinates_file(NEW_YORK), result_paths.graph_file(NEW_YORK)
        # An absolute path, so that Snakemake does not search all pairs again.
        return {"rows": str(rows.resolve()), "coordinates": coordinates, "graph": graph}

    def made_files(self, wildcards) -> list[str]:
        """Return the files of the report that exist."""
        files = result_paths.existing(*(path for view in VIEWS for path in view.shown))
        if not files:
            raise InputError("made: there are no results yet: run snakemake --cores all first")
        return files


def _short_digest(value) -> str:
    return step.digest(json.dumps(value).encode())
