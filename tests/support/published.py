"""What tests expect of the project's own variants and datasets: those that an archive has, without personal ones.

The samples are the project's own too, though nothing is archived of them.
"""

import csv
from functools import cache
from pathlib import Path

import yaml

from workflow.store import measurements

ROOT = Path(__file__).parents[2]


ARCHIVES = [folder for folder in sorted((ROOT / "results/archive").glob("*/")) if measurements.files(folder)]


@cache
def archived_rows(archive: str):
    """Return the rows of an archive by its name, read once a process; not to be changed."""
    return measurements.load_folder(ROOT / "results/archive" / archive)


def _archived() -> list[dict[str, str]]:
    rows = []
    for path in (path for folder in ARCHIVES for path in measurements.files(folder)):
        with open(path, newline="") as file:
            rows += csv.DictReader(file)
    return rows


_ROWS = _archived()
_DATASETS = {row["dataset"] for row in _ROWS} | {"sample1", "sample2", "sample3"}
_WHOLE = yaml.safe_load((ROOT / "config.yaml").read_text())
VARIANTS = {f"{row['algorithm']}/{row['variant']}" for row in _ROWS}
CONFIG = _WHOLE | {"datasets": {name: entry for name, entry in _WHOLE["datasets"].items() if name in _DATASETS}}
for _options in (CONFIG["all_pairs"], *CONFIG["sweeps"].values()):
    if "datasets" in _options:
        _options["datasets"] = [name for name in _options["datasets"] if name in _DATASETS]
