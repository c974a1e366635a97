"""Torch keyed: what the shim hands to redtune._core of index_add and its like, without PyTorch.

The arrays lie in the memory of the simulated GPU.
"""

import ctypes
import time
import unittest

import numpy

import redtune
import sim_memory

FLOAT, LONG = 6, 4  # c10::ScalarType
SERVED, LEFT = 0, 1


class Call(ctypes.Structure):
    """redtune_torch_keyed."""

    _fields_ = [
        *((name, ctypes.c_int32) for name in ("op", "dtype", "key_dtype", "device")),
        *((name, ctypes.c_int32) for name in ("is_deterministic", "is_plain")),
        ("reduce", ctypes.c_char),
        *((name, ctypes.c_int64) for name in ("rows", "width", "keys")),
        *((name, ctypes.c_void_p) for name in ("data", "key_data", "out", "stream")),
        ("problem", ctypes.c_uint64 * 128), ("message", ctypes.c_void_p),
    ]  # fmt: skip


class TorchKeyed(unittest.TestCase):
    def setUp(self):
        redtune.configure(device="sim")
        names = redtune._core.torch_ops
        self.op = names.index("index_add")
        hooks = redtune._core.torch_install(0, [0] * len(names))
        kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Call))
        self.choose, self.run_it = map(kind, (ctypes.c_void_p * 4).from_address(hooks)[2:])

    def call(self, x, keys, out, reduce, **fields):
        arrays = [sim_memory.asarray(each) for each in (x, keys, out)]
        data, key_data, target = (each.memory.address.value for each in arrays)
        message = ctypes.create_string_buffer(1024)
        call = Call(**{
            **dict(op=self.op, dtype=FLOAT, key_dtype=LONG, reduce=reduce, is_plain=1, rows=len(x)),
            **dict(width=x[0].size, keys=len(out), data=data, key_data=key_data, out=target),
            **dict(message=ctypes.addressof(message)), **fields,
        })  # fmt: skip
        chosen = [self.choose(call)]
        while redtune._core.torch_pending():
            time.sleep(0.01)
        chosen.append(self.choose(call))
        done = self.run_it(call) if chosen[-1] else LEFT
        return chosen, done, arrays[2].numpy()

    def check_combined(self, x, keys, out, reduce, at):
        want = out.astype("f8")
        at.at(want, keys, x)
        chosen, done, got = self.call(x, keys, out, reduce)
        self.assertEqual((chosen[1], done), (1, SERVED))
        numpy.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4)

    def test_elements_are_combined_with_what_the_result_holds(self):
        numbers = numpy.random.default_rng(4)
        x = numbers.standard_normal(20000, dtype="f4")
        keys = numbers.integers(0, 70, 20000)
        for reduce, at in ((b"+", numpy.add), (b">", numpy.maximum), (b"<", numpy.minimum)):
            out = numbers.standard_normal(70, dtype="f4")
            self.check_combined(x, keys, out, reduce, at)

    def test_rows_are_combined_with_those_of_the_result(self):
        numbers = numpy.random.default_rng(5)
        x = numbers.standard_normal((6000, 17), dtype="f4")
        keys = numbers.integers(0, 9, 6000)
        for reduce, at in ((b"+", numpy.add), (b">", numpy.maximum)):
            out = numbers.standard_normal((9, 17), dtype="f4")
            self.check_combined(x, keys, out, reduce, at)

    def test_results_have_the_dtype_of_elements_of_fewer_bits(self):
        numbers = numpy.random.default_rng(6)
        for dtype, number in (("f2", 5), ("i4", 3)):
            x = (8 * numbers.standard_normal(3000)).astype(dtype)
            keys, out = numbers.integers(0, 5, 3000), numpy.arange(5).astype(dtype)
            want = numpy.add.reduceat(x[keys.argsort(kind="stable")].astype("f8"),
                                      numpy.searchsorted(numpy.sort(keys), range(5))) + out  # fmt: skip
            chosen, done, got = self.call(x, keys, out, b"+", dtype=number)
            self.assertEqual((chosen[1], done, got.dtype), (1, SERVED, dtype))
            numpy.testing.assert_allclose(got, want.astype(dtype), rtol=1e-3)

    def test_deterministic_mode_and_what_is_not_by_row_are_left(self):
        x, keys, out = numpy.ones(1000, "f4"), numpy.zeros(1000, "i8"), numpy.ones(3, "f4")
        for fields in ({"is_deterministic": 1}, {"is_plain": 0}, {"dtype": 11}, {"rows": 1}):
            self.assertEqual(self.call(x, keys, out, b"+", **fields)[0], [0, 0], fields)
        self.assertEqual(self.call(x, keys, out, b"\0")[0], [0, 0])

    def test_a_key_has_the_same_bits_among_others_in_fixed_order(self):
        redtune.configure(device="sim", order="fixed")
        numbers = numpy.random.default_rng(7)
        x, keys = numbers.standard_normal((400, 3), dtype="f4"), numbers.integers(0, 9, 400)
        out = numbers.standard_normal((9, 3), dtype="f4")
        chosen, done, all_of_them = self.call(x, keys, out, b"+")
        self.assertEqual((chosen, done), ([1, 1], SERVED))  # from the first call on, at any size
        numpy.testing.assert_allclose(all_of_them[4], out[4] + x[keys == 4].sum(0), rtol=1e-4)
        some = keys == 4
        alone = self.call(x[some], numpy.zeros(some.sum(), "i8"), out[4:5].copy(), b"+")[2]
        self.assertEqual(alone[0].tobytes(), all_of_them[4].tobytes())
        self.assertEqual(self.call(x, keys, out, b"+", is_deterministic=1)[0], [1, 1])

    def test_additions_to_many_keys_are_left_and_extremes_are_not(self):
        x, keys, out = numpy.ones(1000, "f4"), numpy.arange(1000), numpy.ones(1000, "f4")
        self.assertEqual(self.call(x, keys, out, b"+")[0], [0, 0])
        self.assertEqual(self.call(x, keys, out, b">")[0][1], 1)


if __name__ == "__main__":
    unittest.main()
