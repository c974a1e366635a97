"""Pairs: segments of two inputs, of the host and on the simulated GPU."""

import unittest

import numpy
import redtune

import sim_memory

OPS = ("dot", "mse", "cosine", "wmean", "cityblock", "chebyshev", "mismatches")
DTYPES = ("f4", "i4", "f8", "f2")


class Pairs(unittest.TestCase):
    def test_segments_have_the_results_of_arrays(self):
        """In fixed order their bits; of the host, and of a GPU with one table and with two."""
        random = numpy.random.default_rng(46)
        for turn in range(14):
            op, dtype = OPS[turn % len(OPS)], DTYPES[turn % 4]
            order = ("fixed", "free")[turn % 2]
            x, y = (random.integers(1, 5, 1 + 2000 * (turn % 3)).astype(dtype) for _ in range(2))
            begin = numpy.sort(random.integers(0, x.size + 1, 30)).astype(("i8", "i4")[turn % 2])
            outside = numpy.ones(x.size, bool)
            outside[begin[0] : begin[-1]] = False
            for each in x, y:
                each[outside] = 99 if dtype == "i4" else numpy.nan
            # They begin at other addresses modulo 16 bytes.
            raw, beside = (
                sim_memory.asarray(numpy.concatenate([each[:1]] * at + [each])).view(
                    each.shape, (1,), at
                )
                for each, at in ((x, 1), (y, turn % 4))
            )
            ends = [sim_memory.asarray(begin[:-1].copy()), sim_memory.asarray(begin[1:].copy())]
            found = (
                redtune.segments(x, begin, op=op, y=y, order=order),
                redtune.segments(x[::-1], begin, op=op, y=y[::-1], order=order),
                redtune.segments(raw, sim_memory.asarray(begin), op=op, y=beside, order=order),
                redtune.segments(raw, *ends, op=op, y=beside, order=order),
            )
            shown = (*found[:2], *(each.numpy() for each in found[2:]))
            function = getattr(redtune, op)
            for low, high, *got in zip(begin, begin[1:], *shown):
                its, back = slice(low, high), slice(x.size - high, x.size - low)
                want = function(x[its].copy(), y[its].copy(), order=order)
                turned = function(x[back][::-1].copy(), y[back][::-1].copy(), order=order)
                close = 0 if order == "fixed" else 1e-3 if dtype == "f2" else 1e-5
                for i, value in enumerate(got):
                    what = f"{op} of {dtype}, {order}, {low} to {high}, {i}"
                    right = turned if i == 1 else want
                    numpy.testing.assert_allclose(value, right, close, close, err_msg=what)

    def test_pairs_that_are_absent_change_no_segment(self):
        """In fixed order the bits are those of arrays with masks of their own; bools and bits."""
        random = numpy.random.default_rng(47)
        for turn in range(9):
            op, dtype = OPS[turn % len(OPS)], DTYPES[turn % 4]
            order = ("fixed", "free")[turn // 3 % 2]
            x, y = (random.integers(1, 5, 1 + 2000 * (turn % 3)).astype(dtype) for _ in range(2))
            mask = random.random(x.size) < (0.5, 0.03, 0.9)[turn // 3]
            x[~mask], y[~mask] = (99, 98) if dtype == "i4" else (numpy.nan, numpy.inf)
            begin = numpy.sort(random.integers(0, x.size + 1, 30)).astype(("i8", "i4")[turn % 2])
            bits = redtune.bits(numpy.packbits(mask, bitorder="little"))
            # They begin at other addresses modulo 16 bytes.
            raw, beside, there = (
                sim_memory.asarray(numpy.concatenate([each[:1]] * at + [each])).view(
                    each.shape, (1,), at
                )
                for each, at in ((x, 1), (y, turn % 4), (mask, turn % 5))
            )
            packed = numpy.packbits(numpy.append([False] * 3, mask), bitorder="little")
            gpu_bits = redtune.bits(sim_memory.asarray(packed), offset=3)
            tables = sim_memory.asarray(begin)
            ends = [sim_memory.asarray(begin[:-1].copy()), sim_memory.asarray(begin[1:].copy())]
            given = {"op": op, "order": order}
            found = (
                redtune.segments(x, begin, y=y, where=mask, **given),
                redtune.segments(x, begin, y=y, where=bits, **given),
                redtune.segments(raw, tables, y=beside, where=there, **given).numpy(),
                redtune.segments(raw, *ends, y=beside, where=gpu_bits, **given).numpy(),
            )
            function = getattr(redtune, op)
            for low, high, *got in zip(begin, begin[1:], *found):
                its = slice(low, high)
                want = function(x[its].copy(), y[its].copy(), where=mask[its].copy(), order=order)
                close = 0 if order == "fixed" else 1e-3 if dtype == "f2" else 1e-5
                for i, value in enumerate(got):
                    what = f"{op} of {dtype}, {order}, {low} to {high}, {i}"
                    numpy.testing.assert_allclose(value, want, close, close, err_msg=what)

    def test_one_of_two_broadcasts_to_the_other(self):
        random = numpy.random.default_rng(20261128)
        for shape in ((5,), (4, 1), (3, 1, 5), ()):
            x = random.integers(-3, 4, (3, 4, 5)).astype("f4")
            y = numpy.asarray(random.integers(-3, 4, shape)).astype("f4")
            on_gpu = [sim_memory.asarray(each) for each in (x, y)]
            on_gpu[1].shape = shape  # () too
            for axis in (None, -1, (0, 2)):
                want = numpy.sum(x * y, axis)
                for got in (
                    redtune.dot(x, y, axis=axis),
                    redtune.dot(y, x, axis=axis),
                    redtune.dot(*on_gpu, axis=axis).numpy(),
                    redtune.dot(*on_gpu[::-1], axis=axis).numpy(),
                ):
                    what = f"{shape} along {axis}"
                    self.assertEqual(got.shape, want.shape, what)
                    numpy.testing.assert_array_equal(got, want, what)
        where = random.random((4, 1)) < 0.6
        got = redtune.dot(x, x[0], axis=0, where=where)
        numpy.testing.assert_array_equal(got, numpy.sum(x * x[0], 0, where=where))

    def test_plans_of_a_vector_beside_rows(self):
        x, y = numpy.arange(12, dtype="f4").reshape(3, 4), numpy.arange(4, dtype="f4")
        on_gpu = [sim_memory.asarray(each) for each in (x, x + 1, y, y - 2)]
        plan = redtune.plan(on_gpu[0], on_gpu[2], op="dot", axis=1)
        numpy.testing.assert_array_equal(plan(on_gpu[1], on_gpu[3]).numpy(), (x + 1) @ (y - 2))
        with self.assertRaisesRegex(ValueError, "on y: its shape, strides"):
            plan(on_gpu[0], on_gpu[1])

    def test_vecdot_and_average_are_numpys(self):
        random = numpy.random.default_rng(46)
        x, y = (random.random(shape).astype("f4") for shape in ((3, 4, 5), (5,)))
        weights = random.random((3, 4)).astype("f4")
        near = numpy.testing.assert_allclose
        near(redtune.vecdot(x, y), numpy.sum(x * y, -1), 1e-5)
        near(redtune.linalg.vecdot(y, x), numpy.sum(x * y, -1), 1e-5)
        near(redtune.vecdot(x, x[:1], axis=1), numpy.sum(x * x[:1], 1), 1e-5)
        near(redtune.average(x, 2), numpy.average(x, 2), 1e-5)
        near(redtune.average(x, 2, y), numpy.average(x, 2, y), 1e-5)
        near(redtune.average(x, (0, -2), weights), numpy.average(x, (0, 1), weights), 1e-5)
        near(redtune.average(a=x, weights=x), numpy.average(x, weights=x), 1e-5)

    def test_what_is_no_pair_is_refused(self):
        x, offsets = numpy.arange(6, dtype="f4"), numpy.array([0, 2, 6])
        on_gpu = sim_memory.asarray(x)
        cases = [
            (lambda: redtune.segments(x, offsets, op="dot"), TypeError, "give y="),
            (lambda: redtune.segments(x, offsets, y=x), TypeError, "leave y out"),
            (lambda: redtune.segments(x, offsets, op="dot", y=x[1:]), ValueError, "and y 5"),
            (lambda: redtune.segments(x, offsets, op="dot", y=x[None]), ValueError, "of y: give"),
            (lambda: redtune.segments(x, offsets, op="dot", y=x.astype("f8")), TypeError, "f64"),
            (lambda: redtune.segments(x, offsets, op="dot", y=on_gpu), ValueError, "devices"),
            (
                lambda: redtune.segments(x, offsets, op="dot", y=x, where=x),
                TypeError, "give bools",
            ),
            (
                lambda: redtune.segments(x, offsets, op="dot", y=x, out=x[:2]),
                ValueError, "overlaps x",
            ),
            (lambda: redtune.List([x, x]).reduce("dot"), TypeError, "of a list: it has two inputs"),
            (lambda: redtune.List([x]).reduce("dot", y=[x]), TypeError, "redtune.segments with y"),
        ]  # fmt: skip
        for call, error, text in cases:
            with self.assertRaisesRegex(error, text):
                call()


if __name__ == "__main__":
    unittest.main()
