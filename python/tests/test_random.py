"""Random calls: any function along any axes, of elements at both ends of the range, NaN and infinities, against NumPy's
results in long double, within the bounds of docs/ops.md."""

import os
import unittest
import warnings

import numpy

import redtune

CALLS = int(os.environ.get("REDTUNE_TEST_CALLS", 100))
SEED = int(os.environ.get("REDTUNE_TEST_SEED", 20261127))
DTYPES = ("f4", "f4", "f2", "f8", "i1", "u1", "i4", "i8", "u8", "?")
# By their names in NumPy, what errors are relative to: the sum of magnitudes, the result, or nothing.
SUMS = ("sum", "mean", "nansum", "nanmean")
SPREADS = ("var", "std", "nanvar", "nanstd")
EXACT = ("max", "min", "argmax", "argmin", "any", "all", "count_nonzero", "nanmax", "nanmin", "ptp")
OTHERS = ("prod", "norm", "logsumexp")
OVERFLOWS = ("sum", "nansum", "prod", *SPREADS, "ptp")  # where accumulators or squares do


def elements(random, dtype, shape):
    """Ordinary numbers, or those at an end of the dtype's range; of floats some NaN and infinite."""
    kind = dtype.kind
    if kind == "b":
        return random.random(shape) < random.choice([0.0, 0.1, 0.9, 1.0])
    if kind in "iu":
        info = numpy.iinfo(dtype)
        low, high = ((-5, 6), (info.min, info.max))[random.integers(2)]
        return random.integers(max(low, info.min), high, shape, dtype=dtype, endpoint=True)
    info, way = numpy.finfo(dtype), random.integers(6)
    x = random.standard_normal(shape).astype("g")
    with numpy.errstate(all="ignore"):
        if way == 1:
            x *= info.max / 8
        elif way == 2:
            x *= info.tiny
        elif way == 3:
            x = numpy.where(random.random(shape) < 0.8, 0, x)
        x = x.astype(dtype)
    if way in (4, 5) and x.size:
        some = random.random(shape) < random.choice([0.01, 0.3])
        x[some] = random.choice([numpy.nan, numpy.inf, -numpy.inf] if way == 4 else [numpy.nan])
    return x


def wanted(name, x, axis, keepdims, there):
    """NumPy's result, of floats in long double; of what is not there it is as if it were not."""
    wide = x.astype("g") if x.dtype.kind == "f" else x
    real = x.astype("g")
    more = {"axis": axis, "keepdims": keepdims}
    some = {} if there is None else {"where": there}
    if name == "norm":
        return (real * real).sum(**more, **some) ** numpy.longdouble(0.5)
    if name == "logsumexp":
        top = real.max(axis, keepdims=True, initial=-numpy.inf, **some)
        near = numpy.where(numpy.isfinite(top), top, 0)
        found = numpy.log(numpy.exp(real - near).sum(axis, keepdims=True, **some)) + near
        return found if keepdims else found.squeeze(axis)
    if name in ("argmax", "argmin", "count_nonzero", "ptp"):
        return getattr(numpy, name)(x if name != "ptp" else real, **more)
    if name in ("max", "min"):
        some = some and {**some, "initial": 0}
    if name in ("mean", "var", "std") or name in SUMS + SPREADS:
        wide = real if name not in ("sum", "nansum") or x.dtype.kind == "f" else x
    return getattr(numpy, name)(wide, **more, **some)


def size_of(name, x, axis, keepdims, there):
    """What an error is relative to."""
    a = abs(numpy.where(numpy.isfinite(x), x, 0).astype("g"))
    some = {} if there is None else {"where": there}
    if name in SUMS:
        size = a.sum(axis, keepdims=keepdims, **some)
        return size / max(1, x.size) if "mean" in name and not size.size else size
    none = a.max(axis, keepdims=keepdims, initial=0) * 0
    return none + 1 if name == "logsumexp" else none


