"""DLPack of arrays on the card: https://dmlc.github.io/dlpack. PyTorch, CuPy and others take such an array."""

from __future__ import annotations

import ctypes

CUDA = 2  # DLPack's number of the kind of device
CODES = {"i": 0, "u": 1, "f": 2}  # DLPack's numbers of the kinds of numbers
NAME = b"dltensor"


class _Tensor(ctypes.Structure):
    """DLManagedTensor, whose fields are those of DLTensor first."""

    _fields_ = (
        *(("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)),
        *(("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)),
        *(("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64)),
        *(("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)),
    )


_LENT = {}  # by address: a tensor, what it points to, and the array whose memory it is
_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
_api.PyCapsule_IsValid.argtypes = ctypes.c_void_p, ctypes.c_char_p
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = ctypes.c_void_p, ctypes.c_char_p


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _returned(address, lent=_LENT):
    """Who took the tensor needs it no more."""
    lent.pop(address, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _not_taken(capsule, lent=_LENT, api=_api):
    """A capsule is deleted; its name has changed where the tensor was taken."""
    if api.PyCapsule_IsValid(capsule, NAME):
        lent.pop(api.PyCapsule_GetPointer(capsule, NAME), None)


for _callback in (_returned, _not_taken):
    _api.Py_IncRef(ctypes.py_object(_callback))  # a tensor may live longer than this module


def capsule(array, device: int):
    """A capsule of an array of one dimension on this card, which stays alive as long as somebody has the tensor.

    array: with address, size and dtype.
    """
    shape = (ctypes.c_int64 * 2)(array.size, 1)  # and the stride, in items
    tensor = _Tensor(
        data=array.address,
        device_type=CUDA,
        device_id=device,
        ndim=1,
        code=CODES[array.dtype.kind],
        bits=8 * array.dtype.itemsize,
        lanes=1,
        shape=ctypes.addressof(shape),
        strides=ctypes.addressof(shape) + 8,
        deleter=ctypes.cast(_returned, ctypes.c_void_p),
    )
    address = ctypes.addressof(tensor)
    _LENT[address] = tensor, shape, array
    return _api.PyCapsule_New(address, NAME, ctypes.cast(_not_taken, ctypes.c_void_p))
