"""Lists of arrays with gaps, on the simulated GPU: what random views give is what their packed copies do."""

import unittest

import numpy
import sim_memory
from random_views import on_gpu

import redtune

OPS = ("sum", "argmax", "norm2", "max", "mean")


def random_view(random, dtype):
    """Up to three axes of any steps, in any order, of an array of small whole numbers."""
    axes = random.integers(0, 4)
    x = random.integers(-9, 9, random.integers(1, 9, axes)).astype(dtype)
    steps = [int(random.choice((1, 1, 2, -1, -2))) for _ in range(axes)]
    x = x[tuple(slice(None, None, step) for step in steps)]
    if axes and random.random() < 0.2:
        x = numpy.broadcast_to(x[:1], (4, *x.shape[1:]))
    return x.transpose(random.permutation(axes))


class Lists(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        redtune.configure(device="sim")

    @classmethod
    def tearDownClass(cls):
        redtune.configure()

    def test_random_views_count_as_their_copies(self):
        random = numpy.random.default_rng(46)
        for turn in range(12):
            op, dtype = OPS[turn % len(OPS)], ("f4", "u1", "f8")[turn % 3]
            views = [random_view(random, dtype) for _ in range(random.integers(1, 9))]
            views = [x for x in views if x.size or op not in ("max", "argmax")]
            if not views:
                continue
            made = redtune.List([on_gpu(x) for x in views])
            copies = redtune.List([sim_memory.asarray(x.copy()) for x in views])
            for order in ("free", "fixed"):
                got = made.reduce(op, each=True, order=order).numpy()
                want = copies.reduce(op, each=True, order=order).numpy()
                self.assertEqual(got.tobytes(), want.tobytes(), f"{op} {order} {views}")
            got, want = made.reduce(op).numpy(), copies.reduce(op).numpy()
            numpy.testing.assert_allclose(got, want, 1e-6, err_msg=f"{op} of all {views}")

    def test_masks_are_in_the_order_of_the_axes(self):
        random = numpy.random.default_rng(47)
        for op in ("sum", "argmin"):
            views = [random_view(random, "f4") for _ in range(6)]
            there = [numpy.asarray(random.random(x.shape) < 0.6) for x in views]
            masks = [on_gpu(m) for m in there]
            made = redtune.List([on_gpu(x) for x in views])
            got = made.reduce(op, where=masks, each=True).numpy()
            for x, m, each in zip(views, there, got):
                want = redtune.reduce(x.ravel(), op=op, where=m.ravel())
                self.assertEqual(each, want, op)

    def test_runs_read_the_elements_anew(self):
        x = sim_memory.asarray(numpy.zeros(20, "f4"))
        gaps = redtune.List([x.view((10,), (2,)), x.view((4, 2), (2, 8))])
        for number in (1, 2, 3):
            x.fill(numpy.where(numpy.arange(20) % 2, numpy.nan, number).astype("f4"))
            self.assertEqual(gaps.reduce(each=True).numpy().tolist(), [10 * number, 8 * number])

    def test_teams_take_them(self):
        x = sim_memory.asarray(numpy.arange(24, dtype="f4"))
        team = redtune.Team(size=1)
        self.addCleanup(team.close)
        found = team.reduce(redtune.List([x.view((4, 3), (6, 2)), x]), op="sum")
        self.assertEqual(float(found.numpy()), 12 * 11 + 276)


if __name__ == "__main__":
    unittest.main()
