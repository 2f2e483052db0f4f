"""The steps that measure reserve their file and need a card."""

from pathlib import Path

import pytest

from kernels import lock
from kernels.errors import InputError
from kernels.registry import VARIANTS
from workflow.measure import many_sources, measure, peak, sweeps


@pytest.fixture
def out(tmp_path):
    return tmp_path / "cells" / "nyc.csv"


def a_cell(out):
    measure.measure(VARIANTS["bellman_ford/cpu"], Path("none.npz"), {}, out, measure.StepContext())


def a_sweep(out):
    sweeps.measure_sweep("delta_sweep", Path("none.npz"), {"repeats": 1}, {}, out, measure.StepContext())


def a_search(out):
    many_sources.measure_many_sources(Path("none.npz"), {}, 4, out, measure.StepContext())


def a_peak(out):
    peak.measure_peak([8], out)


ON_GPU = {"delta_sweep": a_sweep, "many_sources": a_search, "peak": a_peak}


@pytest.mark.parametrize("step", [a_cell, *ON_GPU.values()])
def test_no_step_measures_beside_another_process(step, out, monkeypatch, as_with_gpu):
    for module, name in ((measure, "packed"), (peak, "peak_rows")):
        monkeypatch.setattr(module, name, lambda *args: pytest.fail("it was measured"))
    with lock.held(out), pytest.raises(InputError, match=f"^{out}: .*process"):
        step(out)
    assert list(out.parent.iterdir()) == []


@pytest.mark.parametrize("name", ON_GPU)
def test_without_a_gpu_nothing_is_measured_or_written(name, out, as_without_gpu):
    with pytest.raises(InputError, match=f"^{name} needs a GPU"):
        ON_GPU[name](out)
    assert list(out.parent.iterdir()) == []
    with pytest.raises(InputError, match=f"^{out.parent}: "):
        ON_GPU[name](out.parent)
