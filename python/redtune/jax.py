"""Jax: reductions within programs of JAX's, which jax.jit compiles and XLA runs on its stream.

The functions are those of redtune, without out, dtype and stream: redtune.jax.sum(x, axis=1). A
reduction is a primitive of JAX's, for which jax.vmap keeps one more axis, wherever that lies. Its
derivatives are of JAX's own functions, so that they have derivatives as well.
"""

import functools

import jax
import jax.extend.core
import numpy
from jax import numpy as jnp
from jax.interpreters import batching, mlir

from . import _checks, _core, _functions, _libraries

_TARGET = "redtune_reduce"
_NAMES = _libraries._NAMES

jax.ffi.register_ffi_target(_TARGET, _core.xla_handler(False), platform="CUDA")
jax.ffi.register_ffi_target(_TARGET, _core.xla_handler(True), platform="cpu")


# ---- the primitive -------------------------------------------------------------------------------

# Of one array or two; op is a number, axes the reduced ones, parameters two numbers.
_reduce = jax.extend.core.Primitive("redtune_reduce")
_reduce.multiple_results = True


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


@functools.lru_cache(maxsize=4096)
def _compiled(op, axes, parameters):
    return jax.jit(lambda *xs: _reduce.bind(*xs, op=op, axes=axes, parameters=parameters))


@_reduce.def_impl
def _run(*xs, op, axes, parameters):
    return _compiled(op, axes, parameters)(*xs)


def _lower(context, *xs, op, axes, parameters):
    # Within jax.shard_map and jax.pmap an array is one device's.
    devices = getattr(context.module_context.axis_context, "num_devices", None) or 1
    if devices > 1:
        raise ValueError(
            f"cannot reduce an array that is on {devices} devices: reduce each one's part within "
            "jax.shard_map, or put it on one by jax.device_put"
        )
    mask = functools.reduce(lambda found, axis: found | 1 << axis, axes, 0)
    return jax.ffi.ffi_lowering(_TARGET)(
        context,
        *xs,
        axes=numpy.int64(mask),
        op=numpy.int64(op),
        p0=numpy.float64(parameters[0]),
        p1=numpy.float64(parameters[1]),
    )


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
        rest = x - jnp.mean(x, axis=self.axes, keepdims=True)
        return 2 * self.sum(rest * dx) / (self.count(x) - self.parameters[0])

    def of_root(self, of_square, result):
        """0 where the result is 0, as the norm's is in PyTorch."""
        is_zero = result == 0
        return jnp.where(is_zero, 0, of_square / jnp.where(is_zero, 1, 2 * result))

    def of_logsumexp(self, x, result, dx):
        least = jnp.where(jnp.isfinite(result), result, 0)
        return self.sum(jnp.exp(x - self.spread(least)) * dx)


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


@functools.lru_cache(maxsize=4096)
def _differentiable(name, op, axes, parameters):
    @jax.custom_jvp
    def run(*xs):
        return _reduce.bind(*xs, op=op, axes=axes, parameters=parameters)

    @run.defjvp
    def tangents(xs, changes):
        rule = _TANGENTS.get(name)
        if rule is None:
            raise TypeError(
                f"cannot differentiate {name}: redtune.jax has derivatives of "
                f"{', '.join(_TANGENTS)}; use JAX's own function"
            )
        found = run(*xs)
        wide = [each.astype(found[0].dtype) for each in (*xs, *changes)]
        its = _Along(axes, parameters)
        moved = rule(its, *wide[: len(xs)], found, *wide[len(xs) :])
        return found, [each.astype(result.dtype) for each, result in zip(moved, found)]

    return run


# ---- the functions -------------------------------------------------------------------------------


def _axes(axis, dimensions):
    """The reduced axes, from the front, in order; all for None."""
    if axis is None:
        return tuple(range(dimensions))
    found = []
    for each in axis if isinstance(axis, (tuple, list)) else (axis,):
        if not -dimensions <= each < dimensions:
            raise ValueError(
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


@functools.lru_cache(maxsize=None)  # no globals, which would hide Python's own sum, any and max
def _function(name):
    if _functions.find(name) is None:
        raise AttributeError(_checks.missing("redtune.jax", name, _core.op_names()))
    return functools.partial(reduce, op=name)


def __getattr__(name):
    return _function(name)
