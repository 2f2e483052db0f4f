"""The conditions of a measurement: what its graph and its protocol are. A measurement is due if they change."""

import json

from kernels.gpu import driver
from kernels.library import choice
from kernels.registry import find

# The keys of a dataset's entry that define its graph; a change to other keys makes nothing due.
IDENTITY = ("sources", "format", "sha256", "vertices", "arcs", "directed", "weights", "generate", "zero", "substitute")
OF_BATCHES = ("batch", "batches", "once", "keep_going")  # keys of `protocol` that do not change how a cell is measured


def why_simulated(config: dict) -> str:
    """Return why GPU variants run in numba's simulator; an empty text if they are measured."""
    if driver.simulated():
        return "numba's CUDA simulator was requested (NUMBA_ENABLE_CUDASIM)"
    if config["mode"] == "simulator":
        return "mode is simulator"
    return choice.why_no_gpu() if config["mode"] == "auto" and not choice.gpu_usable() else ""


def identity(entry: dict) -> dict:
    """Return the keys that define a dataset's graph, sorted, since Snakemake compares parameters as text."""
    return json.loads(json.dumps({key: entry[key] for key in IDENTITY if key in entry}, sort_keys=True))


def protocol_of(config: dict, algorithm: str = "", variant: str = "", simulated: bool = False) -> dict:
    """Return how cells (of a variant) are measured, or simulated: then with the simulator's blocks and tiles."""
    protocol = config["protocol"] | (config["simulator"] if simulated else {})
    protocol = {key: value for key, value in protocol.items() if key not in OF_BATCHES}
    if variant and find(algorithm, variant).ours:
        protocol |= {key: max(protocol[key], least) for key, least in config["extensions"].items()}
    return protocol


def settings_text(protocol: dict) -> str:
    """Return a protocol as one line, which Snakemake compares and shows."""
    return " ".join(f"{name}={value}" for name, value in sorted(protocol.items()))
