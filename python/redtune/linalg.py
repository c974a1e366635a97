"""Linalg: norms by the names that NumPy, PyTorch and the array API standard have for them."""

import functools
import math
import sys

from . import _core, _functions

__all__ = ["matrix_norm", "norm", "vecdot", "vector_norm"]

vecdot = _functions.vecdot


_SINGULAR = (2, -2, "nuc")  # orders of matrices that take singular values


def _op(name):
    return _functions._made[name]


def _its_library(x, ord):
    """The module that x's type, or the first of its bases that is known, comes from."""
    for base in type(x).__mro__:
        name = base.__module__.partition(".")[0]
        if name in ("numpy", "torch", "cupy"):
            from . import _libraries  # which refuses some types

            _libraries.find(x)
            return sys.modules[name]
    raise ValueError(
        f"cannot compute a matrix norm of ord={ord!r}: it takes singular values, which NumPy, "
        f"PyTorch and CuPy compute of their arrays, and x is of type {type(x).__name__}; give an "
        "array of one of them"
    )


def _by_its_library(x, ord, axes, keepdims, dtype):
    """The norm by numpy.linalg, torch.linalg or cupy.linalg: of halves and 8-bit floats as of f32,
    of integers as of f64, as redtune.norm has them; dtype: of the elements and the result."""
    library = _its_library(x, ord)
    kinds = {name: kind for name, _, kind in _core.dtypes()}
    floats = {name: long_name for name, long_name, kind in _core.dtypes() if kind == "f"}
    own = _functions.dtype_name(x.dtype)
    if own not in kinds and own != "bool":
        raise TypeError(
            f"cannot compute a matrix norm of ord={ord!r} of {x.dtype}: give floats, integers or "
            "bools"
        )
    given = (own if own in floats else "f64") if dtype is None else _functions.dtype_name(dtype)
    if given not in floats:
        raise TypeError(
            f"cannot compute a matrix norm of ord={ord!r} with dtype={dtype!r}: give a float's"
        )
    wide = given if given in ("f32", "f64") else "f32"
    result = wide if dtype is None else given
    if library.__name__ == "torch":
        wide, result = (getattr(library, floats[name]) for name in (wide, result))
        return library.linalg.matrix_norm(x.to(wide), ord, axes, keepdims).to(result)
    wide, result = (library.dtype(floats[name]) for name in (wide, result))
    found = library.linalg.norm(x.astype(wide, copy=False), ord, axes, keepdims)
    return found.astype(result)


@functools.partial(_functions._spelt, "vector_norm")
def vector_norm(x, ord=2, axis=None, keepdims=False, *, out=None, dtype=None, where=None):
    """The norm of the elements as of one vector, of any order: redtune.norm with its order second.
    With where, as in redtune.norm, that of the elements where it is true.

    >>> redtune.linalg.vector_norm(numpy.array([[3, 4]], dtype="f4"), axis=1)
    array([5.], dtype=float32)
    """
    return _functions.norm(x, ord, axis, keepdims, out=out, dtype=dtype, where=where)


@functools.partial(_functions._spelt, "matrix_norm")
def matrix_norm(x, ord="fro", axis=(-2, -1), keepdims=False, *, dtype=None):
    """The norms of matrices, which lie along two axes: "fro", "nuc", 1, -1, 2, -2, inf or -inf, as
    numpy.linalg.matrix_norm and torch.linalg.matrix_norm have them.

    Those of singular values (2, -2, "nuc") are computed by x's own library, NumPy, PyTorch or CuPy.
    Raises ValueError for other orders, and for these where x is of none of the three.

    >>> redtune.linalg.matrix_norm(numpy.array([[1, -2], [3, 4]], dtype="f4"), ord=numpy.inf)
    np.float32(7.0)
    """
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    if len(axes) != 2:
        raise ValueError(f"cannot compute a matrix norm along axis={axis!r}: give two axes")
    if ord is None or ord == "fro":
        return _functions.norm(x, 2, axes, keepdims, dtype=dtype)
    if ord in _SINGULAR:
        return _by_its_library(x, ord, axes, keepdims, dtype)
    if ord not in (1, -1, math.inf, -math.inf):
        raise ValueError(
            f"cannot compute a matrix norm of ord={ord!r}: give 'fro', 'nuc', 1, -1, 2, -2, inf or "
            "-inf, or call vector_norm for that of all elements"
        )
    if dtype is None and "int" in str(getattr(x, "dtype", "")):
        dtype = "f64"  # as redtune.norm
    sums = _op("sumabs")(x, axes[0 if abs(ord) == 1 else 1], True, dtype=dtype)
    if ord < 0:
        return _op("min")(sums, axes, keepdims)
    return _op("max")(sums, axes, keepdims, initial=0)  # of no sums


@functools.partial(_functions._spelt, "norm")
def norm(x, ord=None, axis=None, keepdims=False, *, dtype=None):
    """As numpy.linalg.norm and torch.linalg.norm: a vector's along one axis or of one-dimensional
    arrays, a matrix's along two; without ord and axis that of all elements. Those of singular values
    are as matrix_norm says.

    >>> redtune.linalg.norm(numpy.array([[1, -2], [3, 4]], dtype="f4"), ord=1)
    np.float32(6.0)
    """
    dimensions = len(getattr(x, "shape", ()))
    if axis is None and ord is not None and dimensions > 1:
        axis = tuple(range(dimensions))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    if len(axes) == 2:
        return matrix_norm(x, ord, axes, keepdims, dtype=dtype)
    if len(axes) > 2 or isinstance(ord, str):
        raise ValueError(
            f"cannot compute a norm of ord={ord!r} along axis={axis!r}: give one axis of vectors "
            "or two of matrices, or call vector_norm"
        )
    return vector_norm(x, 2 if ord is None else ord, axis, keepdims, dtype=dtype)
