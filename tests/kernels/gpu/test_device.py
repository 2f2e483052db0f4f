"""How launches are made, checked and timed, with a driver and a card that only write down what they are asked for."""

import ctypes
import sys
from functools import cache, partial
from itertools import cycle
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from cuda.bindings import driver as bindings
from cuda.bindings.driver import CUresult
from numba.cuda.cudadrv.driver import CudaAPIError

from kernels import run as runs
from kernels.errors import InputError, NotEnoughMemory
from kernels.gpu import card as cards
from kernels.gpu import driver as driver_without_numba
from kernels.gpu import internals, launching
from kernels.gpu.driver import checked
from kernels.gpu.internals import ECHOED, EXPECTED, WRITTEN_FOR, as_passed
from kernels.gpu.launching import STEP, compile_loop
from kernels.run import Run

LAUNCHES = {
    said: ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * pointers)
    for said, pointers in (("plain", 3), ("cooperative", 2))
}
SYNCHRONIZE = ctypes.CFUNCTYPE(ctypes.c_int)


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

    def __init__(self, size=6, dtype=np.int32, address=4096):
        self.size, self.dtype, self.shape = size, np.dtype(dtype), (size,)
        self.strides, self.device_ctypes_pointer = (self.dtype.itemsize,), ctypes.c_size_t(address)


class Pair(NamedTuple):
    number: np.uint32
    array: OnCard


def test_arguments_as_numba_passes_them():
    assert as_passed(OnCard()) == [0, 0, 6, 4, 4096, 6, 4]
    assert as_passed(OnCard(2**32)) == [0, 0, 2**32, 4, 4096, 2**32, 4]  # all pairs of 65,536 vertices
    assert as_passed(np.uint32(5)) == [5]
    assert as_passed(np.int32(-1)) == [2**64 - 1]
    assert as_passed(Pair(np.uint32(5), OnCard())) == [5, 0, 0, 6, 4, 4096, 6, 4]


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

        def enqueue(self):
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


class Launched(list):
    """What a driver without a card was asked for, in order. answers: what it says to the next launches, first to last.

    A kernel is its number; those from 100 on are cooperative. Of a launch all is there that the driver is given, with
    the arguments' values in place of their addresses: as many as `arguments` says.
    """

    def __init__(self, monkeypatch):
        self.answers, self.arguments = [], 2
        monkeypatch.setattr(bindings, "cuCtxGetDevice", lambda: (SUCCESS, 0))
        monkeypatch.setattr(bindings, "cuLaunchKernel", lambda *given: self.launch(*given[:-1]))
        monkeypatch.setattr(bindings, "cuLaunchCooperativeKernel", self.launch)
        monkeypatch.setattr(bindings, "cuKernelSetAttribute", lambda _, *given: self.append(given) or (SUCCESS,))
        monkeypatch.setattr(internals, "compiled_kernel", lambda kernel, arguments, device: (kernel, kernel >= 100))
        monkeypatch.setattr(launching, "check_arguments", lambda: None)
        monkeypatch.setattr(launching, "SHARED_LIMITS", {})
        monkeypatch.setattr(runs.card, "gpu_visible", lambda: True)

    def launch(self, *given):
        places = (ctypes.c_uint64 * self.arguments).from_address(given[-1])
        values = [ctypes.c_uint64.from_address(place).value for place in places]
        self.append((*map(int, given[:-1]), values))
        return (self.answers.pop(0) if self.answers else SUCCESS,)


SUCCESS = CUresult.CUDA_SUCCESS
FIRST = (7, (5, 4), (32, 16), (STEP, np.uint32(9)))
SECOND = (107, 3, 64, (np.uint64(2**40), np.int32(-1)), 100)
OF_FIRST, OF_SECOND = (7, 5, 4, 1, 32, 16, 1, 0), (107, 3, 1, 1, 64, 1, 1, 100)


@pytest.fixture
def launched(monkeypatch):
    launched = Launched(monkeypatch)
    loops = []

    def loop(handles, shapes, shared, cooperative, parameters, step, times, stream, wait):
        loops.append(wait)
        for step[0] in range(times):
            for i in range(len(handles)):
                assert cooperative[i] == (handles[i] >= 100)
                (error,) = launched.launch(handles[i], *shapes[i], shared[i], stream, int(parameters[i]))
                if error:
                    return int(error)
        return 0

    launched.loops = loops
    monkeypatch.setattr(launching, "_launch_loop", lambda: loop)
    return launched


def both(step, stream=0):
    return [(*OF_FIRST, stream, [step, 9]), (*OF_SECOND, stream, [2**40, 2**64 - 1])]


def test_launches_from_python_are_made_in_turn_and_not_waited_for(launched):
    launching.Prepared([FIRST, SECOND]).enqueue(stream=5, times=2)
    assert launched == [(100, 107, 0), *both(0, 5), *both(1, 5)] and not launched.loops


def test_the_compiled_loop_is_given_the_same(launched):
    launching.Prepared([FIRST, SECOND]).loop(wait=True, stream=5)(2)
    assert launched == [(100, 107, 0), *both(0, 5), *both(1, 5)] and launched.loops == [True]


def test_arrays_and_numbers_are_laid_out_one_after_the_other(launched):
    launched.arguments = 8
    launching.Prepared([(7, 1, 1, (np.uint32(5), OnCard()))]).enqueue()
    assert launched == [(7, 1, 1, 1, 1, 1, 1, 0, 0, [5, 0, 0, 6, 4, 4096, 6, 4])]


def test_shared_memory_is_allowed_up_to_the_most_that_was_asked_for(launched):
    for shared in (64, 64, 128, 64, 0):
        launching.Prepared([(7, 1, 1, (STEP, STEP), shared)])
    assert launched == [(64, 7, 0), (128, 7, 0)]


