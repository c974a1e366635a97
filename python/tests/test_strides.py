"""Arrays of GPUs may lie as they like, too: what random views give is what NumPy does."""

import unittest
import warnings

import numpy
import random_views
import sim_memory
from random_views import on_gpu, view

import redtune

CALLS = 300
DTYPES = ("f4", "f8", "i4", "u1", "f2")


class Strides(unittest.TestCase):
    def same(self, got, want, what):
        self.assertEqual(got.shape, numpy.shape(want), what)
        tolerance = 2e-3 if "f2" in what else 2e-6
        numpy.testing.assert_allclose(got, want, tolerance, tolerance, err_msg=what)

    def test_random_views_along_random_axes(self):
        self.assertEqual(random_views.run("sim", CALLS, 20261128), (CALLS, []))

    def test_masks_lie_as_they_like(self):
        random = numpy.random.default_rng(20261129)
        for i in range(CALLS // 5):
            shape = tuple(map(int, random.integers(1, 6, random.integers(0, 7))))
            axis = random_views.draw_axis(random, "sum", len(shape))
            dtype = str(random.choice(DTYPES)) if not random.integers(8) else "f4"
            op = "sum" if i % 3 else str(random.choice(("mean", "var", "any", "all")))
            x = view(random, shape, dtype)
            mask = view(random, [n if random.integers(4) else 1 for n in shape], "?")
            more = {"initial": 3} if op == "sum" and random.integers(2) else {}
            what = f"{op} of {dtype} {shape} {x.strides} {mask.strides} along {axis}, {more}"
            with numpy.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of means of nothing
                wide = x.astype("f8") if dtype == "f2" else x
                want = getattr(numpy, op)(wide, axis=axis, where=mask, **more)
            got = getattr(redtune, op)(on_gpu(x), axis=axis, where=on_gpu(mask), **more)
            self.same(got.numpy(), want, what)
        x = numpy.array([[1, 9], [7, 3]], "f4")
        mask = numpy.array([[True], [False]])
        for axis in (None, 0, 1):
            got = redtune.argmax(on_gpu(x.T), axis=axis, where=on_gpu(mask.T)).numpy()
            want = redtune.argmax(x.T, axis=axis, where=mask.T)
            numpy.testing.assert_array_equal(got, want)

    def test_fixed_order_and_exact_sums_are_those_of_a_copy(self):
        random = numpy.random.default_rng(5)
        x = random.standard_normal((6, 5, 14, 15)) * 2.0 ** random.integers(-9, 9, 15)
        x = x.astype("f4")
        mask = random.random((5, 1, 15)) < 0.7
        for order, accuracy, dtype in (
            ("fixed", None, "f4"), ("fixed", None, "f2"), ("fixed", "compensated", "f4"),
            (None, "exact", "f4"), (None, "exact", "f8"),
        ):  # fmt: skip
            more = {"order": order, "accuracy": accuracy}
            for axis in ((0, 2, 3), (1, 3), (2, 0), 1):
                for each in (x, x[:, :, ::2, ::-1], x.transpose(3, 1, 0, 2)):
                    each = each.astype(dtype, order="A") if dtype != "f4" else each
                    axes = axis if isinstance(axis, tuple) else (axis,)
                    kept = [a for a in range(4) if a not in axes]
                    copy = numpy.transpose(each, kept + sorted(axes))
                    copy = numpy.ascontiguousarray(copy).reshape(*copy.shape[: len(kept)], -1)
                    got = redtune.sum(on_gpu(each), axis=axis, **more).numpy()
                    want = redtune.sum(copy, axis=-1, **more)
                    self.assertEqual(got.tobytes(), want.tobytes(), (more, axis, each.strides))
        got = redtune.sum(on_gpu(x), (0, 2), order="fixed", where=on_gpu(mask)).numpy()
        there = numpy.broadcast_to(mask, x.shape)
        want = redtune.sum(on_gpu(numpy.where(there, x, 0)), (0, 2), order="fixed").numpy()
        self.assertEqual(got.tobytes(), want.tobytes())

    def test_batches_of_planes(self):
        random = numpy.random.default_rng(7)
        for dtype in ("f4", "f2"):
            x = random.integers(-2, 3, (6, 5, 14, 14)).astype(dtype)
            for axis in ((0, 2, 3), (1, 3), (0, 2)):
                got = redtune.sum(on_gpu(x), axis=axis).numpy()
                self.same(got, x.astype("f4").sum(axis), dtype)
            mean, var = redtune.mean_var(on_gpu(x), axis=(0, 2, 3))
            self.same(mean.numpy(), x.astype("f8").mean((0, 2, 3)), dtype)
            self.same(var.numpy(), x.astype("f8").var((0, 2, 3)), dtype)

    def test_ties_are_the_first_in_the_order_of_the_axes(self):
        x = numpy.array([[1, 3, 3], [3, 0, 3]], "f4")
        for each in (x, x.T, x[::-1], x[:, ::-1], x.T[::-1]):
            self.assertEqual(redtune.argmax(on_gpu(each)).numpy(), numpy.argmax(each))

    def test_rows_against_one_vector(self):
        x = numpy.arange(60, dtype="f4").reshape(5, 12)
        for y in (numpy.broadcast_to(x[1], x.shape), numpy.broadcast_to(x[:, 2:3], x.shape)):
            for axis in (0, 1):
                got = redtune.dot(on_gpu(x), on_gpu(y), axis=axis)
                self.same(got.numpy(), (x * y).sum(axis), f"{y.strides} {axis}")

    def test_plans_run_on_arrays_that_lie_alike(self):
        x = numpy.arange(120, dtype="f4").reshape(4, 5, 6)
        out = sim_memory.empty((9,), "f4").view((5,), (2,))
        plan = redtune.plan(on_gpu(x), op="sum", axis=(0, 2), out=out)
        self.assertIn("strided", plan.config)
        plan.run()
        self.same(out.memory and redtune.sum(out, axis=()).numpy(), x.sum((0, 2)), "run")
        plan(on_gpu(2 * x), out=out)
        self.same(redtune.sum(out, axis=()).numpy(), 2 * x.sum((0, 2)), "another")
        with self.assertRaisesRegex(ValueError, "cannot run the plan on out"):
            plan(on_gpu(x))

    def test_what_has_no_kernels_says_so(self):
        x = on_gpu(numpy.ones((2, 3, 4), "f4"))
        outs = sim_memory.empty((3,), "f4"), sim_memory.empty((9,), "f4").view((3,), (2,))
        with self.assertRaisesRegex(ValueError, "the strides of the two arrays differ"):
            redtune.minmax(x, axis=(0, 2), out=outs)
        with self.assertRaisesRegex(ValueError, "may share memory"):
            redtune.sum(x, axis=(0, 2), out=sim_memory.empty((3,), "f4").view((3,), (0,)))


if __name__ == "__main__":
    unittest.main()
