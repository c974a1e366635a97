"""Torch: reductions that PyTorch differentiates and compiles: sum, mean, var, norm2, dot, max, min
and by_key.

Each is an op of PyTorch's, ``torch.ops.redtune.sum`` and so on, with gradients of any order and
with a function that tells torch.compile the result's shape; to the compiler the kernel is opaque.
Where no gradient is asked for, and nothing is compiled, redtune is called without PyTorch's
dispatcher.

Tensors have the dtypes of redtune's results: a sum of f16 is f32, so that autocast has nothing to
do.
"""

import torch

import redtune

from . import _checks, _core, _functions, _libraries
from ._torch_install import install, report, uninstall

__all__ = ["sum", "mean", "var", "norm2", "dot", "max", "min", "by_key"]
__all__ += ["install", "uninstall", "report"]

_PLAIN = (torch.Tensor, torch.nn.Parameter)
_DTYPES = _libraries.find(torch.empty(0)).dtypes


# ---- shapes --------------------------------------------------------------------------------------


def _axes(x, dim):
    """The reduced axes, from the front; all for None."""
    if dim is None:
        return list(range(x.dim()))
    return [each % x.dim() if x.dim() else each for each in dim]


def _count(x, dim):
    count = 1
    for axis in _axes(x, dim):
        count *= x.shape[axis]
    return count


def _result_shape(x, dim, keepdim):
    axes = _axes(x, dim)
    sizes = ((1 if axis in axes else size, axis in axes) for axis, size in enumerate(x.shape))
    return [size for size, reduced in sizes if keepdim or not reduced]


def _spread(gradient, x, dim, keepdim):
    """A result's gradient as an array of x's shape."""
    if not keepdim:
        for axis in sorted(_axes(x, dim)):
            gradient = gradient.unsqueeze(axis)
    return gradient.expand(x.shape)


def _fake(op, x, dim, keepdim):
    """Empty results of the right shapes and dtypes."""
    shape = _result_shape(x, dim, keepdim)
    dtypes = _core.result_dtypes(op, _DTYPES.index(x.dtype), for_torch=True)
    return [x.new_empty(shape, dtype=_DTYPES[dtype]) for dtype in dtypes]


# ---- ops -----------------------------------------------------------------------------------------


def _register(name, schema, run, fake, setup, backward):
    op = torch.library.custom_op(f"redtune::{name}", run, mutates_args=(), schema=schema)
    op.register_fake(fake)
    op.register_autograd(backward, setup_context=setup)
    return op


def _register_one(name, gradient):
    """An op of one input and result; gradient(x, result, g, dim) is that of x, g being spread."""
    number = _core.op_find(name)

    def run(x, dim, keepdim):
        return _functions.call(number, x.detach(), None, dim, keepdim)

    def fake(x, dim, keepdim):
        return _fake(number, x, dim, keepdim)[0]

    def setup(ctx, inputs, output):
        x, ctx.dim, ctx.keepdim = inputs
        ctx.save_for_backward(x, output)

    def backward(ctx, g):
        x, output = ctx.saved_tensors
        result = _spread(output, x, ctx.dim, ctx.keepdim)
        spread = _spread(g, x, ctx.dim, ctx.keepdim)
        return gradient(x, result, spread, ctx.dim).to(x.dtype), None, None

    schema = "(Tensor x, int[]? dim, bool keepdim) -> Tensor"
    return _register(name, schema, run, fake, setup, backward)


def _norm2_gradient(x, result, g, dim):
    return torch.where(result == 0, 0, g * x / torch.where(result == 0, 1, result))


_sum = _register_one("sum", lambda x, result, g, dim: g)
_mean = _register_one("mean", lambda x, result, g, dim: g / _count(x, dim))
_norm2 = _register_one("norm2", _norm2_gradient)


def _register_var():
    number = _core.op_find("var")

    def run(x, dim, keepdim, correction):
        return _functions.call(number, x.detach(), None, dim, keepdim, (correction,))

    def fake(x, dim, keepdim, correction):
        return _fake(number, x, dim, keepdim)[0]

    def setup(ctx, inputs, output):
        x, ctx.dim, ctx.keepdim, ctx.correction = inputs
        ctx.save_for_backward(x)

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        wide = x.to(g.dtype)
        mean = wide.mean(_axes(x, ctx.dim), keepdim=True) if x.dim() else wide
        scale = 2 / (_count(x, ctx.dim) - ctx.correction)
        spread = _spread(g, x, ctx.dim, ctx.keepdim)
        return (spread * (wide - mean) * scale).to(x.dtype), None, None, None

    schema = "(Tensor x, int[]? dim, bool keepdim, float correction) -> Tensor"
    return _register("var", schema, run, fake, setup, backward)


