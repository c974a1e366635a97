"""Reductions by key are what NumPy's add.at and its like give."""

import pathlib
import tempfile
import unittest

import numpy
import random_keys
import sim_memory

import redtune

CALLS, CLASSES = 200, 10

# An element counts by more than 1.
BILLIONS = """
local accumulator = require "lib/accumulator"
return {
    name = "billions", formula = "the sum of x[i] * 10^9", result = "i64",
    make = function()
        return {
            acc = accumulator.i64, identity = "0ll",
            map = function(x) return ("(i64)((double)%s * 1e9)"):format(x) end,
            combine = function(a, b) return ("%s + %s"):format(a, b) end,
            finalize = function(a) return a end,
        }
    end,
}
"""


class Keys(unittest.TestCase):
    def test_random_calls_of_random_classes(self):
        self.assertEqual(random_keys.run("sim", CALLS, CLASSES, 20261128), (CALLS, CLASSES, []))

    def test_the_number_of_keys_follows_from_the_greatest(self):
        x, keys = numpy.arange(6, dtype="f4"), numpy.array([3, 0, 3, 1, 0, 3], "i4")
        got = redtune.by_key(sim_memory.asarray(x), sim_memory.asarray(keys))
        numpy.testing.assert_array_equal(got.numpy(), numpy.bincount(keys, x))
        for none in (numpy.zeros(0, "i4"), numpy.array([-1, -7], "i4")):
            x = sim_memory.asarray(numpy.zeros(len(none), "f4"))
            self.assertEqual(redtune.by_key(x, sim_memory.asarray(none)).shape, (0,))

    def test_several_results_and_parameters(self):
        x = sim_memory.asarray(numpy.array([1, 5, 2, 8, 4], "f4"))
        keys = sim_memory.asarray(numpy.array([0, 1, 0, 1, 1], "i8"))
        found = redtune.by_key(x, keys, 2, "max_at")
        numpy.testing.assert_array_equal(found[0].numpy(), [2, 8])
        numpy.testing.assert_array_equal(found[1].numpy(), [2, 3])
        found = redtune.by_key(x, keys, 3, "mean_var", ddof=0)
        numpy.testing.assert_allclose(found.mean.numpy(), [1.5, 17 / 3, numpy.nan], 1e-6)
        numpy.testing.assert_allclose(found.var.numpy()[:2], [0.25, 26 / 9], 1e-6)

    def test_integers_of_an_op_of_the_users_keep_all_bits(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "billions.lua")
            file.write_text(BILLIONS)
            redtune.configure(ops=str(file))
            x = numpy.random.default_rng(1).integers(-9, 9, 60000).astype("f4")
            keys = (numpy.arange(60000) % 4096).astype("i4")
            want = numpy.zeros(4096, "i8")
            numpy.add.at(want, keys, x.astype("i8") * 10**9)
            got = redtune.by_key(x, keys, 4096, op="billions")
        self.assertTrue((numpy.asarray(got) == want).all())

    def test_ops_without_atomics_take_any_number_of_keys(self):
        keys = numpy.array([89999, 3, 89999, 3, 5], "i4")
        gpu = [sim_memory.asarray(each) for each in (numpy.array([1, 5, 2, 8, 4], "f4"), keys)]
        found = redtune.by_key(*gpu, 90000, "argmax").numpy()
        want = numpy.full(90000, -1)
        want[[3, 5, 89999]] = 3, 4, 2
        numpy.testing.assert_array_equal(found, want)

    def test_keys_have_the_bits_of_their_elements_in_fixed_order(self):
        numbers = numpy.random.default_rng(8)
        x = (numbers.standard_normal(3000) * 10.0 ** numbers.integers(-6, 6, 3000)).astype("f4")
        keys = numbers.integers(0, 5, 3000)
        for given in ({"order": "fixed"}, {"accuracy": "compensated"}):
            for place in (sim_memory.asarray, numpy.asarray):
                got = redtune.by_key(place(x), place(keys), 5, **given)
                want = [redtune.sum(x[keys == k], **given) for k in range(5)]
                got = got if place is numpy.asarray else got.numpy()
                if "order" in given:
                    self.assertEqual(got.tolist(), [float(each) for each in want], given)
                numpy.testing.assert_allclose(got, want, 1e-6)
        apart, both = numpy.array([2.0**60, -(2.0**60), 1], "f4"), {"order": "fixed"}
        for both["accuracy"], want in (("plain", 0), ("compensated", 1)):
            got = redtune.by_key(apart, numpy.zeros(3, "i4"), 1, **both)
            self.assertEqual(got.tolist(), [want])

    def test_out_takes_the_results(self):
        x = sim_memory.asarray(numpy.ones(9, "i4"))
        keys = sim_memory.asarray(numpy.zeros(9, "u1"))
        out = sim_memory.asarray(numpy.zeros(2, "i8"))
        self.assertIs(redtune.by_key(x, keys, 2, out=out), out)
        numpy.testing.assert_array_equal(out.numpy(), [9, 0])

    def test_rows_have_results_of_each_column(self):
        random = numpy.random.default_rng(7)
        for shape in ((200, 3), (150, 4, 2), (90, 33), (0, 5), (4, 0)):
            x, keys = random.integers(0, 9, shape).astype("f4"), random.integers(0, 12, shape[0])
            for place in (sim_memory.asarray, numpy.asarray):
                for op, at in (("sum", numpy.add), ("max", numpy.maximum)):
                    got = redtune.by_key(place(x), place(keys), 10, op)
                    want = numpy.full((10, *shape[1:]), 0 if op == "sum" else -numpy.inf, "f4")
                    at.at(want, keys[keys < 10], x[keys < 10])
                    there = numpy.isin(range(10), keys) | (op == "sum")
                    got = got if place is numpy.asarray else got.numpy()
                    numpy.testing.assert_array_equal(got[there], want[there], f"{op} {shape}")

    def test_arrays_of_the_host_may_have_any_strides(self):
        x, keys = numpy.arange(60, dtype="f8"), numpy.arange(60) % 7
        for a, k in ((x, keys), (x[::2], keys[::-2]), (x.reshape(20, 3)[::-1, 1:], keys[:20])):
            want = numpy.zeros((7, *a.shape[1:]))
            numpy.add.at(want, k, a)
            got = redtune.by_key(a, k)
            self.assertIsInstance(got, numpy.ndarray)
            numpy.testing.assert_array_equal(got, want)
        out = numpy.zeros(14)[::2]
        self.assertIs(redtune.by_key(x, keys, 7, "mean", out=out), out)
        numpy.testing.assert_allclose(out, [x[keys == k].mean() for k in range(7)])
        found = redtune.by_key(x, keys, 8, "max_at")
        numpy.testing.assert_array_equal(found[1], [56, 57, 58, 59, 53, 54, 55, -1])

    def test_two_inputs_have_keys_together(self):
        random = numpy.random.default_rng(9)
        for shape, order in (((3000,), None), ((900,), "fixed"), ((150, 5), None)):
            x, y = (random.integers(-4, 5, shape).astype("f4") for _ in range(2))
            keys = random.integers(-1, 12, shape[0])
            here = (keys >= 0) & (keys < 10)
            want = numpy.zeros((10, *shape[1:]))
            numpy.add.at(want, keys[here], (x * y)[here])
            for place in (sim_memory.asarray, lambda a: a):
                got = redtune.by_key(*map(place, (x, keys)), 10, "dot", y=place(y), order=order)
                got = got if isinstance(got, numpy.ndarray) else got.numpy()
                numpy.testing.assert_array_equal(got, want)
        x = numpy.arange(40, dtype="f4")
        got = redtune.by_key(x, numpy.arange(40) % 3, 3, "mse", y=x[::-1])
        want = [numpy.mean((x[k::3] - x[::-1][k::3]) ** 2) for k in range(3)]
        numpy.testing.assert_allclose(got, want, 1e-6)

    def test_pairs_that_are_absent_have_no_key(self):
        random = numpy.random.default_rng(11)
        for shape, order in (((3000,), None), ((900,), "fixed"), ((150, 5), None)):
            x, y = (random.integers(-4, 5, shape).astype("f4") for _ in range(2))
            keys, where = random.integers(-1, 12, shape[0]), random.random(shape) < 0.6
            x[~where], y[~where] = numpy.nan, numpy.inf
            there = where & ((keys >= 0) & (keys < 10)).reshape(-1, *[1] * (len(shape) - 1))
            rows = numpy.broadcast_to(keys.reshape(-1, *[1] * (len(shape) - 1)), shape)
            at = (rows[there], *numpy.nonzero(there)[1:])
            dots, squares, counts = (numpy.zeros((10, *shape[1:])) for _ in range(3))
            numpy.add.at(dots, at, (x * y)[there])
            numpy.add.at(squares, at, ((x - y) ** 2)[there])
            numpy.add.at(counts, at, 1)
            bits = redtune.bits(numpy.packbits(where, bitorder="little"))
            for op, want in (("dot", dots), ("mse", squares / counts)):
                given = {"order": order, "y": y, "where": where}
                got = redtune.by_key(x, keys, 10, op, **given)
                numpy.testing.assert_allclose(got, want, 1e-6, err_msg=f"{op} {shape}")
                got = redtune.by_key(x, keys, 10, op, **{**given, "where": bits})
                numpy.testing.assert_allclose(got, want, 1e-6, err_msg=f"{op} {shape}, bits")
                given.update(y=sim_memory.asarray(y), where=sim_memory.asarray(where))
                got = redtune.by_key(*map(sim_memory.asarray, (x, keys)), 10, op, **given)
                numpy.testing.assert_allclose(got.numpy(), want, 1e-6, err_msg=f"{op} {shape}, GPU")

    def test_absent_elements_have_no_key(self):
        random = numpy.random.default_rng(10)
        for shape in ((3000,), (150, 6)):
            x, keys = random.integers(-4, 5, shape).astype("f4"), random.integers(-3, 12, shape[0])
            where = random.random(shape) < 0.6
            x[~where] = numpy.nan
            here = where & ((keys >= 0) & (keys < 10)).reshape(-1, *[1] * (len(shape) - 1))
            rows = numpy.broadcast_to(keys.reshape(-1, *[1] * (len(shape) - 1)), shape)
            at = (rows[here], *numpy.nonzero(here)[1:])
            sums, counts = (numpy.zeros((10, *shape[1:])) for _ in range(2))
            numpy.add.at(sums, at, x[here])
            numpy.add.at(counts, at, 1)
            skipped = sim_memory.asarray(numpy.zeros(1, "i8"))
            bits = redtune.bits(numpy.packbits(where, bitorder="little"))
            gpu = {"where": sim_memory.asarray(where), "skipped": skipped}
            for given in ({"where": where}, {"where": bits}, gpu):
                place = sim_memory.asarray if given is gpu else numpy.asarray
                for op, want in (("sum", sums), ("mean", sums / counts)):
                    got = redtune.by_key(place(x), place(keys), 10, op, **given)
                    got = got.numpy() if given is gpu else got
                    numpy.testing.assert_allclose(got, want, 1e-6, err_msg=f"{op} {shape}")
            # Of rows keys count, whatever their elements.
            outside = (keys < 0) | (keys > 9)
            outside = numpy.count_nonzero(outside & where if len(shape) == 1 else outside)
            self.assertEqual(skipped.numpy()[0], 2 * outside)
        rows = redtune.by_key(x, keys, 10, "argmax", where=where, order="fixed")
        for d in range(x.shape[1]):
            given = {"where": where[:, d].copy(), "order": "fixed"}
            want = redtune.by_key(x[:, d].copy(), keys, 10, "argmax", **given)
            self.assertEqual(rows[:, d].tolist(), want.tolist())
        where = where[:, 0]
        got = redtune.by_key(x[:, 0], keys, 10, "argmax", where=where, order="fixed")
        for k in range(10):
            own = numpy.nonzero(where & (keys == k))[0]
            self.assertEqual(got[k], own[x[own, 0].argmax()] if len(own) else -1)

    def test_refusals_name_the_remedy(self):
        x, keys = sim_memory.asarray(numpy.ones(4, "f4")), sim_memory.asarray(numpy.ones(4, "i4"))
        few = sim_memory.asarray(numpy.ones(3, "i4"))
        host = numpy.ones(4, "f4")
        huge = sim_memory.asarray(numpy.arange(4, dtype="u8") + 2**63 - 1)
        for call, kind, text in (
            (lambda: redtune.by_key(host, host.astype("i4"), 2, skipped=few), ValueError, "count them there"),
            (lambda: redtune.by_key(x, x, 2), TypeError, "keys of f32: give integers"),
            (lambda: redtune.by_key(x, few, 2), ValueError, "as long as"),
            (lambda: redtune.by_key(host, [0, 1, 1, 0]), TypeError, "keys of a list"),
            (lambda: redtune.by_key(host, (0, 1, 1, 0), 2), TypeError, "keys of a list"),
            (lambda: redtune.by_key(x, host.astype("i4"), 2), ValueError, "another device"),
            (lambda: redtune.by_key(x, keys, 2, "dot"), TypeError, "two inputs; give y"),
            (lambda: redtune.by_key(x, keys, 2, "sum", y=x), TypeError, "leave y out"),
            (lambda: redtune.by_key(x, keys, 2, "dot", y=few), TypeError, "f32 and i32"),
            (
                lambda: redtune.by_key(host, host.astype("i4"), 2, "dot", y=host[:3]),
                ValueError,
                "(4,) and (3,)",
            ),
            (lambda: redtune.by_key(x, keys, 2, "dot", y=host), ValueError, "different devices"),
            (lambda: redtune.by_key(x, keys, 2, "dot", y=x, where=host > 0), ValueError, "different devices"),
            (lambda: redtune.by_key(x, keys, 2, "mean", initial=1), TypeError, "with initial"),
            (lambda: redtune.by_key(x, keys, 2, where=host), TypeError, "f32; give bools"),
            (lambda: redtune.by_key(x, keys, -1), ValueError, "K=-1"),
            (lambda: redtune.by_key(x, keys, 2**60), ValueError, "1152921504606846976 keys"),
            (lambda: redtune.by_key(x, huge), ValueError, "9223372036854775811 keys"),
            (lambda: redtune.by_key(x, keys, stream=1), ValueError, "without K: give K"),
            (lambda: redtune.by_key(x, keys, 2, stream="main"), TypeError, "'main' as stream"),
            (lambda: redtune.by_key(x, keys, 2, spread="wide"), ValueError, "spread='wide'"),
            (lambda: redtune.by_key(x, keys, 2, skipped=few), ValueError, "one int64"),
        ):
            with self.assertRaises(kind) as raised:
                call()
            self.assertIn(text, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
