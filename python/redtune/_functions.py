"""Functions: one for each op, made from the library's table."""

import collections
import functools
import keyword
import math
import sys

from . import _checks, _core

# Other names of ops: NumPy's, and those that Python's grammar asks for.
_ALIASES = {
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "count_nonzero": "nonzeros",
    "nanmax": "fmax",
    "nanmin": "fmin",
    "norm": "norm2",
    "amax": "max",
    "amin": "min",
    "aminmax": "minmax",
    "nan_count": "nans",
}

# Other libraries' names of arguments: PyTorch's, and those of the array API standard.
_WORDS = {"dim": "axis", "keepdim": "keepdims", "correction": "ddof", "unbiased": "ddof",
          "input": "x", "a": "x", "other": "y", "p": "ord", "ord": "p"}  # fmt: skip

_TEXT = """
def {name}({arguments}):
    return {result}_call(
        {op}, {inputs}, axis, keepdims, out, {dtype}, {order}, {accuracy},
        stream, {values}, where, initial
    ){end}
"""

_DOC = """{formula}

{arrays} an array of PyTorch, CuPy or NumPy, or any other with DLPack{alike}. Its elements are
    bool, integers of 8 to 64 bits, {floats}, as docs/ops.md says for each op.
axis: None reduces the whole array; else a number, or a tuple of them; () reduces nothing.
keepdims: the reduced axes stay, with size 1.
out: {out} that {takes} the {result}, on the same device; on a GPU contiguous.
dtype: of the {result}, where docs/ops.md allows it: "f64", "float64", "<f8" or a library's own;
    "i8", "u8" and "f8", which NumPy reads as 8 bytes, are refused.
order: "fixed" gives floats the same bits on every GPU and at every address, as docs/order.md says;
    "free": the fastest order; None: as redtune.configure says, usually free.
accuracy: "compensated" adds what additions lose at the end, and "exact" rounds the exact result
    once, for the ops of docs/accuracy.md; None: plain.
where: bools on the same device, whose shape broadcasts to x's: elements where it is False are
    absent, as docs/masks.md says, of two inputs pairs; or redtune.bits; None: none is.
initial: a number that each result begins with, as NumPy has it; None: the elements alone count.
stream: an address, or a stream of PyTorch or CuPy; None: the library's current one.{parameters}

Returns {returns} of the same library on the same device.
Raises TypeError for elements or a dtype that the op does not have, ValueError for axes and shapes
that it cannot reduce, and on a GPU for strides, redtune.Error where CUDA fails.

{example}
"""

_EXAMPLES = {
    1: ">>> redtune.{name}(numpy.array([[1, 2], [3, 4]], dtype={dtype!r}), axis=1).shape\n(2,)",
    2: ">>> x = numpy.array([1, 2, 3], dtype={dtype!r})\n>>> redtune.{name}(x, x).shape\n()",
}
_PAIR = ">>> redtune.{name}(numpy.array([1, 2], dtype={dtype!r}))._fields\n{fields}"


# ---- dtypes --------------------------------------------------------------------------------------

_DTYPE_NAMES = {long_name: name for name, long_name, _ in _core.dtypes()}
_DTYPE_NAMES |= {"float": "f64", "double": "f64", "d": "f64", "single": "f32", "f": "f32"}
_DTYPE_NAMES |= {"half": "f16", "e": "f16", "int": "i64", "long": "i64", "short": "i16"}
# By bytes, as NumPy has them, which no name by bits is like.
_DTYPE_NAMES |= {"f4": "f32", "f2": "f16", "i4": "i32", "i2": "i16", "u4": "u32", "u2": "u16"}
_DTYPE_NAMES |= {"i1": "i8", "u1": "u8", "b1": "bool", "?": "bool"}
# With a sign of the order of bytes before them NumPy's reading is the only one.
_SIGNED_NAMES = {"f8": "f64", "i8": "i64", "u8": "u64", "f16": "float128"}
_FLOATS = [name for name, _, kind in _core.dtypes() if kind == "f"]
_dtypes = {None: 0}  # as they were given, to redtune_dtype


_SWAPPED = ">" if sys.byteorder == "little" else "<"
# What NumPy reads as bytes, and redtune as bits.
_AMBIGUOUS = {"i8": ("int64", "int8"), "u8": ("uint64", "uint8"), "f8": ("float64", "e4m3")}


