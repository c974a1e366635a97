"""Sim memory: arrays in the memory of the simulated GPU, as a library of its own would have them.

The module follows the array API standard as far as redtune needs it. Its arrays have DLPack's
capsules; those of the class Interfaced have CUDA's array interface instead.
"""

import ctypes
import math
import os

import numpy

import redtune._bundle

# Of redtune as well, also where there is a GPU: that does not reach this memory.
_driver = ctypes.CDLL(
    os.environ.setdefault("REDTUNE_CUDA_DRIVER", redtune._bundle.simulator())
)
_contexts = {}  # by device

CPU, CUDA = 1, 2
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


def _check(rc):
    if rc:
        raise RuntimeError(f"the simulated driver says {rc}")


def enter(device):
    """Makes the device's context this thread's."""
    if device not in _contexts:
        _check(_driver.cuInit(0))
        context = ctypes.c_void_p()
        _check(_driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        _contexts[device] = context
    _check(_driver.cuCtxSetCurrent(_contexts[device]))


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_deleted = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_lent = {}  # what capsules point to, until redtune gives them back
given_back = []  # a note for each that it has


@_deleted
def _delete(managed):
    del _lent[ctypes.addressof(managed.contents)]
    given_back.append(True)


class _Memory:
    def __init__(self, nbytes, device):
        enter(device)
        self.device, self.process = device, os.getpid()
        self.address = ctypes.c_uint64()
        _check(_driver.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(nbytes or 1)))

    def __del__(self):
        if os.getpid() == self.process:  # in a child of a fork it is the parent's
            enter(self.device)
            _driver.cuMemFree_v2(self.address)


class Array:
    def __init__(self, shape, dtype, memory=None, strides=None, device=0, offset=0):
        self.shape, self.dtype = tuple(shape), numpy.dtype(dtype)
        self.count = math.prod(self.shape)
        self.memory = memory or _Memory(self.count * self.dtype.itemsize, device)
        self.strides = strides  # in elements, as the offset of the first one
        self.offset = offset * self.dtype.itemsize

    @property
    def device(self):
        return self.memory.device

    def __array_namespace__(self):
        import sim_memory

        return sim_memory

    def __dlpack_device__(self):
        return CUDA, self.device

    def __dlpack__(self, *, stream=None):
        assert stream == 1  # redtune names the stream that it uses
        n = len(self.shape)
        extents = (ctypes.c_int64 * (2 * n or 1))(*self.shape, *(self.strides or ()))
        begin = ctypes.addressof(extents)
        steps = begin + 8 * n if self.strides else None
        code = 4 if self.dtype.name == "bfloat16" else _CODES[self.dtype.kind]
        bits = 8 * self.dtype.itemsize
        tensor = _Tensor(
            self.memory.address.value + self.offset, CUDA, self.device, n, code, bits, 1, begin,
            steps, 0,
        )
        managed = _Managed(tensor, None, ctypes.cast(_delete, ctypes.c_void_p))
        address = ctypes.addressof(managed)
        _lent[address] = managed, extents, self
        return _new_capsule(address, b"dltensor", None)

    def view(self, shape, strides, offset=0):
        return type(self)(shape, self.dtype, self.memory, strides, offset=offset)

    def fill(self, host):
        host = numpy.ascontiguousarray(host)
        enter(self.device)
        source, nbytes = ctypes.c_void_p(host.ctypes.data), ctypes.c_size_t(host.nbytes)
        _check(_driver.cuMemcpyHtoD_v2(self.memory.address, source, nbytes))

    def numpy(self):
        host = numpy.empty(self.shape, self.dtype)
        enter(self.device)
        _check(_driver.cuCtxSynchronize())
        nbytes = ctypes.c_size_t(host.nbytes)
        _check(
            _driver.cuMemcpyDtoH_v2(ctypes.c_void_p(host.ctypes.data), self.memory.address, nbytes)
        )
        return host


class Interfaced(Array):
    __dlpack__ = __dlpack_device__ = None

    @property
    def __cuda_array_interface__(self):
        steps = self.strides and tuple(step * self.dtype.itemsize for step in self.strides)
        return {
            "data": (self.memory.address.value + self.offset, False), "shape": self.shape, "strides": steps,
            "typestr": self.dtype.str, "version": 3, "stream": 1,
        }  # fmt: skip


def empty(shape, dtype=None, device=None):
    return Array(shape, dtype, device=device or 0)


def asarray(host, kind=Array, device=0):
    host = numpy.ascontiguousarray(host)
    array = kind(host.shape, host.dtype, device=device)
    array.fill(host)
    return array


for _name in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
              "float16", "float32", "float64"):  # fmt: skip
    globals()[_name] = numpy.dtype(_name)
