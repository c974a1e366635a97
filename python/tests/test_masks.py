"""where= and initial=: what random masks of random views leave is what NumPy's do."""

import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy
import sim_memory

import redtune

CALLS = 200
OPS = ("sum", "mean", "prod", "var", "std", "any", "all", "max", "min")  # NumPy takes where for
INITIAL = {"sum": 3, "prod": 2, "max": 1, "min": 1}
RECORDED = """
import numpy, redtune, sys
redtune.configure(device="sim", record=sys.argv[1])
x = numpy.ones(1000, "f4")
redtune.sum(x), redtune.mean(x, where=x > 0)
"""
DTYPES = ("f4", "f8", "i4", "i1", "u2")
SEGMENTED = ("sum", "mean", "var", "norm2", "argmin", "nanmean", "logsumexp", "count_nonzero")


def poisoned(random, x, mask):
    """x with elements that would show in place of those that the mask leaves out."""
    spoils = x.dtype.kind == "f"
    poison = random.choice([numpy.nan, numpy.inf, -numpy.inf] if spoils else [77, 99], x.shape)
    return numpy.where(mask, x, poison.astype(x.dtype))


def of_pairs(made, root=False):
    """The sum that NumPy makes of each pair's number, or its square root."""

    def reduce(x, y, **how):
        total = numpy.sum(made(x, y), **how)
        return numpy.sqrt(total) if root else total

    return reduce


def cosine(x, y, **how):
    squares = numpy.sum(x * x, **how) * numpy.sum(y * y, **how)
    return numpy.sum(x * y, **how) / numpy.sqrt(squares)


PAIRS = {
    "dot": of_pairs(lambda x, y: x * y),
    "sqeuclidean": of_pairs(lambda x, y: (x - y) ** 2),
    "euclidean": of_pairs(lambda x, y: (x - y) ** 2, root=True),
    "cityblock": of_pairs(lambda x, y: abs(x - y)),
    "chebyshev": lambda x, y, **how: numpy.max(abs(x - y), initial=0, **how),
    "cosine": cosine,
    "wmean": lambda x, y, **how: numpy.sum(x * y, **how) / numpy.sum(y, **how),
    "mismatches": of_pairs(lambda x, y: x != y),
    "mse": lambda x, y, **how: numpy.mean((x - y) ** 2, **how),
}


