"""Range: norms and means are right wherever their results are representable."""

import os
import subprocess
import sys
import unittest

import numpy
import sim_memory

import redtune

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

DTYPES = [numpy.dtype(name) for name in ("f2", "f4", "f8")]
if ml_dtypes:
    DTYPES.append(numpy.dtype(ml_dtypes.bfloat16))
UNARY = ["mean", "norm2", "nanmean"]
BINARY = ["euclidean", "mse"]
ORDERS = [1, 2, 3, 0.5, -1, 200, 0, numpy.inf, -numpy.inf]


def limits(dtype):
    """The greatest and the least positive number, and the least normal one."""
    info = ml_dtypes.finfo(dtype) if ml_dtypes else numpy.finfo(dtype)
    return [numpy.longdouble(float(v)) for v in (info.max, info.smallest_subnormal, info.tiny)]


def patterns(dtype, n, seed):
    """Arrays of n elements whose magnitudes lie at the ends of the range, and mixtures."""
    random = numpy.random.default_rng(seed)
    most, least, tiny = limits(dtype)
    noise = random.uniform(0.5, 1, n) * random.choice([-1, 1], n)
    zeros = numpy.zeros(n, "g")
    huge, first, last = noise * most, zeros.copy(), zeros.copy()
    first[0] = last[-1] = most / 2
    with numpy.errstate(all="ignore"):
        exponents = random.integers(int(numpy.log2(least)), int(numpy.log2(most)), n)
        ends = numpy.ldexp(noise.astype("g"), exponents)
    every = {
        "huge": abs(huge), "signs": huge, "near": noise * most / 64, "tiny": noise * tiny,
        "subnormal": numpy.rint(noise * 20) * least, "least": zeros + least, "zeros": zeros,
        "one huge first": first + noise * tiny, "one huge last": last + noise * tiny,
        "ordinary": noise, "ends": ends, "few": numpy.where(random.random(n) < 0.1, ends, 0),
    }
    with numpy.errstate(all="ignore"):
        return {name: x.astype(dtype) for name, x in every.items()}