def dtype_name(dtype):
    """redtune's name of a dtype, of which another name or any library's object is given."""
    if isinstance(dtype, str) and dtype in _AMBIGUOUS:
        wide, narrow = _AMBIGUOUS[dtype]
        raise TypeError(
            f'cannot take dtype="{dtype}": NumPy reads it as {wide}, others as {narrow}; '
            f'give "{wide}" or "{narrow}"'
        )
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", None) or str(dtype)
    name = name.rpartition(".")[2]
    if name[:1] == _SWAPPED:
        raise TypeError(f"cannot take dtype={name!r}: its bytes are swapped; give {name[1:]!r}")
    if name[:1] in ("<", ">", "=", "|"):
        name = _SIGNED_NAMES.get(name[1:], name[1:])
    return _DTYPE_NAMES.get(name, name)


def _dtype(dtype):
    """The number of a dtype: redtune's name, NumPy's, or any library's object."""
    name = dtype_name(dtype)
    number = _core.BOOL if name == "bool" else _core.dtype_find(_checks.text(name, "dtype"))
    _dtypes[dtype] = number
    return number


def _number(dtype):
    try:
        known = _dtypes.get(dtype)
    except TypeError:
        raise TypeError(f"cannot take {dtype!r} as dtype: give a dtype or its name") from None
    return _dtype(dtype) if known is None else known


_ORDERS = {None: 0, "fixed": 1, "free": 2}  # to redtune_order; None: as configure says


def _order(order):
    try:
        return _ORDERS[order]
    except (KeyError, TypeError):
        raise ValueError(f'cannot take order={order!r}: give "free" or "fixed"') from None


_ACCURACIES = {None: 0, "plain": 0, "compensated": 1, "exact": 2}  # to redtune_accuracy


def _accuracy(accuracy):
    try:
        return _ACCURACIES[accuracy]
    except (KeyError, TypeError):
        text = f'cannot take accuracy={accuracy!r}: give "plain", "compensated" or "exact"'
        raise ValueError(text) from None


# ---- functions -----------------------------------------------------------------------------------


def _public(op):
    """An op's name as Python has it; None: only as an alias."""
    return None if keyword.iskeyword(op) else op


def names():
    """The names of all functions."""
    ops = [name for name in map(_public, _core.op_names()) if name]
    return list(dict.fromkeys([*ops, *_ALIASES, *_SPECIAL]))


def _results(op, outputs):
    """The named tuple of an op of several results."""
    name = "".join(part.capitalize() for part in op.split("_")) + "Results"
    kind = collections.namedtuple(name, outputs, rename=True)
    kind.__module__ = "redtune"
    return kind


def _document(name, op, formula, inputs, outputs, parameters):
    if inputs == 2:
        dtype = "f4"
        example = _EXAMPLES[2]
    else:
        dtype = "i4" if op in ("and", "or", "xor") else "f4"
        example = _PAIR if len(outputs) > 1 else _EXAMPLES[1]
    lines = [f"\n{key}: a number; {usual:g} if it is left out." for key, usual in parameters]
    several = len(outputs) > 1
    return _DOC.format(
        formula=formula,
        arrays="x:" if inputs == 1 else "x, y:",
        alike=(
            ""
            if inputs == 1
            else ",\n    both of one dtype and device, and of one shape, or the shape of one broadcasts to the "
            "other's"
        ),
        out="a tuple of arrays" if several else "an array",
        takes="take" if several else "takes",
        result="results" if several else "result",
        floats=" or ".join((", ".join(_FLOATS[:-1]), _FLOATS[-1])),
        parameters="".join(lines),
        returns=f"a named tuple of arrays ({', '.join(outputs)})" if several else "an array",
        example=example.format(name=name, dtype=dtype, fields=tuple(outputs)),
    )


def _arguments(inputs, parameters):
    words = ["x", "y"][:inputs] + ["axis=None", "keepdims=False"]
    words += [f"{key}=None" for key in ("out", "dtype", "order", "accuracy", "stream", "where",
                                       "initial")]
    keys = [f"{key}={usual!r}" for key, usual in parameters]
    return ", ".join(words + ["*"] * bool(keys) + keys)


