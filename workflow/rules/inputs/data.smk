# The raw files of graphs and of their coordinates.
from workflow.data.convert import has_text
from workflow.data.download import local, raw_name

ENTRIES = configuration.raw_entries(config)
COORDINATES = {
    name: ENTRIES[coordinates] for name in config["datasets"] if (coordinates := f"{name}.coordinates") in ENTRIES
}
# For each downloaded file, the name and entry of the first dataset that uses it.
RAW = {}
for name, one in ENTRIES.items():
    if one.get("sources") and not local(one):
        RAW.setdefault(raw_name(one), (name, one))


@refused()
def raw_file(wildcards):
    """Return the raw file of a dataset; nothing if the dataset is generated."""
    entry = config["datasets"][wildcards.dataset]
    graphs = [f"resources/graphs/{wildcards.dataset}.{end}" for end in ("txt", "npz")]
    # A local file may be missing if the graph made from it exists.
    if (path := local(entry)) and not existing(path, *graphs):
        raise InputError(f"config: datasets.{wildcards.dataset}.sources: {path}: no such file: correct the path")
    return raw_path(entry) if entry.get("sources") else []


def packed_from(wildcards):
    """Return the text form of a dataset, or the raw file if the dataset has no text form."""
    text = f"resources/graphs/{wildcards.dataset}.txt"
    return text if has_text(config["datasets"][wildcards.dataset]) else raw_file(wildcards)


def raw_path(entry):
    """Return the path of an entry's raw file. The file may not exist yet."""
    if path := local(entry):
        # Snakemake would read a path of one word as a target.
        return path if len(Path(path).parts) > 1 else str(Path(path).absolute())
    return f"resources/raw/{raw_name(entry)}"


def coordinates_file(dataset):
    return raw_path(COORDINATES[dataset])
