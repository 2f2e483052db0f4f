"""The library as it is installed: build the wheel and unpack it."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAME = "cuda_shortest_paths"
NO_GPU = {"CUDA_VISIBLE_DEVICES": "-1", "NUMBA_ENABLE_CUDASIM": "0"}


def build(folder: Path, project: Path = ROOT, target: str = "wheel") -> Path:
    """Build the wheel or sdist of a project in the folder; return its path."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    (made,) = folder.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return made


def unpacked(folder: Path) -> Path:
    """Return a folder for PYTHONPATH with what pip would install, including entry points."""
    with zipfile.ZipFile(build(folder)) as wheel:
        wheel.extractall(folder / "site")
    return folder / "site"


def python(site: Path, *arguments, cwd: Path, **environment: str) -> subprocess.CompletedProcess:
    """Run Python with the library on its path and without the repository."""
    return subprocess.run(
        [sys.executable, "-P", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(site), **environment},
        capture_output=True,
        text=True,
    )
