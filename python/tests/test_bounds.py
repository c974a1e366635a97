"""Bounds: results of random elements, also at the ends of the range, are as near to results in
long double as docs/ops.md says, by its formulas: of whole arrays with each kernel's own
configuration, of rows, columns, lists and in fixed order as if one thread took all elements.

REDTUNE_TEST_CALLS says how many calls, and REDTUNE_TEST_KINDS of how many kinds: op, dtype, layout
and order. Each kind compiles a kernel.
"""

import itertools
import math
import os
import unittest

import numpy
import sim_memory

import redtune

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

CALLS = int(os.environ.get("REDTUNE_TEST_CALLS", 120))
SEED = int(os.environ.get("REDTUNE_TEST_SEED", 20261128))
KINDS = int(os.environ.get("REDTUNE_TEST_KINDS", 12))
OPS = ("var", "std", "cosine", "normp")
MORE_OPS = ("sum", "mean", "norm2", "logsumexp", "max", "dot", "euclidean", "mse")
PAIRS = ("cosine", "dot", "euclidean", "mse")
LAYOUTS = ("whole", "rows", "columns", "list")
DTYPES = [numpy.dtype(name) for name in ("f4", "f2", "f8")]
if ml_dtypes:
    DTYPES.append(numpy.dtype(ml_dtypes.bfloat16))
POWERS = (0, 1, 2, 3, 0.5, -1, 7.5, -2, 40, math.inf, -math.inf)
G = numpy.longdouble


def elements(random, dtype, n):
    """Of one magnitude, near a large mean, or of all magnitudes; with zeros, infinities and NaN."""
    info = ml_dtypes.finfo(dtype) if ml_dtypes else numpy.finfo(dtype)
    low, high = (int(numpy.log2(float(v))) for v in (info.smallest_subnormal, info.max))
    x = random.uniform(-1, 1, n).astype("g")
    way = random.integers(6)
    if way < 3:
        x = numpy.ldexp(x, (low + 3, high, int(random.integers(low, high + 1)))[way])
    elif way == 3:
        x = numpy.ldexp(1 + x * float(info.eps) * 64, int(random.integers(low, high)))
    elif way == 4:
        x = numpy.ldexp(x, random.integers(low, high + 1, n))
    if not random.integers(3):
        x[random.random(n) < 0.5] = 0
    if not random.integers(12):
        x[random.integers(n)] = random.choice([numpy.nan, numpy.inf, -numpy.inf])
    with numpy.errstate(all="ignore"):
        return x.astype(dtype)


class Unit:
    """What the bounds are made of: those of the accumulator, and of the configuration that ran."""

    def __init__(self, x, config=None):
        info = numpy.finfo("f4" if x.dtype.itemsize <= 4 else "f8")
        self.u, self.most = G(info.eps) / 2, G(info.max)
        self.least = info.smallest_subnormal.astype("g")
        self.thread, self.d, self.joins = x.size, x.size + 2, x.size
        if config:
            self.take(x, config)

    def take(self, x, config):
        pairs = (each.split("=") for each in config.split(":")[1].split(","))
        of = {key: int(value) for key, value in pairs if value.isdigit()}
        tile = of["block"] * of["vec"]
        blocks = max(1, math.ceil(x.size / (tile * of["unroll"])))
        logs = math.log2(of["unroll"]) + math.log2(of["vec"]) + 2 * math.log2(of["block"])
        self.thread = math.ceil(x.size / (blocks * tile)) * of["vec"]  # elements of a thread
        self.d = math.ceil(x.size / (blocks * tile)) + logs + math.ceil(blocks / of["block"]) + 2
        self.joins = math.ceil(blocks / of["block"])

    def e(self, k):
        return k * self.u / (1 - k * self.u)


def bounds_of_var(x, unit, ddof, root):
    """The least and the greatest result; None: any, as docs/ops.md says of such distances."""
    n, x = x.size, x.astype("g")
    under = G(max(n - ddof, 0))
    if n == 0 or not numpy.isfinite(x).all():
        return numpy.nan, numpy.nan
    x = x - x[0]  # so that a large mean takes no digits
    m2, apart = ((x - x.mean()) ** 2).sum(), x.max() - x.min()
    if n * apart * apart > unit.most:
        return None
    if under == 0:
        return None if 0 < m2 < n * unit.least else (G(m2) / 0, G(m2) / 0)
    k = unit.thread
    var = m2 / n
    steps = (k + 2) ** 2 * unit.u
    if m2:
        steps = min(steps, 3 * (k + 2) * unit.u * apart * apart / var)
    error = (steps + (10 + 10 + 8 * unit.joins + 4) * unit.u) * m2
    error += 2 * n * unit.least  # a square below the least number adds nothing, of 10^-45 in f32
    low, high = max(m2 - error, 0) / under, (m2 + error) / under + unit.least
    if root:
        low, high = numpy.sqrt(low) * (1 - 2 * unit.u), numpy.sqrt(high) * (1 + 2 * unit.u)
    return low, high


