"""Jax: reductions within programs of JAX's, which jax.jit compiles and XLA runs on its stream.

The functions are those of redtune, without out, dtype and stream: redtune.jax.sum(x, axis=1). A
reduction is a primitive of JAX's, for which jax.vmap keeps one more axis, wherever that lies; of
one by key that is a column of rows or, where keys are a batch, too, keys of its own. The
derivatives are of JAX's own functions, so that they have derivatives as well.
"""

import functools

import jax
import jax.extend.core
import numpy
from jax import numpy as jnp
from jax.interpreters import batching, mlir

from . import _checks, _core, _functions, _libraries

_NAMES = _libraries._NAMES


def _primitive(name, by_key):
    """A primitive of several results, and XLA's function of its name."""
    for platform, on_host in (("CUDA", False), ("cpu", True)):
        jax.ffi.register_ffi_target(name, _core.xla_handler(by_key, on_host), platform=platform)
    found = jax.extend.core.Primitive(name)
    found.multiple_results = True
    found.def_impl(lambda *xs, **given: _compiled(found, tuple(given.items()))(*xs))
    return found


@functools.lru_cache(maxsize=4096)
def _compiled(primitive, given):
    return jax.jit(lambda *xs: primitive.bind(*xs, **dict(given)))


# ---- the primitive -------------------------------------------------------------------------------

# Of one array or two; op is a number, axes the reduced ones, parameters two numbers.
_reduce = _primitive("redtune_reduce", False)


def _result_dtypes(op, x):
    """The results' dtypes, which 32-bit programs may not have."""
    if x.dtype.name not in _NAMES:
        raise TypeError(f"cannot reduce an array of {x.dtype.name}: convert it")
    names = [_NAMES[number] for number in _core.result_dtypes(op, _NAMES.index(x.dtype.name))]
    for name in names:
        if name.endswith("64") and not jax.config.jax_enable_x64:
            raise TypeError(
                f"cannot have a result of {name}: JAX leaves out 64 bits; "
                'set jax.config.update("jax_enable_x64", True)'
            )
    return [jnp.dtype(name) for name in names]


@_reduce.def_abstract_eval
def _types(x, *y, op, axes, parameters):
    shape = tuple(size for axis, size in enumerate(x.shape) if axis not in axes)
    return [jax.core.ShapedArray(shape, dtype) for dtype in _result_dtypes(op, x)]


def _call(name, context, xs, op, parameters, **attributes):
    """XLA's call of the function of that name."""
    # Within jax.shard_map and jax.pmap an array is one device's.
    devices = getattr(context.module_context.axis_context, "num_devices", None) or 1
    if devices > 1:
        raise ValueError(
            f"cannot reduce an array that is on {devices} devices: reduce each one's part within "
            "jax.shard_map, or put it on one by jax.device_put"
        )
    attributes["op"] = op
    numbers = {key: numpy.int64(value) for key, value in attributes.items()}
    p0, p1 = map(numpy.float64, parameters)
    return jax.ffi.ffi_lowering(name)(context, *xs, **numbers, p0=p0, p1=p1)


def _lower(context, *xs, op, axes, parameters):
    mask = functools.reduce(lambda found, axis: found | 1 << axis, axes, 0)
    return _call("redtune_reduce", context, xs, op, parameters, axes=mask)


mlir.register_lowering(_reduce, _lower)


def _batch(xs, places, *, op, axes, parameters):
    """A batch is a kept axis, where it lies in the first array that has one (others: None)."""
    place = next(each for each in places if each is not None)
    size = next(x.shape[each] for x, each in zip(xs, places) if each is not None)
    moved = []
    for x, each in zip(xs, places):
        if each is None:
            shape = (*x.shape[:place], size, *x.shape[place:])
            moved.append(jnp.broadcast_to(jnp.expand_dims(x, place), shape))
        else:
            moved.append(jnp.moveaxis(x, each, place))
    axes = tuple(axis + (axis >= place) for axis in axes)
    found = _reduce.bind(*moved, op=op, axes=axes, parameters=parameters)
    return found, [place - sum(axis < place for axis in axes)] * len(found)


