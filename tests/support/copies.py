"""Copy the project for a test to change, and run pytest in the copy."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def copy_project(folder: Path) -> Path:
    """Copy the tracked files of the working tree to `folder` and return it."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def run_pytest(folder: Path, *words: str) -> tuple[int, str]:
    """Run pytest in a copy, without a GPU and without compiled code of earlier runs; return exit status and output."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {
            **{"PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(folder)},
            **{"NUMBA_ENABLE_CUDASIM": "0", "CI_TESTS": "1"},
        }
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *words]
        ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        return ran.returncode, ran.stdout + ran.stderr
