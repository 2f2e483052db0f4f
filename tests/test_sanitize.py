"""`make sanitize` without a card: refusals, started commands and exit status."""

import os
from dataclasses import replace
from functools import partial

import pytest

from kernels.registry import VARIANTS
from tests import sanitize
from tests.support import graphs

EDGE = VARIANTS["edge/sssp"]


@pytest.fixture
def sanitizer(tmp_path, monkeypatch, as_with_gpu):
    """Replace compute-sanitizer by a program that records its arguments and fails as racecheck; simulate a card."""
    program = tmp_path / "compute-sanitizer"
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/said\ntest "$2" = memcheck\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return lambda: (tmp_path / "said").read_text().splitlines()


def test_every_gpu_variant_is_run_and_all_that_only_some_take():
    assert [v.key for v in sanitize.chosen([])] == [key for key, v in VARIANTS.items() if v.on_gpu]
    assert [v.key for v in sanitize.chosen(["edge/", "near"])] == ["edge/sssp", "edge/apsp", "delta_stepping/near_far"]
    special = (*sanitize.BLOCKED, sanitize.MULTI_SOURCE, sanitize.NEAR_FAR, *sanitize.BLOCK_PER_SOURCE)
    plain = len(list(sanitize.runs(VARIANTS["bellman_ford/naive"])))
    assert plain > 4 and all(len(list(sanitize.runs(VARIANTS[key]))) > plain for key in special)


def test_both_tools_run_and_one_that_fails_is_named(sanitizer):
    with pytest.raises(SystemExit, match=r" racecheck$"):
        sanitize.main(["edge/sssp"])
    memcheck, racecheck = sanitizer()
    assert memcheck.startswith("--tool memcheck --leak-check no --error-exitcode 1 ")
    assert racecheck.startswith("--tool racecheck --racecheck-report all --error-exitcode 1 ")
    assert memcheck.endswith("-m tests.sanitize --inside edge/sssp")
    sanitize.main(["--tool", "memcheck", "edge/sssp"])
    assert len(sanitizer()) == 3


def test_what_is_missing_is_said(sanitizer, monkeypatch, request):
    with pytest.raises(SystemExit, match="dijkstra/cpu"):
        sanitize.main(["dijkstra/cpu"])
    request.getfixturevalue("as_without_gpu")
    with pytest.raises(SystemExit, match="nvidia-smi"):
        sanitize.main([])
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match="compute-sanitizer"):
        sanitize.main([])


@pytest.mark.simulator
@pytest.mark.parametrize("right", [True, False])
def test_a_wrong_answer_is_said_and_fails(right, monkeypatch, capsys):
    variant = EDGE if right else replace(EDGE, function=lambda graph, result, run: None)
    small = [("path", partial(graphs.solve, variant, graphs.path(5), runs=1, block=4))]
    monkeypatch.setattr(sanitize, "runs", lambda variant: small)
    with pytest.raises(SystemExit) as end:
        sanitize.main(["--inside", "edge/sssp"])
    assert end.value.code == (not right)
    said = capsys.readouterr().out
    assert said.startswith("edge/sssp: right, " if right else "edge/sssp: WRONG on path: ")
