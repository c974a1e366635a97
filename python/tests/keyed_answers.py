"""Keyed answers: what NumPy gives in f64 for reductions by key, and how far from it a result may be.

Elements come with the cell of the result that each goes to, absent ones and those without a key left out."""

import numpy

UNITS = {"float16": 2**-11, "float32": 2**-24, "float64": 2**-53, "bfloat16": 2**-8}
EXACT = ("sum", "sumsq", "dot", "cityblock")  # of whole numbers; only the result is rounded
# Of other elements these have a bound that is relative to the sum of sizes.
BOUNDED = (*EXACT, "mean", "norm2", "mse")
# What an initial value does to a result.
RESUMED = {
    **dict.fromkeys(EXACT, numpy.add), "prod": numpy.multiply, "max": numpy.maximum,
    "min": numpy.minimum, "any": numpy.logical_or, "chebyshev": numpy.maximum,
}  # fmt: skip


def sums(cells, values, many):
    return numpy.bincount(cells, values, many)


def extreme(at, cells, values, many, none):
    found = numpy.full(many, none, "f8")
    at(found, cells, values)
    return found


def answer(kind, *elements):
    """The results in f64, and the sizes that errors are relative to; 0: there are no errors."""
    found = plain_answer(kind, *elements)
    if kind.initial is None:
        return found
    return [(RESUMED[kind.op](found[0][0], kind.initial), found[0][1])]


def plain_answer(kind, cells, rows, x, y, many, limits):
    """The same without an initial value. limits: what max and min of nothing are."""
    op = kind.op
    with numpy.errstate(all="ignore"):
        if op in ("sum", "sumsq", "norm2", "dot", "cityblock"):
            others = {"sum": x, "dot": x * y, "cityblock": abs(x - y)}
            terms = others.get(op, x * x)
            want, size = sums(cells, terms, many), sums(cells, abs(terms), many)
            return [(numpy.sqrt(want), numpy.sqrt(size)) if op == "norm2" else (want, size)]
        counts = sums(cells, None, many)
        if op in ("mean", "mse"):
            terms = x if op == "mean" else (x - y) ** 2
            return [(sums(cells, terms, many) / counts, sums(cells, abs(terms), many) / counts)]
        if op == "wmean":
            want = sums(cells, x * y, many) / sums(cells, y, many)
            return [(want, abs(want))]
        if op in ("var", "mean_var"):
            mean = sums(cells, x, many) / counts
            squares = sums(cells, (x - mean[cells]) ** 2, many) / counts
            size = sums(cells, x * x, many) / counts
            return [(squares, size)] if op == "var" else [(mean, numpy.sqrt(size)), (squares, size)]
        if op == "prod":
            return [(extreme(numpy.multiply.at, cells, x, many, 1), 0)]
        if op == "count_nonzero":
            return [(sums(cells, x != 0, many), 0)]
        if op == "any":
            return [(sums(cells, x != 0, many) > 0, 0)]
        if op == "chebyshev":
            return [(extreme(numpy.maximum.at, cells, abs(x - y), many, 0), 0)]
        if op in ("max", "min"):
            at, none = (numpy.maximum.at, limits[0]) if op == "max" else (numpy.minimum.at, limits[1])
            return [(extreme(at, cells, x, many, none), 0)]
    order = numpy.lexsort((rows, -x, cells))
    first = order[numpy.unique(cells[order], return_index=True)[1]]
    index = numpy.full(many, -1.0)
    index[cells[first]] = rows[first]
    greatest = numpy.full(many, float(limits[0]))
    greatest[cells[first]] = x[first]
    return [(index, 0)] if op == "argmax" else [(greatest, 0), (index, 0)]


def wrong_place(kind, got, want, size, n):
    """The place of a result of n elements at most that is not right; None: all are."""
    got = got.reshape(want.shape)
    is_bf16 = kind.dtype == "bf16"
    with numpy.errstate(all="ignore"):
        same = (got == want.astype(got.dtype)) | (numpy.isnan(want) & (got != got))
        same |= got.astype("f8") == want  # of the greatest i64
        if got.dtype.kind == "f" and (is_bf16 or not (kind.whole and kind.op in EXACT)):
            unit = UNITS["float64" if kind.dtype == "f8" else "float32"]
            element = (40 + n**0.5) * unit + n * UNITS["float64"]  # NumPy's, too
            if kind.dtype != "f8" and not (kind.whole or kind.order):
                element = max(element, 2**-18)  # by words of a fixed point
            unit = UNITS["bfloat16" if is_bf16 else str(got.dtype)]
            same |= abs(got.astype("f8") - want) <= 2 * unit * abs(want) + element * (size + (kind.initial or 0))
    return None if same.all() else int(numpy.argmin(same.reshape(-1)))
