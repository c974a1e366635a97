"""Descriptions: what libraries say of their arrays, by DLPack and by CUDA's interface."""

import ctypes
import unittest

import numpy
import sim_memory
from sim_memory import _Managed, _new_capsule, _Tensor

import redtune

OUT = numpy.empty((), "f4")
VALUES = numpy.arange(6, dtype="f4")


def sizes(*of):
    return (ctypes.c_int64 * len(of))(*of)


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor),
    ]  # fmt: skip


class Lent:
    """VALUES as 2 x 3, by a capsule of that name, with other things in some places."""

    def __init__(self, name="dltensor", shape=sizes(2, 3), major=1, **wrong):
        self.name, self.shape = name, shape
        fields = {
            "data": VALUES.ctypes.data, "device_type": sim_memory.CPU, "device_id": 0, "ndim": 2,
            "code": 2, "bits": 32, "lanes": 1, "shape": shape and ctypes.addressof(shape), **wrong,
        }  # fmt: skip
        tensor = _Tensor(**fields)
        plain = _Managed(tensor, None, None)
        self.managed = _Versioned(major, 0, None, None, 0, tensor) if "ver" in name else plain
        self.device = fields["device_type"], fields["device_id"]

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **_):
        self.bytes = self.name.encode()
        return _new_capsule(ctypes.addressof(self.managed), self.bytes, None)


def raising(name, error, **others):
    """An object whose property of that name raises the error."""

    def get(_):
        raise error

    return type("Raising", (), {name: property(get), **others})()


class Interfaced:
    def __init__(self, **wrong):
        whole = sim_memory.asarray(VALUES, sim_memory.Interfaced)
        self.__cuda_array_interface__ = {**whole.__cuda_array_interface__, **wrong}
        self.memory = whole
        self.device = sim_memory.empty(()).device


class Elsewhere(Interfaced):
    def __init__(self):
        super().__init__()
        self.device = -2


VERSIONED = "dltensor_versioned"
WRONG = [
    (lambda: Lent(data=None), ValueError, "it has no memory"),
    (lambda: Lent(shape=None), ValueError, "it has no sizes"),
    (lambda: Lent(ndim=-1), ValueError, "it has -1 dimensions"),
    (lambda: Lent(ndim=65), ValueError, "it has 65 dimensions"),
    (lambda: Lent(shape=sizes(2, -3)), ValueError, "its size is -3"),
    (lambda: Lent(shape=sizes(2**62, 8)), ValueError, "more than 2^63 bytes"),
    (lambda: Lent(lanes=4), TypeError, "elements are of DLPack's type 2"),
    (lambda: Lent(device_type=99), ValueError, "a device of DLPack's type 99"),
    (lambda: Lent(device_type=2, device_id=-2), ValueError, "its device is -2"),
    (lambda: Lent(VERSIONED, major=99), BufferError, "of version 99.0 of DLPack"),
    (lambda: Lent(VERSIONED, data=None), ValueError, "it has no memory"),
    (lambda: Lent("other"), ValueError, "a capsule named other"),
    (lambda: Lent("used_dltensor"), ValueError, "a capsule named used_dltensor"),
    (lambda: Interfaced(data=(0, False)), ValueError, "it has no memory"),
    (lambda: Interfaced(shape=(-1,)), ValueError, "its size is -1"),
    (lambda: Interfaced(shape=(2**62, 8)), ValueError, "more than 2^63 bytes"),
    (Elsewhere, ValueError, "its device is -2"),
]


class Descriptions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        redtune.configure(device="sim")

    @classmethod
    def tearDownClass(cls):
        redtune.configure()

    def test_what_cannot_be_is_refused(self):
        for i, (make, kind, words) in enumerate(WRONG):
            with self.subTest(i=i, words=words), self.assertRaises(kind) as caught:
                redtune.sum(make(), out=OUT)
            self.assertIn(words, str(caught.exception))

    def test_what_can_be_is_taken(self):
        for name in ("dltensor", VERSIONED):
            self.assertEqual(redtune.sum(Lent(name), out=OUT), 15)
        self.assertEqual(redtune.sum(Lent(shape=sizes(0, 3), data=None), out=OUT), 0)
        self.assertEqual(redtune.sum(Lent(ndim=0, shape=None), out=OUT), 0)
        # The only index of an axis has no step.
        packed = numpy.ones(1, numpy.dtype([("a", "u1"), ("f", "f4")]))
        self.assertEqual(redtune.sum(packed["f"]), 1)

    def test_a_stride_divided_without_its_sign_is_one_below_zero(self):
        # Of -12 and -4 bytes, as CuPy 14 gives them.
        steps = sizes(((1 << 64) - 12) // 4, ((1 << 64) - 4) // 4)
        last = VALUES.ctypes.data + 20
        lent = Lent(data=last, strides=ctypes.addressof(steps))
        self.assertEqual(redtune.argmax(lent, out=numpy.empty((), "i8")), 0)
        out = redtune.sum(lent, axis=1, out=numpy.empty(2, "f4"))
        numpy.testing.assert_array_equal(out, [12, 3])

    def test_floats_of_8_bits_have_codes_of_their_own(self):
        ones = {10: 0x38, 12: 0x3C}  # kDLFloat8_e4m3fn, kDLFloat8_e5m2
        for code, one in ones.items():
            held = numpy.full(6, one, "u1")
            lent = Lent(data=held.ctypes.data, code=code, bits=8)
            got = redtune.sum(lent, out=numpy.empty((), "f4"))
            self.assertEqual(got, 6)

    def test_a_capsule_serves_once(self):
        x = Lent()
        capsule = x.__dlpack__()
        x.__dlpack__ = None
        again = type("Again", (), {"__dlpack__": lambda self, **_: capsule})
        again.__dlpack_device__ = lambda self: (sim_memory.CPU, 0)
        self.assertEqual(redtune.sum(again(), out=OUT), 15)
        with self.assertRaisesRegex(ValueError, "named used_dltensor, not a new one"):
            redtune.sum(again(), out=OUT)

    def test_a_library_from_before_versions_is_asked_once(self):
        asked = []

        class Old(Lent):
            def __dlpack__(self, **given):
                asked.append(sorted(given))
                if given:
                    raise TypeError("what is that?")
                return super().__dlpack__()

        self.assertEqual([redtune.sum(Old(), out=OUT).item() for _ in range(2)], [15, 15])
        self.assertEqual(asked, [["max_version"], [], []])

    def test_what_a_property_raises_is_not_lost(self):
        # The program's own error arrives; that there is no such attribute is a cause.
        interface, error = "__cuda_array_interface__", ZeroDivisionError("deep")
        for name in ("__dlpack__", interface):
            with self.assertRaises(ZeroDivisionError):
                redtune.sum(raising(name, error, __dlpack_device__=lambda self: (1, 0)), out=OUT)
        for name in ("__dlpack_device__", "device"):
            with self.subTest(name=name), self.assertRaises(ZeroDivisionError):
                pair = {"__dlpack__": Lent.__dlpack__, interface: Interfaced().__dict__[interface]}
                pair.pop(interface if name == "__dlpack_device__" else "__dlpack__")
                redtune.sum(raising(name, error, **pair), out=OUT)
        with self.assertRaises(TypeError) as caught:
            redtune.sum(raising(interface, AttributeError("deep")), out=OUT)
        self.assertIn("Raising is no array", str(caught.exception))
        self.assertEqual(str(caught.exception.__cause__), "deep")
        with self.assertRaises(ZeroDivisionError):
            redtune.sum(VALUES, stream=raising("cuda_stream", error))


if __name__ == "__main__":
    unittest.main()
