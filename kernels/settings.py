"""The options of a run: defaults, allowed values and descriptions."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass, field, fields
from numbers import Real
from typing import Any

from .errors import InputError, whole
from .graph import INF, check_flag

YEAR_S = 365 * 24 * 3600


def option(default: Any, description: str = "", **limits: Any) -> Any:
    """Return the field of an option, with what the configuration's schema says of it.

    description: without one, config.yaml has no such key. limits: keys of JSON Schema; by default a number of seconds
    above 0.
    """
    limits = limits or {"type": "number", "exclusiveMinimum": 0, "maximum": YEAR_S}
    return field(default=default, metadata={"description": description, "limits": limits})


@dataclass(frozen=True)
class RunSettings:
    """The settings of a run, with times in seconds.

    Raises InputError for a value that is not allowed. Whether `source` is a vertex is checked later, by the graph.
    """

    warmup_launches: int = option(
        10, "Launches of the warm-up kernel before the first repeat.", type="integer", minimum=0, maximum=1_000_000
    )
    timeout_s: float = option(3600, "Seconds after which a serial CPU run is stopped.")
    block: int = option(1024, "Threads per block.", type="integer", minimum=1, maximum=1024)
    tile: int = option(
        32,
        "Side of a Floyd-Warshall tile; tile x tile threads per block. Blocked variants use 128, or 4 if below 32.",
        type="integer",
        minimum=1,
        maximum=32,
    )
    delta: int | None = option(
        None,
        "Width of delta-stepping's buckets. If null, the variant computes it from the graph's weights.",
        type=["integer", "null"],
        minimum=1,
        maximum=INF - 1,
    )
    grid: int | None = option(None, type=["integer", "null"], minimum=1, maximum=INF)
    source: int = option(
        0, "The vertex where single-source searches start.", type="integer", minimum=0, maximum=INF - 1
    )

    def __post_init__(self) -> None:
        for each in fields(self):
            value, limits = getattr(self, each.name), each.metadata["limits"]
            if limits["type"] == "boolean":
                check_flag(value, each.name)
            elif limits["type"] == "number":
                if isinstance(value, bool) or not isinstance(value, Real) or not value > 0:  # type: ignore[operator]
                    raise InputError(f"{each.name} must be a number of seconds above 0, not {reprlib.repr(value)}")
            elif value is not None or "null" not in limits["type"]:
                value, low, high = whole(value, each.name), limits["minimum"], limits["maximum"]
                if not low <= value <= high:
                    raise InputError(f"{each.name} must be from {low} to {high:,}, not {value}")
                object.__setattr__(self, each.name, value)