@pytest.mark.parametrize("launch", [lambda ready: ready.enqueue(), lambda ready: ready.loop(wait=True)(1)])
def test_blocks_that_do_not_fit_on_the_card_at_once_are_refused_in_a_line(launch, launched):
    ready = launching.Prepared([SECOND])
    launched.answers = [CUresult.CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE]
    with pytest.raises(InputError, match="which wait for each other: take a smaller grid"):
        launch(ready)
    launched.answers = [CUresult.CUDA_ERROR_ILLEGAL_ADDRESS]
    with pytest.raises(RuntimeError, match="refused a launch: error 700"):
        launch(ready)


def test_a_run_that_waits_launches_by_the_compiled_loop(launched):
    run = Run()
    run.launch(FIRST, times=2)
    launch = run.prepare(FIRST)
    assert launched == [(*OF_FIRST, 0, [step, 9]) for step in (0, 1)] and launched.loops == [True]
    launch()
    assert len(launched) == 3 and launched.loops == [True, True] and run.launches == 3


def test_a_run_that_does_not_wait_compiles_no_loop_and_lays_out_arguments_when_it_launches(launched, monkeypatch):
    laid_out, as_passed = [], internals.as_passed
    monkeypatch.setattr(internals, "as_passed", lambda a: laid_out.append(a) or as_passed(a))
    run = Run(waits=False)
    run.launch(FIRST, times=2)
    run.prepare_async(FIRST)()
    laid_out.clear()
    launch = run.prepare(FIRST)
    assert len(launched) == 3 and laid_out == []
    launch()
    assert launched == [(*OF_FIRST, 0, [step, 9]) for step in (0, 1, 0, 0)] and laid_out == [9]
    assert launched.loops == [] and run.launches == 4


class Kernel:
    """A kernel of numba's; made: for which types it was compiled."""

    def __init__(self):
        self.made = []

    def typeof_pyval(self, value):
        return value.dtype.name, value.ndim, bool(value.ndim and value.flags.c_contiguous)

    def compile(self, types):
        self.made.append(types)
        handle = SimpleNamespace(handle=len(self.made))
        return SimpleNamespace(cooperative=False, _codelibrary=SimpleNamespace(get_cufunc=lambda: handle))


def test_a_kernel_is_compiled_once_for_each_card_and_combination_of_types(monkeypatch):
    monkeypatch.setattr(internals, "cache", SimpleNamespace(enable=lambda kernel: None))
    one, other = Kernel(), Kernel()
    words, rows = np.zeros(5, np.uint32), np.zeros((2, 3), np.int32)
    given = [
        (one, (words,), 0),
        (one, (words[:2],), 0),  # of the same type
        (one, (words[::2],), 0),
        (one, (words.view(np.int32),), 0),
        (one, (np.uint32(1),), 0),
        (one, (np.uint32(2),), 0),  # of the same type
        (one, (rows,), 0),
        (one, (rows.T,), 0),
        (one, (words,), 1),
        (other, (words,), 0),
    ]
    handles = [internals.compiled_kernel(*one)[0] for one in given]
    assert handles == [1, 1, 2, 3, 4, 4, 5, 6, 7, 1]


def refusing(monkeypatch, code):
    """A card that refuses memory so, of which 1000 bytes are free."""

    def refuse(*given):
        raise CudaAPIError(code, "refused")

    monkeypatch.setattr(runs, "cuda", SimpleNamespace(device_array=refuse, to_device=refuse))
    monkeypatch.setattr(runs, "SIMULATED", False)
    monkeypatch.setattr(runs.card, "free_memory", lambda: 1000)


def test_memory_that_the_driver_refuses_is_too_little(monkeypatch):
    refusing(monkeypatch, CUresult.CUDA_ERROR_OUT_OF_MEMORY)
    for take in (
        lambda: Run().allocate((300, np.int32), (4, np.float64)),
        lambda: Run().upload(np.zeros(308, np.int32)),
    ):
        with pytest.raises(NotEnoughMemory) as refused:
            take()
        assert (refused.value.needed, refused.value.free) == (1232, 1000)
    refusing(monkeypatch, CUresult.CUDA_ERROR_ILLEGAL_ADDRESS)
    with pytest.raises(CudaAPIError):
        Run().allocate((300, np.int32))


def test_for_a_few_bytes_it_is_not_asked_how_many_are_free(monkeypatch):
    refusing(monkeypatch, None)
    Run(waits=False).require(1001)
    for run in (Run(), Run(waits=False)):
        run.require(1000)
        with pytest.raises(NotEnoughMemory):
            run.require(2**26)
    with pytest.raises(NotEnoughMemory):
        Run().require(1001)


def test_without_a_driver_there_is_no_card(monkeypatch):
    def missing(flags):
        raise RuntimeError("libcuda.so.1 is not there")

    monkeypatch.setattr(bindings, "cuInit", missing)
    assert driver_without_numba.cards.__wrapped__() == 0


@pytest.mark.parametrize(("value", "simulated"), [("1", True), ("0", False), ("", False), (None, False)])
def test_the_simulator_is_asked_for(value, simulated, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "numba")
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    if value is not None:
        monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", value)
    assert driver_without_numba.simulated() == simulated


def test_what_the_driver_refuses_is_an_error():
    with pytest.raises(RuntimeError, match=r"the CUDA driver refused a call: .*ILLEGAL_ADDRESS"):
        checked((CUresult.CUDA_ERROR_ILLEGAL_ADDRESS,))
    assert [checked((SUCCESS, *values)) for values in ((), (1,), (1, 2))] == [(), 1, (1, 2)]


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
    monkeypatch.setattr(cards, "cuda", card)
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
