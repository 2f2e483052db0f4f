"""How launches are made, checked and timed, with a driver and a card that only write down what they are asked for."""

import ctypes
from functools import cache, partial
from itertools import cycle
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from cuda.bindings.driver import CUresult

from kernels import run as runs
from kernels.errors import InputError
from kernels.gpu import internals, launching, timing
from kernels.gpu.internals import ECHOED, EXPECTED, WRITTEN_FOR, as_passed
from kernels.gpu.launching import compile_loop
from kernels.run import Run

LAUNCHES = {
    said: ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * pointers)
    for said, pointers in (("plain", 3), ("cooperative", 2))
}
SYNCHRONIZE = ctypes.CFUNCTYPE(ctypes.c_int)
TOO_LARGE = int(CUresult.CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)


@pytest.fixture
def driver():
    """run(times, wait, fails_at) and what it did: "wait", or (kernel, shape and shared memory, stream, argument, how).

    The second of two kernels is cooperative.
    """
    done, refusals = [], []

    def launch(how, kernel, *rest):
        *shape, stream, parameters = rest[:9]
        first = ctypes.cast(parameters, ctypes.POINTER(ctypes.c_uint64))[0]
        done.append((kernel, tuple(shape), stream, ctypes.c_uint32.from_address(first).value, how))
        return 700 if len(done) in refusals else 0

    callbacks = [
        *(kind(partial(launch, how)) for how, kind in LAUNCHES.items()),
        SYNCHRONIZE(lambda: done.append("wait") or 0),
    ]
    for callback, kind in zip(callbacks, LAUNCHES.values(), strict=False):
        callback.argtypes = kind._argtypes_
    loop = compile_loop(*callbacks)
    step, other = np.zeros(1, np.uint64), np.array([42], np.uint64)
    pointers = [np.array([step.ctypes.data], np.uint64), np.array([other.ctypes.data], np.uint64)]

    def run(times, wait, *fails_at):
        refusals[:] = fails_at
        done.clear()
        error = loop(
            np.array([7, 8], np.uint64),
            np.array([[5, 4, 1, 32, 16, 1], [9, 1, 1, 64, 1, 1]], np.uint32),
            np.array([0, 100], np.uint32),
            np.array([False, True]),
            np.array([p.ctypes.data for p in pointers], np.uint64),
            step,
            times,
            0 if wait else 3,
            wait,
        )
        return error, list(done)

    run.alive = callbacks, other, pointers
    return run


def test_every_launch_is_made_in_turn_and_waited_for(driver):
    first, second = (5, 4, 1, 32, 16, 1, 0), (9, 1, 1, 64, 1, 1, 100)
    expected = []
    for step in range(3):
        expected += [(7, first, None, step, "plain"), "wait", (8, second, None, 42, "cooperative"), "wait"]
    assert driver(3, True) == (0, expected)


def test_a_capture_goes_to_its_stream_and_waits_for_nothing(driver):
    error, done = driver(2, False)
    assert error == 0
    assert [call[0] for call in done] == [7, 8, 7, 8]
    assert {call[2] for call in done} == {3}


def test_a_refused_launch_ends_the_loop_with_the_drivers_code(driver):
    error, done = driver(3, True, 3)
    assert error == 700
    assert len(done) == 3


class OnCard:
    """What a device array shows of itself."""

    size, dtype, shape, strides = 6, np.dtype(np.int32), (6,), (4,)
    __cuda_array_interface__ = {"data": (4096, False)}  # noqa: RUF012


class Pair(NamedTuple):
    number: np.uint32
    array: OnCard


def test_arguments_as_numba_passes_them():
    assert as_passed(OnCard()) == [0, 0, 6, 4, 4096, 6, 4]
    OnCard.size, OnCard.shape = 2**32, (2**32,)  # all pairs of 65,536 vertices
    assert as_passed(OnCard()) == [0, 0, 2**32, 4, 4096, 2**32, 4]
    assert as_passed(np.uint32(5)) == [5]
    assert as_passed(np.int32(-1)) == [2**64 - 1]
    assert as_passed(Pair(np.uint32(5), OnCard())) == [5, 0, 0, 2**32, 4, 4096, 2**32, 4]


@pytest.mark.simulator
def test_echo_writes_down_what_it_is_sent():
    arrived = np.zeros_like(EXPECTED)
    internals.echo[1, 1](*ECHOED, arrived)
    assert arrived.tolist() == EXPECTED.tolist()
    internals.check_echo(arrived)


