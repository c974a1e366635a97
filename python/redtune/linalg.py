"""Linalg: norms by the names that NumPy, PyTorch and the array API standard have for them."""

import functools
import math

from . import _functions

__all__ = ["matrix_norm", "norm", "vector_norm"]


def _op(name):
    return _functions._made[name]


@functools.partial(_functions._spelt, "vector_norm")
def vector_norm(x, ord=2, axis=None, keepdims=False, *, out=None, dtype=None):
    """The norm of the elements as of one vector, of any order: redtune.norm with its order second.

    >>> redtune.linalg.vector_norm(numpy.array([[3, 4]], dtype="f4"), axis=1)
    array([5.], dtype=float32)
    """
    return _functions.norm(x, ord, axis, keepdims, out=out, dtype=dtype)


@functools.partial(_functions._spelt, "matrix_norm")
def matrix_norm(x, ord="fro", axis=(-2, -1), keepdims=False, *, dtype=None):
    """The norms of matrices, which lie along two axes: "fro", 1, -1, inf or -inf, as
    numpy.linalg.matrix_norm and torch.linalg.matrix_norm have them.

    Raises ValueError for orders that take singular values.

    >>> redtune.linalg.matrix_norm(numpy.array([[1, -2], [3, 4]], dtype="f4"), ord=numpy.inf)
    np.float32(7.0)
    """
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    if len(axes) != 2:
        raise ValueError(f"cannot compute a matrix norm along axis={axis!r}: give two axes")
    if ord is None or ord == "fro":
        return _functions.norm(x, 2, axes, keepdims, dtype=dtype)
    if ord not in (1, -1, math.inf, -math.inf):
        raise ValueError(
            f"cannot compute a matrix norm of ord={ord!r}: it takes singular values; give 'fro', "
            "1, -1, inf or -inf, or call vector_norm for that of all elements"
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
    arrays, a matrix's along two; without ord and axis that of all elements.

    Raises ValueError for orders of matrices that take singular values.

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
