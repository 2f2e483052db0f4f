"""Revisions, which stand for a variant's PTX, and settings, which stand for the protocol."""

from dataclasses import replace

from kernels.gpu.compiler import cuda, uint32
from kernels.registry import VARIANTS
from tests import revisions as ptx
from tests.support import published
from workflow.plan.protocol import Protocol
from workflow.store import revisions


def test_a_part_of_a_kernel_may_become_a_function():
    @cuda.jit(device=True)
    def third(out):
        return out[0] // 3

    def whole(out):
        out[0] = out[0] // 3

    def parted(out):
        out[0] = third(out)

    first, second = (ptx.compiled(kernel, (uint32[::1],), (9, 0)) for kernel in (whole, parted))
    assert ptx.digest(first) == ptx.digest(second)


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
