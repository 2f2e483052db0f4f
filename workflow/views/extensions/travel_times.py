"""Run the code of docs/travel-times.md, which draws the page's pictures."""

import re
import sys
from collections.abc import Iterable
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path

import kernels
from workflow.views import plots

sys.modules.setdefault("cuda_shortest_paths", kernels)  # the name that the page imports


def blocks(page: Path) -> list[str]:
    """Return the page's blocks of Python: imports, the town, three questions and, last, a graph to download."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def run(code: Iterable[str], folder: Path) -> str:
    """Run blocks one after the other in a folder, which gets the pictures, and return what they print."""
    names: dict = {}
    with chdir(folder), plots.styled({}), redirect_stdout(StringIO()) as printed:
        for block in code:
            exec(block, names)
    return printed.getvalue()
