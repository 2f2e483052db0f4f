"""What the rules of workflow/rules/ take: input files, threads, resources and parameters."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from snakemake.io import ancient

from kernels.errors import InputError
from kernels.registry import find
from workflow.data import pack
from workflow.data.convert import has_text
from workflow.data.download import local, raw_name
from workflow.plan import allocation, conditions, configuration, experiments, result_paths
from workflow.plan.experiments import Cell, Job
from workflow.store import records, revisions

SEARCH = "delta_stepping", "near_far"  # the variant of the target `sources`
SWEPT = {"delta_sweep": ("delta_stepping", "block_apsp"), "stride_sweep": ("bellman_ford", "stride")}
log = logging.getLogger("snakemake.logging")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The inputs, threads and resources of all rules, for one configuration on one machine.

    Functions with the parameter `wildcards` are called by Snakemake, if it needs the rule; they raise InputError for
    what cannot be made.
    """

    config: dict
    why_simulated: str = ""  # why GPU variants are simulated (conditions.why_simulated); empty if they are measured
    cores: int = 1  # of --cores
    cards: int = 1  # the N of --resources gpu=N: the number of GPU jobs that run at once
    on_slurm: bool = False
    warned: set[str] = field(default_factory=set)  # targets whose skipped cells were named in a warning
    force: Callable[[str], None] = lambda file: None  # makes the job of a file due

    @property
    def simulating(self) -> bool:
        return bool(self.why_simulated)

    @cached_property
    def jobs(self) -> dict[Job, list[Cell]]:
        return experiments.jobs(self.config)

    @cached_property
    def batches(self) -> list[str]:
        return result_paths.batches(self.config)

    @cached_property
    def new_batches(self) -> list[str]:
        return result_paths.batches(self.config, new=True)

    @cached_property
    def named_cells(self) -> list[Cell]:
        return experiments.named_cells(self.config)

    @cached_property
    def simulated_cells(self) -> list[Cell]:
        return experiments.simulated_cells(self.config)

    @cached_property
    def archives(self) -> list[str]:
        """The folders of all archives, first the one that the configuration names."""
        return result_paths.archives(self.config)

    @property
    def archive(self) -> str:
        return self.archives[0]

    def dataset(self, name: str) -> dict:
        return self.config["datasets"][name]

    # Which cells can be made here.

    @property
    def needs_gpu(self) -> str:
        """Why GPU variants cannot be measured, after their names."""
        said = f"cannot be measured here: {self.why_simulated}"
        if self.on_slurm and self.config["mode"] == "auto":
            said += ", and --config replaces the profile's mode: pass mode=cuda after --config"
        return said

    def require_gpu(self, target: str) -> None:
        """Raise InputError without a GPU."""
        if self.simulating:
            raise InputError(f"{target} {self.needs_gpu}")

    def refusal(self, cell: Cell, folder: str = "cells") -> str:
        """Return why the cell cannot be made in results/<folder>/; an empty text if it can."""
        try:
            on_gpu = cell.registered.on_gpu
        except InputError as error:
            return str(error)
        if cell.dataset not in self.config["datasets"]:
            return experiments.no_dataset(self.config, cell.dataset)
        if folder == "simulated":
            small = experiments.simulated_datasets(self.config)
            if not self.simulating:
                return "cells are simulated only in the mode simulator: set mode in config.yaml"
            if cell.dataset not in small:
                return f"{cell.dataset} is too large for the CUDA simulator: choose {' or '.join(small)}"
        elif on_gpu and self.simulating:
            return f"{cell.key} on {cell.dataset} {self.needs_gpu}: run it on a machine with a GPU"
        return ""

    def check(self, wanted: Iterable[Cell], folder: str = "cells") -> None:
        """Raise InputError for the first cell that cannot be made in results/<folder>/ or lacks `protocol.source`."""
        source = self.config["protocol"]["source"]
        for cell in wanted:
            if why := self.refusal(cell, folder):
                raise InputError(why)
            vertices = self.dataset(cell.dataset)["vertices"]
            if cell.registered.problem == "sssp" and source >= vertices:
                where = f"{source} is not a vertex of {cell.dataset}"
                raise InputError(f"config: protocol.source: {where}: choose one from 0 to {vertices - 1}")

    def makeable(self, wanted: Iterable[Cell]) -> tuple[list[tuple[str, Cell]], list[Cell]]:
        """Return the cells that can be made here, each with its folder in results/, and the cells that cannot.

        With a GPU all are measured. Without one, cells of datasets with `simulate` are simulated, and other CPU
        variants are measured.
        """
        made, skipped = [], []
        for cell in wanted:
            folder = next((folder for folder in ("simulated", "cells") if not self.refusal(cell, folder)), None)
            if folder:
                made.append((folder, cell))
            else:
                skipped.append(cell)
        return made, skipped

    # Graphs.

    def entry(self, wildcards) -> dict:
        return conditions.identity(self.dataset(wildcards.dataset))

    def identified_by(self, wildcards) -> str:
        """Return what the digest of a packed graph is of."""
        return "text" if has_text(self.dataset(wildcards.dataset)) else "CSR arrays"

    @cached_property
    def raw_entries(self) -> dict[str, tuple[str, dict]]:
        """For each downloaded file, the name and entry of the first dataset that uses it."""
        entries: dict[str, tuple[str, dict]] = {}
        for name, entry in configuration.raw_entries(self.config).items():
            if (file := raw_name(entry)) and not local(entry):
                entries.setdefault(file, (name, entry))
        return entries

    def raw_path(self, entry: dict) -> str:
        """Return the path of an entry's raw file. The file may not exist yet."""
        if path := local(entry):
            path = result_paths.of_project(path)
            # Snakemake would read a path of one word as a target.
            return path if len(Path(path).parts) > 1 else str(Path(path).absolute())
        return f"resources/raw/{raw_name(entry)}"

    def raw_file(self, wildcards) -> str | list[str]:
        """Return the raw file of a dataset; nothing if the dataset is generated."""
        name = wildcards.dataset
        entry = self.dataset(name)
        if path := local(entry):
            # The file may be missing if the graph made from it exists.
            graphs = [f"resources/graphs/{name}.{end}" for end in ("txt", "npz")]
            if not result_paths.existing(self.raw_path(entry), *graphs):
                raise InputError(f"config: datasets.{name}.sources: {path}: no such file: correct the path")
        return self.raw_path(entry) if entry.get("sources") else []

    def packed_from(self, wildcards) -> str | list[str]:
        """Return the text form of a dataset, or the raw file if the dataset has no text form."""
        if has_text(self.dataset(wildcards.dataset)):
            return f"resources/graphs/{wildcards.dataset}.txt"
        return self.raw_file(wildcards)

    def has_coordinates(self, dataset: str) -> bool:
        return "coordinates" in self.config["datasets"].get(dataset, {})

    def coordinates_file(self, dataset: str) -> str:
        return self.raw_path(configuration.raw_entries(self.config)[f"{dataset}.coordinates"])

    # Cells, jobs and batches.

    def cell_of(self, wildcards) -> Cell:
        return Cell(wildcards.algorithm, wildcards.variant, wildcards.dataset)

    def cell_graph(self, wildcards):
        cell, folder = self.cell_of(wildcards), wildcards.folder
        self.check([cell], folder)
        return self._unless_changed(cell.dataset, result_paths.cell_file(*cell, folder))

    def cell_revision(self, wildcards) -> str:
        return self.cell_of(wildcards).revision

    def cell_protocol(self, wildcards) -> str:
        simulated = wildcards.folder == "simulated"
        protocol = conditions.protocol_of(self.config, wildcards.algorithm, wildcards.variant, simulated)
        return conditions.settings_text(protocol)

    def job_cells(self, wildcards) -> list[Cell]:
        return self.jobs[Job(wildcards.problem, wildcards.dataset)]

    def job_variants(self, wildcards) -> list[str]:
        keep_going = self.config["protocol"]["keep_going"]
        return [revisions.planned(cell.registered, keep_going) for cell in self.job_cells(wildcards)]

    def job_graph(self, wildcards):
        self.require_gpu(f"batch {wildcards.batch}")
        configuration.check_batch(wildcards.batch)
        if (wildcards.problem, wildcards.dataset) not in self.jobs:
            raise InputError(
                f"config compares no variants on {wildcards.dataset} for {wildcards.problem}: choose another dataset "
                "or problem"
            )
        self.check(self.job_cells(wildcards))
        file = result_paths.job_file(wildcards.batch, wildcards.problem, wildcards.dataset)
        return self._unless_changed(wildcards.dataset, file)

    def _unless_changed(self, dataset: str, measured: str):
        """Return the packed graph, as ancient if it is the one in the record beside the CSV file.

        Snakemake ignores a job's changed parameters while the job's input is being remade. So this function looks for
        a changed entry itself. It forces the measurement if the CSV file is empty or has no record.
        """
        graph, table = result_paths.graph_file(dataset), Path(measured)
        if not table.exists():
            return graph
        if not table.stat().st_size or not records.beside(table).exists():
            self.force(measured)
            return graph
        entry = self.dataset(dataset)
        recorded = [record["graph"] for record in records.read(records.beside(table)).values()]
        digests = [of.get("sha256") for of in recorded if of.get("entry") == conditions.identity(entry)]
        return ancient(graph) if digests and not self._replaced(entry, Path(graph), table, digests) else graph

    def _replaced(self, entry: dict, graph: Path, table: Path, digests: Sequence[str]) -> bool:
        """Return whether a packed graph has none of these digests, or a local file is newer than the graph.

        If the graph is missing, return whether a local file is newer than the CSV file.
        """
        made = graph if graph.exists() else table
        source = Path(self.raw_path(entry)) if local(entry) else made
        newer = source.exists() and source.stat().st_mtime > made.stat().st_mtime
        return newer or pack.digest(graph) not in (None, *digests)

    def batch_files(self, wildcards) -> list[str]:
        """Return the files of all jobs of the new batches."""
        self.require_gpu("batch")
        named = {cell.dataset for cell in self.named_cells}
        jobs = [job for job in self.jobs if job.dataset not in named]
        return [result_paths.job_file(name, *job) for name in self.new_batches for job in jobs]

    def families_files(self, wildcards) -> list[str]:
        """Return the files of all jobs and cells on families, in this machine's batches."""
        self.require_gpu("families")
        if not (wanted := experiments.family_cells(self.config)):
            raise InputError("families: config has no dataset of a family: add one")
        return result_paths.to_make(self.jobs, self.batches, wanted)

    def collected(self) -> list[str]:
        """Return the files of the cells of the paper's tables."""
        wanted = experiments.table_cells(self.config, *experiments.PAPER_TABLES)
        return result_paths.files_of_cells(self.jobs, self.batches, wanted)

    def target_files(self, target: str, wanted: Sequence[Cell]) -> Callable[[Any], list[str]]:
        """Return an input function for the files of a target's cells. It warns of cells that cannot be measured here.

        A dataset's cells are measured by jobs. The cells of an algorithm or a variant are measured alone.
        """

        def files(wildcards) -> list[str]:
            if not self.simulating and target in self.config["datasets"]:
                return result_paths.to_make(self.jobs, self.batches, wanted)
            made, skipped = self.makeable(wanted)
            names = ", ".join(map("/".join, skipped))
            if not made:
                raise InputError(f"{names} {self.needs_gpu}: run this on a machine with a GPU")
            if skipped and target not in self.warned:
                self.warned.add(target)
                count = f"{len(skipped)} of {len(wanted)} cells are skipped"
                log.warning(f"{target}: {count}: {names} {self.needs_gpu}")
            files = [result_paths.cell_file(*cell) for folder, cell in made if folder == "cells"]
            return files + self.simulated_files([cell for folder, cell in made if folder == "simulated"])

        return files

    # The simulator.

    def simulated_graphs(self, wildcards) -> list:
        self.check(self.simulated_cells, "simulated")
        datasets = dict.fromkeys(cell.dataset for cell in self.simulated_cells)
        return [ancient(result_paths.graph_file(dataset)) for dataset in datasets]

    def simulated_files(self, wanted: Iterable[Cell]) -> list[str]:
        """Return the files of cells that are checked in the simulator: one each in mode cuda, else one of all cells."""
        if self.config["mode"] == "cuda":
            return [result_paths.cell_file(*cell, "simulated") for cell in wanted]
        return ["results/simulated.csv"] if wanted else []

    @property
    def simulated_alone(self) -> list[str]:
        """The files that the rule `measure` makes for `simulate`."""
        return self.simulated_files(self.simulated_cells) if self.config["mode"] == "cuda" else []

    # Sweeps, searches from many sources, and all pairs.

    def swept(self, sweep: str) -> Cell:
        return Cell(*SWEPT[sweep], self.config["sweeps"][sweep.removesuffix("_sweep")]["dataset"])

    def sweep_graph(self, wildcards) -> str:
        cell = self.swept(wildcards.sweep)
        self.check([cell])
        return result_paths.graph_file(cell.dataset)

    def sweep_options(self, sweep: str, *names: str) -> str:
        """Return the named options of a sweep (default: all) as one line."""
        options = self.config["sweeps"][sweep.removesuffix("_sweep")]
        return conditions.settings_text({name: options[name] for name in names or options})

    def graph_on_card(self, target: str, dataset: str) -> str:
        """Return the packed graph of a target that needs a GPU."""
        self.require_gpu(f"{target} of {dataset}")
        return result_paths.graph_file(dataset)

    @cached_property
    def source_files(self) -> list[str]:
        """The file of each dataset under sweeps.sources on which SEARCH runs; with `by_name`, only if it exists."""
        searched = {cell.dataset for cell in experiments.cells_of(self.config) if cell[:2] == SEARCH}
        names = [name for name in self.config["sweeps"]["sources"]["datasets"] if name in searched]
        files = {f"results/sources/{name}.csv": self.dataset(name).get("by_name") for name in names}
        return [file for file, by_name in files.items() if not by_name or Path(file).exists()]

    def needs_sources(self, wildcards) -> list[str]:
        self.require_gpu("sources")
        if not self.source_files:
            raise InputError(f"sources: config names no dataset under sweeps.sources on which {'/'.join(SEARCH)} runs")
        return self.source_files

    @cached_property
    def many_sources_files(self) -> list[str]:
        """The file of each dataset under sweeps.many_sources."""
        return [f"results/many_sources/{name}.csv" for name in self.config["sweeps"]["many_sources"]["datasets"]]

    def needs_many_sources(self, wildcards) -> list[str]:
        self.require_gpu("many_sources")
        if not self.many_sources_files:
            raise InputError("many_sources: config names no dataset under sweeps.many_sources: add one")
        return self.many_sources_files

    def needs_peak(self, wildcards) -> list[str]:
        self.require_gpu("peak")
        return []

    def searchable(self, dataset: str) -> bool:
        """Return whether all pairs of a dataset can be searched here."""
        return not self.simulating or self.dataset(dataset).get("simulate", False)

    def all_pairs_graph(self, wildcards) -> str:
        dataset, part, parts = wildcards.dataset, wildcards.shard, wildcards.shards
        most = self.dataset(dataset)["vertices"]
        numbers = all(re.fullmatch("[1-9][0-9]{0,9}", number) for number in (part, parts))
        if not numbers or not int(part) <= int(parts) <= most:
            raise InputError(
                f"all_pairs of {dataset}: there is no part {part} of {parts}: name it PARTS/PART, PART from 1 to "
                f"PARTS, and PARTS from 1 to {most}"
            )
        if self.searchable(dataset):
            return result_paths.graph_file(dataset)
        return self.graph_on_card("all_pairs", dataset)

    def all_pairs_parts(self, wildcards) -> list[str]:
        shards = min(self.config["all_pairs"]["shards"], self.dataset(wildcards.dataset)["vertices"])
        return [f"results/all_pairs/{wildcards.dataset}/{shards}/{shard}.parquet" for shard in range(1, shards + 1)]

    def all_pairs_files(self, end: str) -> dict[str, str]:
        """Map each dataset to the file that all_pairs_merge makes.

        If there is no GPU but the rule needs one, map to the absolute path of an existing file, or leave the dataset
        out.
        """
        files = {name: Path(f"results/all_pairs/{name}{end}") for name in self.config["all_pairs"]["datasets"]}
        usable = {name: file for name, file in files.items() if self.searchable(name) or file.exists()}
        return {name: str(file if self.searchable(name) else file.resolve()) for name, file in usable.items()}

    # Cores and resources.

    @property
    def job_threads(self) -> int:
        """The number of cores of a GPU job: an equal share of all cores."""
        return max(1, self.cores // self.cards)

    def cell_threads(self, wildcards) -> int:
        """Return the number of cores of a cell that is measured alone.

        A GPU variant has the cores of a GPU job, a CPU variant all cores, a simulated cell one core.
        """
        if wildcards.folder == "simulated":
            return 1
        return self.job_threads if self._on_gpu(wildcards) else self.cores

    @property
    def kept_cores(self) -> int:
        """Each card's share of the cores. If only one card is used, 0: all cores of the job."""
        return self.job_threads if self.cards > 1 else 0

    def job_priority(self, wildcards) -> int:
        """Return the priority of a batch: NAME is measured before NAME-2."""
        batch = wildcards.batch
        return next((-names.index(batch) for names in (self.batches, self.new_batches) if batch in names), 0)

    def _on_gpu(self, wildcards) -> bool:
        return find(wildcards.algorithm, wildcards.variant).on_gpu

    @cached_property
    def on_card(self) -> dict[str, int | str | None]:
        """What a job on a card requests."""
        return allocation.of_device(True, on_slurm=self.on_slurm)

    def of_cell(self) -> dict[str, Callable[[Any], int | str | None]]:
        """Return functions for what a cell that is measured alone requests; GPU and CPU variants differ."""
        on_cpu = allocation.of_device(False, on_slurm=self.on_slurm)

        def requested(name: str) -> Callable[[Any], int | str | None]:
            return lambda wildcards: (self.on_card if self._on_gpu(wildcards) else on_cpu).get(name)

        return {name: requested(name) for name in self.on_card}

    def _minutes(self, *wanted: Cell) -> int:
        return allocation.runtime_min(self.config, self.archives, wanted)

    def cell_memory(self, wildcards) -> int:
        return allocation.memory_mb(self.config, *self.cell_of(wildcards))

    def cell_minutes(self, wildcards) -> int:
        return self._minutes(self.cell_of(wildcards))

    def job_memory(self, wildcards) -> int:
        return max(allocation.memory_mb(self.config, *cell) for cell in self.job_cells(wildcards))

    def job_minutes(self, wildcards) -> int:
        return self._minutes(*self.job_cells(wildcards))

    def sweep_memory(self, wildcards) -> int:
        return allocation.memory_mb(self.config, *self.swept(wildcards.sweep))

    def sweep_minutes(self, wildcards) -> int:
        return 10 * self._minutes(self.swept(wildcards.sweep))

    def sources_memory(self, wildcards) -> int:
        return allocation.memory_mb(self.config, *SEARCH, wildcards.dataset)

    def sources_minutes(self, wildcards) -> int:
        return 2 * self._minutes(Cell(*SEARCH, wildcards.dataset))

    def all_pairs_memory(self, wildcards) -> int:
        return allocation.all_pairs_mb(self.config, wildcards.dataset)

    def all_pairs_minutes(self, wildcards) -> int:
        return allocation.all_pairs_min(self.config, wildcards.dataset, int(wildcards.shards))

    def many_sources_minutes(self, wildcards) -> int:
        return allocation.many_sources_min(self.config, wildcards.dataset)

    def request(self, wildcards, resources) -> str:
        """Return what a job requests from Slurm, for its message; an empty text without Slurm."""
        return f" [{allocation.requested(resources)}]" if self.on_slurm else ""

    def request_or_limit(self, wildcards, resources) -> str:
        return self.request(wildcards, resources) or f" (at most {resources['runtime']} minutes)"