def strange(dtype, n):
    """With an infinity, with one of each sign, with a NaN, and beside the greatest numbers."""
    for values in [[numpy.inf], [numpy.inf, -numpy.inf], [numpy.nan], [numpy.nan, numpy.inf]]:
        for fill in (0, 1, limits(dtype)[0]):
            x = numpy.full(n, fill, "g").astype(dtype)
            x[n // 3 : n // 3 + len(values)] = values
            yield x


def power_norm(x, p):
    """NumPy's norm of that order, by powers of ratios to the size that decides."""
    x = abs(x)
    if p == 0:
        return (x != 0).sum(-1)
    size = x.max(-1, keepdims=True) if p > 0 else x.min(-1, keepdims=True)
    if numpy.isinf(p):
        return size[..., 0]
    ratio = numpy.where(x == size, 1, x / numpy.where(size == 0, 1, size))
    return size[..., 0] * (ratio ** numpy.longdouble(p)).sum(-1) ** (1 / numpy.longdouble(p))


def exact(name, x, y, p=2):
    """The result over the last axis, in long double, which holds the squares of f64."""
    x, y = x.astype("g"), None if y is None else y.astype("g")
    with numpy.errstate(all="ignore"):
        return {
            "mean": lambda: x.mean(-1), "norm2": lambda: (x * x).sum(-1) ** numpy.longdouble(0.5),
            "nanmean": lambda: numpy.nanmean(x, -1), "normp": lambda: power_norm(x, p),
            "euclidean": lambda: ((x - y) ** 2).sum(-1) ** numpy.longdouble(0.5),
            "mse": lambda: ((x - y) ** 2).mean(-1),
        }[name]()


def magnitude(name, x):
    """What an error is relative to: of sums that cancel, the sum of magnitudes."""
    return exact(name, abs(x), None) if name in ("mean", "nanmean") else None


class Range(unittest.TestCase):
    def setUp(self):
        redtune.configure(device="sim")

    def check(self, name, got, x, y, message, p=2):
        """x: the elements of a result along its last axis."""
        want, got = exact(name, x, y, p), numpy.asarray(got)
        if got.dtype.kind in "iu":
            got = got.astype("f8")  # of p = 0
        dtype = got.dtype
        with numpy.errstate(all="ignore"):
            size = magnitude(name, x)
            size = abs(want) if size is None else size
            tolerance = (2e-5 if dtype == "f4" else 1e-13) * size + limits(dtype)[1]
            right = want.astype(dtype)
            near = abs(got.astype("g") - want) <= tolerance
        most = limits(dtype)[0]
        edge = numpy.isinf(got) & (abs(want) > most * numpy.longdouble(1 - 2e-5))
        same = (got == right) | (numpy.isnan(got) & numpy.isnan(right)) | edge
        good = same | (numpy.isfinite(got) & near)
        self.assertTrue(good.all(), f"{name} of {message}: {got} and not {want}")

    def every(self, fact, dtypes=DTYPES, one_of=1):
        for i, dtype in enumerate(dtypes):
            for name, x in list(patterns(dtype, 1536, i).items())[i % one_of :: one_of]:
                fact(dtype, f"{dtype} {name}", x, abs(numpy.roll(x, 700)))

    def test_whole_arrays(self):
        def fact(dtype, message, x, y):
            for op in UNARY:
                self.check(op, getattr(redtune, op)(x), x, None, message)
            for op in BINARY:
                self.check(op, getattr(redtune, op)(x, y), x, y, message)

        self.every(fact)

    def test_strange_elements(self):
        for dtype in DTYPES:
            for x in strange(dtype, 300):
                y = numpy.zeros_like(x)
                for op in UNARY:
                    self.check(op, getattr(redtune, op)(x), x, None, f"{dtype} {x[98:104]}")
                for op in BINARY:
                    self.check(op, getattr(redtune, op)(x, y), x, y, f"{dtype} {x[98:104]}")
                for p in (1, 2, 3, -1):
                    got = redtune.normp(x, p=p)
                    self.check("normp", got, x, None, f"{dtype} {x[98:104]}, p = {p}", p)

    def test_orders_of_norms(self):
        def fact(dtype, message, x, y):
            for p in ORDERS:
                got = redtune.normp(x, p=p)
                self.check("normp", got, x, None, f"{message}, p = {p}", p)

        self.every(fact)

    def test_nothing_has_its_own_result(self):
        for dtype in DTYPES:
            none = numpy.zeros(0, dtype)
            for op, want in [("mean", numpy.nan), ("norm2", 0), ("nanmean", numpy.nan), ("normp", 0)]:
                numpy.testing.assert_equal(float(getattr(redtune, op)(none)), want)
            for op, want in [("euclidean", 0), ("mse", numpy.nan)]:
                numpy.testing.assert_equal(float(getattr(redtune, op)(none, none)), want)

    def test_axes(self):
        def fact(dtype, message, x, y):
            for shape in [(48, 32), (3, 512)]:
                a, b = x.reshape(shape), y.reshape(shape)
                for axis in (0, 1):
                    of = (a.T, b.T) if axis == 0 else (a, b)
                    for op in UNARY:
                        got = getattr(redtune, op)(a, axis=axis)
                        self.check(op, got, of[0], None, f"{message} {shape} {axis}")
                    for op in BINARY:
                        got = getattr(redtune, op)(a, b, axis=axis)
                        self.check(op, got, *of, f"{message} {shape} {axis}")
                got = redtune.normp(a, p=3, axis=0)
                self.check("normp", got, a.T, None, f"{message} {shape}", 3)

        self.every(fact, one_of=2)

    def test_fixed_order_and_compensated(self):
        def fact(dtype, message, x, y):
            for keywords in [{"order": "fixed"}, {"accuracy": "compensated"}]:
                if dtype == "f8" and "accuracy" in keywords:
                    continue  # docs/accuracy.md: their squares and sums may overflow
                for op in ("mean", "norm2"):
                    got = getattr(redtune, op)(x, **keywords)
                    self.check(op, got, x, None, f"{message} {keywords}")
            for axis in (0, 1):
                a = x.reshape(24, 64)
                got = redtune.norm2(a, axis=axis, order="fixed")
                self.check("norm2", got, a if axis else a.T, None, f"{message} fixed {axis}")
            got = redtune.normp(x, p=3, order="fixed")
            self.check("normp", got, x, None, f"{message} fixed", 3)

        self.every(fact)

    def test_segments_and_lists(self):
        offsets = sim_memory.asarray(numpy.array([0, 5, 5, 900, 1536], "i8"))

        # Kernels of segments are large, and have the parts of those of whole arrays.
        ops = {"e": ["norm2"], "f": ["mean", "nanmean"], "d": ["norm2"]}

        def fact(dtype, message, x, y):
            array = sim_memory.asarray(x)
            for op in ops[dtype.char]:
                got = redtune.segments(array, offsets, op=op).numpy()
                for i, part in [(0, x[:5]), (2, x[5:900]), (3, x[900:])]:
                    self.check(op, got[i], part, None, f"{message}, segment {i}")
                parts = redtune.List([sim_memory.asarray(x[:5]), sim_memory.asarray(x[5:])])
                self.check(op, parts.reduce(op).numpy(), x, None, f"{message}, list")

        self.every(fact, [d for d in DTYPES if d.char in ops])  # NumPy's own

    @unittest.skipIf("REDTUNE_SIM_CAPABILITY" in os.environ, "this is such a GPU")
    def test_gpus_with_few_units_for_f64(self):
        environment = dict(os.environ, REDTUNE_SIM_CAPABILITY="8.6")
        tests = [f"test_range.Range.test_{name}" for name in ("whole_arrays", "strange_elements")]
        made = subprocess.run(
            [sys.executable, "-m", "unittest", *tests], env=environment, stderr=subprocess.PIPE,
            cwd=os.path.dirname(os.path.abspath(__file__)),
        )  # fmt: skip
        self.assertEqual(made.returncode, 0, made.stderr.decode())


if __name__ == "__main__":
    unittest.main()
