"""Bounds: var, std, cosine and normp of random elements, also at the ends of the range, are
as near to results in long double as docs/ops.md says, by its formulas and each kernel's own
configuration."""

import math
import os
import unittest

import numpy
import sim_memory

import redtune

CALLS = int(os.environ.get("REDTUNE_TEST_CALLS", 120))
SEED = int(os.environ.get("REDTUNE_TEST_SEED", 20261128))
OPS = ("var", "std", "cosine", "normp")
POWERS = (0, 1, 2, 3, 0.5, -1, 7.5, -2, 40, math.inf, -math.inf)
G = numpy.longdouble


def elements(random, dtype, n):
    """Of one magnitude, near a large mean, or of all magnitudes; with zeros, infinities and NaN."""
    info = numpy.finfo(dtype)
    low, high = (int(numpy.log2(v.astype("g"))) for v in (info.smallest_subnormal, info.max))
    x = random.uniform(-1, 1, n).astype("g")
    way = random.integers(6)
    if way < 3:
        x = numpy.ldexp(x, (low + 3, high, int(random.integers(low, high + 1)))[way])
    elif way == 3:
        x = numpy.ldexp(1 + x * info.eps * 64, int(random.integers(low, high)))
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

    def __init__(self, x, config):
        pairs = (each.split("=") for each in config.split(":")[1].split(","))
        of = {key: int(value) for key, value in pairs if value.isdigit()}
        info = numpy.finfo("f4" if x.dtype.itemsize <= 4 else "f8")
        self.u, self.most = G(info.eps) / 2, G(info.max)
        self.least = info.smallest_subnormal.astype("g")
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


class Bounds(unittest.TestCase):
    def check(self, got, between, unit, what):
        if between is None:
            return
        low, high = (G(v) for v in between)
        if numpy.isnan(low):
            return self.assertTrue(numpy.isnan(got), f"{what}: {got} and not NaN")
        over = unit.most * (1 + unit.u)  # what rounds to infinity
        good = low <= G(got) <= high or (numpy.isinf(got) and high >= over and got > 0)
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
            ddof = float(random.choice([0, 1, 0.5, n, n + 1]))
            p = float(random.choice(POWERS))
            more = {"ddof": ddof} if op in ("var", "std") else {"p": p} if op == "normp" else {}
            given = [None if each is None else sim_memory.asarray(each) for each in (x, y)]
            there = None
            if dtype == "f4" and op != "cosine" and not random.integers(3):
                there = random.random(n) < random.choice([0.02, 0.5, 0.98])
                more["where"] = sim_memory.asarray(there)
            plan = redtune.plan(*given, op=op, **more)
            got = plan.run().numpy()[()]
            unit = Unit(x, plan.config)
            x = x if there is None else x[there]
            with numpy.errstate(all="ignore"):
                if op == "cosine":
                    between = bounds_of_cosine(x, y, unit)
                elif op == "normp":
                    between = bounds_of_normp(x, unit, p)
                else:
                    between = bounds_of_var(x, unit, ddof, op == "std")
            open_ones += between is None
            self.check(got, between, unit, f"call {turn}: {x.size} of {n} {dtype}, {op}, {more}")
        self.assertLess(open_ones, CALLS // 3)  # whose results docs/ops.md leaves open


if __name__ == "__main__":
    unittest.main()
