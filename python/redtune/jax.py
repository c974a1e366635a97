"""Jax: reductions within programs of JAX's, which jax.jit compiles and XLA runs on its stream.

The functions are those of redtune, without out, dtype and stream: redtune.jax.sum(x, axis=1). They
have no gradients, and jax.vmap does not take them.
"""

import functools

import jax
import numpy

from . import _checks, _core, _functions, _libraries

_TARGET = "redtune_reduce"
_NAMES = _libraries._NAMES

jax.ffi.register_ffi_target(_TARGET, _core.xla_handler(False), platform="CUDA")
jax.ffi.register_ffi_target(_TARGET, _core.xla_handler(True), platform="cpu")


def _axes(axis, dimensions):
    """The reduced axes, from the front; all for None."""
    if axis is None:
        return tuple(range(dimensions))
    found = []
    for each in axis if isinstance(axis, (tuple, list)) else (axis,):
        if not -dimensions <= each < dimensions:
            raise ValueError(
                f"cannot reduce along axis {each}: the array has {dimensions} dimensions"
            )
        found.append(each % dimensions)
    return tuple(found)


def _mask(axes):
    mask = 0
    for axis in axes:
        mask |= 1 << axis
    return mask


def _result_types(op, x, shape):
    """The results' shapes and dtypes, which 32-bit programs may not have."""
    if x.dtype.name not in _NAMES:
        raise TypeError(f"cannot reduce an array of {x.dtype.name}: convert it")
    types = []
    for number in _core.result_dtypes(op, _NAMES.index(x.dtype.name)):
        name = _NAMES[number]
        if name.endswith("64") and not jax.config.jax_enable_x64:
            raise TypeError(
                f"cannot have a result of {name}: JAX leaves out 64 bits; "
                'set jax.config.update("jax_enable_x64", True)'
            )
        types.append(jax.ShapeDtypeStruct(shape, jax.numpy.dtype(name)))
    return types


def reduce(x, y=None, *, op, axis=None, keepdims=False, **parameters):
    """Computes the op of that name, as redtune.reduce does, of JAX's arrays.

    Raises TypeError for results of 64 bits where JAX leaves them out.

    >>> redtune.jax.reduce(jax.numpy.ones((3, 4)), op="sum", axis=1)
    Array([4., 4., 4.], dtype=float32)
    """
    arrays = [jax.numpy.asarray(each) for each in (x, y) if each is not None]
    number, values, kind = _functions._take(op, parameters)
    axes = _axes(axis, arrays[0].ndim)
    sizes = enumerate(arrays[0].shape)
    shape = tuple(1 if i in axes else size for i, size in sizes if keepdims or i not in axes)
    p0, p1 = (*map(float, values or ()), 0.0, 0.0)[:2]
    call = jax.ffi.ffi_call(_TARGET, _result_types(number, arrays[0], shape))
    found = call(
        *arrays,
        axes=numpy.int64(_mask(axes)),
        op=numpy.int64(number),
        p0=numpy.float64(p0),
        p1=numpy.float64(p1),
    )
    return kind(*found) if kind else found[0]


def __getattr__(name):
    op = _functions.find(name)
    if op is None:
        raise AttributeError(_checks.missing("redtune.jax", name, _core.op_names()))
    function = functools.partial(reduce, op=name)
    globals()[name] = function
    return function
