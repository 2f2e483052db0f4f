"""Builds the wheel: kernels/ becomes the package cuda_shortest_paths, so that no other `kernels` is in its way.

In the repository the modules import each other as `kernels.graph`, and so they stay: a changed source makes its
measurement due again. In the wheel they import each other by relative imports, and their docstrings and messages say
cuda_shortest_paths.

The wheel also has machine code of some kernels (kernels/gpu/built.py), for the compute capabilities in BUILD_FOR, or in
the variable CUDA_SHORTEST_PATHS_BUILD_FOR, as "8.0 9.0"; where that is empty, none. Where compiling for one fails, the
wheel is made without its machine code; but if the variable is set, the build fails.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import accumulate
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "cuda_shortest_paths"
VARIABLE, BUILD_FOR = "CUDA_SHORTEST_PATHS_BUILD_FOR", "7.5 8.0 9.0 10.0 12.0"  # 8.0 is for 8.6 and 8.9 too
# pip builds in an environment whose packages are on sys.path, but are not what `site` names, where CUDA's libraries
# are looked for.
BUILD = f"""
import runpy, site, sys
site.getsitepackages = lambda prefixes=None: [path for path in sys.path if path.endswith("-packages")]
runpy.run_module("{PACKAGE}.gpu.built", run_name="__main__", alter_sys=True)
"""
# In a string: `-m kernels`, `import kernels`, `from kernels import`, kernels.graph and kernels/graph.py; not
# docs/kernels.md, and not the word.
NAMED = re.compile(
    rb"(?<=-m )kernels\b|(?<=import )kernels\b|(?<=from )kernels(?=[.\w]* import\b)|(?<![\w./])kernels(?=[./][a-z_{])"
)


class Hook(BuildHookInterface):
    """Puts the renamed modules into the wheel."""

    def initialize(self, version: str, build_data: dict) -> None:
        if version == "editable":
            raise RuntimeError(
                f"{PACKAGE} is written while its wheel is built, so it cannot be installed in place: take `pip install "
                ".`, or import `kernels` in the repository"
            )
        self.folder = Path(tempfile.mkdtemp())
        package, kernels = self.folder / PACKAGE, Path(self.root) / "kernels"
        for path in sorted(kernels.rglob("*.py")):
            inside = path.relative_to(kernels)
            written = package / inside
            written.parent.mkdir(parents=True, exist_ok=True)
            written.write_bytes(renamed(path.read_bytes(), inside))
        self.build(package / "machine_code", os.environ.get(VARIABLE, BUILD_FOR).split())
        for path in sorted(path for path in package.rglob("*") if path.is_file()):
            build_data["force_include"][str(path)] = path.relative_to(self.folder).as_posix()

    def build(self, folder: Path, capabilities: list[str]) -> None:
        """Compile kernels into the folder, a process for each capability. Raises RuntimeError as said above."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        path = os.pathsep.join(filter(None, [str(self.folder), environment.get("PYTHONPATH")]))
        environment |= {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        parts = {capability: self.folder / f"code {capability}" for capability in capabilities}
        started = {
            capability: subprocess.Popen(
                [sys.executable, "-c", BUILD, str(part), capability],
                cwd=self.folder,
                env=environment,
                stderr=subprocess.PIPE,
                text=True,
            )
            for capability, part in parts.items()
        }
        said = {capability: process.communicate()[1].strip() for capability, process in started.items()}
        failed = [capability for capability, process in started.items() if process.returncode]
        for capability, part in parts.items():
            if capability not in failed:
                shutil.copytree(part, folder, dirs_exist_ok=True)
            shutil.rmtree(part, ignore_errors=True)
        if failed:
            why = f"kernels cannot be compiled here for {', '.join(failed)}: {said[failed[0]][-2000:]}"
            if VARIABLE in os.environ:
                raise RuntimeError(why)
            self.app.display_warning(f"{why}\nThe wheel has no machine code for these: kernels are compiled when used.")

    def finalize(self, version: str, build_data: dict, artifact_path: str) -> None:
        shutil.rmtree(self.folder)


def renamed(source: bytes, inside: Path) -> bytes:
    """The source of a module with relative imports, and with the package's name in its strings.

    inside: its path in kernels/. Raises ValueError for `import kernels`, which no relative import can express.
    """
    lines = [0, *accumulate(map(len, source.splitlines(keepends=True)))]
    edits = {}  # by the start of what is replaced: its end, and by what
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
