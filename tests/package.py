"""The library as it is installed: built as a wheel, and unpacked."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from hatch_build import VARIABLE

ROOT = Path(__file__).parents[1]
NAME = "cuda_shortest_paths"
NO_GPU = {"CUDA_VISIBLE_DEVICES": "-1", "NUMBA_ENABLE_CUDASIM": "0"}


def build(folder: Path, project: Path = ROOT, target: str = "wheel", build_for: str = "") -> Path:
    """The wheel or sdist of a project, made in the folder. build_for: compute capabilities to compile kernels for."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    environment = os.environ | {VARIABLE: build_for}
    subprocess.run(command, cwd=project, env=environment, check=True, capture_output=True)
    (made,) = folder.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return made


def unpacked(folder: Path, build_for: str = "") -> Path:
    """A folder for PYTHONPATH that has what pip would install, its entry points too; build_for: as above."""
    with zipfile.ZipFile(build(folder, build_for=build_for)) as wheel:
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