batching.primitive_batchers[_reduce] = _batch


# ---- by key --------------------------------------------------------------------------------------

# Of rows and keys; K is how many keys there are, spread a number.
_by_key = _primitive("redtune_by_key", True)


@_by_key.def_abstract_eval
def _keyed_types(x, keys, *, op, K, spread, parameters):
    return [jax.core.ShapedArray((K, *x.shape[1:]), each) for each in _result_dtypes(op, x)]


def _keyed_lower(context, *xs, op, K, spread, parameters):
    return _call("redtune_by_key", context, xs, op, parameters, spread=spread)


mlir.register_lowering(_by_key, _keyed_lower)


def _wide(keys, K):
    """Keys of a dtype that holds K; those out of range are K."""
    wide = keys.astype("int64" if jax.config.jax_enable_x64 else "int32")
    return jnp.where((wide >= 0) & (wide < K), wide, K)


def _keyed_batch(xs, places, *, op, K, **given):
    """One more column of rows; or, where each of a batch has keys of its own, as many times K."""
    (x, keys), (place, key_place) = xs, places
    if key_place is None:
        found = _by_key.bind(jnp.moveaxis(x, place, -1), keys, op=op, K=K, **given)
        return found, [x.ndim - 1] * len(found)
    keys = jnp.moveaxis(keys, key_place, 0)
    count, rows = keys.shape
    x = jnp.broadcast_to(x, (count, *x.shape)) if place is None else jnp.moveaxis(x, place, 0)
    if count * K >= 2**31 and not jax.config.jax_enable_x64:
        raise ValueError(f"cannot reduce a batch of {count} by {K} keys: set jax_enable_x64")
    wide = _wide(keys, K)
    wide = jnp.where(wide < K, wide + K * jnp.arange(count, dtype=wide.dtype)[:, None], -1)
    flat = x.reshape(count * rows, *x.shape[2:])
    found = _by_key.bind(flat, wide.reshape(-1), op=op, K=count * K, **given)
    found = [each.reshape(count, K, *each.shape[1:]) for each in found]
    if _core.op_is_indexed(op):  # the last result counts through all of the batch
        first = rows * jnp.arange(count).reshape(count, *[1] * (found[-1].ndim - 1))
        found[-1] = jnp.where(found[-1] < 0, found[-1], found[-1] - first)
    return found, [0] * len(found)


batching.primitive_batchers[_by_key] = _keyed_batch


# ---- derivatives ---------------------------------------------------------------------------------


class _Along:
    """What the derivatives of a reduction along some axes are made of."""

    def __init__(self, axes, parameters):
        self.axes, self.parameters = axes, parameters

    def sum(self, x):
        return jnp.sum(x, axis=self.axes)

    def spread(self, result):
        return jnp.expand_dims(result, self.axes)

    def count(self, x):
        return numpy.prod([x.shape[axis] for axis in self.axes], dtype=float)

    def of_extreme(self, x, result, dx):
        """Shared by equal ones, as JAX does it."""
        there = (x == self.spread(result)).astype(dx.dtype)
        return self.sum(there * dx) / self.sum(there)

    def of_mean(self, x, dx):
        return self.sum(dx) / self.count(x)

    def of_var(self, x, dx):
        rest = x - self.spread(self.of_mean(x, x))
        return 2 * self.sum(rest * dx) / (self.count(x) - self.parameters[0])

    def of_root(self, of_square, result):
        """0 where the result is 0, as the norm's is in PyTorch."""
        is_zero = result == 0
        return jnp.where(is_zero, 0, of_square / jnp.where(is_zero, 1, 2 * result))

    def of_logsumexp(self, x, result, dx):
        least = jnp.where(jnp.isfinite(result), result, 0)
        return self.sum(jnp.exp(x - self.spread(least)) * dx)