@pytest.mark.parametrize("place", range(len(EXPECTED)))
def test_other_arguments_than_were_sent_name_both_versions(place, monkeypatch):
    monkeypatch.setattr(internals, "version", lambda package: {"numba-cuda": "9.8.7"}[package])
    arrived = EXPECTED.copy()
    internals.check_echo(arrived)
    arrived[place] += np.uint64(1)
    with pytest.raises(
        RuntimeError, match=rf"numba-cuda 9\.8\.7 passes .* than numba-cuda {WRITTEN_FOR}, .*install"
    ) as said:
        internals.check_echo(arrived)
    assert str(arrived.tolist()) in str(said.value)


class OnHost(np.ndarray):
    """In place of a device array."""

    copy_to_host = np.ndarray.copy


@pytest.fixture
def built(monkeypatch):
    """built.kernels: what was launched or made ready, in order; built.arrives: what a launched `echo` writes."""
    built = SimpleNamespace(kernels=[], arrives=EXPECTED)

    class Prepared:
        def __init__(self, launches):
            ((kernel, _, _, self.arguments),) = launches
            built.kernels.append(kernel)

        def launch(self, times):
            assert times == 1
            for sent, argument in zip(ECHOED, self.arguments, strict=False):
                assert np.array_equal(sent, argument)
            self.arguments[-1][:] = built.arrives

    monkeypatch.setattr(launching, "Prepared", Prepared)
    monkeypatch.setattr(launching, "cuda", SimpleNamespace(to_device=lambda array: array.copy().view(OnHost)))
    monkeypatch.setattr(launching, "check_arguments", cache(launching.check_arguments.__wrapped__))
    return built


def test_arguments_are_checked_once_before_anything_is_launched(built):
    for _ in range(2):
        launching.prepared((("kernel", 1, 1, ()),))
    assert built.kernels == [internals.echo, "kernel", "kernel"]


def test_nothing_is_launched_where_other_arguments_arrive(built):
    built.arrives = EXPECTED + np.uint64(1)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="passes arguments to kernels otherwise"):
            launching.prepared((("kernel", 1, 1, ()),))
    assert "kernel" not in built.kernels


def test_blocks_that_do_not_fit_on_the_card_at_once_are_refused_in_a_line(monkeypatch):
    monkeypatch.setattr(launching, "_launch_loop", lambda: lambda *given: TOO_LARGE)
    with pytest.raises(InputError, match="which wait for each other: take a smaller grid"):
        launching.Prepared(()).launch(1)


@pytest.fixture
def asked(monkeypatch):
    """What is asked of the card and of the host's clock, in order; a phase takes 1500 ms, and the clock's steps 2 s."""
    done, names = [], cycle(("start", "end"))

    def event(timing):
        assert timing
        name = next(names)
        return SimpleNamespace(
            record=lambda: done.append(name), synchronize=lambda: done.append(f"wait for the {name}"), name=name
        )

    def elapsed(start, end):
        assert (start.name, end.name, done[-1]) == ("start", "end", "wait for the end")
        done.clear()
        return 1500.0

    def clock():
        done.append("clock")
        return 2.0 * done.count("clock")

    card = SimpleNamespace(event=event, event_elapsed_time=elapsed, synchronize=lambda: done.append("wait for all"))
    monkeypatch.setattr(runs, "cuda", card)
    monkeypatch.setattr(timing, "cuda", card)
    monkeypatch.setattr(runs, "check_arguments", lambda: done.append("check"))
    monkeypatch.setattr(runs, "time", SimpleNamespace(perf_counter=clock))
    monkeypatch.setattr(runs, "SIMULATED", False)
    return done


def test_a_run_is_timed_until_the_card_is_idle(asked):
    run = Run()
    with run.timed():
        asked.append("launch")
    assert asked == ["clock", "check", "clock", "launch", "wait for all", "clock"]
    assert run.seconds == 2


def test_a_phase_is_timed_in_seconds_between_two_events(asked):
    run = Run()
    for _ in range(2):
        with run.phase("kernels"):
            assert asked == ["start"]
    assert run.phases == {"copy_in": 0, "kernels": 3, "predecessors": 0, "copy_out": 0}


def test_a_phase_that_fails_asks_the_card_for_nothing_more(asked):
    run = Run()
    with pytest.raises(RuntimeError, match="refused"), run.phase("kernels"):
        raise RuntimeError("refused")
    assert asked == ["start"] and run.phases["kernels"] == 0


def test_on_a_cpu_both_are_timed_by_the_clock_alone(asked):
    run = Run(on_gpu=False)
    with run.timed(), run.phase("kernels"):
        asked.append("work")
    assert asked == ["clock", "clock", "clock", "work", "clock", "clock"]
    assert (run.seconds, run.phases["kernels"]) == (6, 2)
