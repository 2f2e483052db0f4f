"""The library as it is installed: built as a wheel, and unpacked."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAME = "cuda_shortest_paths"
NO_GPU = {"CUDA_VISIBLE_DEVICES": "-1", "NUMBA_ENABLE_CUDASIM": "0"}


def build(folder: Path, project: Path = ROOT, target: str = "wheel") -> Path:
    """The wheel or sdist of a project, made in the folder."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    (made,) = folder.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return made


def unpacked(folder: Path) -> Path:
    """A folder for PYTHONPATH that has what pip would install, its entry points too."""
    with zipfile.ZipFile(build(folder)) as wheel:
        wheel.extractall(folder / "site")
    return folder / "site"


def python(site: Path, *arguments, cwd: Path, **environment: str) -> subprocess.CompletedProcess:
    """Run Python where the library can be imported and the repository cannot."""
    return subprocess.run(
        [sys.executable, "-P", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(site), **environment},
        capture_output=True,
        text=True,
    )