def _spelt(name, function):
    """The function, which takes its arguments by other libraries' names, too."""
    code = function.__code__
    own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @functools.wraps(function)
    def spelt(*given, **named):
        if "ddof" in own and "mean" in named and "mean" not in own:
            if named.pop("mean") is not None:  # NumPy's keyword
                raise TypeError(
                    f"{name}() takes no mean: it computes the mean in the same pass, so that giving "
                    "it saves nothing; leave mean out, or take redtune.mse(x, mean, axis) for the "
                    "mean square of the distances from another value"
                )
        if "ddof" in own and isinstance(given[1] if len(given) > 1 else None, bool):
            named, given = {"unbiased": given[1], **named}, given[:1] + given[2:]  # PyTorch's place
        for word, key in _WORDS.items():
            if word in named and key in own and word not in own:
                if key in named:
                    raise TypeError(f"{name}() got {key} and {word}, which are one argument")
                named[key] = named.pop(word)
                if key == "ddof" and named[key] is None:
                    named[key] = 1  # as PyTorch has it
        return function(*given, **named)

    return spelt


def _norm_of(power, /, *given, **named):
    """The norm of that order by the op that is fastest."""
    try:
        is_number = float(power) == power
    except (TypeError, ValueError):
        is_number = False
    if not is_number:
        raise ValueError(f"cannot compute a norm with p={power!r}: give a number")
    x = given[0] if given else next((named[k] for k in ("x", "input", "a") if k in named), None)
    if abs(power) == math.inf and "float" in str(getattr(x, "dtype", "")):  # of integers: integers
        return _made["maxabs" if power > 0 else "minabs"](*given, **named)
    return _powers()(*given, p=power, **named)


@functools.lru_cache(maxsize=None)
def _powers():
    return _plain("normp")[0]


def _normp(plain):
    """plain, of an order that is usually 2."""

    def normp(*given, p=2, ord=2, **named):
        power = p if ord == 2 else ord
        return plain(*given, **named) if power in (None, 2) else _norm_of(power, *given, **named)

    return normp


def _plain(name):
    """The function of that name in Python; the type of several results, or None; its usual
    parameters."""
    number = _core.op_find(_ALIASES.get(name, name))
    op, _, inputs, outputs, parameters = _core.op_facts(number)
    keys = [key for key, _ in parameters]
    kind = _results(op, outputs) if len(outputs) > 1 else None
    space = {"_call": _core.call, "_number": _number, "_order": _order, "_accuracy": _accuracy}
    space["_Results"] = kind
    text = _TEXT.format(
        name=name,
        arguments=_arguments(inputs, parameters),
        result="_Results(*" if kind else "",
        end=")" if kind else "",
        op=number,
        inputs="x, None" if inputs == 1 else "x, y",
        dtype="0 if dtype is None else _number(dtype)",
        order="0 if order is None else _order(order)",
        accuracy="0 if accuracy is None else _accuracy(accuracy)",
        values=f"({', '.join(keys)},)" if keys else "None",
    )
    exec(text, space)  # of the library's own names only
    return _spelt(name, space[name]), kind, tuple(usual for _, usual in parameters) or None


def _rest(name):
    """What the function of that name needs at its first call: itself in Python, for arguments that
    are to be converted or refused, and what else _plain gives."""
    function, kind, parameters = _plain(name)
    if name == "normp":
        function = _normp(function)
    return function, kind, parameters


def _make(name):
    """The function of an op; its text's first line has its arguments, as CPython reads them."""
    number = _core.op_find(_ALIASES.get(name, name))
    op, formula, inputs, outputs, parameters = _core.op_facts(number)
    document = _document(name, op, formula, inputs, outputs, parameters)
    text = f"{name}({_arguments(inputs, parameters)})\n--\n\n{document}"
    return _core.make_function(number, name, text, _rest)


_made = {}  # the functions that were published, by their names

VarMeanResults = collections.namedtuple("VarMeanResults", ("var", "mean"), module="redtune")
StdMeanResults = collections.namedtuple("StdMeanResults", ("std", "mean"), module="redtune")


