"""How launches are made, checked and timed, with a driver and a card that only note what they are asked for."""

import ctypes
import itertools
import sys
from functools import cache
from itertools import cycle
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from cuda.bindings import driver as bindings
from cuda.bindings.driver import CUresult

from kernels import run as runs
from kernels.errors import InputError, NotEnoughMemory
from kernels.gpu import card as cards
from kernels.gpu import driver as driver_without_numba
from kernels.gpu import internals, launching
from kernels.gpu.compiler import cuda
from kernels.gpu.driver import checked
from kernels.gpu.internals import ECHOED, EXPECTED, WRITTEN_FOR, as_passed
from kernels.gpu.launching import STEP, compile_loop
from kernels.run import Run

SUCCESS = CUresult.CUDA_SUCCESS
SHAPE = [ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7]
KINDS = [ctypes.CFUNCTYPE(*SHAPE, *[ctypes.c_void_p] * pointers) for pointers in (3, 2)]  # plain, cooperative
FIRST = (7, (5, 4), (32, 16), (STEP, np.uint32(9)))
SECOND = (107, 3, 64, (np.uint64(2**40), np.int32(-1)), 100)
ALLOWED = (100, 107, 0)  # shared memory of SECOND


class OnCard:
    """The attributes of a device array that are read."""

    def __init__(self, size=6, dtype=np.int32, address=4096):
        self.size, self.dtype, self.shape = size, np.dtype(dtype), (size,)
        self.strides, self.device_ctypes_pointer = (self.dtype.itemsize,), ctypes.c_size_t(address)


class Pair(NamedTuple):
    number: np.uint32
    array: OnCard


class Driver(list):
    """What was asked for, in order: "wait", or a launch with its stream and the values of its `arguments` arguments.

    A kernel is its number; from 100 on it is cooperative. answers: to the next launches, first to last.
    """

    def __init__(self):
        self.answers, self.arguments, self.numbers = [], 2, itertools.count(1)

    def __getattr__(self, name):
        return getattr(bindings, name)

    def cuCtxGetDevice(self):
        return SUCCESS, 0

    def cuLaunchKernel(self, kernel, *given):
        assert kernel < 100
        return (self._launch(kernel, *given[:-1]),)

    def cuLaunchCooperativeKernel(self, kernel, *given):
        assert kernel >= 100
        return (self._launch(kernel, *given),)

    def cuKernelSetAttribute(self, attribute, *given):
        return self._note(*given)

    def cuStreamCreate(self, flags):
        return SUCCESS, next(self.numbers)

    cuEventCreate = cuStreamCreate

    def cuEventRecord(self, *given):
        return self._note("cuEventRecord", *given)

    def cuStreamWaitEvent(self, *given):
        return self._note("cuStreamWaitEvent", *given)

    def _note(self, *given):
        self.append(given)
        return (SUCCESS,)

    def _launch(self, *given):
        *shape, stream, address = given
        values = list((ctypes.c_uint64 * self.arguments).from_address(address))
        values = [ctypes.c_uint64.from_address(place).value for place in values]
        self.append((*map(int, shape), int(stream or 0), values))
        return self.answers.pop(0) if self.answers else SUCCESS

    def wait(self):
        self.append("wait")
        return SUCCESS


@pytest.fixture(scope="module")
def loop():
    """The compiled loop, which calls the methods of `loop.driver`."""
    loop = SimpleNamespace(driver=None)
    loop.functions = [
        KINDS[0](lambda *given: int(*loop.driver.cuLaunchKernel(*given))),
        KINDS[1](lambda *given: int(*loop.driver.cuLaunchCooperativeKernel(*given))),
        ctypes.CFUNCTYPE(ctypes.c_int)(lambda: int(loop.driver.wait())),
    ]
    for function, kind in zip(loop.functions, KINDS, strict=False):
        function.argtypes = kind._argtypes_
    loop.compiled = compile_loop(*loop.functions)
    return loop


@pytest.fixture
def driver(loop, as_with_gpu, monkeypatch):
    loop.driver = driver = Driver()
    monkeypatch.setattr(launching, "_launch_loop", lambda: loop.compiled)
    monkeypatch.setattr(launching, "driver", driver)
    monkeypatch.setattr(internals, "compiled_kernel", lambda kernel, *_: (kernel, kernel >= 100))
    monkeypatch.setattr(launching, "check_arguments", lambda: None)
    monkeypatch.setattr(launching, "SHARED_LIMITS", {})
    return driver


