"""Build the wheel: kernels/ becomes the package cuda_shortest_paths, to avoid a conflict with other `kernels` packages.

In the repository the modules import each other as `kernels.graph`. In the wheel they use relative imports, and their
docstrings and messages name cuda_shortest_paths.
"""

import ast
import re
import shutil
import tempfile
from itertools import accumulate
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "cuda_shortest_paths"
# Matches in strings `-m kernels`, `import kernels`, `from kernels import`, kernels.graph and kernels/graph.py, but not
# docs/kernels.md and not the word alone.
NAMED = re.compile(
    rb"(?<=-m )kernels\b|(?<=import )kernels\b|(?<=from )kernels(?=[.\w]* import\b)|(?<![\w./])kernels(?=[./][a-z_{])"
)


class Hook(BuildHookInterface):
    """Add the renamed modules to the wheel."""

    def initialize(self, version: str, build_data: dict) -> None:
        if version == "editable":
            raise RuntimeError(
                f"{PACKAGE} is written while its wheel is built, so it cannot be installed in place: use `pip install "
                ".`, or import `kernels` in the repository"
            )
        self.folder = Path(tempfile.mkdtemp())
        package, kernels = self.folder / PACKAGE, Path(self.root) / "kernels"
        for path in sorted([*kernels.rglob("*.py"), kernels / "py.typed"]):
            inside = path.relative_to(kernels)
            written = package / inside
            written.parent.mkdir(parents=True, exist_ok=True)
            written.write_bytes(renamed(path.read_bytes(), inside))
            build_data["force_include"][str(written)] = written.relative_to(self.folder).as_posix()

    def finalize(self, version: str, build_data: dict, artifact_path: str) -> None:
        shutil.rmtree(self.folder)


def renamed(source: bytes, inside: Path) -> bytes:
    """Return the source of a module with relative imports, and with the package's name in its strings.

    `inside` is its path in kernels/. Raises ValueError for `import kernels`, which no relative import can express.
    """
    lines = [0, *accumulate(map(len, source.splitlines(keepends=True)))]
    edits = {}  # start of the replaced text: its end, and the new text
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and not node.level and node.module.split(".")[0] == "kernels":
            found = re.compile(rb"from kernels\.?").match(source, lines[node.lineno - 1] + node.col_offset)
            edits[found.start()] = found.end(), b"from " + b"." * len(inside.parts)
        elif isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "kernels" for alias in node.names):
            raise ValueError(f"kernels/{inside}, line {node.lineno}: write `from kernels import ...`")
        elif isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            start, end = lines[node.lineno - 1] + node.col_offset, lines[node.end_lineno - 1] + node.end_col_offset
            edits |= {found.start(): (found.end(), PACKAGE.encode()) for found in NAMED.finditer(source, start, end)}
    for start, (end, text) in sorted(edits.items(), reverse=True):
        source = source[:start] + text + source[end:]
    return source