class _OfKeys(_Along):
    """The same of a reduction by key."""

    def __init__(self, keys, K, parameters):
        super().__init__(None, parameters)
        self.keys, self.K = _wide(keys, K), K

    def sum(self, x):
        return jnp.zeros((self.K, *x.shape[1:]), x.dtype).at[self.keys].add(x, mode="drop")

    def spread(self, result):
        return result.at[self.keys].get(mode="fill", fill_value=0)

    def count(self, x):
        """In int32, as f32 stops counting at 2^24."""
        counts = self.sum(jnp.ones(x.shape[:1], "int32"))
        return counts.astype(x.dtype).reshape(-1, *[1] * (x.ndim - 1))

    def without_skipped(self, x):
        """x with 0 where the key is out of range: what stands there may be NaN, or overflow."""
        return jnp.where((self.keys < self.K).reshape(-1, *[1] * (x.ndim - 1)), x, 0)


# By op, of the inputs, of the tuple of results and of the changes of the inputs: those of the
# results.
_TANGENTS = {
    "sum": lambda its, x, found, dx: [its.sum(dx)],
    "mean": lambda its, x, found, dx: [its.of_mean(x, dx)],
    "max": lambda its, x, found, dx: [its.of_extreme(x, found[0], dx)],
    "min": lambda its, x, found, dx: [its.of_extreme(x, found[0], dx)],
    "var": lambda its, x, found, dx: [its.of_var(x, dx)],
    "std": lambda its, x, found, dx: [its.of_root(its.of_var(x, dx), found[0])],
    "mean_var": lambda its, x, found, dx: [its.of_mean(x, dx), its.of_var(x, dx)],
    "sumsq": lambda its, x, found, dx: [2 * its.sum(x * dx)],
    "norm2": lambda its, x, found, dx: [its.of_root(2 * its.sum(x * dx), found[0])],
    "logsumexp": lambda its, x, found, dx: [its.of_logsumexp(x, found[0], dx)],
    "dot": lambda its, x, y, found, dx, dy: [its.sum(dx * y + x * dy)],
}


def _rule(name):
    if name not in _TANGENTS:
        raise TypeError(
            f"cannot differentiate {name}: redtune.jax has derivatives of "
            f"{', '.join(_TANGENTS)}; use JAX's own function"
        )
    return _TANGENTS[name]


@functools.lru_cache(maxsize=4096)
def _differentiable(name, op, axes, parameters):
    @jax.custom_jvp
    def run(*xs):
        return _reduce.bind(*xs, op=op, axes=axes, parameters=parameters)

    @run.defjvp
    def tangents(xs, changes):
        rule, found = _rule(name), run(*xs)
        wide = [each.astype(found[0].dtype) for each in (*xs, *changes)]
        its = _Along(axes, parameters)
        moved = rule(its, *wide[: len(xs)], found, *wide[len(xs) :])
        return found, [each.astype(result.dtype) for each, result in zip(moved, found)]

    return run


@functools.lru_cache(maxsize=4096)
def _differentiable_by_key(name, op, K, spread, parameters):
    @jax.custom_jvp
    def run(x, keys):
        return _by_key.bind(x, keys, op=op, K=K, spread=spread, parameters=parameters)

    @run.defjvp
    def tangents(xs, changes):
        rule, found = _rule(name), run(*xs)
        x, change = (each.astype(found[0].dtype) for each in (xs[0], changes[0]))
        its = _OfKeys(xs[1], K, parameters)
        x = its.without_skipped(x)
        is_empty = its.count(x) == 0  # then the result does not change
        moved = rule(its, x, found, change)
        return found, [
            jnp.where(is_empty, 0, each).astype(result.dtype) for each, result in zip(moved, found)
        ]

    return run


# ---- the functions -------------------------------------------------------------------------------


def _axes(axis, dimensions):
    """The reduced axes, from the front, in order; all for None."""
    if axis is None:
        return tuple(range(dimensions))
    found = []
    for each in axis if isinstance(axis, (tuple, list)) else (axis,):
        if not -dimensions <= each < dimensions:
            raise _core.AxisError(
                f"cannot reduce along axis {each}: the array has {dimensions} dimensions"
            )
        found.append(each % dimensions)
    if len(set(found)) < len(found):
        raise ValueError(f"cannot reduce along axes {tuple(axis)}: one is named twice")
    return tuple(sorted(found))


