"""kernels/gpu/driver_api.py and dlpack.py: arrays and launches without numba, with a driver that has no card."""

import ctypes
import gc
import threading

import numpy as np
import pytest
from cuda.bindings import driver as bindings
from cuda.core.utils import StridedMemoryView

from kernels import searches
from kernels.errors import NotEnoughMemory
from kernels.fast import near_far_kernels, results
from kernels.gpu import dlpack, driver_api, internals
from kernels.gpu.driver_api import Device, DeviceArray, DriverRun
from tests.support import fake_driver


@pytest.fixture
def driver(monkeypatch):
    monkeypatch.delitem(driver_api.sys.modules, "kernels.gpu.card")  # as where numba is not used
    return fake_driver.install(monkeypatch.setattr)


@pytest.fixture
def run(driver):
    device = Device(0)
    with device.current():
        yield DriverRun(device)


def test_copies_there_and_back(run, driver):
    hosts = np.arange(5, dtype=np.uint64), np.zeros(0, np.int32), np.arange(12, dtype=np.int32)[::3]
    arrays = run.upload(*hosts)
    for array, host in zip(arrays, hosts, strict=True):
        assert (len(array), array.shape, array.strides, array.nbytes, array.ndim) == (
            *(host.size, host.shape, (host.itemsize,), host.nbytes, 1),
        )
        np.testing.assert_array_equal(array.copy_to_host(), host, strict=True)
    into = np.empty(5, np.uint64)
    run.download((arrays[0], into))
    assert into.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("pools", [1, 0], ids=["pool", "no pool"])
def test_memory_is_given_back_with_the_array(driver, pools):
    driver.pools = pools
    device = Device(0)
    with device.current():
        one, other = DriverRun(device).allocate((9, np.int32), (4, np.float64))
    assert [len(buffer) for buffer in driver.memory.values()] == [36, 32]
    driver.log.clear()
    del one
    assert len(driver.memory) == 1 and driver.log == ["free"]
    assert other.__cuda_array_interface__["data"][0] in driver.memory
    del other
    assert not driver.memory and driver.log == ["free", "wait", "free"]  # somebody may have had work on it
    assert driver.contexts == []


def test_too_little_memory(run, driver, monkeypatch):
    driver.free = 1000
    run.require(1201)  # it is not asked for so little
    monkeypatch.setattr(driver_api, "SMALL", 1000)
    run.require(1200)  # with what the pool keeps
    with pytest.raises(NotEnoughMemory) as refused:
        run.require(1201)
    assert (refused.value.needed, refused.value.free) == (1201, 1200)
    with pytest.raises(NotEnoughMemory):
        run.allocate((300, np.int32))


def test_arguments_are_passed_as_internals_says(run):
    (array,) = run.upload(np.arange(6, dtype=np.int32))
    for argument in (array, np.uint32(5), np.int32(-1), np.uint64(2**40)):
        assert driver_api.as_passed(argument) == internals.as_passed(argument)


class Search:
    """A kernel that was loaded."""

    def loaded(self, device, kinds):
        return 5, False


def test_shared_memory_is_allowed_once_for_all_that_launch_a_kernel(run, monkeypatch):
    calls = []
    answer = bindings.CUresult.CUDA_SUCCESS
    monkeypatch.setattr(bindings, "cuKernelSetAttribute", lambda _, *given: calls.append(given) or (answer,))
    monkeypatch.setattr(bindings, "cuLaunchKernel", lambda *given: calls.append(given[7]) or (answer,))
    other = DriverRun(run.device)
    for runs, shared in ((run, 64), (run, 64), (other, 64), (other, 128), (run, 64), (run, 0)):
        runs.launch((Search(), 1, 1, (np.uint32(1),), shared))
    assert calls == [(64, 5, 0), 64, 64, 64, (128, 5, 0), 128, (64, 5, 0), 64, 0]


def test_arguments_are_laid_out_when_the_kernels_are_launched_or_before(run, monkeypatch):
    laid_out = []
    monkeypatch.setattr(run, "_call", lambda *launch: laid_out.append(launch) or (lambda: (0,), (), None))
    monkeypatch.setattr(driver_api, "checked", lambda answer: laid_out.append("launched"))
    later = run.prepare(("one",), ("other",))
    assert laid_out == []
    later()
    assert laid_out == [("one",), "launched", ("other",), "launched"]
    laid_out.clear()
    now = run.prepare_now(("one",), ("other",))
    now()
    assert laid_out == [("one",), ("other",), "launched", "launched"]


def test_what_stands_for_a_module_has_its_constants():
    assert searches.KEPT[0].LANES == near_far_kernels.LANES
    assert searches.NO_PREDECESSOR == results.NO_PREDECESSOR


