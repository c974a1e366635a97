"""Functions: every op along axes, of arrays of the host and of the simulated GPU."""

import inspect
import pickle
import threading
import unittest
import warnings

import numpy
import sim_memory

import redtune
from redtune import _core

SMALL = numpy.array([[3, -1, 2, 0], [5, 4, -2, 1], [1, 1, 7, -3]])
NUMBERS = ["nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanargmin", "nanargmax"]


def wanted(name, x, y, axis):
    """NumPy's answer, in f64; None: it has no function for the op."""
    wide = x.astype("f8")
    diff = wide - y
    with numpy.errstate(all="ignore"):
        return {
            "sum": lambda: wide.sum(axis), "prod": lambda: wide.prod(axis),
            "min": lambda: wide.min(axis), "max": lambda: wide.max(axis),
            "fmin": lambda: wide.min(axis), "fmax": lambda: wide.max(axis),
            "argmaxabs": lambda: abs(x).argmax(axis),
            "argmin": lambda: x.argmin(axis), "argmax": lambda: x.argmax(axis),
            "sumsq": lambda: (wide**2).sum(axis), "norm2": lambda: (wide**2).sum(axis) ** 0.5,
            "sumabs": lambda: abs(wide).sum(axis), "maxabs": lambda: abs(wide).max(axis),
            "mean": lambda: wide.mean(axis), "any": lambda: x.any(axis), "all": lambda: x.all(axis),
            "nonzeros": lambda: numpy.count_nonzero(x, axis), "nans": lambda: 0 * wide.sum(axis),
            "nonfinite": lambda: wide.sum(axis) > 1e9, "ptp": lambda: numpy.ptp(wide, axis),
            "normp": lambda: (wide**2).sum(axis) ** 0.5, "var": lambda: wide.var(axis),
            "std": lambda: wide.std(axis),
            "logsumexp": lambda: numpy.log(numpy.exp(wide).sum(axis)),
            "slogprod": lambda: (numpy.sign(wide.prod(axis)), numpy.log(abs(wide.prod(axis)))),
            "min_at": lambda: (wide.min(axis), x.argmin(axis)),
            "max_at": lambda: (wide.max(axis), x.argmax(axis)),
            "minmax": lambda: (wide.min(axis), wide.max(axis)),
            "sum_sumsq": lambda: (wide.sum(axis), (wide**2).sum(axis)),
            "mean_var": lambda: (wide.mean(axis), wide.var(axis)),
            "sum_nonfinite": lambda: (wide.sum(axis), 0 * wide.sum(axis)),
            "dot": lambda: (wide * y).sum(axis), "sqeuclidean": lambda: (diff**2).sum(axis),
            "euclidean": lambda: (diff**2).sum(axis) ** 0.5,
            "cityblock": lambda: abs(diff).sum(axis), "chebyshev": lambda: abs(diff).max(axis),
            "cosine": lambda: (wide * y).sum(axis)
            / ((wide**2).sum(axis) * (y.astype("f8") ** 2).sum(axis)) ** 0.5,
            "wmean": lambda: (wide * y).sum(axis) / y.sum(axis),
            "mismatches": lambda: (diff != 0).sum(axis), "mse": lambda: (diff**2).mean(axis),
            "and": lambda: numpy.bitwise_and.reduce(x, axis),
            "or": lambda: numpy.bitwise_or.reduce(x, axis),
            "xor": lambda: numpy.bitwise_xor.reduce(x, axis),
            "minabs": lambda: abs(wide).min(axis),
            **{
                name: lambda name=name: getattr(numpy, name)(wide, axis)
                for name in NUMBERS
            },
        }.get(name, lambda: None)()  # fmt: skip