def bounds_of_cosine(x, y, unit):
    x, y = x.astype("g"), y.astype("g")
    sums = [(a * b) for a, b in ((x, x), (y, y), (x, y))]
    xx, yy, xy = (each.sum() for each in sums)
    if not numpy.isfinite([xx, yy]).all():
        return numpy.nan, numpy.nan
    lost = x.size * unit.least  # what underflows
    if max(xx, yy, abs(sums[2]).sum()) > unit.most / 2 or 0 < min(xx, yy) < 1e6 * lost:
        return None
    if xx == 0 or yy == 0:
        return numpy.nan, numpy.nan
    length = numpy.sqrt(xx) * numpy.sqrt(yy)
    error = 2 * unit.e(unit.d + 1) + 4 * G(2) ** -53 + unit.u
    error += lost / length + lost / xx + lost / yy
    return xy / length - error, xy / length + error


def bounds_of_normp(x, unit, p):
    a = abs(x.astype("g"))
    if not a.size:
        return (numpy.inf, numpy.inf) if p < 0 else (0, 0)
    if numpy.isnan(a).any() and p:
        return numpy.nan, numpy.nan
    if p == 0:
        exact = G((a != 0).sum())
    else:
        size = a.max() if p > 0 else a.min()
        if not 0 < size < numpy.inf or math.isinf(p):
            exact = size
        else:
            with numpy.errstate(all="ignore"):
                ratio = a / size
                exact = size * (ratio ** G(p)).sum() ** (1 / G(p))
    d = unit.d + 12
    if p not in (0, 1, 2) and math.isfinite(p):
        ratios = a[(a > 0) & (a < numpy.inf)]
        wide = numpy.log(ratios.max() / ratios.min()) if ratios.size else 0
        w = 8 + abs(p) if unit.u > 1e-10 else 2 + 2 * abs(p) * wide
        d += w * (unit.thread + 1) / min(1, abs(p))
    error = unit.e(d) * exact if 0 < exact < numpy.inf else 0
    return exact - error - unit.least, exact + error + unit.least


def bounds_of_terms(op, x, y, unit):
    """Of ops whose bound is relative to a sum of magnitudes."""
    x = x.astype("g")
    y = None if y is None else y.astype("g")
    n, root = x.size, op in ("norm2", "euclidean")
    terms = {
        "sum": lambda: x, "mean": lambda: x, "norm2": lambda: x * x, "dot": lambda: x * y,
        "euclidean": lambda: (x - y) ** 2, "mse": lambda: (x - y) ** 2,
    }[op]()  # fmt: skip
    exact, size = terms.sum(), abs(terms).sum()
    if op in ("mean", "mse"):
        exact, size = exact / n, size / n
    if root:
        exact = size = numpy.sqrt(exact)
    finite = abs(terms[numpy.isfinite(terms)]).sum()
    if op in ("sum", "dot") and finite > unit.most / 2:
        return None  # a partial sum may overflow, also beside an infinity
    if not numpy.isfinite(exact):
        return exact, exact
    error = unit.e(unit.d + 5) * size + (unit.least * n if op == "dot" else unit.least)
    return exact - error, exact + error


def bounds_of_logsumexp(x, unit):
    x = x.astype("g")
    top = x.max()
    if not numpy.isfinite(top):
        return top, top
    exact = top + numpy.log(numpy.exp(x - top).sum())
    error = unit.e(4 * unit.d + 4) * max(1, abs(exact))
    return exact - error, exact + error


def bounds_of(op, x, y, unit, more):
    with numpy.errstate(all="ignore"):
        if op == "cosine":
            return bounds_of_cosine(x, y, unit)
        if op == "normp":
            return bounds_of_normp(x, unit, more["p"])
        if op in ("var", "std"):
            return bounds_of_var(x, unit, more["ddof"], op == "std")
        if op == "logsumexp":
            return bounds_of_logsumexp(x, unit)
        if op == "max":
            return (x.astype("g").max(),) * 2
        return bounds_of_terms(op, x, y, unit)