class Random(unittest.TestCase):
    def check(self, name, got, want, size, x, what):
        got = numpy.asarray(got)
        self.assertEqual(got.shape, numpy.shape(want), what)
        with numpy.errstate(all="ignore"):
            given, want = got.astype("g"), numpy.asarray(want).astype("g")
            fine = numpy.finfo(got.dtype) if got.dtype.kind == "f" else None
            # A thread's accumulators are as fine as the elements', of those below 32 bits as f32.
            unit = 0 if fine is None else 3e-5 if x.dtype.itemsize <= 4 and x.dtype.kind == "f" else 1e-11
            least = 0 if fine is None else fine.smallest_subnormal
            least += (0 if fine is None else fine.eps) * abs(want)  # of the result
            near = abs(given - want) <= unit * (size + abs(want)) + least
            same = (given == want) | (numpy.isnan(given) & numpy.isnan(want))
            if fine is not None:
                top = fine.max * (1 - 4e-5)
                same |= (abs(want) > top) & (abs(given) > top) & (given * want > 0)
                if name in OVERFLOWS:  # docs/ops.md, "Range"
                    big = abs(x[numpy.isfinite(x)].astype("g")).sum() if x.dtype.kind == "f" else 0
                    most = numpy.sqrt(numpy.finfo(fine.dtype).max) if name in SPREADS else fine.max / 4
                    same |= big > most
                    if name in SPREADS:
                        same |= abs(given - want) <= 1e-4 * abs(want) + numpy.sqrt(fine.tiny)
            good = same | (numpy.isfinite(given) & near)
        self.assertTrue(good.all(), f"{what}: {got} and not {want}")

    def test_random_calls(self):
        redtune.configure(device="sim")
        random = numpy.random.default_rng(SEED)
        for turn in range(CALLS):
            name = str(random.choice(SUMS + SPREADS + EXACT + OTHERS))
            dtype = numpy.dtype(str(random.choice(DTYPES)))
            shape = tuple(map(int, random.integers(1, 12, random.integers(1, 4))))
            if not random.integers(3):
                shape = (int(random.integers(1, 3000)),)
            if name == "norm" and dtype.kind == "b":
                continue
            x = elements(random, dtype, shape)
            if name == "prod":
                x = numpy.where(random.random(shape) < 0.9, numpy.ones((), dtype), x)
            axis = int(random.integers(-len(shape), len(shape)))
            keepdims = bool(random.integers(2))
            there = None
            if name in (*SUMS[:2], *SPREADS[:2], "any", "all", "max", "min", "norm", "logsumexp"):
                there = random.random(shape) < 0.6 if not random.integers(3) else None
            if dtype.kind in "iub" and name == "ptp":
                x = x.astype("f8")
            more = {} if there is None else {"where": there}
            if more and name in ("max", "min"):
                more["initial"] = 0
            order = str(random.choice(["free", "fixed"]))
            what = f"call {turn}: {name} of {x.dtype} {shape} along {axis}, {order}, {bool(more)}"
            with warnings.catch_warnings(), numpy.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                want = wanted(name, x, axis, keepdims, there)
                size = size_of(name, x, axis, keepdims, there)
            got = getattr(redtune, name)(x, axis=axis, keepdims=keepdims, order=order, **more)
            self.check(name, got, want, size, x, what)

    def test_loads_with_nan_among_their_elements(self):
        redtune.configure(device="sim")
        for dtype, axis, step in (("f4", None, 7), ("f4", 1, 3), ("f2", None, 5), ("f2", 1, 700)):
            x = numpy.random.default_rng(SEED).integers(-9, 9, (3, 2048)).astype(dtype)
            x.flat[::step] = numpy.nan
            x[1, :900] = numpy.nan
            for name in ("nansum", "nanmean", "nanvar"):
                want = getattr(numpy, name)(x.astype("f8"), axis=axis)
                got = getattr(redtune, name)(x, axis=axis, order="free")
                numpy.testing.assert_allclose(got, want, 1e-3 if dtype == "f2" else 1e-5)


if __name__ == "__main__":
    unittest.main()
