"""Segments and reductions by key of arrays with gaps are those of packed copies, on the simulated GPU."""

import unittest

import numpy
import sim_memory
from random_views import on_gpu

import redtune

OPS = (("sum", "f4"), ("argmax", "u1"), ("mean", "f2"), ("max", "f8"))


def views(random, dtype):
    """Views of 60 elements: with gaps, backwards twice, one element again and again, a column."""
    x = random.integers(-9, 9, 240).astype(dtype)
    return [x[::4], x[:60][::-1], x[59::-1], numpy.broadcast_to(x[7:8], 60), x.reshape(60, 4)[:, 1]]


def copied(x):
    return sim_memory.asarray(x.copy())


class Packing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        redtune.configure(device="sim")

    @classmethod
    def tearDownClass(cls):
        redtune.configure()

    def same(self, got, want, what):
        self.assertEqual(got.numpy().tobytes(), want.numpy().tobytes(), what)

    def test_segments_take_values_offsets_and_masks_with_gaps(self):
        random = numpy.random.default_rng(46)
        offsets = numpy.array([0, 9, 7, 9, 20, 9, 20, 9, 60, 9], "i8")
        gaps = on_gpu(offsets[::2])
        packed = copied(offsets[::2])
        mask = random.random((60, 2)) < 0.6
        for turn, (op, dtype) in enumerate(OPS):
            order = ("free", "fixed")[turn % 2]
            for x in views(random, dtype):
                got = redtune.segments(on_gpu(x), gaps, op=op, order=order)
                want = redtune.segments(copied(x), packed, op=op, order=order)
                self.same(got, want, f"{op} {x.strides}")
        x = views(random, "f4")[0]
        got = redtune.segments(on_gpu(x), gaps, where=on_gpu(mask[:, 0]))
        want = redtune.segments(copied(x), packed, where=copied(mask[:, 0]))
        self.same(got, want, "masked")
        y = views(random, "f4")[1]
        got = redtune.segments(on_gpu(x), gaps, op="dot", y=on_gpu(y))
        want = redtune.segments(copied(x), packed, op="dot", y=copied(y))
        self.same(got, want, "dot")
        begin, end = on_gpu(offsets[::2][:-1]), on_gpu(offsets[2::2])
        got, want = redtune.segments(on_gpu(x), begin, end), redtune.segments(copied(x), packed)
        self.same(got, want, "begin and end")

    def test_keys_values_and_masks_by_key_have_gaps(self):
        random = numpy.random.default_rng(47)
        keys = random.integers(0, 5, 120).astype("i4")[::-2]
        mask = random.random((1, 60)) < 0.6
        for op, dtype in OPS:
            for x in views(random, dtype):
                got = redtune.by_key(on_gpu(x), on_gpu(keys), 5, op, order="fixed")
                want = redtune.by_key(copied(x), copied(keys), 5, op, order="fixed")
                self.same(got, want, f"{op} {x.strides}")
        rows = random.integers(-9, 9, (8, 60)).astype("f4").T[:, ::2]
        got = redtune.by_key(on_gpu(rows), on_gpu(keys), 5)
        self.same(got, redtune.by_key(copied(rows), copied(keys), 5), "rows")
        x, y = views(random, "f4")[:2]
        there = numpy.broadcast_to(mask[0, :1], 60)
        given = {"y": on_gpu(y), "where": on_gpu(mask[0, :1])}
        got = redtune.by_key(on_gpu(x), on_gpu(keys), 5, "wmean", **given)
        given = {"y": copied(y), "where": copied(there)}
        want = redtune.by_key(copied(x), copied(keys), 5, "wmean", **given)
        self.same(got, want, "wmean")

    def test_arrays_without_elements_have_gaps(self):
        rows = on_gpu(numpy.ones((0, 8), "f4")[:, ::2])
        got = redtune.by_key(rows, on_gpu(numpy.zeros(6, "i4")[0:0:2]), 5)
        self.assertEqual(got.numpy().tolist(), [[0] * 4] * 5)
        got = redtune.segments(on_gpu(numpy.ones(9, "f4")[0:0:2]), copied(numpy.array([0, 0], "i8")))
        self.assertEqual(got.numpy().tolist(), [0])

    def test_masks_of_segments_of_the_host_broadcast(self):
        x, offsets = numpy.arange(6, dtype="f4"), numpy.array([0, 2, 6])
        found = redtune.segments(x, offsets, where=numpy.array([True]))
        self.assertEqual(found.tolist(), [1, 14])
        found = redtune.segments(x[::-1], offsets, where=numpy.array([1, 0] * 6, bool)[::2])
        self.assertEqual(found.tolist(), [9, 6])

    def test_what_cannot_be_copied_is_refused(self):
        x = sim_memory.asarray(numpy.arange(8, dtype="f4"))
        offsets = sim_memory.asarray(numpy.array([0, 2, 4]))
        gaps = x.view((4,), (2,))
        with self.assertRaisesRegex(ValueError, "another stream than its .* give a contiguous"):
            redtune.segments(gaps, offsets, stream=4096)
        own = sim_memory.asarray(numpy.arange(8, dtype="f4"), sim_memory.Interfaced)
        with self.assertRaisesRegex(ValueError, "give a contiguous array"):  # on its own stream
            redtune.segments(own.view((4,), (2,)), offsets, out=sim_memory.empty((2,), "f4"))


if __name__ == "__main__":
    unittest.main()
