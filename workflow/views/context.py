"""The input of a view besides its rows, and its output."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.figure import Figure

from kernels.io import atomic
from workflow.store.tables import Datasets
from workflow.views import plots
from workflow.views.catalogue import FORMATS


@dataclass(frozen=True, kw_only=True)
class Context:
    """The input of a view besides its rows."""

    source: str  # a sentence on where the rows are from
    name: str = ""  # the view's
    datasets: Datasets = field(default_factory=dict)  # of tables.of_config
    tolerance: float = 0.0  # audit.tolerance of config.yaml
    files: Mapping[str, list[Path]] = field(default_factory=dict)  # the other files that a view reads, by name
    config: Mapping = field(default_factory=dict)  # the whole configuration

    def paths(self, name: str) -> list[Path]:
        """Return the other files of that name."""
        return list(map(Path, self.files.get(name, [])))


@dataclass(frozen=True)
class Drawing:
    """A figure that is drawn when it is written."""

    draw: Callable[[], Figure]
    look: Mapping = field(default_factory=lambda: plots.STYLE)  # of plots.styled


Made = Mapping[str, str | bytes | Drawing]  # by file name; a Drawing has no suffix


def write(made: Made, results: Path, figures: Path, formats: Collection[str] = FORMATS) -> None:
    """Write texts into one folder and drawings, in each format, into another."""
    for name, content in made.items():
        if isinstance(content, Drawing):
            plots.write(figures / name, content.draw, formats, content.look)
        else:
            mode = "wb" if isinstance(content, bytes) else "w"
            with atomic(results / name, mode) as file:
                file.write(content)
            logging.info("wrote %s", results / name)