@functools.partial(_spelt, "var_mean")
def var_mean(x, axis=None, keepdims=False, dtype=None, where=None, *, ddof=1):
    """The variance and the mean, in PyTorch's order and with its correction of 1 if ddof is left
    out. Otherwise as redtune.mean_var.

    >>> redtune.var_mean(numpy.array([1, 2, 3], dtype="f4"))
    VarMeanResults(var=np.float32(1.0), mean=np.float32(2.0))
    """
    mean, var = _made["mean_var"](x, axis, keepdims, dtype=dtype, where=where, ddof=ddof)
    return VarMeanResults(var, mean)


@functools.partial(_spelt, "std_mean")
def std_mean(x, axis=None, keepdims=False, dtype=None, where=None, *, ddof=1):
    """The standard deviation and the mean, as redtune.var_mean has the variance.

    >>> redtune.std_mean(numpy.array([1, 2, 3], dtype="f4")).std
    np.float32(1.0)
    """
    mean, var = _made["mean_var"](x, axis, keepdims, dtype=dtype, where=where, ddof=ddof)
    return StdMeanResults(var**0.5, mean)


def _nuclear(x, axis, keepdims, dtype, **more):
    """The sum of the singular values of matrices, as PyTorch's norm has it."""
    from . import linalg

    given = [key for key, value in more.items() if value is not None]
    if given:
        raise ValueError(f"cannot compute a norm with ord='nuc' and {given[0]}: leave {given[0]} out")
    axes = tuple(range(len(_shape(x, "compute a norm")))) if axis is None else axis
    return linalg.matrix_norm(x, "nuc", axes, keepdims, dtype=dtype)


@functools.partial(_spelt, "norm")
def norm(x, ord=2, axis=None, keepdims=False, *, out=None, dtype=None, **more):
    """The norm of the elements as of one vector, of any order; None and "fro": 2. As NumPy and
    PyTorch have it the order comes second. Otherwise as redtune.norm2 and redtune.normp. "nuc" is of
    matrices, as in redtune.linalg.matrix_norm.

    >>> redtune.norm(numpy.array([3, -4], dtype="f4"), 1)
    np.float32(7.0)
    """
    more.update(axis=axis, keepdims=keepdims, out=out, dtype=dtype)
    if ord is None or ord in (2, "fro"):
        return _made["norm2"](x, **more)
    if ord == "nuc":
        return _nuclear(x, **more)
    if isinstance(ord, str):
        raise ValueError(
            f"cannot compute a norm with ord={ord!r}: give a number, 'fro' or 'nuc'; of matrices "
            "redtune.linalg.matrix_norm has more orders"
        )
    return _norm_of(ord, x, **more)


def _shape(x, doing):
    """Its shape, of an array."""
    if not hasattr(x, "shape"):
        raise TypeError(
            f"cannot {doing}: {type(x).__name__} is no array, as it has no shape; make it one, such "
            "as by numpy.asarray"
        )
    return tuple(x.shape)


def _check_axis(axis, shape, doing):
    if not isinstance(axis, int) or isinstance(axis, bool):
        raise TypeError(f"cannot {doing} along axis={axis!r}: give a whole number")
    if not -len(shape) <= axis < len(shape):
        raise _core.AxisError(
            f"cannot {doing}: there is no axis {axis} in an array of {len(shape)}; count from 0, or "
            "from the end: -1"
        )


@functools.partial(_spelt, "vecdot")
def vecdot(x, y, axis=-1, keepdims=False, *, out=None, dtype=None, **more):
    """The dot products of the vectors along an axis of each array, as NumPy, PyTorch and the array
    API standard have it: the other axes broadcast, where one shape broadcasts to the other.
    Otherwise as redtune.dot.

    >>> redtune.vecdot(numpy.ones((2, 3), dtype="f4"), numpy.array([1, 2, 3], dtype="f4"))
    array([6., 6.], dtype=float32)
    """
    shapes = [_shape(each, "compute vecdot") for each in (x, y)]
    apart = len(shapes[0]) != len(shapes[1])
    if apart and isinstance(axis, int) and axis >= 0:
        raise ValueError(
            f"cannot compute vecdot along axis={axis}: x and y have different numbers of axes; "
            "count it from the end, as -1"
        )
    for shape in shapes:
        _check_axis(axis, shape, "compute vecdot")
    sizes = [shape[axis] for shape in shapes]
    if sizes[0] != sizes[1]:
        raise ValueError(f"cannot compute vecdot: the vectors have {sizes[0]} and {sizes[1]} elements")
    return _made["dot"](x, y, axis, keepdims, out=out, dtype=dtype, **more)


