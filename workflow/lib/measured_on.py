"""What files of times of the library say of where they were measured, whatever else their rows say."""

import importlib.metadata
import platform

from kernels.gpu import card
from workflow.lib.checked_csv import Rule, matching, moment, one_of, version

COLUMNS = (
    *("device", "driver", "cuda", "cpu_model", "numba_cuda", "commit", "tree_clean", "started", "host", "substitute"),
)
RULES = (
    matching("device"),
    Rule(("device",), "a simulated run is no measurement", lambda rows: rows["device"] != card.SIMULATOR),
    Rule(("device",), "the rows differ in device", lambda rows: rows["device"].isin(rows["device"].iloc[:1])),
    *(version(column) for column in ("driver", "cuda", "numba_cuda")),
    one_of("tree_clean", "True", "False", ""),
    moment("started"),
)


def about(commit: str, clean: bool | str) -> dict:
    """COLUMNS but for `started`; the graph is no substitute. commit, clean: as measure.state_of_project gives them."""
    return {
        **card.describe(on_gpu=True),
        "cpu_model": card.cpu_name(),
        "numba_cuda": importlib.metadata.version("numba-cuda"),
        "commit": commit,
        "tree_clean": clean,
        "host": platform.node(),
        "substitute": "",
    }