def _register_dot():
    number = _core.op_find("dot")

    def run(x, y, dim, keepdim):
        return _functions.call(number, x.detach(), y.detach(), dim, keepdim)

    def fake(x, y, dim, keepdim):
        return _fake(number, x, dim, keepdim)[0]

    def setup(ctx, inputs, output):
        x, y, ctx.dim, ctx.keepdim = inputs
        ctx.save_for_backward(x, y)

    def backward(ctx, g):
        x, y = ctx.saved_tensors
        spread = _spread(g, x, ctx.dim, ctx.keepdim)
        return (spread * y).to(x.dtype), (spread * x).to(y.dtype), None, None

    schema = "(Tensor x, Tensor y, int[]? dim, bool keepdim) -> Tensor"
    return _register("dot", schema, run, fake, setup, backward)


def _register_at(name):
    """max_at or min_at: the extreme element, whose gradient goes to its first index."""
    number = _core.op_find(name)

    def run(x, dim, keepdim):
        return _functions.call(number, x.detach(), None, dim, keepdim)

    def fake(x, dim, keepdim):
        return tuple(_fake(number, x, dim, keepdim))

    def setup(ctx, inputs, output):
        x, ctx.dim, ctx.keepdim = inputs
        ctx.x = x.shape, x.dtype
        ctx.save_for_backward(output[1])
        ctx.mark_non_differentiable(output[1])

    def backward(ctx, g, _):
        (index,) = ctx.saved_tensors
        shape, dtype = ctx.x
        # Reduced axes last and as one, as indices count.
        like = g.new_empty(()).expand(shape)
        axes = sorted(_axes(like, ctx.dim))
        kept = [axis for axis in range(len(shape)) if axis not in axes]
        sizes = [shape[axis] for axis in kept]
        spread = g.new_zeros([*sizes, _count(like, ctx.dim)])
        spread = spread.scatter(-1, index.reshape(*sizes, 1), g.reshape(*sizes, 1))
        spread = spread.reshape([shape[axis] for axis in kept + axes])
        order = [(kept + axes).index(axis) for axis in range(len(shape))]
        return spread.permute(order).to(dtype), None, None

    schema = "(Tensor x, int[]? dim, bool keepdim) -> (Tensor, Tensor)"
    return _register(name, schema, run, fake, setup, backward)


_var, _dot, _max_at, _min_at = (
    _register_var(),
    _register_dot(),
    *map(_register_at, ("max_at", "min_at")),
)


# ---- by key --------------------------------------------------------------------------------------

_KEYED = ("sum", "mean", "max", "min")  # what has gradients


def _gather(rows, keys):
    """The row of each key, and zeros for keys that are out of range."""
    keys = keys.to(torch.int64)
    if not rows.shape[0]:
        return rows.new_zeros([keys.shape[0], *rows.shape[1:]])
    inside = (keys >= 0) & (keys < rows.shape[0])
    found = rows.index_select(0, torch.where(inside, keys, 0))
    return torch.where(inside.reshape(-1, *[1] * (rows.dim() - 1)), found, 0)


def _register_by_key():
    def run(x, keys, K, op):
        return redtune.by_key(x.detach(), keys, K, op)

    def fake(x, keys, K, op):
        number, dtype = _core.op_find(op), _DTYPES.index(x.dtype)
        (dtype,) = _core.result_dtypes(number, dtype, for_torch=True)
        return x.new_empty([K, *x.shape[1:]], dtype=_DTYPES[dtype])

    def setup(ctx, inputs, output):
        x, keys, ctx.K, ctx.op = inputs
        ctx.dtype = x.dtype
        ctx.save_for_backward(keys, *((x, output) if ctx.op in ("max", "min") else ()))

    def backward(ctx, g):
        keys, *more = ctx.saved_tensors
        if ctx.op == "mean":
            ones = torch.ones(keys.shape, dtype=g.dtype, device=g.device)
            counts = _by_key(ones, keys, ctx.K, "sum").clamp(min=1)
            g = g / counts.reshape(-1, *[1] * (g.dim() - 1))
        if ctx.op in ("max", "min"):  # shared by equal ones, as PyTorch's amax has it
            equal = more[0] == _gather(more[1], keys)
            g = g / _by_key(equal.to(g.dtype), keys, ctx.K, "sum").clamp(min=1)
            return torch.where(equal, _gather(g, keys), 0).to(ctx.dtype), None, None, None
        return _gather(g, keys).to(ctx.dtype), None, None, None

    schema = "(Tensor x, Tensor keys, SymInt K, str op) -> Tensor"
    return _register("by_key", schema, run, fake, setup, backward)


