"""What a view is given besides the rows that it shows, and what it makes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.figure import Figure

from kernels.io import atomic
from workflow.views import plots
from workflow.views.tables import Datasets


@dataclass(frozen=True, kw_only=True)
class Context:
    """What views need besides rows.

    source: a sentence on where the rows are from. name: the view's. datasets: those that tables show, by
    tables.of_config. tolerance: audit.tolerance of config.yaml. files: the other files that a view reads, by name.
    config: the whole configuration.
    """

    source: str
    name: str = ""
    datasets: Datasets = field(default_factory=dict)
    tolerance: float = 0.0
    files: Mapping[str, list[Path]] = field(default_factory=dict)
    config: Mapping = field(default_factory=dict)

    def paths(self, name: str) -> list[Path]:
        """Return the other files of that name; none if there is none."""
        return list(map(Path, self.files.get(name, [])))


@dataclass(frozen=True)
class Drawing:
    """A figure that is drawn when it is written. look: as plots.styled takes it."""

    draw: Callable[[], Figure]
    look: Mapping = field(default_factory=lambda: plots.STYLE)


Made = Mapping[str, str | bytes | Drawing]  # by file name; of a Drawing without its suffix


def write(made: Made, results: Path, figures: Path, formats: Collection[str] = plots.FORMATS) -> None:
    """Write texts into one folder and drawings, in each format, into another."""
    for name, content in made.items():
        if isinstance(content, Drawing):
            plots.write(figures / name, content.draw, formats, content.look)
        else:
            mode = "wb" if isinstance(content, bytes) else "w"
            with atomic(results / name, mode) as file:
                file.write(content)
            logging.info("wrote %s", results / name)