def test_the_interface_of_arrays_on_the_card(run):
    (array,) = run.upload(np.arange(6, dtype=np.int32))
    said = array.__cuda_array_interface__
    assert said == {
        **{"shape": (6,), "typestr": "<i4", "strides": None, "stream": None, "version": 3},
        "data": (array.address, False),
    }
    assert array.__dlpack_device__() == (2, 0)
    for asked in ({"copy": True}, {"dl_device": (1, 0)}):
        with pytest.raises(BufferError):
            array.__dlpack__(**asked)


api = ctypes.pythonapi
api.PyCapsule_SetName.argtypes = ctypes.py_object, ctypes.c_char_p
TAKEN = b"used_dltensor"


def take(capsule) -> dlpack._Tensor:
    """As PyTorch and CuPy do: the capsule says afterwards that its tensor is taken."""
    address = api.PyCapsule_GetPointer(ctypes.c_void_p(id(capsule)), b"dltensor")
    assert api.PyCapsule_SetName(capsule, TAKEN) == 0
    return dlpack._Tensor.from_address(address)


@pytest.mark.parametrize(("dtype", "code", "bits"), [(np.int32, 0, 32), (np.uint64, 1, 64), (np.float64, 2, 64)])
def test_a_tensor_keeps_its_memory_until_it_is_returned(run, driver, dtype, code, bits):
    (array,) = run.upload(np.arange(6).astype(dtype))
    address = array.address
    capsule = array.__dlpack__(stream=1, max_version=(1, 1), dl_device=(2, 0))
    tensor = take(capsule)
    del array, capsule
    gc.collect()
    assert list(driver.memory) == [tensor.data] == [address]
    fields = "device_type", "device_id", "ndim", "code", "bits", "lanes", "byte_offset"
    assert [getattr(tensor, name) for name in fields] == [2, 0, 1, code, bits, 1, 0]
    assert [ctypes.c_int64.from_address(at).value for at in (tensor.shape, tensor.strides)] == [6, 1]
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(tensor.deleter)(ctypes.addressof(tensor))
    assert not driver.memory and not dlpack._LENT


def test_a_tensor_that_nobody_takes_is_returned_with_its_capsule(run, driver):
    (array,) = run.upload(np.arange(6))
    capsules = [array.__dlpack__() for _ in range(2)]
    assert len(dlpack._LENT) == 2
    del array
    assert len(driver.memory) == 1
    del capsules
    assert not driver.memory and not dlpack._LENT


def test_cuda_core_takes_a_tensor(run, driver):
    """Which checks what it is given, and needs no card for it."""
    (array,) = run.upload(np.arange(6, dtype=np.int32))
    view = StridedMemoryView.from_dlpack(array, stream_ptr=-1)
    assert (view.ptr, view.shape, view.dtype, view.device_id) == (array.address, (6,), np.int32, 0)
    assert view.is_device_accessible and not view.readonly
    del array
    assert len(driver.memory) == 1
    del view
    gc.collect()
    assert not driver.memory


def test_the_layout_of_a_tensor():
    names = "data", "device_type", "ndim", "code", "shape", "strides", "byte_offset", "manager", "deleter"
    assert [getattr(dlpack._Tensor, name).offset for name in names] == [0, 8, 16, 20, 24, 32, 40, 48, 56]
    assert ctypes.sizeof(dlpack._Tensor) == 64


def test_the_card_of_a_thread(driver, monkeypatch):
    monkeypatch.setattr(driver_api, "_device", lambda number: number)
    assert driver_api.device() == 0
    bindings.cuCtxPushCurrent(3)
    monkeypatch.setattr(bindings, "cuCtxGetDevice", lambda: (bindings.CUresult.CUDA_SUCCESS, 1))
    assert driver_api.device() == 1
    seen = []
    thread = threading.Thread(target=lambda: seen.append(driver_api.device()))
    thread.start()
    thread.join()
    assert seen == [0]


def test_without_a_driver_there_is_no_card(monkeypatch):
    def missing(flags):
        raise RuntimeError("libcuda.so.1 is not there")

    monkeypatch.setattr(bindings, "cuInit", missing)
    assert driver_api.cards.__wrapped__() == 0


@pytest.mark.parametrize(("value", "simulated"), [("1", True), ("0", False), ("", False), (None, False)])
def test_the_simulator_is_asked_for(value, simulated, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(driver_api.sys.modules, "numba")
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    if value is not None:
        monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", value)
    assert driver_api.simulated() == simulated


def test_what_the_driver_refuses_is_an_error(run, monkeypatch):
    refused = (bindings.CUresult.CUDA_ERROR_ILLEGAL_ADDRESS,)
    monkeypatch.setattr(bindings, "cuCtxSynchronize", lambda: refused)
    with pytest.raises(RuntimeError, match=r"the CUDA driver refused a call: .*ILLEGAL_ADDRESS"):
        run.wait()


def test_an_array_says_what_it_is(run):
    assert repr(DeviceArray(run.device, 1000, np.int32)) == "<1,000 numbers, int32, on card 0>"