_by_key = _register_by_key()


# ---- functions -----------------------------------------------------------------------------------


def _is_plain(*tensors):
    """Whether nothing records or compiles what is done with the tensors. Raises TypeError for what
    is no tensor."""
    if torch.compiler.is_compiling():
        return False
    for each in tensors:
        if not isinstance(each, torch.Tensor):
            raise TypeError(
                f"cannot reduce {type(each).__name__}: it is no tensor of PyTorch's; redtune's own "
                "functions take other arrays"
            )
        if type(each) not in _PLAIN:
            return False
    return not (torch.is_grad_enabled() and any(each.requires_grad for each in tensors))


def _dims(dim):
    return [dim] if isinstance(dim, int) else dim if dim is None else list(dim)


def sum(x, dim=None, keepdim=False):
    """The sum along dim, a number or several; None: of the whole tensor.

    >>> x = torch.ones(3, 4, requires_grad=True)
    >>> redtune.torch.sum(x, dim=1).sum().backward()
    >>> x.grad.shape
    torch.Size([3, 4])
    """
    return redtune.sum(x, dim, keepdim) if _is_plain(x) else _sum(x, _dims(dim), keepdim)


def mean(x, dim=None, keepdim=False):
    """The mean along dim, as sum.

    >>> redtune.torch.mean(torch.ones(3, 4))
    tensor(1.)
    """
    return redtune.mean(x, dim, keepdim) if _is_plain(x) else _mean(x, _dims(dim), keepdim)


def var(x, dim=None, keepdim=False, *, correction=1):
    """The variance along dim; as in PyTorch, that of a sample unless correction is 0.

    >>> redtune.torch.var(torch.tensor([1.0, 2.0, 3.0]))
    tensor(1.)
    """
    if _is_plain(x):
        return redtune.var(x, dim, keepdim, ddof=correction)
    return _var(x, _dims(dim), keepdim, float(correction))


def norm2(x, dim=None, keepdim=False):
    """The Euclidean norm along dim; its gradient at 0 is 0.

    >>> redtune.torch.norm2(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    return redtune.norm2(x, dim, keepdim) if _is_plain(x) else _norm2(x, _dims(dim), keepdim)


def dot(x, y, dim=None, keepdim=False):
    """The sum of the products of x and y, whose shapes broadcast, along dim.

    >>> redtune.torch.dot(torch.ones(3, 4), torch.ones(3, 4), dim=1)
    tensor([4., 4., 4.])
    """
    if _is_plain(x, y):
        return redtune.dot(x, y, dim, keepdim)
    if x.shape != y.shape:
        x, y = torch.broadcast_tensors(x, y)
    return _dot(x, y, _dims(dim), keepdim)


def max(x, dim=None, keepdim=False):
    """The greatest element along dim; its gradient goes to the first of equal ones.

    >>> redtune.torch.max(torch.tensor([1.0, 3.0, 2.0]))
    tensor(3.)
    """
    return redtune.max(x, dim, keepdim) if _is_plain(x) else _max_at(x, _dims(dim), keepdim)[0]


def min(x, dim=None, keepdim=False):
    """The least element along dim, as max.

    >>> redtune.torch.min(torch.tensor([1.0, 3.0, 2.0]))
    tensor(1.)
    """
    return redtune.min(x, dim, keepdim) if _is_plain(x) else _min_at(x, _dims(dim), keepdim)[0]


def by_key(x, keys, K=None, op="sum", **more):
    """The results of each key, as redtune.by_key: a sum, mean, max or min with gradients. Keys that
    are out of range have none, and equal extremes share theirs. Without K the call waits, and is
    neither captured nor compiled. Where nothing is recorded any op goes, with all arguments there.

    >>> x = torch.ones(3, requires_grad=True)
    >>> redtune.torch.by_key(x, torch.tensor([0, 1, 0]), 2).detach()
    tensor([2., 1.])
    """
    if _is_plain(x, keys):
        return redtune.by_key(x, keys, K, op, **more)
    op = _functions.alias(op)
    if op not in _KEYED or more:
        raise TypeError(
            f"cannot differentiate {', '.join([op, *more])} by key: there are gradients of "
            f"{', '.join(_KEYED)} without further arguments; x.detach() leaves them out"
        )
    if K is None and torch.compiler.is_compiling():
        raise ValueError("cannot compile a reduction by key without K, for which it waits: give K")
    K = _functions.key_count(keys) if K is None else _checks.whole(K, "K")
    return _by_key(x, keys, K, op)
