"""Words: what NumPy, PyTorch and the array API standard call reductions and what these take."""

import itertools
import unittest
import warnings

import numpy

import redtune

SMALL = numpy.array([[3, -1, 2, 0], [5, 4, -2, 1], [1, 1, 7, -3]])


class Words(unittest.TestCase):
    def near(self, got, want, what):
        self.assertEqual(numpy.shape(got), numpy.shape(want), what)
        numpy.testing.assert_allclose(numpy.asarray(got, "f8"), want, rtol=2e-6, err_msg=what)

    def test_the_words_of_reductions_are_the_standards(self):
        # All is NumPy's, but that it refuses the extremes of nothing.
        words = "sum prod mean var std max min argmax argmin any all count_nonzero".split()
        generator = numpy.random.default_rng(6)
        for shape in ((), (0,), (5,), (0, 3), (3, 0), (2, 3), (2, 1, 3), (2, 0, 3)):
            x = generator.integers(0, 3, shape).astype("f4")
            count = len(shape)
            axes = [None, (), *range(-count - 1, count + 1), (0, 0), (0, count)]
            axes += [tuple(range(count))]
            axes += itertools.combinations(range(count), 2)
            for word, axis in itertools.product(words, axes):
                kept = bool(generator.integers(2))
                if word.startswith("arg") and isinstance(axis, tuple):
                    continue  # which NumPy does not take
                if not shape and axis not in (None, ()):
                    continue  # which only some of NumPy's do
                what = f"{word} of {shape} along {axis}, {kept}"
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of nothing
                    try:
                        want = getattr(numpy, word)(x, axis=axis, keepdims=kept)
                    except ValueError as error:
                        want = error
                try:
                    got = getattr(redtune, word)(x, axis=axis, keepdims=kept)
                except ValueError as error:
                    self.assertIsInstance(want, ValueError, what)
                    if isinstance(want, IndexError):
                        self.assertIsInstance(error, redtune.AxisError, what)
                    continue
                if isinstance(want, ValueError):
                    self.assertNotIsInstance(want, IndexError, what)
                    self.assertIn(word, ("max", "min"), what)
                    continue
                self.assertEqual(got.dtype, want.dtype, what)
                self.near(got, want, what)

    def test_matrix_norms_are_of_the_last_two_axes_or_those_named(self):
        x = numpy.array([[2, -7, 4], [0, 3, -1]], "f4")
        many = numpy.stack([x, 2 * x, -x]).reshape(3, 1, 2, 3)
        norm, wanted = redtune.linalg.matrix_norm, numpy.linalg.matrix_norm
        for p in ("fro", 1, -1, numpy.inf, -numpy.inf):
            for array in (x, many, many[:0]):
                self.near(norm(array, ord=p), wanted(array, ord=p), f"{p}")
                self.near(norm(array, p, keepdim=True), wanted(array, keepdims=True, ord=p), f"{p}")
        self.near(norm(many, 1, dim=(0, 3)), numpy.linalg.norm(many, 1, axis=(0, 3)), "named")
        self.assertEqual(norm(x, 1, dtype="f64").dtype, "f8")
        self.assertEqual(norm(numpy.empty((2, 0), "f4"), numpy.inf), 0)
        for p in ("fro", 1, numpy.inf):  # of integers as NumPy's: floats
            whole = redtune.linalg.norm(SMALL, p)
            self.near(whole, numpy.linalg.norm(SMALL, p), f"of integers, {p}")
            self.assertEqual(whole.dtype, "f8", p)
        for p in (3, "l2"):
            with self.assertRaisesRegex(ValueError, f"ord={p!r}.*'fro', 'nuc', 1, -1, 2, -2, inf or"):
                norm(x, p)
        for axes in (1, (0, 1, 2), (1,)):
            with self.assertRaisesRegex(ValueError, "give two axes"):
                norm(many, 1, axes)
        for axes in ((1, 1), (-1, 3)):
            with self.assertRaisesRegex(ValueError, "named twice"):
                norm(many, 1, axes)
        with self.assertRaisesRegex(redtune.AxisError, "no axis -2"):
            norm(x[0])
        for call in (redtune.linalg.norm, redtune.linalg.vector_norm, norm):
            with self.assertRaisesRegex(TypeError, "list is no array.*numpy.asarray"):
                call([[1, 2]])

    def test_norms_of_singular_values_are_those_of_the_arrays_library(self):
        x = numpy.array([[2, -7, 4], [0, 3, -1]], "f4")
        many = numpy.stack([x, 2 * x, -x]).reshape(3, 1, 2, 3)
        norm, its, linalg = redtune.norm, numpy.linalg.norm, redtune.linalg
        for p in (2, -2, "nuc"):
            self.near(linalg.norm(x, p), its(x, p), f"{p}")
            self.near(linalg.norm(x[:1], p, None, True), its(x[:1], p, None, True), f"{p}, kept")
            self.near(linalg.matrix_norm(many, p), its(many, p, (2, 3)), f"{p} of several")
            for axes in ((0, 3), (-1, 0), [2, 0]):
                for kept in (False, True):
                    what = f"{p} along {axes}, {kept}"
                    want = its(many, p, tuple(axes), kept)
                    self.near(linalg.norm(many, p, axes, kept), want, what)
                    self.near(linalg.matrix_norm(many, p, dim=axes, keepdim=kept), want, what)
            self.assertEqual(linalg.norm(x, p).dtype, "f4")  # the result's dtype is redtune.norm's
            for given in ("f2", "i4", "u1"):
                array = x.astype(given)
                got, wide = linalg.norm(array, p), redtune.norm(array).dtype
                self.near(got, its(array.astype("f8"), p), f"{p} of {given}")
                self.assertEqual(got.dtype, wide, f"{p} of {given}")
            for given in ("float64", "f2", numpy.float64, "f32"):
                got = linalg.matrix_norm(x, p, dtype=given)
                self.assertEqual(got.dtype, redtune.norm(x, dtype=given).dtype, given)
            with self.assertRaisesRegex(TypeError, "dtype='i32'.*float"):
                linalg.matrix_norm(x, p, dtype="i32")
            with self.assertRaisesRegex(ValueError, f"ord={p!r}.*NumPy, PyTorch and CuPy.*memoryview"):
                linalg.matrix_norm(memoryview(x), p)
        self.near(norm(x, "nuc"), its(x, "nuc"), "of all")
        self.near(norm(many, "nuc", (0, 3), True), its(many, "nuc", (0, 3), True), "named")
        with self.assertRaisesRegex(ValueError, "'nuc' and order"):
            norm(x, "nuc", order="fixed")
        with self.assertRaisesRegex(ValueError, "give two axes"):
            norm(many, "nuc")
        with self.assertRaisesRegex(TypeError, "masked array"):
            linalg.norm(numpy.ma.array(x), 2)

    def test_the_commands_functions_take_the_same_names(self):
        for dtype in ("f4", "float32", numpy.float32, numpy.dtype("f4")):
            why = redtune.explain("amax", dtype, size=64, device="sim")
            self.assertEqual((why["op"], why["dtype"]), ("max", "f32"))
        for dtype in ("f32,f64", ["f32", float]):
            options = redtune._tuning._options(op=["nanmin", "sum"], dtype=dtype)
            self.assertEqual(options, ["--op", "fmin,sum", "--dtype", "f32,f64"])

    def test_an_order_of_a_norm_is_a_number(self):
        for norm, word in ((redtune.norm, "ord"), (redtune.norm, "p"), (redtune.normp, "p")):
            for order in ("l2", [1], numpy.nan):
                with self.assertRaisesRegex(ValueError, "compute a norm with .*give a number"):
                    norm(SMALL, **{word: order})

    def test_an_axis_that_is_not_there_is_numpys_error(self):
        x = SMALL.astype("f4")
        for axis in (2, -3, (0, 2), 2**40):
            for error in (redtune.AxisError, ValueError, IndexError):  # NumPy's, PyTorch's
                with self.assertRaises(error):
                    redtune.sum(x, axis=axis)
                with self.assertRaises(error):
                    redtune.sum(x[:0], axis=axis)
        with self.assertRaises(redtune.AxisError):
            redtune.sum(x[0, 0], axis=1)
        for axis in ((0, 0), (0, -1)):
            with self.assertRaisesRegex(ValueError, "named twice"):
                redtune.sum(x[0, 0], axis=axis)
        with self.assertRaises(ValueError) as twice:  # which NumPy has as another
            redtune.sum(x, axis=(1, -1))
        self.assertNotIsInstance(twice.exception, IndexError)


if __name__ == "__main__":
    unittest.main()
