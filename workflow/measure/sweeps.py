"""What a sweep is: one algorithm measured again and again with other settings."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from kernels.graph import Graph
from kernels.registry import Variant


@dataclass(frozen=True)
class Point:
    """One setting: the variant, what it changes of the protocol, and what the sweep's own columns say of it."""

    variant: Variant
    protocol: dict
    columns: dict


@dataclass(frozen=True)
class Sweep:
    """name: of its files and target. columns: what it changes, all numbers; those that no measurement has come last.

    points(graph, options) gives its settings; options: its entry under sweeps in config.yaml.
    draw(figure, rows) fills the figure from rows of which one at least is ok; None where the sweep has no figure.
    """

    name: str
    columns: tuple[str, ...]
    points: Callable[[Graph, dict], Iterator[Point]]
    draw: Callable[[Figure, pd.DataFrame], None] | None
