"""Torch keyed: what the shim hands to redtune._core of index_add and scatter_reduce, without PyTorch.

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
        ("is_deterministic", ctypes.c_int32), ("reduce", ctypes.c_char),
        ("elements", ctypes.c_int64), ("keys", ctypes.c_int64),
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
        call = Call(
            op=self.op, dtype=FLOAT, key_dtype=LONG, reduce=reduce, elements=len(x), keys=len(out),
            data=data, key_data=key_data, out=target, **fields,
        )  # fmt: skip
        chosen = [self.choose(call)]
        while redtune._core.torch_pending():
            time.sleep(0.01)
        chosen.append(self.choose(call))
        done = self.run_it(call) if chosen[-1] else LEFT
        return chosen, done, arrays[2].numpy()

    def test_elements_are_combined_with_what_the_result_holds(self):
        numbers = numpy.random.default_rng(4)
        x = numbers.standard_normal(20000, dtype="f4")
        keys = numbers.integers(0, 70, 20000)
        for reduce, at in ((b"+", numpy.add), (b">", numpy.maximum), (b"<", numpy.minimum)):
            out = numbers.standard_normal(70, dtype="f4")
            want = out.astype("f8")
            at.at(want, keys, x)
            chosen, done, got = self.call(x, keys, out, reduce)
            self.assertEqual((chosen[1], done), (1, SERVED))
            numpy.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4)

    def test_deterministic_mode_and_fixed_order_leave_it(self):
        x, keys, out = numpy.ones(1000, "f4"), numpy.zeros(1000, "i8"), numpy.ones(3, "f4")
        self.assertEqual(self.call(x, keys, out, b"+", is_deterministic=1)[0], [0, 0])
        redtune.configure(device="sim", order="fixed")
        self.assertEqual(self.call(x, keys, out, b"+")[0], [0, 0])

    def test_additions_to_many_keys_are_left_and_extremes_are_not(self):
        x, keys, out = numpy.ones(1000, "f4"), numpy.arange(1000), numpy.ones(1000, "f4")
        self.assertEqual(self.call(x, keys, out, b"+")[0], [0, 0])
        self.assertEqual(self.call(x, keys, out, b">")[0][1], 1)


if __name__ == "__main__":
    unittest.main()
