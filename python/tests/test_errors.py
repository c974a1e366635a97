"""Errors: wrong calls, and what Python raises for them."""

import math
import os
import unittest

import numpy
import sim_memory

import redtune

X = numpy.arange(6, dtype="f4").reshape(2, 3)
G = sim_memory.asarray(X)
X3, ROW = numpy.empty(3, "f4"), sim_memory.empty((3,), "f4")
PAIR = sim_memory.Array((2,), "f4", ROW.memory)  # the first two of ROW
ONE = sim_memory.Array((), "f4", ROW.memory)
OFFSETS = sim_memory.empty((3,), "i4")
SHARED = numpy.lib.stride_tricks.as_strided(numpy.zeros(1, "f4"), (2,), (0,))
READ_ONLY = numpy.empty((), "f4")
READ_ONLY.flags.writeable = False


class Unlisted:
    """An array of a library that makes no others."""

    __cuda_array_interface__ = sim_memory.asarray(X, sim_memory.Interfaced).__cuda_array_interface__


class Faulty:
    """An array whose description has something else in one place."""

    def __init__(self, **wrong):
        self.__cuda_array_interface__ = {**Unlisted.__cuda_array_interface__, **wrong}


class Raising:
    def __index__(self):
        raise ZeroDivisionError("deep")


class FaultyDevice:
    """An array that lies on a device without a number."""

    def __dlpack_device__(self):
        return ("cuda", 0)

    def __dlpack__(self, **_):
        return None


