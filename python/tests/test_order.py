"""configure(order="fixed") and REDTUNE_ORDER: what does not say its order is reduced in fixed order."""

import os
import unittest

import numpy
import sim_memory

import redtune

OPS = ("sum", "mean", "norm2", "logsumexp")
BATCHES = (1, 2, 7, 32)
LENGTH = 777


def setUpModule():
    os.environ.pop("REDTUNE_ORDER", None)


def bits(x):
    return numpy.asarray(x.numpy() if hasattr(x, "numpy") else x).tobytes()


def values(dtype, *shape):
    random = numpy.random.default_rng(20261127)
    return (random.standard_normal(shape) * 2.0 ** random.integers(-9, 9, shape)).astype(dtype)


def dtypes():
    try:
        import ml_dtypes
    except ImportError:
        return "f4", "f2"
    return "f4", "f2", ml_dtypes.bfloat16


class Order(unittest.TestCase):
    def setUp(self):
        redtune.configure(device="sim", order="fixed")
        self.addCleanup(redtune.configure, device="sim")

    def test_rows_have_the_same_bits_alone_and_among_others(self):
        for dtype in dtypes():
            x = values(dtype, max(BATCHES), LENGTH)
            for op in OPS:
                reduce = getattr(redtune, op)
                all = bits(reduce(x, axis=1))
                for batch in BATCHES:
                    found = bits(reduce(x[:batch], axis=1))
                    self.assertEqual(found, all[: len(found)], (op, dtype, batch))
                if dtype in ("f4", "f2"):
                    on_gpu = sim_memory.asarray(x[:7])
                    found = bits(reduce(on_gpu, axis=1))
                    self.assertEqual(found, all[: len(found)], (op, dtype, "on a GPU"))
                    plan = redtune.plan(on_gpu, op=op, axis=1)
                    self.assertEqual(bits(plan.run()), found)

    def test_a_call_may_say_its_order(self):
        x = values("f4", 100000)
        of = [bits(redtune.sum(x, order=order)) for order in (None, "fixed", "free", None, "free")]
        self.assertEqual([each == of[1] for each in of], [True, True, False, True, False])
        redtune.configure(device="sim")
        self.assertEqual(bits(redtune.sum(x)), of[2])

    def test_elements_are_numbered_by_their_indices(self):
        x = values("f4", 64, 100)
        self.assertEqual(bits(redtune.sum(x.T)), bits(redtune.sum(x.T.copy())))
        self.assertNotEqual(bits(redtune.sum(x.T)), bits(redtune.sum(x)))
        on_gpu = sim_memory.asarray(x).view((100, 64), (1, 100))
        self.assertEqual(bits(redtune.sum(on_gpu)), bits(redtune.sum(x.T.copy())))
        self.assertEqual(
            bits(redtune.sum(on_gpu, order="free")),
            bits(redtune.sum(sim_memory.asarray(x), order="free")),
        )
        whole = values("f4", 5, 3, 40)
        found = redtune.sum(sim_memory.asarray(whole), axis=(0, 2))
        packed = whole.transpose(1, 0, 2).copy()
        self.assertEqual(bits(found), bits(redtune.sum(packed, axis=(1, 2))))

    def test_what_has_no_fixed_order_is_refused(self):
        x = sim_memory.asarray(values("f4", 24))
        config = "block:block=256"  # of a family that has the free order
        with self.assertRaisesRegex((redtune.Error, ValueError), 'order="free"'):
            redtune.plan(x, config=config)
        redtune.plan(x, config=config, order="free")
        redtune.plan(x, config=config, op="max")

    def test_segments_and_lists_have_it(self):
        x = values("f4", 5000)
        on_gpu, offsets = sim_memory.asarray(x), sim_memory.asarray(numpy.array([0, 3, 5000]))
        want = bits(redtune.sum(x[:3])) + bits(redtune.sum(x[3:]))
        self.assertEqual(bits(redtune.segments(on_gpu, offsets)), want)
        self.assertEqual(bits(redtune.segments(x, numpy.array([0, 3, 5000]))), want)
        parts = redtune.List([sim_memory.asarray(x[:3]), sim_memory.asarray(x[3:])])
        self.assertEqual(bits(parts.reduce(each=True)), want)
        self.assertEqual(bits(parts.reduce()), bits(redtune.sum(x)))
        matrix = values("f4", 40, 30)
        permuted = redtune.List([sim_memory.asarray(matrix).view((30, 40), (1, 30))])
        want = bits(redtune.sum(matrix.T.copy()))
        self.assertEqual(bits(permuted.reduce(each=True)), want)

    def test_teams_have_it(self):
        team = redtune.Team(size=1)
        self.addCleanup(team.close)
        x = sim_memory.asarray(values("f4", 50000))
        self.assertEqual(bits(team.reduce(x, first=0)), bits(redtune.sum(x)))
        self.assertNotEqual(bits(team.reduce(x, order="free")), bits(redtune.sum(x)))
        with self.assertRaisesRegex(ValueError, 'order="free"'):
            team.reduce(redtune.List([x, x]), first=0)
        team.reduce(redtune.List([x, x]), order="free")
        team.reduce(redtune.List([x, x]), op="max")

    def test_the_environment_overrides_it(self):
        x = values("f4", 100000)
        want = bits(redtune.sum(x))
        self.addCleanup(os.environ.pop, "REDTUNE_ORDER")
        os.environ["REDTUNE_ORDER"] = "free"
        redtune.configure(device="sim", order="fixed")
        self.assertNotEqual(bits(redtune.sum(x)), want)
        os.environ["REDTUNE_ORDER"] = "fixed"
        redtune.configure(device="sim")
        self.assertEqual(bits(redtune.sum(x)), want)

    def test_other_words_are_refused(self):
        with self.assertRaisesRegex(ValueError, "order='any'.*free, fixed"):
            redtune.configure(device="sim", order="any")


if __name__ == "__main__":
    unittest.main()