def first(step, stream=0):
    return 7, 5, 4, 1, 32, 16, 1, 0, stream, [step, 9]


def second(stream=0):
    return 107, 3, 1, 1, 64, 1, 1, 100, stream, [2**40, 2**64 - 1]


@pytest.mark.parametrize("loops", [False, True], ids=["from Python", "by the loop"])
def test_launches_are_made_in_turn_and_not_waited_for(loops, driver):
    ready = launching.Prepared([FIRST, SECOND])
    ready.loop(wait=False, stream=5)(2) if loops else ready.enqueue(stream=5, times=2)
    assert driver == [ALLOWED, first(0, 5), second(5), first(1, 5), second(5)]


def test_the_loop_waits_after_each_launch(driver):
    launching.Prepared([FIRST, SECOND]).loop(wait=True)(2)
    assert driver == [ALLOWED, first(0), "wait", second(), "wait", first(1), "wait", second(), "wait"]


def test_arrays_and_numbers_are_laid_out_one_after_the_other(driver):
    driver.arguments = 8
    launching.Prepared([(7, 1, 1, (np.uint32(5), OnCard()))]).enqueue()
    assert driver == [(7, 1, 1, 1, 1, 1, 1, 0, 0, [5, 0, 0, 6, 4, 4096, 6, 4])]


def test_shared_memory_is_allowed_up_to_the_most_that_was_asked_for(driver):
    for shared in (64, 64, 128, 64, 0):
        launching.Prepared([(7, 1, 1, (STEP, STEP), shared)])
    assert driver == [(64, 7, 0), (128, 7, 0)]


@pytest.mark.parametrize("launch", [lambda ready: ready.enqueue(), lambda ready: ready.loop(wait=True)(1)])
@pytest.mark.parametrize(
    ("code", "error", "said"),
    [
        (
            CUresult.CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
            InputError,
            "which wait for each other: take a smaller grid",
        ),
        (CUresult.CUDA_ERROR_ILLEGAL_ADDRESS, RuntimeError, "refused a launch: error 700"),
    ],
)
def test_a_refused_launch_is_the_last_and_an_error(code, error, said, launch, driver):
    driver.answers = [SUCCESS, code]
    with pytest.raises(error, match=said):
        launch(launching.Prepared([FIRST, SECOND, FIRST]))
    assert [given for given in driver if given != "wait"] == [ALLOWED, first(0), second()]


def test_launches_of_a_step_may_overlap_and_the_next_step_waits(driver, monkeypatch):
    monkeypatch.setattr(launching, "MAX_STREAMS", 2)  # stream 1, and events 2 and 3
    monkeypatch.setattr(launching, "_streams", cache(launching._streams.__wrapped__))
    monkeypatch.setattr(launching, "_prefer_shared_memory", lambda *_: None)
    one = (7, (5, 4), (32, 16), (STEP, np.uint32(9)))
    run = Run()
    run.launch_steps([one], [], [one, one, one], [one])
    streams, events = (0, 1), (2, 3)
    assert driver[:1] + driver[-1:] == [first(0)] * 2
    assert driver[1:-1] == [
        ("cuEventRecord", events[0], 0),
        ("cuStreamWaitEvent", streams[1], events[0], 0),
        *(first(0), first(0, 1), first(0)),
        ("cuEventRecord", events[1], streams[1]),
        ("cuStreamWaitEvent", 0, events[1], 0),
    ]
    assert run.launches == 5


def test_a_run_that_waits_launches_by_the_compiled_loop(driver):
    run = Run()
    run.launch(FIRST, times=2)
    launch = run.prepare(FIRST)
    assert driver == [first(0), "wait", first(1), "wait"]
    launch()
    assert driver[4:] == [first(0), "wait"] and run.launches == 3


def test_a_run_that_does_not_wait_compiles_no_loop(driver, monkeypatch):
    monkeypatch.setattr(launching, "_launch_loop", None)
    run = Run(waits=False)
    run.launch(FIRST, times=2)
    run.prepare_async(FIRST)()
    launch = run.prepare(FIRST)
    assert len(driver) == 3
    launch()
    assert driver == [first(0), first(1), first(0), first(0)] and run.launches == 4