class Masks(unittest.TestCase):
    def check(self, op, x, shown, axis, mask, what, **more):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of means of nothing
            want = getattr(numpy, op)(x, axis=axis, where=mask, **more)
        got = getattr(redtune, op)(shown, axis=axis, where=mask, **more)
        self.assertEqual(numpy.shape(got), numpy.shape(want), what)
        numpy.testing.assert_allclose(got, want, 2e-5, 1e-5, err_msg=what)

    def test_random_masks_of_random_views(self):
        random = numpy.random.default_rng(20261127)
        for _ in range(CALLS):
            shape = tuple(map(int, random.integers(1, 9, random.integers(1, 5))))
            op, dtype = str(random.choice(OPS)), str(random.choice(DTYPES))
            axes = random.permutation(len(shape))[: random.integers(1, len(shape) + 1)]
            axis = tuple(map(int, axes)) if random.integers(4) else None
            whole = random.integers(0, 4, shape).astype(dtype)
            steps = tuple(slice(None, None, random.choice([1, 1, -1, 2])) for _ in shape)
            x = whole[steps].transpose(random.permutation(len(shape)))
            axis = axis and tuple(a % x.ndim for a in axis)
            sizes = [n if random.integers(4) else 1 for n in x.shape[random.integers(0, 2) :]]
            mask = random.random(sizes) < random.choice([0.1, 0.5, 0.9])
            shown = poisoned(random, x, mask)
            order = "K" if random.integers(2) else "C"
            shown = shown.astype(dtype, order=order)
            more = {"initial": INITIAL[op]} if op in ("max", "min") else {}
            if op in INITIAL and random.integers(2):
                more["initial"] = INITIAL[op]
            what = f"{op} of {dtype} {x.shape} along {axis}, mask {mask.shape}, {more}"
            with self.subTest(what):
                self.check(op, x, shown, axis, mask, what, **more)

    def test_any_byte_but_0_is_true(self):
        mask = numpy.array([1, 0, 255, 2, 0], "u1").view(bool)
        self.assertEqual(redtune.sum(numpy.arange(5.0), where=mask), 5)

    def test_any_byte_but_0_is_true_on_a_gpu(self):
        raw = numpy.random.default_rng(5).choice(numpy.array([0, 1, 2, 128, 255], "u1"), (9, 35))
        x, bools = sim_memory.asarray(raw.view(bool)), raw != 0
        ops = "sum prod mean var max min argmax argmin any all count_nonzero bitwise_xor bitwise_and"
        for op in ops.split():
            ufunc = getattr(getattr(numpy, op), "reduce", None)
            for axis in (None, 0, 1):
                got = getattr(redtune, op)(x, axis=axis).numpy()
                want = (ufunc or getattr(numpy, op))(bools, axis=axis)
                numpy.testing.assert_allclose(got, want, 1e-6, err_msg=f"{op} along {axis}")
        got = redtune.sum(x, where=sim_memory.asarray(~bools | (raw > 1))).numpy()
        self.assertEqual(got, (raw > 1).sum())

    def test_all_are_there_or_none(self):
        x = numpy.arange(6, dtype="f4")
        self.assertEqual(redtune.sum(x, where=True), 15)
        self.assertEqual(redtune.sum(x, where=False), 0)
        self.assertEqual(redtune.sum(x, where=[True] * 3 + [False] * 3), 3)
        self.assertTrue(numpy.isnan(redtune.mean(x, where=False)))
        self.assertEqual(redtune.argmax(x, where=False), -1)
        self.assertEqual(redtune.max(x, where=False, initial=-7), -7)

    def test_pairs_are_left_out(self):
        """Of two inputs of any strides, of the host and of a GPU, by bools and by bits."""
        random = numpy.random.default_rng(17)
        for turn in range(18):
            op, dtype = tuple(PAIRS)[turn % len(PAIRS)], ("f4", "f8")[turn % 2]
            shape = ((700,), (9, 33), (3, 4, 5))[turn % 3]
            axis, order = (None, -1)[turn // 3 % 2], ("free", "fixed")[turn // 9]
            x, y = (random.integers(1, 9, shape).astype(dtype) for _ in "xy")
            sizes = shape[min(turn // 4 % 2, len(shape) - 1) :]
            mask = random.random(sizes) < (0.1, 0.5, 1)[turn // 3 % 3]
            there = numpy.broadcast_to(mask, shape)
            with numpy.errstate(all="ignore"):  # of no pairs
                want = PAIRS[op](x.astype("f8"), y.astype("f8"), axis=axis, where=there)
            shown = poisoned(random, x, there), poisoned(random, y, there)[..., ::-1].copy()
            padded = numpy.append(numpy.zeros(turn, bool), there)
            raw = numpy.packbits(padded, bitorder="little")
            on_gpu = [sim_memory.asarray(each) for each in (shown[0], shown[1][..., ::-1])]
            for given, where in (
                ((shown[0], shown[1][..., ::-1]), mask),
                (on_gpu, sim_memory.asarray(mask)),
                (on_gpu, redtune.bits(sim_memory.asarray(raw), turn)),
            ):
                got = getattr(redtune, op)(*given, axis=axis, where=where, order=order)
                got = got.numpy() if where is not mask else got
                numpy.testing.assert_allclose(got, want, 1e-5, err_msg=f"{op} {dtype} {turn}")

    def test_absent_pairs_keep_their_numbers(self):
        random = numpy.random.default_rng(19)
        x, y = random.standard_normal((2, 3, 5000)).astype("f4")
        mask = random.random(x.shape) < 0.5
        shown, zeros = numpy.where(mask, x, numpy.nan), [numpy.where(mask, v, 0) for v in (x, y)]
        for axis in (None, 0, 1):
            got = redtune.dot(shown, y, axis, where=mask, order="fixed")
            want = redtune.dot(*zeros, axis, order="fixed")
            self.assertEqual(numpy.asarray(got).tobytes(), numpy.asarray(want).tobytes())

    def test_no_pairs(self):
        x = numpy.ones(6, "f4")
        self.assertEqual(redtune.dot(x, x, where=False), 0)
        self.assertTrue(numpy.isnan(redtune.mse(x, x, where=numpy.zeros(6, bool))))
        self.assertEqual(redtune.dot(x[:0], x[:0], where=numpy.zeros(0, bool)), 0)

    def test_places_are_those_of_all_elements(self):
        x = numpy.array([9, 1, 5, 9, 7, numpy.nan], "f4")
        mask = numpy.array([0, 1, 1, 0, 1, 0], bool)
        self.assertEqual(redtune.argmax(x, where=mask), 4)
        self.assertEqual(tuple(redtune.min_at(x, where=mask)), (1, 1))
        self.assertEqual(redtune.nanargmax(x, where=~mask), 0)
        self.assertEqual(redtune.argmax(x, where=~mask), 5)
        low = numpy.full((3, 40), -numpy.inf, "f4")  # which no element is greater than
        there = numpy.zeros(low.shape, bool)
        there[1:, 7:] = True
        self.assertEqual(redtune.argmax(low, where=there), 47)
        self.assertEqual(redtune.argmax(low, axis=0, where=there)[7:].tolist(), [1] * 33)
        self.assertEqual(redtune.argmax(low, axis=1, where=there).tolist(), [-1, 7, 7])

    def test_skips_nan_as_well(self):
        x = numpy.array([numpy.nan, 1, 5, 9], "f4")
        mask = numpy.array([1, 1, 1, 0], bool)
        self.assertEqual(redtune.nansum(x, where=mask), 6)
        self.assertEqual(redtune.nanmean(x, where=mask), 3)
        self.assertEqual(redtune.nanvar(x, where=mask), 4)

    def test_absent_elements_keep_their_numbers(self):
        random = numpy.random.default_rng(7)
        x = random.standard_normal((3, 5000)).astype("f4")
        mask = random.random(x.shape) < 0.5
        for axis in (None, 0, 1):
            got = redtune.sum(numpy.where(mask, x, numpy.nan), axis, where=mask, order="fixed")
            want = redtune.sum(numpy.where(mask, x, 0), axis, order="fixed")
            self.assertEqual(numpy.asarray(got).tobytes(), numpy.asarray(want).tobytes())

    def test_moments_in_fixed_order_have_the_bits_of_those_without_a_mask(self):
        """Where the first elements are there, they have the numbers of the array cut behind them."""
        random = numpy.random.default_rng(37)
        for op, dtype, spoils in (
            ("var", "f4", numpy.inf),
            ("nanvar", "f2", numpy.nan),
            ("mean_var", "f8", 3),
        ):
            x = random.standard_normal(5000) * 10.0 ** random.integers(0, 4, 5000)
            x = x.astype(dtype)
            x[77::700] = spoils
            for cut in (1, 2, 3, 77, 130, 1024, 4097, 5000):
                there = numpy.arange(x.size) < cut
                got = redtune.reduce(x, op=op, where=there, order="fixed")
                want = redtune.reduce(x[:cut].copy(), op=op, order="fixed")
                what = f"{op} of {dtype}, the first {cut}"
                numpy.testing.assert_array_equal(got, want, err_msg=what)

    def test_segments_have_the_results_of_arrays(self):
        """In fixed order their bits; of the host, and of a GPU with one table and with two."""
        random = numpy.random.default_rng(11)
        for turn in range(16):
            op, dtype = SEGMENTED[turn % len(SEGMENTED)], DTYPES[turn % 3]
            order = ("fixed", "free")[turn // 3 % 2]
            x = random.integers(0, 5, 1 + 4000 * (turn % 4)).astype(dtype)
            mask = random.random(x.shape) < (0.03, 0.5, 0.9)[turn % 3]
            shown, at = poisoned(random, x, mask), turn % 7
            begin = numpy.sort(random.integers(0, x.size + 1, 30)).astype("i8")
            pads = [numpy.concatenate([each[:1]] * at + [each]) for each in (shown, mask)]
            raw, there, table = map(sim_memory.asarray, (*pads, begin + at))
            ends = [sim_memory.asarray(begin[:-1] + at), sim_memory.asarray(begin[1:] + at)]
            found = (
                redtune.segments(shown, begin, op=op, where=mask, order=order),
                redtune.segments(raw, table, op=op, where=there, order=order).numpy(),
                redtune.segments(raw, *ends, op=op, where=there, order=order).numpy(),
            )
            for i, (low, high) in enumerate(zip(begin, begin[1:])):
                its = shown[low:high].copy(), mask[low:high].copy()
                if op == "argmin":
                    places = numpy.flatnonzero(its[1])
                    want = places[its[0][places].argmin()] if places.size else -1
                else:
                    want = redtune.reduce(its[0], op=op, where=its[1], order=order)
                for got in found:
                    what = f"{op} of {dtype}, {order}, {low} to {high}"
                    close = 0 if order == "fixed" else 1e-5
                    numpy.testing.assert_allclose(got[i], want, close, close, err_msg=what)

    def test_lists_of_the_host_take_a_mask_for_each_array(self):
        """All to one result, as their concatenation, and each by itself; views and empty ones, too."""
        random = numpy.random.default_rng(29)
        for turn in range(16):
            op, order = SEGMENTED[turn % len(SEGMENTED)], ("free", "fixed")[turn // 8]
            wide = random.integers(0, 5, (30, 40)).astype(DTYPES[turn % 3])
            xs = [wide[0], wide[1:9, ::-2], wide[:0, 0], wide[9:].T, wide[:1, :1]]
            masks = [random.random(x.shape[turn % 2 :]) < (0.05, 0.6)[turn % 2] for x in xs]
            there = [numpy.broadcast_to(m, x.shape) for m, x in zip(masks, xs)]
            masks[1], there[1] = None, numpy.ones(xs[1].shape, bool)
            masks[4] = redtune.bits(numpy.array([8 if there[4][0, 0] else 0], "u1"), 3)
            shown = [poisoned(random, x, m) if x.size else x for x, m in zip(xs, there)]
            flat = [numpy.concatenate([numpy.ravel(v) for v in each]) for each in (shown, there)]
            made = redtune.List(shown)
            got = made.reduce(op, where=masks, order=order)
            want = redtune.reduce(flat[0], op=op, where=flat[1], order=order)
            numpy.testing.assert_allclose(got, want, 1e-5, err_msg=f"{op}, all")
            got = made.reduce(op, where=tuple(masks), order=order, each=True)
            for i, (x, m) in enumerate(zip(shown, there)):
                want = -1
                if x.size or op != "argmin":
                    want = redtune.reduce(x.ravel(), op=op, where=m.ravel(), order=order)
                numpy.testing.assert_allclose(got[i], want, 1e-5, err_msg=f"{op}, array {i}")
            numpy.testing.assert_allclose(made.reduce(op, where=[None] * 5), made.reduce(op), 1e-5)

    def test_lists_of_a_gpu_take_a_mask_for_each_array(self):
        """Bools or bits from any bit on, other ones at the next call, and None for some."""
        random = numpy.random.default_rng(31)
        for turn, op in enumerate(("sum", "mean", "argmin", "nanmean", "var", "var")):
            order = ("free", "fixed")[turn % 2]
            sizes = [(7,), (40, 30), (0,), (), (3000,), (513,)]
            xs = [random.integers(0, 5, s).astype(DTYPES[turn % 3]) for s in sizes]
            made = None
            for bits in (False, True):
                masks = [random.random(x.shape) < (0.05, 0.6)[turn % 2] for x in xs]
                shown = [numpy.asarray(poisoned(random, x, m)) for x, m in zip(xs, masks)]
                if made is None:
                    places = [sim_memory.asarray(x) for x in shown]
                    made = redtune.List(places)
                for place, x in zip(places, shown):
                    place.fill(x)
                given = [sim_memory.asarray(m) for m in masks]
                if bits:
                    raw = [numpy.packbits(numpy.append(numpy.ones(i + 1, bool), m), bitorder="little")
                           for i, m in enumerate(masks)]  # fmt: skip
                    given = [redtune.bits(sim_memory.asarray(b), i + 1) for i, b in enumerate(raw)]
                    given[4], masks[4] = None, numpy.ones(3000, bool)
                # All to one result, as their concatenation.
                close = 0 if order == "fixed" else 1e-5
                got = made.reduce(op, where=given, order=order).numpy()
                flat = [numpy.concatenate([v.ravel() for v in each]) for each in (shown, masks)]
                want = redtune.reduce(flat[0], op=op, where=flat[1], order=order)
                numpy.testing.assert_allclose(got, want, close, err_msg=f"{op}, bits {bits}")
                for _ in range(2):  # the second call has the tables of the first
                    got = made.reduce(op, where=given, order=order, each=True).numpy()
                    for i, (x, m) in enumerate(zip(shown, masks)):
                        want = -1
                        if x.size or op != "argmin":
                            want = redtune.reduce(x.ravel(), op=op, where=m.ravel(), order=order)
                        what = f"{op}, {order}, array {i}, bits {bits}"
                        numpy.testing.assert_allclose(got[i], want, close, close, err_msg=what)

    def test_lists_refuse_what_they_cannot_take(self):
        x, mask = numpy.ones(3, "f4"), numpy.ones(3, bool)
        host, gpu = redtune.List([x, x]), redtune.List([sim_memory.asarray(x)] * 2)
        there, raw = sim_memory.asarray(mask), redtune.bits(sim_memory.asarray(mask.view("u1")))
        stepped = sim_memory.asarray(numpy.ones(6, bool)).view((3,), (2,))
        for call, error, part in (
            (lambda: host.reduce(where=mask), TypeError, "a list of masks"),
            (lambda: host.reduce(where=[mask]), ValueError, "it has 1 masks, and the list 2"),
            (lambda: host.reduce(where=[mask, x]), TypeError, "give bools"),
            (lambda: host.reduce(where=[mask, mask[:2]]), ValueError, "(3,) and (2,)"),
            (lambda: gpu.reduce(where=[mask, None], each=True), ValueError, "different devices"),
            (lambda: gpu.reduce(where=[there, raw], each=True), TypeError, "masks of one kind"),
            (lambda: gpu.reduce(where=[there, stepped], each=True), ValueError, "not contiguous"),
        ):
            with self.assertRaises(error) as caught:
                call()
            self.assertIn(part, str(caught.exception))
        for where in ([None, None], True):
            self.assertEqual(gpu.reduce(where=where).numpy(), 6)
            self.assertEqual(host.reduce(where=where), 6)
        for key, part in (("initial", "combine it with the results"), ("axis", "with each=True")):
            with self.assertRaisesRegex(TypeError, part):
                host.reduce(**{key: 0})
        masked = numpy.ma.array([1, 2, 4], mask=[False, True, False], dtype="f4")
        with self.assertRaisesRegex(TypeError, "where=~numpy.ma.getmaskarray"):
            redtune.sum(masked)
        self.assertEqual(redtune.sum(masked.data, where=~numpy.ma.getmaskarray(masked)), 5)

    def test_plans_take_a_mask_at_each_run(self):
        """Of the host and of a GPU: bools of any strides and bits from any bit on."""
        random = numpy.random.default_rng(23)
        for turn in range(16):
            op, axis = ("sum", "mean", "var", "dot")[turn % 4], (None, 0, 1)[turn % 3]
            order = ("free", "fixed")[turn // 8]
            sizes = (7, 40) if turn // 4 % 2 else (40,)  # one for each row
            xs = random.integers(0, 5, (2, 7, 40)).astype("f4")
            masks = random.random((2, *sizes)) < (0.05, 0.6)[turn % 2]
            shown = [poisoned(random, x, numpy.broadcast_to(m, x.shape)) for x, m in zip(xs, masks)]
            how = {"op": op, "axis": axis, "order": order}
            want = [
                redtune.reduce(*[x] * (1 + (op == "dot")), where=m, **how)
                for x, m in zip(shown, masks)
            ]
            for place in (lambda x: x, sim_memory.asarray):
                x, mask = [*map(place, shown)], [*map(place, masks)]
                if turn % 5 == 4 and sizes != (40,):
                    raw = [numpy.packbits(numpy.append(numpy.ones(i, bool), m), bitorder="little")
                           for i, m in enumerate(masks)]  # fmt: skip
                    mask = [redtune.bits(place(each), i) for i, each in enumerate(raw)]
                y = [None, None] if op != "dot" else x
                plan = redtune.plan(x[0], y[0], where=mask[0], **how)
                for got, i in (
                    (plan.run(), 0),
                    (plan(x[1], y[1], where=mask[1]), 1),
                    (plan(x[0], y[0], None, None, mask[0]), 0),
                    (plan.run(), 0),
                ):
                    got = got.numpy() if place is sim_memory.asarray else got
                    numpy.testing.assert_allclose(got, want[i], 1e-5, err_msg=f"{how} {i}")

    def test_plans_read_their_mask_anew(self):
        x, mask = numpy.arange(6, dtype="f4"), numpy.zeros(6, bool)
        plan = redtune.plan(x, where=mask, initial=3)
        self.assertEqual(plan.run(), 3)
        mask[4:] = True
        self.assertEqual(plan.run(), 12)
        on_gpu = sim_memory.asarray(x), sim_memory.asarray(mask)
        plan = redtune.plan(on_gpu[0], op="max", where=on_gpu[1], initial=-1)
        self.assertEqual(plan.run().numpy(), 5)
        none = sim_memory.asarray(numpy.zeros(6, bool))
        self.assertEqual(plan(on_gpu[0], where=none).numpy(), -1)
        self.assertEqual(plan.run().numpy(), 5)

    def test_plans_refuse_another_kind_of_mask(self):
        x, mask = (sim_memory.asarray(numpy.ones((2, 8), kind)) for kind in ("f4", bool))
        bits = redtune.bits(sim_memory.asarray(numpy.ones(2, "u1")))
        row = sim_memory.asarray(numpy.ones(8, bool))
        host = numpy.ones((2, 8), "f4"), numpy.ones((2, 8), bool)
        masked, plain = redtune.plan(x, where=mask), redtune.plan(x)
        for call, error, part in (
            (lambda: masked(x), TypeError, "give one, or make a plan without"),
            (lambda: masked(x, where=True), TypeError, "give one, or make a plan without"),
            (lambda: plain(x, where=mask), TypeError, "make a plan for a mask"),
            (lambda: masked(x, where=bits), TypeError, "make a plan for bits"),
            (lambda: redtune.plan(x, where=bits)(x, where=mask), TypeError, "a plan for bools"),
            (lambda: masked(x, where=row), ValueError, "make a plan for it"),
            (lambda: masked(x, where=x), TypeError, "give bools"),
            (lambda: masked(x, where=host[1]), ValueError, "different devices"),
            (lambda: redtune.plan(x, op="max", where=mask), ValueError, "give initial"),
            (lambda: redtune.plan(host[0], where=host[1])(host[0]), TypeError, "give one"),
            (lambda: redtune.plan(host[0])(host[1]), ValueError, "make a plan for it"),
            (lambda: redtune.plan(host[0])(host[0], where=host[1]), TypeError, "for a mask"),
        ):
            with self.assertRaises(error) as caught:
                call()
            self.assertIn(part, str(caught.exception))
        for plan, x in ((plain, x), (redtune.plan(host[0]), host[0])):
            got = plan(x, where=True)
            self.assertEqual(got if x is host[0] else got.numpy(), 16)

    def test_initial_of_every_dtype(self):
        for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"):
            x = numpy.arange(12, dtype=dtype).reshape(3, 4)
            for op, initial in (("sum", 3), ("prod", 2), ("max", 5), ("min", 5)):
                want = getattr(numpy, op)(x, axis=0, initial=initial)
                got = getattr(redtune, op)(x, axis=0, initial=initial)
                self.assertEqual(got.tolist(), want.tolist(), (op, dtype))
        self.assertEqual(redtune.max(numpy.zeros(0, "f4"), initial=2), 2)
        self.assertEqual(redtune.max(numpy.ones(3, "f2"), initial=1.5), 1.5)
        self.assertEqual(redtune.any(numpy.zeros(3), initial=True), True)
        whole = numpy.arange(4)
        for two in (2, 2.0, numpy.float32(2), numpy.float64(2), numpy.array(2.0), numpy.uint8(2)):
            self.assertEqual(redtune.sum(whole, initial=two), 8)
            self.assertEqual(redtune.sum(whole, where=whole > 1, initial=two), 7)
            self.assertEqual(redtune.sum(whole.astype("f4"), initial=two), 8)

    def test_bits_are_bools_from_any_bit_on(self):
        random = numpy.random.default_rng(13)
        for turn in range(24):
            shape = ((300,), (9, 33), (3, 4, 5))[turn % 3]
            op, first = ("sum", "mean", "argmax", "var")[turn // 3 % 4], int(random.integers(0, 40))
            x = random.integers(0, 9, shape).astype("f4")
            mask = random.random(shape) < 0.6
            shown, axis = poisoned(random, x, mask), (None, 0)[turn // 12]
            padded = numpy.concatenate([random.random(first) < 0.5, mask.ravel()])
            raw = numpy.packbits(padded, bitorder="little")
            want = redtune.reduce(shown, op=op, axis=axis, where=mask)
            for given in (raw, raw.tobytes(), memoryview(raw)):
                got = redtune.reduce(shown, op=op, axis=axis, where=redtune.bits(given, first))
                numpy.testing.assert_array_equal(got, want)
            there = redtune.bits(sim_memory.asarray(raw), first)
            laid = sim_memory.asarray(shown)
            got = redtune.reduce(laid, op=op, axis=axis, where=there).numpy()
            numpy.testing.assert_allclose(got, want, 1e-6)
            flat, table = sim_memory.asarray(shown.ravel()), numpy.array([0, 7, 7, x.size])
            want = redtune.segments(shown.ravel(), table, op=op, where=mask.ravel())
            got = redtune.segments(flat, sim_memory.asarray(table), op=op, where=there).numpy()
            numpy.testing.assert_allclose(got, want, 1e-6)

    def test_bits_of_arrays_of_arrow(self):
        class Arrow:  # what pyarrow.Array has of a sliced [2, None, 3, 4], and of one without nulls
            offset = 1

            def __init__(self, validity):
                self.buffers = lambda: [validity, None]

            def __len__(self):
                return 3

        x = numpy.array([7, 3, 4], "f4")
        self.assertEqual(redtune.sum(x, where=redtune.bits(Arrow(bytes([0b1101])))), 7)
        self.assertEqual(redtune.sum(x, where=redtune.bits(Arrow(None))), 14)
        self.assertEqual(redtune.sum(x, where=redtune.bits(Arrow(bytes([0b11010])), 1)), 7)

    def test_bad_arguments_say_what_to_give(self):
        x, mask = numpy.ones((2, 3), "f4"), numpy.ones((2, 3), bool)
        offsets, gpu = numpy.array([0, 3]), sim_memory.asarray(x)
        for call, error, part in (
            (lambda: redtune.max(x, where=mask), ValueError, "give initial"),
            (lambda: redtune.sum(x, where=x), TypeError, "give bools"),
            (lambda: redtune.sum(x, where=mask[:, :2]), ValueError, "(2, 3) and (2, 2)"),
            (lambda: redtune.sum(x, where=mask[None]), ValueError, "broadcasts"),
            (lambda: redtune.dot(x, x, where=x), TypeError, "give bools"),
            (lambda: redtune.mean(x, initial=1), TypeError, "leave it out"),
            (lambda: redtune.sum(x.astype("i4"), initial=0.5), ValueError, "no value of i64"),
            (lambda: redtune.sum(x.astype("i4"), initial=numpy.inf), ValueError, "no value of i64"),
            (lambda: redtune.sum(x.astype("i4"), initial=1e300), ValueError, "no value of i64"),
            (lambda: redtune.sum(x.astype("i4"), initial="2"), ValueError, "no value of i64"),
            (lambda: redtune.sum(x, where=3), TypeError, "no array"),
            (lambda: redtune.sum(x, where=redtune.bits(b"a", 3)), ValueError, "it has 8 bits"),
            (lambda: redtune.sum(x, where=redtune.bits(b"a", -1)), ValueError, "offset"),
            (lambda: redtune.bits(mask), TypeError, "the array itself as where"),
            (lambda: redtune.dot(x, x, where=redtune.bits(b"")), ValueError, "it has 0 bits"),
            (lambda: redtune.sum(gpu, where=redtune.bits(b"a")), ValueError, "different devices"),
            (lambda: redtune.segments(x[0], offsets, where=x[0]), TypeError, "give bools"),
            (lambda: redtune.segments(x[0], offsets, where=mask), ValueError, "broadcasts"),
        ):
            with self.assertRaises(error) as caught:
                call()
            self.assertIn(part, str(caught.exception))

    def test_masked_reductions_are_not_recorded(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "calls.jsonl")
            subprocess.run([sys.executable, "-c", RECORDED, path], check=True)
            self.assertIn('"sum"', path.read_text())
            self.assertNotIn('"mean"', path.read_text())

    def test_masks_on_a_gpu(self):
        random = numpy.random.default_rng(3)
        x = random.integers(0, 9, (37, 65)).astype("f4")
        mask = random.random(x.shape) < 0.5
        shown = sim_memory.asarray(poisoned(random, x, mask))
        for axis in (None, 0, 1):
            got = redtune.sum(shown, axis=axis, where=sim_memory.asarray(mask), initial=4)
            want = numpy.sum(x, axis=axis, where=mask, initial=4)
            numpy.testing.assert_array_equal(got.numpy(), want)
        got = redtune.mean(shown, where=sim_memory.asarray(mask))
        numpy.testing.assert_allclose(got.numpy(), numpy.mean(x, where=mask), 1e-6)
        with self.assertRaisesRegex(ValueError, "different devices"):
            redtune.sum(shown, where=mask)


if __name__ == "__main__":
    unittest.main()
