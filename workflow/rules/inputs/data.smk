# Which files graphs are made from.
from workflow.data.download import local, raw_name

# What is downloaded for each dataset's graph and, as an entry like the graph's, its coordinates.
COORDINATES = {
    dataset: {"format": "dimacs", **entry["coordinates"]}
    for dataset, entry in config["datasets"].items()
    if entry.get("coordinates")
}
RAW = {
    raw_name(entry): (name, entry)
    for name, entry in [
        *config["datasets"].items(),
        *((f"{dataset}.coordinates", entry) for dataset, entry in COORDINATES.items()),
    ]
    if entry.get("sources") and not local(entry)
}


def raw_file(wildcards):
    entry = config["datasets"][wildcards.dataset]
    graphs = [Path(f"resources/graphs/{wildcards.dataset}.{end}") for end in ("txt", "npz")]
    # Where its graph is there, a file that is gone is no error.
    if (path := local(entry)) and not any(file.exists() for file in (Path(path), *graphs)):
        raise WorkflowError(f"config: datasets.{wildcards.dataset}.sources: {path}: no such file: correct the path")
    return raw_path(entry) if entry.get("sources") else []


def raw_path(entry):
    """Where the raw file of an entry lies, or will."""
    if path := local(entry):
        # A path of one word would be taken for a target.
        return path if len(Path(path).parts) > 1 else str(Path(path).absolute())
    return f"resources/raw/{raw_name(entry)}"


def coordinates_file(dataset):
    """Where the coordinates of a dataset lie, or will."""
    return raw_path(COORDINATES[dataset])