# The call, the exception's type, and words that its text has.
WRONG = [
    # What is no array.
    (lambda: redtune.sum([1, 2]), TypeError, "list is no array", "numpy.asarray"),
    (lambda: redtune.sum(None), TypeError, "NoneType is no array", "numpy.asarray"),
    (lambda: redtune.sum("12"), TypeError, "str is no array", "numpy.asarray"),
    (lambda: redtune.sum(), TypeError, "missing 1 required positional argument: 'x'", ""),
    (lambda: redtune.sum(X, axes=1), TypeError, "unexpected keyword argument 'axes'", ""),
    (lambda: redtune.sum(sim_memory.Array), TypeError, "type is no array", ""),
    (lambda: redtune.sum(Unlisted()), TypeError, "Unlisted", "give the result's array as out"),
    (lambda: redtune.sum(Faulty(shape=("2", 3))), TypeError, "interface__ holds", "wrong type"),
    (lambda: redtune.sum(Faulty(data=(None, False))), TypeError, "interface__ holds", "Faulty"),
    (lambda: redtune.sum(FaultyDevice()), TypeError, "__dlpack_device__ holds", "wrong type"),
    (lambda: redtune.sum(numpy.ma.masked_array(X, X > 1)), TypeError, "masked", "x.filled(0)"),
    # Elements and dtypes.
    (lambda: redtune.linalg.norm(X.astype("c8"), 2), TypeError, "complex64", "give floats"),
    (lambda: redtune.vecdot(X, X[0], axis=-2), redtune.AxisError, "vecdot", "no axis -2"),
    (lambda: redtune.average(X, 2, X[0]), redtune.AxisError, "average", "no axis 2"),
    (lambda: redtune.vecdot([1], X), TypeError, "list is no array", "numpy.asarray"),
    (lambda: redtune.sum(X.astype("c8")), TypeError, "complex numbers", "imaginary parts"),
    (lambda: redtune.sum(X.astype("c8")), TypeError, "64 bits, f16, bf16", "e4m3 and e5m2; reduce"),
    (lambda: redtune.sum(X.astype("U1")), TypeError, "elements are <U1", "convert it"),
    (lambda: redtune.sum(X.astype("O")), TypeError, "elements are object", "bits, f16, bf16, f32"),
    (lambda: redtune.sum(X.astype("M8[s]")), TypeError, "elements are datetime64[s]", "convert it"),
    (lambda: redtune.sum(X.astype(">f4")), TypeError, "bytes", "newbyteorder"),
    (lambda: redtune.sum(X.astype("f16")), TypeError, "elements are", "convert it"),
    (lambda: redtune.norm(X > 1), TypeError, "norm2 of bools", "convert"),
    (lambda: redtune.bitwise_and(X), TypeError, "and of f32", ""),
    (lambda: redtune.sum(X, dtype="i64"), TypeError, "sum of f32 as i64", "bf16 or f64 or e4m3 or e5m2; give"),
    (lambda: redtune.sum(X, dtype="f128"), TypeError, "f128", "f64"),
    (lambda: redtune.sum(X, dtype="f32\0"), ValueError, "dtype='f32\\x00'", "character of 0"),
    (lambda: redtune.sum(X, dtype=[]), TypeError, "[] as dtype", "give a dtype"),
    (lambda: redtune.mean(X > 1, dtype="int64"), TypeError, "mean of u8 as i64", "f64 or f32"),
    (lambda: redtune.max(X > 1, dtype="int64"), TypeError, "max of u8 as i64", ""),
    # Axes and shapes.
    (lambda: redtune.sum(X, axis=2), ValueError, "reduce the array: it has 2", "no axis 2"),
    (lambda: redtune.sum(X, axis=(0, 0)), ValueError, "axis 0 is named twice", ""),
    (lambda: redtune.sum(X[:0], axis=(1, -1)), ValueError, "axis -1 is named twice", ""),
    (lambda: redtune.sum(X, axis="rows"), TypeError, "axis 'rows'", "an integer"),
    (lambda: redtune.sum(X, axis=1.0), TypeError, "axis 1.0", "an integer"),
    (lambda: redtune.sum(X, axis=True), TypeError, "axis True", "an integer"),
    (lambda: redtune.sum(X, axis=2**40), ValueError, "axis 1099511627776", "at most 64 axes"),
    (lambda: redtune.sum(X, axis=-(2**70)), ValueError, "axis -118", "at most 64 axes"),
    (lambda: redtune.sum(X, axis=Raising()), ZeroDivisionError, "deep", ""),
    (lambda: redtune.sum(Faulty(strides=(14, 6))), ValueError, "stride of 14 bytes", "copy"),
    (lambda: redtune.sum(X, 0, "f8"), TypeError, "keepdims='f8'", "dtype and out by their names"),
    (lambda: redtune.mean(X, 0, numpy.float64), TypeError, "keepdims=<class", "by their names"),
    (lambda: redtune.max(X, 0, X3), TypeError, "keepdims=array(", "by their names"),
    (lambda: redtune.var(X, 0, numpy.dtype("f8")), TypeError, "keepdims=dtype", "by their names"),
    # Two inputs.
    (lambda: redtune.dot(X), TypeError, "missing 1 required positional argument: 'y'", ""),
    (lambda: redtune.dot(X, X[:, :2]), ValueError, "(2, 3) and (2, 2)", "make them equal, or such"),
    (lambda: redtune.dot(X[:, :1], X[0]), ValueError, "(2, 1) and (3,)", "one broadcasts to the"),
    (lambda: redtune.vecdot(X, X[0], 1), ValueError, "along axis=1", "from the end"),
    (lambda: redtune.vecdot(X, X[:, :1]), ValueError, "have 3 and 1 elements", ""),
    (lambda: redtune.average(X, weights=X[0]), ValueError, "shape (3,) are not", "give x's shape"),
    (lambda: redtune.average(X, 0, X[0]), ValueError, "shape (3,) are not", "in their order"),
    (lambda: redtune.dot(X, X.astype("f8")), TypeError, "f32 and f64", "convert"),
    (lambda: redtune.dot(X, G), ValueError, "different devices", "copy one"),
    (lambda: redtune.reduce(X, X, op="sum"), TypeError, "sum of two arrays", "1 input"),
    # Results.
    (lambda: redtune.sum(X, out=numpy.empty(2, "f4")), ValueError, "shape is ()", "that shape"),
    (lambda: redtune.sum(X, out=numpy.empty((), "i4")), TypeError, "i32", "that dtype"),
    (lambda: redtune.sum(X, 0, out=ROW), ValueError, "another device", "x's device"),
    (lambda: redtune.sum(X, out=0), TypeError, "write the result to out: int is no array", ""),
    (lambda: redtune.sum(X, out=READ_ONLY), ValueError, "read-only", ""),
    (lambda: redtune.sum(X, 1, out=SHARED), ValueError, "may share memory", "memory for each"),
    (lambda: redtune.minmax(X, out=X), TypeError, "it has 2", "a tuple of 2"),
    (lambda: redtune.mean_var(X, 0, out=(X3, X3)), ValueError, "overlaps the first result's", ""),
    (lambda: redtune.mean_var(G, 0, out=(ROW, ROW)), ValueError, "overlaps the first", "own"),
    (lambda: redtune.plan(G, op="minmax", axis=0)(G, out=(ROW, ROW)), ValueError, "overlaps", ""),
    (lambda: redtune.sum(X, 0, out=X[1]), ValueError, "out: it overlaps x", "memory of its own"),
    (lambda: redtune.dot(X3, X[0], out=X[0, 2:].reshape(())), ValueError, "overlaps y", "own"),
    (lambda: redtune.segments(ROW, OFFSETS, out=PAIR), ValueError, "overlaps x", "own"),
    (lambda: redtune.List([G, PAIR]).reduce(out=ONE), ValueError, "an array of the list", "own"),
    (lambda: redtune.sum(X, order="any"), ValueError, "order='any'", '"fixed"'),
    (lambda: redtune.sum(X, accuracy="any"), ValueError, "accuracy='any'", '"compensated"'),
    (lambda: redtune.var(X, accuracy="compensated"), ValueError, "var", "compensated"),
    (lambda: redtune.segments(X[0], X[0]), TypeError, "begin as offsets", "int32"),
    (lambda: redtune.segments(ROW, ROW), TypeError, "begin as offsets", "int32"),
    (lambda: redtune.segments(G, ROW), ValueError, "one axis", ""),
    (lambda: redtune.segments(ROW, OFFSETS, X), TypeError, "end as offsets", ""),
    (lambda: redtune.segments(ROW, numpy.zeros(2, "i4")), ValueError, "another device", "copy"),
    (lambda: redtune.segments(ROW, OFFSETS, longest=-1), ValueError, "longest=-1", "from 0 to"),
    (lambda: redtune.segments(ROW, OFFSETS, longest=2**70), ValueError, "longest=118", "from 0"),
    (lambda: redtune.segments(ROW, OFFSETS, longest="3"), TypeError, "longest='3'", "a whole"),
    (lambda: redtune.segments(ROW, OFFSETS, longest=99), ValueError, "longest=99", "fewer"),
    (lambda: redtune.List([]), ValueError, "no arrays", "one at least"),
    (lambda: redtune.List([ROW, OFFSETS]), TypeError, "f32 and i32", "a list of each"),
    # Ops, parameters, streams, plans and settings.
    (lambda: redtune.suum, AttributeError, "no attribute 'suum'", ""),
    (lambda: redtune.reduce(X, op="suum"), ValueError, "'suum'", "sum, prod"),
    (lambda: redtune.reduce(X, op=None), TypeError, "op=None", "op's name"),
    (lambda: redtune.reduce(X, op="sum\0"), ValueError, "op='sum\\x00'", "name"),
    (lambda: redtune.var(X, ddof="one"), TypeError, "ddof='one'", "a number"),
    (lambda: redtune.var(X, ddof=math.nan), ValueError, "var with ddof=nan", "give a number"),
    (lambda: redtune.nanstd(G, ddof=math.nan), ValueError, "nanstd with ddof=nan", "give a number"),
    (lambda: redtune.by_key(X[0], X[0] > 0, True), TypeError, "K=True", "a whole number"),
    (lambda: redtune.max(X[:0]), ValueError, "max: there are no elements", "give initial"),
    (lambda: redtune.ptp(G.view((0,), (1,))), ValueError, "ptp: there are no elements", ""),
    (lambda: redtune.sum(X, ddof=1), TypeError, "unexpected keyword argument 'ddof'", ""),
    (lambda: redtune.sum(G, stream="main"), TypeError, "'main' as stream", "address"),
    (lambda: redtune.sum(X, stream="main"), TypeError, "'main' as stream", "address"),
    (lambda: redtune.sum(X[:, :0], 1, stream="main"), TypeError, "'main' as stream", "address"),
    (lambda: redtune.sum(X, stream=True), TypeError, "True as stream", "address"),
    (lambda: redtune.plan(X, config="block"), ValueError, "array of the host", "copy it to a GPU"),
    (lambda: redtune.plan(X)(X.T), ValueError, "shape", "make a plan for it"),
    (lambda: redtune.explain(size=1, count=2), ValueError, "size=1 and count=2", "elements"),
    (lambda: redtune.plan(G, config=5), TypeError, "config=5", "Plan.config"),
    (lambda: redtune.plan(G, config="block\0"), ValueError, "config='block\\x00'", "character"),
    (lambda: redtune.plan(G).run(G), TypeError, "run() takes no arguments", "plan(x)"),
    (lambda: redtune.Plan.__new__(redtune.Plan)(G), TypeError, "cannot run", "redtune.plan makes"),
    (lambda: redtune.Plan.run(G), TypeError, "run() takes no arguments", "plan(x)"),
    (lambda: redtune.plan(G, op="suum"), ValueError, "'suum'", "sum, prod"),
    (lambda: redtune.plan(G, ddof=1), TypeError, "no parameter ddof", ""),
    (lambda: redtune.plan(G, config="block=7"), ValueError, "block", ""),
    (lambda: redtune.plan(G)(), TypeError, "x is None", "run()"),
    (lambda: redtune.plan(G)(G, axis=0), TypeError, "takes x, y, out, stream and where", ""),
    (lambda: redtune.plan(G)(G, x=G), TypeError, "each once", ""),
    (lambda: redtune.plan(G)(*[G] * 6), TypeError, "at most 5", "6 were given"),
    (lambda: redtune.plan(G)(sim_memory.asarray(X.T)), ValueError, "shape", "make a plan for it"),
    (lambda: redtune.configure(device="gpu"), ValueError, "device='gpu'", "number"),
    (lambda: redtune.configure(device=2**40), ValueError, "device=1099511627776", "number"),
    (lambda: redtune.configure(device="\u0663"), ValueError, "device=", "number"),
    (lambda: redtune.configure(machine=5), TypeError, "machine=5", "a label"),
    (lambda: redtune.configure(machine="\udc80"), ValueError, "machine=", "UTF-8"),
    (lambda: redtune.configure(database=b"a"), TypeError, "database=b'a'", "a path"),
    (lambda: redtune.configure(record="a\0b"), ValueError, "record='a\\x00b'", "character of 0"),
    (lambda: redtune.configure(verify_s="1s"), TypeError, "verify_s='1s'", "number of seconds"),
    (lambda: redtune.configure(verify_s=-1), ValueError, "verify_s=-1", "0 or more"),
    (lambda: redtune.configure(verify_s=math.nan), ValueError, "verify_s=nan", "0 or more"),
    (lambda: redtune.Team(size=1, wait=math.inf), ValueError, "wait=inf", "0 or more"),
    (lambda: redtune.Team(size=1, results=-1), ValueError, "results=-1", "from 0"),
    (lambda: redtune.Team(size=1.5), TypeError, "size=1.5", "a whole number"),
    (lambda: redtune.Team(size=1, device="0"), TypeError, "device='0'", "a whole number"),
    (lambda: redtune.Team(size=1).share(-1), ValueError, "count=-1", "from 0"),
    (lambda: redtune.Team(size=1).reduce(G, first=0.5), TypeError, "first=0.5", "a whole"),
    (lambda: redtune.Team(size=1).wait("main"), TypeError, "'main' as stream", "address"),
    (lambda: redtune.Team(size=1).wait(limit="1s"), TypeError, "limit='1s'", "seconds"),
    (lambda: redtune.configure(trust=[]), ValueError, "trust=[]", "verified"),
    (lambda: redtune.configure(trust="some"), ValueError, "trust='some'", "verified"),
    (lambda: redtune.configure(ops="no-such.lua"), OSError, "no-such.lua", ""),
    (lambda: redtune.explain("suum", gpu="H200"), ValueError, "suum", ""),
]


