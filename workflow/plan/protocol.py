"""The options of a measurement: the keys of `protocol` in config.yaml that describe a cell."""

from __future__ import annotations

from dataclasses import dataclass, fields

from kernels.errors import InputError
from kernels.graph import INF
from kernels.settings import RunSettings, option


@dataclass(frozen=True)
class Protocol(RunSettings):
    """The settings of a measurement: the keys of `protocol` in config.yaml, with times in seconds.

    Raises InputError for a value that is not allowed, as RunSettings does.
    """

    repeats: int = option(
        6, "Rounds of a job; runs of a cell that is measured alone.", type="integer", minimum=1, maximum=1_000_000
    )
    budget_s: float = option(
        60,
        "Seconds that a cell's repeats may take together. A longer cell is repeated less often, but at least once, and "
        "its rows say so.",
    )
    checked_rows: int = option(
        256,
        "Random rows of all pairs that are checked if the graph has more than full_check vertices.",
        type="integer",
        minimum=1,
        maximum=INF,
    )
    full_check: int = option(
        12_000,
        "Up to this many vertices every row of all pairs is checked.",
        type="integer",
        minimum=0,
        maximum=INF,
    )
    compared: bool = option(True, type="boolean")  # whether to compare distances with SciPy's; see kernels/check.py

    @classmethod
    def schema(cls) -> dict[str, dict]:
        """Return the keys of `protocol` that are options of this class, each with its JSON Schema."""
        described = {each.name: each.metadata for each in fields(cls) if each.metadata["description"]}
        return {name: {"description": said["description"], **said["limits"]} for name, said in described.items()}

    @classmethod
    def of(cls, options: dict) -> Protocol:
        """Make a protocol from a dict of settings; raise InputError for an unknown key or a wrong value."""
        valid = [field.name for field in fields(cls)]
        if unknown := [key for key in options if key not in valid]:
            raise InputError(f"protocol: unknown key {', '.join(map(repr, unknown))}: choose from {', '.join(valid)}")
        return cls(**options)
