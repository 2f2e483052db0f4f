"""The finished runs of a job that may be cut off: a line of JSON each, in a file beside the job's own."""

import json
import os
from pathlib import Path

from kernels.errors import naming
from kernels.io import atomic


class Journal:
    """runs: (algorithm/variant, row) of what an earlier process of the same job finished.

    The file's first line is `job`, which says what the runs depend on. A file of another job is deleted, and so is what
    follows a line that was not written to its end.
    """

    def __init__(self, path: Path, job: dict):
        self.path = path
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        lines = text.split("\n")[:-1]
        kept = lines[:1]
        self.runs: list[tuple[str, dict]] = []
        if lines and _parsed(lines[0]) == json.loads(json.dumps(job)):
            for line in lines[1:]:
                if (run := _parsed(line)) is None:
                    break
                self.runs.append(tuple(run))
                kept.append(line)
        else:
            kept = [json.dumps(job)]
        if (whole := "".join(f"{line}\n" for line in kept)) != text:
            with atomic(path, "w") as file:
                file.write(whole)

    def add(self, key: str, row: dict) -> None:
        with naming(self.path), open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps([key, row]) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def delete(self) -> None:
        self.path.unlink(missing_ok=True)


def _parsed(line: str):
    """The value of a line; None where it is no JSON."""
    try:
        return json.loads(line)
    except ValueError:
        return None