def reduce(x, y=None, *, op, axis=None, keepdims=False, **parameters):
    """Computes the op of that name, as redtune.reduce does, of JAX's arrays.

    jax.vmap takes it; jax.grad and the like take sum, mean, max, min, var, std, mean_var, sumsq,
    norm2, logsumexp and dot. Raises TypeError for results of 64 bits where JAX leaves them out, and
    ValueError for an array that several devices share.

    >>> redtune.jax.reduce(jax.numpy.ones((3, 4)), op="sum", axis=1)
    Array([4., 4., 4.], dtype=float32)
    """
    arrays = [jnp.asarray(each) for each in (x, y) if each is not None]
    number, values, kind = _functions._take(op, parameters)
    axes = _axes(axis, arrays[0].ndim)
    values = (*map(float, values or ()), 0.0, 0.0)[:2]
    dtypes = _result_dtypes(number, arrays[0])
    if all(jnp.issubdtype(dtype, jnp.floating) for dtype in (arrays[0].dtype, *dtypes)):
        found = _differentiable(_core.op_facts(number)[0], number, axes, values)(*arrays)
    else:
        arrays = map(jax.lax.stop_gradient, arrays)  # of no continuous result
        found = _reduce.bind(*arrays, op=number, axes=axes, parameters=values)
    if keepdims:
        found = [jnp.expand_dims(each, axes) for each in found]
    return kind(*found) if kind else found[0]


def by_key(x, keys, K=None, op="sum", *, spread=None, **parameters):
    """Reduces the elements, or rows, of each key, as redtune.by_key does, of JAX's arrays.

    Without K keys are looked through for the greatest, which a compiled program cannot: it raises
    ValueError. jax.vmap and derivatives are as for reduce.

    >>> redtune.jax.by_key(jax.numpy.ones(3), jax.numpy.array([0, 1, 0]), 2)
    Array([2., 1.], dtype=float32)
    """
    x, keys = jnp.asarray(x), jnp.asarray(keys)
    number, values, kind = _functions._take(op, parameters)
    if K is None and isinstance(keys, jax.core.Tracer):
        raise ValueError("cannot find the greatest key within a compiled program: give K")
    if K is None:
        K = max(0, int(reduce(keys, op="max")) + 1) if keys.size else 0
    given = {
        "op": number, "K": _checks.whole(K, "K"), "spread": _functions.spread_number(spread),
        "parameters": (*map(float, values or ()), 0.0, 0.0)[:2],
    }  # fmt: skip
    _check_keyed(number, x, keys)
    dtypes = _result_dtypes(number, x)
    if all(jnp.issubdtype(dtype, jnp.floating) for dtype in (x.dtype, *dtypes)):
        found = _differentiable_by_key(_core.op_facts(number)[0], **given)(x, keys)
    else:
        found = _by_key.bind(jax.lax.stop_gradient(x), keys, **given)
    return kind(*found) if kind else found[0]


def _check_keyed(op, x, keys):
    """What XLA would say at the end of a compilation."""
    if _core.op_facts(op)[2] != 1:
        raise TypeError(f"cannot compute {_core.op_facts(op)[0]} by key: it has two inputs")
    if not jnp.issubdtype(keys.dtype, jnp.integer):
        raise TypeError(f"cannot take keys of {keys.dtype}: give integers")
    if keys.ndim != 1 or x.shape[:1] != keys.shape:
        raise ValueError(
            f"cannot take keys of the shape {keys.shape} for x of {x.shape}: give one axis, as "
            "long as x's first one"
        )


@functools.lru_cache(maxsize=None)  # no globals, which would hide Python's own sum, any and max
def _function(name):
    if _functions.find(name) is None:
        raise AttributeError(_checks.missing("redtune.jax", name, _core.op_names()))
    return functools.partial(reduce, op=name)


def __getattr__(name):
    return _function(name)
