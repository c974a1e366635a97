"""Answers: what NumPy gives in f64 for calls of redtune's ops, and how far from it a result may be."""

import math

import numpy

UNIT = {"float16": 2**-11, "float32": 2**-24, "float64": 2**-53}


def index_of(find, x, axis):
    """NumPy's argmin and argmax take one axis: those of a tuple are made one, in row-major order."""
    if not isinstance(axis, tuple):
        return find(x, axis)
    reduced = sorted(a % x.ndim for a in axis)
    kept = [a for a in range(x.ndim) if a not in reduced]
    x = x.transpose(kept + reduced)
    sizes = x.shape[: len(kept)]
    return find(x.reshape(sizes + (math.prod(x.shape[len(kept) :]),)), -1)


# NumPy's answer for x and y in f64 along an axis, and the magnitude that errors are relative to;
# **w are where and initial, for the ops that NumPy takes them for.
ANSWERS = {
    "sum": (lambda x, y, a, **w: x.sum(a, **w), lambda x, y, a, **w: abs(x).sum(a, **w)),
    "mean": (lambda x, y, a, **w: x.mean(a, **w), lambda x, y, a, **w: abs(x).mean(a, **w)),
    "prod": (lambda x, y, a, **w: x.prod(a, **w), "answer"),
    "min": (lambda x, y, a, **w: x.min(a, **w), None),
    "max": (lambda x, y, a, **w: x.max(a, **w), None),
    "argmin": (lambda x, y, a: index_of(numpy.argmin, x, a), None),
    "argmax": (lambda x, y, a: index_of(numpy.argmax, x, a), None),
    "any": (lambda x, y, a, **w: x.any(a, **w), None),
    "all": (lambda x, y, a, **w: x.all(a, **w), None),
    "count_nonzero": (lambda x, y, a: numpy.count_nonzero(x, a), None),
    "norm2": (lambda x, y, a, **w: numpy.sqrt((x * x).sum(a, **w)), "answer"),
    "var": (lambda x, y, a, **w: x.var(a, **w), lambda x, y, a, **w: (x * x).mean(a, **w)),
    "std": (lambda x, y, a: x.std(a), lambda x, y, a: numpy.sqrt((x * x).mean(a))),
    "logsumexp": (lambda x, y, a: numpy.log(numpy.exp(x).sum(a)), "answer"),
    "dot": (lambda x, y, a: (x * y).sum(a), lambda x, y, a: abs(x * y).sum(a)),
    "mse": (lambda x, y, a: ((x - y) ** 2).mean(a), "answer"),
    "minmax": (lambda x, y, a: (x.min(a), x.max(a)), None),
    "sum_sumsq": (
        lambda x, y, a: (x.sum(a), (x * x).sum(a)),
        lambda x, y, a: (x * x + abs(x)).sum(a),
    ),
}
TWO_INPUTS = {"dot", "mse"}


def answer_of(name, x, y, axis, **more):
    """NumPy's answer, of the elements in f64, and the magnitude."""
    answer, scale = ANSWERS[name]
    wide = x.astype("f8"), y.astype("f8")
    wanted = answer(*wide, axis, **more)
    if scale == "answer":
        return wanted, abs(wanted) + 1
    return wanted, scale(*wide, axis, **more) if scale else 0


def is_close(got, wanted, scale, dtype, count):
    """Whether results of that many elements of the dtype are within the bounds of docs/ops.md."""
    if got.shape != numpy.shape(wanted):
        return False
    unit = UNIT.get(str(dtype), 0)
    accumulated = 2**-24 if dtype in ("float16", "float32") else 2**-53
    # NumPy adds the elements of columns one after the other, in f64.
    ours, numpys = (40 + count**0.5) * accumulated, count * 2**-53
    bound = (ours + numpys) * scale + 2 * unit * abs(wanted) + 1e-300
    with numpy.errstate(all="ignore"):  # what overflows the result's dtype, and means of nothing
        same = numpy.equal(got, numpy.asarray(wanted).astype(got.dtype))
        same |= numpy.isnan(got) & numpy.isnan(wanted)
        return bool(numpy.all(same | (abs(got.astype("f8") - wanted) <= bound)))
