"""Metadata of the backend cuda_shortest_paths. `import networkx` reads this module, not the backend (networkx.py)."""

import re
from pathlib import Path

NAME = "cuda_shortest_paths"


def backend_info() -> dict:
    """Return the backend's name and settings, and the functions that networkx.py marks by @networkx_algorithm."""
    code = Path(__file__).with_name("networkx.py").read_text(encoding="utf-8")
    functions = re.findall(r"^@networkx_algorithm\(.*\)\ndef (\w+)\(", code, re.MULTILINE)
    return {
        "backend_name": NAME,
        "project": "cuda-shortest-paths",
        "package": NAME,
        "short_summary": "Shortest paths and centralities on a GPU, or by SciPy without one.",
        "functions": {name: {} for name in functions},
        # In a graph of fewer nodes, NetworkX's own search takes about as long as the conversion.
        "default_config": {"min_nodes": 64, "use_without_gpu": True},
    }
