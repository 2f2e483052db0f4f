import json

from snakemake.exceptions import WorkflowError

from kernels.errors import InputError
from workflow.lib import settings
from workflow.lib import records
from workflow.scripts.download import local, raw_name

try:
    for configuration in workflow.configfiles:
        settings.check_keys(configuration)
    settings.check(config)
except InputError as error:
    raise WorkflowError(str(error)) from None

settings.prepare_environment(config)
SIMULATING = settings.simulating(config)
PLACE = "simulated" if SIMULATING else "cells"
RAW = {
    raw_name(entry): dataset
    for dataset, entry in config["datasets"].items()
    if entry.get("sources") and not local(entry)
}


def untracked(value):
    """A parameter that makes nothing due when it changes: Snakemake leaves out what depends on the output."""
    return lambda wildcards, output: value


def raw_file(wildcards):
    entry = config["datasets"][wildcards.dataset]
    if not entry.get("sources"):
        return []
    if path := local(entry):
        # A path of one word would be taken for a target.
        return path if len(Path(path).parts) > 1 else str(Path(path).absolute())
    return f"resources/raw/{raw_name(entry)}"


def packed_graph(wildcards):
    cell = wildcards.algorithm, wildcards.variant, wildcards.dataset
    if why := settings.refusal(config, *cell, wildcards.place):
        raise WorkflowError(why)
    graph = f"resources/graphs/{wildcards.dataset}.npz"
    # Snakemake asks for changed params only where no input is made anew, hence also here.
    measured = Path(f"results/{wildcards.place}/{'/'.join(cell)}.json")
    try:
        graphs = [record["graph"] for record in records.read(measured).values()] if measured.exists() else []
    except InputError as error:
        raise WorkflowError(str(error)) from None
    same = any(graph.get("entry") == json.loads(entry(wildcards)) for graph in graphs)
    return ancient(graph) if same else graph


def entry(wildcards):
    return settings.identity(config["datasets"][wildcards.dataset])


def on_gpu(wildcards):
    return settings.on_gpu(wildcards.algorithm, wildcards.variant)


def cell_file(algorithm, variant, dataset):
    return f"results/{PLACE}/{algorithm}/{variant}/{dataset}.csv"


def measurements(table):
    """The files that a table is made from."""
    return measured(settings.table_cells(config, table))


def measured(cells):
    """The files of the cells; without a GPU those of whatever was measured before."""
    if not SIMULATING:
        return [cell_file(*cell) for cell in cells]
    # Absolute, so that they are files that are there and not ones that the rule measure would have to make.
    if before := sorted(str(path.resolve()) for path in Path("results/cells").glob("*/*/*.csv")):
        return before
    return [path for path in [f"results/archive/{config['archive']}/timings.csv"] if Path(path).exists()]


def provenance_file(measured):
    """What a file of measurements was measured on: timings.csv's provenance.json, a cell's own."""
    path = Path(measured)
    return str(path.with_name("provenance.json") if path.name == "timings.csv" else path.with_suffix(".json"))


def source(measured="cells/*/*/*.csv"):
    """A sentence on where what is drawn was measured: here, if such files are in results/ or going to be."""
    if not SIMULATING or any(Path("results").glob(measured)):
        return "Measured by this copy of the project."
    return f"From the archive {config['archive']}; nothing was measured here."


# The parts of the report, which sorts them by the alphabet.
REPORT = {
    "tables": "1. Tables",
    "figures": "2. Figures",
    "claims": "3. Claims",
    "measurements": "4. Measurements",
    "provenance": "5. Provenance",
    "configuration": "6. Configuration",
    "beyond": "7. Beyond the paper",
}


def in_report(files, part, label, caption, end=".html"):
    """The files; those with that end are shown in the report, with a caption of workflow/report/."""
    shown = dict(category=REPORT[part], labels={"Contents": label}, caption=f"../report/{caption}.rst")
    return [report(path, **shown) if path.endswith(end) else path for path in files]


def table_files(name):
    return multiext(f"results/{name}", *(f".{end}" for end in TABLE_FORMATS))


def figure_files(name):
    return multiext(f"figures/{name}", *(f".{end}" for end in FIGURE_FORMATS))


def page_files(name):
    return multiext(f"results/{name}", ".csv", ".md", ".html")


def sweep_options(wildcards):
    return config["sweeps"][wildcards.sweep.removesuffix("_sweep")]


def swept_cell(wildcards):
    return *SWEPT[wildcards.sweep], sweep_options(wildcards)["dataset"]


def sweep_graph(wildcards):
    *variant, dataset = swept_cell(wildcards)
    if why := settings.refusal(config, *variant, dataset, "cells"):
        raise WorkflowError(why)
    return f"resources/graphs/{dataset}.npz"


def sweep_measurements(wildcards):
    """The CSV that a sweep's figure is drawn from; without a GPU what was measured before."""
    csv = f"{wildcards.sweep}.csv"
    return kept(csv) if SIMULATING else f"results/{csv}"


def kept(csv):
    """That file as it was measured before: here, else in the archive, else none."""
    return [path for path in (f"results/{csv}", f"results/archive/{config['archive']}/{csv}") if Path(path).exists()][
        :1
    ]


def table6_measurements(wildcards):
    from workflow.scripts import table6  # here, since pandas takes a fifth of a second and most runs do not ask for it

    return measurements(table6.CELLS)


def source_files():
    """A file a dataset of those in config that have the variant."""
    found = settings.cells(config)
    datasets = [name for name in config["sweeps"]["sources"]["datasets"] if (*SEARCH, name) in found]
    return [f"results/sources/{name}.csv" for name in datasets]


def source_measurements():
    """What Table 6 reads of many sources."""
    return kept("sources.csv") if SIMULATING else ["results/sources.csv"] * bool(source_files())


def needs_sources(wildcards):
    needs_gpu("sources")
    if not source_files():
        raise WorkflowError(f"sources: config names no dataset under sweeps.sources on which {'/'.join(SEARCH)} runs")
    return source_files()


def needs_gpu(target):
    """No files; refuses the target where there is no GPU."""
    if SIMULATING:
        raise WorkflowError(f"{target} cannot be measured here: there is no GPU, or the CUDA simulator was asked for")
    return []


def refuse_target(wildcards):
    valid = ["all", "audit", "summary", "beyond", "archive"]
    valid += ["table6", "figure8", "sources", "peak_table"]
    valid += [*(f"table{n}" for n in TABLES), *(f"figure{n}" for n in PAPER_FIGURES)]
    valid += ["launch_overhead", "growth", "layouts", "peak", *SWEPT, *settings.targets(config)]
    raise WorkflowError(f"there is no target {wildcards.word!r}: choose one of {', '.join(valid)}, or a file")
