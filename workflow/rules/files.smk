# Which files the rules read and write, and where the report shows them.
import json

PAPER_FIGURES = {"figure5": "table1", "figure6": "table3"}  # the table whose cells a figure draws
FIGURE_FORMATS = ("svg", "pdf", "png")
SHOWN = json.dumps(tables.of_config(config))  # the datasets that tables show
JOBS = plan.jobs(config)
BATCHES = places.batches(config)
NEW_BATCHES = places.batches(config, new=True)
FAMILY_CELLS = plan.family_cells(config)
FAMILIES = list(dict.fromkeys(cell[2] for cell in FAMILY_CELLS))  # their datasets


def untracked(value):
    """A parameter that makes nothing due when it changes: Snakemake leaves out what depends on the output."""
    return lambda wildcards, output: value


def entry(wildcards):
    return plan.identity(config["datasets"][wildcards.dataset])


def on_gpu(wildcards):
    return plan.on_gpu(wildcards.algorithm, wildcards.variant)


def heads(place):
    """Each variant that a table or figure shows and its head there: as a parameter it makes that due when it changes."""
    return [f"{variant.key}: {variant.shown[place]}" for variant in shown_in(place)]


def measured(cells, also=()):
    """The files of all batches and cells of these; without a GPU those of whatever was measured before.

    also: cells whose files are taken where they are there, and not made.
    """
    if not SIMULATING:
        return places.measured(JOBS, BATCHES, cells, also)
    # Absolute, so that they are files that are there and not ones that a rule would have to make.
    if before := plan.measured_here():
        return [str(path.resolve()) for path in before]
    return [path for path in [f"results/archive/{config['archive']}/timings.csv"] if Path(path).exists()]


def archives():
    """The folders of all archives, config's first."""
    first = f"results/archive/{config['archive']}"
    return list(
        dict.fromkeys([first, *sorted(str(path.parent) for path in Path("results/archive").glob("*/timings.csv"))])
    )


def kept(csv):
    """That file as it was measured before: here, else in the archive, else none."""
    return [path for path in (f"results/{csv}", f"results/archive/{config['archive']}/{csv}") if Path(path).exists()][
        :1
    ]


MEASURED_HERE = "Measured by this copy of the project."
ARCHIVED = f"From the archive {config['archive']}, not measured here."


def source(measured=None):
    """A sentence on where what is drawn was measured: here, if this file, or cells or batches, are in results/ or going to be."""
    if not SIMULATING or (Path("results", measured).exists() if measured else plan.measured_here()):
        return MEASURED_HERE
    return ARCHIVED


# The parts of the report, which sorts them by the alphabet.
REPORT = {
    "claims": "1. Claims",
    "tables": "2. Tables",
    "figures": "3. Figures",
    "batches": "4. Batches and hosts",
    "measurements": "5. Measurements",
    "all_pairs": "6. All pairs",
    "compare": "7. Beside the archive",
    "extensions": "8. Extensions",
    "configuration": "9. Configuration",
}
IN_REPORT = []  # the files that the report shows where they were made


def in_report(files, part, label, caption, end=".html"):
    """The files; those with that end are shown in the report, with a caption of workflow/report/."""
    shown = dict(category=REPORT[part], labels={"Contents": label}, caption=f"../report/{caption}.rst")
    IN_REPORT.extend(str(path) for path in files if path.endswith(end))
    return [report(path, **shown) if path.endswith(end) else path for path in files]


def table_output(name):
    """A table's files, of which the report shows the paper's as HTML and an extension's as CSV."""
    if name in plan.PAPER_TABLES:
        files = multiext(f"results/{name}", ".csv", ".md", ".html")
        return in_report(files, "tables", f"Table {name.removeprefix('table')}", "table")
    label = name.replace("table", "Table ").replace("_", " ").strip().capitalize()
    files = multiext(f"results/{name}", ".csv", ".md")
    return in_report(files, "extensions", label, name, ".csv")


def figure_files(name):
    return multiext(f"figures/{name}", *(f".{end}" for end in FIGURE_FORMATS))


def page_files(name):
    return multiext(f"results/{name}", ".csv", ".md", ".html")
