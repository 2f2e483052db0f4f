"""Revisions, which stand for a variant's PTX, and settings, which stand for the protocol."""

import re
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernels.gpu.compiler import cuda, uint32
from kernels.registry import VARIANTS
from tests import revisions as ptx
from tests.support import published
from workflow.plan.protocol import Protocol
from workflow.store import revisions

ROOT = Path(__file__).parents[2]
COMPILERS = ("numba-cuda", "numba", "llvmlite", "nvidia-nvvm")


def other_compilers() -> str:
    """Return the compilers that differ from the CUDA 13 lock, for which the digests hold."""
    locked = dict(re.findall(r"^([\w-]+)==(\S+)", (ROOT / "requirements/cu13.txt").read_text(), re.MULTILINE))
    try:
        return ", ".join(name for name in COMPILERS if version(name) != locked[name])
    except PackageNotFoundError as error:
        return str(error.name)


locked_compilers = pytest.mark.skipif(
    bool(other_compilers()), reason=f"the digests are those of the CUDA 13 lock, not of this {other_compilers()}"
)


def compare(folder: Path) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "tests.revisions"], cwd=folder, capture_output=True, text=True)


@locked_compilers
def test_the_kernels_are_those_of_the_recorded_revisions():
    ran = compare(ROOT)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_part_of_a_kernel_may_become_a_function(monkeypatch):
    monkeypatch.setattr(cuda.dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=(9, 0)))

    @cuda.jit(device=True)
    def third(out):
        return out[0] // 3

    def whole(out):
        out[0] = out[0] // 3

    def parted(out):
        out[0] = third(out)

    first, second = (cuda.compile_ptx(kernel, (uint32[::1],), cc=(9, 0))[0] for kernel in (whole, parted))
    assert ptx.digest(first) == ptx.digest(second)


@pytest.mark.ci
@locked_compilers
def test_one_other_instruction_is_found_and_another_name_is_not(tmp_path):
    for part in ("kernels", "tests"):
        shutil.copytree(ROOT / part, tmp_path / part)
    for path in (tmp_path / "kernels").rglob("*.py"):
        text = path.read_text().replace("relax_stride", "lower_stride")
        path.write_text(text.replace('"""', '"""Changed. ', 1) if path.name == "bellman_ford.py" else text)
    ran = compare(tmp_path)
    assert ran.returncode == 0, ran.stderr
    path = tmp_path / "kernels/paper/dijkstra.py"
    text = path.read_text()
    path.write_text(text.replace("dist[here] < least:", "dist[here] <= least:"))
    assert path.read_text() != text
    ran = compare(tmp_path)
    assert ran.returncode == 1 and ran.stderr.startswith("dijkstra/naive: new PTX of search_from_every_source; ")
    assert "raise the variant's `revision`" in ran.stderr and "bellman_ford" not in ran.stderr


def test_every_archived_gpu_variant_is_recorded_and_all_with_their_revision():
    recorded = {row[:2] for row in ptx.recorded()} - {(ptx.ALL_PAIRS, str(ptx.ALL_PAIRS_REVISION))}
    named = {key for key, _ in recorded} | published.VARIANTS
    assert recorded == {(key, str(VARIANTS[key].revision)) for key in named if VARIANTS[key].on_gpu}


def test_a_library_has_its_version():
    assert revisions.revision_of(VARIANTS["dijkstra/scipy"]).startswith("scipy 1.")
    assert revisions.revision_of(VARIANTS["bellman_ford/cpu"]) == "1"
    missing = replace(VARIANTS["dijkstra/scipy"], package="no_such_library")
    assert revisions.revision_of(missing) == "no_such_library"  # so that the others can be planned


def test_settings_are_those_that_are_not_usual():
    variant, usual = VARIANTS["bellman_ford/stride"], Protocol()
    assert revisions.settings(variant, usual) == ""
    assert revisions.settings(variant, replace(usual, repeats=3, budget_s=9, checked_rows=7)) == ""
    changed = replace(usual, block=512, tile=16, delta=7, grid=9, source=3)
    assert revisions.settings(variant, changed) == "block=512 tile=16 delta=7 grid=9 source=3"
    assert revisions.settings(VARIANTS["floyd_warshall/tiled"], replace(usual, source=3)) == ""
