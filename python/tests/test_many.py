"""Many: calls leave no memory behind, and threads call at once, on the simulated GPU.

python/tests/gpu/many.py makes a million calls on a real one.
"""

import ctypes
import gc
import sys
import threading
import unittest

import numpy
import sim_memory

import redtune

CALLS = 12_000


class _MallocInfo(ctypes.Structure):
    """What mallinfo2 of glibc returns."""

    _fields_ = [(f"other_{i}", ctypes.c_size_t) for i in range(7)]
    _fields_ += [("in_use_bytes", ctypes.c_size_t)]
    _fields_ += [(f"other_{i}", ctypes.c_size_t) for i in range(7, 9)]


def in_use():
    """How many objects Python has, and the bytes that malloc has given out."""
    gc.collect()
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)  # of glibc 2.33 and newer
    if not mallinfo:
        return sys.getallocatedblocks(), 0
    mallinfo.restype = _MallocInfo
    return sys.getallocatedblocks(), mallinfo().in_use_bytes


def kinds():
    """One call of each kind; the arrays of some are gone right after them."""
    values = numpy.arange(8, dtype="f4").reshape(2, 4)
    x, whole = sim_memory.asarray(values), sim_memory.asarray(values.ravel())
    out = sim_memory.empty((), "f4")
    plan = redtune.plan(x, axis=1)
    parts = redtune.List([whole, whole])
    offsets = sim_memory.asarray(numpy.array([0, 3, 8], "i8"))
    read_only = numpy.zeros((), "f4")
    read_only.flags.writeable = False

    def refused(**keywords):
        try:
            redtune.sum(x, **keywords)
        except (TypeError, ValueError):
            return
        raise AssertionError(keywords)

    return [
        lambda: redtune.sum(x, out=out),
        lambda: redtune.max(x, axis=0, keepdims=True),
        lambda: redtune.mean_var(x, axis=(0, 1)),
        lambda: redtune.dot(x, x),
        lambda: redtune.sum(sim_memory.asarray(values, sim_memory.Interfaced)),
        plan.run,
        lambda: plan(x),
        lambda: parts.reduce("norm2", out=out),
        lambda: redtune.segments(whole, offsets),
        lambda: refused(axis=2),
        lambda: refused(dtype="f7"),
        lambda: refused(out=read_only),
    ]


class Many(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        redtune.configure(device="sim")
        cls.kinds = kinds()

    @classmethod
    def tearDownClass(cls):
        redtune.configure()

    def work(self, calls):
        for _ in range(calls // len(self.kinds)):
            for call in self.kinds:
                call()
        del sim_memory.given_back[:]  # a note for each

    def test_calls_leave_nothing_behind(self):
        self.work(2000)
        lent, (objects, held) = len(sim_memory._lent), in_use()
        self.work(CALLS)
        more_objects, more_held = in_use()
        of_each = CALLS // len(self.kinds)
        self.assertEqual(len(sim_memory._lent), lent)  # capsules that redtune holds
        self.assertLess(more_objects - objects, of_each // 2)
        self.assertLess(more_held - held, 16 * of_each)

    def test_arrays_of_the_host_leave_nothing_behind(self):
        # malloc is not asked: the scratch of their streams is freed a dozen at a time.
        values = numpy.arange(8, dtype="f4")
        redtune.sum(values)
        objects, _ = in_use()
        for _ in range(2000):
            redtune.sum(values)
        self.assertLess(in_use()[0] - objects, 1000)

    def test_threads_that_do_different_things_do_them_right(self):
        rounds, found = 20, []
        shapes = [(5,), (3, 4), (2, 3, 4), (7, 1), (1, 9), (40, 2), (6, 6), (2, 2)]

        def work(number):
            sim_memory.enter(0)
            host = numpy.arange(numpy.prod(shapes[number]), dtype="f4").reshape(shapes[number])
            for _ in range(rounds):
                x = sim_memory.asarray(host)
                total, least = redtune.sum(x), redtune.min(x, axis=0)
                del x
                right = float(total.numpy()) == host.sum()
                found.append(right and numpy.array_equal(least.numpy(), host.min(0)))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(shapes))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [True] * rounds * len(shapes))


if __name__ == "__main__":
    unittest.main()
