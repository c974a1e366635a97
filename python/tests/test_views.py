"""Arrays of the host may lie as they like: what random views give is what NumPy does."""

import os
import subprocess
import sys
import unittest

import numpy
import random_views

import redtune

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

CALLS = 300

# Columns of ops that do not go on from a part of them, on a GPU that has no room for one set of them.
SMALL = """
import numpy, redtune
redtune.configure(device="sim")
x = numpy.arange(3_600_000, dtype="i4").reshape(9, -1)
assert (redtune.argmin(x, axis=0) == 0).all() and (redtune.mean(x, axis=0) == x.mean(0)).all()
"""


class Views(unittest.TestCase):
    def same(self, got, want, what):
        self.assertEqual(numpy.shape(got), numpy.shape(want), what)
        numpy.testing.assert_allclose(got, want, 2e-6, 1e-6, err_msg=what)
        if "?" in what:
            self.assertEqual(got.dtype, want.dtype, what)

    def test_random_views_along_random_axes(self):
        self.assertEqual(random_views.run("numpy", CALLS, 20261127), (CALLS, []))

    def test_results_are_written_where_they_belong(self):
        x = numpy.arange(120, dtype="f4").reshape(2, 3, 4, 5)
        whole = numpy.zeros((8, 9), "f4")
        redtune.sum(x, axis=(0, 2), out=whole[1:4, ::-2])
        self.same(whole[1:4, ::-2], x.sum((0, 2)), "out")
        self.assertEqual(whole.sum(), x.sum())
        redtune.minmax(x, axis=(1, 3), out=(whole[:2, :4], whole[::-1, ::-1][:2, :4]))
        self.same(whole[:2, :4], x.min((1, 3)), "the first")
        self.same(whole[::-1, ::-1][:2, :4], x.max((1, 3)), "the second")

    def test_results_of_no_axes_are_the_elements(self):
        x = numpy.arange(12, dtype="f4").reshape(3, 4)
        for each in (x, x.T, x[:, ::-1], x[:0]):
            self.same(redtune.sum(each, axis=()), each, "sum")
            self.same(redtune.var(each, axis=(), keepdims=True), each * 0, "var")

    def test_ties_are_the_first_in_the_order_of_the_axes(self):
        x = numpy.array([[1, 3, 3], [3, 0, 3]], "f4")
        for each in (x, x.T, x[::-1], x[:, ::-1], x.T[::-1]):
            self.assertEqual(redtune.argmax(each), numpy.argmax(each))

    def test_the_order_of_elements_is_that_of_the_axes(self):
        x = numpy.random.default_rng(3).standard_normal((3, 40, 5, 30)).astype("f4")
        packed = numpy.ascontiguousarray(x.transpose(1, 0, 2, 3)).reshape(40, -1)
        for accuracy in ("plain", "exact"):
            got = redtune.sum(x, axis=(0, 2, 3), order="fixed", accuracy=accuracy)
            want = redtune.sum(packed, axis=1, order="fixed", accuracy=accuracy)
            self.assertEqual(got.tobytes(), want.tobytes())

    def test_windows_may_overlap_and_columns_may_have_gaps(self):
        x = numpy.arange(40, dtype="f4")
        for shape, strides in (((3, 5), (2, 1)), ((5, 3), (1, 1)), ((4, 3, 2), (2, 1, 1))):
            windows = numpy.lib.stride_tricks.as_strided(x, shape, numpy.multiply(strides, 4))
            for axis in (0, 1, -1):
                self.same(redtune.sum(windows, axis=axis), windows.sum(axis), f"{shape} {axis}")
        wide = numpy.arange(4000, dtype="f4").reshape(40, 100)
        for each in (wide[:, 3], wide[:, 3:5], wide[::7, ::50]):
            for axis in (None, 0, -1):
                self.same(redtune.mean(each, axis=axis), each.mean(axis), f"{each.strides} {axis}")

    def test_segments_have_any_step(self):
        x, offsets = numpy.arange(40, dtype="f4"), numpy.array([0, 9, 4, 9, 4, 9, 11, 9])
        for each in (x[::2], x[::-3], x[5:30], numpy.broadcast_to(x[3], 12)):
            got = redtune.segments(each, offsets[::2], op="max", order="free")
            self.same(got, [each[:4].max(), -numpy.inf, each[4:11].max()], f"{each.strides}")

    def test_columns_that_the_gpu_has_no_room_for_go_as_rows(self):
        space = dict(os.environ, REDTUNE_SIM_MEMORY="20M", PYTHONPATH=os.pathsep.join(sys.path))
        subprocess.run([sys.executable, "-c", SMALL], env=space, check=True)

    def test_bools_may_be_any_byte(self):
        x = numpy.array([[1, 0, 255], [2, 0, 128]], "u1").view(bool)
        self.assertEqual(redtune.sum(x), 4)
        self.assertEqual(redtune.sum(x[:, ::-1], axis=0).tolist(), [2, 0, 2])
        self.assertEqual(redtune.argmax(x, axis=1).tolist(), [0, 0])
        self.assertEqual(redtune.bitwise_and(x, axis=0).tolist(), [True, False, True])
        self.assertEqual(redtune.minmax(x).max.dtype, bool)

    def test_results_have_the_dtype_asked_for(self):
        random = numpy.random.default_rng(5)
        for dtype, result in (("i1", "f4"), ("u1", "i8"), ("?", "i4"), ("i4", "u2"), ("f8", "f4")):
            x = random.integers(0, 2 if dtype == "?" else 100, (3, 50)).astype(dtype)
            for op in ("sum", "mean", "var")[: 3 if result == "f4" else 1]:
                want = getattr(numpy, op)(x, axis=1, dtype=None if op != "sum" else result)
                got = getattr(redtune, op)(x, axis=1, dtype=numpy.dtype(result))
                self.same(got, want.astype(result), f"{op} of {dtype} as {result}")
                self.assertEqual(got.dtype, result)
        x = numpy.full(40, 100, "i1")
        self.same(redtune.prod(x[:19], dtype=numpy.float32), numpy.float32(1e38), "prod")

    @unittest.skipUnless(ml_dtypes, "there is no ml_dtypes")
    def test_floats_of_ml_dtypes(self):
        for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
            with self.subTest(name):
                self.extension(getattr(ml_dtypes, name))

    def extension(self, dtype):
        x = numpy.array([[1, 2.5, -3], [0, 8, 0.5]]).astype(dtype)
        for each in (x, x.T, x[::-1, ::2], x[0], x[:0]):
            self.same(redtune.sum(each), each.astype("f4").sum(), "sum")
            self.same(redtune.sum(each, axis=0), each.astype("f4").sum(0), "sums")
        got = redtune.max(x, axis=0)
        self.assertEqual((got.dtype, got.tolist()), (x.dtype, x.max(0).tolist()))
        self.assertEqual(redtune.sum(x.astype("f4"), dtype=x.dtype).dtype, x.dtype)
        self.assertEqual(redtune.dot(x[0, 1], x[0, 2]), -7.5)  # of scalars
        with self.assertRaisesRegex(TypeError, "bytes of its elements are swapped"):
            redtune.sum(x.view(x.dtype.newbyteorder(">")))
        out = numpy.empty((2, 2), x.dtype)[:, 1]
        redtune.max(x, axis=1, out=out)
        self.assertEqual(out.tolist(), x.max(1).tolist())


if __name__ == "__main__":
    unittest.main()