@functools.partial(_spelt, "average")
def average(x, axis=None, weights=None, *, keepdims=False, out=None, dtype=None, **more):
    """The mean, or with weights the weighted mean, as numpy.average without `returned`: weights
    have x's shape or, with an axis, that of x along it. Weights whose sum is 0 give NaN or
    infinity. Otherwise as redtune.mean and redtune.wmean.

    >>> x = numpy.array([[1, 2], [3, 6]], dtype="f4")
    >>> redtune.average(x, 1, numpy.array([3, 1], dtype="f4"))
    array([1.25, 3.75], dtype=float32)
    """
    more.update(out=out, dtype=dtype)
    if weights is None:
        return _made["mean"](x, axis, keepdims, **more)
    shape = _shape(x, "compute an average")
    if _shape(weights, "compute an average with weights") != shape:
        axes = axis if isinstance(axis, (tuple, list)) else () if axis is None else (axis,)
        for each in axes:
            _check_axis(each, shape, "compute an average")
        axes = [each % len(shape) for each in axes]
        if axes != sorted(axes) or tuple(weights.shape) != tuple(shape[each] for each in axes):
            raise ValueError(
                f"cannot compute an average along axis={axis!r}: weights of shape "
                f"{tuple(weights.shape)} are not those of x's {shape}; give x's shape, or that "
                "of x along the axes, in their order"
            )
        weights = weights.reshape([n if i in axes else 1 for i, n in enumerate(shape)])
    return _made["wmean"](x, weights, axis, keepdims, **more)


# Those that give an op's results in other forms.
_SPECIAL = {"var_mean": var_mean, "std_mean": std_mean, "norm": norm}
_SPECIAL |= {"vecdot": vecdot, "average": average}
for _function in _SPECIAL.values():
    _function.__module__ = "redtune"


def publish(space):
    """Puts the functions that it has not yet into a namespace: of all ops, by all their names."""
    for name in names():
        if name not in space:
            space[name] = _made[name] = _SPECIAL.get(name) or _make(name)


def find(name):
    """The function of that name; None: there is no such op."""
    op = _ALIASES.get(name, name)
    return _make(name) if _public(name) and op in _core.op_names() else None


# ---- any op --------------------------------------------------------------------------------------

# Remedies for arguments that only functions of whole arrays take.
_REMEDIES = {
    "initial": " here; it is of whole arrays and axes: combine it with the results of sum, prod, max or min",
    "axis": " here; lists give a result of each array with each=True, segments and keys one of each",
}
_known = {}  # an op's number, its usual parameters, and the type of several results


def alias(op):
    """The op's name in the library's table."""
    return _ALIASES.get(op, op)


def _take(op, parameters):
    """The op's number, the values of its parameters, and the type of several results or None."""
    op = alias(op)
    if op not in _known:
        number = _core.op_find(_checks.text(op, "op", 'an op\'s name, such as "sum"'))
        _, _, _, outputs, usual = _core.op_facts(number)
        _known[op] = number, dict(usual), _results(op, outputs) if len(outputs) > 1 else None
    number, usual, kind = _known[op]
    for key in parameters:
        if key not in usual:
            raise TypeError(f"cannot compute {op}: it has no parameter {key}{_REMEDIES.get(key, '')}")
    return number, tuple({**usual, **parameters}.values()) if usual else None, kind


def call(number, x, y, axis, keepdims, values=None):
    """The op of that number with all but its operands left to redtune: what redtune.torch calls."""
    return _core.call(number, x, y, axis, keepdims, None, 0, 0, 0, None, values, None, None)