def test_arguments_as_numba_passes_them():
    assert as_passed(OnCard()) == [0, 0, 6, 4, 4096, 6, 4]
    assert as_passed(OnCard(2**32)) == [0, 0, 2**32, 4, 4096, 2**32, 4]  # all pairs of 65,536 vertices
    assert as_passed(np.int32(-1)) == [2**64 - 1]
    assert as_passed(Pair(np.uint32(5), OnCard())) == [5, 0, 0, 6, 4, 4096, 6, 4]


@pytest.mark.simulator
def test_echo_writes_down_what_it_is_sent():
    arrived = np.zeros_like(EXPECTED)
    internals.echo[1, 1](*ECHOED, arrived)
    internals.check_echo(arrived)
    assert arrived.tolist() == EXPECTED.tolist()


@pytest.mark.parametrize("place", range(len(EXPECTED)))
def test_other_arguments_than_were_sent_name_both_versions(place, monkeypatch):
    monkeypatch.setattr(internals, "version", lambda package: {"numba-cuda": "9.8.7"}[package])
    arrived = EXPECTED.copy()
    arrived[place] += np.uint64(1)
    with pytest.raises(RuntimeError, match=rf"numba-cuda 9\.8\.7 .* than numba-cuda {WRITTEN_FOR}, .*install") as said:
        internals.check_echo(arrived)
    assert str(arrived.tolist()) in str(said.value)


class OnHost(np.ndarray):
    """In place of a device array."""

    copy_to_host = np.ndarray.copy


@pytest.mark.parametrize("arrives", [EXPECTED, EXPECTED + np.uint64(1)], ids=["as sent", "otherwise"])
def test_arguments_are_checked_once_and_before_anything_is_launched(arrives, monkeypatch):
    kernels = []

    class Prepared:
        def __init__(self, launches):
            ((kernel, _, _, self.arguments),) = launches
            kernels.append(kernel)

        def enqueue(self):
            for sent, argument in zip(ECHOED, self.arguments, strict=False):
                assert np.array_equal(sent, argument)
            self.arguments[-1][:] = arrives

    monkeypatch.setattr(launching, "Prepared", Prepared)
    monkeypatch.setattr(launching, "cuda", SimpleNamespace(to_device=lambda array: array.copy().view(OnHost)))
    monkeypatch.setattr(launching, "check_arguments", cache(launching.check_arguments.__wrapped__))
    if arrives is EXPECTED:
        for _ in range(2):
            launching.prepared((("kernel", 1, 1, ()),))
        assert kernels == [internals.echo, "kernel", "kernel"]
    else:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="arguments"):
                launching.prepared((("kernel", 1, 1, ()),))
        assert "kernel" not in kernels


class Kernel:
    """In place of numba's kernel; made: the types that it was compiled for."""

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
    """Let the card refuse memory with this code while 1000 bytes are free."""

    def refuse(*given):
        raise cuda.cudadrv.driver.CudaAPIError(code, "refused")

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
    with pytest.raises(cuda.cudadrv.driver.CudaAPIError):
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


@pytest.mark.parametrize(
    ("failed", "said"),
    [(None, r"pip install .*\[cu13\]"), ("no device\n(999)", r"its driver \(no device \(999\)\): check nvidia-smi$")],
)
def test_what_needs_a_gpu_says_what_is_missing(as_without_gpu, monkeypatch, failed, said):
    monkeypatch.setattr(cards, "cards", lambda: 1)
    monkeypatch.setattr(cards.cuda.cudadrv.driver.driver, "initialization_error", failed)
    with pytest.raises(InputError, match=rf"^peak needs a GPU, but .*{said}"):
        cards.require_gpu("peak")


@pytest.mark.parametrize(("value", "simulated"), [("1", True), ("0", False), ("", False), (None, False)])
def test_the_simulator_is_asked_for(value, simulated, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "numba")
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    if value is not None:
        monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", value)
    assert driver_without_numba.simulated() == simulated


def test_what_the_driver_refuses_is_an_error():
    with pytest.raises(RuntimeError, match=r"ILLEGAL_ADDRESS"):
        checked((CUresult.CUDA_ERROR_ILLEGAL_ADDRESS,))
    assert [checked((SUCCESS, *values)) for values in ((), (1,), (1, 2))] == [(), 1, (1, 2)]


@pytest.fixture
def asked(monkeypatch):
    """Calls of the card and the host's clock, in order; a phase takes 1500 ms, a step of the clock 2 s."""
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
