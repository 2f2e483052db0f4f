# Inputs and outputs of views, and the refusal of unknown targets.
import json
from difflib import get_close_matches

from workflow.views import catalogue

# Generated datasets, except those of families and those with by_name.
GENERATED = [name for name, entry in config["datasets"].items() if "generate" in entry and name not in NAMED]
GENERATED_CELLS = plan.cells(config, GENERATED)


# The searches from many sources, one after the other, that Table 6 reads.
SOURCES = kept("sources/*.csv") if SIMULATING else source_files()


# The times of other programs that Table 6 and Figure 8 cite.
PEERS = ["workflow/paper/peers.csv", "workflow/paper/peers.yaml"]


def many_sources_files():
    """Return the file of each dataset under sweeps.many_sources."""
    return [f"results/many_sources/{name}.csv" for name in config["sweeps"]["many_sources"]["datasets"]]


# What many_sources_table reads.
MANY_SOURCES = kept("many_sources/*.csv") if SIMULATING else many_sources_files()


@refused()
def needs_many_sources(wildcards):
    needs_gpu("many_sources")
    if not many_sources_files():
        raise InputError("many_sources: config names no dataset under sweeps.many_sources: add one")
    return many_sources_files()


ALL_PAIRS = config["all_pairs"]["datasets"]


def searchable(dataset):
    """Return whether all pairs of a dataset can be searched here."""
    return not SIMULATING or config["datasets"][dataset].get("simulate")


def all_pairs_files(end):
    """Map each dataset to the file that all_pairs_merge makes.

    If there is no GPU but the rule needs one, map to the absolute path of an existing file, or leave the dataset out.
    """
    files = {name: Path(f"results/all_pairs/{name}{end}") for name in ALL_PAIRS}
    usable = {name: file for name, file in files.items() if searchable(name) or file.exists()}
    return {name: str(file if searchable(name) else file.resolve()) for name, file in usable.items()}


ALL_PAIRS_HERE = list(all_pairs_files(".json").values())
# Without a GPU and without records in results/, the archive's records are shown.
ALL_PAIRS_KEPT = archived("all_pairs/*.json") if SIMULATING else []
ALL_PAIRS_RECORDS = ALL_PAIRS_HERE or ALL_PAIRS_KEPT
# For each dataset with coordinates, the rows of its vertices, from which a map is drawn.
MAPS = {name: path for name, path in all_pairs_files(".parquet").items() if name in COORDINATES}


NEW_YORK = "nyc_time"  # as in workflow/views/new_york.py


@refused()
def new_york_input(wildcards):
    """Return what is archived of all pairs of NEW_YORK if they are in results/, else nothing."""
    rows = f"results/all_pairs/{NEW_YORK}.parquet"
    if not existing(rows) or NEW_YORK not in COORDINATES:
        return {}
    # An absolute path, so that Snakemake does not search all pairs again.
    rows = str(Path(rows).resolve())
    return {"rows": rows, "coordinates": coordinates_file(NEW_YORK), "graph": graph_file(NEW_YORK)}


def all_pairs_graph(wildcards):
    if not searchable(wildcards.dataset):
        needs_gpu(f"all_pairs of {wildcards.dataset}")
    return graph_file(wildcards.dataset)


def all_pairs_parts(wildcards):
    shards = min(config["all_pairs"]["shards"], config["datasets"][wildcards.dataset]["vertices"])
    return [f"results/all_pairs/{wildcards.dataset}/{shards}/{shard}.parquet" for shard in range(1, shards + 1)]


@refused()
def needs_all_pairs(wildcards):
    if not ALL_PAIRS_RECORDS:
        needs_gpu("all_pairs")
        raise InputError("all_pairs: config names no dataset under all_pairs.datasets: add one")
    return list(all_pairs_files(".parquet").values())