def reduce(
    x, y=None, *, op, axis=None, keepdims=False, out=None, dtype=None, order=None, accuracy=None,
    stream=None, where=None, initial=None, **parameters,
):  # fmt: skip
    """Computes the op of that name, which may be your own (redtune.configure(ops=...)).

    The arguments are those of the ops' functions, such as redtune.sum; parameters are the op's.
    Raises ValueError for a name that no op has.

    >>> redtune.reduce(numpy.array([3, 4], dtype="f4"), op="norm2")
    np.float32(5.0)
    """
    number, values, kind = _take(op, parameters)
    dtype, order, accuracy = _number(dtype), _order(order), _accuracy(accuracy)
    found = _core.call(
        number, x, y, axis, keepdims, out, dtype, order, accuracy, stream, values, where, initial
    )  # fmt: skip
    return kind(*found) if kind else found


def _is_on_host(x):
    """Whether an array says, by DLPack, that it lies in the host's memory."""
    ask = getattr(x, "__dlpack_device__", None)
    return ask is not None and int(ask()[0]) in (1, 3)  # pinned, too


def plan(
    x, y=None, *, op="sum", axis=None, keepdims=False, out=None, dtype=None, order=None,
    accuracy=None, config=None, where=None, initial=None, **parameters,
):  # fmt: skip
    """Prepares a reduction that is run often.

    The arguments are those of the ops' functions; config is a configuration that another plan had.
    The plan's run() reduces the same arrays again, and costs little more than a kernel launch. The
    plan itself takes other arrays of the same shape, strides and dtype: plan(x), plan(x, out=out).
    With where, each such run takes a mask like the plan's: plan(x, where=mask).
    Its kernel is compiled here, not by the first run, so that runs may be captured into graphs.
    Arrays of the host go to the GPU at each run; their plan takes no config.

    >>> step = redtune.plan(numpy.array([3, 4], dtype="f4"), op="norm2")
    >>> step.run()
    np.float32(5.0)
    """
    if config is not None:
        _checks.text(config, "config", "what Plan.config said")
    elif _is_on_host(x):
        from ._host_plan import HostPlan

        asked = {"op": op, "axis": axis, "keepdims": bool(keepdims), "dtype": dtype, "order": order}
        asked |= {"accuracy": accuracy, "initial": initial}
        return HostPlan(functools.partial(reduce, **asked, **parameters), x, y, out, where)
    number, values, _ = _take(op, parameters)
    dtype, order, accuracy, keepdims = (
        _number(dtype), _order(order), _accuracy(accuracy), bool(keepdims)
    )  # fmt: skip
    return _core.make_plan(
        number, x, y, axis, keepdims, out, dtype, order, accuracy, values, config, where, initial
    )  # fmt: skip


def segments(
    x, begin, end=None, *, op="sum", y=None, out=None, dtype=None, order=None, accuracy=None,
    longest=None, stream=None, where=None, **parameters,
):  # fmt: skip
    """Reduces segments of an array, whose beginnings and ends are in arrays on the same device.

    x: one-dimensional. One of a GPU with a step is copied first, as all arrays here are. begin, end: offsets of
    elements, int32 or int64; segment i has the elements from begin[i] up to end[i]. Without end,
    segment i ends where the next one begins, and begin has an offset more than there are segments,
    as the rows of a CSR matrix. Of arrays of the host end is None, and offsets are checked. On a GPU offsets that lead out of x are
    yours to avoid: the GPU reads what is there. longest: how many elements the longest segment has,
    if you know; without, the kernel has to expect a giant. Results are right whatever it says.
    where: bools that broadcast to x's size: elements where it is False are absent (docs/masks.md).
    y: for ops of two inputs, such as "dot": an array of x's size, dtype and device.

    Returns an array with a result for each segment; the other arguments are those of the ops'
    functions. Raises ValueError and TypeError as they do.

    >>> redtune.segments(values, offsets, op="mean")  # doctest: +SKIP
    """
    number, values, kind = _take(op, parameters)
    found = _core.segments(
        number, x, y, begin, end, out, _number(dtype), _order(order), _accuracy(accuracy),
        0 if longest is None else _checks.whole(longest, "longest"), stream, values, where,
    )  # fmt: skip
    return kind(*found) if kind else found


_SPREADS = {None: 0, "unknown": 0, "uniform": 1, "skewed": 2, "one": 3}  # to redtune_spread


def spread_number(name):
    if name not in _SPREADS:
        raise ValueError(f'cannot take spread={name!r}: give "uniform", "skewed" or "one"')
    return _SPREADS[name]