class Functions(unittest.TestCase):
    def near(self, got, want, what):
        self.assertEqual(numpy.shape(got), numpy.shape(want), what)
        numpy.testing.assert_allclose(numpy.asarray(got, "f8"), want, rtol=2e-6, err_msg=what)

    def test_every_op_gives_what_numpy_does(self):
        for op in _core.op_names():
            _, _, inputs, outputs, _ = _core.op_facts(_core.op_find(op))
            dtype = "i4" if op in ("and", "or", "xor") else "f4"
            x, y = SMALL.astype(dtype), (SMALL[::-1] + 2).astype(dtype)
            want = wanted(op, x, y, 1)
            got = redtune.reduce(x, *[y] * (inputs - 1), op=op, axis=1)
            if want is None:  # each row by itself gives the same
                pairs = zip(*[x, y][:inputs])
                want = [redtune.reduce(*map(numpy.ascontiguousarray, row), op=op) for row in pairs]
                want = (
                    numpy.array(want) if len(outputs) == 1 else tuple(map(numpy.array, zip(*want)))
                )
            if len(outputs) == 1:
                got, want = (got,), (want,)
            for one, its in zip(got, want):
                self.near(one, its, op)

    def test_nan_is_skipped_as_numpy_does(self):
        x = SMALL.astype("f4")
        x[0, 1] = x[1] = x[2, 3] = numpy.nan
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a row without numbers
            for name in [*NUMBERS[:-2], "nanmin", "nanmax"]:
                self.near(getattr(redtune, name)(x, 1), getattr(numpy, name)(x, 1), name)
        self.assertEqual(redtune.nanargmin(x, 1).tolist(), [3, -1, 0])
        self.assertEqual(redtune.nanargmax(x, 1).tolist(), [0, -1, 2])
        self.assertEqual(redtune.nanargmax(numpy.array([numpy.nan, -numpy.inf], "f4")), 1)
        for name in NUMBERS:  # integers have none
            self.near(getattr(redtune, name)(SMALL, 0), wanted(name, SMALL, SMALL, 0), name)

    def test_other_libraries_names_are_taken(self):
        x = SMALL.astype("f4")
        self.near(redtune.sum(x, dim=1, keepdim=True), x.sum(1, keepdims=True), "dim, keepdim")
        self.near(redtune.sum(input=x), x.sum(), "input")
        self.near(redtune.dot(x, other=x), (x * x).sum(), "other")
        self.near(redtune.var(x, dim=0, correction=1), x.var(0, ddof=1), "correction")
        self.near(redtune.amax(x, 0), x.max(0), "amax")
        with self.assertRaisesRegex(TypeError, "axis and dim, which are one argument"):
            redtune.sum(x, axis=0, dim=0)
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'correction'"):
            redtune.sum(x, correction=1)

    def test_norms_have_numpys_orders(self):
        x = numpy.array([[2, -7, 4], [0, 3, -1]], "f4")
        with numpy.errstate(divide="ignore"):
            for p in (None, 1, 2, 3, 0.5, -1, 0, numpy.inf, -numpy.inf):
                want = numpy.linalg.norm(x, p, axis=1)
                for words in ({"axis": 1, "ord": p}, {"dim": 1, "p": p}):
                    got = redtune.norm(x, **words)
                    self.near(got, want, f"ord {p}")
                    self.assertEqual(got.dtype, "f4")
                self.near(redtune.norm(x, p, 1), want, f"ord {p}")
                if p is not None:
                    self.near(redtune.normp(x, 1, p=p), want, f"p {p}")
        self.near(redtune.norm(x), numpy.linalg.norm(x), "of the whole")
        self.near(redtune.norm(x.astype("i4"), numpy.inf), 7, "of integers")
        self.near(redtune.linalg.norm(x[:0], numpy.inf), 0, "of no rows")
        for call, text in (
            (lambda: redtune.normp(x, p=numpy.nan), "p=nan"),
            (lambda: redtune.norm(x, "l2"), "ord='l2': give a number, 'fro' or 'nuc'"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                call()

    def test_pytorchs_calls_give_what_it_gives(self):
        x, bools = SMALL.astype("f4"), SMALL > 1
        one = numpy.array(3, "f4")
        for i, (got, want) in enumerate((
            (redtune.aminmax(x, dim=1, keepdim=True).max, x.max(1, keepdims=True)),
            (redtune.aminmax(bools), (False, True)),
            (redtune.var(x, dim=1, unbiased=True), x.var(1, ddof=1)),
            (redtune.std(x, dim=[0, -1], unbiased=False), x.std()),
            (redtune.var(x, True), x.var(ddof=1)), (redtune.std(x, False), x.std()),
            (redtune.var(x, dim=None, correction=None), x.var(ddof=1)),
            (redtune.var_mean(x, False).var, x.var()),
            (redtune.std_mean(x, 1, unbiased=False).std, x.std(1)),
            (redtune.norm(x, "fro", [0, 1]), numpy.linalg.norm(x)), (redtune.norm(one, 2, 0), 3),
            (redtune.norm(x, 3, order="fixed"), numpy.linalg.norm(x.ravel(), 3)),
            (redtune.norm(x, 1.5, -1, True), numpy.linalg.norm(x, 1.5, 1, True)),
            (redtune.prod(bools, 1, dtype=bool), bools.all(1)),
            (redtune.sum(x / 9, dtype=bool), True),
            (redtune.logsumexp(bools, 1), numpy.log(numpy.exp(bools + 0.0).sum(1))),
            (redtune.sum(x[:0], dim=(0, 1)), 0), (redtune.amax(one, dim=()), 3),
        )):  # fmt: skip
            self.near(got, want, i)
        self.assertEqual(redtune.prod(bools, dtype=bool).dtype, bool)
        self.assertEqual(redtune.aminmax(bools).min.dtype, bool)
        with self.assertRaisesRegex(TypeError, "along axis True"):
            redtune.sum(x, True)

    def test_norms_have_other_libraries_names(self):
        x = numpy.array([[2, -7, 4], [0, 3, -1]], "f4")
        linalg, wanted = redtune.linalg, numpy.linalg
        for p in (1, 2, 3, 0, numpy.inf, -numpy.inf):
            self.near(linalg.vector_norm(x, p), wanted.norm(x.ravel(), p), f"vector of {p}")
            self.near(linalg.vector_norm(x, p, dim=1, keepdim=True),
                      wanted.norm(x, p, axis=1, keepdims=True), f"vectors of {p}")  # fmt: skip
            self.near(linalg.norm(x[0], p), wanted.norm(x[0], p), f"one of {p}")
            some = linalg.vector_norm(x, p, where=x > 0)
            self.near(some, wanted.norm(x[x > 0], p), f"those above 0 of {p}")
            self.near(linalg.norm(x, p, axis=0), wanted.norm(x, p, axis=0), f"columns of {p}")
        both = numpy.stack([x, 2 * x])
        for p in (None, "fro", 1, -1, numpy.inf, -numpy.inf):
            self.near(linalg.norm(x, p), wanted.norm(x, p), f"matrix of {p}")
            for axis in ((1, 2), (-1, 0)):
                self.near(linalg.norm(both, p, axis, keepdims=True),
                          wanted.norm(both, p, axis, keepdims=True), f"{p} {axis}")  # fmt: skip
        self.near(linalg.norm(both), wanted.norm(both.ravel()), "of all")
        for call in (
            lambda: linalg.norm(x, 3), lambda: linalg.norm(both, 1), lambda: linalg.norm(x[0], "fro")
        ):  # fmt: skip
            with self.assertRaisesRegex(ValueError, "call vector_norm"):
                call()

    def test_pairs_have_pytorchs_order_and_correction(self):
        x = SMALL.astype("f4")
        var, mean = redtune.var_mean(x, dim=1, keepdim=True)
        self.near(var, x.var(1, ddof=1, keepdims=True), "var")
        self.near(mean, x.mean(1, keepdims=True), "mean")
        pair = redtune.std_mean(x, correction=0)
        self.near(pair.std, x.std(), "std")
        self.near(pair.mean, x.mean(), "mean")

    def test_arrays_without_axes_and_without_elements_are_numpys(self):
        x = numpy.array(3, "f4")
        for axis in (0, -1, None):
            self.assertEqual(redtune.sum(x, axis=axis), 3)
        with self.assertRaisesRegex(ValueError, "axis 1: the array has no axes"):
            redtune.sum(x, axis=1)
        for empty, axis in ((numpy.empty(0, "f4"), None), (numpy.empty((0, 3), "f4"), 0)):
            for op in ("max", "min", "fmax", "nanmin", "amax", "ptp", "aminmax", "argmax", "argmin"):
                for x in (empty, sim_memory.asarray(empty)):
                    name = {"nanmin": "fmin", "amax": "max", "aminmax": "minmax"}.get(op, op)
                    with self.assertRaisesRegex(ValueError, f"{name}: there are no elements"):
                        getattr(redtune, op)(x, axis)
                    with self.assertRaisesRegex(ValueError, f"{name}: there are no elements"):
                        redtune.plan(x, op=op, axis=axis)
            self.assertEqual(numpy.max(redtune.max(empty, axis, initial=3)), 3)
            self.assertEqual(numpy.max(redtune.maxabs(empty, axis)), 0)
        for op in ("max", "ptp", "argmax"):
            self.assertEqual(getattr(redtune, op)(numpy.empty((0, 3), "f4"), 1).shape, (0,))

    def test_every_op_has_a_function_with_its_arguments(self):
        for name in redtune._functions.names():
            function = getattr(redtune, name)
            keys = list(inspect.signature(function).parameters)
            usual = ["axis", "keepdims", "out", "dtype", "order", "stream"]
            if name in redtune._functions._SPECIAL:  # made of another one's results
                usual = ["axis", "keepdims", "dtype"]
            self.assertEqual([key for key in keys if key in usual], usual, name)
            self.assertEqual(keys[0], "x")
        self.assertEqual(inspect.signature(redtune.var).parameters["ddof"].default, 0)

    def test_arguments_are_taken_in_every_way_that_python_has(self):
        x = SMALL.astype("f4")
        want = x.sum(0, keepdims=True)
        spelt = {"".join(("ax", "is")): 0, "".join(("keep", "dims")): True}  # names of their own
        ways = (
            redtune.sum(x, 0, True), redtune.sum(x, 0, keepdims=True), redtune.sum(x, **spelt),
            redtune.sum(x=x, axis=0, keepdims=1), redtune.sum(x, 0, True, None, "f32"),
            redtune.sum(x, 0, True, numpy.empty_like(want), dtype=None, stream=None),
            redtune.sum(*(x,), keepdims=True, axis=0, out=numpy.empty_like(want)),
        )  # fmt: skip
        for i, got in enumerate(ways):
            self.near(got, want, i)
        self.near(redtune.dot(x, x, 1), (x * x).sum(1), "dot")
        self.near(redtune.dot(x, y=x, axis=1), (x * x).sum(1), "dot")
        self.near(redtune.var(x, 1, ddof=1), x.var(1, ddof=1), "var")

    def test_wrong_arguments_are_refused_as_python_does(self):
        x = SMALL.astype("f4")
        for words, call in {
            "missing 1 required positional argument: 'x'": lambda: redtune.sum(),
            "missing 1 required positional argument: 'y'": lambda: redtune.dot(x),
            "unexpected keyword argument 'axes'": lambda: redtune.sum(x, axes=0),
            "multiple values for argument 'axis'": lambda: redtune.sum(x, 0, axis=0),
            "takes from 1 to 10 positional arguments but 11": lambda: redtune.sum(x, *[None] * 10),
        }.items():
            with self.assertRaisesRegex(TypeError, words):
                call()
        with self.assertRaisesRegex(TypeError, "keepdims=array.*give True or False"):
            redtune.sum(x, keepdims=numpy.ones(2))
        for yes in (1, numpy.True_):
            self.assertEqual(redtune.sum(x, keepdims=yes).ndim, 2)
        for no in (0, None, numpy.False_):
            self.assertEqual(redtune.sum(x, keepdims=no).ndim, 0)

    def test_functions_are_found_by_their_names(self):
        for name in redtune._functions.names():
            function = getattr(redtune, name)
            self.assertIs(pickle.loads(pickle.dumps(function)), function)
            self.assertEqual((function.__module__, function.__name__), ("redtune", name))

    def test_axes_and_keepdims_are_numpys(self):
        x = numpy.arange(2 * 3 * 4, dtype="f4").reshape(2, 3, 4)
        for axis in (None, 0, 1, 2, -1, (0, 1), (1, 2), (2, 1), (0, 1, 2), [0]):
            for keepdims in (False, True):
                axes = tuple(axis) if isinstance(axis, list) else axis
                want = x.sum(axes, keepdims=keepdims)
                self.near(redtune.sum(x, axis, keepdims), want, f"{axis} {keepdims}")

    def test_counts_are_int64_and_truths_bool(self):
        x = SMALL.astype("f4")
        self.assertEqual(redtune.count_nonzero(x, 0).dtype, "int64")
        self.assertEqual(redtune.any(x, 0).dtype, "bool")
        self.assertEqual(redtune.any(x, 0, dtype="uint8").dtype, "uint8")
        self.assertEqual(redtune.sum(x > 1), 5)
        self.assertEqual(redtune.sum(x > 1).dtype, "int64")
        self.assertEqual(redtune.sum_nonfinite(x, 0).nonfinite.dtype, "int64")

    def test_dtype_takes_every_way_to_name_it(self):
        x = SMALL.astype("f4")
        wide = ("f64", "float64", float, numpy.float64, numpy.dtype("f8"), "float", "double", "d")
        for name in (*wide, numpy.dtype("f8").str):
            self.assertEqual(redtune.sum(x, dtype=name).dtype, "float64")
        for name in ("f4", "f", "single", "<f4", "=f4", "f2", "half", "e", "float16"):
            self.assertEqual(redtune.sum(x, dtype=name).dtype, name.replace("float16", "f2"), name)
        for name in ("long", "int", int, "<i8", "=i8", numpy.int64):
            self.assertEqual(redtune.sum(SMALL, dtype=name).dtype, "i8", name)
        for name in ("i4", "<i4", "i2", "short", "|i1", "i1", "u1", "u2", "u4", "<u8", "f4", "d", "?"):
            long_name = numpy.dtype(name).name
            self.assertEqual(
                redtune._functions._number(name), redtune._functions._number(long_name), name
            )
        self.assertEqual(redtune.any(x, dtype="?").dtype, "bool")
        for name, text in (("f8", '"float64" or "e4m3"'), (">f4", "swapped"), ("c8", "c8")):
            with self.assertRaisesRegex(TypeError, text):
                redtune.sum(x, dtype=name)
        for name in ("i8", "u8"):
            for call in (
                lambda name: redtune.sum(SMALL, dtype=name), lambda name: redtune.tune("sum", name),
                lambda name: redtune.tune("sum", ["f32", name]),
                lambda name: redtune.explain("sum", name), lambda name: redtune.show("sum", name),
            ):  # fmt: skip
                with self.assertRaisesRegex(TypeError, "int64.*int8" if name == "i8" else "uint64"):
                    call(name)
        self.assertEqual(redtune.sum(SMALL, dtype=numpy.dtype("i8")), SMALL.sum())
        self.assertEqual(redtune.any(x, dtype=bool).dtype, "bool")
        with self.assertRaisesRegex(TypeError, "mean with dtype=bool"):
            redtune.mean(SMALL, dtype=bool)

    def test_several_results_are_a_named_tuple(self):
        mean, var = found = redtune.mean_var(SMALL.astype("f4"), axis=0, ddof=1)
        self.assertEqual(type(found).__name__, "MeanVarResults")
        self.near(found.mean, SMALL.mean(0), "mean")
        self.near(var, SMALL.var(0, ddof=1), "var")
        self.assertIs(mean, found.mean)

    def test_out_takes_the_result(self):
        x = SMALL.astype("f4")
        out = numpy.empty(3, "f8")
        self.assertIs(redtune.sum(x, axis=1, out=out, dtype="f64"), out)
        self.near(out, SMALL.sum(1), "out")
        pair = numpy.empty(4, "f4"), numpy.empty(4, "f4")
        self.assertIs(redtune.minmax(x, axis=0, out=pair).max, pair[1])

    def test_without_a_dtype_the_result_has_that_of_out(self):
        """As in NumPy, where the op has results of it; a dtype that is given is meant."""
        whole = numpy.arange(12, dtype="i4").reshape(3, 4)
        for op, x, dtype in (
            ("sum", whole, "f4"), ("sum", whole, "f8"), ("sum", whole, "i4"), ("sum", whole > 4, "f4"),
            ("sum", whole.astype("f4"), "f8"), ("mean", whole, "f4"), ("sumsq", whole, "f8"),
            ("sum", whole, "i8"), ("nonzeros", whole, "u8"), ("nonzeros", whole, "i8"),
        ):  # fmt: skip
            out = numpy.empty(3, dtype)
            self.assertIs(redtune.reduce(x, op=op, axis=1, out=out), out)
            self.near(out, redtune.reduce(x, op=op, axis=1), f"{op} of {x.dtype} into {dtype}")
        self.assertEqual(redtune.sum(whole, out=numpy.empty((), "f4")), 66)
        for op, x, dtype, asked in (
            ("max", whole, "f4", None), ("sum", whole.astype("f4"), "i4", None),
            ("sum", whole, "f2", None), ("sum", whole, "f4", "i64"), ("any", whole, "f4", None),
        ):  # fmt: skip
            with self.assertRaisesRegex(TypeError, "cannot write the result to out"):
                redtune.reduce(x, op=op, out=numpy.empty((), dtype), dtype=asked)

    def test_out_gives_its_dtype_to_results_of_any_kind(self):
        """Segments, keys and lists have the rules of axes: what is refused there is refused here."""
        whole, offsets, keys = numpy.arange(9, dtype="i4"), numpy.array([0, 2, 2, 9]), [2, 0, 1] * 3
        for place, empty in ((numpy.array, numpy.empty), (sim_memory.asarray, sim_memory.empty)):
            for op, x, dtype in (
                ("sum", whole, "f4"), ("sum", whole, "i4"), ("mean", whole, "f4"), ("sum", whole, "i8"),
                ("sum", whole.astype("f4"), "f8"), ("nonzeros", whole, "u8"), ("sum", whole > 3, "f4"),
                ("max", whole, "f4"), ("sum", whole, "f2"), ("any", whole, "f4"), ("max", whole, "i8"),
            ):  # fmt: skip
                arrays = redtune.List([place(x[a:b]) for a, b in zip(offsets, offsets[1:])])
                kinds = {
                    "axes": lambda out: redtune.reduce(place(x.reshape(3, 3)), op=op, axis=1, out=out),
                    "segments": lambda out: redtune.segments(place(x), place(offsets), op=op, out=out),
                    "keys": lambda out: redtune.by_key(place(x), place(numpy.array(keys)), 3, op, out=out),
                    "list": lambda out: arrays.reduce(op, each=True, out=out),
                    "one of a list": lambda out: arrays.reduce(op, out=out),
                }
                refused = set()
                for kind, call in kinds.items():
                    out = empty(() if kind == "one of a list" else (3,), dtype)
                    try:
                        self.assertIs(call(out), out)
                    except TypeError as error:
                        self.assertIn("cannot write the result to out", str(error))
                        refused.add(kind)
                        continue
                    got, want = (a if place is numpy.array else a.numpy() for a in (out, call(None)))
                    self.near(got, want, f"{kind}: {op} of {x.dtype} into {dtype}")
                self.assertIn(len(refused), (0, len(kinds)), f"{op} of {x.dtype} into {dtype}: {refused}")
        with self.assertRaisesRegex(TypeError, "cannot write the result to out"):
            redtune.segments(whole, offsets, out=numpy.zeros(3, "f4"), dtype="i64")

    def test_newcomers_are_told_the_remedy(self):
        x = numpy.arange(12, dtype="i4").reshape(3, 4)
        for call, part in (
            (lambda: redtune.var(x, axis=1, mean=x.mean(1, keepdims=True)), "leave mean out"),
            (lambda: redtune.std(x, mean=3.0), r"take redtune.mse\(x, mean, axis\)"),
            (lambda: redtune.sum(x, dtype="float16"), 'or "f32", and convert the result'),
            (lambda: redtune.mean(x, dtype=numpy.float16), 'or "f32", and convert the result'),
        ):
            with self.assertRaisesRegex(TypeError, part):
                call()
        self.near(redtune.var(x, mean=None), x.var(), "var")

    def test_views_of_the_host_need_no_copy(self):
        x = numpy.arange(60, dtype="f4").reshape(5, 12)
        self.near(redtune.sum(x[:, 2:9], axis=1), x[:, 2:9].sum(1), "columns of rows")
        self.near(redtune.sum(x.T, axis=0), x.sum(1), "transposed")
        self.near(redtune.sum(x[::2, 1:], axis=0), x[::2, 1:].sum(0), "columns of every second row")

    def test_empty_arrays_are_numpys(self):
        x = numpy.empty((0, 3), "f4")
        self.near(redtune.sum(x), 0.0, "sum of nothing")
        self.near(redtune.sum(x, axis=0), numpy.zeros(3), "columns of nothing")
        self.near(redtune.sum(x, axis=1), numpy.empty(0), "no rows")


class Devices(unittest.TestCase):
    """Arrays of the simulated GPU, which know nothing of NumPy."""

    def test_a_capsule_is_reduced_where_it_lies(self):
        x = sim_memory.asarray(SMALL.astype("f4"))
        before = len(sim_memory.given_back)
        found = redtune.sum(x, axis=0)
        self.assertIs(type(found), sim_memory.Array)
        self.assertEqual(found.numpy().tolist(), SMALL.sum(0).tolist())
        self.assertEqual(redtune.argmax(x).numpy(), SMALL.argmax())
        self.assertEqual(len(sim_memory.given_back) - before, 4, "capsules are given back")

    def test_the_array_interface_is_reduced_where_it_lies(self):
        x = sim_memory.asarray(SMALL.astype("f4"), sim_memory.Interfaced)
        self.assertEqual(redtune.max(x, axis=1).numpy().tolist(), SMALL.max(1).tolist())

    def test_an_interface_with_a_mask_is_refused(self):
        class Masked(sim_memory.Interfaced):
            mask = None

            @property
            def __cuda_array_interface__(self):
                return {**sim_memory.Interfaced.__cuda_array_interface__.fget(self), "mask": self.mask}

        x = sim_memory.asarray(SMALL.astype("f4"), Masked)
        self.assertEqual(redtune.sum(x).numpy(), SMALL.sum())
        x.mask = sim_memory.asarray(SMALL > 0)
        with self.assertRaisesRegex(TypeError, "it has a mask"):
            redtune.sum(x)

    def test_strides_are_taken_or_say_so(self):
        x = sim_memory.asarray(numpy.arange(24, dtype="f4"))
        self.assertEqual(
            redtune.sum(x.view((4, 3), (6, 1)), axis=1).numpy().tolist(), [3, 21, 39, 57]
        )
        self.assertEqual(
            redtune.sum(x.view((3, 4), (1, 6)), axis=0).numpy().tolist(), [3, 21, 39, 57]
        )
        self.assertEqual(redtune.sum(x.view((4, 3), (6, 1))).numpy(), 120)
        self.assertEqual(redtune.sum(x.view((4, 3), (6, 1)), order="fixed").numpy(), 120)

    def test_two_inputs_and_two_results(self):
        x, y = (sim_memory.asarray(SMALL.astype("f4") + i) for i in range(2))
        self.assertEqual(redtune.dot(x, y).numpy(), (SMALL * (SMALL + 1)).sum())
        found = redtune.minmax(x, axis=0)
        self.assertEqual(found.max.numpy().tolist(), SMALL.max(0).tolist())

    def test_segments_are_reduced_by_tables(self):
        values = numpy.arange(12, dtype="f4")
        x = sim_memory.asarray(values)
        for dtype in ("i4", "i8"):
            offsets = sim_memory.asarray(numpy.array([0, 5, 5, 12], dtype))
            found = redtune.segments(x, offsets, op="sum")
            self.assertEqual(found.numpy().tolist(), [10.0, 0.0, 56.0])
            begin, end = offsets.view((3,), (1,)), sim_memory.asarray(numpy.array([3, 1, 9], dtype))
            found = redtune.segments(x, begin, end, op="max_at")
            self.assertEqual(found.max.numpy().tolist()[::2], [2.0, 8.0])
            self.assertEqual(found.index.numpy().tolist(), [2, -1, 3])

    def test_what_has_nothing_in_it_has_the_result_of_nothing(self):
        x, none = sim_memory.empty((4,), "f4"), sim_memory.empty((0,), "f4")
        tables = [([0], None), ([], []), ([2, 2, 2], None), ([3, 0], [3, 0])]
        for begin, end in tables:
            at = [end if end is None else sim_memory.asarray(numpy.array(end, "i8"))]
            at.insert(0, sim_memory.asarray(numpy.array(begin, "i8")))
            count = len(begin) - (end is None)
            for longest in (None, 0):
                for array in (x, none):
                    found = redtune.segments(array, *at, op="argmin", longest=longest)
                    self.assertEqual(found.numpy().tolist(), [-1] * count)
        both = redtune.List([none, none])
        self.assertEqual(both.reduce("sum").numpy(), 0)
        self.assertEqual(both.reduce("argmin", each=True).numpy().tolist(), [-1, -1])

    def test_lists_keep_what_they_were_made_with(self):
        # Without gaps, whatever the order of axes.
        x = sim_memory.asarray(numpy.arange(24, dtype="f4"))
        views = [x.view((3, 8), (1, 3)), x.view((2, 3, 4), (4, 8, 1)), x.view((24, 1), (1, 9))]
        self.assertEqual(redtune.List(views).reduce("sum", each=True).numpy().tolist(), [276] * 3)
        both = redtune.List([sim_memory.asarray(numpy.ones(3, "f4"))] * 2)
        redtune.configure(device="sim")
        self.assertEqual(both.reduce("sum").numpy(), 6)

    def test_segments_whose_longest_is_said_are_the_same(self):
        rows, n = 300, 100
        x = sim_memory.asarray(numpy.arange(rows * n, dtype="f4") % 7)
        offsets = numpy.arange(0, rows * n + 1, n)
        want = numpy.add.reduceat(x.numpy(), offsets[:-1]).tolist()
        for longest in (n, n + 1, 5 * n, rows * n, 1):  # the last one is wrong
            found = redtune.segments(x, sim_memory.asarray(offsets), longest=longest)
            self.assertEqual(found.numpy().tolist(), want)
        # Elements that belong to no segment.
        few = sim_memory.asarray(numpy.array([0, 3, 5]))
        self.assertEqual(redtune.segments(x, few, longest=3).numpy().tolist(), [3.0, 7.0])

    def test_lists_are_reduced_together_and_each(self):
        parts = [numpy.arange(n, dtype="f4") - 3 for n in (5, 0, 12)]
        arrays = redtune.List(sim_memory.asarray(part) for part in parts)
        whole = numpy.concatenate(parts)
        self.assertEqual(len(arrays), 3)
        self.assertEqual(arrays.reduce("sum").numpy(), whole.sum())
        self.assertEqual(arrays.reduce("max_at").index.numpy(), whole.argmax())
        found = arrays.reduce("sumsq", each=True).numpy()
        self.assertEqual(found.tolist(), [float((part**2).sum()) for part in parts])

    def test_lists_of_many_arrays_of_any_lengths(self):
        x = sim_memory.asarray(numpy.arange(4000, dtype="f4") % 7)
        for most in (1, 9, 3000):  # all empty, alike, and one far longer than the others
            lengths = [i % min(most, 9) for i in range(300)]
            lengths[200] = most - 1
            parts = [x.view((n,), (1,)) for n in lengths]
            found = redtune.List(parts).reduce("sum", each=True).numpy()
            self.assertEqual(found.tolist(), [float(x.numpy()[:n].sum()) for n in lengths])

    def test_the_fixed_order_is_what_its_page_says(self):
        values = numpy.random.default_rng(1).normal(size=4100).astype("f4")
        chunks = numpy.zeros(8192, "f4")
        chunks[:4100] = values
        level = chunks.reshape(-1, 4)
        level = (level[:, 0] + level[:, 2]) + (level[:, 1] + level[:, 3])
        level = level.reshape(-1, 256)
        while level.shape[1] > 1:
            half = level.shape[1] // 2
            level = level[:, :half] + level[:, half:]
        while len(level) > 1:
            level = level[::2] + level[1::2]
        found = redtune.sum(sim_memory.asarray(values), order="fixed").numpy()
        self.assertEqual(found.tobytes(), level.reshape(()).tobytes())
        plan = redtune.plan(sim_memory.asarray(values), order="fixed")
        self.assertEqual(plan.run().numpy(), found)
        array = sim_memory.asarray(values)
        offsets = sim_memory.asarray(numpy.array([0, 4100], "i8"))
        for each in (
            redtune.segments(array, offsets, order="fixed"),
            redtune.List([array]).reduce(each=True, order="fixed"),
            redtune.List([sim_memory.asarray(values[:77]), sim_memory.asarray(values[77:])])
            .reduce(order="fixed"),
        ):  # fmt: skip
            self.assertEqual(each.numpy().tobytes(), found.tobytes())

    def test_compensated_sums_keep_what_additions_lose(self):
        x = numpy.array([1e8, 1, -1e8, 3, 1e8, -1e8], "f4")  # of which a plain sum loses the 1
        array, out = sim_memory.asarray(x), sim_memory.empty((), "f4")
        compensated = {"accuracy": "compensated"}
        self.assertEqual(redtune.sum(x, **compensated), 4)
        self.assertEqual(redtune.sum(array, **compensated).numpy(), 4)
        self.assertEqual(redtune.sum(x.reshape(2, 3), 1, **compensated).tolist(), [1, 3])
        self.assertEqual(redtune.reduce(array, op="mean", **compensated).numpy() * 6, 4)
        self.assertEqual(redtune.plan(array, out=out, **compensated).run().numpy(), 4)
        self.assertEqual(redtune.List([array, array]).reduce(**compensated).numpy(), 8)
        offsets = sim_memory.asarray(numpy.array([0, 3, 6]))
        found = redtune.segments(array, offsets, **compensated).numpy()
        self.assertEqual(found.tolist(), [1, 3])
        self.assertEqual(redtune.max(x, accuracy="compensated"), x.max())
        self.assertEqual(
            redtune.explain(count=4096, device="sim", **compensated)["accuracy"], "compensated"
        )

    def test_exact_sums_lose_nothing(self):
        x = numpy.array([1e30, 1, -1e30, 3, 1e30, -1e30], "f4")  # whose digits are 100 bits apart
        array, out = sim_memory.asarray(x), sim_memory.empty((), "f4")
        exact = {"accuracy": "exact"}
        self.assertEqual(redtune.sum(x, **exact), 4)
        self.assertEqual(redtune.sum(array, order="fixed", **exact).numpy(), 4)
        self.assertEqual(redtune.sum(x.reshape(2, 3), 1, **exact).tolist(), [1, 3])
        self.assertEqual(redtune.plan(array, out=out, **exact).run().numpy(), 4)
        with self.assertRaisesRegex(ValueError, "mean"):
            redtune.mean(x, **exact)

    def test_a_plan_runs_again_and_on_others(self):
        x, y = (sim_memory.asarray(SMALL.astype("f4") + i) for i in range(2))
        plan = redtune.plan(x, op="sum", axis=1)
        self.assertEqual(plan.run().numpy().tolist(), SMALL.sum(1).tolist())
        self.assertIs(plan.run(), plan.run())
        self.assertEqual(plan(y).numpy().tolist(), (SMALL + 1).sum(1).tolist())
        self.assertIn(":", plan.config)
        self.assertEqual(plan.match, "default")
        pinned = redtune.plan(x, op="sum", axis=1, config=plan.config)
        self.assertEqual(pinned.match, "pinned")
        with self.assertRaisesRegex(ValueError, "make a plan for it"):
            plan(sim_memory.asarray(SMALL.astype("f8")))

    def test_a_plan_of_the_host(self):
        out = numpy.zeros(len(SMALL), SMALL.dtype)
        plan = redtune.plan(SMALL, op="sum", axis=1, out=out)
        self.assertEqual(out.tolist(), SMALL.sum(1).tolist())
        out[:] = 0
        self.assertIs(plan.run(), out)
        self.assertEqual(out.tolist(), SMALL.sum(1).tolist())
        self.assertEqual(plan(SMALL + 1).tolist(), (SMALL + 1).sum(1).tolist())
        self.assertEqual((plan.config, plan.match), (None, "host"))
        self.assertIn("int64 (3, 4)", repr(plan))
        var = redtune.plan(SMALL, op="var", ddof=1, keepdims=True)
        self.assertAlmostEqual(float(var.run()[0, 0]), SMALL.var(ddof=1), places=5)
        self.assertEqual(float(redtune.plan(numpy.array(3.0)).run()), 3)

    def test_a_plan_has_parameters(self):
        x = sim_memory.asarray(SMALL.astype("f4"))
        plan = redtune.plan(x, op="var", ddof=1)
        self.assertAlmostEqual(float(plan.run().numpy()), SMALL.var(ddof=1), places=5)

    def test_what_redtune_torch_calls_is_there(self):
        x = sim_memory.asarray(SMALL.astype("f4"))
        found = redtune._functions.call(_core.op_find("var"), x, None, [1], True, (1.0,))
        numpy.testing.assert_allclose(found.numpy(), SMALL.var(1, keepdims=True, ddof=1), 1e-6)

    def test_threads_share_a_gpu(self):
        x = sim_memory.asarray(SMALL.astype("f4"))
        found, lock = [], threading.Lock()

        def work():
            sim_memory.enter(0)
            for _ in range(5):
                value = redtune.sum(x).numpy()
                with lock:
                    found.append(float(value))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [float(SMALL.sum())] * 40)


if __name__ == "__main__":
    unittest.main()