# The parts of the report. Snakemake sorts them alphabetically.
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
# The measurements that the report shows, and the archives that it shows beside them. A new archive makes no view due.
ALL_ROWS = measured(plan.table_cells(config, *plan.PAPER_TABLES))
BESIDE = [
    folder for folder in ARCHIVES if measurements.files(folder) and (folder, source()) != (ARCHIVE, ARCHIVED)
]
# The measurements of views without `cells`, and the other files that views read.
ROWS = {
    "compare": [str(path.resolve()) for path in plan.measured_files()],
    **dict.fromkeys(("batches_table", "appendix"), ALL_ROWS),
}
READS = {
    "sources": SOURCES,
    "peers": PEERS,
    "peak": kept("peak.csv") if SIMULATING else ["results/peak.csv"],
    "many_sources": MANY_SOURCES,
    "many_sources_here": [str(path.resolve()) for path in sorted(Path("results/many_sources").glob("*.csv"))],
    "all_pairs": ALL_PAIRS_RECORDS,
    "maps": [path for name, rows in MAPS.items() for path in (rows, coordinates_file(name))],
    "claims": "workflow/paper/claims.csv",
    "simulated": "results/simulated.csv",
    **{sweep: kept(f"{sweep}.csv") if SIMULATING else [f"results/{sweep}.csv"] for sweep in SWEPT},
}


def beside_archive(view):
    """Return the files of CPU cells measured here that a view shows beside the archive. With a GPU, return none."""
    if not SIMULATING or plan.measured_here():
        return []
    found = [path.resolve() for path in plan.measured_files()]
    if view.name not in ("summary", "batches_table", "appendix"):
        shown = {cell.key for cell in view.cells(config)} if view.cells else ()
        found = [path for path in found if "/".join(path.parts[-3:-1]) in shown]
    return list(map(str, found))


def view_input(view):
    """Return the files that a view reads."""
    also = NAMED_CELLS if view.families else ()
    rows = measured(view.cells(config), also) if view.cells else ROWS.get(view.name, [])
    return {"rows": rows, "here": beside_archive(view)} | {name: READS[name] for name in view.reads}


def view_output(view):
    """Return the files that a view makes. Mark the files that the report shows."""
    shown = {
        path: dict(category=REPORT[part], labels={"Contents": label}, caption=f"../report/{caption}.rst")
        for path, (part, label, caption) in view.shown.items()
    }
    return [report(path, **shown[path]) if path in shown else path for path in view.outputs]


def view_source(view):
    """Return the note on the origin of the data that a view shows."""
    if view.name in [f"draw_{sweep}" for sweep in SWEPT]:
        return source(f"{view.reads[0]}.csv")
    if "all_pairs" in view.reads:
        return MEASURED_HERE if ALL_PAIRS_HERE else ARCHIVED
    return BESIDE_ARCHIVED if beside_archive(view) else source()


def short_digest(value):
    return step.digest(json.dumps(value).encode())


def view_tracks(view):
    """Return parameters whose changes make a view due. These are short, since the report shows them."""
    values = {
        "datasets": short_digest(tables.of_config(config)),
        "tolerance": config["audit"]["tolerance"],
        "config": short_digest(config),
        "maps": {name: coordinates_file(name) for name in MAPS},
    }
    heads = {"heads": short_digest(tables.heads(view.columns))} if view.columns else {}
    return heads | {name: values[name] for name in view.tracks}


@refused()
def made_files(wildcards):
    """Return the files of the report that exist."""
    files = [path for view in catalogue.VIEWS for path in view.shown if Path(path).exists()]
    if not files:
        raise InputError("made: there are no results yet: run snakemake --cores all first")
    return files


@refused()
def refuse_target(wildcards):
    """Refuse a word that is not a target, and name the nearest target."""
    targets = [rule.name for rule in workflow.rules if not rule.has_wildcards()]
    near = get_close_matches(wildcards.word, targets, 1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise InputError(f"unknown target {wildcards.word!r}: {hint}`snakemake --list-target-rules` lists all")