def by_key(
    x, keys, K=None, op="sum", *, y=None, out=None, dtype=None, order=None, accuracy=None,
    skipped=None, spread=None, stream=None, where=None, initial=None, **parameters,
):  # fmt: skip
    """Reduces the elements of each key: result k is of all x[i] with keys[i] == k, in any order.

    x: on a GPU, where one that is not contiguous is copied first, or on the host. keys: integers at the same
    place, one of each x[i]; those that are negative, or not below K, are skipped. Where x has more
    axes than one, each column x[:, ...] is reduced by itself. K: how many keys there are; None:
    as many as the greatest key asks for, which is found by a reduction that the call waits for, so
    not within a capture, nor with a stream. skipped: an array of one int64 there, to which the
    number of keys that were skipped is added, unless K is 0 (on a GPU only). spread: "uniform",
    "skewed" or "one", what is known of how often keys are equal. y: the second input of an op of
    two, such as "dot", of x's shape and dtype. where: a mask of x's shape, bools or redtune.bits;
    elements, or pairs, where it is false are absent, and their keys not counted as skipped, except
    those of rows. initial: one more element of each result.

    Returns an array of K results, or of K rows of them; a key without elements has the result of
    no elements, such as 0 for a sum. docs/keys.md says which ops take how many keys. The other
    arguments are those of the ops' functions. Raises ValueError and TypeError as they do,
    ValueError for too many keys, too.

    >>> redtune.by_key(values, groups, 1000, op="mean")  # doctest: +SKIP
    """
    number, values, kind = _take(op, parameters)
    spread = spread_number(spread)
    if K is None and stream is not None:
        raise ValueError("cannot take stream without K: give K, which is else read on the usual one")
    if isinstance(keys, (list, tuple)):
        raise TypeError("cannot take keys of a list: make it an array, as by numpy.asarray")
    count = key_count(keys) if K is None else _checks.whole(K, "K")
    found = _core.by_key(
        number, x, y, keys, count, out, _number(dtype), _order(order), _accuracy(accuracy), skipped,
        spread, stream, values, where, initial,
    )  # fmt: skip
    return kind(*found) if kind else found


def key_count(keys):
    """The greatest key plus one, or 0 without keys. Waits for the GPU."""
    if 0 in getattr(keys, "shape", ()):
        return 0
    from . import _libraries  # which import redtune does without

    if _libraries.is_capturing(keys):
        raise RuntimeError("cannot wait for the greatest key within a capture: give K")
    greatest = _made["max"](keys)
    for copy in ("item", "numpy"):
        greatest = getattr(greatest, copy, lambda found=greatest: found)()
    return max(0, int(greatest) + 1)


class List:
    """Arrays of one dtype on one device, such as a model's gradients, that are reduced together.

    Making it takes longer than a reduction, as the GPU gets the arrays' places. It holds the
    arrays, whose elements may change meanwhile. Arrays of a GPU that have gaps are copied side
    by side ahead of each reduction. Raises ValueError for arrays of several devices, and
    TypeError for those of several dtypes.

    >>> gradients = redtune.List(gpu_arrays)       # doctest: +SKIP
    >>> gradients.reduce("norm2")                  # doctest: +SKIP
    """

    def __init__(self, arrays):
        self._own = _core.make_list(tuple(arrays))

    def __len__(self):
        return len(self._own.arrays)

    def __repr__(self):
        return f"<redtune list of {len(self)} array{'s' if len(self) != 1 else ''}>"

    def reduce(
        self, op="sum", *, each=False, out=None, dtype=None, order=None, accuracy=None, stream=None,
        where=None, **parameters,
    ):  # fmt: skip
        """Reduces all arrays to one result, as if they stood one behind the other.

        each: a result for each array instead. where: a list of masks, one for each array or None;
        or True, as None. The rest is as for redtune.reduce.
        """
        if "y" in parameters:
            raise TypeError(
                "cannot reduce a list with y: its arrays are those of one input; call the op's "
                "function for each pair, or redtune.segments with y"
            )
        number, values, kind = _take(op, parameters)
        found = self._own.reduce(
            number, bool(each), out, _number(dtype), _order(order), _accuracy(accuracy), stream,
            values, None if where is True else where,
        )  # fmt: skip
        return kind(*found) if kind else found