class Errors(unittest.TestCase):
    def test_wrong_calls_say_what_is_wrong_and_what_to_do(self):
        for i, (call, kind, *words) in enumerate(WRONG):
            with self.subTest(call=i, words=words):
                with self.assertRaises(kind) as caught:
                    call()
                text = str(caught.exception)
                for word in words:
                    self.assertIn(word, text)
                self.assertNotIn("\n", text)

    def test_a_packed_array_is_not_to_be_copied(self):
        for call in (
            lambda: redtune.mean(X, accuracy="exact"),
            lambda: redtune.var(X, accuracy="compensated"),
        ):
            with self.assertRaises(ValueError) as caught:
                call()
            self.assertRegex(str(caught.exception), "^[^;]*; leave out the accuracy$")

    def test_the_drivers_errors_have_their_code(self):
        error = redtune.Error("text")
        self.assertIsInstance(error, RuntimeError)

    def test_a_child_of_a_fork_is_told(self):
        redtune.sum(X)
        read, write = os.pipe()
        child = os.fork()
        if not child:
            try:
                redtune.sum(X)
            except RuntimeError as error:
                os.write(write, str(error).encode())
            os._exit(0)
        os.waitpid(child, 0)
        self.assertIn("spawn", os.read(read, 500).decode())


if __name__ == "__main__":
    unittest.main()