def parameters(random, op, n):
    if op in ("var", "std"):
        return {"ddof": float(random.choice([0, 1, 0.5, n, n + 1]))}
    return {"p": float(random.choice(POWERS))} if op == "normp" else {}


class Bounds(unittest.TestCase):
    def check(self, got, between, unit, what):
        if between is None:
            return
        low, high = (G(v) for v in between)
        if numpy.isnan(low):
            return self.assertTrue(numpy.isnan(got), f"{what}: {got} and not NaN")
        over = unit.most * (1 + unit.u)  # what rounds to infinity
        good = low <= G(got) <= high or (numpy.isinf(got) and (high if got > 0 else -low) >= over)
        self.assertTrue(good, f"{what}: {got!r} is not from {low} to {high}")

    def test_random_calls(self):
        redtune.configure(device="sim")
        random = numpy.random.default_rng(SEED)
        open_ones = 0
        for turn in range(CALLS):
            op, dtype = OPS[turn % len(OPS)], ("f4", "f2", "f8")[turn // len(OPS) % 3]
            n = int(random.integers(1, 100) if random.integers(2) else random.integers(2000, 4000))
            x = elements(random, dtype, n)
            y = elements(random, dtype, n) if op == "cosine" else None
            if op == "cosine" and not random.integers(3):
                y = x * random.choice([-1, 1]).astype(dtype)
            more = parameters(random, op, n)
            given = [None if each is None else sim_memory.asarray(each) for each in (x, y)]
            there = None
            if dtype == "f4" and op != "cosine" and not random.integers(3):
                there = random.random(n) < random.choice([0.02, 0.5, 0.98])
                more["where"] = sim_memory.asarray(there)
            plan = redtune.plan(*given, op=op, **more)
            got = plan.run().numpy()[()]
            unit = Unit(x, plan.config)
            x = x if there is None else x[there]
            between = bounds_of(op, x, y, unit, more)
            open_ones += between is None
            self.check(got, between, unit, f"call {turn}: {x.size} of {n} {dtype}, {op}, {more}")
        self.assertLess(open_ones, CALLS // 3)  # whose results docs/ops.md leaves open

    def results(self, op, layout, order, xs, ys, more):
        """Of pairs of one length, which a list's arrays need not have."""
        how = dict(more, op=op, order=order)
        if layout == "list":
            made = redtune.List([sim_memory.asarray(x) for x in xs])
            return made.reduce(each=True, **how).numpy()
        axis = {"whole": None, "rows": 1, "columns": 0}[layout]
        stack = numpy.stack if layout == "rows" else lambda each: numpy.stack(each, 1)
        arrays = xs[0] if layout == "whole" else stack(xs)
        given = [sim_memory.asarray(arrays)]
        if op in PAIRS:
            given.append(sim_memory.asarray(ys[0] if layout == "whole" else stack(ys)))
        return numpy.atleast_1d(redtune.reduce(*given, axis=axis, **how).numpy())

    def test_random_layouts(self):
        """Every op and dtype over whole arrays, rows, columns and lists, in free and fixed order."""
        redtune.configure(device="sim")
        random = numpy.random.default_rng(SEED)
        kinds = [
            (op, dtype, layout, order)
            for op, dtype, layout, order in itertools.product(
                OPS + MORE_OPS, DTYPES, LAYOUTS, ("free", "fixed")
            )
            if not (layout == "list" and op in PAIRS)
            and not (op == "max" and dtype.name == "bfloat16")  # a result that sim_memory has not
        ]
        random.shuffle(kinds)
        kinds, open_ones, made = kinds[:KINDS], 0, 0
        for turn in range(max(CALLS // 2, KINDS)):
            op, dtype, layout, order = kinds[turn % len(kinds)]
            dtype = numpy.dtype(dtype)
            n, many = int(random.integers(1, 200)), 1 if layout == "whole" else 5
            sizes = [n if layout != "list" else int(random.integers(1, 300)) for _ in range(many)]
            xs, ys = [[elements(random, dtype, size) for size in sizes] for _ in range(2)]
            more = parameters(random, op, n)
            got = self.results(op, layout, order, xs, ys, more)
            for i, (x, y) in enumerate(zip(xs, ys)):
                unit = Unit(x)
                between = bounds_of(op, x, y, unit, more)
                open_ones, made = open_ones + (between is None), made + 1
                what = f"call {turn}, {i}: {x.size} {dtype} of {layout}, {order}, {op}, {more}"
                self.check(got[i], between, unit, what)
        self.assertLess(open_ones, made // 3)


if __name__ == "__main__":
    unittest.main()
